"""Tests of options of the commands that connect to a cluster, and the resulting settings."""

from __future__ import annotations

import argparse
import getpass
import ssl
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._connecting import add_connection_options, connection_settings, reason_of


def settings_of(*arguments: str, prefix: str = "") -> dict[str, Any]:
    """Parse the arguments of a command, and return the settings of the cluster."""
    parser = argparse.ArgumentParser()
    parser.add_argument(f"--{prefix}hosts", nargs="+", default=["127.0.0.1"])
    add_connection_options(parser, prefix)
    return connection_settings(parser.parse_args(arguments), prefix)


def test_without_options() -> None:
    """Without options, a command must connect to 127.0.0.1, port 9042, without TLS."""
    assert settings_of() == {"contact_points": ["127.0.0.1"], "port": 9042, "ssl_context": None}


def test_options_of_a_second_cluster() -> None:
    """Options with a prefix must become the settings of a second cluster."""
    settings = settings_of("--to-port", "5", "--to-hosts", "a", "b", prefix="to-")
    assert (settings["port"], settings["contact_points"]) == (5, ["a", "b"])


def test_the_help_tells_the_clusters_apart(capsys: pytest.CaptureFixture[str]) -> None:
    for prefix, last_word in (("", "9042)"), ("to-", "--to-hosts")):
        with pytest.raises(SystemExit):
            settings_of("--help", prefix=prefix)
        text = capsys.readouterr().out
        assert last_word in text
        # Only the help of the second cluster must name the option of its hosts.
        assert ("of the cluster" in " ".join(text.split())) is bool(prefix)


def test_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option for TLS must affect the context.

    They set the authority, the certificate, and whether host names are checked.
    """
    contexts: list[Any] = []

    def create_context(cafile: Any = None) -> Any:
        contexts.append(SimpleNamespace(cafile=cafile, chain=None, check_hostname=None))
        contexts[-1].load_cert_chain = lambda *chain: setattr(contexts[-1], "chain", chain)
        return contexts[-1]

    monkeypatch.setattr(ssl, "create_default_context", create_context)
    assert settings_of("--ssl")["ssl_context"].check_hostname is True
    tls_context = settings_of("--cafile", "ca", "--no-hostname-check")["ssl_context"]
    assert tls_context.cafile == Path("ca")
    assert tls_context.check_hostname is False
    assert tls_context.chain is None
    tls_context = settings_of("--cert", "c", "--key", "k")["ssl_context"]
    assert tls_context.chain == (Path("c"), Path("k"))


def test_a_cloud_bundle_replaces_hosts_and_port() -> None:
    assert settings_of("--cloud-bundle", "b.zip", "--port", "5") == {
        "cloud": {"secure_connect_bundle": "b.zip"}
    }


def password(**settings: Any) -> Any:
    """Return the password of the user u in the settings."""
    provider = settings["auth_provider"]
    assert provider.username == "u"
    return provider.password


def test_ways_to_give_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password can be read from a file, from the environment or from the terminal."""
    path = tmp_path / "password"
    path.write_text("of file\n")
    monkeypatch.setenv("SECRET", "of environment")
    assert password(**settings_of("--user", "u", "--password-file", str(path))) == "of file"
    assert password(**settings_of("--user", "u", "--password-env", "SECRET")) == "of environment"
    with pytest.raises(KeyError) as missing:
        settings_of("--user", "u", "--password-env", "NOTHING")
    assert reason_of(missing.value) == "the environment has no variable 'NOTHING'"
    # Without a terminal, the command cannot ask for a password.
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))
    with pytest.raises(ValueError, match="user 'u' needs a password: give --password-env") as error:
        settings_of("--user", "u")
    assert reason_of(error.value) == str(error.value)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(getpass, "getpass", lambda prompt: f"asked by {prompt}")
    assert password(**settings_of("--user", "u")) == "asked by password of u: "


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("--key", "k"), "--key has no effect alone: add --cert"),
        (("--no-hostname-check",), "--no-hostname-check has .*: add --ssl or --cafile"),
        (("--password-env", "PW"), "--password-env has no effect alone: add --user"),
        (("--password-file", "f"), "--password-file has no effect alone: add --user"),
    ],
)
def test_options_without_their_companion(arguments: tuple[str, ...], advice: str) -> None:
    """An option that has no effect alone must be an error that says what to add."""
    with pytest.raises(ValueError, match=advice):
        settings_of(*arguments)


def test_the_companion_of_an_option_of_a_second_cluster() -> None:
    with pytest.raises(ValueError, match=r"--to-no-hostname-check .* --to-ssl or --to-cafile"):
        settings_of("--to-no-hostname-check", prefix="to-")
