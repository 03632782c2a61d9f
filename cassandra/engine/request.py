"""The course of one request: query plan, attempts, responses, retries, speculation and timeout.

`RequestBase` (`cassandra.engine.happy_path`) handles success; the subclass `Request` handles
everything that can go wrong. A request is started on the loop, or in a user thread by
`start_directly`. It ends exactly once: `end` calls `on_done(request)` after `finish` has set
`response` or `fail` has set `error`. That happens on the loop, unless the loop is closed.

A request takes hosts from its query plan. For each host it takes a connection with a free stream
from the session's pool. It never opens connections: pools refill themselves. Each time the request
is sent, a new `Attempt` waits for the response on a stream of the connection.

The following objects continue a request that waits; all of them run on the loop:

* The connection passes the response to the attempt, which calls `on_answer`. A response other than
  VOID or rows with cached columns goes on to `on_other_answer`. If the connection is lost, it calls
  `on_attempt_failed`, where the retry policy decides what follows.
* If no host of the plan has a free stream, the request waits at the first pools whose connections
  are open but full (`RoomWait`). The first of these pools with a free stream calls `on_room`. The
  pools may also call `on_pool_closed` or `on_pool_draining`.
* The plan may be exhausted after an attempt on a connection that had broken before, without our
  notice. In that case the request waits once, in the same way, for the connection that its pool
  opens instead.
* If the connection is in another keyspace than the request needs, the request may wait at the
  connection's keyspace gate. The gate calls `resend` when the connection is in the right keyspace,
  or `on_not_sent` if the connection is replaced.
* If the server has forgotten a prepared statement, `Reprepare` prepares it and then calls `resend`.
  If preparing fails, it calls `on_reprepare_failed`, `on_not_sent` or `fail`.
* A retry with a delay is a `_DelayedRetry`. Its timer calls `retry_now`; if the session is closed
  first, the request fails.
* The speculation timer calls `_speculate`, which sends one more attempt while others are in flight.
* After a USE, the session switches its other connections; after a DDL statement, it waits for
  schema agreement. During that time `response` is set, but `done` is False, and nothing sends the
  request again (`is_answered`). Finally the session finishes the request with the response.
* The throttler calls `start_admitted`. At any time, the timer wheel may call `on_timeout`, and the
  caller may call `cancel`.

`_waits` counts the steps that will continue the request although no attempt is in flight. These are
waiting for a pool or a gate, a PREPARE, and a delayed retry. A request whose plan is exhausted
fails only if `_waits` is 0 and no attempt is in flight. If the application has allowed
`ControlConnectionQueryFallback`, such a request uses the control connection instead of failing.

When a request ends, its attempts that are still in flight become orphans of their connections.
Nobody waits for their responses, but their stream ids cannot be reused until the responses come.

The meanings of None:

* `response` and `error` are None until the request is over; only after a USE or DDL statement,
  `response` is set earlier (see above). If `done` is True and both are None, the retry policy has
  decided to ignore the error.
* `timeout` is None for no limit. `target` is None if the request may go to any host of the plan.
* The `host` of a retry is None for the next host of the plan.
* A `pool` is None if the session has no pool to that host.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._attempts import deciding_attempt
from cassandra._habits import class_advice
from cassandra._logs import Log
from cassandra.cqltypes.failures import add_note
from cassandra.engine.datacenters import unknown_local_datacenter
from cassandra.engine.failures import as_exception, fault_among
from cassandra.engine.faulty_vectors import faulty_vectors
from cassandra.engine.heartbeats import SILENCE
from cassandra.engine.null_positions import null_positions
from cassandra.engine.overrides import refuse_overrides
from cassandra.engine.pools.room_wait import MOST_AWAITED, RoomWait
from cassandra.engine.prepare.reprepare import Reprepare
from cassandra.engine.serial_reads import in_order
from cassandra.engine.server_hints import advice_for, advice_for_timeout
from cassandra.engine.server_warnings import log_warnings
from cassandra.engine.targets import named_host, plan_to
from cassandra.errors import (
    ConnectionException,
    DriverException,
    NoHostAvailable,
    OperationTimedOut,
    ProtocolError,
    ReadFailure,
    ReadTimeout,
    RequestExecutionException,
    RequestValidationException,
    UnknownContent,
    WriteType,
    refused_everywhere,
)
from cassandra.metadata.host import Host
from cassandra.policies.plan_limit import limited
from cassandra.policies.retry import FallthroughRetryPolicy, LWTRetryPolicy, RetryPolicy
from cassandra.protocol.messages.errors import (
    CASWriteUnknownMessage,
    ErrorMessage,
    FunctionFailureMessage,
    IsBootstrappingErrorMessage,
    OverloadedErrorMessage,
    PreparedQueryNotFound,
    ProtocolException,
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
    import asyncio

    from cassandra.engine import happy_path
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import Attempt, RequestBase
    from cassandra.engine.interfaces import RequestPool
    from cassandra.engine.request_bodies import AnyBody
    from cassandra.errors import Unavailable, WriteTimeout
    from cassandra.policies.retry import Decision
else:
    from cassandra._impl import happy_path

    RequestBase = happy_path.RequestBase

log = Log("cassandra.cluster")

# The reason in OperationTimedOut for an attempt that was in flight.
_NO_ANSWER = "no answer within the client's time; see Session.execute(timeout=...)"
# The messages of NoHostAvailable, and the reason in OperationTimedOut if no stream was free.
EMPTY_PLAN = "Unable to complete the operation: the query plan is empty"
NO_HOST_LEFT = "Unable to complete the operation against any hosts"
NO_ROOM = "no connection had room for the request within the client's time"
# How often an attempt prepares a statement that its host has forgotten. After a schema change, the
# driver itself may have replaced the id, so the count begins again.
MOST_PREPARES = 10
_MAX_FULL = 5  # the maximum number of hosts without a free stream in an error

# The flag of a response with a custom payload (native_protocol_v5.spec, section 2.4.1.2).
_CUSTOM_PAYLOAD = 0x04
# The keys of the custom payload under which ScyllaDB sends tablet data.
_TABLET_PAYLOADS = ("tablets-routing-v1", "tablets-routing-v2")

# The names of the retry policy's actions, for `Attempt.decision`.
_DECISIONS = {
    RetryPolicy.RETRY: "retry",
    RetryPolicy.RETHROW: "rethrow",
    RetryPolicy.IGNORE: "ignore",
    RetryPolicy.RETRY_NEXT_HOST: "retry next host",
}


# The actions that send the request again.
_RETRIES = (RetryPolicy.RETRY, RetryPolicy.RETRY_NEXT_HOST)


# The compiled base class calls these methods directly, without a look-up in the subclass. It would
# ignore an override, so `__init_subclass__` rejects overrides.
_CALLED_DIRECTLY = frozenset(
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
    """One execution of a statement, or the request for one of its pages, with error handling."""

    # True if the request begins with work that only the first loop can do; see `workers`.
    begins_on_first_loop = False

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Raise TypeError if a subclass overrides a method of `_CALLED_DIRECTLY`.

        The compiled base class would ignore such an override.
        """
        refuse_overrides(cls, Request, _CALLED_DIRECTLY)

    def for_page(self, paging_state: bytes, on_done: Callable[[Request], None]) -> Request:
        """Return a request for the page at `paging_state` of the same execution.

        The caller must start the request.
        """
        self.request_body.set_paging_state(paging_state)
        return self.clone(Request, on_done)

    def statement_as_called(self) -> Any:
        """Return the statement for policies that decide whether it may be executed twice.

        Such a policy must see the value of `is_idempotent` at the time of the call. If the
        application has changed the value since, return a copy of the statement with that value.
        """
        if getattr(self.statement, "is_idempotent", None) == self.is_idempotent:
            return self.statement
        statement = copy.copy(self.statement)
        statement.is_idempotent = self.is_idempotent
        return statement

    def on_timeout(self) -> None:
        """End the request with OperationTimedOut, because its timeout has passed."""
        if self.done:
            return
        # The timer wheel has freed the slot already, so `end` must not free it again.
        self._timer_slot = -1
        # If there is a response, a USE or DDL statement was executed, and only the session's work
        # after it takes too long. So complete the request with the response instead of an error.
        if self.response is not None:
            self.finish(self.response)
            return
        last_attempt = self.attempts[-1] if self.attempts else None
        connection = last_attempt.connection if last_attempt is not None else None
        error = OperationTimedOut(
            self._errors_at_timeout(last_attempt),
            last_attempt.host.endpoint if last_attempt is not None else None,
            timeout=self.timeout,
            in_flight=connection.in_flight if connection is not None else None,
            statement=self.request_body.describe(),
        )
        advice = _timeout_advice(error, self.request_body)
        if advice is not None:
            add_note(error, f"({advice})")
        # The last attempt ends here; its `error` and `latency` are public
        # (ResponseFuture.attempts).
        if last_attempt is not None and last_attempt.error is None:
            last_attempt.error = error
            last_attempt.latency = self.session.timers.clock() - last_attempt.started
        for attempt in self.attempts[:-1]:
            if attempt.stream >= 0:  # a speculative execution has not been answered, either
                self._report_failure(attempt.host, error, None)
        self._report_failure(last_attempt.host if last_attempt is not None else None, error, None)
        self.fail(error)

    def _errors_at_timeout(self, last_attempt: Attempt | None) -> dict[Any, Any]:
        """Return the errors of all hosts that were tried, for OperationTimedOut.

        If the last attempt has no error, say whether it was sent. If nothing was sent, say why.
        """
        errors: dict[Any, Any] = dict(self.errors)
        # With speculative executions, several attempts may be in flight.
        for attempt in self.attempts[:-1]:
            if attempt.stream >= 0 and attempt.host not in errors:
                errors[str(attempt.host.endpoint)] = _NO_ANSWER
        if last_attempt is not None and last_attempt.host not in errors:
            # The attempt is in flight, or its response has come and has set the latency.
            was_sent = last_attempt.stream >= 0 or last_attempt.latency is not None
            errors[str(last_attempt.host.endpoint)] = (
                _NO_ANSWER
                if was_sent
                else "not sent: its connection was not in the keyspace of the request in time"
            )
        elif not errors:
            errors.update(self._why_not_sent())
        elif not any(attempt.stream >= 0 for attempt in self.attempts):
            # All attempts have failed, and the request has since waited for a free stream.
            errors.update(self._full_pools())
        return errors

    def _why_not_sent(self) -> dict[str, str]:
        """Return why a request without any attempt was not sent in time, for its error.

        The key is a host if the request waited for full pools, else "(no host)".
        """
        throttle = self.session.throttle
        if self.timeout is not None and self.timeout <= 0:
            reason = (
                f"the time was over before the request was sent, as it is with timeout="
                f"{self.timeout:g}: timeout=None waits without a limit"
            )
        elif throttle is not None and self._plan is None:
            # There is no plan because the throttler has not admitted the request yet.
            reason = f"the throttler let others go first within the client's time ({throttle!r})"
        else:
            full_pools = self._full_pools()
            if full_pools:
                return full_pools
            reason = NO_ROOM
        return {"(no host)": reason}

    def _full_pools(self) -> dict[str, str]:
        """Describe for an error how busy the pools without a free stream are, by host."""
        # Find the pools for which the request could wait, but which have no free stream.
        only_host = named_host(self.target)
        pools = [
            pool
            for pool in self.session.pools.values()
            if (only_host is None or pool.host == only_host)
            and pool.is_worth_waiting_for
            and pool.pick() is None
        ]
        # Describe the first pools only: an error for a large cluster would be too long.
        reasons = {
            str(pool.host.endpoint): f"{NO_ROOM} ({pool.load()}, waiting: {pool.waiting})"
            for pool in pools[:_MAX_FULL]
        }
        if len(pools) > _MAX_FULL:
            reasons["(other hosts)"] = f"{NO_ROOM} ({len(pools) - _MAX_FULL} hosts)"
        return reasons

    @property
    def is_answered(self) -> bool:
        """True if the request must not be sent again.

        Either the request is over, or a server has executed its USE or DDL statement. In the second
        case, only the session's work after the statement is left.
        """
        return self.done or self.response is not None

    # -- sending -----------------------------------------------------------------------------------

    def on_no_connection(self, host: Any, pool: RequestPool | None) -> None:
        """Remember the host's pool if waiting may help; else record why the host is unusable.

        :param host: a host, or any other object that a load balancing policy has returned.
        """
        if not isinstance(host, Host):
            # As in cassandra-driver, continue with the next host of the plan.
            self.errors[host] = ConnectionException(
                f"{type(self.policy).__name__}.make_query_plan has returned {host!r}, which is not "
                "a host of the cluster"
            )
        elif pool is None:
            # If an attempt on this host has failed, keep its error: it says more than the reason
            # why the session has no pool now.
            if host not in self.errors:
                self.errors[host] = self.session.why_no_pool(host)
            self.session.on_missing_pool(host)
        elif pool.is_worth_waiting_for:
            self._remember_busy(pool)
        else:
            self.errors[host] = ConnectionException(f"no open connection to {host}", host.endpoint)

    def _remember_busy(self, pool: RequestPool) -> None:
        """Remember a pool at which the request will wait if all hosts of the plan are busy.

        The load balancing policy returns preferred hosts first, so keep only the first pools.
        """
        if self._busy is None:
            self._busy = []
        if len(self._busy) < MOST_AWAITED and pool not in self._busy:
            self._busy.append(pool)

    def on_plan_exhausted(self) -> None:
        """Wait for a free stream of the first busy hosts of the plan.

        If no host is busy, and no attempt or other step is pending, the request waits for a pool
        that has just lost connections. If there is no such pool, the request uses the control
        connection if the application allows that, else it fails.
        """
        busy_pools, self._busy = self._busy, None
        # Since the plan passed these pools, some may have got free streams. A pool notifies us
        # only when a stream becomes free, and an idle pool never does, so try to send first.
        if busy_pools is not None and (self._send_to_any(busy_pools) or self._wait_at(busy_pools)):
            return
        if self._is_under_way():
            return
        pools = self._pools_of_stale_connections()
        # Do not send to a pool that is opening connections at the moment, because its other
        # connections may be stale, too: wait for a new connection.
        if self._send_to_any(pool for pool in pools if not pool.is_opening) or self._wait_at(pools):
            return
        # `take` sends the request on the control connection, and returns False if the application
        # has not allowed that.
        if not self.session.core.query_fallback.take(self.session, self):
            self.fail(self._plan_exhausted_error())

    def _send_to_any(self, pools: Iterable[RequestPool]) -> bool:
        """Send to the first of `pools` with a free stream; return False if there is none."""
        for pool in pools:
            connection = self.choose(pool.host, pool)
            if connection is not None:
                self.send_to(pool.host, connection)
                return True
        return False

    def _wait_at(self, pools: Iterable[RequestPool]) -> bool:
        """Wait until one of `pools` has a free stream; return False if none can queue it."""
        # Check again: a pool may have lost its last connection since it was recorded.
        if not RoomWait(self).begin(pool for pool in pools if pool.is_worth_waiting_for):
            return False
        self._waits += 1
        return True

    def _pools_of_stale_connections(self) -> list[RequestPool]:
        """Return the pools of the connections that had probably broken before the request was sent.

        Such a connection received nothing for a while before the request, for example because the
        process was suspended or a firewall dropped the connection. The host itself may work, and
        its pool is opening another connection. A request waits for such a pool only once: if it was
        sent to one host twice, no pools are returned.
        """
        hosts = {attempt.host for attempt in self.attempts}
        if len(hosts) < len(self.attempts):  # a host has several attempts
            return []
        pools = [self.session.pools.get(a.host) for a in self.attempts if _was_stale(a)]
        return [pool for pool in pools if pool is not None]

    def _is_under_way(self) -> bool:
        """Return True if an attempt is in flight, or a pending step will send another attempt."""
        return self._waits > 0 or any(attempt.stream >= 0 for attempt in self.attempts)

    def on_room(self, host: Host, connection: Connection) -> None:
        """Send the request on `connection`, which has a free stream.

        Called when the request has waited for a free stream of `host`.
        """
        self._waits -= 1
        if not self.is_answered:
            self.send_to(host, connection)

    def _plan_exhausted_error(self) -> Exception:
        """Return the error of a request whose plan has no host left, with each host's error.

        If the last attempt failed with an error of the server, the returned error is also an
        instance of that error's class.
        """
        if not self.errors:
            return self._empty_plan_error()
        errors_by_name = {str(host): error for host, error in self.errors.items()}
        last_error = self.attempts[-1].error if self.attempts else None
        if isinstance(last_error, (RequestExecutionException, ServerError)):
            return refused_everywhere(self._no_host_left(), errors_by_name, last_error)
        error = NoHostAvailable(self._no_host_left(), errors_by_name)
        error._was_sent = bool(self.attempts)
        error.__cause__ = fault_among(self.errors.values())
        return error

    def _no_host_left(self, is_rethrown: bool = False) -> str:
        """Return the message of an error that contains the errors of all hosts that were tried.

        The message begins with cassandra-driver's. If only one host was tried, it says why.

        :param is_rethrown: True if the statement is not tried on other hosts because it is not
            idempotent.
        """
        if len(self.errors) != 1:
            return NO_HOST_LEFT
        # Only one host was tried: find the reason.
        if named_host(self.target) is not None:
            reason = "the call names it"
        elif len(self.session.core.metadata.all_hosts()) == 1:
            reason = "the cluster has no other"
        elif is_rethrown:
            reason = "no other was, because the statement is not idempotent"
        else:
            reason = "the query plan has no other"
        return f"{NO_HOST_LEFT} (one was tried, {reason})"

    def _empty_plan_error(self) -> NoHostAvailable:
        """Return the error for a query plan without hosts.

        For each host that is down, the error says why the session has no connection to it.
        """
        hosts = self.session.core.metadata.all_hosts()
        unused = [host for host in hosts if not host.is_up]
        # The plan may be empty because it should have been this host's, for which there is no pool.
        if (voter := self.session.host_without_tokens) is not None:
            unused.append(voter)
        errors = {str(host): self.session.why_no_pool(host) for host in unused}
        reason = ""
        if unknown := unknown_local_datacenter([self.policy], hosts):
            reason = f"; {unknown}"
        # A host that nobody has tried to reach (`is_up` is None) is not down, but ignored.
        elif hosts and all(host.is_up is False for host in hosts):
            reason = "; every host is down"
            times = [host.down_since for host in hosts if host.down_since is not None]
            if times:
                reason += f" since {max(times).isoformat(timespec='seconds')}"
        elif hosts:
            reason = f"; {type(self.policy).__name__} returned none of the hosts"
        error = NoHostAvailable(f"{EMPTY_PLAN}{reason}", errors)
        error._was_sent = False
        return error

    def resend(self, attempt: Attempt) -> None:
        """Send an attempt on its connection, after a PREPARE or after waiting at the keyspace gate.

        If the connection can no longer send it, the request tries another connection or host.
        """
        self._waits -= 1
        connection = attempt.connection
        if self.is_answered:
            return
        # The connection may have been lost during the wait: ask the retry policy.
        if connection is None or connection.closed:
            self.on_attempt_failed(
                attempt, ConnectionException(f"connection to {attempt.host} was closed")
            )
        # If the connection cannot take the request any more, try another connection or host.
        elif (
            not connection.has_room
            or connection.is_draining
            or (connection.is_given_up and self.request_body.depends)
        ):
            self._waits += 1  # `on_not_sent` decrements it again
            self.on_not_sent(attempt, connection.refusal())
        else:
            self.send(attempt, connection)

    def on_not_sent(self, attempt: Attempt, error: Exception) -> None:
        """Send the request on another connection to the host, or to the next host.

        Called if an attempt was not sent, because its connection takes no further requests.
        """
        self._waits -= 1
        if self.is_answered:
            return
        if self.session.closed:
            self.fail(self.session.closed_error())
            return
        attempt.error = error
        self.errors[attempt.host] = error
        # If the connection is draining, the host will stop soon, so make a new plan. Hosts that
        # were full when the old plan skipped them may have free streams by now.
        if attempt.connection is not None and attempt.connection.is_draining:
            self._replan()
        # Only this connection cannot be used: the host's pool has or will open another connection.
        # Remember the pool, so that the request waits for it if all other hosts fail.
        pool = self.session.pools.get(attempt.host)
        if pool is not None and pool.is_worth_waiting_for:
            self._remember_busy(pool)
        self._retry(attempt.host)

    def on_reprepare_failed(self, attempt: Attempt, error: Exception) -> None:
        """Use the next host, because `Reprepare` could not prepare the statement on this one.

        The host has not executed the statement, because it does not know it. So the retry policy is
        not asked, and the statement need not be idempotent.

        :param error: the loss of the connection, or an error of the server that other hosts need
            not have.
        """
        self._waits -= 1
        if self.is_answered:
            return
        if self.session.closed:
            self.fail(self.session.closed_error())
            return
        self._use_next_host(attempt, error)

    def _use_next_host(self, attempt: Attempt, error: Exception) -> None:
        """Send the request to the next host after `error`, without asking the retry policy."""
        attempt.error = error
        if attempt.latency is None:  # the connection broke before a response
            attempt.latency = self.session.timers.clock() - attempt.started
        attempt.decision = _DECISIONS[RetryPolicy.RETRY_NEXT_HOST]
        self.errors[attempt.host] = error
        self._report_failure(attempt.host, error, RetryPolicy.RETRY_NEXT_HOST)
        if self.observed is not None:
            self.observed._retry(attempt, error, attempt.decision)
        self._retry(None)

    def on_pool_closed(self, host: Host, error: Exception) -> None:
        """Called when a pool at which the request waits is closed: try the next host."""
        self._waits -= 1
        self.errors[host] = error
        if self.is_answered:
            return
        if self.session.closed:
            self.fail(self.session.closed_error())
        else:
            self._retry(None)

    def on_pool_draining(self, host: Host, error: Exception) -> None:
        """Try all hosts on which no attempt has failed.

        Called when the request waits at a pool that takes no more requests, because its host will
        stop soon.
        """
        self._waits -= 1
        self.errors[host] = error
        if not self.is_answered:
            self._replan()
            self._retry(None)

    def _replan(self) -> None:
        """Make a new query plan, without the hosts on which an attempt has failed.

        The old plan may have skipped hosts that only had no free stream at that time. If the caller
        has chosen a single host, the plan is not changed.
        """
        if named_host(self.target) is None:
            failed_hosts = {attempt.host for attempt in self.attempts if attempt.error is not None}
            if self.target is not None:
                plan = plan_to(self.target, self)
            else:
                level = getattr(self.request_body, "consistency", None)
                # Pass the consistency level to the policy, even if it comes from the profile.
                statement = in_order(self.statement, level)
                plan = self.policy.make_query_plan(self.session.keyspace, statement)
            self._plan = (host for host in limited(plan) if host not in failed_hosts)

    # -- responses ---------------------------------------------------------------------------------

    def on_other_answer(
        self, attempt: Attempt, connection: Connection, opcode: int, flags: int, body: bytes
    ) -> None:
        """Decode a response other than VOID or rows with cached columns, and act on it."""
        try:
            response = self.session.decode(self, attempt, connection, opcode, flags, body)
        except Exception as error:
            # If a response cannot be decoded, nothing else that comes on this connection can be
            # trusted. So close the connection, except if the response follows the protocol, and is
            # only newer than this driver.
            attempt.error = error
            if not isinstance(error, ProtocolError):
                connection.close(
                    ProtocolError(f"{connection.endpoint}: an answer could not be read: {error}")
                )
            elif not isinstance(error, UnknownContent):
                connection.close(error)
            self.fail(error)
            return
        if flags & WARNING_FLAG:
            log_warnings(getattr(response, "warnings", None) or ())
        # `_on_error` handles an error; the rest of this method handles a successful response.
        if isinstance(response, ErrorMessage):
            self._on_error(attempt, connection, response)
            return
        if flags & _CUSTOM_PAYLOAD:
            self._learn_tablet(response)
        # A USE and a DDL statement need further work of the session before the request is complete.
        kind = getattr(response, "kind", None)
        if kind in (RESULT_KIND_SET_KEYSPACE, RESULT_KIND_SCHEMA_CHANGE):
            self._stop_other_attempts()
        if kind == RESULT_KIND_SET_KEYSPACE:
            self.session.adopt_keyspace(response.new_keyspace, connection, self, response)
        elif kind == RESULT_KIND_SCHEMA_CHANGE:
            self.session.on_schema_change(response.schema_change_event, connection, self, response)
        else:
            self.finish(response)

    def _stop_other_attempts(self) -> None:
        """Abandon the other attempts, and cancel the timers that would start further attempts.

        Called when a server has executed a USE or DDL statement. The request ends only when the
        session has done its work after the statement. Until then, another attempt would execute the
        statement a second time, and an error of that attempt would fail the request.
        """
        if self._speculation_handle is not None:
            self._speculation_handle.cancel()
        if self._retry_handle is not None:
            self._retry_handle.cancel()
        for attempt in self.attempts:
            attempt.abandon()

    def _learn_tablet(self, response: Any) -> None:
        """Store the tablet data in the custom payload of a decoded response.

        If the response has no warnings or tracing id, `on_answer` has stored the data already.
        """
        payloads: Mapping[str, bytes | None] | None = getattr(response, "custom_payload", None)
        for name in _TABLET_PAYLOADS:
            payload = payloads.get(name) if payloads is not None else None
            if payload is not None:
                self.learn(payload)

    def _on_error(self, attempt: Attempt, connection: Connection, message: ErrorMessage) -> None:
        """Handle an ERROR message: complete its exception, and act on it."""
        # Add to the error what the server's message does not say: the host and statement, advice,
        # and which values were null or faulty vectors.
        error = message.to_exception()
        if isinstance(error, DriverException):
            for name in ("trace_id", "warnings", "custom_payload"):
                value = getattr(message, name)
                if value is not None:
                    setattr(error, name, value)
        add_note(error, f"(from {attempt.host}, executing {self.request_body.describe()})")
        for find_advice in (_advice_for, _paging_advice, _timeout_advice):
            advice = find_advice(error, self.request_body)
            if advice is not None:
                add_note(error, f"({advice})")
                break
        for find_fault in (null_positions, faulty_vectors):
            note = find_fault(error, self.request_body)
            if note is not None:
                add_note(error, note)
        attempt.error = error
        core = self.session.core
        observe = core.on_latency if isinstance(message, _ERRORS_AFTER_WORK) else core.on_refusal
        if observe is not None:
            assert attempt.latency is not None
            observe(attempt.host, attempt.latency)
        self._act_on_error(attempt, connection, message, error)

    def _act_on_error(
        self, attempt: Attempt, connection: Connection, message: ErrorMessage, error: Exception
    ) -> None:
        """Prepare again, ask the retry policy, or fail with `error`.

        :param error: the exception for `message`.
        """
        # The server has not executed the statement, so preparing and sending it again is safe. The
        # retry policy is not asked.
        if isinstance(message, PreparedQueryNotFound):
            self._on_unprepared(attempt, connection, message)
            return
        for message_class, ask_policy in _RETRY_QUESTIONS:
            if isinstance(message, message_class):
                self._ask_and_apply(attempt, error, ask_policy, message)
                return
        self._report_failure(attempt.host, error, None)
        self.fail(error)

    def _report_failure(
        self, host: Host | None, error: BaseException, decision: int | None
    ) -> None:
        """Report a failed attempt to the observers.

        :param host: None if nothing was sent.
        :param decision: the retry policy's decision; None if the policy was not asked.
        """
        observe = self.session.core.on_failure
        if observe is not None:
            observe(host, error, decision)

    def on_attempt_failed(self, attempt: Attempt, error: Exception) -> None:
        """Ask the retry policy what to do, because the connection of `attempt` broke.

        The server may or may not have executed the request.
        """
        if self.is_answered:
            return
        if self.session.closed:  # do not ask the policy: a closed session cannot retry
            attempt.error = error
            self.fail(self.session.closed_error(was_sent=True))
            return
        attempt.latency = self.session.timers.clock() - attempt.started
        attempt.error = error
        self._ask_and_apply(attempt, error, _ask_request_error, None)

    def _ask_and_apply(
        self, attempt: Attempt, error: Exception, ask: Callable[..., Any], message: Any
    ) -> None:
        """Ask the retry policy what to do after `error`, and do it.

        :param ask: calls the method of the policy for this kind of error, see `_RETRY_QUESTIONS`.
        :param message: the server's ERROR message; None if the connection broke.
        """
        try:
            decision = ask(self, message, error)
            if not _is_decision(decision):
                raise _wrong_decision(self.retry_policy, ask, decision)
            self._apply(attempt, error, decision)
        except BaseException as fault:  # the policy failed, or returned a malformed decision
            self.fail(as_exception(_with_cause(fault, error, self.retry_policy)))

    def _apply(self, attempt: Attempt, error: Exception, decision: Decision) -> None:
        """Carry out the retry policy's decision.

        The decision is a tuple (action, consistency) or (action, consistency, delay in seconds).
        The consistency is None if the request keeps its consistency.
        """
        self.errors[attempt.host] = error
        action, consistency = decision[0], decision[1]
        if action == RetryPolicy.IGNORE and self.request_body.needs_answer:
            action = RetryPolicy.RETHROW
        # Retry policies that were written for cassandra-driver return no delay: retry at once.
        delay = decision[2] if len(decision) > 2 else 0
        attempt.decision = _DECISIONS.get(action, str(action))
        self._report_failure(attempt.host, error, action)
        if self.observed is not None and action in _RETRIES:
            self.observed._retry(attempt, error, attempt.decision)
        if action == RetryPolicy.IGNORE:
            self.finish(None)
        elif action in _RETRIES:
            self.retries += 1
            if consistency is not None:
                self.request_body.set_consistency(consistency)
            host = attempt.host if action == RetryPolicy.RETRY else None
            if delay:
                self._waits += 1
                self._retry_handle = _DelayedRetry(self, host, delay)
            else:
                self._retry(host)
        elif self._is_under_way():
            pass  # another attempt is in flight and may still succeed
        else:
            self.fail(self._error_to_rethrow(error))

    def _error_to_rethrow(self, error: Exception) -> Exception:
        """Return the error to raise when the retry policy has decided to rethrow `error`.

        For the errors in `_ASKED_AS_REQUEST_ERRORS`, cassandra-driver would retry even a request
        that is not idempotent on the other hosts, and finally raise NoHostAvailable. Applications
        may expect NoHostAvailable or the server's error, so return an instance of both classes.
        """
        if (
            not isinstance(error, _ASKED_AS_REQUEST_ERRORS)
            or self.is_idempotent
            # FallthroughRetryPolicy raises errors unchanged in cassandra-driver too.
            or isinstance(self.retry_policy, FallthroughRetryPolicy)
        ):
            return error
        errors_by_name = {str(host): reason for host, reason in self.errors.items()}
        message = self._no_host_left(is_rethrown=True)
        combined_error = refused_everywhere(message, errors_by_name, error)
        combined_error.__cause__ = error.__cause__
        return combined_error

    def retry_now(self, host: Host | None) -> None:
        """Called by a `_DelayedRetry`: retry on `host`; None means the next host of the plan."""
        self._waits -= 1
        self._retry(host)

    def _retry(self, host: Host | None) -> None:
        """Send the request again, on `host`; None means the next host of the plan."""
        if self.is_answered:
            return
        try:
            self._send_again(host)
        except BaseException as fault:  # the plan of a load balancing policy raised an error
            self.fail(as_exception(fault))

    def _send_again(self, host: Host | None) -> None:
        """Send on `host` if it has a free stream, else on the next host of the plan."""
        pool = self.session.pools.get(host) if host is not None else None
        connection = self.choose(host, pool) if host is not None and pool is not None else None
        if host is not None and connection is not None:
            self.send_to(host, connection)
        else:
            # If all other hosts fail, wait until this host has a free stream.
            if pool is not None and not pool.is_opening:
                self._remember_busy(pool)
            self.try_next_host()

    # -- prepared statements that the server has forgotten -----------------------------------------

    def _on_unprepared(
        self, attempt: Attempt, connection: Connection, message: ErrorMessage
    ) -> None:
        """Prepare the statement that the server has forgotten, and send the request again.

        The server has responded with the error Unprepared (native_protocol_v5.spec, section 8). If
        it forgets the statement again after MOST_PREPARES preparations, the request fails. The
        statements of the same batch that no server knows are prepared, too.
        """
        # `prepared` is None if the server names an id that the request has not sent.
        prepared = self.request_body.prepared_by(message.info)
        error = attempt.error
        assert error is not None
        # A server whose cache is full may drop a statement just after preparing it, so try this
        # several times. But a server that always forgets must not cause an endless loop.
        preparation = (prepared, self.session.core.preparer.changes.total)
        if prepared is None or attempt.reprepared.count(preparation) >= MOST_PREPARES:
            if prepared is not None:
                add_note(
                    error,
                    f"(by {attempt.host}, which has just prepared "
                    f"{query_head(prepared.query_string, 200)})",
                )
            self.fail(error)
            return
        attempt.decision = "prepare"
        if self.observed is not None:
            self.observed._retry(attempt, error, attempt.decision)
        attempt.reprepared += (preparation,)
        # Until the attempt is sent again, no stream waits for a response to it. So count the
        # PREPARE as a pending step; otherwise the request could fail now because nothing is
        # pending. `resend`, `on_not_sent` and `on_reprepare_failed` decrement `_waits` again.
        self._waits += 1
        if connection.is_draining:  # the host will stop soon: use another host
            self.on_not_sent(attempt, connection.refusal())
            return
        Reprepare(self, attempt, prepared, connection).start()

    # -- speculative executions --------------------------------------------------------------------

    def start_speculation(self) -> None:
        """Begin a plan of speculative executions. Called after the request was sent."""
        self._speculation = self.speculative_policy.new_plan(
            self.session.working_keyspace, self.statement_as_called()
        )
        self._schedule_speculation()

    def _schedule_speculation(self) -> None:
        """Call `_speculate` after the delay of the speculative execution policy."""
        if self.done:
            return
        delay = self._speculation.next_execution(self.attempts[-1].host if self.attempts else None)
        # A negative delay means that no further execution should be started.
        if delay >= 0:
            timer = self.session.loop.call_later(delay, self._speculate)
            handle = self._speculation_handle
            if isinstance(handle, _Speculated):
                handle.timer = timer
            else:
                self._speculation_handle = timer

    def _speculate(self) -> None:
        """Called by the timer: send one more attempt, and schedule the next execution."""
        if self.is_answered:
            return
        if self.observed is not None:
            self.observed._speculation()
        if not isinstance(self._speculation_handle, _Speculated):
            self._speculation_handle = _Speculated(self)
        try:
            self.try_next_host()
            self._schedule_speculation()
        except BaseException as fault:  # a policy raised an error
            self.fail(as_exception(fault))


class _Speculated:
    """The `_speculation_handle` of a request that has begun a speculative execution.

    The happy path cancels that handle when the request ends, before it notifies the observers and
    abandons the attempts. So this is the place for what only such requests need at their end.
    """

    __slots__ = ("_request", "timer")

    def __init__(self, request: Request) -> None:
        self._request: Request | None = request
        self.timer: asyncio.TimerHandle | None = None  # of the next speculative execution

    def cancel(self) -> None:
        """Cancel the timer, and complete the records about the request if it is over."""
        if self.timer is not None:
            self.timer.cancel()
        request = self._request
        # `_stop_other_attempts` also calls this, for a request that is not over yet.
        if request is None or not request.done:
            return
        self._request = None  # break the reference cycle
        if request.observed is not None:
            attempt = deciding_attempt(request.attempts, request.error)
            # The observers' record has the shard of the last attempt until now.
            connection = attempt.connection if attempt is not None else None
            features = connection.features if connection is not None else None
            if features is not None and features.sharding_info is not None:
                request.observed.shard = features.shard_id
        if request.error is None:
            _report_overtaken(request)


def _report_overtaken(request: Request) -> None:
    """Report the latencies of hosts that were overtaken by a speculative execution, so far.

    Otherwise a host that is always overtaken would have no latency at all, and would not seem slow.
    Its response takes longer than this latency. So an attempt is only reported if it began before
    the attempt that was answered: the latency of a later one would make its host seem fast.
    """
    observe = request.session.core.on_latency
    answered = deciding_attempt(request.attempts)
    if observe is None or answered is None:
        return
    now = request.session.timers.clock()
    for attempt in request.attempts:
        if attempt is answered:
            break
        # Without a stream, an attempt has failed, or it waits to be sent.
        if attempt.stream >= 0:
            observe(attempt.host, now - attempt.started)


class _DelayedRetry:
    """A retry after a delay.

    It is in the session's `delayed` set, so that closing the session also ends requests that wait
    for a retry.
    """

    __slots__ = ("_handle", "_host", "_previous_handle", "_request")

    def __init__(self, request: Request, host: Host | None, delay: float) -> None:
        self._request = request
        self._host = host
        # `_retry_handle` may already contain the handle of another attempt of the same request (a
        # retry or a PREPARE). Keep that handle, so that `cancel` can cancel both handles.
        self._previous_handle = request._retry_handle
        self._handle = request.session.loop.call_later(delay, self._retry)
        request.session.delayed.add(self)

    def _retry(self) -> None:
        request = self._request
        request.session.delayed.discard(self)
        if request._retry_handle is self:  # break the reference cycle
            request._retry_handle = self._previous_handle
        request.retry_now(self._host)

    def cancel(self) -> None:
        """Cancel the retry, because the request is over."""
        self._handle.cancel()
        self._request.session.delayed.discard(self)
        if self._previous_handle is not None:
            self._previous_handle.cancel()

    def fail(self, error: Exception) -> None:
        """End the request with `error`, because the session is closed."""
        self._request.fail(error)


def _was_stale(attempt: Attempt) -> bool:
    """Return True if the connection of an attempt broke and was silent before the attempt."""
    connection = attempt.connection
    return (
        connection is not None
        and connection.closed
        and connection.last_activity <= attempt.started - SILENCE
    )


def _is_decision(decision: Any) -> bool:
    """Return True if a retry policy has returned a sequence with at least two items.

    The items should be an action and a consistency level.
    """
    # Policies that were written for cassandra-driver may return any sequence.
    return (
        type(decision) is tuple
        or (hasattr(decision, "__getitem__") and not isinstance(decision, (str, bytes)))
    ) and len(decision) >= 2


def _wrong_decision(policy: RetryPolicy, ask: Callable[..., Any], decision: object) -> TypeError:
    """Return the error for a retry policy that has returned something else than a decision tuple.

    :param ask: the function that has called the policy; see `_RETRY_QUESTIONS`.
    :param decision: what the policy has returned.
    """
    method = _METHODS[ask]
    advice = "an action and a consistency level or None, for example (self.RETHROW, None)"
    if isinstance(decision, Coroutine):
        # Close the coroutine, or Python would warn that it was never awaited.
        decision.close()
        advice += ": write `def`, not `async def`"
    elif type(decision) is int and decision in _DECISIONS:
        action = next(
            name
            for name in ("RETRY", "RETHROW", "IGNORE", "RETRY_NEXT_HOST")
            if getattr(RetryPolicy, name) == decision
        )
        advice = f"an action and a consistency level or None: write `return self.{action}, None`"
    return TypeError(
        f"{type(policy).__name__}.{method}() has returned {decision!r}, but must return {advice}"
    )


def _with_cause(fault: BaseException, error: Exception, policy: object) -> BaseException:
    """Return the error of a request whose retry policy has raised `fault`.

    The policy was asked about `error`, so `error` becomes the cause of the returned error.

    :param fault: the error of the policy.
    :param error: the error of the server or connection.
    """
    # If the setting is a policy class instead of an object, say so.
    if isinstance(policy, type) and isinstance(fault, TypeError):
        fault = TypeError(class_advice("retry_policy", policy))
    # Do not set a cause if the policy has raised `error` itself, or an error that has a cause.
    if fault is not error and fault.__cause__ is None and fault.__context__ is None:
        fault.__cause__ = error
    return fault


def _advice_for(error: Exception, request_body: AnyBody) -> str | None:
    """Return a hint about a likely mistake in a rejected statement, or None."""
    if not isinstance(error, RequestValidationException):
        return None
    is_syntax = isinstance(error, SyntaxException)
    cql = getattr(request_body, "query", None) or request_body.statement_text()
    # A batch has several CQL strings, and the server does not say which of them it rejects.
    # `advice_for` returns None for correct strings, so check each string.
    texts = request_body.texts()[:_MAX_ADVISED] if cql is None else (cql,)
    if not texts and not is_syntax:
        # The batch has only prepared statements: let `advice_for` look at the message alone.
        texts = ("",)
    # Use the CQL as the application wrote it. If the driver has inserted values into the string,
    # `template` is the string without these values.
    templates = dict.fromkeys(getattr(text, "template", text) for text in texts)
    hints = (advice_for(str(error), template, is_syntax) for template in templates)
    return next((hint for hint in hints if hint is not None), None)


# The maximum number of CQL strings of a batch to check for mistakes. There is a limit because the
# check runs on the event loop.
_MAX_ADVISED = 10


def _paging_advice(error: Exception, request_body: AnyBody) -> str | None:
    """Return a hint if a wrong paging state is probably the reason for an error, or None.

    If a paging state does not fit the statement, Cassandra responds with a read failure, a server
    error or a protocol error.
    """
    if getattr(request_body, "paging_state", None) is None or not isinstance(
        error, (ReadFailure, ServerError, ProtocolException)
    ):
        return None
    return (
        "the request continues at a paging_state: pass the paging_state of a result of the same "
        "statement and values, unchanged"
    )


def _timeout_advice(error: Exception, request_body: AnyBody) -> str | None:
    """Return a hint if a statement that timed out probably reads too much, or None."""
    if not isinstance(error, (OperationTimedOut, ReadTimeout)):
        return None
    cql = getattr(request_body, "query", None) or request_body.statement_text()
    return None if cql is None else advice_for_timeout(getattr(cql, "template", cql))


def _ask_read_timeout(
    request: Request, message: ErrorMessage | None, error: ReadTimeout
) -> Decision:
    """Return the retry policy's decision about a read timeout.

    `message` is not used: all functions of `_RETRY_QUESTIONS` are called with the same arguments.
    """
    decision: Decision = request.retry_policy.on_read_timeout(
        request.statement_as_called(),
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
    """Return the retry policy's decision about a write timeout. `message` is not used."""
    decision: Decision = request.retry_policy.on_write_timeout(
        request.statement_as_called(),
        consistency=error.consistency,
        write_type=error.write_type,
        required_responses=error.required_responses,
        received_responses=error.received_responses,
        retry_num=request.retries,
    )
    return decision


def _ask_cas_unknown(
    request: Request, message: ErrorMessage | None, error: CASWriteUnknownMessage
) -> Decision:
    """Return `LWTRetryPolicy`'s decision about CAS_WRITE_UNKNOWN.

    With this error of protocol version 5, the server says that it does not know whether a
    lightweight transaction was applied. The policy is asked as after a write timeout of the
    transaction. As in cassandra-driver, other policies are not asked, and the error is raised,
    because the transaction may have been applied.
    """
    policy = request.retry_policy
    if not isinstance(policy, LWTRetryPolicy):
        return RetryPolicy.RETHROW, None
    return policy.on_write_timeout(
        request.statement_as_called(),
        consistency=error.info["consistency"],
        write_type=WriteType.CAS,
        required_responses=error.info["required_responses"],
        received_responses=error.info["received_responses"],
        retry_num=request.retries,
    )


def _ask_unavailable(
    request: Request, message: ErrorMessage | None, error: Unavailable
) -> Decision:
    """Return the retry policy's decision about an Unavailable error. `message` is not used."""
    decision: Decision = request.retry_policy.on_unavailable(
        request.statement_as_called(),
        consistency=error.consistency,
        required_replicas=error.required_replicas,
        alive_replicas=error.alive_replicas,
        retry_num=request.retries,
    )
    return decision


def _ask_request_error(
    request: Request, message: ErrorMessage | None, error: Exception
) -> Decision:
    """Return the retry policy's decision about any other error of a server, or a broken connection.

    :param message: the server's ERROR message, which is passed to the policy. None if the
        connection broke; then `error` is passed.
    """
    decision: Decision = request.retry_policy.on_request_error(
        request.statement_as_called(),
        consistency=request.request_body.consistency,
        error=error if message is None else message,
        retry_num=request.retries,
    )
    return decision


# Before a host sends one of these errors, it has worked as long as for a result: it has asked
# replicas, or executed a function. So the time until the error counts as the host's latency. Other
# errors come at once; if they counted, an overloaded host would look fast.
_ERRORS_AFTER_WORK = (
    ReadTimeoutErrorMessage,
    WriteTimeoutErrorMessage,
    CASWriteUnknownMessage,
    ReadFailureMessage,
    WriteFailureMessage,
    FunctionFailureMessage,
)

# Errors of a server about which `RetryPolicy.on_request_error` is asked.
_ASKED_AS_REQUEST_ERRORS = (
    OverloadedErrorMessage,
    IsBootstrappingErrorMessage,
    TruncateError,
    ServerError,
)

# For each class of ERROR messages about which the retry policy is asked: the function that asks.
_RETRY_QUESTIONS: tuple[tuple[Any, Callable[[Request, Any, Any], Any]], ...] = (
    (ReadTimeoutErrorMessage, _ask_read_timeout),
    (WriteTimeoutErrorMessage, _ask_write_timeout),
    (CASWriteUnknownMessage, _ask_cas_unknown),
    (UnavailableErrorMessage, _ask_unavailable),
    (OverloadedErrorMessage, _ask_request_error),
    (IsBootstrappingErrorMessage, _ask_request_error),
    (TruncateError, _ask_request_error),
    (ServerError, _ask_request_error),
)

# The method of the retry policy that each of these functions calls.
_METHODS: dict[Callable[..., Any], str] = {
    _ask_read_timeout: "on_read_timeout",
    _ask_write_timeout: "on_write_timeout",
    _ask_cas_unknown: "on_write_timeout",
    _ask_unavailable: "on_unavailable",
    _ask_request_error: "on_request_error",
}
