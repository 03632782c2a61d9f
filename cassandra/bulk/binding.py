"""Turns the rows of a chunk into requests.

A chunk is a number of rows that a load reads and binds together (see `cassandra.bulk.chunks`). To
bind a row means to encode its values for the statement's bind markers. A load binds the next chunk
in its reader thread, while the requests of the current chunk are sent.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
    ValuesView,
)
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._later_warnings import warn
from cassandra._signals import is_from_signal_handler
from cassandra._write_times import doubt_about
from cassandra.bulk.bound_values import (
    LENGTH,
    UNSET,
    parts_in_order,
    spans_of,
    value_at,
    varying_positions,
)
from cassandra.bulk.changed_numbers import CHECKED_TYPES, ChangedNumbers
from cassandra.bulk.chunks import Chunk, Column, Position, slice_of
from cassandra.bulk.fields import check_dates, unknown_field, values_by_name, values_by_position
from cassandra.bulk.groups import Keys, Owners
from cassandra.bulk.indexed_vectors import IndexedVector, fault_of
from cassandra.bulk.inner_nulls import collection_columns, inner_null
from cassandra.bulk.leaves import Leaves, leaves_of, value_in_row
from cassandra.bulk.lost_times import LostTimes
from cassandra.bulk.objects import (
    Attributes,
    check_value,
    fields_of_class,
    has_user_type,
    may_be_unset,
)
from cassandra.bulk.rows_ahead import RowsAhead
from cassandra.bulk.target import LONGEST_TTL
from cassandra.bulk.units import RowUnits
from cassandra.protocol.encrypted import is_encrypted
from cassandra.protocol.records import is_record
from cassandra.query.batch import bind_rows
from cassandra.query.prepared import PreparedStatement
from cassandra.query.tables.rows import advice_on_matrix, is_array, rows_of

if TYPE_CHECKING:
    from cassandra.bulk import grouping
    from cassandra.bulk.grouping import Group
    from cassandra.protocol import bind
else:
    from cassandra._impl import bind, grouping

# If binding a part of a data frame or array fails, and the part has at most this many rows, it is
# converted to tuples before we search for the failing rows. The search binds many smaller parts,
# and each part of a data frame or array takes milliseconds to bind.
_ROWS_OF_A_TABLE = 1024
_LONGEST_KEY = 65_535  # in bytes, of a partition key, and of the clustering columns of a row
_TEXTS = ("ascii", "text", "varchar")  # the CQL types of strings


class StaticRows(NamedTuple):
    """The second statement of a load, for rows that only have their partition's static columns.

    All indexes are indexes of values in a row as the load's main statement binds the row.

    :param prepared: the prepared statement.
    :param positions: the index of the value of each bind marker of `prepared`.
    :param static: the indexes of static columns.
    :param clustering: the indexes of clustering columns, which such rows lack.
    :param regular: the indexes of all other columns outside the key, which such rows lack.
    """

    prepared: PreparedStatement
    positions: Sequence[int]
    static: Sequence[int]
    clustering: Sequence[int]
    regular: Sequence[int]

    def has_only_static_values(self, sizes: Sequence[int], is_empty_null: bool) -> bool:
        """Return True if a row has only values of its partition key and of static columns.

        At least one static column must have a value. A row without any value has probably lost its
        clustering key, and to write it would delete the values of the partition's static columns.

        :param sizes: the sizes of the row's values in bytes; negative for missing values.
        :param is_empty_null: True for a row of CSV, which cannot tell an empty clustering column
            from a missing one: it counts as missing if the row has no regular values.
        """
        if any(sizes[index] >= 0 for index in self.regular):
            return False
        if not any(sizes[index] >= 0 for index in self.static):
            return False
        # A missing value has a negative size; an empty CSV field has size 0.
        largest_missing = 0 if is_empty_null else -1
        return all(sizes[index] <= largest_missing for index in self.clustering)


class ShortRows(NamedTuple):
    """A statement of a load for rows that lack their last clustering columns.

    Dense tables with compact storage have such rows. A server refuses them if the statement binds
    null for these columns.

    :param prepared: the prepared statement.
    :param positions: for each bind marker of `prepared`, the index of its value in a row as the
        load's main statement binds the row.
    :param key: the positions of the primary key among the bind markers of `prepared`.
    :param missing: the indexes, in a row as the main statement binds it, of the clustering columns
        that such rows lack.
    """

    prepared: PreparedStatement
    positions: Sequence[int]
    key: Keys
    missing: Sequence[int]

    def has_short_key(self, sizes: Sequence[int]) -> bool:
        """Return True if all clustering columns in `missing` are null in a row.

        Unset values do not count as null: a row without a field for such a column has probably lost
        the field.

        :param sizes: the sizes of the row's values in bytes; -1 for nulls.
        """
        return all(sizes[index] == -1 for index in self.missing)


class Wave(NamedTuple):
    """Requests of a chunk that may be sent in any order, because their rows have different keys.

    The next wave is sent when all requests of this wave are done: see `cassandra.bulk.grouping`.

    :param prepared: the statement of all requests.
    :param groups: the rows of each request.
    :param row_numbers: for each row of the bound block, its number in the chunk. The two numbers
        differ if some rows of the chunk could not be bound.
    """

    prepared: PreparedStatement
    groups: list[Group]
    row_numbers: Sequence[int]


class Bound(NamedTuple):
    """A chunk that is ready to be sent.

    :param chunk: the chunk. Its `rows` are empty if the compiled CSV reader has bound them.
    :param waves: the requests; empty in a dry run.
    :param row_count: the number of rows that could be bound.
    :param size: the size of the bound values in bytes.
    :param failures: the rows that could not be bound, as (row number, error).
    :param skipped_count: the number of rows that an earlier run of the load has done. They are not
        in `waves`, and not in `failures`.
    """

    chunk: Chunk
    waves: list[Wave]
    row_count: int
    size: int
    failures: list[tuple[int, BaseException]]
    skipped_count: int = 0


def _rows_at(
    indexes: Sequence[int], block: Any, row_numbers: Sequence[int]
) -> tuple[Any, Sequence[int]]:
    """Return (block, row numbers) of the rows at some positions of a block, in their order."""
    if len(indexes) == len(block):
        return block, row_numbers
    return block.take(indexes), [row_numbers[index] for index in indexes]


class Binder:
    """Binds the rows of a load's chunks, and groups them into requests.

    :param prepared: the statement.
    :param columns: the columns to write, in the order of the bind markers.
    :param mapping: field names by column name.
    :param order: for each bind marker, the position of its value in a row without names, which is a
        tuple or list.
    :param keys: the positions of the primary key's columns among the bind markers.
    :param batch: how rows are grouped into batches: see `LoadOptions`.
    :param owners: returns the map from partitions to replicas; None if replicas are unknown.
    """

    def __init__(
        self,
        prepared: PreparedStatement,
        columns: Sequence[Column],
        mapping: Mapping[str, str],
        order: Sequence[int],
        keys: Keys,
        batch: str | None,
        owners: Callable[[], Owners | None],
    ) -> None:
        self._prepared = prepared
        self._columns = columns
        # (bind marker, field name) of each column.
        self._fields = [(column.name, mapping.get(column.name, column.name)) for column in columns]
        self._field_names = [field for _, field in self._fields]
        self._key_fields = [mapping.get(each.name, each.name) for each in columns if each.is_key]
        self._mapping = mapping
        # The positions of the write time and the time to live among the bind markers; None if the
        # rows have no write time or no time to live.
        self.write_time, self.ttl = times_in([column.name for column in columns])
        # The classes whose objects are bound without a check of their fields: see `_note_class`.
        self._fitting_classes: set[type] = set()
        self._looks_at_write_times = True  # until the write time of the first row is checked
        self._order = order
        # False if the values of rows without names must be reordered to match the bind markers.
        self._is_in_order = list(order) == list(range(len(order)))
        self._width = max(order, default=-1) + 1  # number of values in a row without names
        self._keys = keys
        self._batch = batch
        self._owners = owners
        # True to refuse rows that have a field without a column.
        self.is_closed = False
        # True if the option `columns` is not set, so that the values of rows without names must be
        # in the order of ``SELECT *``, which is not the order of CREATE TABLE.
        self.is_server_order = False
        self.ignored: Collection[str] = ()  # names of fields to ignore
        self.is_dry = False  # True if the rows are only checked, and no requests are made
        self.is_plain = False  # True if the application's rows are bound without converters
        self.is_empty_null = True  # True if an empty field of CSV means null
        self.lost_times = LostTimes()
        self.changed_numbers = ChangedNumbers()
        self._row_units = RowUnits()
        # (position among the bind markers, name, type, function that returns the leaves of a value)
        # of the columns with values of each type. A column with a converter is left out: its values
        # may be objects of any class. So is an encrypted column: the warnings show values.
        self._columns_by_type: dict[str, list[tuple[int, str, Any, Leaves]]] = {
            type_name: [] for type_name in ("date", *CHECKED_TYPES)
        }
        # (position among the bind markers, name) of the columns of timestamps without a converter.
        self._timestamp_columns: list[tuple[int, str]] = []
        # (position among the bind markers, name, type) of the columns with user-defined types.
        self._user_columns: list[tuple[int, str, Any]] = []
        for index, (plain_column, column) in enumerate(
            zip(prepared.plain_plan.columns, prepared.bind_plan.columns, strict=True)
        ):
            type_name = getattr(plain_column.type, "typename", None)
            if column.type is not plain_column.type:
                continue
            if not is_encrypted(plain_column.type):
                self._note_leaves(index, plain_column.name, plain_column.type)
                if type_name == "timestamp":
                    self._timestamp_columns.append((index, plain_column.name))
            if has_user_type(plain_column.type):
                self._user_columns.append((index, plain_column.name, plain_column.type))
        # The load's second statement, for rows that only have values of static columns; None if the
        # load needs only one statement.
        self.static_rows: StaticRows | None = None
        # The load's statements for rows without their last clustering columns; the statements with
        # the fewest columns come first.
        self.short_rows: list[ShortRows] = []
        # The positions of static columns, if rows of one partition may have different values for
        # them. In that case, the order of the rows decides which value is kept.
        self.static_columns: Sequence[int] = ()
        # The positions of the counters that the statement adds to. A null there is bound as unset,
        # so that the counter stays as it is. Empty if the protocol version has no unset values.
        self.counters: Sequence[int] = ()
        # The positions of the columns outside the key, if a row in which all of them are null does
        # not exist: see `Columns.row_values`. Such rows are refused, because they delete rows.
        self.row_values: Sequence[int] = ()
        # The columns with a vector index, which cannot hold every vector (not NaN, for example).
        # Vectors that the index cannot hold are refused before they are sent.
        self.indexed_vectors: Sequence[IndexedVector] = ()
        # The rows that an earlier run of the load has done, which are not sent again.
        self.ahead = RowsAhead(Position(0, 0))
        # The CQL types of the table's columns, for dry runs; None if they are unknown.
        self.cql_types: Mapping[str, str] | None = None

    def _note_leaves(self, index: int, name: str, cql_type: Any) -> None:
        """Remember a column that has values of a type which `_look_at_values` checks."""
        for type_name, columns in self._columns_by_type.items():
            leaves = leaves_of(cql_type, type_name)
            if leaves is not None:
                columns.append((index, name, cql_type, leaves))

    def _names_in_order(self) -> list[str]:
        """Return the column names in the order of values in a row without names."""
        names = [""] * self._width
        for column, position in zip(self._columns, self._order, strict=True):
            names[position] = column.name
        return names

    def bind_next(self, chunks: Iterator[Chunk]) -> Bound | None:
        """Take the next chunk, bind its rows, and return the requests that write them.

        :param chunks: the chunks of the source that are not bound yet.
        :returns: the bound chunk; None if there is no further chunk.
        """
        chunk = next(chunks, None)
        if chunk is None:
            return None
        failures: list[tuple[int, BaseException]] = []
        source = chunk.rows
        row_numbers: Sequence[int] = range(chunk.size)
        # The compiled CSV reader has already bound the rows.
        if isinstance(source, bind.RowsBlock):
            # The block has the rows, so the chunk need not keep them in memory.
            return self._bound(chunk._replace(rows=()), source, row_numbers, failures)
        if isinstance(source, list):
            # The reader has replaced unreadable rows by exceptions.
            failures = [
                (number, row) for number, row in enumerate(source) if isinstance(row, Exception)
            ]
            if failures:
                unreadable = {number for number, _ in failures}
                row_numbers = [number for number in row_numbers if number not in unreadable]
                source = [source[number] for number in row_numbers]
            if chunk.source is None:
                # Readers of files return values in the order of the bind markers. The application's
                # rows may have another order.
                source, row_numbers = self._in_marker_order(source, row_numbers, failures)
                source, row_numbers = self._without_bad_objects(source, row_numbers, failures)
        elif not self._is_in_order and is_array(source) and source.ndim == 2:
            # The columns of an array have no names, but they are in the order of `columns=`.
            # Reorder them to match the bind markers.
            if source.shape[1] != self._width:
                raise ValueError(
                    f"an array of {source.shape[1]} columns, and {self._width} columns are "
                    f"written: {', '.join(self._names_in_order())}"
                    f"{advice_on_matrix(source, self._columns)}"
                )
            source = source[:, list(self._order)]
        # Check the values of the application's rows for probable mistakes.
        if chunk.source is None:
            self._look_at_values(source, row_numbers, chunk)
        # (row numbers, block) of all rows that could be bound. There is one part unless rows fail.
        bound_parts: list[tuple[Sequence[int], Any]] = []
        # Readers of files return CQL values, so the application's converters must not be applied.
        is_plain = self.is_plain or chunk.source is not None
        self._bind(source, row_numbers, bound_parts, failures, is_plain)
        if len(bound_parts) == 1:
            row_numbers, block = bound_parts[0]
        else:
            # Some rows failed, so the other rows were bound in several parts. Join the blocks of
            # these parts.
            row_numbers = [number for numbers, _ in bound_parts for number in numbers]
            block = bind_rows(self._prepared, [])
            for _, part in bound_parts:
                for row in part.rows():
                    block.append(row)
        return self._bound(chunk, block, row_numbers, failures)

    def _look_at_values(self, source: Any, row_numbers: Sequence[int], chunk: Chunk) -> None:
        """Warn of values that the application probably does not mean to write.

        These are times of day in date columns, floats in decimal columns, integers that a column
        rounds, and timestamps in seconds.

        :param source: rows, or an array of two dimensions, in the order of the bind markers. Tables
            with named columns were checked when their columns were selected.
        :param row_numbers: the index of each row in the chunk.
        :raises ValueError: if an array has integers for dates.
        """
        if isinstance(source, list):
            for type_name in CHECKED_TYPES:
                for index, name, cql_type, leaves in self._columns_by_type[type_name]:
                    self.changed_numbers.look_at_rows(
                        name, cql_type, type_name, source, index, leaves
                    )
            for index, name in self._timestamp_columns:
                self._row_units.look_at_rows(name, index, source, row_numbers, chunk)
            for index, name, cql_type, leaves in self._columns_by_type["date"]:
                self.lost_times.look_at_rows(name, source, index, cql_type, leaves)
        elif is_array(source) and source.ndim == 2:
            for index, name, cql_type, _ in self._columns_by_type["date"]:
                if index < source.shape[1]:
                    check_dates(source[:, index], name, cql_type, self.lost_times)

    def _in_marker_order(
        self, rows: list[Any], row_numbers: Sequence[int], failures: list[tuple[int, BaseException]]
    ) -> tuple[list[Any], Sequence[int]]:
        """Reorder the values of the application's rows to match the bind markers.

        :param failures: gets (row number, error) for each row that does not fit the columns.
        :returns: (rows, row numbers) of all other rows.
        """
        # Usually each row is a tuple in the order of the bind markers: return such rows unchanged.
        if (
            self._is_in_order
            and all(type(row) is tuple for row in rows)
            and set(map(len, rows)) <= {self._width}
        ):
            return rows, row_numbers
        known_fields = {field for _, field in self._fields} if self.is_closed else None
        convert = partial(self._marker_values, known_fields=known_fields)
        return _converted(rows, row_numbers, failures, convert)

    def _without_bad_objects(
        self, rows: list[Any], row_numbers: Sequence[int], failures: list[tuple[int, BaseException]]
    ) -> tuple[list[Any], Sequence[int]]:
        """Remove each row with an object that has a field which its user-defined type lacks.

        :param rows: the rows, in the order of the bind markers.
        :param failures: gets (row number, error) for each removed row.
        :returns: (rows, row numbers) of all other rows.
        """
        if not self._user_columns:
            return rows, row_numbers
        return _converted(rows, row_numbers, failures, self._without_unknown_fields)

    def _without_unknown_fields(self, row: Any) -> Any:
        """Return the row unchanged; raise an error if an object in it has an unknown field.

        :raises ValueError: if an object has a field that its user-defined type lacks.
        """
        for index, name, cql_type in self._user_columns:
            value = value_in_row(row, name, index)
            try:
                check_value(cql_type, value)
            except ValueError as error:
                raise ValueError(f"column {name!r}: {error}") from error
        return row

    def _marker_values(self, row: Any, known_fields: Set[str] | None) -> object:
        """Convert a row that the application passed in to a form that the statement can bind.

        The form is a sequence in the order of the bind markers, or a dict by their names. Any other
        object, which cannot be bound, is returned unchanged.

        :param known_fields: the fields that have columns; None if a row may have other fields.
        :raises ValueError: if the row does not fit the columns.
        """
        # A plain tuple or list has no names: its values are in the expected order. Rows of any
        # other class may have names.
        if type(row) is not tuple and type(row) is not list:
            if type(row) in self._fitting_classes:
                return row  # the object is bound by its attributes
            values = values_by_name(row)
            if values is not None:
                self._check_names(values, known_fields, isinstance(row, Mapping))
                return {marker: values[field] for marker, field in self._fields if field in values}
            if is_record(row):
                attributes = Attributes(row, self._field_names, self.ignored)
                values = attributes.values
                # An iterable object without such attributes is a sequence of values.
                is_sequence = (
                    not values and isinstance(row, Iterable) and fields_of_class(type(row)) is None
                )
                if not is_sequence:
                    if not attributes.names:
                        return row
                    what = f"it ({type(row).__name__})"
                    self._check_names(attributes.names, known_fields, is_mapping=False, what=what)
                    self._note_class(type(row))
                    return {
                        marker: values[field] for marker, field in self._fields if field in values
                    }
            row = values_by_position(row)
            if not isinstance(row, (tuple, list)):
                return row
        if len(row) == self._width:
            return row if self._is_in_order else [row[index] for index in self._order]
        # A statement could be bound to fewer values, but the missing columns would stay unset: the
        # row may come from a line that was cut off.
        advice = ["columns=[...] names others"] if self.is_closed else []
        if row and all(type(value) is str for value in row):
            advice.append(_ADVICE_ON_STRINGS)
        names = ", ".join(self._names_in_order())
        raise ValueError(
            f"it has {len(row)} values, and {self._width} columns are written: "
            + "; ".join([names, *advice])
        )

    def _note_class(self, cls: Any) -> None:
        """Remember a class that declares exactly the fields that are written.

        The fields of its objects need no further checks.

        :param cls: the class of an object whose fields fit the columns.
        """
        # Check each object of a pydantic model: it may have extra fields, and its fields may have
        # aliases. Fields of a msgspec struct may be unset.
        if not (self._mapping or hasattr(cls, "__pydantic_extra__") or may_be_unset(cls)):
            fields = fields_of_class(cls)
            if fields is not None and {*fields} == {*self._field_names}:
                self._fitting_classes.add(cls)

    def _check_names(
        self,
        names: Collection[str],
        known_fields: Set[str] | None,
        is_mapping: bool,
        what: str = "it",
    ) -> None:
        """Raise ValueError for a row whose names do not fit the columns.

        :param is_mapping: True for a mapping, which may lack fields. Other rows with names (named
            tuples, for example) all have the same fields. If such a row lacks a field, the field
            probably has another name in the source, so that is an error.
        :param what: the row, for the message.
        """
        error: ValueError | None = None
        if known_fields is not None and not known_fields >= {*names}:
            error = unknown_field(names, known_fields, self.ignored, what)
        # A row without clustering columns is written by the load's second statement, if there is
        # one. Otherwise each row needs the whole primary key.
        if error is None and self.static_rows is None:
            missing = [field for field in self._key_fields if field not in names]
            if missing:
                error = ValueError(
                    f"{what} has no field {missing[0]!r}, which is of the primary key"
                )
        # If any field is allowed, `columns=` or the application's statement has selected the
        # columns. Then each of these columns must have a field.
        if error is None and not is_mapping and known_fields is None:
            missing = [field for _, field in self._fields if field not in names]
            if missing:
                error = ValueError(
                    f"{what} has no field {missing[0]!r}, which is written, but "
                    f"{', '.join(names)}: "
                    "columns= says how the columns are called in the rows"
                )
        if error is not None:
            raise error

    def _bind(
        self,
        source: Any,
        row_numbers: Sequence[int],
        bound_parts: list[tuple[Sequence[int], Any]],
        failures: list[tuple[int, BaseException]],
        is_plain: bool,
    ) -> None:
        """Bind all rows in one call; if that fails, find the rows with errors by bisection.

        If binding raises an error, each half of the rows is bound separately, and so on.

        :param bound_parts: gets (row numbers, block) for the rows that could be bound.
        :param failures: gets (row number, error) for each other row.
        :param is_plain: True binds without converters, for example rows of files.
        """
        if not row_numbers:
            return
        try:
            block = bind_rows(self._prepared, source, is_plain)
        except MemoryError:
            raise
        except Exception as error:  # values of the application may raise anything
            if is_from_signal_handler(error):
                raise
            if len(row_numbers) == 1:
                if not is_plain and isinstance(source, list):
                    self._advise(error, source[0])
                failures.append((row_numbers[0], error))
                return
            # Convert a small part of a table to rows, because binding many parts of a table is
            # slow.
            if len(row_numbers) <= _ROWS_OF_A_TABLE and not isinstance(source, list):
                rows = _rows_of_table(self._prepared, source)
                # Converters are never applied to tables, so do not apply them to their rows either.
                source, is_plain = (source, is_plain) if rows is None else (rows, True)
            middle = len(row_numbers) // 2
            for start, part in ((0, row_numbers[:middle]), (middle, row_numbers[middle:])):
                self._bind(
                    slice_of(source, start, len(part)), part, bound_parts, failures, is_plain
                )
            return
        bound_parts.append((row_numbers, block))

    def _advise(self, error: Exception, row: Any) -> None:
        """Add advice to the message of an error that a row of the application raised when bound."""
        if _advise_for_strings(error, row):
            return
        # The application may have passed lists of rows, such as batches, in place of rows.
        has_only_lists = (
            type(row) in (tuple, list) and row and all(type(item) in (tuple, list) for item in row)
        )
        # If the message speaks of an element, the list is not a row, but the value of a collection.
        if has_only_lists and "element" not in str(error):
            _replace_advice(error, "; this row is a list of rows: pass the rows themselves")
            return
        # The application may have passed the values in the order of CREATE TABLE.
        if self.is_server_order and isinstance(error, TypeError) and type(row) in (tuple, list):
            _add_advice(
                error,
                f"values without names are in the order {', '.join(self._names_in_order())}, "
                "whatever their order in CREATE TABLE is: columns=[...] names another",
            )

    # -- requests ----------------------------------------------------------------------------------

    def _bound(
        self,
        chunk: Chunk,
        block: Any,
        row_numbers: Sequence[int],
        failures: list[tuple[int, BaseException]],
    ) -> Bound:
        """Group the bound rows of a chunk into requests, and the requests into waves.

        :param row_numbers: for each row of the block, its number in the chunk.
        :param failures: the rows that could not be bound, as (number, error).
        :returns: the waves, and `failures` with the rows that fail in this step.
        """
        waves: list[Wave] = []
        skipped = {*self.ahead.in_chunk(chunk)} if self.ahead else set()
        if skipped:
            failures = [failure for failure in failures if failure[0] not in skipped]
            indexes = [index for index, row in enumerate(row_numbers) if row not in skipped]
            block, row_numbers = _rows_at(indexes, block, row_numbers)
        if self.write_time is not None:
            if block.has_unset:
                block, row_numbers = self._with_write_times(block, row_numbers, failures)
            if self._looks_at_write_times:
                self._look_at_write_times(chunk, block, row_numbers)
        if self.indexed_vectors:
            block, row_numbers = self._without_bad_vectors(block, row_numbers, failures)
        if self.row_values:
            block, row_numbers = self._without_deletions(chunk, block, row_numbers, failures)
        if self.counters:
            block, row_numbers = self._without_null_counters(block, row_numbers, failures)
        # Count before static rows are removed from the block, because removed rows count, too.
        byte_count, row_count = block.size, len(block)
        # Make the requests of each part. In a dry run, only look for rows that servers refuse.
        for part, part_numbers in self._in_static_order(block, row_numbers):
            other_rows, other_numbers = part, part_numbers
            if self.static_rows is not None:
                other_rows, other_numbers, static_errors = self._take_static_rows(
                    part, part_numbers, waves, chunk
                )
                failures += static_errors
                row_count -= len(static_errors)
            for short_rows in self.short_rows:
                other_rows, other_numbers, short_errors = self._take_short_rows(
                    short_rows, other_rows, other_numbers, waves
                )
                failures += short_errors
                row_count -= len(short_errors)
            if self.is_dry:
                # A dry run sends nothing, so we must find the rows that a server would refuse.
                errors = self._refused_rows(self._prepared, other_rows, self._keys, other_numbers)
                failures += errors
                row_count -= len(errors)
            else:
                waves += self._waves(self._prepared, other_rows, self._keys, other_numbers)
        # The failures come from several steps, so sort them by row number.
        failures_in_order = sorted(failures, key=lambda failure: failure[0])
        return Bound(chunk, waves, row_count, byte_count, failures_in_order, len(skipped))

    def _refused_rows(
        self, prepared: PreparedStatement, block: Any, keys: Keys, row_numbers: Sequence[int]
    ) -> list[tuple[int, BaseException]]:
        """Return (number, error) for each row that servers would refuse.

        Servers refuse a row because of its key, its time to live, its write time or a null inside a
        collection.

        :param prepared: the main statement, or that of `static_rows`.
        :param keys: the positions of the key among the bind markers.
        :param row_numbers: the number of each row in its chunk.
        """
        errors: list[tuple[int, BaseException]] = []
        names = [column.name for column in prepared.column_metadata]
        if prepared is self._prepared:
            # The names of named markers for these times may differ from [ttl] and [timestamp], so
            # use the positions that were found for the main statement.
            ttl_position, time_position = self.ttl, self.write_time
        else:  # the load's own statement for static columns
            time_position, ttl_position = times_in(names)
        collections = collection_columns(prepared, self.cql_types)
        # For each row, find the first value that servers refuse.
        for number, row in zip(row_numbers, block.rows(), strict=True):
            data = row.data
            spans = spans_of(data, block.width)
            error = _refused_key(names, keys, spans) or inner_null(collections, data, spans)
            if error is None and ttl_position is not None:
                error = _refused_ttl(data, spans[ttl_position])
            if error is None and time_position is not None and spans[time_position][1] < 0:
                error = ValueError("its write time is null")
            if error is not None:
                errors.append((number, error))
        return errors

    def _look_at_write_times(self, chunk: Chunk, block: Any, row_numbers: Sequence[int]) -> None:
        """Warn if the first row's write time is probably not in microseconds."""
        assert self.write_time is not None
        # Only look at the first row: one value is enough to find out the unit.
        for number, row in zip(row_numbers, block.rows(), strict=True):
            self._looks_at_write_times = False
            offset, size = spans_of(row.data, block.width)[self.write_time]
            # In the bound row, 4 bytes of length precede the value.
            write_time = int.from_bytes(
                row.data[offset + 4 : offset + 4 + size], "big", signed=True
            )
            doubt = doubt_about(write_time, "this row")
            if doubt is not None:
                warn(
                    f"{chunk.location(number)}: its write time {write_time} {doubt} (other rows "
                    "are not looked at)"
                )
            return

    def _with_write_times(
        self,
        block: Any,
        row_numbers: Sequence[int],
        failures: list[tuple[int, BaseException]],
    ) -> tuple[Any, Sequence[int]]:
        """Remove the rows that have no field with their write time, and add them to `failures`.

        Such a row must not be sent: a server would use the current time as its write time, and the
        row would replace newer values in the database. A missing field has the value "unset".

        :param failures: gets (row number, error) for each removed row.
        :returns: (block, row numbers) of the rows that stay.
        """
        assert self.write_time is not None
        field = self._fields[self.write_time][1]
        good_indexes: list[int] = []  # positions, in the block, of the rows that stay
        for row_index, row in enumerate(block.rows()):
            data = row.data
            if value_at(data, spans_of(data, block.width)[self.write_time]) != UNSET:
                good_indexes.append(row_index)
                continue
            problem = f"it has no field {field!r}, which is the row's write time"
            failures.append((row_numbers[row_index], ValueError(problem)))
        return _rows_at(good_indexes, block, row_numbers)

    def _without_bad_vectors(
        self,
        block: Any,
        row_numbers: Sequence[int],
        failures: list[tuple[int, BaseException]],
    ) -> tuple[Any, Sequence[int]]:
        """Remove the rows with vectors that the index of their column cannot hold.

        :param failures: gets (row number, error) for each of these rows.
        :returns: (block, row numbers) of all other rows.
        """
        good_indexes: list[int] = []  # positions, in the block, of the rows that stay
        for row_index, row in enumerate(block.rows()):
            data = row.data
            spans = spans_of(data, block.width)
            for column in self.indexed_vectors:
                offset, size = spans[column.position]
                start = offset + 4  # skip the length of the value
                error = fault_of(column, data[start : start + size]) if size > 0 else None
                if error is not None:
                    failures.append((row_numbers[row_index], error))
                    break
            else:
                good_indexes.append(row_index)
        return _rows_at(good_indexes, block, row_numbers)

    def _without_deletions(
        self,
        chunk: Chunk,
        block: Any,
        row_numbers: Sequence[int],
        failures: list[tuple[int, BaseException]],
    ) -> tuple[Any, Sequence[int]]:
        """Remove the rows in which all columns of `row_values` are null or unset.

        If all of these columns are null, the statement would delete the row; if all of them are
        unset, it would not write the row.

        :param failures: gets (row number, error) for each of these rows.
        :returns: (block, row numbers) of all other rows.
        """
        names = ", ".join(repr(self._columns[index].name) for index in self.row_values)
        problem = (
            f"it has no value for {names}, and a row without a value does not exist in a table "
            "with COMPACT STORAGE: null deletes it. Write DELETE for such rows"
        )
        types = {self._columns[index].type.typename for index in self.row_values}
        # In a CSV file, an empty field may be meant as an empty string. Only chunks of CSV files
        # have `names`.
        if chunk.names is not None and self.is_empty_null and not types.isdisjoint(_TEXTS):
            problem += "; if empty fields are texts, write null='NULL'"
        good_indexes: list[int] = []  # positions, in the block, of the rows that stay
        for row_index, row in enumerate(block.rows()):
            spans = spans_of(row.data, block.width)
            sizes = {spans[index][1] for index in self.row_values}
            if len(sizes) == 1 and min(sizes) < 0:
                failures.append((row_numbers[row_index], ValueError(problem)))
            else:
                good_indexes.append(row_index)
        return _rows_at(good_indexes, block, row_numbers)

    def _without_null_counters(
        self,
        block: Any,
        row_numbers: Sequence[int],
        failures: list[tuple[int, BaseException]],
    ) -> tuple[Any, Sequence[int]]:
        """Replace null counters by unset values, which leave the counters as they are.

        Servers refuse to add null to a counter.

        :param failures: gets (row number, error) for each row in which all counters are null or
            unset.
        :returns: (block, row numbers) of all other rows.
        """
        rows: list[bytes] = []
        numbers: list[int] = []
        has_null = False
        # Fail the rows without any counter value; in all other rows, replace null counters.
        for number, row in zip(row_numbers, block.rows(), strict=True):
            data = row.data
            spans = spans_of(data, block.width)
            missing = [index for index in self.counters if spans[index][1] < 0]
            if len(missing) == len(self.counters):
                names = ", ".join(repr(self._columns[index].name) for index in self.counters)
                problem = f"it has no value for a counter ({names}), so there is nothing to add"
                failures.append((number, ValueError(problem)))
                continue
            for index in missing:
                offset = spans[index][0]
                data = data[:offset] + UNSET + data[offset + LENGTH.size :]
            has_null = has_null or bool(missing)
            rows.append(data)
            numbers.append(number)
        if not has_null and len(rows) == len(block):
            return block, row_numbers
        return bind.RowsBlock(block.width, rows, has_unset=True), numbers

    def _in_static_order(
        self, block: Any, row_numbers: Sequence[int]
    ) -> list[tuple[Any, Sequence[int]]]:
        """Divide rows into parts that are sent one after another.

        Rows of one partition with different values for a static column go into different parts, so
        that the partition's last row decides the value. Otherwise such rows could share a batch,
        because their primary keys differ. A batch has one timestamp, so the server would keep the
        greater value instead of the last.

        :returns: (block, row numbers) of each part. There is one part unless values differ.
        """
        positions = () if self.is_dry else self.static_columns
        key = (*self._keys.partition, *self._keys.known_partition)
        return parts_in_order(self._prepared, block, row_numbers, key, positions, self.ttl)

    def _waves(
        self, prepared: PreparedStatement, block: Any, keys: Keys, row_numbers: Sequence[int]
    ) -> list[Wave]:
        """Group rows into requests; rows with the same primary key go into different waves.

        `grouping` compares the bytes of keys, but servers treat some keys with different bytes as
        equal. So rows whose keys are equal for a server, but not in bytes, are first divided into
        parts that are sent one after another.
        """
        varying = varying_positions(prepared, block, keys.positions)
        return [
            Wave(prepared, groups, part_numbers)
            for part, part_numbers in parts_in_order(
                prepared, block, row_numbers, keys.positions, varying
            )
            for groups in grouping.request_waves(part, keys, self._batch, self._owners())
        ]

    def _take_static_rows(
        self,
        block: Any,
        row_numbers: Sequence[int],
        waves: list[Wave],
        chunk: Chunk,
    ) -> tuple[Any, Sequence[int], list[tuple[int, BaseException]]]:
        """Make the requests of rows that only have static columns, and take them out of the block.

        :param waves: gets these requests, unless this is a dry run.
        :returns: (block, row numbers, failures): the block with all other rows and their numbers,
            and (row number, error) for each removed row that a server would refuse. Only a dry run
            looks for such rows; other loads leave that to the server.
        """
        static_rows = self.static_rows
        assert static_rows is not None
        # An empty field means null in CSV files only, and only chunks of CSV files have `names`.
        is_empty_null = chunk.names is not None and self.is_empty_null

        def is_static(number: int, sizes: Sequence[int]) -> bool:
            return static_rows.has_only_static_values(sizes, is_empty_null) and not (
                is_empty_null and self._has_written_empty(chunk, number, sizes)
            )

        # The key of these requests is the partition key: they have no clustering columns.
        prepared = static_rows.prepared
        keys = Keys(partition=tuple(prepared.routing_key_indexes or ()), clustering=())
        return self._take_rows(
            prepared, static_rows.positions, keys, is_static, block, row_numbers, waves
        )

    def _take_short_rows(
        self,
        short_rows: ShortRows,
        block: Any,
        row_numbers: Sequence[int],
        waves: list[Wave],
    ) -> tuple[Any, Sequence[int], list[tuple[int, BaseException]]]:
        """Make the requests of rows without their last clustering columns, and take these rows out.

        :param short_rows: the statement, and which rows it writes.
        :param waves: gets these requests, unless this is a dry run.
        :returns: as for `_take_static_rows`.
        """
        return self._take_rows(
            short_rows.prepared,
            short_rows.positions,
            short_rows.key,
            lambda _, sizes: short_rows.has_short_key(sizes),
            block,
            row_numbers,
            waves,
        )

    def _take_rows(
        self,
        prepared: PreparedStatement,
        positions: Sequence[int],
        keys: Keys,
        is_taken: Callable[[int, Sequence[int]], bool],
        block: Any,
        row_numbers: Sequence[int],
        waves: list[Wave],
    ) -> tuple[Any, Sequence[int], list[tuple[int, BaseException]]]:
        """Make the requests of rows that another statement writes, and take them out of the block.

        :param prepared: the other statement.
        :param positions: for each bind marker of `prepared`, the index of its value in a row of the
            block.
        :param keys: the positions of the key among the bind markers of `prepared`.
        :param is_taken: takes the number of a row and the sizes of its values in bytes, and returns
            True if `prepared` writes the row.
        :param waves: gets these requests, unless this is a dry run.
        :returns: as for `_take_static_rows`.
        """
        rows: list[bytes] = []
        taken_numbers: list[int] = []
        other_indexes: list[int] = []  # the indexes in the block of all other rows
        for row_index, row in enumerate(block.rows()):
            data = row.data
            spans = spans_of(data, block.width)
            if not is_taken(row_numbers[row_index], [size for _, size in spans]):
                other_indexes.append(row_index)
                continue
            # The main statement binds each value as 4 bytes of length, followed by the value's
            # bytes. Take the values of the other statement's columns.
            rows.append(b"".join([value_at(data, spans[index]) for index in positions]))
            taken_numbers.append(row_numbers[row_index])
        if not rows:
            return block, row_numbers, []
        taken_block = bind.RowsBlock(len(positions), rows, block.has_unset)
        errors: list[tuple[int, BaseException]] = []
        if self.is_dry:
            errors = self._refused_rows(prepared, taken_block, keys, taken_numbers)
        else:
            waves += self._waves(prepared, taken_block, keys, taken_numbers)
        other_numbers = [row_numbers[row_index] for row_index in other_indexes]
        return block.take(other_indexes), other_numbers, errors

    def _has_written_empty(self, chunk: Chunk, number: int, sizes: Sequence[int]) -> bool:
        """Return True if a CSV row has an empty clustering column whose field is not empty.

        For example, the field ``0x`` is an empty blob. Such a clustering column is not missing.

        :param number: the number of the row in the chunk.
        :param sizes: the sizes of the row's values in bytes.
        """
        assert self.static_rows is not None
        fields = [
            self._fields[index][1]
            for index in self.static_rows.clustering
            if not sizes[index] and self._columns[index].type.typename not in _TEXTS
        ]
        if not fields or chunk.raw is None or chunk.names is None:
            return False
        texts = chunk.raw[number]
        return any(texts[chunk.names.index(field)].strip() for field in fields)


def _converted(
    rows: list[Any],
    row_numbers: Sequence[int],
    failures: list[tuple[int, BaseException]],
    convert: Callable[[Any], Any],
) -> tuple[list[Any], Sequence[int]]:
    """Convert the application's rows.

    :param failures: gets (row number, error) for each row that cannot be converted.
    :param convert: returns the converted row, or raises the error of the row.
    :returns: (converted rows, row numbers) of all other rows.
    """
    converted_rows: list[Any] = []
    converted_numbers: list[int] = []
    for number, row in zip(row_numbers, rows, strict=True):
        try:
            converted = convert(row)
        except MemoryError:
            raise
        except Exception as error:  # rows of the application may raise anything
            if is_from_signal_handler(error):
                raise
            failures.append((number, error))
            continue
        converted_rows.append(converted)
        converted_numbers.append(number)
    return converted_rows, converted_numbers


def times_in(names: Sequence[str | None]) -> tuple[int | None, int | None]:
    """Return the positions of the write time and of the time to live among bind markers.

    :param names: the names of the markers; see `cassandra.bulk.target.names_of_markers`.
    :returns: None for a time that has no marker.
    """
    write_time, ttl = (
        names.index(name) if name in names else None for name in ("[timestamp]", "[ttl]")
    )
    return write_time, ttl


def _rows_of_table(prepared: PreparedStatement, table: Any) -> list[Any] | None:
    """Return the rows of a table as tuples in the order of the bind markers.

    :returns: None if a value of the table has no Python object that its column accepts.
    """
    try:
        return list(rows_of(table, prepared.plain_plan.columns))
    except MemoryError:
        raise
    except Exception as error:  # values of the application may raise anything
        if is_from_signal_handler(error):
            raise
        return None


def _refused_key(
    names: Sequence[str], keys: Keys, spans: Sequence[tuple[int, int]]
) -> ValueError | None:
    """Return the error for a key that every server would refuse; None if the key is valid.

    :param names: the names of the bind markers.
    :param keys: the positions of the key's columns among the bind markers.
    :param spans: (offset of the length, size) of each value.
    """
    for index in keys.positions:
        if spans[index][1] < 0:  # null or unset
            return ValueError(f"column {names[index]!r} of the primary key has no value")
        # Servers refuse an empty value if it is the whole partition key.
        if not spans[index][1] and [*keys.partition] == [index]:
            return ValueError(f"the partition key {names[index]!r} is empty")
    partition_size = sum(spans[index][1] for index in keys.partition)
    if len(keys.partition) > 1:
        # A server stores each column of such a key with its length and an end byte.
        partition_size += 3 * len(keys.partition)
    clustering_size = sum(spans[index][1] for index in keys.clustering)
    for what, size in (("partition key", partition_size), ("clustering key", clustering_size)):
        if size > _LONGEST_KEY:
            return ValueError(
                f"the {what} has {size} bytes, and servers take at most {_LONGEST_KEY}"
            )
    return None


def _refused_ttl(data: bytes, span: tuple[int, int]) -> ValueError | None:
    """Return the error for a time to live that every server would refuse; None if it is valid.

    :param data: the bound values of the row.
    :param span: (offset of the length, size) of the time to live.
    """
    offset, size = span
    start = offset + 4  # skip the length of the value
    # If the value is null or unset, there are no bytes, and `from_bytes` returns 0.
    ttl = int.from_bytes(data[start : start + max(size, 0)], "big", signed=True)
    if 0 <= ttl <= LONGEST_TTL:
        return None
    return ValueError(f"its time to live is {ttl} s, and servers take 0 to {LONGEST_TTL} s")


def _advise_for_strings(error: Exception, row: Any) -> bool:
    """Add advice to the error of a row in which all values are strings.

    For example, `csv.DictReader` returns such rows.

    :returns: True if there is advice.
    """
    values = row.values() if isinstance(row, Mapping) else row
    has_only_strings = (
        isinstance(values, (tuple, list, ValuesView))
        and all(isinstance(value, (str, NoneType)) for value in values)
        and any(isinstance(value, str) for value in values)
    )
    if not has_only_strings or not isinstance(error, TypeError):
        return False
    return _add_advice(error, _ADVICE_ON_STRINGS)


_ADVICE_ON_STRINGS = (
    "all values of this row are strings. A load converts strings to numbers, booleans and "
    "collections only if they are in a file: pass the name of the file, or convert the values"
)


def _replace_advice(error: Exception, advice: str) -> None:
    """Replace the advice in the message of an error that `BoundStatement.bind` has raised.

    The original advice is for a caller that binds the values of a single row.
    """
    if error.args and isinstance(error.args[0], str):
        message = error.args[0].partition("; the values of one row are bound here")[0]
        error.args = (f"{message}{advice}", *error.args[1:])


def _add_advice(error: Exception, advice: str) -> bool:
    """Add advice to the message of an error; return False if the error has no message."""
    if not error.args or not isinstance(error.args[0], str):
        return False
    error.args = (f"{error.args[0]}; {advice}", *error.args[1:])
    return True
