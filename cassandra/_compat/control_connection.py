"""`ControlConnection`: gives applications access to the engine's control connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.cluster.cluster import Cluster
    from cassandra.engine.connection import Connection
    from cassandra.engine.core import Core


class ViewOfConnection:
    """Wraps the control connection with its cluster, for `cassandra.metadata.get_schema_parser`.

    :param connection: the control connection.
    :param cluster: the cluster of the connection.
    """

    __slots__ = ("_cluster", "_own")

    def __init__(self, connection: Connection, cluster: Any) -> None:
        self._own = connection
        self._cluster = cluster

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def __repr__(self) -> str:
        return repr(self._own)


class ControlConnection:
    """The control connection of a cluster, as returned by `Cluster.control_connection`.

    The engine owns the connection, and uses the settings of the cluster for it.

    :param cluster: the cluster of the connection. All other parameters have no effect.
    """

    def __init__(
        self,
        cluster: Cluster,
        timeout: float | None = None,
        schema_event_refresh_window: float | None = None,
        topology_event_refresh_window: float | None = None,
        status_event_refresh_window: float | None = None,
        schema_meta_enabled: bool = True,
        token_meta_enabled: bool = True,
        schema_meta_page_size: int = 1000,
    ) -> None:
        # The engine does the work, so the other arguments have no effect.
        self._cluster: Any = cluster

    def _core(self) -> Core:
        """Return the cluster's engine; raise an error if the cluster is not connected."""
        core: Core | None = self._cluster._core
        if core is None:
            raise self._cluster._not_connected()
        return core

    @property
    def connection(self) -> Connection | None:
        """The control connection, or None while the engine has none."""
        core: Core | None = self._cluster._core
        return core.control.connection if core is not None else None

    @property
    def _connection(self) -> ViewOfConnection | None:
        """The wrapped connection, for `cassandra.metadata.get_schema_parser`.

        None while the engine has no control connection.
        """
        connection = self.connection
        return ViewOfConnection(connection, self._cluster) if connection is not None else None

    @property
    def is_shutdown(self) -> bool:
        """True if the cluster is shut down."""
        return bool(self._cluster.is_shutdown)

    def get_connections(self) -> list[Connection]:
        """Return a list with the control connection; [] while the engine has none."""
        connection = self.connection
        return [connection] if connection is not None else []

    def wait_for_schema_agreement(
        self,
        connection: object = None,
        preloaded_results: object = None,
        wait_time: float | None = None,
    ) -> bool:
        """Wait until all live nodes have the same schema version; return False after `wait_time`.

        :param connection: the connection to query; None for the control connection.
        :param preloaded_results: accepted for compatibility; the versions are always queried again.
        :param wait_time: the maximum number of seconds; None for the cluster's setting.
        :raises ConnectionException: if the cluster is not connected.
        """
        core = self._core()
        query_connection: Any = connection if connection is not None else core.control.required()
        is_agreed: bool = self._cluster._run(core.agreement.wait(query_connection, wait_time))
        return is_agreed

    def refresh_schema(self, force: bool = False, **kwargs: object) -> bool:
        """Read the whole schema again, immediately, and return True."""
        self._cluster.refresh_schema_metadata()
        return True

    def refresh_node_list_and_token_map(self, force_token_rebuild: bool = False) -> None:
        """Read the node list again, immediately."""
        self._cluster.refresh_nodes(force_token_rebuild)

    def __repr__(self) -> str:
        return f"<ControlConnection: {self.connection!r}>"


ControlConnection.__module__ = "cassandra.cluster"
