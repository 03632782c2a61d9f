"""Test that the error for a value of a wrong class has the expression that converts the value."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import pytest

from cassandra.cqltypes import (
    BooleanType,
    BytesType,
    DecimalType,
    DoubleType,
    DurationType,
    Int32Type,
    ListType,
    MapType,
    SimpleDateType,
    TimestampType,
    TimeType,
    UserType,
    UTF8Type,
    UUIDType,
)
from cassandra.query import BoundStatement
from tests.unit.query.test_bound import statement_of


def test_values_of_a_wrong_class_get_the_expression_that_converts_them() -> None:
    """The error for a value of a wrong class ends with the expression that converts the value."""
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    address = UserType.make_udt_class("ks", "address", ("street",), (UTF8Type,))
    ints, counts = ListType.apply_parameters([Int32Type]), MapType.apply_parameters([UTF8Type] * 2)
    moment = numpy.datetime64("2026-01-02T03:04:05")
    an_hour = datetime.timedelta(hours=1)
    whole = (
        "int(value); integers of a pandas frame become floats if some are missing, and "
        "session.load(table, frame) writes them as integers"
    )
    for cql_type, value, expression in (
        (UTF8Type, 5, "str(value)"),
        (UTF8Type, numpy.int64(5), "str(value)"),
        (UTF8Type, uuid.UUID(int=5), "str(value)"),
        (UTF8Type, b"x", "value.decode()"),
        (UTF8Type, datetime.date(2026, 1, 2), "value.isoformat()"),
        (ListType.apply_parameters([UTF8Type]), [5], "str(value)"),
        (Int32Type, "-5", "int(value)"),
        (Int32Type, 5.0, whole),
        (Int32Type, numpy.float64(5), whole),
        (Int32Type, 5.5, "round(value), or use a column of the type double"),
        (DecimalType, decimal.Decimal("NaN"), "None for a missing value"),
        (DoubleType, "1.5e3", "float(value)"),
        (BooleanType, "True", "value.lower() == 'true'"),
        (BooleanType, 1.0, "bool(value)"),
        (BytesType, "0x00ff", "bytes.fromhex(value[2:])"),
        (BytesType, "x", "value.encode()"),
        (UUIDType, b"x" * 16, "uuid.UUID(bytes=value)"),
        (DoubleType, 1j, "value.real, or store both parts"),
        (DoubleType, numpy.complex64(1j), "value.real, or store both parts"),
        (DecimalType, numpy.float32(0.5), "Decimal(str(value))"),
        (TimestampType, numpy.datetime64("NaT", "s"), "None for a missing value"),
        (SimpleDateType, numpy.datetime64("NaT", "D"), "None for a missing value"),
        (DurationType, numpy.timedelta64("NaT", "s"), "None for a missing value"),
        (TimeType, moment, "value.astype('datetime64[us]').item().time()"),
        (UTF8Type, moment, "str(value)"),
        (SimpleDateType, pandas.Period("2026-01"), "value.to_timestamp()"),
        (TimeType, an_hour, "(datetime.datetime.min + value).time()"),
        (TimeType, pandas.Timedelta(an_hour), "value.value for nanoseconds"),
        (TimeType, datetime.datetime(2026, 1, 2, 3), "value.time()"),
        (counts, '{"a": "b"}', "json.loads(value)"),
        (counts, '{"a": "' + "b" * 500 + '"}', "json.loads(value)"),
        (address, '{"street": "x"}', "json.loads(value)"),
        (ints, "[1, 2]", "json.loads(value)"),
    ):
        with pytest.raises((TypeError, ValueError)) as refused:
            BoundStatement(statement_of(a=cql_type)).bind((value,))
        assert str(refused.value).endswith(f"; write {expression}")
    # The expressions in the errors give a value that the column accepts.
    for cql_type, value in (
        (TimeType, moment.astype("datetime64[us]").item().time()),
        (TimeType, (datetime.datetime.min + an_hour).time()),
        (TimeType, pandas.Timedelta(an_hour).value),
        (DecimalType, decimal.Decimal(str(numpy.float32(0.5)))),
    ):
        BoundStatement(statement_of(a=cql_type)).bind((value,))


def test_times_to_live_and_write_times_of_a_wrong_class_get_advice() -> None:
    """A wrong class for a timestamp or TTL gets an error with the unit to pass."""
    moment = datetime.datetime(2026, 1, 2)
    for name, value, advice in (
        ("[timestamp]", moment, r"write int\(value\.timestamp\(\) \* 1_000_000\) for micro"),
        ("[ttl]", 1.5, "write a whole number of seconds"),
        ("[ttl]", datetime.timedelta(1), r"write int\(value\.total_seconds\(\)\)"),
    ):
        with pytest.raises(TypeError, match=advice):
            BoundStatement(statement_of(**{name: Int32Type})).bind((value,))


def test_texts_of_another_form_get_advice() -> None:
    """The error for a string that is not a number or date says which form to use."""
    commas = "write the number with a decimal point: a comma may separate decimals or thousands"
    moments = (
        "write datetime.datetime.strptime(value, '%d.%m.%Y'), with the format that the text has"
    )
    for cql_type, value, advice in (
        (DecimalType, "1.234,5", commas),
        (DoubleType, "-1,5", commas),
        (TimestampType, "01/02/2026 12:30", moments),
        (SimpleDateType, "23.11.2026", moments),
        (TimestampType, "2026-13-01", None),
        (SimpleDateType, "2026-13-01", None),
    ):
        with pytest.raises((TypeError, ValueError)) as refused:
            BoundStatement(statement_of(a=cql_type)).bind((value,))
        message = str(refused.value)
        assert message.endswith(f"; {advice}") if advice else "; write" not in message


@pytest.mark.parametrize("cql_type", [UTF8Type, Int32Type, BooleanType, UUIDType])
def test_nan_in_the_place_of_a_missing_value_gets_advice(cql_type: Any) -> None:
    """If NaN is bound to a column that is not a float, the error recommends `session.load`.

    In pandas, NaN is a missing value, which `session.load` writes as null.
    """
    numpy = pytest.importorskip("numpy")
    for nan in (float("nan"), numpy.float64("nan")):
        with pytest.raises(
            TypeError, match=r"NaN for values that are missing: write session\.load"
        ):
            BoundStatement(statement_of(a=cql_type)).bind((nan,))


def test_rows_of_iterrows_get_advice() -> None:
    """The error for a row of pandas' `iterrows` recommends `session.load` or another method.

    Such a row is a pair of a label and a Series, not the values.
    """
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1], "name": ["a"]})
    for row in frame.iterrows():
        with pytest.raises(TypeError, match=r"write session\.load\(table, frame\), or"):
            BoundStatement(statement_of(id=Int32Type, name=UTF8Type)).bind(row)
