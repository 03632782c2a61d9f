"""Objects of compiled classes: copied, pickled, and made without ``__init__``."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.conftest import LANE
from tests.processes import WITH_TESTS, run_python

LISTED = "from tests.unit import compiled_objects as o\nprint(*map(o.name_of, o.classes()))"
ENV = {**WITH_TESTS, "CASS_DRIVER_IMPL": "c"}


def names() -> list[str]:
    if LANE != "c" or not hasattr(os, "fork"):
        return []
    return run_python(LISTED, ENV).stdout.split()


@pytest.fixture(scope="module")
def endings() -> dict[str, Any]:
    done = run_python("from tests.unit import compiled_objects as o\no.main()", ENV, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return {
        name: (status, said) for name, status, said in map(json.loads, done.stdout.split("\n")[:-1])
    }


@pytest.mark.slow
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", names())
def test_nothing_kills_the_process_and_copies_are_good_or_refused(
    endings: dict[str, Any], name: str
) -> None:
    status, said = endings[name]
    assert status == 0, said


@pytest.mark.slow
@pytest.mark.usefixtures("compiled")
def test_all_classes_are_found() -> None:
    found = set(names())
    assert {"column_buffers.Block", "frame._Window", "plans.Planner", "codecs.Codec"} <= found
    assert len(found) > 50
