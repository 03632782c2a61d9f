"""Reads millions of randomly damaged pages into columns.

    python -m tests.fuzz.fuzz_columns [--count N] [--seed S] [--no-parity]

Column plans, which read a page into one buffer per column, must not crash, read past the end or use
too much memory, and must raise no error except `DecodeError`. Both implementations read the same
bytes. They must return the same buffers, or raise an error with the same message. pyarrow, if
installed, checks a sample of the results. If a check fails, the program prints the type and the
bytes. All mutations depend only on the seed. The same program can run with a build of the
extensions that has an address sanitizer.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from cassandra import cqltypes as t
from cassandra._impl import twin
from cassandra.errors import DecodeError
from cassandra.protocol.columnar.layouts import ColumnOptions
from cassandra.protocol.columnar.pages import ArrowPage
from tests.conftest import Implementation
from tests.fuzz.fuzz_codecs import NESTED, corpus
from tests.fuzz.kept import keep, lines, numbers
from tests.fuzz.running import run
from tests.unit.cqltypes.test_parity import TYPES, mutated
from tests.unit.protocol.pages import column_plan, dumped
from tests.unit.protocol.wire import value

# pyarrow checks one of this many pages that could be read.
_CHECK_INTERVAL = 50


def outcome(plan: Any, page: bytes, count: int) -> tuple[str, Any]:
    """Read `count` rows, and return the outcome.

    The outcome is ("columns", the columns) or ("error", the message). Any error except
    `DecodeError` is a bug that the fuzzer has found, and is raised.
    """
    try:
        return "columns", plan.read(page, 0, count)
    except DecodeError as error:
        return "error", str(error)


def bodies_of(types: list[Any]) -> list[list[bytes]]:
    """Return for each type the encoded values of `corpus` that it can decode.

    For a type that can decode none of them, return all values.
    """
    bodies = corpus()
    bodies_by_type = []
    for cqltype in types:
        codec = cqltype.build_codec(twin("codecs", "c"))
        readable = []
        for body in bodies:
            try:
                codec.decode(body)
                readable.append(body)
            except DecodeError:
                pass
        bodies_by_type.append(readable or bodies)
    return bodies_by_type


def fuzz(count: int, seed: int, parity: bool, seconds: float | None = None) -> dict[str, int]:
    """Read `count` damaged pages, or read damaged pages for `seconds`.

    :param parity: compare the compiled implementation with the Python one.
    :returns: how many pages were read ("columns") or refused ("error").
    """
    rng = random.Random(seed)
    types = [*TYPES, *NESTED]
    option_choices = [
        ColumnOptions(),
        ColumnOptions(decimals=(38, 3), varints="int64", durations="struct"),
    ]
    compiled_plans = [
        [column_plan(Implementation("c"), [cqltype, t.Int32Type], options) for cqltype in types]
        for options in option_choices
    ]
    python_plans = [
        [
            column_plan(Implementation("python"), [cqltype, t.Int32Type], options)
            for cqltype in types
        ]
        for options in option_choices
    ]
    bodies_by_type = bodies_of(types)
    seen = {"columns": 0, "error": 0}
    for number in numbers(count, seconds):
        type_index, option_index = rng.randrange(len(types)), rng.randrange(2)
        row_count = rng.randrange(1, 4)
        cells = [rng.choice(bodies_by_type[type_index]) for _ in range(row_count)]
        if rng.randrange(2):
            # Damage only the value. The length before it stays correct, so the decoder of the type
            # reads the damaged bytes.
            cells[-1] = mutated(cells[-1], rng)
        # Each row has a cell of the type, and an int that is null or 0.
        page = b"".join(value(cell) + value(rng.choice([None, bytes(4)])) for cell in cells)
        if rng.randrange(3) == 0:
            page = mutated(page, rng)
        try:
            compiled_plan = compiled_plans[option_index][type_index]
            kind, result = outcome(compiled_plan, page, row_count)
            seen[kind] += 1
            if parity:
                python_plan = python_plans[option_index][type_index]
                assert_same((kind, result), outcome(python_plan, page, row_count))
            if kind == "columns" and number % _CHECK_INTERVAL == 0:
                check_with_pyarrow(result)
        except Exception:
            for cell in cells:
                keep("codecs", cell.hex())
            print(
                f"finding: {types[type_index]} {option_choices[option_index]} "
                f"of {row_count} rows {page.hex()} (seed {seed})",
                file=sys.stderr,
            )
            raise
    return seen


def assert_same(first: tuple[str, Any], other: tuple[str, Any]) -> None:
    """Raise AssertionError if the two implementations returned different outcomes.

    :param first: the result of `outcome` for one implementation.
    :param other: the result for the other implementation.
    """
    (kind, result), (other_kind, other_result) = first, other
    if kind == other_kind == "columns":
        same = dumped(result) == dumped(other_result)
    else:
        same = (kind, result) == (other_kind, other_result)
    assert same, f"the implementations differ: {result} and {other_result}"


def replay(parity: bool) -> int:
    """Read each encoded value of the corpus as a cell of every type.

    :param parity: compare the compiled implementation with the Python one.
    :returns: the number of values.
    """
    bodies = [bytes.fromhex(data) for (data,) in lines("codecs")]
    # Without parity, the compiled implementation is compared with itself.
    compared_implementation = Implementation("python" if parity else "c")
    for cqltype in [*TYPES, *NESTED]:
        compiled_plan = column_plan(Implementation("c"), [cqltype])
        compared_plan = column_plan(compared_implementation, [cqltype])
        for body in bodies:
            # The page has two rows of one cell, of which the second is null.
            page = value(body) + value(None)
            assert_same(outcome(compiled_plan, page, 2), outcome(compared_plan, page, 2))
    return len(bodies)


def check_with_pyarrow(columns: Any) -> None:
    """Validate all columns with pyarrow; do nothing if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        return
    pyarrow.record_batch(ArrowPage(columns)).validate(full=True)


if __name__ == "__main__":
    sys.exit(run(__doc__, fuzz, 20261121, "pages"))
