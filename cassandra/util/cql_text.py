"""CQL names and values as strings: which names need quotes, and how to quote names and values.

Unnecessary quotes do no harm, but missing quotes change the meaning. Therefore a word counts as
reserved if any version of Cassandra from 3.0 to 5.0, or ScyllaDB, reserves it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Protocol

from cassandra._patterns import pattern

_RESERVED = """
add allow alter and apply asc authorize batch begin by cast columnfamily create default delete desc
describe drop entries execute from full grant if in index infinity insert into is keyspace limit
materialized mbean mbeans modify nan norecursive not null of on or order primary rename replace
revoke schema scylla_clustering_bound scylla_counter_shard_list scylla_timeuuid_list_index select
set table to token truncate unlogged unset update use using view where with
"""
cql_keywords_reserved: set[str] = set(_RESERVED.split())
"""The words that can be used as names only in quotes."""

_UNRESERVED = """
access aggregate all ann any as ascii between bigint blob boolean bypass cache called cidrs cluster
clustering compact contains count counter custom datacenters date decimal deterministic distinct
double duration exists filtering finalfunc float frozen function functions generated group hashed
inet initcond input int internals json key keys keyspaces language like list login map masked
maxwritetime monotonic nologin nosuperuser only options partition password per permission
permissions prune reducefunc returns role roles select_masked service service_level sfunc smallint
static storage stype superuser text time timeout timestamp timeuuid tinyint trigger ttl tuple type
unmask user users uuid values varchar varint vector writetime
"""
cql_keywords_unreserved: set[str] = set(_UNRESERVED.split())
"""The keywords of CQL that can be used as names without quotes."""

cql_keywords: set[str] = cql_keywords_reserved | cql_keywords_unreserved
"""All keywords of CQL."""

# CQL does not list these words as keywords, but without quotes, servers read them as boolean
# values.
_CONSTANTS = frozenset({"false", "true"})


class _Items(Protocol):
    """An object with the method `items` of mappings."""

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return the pairs (key, value)."""


_PLAIN_NAME = pattern(r"[a-z][0-9a-z_]*")


def is_valid_name(name: str | None) -> bool:
    """Return True if `name` has the same meaning without quotes.

    :param name: a name as the server stores it, without quotes.
    """
    return (
        name is not None
        and _PLAIN_NAME.fullmatch(name) is not None
        and name not in cql_keywords_reserved
        and name not in _CONSTANTS
    )


def escape_name(name: str) -> str:
    """Return `name` in double quotes.

    :param name: a name as the server stores it, without quotes.
    """
    return '"' + name.replace('"', '""') + '"'


def maybe_escape_name(name: str) -> str:
    """Return `name`, in double quotes if it needs quotes.

    :param name: a name as the server stores it, without quotes.
    """
    return _remembered(name) if len(name) <= _USUAL_LENGTH else _escaped(name)


_USUAL_LENGTH = 256  # longer strings are not names of a schema, and are not cached


def _escaped(name: str) -> str:
    return name if is_valid_name(name) else escape_name(name)


_remembered = lru_cache(maxsize=4096)(_escaped)


def protect_name(name: str) -> str:
    """Return `name`, in double quotes if it needs quotes.

    :param name: a name as the server stores it, without quotes.
    """
    return maybe_escape_name(name)


def protect_names(names: Iterable[str]) -> list[str]:
    """Return each name, in double quotes if it needs quotes.

    :param names: names as the server stores them, without quotes.
    """
    return [maybe_escape_name(name) for name in names]


def protect_type_or_function(name: str) -> str:
    """Return the name of a type or function, in double quotes if it needs quotes.

    CQL reserves more words for these names than elsewhere, such as ``json``, ``key`` and ``ttl``.
    """
    return escape_name(name) if name in cql_keywords else maybe_escape_name(name)


def cql_string(text: str) -> str:
    """Return a string literal in single quotes."""
    # Only quotes need escaping, because CQL has no backslash escapes.
    return "'" + text.replace("'", "''") + "'"


def protect_value(value: object) -> str:
    """Return `value` as a CQL literal.

    None becomes ``NULL``, bytes become ``0x...``, and mappings become maps. Numbers and booleans
    are written without quotes, and all other values as strings in quotes.

    :param value: the value.
    """
    if type(value) is str:  # first, because most values are strings
        return cql_string(value)
    if value is None:
        return "NULL"
    # Check for bool before int, because bool is a subclass of int.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return "0x" + value.hex()
    if hasattr(value, "items"):
        return cql_map(value)
    return cql_string(str(value))


def cql_map(values: _Items) -> str:
    """Return a mapping as a CQL map, sorted by key."""
    return (
        "{"
        + ", ".join(
            # Sort the entries, so that two exports of the same schema are equal.
            f"{protect_value(key)}: {protect_value(value)}"
            for key, value in sorted(values.items())
        )
        + "}"
    )


for _function in (
    is_valid_name,
    escape_name,
    maybe_escape_name,
    protect_name,
    protect_names,
    protect_value,
):
    _function.__module__ = "cassandra.metadata"
del _function


def unquoted(name: str) -> str:
    """Return a name in CQL without its quotes.

    A name without quotes is returned unchanged, also if it has capitals.
    """
    if len(name) > 1 and name[0] == name[-1] == '"':
        return name[1:-1].replace('""', '"')  # a quote inside the name is doubled
    return name


def stored_name(name: str) -> str:
    """Return a name in CQL as the server stores it: lower case unless it is quoted."""
    return unquoted(name) if name.startswith('"') else name.lower()


def split_names(text: str, what: str = "a name", any_unquoted: bool = False) -> list[str]:
    """Split CQL at its dots into names without quotes: ``ks."My Type"`` has two names.

    :param text: the names. Names without quotes are converted to lower case, as in CQL.
    :param what: what `text` should be, for the error messages.
    :param any_unquoted: True if names without quotes may also contain characters other than
        letters, digits and underscores.
    :raises ValueError: if `text` does not have this form.
    """
    parts: list[str] = []
    rest = text
    while rest:
        if rest.startswith('"'):
            # Find the closing quote. Two quotes in a row stand for one quote in the name.
            end = 1
            while (end := rest.find('"', end)) >= 0 and rest[end + 1 : end + 2] == '"':
                end += 2
            if end < 0:
                raise ValueError(f"a quoted name in {text!r} has no end")
            parts.append(rest[1:end].replace('""', '"'))
            rest = rest[end + 1 :]
        else:
            part, dot, tail = rest.partition(".")
            if part and not any_unquoted and not part.replace("_", "a").isalnum():
                raise ValueError(f"{part!r} is not a name without quotes")
            parts.append(part.lower())
            rest = dot + tail  # begins with the dot, like the rest after a quoted name
        if rest and (not rest.startswith(".") or rest == "."):
            raise ValueError(f"{text!r} is not {what}")
        rest = rest[1:]
    if not parts or not all(parts):
        raise ValueError(f"{text!r} is not {what}")
    return parts
