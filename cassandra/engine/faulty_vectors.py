"""Finds vectors in a failed request that an index of the server cannot hold: those with NaN or
infinities, and those of zeros.

Cassandra 5.0 answers such a write with a WriteFailure, and such a search with a ReadFailure, whose
reason is only UNKNOWN. After such an error we look at the vectors that were sent, and add a note to
the error. Requests that succeed are not searched.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from cassandra.cqltypes.containers import VectorType
from cassandra.cqltypes.scalars import FloatType
from cassandra.errors import ReadFailure, WriteFailure

if TYPE_CHECKING:
    from cassandra.engine.request_bodies import AnyBody

_FLOAT_SIZE = 4  # bytes
_BYTES_OF_ZEROS = b"\x00\x80"  # 0.0 and -0.0
_MAX_VECTORS = 1000  # a batch may have more; the rest is not searched


def faulty_vectors(error: Exception, request_body: AnyBody) -> str | None:
    """Return a note with the first vector of the request that contains NaN or an infinity, or
    only zeros.

    :param error: the server's error, as the caller of the request gets it.
    :param request_body: the request that was sent.
    :returns: None if there is no such vector, or if `error` is neither a failed write nor a failed
        read.
    """
    if not isinstance(error, (WriteFailure, ReadFailure)):
        return None
    searched = 0
    try:
        for prefix, prepared, values in request_body.bound_rows():
            for column, data in zip(prepared.column_metadata, values, strict=False):
                if not isinstance(data, bytes) or not _is_of_floats(column.type):
                    continue
                searched += 1
                if searched > _MAX_VECTORS:
                    return None
                fault = first_non_finite(data)
                if fault is not None:
                    index, number = fault
                    return (
                        f'({prefix}column "{column.name}": the vector has {number} at index '
                        f"{index}, which no index can hold)"
                    )
                if not data.strip(_BYTES_OF_ZEROS):
                    return (
                        f'({prefix}column "{column.name}": the vector has only zeros, which an '
                        "index with the similarity cosine, the default, cannot hold)"
                    )
    except Exception:  # a user's protocol handler may have bound objects of its own
        return None
    return None


def first_non_finite(data: bytes) -> tuple[int, float] | None:
    """Return the index and the value of the first NaN or infinity; None if there is none.

    All exponent bits of NaN and of infinities are 1, so their first byte is 0x7F or 0xFF. Few other
    floats begin with these bytes. So the numbers are only decoded if one of them begins so.

    :param data: the vector's numbers as big-endian floats.
    """
    first_bytes = data[::_FLOAT_SIZE]
    if 0x7F not in first_bytes and 0xFF not in first_bytes:
        return None
    numbers = struct.unpack(f">{len(data) // _FLOAT_SIZE}f", data)
    return next((pair for pair in enumerate(numbers) if not math.isfinite(pair[1])), None)


def _is_of_floats(cqltype: type) -> bool:
    return issubclass(cqltype, VectorType) and issubclass(cqltype.subtype, FloatType)
