"""`ResultFuture`, which `execute` returns in asyncio, behaves like `asyncio.Future`.

Each test runs with the pure Python and the compiled version, and on loops of asyncio and uvloop.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.call_options import CallOptions
from tests.conftest import Implementation
from tests.unit.engine.faults import WAIT
from tests.unit.loops import Loops

Check = Callable[["FutureFactory"], Awaitable[None]]


class FakeResultSet:
    """A fake `ResultSet` with its session and the response of its request."""

    def __init__(self, session: object, request: Any, row_factory: object) -> None:
        self.session = session
        self.response = request.response


class FutureFactory:
    """Creates `ResultFuture` objects on one event loop, and ends their requests.

    `complaints` lists what the loop reports to its exception handler.
    """

    def __init__(self, implementation: Implementation, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.implementation = implementation
        self.complaints: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: self.complaints.append(context))
        self.engine = SimpleNamespace(loop=loop, closed=False, core=None)
        happy_path = implementation.happy_path
        # The tests send no requests, so strings and simple objects replace the session, the engine
        # and the profile.

        self.path = happy_path.HappyPath(
            "session",
            self.engine,
            CallOptions(SimpleNamespace(row_factory=None)),  # type: ignore[arg-type]
            happy_path.RequestBase,
            happy_path.ExecuteBodyBase,
            FakeResultSet,
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
        """End the request of a future with this response."""
        future.request.finish(response)

    def fail(self, future: Any, error: BaseException) -> None:
        """End the request of a future with this error."""
        future.request.fail(error)


@pytest.fixture
def run_on_loop(implementation: Implementation, loops: Loops) -> Callable[[Check], FutureFactory]:
    """Return a function that runs a coroutine function `check` on a new event loop.

    The function passes a `FutureFactory` to `check`, and returns the factory.
    """

    def run_check(check: Check) -> FutureFactory:
        loop = loops.make()
        factory = FutureFactory(implementation, loop)
        try:
            loop.run_until_complete(asyncio.wait_for(check(factory), WAIT))
            # Let the loop run once more, because errors of dropped futures are reported in its next
            # iteration.
            loop.run_until_complete(asyncio.sleep(0))
        finally:
            loop.close()
        return factory

    return run_check


def on_new_loop(
    test: Callable[[FutureFactory], Coroutine[Any, Any, None]],
) -> Callable[[Callable[[Check], FutureFactory]], None]:
    """Run a test on a new event loop, and pass a `FutureFactory` of this loop to the test.

    The test fails if anything is reported to the loop's exception handler.
    """

    def run_test(run_on_loop: Callable[[Check], FutureFactory]) -> None:
        assert run_on_loop(test).complaints == []

    run_test.__name__ = test.__name__
    run_test.__doc__ = test.__doc__
    return run_test


@on_new_loop
async def test_awaiting_gives_the_result(factory: FutureFactory) -> None:
    """Awaiting a future returns its result, whether the response has already come or comes later.

    A second `await` returns the same object.
    """
    answered, pending = factory.future(), factory.future()
    factory.answer(answered)
    assert (await answered).response == "rows"
    factory.loop.call_soon(factory.answer, pending, "later")
    result = await pending
    assert result.response == "later"
    assert result.session == "session"
    assert (await pending) is result


@on_new_loop
async def test_each_await_raises_the_same_error(factory: FutureFactory) -> None:
    """Each `await` raises the future's error, and the traceback does not grow with each `await`."""
    future = factory.future()
    error = ValueError("refused")
    factory.loop.call_soon(factory.fail, future, error)
    traceback_lengths = []
    for _ in range(3):
        with pytest.raises(ValueError, match="refused") as caught:
            await future
        assert caught.value is error
        traceback_lengths.append(len(caught.traceback))
    # The second and the third `await` add nothing to the traceback.
    assert traceback_lengths[1] == traceback_lengths[2]
    assert future.exception() is error


@on_new_loop
async def test_several_tasks_may_await_one_future(factory: FutureFactory) -> None:
    """If several tasks await the same future, each task gets the result."""
    future = factory.future()

    async def wait(number: int) -> tuple[int, Any]:
        return number, (await future).response

    tasks = [asyncio.ensure_future(wait(number)) for number in range(4)]
    # Let the tasks start to wait for the future.
    await asyncio.sleep(0)
    factory.answer(future)
    assert await asyncio.gather(*tasks) == [(number, "rows") for number in range(4)]


@on_new_loop
async def test_a_pending_future_has_no_result(factory: FutureFactory) -> None:
    """Before the response, `result` and `exception` raise InvalidStateError.

    After the response, they return the result and None. asyncio.Future does the same.
    """
    future = factory.future()
    assert not future.done()
    assert not future.cancelled()
    assert future.get_loop() is factory.loop
    assert asyncio.isfuture(future)
    assert "ResultFuture pending" in repr(future)
    with pytest.raises(asyncio.InvalidStateError):
        future.result()
    with pytest.raises(asyncio.InvalidStateError):
        future.exception()
    factory.answer(future)
    assert future.done()
    assert future.exception() is None
    assert future.result().response == "rows"
    assert "ResultFuture finished result=" in repr(future)


@on_new_loop
async def test_cancelling_the_future_cancels_the_request(factory: FutureFactory) -> None:
    """The first call of `cancel` returns True, and cancels the future and its request.

    A second `cancel` returns False. `result`, `exception` and `await` raise CancelledError.
    """
    future = factory.future()
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


def test_without_its_loop_cancelling_the_future_cancels_the_request_later(
    implementation: Implementation,
) -> None:
    """If the loop does not run, `cancel` cancels the future now, and the request in its next run.

    `asyncio.run` cancels the remaining tasks at its end, while the loop does not run. A request
    may only end on its loop.
    """
    loop = asyncio.new_event_loop()
    factory = FutureFactory(implementation, loop)
    future, late = factory.future(), factory.future()
    assert future.cancel() is True
    assert (future.cancelled(), future.request.done) == (True, False)
    loop.run_until_complete(asyncio.sleep(0))
    assert future.request.done
    loop.close()
    # The request of a closed loop can never end.
    assert late.cancel() is True
    assert not late.request.done


@on_new_loop
async def test_cancelling_the_task_cancels_the_future(factory: FutureFactory) -> None:
    """If a task is cancelled, the future that it awaits is cancelled, too.

    The future's request is cancelled as well. asyncio's own futures behave in the same way.
    """
    future = factory.future()

    async def wait() -> None:
        await future

    task = asyncio.ensure_future(wait())
    # Let the task start to wait for the future.
    await asyncio.sleep(0)
    task.cancel("by the task")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert future.cancelled()
    assert future.request.done


@on_new_loop
async def test_cancelling_the_request_cancels_the_future(factory: FutureFactory) -> None:
    """If a request is cancelled directly, its future is cancelled, too."""
    future = factory.future()
    future.request.cancel()
    assert future.cancelled()


@on_new_loop
async def test_an_answer_after_the_cancellation_is_dropped(factory: FutureFactory) -> None:
    """If a request ends after its future was cancelled, the future stays cancelled."""
    future = factory.future()
    future.cancel()
    future.complete(ended_request(factory))
    assert future.cancelled()


def ended_request(factory: FutureFactory) -> Any:
    """Return a request of another future that has just ended with the response "late"."""
    request = factory.implementation.happy_path.RequestBase(
        factory.engine, statement=None, request_body=None, on_done=lambda ended: None
    )
    request.finish("late")
    return request


@on_new_loop
async def test_gather_returns_the_results(factory: FutureFactory) -> None:
    """`asyncio.gather` accepts several futures of requests and returns their results."""
    futures = [factory.future() for _ in range(3)]
    for future in futures:
        factory.loop.call_soon(factory.answer, future)
    assert [result.response for result in await asyncio.gather(*futures)] == ["rows"] * 3


@on_new_loop
async def test_wait_returns_the_first_future_that_is_done(factory: FutureFactory) -> None:
    """`asyncio.wait` accepts futures of requests, and returns when the first future is done."""
    answered, other = factory.future(), factory.future()
    factory.loop.call_soon(factory.answer, answered)
    done, pending = await asyncio.wait(
        [answered, other], return_when=asyncio.FIRST_COMPLETED, timeout=WAIT
    )
    assert done == {answered}
    assert pending == {other}


@on_new_loop
async def test_wait_for_returns_the_result_or_cancels_the_future(factory: FutureFactory) -> None:
    """`asyncio.wait_for` returns the result of a future that is answered in time.

    It cancels a future that is not answered in time.
    """
    answered = factory.future()
    factory.loop.call_soon(factory.answer, answered)
    assert (await asyncio.wait_for(answered, timeout=WAIT)).response == "rows"
    unanswered = factory.future()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(unanswered, timeout=0.001)
    assert unanswered.cancelled()


@on_new_loop
async def test_shield_protects_the_future_from_a_cancellation(factory: FutureFactory) -> None:
    """`asyncio.shield` protects a future: cancelling the shield does not cancel the future."""
    shielded_future = factory.future()
    shield = asyncio.shield(shielded_future)
    await asyncio.sleep(0)
    shield.cancel()
    assert not shielded_future.cancelled()
    factory.answer(shielded_future)
    assert (await shielded_future).response == "rows"


@on_new_loop
async def test_ensure_future_returns_the_future_itself(factory: FutureFactory) -> None:
    """`asyncio.ensure_future` does not wrap a `ResultFuture` in another future."""
    future = factory.future()
    assert asyncio.ensure_future(future) is future
    future.cancel()


@on_new_loop
async def test_as_completed_yields_the_result(factory: FutureFactory) -> None:
    """`asyncio.as_completed` accepts a future of a request, and yields its result."""
    future = factory.future()
    factory.loop.call_soon(factory.answer, future)
    for coroutine in asyncio.as_completed([future]):
        assert (await coroutine).response == "rows"


@on_new_loop
async def test_gather_passes_errors_and_cancellations_on(factory: FutureFactory) -> None:
    """`asyncio.gather` returns the errors of failed and cancelled requests.

    The loop's exception handler must not be called, for example because of an exception that was
    never retrieved.
    """
    failed, cancelled = factory.future(), factory.future()
    factory.loop.call_soon(factory.fail, failed, ValueError("refused"))
    factory.loop.call_soon(cancelled.cancel)
    outcomes = await asyncio.gather(failed, cancelled, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ValueError, asyncio.CancelledError]
    # Cancelling the future that `gather` returns cancels all futures that were passed to it.
    pending = [factory.future(), factory.future()]
    gathered = asyncio.gather(*pending)
    gathered.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gathered
    assert all(future.cancelled() for future in pending)


def test_run_until_complete_accepts_the_future(
    implementation: Implementation, loops: Loops
) -> None:
    """`run_until_complete` runs the loop until a future has its response.

    It returns the result of the future.
    """
    loop = loops.make()
    try:
        factory = FutureFactory(implementation, loop)
        future = factory.future()
        loop.call_soon(factory.answer, future)
        assert loop.run_until_complete(future).response == "rows"
    finally:
        loop.close()


@on_new_loop
async def test_callbacks_are_called_in_the_loop_with_their_contexts(factory: FutureFactory) -> None:
    """Callbacks run in the order in which they were added, in a later iteration of the loop.

    Each callback runs in the context that was passed for it, or else in the context of the code
    that added it.
    """
    context_name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="none")
    future = factory.future()
    calls: list[tuple[str, str, bool]] = []

    def recorder(name: str) -> Callable[[Any], None]:
        """Return a callback that records its name and its context.

        It also records whether it was called with the future.
        """
        return lambda finished: calls.append((name, context_name.get(), finished is future))

    passed_context = contextvars.copy_context()
    passed_context.run(context_name.set, "passed")
    context_name.set("adding")
    future.add_done_callback(recorder("first"))
    future.add_done_callback(recorder("second"), context=passed_context)
    removed = recorder("removed")
    future.add_done_callback(removed)
    future.add_done_callback(removed)
    assert future.remove_done_callback(removed) == 2
    assert future.remove_done_callback(removed) == 0
    context_name.set("changed")
    factory.answer(future)
    assert calls == []  # callbacks are never called at once, only in a later iteration of the loop
    await asyncio.sleep(0)
    # The compiled version schedules the callbacks after the first one only now, for the next
    # iteration.
    await asyncio.sleep(0)
    assert calls == [("first", "adding", True), ("second", "passed", True)]
    future.add_done_callback(recorder("late"))
    assert len(calls) == 2
    await asyncio.sleep(0)
    assert calls[2:] == [("late", "changed", True)]


@on_new_loop
async def test_removing_the_first_callback_keeps_the_others(factory: FutureFactory) -> None:
    """If the first callback is removed, the other callbacks are still called.

    The compiled version stores its first callback separately, so removing it is a special case.
    """
    future = factory.future()
    calls: list[str] = []

    def first_callback(done: Any) -> None:
        calls.append("first")

    future.add_done_callback(first_callback)
    future.add_done_callback(lambda done: calls.append("second"))
    future.remove_done_callback(first_callback)
    factory.answer(future)
    await asyncio.sleep(0)
    assert calls == ["second"]


@on_new_loop
async def test_a_scheduled_callback_cannot_be_removed(factory: FutureFactory) -> None:
    """After the response, `remove_done_callback` removes nothing.

    The callbacks are already scheduled.
    """
    future = factory.future()
    calls: list[Any] = []
    future.add_done_callback(calls.append)
    factory.answer(future)
    assert future.remove_done_callback(calls.append) == 0
    await asyncio.sleep(0)
    assert calls == [future]


def test_a_callback_that_fails_is_reported_and_the_others_go_on(
    run_on_loop: Callable[[Check], FutureFactory],
) -> None:
    """If a callback raises an error, the loop's exception handler gets it.

    The callbacks of other futures are still called. asyncio's futures behave in the same way.
    """

    async def check(factory: FutureFactory) -> None:
        calls: list[str] = []
        failing, healthy = factory.future(), factory.future()

        def failing_callback(done: Any) -> None:
            raise ValueError("of a callback")

        failing.add_done_callback(failing_callback)
        healthy.add_done_callback(lambda done: calls.append("good"))
        # Both futures complete at once, and the callback of the first future raises an error.
        factory.answer(failing)
        factory.answer(healthy)
        await asyncio.sleep(0)
        assert calls == ["good"]

    (complaint,) = run_on_loop(check).complaints
    assert str(complaint["exception"]) == "of a callback"
    assert "Exception in callback" in complaint["message"]


def test_a_keyboard_interrupt_in_a_callback_loses_no_other_callback(
    implementation: Implementation, loops: Loops
) -> None:
    """A KeyboardInterrupt in a callback stops the loop, but no other callback is lost.

    The other callbacks are called when the loop runs again.
    """
    loop = loops.make()
    try:
        factory = FutureFactory(implementation, loop)
        calls: list[str] = []
        interrupted, other = factory.future(), factory.future()

        def raise_interrupt(done: Any) -> None:
            raise KeyboardInterrupt

        interrupted.add_done_callback(raise_interrupt)
        other.add_done_callback(lambda done: calls.append("called"))

        def answer_both() -> None:
            factory.answer(interrupted)
            factory.answer(other)

        loop.call_soon(answer_both)
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(asyncio.sleep(30))
        # The interrupt stopped the loop before all callbacks had run. Run the remaining callbacks.
        loop.run_until_complete(asyncio.sleep(0))
        assert calls == ["called"]
    finally:
        # The `sleep` that was interrupted is still pending. Cancel it.
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


@on_new_loop
async def test_a_cancel_from_another_thread_affects_no_other_future(factory: FutureFactory) -> None:
    """In debug mode, `cancel` raises RuntimeError in another thread.

    No other future is affected. Futures are not thread-safe. asyncio's futures behave in the same
    way.
    """
    factory.loop.set_debug(True)
    cancelled_elsewhere, other = factory.future(), factory.future()
    # `cancel` calls `call_soon` only if the future has a callback.
    cancelled_elsewhere.add_done_callback(lambda future: None)
    errors: list[BaseException] = []

    def cancel() -> None:
        try:
            cancelled_elsewhere.cancel()
        except RuntimeError as error:  # in debug mode, `call_soon` refuses other threads
            errors.append(error)

    thread = threading.Thread(target=cancel)
    thread.start()
    thread.join(WAIT)
    assert len(errors) == 1
    factory.loop.call_soon(factory.answer, other)
    assert (await other).response == "rows"


def test_an_exception_that_is_never_retrieved_is_reported(
    run_on_loop: Callable[[Check], FutureFactory],
) -> None:
    """If nobody retrieves a future's error, the loop's exception handler gets it.

    asyncio's futures behave in the same way.
    """

    async def check(factory: FutureFactory) -> None:
        future = factory.future()
        factory.fail(future, ValueError("never seen"))
        # The future and its request refer to each other. Without the request, the `del` frees the
        # future, which then reports its error.
        future.request = None
        del future
        gc.collect()
        # These futures report nothing, because their exceptions were read or they were cancelled.
        for method in ("exception", "result", "cancel"):
            retrieved = factory.future()
            factory.fail(retrieved, ValueError("seen"))
            if method == "result":
                with pytest.raises(ValueError, match="seen"):
                    retrieved.result()
            else:
                getattr(retrieved, method)()
        # A future that is cancelled before its request ends does not report anything either.
        factory.future().cancel()
        del retrieved
        gc.collect()

    (complaint,) = run_on_loop(check).complaints
    assert complaint["message"] == "ResultFuture exception was never retrieved"
    assert str(complaint["exception"]) == "never seen"
    assert "never seen" in repr(complaint["future"])


@on_new_loop
async def test_stop_iteration_becomes_a_runtime_error(factory: FutureFactory) -> None:
    """If a request fails with StopIteration, awaiting its future raises RuntimeError from it.

    A coroutine cannot raise StopIteration.
    """
    future = factory.future()
    cause = StopIteration("of a policy")
    factory.fail(future, cause)
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        await future
    assert caught.value.__cause__ is cause


@on_new_loop
async def test_the_outcome_may_be_set_by_hand(factory: FutureFactory) -> None:
    """`set_result` and `set_exception` end a future once.

    A later response of the server is ignored.
    """
    answered, failed = factory.future(), factory.future()
    answered.set_result("set by hand")
    failed.set_exception(ZeroDivisionError)
    assert await answered == "set by hand"
    with pytest.raises(ZeroDivisionError):
        await failed
    for future in (answered, failed):
        with pytest.raises(asyncio.InvalidStateError):
            future.set_result("again")
        with pytest.raises(asyncio.InvalidStateError):
            future.set_exception(ValueError())
        # The server's response comes after the result was set, and must not change it.
        factory.answer(future)
    assert await answered == "set by hand"
    with pytest.raises(TypeError):
        factory.future().set_exception("no exception")


def test_a_task_of_another_loop_cannot_await_the_future(
    run_on_loop: Callable[[Check], FutureFactory], implementation: Implementation, loops: Loops
) -> None:
    """If a task of another event loop awaits a future, RuntimeError is raised.

    A future belongs to one event loop. asyncio.Future behaves in the same way.
    """
    other_loop = loops.make()
    future_of_other_loop = FutureFactory(implementation, other_loop).future()

    async def check(factory: FutureFactory) -> None:
        async def wait() -> None:
            await future_of_other_loop

        with pytest.raises(RuntimeError, match="attached to a different loop"):
            await asyncio.ensure_future(wait())

    try:
        run_on_loop(check)
    finally:
        other_loop.close()


@on_new_loop
async def test_a_coroutine_can_be_driven_without_asyncio(factory: FutureFactory) -> None:
    """A library other than asyncio can call `send` of a coroutine that awaits a `ResultFuture`."""
    future = factory.future()

    async def wait() -> Any:
        return (await future).response

    pending_coroutine = wait()
    # Awaiting a pending future yields the future itself. Its flag `_asyncio_future_blocking` tells
    # asyncio that the future is awaited.
    assert pending_coroutine.send(None) is future
    assert future._asyncio_future_blocking
    # If `send` is called again before the future is done, it raises an error, as with asyncio's
    # futures.
    with pytest.raises(RuntimeError, match="await wasn't used with future"):
        pending_coroutine.send(None)
    # asyncio clears the flag when it starts to wait for the future, so we clear it here.
    answered_coroutine = wait()
    future._asyncio_future_blocking = False
    assert answered_coroutine.send(None) is future
    factory.answer(future)
    with pytest.raises(StopIteration) as caught:
        answered_coroutine.send(None)
    assert caught.value.value == "rows"
    # A future that is done yields nothing, so the first step returns the result.
    late_coroutine, iterator = wait(), iter(future)
    with pytest.raises(StopIteration):
        late_coroutine.send(None)
    with pytest.raises(StopIteration) as caught_by_iterator:
        next(iterator)
    assert caught_by_iterator.value.value.response == "rows"
    # Libraries also throw errors into the iterator of `__await__`, and close it.
    awaiter = factory.future().__await__()
    with pytest.raises(KeyError):
        awaiter.throw(KeyError("thrown into it"))
    awaiter.close()


@on_new_loop
async def test_a_future_can_be_referenced_weakly_and_is_freed_at_once(
    factory: FutureFactory,
) -> None:
    """A finished future that nobody refers to is freed at once, without the garbage collector."""
    # Switch the garbage collector off, so that only a reference count of 0 frees the future.
    gc.collect()
    gc.disable()
    try:
        future = factory.future()
        reference = weakref.ref(future)
        factory.loop.call_soon(factory.answer, future)
        await future
        # The request refers to the future. Break this cycle, which only the collector could free.
        future.request = None
        del future
        # The loop refers to the future until the end of this iteration.
        await asyncio.sleep(0)
        assert reference() is None
    finally:
        gc.enable()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
@on_new_loop
async def test_eager_tasks_can_await_futures(factory: FutureFactory) -> None:
    """An eager task that awaits a finished future ends at once.

    If the future is not finished, the task waits like any task.
    """
    # In mypy's definitions for older Python versions, tasks have no `eager_start`.
    task_class: Any = asyncio.Task
    ready, later = factory.future(), factory.future()
    factory.answer(ready)

    async def wait(future: Any) -> Any:
        return (await future).response

    finished_task = task_class(wait(ready), loop=factory.loop, eager_start=True)
    assert finished_task.done()
    pending_task = task_class(wait(later), loop=factory.loop, eager_start=True)
    factory.answer(later, "eager")
    assert await pending_task == "eager"


@on_new_loop
async def test_futures_completed_in_a_callback_wait_for_the_next_turn(
    factory: FutureFactory,
) -> None:
    """If a callback completes another future, that future's callbacks run in the next iteration."""
    order: list[str] = []
    first, second = factory.future(), factory.future()

    def answer_second(done: Any) -> None:
        order.append("first")
        factory.answer(second)

    first.add_done_callback(answer_second)
    second.add_done_callback(lambda done: order.append("second"))
    factory.answer(first)
    factory.loop.call_soon(order.append, "between")
    # The first callback runs in the next iteration of the loop, and the second callback in the
    # iteration after it.
    for _ in range(2):
        await asyncio.sleep(0)
    assert order == ["first", "between", "second"]
