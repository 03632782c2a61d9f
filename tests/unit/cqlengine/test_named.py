"""Test named tables, which are used without a model: their CQL names, keys and rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException
from cassandra.cqlengine.connection import register_connection, unregister_connection
from cassandra.cqlengine.functions import Token
from cassandra.cqlengine.named import NamedColumn, NamedKeyspace, NamedTable
from cassandra.cqlengine.query import BatchQuery
from tests.unit.cqlengine.conftest import FakeSession


def add_tables(session: FakeSession, **keyspaces: Any) -> None:
    """Add tables to the metadata of the cluster.

    :param keyspaces: for each keyspace, a dict from table names to the names of the partition key's
        columns. The table "v" becomes a view.
    """

    def table_metadata(column_names: list[str]) -> Any:
        return SimpleNamespace(partition_key=[SimpleNamespace(name=name) for name in column_names])

    session.cluster.metadata = SimpleNamespace(keyspaces={})
    for keyspace, key_columns_by_table in keyspaces.items():
        tables = {name: table_metadata(names) for name, names in key_columns_by_table.items()}
        views = {"v": tables.pop("v")} if "v" in tables else {}
        session.cluster.metadata.keyspaces[keyspace] = SimpleNamespace(tables=tables, views=views)


@pytest.mark.parametrize(
    ("keyspace", "name", "expected"),
    [
        ("ks", "t", "ks.t"),
        ("Ks", "T", "Ks.T"),
        ("ks", "T 1", 'ks."T 1"'),
        ("K s", "T", '"K s"."T"'),
        ("ks", "select", 'ks."select"'),
        ("ks", "Known", 'ks."Known"'),
        ("ks", "known", "ks.known"),
    ],
)
def test_names_are_quoted_if_necessary(
    session: FakeSession, keyspace: str, name: str, expected: str
) -> None:
    """A table's name is quoted if it is reserved, unusual, or has capitals in the schema."""
    add_tables(session, ks={"Known": ["k"], "t": ["k"]})
    table = NamedTable(keyspace, name)
    assert table.column_family_name() == expected
    assert table.__name__ == expected
    assert table.column_family_name(include_keyspace=False) == name
    assert NamedKeyspace(keyspace).table(name).column_family_name() == expected


def test_names_before_there_is_a_connection() -> None:
    """Without a schema, names with capitals are not quoted."""
    assert NamedTable("ks", "T").column_family_name() == "ks.T"
    assert NamedTable("ks", "t").name_in("Other") == "Other.t"


def test_the_partition_key_comes_from_the_cluster_s_metadata(session: FakeSession) -> None:
    """`partition_columns` returns the partition key of a table or view from the metadata."""
    add_tables(session, ks={"t": ["a", "b"], "v": ["c"]})
    assert NamedTable("ks", "t").partition_columns() == ["a", "b"]
    assert NamedTable("ks", "v").partition_columns() == ["c"]
    for table in (NamedTable("ks", "none"), NamedTable("none", "t")):
        with pytest.raises(CQLEngineException, match="is not known: there is no such table"):
            table.partition_columns()


def test_the_schema_of_the_queryset_s_connection_decides_on_quotes(session: FakeSession) -> None:
    """A queryset on another connection asks the schema of that connection's cluster."""
    add_tables(session, ks={"Users": ["a"]}, other={"Users": ["b"]})
    reports: Any = FakeSession()
    add_tables(reports, ks={"users": ["id"]}, other={"users": ["no"]})
    register_connection("reports", session=reports)
    try:
        users = NamedTable("ks", "Users").objects
        assert 'FROM ks."Users"' in str(users)
        assert "FROM ks.Users" in str(users.using(connection="reports"))
        assert "FROM other.Users" in str(users.using(connection="reports", keyspace="other"))
        lower = NamedTable("ks", "users").objects.using(connection="reports", keyspace="other")
        assert 'token("no")' in str(lower.filter(pk__token__gt=Token(1)))
        assert 'token("b")' in str(users.using(keyspace="other").filter(pk__token__gt=Token(1)))
    finally:
        unregister_connection("reports")


def test_a_subclass_may_name_its_table(session: FakeSession) -> None:
    """A queryset uses a subclass's `column_family_name`, unless it has options of its own."""

    class Suffixed(NamedTable):
        def column_family_name(self, include_keyspace: bool = True) -> str:
            return f"{super().column_family_name(include_keyspace)}_v2"

    add_tables(session, ks={"t": ["k"]})
    assert "FROM ks.t_v2" in str(Suffixed("ks", "t").objects)
    assert "FROM other.t" in str(Suffixed("ks", "t").objects.using(keyspace="other"))


def test_columns_are_quoted_and_take_any_value() -> None:
    """A NamedColumn quotes its name, and does not convert values."""
    column = NamedColumn('A"b')
    assert column.label == 'A"b'
    assert column.db_field_name == 'A"b'
    assert column.sub_types == []
    assert column.cql == '"A""b"'
    assert column.get_cql() == '"A""b"'
    assert str(column) == '"A""b"'
    value = object()
    assert column.to_database(value) is value
    assert column.to_filter(value) is value


def test_named_tables_return_rows_with_attributes(session: FakeSession) -> None:
    """Rows of a named table have their columns as attributes; `get` expects exactly one row."""
    table = NamedTable("ks", "t")
    session.return_row(a=1, b="x")
    assert table.get(a=1).b == "x"
    assert session.last_statement == ('SELECT * FROM ks.t WHERE "a" = ? LIMIT ?', [1, 2])
    assert len(table.all()) == 1
    assert str(table.filter(table.column("b") > 5)).endswith('WHERE "b" > %(0)s LIMIT 10000')
    session.rows = []
    with pytest.raises(NamedTable.DoesNotExist):
        table.get(a=1)
    session.rows = [[1, "x"], [2, "y"]]
    with pytest.raises(NamedTable.MultipleObjectsReturned):
        table.get(a=1)
    # The class NamedTable itself has no table.
    with pytest.raises(CQLEngineException, match="objects is of named tables, not of their class"):
        _ = NamedTable.objects


def test_using_returns_a_table_with_another_connection() -> None:
    """`using` returns the table on another connection, and does not change the table itself."""
    table = NamedTable("ks", "t")
    far_table = table.using("far")
    assert far_table.__connection__ == "far"
    assert far_table.column_family_name() == "ks.t"
    assert table.__connection__ is None


async def test_aget_passes_its_arguments_to_the_queryset(monkeypatch: pytest.MonkeyPatch) -> None:
    """`aget` passes its arguments to the queryset."""
    table = NamedTable("ks", "t")

    async def return_arguments(self: Any, *args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    monkeypatch.setattr(type(table.objects), "aget", return_arguments)
    arguments: object = await table.aget(1, a=2)
    assert arguments == ((1,), {"a": 2})


def test_a_delete_is_added_to_the_batch(session: FakeSession) -> None:
    """A delete of a named table's queryset can be added to a batch."""
    add_tables(session, ks={"t": ["k"]})
    batch = BatchQuery(timestamp=5)
    NamedTable("ks", "t").objects.batch(batch).filter(k=1).delete()
    assert session.executions == []
    # `queries` leaves out the timestamp of the batch.
    assert [" ".join(str(query).split()) for query in batch.queries] == [
        'DELETE FROM ks.t WHERE "k" = %(0)s'
    ]
    ((text, values),) = batch._entries
    assert " ".join(text.split()) == 'DELETE FROM ks.t USING TIMESTAMP ? WHERE "k" = ?'
    assert values == [5, 1]


def test_writes_and_missing_arguments_get_advice() -> None:
    """Writes of a named table, and a table without its keyspace, are refused with advice."""
    table: Any = NamedTable("ks", "t")
    with pytest.raises(AttributeError, match="a named table is only read and deleted from"):
        table.create(k=1)
    with pytest.raises(AttributeError, match="a named table is only read and deleted from"):
        table.objects(k=1).update(v=2)
    make: Any = NamedTable
    with pytest.raises(TypeError, match=r"write NamedTable\('keyspace', 'table'\)"):
        make("t")
