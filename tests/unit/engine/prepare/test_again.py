"""Preparing again what a host has forgotten, without a socket."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

from cassandra.cqltypes import Int32Type
from cassandra.engine.prepare.again import Reprepare
from cassandra.errors import ConnectionException, InvalidRequest, ProtocolError
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.opcodes import ERROR, PREPARE, READY, RESULT
from cassandra.query import PreparedStatement
from tests.unit.engine.partners import connection
from tests.unit.protocol.wire import int32, short, string

TEXT = "SELECT v FROM t WHERE k = ?"


def prepared() -> PreparedStatement:
    columns = [ColumnMetadata("ks", "t", "k", Int32Type)]
    return PreparedStatement(columns, b"old", [0], TEXT, "ks", 4, None, None)


def answer(name: str = "k", code: int = 9) -> bytes:
    """A PREPARED with one bind column (native_protocol_v4.spec, section 4.2.5.4)."""
    bind = int32(1) + int32(1) + int32(1) + short(0) + string("ks") + string("t")
    return int32(4) + short(3) + b"new" + bind + string(name) + short(code) + int32(4) + int32(0)


class Told:
    """As a request."""

    done = False
    _retry_handle: Any = None
    session = SimpleNamespace(core=SimpleNamespace(random=Random(1)))

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.request_body = SimpleNamespace(renew=lambda old, prepared: self.calls.append(old))

    def resend(self, attempt: Any) -> None:
        self.calls.append(("resend", attempt))

    def fail(self, error: BaseException) -> None:
        self.calls.append(type(error))

    def on_reprepare_failed(self, attempt: Any, error: Exception) -> None:
        self.calls.append((attempt, error))


def begun(**attributes: Any) -> tuple[Told, PreparedStatement, Reprepare, Any]:
    request, statement = Told(), prepared()
    sent: list[Any] = []
    through = connection(version=4, sent=sent, gate=None, **{"keyspace": "ks", **attributes})
    step = Reprepare(request, "attempt", statement, through)  # type: ignore[arg-type]
    if "send" not in attributes:
        through.send = lambda *what: sent.append(what)
    return request, statement, step, through


def test_the_request_goes_on_with_the_new_id() -> None:
    request, statement, step, through = begun()
    step.start()
    assert through.sent == [(step, PREPARE, 0, int32(len(TEXT)) + TEXT.encode())]
    step.on_response(through, RESULT, 0, answer())
    assert statement.query_id == b"new"
    assert request.calls == [b"old", ("resend", "attempt")]


def test_a_refusal_is_the_requests_error() -> None:
    request, statement, step, through = begun()
    step.on_response(through, ERROR, 0, int32(0x2200) + string("no such table"))
    assert (request.calls, statement.query_id) == ([InvalidRequest], b"old")


def test_an_answer_to_something_else() -> None:
    request, _, step, through = begun()
    step.on_response(through, READY, 0, b"")
    assert request.calls == [ProtocolError]
    assert through.closed


def test_a_lost_connection_is_for_the_next_host() -> None:
    error = ConnectionException("lost")

    def send(*what: Any) -> None:
        raise error

    request, _, step, through = begun(send=send)
    step.start()
    step.on_connection_lost(through, error)
    assert request.calls == [("attempt", error)] * 2


def test_a_request_that_is_over_wants_nothing() -> None:
    request, statement, step, through = begun()
    request.done = True
    step.on_response(through, RESULT, 0, answer())
    assert (request.calls, statement.query_id) == ([], b"old")
