"""The documented features of the mapper: models, queries, batches, connections.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
"""

import datetime
import decimal
import uuid

from cassandra.cqlengine import CQLEngineException, ValidationError, columns, connection, functions
from cassandra.cqlengine.management import (
    create_keyspace_simple,
    drop_keyspace,
    drop_table,
    sync_table,
    sync_type,
)
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedTable
from cassandra.cqlengine.query import (
    BatchQuery,
    BatchType,
    ContextQuery,
    DoesNotExist,
    LWTException,
    MultipleObjectsReturned,
)
from cassandra.cqlengine.usertype import UserType

OWN_KEYSPACE = True  # each program gets a new keyspace
STATEMENTS = False  # do not compare the requests that the node receives


def _person():
    """Return a new model class with a partition key and an index."""

    class Person(Model):
        id = columns.Integer(primary_key=True)
        first_name = columns.Text()
        last_name = columns.Text(index=True)
        age = columns.Integer(default=18)

    return Person


def _event():
    """Return a new model class with a clustering key, collections and a static column."""

    class Event(Model):
        day = columns.Text(partition_key=True)
        at = columns.Integer(primary_key=True, clustering_order="DESC")
        what = columns.Text(required=True)
        tags = columns.Set(columns.Text)
        steps = columns.List(columns.Integer)
        notes = columns.Map(columns.Text, columns.Text)
        shared = columns.Text(static=True)

    return Event


def getting_started(context):
    """Create, count, filter and get instances."""
    context.set_up_mapper()
    Person = _person()
    context.record_call("sync", sync_table, Person)
    context.record_call("create", Person.create, id=1, first_name="Ada", last_name="L")
    context.record_call("create two", lambda: Person.objects.create(id=2, first_name="Bob", age=5))
    context.record("count", Person.objects.count())
    context.record(
        "all", sorted((person.id, person.first_name, person.age) for person in Person.objects)
    )
    context.record("filter", [person.id for person in Person.objects.filter(last_name="L")])
    context.record("get", Person.objects.get(id=1))
    context.record_call("missing", Person.get, id=77)
    context.record_call("class", lambda: Person.DoesNotExist.__mro__[1])
    context.record_call("drop", drop_table, Person)


def instances(context):
    """Use an instance as a mapping, change it, and compare it."""
    context.set_up_mapper()
    Person = _person()
    sync_table(Person)
    person = Person(id=5, first_name="x")
    context.record("dict", dict(person))
    context.record("keys", list(person.keys()))
    context.record("values", list(person.values()))
    context.record("items", list(person.items()))
    context.record("item", [person["id"], len(person)])
    context.record_call("unknown item", lambda: person["nosuch"])
    context.record_call("set item", person.__setitem__, "first_name", "y")
    context.record("changed", person.get_changed_columns())
    context.record_call("save", person.save)
    context.record("changed after", person.get_changed_columns())
    person.age = 7
    context.record("changed age", [person.get_changed_columns(), person.column_family_name()])
    person.save()
    context.record_call("update", person.update, first_name="z", last_name="w")
    context.record_call("update unknown", person.update, nosuch=1)
    context.record_call("update key", person.update, id=6)
    context.record_call("text", str, person)
    context.record_call("repr", repr, person)
    context.record(
        "equal",
        [
            person == Person.get(id=5),
            person == Person(id=6),
            person != Person.get(id=5),
            person == 5,
        ],
    )
    context.record_call("hash", lambda: hash(person) == hash(Person.get(id=5)))
    context.record_call("pk", lambda: person.pk)
    context.record_call("row", lambda: Person.objects.filter(id=5).first())
    context.record_call("private columns", lambda: list(Person._columns))
    context.record_call("delete", person.delete)
    context.record("left", Person.objects.count())
    context.record_call("unknown name", lambda: Person(nosuch=1))
    context.record_call("bad value", lambda: Person(id="five"))
    context.record_call("bad at save", lambda: Person(id=1, age="old").save())
    context.record_call("no key", lambda: Person(first_name="x").save())
    context.record_call("no key create", lambda: Person.create(first_name="x"))


def definitions(context):
    """Define models and columns that are wrong, unusual, or have unusual names."""
    context.set_up_mapper()

    def model(**attributes):
        """Return a new model class with the attributes."""
        return type("Made", (Model,), {"__module__": "programs", **attributes})

    text, number = columns.Text, columns.Integer
    context.record_call("no key", model, a=text())
    context.record_call("no columns", model)
    context.record_call(
        "static", lambda: sync_table(model(a=text(primary_key=True), b=text(static=True)))
    )
    context.record_call(
        "two keys",
        lambda: model(a=text(primary_key=True), b=number(primary_key=True)).column_family_name(),
    )
    context.record_call(
        "composite",
        lambda: (
            model(
                a=text(partition_key=True), b=number(partition_key=True), c=number(primary_key=True)
            )(a="x", b=1, c=2).pk
        ),
    )
    context.record_call(
        "counter beside",
        lambda: sync_table(model(a=text(primary_key=True), b=columns.Counter(), c=text())),
    )
    context.record_call("counter index", lambda: columns.Counter(index=True))
    context.record_call("counter key", lambda: columns.Counter(primary_key=True))
    context.record_call("reserved", model, a=text(primary_key=True), filter=text())
    context.record_call("same name", model, a=text(primary_key=True), b=text(db_field="a"))
    context.record_call(
        "renamed", lambda: list(model(a=text(primary_key=True, db_field="z"))(a="x"))
    )
    context.record_call("abstract", lambda: model(__abstract__=True, a=text(primary_key=True))())
    context.record_call(
        "abstract table", lambda: sync_table(model(__abstract__=True, a=text(primary_key=True)))
    )
    context.record_call(
        "table name",
        lambda: model(a=text(primary_key=True), __table_name__="Mine").column_family_name(),
    )
    context.record_call(
        "case",
        lambda: model(
            a=text(primary_key=True), __table_name__="Mine", __table_name_case_sensitive__=True
        ).column_family_name(),
    )
    context.record_call(
        "keyspace", lambda: model(a=text(primary_key=True), __keyspace__="ks").column_family_name()
    )
    context.record_call(
        "without keyspace",
        lambda: model(a=text(primary_key=True), __keyspace__="ks").column_family_name(
            include_keyspace=False
        ),
    )
    context.record_call("list of anything", lambda: columns.List(object))
    context.record_call("list of lists", lambda: columns.List(columns.List(number)))
    context.record_call("map of one", lambda: columns.Map(text))
    context.record_call("min", lambda: columns.Text(min_length=-1))
    context.record_call("max", lambda: columns.Text(min_length=5, max_length=2))
    context.record_call("order", lambda: columns.Integer(clustering_order="SIDEWAYS"))
    context.record_call("tuple of none", columns.Tuple)
    for name in (
        "OAuth2Token",
        "S3Object",
        "_Private",
        "HTTPServer",
        "Foo2Bar",
        "A" * 60,
        "abc",
        "__X",
        "UserTYPE",
        "Käse",
        "X1Y2",
        "snake_case",
        "Mixed_Case",
    ):
        context.record_call(
            name,
            lambda name=name: type(
                name, (Model,), {"a": text(primary_key=True)}
            ).column_family_name(include_keyspace=False),
        )
        context.record_call(
            f"type {name}", lambda name=name: type(name, (UserType,), {"a": text()}).type_name()
        )


def options(context):
    """Create and change a table with options."""
    context.set_up_mapper()

    class Opted(Model):
        __options__ = {
            "comment": "it's mine",
            "gc_grace_seconds": 500,
            "default_time_to_live": 3600,
            "compaction": {"class": "LeveledCompactionStrategy", "sstable_size_in_mb": "64"},
        }
        id = columns.Integer(primary_key=True)
        v = columns.Text()

    context.record_call("sync", sync_table, Opted)
    Opted.__options__ = {"gc_grace_seconds": 900}
    context.record_call("changed", sync_table, Opted)
    context.record_call("default", lambda: Opted.__default_ttl__)


def changed_tables(context):
    """Synchronize a table whose model has changed."""
    context.set_up_mapper()

    def model(**more):
        """Return a model of the same table, with further or other columns."""
        return type(
            "Thing",
            (Model,),
            {"id": columns.Integer(primary_key=True), "v": columns.Text(), **more},
        )

    First = model()
    context.record_call("first", sync_table, First)
    First.create(id=1, v="x")
    Second = model(w=columns.Integer(index=True), xs=columns.Set(columns.Integer))
    context.record_call("second", sync_table, Second)
    context.record("read", Second.get(id=1))
    context.record_call("write", Second.create, id=2, v="y", w=5, xs={1, 2})
    Third = model(v=columns.Integer())
    context.record_call("other type", sync_table, Third)
    Fourth = model(k=columns.Integer(primary_key=True))
    context.record_call("other key", sync_table, Fourth)
    context.record_call("not a model", sync_table, 5)
    context.record_call("drop", drop_table, Second)
    context.record_call("drop again", drop_table, Second)


def filters(context):
    """Read with each kind of filter, order and slice."""
    context.set_up_mapper()
    Event = _event()
    sync_table(Event)
    for day in ("mon", "tue"):
        for number in range(5):
            Event.create(
                day=day,
                at=number,
                what=f"{day}{number}",
                tags={f"t{number}"},
                steps=[number],
                notes={"n": str(number)},
            )
    q = Event.objects
    queries = {
        "eq": lambda: q(day="mon"),
        "gt": lambda: q(day="mon", at__gt=2),
        "gte": lambda: q(day="mon", at__gte=2),
        "lt": lambda: q(day="mon").filter(at__lt=2),
        "lte": lambda: q(day="mon").filter(at__lte=2),
        "range": lambda: q(day="mon", at__gte=1, at__lt=3),
        "in": lambda: q(day="mon", at__in=[1, 3]),
        "in keys": lambda: q(day__in=["mon", "tue"], at=1),
        "in empty": lambda: q(day="mon", at__in=[]),
        "contains": lambda: q(day="mon", tags__contains="t1").allow_filtering(),
        "attributes": lambda: q.filter(Event.day == "mon", Event.at > 2),
        "attribute in": lambda: q.filter(Event.day.in_(["mon"])),
        "attribute contains": lambda: q.filter(Event.tags.contains_("t2")).allow_filtering(),
        "ordered": lambda: q(day="mon").order_by("at"),
        "reversed": lambda: q(day="mon").order_by("-at"),
        "limit": lambda: q(day="mon").limit(2),
        "limit none": lambda: q(day="mon").limit(None),
        "limit zero": lambda: q(day="mon").limit(0),
        "slice": lambda: q(day="mon")[1:3],
        "negative": lambda: q(day="mon")[-2:],
        "step": lambda: q(day="mon")[::2],
        "not key": lambda: q(what="mon1"),
        "not key filtering": lambda: q(what="mon1").allow_filtering(),
        "unknown": lambda: q(nosuch=1),
        "unknown operator": lambda: q(day__nosuch="mon"),
        "ne": lambda: q(day__ne="mon"),
        "like": lambda: q(what__like="mon%"),
        "none": lambda: q(day=None),
        "clustering alone": lambda: q(at=1),
        "token": lambda: q(pk__token__gt=functions.Token("mon")),
        "two orders": lambda: q(day="mon").order_by("at", "-at"),
        "order unknown": lambda: q(day="mon").order_by("nosuch"),
        "order other": lambda: q(day="mon").order_by("what"),
        "wrong type": lambda: q(day=5),
        "wrong at": lambda: q(day="mon", at="x"),
    }
    for name, make in queries.items():
        context.record_call(name, lambda make=make: [(event.day, event.at) for event in make()])
    context.record_call("count", lambda: q(day="mon").count())
    context.record_call("len", lambda: len(q(day="mon")))
    context.record_call("bool", lambda: bool(q(day="nosuch")))
    context.record_call("first", lambda: q(day="mon").first())
    context.record_call("first none", lambda: q(day="nosuch").first())
    context.record_call("get many", lambda: q(day="mon").get())
    context.record_call("get", lambda: q.get(day="mon", at=1).what)
    context.record_call("get filter", lambda: q(day="mon").get(at=2).what)
    context.record_call("index", lambda: q(day="mon")[1].at)
    context.record_call("index beyond", lambda: q(day="mon")[99])
    context.record_call("index negative", lambda: q(day="mon")[-1].at)
    context.record_call("distinct", lambda: sorted(event.day for event in q.distinct(["day"])))
    context.record_call("distinct all", lambda: sorted(event.day for event in q.distinct()))
    context.record_call("all", lambda: q.all().count())
    context.record_call("page", lambda: len(list(q.fetch_size(2))))
    context.record_call(
        "again", lambda: [event.at for event in (lambda s: list(s) + list(s))(q(day="mon"))]
    )


def what_querysets_give(context):
    """Read only some of the columns of rows."""
    context.set_up_mapper()
    Event = _event()
    sync_table(Event)
    Event.create(
        day="a", at=1, what="w", tags={"b", "a"}, steps=[2, 1], notes={"z": "y"}, shared="s"
    )
    Event.create(day="a", at=2, what="v")
    q = Event.objects(day="a")
    context.record("instances", list(q))
    context.record_call("only", lambda: list(q.only(["at", "what"])))
    context.record_call("only one attribute", lambda: q.only(["at"]).first().what)
    context.record_call("only unknown", lambda: list(q.only(["nosuch"])))
    context.record_call("only twice", lambda: list(q.only(["at"]).only(["what"])))
    context.record_call("defer", lambda: list(q.defer(["what"])))
    context.record_call("defer key", lambda: list(q.defer(["day"])))
    context.record_call("defer all", lambda: list(q.only(["at"]).defer(["at"])))
    context.record_call("values_list", lambda: list(q.values_list("at", "what")))
    context.record_call("flat", lambda: list(q.values_list("at", flat=True)))
    context.record_call("flat two", lambda: list(q.values_list("at", "what", flat=True)))
    context.record_call("no names", lambda: list(q.values_list()))
    context.record_call("unknown name", lambda: list(q.values_list("nosuch")))
    context.record_call("collections", lambda: list(q.values_list("tags", "steps", "notes")))
    context.record_call(
        "read", lambda: [type(getattr(q.first(), n)) for n in ("tags", "steps", "notes")]
    )
    context.record_call("empty ones", lambda: Event.get(day="a", at=2))


def updates(context):
    """Update rows with each kind of change."""
    context.set_up_mapper()
    Event = _event()
    sync_table(Event)
    Event.create(day="a", at=1, what="w", tags={"x"}, steps=[1, 2], notes={"k": "v"})
    q = Event.objects(day="a", at=1)
    for name, changes in {
        "plain": {"what": "new"},
        "none": {"what": None},
        "set add": {"tags__add": {"y", "z"}},
        "set remove": {"tags__remove": {"x"}},
        "set": {"tags": {"q"}},
        "set empty": {"tags": set()},
        "append": {"steps__append": [3, 4]},
        "prepend": {"steps__prepend": [9, 8]},
        "list": {"steps": [5]},
        "list remove": {"steps__remove": [5]},
        "map update": {"notes__update": {"a": "b", "c": None}},
        "map remove": {"notes__remove": {"k"}},
        "map": {"notes": {"only": "this"}},
        "static": {"shared": "s"},
        "unknown": {"nosuch": 1},
        "key": {"at": 2},
        "wrong": {"steps": "text"},
        "unknown operation": {"what__add": "x"},
        "nothing": {},
        "two": {"what": "two", "steps__append": [7]},
        "add none": {"tags__add": None},
        "append text": {"steps__append": "ab"},
    }.items():
        context.record_call(name, lambda changes=changes: q.update(**changes))
        context.record(f"{name} then", Event.get(day="a", at=1))
    context.record_call("many", lambda: Event.objects(day="a").update(what="x"))
    context.record_call("all", lambda: Event.objects.update(what="x"))
    context.record_call("ttl", lambda: q.ttl(100).update(what="short"))
    context.record_call(
        "timestamp", lambda: q.timestamp(datetime.timedelta(seconds=30)).update(what="later")
    )
    context.record_call("delete rows", lambda: Event.objects(day="a").delete())
    context.record_call("delete all", lambda: Event.objects.delete())
    context.record_call("delete filter", lambda: Event.objects(what="x").delete())
    context.record_call("delete columns", lambda: Event.objects(day="a", at=1).delete(["what"]))


def conditions(context):
    """Write with conditions that hold and conditions that fail."""
    context.set_up_mapper()
    Person = _person()
    sync_table(Person)
    context.record_call("new", lambda: Person.if_not_exists().create(id=1, first_name="a"))
    context.record_call("not new", lambda: Person.if_not_exists().create(id=1, first_name="b"))
    try:
        Person.objects.if_not_exists().create(id=1, first_name="c")
    except LWTException as error:
        context.record("existing", error.existing)
    person = Person.get(id=1)
    context.record_call("iff", lambda: person.iff(first_name="a").update(first_name="d"))
    context.record_call("iff wrong", lambda: person.iff(first_name="a").update(first_name="e"))
    context.record_call("iff unknown", lambda: person.iff(nosuch=1).update(first_name="e"))
    context.record_call("save", lambda: Person.get(id=1).iff(first_name="d").save())
    context.record_call("queryset", lambda: Person.objects(id=1).iff(first_name="x").update(age=3))
    context.record_call(
        "queryset good", lambda: Person.objects(id=1).iff(first_name="d").update(age=3)
    )
    context.record_call("if exists", lambda: Person.objects(id=9).if_exists().update(age=3))
    context.record_call("if exists instance", lambda: Person(id=9, age=3).if_exists().save())
    context.record_call("if exists update", lambda: Person.get(id=1).if_exists().update(age=5))
    context.record_call("delete if exists", lambda: Person.objects(id=9).if_exists().delete())
    context.record_call("delete iff", lambda: Person.objects(id=1).iff(age=99).delete())
    context.record_call("delete good", lambda: Person.objects(id=1).iff(age=5).delete())
    context.record_call(
        "with ttl", lambda: Person.if_not_exists().ttl(60).create(id=3, first_name="t")
    )
    context.record_call(
        "and timestamp",
        lambda: Person.if_not_exists().timestamp(datetime.timedelta(seconds=1)).create(id=4),
    )


def times_of_writes(context):
    """Write with a TTL or a timestamp."""
    context.set_up_mapper()
    Person = _person()
    sync_table(Person)
    stamp = datetime.datetime(2015, 6, 7, 8, 9, 10, 11)
    context.record_call("ttl", lambda: Person.ttl(200).create(id=1, first_name="a"))
    context.record_call("instance ttl", lambda: Person(id=2, first_name="b").ttl(200).save())
    context.record_call("stamp", lambda: Person.timestamp(stamp).create(id=3, first_name="c"))
    context.record_call("number", lambda: Person.timestamp(1_000_000).create(id=4, first_name="d"))
    context.record_call(
        "delta", lambda: Person.timestamp(datetime.timedelta(minutes=-5)).create(id=5)
    )
    context.record_call(
        "both", lambda: Person.ttl(200).timestamp(stamp).create(id=6, first_name="e")
    )
    context.record_call(
        "update", lambda: Person.objects(id=3).timestamp(stamp).update(first_name="x")
    )
    context.record_call(
        "older", lambda: Person.objects(id=1).timestamp(stamp).update(first_name="old")
    )
    context.record_call("delete older", lambda: Person.objects(id=1).timestamp(stamp).delete())
    context.record_call("kind", lambda: Person.timestamp("now").create(id=7))
    context.record_call("ttl kind", lambda: Person.ttl("x").create(id=8))
    context.record_call("ttl zero", lambda: Person.ttl(0).create(id=9))
    context.record_call("ttl none", lambda: Person.ttl(None).create(id=10))
    context.record_call("ttl negative", lambda: Person.ttl(-1).create(id=11))


def batches(context):
    """Write in batches of each kind."""
    context.set_up_mapper()
    Person = _person()
    sync_table(Person)
    batch = BatchQuery()
    Person.batch(batch).create(id=1, first_name="a")
    Person.batch(batch).create(id=2, first_name="b")
    context.record("before", Person.objects.count())
    context.record_call("execute", batch.execute)
    context.record("after", Person.objects.count())
    with BatchQuery() as batch:
        Person.batch(batch).create(id=3)
        person = Person.get(id=1)
        person.age = 40
        person.batch(batch).save()
        Person.objects(id=2).batch(batch).delete()
        Person.objects.batch(batch).create(id=4)
    try:
        with BatchQuery() as batch:
            Person.batch(batch).create(id=5)
            raise ValueError("x")
    except ValueError:
        pass
    try:
        with BatchQuery(execute_on_exception=True) as batch:
            Person.batch(batch).create(id=6)
            raise ValueError("x")
    except ValueError:
        pass
    context.record_call("empty", BatchQuery().execute)
    context.record_call("twice", lambda: [batch.execute(), batch.execute()])
    heard = []
    with BatchQuery() as batch:
        batch.add_callback(heard.append, 5)
        batch.add_callback(lambda *a, **k: heard.append((a, k)), 1, b=2)
        Person.batch(batch).create(id=7)
        context.record("not yet", list(heard))
    context.record("heard", heard)
    context.record_call("not callable", BatchQuery().add_callback, 5)
    with BatchQuery(batch_type=BatchType.Unlogged, timestamp=datetime.timedelta(seconds=5)) as b:
        Person.batch(b).create(id=8)
    with BatchQuery(timestamp=datetime.datetime(2016, 1, 1)) as b:
        Person.batch(b).create(id=9, first_name="old")
    for kind in ("LOGGED", "Unlogged", 0, None, "nosuch"):

        def go(kind=kind):
            with BatchQuery(batch_type=kind) as b:
                Person.batch(b).create(id=20)

        context.record_call(f"type {kind}", go)
    context.record_call("no batch", Person.batch, 5)
    context.record_call("conditions", lambda: _conditional(Person))


def _conditional(Person):
    """Write rows with conditions in a batch."""
    with BatchQuery() as batch:
        Person.batch(batch).if_not_exists().create(id=1, first_name="no")


def _hits_model(context):
    """Return a model with two counters, whose table exists."""
    context.set_up_mapper()

    class Hits(Model):
        page = columns.Text(primary_key=True)
        hits = columns.Counter()
        misses = columns.Counter()

    sync_table(Hits)
    return Hits


def counters(context):
    """Change counter columns."""
    Hits = _hits_model(context)
    context.record_call("default", lambda: Hits(page="x").hits)
    context.record_call("create", lambda: Hits.create(page="a"))
    counter = Hits.create(page="b", hits=5)
    counter.hits += 2
    context.record_call("save", counter.save)
    counter.update(misses=3)
    context.record("read", Hits.get(page="b"))
    context.record_call("queryset", lambda: Hits.objects(page="b").update(hits=10))
    context.record("then", Hits.get(page="b"))
    with BatchQuery(batch_type="COUNTER") as batch:
        counter.hits += 1
        counter.batch(batch).save()
    context.record("batch", Hits.get(page="b"))
    context.record_call("if not exists", lambda: Hits.if_not_exists().create(page="c", hits=1))
    context.record_call("delete", counter.delete)


def null_counters(context):
    """Set counters to None, and add to them by name."""
    Hits = _hits_model(context)

    def changed(page, change):
        """Return the row after a change."""
        Hits.objects(page=page).update(hits=5, misses=2)
        change(Hits.objects(page=page))
        return list(Hits.objects(page=page))

    def save_null(rows):
        counter = rows.get()
        counter.hits = None
        counter.save()

    def in_batch(rows):
        with BatchQuery(batch_type="COUNTER") as batch:
            rows.batch(batch).update(hits=None, misses=3)

    for name, change in (
        ("queryset", lambda rows: rows.update(hits=None)),
        ("with a number", lambda rows: rows.update(hits=None, misses=3)),
        ("instance", lambda rows: rows.get().update(hits=None)),
        ("instance with a number", lambda rows: rows.get().update(hits=None, misses=3)),
        ("save", save_null),
        ("blind", lambda rows: Hits(page="blind").update(hits=None)),
        ("all", lambda rows: rows.update(hits=None, misses=None)),
        ("constructor", lambda rows: Hits.create(page="constructor", hits=None)),
        ("batch", in_batch),
        ("add", lambda rows: rows.update(hits__add=3)),
        ("add a negative number", lambda rows: rows.update(hits__add=-3)),
        ("add 0", lambda rows: rows.update(hits__add=0)),
    ):
        context.record_call(name, lambda: changed(name, change))


def user_types(context):
    """Write and read user types."""
    context.set_up_mapper()

    class Address(UserType):
        street = columns.Text()
        house = columns.Integer(default=7)

    class Home(UserType):
        __type_name__ = "house"
        place = columns.UserDefinedType(Address)

    class Citizen(Model):
        id = columns.Integer(primary_key=True)
        address = columns.UserDefinedType(Address)
        homes = columns.List(columns.UserDefinedType(Address))
        home = columns.UserDefinedType(Home)
        by_name = columns.Map(columns.Text, columns.UserDefinedType(Address))

    context.record_call("sync", sync_table, Citizen)
    context.record("names", [Address.type_name(), Home.type_name()])
    context.record_call(
        "create",
        lambda: Citizen.create(
            id=1,
            address=Address(street="a", house=1),
            homes=[Address(street="b")],
            home=Home(place=Address(street="c")),
            by_name={"x": Address(street="d")},
        ),
    )
    citizen = Citizen.get(id=1)
    context.record("read", citizen)
    citizen.address.house = 99
    context.record("changed", citizen.get_changed_columns())
    citizen.save()
    context.record("again", Citizen.get(id=1).address.house)
    context.record_call("none", lambda: Citizen.create(id=2))
    context.record("read none", Citizen.get(id=2))
    context.record_call("dict", lambda: Citizen.create(id=3, address={"street": "x"}))
    context.record_call("unknown", lambda: Address(nosuch=1))
    context.record_call("items", lambda: Address(street="a").items())
    context.record_call("has changed", lambda: Address(street="a").has_changed_fields())
    context.record_call("equal", lambda: Address(street="a") == Address(street="a"))
    context.record_call("update", lambda: Citizen.get(id=1).update(address=Address(street="n")))
    context.record_call(
        "filter",
        lambda: Citizen.objects(address=Address(street="n", house=7)).allow_filtering().count(),
    )

    class More(UserType):
        __type_name__ = "address"
        street = columns.Text()
        house = columns.Integer()
        extra = columns.Text()

    context.record_call("sync type", sync_type, context.keyspace, More)


def polymorphism(context):
    """Read instances of several classes from one table."""
    context.set_up_mapper()

    class Pet(Model):
        __table_name__ = "pets"
        owner = columns.Text(primary_key=True)
        name = columns.Text(primary_key=True)
        kind = columns.Text(discriminator_column=True)

    class Cat(Pet):
        __discriminator_value__ = "cat"
        cuteness = columns.Float()

    class Dog(Pet):
        __discriminator_value__ = "dog"
        fierceness = columns.Float()

    sync_table(Cat)
    sync_table(Dog)
    context.record_call("cat", lambda: Cat.create(owner="a", name="tom", cuteness=1.5))
    context.record_call("dog", lambda: Dog.create(owner="a", name="rex", fierceness=2.5))
    context.record("all", [(type(pet).__name__, pet.name) for pet in Pet.objects(owner="a")])
    context.record_call(
        "cats", lambda: [cat.name for cat in Cat.objects(owner="a").allow_filtering()]
    )
    context.record_call("wrong class", lambda: Cat.get(owner="a", name="rex"))
    context.record_call("dogs", lambda: Dog.objects(owner="a", name="rex").first())
    context.record_call("base value", lambda: Pet.__discriminator_value__)


def inheritance(context):
    """Use models that inherit from an abstract model."""
    context.set_up_mapper()

    class Base(Model):
        __abstract__ = True
        id = columns.Integer(primary_key=True)
        made = columns.Integer(default=3)

        def double(self):
            return self.made * 2

    class One(Base):
        a = columns.Text()

    class Two(Base):
        __table_name__ = "second"
        b = columns.Text()

    for model in (One, Two):
        context.record_call(f"sync {model.__name__}", sync_table, model)
        context.record_call(f"create {model.__name__}", model.create, id=1)
        context.record(f"method {model.__name__}", model.get(id=1).double())
        context.record(f"name {model.__name__}", model.column_family_name())


def named_tables(context):
    """Read and write a table without a model."""
    context.set_up_mapper()
    session = connection.get_session()
    session.execute(
        f"CREATE TABLE {context.keyspace}.things (k int, c int, v text, PRIMARY KEY (k, c))"
    )
    table = NamedTable(context.keyspace, "things")
    for c in range(3):
        session.execute(f"INSERT INTO {context.keyspace}.things (k, c, v) VALUES (1, {c}, 'v{c}')")
    context.record_call("all", lambda: list(table.objects))
    context.record_call("filter", lambda: list(table.objects.filter(k=1, c__gt=0)))
    context.record_call("attribute", lambda: list(table.objects.filter(table.column("k") == 1)))
    context.record_call("count", lambda: table.objects.count())
    context.record_call("get", lambda: table.objects.get(k=1, c=1))
    context.record_call("first", lambda: table.objects(k=1).first())
    context.record_call("missing", lambda: table.get(k=9, c=9))
    context.record_call("limit", lambda: len(list(table.all().limit(2))))
    context.record_call("order", lambda: [row["c"] for row in table.objects(k=1).order_by("-c")])
    context.record_call("update", lambda: table.objects(k=1, c=1).update(v="x"))
    context.record_call("delete", lambda: table.objects(k=1, c=2).delete())
    context.record_call("item", lambda: table.objects(k=1).first()["v"])
    context.record_call("attr", lambda: table.objects(k=1).first().v)
    context.record_call("name", lambda: table.column_family_name())


def contexts(context):
    """Use a model in another keyspace."""
    context.set_up_mapper()
    Person = _person()
    sync_table(Person)
    other = f"{context.keyspace}_b"
    context.record_call("keyspace", create_keyspace_simple, other, 1)
    sync_table(Person, keyspaces=[other])
    with ContextQuery(Person, keyspace=other) as Other:
        context.record_call("create", Other.create, id=1, first_name="there")
        context.record("name", Other.column_family_name())
        context.record("there", Other.objects.count())
    context.record("here", Person.objects.count())
    context.record_call("using", lambda: Person.objects.using(keyspace=other).count())
    context.record_call("using create", lambda: Person.objects.using(keyspace=other).create(id=2))
    context.record_call("instance", lambda: Person(id=3).using(keyspace=other).save())
    person = Person.objects.using(keyspace=other).get(id=1)
    person.first_name = "changed"
    context.record_call("save read", person.save)
    context.record("changed", Person.objects.using(keyspace=other).get(id=1).first_name)
    context.record_call("wrong", lambda: Person.objects.using(keyspace="nosuch").count())
    context.record_call("connection", lambda: Person.objects.using(connection="nosuch").count())
    context.record_call("context wrong", lambda: ContextQuery(5).__enter__())
    context.record_call("context keyword", lambda: ContextQuery(Person, nosuch=1))
    context.record_call("drop", drop_keyspace, other)


def connections(context):
    """Use several named connections."""
    mapper_connection = context.set_up_mapper()
    Person = _person()
    sync_table(Person)
    context.record_call(
        "register",
        mapper_connection.register_connection,
        "second",
        [context.host],
        cluster_options={"port": context.port},
    )
    context.record_call(
        "again",
        mapper_connection.register_connection,
        "second",
        [context.host],
        cluster_options={"port": context.port},
    )
    context.record_call("get", lambda: mapper_connection.get_connection("second").name)
    context.record_call("unknown", mapper_connection.get_connection, "nosuch")
    context.record_call("session", lambda: type(mapper_connection.get_session("second")))
    context.record_call("cluster", lambda: type(mapper_connection.get_cluster()))
    context.record_call(
        "execute", lambda: list(mapper_connection.execute("SELECT key FROM system.local"))
    )
    context.record_call(
        "execute params",
        lambda: list(
            mapper_connection.execute(
                "SELECT key FROM system.local WHERE key = %(k)s", {"k": "local"}
            )
        ),
    )
    context.record_call(
        "execute level",
        lambda: list(
            mapper_connection.execute("SELECT key FROM system.local", consistency_level=1)
        ),
    )
    context.record_call("using", lambda: Person.objects.using(connection="second").count())
    context.record_call("default", mapper_connection.set_default_connection, "second")
    context.record_call("count", lambda: Person.objects.count())
    context.record_call("default back", mapper_connection.set_default_connection, "default")
    context.record_call("unknown default", mapper_connection.set_default_connection, "nosuch")
    context.record_call("unregister", mapper_connection.unregister_connection, "second")
    context.record_call("unregister unknown", mapper_connection.unregister_connection, "nosuch")
    session = context.new_session()
    context.record_call(
        "from session", mapper_connection.register_connection, "third", session=session
    )
    context.record_call("count third", lambda: Person.objects.using(connection="third").count())
    context.record_call("set_session", mapper_connection.set_session, session)
    context.record_call("after", lambda: Person.objects.count())
    context.record_call("row factory", lambda: session.row_factory)


def validation(context):
    """Save instances whose values are not valid."""

    class Checked(Model):
        id = columns.Integer(primary_key=True)
        short = columns.Text(max_length=3)
        long = columns.Text(min_length=2)
        must = columns.Text(required=True)

        def validate(self):
            super().validate()
            if self.must == "bad":
                raise ValidationError("bad")

    context.set_up_mapper()
    sync_table(Checked)
    for name, values in {
        "short": {"short": "abcd"},
        "long": {"long": "a"},
        "must": {"must": None},
        "own": {"must": "bad"},
        "good": {},
        "empty": {"must": ""},
        "empty long": {"long": ""},
        "bytes": {"must": b"x"},
        "number": {"must": 5},
    }.items():
        context.record_call(
            name, lambda values=values: Checked.create(**{"id": 1, "must": "x", **values})
        )
        context.record_call(
            f"instance {name}",
            lambda values=values: Checked(**{"id": 2, "must": "x", **values}).validate(),
        )
    context.record("class", issubclass(ValidationError, CQLEngineException))


def values_of_columns(context):
    """Write and read a column of each type."""
    context.set_up_mapper()
    unique_id = uuid.UUID(int=7)

    class All(Model):
        id = columns.UUID(primary_key=True)
        a = columns.Ascii()
        b = columns.BigInt()
        c = columns.Blob()
        d = columns.Boolean()
        e = columns.Date()
        f = columns.DateTime()
        g = columns.Decimal()
        h = columns.Double()
        i = columns.Float()
        j = columns.Inet()
        k = columns.SmallInt()
        l = columns.Time()  # noqa: E741
        m = columns.TimeUUID()
        n = columns.TinyInt()
        o = columns.VarInt()
        p = columns.Tuple(columns.Integer, columns.Text)
        q = columns.Duration()

    context.record_call("sync", sync_table, All)
    context.record_call(
        "create",
        lambda: All.create(
            id=unique_id,
            a="x",
            b=2**40,
            c=b"\0\1",
            d=True,
            e=datetime.date(2020, 1, 2),
            f=datetime.datetime(2020, 1, 2, 3, 4, 5, 678901),
            g=decimal.Decimal("1.10"),
            h=1.5,
            i=2.5,
            j="10.0.0.1",
            k=5,
            l=datetime.time(1, 2, 3),
            m=uuid.UUID("13814000-1dd2-11b2-8080-808080808080"),
            n=3,
            o=2**70,
            p=(1, "a"),
        ),
    )
    context.record("read", All.get(id=unique_id))
    context.record_call("nulls", lambda: All.create(id=uuid.UUID(int=8)))
    context.record("read nulls", All.get(id=uuid.UUID(int=8)))
    context.record_call("text id", lambda: All.get(id=str(unique_id)).b)


_ = (DoesNotExist, MultipleObjectsReturned)
