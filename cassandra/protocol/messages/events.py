"""EVENT messages, and the fields of a schema change.

See native_protocol_v5.spec, sections 4.2.5.5 (schema change) and 4.2.6 (EVENT).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra.errors import UnknownContent
from cassandra.protocol import opcodes
from cassandra.protocol.messages.base import MessageType, public, register_class
from cassandra.protocol.primitives import Cursor
from cassandra.versions import (
    SCHEMA_TARGETS,
    SchemaTargetType,
    UserAggregateDescriptor,
    UserFunctionDescriptor,
)

GRACEFUL_DISCONNECT = "GRACEFUL_DISCONNECT"
"""The event with which a server announces that it will close the connection.

The option in SUPPORTED that offers this event has the same name.
"""


def read_schema_change(cursor: Cursor) -> dict[str, Any]:
    """Read <change_type><target><options> of a schema change; return them as a dict.

    The dict has the keys "change_type", "target_type" and "keyspace". Unless the keyspace itself
    has changed, the changed object is under the key "table", "type", "function" or "aggregate". A
    table or type is described by its name. A function or aggregate is described by a
    `UserFunctionDescriptor` or `UserAggregateDescriptor`.

    A newer server may send a target that this driver does not know. Its fields are unknown, too,
    but all known targets have the keyspace first, and then a name. So the keyspace and the name
    (under the target in lower case) are read if they are there; a missing keyspace is "".
    """
    change_type = cursor.string()
    target = cursor.string()
    event: dict[str, Any] = {"target_type": target, "change_type": change_type}
    if target not in SCHEMA_TARGETS:
        event["keyspace"] = cursor.name() if cursor.has_more else ""
        if cursor.has_more:
            event.setdefault(target.lower(), cursor.name())
        return event
    event["keyspace"] = cursor.name()
    if target in (SchemaTargetType.TABLE, SchemaTargetType.TYPE):
        event[target.lower()] = cursor.name()
    elif target == SchemaTargetType.FUNCTION:
        # Functions may be overloaded, so the argument types follow the name (section 4.2.5.5).
        event["function"] = UserFunctionDescriptor(cursor.name(), cursor.name_list())
    elif target == SchemaTargetType.AGGREGATE:
        event["aggregate"] = UserAggregateDescriptor(cursor.name(), cursor.name_list())
    return event


def _read_address_change(cursor: Cursor) -> dict[str, Any]:
    return {"change_type": cursor.string(), "address": cursor.inet()}


def _read_client_routes_change(cursor: Cursor) -> dict[str, Any]:
    """Read CLIENT_ROUTES_CHANGE, an event of ScyllaDB's protocol extensions."""
    return {
        "change_type": cursor.string(),
        "connection_ids": cursor.string_list(),
        "host_ids": cursor.string_list(),
    }


def _read_nothing(cursor: Cursor) -> dict[str, Any]:
    # GRACEFUL_DISCONNECT has no fields, because it concerns the connection that received it
    # (CEP-59).
    return {}


# The functions that read the fields of an event, by the event's type.
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
    """EVENT: the server reports a change.

    :param event_type: one of `known_event_types`.
    :param event_args: the fields of the event by name; the names depend on the type.
    """

    opcode = opcodes.EVENT
    name = "EVENT"

    def __init__(self, event_type: str, event_args: dict[str, Any]) -> None:
        self.event_type = event_type
        self.event_args = event_args

    @classmethod
    def decode(cls, cursor: Cursor) -> EventMessage:
        """Decode the body of this message.

        :param cursor: a cursor at the beginning of the body.
        """
        event_type = cursor.string()
        reader = _READERS.get(event_type)
        # Servers only send the event types in our REGISTER, so an unknown type should never come.
        if reader is None:
            raise UnknownContent(f"an event of the unknown type {event_type!r}")
        return cls(event_type, reader(cursor))
