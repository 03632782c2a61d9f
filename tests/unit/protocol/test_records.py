"""Rows whose values are found by name: mappings, dataclasses and other objects. Other objects are
refused.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections import defaultdict
from typing import Any, ClassVar

import attrs
import pytest

from cassandra.protocol.records import (
    declared_fields,
    is_lone_text,
    is_record,
    locate_row,
    values_of,
)
from cassandra.sentinels import UNSET_VALUE

NAMES = ["a", "b"]


@dataclasses.dataclass
class Row:
    a: int
    b: int = 2
    kind: ClassVar[str] = "row"


@attrs.define
class Other:
    a: int
    b: int


@attrs.define
class Named:
    """A class with aliases, by which its fields are found."""

    a: int
    number: int = attrs.field(alias="b")


class Plain:
    def __init__(self, **values: Any) -> None:
        vars(self).update(values)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"a": 1, "b": 2, "c": 3}, (1, 2)),
        ({"a": 1}, (1, UNSET_VALUE)),
        (Row(1), (1, 2)),
        (Other(1, 2), (1, 2)),
        (Named(1, b=2), (1, 2)),
        (Plain(a=1, b=2, c=3), (1, 2)),
        (Plain(b=2), (UNSET_VALUE, 2)),
        ([1, 2], (1, 2)),
        (iter([1, 2]), (1, 2)),
        (defaultdict(int, a=1), (1, 0)),
    ],
)
def test_values_of_rows(row: Any, expected: Any) -> None:
    """A row of each class gives the expected values."""
    assert values_of(row, NAMES, 5) == expected


@pytest.mark.parametrize("row", [5, uuid.UUID(int=1), "ab", b"ab", bytearray(b"ab"), Plain(c=1)])
def test_objects_that_are_not_rows(row: Any) -> None:
    """Objects that cannot be rows are refused."""
    with pytest.raises(TypeError, match="they have to be a sequence"):
        values_of(row, NAMES, 5)


def test_a_text_of_one_character_is_a_value_for_one_marker() -> None:
    # A longer text is refused elsewhere, since its characters would be taken for the values.
    assert values_of("x", ["a"], 5) == ("x",)
    assert [
        is_lone_text(*arguments) for arguments in (("x", 1), ("xy", 1), ("x", 2), (b"x", 1))
    ] == [
        True,
        False,
        False,
        False,
    ]


def test_fields_without_a_marker_are_mistakes() -> None:
    with pytest.raises(ValueError, match=r"Row has the field 'b', but the bind markers are a$"):
        values_of(Row(1), ["a"], 5)
    with pytest.raises(ValueError, match=r"Row has the fields 'a', 'b', but .* are none$"):
        values_of(Row(1), names=[], version=5)


def test_strict_mappings() -> None:
    """With `strict`, a key without a bind marker is refused, but a missing value is still unset."""
    with pytest.raises(ValueError, match="values for 'c', but the bind markers are a, b"):
        values_of({"a": 1, "b": 2, "c": 3}, NAMES, 5, strict=True)
    assert values_of({"a": 1}, NAMES, 5, strict=True) == (1, UNSET_VALUE)


def test_values_that_must_not_be_missing() -> None:
    """Values of the partition key must not be missing; before version 4, no value may."""
    with pytest.raises(ValueError, match="the partition key needs a value for 'b'"):
        values_of({"a": 1}, NAMES, 5, key=[1])
    assert values_of({"a": 1}, NAMES, 5, key=[0]) == (1, UNSET_VALUE)
    with pytest.raises(KeyError, match="protocol version 3 cannot leave"):
        values_of({"a": 1}, NAMES, 3)


def test_records_and_their_fields() -> None:
    """Objects with named fields count as records, and the fields they declare are known."""
    assert declared_fields(Row) == declared_fields(Other) == ("a", "b")
    assert declared_fields(Plain) is None
    values: list[Any] = [Row(1), Plain(), [], {}, 5, uuid.UUID(int=1), Plain]
    results = [is_record(value) for value in values]
    assert results == [True, True, False, False, False, False, False]


def test_the_row_of_an_error() -> None:
    """If the driver refuses a row, the error gets the row's number. Other errors are not
    changed.
    """
    driver_error, other_error = ValueError("bad value"), RuntimeError("their own")
    locate_row(driver_error, 7)
    locate_row(other_error, 7)
    assert str(driver_error) == "row 7: bad value"
    assert str(other_error) == "their own"


def test_names_without_a_marker_are_logged_once_per_statement(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # The driver recognises a statement by its markers, so use markers that no other test has.
    markers = [f"id_{uuid.uuid4().hex}", "name"]
    for _ in range(3):
        bound = values_of({markers[0]: 1, "nmae": "x"}, markers, 4)
        assert bound == (1, UNSET_VALUE)
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("cassandra.query", "WARNING")
    assert "'nmae'" in record.getMessage()
    assert "Did you mean 'name' by 'nmae'?" in record.getMessage()
    # There is one log line for each statement, even if no value is missing, and none for mappings
    # that fit.
    caplog.clear()
    others = [f"id_{uuid.uuid4().hex}", "name"]
    values_of({others[0]: 1}, others, 4)
    values_of({others[0]: 1, "name": 2}, others, 4)
    assert not caplog.records
    values_of({others[0]: 1, "name": 2, "more": 3}, others, 4)
    assert "'more'" in caplog.text


def test_a_repeated_marker_gets_the_same_value_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert values_of({"a": 1}, ["a", "a"], 4) == (1, 1)
    assert not caplog.records


def test_sets_have_no_order() -> None:
    for row in ({1, 2}, frozenset({1, 2}), {1: "a", 2: "b"}.keys()):
        with pytest.raises(TypeError, match=r"values are the \w+ .*, which has no order"):
            values_of(row, NAMES, 4)
    assert values_of({1}, ["a"], 4) == (1,)
