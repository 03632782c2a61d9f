"""Test EVENT responses about changes of the schema, the topology and the status of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.opcodes import (
    ERROR,
    EVENT,
    RESULT_KIND_SCHEMA_CHANGE,
    RESULT_KIND_SET_KEYSPACE,
)
from tests.unit.protocol.messages.test_results import result
from tests.unit.protocol.wire import byte, int32, string, string_list

# for each schema change: the body of the message, and the decoded fields
SCHEMA_CHANGES = [
    (
        string("CREATED") + string("KEYSPACE") + string("k"),
        {"change_type": "CREATED", "target_type": "KEYSPACE", "keyspace": "k"},
    ),
    (
        string("UPDATED") + string("TABLE") + string("k") + string("t"),
        {"change_type": "UPDATED", "target_type": "TABLE", "keyspace": "k", "table": "t"},
    ),
    (
        string("DROPPED") + string("TYPE") + string("k") + string("u"),
        {"change_type": "DROPPED", "target_type": "TYPE", "keyspace": "k", "type": "u"},
    ),
]


@pytest.mark.parametrize(("data", "expected"), SCHEMA_CHANGES)
def test_schema_changes(data: bytes, expected: dict[str, str]) -> None:
    """A schema change has the same fields in a RESULT and in an EVENT."""
    assert result(int32(RESULT_KIND_SCHEMA_CHANGE) + data).schema_change_event == expected
    event = decode_response(EVENT, flags=0, body=string("SCHEMA_CHANGE") + data, version=4)
    assert event.event_type == "SCHEMA_CHANGE"
    assert event.event_args == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (string("k") + string("w"), {"keyspace": "k", "widget": "w"}),
        (string("k") + string("w") + b"more", {"keyspace": "k", "widget": "w"}),
        (string("k"), {"keyspace": "k"}),
        (b"", {"keyspace": ""}),
    ],
)
def test_schema_changes_of_unknown_targets(fields: bytes, expected: dict[str, str]) -> None:
    """A schema change of an unknown kind of object has the keyspace and the name, if they are sent.

    Newer servers may have kinds of objects that the driver does not know, here a "widget".
    """
    data = string("CREATED") + string("WIDGET") + fields
    event = result(int32(RESULT_KIND_SCHEMA_CHANGE) + data).schema_change_event
    assert event == {"change_type": "CREATED", "target_type": "WIDGET", **expected}


@pytest.mark.parametrize("target", ["FUNCTION", "AGGREGATE"])
def test_schema_changes_of_functions(target: str) -> None:
    """Schema changes of functions have the argument types, because names may be overloaded."""
    event_body = (
        string("CREATED")
        + string(target)
        + string("k")
        + string("f")
        + string_list(["int", "text"])
    )
    event = result(int32(RESULT_KIND_SCHEMA_CHANGE) + event_body).schema_change_event
    assert event[target.lower()].signature == "f(int,text)"


@pytest.mark.parametrize(
    ("data", "args"),
    [
        (
            string("TOPOLOGY_CHANGE")
            + string("NEW_NODE")
            + byte(4)
            + b"\x7f\x00\x00\x01"
            + int32(9042),
            {"change_type": "NEW_NODE", "address": ("127.0.0.1", 9042)},
        ),
        (
            string("STATUS_CHANGE") + string("DOWN") + byte(16) + bytes(15) + b"\x01" + int32(9042),
            {"change_type": "DOWN", "address": ("::1", 9042)},
        ),
        (
            string("CLIENT_ROUTES_CHANGE")
            + string("UPDATE_NODES")
            + string_list(["c"])
            + string_list(["h1", "h2"]),
            {"change_type": "UPDATE_NODES", "connection_ids": ["c"], "host_ids": ["h1", "h2"]},
        ),
    ],
)
def test_events(data: bytes, args: dict[str, Any]) -> None:
    """Each EVENT is decoded to the fields that its body contains."""
    event = decode_response(EVENT, flags=0, body=data, version=4)
    assert event.event_args == args


NAME = "\u00dcn\u00ef"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_names_are_read_in_latin_1_and_utf_8(encoding: str) -> None:
    """Names are decoded both from Latin-1, which Cassandra writes, and from UTF-8 (ScyllaDB)."""
    encoded = NAME.encode(encoding)
    name = len(encoded).to_bytes(2, "big") + encoded
    data = string("CREATED") + string("TYPE") + name + name
    expected = {"change_type": "CREATED", "target_type": "TYPE", "keyspace": NAME, "type": NAME}
    assert result(int32(RESULT_KIND_SCHEMA_CHANGE) + data).schema_change_event == expected
    argument_types = b"\0\1" + name
    data = string("DROPPED") + string("FUNCTION") + name + name + argument_types
    function = result(int32(RESULT_KIND_SCHEMA_CHANGE) + data).schema_change_event["function"]
    assert function.name == NAME
    assert function.argument_types == [NAME]
    assert result(int32(RESULT_KIND_SET_KEYSPACE) + name).new_keyspace == NAME
    # 0x2400 is the code of "already exists"; this error has the names of a keyspace and a table.
    exists = decode_response(
        ERROR, flags=0, body=int32(0x2400) + string("there") + name + name, version=4
    )
    assert exists.to_exception().table == NAME
