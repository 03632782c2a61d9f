"""Statements, prepared and bound statements, batches, client-side parameters."""

from __future__ import annotations

import decimal
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqltypes import Int32Type, ListType, UTF8Type
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.metadata.host import Host
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query import (
    FETCH_SIZE_UNSET,
    UNSET_VALUE,
    BatchStatement,
    BatchType,
    BoundStatement,
    HostTargetingStatement,
    PreparedStatement,
    SimpleStatement,
    ValueSequence,
    bind_params,
)


def prepared(version: int = 4, routing: list[int] | None = None) -> PreparedStatement:
    columns = [
        ColumnMetadata("ks", "people", "id", Int32Type),
        ColumnMetadata("ks", "people", "name", UTF8Type),
        ColumnMetadata("ks", "people", "marks", ListType.apply_parameters([Int32Type])),
    ]
    text = "INSERT INTO people (id, name, marks) VALUES (?, ?, ?)"
    return PreparedStatement(
        columns, b"\x01\x02", [0] if routing is None else routing, text, "ks", version, None, None
    )


class TestSimpleStatement:
    def test_defaults(self) -> None:
        statement = SimpleStatement("SELECT 1")
        assert statement.consistency_level is None
        assert statement.fetch_size is FETCH_SIZE_UNSET
        assert statement.is_idempotent is False
        assert statement.routing_key is None
        assert not statement.is_lwt()
        assert repr(statement) == '<SimpleStatement query="SELECT 1", consistency=Not Set>'

    @pytest.mark.parametrize(
        ("key", "expected"),
        [
            ("é", "é".encode()),
            (b"\0\1", b"\0\1"),
            (bytearray(b"ab"), b"ab"),
            (memoryview(b"ab"), b"ab"),
            (["é"], "é".encode()),
            (["ab", b"c"], b"\x00\x02ab\x00\x00\x01c\x00"),
            ((b"ab", bytearray(b"c")), b"\x00\x02ab\x00\x00\x01c\x00"),
            ([], None),
        ],
    )
    def test_texts_in_a_routing_key_are_encoded(self, key: Any, expected: bytes | None) -> None:
        statement = SimpleStatement("SELECT 1", routing_key=key, keyspace="ks")
        assert statement.routing_key == expected
        batch = BatchStatement().add(SimpleStatement("SELECT 2")).add(statement)
        assert batch.routing_key == expected
        assert batch.keyspace == (None if expected is None else "ks")
        batch = BatchStatement()
        batch.routing_key = key
        assert batch.routing_key == expected
        bound = prepared().bind((1,))
        bound.routing_key = key
        assert bound.routing_key == expected

    @pytest.mark.parametrize("key", [5, [5], ["a", None], 1.5])
    def test_a_routing_key_of_anything_else_is_refused(self, key: Any) -> None:
        statement = SimpleStatement("SELECT 1", routing_key=key)
        with pytest.raises(TypeError, match=r"routing_key is .*bytes, text, or a sequence"):
            _ = statement.routing_key

    def test_a_routing_key_of_components_is_joined(self) -> None:
        statement = SimpleStatement("SELECT 1", routing_key=[b"ab", b"c"])
        assert statement.routing_key == b"\x00\x02ab\x00\x00\x01c\x00"
        statement.routing_key = [b"alone"]
        assert statement.routing_key == b"alone"
        del statement.routing_key
        assert statement.routing_key is None

    def test_serial_levels_are_checked(self) -> None:
        statement = SimpleStatement("SELECT 1", serial_consistency_level=ConsistencyLevel.SERIAL)
        statement.serial_consistency_level = None
        with pytest.raises(ValueError, match="QUORUM"):
            statement.serial_consistency_level = ConsistencyLevel.QUORUM

    def test_wrong_arguments(self) -> None:
        with pytest.raises(TypeError, match="int: 5"):
            SimpleStatement(5)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="retry_policy"):
            SimpleStatement("SELECT 1", retry_policy=object())  # type: ignore[arg-type]

    def test_programs_may_set_attributes_of_their_own(self) -> None:
        statement = SimpleStatement("SELECT 1")
        statement.note = "mine"  # type: ignore[attr-defined]
        assert statement.note == "mine"  # type: ignore[attr-defined]

    def test_a_target_host_stands_beside_all_else(self) -> None:
        host = Host(DefaultEndPoint("10.0.0.1"))
        targeted = HostTargetingStatement(SimpleStatement("SELECT 1", fetch_size=7), host)
        assert (targeted.target_host, targeted.fetch_size, targeted.query_string) == (
            host,
            7,
            "SELECT 1",
        )


class TestBoundStatement:
    def test_values_by_position(self) -> None:
        bound = prepared().bind((7, "ada", [1]))
        assert bound.values == [b"\0\0\0\x07", b"ada", b"\0\0\0\x01\0\0\0\x04\0\0\0\x01"]
        assert bound.routing_key == b"\0\0\0\x07"

    def test_values_by_name(self) -> None:
        bound = prepared().bind({"name": "ada", "id": 7, "marks": None})
        assert bound.values == [b"\0\0\0\x07", b"ada", None]

    def test_what_is_missing_is_not_set(self) -> None:
        assert prepared().bind((7,)).values == [b"\0\0\0\x07", UNSET_VALUE, UNSET_VALUE]
        assert prepared().bind({"id": 7, "marks": None}).values == [
            b"\0\0\0\x07",
            UNSET_VALUE,
            None,
        ]

    def test_what_is_missing_is_an_error_on_version_3(self) -> None:
        with pytest.raises(ValueError, match="name"):
            prepared(version=3).bind((7,))

    def test_too_many_and_unknown(self) -> None:
        with pytest.raises(ValueError, match=r"(?s)4.*3.*INSERT INTO people"):
            prepared().bind((1, "x", [], 4))
        assert prepared().bind({"id": 1, "nobody": 2}) is not None
        strict = prepared()
        strict.strict_names = True
        with pytest.raises(ValueError, match=r"(?s)'?nobody'?.*INSERT INTO people"):
            strict.bind({"id": 1, "nobody": 2})

    @pytest.mark.parametrize("values", [None, (), {}, {"name": "ada"}])
    def test_without_a_partition_key_nothing_is_bound(self, values: Any) -> None:
        with pytest.raises(
            ValueError, match=r"(?s)the partition key needs a value for 'id'.*INSERT INTO people"
        ):
            prepared().bind(values)

    def test_a_value_of_the_wrong_type_names_column_type_and_value(self) -> None:
        with pytest.raises(
            TypeError,
            match=r"(?s)\"marks\" \(list<int>, ListType\(Int32Type\)\).*element 1.*'x'.*INSERT INTO people",
        ):
            prepared().bind((1, "x", [1, "x"]))

    def test_settings_come_from_the_prepared_statement_and_may_be_overridden(self) -> None:
        statement = prepared()
        statement.consistency_level = ConsistencyLevel.QUORUM
        statement.serial_consistency_level = ConsistencyLevel.LOCAL_SERIAL
        statement.fetch_size = 17
        statement.is_idempotent = True
        statement.custom_payload = {"a": b"b"}
        bound = statement.bind((1,))
        assert bound.consistency_level == ConsistencyLevel.QUORUM
        assert bound.serial_consistency_level == ConsistencyLevel.LOCAL_SERIAL
        assert (bound.fetch_size, bound.is_idempotent, bound.keyspace, bound.table) == (
            17,
            True,
            "ks",
            "people",
        )
        assert bound.custom_payload == {"a": b"b"}
        other = BoundStatement(statement, consistency_level=ConsistencyLevel.ONE, fetch_size=None)
        assert (other.consistency_level, other.fetch_size) == (ConsistencyLevel.ONE, None)

    def test_no_routing_key_where_it_is_not_known_or_not_all_bound(self) -> None:
        assert prepared(routing=[]).bind((1,)).routing_key is None
        assert prepared(routing=[1]).bind((1, None)).routing_key is None
        bound = prepared().bind((1,))
        bound.routing_key = b"mine"
        assert bound.routing_key == b"mine"

    def test_before_bind_there_are_no_values(self) -> None:
        assert BoundStatement(prepared()).values == []


class TestBatch:
    def test_entries_in_order(self) -> None:
        statement = prepared()
        batch = BatchStatement(BatchType.UNLOGGED)
        batch.add(statement, (1, "a")).add(statement.bind((2, "b"))).add(
            "INSERT INTO t (k) VALUES (%s)", ("it's",)
        )
        batch.add(SimpleStatement("DELETE FROM t"))
        assert len(batch) == 4
        assert batch.entries[2:] == ["INSERT INTO t (k) VALUES ('it''s')", "DELETE FROM t"]
        assert batch.routing_key == b"\0\0\0\x01"
        assert (batch.keyspace, batch.table) == ("ks", "people")

    def test_add_all_and_clear(self) -> None:
        batch = BatchStatement()
        batch.add_all(["a %s", "b %s"], [(1,), (2,)])
        assert list(batch.entries) == ["a 1", "b 2"]
        batch.clear()
        assert len(batch) == 0
        assert batch.routing_key is None
        assert bool(batch)

    def test_payloads_are_merged(self) -> None:
        batch = BatchStatement(custom_payload={"a": b"1"})
        batch.add(SimpleStatement("x", custom_payload={"b": b"2"}))
        assert batch.custom_payload == {"a": b"1", "b": b"2"}

    def test_limits_and_mistakes(self) -> None:
        batch = BatchStatement()
        with pytest.raises(TypeError, match="int"):
            batch.add(5)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="no further parameters"):
            batch.add(prepared().bind((1,)), (2,))
        with pytest.raises(TypeError, match=r'"id" \(int, Int32Type\)'):
            batch.add(prepared(), ("x",))
        assert len(batch) == 0
        for _ in range(0xFFFF):
            batch.add("x")
        with pytest.raises(ValueError, match="65535"):
            batch.add("x")

    def test_types_show_their_names(self) -> None:
        assert str(BatchType.LOGGED) == "LOGGED"
        assert [
            kind.value for kind in (BatchType.LOGGED, BatchType.UNLOGGED, BatchType.COUNTER)
        ] == [0, 1, 2]


class TestParameters:
    @pytest.mark.parametrize(
        ("query", "parameters", "expected"),
        [
            ("SELECT %s", (1,), "SELECT 1"),
            ("SELECT %s, %s", ["it's", None], "SELECT 'it''s', NULL"),
            ("SELECT %(a)s, %(b)s", {"a": True, "b": b"\x01\xff"}, "SELECT true, 0x01ff"),
            ("x IN %s", (ValueSequence((1, 2)),), "x IN (1 , 2)"),
            ("a %% b %s", (1,), "a % b 1"),
            ("%s", (decimal.Decimal("1.50"),), "1.50"),
        ],
    )
    def test_literals(self, query: str, parameters: Any, expected: str) -> None:
        made = bind_params(query, parameters)
        assert made.replace("( ", "(").replace(" )", ")") in (expected, expected.replace(" ,", ","))

    @pytest.mark.parametrize(
        ("query", "parameters", "error", "message"),
        [
            ("SELECT %s, %s", (1,), TypeError, "SELECT %s, %s.*1 parameter given"),
            ("SELECT %s", (1, 2), TypeError, "2 parameters given"),
            ("SELECT %(a)s", {"b": 1}, ValueError, "no parameter is named 'a'"),
            ("SELECT %s", "text", TypeError, "sequence or a mapping, not str: 'text'"),
            ("SELECT %s", 5, TypeError, "sequence or a mapping, not int: 5"),
            ("SELECT '%' FROM t WHERE k = %s", (1,), ValueError, "a literal % is written %%"),
        ],
    )
    def test_mistakes_name_the_query(
        self, query: str, parameters: Any, error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            bind_params(query, parameters)


@pytest.mark.parametrize("sizes", [(65_535, 1), (65_536, 1), (1, 70_000)])
def test_components_of_a_routing_key_have_a_limit_that_is_named(sizes: tuple[int, int]) -> None:
    statement = SimpleStatement("SELECT 1", routing_key=[b"a" * size for size in sizes])
    if max(sizes) <= 65_535:
        assert statement.routing_key == b"\xff\xff" + b"a" * 65_535 + b"\0\0\x01a\0"
        return
    with pytest.raises(ValueError, match=rf"partition key column of {max(sizes)} bytes.*65535"):
        _ = statement.routing_key
