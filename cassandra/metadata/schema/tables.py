"""Tables and materialized views, and the statements that create them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._habits import TABLE, add_habits
from cassandra.metadata.schema.elements import ColumnMetadata, TriggerMetadata
from cassandra.metadata.schema.extensions import after_table_cql
from cassandra.metadata.schema.faults import Faulty, incomplete
from cassandra.metadata.schema.options import options_as_cql, table_options
from cassandra.metadata.schema.snapshot import NO_NAMES, RowNames
from cassandra.util.cql_text import maybe_escape_name, protect_names, protect_value

if TYPE_CHECKING:
    from cassandra import bases
else:
    from cassandra._impl import bases

T = TypeVar("T", bound="TableMetadata")


def primary_key_as_cql(
    partition_key: Sequence[ColumnMetadata], clustering_key: Sequence[ColumnMetadata]
) -> str:
    """Return the columns that follow PRIMARY KEY: ``(a, b)``, or ``((a, b), c)``.

    In ``(a, b)``, the partition key is ``a``; in ``((a, b), c)``, it is ``a`` and ``b``.
    """
    partition = ", ".join(protect_names(column.name for column in partition_key))
    # Without inner parentheses, only the first column would be in the partition key.
    if len(partition_key) != 1:
        partition = f"({partition})"
    return f"({', '.join([partition, *protect_names(column.name for column in clustering_key)])})"


def _clustering_order(clustering_key: Sequence[ColumnMetadata]) -> list[str]:
    """Return the clause CLUSTERING ORDER BY in a list; [] if there is no clustering key."""
    if not clustering_key:
        return []
    # List all columns, even ascending columns, because servers reject a partial list.
    order = ", ".join(
        f"{maybe_escape_name(column.name)} {'DESC' if column.is_reversed else 'ASC'}"
        for column in clustering_key
    )
    return [f"CLUSTERING ORDER BY ({order})"]


def _with(clauses: Sequence[str], separator: str) -> str:
    """Return the WITH part of a statement; "" if there are no clauses."""
    return f" WITH {separator.join(clauses)}" if clauses else ""


class _Columnar(Faulty, bases.ColumnarBase):
    """The base class of tables and views.

    `_row` is the row of system_schema.tables or views, and `_names` has the names of its columns.
    """

    __slots__ = ()

    keyspace_name: str
    name: str
    partition_key: list[ColumnMetadata]
    clustering_key: list[ColumnMetadata]
    columns: dict[str, ColumnMetadata]

    def _initialize(self, keyspace_name: str, name: str, options: dict[str, Any] | None) -> None:
        """Set the attributes that tables and views have in common."""
        self.keyspace_name = keyspace_name
        self.name = name
        self._options = options
        self._names = NO_NAMES
        self._row: Sequence[Any] = ()
        self._error = None
        self._scylladb = False

    def set_row(self, names: RowNames, row: Sequence[Any], scylladb: bool = False) -> None:
        """Set the row of system_schema.tables or views, which has the options, extensions and id.

        :param names: the names of the row's columns.
        :param row: the row's values, in order.
        :param scylladb: True if the server is ScyllaDB.
        """
        self._names = names
        self._row = row
        self._scylladb = scylladb

    def _row_value(self, name: str) -> Any:
        return self._names.value(self._row, name)

    @property
    def options(self) -> dict[str, Any]:
        """The options by name, as the server reported them. Changes apply to later exports."""
        # Build the options at the first access, because a schema may have thousands of tables.
        if self._options is None:
            self._options = table_options(self._names, self._row)
        return self._options

    @options.setter
    def options(self, options: dict[str, Any]) -> None:
        self._options = options

    @property
    def extensions(self) -> dict[str, bytes]:
        """The extensions that servers and plug-ins have stored, as bytes by name."""
        # Return a copy, because tables with equal extensions share one map.
        return dict(self._row_value("extensions") or {})

    @property
    def id(self) -> uuid.UUID | None:
        """The table's UUID, or None if it is not known."""
        data = self._row_value("id")
        # `Pages` does not decode UUIDs, so convert the bytes here.
        return uuid.UUID(bytes=data) if data else None

    @property
    def primary_key(self) -> list[ColumnMetadata]:
        """The columns of the partition key, followed by the columns of the clustering key."""
        return [*self.partition_key, *self.clustering_key]

    def _extensions_as_cql(self) -> list[str]:
        """Return the clause ``extensions = ...`` in a list, for extensions that are not options."""
        # ScyllaDB has no option `extensions`. Its extensions are other options, which are exported
        # under their own names.
        extensions = {} if self._scylladb else self.extensions
        unknown = {key: value for key, value in extensions.items() if key not in self.options}
        return [f"extensions = {protect_value(unknown)}"] if unknown else []

    def _qualified_name(self) -> str:
        return f"{maybe_escape_name(self.keyspace_name)}.{maybe_escape_name(self.name)}"


class TableMetadata(_Columnar, bases.TableBase):
    """A table.

    `columns` is in the order in which `as_cql_query` writes them: the columns of the key, then the
    other columns by name. `indexes`, `views` and `dropped_columns` are mappings by name.

    :param keyspace_name: the name of the keyspace.
    :param name: the name of the table.
    :param partition_key: the columns of the partition key, in order; None for an empty list.
    :param clustering_key: the columns of the clustering key, in order; None for an empty list.
    :param columns: all columns by name; None for an empty dict.
    :param triggers: the triggers by name; None for an empty dict.
    :param options: the server's options by name; None reads them from the row of `set_row`.
    :param virtual: True if each node computes the rows of the table when it is queried. CQL cannot
        create such a table.
    """

    __slots__ = ()

    def __init__(
        self,
        keyspace_name: str,
        name: str,
        partition_key: list[ColumnMetadata] | None = None,
        clustering_key: list[ColumnMetadata] | None = None,
        columns: dict[str, ColumnMetadata] | None = None,
        triggers: Mapping[str, TriggerMetadata] | None = None,
        options: dict[str, Any] | None = None,
        virtual: bool = False,
    ) -> None:
        self._initialize(keyspace_name, name, options)
        self.partition_key = partition_key if partition_key is not None else []
        self.clustering_key = clustering_key if clustering_key is not None else []
        self.columns = columns if columns is not None else {}
        self.triggers: Any = triggers if triggers is not None else {}
        self.indexes: Any = {}
        self.views: Any = {}
        self.dropped_columns: Any = {}
        self.virtual = virtual
        self.is_compact_storage = False
        self.is_cql_compatible = True

    def export_as_string(self) -> str:
        """Return the statements that create the table, its indexes, triggers and views.

        If the table cannot be created, the result is a comment.
        """
        # The table cannot be created from its CQL, so put the CQL into a comment that says so.
        if self._error is not None:
            return incomplete(
                f"Table {self.keyspace_name}.{self.name}", self._error, self._all_as_cql()
            )
        if not self.is_cql_compatible:
            return (
                f"/*\nWarning: Table {self.keyspace_name}.{self.name} has constructs that CQL does "
                "not know.\n"
                "Approximate structure, for reference:\n(this should not be used to reproduce "
                "this schema)\n\n"
                f"{self._all_as_cql()}\n*/"
            )
        if self.virtual:
            return (
                f"/*\nWarning: Table {self.keyspace_name}.{self.name} is a virtual table and "
                "cannot be recreated with CQL.\n"
                f"Structure, for reference:\n{self._all_as_cql()}\n*/"
            )
        return self._all_as_cql()

    def _all_as_cql(self) -> str:
        """Return the statements for the table, its indexes, triggers, views and extensions."""
        # Create the table first, because the other statements refer to it.
        parts = [self._missing_parts_note() + self.as_cql_query(formatted=True) + ";"]
        parts += [index.as_cql_query() + ";" for index in self.indexes.values()]
        parts += [trigger.as_cql_query() + ";" for trigger in self.triggers.values()]
        parts += [
            view.export_as_string()
            for name, view in self.views.items()
            if not self._is_index_view(name)
        ]
        parts += after_table_cql(self)
        return "\n\n".join(parts)

    def _missing_parts_note(self) -> str:
        """Return a comment about parts of the table that the schema tables do not have."""
        # Cassandra 6.0-alpha2 stores the option `fast_path` of its transactions in system_schema,
        # but it keeps the transactional mode in its metadata log only. So `fast_path` without
        # `transactional_mode` shows that the server has this version, and that the mode is missing
        # here. We look for the columns, and not in `options`, because an option is null if
        # transactions are disabled, and `options` leaves out nulls.
        if not self._has_option("fast_path") or self._has_option("transactional_mode"):
            return ""
        return (
            "-- CHECK constraints and transactional_mode are not in system_schema: if the table "
            f"has them,\n-- DESCRIBE TABLE {self._qualified_name()} shows them.\n"
        )

    def _has_option(self, name: str) -> bool:
        """Return True if the server has the option `name`, even if it is null for this table."""
        return name in self.options or name in self._names.positions

    def _is_index_view(self, view: str) -> bool:
        """Return True if `view` belongs to an index of ScyllaDB.

        The server creates such a view together with the index. No statement can create it.
        """
        return (
            self._scylladb
            and view.endswith("_index")
            and view.removesuffix("_index") in self.indexes
        )

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the CREATE TABLE statement, without a semicolon.

        :param formatted: True writes each column and each option on a separate line.
        """
        lines = [column.as_cql() for column in self.columns.values()]
        if (
            len(self.partition_key) == 1
            and not self.clustering_key
            and self.partition_key[0].name in self.columns
        ):
            # If the key is a single column, write PRIMARY KEY at the end of that column's
            # definition. `lines` has the order of the columns.
            lines[list(self.columns).index(self.partition_key[0].name)] += " PRIMARY KEY"
        # A damaged table may have no key. Then leave the key out, because the export is a comment.
        elif self.partition_key:
            lines.append(
                f"PRIMARY KEY {primary_key_as_cql(self.partition_key, self.clustering_key)}"
            )
        body = (
            "(\n    " + ",\n    ".join(lines) + "\n)" if formatted else "(" + ", ".join(lines) + ")"
        )
        clauses = ["COMPACT STORAGE"] if self.is_compact_storage else []
        clauses += _clustering_order(self.clustering_key)
        clauses += options_as_cql(self.options) + self._extensions_as_cql()
        # CQL has no CREATE VIRTUAL TABLE. We write it nevertheless, because `export_as_string` puts
        # the statement into a comment.
        noun = "VIRTUAL TABLE" if self.virtual else "TABLE"
        query = f"CREATE {noun} {self._qualified_name()} {body}"
        return query + _with(clauses, "\n    AND " if formatted else " AND ")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.keyspace_name}.{self.name}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Let IPython print the CREATE statements if a cell ends with this object."""
        printer.text(self.export_as_string())

    def _repr_html_(self) -> str:
        """Return a table of the table's columns as HTML, for notebooks."""
        # Import this module only here, because only notebooks need it.
        from cassandra.metadata.pictures import table_as_html

        return table_as_html(self)


class TableMetadataV3(TableMetadata):
    """The class of all tables that the driver reads from Cassandra 3.0 or later, or ScyllaDB."""

    __slots__ = ()


class MaterializedViewMetadata(_Columnar):
    """A materialized view of a table.

    :param keyspace_name: the name of the keyspace.
    :param view_name: the name of the view, stored as `name`.
    :param base_table_name: the name of the table whose rows the view shows.
    :param include_all_columns: True if the view has all columns of the table (``SELECT *``).
    :param where_clause: the relations that rows must match, as CQL.
    :param options: the server's options by name; None reads them from the row of `set_row`.
    """

    __slots__ = ("base_table_name", "include_all_columns", "where_clause")

    def __init__(
        self,
        keyspace_name: str,
        view_name: str,
        base_table_name: str,
        include_all_columns: bool,
        where_clause: str,
        options: dict[str, Any] | None,
    ) -> None:
        self._initialize(keyspace_name, view_name, options)
        self.partition_key = []
        self.clustering_key = []
        self.columns = {}
        self.base_table_name = base_table_name
        self.include_all_columns = include_all_columns
        self.where_clause = where_clause

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the CREATE MATERIALIZED VIEW statement, without a semicolon.

        :param formatted: True writes each clause on a separate line.
        """
        # Do not replace `*` by the names: a view of `*` also gets columns that are added later.
        columns = "*" if self.include_all_columns else ", ".join(protect_names(self.columns))
        base = f"{maybe_escape_name(self.keyspace_name)}.{maybe_escape_name(self.base_table_name)}"
        parts = [
            f"CREATE MATERIALIZED VIEW {self._qualified_name()} AS",
            f"SELECT {columns}",
            f"FROM {base}",
            # The server stores the clause as CQL, so the names in it are already quoted.
            f"WHERE {self.where_clause}",
            f"PRIMARY KEY {primary_key_as_cql(self.partition_key, self.clustering_key)}",
        ]
        clauses = _clustering_order(self.clustering_key) + options_as_cql(
            self.options, is_view=True
        )
        clauses += self._extensions_as_cql()
        separator = "\n    " if formatted else " "
        # Unlike in the statement of a table, WITH begins a line, as in cassandra-driver.
        if clauses:
            parts.append("WITH " + f"{separator}AND ".join(clauses))
        return separator.join(parts)

    def export_as_string(self) -> str:
        """Return the formatted statement with its semicolon; a comment if the view is damaged."""
        if self._error is not None:
            return incomplete(
                f"View {self.keyspace_name}.{self.name}",
                self._error,
                self.as_cql_query(formatted=True),
            )
        return self.as_cql_query(formatted=True) + ";"

    def __repr__(self) -> str:
        return f"<MaterializedViewMetadata: {self.keyspace_name}.{self.name}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Let IPython print the CREATE statements if a cell ends with this object."""
        printer.text(self.export_as_string())

    def _repr_html_(self) -> str:
        """Return a table of the view's columns as HTML, for notebooks."""
        # Import this module only here, because only notebooks need it.
        from cassandra.metadata.pictures import table_as_html

        return table_as_html(self)


for _class in (TableMetadata, TableMetadataV3, MaterializedViewMetadata):
    _class.__module__ = "cassandra.metadata"
del _class


add_habits(TableMetadata, TABLE, operations={"__getitem__": "write table.columns['name']"})
