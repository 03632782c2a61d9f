"""Table and view options as CQL.

They are the columns of system_schema.tables. Every option comes back as the server gave it, except
columns that CREATE TABLE does not take. ScyllaDB keeps its own options in the extensions, or in
system_schema.scylla_tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from cassandra.metadata.schema.snapshot import RowNames
from cassandra.util.cql_text import maybe_escape_name, protect_value

__all__ = ["options_as_cql", "scylla_options", "table_options"]

# Columns that are not options: keys, facts that the columns tell already, and own attributes.
_NO_OPTIONS = frozenset(
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
# Cassandra 4.0 keeps these columns, but CREATE TABLE refuses the options.
# `additional_write_policy` tells it from 3.x.
_GONE_IN_4_0 = ("dclocal_read_repair_chance", "read_repair_chance")
# Cassandra refuses a default TTL of a view: its data expire with those of the base table.
_NOT_OF_VIEWS = frozenset(("default_time_to_live", "cdc"))


def table_options(names: RowNames, row: Sequence[Any]) -> dict[str, Any]:
    """Return the options of a table or view by name, from the server's row.

    Options without a value are left out, but for ``cdc``, which programs look up. The dict is the
    caller's own, with the maps in it.
    """
    found = {}
    for name, at in _places(names).items():
        value = row[at]
        if value is not None or name == "cdc":
            # Tables with equal maps share them.
            found[name] = dict(value) if type(value) is dict else value
    return found


# Each server version has columns of its own, and a program may connect to many clusters.
@lru_cache(maxsize=32)
def _places(names: RowNames) -> dict[str, int]:
    """Return the place of each option in a row with these columns."""
    gone = _GONE_IN_4_0 if "additional_write_policy" in names.places else ()
    return {
        name: at
        for name, at in names.places.items()
        if name not in _NO_OPTIONS and name not in gone
    }


def options_as_cql(options: Mapping[str, Any], is_view: bool = False) -> list[str]:
    """Return ``name = literal`` of each option, by name."""
    return [
        f"{maybe_escape_name(name)} = {protect_value(value)}"
        # Sorted, so that the text does not depend on the order of the server's columns.
        for name, value in sorted(options.items())
        if value is not None and not (is_view and name in _NOT_OF_VIEWS)
    ]


# -- ScyllaDB --------------------------------------------------------------------------------------

# Options that are kept as extensions: a map of texts in ScyllaDB's own serialization.
_SCYLLA_EXTENSIONS = {
    "cdc": "cdc",
    "tombstone_gc": "tombstone_gc",
    "per_partition_rate_limit": "per_partition_rate_limit",
    "scylla_encryption_options": "scylla_encryption_options",
}
# Columns of system_schema.scylla_tables that CREATE TABLE takes.
_SCYLLA_COLUMNS = ("cdc", "per_partition_rate_limit", "tombstone_gc", "in_memory", "tablets")


def read_scylla_map(data: bytes) -> dict[str, str] | None:
    """Read a serialized map of texts; None for anything else.

    It is the size, then each text after its length, all numbers little-endian with 32 bits.
    """
    at = 4
    texts: list[str] = []
    try:
        for _ in range(2 * int.from_bytes(data[:4], "little")):
            end = at + 4 + int.from_bytes(data[at : at + 4], "little")
            # A slice past the end is short without an error, so the lengths are checked.
            if at + 4 > len(data) or end > len(data):
                return None
            texts.append(data[at + 4 : end].decode())
            at = end
    except UnicodeDecodeError:
        return None
    # With bytes left over, it is some other format that only begins like a map.
    if at != len(data):
        return None
    return dict(zip(texts[::2], texts[1::2], strict=True))


def scylla_options(
    extensions: Mapping[str, bytes], row: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the options of a ScyllaDB table, from its extensions and its row of scylla_tables."""
    options: dict[str, Any] = {}
    for extension, name in _SCYLLA_EXTENSIONS.items():
        found = (
            read_scylla_map(extensions[extension])
            if isinstance(extensions.get(extension), bytes)
            else None
        )
        if found:
            options[name] = found
    # The first is a number of 32 bits; the second a map that also has settings of an API that is
    # not CQL.
    grace = extensions.get("paxos_grace_seconds")
    if isinstance(grace, bytes) and len(grace) == 4:
        options["paxos_grace_seconds"] = int.from_bytes(grace, "little", signed=True)
    tags = extensions.get("scylla_tags")
    if (
        isinstance(tags, bytes)
        and (read_scylla_map(tags) or {}).get("system:synchronous_updates") == "true"
    ):
        options["synchronous_updates"] = True
    for name in _SCYLLA_COLUMNS:
        value = (row or {}).get(name)
        if value:
            options[name] = dict(value) if isinstance(value, Mapping) else value
    return options
