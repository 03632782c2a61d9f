"""The schema as an immutable snapshot: grouped rows of the schema tables.

A `Schema` maps the names of keyspaces to their sources. A source holds rows, and makes its object
once, at the first access. A table whose rows did not change keeps its source, and so its object,
from one snapshot to the next. `cassandra.metadata.schema.build` makes the objects; a program that
never looks at the schema does not import it.

Once a snapshot is in use, its sources never change, except that they come to hold their object. The
object of a keyspace is handed on from one source of it to the next (`KeyspaceSource.hand_on`):
programs hold it, and expect it to show later changes.
"""

from __future__ import annotations

import logging
from collections.abc import (
    Callable,
    ItemsView,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeVar

from cassandra._forks import renew_in_child
from cassandra._imports import Deferred
from cassandra._threads import RLock

if TYPE_CHECKING:
    from cassandra.metadata.schema import build
    from cassandra.metadata.schema.pages import ColumnPages
else:
    build = Deferred("cassandra.metadata.schema.build")

__all__ = [
    "NOTHING",
    "NO_NAMES",
    "NO_SCHEMA",
    "IndexRow",
    "KeyspaceSource",
    "LazyMapping",
    "RowNames",
    "Schema",
    "TableSource",
]

V = TypeVar("V")

log = logging.getLogger("cassandra.metadata")

# index_name, kind, options
IndexRow = tuple[Any, ...]

# One lock for all objects makes each of them unique among threads. Making one is quick and happens
# once, so threads rarely wait.
_making = RLock()


@renew_in_child
def _renew_lock() -> None:
    global _making
    _making = RLock()


def _refused(mapping: object, *arguments: object, **named: object) -> NoReturn:
    raise TypeError("schema metadata is read-only: it changes with the schema of the cluster")


class LazyMapping(dict[str, V]):
    """A read-only, live dict by name whose values are made at the first access.

    It shows one snapshot of names, which `show` replaces: readers need no lock. Nothing is
    in the dict itself; it is one for `isinstance`. It is pickled and copied as a plain dict.
    """

    __slots__ = ("_make", "_names")

    def __init__(self, names: Mapping[str, Any], make: Callable[[Any], V]) -> None:
        self._names = names
        self._make = make

    def show(self, names: Mapping[str, Any]) -> None:
        """Show other names from now on."""
        self._names = names

    def __getitem__(self, name: str) -> V:
        return self._make(self._names[name])

    def get(self, name: str, default: object = None) -> Any:
        try:
            return self._make(self._names[name])
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __reversed__(self) -> Iterator[str]:
        return reversed([*self._names])

    def __len__(self) -> int:
        return len(self._names)

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return KeysView(self)

    def values(self) -> ValuesView[V]:  # type: ignore[override]
        return _Values(self)

    def items(self) -> ItemsView[str, V]:  # type: ignore[override]
        return _Items(self)

    def copy(self) -> dict[str, V]:
        """Return the same as a plain dict."""
        return {name: self._make(source) for name, source in self._names.items()}

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyMapping):
            return self._names is other._names or self.copy() == other.copy()
        return self.copy() == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __or__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return {**self.copy(), **other}

    def __ror__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return {**other, **self.copy()}

    def __reduce__(self) -> Any:
        return dict, (self.copy(),)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self.__reduce__()

    def __repr__(self) -> str:
        return f"<{', '.join(self._names) or 'nothing'}>"

    __setitem__ = __delitem__ = __ior__ = _refused
    clear = pop = popitem = setdefault = update = _refused


class _Values(ValuesView[V]):
    """The values, without looking up the name of each."""

    __slots__ = ()

    _mapping: LazyMapping[V]

    def __iter__(self) -> Iterator[V]:
        return map(self._mapping._make, self._mapping._names.values())


class _Items(ItemsView[str, V]):
    """The names with their values, all of one snapshot."""

    __slots__ = ()

    _mapping: LazyMapping[V]

    def __iter__(self) -> Iterator[tuple[str, V]]:
        make = self._mapping._make
        return ((name, make(source)) for name, source in self._mapping._names.items())


def _none(name: object) -> Any:
    raise KeyError(name)


NOTHING: LazyMapping[Any] = LazyMapping({}, _none)
"""An empty part of a table: one object for all tables."""


class _Source:
    """Rows that become one object."""

    __slots__ = ("_object",)

    builder = ""

    def __init__(self) -> None:
        self._object: Any = None

    def object(self) -> Any:
        """Return the object, which the first call makes."""
        # Checked without the lock first: after the first access there is nothing to wait for.
        found = self._object
        if found is None:
            with _making:
                found = self._object
                if found is None:
                    found = self._object = getattr(build, self.builder)(self)
                    self.forget_rows()
        return found

    def forget_rows(self) -> None:
        """Drop the rows that the object holds now."""


def object_of(source: _Source) -> Any:
    """Return the object of `source`."""
    return source.object()


class RowNames:
    """The names of the columns in the rows of a schema table.

    All rows of one reading share it; it is compared by identity. `places` maps each name to its
    place in a row.
    """

    __slots__ = ("extensions", "flags", "places")

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.places = {name: at for at, name in enumerate(names)}
        # Kept, because they are needed for each table.
        self.extensions = self.places.get("extensions")
        self.flags = self.places.get("flags")

    def value(self, row: Sequence[Any], name: str) -> Any:
        """Return the value of column `name` in `row`, or None if rows do not have it."""
        at = self.places.get(name)
        return row[at] if at is not None else None


NO_NAMES = RowNames()
NO_VIEWS: Mapping[str, Any] = MappingProxyType({})


class TableSource(_Source):
    """The rows of one table or materialized view.

    * `names` and `row`: from system_schema.tables or views; `error` is set if the row is damaged.
    * `columns`: the pages with the rows of the columns.
    * `triggers`, `dropped`, `masks` and `scylla` (of scylla_tables): rows as dicts.
    * `views`: the sources of the table's views.
    * `base`: the base table's name if this is a view.
    """

    __slots__ = (
        "base",
        "columns",
        "dropped",
        "error",
        "indexes",
        "keyspace",
        "masks",
        "name",
        "names",
        "row",
        "scylla",
        "triggers",
        "views",
        "virtual",
    )

    def __init__(
        self,
        keyspace: str,
        name: str,
        names: RowNames,
        row: Sequence[Any],
        virtual: bool,
        columns: ColumnPages | None = None,
    ) -> None:
        self._object: Any = None
        self.keyspace = keyspace
        self.name = name
        self.names = names
        self.row = row
        self.virtual = virtual
        self.error: Exception | None = None
        self.base: str | None = None
        self.columns = columns
        self.indexes: Sequence[IndexRow] = ()
        self.triggers: Sequence[Mapping[str, Any]] = ()
        self.dropped: Sequence[Mapping[str, Any]] = ()
        self.masks: Sequence[Mapping[str, Any]] = ()
        self.scylla: Sequence[Mapping[str, Any]] = ()
        self.views: Mapping[str, TableSource] = NO_VIEWS

    @property
    def builder(self) -> str:  # type: ignore[override]
        """The function of `cassandra.metadata.schema.build` that makes the object."""
        return "table" if self.base is None else "view"

    def forget_rows(self) -> None:
        self.columns = None
        self.indexes = self.triggers = self.dropped = self.masks = self.scylla = ()

    def index_names(self) -> list[str]:
        """Return the names of the table's indexes; damaged names are left out."""
        # Another thread may be making the object, and drops the rows afterwards.
        with _making:
            names = (
                self._object.indexes
                if self._object is not None
                else [row[0] for row in self.indexes]
            )
            return [name for name in names if isinstance(name, str)]

    def with_views(self, views: Mapping[str, TableSource]) -> TableSource:
        """Return the same table with other views; its object, which programs hold, shows them."""
        other = TableSource(self.keyspace, self.name, self.names, self.row, self.virtual)
        other.views = views
        # A page gives each table's rows once: the first object has them.
        other._object = build.with_views(self.object(), views)
        return other


class KeyspaceSource(_Source):
    """The rows of one keyspace.

    They are its own row as a dict, sources of tables and views by name, and rows of types,
    functions and aggregates.
    """

    __slots__ = (
        "aggregates",
        "functions",
        "name",
        "row",
        "scylla",
        "successor",
        "tables",
        "types",
        "views",
        "virtual",
    )

    builder = "keyspace"

    def __init__(self, name: str, row: Mapping[str, Any], virtual: bool = False) -> None:
        super().__init__()
        self.name = name
        self.row = row
        self.virtual = virtual
        # The same keyspace as it was read later.
        self.successor: KeyspaceSource | None = None
        self.scylla: Mapping[str, Any] | None = None
        self.tables: Mapping[str, TableSource] = {}
        self.views: Mapping[str, TableSource] = {}
        self.types: Sequence[Mapping[str, Any]] = ()
        self.functions: Sequence[Mapping[str, Any]] = ()
        self.aggregates: Sequence[Mapping[str, Any]] = ()

    def object(self) -> Any:
        """Return the keyspace's object, which its later sources share."""
        if self._object is None:
            with _making:
                # Whoever found this source just before it was replaced gets the live object too.
                if self._object is None and self.successor is not None:
                    return self.successor.object()
        return super().object()

    def hand_on(self, successor: KeyspaceSource) -> None:
        """Let `successor` have the object, which shows the content of `successor` from now on."""
        with _making:
            self.successor = successor
            if self._object is None or successor._object is not None:
                return
            try:
                successor._object = build.renewed_keyspace(self._object, successor)
            except Exception:
                # The new source makes an object of its own: only those held already stay behind.
                log.exception("the metadata of keyspace %s cannot be renewed", self.name)

    def replaced(self, **parts: Any) -> KeyspaceSource:
        """Return the same keyspace with some of its parts replaced."""
        other = KeyspaceSource(self.name, self.row, self.virtual)
        for slot in ("row", "scylla", "tables", "views", "types", "functions", "aggregates"):
            setattr(other, slot, parts.get(slot, getattr(self, slot)))
        return other


class Schema:
    """All keyspaces at one moment.

    Two readings with the same `version` find the same schema; None means that it is not known.
    """

    __slots__ = ("sources", "version")

    def __init__(self, sources: Mapping[str, KeyspaceSource], version: object = None) -> None:
        self.sources = sources
        self.version = version

    def with_keyspace(self, name: str, source: KeyspaceSource | None) -> Schema:
        """Return the same schema with one keyspace replaced, added, or (None) removed.

        Its version is not known.
        """
        sources = {**self.sources}
        if source is None:
            sources.pop(name, None)
        else:
            sources[name] = source
        return Schema(sources)

    def at(self, version: object) -> Schema:
        """Return the same schema under another version."""
        return Schema(self.sources, version)


NO_SCHEMA = Schema({})
"""The schema before it is read, or if it is never read."""
