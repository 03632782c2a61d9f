"""Fixtures that connect the mapper to a real node, with the blocking and with the asyncio API."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cqlengine import connection, management
from cassandra.testing import LocalCluster
from tests.integration.conftest import new_keyspace_name


@pytest.fixture(scope="session", autouse=True)
def _management_allowed() -> Iterator[None]:
    """Allow schema changes for all tests, so that `sync_table` does not warn."""
    patch = pytest.MonkeyPatch()
    patch.setenv(management.CQLENG_ALLOW_SCHEMA_MANAGEMENT, "1")
    yield
    patch.undo()


@pytest.fixture(scope="module")
def mapper(node: LocalCluster) -> Iterator[str]:
    """Set the default connection, and yield a keyspace for the tests of a module."""
    keyspace = new_keyspace_name()
    # The keyspace need not exist yet: the mapper writes its name into each statement, and the
    # session does not use it. With consistency=None, statements have the session's consistency
    # level.
    connection.setup(
        node.contact_points, default_keyspace=keyspace, port=node.port, consistency=None
    )
    management.create_keyspace_simple(keyspace, replication_factor=1)
    yield keyspace
    management.drop_keyspace(keyspace)
    connection.unregister_connection(connection.DEFAULT_CONNECTION)


@pytest.fixture
async def awaited(mapper: str, node: LocalCluster) -> AsyncIterator[str]:
    """Yield the name of an asyncio connection on the test's event loop."""
    async with aio.Cluster(node.contact_points, port=node.port) as cluster:
        session = await cluster.connect()
        connection.register_connection("awaited", session=session)
        yield "awaited"
        connection.unregister_connection("awaited")


def synced(*models: Any) -> None:
    """Create the models' tables; a warning fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in models:
            management.sync_table(model)
