"""Certificates for a local cluster: a CA, a server certificate for each node, a client certificate.

Servers get PKCS#12 key stores, clients PEM files. The package ``cryptography`` makes them, or the
program ``openssl`` if it is not installed. The trust store has the CA's certificate with its key:
Java trusts the certificate of a key entry. Neither tool can mark a bare certificate as trusted in
the way that all versions of Java understand.
"""

from __future__ import annotations

import datetime
import importlib.util
import ipaddress
import os
import shutil
import ssl
import subprocess
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from cassandra.testing.errors import CommandFailed, MissingRequirement

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ["TlsMaterial", "TlsMode", "check_tls_mode"]

TlsMode: TypeAlias = Literal["required", "optional", "mutual"]

# Java wants key stores to have one. It protects nothing: the PEM files lie beside them.
_STORE_PASSWORD = "cassandra"
# Names the client to servers that know roles by SPIFFE IDs.
_IDENTITY = "spiffe://local-cluster/client"
_DAYS = 3650
_OPENSSL_TIMEOUT_S = 60.0


def check_tls_mode(tls: TlsMode | bool | None) -> TlsMode | None:
    """Return the mode: "required" for True, None for False.

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

    :param directory: where the files are made.
    :param mode: "required", "optional", or "mutual" if clients need a certificate, too.
    """

    __module__ = "cassandra.testing"
    __slots__ = ("_maker", "directory", "mode")

    def __init__(self, directory: str, mode: TlsMode) -> None:
        self.directory = directory
        self.mode = mode
        self._maker = _maker(directory)

    @classmethod
    def make(cls, directory: str, mode: TlsMode) -> TlsMaterial:
        """Write all files that do not belong to one node.

        Certificates of an earlier cluster in the directory are used again.

        :param directory: where to write them.
        :param mode: the cluster's `tls`.
        """
        os.makedirs(directory, mode=0o700, exist_ok=True)
        material = cls(directory, mode)
        if not os.path.exists(material.ca_certificate):
            material._maker.authority()
        if not os.path.exists(material.client_certificate):
            material._maker.issue("client", None)
        return material

    @property
    def ca_certificate(self) -> str:
        """The path of the certificate that verifies the nodes."""
        return os.path.join(self.directory, "ca.pem")

    @property
    def client_certificate(self) -> str:
        """The path of a certificate that nodes accept in the mode "mutual"."""
        return os.path.join(self.directory, "client.pem")

    @property
    def client_identity(self) -> str:
        """The client's name in its certificate: the SPIFFE ID among its alternative names.

        Cassandra's mutual TLS authenticators know roles by it (``ADD IDENTITY ... TO ROLE ...``).
        """
        return _IDENTITY

    @property
    def client_key(self) -> str:
        """The path of its private key."""
        return os.path.join(self.directory, "client.key")

    def client_context(self) -> ssl.SSLContext:
        """Return a context that verifies the nodes and shows the client certificate.

        Nodes are verified by certificate and address.
        """
        context = ssl.create_default_context(cafile=self.ca_certificate)
        context.load_cert_chain(self.client_certificate, self.client_key)
        return context

    def server_options(self, address: str) -> dict[str, Any]:
        """Return the client_encryption_options of the node at `address`.

        Its certificate is made first if need be.

        :param address: the address, a text.
        """
        store = os.path.join(self.directory, f"{address}.p12")
        if not os.path.exists(store):
            self._maker.issue(address, address)
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


def _maker(directory: str) -> _Cryptography | _OpenSSL:
    if importlib.util.find_spec("cryptography") is not None:
        return _Cryptography(directory)
    program = shutil.which("openssl")
    if program is not None:
        return _OpenSSL(directory, program)
    raise MissingRequirement(
        "a cluster with TLS needs certificates, and there is neither the Python package "
        "cryptography nor the program openssl to make them. Install one: pip install cryptography; "
        "or Debian and Ubuntu: apt-get install openssl"
    )


def _write(path: str, data: bytes) -> None:
    # The mode is given at the open: a chmod afterwards leaves a moment when others can read it.
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(data)


class _Cryptography:
    """Makes certificates by the Python package."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def authority(self) -> None:
        """Write ca.pem, ca.key and the trust store ca.p12."""
        self._make("ca", None, authority=True)

    def issue(self, name: str, address: str | None) -> None:
        """Write NAME.pem, NAME.key and the key store NAME.p12; a server's if it has `address`."""
        self._make(name, address, authority=False)

    def _issuer(self) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        """Return the CA's certificate and key."""
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        with open(os.path.join(self.directory, "ca.pem"), "rb") as stream:
            certificate = x509.load_pem_x509_certificate(stream.read())
        with open(os.path.join(self.directory, "ca.key"), "rb") as stream:
            key = serialization.load_pem_private_key(stream.read(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return certificate, key

    def _make(self, name: str, address: str | None, authority: bool) -> None:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID

        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"local cluster {name}")])
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            # A day ago, for machines whose clocks do not agree.
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=_DAYS))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
        )
        chain = None
        if authority:
            # Digital signatures, and the signing of certificates and revocation lists.
            usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
            certificate = (
                builder.issuer_name(subject)
                .add_extension(usage, critical=True)
                .sign(key, hashes.SHA256())
            )
        else:
            issuer, issuer_key = self._issuer()
            issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
            builder = builder.issuer_name(issuer.subject).add_extension(issuer_id, critical=False)
            names: list[x509.GeneralName]
            if address is not None:
                # Clients verify the address that they connect to; a common name has not counted for
                # years.
                names = [x509.IPAddress(ipaddress.ip_address(address)), x509.DNSName("localhost")]
            else:
                names = [x509.UniformResourceIdentifier(_IDENTITY)]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
            certificate = builder.sign(issuer_key, hashes.SHA256())
            chain = [issuer]
        self._store(name, key, certificate, chain)

    def _store(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        certificate: x509.Certificate,
        chain: list[x509.Certificate] | None,
    ) -> None:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.serialization import pkcs12

        path = os.path.join(self.directory, name)
        _write(
            f"{path}.key",
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )
        encryption = serialization.BestAvailableEncryption(_STORE_PASSWORD.encode())
        _write(
            f"{path}.p12",
            pkcs12.serialize_key_and_certificates(
                name.encode(), key, certificate, chain, encryption
            ),
        )
        # Last: the certificate is looked for to know that the rest is there.
        _write(f"{path}.pem", certificate.public_bytes(serialization.Encoding.PEM))


class _OpenSSL:
    """Makes certificates by the program."""

    def __init__(self, directory: str, program: str) -> None:
        self.directory = directory
        self.program = program

    def authority(self) -> None:
        """Write ca.pem, ca.key and the trust store ca.p12."""
        extensions = (
            "basicConstraints=critical,CA:TRUE\n"
            "keyUsage=critical,digitalSignature,keyCertSign,cRLSign\n"
        )
        self._make(
            "ca", f"[v3]\n{extensions}subjectKeyIdentifier=hash\n", ["-signkey", "ca.key"], []
        )

    def issue(self, name: str, address: str | None) -> None:
        """Write NAME.pem, NAME.key and the key store NAME.p12; a server's if it has `address`."""
        extensions = (
            "basicConstraints=critical,CA:FALSE\n"
            "subjectKeyIdentifier=hash\n"
            "authorityKeyIdentifier=keyid\n"
        )
        names = f"URI:{_IDENTITY}" if address is None else f"IP:{address},DNS:localhost"
        extensions += f"subjectAltName={names}\n"
        signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
        self._make(name, f"[v3]\n{extensions}", signing, ["-certfile", "ca.pem"])

    def _make(self, name: str, extensions: str, signing: list[str], chain: list[str]) -> None:
        settings, request, made = f"{name}.cnf", f"{name}.csr", f"{name}.pem.new"
        text = (
            f"[req]\ndistinguished_name=dn\nprompt=no\n[dn]\nCN=local cluster {name}\n{extensions}"
        )
        _write(os.path.join(self.directory, settings), text.encode())
        self._run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.sec1")
        # ecparam writes the SEC1 form; clients get PKCS#8, as from the Python package.
        self._run("pkcs8", "-topk8", "-nocrypt", "-in", f"{name}.sec1", "-out", f"{name}.key")
        self._run("req", "-new", "-key", f"{name}.key", "-config", settings, "-out", request)
        common = [
            "-days",
            str(_DAYS),
            "-sha256",
            "-extfile",
            settings,
            "-extensions",
            "v3",
            "-out",
            made,
        ]
        self._run("x509", "-req", "-in", request, *signing, *common)
        store = [
            "-export",
            "-inkey",
            f"{name}.key",
            "-in",
            made,
            *chain,
            "-name",
            name,
            "-out",
            f"{name}.p12",
        ]
        self._run("pkcs12", *store, "-passout", f"pass:{_STORE_PASSWORD}")
        # Renamed last: the certificate is there only if everything else is.
        os.rename(os.path.join(self.directory, made), os.path.join(self.directory, f"{name}.pem"))

    def _run(self, *arguments: str) -> None:
        command = [self.program, *arguments]
        done = subprocess.run(
            command,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_OPENSSL_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            text = done.stdout.decode(errors="replace")
            raise CommandFailed(
                f"openssl {arguments[0]} failed:\n{text}", code=done.returncode, output=text
            )
