"""A loop's `Environment`, which gives the engine its clock, random numbers and connections."""

from __future__ import annotations

import ast
import asyncio
import random
import socket
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import cassandra.engine
from cassandra import aio
from cassandra.engine.environment import Environment, InsertionOrdered, environment_of
from cassandra.testing import FakeNode
from tests.unit.security.certificates import Authority
from tests.waiting import until, until_on_loop

ENGINE = Path(cassandra.engine.__file__).parent


async def test_a_loop_may_have_its_own_environment() -> None:
    """If a loop has `cassandra_environment`, the engine uses the environment that it returns.

    A simulation can thus provide an environment with virtual time.
    """
    loop = asyncio.get_running_loop()
    assert type(environment_of(loop)) is Environment
    environment = Environment(loop)
    loop.cassandra_environment = lambda: environment  # type: ignore[attr-defined]
    assert environment_of(loop) is environment


class RecordingEnvironment(Environment):
    """An environment that records the ports of its connections, and whose clock does not move."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.random = random.Random(1)
        self.clock = lambda: 1e6
        self.ports: list[int] = []

    async def connect(self, make_protocol: Any, address: str, port: int, **options: Any) -> None:
        self.ports.append(port)
        await super().connect(make_protocol, address, port, **options)


async def test_connections_and_times_come_from_the_environment() -> None:
    """A cluster uses only connections, times and random numbers of the environment."""
    loop = asyncio.get_running_loop()
    environment = RecordingEnvironment(loop)
    loop.cassandra_environment = lambda: environment  # type: ignore[attr-defined]
    started: list[float] = []
    with FakeNode() as node:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            result = await session.execute("SELECT v FROM t")
            started += [attempt.started for attempt in result.attempts]
            assert cluster._core is not None
            assert cluster._core.random is environment.random
            assert cluster._core.timers.clock is environment.clock
        assert environment.ports == [node.port] * node.opened
    assert started == [environment.clock()]


def test_deadlines_of_one_slot_expire_in_the_order_of_adding(implementation: Any) -> None:
    """Items with deadlines in the same slot expire in the order of their addition.

    A simulation must be repeatable, so the order must not depend on hashes or memory addresses.
    """
    loop = asyncio.new_event_loop()
    try:
        wheel = implementation.happy_path.TimerWheel(loop)
        expired: list[int] = []

        class Item:
            def __init__(self, number: int) -> None:
                self.number = number

            def on_timeout(self) -> None:
                expired.append(self.number)

        items = [Item(number) for number in range(200)]
        for item in items:
            # All items have deadlines in the same slot of the wheel.
            wheel.add(0.0, item)

        def all_expired() -> bool:
            # On a busy machine, the last items may be in later slots, so expire again.
            wheel._expire()
            return len(expired) == len(items)

        until(all_expired)
        assert expired == [item.number for item in items]
    finally:
        loop.close()


async def test_a_cancelled_handshake_keeps_no_descriptor(tmp_path: Path) -> None:
    """A connect that is cancelled as its TLS handshake ends must not disturb later connections.

    asyncio refuses to wait for events of a descriptor that one of its transports still has.
    """
    loop = asyncio.get_running_loop()
    authority = Authority(tmp_path)
    tls = {"ssl": authority.client(), "server_hostname": "127.0.0.1"}

    class Cancelling(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            descriptors.append(transport.get_extra_info("socket").fileno())
            connecting.cancel()

    descriptors: list[int] = []
    node_tls = authority.server("127.0.0.1")
    node_tls.num_tickets = 0  # a ticket that comes now would end the stream
    with FakeNode(ssl_context=node_tls) as node:
        connecting = asyncio.ensure_future(
            Environment(loop).connect(Cancelling, node.address, node.port, tls=tls)
        )
        with pytest.raises(asyncio.CancelledError):
            await connecting
        # A new socket gets the lowest free descriptor.
        with ExitStack() as sockets:
            descriptor = -1
            while descriptor < descriptors[0]:
                sock = sockets.enter_context(socket.socket())
                descriptor = sock.fileno()
                loop.add_reader(sock, sock.close)
                loop.remove_reader(sock)
        # The transport closes the connection without an answer of the node.
        await until_on_loop(lambda: not node.connections)


def test_insertion_ordered_keeps_the_order_of_adding() -> None:
    """`InsertionOrdered` is a set that keeps the order of addition.

    It may change during an iteration.
    """
    items: InsertionOrdered[Any] = InsertionOrdered()
    for item in (3, 1, 2, 1):
        items.add(item)
    items.discard(1)
    items.discard(7)  # this item was never added
    # Items may be added and removed during an iteration, which visits the items that existed when
    # it started.
    for item in items:
        items.discard(item)
        items.add(item + 10)
    # The loop has replaced the items 3 and 2 by 13 and 12.
    assert list(items) == [13, 12]


async def test_link_local_addresses_keep_their_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the scope, the system refuses to connect to such an address."""
    loop = asyncio.get_running_loop()
    sockaddrs: list[Any] = [("fe80::5", 9042, 0, 2), ("fe80::5", 9042, 0, 2), ("10.0.0.1", 9042)]

    async def resolve(*args: Any, **kwargs: Any) -> Any:
        return [(0, 0, 0, "", sockaddr) for sockaddr in sockaddrs]

    monkeypatch.setattr(loop, "getaddrinfo", resolve)
    addresses = await Environment(loop).addresses("node.example", 9042, 0)
    assert addresses == ["fe80::5%2", "10.0.0.1"]


async def test_blocking_calls_do_not_keep_the_process_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The threads of blocking calls are daemons, so that the process can exit while one hangs.

    At most two callers wait for calls at a time. The calls of cancelled callers go on, but further
    calls do not wait for them, unless too many such calls hang.
    """
    monkeypatch.setattr("cassandra.engine.environment._MOST_ABANDONED_CALLS", 1)
    environment = Environment(asyncio.get_running_loop())
    is_over = threading.Event()
    started: list[bool] = []

    def block() -> None:
        started.append(threading.current_thread().daemon)
        is_over.wait(60)

    calls = [asyncio.ensure_future(environment.in_thread(block)) for _ in range(4)]
    await until_on_loop(lambda: len(started) == 2)
    calls[0].cancel()
    await until_on_loop(lambda: len(started) == 3)
    assert calls[0].done()
    calls[1].cancel()
    await until_on_loop(calls[1].done)
    # One cancelled call hangs already, so the other one still counts.
    await asyncio.sleep(0)
    assert len(started) == 3
    assert not calls[3].done()
    is_over.set()
    await asyncio.gather(*calls[2:])
    assert started == [True] * 4
    await until_on_loop(lambda: not environment._abandoned_calls)
    # All calls have ended, so two further calls may run.
    await until_on_loop(lambda: environment._free_threads._value == 2)


@pytest.mark.parametrize("exception_class", [StopIteration, SystemExit, asyncio.CancelledError])
async def test_an_exception_of_a_blocking_call_does_not_end_its_caller(
    exception_class: type[BaseException],
) -> None:
    """Exceptions that would end the caller's task, or never reach it, become a RuntimeError."""
    environment = Environment(asyncio.get_running_loop())
    with pytest.raises(ZeroDivisionError):
        await environment.in_thread(divmod, 1, 0)

    def fail() -> None:
        raise exception_class("no token")

    with pytest.raises(RuntimeError, match=f"raised {exception_class.__name__}: no tok") as caught:
        await asyncio.wait_for(environment.in_thread(fail), 60)
    assert isinstance(caught.value.__cause__, exception_class)


# In these modules, blocking callers wait in real threads, whose waits do not use the loop's clock.
MODULES_WITH_THREADS = {"environment.py", "loop.py"}


@pytest.mark.parametrize(
    "path", sorted(ENGINE.rglob("*.py")), ids=lambda path: str(path.relative_to(ENGINE))
)
def test_engine_modules_call_no_clock_or_random_function(path: Path) -> None:
    """No module of the engine calls the clock or a random function directly.

    In a simulation, time and random numbers must come from the environment.
    """
    if path.name in MODULES_WITH_THREADS:
        return
    called_functions = {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    }
    forbidden = ("time.", "random.", "os.urandom", "uuid.uuid", "monotonic", "urandom", "uuid4")
    assert not [call for call in called_functions if call.startswith(forbidden)]


@pytest.mark.parametrize("package", ["engine", "aio"])
def test_tasks_are_created_by_new_task(package: str) -> None:
    """No module creates tasks with asyncio's functions, which may run the first step at once.

    Exceptions are `new_task` itself, a loop that does not run yet, and the future of a session's
    `execute`, which the application may have replaced.
    """
    exceptions = {"environment.py", "loop.py", "concurrent.py"}
    for path in sorted((ENGINE.parent / package).rglob("*.py")):
        called_methods = {
            node.func.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        creators = called_methods & {"ensure_future", "create_task", "Task", "TaskGroup"}
        assert not creators or path.name in exceptions, path
