"""Converts integers of any size to decimals and back, in less than quadratic time.

Python's own conversions between `int` and `decimal.Decimal` take quadratic time: minutes for a
number of a megabyte. This module splits a number into halves until they are small, and converts the
halves. It joins the results with the fast multiplications of `decimal` and `int`.

Every result is exact, and does not depend on the thread's decimal context. Nor does it depend on
`sys.set_int_max_str_digits`, because we never convert more digits at once than Python always
allows.
"""

from __future__ import annotations

import decimal

from cassandra.limits import limits

# A context with the largest possible precision and exponents, so that no result is rounded.
WIDE_CONTEXT = decimal.Context(
    prec=decimal.MAX_PREC,
    Emax=decimal.MAX_EMAX,
    Emin=decimal.MIN_EMIN,
    traps=[decimal.InvalidOperation],
)

# Numbers up to these sizes are converted directly. Python always allows 512 digits, because
# set_int_max_str_digits() accepts no limit below 640.
_LEAF_BITS = 1024
_LEAF_DIGITS = 512
# Powers of two and of five are cached up to this exponent. The caches need half a megabyte at most.
_MAX_CACHED = 1 << 19

# The cached powers, by exponent.
_powers_of_two: dict[int, decimal.Decimal] = {}
_powers_of_five: dict[int, int] = {}


def check_size(size: int) -> str:
    """Return an error message if a number of `size` bytes is too large to convert, otherwise ""."""
    limit = limits.decimal_bytes
    if size <= limit:
        return ""
    return (
        f"a number of {size} bytes has more digits than limits.decimal_bytes ({limit}) allows "
        "(see cassandra.limits)"
    )


def digits_limit() -> int:
    """Return the largest number of digits of an integer with `limits.decimal_bytes` bytes."""
    # Each byte adds log10(256) digits, which is a little less than 2.409.
    return limits.decimal_bytes * 2409 // 1000 + 1


def to_decimal(number: int) -> decimal.Decimal:
    """Convert `number` to a Decimal, exactly."""
    size = number.bit_length()
    if size <= _LEAF_BITS:
        return decimal.Decimal(number)
    # `_decimal_of_halves` splits the absolute value with shifts and masks. Set the sign afterwards.
    magnitude = _decimal_of_halves(abs(number), size)
    return magnitude if number >= 0 else magnitude.copy_negate()


def _decimal_of_halves(number: int, size: int) -> decimal.Decimal:
    """Convert `number`, which is not negative and has at most `size` bits, to a Decimal.

    The direct conversion of a large int takes quadratic time. So we split the number, convert both
    parts, and join them with decimal arithmetic, which is faster.
    """
    if size <= _LEAF_BITS:
        return decimal.Decimal(number)
    # Split at _LEAF_BITS times a power of two, so that only few different powers of two are needed.
    bits = _LEAF_BITS
    while bits * 2 < size:
        bits *= 2
    upper = _decimal_of_halves(number >> bits, size - bits)
    lower = _decimal_of_halves(number & ((1 << bits) - 1), bits)
    return WIDE_CONTEXT.add(WIDE_CONTEXT.multiply(upper, _power_of_two(bits)), lower)


def _power_of_two(bits: int) -> decimal.Decimal:
    """Return 2 ** bits as a Decimal; `bits` is _LEAF_BITS times a power of two."""
    power = _powers_of_two.get(bits)
    if power is None:
        if bits <= _LEAF_BITS:
            power = decimal.Decimal(1 << bits)
        else:
            half = _power_of_two(bits // 2)
            power = WIDE_CONTEXT.multiply(half, half)
        if bits <= _MAX_CACHED:
            _powers_of_two[bits] = power
    return power


def int_of_digits(digits: str) -> int:
    """Return the integer with the decimal `digits`, a string without a sign."""
    size = len(digits)
    if size <= _LEAF_DIGITS:
        return int(digits)
    # int() takes quadratic time. Convert the upper and the lower digits separately, and join them.
    count = _LEAF_DIGITS
    while count * 2 < size:
        count *= 2
    upper = int_of_digits(digits[:-count])
    # Multiply by 10 ** count in two steps: by 5 ** count, and then by a shift of `count` bits,
    # which costs almost nothing.
    return ((upper * _power_of_five(count)) << count) + int_of_digits(digits[-count:])


def _power_of_five(count: int) -> int:
    """Return 5 ** count; `count` is _LEAF_DIGITS times a power of two."""
    power = _powers_of_five.get(count)
    if power is None:
        power = 5**_LEAF_DIGITS if count <= _LEAF_DIGITS else _power_of_five(count // 2) ** 2
        if count <= _MAX_CACHED:
            _powers_of_five[count] = power
    return power
