"""What stands in a keyspace's tables."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

from cassandra import DriverException, InvalidRequest
from cassandra.cluster import Session
from cassandra.query import SimpleStatement
from tests.differential.recorder import NEAR

OPTIONS = ("default_time_to_live", "comment", "gc_grace_seconds", "compaction", "caching")


def quoted(name: str) -> str:
    """Return a name as CQL has it."""
    return '"' + name.replace('"', '""') + '"'


class Tables:
    """Reads and empties the tables of keyspaces.

    :param session: a session of the lane's own.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def _rows(self, text: str, *values: Any) -> list[dict[str, Any]]:
        statement = SimpleStatement(text, fetch_size=5000)
        future = self._session.execute_async(statement, values or None)
        rows = future.result()
        names = rows.column_names or []
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _columns(self, keyspace: str) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self._rows(
            "SELECT * FROM system_schema.columns WHERE keyspace_name = %s", keyspace
        ):
            found.setdefault(row["table_name"], []).append(row)
        return found

    def of(self, keyspace: str, *, with_schema: bool) -> dict[str, str]:
        """Return each row of each table, by table and key.

        :param keyspace: the keyspace.
        :param with_schema: whether the tables themselves are told too.
        """
        found = self._schema(keyspace) if with_schema else {}
        for table, columns in sorted(self._columns(keyspace).items()):
            for key, text in self._contents(keyspace, table, columns):
                found[f"{table}[{key}]"] = text.replace(keyspace, "KS")
        return found

    def _contents(
        self, keyspace: str, table: str, columns: list[dict[str, Any]]
    ) -> list[tuple[str, str]]:
        where = f"{quoted(keyspace)}.{quoted(table)}"
        keys = {
            one["column_name"] for one in columns if one["kind"] in ("partition_key", "clustering")
        }
        try:
            found = self._read(where, columns, keys)
        except DriverException:  # a value that a driver has stored cannot be said in JSON
            found = self._one_by_one(where, columns, keys)
        return sorted(found)

    def _one_by_one(
        self, where: str, columns: list[dict[str, Any]], keys: set[str]
    ) -> list[tuple[str, str]]:
        names = [one["column_name"] for one in columns if one["kind"] == "partition_key"]
        asked = ", ".join(quoted(name) for name in names)
        found = []
        for row in self._rows(f"SELECT JSON DISTINCT {asked} FROM {where}"):
            key = {name.strip('"'): one for name, one in json.loads(row["[json]"]).items()}
            which = [f"{quoted(name)} = from_json(%s)" for name in names]
            values = tuple(json.dumps(key[name]) for name in names)
            condition = f"WHERE {' AND '.join(which)}"
            try:
                found += self._read(where, columns, keys, condition, values)
            except DriverException as error:
                found.append((json.dumps(key), f"unreadable: {type(error).__name__}"))
        return found

    def _read(
        self,
        where: str,
        columns: list[dict[str, Any]],
        keys: set[str],
        condition: str = "",
        values: tuple[Any, ...] = (),
    ) -> list[tuple[str, str]]:
        rows = self._rows(f"SELECT JSON * FROM {where} {condition}", *values)
        plain = [
            one["column_name"]
            for one in columns
            if one["kind"] in ("regular", "static")
            and one["type"] != "counter"
            and "<" not in one["type"]
        ]
        times: list[dict[str, Any]] = [{} for _ in rows]
        if plain and rows:
            asked = ", ".join(
                f"writetime({quoted(one)}) AS w{at}, ttl({quoted(one)}) AS t{at}"
                for at, one in enumerate(plain)
            )
            # Types of a program's own, which are not frozen, have neither.
            with contextlib.suppress(InvalidRequest):
                times = self._rows(f"SELECT {asked} FROM {where} {condition}", *values)
        found = []
        for row, when in zip(rows, times, strict=True):
            value = json.loads(row["[json]"])
            key = ",".join(
                f"{name}={json.dumps(one)}"
                for name, one in sorted(value.items())
                if name.strip('"') in keys
            )
            found.append((key, f"{json.dumps(value, sort_keys=True)}{self._when(when, plain)}"))
        return found

    @staticmethod
    def _when(row: dict[str, Any], names: list[str]) -> str:
        said = []
        for at, name in enumerate(names):
            written, ttl = row.get(f"w{at}"), row.get(f"t{at}")
            if isinstance(written, int) and abs(written / 1e6 - time.time()) > NEAR:
                said.append(f"{name} written at {written}")
            if isinstance(ttl, int):
                said.append(f"{name} expires")
        return f" ({', '.join(said)})" if said else ""

    def _schema(self, keyspace: str) -> dict[str, str]:
        found = {}
        for table, columns in self._columns(keyspace).items():
            lines = sorted(
                f"{one['column_name']} {one['type']} {one['kind']} {one['position']} "
                f"{one['clustering_order']}"
                for one in columns
            )
            found[f"{table} columns"] = "\n".join(lines)
        for kind, name in (("tables", "table_name"), ("views", "view_name")):
            for row in self._told(kind, keyspace):
                shown = {option: row.get(option) for option in OPTIONS}
                found[f"{row[name]} options"] = str(shown)
        for row in self._told("indexes", keyspace):
            found[f"{row['table_name']} index {row['index_name']}"] = (
                f"{row['kind']} {dict(row['options'])}"
            )
        for row in self._told("types", keyspace):
            fields = zip(row["field_names"], row["field_types"], strict=True)
            found[f"type {row['type_name']}"] = ", ".join(f"{one} {kind}" for one, kind in fields)
        return found

    def _told(self, kind: str, keyspace: str) -> list[dict[str, Any]]:
        return self._rows(f"SELECT * FROM system_schema.{kind} WHERE keyspace_name = %s", keyspace)

    def empty(self, keyspace: str) -> None:
        """Take all rows out of a keyspace's tables."""
        for table in self._columns(keyspace):
            where = f"{quoted(keyspace)}.{quoted(table)}"
            if self._rows(f"SELECT * FROM {where} LIMIT 1"):
                self._session.execute(f"TRUNCATE {where}", timeout=60)
