"""Tests that bulk work reads rows independently of the session's settings.

Loads, scans and unloads use plain rows, whatever row factory or handler the application has set.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.bulk.csv_texts import csv_lines as python_csv_lines
from cassandra.bulk.plain import PlainRows, plain_session
from cassandra.bulk.texts import Formats, json_of, json_reader, refuse_other, text_of
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.cqltypes.codecs.base import from_functions
from cassandra.cqltypes.parse import lookup_casstype
from cassandra.protocol import LazyProtocolHandler, NumpyProtocolHandler, ProtocolHandler
from cassandra.query import dict_factory, named_tuple_factory, ordered_dict_factory, tuple_factory
from cassandra.testing.fake import Answer, FakeCluster, Request, Udt, paged, rows
from tests.conftest import Implementation
from tests.unit.bulk.test_scan import QUERY, settings
from tests.unit.metadata.schema.rows import schema

# A user-defined type whose field has a user-defined type. Many of the fields' names are not valid
# in Python.
INNER = Udt("a", "inner", (("def", "int"),))
ADDRESS = Udt("a", "address", (("Zip Code", "int"), ("class", "text"), ("_x", INNER)))
COLUMNS: list[tuple[str, str | Udt]] = [
    ("id", "int"),
    ("home", ADDRESS),
    ("way", "vector<float, 2>"),
]
HOME = {"Zip Code": 7, "class": "c", "_x": {"def": 5}}
ROWS = [(n, HOME if n % 2 else None, [1.5, n]) for n in range(10)]
# The columns of system.size_estimates, from which a scan plans its token ranges.
ESTIMATES = [
    ("range_start", "text"),
    ("range_end", "text"),
    ("mean_partition_size", "bigint"),
    ("partitions_count", "bigint"),
]


class Address:
    """An application's class for a user-defined type, which exposes no fields."""

    __slots__ = ()

    def __init__(self, **fields: Any) -> None:
        assert fields["class"] == "c"


class OwnHandler(ProtocolHandler):
    """An application's protocol handler, which replaces the rows of each result."""

    @classmethod
    def decode_message(cls, *arguments: Any, **named: Any) -> Any:
        message = super().decode_message(*arguments, **named)
        message.parsed_rows = [("own",)]
        return message


def frame_factory(names: Any, rows: Any) -> Any:
    """A row factory that returns a dict of columns, like a factory for data frames."""
    return {name: [] for name in names}


def object_factory(names: Any, rows: Any) -> object:
    """A row factory that returns neither a list nor a mapping, like a factory for data frames."""
    return object()


def answer_scan(request: Request) -> Answer:
    """Return all rows for the first token range, and no rows for other ranges."""
    start = int.from_bytes(request.values[0], "big", signed=True)  # type: ignore[arg-type]
    return paged(COLUMNS, ROWS if start == -(1 << 63) else [], keyspace="a", table="t0")


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield two nodes with the schema, the size estimates and the rows of one table."""
    with FakeCluster(2) as cluster:
        for node in cluster.nodes:
            node.schema = schema("a")
            node.prime_prepare(QUERY, [("a", "bigint"), ("b", "bigint")], COLUMNS)
            count_query = QUERY.replace('"id", "c0"', "count(*)")
            node.prime_prepare(
                count_query, [("a", "bigint"), ("b", "bigint")], [("count", "bigint")]
            )
            node.prime(QUERY, answer_scan)
            node.prime(count_query, rows([("count", "bigint")], [(1,)]))
            # size estimates of 2.5 GiB for each of two ranges: 10 partitions with a mean size of
            # 256 MiB
            estimates = [("-5000", "0", 1 << 28, 10), ("0", "5000", 1 << 28, 10)]
            node.prime(re.compile("^SELECT range_start, .*'t0'$"), paged(ESTIMATES, estimates))
            field_names = rows(
                [("field_names", "list<text>")], [([name for name, _ in ADDRESS.fields],)]
            )
            node.prime(re.compile("^SELECT field_names .*'address'$"), field_names)
        yield cluster


HANDLERS = [ProtocolHandler, LazyProtocolHandler, NumpyProtocolHandler, OwnHandler]
FACTORIES = [tuple_factory, dict_factory, named_tuple_factory, ordered_dict_factory, frame_factory]


def with_factory(nodes: FakeCluster, factory: Callable[..., Any]) -> dict[str, Any]:
    """Return settings of a cluster whose default profile has this row factory."""
    profile = ExecutionProfile(row_factory=factory)
    return {**settings(nodes), "execution_profiles": {EXEC_PROFILE_DEFAULT: profile}}


def change_settings(session: Any, handler: Any) -> None:
    """Change all settings of a session that affect how rows are read."""
    session.client_protocol_handler = handler
    session.default_vector_type = "array"
    session.default_fetch_size = 1
    session.encoder.mapping[str] = lambda value: "'not what was meant'"


def check_files(folder: Path) -> None:
    """Check that the JSON lines file and the CSV file in `folder` have the table's rows."""
    lines = (folder / "jsonl" / "part-00000.jsonl").read_text().splitlines()
    expected = [{"id": n, "home": home, "way": list(way)} for n, home, way in ROWS]
    assert [json.loads(line) for line in lines] == expected
    with open(folder / "csv" / "part-00000.csv", newline="") as file:
        records = list(csv.DictReader(file))
    # In CSV, the user-defined type and the vector are written as JSON.
    assert [
        (int(row["id"]), json.loads(row["home"] or "null"), json.loads(row["way"]))
        for row in records
    ] == ROWS


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("row_factory", FACTORIES)
def test_unloaded_files_do_not_depend_on_settings_of_the_session(
    nodes: FakeCluster, tmp_path: Path, handler: Any, row_factory: Any
) -> None:
    """Unloaded files, counts and token ranges are correct with any handler and row factory."""
    with Cluster(**with_factory(nodes, row_factory)) as cluster, cluster.connect() as session:
        change_settings(session, handler)
        cluster.register_user_type("a", "address", Address)
        for file_format in ("csv", "jsonl"):
            report = session.unload("a.t0", tmp_path / file_format, format=file_format)
            assert report.rows == len(ROWS)
        ranges = session.scan("a.t0").token_ranges()
        # The nodes respond to each range's SELECT count(*) with 1.
        assert session.count("a.t0") == len(ranges)
        row_counts = [page._message.row_count for page in session.scan("a.t0").pages()]
        assert sum(row_counts) == len(ROWS)
        assert session.client_protocol_handler is handler
    # All size estimates count, whatever the session's fetch size is: there is one range for each 32
    # MiB of 5 GiB.
    assert len(ranges) > 150
    check_files(tmp_path)


@pytest.mark.parametrize("handler", HANDLERS)
async def test_unloaded_files_do_not_depend_on_settings_of_the_session_on_asyncio(
    nodes: FakeCluster, tmp_path: Path, handler: Any
) -> None:
    """On asyncio, no row factory, protocol handler or registered class changes the files."""
    async with (
        aio.Cluster(**with_factory(nodes, dict_factory)) as cluster,
        await cluster.connect() as session,
    ):
        change_settings(session, handler)
        await cluster.register_user_type("a", "address", Address)
        for file_format in ("csv", "jsonl"):
            report = await session.unload("a.t0", tmp_path / file_format, format=file_format)
            assert report.rows == len(ROWS)
        assert await session.count("a.t0", splits=4) > 1
    check_files(tmp_path)


@pytest.mark.parametrize("handler", HANDLERS)
def test_a_scan_applies_the_session_s_row_factory(nodes: FakeCluster, handler: Any) -> None:
    """A scan returns rows of the session's row factory, with any protocol handler."""
    with Cluster(**with_factory(nodes, dict_factory)) as cluster, cluster.connect() as session:
        session.client_protocol_handler = handler
        records = sorted(session.scan("a.t0"), key=lambda row: row["id"])
        expected = [(number, way) for number, _, way in ROWS]
        assert [(row["id"], list(row["way"])) for row in records] == expected


def test_iteration_refuses_a_row_factory_that_returns_no_list(nodes: FakeCluster) -> None:
    """Iterating over a scan fails if the row factory returns no list for a page.

    The pages of such a scan can be read, but a page has no single rows.
    """
    with Cluster(**with_factory(nodes, object_factory)) as cluster, cluster.connect() as session:
        with pytest.raises(TypeError, match="of a page, and not a list of rows"):
            list(session.scan("a.t0"))
        assert [page.current_rows for page in session.scan("a.t0").pages()]


async def test_iteration_on_asyncio_refuses_a_row_factory_that_returns_no_list(
    nodes: FakeCluster,
) -> None:
    """On asyncio, iterating over a scan fails if the row factory returns no list for a page."""
    async with (
        aio.Cluster(**with_factory(nodes, object_factory)) as cluster,
        await cluster.connect() as session,
    ):
        with pytest.raises(TypeError, match="of a page, and not a list of rows"):
            [row async for row in session.scan("a.t0")]


def test_plain_session_returns_a_session_with_the_default_handler(nodes: FakeCluster) -> None:
    """`plain_session` returns a session with the default protocol handler unchanged."""
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        assert plain_session(session) is session
        # An object of another class, such as a test's fake session, is returned unchanged.
        fake_session = object()
        assert plain_session(fake_session) is fake_session


def test_each_result_is_read_by_its_own_columns(nodes: FakeCluster) -> None:
    """`PlainRows` reads each result by the columns of that result.

    `PlainRows` caches how to read columns, but must not use the cache for a result with other
    columns.
    """
    plain_rows = PlainRows()
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        for columns, row in (([("a", "int")], (1,)), ([("a", "text"), ("b", "int")], ("x", 2))):
            for node in nodes.nodes:
                node.prime("SELECT it", rows(columns, [row]))
            assert plain_rows.tuples(session.execute("SELECT it")) == [row]


def test_elements_that_are_equal_in_python_are_all_kept(nodes: FakeCluster) -> None:
    """Sets and maps are read as lists, because a Python set would drop 0.0 after -0.0."""
    plain_rows = PlainRows()
    columns: Any = [
        ("s", "set<double>"),
        ("m", "map<double, int>"),
        ("l", "list<tuple<set<double>, int>>"),
    ]
    # These values are equal in Python, but different in CQL.
    zeros = [-0.0, 0.0]
    row = (zeros, {-0.0: 1}, [(zeros, 1)])
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        for node in nodes.nodes:
            node.prime("SELECT it", rows(columns, [row]))
        (tuple_of_row,) = plain_rows.tuples(session.execute("SELECT it"))
    assert repr(tuple_of_row[0]) == "[-0.0, 0.0]"
    assert repr(tuple_of_row[2]) == "[([-0.0, 0.0], 1)]"


def test_a_json_map_may_have_keys_that_are_equal_in_python() -> None:
    """A JSON map with the keys -0.0 and 0.0 is read as a list of pairs; a dict would merge them."""
    read_map = json_reader(lookup_casstype("MapType(DoubleType, Int32Type)"), Formats())
    assert repr(read_map('{"-0.0": 1, "0.0": 2}')) == "[(-0.0, 1), (0.0, 2)]"


class IterableObject:
    """An iterable class that does not represent a CQL value."""

    def __iter__(self) -> Iterator[int]:
        return iter([1])


@pytest.mark.parametrize("value", [object(), IterableObject(), 1j, range(3)])
def test_values_that_are_not_cql_values_are_refused(value: Any) -> None:
    """Objects that are not CQL values are refused when they are written as CSV or JSON."""
    for nested in (value, [value], {"a": [value]}, (1, value)):
        with pytest.raises(TypeError, match="cannot be written as CSV or JSON"):
            text_of(nested)
        with pytest.raises(TypeError, match=type(value).__name__):
            json_of(nested, refuse_other)


def test_the_error_names_the_column(implementation: Implementation) -> None:
    """If a value cannot be written as CSV, the error names its column.

    The codec of the column b returns an object that is not a CQL value.
    """
    object_codec = from_functions("own", encode=bytes, decode=lambda data: object())
    codecs = [implementation.codecs.text("text"), object_codec]
    # one row with two values, each after its length, which is 1
    page = b"\0\0\0\1x" + b"\0\0\0\1y"
    for csv_lines in (python_csv_lines, implementation.csv_texts.csv_lines):
        with pytest.raises(TypeError, match=r'column "b": .*builtins\.object'):
            csv_lines(["a", "b"], codecs, page, 0, 1)
