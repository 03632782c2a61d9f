"""Rows of one table into another one, of the same or another cluster, on both faces."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cassandra.bulk.load import aload, load
from cassandra.bulk.options import LoadOptions
from cassandra.bulk.plain import PlainRows
from cassandra.bulk.scan import AsyncScan, Scan
from cassandra.bulk.target import full_name, table_of
from cassandra.sentinels import UNSET_VALUE
from cassandra.util.cql_text import protect_name

if TYPE_CHECKING:
    from cassandra.aio.session import Session as AsyncSession
    from cassandra.bulk.report import LoadReport
    from cassandra.bulk.scan import Page
    from cassandra.cluster.session import Session
    from cassandra.metadata import Metadata
    from cassandra.metadata.schema.elements import UserType
    from cassandra.metadata.schema.tables import TableMetadata

__all__ = ["CopyReport", "acopy", "copy"]

_COLLECTIONS = ("list<", "set<", "map<")

Row = tuple[Any, ...]


@dataclass(slots=True)
class CopyReport:
    """The outcome of a copy.

    :param read: rows that were read.
    :param written: rows that the other cluster has acknowledged.
    :param requests: by which they were written.
    :param seconds: how long it took.
    """

    read: int = 0
    written: int = 0
    requests: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.read:,} rows read, {self.written:,} written in {self.seconds:.1f} s, "
            f"{self.requests:,} requests"
        )


def copy(
    session: Session,
    table: str,
    other: Session,
    other_table: str,
    *,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    keep_ttl: bool = False,
    keep_write_time: bool = False,
    write_concurrency: int = 1024,
    dry_run: bool = False,
    **options: Any,
) -> CopyReport:
    """Copy the rows of a table into another table, which has the columns with the same types.

    Nulls are not written. With `keep_ttl` or `keep_write_time` the columns of a row that differ in
    them are written by several statements. Rows are written as `Session.load` does it: in small
    batches by replica, and tried again.

    :param session: a blocking session that reads.
    :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
    :param other: a blocking session that writes; it may be the same one.
    :param other_table: the table to write.
    :param columns: names of columns; None for all. The primary key must be among them.
    :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
    :param keep_ttl: write each value with the seconds that it has left.
    :param keep_write_time: write each value with its write time.
    :param write_concurrency: writes in flight at most.
    :param dry_run: True checks the tables and reads all rows, and writes none.
    :param options: see `cassandra.bulk.scan.ScanOptions`, for reading; its consistency level is
        that of the writes, too.
    :raises ValueError: if the tables do not fit, or if a column has no single TTL or write time.
    :raises LoadError: if a row cannot be written.
    """
    made = _Copy(session, table, other, other_table, columns, keep_ttl, keep_write_time)
    made.take([other.prepare(text) for text in made.texts])
    writing = _load_options(write_concurrency, dry_run, options)
    scan = Scan(session, table, made.selectors, where, options)  # type: ignore[arg-type]
    scan.purpose, scan.is_dry = made.purpose, dry_run
    for page in scan.pages():
        for prepared, rows in made.writes(page):
            made.note(load(other, prepared, rows, writing))
    return made.end()


async def acopy(
    session: AsyncSession,
    table: str,
    other: AsyncSession,
    other_table: str,
    *,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    keep_ttl: bool = False,
    keep_write_time: bool = False,
    write_concurrency: int = 1024,
    dry_run: bool = False,
    **options: Any,
) -> CopyReport:
    """Copy the rows of a table into another table, on asyncio; see `copy`.

    :param session: a session of `cassandra.aio` that reads.
    :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
    :param other: a session of `cassandra.aio` that writes; it may be the same one.
    :param other_table: the table to write.
    :param columns: names of columns; None for all. The primary key must be among them.
    :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
    :param keep_ttl: write each value with the seconds that it has left.
    :param keep_write_time: write each value with its write time.
    :param write_concurrency: writes in flight at most.
    :param dry_run: True checks the tables and reads all rows, and writes none.
    :param options: see `cassandra.bulk.scan.ScanOptions`, for reading; its consistency level is
        that of the writes, too.
    :raises ValueError: if the tables do not fit, or if a column has no single TTL or write time.
    :raises LoadError: if a row cannot be written.
    """
    made = _Copy(session, table, other, other_table, columns, keep_ttl, keep_write_time)
    made.take([await other.prepare(text) for text in made.texts])
    writing = _load_options(write_concurrency, dry_run, options)
    scan = AsyncScan(session, table, made.selectors, where, options)  # type: ignore[arg-type]
    scan.purpose, scan.is_dry = made.purpose, dry_run
    async with aclosing(scan.pages()) as pages:
        async for page in pages:
            for prepared, rows in made.writes(page):
                made.note(await aload(other, prepared, rows, writing))
    return made.end()


def _load_options(concurrency: int, dry_run: bool, reading: dict[str, Any]) -> LoadOptions:
    return LoadOptions(
        concurrency=concurrency,
        dry_run=dry_run,
        progress=False,
        consistency_level=reading.get("consistency_level"),
    )


class _Copy:
    """Makes writes of rows, for both faces."""

    def __init__(
        self,
        session: Session | AsyncSession,
        table: str,
        other: Session | AsyncSession,
        other_table: str,
        columns: Sequence[str] | None,
        keep_ttl: bool,
        keep_write_time: bool,
    ) -> None:
        source = table_of(session.cluster.metadata, table, session.keyspace, with_views=True)
        target = table_of(other.cluster.metadata, other_table, other.keyspace)
        chosen = list(source.columns) if columns is None else list(columns)
        _check(source, target, chosen)
        types = [source.columns[name].cql_type for name in chosen]
        _check_fields(
            _user_types(session.cluster.metadata, source.keyspace_name),
            _user_types(other.cluster.metadata, target.keyspace_name),
            types,
        )
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
        asked = [f"{kept}({protect_name(name)})" for kept in self._kept for name in values]
        self.selectors = ", ".join([*map(protect_name, self._names), *asked])
        of_partition = [name for name in values if target.columns[name].is_static]
        self._statics = [self._names.index(name) for name in of_partition]
        # What is prepared: for rows, and for partitions that have static columns alone.
        self.texts = [self._query(target, self._names)]
        if of_partition and self._key > self._partition:
            self.texts.append(self._query(target, [*key[: self._partition], *of_partition]))
        # What a checkpoint belongs to, beside the scan.
        self.purpose = {
            "work": "copy",
            "target": full_name(target),
            "cluster": other.cluster.metadata.cluster_name,
        }
        self._prepared: list[Any] = []
        self._plain = PlainRows()
        self._report = CopyReport()
        self._begun = time.monotonic()

    def take(self, prepared: list[Any]) -> None:
        """Take the statements of `texts`, which it alone has.

        :param prepared: the statements.
        """
        self._prepared = prepared
        for one in prepared:
            one.is_idempotent = True

    def _query(self, target: TableMetadata, names: Sequence[str]) -> str:
        where = f"{protect_name(target.keyspace_name)}.{protect_name(target.name)}"
        using = " AND ".join(f"{'TIMESTAMP' if k == 'WRITETIME' else k} ?" for k in self._kept)
        return (
            f"INSERT INTO {where} ({', '.join(map(protect_name, names))}) "
            f"VALUES ({', '.join('?' * len(names))})" + (f" USING {using}" if using else "")
        )

    def writes(self, page: Page) -> list[tuple[Any, list[Row]]]:
        """Return the statements that write a page, with their rows.

        :param page: a result, whose page at hand is taken.
        """
        rows = self._plain.tuples(page)
        self._report.read += len(rows)
        found: list[list[Row]] = [[] for _ in self._prepared]
        for row in rows:
            # A partition that has static columns only has no clustering values.
            is_static = self._key > self._partition and row[self._partition] is None
            found[is_static] += self._values(row, is_static)
        return [(one, some) for one, some in zip(self._prepared, found, strict=True) if some]

    def _values(self, row: Row, is_static: bool) -> list[Row]:
        """Return the values of the statements that write a row."""
        count = len(self._names)
        groups: dict[Row, list[int]] = {}
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
        if not groups:
            # A row with nothing but its key: no write time of it can be asked for.
            now = time.time_ns() // 1000
            groups[tuple(0 if kept == "TTL" else now for kept in self._kept)] = []
        chosen: Sequence[int] = range(count)
        if is_static:
            chosen = [*range(self._partition), *self._statics]
        found = []
        for using, places in groups.items():
            wanted = {*range(self._key), *places}
            values = (row[at] if at in wanted else UNSET_VALUE for at in chosen)
            found.append((*values, *using))
        return found

    def note(self, report: LoadReport) -> None:
        """Count the rows that were written.

        :param report: of a load of rows.
        """
        self._report.requests += report.requests
        if not report.is_dry:
            self._report.written = self._report.read

    def end(self) -> CopyReport:
        """Return the report."""
        self._report.seconds = time.monotonic() - self._begun
        return self._report


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


def _user_types(metadata: Metadata, keyspace: str) -> Mapping[str, UserType]:
    found = metadata.keyspaces.get(keyspace)
    return found.user_types if found is not None else {}


def _check_fields(
    source: Mapping[str, UserType], target: Mapping[str, UserType], types: Iterable[str]
) -> None:
    """Check that the user-defined types of the target have all fields, with the same types.

    Their order may be another one: fields are written by their names.
    """
    seen: set[str] = set()
    left = deque(types)
    while left:
        for quoted, bare in _NAME.findall(left.popleft()):
            name = quoted.replace('""', '"') if quoted else bare
            if name not in source or name in seen:
                continue
            seen.add(name)
            mine, theirs = (
                dict(zip(types[name].field_names, types[name].field_types, strict=True))
                if name in types
                else {}
                for types in (source, target)
            )
            for field, cql_type in mine.items():
                if theirs.get(field) != cql_type:
                    raise ValueError(
                        f"the field {field!r} of the type {name!r} is {cql_type} here and "
                        f"{theirs.get(field, 'missing')} there"
                    )
            left += mine.values()


_NAME = re.compile(r'"((?:[^"]|"")+)"|(\w+)')


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
