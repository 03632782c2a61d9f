"""TLS certificates for nodes in tests."""

from __future__ import annotations

import datetime
import importlib.util
import os
import ssl
import warnings
from pathlib import Path
from typing import Any

import pytest

from cassandra.testing import LocalClusterError, tls

pytestmark = pytest.mark.usefixtures("own_cache")


def test_certificates_make_a_mutual_handshake(tmp_path: Path) -> None:
    """The node and the client accept each other's certificates if the node's address is right."""
    material = tls.TlsMaterial.make(str(tmp_path / "tls"), "mutual")
    options = material.server_options("127.0.0.7")
    assert options["require_client_auth"] is True
    assert os.path.exists(options["keystore"])
    assert os.path.exists(options["truststore"])
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "tls" / "127.0.0.7.pem", tmp_path / "tls" / "127.0.0.7.key")
    server.load_verify_locations(material.ca_certificate)
    server.verify_mode = ssl.CERT_REQUIRED

    def shake_hands(address: str) -> str:
        """Run a TLS handshake in memory, and return the client's certificate.

        :param address: the address that the client expects the server to have.
        """
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        client_end = material.client_context().wrap_bio(
            to_client, to_server, server_hostname=address
        )
        server_end = server.wrap_bio(to_server, to_client, server_side=True)
        unfinished_ends = [client_end, server_end]
        while unfinished_ends:
            # Let both ends continue in turn, until neither has to wait for bytes of the other end.
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
    """If the package `cryptography` is missing, the error says how to install it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LocalClusterError, match="pip install cryptography"):
        tls.TlsMaterial.make(str(tmp_path / "tls"), "required")


@pytest.mark.parametrize(
    ("argument", "mode"),
    [
        (None, None),
        (False, None),
        (True, "required"),
        ("required", "required"),
        ("optional", "optional"),
        ("mutual", "mutual"),
    ],
)
def test_the_argument_of_a_cluster_names_the_mode(argument: Any, mode: str | None) -> None:
    """The argument `tls` is a mode, True for "required", or False or None for no TLS."""
    assert tls.check_tls_mode(argument) == mode


@pytest.mark.parametrize("argument", ["on", 1, ""])
def test_other_arguments_of_a_cluster_are_refused(argument: Any) -> None:
    """Any other argument raises ValueError with the names of the modes."""
    with pytest.raises(ValueError, match="expected one of 'required', 'optional', 'mutual'"):
        tls.check_tls_mode(argument)


@pytest.mark.parametrize("mode", ["required", "optional", "mutual"])
def test_the_options_of_a_node_follow_the_mode(tmp_path: Path, mode: tls.TlsMode) -> None:
    """In each mode, TLS is enabled.

    The mode "optional" also accepts connections without TLS, and "mutual" requires client
    certificates.
    """
    options = tls.TlsMaterial.make(str(tmp_path), mode).server_options("127.0.0.7")
    assert options["enabled"] is True
    assert options["optional"] is (mode == "optional")
    assert options["require_client_auth"] is (mode == "mutual")
    assert options["store_type"] == "PKCS12"


def test_certificates_of_a_directory_are_used_again(tmp_path: Path) -> None:
    """If the directory already has certificates, no file is created or changed."""

    def contents() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    tls.TlsMaterial.make(str(tmp_path), "required").server_options("127.0.0.7")
    contents_before = contents()
    tls.TlsMaterial.make(str(tmp_path), "required").server_options("127.0.0.7")
    assert contents() == contents_before


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
def test_only_the_user_can_read_the_files(tmp_path: Path) -> None:
    """The directory of certificates and its files can only be read by their owner."""
    directory = tmp_path / "tls"
    tls.TlsMaterial.make(str(directory), "required")
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}


def test_key_stores_have_the_key_and_the_password(tmp_path: Path) -> None:
    """Cassandra reads the key store and the trust store with the passwords in its options."""
    from cryptography.hazmat.primitives.serialization import pkcs12

    options = tls.TlsMaterial.make(str(tmp_path), "required").server_options("127.0.0.7")
    password = options["keystore_password"].encode()
    # The key store has the node's key and certificate, and the certificate of the CA (certificate
    # authority) as the chain.
    _, _, chain = pkcs12.load_key_and_certificates(Path(options["keystore"]).read_bytes(), password)
    assert len(chain) == 1
    # The trust store has the key and the certificate of the CA. Java trusts this certificate.
    key, certificate, chain = pkcs12.load_key_and_certificates(
        Path(options["truststore"]).read_bytes(), options["truststore_password"].encode()
    )
    assert key is not None
    assert certificate is not None
    assert chain == []


def _certificate(path: str) -> Any:
    """Return the certificate in a PEM file."""
    from cryptography import x509

    return x509.load_pem_x509_certificate(Path(path).read_bytes())


def test_a_certificate_has_its_subject_names_and_dates(tmp_path: Path) -> None:
    """The first name is the subject; all names are alternative names of their kinds.

    The kinds are DNS names, addresses and URIs.
    """
    from cryptography import x509

    authority = tls.Authority(tmp_path, "root")
    pem, key = authority.issue("localhost", "10.0.0.1", "spiffe://a/b")
    assert Path(pem).name == "root-1.pem"
    assert Path(key).name == "root-1.key"
    certificate = _certificate(pem)
    assert certificate.subject.rfc4514_string() == "CN=localhost"
    assert certificate.issuer.rfc4514_string() == "CN=root"
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert list(map(str, names.get_values_for_type(x509.IPAddress))) == ["10.0.0.1"]
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == ["spiffe://a/b"]
    # The certificate has been valid for a day, and stays valid for about ten years.
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    day = datetime.timedelta(days=1)
    with warnings.catch_warnings():  # newer versions of cryptography prefer properties in UTC
        warnings.simplefilter("ignore")
        begin, end = certificate.not_valid_before, certificate.not_valid_after
    assert -2 * day < begin - now < -day / 2
    assert 3640 * day < end - now < 3660 * day
    assert Path(authority.issue("b")[0]).name == "root-2.pem"


def test_a_certificate_authority_may_sign_and_others_may_not(tmp_path: Path) -> None:
    """A CA certificate has the extensions for signing; the certificates that it issues do not."""
    from cryptography import x509

    authority = tls.Authority(tmp_path)
    of_authority = _certificate(authority.path).extensions
    assert of_authority.get_extension_for_class(x509.BasicConstraints).value.ca is True
    usage = of_authority.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature
    assert usage.key_cert_sign
    assert usage.crl_sign
    assert not usage.content_commitment
    assert not usage.key_encipherment
    assert not usage.data_encipherment
    assert not usage.key_agreement
    issued = _certificate(authority.issue("a")[0]).extensions
    assert issued.get_extension_for_class(x509.BasicConstraints).value.ca is False
    # A CA without a password writes no key store.
    assert not (tmp_path / "ca.p12").exists()


def test_an_authority_makes_rsa_keys_of_a_size(tmp_path: Path) -> None:
    """With `bits`, a CA creates RSA keys of this size."""
    key = _certificate(tls.Authority(tmp_path, bits=2048).path).public_key()
    assert key.key_size == 2048
