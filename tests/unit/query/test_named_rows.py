"""Test `NamedRow`, a batch entry that refers to its prepared statement by its id."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.engine.request_bodies import values_of_rows
from cassandra.query.named_rows import NamedRow
from cassandra.sentinels import UNSET_VALUE


def test_a_named_row_is_bound_by_its_encoded_values() -> None:
    """A named row is bound to the prepared statement with its id, with its encoded values."""
    statement: Any = object()
    find_statement = {b"id": statement}.get
    row = NamedRow(b"id", (b"ab", None, UNSET_VALUE))
    prepared, block = row.bound(find_statement)
    assert prepared is statement
    (values,) = values_of_rows(block)
    assert values.values() == [b"ab", None, UNSET_VALUE]
    assert block.has_unset is True
    _, block_without_unset = NamedRow(b"id", [b"ab"]).bound(find_statement)
    assert block_without_unset.has_unset is False


def test_an_unknown_id_is_refused() -> None:
    """A named row whose id is unknown raises a ValueError that names the id."""
    row = NamedRow(b"\x01\xff", [])
    assert repr(row) == "<a row of the prepared statement 01ff>"
    with pytest.raises(ValueError, match="by the id 01ff, which this cluster has not prepared"):
        row.bound(lambda query_id: None)
