"""Tests of `cassandra.type_codes`, which has the codes of the specification."""

from __future__ import annotations

import pytest

from cassandra import cqltypes, type_codes
from cassandra.cqltypes.scalars import OPTIONS


def test_type_codes() -> None:
    """The codes must be those of native_protocol_v5.spec, section 4.2.5.2."""
    codes = {name: value for name, value in vars(type_codes).items() if name[0].isupper()}
    assert len(codes) == 27
    assert codes["CUSTOM_TYPE"] == 0
    assert codes["AsciiType"] == 1
    assert codes["DurationType"] == 0x15
    assert codes["TupleType"] == 0x31
    for name in codes:
        assert name == "CUSTOM_TYPE" or issubclass(getattr(cqltypes, name), cqltypes.CassandraType)


def test_the_numbers_of_scalars_are_those_of_their_classes() -> None:
    assert {name: getattr(type_codes, name) for name in OPTIONS.values()} == {
        name: code for code, name in OPTIONS.items()
    }


def test_a_type_that_is_not_listed_gets_the_number_of_its_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(OPTIONS, 0x7F, "NewType")
    assert type_codes.NewType == 0x7F  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'NoType'"):
        _ = type_codes.NoType  # type: ignore[attr-defined]
