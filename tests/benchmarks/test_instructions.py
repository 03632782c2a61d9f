"""`benchmarks.instructions` reads what callgrind prints. Needs no valgrind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import instructions
from benchmarks._lib import callgrind, worker_instructions
from benchmarks._lib.requirements import is_quick

REPORT = """\
==7== Events    : Ir
==7== Collected : 5123456789
==7==
==7== I   refs:      5,123,456,789
"""

ANNOTATED = """\
--------------------------------------------------------------------------------
Ir
--------------------------------------------------------------------------------
9,000 (100.0%)  PROGRAM TOTALS

Ir                file:function
--------------------------------------------------------------------------------
6,000 (66.67%)  ???:_PyEval_EvalFrameDefault'2 [/usr/lib/libpython3.11.so]
1,000 (11.11%)  ???:_PyEval_EvalFrameDefault [/usr/lib/libpython3.11.so]
2,000 (22.22%)  happy_path.c:__pyx_f_start
"""


def test_the_count_is_read() -> None:
    assert callgrind.collected(REPORT) == 5_123_456_789


def test_a_report_without_a_count_is_an_error() -> None:
    with pytest.raises(ValueError, match="out of memory"):
        callgrind.collected("==7== out of memory")


def test_what_both_runs_have_cancels_out() -> None:
    started, each = 4_000_000_000, 25_000
    few, many = (
        started + passes * instructions.SIZES[is_quick()] * each
        for passes in (instructions.FEW, instructions.MANY)
    )
    assert instructions.per_request(few, many) == each


def test_functions_are_summed_over_recursion() -> None:
    assert instructions.costs(ANNOTATED) == {
        "_PyEval_EvalFrameDefault": 7_000,
        "__pyx_f_start": 2_000,
    }


def test_table_and_worker_know_the_same_cases() -> None:
    assert [case.name for case in instructions.CASES] == list(worker_instructions.CASES)
    assert instructions.SIZES[is_quick()] == worker_instructions.REQUESTS


def test_without_valgrind_it_says_so(tmp_path: Path) -> None:
    cases: list[tuple[tuple[str, ...], int]] = [((), 1), (("--quick",), 0)]
    for options, status in cases:
        done = subprocess.run(
            [sys.executable, str(Path(instructions.__file__)), *options],
            env={**os.environ, "PATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stderr
        assert "needs valgrind, which is not installed" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
