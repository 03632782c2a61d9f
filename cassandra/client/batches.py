"""Converts a `BatchStatement` to the statements of a BATCH request, and warns of large batches.

A batch stores its statements as entries (see `cassandra.query.batch`). An entry is a query string,
or one or more rows of values for the same statement. A block holds the serialized values of an
entry.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._habits import stack_level
from cassandra._logs import Log
from cassandra.engine.request_bodies import values_of_rows
from cassandra.query.batch import BatchStatement, BoundRow, BoundRows, Entry, TextRows
from cassandra.query.keyspace_texts import names_its_keyspace
from cassandra.query.named_rows import NamedRow
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.engine.request_bodies import AnyBody

log = Log("cassandra.cluster")

BATCH_WARNING_INTERVAL = 60.0  # seconds between two warnings of a session about large batches

Text = tuple[str | None, str]  # (keyspace, CQL)


def texts_of(entries: Sequence[Entry]) -> list[Text]:
    """Return the (keyspace, CQL) pairs of a batch that must be prepared, without duplicates.

    A CQL string must be prepared if it has parameters.
    """
    # Use a dict as an ordered set: callers match this list with the prepared statements by
    # position.
    return list(
        {(entry.keyspace, entry.text): None for entry in entries if isinstance(entry, TextRows)}
    )


def batch_statements(
    entries: Sequence[Entry],
    prepared_texts: Mapping[Text, Any],
    prepared_by_id: Callable[[bytes], PreparedStatement | None],
) -> list[tuple[PreparedStatement | None, Any]]:
    """Convert the entries of a batch to the statements of a `BatchBody`.

    Rows of query strings with bind markers are bound here. If a value does not fit its column, the
    error is raised here, too.

    :param prepared_texts: the prepared statement for each (keyspace, CQL) string of the batch.
    :param prepared_by_id: returns the prepared statement that has an id. It is called for entries
        that store only the id of their statement.
    """
    statements: list[tuple[PreparedStatement | None, Any]] = []
    for entry in entries:
        # CQL strings with parameters have been prepared by now: bind their rows.
        if isinstance(entry, TextRows):
            rows = entry.bind_to(prepared_texts[entry.keyspace, entry.text])
            statements.append((rows.prepared, rows.block))
        elif isinstance(entry, BoundRows):
            statements.append((entry.prepared, entry.block))
        elif isinstance(entry, BoundRow):
            # The block is None if no values were bound to the statement.
            block = entry.block if entry.block is not None else ()
            statements.append((entry.bound.prepared_statement, block))
        # A `NamedRow` stores only the id of its prepared statement: look up the statement.
        elif isinstance(entry, NamedRow):
            statements.append(entry.bound(prepared_by_id))
        else:
            # Any other entry is a CQL string without parameters, which is sent as it is.
            statements.append((None, entry))
    return statements


def warn_of_borrowed_keyspace(
    entries: Sequence[Entry], borrowed_keyspace: str, session_keyspace: str
) -> None:
    """Warn if names of a CQL string are resolved in another keyspace than the session's.

    As in cassandra-driver, unqualified names of a batch are resolved in the keyspace of its first
    prepared statement.

    :param borrowed_keyspace: the keyspace of the first prepared statement's table.
    """
    for entry in entries:
        # Only CQL strings without a `keyspace` setting can have names that are resolved in an
        # unexpected keyspace.
        if isinstance(entry, str):
            text = entry
        elif isinstance(entry, TextRows) and entry.keyspace is None:
            text = entry.text
        else:
            continue
        if not names_its_keyspace(text):
            warnings.warn(
                f"the query strings of this batch are executed in keyspace {borrowed_keyspace!r}, "
                f"that of its first prepared statement, and not in {session_keyspace!r}, the "
                "session's: set batch.keyspace, or write the keyspace before the table's name",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
            return


def warn_of_ignored_keyspace(ignored_keyspace: str, keyspace: str) -> None:
    """Warn that the keyspace of a `SimpleStatement` in a batch has no effect.

    :param keyspace: the keyspace in which the batch's query strings are executed.
    """
    warnings.warn(
        f"keyspace={ignored_keyspace!r} of a statement has no effect in this batch, whose query "
        f"strings are executed in keyspace {keyspace!r}: set batch.keyspace, or write the keyspace "
        "before the table's name",
        RuntimeWarning,
        stacklevel=stack_level(),
    )


def routed(
    batch: BatchStatement,
    entries: Sequence[Entry],
    statements: Sequence[tuple[PreparedStatement | None, Any]],
) -> BatchStatement:
    """Return the batch for load balancing policies, with a partition key to route it by.

    If the batch has no partition key yet, use the key of its first CQL string. That key is only
    known now, because its values have just been bound. Set the key on a copy of the batch, because
    the application may execute its own object again, in another session or keyspace.

    :param statements: the statements that `batch_statements` has returned for `entries`.
    """
    # Find the first CQL string whose prepared form has known partition key columns.
    if not batch.is_routed:
        for entry, (prepared, block) in zip(entries, statements, strict=True):
            if (
                isinstance(entry, TextRows)
                and prepared is not None
                and prepared.routing_key_indexes
            ):
                batch = copy.copy(batch)
                batch.route_by(BoundRows(prepared, block))
                break
    return batch


def warn_of_size(request_body: AnyBody, batch: BatchStatement, limit: int) -> None:
    """Log a warning about a large batch, unless all its statements write one partition.

    Servers do not limit the size of a batch for one partition.
    """
    # `partitions_of` returns 0 if it does not know the partitions. Warn in that case, too, because
    # there may be several.
    partitions = partitions_of(request_body)
    if partitions == 1:
        return
    log.warning(
        "%s has %d bytes, which is more than the %d of Session.batch_size_warn_threshold%s. "
        "Servers refuse batches beyond their batch_size_fail_threshold (50 KiB by default) unless "
        "all statements are for one partition; separate statements by execute_concurrent are "
        "faster, too",
        request_body.describe(),
        request_body.size,
        limit,
        f"; it is for {partitions} partitions" if partitions else "",
    )


def partitions_of(request_body: AnyBody) -> int:
    """Return the number of different partitions in a batch; 0 if any partition is not known."""
    keys = set()
    for prepared, values in getattr(request_body, "statements", ()):
        indexes = prepared.routing_key_indexes if prepared is not None else None
        # `indexes` are the positions of the partition key's columns among the values. If there are
        # no indexes or no values, the partition is not known.
        if not indexes or not values:
            return 0
        for block in values_of_rows(values):
            keys.add((prepared.table_keyspace, prepared.table, block.routing_key(indexes)))
    return len(keys)
