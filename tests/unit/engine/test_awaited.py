"""`ResultFuture`, which `execute` returns, behaves like asyncio's futures.

Each test runs with both implementations, and on loops of asyncio and uvloop.
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
    """A fake `ResultSet`."""

    def __init__(self, session: object, request: Any, row_factory: object) -> None:
        self.session = session
        self.response = request.response


class LoopFutures:
    """Creates futures on one loop, and records the errors that the loop reports."""

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
        maker = LoopFutures(twins, loop)
        try:
            loop.run_until_complete(asyncio.wait_for(check(maker), WAIT))
            loop.run_until_complete(asyncio.sleep(0))
        finally:
            loop.close()
        return maker

    return run


def test_awaiting_gives_the_result(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        before, after = maker.future(), maker.future()
        maker.answer(before)
        assert (await before).response == "rows"
        maker.loop.call_soon(maker.answer, after, "later")
        result = await after
        assert (result.response, result.session) == ("later", "session")
        assert (await after) is result

    run(check)


def test_each_await_raises_the_same_error(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        future = maker.future()
        error = ValueError("refused")
        maker.loop.call_soon(maker.fail, future, error)
        depths = []
        for _ in range(3):
            with pytest.raises(ValueError, match="refused") as caught:
                await future
            assert caught.value is error
            depths.append(len(caught.traceback))
        assert depths[1] == depths[2]  # the exception's traceback does not grow
        assert future.exception() is error

    assert run(check).complaints == []


def test_several_tasks_may_await_one_future(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        future = maker.future()

        async def wait(number: int) -> tuple[int, Any]:
            return number, (await future).response

        tasks = [asyncio.ensure_future(wait(number)) for number in range(4)]
        await asyncio.sleep(0)
        maker.answer(future)
        assert await asyncio.gather(*tasks) == [(number, "rows") for number in range(4)]

    run(check)


def test_a_pending_future_has_no_result(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        future = maker.future()
        assert not future.done()
        assert not future.cancelled()
        assert future.get_loop() is maker.loop
        assert asyncio.isfuture(future)
        assert "ResultFuture pending" in repr(future)
        with pytest.raises(asyncio.InvalidStateError):
            future.result()
        with pytest.raises(asyncio.InvalidStateError):
            future.exception()
        maker.answer(future)
        assert future.done()
        assert future.exception() is None
        assert future.result().response == "rows"
        assert "ResultFuture finished result=" in repr(future)

    run(check)


def test_cancelling_the_future_cancels_the_request(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        future = maker.future()
        assert future.cancel("enough") is True
        assert future.cancelled()
        assert future.done()
        assert isinstance(future.request.error, asyncio.CancelledError)
        assert future.cancel() is False
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await future
        for method in (future.result, future.exception):
            with pytest.raises(asyncio.CancelledError):
                method()

    run(check)


def test_cancelling_the_task_cancels_the_future(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        future = maker.future()

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


def test_cancelling_the_request_cancels_the_future(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        future = maker.future()
        future.request.cancel()
        assert future.cancelled()

    run(check)


def test_an_answer_after_the_cancellation_is_dropped(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        future = maker.future()
        future.cancel()
        future.complete(EndedRequest.of(maker))
        assert future.cancelled()

    run(check)


class EndedRequest:
    """Creates fake requests that have ended."""

    @staticmethod
    def of(maker: LoopFutures) -> Any:
        request = maker.twins.happy_path.RequestBase(maker.engine, None, None, lambda over: None)
        request.finish("late")
        return request


def test_wait_gather_wait_for_and_shield(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        futures = [maker.future() for _ in range(3)]
        for future in futures:
            maker.loop.call_soon(maker.answer, future)
        assert [result.response for result in await asyncio.gather(*futures)] == ["rows"] * 3
        first, other = maker.future(), maker.future()
        maker.loop.call_soon(maker.answer, first)
        done, pending = await asyncio.wait(
            [first, other], return_when=asyncio.FIRST_COMPLETED, timeout=30
        )
        assert done == {first}
        assert pending == {other}
        maker.loop.call_soon(maker.answer, other)
        assert (await asyncio.wait_for(other, 30)).response == "rows"
        slow = maker.future()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(slow, 0.001)
        assert slow.cancelled()
        shielded_future = maker.future()
        shielded = asyncio.shield(shielded_future)
        await asyncio.sleep(0)
        shielded.cancel()
        assert not shielded_future.cancelled()
        maker.answer(shielded_future)
        assert asyncio.ensure_future(shielded_future) is shielded_future
        assert (await shielded_future).response == "rows"
        completed = maker.future()
        maker.loop.call_soon(maker.answer, completed)
        for coroutine in asyncio.as_completed([completed]):
            assert (await coroutine).response == "rows"

    run(check)


def test_gather_passes_errors_and_cancellations_on(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        failed, cancelled = maker.future(), maker.future()
        maker.loop.call_soon(maker.fail, failed, ValueError("refused"))
        maker.loop.call_soon(cancelled.cancel)
        outcomes = await asyncio.gather(failed, cancelled, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [ValueError, asyncio.CancelledError]
        waits = [maker.future(), maker.future()]
        gathered = asyncio.gather(*waits)
        gathered.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gathered
        assert all(future.cancelled() for future in waits)

    assert run(check).complaints == []


def test_run_until_complete_accepts_the_future(twins: Twins, loops: Loops) -> None:
    loop = loops.make()
    try:
        maker = LoopFutures(twins, loop)
        future = maker.future()
        loop.call_soon(maker.answer, future)
        assert loop.run_until_complete(future).response == "rows"
    finally:
        loop.close()


def test_callbacks_are_called_in_the_loop_with_their_contexts(
    run: Callable[[Check], LoopFutures],
) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")

    async def check(maker: LoopFutures) -> None:
        future = maker.future()
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
        maker.answer(future)
        assert seen == []  # callbacks are called in the next turn of the loop
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == [("first", "own", True), ("second", "given", True)]
        future.add_done_callback(note("late"))
        assert len(seen) == 2
        await asyncio.sleep(0)
        assert seen[2:] == [("late", "changed", True)]

    run(check)


def test_removing_the_first_callback_keeps_the_others(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        future = maker.future()
        seen: list[str] = []

        def first(done: Any) -> None:
            seen.append("first")

        future.add_done_callback(first)
        future.add_done_callback(lambda done: seen.append("second"))
        future.remove_done_callback(first)
        maker.answer(future)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == ["second"]

    run(check)


def test_a_scheduled_callback_cannot_be_removed(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        future = maker.future()
        seen: list[Any] = []
        future.add_done_callback(seen.append)
        maker.answer(future)
        assert future.remove_done_callback(seen.append) == 0
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == [future]

    run(check)


def test_a_callback_that_fails_is_reported_and_the_others_go_on(
    run: Callable[[Check], LoopFutures],
) -> None:
    async def check(maker: LoopFutures) -> None:
        seen: list[str] = []
        bad, good = maker.future(), maker.future()

        def fail(done: Any) -> None:
            raise ValueError("of a callback")

        bad.add_done_callback(fail)
        good.add_done_callback(lambda done: seen.append("good"))
        maker.answer(bad)
        maker.answer(good)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == ["good"]

    (complaint,) = run(check).complaints
    assert str(complaint["exception"]) == "of a callback"
    assert "Exception in callback" in complaint["message"]


def test_a_keyboard_interrupt_in_a_callback_loses_no_other_callback(
    twins: Twins, loops: Loops
) -> None:
    loop = loops.make()
    try:
        maker = LoopFutures(twins, loop)
        seen: list[str] = []
        ends, stays = maker.future(), maker.future()

        def leave(done: Any) -> None:
            raise KeyboardInterrupt

        ends.add_done_callback(leave)
        stays.add_done_callback(lambda done: seen.append("called"))

        def finish() -> None:
            maker.answer(ends)
            maker.answer(stays)

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


def test_a_cancel_from_another_thread_affects_no_other_future(
    run: Callable[[Check], LoopFutures],
) -> None:
    async def check(maker: LoopFutures) -> None:
        maker.loop.set_debug(True)
        refused, other = maker.future(), maker.future()
        refused.add_done_callback(lambda future: None)
        errors: list[BaseException] = []

        def cancel() -> None:
            try:
                refused.cancel()
            except RuntimeError as error:  # in debug mode, `call_soon` refuses other threads
                errors.append(error)

        thread = threading.Thread(target=cancel)
        thread.start()
        thread.join(WAIT)
        assert len(errors) == 1
        maker.loop.call_soon(maker.answer, other)
        assert (await other).response == "rows"

    assert run(check).complaints == []


def test_an_exception_that_is_never_retrieved_is_reported(
    run: Callable[[Check], LoopFutures],
) -> None:
    async def check(maker: LoopFutures) -> None:
        future = maker.future()
        maker.fail(future, ValueError("never seen"))
        future.request = None
        del future
        gc.collect()
        # These futures report nothing: their exceptions were retrieved, or they were cancelled.
        for method in ("exception", "result", "cancel"):
            retrieved = maker.future()
            maker.fail(retrieved, ValueError("seen"))
            if method == "result":
                with pytest.raises(ValueError, match="seen"):
                    retrieved.result()
            else:
                getattr(retrieved, method)()
        maker.future().cancel()
        del retrieved
        gc.collect()

    (complaint,) = run(check).complaints
    assert complaint["message"] == "ResultFuture exception was never retrieved"
    assert str(complaint["exception"]) == "never seen"
    assert "never seen" in repr(complaint["future"])


def test_stop_iteration_becomes_a_runtime_error(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        future = maker.future()
        cause = StopIteration("of a policy")
        maker.fail(future, cause)
        with pytest.raises(RuntimeError, match="StopIteration") as caught:
            await future
        assert caught.value.__cause__ is cause

    run(check)


def test_the_outcome_may_be_set_by_hand(
    run: Callable[[Check], LoopFutures],
) -> None:
    async def check(maker: LoopFutures) -> None:
        answered, failed = maker.future(), maker.future()
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
            maker.answer(future)
        assert await answered == "given"
        with pytest.raises(TypeError):
            maker.future().set_exception("no exception")

    run(check)


def test_a_task_of_another_loop_cannot_await_the_future(
    run: Callable[[Check], LoopFutures], twins: Twins, loops: Loops
) -> None:
    other = loops.make()
    foreign = LoopFutures(twins, other).future()

    async def check(maker: LoopFutures) -> None:
        async def wait() -> None:
            await foreign

        with pytest.raises(RuntimeError, match="attached to a different loop"):
            await asyncio.ensure_future(wait())

    try:
        run(check)
    finally:
        other.close()


def test_a_coroutine_can_be_driven_without_asyncio(run: Callable[[Check], LoopFutures]) -> None:
    """Coroutines may be driven by libraries other than asyncio, which call `send` themselves."""

    async def check(maker: LoopFutures) -> None:
        future = maker.future()

        async def wait() -> Any:
            return (await future).response

        steps = wait()
        assert steps.send(None) is future
        assert future._asyncio_future_blocking
        with pytest.raises(RuntimeError, match="await wasn't used with future"):
            steps.send(None)
        second = wait()
        future._asyncio_future_blocking = False
        assert second.send(None) is future
        maker.answer(future)
        with pytest.raises(StopIteration) as caught:
            second.send(None)
        assert caught.value.value == "rows"
        third, iterator = wait(), iter(future)
        with pytest.raises(StopIteration):
            third.send(None)
        with pytest.raises(StopIteration) as of_iterator:
            next(iterator)
        assert of_iterator.value.value.response == "rows"
        awaiter = maker.future().__await__()
        with pytest.raises(KeyError):
            awaiter.throw(KeyError("in"))
        awaiter.close()

    run(check)


def test_a_future_can_be_referenced_weakly_and_is_freed_at_once(
    run: Callable[[Check], LoopFutures],
) -> None:
    async def check(maker: LoopFutures) -> None:
        gc.collect()
        gc.disable()
        try:
            future = maker.future()
            gone = weakref.ref(future)
            maker.loop.call_soon(maker.answer, future)
            await future
            future.request = None
            del future
            await asyncio.sleep(0)
            assert gone() is None
        finally:
            gc.enable()

    run(check)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
def test_eager_tasks_can_await_futures(run: Callable[[Check], LoopFutures]) -> None:
    async def check(maker: LoopFutures) -> None:
        task_class: Any = asyncio.Task
        ready, later = maker.future(), maker.future()
        maker.answer(ready)

        async def wait(future: Any) -> Any:
            return (await future).response

        at_once = task_class(wait(ready), loop=maker.loop, eager_start=True)
        assert at_once.done()
        task = task_class(wait(later), loop=maker.loop, eager_start=True)
        maker.answer(later, "eager")
        assert await task == "eager"

    run(check)


def test_futures_completed_in_a_callback_wait_for_the_next_turn(
    run: Callable[[Check], LoopFutures],
) -> None:
    async def check(maker: LoopFutures) -> None:
        turns: list[str] = []
        first, second = maker.future(), maker.future()

        def chain(done: Any) -> None:
            turns.append("first")
            maker.answer(second)

        first.add_done_callback(chain)
        second.add_done_callback(lambda done: turns.append("second"))
        maker.answer(first)
        maker.loop.call_soon(turns.append, "between")
        for _ in range(3):
            await asyncio.sleep(0)
        assert turns == ["first", "between", "second"]

    run(check)
