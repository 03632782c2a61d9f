"""Warns about fields of a source that the mapping ``columns=`` does not name.

A mapping selects what is written, but users often think that it only renames fields. So we warn if
a field that has the name of a column is left out.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra import _later_warnings as later_warnings
from cassandra.bulk.fields import unmapped_fields, values_by_name

if TYPE_CHECKING:
    from cassandra.bulk.chunks import Chunk
    from cassandra.metadata.schema.tables import TableMetadata

ROWS = 100  # how many rows to check if each row has its own field names


class UnmappedWatch:
    """Warns once if the mapping ``columns=`` seems to omit a field of the source by mistake.

    :param mapping: column names by field name.
    :param ignored: the fields to ignore, and the fields with the TTL or the write time of rows.
    :param table: the metadata of the table that is written.
    """

    def __init__(
        self, mapping: Mapping[str, str], ignored: Collection[str], table: TableMetadata
    ) -> None:
        self._mapping = mapping
        self._ignored = ignored
        self._table = table
        self._has_warned = False  # True after the first warning: there is only one per load

    def look_at_names(self, names: Iterable[Any]) -> None:
        """Warn if a field probably should be written, but is not.

        :param names: the names of the fields.
        """
        fields = unmapped_fields(names, self._mapping, self._ignored, self._table)
        if not fields or self._has_warned:
            return
        self._has_warned = True
        mapping_to_suggest = {**self._mapping, **{field: field for field in fields}}
        later_warnings.warn(
            f"columns= does not name {', '.join(map(repr, fields))} of the source, so "
            f"{'it is' if len(fields) == 1 else 'they are'} not written, although table "
            f"{self._table.keyspace_name}.{self._table.name} has such columns: write "
            f"columns={mapping_to_suggest!r} to write all of them, or ignore={fields!r} to leave "
            "them out without this warning"
        )

    def watch(self, chunks: Generator[Chunk, None, None]) -> Generator[Chunk, None, None]:
        """Yield the chunks. Before the first chunk, check the field names in its first rows.

        :param chunks: the chunks of the source.
        """
        is_first = True
        with contextlib.closing(chunks):
            for chunk in chunks:
                if is_first and not self._has_warned:
                    self.look_at_names(_names_in(chunk))
                is_first = False
                yield chunk


def _names_in(chunk: Chunk) -> list[str]:
    """Return the field names in the first rows of a chunk, if each row has its own names."""
    names: dict[str, None] = {}
    if chunk.source is None and isinstance(chunk.rows, list):
        for row in chunk.rows[:ROWS]:
            # The application's rows may raise any exception here. Ignore it, because the binder
            # will raise it again and report the row.
            with contextlib.suppress(Exception):
                names.update(dict.fromkeys(values_by_name(row) or ()))
    elif chunk.raw is not None and chunk.names is None:
        for line in chunk.raw[:ROWS]:
            with contextlib.suppress(ValueError, RecursionError):
                fields = json.loads(line)
                names.update(dict.fromkeys(fields if isinstance(fields, dict) else ()))
    return list(names)
