"""Times the public methods of the installed driver's type classes, and prints JSON.

The calls are ``Int32Type.serialize(5, 4)`` and the like, as in applications. Only names that
all drivers document are used, so that the script runs in every environment.
"""

from __future__ import annotations

import datetime
import decimal
import json
import os
import sys
import timeit
import uuid
from typing import Any

import cassandra
from cassandra import cqltypes, util

PROTOCOL = 4  # the version of the protocol
QUICK = bool(os.environ.get("TURBOCQL_BENCH_QUICK"))
REPEATS = 2 if QUICK else 15
SECONDS = 0.002  # the least time of one repeat
CALLS = ("serialize", "deserialize", "to_binary", "from_binary")


def cases() -> list[tuple[str, Any, Any]]:
    """Return (name, type, value) of every scalar type and of containers."""
    t = cqltypes
    ints = list(range(10))
    return [
        ("tinyint", t.ByteType, 5),
        ("smallint", t.ShortType, 5),
        ("int", t.Int32Type, 5),
        ("bigint", t.LongType, 5),
        ("counter", t.CounterColumnType, 5),
        ("float", t.FloatType, 1.5),
        ("double", t.DoubleType, 1.5),
        ("boolean", t.BooleanType, True),
        ("ascii", t.AsciiType, "hello, world"),
        ("text", t.UTF8Type, "hello, world"),
        ("text, not ASCII", t.UTF8Type, "h\u00e9llo, world"),
        ("blob", t.BytesType, b"hello, world"),
        ("uuid", t.UUIDType, uuid.UUID(int=2**127 + 12345)),
        ("timeuuid", t.TimeUUIDType, uuid.UUID("a4a70900-24e1-11df-8924-001ff3591711")),
        ("inet", t.InetAddressType, "192.168.1.1"),
        ("timestamp", t.DateType, datetime.datetime(2026, 5, 6, 7, 8, 9, 123000)),
        ("date", t.SimpleDateType, util.Date(20000)),
        ("time", t.TimeType, util.Time(1_000_000_000)),
        ("duration", t.DurationType, util.Duration(1, 2, 3_000_000_000)),
        ("varint", t.IntegerType, -123456789),
        ("decimal", t.DecimalType, decimal.Decimal("12345.6789")),
        ("list<int> of 10", t.ListType.apply_parameters([t.Int32Type]), ints),
        ("list<int> of 10 nulls", t.ListType.apply_parameters([t.Int32Type]), [None] * 10),
        (
            "list<int> of 10 with 5 nulls",
            t.ListType.apply_parameters([t.Int32Type]),
            [1, None] * 5,
        ),
        ("set<text> of 10", t.SetType.apply_parameters([t.UTF8Type]), [*map(str, ints)]),
        (
            "map<text, int> of 10",
            t.MapType.apply_parameters([t.UTF8Type, t.Int32Type]),
            {str(number): number for number in ints},
        ),
        (
            "tuple<int, text>",
            t.TupleType.apply_parameters([t.Int32Type, t.UTF8Type]),
            (5, "hello"),
        ),
        (
            "user-defined type of 2",
            t.UserType.make_udt_class("ks", "two", ("a", "b"), [t.Int32Type, t.UTF8Type]),
            (5, "hello"),
        ),
    ]


def nanoseconds(cqltype: Any, call: str, argument: Any) -> float:
    """Return the time of one call in the fastest of several repeats.

    The timed code contains the call as an application writes it, with the look-up of the method.
    """
    timer = timeit.Timer(
        f"cqltype.{call}(argument, {PROTOCOL})",
        globals={"cqltype": cqltype, "argument": argument},
    )
    number = 1
    while timer.timeit(number) < SECONDS:
        number *= 2
    return min(timer.repeat(REPEATS, number)) / number * 1e9


def main() -> None:
    """Measure all cases, and print for each the nanoseconds of each method in `CALLS`.

    A figure is null if the driver lacks the type or the method.
    """
    measured: dict[str, list[float | None]] = {}
    for name, cqltype, value in cases():
        times: list[float | None] = []
        for call in CALLS:
            try:
                writes = call in ("serialize", "to_binary")
                argument = value if writes else cqltype.serialize(value, PROTOCOL)
                times.append(nanoseconds(cqltype, call, argument))
            except Exception as error:  # there is no figure if another driver lacks the type
                print(f"{name}, {call}: {type(error).__name__}: {error}", file=sys.stderr)
                times.append(None)
        measured[name] = times
    print(json.dumps({"version": cassandra.__version__, "cases": measured}))


if __name__ == "__main__":
    main()
