"""Speculative executions: an idempotent request that is slow is sent to a further host as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.query.statement import Statement

__all__ = [
    "ConstantSpeculativeExecutionPolicy",
    "NoSpeculativeExecutionPlan",
    "NoSpeculativeExecutionPolicy",
    "SpeculativeExecutionPlan",
    "SpeculativeExecutionPolicy",
]


class SpeculativeExecutionPlan:
    """Decides when the further tries of one request start."""

    def next_execution(self, host: Host | None) -> float:
        """Return the seconds until the next try starts beside the others.

        :param host: the host of the last try, or None if there was none yet.
        :returns: a negative number if there is no further try.
        """
        raise NotImplementedError


class SpeculativeExecutionPolicy:
    """Says when further tries start, for requests whose statements say that they are idempotent."""

    def new_plan(self, keyspace: str | None, statement: Statement) -> SpeculativeExecutionPlan:
        """Return the speculative execution plan of one request.

        :param keyspace: the session's keyspace.
        :param statement: the statement.
        """
        raise NotImplementedError


class NoSpeculativeExecutionPlan(SpeculativeExecutionPlan):
    """Starts no further try."""

    def next_execution(self, host: Host | None) -> float:
        return -1


class NoSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """Sends each request once. The default."""

    def new_plan(self, keyspace: str | None, statement: Statement) -> SpeculativeExecutionPlan:
        return NoSpeculativeExecutionPlan()


class _ConstantPlan(SpeculativeExecutionPlan):
    def __init__(self, delay: float, max_attempts: int) -> None:
        self._delay = delay
        self._remaining = max_attempts

    def next_execution(self, host: Host | None) -> float:
        if self._remaining <= 0:
            return -1
        # Counted here, in what belongs to one request: the policy is shared by all of them.
        self._remaining -= 1
        return self._delay


class ConstantSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """Starts a further try after each `delay`.

    :param delay: seconds between tries.
    :param max_attempts: the greatest number of further tries.
    """

    def __init__(self, delay: float, max_attempts: int) -> None:
        self.delay = delay
        self.max_attempts = max_attempts

    def new_plan(self, keyspace: str | None, statement: Statement) -> SpeculativeExecutionPlan:
        return _ConstantPlan(self.delay, self.max_attempts)
