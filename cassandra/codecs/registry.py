"""`CodecRegistry`: the converters of a cluster or a session.

A registry keeps its converters in dicts. A change does not modify a dict, but replaces it by a new
dict. The attribute `converters` of a registry is an immutable snapshot of these dicts, merged with
the dicts of the parent registry. (The parent of a session's registry is the registry of its
cluster.) The snapshot is None if there are no converters at all, so that code for the usual case
only has to check for None.

The plans that bind values and read rows are built from a snapshot. A prepared statement follows the
registry of the session that prepared it: after each change, the registry calls the statement's
`renew_codecs`, which builds new plans. Values that were bound before the change stay as they are. A
statement replaces a plan by a single assignment, so a row is never bound or read with a mix of two
snapshots.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cassandra._bounded import Bounded
from cassandra._forks import renew_in_child
from cassandra._habits import stack_level
from cassandra._threads import Lock
from cassandra.codecs.converter import Converter
from cassandra.codecs.literals import write_literals
from cassandra.codecs.schema_names import missing_column, missing_type
from cassandra.codecs.type_patterns import TypePattern, column_key, pattern_of

if TYPE_CHECKING:
    from cassandra.encoder import Encoder
    from cassandra.metadata.cluster_metadata import Metadata

T = TypeVar("T")
ColumnKey = tuple[str, str, str]  # (keyspace, table, column)
AnyConverter = Converter[Any, Any]
ToCql = Callable[[Any], Any]

_CACHED_TYPES = 4096  # the maximum size of `Converters.cached_types`

# One lock for all registries. It is held while a registry changes, and in `follow` and `serve`.
_changing = Lock()


@renew_in_child
def _renew_lock() -> None:
    # Replace the lock in a forked child. The thread that held the lock at the fork does not exist
    # there, so nothing would release the lock.
    global _changing
    _changing = Lock()


class Follower(Protocol):
    """An object that a registry notifies of changes; in practice, a prepared statement."""

    def renew_codecs(self) -> None:
        """Build the plans of the statement again, with the present converters."""


class Converters:
    """An immutable snapshot of all converters that apply to a session, or to a cluster.

    :param types: maps the pattern of a CQL type to the converter.
    :param columns: maps (keyspace, table, column) to the converter.
    :param classes: maps a Python class to the function that converts its bound values.
    """

    __slots__ = ("cached_types", "classes", "columns", "types")

    def __init__(
        self,
        types: Mapping[TypePattern, AnyConverter],
        columns: Mapping[ColumnKey, AnyConverter],
        classes: Mapping[type, ToCql],
    ) -> None:
        # Sort the most precise pattern first, because `of_type` uses the first pattern that
        # matches.
        self.types = sorted(types.items(), key=lambda item: -item[0].precision)
        self.columns = columns
        self.classes = classes
        # Caches the types that `cassandra.protocol.converted` creates for plans: each combines a
        # CQL type with its converter.
        self.cached_types: Bounded[Any, Any] = Bounded(_CACHED_TYPES, 1 << 24)

    def of_type(self, cql_type: Any) -> AnyConverter | None:
        """Return the converter that was registered for a CQL type; None if there is none."""
        for pattern, converter in self.types:
            if pattern.matches(cql_type):
                return converter
        return None

    def only_of_classes(self) -> Converters:
        """Return the converters of classes only."""
        return Converters({}, {}, self.classes)

    def of_class(self, cls: type) -> ToCql | None:
        """Return the `to_cql` of a class or of its nearest parent class; None if there is none."""
        classes = self.classes
        for parent in cls.__mro__:
            to_cql = classes.get(parent)
            if to_cql is not None:
                return to_cql
        return None


class CodecRegistry:
    """The converters of a cluster (`Cluster.codecs`) or of one session (`Session.codecs`).

    A session uses the converters of its cluster, and overrides them with its own. Registering a
    converter again replaces the previous one. You may register in any thread. A change also applies
    to statements that are already prepared, for all values that they bind and rows that they return
    from then on. Guide: :doc:`/guides/codecs`.

    :param parent: the registry of the session's cluster; None for the registry of a cluster.
    :param metadata: the metadata of the cluster, to warn of columns and types that do not exist. A
        session's registry uses the metadata of its parent.

    .. versionadded:: 4.0
    """

    def __init__(
        self, parent: CodecRegistry | None = None, metadata: Metadata | None = None
    ) -> None:
        self._parent = parent
        self._metadata: Metadata | None = metadata if parent is None else parent._metadata
        # The types and columns whose names `check_names` has not yet looked up in the metadata.
        self._unchecked: set[TypePattern | ColumnKey] = set()
        self._types: Mapping[TypePattern, AnyConverter] = {}
        self._columns: Mapping[ColumnKey, AnyConverter] = {}
        self._classes: Mapping[type, ToCql] = {}
        # The registries of the cluster's sessions.
        self._children: weakref.WeakSet[CodecRegistry] = weakref.WeakSet()
        # The prepared statements that `follow` was called with.
        self._followers: weakref.WeakSet[Follower] = weakref.WeakSet()
        # The encoder of literals that `serve` was called with; None before the first call.
        self._encoder: weakref.ref[Encoder] | None = None
        self.converters: Converters | None = None  # None if there are no converters at all
        if parent is not None:
            with _changing:
                parent._children.add(self)
                self._take_snapshot()

    # -- registering -------------------------------------------------------------------------------

    def register_type(self, cql_type: str | type, converter: AnyConverter) -> None:
        """Convert the values of a CQL type, in all columns and inside all other types.

        Inside a type with a converter, no other converter of types is used: with converters for
        ``list<text>`` and ``text``, the converter of the list gets lists of plain strings. Tables
        in the server's own keyspaces (``system``, ``system_schema``, ...) are not affected.

        :param cql_type: a type in CQL (``text``, ``list<frozen<money>>``, ``vector<float, 3>``), a
            user-defined type (``money`` for all keyspaces, or ``shop.money``), or a class of
            `cassandra.cqltypes`. ``frozen`` makes no difference.
        :param converter: a `Converter`.
        :raises TypeError: if an argument has the wrong type.
        :raises ValueError: if the name of the type is invalid.
        """
        pattern = pattern_of(cql_type)
        _check_converter(converter, f"CQL type {pattern}")
        with self._change():
            # Create a new dict, because other threads may be reading the old dict.
            self._types = {**self._types, pattern: converter}
            self._unchecked.add(pattern)
        self.check_names()

    def register_column(self, column: str | tuple[str, str, str], converter: AnyConverter) -> None:
        """Convert the values of one column.

        This converter takes precedence over converters of types and, if it has `to_cql`, of
        classes. In results, it applies only if the column has its own name: not if a query renames
        the column by ``AS``, or applies a function to it.

        :param column: ``keyspace.table.column`` in CQL, where names without quotes are lower case;
            or a tuple of the three names as the server stores them.
        :param converter: a `Converter`.
        :raises TypeError: if an argument has the wrong type.
        :raises ValueError: if the column does not have three names.
        """
        key = column_key(column)
        _check_converter(converter, f"column {'.'.join(key)}")
        with self._change():
            # Create a new dict, because other threads may be reading the old dict.
            self._columns = {**self._columns, key: converter}
            self._unchecked.add(key)
        self.check_names()

    def register_class(self, cls: type[T], to_cql: Callable[[T], Any] | Converter[T, Any]) -> None:
        """Convert bound values of a class and its subclasses, in any column.

        The converter also applies to parameters that are interpolated into CQL by ``%s``, and to
        elements of collections. It takes precedence over converters of types. Values in rows are
        not converted.

        :param cls: the class. If several registered classes match, the nearest parent class is
            used.
        :param to_cql: a function that converts a value for writing, or a `Converter` with `to_cql`.
        :raises TypeError: if an argument has the wrong type.
        :raises ValueError: if the converter has no `to_cql`, or `cls` is `object`.
        """
        if not isinstance(cls, type):
            raise TypeError(f"{cls!r} ({type(cls).__name__}) is not a class")
        if cls in (object, type(None)):
            raise ValueError(f"{cls.__name__} stands for too much: register a class of your own")
        function = to_cql.to_cql if isinstance(to_cql, Converter) else to_cql
        if function is None:
            raise ValueError(f"{to_cql!r} for {cls.__qualname__} has no to_cql")
        if not callable(function):
            raise TypeError(
                f"to_cql for {cls.__qualname__} must be a function or a Converter, but is "
                f"{to_cql!r} ({type(to_cql).__name__})"
            )
        with self._change():
            # Create a new dict, because other threads may be reading the old dict.
            self._classes = {**self._classes, cls: function}

    def unregister_type(self, cql_type: str | type) -> None:
        """Undo `register_type`. A session then uses its cluster's converter again, if there is one.

        :param cql_type: the type.
        :raises KeyError: if this registry itself has no converter for the type.
        """
        pattern = pattern_of(cql_type)
        with self._change():
            self._types = _without(self._types, pattern, f"the CQL type {pattern}")

    def unregister_column(self, column: str | tuple[str, str, str]) -> None:
        """Undo `register_column`. A session then uses its cluster's converter again.

        :param column: the column.
        :raises KeyError: if this registry itself has no converter for the column.
        """
        key = column_key(column)
        with self._change():
            self._columns = _without(self._columns, key, f"the column {'.'.join(key)}")

    def unregister_class(self, cls: type) -> None:
        """Undo `register_class`. A session then uses its cluster's function again.

        :param cls: the class.
        :raises KeyError: if this registry itself has no function for the class.
        """
        with self._change():
            self._classes = _without(self._classes, cls, f"the class {cls!r}")

    def check_names(self) -> None:
        """Warn of converters for columns and user-defined types that do not exist.

        Each converter is checked once, as soon as the driver knows the schema.
        """
        keyspaces = self._metadata.keyspaces if self._metadata is not None else {}
        if not self._unchecked or not keyspaces:
            return
        with _changing:
            unchecked, self._unchecked = self._unchecked, set()
        for registered in unchecked:
            # `registered` is the pattern of a type, or the (keyspace, table, column) of a column.
            if isinstance(registered, TypePattern):
                missing_message = missing_type(registered, keyspaces)
            else:
                missing_message = missing_column(registered, keyspaces)
            if missing_message is not None:
                warnings.warn(
                    f"a converter has no effect until its name is there: {missing_message}",
                    RuntimeWarning,
                    stacklevel=stack_level(),
                )

    # -- access ------------------------------------------------------------------------------------

    @property
    def types(self) -> Mapping[str, AnyConverter]:
        """The converters that this registry itself has, by CQL type."""
        return MappingProxyType(
            {str(pattern): converter for pattern, converter in self._types.items()}
        )

    @property
    def columns(self) -> Mapping[ColumnKey, AnyConverter]:
        """The converters that this registry itself has, by (keyspace, table, column)."""
        return MappingProxyType(self._columns)

    @property
    def classes(self) -> Mapping[type, Callable[[Any], Any]]:
        """The functions that this registry itself has, by class."""
        return MappingProxyType(self._classes)

    def __repr__(self) -> str:
        names = [
            *map(str, self._types),
            *(".".join(key) for key in self._columns),
            *(cls.__qualname__ for cls in self._classes),
        ]
        inherited = "" if self._parent is None else ", with those of the cluster"
        return f"<CodecRegistry of {', '.join(names) or 'no converters'}{inherited}>"

    @property
    def parent(self) -> CodecRegistry | None:
        """The registry of the cluster; None if this is the registry of a cluster."""
        return self._parent

    # -- followers ---------------------------------------------------------------------------------

    def follow(self, prepared: Follower) -> None:
        """Call the statement's `renew_codecs` after each change of the converters.

        :param prepared: the statement. The registry does not keep it alive.
        """
        with _changing:
            self._followers.add(prepared)

    def serve(self, encoder: Encoder) -> None:
        """Make an encoder convert values of registered classes, now and after each change.

        The encoder replaces the encoder of an earlier call.

        :param encoder: the encoder of a session. The registry does not keep it alive.
        """
        with _changing:
            self._encoder = weakref.ref(encoder)
            self._write_literals()

    @contextmanager
    def _change(self) -> Iterator[None]:
        """A context manager for a change: hold the lock in the block, then publish the change."""
        with _changing:
            yield
            followers = self._publish()
        # Notify the followers only after the lock is released, because building a plan acquires
        # other locks. The stack makes all calls, even if one of them raises an error.
        with ExitStack() as renewals:
            for follower in followers:
                renewals.callback(follower.renew_codecs)

    def _publish(self) -> list[Follower]:
        """Replace the snapshots of this registry and its children.

        :returns: the statements whose `renew_codecs` must be called.
        """
        self._take_snapshot()
        self._write_literals()
        followers = list(self._followers)
        for child in list(self._children):
            followers += child._publish()
        return followers

    def _take_snapshot(self) -> None:
        """Set `converters` to the parent's converters, overridden by this registry's converters.

        Set it to None if there are no converters at all.
        """
        inherited = self._parent.converters if self._parent is not None else None
        types, columns, classes = self._types, self._columns, self._classes
        if inherited is not None:
            types = {**dict(inherited.types), **types}
            columns = {**inherited.columns, **columns}
            classes = {**inherited.classes, **classes}
        has_any = types or columns or classes
        self.converters = Converters(types, columns, classes) if has_any else None

    def _write_literals(self) -> None:
        """Make the encoder of `serve` convert the registered classes in literals, too."""
        encoder = self._encoder() if self._encoder is not None else None
        if encoder is not None:
            write_literals(encoder, self.converters)


def _check_converter(converter: object, subject: str) -> None:
    """Raise TypeError, which names `subject`, for an object that is not a `Converter`."""
    if not isinstance(converter, Converter):
        raise TypeError(
            f"the converter of {subject} must be a cassandra.codecs.Converter, but is "
            f"{converter!r} ({type(converter).__name__})"
        )


K = TypeVar("K")
V = TypeVar("V")


def _without(table: Mapping[K, V], key: K, subject: str) -> Mapping[K, V]:
    """Return a copy of `table` without `key`; raise KeyError, which names `subject`, if missing."""
    if key not in table:
        raise KeyError(f"no converter is registered here for {subject}")
    return {other: value for other, value in table.items() if other != key}


CodecRegistry.__module__ = "cassandra.codecs"
