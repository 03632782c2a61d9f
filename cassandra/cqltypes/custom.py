"""Types beyond CQL: comparators of old tables, and classes that this driver does not know."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from cassandra.cqltypes.base import CassandraTypeType, _CassandraType, apache_cassandra_type_prefix, public
from cassandra.cqltypes.containers import _ParameterizedType


class UnrecognizedType(_CassandraType):
    """A class of the server's that has no meaning here; its values are bytes."""

    typename = ""
    num_subtypes = "UNKNOWN"
    empty_binary_ok = True
    _factory = "blob"
    _registered = False


_unrecognized: dict[str, Any] = {}


def mkUnrecognizedType(casstypename: str) -> Any:  # noqa: N802 - its documented name
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


class CompositeType(_ParameterizedType):
    """Several values in one, as old comparators have it: per part an unsigned [short] length, bytes, and an end byte."""

    typename = "org.apache.cassandra.db.marshal.CompositeType"

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """The server's class name in quotes, as CQL wants it."""
        return f"'{cls.cass_parameterized_type(full=True)}'"

    @classmethod
    def _build(cls, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
        return codecs.blob(cls.cassname)


class DynamicCompositeType(_ParameterizedType):
    """A composite whose parts each say their type by an alias; values are bytes."""

    typename = "org.apache.cassandra.db.marshal.DynamicCompositeType"

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """The server's class name with its aliases, in quotes."""
        return f"'{cls.cass_parameterized_type(full=True)}'"

    @classmethod
    def cass_parameterized_type_with(cls, subtypes: Sequence[Any], full: bool = False) -> str:
        """``DynamicCompositeType(s=>UTF8Type, ...)``."""
        name = apache_cassandra_type_prefix + cls.cassname if full else cls.cassname
        if not subtypes:
            return name
        aliases = cls.fieldnames or [None] * len(subtypes)
        parts = [
            f"{alias}=>{subtype.cass_parameterized_type(full=full)}" if alias else subtype.cass_parameterized_type(full)
            for alias, subtype in zip(aliases, subtypes, strict=False)
        ]
        return f"{name}({', '.join(parts)})"

    @classmethod
    def _build(cls, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
        return codecs.blob(cls.cassname)


class ColumnToCollectionType(_ParameterizedType):
    """The collections of a compact table in its comparator: names to types. It has no values of its own."""

    typename = "org.apache.cassandra.db.marshal.ColumnToCollectionType"

    @classmethod
    def _build(cls, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
        return codecs.blob(cls.cassname)


public(UnrecognizedType, CompositeType, DynamicCompositeType, ColumnToCollectionType, mkUnrecognizedType)
