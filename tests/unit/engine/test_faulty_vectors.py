"""If a request with a faulty vector fails, a note on the error describes the vector.

No index of the server can hold vectors with NaN or infinity.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from cassandra import DriverException, ReadFailure, WriteFailure, WriteTimeout
from cassandra.cluster import Cluster, Session
from cassandra.query import BatchStatement
from cassandra.testing.fake import Answer, ErrorCode, FakeNode, Opcode, error
from tests.unit.engine.faults import node as node

INSERT = "INSERT INTO films (id, embedding) VALUES (?, ?)"
SEARCH = "SELECT id FROM films ORDER BY embedding ANN OF ? LIMIT 3"
COLUMNS = [("id", "int"), ("embedding", "vector<float, 3>")]


def failure_of(node: FakeNode, answer: Answer, execute: Any) -> Any:
    """Return the error that `execute(session)` raises if the node responds with `answer`."""
    node.prime_prepare(INSERT, COLUMNS, pk_indexes=[0])
    node.prime_prepare(SEARCH, COLUMNS[1:])
    node.prime(Opcode.EXECUTE, answer)
    node.prime(Opcode.BATCH, answer)
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        with pytest.raises(DriverException) as caught:
            execute(session)
    return caught.value


def notes_of(failure: Any) -> list[str]:
    """Return the notes of an error."""
    notes: list[str] = failure.__notes__
    return notes


def insertion_of(vector: list[float]) -> Any:
    """Return a function that inserts a row with this vector, using the session that it gets."""

    def execute(session: Session) -> None:
        session.execute(session.prepare(INSERT), (1, vector))

    return execute


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_failed_write_names_the_number_and_its_position(node: FakeNode, number: float) -> None:
    """If a write of a vector with NaN or infinity fails, a note names the number and its position.

    Vector indexes cannot hold such numbers, and the server's WRITE_FAILURE does not say so.
    """
    failure = failure_of(node, error(ErrorCode.WRITE_FAILURE), insertion_of([1.0, number, 2.0]))
    assert isinstance(failure, WriteFailure)
    assert notes_of(failure)[-1] == (
        f'(column "embedding": the vector has {number} at index 1, which no index can hold)'
    )


def test_a_vector_of_zeros_is_named(node: FakeNode) -> None:
    """If a write of a vector of zeros fails, a note says that the vector has only zeros.

    Such a vector has no direction, so an index with the similarity cosine cannot hold it.
    """
    failure = failure_of(node, error(ErrorCode.WRITE_FAILURE), insertion_of([0.0, -0.0, 0.0]))
    assert notes_of(failure)[-1] == (
        '(column "embedding": the vector has only zeros, or numbers whose squares are 0 in 32 '
        "bits, which an index with the similarity cosine, the default, cannot hold)"
    )


def test_vectors_whose_length_does_not_fit_are_named(node: FakeNode) -> None:
    """If a write fails and the Euclidean length of the vector is out of range, a note says so.

    The square of a number must fit into a 32-bit float, and must not become zero. Integers such as
    hashes make such vectors if they are written to a column of floats.
    """
    for vector, note in (
        ([2.0**64, -(2.0**64), 0.0], "is too long"),
        ([1e-30, 0.0, -1e-25], "has only zeros, or"),
    ):
        failure = failure_of(node, error(ErrorCode.WRITE_FAILURE), insertion_of(vector))
        assert f'(column "embedding": the vector {note}' in notes_of(failure)[-1]
    # The square of 2**60 still fits into a 32-bit float, so this vector gets no note.
    failure = failure_of(node, error(ErrorCode.WRITE_FAILURE), insertion_of([2.0**60, 1.0, 1e-30]))
    assert not any("the vector" in note for note in getattr(failure, "__notes__", ()))


def test_a_failed_search_names_the_number_and_its_position(node: FakeNode) -> None:
    """If a search for a vector with NaN fails, a note names the column and the index.

    The index is the index of the NaN in the vector.
    """

    def search(session: Session) -> None:
        session.execute(session.prepare(SEARCH), ([math.nan, 1.0, 2.0],))

    failure = failure_of(node, error(ErrorCode.READ_FAILURE), search)
    assert isinstance(failure, ReadFailure)
    assert 'column "embedding": the vector has nan at index 0' in notes_of(failure)[-1]


def test_a_failed_search_by_a_text_says_what_may_be_wrong(node: FakeNode) -> None:
    """If a search that is not prepared fails, the error only advises to check the vector.

    The vector is a part of the query text, where the driver does not look for it.
    """
    search = SEARCH.replace("?", "%s")
    node.prime(search.replace("%s", "[0, 0, 0]"), error(ErrorCode.READ_FAILURE))
    failure = failure_of(
        node,
        error(ErrorCode.READ_FAILURE),
        lambda session: session.execute(search, ([0, 0, 0],)),
    )
    assert isinstance(failure, ReadFailure)
    assert "for a vector of zeros: check the vector" in notes_of(failure)[-1]


def test_a_failed_batch_names_the_statement(node: FakeNode) -> None:
    """If a batch fails, the note describes the vector with the infinity.

    Here, it is in the second statement.
    """

    def execute(session: Session) -> None:
        batch, prepared = BatchStatement(), session.prepare(INSERT)
        batch.add(prepared, (1, [1.0, 2.0, 3.0]))
        batch.add(prepared, (2, [1.0, 2.0, math.inf]))
        session.execute(batch)

    failure = failure_of(node, error(ErrorCode.WRITE_FAILURE), execute)
    assert 'column "embedding": the vector has inf at index 2' in notes_of(failure)[-1]


def test_other_vectors_and_other_errors_get_no_note(node: FakeNode) -> None:
    """There is no note for a vector of finite numbers, nor for a timeout.

    Vectors do not cause timeouts.
    """
    write_failure = failure_of(node, error(ErrorCode.WRITE_FAILURE), insertion_of([0.0, 1.0, 2.0]))
    write_timeout = failure_of(
        node, error(ErrorCode.WRITE_TIMEOUT), insertion_of([math.nan, 1.0, 2.0])
    )
    assert isinstance(write_timeout, WriteTimeout)
    for failure in (write_failure, write_timeout):
        assert not any("vector" in note for note in notes_of(failure))
