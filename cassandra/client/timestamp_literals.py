"""Warns if a number for a timestamp column is probably not in milliseconds.

``execute("INSERT INTO t (k, at) VALUES (%s, %s)", (1, int(time.time())))`` writes a moment of
January 1970, because it passes seconds. For bind markers, the codec of the column's type warns.
Values for ``%s`` are encoded without knowing their columns. So this module finds their columns, in
the CQL string and in the schema.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from cassandra._habits import stack_level
from cassandra.cqltypes.coerce import probable_timestamp_unit
from cassandra.query.markers import tokens_of
from cassandra.query.named_markers import columns_of_named_markers
from cassandra.query.recently_used import RecentlyUsed
from cassandra.util.cql_text import split_names

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.schema.tables import TableMetadata

# Smaller numbers cause no warning: if they were seconds, they would be times before September 2001,
# which applications rarely write.
_FIRST = 10**9
_BEFORE_TABLE = frozenset({"into", "update", "from"})  # the keywords before a table's name
# For each (keyspace, CQL string): the parameters (names or positions) that are compared with a
# timestamp column or written to it, each with the name of the column. There is one such cache for
# each cluster.
_ColumnsOfTexts: TypeAlias = "RecentlyUsed[tuple[str | None, str], Mapping[Any, str]]"
_of_clusters: WeakKeyDictionary[Metadata, _ColumnsOfTexts] = WeakKeyDictionary()


def warn_of_timestamp_literals(
    text: str,
    parameters: Sequence[Any] | Mapping[str, Any],
    metadata: Metadata,
    keyspace: str | None,
) -> None:
    """Warn if parameters for timestamp columns are probably not in milliseconds.

    The schema is used only if a parameter is a number that may be such a timestamp.

    :param text: the query string with its placeholders ``%s`` or ``%(name)s``.
    :param parameters: the values of the placeholders.
    :param keyspace: the keyspace in which unqualified table names are looked up; None if there is
        none.
    """
    items = parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters)
    suspects = {key: value for key, value in items if type(value) is int and value >= _FIRST}
    # Without a schema (`schema_metadata_enabled=False`), do not search the query string each time.
    if not suspects or not metadata.keyspaces:
        return
    # Look up the timestamp columns of this CQL string, which are cached after its first execution.
    columns_of_texts = _of_clusters.setdefault(metadata, RecentlyUsed(256))
    columns = columns_of_texts.get((keyspace, text))
    if columns is None:
        table = _table_of(text, metadata, keyspace)
        if table is None:
            return
        try:
            columns = _timestamp_columns(text, parameters, table)
        except (TypeError, ValueError, LookupError):
            # The placeholders do not fit the parameters. The error is raised, with an explanation,
            # when the parameters become literals.
            return
        columns_of_texts.put((keyspace, text), columns)
    # Warn of each suspicious number that is for a timestamp column.
    for key in suspects.keys() & columns.keys():
        advice = probable_timestamp_unit(suspects[key])
        if advice is not None:
            warnings.warn(
                f"column {columns[key]}: {advice}, or pass a datetime",
                RuntimeWarning,
                stacklevel=stack_level(),
            )


def _table_of(text: str, metadata: Metadata, keyspace: str | None) -> TableMetadata | None:
    """Return the table that a statement reads or writes; None if the schema does not have it."""
    tokens = [token for _, token in tokens_of(text)]
    start = next((n for n, token in enumerate(tokens, 1) if token.lower() in _BEFORE_TABLE), None)
    if start is None:
        return None
    # A qualified name consists of one or more tokens, for example `ks.t` or `"Ks".t`.
    end = start + 1
    while end < len(tokens) and (tokens[end].startswith(".") or tokens[end - 1].endswith(".")):
        end += 1
    try:
        *qualifier, name = split_names("".join(tokens[start:end]))
    except ValueError:
        return None
    schema = metadata.keyspaces.get(qualifier[0] if qualifier else keyspace or "")
    return None if schema is None else schema.tables.get(name)


def _timestamp_columns(
    text: str, parameters: Sequence[Any] | Mapping[str, Any], table: TableMetadata
) -> dict[Any, str]:
    """Return the parameters whose column is a timestamp, each with the column's name."""
    is_named = isinstance(parameters, Mapping)
    keys = list(parameters) if is_named else range(len(parameters))
    # Replace each placeholder by a named marker, for example ":p0", because
    # `columns_of_named_markers` finds the columns of named markers only.
    markers = {key: f":p{number}" for number, key in enumerate(keys)}
    query = text % (markers if is_named else tuple(markers.values()))
    columns_by_parameter: dict[Any, str] = {}
    columns_of_markers = columns_of_named_markers(query)
    for key, marker in markers.items():
        for name in columns_of_markers.get(marker[1:], ()):
            column = table.columns.get(name)
            if column is not None and column.cql_type == "timestamp":
                columns_by_parameter[key] = name
    return columns_by_parameter
