"""The statement that writes a row of a table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.bulk.target import plan_of, static_plan, table_of
from cassandra.metadata import ColumnMetadata, KeyspaceMetadata, TableMetadata

NOTHING: dict[str, Any] = {
    "ttl": None, "ttl_column": None, "timestamp": None, "timestamp_column": None, "counters": False,
}  # fmt: skip


def table(**types: str) -> TableMetadata:
    made = TableMetadata("ks", "Orders")
    for name, kind in types.items():
        made.columns[name] = ColumnMetadata(made, name, kind, is_static=name.startswith("all_"))
    made.partition_key = [made.columns["customer"]]
    made.clustering_key = [made.columns["placed"]]
    return made


ORDERS = table(customer="uuid", placed="timestamp", total="decimal", all_names="text")


def text(made: TableMetadata, *wanted: str, **options: Any) -> str:
    return plan_of(made, wanted, **{**NOTHING, **options}).text


def test_rows_of_static_columns_alone_have_a_statement() -> None:
    def made(*wanted: str, **using: Any) -> str | None:
        plan = plan_of(ORDERS, wanted, **NOTHING)
        both = {"TTL": (None, None), "TIMESTAMP": (None, None), **using}
        return static_plan(ORDERS, plan, both)

    insert = 'INSERT INTO ks."Orders" (customer, all_names) VALUES (?, ?)'
    assert made() == insert
    assert made(TTL=(5, None), TIMESTAMP=(None, "at")) == f"{insert} USING TTL 5 AND TIMESTAMP ?"
    assert made("customer", "placed", "total") is None
    assert made("customer", "all_names") is None  # all rows are of this kind already


def test_tables_are_found_by_their_names() -> None:
    keyspace = KeyspaceMetadata("ks", True, "SimpleStrategy", {"replication_factor": "1"})
    keyspace.tables = {"orders": ORDERS, "Or.d\"ers": ORDERS}  # fmt: skip
    metadata: Any = SimpleNamespace(keyspaces={"ks": keyspace})
    for name in ("ks.orders", "KS.Orders", "orders", '"ks"."orders"', 'ks."Or.d""ers"'):
        assert table_of(metadata, name, "ks") is ORDERS, name
    for name, words in (
        ("ks.nothing", "keyspace 'ks' has no table 'nothing'"),
        ("other.orders", "there is no keyspace 'other'"),
        ("a.b.c", "a table is named as table or keyspace.table"),
        ('"orders', "has no end"),
        ('"a"b', "is not the name of a table"),
        ("", "is not the name of a table"),
        ("ks.", "is not the name of a table"),
        (".orders", "is not the name of a table"),
    ):
        with pytest.raises(ValueError, match=words):
            table_of(metadata, name, "ks")
    with pytest.raises(ValueError, match="is of no keyspace"):
        table_of(metadata, "orders", None)


def test_all_columns_or_those_that_are_wanted() -> None:
    assert text(ORDERS) == (
        'INSERT INTO ks."Orders" (customer, placed, total, all_names) VALUES (?, ?, ?, ?)'
    )
    assert text(ORDERS, "total", "customer", "placed") == (
        'INSERT INTO ks."Orders" (total, customer, placed) VALUES (?, ?, ?)'
    )
    assert text(ORDERS, "customer", "all_names").endswith("(customer, all_names) VALUES (?, ?)")
    for wanted, words in (
        (("customer", "totall"), "has no column 'totall', but customer, placed, total"),
        (("customer", "total"), "column 'placed' of the primary key of ks.Orders is not among"),
        (("placed", "total"), "column 'customer' of the primary key"),
        (("customer",), "column 'placed' of the primary key"),
    ):
        with pytest.raises(ValueError, match=words):
            text(ORDERS, *wanted)


def test_times_to_live_and_write_times() -> None:
    assert text(ORDERS, ttl=60, timestamp_column="at").endswith(" USING TTL 60 AND TIMESTAMP ?")
    assert text(ORDERS, ttl_column="life").endswith(" USING TTL ?")
    with pytest.raises(ValueError, match="ttl and ttl_column exclude each other"):
        text(ORDERS, ttl=60, ttl_column="life")
    with pytest.raises(TypeError, match="ttl must be an integer, but is '60'"):
        text(ORDERS, ttl="60")


def test_counters_are_added_if_asked_for() -> None:
    hits = table(customer="uuid", placed="timestamp", hits="counter")
    with pytest.raises(ValueError, match=r"counts twice\. counters=True"):
        text(hits)
    plan = plan_of(hits, (), **{**NOTHING, "counters": True})
    assert plan.text == ('UPDATE ks."Orders" SET hits = hits + ? WHERE customer = ? AND placed = ?')
    assert (plan.is_idempotent, plan.is_counter) == (False, True)
    with pytest.raises(ValueError, match="counters have no time to live"):
        text(hits, counters=True, ttl=5)
