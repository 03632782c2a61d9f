"""Retry policies: the decision when a server or a connection fails a request."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from cassandra._patterns import pattern
from cassandra.consistency import ConsistencyLevel
from cassandra.errors import WriteType

if TYPE_CHECKING:
    from cassandra.policies.balancing import Engine
    from cassandra.query.statement import Statement

__all__ = [
    "DowngradingConsistencyRetryPolicy",
    "ExponentialBackoffRetryPolicy",
    "FallthroughRetryPolicy",
    "LWTRetryPolicy",
    "NeverRetryPolicy",
    "RateLimitRetryPolicy",
    "RetryPolicy",
]

# What to do, the consistency level to do it with, and optionally the delay in seconds.
Decision = tuple[int, int | None] | tuple[int, int | None, float]


class RetryPolicy:
    """The default policy: tries once more if the server's answer says that this may help.

    A request that may have been executed is sent again only if it is idempotent
    (`Statement.is_idempotent`).

    Each method returns a decision (`RETRY` on the same host, `RETRY_NEXT_HOST`, `RETHROW` the error
    or `IGNORE` it), and the consistency level to do it with; None keeps the level. A third item, if
    there is one, is the delay in seconds. They are called on the event loop and must not block.
    """

    RETRY = 0
    RETHROW = 1
    IGNORE = 2
    RETRY_NEXT_HOST = 3

    def on_read_timeout(
        self,
        query: Statement | None,
        consistency: int,
        required_responses: int,
        received_responses: int,
        data_retrieved: bool,
        retry_num: int,
    ) -> Decision:
        """Retry once on the same host if enough replicas answered and only the data was missing.

        :param query: the statement.
        :param consistency: the level that was not reached, a value of `ConsistencyLevel`.
        :param required_responses: how many replicas have to answer for that level.
        :param received_responses: how many have answered.
        :param data_retrieved: True if the replica that was asked for the data itself has answered.
        :param retry_num: how often the request was tried again so far.
        """
        # The replica that was asked for the data was slow; the coordinator now knows to ask
        # another.
        if retry_num == 0 and received_responses >= required_responses and not data_retrieved:
            return self.RETRY, consistency
        return self.RETHROW, None

    def on_write_timeout(
        self,
        query: Statement | None,
        consistency: int,
        write_type: int,
        required_responses: int,
        received_responses: int,
        retry_num: int,
    ) -> Decision:
        """Retry once on the same host if only the batch log was late: nothing is written then.

        :param query: the statement.
        :param consistency: the level that was not reached, a value of `ConsistencyLevel`.
        :param write_type: the kind of write, a value of `WriteType`.
        :param required_responses: how many replicas have to answer for that level.
        :param received_responses: how many have answered.
        :param retry_num: how often the request was tried again so far.
        """
        if retry_num == 0 and write_type == WriteType.BATCH_LOG:
            return self.RETRY, consistency
        return self.RETHROW, None

    def on_unavailable(
        self,
        query: Statement | None,
        consistency: int,
        required_replicas: int,
        alive_replicas: int,
        retry_num: int,
    ) -> Decision:
        """Retry once on the next host: this coordinator may be cut off from the replicas.

        :param query: the statement.
        :param consistency: the level that cannot be reached, a value of `ConsistencyLevel`.
        :param required_replicas: how many replicas that level needs.
        :param alive_replicas: how many are alive, as the coordinator sees it.
        :param retry_num: how often the request was tried again so far.
        """
        # No check of idempotence: the coordinator refused before it sent anything to a replica.
        return (self.RETRY_NEXT_HOST, None) if retry_num == 0 else (self.RETHROW, None)

    def on_request_error(
        self, query: Statement | None, consistency: int, error: Exception, retry_num: int
    ) -> Decision:
        """Retry on the next host if the request is idempotent. Others may have been executed.

        :param query: the statement.
        :param consistency: the level of the request, a value of `ConsistencyLevel`.
        :param error: the server's error message, or that of a connection that broke.
        :param retry_num: how often the request was tried again so far.
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
    """`FallthroughRetryPolicy` under another name."""


class DowngradingConsistencyRetryPolicy(RetryPolicy):
    """Retries once with the highest consistency level that the replicas known to answer allow.

    That guarantees less than was asked for: use it only if this is better than an error.

    :param args: for further bases of a subclass: `RetryPolicy` takes none.
    :param kwargs: the same, by name.
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
        query: Statement | None,
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
        query: Statement | None,
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
        # Its parts may be applied or not: writing all of them again is the only way to complete it.
        if write_type == WriteType.UNLOGGED_BATCH:
            return self._with(received_responses)
        return (
            (self.RETRY, consistency) if write_type == WriteType.BATCH_LOG else (self.RETHROW, None)
        )

    def on_unavailable(
        self,
        query: Statement | None,
        consistency: int,
        required_replicas: int,
        alive_replicas: int,
        retry_num: int,
    ) -> Decision:
        if retry_num:
            return self.RETHROW, None
        if ConsistencyLevel.is_serial(consistency):
            # A weaker level is not a serial one, and it would break the transaction's promise.
            return self.RETRY_NEXT_HOST, None
        return self._with(alive_replicas)


class ExponentialBackoffRetryPolicy(RetryPolicy):
    """Tries again several times, and waits twice as long each time.

    :param max_num_retries: the greatest number of further tries.
    :param min_interval: seconds before the first further try.
    :param max_interval: the longest delay, in seconds.
    :param args: for further bases of a subclass: `RetryPolicy` takes none.
    :param kwargs: the same, by name.
    """

    # Of the cluster's engine, once there is one; the process's numbers until then.
    _random: Any = random

    def attach(self, engine: Engine) -> None:
        """Draw from the numbers of a cluster. Called when it connects.

        :param engine: the cluster's engine.
        """
        self._random = engine.random

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
        """Return the seconds before try number `attempt`, with a jitter of 15 % either way."""
        # Beyond 2 ** 64 floats would overflow; the limit is reached long before.
        delay = min(self.max_interval, self.min_interval * 2.0 ** min(attempt, 64))
        # The jitter keeps clients that failed together from coming back together.
        return delay * float(self._random.uniform(0.85, 1.15))

    def _again(
        self,
        decision: int,
        consistency: int | None,
        retry_num: int,
        delay: float | None = None,
    ) -> Decision:
        if retry_num < self.max_num_retries:
            return decision, consistency, self._delay(retry_num) if delay is None else delay
        return self.RETHROW, None

    def on_read_timeout(
        self,
        query: Statement | None,
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
        query: Statement | None,
        consistency: int,
        write_type: int,
        required_responses: int,
        received_responses: int,
        retry_num: int,
    ) -> Decision:
        # The coordinator writes the log before any part of the batch: nothing is applied yet.
        if write_type == WriteType.BATCH_LOG:
            return self._again(self.RETRY, consistency, retry_num)
        return self.RETHROW, None

    def on_unavailable(
        self,
        query: Statement | None,
        consistency: int,
        required_replicas: int,
        alive_replicas: int,
        retry_num: int,
    ) -> Decision:
        return self._again(self.RETRY_NEXT_HOST, None, retry_num)

    def on_request_error(
        self, query: Statement | None, consistency: int, error: Exception, retry_num: int
    ) -> Decision:
        # Nobody knows if the server executed it before the connection broke.
        if getattr(query, "is_idempotent", False):
            return self._again(self.RETRY_NEXT_HOST, None, retry_num)
        return self.RETHROW, None


class LWTRetryPolicy(ExponentialBackoffRetryPolicy):
    """Tries lightweight transactions again on the same host, and waits twice as long each time.

    Competing transactions on one partition end with time-outs. On another host a further try would
    compete with the first one, which may still be under way; the same host finishes that one first.

    Other requests are treated as by `ExponentialBackoffRetryPolicy`.

    A transaction whose first try was applied after all answers ``applied=False`` to the second one,
    with the values that it wrote itself: compare them with those that you sent.

    :param max_num_retries: the greatest number of further tries.
    :param min_interval: seconds before the first further try.
    :param max_interval: the longest delay, in seconds.
    """

    def __init__(
        self, max_num_retries: float = 3, min_interval: float = 0.1, max_interval: float = 10.0
    ) -> None:
        super().__init__(max_num_retries, min_interval, max_interval)

    def on_read_timeout(
        self,
        query: Statement | None,
        consistency: int,
        required_responses: int,
        received_responses: int,
        data_retrieved: bool,
        retry_num: int,
    ) -> Decision:
        # A read at a serial level takes part in the transactions of its partition.
        if ConsistencyLevel.is_serial(consistency):
            return self._again(self.RETRY, consistency, retry_num)
        return super().on_read_timeout(
            query, consistency, required_responses, received_responses, data_retrieved, retry_num
        )

    def on_write_timeout(
        self,
        query: Statement | None,
        consistency: int,
        write_type: int,
        required_responses: int,
        received_responses: int,
        retry_num: int,
    ) -> Decision:
        if write_type == WriteType.CAS:
            # `consistency` is the level of the phase that was late, a serial one perhaps: the
            # request keeps its own.
            return self._again(self.RETRY, None, retry_num)
        return super().on_write_timeout(
            query, consistency, write_type, required_responses, received_responses, retry_num
        )


_OVERLOADED = 0x1001  # the code of the server's error
# Azure Cosmos DB says in a refusal how long to wait.
_RETRY_AFTER = pattern(r"RetryAfterMs\s*=\s*(\d[\d,]*)")


class RateLimitRetryPolicy(ExponentialBackoffRetryPolicy):
    """Waits as long as a service with a rate limit asks for, and tries again on the same host.

    Managed services refuse what exceeds the throughput that was bought. Azure Cosmos DB answers
    OVERLOADED with ``RetryAfterMs=...``: nothing was executed then, so statements that are not
    idempotent are sent again, too. After an OVERLOADED without it, only idempotent ones are sent
    again, with exponential backoff.

    Other errors are treated as by `ExponentialBackoffRetryPolicy`.

    :param max_num_retries: the greatest number of further tries.
    :param min_interval: seconds before the first further try, if the service names no time.
    :param max_interval: the longest delay, in seconds, also if the service asks for more.
    """

    def __init__(
        self, max_num_retries: float = 9, min_interval: float = 0.1, max_interval: float = 10.0
    ) -> None:
        super().__init__(max_num_retries, min_interval, max_interval)

    def on_request_error(
        self, query: Statement | None, consistency: int, error: Exception, retry_num: int
    ) -> Decision:
        # Of an OVERLOADED alone: other errors may quote texts of the program.
        if getattr(error, "error_code", None) == _OVERLOADED:
            asked = _RETRY_AFTER.search(str(error))
            if asked is not None:
                seconds = int(asked[1].replace(",", "")) / 1000
                # Up to 15 % longer: clients refused together must not come back together.
                seconds *= 1 + 0.15 * float(self._random.random())
                return self._again(self.RETRY, None, retry_num, min(seconds, self.max_interval))
            if getattr(query, "is_idempotent", False):
                return self._again(self.RETRY, None, retry_num)
        return super().on_request_error(query, consistency, error, retry_num)
