"""Tells whether a peer still receives what we send, although it sends nothing itself.

A large request over a slow line may take longer than the time limit of a heartbeat, which waits
behind it. During that time, the peer's system acknowledges the bytes that it has received.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from typing import Any, NamedTuple

# The option of a socket that tells the state of its TCP connection. Other systems lack the option,
# or have another layout of the fields.
_TCP_INFO: int | None = getattr(socket, "TCP_INFO", None) if sys.platform == "linux" else None

# Fields of `struct tcp_info` in linux/tcp.h, which newer systems extend at its end:
# tcpi_bytes_acked and tcpi_notsent_bytes.
_PROGRESS = struct.Struct("=120xQ16xI")


class OutputState(NamedTuple):
    """How much of a connection's output has arrived.

    :param arrived: the bytes that the peer's system has acknowledged. If our system does not tell,
        this is minus the bytes that it has not yet taken from us, which also grows.
    :param is_pending: True if some bytes could not be sent yet. Bytes that were sent and are not
        acknowledged do not count: while small requests are sent all the time, there are always some
        of them, even if the peer hangs and only its system receives the requests.
    """

    arrived: int
    is_pending: bool

    def goes_on_since(self, earlier: OutputState) -> bool:
        """Return True if bytes have arrived since `earlier`, and more wait to be sent."""
        return self.is_pending and self.arrived > earlier.arrived


NO_OUTPUT = OutputState(0, False)  # of a connection that has no transport yet


def output_state(transport: asyncio.WriteTransport) -> OutputState:
    """Return the state of the output of `transport`."""
    buffered = transport.get_write_buffer_size()
    sock: Any = transport.get_extra_info("socket")
    if _TCP_INFO is not None and sock is not None:
        try:
            info = sock.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _PROGRESS.size)
            arrived, unsent = _PROGRESS.unpack(info)
        # A Unix socket or an old system does not have the option, or not all fields. If uvloop has
        # closed the transport, the socket raises ValueError.
        except (OSError, ValueError, struct.error):
            pass
        else:
            return OutputState(arrived, bool(unsent or buffered))
    return OutputState(-buffered, buffered > 0)
