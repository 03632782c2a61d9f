"""Tables without models: ``NamedTable("ks", "user").objects.filter(id=1)``. Rows are dicts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

from cassandra._habits import add_habits
from cassandra._unknown_options import with_example
from cassandra.cqlengine.columns.base import Column
from cassandra.cqlengine.connection import get_cluster
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.models import BaseModel, UsingDescriptor
from cassandra.cqlengine.query.errors import DoesNotExist, MultipleObjectsReturned
from cassandra.cqlengine.query.expressions import AbstractQueryableColumn
from cassandra.cqlengine.query.model_queryset import ResultObject, SimpleQuerySet
from cassandra.util.cql_text import escape_name, protect_name

__all__ = [
    "AbstractQueryableColumn", "BaseModel", "CQLEngineException", "Column", "NamedColumn",
    "NamedKeyspace", "NamedTable", "QuerySetDescriptor", "SimpleQuerySet", "UsingDescriptor",
    "get_cluster",
]  # fmt: skip

_Value = TypeVar("_Value")


# A name that CQL accepts without quotes. The server converts the capitals of an unquoted name to
# lower case.
_UNQUOTED = re.compile(r"[A-Za-z]\w*", re.ASCII)


class QuerySetDescriptor:
    """``table.objects``: a new queryset at each access."""

    def __get__(self, obj: object, model: object) -> SimpleQuerySet:
        if obj is None:
            raise CQLEngineException("objects is of named tables, not of their class")
        return SimpleQuerySet(obj)


class NamedColumn(AbstractQueryableColumn):
    """A column whose name in the database is known, but not its type.

    :param name: the name in the database.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def _column(self) -> NamedColumn:
        return self

    @property
    def label(self) -> str:
        """The column's name in error messages."""
        return self.name

    @property
    def db_field_name(self) -> str:
        """The name in the database."""
        return self.name

    @property
    def cql(self) -> str:
        """The quoted name."""
        return self.get_cql()

    def get_cql(self) -> str:
        """Return the quoted name."""
        # Always quote the name: it is the exact name in the database, and the server would convert
        # the capitals of an unquoted name to lower case.
        return escape_name(self.name)

    @property
    def sub_types(self) -> list[Column[Any]]:
        """An empty list, because the elements' types are not known."""
        return []

    def to_database(self, val: _Value) -> _Value:
        """Return `val` as it is.

        :param val: the value.
        """
        # We do not know the column's type here. The prepared statement does, and converts the value
        # when it is bound.
        return val

    to_filter = to_database


class NamedTable:
    """A table without a model: only its keyspace and its name are known.

    :param keyspace: the keyspace's name.
    :param name: the table's name.
    """

    __abstract__ = False
    __connection__: str | None = None
    __consistency__: int | None = None
    __idempotent__ = False

    objects = QuerySetDescriptor()

    class DoesNotExist(DoesNotExist):
        """`get` found no row of a named table."""

    class MultipleObjectsReturned(MultipleObjectsReturned):
        """`get` found more than one row of a named table."""

    @with_example("NamedTable('keyspace', 'table')")
    def __init__(self, keyspace: str, name: str) -> None:
        self.keyspace = keyspace
        self.name = name

    @property
    def __name__(self) -> str:
        return self.column_family_name()

    def column(self, name: str) -> NamedColumn:
        """Return the column `name`, for filters: ``table.column("age") > 5``.

        :param name: the column's name in the database.
        """
        return NamedColumn(name)

    def column_family_name(self, include_keyspace: bool = True) -> str:
        """Return the table's name.

        :param include_keyspace: True to put the keyspace in front.
        """
        return self.name_in(self.keyspace) if include_keyspace else self.name

    def name_in(self, keyspace: str, connection: str | None = None) -> str:
        """Return the table's name in `keyspace`, as CQL.

        :param keyspace: the keyspace's name.
        :param connection: the name of the connection on which the table is used; None for the
            table's, or the default connection.
        """
        has_capitals = any(name != name.lower() for name in (keyspace, self.name))
        quoted = f"{protect_name(keyspace)}.{protect_name(self.name)}"
        needs_no_quotes = _UNQUOTED.fullmatch(keyspace) and _UNQUOTED.fullmatch(self.name)
        if not has_capitals or not needs_no_quotes or self._exists_in(keyspace, connection):
            return quoted
        # The name has capitals, but there is no table with exactly this name. So do not quote it,
        # as in cassandra-driver: the server then converts the name to lower case.
        return f"{keyspace}.{self.name}"

    def _exists_in(self, keyspace: str, connection: str | None) -> bool:
        """Return True if the keyspace has a table or view with exactly this name."""
        try:
            cluster = get_cluster(connection or self.__connection__)
            metadata = cluster.metadata.keyspaces.get(keyspace)
        except CQLEngineException:  # not connected: the application may only want to see the CQL
            return False
        return metadata is not None and (
            self.name in metadata.tables or self.name in metadata.views
        )

    def partition_columns(
        self, connection: str | None = None, keyspace: str | None = None
    ) -> Sequence[str]:
        """Return the names of the partition key's columns, from the cluster's metadata.

        :param connection: the name of the connection; None for the table's, or the default
            connection.
        :param keyspace: the keyspace's name; None for the table's keyspace.
        :raises CQLEngineException: if the table does not exist.
        """
        try:
            # Do not cache this: the table may be dropped and created again with another key.
            cluster = get_cluster(connection or self.__connection__)
            metadata = cluster.metadata.keyspaces[keyspace or self.keyspace]
            # You can read a materialized view like a table, but the metadata stores views in
            # another dict.
            table = metadata.tables.get(self.name) or metadata.views[self.name]
        except KeyError:
            name = self.name_in(keyspace or self.keyspace, connection)
            raise CQLEngineException(
                f"the partition key of {name} is not known: there is no such table"
            ) from None
        return [column.name for column in table.partition_key]

    def using(self, connection: str) -> NamedTable:
        """Return the table on another connection.

        :param connection: the name of the connection.
        """
        # Return a new object, because other code may use this one.
        table = type(self)(self.keyspace, self.name)
        table.__connection__ = connection
        return table

    def all(self) -> SimpleQuerySet:
        """Return a queryset of all rows."""
        return self.objects.all()

    def filter(self, *args: Any, **kwargs: Any) -> SimpleQuerySet:
        """Return a queryset with these filters.

        :param args: conditions, such as ``table.column("age") > 5``.
        :param kwargs: values by column name; for an operator other than equality, write
            ``age__gt=5``.
        """
        return self.objects.filter(*args, **kwargs)

    def get(self, *args: Any, **kwargs: Any) -> ResultObject:
        """Return the only row that matches the filters.

        :param args: conditions, such as ``table.column("age") > 5``.
        :param kwargs: values by column name; for an operator other than equality, write
            ``age__gt=5``.
        """
        return self.objects.get(*args, **kwargs)

    async def aget(self, *args: Any, **kwargs: Any) -> ResultObject:
        """Return the only row that matches the filters, on a connection of `cassandra.aio`.

        :param args: conditions, such as ``table.column("age") > 5``.
        :param kwargs: values by column name; for an operator other than equality, write
            ``age__gt=5``.
        """
        return await self.objects.aget(*args, **kwargs)


class NamedKeyspace:
    """A keyspace whose tables `table` returns as `NamedTable` objects.

    :param name: the keyspace's name.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def table(self, name: str) -> NamedTable:
        """Return the table `name` of the keyspace.

        :param name: the table's name.
        """
        return NamedTable(self.name, name)


_NO_WRITES = "a named table is only read and deleted from: write session.execute(prepared, values)"
add_habits(
    NamedTable, dict.fromkeys(("create", "save", "insert", "update", "create_many"), _NO_WRITES)
)
add_habits(SimpleQuerySet, dict.fromkeys(("update", "aupdate", "create_many"), _NO_WRITES))
