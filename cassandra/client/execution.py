"""From what a program passes to `execute` to an engine request: what the blocking and the asyncio
session have in common.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._impl import flight
from cassandra.client.batches import (
    BATCH_WARNING_INTERVAL,
    batch_statements,
    texts_of,
    warn_of_size,
)
from cassandra.client.configuration import NOT_SET, ClusterBase, ConfigMode
from cassandra.encoder import Encoder
from cassandra.engine.prepare.first_execution import PreparingRequest
from cassandra.engine.prepare.statements import PreparedTexts
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.engine.request import Request
from cassandra.engine.request_bodies import (
    AnyBody,
    BatchBody,
    ExecuteBody,
    MessageBody,
    QueryBody,
    UseBody,
    values_of_rows,
)
from cassandra.errors import DependencyException
from cassandra.policies.speculation import NoSpeculativeExecutionPolicy
from cassandra.protocol.handler import ProtocolHandler
from cassandra.protocol.messages.requests import BatchMessage, ExecuteMessage, QueryMessage
from cassandra.protocol.records import is_record
from cassandra.query.batch import BatchStatement
from cassandra.query.bound import BoundStatement
from cassandra.query.markers import Parameters as MarkerKind
from cassandra.query.markers import parameters_of
from cassandra.query.prepared import PreparedStatement
from cassandra.query.recently_used import RecentlyUsed
from cassandra.query.statement import (
    FETCH_SIZE_UNSET,
    HostTargetingStatement,
    SimpleStatement,
    Statement,
    bind_params,
)
from cassandra.util.intervals import OncePerInterval

if TYPE_CHECKING:
    from cassandra.engine.session import EngineSession

VECTOR_TYPES = ("list", "array", "numpy")
PREPARED_TEXTS = 1000  # texts with bind markers that a session keeps prepared

R = TypeVar("R", bound=Request)

Parameters = Any  # a sequence, a mapping, an object with attributes, or None


class SessionBase:
    """Settings of a session, and the way from a statement to a request. The subclasses say how a
    request is waited for.
    """

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
        self._prepared_texts: PreparedTexts = RecentlyUsed(PREPARED_TEXTS)
        self._batch_warnings = OncePerInterval(BATCH_WARNING_INTERVAL)
        self._request_init_listeners: list[
            tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
        ] = []

    @property
    def keyspace(self) -> str | None:
        """The keyspace that unqualified names belong to."""
        return self._engine.keyspace

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

    # -- from statement to request -----------------------------------------------------------------

    def _statement(self, query: Any, parameters: Parameters) -> tuple[Any, Any]:
        """(statement for the policies, the one to send): prepared statements bound, texts made
        statements.
        """
        target = query
        if isinstance(query, HostTargetingStatement):
            query = query.inner_statement
        if isinstance(query, PreparedStatement):
            query = target = query.bind(parameters)
        elif isinstance(query, BoundStatement):
            if parameters is not None:
                query.bind(parameters)
        elif isinstance(query, str):
            query = target = SimpleStatement(query)
        elif isinstance(query, BatchStatement):
            if parameters:
                raise ValueError(
                    "a batch takes no parameters: they are given to BatchStatement.add"
                )
        elif not isinstance(query, Statement):
            raise TypeError(
                f"a query is a str or a statement, not {type(query).__name__}: {query!r}"
            )
        return target, query

    def _wants_preparing(self, query: str | SimpleStatement) -> bool:
        """Whether the text `query` has bind markers, and so is prepared before it is executed."""
        text = query if isinstance(query, str) else query.query_string
        return parameters_of(text) is MarkerKind.MARKERS

    def _prepared_for(self, query: str | SimpleStatement) -> PreparedStatement | None:
        """What an earlier execution of the same text has prepared."""
        text = query if isinstance(query, str) else query.query_string
        return self._prepared_texts.get((self._keyspace_of(query), text))

    def _keyspace_of(self, query: str | SimpleStatement) -> str | None:
        own = None if isinstance(query, str) else query.keyspace
        return own or self.keyspace

    def _bind_text(
        self, query: str | SimpleStatement, prepared: PreparedStatement, parameters: Parameters
    ) -> BoundStatement:
        """`prepared` with its values and the settings of the statement that was executed."""
        bound = prepared.bind(parameters)
        if isinstance(query, SimpleStatement):
            for name in (
                "consistency_level",
                "retry_policy",
                "fetch_size",
                "custom_payload",
                "is_idempotent",
                "vector_type",
            ):
                setattr(bound, name, getattr(query, name))
            bound.serial_consistency_level = query.serial_consistency_level
        return bound

    def _payload(
        self,
        statement: Any,
        parameters: Parameters,
        profile: ExecutionProfile,
        trace: bool,
        custom_payload: Mapping[str, bytes | None] | None,
        paging_state: bytes | None,
        statements: Any = None,
    ) -> AnyBody:
        generator = self.timestamp_generator
        timestamp = generator() if generator is not None and self.use_client_timestamp else None
        level = statement.consistency_level
        if level is None:
            level = profile.consistency_level
        serial_level = statement._serial_consistency_level
        if serial_level is None:
            serial_level = profile.serial_consistency_level
        fetch_size = statement.fetch_size
        if fetch_size is FETCH_SIZE_UNSET:
            fetch_size = self.default_fetch_size
        request_body = custom_payload or statement.custom_payload
        if isinstance(statement, BoundStatement):
            return ExecuteBody(
                statement.prepared_statement, trace, request_body, level, statement.block, fetch_size, paging_state, serial_level, timestamp
            )  # fmt: skip
        named = {"consistency": level, "serial_consistency": serial_level, "timestamp": timestamp}
        if self._engine.core.protocol_version >= 5:
            named["keyspace"] = statement.keyspace
        if isinstance(statement, BatchStatement):
            if "keyspace" in named:
                named["keyspace"] = statement.own_keyspace
            return BatchBody(statement.batch_type.value, statements, trace, request_body, **named)
        text = statement.query_string
        if parameters is not None:
            if type(parameters) not in _USUAL_PARAMETERS:
                check_parameters(parameters, named=False)
            text = bind_params(text, parameters, self.encoder)
        kind = UseBody if text[:4] in _USE else QueryBody
        return kind(
            text, trace, request_body, page_size=fetch_size, paging_state=paging_state, **named
        )

    def _request(
        self,
        query: Any,
        parameters: Parameters,
        trace: bool,
        custom_payload: Mapping[str, bytes | None] | None,
        timeout: Any,
        execution_profile: Any,
        paging_state: bytes | None,
        host: Any,
        on_done: Callable[[Request], None],
    ) -> tuple[Request, ExecutionProfile]:
        """The request, encoded in the calling thread; the caller starts it on the loop."""
        if parameters is not None and type(parameters) not in _USUAL_PARAMETERS:
            check_parameters(parameters)
        if timeout is not NOT_SET:
            check_timeout(timeout)
        if host is not None and not hasattr(host, "endpoint"):
            raise TypeError(
                f"host must be a Host, as Cluster.metadata.all_hosts() gives them, but is {host!r}"
            )
        profile = (
            self._default_profile
            if execution_profile is EXEC_PROFILE_DEFAULT
            else self.get_execution_profile(execution_profile)
        )
        if type(query) is PreparedStatement:  # what most requests are
            target = statement = query.bind(parameters)
        else:
            if (
                parameters is not None
                and isinstance(query, _TEXTS)
                and self._wants_preparing(query)
            ):
                prepared = self._prepared_for(query)
                if prepared is None:
                    return self._preparing_request(
                        query,
                        parameters,
                        trace,
                        custom_payload,
                        timeout,
                        profile,
                        paging_state,
                        host,
                        on_done,
                    ), profile
                query, parameters = self._bind_text(query, prepared, parameters), None
            target, statement = self._statement(query, parameters)
        if (
            type(statement) is BoundStatement
            and self.client_protocol_handler is ProtocolHandler
            and not self._request_init_listeners
        ):
            request: Request = flight.bound_request(
                Request, ExecuteBody, self, self._engine, statement, target, profile, trace, custom_payload,
                profile.request_timeout if timeout is NOT_SET else timeout, paging_state, on_done, host,
            )  # fmt: skip
            if request.vector_type != "list":
                check_vector_type(request.vector_type)
            return request, profile
        if isinstance(statement, BatchStatement):
            return self._batch_request(
                target, statement, trace, custom_payload, timeout, profile, host, on_done
            ), profile
        request_body = self._encoded(
            self._payload(statement, parameters, profile, trace, custom_payload, paging_state)
        )
        return self._made(
            Request, target, statement, request_body, profile, timeout, host, on_done
        ), profile

    def _made(
        self,
        kind: type[R],
        target: Any,
        statement: Any,
        request_body: AnyBody,
        profile: ExecutionProfile,
        timeout: Any,
        host: Any,
        on_done: Callable[[Request], None],
    ) -> R:
        """A request of class `kind`, with what the statement and the profile say of how it is
        executed.
        """
        vector_type: str = statement.vector_type or self.default_vector_type
        if vector_type != "list":
            check_vector_type(vector_type)
        speculation = profile.speculative_execution_policy
        return kind(
            self._engine,
            target,
            request_body,
            profile.load_balancing_policy,
            statement.retry_policy or profile.retry_policy,
            None if type(speculation) is NoSpeculativeExecutionPolicy else speculation,
            profile.request_timeout if timeout is NOT_SET else timeout,
            on_done,
            host,
            vector_type,
        )

    def _encoded(self, request_body: AnyBody) -> AnyBody:
        """`request_body` rendered for the version to expect; or its message, where a listener or a
        handler may change it.
        """
        handler = self.client_protocol_handler
        if handler is not ProtocolHandler or self._request_init_listeners:
            return MessageBody(
                message_of(request_body), handler, request_body, handler is not ProtocolHandler
            )
        request_body.prerender(self._engine.core.wire_format)
        return request_body

    def _batch_request(
        self,
        target: Any,
        batch: BatchStatement,
        trace: bool,
        custom_payload: Mapping[str, bytes | None] | None,
        timeout: Any,
        profile: ExecutionProfile,
        host: Any,
        on_done: Callable[[Request], None],
    ) -> Request:
        """The request for a batch, whose texts with bind markers are prepared first where they are
        not yet.
        """
        entries = batch.sealed_entries()
        texts = texts_of(entries)
        found = [
            self._prepared_texts.get((keyspace or self.keyspace, text)) for keyspace, text in texts
        ]

        def body_of(known: Sequence[PreparedStatement | None]) -> AnyBody:
            statements = batch_statements(batch, entries, dict(zip(texts, known, strict=True)))
            request_body = self._payload(
                batch, None, profile, trace, custom_payload, None, statements
            )
            return self._checked(self._encoded(request_body), batch)

        if None not in found:
            return self._made(
                Request, target, batch, body_of(found), profile, timeout, host, on_done
            )
        # Until they are prepared, what is known already stands for what is sent.
        unprepared = self._payload(batch, None, profile, trace, custom_payload, None, ())
        request = self._made(
            PreparingRequest, target, batch, unprepared, profile, timeout, host, on_done
        )
        request.texts = texts
        request.known = self._prepared_texts
        request.bind_to = lambda prepared: (target, body_of(prepared))
        return request

    def _checked(self, request_body: AnyBody, batch: BatchStatement) -> AnyBody:
        """`request_body`, after a warning where the server is likely to refuse it for its size."""
        limit = self.batch_size_warn_threshold
        if limit is not None and request_body.size > limit and self._batch_warnings.is_due():
            warn_of_size(request_body, batch, limit)
        return request_body

    def _preparing_request(
        self,
        query: str | SimpleStatement,
        parameters: Parameters,
        trace: bool,
        custom_payload: Mapping[str, bytes | None] | None,
        timeout: Any,
        profile: ExecutionProfile,
        paging_state: bytes | None,
        host: Any,
        on_done: Callable[[Request], None],
    ) -> PreparingRequest:
        statement = SimpleStatement(query) if isinstance(query, str) else query

        def bind_to(prepared: list[PreparedStatement]) -> tuple[BoundStatement, AnyBody]:
            bound = self._bind_text(statement, prepared[0], parameters)
            return bound, self._encoded(
                self._payload(bound, None, profile, trace, custom_payload, paging_state)
            )

        # Until it is prepared, the text itself stands for what is sent.
        unprepared = self._payload(statement, None, profile, trace, custom_payload, paging_state)
        request = self._made(
            PreparingRequest, statement, statement, unprepared, profile, timeout, host, on_done
        )
        request.texts = [(statement.keyspace, statement.query_string)]
        request.known = self._prepared_texts
        request.bind_to = bind_to
        return request

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


_USE = ("USE ", "use ")
_TEXTS = (str, SimpleStatement)
_USUAL_PARAMETERS = frozenset({tuple, list, dict})


def check_parameters(parameters: Any, named: bool = True) -> None:
    """TypeError for what is neither a sequence nor a mapping; nor, unless `named` is false, an
    object with attributes.
    """
    if isinstance(parameters, (str, bytes)) or not (
        hasattr(parameters, "__len__") or (named and is_record(parameters))
    ):
        raise TypeError(
            f"parameters must be a sequence or a mapping, but are {type(parameters).__name__}: {parameters!r}; "
            "a single one is written (value,)"
        )


def check_timeout(timeout: Any) -> None:
    """TypeError or ValueError for what is no time in seconds."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout must be seconds or None, but is {timeout!r}")
    if not timeout > 0:
        raise ValueError(f"timeout must be greater than 0, but is {timeout!r}")
    if timeout == math.inf:
        raise ValueError("timeout must be finite, but is inf: None is for no limit")


def typed_factory(row_type: Any) -> Callable[..., Any]:
    """The row factory that makes instances of the class `row_type`; TypeError for a class that rows
    cannot be made of.
    """
    from cassandra.query.typed_rows import typed_rows  # for those who use it

    return typed_rows(row_type)


def check_keyspace(keyspace: Any) -> None:
    """TypeError or ValueError for what is no keyspace's name."""
    if not isinstance(keyspace, str):
        raise TypeError(f"a keyspace is a str, not {type(keyspace).__name__}: {keyspace!r}")
    if not keyspace:
        raise ValueError("a keyspace's name must not be empty")


def check_vector_type(vector_type: str) -> None:
    """ValueError for what is no kind of vector, DependencyException where its package is missing."""
    if vector_type not in VECTOR_TYPES:
        raise ValueError(
            f"vectors are read as one of {', '.join(map(repr, VECTOR_TYPES))}, not as {vector_type!r}"
        )
    if vector_type == "numpy" and importlib.util.find_spec("numpy") is None:
        raise DependencyException(
            "vectors as NumPy arrays need the package 'numpy': pip install turbocql[numpy]"
        )


def list_of_queries(queries: Sequence[str]) -> list[str]:
    """`queries` as a list of texts; TypeError for a single text, and for what is no text."""
    if isinstance(queries, str):
        raise TypeError(f"queries must be a list of texts, not a single text: {queries!r}")
    found = list(queries)
    for query in found:
        if not isinstance(query, str):
            raise TypeError(f"a query to prepare is a str, not {type(query).__name__}: {query!r}")
    return found


def message_of(request_body: AnyBody) -> Any:
    """The message object that says the same as `request_body`."""
    params = request_body
    message: Any
    if isinstance(request_body, QueryBody):
        message = QueryMessage(
            request_body.query,
            params.consistency,
            params.serial_consistency,
            params.page_size,
            params.paging_state,
            params.timestamp,
            keyspace=params.keyspace,
        )
    elif isinstance(request_body, ExecuteBody):
        prepared = request_body.prepared
        metadata, metadata_id = prepared.result_metadata_and_id
        message = ExecuteMessage(
            prepared.query_id,
            params.values.values() if params.values is not None else [],
            params.consistency,
            params.serial_consistency,
            params.page_size,
            params.paging_state,
            params.timestamp,
            skip_meta=bool(metadata_id) and bool(metadata),
            result_metadata_id=metadata_id,
        )
    elif isinstance(request_body, BatchBody):
        queries: list[tuple[bool, Any, Any]] = []
        for prepared, values in request_body.statements:
            if prepared is None:
                queries.append((False, values, ()))
            else:
                queries += [
                    (True, prepared.query_id, block.values()) for block in values_of_rows(values)
                ]
        message = BatchMessage(
            request_body.batch_type,
            queries,
            params.consistency,
            params.serial_consistency,
            params.timestamp,
            params.keyspace,
        )
    elif isinstance(request_body, MessageBody):
        return request_body.message
    else:
        raise TypeError(f"there is no message for {request_body!r}")
    message.tracing = request_body.tracing
    message.custom_payload = (
        dict(request_body.custom_payload) if request_body.custom_payload else None
    )
    return message
