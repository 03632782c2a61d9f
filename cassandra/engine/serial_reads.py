"""Passes the serial consistency level of an execution profile to load balancing policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from cassandra.consistency import SERIAL_LEVELS

StatementT = TypeVar("StatementT")


class WithConsistency:
    """Wraps a statement for a policy, with the consistency level at which it will be executed.

    Policies read the level from the statement, but the level may come from the profile. All other
    attributes are those of the statement: a policy may also set them. The wrapper equals the
    statement, so a policy may use both as the same key of a dict.
    """

    __slots__ = ("__weakref__", "_statement", "consistency_level")

    _statement: Any
    consistency_level: int

    def __init__(self, statement: Any, consistency_level: int) -> None:
        object.__setattr__(self, "_statement", statement)
        object.__setattr__(self, "consistency_level", consistency_level)

    if not TYPE_CHECKING:

        @property
        def __class__(self):  # user-defined policies may use isinstance
            return type(self._statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._statement, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._statement, name, value)
        if name == "consistency_level":
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._statement, name)

    def __eq__(self, other: object) -> bool:
        if type(other) is WithConsistency:
            other = other._statement
        return bool(self._statement == other)

    def __hash__(self) -> int:
        return hash(self._statement)

    def __repr__(self) -> str:
        return repr(self._statement)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        # For copy and pickle. The inherited method would use `__class__`, and thus would copy the
        # statement without the level.
        return WithConsistency, (self._statement, self.consistency_level)


def in_order(statement: StatementT, consistency: int | None) -> StatementT | WithConsistency:
    """Return the statement to pass to a policy for its query plan.

    All clients should try the replicas of a serial read in the same order. So if `consistency` is
    serial and comes from the profile, the statement is wrapped, and the policy can see the level.
    Otherwise the statement is returned unchanged.
    """
    if (
        consistency in SERIAL_LEVELS
        and getattr(statement, "routing_key", None) is not None
        and getattr(statement, "consistency_level", consistency) is None
    ):
        assert consistency is not None
        return WithConsistency(statement, consistency)
    return statement
