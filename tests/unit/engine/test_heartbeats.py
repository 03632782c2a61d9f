"""`Heartbeats`: which connections get them, and what happens if they are not answered.

No sockets are used.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cassandra._impl import codecs
from cassandra.engine.heartbeats import LATE, Heartbeats, is_silent
from cassandra.engine.output_progress import OutputState
from cassandra.errors import ConnectionException, ConnectionShutdown
from cassandra.protocol.opcodes import OPTIONS, READY, SUPPORTED
from tests.unit.engine.partners import fake_connection, new_host, spawn
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

NO_OPTIONS = b"\0\0"  # an empty [string multimap]
LONG_AGO = float("-inf")
TIMEOUT = 7.5  # seconds; the time limit of a heartbeat


HOST, OTHER_HOST = new_host("10.0.0.1"), new_host("10.0.0.2")


class Peer:
    """A fake connection whose requests all have the same outcome.

    `count` counts the requests.

    :param outcome: a response to return, an error to raise, or a float: then the request times out
        after this number of seconds.
    :param last_activity: when the peer has last sent something, by the loop's clock.
    :param is_control: True for the control connection.
    """

    def __init__(
        self, outcome: Any, last_activity: float = LONG_AGO, is_control: bool = False
    ) -> None:
        self.is_asked = asyncio.Event()
        self.count = 0

        async def request(opcode: int, body: bytes, timeout: float) -> Any:
            """Check and count the request. Then return its response or raise its error."""
            assert opcode == OPTIONS
            assert body == b""
            assert timeout == TIMEOUT
            self.count += 1
            self.is_asked.set()
            if isinstance(outcome, float):
                await asyncio.sleep(outcome)
                raise asyncio.TimeoutError
            if isinstance(outcome, BaseException):
                raise outcome
            self.connection.last_activity = asyncio.get_running_loop().time()
            return outcome

        self.connection = fake_connection(
            request=request, last_activity=last_activity, is_control_connection=is_control
        )


ANSWER = (SUPPORTED, 0, NO_OPTIONS)


class HeartbeatHarness:
    """The heartbeats of the connections to two hosts. `stop` ends them.

    :param peers: the connections to HOST.
    :param others: the connections to OTHER_HOST.
    :param interval: seconds between heartbeats; None or 0 disables heartbeats.
    """

    def __init__(
        self, *peers: Peer, others: tuple[Peer, ...] = (), interval: float | None = 1000.0
    ) -> None:
        self.tasks: list[asyncio.Task[Any]] = []
        self.hosts = {HOST: peers, OTHER_HOST: others}
        self.heartbeats = Heartbeats(self.connections, self.spawn, interval, TIMEOUT)

    def connections(self) -> dict[Any, list[Any]]:
        return {
            host: [peer.connection for peer in peers if not peer.connection.closed]
            for host, peers in self.hosts.items()
        }

    def spawn(self, coroutine: Any, /) -> asyncio.Task[Any]:
        self.tasks.append(spawn(coroutine))
        return self.tasks[-1]

    async def idle(self) -> None:
        """Wait until no check of a connection is running."""
        await until_on_loop(lambda: not self.heartbeats._checked)

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        for result in await asyncio.gather(*self.tasks, return_exceptions=True):
            assert result is None or isinstance(result, (bool, asyncio.CancelledError))


async def run_heartbeats(*peers: Peer, until: Peer) -> None:
    """Run heartbeats until the connection `until` has got one and all checks have ended."""
    harness = HeartbeatHarness(*peers, interval=0.001)
    harness.heartbeats.start()
    await asyncio.wait_for(until.is_asked.wait(), timeout=50)
    await harness.idle()
    assert not harness.tasks[0].done()
    await harness.stop()


async def test_an_answered_heartbeat_leaves_the_connection_open() -> None:
    peer = Peer(ANSWER)
    await run_heartbeats(peer, until=peer)
    assert not peer.connection.closed


async def test_only_silent_connections_get_heartbeats() -> None:
    """A connection that has recently received something gets no heartbeat."""
    silent = Peer(ANSWER)
    busy = Peer(ANSWER, last_activity=float("inf"))
    await run_heartbeats(busy, silent, until=silent)
    assert busy.count == 0
    assert not busy.connection.closed


async def test_a_timeout_closes_only_its_connection() -> None:
    """A heartbeat that times out closes its connection only.

    Another connection to the same host stays open.
    """
    dead, living = Peer(asyncio.TimeoutError()), Peer(ANSWER)
    await run_heartbeats(dead, living, until=dead)
    assert dead.connection.closed
    assert not living.connection.closed
    assert isinstance(dead.connection.close_error, ConnectionException)
    assert str(dead.connection.close_error) == (
        "10.0.0.1:9042 did not answer a heartbeat within 7.5 s"
    )


@pytest.mark.parametrize("outcome", [1.0, ConnectionShutdown("no free stream")])
@pytest.mark.parametrize(
    ("later", "is_closed"),
    [
        (OutputState(200, is_pending=True), False),
        (OutputState(100, is_pending=True), True),  # nothing has arrived in the meantime
        (OutputState(200, is_pending=False), True),  # the heartbeat has arrived
    ],
)
async def test_a_heartbeat_waits_behind_a_large_request(
    outcome: Any, later: OutputState, is_closed: bool
) -> None:
    peer = Peer(outcome)
    peer.connection.output = OutputState(100, is_pending=True)

    async def send_on() -> None:
        await peer.is_asked.wait()
        peer.connection.output = later

    sending = spawn(send_on())
    harness = HeartbeatHarness(peer)
    harness.heartbeats.check(HOST)
    await harness.idle()
    await harness.stop()
    await sending
    assert peer.connection.closed is is_closed


async def test_an_unexpected_answer_closes_the_connection() -> None:
    """If the response to a heartbeat is not SUPPORTED, the connection is closed."""
    peer = Peer((READY, 0, b""))
    await run_heartbeats(peer, until=peer)
    assert peer.connection.closed


async def test_a_lost_connection_is_closed_with_its_error() -> None:
    error = ConnectionException("lost")
    lost = Peer(error)
    await run_heartbeats(lost, until=lost)
    assert lost.connection.close_error is error


async def test_a_connection_without_a_free_stream_may_still_answer() -> None:
    """If no stream is free for a heartbeat, any response in time keeps the connection open.

    The time is the timeout of the heartbeat. Many requests may have been sent just before the
    heartbeat.
    """
    error = ConnectionShutdown("connection to 10.0.0.1:9042 has no free stream")
    full, dead = Peer(error), Peer(error)

    async def answer() -> None:
        await full.is_asked.wait()
        # Each second, a response to an earlier request arrives, but only on the connection `full`.
        for _ in range(10):
            await asyncio.sleep(1.0)
            full.connection.last_activity = asyncio.get_running_loop().time()

    answering = spawn(answer())
    harness = HeartbeatHarness(full, dead)
    harness.heartbeats.check(HOST)
    await harness.idle()
    await harness.stop()
    await answering
    assert not full.connection.closed
    assert dead.connection.close_error is error


async def test_a_silent_host_does_not_delay_the_heartbeats_of_others() -> None:
    """While one host does not respond to a heartbeat, the other host still gets its heartbeats."""
    hung, living = Peer(TIMEOUT), Peer(ANSWER)
    harness = HeartbeatHarness(hung, others=(living,), interval=2.0)
    harness.heartbeats.start()
    await hung.is_asked.wait()
    await until_on_loop(lambda: living.count == 3)
    assert not hung.connection.closed
    await harness.stop()


# -- checks on demand ------------------------------------------------------------------------------


async def test_a_late_heartbeat_checks_all_connections_of_the_host(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If one heartbeat of a host is late, all connections to the host are checked at once.

    A host that hangs thus loses all its connections at about the same time, with one warning.
    """
    now = asyncio.get_running_loop().time
    control = Peer(TIMEOUT, is_control=True)
    recently_busy = [Peer(TIMEOUT, last_activity=now()) for _ in range(2)]
    peer_of_other_host = Peer(ANSWER, last_activity=now() + 1e9)
    harness = HeartbeatHarness(control, *recently_busy, others=(peer_of_other_host,))
    started = now()
    harness.heartbeats.check(HOST)
    await harness.idle()
    assert all(peer.connection.closed for peer in (control, *recently_busy))
    # The other connections got a heartbeat as soon as the first heartbeat was late, not after its
    # timeout.
    assert now() - started <= TIMEOUT + LATE + 0.1
    assert [peer.count for peer in (control, *recently_busy)] == [1, 1, 1]
    assert peer_of_other_host.count == 0
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "host 10.0.0.1:9042 does not answer: no response to a heartbeat within 7.5 s on the "
        "control connection and 2 connections of sessions; closed"
    )
    await harness.stop()


async def test_a_failure_checks_connections_that_fell_silent_later() -> None:
    """If a heartbeat fails, the other connections to the host are checked, too.

    One connection was active when the first heartbeat was sent, and fell silent later.
    """
    now = asyncio.get_running_loop().time
    dead, later = Peer(TIMEOUT), Peer(TIMEOUT, last_activity=now() + 5.0)
    harness = HeartbeatHarness(dead, later)
    harness.heartbeats.check(HOST)
    await harness.idle()
    assert later.connection.closed
    assert later.count == 1
    await harness.stop()


async def test_there_is_one_check_of_a_host_at_a_time() -> None:
    """While a heartbeat waits for its response, further checks of the host send no heartbeat."""
    hung = Peer(TIMEOUT)
    harness = HeartbeatHarness(hung, interval=3.0)
    harness.heartbeats.start()
    for _ in range(100):
        harness.heartbeats.check(HOST)
    await harness.idle()
    assert hung.count == 1
    await harness.stop()


async def test_a_check_skips_connections_that_received_something_just_now() -> None:
    """A check skips connections that have received something within the last second.

    Such connections are alive.
    """
    now = asyncio.get_running_loop().time
    recent = Peer(ANSWER, last_activity=now() - 0.5)
    harness = HeartbeatHarness(recent)
    harness.heartbeats.check(HOST)
    assert harness.tasks == []
    assert not is_silent(recent.connection)


@pytest.mark.parametrize("interval", [0, None])
async def test_no_interval_disables_all_heartbeats(interval: Any) -> None:
    harness = HeartbeatHarness(Peer(ANSWER), interval=interval)
    harness.heartbeats.start()
    harness.heartbeats.check(HOST)
    assert harness.tasks == []


async def test_intervals_give_back_the_memory_of_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each interval calls `codecs.release_vector_memory` once.

    That function knows whether vectors were read meanwhile.
    """
    calls = []
    monkeypatch.setattr(codecs, "release_vector_memory", lambda: calls.append("release"))
    harness = HeartbeatHarness(interval=30.0)
    harness.heartbeats.start()
    await asyncio.sleep(75.0)
    assert calls == ["release"] * 2
    await harness.stop()
