"""Mapper programs that once lost data or behaved differently with this driver.

Every function without an underscore is a program that each driver runs; `d` records the outcomes
(see `tests.differential.worker`).
"""

import datetime
import enum
import json

from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedTable
from cassandra.cqlengine.query import BatchQuery, LWTException
from cassandra.cqlengine.usertype import UserType

OWN_KEYSPACE = True
STATEMENTS = False


def _m(name="M", **more):
    """Return a model with a column of each kind, and further columns."""
    return type(
        name,
        (Model,),
        {
            "__module__": "programs",
            "p": columns.Integer(primary_key=True),
            "a": columns.Integer(),
            "s": columns.Set(columns.Integer),
            "l": columns.List(columns.Integer),
            "m": columns.Map(columns.Integer, columns.Integer),
            **more,
        },
    )


def _ready(d, **more):
    """Connect the mapper, create the table of a model, and return the model."""
    d.mapper()
    model = _m(**more)
    sync_table(model)
    return model


def naive_timestamps(d):
    M = _ready(d)
    M.create(p=8, a=1)
    now = datetime.datetime.now()
    d.tried(
        "delete", lambda: M.objects(p=8).timestamp(now + datetime.timedelta(seconds=2)).delete()
    )
    d.show("left", M.objects(p=8).count())
    M.create(p=9, a=1)
    M.objects(p=9).timestamp(now + datetime.timedelta(seconds=5)).update(a=2)
    d.show("updated", M.get(p=9).a)
    with BatchQuery(timestamp=now + datetime.timedelta(seconds=9)) as batch:
        M.objects(p=9).batch(batch).update(a=3)
    d.show("batch", M.get(p=9).a)


def nulls_that_were_set(d):
    M = _ready(d)
    for values in (
        {"a": None},
        {"s": None},
        {"l": None},
        {"m": None},
        {"s": set()},
        {"l": []},
        {"m": {}},
    ):
        M.create(p=4, a=1, s={5}, l=[5], m={5: 5})
        d.tried(f"{values}", lambda values=values: M(p=4).update(**values))
        d.show(f"{values} left", M.get(p=4))
    M.create(p=4, a=1, s={5})
    instance = M.objects.defer(["a", "s"]).filter(p=4).first()
    instance.a, instance.s = None, set()
    instance.save()
    d.show("deferred", M.get(p=4))


def instances_in_batches(d):
    M = _ready(d)
    batch = BatchQuery()
    instance = M.batch(batch).create(p=1, a=1)
    instance.a = 2
    instance.save()
    d.show("before", M.objects.count())
    batch.execute()
    d.show("after", M.get(p=1).a)
    got = M.get(p=1)
    batch = BatchQuery()
    got.batch(batch)
    got.update(a=9)
    got.delete()
    batch.execute()
    d.show("deleted", M.objects.count())
    M.create(p=1, a=1)
    got = M.get(p=1)
    got.batch(BatchQuery()).save()
    got.delete()
    d.show("never executed", M.objects.count())


class Kind(enum.Enum):
    A = "a"
    B = "b"


class EnumText(columns.Text):
    """A user's column: an enumeration, stored as text."""

    def validate(self, value):
        return None if value is None else Kind(value)

    def to_python(self, value):
        return None if value is None else Kind(value)

    def to_database(self, value):
        return value.value if isinstance(value, Kind) else value


class Json(columns.Text):
    """A user's column: any object, stored as JSON."""

    def validate(self, value):
        return value

    def to_python(self, value):
        return json.loads(value) if isinstance(value, str) else value

    def to_database(self, value):
        return None if value is None else json.dumps(value)


def columns_of_programs(d):
    d.mapper()

    class E(Model):
        p = EnumText(primary_key=True)
        j = Json()
        e = EnumText()

    sync_table(E)
    d.tried("create", lambda: [E.create(p=Kind.A, j={"a": [1]}, e=Kind.B).p is Kind.A])
    d.tried("get", lambda: E.get(p=Kind.A).j)
    d.tried("filter", lambda: len(E.objects(p=Kind.A)))
    d.tried("in", lambda: len(E.objects(p__in=[Kind.A])))
    d.tried("expression", lambda: len(E.objects(E.p == Kind.A)))
    d.tried("update", lambda: E.objects(p=Kind.A).update(e=Kind.A))
    d.tried("iff", lambda: E.objects(p=Kind.A).iff(e=Kind.A).update(j=[2]))
    d.tried("values_list", lambda: list(E.objects.values_list("j", flat=True)))
    d.tried("delete", lambda: E.objects(p=Kind.A).delete())


def sets_that_are_assigned(d):
    M = _ready(d)
    for how in ("assign", "update", "add", "create"):
        instance = M.create(p=1)
        M.objects(p=1).update(s__add={5})
        if how == "assign":
            instance.s = {1}
            instance.save()
        elif how == "update":
            instance.update(s={1})
        elif how == "create":
            M.create(p=1, s={1})
        else:
            instance.s.add(1)
            instance.save()
        d.show(how, M.get(p=1).s)


def conditions_that_fail(d):
    d.mapper()
    connection.get_session().execute(f"CREATE TABLE {d.keyspace}.named (p int PRIMARY KEY, v int)")
    connection.get_session().execute(f"INSERT INTO {d.keyspace}.named (p, v) VALUES (1, 1)")
    table = NamedTable(d.keyspace, "named")
    d.tried("delete", lambda: table.objects.filter(p=1).iff(v=9).delete())
    d.tried("good", lambda: table.objects.filter(p=1).iff(v=1).delete())
    d.show("class", LWTException)


def values_of_batches(d):
    M = _ready(d)
    batch = BatchQuery()
    instance = M(p=1, a=1, s={1}, l=[1], m={1: 1})
    instance.batch(batch).save()
    instance.a = 50
    instance.s.add(7)
    instance.l.append(7)
    instance.m[7] = 7
    batch.execute()
    d.show("row", M.get(p=1))


def unknown_names(d):
    M = _ready(d)
    d.tried("queryset", lambda: M.objects.create(p=3, zz=3))
    d.tried("if not exists", lambda: M.if_not_exists().create(p=4, zz=3))
    d.tried("ttl", lambda: M.ttl(50).create(p=5, zz=3))
    d.tried("model", lambda: M.create(p=6, zz=3))


def keys(d):
    M = _ready(d)
    M.create(p=1, a=1)
    d.tried("filter", lambda: M.filter(M.pk == 1).count())
    d.tried("in", lambda: M.filter(M.pk.in_([1])).count())
    instance = M.get(p=1)
    d.tried("set", setattr, instance, "pk", 7)
    d.show("p", instance.p)


def iterables(d):
    M = _ready(d)
    for name, value in {
        "range": range(3),
        "values": {"a": 1}.values(),
        "tuple": (1, 2),
        "map": [1, 2],
        "text": "ab",
        "bytes": b"ab",
    }.items():
        d.tried(f"list {name}", lambda value=value: M.create(p=1, l=value).l)
        d.tried(f"set {name}", lambda value=value: M.create(p=1, s=value).s)


def subclasses(d):
    M = _ready(d)
    M.create(p=1)

    class Sub(M):
        def hello(self):
            return self.p

    d.tried("read", lambda: Sub.get(p=1).hello())
    d.tried("name", Sub.column_family_name)


def statements_of_the_connection(d):
    M = _ready(d)
    M.create(p=1, a=5)
    session = connection.get_session()
    prepared = session.prepare(f"SELECT a FROM {d.keyspace}.m WHERE p = ?")
    d.tried("prepared", lambda: list(connection.execute(prepared, (1,))))
    d.tried("text", lambda: list(connection.execute(f"SELECT a FROM {d.keyspace}.m")))
    d.tried("number", lambda: connection.execute(5))


def types_that_grow(d):
    d.mapper()

    def make(**more):
        F = type("F", (UserType,), {"x": columns.Integer(), **more})
        model = type(
            "Grown",
            (Model,),
            {"p": columns.Integer(primary_key=True), "f": columns.UserDefinedType(F)},
        )
        sync_table(model)
        return F, model

    F, M3 = make()
    M3.create(p=1, f=F(x=1))
    F2, M4 = make(y=columns.Integer())
    d.tried("more", lambda: M4.create(p=2, f=F2(x=1, y=2)).f.y)
    d.tried("read", lambda: [M4.get(p=1).f.y, M4.get(p=2).f.y])


def dates_before_1970(d):
    d.mapper()

    class T(Model):
        p = columns.DateTime(primary_key=True)

    sync_table(T)
    when = datetime.datetime(1960, 1, 2, 3, 4, 5, 999)
    d.tried("create", lambda: T.create(p=when).p)
    d.tried("get", lambda: T.get(p=when).p)


def small_ones(d):
    M = _ready(d)
    d.tried("batch type", lambda: BatchQuery("unlogged").execute())
    d.tried("timestamp", lambda: BatchQuery(timestamp="x").execute())
    d.tried("counter", lambda: columns.Counter().default)
    d.tried("column value", lambda: columns.Integer().value)
    d.tried("cql type", lambda: columns.Integer().cql_type)
    d.tried("cql type of class", lambda: columns.Integer.cql_type)
    d.tried("parameterized", lambda: columns.List(columns.Integer).cql_parameterized_type())
    d.tried("no type", lambda: columns.Set(columns.Column))
    d.tried("bytearray", lambda: columns.Text().validate(bytearray(b"\xff")))
    d.tried("ttl", lambda: (M.ttl(100).create(p=1), M.objects(p=1).count())[1])
