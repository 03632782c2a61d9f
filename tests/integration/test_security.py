"""TLS, passwords, certificates and Astra's secure connect bundle work with real nodes."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster
from cassandra.errors import AuthenticationFailed, NoHostAvailable
from cassandra.ssl_session_cache import SSLSessionCache
from cassandra.testing import LocalCluster
from tests.unit.security.astra import Astra
from tests.unit.security.certificates import Authority

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
QUERY = "SELECT release_version FROM system.local"


def test_the_example_mutual_tls(secured: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """examples/mutual_tls.py connects with both APIs, and fails without a client certificate.

    The example prints the server's version for each API, and the error of the client that has no
    certificate.
    """
    example = runpy.run_path(str(ROOT / "examples" / "mutual_tls.py"))
    example["run"](secured)
    blocking_line, asyncio_line, refusal_line = capsys.readouterr().out.splitlines()
    assert blocking_line == f"blocking: Cassandra {secured.version}"
    assert asyncio_line == f"asyncio: Cassandra {secured.version}"
    assert "the server wants a client certificate" in refusal_line
    assert f"{secured.contact_points[0]}:{secured.port}" in refusal_line


def test_clients_with_wrong_tls_settings_or_passwords_get_helpful_errors(
    secured: LocalCluster, tmp_path: Path
) -> None:
    """Each wrong TLS setting or password raises an error that says what is wrong."""
    assert secured.tls is not None
    right_context = secured.tls.client_context()
    # The settings of a cluster, and what its error message must say.
    cases: list[tuple[dict[str, Any], str]] = [
        ({"ssl_context": right_context}, "no auth_provider is configured"),
        (
            {
                "ssl_context": right_context,
                "auth_provider": PlainTextAuthProvider("cassandra", "wrong"),
            },
            "incorrect",
        ),
        ({"ssl_context": Authority(tmp_path).client()}, "not among the trusted"),
        (
            {"ssl_context": right_context, "ssl_options": {"server_hostname": "db"}},
            "'db' was expected, but its certificate is for",
        ),
        ({}, "does it expect TLS"),
    ]
    for settings, message in cases:
        cluster = Cluster(secured.contact_points, port=secured.port, **settings)
        with cluster, pytest.raises(NoHostAvailable, match=message) as caught:
            cluster.connect()
        # A missing or wrong password raises AuthenticationFailed. TLS errors raise other
        # exceptions.
        is_password_error = message in ("incorrect", "no auth_provider is configured")
        assert isinstance(caught.value, AuthenticationFailed) == is_password_error


async def test_further_connections_resume_the_tls_session(secured: LocalCluster) -> None:
    """Later connections resume the TLS session of the first connection, which makes them faster.

    The nodes ask for a client certificate. So the driver resumes sessions only if the application
    sets `with_client_certificates`.
    """
    assert secured.tls is not None
    login = PlainTextAuthProvider(str(secured.username), str(secured.password))
    async with aio.Cluster(
        secured.contact_points,
        port=secured.port,
        ssl_context=secured.tls.client_context(),
        ssl_session_cache=SSLSessionCache(with_client_certificates=True),
        auth_provider=login,
    ) as cluster:
        # The first connection gets the TLS session that later connections resume.
        await cluster.connect()
        core = cluster._core
        assert core is not None
        for _ in range(3):
            connection = await core.open_connection(cluster.endpoints_resolved[0])
            assert connection.tls is not None
            ssl_object = connection.tls._object
            assert ssl_object is not None
            assert ssl_object.session_reused
            connection.close()


CERTIFICATE_AUTHENTICATORS = [
    "MutualTlsAuthenticator",
    "MutualTlsWithPasswordFallbackAuthenticator",
]


@pytest.fixture(scope="module")
def roles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a role for the client certificate of `LocalCluster.tls`, and stop the cluster.

    :returns: the directory of the cluster. Tests start the cluster again with another
        authenticator.
    """
    directory = tmp_path_factory.mktemp("cluster")
    with LocalCluster(
        1, "5.0.9", tls="mutual", authentication=True, directory=directory, keep=True
    ) as local:
        assert local.tls is not None
        login = PlainTextAuthProvider(str(local.username), str(local.password))
        with Cluster(
            local.contact_points,
            port=local.port,
            ssl_context=local.tls.client_context(),
            auth_provider=login,
        ) as cluster:
            session = cluster.connect()
            # `LocalCluster` logs in with the same certificate to check that nodes are ready. This
            # check needs a superuser.
            session.execute("CREATE ROLE shop WITH LOGIN = true AND SUPERUSER = true")
            session.execute(f"ADD IDENTITY '{local.tls.client_identity}' TO ROLE 'shop'")
    return directory


@pytest.mark.long
@pytest.mark.parametrize("authenticator", CERTIFICATE_AUTHENTICATORS)
async def test_a_client_certificate_is_enough_to_log_in(roles: Path, authenticator: str) -> None:
    """A client whose certificate has a role needs no password; other certificates are refused."""
    auth_package = "org.apache.cassandra.auth"
    config = {
        "authenticator": {
            "class_name": f"{auth_package}.{authenticator}",
            "parameters": {"validator_class_name": f"{auth_package}.SpiffeCertificateValidator"},
        }
    }
    with LocalCluster(
        1, "5.0.9", tls="mutual", authentication=True, directory=roles, keep=True, config=config
    ) as local:
        assert local.tls is not None
        settings: Any = {"port": local.port, "ssl_context": local.tls.client_context()}
        with Cluster(local.contact_points, **settings) as cluster, cluster.connect() as session:
            assert session.execute(QUERY).one().release_version == "5.0.9"
            session.execute("CREATE ROLE IF NOT EXISTS other")
        async with aio.Cluster(local.contact_points, **settings) as aio_cluster:
            result = await (await aio_cluster.connect()).execute("LIST ROLES")
            assert {row.role async for row in result} >= {"cassandra", "shop", "other"}
        # The node's own certificate is from the same CA, but belongs to no role.
        context_without_role = local.tls.client_context()
        node = Path(local.tls.directory, local.contact_points[0])
        context_without_role.load_cert_chain(f"{node}.pem", f"{node}.key")
        settings["ssl_context"] = context_without_role
        with Cluster(local.contact_points, **settings) as cluster:
            with pytest.raises(AuthenticationFailed) as caught:
                cluster.connect()
            assert "certificate" in str(caught.value).lower()


def test_a_secure_connect_bundle_reaches_all_nodes_through_a_proxy(
    three_nodes: LocalCluster, tmp_path: Path
) -> None:
    """With a bundle, the driver reaches each node through the proxy, which routes by host id."""
    with Cluster(three_nodes.contact_points, port=three_nodes.port) as cluster:
        cluster.connect()
        addresses = {
            str(host.host_id): (host.address, three_nodes.port)
            for host in cluster.metadata.all_hosts()
        }
    with Astra(Authority(tmp_path), addresses) as astra:
        bundle = astra.bundle(tmp_path / "bundle.zip")
        with Cluster(cloud={"secure_connect_bundle": bundle}) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            assert len(session.get_pools()) == 3
            assert {session.execute(QUERY).one().release_version for _ in range(9)} == {
                three_nodes.version
            }
            # The proxy has passed connections on to each node.
            assert set(astra.received_server_names) == set(addresses)
