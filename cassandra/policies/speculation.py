"""Speculative execution policies: a slow idempotent request is also sent to another host."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from cassandra._habits import stack_level
from cassandra._unknown_options import advise_missing
from cassandra.policies.reconnection import check_number

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.query.statement import Statement

# A delay of more than this many seconds was probably meant in milliseconds, because requests end
# after 10 seconds by default.
LONG_DELAY = 60


class SpeculativeExecutionPlan:
    """Decides when further attempts of one request start."""

    def next_execution(self, host: Host | None) -> float:
        """Return in how many seconds another attempt starts; running attempts continue.

        :param host: the host of the last attempt; None before the first attempt.
        :returns: a negative number if there is no further attempt.
        """
        raise NotImplementedError


class SpeculativeExecutionPolicy:
    """Decides when further attempts of a request start, while earlier attempts are still running.

    The driver uses the policy only for statements that are marked as idempotent.
    """

    def new_plan(self, keyspace: str | None, statement: Statement) -> SpeculativeExecutionPlan:
        """Return the speculative execution plan of one request.

        :param keyspace: the session's keyspace.
        :param statement: the statement.
        """
        raise NotImplementedError


class NoSpeculativeExecutionPlan(SpeculativeExecutionPlan):
    """Starts no further attempt."""

    def next_execution(self, host: Host | None) -> float:
        return -1


class NoSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """The default policy: sends each request only once, unless a retry policy decides to retry."""

    def new_plan(self, keyspace: str | None, statement: Statement) -> SpeculativeExecutionPlan:
        return NoSpeculativeExecutionPlan()


class _ConstantPlan(SpeculativeExecutionPlan):
    """Starts a number of further attempts of one request, each after the same delay."""

    def __init__(self, delay: float, max_attempts: int) -> None:
        self._delay = delay
        self._remaining = max_attempts

    def next_execution(self, host: Host | None) -> float:
        if self._remaining <= 0:
            return -1
        # Count the attempts here and not in the policy, because each request has its own plan.
        self._remaining -= 1
        return self._delay


class ConstantSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """Starts another attempt each time that `delay` has passed without a response.

    :param delay: the time between attempts, in seconds.
    :param max_attempts: the maximum number of further attempts.
    :raises TypeError: if an argument is not a number.
    """

    def __init__(self, delay: float, max_attempts: int) -> None:
        check_number("delay", delay)
        check_number("max_attempts", max_attempts, "a number of attempts")
        if delay > LONG_DELAY:
            warnings.warn(
                f"delay={delay} is in seconds, so that most requests end before it: write "
                f"{delay / 1000} for {delay} milliseconds",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        self.delay = delay
        self.max_attempts = max_attempts

    def new_plan(self, keyspace: str | None, statement: Statement) -> SpeculativeExecutionPlan:
        return _ConstantPlan(self.delay, self.max_attempts)


advise_missing(
    ConstantSpeculativeExecutionPolicy,
    "ConstantSpeculativeExecutionPolicy(delay=0.1, max_attempts=2)",
)
