"""The calls of a `Cluster` that read schema metadata again: the same for both faces, one of which
gives something to await.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from cassandra.engine.schema.targets import Target

__all__ = ["SchemaCalls"]

R = TypeVar("R")


class SchemaCalls(Generic[R]):
    """`refresh_*_metadata`: each waits until the nodes agree on the schema, and then reads what its
    name says.

    max_schema_agreement_wait: seconds to wait at the longest; None for the cluster's setting, 0 or
    less for no wait. They read also where `schema_metadata_enabled` is off. Raises DriverException
    where nodes do not agree in time, OperationTimedOut where the control connection's host does not
    answer.
    """

    def _refresh_schema(self, target: Target, max_schema_agreement_wait: float | None) -> R:
        raise NotImplementedError

    def refresh_schema_metadata(self, max_schema_agreement_wait: float | None = None) -> R:
        """Read all keyspaces again, now."""
        return self._refresh_schema(Target(), max_schema_agreement_wait)

    def refresh_keyspace_metadata(
        self, keyspace: str, max_schema_agreement_wait: float | None = None
    ) -> R:
        """Read one keyspace with all that is in it again, now."""
        return self._refresh_schema(Target("KEYSPACE", keyspace), max_schema_agreement_wait)

    def refresh_table_metadata(
        self, keyspace: str, table: str, max_schema_agreement_wait: float | None = None
    ) -> R:
        """Read one table again, now."""
        return self._refresh_schema(Target("TABLE", keyspace, table), max_schema_agreement_wait)

    def refresh_materialized_view_metadata(
        self, keyspace: str, view: str, max_schema_agreement_wait: float | None = None
    ) -> R:
        """Read one materialized view again, now."""
        return self._refresh_schema(Target("TABLE", keyspace, view), max_schema_agreement_wait)

    def refresh_user_type_metadata(
        self, keyspace: str, user_type: str, max_schema_agreement_wait: float | None = None
    ) -> R:
        """Read one user-defined type again, now."""
        return self._refresh_schema(Target("TYPE", keyspace, user_type), max_schema_agreement_wait)

    def refresh_user_function_metadata(
        self, keyspace: str, function: Any, max_schema_agreement_wait: float | None = None
    ) -> R:
        """Read a user-defined function again, now: a name, or a `UserFunctionDescriptor`. All
        functions of the name are read.
        """
        name = getattr(function, "name", function)
        return self._refresh_schema(Target("FUNCTION", keyspace, name), max_schema_agreement_wait)

    def refresh_user_aggregate_metadata(
        self, keyspace: str, aggregate: Any, max_schema_agreement_wait: float | None = None
    ) -> R:
        """Read a user-defined aggregate again, now: a name, or a `UserAggregateDescriptor`. All
        aggregates of the name are read.
        """
        name = getattr(aggregate, "name", aggregate)
        return self._refresh_schema(Target("AGGREGATE", keyspace, name), max_schema_agreement_wait)
