"""What the sessions of both faces have in common: settings, profiles, listeners, pools to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.client.batches import BATCH_WARNING_INTERVAL
from cassandra.client.configuration import ClusterBase, ConfigMode
from cassandra.client.requests import RequestMaker
from cassandra.encoder import Encoder
from cassandra.engine.prepare.statements import PreparedTexts
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.protocol.handler import ProtocolHandler
from cassandra.query.recently_used import RecentlyUsed
from cassandra.query.settings import CallOptions
from cassandra.util.intervals import OncePerInterval

if TYPE_CHECKING:
    from cassandra.engine.session import EngineSession

__all__ = ["SessionBase"]

PREPARED_TEXTS = 1000  # texts with bind markers that a session keeps prepared


class SessionBase(RequestMaker):
    """Settings of a session. The subclasses say how a request is waited for."""

    default_fetch_size: int | None = 5000
    """Rows a page; None turns paging off."""

    default_vector_type: str = "list"
    """What vectors of numbers are read as: "list", "array" (array.array) or "numpy" (a NumPy
    array).
    """

    use_client_timestamp: bool = True
    """Whether requests carry a timestamp from `timestamp_generator`."""

    batch_size_warn_threshold: int | None = 40 * 1024
    """Bytes of a batch's statements beyond which a warning is logged, at most once a minute; None
    for none.

    Servers refuse batches whose changes go beyond their own ``batch_size_fail_threshold`` (50 KiB
    by default), unless all of them are in one partition. (At their ``batch_size_warn_threshold``, 5
    KiB, they send a warning of their own.)
    """

    client_protocol_handler: Any = ProtocolHandler
    """The class that encodes and decodes messages; a subclass of `ProtocolHandler` may change what
    is sent and read.
    """

    def __init__(self, cluster: ClusterBase, engine_session: EngineSession) -> None:
        self.cluster = cluster
        self.encoder = Encoder()
        self.timestamp_generator: Callable[[], int] | None = cluster.timestamp_generator
        self._engine = engine_session
        self._default_profile: ExecutionProfile = cluster.profile_manager.default
        if cluster.config_mode is not ConfigMode.PROFILES:
            # Old-style settings may be changed for this session alone.
            self._default_profile = self._default_profile.clone()
        self._default_options = CallOptions(self._default_profile)
        self._prepared_texts: PreparedTexts = RecentlyUsed(PREPARED_TEXTS)
        self._batch_warnings = OncePerInterval(BATCH_WARNING_INTERVAL)
        self._request_init_listeners: list[
            tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
        ] = []

    # -- old-style settings ------------------------------------------------------------------------

    def _set_default(self, name: str, setting: str, value: Any) -> None:
        if self.cluster.config_mode is ConfigMode.PROFILES:
            raise ValueError(
                f"Session.{name} cannot be set where execution profiles are used: "
                f"set {setting} of a profile, for one execution by execution_profile="
            )
        self.cluster.config_mode = ConfigMode.LEGACY
        setattr(self._default_profile, setting, value)

    @property
    def row_factory(self) -> Callable[..., Any]:
        """What rows come back as: called as ``row_factory(column_names, rows)``."""
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
        if level is not None and level not in (8, 9):
            raise ValueError(
                f"default_serial_consistency_level must be SERIAL or LOCAL_SERIAL, but is {level!r}"
            )
        self._set_default("default_serial_consistency_level", "serial_consistency_level", level)

    # -- profiles ----------------------------------------------------------------------------------

    def get_execution_profile(self, name: Any) -> ExecutionProfile:
        """The profile of this name (or the profile itself, where one is passed); ValueError where
        there is none.
        """
        if isinstance(name, ExecutionProfile):
            return name
        if name is EXEC_PROFILE_DEFAULT:
            return self._default_profile
        try:
            return self.cluster.profile_manager.profiles[name]
        except KeyError:
            known = ", ".join(map(repr, self.cluster.profile_manager.profiles))
            raise ValueError(f"there is no execution profile {name!r}; there are {known}") from None

    def execution_profile_clone_update(self, ep: Any, **kwargs: Any) -> ExecutionProfile:
        """A copy of the profile `ep` (or of the one with that name) with some settings changed."""
        return self.get_execution_profile(ep).clone(**kwargs)

    # -- request listeners -------------------------------------------------------------------------

    def add_request_init_listener(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call ``fn(response_future, *args, **kwargs)`` for each request before it is sent; it may
        change ``.message``.
        """
        self._request_init_listeners.append((fn, args, kwargs))

    def remove_request_init_listener(
        self, fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> None:
        """Take back what `add_request_init_listener` was called with."""
        self._request_init_listeners.remove((fn, args, kwargs))

    # -- types and pools ---------------------------------------------------------------------------

    def encode_user_type(self, klass: Any, fields: Sequence[str]) -> None:
        """Write instances of `klass` into texts as literals of a user-defined type with these
        fields.
        """
        if klass is dict:
            return  # a dict in a text is a map's literal, as it always was

        def encode(value: Any) -> str:
            pairs = (
                f"{field} : {self.encoder.cql_encode_all_types(getattr(value, field, None), as_text_type=True)}"
                for field in fields
            )
            return "{" + " , ".join(pairs) + "}"

        self.encoder.mapping[klass] = encode

    @property
    def request_capacity(self) -> int:
        """How many requests the open connections can have under way at once: what is sent beyond
        that waits in the driver.
        """
        pools = list(self._engine.pools.values())
        return sum(
            connection.stream_limit for pool in pools for connection in list(pool.connections)
        )

    def get_pools(self) -> list[Any]:
        """The connection pools, one a host."""
        return list(self._engine.pools.values())

    def get_pool_state(self) -> dict[Any, dict[str, Any]]:
        """For each host: whether its pool is shut down, how many connections are open, and the
        requests under way on each.
        """
        return {host: pool.state() for host, pool in list(self._engine.pools.items())}
