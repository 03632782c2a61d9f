"""The table of the settings of a cluster: each is described here, and nowhere else.

From it come the constructor of both `Cluster` classes and their attributes, the checks, the fields
of their docstrings and of the reference, what the engine reads (`cassandra.engine.settings`) and
what ScyllaDB is told (`cassandra.driver_config`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from cassandra._observer import ObserverBase
from cassandra.client.contact_points import checked_contact_points
from cassandra.client.pool_sizes import DEFAULT_MIN_CONNECTIONS_PER_LOCAL_HOST
from cassandra.client.settings import checks
from cassandra.client.settings.old_style import OldStyle
from cassandra.client.settings.setting import ConstructorOnly, Later, Plain, Setting, settings_table
from cassandra.client.settings.shard_options import ShardAwareOptions
from cassandra.engine.control.query_fallback import ControlConnectionQueryFallback, fallback_of
from cassandra.engine.endpoint import DefaultEndPointFactory
from cassandra.policies.conviction import SimpleConvictionPolicy
from cassandra.policies.reconnection import ExponentialReconnectionPolicy
from cassandra.policies.translation import IdentityTranslator
from cassandra.query.settings import NOT_SET
from cassandra.ssl_session_cache import SSLSessionCache
from cassandra.versions import ProtocolVersion

if TYPE_CHECKING:
    import datetime
    import ssl

    from cassandra.auth import AuthProvider
    from cassandra.bases import ProfileBase
    from cassandra.client.contact_points import ContactPoint, ContactPoints
    from cassandra.client_routes import ClientRoutesConfig
    from cassandra.engine.endpoint import EndPointFactory
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import LoadBalancingPolicy
    from cassandra.policies.conviction import ConvictionPolicy
    from cassandra.policies.encryption import ColumnEncryptionPolicy
    from cassandra.policies.reconnection import ReconnectionPolicy
    from cassandra.policies.retry import RetryPolicy
    from cassandra.policies.translation import AddressTranslator
    from cassandra.throttling import RequestThrottler

    SocketOption = tuple[int, int, int | bytes] | tuple[int, int, None, int]
    """Arguments for ``socket.setsockopt``."""

__all__ = ["ApplicationInfo", "ClusterSettings"]


class ApplicationInfo(Protocol):
    """Tells the server about the program that connects."""

    def add_startup_options(self, options: dict[str, str]) -> object:
        """Add to the options that are sent in STARTUP."""


def _contact_points(name: str, points: ContactPoints) -> Any:
    return checked_contact_points(points)


def _shard_options(
    name: str, options: ShardAwareOptions | Mapping[str, Any] | None
) -> ShardAwareOptions | None:
    return None if options is None else ShardAwareOptions(options)


def _query_fallback(name: str, fallback: object) -> ControlConnectionQueryFallback:
    return fallback_of(fallback)


def _observers(name: str, observers: object) -> tuple[ObserverBase, ...]:
    # Not by an import, for type checkers either: observers know the engine, which knows this table.
    checked_observers: Any = Later("cassandra.observers", "checked_observers").load()
    checked: tuple[ObserverBase, ...] = checked_observers(observers, "cluster")
    return checked


@settings_table
class ClusterSettings:
    """The settings of a cluster.

    The order is that of the constructor's parameters, which programs give by position, too. Those
    that are keywords only follow, in the order of the alphabet.
    """

    _table: ClassVar[Mapping[str, Setting[Any, Any]]]
    """Each setting by its name."""

    # Where a setting is one of today's drivers, its default is theirs: programs rely on it without
    # saying so.
    contact_points: Setting[ContactPoints | None, Sequence[ContactPoint]] = Setting(
        default=("127.0.0.1",),
        check=_contact_points,
        none_is_default=True,
    )
    """Addresses, names, (address, port) pairs or end points of the nodes to begin with.

    The driver learns of the other nodes from them.
    """

    port: Setting[int | str | None, int] = Setting(
        default=9042,
        check=checks.tcp_port,
        none_is_default=True,
    )
    """The port, 1 to 65535, of contact points that name none, and of nodes that advertise none."""

    compression: Plain[bool | str | None] = Setting(default=True, check=checks.compression)
    """True for the best that both sides have, "lz4" or "snappy" for that one.

    False and None are for none. One that is named must be installed.
    """

    auth_provider: Plain[AuthProvider | None] = Setting(
        default=None,
        check=checks.auth_provider,
        is_live=True,
        is_secret=True,
    )
    """An `AuthProvider`; PlainTextAuthProvider for a user name and a password.

    None if the servers ask for no login.
    """

    load_balancing_policy: Setting[LoadBalancingPolicy | None, LoadBalancingPolicy] = OldStyle(
        default=None, of_profile="load_balancing_policy", made="TokenAwarePolicy"
    )
    """The load balancing policy of all requests; None for the default one.

    An older style, which excludes execution profiles. A profile has a policy of its own.
    """

    reconnection_policy: Setting[ReconnectionPolicy | None, ReconnectionPolicy] = Setting(
        default=ExponentialReconnectionPolicy(1.0, 600.0),
        check=checks.instance_with("new_schedule"),
        none_is_default=True,
        may_precede=True,
        is_live=True,
        reported="connection.reconnection.policy",
    )
    """Gives the delays between tries to reach a host that is down."""

    default_retry_policy: Setting[RetryPolicy | None, RetryPolicy] = OldStyle(
        default=None, of_profile="retry_policy", made="RetryPolicy", may_precede=True
    )
    """The retry policy of statements that have none; None for `RetryPolicy`.

    An older style, too: it excludes execution profiles.
    """

    conviction_policy_factory: Setting[
        Callable[[Host], ConvictionPolicy] | None, Callable[[Host], ConvictionPolicy]
    ] = Setting(
        default=SimpleConvictionPolicy,
        check=checks.function,
        none_is_default=True,
        may_precede=True,
        is_live=True,
    )
    """Called with a host; decides after how many failures it counts as down."""

    metrics_enabled: Plain[bool] = Setting(default=False)
    """True counts requests and errors in `metrics`; if it is off, requests pay nothing for it."""

    # Later: the module of connections imports asyncio and much of the engine.
    connection_class: Plain[type[object] | None] = Setting(
        default=Later("cassandra.engine.connection", "Connection"),
        check=checks.kind_with_factory,
        may_precede=True,
    )
    """The kind of connection, of which there is one.

    If it has a ``factory`` of its own, that is called for each connection, in a thread.
    """

    ssl_options: Plain[Mapping[str, Any] | None] = Setting(
        default=None,
        is_secret=True,
        then="_follow_tls",
        reported="connection.tls.hostname-verification",
    )
    """Beside `ssl_context`: ``server_hostname``, the name that certificates must have.

    Alone, keywords of an older style to make a context of: ca_certs, certfile, keyfile, password
    (of the key), cert_reqs, ssl_version, ciphers, check_hostname, server_hostname. Certificates
    are required, of authorities in ca_certs or of those that the system trusts, and TLS 1.2.
    """

    # Live, since each connection that is opened reads it.
    sockopts: Plain[Sequence[SocketOption] | None] = Setting(
        default=None,
        check=checks.socket_options,
        is_live=True,
        reported="connection.socket",
    )
    """Tuples of arguments for ``socket.setsockopt``, for each connection; None for none."""

    cql_version: Plain[str | None] = Setting(default=None, check=checks.text)
    """The CQL version to ask for; None for the server's."""

    # Not checked here: only a version that is given as a keyword has to be one that is spoken.
    protocol_version: Setting[int | None, int] = Setting(
        default=ProtocolVersion.MAX_SUPPORTED,
        none_is_default=True,
        may_precede=True,
    )
    """The native protocol's version. After `connect` it is the one agreed on with the servers.

    Given as a keyword, no other is tried; else this is the highest, and goes down as needed.
    """

    executor_threads: Setting[int | None, int] = Setting(
        default=2,
        check=checks.positive,
        none_is_default=True,
        may_precede=True,
    )
    """Threads of `Cluster.executor`, for calls of `Session.submit`; the driver itself uses none."""

    max_schema_agreement_wait: Setting[float | None, float] = Setting(
        default=10,
        check=checks.seconds_or_negative,
        none_is_default=True,
        is_live=True,
        reported="control-plane.schema.agreement.timeout-ms",
    )
    """Seconds to wait for nodes to agree on the schema after it was changed; 0 for no wait."""

    control_connection_timeout: Plain[float | None] = Setting(
        default=2.0,
        check=checks.seconds,
        is_live=True,
        reported="control-plane.queries.system.timeout",
    )
    """Seconds that a query of the control connection may take; None for no limit."""

    # Not live: the task that beats is started once, at connect.
    idle_heartbeat_interval: Plain[float | None] = Setting(default=30, check=checks.seconds)
    """Seconds of silence after which a connection gets a heartbeat; 0 or None for never."""

    schema_event_refresh_window: Setting[float | None, float] = Setting(
        default=2,
        check=checks.seconds_or_negative,
        none_is_default=True,
        is_live=True,
    )
    """The longest delay in seconds between an event about the schema and reading the part that it
    names.

    The moment is random, and the events until then are one reading. 0 is for at once. If it is
    negative, events are ignored: only changes by this cluster's own sessions are read.
    """

    topology_event_refresh_window: Setting[float | None, float] = Setting(
        default=10,
        check=checks.seconds_or_negative,
        none_is_default=True,
        is_live=True,
    )
    """The longest delay in seconds between an event about nodes and reading the node list.

    If it is negative, such events are ignored.
    """

    connect_timeout: Plain[float | None] = Setting(
        default=5,
        check=checks.seconds,
        reported="connection.connect.timeout-ms",
    )
    """Seconds that opening a connection may take, its handshake included; None for no limit."""

    schema_metadata_enabled: Plain[bool] = Setting(default=True, check=checks.switch, is_live=True)
    """True if the schema is read at connect and kept fresh, for `Cluster.metadata.keyspaces`.

    It may be switched at any time.
    """

    token_metadata_enabled: Plain[bool] = Setting(
        default=True,
        check=checks.switch,
        is_live=True,
        then="_follow_tokens",
    )
    """True if tokens and the replication of keyspaces are read, for token awareness.

    It may be switched at any time.
    """

    schema_metadata_page_size: Setting[int | None, int] = Setting(
        default=1000,
        check=checks.rows,
        none_is_default=True,
        may_precede=True,
        is_live=True,
    )
    """Rows in a page of the schema tables."""

    address_translator: Setting[AddressTranslator | None, AddressTranslator] = Setting(
        default=IdentityTranslator(),
        check=checks.instance_with("translate"),
        none_is_default=True,
        may_precede=True,
    )
    """Translates the addresses that nodes advertise to those that this client can reach.

    By default they are the same.
    """

    status_event_refresh_window: Setting[float | None, float] = Setting(
        default=2,
        check=checks.seconds_or_negative,
        none_is_default=True,
        is_live=True,
    )
    """The longest delay in seconds between an event about a node's state and acting on it.

    If it is negative, such events are ignored.
    """

    prepare_on_all_hosts: Plain[bool] = Setting(default=True, is_live=True)
    """True lets `prepare` prepare a statement on all hosts, False on one."""

    reprepare_on_up: Plain[bool] = Setting(default=True, is_live=True)
    """True prepares known statements on a host that comes up, before it gets requests."""

    # The profiles are in `profile_manager` then, which programs change by `add_execution_profile`.
    execution_profiles: ConstructorOnly[Mapping[Any, ProfileBase] | None, None] = ConstructorOnly(
        default=None,
    )
    """Each `ExecutionProfile` by its name, which may be any key of a dict.

    EXEC_PROFILE_DEFAULT names the one for executions that name none; it is made if it is not there.
    """

    allow_beta_protocol_version: Plain[bool] = Setting(default=False)
    """True allows a version that is a beta."""

    # Made for each cluster by its constructor: an object here would be shared by all.
    timestamp_generator: Plain[Callable[[], int] | None] = Setting(
        default=None,
        check=checks.function,
        factory=Later("cassandra.timestamps", "MonotonicTimestampGenerator"),
        reported="query.defaults.client-timestamps",
    )
    """Gives the timestamps of requests, in microseconds; None for a MonotonicTimestampGenerator."""

    idle_heartbeat_timeout: Setting[float | None, float] = Setting(
        default=30,
        check=checks.seconds,
        none_is_default=True,
    )
    """Seconds within which a heartbeat must be answered."""

    no_compact: Plain[bool] = Setting(default=False)
    """True sends NO_COMPACT: tables with compact storage look like others."""

    # Its check looks at the options and the cache as well: `_follow_tls` makes it.
    ssl_context: Plain[ssl.SSLContext | Callable[[], ssl.SSLContext] | None] = Setting(
        default=None, then="_follow_tls", reported="connection.tls.hostname-verification"
    )
    """For TLS; None for none. With check_hostname, certificates must name the node's address.

    A function is called for each connection: it may give another context when the files of the
    certificates have changed. `cassandra.tls.ReloadingContext` is one.
    """

    endpoint_factory: Plain[EndPointFactory | None] = Setting(
        default=None,
        check=checks.instance_with("configure", "create"),
        factory=DefaultEndPointFactory,
    )
    """Makes the end points of nodes; None for the address and port that they advertise."""

    cloud: Plain[Mapping[str, Any] | None] = Setting(default=None)
    """Astra: ``{"secure_connect_bundle": path}``, in place of contact points, end points and TLS.

    The bundle may be a binary file, too. ``connect_timeout`` is for the metadata service, in
    seconds.
    """

    scylla_cloud: Plain[None] = Setting(
        default=None,
        check=checks.must_be_none("pass contact_points, ssl_context and auth_provider"),
    )
    """Must be None: this driver does not read the files of ScyllaDB's older cloud."""

    shard_aware_options: Setting[
        ShardAwareOptions | Mapping[str, Any] | None, ShardAwareOptions | None
    ] = Setting(
        default=None,
        check=_shard_options,
        reported="connection.pool.shard-aware.enabled",
    )
    """How connections to the shards of ScyllaDB nodes are made, a `ShardAwareOptions`.

    It may be given as a mapping of its settings; None for their defaults.
    """

    metadata_request_timeout: Plain[datetime.timedelta | float | None] = Setting(
        default=None,
        check=checks.timedelta,
        is_live=True,
        reported="control-plane.queries.system.timeout.server-side-ms",
    )
    """The time that ScyllaDB may take for a query of the schema tables (``USING TIMEOUT``).

    In seconds, or as a timedelta; 0 for the server's default, None for
    `control_connection_timeout`, after which nobody waits for the answer.
    """

    column_encryption_policy: Plain[ColumnEncryptionPolicy | None] = Setting(
        default=None,
        check=checks.encryption,
        may_precede=True,
    )
    """Encrypts and decrypts columns in the program: see `cassandra.column_encryption.policies`.

    None for no encryption.
    """

    allow_control_connection_query_fallback: Setting[
        ControlConnectionQueryFallback | None, ControlConnectionQueryFallback
    ] = Setting(
        default=ControlConnectionQueryFallback.Disabled,
        check=_query_fallback,
        none_is_default=True,
        kw_only=True,
    )
    """The way of requests that no pool can take: a `ControlConnectionQueryFallback`."""

    application_info: Plain[ApplicationInfo | None] = Setting(
        default=None, kw_only=True, may_precede=True
    )
    """An object whose ``add_startup_options(options)`` adds to the options of STARTUP.

    None adds nothing.
    """

    application_name: Plain[str | None] = Setting(default=None, kw_only=True, may_precede=True)
    """The program's name, sent to the server as APPLICATION_NAME; None for none."""

    application_version: Plain[str | None] = Setting(default=None, kw_only=True, may_precede=True)
    """The program's version, sent as APPLICATION_VERSION; None for none."""

    client_id: Plain[object] = Setting(default=None, kw_only=True)
    """An id of this client, a UUID say, sent as CLIENT_ID; None for none."""

    client_routes_config: Plain[ClientRoutesConfig | None] = Setting(
        default=None, kw_only=True, reported="connection.pool.shard-aware.enabled"
    )
    """A `cassandra.client_routes.ClientRoutesConfig`, for nodes behind a private network's proxies.

    The table ``system.client_routes`` of ScyllaDB says where; `port` is that of the contact points,
    and of nodes that have no route. `endpoint_factory` cannot be given beside it, and
    `address_translator` has no effect.
    """

    connections_per_host: Setting[int | Mapping[int, int] | None, int | Mapping[int, int]] = (
        Setting(
            default=DEFAULT_MIN_CONNECTIONS_PER_LOCAL_HOST,
            none_is_default=True,
            kw_only=True,
        )
    )
    """Connections of each session to a host: a number, or a mapping by `HostDistance`.

    `set_core_connections_per_host` changes it later. Pools do not grow with the load, since a
    connection carries up to 32,768 requests at a time.
    """

    driver_config_reporting_enabled: Plain[bool] = Setting(default=True, kw_only=True)
    """True tells ScyllaDB these settings with the control connection, as JSON (DRIVER_CONFIG).

    An operator sees them in ``system.clients``. False leaves them out; `session_id`, which says
    which connections belong together, is sent in any case. Cassandra is told neither.
    """

    # As many as eight connections can have in flight.
    max_waiting_requests: Plain[int | None] = Setting(
        default=262_144,
        check=checks.count_or_unlimited,
        kw_only=True,
    )
    """The number of requests of a session that may wait for a host whose connections are full.

    A request beyond that fails at once, with a `NoConnectionsAvailable` in its `NoHostAvailable`.
    None for no limit, but for memory: each takes a kilobyte or more.
    """

    monitor_reporting_enabled: Plain[bool] = Setting(
        default=False,
        check=checks.must_be_false(
            "Insights are DataStax Enterprise's own, and this driver does not report to them"
        ),
        kw_only=True,
    )
    """Must be False: DataStax Enterprise's Insights are not supported."""

    monitor_reporting_interval: Plain[float] = Setting(default=30, kw_only=True)
    """Seconds between the reports that are not made; accepted for programs that set it."""

    # A tuple is kept: the program may change its own list later.
    request_observers: Plain[Sequence[ObserverBase]] = Setting(
        default=(),
        check=_observers,
        then="_follow_observers",
        kw_only=True,
    )
    """Observers of all requests, each a `cassandra.observers.RequestObserver`.

    It may be changed after `connect`, also by `add_request_observer`.
    """

    request_throttler: Plain[RequestThrottler | None] = Setting(
        default=None,
        check=checks.throttler,
        kw_only=True,
    )
    """Lets requests begin by a rule and keeps the others in a queue; see `cassandra.throttling`.

    None sends them as they come.
    """

    schema_metadata_keyspaces: Plain[Sequence[str] | None] = Setting(
        default=None,
        check=checks.names_or_all,
        kw_only=True,
    )
    """The keyspaces whose schema is read; None for all.

    Replication is read for all keyspaces, because token awareness needs it.
    """

    schema_read_timeout: Plain[float | None] = Setting(
        default=300,
        check=checks.seconds,
        is_live=True,
        kw_only=True,
    )
    """Seconds that reading the whole schema may take, at connect and later; None for no limit."""

    # None means to go without one, and so the default must be something else.
    ssl_session_cache: Plain[SSLSessionCache | None] = Setting(
        default=NOT_SET, then="_follow_tls", kw_only=True, factory=SSLSessionCache
    )
    """TLS sessions that connections resume; None for none, by default a cache for this cluster."""
