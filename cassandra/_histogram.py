"""A histogram of times with exponential buckets. Percentiles are accurate to about 3 %."""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp

_OCTAVES = 36  # the number of powers of two, from a microsecond to nineteen hours
_STEPS = 16  # the number of buckets per power of two, so that values are accurate to 1/32
BUCKETS = _OCTAVES * _STEPS  # the number of buckets of a histogram


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
