"""A TCP network in memory, with the faults of real networks.

A connection is a `Link` with a `SimulatedTransport` at each end. Each direction has a socket buffer
of a random size, so that a slow reader slows down the sender as in a real network. Bytes are sent
in segments. Segments arrive in order, after a random latency that is sometimes much longer than
usual, and a read may return any number of bytes. FIN arrives after the data that was sent before
FIN. RST may overtake data that was sent earlier, and makes the receiver discard unread bytes.

A test can cut the path between two addresses, in one direction or both. Segments then wait until
`mend` is called, and arrive late, like retransmissions of TCP. A host can lose power: then it sends
nothing, not even FIN or RST. When its power is back, the host does not know its former connections,
and replies to their segments with RST.
"""

from __future__ import annotations

import asyncio
import errno
import random
import ssl as ssl_module
from asyncio import sslproto
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from cassandra.testing.simulation.loop import SimulatedLoop

__all__ = ["Link", "Listener", "Network", "SimulatedTransport"]

CLIENT = "10.1.0.1"  # the address of the driver

_SMALLEST_BUFFER, _LARGEST_BUFFER = 2 << 10, 256 << 10  # bytes
_HIGH_WATER = 64 << 10  # unsent bytes at which a protocol must pause writing, as in asyncio
_READ = 256 << 10  # the maximum number of bytes of one read, as in asyncio
_SYN_TIMEOUT = 127.0  # seconds until connecting fails, as in Linux with six retransmissions


class Network:
    """The hosts, the paths between them, and the connections of a simulated network.

    :param loop: the event loop of the network. It gets the network as its attribute `network`.
    :param latency: the usual latency of a segment, in seconds for one direction.
    :param tail: the share of segments whose latency is longer, by up to `slowest` seconds.
    :param slowest: the longest additional latency of a segment, in seconds.
    :param fragments: the share of reads that return only a few kilobytes or less.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        *,
        latency: float = 0.0003,
        tail: float = 0.02,
        slowest: float = 0.05,
        fragments: float = 0.1,
    ) -> None:
        self.loop = loop
        self.random = random.Random(f"{loop.seed}/network")
        self.latency = latency
        self.tail = tail
        self.slowest = slowest
        self.fragments = fragments
        self.names: dict[str, list[str]] = {}
        """Maps a host name to its IP addresses. Tests set this."""
        self.links: list[Link] = []
        """The connections that are open at one end at least."""
        self.opened = 0  # how many connections were made so far
        self._listeners: dict[tuple[str, int], Listener] = {}  # by (address, port)
        self._cut: set[tuple[str, str]] = set()  # (source, target) of blocked directions
        self._dead: set[str] = set()  # hosts without power
        self._hanging: set[str] = set()  # hosts that do not respond to SYN
        self._next_port = 32_768  # the last client port that was tried
        loop.network = self

    # -- faults ------------------------------------------------------------------------------------

    def cut(self, one: str, other: str, *, both_ways: bool = True) -> None:
        """Block all segments between two addresses until `mend` is called.

        :param one: an address.
        :param other: another address.
        :param both_ways: False blocks only the direction from `one` to `other`.
        """
        self._cut.add((one, other))
        if both_ways:
            self._cut.add((other, one))

    def mend(self, one: str, other: str) -> None:
        """Undo `cut`. Segments that were sent in the meantime are delivered now.

        :param one: an address.
        :param other: another address.
        """
        self._cut -= {(one, other), (other, one)}
        for link in list(self.links):
            link.resend()

    def mend_all(self) -> None:
        """Undo `cut` and `drop_syns` for all addresses. Hosts without power stay off."""
        self._cut.clear()
        self._hanging.clear()
        for link in list(self.links):
            link.resend()

    def drop_syns(self, address: str) -> None:
        """Let attempts to connect to an address hang. Open connections are not affected.

        :param address: the IP address.
        """
        self._hanging.add(address)

    def accept_syns(self, address: str) -> None:
        """Undo `drop_syns`.

        :param address: the IP address.
        """
        self._hanging.discard(address)

    def lose_power(self, address: str) -> None:
        """Turn a host off: its connections end without sending FIN or RST.

        :param address: the IP address.
        """
        self._dead.add(address)
        for link in list(self.links):
            for end in link.ends:
                if end.address == address:
                    end.vanish()

    def regain_power(self, address: str) -> None:
        """Undo `lose_power`. The host replies to segments of its former connections with RST.

        :param address: the IP address.
        """
        self._dead.discard(address)
        for link in list(self.links):
            link.resend()

    def is_cut(self, source: str, target: str) -> bool:
        """Return True if segments from `source` do not reach `target`.

        :param source: the address of the sender.
        :param target: the address of the receiver.
        """
        return (source, target) in self._cut or source in self._dead or target in self._dead

    # -- connections -------------------------------------------------------------------------------

    async def resolve(self, name: str) -> list[str]:
        """Return the addresses of a host name.

        :param name: the name, which must be in `names`, or an IP address.
        :raises OSError: if the name is neither in `names` nor an IP address.
        """
        if name in self.names:
            await asyncio.sleep(self.delay())
            return list(self.names[name])
        if not name.replace(".", "").isdigit():
            raise OSError(-2, "Name or service not known")
        return [name]

    def bind(self, address: str, port: int) -> Listener:
        """Return a bound port that does not listen yet. Port 0 chooses a free port.

        :param address: the IP address.
        :param port: the port.
        """
        return Listener(self, address, port or self._free_port())

    def is_free(self, port: int) -> bool:
        """Return True if no connection of the client has this local port.

        :param port: the port.
        """
        return all(link.ends[0].port != port for link in self.links)

    def _free_port(self) -> int:
        """Return the next local port that no connection uses, from the range of Linux."""
        while True:
            self._next_port += 1
            if self._next_port > 60_999:
                self._next_port = 32_768
            if self.is_free(self._next_port):
                return self._next_port

    def delay(self) -> float:
        """Return the random latency of a segment, in seconds."""
        draws = self.random
        seconds = self.latency * (0.5 + draws.random())
        if draws.random() < self.tail:
            seconds += self.slowest * draws.random() ** 3
        return seconds

    async def connect(
        self,
        make_protocol: Callable[[], asyncio.BaseProtocol],
        address: str,
        port: int,
        *,
        source: str = CLIENT,
        local_port: int | None = None,
        tls: Any = None,
        server_hostname: str | None = None,
        on_reached: Callable[[], None] = lambda: None,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Connect to a port, as ``loop.create_connection`` does.

        :param make_protocol: called to create the protocol.
        :param address: the IP address.
        :param port: the port.
        :param source: the address of the client.
        :param local_port: the local port; None for any.
        :param tls: the TLS context; None for no TLS.
        :param server_hostname: the name that the server's certificate must have.
        :param on_reached: called when the peer has accepted the connection, before the TLS
            handshake.
        :raises OSError: if the connection is refused, the host is unreachable, or there is no
            response within 127 seconds.
        """
        await asyncio.sleep(self.delay())
        waited = 0.0
        while (
            self.is_cut(source, address) or self.is_cut(address, source) or address in self._hanging
        ):
            # TCP sends SYN again after 1, 2, 4 ... further seconds.
            pause = waited + 1.0
            if waited + pause > _SYN_TIMEOUT:
                raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")
            await asyncio.sleep(pause)
            waited += pause
        listener = self._listeners.get((address, port))
        if listener is None:
            # The RST that refuses the connection needs time to arrive, too.
            await asyncio.sleep(self.delay())
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        link = Link(self, (source, local_port or self._free_port()), (address, port))
        client_end, server_end = link.ends
        self.links.append(link)
        self.opened += 1
        try:
            server_end.begin(listener.make_protocol(), listener.tls)
            await asyncio.sleep(self.delay())
            # The server's protocol may already have reset the connection while it was made.
            if client_end.is_reset:
                raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
            on_reached()
            protocol = make_protocol()
            transport = await client_end.begin_client(protocol, tls, server_hostname)
        except BaseException:
            client_end.give_up()
            raise
        return transport, protocol


class Listener:
    """A bound port. It accepts connections after `listen` is called, until `close` is called.

    :param network: the network.
    :param address: the IP address.
    :param port: the port.
    """

    def __init__(self, network: Network, address: str, port: int) -> None:
        self._network = network
        self._where = (address, port)
        self.make_protocol: Callable[[], asyncio.BaseProtocol] = asyncio.Protocol
        self.tls: ssl_module.SSLContext | None = None

    def getsockname(self) -> tuple[str, int]:
        """Return (address, port)."""
        return self._where

    def listen(
        self,
        make_protocol: Callable[[], asyncio.BaseProtocol],
        tls: ssl_module.SSLContext | None = None,
    ) -> None:
        """Start to accept connections.

        :param make_protocol: called to create the protocol of each connection.
        :param tls: the TLS context; None for no TLS.
        """
        self.make_protocol = make_protocol
        self.tls = tls
        self._network._listeners[self._where] = self

    def close(self) -> None:
        """Stop accepting connections. Open connections stay open."""
        if self._network._listeners.get(self._where) is self:
            del self._network._listeners[self._where]


class Link:
    """A connection: ``ends[0]`` is the client's transport, ``ends[1]`` the server's transport.

    :param network: the network.
    :param client: (address, port) of the client.
    :param server: (address, port) of the server.
    """

    def __init__(self, network: Network, client: tuple[str, int], server: tuple[str, int]) -> None:
        self.network = network
        # With `SimulatedThreads`, the client may run on another loop than the network, and in
        # another thread.
        client_loop = cast("SimulatedLoop", asyncio.get_running_loop())
        client_end = SimulatedTransport(self, client, client_loop)
        server_end = SimulatedTransport(self, server, network.loop)
        client_end.peer, server_end.peer = server_end, client_end
        self.ends = (client_end, server_end)

    def resend(self) -> None:
        """Send the blocked segments of both directions again."""
        for end in self.ends:
            end.resend()

    def forget(self) -> None:
        """Remove the link from the network if both ends are closed.

        Each end calls this when it closes.
        """
        if all(end.is_over for end in self.ends) and self in self.network.links:
            self.network.links.remove(self)

    def __repr__(self) -> str:
        return f"<Link {self.ends[0].port} to {self.ends[1].address}>"


_FIN, _RST = "FIN", "RST"  # segments without data, in place of the bytes of a segment


class SimulatedTransport(asyncio.Transport):
    """One end of a connection. It behaves like asyncio's transport for a socket.

    :param link: the connection.
    :param name: (address, port) of this end.
    :param loop: the event loop of the protocol at this end.
    """

    peer: SimulatedTransport

    def __init__(self, link: Link, name: tuple[str, int], loop: SimulatedLoop) -> None:
        super().__init__()
        self.link = link
        self.network = link.network
        self.address, self.port = name
        self.is_over = False
        """True after the protocol's `connection_lost` was called, or if there is no protocol."""
        self.is_reset = False  # True after RST has arrived from the peer
        self._loop = loop
        random_source = self.network.random
        # The attributes for sending. `_window` is the size of the peer's socket buffer in bytes.
        # `_unread` is the number of bytes in that buffer that the peer has not read yet. `_buffer`
        # has the bytes that did not fit into the peer's buffer.
        self._buffer = bytearray()
        self._window = int(
            _SMALLEST_BUFFER * (_LARGEST_BUFFER / _SMALLEST_BUFFER) ** random_source.random()
        )
        self._unread = 0
        self._arrival = 0.0  # the virtual time at which the last sent segment arrives at the peer
        self._held: list[bytes | str] = []  # blocked segments to the peer, which `resend` sends
        # If `_buffer` is larger than `_high`, the protocol must pause writing; at `_low`, it may
        # resume.
        self._high, self._low = _HIGH_WATER, _HIGH_WATER // 4
        self._protocol_paused = False
        self._sends_fin = False  # True if FIN must be sent when the buffer is empty
        # The attributes for receiving. `_inbox` has segments that have arrived, but were not read
        # yet.
        self._inbox: deque[bytes | str] = deque()
        self._reading = False
        self._read_due = False  # True if a call of `_read` is scheduled
        self._protocol: asyncio.BaseProtocol | None = None
        self._closing = False  # True after `close`; `_buffer` may still be sent
        self._lost = False  # True when this end sends and receives nothing any more
        self._gone = False  # True after the host has lost its power

    # -- start -------------------------------------------------------------------------------------

    def begin(self, protocol: asyncio.BaseProtocol, tls: ssl_module.SSLContext | None) -> None:
        """Attach the protocol of the server's end, with TLS if `tls` is given.

        :param protocol: the protocol.
        :param tls: the TLS context; None for no TLS.
        """
        if tls is not None:
            waiter: Any = None  # nobody waits for the end of the server's handshake
            protocol = sslproto.SSLProtocol(self._loop, protocol, tls, waiter, server_side=True)
        self._adopt(protocol)

    async def begin_client(
        self, protocol: asyncio.BaseProtocol, tls: Any, server_hostname: str | None
    ) -> asyncio.Transport:
        """Attach the protocol of the client's end, and wait for the TLS handshake if there is one.

        :param protocol: the protocol.
        :param tls: the TLS context; None for no TLS.
        :param server_hostname: the name that the server's certificate must have.
        """
        waiter: asyncio.Future[None] = self._loop.create_future()
        if tls is None:
            self._adopt(protocol)
            # `_wake` is called after `connection_made`, so wait for it.
            self._loop.call_soon(_wake, waiter)
            await waiter
            return self
        # The TLS layer is the end's protocol. The layer passes decrypted bytes to `protocol`.
        layer = sslproto.SSLProtocol(
            self._loop, protocol, tls, waiter, server_side=False, server_hostname=server_hostname
        )
        self._adopt(layer)
        transport = cast(Any, layer)._app_transport
        try:
            await waiter
        except BaseException:
            transport.close()
            raise
        return cast(asyncio.Transport, transport)

    def _adopt(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol
        self._loop.call_soon(protocol.connection_made, self)
        self._loop.call_soon(self._start_reading)

    def _start_reading(self) -> None:
        if not self._closing and not self._gone:
            self._reading = True
            self._read_soon()

    def give_up(self) -> None:
        """Close the client's end after `Network.connect` has failed."""
        if self._protocol is None:
            self._end()
            self._segment(_RST)
        else:
            self.abort()

    # -- reading -----------------------------------------------------------------------------------

    def is_reading(self) -> bool:
        return self._reading and not self._closing

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        if not self._closing and not self._reading:
            self._reading = True
            self._read_soon()

    def _read_soon(self) -> None:
        if self._inbox and self._reading and not self._read_due and not self._lost:
            self._read_due = True
            self._loop.call_io(self._loop.time(), self, self._read)

    def _read(self) -> None:
        """Pass arrived bytes to the protocol, at most as many as one ``recv`` would return."""
        self._read_due = False
        if not self._inbox or not self._reading or self._lost:
            return
        item = self._inbox[0]
        if isinstance(item, str):  # FIN
            self._inbox.popleft()
            self._on_fin()
            return
        limit = _READ
        random_source = self.network.random
        if random_source.random() < self.network.fragments:
            limit = 1 + int(random_source.random() ** 3 * 4096)  # mostly few bytes
        protocol: Any = self._protocol
        buffer: Any = None  # the protocol's own buffer, if the protocol provides one
        if isinstance(protocol, asyncio.BufferedProtocol):
            buffer = protocol.get_buffer(-1)
            limit = min(limit, len(buffer))
        data = self._take(limit)
        self.peer._acknowledge(len(data))
        if buffer is not None:
            buffer[: len(data)] = data
            protocol.buffer_updated(len(data))
        else:
            protocol.data_received(data)
        self._read_soon()

    def _take(self, limit: int) -> bytes:
        """Remove up to `limit` bytes from the inbox, and return them."""
        parts: list[bytes] = []
        size = 0
        inbox = self._inbox
        while inbox and size < limit and isinstance(inbox[0], bytes):
            part = inbox.popleft()
            assert isinstance(part, bytes)
            # If the last part is larger than needed, put the rest of it back.
            if size + len(part) > limit:
                inbox.appendleft(part[limit - size :])
                part = part[: limit - size]
            parts.append(part)
            size += len(part)
        return b"".join(parts)

    def _on_fin(self) -> None:
        """Inform the protocol that the peer sends nothing more.

        As in asyncio, close the transport unless `eof_received` returns True.
        """
        protocol: Any = self._protocol
        if protocol.eof_received():
            self._reading = False
        else:
            self.close()

    # -- segments ----------------------------------------------------------------------------------

    def _segment(self, content: bytes | str) -> None:
        """Send a segment to the peer: bytes, FIN or RST."""
        if self.network.is_cut(self.address, self.peer.address):
            # Keep the segment for `resend`. But if this host has no power, the segment is lost.
            if self.address not in self.network._dead:
                self._held.append(content)
            return
        arrival = self._loop.time() + self.network.delay()
        if content != _RST:
            # A segment arrives after all segments that were sent before. Only RST may overtake
            # them.
            arrival = max(arrival, self._arrival + 1e-7)
            self._arrival = arrival
        self.peer._loop.call_io(arrival, self.peer, lambda: self.peer._arrive(content))

    def resend(self) -> None:
        """Send the blocked segments again, if the path to the peer is open now."""
        if self._held and not self.network.is_cut(self.address, self.peer.address):
            segments, self._held = self._held, []
            for content in segments:
                self._segment(content)

    def _arrive(self, content: bytes | str) -> None:
        """Receive a segment from the peer."""
        if self.address in self.network._dead:
            # This host has no power. Let the peer keep the segment: it sends the segment again when
            # the power is back (`Network.regain_power`).
            self.peer._held.append(content)
            return
        if content == _RST:
            self._on_rst()
        elif self._gone or self._lost or self._closing:
            # This end is closed, so nobody will read the data: reply with RST.
            if content != _FIN:
                self._segment(_RST)
            elif not self._gone:
                # The peer has closed, too. Drop unread data: otherwise `_lose` would send RST
                # instead of FIN.
                self._inbox.clear()
        else:
            self._inbox.append(content)
            self._read_soon()

    def _on_rst(self) -> None:
        """End the connection at once, and drop all unread bytes: the peer has aborted it."""
        self.is_reset = True
        self._inbox.clear()
        if self._protocol is None:
            self._end()
        elif not self._lost:
            self._force_close(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))

    def _acknowledge(self, size: int) -> None:
        """Record that the peer has read `size` bytes, and send more of the buffer.

        The transport of the peer calls this method.
        """
        self._unread -= size
        if self._buffer:
            self._loop.call_io(self._loop.time() + self.network.delay(), self, self._send_buffer)

    # -- writing -----------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        """Send data. Buffer the bytes that do not fit into the peer's socket buffer."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data must be bytes, not {type(data).__name__}")
        if self._sends_fin and not self._closing:
            raise RuntimeError("Cannot call write() after write_eof()")
        if not data or self._lost or self._gone:
            return
        self._buffer += data
        self._send_some()
        self._pause_protocol()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def _send_some(self) -> None:
        """Send as much of the buffer as fits into the peer's socket buffer."""
        free = self._window - self._unread
        if free <= 0 or not self._buffer:
            return
        data = bytes(self._buffer[:free])
        del self._buffer[: len(data)]
        self._unread += len(data)
        self._segment(data)

    def _send_buffer(self) -> None:
        """Send more of the buffer, after the peer has read bytes.

        When the buffer is nearly empty, let the protocol write again. When it is empty, send the
        FIN that `write_eof` has delayed, or finish a `close`.
        """
        if self._lost or self._gone:
            return
        self._send_some()
        if len(self._buffer) <= self._low and self._protocol_paused:
            self._protocol_paused = False
            self._protocol_call("resume_writing")
        if not self._buffer:
            if self._sends_fin:
                self._sends_fin = False
                self._segment(_FIN)
            if self._closing and not self._lost:
                self._lose(None)

    def _pause_protocol(self) -> None:
        if len(self._buffer) > self._high and not self._protocol_paused:
            self._protocol_paused = True
            self._protocol_call("pause_writing")

    def _protocol_call(self, name: str) -> None:
        getattr(self._protocol, name)()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if high is None:
            high = _HIGH_WATER if low is None else 4 * low
        self._high = high
        self._low = low if low is not None else high // 4
        self._pause_protocol()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        """Send FIN after the buffered data. The peer may still send data."""
        if self._closing or self._sends_fin:
            return
        if self._buffer:
            self._sends_fin = True
        else:
            self._segment(_FIN)

    # -- end ---------------------------------------------------------------------------------------

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        """Stop reading, and end the connection when the buffer has been sent."""
        if self._closing:
            return
        self._closing = True
        self._reading = False
        if not self._buffer:
            self._lose(None)

    def abort(self) -> None:
        self._force_close(None)

    def reset(self) -> None:
        """Close immediately, and send RST."""
        if not self._lost:
            self._segment(_RST)
        self._force_close(None, notifies_peer=False)

    def _force_close(self, error: Exception | None, *, notifies_peer: bool = True) -> None:
        """Close without sending the buffered bytes.

        :param error: the error for the protocol's `connection_lost`; None for a regular end.
        :param notifies_peer: True sends FIN or RST to the peer, unless `error` is set.
        """
        if self._lost:
            return
        unsent = bool(self._buffer)
        self._buffer.clear()
        self._closing = True
        self._reading = False
        if error is not None or not notifies_peer:
            self._lose(error, None)
        else:
            # Like an operating system, send RST if there are unread or unsent bytes, otherwise FIN.
            self._lose(None, _RST if self._inbox or unsent else _FIN)

    def _lose(self, error: Exception | None, goodbye: str | None = _FIN) -> None:
        """End the connection at this end, and call the protocol's `connection_lost`.

        :param error: the argument of `connection_lost`.
        :param goodbye: the last segment to the peer, FIN or RST; None to send no segment.
        """
        if self._lost:
            return
        self._lost = True
        if goodbye is not None:
            self._segment(_RST if self._inbox else goodbye)
        self._inbox.clear()
        self._call_soon(self._call_connection_lost, error)

    def _call_connection_lost(self, error: Exception | None) -> None:
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            protocol.connection_lost(error)
        self._end()

    def _end(self) -> None:
        self._lost = self._closing = self.is_over = True
        self.link.forget()

    def vanish(self) -> None:
        """End the connection without sending anything, because the host has lost power."""
        self._gone = True
        self._reading = False
        self._held.clear()
        self._buffer.clear()
        self._inbox.clear()
        if not self._lost:
            self._closing = self._lost = True
            if self._protocol is None:
                self._end()
            else:
                self._call_soon(
                    self._call_connection_lost, ConnectionResetError("the host has no power")
                )

    def _call_soon(self, function: Callable[..., object], error: Exception | None) -> None:
        if self._loop.is_closed():
            self._end()  # the protocol's loop is closed, so the protocol cannot be notified
        else:
            self._loop.call_soon(function, error)

    # -- properties --------------------------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> object:
        if name == "sockname":
            return (self.address, self.port)
        if name == "peername":
            return (self.peer.address, self.peer.port)
        return default

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None
        return self._protocol

    def __repr__(self) -> str:
        return f"<SimulatedTransport {self.address}:{self.port} to {self.peer.address}>"


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
