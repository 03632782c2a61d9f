"""Predicates of graph traversals: names only, since graphs are not supported."""

from __future__ import annotations

from cassandra._compat.refusal import refusing

__all__ = ["CqlCollection", "Geo", "Search"]


def _predicates(kind: str, names: str) -> dict[str, staticmethod[..., object]]:
    return {name: staticmethod(refusing(f"{kind}.{name}")) for name in names.split()}


class Search:
    """Predicates of searches in texts."""


class Geo:
    """Predicates of places."""


class CqlCollection:
    """Predicates of collections."""


for _kind, _names in (
    (Search, "token token_prefix token_regex prefix regex fuzzy token_fuzzy phrase"),
    (Geo, "inside unit"),
    (CqlCollection, "contains contains_value contains_key entry_eq"),
):
    for _name, _predicate in _predicates(_kind.__name__, _names).items():
        setattr(_kind, _name, _predicate)
del _kind, _names, _name, _predicate
