"""Sends the requests of a load, and repeats requests that fail.

A load reads its rows in chunks, and divides the requests of a chunk into waves: rows with the same
primary key are in different waves. The waves are sent one after another. The requests of a wave may
be sent in any order. They are sent in slices (groups of requests that are sent together); after
each slice, `Pace` adjusts how many requests may be in flight.

The session's retry policy decides first whether a failed request is repeated. If the request still
fails, or the policy ignores the error although no replica has the rows, the sender decides what
happens to the rows of the request:

* If the throttler of this `Cluster` object refused the request, it was never sent. The sender sends
  the request again in the next round of the wave, and does not count this as a try. After
  MOST_WAITS successive slices in which the throttler refused each request, the sender treats this
  error like other errors.
* An idempotent request is repeated if `delay_before_retry` returns a delay. If no server can be
  reached after all of these tries, the load ends, whatever `max_errors` is. Otherwise, if the
  request has several rows and one of them may have caused the error, each row is sent alone. If the
  server's message shows that a value caused the error (`is_data_error`), the rows are sent alone at
  once, without these tries.
* In all other cases the rows of the request have failed. If the request is not idempotent, such as
  one that adds to a counter, and a server may have executed it, the error of the rows says so: they
  must not be loaded again without a look at the table.
* A closed session ends the load at once. So does an exception that is not a DriverException,
  TypeError or ValueError.

A round of a wave ends when each of its requests has an outcome. Then the requests to repeat are
sent in the next round, after the longest of their delays.

A delay of None means: do not repeat the request.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._clocks import monotonic
from cassandra.bulk.binding import Bound, Wave
from cassandra.bulk.chunks import Chunk
from cassandra.bulk.load_steps import Pause, Requests, Step
from cassandra.bulk.pacing import Pace
from cassandra.bulk.recorder import Recorder
from cassandra.bulk.retrying import (
    RETRIES,
    delay_before_retry,
    is_outage,
    may_be_data_error,
    may_have_been_executed,
)
from cassandra.bulk.target import Traits
from cassandra.client.ignored_errors import ignored_error
from cassandra.cqltypes.failures import add_note
from cassandra.errors import (
    DriverException,
    OperationTimedOut,
    RequestThrottled,
    SessionShutdown,
    WriteFailure,
    WriteTimeout,
)
from cassandra.protocol.messages.errors import IsBootstrappingErrorMessage, OverloadedErrorMessage
from cassandra.query.batch import batch_of_block
from cassandra.query.bound import BoundStatement

if TYPE_CHECKING:
    from cassandra.bulk.grouping import Group
    from cassandra.query.prepared import PreparedStatement

# After one of these errors, `Pace` reduces the number of requests in flight. WriteFailure is among
# them because small nodes return it when a vector index cannot take more writes.
_OVERLOAD = (
    OverloadedErrorMessage,
    IsBootstrappingErrorMessage,
    OperationTimedOut,
    WriteFailure,
    WriteTimeout,
)
# After this number of successive slices in which the throttler refused each request, a throttled
# request is treated like any other failed request.
MOST_WAITS = 2000
# The note of an error after which a row of a statement that is not idempotent may be in the table.
_MAY_BE_WRITTEN = (
    "The row may have been written nevertheless, and this statement must not write it twice: look "
    "at the table before you load the row again."
)
LONGEST_WAIT = 0.25  # the maximum number of seconds before throttled requests are sent again


def _has_reached_a_replica(error: BaseException) -> bool:
    """Return True if at least one replica has acknowledged the write.

    The other replicas will get the write by hints or repair, so a retry policy may ignore the
    error.
    """
    return isinstance(error, WriteTimeout) and bool(error.received_responses)


class Sender:
    """Sends the requests of bound chunks, until each row is written, not applied or failed.

    :param recorder: records the outcome of each row.
    :param traits: whether requests of the load's statement may be repeated or conditional.
    :param pace: limits the number of requests in flight.
    :param consistency_level: the consistency level of all requests; None uses the profile's level.
    :param clock: returns a monotonic time in seconds.
    """

    def __init__(
        self,
        recorder: Recorder,
        traits: Traits,
        pace: Pace,
        consistency_level: int | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._recorder = recorder
        self._traits = traits
        self._pace = pace
        self._consistency_level = consistency_level
        self._clock = clock
        self._delay = 0.0  # seconds to wait before the next round, which repeats failed requests
        # The number of successive slices in which the throttler refused each request; see
        # MOST_WAITS.
        self._throttled_slices = 0

    def send(self, bound: Bound) -> Generator[Step, Any, None]:
        """Send the requests of a chunk, and repeat failed requests.

        It ends when each request was acknowledged, or will not be repeated any more.

        :param bound: the chunk.
        :raises LoadError: if too many rows have failed, or no server can be reached.
        """
        for wave in bound.waves:
            # Send the groups of the wave in rounds. Each round after the first round sends the
            # groups that failed in the previous round and may be repeated.
            groups: Sequence[Group] = wave.groups
            while groups:
                groups = yield from self._send_round(bound.chunk, wave, groups)
                if groups:
                    yield Pause(self._delay)

    def _send_round(
        self, chunk: Chunk, wave: Wave, groups: Sequence[Group]
    ) -> Generator[Step, Any, list[Group]]:
        """Execute one request per group, slice by slice; return the groups of the next round."""
        self._delay = 0.0
        next_groups: list[Group] = []
        start = 0
        while start < len(groups):
            slice_groups = groups[start : start + self._pace.slice]
            start += len(slice_groups)
            failed = yield from self._send_slice(wave, slice_groups)
            for group, error in failed:
                next_groups += self._after_failure(chunk, wave, group, error)
        return next_groups

    def _send_slice(
        self, wave: Wave, groups: Sequence[Group]
    ) -> Generator[Step, Any, list[tuple[Group, BaseException]]]:
        """Execute one request per group, and adjust the pace.

        :returns: the groups whose requests have failed, with their errors.
        """
        start_time = self._clock()
        failed: list[tuple[Group, BaseException]] = []
        sent_count = row_count = 0
        groups_in_order = iter(groups)

        def record_outcome(success: bool, result: Any) -> None:
            """Called with the result or error of each request, in the order of sending."""
            nonlocal row_count
            group = next(groups_in_order)
            if success:
                # The application's retry policy may have ignored an error. If no replica has the
                # rows, they must not count as written: treat the error like any other error.
                ignored = ignored_error(result)
                if ignored is not None and not _has_reached_a_replica(ignored):
                    success, result = False, ignored
            if not success:
                failed.append((group, result))
                return
            row_count += len(group)
            is_applied = not self._traits.is_conditional or result.was_applied
            self._recorder.note_answer(wave, group, is_applied)

        def statements() -> Iterator[Any]:
            """Yield the statement of each group, and count the statements."""
            nonlocal sent_count
            for group in groups:
                statement = self._statement(wave.prepared, group)
                sent_count += 1
                yield statement

        try:
            yield Requests(statements(), self._pace.limit, record_outcome)
        finally:
            # Count in `finally`, so that the report includes these requests if the load is
            # interrupted.
            throttled = sum(isinstance(error, RequestThrottled) for _, error in failed)
            self._recorder.note_slice(sent_count - throttled, row_count)
        # `_after_failure` gives up after too many slices in which the throttler refuses every
        # request. If the throttler lets a request pass, waiting helps, even if a server then
        # rejects the rows of that request.
        is_all_throttled = throttled == len(groups)
        self._throttled_slices = self._throttled_slices + 1 if is_all_throttled else 0
        if throttled:
            # The throttler also limits the application's other requests on this cluster. Slow down,
            # so that those requests are not delayed.
            self._pace.give_way()
        is_overloaded = any(isinstance(error, _OVERLOAD) for _, error in failed)
        self._pace.note(len(groups) - throttled, self._clock() - start_time, is_overloaded)
        return failed

    def _after_failure(
        self, chunk: Chunk, wave: Wave, group: Group, error: BaseException
    ) -> list[Group]:
        """Return the groups to send again after a failed request; [] if its rows have failed."""
        if isinstance(error, RequestThrottled) and self._throttled_slices < MOST_WAITS:
            # The throttler refused the request, so it was not sent: send it again later. The delay
            # begins with a millisecond and doubles with each slice in which no request was sent, up
            # to LONGEST_WAIT. The exponent has a limit too, because a float cannot hold powers of
            # any size.
            backoff = 0.001 * 2 ** min(self._throttled_slices, 8)
            self._delay = max(self._delay, min(backoff, LONGEST_WAIT))
            return [group]
        group.tries += 1
        if isinstance(error, SessionShutdown) or not isinstance(
            error, (DriverException, TypeError, ValueError)
        ):
            raise error  # this ends the load; see the module's docstring
        if self._traits.is_idempotent:
            delay = delay_before_retry(error, group.tries)
            if delay is not None:
                self._delay = max(self._delay, delay)
                self._recorder.note_retries(1)
                return [group]
            if is_outage(error):
                raise self._recorder.outage(error) from error
            if len(group) > 1 and may_be_data_error(error):
                # Any of the rows may have caused the error, so send each row alone to find it.
                single_groups = group.single_rows()
                if group.tries > RETRIES:
                    # The whole group has already used all of its tries, so give each row only one
                    # further try.
                    for single_group in single_groups:
                        single_group.tries = RETRIES
                self._recorder.note_retries(len(single_groups))
                return single_groups
        elif may_have_been_executed(error):
            add_note(error, _MAY_BE_WRITTEN)
        for row in group.rows:
            self._recorder.note_failed(chunk, wave.row_numbers[row], error)
        return []

    def _statement(self, prepared: PreparedStatement, group: Group) -> Any:
        """Return a bound statement for a single row, or an unlogged batch of several rows."""
        statement: Any
        if len(group) == 1:
            statement = BoundStatement(prepared)
            statement.block = group.block.row(0)
        else:
            statement = batch_of_block(prepared, group.block)
        # The driver's engine must not repeat requests that write lists: it repeats a request with
        # the same write time, which would add the elements of the lists again. The sender itself
        # may repeat them: its request gets a new write time, and so replaces the lists.
        statement.is_idempotent = self._traits.is_idempotent and not self._traits.has_lists
        if self._consistency_level is not None:
            statement.consistency_level = self._consistency_level
        return statement
