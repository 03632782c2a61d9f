"""`SessionBase`, the base class of both APIs' sessions: settings, profiles, listeners, pools."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, TypeVar

from cassandra._habits import SESSION_SETTINGS, refuse_pickling, stack_level, warn_of_other_setting
from cassandra._imports import at_first_cluster, import_all
from cassandra._lazy import LazyAttribute
from cassandra._misspelt import check_spelling, is_of_driver
from cassandra.client.checks import check_vector_type
from cassandra.client.configuration import ClusterBase, ConfigMode
from cassandra.client.observing import ObservedBySession
from cassandra.client.requests import RequestMaker
from cassandra.client.settings.checks import function
from cassandra.consistency import checked_serial
from cassandra.engine.call_options import CallOptions
from cassandra.engine.profile import (
    EXEC_PROFILE_DEFAULT,
    ExecutionProfile,
    checked_row_factory,
    checked_timeout,
)
from cassandra.query.recently_used import RecentlyUsed
from cassandra.query.settings import DEFAULT_FETCH_SIZE

if TYPE_CHECKING:
    from typing_extensions import Self

    from cassandra.client.batches import BATCH_WARNING_INTERVAL
    from cassandra.client.messages import message_of
    from cassandra.codecs.literals import UserTypeLiteral
    from cassandra.codecs.registry import CodecRegistry
    from cassandra.encoder import Encoder
    from cassandra.engine.happy_path import HappyPath
    from cassandra.engine.pools.pool import HostPool
    from cassandra.engine.prepare.statements import PreparedTexts
    from cassandra.engine.request import Request
    from cassandra.engine.request_bodies import MessageBody
    from cassandra.engine.session import EngineSession
    from cassandra.metadata.host import Host
    from cassandra.protocol.handler import called_handler
    from cassandra.util.intervals import OncePerInterval
else:
    at_first_cluster(
        __name__,
        BATCH_WARNING_INTERVAL="cassandra.client.batches",
        CodecRegistry="cassandra.codecs.registry",
        Encoder="cassandra.encoder",
        MessageBody="cassandra.engine.request_bodies",
        OncePerInterval="cassandra.util.intervals",
        UserTypeLiteral="cassandra.codecs.literals",
        called_handler="cassandra.protocol.handler",
        message_of="cassandra.client.messages",
    )

_Value = TypeVar("_Value")

# The public attributes that the constructors of sessions set, besides settings.
_OWN_ATTRIBUTES = frozenset({"cluster", "hosts", "is_shutdown", "loop_ident"})

# The number of CQL strings with bind markers whose prepared statements a session caches.
PREPARED_TEXTS = 1000


class _Lease:
    """An object that only a session and its copies refer to.

    When the session and all its copies are garbage collected, the lease is garbage collected, too.
    Its finalizer then closes the engine's part of the session, an `EngineSession`.
    """

    __slots__ = ("__weakref__",)


def _on_dropped(reference: weakref.ref[EngineSession], process: int) -> None:
    """Close the engine's part of a session soon, because the application has dropped the session.

    Called in any thread when the `_Lease` of the session was garbage collected.

    :param reference: refers to the engine's part of the session, an `EngineSession`.
    :param process: the id of the process that has opened the session. A forked child must not close
        the session, because the connections and the loop belong to the parent.
    """
    engine = reference()
    if engine is not None and not engine.closed and os.getpid() == process:
        with suppress(RuntimeError):  # the loop is closed
            engine.loop.call_soon_threadsafe(engine.on_dropped)


class SessionBase(RequestMaker, ObservedBySession):
    """The settings of a session. The subclasses of the two APIs define how to execute statements.

    :param cluster: the cluster of the session.
    :param engine_session: the engine's part of the session.
    """

    default_fetch_size: int | None = DEFAULT_FETCH_SIZE
    """Rows per page; None disables paging."""

    _default_vector_type: str = "list"

    @property
    def default_vector_type(self) -> str:
        """The Python type for vectors of numbers in rows: "list", "array" (array.array) or "numpy".

        Setting another value raises ValueError. Setting "numpy" raises DependencyException if NumPy
        is not installed.
        """
        return self._default_vector_type

    @default_vector_type.setter
    def default_vector_type(self, form: str) -> None:
        check_vector_type("Session.default_vector_type", form)
        self._default_vector_type = form

    use_client_timestamp: bool = True
    """True sends a timestamp from `timestamp_generator` with each request."""

    max_trace_wait: float | None = 2.0
    """Seconds to wait until the servers have written a trace; None for no limit.

    A call may have its own limit.
    """

    batch_size_warn_threshold: int | None = 40 * 1024
    """The size in bytes from which on the driver warns about a large batch, at most once a minute.

    None disables the warning. Servers reject batches larger than their
    ``batch_size_fail_threshold`` (50 KiB by default), unless all changes are in one partition.
    Above their ``batch_size_warn_threshold`` of 5 KiB, they send a warning themselves.
    """

    client_protocol_handler: Any = LazyAttribute(
        "cassandra.protocol.handler", name="ProtocolHandler", for_engine=True
    )
    """The class that encodes and decodes messages: `ProtocolHandler`, or a subclass."""

    _path: HappyPath

    encoder: Encoder = None  # type: ignore[assignment]
    """Converts values to CQL literals, for ``%s`` in strings."""

    timestamp_generator: Callable[[], int] | None = None
    """Returns the timestamps of requests, in microseconds; None leaves timestamps to the servers.

    The default is the cluster's generator.
    """

    _has_own_profile: bool = False
    """True if the session has its own copy of the default profile, for old-style settings."""

    _setting_names: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        # Each class needs its own names, because the sessions of the two APIs have different
        # settings.
        cls._setting_names = _setting_names(cls)

    def __setattr__(self, name: str, value: object) -> None:
        """Set a setting, or any attribute that the application adds.

        :raises AttributeError: if the name looks like a misspelt setting. For a user's subclass, a
            warning is logged instead.
        :raises TypeError: if a value has a wrong type.
        :raises ValueError: if a value is out of range.
        """
        # Check only the names that the application has chosen.
        if (
            name not in self._setting_names
            and name not in _OWN_ATTRIBUTES
            and not name.startswith("_")
        ):
            check_spelling(self, name, self._setting_names)
            warn_of_other_setting(self, name, frozenset(ClusterBase._table), SESSION_SETTINGS)
        if name in _CHECKS:
            value = _CHECKS[name](name, value)
        if name == "timestamp_generator":
            self._engine.core.keep_time(value)
        super().__setattr__(name, value)
        if name == "encoder":
            # Registered codecs must also apply to literals: let the registry set up the new
            # encoder.
            self._codecs.serve(self.encoder)

    def __init__(self, cluster: ClusterBase, engine_session: EngineSession) -> None:
        # Creating the first cluster runs the delayed imports. But with lazy imports (PEP 810), the
        # module of the session's class may be imported after that. So run the delayed imports of
        # that module here.
        import_all()
        self.cluster = cluster
        self._engine = engine_session
        self._lease = _Lease()
        # Refer weakly to the engine's part of the session: otherwise the finalizer would keep it
        # alive after the session was closed.
        finalizer = weakref.finalize(
            self._lease, _on_dropped, weakref.ref(engine_session), os.getpid()
        )
        finalizer.atexit = False  # at exit, the cluster closes its sessions anyway
        self._codecs = engine_session.codecs = CodecRegistry(cluster.codecs)
        # The schema has been read by now. So check that the types and columns exist for which
        # codecs were registered by name.
        cluster.codecs.check_names()
        self.encoder = Encoder()
        self.timestamp_generator = cluster.timestamp_generator
        # The options of all calls that pass no options.
        self._default_options = CallOptions(cluster.profile_manager.default)
        cluster._sessions_by_id[id(self)] = self
        # Read the default profile again, because the application may have replaced it just before
        # the cluster knew this session.
        self._follow_default()
        self._prepared_texts: PreparedTexts = RecentlyUsed(PREPARED_TEXTS)
        self._batch_warnings = OncePerInterval(BATCH_WARNING_INTERVAL)
        self._request_init_listeners: list[
            tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
        ] = []
        handler = called_handler(self.client_protocol_handler)
        if handler is not self.client_protocol_handler:
            self.client_protocol_handler = handler

    def __copy__(self) -> Self:
        duplicate = type(self).__new__(type(self))
        vars(duplicate).update(vars(self))
        # Give the copy its own options: changing a setting of one of the two sessions must not
        # affect the other session.
        profile = self._default_profile
        duplicate._default_options = CallOptions(
            profile.clone() if self._has_own_profile else profile
        )
        # Create a new `HappyPath` (the shortcut for common statements), because the original's
        # `HappyPath` uses the original's options.
        duplicate._path = duplicate._new_path()
        self.cluster._sessions_by_id[id(duplicate)] = duplicate
        duplicate._follow_default()
        return duplicate

    def _new_path(self) -> HappyPath:
        """Create the object that executes the most common statements of this session."""
        raise NotImplementedError

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        refuse_pickling(
            self,
            "its connections belong to this process. Threads may share it. Other processes connect "
            "themselves, for example in the initializer of their pool",
        )
        return super().__reduce_ex__(protocol)

    @property
    def codecs(self) -> CodecRegistry:
        """The converters of this session, in addition to the converters of `Cluster.codecs`.

        Guide: :doc:`/guides/codecs`.

        .. versionadded:: 4.0
        """
        return self._codecs

    @property
    def _default_profile(self) -> ExecutionProfile:
        return self._default_options.profile

    def _follow_default(self) -> None:
        """Use the cluster's default profile, unless old-style settings were set on this session."""
        if not self._has_own_profile:
            default = self.cluster.profile_manager.profiles.get(EXEC_PROFILE_DEFAULT)
            if default is not None:
                self._default_options.profile = default

    # -- old-style settings ------------------------------------------------------------------------

    def _set_default(self, name: str, setting: str, value: object) -> None:
        """Set an old-style setting of this session, by changing the session's default profile.

        :param setting: the name of the profile's setting.
        """
        if self.cluster.config_mode is ConfigMode.PROFILES:
            raise ValueError(
                f"Session.{name} cannot be set if execution profiles are used: "
                f"set {setting} of a profile, for one execution by execution_profile="
            )
        # From now on, adding a profile raises an error, because profiles and old-style settings
        # would contradict each other.
        self.cluster.config_mode = ConfigMode.LEGACY
        profile = self._default_profile
        if not self._has_own_profile:
            # The setting must affect only this session, so the session needs its own copy of the
            # profile.
            profile = profile.clone()
        setattr(profile, setting, value)
        # Store the copy only after `setattr`, so that a rejected value changes nothing.
        self._has_own_profile = True
        self._default_options.profile = profile

    @property
    def row_factory(self) -> Callable[..., Any]:
        """Creates the rows of results; called as ``row_factory(column_names, rows)``."""
        return self._default_profile.row_factory

    @row_factory.setter
    def row_factory(self, row_factory: Callable[..., Any]) -> None:
        self._set_default("row_factory", "row_factory", row_factory)

    @property
    def default_timeout(self) -> float | None:
        """Seconds for a request, including its retries; None for no limit."""
        return self._default_profile.request_timeout

    @default_timeout.setter
    def default_timeout(self, timeout: float | None) -> None:
        self._set_default("default_timeout", "request_timeout", timeout)

    @property
    def default_consistency_level(self) -> int:
        """The consistency level of statements that do not specify a consistency level."""
        return self._default_profile.consistency_level

    @default_consistency_level.setter
    def default_consistency_level(self, level: int) -> None:
        self._set_default("default_consistency_level", "consistency_level", level)

    @property
    def default_serial_consistency_level(self) -> int | None:
        """The serial consistency level of statements without one; None for the server's."""
        return self._default_profile.serial_consistency_level

    @default_serial_consistency_level.setter
    def default_serial_consistency_level(self, level: int | None) -> None:
        self._set_default("default_serial_consistency_level", "serial_consistency_level", level)

    # -- profiles ----------------------------------------------------------------------------------

    def get_execution_profile(self, name: ExecutionProfile | str) -> ExecutionProfile:
        """Return the execution profile with a name. A profile is returned unchanged.

        :param name: the profile's name, or a profile.
        :raises ValueError: if there is no profile with this name.
        :raises TypeError: if `name` is the class `ExecutionProfile` itself.
        """
        if isinstance(name, ExecutionProfile):
            self.cluster._adopt_profile(name)
            return name
        # The session may have its own copy of the default profile, with old-style settings.
        if name is EXEC_PROFILE_DEFAULT:
            return self._default_profile
        try:
            return self.cluster.profile_manager.profiles[name]
        except KeyError:
            key: Any = name
            if key is ExecutionProfile:
                raise TypeError(
                    "a profile must be an instance or a name, but is the class ExecutionProfile: "
                    "write ExecutionProfile(...)"
                ) from None
            names = ", ".join(map(repr, self.cluster.profile_manager.profiles))
            raise ValueError(
                f"there is no execution profile {name!r}; there are {names}: write "
                f"cluster.add_execution_profile({name!r}, ExecutionProfile(...))"
            ) from None

    def execution_profile_clone_update(
        self, ep: ExecutionProfile | str, **kwargs: Any
    ) -> ExecutionProfile:
        """Return a copy of a profile with changes.

        :param ep: an `ExecutionProfile`, or its name.
        :param kwargs: the settings that differ, by name.
        """
        return self.get_execution_profile(ep).clone(**kwargs)

    # -- request listeners -------------------------------------------------------------------------

    def add_request_init_listener(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call ``fn(response_future, *args, **kwargs)`` for each request before it is sent.

        The function may change ``response_future.message``.

        :param fn: called in the thread that executes the request; must not block.
        :param args: further positional arguments for `fn`.
        :param kwargs: further keyword arguments for `fn`.
        :raises TypeError: if `fn` is not callable.
        """
        if not callable(fn):
            raise TypeError(
                f"fn must be a function of a future, but is {fn!r} of type {type(fn).__name__}; "
                "pass the function itself, not the result of a call"
            )
        self._request_init_listeners.append((fn, args, kwargs))

    def remove_request_init_listener(
        self, fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> None:
        """Undo `add_request_init_listener` with the same arguments.

        :param fn: the function that was registered.
        :param args: the positional arguments that were registered with it.
        :param kwargs: the keyword arguments that were registered with it.
        """
        self._request_init_listeners.remove((fn, args, kwargs))

    def _message_of_request(self, request: Request | None) -> Any:
        """Return the message of a request, as request listeners get it; None without a request.

        :param request: the engine's request.
        """
        if request is None:
            return None
        request_body = request.request_body
        return (
            request_body.message
            if isinstance(request_body, MessageBody)
            else message_of(request_body)
        )

    # -- types and pools ---------------------------------------------------------------------------

    def _encode_user_type(self, klass: type[Any], fields: Callable[[], Sequence[str]]) -> None:
        """Encode instances of `klass` as literals of a user-defined type, for ``%s`` in strings.

        :param klass: the class whose instances are encoded.
        :param fields: returns the names of the type's fields.
        """
        if klass is dict:
            return  # keep the encoder's default: a dict becomes a map literal

        self.encoder.mapping[klass] = UserTypeLiteral(lambda: self.encoder, fields)
        # If a converter is registered for the class, it is called first.
        self._codecs.serve(self.encoder)

    @property
    def request_capacity(self) -> int:
        """The number of requests that all open connections together can have in flight.

        Further requests wait in the driver.
        """
        return sum(
            connection.stream_limit
            for pool in self._engine.all_pools()
            # Copy the list, because the loop's thread may change it at any time.
            for connection in list(pool.connections)
        )

    def get_pools(self) -> list[HostPool]:
        """Return the connection pools: one for each host, or one for each host and event loop."""
        return self._engine.all_pools()

    def get_pool_state(self) -> dict[Host, dict[str, Any]]:
        """Return the state of each host's pool.

        It says whether the pool is shut down, how many connections are open, and how many requests
        each connection has in flight.
        """
        return {
            host: pool.joined_state(self._engine.pools_to(host))
            for host, pool in list(self._engine.pools.items())
        }


def _check_page_size(name: str, size: _Value) -> _Value:
    """Return a page size (or None) unchanged.

    :raises TypeError: if it is not a number. A negative number only causes a warning.
    """
    # Accept 0 and negative numbers: servers then send all rows as one page.
    if size is not None and not hasattr(size, "__index__"):
        raise TypeError(
            f"{name} must be a number of rows or None, but is {size!r} "
            f"of type {type(size).__name__}"
        )
    if isinstance(size, int) and size < 0:
        warnings.warn(
            f"{name}={size} means one page of all rows to servers: write None if you want that",
            RuntimeWarning,
            stacklevel=stack_level(),
        )
    return size


# The function that checks each of these settings, and returns the value to store. It is called with
# the name and the value of the setting.
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "default_fetch_size": _check_page_size,
    "default_serial_consistency_level": checked_serial,
    "default_timeout": checked_timeout,
    "row_factory": checked_row_factory,
    "timestamp_generator": function,
}

# Public attributes that are not settings. Leave them out of the names for spelling checks, so that
# an application may add attributes with similar names, such as "keyspaces" or "clusters".
_STATE = frozenset({"cluster", "keyspace"})


def _setting_names(cls: type) -> frozenset[str]:
    """Return the names of a session class that are settings: attributes and settable properties."""
    names: set[str] = set()
    # Attributes of a user's subclass are not settings.
    for base in filter(is_of_driver, cls.__mro__):
        attributes = vars(base)
        names.update(attributes.get("__annotations__", ()))
        # Only a property with a setter has a function `fset`.
        names.update(
            name for name, value in attributes.items() if getattr(value, "fset", None) is not None
        )
    return frozenset(name for name in names - _STATE if not name.startswith("_"))
