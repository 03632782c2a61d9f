"""The cases of benchmarks/codecs.py. As a script, it measures the driver that it can import.

The script prints JSON. It uses only names that all drivers document, so that the same file runs
with each driver. It calls the functions that the driver itself uses to bind values and to decode
rows: the type's codec in turbocql, to_binary and from_binary in other drivers.
"""

from __future__ import annotations

import array
import datetime
import decimal
import json
import os
import random
import sys
import timeit
import uuid
from collections.abc import Callable
from typing import Any

import cassandra
from cassandra import cqltypes, util

PROTOCOL = 4  # the version of the protocol
QUICK = bool(os.environ.get("TURBOCQL_BENCH_QUICK"))
REPEATS = 2 if QUICK else 15
SECONDS = 0.004  # the least time of one repeat


def cases() -> list[tuple[str, Any, Any, float | None, float | None]]:
    """Return (name, type, value, target of writing, target of reading) of each case.

    Targets are in nanoseconds. None means that there is no target. -1 means that the target is
    computed from the time of the same work in plain C (see `targets` in benchmarks/codecs.py).
    """
    source = random.Random(1)
    floats = [source.random() for _ in range(768)]
    list_of = cqltypes.ListType.apply_parameters

    def vector(parameters: list[Any]) -> Any:
        return cqltypes.VectorType.apply_parameters(parameters, None)

    ints = [source.randrange(-(2**31), 2**31) for _ in range(1000)]
    fields = [
        cqltypes.Int32Type,
        cqltypes.UTF8Type,
        cqltypes.LongType,
        cqltypes.UTF8Type,
        cqltypes.DoubleType,
    ]
    user_type = cqltypes.UserType.make_udt_class("ks", "five", ("a", "b", "c", "d", "e"), fields)
    # Cases that need no NumPy.
    all_cases: list[tuple[str, Any, Any, float | None, float | None]] = [
        ("vector<float,768> of a list", vector([cqltypes.FloatType, 768]), floats, 2000, 10000),
        (
            "vector<float,768> of array.array",
            vector([cqltypes.FloatType, 768]),
            array.array("f", floats),
            -1,
            None,
        ),
        ("list<int> of 1,000", list_of([cqltypes.Int32Type]), ints, 6000, 17500),
        ("list<bigint> of 1,000", list_of([cqltypes.LongType]), ints, None, None),
        (
            "list<double> of 1,000",
            list_of([cqltypes.DoubleType]),
            [source.random() for _ in range(1000)],
            None,
            None,
        ),
        (
            "list<text> of 1,000",
            list_of([cqltypes.UTF8Type]),
            [f"value {n}" for n in range(1000)],
            15000,
            38000,
        ),
        (
            "map<text,int> of 100",
            cqltypes.MapType.apply_parameters([cqltypes.UTF8Type, cqltypes.Int32Type]),
            {f"key {n}": n * 1000 for n in range(100)},
            4000,
            9500,
        ),
        (
            "set<int> of 1,000",
            cqltypes.SetType.apply_parameters([cqltypes.Int32Type]),
            sorted(ints),
            None,
            None,
        ),
        (
            "vector<uuid,768>",
            vector([cqltypes.UUIDType, 768]),
            [uuid.uuid4() for _ in range(768)],
            20000,
            None,
        ),
        ("UDT of 5 with 2 nulls", user_type, (1, None, 2**40, "abc", None), 500, 700),
        ("ten nulls in a list<int>", list_of([cqltypes.Int32Type]), [None] * 10, 80, None),
        (
            "list<int> of 10 with 5 nulls",
            list_of([cqltypes.Int32Type]),
            [1, None] * 5,
            100,
            None,
        ),
        (
            "timestamp",
            cqltypes.TimestampType,
            datetime.datetime(2026, 5, 6, 7, 8, 9, 123000),
            150,
            200,
        ),
        ("date", cqltypes.SimpleDateType, util.Date(20000), 150, 150),
        ("uuid", cqltypes.UUIDType, uuid.UUID(int=2**127 + 12345), 80, 250),
        ("decimal", cqltypes.DecimalType, decimal.Decimal("12345.6789"), 500, 600),
        (
            "decimal of 28 digits",
            cqltypes.DecimalType,
            decimal.Decimal("12345678901234567890.12345678"),
            500,
            600,
        ),
        ("time of a datetime.time", cqltypes.TimeType, datetime.time(12, 30, 1, 5), 200, 150),
        ("duration", cqltypes.DurationType, util.Duration(1, 2, 3_000_000_000), 200, 300),
        ("int", cqltypes.Int32Type, 12345, None, None),
        ("text", cqltypes.UTF8Type, "hello, world", None, None),
        ("inet", cqltypes.InetAddressType, "192.168.1.1", None, None),
        ("varint", cqltypes.IntegerType, -123456789, None, None),
        ("varint of 13 bytes", cqltypes.IntegerType, 2**100, 200, None),
    ]
    try:
        import numpy
    except ImportError:
        return all_cases
    # If NumPy is installed, insert its cases behind the other cases of the same vector type.
    single, double = numpy.array(floats, "f4"), numpy.array(floats)
    all_cases.insert(
        2,
        ("vector<float,768> of NumPy float32", vector([cqltypes.FloatType, 768]), single, -1, None),
    )
    all_cases.insert(
        3,
        (
            "vector<float,768> of NumPy float64",
            vector([cqltypes.FloatType, 768]),
            double,
            None,
            None,
        ),
    )
    return all_cases


def coding(cqltype: Any) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    """Return the functions that the driver itself uses to encode and to decode values."""
    if hasattr(cqltype, "codec"):
        codec = cqltype.codec(PROTOCOL)
        return codec.encode, codec.decode
    to_binary, from_binary = cqltype.to_binary, cqltype.from_binary
    return lambda value: to_binary(value, PROTOCOL), lambda data: from_binary(data, PROTOCOL)


def nanoseconds(call: Callable[[Any], Any], argument: Any) -> float:
    """Return the time of one call in the fastest of several repeats."""
    timer = timeit.Timer("call(argument)", globals={"call": call, "argument": argument})
    number = 1
    while timer.timeit(number) < SECONDS:
        number *= 2
    return min(timer.repeat(REPEATS, number)) / number * 1e9


def arrays() -> dict[str, float]:
    """Return the nanoseconds of decoding a vector to arrays and into a buffer, by case.

    The result is empty if the driver has no codecs.
    """
    cqltype = cqltypes.VectorType.apply_parameters([cqltypes.FloatType, 768], None)
    if not hasattr(cqltype, "codec"):
        return {}
    body = cqltype.codec().encode([0.5] * 768)
    figures = {
        "vector<float,768> read as array.array": nanoseconds(
            cqltype.codec(PROTOCOL, "array").decode, body
        ),
    }
    # All vectors are decoded into this buffer.
    buffer = array.array("f", [0.0]) * 768
    decode_into = cqltype.codec().deserialize_into
    figures["vector<float,768> read into a buffer"] = nanoseconds(
        lambda data: decode_into(data, buffer), body
    )
    try:
        figures["vector<float,768> read as NumPy"] = nanoseconds(
            cqltype.codec(PROTOCOL, "numpy").decode, body
        )
    except ImportError:
        pass
    return figures


def main() -> None:
    """Measure all cases and print them as JSON: name to [writing, reading] in ns.

    A figure is null if the driver cannot encode or decode the value.
    """
    measured: dict[str, list[float | None]] = {}
    for name, cqltype, value, _, _ in cases():
        times: list[float | None] = [None, None]
        try:
            write, read = coding(cqltype)
            body = write(value)
            times[0] = nanoseconds(write, value)
            times[1] = nanoseconds(read, body)
        except Exception as error:  # there is no figure if another driver lacks the type
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        measured[name] = times
    for name, reading in arrays().items():
        measured[name] = [None, reading]
    print(json.dumps({"version": cassandra.__version__, "cases": measured}))


if __name__ == "__main__":
    main()
