"""The plan of a scan, without I/O: its statement, and the ranges that it reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.bulk.plain import PlainRows, plain_session
from cassandra.bulk.ranges import (
    FIRST,
    LAST,
    Estimate,
    TokenRange,
    ring_ranges,
    rounded_to_tablets,
    split_ranges,
    weigh,
)
from cassandra.bulk.target import UnknownTable, names_of_columns, table_of
from cassandra.consistency import ConsistencyLevel
from cassandra.errors import DriverException
from cassandra.metadata.placement.replication import LocalStrategy
from cassandra.metadata.placement.tokens import Murmur3Token
from cassandra.query.statement import SimpleStatement
from cassandra.util.cql_text import cql_string, escape_name, stored_name

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.metadata.schema.tables import TableMetadata
    from cassandra.query import PreparedStatement
    from cassandra.query.bound import BoundStatement

# The query of a node's estimates for the sizes of its token ranges: see `_estimates_of`.
_ESTIMATES = (
    "SELECT range_start, range_end, mean_partition_size, partitions_count "
    "FROM system.size_estimates WHERE keyspace_name = {} AND table_name = {}"
)
# The query of the names of a table's columns: see `current_table_steps`.
_COLUMN_NAMES = "SELECT column_name FROM {}.columns WHERE keyspace_name = {} AND table_name = {}"
# The name that servers give to a bind marker which is compared with a token.
_TOKEN_MARKER = "partition key token"
# A function that takes a keyspace (None for the keyspace of the table) and a name. It returns True
# if the keyspace has an aggregate with this name.
IsAggregate = Callable[[str | None, str], bool]

BYTES_OF_A_RANGE = 32 << 20  # the size of a range in bytes, unless the application sets `splits`

# A generator that yields functions. The caller calls each function with a blocking or asyncio
# session, and sends the result (on asyncio, the awaited result) back into the generator.
Steps = Generator[Callable[[Any], Any], Any, "ScanStatement"]


class ScanStatement:
    """The prepared statement of a scan, and the token ranges that the scan reads.

    :param prepared: the statement.
    :param ranges: the ranges to read, in order.
    :param has_tokens: True if the statement has two bind markers for the bounds of a token range.
        False if the statement reads the whole table at once.
    :param parameters: the values of the application's bind markers, which are in its selectors and
        in its `where`.
    :param is_local: True if each node has its own rows of the table, so that all pages must come
        from one node.
    """

    def __init__(
        self,
        prepared: PreparedStatement,
        ranges: Sequence[TokenRange],
        has_tokens: bool,
        parameters: Sequence[Any],
        is_local: bool = False,
    ) -> None:
        self.prepared = prepared
        self.ranges = ranges
        self.has_tokens = has_tokens
        self.parameters = tuple(parameters)
        self.is_local = is_local
        # The markers of the selectors come first, so the index of the range's first marker is their
        # number.
        names = [column.name for column in prepared.column_metadata]
        self._bounds_index = names.index(_TOKEN_MARKER) if _TOKEN_MARKER in names else 0

    def bind(self, token_range: TokenRange, page_size: int, level: int | None) -> BoundStatement:
        """Return the bound statement that reads a range.

        Its routing key makes load balancing policies choose a replica of the range.

        :param page_size: the number of rows per page.
        :param level: the consistency level; None uses the profile's level.
        """
        values = list(self.parameters)
        if self.has_tokens:
            # The markers of the range are after the markers of the selectors, and before the
            # markers of the condition.
            values[self._bounds_index : self._bounds_index] = token_range[:2]
        bound = self.prepared.bind(values)
        if self.has_tokens:
            bound.routing_key = token_range.routing_key
        bound.fetch_size = page_size
        bound.is_idempotent = True
        if level is not None:
            bound.consistency_level = level
        return bound


class AggregateOfRanges(str):
    """CQL selectors with an aggregate, such as count(*).

    `plan_steps` accepts an aggregate only in this class, because the caller must add up the values
    of all ranges.
    """

    __slots__ = ()


def plan_steps(
    session: Any,
    name: str,
    columns: Sequence[str] | str | None,
    where: str | None,
    parameters: Sequence[Any],
    splits: int | None,
    concurrency: int,
) -> Steps:
    """Prepare the statement of a scan and divide the table into ranges.

    This is a generator without I/O: it yields functions. The caller calls each function with a
    session, and sends the result back. The generator returns a `ScanStatement`.

    :param session: a blocking or asyncio session; only its metadata is used.
    :param name: the table.
    :param columns: column names, or a string of selectors; None for all columns.
    :param where: a condition in CQL, with ``?`` for `parameters`; None for all rows.
    :param parameters: the values for the ``?`` markers of the selectors and of `where`.
    :param splits: the approximate number of ranges; None for ranges of about 32 MiB.
    :param concurrency: the maximum number of pages in flight.
    """
    metadata = session.cluster.metadata
    if columns is None:
        table = yield from current_table_steps(session, name)
    else:
        table = yield from known_table_steps(session, name)
    keyspace, table_name = table.keyspace_name, table.name
    token_map = metadata.token_map
    # Each node computes the rows of a virtual table, and has its own rows of a table like
    # system.peers. If the pages came from several nodes, rows of different nodes would be mixed.
    is_local = metadata.keyspaces[keyspace].virtual or isinstance(
        metadata.keyspaces[keyspace].replication_strategy, LocalStrategy
    )
    has_tokens = token_map is not None and token_map.token_class is Murmur3Token and not is_local

    def is_aggregate(function_keyspace: str | None, name: str) -> bool:
        functions_of = metadata.keyspaces.get(function_keyspace or keyspace)
        # Aggregates are stored by signature: the name, followed by the types of the arguments.
        return functions_of is not None and any(
            signature.partition("(")[0] == name for signature in functions_of.aggregates
        )

    query = _query_of(table, columns, where, has_tokens, is_aggregate)
    prepared = yield lambda session: session.prepare(query)
    if not has_tokens:
        whole_ring = [TokenRange(FIRST, LAST)]
        return ScanStatement(
            prepared, whole_ring, has_tokens=False, parameters=parameters, is_local=is_local
        )
    estimates: list[Estimate] = []
    plain_rows = PlainRows()
    for host in metadata.all_hosts():
        # `is_up` is None if the state of the host is unknown. Try such a host.
        if host.is_up is False:
            continue
        try:
            estimates_page = yield _estimates_of(host, keyspace, table_name)
        except DriverException:
            # Ignore the error: without this node's estimates, the scan works, but its ranges are
            # less equal in size.
            continue
        estimates += [
            Estimate(int(start), int(end), int(mean_size) * int(partition_count))
            for start, end, mean_size, partition_count in plain_rows.tuples(estimates_page)
            if start is not None and end is not None and mean_size and partition_count
        ]
    # Divide the ring into ranges of about equal size in bytes.
    ranges = ring_ranges(metadata, keyspace)
    weights = weigh(ranges, estimates)
    if splits is None:
        total = sum(weights) if any(estimate.bytes for estimate in estimates) else 0
        # Make at least four ranges for each page in flight, so that the scan does not end with a
        # single large range while nothing else is left to read.
        splits = max(int(total / BYTES_OF_A_RANGE), concurrency * 4)
    splits = rounded_to_tablets(metadata, keyspace, splits)
    scan_ranges = split_ranges(ranges, weights, splits)
    return ScanStatement(prepared, scan_ranges, has_tokens=True, parameters=parameters)


def performer(session: Any) -> Callable[[Callable[[Any], Any]], Any]:
    """Return the function with which `drive` and `adrive` carry out the steps of this module.

    :param session: a blocking or asyncio session.
    """
    step_session = plain_session(session)
    return lambda step: step(step_session)


def known_table_steps(
    session: Any, name: str, with_views: bool = True
) -> Generator[Callable[[Any], Any], Any, TableMetadata]:
    """Return the metadata of a table; if the driver does not know the table, ask a server once.

    The driver does not know a table that another client has created a moment ago. If schema events
    are disabled, it knows no table that was created since it has connected. If the schema metadata
    is disabled, it knows no tables.

    This is a generator without I/O, like `plan_steps`.

    :param session: a blocking or asyncio session; only its metadata is used.
    :param name: the table.
    :param with_views: True also finds materialized views.
    :raises ValueError: if the table does not exist.
    """
    metadata = session.cluster.metadata
    try:
        return table_of(metadata, name, session.keyspace, with_views)
    except UnknownTable as error:
        unknown = error
    keyspace, table = unknown.keyspace, unknown.table
    knows_keyspace = keyspace in metadata.keyspaces
    try:
        # Do not wait for schema agreement: if the server that we ask does not have the table, we
        # raise an error.
        yield (
            lambda session: (
                session.cluster.refresh_table_metadata(keyspace, table, max_schema_agreement_wait=0)
                if knows_keyspace
                else session.cluster.refresh_keyspace_metadata(
                    keyspace, max_schema_agreement_wait=0
                )
            )
        )
        return table_of(metadata, name, session.keyspace, with_views)
    except UnknownTable as error:
        unknown = error
    except DriverException as error:
        unknown.args = (f"{unknown} (the schema could not be read again: {error})",)
    wanted_keyspaces = getattr(session.cluster, "schema_metadata_keyspaces", None)
    if wanted_keyspaces is not None and keyspace not in wanted_keyspaces:
        unknown.args = (
            f"the schema of the keyspace {keyspace!r} is not read, because Cluster has "
            f"schema_metadata_keyspaces={list(wanted_keyspaces)!r}: add the keyspace to it",
        )
    elif not getattr(session.cluster, "schema_metadata_enabled", True):
        unknown.args = (f"{unknown}; Cluster has schema_metadata_enabled=False",)
    raise unknown


def current_table_steps(
    session: Any, name: str
) -> Generator[Callable[[Any], Any], Any, TableMetadata]:
    """Return the metadata of a table, with the columns that the table has now.

    The driver's metadata may lack columns that were added a moment ago. If schema events are
    disabled, it lacks all columns that were added since the driver has connected. A scan of all
    columns would not return the values of these columns. So we ask a server for the columns, and
    read the metadata of the table again if the columns differ.

    This is a generator without I/O, like `plan_steps`.

    :param session: a blocking or asyncio session; only its metadata is used.
    :param name: the table.
    :raises ValueError: if the table does not exist.
    """
    metadata = session.cluster.metadata
    table = yield from known_table_steps(session, name)
    # Do not compare the columns of a table with compact storage: its schema has columns that CQL
    # cannot read, and the driver's metadata leaves these columns out.
    if getattr(table, "is_compact_storage", False):  # views do not have the attribute
        return table
    is_virtual = metadata.keyspaces[table.keyspace_name].virtual
    query = _COLUMN_NAMES.format(
        "system_virtual_schema" if is_virtual else "system_schema",
        cql_string(table.keyspace_name),
        cql_string(table.name),
    )
    try:
        page = yield system_query(query)
        names = {column_name for (column_name,) in PlainRows().tuples(page)}
        if not names or names == set(table.columns):
            return table
        yield lambda session: session.cluster.refresh_table_metadata(
            table.keyspace_name, table.name, max_schema_agreement_wait=0
        )
    except DriverException:
        # Use the metadata as it is: Cassandra 2 has no table with the columns, or the role may not
        # read that table, or the metadata cannot be refreshed at the moment.
        return table
    return table_of(metadata, name, session.keyspace, with_views=True)


def _query_of(
    table: TableMetadata,
    columns: Sequence[str] | str | None,
    where: str | None,
    has_tokens: bool,
    is_aggregate: IsAggregate,
) -> str:
    """Return the SELECT of a scan, with bind markers for a token range if `has_tokens` is True."""
    # What to select: all columns, the CQL selectors in a string, or the columns in a list.
    if columns is None:
        selectors = ", ".join(escape_name(column) for column in names_of_columns(table))
    elif isinstance(columns, str):
        selectors = columns
        if _is_condition(columns):
            raise ValueError(
                f"columns has names of columns or selectors of CQL, and {columns!r} is a "
                f"condition: write where={columns!r}"
            )
        if not isinstance(columns, AggregateOfRanges):
            _refuse_aggregates(columns, where, is_aggregate)
        elif where and _GROUPS.search(_unquoted_words(where)):
            # A count adds up one value per range, but with GROUP BY a range has a value for each
            # group.
            raise ValueError(
                "a count has no GROUP BY, because it returns one number: write session.scan(table, "
                f"'{columns}', where={where!r}) for a count of each group"
            )
    else:
        for column in columns:
            # This is probably a selector. We quote each name in a list, so a server would look for
            # a column with the name "count(*)".
            if "(" in column and column not in table.columns:
                _refuse_aggregates(column, where, is_aggregate)
                raise ValueError(
                    f"a list for columns has names of columns, and {column!r} is none of them: "
                    f"write columns={', '.join(columns)!r} for selectors of CQL"
                )
            if column not in table.columns:
                _refuse_unknown_name(table, column, columns)
        selectors = ", ".join(escape_name(column) for column in columns)
    conditions, clause = [], ""
    # Put the condition for the token range before the condition of the application.
    if has_tokens:
        key = ", ".join(escape_name(column.name) for column in table.partition_key)
        conditions = [f"token({key}) > ? AND token({key}) <= ?"]
    if where:
        if re.match(r"\s*where\b", where, re.IGNORECASE):
            raise ValueError(f"where is the condition alone, without WHERE, but is {where!r}")
        _refuse_limit(where)
        _refuse_end(where)
        if (marker := _PERCENT_MARKER.search(_unquoted_words(where))) is not None:
            raise ValueError(
                f"where has {marker[0]}, but the markers of a condition are written ?, and "
                f"parameters= has their values; where is {where!r}"
            )
        # `where` may be only a clause that normally follows the conditions, such as GROUP BY.
        if _CLAUSE.match(where):
            clause = f" {where}"
        else:
            conditions.append(where)
    query = f"SELECT {selectors} FROM {escape_name(table.keyspace_name)}.{escape_name(table.name)}"
    if conditions:
        query += f" WHERE {' AND '.join(conditions)}"
    query += clause
    if where:
        # Without ALLOW FILTERING, servers refuse conditions that make them read many rows. A scan
        # reads the whole table anyway.
        query += " ALLOW FILTERING"
    return query


def _refuse_unknown_name(table: TableMetadata, name: str, columns: Sequence[str]) -> None:
    """Raise ValueError for a string in a list of columns that certainly is no column name.

    The server decides about other unknown names: it may know columns that were added a moment ago.
    """
    columns_in_lower_case = {column.lower(): column for column in table.columns}
    if name == "*":
        advice = "leave columns out for all of them"
    elif " " in name.strip():
        advice = f"write columns={', '.join(columns)!r} for selectors of CQL"
    elif name.strip().lower() in columns_in_lower_case:
        advice = f"write {columns_in_lower_case[name.strip().lower()]!r}"
    else:
        return
    names = ", ".join(table.columns)
    raise ValueError(
        f"table {table.keyspace_name}.{table.name} has no column {name!r}, but {names}: {advice}"
    )


# String constants, quoted names and comments of CQL.
_QUOTED = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\$.*?\$\$|/\*.*?\*/|(?:--|//)[^\n]*""", re.DOTALL
)
# Patterns of what a scan refuses in `where`: markers of simple statements, LIMIT (group 1 matches
# PER PARTITION, with which a LIMIT is allowed) and a vector search. `_GROUPS` finds GROUP BY, with
# which aggregates are allowed.
_PERCENT_MARKER = re.compile(r"%s|%\(\w+\)s")
_LIMIT = re.compile(r"(\bper\s+partition\s+)?\blimit\b", re.IGNORECASE)
_SEARCH = re.compile(r"\border\s+by\b.*\bann\s+of\b", re.IGNORECASE | re.DOTALL)
_GROUPS = re.compile(r"\bgroup\s+by\b", re.IGNORECASE)
# The beginning of a clause that follows the conditions.
_CLAUSE = re.compile(r"\s*(group\s+by|per\s+partition\s+limit)\b", re.IGNORECASE)
# `_NAMES` matches a name in CQL, with or without quotes. `_CALLS` matches a call of a function (its
# name is group 1), or a name without a call. It also matches the latter so that the search does not
# start inside the quotes of a name.
_NAMES = re.compile(r'"(?:[^"]|"")*"|\w+')
_CALLS = re.compile(
    rf"((?:{_NAMES.pattern})(?:\s*\.\s*(?:{_NAMES.pattern}))?)\s*\(|(?:{_NAMES.pattern})"
)
# The aggregates that every server has.
_AGGREGATES = frozenset({"count", "min", "max", "avg", "sum"})


def _unquoted_words(text: str) -> str:
    """Return CQL with '' for string constants and quoted names, and a blank for comments."""
    return _QUOTED.sub(lambda quoted: "''" if quoted[0][0] in "'\"$" else " ", text)


def _name_or_blank(quoted: re.Match[str]) -> str:
    """Return a quoted name unchanged, and a blank for a string constant or a comment."""
    return quoted[0] if quoted[0].startswith('"') else " "


def _is_condition(selectors: str) -> bool:
    """Return True if a string for `columns` compares a column with a value."""
    text = _unquoted_words(selectors)
    # A selector with "(" may have angle brackets in the type of a literal, as in (list<int>)[1].
    return "=" in text or ("(" not in text and re.search(r"[<>]", text) is not None)


def _refuse_limit(where: str) -> None:
    """Raise ValueError for a LIMIT, or for a vector search, which needs a LIMIT.

    A scan executes a SELECT for each token range, and the LIMIT would apply to each SELECT.
    """
    if _SEARCH.search(_unquoted_words(where)) is not None:
        raise ValueError(
            "where searches by a vector, which a scan cannot do: write session.execute('SELECT ... "
            f"ORDER BY column ANN OF ? LIMIT n', (vector,)); where is {where!r}"
        )
    # PER PARTITION LIMIT is allowed, because all rows of a partition are in the same range.
    if any(not per_partition for per_partition in _LIMIT.findall(_unquoted_words(where))):
        raise ValueError(
            "where has a LIMIT, which would apply to each token range of the scan: write limit=... "
            f"instead; where is {where!r}"
        )


def _refuse_end(where: str) -> None:
    """Raise ValueError if a condition ends with ALLOW FILTERING or a semicolon."""
    end = re.search(r"\ballow\s+filtering\s*;?\s*$|;\s*$", where, re.IGNORECASE)
    if end is not None:
        what = "a semicolon" if end[0].strip() == ";" else "ALLOW FILTERING, which is added to it"
        raise ValueError(f"where is the condition alone, without {what}, but is {where!r}")


def _refuse_aggregates(selectors: str, where: str | None, is_aggregate: IsAggregate) -> None:
    """Raise ValueError for an aggregate of the whole table.

    A scan executes a SELECT for each token range, and each SELECT would return an aggregate of its
    range only.
    """
    # Allow GROUP BY: it groups rows of the same partition, and all rows of a partition are in one
    # range.
    if where and _GROUPS.search(_unquoted_words(where)):
        return
    for name in _CALLS.findall(_QUOTED.sub(_name_or_blank, selectors)):
        if not name:  # a name without a call
            continue
        *keyspaces, function = [stored_name(part) for part in _NAMES.findall(name)]
        if function in _AGGREGATES or is_aggregate(keyspaces[0] if keyspaces else None, function):
            raise ValueError(
                f"{name}(...) would be computed for each token range of the scan, and not for the "
                "table: write session.count(table), or scan the columns and compute it from "
                f"to_arrow() or to_pandas(); columns is {selectors!r}"
            )


def _estimates_of(host: Host, keyspace: str, table: str) -> Callable[[Any], Any]:
    """Return a function that reads a node's estimates for the sizes of its token ranges.

    The function is called with a session.
    """
    # `host` says which node must respond, because each node only has estimates of its own ranges.
    return system_query(_ESTIMATES.format(cql_string(keyspace), cql_string(table)), host=host)


def system_query(query: str, **options: Any) -> Callable[[Any], Any]:
    """Return a function that asks a server about the schema, a table or a role.

    The function is called with a session.

    :param query: the query, without parameters: these would be encoded by the session's encoder,
        which the application may have replaced.
    :param options: further arguments of `Session.execute`.
    """
    # Set the page size and the consistency level, so that the settings of the session and its
    # profile do not apply.
    statement = SimpleStatement(
        query, consistency_level=ConsistencyLevel.ONE, fetch_size=None, is_idempotent=True
    )
    return lambda session: session.execute(statement, timeout=10.0, **options)
