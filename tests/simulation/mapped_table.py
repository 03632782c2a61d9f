"""The table ``m`` in each keyspace, which the steps with the object mapper use.

Unlike the other statements of a simulation, the mapper's statements name their keyspace.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.testing.fake import Message, rows, void

if TYPE_CHECKING:
    from cassandra.testing.fake.answers import Prepared

TABLE = "m"  # the name of the table in each keyspace
VERBS = ("INSERT", "UPDATE", "SELECT", "DELETE")
"""The verbs of the requests about one row, in the order of the numbers of their operations."""
STAMP = "[timestamp]"
"""The name that a bind marker after TIMESTAMP has in the metadata of a prepared statement."""

# Parts of the mapper's statements: the table with its keyspace, a bind marker with the column or
# the keyword before it, and the columns of an INSERT.
_TABLE = re.compile(r"\b(?:INTO|FROM|UPDATE) (k[abc])\.m\b")
_MARKER = re.compile(r'(?:"(\w+)" = |(TTL|TIMESTAMP|LIMIT) )\?')
_INSERTED = re.compile(r"\(([^)]*)\) VALUES")


class Write(NamedTuple):
    """The last write of a row: its timestamp and value. The value is None after a DELETE."""

    timestamp: int
    value: int | None


def number_of(value: Any) -> int:
    """Return the number in a bound value; -1 if the value is null or not set."""
    return int.from_bytes(value, "big", signed=True) if isinstance(value, bytes) else -1


def prepared_of(
    text: str,
) -> tuple[str, list[tuple[str, str]], list[tuple[str, str]]] | None:
    """Return the response to a PREPARE: the keyspace, the bind columns and the result's columns.

    :returns: None if the statement does not use the table ``m``.
    """
    table_match = _TABLE.search(text)
    if table_match is None:
        return None
    # The markers of an INSERT have no name or keyword before them, so use its list of columns.
    insert_match = _INSERTED.search(text)
    names = re.findall(r'"(\w+)"', insert_match[1]) if insert_match is not None else []
    names += [name or f"[{word.lower()}]" for name, word in _MARKER.findall(text)]
    bind_columns = [(name, "bigint" if name == STAMP else "int") for name in names]
    selected_names = re.findall(r'"(\w+)"', text.partition(" FROM ")[0])
    result = [(name, "int") for name in selected_names] if text.startswith("SELECT") else []
    return table_match[1], bind_columns, result


def result_of(
    cells: dict[tuple[str, int, int], Write],
    prepared: Prepared,
    values: Any,
    timestamp: int,
) -> Message:
    """Execute a prepared statement on `cells`, and return the response.

    As in Cassandra, a write is ignored if the row has a write with the same or a later timestamp.

    :param cells: the last write of each row, by (keyspace, k, op).
    """
    text, names = prepared.query, [name for name, _ in prepared.columns]
    k, op = (number_of(values[names.index(name)]) for name in ("k", "op"))
    key = prepared.keyspace, k, op
    previous_write = cells.get(key)
    value = previous_write.value if previous_write is not None else None
    if text.startswith("SELECT"):
        values_by_name = {"k": k, "op": op, "v": value}
        row = tuple(values_by_name[name] for name, _ in prepared.result)
        return rows(
            list(prepared.result),
            [row] if value is not None else [],
            keyspace=prepared.keyspace,
            table=TABLE,
        )
    is_conditional = " IF " in text
    if is_conditional:
        expected = None if "IF NOT EXISTS" in text else number_of(values[-1])
        if value != expected:
            return rows([("[applied]", "boolean")], [(False,)])
        # As in Cassandra, replicas choose the timestamp of a conditional write. It is later than
        # the timestamps of all earlier writes.
        timestamp = max(
            timestamp, previous_write.timestamp + 1 if previous_write is not None else 0
        )
    if previous_write is None or timestamp > previous_write.timestamp:
        new_value = None if text.startswith("DELETE") else number_of(values[names.index("v")])
        cells[key] = Write(timestamp, new_value)
    return rows([("[applied]", "boolean")], [(True,)]) if is_conditional else void()
