"""Mapper programs that could lose data, or could behave differently with turbocql.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
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

OWN_KEYSPACE = True  # each program gets a new keyspace
STATEMENTS = False  # do not compare the requests that the node receives


def _make_model(name="M", **more):
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


def _set_up_model(context, **more):
    """Connect the mapper, create the table of a model, and return the model."""
    context.set_up_mapper()
    model = _make_model(**more)
    sync_table(model)
    return model


def naive_timestamps(context):
    """Pass datetimes without a time zone as timestamps of writes."""
    M = _set_up_model(context)
    M.create(p=8, a=1)
    now = datetime.datetime.now()
    context.record_call(
        "delete", lambda: M.objects(p=8).timestamp(now + datetime.timedelta(seconds=2)).delete()
    )
    context.record("left", M.objects(p=8).count())
    M.create(p=9, a=1)
    M.objects(p=9).timestamp(now + datetime.timedelta(seconds=5)).update(a=2)
    context.record("updated", M.get(p=9).a)
    with BatchQuery(timestamp=now + datetime.timedelta(seconds=9)) as batch:
        M.objects(p=9).batch(batch).update(a=3)
    context.record("batch", M.get(p=9).a)


def nulls_that_were_set(context):
    """Set columns to null and to empty collections."""
    M = _set_up_model(context)
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
        context.record_call(f"{values}", lambda values=values: M(p=4).update(**values))
        context.record(f"{values} left", M.get(p=4))
    M.create(p=4, a=1, s={5})
    instance = M.objects.defer(["a", "s"]).filter(p=4).first()
    instance.a, instance.s = None, set()
    instance.save()
    context.record("deferred", M.get(p=4))


def instances_in_batches(context):
    """Write instances in batches, and use the instances afterwards."""
    M = _set_up_model(context)
    batch = BatchQuery()
    instance = M.batch(batch).create(p=1, a=1)
    instance.a = 2
    instance.save()
    context.record("before", M.objects.count())
    batch.execute()
    context.record("after", M.get(p=1).a)
    got = M.get(p=1)
    batch = BatchQuery()
    got.batch(batch)
    got.update(a=9)
    got.delete()
    batch.execute()
    context.record("deleted", M.objects.count())
    M.create(p=1, a=1)
    got = M.get(p=1)
    got.batch(BatchQuery()).save()
    got.delete()
    context.record("never executed", M.objects.count())


class Kind(enum.Enum):
    A = "a"
    B = "b"


class EnumText(columns.Text):
    """A column class of an application: it stores an enumeration as text."""

    def validate(self, value):
        return None if value is None else Kind(value)

    def to_python(self, value):
        return None if value is None else Kind(value)

    def to_database(self, value):
        return value.value if isinstance(value, Kind) else value


class Json(columns.Text):
    """A column class of an application: it stores any object as JSON."""

    def validate(self, value):
        return value

    def to_python(self, value):
        return json.loads(value) if isinstance(value, str) else value

    def to_database(self, value):
        return None if value is None else json.dumps(value)


def columns_of_programs(context):
    """Use column classes that the application has defined."""
    context.set_up_mapper()

    class E(Model):
        p = EnumText(primary_key=True)
        j = Json()
        e = EnumText()

    sync_table(E)
    context.record_call("create", lambda: [E.create(p=Kind.A, j={"a": [1]}, e=Kind.B).p is Kind.A])
    context.record_call("get", lambda: E.get(p=Kind.A).j)
    context.record_call("filter", lambda: len(E.objects(p=Kind.A)))
    context.record_call("in", lambda: len(E.objects(p__in=[Kind.A])))
    context.record_call("expression", lambda: len(E.objects(E.p == Kind.A)))
    context.record_call("update", lambda: E.objects(p=Kind.A).update(e=Kind.A))
    context.record_call("iff", lambda: E.objects(p=Kind.A).iff(e=Kind.A).update(j=[2]))
    context.record_call("values_list", lambda: list(E.objects.values_list("j", flat=True)))
    context.record_call("delete", lambda: E.objects(p=Kind.A).delete())


def sets_that_are_assigned(context):
    """Assign a set whose row another writer has changed since it was read."""
    M = _set_up_model(context)
    for way in ("assign", "update", "add", "create"):
        instance = M.create(p=1)
        M.objects(p=1).update(s__add={5})
        if way == "assign":
            instance.s = {1}
            instance.save()
        elif way == "update":
            instance.update(s={1})
        elif way == "create":
            M.create(p=1, s={1})
        else:
            instance.s.add(1)
            instance.save()
        context.record(way, M.get(p=1).s)


def conditions_that_fail(context):
    """Delete a row of a named table, first with a condition that fails, then with one that holds.

    Also record the class of the error, whose module is public.
    """
    context.set_up_mapper()
    connection.get_session().execute(
        f"CREATE TABLE {context.keyspace}.named (p int PRIMARY KEY, v int)"
    )
    connection.get_session().execute(f"INSERT INTO {context.keyspace}.named (p, v) VALUES (1, 1)")
    table = NamedTable(context.keyspace, "named")
    context.record_call("delete", lambda: table.objects.filter(p=1).iff(v=9).delete())
    context.record_call("good", lambda: table.objects.filter(p=1).iff(v=1).delete())
    # Applications catch the error by this class, so all drivers must have it under the same name.
    context.record("class", LWTException)


def values_of_batches(context):
    """Change an instance after it was added to a batch."""
    M = _set_up_model(context)
    batch = BatchQuery()
    instance = M(p=1, a=1, s={1}, l=[1], m={1: 1})
    instance.batch(batch).save()
    instance.a = 50
    instance.s.add(7)
    instance.l.append(7)
    instance.m[7] = 7
    batch.execute()
    context.record("row", M.get(p=1))


def unknown_names(context):
    """Create instances with a column that the model does not have."""
    M = _set_up_model(context)
    context.record_call("queryset", lambda: M.objects.create(p=3, zz=3))
    context.record_call("if not exists", lambda: M.if_not_exists().create(p=4, zz=3))
    context.record_call("ttl", lambda: M.ttl(50).create(p=5, zz=3))
    context.record_call("model", lambda: M.create(p=6, zz=3))


def keys(context):
    """Filter by the attribute `pk` of a model, and set this attribute of an instance."""
    M = _set_up_model(context)
    M.create(p=1, a=1)
    context.record_call("filter", lambda: M.filter(M.pk == 1).count())
    context.record_call("in", lambda: M.filter(M.pk.in_([1])).count())
    instance = M.get(p=1)
    context.record_call("set", setattr, instance, "pk", 7)
    context.record("p", instance.p)


def iterables(context):
    """Assign several kinds of iterables to list and set columns."""
    M = _set_up_model(context)
    for name, value in {
        "range": range(3),
        "values": {"a": 1}.values(),
        "tuple": (1, 2),
        "map": [1, 2],
        "text": "ab",
        "bytes": b"ab",
    }.items():
        context.record_call(f"list {name}", lambda value=value: M.create(p=1, l=value).l)
        context.record_call(f"set {name}", lambda value=value: M.create(p=1, s=value).s)


def subclasses(context):
    """Read a row as an instance of a subclass, and record the name of the subclass's table."""
    M = _set_up_model(context)
    M.create(p=1)

    class Sub(M):
        def hello(self):
            return self.p

    context.record_call("read", lambda: Sub.get(p=1).hello())
    context.record_call("name", Sub.column_family_name)


def statements_of_the_connection(context):
    """Pass a prepared statement, a string and a number to the mapper's `connection.execute`."""
    M = _set_up_model(context)
    M.create(p=1, a=5)
    session = connection.get_session()
    prepared = session.prepare(f"SELECT a FROM {context.keyspace}.m WHERE p = ?")
    context.record_call("prepared", lambda: list(connection.execute(prepared, (1,))))
    context.record_call(
        "text", lambda: list(connection.execute(f"SELECT a FROM {context.keyspace}.m"))
    )
    context.record_call("number", lambda: connection.execute(5))


def types_that_grow(context):
    """Add a field to a user type that has values."""
    context.set_up_mapper()

    def make(**more):
        """Return a user type with the fields `x` and `more`, and a model that uses the type."""
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
    context.record_call("more", lambda: M4.create(p=2, f=F2(x=1, y=2)).f.y)
    context.record_call("read", lambda: [M4.get(p=1).f.y, M4.get(p=2).f.y])


def dates_before_1970(context):
    """Use a datetime before 1970 as a key."""
    context.set_up_mapper()

    class T(Model):
        p = columns.DateTime(primary_key=True)

    sync_table(T)
    when = datetime.datetime(1960, 1, 2, 3, 4, 5, 999)
    context.record_call("create", lambda: T.create(p=when).p)
    context.record_call("get", lambda: T.get(p=when).p)


def small_ones(context):
    """Call rarely used parts of the mapper."""
    M = _set_up_model(context)
    context.record_call("batch type", lambda: BatchQuery("unlogged").execute())
    context.record_call("timestamp", lambda: BatchQuery(timestamp="x").execute())
    context.record_call("counter", lambda: columns.Counter().default)
    context.record_call("column value", lambda: columns.Integer().value)
    context.record_call("cql type", lambda: columns.Integer().cql_type)
    context.record_call("cql type of class", lambda: columns.Integer.cql_type)
    context.record_call(
        "parameterized", lambda: columns.List(columns.Integer).cql_parameterized_type()
    )
    context.record_call("no type", lambda: columns.Set(columns.Column))
    context.record_call("bytearray", lambda: columns.Text().validate(bytearray(b"\xff")))
    context.record_call("ttl", lambda: (M.ttl(100).create(p=1), M.objects(p=1).count())[1])
