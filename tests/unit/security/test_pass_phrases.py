"""TLS keys with a pass phrase: errors name the file, and OpenSSL never prompts on a terminal."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.client.settings.tls import tls_client
from cassandra.cluster import Cluster
from tests.processes import HOME

from .certificates import Authority
from .test_secrets_of_settings import locked

# pytest finds the imported fixture by its name. In `__all__`, it does not count as an unused
# import.
__all__ = ["locked"]

pty = pytest.importorskip("pty")

# A program that loads a certificate and a locked key without a password, and prints the error.
PROGRAM = textwrap.dedent("""
    import ssl, sys
    from cassandra.client.settings.tls import tls_client
    options = {"cert_reqs": ssl.CERT_NONE, "certfile": sys.argv[1], "keyfile": sys.argv[2]}
    try:
        tls_client(None, options, None)
    except ValueError as error:
        print("refused:", error)
    """)


def options_of(locked: tuple[str, str], **options: Any) -> dict[str, Any]:
    """Return `ssl_options` with the certificate and the locked key.

    :param options: further options.
    """
    certificate, key = locked
    return {"cert_reqs": ssl.CERT_NONE, "certfile": certificate, "keyfile": key, **options}


@pytest.mark.parametrize("no_password", [{}, {"password": None}])
@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_a_missing_password_names_the_file(
    cluster_class: Any, no_password: dict[str, Any], locked: tuple[str, str]
) -> None:
    """If the key has a pass phrase, but the options have no password, the error names the key."""
    with pytest.raises(ValueError, match=r"the key in .*locked\.pem has a pass phrase: .*password"):
        cluster_class(ssl_options=options_of(locked, **no_password))


@pytest.mark.parametrize("password", ["another", b"another", lambda: "another"])
def test_the_password_unlocks_the_key(password: Any, locked: tuple[str, str]) -> None:
    """The password may be a string, bytes, or a function that returns it."""
    assert tls_client(None, options_of(locked, password=password), None) is not None


def test_a_wrong_password_names_the_files(locked: tuple[str, str]) -> None:
    """If the password is wrong, the error names the key and the option."""
    message = r"locked\.pem cannot be loaded: .*: is ssl_options\['password'\] the pass phrase of"
    with pytest.raises(ssl.SSLError, match=message):
        tls_client(None, options_of(locked, password="wrong"), None)


def test_a_locked_key_in_the_certificate_file_is_refused(
    locked: tuple[str, str], tmp_path: Path
) -> None:
    """The key may be in the file of the certificate. The error then names that file."""
    combined_file = tmp_path / "both.pem"
    combined_file.write_text(Path(locked[0]).read_text() + Path(locked[1]).read_text())
    with pytest.raises(ValueError, match=r"the key in .*both\.pem has a pass phrase"):
        tls_client(None, {"cert_reqs": ssl.CERT_NONE, "certfile": str(combined_file)}, None)


def test_the_error_says_why_files_cannot_be_loaded(authority: Authority) -> None:
    """The error says why TLS files cannot be loaded.

    OpenSSL itself only says "PEM lib" or "no certificate or crl found" for such files.
    """
    certificate, key = authority.issue("client")
    _, other_key = authority.issue("other")

    def message_for(**options: Any) -> str:
        with pytest.raises(ssl.SSLError) as failure:
            tls_client(None, options, None)
        return str(failure.value)

    swapped = message_for(certfile=key, keyfile=certificate)
    assert swapped.endswith("ssl_options['certfile'] has no BEGIN CERTIFICATE (PEM is required)")
    same_file = message_for(certfile=certificate, keyfile=certificate)
    assert "ssl_options['keyfile'] has no BEGIN PRIVATE KEY" in same_file
    assert "ssl_options['certfile'] has no BEGIN PRIVATE KEY" in message_for(certfile=certificate)
    assert "ssl_options['ca_certs'] has no BEGIN CERTIFICATE" in message_for(ca_certs=key)
    other = message_for(certfile=certificate, keyfile=other_key)
    assert other.endswith("the key is not the key of this certificate")


@pytest.mark.parametrize("name", ["certfile", "keyfile", "ca_certs"])
def test_a_missing_file_is_named(name: str, authority: Authority) -> None:
    """If one of the files does not exist, the error names its option and its path."""
    certificate, key = authority.issue("client")
    options = {"cert_reqs": ssl.CERT_NONE, "certfile": certificate, "keyfile": key}
    with pytest.raises(FileNotFoundError, match=rf"ssl_options\['{name}'\]\): '/nowhere/x\.pem'"):
        tls_client(None, {**options, name: "/nowhere/x.pem"}, None)


def test_the_pass_phrase_is_never_asked_on_a_terminal(
    locked: tuple[str, str], tmp_path: Path
) -> None:
    """A missing password raises an error, although the process has a terminal."""
    controlling_end, child_end = pty.openpty()
    with open(controlling_end, "r+b", buffering=0), open(child_end, "r+b", buffering=0) as terminal:
        # The child runs in a new session. If OpenSSL prompted for the pass phrase, it would use
        # this terminal.
        process = subprocess.run(
            [sys.executable, "-c", PROGRAM, *locked],
            stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, start_new_session=True,
            timeout=60, text=True, cwd=tmp_path,
            # The child must import the driver under test, not the one in the source checkout.
            env={**os.environ, "PYTHONPATH": HOME},
        )  # fmt: skip
    assert process.stdout.startswith("refused: the key in")
