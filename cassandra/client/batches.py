"""From a batch to what a request sends: its statements bound, its kinds checked, its size looked
at.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.engine.request_bodies import values_of_rows
from cassandra.query.batch import BatchStatement, BatchType, BoundRows, Entry, TextRows
from cassandra.query.bound import BoundStatement
from cassandra.query.prepared import PreparedStatement
from cassandra.query.statement import query_head

if TYPE_CHECKING:
    from cassandra.engine.request_bodies import AnyBody

__all__ = ["BATCH_WARNING_INTERVAL", "batch_statements", "texts_of", "warn_of_size"]

log = logging.getLogger("cassandra.cluster")

BATCH_WARNING_INTERVAL = 60.0  # seconds

Text = tuple[str | None, str]  # keyspace and query


def texts_of(entries: Sequence[Entry]) -> list[Text]:
    """(keyspace, text) of the statements among `entries` that have to be prepared, each once."""
    return list(
        {(entry.keyspace, entry.text): None for entry in entries if isinstance(entry, TextRows)}
    )


def batch_statements(
    batch: BatchStatement, entries: Sequence[Entry], prepared_texts: Mapping[Text, Any]
) -> list[tuple[PreparedStatement | None, Any]]:
    """`entries` of `batch` as `BatchBody` takes them.

    prepared_texts: what those were prepared as that are texts still. Raises what binding does, and
    ValueError for statements that the server refuses in a batch of that type.
    """
    statements: list[tuple[PreparedStatement | None, Any]] = []
    for entry in entries:
        if isinstance(entry, TextRows):
            rows = entry.bind_to(prepared_texts[entry.keyspace, entry.text])
            batch.route_by(rows)
            statements.append((rows.prepared, rows.block))
        elif isinstance(entry, BoundRows):
            statements.append((entry.prepared, entry.block))
        elif isinstance(entry, BoundStatement):
            statements.append(
                (entry.prepared_statement, entry.block if entry.block is not None else ())
            )
        else:
            statements.append((None, entry))
    check_kinds(
        batch.batch_type,
        {id(prepared): prepared for prepared, _ in statements if prepared is not None},
    )
    return statements


def check_kinds(batch_type: BatchType, prepared: Mapping[int, PreparedStatement]) -> None:
    """ValueError where statements that are known to change counters, or known not to, are in a
    batch that cannot have them.

    A prepared statement is known to change a counter where a bind marker is for one, and known not
    to where it is an INSERT. Of all others the server decides.
    """
    counters = [statement for statement in prepared.values() if statement.changes_counters]
    if counters and batch_type is BatchType.LOGGED:
        raise ValueError(
            f"{query_head(counters[0].query_string)} changes a counter, which a logged batch cannot: use BatchType.COUNTER"
        )
    if counters or batch_type is BatchType.COUNTER:
        for statement in prepared.values():
            if statement.query_string.lstrip()[:6].upper() == "INSERT":
                raise ValueError(
                    f"{query_head(statement.query_string)} changes no counter, "
                    + (
                        "as all statements of a counter batch must"
                        if batch_type is BatchType.COUNTER
                        else "and cannot be in one batch with those that do"
                    )
                )


def warn_of_size(request_body: AnyBody, batch: BatchStatement, limit: int) -> None:
    """Log that a batch is large, but where all of it is in one partition, which servers make an
    exception of.
    """
    partitions = partitions_of(request_body)
    if partitions == 1:
        return
    log.warning(
        "%s has %d bytes, which is more than the %d of Session.batch_size_warn_threshold%s. Servers refuse batches beyond their "
        "batch_size_fail_threshold (50 KiB by default) unless all statements are for one partition; separate statements by "
        "execute_concurrent are faster, too",
        request_body.describe(),
        request_body.size,
        limit,
        f"; it is for {partitions} partitions" if partitions else "",
    )


def partitions_of(request_body: Any) -> int:
    """To how many partitions the statements of a batch belong; 0 where that is not known of all of
    them.
    """
    keys = set()
    for prepared, values in getattr(request_body, "statements", ()):
        indexes = prepared.routing_key_indexes if prepared is not None else None
        if not indexes or not values:
            return 0
        for block in values_of_rows(values):
            keys.add((prepared.table_keyspace, prepared.table, block.routing_key(indexes)))
    return len(keys)
