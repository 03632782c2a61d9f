"""Counts of times in buckets that grow with the times: any percentile is right to about 3 %."""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp

__all__ = ["BUCKETS", "bucket_of", "percentile_of"]

_OCTAVES = 36  # from a microsecond to nineteen hours
_STEPS = 16  # buckets an octave: values are known to 1/32 of themselves
BUCKETS = _OCTAVES * _STEPS


def bucket_of(seconds: float) -> int:
    """Return the place of a time's bucket among `BUCKETS` counts."""
    # The logarithm of the time is its bucket; frexp gives it without computing one.
    mantissa, octave = frexp(seconds * 1e6)
    place = octave * _STEPS + int((mantissa - 0.5) * 2 * _STEPS)
    return 0 if place < 0 else min(place, BUCKETS - 1)


def percentile_of(counts: Sequence[int], percent: float) -> float:
    """Return the upper end of the bucket, in seconds, that `percent` % of the times are not above.

    :param counts: how many times are in each bucket. Nothing may be counted meanwhile.
    :param percent: 0 to 100. 0.0 is returned for 0, and if there are no times.
    """
    left = sum(counts) * percent / 100
    if left <= 0:
        return 0.0
    place = -1
    # Not 0: what is left may miss it by the rounding of `percent`.
    while left > 1e-9:
        place += 1
        left -= counts[place]
    octave, step = divmod(place, _STEPS)
    return float(2.0**octave * (0.5 + (step + 1) / (2 * _STEPS)) / 1e6)
