"""Retry policies: their decision for each kind of failure, and when they give up.

The last arguments of the policies' methods are: how many responses (or live replicas) the
consistency level requires, how many there were, and how often the request was retried. For
`on_read_timeout`, an argument before the last says whether the replica that was asked for the data
has responded.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.consistency import ConsistencyLevel
from cassandra.errors import WriteType
from cassandra.policies.retry import (
    DowngradingConsistencyRetryPolicy,
    ExponentialBackoffRetryPolicy,
    FallthroughRetryPolicy,
    LWTRetryPolicy,
    RateLimitRetryPolicy,
    RetryPolicy,
)
from cassandra.protocol.messages.errors import OverloadedErrorMessage, ServerError
from cassandra.testing.fake import ErrorCode

ONE, TWO, THREE, QUORUM, SERIAL = (
    ConsistencyLevel.ONE,
    ConsistencyLevel.TWO,
    ConsistencyLevel.THREE,
    ConsistencyLevel.QUORUM,
    ConsistencyLevel.SERIAL,
)
RETHROW = (RetryPolicy.RETHROW, None)
# statements that may be executed twice, and statements that may not
SAFE: Any = SimpleNamespace(is_idempotent=True)
UNSAFE: Any = SimpleNamespace(is_idempotent=False)


@pytest.mark.parametrize(
    ("required", "received", "data_retrieved", "retry_num", "expected"),
    [
        (2, 2, False, 0, (RetryPolicy.RETRY, QUORUM)),
        (2, 2, False, 1, (RetryPolicy.RETHROW, None)),
        (2, 2, True, 0, (RetryPolicy.RETHROW, None)),
        (2, 1, False, 0, (RetryPolicy.RETHROW, None)),
    ],
)
def test_default_on_read_timeout(
    required: int,
    received: int,
    data_retrieved: bool,
    retry_num: int,
    expected: tuple[int, int | None],
) -> None:
    """The default policy retries a read timeout once if only the data is missing.

    The data is missing if enough replicas responded, but not the replica that was asked for the
    data.
    """
    assert (
        RetryPolicy().on_read_timeout(UNSAFE, QUORUM, required, received, data_retrieved, retry_num)
        == expected
    )


def test_default_on_write_timeout_retries_only_the_batch_log() -> None:
    """The default policy retries a write timeout once, and only for the batch log."""
    # The last three arguments are the required responses, the received responses, and the retries.
    policy = RetryPolicy()
    assert policy.on_write_timeout(UNSAFE, ONE, WriteType.BATCH_LOG, 1, 0, 0) == (
        RetryPolicy.RETRY,
        ONE,
    )
    assert policy.on_write_timeout(UNSAFE, ONE, WriteType.BATCH_LOG, 1, 0, 1) == (
        RetryPolicy.RETHROW,
        None,
    )
    assert policy.on_write_timeout(UNSAFE, ONE, WriteType.SIMPLE, 1, 0, 0) == (
        RetryPolicy.RETHROW,
        None,
    )


def test_default_does_not_retry_statements_that_are_not_idempotent() -> None:
    """After a request error, only idempotent statements are retried.

    After "unavailable", no replica has executed the statement, so any statement is retried once.
    """
    policy = RetryPolicy()
    assert policy.on_request_error(UNSAFE, ONE, OSError(), 0) == RETHROW
    assert policy.on_request_error(SAFE, ONE, OSError(), 0) == (RetryPolicy.RETRY_NEXT_HOST, None)
    assert policy.on_unavailable(UNSAFE, ONE, 1, 0, 0) == (RetryPolicy.RETRY_NEXT_HOST, None)
    assert policy.on_unavailable(UNSAFE, ONE, 1, 0, 1) == RETHROW


def test_the_numbers_of_decisions_are_those_of_other_drivers() -> None:
    """The decisions have the same numbers as in cassandra-driver."""
    # An application's policy may return the numbers instead of the names.
    assert (RetryPolicy.RETRY, RetryPolicy.RETHROW) == (0, 1)
    assert (RetryPolicy.IGNORE, RetryPolicy.RETRY_NEXT_HOST) == (2, 3)


def test_fallthrough_never_retries() -> None:
    """FallthroughRetryPolicy rethrows each error."""
    policy = FallthroughRetryPolicy()
    assert policy.on_read_timeout(SAFE, ONE, 1, 1, False, 0)[0] == RetryPolicy.RETHROW
    assert (
        policy.on_write_timeout(SAFE, ONE, WriteType.BATCH_LOG, 1, 0, 0)[0] == RetryPolicy.RETHROW
    )
    assert policy.on_unavailable(SAFE, ONE, 1, 0, 0)[0] == RetryPolicy.RETHROW
    assert policy.on_request_error(SAFE, ONE, OSError(), 0)[0] == RetryPolicy.RETHROW


def test_downgrading_retries_at_a_level_that_live_replicas_can_serve() -> None:
    """The policy retries at a level for which enough replicas have responded, but only once."""
    policy = DowngradingConsistencyRetryPolicy()
    # Two replicas have responded, so a retry at level TWO can succeed.
    assert policy.on_read_timeout(SAFE, QUORUM, 3, 2, False, 0) == (RetryPolicy.RETRY, TWO)
    assert policy.on_read_timeout(SAFE, QUORUM, 3, 0, False, 0) == RETHROW
    assert policy.on_read_timeout(SAFE, SERIAL, 3, 2, False, 0) == RETHROW
    assert policy.on_read_timeout(SAFE, QUORUM, 3, 2, False, 1) == RETHROW
    # One replica has the write, and will pass it on to the others, so the policy ignores the error.
    assert policy.on_write_timeout(SAFE, QUORUM, WriteType.SIMPLE, 2, 1, 0)[0] == RetryPolicy.IGNORE
    assert (
        policy.on_write_timeout(SAFE, QUORUM, WriteType.SIMPLE, 2, 0, 0)[0] == RetryPolicy.RETHROW
    )
    assert policy.on_write_timeout(SAFE, QUORUM, WriteType.UNLOGGED_BATCH, 2, 1, 0) == (
        RetryPolicy.RETRY,
        ONE,
    )
    assert policy.on_unavailable(SAFE, QUORUM, 2, 1, 0) == (RetryPolicy.RETRY, ONE)
    assert policy.on_unavailable(SAFE, SERIAL, 2, 1, 0) == (RetryPolicy.RETRY_NEXT_HOST, None)


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        (0, (RetryPolicy.RETHROW, None)),
        (1, (RetryPolicy.RETRY, ONE)),
        (2, (RetryPolicy.RETRY, TWO)),
        (3, (RetryPolicy.RETRY, THREE)),
        (4, (RetryPolicy.RETRY, THREE)),
    ],
)
def test_downgrading_chooses_the_highest_level_of_the_replicas(
    replicas: int, expected: tuple[int, int | None]
) -> None:
    """The retry has the highest of the levels ONE, TWO and THREE that `replicas` can serve."""
    policy = DowngradingConsistencyRetryPolicy()
    assert policy.on_unavailable(SAFE, QUORUM, 5, replicas, 0) == expected
    assert policy.on_read_timeout(SAFE, QUORUM, 5, replicas, True, 0) == expected
    assert (
        policy.on_write_timeout(SAFE, QUORUM, WriteType.UNLOGGED_BATCH, 5, replicas, 0) == expected
    )


def test_downgrading_keeps_the_level_if_enough_replicas_responded() -> None:
    """If enough replicas responded, or the batch log timed out, the retry has the same level."""
    policy = DowngradingConsistencyRetryPolicy()
    keep = (RetryPolicy.RETRY, QUORUM)
    assert policy.on_read_timeout(SAFE, QUORUM, 2, 2, False, 0) == keep
    # If the data has arrived, a retry would not help.
    assert policy.on_read_timeout(SAFE, QUORUM, 2, 2, True, 0) == RETHROW
    assert policy.on_write_timeout(SAFE, QUORUM, WriteType.BATCH_LOG, 2, 0, 0) == keep
    # Timeouts of writes for a materialized view are not retried.
    assert policy.on_write_timeout(SAFE, QUORUM, WriteType.VIEW, 2, 2, 0) == RETHROW


@pytest.mark.parametrize("write_type", [WriteType.SIMPLE, WriteType.BATCH, WriteType.COUNTER])
def test_downgrading_ignores_write_timeouts_if_a_replica_has_the_write(write_type: int) -> None:
    """If at least one replica has the write, the timeout is ignored."""
    policy = DowngradingConsistencyRetryPolicy()
    ignore = (RetryPolicy.IGNORE, None)
    assert policy.on_write_timeout(SAFE, QUORUM, write_type, 2, 1, 0) == ignore
    assert policy.on_write_timeout(SAFE, QUORUM, write_type, 2, 0, 0) == RETHROW


def test_downgrading_retries_once() -> None:
    """DowngradingConsistencyRetryPolicy rethrows the error if the request was already retried."""
    policy = DowngradingConsistencyRetryPolicy()
    assert policy.on_read_timeout(SAFE, QUORUM, 2, 1, False, 1) == RETHROW
    assert policy.on_write_timeout(SAFE, QUORUM, WriteType.BATCH_LOG, 2, 1, 1) == RETHROW
    assert policy.on_unavailable(SAFE, QUORUM, 2, 1, 1) == RETHROW


def test_exponential_backoff_waits_longer_and_gives_up() -> None:
    """The delays double up to the maximum. After three retries, the error is raised."""
    policy = ExponentialBackoffRetryPolicy(3, min_interval=0.1, max_interval=0.3)
    delays = []
    for attempt in range(3):
        decision = policy.on_unavailable(SAFE, ONE, 2, 1, attempt)
        assert decision[0] == RetryPolicy.RETRY_NEXT_HOST
        delays.append(decision[2])  # type: ignore[misc]
    # The delays are 0.1 s, 0.2 s and then the maximum of 0.3 s, each up to 15 % shorter or longer.
    assert 0.085 <= delays[0] <= 0.115
    assert 0.17 <= delays[1] <= 0.23
    assert 0.255 <= delays[2] <= 0.345
    assert policy.on_unavailable(SAFE, ONE, 2, 1, 3)[0] == RetryPolicy.RETHROW
    assert policy.on_request_error(UNSAFE, ONE, OSError(), 0)[0] == RetryPolicy.RETHROW


@pytest.mark.parametrize(
    ("policy", "retries"),
    [
        (ExponentialBackoffRetryPolicy(4), 4),
        (LWTRetryPolicy(), 3),
        (RateLimitRetryPolicy(), 9),
    ],
)
def test_backoff_by_default(policy: ExponentialBackoffRetryPolicy, retries: int) -> None:
    """The first retry waits for 0.1 s, and each further retry twice as long, up to 10 s."""
    # A delay is up to 15 % longer than its interval. This random source always returns the longest
    # delay, and divides it by 1.15.
    policy._random = SimpleNamespace(uniform=lambda low, high: high / 1.15)
    delays: list[float] = []
    for retry_num in range(retries):
        answer = policy.on_unavailable(SAFE, ONE, 2, 1, retry_num)
        decision, level, delay = parts_of(answer)
        assert (decision, level) == (RetryPolicy.RETRY_NEXT_HOST, None)
        delays.append(delay)
    assert policy.on_unavailable(SAFE, ONE, 2, 1, retries) == RETHROW
    doubled = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]
    assert delays == pytest.approx(doubled[:retries])


def test_a_retry_after_very_many_waits_for_the_longest_interval() -> None:
    """The delay of the 5000th retry does not overflow: it is the maximum, varied by up to 15 %."""
    policy = ExponentialBackoffRetryPolicy(float("inf"), max_interval=2)
    _, _, delay = parts_of(policy.on_unavailable(SAFE, ONE, 2, 1, 5000))
    assert 1.7 <= delay <= 2.3


@pytest.mark.parametrize(
    "policy", [ExponentialBackoffRetryPolicy(2), LWTRetryPolicy(2), RateLimitRetryPolicy(2)]
)
def test_backoff_retries_the_errors_that_the_default_policy_retries(
    policy: ExponentialBackoffRetryPolicy,
) -> None:
    """The policies with backoff retry the errors of the default policy, up to their limit (two)."""
    # Only the data is missing: on a retry, the coordinator asks another replica for the data.
    answer = policy.on_read_timeout(UNSAFE, QUORUM, 2, 2, False, 1)
    assert parts_of(answer)[:2] == (RetryPolicy.RETRY, QUORUM)
    assert policy.on_read_timeout(UNSAFE, QUORUM, 2, 2, True, 1) == RETHROW
    assert policy.on_read_timeout(UNSAFE, QUORUM, 2, 1, False, 1) == RETHROW
    assert policy.on_read_timeout(UNSAFE, QUORUM, 2, 2, False, 2) == RETHROW
    # The timeout occurred while the coordinator wrote the batch log, so no statement of the batch
    # has been executed.
    answer = policy.on_write_timeout(UNSAFE, QUORUM, WriteType.BATCH_LOG, 1, 0, 1)
    assert parts_of(answer)[:2] == (RetryPolicy.RETRY, QUORUM)
    assert policy.on_write_timeout(UNSAFE, QUORUM, WriteType.BATCH, 2, 1, 0) == RETHROW
    # An OSError means that the connection broke, so the request may have been executed.
    answer = policy.on_request_error(SAFE, QUORUM, OSError(), 1)
    assert parts_of(answer)[:2] == (RetryPolicy.RETRY_NEXT_HOST, None)
    assert policy.on_request_error(SAFE, QUORUM, OSError(), 2) == RETHROW


def parts_of(decision: Any) -> tuple[int, int | None, float]:
    """Split a policy's decision into its code, its consistency level, and its delay in seconds."""
    decision_code, level, delay = decision
    return decision_code, level, delay


def test_transactions_are_tried_again_on_the_same_host() -> None:
    """LWTRetryPolicy retries a timeout of a lightweight transaction, on the same host."""
    policy = LWTRetryPolicy(2, min_interval=1)
    for retry_num in (0, 1):
        answer = policy.on_write_timeout(UNSAFE, SERIAL, WriteType.CAS, 2, 1, retry_num)
        decision, level, delay = parts_of(answer)
        assert (decision, level) == (RetryPolicy.RETRY, None)
        # The interval doubles with each retry. The delay is up to 15 % shorter or longer than the
        # interval.
        assert 0.85 * 2**retry_num <= delay <= 1.15 * 2**retry_num
    assert policy.on_write_timeout(UNSAFE, SERIAL, WriteType.CAS, 2, 1, 2) == RETHROW
    assert policy.on_write_timeout(UNSAFE, QUORUM, WriteType.SIMPLE, 2, 1, 0) == RETHROW


def test_reads_at_a_serial_level_are_tried_again_on_the_same_host() -> None:
    """LWTRetryPolicy retries a read timeout at a serial level, but not at another level."""
    policy = LWTRetryPolicy()
    answer = policy.on_read_timeout(UNSAFE, SERIAL, 2, 1, False, 0)
    decision, level, _ = parts_of(answer)
    assert (decision, level) == (RetryPolicy.RETRY, SERIAL)
    assert policy.on_read_timeout(UNSAFE, QUORUM, 2, 1, False, 0) == RETHROW


REFUSAL = "Request rate is large: ActivityID=7, RetryAfterMs={}, Additional details='(429)'"


@pytest.mark.parametrize(
    ("milliseconds", "seconds"), [("40", 0.04), ("1,250", 1.25), ("90000", 10.0)]
)
def test_the_retry_waits_as_long_as_the_service_demands(milliseconds: str, seconds: float) -> None:
    """The policy waits for the time that the error of Azure Cosmos DB names."""
    error = OverloadedErrorMessage(ErrorCode.OVERLOADED, REFUSAL.format(milliseconds), {})
    answer = RateLimitRetryPolicy().on_request_error(UNSAFE, ONE, error, 8)
    decision, level, delay = parts_of(answer)
    assert (decision, level) == (RetryPolicy.RETRY, None)
    # The delay is at most 15 % longer than the server requested, and never longer than 10 s.
    assert seconds <= delay <= min(1.15 * seconds, 10)


def test_rate_limited_requests_are_retried_up_to_the_limit() -> None:
    """After two retries, a policy with the limit 2 raises the error."""
    error = OverloadedErrorMessage(ErrorCode.OVERLOADED, REFUSAL.format(5), {})
    policy = RateLimitRetryPolicy(2)
    assert policy.on_request_error(SAFE, ONE, error, 2) == RETHROW


def test_an_overload_without_a_time_is_retried_only_if_idempotent() -> None:
    """If the error names no time to wait, only idempotent statements are retried.

    Other statements may have been executed before the server reported the overload.
    """
    error = OverloadedErrorMessage(ErrorCode.OVERLOADED, "too many hints", {})
    policy = RateLimitRetryPolicy(min_interval=1)
    assert policy.on_request_error(UNSAFE, ONE, error, 0) == RETHROW
    decision, level, delay = parts_of(policy.on_request_error(SAFE, ONE, error, 1))
    assert (decision, level) == (RetryPolicy.RETRY, None)
    # The second retry is delayed by 2 s, up to 15 % shorter or longer.
    assert 1.7 <= delay <= 2.3


def test_timeouts_without_responses_are_retried_if_that_is_safe() -> None:
    """Timeouts without any response are probably caused by a rate limit, so they are retried."""
    policy = RateLimitRetryPolicy(2, min_interval=1)
    for answer in (
        policy.on_read_timeout(UNSAFE, QUORUM, 2, 0, False, 0),
        policy.on_write_timeout(SAFE, QUORUM, WriteType.SIMPLE, 2, 0, 0),
    ):
        decision, level, delay = parts_of(answer)
        assert (decision, level) == (RetryPolicy.RETRY, QUORUM)
        # The first retry is delayed by 1 s, up to 15 % shorter or longer.
        assert 0.85 <= delay <= 1.15
    assert policy.on_write_timeout(UNSAFE, QUORUM, WriteType.SIMPLE, 2, 0, 0) == RETHROW
    # One replica has responded, so the cause is not a rate limit.
    assert policy.on_write_timeout(SAFE, QUORUM, WriteType.SIMPLE, 2, 1, 0) == RETHROW
    assert policy.on_read_timeout(SAFE, QUORUM, 2, 1, False, 0) == RETHROW
    assert policy.on_read_timeout(SAFE, QUORUM, 2, 0, False, 2) == RETHROW


def test_a_time_in_another_error_is_ignored() -> None:
    """Only an overload error may name the time to wait."""
    error = ServerError(0, REFUSAL.format(5), {})
    policy = RateLimitRetryPolicy()
    assert policy.on_request_error(UNSAFE, ONE, error, 0) == RETHROW


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_num_retries": "3"}, r"max_num_retries must be a number of retries.*float\('3'\)"),
        ({"max_num_retries": 3, "min_interval": "1"}, "min_interval must be a number of seconds"),
        ({"max_num_retries": 3, "max_interval": None}, "max_interval must be a number of seconds"),
    ],
)
def test_limits_of_backoff_are_numbers(settings: dict[str, Any], message: str) -> None:
    """A limit that is no number raises TypeError."""
    with pytest.raises(TypeError, match=message):
        ExponentialBackoffRetryPolicy(**settings)
