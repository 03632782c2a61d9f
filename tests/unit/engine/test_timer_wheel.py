"""Tests of `TimerWheel` on a fake loop, whose clock each test moves."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from cassandra.engine.happy_path import TimerWheel
from tests.conftest import Implementation
from tests.waiting import WAIT, until_on_loop

START = 100.0  # seconds; the time at which a fake loop starts
# seconds; the wheel rounds the deadlines of timeouts below one second up to a multiple of this
FINE_SLOT = 0.01
# seconds; the wheel rounds the deadlines of longer timeouts up to a multiple of this
COARSE_SLOT = 0.1
ROUNDING = 1e-6  # seconds; allows for the rounding of floats


class FakeHandle:
    """The handle that a fake loop returns for a scheduled callback."""

    def __init__(self, when: float, callback: Callable[[], None]) -> None:
        self.when = when
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeLoop:
    """A fake loop with a clock, `call_at` and `call_soon`; these tests use nothing else."""

    def __init__(self) -> None:
        self.now = START
        self.handles: list[FakeHandle] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None]) -> FakeHandle:
        handle = FakeHandle(when, callback)
        self.handles.append(handle)
        return handle

    def call_soon(self, callback: Callable[[], None]) -> FakeHandle:
        return self.call_at(self.now, callback)

    def run_once(self) -> None:
        """Call the handles that are due now, but not the handles that these calls add."""
        due = [handle for handle in self.handles if handle.when <= self.now]
        self.handles = [handle for handle in self.handles if handle not in due]
        for handle in due:
            if not handle.cancelled:
                handle.callback()

    def advance(self, seconds: float) -> None:
        """Move the clock, and call the handles that become due, in the order of their times."""
        end = self.now + seconds
        while True:
            due = [handle for handle in self.handles if not handle.cancelled and handle.when <= end]
            if not due:
                break
            handle = min(due, key=lambda handle: handle.when)
            self.handles.remove(handle)
            self.now = max(self.now, handle.when)
            handle.callback()
        self.now = end

    def pending(self) -> int:
        """Return the number of handles that are not cancelled."""
        return sum(not handle.cancelled for handle in self.handles)


class Item:
    """An item of the wheel that records the times at which it expires."""

    def __init__(self, loop: FakeLoop) -> None:
        self._loop = loop
        self.expired_at: list[float] = []

    def on_timeout(self) -> None:
        self.expired_at.append(self._loop.now)

    def fail(self, error: BaseException) -> None:
        raise AssertionError from error


def wheel_on_fake_loop() -> tuple[FakeLoop, TimerWheel]:
    """Return a fake loop and a timer wheel on it, of the pure Python version."""
    loop: Any = FakeLoop()
    return loop, TimerWheel(loop)


def test_a_short_timeout_fires_once_within_one_fine_slot() -> None:
    """A short timeout expires once, at most FINE_SLOT seconds late, and never early.

    Its deadline is rounded up to a multiple of FINE_SLOT.
    """
    loop, wheel = wheel_on_fake_loop()
    item = Item(loop)
    wheel.add(timeout=0.05, item=item)
    loop.advance(0.049)
    assert item.expired_at == []
    loop.advance(1)
    assert len(item.expired_at) == 1
    assert START + 0.05 <= item.expired_at[0] <= START + 0.05 + FINE_SLOT + ROUNDING
    assert loop.pending() == 0


def test_a_long_timeout_fires_within_one_coarse_slot_and_never_early() -> None:
    """A long timeout expires at most COARSE_SLOT seconds late, and never early."""
    loop, wheel = wheel_on_fake_loop()
    item = Item(loop)
    wheel.add(timeout=10.0, item=item)
    loop.advance(9.99)
    assert item.expired_at == []
    loop.advance(0.01 + COARSE_SLOT + ROUNDING)
    assert len(item.expired_at) == 1


@pytest.mark.parametrize("is_answered", [True, False])
def test_after_a_standstill_the_loop_reads_before_items_expire(
    implementation: Implementation, is_answered: bool
) -> None:
    """If the loop's timer is late, the items expire only after the loop has read from its sockets.

    The loop may not have run for a while, and uvloop calls its timers before it reads. A response
    that is read in this iteration of the loop removes its item.
    """
    loop: Any = FakeLoop()
    wheel = implementation.happy_path.TimerWheel(loop)
    item = Item(loop)
    slot = wheel.add(timeout=0.05, item=item)
    loop.now += 60.0
    # The timer, and then the first callback of the same iteration, which ends with reading.
    loop.run_once()
    loop.run_once()
    assert item.expired_at == []
    if is_answered:
        wheel.discard(slot, item)
    loop.run_once()
    assert item.expired_at == ([] if is_answered else [loop.now])
    assert (len(wheel), loop.pending()) == (0, 0)


def test_the_timer_runs_in_an_empty_context(implementation: Implementation) -> None:
    """The loop's timer does not run in the context of the request that sets it.

    It serves other requests, too.
    """
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    values: list[str] = []

    class ReadingItem(Item):
        def on_timeout(self) -> None:
            values.append(variable.get())

    async def add_and_wait() -> None:
        variable.set("set")
        loop: Any = asyncio.get_running_loop()
        wheel = implementation.happy_path.TimerWheel(loop)
        wheel.add(timeout=0.0, item=ReadingItem(loop))
        await until_on_loop(lambda: bool(values))

    asyncio.run(add_and_wait())
    assert values == ["unset"]


def test_a_wheel_may_be_closed_while_the_loop_reads(implementation: Implementation) -> None:
    """If the wheel is closed between its late timer and the end of the reading, nothing expires."""
    loop: Any = FakeLoop()
    wheel = implementation.happy_path.TimerWheel(loop)
    item = Item(loop)
    wheel.add(timeout=0.05, item=item)
    loop.now += 60.0
    loop.run_once()
    wheel.close()
    assert loop.pending() == 0
    loop.run_once()
    assert item.expired_at == []


def test_discarded_items_do_not_fire_and_leave_nothing() -> None:
    """A discarded item does not expire, and leaves no timer on the loop."""
    loop, wheel = wheel_on_fake_loop()
    items = [Item(loop) for _ in range(100)]
    slots = [wheel.add(timeout=5.0, item=item) for item in items]
    for slot, item in zip(slots, items, strict=True):
        wheel.discard(slot, item)
    assert len(wheel) == 0
    loop.advance(20)
    assert all(item.expired_at == [] for item in items)
    assert loop.pending() == 0


def test_one_loop_timer_serves_many_items() -> None:
    """For 1000 items, the wheel has one timer on the loop, which is set for the next deadline."""
    loop, wheel = wheel_on_fake_loop()
    for number in range(1000):
        wheel.add(timeout=2 + number / 1000, item=Item(loop))
    assert loop.pending() == 1


def test_an_earlier_deadline_moves_the_timer() -> None:
    """If an item with an earlier deadline is added, the wheel's only timer is moved.

    It expires at the earlier deadline.
    """
    loop, wheel = wheel_on_fake_loop()
    late, early = Item(loop), Item(loop)
    wheel.add(timeout=10, item=late)
    wheel.add(timeout=0.5, item=early)
    assert loop.pending() == 1
    loop.advance(1)
    assert len(early.expired_at) == 1
    assert late.expired_at == []
    loop.advance(10)
    assert len(late.expired_at) == 1


def test_an_item_may_add_another_while_it_expires() -> None:
    """If `on_timeout` adds another item, it expires after its own timeout."""
    loop, wheel = wheel_on_fake_loop()
    added_item = Item(loop)

    class AddingItem(Item):
        def on_timeout(self) -> None:
            super().on_timeout()
            wheel.add(timeout=0.1, item=added_item)

    adding_item = AddingItem(loop)
    wheel.add(timeout=0.1, item=adding_item)
    loop.advance(1)
    assert len(adding_item.expired_at) == 1
    assert len(added_item.expired_at) == 1


def test_after_close_no_item_expires() -> None:
    """`close` drops all items, and leaves no timer on the loop."""
    loop, wheel = wheel_on_fake_loop()
    item = Item(loop)
    wheel.add(timeout=1, item=item)
    wheel.close()
    loop.advance(5)
    assert item.expired_at == []
    assert loop.pending() == 0


async def test_an_item_expires_on_a_real_loop() -> None:
    """On a real asyncio loop, an item expires after its timeout."""
    loop = asyncio.get_running_loop()
    wheel = TimerWheel(loop)
    is_expired = asyncio.Event()

    class EventItem:
        def on_timeout(self) -> None:
            is_expired.set()

        def fail(self, error: BaseException) -> None:
            raise AssertionError from error

    wheel.add(timeout=0.01, item=EventItem())
    await asyncio.wait_for(is_expired.wait(), WAIT)


# -- deadlines from other threads ------------------------------------------------------------------


class ThreadsLoop(FakeLoop):
    """A fake loop that stores calls from other threads until the test calls `turn`."""

    def __init__(self) -> None:
        super().__init__()
        self.now = time.monotonic()
        self.calls: deque[Callable[[], None]] = deque()

    def call_soon_threadsafe(self, call: Callable[[], None]) -> None:
        self.calls.append(call)

    def turn(self) -> None:
        """Run the calls of other threads, like an iteration of a real loop."""
        while self.calls:
            self.calls.popleft()()


@pytest.fixture
def threads_loop() -> ThreadsLoop:
    return ThreadsLoop()


def test_a_thread_wakes_the_loop_for_an_earlier_deadline_only(
    implementation: Implementation, threads_loop: ThreadsLoop
) -> None:
    """`add_from_thread` wakes the loop only if its timer must be set or moved."""
    wheel = implementation.happy_path.TimerWheel(threads_loop)
    late, early = Item(threads_loop), Item(threads_loop)
    wheel.add_from_thread(timeout=10, item=late)
    assert len(threads_loop.calls) == 1
    threads_loop.turn()
    # The timer is already set for the first deadline, so these items need not wake the loop.
    for _ in range(100):
        other = Item(threads_loop)
        wheel.discard(wheel.add_from_thread(timeout=10, item=other), other)
    assert not threads_loop.calls
    wheel.add_from_thread(timeout=0.5, item=early)
    assert len(threads_loop.calls) == 1
    threads_loop.turn()
    assert threads_loop.pending() == 1
    threads_loop.advance(1)
    assert len(early.expired_at) == 1
    assert late.expired_at == []
    threads_loop.advance(10)
    assert len(late.expired_at) == 1
    assert threads_loop.pending() == 0


def test_deadlines_of_threads_are_never_early(
    implementation: Implementation, threads_loop: ThreadsLoop
) -> None:
    """A timeout that a thread adds starts at the call, not when the loop handles it."""
    wheel = implementation.happy_path.TimerWheel(threads_loop)
    deadlines = []
    for timeout in (0.0, 0.004, 0.05, 0.999, 1.0, 2.5):
        item = Item(threads_loop)
        started = time.monotonic()
        wheel.add_from_thread(timeout=timeout, item=item)
        deadlines.append((started + timeout, item))
    threads_loop.turn()
    threads_loop.advance(5)
    for deadline, item in deadlines:
        assert len(item.expired_at) == 1
        # Allow some time, because on a busy machine the wheel may read the clock later than
        # `started`.
        assert deadline - ROUNDING <= item.expired_at[0] <= deadline + 0.5


def test_add_from_thread_works_with_another_clock(implementation: Implementation) -> None:
    """`add_from_thread` works if the loop's clock is not `time.monotonic`, as in a simulation."""
    loop = ThreadsLoop()
    # The loop's clock differs from the thread's clock.
    loop.now = 5.0
    wheel = implementation.happy_path.TimerWheel(loop)
    item = Item(loop)
    wheel.add_from_thread(timeout=1.0, item=item)
    loop.turn()
    loop.advance(0.9)
    assert item.expired_at == []
    loop.advance(0.6)
    assert len(item.expired_at) == 1


class LateItem(Item):
    """An item that calls `meanwhile` just before the wheel adds it to a slot."""

    meanwhile: Callable[[], object] | None = None

    def __hash__(self) -> int:
        call, self.meanwhile = self.meanwhile, None
        if call is not None:
            call()
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def test_an_item_added_while_its_slot_is_removed_expires(
    implementation: Implementation, threads_loop: ThreadsLoop
) -> None:
    """If a thread adds an item while the loop empties its slot, the item still expires."""
    wheel = implementation.happy_path.TimerWheel(threads_loop)
    early, other, late = Item(threads_loop), Item(threads_loop), LateItem(threads_loop)
    wheel.add(timeout=0.5, item=early)  # sets the loop's timer for this slot
    slot = wheel.add(timeout=10, item=other)
    # While the late item is being added, the other item leaves the slot, which is then empty for a
    # moment.
    late.meanwhile = lambda: wheel.discard(slot, other)
    wheel.add_from_thread(timeout=10, item=late)
    threads_loop.turn()
    threads_loop.advance(12)
    assert len(late.expired_at) == 1
    assert len(wheel) == 0


class Slots(dict[int, Any]):
    """The slots of a wheel, which call `meanwhile` before the second look for a slot."""

    look_count = 0
    meanwhile: Callable[[], object]

    def get(self, tick: int, default: Any = None) -> Any:
        self.look_count += 1
        if self.look_count == 2:
            self.meanwhile()
        return super().get(tick, default)


def test_an_item_that_expires_while_it_is_added_expires_once(threads_loop: ThreadsLoop) -> None:
    """If the loop lets an item expire just after a thread has added it, it expires only once.

    In the compiled version, the loop cannot run between these steps.
    """
    loop: Any = threads_loop
    wheel = TimerWheel(loop)
    wheel._slots = slots = Slots()
    early, late = Item(threads_loop), Item(threads_loop)
    slot = wheel.add(timeout=0.5, item=early)
    slots.look_count = 0
    # The wheel looks for the slot before it adds the item, and again afterwards.
    slots.meanwhile = lambda: threads_loop.advance(1)
    wheel._put(slot, late)
    assert len(late.expired_at) == 1
    wheel._rearm()
    threads_loop.advance(1)
    assert (len(early.expired_at), len(late.expired_at)) == (1, 1)
    assert len(wheel) == 0


class SlotNumber(int):
    """The number of a slot that calls `meanwhile` when it is compared with ``!=``.

    The wheel makes this comparison just after it has found that the slot is empty.
    """

    meanwhile: Callable[[], object] | None = None
    __hash__ = int.__hash__

    def __ne__(self, other: object) -> bool:
        call, self.meanwhile = self.meanwhile, None
        if call is not None:
            call()
        return int(self) != other


def test_an_item_added_while_its_slot_is_found_empty_expires(
    implementation: Implementation, threads_loop: ThreadsLoop
) -> None:
    """If an item is added just after the loop has found its slot empty, the item still expires.

    The loop has not removed the slot yet.
    """
    if implementation.name == "c":
        pytest.skip("compiled code compares C integers, so no Python code can run in between")
    wheel = implementation.happy_path.TimerWheel(threads_loop)
    early, other, late = (Item(threads_loop) for _ in range(3))
    wheel.add(timeout=0.5, item=early)
    slot = SlotNumber(wheel.add(timeout=10, item=other))
    slot.meanwhile = lambda: wheel.add(timeout=10, item=late)
    wheel.discard(slot, other)
    # The slot got the late item in time, so the slot was not removed.
    assert len(wheel) == 2
    threads_loop.advance(12)
    assert len(late.expired_at) == 1


def test_threads_add_while_the_loop_discards_and_expires(
    implementation: Implementation, threads_loop: ThreadsLoop
) -> None:
    """While threads add items and the loop removes them, each item is discarded or expires once."""
    wheel = implementation.happy_path.TimerWheel(threads_loop)
    added: deque[tuple[int, Item]] = deque()
    kept_items: list[Item] = []
    # Discarded items, and how often they had expired before that.
    discarded_items: list[tuple[Item, int]] = []
    is_kept = False
    previous_interval = sys.getswitchinterval()
    # Let Python switch threads as often as possible, so that they interrupt the loop at each step.
    sys.setswitchinterval(1e-6)

    def add_items(seed: int) -> None:
        for number in range(1500):
            item = Item(threads_loop)
            timeout = (number * seed) % 7 * 0.01  # seconds, between 0 and 0.06
            added.append((wheel.add_from_thread(timeout=timeout, item=item), item))

    threads = [threading.Thread(target=add_items, args=(seed,)) for seed in (1, 2, 3)]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) or added:
            threads_loop.turn()
            threads_loop.advance(max(0.0, time.monotonic() - threads_loop.now))
            while added:
                slot, item = added.popleft()
                # Keep every other item, and discard the rest.
                is_kept = not is_kept
                if is_kept:
                    kept_items.append(item)
                else:
                    wheel.discard(slot, item)
                    discarded_items.append((item, len(item.expired_at)))
    finally:
        sys.setswitchinterval(previous_interval)
    threads_loop.turn()
    threads_loop.advance(10)
    assert len(wheel) == 0
    assert threads_loop.pending() == 0
    # Three threads have added 1500 items each, and every other item was kept.
    assert len(kept_items) == 3 * 1500 // 2
    assert [len(item.expired_at) for item in kept_items] == [1] * len(kept_items)
    # An item may expire before it is discarded, but not afterwards.
    assert [len(item.expired_at) for item, _ in discarded_items] == [
        count for _, count in discarded_items
    ]
    assert all(count <= 1 for _, count in discarded_items)
