"""Connects with mutual TLS and a password to a node on this machine.

``python examples/mutual_tls.py`` starts a node that requires both (it needs Java and Maven),
connects with the blocking and with the asyncio API, and prints the error that a client without a
certificate gets.
"""

from __future__ import annotations

import asyncio
import ssl

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.testing import LocalCluster

QUERY = "SELECT release_version FROM system.local"


async def awaited(
    hosts: list[str], port: int, context: ssl.SSLContext, login: PlainTextAuthProvider
) -> str:
    async with aio.Cluster(hosts, port=port, ssl_context=context, auth_provider=login) as cluster:
        session = await cluster.connect()
        return str((await session.execute(QUERY)).one().release_version)


def run(local: LocalCluster) -> None:
    assert local.tls is not None
    assert local.username is not None
    assert local.password is not None
    hosts, port = local.contact_points, local.port
    login = PlainTextAuthProvider(local.username, local.password)

    # With a certificate, both APIs can connect.
    context = ssl.create_default_context(cafile=local.tls.ca_certificate)
    context.load_cert_chain(local.tls.client_certificate, local.tls.client_key)
    with Cluster(hosts, port=port, ssl_context=context, auth_provider=login) as cluster:
        row = cluster.connect().execute(QUERY).one()
        print(f"blocking: Cassandra {row.release_version}")
    print(f"asyncio: Cassandra {asyncio.run(awaited(hosts, port, context, login))}")

    # Without a certificate, the server refuses the connection.
    without = ssl.create_default_context(cafile=local.tls.ca_certificate)
    with Cluster(hosts, port=port, ssl_context=without, auth_provider=login) as cluster:
        try:
            cluster.connect()
        except NoHostAvailable as error:
            print(f"without a certificate: {error}")


if __name__ == "__main__":
    with LocalCluster(1, "5.0.9", tls="mutual", authentication=True) as node:
        run(node)
