"""Secrets that the driver hides.

Passwords do not appear in messages, reprs, or tracebacks with local variables. Bound values do not
appear in errors of the server.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any

import pytest

import cassandra
from cassandra import aio
from cassandra._secrets import Secret
from cassandra.auth import Authenticator, AuthProvider, PlainTextAuthProvider, Token
from cassandra.client.checks import check_pairs
from cassandra.cluster import Cluster
from cassandra.cqltypes import UTF8Type
from cassandra.errors import InvalidRequest, NoHostAvailable
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.messages.control import AuthResponseMessage
from cassandra.protocol.messages.errors import SyntaxException
from cassandra.query import (
    BatchStatement,
    BoundStatement,
    PreparedStatement,
    SimpleStatement,
    bind_params,
)
from cassandra.testing.fake import (
    ErrorCode,
    FakeNode,
    Opcode,
    close,
    error,
    garbage,
    message,
    reset,
    silence,
)
from tests.unit.engine.faults import call_in_thread, exception_of

SECRET = "correct-horse"
LOGIN: Any = {"username": "ada", "password": SECRET}
LIBRARY = str(Path(cassandra.__file__).parent)
TESTS = str(Path(__file__).parents[2])


def causes_of(failure: BaseException) -> Iterator[BaseException]:
    """Yield `failure`, all its causes and contexts, and the errors by host that it contains."""
    pending: list[BaseException | None] = [failure]
    seen_ids: set[int] = set()
    while pending:
        exception = pending.pop()
        if exception is not None and id(exception) not in seen_ids:
            seen_ids.add(id(exception))
            yield exception
            pending += [exception.__cause__, exception.__context__]
            if isinstance(exception, NoHostAvailable):
                pending += [
                    cause for cause in exception.errors.values() if isinstance(cause, BaseException)
                ]


def reprs_of(value: object, depth: int = 3) -> Iterator[str]:
    """Yield the reprs of a value, its items and its attributes, down to `depth` levels.

    For a type, module, frame or string, and for an object that the tests define, only the repr is
    yielded: this function does not look inside these objects.
    """
    yield repr(value)
    if not depth or isinstance(value, (type, ModuleType, FrameType, str, bytes)):
        return
    if type(value).__module__.startswith("tests."):
        return  # This is an object of the application. The driver cannot hide its contents.
    inner_values: list[object] = list(getattr(value, "__dict__", {}).values())
    for cls in type(value).__mro__:
        inner_values += [getattr(value, name, None) for name in vars(cls).get("__slots__", ())]
    if isinstance(value, dict):
        inner_values += [*value, *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner_values += value
    for inner_value in inner_values:
        yield from reprs_of(inner_value, depth - 1)


def report_of(failure: BaseException) -> str:
    """Return everything that an error report with local variables would show of an error.

    Variables in frames of the tests and of other packages are left out.
    """
    texts: list[str] = []
    for exception in causes_of(failure):
        texts += [repr(exception), str(exception), *reprs_of(vars(exception), 2)]
        traceback: TracebackType | None = exception.__traceback__
        while traceback is not None:
            frame = traceback.tb_frame
            path = frame.f_code.co_filename
            # Keep only frames of the driver and of the standard library.
            if path.startswith(LIBRARY) or not ("site-packages" in path or TESTS in path):
                texts += [
                    f"{frame.f_code.co_name} {name}={text}"
                    for name, value in frame.f_locals.items()
                    for text in reprs_of(value)
                ]
            traceback = traceback.tb_next
    return "\n".join(texts)


def test_reprs_of_looks_into_slots_and_containers() -> None:
    """`reprs_of` finds a secret in slots, dicts and lists, but not in the class `Secret`."""

    class Careless:
        __module__ = "somewhere"
        __slots__ = ("inside",)

        def __init__(self) -> None:
            self.inside = {"a": [SECRET]}

    assert SECRET in "".join(reprs_of(Careless()))
    # `Secret` is the driver's class that hides a value.
    assert SECRET not in "".join(reprs_of(Secret({"a": [SECRET]})))


class Answers(AuthProvider, Authenticator):
    """An auth provider that is its own authenticator.

    :param answers: the initial response, and the response to a challenge.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def new_authenticator(self, host: str) -> Authenticator:
        return self

    def initial_response(self) -> Any:
        return self.answers[0]

    def evaluate_challenge(self, challenge: bytes | None) -> Any:
        return self.answers[1]


CHALLENGE = message(Opcode.AUTH_CHALLENGE, b"\0\0\0\x01?")
# What the node does when the client sends a token. With the last fault, it responds to each token
# with another challenge.
FAULTS: dict[str, Any] = {
    "refused": error(ErrorCode.BAD_CREDENTIALS, "no"),
    "closed": close(),
    "reset": reset(),
    "silent": silence(),
    "garbage": garbage(),
    "a wrong message": message(Opcode.READY, b""),
    "another error": error(ErrorCode.SERVER_ERROR, "no"),
    "a challenge without an end": CHALLENGE,
}
# Auth providers with the password SECRET. Some passwords cannot be sent: UTF-8 has no lone
# surrogates, and the mechanism PLAIN separates its fields by NUL. Some tokens have a wrong type.
LOGINS: dict[str, AuthProvider] = {
    "plain": PlainTextAuthProvider("ada", SECRET),
    "surrogates": PlainTextAuthProvider("ada", SECRET + "\udcff"),
    "bytes": PlainTextAuthProvider("ada", SECRET.encode()),  # type: ignore[arg-type]
    "a NUL": PlainTextAuthProvider("ada", SECRET + "\0"),
    "wrong type": Answers({"password": SECRET}),
    "wrong type later": Answers(b"x", [SECRET]),
    "bytearray": Answers(bytearray(SECRET.encode()), SECRET),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("login", LOGINS)
async def test_a_failed_login_shows_no_password(
    fault: str, login: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever goes wrong in a login, neither errors nor logs show the password."""
    caplog.set_level(logging.DEBUG, "cassandra")
    with FakeNode(username="ada", password="x") as node:
        node.prime(Opcode.AUTH_RESPONSE, FAULTS[fault])
        settings: dict[str, Any] = {
            "auth_provider": LOGINS[login],
            "connect_timeout": 0.2,
            "port": node.port,
        }
        async with aio.Cluster([node.address], **settings) as cluster:
            failure = await exception_of(cluster.connect())
        assert isinstance(failure, NoHostAvailable)
        assert SECRET not in report_of(failure)
        with Cluster([node.address], **settings) as blocking_cluster:
            failure = await exception_of(call_in_thread(blocking_cluster.connect))
        assert SECRET not in report_of(failure)
    assert SECRET not in caplog.text


def test_reprs_and_type_errors_show_no_password() -> None:
    """Objects with a password hide it in their repr, as does the error for a wrong provider."""
    assert SECRET not in repr(PlainTextAuthProvider("ada", SECRET))
    assert SECRET not in repr(AuthResponseMessage(SECRET.encode()))
    assert SECRET not in repr(Token(SECRET.encode()))
    with pytest.raises(TypeError, match="of type dict") as caught:
        Cluster(auth_provider={"username": "ada", "password": SECRET})  # type: ignore[arg-type]
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: PlainTextAuthProvider(user="ada", password=SECRET),  # type: ignore[call-arg]
        lambda: PlainTextAuthProvider(LOGIN),  # type: ignore[call-arg]
        lambda: PlainTextAuthProvider(password=SECRET),  # type: ignore[call-arg]
    ],
)
def test_reports_of_wrong_logins_show_no_password(call: Callable[[], object]) -> None:
    """Wrong arguments of PlainTextAuthProvider raise an error without the password."""
    with pytest.raises(TypeError) as caught:
        call()
    assert SECRET not in report_of(caught.value)


def test_messages_about_other_arguments_show_no_values() -> None:
    """Errors about wrong arguments of these calls do not show the arguments' values."""
    columns = [ColumnMetadata("ks", "t", "a", UTF8Type)]
    prepared = PreparedStatement(columns, b"id", [0], "SELECT 1", "ks", 5, None, None)
    arguments: Any = {"host": "10.0.0.1", "password": SECRET}
    calls: list[Callable[[], object]] = [
        lambda: Cluster(arguments),
        lambda: BoundStatement(prepared, (SECRET,)),  # type: ignore[arg-type]
        lambda: check_pairs(prepared.bind((SECRET,))),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert SECRET not in str(caught.value)


def text_of(error: BaseException) -> str:
    """Return the message of an error, followed by its notes."""
    return "\n".join((str(error), *getattr(error, "__notes__", ())))


@pytest.mark.parametrize("parameters", [(SECRET,), {"x": SECRET}])
def test_server_errors_show_the_query_without_its_values(parameters: Any) -> None:
    """Errors of the server show the query with its placeholders, but not the bound values."""
    placeholder = "%(x)s" if isinstance(parameters, dict) else "%s"
    query = f"SELECT k FROM t WHERE x = {placeholder}"
    refusal = error(ErrorCode.SYNTAX_ERROR, "no")
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        node.prime(bind_params(query, parameters), refusal)
        node.prime(Opcode.BATCH, error(ErrorCode.INVALID, "no"))
        batch = BatchStatement()
        batch.add(SimpleStatement(query), parameters)
        for statement in (query, SimpleStatement(query)):
            with pytest.raises(SyntaxException) as refused:
                session.execute(statement, parameters)
            assert "WHERE x = %" in text_of(refused.value)
            assert SECRET not in text_of(refused.value)
        with pytest.raises(InvalidRequest) as refused_batch:
            session.execute(batch)
        assert "WHERE x = %" in text_of(refused_batch.value)
        assert SECRET not in text_of(refused_batch.value)


@pytest.mark.parametrize("answer", [silence(), error(ErrorCode.INVALID, "no"), close()])
@pytest.mark.parametrize(
    "query",
    [
        f"CREATE ROLE ada WITH PASSWORD = '{SECRET}'",
        f"ALTER USER ada WITH PASSWORD '{SECRET}'",
        f"CREAT ROLE ada WITH PASSWORD='{SECRET}'",
    ],
)
async def test_errors_about_roles_show_no_password(
    query: str, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A password is a part of the CQL. It must be missing in errors, notes, logs and futures."""
    with FakeNode() as node:
        node.prime(query, answer)
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            for statement in (query, SimpleStatement(query), BatchStatement().add(query)):
                future = session.execute(statement, timeout=0.05)
                assert "ROLE" in repr(future) or "USER" in repr(future)
                assert SECRET not in repr(future)
                with pytest.raises(Exception) as failed:  # noqa: PT011  # of several classes
                    await future
                assert SECRET not in text_of(failed.value)
                assert SECRET not in repr(future)
    assert SECRET not in caplog.text
