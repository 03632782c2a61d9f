"""Server classes that this driver does not know."""

from __future__ import annotations

from typing import Any

from cassandra._bounded import Bounded
from cassandra.cqltypes.base import CassandraTypeType, _CassandraType, public


class UnrecognizedType(_CassandraType):
    """A server class without a meaning here. Its values are bytes."""

    typename = ""
    num_subtypes = "UNKNOWN"
    empty_binary_ok = True
    _factory = "blob"
    _registered = False


# Bounded: a hostile or broken server may send any number of names.
_CLASS_BYTES = 2000
_unrecognized: Bounded[str, Any] = Bounded(10_000, 1 << 23)


def mkUnrecognizedType(casstypename: str) -> Any:
    """Return the type of the server's class `casstypename`. Its values are bytes.

    :param casstypename: the class name.
    """
    cql_type = _unrecognized.get(casstypename)
    if cql_type is None:
        cql_type = CassandraTypeType(
            casstypename,
            (UnrecognizedType,),
            {"typename": f"'{casstypename}'", "cassname": casstypename, "_registered": False},
        )
        cql_type.__module__ = "cassandra.cqltypes"
        cql_type = _unrecognized.keep(casstypename, cql_type, _CLASS_BYTES + 3 * len(casstypename))
    return cql_type


public(UnrecognizedType, mkUnrecognizedType)
