"""Builds metadata objects from rows of the schema tables.

The sources in `cassandra.metadata.schema.snapshot` call this module once for each object. If a row
is damaged, the error is kept on the object that the row belongs to, and that object exports a
comment. Other objects are not affected.
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
    NamedColumns,
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


def _checked(value: object, expected: type | tuple[type, ...], description: str) -> Any:
    """Return `value` if it has the expected type.

    If `value` is an exception that replaces a damaged value, raise it. Otherwise raise ValueError,
    with `description` as the subject of the message.
    """
    if isinstance(value, expected):
        return value
    if isinstance(value, Exception):
        raise value
    raise ValueError(f"{description} is {value!r}")


def _row_checked(row: Mapping[str, Any]) -> Mapping[str, Any]:
    for value in row.values():
        if isinstance(value, Exception):
            raise value
    return row


# -- tables and views ------------------------------------------------------------------------------


def table(source: TableSource) -> TableMetadataV3:
    """Build the table of `source`."""
    _collect_rows(source.columns)
    table_metadata: TableMetadataV3 | None = column_rows.plain_table(source)
    if table_metadata is None:
        table_metadata = _special_table(source)
    elif source.indexes:
        table_metadata.indexes = _indexes_of(source, table_metadata)
    if source.views:
        table_metadata.views = LazyMapping(source.views, object_of)
    table_metadata.columns = NamedColumns(table_metadata.columns)
    return table_metadata


def _special_table(source: TableSource) -> TableMetadataV3:
    table_metadata = TableMetadataV3(
        source.keyspace, source.name, triggers=NOTHING, virtual=source.virtual
    )
    table_metadata.indexes = table_metadata.views = table_metadata.dropped_columns = NOTHING
    # Build columns first, because flags and other parts refer to them. A damaged part does not
    # affect the other parts.
    for take in (_take_columns, _take_flags, _take_options, _take_parts):
        try:
            take(table_metadata, source)
        except Exception as error:
            log.exception("the metadata of table %s.%s is damaged", source.keyspace, source.name)
            table_metadata.fail(error)
    return table_metadata


def _take_options(
    metadata: TableMetadataV3 | MaterializedViewMetadata, source: TableSource
) -> None:
    if source.error is not None:
        raise source.error
    metadata.set_row(source.names, source.row, bool(source.scylla))
    index = source.names.extensions
    extensions = source.row[index] if index is not None else None
    if extensions or source.scylla:
        metadata.options.update(
            scylla_options(extensions or {}, source.scylla[0] if source.scylla else None)
        )


def with_views(
    table_metadata: TableMetadataV3, views: Mapping[str, TableSource]
) -> TableMetadataV3:
    """Replace the views of `table_metadata` and return it."""
    # User code may hold the mapping itself, so it must show the change, too. NOTHING is shared by
    # all tables and must not change.
    if type(table_metadata.views) is LazyMapping and table_metadata.views is not NOTHING:
        table_metadata.views.show(views)
    else:
        table_metadata.views = LazyMapping(views, object_of)
    return table_metadata


def view(source: TableSource) -> MaterializedViewMetadata:
    """Build the materialized view of `source`."""
    _collect_rows(source.columns)
    where = source.names.value(source.row, "where_clause")
    view_metadata = MaterializedViewMetadata(
        source.keyspace, source.name, source.base or "", False, str(where), None
    )
    try:
        _take_options(view_metadata, source)
        view_metadata.include_all_columns = bool(
            source.names.value(source.row, "include_all_columns")
        )
        _take_columns(view_metadata, source)
        if not view_metadata.partition_key:
            raise ValueError("no column is of the partition key")
    except Exception as error:
        log.exception("the metadata of view %s.%s is damaged", source.keyspace, source.name)
        view_metadata.fail(error)
    view_metadata.columns = NamedColumns(view_metadata.columns)
    return view_metadata


def _take_columns(
    metadata: TableMetadataV3 | MaterializedViewMetadata, source: TableSource
) -> None:
    pages = source.columns
    if pages is not None:
        # Take the rows out, so that a page is freed after its last table is built.
        runs = pages.rows_of.get(source.keyspace, {}).pop(source.name, ())
        metadata.partition_key, metadata.clustering_key, metadata.columns = column_rows.columns_of(
            metadata, runs, pages.texts
        )
    for row in source.masks:
        metadata.columns[_row_checked(row)["column_name"]].mask = _mask(row)


def _collect_rows(columns: ColumnPages | None) -> None:
    """Sort the rows of all pages by table, unless that is done already."""
    if columns is None or not columns.pages:
        return
    # Remove the pages first, so that a page with an error is not read twice.
    pages, columns.pages = columns.pages, []
    columns.texts = column_rows.Texts()
    for page in pages:
        try:
            column_rows.note_runs(columns.rows_of, *page)
        except DecodeError as error:
            # A table whose rows are missing reports that when it is built.
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


# Encode tuples as CQL tuples here, regardless of how user code maps them.
_ENCODER = Encoder()
_ENCODER.mapping[tuple] = _ENCODER.cql_encode_tuple
_QUOTED = frozenset(("ascii", "date", "inet", "text", "time", "timestamp", "varchar"))
_FIELD_END = r"(?<!\\):"


def _literal(kind: str, value: str) -> str:
    """Return the literal of a value that the server stores as a string without quotes."""
    return _literal_of(cqltype_to_python(kind), value)


def _literal_of(kind: Sequence[Any], value: str) -> str:
    name = kind[0]
    if name == "frozen":
        return _literal_of(kind[1], value)
    if name == "tuple":
        # The fields are separated by colons, and @ means null. A backslash escapes both characters.
        fields = zip(_group_parameters(kind[1]), re.split(_FIELD_END, value), strict=False)
        literals = [
            "null" if text == "@" else _literal_of(field, _unescaped(text))
            for field, text in fields
        ]
        return f"({', '.join(literals)})"
    if len(kind) > 1:
        # Collections and vectors are stored as hex digits of their wire format.
        return _ENCODER.cql_encode_all_types(
            _types(kind)[0].from_binary(bytes.fromhex(value), _ANY_VERSION)
        )
    _types(kind)
    if name == "blob":
        return f"0x{value.removeprefix('0x')}"
    return cql_string(value) if name in _QUOTED else value


def _group_parameters(nodes: Sequence[Any]) -> list[list[Any]]:
    """Group a flat list of types, so that each type is followed by its parameters."""
    groups: list[list[Any]] = []
    for node in nodes:
        if isinstance(node, list):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _unescaped(text: str) -> str:
    return text.replace("\\:", ":").replace("\\@", "@")


_ANY_VERSION = 4  # the wire format of values is the same in all versions


def _types(nodes: Sequence[Any]) -> list[Any]:
    """Return the types for CQL type names with their parameters.

    Raises ValueError for a user-defined type, whose fields are not known here.
    """
    types = []
    for name, *parameters in _group_parameters(nodes):
        try:
            cqltype = lookup_cqltype(name)
        except KeyError:
            raise ValueError(f"a literal of type {name} cannot be made") from None
        if name == "vector":
            # The second parameter of a vector is a number, not a type.
            (element, size) = _group_parameters(parameters[0])
            cqltype = cqltype.apply_parameters([*_types(element), *size])
        elif parameters:
            cqltype = cqltype.apply_parameters(_types(parameters[0]))
        types.append(cqltype)
    return types


_NO_FLAGS: frozenset[str] = frozenset()


def _take_flags(table_metadata: TableMetadataV3, source: TableSource) -> None:
    """Set the attributes that follow from the table's flags.

    Tables created by Thrift or with COMPACT STORAGE lack the flag ``compound``, and have columns
    that CQL does not show.
    """
    index = source.names.flags
    if index is None or source.virtual:
        return
    flags = source.row[index] or _NO_FLAGS
    _checked(flags, frozenset, "flags")
    if flags:
        table_metadata.is_compact_storage = "compound" not in flags or bool(
            flags & {"dense", "super"}
        )
    else:
        # Without flags, we can only infer the storage from the columns.
        table_metadata.is_compact_storage = _looks_compact(table_metadata)
    # Thrift super columns have one more level of nesting than CQL rows can show.
    table_metadata.is_cql_compatible = "super" not in flags
    if not table_metadata.is_compact_storage or not table_metadata.is_cql_compatible:
        return
    if not flags & {"dense", "compound"}:
        _hide_static_compact(table_metadata)
    elif "dense" in flags:
        for column in [
            c
            for c in table_metadata.columns.values()
            if c.cql_type in _EMPTY_TYPES and c not in table_metadata.primary_key
        ]:
            del table_metadata.columns[column.name]


def _looks_compact(table_metadata: TableMetadataV3) -> bool:
    return (
        any(column.is_static for column in table_metadata.columns.values())
        and len(table_metadata.clustering_key) == 1
    )


def _hide_static_compact(table_metadata: TableMetadataV3) -> None:
    """Change the columns to those that CQL shows.

    The server stores the visible columns as static columns. The clustering column and the regular
    column are hidden.
    """
    for column in list(table_metadata.columns.values()):
        if column in table_metadata.clustering_key or (
            not column.is_static and column not in table_metadata.partition_key
        ):
            del table_metadata.columns[column.name]
        column.is_static = False
    table_metadata.clustering_key.clear()


def _take_parts(table_metadata: TableMetadataV3, source: TableSource) -> None:
    table_metadata.indexes = _indexes_of(source, table_metadata)
    if source.triggers:
        table_metadata.triggers = {}
    for row in source.triggers:
        name = _row_checked(row)["trigger_name"]
        table_metadata.triggers[name] = TriggerMetadata(
            table_metadata, name, dict(row["options"] or {})
        )
    if source.dropped:
        table_metadata.dropped_columns = {}
    for row in source.dropped:
        name = _row_checked(row)["column_name"]
        table_metadata.dropped_columns[name] = DroppedColumn(
            name, row["type"], row["dropped_time"], row.get("kind") == "static"
        )
    if not table_metadata.partition_key:
        raise ValueError("no column is of the partition key")


def _indexes_of(source: TableSource, table_metadata: TableMetadataV3) -> Any:
    return (
        {row[0]: _index(row, table_metadata) for row in source.indexes}
        if source.indexes
        else NOTHING
    )


def _index(row: IndexRow, table_metadata: TableMetadataV3) -> IndexMetadata:
    name, kind, options = row
    if type(name) is not str or type(kind) is not str or type(options) is not dict:
        try:
            _checked(name, str, "an index's name")
            _checked(kind, str, f"the kind of index {name!r}")
            _checked(options, Mapping, f"the options of index {name!r}")
        except Exception as error:
            table_metadata.fail(error)
            return IndexMetadata(
                table_metadata.keyspace_name, table_metadata.name, str(name), str(kind), {}
            )
    target = options.get("target")
    cql_target = (
        _index_target(target, table_metadata.columns) if isinstance(target, str) else target
    )
    # Copy only if something changes, because the row's dict is shared.
    if cql_target != target:
        options = {**options, "target": cql_target}
    return IndexMetadata(table_metadata.keyspace_name, table_metadata.name, name, kind, options)


_TARGET = r'(?s:(?:(keys|values|entries|full)\()?("?)(.*?)\2(?(1)\)))'
_FROZEN_COLLECTIONS = ("frozen<list<", "frozen<map<", "frozen<set<")


def _index_target(target: str, columns: Mapping[str, ColumnMetadata]) -> str:
    """Return `target` as Cassandra stores it, which is the form that CREATE INDEX accepts.

    Cassandra 3.0 and ScyllaDB store names without quotes. ScyllaDB also omits the ``full`` of a
    frozen collection, and uses ``keys`` for a set, although CREATE INDEX only accepts ``values``
    there (scylladb issues 22013 and 22019).
    """
    column = columns.get(target)
    if (
        column is not None
        and "(" not in target
        and not column.cql_type.startswith(_FROZEN_COLLECTIONS)
    ):
        return maybe_escape_name(target)
    match = re.fullmatch(_TARGET, target)
    assert match is not None  # the pattern matches any string
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
    """Build the keyspace of `source`. Its tables and views are built on first access."""
    replication = source.row.get("replication")
    options = dict(replication) if isinstance(replication, Mapping) else {}
    strategy = options.pop("class", "")
    keyspace_metadata = KeyspaceMetadata(
        source.name, source.row.get("durable_writes", True), strategy, options
    )
    keyspace_metadata.virtual = source.virtual
    try:
        _row_checked(source.row)
        # Virtual keyspaces have no replication, because each node computes its own.
        if not source.virtual and not strategy:
            raise ValueError(f"the replication of the keyspace is {replication!r}")
    except Exception as error:
        keyspace_metadata.fail(error)
    keyspace_metadata.tables = LazyMapping(source.tables, object_of)
    keyspace_metadata.views = LazyMapping(source.views, object_of)
    keyspace_metadata.indexes = _indexes(source)
    types = {
        user_type.name: user_type
        for user_type in _each(keyspace_metadata, "type", _user_type, source.types)
    }
    keyspace_metadata.user_types = LazyMapping(types, _identity)
    # Sort by signature, so that exports of equal schemas are equal. Servers do not sort these rows.
    functions = sorted(
        _each(keyspace_metadata, "function", _function, source.functions), key=_signature
    )
    keyspace_metadata.functions = LazyMapping(
        {function.signature: function for function in functions}, _identity
    )
    aggregates = sorted(
        _each(keyspace_metadata, "aggregate", _aggregate, source.aggregates), key=_signature
    )
    keyspace_metadata.aggregates = LazyMapping(
        {aggregate.signature: aggregate for aggregate in aggregates}, _identity
    )
    if source.scylla is not None and not isinstance(
        keyspace_metadata.replication_strategy, LocalStrategy
    ):
        keyspace_metadata.tablets = _tablets(source.scylla)
    return keyspace_metadata


def renewed_keyspace(
    keyspace_metadata: KeyspaceMetadata, source: KeyspaceSource
) -> KeyspaceMetadata:
    """Update the mappings of `keyspace_metadata` to the content of `source`, and return the
    keyspace.

    The result is `keyspace_metadata` itself, unless settings of the keyspace were altered. Then it
    is a new object with the same mappings, because user code may compare the new settings with
    those of an object that it kept.
    """
    # Tables are built on first access, so this is cheap.
    fresh = keyspace(source)
    altered = _settings(fresh) != _settings(keyspace_metadata)
    for slot in KeyspaceMetadata.__slots__:
        if slot == "__dict__":  # attributes that user code has set
            if altered:
                vars(fresh).update(vars(keyspace_metadata))
            continue
        current, value = getattr(keyspace_metadata, slot), getattr(fresh, slot)
        if type(current) is LazyMapping and type(value) is LazyMapping:
            current.show(value._names)
            setattr(fresh, slot, current)
        elif not altered:
            setattr(keyspace_metadata, slot, value)
    return fresh if altered else keyspace_metadata


def _settings(keyspace_metadata: KeyspaceMetadata) -> tuple[object, ...]:
    return (
        keyspace_metadata.durable_writes,
        keyspace_metadata.replication_strategy,
        keyspace_metadata.tablets,
    )


def _identity(value: object) -> Any:
    return value


def _index_of(location: tuple[TableSource, str]) -> Any:
    source, name = location
    return source.object().indexes[name]


def _indexes(source: KeyspaceSource) -> LazyMapping[Any]:
    """Return the indexes of all tables, by name."""
    return LazyMapping(
        {name: (table, name) for table in source.tables.values() for name in table.index_names()},
        _index_of,
    )


def _each(
    keyspace_metadata: KeyspaceMetadata,
    part: str,
    make: Callable[[Mapping[str, Any]], Any],
    rows: Iterable[Mapping[str, Any]],
) -> Iterable[Any]:
    for row in rows:
        try:
            yield make(_row_checked(row))
        except Exception as error:
            log.exception(
                "the metadata of a %s in keyspace %s is damaged", part, keyspace_metadata.name
            )
            keyspace_metadata.fail(error)


def _signature(function: Function | Aggregate) -> str:
    return function.signature


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
    """Return the initial number of tablets per table, or None if the server does not support
    tablets.

    A keyspace without tablets gets an explicit option, because new keyspaces have tablets by
    default.
    """
    if "initial_tablets" not in row:
        return None
    initial = row["initial_tablets"]
    if not isinstance(initial, int):
        return {"enabled": False}
    return {"enabled": True, **({"initial": initial} if initial else {})}
