"""Copies between tables refuse wrong arguments before reading, and do not change values."""

from __future__ import annotations

import asyncio
import re
import uuid
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cassandra import aio
from cassandra.bulk import LoadError
from cassandra.bulk.copy import _check_fields, _warn_of_lost_keys, acopy, copy
from cassandra.bulk.load import aload, load
from cassandra.bulk.ranges import FIRST, LAST, TokenRange
from cassandra.bulk.report import LoadReport
from cassandra.cluster import Cluster
from cassandra.codecs import Converter
from cassandra.errors import InvalidRequest
from cassandra.metadata import ColumnMetadata, TableMetadata
from cassandra.metadata.schema.elements import UserType
from cassandra.testing.fake import (
    NOT_SET,
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    Request,
    delay,
    error,
    paged,
    void,
)
from cassandra.testing.fake.answers import Answer
from tests.unit.bulk.test_scan import nodes, settings
from tests.unit.metadata.schema.rows import OPTIONS, column, keyspace

__all__ = ["nodes"]


def test_copies_between_incompatible_tables_are_refused_before_any_request(
    nodes: FakeCluster,
) -> None:
    """`copy` refuses missing tables, missing columns and a missing key before it reads rows."""
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        with pytest.raises(ValueError, match=r"keyspace 'a' has no table 'no'"):
            copy(session, "a.t0", session, "a.no")
        with pytest.raises(ValueError, match=r"a\.t0 has no column 'x'"):
            copy(session, "a.t0", session, "a.t1", columns=["x"])
        with pytest.raises(ValueError, match="key column 'id' is not among"):
            copy(session, "a.t0", session, "a.t1", columns=["c0"])


@pytest.mark.parametrize("name", ["keep_ttl", "keep_write_time", "dry_run"])
async def test_switches_of_copies_are_true_or_false(name: str) -> None:
    """A string for a switch is refused: "false" would be true."""
    session: Any = SimpleNamespace(cluster=None, execute=None)
    options: Any = {name: "false"}
    with pytest.raises(TypeError, match=f"{name} is True or False, but is 'false'"):
        copy(session, "a.t0", session, "a.t1", **options)
    with pytest.raises(TypeError, match=f"{name} is True or False, but is 'false'"):
        await acopy(session, "a.t0", session, "a.t1", **options)


def test_a_table_is_not_copied_to_itself(nodes: FakeCluster) -> None:
    """A copy of a table to itself is refused, also through a session of another cluster object.

    Such a copy would remove the TTLs of its values, and replace values that were written while the
    copy ran.
    """
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect("a") as session,
        Cluster(**settings(nodes)) as same_cluster,
        same_cluster.connect() as other,
    ):
        for target in (session, other):
            with pytest.raises(ValueError, match=r"table a\.t0 would be copied to itself"):
                copy(session, "t0", target, "a.t0")


def test_fields_missing_in_the_target_s_user_type_are_refused() -> None:
    """A user-defined type's fields must have the same types in the target, also if nested."""
    source_types = {
        "A b": UserType("a", "A b", ["x", "y"], ["int", "frozen<inner>"]),
        "inner": UserType("a", "inner", ["z"], ["text"]),
    }
    column_types = ["int", 'list<frozen<"A b">>']
    reordered = UserType("b", "A b", ["y", "more", "x"], ["frozen<inner>", "int", "int"])
    # The target type may have its fields in another order, and more fields.
    _check_fields(source_types, {**source_types, "A b": reordered}, column_types)
    for target_types, message in (
        ({}, "field 'x' of the type 'A b' is int in the source and missing in the target"),
        (
            {**source_types, "inner": UserType("b", "inner", ["z"], ["int"])},
            "'z' .* is text in the source and int",
        ),
        (
            {"A b": reordered},
            "field 'z' of the type 'inner' is text in the source and missing in the target",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            _check_fields(source_types, target_types, column_types)


PARTITION, CLUSTERING = "partition_key", "clustering"


@pytest.mark.parametrize(
    ("source_kinds", "target_kinds", "columns", "warns"),
    [
        # The rows of the source with the same id have the same key in the target.
        ({"id": PARTITION, "c": CLUSTERING}, {"id": PARTITION}, None, True),
        ({"id": PARTITION, "c": CLUSTERING}, {"c": PARTITION}, None, True),
        ({"id": PARTITION, "c": CLUSTERING}, {"v": PARTITION}, None, True),
        ({"id": PARTITION, "c": CLUSTERING}, {"id": PARTITION}, ["id", "v"], True),
        # All columns of the source's key are in the key of the target.
        ({"id": PARTITION, "c": CLUSTERING}, {"c": PARTITION, "id": CLUSTERING}, None, False),
        ({"id": PARTITION, "c": CLUSTERING}, {"id": PARTITION, "c": PARTITION}, None, False),
        ({"id": PARTITION}, {"id": PARTITION, "c": CLUSTERING}, None, False),
        # All columns that are copied are in the key of the target, or have one value per partition.
        ({"id": PARTITION, "c": CLUSTERING}, {"id": PARTITION}, ["id"], False),
        ({"id": PARTITION, "c": CLUSTERING, "v": "static"}, {"id": PARTITION}, ["id", "v"], False),
    ],
)
def test_keys_by_which_rows_replace_each_other_cause_a_warning(
    source_kinds: dict[str, str],
    target_kinds: dict[str, str],
    columns: list[str] | None,
    warns: bool,
) -> None:
    """If rows of the source may have the same key in the target, a copy warns.

    The report says that all rows were written, but the target has only one with each key.
    """
    names = ["id", "c", "v"]

    def table(name: str, kinds: dict[str, str]) -> Any:
        metadata = TableMetadata("ks", name)
        columns_by_name = {
            each: ColumnMetadata(metadata, each, "int", is_static=kinds.get(each) == "static")
            for each in names
        }
        keys = [
            [columns_by_name[each] for each, kind in kinds.items() if kind == wanted]
            for wanted in (PARTITION, CLUSTERING)
        ]
        metadata.columns.update(columns_by_name)
        metadata.partition_key, metadata.clustering_key = keys
        return metadata

    check = partial(
        _warn_of_lost_keys, table("t", source_kinds), table("u", target_kinds), columns or names
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if not warns:
            check()
            return
        message = r"rows of ks\.t with the same .* replace each other in ks\.u, whose key lacks"
        with pytest.raises(RuntimeWarning, match=message):
            check()


# -- values that arrive ----------------------------------------------------------------------------

# What a copy of ks.t to ks.u reads and writes. The third statement writes only a static column.
SELECT = 'SELECT id, c, v FROM "ks"."t" WHERE token("id") > ? AND token("id") <= ?'
INSERT = "INSERT INTO ks.u (id, c, v) VALUES (?, ?, ?)"
STATIC = "INSERT INTO ks.u (id, v) VALUES (?, ?)"
COLUMNS = [("id", "int"), ("c", "text"), ("v", "text")]


def by_copy(node: FakeNode, prepare: Callable[[Any], None], **options: Any) -> Any:
    """Copy ks.t to ks.u with the blocking API, and return the report.

    :param prepare: called with the session before the copy.
    :param options: the options of the copy.
    """
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        prepare(session)
        return copy(session, "ks.t", session, "ks.u", **options)


def by_acopy(node: FakeNode, prepare: Callable[[Any], None], **options: Any) -> Any:
    """Copy ks.t to ks.u with `acopy`, and return the report.

    :param prepare: called with the session before the copy.
    :param options: the options of the copy.
    """

    async def main() -> Any:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            prepare(session)
            return await acopy(session, "ks.t", session, "ks.u", **options)

    return asyncio.run(main())


COPIERS = pytest.mark.parametrize("copier", [by_copy, by_acopy], ids=["blocking", "asyncio"])


def prime(
    node: FakeNode,
    row: tuple[Any, ...],
    column_kinds: dict[str, str],
    columns_of_tables: list[tuple[str, str]] = COLUMNS,
) -> None:
    """Prime a table ``t`` that contains `row`, and a table ``u`` with the same columns.

    :param column_kinds: for each column of ``u``: "partition_key", "clustering", "regular" or
        "static".
    :param columns_of_tables: name and type of each column.
    """
    node.schema = {"system_schema.keyspaces": [keyspace("ks")]}
    node.schema["system_schema.columns"] = [
        column("ks", table, name, kind, 0 if kind != "regular" else -1, type=cql_type)
        for table, columns in (("t", {"id": "partition_key"}), ("u", column_kinds))
        for name, cql_type in columns_of_tables
        for kind in [columns.get(name, "regular")]
    ]
    node.schema["system_schema.tables"] = [
        {"keyspace_name": "ks", "table_name": name, **OPTIONS, "id": uuid.uuid4()} for name in "tu"
    ]
    select = node.prime_prepare(SELECT, [("a", "bigint"), ("b", "bigint")], columns_of_tables)
    select.keyspace, select.table = "ks", "t"
    for query, columns in (
        (INSERT, columns_of_tables),
        (STATIC, [columns_of_tables[0], columns_of_tables[2]]),
    ):
        insert = node.prime_prepare(query, columns, pk_indexes=[0])
        # The load learns from the prepared statement which table the statement writes to.
        insert.keyspace, insert.table = "ks", "u"

    def answer_scan(request: Request) -> Answer:
        """Return the row if its token, 0, is in the token range that the request asks for."""
        token_bounds: Any = request.values
        start, end = (int.from_bytes(value, "big", signed=True) for value in token_bounds)
        # The row's token is 0, so only one of the scanned token ranges contains the row.
        return paged(columns_of_tables, [row] if start < 0 <= end else [], keyspace="ks", table="t")

    node.prime(SELECT, answer_scan)


def values_written(node: FakeNode) -> list[Any]:
    """Return the values of each EXECUTE request that wrote the row with the id 1."""
    return [
        request.values
        for request in node.requests
        if request.opcode == Opcode.EXECUTE and request.values[0] == b"\0\0\0\1"
    ]


@pytest.mark.parametrize("lacking_tables", [{"t"}, {"t", "u"}])
@COPIERS
def test_columns_that_the_metadata_lacks_are_copied(copier: Any, lacking_tables: set[str]) -> None:
    """A copy of all columns also copies a column that the metadata lack.

    The event of a new column may not have arrived yet. Without these columns, the copy would lack
    their values.

    :param lacking_tables: the tables whose metadata lack the column: the source "t", or both.
    """

    def add_column(session: Any) -> None:
        """Add the column `v` to both tables, after the session has read the schema."""
        node.schema = schema_with_column

    with FakeNode() as node:
        prime(node, (1, "Ada", "Lovelace"), {"id": "partition_key"})
        schema_with_column = node.schema
        columns = schema_with_column["system_schema.columns"]
        node.schema = {
            **schema_with_column,
            "system_schema.columns": [
                column
                for column in columns
                if column["table_name"] not in lacking_tables or column["column_name"] != "v"
            ],
        }
        assert copier(node, add_column).written == 1
        assert values_written(node) == [[b"\0\0\0\1", b"Ada", b"Lovelace"]]


@pytest.mark.parametrize("timeout", [33.0, None])
@COPIERS
def test_the_timeout_of_a_copy_is_also_that_of_its_writes(
    copier: Any, timeout: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option `timeout` applies to the reads and the writes of a copy.

    None removes the limit of the reads. For the writes, None means the timeout of the profile.
    """
    timeouts: list[float | None] = []

    def note(*arguments: Any, **options: Any) -> Any:
        timeouts.append(arguments[3].timeout)
        return loads[name](*arguments, **options)

    name = "load" if copier is by_copy else "aload"
    loads: dict[str, Any] = {"load": load, "aload": aload}
    monkeypatch.setattr(f"cassandra.bulk.copy.{name}", note)
    with FakeNode() as node:
        prime(node, (1, "Ada", "Lovelace"), {"id": "partition_key"})
        assert copier(node, lambda session: None, timeout=timeout).written == 1
    assert timeouts == [timeout]


@COPIERS
def test_converters_are_not_applied_to_copied_values(copier: Any) -> None:
    """A copy transfers the bytes of values and skips the session's converters."""

    def register(session: Any) -> None:
        session.codecs.register_type("text", Converter(str.lower, str.upper))
        session.codecs.register_column("ks.u.c", Converter(lambda value: f"{value}00"))

    with FakeNode() as node:
        prime(node, (1, "Ada", "Lovelace"), {"id": "partition_key"})
        assert copier(node, register).written == 1
        # Converters would have changed the letter case, or appended "00".
        assert values_written(node) == [[b"\0\0\0\1", b"Ada", b"Lovelace"]]


@COPIERS
@pytest.mark.parametrize(
    ("cql_type", "value", "encoded"),
    [
        ("frozen<tuple<int, int>>", (1,), b"\0\0\0\4\0\0\0\1"),
        ("frozen<list<frozen<tuple<int, int>>>>", [(1,)], b"\0\0\0\1\0\0\0\x08\0\0\0\4\0\0\0\1"),
        ("text", "", b""),
    ],
)
def test_copied_values_keep_their_bytes(
    copier: Any, cql_type: str, value: object, encoded: bytes
) -> None:
    """A copy writes the bytes that it read, because other bytes of a key would make another row."""
    columns = [("id", "int"), ("c", cql_type), ("v", cql_type)]
    with FakeNode() as node:
        kinds = {"id": "partition_key", "c": "clustering"}
        prime(node, (1, value, value), kinds, columns)
        assert copier(node, lambda session: None).written == 1
        assert values_written(node) == [[b"\0\0\0\1", encoded, encoded]]


@COPIERS
def test_statements_copy_bytes_after_the_session_s_converters_change(copier: Any) -> None:
    """A copy still transfers bytes after a converter is registered in the middle of the copy.

    Registering a converter rebuilds the bind plans of all statements of the session.
    """
    columns = [("id", "int"), ("c", "int"), ("v", "int")]
    rows = [(1, 2, 3), (1, None, 4)]
    sessions: list[Any] = []
    with FakeNode() as node:
        kinds = {"id": "partition_key", "c": "clustering", "v": "static"}
        prime(node, rows[0], kinds, columns)
        node.prime(SELECT, paged(columns, rows, keyspace="ks", table="t"))

        def answer_insert(request: Request) -> Answer:
            """Register a converter for int while the copy runs."""
            sessions[0].codecs.register_type("int", Converter(str, int))
            return void()

        node.prime(INSERT, answer_insert)
        report = copier(node, sessions.append)
        number = {value: value.to_bytes(4, "big") for value in range(5)}
        written = values_written(node)
    # The rows were still written as the bytes that were read.
    assert report.written == report.read
    assert [number[1], number[2], number[3]] in written
    assert [number[1], number[4]] in written


@COPIERS
@pytest.mark.parametrize("kind_of_v", ["regular", "static"])
def test_rows_without_a_clustering_column_are_not_lost(copier: Any, kind_of_v: str) -> None:
    """A row that is null in a clustering column of the target fails and is reported.

    The clustering column may only be null in rows that set static columns and nothing else.
    """
    column_kinds = {"id": "partition_key", "c": "clustering", "v": kind_of_v}
    with FakeNode() as node:
        prime(node, (1, None, "precious"), column_kinds)
        if kind_of_v == "static":
            assert copier(node, lambda session: None).written == 1
            assert values_written(node) == [[b"\0\0\0\1", b"precious"]]
        else:
            with pytest.raises(LoadError, match="column 'c' of the primary key has no value"):
                copier(node, lambda session: None)
            assert values_written(node) == []


def test_an_interrupted_copy_reports_all_rows_that_it_has_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The load of each page attaches its report to KeyboardInterrupt; the copy replaces it."""
    pages = 0

    def answer_scan(request: Request) -> Answer:
        """Return a page with two rows for each range."""
        nonlocal pages
        pages += 1
        page = [(2 * pages, "c", "v"), (2 * pages + 1, "c", "v")]
        return paged(COLUMNS, page, keyspace="ks", table="t")

    loads = 0

    def interrupted_load(*arguments: Any, **options: Any) -> Any:
        """Load two pages, and one row of the third."""
        nonlocal loads
        loads += 1
        if loads <= 2:
            return load(*arguments, **options)
        error: Any = KeyboardInterrupt()
        error.report = LoadReport("a statement", read=2, written=1, requests=1)
        raise error

    monkeypatch.setattr("cassandra.bulk.copy.load", interrupted_load)
    with FakeNode() as node:
        prime(node, (0, "c", "v"), {"id": "partition_key", "c": "clustering"})
        node.prime(SELECT, answer_scan)
        with pytest.raises(KeyboardInterrupt) as caught:
            by_copy(node, lambda session: None, splits=4, in_order=True, concurrency=1)
    report: Any = getattr(caught.value, "report", None)
    assert (report.target, report.written) == ("ks.u", 5)


@COPIERS
def test_the_error_of_a_copy_names_the_tables_and_the_row(copier: Any) -> None:
    """The error of a row names the tables and the row's key, and its report counts the whole copy.

    The error has no number of the row, as that would be a number among the rows of a page.
    """

    def answer_scan(request: Request) -> Answer:
        """Return one page with a row for the first range, and one with two rows for the last."""
        token_bounds: Any = request.values
        start, end = (int.from_bytes(value, "big", signed=True) for value in token_bounds)
        page = [(0, "c", "v")] if start <= FIRST + 1 <= end else []
        page += [(1, "c", "v"), (2, "c", "v")] if end == LAST else []
        return paged(COLUMNS, page, keyspace="ks", table="t")

    def answer_insert(request: Request) -> Answer:
        statements: Any = request.statements or [request]
        is_refused = any(each.values[0] == b"\0\0\0\2" for each in statements)
        return error(ErrorCode.INVALID, "Key length is too long") if is_refused else void()

    with FakeNode() as node:
        prime(node, (0, "c", "v"), {"id": "partition_key", "c": "clustering"})
        node.prime(SELECT, answer_scan)
        node.prime(INSERT, answer_insert)
        with pytest.raises(LoadError) as caught:
            copier(node, lambda session: None, splits=2, in_order=True)
    assert re.fullmatch(
        r"copy to ks\.u: table ks\.t, the row with id = 2 and c = 'c': .*Key length is too long.*",
        str(caught.value),
    )
    assert isinstance(caught.value.__cause__, InvalidRequest)
    report = caught.value.report
    assert (report.target, report.read, report.written, report.failed) == ("ks.u", 3, 2, 1)
    assert "table ks.t, the row with id = 2 and c = 'c': " in str(report)


@COPIERS
def test_the_error_of_static_values_names_the_partition(copier: Any) -> None:
    """The error of a row that only has static values has its partition key alone."""
    with FakeNode() as node:
        kinds = {"id": "partition_key", "c": "clustering", "v": "static"}
        prime(node, (1, None, "static"), kinds)
        node.prime(STATIC, error(ErrorCode.INVALID, "refused"))
        with pytest.raises(LoadError, match=r"table ks\.t, the row with id = 1: .*refused"):
            copier(node, lambda session: None)


@COPIERS
def test_an_outage_during_a_copy_names_the_tables(copier: Any) -> None:
    """If an error is not about a row, it names the tables, too."""
    with FakeNode() as node:
        prime(node, (1, "c", "v"), {"id": "partition_key", "c": "clustering"})
        node.prime(INSERT, error(ErrorCode.UNAUTHORIZED, "no MODIFY permission"))
        with pytest.raises(LoadError, match=r"copy to ks\.u: table ks\.t.*no MODIFY permission"):
            copier(node, lambda session: None)


def test_a_copy_warns_that_its_checkpoint_is_complete(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A copy whose checkpoint is complete reads nothing and warns; without it, all is read."""
    path = tmp_path / "point"
    with FakeNode() as node:
        prime(node, (1, "Ada", "Lovelace"), {"id": "partition_key"})
        with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
            assert copy(session, "ks.t", session, "ks.u", checkpoint=path).written == 1
            warning = f"The checkpoint {path} is complete: a copy of ks.t has read all rows"
            assert warning not in caplog.text
            assert copy(session, "ks.t", session, "ks.u", checkpoint=path).read == 0
            assert warning in caplog.text
            path.unlink()
            assert copy(session, "ks.t", session, "ks.u", checkpoint=path).written == 1


# -- times to live ---------------------------------------------------------------------------------

# The SELECT and the INSERT of a copy that keeps the times to live of the values.
SELECT_TTL = SELECT.replace("id, c, v", "id, c, v, TTL(c), TTL(v)")
INSERT_TTL = "INSERT INTO ks.u (id, c, v) VALUES (?, ?, ?) USING TTL ?"
# How long the fake node takes to write a row, in seconds of the simulated time.
WRITE_SECONDS = 8


def prime_ttls(node: FakeNode, row: tuple[Any, ...]) -> None:
    """Prime a table of two rows, and a slow table to write to.

    :param row: the second row: the id (2), the values of c and v, and their TTLs in seconds.
    """
    prime(node, (0, None, None), {"id": "partition_key"})
    columns = [*COLUMNS, ("ttl(c)", "int"), ("ttl(v)", "int")]
    select = node.prime_prepare(SELECT_TTL, [("a", "bigint"), ("b", "bigint")], columns)
    select.keyspace, select.table = "ks", "t"
    insert = node.prime_prepare(INSERT_TTL, [*COLUMNS, ("[ttl]", "int")], pk_indexes=[0])
    insert.keyspace, insert.table = "ks", "u"

    def answer_scan(request: Request) -> Answer:
        token_bounds: Any = request.values
        start, end = (int.from_bytes(value, "big", signed=True) for value in token_bounds)
        # The row (1, "x", "y") has the lowest token, and `row` has the highest.
        rows: list[Any] = [(1, "x", "y", 100, 100)] if start <= FIRST + 1 <= end else []
        rows += [row] if end == LAST else []
        return paged(columns, rows, keyspace="ks", table="t")

    node.prime(SELECT_TTL, answer_scan)
    node.prime(INSERT_TTL, delay(WRITE_SECONDS, void()))


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("ttls", "written", "expired"),
    [
        ((100, 100), [[b"c", b"v", 92]], 0),
        # A value that does not expire has no TTL, so the two values go into separate INSERTs.
        ((None, 100), [[b"c", NOT_SET, 0], [NOT_SET, b"v", 92]], 0),
        # The first value expires during the 8 seconds of waiting, so only the second is written.
        ((5, 100), [[NOT_SET, b"v", 92]], 0),
        ((8, 3), [], 1),
    ],
)
async def test_times_to_live_of_pages_that_wait_get_shorter(
    ttls: tuple[Any, Any], written: list[Any], expired: int
) -> None:
    """TTLs of a page are written without the seconds that the page waited in the copy.

    The copy has two pages, which arrive at the beginning. The second page waits 8 seconds while the
    row of the first page is written.
    """
    with FakeNode() as node:
        prime_ttls(node, (2, "c", "v", *ttls))
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            report = await acopy(
                session, "ks.t", session, "ks.u", keep_ttl=True, splits=2, in_order=True
            )
        # Collect the values and the TTL of each INSERT of the second row, whose id is 2.
        rows_written = [
            [values[1], values[2], int.from_bytes(values[3], "big")]
            for request in node.requests
            if request.opcode == Opcode.EXECUTE
            and (values := cast("Any", request.values))[0] == b"\0\0\0\2"
        ]
    assert rows_written == written
    assert report.read == 2
    assert report.written == 2 - expired
    assert report.expired == expired
    assert ("expired meanwhile" in str(report)) == bool(expired)


@COPIERS
def test_rows_without_values_are_not_lost_in_tables_of_compact_storage(copier: Any) -> None:
    """If a row has no values, a table with COMPACT STORAGE would not store it, so it is refused."""
    kinds = {"id": "partition_key", "c": "clustering"}
    with FakeNode() as node:
        prime(node, (1, "x", None), kinds)
        for table in node.schema["system_schema.tables"]:
            if table["table_name"] == "u":
                table["flags"] = ["dense"]
        message = r"the row with id = 1 and c = 'x': it has no value outside the key, and such a"
        with pytest.raises(LoadError, match=message):
            copier(node, lambda session: None)
        assert values_written(node) == []
        node.schema["system_schema.tables"][1]["flags"] = ["compound"]
        assert copier(node, lambda session: None).written == 1


@pytest.mark.parametrize("is_target_compact", [True, False])
@COPIERS
def test_rows_of_compact_storage_without_their_last_clustering_columns(
    copier: Any, is_target_compact: bool
) -> None:
    """If both tables have COMPACT STORAGE, rows may lack their last clustering columns.

    The copy writes them without these columns. Any other table refuses null in a clustering column.
    """
    names = ["id", "c", "d", "v"]
    columns = [(name, "int") for name in names]
    source_rows = [(1, 2, 3, 4), (1, 2, None, 5), (1, 5, None, None)]
    full, short = (
        f"INSERT INTO ks.u ({', '.join(written)}) VALUES ({', '.join('?' * len(written))})"
        for written in (names, ["id", "c", "v"])
    )
    select_query = SELECT.replace("id, c, v", "id, c, d, v")
    with FakeNode() as node:
        node.schema = {"system_schema.keyspaces": [keyspace("ks")]}
        node.schema["system_schema.columns"] = [
            column("ks", table, name, kind, position)
            for table in "tu"
            for name, kind, position in (
                ("id", "partition_key", 0),
                ("c", "clustering", 0),
                ("d", "clustering", 1),
                ("v", "regular", -1),
            )
        ]
        compact = ["dense", "compound"]
        node.schema["system_schema.tables"] = [
            {"keyspace_name": "ks", "table_name": name, **OPTIONS, "id": uuid.uuid4(), **flags}
            for name, flags in (
                ("t", {"flags": compact}),
                ("u", {"flags": compact} if is_target_compact else {}),
            )
        ]
        select = node.prime_prepare(select_query, [("a", "bigint"), ("b", "bigint")], columns)
        select.keyspace, select.table = "ks", "t"
        for query, markers in ((full, columns), (short, [columns[0], columns[1], columns[3]])):
            insert = node.prime_prepare(query, markers, pk_indexes=[0])
            insert.keyspace, insert.table = "ks", "u"

        def answer_scan(request: Request) -> Answer:
            token_bounds: Any = request.values
            start, end = (int.from_bytes(value, "big", signed=True) for value in token_bounds)
            rows = source_rows if start < 0 <= end else []
            return paged(columns, rows, keyspace="ks", table="t")

        node.prime(select_query, answer_scan)
        report = copier(node, lambda session: None)
        requests: list[Any] = list(node.requests)
    statements = [
        statement for request in requests for statement in (request.statements or [request])
    ]
    written = {
        query: [
            [
                int.from_bytes(value, "big") if isinstance(value, bytes) else value
                for value in each.values
            ]
            for each in statements
            if each.query == query and each.values
        ]
        for query in (full, short)
    }
    if is_target_compact:
        assert written == {full: [[1, 2, 3, 4]], short: [[1, 2, 5], [1, 5, NOT_SET]]}
    else:
        assert written[full] == [[1, 2, 3, 4], [1, 2, None, 5], [1, 5, None, NOT_SET]]
        assert not written[short]
    assert (report.read, report.written) == (3, 3)


def test_the_ttl_of_a_static_value_is_not_that_of_its_rows() -> None:
    """A static value's TTL applies only to the INSERT of the static value, not to its rows.

    A row that is written with the TTL of its partition's static value would expire with that value.
    """
    select_ttl = SELECT.replace("id, c, v", "id, c, v, TTL(v)")
    columns = [*COLUMNS, ("ttl(v)", "int")]
    rows = [(1, "a", "s", 100), (1, "b", "s", 100), (2, "c", None, None), (3, None, "t", None)]
    insert_row, insert_static = f"{INSERT} USING TTL ?", f"{STATIC} USING TTL ?"
    with FakeNode() as node:
        prime(node, rows[0][:3], {"id": "partition_key", "c": "clustering", "v": "static"})
        select = node.prime_prepare(select_ttl, [("a", "bigint"), ("b", "bigint")], columns)
        select.keyspace, select.table = "ks", "t"
        for query, markers in ((insert_row, COLUMNS), (insert_static, [COLUMNS[0], COLUMNS[2]])):
            insert = node.prime_prepare(query, [*markers, ("[ttl]", "int")], pk_indexes=[0])
            insert.keyspace, insert.table = "ks", "u"
        node.prime(select_ttl, paged(columns, rows, keyspace="ks", table="t"))
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            everything = [TokenRange(FIRST, LAST)]
            report = copy(session, "ks.t", session, "ks.u", keep_ttl=True, ranges=everything)
        requests: list[Any] = list(node.requests)
    # A batch has the values of its rows in its statements.
    statements = [
        statement for request in requests for statement in (request.statements or [request])
    ]
    writes = [
        statement.values
        for query in (insert_row, insert_static)
        for statement in statements
        # An EXECUTE; PREPARE requests have no values.
        if statement.query == query and statement.values
    ]
    keys = [int.from_bytes(values[0], "big") for values in writes]
    ttls = [int.from_bytes(values[-1], "big") for values in writes]
    assert list(zip(keys, [values[1:-1] for values in writes], ttls, strict=True)) == [
        (1, [b"a", NOT_SET], 0),
        (1, [b"b", NOT_SET], 0),
        (2, [b"c", NOT_SET], 0),
        (1, [b"s"], 100),
        (3, [b"t"], 0),
    ]
    assert report.written == 4


@pytest.mark.parametrize("sessions", [("a.t0", "b"), (SimpleNamespace(connect=None), None)])
def test_copies_need_sessions(sessions: Any) -> None:
    """`copy` raises TypeError for arguments that are not sessions, and says what to write."""
    with pytest.raises(TypeError, match=r"a session is needed, .*: write (copy\(|session =)"):
        copy(sessions[0], "a.t0", sessions[1], "a.t1")
