"""Certificates for benchmarks of TLS, by the program ``openssl``."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

__all__ = ["Authority"]

DAYS = "30"


class Authority:
    """A CA that writes certificates into a directory.

    :param name: tells several CAs apart.
    :param bits: of RSA keys; None for elliptic curves.
    """

    def __init__(self, directory: Path, name: str = "ca", bits: int | None = None) -> None:
        self._directory = directory
        self._name = name
        self._kind = (
            ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            if bits is None
            else ["-newkey", f"rsa:{bits}"]
        )
        self._key = str(directory / f"{name}.key")
        self.path = str(directory / f"{name}.pem")
        _openssl(
            "req", "-x509", *self._kind, "-nodes", "-subj", f"/CN={name}", "-days", DAYS,
            "-keyout", self._key, "-out", self.path,
        )  # fmt: skip

    def issue(self, name: str) -> tuple[str, str]:
        """Write a certificate for a name or an address of IPv4; return its path and its key's."""
        stem = self._directory / f"{self._name}-{name}"
        certificate, key, request = f"{stem}.crt", f"{stem}.key", f"{stem}.csr"
        kind = "IP" if name.replace(".", "").isdigit() else "DNS"
        extensions = Path(f"{stem}.ext")
        extensions.write_text(f"subjectAltName={kind}:{name}\n")
        _openssl(
            "req", *self._kind, "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request
        )
        _openssl(
            "x509", "-req", "-in", request, "-CA", self.path, "-CAkey", self._key,
            "-CAcreateserial", "-days", DAYS, "-extfile", str(extensions), "-out", certificate,
        )  # fmt: skip
        return certificate, key

    def client(self) -> ssl.SSLContext:
        """Return a context of clients that trust this CA alone."""
        return ssl.create_default_context(cafile=self.path)


def _openssl(*arguments: str) -> None:
    """Run ``openssl``.

    :raises RuntimeError: if it fails.
    """
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"openssl {arguments[0]} failed:\n{done.stderr[-2000:]}")
