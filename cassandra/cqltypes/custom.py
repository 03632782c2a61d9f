"""Type classes for server classes that this driver does not know. Their values are bytes."""

from __future__ import annotations

from typing import Any

from cassandra._bounded import Bounded
from cassandra.cqltypes.base import CassandraTypeType, _CassandraType, public


class UnrecognizedType(_CassandraType):
    """Base of the type classes for server classes that this driver does not know."""

    typename = ""
    num_subtypes = "UNKNOWN"
    empty_binary_ok = True
    _factory = "blob"
    _text_form = "blob"
    _registered = False


# The cache has a limit, because a hostile or broken server may send any number of names.
_CLASS_BYTES = 2000  # estimated memory of a class
_unrecognized: Bounded[str, type[UnrecognizedType]] = Bounded(10_000, 1 << 23)


def mkUnrecognizedType(casstypename: str) -> type[UnrecognizedType]:
    """Return the type class for the server's class `casstypename`, which the driver does not know.

    :param casstypename: the name of the server's class.
    """
    cql_type = _unrecognized.get(casstypename)
    if cql_type is None:
        # CQL writes the name of a server class in quotes. The class is not registered: otherwise a
        # look-up of its name would treat it as a type that the driver knows.
        new_type: Any = CassandraTypeType(
            casstypename,
            (UnrecognizedType,),
            {"typename": f"'{casstypename}'", "cassname": casstypename, "_registered": False},
        )
        new_type.__module__ = "cassandra.cqltypes"
        # The length of the name counts three times, because about three copies of the name are
        # kept.
        cql_type = _unrecognized.keep(casstypename, new_type, _CLASS_BYTES + 3 * len(casstypename))
    return cql_type


public(UnrecognizedType, mkUnrecognizedType)
