"""Errors show no password of a TLS key, a bundle or SASL, and no key of an encrypted column."""

from __future__ import annotations

import json
import ssl
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider, SaslAuthProvider
from cassandra.cluster import Cluster
from cassandra.column_encryption.policies import (
    AES256ColumnEncryptionPolicy,
    AESGCMColumnEncryptionPolicy,
)
from cassandra.cqlengine import connection as mapper
from cassandra.errors import DriverException
from cassandra.protocol.encrypted import ColDesc
from cassandra.testing.fake import FakeNode

from .astra import Astra
from .certificates import Authority
from .conftest import Use
from .test_secrets import SECRET, report_of

serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")


@pytest.fixture(scope="module")
def locked(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return the paths of a certificate and of its key. The key's pass phrase is "another"."""
    certificate, key = authority.issue("client")
    private_key = serialization.load_pem_private_key(Path(key).read_bytes(), password=None)
    path = tmp_path_factory.mktemp("keys") / "locked.pem"
    path.write_bytes(
        private_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"another"),
        )
    )
    return certificate, str(path)


def assert_refused_without_secret(
    call: Callable[[], Any], error_classes: Any = (ValueError, TypeError, OSError)
) -> None:
    """Check that `call` raises one of `error_classes`, and that the error report lacks SECRET."""
    with pytest.raises(error_classes) as caught:
        call()
    report = report_of(caught.value)
    assert SECRET not in report
    assert len(report) > 100  # the report is not empty


# TLS options that replace the options of `test_wrong_options_of_tls_show_no_password`: the
# certificate, its key and the password.
OPTIONS: dict[str, dict[str, Any]] = {
    "a wrong password": {},
    "a password in bytes": {"password": SECRET.encode()},
    "a password of no use": {"password": [SECRET]},
    "an unknown option": {"keyfile": None, "certfile": None, "colour": "red"},
    "a missing certificate": {"certfile": "/nowhere.pem"},
    "a missing key": {"keyfile": "/nowhere.pem"},
    "a missing CA": {"ca_certs": "/nowhere.pem"},
    "a wrong version": {"ssl_version": 99},
    "wrong ciphers": {"keyfile": None, "certfile": None, "ciphers": "none such"},
    "a wrong name": {"server_hostname": 5},
    "a server's option": {"server_side": True},
}


@pytest.mark.parametrize("options_name", OPTIONS)
@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_wrong_options_of_tls_show_no_password(
    cluster_class: Any, options_name: str, locked: tuple[str, str]
) -> None:
    """An error about wrong `ssl_options` does not show the password in them."""
    options = {
        "cert_reqs": ssl.CERT_NONE, "certfile": locked[0], "keyfile": locked[1], "password": SECRET,
        **OPTIONS[options_name],
    }  # fmt: skip
    assert_refused_without_secret(lambda: cluster_class(ssl_options=options))
    assert_refused_without_secret(
        lambda: cluster_class(ssl_options=options, ssl_context=ssl.create_default_context())
    )
    assert_refused_without_secret(lambda: cluster_class(ssl_options=[SECRET, options]))


@pytest.mark.parametrize("wrong", [{"port": -1}, {"no_such_setting": 1}, {"connect_timeout": "x"}])
@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_wrong_settings_show_no_password(cluster_class: Any, wrong: dict[str, Any]) -> None:
    """An error about another setting does not show the passwords in the settings."""
    options = {"cert_reqs": ssl.CERT_NONE, "password": SECRET}
    assert_refused_without_secret(lambda: cluster_class(ssl_options=options, **wrong))
    assert_refused_without_secret(
        lambda: cluster_class(auth_provider={"username": "ada", "password": SECRET})
    )
    assert_refused_without_secret(lambda: cluster_class(username="ada", password=SECRET))
    assert_refused_without_secret(
        lambda: cluster_class(auth_provider=PlainTextAuthProvider("ada", SECRET), **wrong)
    )


def test_ssl_options_is_the_dict_that_the_application_passed(locked: tuple[str, str]) -> None:
    """The attribute `ssl_options` is the application's dict, but `vars` shows no password."""
    options = {
        "cert_reqs": ssl.CERT_NONE, "certfile": locked[0], "keyfile": locked[1],
        "password": "another",
    }  # fmt: skip
    for cluster in (Cluster(ssl_options=options), aio.Cluster(ssl_options=options)):
        assert cluster.ssl_options is options
        assert "another" not in repr(vars(cluster))
    assert Cluster.ssl_options is None
    assert Cluster().ssl_options is None


def test_a_failed_handshake_shows_no_password(
    connect_and_read: Use, locked: tuple[str, str]
) -> None:
    """If the TLS handshake fails, the error does not show the pass phrase of the key.

    The fake node does not use TLS, so the handshake fails.
    """
    options = {
        "cert_reqs": ssl.CERT_NONE, "certfile": locked[0], "keyfile": locked[1],
        "password": "another",
    }  # fmt: skip
    with FakeNode() as node, pytest.raises(DriverException) as caught:
        connect_and_read([node.address], port=node.port, ssl_options=options, connect_timeout=0.2)
    assert "'another'" not in report_of(caught.value)


def test_assigned_options_show_no_password() -> None:
    """Assigning wrong `ssl_options` after `connect` raises an error without the password."""
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        cluster.connect()
        options = {"cert_reqs": ssl.CERT_NONE, "password": SECRET, "colour": "red"}
        assert_refused_without_secret(lambda: setattr(cluster, "ssl_options", options))


# -- the mapper ------------------------------------------------------------------------------------


@pytest.fixture
def no_connections() -> Iterator[None]:
    """Remove the mapper's connection "hidden" after the test."""
    yield
    mapper.unregister_connection("hidden")


@pytest.mark.usefixtures("no_connections")
def test_the_mapper_shows_no_password() -> None:
    """Errors of the mapper (cqlengine) do not show a password of its connection."""
    options: dict[str, Any] = {
        "ssl_options": {"cert_reqs": ssl.CERT_NONE, "password": SECRET, "colour": "red"}
    }
    assert_refused_without_secret(lambda: mapper.setup(["127.0.0.1"], "ks", **options))
    assert_refused_without_secret(
        lambda: mapper.register_connection("hidden", cluster_options=options)
    )
    assert_refused_without_secret(
        lambda: mapper.register_connection("hidden", session=object(), cluster_options=options),  # type: ignore[arg-type]
        mapper.CQLEngineException,
    )


# -- bundles ---------------------------------------------------------------------------------------

# The contents of a config.json with a password.
CONFIG = {"host": "127.0.0.1", "port": 1, "username": "ada", "password": SECRET}


@pytest.mark.parametrize(
    "config",
    [
        json.dumps({**CONFIG, "port": "x"}),
        json.dumps({**CONFIG, "port": 10**40}),
        json.dumps({**CONFIG, "host": 7}),
        json.dumps({**CONFIG, "host": "a\0b"}),
        json.dumps({**CONFIG, "username": 7}),
        json.dumps({**CONFIG, "password": [SECRET]}),
        # These contents are not an object, are cut off, are larger than the maximum of 1 MiB, and
        # are not UTF-8.
        json.dumps([SECRET]),
        json.dumps(CONFIG)[:-1],
        json.dumps(CONFIG) + "x" * (1 << 20),
        json.dumps(CONFIG).encode("utf-16-le") + b"\xff",
    ],
)
@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_wrong_bundles_show_no_password(cluster_class: Any, config: Any, tmp_path: Path) -> None:
    """An error about a wrong config.json in a bundle does not show the password in it."""
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", config)
    assert_refused_without_secret(
        lambda: cluster_class(cloud={"secure_connect_bundle": str(path)}), ValueError
    )


def test_a_damaged_bundle_shows_no_password(tmp_path: Path) -> None:
    """Errors about a damaged or incomplete bundle do not show the password in it."""
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(CONFIG))
    data = path.read_bytes()
    path.write_bytes(data.replace(b"127.0.0.1", b"127.0.0.2"))  # now the checksum is wrong
    assert_refused_without_secret(
        lambda: Cluster(cloud={"secure_connect_bundle": str(path)}), ValueError
    )
    path.write_bytes(data)  # the intact bundle, which has no certificates
    assert_refused_without_secret(
        lambda: Cluster(cloud={"secure_connect_bundle": str(path)}), ValueError
    )


# The last response is nested too deeply for the JSON decoder, which raises RecursionError.
@pytest.mark.parametrize("answer", [(500, b""), (200, b"x"), (200, b"{}"), (200, b"[" * 99_999)])
def test_errors_of_the_metadata_service_show_no_password(
    connect_and_read: Use, answer: tuple[int, bytes], authority: Authority, tmp_path: Path
) -> None:
    """If the metadata service fails, the error does not show the password in the bundle."""
    with Astra(authority, {}) as astra:
        astra.answer = answer
        config = {**CONFIG, "port": astra._service.server_address[1]}
        bundle = astra.bundle(tmp_path / "bundle.zip", config_json=json.dumps(config))
        assert_refused_without_secret(
            lambda: connect_and_read(cloud={"secure_connect_bundle": bundle}), DriverException
        )


# -- SASL, and keys of columns ---------------------------------------------------------------------


def test_sasl_shows_no_password() -> None:
    """No repr of a SASL provider or authenticator shows the password, which is sent unchanged."""
    pytest.importorskip("puresasl")
    settings = {"service": "cassandra", "mechanism": "PLAIN", "username": "a", "password": SECRET}
    assert_refused_without_secret(lambda: SaslAuthProvider(host="x", **settings))
    provider = SaslAuthProvider(**settings)
    assert provider.sasl_kwargs == settings
    assert SECRET not in repr(vars(provider))
    authenticator = provider.new_authenticator("127.0.0.1")
    assert authenticator.initial_response() == f"\0a\0{SECRET}".encode()
    assert SECRET not in repr(vars(authenticator)) + repr(authenticator.initial_response())
    wrong = SaslAuthProvider(**{**settings, "mechanism": "NONE"})
    assert_refused_without_secret(lambda: wrong.new_authenticator("127.0.0.1"), Exception)


@pytest.mark.parametrize(
    "policy_class", [AES256ColumnEncryptionPolicy, AESGCMColumnEncryptionPolicy]
)
@pytest.mark.parametrize("key", [SECRET, SECRET.encode()])
def test_errors_of_encryption_policies_show_no_key(policy_class: Any, key: Any) -> None:
    """Errors of encryption policies do not show the key of a column."""
    aead = pytest.importorskip("cryptography.hazmat.primitives.ciphers.aead")
    if policy_class is AESGCMColumnEncryptionPolicy and hasattr(aead.AESGCM(bytes(32)), "_key"):
        pytest.skip("the ciphers of this cryptography have the key as an attribute")
    policy, column = policy_class(), ColDesc("ks", "t", "c")
    # For AESGCM, `add_column` takes an id of the key as another argument.
    extra = ("k",) if policy_class is AESGCMColumnEncryptionPolicy else ()
    assert_refused_without_secret(lambda: policy.add_column(column, key, "int", *extra))
    # AES-256 needs a key of 32 bytes.
    full_key = (SECRET * 3)[:32].encode()
    assert_refused_without_secret(
        lambda: policy.add_column(column, full_key, "no such type", *extra)
    )
    policy.add_column(column, full_key, "int", *extra)
    assert_refused_without_secret(lambda: policy.decrypt(column, b"\1\2\3"))
    assert_refused_without_secret(lambda: policy.decrypt(column, b"\1" * 48))
    assert_refused_without_secret(lambda: policy.encode_and_encrypt(column, "text"))


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_ssl_options_of_a_subclass_are_used(cluster_class: Any, authority: Authority) -> None:
    """A subclass of a cluster may define `ssl_options` as a class attribute."""

    class OwnCluster(cluster_class):  # type: ignore[misc]
        ssl_options = {"ca_certs": authority.path}

    cluster = OwnCluster(["127.0.0.1"])
    assert cluster._settings().tls is not None, "it would connect without TLS"
    assert cluster.ssl_options == {"ca_certs": authority.path}
