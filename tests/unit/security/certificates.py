"""Certificates for tests of TLS, good ones and bad ones."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)
# Digital signatures, and the signing of certificates and revocation lists: strict verification, the
# default of contexts from Python 3.13 on, asks for it, and for the ids of the keys.
CA_USAGE = x509.KeyUsage(True, False, False, False, False, True, True, False, False)


class Authority:
    """A CA that writes certificates into a directory.

    :param name: tells several CAs of a test apart.
    :param bits: of RSA keys; None for elliptic curves.
    """

    def __init__(self, directory: Path, name: str = "ca", bits: int | None = None) -> None:
        self.directory = directory
        self._bits = bits
        self._key = self._new_key()
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._count = 0
        now = datetime.datetime.now(datetime.timezone.utc)
        made = (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 2 * DAY)
            .not_valid_after(now + 100 * DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(CA_USAGE, critical=True)
            .add_extension(self._key_id(), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.path = str(directory / f"{name}.pem")
        Path(self.path).write_bytes(made.public_bytes(serialization.Encoding.PEM))

    def _key_id(self) -> x509.SubjectKeyIdentifier:
        return x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())

    def _new_key(self) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey:
        if self._bits is None:
            return ec.generate_private_key(ec.SECP256R1())
        return rsa.generate_private_key(65537, self._bits)

    def issue(
        self,
        *names: str,
        begins: datetime.timedelta = -DAY,
        ends: datetime.timedelta = 10 * DAY,
        to: str | None = None,
    ) -> tuple[str, str]:
        """Write a certificate for names and addresses; return its path and that of its key.

        :param begins: when it becomes valid, from now.
        :param ends: when it ends to be.
        :param to: the name of the files.
        """
        self._count += 1
        key = self._new_key()
        now = datetime.datetime.now(datetime.timezone.utc)
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + begins)
            .not_valid_after(now + ends)
            .add_extension(x509.SubjectAlternativeName(list(map(_name, names))), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        stem = to or f"{Path(self.path).stem}-{self._count}"
        certificate, private = self.directory / f"{stem}.crt", self.directory / f"{stem}.key"
        certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return str(certificate), str(private)

    def server(self, *names: str, clients: str | None = None, **validity: Any) -> ssl.SSLContext:
        """Return a server's context, with a certificate for `names`.

        :param clients: the path of the CA that clients must show a certificate of.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(*names, **validity))
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(clients)
        return context

    def client(self) -> ssl.SSLContext:
        """Return a client's context that trusts this CA and expects the end point's name."""
        return ssl.create_default_context(cafile=self.path)


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
