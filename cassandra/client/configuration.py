"""The settings of a cluster, and their checks: the base of both `Cluster` classes."""

from __future__ import annotations

import datetime
import enum
import math
import ssl
import sys
import uuid
import warnings
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cassandra._version import DRIVER_NAME, __version__
from cassandra.client.pool_sizes import PoolSizes
from cassandra.client.shard_awareness import ShardAwareness, ShardAwareOptions
from cassandra.engine.endpoint import DefaultEndPoint, DefaultEndPointFactory, EndPoint
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
from cassandra.timestamps import MonotonicTimestampGenerator
from cassandra.versions import ProtocolVersion

if TYPE_CHECKING:
    from cassandra.auth import AuthProvider
    from cassandra.client.cluster_settings import (
        ApplicationInfo,
        ContactPoint,
        ContactPoints,
        SocketOption,
    )
    from cassandra.engine.core import Core
    from cassandra.engine.endpoint import EndPointFactory
    from cassandra.metadata.host import Host
    from cassandra.metrics import Metrics
    from cassandra.policies.balancing import HostStateListener, LoadBalancingPolicy
    from cassandra.policies.conviction import ConvictionPolicy
    from cassandra.policies.reconnection import ReconnectionPolicy
    from cassandra.policies.speculation import SpeculativeExecutionPolicy
    from cassandra.policies.translation import AddressTranslator


class ConfigMode(enum.Enum):
    """Old-style settings and execution profiles exclude each other; the first one used decides."""

    UNCOMMITTED = 0
    LEGACY = 1
    PROFILES = 2


class ClusterBase(PoolSizes, ShardAwareness):
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

    protocol_version: int | None = None
    """The native protocol's version; None to begin with 5 and go down as needed."""

    allow_beta_protocol_version: bool = False
    """Allow a version that is a beta."""

    no_compact: bool = False
    """Send NO_COMPACT: tables with compact storage look like others."""

    ssl_context: ssl.SSLContext | None = None
    """For TLS. With check_hostname, a node's certificate must name the connection's address."""

    ssl_options: Mapping[str, Any] | None = None
    """Keywords of an older style; if no ssl_context is given, one is made of them."""

    sockopts: Sequence[SocketOption] | None = None
    """Tuples of arguments for ``socket.setsockopt``, for each connection."""

    connect_timeout: float | None = 5
    """Seconds that opening a connection may take, its handshake included."""

    control_connection_timeout: float | None = 2.0
    """Seconds that a query of the control connection may take."""

    max_schema_agreement_wait: float = 10
    """Seconds to wait for nodes to agree on the schema after it was changed; 0 for no wait."""

    idle_heartbeat_interval: float = 30
    """Seconds of silence after which a connection gets a heartbeat; 0 for never."""

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

    metadata_request_timeout: datetime.timedelta | None = None
    """The time that ScyllaDB may take for a query of the schema tables (``USING TIMEOUT``).

    None for the server's default.
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

    driver_config_reporting_enabled: bool = False
    """Send `session_id` to the server with each connection.

    An operator then sees in ``system.clients`` which connections belong together.
    """

    allow_control_connection_query_fallback: ControlConnectionQueryFallback | bool | None = None
    """What becomes of requests if no pool can take them: a `ControlConnectionQueryFallback`.

    True means ``Fallback``, None and False mean ``Disabled``.
    """

    shard_aware_options: ShardAwareOptions | None = None
    """A `ShardAwareOptions`; it may be given as a mapping of its settings."""

    cloud: None = None
    scylla_cloud: None = None

    _core: Core | None = None
    _schema_metadata_enabled = True
    _token_metadata_enabled = True

    # Accepted for programs that set them: there are no executor threads here, and one kind of
    # connection.
    executor_threads: int = 2
    connection_class: type[object] | None = None

    def __init__(self, contact_points: ContactPoints = NOT_SET, **settings: Any) -> None:
        if contact_points is not NOT_SET:
            self.contact_points = _checked_contact_points(contact_points)
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
            # None is a value: for many settings it means to go without.
            if value is not NOT_SET:
                setattr(self, name, value)
        self.user_type_fields: dict[type[Any], list[str]] = {}
        self._listeners: list[HostStateListener] = []
        self.profile_manager = ProfileManager()
        self.config_mode = self._choose_mode(profiles)
        self._check()
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
        self.endpoints_resolved: list[EndPoint] = [
            self._endpoint(point) for point in self.contact_points
        ]

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
        for name in ("cloud", "scylla_cloud"):
            if getattr(self, name) is not None:
                raise NotImplementedError(
                    f"{name} is not supported: pass contact_points, ssl_context and auth_provider, "
                    "with SniEndPoint contact points for a proxy that routes by server name"
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
        if self.protocol_version is not None:
            ProtocolVersion.check_supported(self.protocol_version, self.allow_beta_protocol_version)
        self._check_compression()
        if self.auth_provider is not None and not hasattr(self.auth_provider, "new_authenticator"):
            raise TypeError(
                "auth_provider must be an AuthProvider, but is of type "
                f"{type(self.auth_provider).__name__}; "
                "PlainTextAuthProvider serves for a user name and a password"
            )
        if self.ssl_context is not None and not isinstance(self.ssl_context, ssl.SSLContext):
            raise TypeError(f"ssl_context must be an ssl.SSLContext, but is {self.ssl_context!r}")
        self._check_schema_settings()
        if self.ssl_options is not None:
            _check_ssl_options(self.ssl_options, self.ssl_context)
        for name, least in _TIMES.items():
            _check_seconds(name, getattr(self, name), least)

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

    def _endpoint(self, point: ContactPoint) -> EndPoint:
        if isinstance(point, EndPoint):
            return point
        if isinstance(point, tuple):
            address, port = point
            return DefaultEndPoint(str(address), int(port))
        return DefaultEndPoint(str(point), self.port)

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

    def add_execution_profile(
        self, name: Hashable, profile: ExecutionProfile, pool_wait_timeout: float = 5
    ) -> None:
        """Add a profile to those that `execution_profile=` may name.

        :param pool_wait_timeout: accepted for programs that pass it. Connections to hosts that only
            the new profile's policy wants are opened in the background; requests wait for them.
        :raises ValueError: if the name is taken, or old-style settings are used.
        """
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
        self.profile_manager.profiles[name] = profile
        if not known:
            policy.check_supported()
            self._adopt_policy(policy)
        if not speculation_known:
            self._attach_policy(speculation)

    def _attach_policy(self, policy: SpeculativeExecutionPolicy) -> None:
        """Let a policy of speculative executions that was added after `connect` see latencies."""

    def _adopt_policy(self, policy: LoadBalancingPolicy) -> None:
        """Populate a policy that was added after `connect`, and open the pools that it wants."""

    @property
    def session_id(self) -> uuid.UUID:
        """A random id of this cluster object, for telling its connections from others."""
        return self._session_id

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

    def _populate(self, core: Core) -> None:
        """Connect policies and metrics with the engine once it is connected; called on its loop."""
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
            endpoints=self.endpoints_resolved,
            endpoint_factory=self.endpoint_factory,
            reconnection_policy=self.reconnection_policy,
            conviction_policy_factory=self.conviction_policy_factory,
            protocol_version=self.protocol_version,
            allow_beta_protocol_version=self.allow_beta_protocol_version,
            auth_provider=self.auth_provider,
            compression=bool(self.compression)
            if not isinstance(self.compression, str)
            else self.compression,
            cql_version=self.cql_version,
            startup_options=self._startup_options(),
            ssl_context=self._make_ssl_context(),
            sockopts=self.sockopts or (),
            connect_timeout=self.connect_timeout if self.connect_timeout else 3600.0,
            control_connection_timeout=self.control_connection_timeout,
            max_schema_agreement_wait=self.max_schema_agreement_wait,
            idle_heartbeat_interval=self.idle_heartbeat_interval,
            idle_heartbeat_timeout=self.idle_heartbeat_timeout,
            schema_metadata_enabled=self.schema_metadata_enabled,
            token_metadata_enabled=self.token_metadata_enabled,
            schema_metadata_page_size=self.schema_metadata_page_size,
            schema_read_timeout=self.schema_read_timeout,
            schema_metadata_keyspaces=self.schema_metadata_keyspaces,
            metadata_request_timeout=self.metadata_request_timeout,
            schema_event_refresh_window=self.schema_event_refresh_window,
            topology_event_refresh_window=self.topology_event_refresh_window,
            status_event_refresh_window=self.status_event_refresh_window,
            prepare_on_all_hosts=self.prepare_on_all_hosts,
            reprepare_on_up=self.reprepare_on_up,
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
        if self.driver_config_reporting_enabled:
            options["SESSION_ID"] = str(self._session_id)
        if self.no_compact:
            options["NO_COMPACT"] = "true"
        if self.application_info is not None:
            self.application_info.add_startup_options(options)
        return options

    def _make_ssl_context(self) -> ssl.SSLContext | None:
        if self.ssl_context is not None or not self.ssl_options:
            return self.ssl_context
        options = dict(self.ssl_options)
        context = ssl.SSLContext(options.pop("ssl_version", ssl.PROTOCOL_TLS_CLIENT))
        # Before verify_mode: ssl refuses CERT_NONE while host names are checked.
        context.check_hostname = bool(options.pop("check_hostname", False))
        context.verify_mode = options.pop(
            "cert_reqs", ssl.CERT_REQUIRED if options.get("ca_certs") else ssl.CERT_NONE
        )
        ca_certs = options.pop("ca_certs", None)
        if ca_certs:
            context.load_verify_locations(ca_certs)
        certfile = options.pop("certfile", None)
        keyfile = options.pop("keyfile", None)
        if certfile:
            context.load_cert_chain(certfile, keyfile, options.pop("password", None))
        ciphers = options.pop("ciphers", None)
        if ciphers:
            context.set_ciphers(ciphers)
        if options:
            raise ValueError(
                f"ssl_options has unknown settings: {', '.join(sorted(options))}; "
                "use ssl_context instead"
            )
        return context


# Settings in seconds, and the least value that each may have.
_TIMES = {
    "connect_timeout": 0.0,
    "control_connection_timeout": 0.0,
    "idle_heartbeat_interval": 0.0,
    "idle_heartbeat_timeout": 0.0,
    "max_schema_agreement_wait": -math.inf,
    "schema_read_timeout": 0.0,
    "schema_event_refresh_window": -math.inf,
    "status_event_refresh_window": -math.inf,
    "topology_event_refresh_window": -math.inf,
}


def _check_seconds(name: str, value: object, least: float) -> None:
    """Raise TypeError or ValueError unless `value` is a number of seconds or None."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number of seconds or None, but is {value!r}")
    # NaN would pass the comparison below.
    if math.isnan(value) or value == math.inf:
        raise ValueError(
            f"{name} must be a number of seconds, but is {value!r}; None is for no limit"
        )
    if value < least:
        raise ValueError(f"{name} must not be negative, but is {value}")


def _check_ssl_options(options: object, context: ssl.SSLContext | None) -> None:
    """Refuse options that would connect without TLS; warn if they verify nothing."""
    if not isinstance(options, Mapping):
        raise TypeError(f"ssl_options must be a mapping, but is of type {type(options).__name__}")
    if context is not None:
        return
    if not options:
        raise ValueError(
            "ssl_options is empty, which would connect without TLS: pass None for that, "
            "or ssl_context=ssl.create_default_context() for TLS"
        )
    if not options.get("ca_certs") and "cert_reqs" not in options:
        warnings.warn(
            "ssl_options without ca_certs: the connection is encrypted, but the server's "
            "certificate is not verified. Pass ca_certs, or "
            "ssl_context=ssl.create_default_context(); "
            "cert_reqs=ssl.CERT_NONE says that it is meant",
            UserWarning,
            stacklevel=5,
        )


_CALLABLE_SETTINGS = frozenset(
    {"conviction_policy_factory", "timestamp_generator", "connection_class"}
)


def _checked_contact_points(contact_points: ContactPoints) -> Sequence[ContactPoint]:
    if isinstance(contact_points, (str, bytes)):
        raise TypeError(
            f"contact_points must be a list of addresses, not a single {contact_points!r}: "
            "write [...]"
        )
    points = list(contact_points) if contact_points is not None else None
    if not points:
        raise ValueError(f"contact_points must name at least one node, but is {contact_points!r}")
    for point in points:
        _check_contact_point(point)
    return points


def _check_contact_point(point: object) -> None:
    """Raise TypeError or ValueError for a wrong contact point; the message shows it."""
    if isinstance(point, EndPoint):
        return
    address, port = point if isinstance(point, tuple) and len(point) == 2 else (point, None)
    if not isinstance(address, str):
        raise TypeError(
            "a contact point is a name, an address, (address, port) or an EndPoint, "
            f"but one is {point!r}"
        )
    if not address.strip():
        raise ValueError(f"a contact point must not be empty, but one is {point!r}")
    # More than one colon is an IPv6 address.
    if "," in address or address.count(":") == 1 or address.startswith("["):
        raise ValueError(
            f"a contact point is one address without its port, but one is {point!r}: "
            "write each as an item of the list, and its port as port=9042 or as a pair "
            "(address, 9042)"
        )
    if port is not None and (
        isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535
    ):
        raise ValueError(
            f"a contact point's port must be a number from 1 to 65535, but it is {point!r}"
        )
