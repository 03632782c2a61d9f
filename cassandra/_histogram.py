"""Histograms with exponential buckets. Percentiles are accurate to about 3 %.

A histogram of times has a fixed number of buckets, from a microsecond to ten hours. For numbers of
any size and sign, only the buckets that are not empty are stored, by their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import frexp, inf, ldexp

_OCTAVES = 36  # the number of powers of two, from a microsecond to nineteen hours
_STEPS = 16  # the number of buckets per power of two, so that values are accurate to 1/32
BUCKETS = _OCTAVES * _STEPS  # the number of buckets of a histogram of times
_LOWEST_OCTAVE = -1100  # a power of two that is lower than that of every float


def bucket_of(seconds: float) -> int:
    """Return the index (0 to BUCKETS - 1) of the bucket that counts a time in seconds."""
    # The index grows with the logarithm of the time. `frexp` splits a number into a mantissa (from
    # 0.5 to 1) and a power of two, which is quicker than a logarithm.
    mantissa, octave = frexp(seconds * 1e6)
    bucket = octave * _STEPS + int((mantissa - 0.5) * 2 * _STEPS)
    return 0 if bucket < 0 else min(bucket, BUCKETS - 1)


def percentile_of(counts: Sequence[int], percent: float) -> float:
    """Return the time in seconds that `percent` % of the counted times do not exceed.

    The result is the upper bound of a bucket.

    :param counts: the number of times in each bucket. It must not change during the call.
    :param percent: 0 to 100. The result is 0.0 for 0, and if there are no times.
    """
    remaining = sum(counts) * percent / 100
    if remaining <= 0:
        return 0.0
    bucket = -1
    # Compare with a small number and not with 0, because rounding may leave a small remainder.
    while remaining > 1e-9:
        bucket += 1
        remaining -= counts[bucket]
    # Compute the upper bound of the bucket, as the reverse of `bucket_of`: each power of two of
    # microseconds has `_STEPS` buckets.
    octave, step = divmod(bucket, _STEPS)
    return float(2.0**octave * (0.5 + (step + 1) / (2 * _STEPS)) / 1e6)


def any_bucket_of(number: float) -> int:
    """Return the bucket of a number of any size: 0 for 0, and negative for a negative number.

    The buckets of greater numbers are greater.

    :raises ValueError: if the number is NaN.
    :raises OverflowError: if the number is infinite, or greater than every float.
    """
    if number == 0:
        return 0
    mantissa, octave = frexp(abs(number))
    bucket = (octave - _LOWEST_OCTAVE) * _STEPS + int((mantissa - 0.5) * 2 * _STEPS)
    return bucket if number > 0 else -bucket


def any_percentile_of(counts: Mapping[int, int], percent: float) -> float:
    """Return the number that `percent` % of the counted numbers do not exceed.

    The result is the upper bound of a bucket; 0.0 if there are no numbers.

    :param counts: how many numbers there are, by `any_bucket_of`. It must not change during the
        call.
    :param percent: 0 to 100.
    """
    remaining = sum(counts.values()) * percent / 100
    bucket = 0
    for bucket in sorted(counts):
        remaining -= counts[bucket]
        # As in `percentile_of`, rounding may leave a small remainder.
        if remaining <= 1e-9:
            break
    if bucket == 0:
        return 0.0
    octave, step = divmod(abs(bucket), _STEPS)
    # The upper bound of a bucket of negative numbers is the one that is nearer to 0.
    mantissa = 0.5 + (step + (bucket > 0)) / (2 * _STEPS)
    try:
        bound = ldexp(mantissa, octave + _LOWEST_OCTAVE)
    except OverflowError:  # the bound of the greatest floats is greater than them
        bound = inf
    return bound if bucket > 0 else -bound
