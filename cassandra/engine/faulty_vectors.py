"""Finds vectors in a failed request that a vector index of the server cannot hold.

These are vectors with NaN or infinities, vectors of zeros, and vectors that are too long.

Cassandra 5.0 responds to a write of such a vector with a WriteFailure, and to a search for such a
vector with a ReadFailure. Both give only the reason UNKNOWN. After such an error we look for the
faulty vector in the request, and add a note to the error. Successful requests are not searched.
"""

from __future__ import annotations

import math
import re
import struct
from ctypes import c_float
from typing import TYPE_CHECKING

from cassandra.cqltypes.containers import VectorType
from cassandra.cqltypes.scalars import FloatType
from cassandra.errors import ReadFailure, WriteFailure

if TYPE_CHECKING:
    from cassandra.engine.request_bodies import AnyBody

_FLOAT_SIZE = 4  # bytes
# A float begins with its sign and the first seven bits of its exponent. Numbers that begin with one
# of the bytes in _BYTES_OF_SMALL are less than 2**-63, so their squares may be 0 in 32 bits.
_BYTES_OF_SMALL = bytes(byte for byte in range(256) if byte & 0x7F < 0x20)
# A table for `bytes.translate`: 1 for each first byte of a float of at least 2**55, else 0. Vectors
# of smaller numbers need not be checked: the square of each number is less than 2**110, so it would
# take 2**18 of them to exceed the largest 32-bit float (about 2**128).
_MARK_LARGE = bytes(int(byte & 0x7F >= 0x5B) for byte in range(256))
_ADVICE_ON_TEXT = (
    "(an index cannot search for a vector with NaN or infinity, or with the similarity cosine, the "
    "default, for a vector of zeros: check the vector)"
)
_MAX_VECTORS = 1000  # the maximum number of vectors of a batch that are searched


def faulty_vectors(error: Exception, request_body: AnyBody) -> str | None:
    """Return a note about the first vector of the request that a vector index cannot hold.

    Such a vector contains NaN or an infinity, or only zeros, or is too long. If the request failed
    to search for a vector that is written in the statement's text, we do not parse the vector; the
    note only says what may be wrong.

    :param error: the server's error, as it is raised to the caller of the request.
    :param request_body: the request that was sent.
    :returns: None if there is no such vector, or if `error` is neither a failed write nor a failed
        read.
    """
    if not isinstance(error, (WriteFailure, ReadFailure)):
        return None
    searched = 0
    try:
        # Stop at the first fault: one note is enough to find the mistake.
        for prefix, prepared, values in request_body.bound_rows():
            for column, data in zip(prepared.column_metadata, values, strict=False):
                if not isinstance(data, bytes) or not _is_of_floats(column.type):
                    continue
                searched += 1
                if searched > _MAX_VECTORS:
                    return None
                fault = _fault_of(data)
                if fault is not None:
                    return f'({prefix}column "{column.name}": the vector {fault})'
        if not searched and isinstance(error, ReadFailure):
            # The request has no bound vectors. The statement's text may contain the vector.
            text = request_body.statement_text()
            if text is not None and re.search(r"\bANN\s+OF\s+[\[%]", text, re.IGNORECASE):
                return _ADVICE_ON_TEXT
    except Exception:  # a user's protocol handler may have bound unknown objects
        return None
    return None


def _fault_of(data: bytes) -> str | None:
    """Return why an index rejects a vector; None if we see no reason.

    :param data: the vector's numbers as big-endian floats.
    """
    # Look for NaN and infinities first, because a vector with such numbers has no finite length.
    non_finite = first_non_finite(data)
    if non_finite is not None:
        index, number = non_finite
        return f"has {number} at index {index}, which no index can hold"
    if is_of_length_zero(data):
        return (
            "has only zeros, or numbers whose squares are 0 in 32 bits, which an index with the "
            "similarity cosine, the default, cannot hold"
        )
    if is_too_long(data):
        return (
            "is too long for an index with the similarity cosine, the default, or dot_product: "
            "the squares of its numbers add up to more than 3.4e38, the greatest number of 32 bits"
        )
    return None


def first_non_finite(data: bytes) -> tuple[int, float] | None:
    """Return the index and the value of the first NaN or infinity; None if all numbers are finite.

    In NaN and infinities, all exponent bits are 1, so their first byte is 0x7F or 0xFF. Few other
    floats begin with these bytes. So we decode the numbers only if a number begins with one of
    these bytes.

    :param data: the vector's numbers as big-endian floats.
    """
    first_bytes = data[::_FLOAT_SIZE]
    if 0x7F not in first_bytes and 0xFF not in first_bytes:
        return None
    numbers = struct.unpack(f">{len(data) // _FLOAT_SIZE}f", data)
    return next((pair for pair in enumerate(numbers) if not math.isfinite(pair[1])), None)


def is_of_length_zero(data: bytes) -> bool:
    """Return True if the square of a vector's length is 0 in 32 bits.

    :param data: the vector's numbers as big-endian floats.
    """
    # Decode the numbers only if all of them begin like small numbers, which is so for few vectors.
    # `strip` removes the first bytes of small numbers; nothing is left if all numbers are small.
    first_bytes = data[::_FLOAT_SIZE]
    return not first_bytes.strip(_BYTES_OF_SMALL) and _squared_length(data) == 0


def is_too_long(data: bytes) -> bool:
    """Return True if the square of a vector's length is infinite in 32 bits.

    :param data: the vector's numbers as big-endian floats, without NaN and infinities.
    """
    # Decode the numbers only if one of them begins like a large number: `translate` replaces its
    # first byte by 1, and the first bytes of other numbers by 0.
    first_bytes = data[::_FLOAT_SIZE]
    return 1 in first_bytes.translate(_MARK_LARGE) and _squared_length(data) == math.inf


def _squared_length(data: bytes) -> float:
    """Return the sum of the squares of a vector's numbers, computed in 32 bits."""
    total = 0.0
    for (number,) in struct.iter_unpack(">f", data):
        total = c_float(total + c_float(number * number).value).value
    return total


def _is_of_floats(cqltype: type) -> bool:
    return issubclass(cqltype, VectorType) and issubclass(cqltype.subtype, FloatType)
