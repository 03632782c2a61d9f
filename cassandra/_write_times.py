"""Detects write timestamps that are probably in a wrong unit."""

from __future__ import annotations

import re
import warnings
from typing import Any

from cassandra._habits import stack_level
from cassandra._patterns import pattern

# Numbers in these ranges are suspicious. As seconds, milliseconds or nanoseconds, they are times
# from 2001 on. As microseconds, which servers expect, they are times in the first years after 1970,
# or tens of thousands of years from now. The greatest timestamp, 2**63 - 1, is not suspicious:
# applications use it to write a value that no other value replaces.
_SECONDS = range(10**9, 10**11)
_MILLISECONDS = range(10**12, 10**14)
_NANOSECONDS = range(10**18, 4 * 10**18)

# Finds the number in the clause USING TIMESTAMP of a CQL string.
_LITERAL = pattern(r"\bUSING\s+(?:TTL\s+\d+\s+AND\s+)?TIMESTAMP\s+(\d+)", re.IGNORECASE)

_MICROSECONDS_OF_A_YEAR = 31_556_952 * 10**6


def doubt_about(timestamp: int, subject: str) -> str | None:
    """Return a warning if a write timestamp is probably not in microseconds, or None.

    Servers would treat a timestamp in seconds or milliseconds as a time in the first years after
    1970. An existing value of the cell would win over the written value, which nobody would ever
    read. A write with a timestamp in nanoseconds would win over all later writes.

    :param timestamp: microseconds since 1970.
    :param subject: what is written, such as "this row".
    """
    for suspicious_range, unit, factor in (
        (_SECONDS, "seconds", 10**6),
        (_MILLISECONDS, "milliseconds", 1000),
    ):
        if timestamp in suspicious_range:
            return (
                f"is in microseconds, so it is of {year_of(timestamp)}, and older values win over "
                f"{subject}: if these are {unit}, multiply by {factor:_}"
            )
    if timestamp in _NANOSECONDS:
        return (
            f"is in microseconds, so it is of the year {year_of(timestamp)}, and {subject} wins "
            "over all that is written later: if these are nanoseconds, divide by 1_000 (//)"
        )
    return None


def year_of(timestamp: int) -> int:
    """Return the year of a write timestamp, which may be beyond the greatest year of `datetime`.

    :param timestamp: microseconds since 1970.
    """
    return 1970 + timestamp // _MICROSECONDS_OF_A_YEAR


def warn_of_write_time(timestamp: object) -> None:
    """Warn if the write timestamp of a load was probably not meant as microseconds.

    :param timestamp: microseconds since 1970. Any object other than an int is ignored.
    """
    _warn("timestamp={}", timestamp)


def generated(timestamp: Any) -> Any:
    """Return `timestamp`, from an application's `timestamp_generator`; warn if its unit is wrong.

    :param timestamp: microseconds since 1970, as the generator should return them.
    """
    _warn("the timestamp {} of timestamp_generator", timestamp, "each write")
    return timestamp


def warn_of_literal(text: str) -> None:
    """Warn if a statement has a literal after ``USING TIMESTAMP`` that has a wrong unit.

    :param text: the statement, with the literals of its parameters.
    """
    for literal in _LITERAL.finditer(text):
        # Skip a match after an odd number of quotes, because it is inside a string.
        if text.count("'", 0, literal.start()) % 2 == 0:
            warn_of_timestamp(int(literal[1]))


def warn_of_timestamp(timestamp: int) -> None:
    """Warn if the write timestamp of a statement was probably not meant as microseconds.

    :param timestamp: microseconds since 1970.
    """
    _warn("the timestamp {}", timestamp)


def _warn(name: str, timestamp: object, subject: str = "this write") -> None:
    """Warn if a write timestamp is probably not in microseconds.

    :param name: what the warning calls the timestamp, with ``{}`` in the place of the number.
    :param timestamp: microseconds since 1970. Any object other than an int is ignored.
    :param subject: what is written.
    """
    doubt = doubt_about(timestamp, subject) if type(timestamp) is int else None
    if doubt is not None:
        warnings.warn(f"{name.format(timestamp)} {doubt}", RuntimeWarning, stacklevel=stack_level())
