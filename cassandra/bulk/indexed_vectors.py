"""Finds vectors that the vector index of their column cannot hold, before a load sends them.

An index of Cassandra (SAI) cannot hold NaN or infinities, nor vectors of zeros if its similarity
function is cosine. The index computes the square of a vector's length in 32 bits. If this square is
0, the vector counts as zeros. If it is infinite, the vector is refused, unless the similarity is
Euclidean. The server's error for such a write does not name the row, and Cassandra 5.0 may be
unable to start again after it has received a NaN.

The check looks at the bytes of bound values, so it is the same for all sources. Usually the check
need not decode the numbers of a valid vector: see `first_non_finite`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cassandra.engine.faulty_vectors import first_non_finite, is_of_length_zero, is_too_long

if TYPE_CHECKING:
    from cassandra.metadata.schema.tables import TableMetadata


class IndexedVector(NamedTuple):
    """A bound column whose vectors have an index.

    :param position: the position of the column's bind marker.
    :param name: the column's name.
    :param refuses_zeros: True if the index cannot hold a vector of zeros.
    :param refuses_large: True if the index cannot hold a vector whose squared length is infinite.
    """

    position: int
    name: str
    refuses_zeros: bool
    refuses_large: bool


def indexed_vectors(table: TableMetadata, names: Sequence[str]) -> list[IndexedVector]:
    """Return the columns of ``vector<float, n>`` among `names` that have an SAI index.

    :param table: the table's metadata.
    :param names: the column of each bind marker.
    """
    columns: list[IndexedVector] = []
    for index in table.indexes.values():
        options = index.index_options
        class_name = options.get("class_name", "")
        if not (class_name.endswith("StorageAttachedIndex") or class_name.lower() == "sai"):
            continue
        target = options.get("target", "")
        if target.startswith('"'):
            target = target[1:-1].replace('""', '"')
        column = table.columns.get(target)
        if column is None or not column.cql_type.startswith("vector<float,"):
            continue
        # Cassandra's default is cosine.
        similarity = options.get("similarity_function", "cosine").lower()
        columns += [
            IndexedVector(position, target, similarity == "cosine", similarity != "euclidean")
            for position, name in enumerate(names)
            if name == target
        ]
    return columns


def fault_of(column: IndexedVector, value: bytes) -> ValueError | None:
    """Return an error that says why the index of `column` cannot hold a vector; None if it can.

    :param value: the vector's numbers as big-endian floats.
    """
    # NaN and infinite numbers.
    fault = first_non_finite(value)
    if fault is not None:
        index, number = fault
        return ValueError(
            f"the vector in column {column.name!r} has {number} at index {index}, which its index "
            "cannot hold"
        )
    # Vectors whose length in 32 bits is zero or infinite.
    if column.refuses_zeros and is_of_length_zero(value):
        return ValueError(
            f"the vector in column {column.name!r} has only zeros, or numbers whose squares are 0 "
            "in 32 bits, which its index cannot hold: its similarity is cosine"
        )
    if column.refuses_large and is_too_long(value):
        return ValueError(
            f"the vector in column {column.name!r} is too long for its index: the squares of its "
            "numbers add up to more than 3.4e38, the greatest number of 32 bits"
        )
    return None
