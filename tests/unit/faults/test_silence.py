"""If a server never responds to one request of a call, the call still ends within its timeouts.

Each call is made once against servers that respond to every request. Then the call is repeated once
for each of its requests, and this request gets no response.

No connection, thread or task may be left afterwards. The tests use virtual time.
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.errors import DriverException, NoHostAvailable, OperationTimedOut
from cassandra.policies.reconnection import ConstantReconnectionPolicy
from cassandra.query import SimpleStatement
from cassandra.query.trace import TraceUnavailable
from cassandra.testing.fake import FakeCluster, paged, rows, schema_change, silence
from cassandra.testing.fake.script import Prime
from tests.unit.engine.faults import AddressOrderPolicy
from tests.unit.loops import Loops
from tests.unit.simulated import Simulated

TIMEOUT = 2.0  # seconds, for every timeout that a cluster has
PATIENCE = 60.0  # virtual seconds, after which a call counts as hanging
PAGED = SimpleStatement("SELECT pages", fetch_size=1)
MARKERS = "SELECT k FROM t WHERE k = ?"
# These errors are documented for calls that get no response.
ERRORS = (OperationTimedOut, NoHostAvailable, TraceUnavailable)

Call = Callable[[Any, Any], Any]


async def fetch_pages(cluster: Any, session: Any) -> None:
    """Read all pages of PAGED, in the asyncio API."""
    result = await session.execute(PAGED)
    await result.fetch_all()


def fetch_pages_blocking(cluster: Any, session: Any) -> None:
    """Read all pages of PAGED through the blocking API."""
    session.execute(PAGED).all()


def fetch_trace(cluster: Any, session: Any) -> None:
    """Execute a traced statement, and read its trace."""
    result = session.execute("SELECT traced", trace=True)
    result.response_future.get_query_trace(max_wait=TIMEOUT)


CALLS: dict[str, Call] = {
    "connect again": lambda cluster, session: cluster.connect(),
    "connect to a keyspace": lambda cluster, session: cluster.connect("ks"),
    "connect to all": lambda cluster, session: cluster.connect(wait_for_all_pools=True),
    "execute": lambda cluster, session: session.execute("SELECT 1"),
    "execute markers": lambda cluster, session: session.execute(MARKERS, (1,)),
    "prepare": lambda cluster, session: session.prepare(MARKERS),
    "prepare all": lambda cluster, session: session.prepare_all([MARKERS, "SELECT 2, ?"]),
    "set keyspace": lambda cluster, session: session.set_keyspace("ks"),
    "refresh nodes": lambda cluster, session: cluster.refresh_nodes(),
    "refresh schema": lambda cluster, session: cluster.refresh_schema_metadata(),
    "refresh keyspace": lambda cluster, session: cluster.refresh_keyspace_metadata("ks"),
    "refresh table": lambda cluster, session: cluster.refresh_table_metadata("ks", "t"),
    "agreement": lambda cluster, session: session.wait_for_schema_agreement(),
    "create": lambda cluster, session: session.execute("CREATE TABLE t"),
}
BLOCKING: dict[str, Call] = {**CALLS, "pages": fetch_pages_blocking, "trace": fetch_trace}
AWAITED: dict[str, Call] = {**CALLS, "pages": fetch_pages}


MOST_REQUESTS = 40  # No call sends more requests than this number.


class Silence:
    """Primes that let the nodes leave one request without a response.

    :param number: the number of the request, counted from 0 over all nodes. With -1, every request
        gets a response.
    """

    def __init__(self, nodes: FakeCluster, number: int) -> None:
        self.count = 0
        self.has_matched = False
        self._number = number
        self._indexes = itertools.count()
        self._primes: list[Prime] = [node.prime(self._matches, silence()) for node in nodes.nodes]

    def _matches(self, request: Any) -> bool:
        index = next(self._indexes)
        self.count = index + 1
        if index == self._number:
            self.has_matched = True
            return True
        return False

    def end(self) -> None:
        """Let the nodes respond to every request again."""
        for prime in self._primes:
            prime.remove()


@pytest.fixture
def nodes(simulated: Simulated) -> Iterator[FakeCluster]:
    with simulated.nodes(2) as running:
        prime(running)
        yield running
        assert [node.malformed for node in running.nodes] == [[], []]


def prime(nodes: FakeCluster) -> None:
    """Prime the responses to the statements of all calls, and to the queries that read a trace."""
    session_row = rows(
        [("duration", "int"), ("request", "text"), ("started_at", "timestamp"), ("coordinator", "inet"),  # noqa: E501
         ("parameters", "map<text, text>"), ("client", "inet")],
        [(5, "QUERY", None, "127.0.0.1", None, "127.0.0.1")],
    )  # fmt: skip
    event_row = rows(
        [
            ("activity", "text"),
            ("event_id", "timeuuid"),
            ("source", "inet"),
            ("source_elapsed", "int"),
            ("thread", "text"),
        ],
        [("Parsing", uuid.uuid1(), "127.0.0.1", 1, "t")],
    )

    def query_contains(text: str) -> Callable[[Any], bool]:
        return lambda request: text in (request.query or "")

    for node in nodes.nodes:
        node.prime(PAGED.query_string, paged([("k", "int")], [(1,), (2,), (3,)]))
        node.prime("CREATE TABLE t", schema_change("CREATED", "TABLE", "ks", "t"))
        node.prime("SELECT traced", rows([("k", "int")], [(1,)]).having(tracing_id=uuid.uuid4()))
        node.prime(query_contains("system_traces.sessions"), session_row)
        node.prime(query_contains("system_traces.events"), event_row)
        node.prime_prepare(MARKERS, [("k", "int")], [("k", "int")])


def settings(nodes: FakeCluster) -> dict[str, Any]:
    """Return the settings of a cluster, in which each timeout is `TIMEOUT`."""
    profile = ExecutionProfile(load_balancing_policy=AddressOrderPolicy(), request_timeout=TIMEOUT)
    return {
        "contact_points": nodes.contact_points, "port": nodes.port, "connect_timeout": TIMEOUT, "idle_heartbeat_interval": 0,  # noqa: E501
        "control_connection_timeout": TIMEOUT, "max_schema_agreement_wait": TIMEOUT,
        "execution_profiles": {EXEC_PROFILE_DEFAULT: profile},
        "reconnection_policy": ConstantReconnectionPolicy(delay=0.01, max_attempts=None),
    }  # fmt: skip


def check(name: str, number: int, silence: Silence, failure: BaseException | None) -> None:
    """Check how a call has ended whose request `number` got no response.

    :param name: the name of the call.
    :param failure: the error of the call; None if the call has succeeded, which is allowed.
    """
    description = f"{name}, request {number} of {silence.count}: {failure!r}"
    if failure is None:
        return
    # These calls may raise exactly this class only if the nodes do not agree on the schema.
    if type(failure) is DriverException:
        assert "did not agree on the schema" in str(failure), description
        return
    assert isinstance(failure, ERRORS), description
    assert str(failure), description


def raised_error(simulated: Simulated, call: Callable[[], Any]) -> BaseException | None:
    """Return the error that `call` raises, or None if the call succeeds.

    The call must end within `PATIENCE` virtual seconds.
    """
    began = simulated.now
    failure: BaseException | None = None
    try:
        call()
    except DriverException as error:
        failure = error
    assert simulated.now - began < PATIENCE
    return failure


def wait_until_disconnected(nodes: FakeCluster) -> None:
    """Wait until the nodes have no open connections."""
    for node in nodes.nodes:
        node.wait_for(lambda node: not node.connections)


@pytest.mark.parametrize("name", ["connect", *BLOCKING])
def test_blocking_calls_end_in_time(simulated: Simulated, nodes: FakeCluster, name: str) -> None:
    """A blocking call ends within its timeouts, whichever of its requests gets no response."""

    def call_once(number: int) -> tuple[bool, bool]:
        """Make the call, while request `number` gets no response.

        Return whether the call failed, and whether it sent that request.
        """
        cluster = Cluster(**settings(nodes))
        if name == "connect":
            silent_request = Silence(nodes, number)
            failure = raised_error(simulated, cluster.connect)
        else:
            session = cluster.connect(wait_for_all_pools=True)
            silent_request = Silence(nodes, number)
            failure = raised_error(simulated, lambda: BLOCKING[name](cluster, session))
        silent_request.end()
        check(name, number, silent_request, failure)
        assert number >= 0 or failure is None, failure
        assert raised_error(simulated, cluster.shutdown) is None
        wait_until_disconnected(nodes)
        assert simulated.threads is not None
        # No thread of the driver is left, only the thread that runs this function.
        assert simulated.threads.alive == ["program 0"]
        return failure is not None, silent_request.has_matched

    def call_for_each_request() -> None:
        failure_count = 0
        for number in range(-1, MOST_REQUESTS):  # with -1, every request gets a response
            has_failed, has_matched = call_once(number)
            failure_count += has_failed
            if number >= 0 and not has_matched:
                break
        else:
            raise AssertionError(f"{name} has more than {MOST_REQUESTS} requests")
        # These calls may succeed although one of their requests gets no response.
        may_succeed = ("connect to all", "connect again", "agreement", "create", "connect")
        assert failure_count or name in may_succeed

    simulated.run_threads(call_for_each_request)


@pytest.mark.parametrize("table", ["sessions", "events"])
def test_reading_a_trace_has_its_own_timeout(
    simulated: Simulated,
    nodes: FakeCluster,
    table: str,
) -> None:
    """Reading a trace ends after the timeout that was passed to `get_query_trace`.

    The requests of the session have no timeout here.
    """
    arguments = settings(nodes)
    arguments["execution_profiles"][EXEC_PROFILE_DEFAULT].request_timeout = None

    def program() -> None:
        with Cluster(**arguments) as cluster:
            session = cluster.connect()
            future = session.execute("SELECT traced", trace=True).response_future
            # The nodes do not respond to queries of one table with traces.
            for node in nodes.nodes:
                node.prime(
                    lambda request: f"system_traces.{table}" in (request.query or ""), silence()
                )
            failure = raised_error(simulated, lambda: future.get_query_trace(TIMEOUT))
            assert isinstance(failure, TraceUnavailable)
            assert str(TIMEOUT) in str(failure)

    simulated.run_threads(program)


@pytest.mark.parametrize("name", ["connect", *AWAITED])
def test_awaited_calls_end_in_time(simulated: Simulated, nodes: FakeCluster, name: str) -> None:
    """An asyncio call ends within its timeouts, whichever of its requests gets no response."""

    async def call_once(number: int) -> bool:
        """Make the call, while request `number` gets no response.

        Return False if the call has sent fewer requests. For -1, return True.
        """
        cluster = aio.Cluster(**settings(nodes))
        if name == "connect":
            silent_request = Silence(nodes, number)
            failure = await awaited_error(cluster.connect())
        else:
            session = await cluster.connect(wait_for_all_pools=True)
            silent_request = Silence(nodes, number)
            failure = await awaited_error(AWAITED[name](cluster, session))
        silent_request.end()
        check(name, number, silent_request, failure)
        # If every request got a response, the call must have succeeded.
        assert number >= 0 or failure is None, failure
        assert await awaited_error(cluster.shutdown()) is None
        for node in nodes.nodes:
            await node.wait_until(lambda node: not node.connections)
        # The call has left no task behind.
        assert asyncio.all_tasks() == tasks_before
        return number < 0 or silent_request.has_matched

    tasks_before: set[asyncio.Task[Any]] = set()

    async def call_for_each_request() -> None:
        tasks_before.update(asyncio.all_tasks())
        for number in range(-1, MOST_REQUESTS):
            if not await call_once(number):
                return
        raise AssertionError(f"{name} has more than {MOST_REQUESTS} requests")

    simulated.run(call_for_each_request())


async def awaited_error(call: Any) -> BaseException | None:
    """Return the error that awaiting `call` raises, or None if the call succeeds.

    The call must end within `PATIENCE` seconds.
    """
    try:
        await asyncio.wait_for(call, PATIENCE)
    except asyncio.TimeoutError:
        raise AssertionError(f"no end within {PATIENCE} s") from None
    except DriverException as error:
        return error
    return None


# -- the clocks of real loops ----------------------------------------------------------------------


@pytest.mark.parametrize("is_blocking", [True, False])
def test_on_real_loops_an_unanswered_request_times_out(loops: Loops, is_blocking: bool) -> None:
    """In real time, too, a request without a response raises OperationTimedOut."""

    async def execute(nodes: FakeCluster) -> None:
        async with aio.Cluster(nodes.contact_points, port=nodes.port) as cluster:
            session = await cluster.connect()
            await session.execute("SELECT never", timeout=0.1)

    with FakeCluster(2) as nodes:
        nodes.prime("SELECT never", silence())
        if is_blocking:
            with Cluster(nodes.contact_points, port=nodes.port) as cluster:
                session = cluster.connect()
                with pytest.raises(OperationTimedOut):
                    session.execute("SELECT never", timeout=0.1)
        else:
            with pytest.raises(OperationTimedOut):
                loops.run(execute(nodes))
