"""The schema as an immutable snapshot: grouped rows of the schema tables.

A `Schema` maps the names of keyspaces to their sources. A source holds the rows of one keyspace,
table or view, and builds its metadata object once, at the first access. If the rows of a table have
not changed, the next snapshot has the same source, and so the same object.
`cassandra.metadata.schema.build` builds the objects. It is not imported if the application never
uses the schema.

Once a snapshot is in use, its sources do not change, except that they store their object when it is
built. When a keyspace gets a new source, the old source passes its object on to the new source
(`KeyspaceSource.pass_object_on`), because the application may hold the object and expects it to
show later changes.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeVar, overload

from cassandra._forks import renew_in_child
from cassandra._imports import Deferred
from cassandra._logs import Log
from cassandra._misspelt import nearest
from cassandra._threads import RLock
from cassandra.cqltypes.failures import add_note

if TYPE_CHECKING:
    from cassandra.metadata.schema import build
    from cassandra.metadata.schema.keyspaces import KeyspaceMetadata
    from cassandra.metadata.schema.pages import ColumnPages
else:
    build = Deferred("cassandra.metadata.schema.build")

V = TypeVar("V")
DefaultT = TypeVar("DefaultT")

log = Log("cassandra.metadata")

IndexRow = tuple[Any, ...]  # (index_name, kind, options)

# Held while an object is built, so that all threads get the same object. Building is quick and
# happens once, so one lock for all sources is enough.
_build_lock = RLock()


@renew_in_child
def _renew_lock() -> None:
    """Replace the lock in a forked process.

    Another thread may have held the lock. That thread does not exist in the child process, so
    nobody would release the lock.
    """
    global _build_lock
    _build_lock = RLock()


def _refused(mapping: object, *arguments: object, **named: object) -> NoReturn:
    """Raise TypeError. This is in place of each method that would change a `LazyMapping`."""
    raise TypeError("schema metadata is read-only: it changes with the schema of the cluster")


MAX_LISTED_NAMES = 10  # the maximum number of names in an error message


def _with_names_note(
    error: KeyError, name: object, names: Mapping[str, Any], if_empty: str = "there are none"
) -> KeyError:
    """Add a note that lists the existing names to `error`, and return `error`.

    The error keeps its only argument, the key that was not found.
    """
    similar_name = nearest(name, names) if isinstance(name, str) else None
    listed_names = [*names][:MAX_LISTED_NAMES]
    more_note = (
        f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    )
    hint = f"did you mean {similar_name!r}? " if similar_name else ""
    if isinstance(name, int):
        hint = f"the keys are names, not positions: write list(mapping.values())[{name}]; "
    add_note(
        error,
        f"({hint}there are {', '.join(map(repr, listed_names))}{more_note})"
        if names
        else f"({if_empty})",
    )
    return error


def _no_attribute(mapping: object, name: str, is_key: bool) -> AttributeError:
    """Return the error for an attribute that a mapping does not have.

    :param mapping: the mapping.
    :param name: the name of the attribute.
    :param is_key: True if the mapping has a key with this name.
    """
    advice = f": write mapping[{name!r}]" if is_key else ""
    return AttributeError(f"{type(mapping).__name__!r} object has no attribute {name!r}{advice}")


class NamedColumns(dict[str, V]):
    """The columns of a table by name. The error for an unknown name lists the existing names.

    Pickling and copying create a plain dict.
    """

    __slots__ = ()

    def __missing__(self, name: object) -> NoReturn:
        raise _with_names_note(KeyError(name), name, self)

    if not TYPE_CHECKING:  # type checkers would otherwise allow every name

        def __getattr__(self, name: str) -> NoReturn:
            raise _no_attribute(self, name, name in self)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return self.__reduce__()


class LazyMapping(dict[str, V]):
    """A live, read-only mapping whose values are built at the first access.

    For each name, the mapping has a source, from which `make` returns the value. `show` replaces
    all names and sources at once, so readers need no lock. Pickling and copying create a plain
    dict.

    The class only derives from dict so that `isinstance(mapping, dict)` is True, and overrides all
    methods that read. The underlying dict has the sources, because code in C asks a dict for its
    size without these methods: for an empty one, `json.dumps` would return ``{}``. Such code then
    calls `items`, or `keys` and `__getitem__`.

    :param names: the source of each value, by name.
    :param make: called with a source; returns the value.
    :param if_empty: the note for an unknown name if the mapping has no names.
    """

    __slots__ = ("_if_empty", "_make", "_names")

    def __init__(
        self,
        names: Mapping[str, Any],
        make: Callable[[Any], V],
        if_empty: str = "there are none",
    ) -> None:
        super().__init__(names)
        self._names = names  # the source of each value, by name
        self._make = make
        self._if_empty = if_empty

    def show(self, names: Mapping[str, Any]) -> None:
        """Replace the content.

        :param names: the source of each value, by name.
        """
        self._names = names
        # Add before removing, so that another thread does not find the underlying dict empty.
        super().update(names)
        for name in [name for name in super().__iter__() if name not in names]:
            super().__delitem__(name)

    if not TYPE_CHECKING:  # type checkers would otherwise allow every name

        def __getattr__(self, name: str) -> NoReturn:
            # `_names` is missing while an object is being created, so do not look up private names.
            is_key = not name.startswith("_") and name in self._names
            raise _no_attribute(self, name, is_key)

    def __getitem__(self, name: str) -> V:
        try:
            source = self._names[name]
        except KeyError as error:
            raise _with_names_note(error, name, self._names, self._if_empty)  # noqa: B904  # it is the same error
        return self._make(source)

    @overload
    def get(self, name: str, default: None = None) -> V | None: ...
    @overload
    def get(self, name: str, default: DefaultT) -> V | DefaultT: ...
    def get(self, name: str, default: object = None) -> object:
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
        """Return a plain dict with the same content."""
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

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return self.__reduce__()

    def __repr__(self) -> str:
        return f"<{', '.join(self._names) or 'nothing'}>"

    __setitem__ = __delitem__ = __ior__ = _refused
    clear = pop = popitem = setdefault = update = _refused


class _Values(ValuesView[V]):
    """A view of the values of a `LazyMapping`. A loop does not see later calls of `show`."""

    __slots__ = ()

    _mapping: LazyMapping[V]

    def __iter__(self) -> Iterator[V]:
        return map(self._mapping._make, self._mapping._names.values())


class _Items(ItemsView[str, V]):
    """A view of the items of a `LazyMapping`. A loop does not see later calls of `show`."""

    __slots__ = ()

    _mapping: LazyMapping[V]

    def __iter__(self) -> Iterator[tuple[str, V]]:
        make = self._mapping._make
        return ((name, make(source)) for name, source in self._mapping._names.items())


def _no_value(source: object) -> NoReturn:
    raise KeyError(source)


NOTHING: LazyMapping[Any] = LazyMapping({}, _no_value)
"""The empty mapping of a table's indexes, views, triggers or dropped columns.

All tables that lack such objects share this mapping.
"""


class _Source:
    """The rows from which a metadata object is built, and the object once it is built.

    `builder` is the name of the function in `cassandra.metadata.schema.build` that builds the
    object.
    """

    __slots__ = ("_object",)

    builder = ""

    def __init__(self) -> None:
        self._object: Any = None

    def object(self) -> Any:
        """Return the object. The first call builds it."""
        # First check without the lock: after the object is built, no thread needs to wait.
        instance = self._object
        if instance is None:
            with _build_lock:
                instance = self._object
                if instance is None:
                    instance = self._object = getattr(build, self.builder)(self)
                    # The object now has everything that it needs from the rows.
                    self.forget_rows()
        return instance

    def forget_rows(self) -> None:
        """Drop the rows; called after the object is built, because it has their content."""


def object_of(source: _Source) -> Any:
    """Return the object of `source`."""
    return source.object()


class RowNames:
    """The names of the columns in the rows of a schema table.

    All rows of one read share this object, so it can be compared by identity. `positions` maps each
    name to its position in a row.
    """

    __slots__ = ("extensions", "flags", "positions")

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.positions = {name: index for index, name in enumerate(names)}
        # Store the positions of these two columns, because they are needed for each table.
        self.extensions = self.positions.get("extensions")
        self.flags = self.positions.get("flags")

    def value(self, row: Sequence[Any], name: str) -> Any:
        """Return the value of column `name` in `row`, or None if the row has no such column."""
        index = self.positions.get(name)
        return row[index] if index is not None else None


NO_NAMES = RowNames()
NO_VIEWS: Mapping[str, Any] = MappingProxyType({})


class TableSource(_Source):
    """The rows of the schema tables that describe one table or materialized view.

    * `row` and `names`: the row of system_schema.tables or views, and the names of its columns.
      `error` is set if the row is damaged.
    * `columns`: the pages with the rows of the table's columns.
    * `triggers`, `dropped`, `masks` and `scylla` (from scylla_tables): rows as dicts.
    * `views`: the sources of the table's views.
    * `base`: the name of the base table if this is a view; None for a table.
    """

    __slots__ = (
        "base", "columns", "dropped", "error", "indexes", "keyspace", "masks", "name", "names",
        "row", "scylla", "triggers", "views", "virtual",
    )  # fmt: skip

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
        # The rows of the table in other schema tables.
        self.indexes: Sequence[IndexRow] = ()
        self.triggers: Sequence[Mapping[str, Any]] = ()
        self.dropped: Sequence[Mapping[str, Any]] = ()
        self.masks: Sequence[Mapping[str, Any]] = ()
        self.scylla: Sequence[Mapping[str, Any]] = ()
        self.views: Mapping[str, TableSource] = NO_VIEWS

    @property
    def builder(self) -> str:  # type: ignore[override]
        """The name of the function in `cassandra.metadata.schema.build` that builds the object."""
        return "table" if self.base is None else "view"

    def forget_rows(self) -> None:
        self.columns = None
        self.indexes = self.triggers = self.dropped = self.masks = self.scylla = ()

    def index_names(self) -> list[str]:
        """Return the names of the table's indexes; damaged names are left out."""
        # Use the lock: another thread may be building the object, and will then drop the rows.
        with _build_lock:
            names = (
                self._object.indexes
                if self._object is not None
                else [row[0] for row in self.indexes]
            )
            return [name for name in names if isinstance(name, str)]

    def with_views(self, views: Mapping[str, TableSource]) -> TableSource:
        """Return a copy with other views.

        The copy has the same metadata object, because the application may hold that object. From
        then on, the object shows the new views.
        """
        copy = TableSource(self.keyspace, self.name, self.names, self.row, self.virtual)
        copy.views = views
        # The copy must get an object now. It could not build an object later: when the first object
        # was built, the rows of the table were removed from the pages.
        copy._object = build.with_views(self.object(), views)
        return copy


class KeyspaceSource(_Source):
    """The rows of one keyspace.

    These are the row of the keyspace as a dict, the sources of tables and views by name, and the
    rows of types, functions and aggregates.
    """

    __slots__ = (
        "aggregates", "functions", "name", "row", "scylla", "successor", "tables", "types", "views",
        "virtual",
    )  # fmt: skip

    builder = "keyspace"

    def __init__(self, name: str, row: Mapping[str, Any], virtual: bool = False) -> None:
        super().__init__()
        self.name = name
        self.row = row
        self.virtual = virtual
        # The source of the same keyspace in the next snapshot; None while this source is in use.
        self.successor: KeyspaceSource | None = None
        # Rows of the schema tables, and the sources of the tables and views.
        self.scylla: Mapping[str, Any] | None = None
        self.tables: Mapping[str, TableSource] = {}
        self.views: Mapping[str, TableSource] = {}
        self.types: Sequence[Mapping[str, Any]] = ()
        self.functions: Sequence[Mapping[str, Any]] = ()
        self.aggregates: Sequence[Mapping[str, Any]] = ()

    def object(self) -> KeyspaceMetadata:
        """Return the `KeyspaceMetadata`, which is built at the first call.

        If the schema is read again, the keyspace keeps this object: `pass_object_on` passes it to
        the source in the next snapshot.
        """
        if self._object is None:
            with _build_lock:
                # If another source has replaced this source, return the object of that source,
                # because it shows later changes.
                if self._object is None and self.successor is not None:
                    return self.successor.object()
        metadata: KeyspaceMetadata = super().object()
        return metadata

    def pass_object_on(self, successor: KeyspaceSource) -> None:
        """Pass the metadata object of this source on to `successor`.

        From then on, the object shows the content of `successor`.
        """
        with _build_lock:
            # From now on, the method `object`, which reads `successor` under this lock, returns the
            # object of the successor, and builds no object for this source.
            self.successor = successor
            # If this source has not built an object, there is nothing to pass on. If the successor
            # has already built an object, it is too late.
            if self._object is None or successor._object is not None:
                return
            try:
                successor._object = build.renewed_keyspace(self._object, successor)
            except Exception:
                # The successor will build a new object. If the application holds the object of this
                # source, that object is outdated.
                log.exception("the metadata of keyspace %s cannot be renewed", self.name)

    def replaced(self, **parts: Any) -> KeyspaceSource:
        """Return a copy of the source, without its object, in which `parts` are replaced.

        :param parts: the new values of attributes: row, scylla, tables, views, types, functions or
            aggregates.
        """
        copy = KeyspaceSource(self.name, self.row, self.virtual)
        for slot in ("row", "scylla", "tables", "views", "types", "functions", "aggregates"):
            setattr(copy, slot, parts.get(slot, getattr(self, slot)))
        return copy


class Schema:
    """A snapshot of all keyspaces.

    `version` is the schema version that the server has reported: schemas with the same version are
    equal. None means that the version is not known.
    """

    __slots__ = ("sources", "version")

    def __init__(self, sources: Mapping[str, KeyspaceSource], version: object = None) -> None:
        self.sources = sources
        self.version = version

    def with_keyspace(self, name: str, source: KeyspaceSource | None) -> Schema:
        """Return a copy in which one keyspace is replaced, added, or (with None) removed.

        The version of the result is not known.
        """
        sources = {**self.sources}
        if source is None:
            sources.pop(name, None)
        else:
            sources[name] = source
        return Schema(sources)

    def at(self, version: object) -> Schema:
        """Return the same schema with another version."""
        return Schema(self.sources, version)


NO_SCHEMA = Schema({})
"""The schema before the schema is read. It is also used if the schema is never read."""
