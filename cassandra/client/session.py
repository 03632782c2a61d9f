"""The base of the sessions of both faces: settings, profiles, listeners, a view of the pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from cassandra._imports import at_first_cluster
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
    from cassandra.client.batches import BATCH_WARNING_INTERVAL
    from cassandra.client.messages import message_of
    from cassandra.encoder import Encoder
    from cassandra.engine.pools.pool import HostPool
    from cassandra.engine.prepare.statements import PreparedTexts
    from cassandra.engine.request import Request
    from cassandra.engine.request_bodies import MessageBody
    from cassandra.engine.session import EngineSession
    from cassandra.metadata.host import Host
    from cassandra.util.intervals import OncePerInterval
else:
    at_first_cluster(
        __name__,
        BATCH_WARNING_INTERVAL="cassandra.client.batches",
        Encoder="cassandra.encoder",
        MessageBody="cassandra.engine.request_bodies",
        OncePerInterval="cassandra.util.intervals",
        message_of="cassandra.client.messages",
    )

__all__ = ["SessionBase"]

PREPARED_TEXTS = 1000  # texts with bind markers that a session keeps prepared


class SessionBase(RequestMaker, ObservedBySession):
    """Settings of a session. The subclasses say how a request is waited for.

    :param cluster: the cluster of the session.
    :param engine_session: the engine's part of the session.
    """

    default_fetch_size: int | None = DEFAULT_FETCH_SIZE
    """Rows a page; None turns paging off."""

    _default_vector_type: str = "list"

    @property
    def default_vector_type(self) -> str:
        """The kind of vectors of numbers in rows: "list", "array" (array.array) or "numpy".

        Setting it raises ValueError for another one, DependencyException if NumPy is missing.
        """
        return self._default_vector_type

    @default_vector_type.setter
    def default_vector_type(self, kind: str) -> None:
        check_vector_type("Session.default_vector_type", kind)
        self._default_vector_type = kind

    use_client_timestamp: bool = True
    """Send a timestamp from `timestamp_generator` with requests."""

    max_trace_wait: float | None = 2.0
    """Seconds to wait until the servers have written a trace, if the call does not say; None for no
    limit.
    """

    batch_size_warn_threshold: int | None = 40 * 1024
    """Bytes of a batch's statements beyond which a warning is logged, at most once a minute.

    None for no warning. Servers refuse batches whose changes go beyond their own
    ``batch_size_fail_threshold`` (50 KiB by default), unless all of them are in one partition. At
    their ``batch_size_warn_threshold``, 5 KiB, they send a warning of their own.
    """

    client_protocol_handler: Any = LazyAttribute(
        "cassandra.protocol.handler", name="ProtocolHandler", for_engine=True
    )
    """The class that encodes and decodes messages: `ProtocolHandler`, or a subclass."""

    encoder: Encoder
    """Writes values into texts, as literals of CQL, if there are ``%s`` for them."""

    timestamp_generator: Callable[[], int] | None
    """Gives the timestamps of requests, in microseconds; None leaves them to the servers.

    It is the cluster's until it is set.
    """

    _setting_names: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        # Each face has settings of its own.
        cls._setting_names = _setting_names(cls)

    def __setattr__(self, name: str, value: object) -> None:
        """Set a setting, or whatever attribute a program keeps here.

        :raises AttributeError: if the name is a misspelt setting, most likely. A program's own
            subclass gets a warning in the log instead.
        :raises TypeError: if a value is of a wrong type.
        :raises ValueError: if a value is out of range.
        """
        if name not in self._setting_names:
            check_spelling(self, name, self._setting_names)
        if name in _CHECKS:
            value = _CHECKS[name](name, value)
        if name == "timestamp_generator":
            self._engine.core.keep_time(value)
        super().__setattr__(name, value)

    def __init__(self, cluster: ClusterBase, engine_session: EngineSession) -> None:
        self.cluster = cluster
        self.encoder = Encoder()
        self._engine = engine_session
        self.timestamp_generator = cluster.timestamp_generator
        profile: ExecutionProfile = cluster.profile_manager.default
        if cluster.config_mode is not ConfigMode.PROFILES:
            # Old-style settings may be changed for this session alone.
            profile = profile.clone()
        # Made once: most calls give no options of their own.
        self._default_options = CallOptions(profile)
        self._prepared_texts: PreparedTexts = RecentlyUsed(PREPARED_TEXTS)
        self._batch_warnings = OncePerInterval(BATCH_WARNING_INTERVAL)
        self._request_init_listeners: list[
            tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
        ] = []

    @property
    def _default_profile(self) -> ExecutionProfile:
        return self._default_options.profile

    # -- old-style settings ------------------------------------------------------------------------

    def _set_default(self, name: str, setting: str, value: object) -> None:
        if self.cluster.config_mode is ConfigMode.PROFILES:
            raise ValueError(
                f"Session.{name} cannot be set if execution profiles are used: "
                f"set {setting} of a profile, for one execution by execution_profile="
            )
        # No profiles can be added from now on: the two styles would contradict each other.
        self.cluster.config_mode = ConfigMode.LEGACY
        setattr(self._default_profile, setting, value)

    @property
    def row_factory(self) -> Callable[..., Any]:
        """Makes the rows of results; called as ``row_factory(column_names, rows)``."""
        return self._default_profile.row_factory

    @row_factory.setter
    def row_factory(self, row_factory: Callable[..., Any]) -> None:
        self._set_default("row_factory", "row_factory", row_factory)

    @property
    def default_timeout(self) -> float | None:
        """Seconds that a request may take, its retries included; None for no limit."""
        return self._default_profile.request_timeout

    @default_timeout.setter
    def default_timeout(self, timeout: float | None) -> None:
        self._set_default("default_timeout", "request_timeout", timeout)

    @property
    def default_consistency_level(self) -> int:
        """The consistency level of statements that have none of their own."""
        return self._default_profile.consistency_level

    @default_consistency_level.setter
    def default_consistency_level(self, level: int) -> None:
        self._set_default("default_consistency_level", "consistency_level", level)

    @property
    def default_serial_consistency_level(self) -> int | None:
        """The serial consistency level of statements that have none of their own."""
        return self._default_profile.serial_consistency_level

    @default_serial_consistency_level.setter
    def default_serial_consistency_level(self, level: int | None) -> None:
        self._set_default("default_serial_consistency_level", "serial_consistency_level", level)

    # -- profiles ----------------------------------------------------------------------------------

    def get_execution_profile(self, name: ExecutionProfile | str) -> ExecutionProfile:
        """Return the profile of this name; a profile is returned as it is.

        :param name: the profile's name, or a profile.
        :raises ValueError: if there is no profile of this name.
        """
        if isinstance(name, ExecutionProfile):
            self.cluster._take_in(name)
            return name
        # Not the cluster's: old-style settings may have changed the copy of this session.
        if name is EXEC_PROFILE_DEFAULT:
            return self._default_profile
        try:
            return self.cluster.profile_manager.profiles[name]
        except KeyError:
            known = ", ".join(map(repr, self.cluster.profile_manager.profiles))
            raise ValueError(f"there is no execution profile {name!r}; there are {known}") from None

    def execution_profile_clone_update(
        self, ep: ExecutionProfile | str, **kwargs: Any
    ) -> ExecutionProfile:
        """Return a copy of the profile `ep`, or of the one of that name, with changes.

        :param ep: an `ExecutionProfile`, or the name of one.
        :param kwargs: the settings that differ, by name.
        """
        return self.get_execution_profile(ep).clone(**kwargs)

    # -- request listeners -------------------------------------------------------------------------

    def add_request_init_listener(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call ``fn(response_future, *args, **kwargs)`` for each request before it is sent.

        It may change ``response_future.message``.

        :param fn: called in the thread that executes the request; it must not block.
        :param args: further arguments of each call.
        :param kwargs: further keywords of each call.
        """
        self._request_init_listeners.append((fn, args, kwargs))

    def remove_request_init_listener(
        self, fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> None:
        """Undo `add_request_init_listener` with the same arguments.

        :param fn: called in the thread that executes the request; it must not block.
        :param args: further arguments of each call.
        :param kwargs: further keywords of each call.
        """
        self._request_init_listeners.remove((fn, args, kwargs))

    def _message_of_request(self, request: Request | None) -> Any:
        """Return the message of a request, as listeners see it.

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
        """Write instances of `klass` into texts as user-defined types.

        :param klass: the class of such values.
        :param fields: gives the names of the type's fields.
        """
        if klass is dict:
            return  # a dict in a text is written as a map

        def encode(value: object) -> str:
            literal = self.encoder.cql_encode_all_types
            pairs = (
                f"{field} : {literal(getattr(value, field, None), as_text_type=True)}"
                for field in fields()
            )
            return "{" + " , ".join(pairs) + "}"

        self.encoder.mapping[klass] = encode

    @property
    def request_capacity(self) -> int:
        """The requests that the open connections can have in flight; others wait in the driver."""
        # Copies: the loop's thread may add and remove pools and connections meanwhile.
        pools = list(self._engine.pools.values())
        return sum(
            connection.stream_limit for pool in pools for connection in list(pool.connections)
        )

    def get_pools(self) -> list[HostPool]:
        """Return the connection pools, one per host."""
        return list(self._engine.pools.values())

    def get_pool_state(self) -> dict[Host, dict[str, Any]]:
        """Return the state of each host's pool.

        It says if the pool is shut down, how many connections are open, and how many requests each
        has in flight.
        """
        return {host: pool.state() for host, pool in list(self._engine.pools.items())}


def _rows(name: str, size: object) -> Any:
    # 0 and less are for no paging, too, as servers read them.
    if size is not None and not hasattr(size, "__index__"):
        raise TypeError(
            f"{name} must be a number of rows or None, but is {size!r} "
            f"of type {type(size).__name__}"
        )
    return size


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "default_fetch_size": _rows,
    "default_serial_consistency_level": checked_serial,
    "default_timeout": checked_timeout,
    "row_factory": checked_row_factory,
    "timestamp_generator": function,
}

# Not settings. Programs may keep "keyspaces" and "clusters" beside them.
_STATE = frozenset({"cluster", "keyspace"})


def _setting_names(kind: type) -> frozenset[str]:
    """Return the names of the settings of a class of sessions.

    They are the attributes and the properties that programs may set.
    """
    return frozenset(
        name
        for one in kind.__mro__
        # What a program's subclass has is not a setting of the driver's.
        if is_of_driver(one)
        for name in [*vars(one).get("__annotations__", ()), *vars(one)]
        if not name.startswith("_")
        and name not in _STATE
        and (
            name in vars(one).get("__annotations__", ())
            or getattr(vars(one)[name], "fset", None) is not None
        )
    )
