"""Retry policies: what to do when a server or a connection fails a request."""

from __future__ import annotations

import random
from typing import Any

from cassandra.consistency import ConsistencyLevel
from cassandra.errors import WriteType

__all__ = [
    "DowngradingConsistencyRetryPolicy",
    "ExponentialBackoffRetryPolicy",
    "FallthroughRetryPolicy",
    "NeverRetryPolicy",
    "RetryPolicy",
]

# (what to do, the consistency level to do it with); a third member, where there is one, is the
# delay in seconds.
Decision = tuple[int, int | None] | tuple[int, int | None, float]


class RetryPolicy:
    """The default: once more where the server has said that it can help, on another host where it
    is safe.

    A request is sent again after it may have been executed only where it is idempotent
    (`Statement.is_idempotent`).
    """

    RETRY = 0
    RETHROW = 1
    IGNORE = 2
    RETRY_NEXT_HOST = 3

    def on_read_timeout(
        self,
        query: Any,
        consistency: int,
        required_responses: int,
        received_responses: int,
        data_retrieved: bool,
        retry_num: int,
    ) -> Decision:
        """Once on the same host, where enough replicas answered and only the data itself was
        missing.
        """
        if retry_num == 0 and received_responses >= required_responses and not data_retrieved:
            return self.RETRY, consistency
        return self.RETHROW, None

    def on_write_timeout(
        self,
        query: Any,
        consistency: int,
        write_type: int,
        required_responses: int,
        received_responses: int,
        retry_num: int,
    ) -> Decision:
        """Once on the same host, where only the batch log was late: nothing has been written then."""
        if retry_num == 0 and write_type == WriteType.BATCH_LOG:
            return self.RETRY, consistency
        return self.RETHROW, None

    def on_unavailable(
        self,
        query: Any,
        consistency: int,
        required_replicas: int,
        alive_replicas: int,
        retry_num: int,
    ) -> Decision:
        """Once on the next host: this coordinator may be cut off from the replicas."""
        return (self.RETRY_NEXT_HOST, None) if retry_num == 0 else (self.RETHROW, None)

    def on_request_error(
        self, query: Any, consistency: int, error: Exception, retry_num: int
    ) -> Decision:
        """An idempotent request goes to the next host, each other one fails: it may have been
        executed.
        """
        return (
            (self.RETRY_NEXT_HOST, None)
            if getattr(query, "is_idempotent", False)
            else (self.RETHROW, None)
        )


class FallthroughRetryPolicy(RetryPolicy):
    """Never tries again: the program decides."""

    def on_read_timeout(self, *args: Any, **kwargs: Any) -> Decision:
        return self.RETHROW, None

    def on_write_timeout(self, *args: Any, **kwargs: Any) -> Decision:
        return self.RETHROW, None

    def on_unavailable(self, *args: Any, **kwargs: Any) -> Decision:
        return self.RETHROW, None

    def on_request_error(self, *args: Any, **kwargs: Any) -> Decision:
        return self.RETHROW, None


class NeverRetryPolicy(FallthroughRetryPolicy):
    """The same as `FallthroughRetryPolicy`, under the name that other programs use."""


class DowngradingConsistencyRetryPolicy(RetryPolicy):
    """Tries once more with the highest consistency level that the replicas known to answer can
    give.

    Less is then guaranteed than was asked for: use it only where that is better than an error.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def _with(self, replicas: int) -> Decision:
        levels = ((3, ConsistencyLevel.THREE), (2, ConsistencyLevel.TWO), (1, ConsistencyLevel.ONE))
        for needed, level in levels:
            if replicas >= needed:
                return self.RETRY, level
        return self.RETHROW, None

    def on_read_timeout(
        self,
        query: Any,
        consistency: int,
        required_responses: int,
        received_responses: int,
        data_retrieved: bool,
        retry_num: int,
    ) -> Decision:
        if retry_num or ConsistencyLevel.is_serial(consistency):
            return self.RETHROW, None
        if received_responses < required_responses:
            return self._with(received_responses)
        return (self.RETRY, consistency) if not data_retrieved else (self.RETHROW, None)

    def on_write_timeout(
        self,
        query: Any,
        consistency: int,
        write_type: int,
        required_responses: int,
        received_responses: int,
        retry_num: int,
    ) -> Decision:
        if retry_num:
            return self.RETHROW, None
        if write_type in (WriteType.SIMPLE, WriteType.BATCH, WriteType.COUNTER):
            # One replica has it, and the others will get it by hints or repair.
            return (self.IGNORE, None) if received_responses > 0 else (self.RETHROW, None)
        if write_type == WriteType.UNLOGGED_BATCH:
            return self._with(received_responses)
        return (
            (self.RETRY, consistency) if write_type == WriteType.BATCH_LOG else (self.RETHROW, None)
        )

    def on_unavailable(
        self,
        query: Any,
        consistency: int,
        required_replicas: int,
        alive_replicas: int,
        retry_num: int,
    ) -> Decision:
        if retry_num:
            return self.RETHROW, None
        if ConsistencyLevel.is_serial(consistency):
            return self.RETRY_NEXT_HOST, None
        return self._with(alive_replicas)


class ExponentialBackoffRetryPolicy(RetryPolicy):
    """Tries up to `max_num_retries` times, waiting longer each time: from `min_interval` up to
    `max_interval` seconds.
    """

    def __init__(
        self,
        max_num_retries: float,
        min_interval: float = 0.1,
        max_interval: float = 10.0,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.max_num_retries = max_num_retries
        self.min_interval = min_interval
        self.max_interval = max_interval

    def _delay(self, attempt: int) -> float:
        """The seconds before try number `attempt`, with a jitter of 15 % either way."""
        delay = min(self.max_interval, self.min_interval * 2.0 ** min(attempt, 64))
        return delay * random.uniform(0.85, 1.15)

    def _again(self, decision: int, consistency: int | None, retry_num: int) -> Decision:
        if retry_num < self.max_num_retries:
            return decision, consistency, self._delay(retry_num)
        return self.RETHROW, None

    def on_read_timeout(
        self,
        query: Any,
        consistency: int,
        required_responses: int,
        received_responses: int,
        data_retrieved: bool,
        retry_num: int,
    ) -> Decision:
        if received_responses >= required_responses and not data_retrieved:
            return self._again(self.RETRY, consistency, retry_num)
        return self.RETHROW, None

    def on_write_timeout(
        self,
        query: Any,
        consistency: int,
        write_type: int,
        required_responses: int,
        received_responses: int,
        retry_num: int,
    ) -> Decision:
        if write_type == WriteType.BATCH_LOG:
            return self._again(self.RETRY, consistency, retry_num)
        return self.RETHROW, None

    def on_unavailable(
        self,
        query: Any,
        consistency: int,
        required_replicas: int,
        alive_replicas: int,
        retry_num: int,
    ) -> Decision:
        return self._again(self.RETRY_NEXT_HOST, None, retry_num)

    def on_request_error(
        self, query: Any, consistency: int, error: Exception, retry_num: int
    ) -> Decision:
        if getattr(query, "is_idempotent", False):
            return self._again(self.RETRY_NEXT_HOST, None, retry_num)
        return self.RETHROW, None
