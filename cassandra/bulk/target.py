"""The target of a load: a table, or a prepared statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.bulk.chunks import Column
from cassandra.protocol.encrypted import is_encrypted
from cassandra.query.prepared import PreparedStatement
from cassandra.util.cql_text import protect_name

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.schema.tables import TableMetadata

__all__ = ["Plan", "columns_of", "full_name", "plan_of", "static_plan", "table_of"]


class Plan(NamedTuple):
    """The statement that writes a row, before it is prepared.

    :param text: the statement.
    :param names: the columns, in the order that they were asked for in; bind markers may stand in
        another one.
    :param is_idempotent: True if a row may be written twice.
    :param is_counter: True if it changes counters.
    """

    text: str
    names: tuple[str, ...]
    is_idempotent: bool
    is_counter: bool


def table_of(metadata: Metadata, name: str, keyspace: str | None, with_views: bool = False) -> Any:
    """Return the metadata of a table.

    :param metadata: of the cluster.
    :param name: ``table`` or ``keyspace.table``, quoted if need be.
    :param keyspace: the session's, for a name without one.
    :param with_views: True finds materialized views, too.
    :raises ValueError: if there is no such table.
    """
    parts = _split(name)
    if len(parts) == 2:
        keyspace, name = parts
    elif len(parts) == 1:
        name = parts[0]
    else:
        raise ValueError(f"a table is named as table or keyspace.table, not {name!r}")
    if keyspace is None:
        raise ValueError(
            f"table {name!r} is of no keyspace: write keyspace.table, or connect to a keyspace"
        )
    known = metadata.keyspaces.get(keyspace)
    if known is None:
        raise ValueError(f"there is no keyspace {keyspace!r}")
    table = known.tables.get(name)
    if table is None and with_views:
        table = known.views.get(name)
    if table is None:
        raise ValueError(f"keyspace {keyspace!r} has no table {name!r}")
    return table


def _split(name: str) -> list[str]:
    parts: list[str] = []
    rest = name
    while rest:
        if rest.startswith('"'):
            at = 1
            # Two quotes in a row are one that belongs to the name.
            while (at := rest.find('"', at)) >= 0 and rest[at + 1 : at + 2] == '"':
                at += 2
            if at < 0:
                raise ValueError(f"the quoted name in {name!r} has no end")
            parts.append(rest[1:at].replace('""', '"'))
            rest = rest[at + 1 :]
        else:
            part, dot, tail = rest.partition(".")
            # As CQL reads a name without quotes.
            parts.append(part.lower())
            rest = dot + tail
        if rest:
            if not rest.startswith(".") or rest == ".":
                raise ValueError(f"{name!r} is not the name of a table")
            rest = rest[1:]
    if not parts or not all(parts):
        raise ValueError(f"{name!r} is not the name of a table")
    return parts


def plan_of(
    table: TableMetadata,
    wanted: Sequence[str],
    *,
    ttl: int | None,
    ttl_column: str | None,
    timestamp: int | None,
    timestamp_column: str | None,
    counters: bool,
) -> Plan:
    """Return the statement that writes rows of a table.

    :param table: its metadata.
    :param wanted: the columns that are written; all if it is empty.
    :param ttl: seconds that values live.
    :param ttl_column: the field that has these seconds for each row.
    :param timestamp: the write time in microseconds.
    :param timestamp_column: the field that has it for each row.
    :param counters: True if counters may be changed.
    :raises ValueError: for unknown columns, a missing key, or counters that are not asked for.
    """
    names = list(wanted) or list(table.columns)
    unknown = [name for name in names if name not in table.columns]
    if unknown:
        raise ValueError(
            f"table {table.keyspace_name}.{table.name} has no column {unknown[0]!r}, but "
            f"{', '.join(table.columns)}"
        )
    key = [column.name for column in (*table.partition_key, *table.clustering_key)]
    # Static columns are written for a partition as a whole: its clustering columns may be missing.
    static = all(table.columns[name].is_static for name in names if name not in key)
    needed = (
        [column.name for column in table.partition_key]
        if static and len(names) > len(table.partition_key)
        else key
    )
    missing = [name for name in needed if name not in names]
    if missing:
        raise ValueError(
            f"column {missing[0]!r} of the primary key of {table.keyspace_name}.{table.name} is "
            f"not among the columns that are written: {', '.join(names)} (the index of a pandas "
            "frame is no column: write frame.reset_index())"
        )
    # INSERT is refused for tables with counters: they are changed by UPDATE.
    if any(table.columns[name].cql_type == "counter" for name in names):
        return _counter_plan(table, names, key, counters, ttl or ttl_column)
    using = [
        *_using("TTL", ttl, ttl_column),
        *_using("TIMESTAMP", timestamp, timestamp_column),
    ]
    # An INSERT may be sent again: it writes the same row.
    return Plan(_insert(table, names, using), tuple(names), True, False)


def _using(clause: str, constant: int | None, column: str | None) -> list[str]:
    if constant is not None and column is not None:
        raise ValueError(f"{clause.lower()} and {clause.lower()}_column exclude each other")
    if constant is not None:
        return [f"{clause} {_checked(clause, constant)}"]
    return [f"{clause} ?"] if column is not None else []


def _checked(clause: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{clause.lower()} must be an integer, but is {value!r}")
    return value


def _counter_plan(
    table: TableMetadata, names: Sequence[str], key: Sequence[str], counters: bool, ttl: object
) -> Plan:
    if not counters:
        raise ValueError(
            f"table {table.keyspace_name}.{table.name} has counters: a row that is written twice "
            "counts twice. counters=True adds the values all the same, and tries nothing again"
        )
    if ttl:
        raise ValueError("counters have no time to live")
    changed = [name for name in names if name not in key]
    sets = ", ".join(f"{protect_name(name)} = {protect_name(name)} + ?" for name in changed)
    where = " AND ".join(f"{protect_name(name)} = ?" for name in key)
    text = (
        f"UPDATE {protect_name(table.keyspace_name)}.{protect_name(table.name)} "
        f"SET {sets} WHERE {where}"
    )
    return Plan(text, tuple(names), False, True)


def static_plan(
    table: TableMetadata, plan: Plan, using: Mapping[str, tuple[int | None, str | None]]
) -> str | None:
    """Return the statement for rows that have static columns alone; None if there are no such rows.

    An unloaded table has a row without clustering columns for each partition that has no rows.

    :param table: its metadata.
    :param plan: the statement for all other rows.
    :param using: for TTL and TIMESTAMP the value, and the field that has it.
    """
    partition = [column.name for column in table.partition_key]
    clustering = [column.name for column in table.clustering_key]
    static = [name for name in plan.names if table.columns[name].is_static]
    if plan.is_counter or not static or not clustering or clustering[0] not in plan.names:
        return None
    names = [*partition, *static]
    clauses = [clause for name, values in using.items() for clause in _using(name, *values)]
    return _insert(table, names, clauses)


def _insert(table: TableMetadata, names: Sequence[str], using: Sequence[str]) -> str:
    columns = ", ".join(map(protect_name, names))
    text = f"INSERT INTO {full_name(table)} ({columns}) VALUES ({', '.join('?' * len(names))})"
    return text + (f" USING {' AND '.join(using)}" if using else "")


def full_name(table: TableMetadata) -> str:
    """Return the name of a table with its keyspace, as CQL has it.

    :param table: its metadata.
    """
    return f"{protect_name(table.keyspace_name)}.{protect_name(table.name)}"


def columns_of(prepared: PreparedStatement) -> list[Column]:
    """Return the columns that a prepared statement binds, with the types of clear values.

    :param prepared: the statement.
    """
    # Those of the plan: the server's type of an encrypted column is blob.
    return [
        Column(column.name, column.type, is_hidden=is_encrypted(column.type))
        for column in prepared.bind_plan.columns
    ]
