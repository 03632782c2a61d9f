"""Vectors that a column's index cannot hold are refused before a load sends them."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.bulk.indexed_vectors import IndexedVector, fault_of, indexed_vectors
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode, Opcode
from tests.unit.metadata.schema.rows import schema

# The column `v`, at position 1 of a row, with an index of each similarity function.
COSINE = IndexedVector(1, "v", refuses_zeros=True, refuses_large=True)
DOT_PRODUCT = IndexedVector(1, "v", refuses_zeros=False, refuses_large=True)
EUCLIDEAN = IndexedVector(1, "v", refuses_zeros=False, refuses_large=False)
# The options of an index whose similarity function is the default, cosine.
SAI = {"class_name": "StorageAttachedIndex", "target": "v"}
INSERT = "INSERT INTO a.t0 (id, c0) VALUES (?, ?)"
LARGE = 3.0e38  # The first byte of this float is the same as the first byte of an infinity.


def packed(*numbers: float) -> bytes:
    """Return a vector of floats as the protocol encodes it: 32 bits for each number."""
    return struct.pack(f">{len(numbers)}f", *numbers)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_numbers_that_are_not_finite_are_named(number: float, index: int) -> None:
    """`fault_of` names the column and the index of a number that is NaN or infinite."""
    numbers = [1.0, LARGE, -LARGE]
    numbers[index] = number
    for column in (COSINE, EUCLIDEAN):
        fault = fault_of(column, packed(*numbers))
        assert f"column 'v' has {number} at index {index}" in str(fault)


def test_large_and_small_numbers_are_no_fault() -> None:
    """`fault_of` returns None for vectors whose squared length is a positive 32-bit float.

    The squares of 1e-22 and 1.8e19 are just above 0 and just below infinity in 32 bits.
    """
    for numbers in ([1.8e19, 0.0], [0.0, 0.0, 1e-3], [-1.0, 0.0, 0.0], [1e-22, 0.0], [1e-30, 1e-9]):
        for column in (COSINE, DOT_PRODUCT, EUCLIDEAN):
            assert fault_of(column, packed(*numbers)) is None


@pytest.mark.parametrize("number", [1e-23, -1e-30, 1e-44])
def test_numbers_whose_squares_are_zero_count_as_zeros(number: float) -> None:
    """Numbers whose squares are 0 in 32 bits count as zeros for cosine similarity, and are refused.

    Searches of the table may fail if the index for cosine similarity has such vectors.
    """
    vector = packed(*[number] * 16)
    assert "only zeros, or numbers whose squares are 0" in str(fault_of(COSINE, vector))
    assert fault_of(DOT_PRODUCT, vector) is None
    assert fault_of(EUCLIDEAN, vector) is None


@pytest.mark.parametrize("numbers", [[3e19], [0.0, -LARGE], [1.8e19] * 2, [1e18] * 400])
def test_a_squared_length_beyond_32_bits_is_refused(numbers: list[float]) -> None:
    """A vector whose squared length exceeds 32 bits is refused, except for Euclidean distance.

    Without the check, the server would fail the write at each attempt, and give no reason.
    """
    for column in (COSINE, DOT_PRODUCT):
        assert "is too long for its index" in str(fault_of(column, packed(*numbers)))
    assert fault_of(EUCLIDEAN, packed(*numbers)) is None


def test_zeros_are_a_fault_only_if_the_similarity_is_cosine() -> None:
    """A vector of zeros is a fault for an index with cosine, but not with euclidean."""
    zeros = packed(0.0, -0.0, 0.0)
    assert "only zeros" in str(fault_of(COSINE, zeros))
    assert fault_of(EUCLIDEAN, zeros) is None


@pytest.mark.parametrize(
    ("cql_type", "options", "expected"),
    [
        ("vector<float, 3>", SAI, [COSINE]),
        ("vector<float, 3>", SAI | {"class_name": "sai"}, [COSINE]),
        ("vector<float, 3>", SAI | {"class_name": "org.x.StorageAttachedIndex"}, [COSINE]),
        ("vector<float, 3>", SAI | {"target": '"v"'}, [COSINE]),
        ("vector<float, 3>", SAI | {"similarity_function": "EUCLIDEAN"}, [EUCLIDEAN]),
        ("vector<float, 3>", SAI | {"similarity_function": "dot_product"}, [DOT_PRODUCT]),
        ("vector<float, 3>", SAI | {"target": "other"}, []),
        ("vector<float, 3>", {"class_name": "vector_index", "target": "v"}, []),
        ("vector<float, 3>", {"target": "v"}, []),
        ("text", SAI, []),
    ],
)
def test_which_columns_are_checked(
    cql_type: str, options: dict[str, str], expected: list[IndexedVector]
) -> None:
    """Only vectors with a storage-attached index are checked.

    The default similarity function is cosine.
    """
    table: Any = SimpleNamespace(
        columns={"id": SimpleNamespace(cql_type="int"), "v": SimpleNamespace(cql_type=cql_type)},
        indexes={"i": SimpleNamespace(index_options=options)},
    )
    assert indexed_vectors(table, ["id", "v"]) == expected
    assert indexed_vectors(table, ["id"]) == []


@pytest.mark.parametrize("form", ["csv", "rows"])
@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_load_refuses_the_row_and_names_its_line(
    form: str, is_indexed: bool, tmp_path: Path
) -> None:
    """A load refuses vectors with NaN or only zeros if their column has an index."""
    with FakeNode() as node:
        node.schema = schema("a", tables=1)
        for row in node.schema["system_schema.columns"]:
            if row["column_name"] == "c0":
                row["type"] = "vector<float, 3>"
        if is_indexed:
            node.schema["system_schema.indexes"] = [
                {
                    "keyspace_name": "a", "table_name": "t0", "index_name": "ann",
                    "kind": "CUSTOM", "options": SAI | {"target": "c0"},
                }
            ]  # fmt: skip
        columns = [("id", "int"), ("c0", "vector<float, 3>")]
        prepared = node.prime_prepare(INSERT, columns, pk_indexes=[0])
        prepared.keyspace, prepared.table = "a", "t0"
        source: Any = [(1, [1.0, 2.0, 3.0]), (2, [1.0, math.nan, 3.0]), (3, [0.0, 0.0, 0.0])]
        if form == "csv":
            lines = [f'{key},"{json.dumps(vector)}"' for key, vector in source]
            source = tmp_path / "rows.csv"
            source.write_text("\n".join(["id,c0", *lines, ""]))
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            report = session.load("a.t0", source, max_errors=2, batch=None)
        assert (report.written, report.failed) == ((1, 2) if is_indexed else (3, 0))
        assert node.count(Opcode.EXECUTE) == report.written
        if is_indexed:
            nan, zeros = map(str, report.failures)
            assert "nan at index 1" in nan
            assert "only zeros" in zeros
            # The error begins with the row's location: the line in the file, or the row's number,
            # counted from 0.
            location = nan.partition("the vector")[0]
            assert ("3" if form == "csv" else "row 1") in location
