"""A relay that speaks TLS in front of a server, in a process of its own.

    worker_relay.py PORT CERTIFICATE KEY [CA]

Prints its own port. With a CA, clients must have a certificate of it.
"""

from __future__ import annotations

import asyncio
import ssl
import sys


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 18):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.transport.abort()


async def relay(port: int, certificate: str, key: str, clients: str | None = None) -> None:
    """Accept TLS, and carry it to the null server at `port`; prints its own port.

    :param clients: the CA of the certificates that clients must have; None if they need none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pipe(reader, forth), _pipe(back, writer))

    server = await asyncio.start_server(carry, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(relay(int(sys.argv[1]), *sys.argv[2:]))
