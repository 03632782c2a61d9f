"""The thin public modules over the types."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from cassandra import cqltypes, cython_deps, deserializers, type_codes
from cassandra._impl import implementation


def test_deserializers() -> None:
    one = deserializers.find_deserializer(cqltypes.Int32Type)
    assert one.deserialize_bytes(bytes.fromhex("00000005"), 4) == 5
    assert one.from_binary(None) is None
    assert one.from_binary(b"") is None
    assert not one.empty_binary_ok
    several = deserializers.make_deserializers(
        [cqltypes.UTF8Type, cqltypes.lookup_casstype("ListType(Int32Type)")]
    )
    assert several[0].from_binary(b"") == ""
    assert several[1].from_binary(bytes.fromhex("00000001" + "00000004" + "00000007")) == [7]


@pytest.mark.parametrize(
    "name", ["DesInt32Type", "DesBytesTypeByteArray", "DesMapType", "TimeUUIDType", "TimestampType"]
)
def test_older_names_of_deserializers(name: str) -> None:
    assert issubclass(getattr(deserializers, name), deserializers.Deserializer)
    with pytest.raises(AttributeError):
        deserializers.DesNothing  # noqa: B018


def test_arrays_of_objects() -> None:
    made: Any = deserializers.obj_array([[1], None])
    assert made.dtype == object
    assert list(made) == [[1], None]
    assert isinstance(made, numpy.ndarray)


def test_what_is_there() -> None:
    assert cython_deps.HAVE_NUMPY is True
    assert (implementation == "c") == cython_deps.HAVE_CYTHON


def test_type_codes() -> None:
    """native_protocol_v5.spec, section 4.2.5.2."""
    codes = {name: value for name, value in vars(type_codes).items() if name[0].isupper()}
    assert len(codes) == 27
    assert (
        codes["CUSTOM_TYPE"],
        codes["AsciiType"],
        codes["DurationType"],
        codes["TupleType"],
    ) == (0, 1, 0x15, 0x31)
    for name in codes:
        assert name == "CUSTOM_TYPE" or issubclass(getattr(cqltypes, name), cqltypes.CassandraType)
