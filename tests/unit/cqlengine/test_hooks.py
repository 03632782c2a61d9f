"""What programs see of the mapper's statements."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.hooks import log_statement, with_rows_of
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import ModelQuerySet

from .conftest import FakeSession


class Asked(ModelQuerySet[Any]):
    made: list[dict[str, Any]] = []

    def create(self, **kwargs: Any) -> Any:
        self.made.append(kwargs)
        return super().create(**kwargs)


class Seen(Model):
    __keyspace__ = "ks"
    __queryset__ = Asked
    p = columns.Integer(primary_key=True)
    a = columns.Integer()


def test_statements_are_logged(session: FakeSession, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="cassandra.cqlengine.connection")
    Seen.create(p=1, a=2)
    Seen.objects(p=3).delete()
    connection.execute("SELECT %s", ("five",))
    found = [record.getMessage() for record in caplog.records]
    assert "INSERT INTO ks.seen" in found[-3]
    assert "[1, 2]" in found[-3]
    assert "DELETE FROM ks.seen" in found[-2]
    assert "SELECT %s with ('five',)" in found[-1]


def test_values_of_clusters_that_encrypt_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("cassandra.cqlengine.connection")
    caplog.set_level(logging.DEBUG, logger=log.name)
    cluster = SimpleNamespace(column_encryption_policy=object())
    log_statement(log, SimpleNamespace(cluster=cluster, label="x"), "SELECT ?", ["secret"])
    assert "SELECT ?" in caplog.text
    assert "secret" not in caplog.text


def test_other_results_of_a_wrapper_are_left_as_they_are() -> None:
    result: list[Any] = []
    with_rows_of(result, tuple)
    assert result == []


def test_create_asks_the_queryset_of_the_program(session: FakeSession) -> None:
    Seen.create(p=1)
    assert Asked.made[-1] == {"p": 1}
