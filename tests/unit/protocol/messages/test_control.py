"""Messages with little content: STARTUP, OPTIONS, REGISTER and so on."""

from __future__ import annotations

from cassandra.protocol.messages.decode import decode_response
from tests.unit.protocol.wire import string, string_multimap, value


def test_control_messages() -> None:
    """Each message has the fields that its body contains."""
    assert type(decode_response(2, 0, b"", 4)).__name__ == "ReadyMessage"
    assert decode_response(3, 0, string("org.Auth"), 4).authenticator == "org.Auth"
    assert decode_response(0x0E, 0, value(b"tok"), 4).challenge == b"tok"
    assert decode_response(0x0E, 0, value(None), 4).challenge is None
    assert decode_response(0x10, 0, value(b"tok"), 4).token == b"tok"
    supported = decode_response(
        6, 0, string_multimap({"CQL_VERSION": ["3.4.7"], "COMPRESSION": ["lz4", "snappy"]}), 4
    )
    assert (supported.cql_versions, supported.options) == (
        ["3.4.7"],
        {"COMPRESSION": ["lz4", "snappy"]},
    )
