"""Ways for applications to see the mapper's statements: logs, and a wrapped `Session.execute`."""

from __future__ import annotations

import logging
import re
import weakref
from collections.abc import Hashable, Mapping
from typing import Any

__all__ = ["forget", "format_log_context", "log_statement", "text_of", "with_rows_of"]


def format_log_context(
    msg: str, connection: Hashable | None = None, keyspace: str | None = None
) -> str:
    """Return `msg` after the connection's name and the keyspace, for logs.

    :param msg: the message to log.
    :param connection: the connection's name; None to leave it out.
    :param keyspace: the keyspace's name; None to leave it out.
    """
    name = "DEFAULT_CONNECTION" if connection is None else connection
    where = f"Connection: {name}" + (f", Keyspace: {keyspace}" if keyspace else "")
    return f"[{where}] {msg}"


def log_statement(log: logging.Logger, connection: Any, text: object, values: object) -> None:
    """Log a statement at DEBUG level, without values if the cluster encrypts columns.

    :param log: the logger of `cassandra.cqlengine.connection`.
    :param connection: the `Connection` that executes the statement.
    :param text: the statement's CQL.
    :param values: its values.
    """
    hidden = getattr(connection.cluster, "column_encryption_policy", None) is not None
    logged_values = "values that are not shown" if hidden else values
    log.debug("[Connection: %s] %s with %s", connection.label, text, logged_values)


def with_rows_of(result: Any, factory: Any) -> None:
    """Set the row factory that makes the rows of a blocking result when they are read.

    :param result: the result of `Session.execute`.
    :param factory: the row factory.
    """
    future = getattr(result, "response_future", None)
    # None if an application's wrapper of `Session.execute` returns something else.
    if future is not None:
        future.row_factory = factory


def forget(connection: weakref.ref[Any], text: str) -> None:
    """Prepare `text` again at its next use: its columns have new types.

    :param connection: a reference to the `Connection` that has prepared it.
    :param text: the query string.
    """
    target = connection()
    if target is not None:
        target.prepared.pop(text, None)


def text_of(statement: object, context: Mapping[str, Any]) -> str:
    """Return the documented CQL of a statement, ready for values to be inserted.

    :param statement: a `BaseCQLStatement`.
    :param context: its values; without values, nothing is inserted.
    """
    text = str(statement)
    if not context or '"' not in text:
        return text
    # A quoted name may have a percent sign in it, which is not a marker.
    return re.sub(r'"(?:[^"]|"")*"', lambda match: match[0].replace("%", "%%"), text)
