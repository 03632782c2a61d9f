"""The settings of a cluster with their types, for type checkers and editors.

`cassandra.client.settings.table.Defaults` says what each of them means and has the defaults. A
test compares the names here with those there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

if TYPE_CHECKING:
    import datetime
    import ssl

    from cassandra.auth import AuthProvider
    from cassandra.client.shard_awareness import ShardAwareOptions
    from cassandra.client_routes import ClientRoutesConfig
    from cassandra.engine.control.query_fallback import ControlConnectionQueryFallback
    from cassandra.engine.endpoint import EndPoint, EndPointFactory
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.metadata.host import Host
    from cassandra.observers import RequestObserver
    from cassandra.policies.balancing import LoadBalancingPolicy
    from cassandra.policies.conviction import ConvictionPolicy
    from cassandra.policies.encryption import ColumnEncryptionPolicy
    from cassandra.policies.reconnection import ReconnectionPolicy
    from cassandra.policies.retry import RetryPolicy
    from cassandra.policies.translation import AddressTranslator
    from cassandra.ssl_session_cache import SSLSessionCache
    from cassandra.throttling import RequestThrottler

    ContactPoint = str | tuple[str, int] | EndPoint
    """A name, an address, an (address, port) pair or an end point."""

    ContactPoints = Iterable[ContactPoint]

    SocketOption = tuple[int, int, int | bytes] | tuple[int, int, None, int]
    """Arguments for ``socket.setsockopt``."""

__all__ = ["ApplicationInfo", "ClusterSettings", "LaterSettings"]


class ApplicationInfo(Protocol):
    """Tells the server about the program that connects."""

    def add_startup_options(self, options: dict[str, str]) -> object:
        """Add to the options that are sent in STARTUP."""


class LaterSettings(TypedDict, total=False):
    """Settings that are keywords only."""

    # In the order of the alphabet; those of `ClusterSettings` are in the documented order.
    allow_control_connection_query_fallback: ControlConnectionQueryFallback | None
    application_info: ApplicationInfo | None
    application_name: str | None
    application_version: str | None
    client_id: object
    client_routes_config: ClientRoutesConfig | None
    connections_per_host: int | Mapping[int, int]
    driver_config_reporting_enabled: bool
    max_waiting_requests: int | None
    monitor_reporting_enabled: bool
    monitor_reporting_interval: float
    request_observers: Sequence[RequestObserver]
    request_throttler: RequestThrottler | None
    schema_metadata_keyspaces: Sequence[str] | None
    schema_read_timeout: float | None
    ssl_session_cache: SSLSessionCache | None


class ClusterSettings(LaterSettings, total=False):
    """All settings but the contact points, with which each `Cluster` begins."""

    port: int | str | None
    compression: bool | str | None
    auth_provider: AuthProvider | None
    load_balancing_policy: LoadBalancingPolicy | None
    reconnection_policy: ReconnectionPolicy | None
    default_retry_policy: RetryPolicy | None
    conviction_policy_factory: Callable[[Host], ConvictionPolicy] | None
    metrics_enabled: bool
    connection_class: type[object] | None
    ssl_options: Mapping[str, Any] | None
    sockopts: Sequence[SocketOption] | None
    cql_version: str | None
    protocol_version: int | None
    executor_threads: int | None
    max_schema_agreement_wait: float | None
    control_connection_timeout: float | None
    idle_heartbeat_interval: float | None
    schema_event_refresh_window: float | None
    topology_event_refresh_window: float | None
    connect_timeout: float | None
    schema_metadata_enabled: bool
    token_metadata_enabled: bool
    schema_metadata_page_size: int | None
    address_translator: AddressTranslator | None
    status_event_refresh_window: float | None
    prepare_on_all_hosts: bool
    reprepare_on_up: bool
    execution_profiles: Mapping[Any, ExecutionProfile] | None
    """Each `ExecutionProfile` by its name, which may be any key of a dict.

    EXEC_PROFILE_DEFAULT names the one for executions that name none; it is made if it is not there.
    """
    allow_beta_protocol_version: bool
    timestamp_generator: Callable[[], int] | None
    idle_heartbeat_timeout: float | None
    no_compact: bool
    ssl_context: ssl.SSLContext | Callable[[], ssl.SSLContext] | None
    endpoint_factory: EndPointFactory | None
    cloud: Mapping[str, Any] | None
    scylla_cloud: None
    shard_aware_options: ShardAwareOptions | Mapping[str, Any] | None
    metadata_request_timeout: datetime.timedelta | float | None
    column_encryption_policy: ColumnEncryptionPolicy | None
