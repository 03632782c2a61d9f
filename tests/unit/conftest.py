"""Fixtures of all unit tests: a look at what each leaves open, loops, and virtual time."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.leftovers import nothing_is_left_open, watch
from tests.unit.loops import LOOPS, Loops
from tests.unit.simulated import Simulated

__all__ = ["loops", "nothing_is_left_open", "simulated"]

watch()


@pytest.fixture(params=LOOPS)
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Loops:
    """Each kind of loop; the driver's own threads make such ones, too."""
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)  # importing it is an ImportError then
    return Loops(request.param)


@pytest.fixture
def simulated() -> Iterator[Simulated]:
    """A loop in virtual time, for tests that wait for time-outs, intervals or late answers."""
    world = Simulated()
    yield world
    world.check()
