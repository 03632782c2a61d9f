"""The settings of a cluster, and their checks: the base of both `Cluster` classes."""

from __future__ import annotations

import datetime
import enum
import uuid
import weakref
from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from cassandra._impl import implementation
from cassandra._imports import import_module
from cassandra._secrets import HiddenAttribute, Secret, hidden_setting, hidden_settings
from cassandra.auth import PlainTextAuthProvider
from cassandra.client.contact_points import checked_contact_points, endpoint_of
from cassandra.client.identity import Identity
from cassandra.client.implementation import warn_of_fallback
from cassandra.client.metadata_settings import MetadataSettings
from cassandra.client.observing import ObservedByCluster
from cassandra.client.pool_sizes import PoolSizes
from cassandra.client.settings.checks import (
    TIMES,
    as_timedelta,
    check_auth_provider,
    check_callable,
    check_compression,
    check_encryption,
    check_instance,
    check_page_size,
    check_seconds,
    check_throttler,
    check_waiting,
    checked_keyspaces,
    checked_port,
    instead_of,
)
from cassandra.client.settings.for_engine import settings_of
from cassandra.client.settings.old_style import DefaultRetryPolicy, LoadBalancing
from cassandra.client.settings.table import Defaults
from cassandra.client.settings.tls import tls_client
from cassandra.client.shard_awareness import ShardAwareness, ShardAwareOptions
from cassandra.client.user_types import UserTypes
from cassandra.engine.control.query_fallback import fallback_of
from cassandra.engine.endpoint import DefaultEndPointFactory, EndPoint
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, ExecutionProfile, ProfileManager
from cassandra.engine.settings import Settings
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.policies.retry import RetryPolicy
from cassandra.query.settings import NOT_SET
from cassandra.ssl_session_cache import SSLSessionCache
from cassandra.timestamps import MonotonicTimestampGenerator
from cassandra.versions import ProtocolVersion

if TYPE_CHECKING:
    from cassandra.client.cloud import Cloud
    from cassandra.client.cluster_settings import (
        ContactPoints,
    )
    from cassandra.client.session import SessionBase
    from cassandra.diagnostics.report import ClusterReport
    from cassandra.engine.control.client_routes import ClientRoutes
    from cassandra.engine.core import Core
    from cassandra.policies.balancing import HostStateListener, LoadBalancingPolicy
    from cassandra.policies.speculation import SpeculativeExecutionPolicy


def engine_core() -> type[Core]:
    """Return the class of engines; a program that makes no cluster does not wait for its import."""
    core: type[Core] = import_module("cassandra.engine.core").Core
    return core


class ConfigMode(enum.Enum):
    """Old-style settings and execution profiles exclude each other; the first one used decides."""

    UNCOMMITTED = 0
    LEGACY = 1
    PROFILES = 2


class ClusterBase(
    Defaults, MetadataSettings, PoolSizes, Identity, ShardAwareness, ObservedByCluster
):
    """The part of both `Cluster` classes that checks their settings and keeps them.

    :param contact_points: as `Defaults.contact_points`.
    :param settings: the other settings by name.
    :raises TypeError: if a setting is unknown, or is of a wrong type.
    :raises ValueError: if a value is out of range, or two settings exclude each other.
    :raises UnsupportedOperation: if this driver does not speak the protocol version.
    :raises NotImplementedError: if a setting asks for something that this driver does not have.
    :raises OSError: if a file that a setting names cannot be read.
    """

    load_balancing_policy = LoadBalancing()
    default_retry_policy = DefaultRetryPolicy()
    # The program reads its own mapping; what shows the cluster's attributes does not.
    ssl_options = HiddenAttribute["Mapping[str, Any] | None"](None)

    _cloud: Cloud | None = None
    _client_routes: ClientRoutes | None = None
    _core: Core | None = None

    def __init__(self, contact_points: ContactPoints = NOT_SET, **settings: Any) -> None:
        settings = hidden_settings(settings)  # first: an error shows local variables
        given: object = contact_points
        if given is None:  # stands for the default, as in most settings
            contact_points = NOT_SET
        if contact_points is not NOT_SET:
            self.contact_points = checked_contact_points(contact_points)
        profiles = settings.pop("execution_profiles", None)
        if profiles is NOT_SET or not profiles:
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
                raise TypeError(f"Cluster has no setting {name!r}{instead_of(name)}")
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

    def __repr__(self) -> str:
        # Of one whose constructor has failed, in a debugger or a traceback, too.
        kept = vars(self)
        points = ", ".join(map(str, kept.get("endpoints_resolved", ("not made",))))
        state = (
            "shut down"
            if kept.get("is_shutdown")
            else "connected"
            if self._core is not None
            else "not connected"
        )
        lane = "compiled" if implementation == "c" else "pure Python"
        return f"<Cluster: {points}, {state}, {lane}>"

    def _resolve(self, endpoints: list[EndPoint]) -> list[EndPoint]:
        """Return `endpoints` with addresses instead of names, if this face resolves them now."""
        return endpoints

    def __setattr__(self, name: str, value: object) -> None:
        """Set a setting, or whatever attribute a program keeps here.

        After `connect`, those that `LIVE` and `OF_TLS` name follow a change; the others have done
        their work by then.
        """
        value = hidden_setting(name, value)
        if name == "auth_provider":  # a wrong one would be told by the server, at the next login
            check_auth_provider(value)
        super().__setattr__(name, value)
        core = self._core
        if core is not None and name in OF_TLS:
            self._make_tls()
            core.settings.tls = self._tls
        if core is not None and name in LIVE:
            if name in TIMES:
                check_seconds(name, value, TIMES[name])
            setattr(core.settings, name, value)
            core.settings.metadata_request_timeout = self._metadata_timeout()

    def _open_bundle(self, has_contact_points: bool) -> None:
        """Take the settings of the bundle of `cloud`."""
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
        """Follow the setting `client_routes_config`."""
        config = self.client_routes_config
        if config is None:
            return
        # Imported only if it is given.
        settings = import_module("cassandra.client.routes")
        self._client_routes = settings.routes_of(config, self.endpoint_factory is not None)
        endpoints = import_module("cassandra.engine.control.client_routes")
        self.endpoint_factory = endpoints.ClientRoutesEndPointFactory(self._client_routes)
        if not has_contact_points:
            self.contact_points = settings.contact_points_of(config) or self.contact_points

    def _make_tls(self) -> None:
        # At construction, so that a wrong option or a missing file is an error there.
        # A subclass may have options of its own as an attribute of the class.
        options = _SSL_OPTIONS.secret_of(self) or Secret(self.ssl_options)
        self._tls = tls_client(self.ssl_context, options, self.ssl_session_cache)
        if self._client_routes is not None:
            import_module("cassandra.client.routes").check_names(self._tls)

    # -- checks ------------------------------------------------------------------------------------

    def _choose_mode(self, profiles: Mapping[Any, ExecutionProfile] | None) -> ConfigMode:
        legacy = []
        for name in ("load_balancing_policy", "default_retry_policy"):
            if getattr(self, name) is not None:
                check_instance(name, getattr(self, name))
                legacy.append(name)
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
        self.port = checked_port(self.port)
        if self._has_named_version:
            ProtocolVersion.check_supported(self.protocol_version, self.allow_beta_protocol_version)
        check_compression(self.compression)
        check_auth_provider(self.auth_provider)
        check_encryption(self.column_encryption_policy)
        check_throttler(self.request_throttler)
        check_waiting(self.max_waiting_requests)
        self._check_identity()
        for name in ("reconnection_policy", "address_translator"):
            check_instance(name, getattr(self, name))
        check_callable("conviction_policy_factory", self.conviction_policy_factory)
        if self.timestamp_generator is not None:
            check_callable("timestamp_generator", self.timestamp_generator)
        if not self.executor_threads > 0:
            raise ValueError(f"executor_threads must be 1 or more, but is {self.executor_threads}")
        check_page_size(self.schema_metadata_page_size)
        self.schema_metadata_keyspaces = checked_keyspaces(self.schema_metadata_keyspaces)
        for name, least in TIMES.items():
            check_seconds(name, getattr(self, name), least)
        self._metadata_timeout()  # which checks it

    def _metadata_timeout(self) -> datetime.timedelta | None:
        timeout = self.metadata_request_timeout
        if timeout is None:
            timeout = self.control_connection_timeout
        return as_timedelta("metadata_request_timeout", timeout)

    # -- profiles and types ------------------------------------------------------------------------

    @property
    def uses_profiles(self) -> bool:
        """True if execution profiles were given, or added: old-style settings are refused."""
        return self.config_mode is ConfigMode.PROFILES

    def use_old_style(self) -> None:
        """Note that old-style settings are used: profiles are refused from now on."""
        self.config_mode = ConfigMode.LEGACY

    def profiles_of_sessions(self) -> list[ExecutionProfile]:
        """Return the default profiles of the open sessions, which are copies of the cluster's."""
        return []

    def adopt_policy(self, policy: LoadBalancingPolicy) -> None:
        """Have the engine tell a load balancing policy of the hosts; before `connect`, nothing.

        :param policy: a policy that was set after `connect`.
        """

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
            session._encode_user_type(klass, partial(self._user_types.fields, keyspace, name))

    def _encode_user_types(self, session: SessionBase) -> None:
        for keyspace, types in self._user_types.classes.items():
            for name, klass in types.items():
                session._encode_user_type(klass, partial(self._user_types.fields, keyspace, name))

    # -- listeners ---------------------------------------------------------------------------------

    def register_listener(self, listener: HostStateListener) -> None:
        """Notify `listener` when hosts are added, removed, up or down.

        It may be registered before or after `connect`. It is called on the engine's loop, which it
        must not block.

        :param listener: an object with the methods of `cassandra.policies.HostStateListener`.
        """
        if not any(listener is known for known in self._listeners):
            self._listeners.append(listener)

    def unregister_listener(self, listener: HostStateListener) -> None:
        """Undo `register_listener`.

        :param listener: an object with the methods of `cassandra.policies.HostStateListener`.
        """
        # In place: the engine holds this very list.
        self._listeners[:] = [known for known in self._listeners if known is not listener]

    # -- for the engine ----------------------------------------------------------------------------

    async def _on_connected(self, core: Core) -> None:
        """Connect policies, metrics and user types with the engine; called on its loop."""
        warn_of_fallback()
        self.protocol_version = core.protocol_version
        core.user_types = self._user_types.classes
        await self._user_types.read_fields(core.user_type_fields)
        core.listeners.program = self._listeners
        for policy in self.profile_manager.policies():
            core.policies.populate(policy, self)
        core.listeners.introduce(self.metadata.all_hosts())
        for speculation in self.profile_manager.speculation_policies():
            core.policies.attach(speculation)
        if self.metrics is not None:
            self.metrics.attach(core)
        self._observe(core)

    def report(self) -> ClusterReport:
        """Return how the cluster is, as the driver sees it: text, a dict, or a table in a notebook.

        :returns: a `cassandra.diagnostics.report.ClusterReport`.
        """
        names = import_module("cassandra.client.cluster_settings").ClusterSettings.__annotations__
        # Imported only if it is asked for.
        diagnostics = import_module("cassandra.diagnostics.report")
        made: ClusterReport = diagnostics.report_of(self, ClusterBase, tuple(names))
        return made

    def _settings(self) -> Settings:
        return settings_of(self)


_SSL_OPTIONS: HiddenAttribute[Mapping[str, Any] | None] = vars(ClusterBase)["ssl_options"]

# Settings that the engine reads each time it needs them.
OF_TLS = ("ssl_context", "ssl_options", "ssl_session_cache")

LIVE = frozenset(
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
        "allow_control_connection_query_fallback",
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
