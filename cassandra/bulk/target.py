"""The target of a load: a table, or a prepared statement."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._habits import stack_level
from cassandra._misspelt import nearest
from cassandra._patterns import pattern
from cassandra.bulk.chunks import Column
from cassandra.errors import PickledWhole
from cassandra.protocol.encrypted import is_encrypted
from cassandra.protocol.marker_names import usual_name
from cassandra.query.conditional import is_conditional
from cassandra.query.markers import tokens_of
from cassandra.query.named_markers import columns_of_named_markers
from cassandra.query.prepared import PreparedStatement
from cassandra.util.cql_text import protect_name, split_names, stored_name

if TYPE_CHECKING:
    from cassandra.bulk.groups import Owners
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.schema.elements import ColumnMetadata
    from cassandra.metadata.schema.tables import MaterializedViewMetadata, TableMetadata


class Plan(NamedTuple):
    """The CQL statement that writes a row, before it is prepared.

    :param text: the CQL.
    :param names: the columns, in the order in which they were requested. The bind markers may be in
        another order.
    :param is_idempotent: True if writing a row twice has the same effect as writing it once.
    :param is_counter: True if the statement changes counters.
    """

    text: str
    names: tuple[str, ...]
    is_idempotent: bool
    is_counter: bool


class Traits(NamedTuple):
    """What a load may do with the requests of a prepared statement.

    :param is_idempotent: True if a request may be executed twice.
    :param is_counter: True if the statement changes counters.
    :param is_conditional: True if the statement has a condition (IF), so a row may not be applied.
    :param has_lists: True if the statement writes lists that are not frozen (see `lists_in`). Then
        a request may only be repeated with another write time.
    :param has_static_lists: True if one of these lists is a static column.
    """

    is_idempotent: bool
    is_counter: bool
    is_conditional: bool
    has_lists: bool = False
    has_static_lists: bool = False

    @property
    def may_be_batched(self) -> bool:
        """True if several rows may be sent in an unlogged batch.

        Servers refuse counters in these batches. Conditional rows are sent one by one: a batch has
        a single outcome for all its rows, and must not span partitions. The rows of a batch have
        the same write time, so a static list would have its elements once for each row of its
        partition.
        """
        return not (self.is_conditional or self.is_counter or self.has_static_lists)


LONGEST_TTL = 20 * 365 * 24 * 60 * 60
"""The longest time to live in seconds that servers accept: 20 years."""

# `_SELECT` matches the beginning of a SELECT statement. The other pattern matches the clause of a
# write that sets its write time.
_SELECT = re.compile(r"\s*SELECT\b", re.IGNORECASE)
_WRITE_TIME = pattern(r"\bUSING\s+(?:TTL\s+\S+\s+AND\s+)?TIMESTAMP\b", re.IGNORECASE)


def names_of_columns(table: TableMetadata | MaterializedViewMetadata) -> list[str]:
    """Return the names of a table's columns, in the order of ``SELECT *``.

    Rows without names have their values in this order, in loads and in scans. Servers return static
    columns before regular columns, but `TableMetadata.columns` sorts both together by name.

    :param table: the metadata of the table or view.
    """
    key = {column.name for column in table.primary_key}
    names: Iterable[str] = table.columns
    if _has_super_columns(table):
        names = [name for name in names if name]
    # `sorted` is stable, so columns of the same rank keep their order. All columns of the key have
    # the rank 0.
    return sorted(
        names,
        key=lambda name: 0 if name in key else 1 if table.columns[name].is_static else 2,
    )


def _has_super_columns(table: TableMetadata | MaterializedViewMetadata) -> bool:
    """Return True for a table of super columns that were made by Thrift, in Cassandra 3.

    Such a table has a map without a name, which the last clustering column and the value have been
    made of. The schema has the map as well, but servers do not return it for ``SELECT *``, and fail
    if a statement names it. (Static super columns have only one clustering column, and their map
    can be read.)
    """
    is_compatible = getattr(table, "is_cql_compatible", True)  # views do not have the attribute
    return not is_compatible and len(table.clustering_key) > 1


def lists_in(table: TableMetadata | None, names: Iterable[str]) -> list[ColumnMetadata]:
    """Return the columns that are lists and not frozen.

    A write of such a list deletes the elements with earlier write times, and adds new elements. So
    if two writes have the same write time, the list has the elements of both writes.

    :param table: the table that is written; None if it is unknown.
    :param names: the names of the columns that are written; other names are ignored.
    """
    columns = (
        [] if table is None else [table.columns[name] for name in names if name in table.columns]
    )
    return [column for column in columns if column.cql_type.startswith("list<")]


def traits_of(
    prepared: PreparedStatement,
    plan: Plan | None,
    counters: bool,
    table: TableMetadata | None = None,
) -> Traits:
    """Return the traits of a load's statement.

    :param prepared: the statement.
    :param plan: the plan of the statement; None if the application has prepared the statement.
    :param counters: the option `counters`.
    :param table: the table that the statement writes; None if it is unknown.
    :raises ValueError: if the statement is a SELECT.
    """
    if plan is None and _SELECT.match(prepared.query_string) is not None:
        raise ValueError(
            f"a load writes rows, and {prepared.query_string!r} reads: write "
            "session.execute_concurrent_with_args(prepared, rows)"
        )
    conditional = is_conditional(prepared.query_string)
    query = prepared.query_string
    names = {column.name for column in prepared.column_metadata}
    if ":" in query:  # a named marker may differ in name from its column
        names = names.union(*columns_of_named_markers(query).values())
    lists = lists_in(table, names)
    of_lists = {
        "has_lists": bool(lists),
        "has_static_lists": any(column.is_static for column in lists),
    }
    if plan is not None:
        return Traits(plan.is_idempotent, plan.is_counter, conditional, **of_lists)
    return Traits(
        bool(prepared.is_idempotent) and not counters and not (lists and _WRITE_TIME.search(query)),
        # The types of bind markers are not enough: a statement may add a constant to a counter, and
        # then no bind marker has the type counter. So check the option `counters` first.
        counters or any(column.type.typename == "counter" for column in prepared.column_metadata),
        conditional,
        **of_lists,
    )


def check_session(session: Any, call: str) -> None:
    """Raise TypeError if the argument of a bulk function is not a session.

    :param session: the argument.
    :param call: an example call of the function, for the message.
    """
    if hasattr(session, "cluster") and hasattr(session, "execute"):
        return
    advice = f"write {call}"
    if hasattr(session, "connect"):
        advice = "write session = cluster.connect() first, and pass the session"
    raise TypeError(
        f"a session is needed, not an object of type {type(session).__name__}: {advice}"
    )


def _name_of(table: Any) -> str:
    """Return what to write instead of an object that was passed in place of a table's name."""
    if hasattr(table, "keyspace_name") and hasattr(table, "name"):
        return repr(f"{protect_name(table.keyspace_name)}.{protect_name(table.name)}")
    return "load('table', source), or scan('table')"


class UnknownTable(PickledWhole, ValueError):
    """The driver's metadata lack a table.

    :param message: the message.
    :param keyspace: the name of the keyspace.
    :param table: the name of the table.
    """

    def __init__(self, message: str, keyspace: str, table: str) -> None:
        super().__init__(message)
        self.keyspace = keyspace
        self.table = table


def table_of(
    metadata: Metadata, name: str, keyspace: str | None, with_views: bool = False
) -> TableMetadata:
    """Return the metadata of a table.

    :param metadata: the cluster's metadata.
    :param name: ``table`` or ``keyspace.table``, quoted if needed.
    :param keyspace: the session's keyspace, for a name without a keyspace.
    :param with_views: True also finds materialized views, which have the same attributes here.
    :raises UnknownTable: if there is no such table. The message suggests a similar name.
    :raises ValueError: if `name` is not the name of a table.
    :raises TypeError: if `name` is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"a table is named by a str, not {type(name).__name__}: write {_name_of(name)}"
        )
    statement = re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)\s", name, re.IGNORECASE)
    if statement is not None:
        advice = "for a load, write session.load(session.prepare(text), rows)"
        if statement[1].upper() == "SELECT":
            advice = "columns= and where= choose what is read; session.execute runs statements"
        raise ValueError(
            f"a table is named as table or keyspace.table, not by a statement, {name!r}: {advice}"
        )
    # Split the name. If it has no keyspace, use the session's.
    parts = split_names(name, "the name of a table", any_unquoted=True)
    if len(parts) == 2:
        keyspace, name = parts
    elif len(parts) == 1:
        name = parts[0]
    else:
        raise ValueError(f"a table is named as table or keyspace.table, not {name!r}")
    if keyspace is None:
        raise ValueError(
            f"table {name!r} has no keyspace: write keyspace.table, or connect to a keyspace"
        )
    # Look the table up. A wrong name is often misspelt, so suggest a similar name.
    keyspace_metadata = metadata.keyspaces.get(keyspace)
    if keyspace_metadata is None:
        hint = _similar_name_hint(keyspace, metadata.keyspaces)
        if not hint and name in _FILE_NAME_ENDS:
            hint = ": the table is the first argument, and the file the second"
        raise UnknownTable(f"there is no keyspace {keyspace!r}{hint}", keyspace, name)
    table: TableMetadata | None = keyspace_metadata.tables.get(name)
    if table is None and with_views:
        table = keyspace_metadata.views.get(name)
    if table is None:
        hint = _similar_name_hint(name, keyspace_metadata.tables)
        # CQL converts names without quotes to lower case. So a name with capitals only fits if it
        # is quoted: say so.
        quoted = next((each for each in keyspace_metadata.tables if each.lower() == name), None)
        if quoted is not None:
            hint = f" (a name with capitals is written in double quotes, '\"{quoted}\"')"
        view = keyspace_metadata.views.get(name)
        if view is not None:
            hint = f": this is a materialized view, so write its table {view.base_table_name!r}"
        raise UnknownTable(f"keyspace {keyspace!r} has no table {name!r}{hint}", keyspace, name)
    return table


def written_table(metadata: Metadata, prepared: PreparedStatement) -> TableMetadata | None:
    """Return the metadata of the table that a statement writes; None if it is unknown.

    :param metadata: the cluster's metadata.
    :param prepared: the statement.
    """
    keyspace = metadata.keyspaces.get(prepared.table_keyspace or "")
    return keyspace.tables.get(prepared.table) if keyspace is not None else None


def names_of_markers(prepared: PreparedStatement, table: TableMetadata) -> list[str | None]:
    """Return, for each bind marker, the name of its column; None if the column is unknown.

    The name is also None if the marker is only a part of the value of a key column, as in ``c = :x
    % 10`` and ``c IN (?, 5)``: rows with different values of the marker may have the same key.

    Markers for the TTL, the write time, or several columns of the primary key keep the names that
    servers give to them: ``[ttl]``, ``[timestamp]``, ``in(a,b)``.

    :param prepared: the statement.
    :param table: the table that it writes.
    """
    query = prepared.query_string
    named: dict[str, set[str]] = {}
    named_markers: set[str] = set()
    tokens = [text for _, text in tokens_of(query)]
    if ":" in tokens:
        named = columns_of_named_markers(query)
        named_markers = {
            stored_name(name) for colon, name in itertools.pairwise(tokens) if colon == ":"
        }
    partial = _partial_values(tokens)
    key = {column.name for column in (*table.partition_key, *table.clustering_key)}

    def name_of(number: int, marker: str) -> str | None:
        """Return the name for a marker.

        :param marker: the name that servers give to the marker.
        """
        # Look for named markers first: the name of such a marker may also be the name of a column
        # to which the marker does not belong.
        if marker in named_markers and marker not in named:
            return None
        names = named.get(marker) or {marker}
        if len(names) > 1:
            return None
        (name,) = names
        if name not in table.columns:
            name = usual_name(name)
        if name in key and (number in partial or marker in partial):
            return None
        if name in table.columns or name in ("[ttl]", "[timestamp]"):
            return name
        composed = _PART_OF_A_COLUMN.fullmatch(name)
        if composed is None:
            # This may be a field of a user-defined type, ``column.field``. The names of columns may
            # contain points, too, so only use a column if no other column fits.
            columns = [column for column in table.columns if name.startswith(f"{column}.")]
            return columns[0] if len(columns) == 1 else None
        columns = _names_in_brackets(composed[1], table)
        if columns and key.issuperset(columns):
            return name
        return columns[0] if len(columns) == 1 and columns[0] in table.columns else None

    return [name_of(number, column.name) for number, column in enumerate(prepared.column_metadata)]


def _names_in_brackets(text: str, table: TableMetadata) -> list[str]:
    """Return the names of columns in the brackets of a marker's name.

    Cassandra does not quote these names, which may have any characters. There are several names if
    the marker is compared with several clustering columns, as in ``(a, b) IN ?``.

    :param text: the text between the brackets.
    :param table: the table of the columns.
    :returns: an empty list if the names are not known.
    """
    if text in table.columns:
        return [text]
    # The clustering columns that CQL compares with one marker are always consecutive.
    clustering = [column.name for column in table.clustering_key]
    for begin in range(len(clustering)):
        for end in range(begin + 2, len(clustering) + 1):
            names = clustering[begin:end]
            if text in (",".join(names), ", ".join(names)):
                return names
    try:
        return split_names(text)
    except ValueError:
        return []


def _partial_values(tokens: Sequence[str]) -> set[str | int]:
    """Return the markers that, at some place in the statement, are not the whole value of a column.

    A marker is the whole value of a column on the right side of ``=``, and between the brackets of
    VALUES.

    :param tokens: the tokens of a statement.
    :returns: the names of named markers; for a ``?``, the number of ``?`` that precede it.
    """
    partial: set[str | int] = set()
    words: list[str] = []  # the token before each open bracket, in upper case
    question_count = 0
    for index, token in enumerate(tokens):
        before = tokens[index - 1].upper() if index else ""
        marker: str | int
        if token in _OPENING:
            words.append(before)
            continue
        if token in _CLOSING and words:
            words.pop()
            continue
        if token == "?":
            is_cut = False
            marker = question_count
            question_count += 1
            end = index + 1
        elif token == ":" and index + 1 < len(tokens):
            name = tokens[index + 1]
            # The tokenizer returns ``x-1`` as one word.
            bare_name = name if name.startswith('"') else _WORD_END.sub("", name)
            is_cut = bare_name != name
            marker = stored_name(bare_name)
            end = index + 2
        else:
            continue
        # The operators ``>=`` and ``+=`` are two tokens each, so check the token before ``=``.
        is_whole = (before == "=" and tokens[index - 2] not in _BEFORE_EQUAL) or (
            before in ("(", ",") and words[-1:] == ["VALUES"]
        )
        after = "".join(tokens[end : end + 1]).upper()
        if not is_whole or is_cut or after not in _AFTER_VALUE:
            partial.add(marker)
    return partial


def names_in(query: str) -> set[str]:
    """Return all names in a statement, in the form in which servers store them.

    The result also has all other words of the statement, and its numbers.

    :param query: the query string.
    """
    names: set[str] = set()
    for kind, token in tokens_of(query):
        if kind == "word":
            # The tokenizer returns ``ks.t`` and ``a-1`` as one word each.
            names.update(_SEPARATOR.split(token.lower()))
        elif token.startswith('"'):
            names.add(stored_name(token))
    return names


_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_BEFORE_EQUAL = frozenset("<>!+-")  # with "=", these are other operators
_SEPARATOR = re.compile(r"[.+-]")
_WORD_END = re.compile(r"[.+-].*", re.DOTALL)
# The tokens that end a value; "" is the end of the statement.
_AFTER_VALUE = frozenset({"AND", "IF", "APPLY", ",", ")", ";", ""})

# The names of markers for elements of a collection (``key(a)``, ``value(a)``), tuples and lists of
# values (``(a,b)``, ``in(a)``).
_PART_OF_A_COLUMN = re.compile(r"(?:key|value|idx|in)?\((.+)\)", re.DOTALL | re.IGNORECASE)


def owners_in(metadata: Metadata, keyspace: str | None) -> Owners | None:
    """Return the map from partitions to replicas, which is used to group rows.

    :param metadata: the cluster's metadata.
    :param keyspace: the keyspace of the table; None if it is unknown.
    :returns: None if the driver does not know the replicas.
    """
    routing = metadata.routing()
    return routing.map_of(keyspace) if routing is not None and keyspace is not None else None


# What looks like the name of a table if a file is passed in its place: "csv" in "cities.csv".
_FILE_NAME_ENDS = frozenset({"csv", "gz", "json", "jsonl", "parquet", "tsv", "txt", "zst"})


def _similar_name_hint(name: str, names: Iterable[str]) -> str:
    near = nearest(name, names)
    return f"; did you mean {near!r}?" if near else ""


def plan_of(
    table: TableMetadata,
    columns: Sequence[str],
    *,
    ttl: int | None,
    ttl_column: str | None,
    timestamp: int | None,
    timestamp_column: str | None,
    counters: bool,
) -> Plan:
    """Return the statement that writes rows of a table.

    :param table: the metadata of the table.
    :param columns: the columns to write; if empty, all columns.
    :param ttl: the time to live of values in seconds.
    :param ttl_column: the field with the time to live of each row.
    :param timestamp: the write time in microseconds.
    :param timestamp_column: the field with the write time of each row.
    :param counters: True allows changing counters.
    :raises ValueError: if the table lacks a column, if `columns` lacks a column of the primary key,
        or if a column is a counter and `counters` is False.
    """
    names = list(columns) or names_of_columns(table)
    unknown = [name for name in names if name not in table.columns]
    if unknown:
        raise ValueError(
            f"table {table.keyspace_name}.{table.name} has no column {unknown[0]!r}, but "
            f"{', '.join(table.columns)}"
        )
    key = [column.name for column in (*table.partition_key, *table.clustering_key)]
    # If all columns outside the key are static, rows need no clustering columns, because static
    # columns belong to the whole partition.
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
    # Servers refuse INSERT into a table with counters, so its plan is an UPDATE.
    if any(table.columns[name].cql_type == "counter" for name in names):
        plan = _counter_plan(table, names, key, counters)
        if ttl or ttl_column:
            raise ValueError("counters have no time to live")
        if timestamp is not None or timestamp_column is not None:
            raise ValueError(
                "the server sets the write time of a counter: leave timestamp and timestamp_column "
                "out"
            )
        return plan
    if counters:
        warnings.warn(
            f"counters=True has no effect: no column of {table.keyspace_name}.{table.name} that is "
            "written is a counter",
            RuntimeWarning,
            stacklevel=stack_level(),
        )
    using = [
        *_using("TTL", ttl, ttl_column),
        *_using("TIMESTAMP", timestamp, timestamp_column),
    ]
    # An INSERT is idempotent: if it is repeated, it writes the same row again. The exception is a
    # list: a repeated INSERT with the same write time adds its elements again.
    lists = lists_in(table, names)
    has_write_time = timestamp is not None or timestamp_column is not None
    static_list = next((column.name for column in lists if column.is_static), None)
    if has_write_time and static_list is not None and set(names) >= set(key):
        raise ValueError(
            f"column {static_list!r} is a static list: if the rows of a partition have the same "
            "write time, it has its elements once for each row. Load it without the clustering "
            "columns, or leave timestamp and timestamp_column out"
        )
    return Plan(
        _insert(table, names, using),
        tuple(names),
        is_idempotent=not (lists and has_write_time),
        is_counter=False,
    )


def _using(clause: str, constant: int | None, column: str | None) -> list[str]:
    """Return the part of USING for TTL or TIMESTAMP: a constant, a bind marker, or []."""
    if constant is not None and column is not None:
        raise ValueError(f"{clause.lower()} and {clause.lower()}_column exclude each other")
    if constant is not None:
        return [f"{clause} {_checked_using_value(clause, constant)}"]
    return [f"{clause} ?"] if column is not None else []


def _checked_using_value(clause: str, value: object) -> int:
    """Check the value of USING TTL or USING TIMESTAMP that a load writes with every row.

    :param clause: "TTL" or "TIMESTAMP".
    :param value: seconds for TTL, microseconds since the Unix epoch for TIMESTAMP.
    :returns: `value`.
    :raises TypeError: if `value` is not an integer.
    :raises ValueError: if `value` is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        if hasattr(value, "total_seconds"):
            instead = ": write int(ttl.total_seconds())"
        elif clause == "TIMESTAMP" and hasattr(value, "timestamp"):
            # `timestamp()` treats a datetime without a time zone as local time, so it needs one.
            instead = (
                ": write int(timestamp.timestamp() * 1_000_000), of a datetime with a time zone"
            )
        else:
            instead = ""
        unit = "seconds" if clause == "TTL" else "microseconds"
        raise TypeError(
            f"{clause.lower()} must be an integer, the number of {unit}, but is {value!r}{instead}"
        )
    if clause == "TTL" and not 0 <= value <= LONGEST_TTL:
        raise ValueError(
            f"ttl is a number of seconds, from 0 to {LONGEST_TTL} (20 years), but is {value}"
        )
    # The smallest 64-bit number is excluded: servers use it for cells without a write time.
    if clause == "TIMESTAMP" and not -(1 << 63) < value < 1 << 63:
        raise ValueError(f"timestamp is a number of 64 bits, but is {value}")
    return value


def _counter_plan(
    table: TableMetadata, names: Sequence[str], key: Sequence[str], counters: bool
) -> Plan:
    """Return the plan of an UPDATE that adds the values to counters."""
    if not counters:
        raise ValueError(
            f"table {table.keyspace_name}.{table.name} has counters: a row that is written twice "
            "counts twice. counters=True adds the values all the same, and tries nothing again"
        )
    counter_names = [name for name in names if name not in key]
    sets = ", ".join(f"{protect_name(name)} = {protect_name(name)} + ?" for name in counter_names)
    # Rows that only have static counters do not have all columns of the key: they lack the
    # clustering columns.
    where = " AND ".join(f"{protect_name(name)} = ?" for name in key if name in names)
    text = (
        f"UPDATE {protect_name(table.keyspace_name)}.{protect_name(table.name)} "
        f"SET {sets} WHERE {where}"
    )
    return Plan(text, tuple(names), is_idempotent=False, is_counter=True)


def check_static_counters(
    table: TableMetadata,
    plan: Plan,
    is_unloaded: bool,
    fields: Sequence[tuple[str, list[str] | None]] = (),
) -> None:
    """Warn, or raise an error, if each row of a partition would add to a static counter.

    :param table: the table that is written.
    :param plan: the statement, which changes counters.
    :param is_unloaded: True if an unload has written the rows. Then each row of a partition has the
        value of the static counter, so the load would add the value once for each row.
    :param fields: (name of the file, its field names) of each file. The field names are None if
        they are not known before the rows are read.
    :raises ValueError: if `is_unloaded` is True. If the statement does not write the clustering
        columns, this is only an error if a file has clustering columns.
    """
    counter = next((name for name in plan.names if table.columns[name].is_static), None)
    clustering = {column.name for column in table.clustering_key}
    if counter is None:
        return
    if clustering.isdisjoint(plan.names):
        # The statement is right for files with one row per partition. But a file with clustering
        # columns has several rows per partition. If the names are unknown (JSON lines), the file
        # probably has all columns of the table.
        file = next(
            (file for file, names in fields if names is None or not clustering.isdisjoint(names)),
            None,
        )
        if is_unloaded and file is not None:
            raise ValueError(
                f"column {counter!r} is a static counter, and in {file}, which an unload has "
                "written, each row of a partition has its value. The rows must be reduced to one "
                "for each partition first: write them to another file, without the clustering "
                "columns, and load that"
            )
        return
    partition = [column.name for column in table.partition_key]
    message = (
        f"column {counter!r} is a static counter, and each row of a partition adds to it. In an "
        "unload or a scan, each row has its value: write "
        f"ignore=[{counter!r}], and load it by itself, columns={[*partition, counter]!r}, with one "
        "row for each partition"
    )
    if is_unloaded:
        raise ValueError(message)
    warnings.warn(message, RuntimeWarning, stacklevel=stack_level())


def static_plan(
    table: TableMetadata, plan: Plan, using: Mapping[str, tuple[int | None, str | None]]
) -> str | None:
    """Return the CQL for rows that only have static columns; None if no such CQL is needed.

    If a partition has static columns but no rows, a SELECT returns one row for the partition, in
    which the clustering columns are null. So the files of an unload may have such rows.

    :param table: the metadata of the table.
    :param plan: the statement for all other rows.
    :param using: see `LoadOptions.using`.
    """
    partition = [column.name for column in table.partition_key]
    clustering = [column.name for column in table.clustering_key]
    static = [name for name in plan.names if table.columns[name].is_static]
    # Without the first clustering column, all rows only have static columns. `plan` already inserts
    # such rows, so no second statement is needed.
    if plan.is_counter or not static or not clustering or clustering[0] not in plan.names:
        return None
    names = [*partition, *static]
    clauses = [clause for name, values in using.items() for clause in _using(name, *values)]
    return _insert(table, names, clauses)


def short_key_widths(table: TableMetadata) -> range:
    """Return how many clustering columns a row may have that lacks some at the end.

    Only dense tables with compact storage have such rows: the server accepts an INSERT without the
    last clustering columns, and a SELECT returns null for these columns. The range is empty for any
    other table, and for a view. Servers refuse such an INSERT for a table of super columns.

    :param table: the metadata of the table.
    """
    is_compact = getattr(table, "is_compact_storage", False)  # views do not have the attribute
    if is_compact and _has_super_columns(table):
        is_compact = False
    return range(1, len(table.clustering_key) if is_compact else 1)


def short_key_plans(
    table: TableMetadata, plan: Plan, using: Mapping[str, tuple[int | None, str | None]]
) -> list[str]:
    """Return the CQL for rows that lack their last clustering columns: see `short_key_widths`.

    :param table: the metadata of the table.
    :param plan: the statement for all other rows.
    :param using: see `LoadOptions.using`.
    :returns: a statement for each number of clustering columns in `short_key_widths`.
    """
    if plan.is_counter:
        return []
    clustering = [column.name for column in table.clustering_key]
    clauses = [clause for name, values in using.items() for clause in _using(name, *values)]
    return [
        _insert(table, [name for name in plan.names if name not in clustering[width:]], clauses)
        for width in short_key_widths(table)
    ]


def _insert(table: TableMetadata, names: Sequence[str], using: Sequence[str]) -> str:
    columns = ", ".join(map(protect_name, names))
    text = f"INSERT INTO {full_name(table)} ({columns}) VALUES ({', '.join('?' * len(names))})"
    return text + (f" USING {' AND '.join(using)}" if using else "")


def full_name(table: TableMetadata) -> str:
    """Return the full name of a table, quoted for CQL.

    :param table: the metadata of the table.
    """
    return f"{protect_name(table.keyspace_name)}.{protect_name(table.name)}"


def columns_of(prepared: PreparedStatement, table: TableMetadata | None = None) -> list[Column]:
    """Return the columns that a prepared statement binds, with the types of decrypted values.

    The types have no converters: converters are for the application's classes, but files have CQL
    values.

    :param prepared: the statement.
    :param table: the table that it writes; None if it is not known.
    """
    # The name of a column in quotes may look like the name of a marker, for example "x[1]".
    names = table.columns if table is not None else ()
    # For an encrypted column, the server's metadata says blob. The plan has the type of the
    # decrypted values.
    return [
        Column(
            column.name if column.name in names else usual_name(column.name),
            column.type,
            is_hidden=is_encrypted(column.type),
        )
        for column in prepared.plain_plan.columns
    ]


def order_of_statement(
    prepared: PreparedStatement,
    mapping: Mapping[str, str],
    selected: Sequence[str],
    ignored: Collection[str],
) -> list[str]:
    """Return the columns of a prepared statement, in the order of values in a row without names.

    If the application has selected columns, this is the order of `selected`, otherwise the order of
    the bind markers. If ``columns=`` is a mapping that lacks some columns of the statement, the
    mapping only renames fields. Then, too, the order is the order of the bind markers.

    :param prepared: the statement, which binds all columns in its text.
    :param mapping: field names by column name.
    :param selected: the columns that the application has selected; empty for all columns.
    :param ignored: the names of fields to ignore.
    :raises ValueError: if `selected` has a column that the statement does not bind, or if a field
        that the statement binds is ignored.
    """
    names = [column.name for column in prepared.column_metadata]
    for name in selected:
        if name not in names:
            raise ValueError(
                f"columns= has {name!r}, and the bind markers of the statement are "
                f"{', '.join(names)}"
            )
        if selected.count(name) > names.count(name):
            raise ValueError(f"columns= has {name!r} twice, and the statement does not bind it so")
    for name in names:
        if mapping.get(name, name) in ignored:
            raise ValueError(
                f"ignore= has the field {mapping.get(name, name)!r}, which the statement binds: "
                "prepare a statement without it"
            )
    # Skip bind markers that are not columns: their names are in brackets, [ttl] and [timestamp].
    missing = [name for name in names if name not in selected and not name.startswith("[")]
    if not selected or (missing and mapping):
        return names
    if missing:
        raise ValueError(
            f"columns= does not have {missing[0]!r}, which the statement binds: name all its "
            "columns in the order of the rows' values, or prepare another statement"
        )
    return list(selected)


def positions_in(source_order: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return for each bind marker the position of its value in a row without names.

    A name may occur several times, as in ``SET a = ? WHERE id = ? IF a = ?``. The first bind marker
    with a name gets the first value with this name, and so on.

    :param source_order: the column of each value in the row.
    :param names: the column of each bind marker.
    """
    positions: list[int] = []
    for index, name in enumerate(names):
        # The positions of all values whose column has this name.
        same_name = [position for position, column in enumerate(source_order) if column == name]
        # The n-th bind marker with a name gets the n-th value with this name. If there are fewer
        # values, the marker gets the last of them.
        positions.append(same_name[min(names[:index].count(name), len(same_name) - 1)])
    return positions


def check_statement_using(
    prepared: PreparedStatement, using: Mapping[str, tuple[int | None, str | None]]
) -> None:
    """Raise ValueError for a TTL or write time option that a prepared statement cannot use.

    :param prepared: the statement.
    :param using: see `LoadOptions.using`.
    :raises ValueError: for an option with a value for all rows, or with a field for which the
        statement has no bind marker.
    """
    names = [column.name for column in prepared.column_metadata]
    for clause, (value, field) in using.items():
        option = clause.lower()
        if value is not None:
            raise ValueError(
                f"{option}= has no effect on a prepared statement: write USING {clause} {value} in "
                "the statement, or load into the table by its name"
            )
        if field is not None and f"[{option}]" not in names:
            marker = re.search(rf"\b{clause}\s+:(\w+)", prepared.query_string, re.IGNORECASE)
            if marker is not None:
                name = stored_name(marker[1])
                raise ValueError(
                    f"{option}_column= is for USING {clause} ?, and the statement has "
                    f"USING {clause} :{marker[1]}: its field has the name of the marker, {name!r}; "
                    f"for another name write columns={{{field!r}: {name!r}}}"
                )
            raise ValueError(
                f"{option}_column= has no effect on a prepared statement without USING {clause} ?: "
                "write it in the statement, or load into the table by its name"
            )
