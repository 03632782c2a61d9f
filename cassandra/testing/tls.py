"""Certificates for a local cluster: a CA, a server certificate for each node, a client certificate.

Servers get PKCS#12 key stores, clients get PEM files. We create them with the package
``cryptography``. The trust store has the CA's certificate with its key, because Java trusts the
certificate of a key entry. The package cannot mark a bare certificate as trusted in a way that all
versions of Java understand.
"""

from __future__ import annotations

import datetime
import importlib.util
import ipaddress
import os
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from cassandra.testing.errors import MissingRequirement

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

__all__ = ["Authority", "TlsMaterial", "TlsMode", "check_tls_mode"]

TlsMode: TypeAlias = Literal["required", "optional", "mutual"]

# Java requires a password for key stores. It protects nothing, because the PEM files are in the
# same directory.
_STORE_PASSWORD = "cassandra"
# Identifies the client to servers that map SPIFFE IDs to roles.
_IDENTITY = "spiffe://local-cluster/client"
_DAY = datetime.timedelta(days=1)
_LIFE = 3650 * _DAY


def check_tls_mode(tls: TlsMode | bool | None) -> TlsMode | None:
    """Return the mode. True means "required", False means None.

    :raises ValueError: if `tls` is not a mode.
    """
    if tls is True:
        return "required"
    if tls is None or tls is False:
        return None
    if tls not in get_args(TlsMode):
        raise ValueError(f"tls={tls!r}: expected one of {', '.join(map(repr, get_args(TlsMode)))}")
    return tls


class TlsMaterial:
    """Paths of PEM files for clients.

    They are ``ca_certificate``, ``client_certificate`` and ``client_key`` (not encrypted).

    :param directory: where the files are created.
    :param mode: "required", "optional", or "mutual" if clients need a certificate, too.
    """

    __module__ = "cassandra.testing"
    __slots__ = ("_authority", "directory", "mode")

    def __init__(self, directory: str, mode: TlsMode) -> None:
        self.directory = directory
        self.mode = mode
        self._authority = Authority(directory, password=_STORE_PASSWORD)

    @classmethod
    def make(cls, directory: str, mode: TlsMode) -> TlsMaterial:
        """Write all files that do not belong to a single node.

        Existing certificates of an earlier cluster in the directory are reused.

        :param directory: where to write them.
        :param mode: the `tls` argument of the cluster.
        """
        os.makedirs(directory, mode=0o700, exist_ok=True)
        material = cls(directory, mode)
        if not os.path.exists(material.client_certificate):
            material._authority.issue(_IDENTITY, to="client", subject="local cluster client")
        return material

    @property
    def ca_certificate(self) -> str:
        """The path of the CA certificate that verifies the nodes."""
        return os.path.join(self.directory, "ca.pem")

    @property
    def client_certificate(self) -> str:
        """The path of a client certificate that nodes accept in the mode "mutual"."""
        return os.path.join(self.directory, "client.pem")

    @property
    def client_identity(self) -> str:
        """The client's identity in its certificate: the SPIFFE ID in its alternative names.

        Cassandra's mutual TLS authenticators map it to a role (``ADD IDENTITY ... TO ROLE ...``).
        """
        return _IDENTITY

    @property
    def client_key(self) -> str:
        """The path of the client's private key."""
        return os.path.join(self.directory, "client.key")

    def client_context(self) -> ssl.SSLContext:
        """Return a context that verifies the nodes and sends the client certificate.

        It verifies the certificate and the address of a node.
        """
        context = self._authority.client()
        context.load_cert_chain(self.client_certificate, self.client_key)
        return context

    def server_options(self, address: str) -> dict[str, Any]:
        """Return the client_encryption_options of the node at `address`.

        The node's certificate is created first if necessary.

        :param address: the address as a string.
        """
        store = os.path.join(self.directory, f"{address}.p12")
        if not os.path.exists(store):
            # Clients verify the address that they connect to.
            self._authority.issue(
                address, "localhost", to=address, subject=f"local cluster {address}"
            )
        return {
            "enabled": True,
            "optional": self.mode == "optional",
            "require_client_auth": self.mode == "mutual",
            "keystore": store,
            "keystore_password": _STORE_PASSWORD,
            "truststore": os.path.join(self.directory, "ca.p12"),
            "truststore_password": _STORE_PASSWORD,
            "store_type": "PKCS12",
        }


class Authority:
    """A CA that writes certificates into a directory. If the directory already has a CA, it is
    reused.

    :param directory: the directory of all files. The CA's files are NAME.pem and NAME.key.
    :param name: distinguishes several CAs in a directory.
    :param bits: the size of RSA keys; None for elliptic curves.
    :param password: the password of key stores, which are written in addition to the other files.
        None writes no key stores.
    :raises MissingRequirement: if the package cryptography is not installed.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        name: str = "ca",
        bits: int | None = None,
        password: str | None = None,
    ) -> None:
        if importlib.util.find_spec("cryptography") is None:
            raise MissingRequirement(
                "TLS requires cryptography, the Python package that makes its certificates: "
                "pip install cryptography"
            )
        self.directory = os.fspath(directory)
        self.path = os.path.join(self.directory, f"{name}.pem")
        self._name = name
        self._bits = bits
        self._password = password
        self._count = 0
        if not os.path.exists(self.path):
            self._make(name, name, [], -_DAY, _LIFE, None)
        self._certificate, self._key = self._load()

    def issue(
        self,
        *names: str,
        to: str = "",
        subject: str = "",
        begins: datetime.timedelta = -_DAY,
        ends: datetime.timedelta = _LIFE,
    ) -> tuple[str, str]:
        """Write a certificate and its key, and return the paths of both.

        :param names: addresses, host names, or URIs.
        :param to: the name of the files: TO.pem and TO.key, and TO.p12 for a key store. By default
            it contains the number of the certificate.
        :param subject: the common name; the first of `names` by default.
        :param begins: when it becomes valid, relative to now. The default is a day ago, for
            machines whose clocks differ.
        :param ends: when it expires, relative to now.
        """
        self._count += 1
        to = to or f"{self._name}-{self._count}"
        self._make(to, subject or names[0], names, begins, ends, self)
        stem = os.path.join(self.directory, to)
        return f"{stem}.pem", f"{stem}.key"

    def client(self) -> ssl.SSLContext:
        """Return a client context that trusts only this CA, and verifies the name of the end
        point.
        """
        return ssl.create_default_context(cafile=self.path)

    def _load(self) -> tuple[x509.Certificate, Any]:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization

        with open(self.path, "rb") as stream:
            certificate = x509.load_pem_x509_certificate(stream.read())
        with open(os.path.join(self.directory, f"{self._name}.key"), "rb") as stream:
            return certificate, serialization.load_pem_private_key(stream.read(), None)

    def _new_key(self) -> PrivateKey:
        from cryptography.hazmat.primitives.asymmetric import ec, rsa

        if self._bits is None:
            return ec.generate_private_key(ec.SECP256R1())
        return rsa.generate_private_key(65537, self._bits)

    def _make(
        self,
        to: str,
        subject: str,
        names: Sequence[str],
        begins: datetime.timedelta,
        ends: datetime.timedelta,
        issuer: Authority | None,
    ) -> None:
        """Write the files of a certificate. A certificate without an issuer is a CA certificate."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.x509.oid import NameOID

        key = self._new_key()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name if issuer is None else issuer._certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + begins)
            .not_valid_after(now + ends)
            .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        )
        if issuer is None:
            # Allow digital signatures, and signing certificates and revocation lists: strict
            # verification, the default of contexts since Python 3.13, requires that.
            usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
            certificate = builder.add_extension(usage, True).sign(key, hashes.SHA256())
        else:
            issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer._key.public_key())
            builder = builder.add_extension(issuer_id, False).add_extension(
                x509.SubjectAlternativeName(list(map(_general_name, names))), False
            )
            certificate = builder.sign(issuer._key, hashes.SHA256())
        self._write(to, key, certificate, None if issuer is None else [issuer._certificate])

    def _write(
        self,
        to: str,
        key: PrivateKey,
        certificate: x509.Certificate,
        chain: list[x509.Certificate] | None,
    ) -> None:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.serialization import pkcs12

        path = os.path.join(self.directory, to)
        pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        _write(f"{path}.key", key.private_bytes(pem, pkcs8, serialization.NoEncryption()))
        if self._password is not None:
            locked = serialization.BestAvailableEncryption(self._password.encode())
            _write(
                f"{path}.p12",
                pkcs12.serialize_key_and_certificates(to.encode(), key, certificate, chain, locked),
            )
        # Write the certificate last: its existence means that the other files are there.
        _write(f"{path}.pem", certificate.public_bytes(pem))


def _general_name(text: str) -> x509.GeneralName:
    from cryptography import x509

    if "://" in text:
        return x509.UniformResourceIdentifier(text)
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _write(path: str, data: bytes) -> None:
    # Set the mode when the file is opened: before a later chmod, other users could read it.
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(data)
