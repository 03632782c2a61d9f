"""Bugs that can be put into the driver, to check that simulations find each of them.

A mutant replaces a function of a Python module. ``python -m tests.simulation --mutants`` uses the
Python implementation by default. With the compiled implementation, mutants of classes that have a
compiled version are skipped. A seed finds a mutant if its simulation violates a rule that the
simulation of the same seed without the bug does not violate.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from cassandra._impl import happy_path
from cassandra.cluster import ResponseFuture
from cassandra.cqlengine import statements
from cassandra.cqlengine.query import batch, dml
from cassandra.engine import (
    connection as connections,
    core as cores,
    handshake,
    heartbeats,
    keyspace_gate,
    loop as loops,
    request,
    session,
    stream_table,
    timer_wheel,
    workers,
)
from cassandra.engine.background import Background
from cassandra.engine.control import connection as control, doubts
from cassandra.engine.happy_path import ExecuteBodyBase, RequestBase
from cassandra.engine.hosts import debouncing, reconnect, status_events, watch
from cassandra.engine.pools.pool import HostPool
from cassandra.engine.prepare import first_execution, registry, reprepare
from cassandra.engine.prepare.changed_types import ChangedTypes
from cassandra.engine.prepare.statements import Preparer
from cassandra.engine.schema.refreshing import SchemaRefresher
from cassandra.errors import ConnectionException, ConnectionShutdown
from cassandra.policies import retry
from cassandra.query import prepared
from cassandra.throttling import RequestThrottler
from cassandra.timestamps import MonotonicTimestampGenerator


class Mutant(NamedTuple):
    """One bug in a function of the driver.

    :param what: describes the bug.
    :param owner: the class or module that the function belongs to.
    :param name: the name of the function.
    :param make: takes the correct function, and returns the wrong function, which behaves as `what`
        says.
    :param is_about_keyspaces: if False, a seed in which a request runs in the wrong keyspace has
        not found this bug.
    :param loops: the number of event loops that the bug needs; 0 to let the seed decide.
    """

    what: str
    owner: Any
    name: str
    make: Callable[[Any], Any]
    is_about_keyspaces: bool = False
    loops: int = 0

    @property
    def is_compiled(self) -> bool:
        """True if a compiled class replaces the owner, so that the mutant would have no effect."""
        twin = getattr(happy_path, getattr(self.owner, "__name__", ""), self.owner)
        return twin is not self.owner

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Put the bug into the driver until the context ends."""
        original = vars(self.owner).get(self.name)
        setattr(self.owner, self.name, self.make(original or getattr(self.owner, self.name)))
        try:
            yield
        finally:
            if original is None:  # the owner inherits the function, so remove the override
                delattr(self.owner, self.name)
            else:
                setattr(self.owner, self.name, original)


MUTANTS: dict[str, Mutant] = {}


def mutant(
    what: str, owner: Any, name: str, keyspaces: bool = False, loops: int = 0
) -> Callable[[Any], Any]:
    """Register the decorated function, which turns a correct function into a wrong function.

    The parameters are those of `Mutant`.

    :param keyspaces: the `is_about_keyspaces` of `Mutant`.
    """

    def register(make: Any) -> Any:
        """Store the mutant under the name of the function."""
        MUTANTS[make.__name__] = Mutant(what, owner, name, make, keyspaces, loops)
        return make

    return register


def worker_mutant(
    what: str, owner: Any, name: str, keyspaces: bool = False
) -> Callable[[Any], Any]:
    """Register a bug that only a cluster with several loops can have."""
    return mutant(what, owner, name, keyspaces, loops=3)


def _nothing(*arguments: Any, **named: Any) -> None:
    """Do nothing."""


# -- streams ---------------------------------------------------------------------------------------


@mutant("an abandoned stream is free at once", stream_table.StreamTable, "abandon")
def orphans_are_dropped(correct: Any) -> Any:
    def wrong(table: Any, stream: int, responder: Any) -> bool:
        if table._responders.get(stream) is responder:
            del table._responders[stream]
            table._ids.give_back(stream)
            return True
        return bool(correct(table, stream, responder))

    return wrong


@mutant("two answers that arrive together are swapped", stream_table.StreamTable, "dispatch")
def answers_are_crossed(correct: Any) -> Any:
    def wrong(table: Any, connection: Any, envelopes: list[Any]) -> None:
        # The first item of an envelope is its stream.
        if len(envelopes) == 2:
            (first_stream, *first_answer), (second_stream, *second_answer) = envelopes
            envelopes = [(second_stream, *first_answer), (first_stream, *second_answer)]
        correct(table, connection, envelopes)

    return wrong


@mutant(
    "the first request on a closing connection is not notified",
    stream_table.StreamTable,
    "take_all",
)
def a_request_is_not_told(correct: Any) -> Any:
    return lambda table: correct(table)[1:]


# -- requests --------------------------------------------------------------------------------------


@mutant(
    "a statement that a host has forgotten is not prepared again", request.Request, "_on_unprepared"
)
def no_repreparation(correct: Any) -> Any:
    def wrong(self: Any, attempt: Any, connection: Any, message: Any) -> None:
        self.fail(attempt.error)

    return wrong


@mutant("after a repreparation the request is not sent", request.Request, "resend")
def forgets_after_repreparation(correct: Any) -> Any:
    return _nothing


@mutant("a retry is sent twice", request.Request, "_send_again")
def retries_are_doubled(correct: Any) -> Any:
    def wrong(self: Any, host: Any) -> None:
        correct(self, host)
        if not self.done:
            correct(self, None)

    return wrong


@mutant("writes that may have run are sent again", retry.RetryPolicy, "on_request_error")
def retries_what_is_not_idempotent(correct: Any) -> Any:
    def wrong(self: Any, query: Any, consistency: int, error: Any, retry_num: int) -> Any:
        return (self.RETRY_NEXT_HOST, None) if retry_num < 3 else (self.RETHROW, None)

    return wrong


@mutant("write timeouts are retried", retry.RetryPolicy, "on_write_timeout")
def retries_write_timeouts(correct: Any) -> Any:
    def wrong(self: Any, query: Any, consistency: int, *details: Any, **named: Any) -> Any:
        number = named.get("retry_num", details[-1] if details else 0)
        return (self.RETRY, consistency) if number == 0 else (self.RETHROW, None)

    return wrong


@mutant("each attempt has a timestamp of its own", RequestBase, "send_to")
def retries_have_new_timestamps(correct: Any) -> Any:
    def wrong(self: Any, host: Any, connection: Any) -> None:
        body = self.request_body
        if self.attempts and isinstance(body, ExecuteBodyBase) and body.timestamp is not None:
            body.timestamp += 1
            body.invalidate()
        correct(self, host, connection)

    return wrong


@mutant("a request that ends with an error reports success", request.Request, "fail")
def errors_are_swallowed(correct: Any) -> Any:
    def wrong(self: Any, error: BaseException) -> None:
        if isinstance(error, ConnectionException):
            self.finish(None)
        else:
            correct(self, error)

    return wrong


@mutant("a retry after a delay is forgotten", request._DelayedRetry, "_retry")
def delayed_retries_are_lost(correct: Any) -> Any:
    return _nothing


@mutant("a delayed retry outlives its request", request._DelayedRetry, "cancel")
def delayed_retries_stay(correct: Any) -> Any:
    return _nothing


@mutant("a request over its time is not ended", request.Request, "on_timeout")
def no_timeouts(correct: Any) -> Any:
    return _nothing


# -- timers ----------------------------------------------------------------------------------------


@mutant("deadlines are twice as late", timer_wheel.TimerWheel, "add")
def deadlines_are_late(correct: Any) -> Any:
    return lambda self, timeout, item: correct(self, timeout * 2 + 1, item)


@mutant("a deadline is not taken out", timer_wheel.TimerWheel, "discard")
def deadlines_stay(correct: Any) -> Any:
    return _nothing


@mutant("heartbeats are off", heartbeats.Heartbeats, "_start_check")
def no_heartbeats(correct: Any) -> Any:
    return _nothing


# -- pools -----------------------------------------------------------------------------------------


@mutant("requests that wait are not woken", HostPool, "_on_room")
def wakeups_are_lost(correct: Any) -> Any:
    return _nothing


@mutant("a pool takes each connection that is opened", HostPool, "_fill")
def pools_are_too_large(correct: Any) -> Any:
    async def wrong(self: Any) -> None:
        self.size += 1
        try:
            await correct(self)
        finally:
            self.size -= 1

    return wrong


@mutant("a lost connection is not opened again", HostPool, "refill")
def pools_are_not_refilled(correct: Any) -> Any:
    return _nothing


@mutant("what is missing is not tried again", HostPool, "_fill_later")
def pools_stay_short(correct: Any) -> Any:
    return _nothing


@mutant("waiting requests are forgotten with their pool", HostPool, "_fail_waiters")
def waiters_are_forgotten(correct: Any) -> Any:
    return _nothing


@mutant("retired connections are not closed", HostPool, "_retire")
def retired_connections_stay(correct: Any) -> Any:
    def wrong(self: Any, connection: Any) -> None:
        self.connections.remove(connection)

    return wrong


# -- keyspaces -------------------------------------------------------------------------------------


@mutant("new connections do not take the keyspace", session.EngineSession, "use", keyspaces=True)
def a_keyspace_is_skipped(correct: Any) -> Any:
    async def wrong(self: Any, connection: Any, keyspace: str) -> None:
        connection.keyspace = keyspace

    return wrong


@mutant(
    "USE does not reach the last connection", session.EngineSession, "_switch_all", keyspaces=True
)
def the_last_connection_is_skipped(correct: Any) -> Any:
    async def wrong(self: Any, keyspace: str, request: Any, response: Any) -> None:
        # The driver skips connections that have the new keyspace already.
        others = [
            connection
            for pool in self.pools.values()
            for connection in pool.connections
            if connection.keyspace != keyspace
        ]
        if others:
            others[-1].keyspace = keyspace
        await correct(self, keyspace, request, response)

    return wrong


@mutant(
    "requests do not wait until their connection is in their keyspace",
    session.EngineSession,
    "pass_or_hold",
    keyspaces=True,
)
def nobody_waits_for_a_keyspace(correct: Any) -> Any:
    return lambda self, request, attempt, connection: True


@mutant(
    "a connection is switched while requests on it depend on the keyspace",
    keyspace_gate,
    "depends_on_keyspace",
    keyspaces=True,
)
def switches_do_not_wait(correct: Any) -> Any:
    return lambda connection, responder: False


# -- hosts -----------------------------------------------------------------------------------------


@mutant("a host that was lost is not tried again", reconnect.Reconnector, "run")
def no_reconnection(correct: Any) -> Any:
    async def wrong(self: Any) -> None:
        await asyncio.sleep(0)

    return wrong


@mutant("the node list is not read after events", debouncing.Debouncer, "add")
def the_node_list_is_not_read(correct: Any) -> Any:
    return _nothing


@mutant("the control connection does not come back", control.ControlConnection, "_reconnect")
def no_control_connection(correct: Any) -> Any:
    async def wrong(self: Any) -> None:
        await asyncio.sleep(0)

    return wrong


@mutant("a node list is believed at once", doubts.NodeDoubts, "next_delay")
def node_lists_are_believed(correct: Any) -> Any:
    return lambda self: None


@mutant("a host that is said to be down loses its state", watch.HostWatch, "on_connection_failure")
def failures_are_not_noted(correct: Any) -> Any:
    return _nothing


# -- the schema ------------------------------------------------------------------------------------


@mutant("events of schema changes are ignored", SchemaRefresher, "on_event")
def schema_events_are_ignored(correct: Any) -> Any:
    return _nothing


@mutant("a failed reading of the schema is not repeated", SchemaRefresher, "_try_again")
def failed_readings_are_not_repeated(correct: Any) -> Any:
    return _nothing


@mutant("schema versions are not compared on another node", SchemaRefresher, "on_moved")
def schema_versions_are_not_compared(correct: Any) -> Any:
    return _nothing


@mutant("unpickled statements are not compared with the schema", prepared, "_unpickled")
def unpickled_statements_are_trusted(correct: Any) -> Any:
    return prepared._copy_of


@mutant("copies of prepared statements are not known", registry, "existing_statements")
def copies_are_not_known(correct: Any) -> Any:
    return list


@mutant("statements that cannot be compared count as unchanged", ChangedTypes, "_is_unknown")
def unknown_types_are_trusted(correct: Any) -> Any:
    return lambda self, prepared: False


# -- the blocking API ------------------------------------------------------------------------------


@mutant("a blocking call is not notified that its cluster ends", loops._Call, "_end")
def calls_are_not_told(correct: Any) -> Any:
    def wrong(self: Any, error: Any) -> None:
        if not isinstance(error, ConnectionShutdown):
            correct(self, error)

    return wrong


@mutant("a callback that comes after the answer is not called", ResponseFuture, "_call_due")
def late_callbacks_are_lost(correct: Any) -> Any:
    return _nothing


@mutant("a callback is called twice", ResponseFuture, "_call_one")
def callbacks_are_doubled(correct: Any) -> Any:
    def wrong(self: Any, callback: Any, outcome: Any) -> None:
        correct(self, callback, outcome)
        correct(self, callback, outcome)

    return wrong


@mutant("of several threads that wait for a future, one is woken", ResponseFuture, "_wait")
def waits_are_not_woken(correct: Any) -> Any:
    def wrong(self: Any, timeout: Any = None) -> None:
        self._waiters = None
        vars(self).pop("_first_waiters", None)
        correct(self, timeout)
        self._waiters = None
        vars(self).pop("_first_waiters", None)

    return wrong


@mutant("the loop's thread is not stopped", loops.LoopThread, "stop")
def loop_threads_are_left(correct: Any) -> Any:
    return _nothing


# -- several loops ---------------------------------------------------------------------------------


@worker_mutant(
    "a worker does not follow the pools of the first loop", workers.WorkerSession, "follow_soon"
)
def workers_do_not_follow(correct: Any) -> Any:
    return _nothing


@worker_mutant("a worker opens a pool only once", workers.WorkerSession, "_check_pools")
def workers_do_not_try_again(correct: Any) -> Any:
    def wrong(self: Any) -> None:
        self.is_ready = self._has_all(list(self._leader.pools))

    return wrong


@worker_mutant(
    "a worker keeps the pools that the first loop has lost", workers.WorkerSession, "drain_host"
)
def workers_keep_pools(correct: Any) -> Any:
    return _nothing


@worker_mutant(
    "a worker takes requests although it lacks a pool", workers.WorkerSession, "_has_all"
)
def workers_take_requests_without_pools(correct: Any) -> Any:
    return lambda self, wanted: True


@worker_mutant(
    "a worker takes requests of all kinds", workers.WorkerSession, "take", keyspaces=True
)
def workers_take_all_requests(correct: Any) -> Any:
    def wrong(self: Any, request: Any) -> bool:
        if self.is_ready and request.target is None:
            request.session = self
        return request.session is self

    return wrong


@worker_mutant(
    "a worker takes batches whose strings are not prepared yet",
    first_execution.PreparingRequest,
    "begins_on_first_loop",
)
def workers_prepare(correct: Any) -> Any:
    return False


@worker_mutant("a worker leaves its sessions open", workers.WorkerCore, "close")
def workers_are_left(correct: Any) -> Any:
    async def wrong(self: Any) -> None:
        self.closed = True

    return wrong


# -- nodes that say that they will stop ------------------------------------------------------------


@mutant("GRACEFUL_DISCONNECT is ignored", connections.Connection, "_announces_close")
def drains_are_not_heard(correct: Any) -> Any:
    return lambda self, body: False


@mutant("a draining pool takes requests", cores.Core, "on_draining")
def draining_pools_take_requests(correct: Any) -> Any:
    def wrong(self: Any, host: Any, connection: Any) -> None:
        # Close only the control connection to the host, so that the pools keep using the host.
        connection.is_draining = False
        self.control.leave(host)

    return wrong


# -- nodes that were removed, and still answer -----------------------------------------------------


@mutant("a removed node is believed", doubts.NodeDoubts, "is_removed")
def removed_nodes_are_believed(correct: Any) -> Any:
    return lambda self, host: False


# -- ends ------------------------------------------------------------------------------------------


@mutant("tasks are left at the end", Background, "close")
def tasks_are_left(correct: Any) -> Any:
    async def wrong(self: Any) -> None:
        self._closed = True

    return wrong


@mutant("events that wait outlive the cluster", status_events.StatusEvents, "close")
def events_outlive(correct: Any) -> Any:
    return _nothing


@mutant("a cancelled connect leaves its connection open", handshake.Connector, "_open_in_time")
def connections_are_left(correct: Any) -> Any:
    async def wrong(self: Any, endpoint: Any, version: int, target: Any, is_control: bool) -> Any:
        # Unlike the driver's method, do not close the connection if opening it fails.
        connection = connections.Connection(endpoint, version, self._loop)
        connection.is_control_connection = is_control
        timeout = self._settings.connect_timeout
        await asyncio.wait_for(self._open(endpoint, connection, target), timeout)
        return connection

    return wrong


@mutant("the throttler does not get a place back", RequestThrottler, "release")
def places_are_not_given_back(correct: Any) -> Any:
    return _nothing


@mutant("a request that is given up keeps its place in the queue", RequestThrottler, "withdraw")
def places_in_the_queue_stay(correct: Any) -> Any:
    return _nothing


@mutant("a repreparation that fails ends nothing", reprepare._SharedPrepare, "on_connection_lost")
def repreparations_are_lost(correct: Any) -> Any:
    return _nothing


# -- clocks ----------------------------------------------------------------------------------------


def _stamping(call: Callable[[Any, Callable[[], int]], int]) -> Callable[[Any], Any]:
    """Return a wrong `read_from`, which makes the generator return the timestamps of `call`.

    The generator gets another class, because compiled code computes the timestamps of the driver's
    own class itself, without a call.

    :param call: a function of the generator and of a function that returns the correct timestamp.
    """

    class Wrong(MonotonicTimestampGenerator):
        """A generator that returns the timestamps of `call`."""

        def __call__(self) -> int:
            return call(self, super().__call__)

    def make(correct: Any) -> Any:
        """Return a `read_from` that also changes the class of the generator."""

        def read_from(self: Any, time_ns: Callable[[], int]) -> None:
            """Set the clock as the driver does, and change the generator's class to `Wrong`."""
            correct(self, time_ns)
            self.__class__ = Wrong

        return read_from

    return make


@mutant("timestamps go back with the clock", MonotonicTimestampGenerator, "read_from")
def timestamps_go_back(correct: Any) -> Any:
    def call(generator: Any, stamp: Callable[[], int]) -> int:
        generator.last = 0
        return stamp()

    return _stamping(call)(correct)


@mutant("some requests get the previous timestamp", MonotonicTimestampGenerator, "read_from")
def timestamps_are_doubled(correct: Any) -> Any:
    def call(generator: Any, stamp: Callable[[], int]) -> int:
        last: int = generator.last
        value = stamp()
        return last if last and value % 5 == 0 else value

    return _stamping(call)(correct)


@mutant("timestamps run behind the clock", MonotonicTimestampGenerator, "read_from")
def timestamps_are_late(correct: Any) -> Any:
    return _stamping(lambda generator, stamp: stamp() - 60_000_000)(correct)


@mutant("the mapper counts from the system's clock", statements, "wall_time_ns")
def the_mapper_has_another_clock(correct: Any) -> Any:
    return time.time_ns


# -- prepared statements ---------------------------------------------------------------------------


@mutant("statements keep the types of a table that is dropped", ChangedTypes, "on_event")
def types_of_dropped_tables_are_kept(correct: Any) -> Any:
    def wrong(self: Any, event: Any) -> None:
        if event["target_type"] != "TABLE":
            correct(self, event)

    return wrong


@mutant("statements of another cluster keep their id", Preparer, "own_statement")
def ids_are_valid_everywhere(correct: Any) -> Any:
    return lambda self, prepared: prepared


# -- the mapper ------------------------------------------------------------------------------------


@mutant("the mapper does not write what was changed", dml, "changed_positions")
def changes_are_not_written(correct: Any) -> Any:
    return lambda values, mapping: []


@mutant("a batch of the mapper leaves its last statement out", batch.BatchRequest, "statement")
def the_last_statement_is_left_out(correct: Any) -> Any:
    def wrong(self: Any, prepared: Any, level: Any) -> Any:
        self.entries = self.entries[:-1]
        return correct(self, prepared, level)

    return wrong
