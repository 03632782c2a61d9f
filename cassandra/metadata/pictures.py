"""Hosts, keyspaces and tables as HTML, for notebooks.

All strings come from servers or from the application, so each string is escaped. The notebook's
theme, light or dark, sets the colours. Only a host that is down is red.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.metadata.schema.keyspaces import KeyspaceMetadata

MOST_ROWS = 100  # the maximum number of rows that a table shows

_LEFT_ALIGNED = " style='text-align:left'"
_DOWN_HOST_STYLE = " style='color:#c0392b'"
_HOST_COLUMNS = ("host", "state", "data centre", "rack", "version", "shards", "host id")


def table_of(
    column_names: Iterable[str],
    rows: Sequence[Sequence[object]],
    styles: Sequence[str] | None = None,
) -> str:
    """Return an HTML table.

    :param column_names: the names of the columns.
    :param rows: the values of each row, shown as strings. Only the first `MOST_ROWS` rows are
        shown; a note says how many more there are.
    :param styles: for each row, the attributes of its tag, or "". None means no attributes.
    """
    header_cells = "".join(f"<th{_LEFT_ALIGNED}>{escape(name)}</th>" for name in column_names)
    table_rows = []
    for index, row in enumerate(rows[:MOST_ROWS]):
        cells = "".join(f"<td{_LEFT_ALIGNED}>{escape(_as_text(value))}</td>" for value in row)
        table_rows.append(f"<tr{styles[index] if styles else ''}>{cells}</tr>")
    hidden_count = len(rows) - MOST_ROWS
    more_note = f"<p>({hidden_count} more)</p>" if hidden_count > 0 else ""
    head = f"<thead><tr>{header_cells}</tr></thead>"
    return f"<table>{head}<tbody>{''.join(table_rows)}</tbody></table>{more_note}"


def hosts_as_html(hosts: Sequence[Host]) -> str:
    """Return an HTML table with a row for each host."""
    rows = [
        (
            host,
            host.state,
            host.datacenter,
            host.rack,
            host.release_version,
            host.sharding_info.shards_count if host.sharding_info is not None else None,
            host.host_id,
        )
        for host in hosts
    ]
    return table_of(
        _HOST_COLUMNS, rows, [_DOWN_HOST_STYLE if host.is_up is False else "" for host in hosts]
    )


def host_as_html(host: Host) -> str:
    """Return an HTML table with the row of one host."""
    return hosts_as_html([host])


def cluster_as_html(
    name: str | None, hosts: Iterable[Host], keyspaces: Mapping[str, KeyspaceMetadata]
) -> str:
    """Return HTML tables of the hosts and the keyspaces of a cluster.

    :param name: the name of the cluster; None if it is not known.
    :param hosts: the hosts of the cluster, in any order.
    :param keyspaces: the keyspaces of the cluster by name.
    """
    rows = [_keyspace_row(keyspaces[keyspace]) for keyspace in sorted(keyspaces)]
    title = f"<p><b>{escape(_as_text(name))}</b></p>"
    return title + hosts_as_html(sorted(hosts)) + table_of(_KEYSPACE_COLUMNS, rows)


_KEYSPACE_COLUMNS = ("keyspace", "replication", "tables", "views", "types", "functions")


def _keyspace_row(keyspace: KeyspaceMetadata) -> tuple[object, ...]:
    """Return the row of a keyspace in the table of keyspaces."""
    return (
        keyspace.name,
        _replication(keyspace),
        len(keyspace.tables),
        len(keyspace.views),
        len(keyspace.user_types),
        len(keyspace.functions) + len(keyspace.aggregates),
    )


def _replication(keyspace: KeyspaceMetadata) -> str:
    strategy: Any = keyspace.replication_strategy
    return "virtual" if strategy is None else str(strategy.export_for_schema())


def keyspace_as_html(keyspace: KeyspaceMetadata) -> str:
    """Return an HTML table of a keyspace's tables and views, and the CQL that creates it."""
    rows = [
        (table.name, "table", _primary_key_of(table), len(table.columns))
        for table in sorted(keyspace.tables.values(), key=lambda table: table.name)
    ]
    rows += [
        (view.name, f"view of {view.base_table_name}", _primary_key_of(view), len(view.columns))
        for view in sorted(keyspace.views.values(), key=lambda view: view.name)
    ]
    title = f"<p><b>{escape(keyspace.name)}</b>, {escape(_replication(keyspace))}</p>"
    tables = table_of(("table", "kind", "primary key", "columns"), rows)
    return title + tables + _statements(keyspace.export_as_string())


def _primary_key_of(table: Any) -> str:
    """Return the primary key of a table as CQL, without quotes."""
    partition = ", ".join(column.name for column in table.partition_key)
    clustering = "".join(f", {column.name}" for column in table.clustering_key)
    return f"({partition}){clustering}"


def table_as_html(table: Any) -> str:
    """Return an HTML table of the columns of a table or view, and the CQL that creates it.

    :param table: a `TableMetadata` or a `MaterializedViewMetadata`.
    """
    # Columns outside the primary key get their kind below.
    kinds = {column.name: "partition key" for column in table.partition_key}
    kinds.update((column.name, "clustering key") for column in table.clustering_key)
    rows = [
        (
            column.name,
            column.cql_type,
            kinds.get(column.name, "static" if column.is_static else ""),
            "descending" if column.is_reversed else "",
        )
        for column in table.columns.values()
    ]
    title = f"<p><b>{escape(f'{table.keyspace_name}.{table.name}')}</b></p>"
    columns = table_of(("column", "type", "kind", "order"), rows)
    return title + columns + _statements(table.export_as_string())


def _statements(text: str) -> str:
    return f"<details><summary>CQL</summary><pre{_LEFT_ALIGNED}>{escape(text)}</pre></details>"


def _as_text(value: object) -> str:
    return "-" if value is None else str(value)
