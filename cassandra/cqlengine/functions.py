"""Values of filters that the server computes: tokens, and the limits of a time's time UUIDs."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, ClassVar

from cassandra.cqlengine.errors import UnicodeMixin, ValidationError
from cassandra.util import ms_timestamp_from_datetime

__all__ = [
    "BaseQueryFunction", "MaxTimeUUID", "MinTimeUUID", "QueryValue", "TimeUUIDQueryFunction",
    "Token", "get_total_seconds",
]  # fmt: skip


def get_total_seconds(td: datetime.timedelta) -> float:
    """Return the length of `td` in seconds.

    :param td: a timedelta.
    """
    return td.total_seconds()


class QueryValue(UnicodeMixin):
    """A value of a filter that is more than a plain value, such as a function call.

    The class attribute `template` is the CQL of the value, with ``{}`` in place of the marker.

    :param value: the value in the form that is bound.
    """

    __slots__ = ("context_id", "value")

    format_string: ClassVar[str] = "%({0})s"
    template: ClassVar[str] = "{}"

    def __init__(self, value: Any) -> None:
        self.value = value
        self.context_id: int | None = None

    def text(self, markers: Sequence[str]) -> str:
        """Return the CQL of the value, with a marker for each bound value.

        :param markers: the CQL of the value's markers, such as ``?``; as many as
            `get_context_size` returns.
        """
        return self.template.format(*markers)

    def bound(self) -> list[Any]:
        """Return the values to bind, one for each marker."""
        return [self.value]

    def get_context_size(self) -> int:
        """Return the number of markers."""
        return len(self.bound())

    def set_context_id(self, ctx_id: int) -> None:
        """Number the markers, starting with `ctx_id`.

        :param ctx_id: the number of the first marker.
        """
        self.context_id = ctx_id

    def update_context(self, ctx: dict[str, Any]) -> None:
        """Add the values to `ctx`; the key of each value is the number of its marker.

        :param ctx: a dict whose keys are the markers' numbers as strings.
        """
        first = self.context_id or 0
        ctx.update({str(first + number): value for number, value in enumerate(self.bound())})

    def __str__(self) -> str:
        size = self.get_context_size()
        if self.context_id is None:
            return self.text(["%(None)s"] * size)
        return self.text([f"%({self.context_id + number})s" for number in range(size)])


class BaseQueryFunction(QueryValue):
    """Base class of functions in filters, such as ``token()``, whose result the server computes."""

    __slots__ = ()


class TimeUUIDQueryFunction(BaseQueryFunction):
    """Base class of `MinTimeUUID` and `MaxTimeUUID`, which filter a time UUID by its time.

    :param value: a datetime; a naive datetime is in UTC.
    :raises ValidationError: if `value` is not a datetime.
    """

    __slots__ = ()

    def __init__(self, value: datetime.datetime) -> None:
        # pandas' NaT is a datetime that differs from itself.
        if not isinstance(value, datetime.datetime) or value != value:
            raise ValidationError(f"datetime instance is required, but got {value!r}")
        super().__init__(value)

    def to_database(self, val: datetime.datetime) -> int:
        """Return `val` as milliseconds since 1970; a naive datetime is in UTC.

        :param val: a datetime.
        """
        return ms_timestamp_from_datetime(val)

    def bound(self) -> list[Any]:
        return [self.to_database(self.value)]


class MinTimeUUID(TimeUUIDQueryFunction):
    """The least time UUID that has a given time: ``Event.filter(at__gt=MinTimeUUID(moment))``."""

    __slots__ = ()
    format_string = "MinTimeUUID(%({0})s)"
    template = "MinTimeUUID({})"


class MaxTimeUUID(TimeUUIDQueryFunction):
    """The greatest time UUID that has a given time."""

    __slots__ = ()
    format_string = "MaxTimeUUID(%({0})s)"
    template = "MaxTimeUUID({})"


class Token(BaseQueryFunction):
    """The token of a partition key: ``Model.filter(pk__token__gt=Token(key))``.

    :param values: the values of the partition key, or one tuple or list of them.
    """

    __slots__ = ("columns",)

    def __init__(self, *values: Any) -> None:
        # Applications pass `instance.pk`, which is a tuple if the partition key has several
        # columns.
        if len(values) == 1 and isinstance(values[0], (list, tuple)):
            values = tuple(values[0])
        super().__init__(values)
        self.columns: Sequence[Any] | None = None

    def set_columns(self, columns: Sequence[Any]) -> None:
        """Set the partition key's columns, which convert the values.

        :param columns: the columns, in order.
        """
        self.columns = columns

    def text(self, markers: Sequence[str]) -> str:
        return f"token({', '.join(markers)})"

    def bound(self) -> list[Any]:
        # If `set_columns` was not called, no column converts the values: bind them as they are.
        if self.columns is None:
            return list(self.value)
        return [
            column.to_database(value)
            for column, value in zip(self.columns, self.value, strict=True)
        ]
