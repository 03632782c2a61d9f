"""What a subclass of a request may not do."""

from __future__ import annotations

import pytest

from cassandra.engine.request import Request


@pytest.mark.parametrize("name", ["end", "fail", "finish", "send", "send_to", "try_next_host"])
def test_steps_that_are_not_called_by_name_are_not_overridden(name: str) -> None:
    with pytest.raises(TypeError, match=f"Eager overrides {name}, which the compiled base class"):
        type("Eager", (Request,), {"__slots__": (), name: lambda self: None})
    assert issubclass(type("Usual", (Request,), {"__slots__": ()}), Request)
