"""The default responses of a fake node, like the responses of a real node without user tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from cassandra.testing.fake import system_tables
from cassandra.testing.fake.answers import (
    Answer,
    Message,
    Prepared,
    error,
    message,
    set_keyspace,
    void,
)
from cassandra.testing.fake.events import DRAIN_EVENT, EVENTS, ROUTES_EVENT
from cassandra.testing.fake.primitives import Opcode, long_bytes, string, string_multimap
from cassandra.testing.fake.refusals import ErrorCode

if TYPE_CHECKING:
    from cassandra.testing.fake.connection import ServerConnection
    from cassandra.testing.fake.node import FakeNode
    from cassandra.testing.fake.requests import Request
    from cassandra.testing.fake.script import Script

OLDEST_VERSION = 3  # the oldest version of the protocol that fake nodes speak

# Patterns for a USE statement with its keyspace, and for a quoted string or name in any statement.
_USE = re.compile(r'^\s*use\s+("(?:[^"]|"")+"|\w+)\s*;?\s*$', re.IGNORECASE)
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


class DefaultAnswers:
    """The base class of `FakeNode`, with the node's default answers.

    A method ``_on_x`` returns the default answer to a request of type x, such as ``_on_query`` for
    QUERY. `FakeNode` documents the attributes.
    """

    max_version: int
    supported: dict[str, list[str]]
    authenticator: str
    has_client_routes: bool
    keyspaces: set[str] | None
    _credentials: tuple[str | None, str | None] | None
    strict: bool
    _script: Script
    _statements: dict[str, Prepared]
    _prepared: dict[bytes, Prepared]

    def _on_options(self, request: Request) -> Message:
        versions = [f"{number}/v{number}" for number in range(OLDEST_VERSION, self.max_version + 1)]
        supported = {"PROTOCOL_VERSIONS": versions, **self.supported}
        return message(Opcode.SUPPORTED, string_multimap(supported))

    def _on_startup(self, request: Request) -> Message:
        """Answer STARTUP with READY, or with AUTHENTICATE if the node requires a login."""
        compression = request.options.get("COMPRESSION")
        if compression is not None and compression not in self.supported.get("COMPRESSION", ()):
            return error(ErrorCode.PROTOCOL_ERROR, f"Unknown compression algorithm: {compression}")
        if self._credentials is not None:
            return message(Opcode.AUTHENTICATE, string(self.authenticator))
        request.connection.ready = True
        return message(Opcode.READY, b"")

    def _on_auth_response(self, request: Request) -> Message:
        """Answer AUTH_RESPONSE: accept or reject the user name and the password."""
        if self._credentials is None:
            return error(ErrorCode.PROTOCOL_ERROR, "Unexpected message AUTH_RESPONSE")
        username, password = self._credentials
        # A SASL PLAIN token has the authorization id (may be empty), user name and password,
        # separated by zero bytes.
        credentials = (request.token or b"").split(b"\0")
        if credentials[-2:] != [str(username).encode(), str(password).encode()]:
            return error(
                ErrorCode.BAD_CREDENTIALS,
                f"Provided username {username} and/or password are incorrect",
            )
        request.connection.ready = True
        return message(Opcode.AUTH_SUCCESS, long_bytes(None))

    def _on_register(self, request: Request) -> Message:
        """Answer REGISTER: register the connection for events, if the node knows their types."""
        allowed_types = set(EVENTS)
        if self.has_client_routes:
            allowed_types.add(ROUTES_EVENT)
        if DRAIN_EVENT in self.supported:
            allowed_types.add(DRAIN_EVENT)
        for event_type in request.event_types:
            if event_type not in allowed_types:
                return error(ErrorCode.PROTOCOL_ERROR, f"Invalid value '{event_type}' for Type")
        # Add to the event types of earlier REGISTER messages, because a client may send several.
        connection = request.connection
        connection.event_types = tuple(
            dict.fromkeys((*connection.event_types, *request.event_types))
        )
        return message(Opcode.READY, b"")

    def _on_query(self, request: Request) -> Message:
        """Answer a statement that no prime matches: USE, or a query of a system table.

        A prime is a scripted response, set by `FakeNode.prime`.
        """
        text = request.query or ""
        use_match = _USE.match(text)
        if use_match is not None:
            return self._use(request, use_match[1])
        # Most statements do not contain "system", so skip the search for a system table.
        if "system" in text.lower():
            answer = system_tables.answer_to(cast("FakeNode", self), request)
            if answer is not None:
                return answer
        return self._unprimed(request, repr(text))

    def _unprimed(self, request: Request, description: str) -> Message:
        """Return the answer to a statement that no prime matches.

        The answer is an error if the node is strict, otherwise a Void result.

        :param description: the statement as it appears in the error of a strict node.
        """
        if not self.strict:
            return void()
        nearest_query: str | None = None
        for query in request.queries:
            nearest_query = nearest_query or self._script.nearest(query)
        hint = "" if nearest_query is None else f"; the nearest is {nearest_query!r}"
        return error(ErrorCode.INVALID, f"nothing is primed for {description}{hint}")

    def _use(self, request: Request, name: str) -> Message:
        """Answer USE: set the connection's keyspace.

        :param name: the keyspace as written in the statement; a quoted name has its quotes.
        """
        keyspace = name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
        # If `keyspaces` is None, the node accepts any name, so that a test need not declare its
        # keyspaces.
        if self.keyspaces is not None and keyspace not in self.keyspaces:
            return error(ErrorCode.INVALID, f"Keyspace '{keyspace}' does not exist")
        request.connection.keyspace = keyspace
        return set_keyspace(keyspace)

    def _on_prepare(self, request: Request) -> Message:
        """Answer PREPARE, and store the statement for later EXECUTEs."""
        text = request.query or ""
        prepared = self._statements.get(text)
        if prepared is None:
            # If the test has not called `prime_prepare` for the statement, invent int columns for
            # it.
            prepared = self._make_prepared(text)
        self._prepared[prepared.query_id] = prepared
        return Message(Opcode.RESULT, prepared.body)

    def _make_prepared(self, text: str) -> Prepared:
        """Describe a statement with an int column for each bind marker."""
        markers = _QUOTED.sub("", text).count("?")  # question marks in quotes are not markers
        names = [f"k{index + 1}" if index else "k" for index in range(markers)]
        return Prepared(text, [(name, "int") for name in names])

    def statement_of(self, request: Request) -> Prepared | None:
        """Return the prepared statement of an EXECUTE.

        Return None if the node does not know the statement's id.

        :param request: the EXECUTE.
        """
        return self._prepared.get(request.query_id or b"")

    def prepared_flags(self, prepared: Prepared, connection: ServerConnection) -> int:
        """Return flags to add to the bind metadata in the response to PREPARE.

        The base class adds none; `ScyllaNode` overrides this method.

        :param prepared: the prepared statement.
        :param connection: the node's side of the connection.
        """
        return 0

    def _on_execute(self, request: Request) -> Answer:
        if request.query is None:
            return self._unprepared(request.query_id or b"")
        return self._on_query(request)

    def _on_batch(self, request: Request) -> Message:
        for statement in request.statements:
            if statement.query is None:
                return self._unprepared(statement.query_id or b"")
        return self._unprimed(request, f"the batch of {', '.join(map(repr, request.queries))}")

    def _unprepared(self, query_id: bytes) -> Message:
        """Return the error UNPREPARED, after which a client prepares the statement again."""
        text = (
            f"Prepared query with ID {query_id.hex()} not found "
            "(either the query was not prepared on this host)"
        )
        return error(ErrorCode.UNPREPARED, text, query_id=query_id)
