"""A function for tests of protocol handlers."""

from __future__ import annotations

from typing import Any

from cassandra.protocol import ProtocolHandler, get_registered_classes


def handler_of(message_class: Any) -> Any:
    """Return a protocol handler that decodes messages of one opcode by `message_class`."""
    classes_by_opcode = {**get_registered_classes(), message_class.opcode: message_class}
    return type("Own", (ProtocolHandler,), {"message_types_by_opcode": classes_by_opcode})
