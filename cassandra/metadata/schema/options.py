"""Converts the options of tables and views to CQL.

Options are columns of system_schema.tables. Every option is exported as the server has reported
it, except for columns that CREATE TABLE does not accept. ScyllaDB stores some options in the
extensions, or in system_schema.scylla_tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from cassandra.metadata.schema.snapshot import RowNames
from cassandra.util.cql_text import maybe_escape_name, protect_value

# Columns that are not options: names, flags, and columns that are attributes of metadata classes.
_NOT_OPTIONS = frozenset(
    (
        "base_table_id",
        "base_table_name",
        "extensions",
        "flags",
        "id",
        "include_all_columns",
        "keyspace_name",
        "table_name",
        "view_name",
        "where_clause",
    )
)
# Columns of system_schema.tables that Cassandra 4.0 still has, although its CREATE TABLE rejects
# them as options. A server that has the column `additional_write_policy` is 4.0 or later.
_REMOVED_IN_4_0 = ("dclocal_read_repair_chance", "read_repair_chance")
# Options that CREATE MATERIALIZED VIEW rejects. The data of a view expires together with the data
# of its base table.
_REJECTED_FOR_VIEWS = frozenset(("default_time_to_live", "cdc"))


def table_options(names: RowNames, row: Sequence[Any]) -> dict[str, Any]:
    """Return the options of a table or view by name, from the server's row.

    Options without a value are left out, except ``cdc``, because applications read
    ``options["cdc"]``. You may change the dict and the maps in it, because they are copies.
    """
    options = {}
    for name, index in _option_positions(names).items():
        value = row[index]
        if value is not None or name == "cdc":
            # Copy maps, because tables with equal maps share them.
            options[name] = dict(value) if type(value) is dict else value
    return options


# The cache has a limit: each server version has other columns, and a process may connect to many
# clusters.
@lru_cache(maxsize=32)
def _option_positions(names: RowNames) -> dict[str, int]:
    """Return the position of each option in a row with these columns."""
    # If there is a column additional_write_policy, the server is Cassandra 4.0 or later.
    removed = _REMOVED_IN_4_0 if "additional_write_policy" in names.positions else ()
    return {
        name: index
        for name, index in names.positions.items()
        if name not in _NOT_OPTIONS and name not in removed
    }


def options_as_cql(options: Mapping[str, Any], is_view: bool = False) -> list[str]:
    """Return ``name = literal`` for each option, sorted by name."""
    return [
        f"{maybe_escape_name(name)} = {protect_value(value)}"
        # Sort, so that the result does not depend on the order of the server's columns.
        for name, value in sorted(options.items())
        if value is not None and not (is_view and name in _REJECTED_FOR_VIEWS)
    ]


# -- ScyllaDB --------------------------------------------------------------------------------------

# Options that ScyllaDB stores as extensions: maps the name of an extension to the name of the
# option in CREATE TABLE. The value of such an extension is a map of strings in a binary format.
_SCYLLA_EXTENSIONS = {
    "cdc": "cdc",
    "tombstone_gc": "tombstone_gc",
    "per_partition_rate_limit": "per_partition_rate_limit",
    "scylla_encryption_options": "scylla_encryption_options",
}
# Columns of system_schema.scylla_tables that CREATE TABLE accepts.
_SCYLLA_COLUMNS = ("cdc", "per_partition_rate_limit", "tombstone_gc", "in_memory", "tablets")


def read_scylla_map(data: bytes) -> dict[str, str] | None:
    """Read a map of strings that ScyllaDB has serialized; return None for any other data.

    The format is the number of entries, followed by the key and the value of each entry. Each
    string is preceded by its length. All numbers are little-endian and have 32 bits.
    """
    # The first 4 bytes are the number of entries.
    offset = 4
    texts: list[str] = []
    try:
        # Two strings per entry, the key and the value.
        for _ in range(2 * int.from_bytes(data[:4], "little")):
            end = offset + 4 + int.from_bytes(data[offset : offset + 4], "little")
            # Check the lengths, because slicing past the end does not raise.
            if offset + 4 > len(data) or end > len(data):
                return None
            texts.append(data[offset + 4 : end].decode())
            offset = end
    except UnicodeDecodeError:
        return None
    # Bytes are left over, so the data has another format that only begins like a map.
    if offset != len(data):
        return None
    # Keys and values alternate.
    return dict(zip(texts[::2], texts[1::2], strict=True))


def scylla_options(
    extensions: Mapping[str, bytes], row: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the options of a ScyllaDB table, from its extensions and its row of scylla_tables."""
    options: dict[str, Any] = {}
    # First, read the extensions whose data are a map of strings.
    for extension, name in _SCYLLA_EXTENSIONS.items():
        data = extensions.get(extension)
        values = read_scylla_map(data) if isinstance(data, bytes) else None
        if values:
            options[name] = values
    # Then read the extensions with other formats. paxos_grace_seconds is a 32-bit number.
    # scylla_tags is a map that also has settings of the Alternator API, which CQL cannot set.
    grace = extensions.get("paxos_grace_seconds")
    if isinstance(grace, bytes) and len(grace) == 4:
        options["paxos_grace_seconds"] = int.from_bytes(grace, "little", signed=True)
    tag_data = extensions.get("scylla_tags")
    tags = read_scylla_map(tag_data) if isinstance(tag_data, bytes) else None
    if tags is not None and tags.get("system:synchronous_updates") == "true":
        options["synchronous_updates"] = True
    # Finally, read the options in the row of scylla_tables.
    for name in _SCYLLA_COLUMNS:
        value = (row or {}).get(name)
        if value:
            options[name] = dict(value) if isinstance(value, Mapping) else value
    return options
