"""The protocol layer works with real nodes over a plain socket, without the driver's engine.

The tests send all requests in every protocol version, with every compression.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import errors
from cassandra._impl import bind, frame
from cassandra.protocol import (
    BatchMessage,
    ErrorMessage,
    ExecuteMessage,
    PrepareMessage,
    QueryMessage,
    RegisterMessage,
    ResultMetadata,
)
from cassandra.protocol.connection import (
    EnableSegments,
    ProtocolConnection,
    Ready,
    Send,
    SetCompression,
    VersionRefused,
)
from cassandra.protocol.messages.base import MessageType
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.messages.encode import encode_request
from cassandra.query.row_factories import dict_factory, named_tuple_factory
from cassandra.sentinels import UNSET_VALUE
from cassandra.testing import LocalCluster
from tests.integration.conftest import new_keyspace_name

pytestmark = pytest.mark.integration

# The protocol versions and compressions of the connections.
SETTINGS: list[tuple[int, str | None]] = [
    (3, None), (3, "lz4"), (3, "snappy"), (4, None), (4, "lz4"), (4, "snappy"), (5, None), (5, "lz4")  # noqa: E501
]  # fmt: skip
LOGGED, UNLOGGED, COUNTER = 0, 1, 2  # types of batches
VOID = 1  # the kind of a RESULT without rows (Void)
ONE, THREE, SERIAL, LOCAL_SERIAL = 1, 3, 8, 9  # consistency levels


class Wire:
    """A blocking connection that encodes requests and decodes responses.

    `end` is the last action of the handshake: Ready or VersionRefused.

    :param address: the address and port of the node.
    :param version: the protocol version to request.
    :param compression: "lz4" or "snappy"; None for no compression.
    """

    def __init__(
        self, address: tuple[str, int], version: int, compression: str | None = None
    ) -> None:
        self.version = version
        self.socket = socket.create_connection(address, 20)
        self.reader = frame.FrameReader(version)
        self.writer = frame.FrameWriter(version)
        self.handshake = ProtocolConnection(version, compression=compression)
        self.received: list[Any] = []
        self.events: list[Any] = []
        self.end: Any = None
        try:
            self.shake_hands()
        except BaseException:
            self.socket.close()
            raise

    def shake_hands(self) -> None:
        """Exchange messages with the node until the handshake has ended."""
        actions = self.handshake.start()
        while not isinstance(self.end, (Ready, VersionRefused)):
            for action in actions:
                self.act(action)
            if not isinstance(self.end, (Ready, VersionRefused)):
                actions = self.handshake.receive(*self.next())

    def act(self, action: Any) -> None:
        """Perform an action that the handshake requests, for example send a message."""
        # After the handshake, the last action is Ready or VersionRefused.
        self.end = action
        if isinstance(action, Send):
            self.writer.add(*action)
            self.socket.sendall(self.writer.take())
        elif isinstance(action, SetCompression):
            self.reader.set_compression(action.algorithm)
            self.writer.set_compression(action.algorithm)
        elif isinstance(action, EnableSegments):
            self.reader.enable_segments()
            self.writer.enable_segments()
        else:
            assert isinstance(action, (Ready, VersionRefused)), action

    def next(self) -> Any:
        """Return the next envelope that is not an event; keep events for `next_event`.

        :returns: (stream, opcode, flags, body, version).
        """
        while not self.received:
            data = self.socket.recv(65536)
            assert data, "the server closed the connection"
            for envelope in self.reader.feed(data):
                stream = envelope[0]
                # Events have the stream -1. An event may arrive before the response to the request
                # that caused this event.
                queue = self.events if stream == -1 else self.received
                queue.append(envelope)
        return self.received.pop(0)

    def next_event(self) -> Any:
        """Return the message of the next event; wait if no event has arrived yet."""
        while not self.events:
            self.events += self.reader.feed(self.socket.recv(65536))
        _stream, opcode, flags, body, version = self.events.pop(0)
        return decode_response(opcode, flags, body, version)

    def ask(
        self, message: MessageType, cached: ResultMetadata | None = None, stream: int = 1
    ) -> Any:
        """Send a request, and return the response, which may be an ErrorMessage.

        :param cached: the result columns of a prepared statement; they decode a response that has
            no metadata.
        :param stream: the stream id of the request.
        """
        opcode, flags, body = encode_request(message, self.version)
        self.writer.add(stream, opcode, flags, body)
        self.socket.sendall(self.writer.take())
        return self.answer(cached)

    def answer(self, cached: ResultMetadata | None = None) -> Any:
        """Return the next response.

        :param cached: as for `ask`.
        """
        _stream, opcode, flags, body, version = self.next()
        return decode_response(opcode, flags, body, version, cached=cached)

    def run(self, query: str, *values: bytes | None) -> Any:
        """Send a QUERY with encoded values at ONE, and return its result.

        If the answer is an error, the test fails.
        """
        return valid(self.ask(QueryMessage(query, ONE, query_params=list(values) or None)))

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()


def valid(message: Any) -> Any:
    """Return the message, after checking that it is no error."""
    assert not isinstance(message, ErrorMessage), message
    return message


class Server:
    """A node's address, and the name of a keyspace on it with the tables of these tests."""

    def __init__(self, local: LocalCluster) -> None:
        self.address = (str(local.contact_points[0]), int(local.port))
        self.keyspace = new_keyspace_name() + "_wire"
        with Wire(self.address, 4) as wire:
            wire.run(
                f"CREATE KEYSPACE {self.keyspace} WITH replication = "
                f"{{'class': 'SimpleStrategy', 'replication_factor': 1}}"
            )
            wire.run(f"CREATE TABLE {self.keyspace}.t (id int PRIMARY KEY, name text, data blob)")
            wire.run(f"CREATE TABLE {self.keyspace}.c (id int PRIMARY KEY, n counter)")


@pytest.fixture(scope="module")
def server(node: LocalCluster) -> Server:
    """Return the node of the current version, with the tables of these tests."""
    return Server(node)


@pytest.fixture(scope="module")
def old_server(old_node: LocalCluster) -> Server:
    """Return a node of an older version, with the tables of these tests."""
    return Server(old_node)


@pytest.fixture(params=SETTINGS, ids=lambda setting: f"v{setting[0]}-{setting[1]}")
def wire(server: Server, request: pytest.FixtureRequest) -> Iterator[Wire]:
    """Yield a connection for each of SETTINGS, in the keyspace with an empty table `t`."""
    version, compression = request.param
    with Wire(server.address, version, compression) as new_wire:
        assert new_wire.end.compression == compression
        assert new_wire.run(f"USE {server.keyspace}").new_keyspace == server.keyspace
        new_wire.run("TRUNCATE t")
        yield new_wire


def int32(value: int) -> bytes:
    """Return an encoded CQL int."""
    return struct.pack(">i", value)


def prepare(wire: Wire, query: str) -> Any:
    """Prepare a query, and return the message of its RESULT."""
    return valid(wire.ask(PrepareMessage(query)))


def check_all_requests(wire: Wire, keyspace: str) -> None:
    """Send QUERY, PREPARE, EXECUTE and BATCH in all their forms over one connection."""
    # Use full table names instead of USE. After USE, Cassandra 4.0 would add a warning to the
    # response to PREPARE. The request would fail in version 3, which has no warnings.
    table, counters = f"{keyspace}.t", f"{keyspace}.c"
    insert_query = f"INSERT INTO {table} (id, name, data) VALUES (?, ?, ?)"
    assert wire.run(insert_query, int32(1), b"one", None).kind == VOID
    insert = prepare(wire, insert_query)
    assert [column.name for column in insert.bind_metadata] == ["id", "name", "data"]
    assert insert.pk_indexes == (None if wire.version == 3 else [0])
    assert (insert.result_metadata_id is not None) is (wire.version >= 5)
    plan = bind.BindPlan(insert.bind_metadata, [0])  # the partition key is column 0
    last_value = UNSET_VALUE if wire.version > 3 else None  # version 3 has no unset values
    for identity in range(2, 40):
        data = last_value if identity % 2 else b"x" * 2000
        block = plan.bind([identity, f"name {identity}", data], wire.version)
        valid(wire.ask(ExecuteMessage(insert.query_id, block, ONE, timestamp=1_700_000_000_000_000,
                                     result_metadata_id=insert.result_metadata_id)))  # fmt: skip
    # Each query of a batch is a tuple: whether it is prepared, the statement id or the query
    # string, and the values. One query is prepared, and two are strings, with and without values.
    for batch_type in (LOGGED, UNLOGGED):
        queries = [
            (
                True,
                insert.query_id,
                plan.bind([100 + batch_type, "batched", b"\x00"], wire.version),
            ),
            (
                False,
                f"INSERT INTO {table} (id, name) VALUES (?, ?)",
                [int32(200 + batch_type), None],
            ),
            (False, f"INSERT INTO {table} (id, name) VALUES ({300 + batch_type}, 'text')", []),
        ]
        valid(wire.ask(BatchMessage(batch_type, queries, ONE, SERIAL, 1_700_000_000_000_001)))
    add_to_counter = prepare(wire, f"UPDATE {counters} SET n = n + ? WHERE id = ?")
    encoded_5 = struct.pack(">q", 5)
    add_5 = (True, add_to_counter.query_id, [encoded_5, int32(1)])
    valid(wire.ask(BatchMessage(COUNTER, [add_5] * 3, ONE)))
    # Each call of this function adds 5 three times. The table may have been used before, so the
    # counter is a multiple of 15.
    ((counter,),) = wire.run(f"SELECT n FROM {counters} WHERE id = 1").parsed_rows
    assert counter % 15 == 0
    check_paged_select(wire, table)
    wire.run(f"TRUNCATE {table}")
    wire.run(f"TRUNCATE {counters}")


def check_paged_select(wire: Wire, table: str) -> None:
    """Read all rows in pages of 7, and check that each page uses the cached metadata object.

    In version 5 and later, the request asks for pages without metadata. In older versions, each
    page contains metadata, which equals the cached metadata.
    """
    select = prepare(wire, f"SELECT id, name, data FROM {table}")
    cached_metadata = select.result_metadata
    paging_state, rows = None, []
    skip_metadata = wire.version >= 5
    while True:
        page = valid(wire.ask(ExecuteMessage(select.query_id, [], ONE, fetch_size=7, paging_state=paging_state, skip_meta=skip_metadata,  # noqa: E501
                                            result_metadata_id=select.result_metadata_id), cached_metadata))  # fmt: skip  # noqa: E501
        assert page.metadata is cached_metadata
        rows += page.decode(named_tuple_factory)
        paging_state = page.paging_state
        if paging_state is None:
            break
    # The inserts have written the rows 1 to 39. The two batches have written three more rows each.
    assert len(rows) == 39 + 6
    by_id = {row.id: row for row in rows}
    assert by_id[4] == (4, "name 4", b"x" * 2000)
    assert by_id[5] == (5, "name 5", None)
    assert by_id[201] == (201, None, None)


def test_all_requests_on_cassandra_5_0(wire: Wire, server: Server) -> None:
    check_all_requests(wire, server.keyspace)


@pytest.mark.parametrize(("version", "compression"), SETTINGS)
def test_all_requests_on_older_nodes(
    old_server: Server, version: int, compression: str | None
) -> None:
    with Wire(old_server.address, version, compression) as wire:
        check_all_requests(wire, old_server.keyspace)


def test_large_values_cross_segments(wire: Wire) -> None:
    """A value of 1 MB is read as it was written, although version 5 sends it in segments."""
    data = bytes(range(256)) * 4000
    valid(
        wire.ask(
            QueryMessage(
                "INSERT INTO t (id, data) VALUES (?, ?)", ONE, query_params=[int32(7), data]
            )
        )
    )
    assert wire.run("SELECT data FROM t WHERE id = 7").parsed_rows == [(data,)]


def test_many_requests_in_one_write(wire: Wire) -> None:
    """Each of 100 requests that are sent in one write gets a response on its own stream."""
    for stream in range(100):
        query = QueryMessage(f"INSERT INTO t (id, name) VALUES ({stream}, 'x')", ONE)
        opcode, flags, body = encode_request(query, wire.version)
        wire.writer.add(stream, opcode, flags, body)
    wire.socket.sendall(wire.writer.take())
    # The first field of an envelope is its stream.
    assert {wire.next()[0] for _ in range(100)} == set(range(100))
    assert wire.run("SELECT count(*) FROM t").parsed_rows == [(100,)]


def test_conditional_statements(wire: Wire) -> None:
    """A conditional insert that is not applied returns the columns of the existing row."""
    insert = prepare(wire, "INSERT INTO t (id, name) VALUES (?, ?) IF NOT EXISTS")
    outcomes = []
    for _ in range(2):
        message = ExecuteMessage(insert.query_id, [int32(1), b"n"], ONE, LOCAL_SERIAL, skip_meta=wire.version >= 5,  # noqa: E501
                                 result_metadata_id=insert.result_metadata_id)  # fmt: skip
        outcomes += valid(wire.ask(message, insert.result_metadata)).decode(dict_factory)
    # The second response has other columns than the prepared statement announced, so it must be
    # decoded with its own metadata.
    assert outcomes == [
        {"[applied]": True},
        {"[applied]": False, "id": 1, "data": None, "name": "n"},
    ]


def test_tracing_and_a_custom_payload(wire: Wire) -> None:
    """A traced request gets a trace id, and version 4 or later accepts a custom payload."""
    message = QueryMessage("SELECT now() FROM system.local", ONE)
    message.tracing = True
    if wire.version > 3:
        message.custom_payload = {"key": b"value"}
    assert valid(wire.ask(message)).trace_id is not None


def test_warnings(wire: Wire) -> None:
    """The response to a large batch contains the server's warning."""
    if wire.version < 4:
        pytest.skip("warnings came with protocol version 4")
    # Three rows of 4 KB exceed the batch size at which the server warns.
    queries: list[Any] = [
        (False, f"INSERT INTO t (id, data) VALUES ({identity}, 0x{'ab' * 4000})", [])
        for identity in range(3)
    ]
    answer = valid(wire.ask(BatchMessage(UNLOGGED, queries, ONE)))
    assert answer.warnings
    assert "exceed" in answer.warnings[0]


def test_version_5_parameters(server: Server) -> None:
    """The node accepts requests with a keyspace and with `now_in_seconds`, new in version 5."""
    with Wire(server.address, 5) as wire:
        message = QueryMessage(
            "INSERT INTO t (id, name) VALUES (1, 'x') USING TTL 100", ONE, keyspace=server.keyspace
        )
        message.now_in_seconds = 1_700_000_000
        valid(wire.ask(message))
        valid(wire.ask(PrepareMessage("SELECT * FROM t", server.keyspace)))
        batch = BatchMessage(
            UNLOGGED, [(False, "INSERT INTO t (id) VALUES (2)", [])], ONE, keyspace=server.keyspace
        )
        batch.now_in_seconds = 1_700_000_000
        valid(wire.ask(batch))


@pytest.mark.parametrize("version", [4, 5])
def test_another_session_alters_the_table_and_prepares_again(server: Server, version: int) -> None:
    """Rows are never decoded with outdated columns after another session has altered the table.

    In version 4, each response contains its metadata, which is compared with the cached metadata.
    In version 5, the server sends new metadata if the statement's result metadata id has changed.
    """
    with Wire(server.address, version) as first_wire, Wire(server.address, version) as second_wire:
        table = f"{server.keyspace}.altered{version}"
        first_wire.run(f"CREATE TABLE {table} (id int PRIMARY KEY, b text)")
        first_wire.run(f"INSERT INTO {table} (id, b) VALUES (1, 'b')")
        query = f"SELECT * FROM {table}"
        prepared = prepare(first_wire, query)

        def execute() -> Any:
            """Execute the prepared statement on the first connection, and return the result."""
            message = ExecuteMessage(
                prepared.query_id,
                [],
                ONE,
                skip_meta=version >= 5,
                result_metadata_id=prepared.result_metadata_id,
            )
            return valid(first_wire.ask(message, prepared.result_metadata))

        result_before = execute()
        assert result_before.metadata is prepared.result_metadata
        assert result_before.decode(dict_factory) == [{"id": 1, "b": "b"}]
        # Another connection alters the table, and prepares the statement again.
        second_wire.run(f"ALTER TABLE {table} ADD a int")
        second_wire.run(f"UPDATE {table} SET a = 5 WHERE id = 1")
        prepare(second_wire, query)
        result_after = execute()
        assert result_after.decode(dict_factory) == [{"id": 1, "a": 5, "b": "b"}]
        assert (result_after.result_metadata_id is not None) is (version >= 5)


def test_vectors(server: Server) -> None:
    """A vector that is bound in a batch is read as it was written (protocol versions 4 and 5)."""
    for version in (4, 5):
        with Wire(server.address, version) as wire:
            table = f"{server.keyspace}.vectors"
            wire.run(f"CREATE TABLE IF NOT EXISTS {table} (id int PRIMARY KEY, v vector<float, 3>)")
            insert = prepare(wire, f"INSERT INTO {table} (id, v) VALUES (?, ?)")
            plan = bind.BindPlan(insert.bind_metadata, [0])
            block = plan.bind([version, [1.0, 2.0, 3.5]], version)
            valid(wire.ask(BatchMessage(UNLOGGED, [(True, insert.query_id, block)], ONE)))
            (row,) = wire.run(f"SELECT v FROM {table} WHERE id = {version}").parsed_rows
            (vector,) = row
            assert list(vector) == [1.0, 2.0, 3.5]


def test_events_and_schema_changes(server: Server, wire: Wire) -> None:
    """CREATE TABLE returns the schema change, and an event announces the change, too."""
    valid(wire.ask(RegisterMessage(["SCHEMA_CHANGE", "STATUS_CHANGE", "TOPOLOGY_CHANGE"])))
    change = wire.run("CREATE TABLE seen (id int PRIMARY KEY)")
    expected = {
        "change_type": "CREATED",
        "target_type": "TABLE",
        "keyspace": server.keyspace,
        "table": "seen",
    }
    assert change.schema_change_event == expected
    event = wire.next_event()
    assert (event.event_type, event.event_args) == ("SCHEMA_CHANGE", expected)
    wire.run("DROP TABLE seen")


# For queries that the server refuses: the error codes of the protocol, and the driver's exceptions.
ERRORS: list[tuple[str, int, type[Exception]]] = [
    ("SELEC", 0x2000, errors.RequestValidationException),
    ("SELECT * FROM no_such_table", 0x2200, errors.InvalidRequest),
    ("CREATE TABLE t (id int PRIMARY KEY)", 0x2400, errors.AlreadyExists),
    (
        "CREATE KEYSPACE k WITH replication = {'class': 'NoSuch'}",
        0x2300,
        errors.ConfigurationException,
    ),
]


@pytest.mark.parametrize(("query", "code", "exception"), ERRORS)
def test_errors(wire: Wire, query: str, code: int, exception: type[Exception]) -> None:
    """An ERROR response becomes the exception of its code, and the connection stays usable."""
    message = wire.ask(QueryMessage(query, ONE))
    assert isinstance(message, ErrorMessage)
    assert message.code == code
    assert isinstance(message.to_exception(), exception)
    assert wire.run("SELECT id FROM t").parsed_rows == []


def test_a_consistency_of_three_on_one_node_is_unavailable(wire: Wire) -> None:
    """The Unavailable error has the consistency level and the number of live replicas."""
    message = wire.ask(QueryMessage("SELECT * FROM t WHERE id = 1", THREE))
    assert isinstance(message, ErrorMessage)
    raised = message.to_exception()
    assert isinstance(raised, errors.Unavailable)
    assert (raised.consistency, raised.alive_replicas) == (THREE, 1)


def test_an_unknown_statement_id_is_an_unprepared_error(wire: Wire) -> None:
    """The node answers with the error Unprepared, which has the unknown id."""
    unknown_id = b"0123456789abcdef"
    message = wire.ask(ExecuteMessage(unknown_id, [], ONE, result_metadata_id=unknown_id))
    assert isinstance(message, ErrorMessage)
    assert message.code == 0x2500  # Unprepared: native_protocol_v5.spec, section 8
    assert message.info == unknown_id


def test_requests_of_a_beta_version_have_the_flag_use_beta(server: Server) -> None:
    """Version 6 is a beta version, so requests have the flag USE_BETA.

    The flag is described in native_protocol_v5.spec, section 2.4.1.2. A server that supports
    version 6 as beta accepts the connection; other servers refuse the version.
    """
    with Wire(server.address, 6) as wire:
        last_action = wire.end
    if isinstance(last_action, Ready):
        assert "6/v6-beta" in last_action.supported["PROTOCOL_VERSIONS"]
    else:
        assert isinstance(last_action, VersionRefused)
