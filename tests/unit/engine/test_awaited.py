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
from tests.conftest import Implementation
from tests.unit.engine.faults import WAIT
from tests.unit.loops import Loops

Check = Callable[["FutureMaker"], Awaitable[None]]


class Result:
    """A fake `ResultSet`."""

    def __init__(self, session: object, request: Any, row_factory: object) -> None:
        self.session = session
        self.response = request.response


class FutureMaker:
    """Creates futures on one loop. `complaints` lists what the loop reports to its exception
    handler.
    """

    def __init__(self, implementation: Implementation, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.implementation = implementation
        self.complaints: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: self.complaints.append(context))
        self.engine = SimpleNamespace(loop=loop, closed=False, core=None)
        happy_path = implementation.happy_path
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
        result_future = self.implementation.happy_path.ResultFuture(self.path, row_factory=None)
        result_future.request = self.implementation.happy_path.RequestBase(
            self.engine, statement=None, request_body=None, on_done=result_future.complete
        )
        return result_future

    def answer(self, future: Any, response: object = "rows") -> None:
        future.request.finish(response)

    def fail(self, future: Any, error: BaseException) -> None:
        future.request.fail(error)


@pytest.fixture
def run(implementation: Implementation, loops: Loops) -> Callable[[Check], FutureMaker]:
    """Return a function that runs `check` on a new loop, and returns the `FutureMaker` that it was
    given.
    """

    def run_check(check: Check) -> FutureMaker:
        loop = loops.make()
        maker = FutureMaker(implementation, loop)
        try:
            loop.run_until_complete(asyncio.wait_for(check(maker), WAIT))
            # Run one more turn of the loop, in which errors of dropped futures are reported.
            loop.run_until_complete(asyncio.sleep(0))
        finally:
            loop.close()
        return maker

    return run_check


def test_awaiting_gives_the_result(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        answered, pending = maker.future(), maker.future()
        maker.answer(answered)
        assert (await answered).response == "rows"
        maker.loop.call_soon(maker.answer, pending, "later")
        result = await pending
        assert (result.response, result.session) == ("later", "session")
        assert (await pending) is result

    run(check)


def test_each_await_raises_the_same_error(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        future = maker.future()
        error = ValueError("refused")
        maker.loop.call_soon(maker.fail, future, error)
        depths = []
        for _ in range(3):
            with pytest.raises(ValueError, match="refused") as caught:
                await future
            assert caught.value is error
            depths.append(len(caught.traceback))
        # The exception is raised again each time, but its traceback must not grow.
        assert depths[1] == depths[2]
        assert future.exception() is error

    assert run(check).complaints == []


def test_several_tasks_may_await_one_future(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        future = maker.future()

        async def wait(number: int) -> tuple[int, Any]:
            return number, (await future).response

        tasks = [asyncio.ensure_future(wait(number)) for number in range(4)]
        # Let the tasks begin to wait for the future.
        await asyncio.sleep(0)
        maker.answer(future)
        assert await asyncio.gather(*tasks) == [(number, "rows") for number in range(4)]

    run(check)


def test_a_pending_future_has_no_result(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
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


def test_cancelling_the_future_cancels_the_request(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
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


def test_cancelling_the_task_cancels_the_future(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        future = maker.future()

        async def wait() -> None:
            await future

        task = asyncio.ensure_future(wait())
        # Let the task begin to wait for the future.
        await asyncio.sleep(0)
        task.cancel("by the task")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert future.cancelled()
        assert future.request.done

    run(check)


def test_cancelling_the_request_cancels_the_future(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        future = maker.future()
        future.request.cancel()
        assert future.cancelled()

    run(check)


def test_an_answer_after_the_cancellation_is_dropped(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        future = maker.future()
        future.cancel()
        future.complete(ended_request(maker))
        assert future.cancelled()

    run(check)


def ended_request(maker: FutureMaker) -> Any:
    request = maker.implementation.happy_path.RequestBase(
        maker.engine, statement=None, request_body=None, on_done=lambda ended: None
    )
    request.finish("late")
    return request


def test_gather_returns_the_results(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        futures = [maker.future() for _ in range(3)]
        for future in futures:
            maker.loop.call_soon(maker.answer, future)
        assert [result.response for result in await asyncio.gather(*futures)] == ["rows"] * 3

    run(check)


def test_wait_returns_the_first_future_that_is_done(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        first, other = maker.future(), maker.future()
        maker.loop.call_soon(maker.answer, first)
        done, pending = await asyncio.wait(
            [first, other], return_when=asyncio.FIRST_COMPLETED, timeout=30
        )
        assert done == {first}
        assert pending == {other}

    run(check)


def test_wait_for_returns_the_result_or_cancels_the_future(
    run: Callable[[Check], FutureMaker],
) -> None:
    async def check(maker: FutureMaker) -> None:
        answered = maker.future()
        maker.loop.call_soon(maker.answer, answered)
        assert (await asyncio.wait_for(answered, 30)).response == "rows"
        slow = maker.future()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(slow, 0.001)
        assert slow.cancelled()

    run(check)


def test_shield_protects_the_future_from_a_cancellation(
    run: Callable[[Check], FutureMaker],
) -> None:
    async def check(maker: FutureMaker) -> None:
        shielded_future = maker.future()
        shield = asyncio.shield(shielded_future)
        await asyncio.sleep(0)
        shield.cancel()
        assert not shielded_future.cancelled()
        maker.answer(shielded_future)
        assert (await shielded_future).response == "rows"

    run(check)


def test_ensure_future_returns_the_future_itself(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        future = maker.future()
        assert asyncio.ensure_future(future) is future
        future.cancel()

    run(check)


def test_as_completed_yields_the_result(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        future = maker.future()
        maker.loop.call_soon(maker.answer, future)
        for coroutine in asyncio.as_completed([future]):
            assert (await coroutine).response == "rows"

    run(check)


def test_gather_passes_errors_and_cancellations_on(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        failed, cancelled = maker.future(), maker.future()
        maker.loop.call_soon(maker.fail, failed, ValueError("refused"))
        maker.loop.call_soon(cancelled.cancel)
        outcomes = await asyncio.gather(failed, cancelled, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [ValueError, asyncio.CancelledError]
        # Cancelling the future that `gather` returned cancels all the futures in it.
        pending = [maker.future(), maker.future()]
        gathered = asyncio.gather(*pending)
        gathered.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gathered
        assert all(future.cancelled() for future in pending)

    assert run(check).complaints == []


def test_run_until_complete_accepts_the_future(
    implementation: Implementation, loops: Loops
) -> None:
    loop = loops.make()
    try:
        maker = FutureMaker(implementation, loop)
        future = maker.future()
        loop.call_soon(maker.answer, future)
        assert loop.run_until_complete(future).response == "rows"
    finally:
        loop.close()


def test_callbacks_are_called_in_the_loop_with_their_contexts(
    run: Callable[[Check], FutureMaker],
) -> None:
    context_name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="none")

    async def check(maker: FutureMaker) -> None:
        future = maker.future()
        calls: list[tuple[str, str, bool]] = []

        def recorder(name: str) -> Callable[[Any], None]:
            return lambda finished: calls.append((name, context_name.get(), finished is future))

        given_context = contextvars.copy_context()
        given_context.run(context_name.set, "given")
        # A callback runs in the context that is passed with it; without one, in the context of the
        # code that adds it.
        context_name.set("own")
        future.add_done_callback(recorder("first"))
        future.add_done_callback(recorder("second"), context=given_context)
        removed = recorder("removed")
        future.add_done_callback(removed)
        future.add_done_callback(removed)
        assert future.remove_done_callback(removed) == 2
        assert future.remove_done_callback(removed) == 0
        context_name.set("changed")
        maker.answer(future)
        assert calls == []  # the first callback is called in the next turn of the loop
        await asyncio.sleep(0)
        # In the compiled twin, that turn schedules the further callbacks for the turn after it.
        await asyncio.sleep(0)
        assert calls == [("first", "own", True), ("second", "given", True)]
        future.add_done_callback(recorder("late"))
        assert len(calls) == 2
        await asyncio.sleep(0)
        assert calls[2:] == [("late", "changed", True)]

    run(check)


def test_removing_the_first_callback_keeps_the_others(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        future = maker.future()
        seen: list[str] = []

        def first(done: Any) -> None:
            seen.append("first")

        future.add_done_callback(first)
        future.add_done_callback(lambda done: seen.append("second"))
        future.remove_done_callback(first)
        maker.answer(future)
        await asyncio.sleep(0)
        assert seen == ["second"]

    run(check)


def test_a_scheduled_callback_cannot_be_removed(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        future = maker.future()
        seen: list[Any] = []
        future.add_done_callback(seen.append)
        maker.answer(future)
        # The answer has already scheduled the callback on the loop, so it can no longer be removed.
        assert future.remove_done_callback(seen.append) == 0
        await asyncio.sleep(0)
        assert seen == [future]

    run(check)


def test_a_callback_that_fails_is_reported_and_the_others_go_on(
    run: Callable[[Check], FutureMaker],
) -> None:
    async def check(maker: FutureMaker) -> None:
        seen: list[str] = []
        bad, good = maker.future(), maker.future()

        def fail(done: Any) -> None:
            raise ValueError("of a callback")

        bad.add_done_callback(fail)
        good.add_done_callback(lambda done: seen.append("good"))
        maker.answer(bad)
        maker.answer(good)
        await asyncio.sleep(0)
        assert seen == ["good"]

    (complaint,) = run(check).complaints
    assert str(complaint["exception"]) == "of a callback"
    assert "Exception in callback" in complaint["message"]


def test_a_keyboard_interrupt_in_a_callback_loses_no_other_callback(
    implementation: Implementation, loops: Loops
) -> None:
    loop = loops.make()
    try:
        maker = FutureMaker(implementation, loop)
        seen: list[str] = []
        interrupted, other = maker.future(), maker.future()

        def raise_interrupt(done: Any) -> None:
            raise KeyboardInterrupt

        interrupted.add_done_callback(raise_interrupt)
        other.add_done_callback(lambda done: seen.append("called"))

        def answer_both() -> None:
            maker.answer(interrupted)
            maker.answer(other)

        loop.call_soon(answer_both)
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(asyncio.sleep(30))
        # The interrupt stopped the loop before it had run all callbacks: run the rest.
        loop.run_until_complete(asyncio.sleep(0))
        assert seen == ["called"]
    finally:
        # The interrupted sleep is still pending: cancel it.
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def test_a_cancel_from_another_thread_affects_no_other_future(
    run: Callable[[Check], FutureMaker],
) -> None:
    async def check(maker: FutureMaker) -> None:
        maker.loop.set_debug(True)
        refused, other = maker.future(), maker.future()
        # Only with a callback does `cancel` have to call `call_soon`.
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
    run: Callable[[Check], FutureMaker],
) -> None:
    async def check(maker: FutureMaker) -> None:
        future = maker.future()
        maker.fail(future, ValueError("never seen"))
        # The future and its request refer to each other. Break this cycle, so that the future is
        # freed and reports its error.
        future.request = None
        del future
        gc.collect()
        # These futures report nothing, because the program read their exceptions or cancelled them.
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


def test_stop_iteration_becomes_a_runtime_error(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        future = maker.future()
        cause = StopIteration("of a policy")
        maker.fail(future, cause)
        with pytest.raises(RuntimeError, match="StopIteration") as caught:
            await future
        assert caught.value.__cause__ is cause

    run(check)


def test_the_outcome_may_be_set_by_hand(
    run: Callable[[Check], FutureMaker],
) -> None:
    async def check(maker: FutureMaker) -> None:
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
            # The server's answer comes after the outcome was set, and must not change it.
            maker.answer(future)
        assert await answered == "given"
        with pytest.raises(TypeError):
            maker.future().set_exception("no exception")

    run(check)


def test_a_task_of_another_loop_cannot_await_the_future(
    run: Callable[[Check], FutureMaker], implementation: Implementation, loops: Loops
) -> None:
    other_loop = loops.make()
    future_of_other_loop = FutureMaker(implementation, other_loop).future()

    async def check(maker: FutureMaker) -> None:
        async def wait() -> None:
            await future_of_other_loop

        with pytest.raises(RuntimeError, match="attached to a different loop"):
            await asyncio.ensure_future(wait())

    try:
        run(check)
    finally:
        other_loop.close()


def test_a_coroutine_can_be_driven_without_asyncio(run: Callable[[Check], FutureMaker]) -> None:
    """A library other than asyncio can drive a coroutine that awaits a `ResultFuture`, by
    calling `send` itself.
    """

    async def check(maker: FutureMaker) -> None:
        future = maker.future()

        async def wait() -> Any:
            return (await future).response

        first = wait()
        # Awaiting a pending future yields the future, with the flag set by which asyncio recognises
        # an `await`.
        assert first.send(None) is future
        assert future._asyncio_future_blocking
        # Calling `send` again before the future is done is an error, as with asyncio's futures.
        with pytest.raises(RuntimeError, match="await wasn't used with future"):
            first.send(None)
        # asyncio clears the flag when it begins to wait for the future, so the test does so, too.
        second = wait()
        future._asyncio_future_blocking = False
        assert second.send(None) is future
        maker.answer(future)
        with pytest.raises(StopIteration) as caught:
            second.send(None)
        assert caught.value.value == "rows"
        # A future that is done yields nothing: the first step returns the result.
        third, iterator = wait(), iter(future)
        with pytest.raises(StopIteration):
            third.send(None)
        with pytest.raises(StopIteration) as caught_by_iterator:
            next(iterator)
        assert caught_by_iterator.value.value.response == "rows"
        # Libraries also throw errors into the iterator of `__await__`, and close it.
        awaiter = maker.future().__await__()
        with pytest.raises(KeyError):
            awaiter.throw(KeyError("in"))
        awaiter.close()

    run(check)


def test_a_future_can_be_referenced_weakly_and_is_freed_at_once(
    run: Callable[[Check], FutureMaker],
) -> None:
    async def check(maker: FutureMaker) -> None:
        # The garbage collector is off, so the future is freed only if its reference count falls to
        # 0.
        gc.collect()
        gc.disable()
        try:
            future = maker.future()
            reference = weakref.ref(future)
            maker.loop.call_soon(maker.answer, future)
            await future
            # The request refers to the future: break this cycle, which only the collector could
            # free.
            future.request = None
            del future
            # The loop still refers to the future in this turn.
            await asyncio.sleep(0)
            assert reference() is None
        finally:
            gc.enable()

    run(check)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
def test_eager_tasks_can_await_futures(run: Callable[[Check], FutureMaker]) -> None:
    async def check(maker: FutureMaker) -> None:
        # The type checker's definitions for older Python versions lack `eager_start`.
        task_class: Any = asyncio.Task
        ready, later = maker.future(), maker.future()
        maker.answer(ready)

        async def wait(future: Any) -> Any:
            return (await future).response

        finished_task = task_class(wait(ready), loop=maker.loop, eager_start=True)
        assert finished_task.done()
        pending_task = task_class(wait(later), loop=maker.loop, eager_start=True)
        maker.answer(later, "eager")
        assert await pending_task == "eager"

    run(check)


def test_futures_completed_in_a_callback_wait_for_the_next_turn(
    run: Callable[[Check], FutureMaker],
) -> None:
    async def check(maker: FutureMaker) -> None:
        order: list[str] = []
        first, second = maker.future(), maker.future()

        def answer_second(done: Any) -> None:
            order.append("first")
            maker.answer(second)

        first.add_done_callback(answer_second)
        second.add_done_callback(lambda done: order.append("second"))
        maker.answer(first)
        maker.loop.call_soon(order.append, "between")
        # The first callback runs in the next turn of the loop, the second one in the turn after it.
        for _ in range(2):
            await asyncio.sleep(0)
        assert order == ["first", "between", "second"]

    run(check)
