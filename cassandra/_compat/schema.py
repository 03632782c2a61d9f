"""Schema objects and readers of DataStax Enterprise, which is not supported: names for programs."""

from __future__ import annotations

from typing import NoReturn

from cassandra.metadata.placement.replication import ReplicationStrategy
from cassandra.metadata.schema.tables import TableMetadataV3

__all__ = [
    "EdgeMetadata",
    "ReplicationStrategyTypeType",
    "SchemaParserDSE60",
    "SchemaParserDSE67",
    "SchemaParserDSE68",
    "SchemaParserV3",
    "SchemaParserV4",
    "SchemaParserV22",
    "TableMetadataDSE68",
    "VertexMetadata",
    "get_column_from_system_local",
    "get_schema_parser",
    "trim_if_startswith",
]

# The class of the strategies' classes.
ReplicationStrategyTypeType = type(ReplicationStrategy)


class VertexMetadata:
    """A table that a graph has as a vertex."""

    def __init__(self, keyspace_name: str, table_name: str, label_name: str) -> None:
        self.keyspace_name = keyspace_name
        self.table_name = table_name
        self.label_name = label_name


class EdgeMetadata:
    """A table that a graph has as an edge, with both of its vertices."""

    def __init__(
        self,
        keyspace_name: str,
        table_name: str,
        label_name: str,
        from_table: str,
        from_label: str,
        from_partition_key_columns: list[str],
        from_clustering_columns: list[str],
        to_table: str,
        to_label: str,
        to_partition_key_columns: list[str],
        to_clustering_columns: list[str],
    ) -> None:
        self.keyspace_name = keyspace_name
        self.table_name = table_name
        self.label_name = label_name
        self.from_table = from_table
        self.from_label = from_label
        self.from_partition_key_columns = from_partition_key_columns
        self.from_clustering_columns = from_clustering_columns
        self.to_table = to_table
        self.to_label = to_label
        self.to_partition_key_columns = to_partition_key_columns
        self.to_clustering_columns = to_clustering_columns


class TableMetadataDSE68(TableMetadataV3):
    """A table that may be a vertex or an edge of a graph; the driver makes none."""

    vertex: VertexMetadata | None = None
    edge: EdgeMetadata | None = None


class _SchemaParser:
    """Would read the schema over a blocking connection. It can be made, and not used."""

    def __init__(
        self, connection: object, timeout: float, fetch_size: int, metadata_request_timeout: object
    ) -> None:
        self.connection = connection
        self.timeout = timeout
        self.fetch_size = fetch_size
        self.metadata_request_timeout = metadata_request_timeout

    def get_all_keyspaces(self) -> NoReturn:
        """Raise NotImplementedError: the engine reads the schema."""
        _refuse(f"{type(self).__name__}.get_all_keyspaces()")


class SchemaParserV22(_SchemaParser):
    """Cassandra 2.2."""


class SchemaParserV3(SchemaParserV22):
    """Cassandra 3."""


class SchemaParserV4(SchemaParserV3):
    """Cassandra 4."""


class SchemaParserDSE60(SchemaParserV3):
    """DataStax Enterprise 6.0."""


class SchemaParserDSE67(SchemaParserV4):
    """DataStax Enterprise 6.7."""


class SchemaParserDSE68(SchemaParserDSE67):
    """DataStax Enterprise 6.8."""


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} is not supported: the engine reads the schema over its own connection; "
        "Cluster.refresh_schema_metadata() has it read now"
    )


def get_schema_parser(
    connection: object,
    server_version: str,
    dse_version: str | None,
    timeout: float,
    metadata_request_timeout: object,
    fetch_size: int | None = None,
) -> NoReturn:
    """Raise NotImplementedError: the engine reads the schema."""
    _refuse("get_schema_parser()")


def get_column_from_system_local(
    connection: object, column_name: str, timeout: float, metadata_request_timeout: object
) -> NoReturn:
    """Raise NotImplementedError: a session can execute the query."""
    _refuse("get_column_from_system_local()")


def trim_if_startswith(s: str, prefix: str) -> str:
    """Return `s` without `prefix`, if it begins with it."""
    return s.removeprefix(prefix)


for _class in (VertexMetadata, EdgeMetadata, TableMetadataDSE68):
    _class.__module__ = "cassandra.metadata"
del _class
