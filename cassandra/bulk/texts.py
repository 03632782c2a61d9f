"""Texts and JSON values as CQL values, and back, for files of CSV and JSON lines.

A reader is made once for each column. Collections, tuples, user-defined types and vectors are JSON
in a CSV field: ``[1, 2]``, ``{"a": 1}``; a set is a list, a map with keys that are not texts has
texts of them. Times without an offset are UTC.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

from cassandra.util.daterange import DateRange
from cassandra.util.geometry import LineString, Point, Polygon
from cassandra.util.sortedset import SortedSet
from cassandra.util.temporal import Date, Duration, Time

__all__ = [
    "Formats",
    "json_of",
    "json_reader",
    "refuse_other",
    "text_of",
    "text_reader",
    "usual_kind",
]

Reader = Callable[[Any], Any]

_TRUE = frozenset({"true", "t", "yes", "y", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "0"})
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)
_OFFSET = re.compile(r"([+-]\d{2})(\d{2})$")
_FRACTION = re.compile(r"\.\d+")
_PART = re.compile(r"(\d+)(mo|ms|us|µs|ns|y|w|d|h|m|s)", re.IGNORECASE)
_NANOSECONDS = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "µs": 1_000,
    "ns": 1,
}
_MONTHS = {"y": 12, "mo": 1}
_DAYS = {"w": 7, "d": 1}


@dataclass(frozen=True)
class Formats:
    """Options for writing values as texts.

    :param null: the text that stands for null.
    :param date: a format of `datetime.datetime.strptime` for dates; None for ISO 8601.
    :param timestamp: one for timestamps; None for ISO 8601, or milliseconds since 1970.
    """

    null: str = ""
    date: str | None = None
    timestamp: str | None = None


def text_reader(cql_type: Any, formats: Formats) -> Reader:
    """Return a function from the text of a value to the value.

    :param cql_type: the column's type.
    :param formats: how values are written.
    """
    kind = cql_type.typename
    if kind in _CONTAINERS or cql_type.subtypes:
        return json_reader(cql_type, formats)
    if kind == "date" and formats.date is not None:
        return partial(_formatted_date, formats.date)
    if kind == "timestamp" and formats.timestamp is not None:
        return partial(_formatted_timestamp, formats.timestamp)
    return _SCALARS.get(kind, str)


def usual_kind(cql_type: Any, formats: Formats) -> str:
    """Return the kind of texts that compiled code may read as `text_reader` does; "" for none.

    :param cql_type: the column's type.
    :param formats: how values are written.
    """
    kind = cql_type.typename
    if cql_type.subtypes or (kind == "date" and formats.date is not None):
        return ""
    if kind == "timestamp" and formats.timestamp is not None:
        return ""
    return _USUAL_KINDS.get(kind, "")


def json_reader(cql_type: Any, formats: Formats) -> Reader:
    """Return a function from a value of JSON to the value; None is null.

    :param cql_type: the column's type.
    :param formats: how values are written that are texts in JSON.
    """
    inner = tuple(json_reader(one, formats) for one in cql_type.subtypes or ())
    names = getattr(cql_type, "fieldnames", None)
    if names:
        return _nullable(partial(_user_type, dict(zip(names, inner, strict=True))))
    kind = cql_type.typename
    if kind in ("list", "set") or getattr(cql_type, "vector_size", None) is not None:
        return _nullable(partial(_elements, inner[0]))
    if kind == "map":
        return _nullable(partial(_pairs, *inner))
    if kind == "tuple":
        return _nullable(partial(_tuple, inner))
    if kind == "frozen" and inner:
        return inner[0]
    return _nullable(partial(_scalar, kind, text_reader(cql_type, formats)))


def _nullable(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(
            f"{text!r} is not JSON, as collections, tuples, user-defined types and vectors are "
            f"written: {error}"
        ) from None


# JSON's own types serve as they are: an integer for a float, say. All else is a text.
def _scalar(kind: str, read: Reader, value: object) -> Any:
    if not isinstance(value, str):
        if kind in _TEXTS:
            raise TypeError(f"{value!r} ({type(value).__name__}) is not a text")
        if kind == "timestamp" and isinstance(value, (int, float)) and value is not True:
            return _since_epoch(int(value))
        if kind == "decimal" and isinstance(value, float):
            return Decimal(repr(value))
        return value
    return read(value)


def _elements(read: Reader, value: object) -> list[Any]:
    value = _parsed(value) if isinstance(value, str) else value
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list of JSON, as a list, set or vector is written")
    return [read(one) for one in value]


def _pairs(read_key: Reader, read: Reader, value: object) -> Any:
    value = _parsed(value) if isinstance(value, str) else value
    pairs: Any = value.items() if isinstance(value, dict) else value
    if not isinstance(value, dict) and not (
        isinstance(value, list) and all(isinstance(one, list) and len(one) == 2 for one in value)
    ):
        raise TypeError(f"{value!r} is not an object of JSON, nor a list of pairs, as a map is")
    found = [(read_key(key), read(one)) for key, one in pairs]
    try:
        made = dict(found)
    except TypeError:  # keys that cannot be hashed
        return _Pairs(found)
    # Keys that are equal in Python, as -0.0 and 0.0 are, are not for a server.
    return made if len(made) == len(found) else _Pairs(found)


class _Pairs(list[Any]):
    """A map whose keys cannot be hashed, or are equal in Python."""

    def items(self) -> list[Any]:
        """Return the pairs."""
        return self


def _tuple(readers: Sequence[Reader], value: object) -> tuple[Any, ...]:
    value = _parsed(value) if isinstance(value, str) else value
    if not isinstance(value, list) or len(value) > len(readers):
        raise TypeError(f"{value!r} is not a list of JSON with {len(readers)} values at most")
    return tuple(read(one) for read, one in zip(readers, value, strict=False))


def _user_type(readers: Mapping[str, Reader], value: object) -> tuple[Any, ...]:
    value = _parsed(value) if isinstance(value, str) else value
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object of JSON, as a user-defined type is written")
    unknown = set(value) - set(readers)
    if unknown:
        raise ValueError(f"the type has no field {sorted(unknown)[0]!r}: {', '.join(readers)}")
    return tuple(read(value.get(name)) for name, read in readers.items())


# -- scalars ---------------------------------------------------------------------------------------


def _integer(text: str) -> int:
    if "_" in text:  # Python's own notation
        raise ValueError(f"{text!r} is not an integer")
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an integer") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError:
        raise ValueError(f"{text!r} is not a number") from None


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a UUID") from None


def _blob(text: str) -> bytes:
    try:
        return bytes.fromhex(text[2:] if text[:2] in ("0x", "0X") else text)
    except ValueError:
        raise ValueError(f"{text!r} is not a blob in hexadecimal digits, as 0x00ff") from None


def _date(text: str) -> Date:
    try:
        return Date(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a date, as 2026-11-23") from None


def _time(text: str) -> Time:
    try:
        return Time(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time, as 12:30:00.5") from None


def _since_epoch(milliseconds: int) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(milliseconds=milliseconds)


def _timestamp(text: str) -> datetime.datetime:
    try:
        # The usual form. Without an offset it is UTC for the driver, too.
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        pass
    stripped = text.strip()
    if stripped.lstrip("-").isdigit():
        return _since_epoch(int(stripped))
    # Before Python 3.11, `fromisoformat` knows neither Z, nor an offset without a colon, nor
    # fractions of other than three or six digits.
    if stripped.endswith(("Z", "z")):
        stripped = stripped[:-1] + "+00:00"
    stripped = _FRACTION.sub(lambda found: found[0].ljust(7, "0")[:7], stripped)
    try:
        return _in_utc(datetime.datetime.fromisoformat(_OFFSET.sub(r"\1:\2", stripped)))
    except ValueError:
        raise ValueError(
            f"{text!r} is not a timestamp in ISO 8601, as 2026-11-23 12:30:00.5+01:00, nor "
            "milliseconds since 1970"
        ) from None


def _in_utc(value: datetime.datetime) -> datetime.datetime:
    return value if value.tzinfo is not None else value.replace(tzinfo=datetime.timezone.utc)


def _formatted_date(form: str, text: str) -> datetime.date:
    return datetime.datetime.strptime(text, form).date()


def _formatted_timestamp(form: str, text: str) -> datetime.datetime:
    return _in_utc(datetime.datetime.strptime(text, form))


def _duration(text: str) -> Duration:
    stripped = text.strip()
    body = stripped.lstrip("+-")
    months = days = nanoseconds = at = 0
    for part in _PART.finditer(body):
        if part.start() != at:
            break
        at = part.end()
        count, unit = int(part[1]), part[2].lower()
        months += count * _MONTHS.get(unit, 0)
        days += count * _DAYS.get(unit, 0)
        nanoseconds += count * _NANOSECONDS.get(unit, 0)
    if not body or at != len(body):
        raise ValueError(f"{text!r} is not a duration, as 1mo2d3h4m5s")
    sign = -1 if stripped.startswith("-") else 1
    return Duration(sign * months, sign * days, sign * nanoseconds)


_TEXTS = frozenset({"ascii", "text", "varchar", "inet"})
_CONTAINERS = frozenset({"list", "set", "map", "tuple"})
_SCALARS: dict[str, Reader] = {
    **dict.fromkeys(("int", "bigint", "smallint", "tinyint", "varint", "counter"), _integer),
    **dict.fromkeys(("float", "double"), _number),
    **dict.fromkeys(("uuid", "timeuuid"), _uuid),
    "decimal": _decimal,
    "boolean": _boolean,
    "blob": _blob,
    "date": _date,
    "time": _time,
    "timestamp": _timestamp,
    "duration": _duration,
}

_USUAL_KINDS = {
    **dict.fromkeys(("int", "bigint", "smallint", "tinyint", "counter"), "int"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("text", "varchar"), "text"),
    "boolean": "boolean",
    "uuid": "uuid",
    "date": "date",
    "timestamp": "timestamp",
}


# -- and back --------------------------------------------------------------------------------------


def text_of(value: object, null: str = "") -> str:
    """Return the text of a value, which `text_reader` reads.

    :param value: of any CQL type.
    :param null: the text for null.
    :raises TypeError: if the value has no text that could be read again.
    """
    if value is None:
        return null
    if isinstance(value, str):
        return value
    made = json_of(value, refuse_other)
    return made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)


def json_of(value: Any, other: Callable[[Any], Any] = str) -> Any:
    """Return a value as JSON has it; texts for all that JSON does not have.

    :param value: of any CQL type.
    :param other: is called with a value of no CQL type, and returns what stands for it, or raises:
        see `refuse_other`.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        # NaN and the infinities are no JSON.
        return value if value - value == 0 else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"0x{bytes(value).hex()}"
    if isinstance(value, datetime.datetime):
        return _in_utc(value).isoformat(" ")
    if isinstance(value, _WRITTEN_BY_STR):
        return str(value)
    if isinstance(value, Mapping) or hasattr(value, "items"):
        return {_json_key(key, other): json_of(one, other) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = zip(value._fields, value, strict=True)
        return {name: json_of(one, other) for name, one in fields}
    if isinstance(value, _ELEMENTS) or (other is str and isinstance(value, Iterable)):
        return [json_of(one, other) for one in value]
    return other(value)


def refuse_other(value: object) -> Any:
    """Raise TypeError for a value that no reader of CSV or JSON would understand.

    :param value: of no CQL type.
    :raises TypeError: always.
    """
    cls = type(value)
    raise TypeError(
        f"a value of the class {cls.__module__}.{cls.__qualname__} cannot be written as CSV or JSON"
    )


def _json_key(key: object, other: Callable[[Any], Any]) -> str:
    # Names of JSON are texts; readers of maps know what their keys are.
    made = json_of(key, other)
    return made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)


# Their classes write themselves as `text_reader`, or a server, reads them.
_WRITTEN_BY_STR = (
    *(Date, Time, Duration, Decimal, UUID),
    *(Point, LineString, Polygon, DateRange),
)
_ELEMENTS = (list, tuple, set, frozenset, SortedSet)
