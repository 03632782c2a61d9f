"""Test the conversion of numbers with thousands of digits, in every decimal context.

The conversions are exact. The error for a number with more bytes than `limits.decimal_bytes` allows
names this limit.
"""

from __future__ import annotations

import decimal
import random
import sys
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes.codecs import big_numbers
from cassandra.errors import DecodeError
from cassandra.limits import Limits, limits
from cassandra.protocol.columnar.layouts import ColumnOptions
from cassandra.query.tables.types import whole_number
from tests.conftest import Implementation
from tests.unit.protocol.pages import column_plan
from tests.unit.protocol.wire import value


@pytest.fixture(params=["usual", "narrow", "trapping"])
def context(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the test in the default decimal context and in two unusual decimal contexts.

    An application's thread may have set such a context. Python's own limit for converting strings
    to ints is set to its minimum of 640 digits.
    """
    digit_limit_before = (
        sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else None
    )
    narrow = decimal.Context(prec=3, Emax=9, Emin=-9, capitals=0, clamp=1)
    trapping = decimal.Context(
        prec=2, traps=[decimal.Inexact, decimal.Rounded, decimal.FloatOperation, decimal.Clamped]
    )
    # None is the context that the thread already has.
    contexts = {"usual": None, "narrow": narrow, "trapping": trapping}
    with decimal.localcontext(contexts[request.param]):
        if digit_limit_before is not None:
            sys.set_int_max_str_digits(640)
        yield
        if digit_limit_before is not None:
            sys.set_int_max_str_digits(digit_limit_before)


def numbers(rng: random.Random) -> list[int]:
    """Return integers of many sizes, at and around powers of two and of ten."""
    integers = [
        0,
        1,
        -1,
        9,
        10,
        # At these sizes, the conversion to decimal digits changes its method.
        1 << 1024,
        (1 << 1024) - 1,
        -(1 << 1023),
        10**511,
        10**512 - 1,
        10**1024,
    ]
    for size in (100, 1023, 1024, 1025, 2047, 2048, 4096, 5000, 70_000):
        integers += [
            rng.getrandbits(size) | 1 << (size - 1),
            -rng.getrandbits(size),
            1 << size,
            -(1 << size),
            (1 << size) - 1,
        ]
    # Only one number has 90,000 digits, because its conversions take most of the time.
    integers.append(-rng.getrandbits(300_000))
    return integers


def as_int(number: decimal.Decimal) -> int:
    """Convert a Decimal to an int in pieces of 500 digits.

    Python refuses to convert more than 640 digits in one call of int().
    """
    digits = format(number.copy_abs(), "f")
    total = 0
    for start in range(0, len(digits), 500):
        piece = digits[start : start + 500]
        total = total * 10 ** len(piece) + int(piece)
    return -total if number.is_signed() else total


@pytest.mark.usefixtures("context")
@pytest.mark.slow
def test_conversions_are_exact() -> None:
    """Ints are converted to decimals, and strings of digits to ints, without rounding."""
    for number in numbers(random.Random(7)):
        converted = big_numbers.to_decimal(number)
        assert as_int(converted) == number
        assert big_numbers.int_of_digits(format(converted.copy_abs(), "f")) == abs(number)


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("scale", [0, 7, -7, 100_000])
@pytest.mark.slow
def test_decimals_survive_a_round_trip(implementation: Implementation, scale: int) -> None:
    """A decimal of any scale is decoded exactly, and encoded to the same bytes.

    In columns of strings, decimals and varints have all their digits.
    """
    codec = t.DecimalType.build_codec(implementation.codecs)
    varint = t.IntegerType.build_codec(implementation.codecs)
    for number in numbers(random.Random(scale)):
        body = scale.to_bytes(4, "big", signed=True) + varint.encode(number)
        number_read = codec.decode(body)
        assert number_read.as_tuple().exponent == -scale
        assert codec.encode(number_read) == body
        # An int is encoded like a decimal of scale 0.
        if scale == 0:
            assert codec.encode(number) == body
        page = value(body) + value(varint.encode(number))
        columns = column_plan(implementation, [t.DecimalType, t.IntegerType]).read(page, 0, 1)
        # The third buffer of a column of strings has the characters.
        texts = [bytes(column.buffers[2]).decode() for column in columns.children]
        assert texts == [
            big_numbers.WIDE_CONTEXT.to_sci_string(number_read),
            format(big_numbers.to_decimal(number), "f"),
        ]


@pytest.fixture
def low_decimal_limit() -> Iterator[None]:
    """Set the limit for the bytes of a decimal to 2000, and restore it after the test."""
    limit_before = limits.decimal_bytes
    limits.decimal_bytes = 2000
    yield
    limits.decimal_bytes = limit_before


@pytest.mark.usefixtures("low_decimal_limit")
def test_the_error_of_a_decimal_beyond_the_limit_names_it(implementation: Implementation) -> None:
    """A decimal with more bytes than `limits.decimal_bytes` raises an error that names the limit.

    The limit applies to conversions from and to decimal digits. Decimals, and columns of decimals
    or varints, need such conversions.
    """
    codec = t.DecimalType.build_codec(implementation.codecs)
    for size, is_within_limit in ((2000, True), (2001, False)):
        # A decimal consists of its scale, here 0 in four bytes, and the bytes of an integer.
        body = bytes(4) + b"\x7f" * size
        page = value(body) + value(body[4:])
        # The page's two values are read as a decimal and a blob, and as a blob and a varint.
        column_plans = [
            column_plan(implementation, types)
            for types in ([t.DecimalType, t.BytesType], [t.BytesType, t.IntegerType])
        ]
        if is_within_limit:
            assert codec.encode(codec.decode(body)) == body
            assert all(plan.read(page, 0, 1).length == 1 for plan in column_plans)
            continue
        with pytest.raises(
            DecodeError, match=r"^decimal: a number of 2001 bytes .* limits.decimal_bytes \(2000\)"
        ):
            codec.decode(body)
        with pytest.raises(DecodeError, match=r"row 0, column .*limits.decimal_bytes \(2000\)"):
            column_plans[0].read(page, 0, 1)
        with pytest.raises(DecodeError, match=r"row 0, column .*limits.decimal_bytes \(2000\)"):
            column_plans[1].read(page, 0, 1)
    with pytest.raises(
        ValueError, match=r"a decimal of 5001 digits; limits.decimal_bytes allows 4819"
    ):
        # A number of 2000 bytes has at most 4819 digits: 2.409 digits for each byte, rounded up.
        codec.encode("1" * 5001)
    with pytest.raises(ValueError, match="a decimal of 5001 digits"):
        codec.encode(decimal.Decimal("1" * 5001))
    # The limit is for conversions to decimal digits. A varint is not converted, so it has no limit.
    varint = t.IntegerType.build_codec(implementation.codecs)
    assert varint.decode(varint.encode(1 << 100_000)) == 1 << 100_000


def test_a_decimal_of_fixed_scale_is_rescaled_only_if_it_can_fit(
    implementation: Implementation,
) -> None:
    """In a column with precision 38 and scale 2, decimals with another scale are rescaled.

    A decimal that has too many digits for the column, or would lose digits, is refused.
    """
    plan = column_plan(implementation, [t.DecimalType], ColumnOptions(decimals=(38, 2)))
    varint = t.IntegerType.build_codec(implementation.codecs)

    def read_unscaled(number: int, scale: int) -> Any:
        """Return the column's unscaled integer for the decimal `number` * 10**-`scale`."""
        body = scale.to_bytes(4, "big", signed=True) + varint.encode(number)
        column = plan.read(value(body), 0, 1).children[0]
        return int.from_bytes(bytes(column.buffers[1]), sys.byteorder, signed=True)

    # The decimal 125 has the unscaled value 12500 at scale 2.
    assert read_unscaled(125 * 10**5000, 5000) == 12500
    assert read_unscaled(-(10**5035), 5000) == -(10**37)
    # The first number would lose a digit, the second number has too many digits, and all further
    # numbers are far too large.
    for number, scale in (
        (125 * 10**5000 + 1, 5000),
        (10**5038, 5000),
        (1 << 400_000, 100_000),
        (1 << 8_000_000, 2_000_000),
    ):
        with pytest.raises(
            DecodeError, match=r"does not fit decimal\(38, 2\)|limits.decimal_bytes"
        ):
            read_unscaled(number, scale)


@pytest.mark.usefixtures("context")
def test_whole_numbers_are_read_from_text_and_decimals() -> None:
    """A string or decimal that is a whole number becomes an int.

    Other strings are returned unchanged.
    """
    digits = "7" * 40_000
    assert whole_number(digits) == big_numbers.int_of_digits(digits)
    assert whole_number("1e3") == 1000
    assert whole_number(decimal.Decimal("-12.00")) == -12
    assert whole_number("1.5") == "1.5"


def test_limits_must_be_non_negative_integers() -> None:
    """Limits are checked when they are assigned, and only known names can be assigned."""
    limits = Limits()
    assert limits.decimal_bytes == 65_536
    with pytest.raises(TypeError, match="decimal_bytes is '1'"):
        limits.decimal_bytes = "1"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="columns is -1"):
        limits.columns = -1
    with pytest.raises(AttributeError):
        limits.other = 1
    # A limit beyond 64 bits is stored as the largest signed 64-bit number.
    limits.null_cells = 1 << 100
    assert limits.null_cells == (1 << 63) - 1
    assert "columns=65536" in repr(limits)


class IntSubclass(int):
    """A subclass of int, as applications have."""


def twos_complement(number: int) -> bytes:
    """Return the shortest two's complement of `number`, computed with Python's int only."""
    size = next(n for n in count(1) if -(1 << (8 * n - 1)) <= number < 1 << (8 * n - 1))
    return number.to_bytes(size, "big", signed=True)


@pytest.mark.parametrize("bits", [7, 8, 62, 63, 64, 71, 72, 119, 120, 127, 128, 150, 511, 512])
def test_varints_at_the_edges_of_their_sizes(implementation: Implementation, bits: int) -> None:
    """Varints and decimals close to a power of two get the right number of bytes.

    At a power of two, the encoding becomes a byte longer.
    """
    varint = t.IntegerType.build_codec(implementation.codecs)
    decimals = t.DecimalType.build_codec(implementation.codecs)
    for number in (1 << bits, (1 << bits) - 1, -(1 << bits), -(1 << bits) - 1):
        expected = twos_complement(number)
        for integer in (number, IntSubclass(number)):
            assert varint.encode(integer) == expected
            assert decimals.encode(integer) == bytes(4) + expected
        for exponent in (0, 9, -9):
            scaled = decimal.Decimal(number).scaleb(exponent, big_numbers.WIDE_CONTEXT)
            body = (-exponent).to_bytes(4, "big", signed=True) + expected
            assert decimals.encode(scaled) == body
            assert decimals.decode(body) == scaled
    # A bool is also an int.
    assert decimals.encode(True) == bytes(4) + b"\x01"


@pytest.mark.parametrize("digit_count", [17, 18, 19, 27, 511, 512, 513, 514, 700])
def test_decimals_around_the_limits_of_fast_paths(
    implementation: Implementation, digit_count: int
) -> None:
    """Decimals are encoded correctly at the numbers of digits where the method changes.

    The bytes are the scale, and the unscaled value in two's complement.
    """
    codec = t.DecimalType.build_codec(implementation.codecs)
    digits = "7" * digit_count
    for text, unscaled_text, scale in (
        ("9" * digit_count, "9" * digit_count, 0),
        ("1" + "0" * (digit_count - 1), "1" + "0" * (digit_count - 1), 0),
        (f"0.{digits}", digits, digit_count),
    ):
        for sign in ("", "-"):
            body = scale.to_bytes(4, "big") + twos_complement(int(sign + unscaled_text))
            assert codec.encode(decimal.Decimal(sign + text)) == body


def test_the_limit_holds_for_decimals_of_few_digits(
    implementation: Implementation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`limits.decimal_bytes` also applies to decimals with few digits.

    The codec encodes such decimals with a faster method.
    """
    codec = t.DecimalType.build_codec(implementation.codecs)
    monkeypatch.setattr(limits, "decimal_bytes", 16)
    # 38 digits need 16 bytes, and 40 digits need 17 bytes.
    assert codec.decode(codec.encode(decimal.Decimal("9" * 38))) == decimal.Decimal("9" * 38)
    with pytest.raises(ValueError, match="a decimal of 40 digits"):
        codec.encode(decimal.Decimal("9" * 40))
