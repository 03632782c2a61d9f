"""The life of one request: plan -> send -> answer | retry | next host | re-prepare | speculative
twin | time-out.

A request is started on the loop and ends there exactly once, by `on_done(request)` with `response`
or `error` set. Every path leads there: the deadline covers the whole of it, a closed connection
fails the attempts on it, a closed pool fails those that wait for it. Attempts that nobody waits for
any more are left behind as orphans of their connections.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra.engine.failures import as_exception, fault_among
from cassandra.engine.null_positions import null_positions
from cassandra.engine.overrides import refuse_overrides
from cassandra.engine.prepare.again import Reprepare
from cassandra.engine.server_hints import advice_for
from cassandra.engine.server_warnings import log_warnings
from cassandra.errors import (
    ConnectionException,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
    ProtocolError,
    RequestExecutionException,
    RequestValidationException,
    refused_everywhere,
)
from cassandra.policies.retry import FallthroughRetryPolicy, RetryPolicy
from cassandra.protocol.messages.errors import (
    ErrorMessage,
    FunctionFailureMessage,
    IsBootstrappingErrorMessage,
    OverloadedErrorMessage,
    PreparedQueryNotFound,
    ReadFailureMessage,
    ReadTimeoutErrorMessage,
    ServerError,
    SyntaxException,
    TruncateError,
    UnavailableErrorMessage,
    WriteFailureMessage,
    WriteTimeoutErrorMessage,
)
from cassandra.protocol.opcodes import (
    RESULT_KIND_SCHEMA_CHANGE,
    RESULT_KIND_SET_KEYSPACE,
    WARNING_FLAG,
)
from cassandra.query.statement import query_head

if TYPE_CHECKING:
    from cassandra.engine import happy_path
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import Attempt, RequestBase
    from cassandra.engine.pools.pool import HostPool
    from cassandra.engine.request_bodies import AnyBody
    from cassandra.errors import ReadTimeout, Unavailable, WriteTimeout
    from cassandra.metadata.host import Host
    from cassandra.policies.retry import Decision
else:
    from cassandra._impl import happy_path

    RequestBase = happy_path.RequestBase

log = logging.getLogger("cassandra.cluster")

NO_HOST_LEFT = "Unable to complete the operation against any hosts"

_CUSTOM_PAYLOAD = 0x04  # native_protocol_v5.spec, section 2.4.1.2
_TABLET_PAYLOADS = ("tablets-routing-v1", "tablets-routing-v2")

_DECISIONS = {
    RetryPolicy.RETRY: "retry",
    RetryPolicy.RETHROW: "rethrow",
    RetryPolicy.IGNORE: "ignore",
    RetryPolicy.RETRY_NEXT_HOST: "retry next host",
}


_RETRIES = (RetryPolicy.RETRY, RetryPolicy.RETRY_NEXT_HOST)


# Steps that the compiled base class takes without looking their names up.
_IN_ONE_PASS = frozenset(
    {
        "choose",
        "end",
        "fail",
        "finish",
        "learn",
        "on_answer",
        "send",
        "send_to",
        "try_next_host",
        "version_block",
    }
)


class Request(RequestBase):
    """One execution of one statement, or of one of its pages, with all that may go wrong."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Refuse to override steps that would be passed over."""
        refuse_overrides(cls, Request, _IN_ONE_PASS)

    def for_page(self, paging_state: bytes, on_done: Callable[[Request], None]) -> Request:
        """A request for another page of the same execution."""
        self.request_body.set_paging_state(paging_state)
        following: Request = self.again(Request, on_done)
        return following

    def on_timeout(self) -> None:
        """The deadline of the whole request has passed."""
        if self.done:
            return
        # The wheel has dropped the slot already: `end` must not look for it.
        self._timer_slot = -1
        # A change of the schema: only the nodes' agreement takes longer.
        if self.response is not None:
            self.finish(self.response)
            return
        last = self.attempts[-1] if self.attempts else None
        connection = last.connection if last is not None else None
        errors: dict[Any, Any] = dict(self.errors)
        if last is not None and last.host not in errors:
            errors[str(last.host.endpoint)] = (
                "no answer within the client's time; see Session.execute(timeout=...)"
                if last.stream >= 0 or last.latency is not None
                else "not sent: its connection was not in the keyspace of the request in time"
            )
        elif not errors:
            errors["(no host)"] = self._why_not_sent()
        error = OperationTimedOut(
            errors,
            last.host.endpoint if last is not None else None,
            timeout=self.timeout,
            in_flight=connection.in_flight if connection is not None else None,
            statement=self.request_body.describe(),
        )
        if last is not None and last.error is None:
            last.error = error
            last.latency = self.session.timers.clock() - last.started
        self._tell_failure(last.host if last is not None else None, error, None)
        self.fail(error)

    def _why_not_sent(self) -> str:
        if self.timeout is not None and self.timeout <= 0:
            return "the time was over before the request was sent"
        throttle = self.session.throttle
        if throttle is not None and self._plan is None:
            return f"the throttler let others go first within the client's time ({throttle!r})"
        return "no connection had room for the request within the client's time"

    # -- sending -----------------------------------------------------------------------------------

    def on_no_connection(self, host: Host, pool: HostPool | None) -> None:
        if pool is None:
            # The error of an attempt at this host says more than that it has no pool now.
            if host not in self.errors:
                self.errors[host] = self.session.why_no_pool(host)
        elif pool.is_worth_waiting_for:
            # The first one of the plan, because the policy prefers it.
            if self._busy is None:
                self._busy = pool
        else:
            self.errors[host] = ConnectionException(f"no open connection to {host}", host.endpoint)

    def on_plan_exhausted(self) -> None:
        """Wait for a busy host; fail if no host is left that could answer."""
        busy, self._busy = self._busy, None
        # Asked again: its last connection may be gone since the plan passed it.
        if busy is not None and busy.is_worth_waiting_for:
            try:
                busy.wait_for_room(self)
            except NoConnectionsAvailable as error:
                self.errors[busy.host] = error
            else:
                self._waits += 1
                return
        if not self._is_under_way() and not self.session.core.query_fallback.take(
            self.session, self
        ):
            self.fail(self._plan_exhausted())

    def _is_under_way(self) -> bool:
        """True if an answer may still come: an attempt waits for it, or one will be made."""
        return self._waits > 0 or any(attempt.stream >= 0 for attempt in self.attempts)

    def on_room(self, host: Host, connection: Connection) -> None:
        """A host that was busy has room."""
        self._waits -= 1
        self.send_to(host, connection)

    def _plan_exhausted(self) -> Exception:
        """Each host's error; a server's own refusal is the error, too, if it came last."""
        if not self.errors:
            return NoHostAvailable("Unable to complete the operation: the query plan is empty", {})
        shown = {str(host): error for host, error in self.errors.items()}
        last = self.attempts[-1].error if self.attempts else None
        if isinstance(last, (RequestExecutionException, ServerError)):
            return refused_everywhere(NO_HOST_LEFT, shown, last)
        error = NoHostAvailable(NO_HOST_LEFT, shown)
        error.__cause__ = fault_among(self.errors.values())
        return error

    def resend(self, attempt: Attempt) -> None:
        """The same attempt once more on its connection, after the statement was prepared there."""
        self._waits -= 1
        connection = attempt.connection
        if self.done:
            return
        if connection is None or connection.closed:
            self.on_attempt_failed(
                attempt, ConnectionException(f"connection to {attempt.host} was closed")
            )
        elif not connection.has_room or (connection.is_given_up and self.request_body.depends):
            self._waits += 1
            self.on_not_sent(attempt, connection.refusal())
        else:
            self.send(attempt, connection)

    def on_not_sent(self, attempt: Attempt, error: Exception) -> None:
        """The connection of an attempt that waited at its gate takes no further requests."""
        self._waits -= 1
        if self.done:
            return
        if self.session.closed:
            self.fail(self.session.closed_error())
            return
        attempt.error = error
        self.errors[attempt.host] = error
        # The host is not to blame, and has another connection, or will have one.
        pool = self.session.pools.get(attempt.host)
        if pool is not None and self._busy is None and pool.is_worth_waiting_for:
            self._busy = pool
        self._retry(attempt.host)

    def on_reprepare_failed(self, attempt: Attempt, error: Exception) -> None:
        """The connection broke while the statement was prepared on it again."""
        self._waits -= 1
        self.on_attempt_failed(attempt, error)

    def on_pool_closed(self, host: Host, error: Exception) -> None:
        """The host that the request waited for has no connection any more."""
        self._waits -= 1
        self.errors[host] = error
        if self.session.closed:
            self.fail(self.session.closed_error())
        else:
            self._retry(None)

    # -- answers -----------------------------------------------------------------------------------

    def on_other_answer(
        self, attempt: Attempt, connection: Connection, opcode: int, flags: int, body: bytes
    ) -> None:
        try:
            response = self.session.decode(self, attempt, connection, opcode, flags, body)
        except Exception as error:
            attempt.error = error
            connection.close(
                error
                if isinstance(error, ProtocolError)
                else ProtocolError(f"{connection.endpoint}: an answer could not be read: {error}")
            )
            self.fail(error)
            return
        if flags & WARNING_FLAG:
            log_warnings(getattr(response, "warnings", None) or ())
        if isinstance(response, ErrorMessage):
            self._on_error(attempt, connection, response)
            return
        if flags & _CUSTOM_PAYLOAD:
            self._learn_from(response)
        kind = getattr(response, "kind", None)
        if kind == RESULT_KIND_SET_KEYSPACE:
            self.session.take_keyspace(response.new_keyspace, connection, self, response)
        elif kind == RESULT_KIND_SCHEMA_CHANGE:
            self.session.on_schema_change(response.schema_change_event, connection, self, response)
        else:
            self.finish(response)

    def _learn_from(self, response: Any) -> None:
        """Take a server's word about a tablet beside warnings, a tracing id, or other payloads."""
        told: Mapping[str, bytes | None] | None = getattr(response, "custom_payload", None)
        for name in _TABLET_PAYLOADS:
            payload = told.get(name) if told is not None else None
            if payload is not None:
                self.learn(payload)

    def _on_error(self, attempt: Attempt, connection: Connection, message: ErrorMessage) -> None:
        error = message.to_exception()
        _say_where(error, f"(from {attempt.host}, executing {self.request_body.describe()})")
        advice = _advice_for(error, self.request_body)
        if advice is not None:
            _say_where(error, f"({advice})")
        nulls = null_positions(error, self.request_body)
        if nulls is not None:
            _say_where(error, nulls)
        attempt.error = error
        core = self.session.core
        observe = core.on_latency if isinstance(message, _WORKED_FOR) else core.on_refusal
        if observe is not None:
            assert attempt.latency is not None
            observe(attempt.host, attempt.latency)
        # Not a question for the retry policy: the request was not executed, and can simply be
        # repeated.
        if isinstance(message, PreparedQueryNotFound):
            self._on_unprepared(attempt, connection, message)
            return
        for kind, ask in _RETRY_QUESTIONS:
            if isinstance(message, kind):
                self._ask_and_apply(attempt, error, ask, message)
                return
        self._tell_failure(attempt.host, error, None)
        self.fail(error)

    def _tell_failure(self, host: Host | None, error: BaseException, decision: int | None) -> None:
        observe = self.session.core.on_failure
        if observe is not None:
            observe(host, error, decision)

    def on_attempt_failed(self, attempt: Attempt, error: Exception) -> None:
        """The connection broke under an attempt; the server may have executed it, or not."""
        if self.done:
            return
        if self.session.closed:  # no policy is asked: nothing can be tried any more
            attempt.error = error
            self.fail(self.session.closed_error())
            return
        attempt.latency = self.session.timers.clock() - attempt.started
        attempt.error = error
        self._ask_and_apply(attempt, error, _ask_request_error, None)

    def _ask_and_apply(
        self, attempt: Attempt, error: Exception, ask: Callable[..., Any], message: Any
    ) -> None:
        try:
            self._apply(attempt, error, ask(self, message, error))
        except (
            BaseException
        ) as fault:  # of the policy, or of what it decided: the request must come to its end
            self.fail(as_exception(fault))

    def _apply(self, attempt: Attempt, error: Exception, decision: Decision) -> None:
        """Follow the retry policy's decision: (decision, consistency[, delay in seconds])."""
        self.errors[attempt.host] = error
        kind, consistency = decision[0], decision[1]
        # The delay is optional: policies that give pairs are the usual ones.
        delay = decision[2] if len(decision) > 2 else 0
        attempt.decision = _DECISIONS.get(kind, str(kind))
        self._tell_failure(attempt.host, error, kind)
        if self.observed is not None and kind in _RETRIES:
            self.observed._retry(attempt, error, attempt.decision)
        if kind == RetryPolicy.IGNORE:
            self.finish(None)
        elif kind in _RETRIES:
            self.retries += 1
            if consistency is not None:
                self.request_body.set_consistency(consistency)
            host = attempt.host if kind == RetryPolicy.RETRY else None
            if delay:
                self._waits += 1
                self._retry_handle = _DelayedRetry(self, host, delay)
            else:
                self._retry(host)
        elif self._is_under_way():
            pass  # a speculative twin is in flight and may still answer
        else:
            self.fail(self._rethrown(error))

    def _rethrown(self, error: Exception) -> Exception:
        """Return the error of a request that is not tried on another host.

        Other drivers try it there, idempotent or not, and raise NoHostAvailable in the end: a
        server's error is both.
        """
        if (
            not isinstance(error, _ASKED_AS_REQUEST_ERRORS)
            or getattr(self.statement, "is_idempotent", False)
            # It raises errors as they are, with any driver.
            or isinstance(self.retry_policy, FallthroughRetryPolicy)
        ):
            return error
        shown = {str(host): reason for host, reason in self.errors.items()}
        both = refused_everywhere(NO_HOST_LEFT, shown, error)
        both.__cause__ = error.__cause__
        return both

    def retry_now(self, host: Host | None) -> None:
        """The delay that the retry policy wanted is over."""
        self._waits -= 1
        self._retry(host)

    def _retry(self, host: Host | None) -> None:
        if self.done:
            return
        try:
            self._send_again(host)
        except BaseException as fault:  # of a query plan
            self.fail(as_exception(fault))

    def _send_again(self, host: Host | None) -> None:
        pool = self.session.pools.get(host) if host is not None else None
        connection = self.choose(host, pool) if host is not None and pool is not None else None
        if host is not None and connection is not None:
            self.send_to(host, connection)
        else:
            self.try_next_host()

    # -- prepared statements that the server has forgotten -----------------------------------------

    def _on_unprepared(
        self, attempt: Attempt, connection: Connection, message: ErrorMessage
    ) -> None:
        """Prepare it on this host and try again, once an attempt: native_protocol_v5.spec, section
        8, Unprepared.
        """
        prepared = self.request_body.prepared_by(message.info)
        error = attempt.error
        assert error is not None
        # A second time would be a loop: the server forgets what it has just prepared.
        if prepared is None or prepared in attempt.reprepared:
            if prepared is not None:
                _say_where(
                    error,
                    f"(by {attempt.host}, which has just prepared "
                    f"{query_head(prepared.query_string, 200)})",
                )
            self.fail(error)
            return
        attempt.decision = "prepare"
        if self.observed is not None:
            self.observed._retry(attempt, error, attempt.decision)
        attempt.reprepared += (prepared,)
        self._waits += 1
        Reprepare(self, attempt, prepared, connection).start()

    # -- speculative executions --------------------------------------------------------------------

    def start_speculation(self) -> None:
        self._speculation = self.speculative_policy.new_plan(self.session.keyspace, self.statement)
        self._schedule_speculation()

    def _schedule_speculation(self) -> None:
        if self.done:
            return
        delay = self._speculation.next_execution(self.attempts[-1].host if self.attempts else None)
        if delay >= 0:
            self._speculation_handle = self.session.loop.call_later(delay, self._speculate)

    def _speculate(self) -> None:
        if self.done:
            return
        if self.observed is not None:
            self.observed._speculation()
        try:
            self.try_next_host()
            self._schedule_speculation()
        except BaseException as fault:  # of a policy
            self.fail(as_exception(fault))


class _DelayedRetry:
    """A retry that is put off. The session knows it meanwhile, so that its end is the request's
    end, too.
    """

    __slots__ = ("_handle", "_host", "_request")

    def __init__(self, request: Request, host: Host | None, delay: float) -> None:
        self._request = request
        self._host = host
        self._handle = request.session.loop.call_later(delay, self._retry)
        request.session.delayed.add(self)

    def _retry(self) -> None:
        self._request.session.delayed.discard(self)
        self._request.retry_now(self._host)

    def cancel(self) -> None:
        """The request is over."""
        self._handle.cancel()
        self._request.session.delayed.discard(self)

    def fail(self, error: Exception) -> None:
        """The session is closed."""
        self._request.fail(error)


def _advice_for(error: Exception, request_body: AnyBody) -> str | None:
    """Return what to write instead of a statement that the server refuses; None if unknown."""
    if not isinstance(error, RequestValidationException):
        return None
    text = getattr(request_body, "query", None) or request_body.statement_text()
    # Without the values: the advice is about what the program has written.
    template = getattr(text, "template", text) or ""
    return advice_for(str(error), template, isinstance(error, SyntaxException))


def _say_where(error: Exception, where: str) -> None:
    """Note at a server's refusal which server it was, and the statement.

    Its text stays as servers and programs know it. Python 3.11 and later show notes in tracebacks.
    """
    vars(error).setdefault("__notes__", []).append(where)


def _ask_read_timeout(
    request: Request, message: ErrorMessage | None, error: ReadTimeout
) -> Decision:
    decision: Decision = request.retry_policy.on_read_timeout(
        request.statement,
        consistency=error.consistency,
        required_responses=error.required_responses,
        received_responses=error.received_responses,
        data_retrieved=error.data_retrieved,
        retry_num=request.retries,
    )
    return decision


def _ask_write_timeout(
    request: Request, message: ErrorMessage | None, error: WriteTimeout
) -> Decision:
    decision: Decision = request.retry_policy.on_write_timeout(
        request.statement,
        consistency=error.consistency,
        write_type=error.write_type,
        required_responses=error.required_responses,
        received_responses=error.received_responses,
        retry_num=request.retries,
    )
    return decision


def _ask_unavailable(
    request: Request, message: ErrorMessage | None, error: Unavailable
) -> Decision:
    decision: Decision = request.retry_policy.on_unavailable(
        request.statement,
        consistency=error.consistency,
        required_replicas=error.required_replicas,
        alive_replicas=error.alive_replicas,
        retry_num=request.retries,
    )
    return decision


def _ask_request_error(
    request: Request, message: ErrorMessage | None, error: Exception
) -> Decision:
    decision: Decision = request.retry_policy.on_request_error(
        request.statement,
        consistency=request.request_body.consistency,
        error=error if message is None else message,
        retry_num=request.retries,
    )
    return decision


# What a host has asked replicas for, or executed. Other errors can be answered at once: an
# overloaded host would look fast by them.
_WORKED_FOR = (
    ReadTimeoutErrorMessage,
    WriteTimeoutErrorMessage,
    ReadFailureMessage,
    WriteFailureMessage,
    FunctionFailureMessage,
)

# What `RetryPolicy.on_request_error` decides about, as the errors that callers see.
_ASKED_AS_REQUEST_ERRORS = (
    OverloadedErrorMessage,
    IsBootstrappingErrorMessage,
    TruncateError,
    ServerError,
)

_RETRY_QUESTIONS: tuple[tuple[Any, Callable[[Request, Any, Any], Any]], ...] = (
    (ReadTimeoutErrorMessage, _ask_read_timeout),
    (WriteTimeoutErrorMessage, _ask_write_timeout),
    (UnavailableErrorMessage, _ask_unavailable),
    (OverloadedErrorMessage, _ask_request_error),
    (IsBootstrappingErrorMessage, _ask_request_error),
    (TruncateError, _ask_request_error),
    (ServerError, _ask_request_error),
)
