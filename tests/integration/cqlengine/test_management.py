"""`sync_table` and `sync_type` on a real node: the changes that they make, report, or refuse."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, columns, connection, management
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedKeyspace, NamedTable
from cassandra.cqlengine.usertype import UserType
from cassandra.errors import BindColumnsChanged

from .conftest import synced

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mapper")]


def model(name: str, **attributes: Any) -> Any:
    """Return a new model class with these columns and settings.

    Two classes of the same name use the same table: the second class stands for a later version of
    the first class. `sync_table` has to change the table of the first class.
    """
    return type(name, (Model,), {"__module__": __name__, **attributes})


def column_types(keyspace: str, table: str) -> dict[str, str]:
    """Return the CQL types of a table's columns on the node; {} if the table does not exist."""
    rows = connection.execute(
        "SELECT column_name, type FROM system_schema.columns WHERE keyspace_name = %s AND "
        "table_name = %s",
        (keyspace, table),
    )
    return {row["column_name"]: row["type"] for row in rows}


def test_columns_are_added_and_never_dropped(mapper: str) -> None:
    """`sync_table` adds the columns and indexes that the table lacks, and returns its statements.

    A column that the model no longer has stays in the table.
    """
    old_model = model(
        "Grown", id=columns.Integer(primary_key=True), a=columns.Text(), old=columns.Text()
    )
    (create_statement,) = management.sync_table(old_model)
    assert create_statement.startswith(f"CREATE TABLE IF NOT EXISTS {mapper}.grown (")
    assert management.sync_table(old_model) == []
    # The new model lacks the column `old`, and has the further columns `b` and `c`.
    new_model = model(
        "Grown",
        id=columns.Integer(primary_key=True),
        a=columns.Text(),
        b=columns.Set(columns.Integer),
        c=columns.Text(index=True),
    )
    statements = management.sync_table(new_model, dry_run=True)
    assert column_types(mapper, "grown") == {"id": "int", "a": "text", "old": "text"}
    assert statements == [
        f'ALTER TABLE {mapper}.grown ADD "b" set<int>',
        f'ALTER TABLE {mapper}.grown ADD "c" text',
        f'CREATE INDEX IF NOT EXISTS grown_c_idx ON {mapper}.grown ("c")',
    ]
    assert management.sync_table(new_model) == statements
    assert column_types(mapper, "grown") == {
        "id": "int",
        "a": "text",
        "old": "text",
        "b": "set<int>",
        "c": "text",
    }
    assert management.sync_table(new_model) == []


def test_a_dry_run_prints_statements_and_changes_nothing(
    mapper: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With dry_run=True, `sync_table` prints its statements, and does not create the table."""
    dry_model = model("Dry", id=columns.Integer(primary_key=True), c=columns.Text(index=True))
    management.sync_table(dry_model, dry_run=True)
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        f'CREATE TABLE IF NOT EXISTS {mapper}.dry ("id" int, "c" text, PRIMARY KEY (("id")));',
        f'CREATE INDEX IF NOT EXISTS dry_c_idx ON {mapper}.dry ("c");',
    ]
    assert column_types(mapper, "dry") == {}


def test_impossible_changes_are_reported(mapper: str) -> None:
    """`sync_table` warns if a column's type differs, because Cassandra cannot change types.

    If the primary key differs, it raises an error, because the mapper could not find the table's
    rows.
    """
    synced(
        model("Told", id=columns.Integer(primary_key=True), a=columns.Text(), b=columns.Integer())
    )
    model_with_other_type = model(
        "Told", id=columns.Integer(primary_key=True), a=columns.Integer(), b=columns.Integer()
    )
    with pytest.warns(
        UserWarning, match='has column "a" with a type .text. differing from the model type .int.'
    ):
        assert management.sync_table(model_with_other_type) == []
    for model_with_other_key in (
        model(
            "Told",
            id=columns.Integer(primary_key=True),
            a=columns.Text(primary_key=True),
            b=columns.Integer(),
        ),
        model("Told", b=columns.Integer(primary_key=True), id=columns.Integer(), a=columns.Text()),
    ):
        with pytest.raises(CQLEngineException, match="a primary key cannot be changed"):
            management.sync_table(model_with_other_key)


def test_options(mapper: str) -> None:
    """`sync_table` alters only the table options that differ; "0" and 0 are the same value."""
    options = {
        "comment": "it's here", "gc_grace_seconds": "0", "default_time_to_live": 20,
        "compaction": {"class": "LeveledCompactionStrategy", "sstable_size_in_mb": "64"},
    }  # fmt: skip
    model_with_options = model(
        "Opted",
        id=columns.Integer(primary_key=True),
        c=columns.Integer(primary_key=True, clustering_order="desc"),
        __options__=options,
    )
    synced(model_with_options)
    assert management.sync_table(model_with_options) == []
    model_with_changed_options = model(
        "Opted", id=columns.Integer(primary_key=True), c=columns.Integer(primary_key=True, clustering_order="desc"),  # noqa: E501
        __options__={**options, "gc_grace_seconds": 5, "compaction": {"class": "SizeTieredCompactionStrategy", "min_threshold": 3}},  # noqa: E501
    )  # fmt: skip
    (statement,) = management.sync_table(model_with_changed_options)
    assert statement == (
        f"ALTER TABLE {mapper}.opted WITH gc_grace_seconds = 5 "
        "AND compaction = {'class': 'SizeTieredCompactionStrategy', 'min_threshold': '3'}"
    )
    assert management.sync_table(model_with_changed_options) == []


def test_user_types_are_created_in_order_and_get_new_fields(mapper: str) -> None:
    """`sync_table` creates the types of a model before its table, nested types first."""

    class inner(UserType):
        a = columns.Integer()

    class outer(UserType):
        inside = columns.UserDefinedType(inner)
        many = columns.List(columns.UserDefinedType(inner))

    holder_model = model(
        "Holder", id=columns.Integer(primary_key=True), value=columns.UserDefinedType(outer)
    )
    statements = management.sync_table(holder_model)
    # The second word of each statement is TYPE or TABLE.
    assert [statement.split(" ")[1] for statement in statements] == ["TYPE", "TYPE", "TABLE"]
    created = holder_model.create(id=1, value=outer(inside=inner(a=1), many=[inner(a=2)]))
    assert holder_model.get(id=1) == created
    row = connection.execute(f"SELECT value FROM {mapper}.holder").one()
    assert isinstance(row["value"], outer)

    class inner_with_another_field(UserType):
        __type_name__ = "inner"
        a = columns.Integer()
        b = columns.Text()

    assert management.sync_type(mapper, inner_with_another_field) == [
        f"ALTER TYPE {mapper}.inner ADD b text"
    ]


def test_threads_can_sync_the_same_table_at_the_same_time(mapper: str) -> None:
    """Four threads that create the same table and index at the same time get no error."""
    synced_model = model(
        "Raced", id=columns.Integer(primary_key=True), a=columns.Text(index=True), b=columns.Text()
    )
    errors: list[BaseException] = []
    start = threading.Barrier(4)

    def sync_table() -> None:
        """Sync when all four threads are ready, and record the error if there is one."""
        start.wait(timeout=30)
        try:
            management.sync_table(synced_model)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=sync_table) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert errors == []
    assert set(column_types(mapper, "raced")) == {"id", "a", "b"}


def test_schema_changes_warn_unless_the_environment_allows_them(
    mapper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sync_table` warns if CQLENG_ALLOW_SCHEMA_MANAGEMENT is not set, as in cassandra-driver."""
    monkeypatch.delenv(management.CQLENG_ALLOW_SCHEMA_MANAGEMENT)
    any_model = model("Allowed", id=columns.Integer(primary_key=True))
    with pytest.warns(
        UserWarning, match="CQLENG_ALLOW_SCHEMA_MANAGEMENT environment variable is not set"
    ):
        management.sync_table(any_model)


def test_tables_are_synced_and_dropped_in_several_keyspaces(mapper: str) -> None:
    """With ``keyspaces=``, tables are created and dropped in these keyspaces only."""
    names = [f"{mapper}_a", f"{mapper}_b"]
    datacenter = connection.execute("SELECT data_center FROM system.local").one()["data_center"]
    for name in names:
        management.create_keyspace_network_topology(name, {datacenter: 1}, durable_writes=False)
    model_in_keyspaces = model("Spread", id=columns.Integer(primary_key=True), a=columns.Text())
    management.sync_table(model_in_keyspaces, keyspaces=names)
    for name in names:
        model_in_keyspaces.objects.using(keyspace=name).create(id=1, a=name)
        assert model_in_keyspaces.objects.using(keyspace=name).get(id=1).a == name
    for _ in range(2):  # dropping a table that does not exist is not an error
        management.drop_table(model_in_keyspaces, keyspaces=names[:1])
    assert column_types(names[0], "spread") == {}
    assert len(column_types(names[1], "spread")) == 2
    for name in names:
        management.drop_keyspace(name)
        # Dropping a keyspace that does not exist is not an error.
        management.drop_keyspace(name)
    with pytest.raises(
        CQLEngineException, match=f"Keyspace '{names[0]}' for model Spread does not exist"
    ):
        management.sync_table(model_in_keyspaces, keyspaces=names[:1])


def test_wrong_arguments_raise(mapper: str) -> None:
    """`sync_table` refuses classes that are not models, abstract models, and bad keyspaces."""
    with pytest.raises(CQLEngineException, match="derived from base Model"):
        management.sync_table(4)  # type: ignore[arg-type]
    with pytest.raises(CQLEngineException, match="abstract"):
        management.sync_table(model("Base", __abstract__=True))
    with pytest.raises(ValueError, match="list or a tuple"):
        management.sync_table(model("M", id=columns.Integer(primary_key=True)), keyspaces="ks")


def test_named_tables(mapper: str) -> None:
    """A table that has no model can be filtered, read and deleted from by its name."""
    synced(
        model(
            "Named",
            id=columns.Integer(primary_key=True),
            c=columns.Integer(primary_key=True),
            v=columns.Text(),
        )
    )
    connection.execute(f"INSERT INTO {mapper}.named (id, c, v) VALUES (1, 2, 'x')")
    table = NamedKeyspace(mapper).table("named")
    (row,) = table.objects(id=1)
    assert row == {"id": 1, "c": 2, "v": "x"}
    assert row.v == "x"
    assert table.objects.filter(table.column("id") == 1, c__gt=1).count() == 1
    assert table.get(id=1, c=2).v == "x"
    assert table.objects(id=1).only(["v"]).first() == {"v": "x"}
    with pytest.raises(NamedTable.DoesNotExist):
        table.get(id=9)
    # A delete by the partition key must not warn.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.objects(id=1).delete()
    assert list(table.all()) == []


def test_a_lazy_connection_by_name(mapper: str, node: Any) -> None:
    """A connection that is registered with lazy_connect=True connects at its first use."""
    connection.register_connection(
        "lazy",
        node.contact_points,
        lazy_connect=True,
        retry_connect=True,
        cluster_options={"port": node.port},
    )
    # The connection "lazy" is not open yet; it connects only when it is used.
    assert connection._connections["lazy"].session is None
    lazy_model = model("Lazy", id=columns.Integer(primary_key=True), a=columns.Text())
    management.sync_table(lazy_model, connections=["lazy"])
    lazy_model.objects.using(connection="lazy").create(id=1)
    assert lazy_model.objects.using(connection="lazy").get(id=1).id == 1
    assert connection.get_cluster("lazy") is connection.get_session("lazy").cluster
    connection.unregister_connection("lazy")
    with pytest.raises(CQLEngineException, match="doesn't exist"):
        connection.get_session("lazy")


def test_a_table_recreated_with_other_types_works_on_all_connections(mapper: str) -> None:
    """After a table was recreated with other types, no connection uses outdated statements."""
    model_with_int = model("Anew", id=columns.Integer(primary_key=True), v=columns.Integer())
    model_with_text = model("Anew", id=columns.Integer(primary_key=True), v=columns.Text())
    connection.register_connection("other", session=connection.get_session())
    try:
        for model_class, value in (
            (model_with_int, 1),
            (model_with_text, "x"),
            (model_with_int, 2),
        ):
            management.drop_table(model_class)
            synced(model_class)
            for name in ("default", "other"):
                model_class.objects.using(connection=name).create(id=1, v=value)
                assert model_class.objects.using(connection=name).get(id=1).v == value
    finally:
        connection.unregister_connection("other")


def test_a_table_that_another_client_recreates_with_other_types(mapper: str) -> None:
    """After another client has changed the column's type, values that fit the new type are written.

    The values are integers: they fit bigint, varint and int. For text, each execution raises an
    error.
    """
    table = f"{mapper}.renewed"
    model_class = model("Renewed", id=columns.Integer(primary_key=True), v=columns.Integer())
    synced(model_class)
    session = connection.get_session()
    insert = session.prepare(f"INSERT INTO {table} (id, v) VALUES (?, ?)")
    model_class.create(id=1, v=1)
    for type_name in ("bigint", "varint", "int"):
        session.execute(f"DROP TABLE {table}")
        session.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v {type_name})")
        for number in (1, 2):
            session.execute(insert, (number, number + 40))
            model_class.create(id=number + 2, v=number + 42)
        assert {row.id: row.v for row in model_class.objects} == {1: 41, 2: 42, 3: 43, 4: 44}
    session.execute(f"DROP TABLE {table}")
    session.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v text)")
    # Each execution must raise the error, not only the first after the change.
    for _ in range(2):
        with pytest.raises(BindColumnsChanged, match="v int -> v varchar"):
            session.execute(insert, (1, 1))
    assert model_class.objects.count() == 0


@pytest.mark.usefixtures("mapper")
def test_a_dry_run_of_a_keyspace(capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run returns and prints the statements, and creates no keyspace."""
    statements = management.create_keyspace_simple("never_made", replication_factor=1, dry_run=True)
    statements += management.create_keyspace_network_topology("never_made", {"dc": 1}, dry_run=True)
    assert len(statements) == 2
    for statement in statements:
        assert statement.startswith("CREATE KEYSPACE IF NOT EXISTS never_made")
    assert capsys.readouterr().out == "".join(f"{statement};\n" for statement in statements)
    assert "never_made" not in connection.get_cluster().metadata.keyspaces
