"""`NodeThread`, the thread of fake nodes, accepts connections and runs other threads' calls."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.testing.fake.looping import NodeThread


@pytest.fixture
def thread() -> Iterator[NodeThread]:
    """Yield a running thread with the name "test-nodes"."""
    node_thread = NodeThread("test-nodes")
    yield node_thread
    node_thread.stop()
    assert node_thread.loop.is_closed()


def current_thread_name() -> str:
    """Return the name of the thread that calls this function."""
    return threading.current_thread().name


# -- calls -----------------------------------------------------------------------------------------


def test_functions_run_on_the_thread_and_return_their_value(thread: NodeThread) -> None:
    """`call` runs a function on the thread of the event loop, and waits for its result."""
    assert thread.call(current_thread_name) == "test-nodes"
    assert thread.call(divmod, 7, 2) == (3, 1)
    assert thread.call(asyncio.get_running_loop) is thread.loop
    # A function on the thread may itself use `call`, which runs the function directly.
    assert thread.call(thread.call, current_thread_name) == "test-nodes"
    thread.rename("other")
    assert thread.call(current_thread_name) == "other"


@pytest.mark.parametrize("error_type", [ValueError, KeyboardInterrupt])
def test_an_error_is_raised_in_the_caller_s_thread(
    thread: NodeThread, error_type: type[BaseException]
) -> None:
    """If a function that runs on the thread raises an error, `call` raises it in the caller.

    The thread of the nodes keeps running.
    """

    def fail() -> None:
        raise error_type("no")

    with pytest.raises(error_type, match="no"):
        thread.call(fail)
    # The thread still runs.
    assert thread.call(current_thread_name) == "test-nodes"


def test_posted_calls_run_in_order_after_one_wakeup(thread: NodeThread) -> None:
    """Calls that are posted while the loop is busy wake the loop only once.

    A posted call may itself post another call.
    """
    numbers: list[int] = []
    is_busy, may_continue, is_finished = threading.Event(), threading.Event(), threading.Event()

    def keep_busy() -> None:
        is_busy.set()
        may_continue.wait(10)

    thread.loop.call_soon_threadsafe(keep_busy)
    is_busy.wait(10)
    # The loop has one handle for each wake-up.
    handles: Any = thread.loop._ready  # type: ignore[attr-defined]
    handles_before = len(handles)
    for number in range(100):
        thread.post(numbers.append, number)
    thread.post(thread.post, is_finished.set)
    wakeups = len(handles) - handles_before
    may_continue.set()
    assert is_finished.wait(10)
    assert numbers == list(range(100))
    assert wakeups == 1
    # A call that is posted later wakes the loop again.
    is_finished.clear()
    thread.post(is_finished.set)
    assert is_finished.wait(10)


def test_requests_are_numbered_for_all_nodes_of_the_thread(thread: NodeThread) -> None:
    """`number` returns consecutive numbers for the requests to all nodes of the thread."""
    assert [thread.number() for _ in range(3)] == [0, 1, 2]


def test_only_a_simulated_thread_waits_in_virtual_time(thread: NodeThread) -> None:
    """Waiting for a condition in virtual time is only possible with a simulated thread."""
    assert not thread.is_simulated
    with pytest.raises(NotImplementedError, match="only a simulated thread"):
        thread.wait_for(lambda: True, 1.0)
    with pytest.raises(NotImplementedError, match="only a simulated thread"):
        asyncio.run(thread.wait_until(lambda: True, 1.0))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:asyncio")
@pytest.mark.filterwarnings("ignore:.*EventLoopPolicy' is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*event_loop_policy' is deprecated:DeprecationWarning")
def test_the_policy_of_event_loops_does_not_matter() -> None:
    """Nodes run even if the test has set an event loop policy whose loops nodes cannot use."""

    class FailingPolicy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self) -> asyncio.AbstractEventLoop:
            raise AssertionError

    policy_before = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(FailingPolicy())
    try:
        node_thread = NodeThread("test-nodes")
    finally:
        asyncio.set_event_loop_policy(policy_before)
    assert node_thread.call(current_thread_name) == "test-nodes"
    node_thread.stop()


def test_stopping_ends_the_thread() -> None:
    """`stop` ends the thread, which is a daemon: without `stop`, the process could still exit."""
    threads_before = set(threading.enumerate())
    node_thread = NodeThread("test-nodes")
    (new_thread,) = set(threading.enumerate()) - threads_before
    assert new_thread.daemon
    node_thread.stop()
    assert not new_thread.is_alive()
    assert node_thread.loop.is_closed()


# -- sockets ---------------------------------------------------------------------------------------


class Greeter(asyncio.Protocol):
    """Greets each client, and records its transport."""

    def __init__(self, transports: list[asyncio.Transport]) -> None:
        self.transports = transports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Record the transport, and greet the client."""
        assert isinstance(transport, asyncio.Transport)
        self.transports.append(transport)
        transport.write(b"hello")


def has_ipv6() -> bool:
    """Return True if this machine has the loopback address of IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        pytest.param("::1", marks=pytest.mark.skipif(not has_ipv6(), reason="needs IPv6")),
    ],
)
def test_connections_are_accepted_until_the_thread_stops_listening(
    thread: NodeThread, address: str
) -> None:
    """A bound socket accepts connections only while the thread listens on it.

    Open connections stay open when the listening socket is closed.
    """
    transports: list[asyncio.Transport] = []
    listener = thread.bound_socket(address, 0)
    port = listener.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, port), 5)
    thread.call(thread.listen, listener, lambda: Greeter(transports), None)
    clients = [socket.create_connection((address, port), 5) for _ in range(70)]
    assert [client.recv(5) for client in clients] == [b"hello"] * 70
    # A connection is set up some iterations of the event loop after its protocol was created.
    thread.settle()
    thread.call(thread.stop_listening, listener)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, port), 5)
    assert len(transports) == 70
    for transport in transports:
        thread.call(transport.write, b"bye")
        thread.call(transport.close)
    for client in clients:
        assert client.recv(4) == b"bye"
        client.close()
    # The port can be bound again at once, although there were connections to it.
    thread.bound_socket(address, port).close()


def test_an_address_in_use_is_an_error_and_leaves_no_socket(thread: NodeThread) -> None:
    """If the address is in use, `bound_socket` raises OSError.

    pytest would report a socket that was left open as a ResourceWarning.
    """
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        thread.bound_socket("127.0.0.1", taken.getsockname()[1])


def test_connections_that_cannot_be_completed_are_closed(thread: NodeThread) -> None:
    """If the node cannot create the protocol, the client sees that the connection is closed."""

    def fail() -> asyncio.Protocol:
        raise ConnectionResetError

    listener = thread.bound_socket("127.0.0.1", 0)
    thread.call(thread.listen, listener, fail, None)
    with socket.create_connection(listener.getsockname(), 5) as client:
        assert client.recv(1) == b""
    thread.call(thread.stop_listening, listener)
