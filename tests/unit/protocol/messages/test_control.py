"""Test messages with little content: STARTUP, OPTIONS, REGISTER, AUTH_RESPONSE and so on."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.errors import UnsupportedOperation
from cassandra.protocol.messages.control import (
    AuthResponseMessage,
    CredentialsMessage,
    OptionsMessage,
    RegisterMessage,
    StartupMessage,
    string_map_body,
)
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.opcodes import AUTH_CHALLENGE, AUTH_SUCCESS, AUTHENTICATE, READY, SUPPORTED
from tests.unit.protocol.wire import string, string_multimap, value

LONGEST = 0xFFFF  # the maximum number of bytes of a [string]


def test_control_messages() -> None:
    """READY, AUTHENTICATE, AUTH_* and SUPPORTED responses are decoded to their fields."""
    assert type(decode_response(READY, flags=0, body=b"", version=4)).__name__ == "ReadyMessage"
    assert (
        decode_response(AUTHENTICATE, flags=0, body=string("org.Auth"), version=4).authenticator
        == "org.Auth"
    )
    assert (
        decode_response(AUTH_CHALLENGE, flags=0, body=value(b"tok"), version=4).challenge == b"tok"
    )
    assert decode_response(AUTH_CHALLENGE, flags=0, body=value(None), version=4).challenge is None
    assert decode_response(AUTH_SUCCESS, flags=0, body=value(b"tok"), version=4).token == b"tok"
    supported = decode_response(
        SUPPORTED,
        flags=0,
        body=string_multimap({"CQL_VERSION": ["3.4.7"], "COMPRESSION": ["lz4", "snappy"]}),
        version=4,
    )
    assert supported.cql_versions == ["3.4.7"]
    assert supported.options == {"COMPRESSION": ["lz4", "snappy"]}


def string_map(options: dict[str, str]) -> bytes:
    """Encode a [string map] according to the specification."""
    pairs = (string(key) + string(text) for key, text in options.items())
    return len(options).to_bytes(2, "big") + b"".join(pairs)


def test_a_startup_has_the_cql_version_and_the_options() -> None:
    """STARTUP has the message's CQL version, which replaces the version in the options."""
    assert StartupMessage().body(4) == string_map({"CQL_VERSION": "3.0.0"})
    options = {"COMPRESSION": "lz4", "DRIVER_NAME": "\u00e9t\u00e9"}
    message = StartupMessage("3.4.5", options)
    assert message.body(4) == string_map({**options, "CQL_VERSION": "3.4.5"})
    # The message has a copy of the options, so the caller's dict does not change.
    message.options["CQL_VERSION"] = "1.0"
    assert "CQL_VERSION" not in options
    body = message.body(4)
    assert string("3.4.5") in body
    assert string("1.0") not in body


@pytest.mark.parametrize("long_part", ["key", "value"])
def test_strings_of_a_startup_have_at_most_65535_bytes(long_part: str) -> None:
    """A key or value of STARTUP's options has at most 65,535 bytes."""

    def options(size: int) -> dict[str, str]:
        """Return an option whose key or value has this size in bytes."""
        return {"k" * size: "v"} if long_part == "key" else {"k": "v" * size}

    assert string_map_body(options(LONGEST)) == string_map(options(LONGEST))
    with pytest.raises(ValueError, match="65536 bytes; the protocol has room for 65535"):
        string_map_body(options(LONGEST + 1))


def test_credentials_are_of_version_1_only() -> None:
    """CREDENTIALS can only be sent in protocol version 1.

    In later versions, clients log in with AUTH_RESPONSE.
    """
    login = {"username": "u", "password": "p"}
    message = CredentialsMessage(login)
    assert message.body(1) == string_map(login)
    with pytest.raises(UnsupportedOperation, match="version 2 logs in by AUTH_RESPONSE"):
        message.body(2)


@pytest.mark.parametrize(
    ("token", "body"),
    [
        (b"\0u\0p", value(b"\0u\0p")),
        ("p\u00e9", value("p\u00e9".encode())),
        (b"", value(b"")),
        ("", value(b"")),
        (None, value(None)),
    ],
)
def test_a_null_token_differs_from_an_empty_one(token: Any, body: bytes) -> None:
    """A null token of AUTH_RESPONSE is encoded differently from an empty token."""
    assert AuthResponseMessage(token).body(4) == body


def test_the_token_of_a_login_does_not_show() -> None:
    """The repr of a message with a password or token does not show the secret."""
    message = AuthResponseMessage(b"hunter2")
    assert repr(message) == "<AuthResponseMessage(response=...)>"
    assert "hunter2" not in repr(message.body(4))
    assert "hunter2" not in repr(CredentialsMessage({"password": "hunter2"}))


def test_options_and_register() -> None:
    """OPTIONS has an empty body, and the body of REGISTER is the list of event types."""
    assert OptionsMessage().body(4) == b""
    events = ["TOPOLOGY_CHANGE", "STATUS_CHANGE"]
    assert RegisterMessage(events).body(4) == b"\0\2" + string(events[0]) + string(events[1])
    assert RegisterMessage([]).body(4) == b"\0\0"


def test_a_server_may_leave_out_its_cql_versions() -> None:
    """SUPPORTED without CQL_VERSION is decoded to an empty list of CQL versions."""
    supported = decode_response(
        SUPPORTED, flags=0, body=string_multimap({"COMPRESSION": ["lz4"]}), version=4
    )
    assert supported.cql_versions == []
    assert supported.options == {"COMPRESSION": ["lz4"]}
