"""Tests of objects of compiled classes: copied, pickled, and created without ``__init__``."""

from __future__ import annotations

import json
import os

import pytest

from tests.processes import WITH_TESTS, run_python

# These are programs for a child process. The first one imports `compiled_objects`, and the second
# one lists its classes.
IMPORTED = "from tests.unit import compiled_objects as o"
LISTED = f"{IMPORTED}\nprint(*map(o.name_of, o.classes()))"
ENV = {**WITH_TESTS, "CASS_DRIVER_IMPL": "c"}


has_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


# Each worker process of pytest checks a quarter of the classes at the same time as the others.
QUARTERS = 4


@has_fork
@pytest.mark.slow
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("quarter", range(QUARTERS))
@pytest.mark.parametrize(
    ("samples", "others"), [(3, 10), pytest.param(60, 1000, marks=pytest.mark.long)]
)
def test_nothing_kills_the_process_and_copies_are_good_or_refused(
    quarter: int, samples: int, others: int
) -> None:
    """The program must end normally, and report each class of this quarter without complaints."""
    names = run_python(LISTED, ENV).stdout.split()[quarter::QUARTERS]
    program = f"{IMPORTED}\nimport sys\nsys.argv[1:] = {names!r}\n"
    program += f"o.SAMPLES, o.OTHERS = {samples}, {others}\no.main()"
    process = run_python(program, ENV, timeout=600)
    assert process.returncode == 0, process.stderr[-3000:]
    results = [json.loads(line) for line in process.stdout.split("\n")[:-1]]
    assert {name: output for name, status, output in results if status != 0} == {}
    assert [name for name, _, _ in results] == names


@has_fork
@pytest.mark.usefixtures("compiled")
def test_all_classes_are_found() -> None:
    class_names = set(run_python(LISTED, ENV).stdout.split())
    assert {"column_buffers.Block", "frame._Window", "plans.Planner", "codecs.Codec"} <= class_names
    assert len(class_names) > 50
