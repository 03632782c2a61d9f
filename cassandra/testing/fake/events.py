"""Encodes the bodies of EVENT messages of a fake node.

See native_protocol_v5.spec, section 4.2.6, and ScyllaDB's docs/dev/protocol-extensions.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cassandra.testing.fake.answers import schema_change_body
from cassandra.testing.fake.primitives import inet, string, string_list

# The events that each Cassandra node knows (native_protocol_v5.spec, section 4.2.6).
EVENTS = frozenset({"TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"})
ROUTES_EVENT = "CLIENT_ROUTES_CHANGE"  # an event of ScyllaDB
DRAIN_EVENT = "GRACEFUL_DISCONNECT"  # the name in Cassandra's CEP-59


def event_body(event_type: str, change: str, details: Sequence[Any]) -> bytes:
    """Return the body of an event.

    The parameters are the same as for `FakeNode.send_event`.
    """
    body = string(event_type)
    if event_type == DRAIN_EVENT:
        return body
    if event_type == "SCHEMA_CHANGE":
        target, keyspace, *rest = details
        # An event about a keyspace has no name after the keyspace. Only events about functions and
        # aggregates have argument types.
        name, arguments = (*rest, None, None)[:2]
        return body + schema_change_body(change, target, keyspace, name, arguments)
    if event_type == ROUTES_EVENT:
        connection_ids, host_ids = details
        ids = string_list([str(host_id) for host_id in host_ids])
        return body + string(change) + string_list(connection_ids) + ids
    address, port = details
    return body + string(change) + inet(address, port)
