"""The rows of a chunk as requests: what the thread of a load makes while others are sent."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.bulk.chunks import Chunk, Column, slice_of
from cassandra.bulk.fields import names_of_row, unknown_field
from cassandra.bulk.groups import Keys, Owners
from cassandra.query.batch import bind_rows
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.bulk import grouping
    from cassandra.bulk.grouping import Group
    from cassandra.protocol import bind
else:
    from cassandra._impl import bind, grouping

__all__ = ["Binder", "Bound", "StaticRows", "Wave"]

_LENGTH = struct.Struct(">i")


class StaticRows(NamedTuple):
    """The statement for rows that have nothing but the static columns of their partition.

    :param prepared: it.
    :param places: of its values among those of a row.
    :param static: those of static columns.
    :param clustering: those of clustering columns, which such rows do not have.
    :param regular: those of other columns, which such rows do not have.
    """

    prepared: PreparedStatement
    places: Sequence[int]
    static: Sequence[int]
    clustering: Sequence[int]
    regular: Sequence[int]

    def are_all(self, sizes: Sequence[int], is_empty_null: bool) -> bool:
        """Return True if a row has nothing but static columns.

        :param sizes: of its values; below 0 for those that it does not have.
        :param is_empty_null: True if an empty clustering column may be one that is not there: CSV
            has nothing for both, and a row without any other value is that of a partition.
        """
        most = 0 if is_empty_null else -1
        return (
            all(sizes[at] <= most for at in self.clustering)
            and all(sizes[at] < 0 for at in self.regular)
            and (
                any(sizes[at] >= 0 for at in self.static)
                or all(sizes[at] < 0 for at in self.clustering)
            )
        )


class Wave(NamedTuple):
    """Requests that may be sent in any order.

    :param prepared: their statement.
    :param groups: their rows.
    :param places: the number of each row in the chunk.
    """

    prepared: PreparedStatement
    groups: list[Group]
    places: Sequence[int]


class Bound(NamedTuple):
    """A chunk that is ready to be sent.

    :param chunk: the chunk; without its rows, if those were bound already.
    :param waves: its requests.
    :param row_count: how many rows these have.
    :param size: the bytes of their values.
    :param failures: the rows that could not be bound, as (number, error).
    """

    chunk: Chunk
    waves: list[Wave]
    row_count: int
    size: int
    failures: list[tuple[int, BaseException]]


class Binder:
    """Makes the requests of chunks.

    :param prepared: the statement.
    :param columns: that are written, in the order of the bind markers.
    :param mapping: names of fields by names of columns.
    :param order: for each bind marker the place of its value in a row without names.
    :param keys: where the primary key stands.
    :param batch: how rows are joined.
    :param owners: returns the replicas of partitions.
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
        self._fields = [(one.name, mapping.get(one.name, one.name)) for one in columns]
        self._mapping = mapping
        self._order = order
        self._keys = keys
        self._batch = batch
        self._owners = owners
        self.is_closed = False  # fields that are no columns are refused, and short rows
        self.ignored: Collection[str] = ()
        self.is_dry = False
        self.is_empty_null = True  # in CSV
        self.static_rows: StaticRows | None = None

    def _names_in_order(self) -> list[str]:
        """Return the columns in the order in which a row without names has them."""
        names = [""] * len(self._order)
        for column, place in zip(self._columns, self._order, strict=True):
            names[place] = column.name
        return names

    def next_of(self, chunks: Iterator[Chunk]) -> Bound | None:
        """Return the requests of the next chunk, None if there is none.

        :param chunks: the chunks.
        """
        chunk = next(chunks, None)
        if chunk is None:
            return None
        failures: list[tuple[int, BaseException]] = []
        source = chunk.rows
        places: Sequence[int] = range(chunk.size)
        if isinstance(source, bind.RowsBlock):
            return self._bound(chunk._replace(rows=()), source, places, failures)
        if isinstance(source, list):
            failures = [(at, row) for at, row in enumerate(source) if isinstance(row, Exception)]
            if failures:
                bad = {at for at, _ in failures}
                places = [at for at in places if at not in bad]
                source = [source[at] for at in places]
            if chunk.source is None:
                source, places = self._by_markers(source, places, failures)
        bound: list[tuple[Sequence[int], Any]] = []
        self._bind(source, places, bound, failures)
        if len(bound) == 1:
            places, block = bound[0]
        else:
            places = [place for some, _ in bound for place in some]
            block = bind_rows(self._prepared, [])
            for _, part in bound:
                for row in part.rows():
                    block.append(row)
        return self._bound(chunk, block, places, failures)

    def _by_markers(
        self, rows: list[Any], places: Sequence[int], failures: list[tuple[int, BaseException]]
    ) -> tuple[list[Any], Sequence[int]]:
        """Return rows of the program as the bind markers want them, and their places."""
        is_in_order = list(self._order) == list(range(len(self._order)))
        if (
            is_in_order
            and all(type(row) is tuple for row in rows)
            and (not self.is_closed or set(map(len, rows)) <= {len(self._order)})
        ):
            return rows, places
        known = {field for _, field in self._fields} if self.is_closed else None
        made: list[Any] = []
        kept: list[int] = []
        for place, row in zip(places, rows, strict=True):
            names = names_of_row(row) if type(row) is not tuple else None
            found: Any = row
            if names is not None:
                wrong = (
                    unknown_field(names, known, self.ignored) if known is not None else None
                ) or self._missing_key(names)
                if wrong is not None:
                    failures.append((place, wrong))
                    continue
                values = row if isinstance(row, Mapping) else dict(zip(names, row, strict=True))
                found = {marker: values[field] for marker, field in self._fields if field in values}
            elif isinstance(row, (tuple, list)):
                if len(row) == len(self._order):
                    found = row if is_in_order else [row[at] for at in self._order]
                elif self.is_closed or not is_in_order:
                    failures.append(
                        (
                            place,
                            ValueError(
                                f"it has {len(row)} values, and {len(self._order)} columns are "
                                f"written: {', '.join(self._names_in_order())}; columns=[...] "
                                "names others"
                            ),
                        )
                    )
                    continue
            elif self._mapping and not isinstance(row, (str, bytes)):
                found = {
                    name: getattr(row, field) for name, field in self._fields if hasattr(row, field)
                }
            made.append(found)
            kept.append(place)
        return made, kept

    def _missing_key(self, names: Collection[str]) -> ValueError | None:
        for (_, field), column in zip(self._fields, self._columns, strict=True):
            if column.is_key and self.static_rows is None and field not in names:
                return ValueError(f"it has no field {field!r}, which is of the primary key")
        return None

    def _bind(
        self,
        source: Any,
        places: Sequence[int],
        bound: list[tuple[Sequence[int], Any]],
        failures: list[tuple[int, BaseException]],
    ) -> None:
        """Bind rows at once; halves of them if one cannot be bound, to find it."""
        if not places:
            return
        try:
            block = bind_rows(self._prepared, source)
        except MemoryError:
            raise
        except Exception as error:  # values of the program may raise anything
            if len(places) == 1:
                failures.append((places[0], error))
                return
            middle = len(places) // 2
            for start, part in ((0, places[:middle]), (middle, places[middle:])):
                self._bind(slice_of(source, start, len(part)), part, bound, failures)
            return
        bound.append((places, block))

    # -- requests ----------------------------------------------------------------------------------

    def _bound(
        self,
        chunk: Chunk,
        block: Any,
        places: Sequence[int],
        failures: list[tuple[int, BaseException]],
    ) -> Bound:
        """Make the requests of a chunk. They have the rows, whose block is not kept beside."""
        waves: list[Wave] = []
        size, count = block.size, len(block)
        if self.static_rows is not None:
            # Only CSV has names of fields beside its rows.
            is_empty_null = chunk.names is not None and self.is_empty_null
            block, places = self._without_static_rows(block, places, waves, is_empty_null)
        if self.is_dry:
            wrong = self._null_keys(block)
            failures += [(places[row], error) for row, error in wrong]
            count -= len(wrong)
            waves = []
        else:
            waves += self._waves(self._prepared, block, self._keys, places)
        return Bound(chunk, waves, count, size, sorted(failures, key=lambda one: one[0]))

    def _waves(
        self, prepared: PreparedStatement, block: Any, keys: Keys, places: Sequence[int]
    ) -> list[Wave]:
        waves = grouping.request_waves(block, keys, self._batch, self._owners())
        return [Wave(prepared, groups, places) for groups in waves]

    def _without_static_rows(
        self,
        block: Any,
        places: Sequence[int],
        waves: list[Wave],
        is_empty_null: bool,
    ) -> tuple[Any, Sequence[int]]:
        """Take the rows with static columns alone out of a block; they are other requests."""
        static_rows = self.static_rows
        assert static_rows is not None
        rows: list[bytes] = []
        theirs: list[int] = []
        others: list[int] = []
        for number, row in enumerate(block.rows()):
            data = row.data
            found = _spans(data, block.width)
            sizes = [size for _, size in found]
            if not static_rows.are_all(sizes, is_empty_null):
                others.append(number)
                continue
            values = [data[start : start + 4 + max(size, 0)] for start, size in found]
            rows.append(b"".join([values[at] for at in static_rows.places]))
            theirs.append(number)
        if not rows:
            return block, places
        prepared = static_rows.prepared
        made = bind.RowsBlock(len(static_rows.places), rows, block.has_unset)
        keys = Keys(tuple(prepared.routing_key_indexes or ()), ())
        if not self.is_dry:
            waves += self._waves(prepared, made, keys, [places[number] for number in theirs])
        return block.take(others), [places[number] for number in others]

    def _null_keys(self, block: Any) -> list[tuple[int, ValueError]]:
        """Return the rows that no server takes, because of their keys; a dry run asks none."""
        wrong: list[tuple[int, ValueError]] = []
        partition = self._keys.partition
        keys = (*partition, *(self._keys.clustering or ()))
        if not keys:
            return wrong
        for number, row in enumerate(block.rows()):
            found = _spans(row.data, block.width)
            for at in keys:
                name = self._columns[at].name
                if found[at][1] < 0:
                    wrong.append(
                        (number, ValueError(f"column {name!r} of the primary key has no value"))
                    )
                    break
                if not found[at][1] and len(partition) == 1 and at == partition[0]:
                    wrong.append((number, ValueError(f"the partition key {name!r} is empty")))
                    break
        return wrong


def _spans(data: bytes, width: int) -> list[tuple[int, int]]:
    """Return where each value of a row begins with its length, and this length."""
    found: list[tuple[int, int]] = []
    at = 0
    for _ in range(width):
        (size,) = _LENGTH.unpack_from(data, at)
        found.append((at, size))
        at += 4 + max(size, 0)
    return found
