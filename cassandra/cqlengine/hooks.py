"""What programs see of the mapper's statements: logs, and `Session.execute` if they wrap it."""

from __future__ import annotations

import logging
from typing import Any

__all__ = ["log_statement", "with_rows_of"]


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

    :param result: what `Session.execute` gave.
    :param factory: the row factory.
    """
    future = getattr(result, "response_future", None)
    # None for what a program's wrapper of `Session.execute` gives instead.
    if future is not None:
        future.row_factory = factory
