"""Rows of one table into another one, of the same or another cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cassandra.bulk.scan import Scan
from cassandra.bulk.target import table_of
from cassandra.concurrent import execute_concurrent
from cassandra.query.row_factories import tuple_factory
from cassandra.sentinels import UNSET_VALUE
from cassandra.util.cql_text import escape_name

if TYPE_CHECKING:
    from cassandra.cluster.session import Session
    from cassandra.metadata.schema.tables import TableMetadata

__all__ = ["CopyReport", "copy"]

_COLLECTIONS = ("list<", "set<", "map<")


@dataclass(slots=True)
class CopyReport:
    """The outcome of a copy.

    :param read: rows that were read.
    :param written: rows that the other cluster has acknowledged.
    :param seconds: how long it took.
    """

    read: int = 0
    written: int = 0
    seconds: float = 0.0


def copy(
    session: Session,
    table: str,
    other: Session,
    other_table: str,
    *,
    columns: Sequence[str] | None = None,
    keep_ttl: bool = False,
    keep_write_time: bool = False,
    write_concurrency: int = 100,
    **options: Any,
) -> CopyReport:
    """Copy the rows of a table into another table, which has the columns with the same types.

    Nulls are not written. With `keep_ttl` or `keep_write_time` the columns of a row that differ in
    them are written by several statements.

    :param session: a blocking session that reads.
    :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
    :param other: a blocking session that writes; it may be the same one.
    :param other_table: the table to write.
    :param columns: names of columns; None for all. The primary key must be among them.
    :param keep_ttl: write each value with the seconds that it has left.
    :param keep_write_time: write each value with its write time.
    :param write_concurrency: writes in flight at most.
    :param options: see `cassandra.bulk.scan.ScanOptions`, for reading.
    :raises ValueError: if the tables do not fit, or if a column has no single TTL or write time.
    """
    begun = time.monotonic()
    made = _Copy(session, table, other, other_table, columns, keep_ttl, keep_write_time)
    report = CopyReport()
    scan = Scan(session, table, made.selectors, options=options)  # type: ignore[arg-type]
    for page in scan.pages():
        rows = page._message.decode(tuple_factory)
        writes = [write for row in rows for write in made.writes(row)]
        # The first error is raised: nothing after it counts as written.
        execute_concurrent(other, writes, concurrency=write_concurrency)
        report.read += len(rows)
        report.written += len(rows)
    report.seconds = time.monotonic() - begun
    return report


class _Copy:
    """Makes writes of rows."""

    def __init__(
        self,
        session: Session,
        table: str,
        other: Session,
        other_table: str,
        columns: Sequence[str] | None,
        keep_ttl: bool,
        keep_write_time: bool,
    ) -> None:
        source = table_of(session.cluster.metadata, table, session.keyspace, with_views=True)
        target = table_of(other.cluster.metadata, other_table, other.keyspace)
        chosen = list(source.columns) if columns is None else list(columns)
        _check(source, target, chosen)
        key = [column.name for column in target.primary_key]
        self._names = [*key, *(name for name in chosen if name not in key)]
        self._partition = len(target.partition_key)
        self._key = len(key)
        self._kept = [
            kept for kept, wanted in (("TTL", keep_ttl), ("WRITETIME", keep_write_time)) if wanted
        ]
        values = self._names[self._key :]
        if self._kept:
            _check_kept(source, values)
        asked = [f"{kept}({escape_name(name)})" for kept in self._kept for name in values]
        self.selectors = ", ".join([*map(escape_name, self._names), *asked])
        self._insert = other.prepare(self._query(target, self._names))
        of_partition = [name for name in values if target.columns[name].is_static]
        self._statics = [self._names.index(name) for name in of_partition]
        self._insert_static = None
        if of_partition and self._key > self._partition:
            names = [*key[: self._partition], *of_partition]
            self._insert_static = other.prepare(self._query(target, names))
        for prepared in (self._insert, self._insert_static):
            if prepared is not None:
                prepared.is_idempotent = True

    def _query(self, target: TableMetadata, names: Sequence[str]) -> str:
        where = f"{escape_name(target.keyspace_name)}.{escape_name(target.name)}"
        using = " AND ".join(f"{'TIMESTAMP' if k == 'WRITETIME' else k} ?" for k in self._kept)
        return (
            f"INSERT INTO {where} ({', '.join(map(escape_name, names))}) "
            f"VALUES ({', '.join('?' * len(names))})" + (f" USING {using}" if using else "")
        )

    def writes(self, row: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        """Yield the (statement, parameters) pairs that write a row."""
        count = len(self._names)
        groups: dict[tuple[Any, ...], list[int]] = {}
        for at in range(self._key, count):
            if row[at] is not None:
                place = at - self._key
                width = count - self._key
                using = tuple(
                    # 0 is "does not expire", whatever the table's default is.
                    row[count + number * width + place] or 0
                    for number in range(len(self._kept))
                )
                groups.setdefault(using, []).append(at)
        # A partition that has static columns only has no clustering values.
        is_static = self._key > self._partition and row[self._partition] is None
        if not groups:
            # A row with nothing but its key: no write time of it can be asked for.
            groups[(0, time.time_ns() // 1000)[2 - len(self._kept) :]] = []
            if self._kept == ["TTL"]:
                groups = {(0,): []}
        for using, places in groups.items():
            wanted = {*range(self._key), *places}
            if is_static:
                chosen = [*range(self._partition), *self._statics]
                statement = self._insert_static
            else:
                chosen, statement = list(range(count)), self._insert
            values = (row[at] if at in wanted else UNSET_VALUE for at in chosen)
            yield statement, (*values, *using)


def _check(source: TableMetadata, target: TableMetadata, chosen: Sequence[str]) -> None:
    for name in chosen:
        if name not in source.columns or name not in target.columns:
            lacks = source if name not in source.columns else target
            raise ValueError(f"the table {lacks.keyspace_name}.{lacks.name} has no column {name!r}")
        mine, theirs = source.columns[name].cql_type, target.columns[name].cql_type
        if mine != theirs:
            raise ValueError(f"the column {name!r} is {mine} here and {theirs} there")
        if mine == "counter":
            raise ValueError(f"the column {name!r} is a counter, which cannot be copied")
    for column in target.primary_key:
        if column.name not in chosen:
            raise ValueError(f"the key column {column.name!r} is not among the columns to copy")


def _check_kept(source: TableMetadata, values: Sequence[str]) -> None:
    key = {column.name for column in source.primary_key}
    for name in values:
        kind = source.columns[name].cql_type
        if name in key:
            raise ValueError(f"the column {name!r} is of the key here: it has no TTL or write time")
        # Types that are not frozen have a TTL and a write time for each element.
        if kind.startswith(_COLLECTIONS):
            raise ValueError(
                f"the column {name!r} is {kind}, whose elements each have a TTL and write time: "
                "they cannot be kept; leave the column out by `columns`"
            )
