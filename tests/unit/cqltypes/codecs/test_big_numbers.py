"""Numbers of thousands of digits are converted exactly in every decimal context. The errors for
numbers with more bytes than `limits.decimal_bytes` name this limit.
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
    """Run the test in the default decimal context and in two unusual ones, which an application's
    thread may have set. Python's own limit for converting texts to ints is at its minimum.
    """
    digit_limit_before = (
        sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else None
    )
    narrow = decimal.Context(prec=3, Emax=9, Emin=-9, capitals=0, clamp=1)
    trapping = decimal.Context(
        prec=2, traps=[decimal.Inexact, decimal.Rounded, decimal.FloatOperation, decimal.Clamped]
    )
    # None stands for the context of the thread.
    contexts = {"usual": None, "narrow": narrow, "trapping": trapping}
    with decimal.localcontext(contexts[request.param]):
        if digit_limit_before is not None:
            sys.set_int_max_str_digits(640)
        yield
        if digit_limit_before is not None:
            sys.set_int_max_str_digits(digit_limit_before)


def numbers(rng: random.Random) -> list[int]:
    """Return integers of many sizes, at and around powers of two and ten."""
    integers = [
        0,
        1,
        -1,
        9,
        10,
        # the sizes at which the conversion to decimal digits changes its method
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
    """Convert a Decimal to an int in pieces of 500 digits, which is below Python's limit for
    int().
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
    """Ints are converted to decimals, and texts of digits to ints, without any rounding."""
    for number in numbers(random.Random(7)):
        converted = big_numbers.to_decimal(number)
        assert as_int(converted) == number
        assert big_numbers.int_of_digits(format(converted.copy_abs(), "f")) == abs(number)


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("scale", [0, 7, -7, 100_000])
@pytest.mark.slow
def test_decimals_survive_a_round_trip(implementation: Implementation, scale: int) -> None:
    """A decimal is decoded exactly, encoded to the same bytes, and written as text in columns."""
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
        # the third buffer of a column of texts has its characters
        texts = [bytes(column.buffers[2]).decode() for column in columns.children]
        assert texts == [
            big_numbers.WIDE_CONTEXT.to_sci_string(number_read),
            format(big_numbers.to_decimal(number), "f"),
        ]


@pytest.fixture
def low_decimal_limit() -> Iterator[None]:
    """Let decimals have at most 2000 bytes."""
    limit_before = limits.decimal_bytes
    limits.decimal_bytes = 2000
    yield
    limits.decimal_bytes = limit_before


@pytest.mark.usefixtures("low_decimal_limit")
def test_the_error_of_a_decimal_beyond_the_limit_names_it(implementation: Implementation) -> None:
    """The limit is for conversions from and to decimal digits: those of decimals, and of columns of
    decimals or varints.
    """
    codec = t.DecimalType.build_codec(implementation.codecs)
    for size, is_within_limit in ((2000, True), (2001, False)):
        # A decimal is its scale, 0, and the bytes of an integer.
        body = bytes(4) + b"\x7f" * size
        page = value(body) + value(body[4:])
        # The page is read as a decimal and bytes, and as bytes and a varint.
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
        # A number of 2000 bytes has at most 4819 digits: 2.409 for each byte, rounded up.
        codec.encode("1" * 5001)
    with pytest.raises(ValueError, match="a decimal of 5001 digits"):
        codec.encode(decimal.Decimal("1" * 5001))
    # The limit is for converting to decimal digits, so a varint has no limit.
    varint = t.IntegerType.build_codec(implementation.codecs)
    assert varint.decode(varint.encode(1 << 100_000)) == 1 << 100_000


def test_a_decimal_of_fixed_scale_is_rescaled_only_if_it_can_fit(
    implementation: Implementation,
) -> None:
    """In a column of decimals with precision 38 and scale 2, a number with another scale is
    rescaled. If it has too many digits for that, or would lose some, it is refused.
    """
    plan = column_plan(implementation, [t.DecimalType], ColumnOptions(decimals=(38, 2)))
    varint = t.IntegerType.build_codec(implementation.codecs)

    def read_unscaled(number: int, scale: int) -> Any:
        """Return the unscaled value in the column of the decimal `number` * 10**-`scale`."""
        body = scale.to_bytes(4, "big", signed=True) + varint.encode(number)
        column = plan.read(value(body), 0, 1).children[0]
        return int.from_bytes(bytes(column.buffers[1]), sys.byteorder, signed=True)

    # 125 with scale 2 has the unscaled value 12500.
    assert read_unscaled(125 * 10**5000, 5000) == 12500
    assert read_unscaled(-(10**5035), 5000) == -(10**37)
    # not rescaled without loss, too many digits, and numbers that are far too large
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
    """A text or decimal that is a whole number becomes an int. Other texts are returned as they
    are.
    """
    digits = "7" * 40_000
    assert whole_number(digits) == big_numbers.int_of_digits(digits)
    assert whole_number("1e3") == 1000
    assert whole_number(decimal.Decimal("-12.00")) == -12
    assert whole_number("1.5") == "1.5"


def test_limits_must_be_non_negative_integers() -> None:
    """Limits are checked when they are set. Only known names can be set."""
    limits = Limits()
    assert limits.decimal_bytes == 65_536
    with pytest.raises(TypeError, match="decimal_bytes is '1'"):
        limits.decimal_bytes = "1"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="columns is -1"):
        limits.columns = -1
    with pytest.raises(AttributeError):
        limits.other = 1
    # Larger numbers become the largest one of 64 bits.
    limits.null_cells = 1 << 100
    assert limits.null_cells == (1 << 63) - 1
    assert "columns=65536" in repr(limits)


class IntSubclass(int):
    """A subclass of int, as applications have them."""


def twos_complement(number: int) -> bytes:
    """Return the shortest two's complement of `number`, computed with Python's int only."""
    size = next(n for n in count(1) if -(1 << (8 * n - 1)) <= number < 1 << (8 * n - 1))
    return number.to_bytes(size, "big", signed=True)


@pytest.mark.parametrize("bits", [7, 8, 62, 63, 64, 71, 72, 119, 120, 127, 128, 150, 511, 512])
def test_varints_at_the_edges_of_their_sizes(implementation: Implementation, bits: int) -> None:
    """Numbers close to a power of two, where the encoding becomes a byte longer."""
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
    # a bool is an int, too
    assert decimals.encode(True) == bytes(4) + b"\x01"


@pytest.mark.parametrize("digit_count", [17, 18, 19, 27, 511, 512, 513, 514, 700])
def test_decimals_around_the_limits_of_fast_paths(
    implementation: Implementation, digit_count: int
) -> None:
    """At these numbers of digits, the codec changes its way of encoding. The bytes are right on
    both sides: the scale, and the unscaled value in two's complement.
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
    """`limits.decimal_bytes` is also checked for decimals that are encoded in a faster way."""
    codec = t.DecimalType.build_codec(implementation.codecs)
    monkeypatch.setattr(limits, "decimal_bytes", 16)
    # 38 digits need 16 bytes, 40 digits need 17.
    assert codec.decode(codec.encode(decimal.Decimal("9" * 38))) == decimal.Decimal("9" * 38)
    with pytest.raises(ValueError, match="a decimal of 40 digits"):
        codec.encode(decimal.Decimal("9" * 40))
