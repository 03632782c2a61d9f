"""The awaitable of a request behaves like asyncio's futures, in both implementations, on both kinds
of loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import threading
import weakref
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.call_options import CallOptions
from tests.conftest import Twins
from tests.unit.engine.faults import WAIT
from tests.unit.loops import Loops

Check = Callable[["LoopFutures"], Awaitable[None]]


class Result:
    """Fake `ResultSet`."""

    def __init__(self, session: object, request: Any, row_factory: object) -> None:
        self.session = session
        self.response = request.response


class LoopFutures:
    """Futures of one loop, and the errors that the loop reported."""

    def __init__(self, twins: Twins, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.twins = twins
        self.complaints: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: self.complaints.append(context))
        self.engine = SimpleNamespace(loop=loop, closed=False, core=None)
        happy_path = twins.happy_path
        self.path = happy_path.HappyPath(
            "session",
            self.engine,
            CallOptions(SimpleNamespace(row_factory=None)),  # type: ignore[arg-type]
            happy_path.RequestBase,
            happy_path.ExecuteBodyBase,
            Result,
            lambda request: None,
        )

    def future(self) -> Any:
        """Return a future whose request is in flight."""
        result_future = self.twins.happy_path.ResultFuture(self.path, None)
        result_future.request = self.twins.happy_path.RequestBase(
            self.engine, None, None, result_future.complete
        )
        return result_future

    def answer(self, future: Any, response: object = "rows") -> None:
        future.request.finish(response)

    def fail(self, future: Any, error: BaseException) -> None:
        future.request.fail(error)


@pytest.fixture
def run(twins: Twins, loops: Loops) -> Callable[[Check], LoopFutures]:
    def run(check: Check) -> LoopFutures:
        loop = loops.make()
        world = LoopFutures(twins, loop)
        try:
            loop.run_until_complete(asyncio.wait_for(check(world), WAIT))
            loop.run_until_complete(asyncio.sleep(0))
        finally:
            loop.close()
        return world

    return run


def test_awaiting_gives_the_result(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        before, after = world.future(), world.future()
        world.answer(before)
        assert (await before).response == "rows"
        world.loop.call_soon(world.answer, after, "later")
        result = await after
        assert (result.response, result.session) == ("later", "session")
        assert (await after) is result

    run(check)


def test_awaiting_raises_the_error_at_each_time(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        future = world.future()
        error = ValueError("refused")
        world.loop.call_soon(world.fail, future, error)
        depths = []
        for _ in range(3):
            with pytest.raises(ValueError, match="refused") as caught:
                await future
            assert caught.value is error
            depths.append(len(caught.traceback))
        assert depths[1] == depths[2]  # frames do not pile up in the exception
        assert future.exception() is error

    assert run(check).complaints == []


def test_several_tasks_await_one(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        future = world.future()

        async def wait(number: int) -> tuple[int, Any]:
            return number, (await future).response

        tasks = [asyncio.ensure_future(wait(number)) for number in range(4)]
        await asyncio.sleep(0)
        world.answer(future)
        assert await asyncio.gather(*tasks) == [(number, "rows") for number in range(4)]

    run(check)


def test_before_it_is_done(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        future = world.future()
        assert not future.done()
        assert not future.cancelled()
        assert future.get_loop() is world.loop
        assert asyncio.isfuture(future)
        assert "ResultFuture pending" in repr(future)
        with pytest.raises(asyncio.InvalidStateError):
            future.result()
        with pytest.raises(asyncio.InvalidStateError):
            future.exception()
        world.answer(future)
        assert future.done()
        assert future.exception() is None
        assert future.result().response == "rows"
        assert "ResultFuture finished result=" in repr(future)

    run(check)


def test_cancelling_it_cancels_the_request(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        future = world.future()
        assert future.cancel("enough") is True
        assert future.cancelled()
        assert future.done()
        assert isinstance(future.request.error, asyncio.CancelledError)
        assert future.cancel() is False
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await future
        for look in (future.result, future.exception):
            with pytest.raises(asyncio.CancelledError):
                look()

    run(check)


def test_cancelling_the_task_cancels_it(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        future = world.future()

        async def wait() -> None:
            await future

        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        task.cancel("by the task")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert future.cancelled()
        assert future.request.done

    run(check)


def test_a_request_that_is_cancelled_cancels_it(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        future = world.future()
        future.request.cancel()
        assert future.cancelled()

    run(check)


def test_an_answer_after_the_cancellation_is_dropped(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        future = world.future()
        future.cancel()
        future.complete(SimpleNamespaceRequest.of(world))
        assert future.cancelled()

    run(check)


class SimpleNamespaceRequest:
    """Fake request that has ended."""

    @staticmethod
    def of(world: LoopFutures) -> Any:
        request = world.twins.happy_path.RequestBase(world.engine, None, None, lambda over: None)
        request.finish("late")
        return request


def test_wait_gather_wait_for_and_shield(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        futures = [world.future() for _ in range(3)]
        for future in futures:
            world.loop.call_soon(world.answer, future)
        assert [result.response for result in await asyncio.gather(*futures)] == ["rows"] * 3
        first, other = world.future(), world.future()
        world.loop.call_soon(world.answer, first)
        done, pending = await asyncio.wait(
            [first, other], return_when=asyncio.FIRST_COMPLETED, timeout=30
        )
        assert done == {first}
        assert pending == {other}
        world.loop.call_soon(world.answer, other)
        assert (await asyncio.wait_for(other, 30)).response == "rows"
        slow = world.future()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(slow, 0.001)
        assert slow.cancelled()
        shielded_future = world.future()
        shielded = asyncio.shield(shielded_future)
        await asyncio.sleep(0)
        shielded.cancel()
        assert not shielded_future.cancelled()
        world.answer(shielded_future)
        assert asyncio.ensure_future(shielded_future) is shielded_future
        assert (await shielded_future).response == "rows"
        completed = world.future()
        world.loop.call_soon(world.answer, completed)
        for coroutine in asyncio.as_completed([completed]):
            assert (await coroutine).response == "rows"

    run(check)


def test_gather_passes_errors_and_cancellations_on(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        failed, cancelled = world.future(), world.future()
        world.loop.call_soon(world.fail, failed, ValueError("refused"))
        world.loop.call_soon(cancelled.cancel)
        outcomes = await asyncio.gather(failed, cancelled, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [ValueError, asyncio.CancelledError]
        waits = [world.future(), world.future()]
        gathered = asyncio.gather(*waits)
        gathered.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gathered
        assert all(future.cancelled() for future in waits)

    assert run(check).complaints == []


def test_the_loop_runs_until_it_is_complete(twins: Twins, loops: Loops) -> None:
    loop = loops.make()
    try:
        world = LoopFutures(twins, loop)
        future = world.future()
        loop.call_soon(world.answer, future)
        assert loop.run_until_complete(future).response == "rows"
    finally:
        loop.close()


def test_callbacks_are_called_in_the_loop_with_their_contexts(
    run: Callable[[Check], LoopFutures],
) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")

    async def check(world: LoopFutures) -> None:
        future = world.future()
        seen: list[tuple[str, str, bool]] = []

        def note(name: str) -> Callable[[Any], None]:
            return lambda done: seen.append((name, variable.get(), done is future))

        other = contextvars.copy_context()
        other.run(variable.set, "given")
        variable.set("own")
        first = note("first")
        future.add_done_callback(first)
        future.add_done_callback(note("second"), context=other)
        removed = note("removed")
        future.add_done_callback(removed)
        future.add_done_callback(removed)
        assert future.remove_done_callback(removed) == 2
        assert future.remove_done_callback(removed) == 0
        variable.set("changed")
        world.answer(future)
        assert seen == []  # not called inside the completion
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == [("first", "own", True), ("second", "given", True)]
        future.add_done_callback(note("late"))
        assert len(seen) == 2
        await asyncio.sleep(0)
        assert seen[2:] == [("late", "changed", True)]

    run(check)


def test_removing_the_first_callback_keeps_the_others(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        future = world.future()
        seen: list[str] = []

        def first(done: Any) -> None:
            seen.append("first")

        future.add_done_callback(first)
        future.add_done_callback(lambda done: seen.append("second"))
        future.remove_done_callback(first)
        world.answer(future)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == ["second"]

    run(check)


def test_a_callback_on_its_way_is_not_removed(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        future = world.future()
        seen: list[Any] = []
        future.add_done_callback(seen.append)
        world.answer(future)
        assert future.remove_done_callback(seen.append) == 0
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == [future]

    run(check)


def test_a_callback_that_fails_is_reported_and_the_others_go_on(
    run: Callable[[Check], LoopFutures],
) -> None:
    async def check(world: LoopFutures) -> None:
        seen: list[str] = []
        bad, good = world.future(), world.future()

        def fail(done: Any) -> None:
            raise ValueError("of a callback")

        bad.add_done_callback(fail)
        good.add_done_callback(lambda done: seen.append("good"))
        world.answer(bad)
        world.answer(good)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == ["good"]

    (complaint,) = run(check).complaints
    assert str(complaint["exception"]) == "of a callback"
    assert "Exception in callback" in complaint["message"]


def test_an_exception_that_ends_the_loop_loses_no_callbacks(twins: Twins, loops: Loops) -> None:
    loop = loops.make()
    try:
        world = LoopFutures(twins, loop)
        seen: list[str] = []
        ends, stays = world.future(), world.future()

        def leave(done: Any) -> None:
            raise KeyboardInterrupt

        ends.add_done_callback(leave)
        stays.add_done_callback(lambda done: seen.append("called"))

        def finish() -> None:
            world.answer(ends)
            world.answer(stays)

        loop.call_soon(finish)
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(asyncio.sleep(30))
        loop.run_until_complete(asyncio.sleep(0))
        assert seen == ["called"]
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def test_a_call_that_the_loop_refuses_holds_up_nobody_else(
    run: Callable[[Check], LoopFutures],
) -> None:
    async def check(world: LoopFutures) -> None:
        world.loop.set_debug(True)
        refused, other = world.future(), world.future()
        refused.add_done_callback(lambda future: None)
        errors: list[BaseException] = []

        def cancel() -> None:
            try:
                refused.cancel()
            except RuntimeError as error:  # belongs to the loop
                errors.append(error)

        thread = threading.Thread(target=cancel)
        thread.start()
        thread.join(WAIT)
        assert len(errors) == 1
        world.loop.call_soon(world.answer, other)
        assert (await other).response == "rows"

    assert run(check).complaints == []


def test_an_error_that_nobody_looks_at_is_reported(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        future = world.future()
        world.fail(future, ValueError("never seen"))
        future.request = None
        del future
        gc.collect()
        # The errors of the futures below were retrieved, or there were none.
        for look in ("exception", "result", "cancel"):
            looked = world.future()
            world.fail(looked, ValueError("seen"))
            if look == "result":
                with pytest.raises(ValueError, match="seen"):
                    looked.result()
            else:
                getattr(looked, look)()
        world.future().cancel()
        del looked
        gc.collect()

    (complaint,) = run(check).complaints
    assert complaint["message"] == "ResultFuture exception was never retrieved"
    assert str(complaint["exception"]) == "never seen"
    assert "never seen" in repr(complaint["future"])


def test_stop_iteration_does_not_end_a_coroutine(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        future = world.future()
        cause = StopIteration("of a policy")
        world.fail(future, cause)
        with pytest.raises(RuntimeError, match="StopIteration") as caught:
            await future
        assert caught.value.__cause__ is cause

    run(check)


def test_the_outcome_may_be_set_by_hand(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        answered, failed = world.future(), world.future()
        answered.set_result("given")
        failed.set_exception(ZeroDivisionError)
        assert await answered == "given"
        with pytest.raises(ZeroDivisionError):
            await failed
        for future in (answered, failed):
            with pytest.raises(asyncio.InvalidStateError):
                future.set_result("again")
            with pytest.raises(asyncio.InvalidStateError):
                future.set_exception(ValueError())
            world.answer(future)
        assert await answered == "given"
        with pytest.raises(TypeError):
            world.future().set_exception("no exception")

    run(check)


def test_another_loop_is_refused(
    run: Callable[[Check], LoopFutures], twins: Twins, loops: Loops
) -> None:
    other = loops.make()
    foreign = LoopFutures(twins, other).future()

    async def check(world: LoopFutures) -> None:
        async def wait() -> None:
            await foreign

        with pytest.raises(RuntimeError, match="attached to a different loop"):
            await asyncio.ensure_future(wait())

    try:
        run(check)
    finally:
        other.close()


def test_awaiting_by_hand(run: Callable[[Check], LoopFutures]) -> None:
    """Coroutines of other libraries, which do not know asyncio, may await it by hand."""

    async def check(world: LoopFutures) -> None:
        future = world.future()

        async def wait() -> Any:
            return (await future).response

        steps = wait()
        assert steps.send(None) is future
        assert future._asyncio_future_blocking
        with pytest.raises(RuntimeError, match="await wasn't used with future"):
            steps.send(None)
        again = wait()
        future._asyncio_future_blocking = False
        assert again.send(None) is future
        world.answer(future)
        with pytest.raises(StopIteration) as caught:
            again.send(None)
        assert caught.value.value == "rows"
        third, iterator = wait(), iter(future)
        with pytest.raises(StopIteration):
            third.send(None)
        with pytest.raises(StopIteration) as of_iterator:
            next(iterator)
        assert of_iterator.value.value.response == "rows"
        thrown = world.future().__await__()
        with pytest.raises(KeyError):
            thrown.throw(KeyError("in"))
        thrown.close()

    run(check)


def test_a_future_can_be_referenced_weakly_and_is_freed_at_once(
    run: Callable[[Check], LoopFutures],
) -> None:
    async def check(world: LoopFutures) -> None:
        gc.collect()
        gc.disable()
        try:
            future = world.future()
            gone = weakref.ref(future)
            world.loop.call_soon(world.answer, future)
            await future
            future.request = None
            del future
            await asyncio.sleep(0)
            assert gone() is None
        finally:
            gc.enable()

    run(check)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
def test_eager_tasks(run: Callable[[Check], LoopFutures]) -> None:
    async def check(world: LoopFutures) -> None:
        task_class: Any = asyncio.Task
        ready, later = world.future(), world.future()
        world.answer(ready)

        async def wait(future: Any) -> Any:
            return (await future).response

        at_once = task_class(wait(ready), loop=world.loop, eager_start=True)
        assert at_once.done()
        task = task_class(wait(later), loop=world.loop, eager_start=True)
        world.answer(later, "eager")
        assert await task == "eager"

    run(check)


def test_futures_completed_in_a_callback_wait_for_the_next_turn(
    run: Callable[[Check], LoopFutures],
) -> None:
    async def check(world: LoopFutures) -> None:
        turns: list[str] = []
        first, second = world.future(), world.future()

        def chain(done: Any) -> None:
            turns.append("first")
            world.answer(second)

        first.add_done_callback(chain)
        second.add_done_callback(lambda done: turns.append("second"))
        world.answer(first)
        world.loop.call_soon(turns.append, "between")
        for _ in range(3):
            await asyncio.sleep(0)
        assert turns == ["first", "between", "second"]

    run(check)
