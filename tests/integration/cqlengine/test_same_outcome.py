"""Applications that were written for the mapper of another driver have the same outcome with ours.

The other drivers are cassandra-driver and scylla-driver. Most tests write in ways in which data
could be lost, or could get into another table or keyspace.
"""

from __future__ import annotations

import contextlib
import datetime
import enum
import json
import pickle
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import Session
from cassandra.cqlengine import ValidationError, columns, connection, functions, management
from cassandra.cqlengine.models import Model, ModelDefinitionException
from cassandra.cqlengine.named import NamedTable
from cassandra.cqlengine.query import (
    BatchQuery,
    BatchType,
    ContextQuery,
    LWTException,
    QueryException,
)
from cassandra.cqlengine.usertype import UserType
from cassandra.testing import LocalCluster
from tests.integration.conftest import new_keyspace_name

from .conftest import synced

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mapper")]


class Kind(enum.Enum):
    A = "a"
    B = "b"


class EnumText(columns.Text):
    """A column class of an application: it stores an enumeration as text."""

    def validate(self, value: Any) -> Any:
        return None if value is None else Kind(value)

    def to_python(self, value: Any) -> Any:
        return None if value is None else Kind(value)

    def to_database(self, value: Any) -> Any:
        return value.value if isinstance(value, Kind) else value


class Point(UserType):
    x = columns.Integer()
    at = columns.DateTime()


class M(Model):
    """The model of most tests: `p` is the key, and `s`, `l` and `m` are collections."""

    p = columns.Integer(primary_key=True)
    a = columns.Integer()
    s = columns.Set(columns.Integer)
    l = columns.List(columns.Integer)  # noqa: E741
    m = columns.Map(columns.Integer, columns.Integer)


class Enums(Model):
    """A model whose key and collection use the column class of an application."""

    p: Any = EnumText(primary_key=True)
    k: Any = EnumText()
    s: Any = columns.Set(EnumText)


class Places(Model):
    """A model whose primary key has an integer, a user-defined type and a date."""

    p = columns.Integer(primary_key=True)
    q = columns.UserDefinedType(Point, primary_key=True)
    t = columns.Tuple(columns.Integer, columns.DateTime)
    d = columns.Date(primary_key=True)


class Json(columns.Text):
    """A column class of an application: it stores any object as JSON."""

    def validate(self, value: Any) -> Any:
        return value

    def to_python(self, value: Any) -> Any:
        return json.loads(value) if isinstance(value, str) else value

    def to_database(self, value: Any) -> Any:
        return json.dumps(value)


class Document(Model):
    p = columns.Integer(primary_key=True)
    j: Any = Json()
    s = columns.Set(columns.Integer)
    m = columns.Map(columns.Integer, columns.Integer)
    t: Any = columns.Tuple(columns.Set(columns.Integer), columns.Integer)


class Moment(Model):
    """A model for timestamps and addresses that are converted."""

    p = columns.DateTime(primary_key=True)
    host = columns.Inet(primary_key=True)


class Animal(Model):
    """A model whose table also has the rows of a subclass."""

    p = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True)
    a = columns.Integer()


class Cat(Animal):
    __discriminator_value__ = "cat"
    lives = columns.Integer()


@pytest.fixture(scope="module", autouse=True)
def tables(mapper: str) -> None:
    """Create the tables of the models above."""
    synced(M, Enums, Places, Document, Moment, Animal, Cat)


@pytest.fixture(autouse=True)
def empty(tables: None) -> None:
    """Empty all tables before each test."""
    for model in (M, Enums, Places, Document, Moment, Animal):
        connection.execute(f"TRUNCATE {model.column_family_name()}")


@pytest.fixture
def other(mapper: str) -> Iterator[str]:
    """Yield the name of another keyspace with the same tables."""
    name = new_keyspace_name()
    management.create_keyspace_simple(name, 1)
    management.sync_table(M, keyspaces=[name])
    management.sync_table(Animal, keyspaces=[name])
    management.sync_table(Cat, keyspaces=[name])
    yield name
    management.drop_keyspace(name)


# -- the keyspace and the connection -----------------------------------------------------------


def _read(keyspace: str, reading_method: str) -> Any:
    """Read the row p=1 of the model `M` in a keyspace, in one of four ways."""
    rows: Any = M.objects.using(keyspace=keyspace)
    if reading_method == "context":
        with ContextQuery(M, keyspace=keyspace) as context:
            return context.get(p=1)
    readers: dict[str, Any] = {
        "get": lambda: rows.get(p=1),
        "first": rows.first,
        "iteration": lambda: next(iter(rows)),
    }
    return readers[reading_method]()


@pytest.mark.parametrize("reading_method", ["get", "first", "iteration", "context"])
def test_instances_write_to_the_keyspace_that_they_were_read_from(
    other: str, reading_method: str
) -> None:
    """An instance saves, updates and deletes its row where the row was read.

    The keyspace of the model itself does not matter, even after the instance was pickled.
    """
    M.objects.using(keyspace=other).create(p=1, a=1)
    rows = M.objects.using(keyspace=other)
    instance = _read(other, reading_method)
    assert type(instance).__keyspace__ == other
    assert isinstance(instance, M)
    instance.a = 2
    instance.save()
    assert rows.get(p=1).a == 2
    instance.update(a=3)
    assert rows.get(p=1).a == 3
    with BatchQuery() as batch:
        instance.batch(batch).update(a=4)
    # A pickled instance keeps its keyspace.
    unpickled = pickle.loads(pickle.dumps(instance))
    assert unpickled == instance
    assert unpickled == rows.get(p=1)
    unpickled.update(a=5)
    assert rows.get(p=1).a == 5
    # Nothing was written to the model's own keyspace, and nothing is deleted there.
    assert M.objects.count() == 0
    M.create(p=1, a=7)
    instance.delete()
    assert rows.count() == 0
    assert M.get(p=1).a == 7


def test_created_instances_stay_in_their_keyspace(other: str) -> None:
    """An instance updates its row in the keyspace of its creation, even after it was pickled."""
    created = M.objects.using(keyspace=other).create(p=1, a=1)
    pickle.loads(pickle.dumps(created)).update(a=2)
    assert M.objects.using(keyspace=other).get(p=1).a == 2
    assert M.objects.count() == 0


def test_subclasses_on_one_table_stay_in_their_keyspace(other: str) -> None:
    """An instance of a subclass that shares a table updates the keyspace that it was read from."""
    with ContextQuery(Cat, keyspace=other) as context:
        context.create(p=1, lives=9)
    for rows in (Animal.objects.using(keyspace=other), Cat.objects.using(keyspace=other)):
        cat = rows.get(p=1)
        assert isinstance(cat, Cat)
        cat.update(lives=cat.lives - 1)
    with ContextQuery(Animal, keyspace=other) as context:
        context.get(p=1).update(lives=3)
    assert Animal.objects.count() == 0
    assert Cat.objects.using(keyspace=other).get(p=1).lives == 3


def test_instances_write_to_the_connection_that_they_were_read_on(
    mapper: str, node: LocalCluster
) -> None:
    """An instance uses the connection that it was read on, and fails without that connection."""
    connection.register_connection(
        "second", node.contact_points, cluster_options={"port": node.port}
    )
    try:
        M.create(p=1, a=1)
        instance = M.objects.using(connection="second").get(p=1)
        assert type(instance).__connection__ == "second"
        instance.update(a=2)
        assert M.get(p=1).a == 2
    finally:
        connection.unregister_connection("second")
    with pytest.raises(connection.CQLEngineException, match="second"):
        instance.update(a=3)


async def test_awaited_instances_write_to_their_keyspace(other: str, awaited: str) -> None:
    """The awaitable methods write to the keyspace in which the instance was read or created."""
    rows = M.objects.using(keyspace=other, connection=awaited)
    await rows.acreate(p=1, a=1)
    row = await rows.aget(p=1)
    await row.aupdate(a=2)
    (row,) = await rows.aall()
    assert row.a == 2
    await row.adelete()
    assert await rows.acount() == 0
    # Nothing was written to the model's own keyspace.
    assert M.objects.count() == 0


def test_filtering_by_a_user_type_or_tuple_does_not_change_the_value(mapper: str) -> None:
    """Filter values that become the key of an instance stay as they were passed.

    If they were converted for CQL, `save` would write another row.
    """
    timestamp = datetime.datetime(2024, 2, 29, 12)
    point = Point(x=1, at=timestamp)
    Places.create(p=1, q=point, t=(1, timestamp), d=datetime.date(2024, 2, 29))
    rows = Places.objects.filter(p=1, q=point, t=(1, timestamp), d="2024-02-29").allow_filtering()
    for row in (rows.get(), Places.objects.filter(p=1, q=point).get()):
        assert row.q == point
        assert row.q.at == timestamp
        assert row.t == (1, timestamp)
        assert str(row.d) == "2024-02-29"
        row.t = (2, timestamp)
        row.save()
    # If `filter` had changed a key value, save() would have written another row.
    assert Places.objects.count() == 1


def test_register_connection_passes_the_consistency_to_the_session(node: LocalCluster) -> None:
    """The session has the consistency level, and its rows are dicts, as the mapper needs."""
    registered = connection.register_connection(
        "settings",
        node.contact_points,
        consistency=ConsistencyLevel.QUORUM,
        cluster_options={"port": node.port},
    )
    try:
        assert registered.session.default_consistency_level == ConsistencyLevel.QUORUM
        row = connection.get_session("settings").execute("SELECT key FROM system.local").one()
        assert row == {"key": "local"}
    finally:
        connection.unregister_connection("settings")


# -- names, timestamps, nulls ------------------------------------------------------------------


def test_class_names_become_snake_case_names_of_tables_and_types() -> None:
    """Class names become names of tables and types by the rules of cassandra-driver."""
    for name, table in {
        "OAuth2Token": "oauth2token",
        "S3Object": "s3object",
        "_Private": "private",
        "ExampleModel": "example_model",
    }.items():
        model: Any = type(name, (Model,), {"p": columns.Integer(primary_key=True)})
        assert model.column_family_name(include_keyspace=False) == table
        user_type: Any = type(name, (UserType,), {"x": columns.Integer()})
        assert user_type.type_name() == table


@pytest.fixture(params=["America/New_York", "Asia/Tokyo"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the test in another time zone."""
    if not hasattr(time, "tzset"):
        pytest.skip("the zone of a process cannot be set here")
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_naive_timestamps_are_local_time() -> None:
    """A naive datetime for ``timestamp`` is local time, not UTC.

    Each change has a timestamp a few seconds later than the change before, so it must win.
    """
    five_seconds = datetime.timedelta(seconds=5)
    M.create(p=8, a=1)
    M.objects(p=8).timestamp(datetime.datetime.now() + five_seconds).delete()
    assert M.objects(p=8).count() == 0
    M.create(p=9, a=1)
    with BatchQuery(timestamp=datetime.datetime.now() + five_seconds) as batch:
        M.objects(p=9).batch(batch).update(a=2)
    assert M.get(p=9).a == 2
    M.objects(p=9).timestamp(datetime.datetime.now() + 2 * five_seconds).update(a=3)
    assert M.get(p=9).a == 3


@pytest.mark.parametrize("way_of_writing", ["update", "assigned", "deferred"])
def test_nulls_that_were_set_are_written(way_of_writing: str) -> None:
    """Setting None or an empty collection deletes the stored value.

    This holds for `update`, and for assignments to an instance whose columns were not read.
    """
    M.create(p=4, a=1, s={5}, l=[5], m={5: 5})
    empty: dict[str, Any] = {"a": None, "s": set(), "l": [], "m": {}}
    if way_of_writing == "update":
        M(p=4).update(**empty)
    else:
        # "assigned": the instance is made from its key alone. "deferred": it is read from the table
        # without these columns.
        is_assigned = way_of_writing == "assigned"
        row = M(p=4).save() if is_assigned else M.objects.defer(["a", "s", "l", "m"]).get(p=4)
        for name, value in empty.items():
            setattr(row, name, value)
        assert row.get_changed_columns() == ["a", "s", "l", "m"]
        row.save()
        assert row.get_changed_columns() == []
    row_read: Any = M.get(p=4)
    assert (row_read.a, row_read.s, row_read.l, row_read.m) == (None, set(), [], {})


def test_an_assigned_set_replaces_the_stored_one_and_an_added_item_does_not() -> None:
    """For a set that was not read, assigning overwrites all items, and `add` sends one item."""
    M.create(p=1, s={5})
    row = M(p=1, a=2).save()
    row.s = {1}
    row.save()
    assert M.get(p=1).s == {1}
    M.create(p=2, s={5})
    M(p=2).update(s={1})
    assert M.get(p=2).s == {1}
    # Adding to a set that was not read sends only the added item.
    row = M(p=1, a=2).save()
    row.s.add(7)
    row.save()
    assert M.get(p=1).s == {1, 7}


# -- batches -----------------------------------------------------------------------------------


def test_later_changes_of_an_instance_go_to_its_batch_until_it_is_executed() -> None:
    """`save`, `update` and `delete` of an instance in a batch do nothing until `execute`."""
    batch = BatchQuery()
    row = M.batch(batch).create(p=1, a=1)
    row.a = 2
    row.save()  # both writes have the batch's timestamp, so the greater value remains
    assert M.objects.count() == 0
    batch.execute()
    assert M.get(p=1).a == 2
    row.update(a=3)
    # After the batch was executed, the instance is no longer part of the batch.
    assert M.get(p=1).a == 3

    # `batch` puts the instance into another batch.
    row, batch = M.get(p=1), BatchQuery()
    row.batch(batch)
    row.update(a=9)
    row.delete()
    batch.execute()
    assert M.objects.count() == 0

    # This batch is never executed, so nothing is deleted.
    row, batch = M.create(p=1), BatchQuery()
    row.batch(batch).save()
    row.delete()
    assert M.objects.count() == 1


def test_after_an_error_in_the_block_an_instance_is_no_longer_in_the_batch() -> None:
    """After an error in the block of a batch, `save` writes at once."""
    row = M.create(p=1, a=1)
    with contextlib.suppress(RuntimeError), BatchQuery() as batch:
        row.batch(batch).update(a=2)
        raise RuntimeError
    row.save()
    assert M.get(p=1).a == 2


def test_a_batch_writes_the_values_at_the_time_of_save() -> None:
    """A batch writes the values that the instance had when `save` was called."""
    batch = BatchQuery()
    row = M(p=1, a=1, s={1}, l=[1], m={1: 1})
    row.batch(batch).save()
    # Later changes are not part of the batch.
    row.a = 50
    row.s.add(7)
    row.l.append(7)
    row.m[7] = 7
    batch.execute()
    stored = M.get(p=1)
    assert (stored.a, stored.s, stored.l, stored.m) == (1, {1}, [1], {1: 1})


# -- filters, conditions, types ----------------------------------------------------------------


def test_filters_convert_values_of_a_users_column() -> None:
    """Filters, conditions and updates convert values with `to_database` of the column's class."""
    Enums.create(p=Kind.A, k=Kind.B, s={Kind.A})
    assert Enums.get(p=Kind.A).k is Kind.B
    assert Enums.objects.filter(p__in=[Kind.A, Kind.B]).count() == 1
    assert Enums.objects.filter(Enums.p == Kind.A).get().p is Kind.A
    rows = Enums.objects.filter(p=Kind.A)
    rows.iff(k=Kind.B).update(k=Kind.A)
    rows.update(s__add={Kind.B})
    assert rows.get().s == {Kind.A, Kind.B}
    assert Enums.objects.filter(s__contains=Kind.B).allow_filtering().count() == 1
    rows.delete()
    assert Enums.objects.count() == 0


def test_a_failed_condition_of_a_named_table_raises(mapper: str) -> None:
    """A conditional delete on a `NamedTable` raises LWTException if the condition is not met."""
    M.create(p=1, a=1)
    rows = NamedTable(mapper, "m").objects.filter(p=1)
    with pytest.raises(LWTException):
        rows.iff(a=9).delete()
    rows.iff(a=1).delete()
    assert M.objects.count() == 0


def test_default_ttl_of_a_class_only_warns_and_the_table_option_works(mapper: str) -> None:
    """`__default_ttl__` only causes a warning; the option `default_time_to_live` sets the TTL."""

    class Expiring(Model):
        __default_ttl__ = 3600
        p = columns.Integer(primary_key=True)

    class ModelWithOption(Model):
        __options__ = {"default_time_to_live": 3600}
        p = columns.Integer(primary_key=True)

    # The warning comes at each call, not only at the first one.
    for _ in range(2):
        with pytest.warns(UserWarning, match="Expiring.__default_ttl__"):
            management.sync_table(Expiring)
    synced(ModelWithOption)
    assert ModelWithOption.__default_ttl__ == 3600
    query = "SELECT default_time_to_live AS t FROM system_schema.tables WHERE keyspace_name=%s"
    defaults = [
        connection.execute(f"{query} AND table_name=%s", (mapper, name)).one()["t"]
        for name in ("expiring", "model_with_option")
    ]
    assert defaults == [0, 3600]


def test_values_of_a_user_type_that_has_got_a_field_are_written(mapper: str) -> None:
    """After a field was added to a user type, values with the new field are written and read."""

    # Both classes describe the user-defined type `f`, before and after the field `y` was added.
    class OldType(UserType):
        __type_name__ = "f"
        x = columns.Integer()

    class NewType(UserType):
        __type_name__ = "f"
        x = columns.Integer()
        y = columns.Integer()

    class OldModel(Model):
        p = columns.Integer(primary_key=True)
        f = columns.UserDefinedType(OldType)

    class NewModel(Model):
        __table_name__ = "old_model"
        p = columns.Integer(primary_key=True)
        f = columns.UserDefinedType(NewType)

    synced(OldModel)
    OldModel.create(p=1, f=OldType(x=1))
    synced(NewModel)
    NewModel.create(p=2, f=NewType(x=1, y=2))
    assert NewModel.get(p=2).f == NewType(x=1, y=2)


def test_a_queryset_ignores_unknown_names_and_a_model_refuses_them() -> None:
    """An unknown name `zz` has no effect in a queryset, and raises an error in a model."""
    M.objects.create(p=3, zz=3)
    M.objects.if_not_exists().create(p=4, zz=3)
    assert sorted(row.p for row in M.objects) == [3, 4]
    with pytest.raises(ValidationError, match="Incorrect columns passed: zz"):
        M.create(p=5, zz=3)


def test_values_list_returns_values_without_the_column_conversions() -> None:
    """`values_list` returns what the driver reads: columns do not convert it with `to_python`."""
    Document.create(p=1, j={"a": [1]}, s={2, 1}, m={1: 2})
    rows = Document.objects.filter(p=1)
    assert list(rows.values_list("j", flat=True)) == ['{"a": [1]}']
    ((set_value, map_value),) = rows.values_list("s", "m")
    # These are the driver's own types: you can index the items of a SortedSet by position, and the
    # values of an OrderedMapSerializedKey by key.
    assert type(set_value).__name__ == "SortedSet"
    assert set_value[0] == 1
    assert type(map_value).__name__ == "OrderedMapSerializedKey"
    assert map_value[1] == 2
    assert rows.get().j == {"a": [1]}


def test_prepared_statements_are_executed(mapper: str) -> None:
    prepared = connection.get_session().prepare(f"INSERT INTO {mapper}.m (p, a) VALUES (?, ?)")
    connection.execute(prepared, (1, 2))
    connection.execute(prepared.bind((2, 3)))
    assert [M.get(p=1).a, M.get(p=2).a] == [2, 3]


def test_pk_stands_for_the_partition_key_in_filters_and_instances() -> None:
    """The attribute `pk` of a model or an instance is its partition key."""
    M.create(p=1, a=2)
    # Use `Any`: a type checker does not know the attribute `pk`.
    model: Any = M
    assert M.filter(model.pk == 1).get().a == 2
    assert M.get(model.pk.in_([1])).a == 2
    row: Any = M(a=7)
    row.pk = 7
    row.save()
    assert (M.get(p=7).a, row.pk) == (7, 7)
    row_of_places: Any = Places(p=1)
    assert row_of_places.pk == 1


def test_a_subclass_that_adds_nothing_shares_the_table(mapper: str) -> None:
    """A subclass uses the table of its base, unless it adds columns; then it has a new table."""

    class Sub(M):
        def double(self) -> int:
            return 2 * self.a

    class Further(Sub):
        pass

    class More(M):
        b = columns.Integer()

    M.create(p=1, a=4)
    assert Sub.get(p=1).double() == 8
    assert Further.get(p=1).double() == 8
    assert More.column_family_name() == f"{mapper}.more"


@pytest.mark.parametrize(
    "values",
    [range(3), (number for number in range(3)), {0: 1, 1: 1, 2: 1}.keys(), deque(range(3))],
)
def test_a_list_column_accepts_any_iterable(values: Any) -> None:
    M.create(p=1, l=values)
    assert M.get(p=1).l == [0, 1, 2]


def test_a_set_column_accepts_any_iterable_except_a_string() -> None:
    """A set column accepts a tuple, a list and a generator."""
    iterables: list[Any] = [(1, 2), [2, 1], (number for number in (1, 2))]
    for iterable in iterables:
        M.create(p=1, s=iterable)
        assert M.get(p=1).s == {1, 2}
    string: Any = "12"
    with pytest.raises(ValidationError):
        M.create(p=1, s=string)


def test_times_before_1970_and_mapped_ipv4_addresses_are_stored_as_by_cassandra_driver(
    mapper: str,
) -> None:
    """A time before 1970 and an IPv4-mapped address are converted, and can be found by a filter."""
    Moment.create(p=datetime.datetime(1960, 1, 2, 3, 4, 5, 999), host="::ffff:1.2.3.4")
    # Microseconds are rounded up to milliseconds, and the address is stored as IPv4.
    assert connection.execute(f"SELECT * FROM {mapper}.moment").one() == {
        "p": datetime.datetime(1960, 1, 2, 3, 4, 5, 1000),
        "host": "1.2.3.4",
    }
    rows = Moment.objects.filter(p=datetime.datetime(1960, 1, 2, 3, 4, 5, 999))
    assert rows.filter(host="::ffff:1.2.3.4").count() == 1


def test_a_null_set_in_a_tuple_is_read_as_an_empty_set() -> None:
    Document.create(p=1)
    assert Document.get(p=1).t is None
    Document.create(p=2, t=(None, 2))
    assert Document.get(p=2).t == (set(), 2)


def test_arguments_that_are_converted_or_rejected() -> None:
    """The mapper accepts and rejects the same unusual arguments as cassandra-driver."""
    assert BatchQuery("unlogged").batch_type == BatchType.Unlogged
    no_timestamp: Any = "x"
    with pytest.raises(connection.CQLEngineException):
        BatchQuery(timestamp=no_timestamp)
    with pytest.raises(QueryException):
        M.objects.filter(p__token=functions.Token(0))
    with pytest.raises(ValidationError):
        columns.Text().validate(bytearray(b"\xff"))
    with pytest.raises(ModelDefinitionException, match="_row"):
        type("Rows", (Model,), {"_row": columns.Integer(primary_key=True)})
    with pytest.raises(ValidationError):
        columns.Set(columns.Column)

    class TypeWithFieldName(UserType):
        long = columns.Integer(db_field="xx")

    # The keyword argument has the attribute's name, although the field has another name in CQL.
    value: Any = TypeWithFieldName(long=5)
    assert value.xx == 5


def test_an_index_gets_the_servers_default_name(mapper: str) -> None:
    """An index has the name that the server chooses, so a second sync adds no second index."""

    class Indexed(Model):
        p = columns.Integer(primary_key=True)
        a = columns.Integer(index=True)

    synced(Indexed, Indexed)
    rows = connection.execute(
        "SELECT index_name FROM system_schema.indexes WHERE keyspace_name=%s", (mapper,)
    )
    assert "indexed_a_idx" in [row["index_name"] for row in rows]


def test_a_wrapper_of_execute_sees_each_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mapper calls `Session.execute` for each statement, so tools can wrap that method."""
    first_words = []
    execute = Session.execute

    def record_and_execute(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        """Record the first word of the query, and execute it."""
        first_words.append(getattr(query, "query_string", query).split()[0])
        return execute(self, query, *args, **kwargs)

    monkeypatch.setattr(Session, "execute", record_and_execute)
    row = M.create(p=1, a=1)
    row.update(a=2)
    assert [stored.a for stored in M.objects] == [2]
    with BatchQuery() as batch:
        row.batch(batch).delete()
    connection.execute("SELECT key FROM system.local")
    assert M.objects.consistency(ConsistencyLevel.ONE).count() == 0
    assert first_words == ["INSERT", "UPDATE", "SELECT", "BEGIN", "SELECT", "SELECT"]


def test_adding_or_removing_an_empty_collection_changes_nothing() -> None:
    """Operations with empty collections leave all three collections as they are."""
    M.create(p=1, a=1, s={1}, l=[1], m={1: 1})
    rows = M.objects(p=1)
    rows.update(s__add=set(), l__append=[], m__update={})
    rows.update(s__remove=set(), l__prepend=[], a=2)
    stored = M.get(p=1)
    assert (stored.a, stored.s, stored.l, stored.m) == (2, {1}, [1], {1: 1})


def test_static_columns_without_a_clustering_key(mapper: str) -> None:
    """If you pass None for the clustering column, `create` writes only the static column.

    The explicit None has precedence over the column's default.
    """

    class ModelWithStatic(Model):
        p = columns.Integer(primary_key=True)
        c = columns.Integer(primary_key=True, default=5)
        s = columns.Integer(static=True)

    synced(ModelWithStatic)
    ModelWithStatic.create(p=1, c=None, s=7)
    row = connection.execute(f"SELECT * FROM {mapper}.model_with_static").one()
    assert row == {"p": 1, "c": None, "s": 7}


def test_a_named_table_can_be_filtered_by_token_of_pk_only(mapper: str) -> None:
    """A `NamedTable` compares a token with `pk__token`, but not with a single column of the key."""
    for p in range(5):
        M.create(p=p)
    table = NamedTable(mapper, "m")
    keys_after_1 = [row.p for row in table.filter(pk__token__gt=functions.Token(1))]
    assert keys_after_1 == [row.p for row in M.filter(pk__token__gt=functions.Token(1))]
    with pytest.raises(QueryException):
        table.filter(p__gt=functions.Token(1))


def test_mistakes_raise_or_warn_without_a_request() -> None:
    """Mistakes in models, instances and batches raise or warn before anything is sent."""

    class ModelWithUnknownOption(Model):
        __options__ = {"remark": "x"}
        p = columns.Integer(primary_key=True)

    no_model: Any = object
    with pytest.raises(KeyError, match="remark"):
        management.sync_table(ModelWithUnknownOption)
    with pytest.raises(connection.CQLEngineException, match="derived from base Model"):
        management.sync_table(no_model)
    row = M(p=1)
    with pytest.raises(AttributeError):
        del row.p  # columns of the primary key cannot be deleted
    counter = columns.Counter()
    counter.primary_key = True
    with pytest.raises(ModelDefinitionException, match="counter"):
        type("Counted", (Model,), {"p": columns.Integer(primary_key=True), "c": counter})
    batch = BatchQuery()
    batch.execute()
    with pytest.warns(UserWarning, match=r"^Batch executed multiple times"):
        batch.execute()


def test_columns_sort_in_the_order_of_their_creation() -> None:
    first, second = columns.Integer(), columns.Text()
    reversed_columns: list[Any] = [second, first]
    assert sorted(reversed_columns) == [first, second]


# Column names that CQL accepts only in quotes.
NAMES_TO_QUOTE = [
    'a"b', 'x" int); DROP', "MixedCase", "with space", "select", "semi;colon", "it's", "1st",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES_TO_QUOTE)
def test_column_names_are_quoted_in_every_statement(mapper: str, name: str) -> None:
    """A model works with any characters in the CQL names of its columns."""

    class Nasty(Model):
        p = columns.Integer(primary_key=True)
        c = columns.Integer(primary_key=True, db_field=name)
        v = columns.Integer(db_field=name + "v")
        s = columns.Set(columns.Integer, db_field=name + "s")

    connection.execute(f"DROP TABLE IF EXISTS {Nasty.column_family_name()}")
    synced(Nasty)
    assert management.sync_table(Nasty) == []
    row = Nasty.create(p=1, c=2, v=3, s={4})
    row.v = 5
    row.s.add(6)
    row.save()
    # Read, update, delete and drop with the name in each kind of statement.
    rows = Nasty.objects.filter(p=1, c__gte=1).order_by("-c").only(["v", "s"])
    assert (rows.get().v, rows.get().s) == (5, {4, 6})
    Nasty.objects(p=1, c=2).iff(v=5).update(v=7, s__remove={4})
    table = NamedTable(mapper, "nasty")
    row_of_table = table.filter(p=1, **{name: 2}).only([name, name + "v"]).get()
    assert row_of_table == {name: 2, name + "v": 7}
    row.delete()
    assert Nasty.objects.count() == 0
    management.drop_table(Nasty)


@pytest.mark.parametrize("name", ["MixedCase", "select", "mixed_case"])
def test_case_sensitive_table_names_are_quoted(mapper: str, name: str) -> None:
    """With `__table_name_case_sensitive__`, a model's table keeps the case of its name."""

    class Nasty(Model):
        __table_name__ = name
        __table_name_case_sensitive__ = True
        p = columns.Integer(primary_key=True)

    synced(Nasty)
    Nasty.create(p=1)
    assert NamedTable(mapper, name).get(p=1).p == 1
    with ContextQuery(Nasty, keyspace=mapper) as context:
        assert context.get(p=1) == Nasty(p=1)
    management.drop_table(Nasty)


def test_a_named_table_lowercases_its_name(mapper: str) -> None:
    M.create(p=1)
    assert NamedTable(mapper, "M").get(p=1).p == 1
