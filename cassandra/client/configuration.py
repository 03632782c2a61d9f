"""The settings of a cluster, and their checks: the base of both `Cluster` classes."""

from __future__ import annotations

import datetime
import enum
import ssl
import sys
import uuid
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cassandra._version import DRIVER_NAME, __version__
from cassandra.auth import PlainTextAuthProvider
from cassandra.client.contact_points import checked_contact_points, endpoint_of
from cassandra.client.identity import Identity, scylla_options
from cassandra.client.pool_sizes import PoolSizes
from cassandra.client.setting_checks import TIMES, as_timedelta, check_seconds
from cassandra.client.shard_awareness import ShardAwareness, ShardAwareOptions
from cassandra.client.tls_settings import tls_client
from cassandra.client.user_types import UserTypes
from cassandra.engine.connection import Connection
from cassandra.engine.endpoint import DefaultEndPointFactory, EndPoint
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, ExecutionProfile, ProfileManager
from cassandra.engine.query_fallback import ControlConnectionQueryFallback, fallback_of
from cassandra.engine.settings import Settings
from cassandra.errors import ConnectionException
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.policies.conviction import SimpleConvictionPolicy
from cassandra.policies.reconnection import ExponentialReconnectionPolicy
from cassandra.policies.retry import RetryPolicy
from cassandra.policies.translation import IdentityTranslator
from cassandra.protocol.compression import available_compressions
from cassandra.query.settings import NOT_SET
from cassandra.ssl_session_cache import SSLSessionCache
from cassandra.timestamps import MonotonicTimestampGenerator
from cassandra.versions import ProtocolVersion

if TYPE_CHECKING:
    from cassandra.auth import AuthProvider
    from cassandra.client.cloud import Cloud
    from cassandra.client.cluster_settings import (
        ApplicationInfo,
        ContactPoint,
        ContactPoints,
        SocketOption,
    )
    from cassandra.client.session import SessionBase
    from cassandra.client_routes import ClientRoutesConfig
    from cassandra.engine.client_routes import ClientRoutes
    from cassandra.engine.core import Core
    from cassandra.engine.endpoint import EndPointFactory
    from cassandra.metadata.host import Host
    from cassandra.metrics import Metrics
    from cassandra.policies.balancing import HostStateListener, LoadBalancingPolicy
    from cassandra.policies.conviction import ConvictionPolicy
    from cassandra.policies.encryption import ColumnEncryptionPolicy
    from cassandra.policies.reconnection import ReconnectionPolicy
    from cassandra.policies.speculation import SpeculativeExecutionPolicy
    from cassandra.policies.translation import AddressTranslator


class ConfigMode(enum.Enum):
    """Old-style settings and execution profiles exclude each other; the first one used decides."""

    UNCOMMITTED = 0
    LEGACY = 1
    PROFILES = 2


class ClusterBase(PoolSizes, Identity, ShardAwareness):
    """Settings of a cluster.

    Each is a class attribute, which is its default, and a keyword of the same name.
    """

    contact_points: Sequence[ContactPoint] = ("127.0.0.1",)
    """Addresses, names, (address, port) pairs or end points of the nodes to begin with.

    The driver learns of the other nodes from them.
    """

    port: int = 9042
    """The port of contact points that name none, and of nodes that advertise none."""

    compression: bool | str | None = True
    """True for the best that both sides have, "lz4" or "snappy" for that one, False for none."""

    auth_provider: AuthProvider | None = None
    """An `AuthProvider`; PlainTextAuthProvider for a user name and a password."""

    cql_version: str | None = None
    """The CQL version to ask for; None for the server's."""

    protocol_version: int = ProtocolVersion.MAX_SUPPORTED
    """The native protocol's version. After `connect` it is the one agreed on with the servers.

    Given as a keyword, no other is tried; else this is the highest, and goes down as needed.
    """

    allow_beta_protocol_version: bool = False
    """Allow a version that is a beta."""

    no_compact: bool = False
    """Send NO_COMPACT: tables with compact storage look like others."""

    ssl_context: ssl.SSLContext | Callable[[], ssl.SSLContext] | None = None
    """For TLS. With check_hostname, a node's certificate must name the connection's address.

    A function is called for each connection: it may give another context when the files of the
    certificates have changed. `cassandra.tls.ReloadingContext` is one.
    """

    ssl_options: Mapping[str, Any] | None = None
    """Beside `ssl_context`: ``server_hostname``, the name that certificates must have.

    Alone, keywords of an older style to make a context of: ca_certs, certfile, keyfile, cert_reqs,
    ssl_version, ciphers, check_hostname, server_hostname.
    """

    ssl_session_cache: SSLSessionCache | None = NOT_SET
    """TLS sessions that connections resume; None for none, by default a cache for this cluster."""

    sockopts: Sequence[SocketOption] | None = None
    """Tuples of arguments for ``socket.setsockopt``, for each connection."""

    connect_timeout: float | None = 5
    """Seconds that opening a connection may take, its handshake included."""

    control_connection_timeout: float | None = 2.0
    """Seconds that a query of the control connection may take."""

    max_schema_agreement_wait: float = 10
    """Seconds to wait for nodes to agree on the schema after it was changed; 0 for no wait."""

    idle_heartbeat_interval: float | None = 30
    """Seconds of silence after which a connection gets a heartbeat; 0 or None for never."""

    idle_heartbeat_timeout: float = 30
    """Seconds within which a heartbeat must be answered."""

    topology_event_refresh_window: float = 10
    """The longest delay in seconds between an event about nodes and reading the node list.

    If it is negative, such events are ignored.
    """

    status_event_refresh_window: float = 2
    """The longest delay in seconds between an event about a node's state and acting on it.

    If it is negative, such events are ignored.
    """

    schema_event_refresh_window: float = 2
    """The longest delay in seconds between an event about the schema and reading what it names.

    The moment is random, and the events until then are one reading. 0 is for at once. If it is
    negative, events are ignored: only changes by this cluster's own sessions are read.
    """

    schema_metadata_page_size: int = 1000
    """Rows in a page of the schema tables."""

    schema_read_timeout: float | None = 300
    """Seconds that reading the whole schema may take, at connect and later; None for no limit."""

    schema_metadata_keyspaces: Sequence[str] | None = None
    """The keyspaces whose schema is read; None for all.

    Replication is read for all keyspaces, because token awareness needs it.
    """

    metadata_request_timeout: datetime.timedelta | float | None = None
    """The time that ScyllaDB may take for a query of the schema tables (``USING TIMEOUT``).

    In seconds, or as a timedelta; 0 for the server's default, None for
    `control_connection_timeout`, after which nobody waits for the answer.
    """

    prepare_on_all_hosts: bool = True
    """Let `prepare` prepare a statement on all hosts, not only on one."""

    reprepare_on_up: bool = True
    """Prepare known statements on a host that comes up, before it gets requests."""

    reconnection_policy: ReconnectionPolicy = ExponentialReconnectionPolicy(1.0, 600.0)
    """Gives the delays between tries to reach a host that is down."""

    conviction_policy_factory: Callable[[Host], ConvictionPolicy] = SimpleConvictionPolicy
    """Called with a host; decides after how many failures it counts as down."""

    address_translator: AddressTranslator | None = IdentityTranslator()
    """Translates the addresses that nodes advertise to those that this client can reach."""

    endpoint_factory: EndPointFactory | None = None
    """Makes the end points of nodes; None for the address and port that they advertise."""

    timestamp_generator: Callable[[], int] | None = None
    """Gives the timestamps of requests, in microseconds; None for a MonotonicTimestampGenerator."""

    application_info: ApplicationInfo | None = None
    """An object whose ``add_startup_options(options)`` adds to what is sent in STARTUP."""

    default_retry_policy: RetryPolicy | None = None
    load_balancing_policy: LoadBalancingPolicy | None = None

    metrics_enabled: bool = False
    """Count requests and errors in `metrics`; if it is off, requests pay nothing for it."""

    metrics: Metrics | None = None
    """The cluster's `cassandra.metrics.Metrics`; None if they are not enabled."""

    column_encryption_policy: ColumnEncryptionPolicy | None = None
    """Encrypts and decrypts columns in the program: see `cassandra.column_encryption.policies`."""

    allow_control_connection_query_fallback: ControlConnectionQueryFallback | bool | None = None
    """What becomes of requests if no pool can take them: a `ControlConnectionQueryFallback`.

    True means ``Fallback``, None and False mean ``Disabled``.
    """

    shard_aware_options: ShardAwareOptions | None = None
    """A `ShardAwareOptions`; it may be given as a mapping of its settings."""

    cloud: Mapping[str, Any] | None = None
    """Astra: ``{"secure_connect_bundle": path}``, in place of contact points, end points and TLS.

    The bundle may be a binary file, too. ``connect_timeout`` is for the metadata service, in
    seconds.
    """

    scylla_cloud: None = None

    client_routes_config: ClientRoutesConfig | None = None
    """A `cassandra.client_routes.ClientRoutesConfig`, for nodes behind a private network's proxies.

    The table ``system.client_routes`` of ScyllaDB says where; `port` is that of the contact points,
    and of nodes that have no route. `endpoint_factory` cannot be given beside it, and
    `address_translator` has no effect.
    """

    _cloud: Cloud | None = None
    _client_routes: ClientRoutes | None = None
    _core: Core | None = None
    _schema_metadata_enabled = True
    _token_metadata_enabled = True

    # Accepted for programs that set it: there are no executor threads here.
    executor_threads: int = 2

    connection_class: type[object] | None = Connection
    """The kind of connection, of which there is one.

    If it has a ``factory`` of its own, that is called for each connection, in a thread.
    """

    def __init__(self, contact_points: ContactPoints = NOT_SET, **settings: Any) -> None:
        if contact_points is not NOT_SET:
            self.contact_points = checked_contact_points(contact_points)
        profiles = settings.pop("execution_profiles", None)
        if profiles is NOT_SET:
            profiles = None
        self.metadata = Metadata()
        self._session_id = uuid.uuid4()
        for name, value in settings.items():
            # Methods and internals are attributes, too: setting one by its name must not pass.
            if (
                name.startswith("_")
                or not hasattr(ClusterBase, name)
                or (callable(getattr(type(self), name, None)) and name not in _CALLABLE_SETTINGS)
            ):
                raise TypeError(f"Cluster has no setting {name!r}")
            # For other settings None is a value: it means to go without.
            if value is not NOT_SET and not (value is None and name in _NONE_IS_DEFAULT):
                setattr(self, name, value)
        self._has_named_version = settings.get("protocol_version") not in (None, NOT_SET)
        self._user_types = UserTypes(self.metadata)
        self._listeners: list[HostStateListener] = []
        self.profile_manager = ProfileManager()
        self.config_mode = self._choose_mode(profiles)
        self._check()
        self._open_bundle(contact_points is not NOT_SET)
        self._take_routes(contact_points is not NOT_SET)
        if self.ssl_session_cache is NOT_SET:
            self.ssl_session_cache = SSLSessionCache()
        self._make_tls()
        self._make_sizes()
        self._make_profiles(profiles)
        if self.metrics_enabled:
            # Imported only if it is switched on: most programs go without.
            self.metrics = import_module("cassandra.metrics").Metrics(weakref.proxy(self))
        if self.timestamp_generator is None:
            self.timestamp_generator = MonotonicTimestampGenerator()
        if self.endpoint_factory is None:
            self.endpoint_factory = DefaultEndPointFactory()
        # The engine holds the factory. By the proxy, a Cluster that nobody else holds is collected.
        self.endpoint_factory.configure(weakref.proxy(self))
        self._named_endpoints: list[EndPoint] = []
        if self._cloud is None:
            self._named_endpoints = [endpoint_of(one, self.port) for one in self.contact_points]
        self.endpoints_resolved: list[EndPoint] = self._resolve(self._named_endpoints)

    def _resolve(self, endpoints: list[EndPoint]) -> list[EndPoint]:
        """Return `endpoints` with addresses instead of names, if this face resolves them now."""
        return endpoints

    def __setattr__(self, name: str, value: object) -> None:
        """Set a setting, or whatever attribute a program keeps here.

        After `connect`, timeouts and waits, reconnection, logins, TLS and preparing follow a
        change; the other settings have done their work by then.
        """
        super().__setattr__(name, value)
        core = self._core
        if core is not None and name in ("ssl_context", "ssl_options", "ssl_session_cache"):
            self._make_tls()
            core.settings.tls = self._tls
        if core is not None and name in _LIVE:
            if name in TIMES:
                check_seconds(name, value, TIMES[name])
            setattr(core.settings, name, value)
            core.settings.metadata_request_timeout = self._metadata_timeout()

    def _open_bundle(self, has_contact_points: bool) -> None:
        """Take what the bundle of the setting `cloud` says."""
        self._cloud = None
        if self.cloud is None:
            return
        if has_contact_points or self.endpoint_factory is not None or self.ssl_options is not None:
            raise ValueError(
                "contact_points, endpoint_factory and ssl_options cannot be given beside cloud, "
                "which stands for them"
            )
        if callable(self.ssl_context):
            raise ValueError("ssl_context must be a context, not a function, beside cloud")
        # Imported only if there is a bundle.
        self._cloud = import_module("cassandra.client.cloud").cloud_of(self.cloud, self.ssl_context)
        self.ssl_context = self._cloud.context
        self.endpoint_factory = self._cloud.factory
        if self.auth_provider is None and self._cloud.credentials is not None:
            self.auth_provider = PlainTextAuthProvider(*self._cloud.credentials)

    def _take_routes(self, has_contact_points: bool) -> None:
        """Take what the setting `client_routes_config` says."""
        config = self.client_routes_config
        if config is None:
            return
        # Imported only if it is given.
        settings = import_module("cassandra.client.routes")
        self._client_routes = settings.routes_of(config, self.endpoint_factory is not None)
        endpoints = import_module("cassandra.engine.client_routes")
        self.endpoint_factory = endpoints.ClientRoutesEndPointFactory(self._client_routes)
        if not has_contact_points:
            self.contact_points = settings.contact_points_of(config) or self.contact_points

    def _make_tls(self) -> None:
        # At construction, so that a wrong option or a missing file is an error there.
        self._tls = tls_client(self.ssl_context, self.ssl_options, self.ssl_session_cache)
        if self._client_routes is not None:
            import_module("cassandra.client.routes").check_names(self._tls)

    # -- checks ------------------------------------------------------------------------------------

    def _choose_mode(self, profiles: Mapping[Any, ExecutionProfile] | None) -> ConfigMode:
        legacy = [
            name
            for name in ("load_balancing_policy", "default_retry_policy")
            if getattr(self, name) is not None
        ]
        if profiles is not None and legacy:
            raise ValueError(
                f"execution_profiles cannot be used together with {' and '.join(legacy)}: "
                "put the policies into the profiles"
            )
        if profiles is not None:
            return ConfigMode.PROFILES
        return ConfigMode.LEGACY if legacy else ConfigMode.UNCOMMITTED

    def _make_profiles(self, profiles: Mapping[Any, ExecutionProfile] | None) -> None:
        made = dict(profiles or {})
        for name, profile in made.items():
            if not isinstance(profile, ExecutionProfile):
                raise TypeError(
                    f"execution_profiles[{name!r}] is not an ExecutionProfile, but {profile!r}"
                )
        if EXEC_PROFILE_DEFAULT not in made:
            made = {
                EXEC_PROFILE_DEFAULT: ExecutionProfile(
                    load_balancing_policy=self.load_balancing_policy,
                    retry_policy=self.default_retry_policy or RetryPolicy(),
                ),
                **made,
            }
        self.profile_manager.profiles.update(made)
        for policy in self.profile_manager.policies():
            policy.check_supported()

    def _check(self) -> None:
        if self.scylla_cloud is not None:
            raise NotImplementedError(
                "scylla_cloud is not supported: pass contact_points, ssl_context and auth_provider"
            )
        fallback_of(self.allow_control_connection_query_fallback)  # which checks it
        if self.shard_aware_options is not None:
            self.shard_aware_options = ShardAwareOptions(self.shard_aware_options)
        if (
            isinstance(self.port, bool)
            or not isinstance(self.port, (int, str))
            or not 1 <= int(self.port) <= 65535
        ):
            raise ValueError(f"port must be a number from 1 to 65535, but is {self.port!r}")
        # A port from an environment variable is a text.
        self.port = int(self.port)
        if self._has_named_version:
            ProtocolVersion.check_supported(self.protocol_version, self.allow_beta_protocol_version)
        self._check_compression()
        if self.auth_provider is not None and not hasattr(self.auth_provider, "new_authenticator"):
            raise TypeError(
                "auth_provider must be an AuthProvider, but is of type "
                f"{type(self.auth_provider).__name__}; "
                "PlainTextAuthProvider serves for a user name and a password"
            )
        encryption = self.column_encryption_policy
        if encryption is not None and not hasattr(encryption, "contains_column"):
            raise TypeError(
                "column_encryption_policy must be a ColumnEncryptionPolicy, but is of type "
                f"{type(encryption).__name__}"
            )
        self._check_identity()
        self._check_schema_settings()
        for name, least in TIMES.items():
            check_seconds(name, getattr(self, name), least)
        self._metadata_timeout()  # which checks it

    def _metadata_timeout(self) -> datetime.timedelta | None:
        timeout = self.metadata_request_timeout
        if timeout is None:
            timeout = self.control_connection_timeout
        return as_timedelta("metadata_request_timeout", timeout)

    def _check_schema_settings(self) -> None:
        size, keyspaces = self.schema_metadata_page_size, self.schema_metadata_keyspaces
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(
                f"schema_metadata_page_size must be a number of rows from 1 on, but is {size!r}"
            )
        if isinstance(keyspaces, str) or not all(isinstance(name, str) for name in keyspaces or ()):
            raise TypeError(
                f"schema_metadata_keyspaces must be a list of names, but is {keyspaces!r}"
            )
        if keyspaces is not None:
            # A copy: the program may change its list later.
            self.schema_metadata_keyspaces = tuple(keyspaces)

    def _check_compression(self) -> None:
        if self.compression in (None, True, False):
            return
        if not isinstance(self.compression, str):
            raise TypeError(
                f"compression is True, False or an algorithm's name, but is {self.compression!r}"
            )
        if self.compression not in ("lz4", "snappy"):
            raise ValueError(f"compression must be 'lz4' or 'snappy', but is {self.compression!r}")
        # An algorithm that is asked for by name must not be left out in silence.
        if self.compression not in available_compressions():
            package = {"lz4": "lz4", "snappy": "python-snappy"}[self.compression]
            raise ValueError(
                f"compression {self.compression!r} needs the package {package!r}: "
                f"pip install turbocql[{self.compression}]"
            )

    # -- metadata ----------------------------------------------------------------------------------

    @property
    def schema_metadata_enabled(self) -> bool:
        """True if the schema is read at connect and kept fresh, for `Cluster.metadata.keyspaces`.

        It may be switched at any time.
        """
        return self._schema_metadata_enabled

    @schema_metadata_enabled.setter
    def schema_metadata_enabled(self, enabled: bool) -> None:
        self._schema_metadata_enabled = bool(enabled)
        if self._core is not None:
            # The engine has settings of its own, made at connect.
            self._core.settings.schema_metadata_enabled = bool(enabled)

    @property
    def token_metadata_enabled(self) -> bool:
        """True if tokens and the replication of keyspaces are read, for token awareness.

        It may be switched at any time.
        """
        return self._token_metadata_enabled

    @token_metadata_enabled.setter
    def token_metadata_enabled(self, enabled: bool) -> None:
        self._token_metadata_enabled = bool(enabled)
        self.metadata.token_metadata_enabled = bool(enabled)
        if self._core is not None:
            self._core.settings.token_metadata_enabled = bool(enabled)

    def set_meta_refresh_enabled(self, enabled: bool) -> None:
        """Switch all reading of metadata off, or on again.

        That is reading the schema and, after events, the nodes. Use `schema_metadata_enabled` and
        `token_metadata_enabled` in new programs.
        """
        if self._core is None:
            raise ConnectionException("the cluster is not connected")
        self._core.schema.enabled = bool(enabled)

    # -- profiles and types ------------------------------------------------------------------------

    def _add_profile(self, name: Hashable, profile: ExecutionProfile) -> LoadBalancingPolicy | None:
        """Add a profile; return its load balancing policy if no other profile has it."""
        if not isinstance(profile, ExecutionProfile):
            raise TypeError(f"profile must be an ExecutionProfile, but is {profile!r}")
        if self.config_mode is ConfigMode.LEGACY:
            raise ValueError("execution profiles cannot be added if old-style settings are used")
        if name in self.profile_manager.profiles:
            raise ValueError(f"there is an execution profile {name!r} already")
        self.config_mode = ConfigMode.PROFILES
        policy = profile.load_balancing_policy
        # Looked for before the profile is added, or it would always be found.
        known = any(policy is other for other in self.profile_manager.policies())
        speculation = profile.speculative_execution_policy
        speculation_known = any(
            speculation is other for other in self.profile_manager.speculation_policies()
        )
        if not known:
            policy.check_supported()
        self.profile_manager.profiles[name] = profile
        if not speculation_known:
            self._attach_policy(speculation)
        return None if known else policy

    def _attach_policy(self, policy: SpeculativeExecutionPolicy) -> None:
        """Let a policy of speculative executions that was added after `connect` see latencies."""

    def _add_user_type(
        self, keyspace: str, name: str, klass: type[Any], sessions: Iterable[SessionBase]
    ) -> None:
        self._user_types.add(keyspace, name, klass)
        if self._core is not None:
            self._core.user_types = self._user_types.classes
        for session in list(sessions):
            session.encode_user_type(klass, partial(self._user_types.fields, keyspace, name))

    def _encode_user_types(self, session: SessionBase) -> None:
        for keyspace, types in self._user_types.classes.items():
            for name, klass in types.items():
                session.encode_user_type(klass, partial(self._user_types.fields, keyspace, name))

    # -- listeners ---------------------------------------------------------------------------------

    def register_listener(self, listener: HostStateListener) -> None:
        """Notify `listener` when hosts are added, removed, up or down.

        It may be registered before or after `connect`. It is called on the engine's loop, which it
        must not block.
        """
        if not any(listener is known for known in self._listeners):
            self._listeners.append(listener)

    def unregister_listener(self, listener: HostStateListener) -> None:
        """Undo `register_listener`."""
        # In place: the engine holds this very list.
        self._listeners[:] = [known for known in self._listeners if known is not listener]

    # -- for the engine ----------------------------------------------------------------------------

    async def _on_connected(self, core: Core) -> None:
        """Connect policies, metrics and user types with the engine; called on its loop."""
        self.protocol_version = core.protocol_version
        core.user_types = self._user_types.classes
        if not self.schema_metadata_enabled:
            await self._user_types.read_fields(core.user_type_fields)
        core.listeners.program = self._listeners
        for policy in self.profile_manager.policies():
            core.populate_policy(policy, self)
        for speculation in self.profile_manager.speculation_policies():
            core.attach_policy(speculation)
        if self.metrics is not None:
            self.metrics.attach(core)

    def _settings(self) -> Settings:
        # The engine holds the sizes, not the cluster, which can be collected if nobody holds it.
        sizes = self._core_connections
        options = self.shard_aware_options or ShardAwareOptions()
        return Settings(
            connections_per_host=lambda distance: sizes.get(distance, 1),
            connection_class=self.connection_class or Connection,
            endpoints=self.endpoints_resolved,
            named_endpoints=self._named_endpoints,
            find_endpoints=self._cloud.ask if self._cloud is not None else None,
            endpoint_factory=self.endpoint_factory,
            reconnection_policy=self.reconnection_policy,
            conviction_policy_factory=self.conviction_policy_factory,
            protocol_version=self.protocol_version if self._has_named_version else None,
            first_protocol_version=self.protocol_version,
            allow_beta_protocol_version=self.allow_beta_protocol_version,
            auth_provider=self.auth_provider,
            compression=bool(self.compression)
            if not isinstance(self.compression, str)
            else self.compression,
            cql_version=self.cql_version,
            startup_options=self._startup_options(),
            scylla_options=partial(scylla_options, weakref.proxy(self)),
            tls=self._tls,
            sockopts=self.sockopts or (),
            connect_timeout=self.connect_timeout if self.connect_timeout else 3600.0,
            control_connection_timeout=self.control_connection_timeout,
            max_schema_agreement_wait=self.max_schema_agreement_wait,
            idle_heartbeat_interval=self.idle_heartbeat_interval or 0.0,
            idle_heartbeat_timeout=self.idle_heartbeat_timeout,
            schema_metadata_enabled=self.schema_metadata_enabled,
            token_metadata_enabled=self.token_metadata_enabled,
            schema_metadata_page_size=self.schema_metadata_page_size,
            schema_read_timeout=self.schema_read_timeout,
            schema_metadata_keyspaces=self.schema_metadata_keyspaces,
            column_encryption_policy=self.column_encryption_policy,
            metadata_request_timeout=self._metadata_timeout(),
            schema_event_refresh_window=self.schema_event_refresh_window,
            topology_event_refresh_window=self.topology_event_refresh_window,
            status_event_refresh_window=self.status_event_refresh_window,
            prepare_on_all_hosts=self.prepare_on_all_hosts,
            reprepare_on_up=self.reprepare_on_up,
            client_routes=self._client_routes,
            query_fallback=fallback_of(self.allow_control_connection_query_fallback),
            shard_aware=not options.disable,
            shard_aware_port=not options.disable_shardaware_port,
            local_ports=options.local_ports,
        )

    def _startup_options(self) -> dict[str, str]:
        options = {
            "DRIVER_NAME": DRIVER_NAME,
            "DRIVER_VERSION": f"{__version__} ({sys.implementation.name} {sys.version.split()[0]})",
        }
        if self.no_compact:
            options["NO_COMPACT"] = "true"
        self._application().add_startup_options(options)
        if self.application_info is not None:
            self.application_info.add_startup_options(options)
        return options


# Settings that the engine reads each time it needs them.
_LIVE = frozenset(
    {
        "auth_provider",
        "conviction_policy_factory",
        "control_connection_timeout",
        "max_schema_agreement_wait",
        "metadata_request_timeout",
        "prepare_on_all_hosts",
        "reconnection_policy",
        "reprepare_on_up",
        "schema_event_refresh_window",
        "schema_metadata_page_size",
        "schema_read_timeout",
        "sockopts",
        "status_event_refresh_window",
        "topology_event_refresh_window",
    }
)

# Settings that nobody can go without.
_NONE_IS_DEFAULT = frozenset(
    {
        "address_translator",
        "connections_per_host",
        "conviction_policy_factory",
        "executor_threads",
        "idle_heartbeat_timeout",
        "max_schema_agreement_wait",
        "port",
        "protocol_version",
        "reconnection_policy",
        "schema_event_refresh_window",
        "schema_metadata_page_size",
        "status_event_refresh_window",
        "topology_event_refresh_window",
    }
)

_CALLABLE_SETTINGS = frozenset(
    {"conviction_policy_factory", "timestamp_generator", "connection_class", "ssl_context"}
)
