"""Detects frequent mistakes with the asyncio API, and gives advice in errors and warnings."""

from __future__ import annotations

import asyncio
import sys
import warnings
from typing import Any, NoReturn

from cassandra._habits import stack_level
from cassandra._logs import Log
from cassandra._truth_tests import IterationCheck, TruthTest

log = Log("cassandra.cluster")

# Returns the running loop of this thread, or None. asyncio intends this function for
# implementations of event loops. We use it because it takes only a tenth of the time of
# `asyncio.get_running_loop` inside a `try`.
running_loop = asyncio._get_running_loop


def no_attribute(class_name: str, name: str) -> AttributeError:
    """Return the error for user code that reads an attribute of a result without awaiting it first.

    :param class_name: the class of the awaitable, on which the attribute was looked up.
    :param name: the name of the attribute.
    """
    return AttributeError(
        f"{class_name!r} object has no attribute {name!r}: the execution was not awaited; "
        "write `result = await session.execute(...)`"
    )


def retrieve_error(future: asyncio.Future[Any]) -> None:
    """Read the error of a future that is done, so that it is not logged as never retrieved.

    :param future: the future. It is an argument of `add_done_callback`.
    """
    if not future.cancelled():
        future.exception()


def silence_future_of(error: object, future_class: Any) -> None:
    """Prevent a second report of an execution that was not awaited.

    If an `async with` block of a session or cluster ends with the error of `no_attribute`, the end
    of the block also ends the execution. This function keeps asyncio from logging the execution's
    error as well.

    :param error: the exception that has ended the block; None if there is none.
    :param future_class: the class of the awaitables of executions.
    """
    future = getattr(error, "obj", None) if isinstance(error, AttributeError) else None
    if isinstance(future, future_class):
        future.add_done_callback(retrieve_error)


def truth_test() -> TruthTest:
    """Return the object that warns if an execution is tested for truth but never awaited."""
    return TruthTest(
        "an execution was tested for truth, and never awaited: write "
        "`result = await session.execute(...)`, then `if result:` or `if result.one():`"
    )


def iteration_check() -> IterationCheck:
    """Return the object that warns if nobody iterates over the outcomes of `execute_concurrent`.

    In that case, the statements are never executed.
    """
    return IterationCheck(
        "nobody has iterated over the outcomes of execute_concurrent, so none of its statements "
        "was executed: write `async for success, result in session.execute_concurrent(pairs)`"
    )


def statement_of(future: Any) -> str:
    """Return the part of a future's repr that shows its statement; "" if the request is unknown."""
    request_body = getattr(getattr(future, "request", None), "request_body", None)
    return f" of {request_body.describe()}" if request_body is not None else ""


def check_loop(loop: Any, owner: str = "session") -> None:
    """Raise RuntimeError if the running loop is not the loop of the session or cluster.

    :param loop: the loop of the session or cluster.
    :param owner: "session" or "cluster", for the message.
    """
    if running_loop() is not loop:
        refuse_loop(loop, owner)


def refuse_loop(loop: Any, owner: str = "session") -> NoReturn:
    """Raise RuntimeError, because a session or cluster is used outside its own loop.

    :param loop: the loop of the session or cluster.
    :param owner: "session" or "cluster", for the message.
    """
    if loop.is_closed():
        reason = f"the event loop that this {owner} was made on is closed (asyncio.run() has ended)"
    elif running_loop() is None:
        reason = (
            f"this {owner} is used outside of its event loop, in a thread without a running one"
        )
    else:
        reason = f"this {owner} belongs to another event loop than the one that is running"
    advice = (
        "make a cassandra.aio.Cluster in each loop, "
        "or use the blocking cassandra.cluster.Cluster, which any thread may use"
    )
    if "pytest_asyncio" in sys.modules:
        # By default, pytest-asyncio gives each test a new loop.
        advice += "; with pytest-asyncio, give the fixture and the test the same loop_scope"
    raise RuntimeError(f"{reason}: {advice}")


def refuse_missing_plan(policy: Any) -> NoReturn:
    """Raise TypeError, because an application's load balancing policy has returned no query plan.

    :param policy: the policy.
    """
    raise TypeError(
        f"{type(policy).__name__}.make_query_plan() has returned None, but must return an iterable "
        "of hosts"
    )


def refuse_without_loop() -> NoReturn:
    """Raise RuntimeError, because a coroutine of the asyncio API runs outside an asyncio loop."""
    advice = (
        "run it by asyncio.run(main()), or use the blocking cassandra.cluster.Cluster, which any "
        "thread may use"
    )
    if "trio" in sys.modules:
        # User code may also run coroutines on trio, directly or through `anyio` and its pytest
        # plugin.
        advice = (
            'trio\'s loop is another one. With anyio, choose its backend "asyncio"; with trio, use '
            "the blocking cassandra.cluster.Cluster through trio.to_thread.run_sync"
        )
    raise RuntimeError(
        f"cassandra.aio needs a running event loop of asyncio, and this thread has none: {advice}"
    )


# The number of blocking calls so far that were made on a running event loop.
_blocking_calls = 0
# The warning is issued at this number of calls. An application that only creates its schema in a
# coroutine when it starts makes fewer blocking calls.
MANY_BLOCKING_CALLS = 100


def warn_of_blocking(call: str) -> None:
    """Report that a blocking call was made on a running event loop.

    The first call of the process is logged. At MANY_BLOCKING_CALLS calls, a warning is issued.

    :param call: the call, such as ``Session.execute()``.
    """
    global _blocking_calls
    _blocking_calls += 1
    if _blocking_calls not in (1, MANY_BLOCKING_CALLS):
        return
    message = (
        f"{call} was called on a running event loop, which stands still until the answer comes: "
        "use cassandra.aio, or call it through asyncio.to_thread()"
    )
    # In a notebook, only log: while a cell runs, the notebook's loop has nothing else to do.
    if _blocking_calls == 1 or "ipykernel" in sys.modules:
        log.warning("%s. This is logged once", message)
    else:
        warnings.warn(
            f"{message} ({MANY_BLOCKING_CALLS} such calls so far)",
            RuntimeWarning,
            stacklevel=stack_level(),
        )
