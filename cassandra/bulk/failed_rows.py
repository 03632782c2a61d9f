"""Writes the failed rows of a load to a file of JSON lines, to be corrected and loaded again."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from cassandra._signals import is_from_signal_handler
from cassandra.bulk.chunks import Chunk, Column, RowLocation, slice_of
from cassandra.bulk.fields import is_note, values_by_name, values_by_position
from cassandra.bulk.objects import values_to_show
from cassandra.bulk.opened import bad_byte, naming
from cassandra.bulk.plain import plain_codec
from cassandra.bulk.texts import (
    Formats,
    ignores_blanks,
    json_of,
    json_reader,
    means_null,
    parsed_json,
    refuse_other,
)
from cassandra.cqltypes.missing import is_missing
from cassandra.protocol.records import is_record
from cassandra.query.tables.rows import TableRows, is_array, rows_of
from cassandra.sentinels import UNSET_VALUE

# The names of the notes, which are the last fields of each line in a file of failed rows. In the
# file, an underscore precedes each name. The note "load" has the name of the load. Only loads with
# a checkpoint have a name, so other loads do not write this note.
_NOTES = ("source", "row", "line", "error", "load")

# How many rows of a table to convert at a time. Converting one row takes about as long as
# converting 64 rows.
_ROWS_AT_A_TIME = 64
RowKey = tuple[str | None, int]  # the absolute path of the source's file, and the row's number


class FailedRows:
    """Writes the file of failed rows: each row as a JSON object, with its location and its error.

    A row that could not be split into fields is written as ``_text`` or ``_fields``. A later load
    of the file refuses such a row until somebody has corrected it.

    :param path: the file, which is created when the first row fails. If it exists, rows are
        appended.
    :param columns: the columns that are written.
    :param fields: the field name of each column, in the order of the values in rows without names,
        which are tuples or lists.
    :param mapping: field names by column name.
    :param nulls: the strings that mean null in CSV.
    :param types: for each column, the type that binds the application's values, which may have a
        converter; None if no column has a converter.
    :param is_closed: True if a field without a column is an error, which the file shows. False if
        the load leaves such fields out: then the file leaves them out, too. So a load of the file
        does not write them, even if it has other options.
    :param ignored: names of fields that the load leaves out.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[Column],
        fields: Sequence[str],
        mapping: Mapping[str, str],
        nulls: Collection[str],
        types: Sequence[Any] | None = None,
        is_closed: bool = True,
        ignored: Collection[str] = (),
    ) -> None:
        self._path = path
        # The name of the load, which each of its runs writes into each line. Several loads may
        # append to one file, so another load may have a row with the same source and number. None
        # if the load has no checkpoint.
        self._load: str | None = None
        # The rows that an interrupted run of this load has already written to the file.
        self._existing: Collection[RowKey] = ()
        self._json_lines = _JsonLines(columns, fields, mapping, nulls, types, is_closed, ignored)
        # The file has the values of encrypted columns in plain text, so only its owner may read it.
        self._is_private = any(column.is_hidden for column in columns)
        self._file: IO[str] | None = None

    @property
    def path(self) -> str:
        """The absolute path of the file."""
        return os.path.realpath(self._path)

    @property
    def size(self) -> int:
        """The size of the file in bytes; 0 if there is no file yet."""
        return size_of(self._path)

    def name_load(self, load: str) -> None:
        """Write the name of the load to each row, so that a later run knows the rows of this load.

        :param load: a name that no other load has.
        """
        self._load = load

    def skip_rows_after(self, size: int) -> None:
        """Do not write the rows again that an interrupted run has written after its checkpoint.

        This run reads these rows again. Call this after `name_load`. A load without a name writes
        all failed rows.

        :param size: the size of the file in bytes at the checkpoint.
        """
        if self._load is not None:
            self._existing = rows_after(self._path, size, self._load)

    def keep(self, chunk: Chunk, index: int, location: RowLocation, reason: str) -> None:
        """Write a failed row to the file.

        :param chunk: the chunk that has the row.
        :param index: the row's index in the chunk.
        :param location: the row's location in the source.
        :param reason: the message of the error.
        """
        if _key_of(location.source, location.row) in self._existing:
            return
        if self._file is None:
            # Append to the file: it may be the only place where the failed rows of an earlier load
            # still exist.
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            # A load that was killed may have left an incomplete last line, without a line end. Then
            # we begin a new line.
            is_cut_off = _is_cut_off(self._path)
            mode = 0o600 if self._is_private else 0o666
            self._file = os.fdopen(os.open(self._path, flags, mode), "a", encoding="utf-8")
            if self._is_private:
                # The file may have existed before, with other permissions.
                _make_private(self._file.fileno(), self._path)
            if is_cut_off:
                self._file.write("\n")
        values = [location.source, location.row, location.line, reason]
        if self._load is not None:
            values.append(self._load)
        notes = dict(zip(_NOTES, values, strict=False))
        line = self._json_lines.line(chunk, index, notes)
        with naming(self._path):
            self._file.write(line + "\n")
            self._file.flush()

    def sync(self) -> None:
        """Wait until all rows are on disk."""
        if self._file is not None:
            with naming(self._path):
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            # `keep` has flushed all rows, or raised the error of the flush. Closing the file would
            # raise the same error again.
            with suppress(OSError):
                self._file.close()


class _JsonLines:
    """Converts failed rows to JSON objects; see `FailedRows` for the constructor's parameters."""

    def __init__(
        self,
        columns: Sequence[Column],
        fields: Sequence[str],
        mapping: Mapping[str, str],
        nulls: Collection[str],
        types: Sequence[Any] | None,
        is_closed: bool,
        ignored: Collection[str],
    ) -> None:
        # The field of each bind marker.
        self._field_of_each = [mapping.get(column.name, column.name) for column in columns]
        self._columns = dict(zip(self._field_of_each, columns, strict=True))
        self._types = {
            column.name: cql_type
            for column, cql_type in zip(
                columns, types or [column.type for column in columns], strict=True
            )
        }
        # The rows of a table that were converted last: `_read_rows` has the rows of `_read_table`
        # from the index `_read_first` on. `_read_rows` is None if these rows can only be converted
        # one by one.
        self._read_table: Any = None
        self._read_first = 0
        self._read_rows: list[dict[str, Any]] | None = None
        self._unwritten: dict[str, Any] = {}  # values of the current row that JSON cannot represent
        self._fields = fields
        self._has_repeated_fields = len({*fields}) < len(fields)
        self._is_closed = is_closed
        self._ignored = ignored
        self._mapping = mapping
        self._nulls = nulls
        self._keys = {mapping.get(column.name, column.name) for column in columns if column.is_key}

    def line(self, chunk: Chunk, index: int, notes: Mapping[str, Any]) -> str:
        """Return the JSON object for a failed row.

        :param index: the row's index in the chunk.
        :param notes: the row's location and error, by their names in _NOTES.
        """
        raw = chunk.raw[index] if chunk.raw is not None else None
        if isinstance(raw, str) and chunk.names is None and bad_byte(raw) is None:
            # A line that is not valid JSON raises ValueError. It is then written as `_text` below.
            with suppress(ValueError):
                parsed = parsed_json(raw)
                if isinstance(parsed, dict):
                    # Add the notes to the original string of the row, in place of its closing
                    # brace, so that its numbers lose no digits.
                    kept = {name for name in parsed if self._is_kept(name)}
                    original = raw.strip() if len(kept) == len(parsed) else _selected(raw, kept)
                    original = original[:-1].rstrip()
                    note_fields = _dumped(self._named(notes, kept))
                    return original + (", " if kept else "") + note_fields[1:]
        fields = self._fields_of(chunk, index, raw)
        if self._unwritten:
            notes = {**notes, "error": f"{notes['error']} (JSON cannot have {self._names()})"}
        return _dumped({**fields, **self._named(notes, fields)})

    def _names(self) -> str:
        return f"the value of {', '.join(map(repr, self._unwritten))}, which is in '_fields'"

    def _named(self, notes: Mapping[str, Any], field_names: Collection[str]) -> dict[str, Any]:
        """Return the notes by their names in the file, where underscores precede each name."""
        prefix = "_"
        while any(prefix + name in field_names or prefix + name in self._fields for name in notes):
            prefix += "_"
        return {prefix + name: value for name, value in notes.items()}

    def _fields_of(self, chunk: Chunk, index: int, raw: Any) -> dict[str, Any]:
        """Return the fields of a row as JSON values by field name.

        :param raw: the original content of the row: see `Chunk`.
        """
        self._unwritten = {}
        if isinstance(raw, str):
            return {"_text": raw}
        if raw is not None:
            names = chunk.names or ()
            if len(raw) != len(names) or len(set(names)) < len(names):
                # With a wrong number of fields, or names that occur twice, we cannot tell which
                # field has which name.
                return {"_fields": list(raw)}
            return {
                name: self._value(name, text)
                for name, text in zip(names, raw, strict=True)
                if self._is_kept(name)
            }
        row: Any = None
        try:
            if not isinstance(chunk.rows, list):
                row = chunk.rows
                fields = self._fields_of_table(row, index)
            else:
                row = chunk.rows[index]
                # The values of a row of a file are in the order of the columns. No converter
                # applies to them.
                is_file = chunk.source is not None
                fields = self._fields_of_tuple(row) if is_file else self._fields_of_row(row)
        except Exception as error:  # a value of the application may raise anything
            if is_from_signal_handler(error):
                raise
            return {"_text": object.__repr__(row)}
        # Values that JSON cannot represent are stored under `_fields`. A load refuses a row with
        # this field until somebody has corrected it.
        return {**fields, "_fields": self._unwritten} if self._unwritten else fields

    def _is_kept(self, name: str) -> bool:
        """Return False for a field that the load leaves out, except notes of an earlier load."""
        if name in self._columns:
            return True
        return name not in self._ignored and (self._is_closed or is_note(name))

    def _value(self, name: str, text: str) -> str | None:
        """Return the JSON value of a CSV field: None for null, otherwise the field's string."""
        column = self._columns.get(name)
        may_have_blanks = column is not None and ignores_blanks(column.type)
        if not means_null(text, self._nulls, may_have_blanks):
            return text
        # A key column is never null, so there an empty field means an empty value.
        is_empty_key = not text and name in self._keys
        return text if is_empty_key else None

    def _fields_of_row(self, row: Any) -> dict[str, Any]:
        """Return the fields of one of the application's rows."""
        values = values_by_name(row)
        # Without names, the values may be attributes of the row.
        if values is None and is_record(row):
            values = values_to_show(row, self._fields, self._is_kept)
            if not values:
                return {"_text": repr(row)}
        # A row without names: if it has a wrong number of values, we cannot tell which value
        # belongs to which column.
        if values is None:
            row = values_by_position(row)
            if not isinstance(row, (tuple, list)):
                return {"_text": repr(row)}
            # If the statement binds a column twice, the row has two values of one name.
            if len(row) != len(self._fields) or self._has_repeated_fields:
                return {"_fields": [json_of(value) for value in row]}
            values = dict(zip(self._fields, row, strict=True))
        return self._as_json_fields(values, self._types)

    def _fields_of_tuple(self, row: Any) -> dict[str, Any]:
        """Return the fields of a row that was read from a file."""
        # If the statement binds a column twice, both values are from the same field.
        return self._as_json_fields(dict(zip(self._field_of_each, row, strict=True)))

    def _fields_of_table(self, table: Any, index: int) -> dict[str, Any]:
        """Return the fields of a row of a table."""
        if self._has_repeated_fields and _has_no_names(table):
            return {"_fields": [json_of(value) for value in table[index].tolist()]}
        # Convert a block of rows at once, and keep them: the next failed rows are probably among
        # them.
        first = index - index % _ROWS_AT_A_TIME
        if self._read_table is not table or self._read_first != first:
            self._read_table, self._read_first = table, first
            try:
                self._read_rows = self._rows_of_table(slice_of(table, first, _ROWS_AT_A_TIME))
            except Exception as error:  # a value of this or another row cannot be converted
                if is_from_signal_handler(error):
                    raise
                self._read_rows = None
        if self._read_rows is None:
            return self._as_json_fields(self._rows_of_table(slice_of(table, index, 1))[0])
        return self._as_json_fields(self._read_rows[index - first])

    def _rows_of_table(self, table: Any) -> list[dict[str, Any]]:
        """Return the rows of a table, as dicts of values by field name."""
        columns: Sequence[Column] = list(self._columns.values())
        # An array without named fields has its columns in the order of `_fields`.
        if _has_no_names(table):
            columns = [self._columns[field] for field in self._fields]
        rows = rows_of(table, columns)
        if not isinstance(rows, TableRows):
            raise TypeError("it is not a table")
        fields = [self._mapping.get(column.name, column.name) for column in columns]
        return [dict(zip(fields, values, strict=True)) for values in rows]

    def _as_json_fields(
        self, values: Mapping[str, Any], types: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Convert values by field name to JSON values. Unset values are left out.

        Values that JSON cannot represent are added to `_unwritten`.

        :param types: by column name, the types that bind the values; None for the types of the
            columns.
        """
        fields: dict[str, Any] = {}
        for name, value in values.items():
            column = self._columns.get(name)
            if value is UNSET_VALUE or not self._is_kept(name):
                continue
            if column is None:  # a field that is not written
                fields[name] = json_of(value)
                continue
            cql_type = column.type if types is None else types[column.name]
            is_written, json_value = _as_faithful_json(column, cql_type, value)
            fields_or_unwritten = fields if is_written else self._unwritten
            fields_or_unwritten[name] = json_value
        return fields


def _make_private(descriptor: int, path: str | os.PathLike[str]) -> None:
    """Let only the owner of an open file read and write it; do nothing if it is not a file.

    :raises PermissionError: if others may read the file, and it does not belong to this user.
    """
    mode = os.fstat(descriptor).st_mode
    # Windows has no such permissions, and a pipe or a terminal keeps nothing.
    if os.name == "nt" or not stat.S_ISREG(mode) or not mode & 0o077:
        return
    try:
        os.chmod(descriptor, 0o600)
    except PermissionError as error:
        raise PermissionError(
            f"failed_rows={os.fspath(path)!r} would have values of encrypted columns, and is a "
            "file of another user that others may read: name another file"
        ) from error


def _has_no_names(table: Any) -> bool:
    """Return True for an array without named fields."""
    return is_array(table) and table.dtype.names is None


def _is_cut_off(path: str | os.PathLike[str]) -> bool:
    """Return True if the last line of a file has no line end, for example after a crash."""
    if not os.path.isfile(path) or not os.path.getsize(path):
        return False
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def size_of(path: str | os.PathLike[str]) -> int:
    """Return the size of a file of failed rows in bytes; 0 if there is no file.

    :param path: the file.
    """
    return os.path.getsize(path) if os.path.isfile(path) else 0


def rows_after(path: str | os.PathLike[str], size: int, load: str) -> set[RowKey]:
    """Return the rows that a load has added to a file of failed rows after its last checkpoint.

    If the load was killed, the next run reads these rows again, and most of them fail again.

    :param path: the file, which need not exist.
    :param size: the size of the file in bytes at the checkpoint.
    :param load: the name of the load. Rows of other loads are left out.
    :returns: the source and the number of each row; nothing if the file has been replaced.
    """
    if size < 0 or size_of(path) <= size:
        return set()
    with open(path, "rb") as file:
        # At the checkpoint, the file ended after a whole line. If there is no line end at this
        # offset, the file has been replaced.
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                return set()
        lines = file.read().splitlines()
    keys: set[RowKey] = set()
    for line in lines:
        # Ignore an incomplete last line, and lines without notes, which somebody has edited.
        with suppress(ValueError, RecursionError):
            fields = parsed_json(line.decode())
            if isinstance(fields, dict) and (key := _key_in(fields, load)) is not None:
                keys.add(key)
    return keys


def _key_in(fields: Mapping[str, Any], load: str) -> RowKey | None:
    """Return the key of a failed row; None if its last fields are not the notes of a load.

    :param load: the name of the load.
    """
    last_names = list(fields)[-len(_NOTES) :]
    # The names of notes begin with underscores, as many as were needed to be unique.
    prefix = last_names[0].removesuffix(_NOTES[0]) if last_names else ""
    if prefix.strip("_") or last_names != [prefix + note for note in _NOTES]:
        return None
    source, row, _, _, name = map(fields.__getitem__, last_names)
    is_valid = type(row) is int and (source is None or isinstance(source, str))
    return _key_of(source, row) if is_valid and name == load else None


def _key_of(source: str | None, row: int) -> RowKey:
    return (None if source is None else os.path.abspath(source)), row


def check_failed_rows(path: str | os.PathLike[str]) -> None:
    """Raise ValueError for an existing file that is not a file of failed rows.

    A load appends its failed rows to the file, so it must not be any other file.

    :param path: the file, which need not exist.
    :raises ValueError: if the first line of the file is not a failed row.
    """
    if not os.path.isfile(path):
        return
    with open(path, encoding="utf-8", errors="replace") as file:
        line = file.readline()
    row: Any = None
    with suppress(ValueError):
        row = parsed_json(line)
    # An empty file has no first line, and is accepted.
    if line and not (isinstance(row, dict) and any(map(is_note, row))):
        raise ValueError(
            f"failed_rows={os.fspath(path)!r} has something else than failed rows, to which those "
            "of this load would be appended: name another file"
        )


def _as_faithful_json(column: Column, cql_type: Any, value: Any) -> tuple[bool, Any]:
    """Return (is_written, JSON value) for a value of a failed row.

    `is_written` is False if a load of the JSON value would write another value than `value`.

    If the column does not accept `value`, somebody has to correct the row, so the JSON value shows
    `value` as it is. But a load might accept this JSON value although it is only similar to
    `value`, for example the repr of an object in a text column. Then `is_written` is False, so that
    no wrong value is loaded.
    """
    if value is None or is_missing(value, column.type.codec().cql_name):
        return True, None
    try:
        data = cql_type.codec().encode(value)
    except Exception as error:  # values of the application may raise anything
        if is_from_signal_handler(error):
            raise
        # The column does not accept the value: show it as it is, for somebody to correct.
        json_value = json_of(value)
        is_same = type(json_value) is type(value) and json_value == value
        return is_same or _bytes_after_load(column, json_value) is None, json_value
    try:
        decoded = plain_codec(column.type).decode_nullable(data)
        json_value = json_of(decoded, refuse_other)
        loaded = _bytes_after_load(column, json_value)
        if column.is_hidden and loaded is not None:
            # Encrypting a value twice gives different bytes, so compare the decrypted values.
            is_same = plain_codec(column.type).decode_nullable(loaded) == decoded
        else:
            is_same = loaded == data
        if is_same:
            return True, json_value
    except Exception as error:  # JSON cannot represent the value
        if is_from_signal_handler(error):
            raise
    return False, json_of(value)


def _bytes_after_load(column: Column, json_value: Any) -> bytes | None:
    """Return the bytes that a load of a JSON value would write; None if it would fail."""
    try:
        # Read the value from a JSON string, because a load does so.
        value = json_reader(column.type, Formats())(parsed_json(_dumped(json_value)))
        data: bytes = column.type.codec().encode(value)
    except Exception as error:
        if is_from_signal_handler(error):
            raise
        return None
    return data


def _selected(text: str, names: Collection[str]) -> str:
    """Return the JSON of an object with some of its fields, whose values are copied unchanged.

    :param text: the JSON of an object, in which no name occurs twice.
    :param names: the fields to keep.
    """
    fields: list[str] = []
    start = _after_blanks(text, text.index("{") + 1)
    while text[start] == '"':
        name, colon = _DECODER.raw_decode(text, start)
        colon = _after_blanks(text, colon)
        _, end = _DECODER.raw_decode(text, _after_blanks(text, colon + 1))
        if name in names:
            fields.append(text[start:end])
        comma = _after_blanks(text, end)
        if text[comma] == "}":
            break
        start = _after_blanks(text, comma + 1)
    return f"{{{', '.join(fields)}}}"


def _after_blanks(text: str, start: int) -> int:
    """Return the index of the first character from `start` on that is no blank of JSON."""
    match = _JSON_BLANKS.match(text, start)
    assert match is not None  # it may match the empty string
    return match.end()


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)  # numbers may have any length
_JSON_BLANKS = re.compile("[ \t\r\n]*")


def _dumped(fields: Any) -> str:
    """Return the JSON of `fields`; escape non-ASCII characters only if UTF-8 lacks them."""
    text = json.dumps(fields, ensure_ascii=False, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:  # invalid bytes, or a lone surrogate
        return json.dumps(fields, default=str)
    return text
