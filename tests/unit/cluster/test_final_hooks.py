"""Methods that complete a `ResponseFuture`.

Tracing libraries replace these methods on the future itself.
"""

from __future__ import annotations

from types import MethodType, SimpleNamespace
from typing import Any

import pytest

from cassandra.cluster import final_hooks
from cassandra.cluster.final_hooks import FinalMethod, finish_wrapped


@pytest.fixture
def tracers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return fakes of the functions that are called when a future is completed."""
    fake_tracers = SimpleNamespace(
        set_final_result=lambda future, result: ("ours", result),
        finish_wrapped=lambda future: setattr(future, "is_finished", True),
    )
    monkeypatch.setattr(final_hooks, "tracers", fake_tracers)
    return fake_tracers


class Future:
    """A fake of `ResponseFuture` with the attributes that the hooks use."""

    _hooks: Any = None
    is_finished = False
    _set_final_result = FinalMethod("set_final_result")
    _set_final_exception = FinalMethod("set_final_exception")


def test_a_completion_method_can_be_replaced_on_an_instance(tracers: Any) -> None:
    """A tracer can replace `_set_final_result` of a single future, and remove the replacement."""
    future: Any = Future()
    original = future._set_final_result
    assert isinstance(original, MethodType)
    assert original(5) == ("ours", 5)
    # On the class, the attribute is the original function.
    assert vars(Future)["_set_final_result"].__get__(None, Future) is tracers.set_final_result
    future._set_final_result = lambda result: ("wrapped", original(result))
    future._set_final_exception = print
    assert future._set_final_result(5) == ("wrapped", ("ours", 5))
    # Only this instance has the replacement.
    assert Future._hooks is None
    # After the deletion, the class's method applies again.
    del future._set_final_result
    assert future._set_final_result(5) == ("ours", 5)
    assert future._hooks == {"_set_final_exception": print}
    del future._set_final_exception
    assert future._hooks is None


def test_finish_wrapped_completes_the_future(tracers: Any) -> None:
    future: Any = Future()
    finish_wrapped(future)
    assert future.is_finished
