"""Retry policies decide what to do when a server or a connection fails a request."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from cassandra._habits import warn_of_milliseconds
from cassandra._patterns import pattern
from cassandra._unknown_options import advise_missing
from cassandra.consistency import ConsistencyLevel
from cassandra.errors import WriteType
from cassandra.policies.reconnection import check_number

if TYPE_CHECKING:
    from cassandra.policies.balancing import Engine
    from cassandra.query.statement import Statement

# A decision is (action, consistency level, optional delay in seconds). The action is a constant of
# `RetryPolicy`. The consistency level is for the retry; None keeps the level.
Decision = tuple[int, int | None] | tuple[int, int | None, float]


_OVERLOADED = 0x1001  # the error code of OVERLOADED (native_protocol_v5.spec, section 8)


def is_shutting_down(error: Exception) -> bool:
    """Return True if a node has refused a request because it is shutting down.

    Cassandra has no error code for this. It sends OVERLOADED with this message instead of executing
    the request. So the request may be sent to another node, even if it is not idempotent.

    :param error: the server's error message, or any other error.
    """
    return (
        getattr(error, "error_code", None) == _OVERLOADED
        and getattr(error, "message", None) == "Server is shutting down"
    )


class RetryPolicy:
    """The default policy: retries once if the server's error indicates that a retry may help.

    A request that may have been executed is retried only if it is idempotent
    (`Statement.is_idempotent`).

    Each method returns a tuple: the action, and the consistency level of the retry (None keeps the
    level). The actions are `RETRY` on the same host, `RETRY_NEXT_HOST`, `RETHROW` the error, or
    `IGNORE` it and return an empty result. An optional third item is the delay before the retry, in
    seconds. The driver calls the methods on its event loop, so they must not block.

    In two cases, the driver raises the error although a method returns `IGNORE`. If the request was
    for a later page of a result, the rows of all further pages would be missing. If the request was
    ``USE``, later statements would run in the old keyspace.
    """

    RETRY = 0
    RETHROW = 1
    IGNORE = 2
    RETRY_NEXT_HOST = 3

    if not TYPE_CHECKING:  # hidden from type checkers, which report such calls themselves

        def __new__(cls, *_args, **_options):
            # `RetryPolicy` takes no arguments. An application that passes one probably means a
            # number of retries, so the error names a policy that takes such a number.
            create = super().__new__
            if create is not object.__new__:
                # The application's class has another base class with its own `__new__`, which gets
                # the arguments.
                return create(cls, *_args, **_options)
            if (_args or _options) and cls.__init__ is object.__init__:
                raise TypeError(
                    f"{cls.__name__}() takes no arguments: it retries once. Write "
                    "ExponentialBackoffRetryPolicy(max_num_retries=...) for more retries"
                )
            return create(cls)

    def on_read_timeout(
        self,
        query: Statement | None,
        consistency: int,
        required_responses: int,
        received_responses: int,
        data_retrieved: bool,
        retry_num: int,
    ) -> Decision:
        """Retry once on the same host if enough replicas responded and only the data was missing.

        :param query: the statement.
        :param consistency: the consistency level that was not reached, a value of
            `ConsistencyLevel`.
        :param required_responses: the number of replicas that must respond for this level.
        :param received_responses: the number of replicas that responded.
        :param data_retrieved: True if the replica that was asked for the data itself responded.
        :param retry_num: the number of retries so far.
        """
        # Enough replicas have responded, but not the replica that was asked for the data. At the
        # retry, the coordinator will ask another replica for the data.
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
        """Retry once on the same host if the batch log timed out, because nothing was written then.

        :param query: the statement.
        :param consistency: the consistency level that was not reached, a value of
            `ConsistencyLevel`.
        :param write_type: the type of the write, a value of `WriteType`.
        :param required_responses: the number of replicas that must respond for this level.
        :param received_responses: the number of replicas that responded.
        :param retry_num: the number of retries so far.
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
        """Retry once on the next host: this coordinator may have lost contact to the replicas.

        :param query: the statement.
        :param consistency: the consistency level that cannot be reached, a value of
            `ConsistencyLevel`.
        :param required_replicas: the number of replicas that this level needs.
        :param alive_replicas: the number of live replicas, as seen by the coordinator.
        :param retry_num: the number of retries so far.
        """
        # Idempotence does not matter: the coordinator rejected the request before it sent anything
        # to a replica.
        return (self.RETRY_NEXT_HOST, None) if retry_num == 0 else (self.RETHROW, None)

    def on_request_error(
        self, query: Statement | None, consistency: int, error: Exception, retry_num: int
    ) -> Decision:
        """Retry on the next host if the request is idempotent, or if the node is shutting down.

        A node that is shutting down has not executed the request. After any other error, we cannot
        know whether the server has executed the request.

        :param query: the statement.
        :param consistency: the consistency level of the request, a value of `ConsistencyLevel`.
        :param error: the server's error message, or the error of a broken connection.
        :param retry_num: the number of retries so far.
        """
        may_repeat = getattr(query, "is_idempotent", False) or is_shutting_down(error)
        return (self.RETRY_NEXT_HOST, None) if may_repeat else (self.RETHROW, None)


class FallthroughRetryPolicy(RetryPolicy):
    """Never retries: every error is raised, so that your code decides what to do."""

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
    """Retries once with the highest consistency level that the responding replicas allow.

    The result then has weaker guarantees than you asked for. Use this policy only if that is better
    than an error.

    :param args: passed to further bases of a subclass. `RetryPolicy` takes no arguments.
    :param kwargs: passed to further bases of a subclass.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def _retry_with(self, replicas: int) -> Decision:
        """Retry at the highest level that `replicas` replicas can reach.

        Rethrow the error if `replicas` is 0.
        """
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
        # Retry only once. Never retry serial reads, because a weaker level would break their
        # guarantees.
        if retry_num or ConsistencyLevel.is_serial(consistency):
            return self.RETHROW, None
        # Fewer replicas than required have responded: retry at a level that these replicas can
        # reach.
        if received_responses < required_responses:
            return self._retry_with(received_responses)
        # Enough replicas have responded, but not the replica that was asked for the data: retry at
        # the same level. Otherwise a retry would not help.
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
        if retry_num:  # retry only once
            return self.RETHROW, None
        if write_type in (WriteType.SIMPLE, WriteType.BATCH, WriteType.COUNTER):
            # At least one replica has the write, and the other replicas will get it by hints or
            # repair, so report success.
            return (self.IGNORE, None) if received_responses > 0 else (self.RETHROW, None)
        # Only some statements of the batch may have been applied. Execute the batch again to apply
        # the missing statements.
        if write_type == WriteType.UNLOGGED_BATCH:
            return self._retry_with(received_responses)
        # The coordinator writes the batch log before it applies the batch. If writing the log times
        # out, nothing is applied yet.
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
        if retry_num:  # retry only once
            return self.RETHROW, None
        if ConsistencyLevel.is_serial(consistency):
            # A weaker level would not be serial, and would break the guarantee of the transaction.
            return self.RETRY_NEXT_HOST, None
        return self._retry_with(alive_replicas)


class ExponentialBackoffRetryPolicy(RetryPolicy):
    """Retries several times, and doubles the delay before each retry.

    Each delay is also varied randomly by up to 15 %, and may then exceed `max_interval`.

    :param max_num_retries: the maximum number of retries.
    :param min_interval: the delay before the first retry, in seconds.
    :param max_interval: the maximum delay, in seconds.
    :param args: passed to further bases of a subclass. `RetryPolicy` takes no arguments.
    :param kwargs: passed to further bases of a subclass.
    """

    # The source of random numbers: the module `random`; after `attach`, the cluster's engine.
    _random: Any = random

    def attach(self, engine: Engine) -> None:
        """Use the random numbers of a cluster. Called when the cluster connects.

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
        check_number("max_num_retries", max_num_retries, "a number of retries")
        check_number("min_interval", min_interval)
        check_number("max_interval", max_interval)
        warn_of_milliseconds("max_interval", max_interval)
        self.max_num_retries = max_num_retries
        self.min_interval = min_interval
        self.max_interval = max_interval

    def _delay(self, attempt: int) -> float:
        """Return the delay before a retry in seconds, varied randomly by up to 15 %.

        :param attempt: the number of retries so far.
        """
        # Stop doubling at 2 ** 64: the delay has reached its limit long before, and a greater
        # exponent would overflow.
        delay = min(self.max_interval, self.min_interval * 2.0 ** min(attempt, 64))
        # The random variation prevents clients that failed at the same time from retrying at the
        # same time.
        return delay * float(self._random.uniform(0.85, 1.15))

    def _retry_later(
        self,
        action: int,
        consistency: int | None,
        retry_num: int,
        delay: float | None = None,
    ) -> Decision:
        """Return `action` with a delay, or RETHROW after the last allowed retry.

        :param delay: the delay in seconds; None for the exponential backoff.
        """
        if retry_num < self.max_num_retries:
            return action, consistency, self._delay(retry_num) if delay is None else delay
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
        # Enough replicas have responded, but not the replica that was asked for the data. At the
        # retry, the coordinator will ask another replica for the data.
        if received_responses >= required_responses and not data_retrieved:
            return self._retry_later(self.RETRY, consistency, retry_num)
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
        # The coordinator writes the batch log before it applies any statement of the batch, so
        # nothing has been applied yet.
        if write_type == WriteType.BATCH_LOG:
            return self._retry_later(self.RETRY, consistency, retry_num)
        return self.RETHROW, None

    def on_unavailable(
        self,
        query: Statement | None,
        consistency: int,
        required_replicas: int,
        alive_replicas: int,
        retry_num: int,
    ) -> Decision:
        # Another coordinator may see more live replicas.
        return self._retry_later(self.RETRY_NEXT_HOST, None, retry_num)

    def on_request_error(
        self, query: Statement | None, consistency: int, error: Exception, retry_num: int
    ) -> Decision:
        # If the connection broke, we cannot know if the server has executed the request.
        if getattr(query, "is_idempotent", False) or is_shutting_down(error):
            return self._retry_later(self.RETRY_NEXT_HOST, None, retry_num)
        return self.RETHROW, None


class LWTRetryPolicy(ExponentialBackoffRetryPolicy):
    """Retries lightweight transactions on the same host, and doubles the delay before each retry.

    If several transactions compete for a partition, they time out. On another host, a retry would
    compete with the first attempt, which may still be running. The same host completes the first
    attempt before the retry.

    Other requests are handled in the same way as by `ExponentialBackoffRetryPolicy`.

    The first attempt of a transaction may have been applied although it timed out. The second
    attempt then returns ``applied=False`` with the values that the first attempt wrote. Compare
    these values with the values that you sent.

    :param max_num_retries: the maximum number of retries.
    :param min_interval: the delay before the first retry, in seconds.
    :param max_interval: the maximum delay, in seconds.
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
        # A serial read times out when transactions compete for its partition. Retry after a delay,
        # so that the transactions can finish.
        if ConsistencyLevel.is_serial(consistency):
            return self._retry_later(self.RETRY, consistency, retry_num)
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
            # `consistency` is the level of the phase that timed out, which may be a serial level.
            # Do not return it: None keeps the request's own level.
            return self._retry_later(self.RETRY, None, retry_num)
        return super().on_write_timeout(
            query, consistency, write_type, required_responses, received_responses, retry_num
        )


# Azure Cosmos DB puts the time to wait into the error message.
_RETRY_AFTER = pattern(r"RetryAfterMs\s*=\s*(\d[\d,]*)")


class RateLimitRetryPolicy(ExponentialBackoffRetryPolicy):
    """Retries on the same host, after the delay that a service with a rate limit asks for.

    Managed services reject requests that exceed the purchased throughput. Azure Cosmos DB sends
    OVERLOADED with ``RetryAfterMs=...``. Such a request was not executed, so it is retried even if
    it is not idempotent. After an OVERLOADED without ``RetryAfterMs``, only idempotent requests are
    retried, with exponential backoff. Amazon Keyspaces sends a time-out with 0 responses. After
    such a time-out, reads and idempotent writes are retried, with exponential backoff.

    Other errors are handled in the same way as by `ExponentialBackoffRetryPolicy`. Retry policies
    are not asked about `cassandra.RateLimitReached`, ScyllaDB's error for partitions with a rate
    limit.

    :param max_num_retries: the maximum number of retries.
    :param min_interval: the delay before the first retry in seconds, if the service does not name a
        time.
    :param max_interval: the maximum delay in seconds, even if the service asks for more.
    """

    def __init__(
        self, max_num_retries: float = 9, min_interval: float = 0.1, max_interval: float = 10.0
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
        if received_responses == 0:
            return self._retry_later(self.RETRY, consistency, retry_num)
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
        # A time-out without any response does not prove that nothing was written, so retry only an
        # idempotent write.
        if received_responses == 0 and getattr(query, "is_idempotent", False):
            return self._retry_later(self.RETRY, consistency, retry_num)
        return super().on_write_timeout(
            query, consistency, write_type, required_responses, received_responses, retry_num
        )

    def on_request_error(
        self, query: Statement | None, consistency: int, error: Exception, retry_num: int
    ) -> Decision:
        # Search for RetryAfterMs only in OVERLOADED, because the message of another error may quote
        # the application's data.
        if getattr(error, "error_code", None) == _OVERLOADED:
            match = _RETRY_AFTER.search(str(error))
            if match is not None:
                # The service rejected the request without executing it, so the request need not be
                # idempotent.
                seconds = int(match[1].replace(",", "")) / 1000  # "1,234" milliseconds
                # Wait up to 15 % longer, so that clients that were rejected at the same time do not
                # retry at the same time.
                seconds *= 1 + 0.15 * float(self._random.random())
                return self._retry_later(
                    self.RETRY, None, retry_num, min(seconds, self.max_interval)
                )
            if getattr(query, "is_idempotent", False) and not is_shutting_down(error):
                return self._retry_later(self.RETRY, None, retry_num)
        return super().on_request_error(query, consistency, error, retry_num)


advise_missing(ExponentialBackoffRetryPolicy, "ExponentialBackoffRetryPolicy(max_num_retries=3)")
