"""Test loads through both APIs: rows are sent, retried, refused and resumed."""

from __future__ import annotations

import asyncio
import datetime
import itertools
import json
import os
import signal
import sqlite3
import struct
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.bulk import LoadError, LoadReport, chunks, retrying, sender
from cassandra.bulk.load import _message_of
from cassandra.bulk.load_checkpoint import LoadCheckpoint
from cassandra.cluster import Cluster
from cassandra.cqltypes import DurationType
from cassandra.errors import InvalidRequest, SessionShutdown
from cassandra.policies import RoundRobinPolicy
from cassandra.policies.retry import Decision, RetryPolicy
from cassandra.protocol import NumpyProtocolHandler
from cassandra.testing.fake import (
    NOT_SET,
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    Request,
    close,
    error,
    rows,
    silence,
    void,
)
from cassandra.util import Duration
from tests.unit.engine.faults import WAIT
from tests.unit.metadata.schema.rows import column, schema

INSERT = "INSERT INTO t (id, name) VALUES (?, ?)"
COLUMNS = [("id", "int"), ("name", "text")]
INSERT_T0 = "INSERT INTO a.t0 (id, c0) VALUES (?, ?)"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a running node that can prepare INSERT."""
    with FakeNode() as running_node:
        running_node.prime_prepare(INSERT, COLUMNS, pk_indexes=[0])
        yield running_node


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let loads retry at once, so that the tests do not wait."""
    monkeypatch.setattr(retrying, "LONGEST_DELAY", 0.0)


def blocking(node: FakeNode, source: Any, **options: Any) -> LoadReport:
    """Load `source` with the statement INSERT through the blocking API.

    The statement is idempotent, unless the option `is_idempotent` is False.
    """
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        prepared = session.prepare(INSERT)
        prepared.is_idempotent = options.pop("is_idempotent", True)
        prepared.retry_policy = options.pop("retry_policy", None)
        return session.load(prepared, source, **options)


def by_asyncio(node: FakeNode, source: Any, **options: Any) -> LoadReport:
    """Load `source` like `blocking`, but through the asyncio API."""

    async def main() -> LoadReport:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            prepared = await session.prepare(INSERT)
            prepared.is_idempotent = options.pop("is_idempotent", True)
            prepared.retry_policy = options.pop("retry_policy", None)
            return await session.load(prepared, source, **options)

    return asyncio.run(main())


LOADERS = pytest.mark.parametrize("load", [blocking, by_asyncio], ids=["blocking", "asyncio"])
Load = Callable[..., LoadReport]


def executed(node: FakeNode) -> int:
    """Return how many EXECUTE requests the node received; each of them writes one row."""
    return node.count(Opcode.EXECUTE)


@LOADERS
def test_each_row_is_written_once(node: FakeNode, load: Load) -> None:
    """Each row is sent once, in a separate request, because the driver cannot batch these rows."""
    rows = [(n, f"name {n}") for n in range(250)]
    report = load(node, iter(rows))
    assert report.read == 250
    assert report.written == 250
    assert report.failed == 0
    # The driver does not know this statement's table, so it cannot batch the rows: it sends each
    # row in a separate request.
    assert executed(node) == 250
    assert report.requests == 250
    assert report.retries == 0
    assert report.target == INSERT
    assert report.rows_per_second > 0
    assert "250 rows written to INSERT" in str(report)


class IgnoringPolicy(RetryPolicy):
    """A retry policy that ignores each error that a server reports."""

    def on_write_timeout(self, *args: Any, **options: Any) -> Decision:
        return self.IGNORE, None

    on_unavailable = on_request_error = on_write_timeout


@LOADERS
def test_rows_of_which_a_retry_policy_ignores_the_error_are_not_written(
    node: FakeNode, load: Load
) -> None:
    """A row that no replica has is not written, even if a retry policy ignores the error.

    Such a row is sent again, or fails. If at least one replica has received the row, the row counts
    as written.
    """
    policy = IgnoringPolicy()
    node.prime(Opcode.EXECUTE, error(ErrorCode.UNAVAILABLE), times=1)
    report = load(node, [(1, "a"), (2, "b")], retry_policy=policy)
    assert (report.written, report.retries) == (2, 1)
    node.prime(Opcode.EXECUTE, error(ErrorCode.WRITE_TIMEOUT, received=0))
    report = load(node, [(1, "a"), (2, "b")], retry_policy=policy, max_errors=None)
    assert (report.written, report.failed) == (0, 2)
    node.prime(Opcode.EXECUTE, error(ErrorCode.WRITE_TIMEOUT, received=1, blockfor=2))
    report = load(node, [(1, "a"), (2, "b")], retry_policy=policy)
    assert (report.written, report.failed, report.retries) == (2, 0, 0)


@LOADERS
def test_rows_may_be_mappings_and_objects(node: FakeNode, load: Load) -> None:
    """A row may be a mapping or an object with attributes; `columns=` may rename its fields."""

    class Row:
        id, name = 3, "c"

    class RowWithNumber:
        number, name = 4, "d"

    source = [(1, "a"), {"number": 2, "name": "b"}, RowWithNumber()]
    assert load(node, source, columns={"number": "id", "name": "name"}).written == 3
    assert load(node, [Row(), {"id": 5, "name": "e", "more": 1}]).written == 2


@LOADERS
def test_a_wrong_row_ends_the_load_unless_max_errors_allows_it(
    node: FakeNode, load: Load, tmp_path: Path
) -> None:
    """A load ends with an error if more than `max_errors` rows fail.

    Failed rows are written to a file, which can be corrected and loaded again.
    """
    path = tmp_path / "a.csv"
    path.write_text("id,name\n1,a\nmany,b\n3,c\n4\n")
    with pytest.raises(LoadError, match=r"a\.csv, line 3: column 'id': 'many' is not an integer"):
        load(node, path)
    failed_path = tmp_path / "failed.jsonl"
    report = load(node, path, max_errors=2, failed_rows=failed_path)
    assert report.read == 4
    assert report.written == 2
    assert report.failed == 2
    assert [str(failure).removeprefix(f"{path}, ") for failure in report.failures] == [
        "line 3: column 'id': 'many' is not an integer",
        "line 5: 1 fields, but the header has 2",
    ]
    assert "2 rows failed:" in str(report)
    lines = [json.loads(line) for line in failed_path.read_text().splitlines()]
    assert lines[0]["id"] == "many"
    assert lines[0]["_line"] == 3
    assert lines[1] == {
        "_fields": ["4"],
        "_source": str(path),
        "_row": 4,
        "_line": 5,
        "_error": "1 fields, but the header has 2",
    }
    with pytest.raises(
        LoadError, match="more than max_errors=1 rows failed, the last one"
    ) as caught:
        load(node, path, max_errors=1)
    assert caught.value.report.failed == 2
    # The file of failed rows can be corrected and loaded like any other source. A row that was not
    # corrected fails again.
    failed_path.write_text(failed_path.read_text().replace("many", "2"))
    with pytest.raises(LoadError, match="line 2: it failed in another load, and '_fields' was not"):
        load(node, failed_path)
    failed_path.write_text(
        failed_path.read_text().replace('"_fields": ["4"]', '"id": 4, "name": "d"')
    )
    assert load(node, failed_path).written == 2


@LOADERS
def test_wrong_rows_of_the_application_are_found_among_many(node: FakeNode, load: Load) -> None:
    """Rows are bound many at a time, but only wrong rows fail; the errors have their numbers."""
    rows: list[Any] = [(n, "x") for n in range(1000)]
    rows[137] = ("not an integer", "x")
    rows[941] = (1 << 40, "x")  # This number is too large for an int.
    report = load(node, rows, max_errors=None)
    assert report.written == 998
    assert report.failed == 2
    assert [failure.place for failure in report.failures] == ["row 137", "row 941"]
    assert "'not an integer' (str) is not an integer" in str(report.failures[0])


@LOADERS
def test_rows_are_retried_while_servers_are_overloaded(node: FakeNode, load: Load) -> None:
    """Three writes get the error OVERLOADED; the load sends them again, and no row fails."""
    node.prime(Opcode.EXECUTE, error(ErrorCode.OVERLOADED), times=3)
    report = load(node, [(n, "x") for n in range(20)])
    assert report.written == 20
    assert report.failed == 0
    assert report.requests == 20 + report.retries
    assert report.retries > 0


@LOADERS
def test_writes_that_are_not_idempotent_fail_without_a_retry(node: FakeNode, load: Load) -> None:
    """A write that is not idempotent is not retried after an error: it may have been applied."""
    node.prime(Opcode.EXECUTE, error(ErrorCode.IS_BOOTSTRAPPING), times=1)
    report = load(node, [(1, "x"), (2, "y")], is_idempotent=False, max_errors=None)
    assert report.written == 1
    assert report.failed == 1
    assert report.retries == 0


@LOADERS
def test_a_row_fails_after_all_retries(node: FakeNode, load: Load) -> None:
    """A row fails if its last retry fails, or at once if the error is permanent."""
    node.prime(Opcode.EXECUTE, error(ErrorCode.OVERLOADED))
    with pytest.raises(LoadError) as caught:
        load(node, [(1, "x")])
    assert caught.value.report.retries == retrying.RETRIES
    # INVALID is a permanent error, so the write is not retried.
    node.prime(Opcode.EXECUTE, error(ErrorCode.INVALID, "no such column"))
    with pytest.raises(LoadError, match="no such column") as caught:
        load(node, [(1, "x")])
    assert isinstance(caught.value.__cause__, InvalidRequest)
    assert caught.value.report.retries == 0


def into_table(node: FakeNode, load: Load, source: Any, **options: Any) -> LoadReport:
    """Load rows into the table a.t0; because the load knows the table, it sends them in batches."""
    if load is blocking:
        with Cluster([node.address], port=node.port) as cluster:
            return cluster.connect("a").load("t0", source, **options)

    async def main() -> LoadReport:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            return await (await cluster.connect("a")).load("t0", source, **options)

    return asyncio.run(main())


def rows_sent(request: Request) -> list[list[Any]]:
    """Return the encoded values of each row in a BATCH or EXECUTE; [] for any other request."""
    if request.opcode == Opcode.BATCH:
        return [list(statement.values) for statement in request.statements]
    return [list(request.values)] if request.opcode == Opcode.EXECUTE else []


@LOADERS
@pytest.mark.parametrize("is_dense", [True, False])
def test_rows_without_values_do_not_delete_rows_of_compact_storage(
    node: FakeNode, load: Load, tmp_path: Path, is_dense: bool
) -> None:
    """If all values of a row are null, it fails: the server would delete the row without an error.

    A dense table has one value. A static compact table may have several, of which some are null. A
    load of some columns cannot know the others.
    """
    node.schema = schema("a", tables=1)
    node.schema["system_schema.tables"][0]["flags"] = ["dense"] if is_dense else []
    kinds = {"k": ("clustering", 0), "c0": ("regular", -1)}
    if not is_dense:
        # The server has the visible columns as static columns.
        kinds = {"column1": ("clustering", 0), "value": ("regular", -1)}
        kinds |= {"c0": ("static", -1), "v": ("static", -1)}
    node.schema["system_schema.columns"] = [
        column("a", "t0", "id", "partition_key", 0),
        *(
            column("a", "t0", name, kind, position, type="int" if name == "k" else "text")
            for name, (kind, position) in kinds.items()
        ),
    ]
    names = ["id", "k", "c0"] if is_dense else ["id", "c0", "v"]
    types = {"id": "int", "k": "int", "c0": "text", "v": "text"}
    for each in (names, names[:2]):
        query = f"INSERT INTO a.t0 ({', '.join(each)}) VALUES ({', '.join('?' * len(each))})"
        insert = node.prime_prepare(query, [(name, types[name]) for name in each], pk_indexes=[0])
        insert.keyspace, insert.table = "a", "t0"
    path = tmp_path / "rows.csv"
    lines = ["1,5,x", "2,6,"] if is_dense else ["1,,x", "2,,", "3,y,"]
    path.write_text(",".join(names) + "\n" + "".join(f"{line}\n" for line in lines))
    rows: Any = [(1, 5, "x"), (2, 6, None)] if is_dense else [(1, None, "x"), (2, None, None)]
    for source in (path, rows, [{"id": 2, "k": 6}] if is_dense else [{"id": 2}]):
        report = into_table(node, load, source, batch=None, max_errors=None)
        assert report.failed == 1
        assert report.written == report.read - 1
        (failure,) = report.failures
        named = "'c0'" if is_dense else "'c0', 'v'"
        assert f"it has no value for {named}, and a row without a value" in str(failure)
        assert str(failure).endswith("write null='NULL'") == (source is path)
    # Only the text "NULL" means null here, so an empty field is a text.
    assert into_table(node, load, path, batch=None, null="NULL").written == len(lines)
    if not is_dense:
        assert into_table(node, load, [{"id": 2, "c0": None}], batch=None).written == 1
        rows = [(1, None)]
        assert into_table(node, load, rows, batch=None, columns=["id", "c0"]).written == 1


class Stream:
    """An Arrow stream of another library, which has no other attributes, and can be read once."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        table, self._table = self._table, None
        return table.to_reader().__arrow_c_stream__(requested_schema)


class StructArray:
    """An Arrow array of structs of another library, which has no other attributes."""

    def __init__(self, table: Any) -> None:
        self._array = table.to_batches()[0].to_struct_array()

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._array.__arrow_c_array__(requested_schema)


def prime_three_columns(node: FakeNode) -> None:
    """Give the node the table a.t0 of `id`, `c0` and `c1`, and the INSERT of `id` and `c0`."""
    node.schema = schema("a", tables=1)
    node.schema["system_schema.columns"].append(column("a", "t0", "c1"))
    insert = node.prime_prepare(INSERT_T0, [("id", "int"), ("c0", "int")], pk_indexes=[0])
    insert.keyspace, insert.table = "a", "t0"


class Change(msgspec.Struct):
    """A row whose field `c0` may be missing."""

    id: int
    c0: int | msgspec.UnsetType | None = msgspec.UNSET


@LOADERS
def test_unset_fields_of_structs_leave_columns_unchanged(node: FakeNode, load: Load) -> None:
    """A field that is `msgspec.UNSET` is not written, also after rows that have the field."""
    node.schema = schema("a", tables=1)
    insert = node.prime_prepare(INSERT_T0, [("id", "int"), ("c0", "int")], pk_indexes=[0])
    insert.keyspace, insert.table = "a", "t0"
    assert into_table(node, load, [Change(1, 5), Change(2), Change(3, None)]).written == 3
    values = [row for request in node.requests for row in rows_sent(request) if len(row) == 2]
    assert sorted(values, key=lambda row: row[0]) == [
        [b"\0\0\0\1", b"\0\0\0\5"], [b"\0\0\0\2", NOT_SET], [b"\0\0\0\3", None],
    ]  # fmt: skip


def last_bytes_sent(node: FakeNode) -> list[list[int]]:
    """Return the last byte of each value in the rows that the node has received, sorted."""
    values = [row for request in node.requests for row in rows_sent(request)]
    return sorted([value[-1] for value in row] for row in values if len(row) == 2)


@LOADERS
@pytest.mark.parametrize("form", [Stream, StructArray])
def test_arrow_data_may_lack_columns_of_the_table(
    node: FakeNode, load: Load, form: type[Any]
) -> None:
    """If Arrow data lack columns of the table, the columns that they have are written.

    This is so even if the object has no names before it is opened.
    """
    pyarrow = pytest.importorskip("pyarrow")
    prime_three_columns(node)
    table = pyarrow.table({"id": [1, 2], "c0": [3, 4]})
    assert into_table(node, load, form(table)).written == 2
    assert last_bytes_sent(node) == [[1, 3], [2, 4]]


def test_a_result_may_lack_columns_of_the_table(node: FakeNode) -> None:
    """If a result lacks columns of the table, the columns that it has are written.

    The load takes the names of the columns from the result, as it does from rows of a result.
    """
    prime_three_columns(node)
    node.prime("SELECT id, c0 FROM a.t1", rows([("id", "int"), ("c0", "int")], [(1, 3), (2, 4)]))
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect("a")
        assert session.load("t0", session.execute("SELECT id, c0 FROM a.t1")).written == 2
    assert last_bytes_sent(node) == [[1, 3], [2, 4]]


@LOADERS
def test_rows_of_compact_storage_may_lack_their_last_clustering_columns(
    node: FakeNode, load: Load, tmp_path: Path
) -> None:
    """If the last clustering columns of a row are null, the INSERT of the row leaves them out.

    In CSV, an empty text is a value of the key, and the text of the option `null` means null.
    """
    node.schema = schema("a", tables=1)
    node.schema["system_schema.tables"][0]["flags"] = ["dense", "compound"]
    node.schema["system_schema.columns"] += [
        column("a", "t0", name, "clustering", position, type="text")
        for position, name in enumerate("xy")
    ]
    types = {"c0": "int", "id": "int", "x": "text", "y": "text"}
    full, short = ["id", "x", "y", "c0"], ["id", "x", "c0"]
    for names in (full, short):
        query = f"INSERT INTO a.t0 ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        insert = node.prime_prepare(
            query, [(name, types[name]) for name in names], pk_indexes=[names.index("id")]
        )
        insert.keyspace, insert.table = "a", "t0"
    path = tmp_path / "rows.csv"
    path.write_text("id,x,y,c0\n1,a,b,4\n1,a,,5\n1,a,NULL,6\n")
    rows = [(1, "a", "b", 4), (1, "a", "", 5), (1, "a", None, 6)]
    for source, options in ((path, {"null": "NULL"}), (rows, {"columns": full})):
        begin = len(node.requests)
        assert into_table(node, load, source, **options).written == 3
        sent = [values for request in node.requests[begin:] for values in rows_sent(request)]
        written = [[*values[:-1], values[-1][-1]] for values in sent if len(values) > 2]
        one = b"\0\0\0\1"
        assert sorted(written, key=lambda values: values[-1]) == [
            [one, b"a", b"b", 4], [one, b"a", b"", 5], [one, b"a", 6],
        ]  # fmt: skip


@LOADERS
@pytest.mark.parametrize(
    ("refusal", "batch_count", "error_text"),
    [
        (
            error(ErrorCode.SERVER_ERROR, "java.lang.NullPointerException"),
            1,
            '(nulls inside collections: column "c0" (list<int>): element 1)',
        ),
        (error(ErrorCode.WRITE_FAILURE, "1 failure"), retrying.RETRIES + 1, "'SIMPLE'}"),
    ],
    ids=["null", "without details"],
)
def test_only_the_row_that_a_server_rejects_fails(
    node: FakeNode, load: Load, tmp_path: Path, refusal: Any, batch_count: int, error_text: str
) -> None:
    """If a server rejects a batch because of one row, the load splits the batch: one row fails.

    The row has a null in a list. If the server's error does not say why, the batch is split only
    after its retries have failed. The row's error names the value that the server may have
    rejected.
    """
    columns = [("id", "int"), ("n", "int"), ("c0", "list<int>")]
    node.schema = schema("a", tables=1)
    node.schema["system_schema.columns"].append(column("a", "t0", "n", "clustering", 0))
    query = "INSERT INTO a.t0 (id, n, c0) VALUES (?, ?, ?)"
    prepared = node.prime_prepare(query, columns, pk_indexes=[0])
    prepared.keyspace, prepared.table = "a", "t0"

    def reject_null(request: Request) -> Any:
        """Fail each request that has a row with a null in its list."""
        null_element = struct.pack(">i", -1)
        has_null = any(null_element in row[2] for row in rows_sent(request))
        return refusal if has_null else void()

    for opcode in (Opcode.EXECUTE, Opcode.BATCH):
        node.prime(opcode, reject_null)
    failed_path = tmp_path / "failed.jsonl"
    # The eight rows have the same partition key, so they are sent in one batch. Row 3 has a null.
    source = [(1, n, [n, None] if n == 3 else [n]) for n in range(8)]
    report = into_table(node, load, source, max_errors=1, failed_rows=failed_path)
    assert report.written == 7
    assert report.failed == 1
    assert node.count(Opcode.BATCH) == batch_count
    assert str(report.failures[0]).startswith("row 3: ")
    for message in (str(report), json.loads(failed_path.read_text())["_error"]):
        assert message.endswith(error_text)
        assert message.count(error_text) == 1
    # Without `max_errors`, the failed row ends the load.
    with pytest.raises(LoadError) as caught:
        into_table(node, load, source)
    assert str(caught.value).endswith(error_text)


@LOADERS
@pytest.mark.parametrize("fails_at", [0, 1, 150])
def test_an_error_of_the_source_has_the_number_of_the_row(
    node: FakeNode, load: Load, fails_at: int
) -> None:
    """If the source raises an error, the LoadError says in place of which row."""

    def rows() -> Iterator[Any]:
        for number in range(200):
            yield number, str(1 / (fails_at - number) and number).encode()

    with pytest.raises(LoadError) as caught:
        load(node, rows())
    assert str(caught.value) == (
        f"ZeroDivisionError: division by zero (raised by the source in place of row {fails_at})"
    )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@LOADERS
def test_a_generator_may_use_its_objects_again(node: FakeNode, load: Load) -> None:
    """A generator may reuse its objects: each row is written as it was when it was yielded.

    The generator yields the same buffer, dict, list and object several times, with other content
    each time.
    """

    class Row:
        id = 0
        name: Any = b""

    buffer = bytearray(1)
    dict_row: dict[str, Any] = {}
    list_row: list[Any] = [0, b""]
    object_row = Row()

    def rows() -> Iterator[Any]:
        for number in range(40):
            buffer[:] = bytes([65 + number])
            # Yield rows of five types in turn.
            form = number % 5
            if form == 0:
                yield (number, buffer)
            elif form == 1:
                yield {"id": number, "name": buffer}
            elif form == 2:
                dict_row.update(id=number, name=bytes(buffer))
                yield dict_row
            elif form == 3:
                list_row[:] = [number, bytes(buffer)]
                yield list_row
            else:
                object_row.id, object_row.name = number, bytes(buffer)
                yield object_row

    node.prime_prepare(INSERT, [("id", "int"), ("name", "blob")], pk_indexes=[0])
    report = load(node, rows())
    assert report.written == 40
    sent = sorted(row for request in node.requests for row in rows_sent(request))
    assert sent == [[number.to_bytes(4, "big"), bytes([65 + number])] for number in range(40)]


@LOADERS
def test_addresses_of_polars_objects_are_not_written(node: FakeNode, load: Load) -> None:
    """A polars column of the type Object is refused.

    Polars keeps a bytearray as such an object, of which the driver could only read the address.
    """
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"id": [1], "name": [bytearray(b"x")]})
    with pytest.raises(LoadError, match="the polars column 'name' has the type Object"):
        load(node, frame)
    assert node.count(Opcode.EXECUTE) + node.count(Opcode.BATCH) == 0


@LOADERS
def test_a_dry_run_sends_nothing(node: FakeNode, load: Load) -> None:
    """A dry run checks all rows, counts the rows that it would write, and sends none of them."""
    report = load(node, [(1, "x"), ("y", "z")], dry_run=True, max_errors=None)
    assert report.read == 2
    assert report.failed == 1
    assert report.written == 0
    assert executed(node) == 0
    assert "1 row would be written" in str(report)


class Interrupted(BaseException):
    """Raised in a load to interrupt the load, as a signal would."""


def interrupt_after(monkeypatch: pytest.MonkeyPatch, chunk_count: int) -> type[Interrupted]:
    """Make the next load raise `Interrupted` after `chunk_count` chunks and their checkpoints.

    Later loads run to their end.

    :returns: the class of the exception.
    """
    end_chunk = LoadCheckpoint.end_chunk
    chunks_left = chunk_count

    def end_chunk_and_interrupt(self: Any, chunk: Any) -> None:
        """Interrupt the load right after the checkpoint has recorded the last of the chunks."""
        nonlocal chunks_left
        end_chunk(self, chunk)
        chunks_left -= 1
        if chunks_left == 0:
            raise Interrupted

    monkeypatch.setattr(LoadCheckpoint, "end_chunk", end_chunk_and_interrupt)
    return Interrupted


@LOADERS
def test_a_load_resumes_from_its_checkpoint(
    node: FakeNode, load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load that was interrupted after 20 of 35 rows writes only the other 15 when it resumes."""
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 10)
    path, checkpoint = tmp_path / "a.csv", tmp_path / "point"
    path.write_text("id,name\n" + "".join(f"{n},x\n" for n in range(35)))
    interruption = interrupt_after(monkeypatch, chunk_count=2)
    with pytest.raises(interruption):
        load(node, path, checkpoint=checkpoint)
    # Two chunks of ten rows were written before the interruption.
    state = json.loads(checkpoint.read_text())["state"]
    assert state["file"] == 0
    assert state["row"] == 20
    assert state["rows"] == 20
    count_before = executed(node)
    # The second run must load only the other 15 of the 35 rows.
    report = load(node, path, checkpoint=checkpoint)
    assert report.skipped == 20
    assert report.read == 15
    assert report.written == 15
    assert executed(node) - count_before == 15
    assert not checkpoint.exists()
    assert "20 rows were done by earlier runs: 20 written" in str(report)


@LOADERS
def test_a_load_that_resumes_reports_and_keeps_the_failed_rows_of_earlier_runs(
    node: FakeNode, load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each failed row is in the file of failed rows once, however many runs the load needs.

    Every fifth of the 60 rows fails: two rows in each chunk of ten.
    """
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 10)
    path, checkpoint, failed_path = tmp_path / "a.csv", tmp_path / "point", tmp_path / "failed"
    lines = [f"{'x' if n % 5 == 0 else n},x\n" for n in range(60)]
    path.write_text("id,name\n" + "".join(lines))
    options: dict[str, Any] = {
        "max_errors": None,
        "checkpoint": checkpoint,
        "failed_rows": failed_path,
    }
    earlier_load(node, path, tmp_path)
    # Each run is interrupted in its third chunk. Two chunks of ten rows are complete and in the
    # checkpoint: eight rows of each were written and two failed. The third chunk is not in the
    # checkpoint.
    for run in range(2):
        # Interrupt the load after it has written the failed rows of the third chunk to their file,
        # but before it saves the chunk's checkpoint.
        interruption = interrupt_before_end(chunk_count=3)
        with monkeypatch.context() as patch:
            patch.setattr(LoadCheckpoint, "end_chunk", interruption)
            # A killed process would save nothing of the unfinished chunk, so do not save it here.
            patch.setattr(LoadCheckpoint, "save_unfinished_chunk", lambda self: None)
            with pytest.raises(Interrupted) as caught:
                load(node, path, **options)
        report: LoadReport = caught.value.report  # type: ignore[attr-defined]
        assert report.skipped == 20 * run
        assert report.read == 30
        assert report.written == 24
        assert report.requests == 24
    report = load(node, path, **options)
    assert report.skipped == 40
    assert report.skipped_failed == 8
    assert report.failed == 4
    assert "40 rows were done by earlier runs: 32 written, 8 failed" in str(report)
    numbers = [json.loads(line)["_row"] for line in failed_path.read_text().splitlines()]
    # The first line (row 1) comes from `earlier_load`. The file must not contain any row of these
    # loads twice.
    assert numbers == [1, *range(1, 60, 5)]


def earlier_load(node: FakeNode, path: Path, folder: Path) -> None:
    """Run a load that fails at its first row, so that the file of failed rows already exists."""
    with pytest.raises(LoadError):
        blocking(node, path, failed_rows=folder / "failed")


def interrupt_before_end(chunk_count: int) -> Any:
    """Return a replacement for `LoadCheckpoint.end_chunk`, which saves the checkpoint of a chunk.

    Call number `chunk_count` raises `Interrupted` instead.
    """
    end_chunk = LoadCheckpoint.end_chunk
    chunks_left = chunk_count

    def interrupt_or_end_chunk(self: Any, chunk: Any) -> None:
        """Interrupt the load right before the checkpoint would record the last of the chunks."""
        nonlocal chunks_left
        chunks_left -= 1
        if chunks_left == 0:
            raise Interrupted
        end_chunk(self, chunk)

    return interrupt_or_end_chunk


@pytest.mark.parametrize("max_errors", [0, 1000, None])
@LOADERS
def test_an_outage_ends_the_load_and_saves_a_checkpoint(
    node: FakeNode,
    load: Load,
    max_errors: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If no server can be reached, the load ends, and no row counts as failed for any `max_errors`.

    The load saves a checkpoint, and the next run writes the remaining rows.
    """
    max_attempts = 3

    def delay_before_retry(error: Exception, attempts: int) -> float | None:
        """Give up after `max_attempts` attempts, and wait 0 seconds before each retry."""
        return 0.0 if attempts < max_attempts else None

    monkeypatch.setattr(sender, "delay_before_retry", delay_before_retry)
    path, checkpoint, failed_path = tmp_path / "a.csv", tmp_path / "point", tmp_path / "failed"
    path.write_text("id,name\n" + "".join(f"{n},x\n" for n in range(30)))
    options: dict[str, Any] = {
        "max_errors": max_errors,
        "checkpoint": checkpoint,
        "failed_rows": failed_path,
        "concurrency": 1,
    }
    is_outage = True

    def close_connection_from_row_12(request: Request) -> Any:
        """Close the connection at each row from 12 on, until the outage ends."""
        key: Any = request.values[0]
        (number,) = struct.unpack(">i", key)
        return close() if number >= 12 and is_outage else void()

    node.prime(Opcode.EXECUTE, close_connection_from_row_12)
    # The first run ends at row 12, and saves this position.
    with pytest.raises(LoadError, match=r"no server can be reached.*the same checkpoint") as caught:
        load(node, path, **options)
    report = caught.value.report
    assert report.written == 12
    assert report.failed == 0
    assert not failed_path.exists()
    assert json.loads(checkpoint.read_text())["state"]["row"] == 12
    # After the outage, the second run begins at the saved position.
    is_outage = False
    sent_before = len(values_sent(node))
    report = load(node, path, **options)
    ids = [struct.unpack(">i", values[0])[0] for values in values_sent(node)[sent_before:]]
    assert ids == list(range(12, 30))
    assert report.skipped == 12
    assert report.written == 18
    assert report.failed == 0


@pytest.fixture
def control_c_raises() -> Iterator[None]:
    """Make SIGINT raise KeyboardInterrupt during the test.

    A shell lets commands that it starts in the background ignore SIGINT, and this process may have
    inherited this setting.
    """
    previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous_handler)


@pytest.mark.skipif(os.name == "nt", reason="os.kill() on Windows ends the process")
@pytest.mark.usefixtures("control_c_raises")
@LOADERS
def test_an_interrupted_load_saves_what_is_written(
    node: FakeNode, load: Load, tmp_path: Path
) -> None:
    """If Control-C interrupts a chunk, the checkpoint contains the rows that were written.

    In asyncio, Control-C cancels the load. The file has rows 0 to 29. Rows 5 and 20 have no valid
    id, so they fail in the driver.
    """
    path, checkpoint, failed_path = tmp_path / "a.csv", tmp_path / "point", tmp_path / "failed"
    lines = [f"{'x' if n in (5, 20) else n},x\n" for n in range(30)]
    path.write_text("id,name\n" + "".join(lines))
    options: dict[str, Any] = {
        "max_errors": 2,
        "checkpoint": checkpoint,
        "failed_rows": failed_path,
    }
    is_first_run = True

    def interrupt_row_12(request: Request) -> Any:
        """Send SIGINT to this process when row 12 arrives the first time, and do not respond."""
        nonlocal is_first_run
        if request.values[0] == struct.pack(">i", 12) and is_first_run:
            is_first_run = False
            os.kill(os.getpid(), signal.SIGINT)
            return silence()
        return void()

    node.prime(Opcode.EXECUTE, interrupt_row_12)
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)) as caught:
        load(node, path, concurrency=1, **options)
    state = json.loads(checkpoint.read_text())["state"]
    next_row = state["row"]  # The next run begins with this row.
    # The node never responds to the request for row 12. On a busy machine, Control-C may interrupt
    # the load before it has seen the response for row 11. In this case the next run writes row 11
    # again.
    assert next_row in (11, 12)
    # Row 20 has failed, too, so the next run skips it.
    assert state["rows"] == next_row + 1
    assert state["failed"] == 2
    if load is blocking:
        report: LoadReport = caught.value.report  # type: ignore[attr-defined]
        # The rows before `next_row` were written, without row 5, which failed before it was sent.
        assert report.written == next_row - 1
        # The requests are for rows 0 to 12, without row 5.
        assert report.requests == 12
    # Load the same file again: this run continues at `next_row`.
    request_count = len(values_sent(node))
    report = load(node, path, **options)
    ids = {struct.unpack(">i", values[0])[0] for values in values_sent(node)[request_count:]}
    # Row 20 fails in the driver, so it is never sent.
    assert ids == {*range(next_row, 30)} - {20}
    assert report.skipped == next_row + 1
    # Rows 5 and 20 have failed in the first run.
    assert report.skipped_failed == 2
    assert report.failed == 0
    # The rows from `next_row` to 29 are 30 - next_row rows, and row 20 of these has failed.
    assert report.written == 29 - next_row
    # In the file of failed rows, the first row has the number 1. So rows 5 and 20 are 6 and 21.
    assert [json.loads(line)["_row"] for line in failed_path.read_text().splitlines()] == [6, 21]


@LOADERS
def test_rows_are_kept_if_the_first_row_is_not_written(
    node: FakeNode, load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt saves which rows of a chunk were written, even if its first row was not."""
    path, checkpoint = tmp_path / "a.csv", tmp_path / "point"
    path.write_text("id,name\n1,a\n2,b\n3,c\n")

    def interrupt(*arguments: Any) -> None:
        raise Interrupted

    monkeypatch.setattr(sender, "delay_before_retry", interrupt)
    # When the load is interrupted, the first row has failed and is about to be retried.
    node.prime(Opcode.EXECUTE, error(ErrorCode.OVERLOADED), times=1)
    with pytest.raises(Interrupted) as caught:
        load(node, path, checkpoint=checkpoint, concurrency=1)
    assert caught.value.report.written == 2  # type: ignore[attr-defined]
    assert checkpoint.exists()
    count_before = len(values_sent(node))
    report = load(node, path, checkpoint=checkpoint)
    assert (report.skipped, report.read, report.written) == (2, 1, 1)
    assert [values[1] for values in values_sent(node)[count_before:]] == [b"a"]


@LOADERS
@pytest.mark.parametrize("form", ["csv", "rows"])
def test_runs_that_are_stopped_early_make_progress_with_repeated_keys(
    node: FakeNode, load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Each run writes rows that earlier runs have not, even if a key occurs twice.

    The second row of a key is sent after the first rows of all keys. If the checkpoint only had the
    position of that row, each run would write the same rows. The rows of a key are written in the
    order of the source. Row 7 has no valid value, so it fails in the first run, and is not tried
    again.
    """
    node.schema = schema("a", tables=1)
    columns = [("id", "int"), ("c0", "int")]
    insert = node.prime_prepare(INSERT_T0, columns, pk_indexes=[0])
    insert.keyspace, insert.table = "a", "t0"
    keys = [0, 1, 0, 2, 3, 1, 4, 7, 5, 6, 0]
    lines = [(key, "x" if number == 7 else number) for number, key in enumerate(keys)]
    path, checkpoint = tmp_path / "a.csv", tmp_path / "point"
    path.write_text("id,c0\n" + "".join(f"{key},{value}\n" for key, value in lines))
    source: Any = path if form == "csv" else lines
    options: dict[str, Any] = {} if form == "csv" else {"checkpoint_name": "rows"}
    left = 0

    def interrupt(*arguments: Any) -> None:
        raise Interrupted

    def respond(request: Request) -> Any:
        """Execute three requests of each run."""
        nonlocal left
        left -= 1
        return error(ErrorCode.OVERLOADED) if left < 0 else void()

    monkeypatch.setattr(sender, "delay_before_retry", interrupt)
    node.prime(Opcode.EXECUTE, respond)
    written: list[int] = []
    for run in range(4):
        left = 3
        begin = len(values_sent(node))
        options |= {"checkpoint": checkpoint, "failed_rows": tmp_path / "failed"}
        try:
            report = into_table(
                node, load, source, concurrency=1, batch=None, max_errors=None, **options
            )
        except Interrupted as end:
            report = end.report  # type: ignore[attr-defined]
        assert report.skipped == 3 * run + (run > 0)
        assert report.skipped_failed == (run > 0)
        assert report.failed == (run == 0)
        assert report.written == min(3, 10 - 3 * run)
        written += [values[1][-1] for values in values_sent(node)[begin:][: report.written]]
    # The second row of key 0 has the number 2, and its third row the number 10.
    assert written == [0, 1, 3, 2, 4, 5, 6, 8, 9, 10]
    assert len((tmp_path / "failed").read_text().splitlines()) == 1
    assert not checkpoint.exists()


@LOADERS
def test_request_options_apply_to_each_write(node: FakeNode, load: Load) -> None:
    """Request options of a load, such as the consistency level, apply to each of its writes."""
    load(node, [(1, "x")], consistency_level=ConsistencyLevel.ALL, timeout=5.0, concurrency=1)
    (request,) = [sent for sent in node.requests if sent.opcode == Opcode.EXECUTE]
    assert request.consistency == ConsistencyLevel.ALL


@LOADERS
@pytest.mark.parametrize(
    ("options", "error_type", "message"),
    [
        ({"concurrent": 5}, TypeError, "load has no option 'concurrent'; did you mean 'concurrency'"),  # noqa: E501
        ({"concurrency": 0}, ValueError, "concurrency must be an integer from 1 on, but is 0"),
        ({"max_errors": -1}, ValueError, "max_errors must be an integer from 0 on, but is -1"),
        ({"batch": "host"}, ValueError, "batch must be 'replica', 'partition' or None"),
        ({"delimiter": "||"}, ValueError, "delimiter must be one character"),
        ({"delimiter": "\n"}, ValueError, "delimiter must not end a line"),
        ({"quote": "\r"}, ValueError, "quote must not end a line"),
        ({"delimiter": "'", "quote": "'"}, ValueError, "delimiter and quote are both"),
        ({"columns": "id"}, TypeError, "columns is a list of names"),
        ({"columns": {"id", "c0"}}, TypeError, r"a set has no order: write \['c0', 'id'\]"),
    ],
)  # fmt: skip
def test_wrong_options(
    node: FakeNode,
    load: Load,
    options: dict[str, Any],
    error_type: type[Exception],
    message: str,
) -> None:
    """Unknown options and values out of range are refused with an error that names the option."""
    with pytest.raises(error_type, match=message):
        load(node, [(1, "x")], **options)


@LOADERS
def test_the_file_of_failed_rows_is_not_written_while_it_is_read(
    node: FakeNode, load: Load, tmp_path: Path
) -> None:
    """A load of a folder refuses to write its failed rows to a file of this folder."""
    path = tmp_path / "failed.jsonl"
    path.write_text('{"id": "many"}\n')
    with pytest.raises(ValueError, match="is a file of the source: it would be written while"):
        load(node, tmp_path, failed_rows=str(path))
    assert path.read_text() == '{"id": "many"}\n'


@LOADERS
def test_an_error_of_the_source_is_the_cause_of_the_load_s_error(
    node: FakeNode, load: Load
) -> None:
    """If the source raises an error, the load fails with this cause, and leaves no thread."""

    def rows() -> Iterator[Any]:
        yield 1, "x"
        raise RuntimeError("the source is gone")

    with pytest.raises(LoadError, match="RuntimeError: the source is gone") as caught:
        load(node, rows())
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.report.written == 0
    # Check that no thread of the load is left.
    for thread in threading.enumerate():
        if "cassandra-load" in thread.name:
            thread.join(WAIT)
            assert not thread.is_alive()


def test_a_node_that_dies_during_a_load_loses_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """If one of two nodes drops its connections at row 150, the other node gets all later rows."""
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 20)
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.prime_prepare(INSERT, COLUMNS, pk_indexes=[0])

        def rows() -> Iterator[Any]:
            for number in range(400):
                # The node goes down in the middle of the load.
                if number == 150:
                    nodes[0].refuse_connections()
                    nodes[0].drop_connections(reset=True)
                yield number, "x"

        settings: dict[str, Any] = {"load_balancing_policy": RoundRobinPolicy()}
        with Cluster([nodes[0].address], port=nodes.port, **settings) as cluster:
            session = cluster.connect()
            prepared = session.prepare(INSERT)
            prepared.is_idempotent = True
            report = session.load(prepared, rows())
        assert report.read == 400
        assert report.written == 400
        assert report.failed == 0
        # Both nodes together have received each row.
        written_ids = {
            request.values[0] for node in nodes.nodes for request in node.requests if request.values
        }
        assert written_ids == {struct.pack(">i", number) for number in range(400)}


def test_shutting_down_the_session_ends_the_load(node: FakeNode, tmp_path: Path) -> None:
    """If the session is shut down, the load ends, and its unwritten rows do not count as failed.

    Another run can write these rows.
    """
    failed_path, checkpoint_path = tmp_path / "failed.jsonl", tmp_path / "point"
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        prepared = session.prepare(INSERT)
        prepared.is_idempotent = True

        def rows() -> Iterator[tuple[int, str]]:
            # The ten rows are read, but not sent yet, when the session is shut down.
            yield from [(number, "a") for number in range(10)]
            session.shutdown()

        with pytest.raises(SessionShutdown) as caught:
            session.load(
                prepared,
                rows(),
                max_errors=None,
                failed_rows=failed_path,
                checkpoint=checkpoint_path,
                checkpoint_name="ten rows",
            )
        assert caught.value.report.written == 0  # type: ignore[attr-defined]
    assert not failed_path.exists()
    assert not checkpoint_path.exists()


# -- the columns of a prepared statement -----------------------------------------------------------


# Pairs of options and the values of id, c0 and c2 that are written from the line 1,2,3,4. With all
# of these options, the third field belongs to the column c1, which is ignored.
IGNORING_FIELDS: Any = [
    ({"header": False}, [1, 2, 4]),
    ({"header": ["id", "c0", "c1", "c2"]}, [1, 2, 4]),
    ({"header": False, "columns": ["id", "c0", "c1", "c2"]}, [1, 2, 4]),
    ({"header": False, "columns": ["c0", "id", "c1", "c2"]}, [1, 2, 4]),
    ({"header": ["c0", "id", "c1", "c2"], "columns": ["id", "c0", "c1", "c2"]}, [2, 1, 4]),
]


def values_sent(node: FakeNode) -> list[Any]:
    """Return the encoded values of each row that the node received."""
    return [request.values for request in node.requests if request.opcode == Opcode.EXECUTE]


@LOADERS
@pytest.mark.parametrize("columns", [["name", "id"], {"town": "name", "number": "id"}])
def test_rows_without_names_have_the_order_of_the_argument_columns(
    node: FakeNode, load: Load, tmp_path: Path, columns: Any
) -> None:
    """Tuples, lists and lines of a file without a header have the order of `columns=`."""
    path = tmp_path / "rows.csv"
    path.write_text("Oslo,1\n")
    failed_path = tmp_path / "failed.jsonl"
    assert load(node, [("Oslo", 1), ["Oslo", 1]], columns=columns).written == 2
    assert load(node, path, columns=columns, header=False).written == 1
    assert values_sent(node) == [[b"\0\0\0\1", b"Oslo"]] * 3
    report = load(node, [("Oslo", "x")], columns=columns, max_errors=1, failed_rows=failed_path)
    assert report.failed == 1
    # The file of failed rows uses the field names of the source, not the names of the columns.
    name_field, id_field = columns
    failed_fields = json.loads(failed_path.read_text())
    assert failed_fields[name_field] == "Oslo"
    assert failed_fields[id_field] == "x"


@LOADERS
@pytest.mark.parametrize(("options", "expected"), IGNORING_FIELDS)
def test_ignored_fields_of_a_file_are_left_out_by_position(
    node: FakeNode, load: Load, tmp_path: Path, options: dict[str, Any], expected: list[int]
) -> None:
    """Fields after an ignored field are matched with columns by their positions in the file."""
    node.schema = schema("a", tables=1)
    node.schema["system_schema.columns"] += [
        column("a", "t0", "c1", type="int"),
        column("a", "t0", "c2", type="int"),
    ]
    columns = [("id", "int"), ("c0", "int"), ("c2", "int")]
    # Prime each order of the columns, because the load's INSERT may have any of them.
    for order in itertools.permutations(columns):
        names = ", ".join(name for name, _ in order)
        key_index = [name for name, _ in order].index("id")
        node.prime_prepare(
            f"INSERT INTO a.t0 ({names}) VALUES (?, ?, ?)", order, pk_indexes=[key_index]
        )
    path = tmp_path / "rows.csv"
    path.write_text("1,2,3,4\n")
    report = into_table(node, load, path, ignore=["c1"], batch=None, **options)
    assert report.written == 1
    assert report.failed == 0
    (values,) = values_sent(node)
    assert values == [bytes([0, 0, 0, number]) for number in expected]


@LOADERS
def test_columns_may_rename_some_fields_of_a_prepared_statement(node: FakeNode, load: Load) -> None:
    """`columns=` may rename only some of the fields that a prepared statement binds."""
    rows = [{"id": 1, "town": "Oslo"}, (1, "Oslo")]
    assert load(node, rows, columns={"town": "name"}).written == 2
    assert values_sent(node) == [[b"\0\0\0\1", b"Oslo"]] * 2


@LOADERS
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["id", "nmae"]}, "columns= has 'nmae', and the bind markers .* are id, name"),
        ({"columns": {"x": "y"}}, "columns= has 'y', and the bind markers"),
        ({"columns": ["id", "id", "name"]}, "columns= has 'id' twice"),
        ({"columns": ["id"]}, "columns= does not have 'name', which the statement binds"),
        ({"ignore": ["name"]}, "ignore= has the field 'name', which the statement binds"),
    ],
)
def test_columns_that_a_prepared_statement_does_not_bind(
    node: FakeNode, load: Load, options: dict[str, Any], message: str
) -> None:
    """`columns=` and `ignore=` must fit the bind markers of a prepared statement."""
    with pytest.raises(ValueError, match=message):
        load(node, [{"id": 1, "name": "a"}], **options)
    assert values_sent(node) == []


@LOADERS
def test_columns_of_arrays_have_the_order_of_the_argument_columns(
    node: FakeNode, load: Load
) -> None:
    """`columns=` names the columns of an array, in order; masked elements are null."""
    numpy = pytest.importorskip("numpy")
    columns = ["name", "id"]
    array = numpy.array([["Oslo", 1], ["Rome", 2]], dtype=object)
    # With batch=None, each row is sent in a separate request, and these may arrive in any order.
    assert load(node, array, columns=columns, batch=None).written == 2
    masked = numpy.ma.array(array[:1], mask=[[True, False]])
    assert load(node, masked, columns=columns).written == 1
    assert sorted(values_sent(node)[:2]) == [[b"\0\0\0\1", b"Oslo"], [b"\0\0\0\2", b"Rome"]]
    assert values_sent(node)[2] == [b"\0\0\0\1", None]
    with pytest.raises(LoadError, match="an array of 3 columns, and 2 columns are written: name"):
        load(node, numpy.array([["Oslo", 1, 2]], dtype=object), columns=columns)


@LOADERS
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ttl": 60}, "ttl= has no effect on a prepared .* write USING TTL 60 in the statement"),
        ({"timestamp": 1 << 50}, "timestamp= has no effect .* write USING TIMESTAMP 11258999068"),
        ({"ttl_column": "t"}, r"ttl_column= has no effect .* without USING TTL \?: write it in"),
        ({"timestamp_column": "t"}, r"timestamp_column= .* without USING TIMESTAMP \?: write it"),
    ],
)
def test_options_of_a_table_are_refused_for_a_prepared_statement(
    node: FakeNode, load: Load, options: dict[str, Any], message: str
) -> None:
    """Options that change the INSERT of a table are refused for a prepared statement."""
    with pytest.raises(ValueError, match=message):
        load(node, [{"id": 1, "name": "a", "t": 5}], **options)
    assert values_sent(node) == []


def test_a_prepared_statement_may_bind_the_time_to_live_of_each_row(node: FakeNode) -> None:
    """`ttl_column` names the field for the bind marker of USING TTL, which servers call "[ttl]"."""
    query = f"{INSERT} USING TTL ?"
    node.prime_prepare(query, [*COLUMNS, ("[ttl]", "int")], pk_indexes=[0])
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        rows = [{"id": 1, "name": "a", "life": 5}]
        assert session.load(session.prepare(query), rows, ttl_column="life").written == 1
    assert values_sent(node) == [[b"\0\0\0\1", b"a", b"\0\0\0\5"]]


def test_counter_updates_are_neither_retried_nor_batched(node: FakeNode) -> None:
    """A load neither retries nor batches counter updates, because a repeated update counts twice.

    This holds even if the application marked the statement as idempotent.
    """
    query = "UPDATE t SET n = n + ? WHERE id = ?"
    node.prime_prepare(query, [("n", "counter"), ("id", "int")], pk_indexes=[1])
    node.prime(query, error(ErrorCode.OVERLOADED))
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        prepared = session.prepare(query)
        prepared.is_idempotent = True
        report = session.load(prepared, [(1, 5), (2, 5)], counters=True, max_errors=None)
    assert report.failed == 2
    assert report.retries == 0
    assert report.requests == 2
    assert node.count(Opcode.BATCH) == 0


def test_conditional_writes_ignore_the_session_s_protocol_handler(node: FakeNode) -> None:
    """A load of conditional writes ignores the session's `client_protocol_handler`.

    The load reads "[applied]" from each response; the session's handler would return arrays instead
    of rows.
    """
    pytest.importorskip("numpy")
    query = f"{INSERT} IF NOT EXISTS"
    node.prime_prepare(query, COLUMNS, pk_indexes=[0])
    node.prime(query, rows([("[applied]", "boolean"), *COLUMNS], [(False, 1, "x")]))
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        session.client_protocol_handler = NumpyProtocolHandler
        report = session.load(session.prepare(query), [(1, "a"), (2, "b")])
        assert session.client_protocol_handler is NumpyProtocolHandler
    assert report.written == 0
    assert report.not_applied == 2
    assert report.failed == 0


@LOADERS
def test_failed_rows_are_appended_to_those_of_earlier_loads(
    node: FakeNode, load: Load, tmp_path: Path
) -> None:
    """Failed rows are appended to a file of failed rows; a file with other content is refused.

    The refused file stays as it is.
    """
    failed_path = tmp_path / "failed.jsonl"
    for wrong_id in ("x", "y"):
        load(node, [(wrong_id, "a")], max_errors=1, failed_rows=failed_path)
    assert [json.loads(line)["id"] for line in failed_path.read_text().splitlines()] == ["x", "y"]
    failed_path.write_text("id,name\n")
    with pytest.raises(ValueError, match="has something else than failed rows"):
        load(node, [(1, "a")], failed_rows=failed_path)
    assert failed_path.read_text() == "id,name\n"


def test_the_error_for_a_reversed_mapping_of_columns_shows_it_turned_round(node: FakeNode) -> None:
    """If `columns=` maps columns to fields by mistake, the error shows the right mapping.

    `columns=` maps fields to columns.
    """
    node.schema = schema("a", tables=1)
    with (
        Cluster([node.address], port=node.port) as cluster,
        cluster.connect("a") as session,
        pytest.raises(ValueError, match=r"no column 'n': write columns={'n': 'id', 'c0': 'c0'}"),
    ):
        session.load("t0", [{"n": 1, "c0": 2}], columns={"id": "n", "c0": "c0"})


MAPPING_ADVICE = (
    "columns= does not name 'c0' of the source, so it is not written, although table a.t0 has such "
    "columns: write columns={'number': 'id', 'c0': 'c0'} to write all of them, or ignore=['c0']"
)


@LOADERS
@pytest.mark.parametrize("source_format", ["csv", "jsonl", "rows"])
def test_a_mapping_that_leaves_out_columns_is_warned_of(
    node: FakeNode, load: Load, tmp_path: Path, source_format: str
) -> None:
    """A load warns if a mapping leaves out a field with the name of a column.

    The source has a field "c0", and the table has a column of this name, which the load does not
    write.
    """
    node.schema = schema("a", tables=1)
    node.prime_prepare("INSERT INTO a.t0 (id) VALUES (?)", [("id", "int")], pk_indexes=[0])
    source: Any = [{"number": n, "c0": 2, "other": 3} for n in range(3)]
    if source_format != "rows":
        source = tmp_path / f"rows.{source_format}"
        is_csv = source_format == "csv"
        source.write_text("number,c0,other\n1,2,3\n" if is_csv else '{"number": 1, "c0": 2}\n')
    with pytest.warns(RuntimeWarning) as caught:
        assert into_table(node, load, source, columns={"number": "id"}).failed == 0
    (warning,) = caught
    assert str(warning.message).startswith(MAPPING_ADVICE)
    assert warning.filename == __file__
    # There is no warning if the field is ignored, if it is mapped, or if `columns` is a list.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        into_table(node, load, source, columns={"number": "id"}, ignore=["c0"])
        into_table(node, load, source, columns={"c0": "id"})
        into_table(node, load, [{"id": 1, "c0": 2}], columns=["id"])


def test_corrected_rows_keep_their_place_among_rows_of_their_key(
    node: FakeNode, tmp_path: Path
) -> None:
    """A corrected row that is loaded later does not replace later rows of its key in the source.

    For this, the guide recommends a field with the write time of each row, which both loads use.
    """
    query = "INSERT INTO t (id, name) VALUES (?, ?) USING TIMESTAMP ?"
    node.prime_prepare(query, [*COLUMNS, ("[timestamp]", "bigint")], pk_indexes=[0])
    first_write_time = 1_700_000_000_000_000
    path, failed_path = tmp_path / "numbered.csv", tmp_path / "failed.jsonl"
    ids = ["1", "one", "two", "2"]  # The ids "one" and "two" are corrected to 1 and 2.
    lines = [f"{id},row {number},{first_write_time + number}" for number, id in enumerate(ids)]
    path.write_text("\n".join(["id,name,written_at", *lines]))
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        prepared = session.prepare(query)
        options: Any = {"timestamp_column": "written_at"}
        report = session.load(prepared, path, **options, max_errors=2, failed_rows=failed_path)
        assert report.written == 2
        assert report.failed == 2
        corrected = failed_path.read_text().replace('"one"', "1").replace('"two"', "2")
        failed_path.write_text(corrected)
        assert session.load(prepared, failed_path, **options).written == 2
    # the id and name of each row, by write time, relative to the first write time
    rows_by_time = {
        int.from_bytes(time, "big") - first_write_time: (int.from_bytes(id, "big"), name.decode())
        for id, name, time in values_sent(node)
    }
    # Of the rows of a key, the row that is last in the source has the greatest write time.
    assert rows_by_time == {0: (1, "row 0"), 1: (1, "row 1"), 2: (2, "row 2"), 3: (2, "row 3")}


# Columns of each type for dates, times and durations, and the statement that writes them.
MOMENTS = [("id", "int"), ("at", "timestamp"), ("day", "date"), ("hour", "time"), ("n", "duration")]
INSERT_MOMENTS = "INSERT INTO t (id, at, day, hour, n) VALUES (?, ?, ?, ?, ?)"


def loaded_moments(node: FakeNode, source: Any, **options: Any) -> list[list[Any]]:
    """Load rows of `MOMENTS`, and return the values of each request, sorted by id."""
    count_before = executed(node)
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        session.load(session.prepare(INSERT_MOMENTS), source, **options)
    return sorted(values_sent(node)[count_before:], key=lambda row: row[0])


@pytest.mark.parametrize("is_masked", [False, True])
def test_a_mapping_of_numpy_moments_is_loaded_as_a_frame_is(
    node: FakeNode, is_masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dict of numpy arrays of times is loaded like a data frame of the same arrays.

    Masked values are null, like NaT, whatever value the array has under the mask.
    """
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(chunks, "OBJECT_ROWS", 2)
    node.prime_prepare(INSERT_MOMENTS, MOMENTS, pk_indexes=[0])
    columns = {
        "id": numpy.arange(5),
        "at": numpy.array([1, 2, "NaT", 4, -5], "datetime64[ms]"),
        "day": numpy.array([1, "NaT", 3, 4, -500], "datetime64[D]"),
        "hour": numpy.array([1, 2, 3, "NaT", 5], "timedelta64[ns]"),
        "n": numpy.array([1, 2, 3, "NaT", 5], "timedelta64[us]"),
    }
    expected = loaded_moments(node, pandas.DataFrame(columns))
    if is_masked:
        columns["id"] = numpy.ma.array(columns["id"], mask=False)
        for name in ("at", "day", "hour", "n"):
            columns[name] = numpy.ma.array(columns[name], mask=numpy.isnan(columns[name]))
            columns[name].data[columns[name].mask] = 77
    assert loaded_moments(node, columns) == expected
    # The third value of the column "at" is NaT, so it is written as null.
    assert expected[2][1] is None
    assert len(expected) == 5
    # Repeat with other field names and a mapping to the columns.
    renamed = {f"{name}!": values for name, values in columns.items()}
    mapping = {f"{name}!": name for name in columns}
    assert loaded_moments(node, renamed, columns=mapping) == expected


@pytest.mark.parametrize("dtype", ["M8[ns]", "m8[ns]", "m8[s]"])
@pytest.mark.parametrize("type_name", ["bigint", "double", "boolean", "blob"])
def test_moments_of_a_mapping_are_refused_by_columns_of_other_types(
    node: FakeNode, dtype: str, type_name: str
) -> None:
    """Columns of other types refuse NumPy's datetimes and durations instead of storing their bytes.

    Scalars of NumPy have bytes, and some are numbers, so codecs would accept them.
    """
    numpy = pytest.importorskip("numpy")
    text = "INSERT INTO t (id, v) VALUES (?, ?)"
    node.prime_prepare(text, [("id", "int"), ("v", type_name)], pk_indexes=[0])
    columns = {"id": [1, 2], "v": numpy.array(["NaT", 5], dtype)}
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        with pytest.raises(LoadError, match=r'row 1: column "v" .*\(\w+64\) is not'):
            session.load(session.prepare(text), columns)


@pytest.mark.parametrize("values", [["ab", "c"], [1.5, 2.5], [1, 2], [True, False]])
def test_strings_and_numbers_of_a_mapping_are_refused_by_blobs(
    node: FakeNode, values: list[Any]
) -> None:
    """A blob column refuses NumPy's strings and numbers, and accepts NumPy's bytes.

    The memory of a NumPy string has four bytes for each character, which nobody wants in a blob.
    """
    numpy = pytest.importorskip("numpy")
    text = "INSERT INTO t (id, v) VALUES (?, ?)"
    node.prime_prepare(text, [("id", "int"), ("v", "blob")], pk_indexes=[0])
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        with pytest.raises(LoadError, match=r'row 0: column "v" .* is not bytes'):
            session.load(session.prepare(text), {"id": [1, 2], "v": numpy.array(values)})
        array = numpy.array([b"ab", b"c"])
        assert session.load(session.prepare(text), {"id": [1, 2], "v": array}).written == 2


def test_months_of_numpy_are_months_of_a_duration(node: FakeNode) -> None:
    """Months of NumPy are written as months of a CQL duration.

    NumPy itself converts a month to the nanoseconds of an average month, which no calendar has.
    """
    numpy = pytest.importorskip("numpy")
    node.prime_prepare(INSERT_MOMENTS, MOMENTS, pk_indexes=[0])
    for unit, months in (("M", 1), ("Y", 12), ("3M", 3)):
        counts = numpy.array([1, -2, "NaT"], f"timedelta64[{unit}]")
        rows = loaded_moments(node, {"id": [1, 2, 3], "n": counts})
        durations = [row[4] and DurationType.deserialize(row[4], 5) for row in rows]
        assert durations == [Duration(months, 0, 0), Duration(-2 * months, 0, 0), None]


def test_vectors_of_moments_are_loaded_as_to_numpy_returns_them(node: FakeNode) -> None:
    """Vectors and lists of times can be loaded in the form in which `to_numpy` returns them."""
    numpy = pytest.importorskip("numpy")
    text = "INSERT INTO t (id, days, moments) VALUES (?, ?, ?)"
    names = [("id", "int"), ("days", "vector<date, 2>"), ("moments", "list<timestamp>")]
    node.prime_prepare(text, names, pk_indexes=[0])
    days = numpy.array([["1969-12-31", "1970-01-01"], ["NaT", "NaT"]], "datetime64[D]")
    columns = {
        "id": [1, 2],
        "days": numpy.ma.array(days, mask=[[False, False], [True, True]]),
        "moments": numpy.array([[-1, 1], [2, 3]], "datetime64[ms]"),
    }
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        assert session.load(session.prepare(text), columns).written == 2
    values: list[Any] = [each.values for each in node.requests if each.opcode == Opcode.EXECUTE]
    first, second = sorted(values, key=lambda row: row[0])
    # In a vector, each date follows its length in bytes, which is 4.
    assert first[1] == b"\x04\x7f\xff\xff\xff\x04\x80\x00\x00\x00"
    assert second[1] is None
    assert first[2].endswith((1).to_bytes(8, "big"))


def test_a_mapping_of_numpy_moments_warns_of_lost_times_of_day(node: FakeNode) -> None:
    """A date column warns of a datetime64 in milliseconds, because it loses the time of day."""
    numpy = pytest.importorskip("numpy")
    node.prime_prepare(INSERT_MOMENTS, MOMENTS, pk_indexes=[0])
    columns = {"id": [1], "day": numpy.array([1], "datetime64[ms]")}
    with pytest.warns(RuntimeWarning, match="column 'day' is a date, and the source has timest"):
        loaded_moments(node, columns)
    # A duration is not a timestamp, so the row is refused, and the error names the column.
    with pytest.raises(LoadError, match=r'column "at" .*timedelta64'):
        loaded_moments(node, {"id": [1], "at": numpy.array([1], "timedelta64[ms]")})


@pytest.mark.parametrize("form", ["csv", "jsonl", "rows", "frame"])
def test_null_counters_are_left_out(node: FakeNode, tmp_path: Path, form: str) -> None:
    """A null counter is sent as unset, because a server would refuse to add null to a counter.

    A row without any counter value has nothing to add, so it fails.
    """
    query = "UPDATE t SET m = m + ?, n = n + ? WHERE id = ?"
    markers = [("m", "counter"), ("n", "counter"), ("id", "int")]
    node.prime_prepare(query, markers, pk_indexes=[2])
    items: list[dict[str, Any]] = [{"id": 1, "m": None, "n": 5}, {"id": 2, "m": None, "n": None}]
    source: Any = items
    if form == "csv":
        source = tmp_path / "a.csv"
        source.write_text("id,m,n\n1,,5\n2,,\n")
    elif form == "jsonl":
        source = tmp_path / "a.jsonl"
        source.write_text("".join(json.dumps(item) + "\n" for item in items))
    elif form == "frame":
        source = pytest.importorskip("pandas").DataFrame(items)
    # A dry run sends nothing, but reports the same failure.
    for is_dry in (True, False):
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            prepared = session.prepare(query)
            report = session.load(prepared, source, counters=True, max_errors=None, dry_run=is_dry)
        assert report.read == 2
        assert report.failed == 1
        assert report.written == (0 if is_dry else 1)
        assert "it has no value for a counter ('m', 'n')" in str(report.failures[0])
    # The null counter `m` of the first row was sent as unset.
    assert values_sent(node) == [[NOT_SET, struct.pack(">q", 5), struct.pack(">i", 1)]]


@LOADERS
def test_warnings_of_the_reader_thread_point_to_the_call(node: FakeNode, load: Load) -> None:
    """A warning from a thread of the load names the application's line that called `load`."""
    node.prime_prepare(INSERT, [("id", "int"), ("name", "date")], pk_indexes=[0])
    rows = [(1, datetime.datetime(2026, 1, 2, hour=3))]
    with pytest.warns(RuntimeWarning, match="timestamps with a time of day") as caught:
        load(node, rows)
    (warning,) = [each for each in caught if "time of day" in str(each.message)]
    assert warning.filename == __file__


@LOADERS
def test_an_unknown_profile_is_refused_before_the_first_row(node: FakeNode, load: Load) -> None:
    """A load with an unknown execution profile is refused before it sends a row."""
    with pytest.raises(ValueError, match="there is no execution profile 'other'"):
        load(node, [(1, "a")], execution_profile="other", max_errors=None)
    assert executed(node) == 0


def test_rows_of_sqlite_that_belong_to_another_thread_get_advice() -> None:
    """The error for rows of sqlite3 from another thread says how to open the database."""
    message = _message_of(
        sqlite3.ProgrammingError("SQLite objects created in a thread can only ...")
    )
    assert "write sqlite3.connect(path, check_same_thread=False)" in message


@pytest.mark.parametrize("text", ["", "malloc of size 64 failed"])
def test_exhausted_memory_gets_advice(text: str) -> None:
    """A MemoryError has no message, or one that says little, so the LoadError has advice."""
    message = _message_of(MemoryError(text) if text else MemoryError())
    assert message.startswith(f"MemoryError: {text}")
    assert "memory is exhausted, and a load needs some hundred MB" in message
    # An error without a message has only its name.
    assert _message_of(KeyError()) == "KeyError"


ARROW_COLUMNS = [
    ("id", "int"),
    ("name", "text"),
    ("day", "date"),
    ("at", "timestamp"),
    ("hour", "time"),
    ("tags", "map<text, int>"),
    ("key", "uuid"),
    ("size", "varint"),
]
INSERT_ARROW = (
    "INSERT INTO t (id, name, day, at, hour, tags, key, size) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_mapping_of_arrow_arrays_is_loaded_as_an_arrow_table_is(
    node: FakeNode, is_chunked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dict of pyarrow arrays is loaded like an Arrow table of these arrays, with its nulls."""
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(chunks, "OBJECT_ROWS", 2)
    node.prime_prepare(INSERT_ARROW, ARROW_COLUMNS, pk_indexes=[0])
    day = datetime.date(2026, 11, 23)
    columns = {
        "id": pyarrow.array([0, 1, 2]),
        "name": pyarrow.array(["a", None, ""]).dictionary_encode(),
        "day": pyarrow.array([day, None, day]),
        "at": pyarrow.array([None, datetime.datetime(2026, 1, 1), None], pyarrow.timestamp("ns")),
        "hour": pyarrow.array([datetime.time(1), None, None]),
        "tags": pyarrow.array([[("a", 1)], None, []], pyarrow.map_(pyarrow.string(), "int32")),
        "key": pyarrow.array([b"x" * 16, None, b"y" * 16], pyarrow.binary(16)),
        "size": pyarrow.array([2**62, None, -1]),
    }

    def sent(source: Any) -> list[list[Any]]:
        count_before = executed(node)
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            session.load(session.prepare(INSERT_ARROW), source)
        return sorted(values_sent(node)[count_before:], key=lambda row: row[0])

    expected = sent(pyarrow.table(columns))
    assert expected[1][1:] == [None, None, expected[1][3], None, None, None, None]
    if is_chunked:
        columns = {
            name: pyarrow.chunked_array([values[:1], values[1:]])
            for name, values in columns.items()
        }
    assert sent(columns) == expected
    # Lists and arrays may be mixed.
    assert sent({**columns, "id": [0, 1, 2]}) == expected
    # Integers are refused in a date column, as in a table.
    columns["day"] = pyarrow.array([1, 2, 3])
    with pytest.raises(ValueError, match="column 'day' is a date, and the source has integers"):
        sent(columns)
