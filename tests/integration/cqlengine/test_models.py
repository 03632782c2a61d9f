"""Models on a real node: writing and reading each column type, save, update, delete, conditions."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import pickle
import uuid
from typing import Any

import pytest

from cassandra import ConsistencyLevel, ReadFailure
from cassandra.cqlengine import ValidationError, columns, connection, functions
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import (
    BatchQuery,
    BatchType,
    ContextQuery,
    LWTException,
    QueryException,
)
from cassandra.cqlengine.usertype import UserType
from cassandra.util import Date, Duration, Time
from tests.waiting import until

from .conftest import synced

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mapper")]

MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15, 123000)


class Address(UserType):
    """A user-defined type, in which one field has another name in CQL."""

    street = columns.Text()
    number = columns.Integer(db_field="no")
    tags = columns.Set(columns.Text)


class Everything(Model):
    """A model with a column of each type."""

    id = columns.UUID(primary_key=True, default=uuid.uuid4)
    ascii = columns.Ascii()
    bigint = columns.BigInt()
    blob = columns.Blob()
    boolean = columns.Boolean()
    date = columns.Date()
    moment = columns.DateTime()
    decimal = columns.Decimal()
    double = columns.Double()
    duration = columns.Duration()
    float = columns.Float()
    inet = columns.Inet()
    integer = columns.Integer()
    smallint = columns.SmallInt()
    text = columns.Text(db_field="words")
    time = columns.Time()
    timeuuid = columns.TimeUUID()
    tinyint = columns.TinyInt()
    varint = columns.VarInt()
    a_list = columns.List(columns.Integer)
    a_set = columns.Set(columns.Text)
    a_map = columns.Map(columns.Text, columns.DateTime)
    a_tuple = columns.Tuple(columns.Text, columns.Integer)
    nested = columns.Map(columns.Text, columns.List(columns.Tuple(columns.Integer, columns.Text)))
    frozen = columns.List(columns.Set(columns.Integer), frozen=True)
    address = columns.UserDefinedType(Address)
    addresses = columns.List(columns.UserDefinedType(Address))
    vector = columns.Vector(columns.Float, 3)


VALUES: dict[str, Any] = {
    "ascii": "plain",
    "bigint": -(1 << 62),
    "blob": b"\0\1",
    "boolean": False,
    "date": Date(19000),
    "moment": MOMENT,
    "decimal": decimal.Decimal("-1.50"),
    "double": 0.1,
    "duration": Duration(1, 2, 3),
    "float": 0.5,
    "inet": "::1",
    "integer": -5,
    "smallint": 300,
    "text": "größer ☃",
    "time": Time(123456789),
    "timeuuid": uuid.uuid1(),
    "tinyint": -128,
    "varint": 1 << 80,
    "a_list": [3, 1, 3],
    "a_set": {"a", "b"},
    "a_map": {"now": MOMENT},
    "a_tuple": ("x", None),
    "nested": {"k": [(1, "a"), (2, "b")]},
    "frozen": [{1, 2}, {3}],
    "address": Address(street="Easy St.", number=9, tags={"t"}),
    "addresses": [Address(street="A"), Address(street="B", number=2)],
    "vector": [0.5, 1.0, -2.0],
}


class Place(Model):
    """A model with a composite partition key, a static column, and collections."""

    country = columns.Text(partition_key=True)
    year = columns.Integer(partition_key=True)
    name = columns.Text(primary_key=True, clustering_order="desc")
    motto = columns.Text(static=True)
    size = columns.Integer(index=True)
    tags = columns.Set(columns.Text)
    log = columns.List(columns.Text)
    facts = columns.Map(columns.Text, columns.Integer)


class Hits(Model):
    """A model with counters."""

    page = columns.Text(primary_key=True)
    views = columns.Counter()
    clicks = columns.Counter()


class Event(Model):
    """A model whose clustering column has the time of the row."""

    source = columns.Integer(primary_key=True)
    at = columns.TimeUUID(primary_key=True)
    what = columns.Text()


class Pet(Model):
    """A model whose table also has the rows of two subclasses."""

    __table_name__ = "pet"
    owner = columns.Integer(primary_key=True)
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True, index=True)
    name = columns.Text()


class Cat(Pet):
    __discriminator_value__ = "cat"
    cuteness = columns.Float()


class Dog(Pet):
    __discriminator_value__ = "dog"
    fierceness = columns.Float()


@pytest.fixture(scope="module", autouse=True)
def tables(mapper: str) -> None:
    """Create the tables of the models above."""
    synced(Everything, Place, Hits, Event, Cat, Dog)


def test_values_of_all_column_types_are_read_back_equal() -> None:
    """A value of each column type is read back equal, and with the same Python type."""
    created = Everything.create(**VALUES)
    instance = Everything.get(id=created.id)
    for name, value in VALUES.items():
        assert instance[name] == value, name
    assert instance == created
    assert isinstance(instance.address, Address)
    assert [type(address) for address in instance.addresses] == [Address, Address]
    assert type(instance.a_set) is set
    assert type(instance.a_map) is dict
    assert instance.get_changed_columns() == []
    assert pickle.loads(pickle.dumps(instance)) == instance


@pytest.mark.parametrize("name", sorted(VALUES))
def test_each_column_can_be_updated_without_reading_and_set_to_none(name: str) -> None:
    """`update` on a queryset writes values of all types; saving None deletes the value."""
    created = Everything.create()
    Everything.objects(id=created.id).update(**{name: VALUES[name]})
    assert Everything.get(id=created.id)[name] == VALUES[name]
    instance = Everything.get(id=created.id)
    instance[name] = None
    assert instance.get_changed_columns() == [name]
    instance.save()
    empty_collections: Any = {
        "a_list": [],
        "a_set": set(),
        "a_map": {},
        "nested": {},
        "frozen": [],
        "addresses": [],
    }
    # Null collections are read as empty collections, and all other nulls as None.
    assert Everything.get(id=created.id)[name] == empty_collections.get(name)


def test_values_of_other_types_are_converted_to_the_columns_type() -> None:
    """Strings, tuples and numbers are converted; an aware datetime is stored as UTC."""
    created = Everything.create(
        id=str(uuid.UUID(int=5)), date="2024-02-29", integer="12", decimal=1.5, time=datetime.time(1, 2, 3),  # noqa: E501
        moment=MOMENT.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2))), a_list=(1, 2), boolean=1,  # noqa: E501
    )  # fmt: skip
    instance = Everything.get(id=uuid.UUID(int=5))
    assert instance.date.date() == datetime.date(2024, 2, 29)
    assert instance.integer == 12
    assert instance.moment == MOMENT - datetime.timedelta(hours=2)
    assert instance.decimal == decimal.Decimal("1.5")
    assert instance.a_list == [1, 2]
    assert instance.boolean is True
    assert created.id == instance.id


def test_save_writes_only_changes_and_keeps_concurrent_ones() -> None:
    """`save` writes what changed on the instance, and keeps changes that other clients made."""
    row = Place.create(
        country="fr", year=1, name="a", size=1, tags={"x"}, log=["b"], facts={"k": 1}
    )
    row.tags.add("y")
    row.log.append("c")
    row.log.insert(0, "a")
    row.facts["l"] = 2
    del row.facts["k"]
    row.size = None
    assert row.get_changed_columns() == ["size", "tags", "log", "facts"]
    # Another client changes the same collections. save() sends only what this instance has added
    # or removed, so it must not overwrite the other client's changes.
    Place.objects(country="fr", year=1, name="a").update(tags__add={"z"}, facts__update={"m": 3})
    row.save()
    stored = Place.get(country="fr", year=1, name="a")
    assert stored.tags == {"x", "y", "z"}
    assert stored.log == ["a", "b", "c"]
    assert stored.facts == {"l": 2, "m": 3}
    assert stored["size"] is None
    assert row.get_changed_columns() == []
    row.log = ["new"]
    row.tags.clear()
    row.save()
    stored = Place.get(country="fr", year=1, name="a")
    assert (stored.log, stored.tags) == (["new"], set())


def test_updates_of_collections_without_reading() -> None:
    """`update` adds to and removes from collections of rows that were not read."""
    key = {"country": "de", "year": 1, "name": "a"}
    Place.create(**key, tags={"x"}, log=["b"], facts={"k": 1, "n": 5})
    rows = Place.objects(**key)
    rows.update(tags__add={"y"}, log__append=["c"], facts__update={"l": 2, "k": None})
    rows.update(tags__remove={"x"}, log__prepend=["a"])
    rows.update(facts__remove={"n"})
    stored = Place.get(**key)
    assert (stored.tags, stored.log, stored.facts) == ({"y"}, ["a", "b", "c"], {"l": 2})
    # None in place of a collection deletes all of its elements.
    rows.update(log__remove=["b"], tags=None)
    stored = Place.get(**key)
    assert (stored.tags, stored.log) == (set(), ["a", "c"])
    with pytest.raises(ValidationError, match=r"size \(int\) takes no operation, not 'add'"):
        rows.update(size__add=1)
    with pytest.raises(ValidationError, match="has no column named: zip"):
        rows.update(zip=1)
    with pytest.raises(ValidationError, match="primary key 'year'"):
        rows.update(year=1)


def test_static_columns() -> None:
    """All rows of a partition share the value of a static column."""
    Place.create(country="it", year=1, name="a", motto="one")
    Place.create(country="it", year=1, name="b")
    stored = Place.get(country="it", year=1, name="b")
    assert stored.motto == "one"
    stored.motto = "two"
    stored.save()
    assert Place.get(country="it", year=1, name="a").motto == "two"
    # A partition may have a static value without any row.
    Place.create(country="it", year=2, motto="alone")
    assert Place.objects(country="it", year=2)[0].motto == "alone"


def test_counters() -> None:
    """`save` and `update` add to a counter; they never overwrite it with the instance's value."""
    page_hits = Hits.create(page="/", views=5)
    page_hits.views += 2
    page_hits.clicks -= 1
    page_hits.save()
    stored = Hits.get(page="/")
    assert (stored.views, stored.clicks) == (7, -1)
    # `update` adds to a counter, and `save` adds the difference to the value that was read (7).
    Hits.objects(page="/").update(views=10)
    assert Hits.get(page="/").views == 17
    stored.views = 8
    stored.save()
    assert Hits.get(page="/").views == 18
    with BatchQuery(batch_type=BatchType.Counter) as batch:
        for _ in range(2):
            stored.views += 1
            stored.batch(batch).save()
    assert Hits.get(page="/").views == 20


def test_lightweight_transactions_raise_if_a_condition_is_not_met() -> None:
    """If a condition is not met, LWTException is raised, and the row does not change.

    The change stays on the instance.
    """
    key = {"country": "es", "year": 1, "name": "a"}
    Place.if_not_exists().create(**key, size=1)
    with pytest.raises(LWTException) as refused:
        Place.if_not_exists().create(**key, size=2)
    assert refused.value.existing["[applied]"] is False
    assert refused.value.existing["size"] == 1
    stored = Place.get(**key)
    with pytest.raises(LWTException):
        stored.iff(size=7).update(size=3)
    assert Place.get(**key).size == 1
    assert stored.get_changed_columns() == ["size"]
    with pytest.raises(LWTException):
        # The condition of `iff` still applies after the failure.
        stored.save()
    Place.objects(**key).iff(size=1).update(size=2)
    Place.objects(**key).iff(size__gt=1, log=None).update(size=3)
    assert Place.get(**key).size == 3
    with pytest.raises(LWTException):
        Place.objects(country="es", year=1, name="none").if_exists().update(size=1)
    with pytest.raises(LWTException):
        Place(country="es", year=1, name="none").if_exists().delete()
    with pytest.raises(LWTException):
        Place.get(**key).iff(size=1).delete()
    Place.get(**key).iff(size=3).delete()
    with pytest.raises(Place.DoesNotExist):
        Place.get(**key)


def test_ttl_and_timestamp() -> None:
    """`ttl` (seconds) and `timestamp` (relative to now) apply to the next write.

    Some seconds may pass between a write and its check, so the checks also accept a lower TTL.
    """
    key = {"country": "nl", "year": 1, "name": "a"}
    short_lived = Place.ttl(1000).timestamp(datetime.timedelta(seconds=-60)).create(**key, size=1)
    table = Place.column_family_name()
    query = f"SELECT ttl(size) AS ttl, writetime(size) AS at FROM {table} WHERE country = 'nl' AND year = 1 AND name = 'a'"  # noqa: E501
    row = connection.execute(query).one()
    assert 900 < row["ttl"] <= 1000
    first_write_time = row["at"]
    short_lived.ttl(500).update(size=2)
    row = connection.execute(query).one()
    assert 400 < row["ttl"] <= 500
    assert row["at"] > first_write_time
    # A deletion with a timestamp of 30 seconds ago must not delete the row, which is newer.
    Place.objects(**key).timestamp(datetime.timedelta(seconds=-30)).delete()
    assert Place.get(**key).size == 2
    Place.objects(**key).consistency(ConsistencyLevel.ONE).timeout(20).delete()
    assert Place.objects(**key).count() == 0


def test_classes_that_share_a_table() -> None:
    """The discriminator column of a row decides which model class its instance has."""
    Cat.create(owner=1, id=1, name="Tom", cuteness=0.5)
    Dog.create(owner=1, id=2, name="Rex", fierceness=0.25)
    pets = list(Pet.objects(owner=1))
    assert [type(pet) for pet in pets] == [Cat, Dog]
    assert (pets[0]["cuteness"], pets[1]["fierceness"]) == (0.5, 0.25)
    assert [cat.name for cat in Cat.objects(owner=1)] == ["Tom"]
    assert [dog.name for dog in Dog.objects.allow_filtering()] == ["Rex"]
    pets[0].name = "Tim"
    pets[0].save()
    assert Cat.get(owner=1, id=1).name == "Tim"


def test_batches() -> None:
    """A batch is executed at the end of its block; its callbacks are called after the execution."""
    callback_arguments: list[Any] = []
    with BatchQuery() as batch:
        created = [
            Place.batch(batch).create(country="pl", year=1, name=str(n), size=n) for n in range(5)
        ]
        batch.add_callback(callback_arguments.append, "done")
        Place.objects(country="pl", year=1, name="0").batch(batch).update(log=["x"])
        # Nothing is sent before the end of the block.
        assert Place.objects(country="pl", year=1).count() == 0
    assert callback_arguments == ["done"]
    assert Place.objects(country="pl", year=1).count() == 5
    created[1].size = 10
    with BatchQuery(
        batch_type=BatchType.Unlogged, timestamp=datetime.timedelta(seconds=1)
    ) as batch:
        created[1].batch(batch).save()
        created[2].batch(batch).delete()
    # The rows are in descending order of their names; "2" was deleted, and "1" has the new size.
    assert [row.size for row in Place.objects(country="pl", year=1)] == [4, 3, 10, 0]
    # If the block raises, only the batch with execute_on_exception is executed.
    for name, is_executed in (("9", False), ("8", True)):
        with (
            contextlib.suppress(ZeroDivisionError),
            BatchQuery(execute_on_exception=is_executed) as batch,
        ):
            Place.batch(batch).create(country="pl", year=1, name=name)
            _ = 1 / 0
    assert [row.name for row in Place.objects(country="pl", year=1)] == ["8", "4", "3", "1", "0"]
    with pytest.raises(LWTException), BatchQuery() as batch:
        Place.objects(country="pl", year=1, name="8").iff(size=5).batch(batch).update(size=6)


def test_filters() -> None:
    """`filter`, `order_by`, `limit`, slices, `only`, `defer` and `distinct` select the right rows.

    The partition has ten rows, n0 to n9, in descending order of their names.
    """
    for number in range(10):
        Place.create(
            country="uk",
            year=1,
            name=f"n{number}",
            size=number % 3,
            tags={f"t{number % 2}"},
            facts={"f": number},
        )
    rows = Place.objects(country="uk", year=1)
    names = [f"n{number}" for number in range(9, -1, -1)]
    assert [row.name for row in rows] == names
    assert [row.name for row in rows.order_by("name")] == names[::-1]
    assert [row.name for row in rows.order_by("-name").limit(2)] == names[:2]
    assert [row.name for row in rows.filter(name__gt="n7")] == ["n9", "n8"]
    assert [row.name for row in rows.filter(Place.name >= "n3", Place.name < "n5")] == ["n4", "n3"]
    assert [row.name for row in rows.filter(name__lte="n1")] == ["n1", "n0"]
    assert [row.name for row in rows.filter(name__in=["n2", "n5"])] == ["n5", "n2"]
    assert [row.name for row in rows.filter(Place.name.in_(["n2"]))] == ["n2"]
    assert len(rows.filter(size=1)) == 3
    assert len(rows.filter(tags__contains="t1").allow_filtering()) == 5
    assert len(rows.filter(Place.facts.contains_(7)).allow_filtering()) == 1
    assert {row.name for row in Place.objects(country__in=["uk", "xx"], year=1)} == set(names)
    assert len(rows.fetch_size(3)) == 10
    assert rows.count() == 10
    assert rows[2].name == "n7"
    assert [row.name for row in rows[2:4]] == ["n7", "n6"]
    assert rows[-1].name == "n0"
    assert rows.get(name="n9") == rows.first()
    assert rows.filter(name="zz").first() is None
    assert list(rows.values_list("name", flat=True)) == names
    assert next(iter(rows.values_list("country", "name", "tags"))) == ["uk", "n9", {"t1"}]
    row_with_names = rows.only(["name"])[0]
    # Only the column `name` was read. The partition key is known from the filter, and all other
    # columns are None.
    assert row_with_names.name == "n9"
    assert (row_with_names.country, row_with_names.year) == ("uk", 1)
    assert row_with_names.size is None
    assert rows.defer(["tags", "facts"])[0].facts == {}
    # `distinct` returns one row for each partition.
    partitions = [(row.country, row.year) for row in Place.objects.distinct()]
    assert partitions.count(("uk", 1)) == 1
    assert Place.objects.distinct().count() == len(partitions)
    with pytest.raises(Place.MultipleObjectsReturned):
        rows.get()
    with pytest.raises(Place.DoesNotExist, match="zz"):
        rows.get(name="zz")
    with pytest.raises(QueryException, match="allow_filtering"):
        list(Place.objects(motto="x"))
    with pytest.raises(QueryException, match="partition key"):
        Place.objects(country="uk").delete()
    with pytest.raises(ValidationError, match=r"Place\.size 'big'"):
        rows.filter(size="big")


def test_paging_by_token_reads_all_rows_once() -> None:
    """A table can be read in pages with the filter `pk__token__gt`.

    Each page begins after the token of the partition key of the last row of the page before.
    """
    for number in range(30):
        Event.create(source=number, at=uuid.uuid1(), what="x")
    sources: list[int] = []
    page = list(Event.objects.limit(7))
    while page:
        sources += [event.source for event in page]
        page = list(Event.objects.filter(pk__token__gt=functions.Token(page[-1].pk)).limit(7))
    assert sorted(sources) == list(range(30))
    row = Place.create(country="tk", year=3, name="a")
    assert list(Place.objects(pk__token=functions.Token(row.pk))) == [row]


def test_min_and_max_time_uuid_filter_by_time() -> None:
    """`MinTimeUUID` and `MaxTimeUUID` select the events within a minute of now, or after that."""
    minute_before = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=1)
    Event.create(source=100, at=uuid.uuid1(), what="now")
    minute_after = minute_before + datetime.timedelta(minutes=2)
    rows = Event.objects(source=100)
    rows_of_two_minutes = rows.filter(
        at__gt=functions.MinTimeUUID(minute_before), at__lt=functions.MaxTimeUUID(minute_after)
    )
    assert len(rows_of_two_minutes) == 1
    later_rows = rows.filter(at__gt=functions.MaxTimeUUID(minute_after))
    assert len(later_rows) == 0


def test_context_query_uses_the_keyspace_in_its_block(mapper: str) -> None:
    """A `ContextQuery` yields a model that reads and writes in the keyspace of its argument."""
    with ContextQuery(Place, keyspace=mapper, connection=None) as model:
        assert model.column_family_name() == f"{mapper}.place"
        model.create(country="cx", year=1, name="a")
        assert model.objects(country="cx", year=1).count() == 1
    assert Place.objects.using(keyspace=mapper).filter(country="cx", year=1).count() == 1


def test_keys_must_be_complete() -> None:
    """Writing or deleting a row raises an error if a column of its primary key has no value."""
    with pytest.raises(ValidationError, match=r"Place\.year - None"):
        Place.create(country="x", name="a")
    with pytest.raises(ValidationError, match=r"Place\.name - None"):
        Place.create(country="x", year=1, size=1)
    with pytest.raises(ValidationError, match=r"Place\.country"):
        Place(year=1, name="a").delete()
    place = Place.create(country="key", year=1, name="a", size=4)
    place.name = "b"
    place.save()
    # If you change the key of an instance, `save` writes another row, and the old row stays.
    assert [row.size for row in Place.objects(country="key", year=1)] == [4, 4]


def test_like_needs_a_sasi_index(mapper: str) -> None:
    """LIKE works on columns with a SASI index, the only index of Cassandra that supports LIKE.

    The mapper cannot create a SASI index. The model's `custom_index` tells the mapper that the
    column has such an index.
    """

    class Song(Model):
        album = columns.Text(primary_key=True)
        title = columns.Text(primary_key=True)
        words = columns.Text(custom_index=True)

    synced(Song)
    session = connection.get_session()
    for column, mode in (("words", "CONTAINS"), ("title", "PREFIX")):
        session.execute(
            f"CREATE CUSTOM INDEX ON {Song.column_family_name()} ({column}) "
            "USING 'org.apache.cassandra.index.sasi.SASIIndex' "
            f"WITH OPTIONS = {{'mode': '{mode}'}}"
        )
    # Songs 0, 1 and 3 contain the letters "it".
    for number, words in enumerate(["let it be", "it's been a hard day", "100 % pure", "it_is"]):
        Song.create(album="a", title=f"song {number}", words=words)
    songs = Song.objects.filter(words__like="%it%")
    assert sorted(song.title for song in songs) == ["song 0", "song 1", "song 3"]
    assert [song.title for song in Song.filter(words__like="let%")] == ["song 0"]
    assert Song.objects.filter(Song.title.like("song%"), album="a").count() == 4
    assert Song.objects.filter(words__like="%nothing%").first() is None
    with pytest.raises(QueryException, match="set custom_index"):
        Song.objects.filter(album__like="%a%").first()


def is_answered(query: Any) -> bool:
    """Return False if the index that a query needs is not built yet."""
    try:
        query.first()
    except ReadFailure:
        return False
    return True


def test_ann_of_orders_rows_by_the_nearest_vectors(mapper: str) -> None:
    """`order_by` with `ann_of` returns the rows whose vectors are nearest to the query vector.

    Document n has the vector [n, 1].
    """

    class Document(Model):
        id = columns.Integer(primary_key=True)
        kind = columns.Text()
        near = columns.Vector(columns.Float, 2, similarity="euclidean", index=True)

    synced(Document)
    synced(Document)  # does nothing, since the index exists
    for number in range(10):
        Document.create(id=number, kind="even" if number % 2 == 0 else "odd", near=[number, 1.0])
    nearest = Document.objects.order_by(Document.near.ann_of([6.2, 1.0]))
    until(lambda: is_answered(nearest))  # the node builds the index in the background
    assert [document.id for document in nearest.limit(3)] == [6, 7, 5]
    nearest_document = nearest.only(["id"]).first()
    assert nearest_document is not None
    assert nearest_document.id == 6
    assert [document.id for document in nearest.filter(id=3).limit(2)] == [3]
