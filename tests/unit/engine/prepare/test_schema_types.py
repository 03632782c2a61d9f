"""Test the comparison of bind markers with the schema."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cqltypes import Int32Type, ListType, VarcharType
from cassandra.cqltypes.udt import UserType
from cassandra.engine.prepare.schema_types import has_types_of_schema, is_of_function, key_positions
from cassandra.protocol.column_specs import ColumnMetadata

PLACE = UserType.make_udt_class("ks", "place", ["a", "b"], [Int32Type, VarcharType])


@pytest.mark.parametrize(
    ("cql_type", "marker_type", "is_known"),
    [
        ("text", VarcharType, True),
        ("frozen<list<text>>", ListType.apply_parameters([VarcharType]), True),
        ("frozen<place>", PLACE, True),
        ("list<frozen<place>>", ListType.apply_parameters([PLACE]), True),
        ("frozen<moved>", UserType.make_udt_class("ks", "moved", "ba", [Int32Type] * 2), False),
        ("frozen<wide>", UserType.make_udt_class("ks", "wide", "ab", [Int32Type] * 2), False),
        ("frozen<gone>", UserType.make_udt_class("ks", "gone", "ab", [Int32Type] * 2), False),
    ],
)
def test_types_are_compared_with_the_schema(
    cql_type: str, marker_type: Any, is_known: bool
) -> None:
    """The fields of user-defined types are compared, too, and text is called varchar in markers."""
    places = {
        name: SimpleNamespace(field_names=["a", "b"], field_types=["int", field_type])
        for name, field_type in (("place", "text"), ("moved", "int"), ("wide", "bigint"))
    }
    table: Any = SimpleNamespace(columns={"k": SimpleNamespace(cql_type=cql_type)})
    keyspace: Any = SimpleNamespace(tables={"t": table}, views={}, user_types=places)
    metadata: Any = SimpleNamespace(keyspaces={"ks": keyspace})
    markers = [ColumnMetadata("ks", "t", "k", marker_type)]
    assert has_types_of_schema(metadata, markers) is is_known


def markers(*names: str, table: str = "t") -> list[ColumnMetadata]:
    """Return bind markers for these columns of a table in the keyspace "ks"."""
    return [ColumnMetadata("ks", table, name, Int32Type) for name in names]


def metadata(*key: str) -> Any:
    """Return metadata with the table ``ks.t``, whose partition key consists of these columns."""
    columns = [SimpleNamespace(name=name) for name in key]
    table = SimpleNamespace(partition_key=columns)
    return SimpleNamespace(keyspaces={"ks": SimpleNamespace(tables={"t": table})})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("arg0(ks.f)", True),
        ("arg12(other.g)", True),
        ("arg0(system.now)", False),
        ("in(k)", False),
        ("in(a.b,c)", False),
        ("value(m)", False),
        ("token(a, b)", False),
    ],
)
def test_arguments_of_functions(name: str, expected: bool) -> None:
    """Only these depend on functions: an event about one must not outdate all other statements."""
    (marker,) = markers(name)
    assert is_of_function(marker) is expected


def test_positions_are_in_the_order_of_the_key() -> None:
    """`key_positions` returns the indexes of the key columns' markers, in the order of the key."""
    assert key_positions(metadata("a", "b"), markers("b", "v", "a")) == [2, 0]
    # If a key column has several markers, the first marker is used. For example, the statement may
    # be "BEGIN BATCH UPDATE t SET v = ? WHERE a = ?; DELETE FROM t WHERE a = ?; APPLY BATCH".
    assert key_positions(metadata("a"), markers("v", "a", "a")) == [1]


def test_unknown_keys_have_no_positions() -> None:
    """`key_positions` returns None if the positions cannot be known.

    A key column may have no marker, or the table or its key is unknown.
    """
    assert key_positions(metadata("a", "b"), markers("a")) is None
    assert key_positions(metadata("a"), markers("a", table="other")) is None
    assert key_positions(SimpleNamespace(keyspaces={}), markers("a")) is None  # type: ignore[arg-type]
    assert key_positions(metadata("a"), markers=[]) is None
    assert key_positions(metadata("a"), markers=None) is None
    assert key_positions(metadata(), markers("a")) is None
