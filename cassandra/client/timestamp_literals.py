"""Warns of numbers for timestamps in literals that are probably not milliseconds.

``execute("INSERT INTO t (k, at) VALUES (%s, %s)", (1, int(time.time())))`` writes a moment of
January 1970. For bind markers, the codec of the column's type warns. The values of ``%s`` are
encoded without their columns, so this module finds the columns in the text and in the schema.
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

# Smaller numbers are never suspicious: as seconds, they are times before 2001.
_FIRST = 10**9
_BEFORE_TABLE = frozenset({"into", "update", "from"})
# By keyspace and query string, the parameters (names or positions) that are compared with or
# written to a timestamp column, with the name of the column.
_ColumnsOfTexts: TypeAlias = "RecentlyUsed[tuple[str | None, str], Mapping[Any, str]]"
_of_clusters: WeakKeyDictionary[Metadata, _ColumnsOfTexts] = WeakKeyDictionary()


def warn_of_timestamp_literals(
    text: str,
    parameters: Sequence[Any] | Mapping[str, Any],
    metadata: Metadata,
    keyspace: str | None,
) -> None:
    """Warn of numbers for timestamps that are probably not milliseconds.

    Nothing is looked up in the schema unless a parameter is a number that may be such a timestamp.

    :param text: the query string with its placeholders ``%s`` or ``%(name)s``.
    :param parameters: the values of the placeholders.
    :param keyspace: the keyspace of tables that are not qualified.
    """
    items = parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters)
    suspects = {key: value for key, value in items if type(value) is int and value >= _FIRST}
    if not suspects:
        return
    columns_of_texts = _of_clusters.setdefault(metadata, RecentlyUsed(256))
    columns = columns_of_texts.get((keyspace, text))
    if columns is None:
        table = _table_of(text, metadata, keyspace)
        if table is None:
            return
        columns = _timestamp_columns(text, parameters, table)
        columns_of_texts.put((keyspace, text), columns)
    for key in suspects.keys() & columns.keys():
        advice = probable_timestamp_unit(suspects[key])
        if advice is not None:
            warnings.warn(
                f"column {columns[key]}: {advice}, or pass a datetime",
                RuntimeWarning,
                stacklevel=stack_level(),
            )


def _table_of(text: str, metadata: Metadata, keyspace: str | None) -> TableMetadata | None:
    """Return the table that a statement reads or writes, or None if it is not in the schema."""
    tokens = [token for _, token in tokens_of(text)]
    start = next((n for n, token in enumerate(tokens, 1) if token.lower() in _BEFORE_TABLE), None)
    if start is None:
        return None
    # A qualified name is one token or more: `ks.t`, `"Ks".t`.
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
    """Return the parameters that stand for a timestamp column, each with the column's name."""
    is_named = isinstance(parameters, Mapping)
    keys = list(parameters) if is_named else range(len(parameters))
    # Replace each placeholder by a named marker, whose column can be found.
    markers = {key: f":p{number}" for number, key in enumerate(keys)}
    query = text % (markers if is_named else tuple(markers.values()))
    found: dict[Any, str] = {}
    columns_of_markers = columns_of_named_markers(query)
    for key, marker in markers.items():
        for name in columns_of_markers.get(marker[1:], ()):
            column = table.columns.get(name)
            if column is not None and column.cql_type == "timestamp":
                found[key] = name
    return found
