"""Test `BatchStatement`: how statements and tables are added, and which request is sent."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import itertools
import math
import pickle
import uuid
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pandas
import pyarrow
import pytest

from cassandra.client.batches import batch_statements, partitions_of, texts_of
from cassandra.cqltypes import (
    CounterColumnType,
    DateType,
    DoubleType,
    Int32Type,
    SimpleDateType,
    TimeType,
    UTF8Type,
    UUIDType,
)
from cassandra.cqltypes.parse import lookup_casstype
from cassandra.engine.request_bodies import BatchBody
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query import BatchStatement, BatchType, PreparedStatement, SimpleStatement
from cassandra.query.batch import batch_of_block, bind_rows
from tests.unit.query.test_bound import prepared as people

INSERT = "INSERT INTO t (k, v, x) VALUES (?, ?, ?)"
NAN = float("nan")


def prepared(
    query: str = INSERT,
    query_id: bytes = b"id",
    version: int = 4,
    keyspace: str = "ks",
    **types: Any,
) -> PreparedStatement:
    """Return a prepared statement with bind markers of these types, whose first column is the key.

    :param types: the type of each column, by name. Without types, the columns are k (int), v (text)
        and x (double).
    """
    types = types or {"k": Int32Type, "v": UTF8Type, "x": DoubleType}
    columns = [ColumnMetadata(keyspace, "t", name, cqltype) for name, cqltype in types.items()]
    return PreparedStatement(columns, query_id, [0], query, keyspace, version, None, None)


def values(batch: BatchStatement) -> list[Any]:
    """Return the encoded values of each entry of the batch; a query string is returned as is."""
    return [entry if isinstance(entry, str) else entry.values for entry in batch.entries]


def statements(batch: BatchStatement, prepared_by_query: Any = None) -> list[Any]:
    """Return the statements of the batch's request.

    Each is a pair of a prepared statement and its rows, or of None and a query string.

    :param prepared_by_query: the prepared statement for each (keyspace, query string).
    """
    return batch_statements(batch.sealed_entries(), prepared_by_query or {}, lambda query_id: None)


@dataclasses.dataclass
class Item:
    k: int
    v: str
    x: float


class TestAdd:
    def test_adjacent_rows_of_one_statement_share_their_query_id(self) -> None:
        """The request has one statement for adjacent rows of the same prepared statement."""
        statement, other_statement = prepared(), prepared(query_id=b"other")
        batch = BatchStatement().reserve(100)
        for i in range(5):
            batch.add(statement, (i, "a", None))
        batch.add(other_statement, (5, "b", None))
        batch.add(statement, (6, "c", None))
        batch.add(statement, [7, "d"])
        batch.add(statement, {"k": 8})
        batch.add(statement, Item(9, "e", 0.5))
        # `entries` counts each row, but the request has one statement for each series of adjacent
        # rows of the same prepared statement.
        assert len(batch) == 10
        assert len(batch.entries) == 10
        assert [statement.query_id for statement, _ in statements(batch)] == [
            b"id",
            b"other",
            b"id",
        ]
        assert [int.from_bytes(row[0], "big") for row in values(batch)] == list(range(10))
        # The batch's routing key is the routing key of its first row, whose `k` is 0.
        assert batch.routing_key == b"\0\0\0\0"

    def test_sealed_entries_do_not_change_with_the_batch(self) -> None:
        """The entries of `sealed_entries` do not get the rows that are added later."""
        statement = prepared()
        batch = BatchStatement().add(statement, (1, "a", None)).add("INSERT ? ", (1,))
        sealed = batch.sealed_entries()
        # Each of these rows is of the same statement as an earlier entry. If the entry were not
        # sealed, the row would be added to it, although the caller still has the entry.
        batch.add("INSERT ? ", (2,)).add(statement, (2, "b", None))
        assert [len(entry) for entry in sealed] == [1, 1]  # type: ignore[arg-type]
        assert len(batch) == 4
        batch = BatchStatement().add(statement, (1, "a", None))
        sealed = batch.sealed_entries()
        batch.add(statement, (2, "b", None))
        assert [len(entry) for entry in sealed] == [1]  # type: ignore[arg-type]
        assert [len(entry) for entry in batch.sealed_entries()] == [1, 1]  # type: ignore[arg-type]

    def test_a_refused_row_leaves_the_batch_unchanged(self) -> None:
        """If a row cannot be bound, `add` and `add_many` raise an error and add no row at all."""
        statement = prepared()
        batch = BatchStatement().add(statement, (1, "a", None))
        for row in [("x", "a", None), (1, 2), {"z": 1}, (), 5, None, "abc", (1, "a", 0.5, 4)]:
            with pytest.raises((TypeError, ValueError), match=r"(?s)INSERT INTO t"):
                batch.add(statement, row)
        with pytest.raises(
            (TypeError, ValueError), match=r"row 1: column \"k\" \(int, Int32Type\).*INSERT INTO t"
        ):
            batch.add_many(statement, [(2, "b", None), ("x", "c", None)])
        assert len(batch) == 1
        assert len(batch.entries) == 1

    def test_a_table_with_structs_for_a_list_is_refused(self) -> None:
        """`add_many` refuses structs and dicts for lists and sets, and names column and value."""
        for type_name in ("ListType(UTF8Type)", "SetType(UTF8Type)"):
            statement = prepared(k=Int32Type, v=lookup_casstype(type_name))
            columns = {"k": [1, 2], "v": [None, {"a": "x"}]}
            for table in (pyarrow.table(columns), pandas.DataFrame(columns)):
                batch = BatchStatement()
                with pytest.raises(
                    TypeError,
                    match=r"row 1: column \"v\" .*\{'a': 'x'\} \(dict\) is not a collection of "
                    r"elements for (list|set)<text> .*; make a list of its keys or of its values",
                ):
                    batch.add_many(statement, table)
                assert len(batch) == 0

    def test_an_overridden_bind_method_is_called(self) -> None:
        """`add` calls the `bind` method of an application's subclass of PreparedStatement."""

        class AddingBind(PreparedStatement):
            """An application's subclass, which binds additional values."""

            def bind(self, values: Any) -> Any:
                return super().bind((*values, "added", None))

        columns = [*prepared().column_metadata]
        statement = AddingBind(columns, b"id", [0], INSERT, "ks", 4, None, None)
        batch = BatchStatement().add(statement, (1,))
        assert values(batch) == [[b"\0\0\0\1", b"added", None]]

    def test_a_bound_statement_is_sent_with_the_values_at_its_addition(self) -> None:
        """A later `bind` of a bound statement does not change the values in a batch.

        But a value that is assigned to the bound statement's list `values` is sent.
        """
        bound = prepared().bind((1, "a", None))
        batch = BatchStatement().add(bound).add(bound.bind((2, "b", None)))
        bound.bind((3, "c", None))
        assert [row[1] for row in values(batch)] == [b"a", b"b"]
        assert [block.values()[1] for _, block in statements(batch)] == [b"a", b"b"]
        assert [row[1] for _, _, row in batch._statements_and_parameters] == [b"a", b"b"]
        bound.values[1] = b"d"
        assert [block.values()[1] for _, block in statements(batch)] == [b"a", b"b"]
        # `entries` returns the bound statement that the application has added, not a copy.
        assert batch.add(bound).entries[-1] is bound

    def test_query_strings_are_formatted_or_kept_to_be_prepared(self) -> None:
        """`add` formats a query string with placeholders, and keeps the values of bind markers.

        The query string with bind markers is prepared when the batch is executed.
        """
        batch = BatchStatement()
        batch.add("INSERT %s", ("it's",))
        batch.add("INSERT ?")
        batch.add("INSERT ?", (1,))
        batch.add("INSERT ?", (2,))
        batch.add(SimpleStatement("INSERT ?", keyspace="other"), (3,))
        batch.add_many("INSERT ?", iter([(4,), (5,)]))
        assert batch.entries == ["INSERT 'it''s'", *["INSERT ?"] * 6]
        # The batch prepares each different query string with bind markers once.
        assert texts_of(batch.sealed_entries()) == [(None, "INSERT ?"), ("other", "INSERT ?")]
        # A query string may have placeholders or bind markers, but not both kinds.
        with pytest.raises(ValueError, match="one kind"):
            batch.add("INSERT ? %s", (1, 2))
        assert len(batch) == 7

    def test_query_strings_are_bound_when_they_are_prepared(self) -> None:
        """The values of a query string are bound as soon as its prepared statement is known."""
        batch = BatchStatement().add("DELETE").add("INSERT ?", (1, "a")).add("INSERT ?", {"k": 2})
        batch.add_many("INSERT ?", [(3,)])
        (_, query), (_, first_block), (bound_statement, second_block) = statements(
            batch, {(None, "INSERT ?"): prepared()}
        )
        assert query == "DELETE"
        assert len(first_block) == 2
        assert len(second_block) == 1
        assert bound_statement.query_id == b"id"
        # The prepared statement must not change the application's batch, because the application
        # may execute the batch again on another session.
        assert batch.routing_key is None
        assert batch.keyspace is None
        assert batch.own_keyspace is None
        # The second row has no value for the partition key `k`.
        without_key = BatchStatement().add("?", (1,)).add("?", {"v": "a"})
        with pytest.raises(ValueError, match=r"row 1: the partition key.*INSERT INTO t"):
            statements(without_key, {(None, "?"): prepared()})

    def test_an_object_with_a_query_string_is_a_statement(self) -> None:
        """As in cassandra-driver, other classes may stand in for statements."""
        statement = SimpleNamespace(
            query_string="INSERT INTO t (k) VALUES (%s)",
            keyspace="ks",
            routing_key=b"key",
            custom_payload={"a": b"1"},
        )
        batch = BatchStatement().add(statement, (1,)).add(SimpleNamespace(query_string="USE ks"))  # type: ignore[arg-type]
        assert batch.sealed_entries() == ("INSERT INTO t (k) VALUES (1)", "USE ks")
        assert batch.keyspace == "ks"
        assert batch.routing_key == b"key"
        assert batch.custom_payload == {"a": b"1"}

    @pytest.mark.parametrize("text", [None, b"USE ks", 7])
    def test_a_query_string_must_be_a_string(self, text: Any) -> None:
        with pytest.raises(TypeError, match="holds queries and prepared statements"):
            BatchStatement().add(SimpleNamespace(query_string=text))  # type: ignore[arg-type]

    def test_a_query_string_with_empty_parameters_is_unchanged(self) -> None:
        """Empty parameters, such as () or None, leave a query string and its %% unchanged."""
        batch = BatchStatement()
        empties: list[Any] = [(), [], {}, None]
        for empty in empties:
            batch.add("INSERT 'a%%b 100%'", empty)
            batch.add(SimpleStatement("INSERT 'a%%b 100%' ?"), empty)
        assert set(batch.entries) == {"INSERT 'a%%b 100%'", "INSERT 'a%%b 100%' ?"}

    def test_a_batch_has_at_most_65535_statements(self) -> None:
        """An addition beyond 65535 statements raises ValueError and leaves the batch unchanged."""
        statement = prepared()
        batch = BatchStatement().add_many(statement, [(1,)] * 0xFFFF)
        additions: list[Callable[[], object]] = [
            lambda: batch.add(statement, (1,)),
            lambda: batch.add_many(statement, [(1,)]),
            lambda: batch.add_many("INSERT ?", [(1,)]),
            lambda: BatchStatement().reserve(0x10000),
        ]
        for add in additions:
            with pytest.raises(ValueError, match="at most 65535"):
                add()
        assert len(batch) == 0xFFFF
        with pytest.raises(TypeError, match="n must be"):
            batch.reserve("5")  # type: ignore[arg-type]
        # Adding no rows is allowed even if the batch is full.
        batch.add_many(statement, [])

    @pytest.mark.parametrize(
        ("statement", "advice"),
        [
            (("INSERT", (1,)), r"not tuple: write batch\.add\(statement, parameters\)"),
            ([prepared(), {"k": 1}], r"not list: write batch\.add\(statement, parameters\)"),
            (["INSERT 1", "INSERT 2"], r"not list: call batch\.add\(.*\) for each statement"),
            (BatchStatement(), "not BatchStatement: execute each batch by itself"),
            ((1, 2), "not tuple$"),
            ([], "not list$"),
            (None, "not NoneType$"),
        ],
    )
    def test_arguments_that_are_not_statements(self, statement: Any, advice: str) -> None:
        """An argument of `add` that is not a statement raises TypeError with advice."""
        with pytest.raises(TypeError, match=advice):
            BatchStatement().add(statement)

    @pytest.mark.parametrize("rows", [5, "text", b"text", {"k": 1}, None])
    @pytest.mark.parametrize("statement", [prepared(), "INSERT ?"], ids=["prepared", "text"])
    def test_arguments_that_are_not_rows(self, statement: Any, rows: Any) -> None:
        """`add_many` raises TypeError if its second argument is not an iterable of rows."""
        with pytest.raises(TypeError, match="rows are a table or an iterable of rows"):
            BatchStatement().add_many(statement, rows)

    def test_the_error_for_a_dict_of_columns_is_short(self) -> None:
        """The error for a dict of columns in place of rows does not show the values of the columns.

        So the message is short, however many values there are.
        """
        with pytest.raises(
            TypeError, match=r"write \[row\] for one row, and pandas.Data"
        ) as caught:
            BatchStatement().add_many(prepared(), {"k": list(range(10_000))})
        assert len(str(caught.value)) < 250

    def test_statements_that_take_no_rows(self) -> None:
        """`add_many` refuses query strings with placeholders and bound statements."""
        with pytest.raises(ValueError, match="a text with bind markers"):
            BatchStatement().add_many("INSERT %s", [(1,)])
        with pytest.raises(TypeError, match="not BoundStatement"):
            BatchStatement().add_many(prepared().bind((1,)), [(1,)])  # type: ignore[arg-type]

    def test_a_cleared_batch_is_empty_and_can_be_used_again(self) -> None:
        """After `clear`, the batch is empty and can be used again.

        Entries that were sealed earlier keep their rows.
        """
        batch = BatchStatement().add_many(prepared(), [(1,)])
        entries = batch.sealed_entries()
        batch.add(prepared(), (2,)).clear()
        assert len(batch) == 0
        assert batch.entries == []
        assert batch.routing_key is None
        assert batch.keyspace is None
        assert len(entries[0]) == 1  # type: ignore[arg-type]
        assert len(batch.add(prepared(), (1,))) == 1


class TestRouting:
    def test_the_first_statement_with_a_key_routes_the_batch(self) -> None:
        """A batch takes its routing key from the first statement that has a routing key.

        The statement also determines the batch's keyspace and table. A routing key that the
        application has set takes precedence.
        """
        batch = BatchStatement().add("x")
        batch.add(SimpleStatement("y", routing_key=b"first")).add(prepared(), (1,))
        assert batch.routing_key == b"first"
        batch = BatchStatement().add("x").add_many(prepared(keyspace="other"), [(7,), (8,)])
        batch.add(SimpleStatement("y", routing_key=b"later"))
        assert batch.routing_key == b"\0\0\0\7"
        assert (batch.keyspace, batch.table) == ("other", "t")
        batch.routing_key = b"mine"
        assert batch.routing_key == b"mine"
        del batch.routing_key
        assert batch.routing_key is None

    def test_query_strings_use_the_keyspace_of_a_prepared_statement_in_the_batch(self) -> None:
        """A query string in a batch runs in the keyspace of the batch's prepared statement.

        `own_keyspace` is the keyspace that the request names. It is set only if the batch has a
        query string.
        """
        batch = BatchStatement().add(prepared(keyspace="other"), (1,))
        assert batch.keyspace == "other"
        assert batch.own_keyspace is None
        assert batch.add("INSERT INTO t (k) VALUES (%s)", (2,)).own_keyspace == "other"
        assert BatchStatement().add("x").add(prepared(), (1,)).own_keyspace == "ks"

    def test_a_keyspace_set_on_the_batch_is_kept(self) -> None:
        """A keyspace that the application has set on the batch is `own_keyspace`."""
        batch = BatchStatement().add(prepared(), (1,))
        batch.keyspace = "mine"
        assert batch.own_keyspace == "mine"


class TestCounters:
    count = prepared("UPDATE c SET n = n + ? WHERE k = ?", n=CounterColumnType, k=Int32Type)

    @pytest.mark.parametrize(
        "batch_type", [BatchType.COUNTER, BatchType.UNLOGGED, BatchType.LOGGED]
    )
    def test_counters_in_any_batch_are_left_to_the_server(self, batch_type: BatchType) -> None:
        """The driver does not check whether counters are allowed in the type of the batch."""
        batch = BatchStatement(batch_type).add(self.count, (1, 2)).add(prepared(), (1,))
        assert len(statements(batch)) == 2


class TestPayload:
    # A fake connection with version 4 of the protocol.
    connection: Any = SimpleNamespace(wire_format=4, version=4)

    def request_body(self, batch: BatchStatement) -> BatchBody:
        """Return the request body of the batch, serialized for version 4 of the protocol."""
        request_body = BatchBody(batch.batch_type.value, statements(batch))
        request_body.consistency = 1
        request_body.prerender(4)
        return request_body

    def test_a_request_is_rendered_with_the_current_query_id(self) -> None:
        """If a statement's id changes after the request was made, the new id is sent."""
        statement = prepared()
        request_body = self.request_body(BatchStatement().add_many(statement, [(1,), (2,)]))

        body_before = request_body.render(self.connection)
        # The server may give the statement another id when the statement is prepared again.
        statement.query_id = b"an"
        body_after = request_body.render(self.connection)
        # Each of the two rows has the statement's id, after the id's length 2.
        assert body_before[2].count(b"\x02id") == 2
        assert body_after[2].count(b"\x02an") == 2
        assert request_body.describe() == f"a batch of 2 that begins with '{INSERT}'"

    def test_a_request_counts_the_partitions_of_its_batch(self) -> None:
        """`partitions_of` counts the partitions of a batch's rows.

        If a statement has no routing key, the count is unknown, and the function returns 0.
        """
        batch = BatchStatement().add_many(prepared(), [(1, "a"), (1, "b")])
        assert partitions_of(self.request_body(batch)) == 1
        assert partitions_of(self.request_body(batch.add(prepared(), (2,)))) == 2
        assert partitions_of(self.request_body(batch.add("x"))) == 0

    def test_a_batch_larger_than_a_frame_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A batch that exceeds the maximum size of a request body raises ValueError."""
        monkeypatch.setattr("cassandra.engine.request_bodies.MAX_BODY", 1000)
        with pytest.raises(ValueError, match=r"a batch of 1 that begins with .* at most 1000"):
            self.request_body(BatchStatement().add(prepared(), (1, "x" * 1000)))

    def test_rows_bound_before_give_the_same_request(self) -> None:
        """A batch of rows that were bound earlier is sent as a batch that binds the same rows."""
        statement, rows = prepared(), [(1, "a"), (2, "b")]
        batch_of_bound_rows = batch_of_block(statement, bind_rows(statement, rows))
        batch_of_rows = BatchStatement(BatchType.UNLOGGED).add_many(statement, rows)
        assert len(batch_of_bound_rows) == 2
        assert len(batch_of_rows) == 2
        assert batch_of_bound_rows.routing_key == batch_of_rows.routing_key
        first, second = (
            self.request_body(batch).render(self.connection)
            for batch in (batch_of_bound_rows, batch_of_rows)
        )
        assert first == second


class TestTables:
    """Test that rows from the tables of each library are bound with their missing values.

    Each library has its own representation of missing values.
    """

    def bound(self, rows: Any, **types_by_name: Any) -> list[list[Any]]:
        """Bind the rows in one block, and return the decoded values of each row."""
        statement = prepared(**types_by_name)
        column_types = [column.type for column in statement.column_metadata]
        return [
            [
                None if cell is None else cqltype.from_binary(cell, 4)
                for cqltype, cell in zip(column_types, block.values(), strict=True)
            ]
            for block in bind_rows(statement, rows).rows()
        ]

    def test_records_of_numpy_are_bound_by_field_name(self) -> None:
        """Records of a structured NumPy array are bound by the names of their fields."""
        array = numpy.array(
            [(0.5, "a", 1), (NAN, "é", 2)], dtype=[("x", "f8"), ("v", "U5"), ("k", "i4")]
        )
        first, second = self.bound(array)
        assert first == [1, "a", 0.5]
        assert second[:2] == [2, "é"]
        assert math.isnan(second[2])
        assert self.bound(array.view(numpy.recarray))[0] == first
        assert self.bound(array[:0]) == []

    def test_columns_of_a_plain_numpy_array_are_bound_by_position(self) -> None:
        """Columns of a plain NumPy array are bound by position, and their number must be right."""
        array = numpy.array([[1.0, NAN], [2.0, 0.5]])
        first_row, second_row = self.bound(array, k=Int32Type, x=DoubleType)
        assert first_row[0] == 1
        assert second_row == [2, 0.5]
        # In a column of floats, NaN is bound as null if the CQL column is an int.
        assert self.bound(numpy.array([[1.0, NAN]]), k=Int32Type, v=Int32Type) == [[1, None]]
        with pytest.raises(ValueError, match="3 columns for 2 bind markers"):
            self.bound(numpy.zeros((2, 3)), k=Int32Type, x=DoubleType)
        advice = r"4 columns for 2 .* of 'v', write a mapping of columns, {'id': ids, 'v': array}"
        with pytest.raises(ValueError, match=advice):
            self.bound(
                numpy.zeros((2, 4)), k=Int32Type, v=lookup_casstype("VectorType(FloatType, 4)")
            )
        with pytest.raises(ValueError, match="this one has 1"):
            self.bound(numpy.zeros(3))

    def test_numpy_times(self) -> None:
        """NumPy's dates and times are converted to the CQL types, and NaT is bound as null."""
        array = numpy.array(
            [(1, "2026-11-21T10:00:00.123456789", "2026-11-21", 5), (2, "NaT", "NaT", "NaT")],
            dtype=[("k", "i4"), ("at", "M8[ns]"), ("day", "M8[D]"), ("time", "m8[us]")],
        )
        types = {"k": Int32Type, "at": DateType, "day": SimpleDateType, "time": TimeType}
        values, nulls = self.bound(array, **types)
        assert values[1] == datetime.datetime(2026, 11, 21, 10, 0, 0, 123000)
        assert str(values[2]) == "2026-11-21"
        assert values[3].nanosecond_time == 5000
        assert nulls == [2, None, None, None]

    def test_numpy_vectors(self) -> None:
        """A field of a structured NumPy array that is itself an array is bound as a vector."""
        vector = lookup_casstype(
            "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType, "
            "3)"
        )
        array = numpy.zeros(2, dtype=[("k", "i4"), ("e", "f4", (3,))])
        array["e"][1] = [1, 2, 3]
        assert self.bound(array, k=Int32Type, e=vector)[1] == [0, [1.0, 2.0, 3.0]]

    def test_rows_of_pandas_are_bound_by_column_name(self) -> None:
        """Rows of a pandas frame are bound by column name, and missing values as null.

        But NaN stays NaN if the CQL column is a float or double.
        """
        time = pandas.Timestamp("2026-11-21 10:00:00.123")
        frame = pandas.DataFrame(
            {
                "x": [0.5, NAN, NAN],
                "k": [1, 2, 3],
                "v": ["a", None, NAN],
                "n": [7, None, NAN],
                "m": pandas.array([7, None, 8], dtype="Int64"),
                "y": pandas.array([0.5, None, 0.25], dtype="Float64"),
                "at": [time, pandas.NaT, None],
                "o": numpy.array([1, pandas.NA, None], dtype=object),
            },
            index=["i", "j", "l"],
        )
        types = {
            "k": Int32Type, "v": UTF8Type, "x": DoubleType, "n": Int32Type, "m": Int32Type,
            "y": DoubleType, "at": DateType, "o": Int32Type,
        }  # fmt: skip
        first, second, third = self.bound(frame, **types)
        assert first == [1, "a", 0.5, 7, 7, 0.5, time.to_pydatetime(), 1]
        # The CQL column `x` is a double, so its missing values are NaN.
        for row in (second, third):
            assert math.isnan(row.pop(2))
        assert second == [2, None, None, None, None, None, None]
        assert third == [3, None, None, 8, 0.25, None, None]
        with pytest.raises(TypeError, match=r'row 0: column "k" \(int, Int32Type\): 1.5'):
            self.bound(pandas.DataFrame({"k": [1.5]}), k=Int32Type)

    def test_rows_of_arrow_are_bound_by_column_name(self) -> None:
        """Rows of Arrow data are bound by column name.

        The rows may come in tables, record batches and other objects that export Arrow data.
        """
        time = datetime.datetime(2026, 11, 21, 10, 0, 0, 123000)
        key = uuid.uuid4()
        table = pyarrow.table(
            {
                "v": ["a", None],
                "x": pyarrow.array([0.5, None]),
                "k": pyarrow.array([1, 2], pyarrow.int8()),
                "at": pyarrow.array([time, None], pyarrow.timestamp("ns")),
                "u": pyarrow.array([key.bytes, None], pyarrow.binary(16)),
                "n": pyarrow.array([7.0, NAN]),
            }
        )
        types = {
            "k": Int32Type,
            "v": UTF8Type,
            "x": DoubleType,
            "at": DateType,
            "u": UUIDType,
            "n": Int32Type,
        }
        expected = [[1, "a", 0.5, time, key, 7], [2, None, None, None, None, None]]

        # Objects of other libraries have only the methods of Arrow's C interface, as these two
        # classes.
        class Stream:
            def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
                return table.__arrow_c_stream__(requested_schema)

        class Single:
            def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
                return table.to_batches()[0].__arrow_c_array__(requested_schema)

        for arrow_table in (
            table,
            table.to_batches()[0],
            Stream(),
            Single(),
            pyarrow.concat_tables([table[:1], table[1:]]),
        ):
            assert self.bound(arrow_table, **types) == expected
            assert len(BatchStatement().add_many(INSERT, arrow_table)) == 2

    def test_polars(self) -> None:
        """Rows of a frame of Polars must be bound by column name."""
        polars = pytest.importorskip("polars")
        frame = polars.DataFrame({"v": ["a", None], "k": [1, 2], "x": [0.5, None]})
        assert self.bound(frame) == [[1, "a", 0.5], [2, None, None]]
        assert len(BatchStatement().add_many(INSERT, frame)) == 2

    @pytest.mark.parametrize("library", ["numpy", "pandas", "arrow"])
    def test_columns_that_do_not_fit(self, library: str) -> None:
        """If a column cannot be bound, the error names the column.

        The error also names the row if a single value is wrong.
        """

        def make_table(**columns: list[Any]) -> Any:
            if library == "numpy":
                rows = list(zip(*columns.values(), strict=True))
                return numpy.array(rows, dtype=[(name, "i4") for name in columns])
            return pandas.DataFrame(columns) if library == "pandas" else pyarrow.table(columns)

        with pytest.raises(
            ValueError, match=r"the table has no column 'v', 'x'; it has k .*INSERT INTO t"
        ):
            self.bound(make_table(k=[1]))
        with pytest.raises(
            ValueError, match="the table has the column 'more', but the bind markers are k, v, x"
        ):
            self.bound(make_table(k=[1], v=[2], x=[3], more=[4]))
        if library == "numpy":
            # A NumPy array of integers cannot hold None, so the rows are passed as a list of
            # tuples.
            table_with_int: Any = [(1, None), (2, 2)]
        else:
            table_with_int = make_table(k=[1, 2], v=[None, 2], x=[3, 4])
        with pytest.raises(TypeError, match=r'row 1: column "v" \(text, \w+\)'):
            self.bound(table_with_int)


def test_times_of_arrow_keep_their_nanoseconds() -> None:
    """Arrow times in nanoseconds are bound without a loss of digits."""
    table = pyarrow.table(
        {"k": [1, 2], "at": pyarrow.array([3_600_000_000_001, None], pyarrow.time64("ns"))}
    )
    batch = BatchStatement().add_many(prepared(k=Int32Type, at=TimeType), table)
    assert [row[1] for row in values(batch)] == [(3_600_000_000_001).to_bytes(8, "big"), None]


class TestBatch:
    def test_entries_keep_their_order(self) -> None:
        """A batch keeps the order of its entries, whatever the form in which they were added."""
        statement = people()
        batch = BatchStatement(BatchType.UNLOGGED)
        batch.add(statement, (1, "a"))
        batch.add(statement.bind((2, "b")))
        batch.add("INSERT INTO t (k) VALUES (%s)", ("it's",))
        batch.add(SimpleStatement("DELETE FROM t"))
        assert len(batch) == 4
        assert batch.entries[2:] == ["INSERT INTO t (k) VALUES ('it''s')", "DELETE FROM t"]
        assert batch.routing_key == b"\0\0\0\x01"
        assert (batch.keyspace, batch.table) == ("ks", "people")

    def test_add_all_and_clear(self) -> None:
        """`add_all` must format each query with its values, and `clear` remove all entries."""
        batch = BatchStatement()
        batch.add_all(["a %s", "b %s"], [(1,), (2,)])
        assert list(batch.entries) == ["a 1", "b 2"]
        batch.clear()
        assert len(batch) == 0
        assert batch.routing_key is None

    def test_an_empty_batch_is_false(self) -> None:
        """An empty batch is false, and a batch with a statement is true."""
        assert not BatchStatement()
        assert BatchStatement().add("a")

    def test_payloads_are_merged(self) -> None:
        """The custom payload of an added statement is merged into the batch's custom payload."""
        batch = BatchStatement(custom_payload={"a": b"1"})
        batch.add(SimpleStatement("x", custom_payload={"b": b"2"}))
        assert batch.custom_payload == {"a": b"1", "b": b"2"}

    def test_refused_additions(self) -> None:
        """`add` refuses invalid statements and parameters, and leaves the batch unchanged."""
        batch = BatchStatement()
        with pytest.raises(TypeError, match="int"):
            batch.add(5)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="no further parameters"):
            batch.add(people().bind((1,)), (2,))
        with pytest.raises(TypeError, match=r'"id" \(int, Int32Type\)'):
            batch.add(people(), ("x",))
        assert len(batch) == 0
        for _ in range(0xFFFF):
            batch.add("x")
        with pytest.raises(ValueError, match="65535"):
            batch.add("x")

    def test_types_show_their_names(self) -> None:
        """`str` of a batch type is its name, and its value is the number in the protocol."""
        assert str(BatchType.LOGGED) == "LOGGED"
        # The protocol defines these numbers.
        assert BatchType.LOGGED.value == 0
        assert BatchType.UNLOGGED.value == 1
        assert BatchType.COUNTER.value == 2


def test_a_keyspace_that_is_set_later_is_the_application_s_own() -> None:
    """A keyspace that the application sets is sent, even if it equals the borrowed keyspace.

    The batch borrows the keyspace of the first prepared statement's table. Equal names may be the
    same object, because Python and the driver intern strings.
    """
    for name in ("ks", "".join(["k", "s"])):
        batch: Any = BatchStatement().add(prepared(), (1, "a"))
        batch.add("INSERT INTO t (k) VALUES (1)")
        # `expected_keyspace` is None while the keyspace is only borrowed.
        assert (batch.keyspace, batch.expected_keyspace, batch.own_keyspace) == ("ks", None, "ks")
        batch.keyspace = name
        assert (batch.expected_keyspace, batch.own_keyspace) == ("ks", "ks")
        for duplicate in (copy.copy(batch), pickle.loads(pickle.dumps(batch))):
            assert duplicate.expected_keyspace == "ks"
        del batch.keyspace
        assert batch.keyspace is None
        batch.clear()
        assert batch.keyspace is None


@pytest.mark.parametrize("duplicate", [copy.copy, lambda batch: pickle.loads(pickle.dumps(batch))])
def test_a_copied_batch_still_borrows_its_keyspace(duplicate: Callable[[Any], Any]) -> None:
    """A copy or a pickle of a batch keeps a keyspace that was borrowed from a statement's table."""
    batch = duplicate(BatchStatement().add(prepared(), (1, "a")))
    assert (batch.keyspace, batch.expected_keyspace, batch.own_keyspace) == ("ks", None, None)


def test_a_batch_keeps_the_keyspace_that_the_application_has_set() -> None:
    """A keyspace that the application has set stays when statements of any form are added."""
    simple = SimpleStatement("INSERT INTO t (k) VALUES (13)", routing_key=b"x")
    with_keyspace = SimpleStatement("INSERT INTO t (k) VALUES (1)", routing_key=b"y", keyspace="c")
    for statement in (simple, with_keyspace, prepared().bind((1, "a", 1.0))):
        batch = BatchStatement()
        batch.keyspace = "b"
        batch.add(statement)
        assert batch.keyspace == "b"
        # The batch still takes its routing key from the statement.
        assert batch.routing_key is not None
    batch = BatchStatement()
    batch.keyspace = "b"
    batch.add_many(prepared(), [(1, "a", 1.0)])
    assert batch.keyspace == "b"
    assert batch.routing_key is not None


@pytest.mark.parametrize("statements", [prepared(), "UPDATE t SET v = 1 WHERE k = %s"])
def test_one_statement_for_all_parameters_is_added_by_another_method(statements: Any) -> None:
    """`add_all` with a single statement raises a TypeError that recommends `add_many`."""
    batch = BatchStatement()
    with pytest.raises(TypeError, match=r"write batch\.add_many\(prepared, rows\)"):
        batch.add_all(statements, [(1,), (2,)])
    assert len(batch) == 0


def test_a_batch_with_a_condition_is_a_transaction() -> None:
    """If any statement of a batch has a condition, `is_lwt` of the batch is True.

    The statement may have been added in any form.
    """
    columns = [ColumnMetadata("ks", "t", "k", Int32Type)]
    for is_lwt in (False, True):
        query = "INSERT INTO t (k) VALUES (?)" + " IF NOT EXISTS" * is_lwt
        statement = PreparedStatement(columns, b"id", [0], query, "ks", 4, None, None, is_lwt)
        additions: list[Callable[[BatchStatement], Any]] = [
            lambda batch, statement=statement: batch.add(statement, (1,)),  # type: ignore[misc]
            lambda batch, statement=statement: batch.add_many(statement, [(1,)]),  # type: ignore[misc]
            lambda batch, statement=statement: batch.add(statement.bind((1,))),  # type: ignore[misc]
            lambda batch, query=query: batch.add(query.replace("?", "%s"), (1,)),  # type: ignore[misc]
            lambda batch, query=query: batch.add(query, (1,)),  # type: ignore[misc]
        ]
        for add in additions:
            batch = BatchStatement().add("UPDATE t SET v = 1 WHERE k = 2")
            add(batch)
            assert batch.is_lwt() is is_lwt
    # If a statement is given by its id alone, nothing is known about its condition.
    named = BatchStatement()
    named._statements_and_parameters = [(True, b"id", [b"1"])]
    assert not named.is_lwt()


@pytest.mark.parametrize("adds_bound", [False, True])
def test_the_routing_key_follows_the_partition_key(adds_bound: bool) -> None:
    """If the table's partition key changes, the routing key that a batch has computed changes, too.

    A routing key that the application has set is kept.
    """
    statement = prepared()
    bound = statement.bind((7, "ada", 0.5))
    computed, own = BatchStatement(), BatchStatement()
    for batch in (computed, own):
        if adds_bound:
            batch.add(bound)
        else:
            batch.add(statement, (7, "ada", 0.5))
    own.routing_key = b"own"
    assert computed.routing_key == b"\0\0\0\x07"
    bound.bind((8, "bob", 0.5))  # the batch keeps the values that were added
    statement.renew_key([1])
    assert computed.routing_key == b"ada"
    assert own.routing_key == b"own"
    del computed.routing_key
    assert not computed.is_routed


def test_statements_and_parameters_of_different_lengths_are_warned_of() -> None:
    """As in cassandra-driver, the rest of the longer list is not added."""
    with pytest.warns(RuntimeWarning, match=r"got 1 statements and 2 parameters: .*add_many"):
        batch = BatchStatement().add_all(["INSERT %s"], [(1,), (2,)])
    assert len(batch) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BatchStatement().add_all(["INSERT"], itertools.repeat(None))
