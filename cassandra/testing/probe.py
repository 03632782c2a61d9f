"""A minimal blocking CQL connection, by which `readiness` checks if a node is ready."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import uuid
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from cassandra._imports import Deferred
from cassandra.testing import wire

if TYPE_CHECKING:
    from cassandra.testing.fake import segments
else:
    # Only nodes that refuse version 4 need this package.
    segments = Deferred("cassandra.testing.fake.segments")

# Consistency levels, with the values of native_protocol_v4.spec, section 3.
ONE, ALL = 0x0001, 0x0005


class ProbeError(Exception):
    """The node is not ready: it sent an error, or a response that a ready node would not send.

    `code` is the error code of the protocol; None if the node did not send an ERROR.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class NodeView(NamedTuple):
    """What one node reports about the cluster: the schema versions of itself and of its peers.

    :param schema_version: the node's own schema version; None if the node has none yet.
    :param peers: the schema versions of the node's peers, by address.
    """

    schema_version: uuid.UUID | None
    peers: dict[str, uuid.UUID | None]


class Probe:
    """A connection to a node. The constructor connects and logs in.

    The connection has version 4 of the protocol, or the first later version that the node accepts:
    Cassandra's option ``native_transport_allow_older_protocols: false`` excludes version 4.

    :param timeout: seconds for connecting, and for each response.
    :raises OSError: if the connection cannot be made, or breaks. This includes ssl.SSLError.
    :raises WireError: if the node's bytes do not follow the specification.
    :raises ProbeError: if the node sends an error, or a response that a ready node would not send.
    """

    def __init__(
        self,
        address: str,
        port: int,
        *,
        timeout: float = 2.0,
        credentials: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._version = wire.FIRST_VERSION
        while True:
            # The bytes that were received and not parsed yet, and the reader of segments. There are
            # no segments until the node has responded to STARTUP.
            self._received = b""
            self._segments: segments.SegmentReader | None = None
            self._socket = socket.create_connection((address, port), timeout)
            try:
                if tls is not None:
                    self._socket = tls.wrap_socket(self._socket, server_hostname=address)
                # Without TCP_NODELAY, each probe would take about 40 ms longer.
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._log_in(credentials)
            except BaseException as error:
                self._socket.close()
                if not isinstance(error, ProbeError) or error.code != wire.PROTOCOL_ERROR:
                    raise
                later_version = wire.next_version(self._version, str(error))
                if later_version is None:
                    raise
                self._version = later_version
            else:
                return

    def query(self, statement: str, consistency: int = ONE) -> list[dict[str, bytes | None]]:
        """Run a statement, and return its rows: {column name: value as bytes, or None}."""
        request = wire.query_body(statement, consistency, self._version)
        opcode, body = self._exchange(wire.QUERY, request)
        if opcode != wire.RESULT:
            raise ProbeError(f"an answer of opcode 0x{opcode:02x} to a QUERY")
        return wire.decode_rows(body)

    def view(self) -> NodeView:
        """Return what this node reports about itself and its peers.

        A peer is left out while some of its columns are null, because gossip has not filled them
        yet.
        """
        local = self.query("SELECT schema_version FROM system.local")
        peers = self.query(
            "SELECT rpc_address, schema_version, tokens, data_center, rack, host_id "
            "FROM system.peers"
        )
        peer_versions = {}
        for row in peers:
            address = row["rpc_address"]
            # Gossip fills these columns one after the other, so a peer with a null column is not
            # ready.
            if address is not None and all(value is not None for value in row.values()):
                peer_versions[str(ipaddress.ip_address(address))] = _uuid(row["schema_version"])
        return NodeView(_uuid(local[0]["schema_version"]) if local else None, peer_versions)

    def everybody_answers(self) -> None:
        """Check that this node believes that all nodes are up, by a read with consistency ALL.

        :raises ProbeError: if this node believes that a node of the ring is down.
        """
        # Read the whole table: a single partition may not have every node as a replica, but all
        # partitions together do.
        self.query("SELECT role FROM system_auth.roles", ALL)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _log_in(self, credentials: tuple[str, str] | None) -> None:
        """Send STARTUP, and log in with `credentials` if the node requires a login."""
        opcode, body = self._exchange(wire.STARTUP, wire.startup_body())
        if self._version >= wire.SEGMENTED_VERSION:
            self._segments = segments.SegmentReader(compressed=False)
        if opcode == wire.AUTHENTICATE:
            if credentials is None:
                raise ProbeError(f"the node wants a login: {wire.Reader(body).string()}")
            opcode, body = self._exchange(wire.AUTH_RESPONSE, wire.auth_response_body(*credentials))
            if opcode == wire.AUTH_SUCCESS:
                return
        # A node that requires no login responds to STARTUP with READY.
        if opcode != wire.READY:
            raise ProbeError(f"an answer of opcode 0x{opcode:02x} to a login")

    def _exchange(self, opcode: int, body: bytes) -> tuple[int, bytes]:
        """Send a request, and return the opcode and the body of its response."""
        request = wire.encode_frame(opcode, body, version=self._version)
        if self._segments is not None:
            request = segments.pack([request], compressed=False)
        self._socket.sendall(request)
        header = wire.decode_header(self._receive(wire.HEADER_LENGTH), self._version)
        response_body = self._receive(header.length)
        # native_protocol_v4.spec, section 2.2: with flag 0x08, warnings (a [string list]) precede
        # the body.
        if header.flags & 0x08:
            reader = wire.Reader(response_body)
            for _ in range(reader.short()):
                reader.string()
            response_body = reader.rest()
        if header.opcode == wire.ERROR:
            code, message = wire.decode_error(response_body)
            raise ProbeError(f"error 0x{code:04x}: {message}", code)
        return header.opcode, response_body

    def _receive(self, count: int) -> bytes:
        """Wait for the next `count` bytes; raise ProbeError if the node closes the connection."""
        while len(self._received) < count:
            chunk = self._socket.recv(65536)
            if not chunk:
                raise ProbeError("the node closed the connection")
            self._received += chunk if self._segments is None else self._segments.feed(chunk)
        data, self._received = self._received[:count], self._received[count:]
        return data

    def __enter__(self) -> Probe:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _uuid(value: bytes | None) -> uuid.UUID | None:
    return None if value is None else uuid.UUID(bytes=value)
