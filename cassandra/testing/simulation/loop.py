"""`SimulatedLoop`: an asyncio event loop in virtual time, whose seed makes all random choices.

The loop is its own selector: asyncio calls `select` to wait for I/O. When nothing is ready,
`select` moves the virtual time to the next timer or I/O event, and returns at once. So an hour of
waiting takes no real time. Where asyncio guarantees an order, this loop guarantees it, too:
callbacks of `call_soon` run in order, and the events of each connection arrive in order. Where
asyncio guarantees no order, the seed decides: which of several ready connections comes first, which
of two equal timers fires first, and how late a timer fires.

If a task still waits but no timer or I/O event is left, the loop raises `Stalled`. If the loop
iterates very often while hardly any virtual time passes, it raises `Livelocked`. A real loop would
hang in both cases.
"""

from __future__ import annotations

import asyncio
import errno
import heapq
import itertools
import random
import ssl
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra.engine.failures import failure_of

if TYPE_CHECKING:
    from cassandra.testing.simulation.network import Listener, Network
    from cassandra.testing.simulation.threads import SimulatedThreads

__all__ = ["Livelocked", "SimulatedEnvironment", "SimulatedLoop", "Stalled"]

T = TypeVar("T")

_BEGINNING = 1_000.0  # virtual seconds at the start; not 0, which some code treats as "never"
_EPOCH = 1_767_225_600 * 10**9  # nanoseconds: the wall clock shows 2026 when virtual time is 0
_TURN = 1e-6  # how long each iteration of the loop takes at least, in seconds
_LATENESS = 2e-5  # maximum seconds that a timer may be late
# When virtual time jumps to the next event, it sometimes lands too late by up to `_BUSY` seconds,
# as if the process had been busy. This is the probability of a late jump.
_BUSY_SHARE = 0.02
_BUSY = 0.005  # seconds

# If the loop iterates more than `_MOST_TURNS` times within `_TURNS_TIME` virtual seconds, it raises
# Livelocked.
_MOST_TURNS = 300_000
_TURNS_TIME = 5.0


class Stalled(RuntimeError):
    """Raised if something is awaited, but no timer and no I/O event is left that could wake it."""


class Livelocked(RuntimeError):
    """Raised if the loop iterates again and again, but virtual time hardly passes."""


class _Clock:
    """The virtual time and the wall clock, which all loops of a simulation share."""

    __slots__ = ("ids", "now", "wall_offset")

    def __init__(self, seed: int | str) -> None:
        self.now = _BEGINNING
        self.wall_offset = _EPOCH
        self.ids = random.Random(f"{seed}/ids")


class SimulatedLoop(asyncio.BaseEventLoop):
    """An event loop in virtual time. Its seed determines everything that it does.

    :param seed: an int or a string. The same seed gives the same run if the implementation of the
        driver (compiled or Python) and the Python version are the same.
    """

    network: Network
    """The network of the loop's connections, which the constructor of `Network` sets."""

    def __init__(self, seed: int | str = 0) -> None:
        super().__init__()
        self.seed = seed
        self.random = random.Random(f"{seed}/loop")
        self.turns = 0  # how many iterations the loop has made
        self.faults: list[dict[str, Any]] = []
        """The contexts that were passed to the loop's exception handler: unhandled exceptions."""
        self.threads: SimulatedThreads | None = None
        """The simulated threads, which take turns with the thread of the loop; None for none."""
        self.children: list[SimulatedLoop] = []
        """The loops of other threads, in the order of their creation."""
        self._clock = _Clock(seed)
        self._stall = 0.0  # seconds that must pass before the next event; see `stall`
        self._is_stopped_at_end = False  # see `SimulatedThreads._turn_alone`
        # A heap of I/O events: (time, random tie-breaker, number, connection, callback).
        self._io: list[tuple[float, float, int, object, Callable[[], object]]] = []
        self._numbers = itertools.count()  # unique numbers of I/O events
        self._watch_from = (_BEGINNING, 0)  # (time, turns) when the livelock check began
        self._selector = self  # asyncio's base class calls its method `select`
        self._clusters = itertools.count(1)  # numbers of the clusters, for their random seeds
        self._task_numbers = itertools.count(1)  # see `_make_task`
        self.set_exception_handler(lambda loop, context: self.faults.append(context))
        make_task: Any = _make_task
        self.set_task_factory(make_task)

    # -- time --------------------------------------------------------------------------------------

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self._clock.now

    def wall_time_ns(self) -> int:
        """Return the wall clock: nanoseconds since the Unix epoch."""
        clock = self._clock
        return clock.wall_offset + int(clock.now * 1e9)

    def step_wall_clock(self, seconds: float) -> None:
        """Move the wall clock, as an administrator or NTP does. Timers are not affected.

        :param seconds: how far to move the clock forward; a negative number moves it back.
        """
        self._clock.wall_offset += int(seconds * 1e9)

    def stall(self, seconds: float) -> None:
        """Let virtual time pass before the next event, as if a callback had blocked the loop.

        :param seconds: for how many virtual seconds.
        """
        self._stall += seconds

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Call `callback` at a virtual time, or a few microseconds later.

        :param when: the virtual time, in seconds.
        :param callback: the function to call.
        :param args: the arguments of the call.
        :param context: the context (`contextvars`) of the call.
        """
        lateness = self.random.random() * _LATENESS
        return super().call_at(when + lateness, callback, *args, context=context)

    def call_io(self, when: float, key: object, callback: Callable[[], object]) -> None:
        """Call `callback` at a virtual time, as an I/O event of the network.

        :param when: the virtual time, in seconds.
        :param key: the connection. Events of one connection keep their order.
        :param callback: the function to call.
        """
        tie_breaker = self.random.random()
        heapq.heappush(self._io, (when, tie_breaker, next(self._numbers), key, callback))

    # -- the selector ------------------------------------------------------------------------------

    def select(self, timeout: float | None) -> list[tuple[object, Callable[[], object]]]:
        """Let time pass until the next event, and return the I/O events that are due.

        :param timeout: the maximum number of seconds; None for no limit.
        """
        self._check_progress()
        clock = self._clock
        # How many seconds callbacks have blocked the loop since the last call; see the method
        # `stall`.
        stall, self._stall = self._stall, 0.0
        # Each iteration takes at least _TURN virtual seconds. The stall is added to that.
        if self.threads is not None:
            # Let the other simulated threads run until this loop has work. `turn` also lets time
            # pass for the stall, and until the next timer, so it does not need `timeout`.
            clock.now += _TURN
            self.threads.turn(self, stall)
        else:
            clock.now += _TURN + stall
            if timeout is None or timeout > 0:
                self.jump(clock.now + timeout if timeout is not None else None)
        events = []
        while self._io and self._io[0][0] <= clock.now:
            _, _, _, key, callback = heapq.heappop(self._io)
            events.append((key, callback))
        return events

    def jump(self, target: float | None) -> None:
        """Let time pass until `target` or the next I/O event, whichever comes first.

        :param target: the virtual time of the next timer; None if there is none.
        :raises Stalled: if there is no I/O event and no timer.
        """
        if self._io and (target is None or self._io[0][0] < target):
            target = self._io[0][0]
        if target is None:
            raise Stalled(f"nothing will happen any more, at {self._clock.now:.6f} s")
        self._clock.now = max(self._clock.now, target + self.busy_seconds())

    def busy_seconds(self) -> float:
        """Return by how many seconds the loop wakes up too late.

        The delay imitates a process that was busy: it is usually 0, and sometimes a random number.
        """
        if self.random.random() < _BUSY_SHARE:
            return self.random.random() * _BUSY
        return 0.0

    # -- together with other threads ---------------------------------------------------------------

    def has_work(self) -> bool:
        """Return True if the loop has a callback that can run now."""
        return bool(self._ready) or self._stopping  # type: ignore[attr-defined]

    def next_time(self) -> float | None:
        """Return the virtual time of the next timer or I/O event; None if there is none."""
        times = [handle._when for handle in self._scheduled[:1]]  # type: ignore[attr-defined]
        if self._io:
            times.append(self._io[0][0])
        return min(times, default=None)

    def new_child(self, name: str) -> SimulatedLoop:
        """Return a loop for another thread, with the same network and time.

        :param name: a name that no other child has. It becomes a part of the child's seed.
        """
        child = type(self)(f"{self.seed}/{name}")
        child.share(self)
        self.children.append(child)
        return child

    def share(self, parent: SimulatedLoop) -> None:
        """Join the simulation of another loop: use its time, network, threads and list of faults.

        :param parent: the other loop.
        """
        self.network = parent.network
        self.threads = parent.threads
        self.faults = parent.faults
        self._clock = parent._clock
        self._clusters = parent._clusters
        # Begin to check for a livelock now; see `_watch_from` in `__init__`.
        self._watch_from = (self._clock.now, 0)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """Call `callback` soon, in the thread of the loop.

        In a simulation with threads, the loop's thread may run before this method returns.

        :param callback: the function to call.
        :param args: the arguments of the call.
        :param context: the context (`contextvars`) of the call.
        """
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        if self.threads is not None:
            self.threads.on_call(self)
        return handle

    def _check_progress(self) -> None:
        """Count an iteration of the loop.

        Raise Livelocked after too many of them in little virtual time.
        """
        self.turns += 1
        watch_time, watch_turns = self._watch_from
        now = self._clock.now
        if now - watch_time > _TURNS_TIME:
            self._watch_from = (now, self.turns)
        elif self.turns - watch_turns > _MOST_TURNS:
            raise Livelocked(f"{_MOST_TURNS} turns of the loop took less than {_TURNS_TIME} s")

    def _process_events(self, events: list[tuple[object, Callable[[], object]]]) -> None:
        """Called by asyncio with the result of `select`: schedule the callbacks."""
        if len(events) > 1:
            # Shuffle the connections, but keep the order of the events of each.
            by_key: dict[int, list[Callable[[], object]]] = {}
            for key, callback in events:
                by_key.setdefault(id(key), []).append(callback)
            groups = list(by_key.values())
            self.random.shuffle(groups)
            calls = [callback for group in groups for callback in group]
        else:
            calls = [callback for _, callback in events]
        for callback in calls:
            self._ready.append(asyncio.Handle(callback, (), self))  # type: ignore[attr-defined]

    def _write_to_self(self) -> None:
        """Do nothing: asyncio calls this to wake up `select`, which never waits in a simulation."""

    # -- methods of asyncio's loops ----------------------------------------------------------------

    def run_in_executor(  # type: ignore[override]
        self, executor: object, function: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Call a function in a simulated thread; without `SimulatedThreads`, call it immediately.

        :param executor: ignored.
        :param function: the function.
        :param args: the arguments of the function.
        """
        future: asyncio.Future[T] = self.create_future()
        if self.threads is not None and self.threads.is_current():
            self.threads.call_in_thread(future, function, *args)
            return future
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def new_executor(self, name: str) -> InlineExecutor:
        """Return the executor that reads the rows of a load (a bulk write).

        The simulation's executor uses no thread.

        :param name: ignored. Elsewhere it is the name of the thread.
        """
        return InlineExecutor()

    async def getaddrinfo(  # type: ignore[override]
        self,
        host: str,
        port: int,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        """Resolve a host name by the addresses in `Network.names`.

        :param host: the host.
        :param port: the port.
        :param family: ignored.
        :param type: ignored.
        :param proto: ignored.
        :param flags: ignored.
        """
        # Each item is (AF_INET, SOCK_STREAM, IPPROTO_TCP, canonical name, socket address).
        return [(2, 1, 6, "", (address, port)) for address in await self.network.resolve(host)]

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        *,
        ssl: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
        local_addr: tuple[str, int] | None = None,
        **_: Any,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Connect to an address of the simulated network.

        :param protocol_factory: called to create the protocol.
        :param host: the host.
        :param port: the port.
        :param ssl: the TLS context; None for no TLS.
        :param server_hostname: the name that the server's certificate must have; None for `host`.
        :param local_addr: the local address and port; None for any.
        """
        address = (await self.network.resolve(host))[0]
        return await self.network.connect(
            protocol_factory,
            address,
            port,
            local_port=local_addr[1] if local_addr is not None else None,
            tls=ssl,
            server_hostname=server_hostname if server_hostname is not None else host,
        )

    async def create_server(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        *,
        ssl: ssl.SSLContext | None = None,
        **_: Any,
    ) -> Listener:
        """Listen at an address of the simulated network.

        :param protocol_factory: called to create the protocol of each connection.
        :param host: the host.
        :param port: the port.
        :param ssl: the TLS context; None for no TLS.
        :returns: an object with `close` and `getsockname`.
        """
        listener = self.network.bind(host, port)
        listener.listen(protocol_factory, ssl)
        return listener

    def cassandra_environment(self) -> SimulatedEnvironment:
        """Return the environment (time, random numbers, connections) of a new `Cluster`."""
        return SimulatedEnvironment(self, f"{self.seed}/cluster {next(self._clusters)}")

    def cassandra_id(self) -> uuid.UUID:
        """Return a random id, which the seed determines. The driver uses such ids."""
        return uuid.UUID(int=self._clock.ids.getrandbits(128), version=4)

    # -- runs --------------------------------------------------------------------------------------

    def run(self, main: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run a coroutine until it ends, and close the loop.

        :param main: the coroutine.
        :param timeout: the maximum virtual time in seconds; None for no limit.
        :raises Stalled: if the coroutine waits for something that can never happen.
        :raises Livelocked: if virtual time does not pass any more.
        :raises TimeoutError: if the coroutine has not ended after `timeout` seconds.
        """
        try:
            work = asyncio.wait_for(main, timeout) if timeout is not None else main
            return self.run_until_complete(work)
        finally:
            self._abandon_tasks()
            self.close()

    def _abandon_tasks(self) -> None:
        """Cancel the tasks that still run after the main coroutine has ended."""
        # The clean-up needs some iterations of the loop, so begin a new check for a livelock.
        self._watch_from = (self._clock.now, self.turns)
        # Sort the tasks by their hash, which is their number, so that each run cancels them in the
        # same order.
        unfinished = sorted(asyncio.all_tasks(self), key=hash)
        for task in unfinished:
            task.cancel()
        if unfinished:
            try:
                self.run_until_complete(asyncio.wait(unfinished, timeout=10.0))
            except (Stalled, Livelocked):
                pass
        self._io.clear()


class InlineExecutor(Executor):
    """An executor without threads: `submit` calls the function itself."""

    def submit(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Call the function now, and return a finished future with its result or error.

        :param function: the function.
        :param args: the positional arguments of the function.
        :param kwargs: the keyword arguments of the function.
        """
        future: Future[T] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


class _Task(asyncio.Task[Any]):
    """A task whose hash is a number instead of its address in memory.

    asyncio keeps tasks in sets. With addresses as hashes, the order of these sets would differ from
    run to run.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Any], number: int, **settings: Any) -> None:
        self._number = number
        super().__init__(coroutine, **settings)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


def _make_task(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **settings: Any
) -> _Task:
    assert isinstance(loop, SimulatedLoop)
    return _Task(coroutine, next(loop._task_numbers), loop=loop, **settings)


class SimulatedEnvironment:
    """The time, random numbers, connections and threads of one cluster on a simulated loop.

    This class implements `cassandra.engine.environment.Environment`.

    :param loop: the simulated loop.
    :param seed: the seed of the random numbers.
    """

    def __init__(self, loop: SimulatedLoop, seed: str) -> None:
        self.loop = loop
        self.clock = loop.time
        self.wall_clock = loop.wall_time_ns
        self.random = random.Random(seed)

    async def addresses(self, name: str, port: int, family: int) -> list[str]:
        """Return the IP addresses of a host name.

        :param name: the name.
        :param port: the port.
        :param family: ignored.
        """
        return await self.loop.network.resolve(name)

    async def connect(
        self,
        make_protocol: Callable[[], asyncio.BaseProtocol],
        address: str,
        port: int,
        *,
        tls: dict[str, Any],
        local_ports: Any = None,
        on_reached: Callable[[], None] = lambda: None,
    ) -> None:
        """Connect a protocol to an IP address.

        :param make_protocol: called to create the protocol.
        :param address: the IP address.
        :param port: the port.
        :param tls: the arguments `ssl` and `server_hostname` of the connection; empty for no TLS.
        :param local_ports: the local ports to connect from; None for any.
        :param on_reached: called when the peer has accepted the connection, before the TLS
            handshake.
        """
        network = self.loop.network
        # The port determines the shard on the server, so connect from the first free port of the
        # range.
        local_port = None
        if local_ports is not None:
            local_port = next(
                (candidate for candidate in local_ports if network.is_free(candidate)), None
            )
            if local_port is None:
                raise OSError(errno.EADDRINUSE, "no local port of the range is free for the shard")
        await network.connect(
            make_protocol,
            address,
            port,
            local_port=local_port,
            tls=tls.get("ssl"),
            server_hostname=tls.get("server_hostname"),
            on_reached=on_reached,
        )

    async def connect_unix(self, make_protocol: Any, path: str, *, tls: dict[str, Any]) -> None:
        """Raise OSError: the simulated network has no Unix sockets.

        :param make_protocol: ignored.
        :param path: the path of the socket, for the error.
        :param tls: ignored.
        """
        raise OSError(errno.ENOENT, f"there is no {path} in a simulation")

    async def in_thread(self, function: Callable[..., T], *args: Any) -> T:
        """Call the function in the event loop, after a short virtual time.

        A simulation without `SimulatedThreads` has no thread for the function.

        :param function: the function.
        :param args: its arguments.
        """
        await asyncio.sleep(0.0001)
        try:
            return function(*args)
        except (SystemExit, asyncio.CancelledError) as error:
            # A real thread would not end the task of the caller, either.
            raise failure_of(error) from error
