"""Prepares batches for sending: binds their statements, and warns of their size."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.engine.request_bodies import values_of_rows
from cassandra.query.batch import BatchStatement, BoundRow, BoundRows, Entry, TextRows
from cassandra.query.named_rows import NamedRow
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.engine.request_bodies import AnyBody

__all__ = ["BATCH_WARNING_INTERVAL", "batch_statements", "routed", "texts_of", "warn_of_size"]

log = logging.getLogger("cassandra.cluster")

BATCH_WARNING_INTERVAL = 60.0  # seconds

Text = tuple[str | None, str]  # (keyspace, CQL)


def texts_of(entries: Sequence[Entry]) -> list[Text]:
    """Return the distinct (keyspace, CQL) pairs of entries that must be prepared."""
    # A dict keeps the order: prepared statements come back in the order of these pairs.
    return list(
        {(entry.keyspace, entry.text): None for entry in entries if isinstance(entry, TextRows)}
    )


def batch_statements(
    entries: Sequence[Entry],
    prepared_texts: Mapping[Text, Any],
    prepared_by_id: Callable[[bytes], PreparedStatement | None],
) -> list[tuple[PreparedStatement | None, Any]]:
    """Return the entries of a batch in the form of `BatchBody`. Raises the errors of binding.

    :param prepared_texts: the prepared statements of entries that are CQL strings.
    :param prepared_by_id: returns the prepared statement of an entry that has its id.
    """
    statements: list[tuple[PreparedStatement | None, Any]] = []
    for entry in entries:
        if isinstance(entry, TextRows):
            rows = entry.bind_to(prepared_texts[entry.keyspace, entry.text])
            statements.append((rows.prepared, rows.block))
        elif isinstance(entry, BoundRows):
            statements.append((entry.prepared, entry.block))
        elif isinstance(entry, BoundRow):
            block = entry.block if entry.block is not None else ()
            statements.append((entry.bound.prepared_statement, block))
        elif isinstance(entry, NamedRow):
            statements.append(entry.bound(prepared_by_id))
        else:
            statements.append((None, entry))
    return statements


def routed(
    batch: BatchStatement,
    entries: Sequence[Entry],
    statements: Sequence[tuple[PreparedStatement | None, Any]],
) -> BatchStatement:
    """Return the batch as policies see it: with the partition of the first text that was bound.

    The partition of a text is known only now that its values are bound. The application's batch
    stays as it is, because it may be executed again, in another session or keyspace.

    :param statements: the entries in the form of `BatchBody`.
    """
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
    """Log that a batch is large, unless it is in a single partition.

    Servers make an exception for such batches.
    """
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
    """Count the partitions of a batch; 0 if a statement's partition is unknown."""
    keys = set()
    for prepared, values in getattr(request_body, "statements", ()):
        indexes = prepared.routing_key_indexes if prepared is not None else None
        # One unknown partition makes the count unknown.
        if not indexes or not values:
            return 0
        for block in values_of_rows(values):
            keys.add((prepared.table_keyspace, prepared.table, block.routing_key(indexes)))
    return len(keys)
