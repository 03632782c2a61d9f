"""With a secure connect bundle, the driver reaches nodes behind a proxy.

If a bundle, the metadata service or the proxy is faulty, the error names the cause.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import socket
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster
from cassandra.engine.endpoint import DefaultEndPointFactory
from cassandra.errors import DriverException, NoHostAvailable
from cassandra.testing.fake import FakeCluster, rows

from .astra import Astra
from .certificates import Authority
from .conftest import READ, Use


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three nodes that respond to READ with the number 7."""
    with FakeCluster(3) as nodes:
        nodes.prime(READ, rows([("v", "int")], [(7,)]))
        yield nodes


@pytest.fixture
def astra(nodes: FakeCluster, authority: Authority) -> Iterator[Astra]:
    """Yield a metadata service and a proxy in front of the nodes."""
    addresses = {str(node.host_id): (node.address, node.port) for node in nodes.nodes}
    with Astra(authority, addresses) as astra:
        yield astra


@pytest.fixture
def bundle(astra: Astra, tmp_path: Path) -> str:
    """Return the path of a secure connect bundle for the service."""
    return astra.bundle(tmp_path / "bundle.zip")


def test_nodes_are_reached_through_the_proxy(
    connect_and_read: Use, astra: Astra, bundle: str
) -> None:
    """The driver asks the metadata service once, and connects to the nodes through the proxy.

    The server name in the TLS handshake tells the proxy to which node a connection leads.
    """
    assert connect_and_read(cloud={"secure_connect_bundle": bundle}) == 7
    assert set(astra.received_server_names) == set(astra.nodes)
    assert astra.request_count == 1


def test_the_cluster_has_all_nodes_of_the_service(astra: Astra, bundle: str) -> None:
    """The driver opens a connection pool for each of the three nodes that the service names."""
    cloud = {"secure_connect_bundle": bundle, "use_default_tempdir": True, "connect_timeout": 3}
    with Cluster(cloud=cloud) as cluster:
        assert len(cluster.endpoints_resolved) == 3
        session = cluster.connect(wait_for_all_pools=True)
        assert len(session.get_pools()) == 3
        assert {str(host.host_id) for host in cluster.metadata.all_hosts()} == set(astra.nodes)
        # Each node was reached by the server name of its host id.
        assert {name for name in astra.received_server_names if name} == set(astra.nodes)


def test_a_bundle_may_be_an_open_file(astra: Astra, bundle: str) -> None:
    """`secure_connect_bundle` may be an open file instead of a path."""
    with open(bundle, "rb") as file, Cluster(cloud={"secure_connect_bundle": file}) as cluster:
        assert cluster.connect().execute(READ).one().v == 7


def test_a_context_replaces_the_certificates_of_the_bundle(
    connect_and_read: Use, astra: Astra, authority: Authority, tmp_path: Path
) -> None:
    """With `ssl_context`, the bundle needs no certificates."""
    bundle = astra.bundle(tmp_path / "bundle.zip", cert=None, key=None, ca_crt=None)
    context = authority.client()
    # The proxy's certificate has the name "proxy", while clients send host ids as server names.
    context.check_hostname = False
    context.load_cert_chain(*authority.issue("client"))
    assert connect_and_read(cloud={"secure_connect_bundle": bundle}, ssl_context=context) == 7


def test_no_temporary_file_is_left(
    astra: Astra, bundle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver leaves no file in the directory for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with Cluster(cloud={"secure_connect_bundle": bundle}) as cluster:
        cluster.connect()
        assert list(folder.iterdir()) == []


def test_credentials_of_the_bundle_are_the_default(astra: Astra, tmp_path: Path) -> None:
    """The bundle's user name and password are used unless `auth_provider` is passed."""
    config = {
        "host": "127.0.0.1", "port": astra._service.server_address[1],
        "username": "ada", "password": "secret",
    }  # fmt: skip
    bundle = astra.bundle(tmp_path / "bundle.zip", config_json=json.dumps(config))
    cloud = {"secure_connect_bundle": bundle}
    provider = aio.Cluster(cloud=cloud).auth_provider
    assert isinstance(provider, PlainTextAuthProvider)
    assert (provider.username, provider.password) == ("ada", "secret")
    own_provider = PlainTextAuthProvider("eve", "other")
    cluster = aio.Cluster(cloud=cloud, auth_provider=own_provider)
    assert cluster.auth_provider is own_provider
    assert cluster._cloud is not None
    assert "secret" not in repr(cluster) + repr(cluster._cloud) + repr(cluster._cloud._service)


async def test_find_again_asks_the_service_again(
    astra: Astra, bundle: str, nodes: FakeCluster
) -> None:
    """`find_again` asks the service once more, and the session still works."""
    async with aio.Cluster(cloud={"secure_connect_bundle": bundle}) as cluster:
        session = await cluster.connect()
        core = cluster._core
        assert core is not None
        count_before = astra.request_count
        await core.control._contacts.find_again()
        assert astra.request_count == count_before + 1
        assert {str(endpoint) for endpoint in core.control._contacts.named_endpoints} == {
            f"{astra.proxy}:{name}" for name in astra.nodes
        }
        assert (await session.execute(READ)).one().v == 7


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_a_wrong_setting_or_bundle_is_an_error_of_the_constructor(cluster_class: Any) -> None:
    """Both cluster classes raise for wrong settings of `cloud`.

    `tests/unit/client/test_cloud.py` tests all mistakes in settings and bundles.
    """
    with pytest.raises(ValueError, match="no setting 'secure_connect_bundel'"):
        cluster_class(cloud={"secure_connect_bundel": "x"})
    with pytest.raises(ValueError, match=r"test_astra\.py is not a zip file"):
        cluster_class(cloud={"secure_connect_bundle": __file__})


def test_a_file_larger_than_the_directory_says_is_refused(tmp_path: Path) -> None:
    """A file of the bundle must not be larger than the directory of the zip file says."""
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", b" " * (3 << 20))
    data = path.read_bytes()
    # In the archive's directory, change the size from 3 MiB to 100 bytes.
    path.write_bytes(data.replace((3 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little")))
    with pytest.raises(ValueError, match=r"bomb\.zip (cannot be used|is not a zip file)"):
        aio.Cluster(cloud={"secure_connect_bundle": str(path)})


def test_a_bundle_with_offsets_outside_of_the_file_is_refused(astra: Astra, bundle: str) -> None:
    """If a damaged directory makes the zip reader seek outside of the file, the error says so.

    The error says that the file is damaged or no zip file.
    """

    class FailingFile(io.BytesIO):
        """A file of which one seek fails, like a seek to before the beginning.

        :param failing_seek: the number of the seek that fails; 0 if none fails.
        """

        def __init__(self, failing_seek: int) -> None:
            super().__init__(Path(bundle).read_bytes())
            self.failing_seek = failing_seek
            self.seek_count = 0

        def seek(self, *args: int) -> int:
            self.seek_count += 1
            if self.seek_count == self.failing_seek:
                raise OSError(errno.EINVAL, "Invalid argument")
            return super().seek(*args)

    good_file = FailingFile(0)
    aio.Cluster(cloud={"secure_connect_bundle": good_file})
    accepted: list[int] = []
    refusals: list[str] = []
    for failing_seek in range(1, good_file.seek_count + 1):
        try:
            aio.Cluster(cloud={"secure_connect_bundle": FailingFile(failing_seek)})
        except ValueError as error:
            refusals.append(str(error))
        else:
            accepted.append(failing_seek)
    # The zip reader ignores that it cannot look for an extended directory.
    assert len(accepted) <= 1
    # The first seeks look for the directory; without these, the file is no zip file.
    are_damaged = ["is damaged" in refusal for refusal in refusals]
    assert are_damaged == sorted(are_damaged)
    assert all("is damaged" in refusal or "is not a zip file" in refusal for refusal in refusals)
    assert [are_damaged[0], are_damaged[-1]] == [False, True]


def test_an_invalid_answer_of_the_service_is_an_error(
    connect_and_read: Use, astra: Astra, bundle: str
) -> None:
    """If the metadata service responds with an error, `connect` raises DriverException.

    `tests/unit/client/test_cloud.py` tests all invalid responses.
    """
    astra.answer = (500, b"out of tea")
    with pytest.raises(
        DriverException, match=r"metadata service at 127\.0\.0\.1:\d+.* it answers 500"
    ):
        connect_and_read(cloud={"secure_connect_bundle": bundle})


# The beginning of the service's response, by the part of the response that never ends. After the
# beginning, the service sends one byte every few milliseconds.
DRIPPING = {
    "nothing": b"",
    "the status": b"HTTP/1.1 ",
    "the headers": b"HTTP/1.1 200 OK\r\nX-Long: ",
    "continued for ever": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 ",
    "the body": b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
    "the size of a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
}


@pytest.mark.parametrize("endless_part", [*DRIPPING, "the handshake"])
def test_one_deadline_for_a_service_that_drips(
    endless_part: str, authority: Authority, tmp_path: Path
) -> None:
    """`connect_timeout` limits the whole request, however slowly bytes arrive."""
    is_over = threading.Event()

    def drip(listener: socket.socket) -> None:
        """Accept a connection, and send an endless part of a response."""
        peer, _ = listener.accept()
        with peer, contextlib.suppress(OSError):
            if endless_part == "the handshake":
                # Send the header of a TLS record: a handshake of TLS 1.2 with 16 KiB. The client
                # waits for the whole record, of which only the beginning comes.
                send_slowly(peer, b"\x16\x03\x03\x40\x00")
                return
            context = authority.server("127.0.0.1")
            with context.wrap_socket(peer, server_side=True) as tls_socket:
                send_slowly(tls_socket, DRIPPING[endless_part])

    def send_slowly(peer: socket.socket, beginning: bytes) -> None:
        """Send `beginning`, and then the character 7 every 5 ms until the test is over.

        Without a deadline, the client would get an incomplete response after 2000 characters.
        """
        peer.sendall(beginning)
        for _ in range(2000):
            if is_over.wait(0.005):
                return
            peer.sendall(b"7")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        with Astra(authority, {}) as astra:
            config = {"host": "127.0.0.1", "port": listener.getsockname()[1]}
            path = astra.bundle(tmp_path / "bundle.zip", config_json=json.dumps(config))
        try:
            with pytest.raises(DriverException, match=r"could not be asked: .*(in time|timed out)"):
                Cluster(cloud={"secure_connect_bundle": path, "connect_timeout": 0.3})
        finally:
            is_over.set()
            thread.join()


@pytest.mark.parametrize(
    "settings",
    [
        {"contact_points": ["10.0.0.1"]},
        {"ssl_options": {"server_hostname": "x"}},
        {"endpoint_factory": DefaultEndPointFactory()},
    ],
)
@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_settings_that_contradict_cloud_are_refused(
    cluster_class: Any, settings: dict[str, Any], bundle: str
) -> None:
    """Settings that the bundle already decides cannot be passed together with `cloud`."""
    with pytest.raises(ValueError, match="cannot be given beside cloud"):
        cluster_class(cloud={"secure_connect_bundle": bundle}, **settings)


def test_if_the_proxy_knows_no_node_no_host_is_available(
    connect_and_read: Use, astra: Astra, bundle: str
) -> None:
    """If the proxy closes all connections, `connect` raises NoHostAvailable.

    A proxy does so if it does not know the node that the client asks for.
    """
    # The service still names the nodes, but the proxy does not know them any more.
    astra.answer = (200, json.dumps(astra.service_response()).encode())
    astra.nodes.clear()
    with pytest.raises(NoHostAvailable):
        connect_and_read(cloud={"secure_connect_bundle": bundle}, connect_timeout=3)
