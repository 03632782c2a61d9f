"""The documented features of the mapper: models, queries, batches, connections.

Every function without an underscore is a program that each driver runs; `d` records the outcomes
(see `tests.differential.worker`).
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

OWN_KEYSPACE = True
STATEMENTS = False


def _person():
    class Person(Model):
        id = columns.Integer(primary_key=True)
        first_name = columns.Text()
        last_name = columns.Text(index=True)
        age = columns.Integer(default=18)

    return Person


def _event():
    class Event(Model):
        day = columns.Text(partition_key=True)
        at = columns.Integer(primary_key=True, clustering_order="DESC")
        what = columns.Text(required=True)
        tags = columns.Set(columns.Text)
        steps = columns.List(columns.Integer)
        notes = columns.Map(columns.Text, columns.Text)
        shared = columns.Text(static=True)

    return Event


def getting_started(d):
    d.mapper()
    Person = _person()
    d.tried("sync", sync_table, Person)
    d.tried("create", Person.create, id=1, first_name="Ada", last_name="L")
    d.tried("create two", lambda: Person.objects.create(id=2, first_name="Bob", age=5))
    d.show("count", Person.objects.count())
    d.show("all", sorted((person.id, person.first_name, person.age) for person in Person.objects))
    d.show("filter", [person.id for person in Person.objects.filter(last_name="L")])
    d.show("get", Person.objects.get(id=1))
    d.tried("missing", Person.get, id=77)
    d.tried("class", lambda: Person.DoesNotExist.__mro__[1])
    d.tried("drop", drop_table, Person)


def instances(d):
    d.mapper()
    Person = _person()
    sync_table(Person)
    person = Person(id=5, first_name="x")
    d.show("dict", dict(person))
    d.show("keys", list(person.keys()))
    d.show("values", list(person.values()))
    d.show("items", list(person.items()))
    d.show("item", [person["id"], len(person)])
    d.tried("unknown item", lambda: person["nosuch"])
    d.tried("set item", person.__setitem__, "first_name", "y")
    d.show("changed", person.get_changed_columns())
    d.tried("save", person.save)
    d.show("changed after", person.get_changed_columns())
    person.age = 7
    d.show("changed age", [person.get_changed_columns(), person.column_family_name()])
    person.save()
    d.tried("update", person.update, first_name="z", last_name="w")
    d.tried("update unknown", person.update, nosuch=1)
    d.tried("update key", person.update, id=6)
    d.tried("text", str, person)
    d.tried("repr", repr, person)
    d.show(
        "equal",
        [
            person == Person.get(id=5),
            person == Person(id=6),
            person != Person.get(id=5),
            person == 5,
        ],
    )
    d.tried("hash", lambda: hash(person) == hash(Person.get(id=5)))
    d.tried("pk", lambda: person.pk)
    d.tried("row", lambda: Person.objects.filter(id=5).first())
    d.tried("private columns", lambda: list(Person._columns))
    d.tried("delete", person.delete)
    d.show("left", Person.objects.count())
    d.tried("unknown name", lambda: Person(nosuch=1))
    d.tried("bad value", lambda: Person(id="five"))
    d.tried("bad at save", lambda: Person(id=1, age="old").save())
    d.tried("no key", lambda: Person(first_name="x").save())
    d.tried("no key create", lambda: Person.create(first_name="x"))


def definitions(d):
    d.mapper()

    def model(**attributes):
        return type("Made", (Model,), {"__module__": "programs", **attributes})

    text, number = columns.Text, columns.Integer
    d.tried("no key", model, a=text())
    d.tried("no columns", model)
    d.tried("static", lambda: sync_table(model(a=text(primary_key=True), b=text(static=True))))
    d.tried(
        "two keys",
        lambda: model(a=text(primary_key=True), b=number(primary_key=True)).column_family_name(),
    )
    d.tried(
        "composite",
        lambda: (
            model(
                a=text(partition_key=True), b=number(partition_key=True), c=number(primary_key=True)
            )(a="x", b=1, c=2).pk
        ),
    )
    d.tried(
        "counter beside",
        lambda: sync_table(model(a=text(primary_key=True), b=columns.Counter(), c=text())),
    )
    d.tried("counter index", lambda: columns.Counter(index=True))
    d.tried("counter key", lambda: columns.Counter(primary_key=True))
    d.tried("reserved", model, a=text(primary_key=True), filter=text())
    d.tried("same name", model, a=text(primary_key=True), b=text(db_field="a"))
    d.tried("renamed", lambda: list(model(a=text(primary_key=True, db_field="z"))(a="x")))
    d.tried("abstract", lambda: model(__abstract__=True, a=text(primary_key=True))())
    d.tried(
        "abstract table", lambda: sync_table(model(__abstract__=True, a=text(primary_key=True)))
    )
    d.tried(
        "table name",
        lambda: model(a=text(primary_key=True), __table_name__="Mine").column_family_name(),
    )
    d.tried(
        "case",
        lambda: model(
            a=text(primary_key=True), __table_name__="Mine", __table_name_case_sensitive__=True
        ).column_family_name(),
    )
    d.tried(
        "keyspace", lambda: model(a=text(primary_key=True), __keyspace__="ks").column_family_name()
    )
    d.tried(
        "without keyspace",
        lambda: model(a=text(primary_key=True), __keyspace__="ks").column_family_name(
            include_keyspace=False
        ),
    )
    d.tried("list of anything", lambda: columns.List(object))
    d.tried("list of lists", lambda: columns.List(columns.List(number)))
    d.tried("map of one", lambda: columns.Map(text))
    d.tried("min", lambda: columns.Text(min_length=-1))
    d.tried("max", lambda: columns.Text(min_length=5, max_length=2))
    d.tried("order", lambda: columns.Integer(clustering_order="SIDEWAYS"))
    d.tried("tuple of none", columns.Tuple)
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
        d.tried(
            name,
            lambda name=name: type(
                name, (Model,), {"a": text(primary_key=True)}
            ).column_family_name(include_keyspace=False),
        )
        d.tried(
            f"type {name}", lambda name=name: type(name, (UserType,), {"a": text()}).type_name()
        )


def options(d):
    d.mapper()

    class Opted(Model):
        __options__ = {
            "comment": "it's mine",
            "gc_grace_seconds": 500,
            "default_time_to_live": 3600,
            "compaction": {"class": "LeveledCompactionStrategy", "sstable_size_in_mb": "64"},
        }
        id = columns.Integer(primary_key=True)
        v = columns.Text()

    d.tried("sync", sync_table, Opted)
    Opted.__options__ = {"gc_grace_seconds": 900}
    d.tried("changed", sync_table, Opted)
    d.tried("default", lambda: Opted.__default_ttl__)


def changed_tables(d):
    d.mapper()

    def model(**more):
        return type(
            "Thing",
            (Model,),
            {"id": columns.Integer(primary_key=True), "v": columns.Text(), **more},
        )

    First = model()
    d.tried("first", sync_table, First)
    First.create(id=1, v="x")
    Second = model(w=columns.Integer(index=True), xs=columns.Set(columns.Integer))
    d.tried("second", sync_table, Second)
    d.show("read", Second.get(id=1))
    d.tried("write", Second.create, id=2, v="y", w=5, xs={1, 2})
    Third = model(v=columns.Integer())
    d.tried("other type", sync_table, Third)
    Fourth = model(k=columns.Integer(primary_key=True))
    d.tried("other key", sync_table, Fourth)
    d.tried("not a model", sync_table, 5)
    d.tried("drop", drop_table, Second)
    d.tried("drop again", drop_table, Second)


def filters(d):
    d.mapper()
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
        d.tried(name, lambda make=make: [(event.day, event.at) for event in make()])
    d.tried("count", lambda: q(day="mon").count())
    d.tried("len", lambda: len(q(day="mon")))
    d.tried("bool", lambda: bool(q(day="nosuch")))
    d.tried("first", lambda: q(day="mon").first())
    d.tried("first none", lambda: q(day="nosuch").first())
    d.tried("get many", lambda: q(day="mon").get())
    d.tried("get", lambda: q.get(day="mon", at=1).what)
    d.tried("get filter", lambda: q(day="mon").get(at=2).what)
    d.tried("index", lambda: q(day="mon")[1].at)
    d.tried("index beyond", lambda: q(day="mon")[99])
    d.tried("index negative", lambda: q(day="mon")[-1].at)
    d.tried("distinct", lambda: sorted(event.day for event in q.distinct(["day"])))
    d.tried("distinct all", lambda: sorted(event.day for event in q.distinct()))
    d.tried("all", lambda: q.all().count())
    d.tried("page", lambda: len(list(q.fetch_size(2))))
    d.tried("again", lambda: [event.at for event in (lambda s: list(s) + list(s))(q(day="mon"))])


def what_querysets_give(d):
    d.mapper()
    Event = _event()
    sync_table(Event)
    Event.create(
        day="a", at=1, what="w", tags={"b", "a"}, steps=[2, 1], notes={"z": "y"}, shared="s"
    )
    Event.create(day="a", at=2, what="v")
    q = Event.objects(day="a")
    d.show("instances", list(q))
    d.tried("only", lambda: list(q.only(["at", "what"])))
    d.tried("only one attribute", lambda: q.only(["at"]).first().what)
    d.tried("only unknown", lambda: list(q.only(["nosuch"])))
    d.tried("only twice", lambda: list(q.only(["at"]).only(["what"])))
    d.tried("defer", lambda: list(q.defer(["what"])))
    d.tried("defer key", lambda: list(q.defer(["day"])))
    d.tried("defer all", lambda: list(q.only(["at"]).defer(["at"])))
    d.tried("values_list", lambda: list(q.values_list("at", "what")))
    d.tried("flat", lambda: list(q.values_list("at", flat=True)))
    d.tried("flat two", lambda: list(q.values_list("at", "what", flat=True)))
    d.tried("no names", lambda: list(q.values_list()))
    d.tried("unknown name", lambda: list(q.values_list("nosuch")))
    d.tried("collections", lambda: list(q.values_list("tags", "steps", "notes")))
    d.tried("read", lambda: [type(getattr(q.first(), n)) for n in ("tags", "steps", "notes")])
    d.tried("empty ones", lambda: Event.get(day="a", at=2))


def updates(d):
    d.mapper()
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
        d.tried(name, lambda changes=changes: q.update(**changes))
        d.show(f"{name} then", Event.get(day="a", at=1))
    d.tried("many", lambda: Event.objects(day="a").update(what="x"))
    d.tried("all", lambda: Event.objects.update(what="x"))
    d.tried("ttl", lambda: q.ttl(100).update(what="short"))
    d.tried("timestamp", lambda: q.timestamp(datetime.timedelta(seconds=30)).update(what="later"))
    d.tried("delete rows", lambda: Event.objects(day="a").delete())
    d.tried("delete all", lambda: Event.objects.delete())
    d.tried("delete filter", lambda: Event.objects(what="x").delete())
    d.tried("delete columns", lambda: Event.objects(day="a", at=1).delete(["what"]))


def conditions(d):
    d.mapper()
    Person = _person()
    sync_table(Person)
    d.tried("new", lambda: Person.if_not_exists().create(id=1, first_name="a"))
    d.tried("not new", lambda: Person.if_not_exists().create(id=1, first_name="b"))
    try:
        Person.objects.if_not_exists().create(id=1, first_name="c")
    except LWTException as error:
        d.show("existing", error.existing)
    person = Person.get(id=1)
    d.tried("iff", lambda: person.iff(first_name="a").update(first_name="d"))
    d.tried("iff wrong", lambda: person.iff(first_name="a").update(first_name="e"))
    d.tried("iff unknown", lambda: person.iff(nosuch=1).update(first_name="e"))
    d.tried("save", lambda: Person.get(id=1).iff(first_name="d").save())
    d.tried("queryset", lambda: Person.objects(id=1).iff(first_name="x").update(age=3))
    d.tried("queryset good", lambda: Person.objects(id=1).iff(first_name="d").update(age=3))
    d.tried("if exists", lambda: Person.objects(id=9).if_exists().update(age=3))
    d.tried("if exists instance", lambda: Person(id=9, age=3).if_exists().save())
    d.tried("if exists update", lambda: Person.get(id=1).if_exists().update(age=5))
    d.tried("delete if exists", lambda: Person.objects(id=9).if_exists().delete())
    d.tried("delete iff", lambda: Person.objects(id=1).iff(age=99).delete())
    d.tried("delete good", lambda: Person.objects(id=1).iff(age=5).delete())
    d.tried("with ttl", lambda: Person.if_not_exists().ttl(60).create(id=3, first_name="t"))
    d.tried(
        "and timestamp",
        lambda: Person.if_not_exists().timestamp(datetime.timedelta(seconds=1)).create(id=4),
    )


def times_of_writes(d):
    d.mapper()
    Person = _person()
    sync_table(Person)
    stamp = datetime.datetime(2015, 6, 7, 8, 9, 10, 11)
    d.tried("ttl", lambda: Person.ttl(200).create(id=1, first_name="a"))
    d.tried("instance ttl", lambda: Person(id=2, first_name="b").ttl(200).save())
    d.tried("stamp", lambda: Person.timestamp(stamp).create(id=3, first_name="c"))
    d.tried("number", lambda: Person.timestamp(1_000_000).create(id=4, first_name="d"))
    d.tried("delta", lambda: Person.timestamp(datetime.timedelta(minutes=-5)).create(id=5))
    d.tried("both", lambda: Person.ttl(200).timestamp(stamp).create(id=6, first_name="e"))
    d.tried("update", lambda: Person.objects(id=3).timestamp(stamp).update(first_name="x"))
    d.tried("older", lambda: Person.objects(id=1).timestamp(stamp).update(first_name="old"))
    d.tried("delete older", lambda: Person.objects(id=1).timestamp(stamp).delete())
    d.tried("kind", lambda: Person.timestamp("now").create(id=7))
    d.tried("ttl kind", lambda: Person.ttl("x").create(id=8))
    d.tried("ttl zero", lambda: Person.ttl(0).create(id=9))
    d.tried("ttl none", lambda: Person.ttl(None).create(id=10))
    d.tried("ttl negative", lambda: Person.ttl(-1).create(id=11))


def batches(d):
    d.mapper()
    Person = _person()
    sync_table(Person)
    batch = BatchQuery()
    Person.batch(batch).create(id=1, first_name="a")
    Person.batch(batch).create(id=2, first_name="b")
    d.show("before", Person.objects.count())
    d.tried("execute", batch.execute)
    d.show("after", Person.objects.count())
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
    d.tried("empty", BatchQuery().execute)
    d.tried("twice", lambda: [batch.execute(), batch.execute()])
    heard = []
    with BatchQuery() as batch:
        batch.add_callback(heard.append, 5)
        batch.add_callback(lambda *a, **k: heard.append((a, k)), 1, b=2)
        Person.batch(batch).create(id=7)
        d.show("not yet", list(heard))
    d.show("heard", heard)
    d.tried("not callable", BatchQuery().add_callback, 5)
    with BatchQuery(batch_type=BatchType.Unlogged, timestamp=datetime.timedelta(seconds=5)) as b:
        Person.batch(b).create(id=8)
    with BatchQuery(timestamp=datetime.datetime(2016, 1, 1)) as b:
        Person.batch(b).create(id=9, first_name="old")
    for kind in ("LOGGED", "Unlogged", 0, None, "nosuch"):

        def go(kind=kind):
            with BatchQuery(batch_type=kind) as b:
                Person.batch(b).create(id=20)

        d.tried(f"type {kind}", go)
    d.tried("no batch", Person.batch, 5)
    d.tried("conditions", lambda: _conditional(Person))


def _conditional(Person):
    with BatchQuery() as batch:
        Person.batch(batch).if_not_exists().create(id=1, first_name="no")


def counters(d):
    d.mapper()

    class Hits(Model):
        page = columns.Text(primary_key=True)
        hits = columns.Counter()
        misses = columns.Counter()

    sync_table(Hits)
    d.tried("default", lambda: Hits(page="x").hits)
    d.tried("create", lambda: Hits.create(page="a"))
    counter = Hits.create(page="b", hits=5)
    counter.hits += 2
    d.tried("save", counter.save)
    counter.update(misses=3)
    d.show("read", Hits.get(page="b"))
    d.tried("queryset", lambda: Hits.objects(page="b").update(hits=10))
    d.show("then", Hits.get(page="b"))
    with BatchQuery(batch_type="COUNTER") as batch:
        counter.hits += 1
        counter.batch(batch).save()
    d.show("batch", Hits.get(page="b"))
    d.tried("if not exists", lambda: Hits.if_not_exists().create(page="c", hits=1))
    d.tried("delete", counter.delete)


def user_types(d):
    d.mapper()

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

    d.tried("sync", sync_table, Citizen)
    d.show("names", [Address.type_name(), Home.type_name()])
    d.tried(
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
    d.show("read", citizen)
    citizen.address.house = 99
    d.show("changed", citizen.get_changed_columns())
    citizen.save()
    d.show("again", Citizen.get(id=1).address.house)
    d.tried("none", lambda: Citizen.create(id=2))
    d.show("read none", Citizen.get(id=2))
    d.tried("dict", lambda: Citizen.create(id=3, address={"street": "x"}))
    d.tried("unknown", lambda: Address(nosuch=1))
    d.tried("items", lambda: Address(street="a").items())
    d.tried("has changed", lambda: Address(street="a").has_changed_fields())
    d.tried("equal", lambda: Address(street="a") == Address(street="a"))
    d.tried("update", lambda: Citizen.get(id=1).update(address=Address(street="n")))
    d.tried(
        "filter",
        lambda: Citizen.objects(address=Address(street="n", house=7)).allow_filtering().count(),
    )

    class More(UserType):
        __type_name__ = "address"
        street = columns.Text()
        house = columns.Integer()
        extra = columns.Text()

    d.tried("sync type", sync_type, d.keyspace, More)


def polymorphism(d):
    d.mapper()

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
    d.tried("cat", lambda: Cat.create(owner="a", name="tom", cuteness=1.5))
    d.tried("dog", lambda: Dog.create(owner="a", name="rex", fierceness=2.5))
    d.show("all", [(type(pet).__name__, pet.name) for pet in Pet.objects(owner="a")])
    d.tried("cats", lambda: [cat.name for cat in Cat.objects(owner="a").allow_filtering()])
    d.tried("wrong class", lambda: Cat.get(owner="a", name="rex"))
    d.tried("dogs", lambda: Dog.objects(owner="a", name="rex").first())
    d.tried("base value", lambda: Pet.__discriminator_value__)


def inheritance(d):
    d.mapper()

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
        d.tried(f"sync {model.__name__}", sync_table, model)
        d.tried(f"create {model.__name__}", model.create, id=1)
        d.show(f"method {model.__name__}", model.get(id=1).double())
        d.show(f"name {model.__name__}", model.column_family_name())


def named_tables(d):
    d.mapper()
    session = connection.get_session()
    session.execute(f"CREATE TABLE {d.keyspace}.things (k int, c int, v text, PRIMARY KEY (k, c))")
    table = NamedTable(d.keyspace, "things")
    for c in range(3):
        session.execute(f"INSERT INTO {d.keyspace}.things (k, c, v) VALUES (1, {c}, 'v{c}')")
    d.tried("all", lambda: list(table.objects))
    d.tried("filter", lambda: list(table.objects.filter(k=1, c__gt=0)))
    d.tried("attribute", lambda: list(table.objects.filter(table.column("k") == 1)))
    d.tried("count", lambda: table.objects.count())
    d.tried("get", lambda: table.objects.get(k=1, c=1))
    d.tried("first", lambda: table.objects(k=1).first())
    d.tried("missing", lambda: table.get(k=9, c=9))
    d.tried("limit", lambda: len(list(table.all().limit(2))))
    d.tried("order", lambda: [row["c"] for row in table.objects(k=1).order_by("-c")])
    d.tried("update", lambda: table.objects(k=1, c=1).update(v="x"))
    d.tried("delete", lambda: table.objects(k=1, c=2).delete())
    d.tried("item", lambda: table.objects(k=1).first()["v"])
    d.tried("attr", lambda: table.objects(k=1).first().v)
    d.tried("name", lambda: table.column_family_name())


def contexts(d):
    d.mapper()
    Person = _person()
    sync_table(Person)
    other = f"{d.keyspace}_b"
    d.tried("keyspace", create_keyspace_simple, other, 1)
    sync_table(Person, keyspaces=[other])
    with ContextQuery(Person, keyspace=other) as Other:
        d.tried("create", Other.create, id=1, first_name="there")
        d.show("name", Other.column_family_name())
        d.show("there", Other.objects.count())
    d.show("here", Person.objects.count())
    d.tried("using", lambda: Person.objects.using(keyspace=other).count())
    d.tried("using create", lambda: Person.objects.using(keyspace=other).create(id=2))
    d.tried("instance", lambda: Person(id=3).using(keyspace=other).save())
    person = Person.objects.using(keyspace=other).get(id=1)
    person.first_name = "changed"
    d.tried("save read", person.save)
    d.show("changed", Person.objects.using(keyspace=other).get(id=1).first_name)
    d.tried("wrong", lambda: Person.objects.using(keyspace="nosuch").count())
    d.tried("connection", lambda: Person.objects.using(connection="nosuch").count())
    d.tried("context wrong", lambda: ContextQuery(5).__enter__())
    d.tried("context keyword", lambda: ContextQuery(Person, nosuch=1))
    d.tried("drop", drop_keyspace, other)


def connections(d):
    c = d.mapper()
    Person = _person()
    sync_table(Person)
    d.tried("register", c.register_connection, "second", [d.host], cluster_options={"port": d.port})
    d.tried("again", c.register_connection, "second", [d.host], cluster_options={"port": d.port})
    d.tried("get", lambda: c.get_connection("second").name)
    d.tried("unknown", c.get_connection, "nosuch")
    d.tried("session", lambda: type(c.get_session("second")))
    d.tried("cluster", lambda: type(c.get_cluster()))
    d.tried("execute", lambda: list(c.execute("SELECT key FROM system.local")))
    d.tried(
        "execute params",
        lambda: list(c.execute("SELECT key FROM system.local WHERE key = %(k)s", {"k": "local"})),
    )
    d.tried(
        "execute level",
        lambda: list(c.execute("SELECT key FROM system.local", consistency_level=1)),
    )
    d.tried("using", lambda: Person.objects.using(connection="second").count())
    d.tried("default", c.set_default_connection, "second")
    d.tried("count", lambda: Person.objects.count())
    d.tried("default back", c.set_default_connection, "default")
    d.tried("unknown default", c.set_default_connection, "nosuch")
    d.tried("unregister", c.unregister_connection, "second")
    d.tried("unregister unknown", c.unregister_connection, "nosuch")
    session = d.session()
    d.tried("from session", c.register_connection, "third", session=session)
    d.tried("count third", lambda: Person.objects.using(connection="third").count())
    d.tried("set_session", c.set_session, session)
    d.tried("after", lambda: Person.objects.count())
    d.tried("row factory", lambda: session.row_factory)


def validation(d):
    class Checked(Model):
        id = columns.Integer(primary_key=True)
        short = columns.Text(max_length=3)
        long = columns.Text(min_length=2)
        must = columns.Text(required=True)

        def validate(self):
            super().validate()
            if self.must == "bad":
                raise ValidationError("bad")

    d.mapper()
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
        d.tried(name, lambda values=values: Checked.create(**{"id": 1, "must": "x", **values}))
        d.tried(
            f"instance {name}",
            lambda values=values: Checked(**{"id": 2, "must": "x", **values}).validate(),
        )
    d.show("class", issubclass(ValidationError, CQLEngineException))


def values_of_columns(d):
    d.mapper()
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

    d.tried("sync", sync_table, All)
    d.tried(
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
    d.show("read", All.get(id=unique_id))
    d.tried("nulls", lambda: All.create(id=uuid.UUID(int=8)))
    d.show("read nulls", All.get(id=uuid.UUID(int=8)))
    d.tried("text id", lambda: All.get(id=str(unique_id)).b)


_ = (DoesNotExist, MultipleObjectsReturned)
