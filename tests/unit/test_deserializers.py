"""Tests of deserializers, which are found by the names that applications use."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from cassandra import cqltypes, deserializers


def test_deserializers() -> None:
    """A deserializer must be found by its type and decode values.

    For null and empty numbers it returns None.
    """
    deserializer = deserializers.find_deserializer(cqltypes.Int32Type)
    assert deserializer.deserialize_bytes(bytes.fromhex("00000005"), 4) == 5
    assert deserializer.from_binary(None) is None
    assert deserializer.from_binary(b"") is None
    assert not deserializer.empty_binary_ok
    deserializer_list = deserializers.make_deserializers(
        [cqltypes.UTF8Type, cqltypes.lookup_casstype("ListType(Int32Type)")]
    )
    assert deserializer_list[0].from_binary(b"") == ""
    assert deserializer_list[1].from_binary(
        bytes.fromhex("00000001" + "00000004" + "00000007")
    ) == [7]


@pytest.mark.parametrize(
    "name", ["DesInt32Type", "DesBytesTypeByteArray", "DesMapType", "TimeUUIDType", "TimestampType"]
)
def test_older_names_of_deserializers(name: str) -> None:
    """Each older name must be a class of deserializers, and an unknown name an error."""
    assert issubclass(getattr(deserializers, name), deserializers.Deserializer)
    with pytest.raises(AttributeError):
        deserializers.DesNothing  # noqa: B018


def test_arrays_of_objects() -> None:
    """`obj_array` must return an array that contains the objects of the list."""
    array: Any = deserializers.obj_array([[1], None])
    assert array.dtype == object
    assert list(array) == [[1], None]
    assert isinstance(array, numpy.ndarray)
