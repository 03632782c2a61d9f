"""The mapper's registry of connections."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqlengine import CQLEngineException, columns, connection
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, ContextQuery
from cassandra.query import BatchStatement, PreparedStatement, SimpleStatement

from .conftest import FakeSession


class Registered(Model):
    __keyspace__ = "ks"
    p = columns.Integer(primary_key=True)
    a = columns.Integer()


def test_the_default_connection_has_a_name(session: FakeSession) -> None:
    assert connection.get_connection("default") is connection.get_connection()
    connection.unregister_connection("default")
    with pytest.raises(CQLEngineException):
        connection.get_connection()


def test_registering_a_name_again_replaces_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    sessions: list[Any] = [FakeSession(), FakeSession()]
    for session in sessions:
        connection.register_connection("again", session=session)
    assert connection.get_session("again") is sessions[1]
    assert "in the registry already" in caplog.text
    connection.unregister_connection("again")


def test_an_instance_is_written_on_its_own_connection(session: FakeSession) -> None:
    other_session: Any = FakeSession()
    connection.register_connection("other", session=other_session)
    row: Any = Registered(p=1, a=2)
    row.__connection__ = "other"
    row.save()
    row.delete()
    assert (len(other_session.done), len(session.done)) == (2, 0)
    connection.unregister_connection("other")


def test_a_queryset_in_a_batch_cannot_change_its_connection() -> None:
    with pytest.raises(CQLEngineException, match="batch mode"):
        Registered.objects.batch(BatchQuery()).using(connection="other")


def test_a_context_does_not_connect_before_its_first_statement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lazy_connection = connection.register_connection("later", ["192.0.2.1"], lazy_connect=True)
    setup_calls: list[str] = []
    monkeypatch.setattr(lazy_connection, "setup", lambda: setup_calls.append("connect"))
    with ContextQuery(Registered, connection="later"):
        assert setup_calls == []
    connection.unregister_connection("later")
    # The name of the connection is checked at once.
    with pytest.raises(CQLEngineException):
        ContextQuery(Registered, connection="later")


@pytest.mark.parametrize(
    "statement",
    [
        SimpleStatement("INSERT INTO t (k) VALUES (1)"),
        BatchStatement(),
        PreparedStatement([], b"id", [], "INSERT INTO t (k) VALUES (1)", "ks", 4, None, None).bind(
            ()
        ),
    ],
)
def test_the_connection_s_consistency_level_is_not_set_on_the_statement(
    session: FakeSession, statement: Any
) -> None:
    connection.get_connection().consistency = ConsistencyLevel.QUORUM
    connection.execute(statement)
    connection.execute(statement, consistency_level=ConsistencyLevel.ALL)
    assert [request.consistency for request in session.done] == [
        ConsistencyLevel.QUORUM,
        ConsistencyLevel.ALL,
    ]
    assert statement.consistency_level is None
    assert type(session.done[0].statement) is type(statement)
