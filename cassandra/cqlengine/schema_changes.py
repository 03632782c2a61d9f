"""Computes the CREATE and ALTER statements that make a table or type match its model.

The functions compare a model with the server's schema, and return statements without executing
them. They never drop a column or make its type narrower.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.cqlengine.errors import CQLEngineException
from cassandra.util.cql_text import protect_name, unquoted

if TYPE_CHECKING:
    from cassandra.cqlengine.columns.base import Column
    from cassandra.cqlengine.models import BaseModel
    from cassandra.cqlengine.usertype import UserType


class Field(NamedTuple):
    """A column of a table, or a field of a user-defined type.

    :param name: the name in the database.
    :param type: the type's CQL.
    """

    name: str
    type: str


class ServerColumn(NamedTuple):
    """A column of an existing table, as the server's schema tables describe it.

    :param name: the name, without quotes.
    :param type: the type's CQL.
    :param kind: "partition_key", "clustering", "static" or "regular".
    :param position: the position in the partition key or among the clustering columns, from 0; -1
        for columns outside the primary key.
    :param clustering_order: "asc", "desc" or "none".
    """

    name: str
    type: str
    kind: str
    position: int
    clustering_order: str


# -- compact storage -------------------------------------------------------------------------------


def may_be_static_compact(existing: Mapping[str, ServerColumn]) -> bool:
    """Return True if a table may be a static table with compact storage, judging by its columns.

    Such a table has one row for each partition. The server stores the columns outside the key as
    static columns, and adds a clustering column and a regular column, which CQL hides.

    :param existing: the columns of the table, by name.
    """
    kinds = [column.kind for column in existing.values()]
    return "static" in kinds and kinds.count("clustering") == 1


def is_static_compact(flags: Collection[str] | None) -> bool:
    """Return True if the flags are those of a static table with compact storage.

    :param flags: the flags of the table in system_schema.tables. The table must be one for which
        `may_be_static_compact` returns True. Tables without compact storage have "compound".
    """
    return {"compound", "dense", "super"}.isdisjoint(flags or ())


def visible_columns(existing: Mapping[str, ServerColumn]) -> dict[str, ServerColumn]:
    """Return those columns of a static table with compact storage that CQL shows, by name.

    :param existing: all columns of the table in the schema tables.
    """
    return {
        name: column._replace(kind="regular") if column.kind == "static" else column
        for name, column in existing.items()
        if column.kind in ("partition_key", "static")
    }


# -- types -----------------------------------------------------------------------------------------


def _normal_type(type_text: str) -> str:
    """Return the CQL of a type without ``frozen``, spaces and quotes, in lower case.

    ``frozen<map<text, frozen<"Address">>>`` becomes ``map<text,address>``.
    """
    text = re.sub(r"[\s\"]", "", type_text).lower()
    # In CQL, varchar is another name for text.
    text = re.sub(r"\bvarchar\b", "text", text)
    # Types can be nested, so count brackets to find the `>` that closes a `frozen<`.
    while "frozen<" in text:
        start = text.index("frozen<")
        depth, position = 0, start + len("frozen<")
        while position < len(text):
            if text[position] == "<":
                depth += 1
            elif text[position] == ">":
                if not depth:
                    break
                depth -= 1
            position += 1
        # Remove this `frozen<` and the `>` that closes it.
        text = text[:start] + text[start + len("frozen<") : position] + text[position + 1 :]
    return text


def same_type(first_type: str, second_type: str) -> bool:
    """Return True if two CQL types are the same apart from spelling.

    Two collections are the same type only if both are frozen or neither is. For other types,
    ``frozen`` makes no difference.
    """
    if _normal_type(first_type) != _normal_type(second_type):
        return False
    is_collection = _normal_type(first_type).startswith(("list<", "set<", "map<"))
    return not is_collection or _frozen(first_type) == _frozen(second_type)


def _frozen(type_text: str) -> bool:
    return type_text.replace(" ", "").lower().startswith("frozen<")


def create_type(type_model: type[UserType], keyspace: str) -> str:
    """Return the CREATE TYPE statement."""
    fields = ", ".join(
        f"{protect_name(column.db_field_name)} {_field_type(column)}"
        for column in type_model.fields().values()
    )
    # Do not add IF NOT EXISTS: if another process has just created the type, the caller has to know
    # it (by the server's error), because it then compares the fields.
    return f"CREATE TYPE {protect_name(keyspace)}.{protect_name(type_model.type_name())} ({fields})"


def _field_type(column: Column[Any]) -> str:
    return str(column.db_type)


def add_fields(
    type_model: type[UserType], keyspace: str, existing: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Return the ALTER statements that add a type's missing fields, and a list of warnings.

    The warnings are about fields whose types differ.

    :param existing: the CQL type of each field that the type has, by name.
    """
    changes, warnings = [], []
    name = f"{protect_name(keyspace)}.{protect_name(type_model.type_name())}"
    for column in type_model.fields().values():
        field = column.db_field_name
        if field not in existing:
            changes.append(f"ALTER TYPE {name} ADD {protect_name(field)} {_field_type(column)}")
        # Only warn, because current servers cannot change a field's type.
        elif not same_type(_field_type(column), existing[field]):
            warnings.append(
                f"Existing type {name} has field '{field}' of type {existing[field]}, but "
                f"{type_model.__name__} says "
                f"{_field_type(column)}: the model should be updated."
            )
    return changes, warnings


# -- tables ----------------------------------------------------------------------------------------


def create_table(model: type[BaseModel], table: str) -> str:
    """Return the CREATE TABLE statement.

    :param table: the table's name in CQL, with the keyspace.
    """
    mapping = model.__mapping__
    definitions = [column.get_column_def() for column in mapping.order]
    partition = ", ".join(column.cql for column in mapping.partition_keys.values())
    clustering = "".join(f", {column.cql}" for column in mapping.clustering_keys.values())
    # Without the inner parentheses, only the first column would be the partition key.
    definitions.append(f"PRIMARY KEY (({partition}){clustering})")
    options = _option_texts(declared_options(model))
    # If one column has an order, name all clustering columns: servers refuse an order of only some.
    if any(column.clustering_order for column in mapping.clustering_keys.values()):
        orders = ", ".join(
            f"{column.cql} {(column.clustering_order or 'asc').upper()}"
            for column in mapping.clustering_keys.values()
        )
        options.insert(0, f"CLUSTERING ORDER BY ({orders})")
    # Add IF NOT EXISTS, because another process may create the table at the same time. The caller
    # compares the columns afterwards.
    text = f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(definitions)})"
    return f"{text} WITH {' AND '.join(options)}" if options else text


def add_columns(
    model: type[BaseModel], table: str, existing: Mapping[str, ServerColumn]
) -> tuple[list[str], list[str]]:
    """Return the ALTER statements that add a table's missing columns, and a list of warnings.

    The warnings are about columns whose type, order or kind differs.

    :raises CQLEngineException: if the primary key of the table differs from the model's.
    """
    mapping = model.__mapping__
    # Check the key first, because a primary key cannot be changed.
    _check_key(model, table, existing)
    changes, warnings = [], []
    for column in mapping.order:
        server_column = existing.get(column.db_field_name)
        if server_column is None:
            changes.append(f"ALTER TABLE {table} ADD {column.get_column_def()}")
            continue
        # Only warn about a difference, because current servers cannot change a column's type or
        # kind.
        if not same_type(column.db_type, server_column.type):
            warnings.append(
                f"Existing table {table} has column {column.cql} with a type "
                f"({server_column.type}) differing from the model type "
                f"({column.db_type}). Model should be updated."
            )
        if column.static != (server_column.kind == "static"):
            warnings.append(
                f"Existing table {table} has column {column.cql} which is "
                f"{server_column.kind}, but in {model.__name__} it is "
                f"{'static' if column.static else 'not static'}; this cannot be changed."
            )
        order = (column.clustering_order or "asc").lower()
        server_order = server_column.clustering_order.lower()
        if server_column.kind == "clustering" and server_order not in (order, "none"):
            warnings.append(
                f"Existing table {table} has {column.cql} in order "
                f"{server_column.clustering_order}, but {model.__name__} says {order}; "
                "this cannot be changed."
            )
    return changes, warnings


def _check_key(model: type[BaseModel], table: str, existing: Mapping[str, ServerColumn]) -> None:
    """Raise CQLEngineException if the primary key of the table differs from the model's."""
    mapping = model.__mapping__
    # The strings are values of the column `kind` of system_schema.columns.
    for kind, keys in (
        ("partition_key", mapping.partition_keys),
        ("clustering", mapping.clustering_keys),
    ):
        # The server returns the columns ordered by name, so sort them by their position in the key.
        existing_names = [
            column.name
            for column in sorted(existing.values(), key=lambda column: column.position)
            if column.kind == kind
        ]
        expected = [column.db_field_name for column in keys.values()]
        if existing_names != expected:
            raise CQLEngineException(
                f"the table {table} has the {kind.replace('_key', ' key')} columns "
                f"{existing_names}, but {model.__name__} has {expected}: "
                "a primary key cannot be changed"
            )


# -- options ---------------------------------------------------------------------------------------


def declared_options(model: type[BaseModel]) -> dict[str, Any]:
    """Return the options that a model declares."""
    return dict(model.__options__ or {})


# The names of all options of tables, in any version of Cassandra and ScyllaDB.
_OPTIONS = frozenset(
    [
        "additional_write_policy",
        "allow_auto_snapshot",
        "bloom_filter_fp_chance",
        "caching",
        "cdc",
        "comment",
        "compaction",
        "compression",
        "crc_check_chance",
        "dclocal_read_repair_chance",
        "default_time_to_live",
        "extensions",
        "gc_grace_seconds",
        "in_memory",
        "incremental_backups",
        "index_interval",
        "max_index_interval",
        "memtable",
        "memtable_flush_period_in_ms",
        "min_index_interval",
        "nodesync",
        "paxos_grace_seconds",
        "per_partition_rate_limit",
        "populate_io_cache_on_flush",
        "read_repair",
        "read_repair_chance",
        "replicate_on_write",
        "speculative_retry",
        "storage_engine",
        "synchronous_updates",
        "tombstone_gc",
    ]
)


def check_options(model: type[BaseModel]) -> None:
    """Raise KeyError for an option that no server has."""
    unknown = sorted(declared_options(model).keys() - _OPTIONS)
    if unknown:
        raise KeyError(
            f"{model.__name__}.__options__ has unknown keys: {', '.join(unknown)}; "
            f"options of tables are {', '.join(sorted(_OPTIONS))}"
        )


def _option_literal(name: str, value: object) -> str:
    """Return the CQL literal of an option's value."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_quoted(key)}: {_quoted(item)}" for key, item in value.items())
        return "{" + pairs + "}"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    # A comment is always quoted, even if it looks like a number.
    if name != "comment" and re.fullmatch(r"-?\d+(\.\d+)?([eE]-?\d+)?|true|false", text):
        return text
    return _quoted(text)


def _quoted(value: object) -> str:
    """Return a value as a CQL string."""
    if isinstance(value, bool):
        # In option maps all values are strings, even booleans.
        value = str(value).lower()
    return "'" + str(value).replace("'", "''") + "'"


def _option_texts(options: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_option_literal(name, value)}" for name, value in options.items()]


def _comparable_option(value: object) -> str:
    """Return a table option's value in a form that is equal for the model and the server.

    Package names are removed from class names, and numbers become the repr of a float.
    """
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    # The server returns the full name of a class, but the model may have the short name.
    text = text.rpartition(".")[2] if text.startswith("org.apache.") else text
    try:
        # A model may have 10, and the server may store '10' or 10.0.
        return repr(float(text))
    except ValueError:
        return text.lower() if text.lower() in ("true", "false") else text


def option_changes(model: type[BaseModel], table: str, existing: Mapping[str, Any]) -> list[str]:
    """Return the ALTER statement that sets all options that differ from the model's.

    :param existing: the table's row of the schema tables.
    :returns: a list with the statement; an empty list if no option differs.
    """
    different = {}
    for name, value in declared_options(model).items():
        existing_value = existing.get(name)
        if isinstance(value, Mapping):
            # Servers add defaults to option maps, so compare only the keys that the model has.
            existing_items = {
                key: _comparable_option(item) for key, item in (existing_value or {}).items()
            }
            model_items = {key: _comparable_option(item) for key, item in value.items()}
            is_different = any(existing_items.get(key) != item for key, item in model_items.items())
        else:
            # If the value is None, the server does not have this option in its row.
            is_different = existing_value is None or (
                _comparable_option(existing_value) != _comparable_option(value)
            )
        if is_different:
            different[name] = value
    if not different:
        return []
    return [f"ALTER TABLE {table} WITH {' AND '.join(_option_texts(different))}"]


# -- indexes ---------------------------------------------------------------------------------------


def create_index(name: str, table: str, column: Column[Any]) -> str:
    """Return the CREATE INDEX statement."""
    if column.index_class is not None:
        return (
            f"CREATE CUSTOM INDEX IF NOT EXISTS {protect_name(name)} ON {table} ({column.cql}) "
            f"USING {_quoted(column.index_class)}{column.index_options()}"
        )
    return f"CREATE INDEX IF NOT EXISTS {protect_name(name)} ON {table} ({column.cql})"


def _index_name(table_name: str, field: str) -> str:
    """Return the name that servers give to an index that is created without a name."""
    # Servers remove all characters except ASCII letters, digits and underscores from the name.
    return re.sub(r"\W", "", f"{table_name}_{field}_idx", flags=re.ASCII)


def _indexed_column(target: str) -> str:
    """Return the column of an index, from the target in the server's schema.

    The target is the name of the column, or for a collection ``values(tags)`` or ``keys(tags)``.
    """
    return unquoted(re.sub(r"^\w+\((.*)\)$", r"\1", target, flags=re.DOTALL))


def missing_indexes(
    model: type[BaseModel], table: str, quoted_name: str, targets: Iterable[str]
) -> list[str]:
    """Return the CREATE INDEX statements for the indexes that a table lacks.

    :param table: the table's name in CQL, with the keyspace.
    :param quoted_name: the table's name in CQL, without the keyspace.
    :param targets: the targets of the existing indexes, from the server's schema.
    """
    indexed = set(map(_indexed_column, targets))
    plain_name = unquoted(quoted_name)
    # An index may have any name, so look at the columns of the existing indexes, not at their
    # names.
    return [
        create_index(_index_name(plain_name, column.db_field_name), table, column)
        for column in model.__mapping__.order
        if column.index and column.db_field_name not in indexed
    ]
