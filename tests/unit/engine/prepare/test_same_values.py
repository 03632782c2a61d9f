"""Comparisons of encoded values of two types, which show whether binding again altered a value."""

from __future__ import annotations

import math
import uuid
from decimal import Decimal
from typing import Any

import pytest

from cassandra.cqltypes import (
    AsciiType,
    BooleanType,
    BytesType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    FrozenType,
    InetAddressType,
    Int32Type,
    IntegerType,
    ListType,
    LongType,
    MapType,
    ReversedType,
    SetType,
    SimpleDateType,
    TimeType,
    TimeUUIDType,
    TupleType,
    UserType,
    UTF8Type,
    UUIDType,
    VectorType,
)
from cassandra.engine.prepare.same_values import has_same_values, is_same_value
from cassandra.marshal import int32_pack


def list_of(element: Any) -> Any:
    return ListType.apply_parameters([element])


def set_of(element: Any) -> Any:
    return SetType.apply_parameters([element])


def map_of(key: Any, value: Any) -> Any:
    return MapType.apply_parameters([key, value])


def tuple_of(*fields: Any) -> Any:
    return TupleType.apply_parameters(fields)


def vector_of(element: Any, dimension: int) -> Any:
    return VectorType.apply_parameters([element, dimension])


def place(**fields: Any) -> Any:
    """Return a user-defined type with these fields."""
    return UserType.make_udt_class("ks", "place", list(fields), list(fields.values()))


class ApplicationType(BytesType):
    """A type whose values are defined by the application."""

    _registered = False
    typename = "'com.example.ApplicationType'"

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        return byts.hex()


def is_kept(old: Any, value: Any, new: Any) -> bool:
    """Return True if `value`, encoded for `old`, is the same after it was encoded for `new`."""
    data = old.codec().encode(value)
    renewed = new.codec().encode(old.codec().decode(data))
    return has_same_values(old, new) and is_same_value(old, data, new, renewed)


NAN, TIME_ID = float("nan"), uuid.UUID("c9b1c4a0-0000-11ee-8000-000000000000")

KEPT: list[Any] = [
    (Int32Type, 7, LongType),
    (LongType, 7, Int32Type),
    (Int32Type, -7, IntegerType),
    (Int32Type, 16_777_216, FloatType),
    (LongType, 1 << 62, DoubleType),
    (Int32Type, 7, DecimalType),
    (DoubleType, 0.5, FloatType),
    (DoubleType, -0.0, FloatType),
    (DoubleType, NAN, FloatType),
    (DoubleType, -math.inf, FloatType),
    (DecimalType, Decimal("0.500"), DoubleType),
    (AsciiType, "a", UTF8Type),
    (UTF8Type, "", AsciiType),
    (UTF8Type, "::1", InetAddressType),
    (TimeUUIDType, TIME_ID, UUIDType),
    (list_of(Int32Type), [1, 2], list_of(LongType)),
    (list_of(AsciiType), ["", "a"], list_of(UTF8Type)),
    (list_of(Int32Type), [1, None], list_of(LongType)),
    (list_of(DoubleType), [0.5, 1.0], vector_of(FloatType, 2)),
    (vector_of(AsciiType, 2), ["", "a"], vector_of(UTF8Type, 2)),
    (vector_of(DoubleType, 2), [0.5, NAN], vector_of(FloatType, 2)),
    (set_of(Int32Type), {1, 2}, set_of(LongType)),
    # Sets are bound in any order, and lists with duplicates may be bound to sets.
    (set_of(Int32Type), [3, 1, 2, 1], set_of(LongType)),
    (set_of(AsciiType), ["b", "a", ""], set_of(UTF8Type)),
    (set_of(set_of(Int32Type)), [[2, 1], [1]], set_of(set_of(LongType))),
    (map_of(set_of(Int32Type), AsciiType), {(2, 1): "a"}, map_of(set_of(LongType), UTF8Type)),
    (list_of(set_of(DoubleType)), [[NAN, 2.0, 1.0]], list_of(set_of(FloatType))),
    (map_of(Int32Type, DoubleType), {1: 0.5, 2: 1.5}, map_of(LongType, FloatType)),
    (tuple_of(Int32Type, AsciiType), (1, "a"), tuple_of(LongType, UTF8Type)),
    (tuple_of(Int32Type), (1,), tuple_of(LongType, UTF8Type)),
    (FrozenType.apply_parameters([list_of(Int32Type)]), [1], list_of(Int32Type)),
    (ReversedType.apply_parameters([Int32Type]), 1, LongType),
    (place(a=Int32Type, b=UTF8Type), (1, None), place(b=UTF8Type, c=Int32Type, a=LongType)),
    (list_of(place(a=Int32Type)), [(1,)], list_of(place(b=UTF8Type, a=Int32Type))),
]

ALTERED: list[Any] = [
    (LongType, (1 << 53) + 1, DoubleType),
    (LongType, (1 << 24) + 1, FloatType),
    (DoubleType, 0.1, FloatType),
    (DecimalType, Decimal("0.1"), DoubleType),
    (UTF8Type, "::0001", InetAddressType),
    (list_of(DoubleType), [0.5, 0.1], list_of(FloatType)),
    (list_of(DoubleType), [0.5, 0.1], vector_of(FloatType, 2)),
    (vector_of(DoubleType, 2), [0.5, 0.1], vector_of(FloatType, 2)),
    (set_of(DoubleType), {0.5, 0.1}, set_of(FloatType)),
    (map_of(DoubleType, Int32Type), {0.1: 1}, map_of(FloatType, Int32Type)),
    (map_of(Int32Type, DoubleType), {1: 0.1}, map_of(Int32Type, FloatType)),
    (tuple_of(Int32Type, DoubleType), (1, 0.1), tuple_of(Int32Type, FloatType)),
    (place(a=DoubleType), (0.1,), place(b=UTF8Type, a=FloatType)),
    # A named tuple cannot have these field names, so the value is bound by position.
    (place(_a=Int32Type, _b=Int32Type), (1, 2), place(_b=Int32Type, _a=Int32Type)),
]


@pytest.mark.parametrize(("old", "value", "new"), KEPT)
def test_equal_values_are_the_same(old: Any, value: Any, new: Any) -> None:
    """If another type holds a value exactly, it counts as the same, also inside other values."""
    assert is_kept(old, value, new)


@pytest.mark.parametrize(("old", "value", "new"), ALTERED)
def test_altered_values_are_not_the_same(old: Any, value: Any, new: Any) -> None:
    """If a value was rounded or altered in another way, it does not count as the same."""
    assert has_same_values(old, new)
    assert not is_kept(old, value, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LongType, BooleanType),
        (BooleanType, Int32Type),
        (FloatType, DateType),
        (LongType, DateType),
        (LongType, SimpleDateType),
        (IntegerType, TimeType),
        (DateType, SimpleDateType),
        (UTF8Type, DateType),
        (UTF8Type, BytesType),
        (UTF8Type, UUIDType),
        (ApplicationType, BytesType),
        (list_of(LongType), set_of(LongType)),
        (list_of(LongType), tuple_of(LongType, LongType)),
        (list_of(LongType), list_of(DateType)),
        (map_of(LongType, UTF8Type), map_of(DateType, UTF8Type)),
        (tuple_of(LongType, LongType), tuple_of(LongType)),
        (tuple_of(LongType), place(a=LongType)),
        (place(a=LongType), place(b=LongType)),
        (place(a=LongType), place(b=LongType, a=DateType)),
    ],
)
def test_values_of_another_kind_are_never_the_same(old: Any, new: Any) -> None:
    """If values of two types have different meanings, none are equal: a date is never a number."""
    assert not has_same_values(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (FloatType, DoubleType),
        (FloatType, DecimalType),
        (FloatType, Int32Type),
        (DoubleType, DecimalType),
        (DoubleType, LongType),
        (InetAddressType, UTF8Type),
    ],
)
def test_what_an_encoder_may_have_dropped_is_not_known(old: Any, new: Any) -> None:
    """The application may have bound 0.1, which a float rounds, or "::0001", which is an inet."""
    assert not has_same_values(old, new)
    assert not has_same_values(list_of(old), list_of(new))
    assert not has_same_values(set_of(old), set_of(new))
    assert not has_same_values(tuple_of(Int32Type, old), tuple_of(Int32Type, new))


def test_null_and_empty_values_are_only_equal_to_themselves() -> None:
    """Null, zero bytes and zero are three values."""
    zero = int32_pack(0)
    values = [None, b"", zero]
    for old in values:
        for new in values:
            assert is_same_value(Int32Type, old, Int32Type, new) is (old == new)


def test_a_new_field_must_be_null() -> None:
    """If the new value has a field or item that the old one did not have, that must be null."""
    for old, new in [
        (place(a=Int32Type), place(b=Int32Type, a=Int32Type)),
        (tuple_of(Int32Type), tuple_of(LongType, Int32Type)),
    ]:
        old_data = old.codec().encode((1,))
        assert not is_same_value(old, old_data, new, new.codec().encode((1, 1)))


def test_lists_of_different_lengths_are_not_the_same() -> None:
    """A list or map that has lost an element is not the same."""
    for old, new, longer, shorter in [
        (list_of(Int32Type), list_of(LongType), [1, 2], [1]),
        (map_of(Int32Type, Int32Type), map_of(LongType, Int32Type), {1: 1, 2: 2}, {1: 1}),
    ]:
        data = old.codec().encode(longer)
        assert not is_same_value(old, data, new, new.codec().encode(shorter))
