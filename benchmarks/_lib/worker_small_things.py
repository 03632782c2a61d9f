"""Calls one function many times; `benchmarks.small_things` counts the instructions.

    worker_small_things.py CASE SIDE CALLS

Each case is a pair of functions. SIDE chooses one: ``ours`` is the function of the driver to be
measured, ``floor`` is the least code that does the same work. The loop around the call is the same
on both sides.
"""

from __future__ import annotations

import struct
import sys
from collections import namedtuple
from collections.abc import Callable
from io import BytesIO
from itertools import repeat
from pathlib import Path
from typing import Any

# Append the folder benchmarks/: the file benchmarks.py in it makes the package `benchmarks`
# importable.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmarks._lib.worker_messages import TWELVE, Column, rows_body
from cassandra import cqltypes
from cassandra._impl import bodies, rows
from cassandra.protocol import (
    BatchMessage,
    ExecuteMessage,
    PrepareMessage,
    ProtocolHandler,
    QueryMessage,
)
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.params import QueryParams
from cassandra.protocol.rowclass import row_class
from cassandra.query import dict_factory, tuple_factory

VERSION = 4
RESULT = 8  # the opcode
ID = b"i" * 16
QUERY = "SELECT a, b, c FROM some_keyspace.some_table WHERE a = 1"
TIMESTAMP = 1_700_000_000_000_000
BATCH = [(True, ID, TWELVE)] * 10
INT, TEXT, DOUBLE = 0x09, 0x0D, 0x07

Call = Callable[[], object]
Sides = tuple[Call, Call]  # ours, floor


def encoder_sides(message: Any, engine: Callable[[], bytes]) -> Sides:
    """Return two functions that encode a message and write it to a file.

    The first calls the message's `send_body`; the floor calls the engine's internal function.

    :param message: a message of the public API.
    :param engine: encodes the same body with the engine's internal function.
    """
    return (
        lambda: message.send_body(BytesIO(), VERSION),
        lambda: BytesIO().write(engine()),
    )


def execute() -> Sides:
    params = QueryParams(1, TWELVE, page_size=5000, timestamp=TIMESTAMP)
    return encoder_sides(
        ExecuteMessage(ID, TWELVE, 1, None, 5000, None, TIMESTAMP),
        lambda: bodies.execute_body(ID, None, params, VERSION),
    )


def query() -> Sides:
    params = QueryParams(1, page_size=5000)
    return encoder_sides(
        QueryMessage(QUERY, 1, fetch_size=5000),
        lambda: bodies.query_body(QUERY, params, VERSION),
    )


def batch() -> Sides:
    params = QueryParams(1, timestamp=TIMESTAMP)
    return encoder_sides(
        BatchMessage(1, BATCH, 1, timestamp=TIMESTAMP),
        lambda: bodies.batch_body(1, BATCH, params, VERSION),
    )


def prepare() -> Sides:
    return encoder_sides(PrepareMessage(QUERY), lambda: bodies.prepare_body(QUERY, None, VERSION))


def decoder_sides(opcode: int, body: bytes, cached: Any = None) -> Sides:
    """Return two functions that decode the same response.

    The first calls the public `decode_message`; the floor calls the engine's internal function.

    :param cached: the metadata of the columns, if the client knows them already.
    """
    decode = ProtocolHandler.decode_message
    return (
        lambda: decode(VERSION, None, {}, 1, 0, opcode, body, None, cached),
        lambda: decode_response(opcode, 0, body, VERSION, None, None, cached),
    )


def void() -> Sides:
    return decoder_sides(8, struct.pack(">i", 1))


THREE = [("a", TEXT), ("b", INT), ("c", DOUBLE)]
ROW = [[b"text", struct.pack(">i", 1), struct.pack(">d", 1.5)]]


def known_rows() -> Sides:
    body = rows_body(THREE, ROW)
    return decoder_sides(RESULT, body, decode_response(RESULT, 0, body, VERSION).metadata)


def unknown_rows() -> Sides:
    return decoder_sides(8, rows_body(THREE, ROW))


def set_keyspace() -> Sides:
    return decoder_sides(8, struct.pack(">ih", 3, 4) + b"ks_1")


def error() -> Sides:
    return decoder_sides(0, struct.pack(">ih", 0x2200, 7) + b"refused")


def page_decoder(
    columns: int, count: int, factory: Any, code: int = TEXT
) -> tuple[Call, list[Any]]:
    """Return a function that decodes a page of texts into rows, and the page's encoded cells.

    :param columns: the number of columns.
    :param count: the number of rows.
    :param factory: the row factory that determines the kind of rows.
    :param code: the protocol's code of the columns' type.
    """
    names = [(f"column_{number}", code) for number in range(columns)]
    cells = [
        [b"text %d of %d" % (row, column) for column in range(columns)] for row in range(count)
    ]
    body = rows_body(names, cells)
    metadata = decode_response(RESULT, 0, body, VERSION).metadata
    plan = metadata.row_plan
    # The cells are at the end of the body, each after the four bytes of its length: compute where
    # they begin.
    start = len(body) - sum(len(cell) + 4 for row in cells for cell in row)
    # For each row factory, the row plan has a method that decodes to its kind of rows.
    decode = getattr(plan, factory.row_plan_method[0])
    return (lambda: decode(body, start, count)), cells


def text_cells(columns: int, count: int) -> Sides:
    ours, cells = page_decoder(columns, count, tuple_factory)
    flat = [cell for row in cells for cell in row]
    return ours, lambda: list(map(bytes.decode, flat))


def texts() -> Sides:
    return text_cells(5, 100)


def few_texts() -> Sides:
    return text_cells(3, 1)


def dicts(columns: int = 5) -> Sides:
    ours, cells = page_decoder(columns, 100, dict_factory)
    names = tuple(f"column_{number}" for number in range(columns))

    def floor() -> object:
        return [dict(zip(names, map(bytes.decode, row))) for row in cells]  # noqa: B905

    return ours, floor


def wide_dicts() -> Sides:
    return dicts(20)


def by_dict_factory() -> Sides:
    names = [f"column_{number}" for number in range(5)]
    rows = [tuple(f"text {row} of {column}" for column in range(5)) for row in range(100)]
    return (
        lambda: dict_factory(names, rows),
        lambda: [dict(zip(names, row)) for row in rows],  # noqa: B905
    )


def dicts_and_tuples() -> Sides:
    return page_decoder(5, 100, dict_factory)[0], page_decoder(5, 100, tuple_factory)[0]


def first_named_tuple() -> Sides:
    numbers = iter(range(1 << 30))

    def ours() -> object:
        return row_class((f"name_{next(numbers)}", "second", "third", "fourth", "fifth"))

    def floor() -> object:
        return namedtuple("Row", (f"name_{next(numbers)}", "second", "third", "fourth", "fifth"))

    return ours, floor


def again_named_tuple() -> Sides:
    """Return two functions that make a row plan (the decoder for a list of columns) and use it.

    The first decodes to named tuples, whose class is already cached. The floor makes the same plan
    and decodes to plain tuples.
    """
    columns = [Column("ks", "t", name, cqltypes.UTF8Type) for name in ("a", "b", "c", "d", "e")]
    names = [column.name for column in columns]
    codecs = [column.type.codec() for column in columns]
    body = b"\x00\x00\x00\x01a" * 5

    return (
        lambda: rows.RowPlan(names, codecs).named_tuples(body, 0, 1),
        lambda: rows.RowPlan(names, codecs).tuples(body, 0, 1),
    )


def row_attributes() -> Sides:
    """Return two functions that read each column of a row as an attribute.

    The first reads a row of this driver, and the floor a named tuple of Python.
    """
    names = ("a", "b", "c", "d", "e")
    row = row_class(names)._make(range(5))
    floor_row = namedtuple("Row", names)(*range(5))

    def read(row: Any) -> None:
        for _ in range(20):
            row.a, row.b, row.c, row.d, row.e  # noqa: B018

    return lambda: read(row), lambda: read(floor_row)


CASES: dict[str, Callable[[], Sides]] = {
    "execute": execute,
    "query": query,
    "batch": batch,
    "prepare": prepare,
    "void": void,
    "known-rows": known_rows,
    "unknown-rows": unknown_rows,
    "set-keyspace": set_keyspace,
    "error": error,
    "texts": texts,
    "few-texts": few_texts,
    "dicts": dicts,
    "wide-dicts": wide_dicts,
    "dicts-tuples": dicts_and_tuples,
    "dict-factory": by_dict_factory,
    "first-named-tuple": first_named_tuple,
    "again-named-tuple": again_named_tuple,
    "row-attributes": row_attributes,
}


def main() -> None:
    case, side, calls = sys.argv[1:]
    call = CASES[case]()[side == "floor"]
    call()  # fill caches that are filled at the first call
    for _ in repeat(None, int(calls)):
        call()


if __name__ == "__main__":
    main()
