"""SELECTs from the system tables of a fake node, as drivers send them."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.testing import wire
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode
from cassandra.testing.fake.primitives import BodyReader
from cassandra.testing.fake.system_tables import names_system_table

from .client import RawClient, ask, envelope

CONSISTENCY_ONE = b"\0\1"
# Flags of a QUERY message (native_protocol_v4.spec, section 4.1.4).
WITH_VALUES, WITH_PAGE_SIZE = 0x01, 0x04


def test_queries_to_the_tables_of_an_application(node: FakeNode, client: RawClient) -> None:
    """`queries` leaves out only SELECTs from system tables, which a driver sends by itself.

    It keeps statements whose strings or keyspace names contain "system".
    """
    kept = ["INSERT INTO ecosystem", "SELECT 'the system. And'", "SELECT v FROM system_data.t"]
    for statement in [
        "SELECT key FROM system.local",
        *kept,
        'SELECT v FROM "system_schema".tables',
    ]:
        ask(client, statement)
    assert [request.query for request in node.queries()] == kept


def test_system_tables() -> None:
    """The system tables describe the node with the arguments of its creation."""
    with (
        FakeNode("127.0.0.2", datacenter="east", rack="r7", tokens=["-5", "9"]) as node,
        RawClient(node) as client,
    ):
        client.start(4)
        (row,) = wire.decode_rows(
            ask(client, "SELECT * FROM system.local WHERE key = 'local'").body
        )
        assert row["data_center"] == b"east"
        assert row["rack"] == b"r7"
        assert row["host_id"] == node.host_id.bytes
        # a set of two strings, "-5" and "9"
        assert row["tokens"] == bytes.fromhex("00000002 00000002 2d35 00000001 39")
        assert row["rpc_address"] == bytes([127, 0, 0, 2])
        assert row["rpc_port"] == node.port.to_bytes(4, "big")
        # The response to a query has only the columns that the query selects.
        (row,) = wire.decode_rows(ask(client, "select key, schema_version from system.local").body)
        assert list(row) == ["key", "schema_version"]
        # The node has no peers and no schema.
        assert wire.decode_rows(ask(client, "SELECT * FROM system.peers_v2").body) == []
        assert wire.decode_rows(ask(client, "SELECT * FROM system_schema.keyspaces").body) == []
        assert wire.decode_error(ask(client, "SELECT * FROM system.nothing").body) == (
            ErrorCode.INVALID,
            "unconfigured table nothing",
        )
        code, _ = wire.decode_error(ask(client, "SELECT x FROM system.local").body)
        assert code == ErrorCode.INVALID
        # A node may lack the table `peers_v2`, as Cassandra 3 does.
        node.has_peers_v2 = False
        code, _ = wire.decode_error(ask(client, "SELECT * FROM system.peers_v2").body)
        assert code == ErrorCode.INVALID


def test_a_peer_that_was_never_started_is_a_host_without_a_port(
    node: FakeNode, client: RawClient
) -> None:
    """A peer that was never started has the port 0 in `peers_v2`, since its port is unknown."""
    client.start(4)
    node.peers = [FakeNode("127.0.0.2")]
    (row,) = wire.decode_rows(ask(client, "SELECT * FROM system.peers_v2").body)
    assert row["native_address"] == bytes([127, 0, 0, 2])
    assert row["native_port"] == bytes(4)


def query_body(query: str, flags: int, parameters: bytes = b"") -> bytes:
    """Return the body of a QUERY message of protocol version 4.

    :param flags: which parameters follow: `WITH_VALUES`, `WITH_PAGE_SIZE` or 0.
    :param parameters: the encoded parameters.
    """
    encoded_query = query.encode()
    size = len(encoded_query).to_bytes(4, "big")
    return size + encoded_query + CONSISTENCY_ONE + bytes([flags]) + parameters


def select(client: RawClient, query: str, *values: bytes | None) -> list[dict[str, bytes | None]]:
    """Send a SELECT with bound values, and return its rows: encoded values by column name."""
    if values:
        encoded_values = b"".join(
            b"\xff\xff\xff\xff" if value is None else len(value).to_bytes(4, "big") + value
            for value in values
        )
        parameters = len(values).to_bytes(2, "big") + encoded_values
        body = query_body(query, WITH_VALUES, parameters)
    else:
        body = query_body(query, flags=0)
    response = client.ask(envelope(4, Opcode.QUERY, body))
    assert response.opcode == Opcode.RESULT, wire.decode_error(response.body)
    return wire.decode_rows(response.body)


def refusal(client: RawClient, query: str) -> str:
    """Send a SELECT that the node refuses as invalid, and return the error's message."""
    code, message = wire.decode_error(ask(client, query).body)
    assert code == ErrorCode.INVALID
    return message


# -- conditions ------------------------------------------------------------------------------------

# the rows of system_schema.tables
TABLES: list[dict[str, Any]] = [
    {"keyspace_name": "ks", "table_name": "t", "gc_grace_seconds": 5},
    {"keyspace_name": "ks", "table_name": "it's", "gc_grace_seconds": -1},
    {"keyspace_name": "other", "table_name": "t", "comment": "text"},
]


@pytest.mark.parametrize(
    ("where", "values", "indexes"),
    [
        ("", (), [0, 1, 2]),
        ("WHERE keyspace_name = 'ks'", (), [0, 1]),
        ("where KEYSPACE_NAME='ks' AND table_name = 't'", (), [0]),
        ("WHERE table_name = 'it''s'", (), [1]),
        ("WHERE table_name IN ('t', 'x')", (), [0, 2]),
        ("WHERE table_name in('it''s','t') and keyspace_name = 'ks'", (), [0, 1]),
        ("WHERE keyspace_name = 'missing'", (), []),
        ("WHERE gc_grace_seconds = 5", (), [0]),
        ("WHERE keyspace_name = 'other' USING TIMEOUT 2000ms;", (), [2]),
        ("USING TIMEOUT 5s", (), [0, 1, 2]),
        ("WHERE keyspace_name = ?", (b"ks",), [0, 1]),
        ("WHERE table_name IN (?, ?) AND keyspace_name = ?", (b"t", b"x", b"other"), [2]),
        ("WHERE gc_grace_seconds = ?", (b"\xff\xff\xff\xff",), [1]),
    ],
)
def test_rows_are_selected_by_equality(
    node: FakeNode, client: RawClient, where: str, values: tuple[bytes, ...], indexes: list[int]
) -> None:
    """Conditions compare columns with literals or bound values, with ``=`` and ``IN``."""
    node.schema["system_schema.tables"] = TABLES
    rows = select(client, f"SELECT * FROM system_schema.tables {where}", *values)
    names = [(row["keyspace_name"], row["table_name"]) for row in rows]
    assert names == [
        (TABLES[index]["keyspace_name"].encode(), TABLES[index]["table_name"].encode())
        for index in indexes
    ]


def test_a_bound_null_selects_no_row_and_a_missing_value_neither(
    node: FakeNode, client: RawClient
) -> None:
    """A bound null selects no row, and neither does a bind marker without a value.

    No row is equal to null.
    """
    node.schema["system_schema.tables"] = TABLES
    query = "SELECT * FROM system_schema.tables WHERE keyspace_name = ?"
    assert select(client, query, None) == []
    assert select(client, query) == []


def test_uuids_are_compared_by_value(node: FakeNode, client: RawClient) -> None:
    """A UUID in a condition may be a literal, or a bound value of 16 bytes."""
    query = "SELECT key FROM system.local WHERE host_id = "
    assert len(select(client, f"{query}{node.host_id}")) == 1
    assert len(select(client, f"{query}?", node.host_id.bytes)) == 1
    assert select(client, f"{query}?", bytes(16)) == []


@pytest.mark.parametrize(
    "condition", ["token(key) > 5", "key > 'a'", "nothing = 5", "key = 'local' AND rack > 'a'"]
)
def test_other_conditions_are_refused(client: RawClient, condition: str) -> None:
    """The node refuses other conditions than "=" and "IN", and names the condition."""
    message = refusal(client, f"SELECT key FROM system.local WHERE {condition}")
    assert message == f"this node does not understand the condition {condition!r}"


# -- tables and columns ----------------------------------------------------------------------------


def test_the_columns_come_in_the_selected_order(client: RawClient) -> None:
    """A row has the selected columns, in the selected order. Names are not case-sensitive."""
    (row,) = select(client, "  Select  RACK ,\n key FROM System.LOCAL ;")
    assert list(row.items()) == [("rack", b"rack1"), ("key", b"local")]
    assert refusal(client, "SELECT key, x, y FROM system.local") == (
        "Undefined column name x in table system.local"
    )


def test_the_local_node(node: FakeNode, client: RawClient) -> None:
    """The row in system.local has the addresses, ports and versions of the node."""
    (row,) = select(client, "SELECT * FROM system.local")
    address = bytes([127, 0, 0, 1])
    storage_port = (7000).to_bytes(4, "big")
    assert row["bootstrapped"] == b"COMPLETED"
    assert row["cql_version"] == node.supported["CQL_VERSION"][0].encode()
    assert row["rpc_address"] == row["listen_address"] == row["broadcast_address"] == address
    assert row["rpc_port"] == node.port.to_bytes(4, "big")
    assert row["listen_port"] == row["broadcast_port"] == storage_port
    assert row["native_protocol_version"] == str(node.max_version).encode()
    assert row["schema_version"] == node.schema_version.bytes


def test_peers_are_in_an_older_and_a_newer_table(node: FakeNode, client: RawClient) -> None:
    """Both tables of peers list the other nodes; only `peers_v2` has their ports."""
    with FakeNode("127.0.0.2") as peer:
        node.peers = [peer]
        (row,) = select(client, "SELECT * FROM system.peers_v2")
        (older_row,) = select(client, "SELECT * FROM system.peers")
        peer_address = bytes([127, 0, 0, 2])
        assert row["peer"] == row["native_address"] == peer_address
        assert row["peer_port"] == (7000).to_bytes(4, "big")
        assert row["native_port"] == peer.port.to_bytes(4, "big")
        assert older_row["peer"] == older_row["rpc_address"] == peer_address
        assert row["host_id"] == older_row["host_id"] == peer.host_id.bytes


@pytest.mark.parametrize(
    ("table", "switch"),
    [
        ("system_schema.keyspaces", None),
        ("system_schema.column_masks", "has_peers_v2"),
        ("system_virtual_schema.tables", "has_peers_v2"),
        ("system.client_routes", "has_client_routes"),
    ],
)
def test_a_node_has_the_tables_of_its_version(
    node: FakeNode, client: RawClient, table: str, switch: str | None
) -> None:
    """Tables are empty until the test adds rows, or missing if the node's version lacks them.

    :param switch: the attribute of the node that says whether the node has the table; None if every
        node has it.
    """
    if switch is not None:
        setattr(node, switch, True)
    assert select(client, f"SELECT * FROM {table}") == []
    if switch is not None:
        setattr(node, switch, False)
        name = table.partition(".")[2]
        assert refusal(client, f"SELECT * FROM {table}") == f"unconfigured table {name}"


def test_results_name_their_table(client: RawClient) -> None:
    """The metadata of a result has the keyspace and the table of its columns."""
    body = ask(client, "SELECT key FROM system.local").body
    # Skip the kind of the result, the flags, and the number of columns: three ints.
    reader = BodyReader(body[12:])
    assert reader.string() == "system"
    assert reader.string() == "local"
    assert reader.string() == "key"


def test_rows_come_in_pages(node: FakeNode, client: RawClient) -> None:
    """If a request asks for pages of two rows, the first response has two of the three rows."""
    node.schema["system_schema.tables"] = TABLES
    page_size = (2).to_bytes(4, "big")
    body = query_body("SELECT * FROM system_schema.tables", WITH_PAGE_SIZE, page_size)
    response = client.ask(envelope(4, Opcode.QUERY, body))
    assert len(wire.decode_rows(response.body)) == 2


@pytest.mark.parametrize(
    ("query", "names_one"),
    [
        ("SELECT * FROM system.local", True),
        ("select * from SYSTEM_SCHEMA.tables", True),
        ('SELECT * FROM "system_auth".roles', True),
        ("UPDATE system_distributed_everywhere.cdc SET a = 1", True),
        ("SELECT * FROM system_virtual_schema.tables", True),
        ("SELECT * FROM system_data.t", False),
        ("SELECT * FROM ecosystem.t", False),
        ("SELECT system FROM ks.t", False),
    ],
)
def test_the_server_s_own_tables_are_recognized(query: str, names_one: bool) -> None:
    """`names_system_table` says whether a statement uses a table of a system keyspace."""
    assert names_system_table(query) is names_one
