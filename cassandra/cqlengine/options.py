"""Options of an operation: `ttl`, `timestamp`, `using` and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    from cassandra.cqlengine.query.batch import BatchQuery
    from cassandra.cqlengine.statements import Timestamp

__all__ = ["DEFAULTS", "NOT_SET", "Options"]


class Options:
    """The options of an operation; never changed, but copied by `but`."""

    __slots__ = (
        "batch",
        "conditionals",
        "connection",
        "consistency",
        "if_exists",
        "if_not_exists",
        "keyspace",
        "timeout",
        "timestamp",
        "ttl",
    )

    def __init__(self) -> None:
        self.batch: BatchQuery | None = None
        self.ttl: int | None = None
        self.timestamp: Timestamp = None
        self.consistency: int | None = None
        # Not None, which means no limit.
        self.timeout: Any = NOT_SET
        self.if_exists = False
        self.if_not_exists = False
        # A tuple, because copies share it.
        self.conditionals: tuple[Any, ...] = ()
        self.keyspace: str | None = None
        self.connection: str | None = None

    def but(self, **changes: Any) -> Options:
        """Return a copy with some options changed."""
        # Without `__init__`, whose defaults would all be overwritten.
        made = Options.__new__(Options)
        for name in Options.__slots__:
            setattr(made, name, getattr(self, name))
        for name, value in changes.items():
            setattr(made, name, value)
        return made

    def for_later(self) -> Options:
        """Return the options without those that are for one write."""
        # A condition or a timestamp repeated by a later write could make that write a no-op. The
        # batch stays until it lets its instances go: a write outside would overtake those in it.
        return self.but(if_not_exists=False, if_exists=False, conditionals=(), timestamp=None)

    @property
    def is_conditional(self) -> bool:
        """True if the statement is a lightweight transaction, whose outcome is looked at."""
        return self.if_exists or self.if_not_exists or bool(self.conditionals)


# One object for all threads: safe, because options are copied and never changed.
DEFAULTS = Options()
