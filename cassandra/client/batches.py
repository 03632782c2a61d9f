"""Batches on their way to a request: bind the statements, check their kinds and their size."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.engine.request_bodies import values_of_rows
from cassandra.query.batch import BatchStatement, BoundRows, Entry, TextRows
from cassandra.query.bound import BoundStatement
from cassandra.query.named_rows import NamedRow
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.engine.request_bodies import AnyBody

__all__ = ["BATCH_WARNING_INTERVAL", "batch_statements", "texts_of", "warn_of_size"]

log = logging.getLogger("cassandra.cluster")

BATCH_WARNING_INTERVAL = 60.0  # seconds

Text = tuple[str | None, str]  # keyspace and query


def texts_of(entries: Sequence[Entry]) -> list[Text]:
    """Return (keyspace, text) of the entries that must be prepared, each once."""
    # A dict, not a set: prepared statements come back in the order of their texts.
    return list(
        {(entry.keyspace, entry.text): None for entry in entries if isinstance(entry, TextRows)}
    )


def batch_statements(
    batch: BatchStatement,
    entries: Sequence[Entry],
    prepared_texts: Mapping[Text, Any],
    prepared_by_id: Callable[[bytes], PreparedStatement | None],
) -> list[tuple[PreparedStatement | None, Any]]:
    """Return the entries of `batch` as `BatchBody` takes them. It raises the errors of binding.

    :param prepared_texts: the prepared statements of entries that are texts.
    :param prepared_by_id: finds those of entries that are ids.
    """
    statements: list[tuple[PreparedStatement | None, Any]] = []
    for entry in entries:
        if isinstance(entry, TextRows):
            rows = entry.bind_to(prepared_texts[entry.keyspace, entry.text])
            # Only now that the text's values are bound is their partition known.
            batch.route_by(rows)
            statements.append((rows.prepared, rows.block))
        elif isinstance(entry, BoundRows):
            statements.append((entry.prepared, entry.block))
        elif isinstance(entry, BoundStatement):
            statements.append(
                (entry.prepared_statement, entry.block if entry.block is not None else ())
            )
        elif isinstance(entry, NamedRow):
            statements.append(entry.bound(prepared_by_id))
        else:
            statements.append((None, entry))
    return statements


def warn_of_size(request_body: AnyBody, batch: BatchStatement, limit: int) -> None:
    """Log that a batch is large, unless all of it is in one partition.

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
    """Count the partitions of a batch; 0 if that of a statement is not known."""
    keys = set()
    for prepared, values in getattr(request_body, "statements", ()):
        indexes = prepared.routing_key_indexes if prepared is not None else None
        # A single unknown partition makes the whole count unknown.
        if not indexes or not values:
            return 0
        for block in values_of_rows(values):
            keys.add((prepared.table_keyspace, prepared.table, block.routing_key(indexes)))
    return len(keys)
