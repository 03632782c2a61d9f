"""Test how `benchmarks.instructions` counts, records and compares, without valgrind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import instructions
from benchmarks._lib import callgrind, history, worker_instructions
from benchmarks._lib.requirements import is_quick

# What callgrind prints when the program ends.
REPORT = """\
==7== Events    : Ir
==7== Collected : 5123456789
==7==
==7== I   refs:      5,123,456,789
"""

# What callgrind_annotate prints. A recursive function may have several lines.
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


def test_the_count_comes_from_the_line_collected() -> None:
    assert callgrind.parse_instruction_count(REPORT) == 5_123_456_789


def test_a_report_without_a_count_is_an_error() -> None:
    with pytest.raises(ValueError, match="out of memory"):
        callgrind.parse_instruction_count("==7== out of memory")


def test_startup_instructions_cancel_out() -> None:
    """The difference between many and few passes over the requests has no startup instructions."""
    startup, per_request = 4_000_000_000, 25_000
    few, many = (
        startup + passes * instructions.SIZES[is_quick()] * per_request
        for passes in (instructions.FEW, instructions.MANY)
    )
    assert instructions.per_request(few, many) == per_request


def test_a_recursive_function_has_the_sum_of_its_lines() -> None:
    assert instructions.instructions_by_function(ANNOTATED) == {
        "_PyEval_EvalFrameDefault": 7_000,
        "__pyx_f_start": 2_000,
    }


def test_table_and_worker_know_the_same_cases() -> None:
    assert [case.name for case in instructions.CASES] == list(worker_instructions.CASES)
    assert instructions.SIZES[is_quick()] == worker_instructions.REQUESTS


def test_without_valgrind_it_says_so_and_fails_unless_quick(tmp_path: Path) -> None:
    cases: list[tuple[tuple[str, ...], int]] = [((), 1), (("--quick",), 0)]
    for options, status in cases:
        result = subprocess.run(
            [sys.executable, str(Path(instructions.__file__)), *options],
            # The folder is empty, so valgrind is not found.
            env={**os.environ, "PATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert result.returncode == status, result.stderr
        assert "needs valgrind, which is not installed" in result.stdout + result.stderr
        assert "Traceback" not in result.stderr


@pytest.fixture
def record_file(tmp_path: Path) -> Path:
    """Return a history of two environments, in which one case was recorded twice."""
    file = tmp_path / "instructions.csv"
    file.write_text("date,environment,case,instructions,why\n")
    history.add("CPython 3.11.7, asyncio, x86_64", {"aio-insert": 30_000.4}, "the first", file)
    history.add("CPython 3.11.7, asyncio, x86_64", {"aio-insert": 25_000}, "a plan, kept", file)
    history.add("CPython 3.14.0, asyncio, x86_64", {"aio-insert": 21_000}, "a new Python", file)
    return file


def test_last_returns_the_last_record_of_the_same_environment(record_file: Path) -> None:
    assert history.last("CPython 3.11.7, asyncio, x86_64", record_file) == {"aio-insert": 25_000}
    assert history.last("CPython 3.11.7, uvloop 0.22.1, x86_64", record_file) == {}
    first = history.read(record_file)[0]
    assert (first.instructions, first.why) == (30_000, "the first")


def test_a_case_may_grow_by_two_percent() -> None:
    # 25,500 is 2 % more than 25,000.
    assert not history.grown(25_500, 25_000)
    assert history.grown(25_501, 25_000)


@pytest.mark.parametrize(
    ("counts", "least", "times"),
    [
        ((25_400.0,), 25_400, 1),  # within 2 % of the record
        ((25_900.0, 25_100.0), 25_100, 2),  # by chance
        ((25_900.0, 26_000.0, 25_800.0), 25_800, 3),  # each count is greater
    ],
)
def test_a_case_that_has_grown_is_counted_again(
    counts: tuple[float, ...], least: float, times: int
) -> None:
    given = iter(counts)
    counted: list[float] = []

    def count_once() -> float:
        counted.append(next(given))
        return counted[-1]

    assert instructions.least_count(count_once, recorded=25_000) == least
    assert len(counted) == times


def test_a_case_without_a_record_is_counted_once() -> None:
    assert instructions.least_count(iter((25_900.0,)).__next__, recorded=None) == 25_900


def test_a_record_needs_a_reason(record_file: Path) -> None:
    with pytest.raises(ValueError, match="--record"):
        history.add("anywhere", {"aio-insert": 1}, " ", record_file)


def test_a_broken_line_of_the_history_is_named(record_file: Path) -> None:
    with record_file.open("a") as lines:
        lines.write("2026-11-26,CPython,aio-insert,many,because\n")
    with pytest.raises(ValueError, match=r"instructions.csv, line 5: .*many"):
        history.read(record_file)


def test_the_history_in_the_clone_can_be_read_and_has_known_cases() -> None:
    assert {record.case for record in history.read()} <= {case.name for case in instructions.CASES}
