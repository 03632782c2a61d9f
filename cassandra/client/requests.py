"""The way from the arguments of `execute` to the engine's request.

It is the only way, for both faces and every kind of statement. The call's options are checked and
joined into a `CallOptions`; then the query becomes a statement, and the statement a request body.
`happy_path.resolve` and `happy_path.request_for` give both the settings that count. The happy
path of a bound statement takes all these steps in one call, `happy_path.bound_request`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._habits import stack_level
from cassandra._imports import at_first_cluster
from cassandra.client.checks import (
    check_host,
    check_parameters,
    check_timeout,
    check_vectors,
)
from cassandra.engine.call_options import CallOptions
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.query.keyspace_texts import FIRST_OF_USE, is_use
from cassandra.query.markers import Parameters as MarkerKind, parameters_of
from cassandra.query.settings import NOT_SET
from cassandra.query.statement import (
    HostTargetingStatement,
    SimpleStatement,
    Statement,
    are_empty,
    bind_params,
)

if TYPE_CHECKING:
    from cassandra.client.batches import batch_statements, texts_of, warn_of_size
    from cassandra.client.messages import message_of
    from cassandra.encoder import Encoder
    from cassandra.engine import happy_path
    from cassandra.engine.prepare.first_execution import PreparingRequest
    from cassandra.engine.prepare.statements import PreparedTexts
    from cassandra.engine.request import Request
    from cassandra.engine.request_bodies import (
        AnyBody,
        BatchBody,
        ExecuteBody,
        MessageBody,
        QueryBody,
        UseBody,
    )
    from cassandra.engine.resolving import take_settings
    from cassandra.engine.session import EngineSession
    from cassandra.engine.use_request import UseRequest
    from cassandra.metadata.host import Host
    from cassandra.protocol.handler import ProtocolHandler
    from cassandra.protocol.messages.errors import InvalidPagingState
    from cassandra.query.batch import BatchStatement, BoundRows
    from cassandra.query.bound import BoundStatement
    from cassandra.query.prepared import PreparedStatement
    from cassandra.query.prepared_use import BoundUse
    from cassandra.util.intervals import OncePerInterval

    Query = str | Statement | PreparedStatement | HostTargetingStatement
    """What may be executed."""

    Parameters = Sequence[Any] | Mapping[str, Any] | object | None
    """Values by position or by name, or an object with attributes."""

    Done = Callable[[Request], None]
else:
    at_first_cluster(
        __name__,
        BatchBody="cassandra.engine.request_bodies",
        BatchStatement="cassandra.query.batch",
        BoundRows="cassandra.query.batch",
        BoundStatement="cassandra.query.bound",
        BoundUse="cassandra.query.prepared_use",
        ExecuteBody="cassandra.engine.request_bodies",
        InvalidPagingState="cassandra.protocol.messages.errors",
        MessageBody="cassandra.engine.request_bodies",
        PreparedStatement="cassandra.query.prepared",
        PreparingRequest="cassandra.engine.prepare.first_execution",
        ProtocolHandler="cassandra.protocol.handler",
        QueryBody="cassandra.engine.request_bodies",
        Request="cassandra.engine.request",
        UseBody="cassandra.engine.request_bodies",
        UseRequest="cassandra.engine.use_request",
        batch_statements="cassandra.client.batches",
        happy_path="cassandra._impl",
        message_of="cassandra.client.messages",
        take_settings="cassandra.engine.resolving",
        texts_of="cassandra.client.batches",
        warn_of_size="cassandra.client.batches",
    )

__all__ = ["USUAL_OPTIONS", "Parameters", "Query", "RequestMaker"]

R = TypeVar("R", bound="Request")

# Of a call that gives none: timeout, trace, custom_payload, execution_profile, paging_state, host.
USUAL_OPTIONS = (NOT_SET, False, None, EXEC_PROFILE_DEFAULT, None, None)

_TEXTS = (str, SimpleStatement)
_USUAL_PARAMETERS = frozenset({tuple, list, dict})


def _warn_of_parameters(query: object) -> None:
    """Warn that the parameters of a call do nothing: as with other drivers, they are ignored."""
    advice = (
        "pass them to batch.add(statement, parameters)"
        if isinstance(query, BatchStatement)
        else "execute the prepared statement itself, session.execute(prepared, parameters)"
    )
    warnings.warn(
        f"the parameters are ignored: a {type(query).__name__} has its values already; {advice}",
        RuntimeWarning,
        stacklevel=stack_level(),
    )


def _advice_for(query: object) -> str:
    """Return what to write in place of something that is no query."""
    if hasattr(query, "__await__"):
        query.close() if hasattr(query, "close") else None
        return "; write `await session.prepare(...)`"
    if isinstance(query, (list, tuple)):
        return "; execute one statement at a time, several together as a BatchStatement"
    return "; decode it first" if isinstance(query, bytes) else ""


class RequestMaker:
    """Makes the requests of a session. A base of the sessions of both faces."""

    encoder: Encoder
    client_protocol_handler: Any
    batch_size_warn_threshold: int | None
    _engine: EngineSession
    _default_options: CallOptions
    _prepared_texts: PreparedTexts
    _batch_warnings: OncePerInterval
    _request_init_listeners: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]

    @property
    def keyspace(self) -> str | None:
        """The keyspace that unqualified names belong to."""
        return self._engine.keyspace

    def get_execution_profile(self, name: ExecutionProfile | str) -> ExecutionProfile:
        """Return the profile of this name.

        :param name: the key of the profile in `Cluster(execution_profiles=...)`.
        """
        raise NotImplementedError

    # -- options of a call -------------------------------------------------------------------------

    def _options(
        self,
        timeout: float | None,
        trace: bool,
        custom_payload: Mapping[str, bytes | None] | None,
        execution_profile: ExecutionProfile | str,
        paging_state: bytes | None,
        host: Host | None,
    ) -> CallOptions:
        """Check the options of one call, and join them.

        Callers compare them with `USUAL_OPTIONS` first, which most calls have.
        """
        if timeout is not NOT_SET:
            check_timeout(timeout)
        if host is not None:
            check_host(host)
        profile = (
            self._default_options.profile
            if execution_profile is EXEC_PROFILE_DEFAULT
            else self.get_execution_profile(execution_profile)
        )
        if paging_state is not None and not paging_state:
            # It would be the first page: whoever mangles a token would read that for ever.
            raise InvalidPagingState(
                InvalidPagingState.error_code,
                f"the paging state is empty ({paging_state!r}): None is for the first page",
            )
        return CallOptions(profile, timeout, trace, custom_payload, paging_state, host)

    # -- statements --------------------------------------------------------------------------------

    def _statement(self, query: Query, parameters: Parameters) -> tuple[Any, Any]:
        """Return the statement as policies see it, and the one to send.

        Prepared statements are bound; texts become statements.
        """
        target: Any = query
        statement: Any = query
        # Policies see the wrapper, which names the host; the statement in it is sent.
        if isinstance(statement, HostTargetingStatement):
            statement = statement.inner_statement
        if isinstance(statement, PreparedStatement):
            statement = target = statement.bind(parameters)
        elif isinstance(statement, str):
            statement = target = SimpleStatement(statement)
        elif not isinstance(statement, Statement):
            raise TypeError(
                f"a query is a str or a statement, not {type(statement).__name__}: {statement!r}"
                f"{_advice_for(statement)}"
            )
        return target, statement

    def _wants_preparing(self, query: str | SimpleStatement) -> bool:
        """Return True if the text has bind markers: it is then prepared before it is executed."""
        text = query if isinstance(query, str) else query.query_string
        return parameters_of(text) is MarkerKind.MARKERS

    def _prepared_for(self, query: str | SimpleStatement) -> PreparedStatement | None:
        """Return the statement that an earlier execution of the same text has prepared."""
        # By the keyspace too: in another one, unqualified names are those of other tables.
        if isinstance(query, str):
            return self._prepared_texts.get((self.keyspace, query))
        return self._prepared_texts.get((query.keyspace or self.keyspace, query.query_string))

    def _bind_text(
        self, query: str | SimpleStatement, prepared: PreparedStatement, parameters: Parameters
    ) -> BoundStatement:
        """Bind the statement that a text was prepared as, with the settings of the executed one."""
        bound: BoundStatement = prepared.bind(parameters)
        # All executions of the text share what was prepared, so it has no settings of its own.
        if isinstance(query, SimpleStatement):
            bound.take_settings(query)
            bound.serial_consistency_level = query.serial_consistency_level
        return bound

    # -- request bodies ----------------------------------------------------------------------------

    def _keyspace_to_send(self, keyspace: str | None) -> str | None:
        """Return the keyspace that travels with a request, from version 5 on."""
        # Older versions have no field for it: the connection's keyspace counts there.
        return keyspace if self._engine.core.protocol_version >= 5 else None

    def _body_of(
        self, statement: SimpleStatement | BoundStatement, parameters: Parameters
    ) -> AnyBody:
        """Make the body for a statement that is not a batch."""
        if isinstance(statement, BoundUse):
            return UseBody(statement.prepared_statement.query_string)
        if isinstance(statement, BoundStatement):
            return ExecuteBody(statement.prepared_statement, statement.block)
        text = statement.query_string
        if parameters is not None:
            if type(parameters) not in _USUAL_PARAMETERS:
                check_parameters(parameters, named=False)
            text = bind_params(text, parameters, self.encoder)  # type: ignore[arg-type]  # checked
        if text[:1] in FIRST_OF_USE and is_use(text):
            return UseBody(text)
        keyspace = statement.keyspace
        return QueryBody(text, self._keyspace_to_send(keyspace), keyspace or self.keyspace)

    def _rendered(
        self,
        body: AnyBody,
        statement: Statement,
        options: CallOptions,
        resolved: AnyBody | None = None,
    ) -> AnyBody:
        """Resolve the settings of `body` and render it, for the wire format to expect.

        :param resolved: has the settings already; None if they are to be resolved. A timestamp is
            that of the call: a second one would be later than those of calls that came after it.

        If a listener or a handler of the program may change it, it becomes a message instead, which
        is encoded at each attempt.
        """
        if resolved is None:
            happy_path.resolve(body, self, statement, options)
        else:
            take_settings(body, resolved)
        handler = self.client_protocol_handler
        if handler is not ProtocolHandler or self._request_init_listeners:
            return MessageBody(message_of(body), handler, body, handler is not ProtocolHandler)
        body.prerender(self._engine.core.wire_format)
        return body

    # -- requests ----------------------------------------------------------------------------------

    def _request(
        self, query: Query, parameters: Parameters, options: CallOptions, on_done: Done
    ) -> Request:
        """Make the request, encoded in the calling thread; the caller starts it on the loop."""
        # Some have their values already: wrappers hand on `parameters` with each call, and must not
        # change what is written. A text with empty parameters goes as it is: a `%` in it stands for
        # itself.
        if isinstance(query, (BoundStatement, BatchStatement)) or (
            isinstance(query, _TEXTS) and are_empty(parameters)
        ):
            if parameters is not None and not are_empty(parameters):
                _warn_of_parameters(query)
            parameters = None
        if parameters is not None and type(parameters) not in _USUAL_PARAMETERS:
            check_parameters(parameters)
        if type(query) is PreparedStatement:  # most requests are
            target = statement = query.bind(parameters)
        else:
            if (
                parameters is not None
                and isinstance(query, _TEXTS)
                and self._wants_preparing(query)
            ):
                prepared = self._prepared_for(query)
                if prepared is None:
                    return self._first_execution(query, parameters, options, on_done)
                query, parameters = self._bind_text(query, prepared, parameters), None
            target, statement = self._statement(query, parameters)
        if (
            type(statement) is BoundStatement
            and self.client_protocol_handler is ProtocolHandler
            and not self._request_init_listeners
        ):
            request: Request = happy_path.bound_request(
                Request, ExecuteBody, self, self._engine, statement, target, options, on_done
            )
            if request.vectors != "list":
                check_vectors(request)
            return request
        if isinstance(statement, BatchStatement):
            return self._batch_request(target, statement, options, on_done)
        plain = self._body_of(statement, parameters)
        body = self._rendered(plain, statement, options)
        kind = UseRequest if type(plain) is UseBody else Request
        return self._request_for(kind, body, statement, target, options, on_done)

    def _request_for(
        self,
        kind: type[R],
        body: AnyBody,
        statement: Statement,
        target: Query,
        options: CallOptions,
        on_done: Done,
    ) -> R:
        request: R = happy_path.request_for(
            kind, body, self, self._engine, statement, target, options, on_done
        )
        check_vectors(request)
        return request

    def _first_execution(
        self,
        query: str | SimpleStatement,
        parameters: Parameters,
        options: CallOptions,
        on_done: Done,
    ) -> Request:
        """Make the request for a text with bind markers that nobody has prepared yet."""
        statement = SimpleStatement(query) if isinstance(query, str) else query

        def bind_to(prepared: list[PreparedStatement]) -> tuple[BoundStatement, AnyBody]:
            bound = self._bind_text(statement, prepared[0], parameters)
            return bound, self._rendered(self._body_of(bound, None), bound, options, unprepared)

        # Until it is prepared, the text itself stands for what is sent.
        unprepared = self._body_of(statement, None)
        request = self._preparing_request(unprepared, statement, statement, options, on_done)
        request.texts = [(statement.keyspace, statement.query_string)]
        request.bind_to = bind_to
        return request

    def _happy_batch(
        self, batch: BatchStatement, options: CallOptions, on_done: Done
    ) -> Request | None:
        """Make the request for a batch of rows of one prepared statement; None for another batch.

        For `happy_path.HappyPath`, which has seen that nothing of the program changes the request.

        :param batch: the batch.
        :param options: of the call.
        :param on_done: called with the request when it is over.
        """
        entries = batch.sealed_entries()
        if len(entries) != 1:
            return None
        rows = entries[0]
        if not isinstance(rows, BoundRows):
            return None
        keyspace = self._keyspace_to_send(batch.own_keyspace)
        body = BatchBody(batch.batch_type.value, ((rows.prepared, rows.block),), keyspace)
        happy_path.resolve(body, self, batch, options)
        body.prerender(self._engine.core.wire_format)
        self._checked(body, batch)
        return self._request_for(Request, body, batch, batch, options, on_done)

    def _batch_request(
        self, target: Query, batch: BatchStatement, options: CallOptions, on_done: Done
    ) -> Request:
        """Make the request for a batch.

        Its texts with bind markers are prepared first, unless they are already.
        """
        entries = batch.sealed_entries()
        texts = texts_of(entries)
        working = self.keyspace
        found = [self._prepared_texts.get((keyspace or working, text)) for keyspace, text in texts]
        keyspace = self._keyspace_to_send(batch.own_keyspace)
        expected = keyspace or batch.expected_keyspace or working

        def body_of(
            known: Sequence[PreparedStatement | None], resolved: AnyBody | None = None
        ) -> AnyBody:
            statements = batch_statements(
                batch,
                entries,
                dict(zip(texts, known, strict=True)),
                self._engine.core.preparer.known_by_id,
            )
            body = BatchBody(batch.batch_type.value, statements, keyspace, expected)
            return self._checked(self._rendered(body, batch, options, resolved), batch)

        if None not in found:
            return self._request_for(Request, body_of(found), batch, target, options, on_done)
        # Until they are prepared, what is known already stands for what is sent.
        unprepared = BatchBody(batch.batch_type.value, (), keyspace, expected)
        request = self._preparing_request(unprepared, batch, target, options, on_done)
        request.texts = texts
        request.bind_to = lambda prepared: (target, body_of(prepared, unprepared))
        return request

    def _preparing_request(
        self,
        unprepared: AnyBody,
        statement: Statement,
        target: Query,
        options: CallOptions,
        on_done: Done,
    ) -> PreparingRequest:
        """Make a request that prepares texts first, which the caller names.

        :param unprepared: stands for the request until they are prepared.
        """
        happy_path.resolve(unprepared, self, statement, options)
        request = self._request_for(
            PreparingRequest, unprepared, statement, target, options, on_done
        )
        request.known = self._prepared_texts
        request.working_keyspace = self.keyspace
        return request

    def _checked(self, body: AnyBody, batch: BatchStatement) -> AnyBody:
        """Return `body`, after a warning if the server is likely to refuse it for its size."""
        limit = self.batch_size_warn_threshold
        if limit is not None and body.size > limit and self._batch_warnings.is_due():
            warn_of_size(body, batch, limit)
        return body
