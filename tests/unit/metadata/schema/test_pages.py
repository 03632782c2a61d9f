"""Test how the pages of the schema tables are decoded.

Equal values become the same object, and a damaged value is replaced by an error.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.errors import DecodeError
from cassandra.metadata.schema import pages as pages_module
from cassandra.metadata.schema.pages import ColumnPages, Pages
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import list_of, map_of, set_of
from tests.unit.protocol.pages import message_of
from tests.unit.protocol.wire import int32, value


@pytest.fixture(autouse=True)
def _implementation(implementation: Implementation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test run with the compiled and with the pure Python version."""
    monkeypatch.setattr(pages_module, "row_plans", implementation.rows)


def decoded(pages: Pages, cqltype: Any, *cells: Any, name: str = "a") -> list[Any]:
    """Return the decoded values of a column with these encoded cells."""
    (column,) = pages.decode(message_of({name: cqltype}, [[cell] for cell in cells]), 4)
    return column


def test_equal_values_are_the_same_object() -> None:
    """Equal values are decoded to the same object, also from different pages."""
    pages = Pages()
    data = int32(1) + value(b"key") + value(b"text value")
    first, null, second = decoded(pages, map_of(t.UTF8Type, t.UTF8Type), data, None, data)
    assert first is second
    assert type(first) is dict
    assert first == {"key": "text value"}
    assert null is None
    (of_next_page,) = decoded(pages, map_of(t.UTF8Type, t.UTF8Type), data)
    assert of_next_page is first
    assert not pages.damaged


def test_names_of_tables_views_and_indexes_are_not_cached() -> None:
    """The names of tables, views and indexes are not cached.

    These names are all different, so a cache for them would only take memory.
    """
    for name in ("table_name", "view_name", "index_name"):
        pages = Pages()
        values = decoded(pages, t.UTF8Type, b"some name", b"some name", name=name)
        assert values == ["some name", "some name"]
        assert pages._cached == {}


def test_classes_of_decoded_values() -> None:
    """Sets must be decoded to frozensets, and UUIDs must stay bytes."""
    pages = Pages()
    (names,) = decoded(pages, set_of(t.UTF8Type), int32(1) + value(b"x"))
    assert type(names) is frozenset
    assert names == {"x"}
    assert decoded(pages, list_of(t.Int32Type), int32(1) + value(int32(5))) == [[5]]
    # UUIDs must not be decoded, because few applications read them.
    assert decoded(pages, t.UUIDType, bytes(16)) == [bytes(16)]
    assert decoded(pages, t.Int32Type, int32(5)) == [5]


@pytest.mark.parametrize(
    ("cqltype", "name", "data"),
    [(t.UTF8Type, "a", b"\xff"), (t.UTF8Type, "table_name", b"\xff"), (t.Int32Type, "a", b"x")],
)
def test_a_damaged_value_becomes_an_error_in_its_place(
    cqltype: Any, name: str, data: bytes
) -> None:
    """A damaged value is replaced by a DecodeError, and `damaged` becomes True."""
    pages = Pages()
    good = int32(5) if cqltype is t.Int32Type else b"good"
    first, damaged = decoded(pages, cqltype, good, data, name=name)
    assert first == (5 if cqltype is t.Int32Type else "good")
    assert isinstance(damaged, DecodeError)
    assert f"a value of type {cqltype.typename} cannot be decoded" in str(damaged)
    assert pages.damaged


def test_a_replaced_deserialize_method_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `deserialize` method that an application replaces is not used for the schema tables."""
    monkeypatch.setattr(t.Int32Type, "deserialize", lambda *_: "replaced")
    assert decoded(Pages(), t.Int32Type, int32(5)) == [5]


def test_pages_of_columns_stay_bytes() -> None:
    """Pages of system_schema.columns stay bytes until a table is built."""
    message = message_of({"a": t.Int32Type}, [[int32(5)], [int32(6)]])
    column_pages = ColumnPages()
    column_pages.add(message)
    column_pages.add(message)
    assert column_pages.pages == [message.rows_body] * 2
    assert column_pages.rows_of == {}
    assert column_pages.texts is None
