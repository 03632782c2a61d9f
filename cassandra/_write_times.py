"""Write timestamps that are most likely in a wrong unit."""

from __future__ import annotations

import warnings

from cassandra._habits import stack_level

__all__ = ["probable_unit", "warn_of_early_write"]

# Microseconds in these ranges lie in the first years after 1970. In the ranges lie the seconds from
# 2001 to 5138, and their milliseconds.
_SECONDS = range(10**9, 10**11)
_MILLISECONDS = range(10**12, 10**14)


def probable_unit(timestamp: int) -> str | None:
    """Return advice if microseconds since 1970 were probably meant as another unit, or None.

    Such a write counts as one of the first years after 1970: every later value of the cell wins
    over it, so nobody ever reads it.

    :param timestamp: microseconds since 1970.
    """
    for values, unit, factor in (
        (_SECONDS, "seconds", 10**6),
        (_MILLISECONDS, "milliseconds", 1000),
    ):
        if timestamp in values:
            return f"if these are {unit}, multiply by {factor:_}"
    return None


def warn_of_early_write(timestamp: object) -> None:
    """Warn if the write timestamp of a load was probably meant as seconds or milliseconds.

    :param timestamp: microseconds since 1970. Only an int is looked at.
    """
    advice = probable_unit(timestamp) if type(timestamp) is int else None
    if advice is not None:
        warnings.warn(
            f"timestamp={timestamp} is in microseconds, so it is of 1970, and older values win "
            f"over this write: {advice}",
            RuntimeWarning,
            stacklevel=stack_level(),
        )
