"""Converts the statements of a batch to the form that is sent, and warns about large batches."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._habits import stack_level
from cassandra.engine.request_bodies import values_of_rows
from cassandra.query.batch import BatchStatement, BoundRow, BoundRows, Entry, TextRows
from cassandra.query.keyspace_texts import names_its_keyspace
from cassandra.query.named_rows import NamedRow
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.engine.request_bodies import AnyBody

log = logging.getLogger("cassandra.cluster")

BATCH_WARNING_INTERVAL = 60.0  # seconds between two warnings of a session about large batches

Text = tuple[str | None, str]  # (keyspace, CQL)


def texts_of(entries: Sequence[Entry]) -> list[Text]:
    """Return the (keyspace, CQL) pairs of a batch that must be prepared, without duplicates.

    A CQL string must be prepared if it has parameters.
    """
    # Use a dict as an ordered set, because the prepared statements are returned in this order.
    return list(
        {(entry.keyspace, entry.text): None for entry in entries if isinstance(entry, TextRows)}
    )


def batch_statements(
    entries: Sequence[Entry],
    prepared_texts: Mapping[Text, Any],
    prepared_by_id: Callable[[bytes], PreparedStatement | None],
) -> list[tuple[PreparedStatement | None, Any]]:
    """Convert the entries of a batch to the statements of a `BatchBody`.

    This may bind the values of entries. If binding fails, the error is raised.

    :param prepared_texts: the prepared statement for each (keyspace, CQL) string of the batch.
    :param prepared_by_id: returns the prepared statement with an id, for entries that have only the
        id.
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
            # A statement to which no values were bound has no block.
            block = entry.block if entry.block is not None else ()
            statements.append((entry.bound.prepared_statement, block))
        # This entry has only the id of its prepared statement: find the statement.
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
    """Return the batch for load balancing policies, with a partition to route it by.

    If the batch has no partition yet, use the partition of its first CQL string. That partition is
    known now, because the values are bound. The application's batch object is copied, not changed,
    because it may be executed again, in another session or keyspace.

    :param statements: the entries as the statements of a `BatchBody`.
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
    # The number is 0 if it is not known; the batch may then write several partitions.
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
        # `indexes` are the positions of the partition key among the values. Without them, or
        # without values, the partition is not known.
        if not indexes or not values:
            return 0
        for block in values_of_rows(values):
            keys.add((prepared.table_keyspace, prepared.table, block.routing_key(indexes)))
    return len(keys)
