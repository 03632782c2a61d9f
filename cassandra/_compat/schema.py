"""Schema classes and parsers of DataStax Enterprise, which is not supported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._compat.control_connection import ViewOfConnection
from cassandra._compat.refusal import holder, refuse
from cassandra.metadata.placement.replication import ReplicationStrategy
from cassandra.metadata.schema.tables import TableMetadataV3

if TYPE_CHECKING:
    from cassandra.metadata.schema.keyspaces import KeyspaceMetadata
    from cassandra.metadata.schema.tables import MaterializedViewMetadata, TableMetadata

# The metaclass of the replication strategies.
ReplicationStrategyTypeType = type(ReplicationStrategy)


# In DataStax Enterprise, a table may be a vertex of a graph, or an edge between two vertices.
VertexMetadata = holder("VertexMetadata", "keyspace_name table_name label_name")
EdgeMetadata = holder(
    "EdgeMetadata",
    "keyspace_name table_name label_name "
    "from_table from_label from_partition_key_columns from_clustering_columns "
    "to_table to_label to_partition_key_columns to_clustering_columns",
)


class TableMetadataDSE68(TableMetadataV3):
    """A table that may be a vertex or an edge of a graph. The driver never creates one."""

    vertex: Any = None
    edge: Any = None


# The reason in the errors of functions that would read the schema themselves.
_WHY = (
    "the engine reads the schema over its own connection; "
    "Cluster.refresh_schema_metadata() has it read now"
)


def _parser(name: str, base: type) -> type[Any]:
    """Return a stand-in for one of cassandra-driver's schema parser classes.

    Applications import these classes and test objects with isinstance. The method
    `get_all_keyspaces` of the stand-in raises NotImplementedError, because this driver reads the
    schema in another way.
    """
    parameters = "connection timeout fetch_size metadata_request_timeout"
    return holder(name, parameters, "get_all_keyspaces", _WHY, base)


# In cassandra-driver, these classes read the schema over a blocking connection.
SchemaParserV22 = _parser("SchemaParserV22", object)
SchemaParserV3 = _parser("SchemaParserV3", SchemaParserV22)
SchemaParserV4 = _parser("SchemaParserV4", SchemaParserV3)
SchemaParserDSE60 = _parser("SchemaParserDSE60", SchemaParserV3)
SchemaParserDSE67 = _parser("SchemaParserDSE67", SchemaParserV4)
SchemaParserDSE68 = _parser("SchemaParserDSE68", SchemaParserDSE67)


class SchemaOfCluster:
    """Reads parts of the schema through the engine of a cluster."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster

    def get_all_keyspaces(self) -> Iterator[KeyspaceMetadata]:
        """Read the whole schema again, and yield each keyspace."""
        self._cluster.refresh_schema_metadata()
        yield from self._cluster.metadata.keyspaces.values()

    def get_keyspace(self, keyspaces: object, keyspace: str) -> KeyspaceMetadata | None:
        """Read a keyspace again, and return it, or None if it does not exist.

        :param keyspaces: accepted for compatibility.
        :param keyspace: the name of the keyspace.
        """
        self._cluster.refresh_keyspace_metadata(keyspace)
        metadata: KeyspaceMetadata | None = self._cluster.metadata.keyspaces.get(keyspace)
        return metadata

    def get_table(
        self, keyspaces: object, keyspace: str, table: str
    ) -> TableMetadata | MaterializedViewMetadata | None:
        """Read a table or view again, and return it, or None if it does not exist.

        :param keyspaces: accepted for compatibility.
        :param keyspace: the name of the keyspace.
        :param table: the name of the table or view.
        """
        self._cluster.refresh_table_metadata(keyspace, table)
        metadata = self._cluster.metadata.keyspaces.get(keyspace)
        return None if metadata is None else metadata.tables.get(table) or metadata.views.get(table)


def get_schema_parser(
    connection: object,
    server_version: str,
    dse_version: str | None,
    timeout: float,
    metadata_request_timeout: object = None,
    fetch_size: int | None = None,
) -> SchemaOfCluster:
    """Return an object that reads parts of the schema.

    :param connection: ``cluster.control_connection._connection``. The other arguments are accepted
        for compatibility.
    :raises NotImplementedError: if `connection` is any other object, because only the engine reads
        the schema.
    """
    if not isinstance(connection, ViewOfConnection):
        refuse("get_schema_parser()", _WHY)
    return SchemaOfCluster(connection._cluster)


def get_column_from_system_local(
    connection: object, column_name: str, timeout: float, metadata_request_timeout: object
) -> NoReturn:
    """Raise NotImplementedError: execute the query on a session instead."""
    refuse("get_column_from_system_local()", _WHY)


def trim_if_startswith(s: str, prefix: str) -> str:
    """Return `s` without `prefix`; return `s` unchanged if it does not start with `prefix`."""
    return s.removeprefix(prefix)


for _class in (VertexMetadata, EdgeMetadata, TableMetadataDSE68):
    _class.__module__ = "cassandra.metadata"
del _class
