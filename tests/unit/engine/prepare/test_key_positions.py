"""The positions of the partition key among the bind markers, according to the schema."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from cassandra.cqltypes import Int32Type
from cassandra.engine.prepare.key_positions import key_positions
from cassandra.protocol.column_specs import ColumnMetadata


def markers(*names: str, table: str = "t") -> list[ColumnMetadata]:
    """Return bind markers for these columns of a table in the keyspace "ks"."""
    return [ColumnMetadata("ks", table, name, Int32Type) for name in names]


def metadata(*key: str) -> Any:
    """Return metadata with the table ``ks.t``, whose partition key has these columns."""
    columns = [SimpleNamespace(name=name) for name in key]
    table = SimpleNamespace(partition_key=columns)
    return SimpleNamespace(keyspaces={"ks": SimpleNamespace(tables={"t": table})})


def test_positions_are_in_the_order_of_the_key() -> None:
    assert key_positions(metadata("a", "b"), markers("b", "v", "a")) == [2, 0]
    # A column that is named twice also occurs in a condition, so only its first marker counts.
    assert key_positions(metadata("a"), markers("v", "a", "a")) == [1]


def test_unknown_keys_have_no_positions() -> None:
    """The result is None if a key column has no marker, or if the table or its key is unknown."""
    assert key_positions(metadata("a", "b"), markers("a")) is None
    assert key_positions(metadata("a"), markers("a", table="other")) is None
    assert key_positions(SimpleNamespace(keyspaces={}), markers("a")) is None  # type: ignore[arg-type]
    assert key_positions(metadata("a"), markers=[]) is None
    assert key_positions(metadata("a"), markers=None) is None
    assert key_positions(metadata(), markers("a")) is None
