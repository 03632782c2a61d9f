"""Integers of any size to decimal digits and back, in less than quadratic time.

Python's own ways between `int` and `decimal.Decimal` take a digit at a time: minutes for a
megabyte. Here a number is cut in halves until they are small, and the halves are joined by the fast
multiplications of `decimal` and `int`. Every result is exact, whatever the thread's decimal context
says. `sys.set_int_max_str_digits` does not matter either: no text of an int is longer than Python
always allows.
"""

from __future__ import annotations

import decimal

from cassandra.limits import limits

__all__ = ["WIDE_CONTEXT", "check_size", "digits_limit", "int_of_digits", "to_decimal"]

# As wide as the module allows, so that nothing is ever rounded.
WIDE_CONTEXT = decimal.Context(
    prec=decimal.MAX_PREC,
    Emax=decimal.MAX_EMAX,
    Emin=decimal.MIN_EMIN,
    traps=[decimal.InvalidOperation],
)

_LEAF_BITS = 1024
_LEAF_DIGITS = 512  # below 640, which is what set_int_max_str_digits() cannot go under
# Powers of two and of five to such exponents are kept: half a megabyte of them at most.
_KEPT = 1 << 19

_twos: dict[int, decimal.Decimal] = {}
_fives: dict[int, int] = {}


def check_size(size: int) -> str:
    """Return why a number of `size` bytes is too large to convert, or "" if it is not."""
    limit = limits.decimal_bytes
    if size <= limit:
        return ""
    return (
        f"a number of {size} bytes has more digits than limits.decimal_bytes ({limit}) allows "
        "(see cassandra.limits)"
    )


def digits_limit() -> int:
    """Return how many digits a number of `limits.decimal_bytes` has at most."""
    # A byte has log10(256), a little less than 2.409, digits.
    return limits.decimal_bytes * 2409 // 1000 + 1


def to_decimal(number: int) -> decimal.Decimal:
    """Return `number` as a Decimal, exactly."""
    size = number.bit_length()
    if size <= _LEAF_BITS:
        return decimal.Decimal(number)
    # Shifts and masks cut magnitudes; the sign is put back at the end.
    magnitude = _halves(abs(number), size)
    return magnitude if number >= 0 else magnitude.copy_negate()


def _halves(number: int, size: int) -> decimal.Decimal:
    if size <= _LEAF_BITS:
        return decimal.Decimal(number)
    bits = _LEAF_BITS
    while bits * 2 < size:
        bits *= 2
    upper = _halves(number >> bits, size - bits)
    lower = _halves(number & ((1 << bits) - 1), bits)
    return WIDE_CONTEXT.add(WIDE_CONTEXT.multiply(upper, _two_to(bits)), lower)


def _two_to(bits: int) -> decimal.Decimal:
    power = _twos.get(bits)
    if power is None:
        if bits <= _LEAF_BITS:
            power = decimal.Decimal(1 << bits)
        else:
            half = _two_to(bits // 2)
            power = WIDE_CONTEXT.multiply(half, half)
        if bits <= _KEPT:
            _twos[bits] = power
    return power


def int_of_digits(digits: str) -> int:
    """Return the integer that decimal `digits` without a sign spell."""
    size = len(digits)
    if size <= _LEAF_DIGITS:
        return int(digits)
    count = _LEAF_DIGITS
    while count * 2 < size:
        count *= 2
    upper = int_of_digits(digits[:-count])
    # 10 ** n is 5 ** n shifted by n bits, and shifting costs nearly nothing.
    return ((upper * _five_to(count)) << count) + int_of_digits(digits[-count:])


def _five_to(count: int) -> int:
    power = _fives.get(count)
    if power is None:
        power = 5**_LEAF_DIGITS if count <= _LEAF_DIGITS else _five_to(count // 2) ** 2
        if count <= _KEPT:
            _fives[count] = power
    return power
