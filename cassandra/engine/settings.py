"""The settings of an engine, which either face passes to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.engine.control.query_fallback import ControlConnectionQueryFallback
from cassandra.engine.endpoint import EndPoint
from cassandra.engine.pools.shard_ports import DEFAULT_LOCAL_PORT_HIGH, DEFAULT_LOCAL_PORT_LOW

if TYPE_CHECKING:
    import datetime

    from cassandra.engine.control.client_routes import ClientRoutes
    from cassandra.engine.tls import TlsClient
    from cassandra.protocol.encrypted import Encryption
    from cassandra.throttling import RequestThrottler


class Settings:
    """Settings of one cluster; times are in seconds.

    `cassandra.client.settings.table.Defaults` says what each of them means.
    """

    endpoints: Sequence[EndPoint]
    named_endpoints: Sequence[EndPoint] = ()  # the same, before their names were resolved
    find_endpoints: Callable[[], list[EndPoint]] | None = None  # asks where the nodes are; blocks
    endpoint_factory: Any
    connection_class: Any  # its `factory` is called if a program has put another one there
    reconnection_policy: Any
    conviction_policy_factory: Any
    protocol_version: int | None = None  # the only one, if the program has named it
    first_protocol_version: int | None = None
    allow_beta_protocol_version: bool = False
    auth_provider: Any = None
    compression: bool | str = True
    cql_version: str | None = None
    startup_options: Mapping[str, str]
    # Those for ScyllaDB alone; asked with True for the control connection.
    scylla_options: Callable[[bool], Mapping[str, str]] | None = None
    tls: TlsClient | None = None
    sockopts: Sequence[Any] = ()
    connect_timeout: float = 5.0
    control_connection_timeout: float | None = 2.0
    max_schema_agreement_wait: float = 10.0
    idle_heartbeat_interval: float = 30.0
    idle_heartbeat_timeout: float = 30.0
    schema_metadata_enabled: bool = True
    token_metadata_enabled: bool = True
    schema_metadata_page_size: int = 1000
    request_throttler: RequestThrottler | None = None
    max_waiting_requests: float = math.inf
    schema_read_timeout: float | None = 300.0
    schema_metadata_keyspaces: Sequence[str] | None = None
    metadata_request_timeout: datetime.timedelta | None = None
    schema_event_refresh_window: float = 2.0
    topology_event_refresh_window: float = 10.0
    status_event_refresh_window: float = 2.0
    connections_per_host: Callable[[int], int] = staticmethod(lambda distance: 1)
    max_simultaneous_opens: int = 32
    column_encryption_policy: Encryption | None = None
    prepare_on_all_hosts: bool = True
    reprepare_on_up: bool = True
    client_routes: ClientRoutes | None = None  # if nodes are behind proxies of a private network
    query_fallback: ControlConnectionQueryFallback = ControlConnectionQueryFallback.Disabled
    shard_aware: bool = True
    shard_aware_port: bool = True
    local_ports: tuple[int, int] = (DEFAULT_LOCAL_PORT_LOW, DEFAULT_LOCAL_PORT_HIGH)

    def __init__(self, **settings: Any) -> None:
        for name, value in settings.items():
            if name not in Settings.__annotations__:
                raise TypeError(f"the engine has no setting {name!r}")
            setattr(self, name, value)
