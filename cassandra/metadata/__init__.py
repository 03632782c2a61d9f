"""The driver's knowledge of a cluster: nodes, tokens and replicas, and the schema."""

from typing import TYPE_CHECKING

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import homes_of, lazy_names

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata, ReplicaShard
    from cassandra.metadata.placement.key_groups import NO_VALID_REPLICA, group_keys_by_replica
    from cassandra.metadata.placement.replication import (
        REPLICATION_STRATEGY_CLASS_PREFIX,
        EverywhereStrategy,
        LocalStrategy,
        NetworkTopologyStrategy,
        ReplicationFactor,
        ReplicationStrategy,
        SimpleStrategy,
    )
    from cassandra.metadata.placement.routing import TokenMap
    from cassandra.metadata.placement.tokens import (
        MAX_LONG,
        MIN_LONG,
        BytesToken,
        HashToken,
        MD5Token,
        Murmur3Token,
        NoMurmur3,
        Token,
    )
    from cassandra.metadata.schema.elements import (
        Aggregate,
        ColumnMask,
        ColumnMetadata,
        DroppedColumn,
        Function,
        IndexMetadata,
        TriggerMetadata,
        UserType,
    )
    from cassandra.metadata.schema.keyspaces import KeyspaceMetadata
    from cassandra.metadata.schema.tables import (
        MaterializedViewMetadata,
        TableMetadata,
        TableMetadataV3,
    )
    from cassandra.util.cql_text import (
        cql_keywords,
        cql_keywords_reserved,
        cql_keywords_unreserved,
        escape_name,
        is_valid_name,
        maybe_escape_name,
        protect_name,
        protect_names,
        protect_value,
    )

__all__ = [
    "MAX_LONG", "MIN_LONG", "NO_VALID_REPLICA", "REPLICATION_STRATEGY_CLASS_PREFIX", "Aggregate",
    "BytesToken", "ColumnMask", "ColumnMetadata", "DroppedColumn", "EverywhereStrategy", "Function",
    "HashToken", "IndexMetadata", "KeyspaceMetadata", "LocalStrategy", "MD5Token",
    "MaterializedViewMetadata", "Metadata", "Murmur3Token", "NetworkTopologyStrategy", "NoMurmur3",
    "ReplicaShard", "ReplicationFactor", "ReplicationStrategy", "SimpleStrategy", "TableMetadata",
    "TableMetadataV3", "Token", "TokenMap", "TriggerMetadata", "UserType", "cql_keywords",
    "cql_keywords_reserved", "cql_keywords_unreserved", "escape_name", "group_keys_by_replica",
    "is_valid_name", "maybe_escape_name", "protect_name", "protect_names", "protect_value",
]  # fmt: skip

# Import a name only when it is first used, because many applications never use the metadata.
_HOME = homes_of(
    {
        "cassandra.metadata.cluster_metadata": "Metadata ReplicaShard",
        "cassandra.metadata.placement.replication": """
        REPLICATION_STRATEGY_CLASS_PREFIX EverywhereStrategy LocalStrategy NetworkTopologyStrategy
        ReplicationFactor ReplicationStrategy SimpleStrategy
        """,
        "cassandra.metadata.placement.routing": "TokenMap",
        "cassandra.metadata.placement.tokens": """
        MAX_LONG MIN_LONG BytesToken HashToken MD5Token Murmur3Token NoMurmur3 Token
        """,
        "cassandra.metadata.schema.elements": """
        Aggregate ColumnMask ColumnMetadata DroppedColumn Function IndexMetadata TriggerMetadata
        UserType
        """,
        "cassandra.metadata.schema.keyspaces": "KeyspaceMetadata",
        "cassandra.metadata.schema.tables": """
        MaterializedViewMetadata TableMetadata TableMetadataV3
        """,
        "cassandra.util.cql_text": """
        cql_keywords cql_keywords_reserved cql_keywords_unreserved escape_name is_valid_name
        maybe_escape_name protect_name protect_names protect_value
        """,
        "cassandra.metadata.schema.extensions": """
        RLACTableExtension RegisteredTableExtension TableExtensionInterface
        """,
        "cassandra._compat.schema": """
        EdgeMetadata ReplicationStrategyTypeType SchemaParserDSE60 SchemaParserDSE67
        SchemaParserDSE68 SchemaParserV3 SchemaParserV4 SchemaParserV22 TableMetadataDSE68
        VertexMetadata get_column_from_system_local get_schema_parser trim_if_startswith
        """,
        "cassandra.metadata.placement.key_groups": "NO_VALID_REPLICA group_keys_by_replica",
    }
)


__getattr__ = lazy_names(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
