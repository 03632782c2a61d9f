"""A keyspace, and its export as the CQL that creates it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra._habits import KEYSPACE, add_habits
from cassandra.cqltypes.parse import cql_types_from_string
from cassandra.metadata.placement.replication import ReplicationStrategy
from cassandra.metadata.schema.elements import Aggregate, Function, IndexMetadata, UserType
from cassandra.metadata.schema.faults import Faulty, incomplete
from cassandra.metadata.schema.tables import MaterializedViewMetadata, TableMetadata
from cassandra.util.cql_text import cql_map, maybe_escape_name, unquoted
from cassandra.util.pickles import restore

# The end of the names of the tables in which ScyllaDB logs the changes of other tables (CDC).
_CDC_LOG = "_scylla_cdc_log"


class KeyspaceMetadata(Faulty):
    """A keyspace.

    `tables`, `views`, `indexes` and `user_types` are mappings by name; `functions` and `aggregates`
    are mappings by signature (``name(type,type)``). `replication_strategy` is None if it is not
    known. `virtual` is True if each node computes the rows of the tables when it is queried.
    `tablets` is the value of ScyllaDB's keyspace option ``tablets``, or None.

    :param name: the name of the keyspace.
    :param durable_writes: False if writes do not go to the commit log.
    :param strategy_class: the class of the replication strategy, with or without its Java package;
        empty if it is not known.
    :param strategy_options: the options of the replication, by name.
    :param graph_engine: DataStax Enterprise's keyspace option ``graph_engine``, or None.
    """

    __slots__ = (
        "__dict__", "aggregates", "durable_writes", "functions", "graph_engine", "indexes", "name",
        "replication_strategy", "tables", "tablets", "user_types", "views", "virtual",
    )  # fmt: skip

    __setstate__ = restore

    def __init__(
        self,
        name: str,
        durable_writes: bool,
        strategy_class: str,
        strategy_options: Mapping[str, str],
        graph_engine: str | None = None,
    ) -> None:
        self.name = name
        self.durable_writes = durable_writes
        self.replication_strategy = (
            ReplicationStrategy.create(strategy_class, strategy_options) if strategy_class else None
        )
        self.graph_engine = graph_engine
        self.tables: Mapping[str, TableMetadata] = {}
        self.views: Mapping[str, MaterializedViewMetadata] = {}
        self.indexes: Mapping[str, IndexMetadata] = {}
        self.user_types: Mapping[str, UserType] = {}
        self.functions: Mapping[str, Function] = {}
        self.aggregates: Mapping[str, Aggregate] = {}
        self.virtual = False
        self.tablets: Mapping[str, Any] | None = None
        self._error = None

    def export_as_string(self) -> str:
        """Return the statements that create the keyspace and everything in it, in order.

        If the statements cannot be built, the result is a comment. A table with damaged metadata is
        replaced by a comment.
        """
        text = "\n\n".join(
            [
                self.as_cql_query() + ";",
                # Types come first, because all other objects may use them. Aggregates come after
                # the functions that they use.
                *(user_type.export_as_string() for user_type in self._types_in_order()),
                *(function.export_as_string() for function in self.functions.values()),
                *(aggregate.export_as_string() for aggregate in self.aggregates.values()),
                *(
                    table.export_as_string()
                    for name, table in self.tables.items()
                    if not self._is_cdc_log(name)
                ),
            ]
        )
        if self._error is not None:
            return incomplete(f"Keyspace {self.name}", self._error, text)
        if self.virtual:
            return (
                f"/*\nWarning: Keyspace {self.name} is a virtual keyspace and cannot be recreated "
                "with CQL.\n"
                f"Structure, for reference:\n{_without_comments(text)}\n*/"
            )
        return text

    def _is_cdc_log(self, name: str) -> bool:
        """Return True if a table is the CDC log of another table, which ScyllaDB creates."""
        base = self.tables.get(name.removesuffix(_CDC_LOG)) if name.endswith(_CDC_LOG) else None
        cdc = base.options.get("cdc") if base is not None else None
        return isinstance(cdc, Mapping) and str(cdc.get("enabled")).lower() != "false"

    def as_cql_query(self) -> str:
        """Return the CREATE KEYSPACE statement, without a semicolon."""
        name = maybe_escape_name(self.name)
        if self.virtual:
            return f"// VIRTUAL KEYSPACE {name}"
        strategy = self.replication_strategy
        replication = strategy.export_for_schema() if strategy is not None else "{}"
        durable = "true" if self.durable_writes else "false"
        query = f"CREATE KEYSPACE {name} WITH replication = {replication}"
        query += f" AND durable_writes = {durable}"
        if self.tablets is not None:
            query += f" AND tablets = {cql_map(self.tablets)}"
        if self.graph_engine is not None:
            query += f" AND graph_engine = '{self.graph_engine}'"
        return query

    def _types_in_order(self) -> list[UserType]:
        """Return the user-defined types, each after the types that its fields use."""
        types_in_order: dict[str, UserType] = {}

        def add_type(name: str, using_types: tuple[str, ...]) -> None:
            """Add the types that `name` uses, then `name` itself.

            :param using_types: the types that led to `name`, outermost first.
            """
            user_type = self.user_types.get(name)
            # Stop if a type uses itself (which is only possible in damaged rows): the recursion
            # would never end.
            if user_type is None or name in types_in_order or name in using_types:
                return
            for field_type in user_type.field_types:
                for used_name in cql_types_from_string(field_type):
                    add_type(unquoted(used_name), (*using_types, name))
            types_in_order[name] = user_type

        # Sort, so that the export does not depend on the order of the rows.
        for name in sorted(self.user_types):
            add_type(name, ())
        return list(types_in_order.values())

    def __repr__(self) -> str:
        return f"<KeyspaceMetadata: {self.name}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Let IPython print the CREATE statements if a cell ends with this object."""
        printer.text(self.export_as_string())

    def _repr_html_(self) -> str:
        """Return a table of the keyspace's tables and views as HTML, for notebooks."""
        # Import this module only here, because only notebooks need it.
        from cassandra.metadata.pictures import keyspace_as_html

        return keyspace_as_html(self)


def _without_comments(text: str) -> str:
    """Return `text` without comment delimiters, so that it can be put into a comment."""
    # CQL comments do not nest: the end of an inner comment would end the outer comment.
    return text.replace("/*\n", "").replace("\n*/", "")


KeyspaceMetadata.__module__ = "cassandra.metadata"


add_habits(KeyspaceMetadata, KEYSPACE, operations={"__getitem__": "write keyspace.tables['name']"})
