"""Methods of querysets that read rows into Arrow tables and pandas DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra.cqlengine.running import awaited, blocking

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from cassandra.cqlengine.query.model_queryset import ModelQuerySet


class ColumnarReads:
    """The methods of model querysets that read rows into a table.

    The values of a page are copied into the table without creating an instance for each row. The
    table's columns have the names of the model's attributes.
    """

    def to_arrow(self, **options: Any) -> pyarrow.Table:
        """Read all rows into an Arrow table.

        :param options: the options of `cassandra.cluster.ResultSet.to_arrow`.
        """
        queryset, names = self._listing()
        return blocking(queryset._request()).to_arrow(**options).rename_columns(names)

    async def ato_arrow(self, **options: Any) -> pyarrow.Table:
        """Read all rows into an Arrow table, on a connection of `cassandra.aio`.

        :param options: the options of `cassandra.cluster.ResultSet.to_arrow`.
        """
        queryset, names = self._listing()
        result = await awaited(queryset._request())
        return (await result.to_arrow(**options)).rename_columns(names)

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """Read all rows into a `pandas.DataFrame`.

        :param options: the options of `cassandra.cluster.ResultSet.to_pandas`.
        """
        queryset, names = self._listing()
        return _renamed(blocking(queryset._request()).to_pandas(**options), names)

    async def ato_pandas(self, **options: Any) -> pandas.DataFrame:
        """Read all rows into a `pandas.DataFrame`, on a connection of `cassandra.aio`.

        :param options: the options of `cassandra.cluster.ResultSet.to_pandas`.
        """
        queryset, names = self._listing()
        result = await awaited(queryset._request())
        return _renamed(await result.to_pandas(**options), names)

    def _listing(self: Any) -> tuple[ModelQuerySet[Any], list[str]]:
        """Return a queryset that selects the columns explicitly, and their attributes' names."""
        # A query with DISTINCT already selects its columns explicitly.
        if self._distinct:
            columns = self.model.__mapping__.columns.values()
            names_by_field = {column.db_field_name: column.column_name for column in columns}
            return self, [names_by_field[field] for field in self._distinct]
        names = list(self._listed or self._only_fields or self.model.__mapping__.names)
        names = [name for name in names if name not in self._defer_fields]
        # `values_list` with names selects exactly these columns. Other queries do not select a
        # column whose value is fixed by a filter, but the table must have it.
        return self.all().values_list(*names), names


def _renamed(frame: Any, names: list[str]) -> pandas.DataFrame:
    frame.columns = names
    return frame
