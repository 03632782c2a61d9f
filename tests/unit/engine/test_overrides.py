"""`refuse_overrides`, which refuses subclasses that override methods called by compiled code.

Compiled code does not look these methods up, so an override would have no effect.
"""

from __future__ import annotations

import pytest

from cassandra.engine.overrides import refuse_overrides
from cassandra.engine.request_bodies import ExecuteBody


class BaseClass:
    """A class with two methods."""

    def one(self) -> None:
        pass

    def two(self) -> None:
        pass


def test_the_error_names_all_overridden_methods() -> None:
    """The error names all overridden methods, so that all can be corrected at once."""
    # This subclass overrides only a method that may be overridden.
    refuse_overrides(type("Fine", (BaseClass,), {"two": None}), BaseClass, ("one",))
    both = type("Both", (BaseClass,), {"one": None, "two": None})
    with pytest.raises(TypeError, match="Both overrides one, two, which the compiled base class"):
        refuse_overrides(both, BaseClass, ("two", "one"))


@pytest.mark.parametrize("method", ["cached_metadata", "prerender", "render"])
def test_subclasses_of_execute_body_may_not_override_its_methods(method: str) -> None:
    with pytest.raises(TypeError, match=f"Own overrides {method}, which"):
        type("Own", (ExecuteBody,), {"__slots__": (), method: lambda self: None})
    assert issubclass(type("Usual", (ExecuteBody,), {"__slots__": ()}), ExecuteBody)
