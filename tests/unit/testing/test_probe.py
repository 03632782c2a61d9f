"""The probe, a minimal client for local nodes, talks to servers with fixed responses.

The bytes of requests and responses follow native_protocol_v4.spec.
"""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Iterator, Sequence

import pytest

from cassandra.testing.fake.segments import pack
from cassandra.testing.probe import NodeView, Probe, ProbeError
from tests.unit.testing.test_wire import READY, STARTUP
from tests.waiting import WAIT


class FixedServer:
    """A server that accepts connections, and sends the next fixed response for each request.

    After the last response, the server closes the connection. The attribute `received` has the
    bytes of the requests. Before the responses, the server refuses other connections.

    :param refusals: the response to the first request on each connection that is refused.
    """

    def __init__(self, *responses: bytes, refusals: Sequence[bytes] = ()) -> None:
        self.received: list[bytes] = []
        self.refusals = refusals
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.run, args=(responses,))
        self.thread.start()

    def run(self, responses: tuple[bytes, ...]) -> None:
        """Accept connections, and respond to each message with the next fixed response."""
        for answers in (*((refusal,) for refusal in self.refusals), responses):
            connection, _ = self.listener.accept()
            with connection:
                for response in answers:
                    self.received.append(connection.recv(65536))
                    connection.sendall(response)

    def close(self) -> None:
        self.thread.join(WAIT)
        self.listener.close()


@pytest.fixture
def servers() -> Iterator[list[FixedServer]]:
    """Yield an empty list to which a test adds its servers, and close them after the test."""
    created_servers: list[FixedServer] = []
    yield created_servers
    for server in created_servers:
        server.close()


def test_probe_logs_in_with_a_password(servers: list[FixedServer]) -> None:
    """If the server asks for a login, the probe sends its credentials as SASL PLAIN."""
    servers.append(
        FixedServer(
            # The responses are AUTHENTICATE and then AUTH_SUCCESS.
            bytes.fromhex("84 00 0000 03 00000003 0001 41"),
            bytes.fromhex("84 00 0000 10 00000004 ffffffff"),
        )
    )
    Probe("127.0.0.1", servers[0].port, credentials=("u", "p")).close()
    assert servers[0].received == [
        STARTUP,
        # AUTH_RESPONSE with NUL "u" NUL "p"
        bytes.fromhex("04 00 0000 0f 00000008 00000004 00 75 00 70"),
    ]


def test_a_required_login_without_a_password_is_an_error(servers: list[FixedServer]) -> None:
    """If the server asks for a login, but the probe has no password, ProbeError is raised.

    The server's response is AUTHENTICATE with the class name "A".
    """
    servers.append(FixedServer(bytes.fromhex("84 00 0000 03 00000003 0001 41")))
    with pytest.raises(ProbeError, match="wants a login: A"):
        Probe("127.0.0.1", servers[0].port)


def test_probe_shows_an_error_with_its_code(servers: list[FixedServer]) -> None:
    """An ERROR response raises ProbeError with the message and the code of the response."""
    # An ERROR (opcode 0) with the code 0x100 and the message "bad".
    servers.append(FixedServer(bytes.fromhex("84 00 0000 00 00000009 00000100 0003 626164")))
    with pytest.raises(ProbeError, match="error 0x0100: bad") as caught:
        Probe("127.0.0.1", servers[0].port)
    assert caught.value.code == 0x0100


def test_probe_on_a_connection_that_closes(servers: list[FixedServer]) -> None:
    """If the server closes the connection, the error of the probe says so."""
    servers.append(FixedServer(b""))
    with pytest.raises(ProbeError, match="closed the connection"):
        Probe("127.0.0.1", servers[0].port)


def test_the_view_skips_warnings_and_incomplete_peers(
    servers: list[FixedServer],
) -> None:
    """The probe's view has the schema versions of the node and of its peers, by address.

    A response may begin with warnings, and a peer may have no schema version yet.
    """
    version = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    version_column = bytes.fromhex("000e") + b"schema_version" + bytes.fromhex("000c")
    # The response has a warning, then a RESULT with one row: the node's schema version.
    local = bytes.fromhex("0001 0002 6869 00000002 00000001 00000001 0000 0000") + version_column
    local += bytes.fromhex("00000001 00000010") + version.bytes
    # The response has two rows with an address and a schema version. The second row has no version.
    peers = (
        bytes.fromhex("00000002 00000001 00000002 0000 0000 000b")
        + b"rpc_address"
        + bytes.fromhex("0010")
        + version_column
    )
    peers += bytes.fromhex("00000002 00000004 7f000002 00000010") + version.bytes
    peers += bytes.fromhex("00000004 7f000003 ffffffff")
    # In the first header, the flag 08 says that the body begins with warnings.
    frames = [bytes.fromhex("84 08 0000 08") + len(local).to_bytes(4, "big") + local]
    frames.append(bytes.fromhex("84 00 0000 08") + len(peers).to_bytes(4, "big") + peers)
    servers.append(FixedServer(READY, *frames))
    with Probe("127.0.0.1", servers[0].port) as probe:
        assert probe.view() == NodeView(version, {"127.0.0.2": version})


def refusal(version: int, code: int, message: str) -> bytes:
    """Return an ERROR with a header of protocol version `version`."""
    body = code.to_bytes(4, "big") + len(message).to_bytes(2, "big") + message.encode()
    header = bytes([0x80 | version]) + bytes.fromhex("00 0000 00")
    return header + len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("version", [5, 6])
def test_a_later_version_if_version_4_is_refused(servers: list[FixedServer], version: int) -> None:
    """If a node refuses version 4, the probe uses the first later version that it accepts.

    From version 5 on, all messages after the response to STARTUP are in segments.
    """
    start = bytes([0x80 | version])
    authenticate = start + bytes.fromhex("00 0000 03 00000003 0001 41")
    success = start + bytes.fromhex("00 0000 10 00000004 ffffffff")
    # A RESULT of the kind Rows without columns and rows, and with an empty name of the table.
    rows = start + bytes.fromhex("00 0000 08 00000014 00000002 00000001 00000000 00000000 00000000")
    servers.append(
        FixedServer(
            authenticate,
            pack([success], compressed=False),
            # The node splits this response: its header is in a segment of its own.
            pack([rows[:9]], compressed=False) + pack([rows[9:]], compressed=False),
            refusals=[
                refusal(
                    number + 1, 0x0A, f"Rejecting Version {number} < {number + 1}/v{number + 1}"
                )
                for number in range(4, version)
            ],
        )
    )
    with Probe("127.0.0.1", servers[0].port, credentials=("u", "p")) as probe:
        assert probe.query("Q") == []
    first_bytes = [request[0] for request in servers[0].received[:-2]]
    assert first_bytes == list(range(4, version + 1))
    login = bytes([version]) + bytes.fromhex("00 0000 0f 00000008 00000004 00 75 00 70")
    query = bytes([version]) + bytes.fromhex("00 0000 07 0000000b 00000001 51 0001 00000000")
    assert servers[0].received[-2:] == [
        pack([login], compressed=False),
        pack([query], compressed=False),
    ]


def test_a_node_that_refuses_each_version(servers: list[FixedServer]) -> None:
    """If a node also refuses the later versions, its last error is raised."""
    servers.append(
        FixedServer(refusal(3, 0x0A, "again"), refusals=[refusal(3, 0x0A, "Invalid version")])
    )
    with pytest.raises(ProbeError, match="error 0x000a: again"):
        Probe("127.0.0.1", servers[0].port)
