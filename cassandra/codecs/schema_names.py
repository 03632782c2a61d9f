"""Finds columns and types of converters that do not exist, because they are probably misspelt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._misspelt import nearest

if TYPE_CHECKING:
    from cassandra.codecs.type_patterns import TypePattern


def missing_column(key: tuple[str, str, str], keyspaces: Mapping[str, Any]) -> str | None:
    """Return a message if a column, its table or its keyspace does not exist; otherwise None.

    :param key: (keyspace, table, column).
    :param keyspaces: the metadata of the keyspaces, by name.
    """
    keyspace_name, table_name, column_name = key
    keyspace = keyspaces.get(keyspace_name)
    if keyspace is None:
        return _missing_message(f"keyspace {keyspace_name!r}", keyspace_name, keyspaces)
    table = keyspace.tables.get(table_name) or keyspace.views.get(table_name)
    if table is None:
        names = [*keyspace.tables, *keyspace.views]
        return _missing_message(
            f"table {table_name!r} in keyspace {keyspace_name!r}", table_name, names
        )
    if column_name not in table.columns:
        where = f"column {column_name!r} in table {keyspace_name}.{table_name}"
        return _missing_message(where, column_name, table.columns)
    return None


def missing_type(pattern: TypePattern, keyspaces: Mapping[str, Any]) -> str | None:
    """Return a message if a user-defined type in a pattern does not exist; otherwise None.

    :param pattern: the type.
    :param keyspaces: the metadata of the keyspaces, by name.
    """
    # Check the types inside this type first.
    for parameter in pattern.parameters:
        missing = missing_type(parameter, keyspaces)
        if missing is not None:
            return missing
    if not pattern.is_user_type:
        return None
    # If the pattern has no keyspace, the type may be in any keyspace.
    if pattern.keyspace is not None:
        keyspace = keyspaces.get(pattern.keyspace)
        if keyspace is None:
            return _missing_message(f"keyspace {pattern.keyspace!r}", pattern.keyspace, keyspaces)
        names = [*keyspace.user_types]
        where = f" in keyspace {pattern.keyspace!r}"
    else:
        names = [name for keyspace in keyspaces.values() for name in keyspace.user_types]
        where = ""
    if pattern.name in names:
        return None
    return _missing_message(f"user-defined type {pattern.name!r}{where}", pattern.name, names)


def _missing_message(what: str, name: str, names: Iterable[str]) -> str:
    near = nearest(name, names)
    return f"there is no {what}" + (f"; did you mean {near!r}?" if near else "")
