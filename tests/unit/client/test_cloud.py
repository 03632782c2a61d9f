"""Secure connect bundles and the metadata service of Astra, tested without a cluster.

``security/test_astra.py`` connects with bundles to nodes behind a proxy.
"""

from __future__ import annotations

import errno
import io
import json
import socket
import ssl
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.client import cloud
from cassandra.client.cloud import Cloud, CloudEndPointFactory, cloud_of
from cassandra.errors import DriverException
from tests.unit.security.astra import Astra
from tests.unit.security.certificates import DAY, Authority

NODE_IDS = ["00000000-0000-0000-0000-00000000000a", "b"]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return a certificate authority for all tests of the module."""
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def astra(authority: Authority) -> Iterator[Astra]:
    """Yield a running metadata service whose nodes are `NODE_IDS`."""
    with Astra(authority, dict.fromkeys(NODE_IDS, ("127.0.0.1", 1))) as astra:
        yield astra


@pytest.fixture
def bundle(astra: Astra, tmp_path: Path) -> str:
    """Return the path of a valid secure connect bundle."""
    return astra.bundle(tmp_path / "bundle.zip")


def read_bundle(bundle: Any, **settings: Any) -> Cloud:
    """Read a bundle, as the setting `cloud` does.

    :param bundle: the path or the file of the bundle.
    :param settings: other keys of the setting `cloud`.
    """
    return cloud_of({"secure_connect_bundle": bundle, **settings})


# -- the service -----------------------------------------------------------------------------------


def test_the_service_returns_the_end_points_of_the_nodes(astra: Astra, bundle: str) -> None:
    """The metadata service returns an end point for each node.

    The end point has the proxy's address. Its server name is the node's id, by which the proxy
    finds the node.
    """
    service = read_bundle(bundle)
    end_points = service.ask()
    host, _, port = astra.proxy.rpartition(":")
    assert [(end_point.address, end_point.port) for end_point in end_points] == [
        (host, int(port))
    ] * 2
    assert [end_point._server_name for end_point in end_points] == NODE_IDS  # type: ignore[attr-defined]
    assert end_points == [service.factory.create_from_sni(name) for name in NODE_IDS]
    assert service.factory.create({"host_id": NODE_IDS[0]}) == end_points[0]
    port = json.loads(zipfile.ZipFile(bundle).read("config.json"))["port"]
    assert repr(service) == f"<Cloud: metadata service 127.0.0.1:{port}>"
    assert repr(service._service) == f"<metadata service 127.0.0.1:{port}>"


def test_the_service_is_asked_each_time(astra: Astra, bundle: str) -> None:
    """Each call of `ask` queries the service again, so it returns the service's current nodes."""
    service = read_bundle(bundle)
    service.ask()
    astra.answer = (200, json.dumps(service_answer(["c"], "proxy.example:7")).encode())
    (end_point,) = service.ask()
    assert astra.request_count == 2
    assert (end_point._server_name, end_point.port) == ("c", 7)  # type: ignore[attr-defined]


def test_no_end_points_before_the_service_has_answered() -> None:
    """Before the first call of `ask`, the factory does not know the proxy, and raises an error."""
    factory = CloudEndPointFactory()
    with pytest.raises(DriverException, match="has not been asked yet"):
        factory.create({})
    with pytest.raises(DriverException, match="has not been asked yet"):
        factory.create_from_sni("a")


def service_answer(ids: Any, proxy: Any) -> dict[str, Any]:
    """Return the JSON document of a response from the metadata service.

    :param ids: the ids of the nodes.
    :param proxy: the address of the proxy, with its port.
    """
    return {"contact_info": {"contact_points": ids, "sni_proxy_address": proxy}}


# Each entry is a proxy's address as the service returns it, and the host and port in it.
GOOD_PROXIES: list[tuple[str, str, int]] = [
    ("a:1", "a", 1),
    ("10.0.0.1:65535", "10.0.0.1", 65535),
    ("[::1]:9042", "::1", 9042),
    ("x" * 253 + ":1", "x" * 253, 1),
]


@pytest.mark.parametrize(("proxy", "host", "port"), GOOD_PROXIES)
def test_a_valid_answer_has_ids_host_and_port(proxy: str, host: str, port: int) -> None:
    assert cloud._parse_nodes(service_answer(NODE_IDS, proxy)) == (NODE_IDS, host, port)


@pytest.mark.parametrize(
    "proxy",
    [
        "a",
        "a:",
        ":1",
        "a:0",
        "a:65536",
        "a:000019999999",
        "a:1x",
        "a:-1",
        "a b:1",
        "x" * 254 + ":1",
        "ä:1",
    ],
)
def test_an_invalid_proxy_address_is_refused(proxy: str) -> None:
    with pytest.raises(ValueError, match="the proxy's address is"):
        cloud._parse_nodes(service_answer(NODE_IDS, proxy))


@pytest.mark.parametrize("name", ["", "a b", "-a", 5, None, "x" * 254, "a\n"])
def test_an_invalid_node_id_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="a node's id is"):
        cloud._parse_nodes(service_answer(["a", name], "a:1"))


# Each entry is the HTTP status and the body of a response (or its JSON document), and a part of the
# error.
BAD_ANSWERS: list[tuple[int, Any, str]] = [
    (500, b"out of tea", "could not be asked: it answers 500"),
    (200, b"not json", "could not be asked"),
    (200, b"[" * 100_000, "could not be asked"),
    (
        200,
        b" " * (cloud.MOST_BYTES + 1),
        "could not be asked: its answer has more than 1048576 bytes",
    ),
    (200, service_answer(["a"] * 1001, "a:1"), "names 1001 nodes, more than 1000"),
    (200, service_answer([], "a:1"), "names no nodes"),
    (
        200,
        service_answer("abc", "a:1"),
        "does not say where the nodes are: .*contact_points is a str",
    ),
    (200, service_answer(["a"], None), "does not say where the nodes are: AttributeError"),
    (200, {}, "does not say where the nodes are: KeyError"),
    (200, [], "does not say where the nodes are: TypeError"),
]


@pytest.mark.parametrize(
    ("status", "answer", "message"), BAD_ANSWERS, ids=[m for *_, m in BAD_ANSWERS]
)
def test_an_invalid_answer_is_refused(
    astra: Astra, bundle: str, status: int, answer: Any, message: str
) -> None:
    """An invalid response of the metadata service raises DriverException.

    The error says what is wrong.
    """
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    astra.answer = (status, body)
    full_message = rf"the metadata service at 127\.0\.0\.1:\d+ {message}"
    with pytest.raises(DriverException, match=full_message):
        read_bundle(bundle).ask()


def test_an_answer_of_the_largest_size_is_accepted(astra: Astra, bundle: str) -> None:
    """A response with MOST_BYTES bytes and 1000 nodes is accepted: both are the limits."""
    body = json.dumps(service_answer(["a"] * 1000, "a:1")).encode()
    astra.answer = (200, body + b" " * (cloud.MOST_BYTES - len(body)))
    assert len(read_bundle(bundle).ask()) == 1000


def test_a_service_that_refuses_connections_is_an_error(astra: Astra, tmp_path: Path) -> None:
    config = json.dumps({"host": "127.0.0.1", "port": 1})
    service = read_bundle(astra.bundle(tmp_path / "b.zip", config_json=config))
    with pytest.raises(DriverException, match=r"at 127\.0\.0\.1:1 could not be asked: .*refused"):
        service.ask()


def test_a_service_with_another_ca_is_an_error(astra: Astra, tmp_path: Path) -> None:
    other = Authority(tmp_path)
    other_ca = Path(other.path).read_text()
    with pytest.raises(DriverException, match=r"could not be asked: .*certificate verify failed"):
        read_bundle(astra.bundle(tmp_path / "b.zip", ca_crt=other_ca)).ask()


def test_time_left_raises_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """`_time_left` returns the seconds until a deadline, and raises TimeoutError from then on."""
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    assert cloud._time_left(100.5) == 0.5
    for deadline in (100.0, 99.0):
        with pytest.raises(TimeoutError, match="did not come in time"):
            cloud._time_left(deadline)


def resolve_service_to(monkeypatch: pytest.MonkeyPatch, *addresses: Any) -> None:
    """Make the metadata service's host name resolve to these (address, port) pairs."""
    address_infos = [
        (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)
        for address in addresses
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: address_infos)


def test_each_address_of_the_service_is_tried(
    astra: Astra, bundle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the first address of the metadata service refuses connections, the next one is tried."""
    # Nothing listens on port 1, so this address refuses connections.
    refusing = ("127.0.0.1", 1)
    resolve_service_to(monkeypatch, refusing, astra._service.server_address[:2])
    assert len(read_bundle(bundle).ask()) == 2
    resolve_service_to(monkeypatch, refusing)
    with pytest.raises(DriverException, match=r"could not be asked: .*refused"):
        read_bundle(bundle).ask()


def test_a_silent_address_of_the_service_leaves_time_to_the_others(
    astra: Astra, bundle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address of the metadata service that accepts TCP, but no TLS, uses only its share.

    The share is a part of `connect_timeout`, so the next address can still be tried.
    """
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_address = silent.getsockname()
        resolve_service_to(monkeypatch, silent_address, astra._service.server_address[:2])
        assert len(read_bundle(bundle, connect_timeout=2).ask()) == 2


def test_an_address_of_the_service_that_accepts_no_connection_has_a_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the metadata service has three addresses, each may use a third of the time.

    The share covers the TCP connection and the TLS handshake together.
    """
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    limits: list[tuple[int, float]] = []

    def open_socket(connection: Any, address_info: Any, deadline: float) -> Any:
        """Fail like an address that does not respond: use up the time until the deadline."""
        nonlocal now
        limits.append((address_info[4][1], deadline))
        now = deadline
        raise TimeoutError("timed out")

    monkeypatch.setattr(cloud._TimedConnection, "_open_socket", open_socket)
    resolve_service_to(monkeypatch, ("10.0.0.1", 1), ("10.0.0.1", 2), ("10.0.0.1", 3))
    service: Any = SimpleNamespace(host="service.example", port=1)
    connection = cloud._TimedConnection(service, ssl.create_default_context(), 109.0)
    with pytest.raises(TimeoutError, match="timed out"):
        connection.connect()
    assert limits == [(1, 103.0), (2, 106.0), (3, 109.0)]


def test_a_failure_of_tls_tells_more_than_an_address_that_refuses(
    astra: Astra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If TLS fails at one address and the next address refuses, the error is the TLS error.

    The TLS error says more about the cause.
    """
    resolve_service_to(monkeypatch, astra._service.server_address[:2], ("127.0.0.1", 1))
    other_ca = Path(Authority(tmp_path).path).read_text()
    with pytest.raises(DriverException, match=r"could not be asked: .*certificate verify failed"):
        read_bundle(astra.bundle(tmp_path / "b.zip", ca_crt=other_ca)).ask()


# -- the bundle ------------------------------------------------------------------------------------


def test_a_bundle_has_credentials_and_the_service(astra: Astra, tmp_path: Path) -> None:
    """A secure connect bundle is read: its credentials, its metadata service and its TLS context.

    The password is not shown in any `repr`.
    """
    config = {"host": "127.0.0.1", "port": "29080", "username": "u", "password": "secret"}
    service = read_bundle(astra.bundle(tmp_path / "b.zip", config_json=json.dumps(config)))
    assert service.credentials is not None
    name, password = service.credentials
    assert (name, password.reveal()) == ("u", "secret")
    assert "secret" not in repr(service) + repr(service._service)
    assert service._service.port == 29080
    assert service._timeout == 5.0
    assert cloud.DEFAULT_TIMEOUT == 5.0
    assert not service.context.check_hostname
    assert service.context.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    "partial_login",
    [{}, {"username": "u"}, {"password": "p"}, {"username": "u", "password": ""}],
)
def test_a_user_name_or_password_alone_is_not_a_login(
    astra: Astra, tmp_path: Path, partial_login: dict[str, Any]
) -> None:
    config = {"host": "h", "port": 1, **partial_login}
    path = astra.bundle(tmp_path / "b.zip", config_json=json.dumps(config))
    assert read_bundle(path).credentials is None


def test_a_bundle_may_be_a_path_or_a_file(bundle: str) -> None:
    with open(bundle, "rb") as file:
        for source in (bundle, Path(bundle), file, io.BytesIO(Path(bundle).read_bytes())):
            assert read_bundle(source)._service.host == "127.0.0.1"


def test_a_given_ssl_context_is_used(astra: Astra, tmp_path: Path) -> None:
    """If the application passes its own `ssl_context`, the bundle needs no certificates."""
    context = ssl.create_default_context()
    path = astra.bundle(tmp_path / "b.zip", ca_crt=None, cert=None, key=None)
    assert cloud_of({"secure_connect_bundle": path}, context).context is context


def test_keys_are_written_only_to_temporary_private_files(
    bundle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key and certificate of a bundle are written only to private files, which are deleted."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    modes: list[int] = []
    original_load = ssl.SSLContext.load_cert_chain

    class RecordingContext(ssl.SSLContext):
        def load_cert_chain(self, certfile: Any, keyfile: Any = None, password: Any = None) -> None:
            modes.extend(Path(path).stat().st_mode & 0o777 for path in (certfile, keyfile))
            original_load(self, certfile, keyfile, password)

    monkeypatch.setattr(ssl, "SSLContext", RecordingContext)
    read_bundle(bundle)
    # Only the owner may read the files of the certificate and the key.
    assert modes == [0o600, 0o600]
    assert list(folder.iterdir()) == []


# Each entry is a value of the setting `cloud`, the class of the error, and a part of its message.
BAD_SETTINGS: list[tuple[Any, type[Exception], str]] = [
    (5, TypeError, "cloud must be a mapping, but is of type int"),
    ({}, ValueError, "cloud needs 'secure_connect_bundle'"),
    ({"bundle": "x"}, ValueError, "cloud has no setting 'bundle'; there are secure_connect_bundle"),
    ({"secure_connect_bundle": 5}, TypeError, "a path or a binary file, but is of type int"),
    ({"secure_connect_bundle": b"x"}, TypeError, "a path or a binary file, but is of type bytes"),
    ({"secure_connect_bundle": "nowhere.zip"}, FileNotFoundError, "nowhere"),
    *(
        ({"secure_connect_bundle": "x", "connect_timeout": wrong}, ValueError, "seconds above 0")
        for wrong in (0, -1, None, "5", True, float("nan"), threading.TIMEOUT_MAX * 2)
    ),
]


@pytest.mark.parametrize(("settings", "error", "message"), BAD_SETTINGS)
def test_wrong_cloud_settings_are_refused(
    settings: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        cloud_of(settings)


def test_valid_cloud_settings_are_accepted(bundle: str) -> None:
    service = read_bundle(bundle, connect_timeout=threading.TIMEOUT_MAX, use_default_tempdir=True)
    assert service._timeout == threading.TIMEOUT_MAX


# Each entry is the content of a config.json, and a part of the error.
BAD_CONFIGS: list[tuple[Any, str]] = [
    ("not json", r"it is not JSON \(JSONDecodeError\)"),
    ("[" * 100_000, r"it is not JSON \(RecursionError\)"),
    ([], "a list in place of an object"),
    ({}, "it does not have host and port"),
    ({"host": "h"}, "it does not have port"),
    ({"host": 5, "port": 1}, "the host is 5"),
    ({"host": "a b", "port": 1}, "the host is 'a b'"),
    *(
        ({"host": "h", "port": wrong}, "the port is")
        for wrong in (0, 65536, "0000190000000", -1, "x", None, 1.5)
    ),
    ({"host": "h", "port": 1, "username": 5}, "the username is not a text"),
    ({"host": "h", "port": 1, "password": 5}, "the password is not a text"),
]


@pytest.mark.parametrize(("config", "message"), BAD_CONFIGS)
def test_an_invalid_config_json_is_refused(
    astra: Astra, tmp_path: Path, config: Any, message: str
) -> None:
    """An invalid config.json in the bundle raises ValueError, which says what is wrong."""
    text = config if isinstance(config, str) else json.dumps(config)
    path = astra.bundle(tmp_path / "b.zip", config_json=text)
    with pytest.raises(
        ValueError, match=rf"b\.zip cannot be used: its config\.json is not as expected: {message}"
    ):
        read_bundle(path)


# Each entry has the files of a bundle that are changed (None removes a file), and a part of the
# error.
BAD_BUNDLES: list[tuple[dict[str, Any], str]] = [
    ({"config_json": None}, r"it has no file config\.json$"),
    ({"ca_crt": None}, r"it has no file ca\.crt"),
    ({"cert": None}, "it has no file cert"),
    ({"key": None}, "it has no file key"),
    ({"ca_crt": "nonsense"}, "its certificates cannot be loaded"),
    ({"key": "nonsense"}, "its certificates cannot be loaded"),
    ({"ca_crt": "x" * (cloud.MOST_BYTES + 1)}, r"its file ca\.crt has 1048577 bytes"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_BUNDLES, ids=[m for _, m in BAD_BUNDLES])
def test_an_incomplete_or_damaged_bundle_is_refused(
    astra: Astra, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=rf"b\.zip cannot be used: .*{message}"):
        read_bundle(astra.bundle(tmp_path / "b.zip", **changes))


def test_a_bundle_that_was_zipped_again_with_its_folder(astra: Astra, tmp_path: Path) -> None:
    """If a bundle was unzipped and zipped again with its folder, the error says so.

    The files are then one level down in the archive.
    """
    path = tmp_path / "b.zip"
    with (
        zipfile.ZipFile(astra.bundle(tmp_path / "good.zip")) as files,
        zipfile.ZipFile(path, "w") as out,
    ):
        for name in files.namelist():
            out.writestr(f"bundle/{name}", files.read(name))
    with pytest.raises(ValueError, match=r"no file config\.json, but bundle/config\.json: zip the"):
        read_bundle(path)


def test_an_unzipped_bundle_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder: pass the zip file itself"):
        read_bundle(tmp_path)


def test_a_ca_may_have_comments_in_any_encoding(astra: Astra, tmp_path: Path) -> None:
    """The CA file of a bundle may have comments with any bytes, not only ASCII."""
    with zipfile.ZipFile(astra.bundle(tmp_path / "good.zip")) as files:
        authority = files.read("ca.crt").decode()
    path = astra.bundle(tmp_path / "b.zip", ca_crt=f"Zürich\n{authority}")
    assert read_bundle(path).ask()


def test_a_bundle_that_is_not_a_zip_file(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    path.write_bytes(b"no zip file")
    with pytest.raises(ValueError, match=r"b\.zip is not a zip file"):
        read_bundle(str(path))


def test_a_bundle_with_a_damaged_directory_is_refused(
    bundle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a damaged directory makes the zip reader seek to an invalid offset, the bundle is refused.

    The error says that the bundle is damaged.
    """

    def fail_with(error_number: int) -> None:
        """Make `zipfile.ZipFile` raise an OSError with this error number."""

        def open_and_fail(_: Any) -> None:
            raise OSError(error_number, "refused")

        monkeypatch.setattr(zipfile, "ZipFile", open_and_fail)

    fail_with(errno.EINVAL)
    with pytest.raises(ValueError, match="is damaged: it tells of a place before its beginning"):
        read_bundle(bundle)
    # Any other OSError is raised unchanged, because the bundle is not the reason.
    fail_with(errno.EIO)
    with pytest.raises(OSError, match="refused"):
        read_bundle(bundle)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bundle_with_another_compression_is_refused(tmp_path: Path, method: int) -> None:
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w", method) as out:
        out.writestr("config.json", "{}")
    with pytest.raises(ValueError, match="compressed in an unusual way"):
        read_bundle(str(path))


def test_a_member_of_a_bundle_has_a_limited_size_and_no_encryption(tmp_path: Path) -> None:
    """A file of a bundle raises ValueError if it has more than MOST_BYTES bytes or is encrypted."""

    def read_member(size: int, content: bytes, flag_bits: int = 0) -> bytes:
        """Read the file `x` of a fake archive.

        :param size: the size (in bytes) that the archive's directory names.
        :param content: the bytes of the file, which may have another size.
        :param flag_bits: the flags that the archive's directory has for the file.
        """
        info = SimpleNamespace(
            file_size=size, flag_bits=flag_bits, compress_type=zipfile.ZIP_STORED
        )
        archive: Any = SimpleNamespace(getinfo=lambda _: info, open=lambda _: io.BytesIO(content))
        return cloud._read_member(archive, "x")

    limit = cloud.MOST_BYTES
    assert read_member(limit, b"x" * limit) == b"x" * limit
    # The size in the archive's directory may be wrong, so the size of the data is limited, too.
    with pytest.raises(ValueError, match="its file x has more than 1048576 bytes"):
        read_member(5, b"x" * (limit + 1))
    # The lowest bit of the flags means that the file is encrypted. The other bits do not matter.
    with pytest.raises(ValueError, match="its file x is encrypted"):
        read_member(5, b"x", flag_bits=1)
    assert read_member(1, b"x", flag_bits=2) == b"x"


def test_a_bundle_with_an_expired_certificate_is_refused(
    astra: Astra, authority: Authority, tmp_path: Path
) -> None:
    certificate, key = authority.issue("client", begins=-9 * DAY, ends=-DAY)
    changes = {"cert": Path(certificate).read_text(), "key": Path(key).read_text()}
    with pytest.raises(ValueError, match=r"its certificate expired on .*download the bundle again"):
        read_bundle(astra.bundle(tmp_path / "b.zip", **changes))


def test_a_bundle_whose_key_needs_a_password_is_refused(
    astra: Astra, authority: Authority, tmp_path: Path
) -> None:
    """If the private key of a bundle is encrypted, reading the bundle raises ValueError."""
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    _, key_path = authority.issue("client")
    key = serialization.load_pem_private_key(Path(key_path).read_bytes(), password=None)
    encrypted_key = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    with pytest.raises(ValueError, match="its key wants a password"):
        read_bundle(astra.bundle(tmp_path / "b.zip", key=encrypted_key.decode()))
