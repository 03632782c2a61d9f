"""Test the parameters of the type classes of lists, sets, maps and wrappers."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.sentinels import EMPTY
from tests.unit.cqltypes.samples import INT, TEXT, list_of, vector_of


def test_equal_parameters_lead_to_the_same_class() -> None:
    """Equal parameters give the same class, which has the parameters as attributes."""
    assert list_of(INT) is list_of(INT)
    assert list_of(INT) is not list_of(TEXT)
    assert list_of(INT).subtypes == (INT,)
    assert list_of(INT).num_subtypes == 1
    assert vector_of(t.FloatType, 3).vector_size == 3
    assert vector_of(t.FloatType, 3).subtype is t.FloatType
    assert vector_of(t.FloatType, 3).serial_size() == 12
    assert vector_of(TEXT, 3).serial_size() is None
    assert t.Int32Type.apply_parameters([]) is t.Int32Type


def test_a_wrong_number_of_parameters_is_an_error() -> None:
    """A wrong number of parameters for a container raises ValueError."""
    with pytest.raises(ValueError, match="parameters"):
        t.ListType.apply_parameters([INT, INT])
    with pytest.raises(ValueError, match="parameters"):
        t.MapType.apply_parameters([INT])


def test_a_container_without_parameters_has_no_codec() -> None:
    """A container type without parameters has no codec, and `codec` raises ValueError."""
    with pytest.raises(ValueError, match="no parameters yet"):
        t.ListType.codec()


@pytest.mark.parametrize("wrapper", [t.FrozenType, t.ReversedType])
def test_wrappers_decode_empty_values_like_the_wrapped_type(wrapper: Any) -> None:
    """A frozen or reversed type decodes zero bytes as the type in it does.

    The result is EMPTY, None or an empty string.
    """

    class IntWithEmptyValues(t.Int32Type):
        support_empty_values = True

    assert wrapper.apply_parameters([IntWithEmptyValues]).from_binary(b"", 5) is EMPTY
    assert wrapper.apply_parameters([t.Int32Type]).from_binary(b"", 5) is None
    assert wrapper.apply_parameters([t.UTF8Type]).from_binary(b"", 5) == ""
    assert wrapper.apply_parameters([t.Int32Type]).from_binary(None, 5) is None
