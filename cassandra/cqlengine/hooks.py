"""The ways in which programs see the mapper's statements: logs, and a wrapped `Session.execute`."""

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
    """Return `msg` behind the connection's name and the keyspace, for logs.

    :param msg: the text to log.
    :param connection: the connection's name; None is left out.
    :param keyspace: the keyspace's name; None is left out.
    """
    name = "DEFAULT_CONNECTION" if connection is None else connection
    where = f"Connection: {name}" + (f", Keyspace: {keyspace}" if keyspace else "")
    return f"[{where}] {msg}"


def log_statement(log: logging.Logger, connection: Any, text: object, values: object) -> None:
    """Log a statement at DEBUG, without values if the cluster encrypts columns.

    :param log: the logger of `cassandra.cqlengine.connection`.
    :param connection: the `Connection` that executes it.
    :param text: the statement's text.
    :param values: its values.
    """
    hidden = getattr(connection.cluster, "column_encryption_policy", None) is not None
    shown = "values that are not shown" if hidden else values
    log.debug("[Connection: %s] %s with %s", connection.label, text, shown)


def with_rows_of(result: Any, factory: Any) -> None:
    """Have the rows of a blocking result made by `factory`, when they are looked at.

    :param result: the result of `Session.execute`.
    :param factory: the row factory.
    """
    future = getattr(result, "response_future", None)
    # None for what a program's wrapper of `Session.execute` gives instead.
    if future is not None:
        future.row_factory = factory


def forget(connection: weakref.ref[Any], text: str) -> None:
    """Prepare `text` anew at its next use: its columns have other types by now.

    :param connection: a reference to the `Connection` that keeps it.
    :param text: the CQL text.
    """
    found = connection()
    if found is not None:
        found.prepared.pop(text, None)


def text_of(statement: object, context: Mapping[str, Any]) -> str:
    """Return the documented text of a statement, for values to be put into it.

    :param statement: a `BaseCQLStatement`.
    :param context: its values; without any, nothing is put into the text.
    """
    text = str(statement)
    if not context or '"' not in text:
        return text
    # A quoted name may have a percent sign in it, which is not a marker.
    return re.sub(r'"(?:[^"]|"")*"', lambda found: found[0].replace("%", "%%"), text)
