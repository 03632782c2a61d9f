"""`refuse_overrides` raises if a subclass overrides a method that compiled code calls without
looking it up.
"""

from __future__ import annotations

import pytest

from cassandra.engine.overrides import refuse_overrides
from cassandra.engine.request_bodies import ExecuteBody


class Stock:
    def one(self) -> None:
        pass

    def two(self) -> None:
        pass


def test_the_error_names_all_overridden_methods() -> None:
    refuse_overrides(type("Fine", (Stock,), {"two": None}), Stock, ("one",))
    both = type("Both", (Stock,), {"one": None, "two": None})
    with pytest.raises(TypeError, match="Both overrides one, two, which the compiled base class"):
        refuse_overrides(both, Stock, ("two", "one"))


@pytest.mark.parametrize("name", ["cached_metadata", "prerender", "render"])
def test_subclasses_of_execute_body_may_not_override_its_methods(name: str) -> None:
    with pytest.raises(TypeError, match=f"Own overrides {name}, which"):
        type("Own", (ExecuteBody,), {"__slots__": (), name: lambda self: None})
    assert issubclass(type("Usual", (ExecuteBody,), {"__slots__": ()}), ExecuteBody)
