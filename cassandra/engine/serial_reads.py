"""Shows load balancing policies the serial consistency level of an execution profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["WithConsistency", "in_order"]

_SERIAL = (8, 9)  # SERIAL and LOCAL_SERIAL (native_protocol_v5.spec, section 3, [consistency])


class WithConsistency:
    """A statement with the consistency level at which it will be executed.

    Policies ask the statement for its level, but the level may come from the profile. Everything
    else is passed on to the statement.
    """

    __slots__ = ("_statement", "consistency_level")

    def __init__(self, statement: Any, consistency_level: int) -> None:
        self._statement = statement
        self.consistency_level = consistency_level

    if not TYPE_CHECKING:

        @property
        def __class__(self):  # user-defined policies may use isinstance
            return type(self._statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._statement, name)


def in_order(statement: Any, consistency: int | None) -> Any:
    """Return a policy's view of a statement that is executed at `consistency`.

    All clients should try the replicas of a serial read in the same order.
    """
    if (
        consistency in _SERIAL
        and getattr(statement, "routing_key", None) is not None
        and getattr(statement, "consistency_level", consistency) is None
    ):
        assert consistency is not None
        return WithConsistency(statement, consistency)
    return statement
