"""Converts the arguments of `execute` to a request of the engine, for both APIs and all statements.

The steps are:

1. `RequestMaker._options` checks the options of the call and combines them into `CallOptions`.
2. `RequestMaker._statement` converts the query to a statement, and `_body_of` creates its body.
3. `happy_path.resolve` adds the settings of the statement, the call, the profile and the session to
   the body, and `happy_path.request_for` creates the request.

For a bound statement without listeners, `happy_path.bound_request` does steps 2 and 3 in one call.
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
    check_trace,
    check_vectors,
    checked_parameters,
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
    shown_argument,
)

if TYPE_CHECKING:
    from cassandra.client.batches import (
        batch_statements,
        routed,
        texts_of,
        warn_of_borrowed_keyspace,
        warn_of_ignored_keyspace,
        warn_of_size,
    )
    from cassandra.client.messages import message_of
    from cassandra.client.timestamp_literals import warn_of_timestamp_literals
    from cassandra.cqltypes.failures import ENCODE_ERRORS
    from cassandra.encoder import Encoder
    from cassandra.engine import happy_path
    from cassandra.engine.awaited import is_changed_by_user_code
    from cassandra.engine.prepare.first_execution import PreparingRequest
    from cassandra.engine.prepare.schema_types import has_types_of_schema
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
    from cassandra.engine.resolving import copy_parameters
    from cassandra.engine.session import EngineSession
    from cassandra.engine.targets import Target, make_target
    from cassandra.engine.use_request import UseRequest
    from cassandra.metadata.host import Host
    from cassandra.metadata.placement.tokens import Token
    from cassandra.protocol.handler import ProtocolHandler
    from cassandra.protocol.messages.errors import InvalidPagingState
    from cassandra.query.batch import BatchStatement, BoundRows
    from cassandra.query.bound import BoundStatement
    from cassandra.query.prepared import PreparedStatement
    from cassandra.query.prepared_use import BoundUse
    from cassandra.query.snapshots import snapshot
    from cassandra.util.intervals import OncePerInterval

    Query = str | Statement | PreparedStatement | HostTargetingStatement
    """The types that may be passed to `execute` as a query."""

    Parameters = Sequence[Any] | Mapping[str, Any] | object | None
    """The types of parameters: values by position or by name, or an object with attributes."""

    Done = Callable[[Request], None]
else:
    at_first_cluster(
        __name__,
        ENCODE_ERRORS="cassandra.cqltypes.failures",
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
        is_changed_by_user_code="cassandra.engine.awaited",
        make_target="cassandra.engine.targets",
        message_of="cassandra.client.messages",
        snapshot="cassandra.query.snapshots",
        copy_parameters="cassandra.engine.resolving",
        has_types_of_schema="cassandra.engine.prepare.schema_types",
        routed="cassandra.client.batches",
        texts_of="cassandra.client.batches",
        warn_of_borrowed_keyspace="cassandra.client.batches",
        warn_of_ignored_keyspace="cassandra.client.batches",
        warn_of_size="cassandra.client.batches",
        warn_of_timestamp_literals="cassandra.client.timestamp_literals",
    )

R = TypeVar("R", bound="Request")

# The default value of each option of a call, in the order timeout, trace, custom_payload,
# execution_profile, paging_state, host. A call compares its options with this tuple to see whether
# it has any.
USUAL_OPTIONS = (NOT_SET, False, None, EXEC_PROFILE_DEFAULT, None, None)

_TEXTS = (str, SimpleStatement)  # the classes of queries that are CQL strings
_USUAL_PARAMETERS = frozenset({tuple, list, dict})  # parameters of these types need no check


def _advice_on_token(token: str) -> str:
    """Return advice on how to convert the string `token` back to the bytes of a paging state."""
    try:
        bytes.fromhex(token)
    except ValueError:
        return (
            'base64.b64decode(text, b"-_", validate=True) reverses '
            "base64.urlsafe_b64encode(result.paging_state)"
        )
    return "bytes.fromhex(text) reverses result.paging_state.hex()"


def _warn_of_ignored_parameters(query: object) -> None:
    """Warn that the parameters of a call are ignored, because `query` has its values already.

    cassandra-driver also ignores such parameters.
    """
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
    """Return advice for the error about an object that is not a query."""
    if hasattr(query, "__await__"):
        # Close the coroutine; otherwise Python would also warn that it was never awaited.
        if hasattr(query, "close"):
            query.close()
        return "; write `await session.prepare(...)`"
    if isinstance(query, (list, tuple)):
        return "; execute one statement at a time, several together as a BatchStatement"
    if isinstance(getattr(query, "__self__", None), PreparedStatement):
        return "; call the method: prepared.bind(values)"
    if isinstance(query, type):
        return f"; write an instance, {query.__name__}(...)"
    if hasattr(query, "read_text"):
        return "; write path.read_text(), and execute its statements one at a time"
    return "; decode it first" if isinstance(query, bytes) else ""


class RequestMaker:
    """Creates the requests of a session; a base class of the sessions of both APIs."""

    encoder: Encoder
    client_protocol_handler: Any
    batch_size_warn_threshold: int | None
    _engine: EngineSession
    # The options of calls that pass none.
    _default_options: CallOptions
    # The prepared statements of CQL strings with bind markers, by (keyspace, CQL string).
    _prepared_texts: PreparedTexts
    # Limits how often a session warns of large batches.
    _batch_warnings: OncePerInterval
    _request_init_listeners: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]

    @property
    def keyspace(self) -> str | None:
        """The keyspace in which unqualified names are looked up; None if there is none."""
        return self._engine.keyspace

    def get_execution_profile(self, name: ExecutionProfile | str) -> ExecutionProfile:
        """Return the profile with this name.

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
        shard: int | None = None,
        token: int | Token | None = None,
    ) -> CallOptions:
        """Check the options of a call, and combine them.

        Callers first compare the options with `USUAL_OPTIONS`. Most calls pass no options, and then
        do not need this method.
        """
        if timeout is not NOT_SET:
            check_timeout(timeout)
        if trace:
            check_trace(trace)
        if host is not None:
            check_host(host)
        target: Host | Target | None = host
        if shard is not None or token is not None:
            target = make_target(self._engine.core.metadata, host, shard, token)
        profile = (
            self._default_options.profile
            if execution_profile is EXEC_PROFILE_DEFAULT
            else self.get_execution_profile(execution_profile)
        )
        if paging_state is not None and not paging_state:
            # Raise an error, because the server would return the first page. An application that
            # has lost its paging state would then read the same page again and again.
            raise InvalidPagingState(
                InvalidPagingState.error_code,
                f"the paging state is empty ({paging_state!r}): None is for the first page",
            )
        if isinstance(paging_state, str):
            raise TypeError(
                f"paging_state is {paging_state[:40]!r} (str); it has to be bytes, as "
                f"result.paging_state is: {_advice_on_token(paging_state)}"
            )
        return CallOptions(profile, timeout, trace, custom_payload, paging_state, target)

    # -- statements --------------------------------------------------------------------------------

    def _statement(self, query: Query, parameters: Parameters) -> Statement:
        """Return the statement to send.

        A prepared statement is bound, and a string is wrapped in a `SimpleStatement`.
        """
        # The parameters of a string are not stored in the statement; `_body_of` gets them.
        if isinstance(query, PreparedStatement):
            return query.bind(parameters)
        if isinstance(query, str):
            return SimpleStatement(query)
        if not isinstance(query, Statement):
            raise TypeError(
                f"a query is a str or a statement, not {type(query).__name__}: "
                f"{shown_argument(query)}{_advice_for(query)}"
            )
        return query

    def _wants_preparing(self, query: str | SimpleStatement) -> bool:
        """Return True if the CQL has bind markers, so that it must be prepared first."""
        text = query if isinstance(query, str) else query.query_string
        return parameters_of(text) is MarkerKind.MARKERS

    def _prepared_for(self, query: str | SimpleStatement) -> PreparedStatement | None:
        """Return the prepared statement of an earlier execution of the same CQL, or None."""
        # The keyspace is part of the key, because unqualified names mean different tables in
        # different keyspaces.
        if isinstance(query, str):
            return self._prepared_texts.get((self.keyspace, query))
        return self._prepared_texts.get((query.keyspace or self.keyspace, query.query_string))

    def _bind_text(
        self, query: str | SimpleStatement, prepared: PreparedStatement, parameters: Parameters
    ) -> BoundStatement:
        """Bind the parameters to the statement that was prepared for `query`.

        The settings of `query`, for example its consistency level, are copied to the bound
        statement.
        """
        bound: BoundStatement = prepared.bind(parameters)
        # All executions of the same CQL share the prepared statement, so it cannot store the
        # settings of `query`. Copy them to each bound statement.
        if isinstance(query, SimpleStatement):
            bound.take_settings(query)
            bound.serial_consistency_level = query.serial_consistency_level
        return bound

    # -- request bodies ----------------------------------------------------------------------------

    def _keyspace_to_send(self, keyspace: str | None) -> str | None:
        """Return `keyspace` if requests can contain a keyspace, otherwise None.

        Before protocol version 5, requests have no field for a keyspace, and the connection's
        keyspace applies instead.
        """
        return keyspace if self._engine.core.protocol_version >= 5 else None

    def _body_of(
        self, statement: SimpleStatement | BoundStatement, parameters: Parameters
    ) -> AnyBody:
        """Create the body of a statement that is not a batch."""
        if isinstance(statement, BoundUse):
            return UseBody(statement.prepared_statement.query_string)
        if isinstance(statement, BoundStatement):
            prepared = self._engine.core.preparer.own_statement(statement.prepared_statement)
            return ExecuteBody(prepared, statement.block)
        text = statement.query_string
        if parameters is not None:
            # The server does not see these parameters: the driver writes them into the CQL.
            if type(parameters) not in _USUAL_PARAMETERS:
                check_parameters(parameters, named=False)
            else:
                used_keyspace = statement.keyspace or self.keyspace
                metadata = self._engine.core.metadata
                warn_of_timestamp_literals(
                    text,
                    parameters,  # type: ignore[arg-type]  # checked
                    metadata,
                    used_keyspace,
                )
            text = bind_params(text, parameters, self.encoder)  # type: ignore[arg-type]  # checked
        if text[:1] in FIRST_OF_USE and is_use(text):
            return UseBody(text)
        keyspace = statement.keyspace
        return QueryBody(text, self._keyspace_to_send(keyspace), keyspace or self.keyspace)

    def _resolve_and_render(
        self,
        body: AnyBody,
        statement: Statement,
        options: CallOptions,
        resolved: AnyBody | None = None,
    ) -> AnyBody:
        """Set the settings of `body`, and render it for the wire format that most connections have.

        If a listener or a user-defined protocol handler may change the request, return a
        `MessageBody` instead. It is encoded at each attempt, after the changes.

        :param resolved: another body of the same call, whose settings are copied; None to resolve
            the settings now. A call must generate its timestamp only once, because a second
            timestamp could be later than the timestamps of later calls. If `resolved` is a
            `MessageBody`, the settings that listeners have changed are copied, too.
        """
        if resolved is None:
            happy_path.resolve(body, self, statement, options)
            message_body = self._with_message(body)
            # Do not render the body now: user code may change the message, so the message is
            # encoded at each attempt.
            if message_body is not body:
                return message_body
        elif isinstance(resolved, MessageBody):
            copy_parameters(body, resolved.inner)
            return resolved.succeed(body, message_of(body))
        else:
            copy_parameters(body, resolved)
        body.prerender(self._engine.core.wire_format)
        return body

    def _with_message(self, body: AnyBody) -> AnyBody:
        """Return `body`, or a `MessageBody` of it if user code may change the request.

        User code is a request listener or a user-defined protocol handler.
        """
        if not is_changed_by_user_code(self):
            return body
        handler = self.client_protocol_handler
        return MessageBody(message_of(body), handler, body, handler is not ProtocolHandler)

    # -- requests ----------------------------------------------------------------------------------

    def _request(
        self, query: Query, parameters: Parameters, options: CallOptions, on_done: Done
    ) -> Request:
        """Create the request for a call, and encode it in the calling thread.

        The caller must start the request.
        """
        # Bound statements and batches have values already. Ignore the parameters of such calls,
        # because some wrappers of `execute` always pass parameters. Treat empty parameters of a
        # string like None: the string is then sent unchanged, and `%` has no special meaning in it.
        if isinstance(query, (BoundStatement, BatchStatement)) or (
            isinstance(query, _TEXTS) and are_empty(parameters)
        ):
            if parameters is not None and not are_empty(parameters):
                _warn_of_ignored_parameters(query)
            parameters = None
        if parameters is not None and type(parameters) not in _USUAL_PARAMETERS:
            parameters = checked_parameters(parameters)
        # If the query has bind markers, bind the parameters.
        statement: Any
        if type(query) is PreparedStatement:  # the most frequent case
            statement = query.bind(parameters)
        elif isinstance(query, HostTargetingStatement):
            return self._request_to_host(query, parameters, options, on_done)
        else:
            if (
                parameters is not None
                and isinstance(query, _TEXTS)
                and self._wants_preparing(query)
            ):
                prepared = self._prepared_for(query)
                bound: BoundStatement | None = None
                if prepared is not None:
                    # If the values do not fit, another client may have dropped the table and
                    # created it with other types. If the schema still has the types of the prepared
                    # statement, raise the error. Otherwise prepare the CQL again: the error is then
                    # raised only if the values do not fit the new statement either.
                    try:
                        bound = self._bind_text(query, prepared, parameters)
                    except ENCODE_ERRORS:
                        if has_types_of_schema(
                            self._engine.core.metadata, prepared.column_metadata
                        ):
                            raise
                if bound is None:  # the request must prepare the CQL first
                    return self._first_execution(query, parameters, options, on_done, prepared)
                query, parameters = bound, None
            statement = self._statement(query, parameters)
        # This shortcut for bound statements skips methods of the session. If user code may change
        # the request, or the statement is of a subclass, use the general path below.
        if type(statement) is BoundStatement and not is_changed_by_user_code(self):
            request: Request = happy_path.bound_request(
                Request, ExecuteBody, self, self._engine, statement, statement, options, on_done
            )
            if request.vectors != "list":
                check_vectors(request)
            return request
        if isinstance(statement, BatchStatement):
            return self._batch_request(statement, options, on_done)
        unresolved_body = self._body_of(statement, parameters)
        body = self._resolve_and_render(unresolved_body, statement, options)
        # The response to a USE switches the session to another keyspace, which `UseRequest`
        # handles.
        request_class = UseRequest if type(unresolved_body) is UseBody else Request
        return self._request_for(request_class, body, statement, statement, options, on_done)

    def _request_to_host(
        self,
        query: HostTargetingStatement,
        parameters: Parameters,
        options: CallOptions,
        on_done: Done,
    ) -> Request:
        """Create the request for a statement that is wrapped in a `HostTargetingStatement`.

        The request sends the inner statement. The load balancing policy gets the wrapper, which
        contains the host.
        """

        def wrap(statement: Any) -> HostTargetingStatement:
            if statement is query.inner_statement:
                return query
            return HostTargetingStatement(statement, query.target_host)

        request = self._request(query.inner_statement, parameters, options, on_done)
        request.statement = wrap(request.statement)
        # A `PreparingRequest` replaces its statement after the PREPARE: wrap the new statement,
        # too.
        if isinstance(request, PreparingRequest):
            bind_inner = request.bind_to

            def bind_wrapped(prepared: list[PreparedStatement]) -> tuple[Any, AnyBody]:
                statement, body = bind_inner(prepared)
                return wrap(statement), body

            request.bind_to = bind_wrapped
        return request

    def _request_for(
        self,
        request_class: type[R],
        body: AnyBody,
        statement: Statement,
        target: Query,
        options: CallOptions,
        on_done: Done,
    ) -> R:
        """Create a request from a body that is ready to be sent.

        :param statement: the statement whose settings apply.
        :param target: the statement that load balancing policies get; usually `statement` itself.
        """
        request: R = happy_path.request_for(
            request_class, body, self, self._engine, statement, target, options, on_done
        )
        check_vectors(request)
        return request

    def _first_execution(
        self,
        query: str | SimpleStatement,
        parameters: Parameters,
        options: CallOptions,
        on_done: Done,
        outdated: PreparedStatement | None,
    ) -> Request:
        """Create the request for a CQL string with bind markers that is not prepared yet.

        The request first prepares the CQL, and then calls `bind_to` to get the body to execute.

        :param outdated: the prepared statement of an earlier execution, whose types the values do
            not fit. None if there is no such statement.
        """
        statement = SimpleStatement(query) if isinstance(query, str) else query
        # Copy the parameters, because they are bound only after the PREPARE, and the application
        # may change its object before that.
        parameters = snapshot(parameters)

        def bind_to(prepared: list[PreparedStatement]) -> tuple[BoundStatement, AnyBody]:
            bound = self._bind_text(statement, prepared[0], parameters)
            # The bound statement contains the values, so the body needs no parameters.
            body = self._body_of(bound, parameters=None)
            return bound, self._resolve_and_render(body, bound, options, resolved)

        # Until the CQL is prepared, the request needs another body. That body stores the settings,
        # and describes the request in error messages, without the parameters. `bind_to` copies the
        # settings from `resolved`, which is set below.
        unprepared = self._body_of(statement, parameters=None)
        request = self._preparing_request(
            unprepared, statement, target=statement, options=options, on_done=on_done
        )
        resolved = request.request_body
        request.texts = [(statement.keyspace, statement.query_string)]
        if outdated is not None:
            request.outdated = (outdated,)
        request.bind_to = bind_to
        return request

    def _happy_batch(
        self, batch: BatchStatement, options: CallOptions, on_done: Done
    ) -> Request | None:
        """Create the request for a batch of rows of one prepared statement, added with `add_many`.

        Returns None for any other batch. `happy_path.HappyPath` calls this after it has checked
        that no user code may change the request.

        :param on_done: called with the request when it is over.
        """
        # `add_many` makes a single entry with all rows of one prepared statement.
        entries = batch.sealed_entries()
        if len(entries) != 1:
            return None
        rows = entries[0]
        if not isinstance(rows, BoundRows):
            return None
        # These are steps 2 and 3 in the head of this module, without message objects.
        keyspace = self._keyspace_to_send(batch.own_keyspace)
        prepared = self._engine.core.preparer.own_statement(rows.prepared)
        body = BatchBody(batch.batch_type.value, ((prepared, rows.block),), keyspace)
        happy_path.resolve(body, self, batch, options)
        body.prerender(self._engine.core.wire_format)
        self._warn_if_large(body, batch)
        return self._request_for(Request, body, batch, batch, options, on_done)

    def _batch_request(self, batch: BatchStatement, options: CallOptions, on_done: Done) -> Request:
        """Create the request for a batch.

        If the batch has CQL strings with bind markers that are not prepared yet, the request first
        prepares them.
        """
        entries = batch.sealed_entries()
        texts = texts_of(entries)
        # Unqualified names are looked up in the keyspace that the request contains, if the protocol
        # version allows that. Otherwise they are looked up in the batch's own keyspace, or the
        # session's.
        working_keyspace = batch.expected_keyspace or self.keyspace
        keyspace = self._keyspace_to_send(batch.own_keyspace)
        effective_keyspace = keyspace or working_keyspace
        # CQL strings with bind markers are prepared in the same keyspace in which the other CQL
        # strings of the batch are executed.
        prepare_keyspace = self._keyspace_to_send(batch.keyspace) or working_keyspace
        # If the batch has no keyspace setting, `borrowed` is the keyspace of its first prepared
        # statement, or of the session. As in cassandra-driver, the batch's CQL strings use it.
        borrowed, current = prepare_keyspace, self.keyspace
        if batch.expected_keyspace is None and borrowed and current and borrowed != current:
            warn_of_borrowed_keyspace(entries, borrowed, current)
        if prepare_keyspace is not None:
            for ignored_keyspace in batch.keyspaces_without_effect(prepare_keyspace):
                warn_of_ignored_keyspace(ignored_keyspace, prepare_keyspace)
        cached_statements = [
            self._prepared_texts.get((keyspace_of_text or prepare_keyspace, text))
            for keyspace_of_text, text in texts
        ]

        def make_target_and_body(
            prepared_statements: Sequence[PreparedStatement | None], resolved: AnyBody | None = None
        ) -> tuple[BatchStatement, AnyBody]:
            """Return the batch for load balancing policies, and its body."""
            # Bind the rows of the CQL strings, which have been prepared by now.
            statements = batch_statements(
                entries,
                dict(zip(texts, prepared_statements, strict=True)),
                self._engine.core.preparer.prepared_by_id,
            )
            preparer = self._engine.core.preparer
            if any(
                prepared is not None and prepared._home is not preparer.home
                for prepared, _ in statements
            ):
                statements = [
                    (preparer.own_statement(prepared) if prepared is not None else None, values)
                    for prepared, values in statements
                ]
            batch_body = BatchBody(batch.batch_type.value, statements, keyspace, effective_keyspace)
            body = self._resolve_and_render(batch_body, batch, options, resolved)
            self._warn_if_large(body, batch)
            target = routed(batch, entries, statements) if texts else batch
            return target, body

        is_outdated = False
        if None not in cached_statements:
            try:
                target, body = make_target_and_body(cached_statements)
            except ENCODE_ERRORS:
                if all(
                    has_types_of_schema(self._engine.core.metadata, prepared.column_metadata)
                    for prepared in cached_statements
                    if prepared is not None
                ):
                    raise
                is_outdated = True  # as for a single string, prepare the strings again
            else:
                return self._request_for(Request, body, batch, target, options, on_done)
        known = [prepared for prepared in cached_statements if prepared is not None]
        # Until the CQL strings are prepared, the request needs another body. That body stores the
        # settings, and describes the request in error messages.
        unprepared = BatchBody(batch.batch_type.value, (), keyspace, effective_keyspace)
        request = self._preparing_request(
            unprepared, batch, target=batch, options=options, on_done=on_done
        )
        resolved = request.request_body
        request.texts = texts
        request.cached, request.outdated = ((), known) if is_outdated else (known, ())
        request.working_keyspace = prepare_keyspace
        request.bind_to = lambda prepared: make_target_and_body(prepared, resolved)
        return request

    def _preparing_request(
        self,
        unprepared: AnyBody,
        statement: Statement,
        target: Query,
        options: CallOptions,
        on_done: Done,
    ) -> PreparingRequest:
        """Create a request that first prepares statements.

        The caller must set its `texts` and `bind_to`.

        :param unprepared: the body until the statements are prepared. It stores the settings, and
            describes the request in error messages.
        :param statement: the statement whose settings apply to the request.
        :param target: the statement that load balancing policies get.
        """
        happy_path.resolve(unprepared, self, statement, options)
        # Listeners are called before the statements are prepared, and may change the message. So
        # create the message now.
        body = self._with_message(unprepared)
        request = self._request_for(PreparingRequest, body, statement, target, options, on_done)
        request.prepared_texts = self._prepared_texts
        request.working_keyspace = self.keyspace
        request.cached = request.outdated = ()
        return request

    def _warn_if_large(self, body: AnyBody, batch: BatchStatement) -> None:
        """Log a warning if the server will probably reject the batch because of its size."""
        limit = self.batch_size_warn_threshold
        if limit is not None and body.size > limit and self._batch_warnings.is_due():
            warn_of_size(body, batch, limit)
