"""Test the base class of messages: payloads, `send_body`, `recv_body`, and the registry."""

from __future__ import annotations

import io
from typing import Any

import pytest

from cassandra.consistency import ConsistencyLevel
from cassandra.protocol.messages import base
from cassandra.protocol.messages.base import MessageType, get_registered_classes
from cassandra.protocol.messages.control import OptionsMessage, ReadyMessage, SupportedMessage
from cassandra.protocol.messages.requests import QueryMessage
from tests.unit.protocol.wire import string_multimap


def test_payloads_are_joined_in_a_new_mapping() -> None:
    """`update_custom_payload` adds entries to the message's own mapping, not to the caller's."""
    message: Any = OptionsMessage()
    message.update_custom_payload(None)
    assert not message.custom_payload
    payload = {"a": b"1"}
    message.update_custom_payload(payload)
    message.update_custom_payload({"b": b"2"})
    assert message.custom_payload == {"a": b"1", "b": b"2"}
    # Neither the caller's mapping nor the class attribute, which is the default, may change.
    assert payload == {"a": b"1"}
    assert OptionsMessage.custom_payload is None


def test_requests_can_be_written_and_responses_read() -> None:
    """`send_body` must write the body of a request to a file, and `recv_body` read a response."""
    written = io.BytesIO()
    QueryMessage("SELECT 1", ConsistencyLevel.ONE).send_body(written, protocol_version=4)
    assert written.getvalue() == b"\0\0\0\x08SELECT 1\0\x01\0"
    body = io.BytesIO(string_multimap({"CQL_VERSION": ["3.4.7"]}))
    assert SupportedMessage.recv_body(body, 4).cql_versions == ["3.4.7"]


def test_writing_a_response_and_reading_a_request_is_refused() -> None:
    """`send_body` of a response, and `recv_body` of a request, raise TypeError."""
    with pytest.raises(TypeError, match="ReadyMessage is not a request"):
        ReadyMessage().send_body(io.BytesIO(), 4)
    with pytest.raises(TypeError, match="OptionsMessage is not a response"):
        OptionsMessage.recv_body(io.BytesIO(), 4)


def test_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """`register_class` adds a message class by opcode; `get_registered_classes` returns a copy."""
    registry: dict[int, Any] = {}
    monkeypatch.setattr(base, "message_types_by_opcode", registry)

    @base.register_class
    class CustomMessage(MessageType):
        opcode = 0x7F

    classes = get_registered_classes()
    assert classes == {0x7F: CustomMessage}
    classes.clear()
    assert registry == {0x7F: CustomMessage}


def test_the_repr_of_messages() -> None:
    """The repr of a message shows the message's fields."""
    message = OptionsMessage()
    message.stream_id = 5
    assert repr(message) == "<OptionsMessage(stream_id=5)>"
    assert MessageType.__module__ == "cassandra.protocol"
