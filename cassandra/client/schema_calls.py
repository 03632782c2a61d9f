"""The methods of a `Cluster` that read schema metadata again.

Both APIs have the same methods; the methods of the asyncio API return an awaitable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from cassandra._imports import at_first_cluster

if TYPE_CHECKING:
    from cassandra import UserAggregateDescriptor, UserFunctionDescriptor
    from cassandra.engine.schema.targets import Target
else:
    at_first_cluster(__name__, Target="cassandra.engine.schema.targets")

R = TypeVar("R")


class SchemaCalls(Generic[R]):
    """The methods `refresh_*_metadata` of a `Cluster`.

    Each method waits until the nodes agree on the schema, and then reads a part of the schema from
    the server. The methods work even if `schema_metadata_enabled` is False. They raise
    DriverException if the nodes do not agree in time, and OperationTimedOut if the control
    connection's host does not respond in time.
    """

    def _refresh_schema(self, target: Target, max_wait: float | None) -> R:
        raise NotImplementedError

    def refresh_schema_metadata(self, max_schema_agreement_wait: float | None = None) -> R:
        """Read the schema of all keyspaces now.

        :param max_schema_agreement_wait: seconds to wait for the hosts to agree first; 0 or less
            for no wait. None for the cluster's setting.
        """
        if isinstance(max_schema_agreement_wait, str):
            raise TypeError(
                "max_schema_agreement_wait must be a number of seconds or None, but is "
                f"{max_schema_agreement_wait!r}: write refresh_keyspace_metadata('keyspace') or "
                "refresh_table_metadata('keyspace', 'table') for a part of the schema"
            )
        return self._refresh_schema(Target(), max_schema_agreement_wait)

    def refresh_keyspace_metadata(
        self, keyspace: str, max_schema_agreement_wait: float | None = None
    ) -> R:
        """Read one keyspace and everything in it now.

        :param keyspace: the name of the keyspace.
        :param max_schema_agreement_wait: seconds to wait for the hosts to agree first; 0 or less
            for no wait. None for the cluster's setting.
        """
        return self._refresh_schema(Target("KEYSPACE", keyspace), max_schema_agreement_wait)

    def refresh_table_metadata(
        self, keyspace: str, table: str, max_schema_agreement_wait: float | None = None
    ) -> R:
        """Read one table now.

        :param keyspace: the name of the keyspace.
        :param table: the name of the table.
        :param max_schema_agreement_wait: seconds to wait for the hosts to agree first; 0 or less
            for no wait. None for the cluster's setting.
        """
        return self._refresh_schema(Target("TABLE", keyspace, table), max_schema_agreement_wait)

    def refresh_materialized_view_metadata(
        self, keyspace: str, view: str, max_schema_agreement_wait: float | None = None
    ) -> R:
        """Read one materialized view now.

        :param keyspace: the name of the keyspace.
        :param view: the name of the view.
        :param max_schema_agreement_wait: seconds to wait for the hosts to agree first; 0 or less
            for no wait. None for the cluster's setting.
        """
        # The schema reader treats a view like a table.
        return self._refresh_schema(Target("TABLE", keyspace, view), max_schema_agreement_wait)

    def refresh_user_type_metadata(
        self, keyspace: str, user_type: str, max_schema_agreement_wait: float | None = None
    ) -> R:
        """Read one user-defined type now.

        :param keyspace: the name of the keyspace.
        :param user_type: the name of the type.
        :param max_schema_agreement_wait: seconds to wait for the hosts to agree first; 0 or less
            for no wait. None for the cluster's setting.
        """
        return self._refresh_schema(Target("TYPE", keyspace, user_type), max_schema_agreement_wait)

    def refresh_user_function_metadata(
        self,
        keyspace: str,
        function: UserFunctionDescriptor | str,
        max_schema_agreement_wait: float | None = None,
    ) -> R:
        """Read all user-defined functions with the same name now.

        :param keyspace: the name of the keyspace.
        :param function: the name of the functions, or the descriptor of one of them.
        :param max_schema_agreement_wait: seconds to wait for the hosts to agree first; 0 or less
            for no wait. None for the cluster's setting.
        """
        name = function if isinstance(function, str) else function.name
        return self._refresh_schema(Target("FUNCTION", keyspace, name), max_schema_agreement_wait)

    def refresh_user_aggregate_metadata(
        self,
        keyspace: str,
        aggregate: UserAggregateDescriptor | str,
        max_schema_agreement_wait: float | None = None,
    ) -> R:
        """Read all user-defined aggregates with the same name now.

        :param keyspace: the name of the keyspace.
        :param aggregate: the name of the aggregates, or the descriptor of one of them.
        :param max_schema_agreement_wait: seconds to wait for the hosts to agree first; 0 or less
            for no wait. None for the cluster's setting.
        """
        name = aggregate if isinstance(aggregate, str) else aggregate.name
        return self._refresh_schema(Target("AGGREGATE", keyspace, name), max_schema_agreement_wait)
