"""Test the schema parser, with which applications of cassandra-driver read parts of the schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster
from cassandra.metadata import get_schema_parser
from cassandra.testing.fake import FakeNode

# The schema tables of the fake node, with the keyspace ks and its table t.
TABLES: dict[str, Any] = {
    "system_schema.keyspaces": [
        {
            "keyspace_name": "ks",
            "durable_writes": True,
            "replication": {
                "class": "org.apache.cassandra.locator.SimpleStrategy",
                "replication_factor": "1",
            },
        }
    ],
    "system_schema.tables": [{"keyspace_name": "ks", "table_name": "t"}],
    "system_schema.columns": [
        {
            "keyspace_name": "ks",
            "table_name": "t",
            "column_name": "k",
            "clustering_order": "none",
            "kind": "partition_key",
            "position": 0,
            "type": "int",
        }
    ],
}


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as fake:
        fake.schema = TABLES
        yield fake


@pytest.mark.parametrize("schema_metadata_enabled", [True, False])
def test_a_table_is_read_through_the_engine(node: FakeNode, schema_metadata_enabled: bool) -> None:
    """A schema parser reads a table even if the application has disabled schema metadata."""
    with Cluster(
        [node.address], port=node.port, schema_metadata_enabled=schema_metadata_enabled
    ) as cluster:
        cluster.connect()
        connection: Any = cluster.control_connection._connection
        assert connection.endpoint.port == node.port
        parser = get_schema_parser(connection, "4-a", None, 0.1)
        table = parser.get_table(keyspaces=None, keyspace="ks", table="t")
        assert list(table.columns) == ["k"]
        assert parser.get_table(None, "ks", "missing") is None
        assert parser.get_table(None, "missing", "t") is None
        assert parser.get_keyspace(None, "ks").name == "ks"
        assert [keyspace.name for keyspace in parser.get_all_keyspaces()] == ["ks"]


def test_a_connection_of_another_class_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="the engine reads the schema"):
        get_schema_parser(object(), "4-a", None, 0.1)
