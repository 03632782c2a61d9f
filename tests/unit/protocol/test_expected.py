"""Test the table that says which responses the protocol allows for each request."""

from __future__ import annotations

import pytest

from cassandra.errors import ProtocolError
from cassandra.protocol import opcodes
from cassandra.protocol.connection import _STEPS, State
from cassandra.protocol.expected import ALLOWED, check_answer, first_word, is_allowed

# All opcodes of responses. ANSWERS has an entry for each kind of RESULT instead of one for RESULT.
RESPONSES = [
    opcodes.ERROR, opcodes.READY, opcodes.AUTHENTICATE, opcodes.SUPPORTED, opcodes.RESULT,
    opcodes.EVENT,
    opcodes.AUTH_CHALLENGE, opcodes.AUTH_SUCCESS,
]  # fmt: skip
# The opcode of a response, and the kind of a RESULT; None for other responses.
Answer = tuple[int, int | None]
ANSWERS: list[Answer] = [(opcode, None) for opcode in RESPONSES if opcode != opcodes.RESULT] + [
    (opcodes.RESULT, kind) for kind in range(1, 6)
]
# The kinds of RESULT are numbered from 1 to 5.
VOID, ROWS, SET_KEYSPACE, PREPARED, SCHEMA_CHANGE = ((opcodes.RESULT, kind) for kind in range(1, 6))


def allowed(request: int, query: str | None = None) -> set[Answer]:
    """Return the responses, other than ERROR, that are allowed for a request.

    :param request: the opcode of the request.
    :param query: the statement that the request executes.
    """
    allowed_answers = {answer for answer in ANSWERS if is_allowed(request, query, *answer)}
    return allowed_answers - {(opcodes.ERROR, None)}


@pytest.mark.parametrize("request_opcode", sorted(ALLOWED))
def test_an_error_is_allowed_for_each_request(request_opcode: int) -> None:
    """A server may return an ERROR response to any request."""
    assert is_allowed(request_opcode, text=None, opcode=opcodes.ERROR, kind=None)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM t", {VOID, ROWS}),
        ("insert into t", {VOID, ROWS}),
        ("BEGIN BATCH", {VOID, ROWS}),
        ("USE ks", {SET_KEYSPACE}),
        (" -- which\n /* not\n* that */ // one\nuse ks", {SET_KEYSPACE}),
        ("CREATE TABLE t", {VOID, ROWS, SCHEMA_CHANGE}),
        ("/* USE */ DROP TABLE t", {VOID, ROWS, SCHEMA_CHANGE}),
        ("GRANT ALL", {VOID, ROWS, SCHEMA_CHANGE}),
        ("", {VOID, ROWS, SCHEMA_CHANGE}),
    ],
)
@pytest.mark.parametrize("opcode", [opcodes.QUERY, opcodes.EXECUTE])
def test_statements(opcode: int, query: str, expected: set[tuple[int, int]]) -> None:
    """The first word of a statement, after any comments, determines which results are allowed."""
    assert allowed(opcode, query) == expected


def test_responses_allowed_for_other_requests() -> None:
    """For requests other than QUERY and EXECUTE, the opcode alone determines the allowed responses.

    For an unknown opcode, no response is allowed.
    """
    assert allowed(opcodes.BATCH) == {VOID, ROWS}
    assert allowed(opcodes.PREPARE) == {PREPARED}
    assert allowed(opcodes.REGISTER) == {(opcodes.READY, None)}
    assert allowed(opcodes.OPTIONS) == {(opcodes.SUPPORTED, None)}
    assert allowed(0x55) == set()


def test_the_handshake_expects_the_allowed_responses() -> None:
    """The handshake's state machine and the table ALLOWED name the same responses."""
    requests = {
        State.OPTIONS_SENT: opcodes.OPTIONS,
        State.STARTUP_SENT: opcodes.STARTUP,
        State.AUTH_SENT: opcodes.AUTH_RESPONSE,
    }
    of_handshake = {(requests[state], (opcode, None)) for state, opcode in _STEPS}
    of_table = {(request, answer) for request in requests.values() for answer in ALLOWED[request]}
    assert of_handshake == of_table


def test_the_error_names_request_and_response_and_no_values() -> None:
    """The error for a response that is not allowed names request and response, but no values."""
    with pytest.raises(ProtocolError) as caught:
        check_answer(opcodes.QUERY, "SELECT 'secret'", *SET_KEYSPACE, "here:9042")
    assert str(caught.value) == (
        "here:9042 answered QUERY (SELECT) with RESULT (SET_KEYSPACE), "
        "which the protocol does not allow"
    )


@pytest.mark.parametrize(
    "comments",
    ["/*" * 50_000, " " * 100_000, "--" * 50_000, "/* " + "*" * 100_000, "//\n" * 30_000],
)
def test_long_comments_are_skipped_quickly(comments: str) -> None:
    """Long comments are skipped fast; a regular expression that backtracks would take minutes."""
    assert first_word(comments) == ""
