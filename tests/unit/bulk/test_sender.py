"""Test `Sender`, which repeats failed requests of a load, and finds out which rows have failed.

The sender is a generator of steps. In these tests, `Servers` executes the steps and answers the
requests.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._impl import grouping
from cassandra.bulk import LoadError, LoadReport, sender
from cassandra.bulk.binding import Bound, Wave
from cassandra.bulk.checkpoint import Checkpoint
from cassandra.bulk.chunks import Chunk, Position
from cassandra.bulk.load_checkpoint import LoadCheckpoint
from cassandra.bulk.load_steps import Pause, Requests
from cassandra.bulk.pacing import Pace
from cassandra.bulk.progress import Progress
from cassandra.bulk.recorder import Recorder
from cassandra.bulk.retrying import RETRIES
from cassandra.bulk.sender import LONGEST_WAIT, MOST_WAITS, Sender
from cassandra.bulk.target import Traits
from cassandra.cqltypes.parse import lookup_cqltype
from cassandra.errors import (
    InvalidRequest,
    NoHostAvailable,
    OperationTimedOut,
    RequestThrottled,
    SessionShutdown,
    Unavailable,
)
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.messages.errors import OverloadedErrorMessage, ServerError
from cassandra.query import BatchStatement, PreparedStatement
from cassandra.query.batch import BoundRows, bind_rows
from cassandra.query.bound import BoundStatement

PREPARED = PreparedStatement(
    [ColumnMetadata("ks", "t", "id", lookup_cqltype("int"))],
    query_id=b"id",
    routing_key_indexes=[0],
    query="INSERT INTO t (id) VALUES (?)",
    keyspace="ks",
    protocol_version=5,
    result_metadata=None,
    result_metadata_id=None,
)
# The traits of a statement that may be sent again after a timeout.
IDEMPOTENT = Traits(is_idempotent=True, is_counter=False, is_conditional=False)

# called with the ids of the rows of a request; returns the request's error, or None if it succeeds
Answer = Callable[[list[int]], BaseException | None]


def bound_chunk(*waves: Sequence[Sequence[int]]) -> Bound:
    """Return a chunk of bound rows with ids.

    :param waves: for each wave and each request of the wave, the ids of the request's rows.
    """
    ids = [row_id for wave in waves for group in wave for row_id in group]
    block = bind_rows(PREPARED, [(row_id,) for row_id in ids])
    # The block has the rows in the order of the requests, so take one position after the other.
    positions = count()
    bound_waves = []
    for wave in waves:
        groups = [grouping.Group(block, [next(positions) for _ in group]) for group in wave]
        bound_waves.append(Wave(PREPARED, groups, range(len(ids))))
    chunk = Chunk(
        [(row_id,) for row_id in ids],
        size=len(ids),
        source=None,
        first=1,
        lines=None,
        position=Position(0, len(ids)),
        raw=None,
    )
    return Bound(chunk, bound_waves, row_count=len(ids), size=0, failures=[])


def ids_of(statement: Any) -> list[int]:
    """Return the ids of the rows of a request."""
    if isinstance(statement, BoundStatement):
        return [struct.unpack(">i", statement.values[0])[0]]
    assert isinstance(statement, BatchStatement)
    (entry,) = statement.sealed_entries()
    assert isinstance(entry, BoundRows)
    return [row_id for bound in entry.statements() for row_id in ids_of(bound)]


class Servers:
    """Executes the steps of a sender, and answers its requests.

    The attribute `requests` has the ids in each request, `pauses` the seconds of each pause, and
    `limits` the maximum number of requests in flight of each slice. A slice is a group of requests,
    after which the sender adjusts this maximum.

    :param answer: called with the ids of the rows of a request; returns the request's error, or
        None.
    :param result: the result of each request without an error.
    """

    def __init__(
        self,
        answer: Answer,
        *,
        traits: Traits = IDEMPOTENT,
        max_errors: int | None = None,
        concurrency: int = 64,
        result: Any = None,
    ) -> None:
        self._answer = answer
        self._result = result
        self.requests: list[list[int]] = []
        self.are_idempotent: list[bool | None] = []  # whether the driver may repeat each request
        self.pauses: list[float] = []  # the seconds of each pause that the sender made
        self.limits: list[int] = []  # how many requests of each slice were allowed in flight
        self.report = LoadReport("t")
        checkpoint = LoadCheckpoint(
            Checkpoint(path=None, subject={}), self.report, failed_rows=None
        )
        recorder = Recorder(
            self.report,
            checkpoint,
            failed_rows=None,
            progress=Progress(is_shown=False),
            max_errors=max_errors,
        )
        # Each call of this clock returns one second more. The sender reads the clock before and
        # after each slice (requests that are sent together), so each slice seems to take one
        # second.
        clock = count().__next__
        self.sender = Sender(recorder, traits, Pace(concurrency), clock=clock)

    def run(self, bound: Bound) -> LoadReport:
        """Send the requests of a chunk, and return the report."""
        for step in self.sender.send(bound):
            if isinstance(step, Pause):
                self.pauses.append(step.seconds)
            else:
                assert isinstance(step, Requests)
                self._execute(step)
        return self.report

    def _execute(self, step: Requests) -> None:
        """Respond to the requests of a slice, one after the other."""
        self.limits.append(step.concurrency)
        for statement in step.statements:
            self.requests.append(ids_of(statement))
            self.are_idempotent.append(statement.is_idempotent)
            error = self._answer(self.requests[-1])
            step.on_outcome(error is None, self._result if error is None else error)

    @property
    def failed_rows(self) -> list[str]:
        """The location of each failed row in the report, such as "row 2"."""
        return [failure.place for failure in self.report.failures]


def refuse(*ids: int, error: BaseException) -> Answer:
    """Return an `Answer` that fails each request with one of these rows with `error`."""
    refused_ids = set(ids)
    return lambda request: None if refused_ids.isdisjoint(request) else error


def fail_times(times: int, error: BaseException) -> Answer:
    """Return an `Answer` that fails the first `times` requests with `error`."""
    numbers = count()
    return lambda request: error if next(numbers) < times else None


# -- order -----------------------------------------------------------------------------------------


def test_waves_are_sent_one_after_the_other() -> None:
    """The second wave starts after each request of the first wave has its outcome."""
    servers = Servers(fail_times(1, OperationTimedOut()))
    report = servers.run(bound_chunk([[1, 2], [3]], [[4]]))
    # A wave is a group of requests that may be in flight together. The request with the rows 1 and
    # 2 timed out, so it is sent again before the next wave.
    assert servers.requests == [[1, 2], [3], [1, 2], [4]]
    assert report.written == 4
    assert report.requests == 4
    assert report.retries == 1
    # the pause in seconds before the first retry (see `delay_before_retry`)
    assert servers.pauses == [0.04]


def test_a_round_waits_for_the_longest_delay_of_its_requests() -> None:
    """Two requests that fail twice are repeated together, after one pause for both (seconds)."""
    servers = Servers(fail_times(4, OperationTimedOut()))
    servers.run(bound_chunk([[1], [2]]))
    assert servers.pauses == [0.04, 0.16]


def test_overload_reduces_the_number_of_requests_in_flight() -> None:
    """After the error OVERLOADED, the next slice has up to 32 requests in flight, not 64."""
    servers = Servers(fail_times(1, OverloadedErrorMessage(0x1001, "busy", info=None)))
    servers.run(bound_chunk([[1], [2]]))
    assert servers.limits == [64, 32]


# -- rows that fail --------------------------------------------------------------------------------


def test_a_row_that_a_server_rejects_fails_alone() -> None:
    """If a server rejects a request because of one row, only this row fails."""
    servers = Servers(refuse(2, error=InvalidRequest("no")))
    report = servers.run(bound_chunk([[1, 2, 3], [4]]))
    # The rows of the rejected request are sent again at once, each in a separate request.
    assert servers.requests == [[1, 2, 3], [4], [1], [2], [3]]
    assert servers.pauses == [0.0]
    assert report.written == 3
    assert report.failed == 1
    assert report.retries == 3
    assert servers.failed_rows == ["row 2"]


def test_rows_are_sent_alone_once_after_all_tries_of_their_request() -> None:
    """After all retries of a request have failed, its rows are sent once more, one by one.

    A server may reject a value with an error that does not say so. So the request is first repeated
    as after any error, and its rows are sent one by one only at the end.
    """
    servers = Servers(refuse(2, error=ServerError(0, "bug", info=None)))
    report = servers.run(bound_chunk([[1, 2]]))
    assert servers.requests == [[1, 2]] * (RETRIES + 1) + [[1], [2]]
    assert report.written == 1
    assert servers.failed_rows == ["row 2"]


def test_requests_that_are_not_idempotent_are_not_repeated() -> None:
    """Requests that are not idempotent are not repeated after an error."""
    traits = Traits(is_idempotent=False, is_counter=True, is_conditional=False)
    servers = Servers(refuse(1, error=OperationTimedOut()), traits=traits)
    report = servers.run(bound_chunk([[1], [2]]))
    assert servers.requests == [[1], [2]]
    assert report.written == 1
    assert report.failed == 1
    assert report.retries == 0


@pytest.mark.parametrize(
    ("error", "expected"),
    [(OperationTimedOut(), True), (InvalidRequest("no"), False), (Unavailable("down"), False)],
)
def test_rows_that_must_not_be_written_twice_may_have_been_written(
    error: Exception, expected: bool
) -> None:
    """If a counter may have been added to, the row's error says so."""
    traits = Traits(is_idempotent=False, is_counter=True, is_conditional=False)
    report = Servers(refuse(1, error=error), traits=traits).run(bound_chunk([[1]]))
    (failure,) = report.failures
    assert (". The row may have been written" in failure.reason) is expected


@pytest.mark.parametrize("has_lists", [True, False])
def test_requests_with_lists_are_repeated_with_a_new_write_time(has_lists: bool) -> None:
    """Requests with lists are only repeated by the sender, with a new write time.

    The driver would repeat a request with its old write time, and so add the elements to the lists
    again.
    """
    traits = IDEMPOTENT._replace(has_lists=has_lists)
    servers = Servers(fail_times(1, error=OperationTimedOut()), traits=traits)
    report = servers.run(bound_chunk([[1, 2]]))
    assert servers.requests == [[1, 2], [1, 2]]
    assert servers.are_idempotent == [not has_lists] * 2
    assert report.written == 2


def test_too_many_failed_rows_end_the_load() -> None:
    """If more than `max_errors` rows fail, the load ends."""
    servers = Servers(refuse(1, 2, 3, error=InvalidRequest("no")), max_errors=1)
    with pytest.raises(LoadError, match="more than max_errors=1 rows failed, the last one: row 2"):
        servers.run(bound_chunk([[1], [2], [3], [4]]))
    # All requests of the slice were sent before their outcomes were counted.
    assert servers.report.written == 1
    assert servers.report.failed == 2


@pytest.mark.parametrize("is_applied", [True, False])
def test_the_condition_of_a_row_may_not_hold(is_applied: bool) -> None:
    """A conditional write that was not applied counts neither as written nor as failed."""
    servers = Servers(
        lambda request: None,
        traits=Traits(is_idempotent=True, is_counter=False, is_conditional=True),
        result=SimpleNamespace(was_applied=is_applied),
    )
    report = servers.run(bound_chunk([[1], [2]]))
    assert report.failed == 0
    assert report.written == (2 if is_applied else 0)
    assert report.not_applied == (0 if is_applied else 2)


# -- errors that end the load ----------------------------------------------------------------------


def test_an_outage_ends_the_load_without_failed_rows() -> None:
    """If no server can be reached, a request is repeated RETRIES times, then the load ends."""
    outage = NoHostAvailable("none", errors={})
    servers = Servers(refuse(2, error=outage))
    with pytest.raises(LoadError, match="no server can be reached: none") as caught:
        servers.run(bound_chunk([[1], [2, 3]]))
    assert caught.value.__cause__ is outage
    assert caught.value.report is servers.report
    assert servers.requests == [[1]] + [[2, 3]] * (RETRIES + 1)
    assert servers.report.written == 1
    assert servers.report.failed == 0


@pytest.mark.parametrize("error", [SessionShutdown("over"), KeyError("bug")], ids=repr)
def test_other_errors_end_the_load_at_once(error: BaseException) -> None:
    """An error that is neither temporary nor about a row ends the load at once."""
    servers = Servers(refuse(2, error=error))
    with pytest.raises(type(error)) as caught:
        servers.run(bound_chunk([[1], [2]]))
    assert caught.value is error
    assert servers.report.written == 1
    assert servers.report.failed == 0


def test_an_interrupted_slice_is_counted() -> None:
    """The report of an interrupted load counts the requests that were sent and the rows written.

    In this test, two of three requests were sent before the interruption, and one of these has an
    outcome.
    """

    class Interrupted(BaseException):
        """Raised while requests are in flight, as a signal would."""

    servers = Servers(lambda request: None)
    steps = servers.sender.send(bound_chunk([[1], [2], [3]]))
    step = next(steps)
    assert isinstance(step, Requests)
    # A request is sent when its statement is taken. The first request succeeds.
    statements = iter(step.statements)
    next(statements)
    step.on_outcome(True, None)
    next(statements)
    with pytest.raises(Interrupted):
        steps.throw(Interrupted())
    assert servers.report.requests == 2
    assert servers.report.written == 1


# -- the cluster's own throttler -------------------------------------------------------------------


def test_throttled_requests_are_no_tries() -> None:
    """A request that the throttler refuses was not sent, so sending it later is not a retry.

    The throttler refuses the request more often than a failed request would be repeated.
    """
    refusals = RETRIES * 3
    servers = Servers(fail_times(refusals, RequestThrottled("full")))
    report = servers.run(bound_chunk([[1]]))
    # Only the last request was sent.
    assert report.written == 1
    assert report.failed == 0
    assert report.requests == 1
    assert report.retries == 0
    # The delay in seconds doubles up to LONGEST_WAIT.
    assert servers.pauses[:3] == [0.002, 0.004, 0.008]
    assert servers.pauses[-1] == LONGEST_WAIT
    assert servers.limits[:3] == [64, 32, 16]


def test_a_row_fails_if_the_throttler_never_has_room() -> None:
    """After MOST_WAITS refusals of the throttler, each further refusal is a failed attempt."""
    servers = Servers(lambda request: RequestThrottled("full"))
    report = servers.run(bound_chunk([[1]]))
    assert len(servers.requests) == MOST_WAITS + RETRIES
    assert report.written == 0
    assert report.failed == 1
    assert report.requests == 0


def test_rows_that_servers_reject_are_no_waits_for_the_throttler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Slices with rows that servers reject do not count as waits for the throttler.

    A load gives up if the throttler refuses every request of MOST_WAITS slices in a row. If a
    server rejects the rows of a slice, the slice was sent, so it does not count. Here servers
    reject many slices first. Then the throttler refuses a row almost as often as is allowed.
    """
    monkeypatch.setattr(sender, "MOST_WAITS", RETRIES * 2)
    refusals = RETRIES * 2 - 1
    throttle = fail_times(refusals, RequestThrottled("full"))

    def answer(request: list[int]) -> BaseException | None:
        return throttle(request) if request == [0] else InvalidRequest("no")

    # With a limit of one request in flight, a slice has eight requests.
    servers = Servers(answer, concurrency=1)
    rejected_ids = range(1, 8 * RETRIES * 2 + 1)
    report = servers.run(bound_chunk([[row_id] for row_id in rejected_ids], [[0]]))
    assert report.written == 1
    assert report.failed == len(rejected_ids)
    assert report.retries == 0
    assert servers.pauses[0] == 0.002  # The first wait is as short as in any other load.


def test_a_throttler_that_lets_some_requests_pass_is_not_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the throttler lets one request of each slice pass, the load does not give up.

    The servers reject all rows, so each row must fail with the server's error, which shows that
    the row was sent.
    """
    monkeypatch.setattr(sender, "MOST_WAITS", 3)
    slices_with_requests: set[int] = set()

    def answer_once_in_a_slice(request: list[int]) -> BaseException:
        # The first request of each slice is sent, and the throttler refuses all others.
        slice_number = len(servers.limits)
        if slice_number in slices_with_requests:
            return RequestThrottled("full")
        slices_with_requests.add(slice_number)
        return InvalidRequest("no")

    servers = Servers(answer_once_in_a_slice)
    report = servers.run(bound_chunk([[row_id] for row_id in range(50)]))
    assert report.failed == 50
    assert report.requests == 50
    assert report.retries == 0
    assert {type(failure.error) for failure in report.failures} == {InvalidRequest}
