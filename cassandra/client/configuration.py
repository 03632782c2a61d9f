"""`ClusterBase`, the base class of both `Cluster` classes, which checks and stores the settings."""

from __future__ import annotations

import enum
import warnings
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from cassandra._forks import renew_in_child
from cassandra._habits import CLUSTER_SETTINGS, refuse_pickling, stack_level, warn_of_other_setting
from cassandra._impl import implementation
from cassandra._imports import Deferred, at_first_cluster, import_all, import_module
from cassandra._misspelt import check_spelling, class_attribute
from cassandra._threads import Lock
from cassandra.auth import PlainTextAuthProvider
from cassandra.client.contact_points import endpoint_of
from cassandra.client.identity import Identity
from cassandra.client.implementation import warn_of_fallback
from cassandra.client.observing import ObservedByCluster
from cassandra.client.pool_sizes import PoolSizes
from cassandra.client.settings.checks import reject_class
from cassandra.client.settings.names import instead_of
from cassandra.client.settings.old_style import OldStyle
from cassandra.client.settings.setting import ConstructorOnly
from cassandra.client.settings.table import ClusterSettings
from cassandra.client.shard_awareness import ShardAwareness
from cassandra.client.user_types import UserTypes
from cassandra.engine.endpoint import EndPoint
from cassandra.engine.profile import (
    EXEC_PROFILE_DEFAULT,
    ExecutionProfile,
    ProfileManager,
    attached_policies,
)
from cassandra.errors import ConnectionException, ConnectionShutdown
from cassandra.policies.retry import RetryPolicy
from cassandra.versions import ProtocolVersion

if TYPE_CHECKING:
    from typing_extensions import Self

    from cassandra import metrics as metrics_of_cluster
    from cassandra.client import cloud as cloud_bundle, routes
    from cassandra.client.cloud import Cloud
    from cassandra.client.session import SessionBase
    from cassandra.client.settings.for_engine import settings_of
    from cassandra.client.settings.tls import tls_of
    from cassandra.codecs.registry import CodecRegistry
    from cassandra.diagnostics import report as diagnostics
    from cassandra.diagnostics.report import ClusterReport
    from cassandra.engine import core as engine
    from cassandra.engine.control import client_routes as route_endpoints
    from cassandra.engine.control.client_routes import ClientRoutes
    from cassandra.engine.core import Core
    from cassandra.engine.profile import AttachedPolicy
    from cassandra.engine.settings import Settings
    from cassandra.engine.tls import TlsClient
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metrics import Metrics
    from cassandra.policies.balancing import HostStateListener, LoadBalancingPolicy
else:
    at_first_cluster(
        __name__,
        CodecRegistry="cassandra.codecs.registry",
        Metadata="cassandra.metadata.cluster_metadata",
        settings_of="cassandra.client.settings.for_engine",
        tls_of="cassandra.client.settings.tls",
    )
    # Each of these modules is imported when it is first used: most applications need only the
    # engine.
    cloud_bundle = Deferred("cassandra.client.cloud")
    diagnostics = Deferred("cassandra.diagnostics.report")
    engine = Deferred("cassandra.engine.core")
    metrics_of_cluster = Deferred("cassandra.metrics")
    route_endpoints = Deferred("cassandra.engine.control.client_routes")
    routes = Deferred("cassandra.client.routes")


# The public attributes that the constructors of clusters set, besides settings.
_OWN_ATTRIBUTES = frozenset(
    {"config_mode", "endpoints_resolved", "is_shutdown", "metadata", "sessions"}
)
# Names of profiles (in lower case) that users probably mistake for EXEC_PROFILE_DEFAULT.
_NAMES_LIKE_DEFAULT = frozenset({"default", "exec_profile_default"})

# Held while listeners are added or removed, so that no change is lost if two threads do that at the
# same time.
_changing = Lock()


@renew_in_child
def _renew_lock() -> None:
    """Replace the lock in a forked child, where the thread that held it does not exist."""
    global _changing
    _changing = Lock()


def _warn_of_names_like_default(names: Iterable[object]) -> None:
    """Warn if execution profiles have names that were probably meant as EXEC_PROFILE_DEFAULT."""
    for name in names:
        if isinstance(name, str) and name.lower() in _NAMES_LIKE_DEFAULT:
            warnings.warn(
                f"the execution profile {name!r} serves only calls with execution_profile="
                f"{name!r}: write execution_profiles={{EXEC_PROFILE_DEFAULT: profile}} for "
                "all calls without one",
                RuntimeWarning,
                stacklevel=stack_level(),
            )


def engine_core() -> type[Core]:
    """Import everything that a cluster needs, and return the class `Core`.

    The imports are delayed until the first cluster is created, so that applications without a
    cluster import less. They run in the caller's thread, so that the engine need not import
    anything later.
    """
    core = engine.Core
    import_all()
    # The executor that runs blocking calls in threads needs this module. Importing the module
    # raises RuntimeError while the interpreter shuts down. Ignore that error, because a thread that
    # still runs can use a cluster without this executor.
    with suppress(RuntimeError):
        import_module("concurrent.futures.thread")
    return core


class ConfigMode(enum.Enum):
    """Whether a cluster uses old-style settings (LEGACY) or execution profiles (PROFILES).

    A cluster cannot use both. It is UNCOMMITTED until the application uses one of them.
    """

    UNCOMMITTED = 0
    LEGACY = 1
    PROFILES = 2


class ClusterBase(PoolSizes, ShardAwareness, Identity, ObservedByCluster, ClusterSettings):
    """The part of both `Cluster` classes that checks and stores the settings.

    :raises TypeError: if a setting is unknown, or has a wrong type.
    :raises ValueError: if a value is out of range, or two settings exclude each other.
    :raises UnsupportedOperation: if this driver does not support the protocol version.
    :raises NotImplementedError: if a setting requires something that this driver does not have.
    :raises OSError: if a file that a setting names cannot be read.
    """

    metrics: Metrics | None = None
    """The cluster's `cassandra.metrics.Metrics`; None if metrics are not enabled."""

    _live: dict[str, Any]
    """The settings that may change after `connect`, by name; the engine reads them each time."""

    _cloud: Cloud | None = None
    _client_routes: ClientRoutes | None = None
    _core: Core | None = None
    # The constructor sets these. Mocks with ``spec=`` have only attributes of the class.
    is_shutdown: bool = False
    metadata: Metadata = None  # type: ignore[assignment]

    def _configure(self, settings: dict[str, Any]) -> None:
        """Store the settings. The constructor calls this.

        :param settings: the settings of the application, by name. Values that may hold secrets are
            wrapped in `Secret`.
        """
        for name in settings:
            if name not in self._table:
                raise TypeError(f"Cluster has no setting {name!r}{instead_of(name, self._table)}")
        # For some settings, None means the default value: treat None as if it were not passed.
        for name in [name for name, value in settings.items() if value is None]:
            if self._table[name].none_is_default:
                del settings[name]
        # Import the engine's modules now, in the caller's thread.
        engine_core()
        # `_live` holds the settings that the engine reads each time it needs them. Create the dict
        # first, because setting such an attribute also stores the value here.
        self._live = {}
        self.metadata = Metadata()
        self._codecs = CodecRegistry(metadata=self.metadata)
        # Treat an empty mapping like None: a default profile is then created.
        profiles = settings.pop("execution_profiles", None) or None
        for name, setting in self._table.items():
            if name in settings:
                setattr(self, name, settings[name])
            elif not isinstance(setting, ConstructorOnly):
                setting.take_default(self)
        # If the constructor gets a protocol version, the driver tries only that version. If the
        # attribute is set later, that version is only the first to try.
        self._has_named_version = "protocol_version" in settings
        self._user_types = UserTypes(self.metadata)
        self._listeners: list[HostStateListener] = []
        # All sessions of the cluster that still exist, by `id(session)`, including copies that
        # `copy.copy(session)` has created.
        self._sessions_by_id: weakref.WeakValueDictionary[int, SessionBase] = (
            weakref.WeakValueDictionary()
        )
        self._profile_manager = ProfileManager()
        self.config_mode = self._choose_config_mode(profiles)
        self._check()
        has_contact_points = "contact_points" in settings
        self._open_bundle(has_contact_points)
        self._use_client_routes(has_contact_points)
        # Create the missing defaults only now. The bundle and the routes have set an end point
        # factory above, which a default must not replace.
        for setting in self._table.values():
            setting.make_default(self)
        self._make_tls()
        self._set_pool_sizes(self.connections_per_host)
        self._make_profiles(profiles)
        if self.metrics_enabled:
            # Pass a weak proxy, so that the metrics do not keep a dropped cluster alive.
            self.metrics = metrics_of_cluster.Metrics(weakref.proxy(self))
        assert self.endpoint_factory is not None
        # Pass a weak proxy, because the engine refers to the factory: a real reference would keep a
        # Cluster alive that the application has dropped.
        self.endpoint_factory.configure(weakref.proxy(self))
        self._named_endpoints: list[EndPoint] = []
        if self._cloud is None:
            self._named_endpoints = [endpoint_of(point, self.port) for point in self.contact_points]
        self.endpoints_resolved: list[EndPoint] = self._resolve(self._named_endpoints)
        self._begin()

    def _begin(self) -> None:
        """Create the attributes that only the blocking or only the asyncio API needs.

        Called at the end of `_configure`.
        """

    def __repr__(self) -> str:
        # If the constructor has failed, attributes may be missing. A debugger may show such an
        # object.
        attributes = vars(self)
        points = ", ".join(map(str, attributes.get("endpoints_resolved", ("not made",))))
        if attributes.get("is_shutdown"):
            state = "shut down"
        else:
            state = "connected" if self._core is not None else "not connected"
        modules = "compiled" if implementation == "c" else "pure Python"
        return f"<Cluster: {points}, {state}, {modules}>"

    def __copy__(self) -> Self:
        cluster = type(self).__new__(type(self))
        cluster.__setstate__(vars(self))
        return cluster

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        refuse_pickling(
            self,
            "its connections belong to this process. Make a Cluster of the same settings in each "
            "process, for example in the initializer of its pool",
        )
        return super().__reduce_ex__(protocol)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        # Copy the mapping, so that changes of the copy's settings do not affect the engine of the
        # original.
        self._live = dict(self._live)

    def _resolve(self, endpoints: list[EndPoint]) -> list[EndPoint]:
        """Return `endpoints` with resolved host names.

        The asyncio API does not resolve host names in the constructor, so it returns them
        unchanged.
        """
        return endpoints

    def __setattr__(self, name: str, value: object) -> None:
        """Set a setting, or any attribute that the application adds.

        :raises AttributeError: if the name looks like a misspelt setting. For a user's subclass, a
            warning is logged instead.
        """
        setting = self._table.get(name)
        if setting is None:
            # Check only the names that the application has chosen.
            if name not in _OWN_ATTRIBUTES and not name.startswith("_"):
                check_spelling(self, name, self._table)
                warn_of_other_setting(self, name, frozenset(), CLUSTER_SETTINGS)
        elif not hasattr(type(class_attribute(type(self), name)), "__set__"):
            # A user's subclass has a class attribute of this name, which hides the setting's
            # descriptor (the object that checks and stores the value). So call the descriptor here.
            setting.__set__(self, setting.hidden(value))
            return
        else:
            # Wrap secrets first, because tracebacks of errors below may show local variables.
            value = setting.hidden(value)
        super().__setattr__(name, value)
        if (
            setting is not None
            and self._core is not None
            and not (setting.may_change or isinstance(setting, OldStyle))
        ):
            level = stack_level()
            if level == 2:  # the application has set the attribute, not the driver itself
                warnings.warn(
                    f"Cluster.{name} has no effect after connect: set it before, "
                    "or give it to the constructor",
                    RuntimeWarning,
                    stacklevel=level,
                )

    def _follow_tls(self) -> None:
        """Use changed TLS settings for the connections that are opened from now on."""
        # While the constructor runs, do nothing: it calls `_make_tls` when all settings are set.
        if "tls" in vars(self).get("_live", ()):
            self._make_tls()
            self._follow_access()

    def _follow_access(self) -> None:
        """Try hosts again that rejected the old credentials or TLS settings.

        Called when credentials or TLS settings were changed.
        """
        core = self._core
        if core is not None:
            with suppress(RuntimeError):  # the loop is closed
                core.loop.call_soon_threadsafe(core.on_access_changed)

    def _open_bundle(self, has_contact_points: bool) -> None:
        """Read the secure connect bundle of the setting `cloud`.

        The bundle's TLS context, credentials and end point factory become settings of the cluster.
        """
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
        self._cloud = cloud_bundle.cloud_of(self.cloud, self.ssl_context)
        self.ssl_context = self._cloud.context
        self.endpoint_factory = self._cloud.factory
        if self.auth_provider is None and self._cloud.credentials is not None:
            # The password is a `Secret`, which the provider accepts.
            credentials: Any = self._cloud.credentials
            self.auth_provider = PlainTextAuthProvider(*credentials)

    def _use_client_routes(self, has_contact_points: bool) -> None:
        """If `client_routes_config` is set, reach nodes by its routes."""
        config = self.client_routes_config
        if config is None:
            return
        self._client_routes = routes.routes_of(config, self.endpoint_factory is not None)
        self.endpoint_factory = route_endpoints.ClientRoutesEndPointFactory(self._client_routes)
        if not has_contact_points:
            self.contact_points = routes.contact_points_of(config) or self.contact_points

    def _make_tls(self) -> None:
        # The constructor also calls this method, so it raises an error for a wrong option or a
        # missing file.
        tls = tls_of(self)
        if self._client_routes is not None:
            routes.check_names(tls)
        earlier: TlsClient | None = self._live.get("tls")
        if earlier is not None:
            # A TLS session keeps what client and server have verified with the earlier settings. So
            # end the cached TLS sessions, so that no connection with the new settings resumes one.
            # Do this even if the context is the same object, because we cannot see whether the
            # application has changed the object.
            earlier.end_sessions()
        self._live["tls"] = tls

    # -- checks ------------------------------------------------------------------------------------

    def _choose_config_mode(self, profiles: Mapping[Any, ExecutionProfile] | None) -> ConfigMode:
        """Return the mode that follows from the constructor's settings.

        :raises ValueError: if old-style settings and execution profiles are passed together.
        """
        # These two settings are old-style: new applications set the policies in an execution
        # profile.
        old_style_names = []
        for name in ("load_balancing_policy", "default_retry_policy"):
            if getattr(self, name) is not None:
                reject_class(name, getattr(self, name))
                old_style_names.append(name)
        # Old-style settings together with profiles are an error, because the default profile would
        # replace the policies of the old-style settings.
        if profiles is not None and old_style_names:
            raise ValueError(
                f"execution_profiles cannot be used together with {' and '.join(old_style_names)}: "
                "put the policies into the profiles"
            )
        if profiles is not None:
            return ConfigMode.PROFILES
        return ConfigMode.LEGACY if old_style_names else ConfigMode.UNCOMMITTED

    def _make_profiles(self, profiles: Mapping[Any, ExecutionProfile] | None) -> None:
        """Check and store the execution profiles, and add a default profile if there is none."""
        if profiles is not None and not isinstance(profiles, Mapping):
            raise TypeError(
                "execution_profiles must be a mapping of names to profiles, but is of type "
                f"{type(profiles).__name__}: write {{EXEC_PROFILE_DEFAULT: profile}}"
            )
        all_profiles = dict(profiles or {})
        for name, profile in all_profiles.items():
            if not isinstance(profile, ExecutionProfile):
                raise TypeError(
                    f"execution_profiles[{name!r}] is not an ExecutionProfile, but {profile!r}"
                    + (": write ExecutionProfile(**settings)" if isinstance(profile, dict) else "")
                )
        # Without a default profile, create one from the old-style settings.
        if EXEC_PROFILE_DEFAULT not in all_profiles:
            _warn_of_names_like_default(all_profiles)
            all_profiles = {
                EXEC_PROFILE_DEFAULT: ExecutionProfile(
                    load_balancing_policy=self.load_balancing_policy,
                    retry_policy=self.default_retry_policy or RetryPolicy(),
                ),
                **all_profiles,
            }
        self.profile_manager.profiles.update(all_profiles)
        # Raise an error now if a policy cannot work in this environment.
        for policy in self.profile_manager.policies():
            policy.check_supported()
        # Use weak references to the cluster, so that the profile manager does not keep it alive.
        manager = self.profile_manager
        manager.on_new_profiles = partial(_call_if_open, weakref.WeakMethod(self._adopt_profiles))
        manager.on_policy_change = partial(
            _call_if_open, weakref.WeakMethod(self._adopt_new_policies)
        )

    def _check(self) -> None:
        if self._has_named_version:
            ProtocolVersion.check_supported(self.protocol_version, self.allow_beta_protocol_version)
        self._check_loops()
        self._check_identity()

    def _check_loops(self) -> None:
        """Raise ValueError if the cluster cannot have as many event loops as `loops` says."""
        if self.loops > 1 and self.request_throttler is not None:
            raise ValueError(
                f"loops={self.loops} cannot be used together with request_throttler, which admits "
                "the requests of one event loop: leave one of them out"
            )

    # -- profiles and types ------------------------------------------------------------------------

    @property
    def profile_manager(self) -> ProfileManager:
        """The execution profiles by name, in its attribute `profiles`.

        :raises AttributeError: if this property is set. Set ``profile_manager.profiles`` or one of
            its items.
        """
        return self._profile_manager

    @profile_manager.setter
    def profile_manager(self, manager: object) -> NoReturn:
        # Reject this, because the cluster and its sessions are notified only of changes in the
        # profile manager that the constructor has created.
        raise AttributeError(
            "profile_manager cannot be replaced: set profile_manager.profiles, or use "
            "add_execution_profile(name, profile)"
        )

    @property
    def codecs(self) -> CodecRegistry:
        """The converters of all sessions of this cluster. Guide: :doc:`/guides/codecs`.

        .. versionadded:: 4.0
        """
        return self._codecs

    @property
    def _uses_profiles(self) -> bool:
        """True if the application has passed or added execution profiles.

        If so, old-style settings raise an error.
        """
        return self.config_mode is ConfigMode.PROFILES

    def _use_old_style(self) -> None:
        """Remember that the application uses old-style settings, which forbids adding profiles."""
        self.config_mode = ConfigMode.LEGACY

    def _default_of_profiles(self, name: str) -> Any:
        """Return the default value of a setting of `ExecutionProfile`."""
        return getattr(ExecutionProfile(), name)

    def _profiles_of_sessions(self) -> list[ExecutionProfile]:
        """Return the default profiles of the sessions.

        If old-style settings of a session were changed, its default profile is a copy of the
        cluster's.
        """
        return [session._default_profile for session in self._all_sessions()]

    def _all_sessions(self) -> list[SessionBase]:
        """Return the sessions (and copies of sessions) that were not garbage collected."""
        # `valuerefs` copies the references in one step, because other threads may add sessions.
        sessions = [reference() for reference in self._sessions_by_id.valuerefs()]
        return [session for session in sessions if session is not None]

    def _adopt_new_policies(self, profile: ExecutionProfile) -> None:
        """Use the policies of a profile that the application has changed, if the profile is in use.

        The policies of profiles that were not added to the cluster are adopted when the profile is
        passed to a call again.
        """
        profiles = [*self.profile_manager.profiles.values(), *self._profiles_of_sessions()]
        if any(profile is other for other in profiles):
            self._adopt_profiles((profile,))

    def _adopt_profiles(self, profiles: Iterable[ExecutionProfile]) -> None:
        """Use the profiles that the application has put into `profile_manager.profiles`."""
        for profile in profiles:
            if isinstance(profile, ExecutionProfile):
                self._adopt_policy(profile.load_balancing_policy)
                self._attach_policies(profile)
        # The sessions must not use the profiles before this point, because the policies must know
        # the hosts before they make query plans.
        for session in self._all_sessions():
            session._follow_default()

    def _adopt_policy(self, policy: LoadBalancingPolicy) -> None:
        """Let the engine notify a load balancing policy about hosts.

        Before `connect` this does nothing, because `connect` does it for all policies.

        :param policy: a policy that was set after `connect`.
        """

    def _adopt_profile(self, profile: ExecutionProfile) -> None:
        """Initialize the policies of a profile that was passed to a call, not to the cluster."""
        # `add_unnamed` returns None if all policies of the profile are in use already. Such
        # policies need no initialization.
        new_profile = self.profile_manager.add_unnamed(
            profile, partial(_forget_policy, weakref.ref(self))
        )
        if new_profile is not None:
            new_profile.policy.check_supported()
            self._adopt_policy(new_profile.policy)
            self._attach_policies(profile)
            new_profile.is_ready = True

    def _add_profile(self, name: Hashable, profile: ExecutionProfile) -> LoadBalancingPolicy | None:
        """Add an execution profile under a name.

        :returns: the profile's load balancing policy if the caller must initialize it, because no
            other profile uses it; otherwise None.
        """
        if not isinstance(profile, ExecutionProfile):
            raise TypeError(_not_a_profile(profile))
        if self.config_mode is ConfigMode.LEGACY:
            raise ValueError("execution profiles cannot be added if old-style settings are used")
        if name in self.profile_manager.profiles:
            raise ValueError(f"there is an execution profile {name!r} already")
        self.config_mode = ConfigMode.PROFILES
        policy = profile.load_balancing_policy
        # Look for the policy before the profile is added. Afterwards, `policies` would contain it
        # because of this profile.
        is_initialized = any(policy is other for other in self.profile_manager.policies())
        if not is_initialized:
            policy.check_supported()
        self.profile_manager.add(name, profile)
        self._attach_policies(profile)
        return None if is_initialized else policy

    def _attach_policies(self, profile: ExecutionProfile) -> None:
        """Pass the engine to the speculative execution and retry policies of a profile.

        Only policies with a method `attach` get the engine.
        """
        for policy in attached_policies(profile):
            self._attach_policy(policy)

    def _attach_policy(self, policy: AttachedPolicy) -> None:
        """Pass the engine to a policy that was added after `connect`.

        Before `connect` this does nothing, because `connect` does it for all policies.

        :param policy: a policy with a method `attach`.
        """

    def _add_user_type(self, keyspace: str, name: str, klass: type[Any]) -> None:
        """Register a class for a user-defined type, for rows and for literals of all sessions.

        :raises TypeError: if `klass` is not callable, so that it cannot create instances.
        """
        if not callable(klass):
            raise TypeError(
                f"the class for {keyspace}.{name} must be a class, but is {klass!r} of type "
                f"{type(klass).__name__}: write "
                + (
                    "the class itself, without quotes"
                    if isinstance(klass, str)
                    else f"{type(klass).__name__}, without brackets"
                )
            )
        # Let the engine decode values to instances of the class, and let the sessions encode
        # instances as literals.
        self._user_types.add(keyspace, name, klass, self._core)
        # A session that another thread is creating is one of these sessions, or it will see the
        # class in `_encode_user_types`.
        for session in self._all_sessions():
            session._encode_user_type(klass, partial(self._user_types.fields, keyspace, name))

    def _encode_user_types(self, session: SessionBase) -> None:
        """Let a new session encode instances of the classes that were registered before."""
        for keyspace, types in self._user_types.classes.items():
            for name, klass in types.items():
                session._encode_user_type(klass, partial(self._user_types.fields, keyspace, name))

    # -- listeners ---------------------------------------------------------------------------------

    def register_listener(self, listener: HostStateListener) -> None:
        """Notify `listener` when hosts are added, removed, up or down.

        You may register a listener before or after `connect`. Listeners of the blocking API are
        called in a thread of their own, in the order of the events, and may execute statements.
        Listeners of `cassandra.aio` are called on the event loop, and must not block.

        :param listener: an object with the methods of `cassandra.policies.HostStateListener`.
        :raises TypeError: if it has none of these methods.
        """
        if not any(hasattr(listener, name) for name in ("on_up", "on_down", "on_add", "on_remove")):
            raise TypeError(
                f"listener must have the methods on_up, on_down, on_add and on_remove, but is "
                f"{listener!r}: write a subclass of cassandra.policies.HostStateListener"
            )
        with _changing:
            if not any(listener is other for other in self._listeners):
                self._listeners.append(listener)

    def unregister_listener(self, listener: HostStateListener) -> None:
        """Undo `register_listener`.

        :param listener: an object with the methods of `cassandra.policies.HostStateListener`.
        """
        # Change the list in place, because the engine refers to this list object.
        with _changing:
            self._listeners[:] = [other for other in self._listeners if other is not listener]

    # -- reading of metadata -----------------------------------------------------------------------

    def _follow_tokens(self) -> None:
        metadata: Metadata | None = vars(self).get("metadata")
        # If a subclass sets `token_metadata_enabled` before it calls the constructor, `metadata`
        # does not exist yet.
        if metadata is not None:
            metadata.token_metadata_enabled = self.token_metadata_enabled

    def set_meta_refresh_enabled(self, enabled: bool) -> None:
        """Disable or enable reading all metadata: the schema, and the node list after events.

        In new applications, use `schema_metadata_enabled` and `token_metadata_enabled`.

        :param enabled: False to stop reading, True to read from now on.
        """
        if self._core is None:
            raise ConnectionException("the cluster is not connected")
        self._core.schema.enabled = bool(enabled)

    # -- for the engine ----------------------------------------------------------------------------

    async def _on_connected(self, core: Core) -> None:
        """Called on the engine's loop: connect policies, metrics and user types with the engine."""
        warn_of_fallback()
        # Follow later changes of the protocol version, for example if the servers are downgraded.
        # Use a weak reference, so that the engine does not keep a cluster alive that the
        # application drops.
        core.connector.on_version = partial(_call_if_open, weakref.WeakMethod(self._on_version))
        self._on_version(core.protocol_version)
        self._user_types.pass_to(core)
        # This raises UserTypeDoesNotExist if a registered type does not exist.
        await self._user_types.read_fields(core.user_type_fields)
        # Connect listeners and policies before the first request, and report the existing hosts.
        core.listeners.user_listeners = self._listeners
        core.policies.populate_all(self.profile_manager.policies(), self)
        core.listeners.introduce(self.metadata.all_hosts())
        for attached in self.profile_manager.attached_policies():
            core.policies.attach_once(attached)
        if self.metrics is not None:
            self.metrics.attach(core)
        self._observe(core)
        await core.listeners.introduced()

    def _on_version(self, version: int) -> None:
        """Called when connections use another protocol version from now on."""
        self.protocol_version = version

    def report(self) -> ClusterReport:
        """Return a report of the cluster's state, for use as text, dict or notebook table.

        :returns: a `cassandra.diagnostics.report.ClusterReport`.
        """
        return diagnostics.report_of(self, self._table)

    def _settings(self) -> Settings:
        return settings_of(self)


def _not_a_profile(value: object) -> str:
    """Return the error message for an object that is not an `ExecutionProfile`."""
    advice = ": write ExecutionProfile(**settings)" if isinstance(value, Mapping) else ""
    return f"profile must be an ExecutionProfile, but is {value!r}{advice}"


def _call_if_open(method: weakref.WeakMethod[Callable[[Any], None]], argument: object) -> None:
    """Call a method of a cluster, unless the cluster is shut down or was garbage collected."""
    bound_method: Any = method()
    # Do nothing if the cluster is shut down, or if it is used in a forked child: it has no engine
    # then, which the policies would need.
    if bound_method is not None and not getattr(bound_method.__self__, "is_shutdown", False):
        with suppress(ConnectionShutdown):  # another thread is shutting the cluster down
            bound_method(argument)


def _forget_policy(
    cluster_ref: weakref.ref[ClusterBase], policy: LoadBalancingPolicy | AttachedPolicy
) -> None:
    """Let the engine stop notifying `policy`. May be called from any thread."""
    cluster = cluster_ref()
    core = cluster._core if cluster is not None else None
    if core is not None:
        with suppress(RuntimeError):  # the loop is closed
            core.loop.call_soon_threadsafe(core.policies.forget, policy)
