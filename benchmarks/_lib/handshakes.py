"""Parts of benchmarks/tls.py: a TLS relay, the opening of connections, and handshakes in memory."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks._lib.requirements import is_quick

WORKER = Path(__file__).with_name("worker_relay.py")
OPENED = 20 if is_quick() else 300  # the number of connections or handshakes that are measured


@contextmanager
def tls_in_front(port: int, *files: str) -> Iterator[int]:
    """Run a process that accepts TLS and forwards to the null server, and yield its port.

    :param port: the null server's port.
    :param files: the arguments CERTIFICATE KEY [CA] of worker_relay.py.
    """
    command = [sys.executable, str(WORKER), str(port), *files]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


async def opening(
    port: int, context: ssl.SSLContext | None, resumes_sessions: bool
) -> tuple[float, float]:
    """Return the microseconds of CPU and of wall time to open a connection.

    :param context: the TLS context. None connects without TLS.
    :param resumes_sessions: True if each connection resumes the TLS session of an earlier
        connection.
    """
    from cassandra import aio
    from cassandra.ssl_session_cache import SSLSessionCache

    cache = SSLSessionCache(with_client_certificates=True) if resumes_sessions else None
    settings: Any = {"ssl_context": context, "ssl_session_cache": cache, "protocol_version": 4}
    async with aio.Cluster(["127.0.0.1"], port=port, compression=False, **settings) as cluster:
        await cluster.connect()
        core = cluster._core
        assert core is not None
        cpu = wall = 0.0
        for _ in range(OPENED):
            wall_start, cpu_start = time.perf_counter(), time.thread_time()
            connection = await core.open_connection(cluster.endpoints_resolved[0])
            wall += time.perf_counter() - wall_start
            cpu += time.thread_time() - cpu_start
            connection.close()
            # Let the event loop close the connection. This time is not measured.
            await asyncio.sleep(0.001)
    return cpu / OPENED * 1e6, wall / OPENED * 1e6


class _End:
    """One end of a TLS handshake in memory. `cpu` is how many seconds of CPU this end has taken."""

    def __init__(self, context: ssl.SSLContext, **settings: Any) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.cpu = 0.0
        self.finished = False
        self._step(lambda: self._wrap(context, settings))

    def _wrap(self, context: ssl.SSLContext, settings: dict[str, Any]) -> None:
        self.tls = context.wrap_bio(self._incoming, self._outgoing, **settings)

    def _step(self, call: Callable[[], Any]) -> None:
        began = time.thread_time()
        with suppress(ssl.SSLWantReadError):
            call()
        self.cpu += time.thread_time() - began

    def _shake(self) -> None:
        self.tls.do_handshake()
        self.finished = True

    def advance(self, other: _End) -> None:
        """Continue the handshake until this end needs input; pass the output to the other end."""
        if not self.finished:
            self._step(self._shake)
        other._incoming.write(self._outgoing.read())

    def read(self) -> None:
        """Read what the server sends after the handshake: in TLS 1.3, the session tickets."""
        self._step(lambda: self.tls.read(16))


def bare_handshake(
    client: ssl.SSLContext, server: ssl.SSLContext, session: ssl.SSLSession | None
) -> tuple[_End, _End]:
    """Make a TLS handshake in memory, and return both ends.

    :param session: a session to resume. None makes a full handshake.
    """
    client_end = _End(client, server_hostname="127.0.0.1", session=session)
    server_end = _End(server, server_side=True)
    while not (client_end.finished and server_end.finished):
        client_end.advance(server_end)
        server_end.advance(client_end)
    # In TLS 1.3, the client gets the session tickets together with the server's first data. To
    # resume the session later, the client needs a ticket.
    server_end.tls.write(b"x")
    server_end.advance(client_end)
    client_end.read()
    return client_end, server_end
