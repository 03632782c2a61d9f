"""Test values that applications might pass by mistake, for every type.

The compiled and the pure Python version encode the same bytes, or refuse the value with an error of
the same class that names the column.
"""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import fractions
import ipaddress
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import _impl, cqltypes as t
from cassandra.cqltypes import EncodeTypeError, EncodeValueError
from cassandra.errors import DecodeError
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.sentinels import EMPTY
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import ADDRESS, list_of, map_of, set_of, tuple_of, vector_of

SCALARS: list[Any] = [
    t.AsciiType, t.UTF8Type, t.BytesType, t.BooleanType, t.ByteType, t.ShortType, t.Int32Type,
    t.LongType, t.IntegerType, t.FloatType, t.DoubleType, t.DecimalType, t.UUIDType, t.TimeUUIDType,
    t.InetAddressType, t.TimestampType, t.SimpleDateType, t.TimeType, t.DurationType,
]  # fmt: skip
COLUMN = 'column "the_column"'  # the name of the column in errors
TYPES: list[Any] = [
    *SCALARS,
    *(list_of(cqltype) for cqltype in SCALARS),
    *(set_of(cqltype) for cqltype in SCALARS),
    *(vector_of(cqltype, 2) for cqltype in SCALARS),
    map_of(t.Int32Type, t.UTF8Type),
    map_of(t.UTF8Type, t.FloatType),
    tuple_of(t.Int32Type, t.UTF8Type),
    ADDRESS,
    list_of(list_of(t.Int32Type)),
    vector_of(vector_of(t.FloatType, 2), 2),
    vector_of(list_of(t.FloatType), 2),
]


class FailingMethods:
    """An object whose methods for conversions all raise `error`."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def _raise(self, *_: object) -> Any:
        raise self.error

    __index__ = __float__ = __iter__ = __len__ = __getitem__ = _raise


class WrongConversions:
    """An object whose methods for conversions return values of wrong types."""

    def __index__(self) -> int:
        return "1"  # type: ignore[return-value]  # noqa: PLE0305

    def __float__(self) -> float:
        return 1  # an int, although Python requires a float

    def __len__(self) -> int:
        return -1  # noqa: PLE0303


def python_values() -> Iterator[Any]:
    """Yield values of Python's own types."""
    # Numbers and strings.
    yield from (True, 0, 1, -1, 1 << 31, -(1 << 63), 1 << 70, 1 << 3000, 1.5, -0.0, 1e300)
    yield from (float("nan"), float("inf"), 1j, "", "x", "\ud800", "\u20ac", "1", "a\0b")
    yield from (
        b"",
        b"x",
        b"\xff" * 16,
        bytearray(b"x"),
        memoryview(b"ab"),
        memoryview(b"abcd")[::2],
    )
    # Buffers of floats, characters and bools, and a buffer with two dimensions.
    yield from (memoryview(array.array("d", [1, 2])), memoryview(bytes(8)).cast("B", (2, 4)))
    yield from (memoryview(bytes(4)).cast("c"), memoryview(bytes(2)).cast("?"), memoryview(b""))
    yield from (array.array(code, [1, 2]) for code in "bBhHiIlLqQfd")
    yield from (
        (),
        (1,),
        (1, 2),
        (1, "x"),
        (None, None),
        [],
        [1, 2],
        [1.5, 2],
        [None, 1],
        [[1], [2]],
    )
    yield from (
        ["x", 1],
        [True, False],
        [b"x", b"y"],
        {1, 2},
        frozenset(("a", "b")),
        range(2),
        "ab",
    )
    # Mappings and other containers.
    yield from ({}, {1: "x"}, {"a": 1}, {None: None}, {"street": "x", "zip": 1}, {"street": 1})
    yield from (collections.OrderedDict(a=1), collections.deque((1, 2)), {}.keys(), {1: 2}.values())
    # Numbers, times and addresses of the standard library.
    yield from (decimal.Decimal("1.5"), decimal.Decimal("NaN"), decimal.Decimal("sNaN"))
    yield from (decimal.Decimal("Infinity"), decimal.Decimal("1E+999999"), fractions.Fraction(1, 2))
    yield from (uuid.UUID(int=1), datetime.datetime(2026, 1, 2), datetime.datetime.max)
    yield from (datetime.date(1, 1, 1), datetime.date.max, datetime.time(1, 2, 3, 4))
    yield from (datetime.timedelta(1), datetime.timezone.utc, ipaddress.ip_address("::1%x"))
    yield from (ipaddress.ip_network("1.2.3.0/24"), ipaddress.ip_interface("1.2.3.4/24"))
    yield from (
        EMPTY,
        object(),
        object,
        Ellipsis,
        NotImplemented,
        print,
        WrongConversions(),
        [WrongConversions(), WrongConversions()],
    )
    for error in (TypeError("own"), ValueError("own"), OverflowError("own"), KeyError("own")):
        failing = FailingMethods(error)
        yield from (failing, [failing, 1], {1: failing})


def numpy_values() -> Iterator[Any]:
    """Yield values of NumPy types; skip the test if NumPy is not installed."""
    numpy = pytest.importorskip("numpy")
    dtypes = (
        "?", "i1", "u1", ">i2", "u2", "i4", ">u4", "i8", "u8", "f2", ">f2", "f4", ">f4", "f8", "g",
        "c8", "S2", "U2", "O", "V4", "M8[D]", "M8[ms]", "m8[ns]", [("a", "i4"), ("b", "f4")],
    )  # fmt: skip
    for dtype in dtypes:
        for shape in ((), (0,), (1,), (2,), (2, 2), (0, 2)):
            # Yield the array itself, and masked arrays without and with masked values.
            array = numpy.zeros(shape, dtype)
            yield array
            masked = numpy.ma.array(array)
            yield masked
            if shape:
                yield numpy.ma.array(array, mask=numpy.ma.make_mask_none(shape, array.dtype))
            yield numpy.ma.masked_all(shape, dtype)
            # Reversed arrays of numbers are not contiguous, and buffers have no methods of arrays.
            if shape and array.dtype.kind in "?iufc":
                yield array[::-1]
                if array.size:
                    yield memoryview(array)
        yield numpy.zeros(1, dtype)[0]
    yield numpy.ma.masked


def bind_outcome(plan: Any, value: Any) -> tuple[bytes | None, str | None, str]:
    """Bind a value, and return the encoded row, the error's class, and the column in the error.

    If the value is refused, the row is None. Otherwise, the class is None and the column is "".
    """
    try:
        return plan.bind((value,), 4).data, None, ""
    except (EncodeTypeError, EncodeValueError, DecodeError) as error:
        # The error begins with the column, followed by the column's type and the type's class in
        # parentheses.
        about_column, parenthesis, _ = str(error).partition(")")
        return None, type(error).__name__, about_column + parenthesis
    except Exception as error:
        notes = " ".join(getattr(error, "__notes__", ()))
        about_column = COLUMN if COLUMN in f"{error} {notes}" else ""
        return None, type(error).__name__, about_column


def plan_of(impl: str, cqltype: Any) -> Any:
    """Return a bind plan of one version for a single column of the type.

    :param impl: "python" for the pure Python version, or "c" for the compiled version.
    """
    codec = cqltype.build_codec(_impl.twin("codecs", impl))

    class TypeWithCodec:
        """A stand-in for the type, with the codec of the requested version."""

        __name__ = cqltype.__name__

        def codec(self) -> Any:
            return codec

    column = ColumnMetadata("k", "t", "the_column", TypeWithCodec())
    return _impl.twin("bind", impl).BindPlan([column])


@pytest.mark.parametrize("cqltype", TYPES, ids=lambda cqltype: cqltype.cql_parameterized_type())
@pytest.mark.parametrize("values", [python_values, numpy_values])
def test_both_implementations_encode_or_refuse_alike(
    compiled: Implementation, cqltype: Any, values: Any
) -> None:
    """Both implementations encode the same bytes, or refuse the value alike and name the column."""
    python_plan, compiled_plan = plan_of("python", cqltype), plan_of("c", cqltype)
    wrong_outcomes = []
    for value in values():
        python_outcome = bind_outcome(python_plan, value)
        compiled_outcome = bind_outcome(compiled_plan, value)
        _, error_class, about_column = python_outcome
        names_column = error_class is None or COLUMN in about_column
        if python_outcome != compiled_outcome or not names_column:
            wrong_outcomes.append((value, type(value), python_outcome, compiled_outcome))
    assert wrong_outcomes == []


# Leave out the type blob, which accepts an array as bytes.
@pytest.mark.parametrize("cqltype", [cqltype for cqltype in SCALARS if cqltype is not t.BytesType])
def test_an_array_for_a_scalar_is_an_encode_error(
    implementation: Implementation, cqltype: Any
) -> None:
    """An array for a column of a scalar type raises an encoding error that names the column."""
    numpy = pytest.importorskip("numpy")
    plan = plan_of(implementation.name, cqltype)
    for value in ([1, 2], [1.5], [[1, 2]], ["a"], [None], [True]):
        with pytest.raises((EncodeTypeError, EncodeValueError), match=r'^column "the_column" \('):
            plan.bind((numpy.array(value),), 4)
