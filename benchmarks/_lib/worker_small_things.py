"""Calls one function many times, while `benchmarks.small_things` counts the instructions.

    worker_small_things.py CASE SIDE CALLS

Each case is a pair of functions. SIDE chooses one of them: ``ours`` is the driver's function,
``floor`` is the least code that does the same work. Both are called in the same loop.
"""

from __future__ import annotations

import struct
import sys
from collections import namedtuple
from collections.abc import Callable
from io import BytesIO
from itertools import count as count_from, repeat
from pathlib import Path
from typing import Any

# The folder benchmarks/ has a file benchmarks.py, which makes the package `benchmarks` importable.
# So append this folder to sys.path.
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

VERSION = 4  # the version of the protocol
ERROR, RESULT = 0x00, 0x08  # opcodes
VOID, SET_KEYSPACE = 1, 3  # kinds of a RESULT
INVALID = 0x2200  # the error code of an invalid query
ONE, UNLOGGED = 1, 1  # the consistency level, and the type of a batch
ID = b"i" * 16  # the id of a prepared statement
QUERY = "SELECT a, b, c FROM some_keyspace.some_table WHERE a = 1"
PAGE_SIZE = 5000  # rows
TIMESTAMP = 1_700_000_000_000_000  # microseconds
BATCH = [(True, ID, TWELVE)] * 10  # (True for a prepared statement, its id, its values)
INT, TEXT, DOUBLE = 0x09, 0x0D, 0x07  # type codes

Call = Callable[[], object]
Sides = tuple[Call, Call]  # ours, floor


def encoder_sides(message: Any, engine: Callable[[], bytes]) -> Sides:
    """Return two functions that encode a message and write it to a file.

    The first function calls the message's `send_body`. The second function (the floor) calls the
    engine's internal function.

    :param message: a message of the public API.
    :param engine: encodes the same body with the engine's internal function.
    """
    return (
        lambda: message.send_body(BytesIO(), VERSION),
        lambda: BytesIO().write(engine()),
    )


def execute() -> Sides:
    """Encode an EXECUTE with twelve values."""
    params = QueryParams(ONE, TWELVE, page_size=PAGE_SIZE, timestamp=TIMESTAMP)
    message = ExecuteMessage(
        ID, TWELVE, ONE, serial_consistency_level=None, fetch_size=PAGE_SIZE, timestamp=TIMESTAMP
    )
    return encoder_sides(message, lambda: bodies.execute_body(ID, None, params, VERSION))


def query() -> Sides:
    """Encode a QUERY without values."""
    params = QueryParams(ONE, page_size=PAGE_SIZE)
    return encoder_sides(
        QueryMessage(QUERY, ONE, fetch_size=PAGE_SIZE),
        lambda: bodies.query_body(QUERY, params, VERSION),
    )


def batch() -> Sides:
    """Encode a BATCH of ten prepared statements."""
    params = QueryParams(ONE, timestamp=TIMESTAMP)
    return encoder_sides(
        BatchMessage(UNLOGGED, BATCH, ONE, timestamp=TIMESTAMP),
        lambda: bodies.batch_body(UNLOGGED, BATCH, params, VERSION),
    )


def prepare() -> Sides:
    """Encode a PREPARE."""
    return encoder_sides(PrepareMessage(QUERY), lambda: bodies.prepare_body(QUERY, None, VERSION))


def decoder_sides(opcode: int, body: bytes, cached: Any = None) -> Sides:
    """Return two functions that decode the same response.

    The first function calls the public `decode_message`. The second function (the floor) calls the
    engine's internal function.

    :param cached: the metadata of the columns, if the client knows them already.
    """
    # The further arguments of `decode` are the features, user types, stream id, flags and
    # decompressor.
    decode = ProtocolHandler.decode_message
    return (
        lambda: decode(VERSION, None, {}, 1, 0, opcode, body, None, cached),
        lambda: decode_response(opcode, 0, body, VERSION, None, None, cached),
    )


def void() -> Sides:
    """Decode a RESULT without rows."""
    return decoder_sides(RESULT, struct.pack(">i", VOID))


THREE = [("a", TEXT), ("b", INT), ("c", DOUBLE)]
ROW = [[b"text", struct.pack(">i", 1), struct.pack(">d", 1.5)]]


def known_rows() -> Sides:
    """Decode a row whose columns the client knows already."""
    body = rows_body(THREE, ROW)
    return decoder_sides(RESULT, body, decode_response(RESULT, 0, body, VERSION).metadata)


def unknown_rows() -> Sides:
    """Decode a row whose columns the client does not know yet."""
    return decoder_sides(RESULT, rows_body(THREE, ROW))


def set_keyspace() -> Sides:
    """Decode the response to USE."""
    keyspace = b"ks_1"
    return decoder_sides(RESULT, struct.pack(">ih", SET_KEYSPACE, len(keyspace)) + keyspace)


def error() -> Sides:
    """Decode an ERROR that says that the query is invalid."""
    text = b"refused"
    return decoder_sides(ERROR, struct.pack(">ih", INVALID, len(text)) + text)


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
    # The cells are at the end of the body, each after the four bytes of its length. Compute the
    # offset of the first cell.
    start = len(body) - sum(len(cell) + 4 for row in cells for cell in row)
    # The row plan has one method for each row factory. The method decodes rows to the factory's
    # class.
    decode = getattr(plan, factory.row_plan_method[0])
    return (lambda: decode(body, start, count)), cells


def text_cells(columns: int, count: int) -> Sides:
    """Decode `count` rows of texts to tuples; the floor only decodes the cells."""
    ours, cells = page_decoder(columns, count, tuple_factory)
    flat = [cell for row in cells for cell in row]
    return ours, lambda: list(map(bytes.decode, flat))


def texts() -> Sides:
    """Decode 100 rows of five texts."""
    return text_cells(columns=5, count=100)


def few_texts() -> Sides:
    """Decode one row of three texts."""
    return text_cells(columns=3, count=1)


def dicts(columns: int = 5) -> Sides:
    """Decode 100 rows of texts to dicts; the floor creates the dicts from the separate cells."""
    ours, cells = page_decoder(columns, count=100, factory=dict_factory)
    names = tuple(f"column_{number}" for number in range(columns))

    def floor() -> object:
        return [dict(zip(names, map(bytes.decode, row))) for row in cells]  # noqa: B905

    return ours, floor


def wide_dicts() -> Sides:
    """Decode 100 rows of 20 texts to dicts."""
    return dicts(20)


def by_dict_factory() -> Sides:
    """Convert tuples to dicts, like an application that calls `dict_factory` itself."""
    names = [f"column_{number}" for number in range(5)]
    rows = [tuple(f"text {row} of {column}" for column in range(5)) for row in range(100)]
    return (
        lambda: dict_factory(names, rows),
        lambda: [dict(zip(names, row)) for row in rows],  # noqa: B905
    )


def dicts_and_tuples() -> Sides:
    """Decode a page to dicts; the floor decodes the same page to tuples."""
    to_dicts, _ = page_decoder(columns=5, count=100, factory=dict_factory)
    to_tuples, _ = page_decoder(columns=5, count=100, factory=tuple_factory)
    return to_dicts, to_tuples


def first_named_tuple() -> Sides:
    """Create the class of rows with new column names; the floor is Python's `namedtuple`."""
    numbers = count_from(0)

    def new_names() -> tuple[str, ...]:
        return (f"name_{next(numbers)}", "second", "third", "fourth", "fifth")

    return lambda: row_class(new_names()), lambda: namedtuple("Row", new_names())


def again_named_tuple() -> Sides:
    """Return two functions that create a row plan (the decoder for a list of columns) and use it.

    The first function decodes to named tuples, whose class is already cached. The floor creates the
    same plan and decodes to plain tuples.
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

    The first function reads a row of this driver, and the floor reads a named tuple of Python.
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
    ours, floor = CASES[case]()
    call = floor if side == "floor" else ours
    call()  # fill caches that are filled at the first call
    for _ in repeat(None, int(calls)):
        call()


if __name__ == "__main__":
    main()
