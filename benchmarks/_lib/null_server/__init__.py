"""A server that answers at once, so that a benchmark measures only the client.

The server chooses its response by rules (see `Rule`): a request that matches a rule gets the rule's
fixed message body. `running()` compiles null_server.c with the machine's C compiler into a
temporary folder, writes the rules into a file, starts the server, and yields its address and port.
The bodies have the format of protocol version 4. This module encodes the bodies without the
driver's code, so that it also works where another driver is installed.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

# Opcodes of messages.
ERROR, READY, OPTIONS, SUPPORTED, STARTUP, QUERY, RESULT = 0x00, 0x02, 0x05, 0x06, 0x01, 0x07, 0x08
PREPARE, EXECUTE, REGISTER, BATCH = 0x09, 0x0A, 0x0B, 0x0D
# Kinds of a RESULT, and flags of the metadata in it.
VOID_KIND, ROWS_KIND, PREPARED_KIND = 1, 2, 4
GLOBAL_TABLE, NO_METADATA = 0x01, 0x04
INVALID = 0x2200  # the error code of an invalid query
VOID = struct.pack(">i", VOID_KIND)
# Codes of CQL types.
BIGINT, BOOLEAN, DOUBLE, INT, TEXT, TIMESTAMP, UUID, INET = (
    0x02,
    0x04,
    0x07,
    0x09,
    0x0D,
    0x0B,
    0x0C,
    0x10,
)
VECTOR_768 = (
    "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 768)"
)

Column = tuple[str, bytes]  # name, and encoded type


def string(text: str) -> bytes:
    """Encode a [string] of the native protocol."""
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def type_option(code: int) -> bytes:
    """Encode a type without parameters, as an [option] of the native protocol."""
    return struct.pack(">H", code)


SET_OF_TEXT = type_option(0x22) + type_option(TEXT)
MAP_OF_TEXT = type_option(0x21) + type_option(TEXT) + type_option(TEXT)
VECTOR = type_option(0) + string(VECTOR_768)


def columns_of(columns: Sequence[Column], keyspace: str = "bench", table: str = "t") -> bytes:
    """Encode the columns of a RESULT's metadata with a common keyspace and table."""
    specs = b"".join(string(name) + option for name, option in columns)
    return string(keyspace) + string(table) + specs


def rows(
    columns: Sequence[Column], values: Sequence[Sequence[bytes | None]], keyspace: str = "bench"
) -> bytes:
    """Return the body of a RESULT of kind Rows (2).

    :param columns: name and encoded type of each column.
    :param values: the encoded values of each row; None for null.
    """
    head = (
        struct.pack(">iii", ROWS_KIND, GLOBAL_TABLE, len(columns))
        + columns_of(columns, keyspace)
        + struct.pack(">i", len(values))
    )
    cells = (
        struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
        for row in values
        for value in row
    )
    return head + b"".join(cells)


def prepared(
    query_id: bytes,
    binds: Sequence[Column],
    results: Sequence[Column],
    table: str = "t",
    keyspace: str = "bench",
) -> bytes:
    """Return the body of a RESULT of kind Prepared (4).

    The statement's first bind marker is the partition key.

    :param binds: the columns of the bind markers.
    :param results: the columns of the statement's result; empty if it returns no rows.
    """
    body = struct.pack(">iH", PREPARED_KIND, len(query_id)) + query_id
    # The partition key has one column, the first of the bind columns.
    body += struct.pack(">iiiH", GLOBAL_TABLE, len(binds), 1, 0)
    body += columns_of(binds, keyspace, table)
    if not results:
        return body + struct.pack(">ii", NO_METADATA, 0)
    return body + struct.pack(">ii", GLOBAL_TABLE, len(results)) + columns_of(results)


# The body of SUPPORTED, a [string multimap], with the options that drivers require.
SUPPORTED_OPTIONS = struct.pack(">H", 2) + b"".join(
    string(name) + struct.pack(">H", len(values)) + b"".join(map(string, values))
    for name, values in (("CQL_VERSION", ["3.4.5"]), ("COMPRESSION", []))
)

LOCAL: list[tuple[str, bytes, bytes]] = [
    ("key", type_option(TEXT), b"local"),
    ("cluster_name", type_option(TEXT), b"null"),
    ("data_center", type_option(TEXT), b"dc1"),
    ("rack", type_option(TEXT), b"r1"),
    ("host_id", type_option(UUID), uuid.UUID(int=1).bytes),
    ("release_version", type_option(TEXT), b"4.0.0"),
    ("schema_version", type_option(UUID), uuid.UUID(int=2).bytes),
    ("partitioner", type_option(TEXT), b"org.apache.cassandra.dht.Murmur3Partitioner"),
    ("rpc_address", type_option(INET), bytes([127, 0, 0, 1])),
    ("broadcast_address", type_option(INET), bytes([127, 0, 0, 1])),
    ("listen_address", type_option(INET), bytes([127, 0, 0, 1])),
    ("tokens", SET_OF_TEXT, struct.pack(">ii", 1, 1) + b"0"),
]

FIVE = [
    ("a", type_option(BIGINT)),
    ("b", type_option(TEXT)),
    ("c", type_option(INT)),
    ("d", type_option(DOUBLE)),
    ("e", type_option(BOOLEAN)),
]
PAGE = [
    ("id", type_option(UUID)),
    ("b", type_option(TEXT)),
    ("c", type_option(INT)),
    ("d", type_option(DOUBLE)),
    ("t", type_option(TIMESTAMP)),
]
FIVE_VALUES = [
    struct.pack(">q", 7),
    b"hello world",
    struct.pack(">i", 7),
    struct.pack(">d", 1.5),
    b"\x01",
]
VECTORS = [("id", type_option(INT)), ("v", VECTOR)]
PAGE_VALUES = [
    uuid.UUID(int=77).bytes,
    b"hello world",
    struct.pack(">i", 7),
    struct.pack(">d", 1.5),
    struct.pack(">q", 10**12),
]

VECTOR_VALUES = [struct.pack(">i", 7), struct.pack(">768f", *range(768))]

# A request whose opcode and body match gets a fixed response. The items are (the request's opcode,
# bytes that the request's body contains, the response's opcode, the response's body).
Rule = tuple[int, bytes, int, bytes]


def canned_rules() -> list[Rule]:
    """Return the rules for connecting clients, and for the statements of the benchmarks.

    Their order matters: the server uses the first rule that matches a request.
    """
    # The responses to queries of system tables: one node, without peers.
    local = rows(
        [(name, option) for name, option, _ in LOCAL], [[value for _, _, value in LOCAL]], "system"
    )
    no_peers = rows([("peer", type_option(INET)), ("host_id", type_option(UUID))], [], "system")
    no_table = struct.pack(">i", INVALID) + string("unconfigured table")
    # The statements that clients prepare. The key is a part of the query string. The value is the
    # statement's id, the columns of its markers, the columns of its result, and the body of the
    # response to EXECUTE.
    statements = {
        "INSERT INTO five": (b"insert-five", FIVE, [], VOID),
        "SELECT one": (b"select-one", FIVE[:1], FIVE, rows(FIVE, [FIVE_VALUES])),
        "SELECT page": (b"select-page", FIVE[:1], PAGE, rows(PAGE, [PAGE_VALUES] * 5000)),
        "INSERT INTO vectors": (b"insert-vector", VECTORS, [], VOID),
        "SELECT vectors": (
            b"select-vectors",
            VECTORS[:1],
            VECTORS,
            rows(VECTORS, [VECTOR_VALUES] * 1000),
        ),
    }
    rules: list[Rule] = [
        (OPTIONS, b"", SUPPORTED, SUPPORTED_OPTIONS),
        (STARTUP, b"", READY, b""),
        (REGISTER, b"", READY, b""),
        (QUERY, b"system.local", RESULT, local),
        (QUERY, b"system.peers_v2", ERROR, no_table),
        (QUERY, b"system.peers", RESULT, no_peers),
        (QUERY, b"", RESULT, VOID),
        (BATCH, b"", RESULT, VOID),
    ]
    for text, (query_id, binds, results, answer) in statements.items():
        rules.append((PREPARE, text.encode(), RESULT, prepared(query_id, binds, results)))
        rules.append((EXECUTE, query_id, RESULT, answer))
    return rules + prepared_system_rules()


def prepared_system_rules() -> list[Rule]:
    """Return the rules for a driver that prepares its own queries of the system tables.

    scylladb-rs-driver prepares its queries. The rules have the columns that its version 0.2.0
    selects, in this order. Without these responses, the driver has no token ring, so it would
    connect and query again each second while it is measured.
    """
    cells = {name: (option, value) for name, option, value in LOCAL}
    node = ["host_id", "rpc_address", "data_center", "rack", "tokens"]
    local = [*node, "cluster_name"]
    keyspace = [
        ("keyspace_name", type_option(TEXT)),
        ("replication", MAP_OF_TEXT),
        ("durable_writes", type_option(BOOLEAN)),
    ]
    answers: dict[str, tuple[list[Column], list[list[bytes | None]]]] = {
        "system.peers": ([(name, cells[name][0]) for name in node], []),
        "system.local": (
            [(name, cells[name][0]) for name in local],
            [[cells[name][1] for name in local]],
        ),
        "system_schema.keyspaces": (keyspace, []),
    }
    # Only ScyllaDB has the table scylla_keyspaces, so the PREPARE of a query of it gets an error.
    no_table = struct.pack(">i", INVALID) + string("unconfigured table")
    rules: list[Rule] = [(PREPARE, b"system_schema.scylla_keyspaces", ERROR, no_table)]
    for table, (columns, values) in answers.items():
        query_id = f"prepared-{table}".encode()
        rules.append((PREPARE, table.encode(), RESULT, prepared(query_id, [], columns)))
        rules.append((EXECUTE, query_id, RESULT, rows(columns, values, "system")))
    return rules


def encode_rules(rules: Sequence[Rule], compress: Callable[[bytes], bytes] | None = None) -> bytes:
    """Encode the rules in the format that the comment at the top of null_server.c describes.

    :param compress: compresses the bodies of results and errors. None leaves them plain.
    """
    encoded = bytearray()
    for request_opcode, needle, answer_opcode, body in rules:
        # Compress only results and errors: up to the response to STARTUP, messages must not be
        # compressed.
        is_compressed = False
        if compress is not None and answer_opcode in (RESULT, ERROR):
            is_compressed, body = True, compress(body)
        encoded += bytes([request_opcode]) + struct.pack(">I", len(needle)) + needle
        encoded += bytes([answer_opcode, is_compressed]) + struct.pack(">I", len(body)) + body
    return bytes(encoded)


def lz4_rules(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules, changed so that SUPPORTED offers LZ4 and no other compression."""
    no_compression = string("COMPRESSION") + struct.pack(">H", 0)
    only_lz4 = string("COMPRESSION") + struct.pack(">H", 1) + string("lz4")
    return [
        (
            request,
            needle,
            answer,
            body.replace(no_compression, only_lz4) if answer == SUPPORTED else body,
        )
        for request, needle, answer, body in rules
    ]


def lz4_body(body: bytes) -> bytes:
    """Compress a body as protocol version 4 requires.

    The result is the length of the uncompressed body, followed by an LZ4 block.
    """
    import lz4.block

    block: bytes = lz4.block.compress(body, store_size=False)
    return struct.pack(">I", len(body)) + block


@contextlib.contextmanager
def running(
    address: str = "127.0.0.1",
    extra_rules: Sequence[Rule] = (),
    lz4: bool = False,
    answers_per_write: int = 1,
) -> Iterator[tuple[str, int]]:
    """Start the server, and yield (address, port).

    :param extra_rules: rules that are tried before the canned rules.
    :param lz4: True to offer only LZ4, and to compress every result. The client must use LZ4.
    :param answers_per_write: the number of responses to EXECUTE that the server collects and sends
        in one write. Each connection must keep at least this many requests in flight: otherwise the
        server waits for more requests, and the client waits for responses, forever.
    """
    # The server takes its port as an argument, so find a free port.
    with socket.socket() as probe:
        probe.bind((address, 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder, "null_server")
        source = Path(__file__).with_name("null_server.c")
        subprocess.run(["cc", "-O2", "-o", str(binary), str(source)], check=True)
        rules_file = Path(folder, "rules")
        all_rules = [*extra_rules, *canned_rules()]
        rules_file.write_bytes(
            encode_rules(lz4_rules(all_rules), lz4_body) if lz4 else encode_rules(all_rules)
        )
        server = subprocess.Popen(
            [str(binary), str(rules_file), address, str(port), str(answers_per_write)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None
        assert server.stdin is not None
        try:
            if server.stdout.readline() != "ready\n":
                raise RuntimeError("the null server did not start")
            yield address, port
        finally:
            # The server ends when its standard input is closed.
            server.stdin.close()
            server.wait(10)
            server.stdout.close()
