"""Classes of the server's that this driver does not know."""

from __future__ import annotations

from typing import Any

from cassandra.cqltypes.base import CassandraTypeType, _CassandraType, public


class UnrecognizedType(_CassandraType):
    """A class of the server's that has no meaning here; its values are bytes."""

    typename = ""
    num_subtypes = "UNKNOWN"
    empty_binary_ok = True
    _factory = "blob"
    _registered = False


_unrecognized: dict[str, Any] = {}


def mkUnrecognizedType(casstypename: str) -> Any:
    """The type of the server's class `casstypename`; values are bytes."""
    made = _unrecognized.get(casstypename)
    if made is None:
        made = CassandraTypeType(
            casstypename,
            (UnrecognizedType,),
            {"typename": f"'{casstypename}'", "cassname": casstypename, "_registered": False},
        )
        made.__module__ = "cassandra.cqltypes"
        if len(_unrecognized) < 10_000:
            _unrecognized[casstypename] = made
    return made


public(UnrecognizedType, mkUnrecognizedType)
