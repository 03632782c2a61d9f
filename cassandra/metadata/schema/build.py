"""Builds metadata objects from rows of the schema tables.

A source (`cassandra.metadata.schema.snapshot`) holds the rows of one keyspace, table or view. When
the object of a source is first accessed, the source calls `keyspace`, `table` or `view` of this
module. If a row is damaged, the object to which the row belongs keeps the error, and the object's
export is a comment. Other objects are not affected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._logs import Log
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

log = Log("cassandra.metadata")

_Expected = TypeVar("_Expected")
_Object = TypeVar("_Object")

# The names in schema tables of the type that has no values.
_EMPTY_TYPES = ("empty", "'org.apache.cassandra.db.marshal.EmptyType'")


def _check_type(
    value: object, expected: type[_Expected] | tuple[type[_Expected], ...], description: str
) -> _Expected:
    """Return `value` if it has the expected type.

    :param description: the subject of the error message.
    :raises Exception: `value` itself, if it is an exception. (The decoder replaces a value that it
        cannot decode by an exception.)
    :raises ValueError: if `value` has any other type.
    """
    if isinstance(value, expected):
        return value
    if isinstance(value, Exception):
        raise value
    raise ValueError(f"{description} is {value!r}")


def _check_row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `row`; if the decoder has replaced a damaged value by an exception, raise it."""
    for value in row.values():
        if isinstance(value, Exception):
            raise value
    return row


# -- tables and views ------------------------------------------------------------------------------


def table(source: TableSource) -> TableMetadataV3:
    """Build the table of `source`."""
    _collect_rows(source.columns)
    # `plain_table` is fast, and builds nearly all tables. It returns None for tables with special
    # features or damaged rows.
    table_metadata: TableMetadataV3 | None = column_rows.plain_table(source)
    if table_metadata is None:
        table_metadata = _special_table(source)
    elif source.indexes:
        table_metadata.indexes = _table_indexes(source, table_metadata)
    if source.views:
        table_metadata.views = LazyMapping(source.views, object_of)
    # `NamedColumns` is a dict whose KeyError lists the names of the columns.
    table_metadata.columns = NamedColumns(table_metadata.columns)
    return table_metadata


def _special_table(source: TableSource) -> TableMetadataV3:
    """Build a table that `plain_table` does not handle."""
    table_metadata = TableMetadataV3(
        source.keyspace, source.name, triggers=NOTHING, virtual=source.virtual
    )
    # All tables share NOTHING, an empty mapping. That saves thousands of objects.
    table_metadata.indexes = table_metadata.views = table_metadata.dropped_columns = NOTHING
    # Set the columns first, because flags and other parts refer to them. If a step fails, continue
    # with the next step.
    for set_part in (_set_columns, _set_flags, _set_options, _set_other_parts):
        try:
            set_part(table_metadata, source)
        except Exception as error:
            log.exception("the metadata of table %s.%s is damaged", source.keyspace, source.name)
            table_metadata.fail(error)
    return table_metadata


def _set_options(metadata: TableMetadataV3 | MaterializedViewMetadata, source: TableSource) -> None:
    """Set the row, from which `options` are read later, and the options of ScyllaDB."""
    if source.error is not None:
        raise source.error
    # A row in scylla_tables shows that the server is ScyllaDB.
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
    """Replace the views of `table_metadata`, and return `table_metadata`."""
    # The application may hold the mapping of views, so change this mapping. But do not change
    # NOTHING, which all tables share.
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
        source.keyspace,
        source.name,
        source.base or "",
        include_all_columns=False,  # set below
        where_clause=str(where),
        options=None,
    )
    try:
        _set_options(view_metadata, source)
        view_metadata.include_all_columns = bool(
            source.names.value(source.row, "include_all_columns")
        )
        _set_columns(view_metadata, source)
        if not view_metadata.partition_key:
            raise ValueError("no column is of the partition key")
    except Exception as error:
        log.exception("the metadata of view %s.%s is damaged", source.keyspace, source.name)
        view_metadata.fail(error)
    view_metadata.columns = NamedColumns(view_metadata.columns)
    return view_metadata


def _set_columns(metadata: TableMetadataV3 | MaterializedViewMetadata, source: TableSource) -> None:
    """Set the columns and the keys, and the masks of columns."""
    pages = source.columns
    if pages is not None:
        # Remove the table's rows from `rows_of`, which refers to their pages. So a page is freed
        # after its last table is built.
        row_runs = pages.rows_of.get(source.keyspace, {}).pop(source.name, ())
        metadata.partition_key, metadata.clustering_key, metadata.columns = column_rows.columns_of(
            metadata, row_runs, pages.texts
        )
    for row in source.masks:
        # Each mask is a row of system_schema.column_masks. Cassandra 5.0 keeps this row if the
        # column is dropped.
        if (column := metadata.columns.get(_check_row(row)["column_name"])) is not None:
            column.mask = _build_mask(row)


def _collect_rows(columns: ColumnPages | None) -> None:
    """Find the rows of each table in the pages of system_schema.columns, if not done yet."""
    if columns is None or not columns.pages:
        return
    # Empty the list first, so that a damaged page is not read again for the next table.
    pages, columns.pages = columns.pages, []
    columns.texts = column_rows.Texts()
    for page in pages:
        try:
            column_rows.note_runs(columns.rows_of, *page)
        except DecodeError as error:
            # A table with missing rows reports an error when it is built.
            log.error("a page of the schema tables is damaged: %s", error)


def _build_mask(row: Mapping[str, Any]) -> ColumnMask:
    """Return the mask that a row of system_schema.column_masks describes."""
    _check_row(row)  # raises the error of a damaged value
    nulls = row.get("function_argument_nulls") or ()
    argument_types = row.get("function_argument_types") or ()
    values = row.get("function_argument_values") or ()
    arguments = [
        "null" if is_null else _literal(argument_type, value)
        for is_null, argument_type, value in zip(nulls, argument_types, values, strict=True)
    ]
    return ColumnMask(row["function_keyspace"], row["function_name"], tuple(arguments))


# By default, an `Encoder` writes a tuple as a list, but a mask's argument must be a tuple.
_ENCODER = Encoder()
_ENCODER.mapping[tuple] = _ENCODER.cql_encode_tuple
# The types whose values are written in quotes in CQL.
_QUOTED = frozenset(("ascii", "date", "inet", "text", "time", "timestamp", "varchar"))
_FIELD_END = r"(?<!\\):"  # a colon that is not escaped


def _literal(cql_type: str, value: str) -> str:
    """Return the CQL literal of a mask's argument, which the server stores unquoted."""
    return _literal_of(cqltype_to_python(cql_type), value)


def _literal_of(parsed_type: Sequence[Any], value: str) -> str:
    """Return the CQL literal of a string from the schema tables.

    :param parsed_type: the type of the value, as `cqltype_to_python` has parsed it.
    """
    name = parsed_type[0]
    if name == "frozen":
        return _literal_of(parsed_type[1], value)
    if name == "tuple":
        # The fields are separated by colons, and @ means null. A backslash escapes both characters.
        fields = zip(_group_parameters(parsed_type[1]), re.split(_FIELD_END, value), strict=False)
        literals = [
            "null" if text == "@" else _literal_of(field, _unescaped(text))
            for field, text in fields
        ]
        return f"({', '.join(literals)})"
    if len(parsed_type) > 1:
        # Collections and vectors are stored as hex digits of their wire format.
        return _ENCODER.cql_encode_all_types(
            _parse_types(parsed_type)[0].from_binary(bytes.fromhex(value), _ANY_VERSION)
        )
    _parse_types(parsed_type)  # raises ValueError for a user-defined type
    if name == "blob":
        return f"0x{value.removeprefix('0x')}"
    # Numbers and UUIDs are stored as in CQL. Strings are stored without quotes.
    return cql_string(value) if name in _QUOTED else value


def _group_parameters(nodes: Sequence[Any]) -> list[list[Any]]:
    """Group a flat list, as `cqltype_to_python` returns it, into types with their parameters.

    ``["int", "list", ["text"]]`` becomes ``[["int"], ["list", ["text"]]]``.
    """
    groups: list[list[Any]] = []
    for node in nodes:
        if isinstance(node, list):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _unescaped(text: str) -> str:
    """Return the value of a tuple's field without its backslashes."""
    return text.replace("\\:", ":").replace("\\@", "@")


_ANY_VERSION = 4  # the wire format of values is the same in all versions


def _parse_types(nodes: Sequence[Any]) -> list[Any]:
    """Return the type classes for CQL type names with their parameters.

    :raises ValueError: for a user-defined type, whose fields are not known here.
    """
    types = []
    for type_name, *parameters in _group_parameters(nodes):
        try:
            cqltype = lookup_cqltype(type_name)
        except KeyError:
            raise ValueError(f"a literal of type {type_name} cannot be made") from None
        if type_name == "vector":
            # The second parameter of a vector is a number, not a type.
            (element, size) = _group_parameters(parameters[0])
            cqltype = cqltype.apply_parameters([*_parse_types(element), *size])
        elif parameters:
            cqltype = cqltype.apply_parameters(_parse_types(parameters[0]))
        types.append(cqltype)
    return types


_NO_FLAGS: frozenset[str] = frozenset()


def _set_flags(table_metadata: TableMetadataV3, source: TableSource) -> None:
    """Set the attributes that follow from the table's flags, and remove columns that CQL hides.

    A table that was created by Thrift, or with COMPACT STORAGE, lacks the flag ``compound`` or has
    another flag in addition. Some of its columns only exist in the server's storage: CQL does not
    show them.
    """
    index = source.names.flags
    if index is None or source.virtual:
        return
    flags = source.row[index] or _NO_FLAGS
    _check_type(flags, frozenset, "flags")
    if flags:
        # A table that was created by CQL only has the flag "compound".
        table_metadata.is_compact_storage = "compound" not in flags or bool(
            flags & {"dense", "super"}
        )
    else:
        # Without flags, we can only tell by the columns whether the storage is compact.
        table_metadata.is_compact_storage = _looks_compact(table_metadata)
    # Super columns of Thrift have one more level of nesting than a CQL row.
    table_metadata.is_cql_compatible = "super" not in flags
    if not table_metadata.is_compact_storage or not table_metadata.is_cql_compatible:
        return
    # With neither flag, this is a static compact table, which has one row per partition.
    if not flags & {"dense", "compound"}:
        _hide_static_compact(table_metadata)
    elif "dense" in flags:
        # In its storage, a dense table without value columns has a column of the type "empty".
        # Remove it.
        for column in [
            column
            for column in table_metadata.columns.values()
            if column.cql_type in _EMPTY_TYPES and column not in table_metadata.primary_key
        ]:
            del table_metadata.columns[column.name]


def _looks_compact(table_metadata: TableMetadataV3) -> bool:
    """Return True if the columns look like the columns of a static compact table."""
    return (
        any(column.is_static for column in table_metadata.columns.values())
        and len(table_metadata.clustering_key) == 1
    )


def _hide_static_compact(table_metadata: TableMetadataV3) -> None:
    """Remove the columns of a static compact table that CQL hides.

    The server stores the visible columns as static columns. The stored table also has a clustering
    column and a regular column, which are not visible.
    """
    for column in list(table_metadata.columns.values()):
        if column in table_metadata.clustering_key or (
            not column.is_static and column not in table_metadata.partition_key
        ):
            del table_metadata.columns[column.name]
        column.is_static = False
    table_metadata.clustering_key.clear()


def _set_other_parts(table_metadata: TableMetadataV3, source: TableSource) -> None:
    """Set the indexes, the triggers and the dropped columns."""
    table_metadata.indexes = _table_indexes(source, table_metadata)
    # The table still has the shared mapping NOTHING, which must not be changed. Replace it.
    if source.triggers:
        table_metadata.triggers = {}
    for row in source.triggers:
        name = _check_row(row)["trigger_name"]
        table_metadata.triggers[name] = TriggerMetadata(
            table_metadata, name, dict(row["options"] or {})
        )
    if source.dropped:
        table_metadata.dropped_columns = {}
    for row in source.dropped:
        name = _check_row(row)["column_name"]
        table_metadata.dropped_columns[name] = DroppedColumn(
            name, row["type"], row["dropped_time"], row.get("kind") == "static"
        )
    if not table_metadata.partition_key:
        raise ValueError("no column is of the partition key")


def _table_indexes(
    source: TableSource, table_metadata: TableMetadataV3
) -> Mapping[str, IndexMetadata]:
    return (
        {row[0]: _build_index(row, table_metadata) for row in source.indexes}
        if source.indexes
        else NOTHING
    )


def _build_index(row: IndexRow, table_metadata: TableMetadataV3) -> IndexMetadata:
    """Return the index that a row describes. If the row is damaged, the table keeps the error."""
    name, kind, options = row
    if type(name) is not str or type(kind) is not str or type(options) is not dict:
        # If a value is damaged, one of these checks raises an error that names the value.
        try:
            _check_type(name, str, "an index's name")
            _check_type(kind, str, f"the kind of index {name!r}")
            _check_type(options, Mapping, f"the options of index {name!r}")
        except Exception as error:
            table_metadata.fail(error)
            return IndexMetadata(
                table_metadata.keyspace_name, table_metadata.name, str(name), str(kind), {}
            )
    target = options.get("target")
    cql_target = (
        _index_target(target, table_metadata.columns) if isinstance(target, str) else target
    )
    # Other indexes may share the dict of options, so make a copy instead of changing it.
    if cql_target != target:
        options = {**options, "target": cql_target}
    return IndexMetadata(table_metadata.keyspace_name, table_metadata.name, name, kind, options)


# Matches an index's target: an optional function, then a name that may be quoted: ``keys("a")``.
_TARGET = r'(?s:(?:(keys|values|entries|full)\()?("?)(.*?)\2(?(1)\)))'
_FROZEN_COLLECTIONS = ("frozen<list<", "frozen<map<", "frozen<set<")


def _index_target(target: str, columns: Mapping[str, ColumnMetadata]) -> str:
    """Return an index's target in the form that CREATE INDEX accepts.

    Newer versions of Cassandra store the target in this form. Cassandra 3.0 and ScyllaDB store
    names without quotes. ScyllaDB also omits the ``full`` of a frozen collection, and stores
    ``keys`` for a set, where CREATE INDEX only accepts ``values`` (scylladb issues 22013 and
    22019).
    """
    column = columns.get(target)
    if (
        column is not None
        and "(" not in target
        and not column.cql_type.startswith(_FROZEN_COLLECTIONS)
    ):
        return maybe_escape_name(target)
    # Split the target into the function (keys, values, entries or full; optional) and the column.
    match = re.fullmatch(_TARGET, target)
    assert match is not None  # the pattern matches any string
    function, quote, name = match.groups()
    name = name.replace('""', '"') if quote else name
    column = columns.get(name)
    if column is None:
        # The whole target may be a column's name that looks like a function, such as "keys(a)".
        column, function, name = columns.get(target), None, target
        if column is None:
            return target
    if function is None and column.cql_type.startswith(_FROZEN_COLLECTIONS):
        function = "full"
    elif function == "keys" and column.cql_type.startswith("set<"):
        function = "values"
    return f"{function}({maybe_escape_name(name)})" if function else maybe_escape_name(name)


# -- keyspaces -------------------------------------------------------------------------------------


def keyspace(source: KeyspaceSource) -> KeyspaceMetadata:
    """Build the keyspace of `source`. Its tables and views are built at the first access."""
    replication = source.row.get("replication")
    options = dict(replication) if isinstance(replication, Mapping) else {}
    # The map has the strategy's class under "class", and the options of that class.
    strategy = options.pop("class", "")
    keyspace_metadata = KeyspaceMetadata(
        source.name, source.row.get("durable_writes", True), strategy, options
    )
    keyspace_metadata.virtual = source.virtual
    try:
        _check_row(source.row)
        # Virtual keyspaces have no replication, because each node computes their rows.
        if not source.virtual and not strategy:
            raise ValueError(f"the replication of the keyspace is {replication!r}")
    except Exception as error:
        keyspace_metadata.fail(error)
    keyspace_metadata.tables = LazyMapping(source.tables, object_of)
    keyspace_metadata.views = LazyMapping(source.views, object_of)
    keyspace_metadata.indexes = _keyspace_indexes(source)
    user_types = {
        user_type.name: user_type
        for user_type in _build_each(keyspace_metadata, "type", _build_user_type, source.types)
    }
    keyspace_metadata.user_types = LazyMapping(user_types, _identity)
    keyspace_metadata.functions = _by_signature(
        _build_each(keyspace_metadata, "function", _build_function, source.functions)
    )
    keyspace_metadata.aggregates = _by_signature(
        _build_each(keyspace_metadata, "aggregate", _build_aggregate, source.aggregates)
    )
    if source.scylla is not None and not isinstance(
        keyspace_metadata.replication_strategy, LocalStrategy
    ):
        keyspace_metadata.tablets = _tablets_option(source.scylla)
    return keyspace_metadata


def renewed_keyspace(
    keyspace_metadata: KeyspaceMetadata, source: KeyspaceSource
) -> KeyspaceMetadata:
    """Make `keyspace_metadata` show the content of `source`, and return the keyspace's object.

    The result is `keyspace_metadata`, unless ALTER KEYSPACE has changed settings. Then the result
    is a new object with the same mappings: an application may keep the old object, to compare its
    settings with the new settings.
    """
    # Build a new object for the comparison. That is cheap, because its tables are only built at
    # their first access.
    new_keyspace = keyspace(source)
    is_altered = _alterable_settings(new_keyspace) != _alterable_settings(keyspace_metadata)
    for slot in KeyspaceMetadata.__slots__:
        # `__dict__` holds attributes that the application has set. Copy them.
        if slot == "__dict__":
            if is_altered:
                vars(new_keyspace).update(vars(keyspace_metadata))
            continue
        old_value, new_value = getattr(keyspace_metadata, slot), getattr(new_keyspace, slot)
        # Let the mappings of the old object show the new content, and use them in the new object,
        # too.
        if type(old_value) is LazyMapping and type(new_value) is LazyMapping:
            old_value.show(new_value._names)
            setattr(new_keyspace, slot, old_value)
        # If a setting has changed, the old object keeps its old settings.
        elif not is_altered:
            setattr(keyspace_metadata, slot, new_value)
    return new_keyspace if is_altered else keyspace_metadata


def _alterable_settings(keyspace_metadata: KeyspaceMetadata) -> tuple[object, ...]:
    """Return the settings of a keyspace that ALTER KEYSPACE can change."""
    return (
        keyspace_metadata.durable_writes,
        keyspace_metadata.replication_strategy,
        keyspace_metadata.tablets,
    )


def _identity(value: _Object) -> _Object:
    return value


def _index_of(location: tuple[TableSource, str]) -> IndexMetadata:
    """Return the index for (table source, index name). This builds the table."""
    source, name = location
    index: IndexMetadata = source.object().indexes[name]
    return index


def _keyspace_indexes(source: KeyspaceSource) -> LazyMapping[Any]:
    """Return the indexes of all tables, by name."""
    return LazyMapping(
        {name: (table, name) for table in source.tables.values() for name in table.index_names()},
        _index_of,
    )


def _build_each(
    keyspace_metadata: KeyspaceMetadata,
    part: str,
    make: Callable[[Mapping[str, Any]], Any],
    rows: Iterable[Mapping[str, Any]],
) -> Iterable[Any]:
    """Yield ``make(row)`` for each row that is not damaged. The keyspace keeps the first error.

    :param keyspace_metadata: the keyspace.
    :param part: what the rows describe, such as "function", for the log.
    :param make: builds an object from a row.
    :param rows: the rows of a schema table.
    """
    for row in rows:
        try:
            yield make(_check_row(row))
        except Exception as error:
            log.exception(
                "the metadata of a %s in keyspace %s is damaged", part, keyspace_metadata.name
            )
            keyspace_metadata.fail(error)


def _by_signature(elements: Iterable[Any]) -> LazyMapping[Any]:
    """Return functions or aggregates by their signature, in the order of signatures.

    Servers send the rows in any order. Because of the sort, exports of equal schemas are equal.
    """
    ordered = sorted(elements, key=lambda element: element.signature)
    return LazyMapping({element.signature: element for element in ordered}, _identity)


def _build_user_type(row: Mapping[str, Any]) -> UserType:
    return UserType(
        row["keyspace_name"], row["type_name"], row["field_names"] or (), row["field_types"] or ()
    )


def _build_function(row: Mapping[str, Any]) -> Function:
    """Build the function of a row of system_schema.functions."""
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


def _build_aggregate(row: Mapping[str, Any]) -> Aggregate:
    """Build the aggregate of a row of system_schema.aggregates."""
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


def _tablets_option(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the value of the keyspace's option ``tablets``; None if the server has no tablets.

    If the keyspace has no tablets, the option must say so: without the option, a keyspace that is
    created from the export would get tablets.

    :param row: the keyspace's row of system_schema.scylla_keyspaces.
    """
    if "initial_tablets" not in row:
        return None
    initial = row["initial_tablets"]
    # A server that supports tablets has the column `initial_tablets`. A null in it means that this
    # keyspace has no tablets.
    if not isinstance(initial, int):
        return {"enabled": False}
    # 0 means that the server chooses the number of tablets, as if the option had no "initial".
    return {"enabled": True, **({"initial": initial} if initial else {})}
