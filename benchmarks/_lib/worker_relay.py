"""A relay that accepts TLS and forwards to a server at 127.0.0.1 without TLS.

    worker_relay.py PORT CERTIFICATE KEY [CA]

PORT is the server's port. The relay prints its own port. With a CA, clients must have a certificate
that this CA has signed.
"""

from __future__ import annotations

import asyncio
import ssl
import sys


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward bytes until the reader's side closes, then close the writer's side."""
    try:
        while data := await reader.read(1 << 18):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.transport.abort()


async def relay(port: int, certificate: str, key: str, client_ca: str | None = None) -> None:
    """Run the relay until the process is terminated.

    :param port: the server's port.
    :param client_ca: the CA that must have signed the clients' certificates. None if clients need
        no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_ca)

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pipe(reader, server_writer), _pipe(server_reader, writer))

    server = await asyncio.start_server(carry, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(relay(int(sys.argv[1]), *sys.argv[2:]))
