"""What a subclass of a request may not do."""

from __future__ import annotations

import pytest

from cassandra.engine.request import Request

STEPS = [
    "choose", "end", "fail", "finish", "learn", "on_answer", "send", "send_to", "try_next_host",
    "version_block",
]  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_steps_that_are_not_called_by_name_are_not_overridden(name: str) -> None:
    with pytest.raises(TypeError, match=f"Eager overrides {name}, which the compiled base class"):
        type("Eager", (Request,), {"__slots__": (), name: lambda self: None})
    assert issubclass(type("Usual", (Request,), {"__slots__": ()}), Request)
    beside = type("Beside", (), {name: lambda self: None})
    with pytest.raises(TypeError, match=f"Mixed overrides {name}, which the compiled base class"):
        type("Mixed", (beside, Request), {})
