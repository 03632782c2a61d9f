"""Tests of converters for values that become literals in a simple statement.

If a converter is registered for a value's class, the value is converted first.
"""

from __future__ import annotations

import datetime
import enum
from typing import Any

import pytest

from cassandra.codecs import CodecRegistry
from cassandra.cqltypes import EncodeValueError
from cassandra.encoder import Encoder


class Color(enum.Enum):
    RED = "red"


class Moment(datetime.datetime):
    """A subclass of datetime, as some libraries have."""


class Name(str):
    """A subclass of str."""


@pytest.fixture
def registry() -> CodecRegistry:
    registry = CodecRegistry()
    registry.register_class(Color, lambda color: color.name)
    return registry


def test_values_are_converted_inside_collections_too(registry: CodecRegistry) -> None:
    encoder = Encoder()
    registry.serve(encoder)
    literal = encoder.cql_encode_all_types
    assert literal(Color.RED) == "'RED'"
    assert literal([Color.RED, {Color.RED: None}]) == "['RED', {'RED': NULL}]"


def test_a_converted_value_is_not_converted_again() -> None:
    """The result of a converter is not converted again.

    The result becomes a literal even if a converter is registered for its class, too.
    """
    # This is the registry of a session, whose parent is the registry of the cluster.
    registry = CodecRegistry(CodecRegistry())
    encoder = Encoder()
    registry.serve(encoder)
    registry.register_class(str, str.upper)
    registry.register_class(Moment, lambda moment: moment.date())
    registry.register_class(Color, lambda color: color)
    assert encoder.cql_encode_all_types("a'b") == "'A''B'"
    assert encoder.cql_encode_all_types(Moment(2020, 1, 2)) == "'2020-01-02'"
    # This converter returns its value unchanged, which is then written as without a converter.
    assert encoder.cql_encode_all_types(Color.RED) == "'red'"


def test_subclasses_that_the_encoder_knows_are_converted() -> None:
    """As for bound values, a datetime is a date, and True is an int."""
    encoder = Encoder()
    encoder.mapping[Name] = lambda name: "the application's"
    registry = CodecRegistry()
    registry.serve(encoder)
    registry.register_class(datetime.date, lambda date: date.replace(day=1))
    registry.register_class(str, str.upper)
    literal = encoder.cql_encode_all_types
    assert literal(datetime.date(2020, 5, 17)) == "'2020-05-01'"
    assert literal(datetime.datetime(2020, 5, 17)) == literal(datetime.datetime(2020, 5, 1))
    assert literal(Name("a")) == "the application's"
    registry.unregister_class(datetime.date)
    assert literal(datetime.date(2020, 5, 17)) == "'2020-05-17'"
    assert encoder.mapping[datetime.datetime] == encoder.cql_encode_datetime


def test_values_in_a_converted_value_are_not_converted() -> None:
    """As for bound values, a converter returns plain CQL values, also in a collection."""
    registry = CodecRegistry()
    encoder = Encoder()
    encoder.mapping[list] = lambda items: f"({encoder.cql_encode_all_types(items[0])})"
    registry.serve(encoder)
    registry.register_class(str, str.upper)
    registry.register_class(Color, lambda color: {color.value: {color.value}})
    registry.register_class(Moment, lambda moment: [1])
    registry.register_class(Name, lambda name: Name(f"the {name}"))
    literal = encoder.cql_encode_all_types
    assert literal(Color.RED) == "{'red': {'red'}}"
    assert literal({"a": Color.RED}) == "{'A': {'red': {'red'}}}"
    assert literal(Moment(2020, 1, 2)) == "(1)"  # by the application's own function
    assert literal(Name("a")) == "'the a'"


def test_an_error_names_the_value(registry: CodecRegistry) -> None:
    encoder = Encoder()
    registry.serve(encoder)
    registry.register_class(int, lambda number: None)
    with pytest.raises(EncodeValueError, match=r"made None of 5 \(int\)"):
        encoder.cql_encode_all_types(5)


def test_unregistering_removes_the_entries_of_the_mapping(registry: CodecRegistry) -> None:
    """Unregistering a class removes its entry from the mapping of each encoder.

    Registered classes get entries in the mapping of each encoder that the registry serves.
    """
    encoder = Encoder()
    mapping_before = dict(encoder.mapping)
    registry.serve(encoder)
    registry.register_class(Moment, lambda moment: "x")
    registry.register_class(str, str.upper)
    for cls in (Color, Moment, str):
        registry.unregister_class(cls)
    assert encoder.mapping == mapping_before


def test_unregistering_keeps_an_entry_of_the_application(registry: CodecRegistry) -> None:
    """Unregistering a class keeps a function that the application has put into the mapping."""
    encoder = Encoder()
    registry.serve(encoder)
    own_function: Any = lambda color: "own"  # noqa: E731
    encoder.mapping[Color] = own_function
    registry.unregister_class(Color)
    assert encoder.mapping[Color] is own_function


def test_a_new_converter_replaces_the_old_one(registry: CodecRegistry) -> None:
    encoder = Encoder()
    registry.serve(encoder)
    registry.register_class(Color, lambda color: color.value)
    assert encoder.cql_encode_all_types(Color.RED) == "'red'"


def test_an_encoder_without_a_mapping_is_not_changed(registry: CodecRegistry) -> None:
    """If the application has replaced the encoder, registering converters does not change it."""

    class CustomEncoder:
        """An application's own encoder, which replaces the driver's encoder and has no mapping."""

    encoder: Any = CustomEncoder()
    registry.serve(encoder)
    registry.register_class(int, str)
