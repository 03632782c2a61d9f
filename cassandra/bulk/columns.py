"""Decides which field of the source goes to which bind marker of a load's statement.

A load first reads the field names of its source. The field names decide which columns the load
writes, and so which statement it prepares (`Selection`). The prepared statement then decides how
rows are read and bound (`Columns`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.bulk.binding import Binder, ShortRows, StaticRows, times_in
from cassandra.bulk.changed_numbers import ChangedNumbers
from cassandra.bulk.chunks import Column, Reading
from cassandra.bulk.fields import check_folders, check_names, positions_of
from cassandra.bulk.groups import Keys, Owners
from cassandra.bulk.indexed_vectors import indexed_vectors
from cassandra.bulk.lost_times import LostTimes
from cassandra.bulk.options import LoadOptions
from cassandra.bulk.target import (
    Plan,
    columns_of,
    names_in,
    names_of_columns,
    names_of_markers,
    order_of_statement,
    plan_of,
    positions_in,
)
from cassandra.bulk.texts import Formats

if TYPE_CHECKING:
    from cassandra.bulk.opened import Pipes
    from cassandra.metadata.schema.elements import ColumnMetadata
    from cassandra.metadata.schema.tables import TableMetadata
    from cassandra.query.prepared import PreparedStatement

# For each file of a source, its name and its field names: see `fields_of_each`.
FieldsOfEach = Sequence[tuple[str, list[str] | None]]


class Selection(NamedTuple):
    """The columns that a load writes, as far as they are known before its statement is prepared.

    :param mapping: field names by column name. A column that is missing here has the same name as
        its field.
    :param source_order: column names, in the order of the values in rows without names, which are
        tuples or lists.
    :param is_closed: True if a field without a column is an error, because its values would be
        lost silently.
    :param file_order: column names, in the order of the fields in a CSV file without a header. It
        includes the columns whose fields are ignored. None means `source_order`.
    """

    mapping: Mapping[str, str]
    source_order: Sequence[str]
    is_closed: bool
    file_order: Sequence[str] | None = None


def selection_of_statement(prepared: PreparedStatement, options: LoadOptions) -> Selection:
    """Return the columns that a load writes with a statement that the application has prepared.

    :param prepared: the statement that the load executes for each row.
    :param options: the options of the load.
    :raises ValueError: if `columns` or `ignore` do not fit the bind markers of the statement.
    """
    mapping, columns = _mapping_of(options.columns)
    source_order = order_of_statement(prepared, mapping, columns, options.ignore)
    return Selection(mapping, source_order, is_closed=False)


def selection_of_table(
    table: TableMetadata, options: LoadOptions, fields: FieldsOfEach
) -> tuple[Plan, Selection]:
    """Plan the statement that a load to a table executes, and select the columns.

    :param table: the metadata of the table, which is the target of the load.
    :param options: the options of the load.
    :param fields: the field names of each file of the source.
    :returns: the plan of the statement, and the columns that it writes.
    :raises ValueError: if the table lacks a column, if a field has no column, or if the columns
        cannot be written: see `plan_of`.
    """
    mapping, columns = _mapping_of(options.columns)
    # `mapping` has field names by column name. If all field names are columns of the table, but
    # some of the column names are not, the user has probably reversed ``columns=``, which must map
    # fields to columns.
    if mapping and {*mapping.values()} <= {*table.columns}:
        unknown = [name for name in columns if name not in table.columns]
        if unknown:
            raise ValueError(
                f"columns= maps fields of the source to columns of {table.name}, which has no "
                f"column {unknown[0]!r}: write columns={mapping!r}"
            )
    file_order = columns or names_of_columns(table)
    if columns:
        columns = [name for name in columns if mapping.get(name, name) not in options.ignore]
        if not columns:
            raise ValueError("ignore= has all fields of columns=, so no column would be written")
    plan = plan_of(
        table,
        columns or _columns_of_source(table, options, fields),
        ttl=options.ttl,
        ttl_column=options.ttl_column,
        timestamp=options.timestamp,
        timestamp_column=options.timestamp_column,
        counters=options.counters,
    )
    # `plan.names` is the order of the values in rows without names. With `columns=`, fields without
    # a column are left out on purpose, so they are no error.
    return plan, Selection(mapping, plan.names, options.columns is None, file_order)


def _columns_of_source(
    table: TableMetadata, options: LoadOptions, fields: FieldsOfEach
) -> list[str]:
    """Return the columns of the table that at least one file of the source has.

    If the source has none of the table's columns, return all columns of the table.

    :param fields: for each file, (its name, its field names). The field names are None if they are
        not known before the rows are read.
    """
    not_columns = (*options.ignore, *options.marker_fields().values())
    names_in_source: set[str] = set()
    for source, names in fields:
        check_folders(source, names, not_columns, table)
        if names is None:  # unknown before the rows are read, so any column may occur
            names_in_source.update(table.columns)
            continue
        check_names(names, source, not_columns, written=None, table=table)
        names_in_source.update(names)
    columns = [
        name
        for name in names_of_columns(table)
        if name in names_in_source and name not in options.ignore
    ]
    return columns or names_of_columns(table)


def _mapping_of(
    columns: Mapping[str, str] | Sequence[str] | None,
) -> tuple[dict[str, str], list[str]]:
    """Return (field names by column name, column names) for the option ``columns``.

    If the option is None, both are empty. If it is a list, the first is empty: fields then have the
    names of the columns.
    """
    if columns is None:
        return {}, []
    if isinstance(columns, str):
        raise TypeError(f"columns is a list of names, or a dict of column by field: {columns!r}")
    if isinstance(columns, Mapping):
        fields = {column: field for field, column in columns.items()}
        if len(fields) < len(columns):
            raise ValueError(f"columns names one column twice: {dict(columns)}")
        return fields, list(fields)
    return {}, list(columns)


def reading_of_names(options: LoadOptions, pipes: Pipes | None = None) -> Reading:
    """Return the options for reading the field names of a source, before its columns are known.

    :param options: the options of the load.
    :param pipes: the open files of the load that can be read only once; None for a source without
        files.
    """
    return Reading(
        format=options.format,
        columns=(),
        mapping={},
        formats=Formats(options.null, options.date_format, options.timestamp_format),
        header=[] if options.header is False else options.header,
        delimiter=options.delimiter,
        quote=options.quote,
        encoding=options.encoding,
        ignored=frozenset(options.ignore),
        pipes=pipes,
        lost_times=LostTimes(),
        changed_numbers=ChangedNumbers(),
    )


class Columns:
    """Decides which field goes to which bind marker of a load's statement, and makes the `Binder`.

    The attribute `reading` has the options for reading the source from its beginning, with the
    columns and the mapping. `fields` has the field names in the order of the values in rows without
    names. `keys` has the positions of the primary key among the bind markers.

    :param prepared: the statement.
    :param selection: the columns that are written.
    :param table: the metadata of the table that the statement writes; None if it is unknown.
    :param options: the options of the load.
    :param reading: the options with which the field names were read.
    :param is_plain: True if the application's rows are bound without converters.
    """

    def __init__(
        self,
        prepared: PreparedStatement,
        selection: Selection,
        table: TableMetadata | None,
        options: LoadOptions,
        reading: Reading,
        is_plain: bool = False,
    ) -> None:
        self._prepared = prepared
        self._table = table
        self._options = options
        self._is_plain = is_plain
        columns = columns_of(prepared, table)
        names = [column.name for column in columns]
        marker_fields = options.marker_fields()
        mapping = {**selection.mapping, **marker_fields}
        # Rows without names have their values in the order of `columns=`. The bind markers may have
        # another order: in the UPDATE of a counter, and in a statement of the application.
        source_order = list(selection.source_order)
        source_order += [name for name in names if name not in source_order]
        self.fields = [mapping.get(name, name) for name in source_order]
        file_order = list(selection.file_order or source_order)
        file_order += [name for name in names if name not in file_order]
        self._positions = positions_in(source_order, names)
        # The column of each bind marker, if it is known; see `names_of_markers`.
        self._marker_names: list[str | None] = (
            [*names] if table is None else names_of_markers(prepared, table)
        )
        self.keys, key_names = _keys_of(prepared, table, self._marker_names)
        # Without columns=, a file may lack a column that another file has. But each file must have
        # the columns of the key, and the fields with the TTL and the write time.
        needed = {*key_names, *marker_fields}
        self.reading = reading._replace(
            columns=[
                column._replace(
                    is_key=column.name in key_names,
                    is_needed=not selection.is_closed or column.name in needed,
                )
                for column in columns
            ],
            mapping=mapping,
            # Without a header line, the fields of a file are in the order of `columns=`, or of the
            # table's columns. This order includes ignored fields.
            header=[mapping.get(name, name) for name in file_order]
            if options.header is False
            else options.header,
            is_closed=selection.is_closed,
            # Use the plan without the application's converters (`Session.codecs`), because fields
            # of files are converted to CQL values when they are read.
            binding=(prepared.plain_plan, prepared.protocol_version),
        )

    @property
    def columns(self) -> Sequence[Column]:
        """The column of each bind marker."""
        return self.reading.columns

    @property
    def bound_types(self) -> list[Any] | None:
        """The types with which the application's values are bound, including its converters.

        None for plain rows, which are bound with the types of the columns.
        """
        if self._is_plain:
            return None
        return [column.type for column in self._prepared.bind_plan.columns]

    def types_without_converters(self) -> dict[str, tuple[str, Any]]:
        """Return (column name, CQL type) by field name, for columns without a converter.

        A converter of the application may take values of any class.
        """
        bound_types = self.bound_types or [column.type for column in self.columns]
        return {
            self.reading.field(column): (column.name, column.type)
            for column, bound_type in zip(self.columns, bound_types, strict=True)
            if bound_type is column.type
        }

    def check_fields(self, fields: FieldsOfEach) -> None:
        """Raise ValueError if the fields of a file do not fit the columns.

        :param fields: the field names of each file of the source.
        """
        for source, names in fields:
            if names is not None:
                positions_of(names, source, self.reading)

    def binder(self, batch: str | None, owners: Callable[[], Owners | None]) -> Binder:
        """Return the object that binds the rows.

        :param batch: how rows are grouped into batches: see `LoadOptions`.
        :param owners: returns the map from partitions to replicas; None if replicas are unknown.
        """
        reading = self.reading
        binder = Binder(
            self._prepared,
            reading.columns,
            reading.mapping,
            self._positions,
            self.keys,
            batch,
            owners,
        )
        binder.is_closed = reading.is_closed
        binder.ignored = reading.ignored
        binder.is_server_order = self._table is not None and self._options.columns is None
        binder.is_dry = self._options.dry_run
        binder.is_plain = self._is_plain
        if reading.lost_times is not None:
            binder.lost_times = reading.lost_times
        if reading.changed_numbers is not None:
            binder.changed_numbers = reading.changed_numbers
        # Protocol versions before 4 have no unset values.
        if self._prepared.protocol_version >= 4:
            binder.counters = [
                index
                for index, column in enumerate(reading.columns)
                if column.type.typename == "counter"
            ]
        binder.write_time, binder.ttl = times_in(self._marker_names)
        binder.is_empty_null = "" in reading.formats.nulls
        if self._table is not None:
            # Leave encrypted columns out: their bytes are not floats, so their vectors cannot be
            # checked.
            names = ["" if column.is_hidden else column.name for column in reading.columns]
            binder.indexed_vectors = indexed_vectors(self._table, names)
            binder.cql_types = {
                name: column.cql_type for name, column in self._table.columns.items()
            }
            binder.static_columns = self._static_columns(self._table)
        return binder

    def _static_columns(self, table: TableMetadata) -> list[int]:
        """Return the positions of the static columns for which the order of rows matters.

        The order matters if it decides which value of a partition's static column is kept.

        The column of a bind marker may be unknown, for example if the marker is the argument of a
        function. If the statement names a static column, such a marker counts as static. Counters
        do not count: their sum is the same in any order.

        :param table: the table that is written.
        """
        # If the statement has no clustering columns, all rows of a partition have the same primary
        # key, so they are sent in their order anyway. If rows have a write time, the server keeps
        # the value with the latest write time, in whatever order the rows arrive.
        has_write_time = self._options.timestamp is not None or "[timestamp]" in self._marker_names
        static_names = {column.name for column in table.columns.values() if column.is_static}
        if not static_names or not self.keys.clustering or has_write_time:
            return []
        # If the column of a marker is unknown, it may be static if the statement names a static
        # column, or is INSERT JSON, which may write any column. `names` also has the names of
        # markers. If a marker has the name of a static column, we keep the order needlessly.
        names = names_in(self._prepared.query_string)
        may_be_static = not names.isdisjoint({*static_names, "json"})
        return [
            index
            for index, (name, column) in enumerate(
                zip(self._marker_names, self.columns, strict=True)
            )
            if (may_be_static if name is None else name in static_names)
            and column.type.typename != "counter"
        ]

    def static_rows(self, table: TableMetadata, prepared: PreparedStatement) -> StaticRows:
        """Return the second statement of the load, for rows that only have static columns.

        :param table: the target of the load.
        :param prepared: the prepared second statement: see `static_plan`.
        :returns: the statement, with the positions of the values that it binds.
        """
        names = [column.name for column in self.columns]
        key_names = {column.name for column in (*table.partition_key, *table.clustering_key)}
        # Skip bind markers such as [ttl], which are not columns of the table.
        other_columns = [
            index
            for index, name in enumerate(names)
            if name in table.columns and name not in key_names
        ]
        return StaticRows(
            prepared=prepared,
            positions=[names.index(column.name) for column in prepared.column_metadata],
            static=[index for index in other_columns if table.columns[names[index]].is_static],
            clustering=list(self.keys.clustering),
            regular=[index for index in other_columns if not table.columns[names[index]].is_static],
        )

    def row_values(self, table: TableMetadata) -> list[int]:
        """Return the positions of the columns without which a row of the table does not exist.

        In a table with compact storage, a row does not exist if all of its values outside the key
        are null. In any other table, an INSERT creates the row even without values. The result is
        empty for any other table. It is also empty if the load does not write all columns, because
        a row may have values in the columns that are not written.

        :param table: the target of the load.
        """
        key_names = {column.name for column in table.primary_key}
        value_names = {*table.columns} - key_names
        positions = [index for index, name in enumerate(self._marker_names) if name in value_names]
        is_compact = getattr(table, "is_compact_storage", False)  # views do not have the attribute
        return positions if is_compact and len(positions) == len(value_names) else []

    def short_rows(self, table: TableMetadata, prepared: PreparedStatement) -> ShortRows:
        """Return a statement of the load for rows that lack their last clustering columns.

        :param table: the target of the load.
        :param prepared: the prepared statement: see `short_key_plans`.
        :returns: the statement, with the positions of the values that it binds.
        """
        names = [column.name for column in self.columns]
        bound_names = [column.name for column in prepared.column_metadata]
        clustering = [column.name for column in table.clustering_key]
        return ShortRows(
            prepared=prepared,
            positions=[names.index(name) for name in bound_names],
            key=Keys(
                tuple(prepared.routing_key_indexes or ()),
                [bound_names.index(name) for name in clustering if name in bound_names],
            ),
            missing=[names.index(name) for name in clustering if name not in bound_names],
        )


def _keys_of(
    prepared: PreparedStatement, table: TableMetadata | None, names: Sequence[str | None]
) -> tuple[Keys, set[str]]:
    """Return where the primary key is among the bind markers, and which key columns are required.

    :param names: the columns of the bind markers; see `names_of_markers`.
    :returns: the positions of the key's columns, and the names of the columns that must have
        values.
    """
    partition_positions = tuple(prepared.routing_key_indexes or ())
    key_names = {prepared.column_metadata[index].name for index in partition_positions}
    if table is None:
        return Keys(partition_positions, []), key_names

    def known(columns: Sequence[ColumnMetadata]) -> list[int]:
        # If a column has two bind markers (WHERE c > ? AND c < ?), neither of the markers binds
        # the column's value in a row.
        return [names.index(column.name) for column in columns if names.count(column.name) == 1]

    # Clustering columns must have values even if their positions are unknown.
    key_names.update(column.name for column in table.clustering_key)
    # If a part of the partition key has no bind marker, as in VALUES (?, 'x', ?), rows can still be
    # distinguished by its other parts.
    known_partition = () if partition_positions else known(table.partition_key)
    keys = Keys(partition_positions, known(table.clustering_key), known_partition)
    return keys, key_names
