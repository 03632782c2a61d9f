"""Reads the rows and the schema of a keyspace's tables as strings, to compare them."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

from cassandra import DriverException, InvalidRequest
from cassandra.cluster import Session
from cassandra.query import SimpleStatement
from tests.differential.recorder import NEAR

# Only these table options are compared.
OPTIONS = ("default_time_to_live", "comment", "gc_grace_seconds", "compaction", "caching")


def quoted(name: str) -> str:
    """Return a name in double quotes, as in CQL."""
    return '"' + name.replace('"', '""') + '"'


class Tables:
    """Reads and empties the tables of keyspaces.

    :param session: a session of the test process, which is not a session of a compared driver.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def _rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Execute a query, and return each row as a dictionary."""
        statement = SimpleStatement(query, fetch_size=5000)
        rows = self._session.execute_async(statement, values or None).result()
        names = rows.column_names or []
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _columns(self, keyspace: str) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of ``system_schema.columns`` for a keyspace, by the table's name."""
        columns: dict[str, list[dict[str, Any]]] = {}
        for row in self._rows(
            "SELECT * FROM system_schema.columns WHERE keyspace_name = %s", keyspace
        ):
            columns.setdefault(row["table_name"], []).append(row)
        return columns

    def of(self, keyspace: str, *, with_schema: bool) -> dict[str, str]:
        """Return each row of each table as a string, by "TABLE[KEY]".

        :param keyspace: the keyspace's name.
        :param with_schema: if True, also return the definitions of tables, indexes and types.
        """
        texts = self._schema(keyspace) if with_schema else {}
        for table, columns in sorted(self._columns(keyspace).items()):
            for key, text in self._read_table(keyspace, table, columns):
                texts[f"{table}[{key}]"] = text.replace(keyspace, "KS")
        return texts

    def _read_table(
        self, keyspace: str, table: str, columns: list[dict[str, Any]]
    ) -> list[tuple[str, str]]:
        """Return (key, row) of each row of a table, sorted.

        :param columns: the rows of ``system_schema.columns`` for the table.
        """
        qualified_table = f"{quoted(keyspace)}.{quoted(table)}"
        primary_key = {
            column["column_name"]
            for column in columns
            if column["kind"] in ("partition_key", "clustering")
        }
        try:
            contents = self._read(qualified_table, columns, primary_key)
        except DriverException:
            # The server cannot return one of the stored values as JSON. Read each partition
            # separately, to find the partition.
            contents = self._read_by_partition(qualified_table, columns, primary_key)
        return sorted(contents)

    def _read_by_partition(
        self, qualified_table: str, columns: list[dict[str, Any]], primary_key: set[str]
    ) -> list[tuple[str, str]]:
        """Return (key, row) of each row of a table, with a separate query for each partition.

        If the server cannot return a partition as JSON, its row is "unreadable: ...".

        :param columns: see `_read_table`.
        :param primary_key: the names of the columns of the primary key.
        """
        key_columns = [
            column["column_name"] for column in columns if column["kind"] == "partition_key"
        ]
        selection = ", ".join(quoted(name) for name in key_columns)
        contents = []
        for row in self._rows(f"SELECT JSON DISTINCT {selection} FROM {qualified_table}"):
            # SELECT JSON encloses names of case-sensitive columns in double quotes.
            partition_key = {
                name.strip('"'): value for name, value in json.loads(row["[json]"]).items()
            }
            relations = [f"{quoted(name)} = from_json(%s)" for name in key_columns]
            values = tuple(json.dumps(partition_key[name]) for name in key_columns)
            condition = f"WHERE {' AND '.join(relations)}"
            try:
                contents += self._read(qualified_table, columns, primary_key, condition, values)
            except DriverException as error:
                contents.append((json.dumps(partition_key), f"unreadable: {type(error).__name__}"))
        return contents

    def _read(
        self,
        qualified_table: str,
        columns: list[dict[str, Any]],
        primary_key: set[str],
        condition: str = "",
        values: tuple[Any, ...] = (),
    ) -> list[tuple[str, str]]:
        """Return (key, row) of each row. The row is JSON, followed by unusual write times and TTLs.

        :param columns: see `_read_table`.
        :param primary_key: the names of the columns of the primary key.
        :param condition: the WHERE clause; empty for all rows.
        :param values: the parameters of the condition.
        """
        rows = self._rows(f"SELECT JSON * FROM {qualified_table} {condition}", *values)
        # CQL allows WRITETIME and TTL only for these columns.
        timed_columns = [
            column["column_name"]
            for column in columns
            if column["kind"] in ("regular", "static")
            and column["type"] != "counter"
            and "<" not in column["type"]
        ]
        all_times: list[dict[str, Any]] = [{} for _ in rows]
        if timed_columns and rows:
            selection = ", ".join(
                f"writetime({quoted(name)}) AS w{index}, ttl({quoted(name)}) AS t{index}"
                for index, name in enumerate(timed_columns)
            )
            # If a column has an unfrozen user-defined type, the server refuses TTL and WRITETIME.
            # In that case the times are not compared.
            with contextlib.suppress(InvalidRequest):
                all_times = self._rows(
                    f"SELECT {selection} FROM {qualified_table} {condition}", *values
                )
        contents = []
        for row, row_times in zip(rows, all_times, strict=True):
            value = json.loads(row["[json]"])
            # SELECT JSON encloses names of case-sensitive columns in double quotes.
            key = ",".join(
                f"{name}={json.dumps(text)}"
                for name, text in sorted(value.items())
                if name.strip('"') in primary_key
            )
            times = self._describe_times(row_times, timed_columns)
            contents.append((key, f"{json.dumps(value, sort_keys=True)}{times}"))
        return contents

    @staticmethod
    def _describe_times(row: dict[str, Any], names: list[str]) -> str:
        """Describe the columns that expire, or whose write time is far from the current time.

        Other write times differ between runs, so they are left out.

        :param row: the write times (``w0``, ``w1``, ...) and TTLs (``t0``, ``t1``, ...) of the
            columns.
        :param names: the names of these columns, in the same order.
        """
        changes = []
        for index, name in enumerate(names):
            written, ttl = row.get(f"w{index}"), row.get(f"t{index}")
            if isinstance(written, int) and abs(written / 1e6 - time.time()) > NEAR:
                changes.append(f"{name} written at {written}")
            if isinstance(ttl, int):
                changes.append(f"{name} expires")
        return f" ({', '.join(changes)})" if changes else ""

    def _schema(self, keyspace: str) -> dict[str, str]:
        """Return the definitions of tables, views, indexes and types as strings, by title."""
        texts = {}
        for table, columns in self._columns(keyspace).items():
            lines = sorted(
                f"{column['column_name']} {column['type']} {column['kind']} {column['position']} "
                f"{column['clustering_order']}"
                for column in columns
            )
            texts[f"{table} columns"] = "\n".join(lines)
        # Read the options of tables and views, and then the indexes and types.
        for system_table, name_column in (("tables", "table_name"), ("views", "view_name")):
            for row in self._schema_rows(system_table, keyspace):
                options = {option: row.get(option) for option in OPTIONS}
                texts[f"{row[name_column]} options"] = str(options)
        for row in self._schema_rows("indexes", keyspace):
            texts[f"{row['table_name']} index {row['index_name']}"] = (
                f"{row['kind']} {dict(row['options'])}"
            )
        for row in self._schema_rows("types", keyspace):
            fields = zip(row["field_names"], row["field_types"], strict=True)
            texts[f"type {row['type_name']}"] = ", ".join(
                f"{field} {cql_type}" for field, cql_type in fields
            )
        return texts

    def _schema_rows(self, table: str, keyspace: str) -> list[dict[str, Any]]:
        """Return the rows that a table of ``system_schema`` has for a keyspace."""
        return self._rows(f"SELECT * FROM system_schema.{table} WHERE keyspace_name = %s", keyspace)

    def empty(self, keyspace: str) -> None:
        """Truncate the keyspace's tables that have rows."""
        for table in self._columns(keyspace):
            qualified_table = f"{quoted(keyspace)}.{quoted(table)}"
            if self._rows(f"SELECT * FROM {qualified_table} LIMIT 1"):
                self._session.execute(f"TRUNCATE {qualified_table}", timeout=60)
