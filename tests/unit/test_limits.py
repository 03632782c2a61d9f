"""Tests of limits on the cost of a small response.

Such a response may have nulls that represent many cells, a huge number of columns, or names that
fill caches.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra._bounded import Bounded, text_size
from cassandra.cqltypes import base, custom
from cassandra.errors import DecodeError, ProtocolError
from cassandra.limits import limits
from cassandra.protocol import rowclass
from cassandra.protocol.column_specs import TypeReader, read_columns
from cassandra.protocol.primitives import Cursor
from cassandra.query.markers import Parameters, parameters_of
from cassandra.query.recently_used import RecentlyUsed
from cassandra.util.cql_text import maybe_escape_name
from tests.conftest import Implementation
from tests.processes import WITH_TESTS, run_python
from tests.unit.cqltypes.samples import list_of, tuple_of, vector_of
from tests.unit.protocol.pages import column_plan
from tests.unit.protocol.wire import short, string, value

WIDE = t.UserType.make_udt_class(
    "k", "wide", [f"f{number}" for number in range(1000)], [t.Int32Type] * 1000
)
NESTED = t.UserType.make_udt_class("k", "nested", ["w", "v"], [WIDE, WIDE])


@pytest.fixture
def low_cell_limit() -> Iterator[None]:
    """Let a page have at most 10,000 nulls that represent cells."""
    limit_before = limits.null_cells
    limits.null_cells = 10_000
    yield
    limits.null_cells = limit_before


# Each entry has a type, a cell of it that is or contains nulls, and how many such cells count as
# 10,000 nulls.
COSTLY: list[tuple[Any, bytes | None, int]] = [
    (vector_of(t.FloatType, 4000), None, 20),
    (vector_of(t.UUIDType, 1000), None, 10),
    (vector_of(t.UTF8Type, 1000), None, 10),
    (vector_of(vector_of(t.FloatType, 80), 100), None, 10),
    (WIDE, None, 10),
    (WIDE, value(bytes(4)) * 500, 20),
    (tuple_of(*[t.UTF8Type] * 1001), value(b""), 10),
    (NESTED, value(None), 5),
    (list_of(WIDE), b"\0\0\0\2" + value(value(None)) + value(None), 5),
]


@pytest.mark.usefixtures("low_cell_limit")
@pytest.mark.parametrize(("cqltype", "cell", "null_limit"), COSTLY, ids=range(len(COSTLY)))
def test_nulls_of_a_column_are_limited_for_each_page(
    implementation: Implementation, cqltype: Any, cell: bytes | None, null_limit: int
) -> None:
    page_reader = column_plan(implementation, [cqltype])
    # The limit must apply to each page separately.
    for count in (null_limit // 2, null_limit // 2, null_limit // 2):
        assert page_reader.read(value(cell) * count, 0, count).length == count
    with pytest.raises(
        DecodeError,
        match=r'^(row \d+, )?column "c0" .*nulls stand for more cells '
        r".* limits.null_cells \(10000\)",
    ):
        page_reader.read(value(cell) * (2 * null_limit), 0, 2 * null_limit)
    limits.null_cells *= 3
    assert (
        page_reader.read(value(cell) * (2 * null_limit), 0, 2 * null_limit).length == 2 * null_limit
    )


@pytest.mark.usefixtures("low_cell_limit")
@pytest.mark.parametrize("method", ["tuples", "named_tuples", "dicts", "columns", "iterate"])
def test_missing_fields_in_rows_are_limited(implementation: Implementation, method: str) -> None:
    list_type = list_of(WIDE)
    plan = implementation.rows.RowPlan(["c0"], [list_type.build_codec(implementation.codecs)])

    def page_of_short_values(count: int) -> bytes:
        return value(count.to_bytes(4, "big") + value(value(bytes(4))) * count)

    # The limit must apply to each page separately.
    for _ in range(3):
        assert len(list(getattr(plan, method)(page_of_short_values(10), 0, 1))) == 1
    with pytest.raises(DecodeError, match=r'^row 0, column "c0" .*limits.null_cells \(10000\)'):
        # In each value, 999 fields are missing. Ten of them stay just below the limit of 10,000,
        # and eleven exceed it.
        list(getattr(plan, method)(page_of_short_values(11), 0, 1))
    # Leave out the length of the cell.
    cell = page_of_short_values(10)[4:]
    for _ in range(3):
        assert len(list_type.deserialize(cell, 5)) == 10
        assert len(list_type.from_binary(cell, 5)) == 10
    with pytest.raises(DecodeError, match=r"limits.null_cells \(10000\)"):
        list_type.deserialize(page_of_short_values(11)[4:], 5)


@pytest.mark.usefixtures("low_cell_limit")
def test_threads_count_nulls_separately(implementation: Implementation) -> None:
    wide_codec = WIDE.build_codec(implementation.codecs)
    # In this value, 999 fields are missing.
    short_value = value(bytes(4))

    def decode_in_two_threads(data: bytes) -> Any:
        other_thread = threading.Thread(target=wide_codec.decode, args=(short_value,))
        other_thread.start()
        other_thread.join()
        return [wide_codec.decode(short_value) for _ in range(3)]

    nested_codec = implementation.codecs.from_functions("inner", bytes, decode_in_two_threads)
    plan = implementation.rows.RowPlan(["w", "f"], [wide_codec, nested_codec])
    row = value(short_value) + value(b"x")
    # In each row, 999 fields are missing, which count. Values that are decoded elsewhere at the
    # same time must not count for this page.
    assert len(plan.tuples(row * 10, 0, 10)) == 10
    with pytest.raises(DecodeError, match=r'^row 10, column "w" .*limits.null_cells'):
        plan.tuples(row * 11, 0, 11)


@pytest.mark.slow
def test_too_many_nulls_are_refused_without_decoding_each_row(
    implementation: Implementation,
) -> None:
    """A page with too many nulls must be refused by their number, before any row is decoded.

    Decoding each row with all its fields would take minutes.
    """
    count, field_count = 50_000, 6_000
    very_wide = t.UserType.make_udt_class(
        "k",
        "very_wide",
        [f"f{number}" for number in range(field_count)],
        [t.Int32Type] * field_count,
    )
    plan = column_plan(implementation, [very_wide])
    with pytest.raises(DecodeError, match=r'^column "c0" .*limits.null_cells'):
        plan.read(value(None) * count, 0, count)


# These are nulls of vector types, in one column and in nested vectors, that represent hundreds of
# megabytes of zeros or more. Each case has a type, the number of nulls, and the length of the
# decoded column, or None if the page is refused.
HUGE = [
    ("vector_of(t.FloatType, 10_000_000)", 13, 13),
    ("vector_of(vector_of(t.FloatType, 16_000), 8_000)", 1, 1),
    ("vector_of(vector_of(vector_of(t.UUIDType, 1000), 1000), 1000)", 1, None),
    ("vector_of(vector_of(t.UTF8Type, 1 << 13), 1 << 12)", 1, None),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="without the GIL, zeros of the allocator may take memory at once",
)
@pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="zeros of AddressSanitizer's allocator take memory at once",
)
def test_null_vectors_cost_no_memory(implementation: Implementation) -> None:
    # Use another process for each case, since the peak memory of a process never falls.
    code = f"""if True:
        import os
        import resource
        from cassandra import cqltypes as t
        from cassandra.errors import DecodeError
        from tests.conftest import Implementation
        from tests.unit.protocol.pages import column_plan
        from tests.unit.protocol.wire import value
        from tests.unit.cqltypes.samples import vector_of
        def check(cqltype, nulls):
            plan = column_plan(Implementation({implementation.name!r}), [eval(cqltype)])
            memory_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                page = plan.read(value(None) * nulls, 0, nulls)
                length = page.children[0].length
            except DecodeError:
                length = None
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_before) // 1024
            print(length, grown, flush=True)
        for cqltype, nulls, _ in {HUGE}:
            child = os.fork()
            if child == 0:
                check(cqltype, nulls)
                os._exit(0)
            os.waitpid(child, 0)
    """
    # Python 3.12 and newer warn of a fork beside threads, which libraries may have started.
    environment = {**WITH_TESTS, "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    process: subprocess.CompletedProcess[str] = run_python(code, environment)
    assert process.stderr == ""
    for line, (cqltype, _, length) in zip(process.stdout.splitlines(), HUGE, strict=True):
        printed_length, mib_grown = line.split()
        assert printed_length == str(length), cqltype
        # The process must have grown by little, since no memory is needed for the zeros.
        assert int(mib_grown) < 50, cqltype


def test_columns_and_fields_of_a_result_are_limited() -> None:
    # This is a column with an empty name, of the type int (9).
    spec = string("") + short(9)
    body = string("k") + string("t") + spec * (limits.columns + 1)
    with pytest.raises(ProtocolError, match=r"65537 columns, more than limits.columns \(65536\)"):
        read_columns(Cursor(body), limits.columns + 1, True, None)
    assert len(read_columns(Cursor(body), 100, True, None)) == 100
    # The type is a tuple (0x31) of 40,000 ints (9).
    large_tuple = short(0x31) + short(40_000) + short(9) * 40_000
    with pytest.raises(ProtocolError, match=r"more fields than limits.columns"):
        TypeReader(Cursor(short(0x31) + short(2) + large_tuple * 2), None).read()


def test_a_cache_is_bounded_in_bytes() -> None:
    cache: Bounded[str, int] = Bounded(4, 800)
    # An entry may take up to an eighth of 800 bytes. "a" is added twice, and the first number
    # stays.
    assert [cache.keep(name, number, 90) for number, name in enumerate("abca")] == [0, 1, 2, 0]
    assert len(cache) == 3
    assert cache.get("c") == 2
    assert cache.get("x") is None
    # An entry of more than an eighth of the limit must be returned, but not kept in the cache.
    assert cache.keep("large", 5, 101) == 5
    assert cache.get("large") is None
    for number in range(20):
        cache.keep(f"n{number}", number, 100)
        assert len(cache) <= 4
        assert cache.held <= 800
    cache.discard(lambda key: key.startswith("n"))
    assert [*cache.values()] == []
    # The size must count strings and bytes at any depth of nested tuples.
    assert text_size(("ab", (b"c", None, ("d",)), 5)) == 4


@pytest.mark.slow
def test_caches_of_long_names_stay_bounded() -> None:
    """With hundreds of long names, no cache of names may exceed its limit or 32 MiB."""
    for number in range(300):
        name = f"N{number}" + "x" * 60_000
        assert custom.mkUnrecognizedType(name).cassname == name
        custom_type = custom.mkUnrecognizedType(name[:1000])
        t.ListType.apply_parameters((custom_type,))
        t.UserType.make_udt_class("k", name, ["f"], [t.Int32Type])
        rowclass.row_class([name[:100] + f"_{field}" for field in range(50)])
        assert maybe_escape_name(name) == f'"{name}"'
        assert parameters_of(f"SELECT '{name}' ?") is Parameters.MARKERS
    for cache in (custom._unrecognized, base._parameterized, t.UserType._cache, rowclass._classes):
        assert cache.held <= cache.most_bytes <= 1 << 25


def test_recently_used_statements_are_bounded_in_bytes() -> None:
    recent: RecentlyUsed[tuple[str | None, str], int] = RecentlyUsed(1000, 10_000)
    for number in range(100):
        recent.put(("k", f"{number:03}" + "x" * 996), number)
        # An entry that is put a second time must be counted only once.
        recent.put(("k", f"{number:03}" + "x" * 996), number)
    # Each entry has 1000 bytes.
    assert (len(recent), recent.held) == (10, 10_000)
    assert recent.get(("k", "099" + "x" * 996)) == 99
    # The newest entry must always stay, however large it is.
    recent.put((None, "y" * 50_000), 1)
    assert (len(recent), recent.held) == (1, 50_000)
