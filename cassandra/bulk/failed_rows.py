"""The file of failed rows: JSON lines that can be loaded again once they are mended."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from cassandra.bulk.chunks import Chunk, Column, Place, slice_of
from cassandra.bulk.fields import names_of_row
from cassandra.bulk.opened import bad_byte
from cassandra.bulk.texts import json_of, parsed_json

__all__ = ["FailedRows"]


class FailedRows:
    """A file that has each failed row whole, with its place and its error.

    A row that has no fields, or not as many as its file has names, stands there as ``_text`` or
    ``_fields``, and fails again as long as nobody mends it.

    :param path: the file, which is made when the first row fails.
    :param columns: that are written.
    :param fields: the name of each column's field, in the order of rows without names.
    :param mapping: names of fields by names of columns.
    :param nulls: the texts that stand for null in CSV.
    :param is_continued: True appends to the file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[Column],
        fields: Sequence[str],
        mapping: Mapping[str, str],
        nulls: Collection[str],
        is_continued: bool,
    ) -> None:
        self._path = path
        self._fields = fields
        self._mapping = mapping
        self._nulls = nulls
        self._is_continued = is_continued
        self._keys = {mapping.get(one.name, one.name) for one in columns if one.is_key}
        # Clear values of encrypted columns are for their owner alone.
        self._mode = 0o600 if any(column.is_hidden for column in columns) else 0o666
        self._file: IO[str] | None = None

    def keep(self, chunk: Chunk, index: int, place: Place, reason: str) -> None:
        """Write a row.

        :param chunk: which has it.
        :param index: its number in the chunk.
        :param place: where it was.
        :param reason: the error.
        """
        if self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if self._is_continued else os.O_TRUNC)
            self._file = os.fdopen(
                os.open(self._path, flags, self._mode), "a" if self._is_continued else "w",
                encoding="utf-8",
            )  # fmt: skip
        notes = {"source": place.source, "row": place.row, "line": place.line, "error": reason}
        self._file.write(self._line(chunk, index, notes) + "\n")
        self._file.flush()

    def sync(self) -> None:
        """Have all on the disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            # All is written already, or has raised its error: closing would raise it again.
            with suppress(OSError):
                self._file.close()

    def _line(self, chunk: Chunk, index: int, notes: Mapping[str, Any]) -> str:
        raw = chunk.raw[index] if chunk.raw is not None else None
        if isinstance(raw, str) and chunk.names is None and bad_byte(raw) is None:
            with suppress(ValueError):
                found = parsed_json(raw)
                if isinstance(found, dict):
                    # As it was written: numbers lose no digit.
                    begun = raw.strip()[:-1].rstrip()
                    ours = _dumped(self._named(notes, found))
                    return begun + (", " if found else "") + ours[1:]
        fields = self._fields_of(chunk, index, raw)
        return _dumped({**fields, **self._named(notes, fields)})

    def _named(self, notes: Mapping[str, Any], taken: Collection[str]) -> dict[str, Any]:
        """Return the notes by names that are no names of the row's fields, or of columns."""
        mark = "_"
        while any(mark + name in taken or mark + name in self._fields for name in notes):
            mark += "_"
        return {mark + name: value for name, value in notes.items()}

    def _fields_of(self, chunk: Chunk, index: int, raw: Any) -> dict[str, Any]:
        if isinstance(raw, str):
            return {"_text": raw}
        if raw is not None:
            names = chunk.names or ()
            if len(raw) != len(names) or len(set(names)) < len(names):
                return {"_fields": list(raw)}
            return {name: self._value(name, text) for name, text in zip(names, raw, strict=True)}
        row = chunk.rows[index] if isinstance(chunk.rows, list) else _row_of(chunk.rows, index)
        try:
            return self._fields_of_row(row)
        except Exception:  # a value of the program that has no text
            return {"_text": object.__repr__(row)}

    def _value(self, name: str, text: str) -> str | None:
        # An empty field of a key is an empty value.
        return None if text in self._nulls and (text or name not in self._keys) else text

    def _fields_of_row(self, row: Any) -> dict[str, Any]:
        if isinstance(row, Mapping):
            return {
                self._mapping.get(str(name), str(name)): json_of(value)
                for name, value in row.items()
            }
        names = names_of_row(row) or self._fields
        if isinstance(row, (tuple, list)):
            if len(row) != len(names):
                return {"_fields": [json_of(one) for one in row]}
            return {name: json_of(one) for name, one in zip(names, row, strict=True)}
        if not any(hasattr(row, name) for name in names):
            return {"_text": repr(row)}
        return {name: json_of(getattr(row, name, None)) for name in names}


def _dumped(fields: Mapping[str, Any]) -> str:
    text = json.dumps(fields, ensure_ascii=False, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8, or half a pair of surrogates
        return json.dumps(fields, default=str)
    return text


def _row_of(table: Any, index: int) -> Any:
    """Return a row of a table as a mapping, or by position."""
    one = slice_of(table, index, 1)
    if hasattr(one, "to_pylist"):
        return one.to_pylist()[0]
    if hasattr(one, "to_dict"):
        return one.to_dict("records")[0]
    if getattr(getattr(one, "dtype", None), "names", None):
        return dict(zip(one.dtype.names, one.tolist()[0], strict=True))
    return one.tolist()[0]
