"""Makes metadata objects from rows of the schema tables.

The sources of `cassandra.metadata.schema.snapshot` call this, once for each object. An error in a
row is kept on the object that the row belongs to, which then exports a comment. Other objects are
not affected.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.cqltypes.parse import cqltype_to_python, lookup_cqltype
from cassandra.encoder import Encoder
from cassandra.errors import DecodeError
from cassandra.metadata.placement.replication import LocalStrategy
from cassandra.metadata.schema.elements import (
    Aggregate,
    ColumnMask,
    ColumnMetadata,
    DroppedColumn,
    Function,
    IndexMetadata,
    TriggerMetadata,
    UserType,
)
from cassandra.metadata.schema.keyspaces import KeyspaceMetadata
from cassandra.metadata.schema.options import scylla_options
from cassandra.metadata.schema.pages import ColumnPages
from cassandra.metadata.schema.snapshot import (
    NOTHING,
    IndexRow,
    KeyspaceSource,
    LazyMapping,
    TableSource,
    object_of,
)
from cassandra.metadata.schema.tables import MaterializedViewMetadata, TableMetadataV3
from cassandra.util.cql_text import cql_string, maybe_escape_name

if TYPE_CHECKING:
    from cassandra.metadata.schema import column_rows
else:
    from cassandra._impl import column_rows

log = logging.getLogger("cassandra.metadata")

_EMPTY_TYPES = ("empty", "'org.apache.cassandra.db.marshal.EmptyType'")


def _checked(value: object, kind: type | tuple[type, ...], what: str) -> Any:
    """Return `value` if it is of the expected kind.

    Otherwise raise the error that stands in its place, or one that names `what`.
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, Exception):
        raise value
    raise ValueError(f"{what} is {value!r}")


def _row_checked(row: Mapping[str, Any]) -> Mapping[str, Any]:
    for value in row.values():
        if isinstance(value, Exception):
            raise value
    return row


# -- tables and views ------------------------------------------------------------------------------


def table(source: TableSource) -> TableMetadataV3:
    """Return the table of `source`."""
    _look_through(source.columns)
    made: TableMetadataV3 | None = column_rows.usual_table(source)
    if made is None:
        made = _unusual_table(source)
    elif source.indexes:
        made.indexes = _indexes_of(source, made)
    if source.views:
        made.views = LazyMapping(source.views, object_of)
    return made


def _unusual_table(source: TableSource) -> TableMetadataV3:
    made = TableMetadataV3(source.keyspace, source.name, triggers=NOTHING, virtual=source.virtual)
    made.indexes = made.views = made.dropped_columns = NOTHING
    # Columns first, because flags and parts refer to them. One damaged part leaves the others.
    for take in (_take_columns, _take_flags, _take_options, _take_parts):
        try:
            take(made, source)
        except Exception as error:
            log.exception("the metadata of table %s.%s is damaged", source.keyspace, source.name)
            made.fail(error)
    return made


def _take_options(made: TableMetadataV3 | MaterializedViewMetadata, source: TableSource) -> None:
    if source.error is not None:
        raise source.error
    made.take_row(source.names, source.row, bool(source.scylla))
    at = source.names.extensions
    extensions = source.row[at] if at is not None else None
    if extensions or source.scylla:
        made.options.update(
            scylla_options(extensions or {}, source.scylla[0] if source.scylla else None)
        )


def with_views(made: TableMetadataV3, views: Mapping[str, TableSource]) -> TableMetadataV3:
    """Return `made`, which shows other views from now on."""
    # Programs hold the mapping itself: it has to show the change, too. NOTHING is everybody's.
    if type(made.views) is LazyMapping and made.views is not NOTHING:
        made.views.show(views)
    else:
        made.views = LazyMapping(views, object_of)
    return made


def view(source: TableSource) -> MaterializedViewMetadata:
    """Return the materialized view of `source`."""
    _look_through(source.columns)
    where = source.names.value(source.row, "where_clause")
    made = MaterializedViewMetadata(
        source.keyspace, source.name, source.base or "", False, str(where), None
    )
    try:
        _take_options(made, source)
        made.include_all_columns = bool(source.names.value(source.row, "include_all_columns"))
        _take_columns(made, source)
        if not made.partition_key:
            raise ValueError("no column is of the partition key")
    except Exception as error:
        log.exception("the metadata of view %s.%s is damaged", source.keyspace, source.name)
        made.fail(error)
    return made


def _take_columns(made: TableMetadataV3 | MaterializedViewMetadata, source: TableSource) -> None:
    pages = source.columns
    if pages is not None:
        # The rows are taken out, so that a page is freed after the last of its tables is made.
        found = pages.rows_of.get(source.keyspace, {}).pop(source.name, ())
        made.partition_key, made.clustering_key, made.columns = column_rows.columns_of(
            made, found, pages.texts
        )
    for row in source.masks:
        made.columns[_row_checked(row)["column_name"]].mask = _mask(row)


def _look_through(columns: ColumnPages | None) -> None:
    """Find the rows of each table, unless that is done already."""
    if columns is None or not columns.pages:
        return
    # Taken away first, so that a page with an error is not walked twice.
    pages, columns.pages = columns.pages, []
    columns.texts = column_rows.Texts()
    for page in pages:
        try:
            column_rows.note_runs(columns.rows_of, *page)
        except DecodeError as error:
            # Tables whose rows are missing say so themselves when they are made.
            log.error("a page of the schema tables is damaged: %s", error)


def _mask(row: Mapping[str, Any]) -> ColumnMask:
    _row_checked(row)
    nulls = row.get("function_argument_nulls") or ()
    kinds = row.get("function_argument_types") or ()
    values = row.get("function_argument_values") or ()
    arguments = [
        "null" if is_null else _literal(kind, value)
        for is_null, kind, value in zip(nulls, kinds, values, strict=True)
    ]
    return ColumnMask(row["function_keyspace"], row["function_name"], tuple(arguments))


# Tuples of a schema are tuples, whatever programs' parameters are.
_ENCODER = Encoder()
_ENCODER.mapping[tuple] = _ENCODER.cql_encode_tuple
_QUOTED = frozenset(("ascii", "date", "inet", "text", "time", "timestamp", "varchar"))
_FIELD_END = r"(?<!\\):"


def _literal(kind: str, value: str) -> str:
    """Return the literal of a value that the server keeps as text without quotes."""
    return _literal_of(cqltype_to_python(kind), value)


def _literal_of(kind: Sequence[Any], value: str) -> str:
    name = kind[0]
    if name == "frozen":
        return _literal_of(kind[1], value)
    if name == "tuple":
        # The texts of the fields between colons, an @ for null; both are escaped by a backslash.
        fields = zip(_apart(kind[1]), re.split(_FIELD_END, value), strict=False)
        literals = [
            "null" if text == "@" else _literal_of(field, _plain(text)) for field, text in fields
        ]
        return f"({', '.join(literals)})"
    if len(kind) > 1:
        # Collections and vectors are kept as the hex of their wire form.
        return _ENCODER.cql_encode_all_types(
            _types(kind)[0].from_binary(bytes.fromhex(value), _ANY_VERSION)
        )
    _types(kind)
    if name == "blob":
        return f"0x{value.removeprefix('0x')}"
    return cql_string(value) if name in _QUOTED else value


def _apart(nodes: Sequence[Any]) -> list[list[Any]]:
    """Return each type of a list of them, with its parameters."""
    found: list[list[Any]] = []
    for one in nodes:
        if isinstance(one, list):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _plain(text: str) -> str:
    return text.replace("\\:", ":").replace("\\@", "@")


_ANY_VERSION = 4  # the wire form of values is the same in all


def _types(nodes: Sequence[Any]) -> list[Any]:
    """Return the types of CQL names with their parameters.

    Raises ValueError for a user-defined type, whose fields are not known here.
    """
    found = []
    for name, *parameters in _apart(nodes):
        try:
            made = lookup_cqltype(name)
        except KeyError:
            raise ValueError(f"a literal of type {name} cannot be made") from None
        if name == "vector":
            # The second parameter of a vector is a number, not a type.
            (of, size) = _apart(parameters[0])
            made = made.apply_parameters([*_types(of), *size])
        elif parameters:
            made = made.apply_parameters(_types(parameters[0]))
        found.append(made)
    return found


_NO_FLAGS: frozenset[str] = frozenset()


def _take_flags(made: TableMetadataV3, source: TableSource) -> None:
    """Take the flags of the table.

    Tables of Thrift, or with COMPACT STORAGE, lack the flag ``compound`` and have columns that CQL
    does not show.
    """
    at = source.names.flags
    if at is None or source.virtual:
        return
    flags = source.row[at] or _NO_FLAGS
    _checked(flags, frozenset, "flags")
    if flags:
        made.is_compact_storage = "compound" not in flags or bool(flags & {"dense", "super"})
    else:
        # Without any flag, only the columns tell.
        made.is_compact_storage = _looks_compact(made)
    # Super columns of Thrift have a level more than rows and columns can show.
    made.is_cql_compatible = "super" not in flags
    if not made.is_compact_storage or not made.is_cql_compatible:
        return
    if not flags & {"dense", "compound"}:
        _hide_static_compact(made)
    elif "dense" in flags:
        for column in [
            c
            for c in made.columns.values()
            if c.cql_type in _EMPTY_TYPES and c not in made.primary_key
        ]:
            del made.columns[column.name]


def _looks_compact(made: TableMetadataV3) -> bool:
    return (
        any(column.is_static for column in made.columns.values()) and len(made.clustering_key) == 1
    )


def _hide_static_compact(made: TableMetadataV3) -> None:
    """Show the columns as CQL does.

    The server keeps the visible ones as static columns; the clustering column and the regular one
    are hidden.
    """
    for column in list(made.columns.values()):
        if column in made.clustering_key or (
            not column.is_static and column not in made.partition_key
        ):
            del made.columns[column.name]
        column.is_static = False
    made.clustering_key.clear()


def _take_parts(made: TableMetadataV3, source: TableSource) -> None:
    made.indexes = _indexes_of(source, made)
    if source.triggers:
        made.triggers = {}
    for row in source.triggers:
        name = _row_checked(row)["trigger_name"]
        made.triggers[name] = TriggerMetadata(made, name, dict(row["options"] or {}))
    if source.dropped:
        made.dropped_columns = {}
    for row in source.dropped:
        name = _row_checked(row)["column_name"]
        made.dropped_columns[name] = DroppedColumn(
            name, row["type"], row["dropped_time"], row.get("kind") == "static"
        )
    if not made.partition_key:
        raise ValueError("no column is of the partition key")


def _indexes_of(source: TableSource, made: TableMetadataV3) -> Any:
    return {row[0]: _index(row, made) for row in source.indexes} if source.indexes else NOTHING


def _index(row: IndexRow, made: TableMetadataV3) -> IndexMetadata:
    name, kind, options = row
    if type(name) is not str or type(kind) is not str or type(options) is not dict:
        try:
            _checked(name, str, "an index's name")
            _checked(kind, str, f"the kind of index {name!r}")
            _checked(options, Mapping, f"the options of index {name!r}")
        except Exception as error:
            made.fail(error)
            return IndexMetadata(made.keyspace_name, made.name, str(name), str(kind), {})
    target = options.get("target")
    taken = _index_target(target, made.columns) if isinstance(target, str) else target
    # A copy only if there is something to change: the rows' own dict is shared.
    if taken != target:
        options = {**options, "target": taken}
    return IndexMetadata(made.keyspace_name, made.name, name, kind, options)


_TARGET = r'(?s:(?:(keys|values|entries|full)\()?("?)(.*?)\2(?(1)\)))'
_FROZEN_COLLECTIONS = ("frozen<list<", "frozen<map<", "frozen<set<")


def _index_target(target: str, columns: Mapping[str, ColumnMetadata]) -> str:
    """Return `target` in the form of CREATE INDEX, as Cassandra keeps it.

    Cassandra 3.0 and ScyllaDB keep names without quotes. ScyllaDB also omits the ``full`` of a
    frozen collection, and has ``keys`` of a set, for which CREATE INDEX only takes ``values``
    (scylladb issues 22013 and 22019).
    """
    column = columns.get(target)
    if (
        column is not None
        and "(" not in target
        and not column.cql_type.startswith(_FROZEN_COLLECTIONS)
    ):
        return maybe_escape_name(target)
    match = re.fullmatch(_TARGET, target)
    assert match is not None  # the pattern takes any text as a name
    part, quote, name = match.groups()
    name = name.replace('""', '"') if quote else name
    column = columns.get(name)
    if column is None:
        column, part, name = columns.get(target), None, target
        if column is None:
            return target
    if part is None and column.cql_type.startswith(_FROZEN_COLLECTIONS):
        part = "full"
    elif part == "keys" and column.cql_type.startswith("set<"):
        part = "values"
    return f"{part}({maybe_escape_name(name)})" if part else maybe_escape_name(name)


# -- keyspaces -------------------------------------------------------------------------------------


def keyspace(source: KeyspaceSource) -> KeyspaceMetadata:
    """Return the keyspace of `source`; its tables and views are made at their first access."""
    replication = source.row.get("replication")
    options = dict(replication) if isinstance(replication, Mapping) else {}
    strategy = options.pop("class", "")
    made = KeyspaceMetadata(source.name, source.row.get("durable_writes", True), strategy, options)
    made.virtual = source.virtual
    try:
        _row_checked(source.row)
        # Virtual keyspaces have no replication, because each node computes its own.
        if not source.virtual and not strategy:
            raise ValueError(f"the replication of the keyspace is {replication!r}")
    except Exception as error:
        made.fail(error)
    made.tables = LazyMapping(source.tables, object_of)
    made.views = LazyMapping(source.views, object_of)
    made.indexes = _indexes(source)
    types = {one.name: one for one in _each(made, "type", _user_type, source.types)}
    made.user_types = LazyMapping(types, _itself)
    # By signature, so that exports of one schema are equal; servers list rows in no such order.
    functions = sorted(_each(made, "function", _function, source.functions), key=_signature)
    made.functions = LazyMapping({one.signature: one for one in functions}, _itself)
    aggregates = sorted(_each(made, "aggregate", _aggregate, source.aggregates), key=_signature)
    made.aggregates = LazyMapping({one.signature: one for one in aggregates}, _itself)
    if source.scylla is not None and not isinstance(made.replication_strategy, LocalStrategy):
        made.tablets = _tablets(source.scylla)
    return made


def renewed_keyspace(made: KeyspaceMetadata, source: KeyspaceSource) -> KeyspaceMetadata:
    """Return the keyspace that shows the content of `source` from now on, in the mappings of
    `made`.

    It is `made` itself, but for a keyspace that was altered: programs compare its settings with
    those of an object that they have kept. Both objects have the same mappings.
    """
    # Tables are made when they are first looked at, so this costs little.
    fresh = keyspace(source)
    altered = _own_settings(fresh) != _own_settings(made)
    for slot in KeyspaceMetadata.__slots__:
        if slot == "__dict__":  # what the program has set
            if altered:
                vars(fresh).update(vars(made))
            continue
        shown, value = getattr(made, slot), getattr(fresh, slot)
        if type(shown) is LazyMapping and type(value) is LazyMapping:
            shown.show(value._names)
            setattr(fresh, slot, shown)
        elif not altered:
            setattr(made, slot, value)
    return fresh if altered else made


def _own_settings(made: KeyspaceMetadata) -> tuple[object, ...]:
    return made.durable_writes, made.replication_strategy, made.tablets


def _itself(made: object) -> Any:
    return made


def _index_of(place: tuple[TableSource, str]) -> Any:
    source, name = place
    return source.object().indexes[name]


def _indexes(source: KeyspaceSource) -> LazyMapping[Any]:
    """Return the indexes of all tables by name."""
    return LazyMapping(
        {name: (table, name) for table in source.tables.values() for name in table.index_names()},
        _index_of,
    )


def _each(
    made: KeyspaceMetadata,
    what: str,
    make: Callable[[Mapping[str, Any]], Any],
    rows: Iterable[Mapping[str, Any]],
) -> Iterable[Any]:
    for row in rows:
        try:
            yield make(_row_checked(row))
        except Exception as error:
            log.exception("the metadata of a %s in keyspace %s is damaged", what, made.name)
            made.fail(error)


def _signature(one: Function | Aggregate) -> str:
    return one.signature


def _user_type(row: Mapping[str, Any]) -> UserType:
    return UserType(
        row["keyspace_name"], row["type_name"], row["field_names"] or (), row["field_types"] or ()
    )


def _function(row: Mapping[str, Any]) -> Function:
    return Function(
        row["keyspace_name"],
        row["function_name"],
        row["argument_types"] or (),
        row["argument_names"] or (),
        row["return_type"],
        row["language"],
        row["body"],
        row["called_on_null_input"],
        bool(row.get("deterministic")),
        bool(row.get("monotonic")),
        row.get("monotonic_on") or (),
    )


def _aggregate(row: Mapping[str, Any]) -> Aggregate:
    return Aggregate(
        row["keyspace_name"],
        row["aggregate_name"],
        row["argument_types"] or (),
        row["state_func"],
        row["state_type"],
        row["final_func"],
        row["initcond"],
        row["return_type"],
        bool(row.get("deterministic")),
        row.get("reduce_func"),
    )


def _tablets(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Initial number of tablets per table, or None if the server does not know tablets.

    It is said explicitly if tablets are off: new keyspaces have them by default.
    """
    if "initial_tablets" not in row:
        return None
    initial = row["initial_tablets"]
    if not isinstance(initial, int):
        return {"enabled": False}
    return {"enabled": True, **({"initial": initial} if initial else {})}
