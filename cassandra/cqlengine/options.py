"""`Options`: the options of a read or write, such as `ttl`, `timestamp` and `using`."""

from __future__ import annotations

from datetime import timedelta
from operator import index
from typing import TYPE_CHECKING, Any

from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    from cassandra.cqlengine.query.batch import BatchQuery
    from cassandra.cqlengine.statements import Timestamp

__all__ = ["DEFAULTS", "NOT_SET", "Options"]


# The options that make a write conditional.
_CONDITIONS = ("if_exists", "if_not_exists", "conditionals")


class Options:
    """The options of a read or write. An object is never changed: `with_changes` returns a copy."""

    __slots__ = (
        "batch", "conditionals", "connection", "consistency", "idempotent", "if_exists",
        "if_not_exists", "keyspace", "reused", "timeout", "timestamp", "ttl",
    )  # fmt: skip

    def __init__(self) -> None:
        self.batch: BatchQuery | None = None
        self.ttl: int | None = None
        self.timestamp: Timestamp = None
        self.consistency: int | None = None
        # NOT_SET means the session's default timeout. None means no limit.
        self.timeout: Any = NOT_SET
        # True or False if `idempotent` was called; None means that the model's `__idempotent__`
        # decides.
        self.idempotent: bool | None = None
        self.if_exists = False
        self.if_not_exists = False
        # An immutable tuple, because all copies of these options share it.
        self.conditionals: tuple[Any, ...] = ()
        self.keyspace: str | None = None
        self.connection: str | None = None
        # The names of the conditions (`_CONDITIONS`) that an earlier write of the instance has
        # already used. They still apply to its later writes.
        self.reused: frozenset[str] = frozenset()

    def with_changes(self, **changes: Any) -> Options:
        """Return a copy with some options changed."""
        # Do not call __init__, because all defaults that it sets would be overwritten.
        options = Options.__new__(Options)
        for name in Options.__slots__:
            setattr(options, name, getattr(self, name))
        for name, value in changes.items():
            setattr(options, name, value)
        return options

    def with_defaults(self, other: Options) -> Options:
        """Return a copy in which each option that is not set has the value of `other`."""
        if other is DEFAULTS:
            return self
        if self is DEFAULTS:
            return other
        return self.with_changes(
            **{
                name: getattr(other, name)
                for name in Options.__slots__
                # An option with the default value counts as not set.
                if getattr(self, name) == getattr(DEFAULTS, name)
            }
        )

    def for_later(self, used_timestamp: Timestamp) -> Options:
        """Return the options that remain for later writes of an instance: all but the timestamp.

        As in cassandra-driver, conditions stay: a write that the application has made conditional
        must not become unconditional. The batch stays too: a later write outside the batch would be
        executed before the writes in the batch.

        :param used_timestamp: the timestamp of the write that has ended. If these options have
            another timestamp, the application has set it during that write, so it stays.
        """
        conditions = self.reused
        if self.if_exists or self.if_not_exists or self.conditionals:
            conditions = frozenset(name for name in _CONDITIONS if getattr(self, name))
        options = self.without_timestamp(used_timestamp)
        return options if conditions == self.reused else options.with_changes(reused=conditions)

    def without_timestamp(self, used_timestamp: Timestamp) -> Options:
        """Return these options without a timestamp that was used; see `for_later`.

        :param used_timestamp: the timestamp of the write that has ended.
        """
        if self.timestamp is None or self.timestamp is not used_timestamp:
            return self
        return self.with_changes(timestamp=None)

    def is_conditional(self, is_insert: bool) -> bool:
        """Return True if a write with these options is a lightweight transaction.

        The mapper then checks `[applied]` in its result.

        :param is_insert: True for INSERT, False for UPDATE and DELETE, which have other conditions.
        """
        if is_insert:
            return self.if_not_exists
        return self.if_exists or bool(self.conditionals)


def checked_ttl(ttl: object) -> int | None:
    """Return a TTL that the application passes, in seconds.

    :param ttl: the argument; None for the table's default.
    :raises ValueError: if it is no number of seconds, negative, or beyond the 32 bits of a TTL.
    """
    if ttl is None:
        return None
    try:
        # NumPy's integers are numbers, too.
        seconds = -1 if isinstance(ttl, bool) else index(ttl)  # type: ignore[arg-type]
    except TypeError:
        seconds = -1
    if seconds < 0:
        raise ValueError(f"a ttl is a number of seconds, not {ttl!r}{seconds_advice(ttl)}")
    if seconds >= 1 << 31:
        raise ValueError(f"a ttl is at most {(1 << 31) - 1} seconds, not {ttl!r}")
    return seconds


def seconds_advice(value: object) -> str:
    """Return what to write instead of a value that is not a number of seconds; "" if unknown.

    :param value: the value.
    """
    if isinstance(value, timedelta):
        return ": write int(value.total_seconds())"
    return f": write {value}" if isinstance(value, str) and value.isdigit() else ""


# All threads share this object, because options are never changed.
DEFAULTS = Options()
