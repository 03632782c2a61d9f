"""Passwords and bound values do not appear in logs, reprs, errors, pickles, and metrics."""

from __future__ import annotations

import logging
import pickle
import traceback
from typing import Any

import pytest

from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, close, error, garbage, silence

from .conftest import READ, Use, fake

SECRET = "correct-horse-battery"
NUMBER = 918273645546372819
INSERT = "INSERT INTO t (k, v) VALUES (?, ?)"
MARKERS = [("k", "bigint"), ("v", "text")]

# How the node responds to the statements of the test.
FAULTS: dict[str, Any] = {
    "refused": error(ErrorCode.INVALID, "no"),
    "closed": close(),
    "garbage": garbage(),
    "late": silence(),
    "unprepared": error(ErrorCode.UNPREPARED, "again", query_id=b"\0" * 16),
    "overloaded": error(ErrorCode.OVERLOADED, "busy"),
}


def has_secret(text: str) -> bool:
    """Return True if a string shows the secret string or the secret number."""
    return SECRET in text or str(NUMBER) in text


def error_of(call: Any) -> BaseException | None:
    """Return the exception that `call` raises; None if it does not raise."""
    try:
        call()
    except Exception as failure:
        return failure
    return None


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_bound_values_show_nowhere(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever the fault, the bound values do not appear in errors, logs, reprs and metrics."""
    caplog.set_level(logging.DEBUG)
    with FakeNode() as node:
        node.prime_prepare(INSERT, MARKERS)
        with Cluster([node.address], port=node.port, metrics_enabled=True) as cluster:
            session = cluster.connect()
            # With the fault "late", the node does not respond, so let requests time out soon.
            session.default_timeout = 0.3
            statement = session.prepare(INSERT)
            for opcode in (Opcode.QUERY, Opcode.EXECUTE, Opcode.BATCH):
                node.prime(opcode, FAULTS[fault])
            bound = statement.bind((NUMBER, SECRET))
            # The secrets are in a bound statement, in positional and named parameters, and in a
            # batch.
            calls = [
                lambda: session.execute(bound),
                lambda: session.execute("INSERT INTO t (v) VALUES (%s)", (SECRET,)),
                lambda: session.execute(
                    SimpleStatement("INSERT INTO t (k) VALUES (%(k)s)"), {"k": NUMBER}
                ),
                lambda: session.execute(
                    BatchStatement().add("INSERT INTO t (v) VALUES (%s)", (SECRET,))
                ),
            ]
            failures = [failure for call in calls if (failure := error_of(call)) is not None]
            assert len(failures) == len(calls)
            for failure in failures:
                assert not has_secret("".join(traceback.format_exception(failure)))
                assert not has_secret(repr(failure))
                pickled = pickle.dumps(failure)
                assert SECRET.encode() not in pickled
                # CQL has the bytes of a number in big-endian order, pickles in little-endian order.
                assert NUMBER.to_bytes(8, "big") not in pickled
                assert NUMBER.to_bytes(8, "little") not in pickled
            assert not has_secret(repr(session) + repr(cluster) + repr(statement))
            assert cluster.metrics is not None
            assert not has_secret(repr(cluster.metrics.get_stats()))
    assert not has_secret(caplog.text)


@pytest.mark.parametrize("password", [SECRET, "wrong"])
def test_passwords_show_nowhere(
    connect_and_read: Use, password: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The password does not appear in errors and logs, whether or not the login succeeds."""
    caplog.set_level(logging.DEBUG)
    provider = PlainTextAuthProvider("ada", SECRET)
    with fake(username="ada", password=password) as node:
        failure = error_of(
            lambda: connect_and_read([node.address], port=node.port, auth_provider=provider)
        )
        assert (failure is None) == (password == SECRET)
        if failure is not None:
            assert not has_secret("".join(traceback.format_exception(failure)) + repr(failure))
            assert SECRET.encode() not in pickle.dumps(failure)
    assert not has_secret(repr(provider))
    assert not has_secret(caplog.text)


@pytest.mark.parametrize("name", ['x"; DROP KEYSPACE y', "a b", "Täble", 'a"b'])
def test_names_of_keyspaces_are_quoted(connect_and_read: Use, name: str) -> None:
    """A name of a keyspace is quoted, so that it cannot add a statement."""
    with fake() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        error_of(lambda: session.set_keyspace(name))
        error_of(lambda: cluster.connect(name).execute(READ))
        quoted = name.replace('"', '""')
        texts = {request.query for request in node.requests if "USE" in (request.query or "")}
        assert texts == {f'USE "{quoted}"'}
