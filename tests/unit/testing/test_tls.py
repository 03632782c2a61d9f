"""Certificates for nodes in tests."""

from __future__ import annotations

import importlib.util
import os
import ssl
from pathlib import Path

import pytest

from cassandra.testing import LocalClusterError, tls

pytestmark = pytest.mark.usefixtures("own_cache")


def test_certificates_make_a_mutual_handshake(tmp_path: Path) -> None:
    material = tls.TlsMaterial.make(str(tmp_path / "tls"), "mutual")
    options = material.server_options("127.0.0.7")
    assert options["require_client_auth"] is True
    assert os.path.exists(options["keystore"])
    assert os.path.exists(options["truststore"])
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "tls" / "127.0.0.7.pem", tmp_path / "tls" / "127.0.0.7.key")
    server.load_verify_locations(material.ca_certificate)
    server.verify_mode = ssl.CERT_REQUIRED

    # A handshake in memory, in which the client expects the server to have `address`.
    def shake_hands(address: str) -> str:
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        client_end = material.client_context().wrap_bio(
            to_client, to_server, server_hostname=address
        )
        server_end = server.wrap_bio(to_server, to_client, server_side=True)
        unfinished_ends = [client_end, server_end]
        while unfinished_ends:
            for tls_end in list(unfinished_ends):
                try:
                    tls_end.do_handshake()
                    unfinished_ends.remove(tls_end)
                except ssl.SSLWantReadError:
                    continue
        return str(server_end.getpeercert())

    client_certificate = shake_hands("127.0.0.7")
    assert "local cluster client" in client_certificate
    assert material.client_identity in client_certificate
    with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
        shake_hands("127.0.0.8")


def test_without_cryptography_an_error_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LocalClusterError, match="pip install cryptography"):
        tls.TlsMaterial.make(str(tmp_path / "tls"), "required")
