"""Options of an operation: `ttl`, `timestamp`, `using` and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    from cassandra.cqlengine.query.batch import BatchQuery
    from cassandra.cqlengine.statements import Timestamp

__all__ = ["DEFAULTS", "NOT_SET", "Options"]


class Options:
    """The options of an operation. They never change; `with_changes` returns a copy."""

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
        # NOT_SET, because None means no limit.
        self.timeout: Any = NOT_SET
        self.if_exists = False
        self.if_not_exists = False
        # A tuple, because copies share it.
        self.conditionals: tuple[Any, ...] = ()
        self.keyspace: str | None = None
        self.connection: str | None = None

    def with_changes(self, **changes: Any) -> Options:
        """Return a copy with some options changed."""
        # __init__ is not called: all its defaults would be overwritten.
        copied = Options.__new__(Options)
        for name in Options.__slots__:
            setattr(copied, name, getattr(self, name))
        for name, value in changes.items():
            setattr(copied, name, value)
        return copied

    def with_defaults(self, other: Options) -> Options:
        """Return a copy that has the options of `other` where this object has none."""
        if other is DEFAULTS:
            return self
        if self is DEFAULTS:
            return other
        return self.with_changes(
            **{
                name: getattr(other, name)
                for name in Options.__slots__
                if getattr(self, name) == getattr(DEFAULTS, name)
            }
        )

    def for_later(self) -> Options:
        """Return the options without those for a single write."""
        # A condition or a timestamp repeated by a later write could turn that write into a no-op.
        # The batch stays until it releases its instances: a write outside would overtake the writes
        # in it.
        return self.with_changes(
            if_not_exists=False, if_exists=False, conditionals=(), timestamp=None
        )

    @property
    def is_conditional(self) -> bool:
        """True if the statement is a lightweight transaction, whose outcome is checked."""
        return self.if_exists or self.if_not_exists or bool(self.conditionals)


# One object for all threads: safe, because options are copied and never changed.
DEFAULTS = Options()
