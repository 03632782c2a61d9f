"""`SimulatedThreads`: application threads that take turns, in the virtual time of a loop.

Application threads use the blocking API, which runs an event loop in its own thread. In a
simulation all of these are real threads, but only one thread runs at a time. A thread runs until it
waits: for a response, for a lock, for the end of another thread, or, if the thread runs a loop, for
the next event. Then the seed decides which of the threads that can continue runs next. If no thread
can continue, virtual time jumps to the next event.

A simulated thread is a `_Strand`, and a `_Carrier` is the real thread that runs it.
"""

from __future__ import annotations

import asyncio
import random
import threading
import uuid
from collections.abc import Callable
from typing import Any

from cassandra import _threads
from cassandra.testing.simulation.loop import SimulatedLoop, Stalled

__all__ = ["SimulatedThreads"]

# The probability with which a call of `call_soon_threadsafe` lets another thread run at once.
_SWITCH_SHARE = 0.25
_PATIENCE = 300.0  # real seconds that a thread waits for its turn
_END_PATIENCE = 10.0  # real seconds that a remaining thread may take to end


class _Abandoned(BaseException):
    """Raised in a waiting thread when the simulation is over, to end the thread."""


def _never() -> bool:
    return False


def _always() -> bool:
    return True


def _no_time() -> float | None:
    return None


class _Carrier:
    """A real thread, which runs several strands (simulated threads) one after the other.

    If each strand had a new real thread, the thread might or might not get the identity
    (`threading.get_ident`) of an earlier thread. The operating system decides that, not the seed.
    Because real threads are reused, the identities are the same in each run.
    """

    def __init__(self) -> None:
        self._work: Callable[[], None] | None = None  # runs the current strand; None without one
        self._is_due = threading.Semaphore(0)  # released when there is work
        self.thread = _threads.daemon_thread(self._run, "idle")
        self.thread.start()

    def run(self, work: Callable[[], None] | None, name: str = "idle") -> None:
        """Run `work` in the real thread. None ends the thread."""
        self._work = work
        self.thread.name = name
        self._is_due.release()

    def _run(self) -> None:
        """Run the functions that `run` passes, one after the other, until `run` passes None."""
        while True:
            self._is_due.acquire()
            work = self._work
            if work is None:
                return
            work()


class _Strand:
    """A simulated thread. It has the methods of `threading.Thread` that the driver uses."""

    def __init__(self, threads: SimulatedThreads, target: Callable[[], Any], name: str) -> None:
        self._threads = threads
        self._target = target
        self.name = name
        # The strand waits for its turn by acquiring this lock. The strand that runs releases the
        # lock to let this strand run.
        self.turn = threading.Lock()
        self.turn.acquire()
        # A waiting strand can continue when `is_ready()` is true, or at the virtual time that
        # `wakes_at()` returns (None for no time).
        self.is_ready: Callable[[], bool] = _always
        self.wakes_at: Callable[[], float | None] = _no_time
        self.result: Any = None
        self.error: BaseException | None = None
        self.has_ended = threading.Event()
        """Set when the strand ends: `SimulatedThreads` waits for it in real time."""
        self._is_alive = False
        self.ident: int | None = None
        self.carrier: _Carrier | None = None  # the real thread, from `start` on

    def start(self) -> None:
        """Make the strand ready to run, on an idle real thread, or on a new one if none is idle."""
        self._is_alive = True
        self.carrier = self._threads.idle.pop() if self._threads.idle else _Carrier()
        self.ident = self.carrier.thread.ident
        self._threads.add(self)
        self.carrier.run(self._run, self.name)

    def is_alive(self) -> bool:
        return self._is_alive

    def join(self, timeout: float | None = None) -> None:
        threads = self._threads
        threads.wait(lambda: not self._is_alive, threads.deadline(timeout))

    def wait_for_turn(self) -> None:
        if not self.turn.acquire(timeout=_PATIENCE):
            raise RuntimeError(f"a thread of the simulation blocks: {self.name} gets no turn")

    def _run(self) -> None:
        """Run the target when this strand gets its turn; then let another strand run."""
        try:
            self.wait_for_turn()
            if not self._threads.is_over:
                self.result = self._target()
        except _Abandoned:
            pass  # the simulation is over
        except BaseException as error:
            self.error = error
            self._threads.failed.append(self)
        finally:
            self._is_alive = False
            self._threads.remove(self)
            self.has_ended.set()


class _Waiter:
    """A lock whose `acquire` lets other simulated threads run.

    In a simulation, the driver uses this class instead of `threading.Lock`, and instead of
    `cassandra._threads.Waiter`, a lock that is held when it is created.
    """

    def __init__(self, threads: SimulatedThreads, is_free: bool) -> None:
        self._threads = threads
        self._is_free = is_free

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Let other threads run until the lock is free, and acquire it.

        Return False after the timeout.
        """
        # As for `threading.Lock`, a negative timeout means no limit.
        limit = None if timeout < 0 else timeout
        if not blocking:
            limit = 0.0
        if not self._threads.wait(self._can_be_taken, self._threads.deadline(limit)):
            return False
        self._is_free = False
        return True

    def _can_be_taken(self) -> bool:
        return self._is_free

    def release(self) -> None:
        if self._is_free:
            raise RuntimeError("release of a lock that is free")
        self._is_free = True

    def locked(self) -> bool:
        return not self._is_free

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *details: object) -> None:
        self.release()


class SimulatedThreads:
    """The threads of an application, and of the driver's blocking API, in a simulation.

    :param loop: the simulated loop that runs the nodes and the network. You may also run coroutines
        on this loop.
    """

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop = loop
        loop.threads = self
        self.is_over = False  # True when the simulation ends, and all remaining threads must end
        self._random = random.Random(f"{loop.seed}/threads")
        self._loops = 0  # how many child loops were created, for their names
        self.idle: list[_Carrier] = []  # real threads without work, to reuse
        # The strand of the thread that runs `loop`. This class does not start that thread.
        self._main = _Strand(self, _never, "main")
        self._strands = [self._main]
        self._by_ident: dict[int | None, _Strand] = {}  # by the real thread's `get_ident`
        self.failed: list[_Strand] = []  # the strands that have ended by an error
        self._is_stalled = False  # True makes the main strand raise Stalled
        self._ended: asyncio.Event | None = None  # set when a thread ends

    # -- for applications --------------------------------------------------------------------------

    def run(self, *programs: Callable[[], Any], timeout: float | None = None) -> list[Any]:
        """Run each function in its own thread until all have returned, and close the loop.

        :param programs: functions without arguments, which use the blocking API.
        :param timeout: the maximum virtual time in seconds; None for no limit.
        :returns: the results of the functions, in order.
        :raises Exception: the error of the first function in `programs` that failed, or else of the
            first other thread that failed.
        :raises Stalled: if all threads wait for something that can never happen.
        :raises TimeoutError: if the functions have not returned after `timeout` seconds.
        """
        return self.loop.run(self.run_beside(*programs), timeout)

    async def run_beside(self, *programs: Callable[[], Any]) -> list[Any]:
        """Run each function in its own thread, beside the coroutines on the simulation's loop.

        :param programs: functions without arguments.
        :returns: the results of the functions, in order.
        :raises Exception: the error of the first function in `programs` that failed, or else of the
            first other thread that failed, such as a thread of `start` or of the driver.
        :raises RuntimeError: if this method was called before: the simulation of threads is over.
        """
        async with self:
            strands = [_Strand(self, program, f"program {n}") for n, program in enumerate(programs)]
            for strand in strands:
                strand.start()
            assert self._ended is not None
            # `_ended` is set whenever some thread ends, so check after each time whether all of
            # `strands` have ended.
            while any(strand.is_alive() for strand in strands):
                await self._ended.wait()
                self._ended.clear()
        for strand in [*strands, *self.failed]:
            if strand.error is not None:
                raise strand.error
        return [strand.result for strand in strands]

    async def __aenter__(self) -> SimulatedThreads:
        """Begin the simulation of threads.

        The calling coroutine may then start threads, for example by ``asyncio.to_thread``.

        :raises RuntimeError: if the simulation of threads has ended.
        """
        if self.is_over:
            raise RuntimeError(
                "this simulation of threads has ended: pass all programs to one call of run or "
                "run_beside, or create another loop and another SimulatedThreads"
            )
        _threads.run_simulation(self)
        self._main.ident = threading.get_ident()
        self._by_ident[self._main.ident] = self._main
        self._ended = asyncio.Event()
        return self

    async def __aexit__(self, *details: object) -> None:
        self._end()

    def sleep(self, seconds: float) -> None:
        """Let the calling thread sleep, while other threads run.

        :param seconds: virtual seconds.
        """
        self.wait(_never, self.deadline(seconds))

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self.loop.time()

    def wall_time_ns(self) -> int:
        """Return the wall clock: nanoseconds since the Unix epoch."""
        return self.loop.wall_time_ns()

    def new_id(self) -> uuid.UUID:
        """Return a random id for the driver, which the seed determines."""
        return self.loop.cassandra_id()

    def start(self, program: Callable[[], Any], name: str = "program") -> _Strand:
        """Start another application thread.

        :param program: a function without arguments.
        :param name: the name of the thread.
        :returns: an object with `is_alive` and `join`, like `threading.Thread`.
        """
        strand = _Strand(self, program, name)
        strand.start()
        return strand

    def call_in_thread(
        self, future: asyncio.Future[Any], function: Callable[..., Any], *arguments: Any
    ) -> None:
        """Call a function in a new simulated thread, and store its outcome in a future.

        :param future: a future of a simulated loop.
        :param function: the function.
        :param arguments: the arguments of the function.
        """
        loop = future.get_loop()

        def set_outcome(result: Any, error: BaseException | None) -> None:
            """Set the result or error on the future. Runs on the loop of the future."""
            if future.done():  # the future was cancelled while the function ran
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        def work() -> None:
            """Call the function in the simulated thread, and schedule `set_outcome` on the loop."""
            result, error = None, None
            try:
                result = function(*arguments)
            except Exception as caught:
                error = caught
            loop.call_soon_threadsafe(set_outcome, result, error)

        self.start(work, getattr(function, "__name__", "call"))

    @property
    def alive(self) -> list[str]:
        """The names of the threads that have not ended, except the thread of the simulation's loop.

        After `run`, the list has the threads that `run` had to end.
        """
        return [strand.name for strand in self._strands if strand is not self._main]

    # -- for the driver ----------------------------------------------------------------------------

    def is_current(self) -> bool:
        """Return True if the calling thread is a simulated thread."""
        return threading.get_ident() in self._by_ident

    def new_waiter(self) -> _Waiter:
        """Return a held lock: a thread that acquires it waits until another thread releases it."""
        return _Waiter(self, is_free=False)

    def new_lock(self) -> _Waiter:
        """Return a free lock."""
        return _Waiter(self, is_free=True)

    def new_thread(self, target: Callable[[], None], name: str) -> _Strand:
        """Return a thread that is not started yet.

        :param target: the function that the thread runs.
        :param name: the name of the thread.
        """
        return _Strand(self, target, name)

    def new_event_loop(self) -> SimulatedLoop:
        """Return a loop for another thread of the simulation."""
        self._loops += 1
        return self.loop.new_child(f"loop {self._loops}")

    # -- waiting, and whose turn it is -------------------------------------------------------------

    def deadline(self, seconds: float | None) -> float | None:
        """Return the virtual time that is `seconds` from now; None for None, which means no limit.

        :param seconds: virtual seconds.
        """
        return None if seconds is None else self.loop.time() + seconds

    def wait(self, is_ready: Callable[[], bool], deadline: float | None) -> bool:
        """Let other threads run until `is_ready()` is true, or until the deadline.

        :param is_ready: a function without arguments, which any simulated thread may call at any
            time.
        :param deadline: a virtual time; None for no limit.
        :returns: True if `is_ready()` was true, False after the deadline.
        """
        while not is_ready():
            if self.is_over:
                raise _Abandoned
            if deadline is not None and self.loop.time() >= deadline:
                return False
            self._give_turn(is_ready, lambda: deadline)
        return True

    def turn(self, loop: SimulatedLoop, stall: float) -> None:
        """Let other threads run until the loop of this thread has work to do.

        :param loop: the loop of the calling thread.
        :param stall: for how many virtual seconds the loop is blocked, and does no work.
        """
        if self.is_over or not self.is_current():
            self._turn_alone(loop)
            return
        if stall:
            # Until the stall ends, the loop does no work, so only wait for time to pass.
            end = loop.time() + stall
            self._give_turn(_never, lambda: end)
        self._give_turn(loop.has_work, loop.next_time)
        if self._is_ended() and loop is not self.loop:
            self._turn_alone(loop)

    def _is_ended(self) -> bool:
        # This is a separate method because of type checkers: `turn` has already checked
        # `self.is_over`, so type checkers would assume that it is still False. But other threads
        # have run since then.
        return self.is_over

    def _turn_alone(self, loop: SimulatedLoop) -> None:
        """Let time pass until the loop has work, without letting other threads run.

        If the simulation is over, the loop is stopped, unless it is the loop of the main thread.
        """
        if self.is_over and loop is not self.loop and not loop._is_stopped_at_end:
            loop._is_stopped_at_end = True
            loop.stop()
        if not loop.has_work():
            loop.jump(loop.next_time())

    def on_call(self, loop: SimulatedLoop) -> None:
        """Let other threads run now, with a probability of `_SWITCH_SHARE`.

        :param loop: the loop to which a callback was added.
        """
        strand = self._by_ident.get(threading.get_ident())
        # Do nothing in a real thread that is not simulated, or in the thread that runs `loop`.
        if strand is None or self.is_over or asyncio._get_running_loop() is loop:
            return
        if self._random.random() < _SWITCH_SHARE:
            self._give_turn(_always, _no_time)

    def _give_turn(
        self, is_ready: Callable[[], bool], wakes_at: Callable[[], float | None]
    ) -> None:
        """Let the next strand run, and wait until the calling strand gets its turn again.

        :param is_ready: a function that returns True when the calling strand can continue.
        :param wakes_at: returns the virtual time at which the strand continues in any case; None
            for never.
        """
        strand = self._by_ident[threading.get_ident()]
        strand.is_ready, strand.wakes_at = is_ready, wakes_at
        chosen = self._next()
        if chosen is not strand:
            chosen.turn.release()
            strand.wait_for_turn()
        # `_next` has let the main strand run, because no strand can ever continue.
        if strand is self._main and self._is_stalled:
            self._is_stalled = False
            raise Stalled(f"nothing will happen any more, at {self.loop.time():.6f} s")

    def _next(self) -> _Strand:
        """Return the strand that runs next.

        If no strand is ready, let time pass until a strand is ready.
        """
        clock = self.loop._clock
        while True:
            ready, times = [], []
            for strand in self._strands:
                time = strand.wakes_at()
                if strand.is_ready() or (time is not None and time <= clock.now):
                    ready.append(strand)
                elif time is not None:
                    times.append(time)
            if ready:
                return ready[0] if len(ready) == 1 else self._random.choice(ready)
            if not times:
                # No strand can ever continue. Let the main strand run, which raises Stalled.
                self._is_stalled = True
                return self._main
            clock.now = max(clock.now, min(times) + self.loop.busy_seconds())

    # -- start and end -----------------------------------------------------------------------------

    def add(self, strand: _Strand) -> None:
        """Add a strand whose thread is about to wait for its turn.

        :param strand: the strand.
        """
        self._by_ident[strand.ident] = strand
        self._strands.append(strand)

    def remove(self, strand: _Strand) -> None:
        """Remove a strand that has ended, and let another strand run. Called in the ended thread.

        :param strand: the strand.
        """
        if self.is_over:
            return
        self._strands.remove(strand)
        del self._by_ident[strand.ident]
        assert strand.carrier is not None
        self.idle.append(strand.carrier)
        if self._ended is not None:
            self._ended.set()
        self._next().turn.release()

    def _end(self) -> None:
        """End the remaining threads, one after the other."""
        self.is_over = True
        try:
            for strand in [*self._strands]:
                if strand.carrier is not None:
                    # The strand wakes up, sees `is_over`, and raises _Abandoned.
                    strand.turn.release()
                    if strand.has_ended.wait(_END_PATIENCE):
                        self.idle.append(strand.carrier)
            for carrier in self.idle:
                carrier.run(None)
                carrier.thread.join(_END_PATIENCE)
        finally:
            self._by_ident.clear()
            _threads.run_simulation(None)
            self.loop.threads = None
