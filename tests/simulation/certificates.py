"""TLS contexts for simulations.

The key is an RSA key, because elliptic curve signatures vary in length. Simulated TCP segments
would then vary, too, although only the seed may decide what happens in a simulation.
"""

from __future__ import annotations

import datetime
import functools
import ipaddress
import ssl
import tempfile
from pathlib import Path

_DAY = datetime.timedelta(days=1)


@functools.cache
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext] | None:
    """Return the client context and the node context; None if ``cryptography`` is missing."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import rsa
    except ImportError:
        return None
    # One self-signed certificate is for the addresses of all nodes.
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a simulated node")])
    addresses = [ipaddress.ip_address(f"10.0.0.{number}") for number in range(1, 255)]
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1 << 64)
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(x509.SubjectAlternativeName(map(x509.IPAddress, addresses)), False)
        .sign(key, hashes.SHA256())
    )
    private_pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    certificate_pem = certificate.public_bytes(serialization.Encoding.PEM)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "node.pem"
        path.write_bytes(private_pem + certificate_pem)
        server.load_cert_chain(path)
    client = ssl.create_default_context(cadata=certificate_pem.decode())
    return client, server
