"""The table of the settings of a cluster. Each setting is described only here.

The constructor, the attributes and the checks of both `Cluster` classes are derived from this
table. The parameters in their docstrings and in the reference, the settings of the engine
(`cassandra.engine.settings`) and the report to ScyllaDB (`cassandra.driver_config`) are derived
from it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

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


class ApplicationInfo(Protocol):
    """An object that adds information about the application to the STARTUP message."""

    def add_startup_options(self, options: dict[str, str]) -> object:
        """Add to `options`, which are sent in STARTUP."""


def _contact_points(name: str, points: ContactPoints) -> Sequence[ContactPoint]:
    return checked_contact_points(points)


def _shard_options(
    name: str, options: ShardAwareOptions | Mapping[str, Any] | None
) -> ShardAwareOptions | None:
    return None if options is None else ShardAwareOptions(options)


def _query_fallback(name: str, fallback: object) -> ControlConnectionQueryFallback:
    return fallback_of(fallback)


def _observers(name: str, observers: object) -> tuple[ObserverBase, ...]:
    # Import this late, even for type checkers, because `cassandra.observers` imports the engine,
    # which imports this table.
    checked_observers: Any = Later("cassandra.observers", "checked_observers").load()
    checked: tuple[ObserverBase, ...] = checked_observers(observers, "cluster")
    return checked


@settings_table
class ClusterSettings:
    """The settings of a cluster.

    They are in the order of the constructor's positional parameters. Keyword-only settings follow
    in alphabetical order.
    """

    _table: ClassVar[Mapping[str, Setting[Any, Any]]]
    """The settings, by name."""

    # Settings that also exist in cassandra-driver or scylla-driver have the same defaults as there,
    # because applications rely on these defaults.
    contact_points: Setting[ContactPoints | None, Sequence[ContactPoint]] = Setting(
        doc="""Addresses, host names, (address, port) pairs or end points of the first nodes to
        connect to.

        The driver reads the list of the other nodes from them.
        """,
        default=("127.0.0.1",),
        check=_contact_points,
        none_is_default=True,
    )

    port: Setting[int | str | None, int] = Setting(
        doc="""The port, from 1 to 65535, for contact points and nodes that are known without a
        port.
        """,
        default=9042,
        check=checks.tcp_port,
        none_is_default=True,
    )

    compression: Plain[bool | str | None] = Setting(
        doc="""True for the best algorithm that client and server support; "lz4" or "snappy" to
        choose one.

        False and None disable compression. If you name an algorithm, its package must be installed.
        "snappy" has no effect in protocol version 5; if you have set `protocol_version` to 5,
        connecting fails.
        """,
        default=True,
        check=checks.compression,
    )

    auth_provider: Plain[AuthProvider | None] = Setting(
        doc="""An `AuthProvider`; PlainTextAuthProvider for a user name and a password.

        None if the servers do not require a login. If you set it after `connect`, new connections
        use it, and nodes that refused the previous one are tried again at once.
        """,
        default=None,
        check=checks.auth_provider,
        is_live=True,
        is_secret=True,
        then="_follow_access",
    )

    load_balancing_policy: Setting[LoadBalancingPolicy | None, LoadBalancingPolicy] = OldStyle(
        doc="""The load balancing policy of all requests; None for the default policy.

        You cannot use this old-style setting together with execution profiles, which have their own
        policies.
        """,
        default=None,
        of_profile="load_balancing_policy",
        class_name="TokenAwarePolicy",
    )

    reconnection_policy: Setting[ReconnectionPolicy | None, ReconnectionPolicy] = Setting(
        doc="""Returns the delays between attempts to reach a host that is down.""",
        default_text="ExponentialReconnectionPolicy(1.0, 600.0)",
        default=ExponentialReconnectionPolicy(1.0, 600.0),
        check=checks.instance_with("new_schedule"),
        none_is_default=True,
        may_precede=True,
        is_live=True,
        reported="connection.reconnection.policy",
    )

    default_retry_policy: Setting[RetryPolicy | None, RetryPolicy] = OldStyle(
        doc="""The retry policy of statements without one; None for `RetryPolicy`.

        You cannot use this old-style setting together with execution profiles.
        """,
        default=None,
        of_profile="retry_policy",
        class_name="RetryPolicy",
        may_precede=True,
    )

    conviction_policy_factory: Setting[
        Callable[[Host], ConvictionPolicy] | None, Callable[[Host], ConvictionPolicy]
    ] = Setting(
        doc="""Called with a `Host`; returns its conviction policy, which decides after how many
        failures the host counts as down.
        """,
        default=SimpleConvictionPolicy,
        check=checks.function,
        none_is_default=True,
        may_precede=True,
        is_live=True,
    )

    metrics_enabled: Plain[bool] = Setting(
        doc="""True counts requests and errors in `metrics`; otherwise requests have no overhead for
        it.
        """,
        default=False,
        check=checks.unconverted_switch,
    )

    # Import the default only when it is needed, because its module imports asyncio and much of the
    # engine.
    connection_class: Plain[type[object] | None] = Setting(
        doc="""The class of connections. It has no effect, because this driver has only one such
        class.

        However, if the class has its own ``factory``, that is called in a thread for each
        connection.
        """,
        default=Later("cassandra.engine.connection", "Connection"),
        check=checks.class_with_factory,
        may_precede=True,
    )

    ssl_options: Plain[Mapping[str, Any] | None] = Setting(
        doc="""TLS options. With `ssl_context`, only ``server_hostname``, the name that certificates
        must have.

        Without `ssl_context`, a context is made from these options: ca_certs, certfile, keyfile,
        password (of the key), cert_reqs, ssl_version, ciphers, check_hostname, server_hostname. By
        default, TLS 1.2 and a certificate of the server are required, from an authority in ca_certs
        or from one that the system trusts. If the files are renewed, new connections use the new
        files.
        """,
        default=None,
        is_secret=True,
        then="_follow_tls",
        reported="connection.tls.hostname-verification",
    )

    # Each new connection reads this setting, so a change after `connect` has an effect.
    sockopts: Plain[Sequence[SocketOption] | None] = Setting(
        doc="""Tuples of arguments for ``socket.setsockopt``, for each connection; None for no
        options.
        """,
        default=None,
        check=checks.socket_options,
        is_live=True,
        reported="connection.socket",
    )

    cql_version: Plain[str | None] = Setting(
        doc="""The CQL version to request; None for the server's.""",
        default=None,
        check=checks.text,
    )

    # This setting has no check here: `ClusterBase._check` checks the version, but only if it is
    # passed to the constructor.
    protocol_version: Setting[int | None, int] = Setting(
        doc="""The native protocol version. After `connect` it is the version agreed on with the
        servers. It is lowered if a server that speaks only a lower version is met later.

        If you pass it to the constructor, no other version is tried. If you set the attribute
        before `connect`, lower versions are tried, too.
        """,
        default_text="ProtocolVersion.MAX_SUPPORTED",
        default=ProtocolVersion.MAX_SUPPORTED,
        none_is_default=True,
        may_precede=True,
    )

    executor_threads: Setting[int | None, int] = Setting(
        doc="""The number of threads of `Cluster.executor`, which run calls of `Session.submit`. The
        driver itself does not need them.
        """,
        default=2,
        check=checks.positive,
        none_is_default=True,
        may_precede=True,
    )

    max_schema_agreement_wait: Setting[float | None, float] = Setting(
        doc="""Seconds to wait for schema agreement after a schema change; 0 for no wait.""",
        default=10,
        check=checks.seconds_or_negative,
        none_is_default=True,
        is_live=True,
        reported="control-plane.schema.agreement.timeout-ms",
    )

    control_connection_timeout: Plain[float | None] = Setting(
        doc="""Seconds for a query on the control connection; None for no limit.""",
        default=2.0,
        check=checks.seconds,
        is_live=True,
        reported="control-plane.queries.system.timeout",
    )

    # A change of this setting after `connect` has no effect, because `connect` starts the heartbeat
    # task with the value.
    idle_heartbeat_interval: Plain[float | None] = Setting(
        doc="""Seconds of silence after which a connection gets a heartbeat; 0 or None for never.

        If a host seems to hang, its silent connections get heartbeats at once.
        """,
        default=30,
        check=checks.seconds,
    )

    schema_event_refresh_window: Setting[float | None, float] = Setting(
        doc="""The longest delay in seconds between a schema event and reading the changed schema.

        The actual delay is random. All events that come during the delay are handled together. 0
        reads at once. If it is negative, events are ignored, and only schema changes that this
        cluster's own sessions execute are read.
        """,
        default=2,
        check=checks.seconds_or_negative,
        none_is_default=True,
        is_live=True,
    )

    topology_event_refresh_window: Setting[float | None, float] = Setting(
        doc="""The longest delay in seconds between an event that a node joined, left or moved and
        reading the list of nodes.

        If it is negative, such events are ignored.
        """,
        default=10,
        check=checks.seconds_or_negative,
        none_is_default=True,
        is_live=True,
    )

    connect_timeout: Plain[float | None] = Setting(
        doc="""Seconds for opening a connection, including the handshake; None for no limit.""",
        default=5,
        check=checks.seconds,
        reported="connection.connect.timeout-ms",
    )

    schema_metadata_enabled: Plain[bool] = Setting(
        doc="""True if the schema is read at connect and kept up to date, for
        `Cluster.metadata.keyspaces`.

        You may switch it at any time.
        """,
        default=True,
        check=checks.switch,
        is_live=True,
    )

    token_metadata_enabled: Plain[bool] = Setting(
        doc="""True if tokens and the replication of keyspaces are read, for token awareness.

        You may switch it at any time.
        """,
        default=True,
        check=checks.switch,
        is_live=True,
        then="_follow_tokens",
    )

    schema_metadata_page_size: Setting[int | None, int] = Setting(
        doc="""Rows per page when the schema tables are read.""",
        default=1000,
        check=checks.rows,
        none_is_default=True,
        may_precede=True,
        is_live=True,
    )

    address_translator: Setting[AddressTranslator | None, AddressTranslator] = Setting(
        doc="""Translates the addresses that nodes advertise to addresses that this client can
        reach.

        By default addresses are not translated.
        """,
        default_text="IdentityTranslator()",
        default=IdentityTranslator(),
        check=checks.instance_with("translate"),
        none_is_default=True,
        may_precede=True,
    )

    status_event_refresh_window: Setting[float | None, float] = Setting(
        doc="""The longest delay in seconds between an event that a node is up or down and the
        reaction.

        If it is negative, such events are ignored.
        """,
        default=2,
        check=checks.seconds_or_negative,
        none_is_default=True,
        is_live=True,
    )

    prepare_on_all_hosts: Plain[bool] = Setting(
        doc="""True to prepare statements on all hosts of `prepare_scope`, False to prepare on one
        host.
        """,
        default=True,
        check=checks.unconverted_switch,
        is_live=True,
    )

    reprepare_on_up: Plain[bool] = Setting(
        doc="""True to prepare all prepared statements that are in use again on a host that comes
        up.
        """,
        default=True,
        check=checks.unconverted_switch,
        is_live=True,
    )

    # This is only an argument of the constructor. Afterwards the profiles are in `profile_manager`,
    # and `add_execution_profile` adds more profiles.
    execution_profiles: ConstructorOnly[Mapping[Any, ProfileBase] | None, None] = ConstructorOnly(
        doc="""A mapping of names to `ExecutionProfile`; a name may be any hashable object.

        EXEC_PROFILE_DEFAULT is the name of the profile for executions that name none. If it is
        missing, a profile with default settings is added.
        """,
        default=None,
    )

    allow_beta_protocol_version: Plain[bool] = Setting(
        doc="""True allows beta versions of the protocol.""",
        default=False,
        check=checks.unconverted_switch,
    )

    # `factory` creates a generator for each cluster. A default object here would be shared by all
    # clusters.
    timestamp_generator: Plain[Callable[[], int] | None] = Setting(
        doc="""Returns timestamps of requests, in microseconds; None for a
        MonotonicTimestampGenerator.
        """,
        default=None,
        check=checks.function,
        factory=Later("cassandra.timestamps", "MonotonicTimestampGenerator"),
        reported="query.defaults.client-timestamps",
    )

    idle_heartbeat_timeout: Setting[float | None, float] = Setting(
        doc="""Seconds within which a heartbeat must be answered. 0 closes each connection at its
        first heartbeat; to send none, set `idle_heartbeat_interval` to 0.
        """,
        default=30,
        check=checks.heartbeat_timeout,
        none_is_default=True,
    )

    no_compact: Plain[bool] = Setting(
        doc="""True sends the startup option NO_COMPACT: tables with compact storage then look like
        other tables.
        """,
        default=False,
        check=checks.unconverted_switch,
    )

    # `_follow_tls` checks this setting, together with `ssl_options` and `ssl_session_cache`.
    ssl_context: Plain[ssl.SSLContext | Callable[[], ssl.SSLContext] | None] = Setting(
        doc="""The TLS context, or a function that returns one; None for no TLS.

        A function is called for each connection, so it may return a new context when certificate
        files have changed; `cassandra.tls.ReloadingContext` does so. If `check_hostname` of the
        context is True, certificates must match the addresses of the nodes.
        """,
        default=None,
        then="_follow_tls",
        reported="connection.tls.hostname-verification",
    )

    endpoint_factory: Plain[EndPointFactory | None] = Setting(
        doc="""Makes the end points of nodes; None for the address and port that they advertise.""",
        default=None,
        check=checks.instance_with("configure", "create"),
        factory=DefaultEndPointFactory,
    )

    cloud: Plain[Mapping[str, Any] | None] = Setting(
        doc="""For DataStax Astra: ``{"secure_connect_bundle": path}``.

        The bundle replaces contact points, the end point factory and TLS options. Instead of a
        path, it may be an open binary file. The key ``connect_timeout`` limits the connection to
        Astra's metadata service, in seconds.
        """,
        default=None,
    )

    scylla_cloud: Plain[None] = Setting(
        doc="""Must be None: this driver does not read the files of ScyllaDB Cloud Serverless.""",
        default=None,
        check=checks.must_be_none("pass contact_points, ssl_context and auth_provider"),
    )

    shard_aware_options: Setting[
        ShardAwareOptions | Mapping[str, Any] | None, ShardAwareOptions | None
    ] = Setting(
        doc="""How to connect to the shards of ScyllaDB nodes: a `ShardAwareOptions`, or a mapping
        of its settings; None for the defaults.
        """,
        default=None,
        check=_shard_options,
        reported="connection.pool.shard-aware.enabled",
    )

    metadata_request_timeout: Plain[datetime.timedelta | float | None] = Setting(
        doc="""The time limit of ScyllaDB itself for a query of the schema tables (``USING
        TIMEOUT``).

        A number of seconds, or a timedelta; 0 for the server's default. None for the value of
        `control_connection_timeout`, after which the driver no longer waits for the answer.
        """,
        default=None,
        check=checks.timedelta,
        is_live=True,
        reported="control-plane.queries.system.timeout.server-side-ms",
    )

    column_encryption_policy: Plain[ColumnEncryptionPolicy | None] = Setting(
        doc="""Encrypts and decrypts columns in the client: see
        `cassandra.column_encryption.policies`.

        None for no encryption.
        """,
        default=None,
        check=checks.encryption,
        may_precede=True,
    )

    allow_control_connection_query_fallback: Setting[
        ControlConnectionQueryFallback | None, ControlConnectionQueryFallback
    ] = Setting(
        doc="""What to do with requests that no pool can send: a
        `ControlConnectionQueryFallback`.
        """,
        default=ControlConnectionQueryFallback.Disabled,
        check=_query_fallback,
        none_is_default=True,
        kw_only=True,
    )

    application_info: Plain[ApplicationInfo | None] = Setting(
        doc="""An object whose method ``add_startup_options(options)`` adds options to the STARTUP
        message of each connection; None for no further options.
        """,
        default=None,
        kw_only=True,
        may_precede=True,
    )

    application_name: Plain[str | None] = Setting(
        doc="""The application's name, sent to the server as APPLICATION_NAME; None for no name.""",
        default=None,
        kw_only=True,
        may_precede=True,
    )

    application_version: Plain[str | None] = Setting(
        doc="""The application's version, sent as APPLICATION_VERSION; None for no version.""",
        default=None,
        kw_only=True,
        may_precede=True,
    )

    client_id: Plain[object] = Setting(
        doc="""An id of this client, for example a UUID, sent as CLIENT_ID; None for no id.""",
        default=None,
        kw_only=True,
    )

    client_routes_config: Plain[ClientRoutesConfig | None] = Setting(
        doc="""A `cassandra.client_routes.ClientRoutesConfig`, for nodes behind a private network's
        proxies.

        The routes are in the table ``system.client_routes`` of ScyllaDB; `port` is the port of the
        contact points, and of nodes without a route. `endpoint_factory` cannot be combined with it,
        and `address_translator` has no effect.
        """,
        default=None,
        kw_only=True,
        reported="connection.pool.shard-aware.enabled",
    )

    connections_per_host: Setting[int | Mapping[int, int] | None, int | Mapping[int, int]] = (
        Setting(
            doc="""Connections of each session to a host: a number, or a mapping by `HostDistance`.

        `set_core_connections_per_host` changes it later. Pools do not grow with the load, because
        one connection handles up to 32,768 concurrent requests.
        """,
            default=DEFAULT_MIN_CONNECTIONS_PER_LOCAL_HOST,
            none_is_default=True,
            kw_only=True,
        )
    )

    driver_config_reporting_enabled: Plain[bool] = Setting(
        doc="""True sends these settings to ScyllaDB on the control connection, as JSON
        (DRIVER_CONFIG).

        Operators see them in ``system.clients``. False omits them; `session_id`, which identifies
        the connections of a cluster object, is always sent. Neither is sent to Cassandra.
        """,
        default=True,
        check=checks.unconverted_switch,
        kw_only=True,
    )

    graceful_disconnect_enabled: Plain[bool] = Setting(
        doc="""True lets nodes announce that they will stop soon, if they support it (Cassandra's
        CEP-59).

        Such a node gets no new requests from then on; those in flight are completed. With False,
        the driver only notices when its connections are closed.
        """,
        default=True,
        check=checks.switch,
        kw_only=True,
    )

    loops: Plain[int] = Setting(
        doc="""The number of event loops, each in a thread of its own and with its own connections.

        More than one can be of use only in a Python without the GIL (3.13t or later), if the first
        loop is the limit: measure it, because a `Cluster` for each thread is often quicker (see the
        guide on tuning). Threads are distributed over the loops, and so are the statements of
        `execute_concurrent`. Every loop executes prepared statements, and batches of them;
        everything else runs on the first loop. Cannot be used together with `request_throttler`,
        nor with asyncio: make a `Cluster` on each of your loops there.
        """,
        default=1,
        check=checks.loop_count,
        none_is_default=True,
        kw_only=True,
    )

    # The default is the number of streams of eight connections.
    max_waiting_requests: Plain[int | None] = Setting(
        doc="""The number of requests of a session that may wait for a host whose connections are
        full.

        Further requests fail at once, with a `NoConnectionsAvailable` in their `NoHostAvailable`.
        None for no limit except memory: each waiting request takes a kilobyte or more.
        """,
        default=262_144,
        check=checks.count_or_unlimited,
        kw_only=True,
    )

    monitor_reporting_enabled: Plain[bool] = Setting(
        doc="""Must be False: DataStax Enterprise's Insights are not supported.""",
        default=False,
        check=checks.must_be_false(
            "Insights are DataStax Enterprise's own, and this driver does not report to them"
        ),
        kw_only=True,
    )

    monitor_reporting_interval: Plain[float] = Setting(
        doc="""Has no effect; accepted for compatibility.""", default=30, kw_only=True
    )

    prepare_scope: Setting[Literal["local_dc", "all"] | None, str] = Setting(
        doc="""The hosts on which `prepare_on_all_hosts` and `reprepare_on_up` prepare statements.

        "local_dc" means those of the local data centre, according to the load balancing policies;
        "all" includes remote hosts with connections. On other hosts a statement is prepared when it
        is first executed there. Hosts that all policies ignore are always left out.
        """,
        default="local_dc",
        check=checks.prepare_scope,
        none_is_default=True,
        is_live=True,
        kw_only=True,
    )

    # The check returns a tuple, so that later changes of the application's list have no effect.
    request_observers: Plain[Sequence[ObserverBase]] = Setting(
        doc="""Observers of all requests: objects of subclasses of
        `cassandra.observers.RequestObserver`.

        You may set it after `connect`, or call `add_request_observer`.
        """,
        default=(),
        check=_observers,
        then="_follow_observers",
        kw_only=True,
    )

    request_throttler: Plain[RequestThrottler | None] = Setting(
        doc="""Decides when requests may start, and keeps the others in a queue; see
        `cassandra.throttling`.

        None for no throttler: all requests are sent at once.
        """,
        default=None,
        check=checks.throttler,
        kw_only=True,
    )

    schema_metadata_keyspaces: Plain[Sequence[str] | None] = Setting(
        doc="""The keyspaces whose schema is read; None for all.

        Replication is read for all keyspaces, because token awareness needs it.
        """,
        default=None,
        check=checks.names_or_all,
        kw_only=True,
    )

    schema_read_timeout: Plain[float | None] = Setting(
        doc="""Seconds for reading the whole schema, at connect and later; None for no limit.""",
        default=300,
        check=checks.seconds,
        is_live=True,
        kw_only=True,
    )

    # The default is not None, because None means no cache.
    ssl_session_cache: Plain[SSLSessionCache | None] = Setting(
        doc="""A cache of TLS sessions to resume; None for no cache. By default each cluster has its
        own.

        If the server asks for a certificate of the client, and `ssl_context` is your own context,
        only a cache with `with_client_certificates` resumes sessions.
        """,
        default=NOT_SET,
        then="_follow_tls",
        kw_only=True,
        factory=SSLSessionCache,
    )


TASKS: dict[str, str] = {
    "Where to connect": (
        "contact_points port cloud scylla_cloud endpoint_factory "
        "address_translator client_routes_config"
    ),
    "Log in, encrypt": (
        "auth_provider ssl_context ssl_options ssl_session_cache column_encryption_policy"
    ),
    "How requests are executed": (
        "execution_profiles load_balancing_policy default_retry_policy "
        "timestamp_generator request_throttler max_waiting_requests "
        "request_observers"
    ),
    "Timeouts": (
        "connect_timeout control_connection_timeout "
        "metadata_request_timeout schema_read_timeout "
        "max_schema_agreement_wait idle_heartbeat_interval "
        "idle_heartbeat_timeout"
    ),
    "Connections": (
        "connections_per_host compression sockopts reconnection_policy "
        "conviction_policy_factory shard_aware_options connection_class "
        "graceful_disconnect_enabled executor_threads loops"
    ),
    "Prepared statements": ("prepare_on_all_hosts reprepare_on_up prepare_scope"),
    "Schema and nodes": (
        "schema_metadata_enabled token_metadata_enabled "
        "schema_metadata_keyspaces schema_metadata_page_size "
        "schema_event_refresh_window topology_event_refresh_window "
        "status_event_refresh_window "
        "allow_control_connection_query_fallback"
    ),
    "Protocol": ("protocol_version allow_beta_protocol_version cql_version no_compact"),
    "What servers and operators see": (
        "application_name application_version application_info "
        "client_id metrics_enabled driver_config_reporting_enabled "
        "monitor_reporting_enabled monitor_reporting_interval"
    ),
}
"""The settings by task, for the table at the top of the reference of `Cluster`."""
