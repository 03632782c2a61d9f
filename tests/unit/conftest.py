"""Fixtures of all unit tests: a look at what each leaves open, and the loops of the engine's."""

from __future__ import annotations

import sys

import pytest

from tests.leftovers import nothing_is_left_open, watch
from tests.unit.loops import LOOPS, Loops

__all__ = ["loops", "nothing_is_left_open"]

watch()


@pytest.fixture(params=LOOPS)
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Loops:
    """Each kind of loop; the driver's own threads make such ones, too."""
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)  # importing it is an ImportError then
    return Loops(request.param)
