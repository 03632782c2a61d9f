"""Fixtures of the engine's tests."""

from __future__ import annotations

import sys

import pytest

from tests.unit.loops import LOOPS, Loops


@pytest.fixture(params=LOOPS)
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Loops:
    """Each kind of loop; the driver's own threads make such ones, too."""
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)  # importing it is an ImportError then
    return Loops(request.param)
