"""Certificates for a local cluster: a CA, a server certificate for each node, a client certificate.

The package ``cryptography`` creates PKCS#12 key stores for the nodes, and PEM files for clients.
The nodes' trust store has the CA's certificate together with the CA's key, because Java trusts the
certificate of such a key entry. ``cryptography`` could also write the certificate alone, but not in
a form that all versions of Java trust.
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

TlsMode: TypeAlias = Literal["required", "optional", "mutual"]

# Java requires a password for key stores. It need not be secret, because the same directory has the
# keys in unencrypted PEM files.
_STORE_PASSWORD = "cassandra"
# The SPIFFE ID in the client's certificate. Servers can map it to a role.
_IDENTITY = "spiffe://local-cluster/client"
_DAY = datetime.timedelta(days=1)
_LIFE = 3650 * _DAY  # how long certificates are valid by default


def check_tls_mode(tls: TlsMode | bool | None) -> TlsMode | None:
    """Return the mode for the argument `tls` of `LocalCluster`; None for no TLS.

    True means "required".

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
    """The certificates of a cluster. Its properties are the paths of PEM files for clients.

    :param directory: the directory of the files.
    :param mode: "required", "optional" (unencrypted connections are accepted too), or "mutual"
        (clients need a certificate).
    """

    __module__ = "cassandra.testing"
    __slots__ = ("_authority", "directory", "mode")

    def __init__(self, directory: str, mode: TlsMode) -> None:
        self.directory = directory
        self.mode = mode
        self._authority = Authority(directory, password=_STORE_PASSWORD)

    @classmethod
    def make(cls, directory: str, mode: TlsMode) -> TlsMaterial:
        """Write the certificates of the CA and the client, unless the directory has them already.

        :param directory: the directory, which is created if necessary.
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
        """The SPIFFE ID in the client's certificate, among the alternative names.

        Cassandra's mutual TLS authenticators map this ID to a role (``ADD IDENTITY ... TO ROLE
        ...``).
        """
        return _IDENTITY

    @property
    def client_key(self) -> str:
        """The path of the client's private key."""
        return os.path.join(self.directory, "client.key")

    def client_context(self) -> ssl.SSLContext:
        """Return a TLS context for clients, which has the client certificate.

        The context verifies a node's certificate, and that the certificate is for the node's
        address.
        """
        context = self._authority.client()
        context.load_cert_chain(self.client_certificate, self.client_key)
        return context

    def server_options(self, address: str) -> dict[str, Any]:
        """Return the client_encryption_options of a node; create its certificate if necessary.

        :param address: the address of the node.
        """
        store = os.path.join(self.directory, f"{address}.p12")
        if not os.path.exists(store):
            # The certificate names the address of the node, because clients verify the address.
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
    """A CA that writes certificates into a directory.

    If the directory has the files of a CA with this name, that CA is used. Otherwise a new CA is
    created.

    :param directory: the directory of all files.
    :param name: the name of the CA, whose files are NAME.pem and NAME.key.
    :param bits: the size of RSA keys; None for elliptic curves.
    :param password: also write PKCS#12 key stores with this password. None writes no key stores.
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
        self._count = 0  # issued certificates, for their file names
        if not os.path.exists(self.path):
            self._make(name, name, [], -_DAY, _LIFE, issuer=None)
        self._certificate, self._key = self._load()

    def issue(
        self,
        *names: str,
        to: str = "",
        subject: str = "",
        begins: datetime.timedelta = -_DAY,
        ends: datetime.timedelta = _LIFE,
    ) -> tuple[str, str]:
        """Write a certificate and its private key, and return the paths of their two PEM files.

        :param names: addresses, host names, or URIs.
        :param to: the name of the files: TO.pem, TO.key, and TO.p12 for a key store. The default is
            the name of the CA and a number.
        :param subject: the common name; the first of `names` by default.
        :param begins: when the certificate becomes valid, relative to now. The default is a day
            ago, for machines whose clocks differ.
        :param ends: when the certificate expires, relative to now.
        """
        self._count += 1
        to = to or f"{self._name}-{self._count}"
        self._make(to, subject or names[0], names, begins, ends, issuer=self)
        stem = os.path.join(self.directory, to)
        return f"{stem}.pem", f"{stem}.key"

    def client(self) -> ssl.SSLContext:
        """Return a TLS context for clients that trusts this CA only, and verifies host names."""
        return ssl.create_default_context(cafile=self.path)

    def _load(self) -> tuple[x509.Certificate, Any]:
        """Read the certificate and the private key of this CA from their files."""
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization

        with open(self.path, "rb") as stream:
            certificate = x509.load_pem_x509_certificate(stream.read())
        with open(os.path.join(self.directory, f"{self._name}.key"), "rb") as stream:
            return certificate, serialization.load_pem_private_key(stream.read(), None)

    def _new_key(self) -> PrivateKey:
        """Return a new private key: RSA if a number of bits was chosen, otherwise ECDSA."""
        from cryptography.hazmat.primitives.asymmetric import ec, rsa

        if self._bits is None:
            return ec.generate_private_key(ec.SECP256R1())
        return rsa.generate_private_key(65537, self._bits)

    def _make(
        self,
        file_stem: str,
        subject: str,
        names: Sequence[str],
        valid_from: datetime.timedelta,
        valid_until: datetime.timedelta,
        issuer: Authority | None,
    ) -> None:
        """Create a certificate, and write its files.

        :param valid_from: when the certificate becomes valid, relative to now.
        :param valid_until: when the certificate expires, relative to now.
        :param issuer: the CA that signs the certificate. None creates the certificate of a CA,
            signed by itself.
        """
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
            .not_valid_before(now + valid_from)
            .not_valid_after(now + valid_until)
            .add_extension(
                x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True
            )
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
        )
        if issuer is None:
            # Since Python 3.13, default contexts verify strictly: a CA must declare its key usage.
            usage = x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=True,
                crl_sign=True,  # certificate revocation lists
                encipher_only=False,
                decipher_only=False,
            )
            builder = builder.add_extension(usage, critical=True)
            certificate = builder.sign(key, hashes.SHA256())
        else:
            issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer._key.public_key())
            alternative_names = x509.SubjectAlternativeName(list(map(_general_name, names)))
            builder = builder.add_extension(issuer_id, critical=False)
            builder = builder.add_extension(alternative_names, critical=False)
            certificate = builder.sign(issuer._key, hashes.SHA256())
        self._write(file_stem, key, certificate, None if issuer is None else [issuer._certificate])

    def _write(
        self,
        to: str,
        key: PrivateKey,
        certificate: x509.Certificate,
        chain: list[x509.Certificate] | None,
    ) -> None:
        """Write the key, the certificate, and (if this CA has a password) a key store.

        :param chain: the certificates of the issuing CAs; None for a CA's own certificate.
        """
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.serialization import pkcs12

        path = os.path.join(self.directory, to)
        pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        _write(f"{path}.key", key.private_bytes(pem, pkcs8, serialization.NoEncryption()))
        if self._password is not None:
            encryption = serialization.BestAvailableEncryption(self._password.encode())
            _write(
                f"{path}.p12",
                pkcs12.serialize_key_and_certificates(
                    to.encode(), key, certificate, chain, encryption
                ),
            )
        # Write the certificate last: if it exists, the other files are complete.
        _write(f"{path}.pem", certificate.public_bytes(pem))


def _general_name(text: str) -> x509.GeneralName:
    """Return the subject alternative name for a URI, an IP address or a host name."""
    from cryptography import x509

    if "://" in text:
        return x509.UniformResourceIdentifier(text)
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _write(path: str, data: bytes) -> None:
    # Pass the mode to `os.open`, which creates the file. If we changed the mode afterwards, other
    # users could read the private key until then.
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(data)
