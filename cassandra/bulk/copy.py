"""Copies the rows of a table to another table, in the same cluster or in another cluster.

`copy` (blocking) and `acopy` (asyncio) scan the source table, and load the rows of each page into
the target table.

Values are copied as bytes wherever the types of both tables encode them alike. Decoding a value and
encoding it again may change its bytes: for example, tuples and user-defined types may lack their
last fields, and numbers may be empty. If the bytes of a key changed, the target would get another
row.
"""

from __future__ import annotations

import re
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cassandra._clocks import monotonic, wall_time_ns
from cassandra._habits import stack_level
from cassandra._steps import adrive, drive
from cassandra._unknown_options import with_example
from cassandra.bulk.checkpoint import describe_cluster, describe_id
from cassandra.bulk.load import aload, load
from cassandra.bulk.masks import mask_steps
from cassandra.bulk.options import LoadOptions, check_count
from cassandra.bulk.plain import PlainRows
from cassandra.bulk.report import LOST_ROWS, LoadError, LoadReport, RowFailure
from cassandra.bulk.same_table import TableWatch
from cassandra.bulk.scan import AsyncScan, Scan
from cassandra.bulk.scan_options import switch
from cassandra.bulk.scan_plan import current_table_steps, known_table_steps, performer
from cassandra.bulk.target import (
    check_session,
    full_name,
    names_of_columns,
    short_key_widths,
    table_of,
)
from cassandra.bulk.texts import short_repr
from cassandra.engine.prepare.same_values import is_readable_as
from cassandra.protocol.encrypted import is_encrypted
from cassandra.query.settings import NOT_SET
from cassandra.sentinels import UNSET_VALUE
from cassandra.util.cql_text import protect_name

if TYPE_CHECKING:
    from cassandra.aio.session import Session as AsyncSession
    from cassandra.bulk.sessions import Page
    from cassandra.cluster.session import Session
    from cassandra.cqltypes.base import _CassandraType
    from cassandra.metadata import Metadata
    from cassandra.metadata.schema.elements import UserType
    from cassandra.metadata.schema.tables import TableMetadata

__all__ = ["CopyReport", "acopy", "copy"]

# The beginnings of the CQL names of collection types that are not frozen.
_COLLECTIONS = ("list<", "set<", "map<")

Row = tuple[Any, ...]  # the values of a row that was read


@dataclass(slots=True)
class CopyReport:
    """The outcome of a copy.

    :param read: the number of rows read.
    :param written: the number of rows that the target cluster has acknowledged.
    :param requests: the number of write requests.
    :param seconds: the duration in seconds.
    :param expired: the number of rows that were read, but not written: with `keep_ttl`, rows whose
        values have all expired since they were read.
    """

    read: int = 0
    written: int = 0
    requests: int = 0
    seconds: float = 0.0
    expired: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.read:,} rows read, {self.written:,} written in {self.seconds:.1f} s, "
            f"{self.requests:,} requests"
            + (f"; {self.expired:,} expired meanwhile" if self.expired else "")
        )


@with_example("copy(session, 'table', other_session, 'other_table')")
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
    """Copy the rows of a table to another table that has the same columns with the same types.

    Nulls are not written. With `keep_ttl` or `keep_write_time`, columns of a row that differ in TTL
    or write time are written by separate statements. Like `Session.load`, the copy sends rows with
    the same replicas in small batches, and repeats failed requests. If columns have masks, and the
    role that reads lacks the permission UNMASK, the copy warns that it copies masks.

    :param session: a blocking session that reads.
    :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
    :param other: a blocking session that writes; it may be the same session.
    :param other_table: the table to write.
    :param columns: names of columns; None for all. The primary key must be among them.
    :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
    :param keep_ttl: True writes each value with its remaining time to live.
    :param keep_write_time: True writes each value with its original write time.
    :param write_concurrency: maximum number of write requests in flight.
    :param dry_run: True checks the tables and reads all rows, and writes none.
    :param options: options for reading, see `cassandra.bulk.ScanOptions`; the consistency
        level and a timeout also apply to the writes.
    :raises ValueError: if the target lacks a column or has it with another type, or if a column has
        no single TTL or write time that could be kept.
    :raises LoadError: if a row cannot be written. Its report has the counts of the copy so far.
    """
    _check_sessions(session, other)
    _check_switches(keep_ttl=keep_ttl, keep_write_time=keep_write_time, dry_run=dry_run)
    for each, name, with_views in ((session, table, True), (other, other_table, False)):
        drive(_table_steps(each, name, columns, with_views), performer(each))
    watch = drive(_watch_steps(other, other_table), performer(other))
    copying = _Copy(session, table, other, other_table, columns, keep_ttl, keep_write_time, dry_run)
    drive(mask_steps(session, table, columns, "the copy"), performer(session))
    # Prepare the statements of the target before anything is read, so that errors show at once.
    copying.set_statements([other.prepare(text) for text in copying.texts])
    writing = _load_options(write_concurrency, dry_run, options)
    scan = Scan(session, table, copying.selectors, where, options)  # type: ignore[arg-type]
    scan.purpose, scan.is_dry = copying.purpose, dry_run
    for page in scan.pages():
        with scan.locating(page):
            rows_by_statement = copying.rows_by_statement(page, scan.age_of(page))
        for prepared, rows in rows_by_statement:
            with copying.writing(prepared, rows):
                report = load(other, prepared, rows, writing, is_plain=True, is_watched=False)
                copying.add_report(report)
        copying.check_target(watch.is_another())
        copying.end_page()
    copying.check_target(drive(watch.end_steps(), performer(other)))
    return copying.end()


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
    """Copy the rows of a table to another table, on asyncio; see `copy`.

    :param session: a session of `cassandra.aio` that reads.
    :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
    :param other: a session of `cassandra.aio` that writes; it may be the same session.
    :param other_table: the table to write.
    :param columns: names of columns; None for all. The primary key must be among them.
    :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
    :param keep_ttl: True writes each value with its remaining time to live.
    :param keep_write_time: True writes each value with its original write time.
    :param write_concurrency: maximum number of write requests in flight.
    :param dry_run: True checks the tables and reads all rows, and writes none.
    :param options: options for reading, see `cassandra.bulk.ScanOptions`; the consistency
        level and a timeout also apply to the writes.
    :raises ValueError: if the target lacks a column or has it with another type, or if a column has
        no single TTL or write time that could be kept.
    :raises LoadError: if a row cannot be written. Its report has the counts of the copy so far.
    """
    _check_sessions(session, other)
    _check_switches(keep_ttl=keep_ttl, keep_write_time=keep_write_time, dry_run=dry_run)
    for each, name, with_views in ((session, table, True), (other, other_table, False)):
        await adrive(_table_steps(each, name, columns, with_views), performer(each))
    watch = await adrive(_watch_steps(other, other_table), performer(other))
    copying = _Copy(session, table, other, other_table, columns, keep_ttl, keep_write_time, dry_run)
    await adrive(mask_steps(session, table, columns, "the copy"), performer(session))
    copying.set_statements([await other.prepare(text) for text in copying.texts])
    writing = _load_options(write_concurrency, dry_run, options)
    scan = AsyncScan(session, table, copying.selectors, where, options)  # type: ignore[arg-type]
    scan.purpose, scan.is_dry = copying.purpose, dry_run
    async with aclosing(scan.pages()) as pages:
        async for page in pages:
            with scan.locating(page):
                rows_by_statement = copying.rows_by_statement(page, scan.age_of(page))
            for prepared, rows in rows_by_statement:
                with copying.writing(prepared, rows):
                    copying.add_report(
                        await aload(other, prepared, rows, writing, is_plain=True, is_watched=False)
                    )
            copying.check_target(watch.is_another())
            copying.end_page()
    copying.check_target(await adrive(watch.end_steps(), performer(other)))
    return copying.end()


def _table_steps(
    session: Any, name: str, columns: Sequence[str] | None, with_views: bool
) -> Generator[Callable[[Any], Any], Any, TableMetadata]:
    """Return the metadata of a table of the copy.

    This is a generator without I/O, like `cassandra.bulk.scan_plan.plan_steps`.

    :param columns: the columns to copy. If it is None, the copy takes the names of all columns from
        the metadata. Then we ask a server for the names, because the driver's metadata may lack new
        columns.
    :param with_views: True also finds materialized views.
    """
    table = yield from known_table_steps(session, name, with_views)
    return table if columns is not None else (yield from current_table_steps(session, name))


def _watch_steps(session: Any, name: str) -> Generator[Callable[[Any], Any], Any, TableWatch]:
    """Return a watch of the target table, which has begun.

    This is a generator without I/O, like `cassandra.bulk.scan_plan.plan_steps`.
    """
    metadata = session.cluster.metadata
    table = table_of(metadata, name, session.keyspace)
    watch = TableWatch(metadata, table.keyspace_name, table.name)
    yield from watch.begin_steps()
    return watch


def _check_sessions(*sessions: object) -> None:
    """Raise TypeError unless all arguments are sessions."""
    for session in sessions:
        check_session(session, "copy(session, 'table', other_session, 'other_table')")


def _check_switches(**options: object) -> None:
    """Raise TypeError unless all options are True or False."""
    for name, value in options.items():
        switch(name, value)


def _load_options(concurrency: int, dry_run: bool, reading: dict[str, Any]) -> LoadOptions:
    """Return the options for the writes of a copy.

    :param reading: the options of the copy's scan.
    """
    check_count("write_concurrency", concurrency, 1)
    timeout: Any = reading.get("timeout")
    return LoadOptions(
        concurrency=concurrency,
        dry_run=dry_run,
        progress=False,
        consistency_level=reading.get("consistency_level"),
        timeout=None if timeout is NOT_SET else timeout,
    )


def _refuse_same_table(
    metadata: Metadata, source: TableMetadata, other_metadata: Metadata, target: TableMetadata
) -> None:
    """Raise ValueError if source and target are the same table.

    Copying a table to itself would drop the values' TTLs and write times. It would also overwrite
    values that were written after they were read.

    :param metadata: the metadata of the cluster of `source`.
    :param other_metadata: the metadata of the cluster of `target`.
    """
    if full_name(source) != full_name(target):
        return
    # Compare the host ids, because different clusters may have the same name.
    our_ids = set(describe_cluster(metadata)["host_ids"])
    if metadata is other_metadata or not our_ids.isdisjoint(
        describe_cluster(other_metadata)["host_ids"]
    ):
        raise ValueError(
            f"table {full_name(source)} would be copied to itself: name another table, or another "
            "cluster (a session of it; --to-hosts in a terminal)"
        )


class _Copy:
    """The state of a copy, and the code that `copy` and `acopy` share.

    :param session: the session that reads.
    :param table: the table to read.
    :param other: the session that writes.
    :param other_table: the table to write.
    :param columns: the names of the columns to copy; None for all.
    :param keep_ttl: as for `copy`.
    :param keep_write_time: as for `copy`.
    :param dry_run: as for `copy`.
    """

    def __init__(
        self,
        session: Session | AsyncSession,
        table: str,
        other: Session | AsyncSession,
        other_table: str,
        columns: Sequence[str] | None,
        keep_ttl: bool,
        keep_write_time: bool,
        dry_run: bool,
    ) -> None:
        source = table_of(session.cluster.metadata, table, session.keyspace, with_views=True)
        target = table_of(other.cluster.metadata, other_table, other.keyspace)
        copied_names = names_of_columns(source) if columns is None else list(columns)
        _check_columns(source, target, copied_names)
        _warn_of_lost_keys(source, target, copied_names)
        types = [source.columns[name].cql_type for name in copied_names]
        user_types = _user_types(session.cluster.metadata, source.keyspace_name)
        _check_fields(
            user_types,
            _user_types(other.cluster.metadata, target.keyspace_name),
            types,
        )
        # A row of the scan has the columns of the target's key, then the other columns. They are
        # followed by the TTLs of these other columns, and by their write times.
        key = [column.name for column in target.primary_key]
        self._names = [*key, *(name for name in copied_names if name not in key)]
        self._partition_width = len(target.partition_key)  # number of columns
        self._key_width = len(key)  # number of columns
        self._kept_functions = [  # the CQL functions that read kept TTLs and write times
            function
            for function, is_wanted in (("TTL", keep_ttl), ("WRITETIME", keep_write_time))
            if is_wanted
        ]
        self._keeps_ttl = keep_ttl  # if True, TTL is the first kept function
        values = self._names[self._key_width :]
        if self._kept_functions:
            _check_can_be_kept(source, values, user_types)
        _refuse_same_table(session.cluster.metadata, source, other.cluster.metadata, target)
        selectors = [
            f"{function}({protect_name(name)})"
            for function in self._kept_functions
            for name in values
        ]
        self.selectors = ", ".join([*map(protect_name, self._names), *selectors])
        static_columns = [name for name in values if target.columns[name].is_static]
        self._static_positions = [self._names.index(name) for name in static_columns]
        # For each statement of `texts`, the positions in a row of the values that the statement
        # writes.
        self._written_positions: list[Sequence[int]] = [
            range(len(self._names)),
            [*range(self._partition_width), *self._static_positions],
        ]
        # The CQL of the INSERT statements. The first statement writes rows. If there are static
        # columns, the second statement writes them for partitions without rows. For tables with
        # compact storage, further statements write rows without their last clustering columns (see
        # below).
        self.texts = [self._query(target, self._names)]
        if static_columns and self._key_width > self._partition_width:
            self.texts.append(self._query(target, [*key[: self._partition_width], *static_columns]))
        # If TTLs or write times are kept, the second statement writes the static columns of all
        # partitions. If the first statement wrote them, a row would expire together with a static
        # value.
        self._splits_statics = bool(self._kept_functions) and len(self.texts) > 1
        # Maps the number of key columns of a row without its last clustering columns to the index
        # of the statement that writes such rows. Only tables with compact storage have such rows,
        # and these tables have no static columns.
        self._short_statements: dict[int, int] = {}
        if short_key_widths(source) and _clustering_names(source) == _clustering_names(target):
            del self._written_positions[1:]
            for width in short_key_widths(target):
                key_width = self._partition_width + width
                self._short_statements[key_width] = len(self.texts)
                self.texts.append(self._query(target, [*key[:key_width], *values]))
                self._written_positions.append(
                    [*range(key_width), *range(self._key_width, len(self._names))]
                )
        # True if rows without any value outside the key must be refused: the target has compact
        # storage, where such rows do not exist, and the source does not. If the source has compact
        # storage, too, it has no such rows.
        self._needs_values = (
            target.is_compact_storage
            and not getattr(source, "is_compact_storage", False)  # views lack the attribute
            and bool(values)
            and {*values} == {*target.columns} - {*key}
            and all(target.columns[name].cql_type != "counter" for name in values)
        )
        # Added to the subject of the scan's checkpoint, so that no other scan or copy can resume
        # from that checkpoint.
        self.purpose = {
            "work": "copy",
            "target": full_name(target),
            "target_id": describe_id(target),
            "cluster": describe_cluster(other.cluster.metadata),
        }
        self._prepared: list[Any] = []
        self._target_types: list[type[_CassandraType]] = []  # by index in `_names`
        self._plain_rows = PlainRows(self._is_copied_as_bytes)
        # The positions in a row of the columns whose values are copied as bytes, without decoding
        # them; None before the first page.
        self._bytes_positions: frozenset[int] | None = None
        self._source_name, self._target_name = full_name(source), full_name(target)
        self._is_dry = dry_run
        self._written_of_page = 0  # the number of rows that loads have written since `end_page`
        self._report = CopyReport()
        self._start = monotonic()

    def set_statements(self, prepared: list[Any]) -> None:
        """Store the prepared statements of `texts`.

        :param prepared: the statements. No other code may use them, because this method marks them
            as idempotent and removes their converters.
        """
        self._prepared = prepared
        columns = prepared[0].plain_plan.columns[: len(self._names)]
        self._target_types = [column.type for column in columns]
        for statement in prepared:
            statement.is_idempotent = True
            statement.codecs = None  # the application's converters are not for stored values

    def _is_copied_as_bytes(self, position: int, source_type: type[_CassandraType]) -> bool:
        """Return True if the values of a column are copied without decoding them.

        :param position: the column's position in a row of the scan.
        :param source_type: the column's type in the source table.
        """
        if position >= len(self._names):
            return False  # TTLs and write times
        target_type = self._target_types[position]
        return (
            not is_encrypted(source_type)
            and not is_encrypted(target_type)
            and is_readable_as(source_type, target_type)
        )

    def _take_bytes(self) -> None:
        """Make the statements accept bytes for the columns that the latest page has as bytes."""
        positions = self._plain_rows.bytes_positions
        if positions != self._bytes_positions:
            self._bytes_positions = positions
            for statement, written in zip(self._prepared, self._written_positions, strict=False):
                statement.take_bytes(
                    [index for index, position in enumerate(written) if position in positions]
                )

    def _query(self, target: TableMetadata, names: Sequence[str]) -> str:
        """Return the INSERT of these columns, with the TTL and write time if they are kept."""
        table = f"{protect_name(target.keyspace_name)}.{protect_name(target.name)}"
        columns = ", ".join(map(protect_name, names))
        markers = ", ".join("?" * len(names))
        query = f"INSERT INTO {table} ({columns}) VALUES ({markers})"
        # CQL reads the write time with the function WRITETIME, but sets it with USING TIMESTAMP. So
        # use that name here.
        using = [
            "TIMESTAMP ?" if function == "WRITETIME" else f"{function} ?"
            for function in self._kept_functions
        ]
        return f"{query} USING {' AND '.join(using)}" if using else query

    def rows_by_statement(self, page: Page, age: float) -> list[tuple[Any, list[Row]]]:
        """Return [(prepared statement, rows)] that write the rows of a page.

        :param page: a result set; the rows of its current page are consumed.
        :param age: how many seconds ago the page was requested. The remaining TTLs are shorter by
            this time than the TTLs in the page.
        """
        rows = self._plain_rows.tuples(page)
        self._take_bytes()
        self._report.read += len(rows)
        row_lists: list[list[Row]] = [[] for _ in self._prepared]
        last_partition: Row | None = None
        for row in rows:
            if self._needs_values and not any(
                value is not None for value in row[self._key_width : len(self._names)]
            ):
                raise self._error(
                    "it has no value outside the key, and such a row does not exist in a table "
                    "with COMPACT STORAGE: leave it out by where=, or write it to another table",
                    row[: self._key_width],
                    None,
                )
            # For a partition that has static columns but no rows, a SELECT returns a row whose
            # clustering columns are null. The second statement writes such a row. `_is_static`
            # raises an error for other rows without a clustering column.
            is_static = (
                self._key_width > self._partition_width
                and row[self._partition_width] is None
                and self._is_static(row)
            )
            # `is_static` is also the index of the statement: 0 writes rows, 1 writes static
            # columns. A row whose values have different TTLs or write times becomes several rows.
            statement = int(is_static)
            if self._short_statements and row[self._key_width - 1] is None:
                statement = self._short_statement(row)
            statement_rows = self._values(row, statement, int(age))
            self._report.expired += not statement_rows
            row_lists[statement] += statement_rows
            # Each row of a partition has the partition's static values, so write them only once.
            partition = row[: self._partition_width]
            if self._splits_statics and not is_static and partition != last_partition:
                row_lists[True] += self._values(row, 1, int(age))
            last_partition = partition
        return [
            (statement, statement_rows)
            for statement, statement_rows in zip(self._prepared, row_lists, strict=True)
            if statement_rows
        ]

    def _short_statement(self, row: Row) -> int:
        """Return the index of the statement for a row without its last clustering columns.

        :returns: 0, whose INSERT a server refuses, if the row has a clustering column after one
            that it lacks.
        """
        key = row[: self._key_width]
        width = key.index(None)
        is_short = all(value is None for value in key[width:])
        return self._short_statements.get(width, 0) if is_short else 0

    def _is_static(self, row: Row) -> bool:
        """Return True for a row without clustering columns, if the copy can write it.

        The row must only have the partition key and static columns, and the copy must have a
        statement for static columns.

        :param row: a row whose first clustering column is null.
        :raises LoadError: if no statement can write the row. That happens if a column of the
            target's key is not in the primary key of the source table.
        """
        value_positions = [
            index for index in range(self._key_width, len(self._names)) if row[index] is not None
        ]
        # Only the second statement (for static columns) can write a row without clustering columns.
        is_static = bool(self._static_positions) and all(
            value is None for value in row[self._partition_width : self._key_width]
        )
        # Otherwise the row cannot be written: it has a value outside the static columns, but lacks
        # a column of the key.
        if not is_static or not set(value_positions) <= set(self._static_positions):
            width = next(index for index in range(self._key_width) if row[index] is None)
            raise self._error(
                f"column {self._names[width]!r} of the primary key has no value",
                row[: self._key_width],
                None,
            )
        return True

    def _values(self, row: Row, statement: int, age: int) -> list[Row]:
        """Return the rows to write for a row of the scan: one per distinct TTL and write time.

        The list is empty if all values of the row have expired since it was read, or if the
        statement only writes static columns and the row has no static values.

        :param statement: the index of the statement that writes the row.
        :param age: how many seconds ago the row was requested.
        """
        is_static = statement == 1 and bool(self._static_positions)
        column_count = len(self._names)
        value_count = column_count - self._key_width  # columns outside the key
        value_positions: Sequence[int] = range(self._key_width, column_count)
        if is_static:
            value_positions = self._static_positions
        elif self._splits_statics:
            value_positions = sorted({*value_positions} - {*self._static_positions})
        has_expired = False  # True if a value of the row has expired
        # Maps each distinct (TTL, write time) of the row to the indexes of the columns that have
        # this TTL and write time. If neither is kept, the only key is ().
        columns_by_using: dict[Row, list[int]] = {}
        for index in value_positions:
            if row[index] is not None:
                # After its columns, the row has the TTLs of all values, then the write times of
                # all values (or only one of the two). Take the TTL and write time of this value.
                first = column_count + index - self._key_width
                kept_values = [
                    # A TTL of 0 means "does not expire", whatever the table's default is.
                    kept_value or 0
                    for kept_value in row[first::value_count]
                ]
                if self._keeps_ttl and kept_values[0]:
                    kept_values[0] -= age
                    if kept_values[0] <= 0:
                        # Skip the value: writing it with a TTL of 0 would keep it for ever.
                        has_expired = True
                        continue
                columns_by_using.setdefault(tuple(kept_values), []).append(index)
        if not columns_by_using and (has_expired or is_static):
            return []
        if not columns_by_using:
            # The row only has its key. CQL cannot select the TTL and write time of a key, so write
            # the row without a TTL and with the current time.
            now = wall_time_ns() // 1000
            columns_by_using[
                tuple(0 if function == "TTL" else now for function in self._kept_functions)
            ] = []
        written_positions = self._written_positions[statement]
        # Make one row per distinct (TTL, write time). It only has the columns with this TTL and
        # write time: the other columns are unset, so that the row does not write them.
        statement_rows = []
        for using, indexes in columns_by_using.items():
            bound_indexes = {*range(self._key_width), *indexes}
            values = (
                row[index] if index in bound_indexes else UNSET_VALUE for index in written_positions
            )
            statement_rows.append((*values, *using))
        return statement_rows

    @contextmanager
    def writing(self, prepared: Any, rows: Sequence[Row]) -> Iterator[None]:
        """Replace a `LoadError` by the error of the copy.

        Each load only writes the rows of a page, so its error names a row by its number in the
        page. The error of the copy shows the row's key, and has the counts of the whole copy.

        :param prepared: the statement that writes the rows.
        :param rows: the rows that the body of the ``with`` statement writes.
        """
        try:
            yield
        except LoadError as error:
            load_report = error.report
            failure = load_report.failures[-1] if load_report.failures else None
            reason, row = str(error), None
            # The load names a row by its number among `rows`.
            if failure is not None and reason == str(failure):
                reason = failure.reason
                row = rows[int(failure.place.removeprefix("row "))]
                # `row` has the values of the statement's bind markers. Keep the values of the key:
                # the statement may write only the first columns of the key.
                statement = next(n for n, each in enumerate(self._prepared) if each is prepared)
                written = self._written_positions[statement]
                row = row[: sum(position < self._key_width for position in written)]
            raise self._error(reason, row, load_report) from error.__cause__
        except BaseException as error:
            # For example, KeyboardInterrupt: the load has attached the report of one page.
            page_report = getattr(error, "report", None)
            if isinstance(page_report, LoadReport):
                error.report = self._report_so_far(page_report)  # type: ignore[attr-defined]
            raise

    def _error(self, reason: str, row: Row | None, load_report: LoadReport | None) -> LoadError:
        """Return the error for a copy that cannot go on, with the counts of the copy so far.

        :param reason: the cause.
        :param row: the row that cannot be written, or the beginning of it; None if it is not known.
        :param load_report: the report of the load that has failed; None if the row was not sent.
        """
        place = f"table {self._source_name}"
        if row is not None:
            place += f", the row with {self._key_of(row)}"
        report = self._report_so_far(load_report)
        error = LoadError(f"copy to {self._target_name}: {place}: {reason}", report)
        if row is not None:
            cause = load_report.failures[-1].error if load_report is not None else error
            report.note_failure(RowFailure(place, cause))
        return error

    def _report_so_far(self, load_report: LoadReport | None) -> LoadReport:
        """Return the counts of the copy until now.

        :param load_report: the report of the load of the current page; None if it was not loaded.
        """
        report = LoadReport(self._target_name, read=self._report.read, is_dry=self._is_dry)
        report.written, report.requests = self._report.written, self._report.requests
        report.seconds = monotonic() - self._start
        if load_report is not None:
            # If TTLs or write times are kept, the load may have split a row of the page into
            # several rows, so its count is not a count of rows of the table. Then leave out the
            # rows of this page.
            if not self._kept_functions:
                report.written += self._written_of_page + load_report.written
            report.requests += load_report.requests
            report.retries = load_report.retries
        return report

    def _key_of(self, row: Row) -> str:
        """Return the key of a row as conditions, for an error; leave out missing columns."""
        conditions = []
        for position, target_type in enumerate(self._target_types[: self._key_width]):
            # Errors must not show values of encrypted columns.
            if position < len(row) and not is_encrypted(target_type):
                value = row[position]
                if position in self._plain_rows.bytes_positions:
                    with suppress(Exception):  # show the bytes of a value that cannot be decoded
                        value = target_type.codec().decode_nullable(value)
                conditions.append(f"{self._names[position]} = {short_repr(value)}")
        return " and ".join(conditions)

    def add_report(self, report: LoadReport) -> None:
        """Add the outcome of one load to the report of the copy."""
        self._report.requests += report.requests
        self._written_of_page += report.written

    def check_target(self, is_another: bool) -> None:
        """Raise LoadError if the target was dropped and created again during the copy.

        :param is_another: whether it was.
        """
        if is_another and not self._is_dry:
            raise self._error(f"{self._target_name} {LOST_ROWS}: copy all rows again", None, None)

    def end_page(self) -> None:
        """Count the rows of a page as written.

        A load that returns has written all of its rows, because an error ends the copy. Count the
        rows that were read, because the load may have split a row into several rows.
        """
        if not self._is_dry:
            self._report.written = self._report.read - self._report.expired
        self._written_of_page = 0

    def end(self) -> CopyReport:
        """Return the report, with the duration up to now."""
        self._report.seconds = monotonic() - self._start
        return self._report


def _check_columns(
    source: TableMetadata, target: TableMetadata, copied_names: Sequence[str]
) -> None:
    """Raise ValueError if the chosen columns of the source cannot be written to the target."""
    for name in copied_names:
        if name not in source.columns or name not in target.columns:
            table = source if name not in source.columns else target
            raise ValueError(f"the table {table.keyspace_name}.{table.name} has no column {name!r}")
        source_type, target_type = source.columns[name].cql_type, target.columns[name].cql_type
        if source_type != target_type:
            raise ValueError(
                f"the column {name!r} is {source_type} in the source and {target_type} in the "
                "target"
            )
        if source_type == "counter":
            raise ValueError(f"the column {name!r} is a counter, which cannot be copied")
    for column in target.primary_key:
        if column.name not in copied_names:
            raise ValueError(f"the key column {column.name!r} is not among the columns to copy")


def _warn_of_lost_keys(
    source: TableMetadata, target: TableMetadata, copied_names: Sequence[str]
) -> None:
    """Warn if rows of the source may replace each other in the target.

    Rows that only differ in columns of the source's key which the target's key lacks have the same
    key in the target. Only the last one that is written would remain. This is no error, because the
    application may know that the rows also differ in the key of the target.
    """
    target_key = {column.name for column in target.primary_key}
    values = [name for name in copied_names if name not in target_key]
    key = [column.name for column in source.partition_key]
    # All rows of a partition have the same static values, so these do not differ.
    if not all(source.columns[name].is_static for name in values):
        key = [column.name for column in source.primary_key]
    missing = [name for name in key if name not in target_key]
    if values and missing:
        names = ", ".join(column.name for column in target.primary_key)
        warnings.warn(
            f"rows of {full_name(source)} with the same {names} replace each other in "
            f"{full_name(target)}, whose key lacks {', '.join(missing)}",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def _clustering_names(table: TableMetadata) -> list[str]:
    return [column.name for column in table.clustering_key]


def _user_types(metadata: Metadata, keyspace: str) -> Mapping[str, UserType]:
    metadata_of_keyspace = metadata.keyspaces.get(keyspace)
    return metadata_of_keyspace.user_types if metadata_of_keyspace is not None else {}


def _types_by_field(user_type: UserType) -> dict[str, str]:
    """Return the CQL types of a user-defined type's fields by name."""
    return dict(zip(user_type.field_names, user_type.field_types, strict=True))


def _check_fields(
    source: Mapping[str, UserType], target: Mapping[str, UserType], types: Iterable[str]
) -> None:
    """Raise ValueError if the target's user-defined types lack fields of the source's types.

    The fields must also have the same types. Their order may differ, because fields are written by
    name.
    """
    seen: set[str] = set()
    remaining = deque(types)
    while remaining:
        # The fields of a user-defined type may have further user-defined types. `_NAME` finds all
        # quoted and unquoted names in a CQL type.
        for quoted, bare in _NAME.findall(remaining.popleft()):
            name = quoted.replace('""', '"') if quoted else bare
            if name not in source or name in seen:
                continue
            seen.add(name)
            source_fields = _types_by_field(source[name])
            target_fields = _types_by_field(target[name]) if name in target else {}
            for field, cql_type in source_fields.items():
                if target_fields.get(field) != cql_type:
                    raise ValueError(
                        f"the field {field!r} of the type {name!r} is {cql_type} in the source "
                        f"and {target_fields.get(field, 'missing')} in the target"
                    )
            remaining += source_fields.values()


# Matches a name in the CQL of a type. The first group has a quoted name without its quotes, the
# second group an unquoted name.
_NAME = re.compile(r'"((?:[^"]|"")+)"|(\w+)')


def _check_can_be_kept(
    source: TableMetadata, values: Sequence[str], user_types: Mapping[str, UserType]
) -> None:
    """Raise ValueError if a column does not have a single TTL and write time that SELECT returns.

    :param values: the names of the columns outside the target's key.
    :param user_types: the user-defined types of the keyspace of `source`.
    """
    key = {column.name for column in source.primary_key}
    type_names = set(map(protect_name, user_types))  # a frozen<...> type is not in this set
    for name in values:
        cql_type = source.columns[name].cql_type
        if name in key:
            raise ValueError(f"the column {name!r} is of the key here: it has no TTL or write time")
        # In a collection that is not frozen, each element has a TTL and a write time; in a
        # user-defined type that is not frozen, each field has them.
        if cql_type.startswith(_COLLECTIONS) or cql_type in type_names:
            raise ValueError(
                f"the column {name!r} is {cql_type}, whose parts each have a TTL and write "
                "time: they cannot be kept; leave the column out by `columns`"
            )
