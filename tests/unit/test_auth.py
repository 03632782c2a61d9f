"""Tests of authenticators without a cluster, and of the tokens that they send.

No repr or error shows a password.
"""

from __future__ import annotations

import copy
import pickle
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.auth import (
    Authenticator,
    AuthProvider,
    DSEGSSAPIAuthProvider,
    DSEPlainTextAuthProvider,
    PlainTextAuthenticator,
    PlainTextAuthProvider,
    SaslAuthProvider,
    Token,
    TransitionalModePlainTextAuthProvider,
)
from cassandra.errors import AuthenticationFailed

SECRET = "s\u00e9cret"
DSE = "com.datastax.bdp.cassandra.auth.DseAuthenticator"
CASSANDRA = "org.apache.cassandra.auth.PasswordAuthenticator"


@pytest.mark.parametrize("provider_class", [PlainTextAuthProvider, DSEPlainTextAuthProvider])
def test_plain_text(provider_class: Any) -> None:
    """The initial response must have the name of the user and the password, each after a NUL."""
    authenticator = provider_class("ada", SECRET).new_authenticator("10.0.0.1")
    authenticator.server_authenticator_class = CASSANDRA
    assert authenticator.initial_response() == b"\0ada\0" + SECRET.encode()


def test_the_mechanism_is_sent_first_to_dse() -> None:
    authenticator: Any = PlainTextAuthProvider("ada", SECRET).new_authenticator("10.0.0.1")
    authenticator.server_authenticator_class = DSE
    assert authenticator.initial_response() == b"PLAIN"
    assert authenticator.evaluate_challenge(b"PLAIN-START") == b"\0ada\0" + SECRET.encode()


@pytest.mark.parametrize("server", [DSE, CASSANDRA])
def test_the_password_is_sent_once_and_only_to_the_plain_mechanism(server: str) -> None:
    """The password must be sent only once, and only to PLAIN.

    Other challenges, and a second request for it, are refused.
    """
    authenticator: Any = PlainTextAuthProvider("ada", SECRET).new_authenticator("10.0.0.1")
    authenticator.server_authenticator_class = server
    # Each `initial_response` must start a new login, since an application may use one object for
    # all connections.
    for _ in range(2):
        first_response = authenticator.initial_response()
        for challenge in (b"GSSAPI-START", b"", None):
            with pytest.raises(AuthenticationFailed, match="another mechanism than PLAIN"):
                authenticator.evaluate_challenge(challenge)
        # DSE first requests the mechanism. Cassandra has got the password in the first response.
        if first_response == b"PLAIN":
            assert SECRET.encode() in authenticator.evaluate_challenge(b"PLAIN-START")
        with pytest.raises(AuthenticationFailed, match="asks for the password again"):
            authenticator.evaluate_challenge(b"PLAIN-START")


@pytest.mark.parametrize(("name", "password"), [("a\0b", "x"), ("a", "x\0root")])
def test_a_nul_in_the_name_or_password_is_refused(name: str, password: str) -> None:
    authenticator = PlainTextAuthProvider(name, password).new_authenticator("10.0.0.1")
    with pytest.raises(ValueError, match=r"has a NUL.*RFC 4616") as caught:
        authenticator.initial_response()
    assert "root" not in str(caught.value)


def test_the_transitional_provider_sends_an_empty_name_and_password() -> None:
    authenticator = TransitionalModePlainTextAuthProvider().new_authenticator("10.0.0.1")
    assert authenticator.initial_response() == b"\0\0"


def test_defaults_of_an_applications_authenticator() -> None:
    """An authenticator that overrides nothing must send no first token.

    For a challenge it raises NotImplementedError.
    """
    authenticator = Authenticator()
    assert authenticator.initial_response() is None
    authenticator.on_authentication_success(b"token")
    with pytest.raises(NotImplementedError):
        authenticator.evaluate_challenge(b"")
    with pytest.raises(NotImplementedError):
        AuthProvider().new_authenticator("10.0.0.1")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, None),
        (b"a", b"a"),
        (bytearray(b"a"), b"a"),
        (memoryview(b"a"), b"a"),
        ("\u00e9", b"\xc3\xa9"),
    ],
)
def test_tokens_are_made_of_bytes_or_strings(answer: Any, expected: bytes | None) -> None:
    assert Token.of(answer) == expected


def test_no_repr_shows_a_password() -> None:
    """No repr may show a password, and no error, such as that for one that cannot be sent."""
    provider = PlainTextAuthProvider("ada", SECRET)
    token: Any = provider.new_authenticator("10.0.0.1").initial_response()
    assert repr(token) == f"<{len(token)} bytes of a login>"
    assert repr(provider) == "PlainTextAuthProvider(username='ada', password=...)"
    authenticator = PlainTextAuthProvider("ada", SECRET + "\ud800").new_authenticator("10.0.0.1")
    with pytest.raises(
        ValueError, match="the password has characters that UTF-8 cannot"
    ) as refused:
        authenticator.initial_response()
    assert SECRET not in str(refused.value)
    with pytest.raises(TypeError, match="must give bytes or None, but gave list") as refused_token:
        Token.of([SECRET])
    assert SECRET not in str(refused_token.value)


class FakeSaslClient:
    """A fake of ``puresasl.client.SASLClient``, which answers each challenge with its repr."""

    def __init__(self, host: str, service: str, mechanism: str, **options: Any) -> None:
        self.init_arguments = (host, service, mechanism, options)

    def process(self, challenge: bytes | None = None) -> bytes:
        return b"answer to %r" % (challenge,)


@pytest.fixture
def pure_sasl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the package pure-sasl by a fake."""
    monkeypatch.setitem(sys.modules, "puresasl", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "puresasl.client", SimpleNamespace(SASLClient=FakeSaslClient))


@pytest.mark.usefixtures("pure_sasl")
def test_sasl_authenticators_use_the_client_of_pure_sasl() -> None:
    """pure-sasl must get the options, and its responses be sent; `host` is no option."""
    provider = SaslAuthProvider(service="cassandra", mechanism="X", user="ada")
    authenticator: Any = provider.new_authenticator("10.0.0.1")
    assert authenticator.sasl.init_arguments == ("10.0.0.1", "cassandra", "X", {"user": "ada"})
    assert authenticator.initial_response() == b"answer to None"
    assert authenticator.evaluate_challenge(b"c") == b"answer to b'c'"
    with pytest.raises(ValueError, match="host is set for each connection"):
        SaslAuthProvider(host="a")


@pytest.mark.usefixtures("pure_sasl")
def test_kerberos(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SASL client must get the name of the host, the service and the provider's options."""
    monkeypatch.setattr("socket.getnameinfo", lambda address, flags: (f"name of {address[0]}", 0))
    provider = DSEGSSAPIAuthProvider(qops=["auth", b"auth-int"], user="ada")
    authenticator: Any = provider.new_authenticator("10.0.0.1")
    options = {"qops": [b"auth", b"auth-int"], "user": "ada"}
    assert authenticator.sasl.init_arguments == ("name of 10.0.0.1", "dse", "GSSAPI", options)
    authenticator.server_authenticator_class = DSE
    assert authenticator.initial_response() == b"GSSAPI"
    assert authenticator.evaluate_challenge(b"GSSAPI-START") == b"answer to None"
    assert authenticator.evaluate_challenge(b"more") == b"answer to b'more'"
    authenticator_by_address: Any = DSEGSSAPIAuthProvider(
        "own", resolve_host_name=False
    ).new_authenticator("10.0.0.1")
    assert authenticator_by_address.sasl.init_arguments[:2] == ("10.0.0.1", "own")


def test_a_missing_package_is_an_error_when_the_provider_is_created(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_module: Any = None
    monkeypatch.setitem(sys.modules, "puresasl.client", no_module)
    for provider_class in (SaslAuthProvider, DSEGSSAPIAuthProvider):
        with pytest.raises(ImportError, match=r"pip install turbocql\[sasl\]"):
            provider_class()


def test_pickled_and_copied_providers_keep_the_password() -> None:
    provider = PlainTextAuthProvider("ada", "correct-horse")
    for copied in (pickle.loads(pickle.dumps(provider)), copy.deepcopy(provider)):
        assert (copied.username, copied.password) == ("ada", "correct-horse")
    provider.password = "other"
    assert provider.password == "other"
    assert "other" not in repr(vars(provider))


def test_a_password_that_is_an_int_is_sent_as_digits() -> None:
    number: Any = 1234
    authenticator = PlainTextAuthenticator("ada", number)
    assert authenticator.evaluate_challenge(b"PLAIN-START") == b"\0ada\x001234"


@pytest.mark.parametrize("part", [None, 7.5, b"bytes"])
def test_a_name_or_password_that_is_not_a_string_is_refused(part: Any) -> None:
    with pytest.raises(TypeError, match="the password must be a text, but is of type"):
        PlainTextAuthenticator("ada", part).initial_response()
    with pytest.raises(TypeError, match="the user name must be a text, but is of type"):
        PlainTextAuthenticator(part, "x").initial_response()


def test_a_mapping_of_credentials_needs_two_asterisks() -> None:
    make: Any = PlainTextAuthProvider
    with pytest.raises(TypeError, match=r"write PlainTextAuthProvider\(\*\*settings\)") as caught:
        make({"username": "ada", "password": "hidden"})
    assert "hidden" not in str(caught.value)
