"""Helpers of connections: logs of statements, and the row factory of a result."""

from __future__ import annotations

import logging
import re
import weakref
from collections.abc import Hashable, Mapping
from typing import Any


def format_log_context(
    msg: str, connection: Hashable | None = None, keyspace: str | None = None
) -> str:
    """Return `msg` with the connection's name and the keyspace in front, for logs.

    :param msg: the message to log.
    :param connection: the connection's name; None for the default connection.
    :param keyspace: the keyspace's name; None to leave it out.
    """
    name = "DEFAULT_CONNECTION" if connection is None else connection
    context = f"Connection: {name}" + (f", Keyspace: {keyspace}" if keyspace else "")
    return f"[{context}] {msg}"


def log_statement(log: logging.Logger, connection: Any, text: object, values: object) -> None:
    """Log a statement at DEBUG level. If the cluster encrypts columns, leave out the values.

    :param log: the logger of `cassandra.cqlengine.connection`.
    :param connection: the `Connection` that executes the statement.
    :param text: the statement's CQL.
    :param values: the statement's values.
    """
    is_secret = getattr(connection.cluster, "column_encryption_policy", None) is not None
    logged_values = "values that are not shown" if is_secret else values
    log.debug("[Connection: %s] %s with %s", connection.label, text, logged_values)


def set_row_factory(result: Any, factory: Any) -> None:
    """Set the row factory of a blocking result. Call this before reading rows.

    :param result: the result of `Session.execute`.
    :param factory: the row factory.
    """
    future = getattr(result, "response_future", None)
    # If the application has wrapped `Session.execute`, its function may return another object,
    # which has no response future.
    if future is not None:
        future.row_factory = factory


def forget(connection: weakref.ref[Any], text: str) -> None:
    """Drop a connection's prepared statement of `text`, so that the next use prepares `text` again.

    The driver calls this when the server reports that types of the statement's columns have
    changed.

    :param connection: a reference to the `Connection` that has prepared the statement.
    :param text: the query string.
    """
    target = connection()
    if target is not None:
        target.prepared.pop(text, None)


def text_of(statement: object, context: Mapping[str, Any]) -> str:
    """Return the CQL of a statement with ``%(name)s`` markers, as `SimpleStatement` needs it.

    :param statement: a `BaseCQLStatement`.
    :param context: the statement's values. If it is empty, the CQL is returned unchanged, because
        `SimpleStatement` then inserts no values and leaves percent signs alone.
    """
    text = str(statement)
    if not context or '"' not in text:
        return text
    # Double each percent sign in a quoted name: `SimpleStatement` would treat a single one as the
    # start of a marker.
    return re.sub(r'"(?:[^"]|"")*"', lambda match: match[0].replace("%", "%%"), text)
