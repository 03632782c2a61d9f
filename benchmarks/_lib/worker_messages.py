"""Times the encoding of messages and the decoding of rows.

    worker_messages.py messages|rows|results api|engine

`benchmarks.messages`, `benchmarks.rows` and `benchmarks.results` run this script in the environment
of each driver. The script prints one JSON object with nanoseconds by case. "api" times the Python
API that cassandra-driver, scylla-driver and turbocql share. "engine" works with turbocql only: it
times the internal functions that turbocql's engine calls for the same work.
"""

from __future__ import annotations

import datetime
import importlib.util
import inspect
import json
import os
import struct
import sys
import timeit
import uuid
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any

from cassandra import cqltypes
from cassandra.protocol import BatchMessage, ExecuteMessage, ProtocolHandler, QueryMessage
from cassandra.query import BatchType, PreparedStatement, named_tuple_factory, tuple_factory

Column = namedtuple("Column", "keyspace_name table_name name type")
VERSION = 4  # the version of the protocol
RESULT = 8  # the opcode of a RESULT message
ROWS_KIND, VOID_KIND = 2, 1  # kinds of a RESULT message
DOUBLE, INT, TEXT = 0x07, 0x09, 0x0D  # codes of CQL types
QUICK = bool(os.environ.get("TURBOCQL_BENCH_QUICK"))
PASSES = 2 if QUICK else 7  # the passes of each case, of which the fastest counts

# Name, type and value of each column of the prepared statement.
KINDS = [
    ("id", "UUIDType", uuid.UUID(int=1 << 100)), ("name", "UTF8Type", "a name of some length"),
    ("count", "LongType", 1 << 40), ("score", "DoubleType", 1.5), ("active", "BooleanType", True),
    ("at", "DateType", datetime.datetime(2024, 5, 17, 12, 30)), ("note", "UTF8Type", "some text"),
    ("age", "Int32Type", 42), ("data", "BytesType", b"some bytes"), ("ratio", "FloatType", 0.5),
]  # fmt: skip
# Twelve encoded parameters.
TWELVE = [
    b"\x00" * 16, b"a name of some length", b"\x00" * 8, b"\x00" * 8, b"\x01", b"\x00" * 8,
    b"some text", b"\x00" * 4, b"some bytes", None, b"\x00" * 4, b"more text",
]  # fmt: skip
VECTOR = struct.pack(">128f", *range(128))  # an encoded vector<float, 128>
# For each case: the number of statements in the batch, and the encoded parameters of one statement.
BATCHES = {
    "BATCH 10 x 2 vec128": (10, [VECTOR] * 2),
    "BATCH 50 x 2 vec128": (50, [VECTOR] * 2),
    "BATCH 10 x 10 text": (10, [b"some text value"] * 10),
    "BATCH 50 x 10 text": (50, [b"some text value"] * 10),
}


def fastest_call(call: Callable[[], Any], target: float = 0.02) -> float:
    """Return the nanoseconds of one call in the fastest of several passes.

    :param target: about how many seconds a pass takes; this determines the number of its calls.
    """
    one_call = max(timeit.timeit(call, number=3) / 3, 1e-8)
    calls_per_pass = max(1, int(target / one_call))
    return min(timeit.repeat(call, number=calls_per_pass, repeat=PASSES)) / calls_per_pass * 1e9


def string(text: str) -> bytes:
    """Encode a [string] of the native protocol."""
    return struct.pack(">H", len(text)) + text.encode()


def rows_body(
    columns: list[tuple[str, int]], rows: list[list[bytes]], metadata: bool = True
) -> bytes:
    """Return the body of a RESULT of kind Rows (native_protocol_v4.spec, section 4.2.5.2).

    :param columns: name and type code of each column.
    :param rows: the encoded values of each row.
    :param metadata: False leaves the columns out, as servers do for prepared statements.
    """
    specs = (
        string("ks")
        + string("t")
        + b"".join(string(name) + struct.pack(">H", code) for name, code in columns)
    )
    # Flags: 1 is Global_tables_spec, 4 is No_metadata.
    head = struct.pack(">iii", ROWS_KIND, 1 if metadata else 4, len(columns)) + (
        specs if metadata else b""
    )
    content = b"".join(struct.pack(">i", len(item)) + item for row in rows for item in row)
    return head + struct.pack(">i", len(rows)) + content


SELECT = "SELECT a, b, c FROM some_keyspace.some_table WHERE a = 1"
SMALL = rows_body(
    [("a", TEXT), ("b", INT), ("c", DOUBLE)],
    [[b"text", struct.pack(">i", 1), struct.pack(">d", 1.5)]],
)


def features_of(message: Any) -> tuple[Any, ...]:
    """Return the arguments to pass to the message's `send_body` after the first two.

    This is empty except for scylla-driver: its method has a third argument, an object with the
    protocol features in use.
    """
    if len(inspect.signature(message.send_body).parameters) < 3:
        return ()
    from cassandra.protocol_features import ProtocolFeatures

    return (ProtocolFeatures(),)


def encoder_of(message: Any) -> Callable[[], Any]:
    """Return a function that encodes the message with `send_body`."""
    features = features_of(message)
    return lambda: message.send_body(BytesIO(), VERSION, *features)


def decoder_of(
    body: bytes, metadata: Any = None, handler: Any = ProtocolHandler
) -> Callable[[], Any]:
    """Return a function that decodes a RESULT with the handler's `decode_message`.

    :param metadata: the columns, for a body that does not contain them.
    """
    # The parameters of `decode_message` differ between drivers.
    decode = handler.decode_message
    if "protocol_features" in inspect.signature(decode).parameters:
        from cassandra.protocol_features import ProtocolFeatures

        features = ProtocolFeatures()
        return lambda: decode(VERSION, features, {}, 1, 0, RESULT, body, None, metadata)
    return lambda: decode(VERSION, {}, 1, 0, RESULT, body, None, metadata)


def prepared() -> Any:
    """Return a prepared statement with a bind marker for each of `KINDS`."""
    columns: Any = [Column("ks", "t", name, getattr(cqltypes, kind)) for name, kind, _ in KINDS]
    return PreparedStatement(columns, b"i" * 16, [0], "INSERT", "ks", VERSION, None, None)


def message_cases() -> dict[str, Callable[[], Any]]:
    """Return cases that encode requests and decode small results with the public classes."""
    # The cases that encode: EXECUTE, EXECUTE with binding, BATCH and QUERY.
    execute: Any = ExecuteMessage(b"i" * 16, TWELVE, 1, None, 5000, None, 1_700_000_000_000_000)
    cases = {"EXECUTE 12 parameters": encoder_of(execute)}
    features = features_of(execute)
    statement = prepared()
    values = tuple(value for _, _, value in KINDS)

    def bind_and_encode() -> None:
        """Bind values, and encode the EXECUTE of the bound statement."""
        bound = statement.bind(values)
        message: Any = ExecuteMessage(
            b"i" * 16, bound.values, 1, None, 5000, None, 1_700_000_000_000_000
        )
        message.send_body(BytesIO(), VERSION, *features)

    cases["bind + EXECUTE 10 columns"] = bind_and_encode
    for name, (count, row) in BATCHES.items():
        cases[name] = encoder_of(
            BatchMessage(BatchType.UNLOGGED, [(True, b"i" * 16, row)] * count, 1)
        )
    cases["QUERY"] = encoder_of(QueryMessage(SELECT, 1, fetch_size=5000))
    # The cases that decode. If the client knows the columns already, the decoder need not read
    # them.
    cases["VOID"] = decoder_of(struct.pack(">i", VOID_KIND))
    cases["ROWS, known columns"] = decoder_of(SMALL, decoder_of(SMALL)().column_metadata)
    cases["ROWS, new columns"] = decoder_of(SMALL)
    return cases


ROW_COLUMNS = [("id", 0x0C), ("name", 0x0D), ("n", 0x09), ("score", 0x07), ("at", 0x0B)]


def page(count: int) -> bytes:
    """Return the body of a result with `count` rows of five columns."""
    rows = [
        [
            uuid.UUID(int=i).bytes,
            b"text %d" % i,
            struct.pack(">i", i),
            struct.pack(">d", i),
            struct.pack(">q", 1_700_000_000_000 + i),
        ]
        for i in range(count)
    ]
    return rows_body(ROW_COLUMNS, rows)


def row_cases() -> dict[str, Callable[[], Any]]:
    """Return cases that decode a large page, and a result of one row."""
    big_page = decoder_of(page(5000))
    columns = [("a", TEXT), ("b", INT), ("c", DOUBLE)]
    row = [[b"text", struct.pack(">i", 1), struct.pack(">d", 1.5)]]
    small = decoder_of(rows_body(columns, row))
    # The response to a request that has the flag Skip_metadata.
    skipped = decoder_of(rows_body(columns, row, metadata=False), small().column_metadata)

    def rows_case(decode: Callable[[], Any], factory: Callable[..., Any]) -> Callable[[], Any]:
        """Return a case that decodes a result and creates its rows with a row factory."""

        def run() -> Any:
            message = decode()
            return factory(message.column_names, message.parsed_rows)

        return run

    return {
        "page 5000 x 5, tuples": rows_case(big_page, tuple_factory),
        "page 5000 x 5, named tuples": rows_case(big_page, named_tuple_factory),
        "1 x 3, tuple": rows_case(small, tuple_factory),
        "1 x 3, named tuple": rows_case(small, named_tuple_factory),
        "1 x 3, named tuple, metadata skipped": rows_case(skipped, named_tuple_factory),
    }


DIMENSION = 768  # of the vectors in a page
VECTOR_TYPE = (
    "org.apache.cassandra.db.marshal.VectorType("
    f"org.apache.cassandra.db.marshal.FloatType, {DIMENSION})"
)


def vector_page(count: int) -> bytes:
    """Return the body of a RESULT of kind Rows with `count` rows of one vector each."""
    custom_type, global_tables_spec, column_count = 0, 1, 1
    specs = string("ks") + string("t") + string("v")
    specs += struct.pack(">H", custom_type) + string(VECTOR_TYPE)
    head = struct.pack(">iii", ROWS_KIND, global_tables_spec, column_count) + specs
    item = struct.pack(f">i{DIMENSION}f", 4 * DIMENSION, *(i / 7 for i in range(DIMENSION)))
    return head + struct.pack(">i", count) + item * count


def result_cases() -> dict[str, Callable[[], Any]]:
    """Return cases that decode a page into rows, a DataFrame or a matrix.

    A DataFrame is created in each way that the measured driver has (see `frames_of`). A matrix is
    created from lists, which each driver returns.
    """
    import numpy
    import pandas

    decode_page, decode_vectors = decoder_of(page(5000)), decoder_of(vector_page(1000))
    cases = {f"5000 x 5, {name}": case for name, case in frames_of(decode_page, pandas).items()}
    cases["1000 vectors, lists"] = lambda: decode_vectors().parsed_rows
    cases["1000 vectors, matrix"] = lambda: numpy.array(
        [row[0] for row in decode_vectors().parsed_rows], dtype="f4"
    )
    return cases


def frames_of(decode: Callable[[], Any], pandas: Any) -> dict[str, Callable[[], Any]]:
    """Return cases that decode a page of 5,000 rows into tuples, named tuples and DataFrames.

    "DataFrame of arrays" is left out if the driver has no NumPy protocol handler.
    """

    def decode_named_tuples() -> Any:
        message = decode()
        return named_tuple_factory(message.column_names, message.parsed_rows)

    def decode_frame() -> Any:
        message = decode()
        return pandas.DataFrame(message.parsed_rows, columns=message.column_names)

    cases = {
        "tuples": lambda: tuple_factory([], decode().parsed_rows),
        "named tuples": decode_named_tuples,
        "DataFrame of rows": decode_frame,
    }
    from cassandra import protocol

    handler = getattr(protocol, "NumpyProtocolHandler", None)
    if handler is not None:
        arrays = decoder_of(page(5000), handler=handler)
        # `parsed_rows` is a dict of arrays or, in another driver, a list that contains such a dict.
        parsed = arrays().parsed_rows
        if isinstance(parsed, dict):
            cases["DataFrame of arrays"] = lambda: pandas.DataFrame(arrays().parsed_rows)
        elif parsed:
            cases["DataFrame of arrays"] = lambda: pandas.DataFrame(arrays().parsed_rows[0])
    return cases


# The packages that a case needs. The key is the last word of the case's name.
NEEDED_BY = {
    "Arrow": ("pyarrow",),
    "polars": ("polars",),
    "pandas": ("pandas", "pyarrow"),
    "NumPy": ("numpy",),
    "matrix": ("numpy",),
}


def engine_result_cases() -> dict[str, Callable[[], Any]]:
    """Return the same cases as `result_cases`, with turbocql's internal functions.

    Each case does what a `ResultSet` does after its page has arrived.
    """
    from cassandra.cluster import ResultSet
    from cassandra.protocol.messages.decode import decode_response

    class Page:
        """Stands in for the request of a result that has no further pages."""

        has_more_pages = False

    def result_set_case(body: bytes) -> Callable[[], Any]:
        """Return a function that creates a `ResultSet` from a page's body."""
        metadata = decode_response(RESULT, 0, body, VERSION).metadata
        return lambda: ResultSet(
            Page(), decode_response(RESULT, 0, body, VERSION, None, None, metadata)
        )

    def row_case(body: bytes, factory: Any, vector_type: str = "list") -> Callable[[], Any]:
        """Return a case that decodes a page's body with a row factory.

        :param vector_type: the class of decoded vectors, such as "list" or "numpy".
        """
        # Compute the metadata only when the case is called: `with_vectors("numpy")` raises an error
        # without NumPy, but cases whose package is missing are never called.
        metadata = cache(
            lambda: decode_response(RESULT, 0, body, VERSION).metadata.with_vectors(vector_type)
        )
        return lambda: decode_response(RESULT, 0, body, VERSION, None, None, metadata()).decode(
            factory
        )

    big_page, vectors = page(5000), vector_page(1000)
    table_case, matrix_case = result_set_case(big_page), result_set_case(vectors)
    cases = {
        "5000 x 5, tuples": row_case(big_page, tuple_factory),
        "5000 x 5, named tuples": row_case(big_page, named_tuple_factory),
        "5000 x 5, Arrow": lambda: table_case().to_arrow(),
        "5000 x 5, polars": lambda: table_case().to_polars(),
        "5000 x 5, pandas": lambda: table_case().to_pandas(),
        "5000 x 5, NumPy": lambda: table_case().to_numpy(),
        "1000 vectors, lists": row_case(vectors, tuple_factory),
        "1000 vectors, array.array": row_case(vectors, tuple_factory, "array"),
        "1000 vectors, rows of NumPy": row_case(vectors, tuple_factory, "numpy"),
        "1000 vectors, matrix": lambda: matrix_case().to_numpy()["v"],
        "1000 vectors, Arrow": lambda: matrix_case().to_arrow(),
    }
    endings_to_drop = [
        word
        for word, packages in NEEDED_BY.items()
        if not all(importlib.util.find_spec(name) for name in packages)
    ]
    return {name: case for name, case in cases.items() if not name.endswith(tuple(endings_to_drop))}


def engine_message_cases() -> dict[str, Callable[[], Any]]:
    """Return the same cases as `message_cases`, with the internal functions of turbocql's engine.

    The engine binds with a `BindPlan` and encodes bodies directly, without message objects.
    """
    from cassandra._impl import bind, bodies
    from cassandra.protocol.messages.decode import decode_response
    from cassandra.protocol.params import QueryParams

    columns: Any = [Column("ks", "t", name, getattr(cqltypes, kind)) for name, kind, _ in KINDS]
    bind_plan = bind.BindPlan(columns, [0])
    values = tuple(value for _, _, value in KINDS)
    # The parameters of requests at consistency level ONE (1).
    params = QueryParams(1, TWELVE, page_size=5000, timestamp=1_700_000_000_000_000)
    bound = QueryParams(1, None, page_size=5000, timestamp=1_700_000_000_000_000)
    plain = QueryParams(1)

    def bind_and_encode() -> bytes:
        bound.values = bind_plan.bind(values, VERSION)
        body: bytes = bodies.execute_body(b"i" * 16, None, bound, VERSION)
        return body

    def batch(count: int, row: Any) -> Callable[[], Any]:
        statements: Any = [(True, b"i" * 16, row)] * count
        return lambda: bodies.batch_body(1, statements, plain, VERSION)

    select = QueryParams(1, page_size=5000)
    metadata = decode_response(RESULT, 0, SMALL, VERSION).metadata

    return {
        "EXECUTE 12 parameters": lambda: bodies.execute_body(b"i" * 16, None, params, VERSION),
        "bind + EXECUTE 10 columns": bind_and_encode,
        **{name: batch(count, row) for name, (count, row) in BATCHES.items()},
        "QUERY": lambda: bodies.query_body(SELECT, select, VERSION),
        "VOID": lambda: decode_response(RESULT, 0, b"\x00\x00\x00\x01", VERSION),
        "ROWS, known columns": lambda: decode_response(
            RESULT, 0, SMALL, VERSION, None, None, metadata
        ),
        "ROWS, new columns": lambda: decode_response(RESULT, 0, SMALL, VERSION),
    }


def engine_row_cases() -> dict[str, Callable[[], Any]]:
    """Return the same cases as `row_cases`, with the internal functions of turbocql's engine."""
    from cassandra.protocol.messages.decode import decode_response

    columns = [("a", TEXT), ("b", INT), ("c", DOUBLE)]
    row = [[b"text", struct.pack(">i", 1), struct.pack(">d", 1.5)]]
    # Three responses: one row with metadata, one row without metadata, and a page of 5,000 rows.
    small, skipped, large = (
        rows_body(columns, row),
        rows_body(columns, row, metadata=False),
        page(5000),
    )
    small_metadata = decode_response(RESULT, 0, small, VERSION).metadata
    large_metadata = decode_response(RESULT, 0, large, VERSION).metadata

    def decode(body: bytes, cached: Any, factory: Any) -> Callable[[], Any]:
        return lambda: decode_response(RESULT, 0, body, VERSION, None, None, cached).decode(factory)

    return {
        "page 5000 x 5, tuples": decode(large, large_metadata, tuple_factory),
        "page 5000 x 5, named tuples": decode(large, large_metadata, named_tuple_factory),
        "1 x 3, tuple": decode(small, small_metadata, tuple_factory),
        "1 x 3, named tuple": decode(small, small_metadata, named_tuple_factory),
        "1 x 3, named tuple, metadata skipped": decode(
            skipped, small_metadata, named_tuple_factory
        ),
    }


CASES = {
    ("messages", "api"): message_cases,
    ("rows", "api"): row_cases,
    ("messages", "engine"): engine_message_cases,
    ("rows", "engine"): engine_row_cases,
    ("results", "api"): result_cases,
    ("results", "engine"): engine_result_cases,
}


def main() -> None:
    cases = CASES[sys.argv[1], sys.argv[2]]()
    print(json.dumps({name: fastest_call(call) for name, call in cases.items()}))


if __name__ == "__main__":
    main()
