"""The partition key among the bind markers, by the schema."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from cassandra.cqltypes import Int32Type
from cassandra.engine.prepare.key_places import key_places
from cassandra.protocol.column_specs import ColumnMetadata


def markers(*names: str, table: str = "t") -> list[ColumnMetadata]:
    return [ColumnMetadata("ks", table, name, Int32Type) for name in names]


def metadata(*key: str) -> Any:
    columns = [SimpleNamespace(name=name) for name in key]
    table = SimpleNamespace(partition_key=columns)
    return SimpleNamespace(keyspaces={"ks": SimpleNamespace(tables={"t": table})})


def test_places_are_in_the_order_of_the_key() -> None:
    assert key_places(metadata("a", "b"), markers("b", "v", "a")) == [2, 0]
    # A second marker of a name stands in a condition.
    assert key_places(metadata("a"), markers("v", "a", "a")) == [1]


def test_what_is_not_known() -> None:
    assert key_places(metadata("a", "b"), markers("a")) is None
    assert key_places(metadata("a"), markers("a", table="other")) is None
    assert key_places(SimpleNamespace(keyspaces={}), markers("a")) is None  # type: ignore[arg-type]
    assert key_places(metadata("a"), []) is None
    assert key_places(metadata("a"), None) is None
    assert key_places(metadata(), markers("a")) is None
