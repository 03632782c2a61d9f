"""Messages with little content: STARTUP, OPTIONS, REGISTER and so on."""

from __future__ import annotations

from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.opcodes import AUTH_CHALLENGE, AUTH_SUCCESS, AUTHENTICATE, READY, SUPPORTED
from tests.unit.protocol.wire import string, string_multimap, value


def test_control_messages() -> None:
    """Each message has the fields that its body contains."""
    assert type(decode_response(READY, 0, b"", 4)).__name__ == "ReadyMessage"
    assert decode_response(AUTHENTICATE, 0, string("org.Auth"), 4).authenticator == "org.Auth"
    assert decode_response(AUTH_CHALLENGE, 0, value(b"tok"), 4).challenge == b"tok"
    assert decode_response(AUTH_CHALLENGE, 0, value(None), 4).challenge is None
    assert decode_response(AUTH_SUCCESS, 0, value(b"tok"), 4).token == b"tok"
    supported = decode_response(
        SUPPORTED,
        0,
        string_multimap({"CQL_VERSION": ["3.4.7"], "COMPRESSION": ["lz4", "snappy"]}),
        4,
    )
    assert (supported.cql_versions, supported.options) == (
        ["3.4.7"],
        {"COMPRESSION": ["lz4", "snappy"]},
    )
