"""What the driver knows of a cluster: nodes, tokens and replicas, and the schema."""

import importlib
import os
from typing import TYPE_CHECKING, Any

from cassandra._foreign import refuse_foreign_files

refuse_foreign_files(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cassandra.metadata.cluster_metadata import Metadata  # noqa: E402

if TYPE_CHECKING:
    from cassandra.metadata.elements import (
        Aggregate,
        ColumnMask,
        ColumnMetadata,
        DroppedColumn,
        Function,
        IndexMetadata,
        TriggerMetadata,
        UserType,
    )
    from cassandra.metadata.keyspaces import KeyspaceMetadata
    from cassandra.metadata.names import (
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
    from cassandra.metadata.tables import MaterializedViewMetadata, TableMetadata, TableMetadataV3

__all__ = [
    "Aggregate",
    "ColumnMask",
    "ColumnMetadata",
    "DroppedColumn",
    "Function",
    "IndexMetadata",
    "KeyspaceMetadata",
    "MaterializedViewMetadata",
    "Metadata",
    "TableMetadata",
    "TableMetadataV3",
    "TriggerMetadata",
    "UserType",
    "cql_keywords",
    "cql_keywords_reserved",
    "cql_keywords_unreserved",
    "escape_name",
    "is_valid_name",
    "maybe_escape_name",
    "protect_name",
    "protect_names",
    "protect_value",
]

# Schema objects are made when somebody looks at the schema: until then their modules are not needed.
_HOME = {
    **dict.fromkeys(
        (
            "Aggregate",
            "ColumnMask",
            "ColumnMetadata",
            "DroppedColumn",
            "Function",
            "IndexMetadata",
            "TriggerMetadata",
            "UserType",
        ),
        "cassandra.metadata.elements",
    ),
    "KeyspaceMetadata": "cassandra.metadata.keyspaces",
    **dict.fromkeys(("MaterializedViewMetadata", "TableMetadata", "TableMetadataV3"), "cassandra.metadata.tables"),
    **dict.fromkeys(
        (
            "cql_keywords",
            "cql_keywords_reserved",
            "cql_keywords_unreserved",
            "escape_name",
            "is_valid_name",
            "maybe_escape_name",
            "protect_name",
            "protect_names",
            "protect_value",
        ),
        "cassandra.metadata.names",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
