"""The answers that each request may get: one table for all requests.

The handshake, programs' requests and the engine's own requests use it. A well-formed message that
the protocol does not allow as an answer (native_protocol_v5.spec, sections 4.1.1 to 4.1.8) means
that the two sides disagree on the state of the connection. That is a `ProtocolError`, which closes
it. ERROR answers every request, and is not in the table.
"""

from __future__ import annotations

from cassandra._patterns import pattern
from cassandra.errors import ProtocolError
from cassandra.protocol import opcodes
from cassandra.protocol.opcodes import (
    ERROR,
    OPCODE_NAMES,
    RESULT,
    RESULT_KIND_PREPARED,
    RESULT_KIND_ROWS,
    RESULT_KIND_SCHEMA_CHANGE,
    RESULT_KIND_SET_KEYSPACE,
    RESULT_KIND_VOID,
)

__all__ = ["ALLOWED", "check_answer", "first_word", "is_allowed"]

_RESULT_KINDS = {
    RESULT_KIND_VOID: "VOID",
    RESULT_KIND_ROWS: "ROWS",
    RESULT_KIND_SET_KEYSPACE: "SET_KEYSPACE",
    RESULT_KIND_PREPARED: "PREPARED",
    RESULT_KIND_SCHEMA_CHANGE: "SCHEMA_CHANGE",
}

# An answer: its opcode, and, of a RESULT, its kind.
Answer = tuple[int, int | None]

_VOID: Answer = (RESULT, RESULT_KIND_VOID)
_ROWS: Answer = (RESULT, RESULT_KIND_ROWS)
_SET_KEYSPACE: Answer = (RESULT, RESULT_KIND_SET_KEYSPACE)
_SCHEMA_CHANGE: Answer = (RESULT, RESULT_KIND_SCHEMA_CHANGE)

_DATA = frozenset({_VOID, _ROWS})
_SCHEMA = _DATA | {_SCHEMA_CHANGE}

# Answers by the statement's first word. Other words may change the schema, and never
# the keyspace.
_STATEMENTS: dict[str, frozenset[Answer]] = {
    "USE": frozenset({_SET_KEYSPACE}),
    **dict.fromkeys(
        ("SELECT", "INSERT", "UPDATE", "DELETE", "BEGIN", "APPLY", "LIST", "DESCRIBE", "DESC"),
        _DATA,
    ),
}

ALLOWED: dict[int, frozenset[Answer]] = {
    opcodes.STARTUP: frozenset({(opcodes.READY, None), (opcodes.AUTHENTICATE, None)}),
    opcodes.AUTH_RESPONSE: frozenset(
        {(opcodes.AUTH_CHALLENGE, None), (opcodes.AUTH_SUCCESS, None)}
    ),
    opcodes.OPTIONS: frozenset({(opcodes.SUPPORTED, None)}),
    opcodes.REGISTER: frozenset({(opcodes.READY, None)}),
    opcodes.PREPARE: frozenset({(RESULT, RESULT_KIND_PREPARED)}),
    opcodes.BATCH: _DATA,
    # Of these two it depends on the statement.
    opcodes.QUERY: _SCHEMA | {_SET_KEYSPACE},
    opcodes.EXECUTE: _SCHEMA | {_SET_KEYSPACE},
}

# The first word behind blanks and comments; one character class at a time, so that no text takes
# long.
_FIRST_WORD = pattern(r"(?:\s|--[^\n]*(?:\n|\Z)|//[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/)*(\w*)")


def first_word(text: str) -> str:
    """Return a statement's first word in capitals, such as "SELECT"; empty if there is none."""
    match = _FIRST_WORD.match(text)
    return match[1].upper() if match is not None else ""


def is_allowed(request: int, text: str | None, opcode: int, kind: int | None) -> bool:
    """Return True if a message may answer a request.

    :param request: the request's opcode.
    :param text: the statement's text, if the request is a QUERY or an EXECUTE and the text is
        known.
    :param opcode: the message's opcode.
    :param kind: the RESULT_KIND_ of a RESULT.
    """
    if opcode == ERROR:
        return True
    answer: Answer = (opcode, kind)
    if answer not in ALLOWED.get(request, ()):
        return False
    if text is None or request not in (opcodes.QUERY, opcodes.EXECUTE):
        return True
    return answer in _STATEMENTS.get(first_word(text), _SCHEMA)


def check_answer(
    request: int, text: str | None, opcode: int, kind: int | None, endpoint: object
) -> None:
    """Check an answer; the parameters are those of `is_allowed`.

    :param endpoint: the node that answered.
    :raises ProtocolError: if it may not answer the request. The message names both and the node,
        but not the text, which may hold secrets.
    """
    if is_allowed(request, text, opcode, kind):
        return
    request_name = OPCODE_NAMES.get(request, str(request))
    if text is not None and (word := first_word(text)):
        request_name += f" ({word[:20]})"
    answer = OPCODE_NAMES.get(opcode, str(opcode))
    if kind is not None:
        answer += f" ({_RESULT_KINDS.get(kind, kind)})"
    raise ProtocolError(
        f"{endpoint} answered {request_name} with {answer}, which the protocol does not allow"
    )
