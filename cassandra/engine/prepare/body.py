"""Creates the body of a PREPARE message."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.protocol import bodies
else:
    from cassandra._impl import bodies


def prepare_body(query: str, keyspace: str | None, version: int) -> bytes:
    """Return the body of a PREPARE of `query`.

    :param keyspace: the keyspace of unqualified names. Before protocol version 5 it is ignored,
        because the connection's keyspace applies.
    """
    # PREPARE has had a keyspace since version 5 (native_protocol_v5.spec, section 4.1.5).
    return bodies.prepare_body(query, keyspace if version >= 5 else None, version)
