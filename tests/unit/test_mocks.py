"""Tests of applications pass mocks where the driver takes statements, settings and values.

They pass with cassandra-driver, so they must pass with this driver.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock, PropertyMock, create_autospec, patch, sentinel

import pytest

from cassandra._mocks import is_mock
from cassandra.cluster import Cluster, ExecutionProfile, Session
from cassandra.encoder import Encoder
from cassandra.metadata import Metadata
from cassandra.policies import DCAwareRoundRobinPolicy
from cassandra.query import (
    BatchStatement,
    BoundStatement,
    PreparedStatement,
    QueryTrace,
    SimpleStatement,
    TraceEvent,
)

STATEMENTS = [
    Mock(),
    MagicMock(),
    AsyncMock(),
    MagicMock(query_string="INSERT INTO t (k) VALUES (%s)"),
    *(make(spec=PreparedStatement) for make in (Mock, MagicMock)),
    *(make(spec=SimpleStatement) for make in (Mock, MagicMock)),
    create_autospec(PreparedStatement, instance=True),
    create_autospec(PreparedStatement),
]


class Application(Mock):
    """A kind of mock that an application has derived."""


def test_mocks_are_recognized() -> None:
    """Mocks of all kinds are recognized, also with a spec; other objects are not."""
    for mock in [*STATEMENTS, Application(), create_autospec(Session, instance=True)]:
        assert is_mock(mock)
    for other in [None, "text", 7, object(), sentinel.other, Mock, SimpleStatement("SELECT")]:
        assert not is_mock(other)


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("parameters", [None, (), (1,)])
def test_a_batch_takes_mocks(statement: Any, parameters: Any) -> None:
    """`add`, `add_all` and `add_many` take mocks of statements and count them."""
    batch = BatchStatement()
    assert batch.add(statement, parameters) is batch
    batch.add_all([statement] * 2, [parameters] * 2).add_many(statement, [parameters] * 3)
    assert len(batch) == 6
    assert not any(is_prepared for is_prepared, _, _ in batch._statements_and_parameters)
    assert (batch.keyspace, batch.routing_key, batch.custom_payload) == (None, None, None)
    assert len(batch.clear()) == 0


def test_a_batch_binds_mocks_of_prepared_statements() -> None:
    """Tests of applications may check what was bound."""
    prepared = MagicMock(spec=PreparedStatement)
    BatchStatement().add(prepared, (1,))
    prepared.bind.assert_called_once_with((1,))


def test_a_batch_takes_mocks_of_bound_statements() -> None:
    """Bound statements take no parameters, even as mocks."""
    bound = MagicMock(spec=BoundStatement)
    assert len(BatchStatement().add(bound)) == 1
    with pytest.raises(ValueError, match="takes no further parameters"):
        BatchStatement().add(bound, (1,))


def test_values_may_be_mocks() -> None:
    """A mock is written as its str(), because nothing sends it."""
    value = Mock()
    assert Encoder().cql_encode_all_types(value) == str(value)
    assert len(BatchStatement().add("INSERT INTO t (k) VALUES (%s)", (value,))) == 1


def test_settings_may_be_mocks() -> None:
    """The code under test may take its settings from a mock."""
    settings = Mock()
    assert SimpleStatement(settings.query).query_string is settings.query
    assert DCAwareRoundRobinPolicy(settings.local_dc).local_dc is settings.local_dc
    profile = ExecutionProfile(request_timeout=settings.timeout)
    assert profile.request_timeout is settings.timeout


@pytest.mark.parametrize(
    ("cls", "names"),
    [
        (Cluster, "metadata sessions is_shutdown"),
        (Session, "cluster encoder hosts is_shutdown timestamp_generator"),
        (ExecutionProfile, "load_balancing_policy retry_policy speculative_execution_policy"),
        (Metadata, "cluster_name partitioner"),
        (DCAwareRoundRobinPolicy, "local_dc used_hosts_per_remote_dc"),
        (QueryTrace, "trace_id"),
        (TraceEvent, "description datetime source source_elapsed thread_name"),
    ],
)
def test_mocks_with_a_spec_have_the_attributes_of_instances(cls: Any, names: str) -> None:
    """A mock with a spec has the attributes of the class, as in cassandra-driver."""
    for name in names.split():
        assert is_mock(getattr(Mock(spec=cls), name))
        getattr(create_autospec(cls, instance=True), name)


def test_attributes_of_instances_can_be_patched() -> None:
    """`patch` finds such an attribute in the class."""
    with patch("cassandra.cluster.Cluster.metadata", new_callable=PropertyMock):
        assert is_mock(Cluster.metadata)
    assert Cluster.metadata is None
