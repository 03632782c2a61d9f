"""Types for server classes that this driver does not know. Their values are bytes."""

from __future__ import annotations

from typing import Any

from cassandra._bounded import Bounded
from cassandra.cqltypes.base import CassandraTypeType, _CassandraType, public


class UnrecognizedType(_CassandraType):
    """Base of the types for server classes that this driver does not know."""

    typename = ""
    num_subtypes = "UNKNOWN"
    empty_binary_ok = True
    _factory = "blob"
    _registered = False


# A cache with a limit, because a hostile or broken server may send any number of names.
_CLASS_BYTES = 2000  # estimated memory of a class
_unrecognized: Bounded[str, type[UnrecognizedType]] = Bounded(10_000, 1 << 23)


def mkUnrecognizedType(casstypename: str) -> type[UnrecognizedType]:
    """Return the type for the server's class `casstypename`, which the driver does not know.

    :param casstypename: the class name.
    """
    cql_type = _unrecognized.get(casstypename)
    if cql_type is None:
        # CQL writes the name of a server class in quotes. The class is not registered, or a look-up
        # of the name would take it for a known type.
        new_type: Any = CassandraTypeType(
            casstypename,
            (UnrecognizedType,),
            {"typename": f"'{casstypename}'", "cassname": casstypename, "_registered": False},
        )
        new_type.__module__ = "cassandra.cqltypes"
        # The name counts three times: about so many copies of it are kept.
        cql_type = _unrecognized.keep(casstypename, new_type, _CLASS_BYTES + 3 * len(casstypename))
    return cql_type


public(UnrecognizedType, mkUnrecognizedType)
