"""Test the encoding of containers that change while they are being encoded.

The codec either encodes the old values, or raises an error because of the change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes import EncodeValueError
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import list_of, map_of, set_of, vector_of


class ActingNumber:
    """A number that calls `act` when it is converted to an int or a float."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act = act

    def __float__(self) -> float:
        self.act()
        return 2.5

    def __index__(self) -> int:
        self.act()
        return 2


@pytest.mark.parametrize("element_type", [t.Int32Type, t.LongType, t.FloatType, t.DoubleType])
@pytest.mark.parametrize(
    "container_of", [list_of, set_of, lambda element_type: vector_of(element_type, 100)]
)
@pytest.mark.parametrize("position", [0, 50, 99])
@pytest.mark.parametrize("new_length", [0, 40, 200])
def test_a_sequence_whose_size_changes_is_encoded_as_it_was_or_refused(
    implementation: Implementation,
    element_type: Any,
    container_of: Any,
    position: int,
    new_length: int,
) -> None:
    """A sequence whose size changes while it is encoded is encoded as it was before, or refused.

    :param position: the index, of 100, of the number whose conversion resizes the sequence.
    """
    values: list[Any] = [1] * 100
    codec = container_of(element_type).build_codec(implementation.codecs)
    # The ActingNumber is converted to this number.
    converted = 2.5 if element_type in (t.FloatType, t.DoubleType) else 2
    expected = codec.encode([1] * position + [converted] + [1] * (99 - position))

    def resize() -> None:
        values[:] = [1] * new_length

    values[position] = ActingNumber(resize)
    try:
        body = codec.encode(values)
    except EncodeValueError as error:
        assert "changed its size from 100 while it was being encoded" in str(error)  # noqa: PT017
    else:
        assert body == expected


def test_a_null_check_that_clears_the_list(implementation: Implementation) -> None:
    """If the check for null clears the list, the old list is encoded or the change refused."""
    numpy = pytest.importorskip("numpy")
    values: list[Any] = []

    class MaskedArray(numpy.ma.MaskedArray):  # type: ignore[misc, name-defined]
        @property
        def ndim(self) -> int:
            values.clear()
            return 0

    codec = list_of(t.FloatType).build_codec(implementation.codecs)
    for null_count in range(3):
        nulls = [numpy.ma.array(0.0, mask=True)] * null_count
        unmasked = numpy.ma.array(7.0, mask=False).view(MaskedArray)
        # The encoder reads `ndim` to find out whether a masked array is null. In this class,
        # reading `ndim` clears the list.
        values[:] = [1.0, *nulls, unmasked, *[1.0] * 50]
        old_length = len(values)
        try:
            body = codec.encode(values)
        except EncodeValueError as error:
            assert "changed its size" in str(error)  # noqa: PT017
        else:
            assert len(codec.decode(body)) == old_length


def test_a_map_that_changes_is_encoded_as_it_was(implementation: Implementation) -> None:
    """A map that is cleared while it is encoded is encoded with its old entries."""
    mapping: dict[Any, Any] = {index: index for index in range(100)}
    mapping[5] = ActingNumber(mapping.clear)
    codec = map_of(t.Int32Type, t.Int32Type).build_codec(implementation.codecs)
    assert len(codec.decode(codec.encode(mapping))) == 100
