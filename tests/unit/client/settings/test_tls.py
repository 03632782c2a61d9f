"""The TLS settings of a cluster: the contexts that they create, and options that are refused."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.client.settings.tls import tls_client
from cassandra.cluster import Cluster
from cassandra.ssl_session_cache import SSLSessionCache
from cassandra.testing.fake import FakeNode
from tests.unit.security.certificates import Authority
from tests.waiting import result_of

NOT_VERIFIED = {"cert_reqs": ssl.CERT_NONE}


def context_of(options: dict[str, Any]) -> ssl.SSLContext:
    """Return the context that the driver creates for `ssl_options`."""
    client = tls_client(None, options, None)
    assert client is not None
    context = client.source
    assert isinstance(context, ssl.SSLContext)
    return context


def test_without_settings_there_is_no_tls() -> None:
    assert tls_client(None, None, SSLSessionCache()) is None
    with pytest.raises(ValueError, match="ssl_options is empty, which would connect without TLS"):
        tls_client(None, {}, None)


def test_a_given_context_is_used_unchanged() -> None:
    context = ssl.create_default_context()
    client = tls_client(context, {"server_hostname": "a.example"}, None)
    assert client is not None
    assert client.source is context
    with pytest.raises(ValueError, match=r"ssl_options\['certfile'\] cannot be given beside"):
        tls_client(context, {"certfile": "x"}, None)


def test_certificates_are_required_unless_the_options_differ() -> None:
    """By default, certificates are verified with the system's CAs, and TLS 1.2 is the minimum.

    `cert_reqs` may switch the verification off.
    """
    system = ssl.create_default_context().cert_store_stats()
    for options in ({"ssl_version": None}, {"cert_reqs": None}, {"check_hostname": False}):
        context = context_of(options)
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert context.cert_store_stats() == system  # the context has the system's CA certificates
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    context = context_of(NOT_VERIFIED)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)
    assert context_of({"cert_reqs": ssl.CERT_OPTIONAL}).verify_mode == ssl.CERT_OPTIONAL


def test_options_become_a_context() -> None:
    """The version, the ciphers and `cert_reqs` of `ssl_options` are set on the context."""
    tls12_context = context_of({**NOT_VERIFIED, "ssl_version": ssl.PROTOCOL_TLSv1_2})
    assert tls12_context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert tls12_context.maximum_version == ssl.TLSVersion.TLSv1_2
    context_of({**NOT_VERIFIED, "ssl_version": ssl.PROTOCOL_TLS_CLIENT, "server_side": False})
    cipher_context = context_of({**NOT_VERIFIED, "ciphers": "ECDHE-RSA-AES256-GCM-SHA384"})
    cipher_names = [cipher["name"] for cipher in cipher_context.get_ciphers()]
    assert "ECDHE-RSA-AES256-GCM-SHA384" in cipher_names


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({**NOT_VERIFIED, "server_side": True}, ValueError, "can only be False here"),
        ({**NOT_VERIFIED, "colour": "red"}, ValueError, r"\['colour'\] is unknown"),
        ({**NOT_VERIFIED, "ssl_version": 99}, ValueError, r"\['ssl_version'\] cannot be 99"),
        ({"cafile": "ca.pem"}, ValueError, r"\['cafile'\] is unknown: did you mean 'ca_certs'\?"),
        ({"keyfil": "k.pem"}, ValueError, r"\['keyfil'\] is unknown: did you mean 'keyfile'\?"),
        (
            {"cert_reqs": "CERT_NONE"},
            TypeError,
            r"\['cert_reqs'\] must be a constant .* is 'CERT_NONE': write ssl\.CERT_NONE$",
        ),
        ({"cert_reqs": "required"}, TypeError, r"is 'required': write ssl\.CERT_REQUIRED$"),
        (
            {"ca_certs": "missing.pem"},
            FileNotFoundError,
            r"No such file or directory \(ssl_options\['ca_certs'\]\): 'missing\.pem'",
        ),
        ({"server_hostname": 5}, TypeError, "must be a name, but is 5"),
        ([1], TypeError, "must be a mapping, but is of type list"),
    ],
)
def test_wrong_options_are_refused(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tls_client(None, options, None)


def replace(path: Path, content: bytes) -> None:
    """Replace the file's content, and set a later modification time."""
    path.write_bytes(content)
    # The driver recognises a new file by its modification time. The clock of the file system may be
    # too coarse to show the change.
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))


@pytest.mark.parametrize("as_type", [str, Path, os.fsencode])
def test_renewed_files_become_a_new_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, as_type: Any
) -> None:
    """If a file of `ssl_options` is replaced, the driver creates a new TLS context.

    While the new file cannot be read, the earlier context stays in use. Relative paths still work
    after the application has changed its working directory.
    """
    authority = Authority(tmp_path)
    certificate, key = (Path(path) for path in authority.issue("client"))
    monkeypatch.chdir(tmp_path)
    client = tls_client(
        None,
        {
            "ca_certs": as_type("ca.pem"),
            "certfile": as_type(certificate.name),
            "keyfile": as_type(key.name),
            "check_hostname": True,
        },
        None,
    )
    assert client is not None
    source: Any = client.source
    monkeypatch.chdir(tmp_path.parent)
    first_context = source()
    assert source() is first_context
    assert not caplog.text
    for path in (tmp_path / "ca.pem", certificate, key):
        content = path.read_bytes()
        context_before = source()
        for incomplete_content in (b"", content[: len(content) // 2]):
            replace(path, incomplete_content)
            assert source() is context_before
            assert "the earlier TLS context stays in use" in caplog.text
        path.unlink()
        assert source() is context_before
        replace(path, content)
        assert source() is not context_before
        assert source().check_hostname
        caplog.clear()


def test_names_are_checked_also_with_renewed_files(tmp_path: Path) -> None:
    """With `ca_certs`, `check_hostname` decides whether certificates must match addresses.

    The driver knows this although it creates a new context whenever the file changes.
    """
    path = Authority(tmp_path).path
    for check_hostname in (True, False):
        client = tls_client(None, {"ca_certs": path, "check_hostname": check_hostname}, None)
        assert client is not None
        assert client.compares_addresses is check_hostname
        assert client.may_compare_addresses is check_hostname


def test_the_class_of_contexts_is_refused() -> None:
    """If `ssl_context` is the class SSLContext itself, TypeError is raised.

    A call of the class would return a context that verifies no certificates.
    """
    context_class: Any = ssl.SSLContext
    with pytest.raises(TypeError, match=r"is the class ssl\.SSLContext: write ssl\.create_default"):
        tls_client(context_class, None, None)
    # Functions that return a context are accepted, because only the class itself is wrong.
    assert tls_client(ssl.create_default_context, None, None) is not None


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match=r"ssl_context must be an ssl\.SSLContext"):
        tls_client("context", None, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be an SSLSessionCache, but is 5"):
        tls_client(None, None, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_a_context_that_is_set_before_connect_is_used(cluster_class: Any) -> None:
    """Before `connect`, the TLS settings of the engine follow `ssl_context` and `ssl_options`."""
    cluster = cluster_class()
    assert cluster._settings().tls is None
    context = ssl.create_default_context()
    cluster.ssl_context = context
    assert cluster._settings().tls.source is context
    cluster.ssl_options = {"server_hostname": "a.example"}
    assert cluster._settings().tls._server_hostname == "a.example"
    del cluster.ssl_options, cluster.ssl_context
    assert cluster._settings().tls is None


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
@pytest.mark.parametrize("is_connected", [False, True])
async def test_refused_settings_are_not_stored(cluster_class: Any, is_connected: bool) -> None:
    """If a TLS setting is refused, all TLS settings keep their values.

    This holds before and after `connect`.
    """
    context = ssl.create_default_context()
    with FakeNode() as node:
        cluster = cluster_class([node.address], port=node.port)
        if is_connected:
            await result_of(cluster.connect())
        try:
            cluster.ssl_context = context
            tls_before = cluster._live["tls"]
            session_cache_before = cluster.ssl_session_cache
            # Assign wrong values. Each assignment raises an error, and changes no TLS setting.
            for name, wrong_value, error in (
                ("ssl_context", 5, TypeError),
                ("ssl_options", 5, TypeError),
                ("ssl_options", {"certfile": "x"}, ValueError),
                ("ssl_session_cache", 5, TypeError),
            ):
                with pytest.raises(error, match=name):
                    setattr(cluster, name, wrong_value)
            assert cluster.ssl_context is context
            assert cluster.ssl_options is None
            assert cluster.ssl_session_cache is session_cache_before
            assert cluster._live["tls"] is tls_before
        finally:
            await result_of(cluster.shutdown())
