"""`Environment`: the clock, random numbers, network and threads that an engine uses.

Each cluster has one `Environment`, which `Core` passes to the parts that need it. On a normal
asyncio loop, the environment uses the system's clock and network. A loop that simulates a network
has a method `cassandra_environment()`. The method returns another environment, through which the
simulation controls everything that the engine does.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
import uuid
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from contextvars import Context
from typing import Any, TypeVar

from cassandra._threads import new_thread, simulation
from cassandra.engine.failures import failure_of
from cassandra.engine.pools.shard_ports import connected, connected_to_shard
from cassandra.metadata.endpoint import with_scope

T = TypeVar("T")

# The maximum number of blocking calls in threads for which callers wait at the same time.
_MOST_THREADS = 2
# The maximum number of further calls, whose callers no longer wait because the connect timeout has
# passed. Such calls hang, for example because a name server does not respond.
_MOST_ABANDONED_CALLS = 64

MakeProtocol = Callable[[], asyncio.BaseProtocol]


class InsertionOrdered(dict[T, None]):
    """A set that iterates in insertion order.

    A plain set of tasks or requests iterates in the order of their memory addresses, which differs
    from run to run. If a loop cancelled tasks in that order, a simulated run could not be repeated
    exactly.
    """

    __slots__ = ()

    def add(self, item: T) -> None:
        """Append `item`, unless the set has it already."""
        self[item] = None

    def discard(self, item: T) -> None:
        """Remove `item`, if the set has it."""
        self.pop(item, None)

    def __iter__(self) -> Iterator[T]:
        # Make a copy, which is atomic: other threads may change the set while we iterate.
        return iter(list(self.keys()))


class Environment:
    """The system's clock, network and threads, for the engine of a cluster.

    :param loop: the loop of the cluster.
    """

    clock: Callable[[], float]
    """Returns the seconds of a clock that never goes back. Any thread may call it."""

    wall_clock: Callable[[], int]
    """Returns the nanoseconds since the Unix epoch, from a clock that may be adjusted. Any thread
    may call it.
    """

    random: random.Random
    """Generates all random numbers of the cluster, for example for delays, ports and ids."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.clock = time.monotonic
        self.wall_clock = time.time_ns
        self.random = random.Random()
        # Limits how many blocking calls run in threads at the same time.
        self._free_threads = asyncio.Semaphore(_MOST_THREADS)
        self._abandoned_calls = 0  # see _MOST_ABANDONED_CALLS

    # -- the network -------------------------------------------------------------------------------

    async def addresses(self, name: str, port: int, family: int) -> list[str]:
        """Return the distinct IP addresses of a host name, in the resolver's order.

        :raises OSError: if the name cannot be resolved.
        """
        address_infos = await self.loop.getaddrinfo(
            name, port, family=family, type=socket.SOCK_STREAM
        )
        return list(dict.fromkeys(with_scope(info[4]) for info in address_infos))

    async def connect(
        self,
        make_protocol: MakeProtocol,
        address: str,
        port: int,
        *,
        tls: dict[str, Any],
        local_ports: Iterable[int] | None = None,
        on_reached: Callable[[], None] = lambda: None,
    ) -> None:
        """Connect a protocol to an IP address.

        :param tls: the arguments `ssl` and `server_hostname` of ``loop.create_connection``; empty
            without TLS.
        :param local_ports: candidates for the local port, of which the first free port is used;
            None for any port.
        :param on_reached: called when the peer has accepted the connection, before the TLS
            handshake. Not called for connections without TLS and `local_ports`.
        :raises OSError: if the address cannot be connected to, or no local port is free.
        """
        loop = self.loop
        if not tls and local_ports is None:
            await loop.create_connection(make_protocol, address, port)
            return
        # Connect first and do the TLS handshake afterwards, so that error messages can distinguish
        # a peer that does not accept connections from a peer that does not speak TLS.
        sock = (
            await connected(loop, address, port)
            if local_ports is None
            else await connected_to_shard(loop, address, port, local_ports)
        )
        on_reached()
        try:
            await loop.create_connection(make_protocol, sock=sock, **tls)
        except BaseException:
            # The socket belongs to a transport of the loop, which may wait up to 30 seconds for the
            # peer to end its stream of TLS, too. If we closed the socket, the next connection would
            # get its descriptor, for which asyncio knows that transport, and could not use it. So
            # only end the stream: then the transport closes the socket.
            with suppress(OSError):  # the socket is closed, or not connected any more
                sock.shutdown(socket.SHUT_RDWR)
            raise

    async def connect_unix(
        self, make_protocol: MakeProtocol, path: str, *, tls: dict[str, Any]
    ) -> None:
        """Connect a protocol to a Unix socket.

        :param tls: the arguments `ssl` and `server_hostname`, as for `connect`.
        """
        await self.loop.create_unix_connection(make_protocol, path, **tls)

    # -- threads -----------------------------------------------------------------------------------

    async def in_thread(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function that may block, in another thread, and return its result.

        If the wait is cancelled, the thread ends when the function returns.

        :raises RuntimeError: in place of SystemExit and other exceptions of the function that would
            end the task of the caller.
        """
        await self._free_threads.acquire()
        has_ended = is_abandoned = False

        def on_end() -> None:
            nonlocal has_ended
            has_ended = True
            if is_abandoned:
                self._abandoned_calls -= 1
            else:
                self._free_threads.release()

        try:
            return await _run_in_thread(on_end, function, *args)
        except asyncio.CancelledError:
            # Let further calls run, although this call may hang: two calls that never return would
            # otherwise prevent all further connections.
            if not has_ended and self._abandoned_calls < _MOST_ABANDONED_CALLS:
                is_abandoned = True
                self._abandoned_calls += 1
                self._free_threads.release()
            raise


def new_id() -> uuid.UUID:
    """Return a random id.

    In a simulation, the simulation generates the id, so that a run can be repeated exactly.
    """
    # Only a simulated loop has the method `cassandra_id`. If no loop runs in this thread, ask the
    # current simulation, if there is one.
    loop: Any = asyncio._get_running_loop()
    make_id: Callable[[], uuid.UUID] | None = getattr(loop, "cassandra_id", None)
    if make_id is not None:
        return make_id()
    current_simulation = simulation()
    return current_simulation.new_id() if current_simulation is not None else uuid.uuid4()


def environment_of(loop: asyncio.AbstractEventLoop) -> Environment:
    """Create the environment of a cluster on `loop`.

    If the loop belongs to a simulation, the environment is simulated, too. Otherwise the
    environment uses the operating system.
    """
    make_environment: Callable[[], Environment] | None = getattr(
        loop, "cassandra_environment", None
    )
    return make_environment() if make_environment is not None else Environment(loop)


def new_task(
    coroutine: Coroutine[Any, Any, T],
    loop: asyncio.AbstractEventLoop | None = None,
    context: Context | None = None,
) -> asyncio.Task[T]:
    """Run a coroutine as a task, which begins in a later callback of the loop.

    The engine creates all its tasks with this function. An application may have set
    ``asyncio.eager_task_factory`` (Python 3.12) on its loop. Then ``asyncio.ensure_future`` and
    ``loop.create_task`` would run the first step of the coroutine before they return, and thus
    before the caller has stored the task or prepared what the coroutine needs.

    By default, the task runs in an empty context (see `contextvars`), and so do the connections and
    timers that it makes. A cluster outlives the part of the application that has connected it, for
    example a web request. In a copy of that context, the log records and policies of all later
    requests would see its values, which could never be freed.

    :param loop: the loop, which need not be running at the moment; None for the running loop.
    :param context: the task runs in a copy of this context; None for an empty context.
    """
    if loop is None:
        loop = asyncio.get_running_loop()
    if context is None:
        context = Context()
    # A simulated loop has its own class of tasks. Its task factory never starts a task at once.
    if hasattr(loop, "cassandra_environment"):
        return context.run(loop.create_task, coroutine)
    # Tasks copy the current context. Their argument `context` needs Python 3.11.
    return context.run(asyncio.Task, coroutine, loop=loop)


def call_on(
    loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: object
) -> None:
    """Call `function` now if `loop` is running in this thread, otherwise when the loop runs again.

    The application may cancel an execution while its loop does not run, as ``asyncio.run`` does at
    its end. If the loop is closed, `function` is not called.
    """
    if asyncio._get_running_loop() is loop:
        function(*args)
        return
    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(function, *args)


async def _run_in_thread(on_end: Callable[[], object], function: Callable[..., T], *args: Any) -> T:
    """Call `function` in a new real thread, and return its result.

    We use no thread pool of `concurrent.futures`, for two reasons. At its exit, the interpreter
    waits for the threads of such a pool, even if user code blocks them forever. And if threads are
    patched, the pool would start greenlets.

    :param on_end: called on the loop when `function` has ended, even if this wait was cancelled.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def set_outcome(result: Any, error: BaseException | None) -> None:
        on_end()
        if outcome.done():  # the caller was cancelled
            return
        if error is None:
            outcome.set_result(result)
        else:
            outcome.set_exception(error)

    def call_and_report() -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = function(*args)
        except BaseException as caught:
            # Pass the error to the caller that awaits the result. A future cannot have a
            # StopIteration as its error, and SystemExit or CancelledError would end the task of the
            # caller, which nobody would start again.
            error = failure_of(caught)
        try:
            loop.call_soon_threadsafe(set_outcome, result, error)
        except RuntimeError:  # the loop was closed during the call
            pass

    try:
        new_thread(call_and_report, "cassandra-blocking", is_brief=True).start()
    except BaseException:  # for example, the system allows no more threads
        on_end()
        raise
    return await outcome
