"""Detects write timestamps that are probably in a wrong unit."""

from __future__ import annotations

import warnings

from cassandra._habits import stack_level

# Numbers in these two ranges are suspicious. Taken as seconds or milliseconds, they are times from
# 2001 to 5138. Taken as microseconds, which servers expect, they are times in the first years after
# 1970.
_SECONDS = range(10**9, 10**11)
_MILLISECONDS = range(10**12, 10**14)


def probable_unit(timestamp: int) -> str | None:
    """Return advice if a write timestamp is probably in seconds or milliseconds, or None.

    Servers would treat such a write as one from the first years after 1970. Any other value of the
    cell would win over it, so nobody would ever read it.

    :param timestamp: microseconds since 1970.
    """
    for suspicious_range, unit, factor in (
        (_SECONDS, "seconds", 10**6),
        (_MILLISECONDS, "milliseconds", 1000),
    ):
        if timestamp in suspicious_range:
            return f"if these are {unit}, multiply by {factor:_}"
    return None


def warn_of_early_write(timestamp: object) -> None:
    """Warn if the write timestamp of a load was probably meant as seconds or milliseconds.

    :param timestamp: microseconds since 1970. Any object other than an int is ignored.
    """
    advice = probable_unit(timestamp) if type(timestamp) is int else None
    if advice is not None:
        warnings.warn(
            f"timestamp={timestamp} is in microseconds, so it is of 1970, and older values win "
            f"over this write: {advice}",
            RuntimeWarning,
            stacklevel=stack_level(),
        )
