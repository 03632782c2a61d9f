"""A table of the responses that the protocol allows for each request.

The handshake, applications' requests and the engine's own requests use this table to check their
responses. If a response is well-formed but not allowed (native_protocol_v5.spec, sections 4.1.1 to
4.1.8), client and server disagree about the state of the connection. `check_answer` then raises
`ProtocolError`, and the connection is closed. ERROR is not in the table, because it is allowed for
every request.
"""

from __future__ import annotations

from cassandra._patterns import pattern
from cassandra.errors import ProtocolError
from cassandra.protocol import opcodes
from cassandra.protocol.messages import control
from cassandra.protocol.messages.base import messages_of
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

# The names of the kinds of RESULT, for error messages.
_RESULT_KINDS = {
    RESULT_KIND_VOID: "VOID",
    RESULT_KIND_ROWS: "ROWS",
    RESULT_KIND_SET_KEYSPACE: "SET_KEYSPACE",
    RESULT_KIND_PREPARED: "PREPARED",
    RESULT_KIND_SCHEMA_CHANGE: "SCHEMA_CHANGE",
}

# A response: (opcode, kind). The kind is None if the opcode is not RESULT.
Answer = tuple[int, int | None]

_VOID: Answer = (RESULT, RESULT_KIND_VOID)
_ROWS: Answer = (RESULT, RESULT_KIND_ROWS)
_SET_KEYSPACE: Answer = (RESULT, RESULT_KIND_SET_KEYSPACE)
_SCHEMA_CHANGE: Answer = (RESULT, RESULT_KIND_SCHEMA_CHANGE)

# _DATA: the responses to statements that read or write rows. _SCHEMA: the responses to any
# statement but USE.
_DATA = frozenset({_VOID, _ROWS})
_SCHEMA = _DATA | {_SCHEMA_CHANGE}

# The responses that are allowed for a statement, by its first word. Statements that begin with any
# other word may change the schema (CREATE, ALTER, ...), but never set the keyspace.
_STATEMENTS: dict[str, frozenset[Answer]] = {
    "USE": frozenset({_SET_KEYSPACE}),
    **dict.fromkeys(
        ("SELECT", "INSERT", "UPDATE", "DELETE", "BEGIN", "APPLY", "LIST", "DESCRIBE", "DESC"),
        _DATA,
    ),
}

# The responses that are allowed for a request, by the request's opcode.
ALLOWED: dict[int, frozenset[Answer]] = {
    **{
        message.opcode: frozenset((opcode, None) for opcode in message.answers)
        for message in messages_of(control)
        if message.answers
    },
    opcodes.PREPARE: frozenset({(RESULT, RESULT_KIND_PREPARED)}),
    opcodes.BATCH: _DATA,
    # These are the responses to any statement. `is_allowed` also checks which of them are allowed
    # for this statement.
    opcodes.QUERY: _SCHEMA | {_SET_KEYSPACE},
    opcodes.EXECUTE: _SCHEMA | {_SET_KEYSPACE},
}

# Skips white space and comments, and matches the first word. At each character, only one
# alternative can match, so the pattern never backtracks for long.
_FIRST_WORD = pattern(r"(?:\s|--[^\n]*(?:\n|\Z)|//[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/)*(\w*)")


def first_word(text: str) -> str:
    """Return a statement's first word in upper case, such as "SELECT", or "" if it has none."""
    match = _FIRST_WORD.match(text)
    return match[1].upper() if match is not None else ""


def is_allowed(request: int, text: str | None, opcode: int, kind: int | None) -> bool:
    """Return True if the protocol allows a response for a request.

    :param request: the request's opcode.
    :param text: the statement, if the request is a QUERY or EXECUTE and the statement is known.
        With it, the check is stricter. None skips the check of the statement.
    :param opcode: the response's opcode.
    :param kind: the RESULT_KIND_ constant of a RESULT; None for other responses.
    """
    if opcode == ERROR:
        return True
    response: Answer = (opcode, kind)
    if response not in ALLOWED.get(request, ()):
        return False
    if text is None or request not in (opcodes.QUERY, opcodes.EXECUTE):
        return True
    # The first word of the statement says what the server may return. A statement with an unknown
    # first word may change the schema.
    return response in _STATEMENTS.get(first_word(text), _SCHEMA)


def check_answer(
    request: int, text: str | None, opcode: int, kind: int | None, endpoint: object
) -> None:
    """Raise an error if the protocol does not allow a response for a request.

    For the first four parameters, see `is_allowed`.

    :param endpoint: the node that responded.
    :raises ProtocolError: if the response is not allowed. The message names the request, the
        response and the node. It only shows the statement's first word, as the rest may be secret.
    """
    if is_allowed(request, text, opcode, kind):
        return
    request_name = OPCODE_NAMES.get(request, str(request))
    if text is not None and (word := first_word(text)):
        request_name += f" ({word[:20]})"
    response_name = OPCODE_NAMES.get(opcode, str(opcode))
    if kind is not None:
        response_name += f" ({_RESULT_KINDS.get(kind, kind)})"
    raise ProtocolError(
        f"{endpoint} answered {request_name} with {response_name}, "
        "which the protocol does not allow"
    )
