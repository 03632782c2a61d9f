"""EVENT, and the content of a schema change (native_protocol_v5.spec, 4.2.5.5 and 4.2.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra.errors import ProtocolError
from cassandra.protocol import opcodes
from cassandra.protocol.messages.base import MessageType, public, register_class
from cassandra.protocol.primitives import Cursor
from cassandra.versions import SchemaTargetType, UserAggregateDescriptor, UserFunctionDescriptor

GRACEFUL_DISCONNECT = "GRACEFUL_DISCONNECT"
"""The event of a server that will close the connection soon, and its option in SUPPORTED."""


def read_schema_change(cursor: Cursor) -> dict[str, Any]:
    """Read <change_type><target><options> into a dict.

    Its keys are change_type, target_type, keyspace, and the target's name in small letters for the
    changed object. A table or type is its name; a function or aggregate is its descriptor
    (`UserFunctionDescriptor`, `UserAggregateDescriptor`).
    """
    change_type = cursor.string()
    target = cursor.string()
    event: dict[str, Any] = {
        "target_type": target,
        "change_type": change_type,
        "keyspace": cursor.name(),
    }
    if target in (SchemaTargetType.TABLE, SchemaTargetType.TYPE):
        event[target.lower()] = cursor.name()
    elif target == SchemaTargetType.FUNCTION:
        # Overloads share a name, so argument types are part of the target (section 4.2.5.5).
        event["function"] = UserFunctionDescriptor(cursor.name(), cursor.name_list())
    elif target == SchemaTargetType.AGGREGATE:
        event["aggregate"] = UserAggregateDescriptor(cursor.name(), cursor.name_list())
    # Not skipped: whoever reads metadata would believe that it is up to date.
    elif target != SchemaTargetType.KEYSPACE:
        raise ProtocolError(f"a schema change of the unknown kind {target!r}")
    return event


def _read_address_change(cursor: Cursor) -> dict[str, Any]:
    return {"change_type": cursor.string(), "address": cursor.inet()}


def _read_client_routes_change(cursor: Cursor) -> dict[str, Any]:
    # ScyllaDB's protocol extensions.
    return {
        "change_type": cursor.string(),
        "connection_ids": cursor.string_list(),
        "host_ids": cursor.string_list(),
    }


def _read_nothing(cursor: Cursor) -> dict[str, Any]:
    # GRACEFUL_DISCONNECT is about the connection that it comes over, and says no more (CEP-59).
    return {}


_READERS: dict[str, Callable[[Cursor], dict[str, Any]]] = {
    "TOPOLOGY_CHANGE": _read_address_change,
    "STATUS_CHANGE": _read_address_change,
    "SCHEMA_CHANGE": read_schema_change,
    "CLIENT_ROUTES_CHANGE": _read_client_routes_change,
    GRACEFUL_DISCONNECT: _read_nothing,
}

known_event_types = frozenset(_READERS)


@public
@register_class
class EventMessage(MessageType):
    """EVENT: a change that the server reports.

    :param event_type: one of `known_event_types`.
    :param event_args: its details; the keys depend on the type.
    """

    opcode = opcodes.EVENT
    name = "EVENT"

    def __init__(self, event_type: str, event_args: dict[str, Any]) -> None:
        self.event_type = event_type
        self.event_args = event_args

    @classmethod
    def decode(cls, cursor: Cursor) -> EventMessage:
        """Return the message that a body holds.

        :param cursor: the reader of the body, at its beginning.
        """
        event_type = cursor.string()
        reader = _READERS.get(event_type)
        # Servers send only types that REGISTER named, so an unknown one means a damaged message.
        if reader is None:
            raise ProtocolError(f"an event of the unknown type {event_type!r}")
        return cls(event_type, reader(cursor))
