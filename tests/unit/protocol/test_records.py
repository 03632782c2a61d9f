"""Test `values_of`, which finds a row's values by name in mappings, dataclasses and objects."""

from __future__ import annotations

import dataclasses
import uuid
import warnings
from collections import defaultdict, namedtuple
from typing import Any, ClassVar

import attrs
import pandas
import pytest

from cassandra.errors import MissingParameter
from cassandra.protocol import records
from cassandra.protocol.records import (
    declared_fields,
    is_lone_text,
    is_record,
    locate_row,
    values_of,
)
from cassandra.sentinels import UNSET_VALUE

NAMES = ["a", "b"]


# Classes of an application whose instances are bound as rows.
@dataclasses.dataclass
class Row:
    a: int
    b: int = 2
    kind: ClassVar[str] = "row"


@attrs.define
class AttrsRow:
    a: int
    b: int


@attrs.define
class AttrsRowWithAlias:
    """A class whose field `number` is found by its alias."""

    a: int
    number: int = attrs.field(alias="b")


class PlainRow:
    """An object with any attributes, of a class that does not declare them."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"a": 1, "b": 2, "c": 3}, (1, 2)),
        ({"a": 1}, (1, UNSET_VALUE)),
        (Row(1), (1, 2)),
        (AttrsRow(1, 2), (1, 2)),
        (AttrsRowWithAlias(1, b=2), (1, 2)),
        (PlainRow(a=1, b=2, c=3), (1, 2)),
        (PlainRow(b=2), (UNSET_VALUE, 2)),
        ([1, 2], (1, 2)),
        (iter([1, 2]), (1, 2)),
        (defaultdict(int, a=1), (1, 0)),
    ],
)
def test_values_of_rows(row: Any, expected: Any) -> None:
    """`values_of` returns a row's values of a and b, for any class; a missing value is unset."""
    assert values_of(row, NAMES, version=5) == expected


@pytest.mark.parametrize("row", [5, uuid.UUID(int=1), "ab", b"ab", bytearray(b"ab"), PlainRow(c=1)])
def test_objects_that_are_not_rows_are_refused(row: Any) -> None:
    """An object that is not a row raises an error that is both a TypeError and a ValueError.

    Applications of cassandra-driver may expect either of them.
    """
    with pytest.raises(TypeError, match="they have to be a sequence") as caught:
        values_of(row, NAMES, version=5)
    assert isinstance(caught.value, ValueError)


def test_a_string_of_one_character_is_a_value_for_one_marker() -> None:
    """A string of one character is accepted as the value of a single bind marker.

    A longer string is refused, because its characters would be taken for the values. The second
    argument of `is_lone_text` is the number of bind markers.
    """
    assert values_of("x", ["a"], version=5) == ("x",)
    assert is_lone_text("x", 1)
    assert not is_lone_text("xy", 1)
    assert not is_lone_text("x", 2)
    assert not is_lone_text(b"x", 1)


def test_fields_without_a_marker_are_mistakes() -> None:
    """A field of a dataclass that has no bind marker is an error, because the class declares it."""
    with pytest.raises(ValueError, match=r"Row has the field 'b', but the bind markers are a$"):
        values_of(Row(1), ["a"], version=5)
    with pytest.raises(ValueError, match=r"Row has the fields 'a', 'b', but .* are none$"):
        values_of(Row(1), names=[], version=5)


def test_strict_mappings() -> None:
    """With `strict`, a key without a bind marker must be refused, and a missing value unset."""
    with pytest.raises(ValueError, match="values for 'c', but the bind markers are a, b"):
        values_of({"a": 1, "b": 2, "c": 3}, NAMES, version=5, strict=True)
    assert values_of({"a": 1}, NAMES, version=5, strict=True) == (1, UNSET_VALUE)


def test_values_that_must_not_be_missing() -> None:
    """Values of the partition key must not be missing; before protocol version 4, no value may be.

    `key` has the indexes of the partition key's columns.
    """
    with pytest.raises(ValueError, match="the partition key needs a value for 'b'"):
        values_of({"a": 1}, NAMES, version=5, key=[1])
    assert values_of({"a": 1}, NAMES, version=5, key=[0]) == (1, UNSET_VALUE)
    with pytest.raises(KeyError, match="protocol version 3 cannot leave"):
        values_of({"a": 1}, NAMES, version=3)


@pytest.mark.parametrize(
    ("row", "note"),
    [
        ({"name": "x", "ID": 1}, "'id'; there is a value for 'ID': did you mean 'id'?"),
        ({"name": "x", "idd": 1}, "'id'; there is a value for 'idd': did you mean 'id'?"),
        ({"name": "x", "key": 1, 5: 2}, "'id'; there are values for 'key'"),
        ({"name": "x"}, "needs a value for 'id'"),
    ],
)
@pytest.mark.filterwarnings("ignore:a mapping has values for 'ID'")
def test_a_missing_key_names_the_misspelt_one(row: dict[Any, Any], note: str) -> None:
    """The error for a missing partition key names a misspelled key of the mapping."""
    with pytest.raises(MissingParameter) as failure:
        values_of(row, ("id", "name"), version=5, key=[0])
    assert str(failure.value).strip('"').endswith(note)


def test_records_and_their_fields() -> None:
    """`is_record` is True for objects with attributes; `declared_fields` returns their fields.

    The function returns None if the class does not declare its fields.
    """
    assert declared_fields(Row) == ("a", "b")
    assert declared_fields(AttrsRow) == ("a", "b")
    assert declared_fields(PlainRow) is None
    for record in (Row(1), PlainRow()):
        assert is_record(record)
    other_objects: list[Any] = [[], {}, 5, uuid.UUID(int=1), PlainRow]
    for other in other_objects:
        assert not is_record(other)


def test_the_row_of_an_error() -> None:
    """`locate_row` adds a row's number to errors of the driver, but not to errors of user code."""
    driver_error, other_error = ValueError("bad value"), RuntimeError("their own")
    locate_row(driver_error, 7)
    locate_row(other_error, 7)
    assert str(driver_error) == "row 7: bad value"
    assert str(other_error) == "their own"


def test_misspelt_names_are_warned_of_once_per_statement(caplog: pytest.LogCaptureFixture) -> None:
    """A warning names a mapping's key without a marker, and a marker with a similar name.

    The warning appears only if this marker has no value. Other keys are only logged, because a
    mapping may be for several statements.
    """
    for key, marker in (("nmae", "name"), ("firstname", "first_name")):
        # The driver recognizes a statement by its markers, so use markers that no other test has.
        id_marker = f"id_{uuid.uuid4().hex}"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                values = values_of({id_marker: 1, key: "x"}, [id_marker, marker], version=4)
                assert values == (1, UNSET_VALUE)
        (warning,) = caught
        assert warning.category is RuntimeWarning
        assert warning.filename == __file__
        assert str(warning.message) == (
            f"a mapping has values for {key!r}, but the bind markers of its statement are "
            f"{id_marker}, {marker}: they are not used. Did you mean {marker!r} by {key!r}?"
        )
    assert not caplog.records


def test_names_without_a_marker_are_logged_once_per_statement(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A key without a bind marker is logged once per statement."""
    id_marker = f"id_{uuid.uuid4().hex}"
    markers = [id_marker, "name"]
    # Mappings that fit are not logged. A mapping with an additional key is logged.
    values_of({id_marker: 1}, markers, version=4)
    values_of({id_marker: 1, "name": 2}, markers, version=4)
    assert not caplog.records
    for _ in range(2):
        values_of({id_marker: 1, "name": 2, "names": 3}, markers, version=4)
    (record,) = caplog.records
    assert record.name == "cassandra.query"
    assert record.levelname == "WARNING"
    assert "Did you mean 'name' by 'names'?" in record.getMessage()


def test_a_harmless_key_does_not_silence_a_misspelt_one(caplog: pytest.LogCaptureFixture) -> None:
    """A statement is first used with a key too many, and later without a marker's value."""
    markers = [f"id_{uuid.uuid4().hex}", "v"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values_of({markers[0]: 1, "v": 2, "note": 3}, markers, version=4)
        values_of({markers[0]: 1, "v": 2, "other": 3}, markers, version=4)
        assert len(caplog.messages) == 1
        values_of({markers[0]: 1, "value": 2}, markers, version=4)
        assert len(caplog.messages) == 2
        assert not caught
        values_of({markers[0]: 1, "V": 2}, markers, version=4)
        values_of({markers[0]: 1, "V": 2}, markers, version=4)
    assert len(caplog.messages) == 2
    (warning,) = caught
    assert "Did you mean 'v' by 'V'?" in str(warning.message)


def test_the_keys_of_equal_rows_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mappings with further keys are common, and a load has millions of them."""
    compared: list[str] = []

    def letters_of(name: str) -> str:
        compared.append(name)
        return name

    monkeypatch.setattr(records, "letters_of", letters_of)
    marker = f"id_{uuid.uuid4().hex}"
    for _ in range(3):
        values_of({marker: 1, "note": 3}, [marker, "v"], version=4)
    assert compared == ["v", "note"]


def test_only_the_last_statements_with_unknown_names_are_remembered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Only the last 1,000 statements are remembered, so an earlier statement is reported again."""
    first_marker = f"id_{uuid.uuid4().hex}"
    other_markers = [f"{first_marker}_{number}" for number in range(1000)]
    for marker in [first_marker, *other_markers, first_marker]:
        values_of({marker: 1, "unknown": 2}, [marker], version=4)
    markers = [message.partition("statement are ")[2] for message in caplog.messages]
    assert sum(marker.startswith(f"{first_marker}:") for marker in markers) == 2


def test_a_repeated_marker_gets_the_same_value_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Two bind markers with the same name get the same value, without a warning."""
    assert values_of({"a": 1}, ["a", "a"], version=4) == (1, 1)
    assert not caplog.records


def test_sets_have_no_order() -> None:
    """A set is refused, because it has no order, unless there is only one bind marker."""
    for row in ({1, 2}, frozenset({1, 2}), {1: "a", 2: "b"}.keys()):
        with pytest.raises(TypeError, match=r"values are the \w+ .*, which has no order"):
            values_of(row, NAMES, version=4)
    assert values_of({1}, ["a"], version=4) == (1,)


# -- rows with names that are bound by position ----------------------------------------------------

Person = namedtuple("Person", ["name", "id"])
Other = namedtuple("Other", ["first", "id"])


def test_names_in_another_order_than_the_markers() -> None:
    """Named tuples and Series are bound by position, as in cassandra-driver.

    A warning appears if their names are in another order than the bind markers.
    """
    rows = [
        (Person("Ada", 1), r"row\._asdict\(\)"),
        (pandas.Series({"name": "Ada", "id": 1}), r"series\.to_dict\(\)"),
    ]
    for row, expression in rows:
        with pytest.warns(RuntimeWarning, match=f"name, id are in another .* {expression}") as seen:
            assert values_of(row, ["id", "name"], version=4) == ("Ada", 1)
        assert seen[0].filename == __file__
        # There is also a warning if the statement has further markers.
        with pytest.warns(RuntimeWarning, match="bind markers id, age, name: write"):
            values_of(row, ["id", "age", "name"], version=4)


@pytest.mark.parametrize(
    "row",
    [
        Person("Ada", 1),
        pandas.Series({"name": "Ada", "id": 1}),
        pandas.Series(["Ada", 1]),
        pandas.Series(["Ada", 1], index=["first", "id"]),
        pandas.Series(["Ada"], index=["name"]),
        Other("Ada", 1),
    ],
)
def test_names_that_are_no_mistake(row: Any) -> None:
    """Named tuples and Series whose names do not contradict the markers cause no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert values_of(row, ["name", "id"], version=4) == tuple(row)
