"""Test `Values`, the state of an instance: which values were assigned, and which are stored."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.usertype import UserType
from cassandra.cqlengine.values import (
    SavedState,
    Values,
    begin_write,
    changed_positions,
    counters_to_delete,
    end_write,
    values_of,
    values_read,
)
from tests.unit.cqlengine.conftest import FakeSession


class Row(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text()
    tags = columns.Set(columns.Text)


# A model with a counter.
class Visits(Model):
    page = columns.Integer(primary_key=True)
    count = columns.Counter()


ROW, VISITS = Row.__mapping__, Visits.__mapping__
# the bits of `Row`'s columns in `explicit`, `exposed` and `unknown`
ID, NAME, TAGS = 0b001, 0b010, 0b100


def values(*now: Any, stored: Any = None, explicit: int = 0, exposed: int = 0) -> Values:
    """Return the state of an instance.

    :param now: the current values of the columns.
    :param stored: the values that the database has; None for a new instance.
    :param explicit: the columns that were assigned, as bits.
    :param exposed: the columns whose value the application has got and may change in place, as
        bits.
    """
    state = Values(now, stored)
    state.explicit, state.exposed = explicit, exposed
    return state


def write(state: Values, *, is_insert: bool) -> None:
    """Write the state of an instance successfully."""
    end_write(state, ROW, begin_write(state, ROW, is_insert), has_succeeded=True)


def test_values_of_replaces_the_tuple_of_a_row_once() -> None:
    """`values_of` replaces the tuple of a row with a `Values`, once."""
    instance = Row.__new__(Row)
    row = (1, "x", None)
    instance._row = row
    state = values_of(instance)
    assert state == [1, "x", None]
    assert state.stored == row
    assert values_of(instance) is instance._row
    assert state is instance._row


def test_values_that_are_set_while_the_tuple_is_replaced_stay() -> None:
    """While one caller replaces the tuple of a row, another one may set a value of the row."""

    class InterruptedRow(tuple[Any, ...]):
        def __iter__(self) -> Iterator[Any]:
            if instance._row is self and not interruptions:
                interruptions.append(self)
                instance.tags.add("a")
                instance.name = "y"
            return super().__iter__()

    interruptions: list[object] = []
    instance = Row.__new__(Row)
    instance._row = InterruptedRow((1, "x", None))
    instance.id = 1
    assert interruptions
    assert (instance.name, instance.tags) == ("y", {"a"})
    assert instance.get_changed_columns() == ["name", "tags"]


def test_a_collection_that_is_read_twice_at_the_same_time_is_one_object() -> None:
    """While one caller copies a collection, another one may read and change it."""
    state = values(1, "x", {"a"}, stored=(1, "x", {"a"}))

    def isolated(value: set[str]) -> set[str]:
        if not state.exposed:
            values_read(state, 2, set).add("b")
        return set(value)

    assert values_read(state, 2, isolated) == {"a", "b"}
    assert state.stored == (1, "x", {"a"})


def test_reading_a_collection_copies_it_once() -> None:
    """The first read of a collection copies it; later reads return the same copy."""
    state = values(1, "x", None, stored=(1, "x", None))
    position = 2  # the position of the column `tags`
    tags = values_read(state, position, ROW.isolators[position])
    # A null collection is read as an empty set.
    assert tags == set()
    tags.add("a")
    assert values_read(state, position, ROW.isolators[position]) is tags
    # The application has got the set and may change it. So the set must be compared when the
    # instance is saved.
    assert state.exposed == TAGS
    assert state.stored == (1, "x", None)


@pytest.mark.parametrize(
    ("explicit", "exposed", "now", "changed"),
    [
        (0, 0, (1, "default", None), []),
        (ID | NAME, 0, (1, "x", None), [0, 1]),
        (NAME, 0, (None, None, None), [1]),
        (0, TAGS, (None, None, set()), []),
        (0, TAGS, (None, None, {"a"}), [2]),
        (TAGS, TAGS, (None, None, set()), [2]),
    ],
)
def test_changes_of_a_new_row(explicit: int, exposed: int, now: Any, changed: list[int]) -> None:
    """In a new row, assigned columns and exposed non-empty collections count as changed.

    A collection is exposed if the application has read it, because the application may then change
    it. An assigned null counts as changed, too.

    :param explicit: a bit mask of the columns to which the application has assigned a value.
    :param exposed: a bit mask of the columns whose collections are exposed.
    :param changed: the positions of the changed columns.
    """
    state = values(*now, explicit=explicit, exposed=exposed)
    assert changed_positions(state, ROW) == changed


def test_an_invalid_value_is_a_change() -> None:
    """A value that the column cannot have counts as a change; the error comes with the write."""
    state = values(1, "x", 5, stored=(1, "x", {"a"}), explicit=TAGS)
    assert changed_positions(state, ROW) == [2]


def test_a_default_that_was_only_read_is_no_change() -> None:
    """Reading the default collection of a new instance does not make the next UPDATE write it.

    The row may exist, and have another value. A default that the application has changed in place,
    or has set, is written.
    """

    class Labels(Model):
        id = columns.Integer(primary_key=True)
        note = columns.Text()
        labels = columns.Set(columns.Text, default={"new"})
        scores = columns.Map(columns.Text, columns.Integer, default=lambda: {"x": 1})

    labels = Labels(id=1)
    assert dict(labels) == {"id": 1, "note": None, "labels": {"new"}, "scores": {"x": 1}}
    labels.note = "n"
    assert labels.get_changed_columns() == ["id", "note"]
    labels.labels.add("b")
    assert labels.get_changed_columns() == ["id", "note", "labels"]
    labels.scores = {"x": 1}
    assert labels.get_changed_columns() == ["id", "note", "labels", "scores"]
    # A default that was emptied in place is a change, too: the value is deleted.
    labels = Labels(id=1)
    labels.labels.clear()
    assert labels.get_changed_columns() == ["id", "labels"]


@pytest.mark.parametrize(
    ("now", "explicit", "exposed", "changed"),
    [
        ((1, "x", {"a"}), 0, TAGS, []),
        ((1, "y", {"a"}), NAME, 0, [1]),
        ((1, "x", {"a"}), NAME, 0, []),
        ((1, None, {"a"}), NAME, 0, [1]),
        ((1, "x", {"a", "b"}), 0, TAGS, [2]),
        ((1, "x", set()), 0, TAGS, [2]),
        ((1, "x", set()), TAGS, TAGS, [2]),
        # Validation has converted these values. They were not assigned by the application.
        ((1, "X", {"A"}), 0, 0, []),
    ],
)
def test_changes_of_a_row_that_was_read(
    now: Any, explicit: int, exposed: int, changed: list[int]
) -> None:
    """In a row that was read, columns whose values differ from the stored values have changed.

    :param changed: the positions of these columns.
    """
    state = values(*now, stored=(1, "x", {"a"}), explicit=explicit, exposed=exposed)
    assert changed_positions(state, ROW) == changed


def test_null_and_an_empty_collection_are_the_same() -> None:
    """An empty collection does not differ from null."""
    assert changed_positions(values(1, "x", set(), stored=(1, "x", None)), ROW) == []


def test_a_counter_that_is_null_counts_as_0() -> None:
    """A counter that is null counts as 0."""
    count = 0b10  # the bit of the column `count`, whose position is 1
    assert changed_positions(values(1, 0, explicit=count), VISITS) == []
    assert changed_positions(values(1, 5, explicit=count), VISITS) == [1]
    assert changed_positions(values(1, 0, stored=(1, None), explicit=count), VISITS) == []
    assert changed_positions(values(1, 5, stored=(1, 5), explicit=count), VISITS) == []
    assert changed_positions(values(1, 6, stored=(1, 5), explicit=count), VISITS) == [1]


def test_a_counter_that_was_set_to_null_is_deleted() -> None:
    """A counter that the application has set to null is a change, even if it was null before."""
    count = 0b10  # the bit of the column `count`, whose position is 1
    for stored in (None, (1, None), (1, 5)):
        state = values(1, None, stored=stored, explicit=count)
        assert changed_positions(state, VISITS) == [1]
        assert counters_to_delete(state, VISITS) == count
        state.explicit = 0
        assert changed_positions(state, VISITS) == []
        assert counters_to_delete(state, VISITS) == 0
    assert counters_to_delete(values(1, 0, explicit=count), VISITS) == 0
    assert counters_to_delete(values(1, "x", None, explicit=0b111), ROW) == 0


def test_a_value_equal_to_an_unwritten_default_is_written() -> None:
    """Assigning a value is a change if it is unknown whether the database has the value.

    `unknown` has the bits of these columns.
    """
    state = values(1, "x", None, stored=(1, "x", None), explicit=NAME)
    state.unknown = NAME
    assert changed_positions(state, ROW) == [1]
    state.explicit = 0
    assert changed_positions(state, ROW) == []


def test_after_an_insert_all_values_are_known() -> None:
    """After an INSERT, all values are known, except for null collections."""
    tags = {"a"}
    state = values(1, None, tags, explicit=ID | TAGS, exposed=TAGS)
    write(state, is_insert=True)
    assert state.stored == [1, None, {"a"}]
    assert state.explicit == 0
    assert state.unknown == 0
    # `stored` has a copy of the set, so a later change of the set is noticed.
    tags.add("b")
    assert state.stored is not None
    assert state.stored[2] == {"a"}
    assert changed_positions(state, ROW) == [2]
    # If a collection is null after the INSERT, its stored value counts as unknown.
    empty = values(1, None, None, explicit=ID)
    write(empty, is_insert=True)
    assert empty.unknown == TAGS


def test_after_an_update_of_a_new_instance_the_rest_is_unknown() -> None:
    """After an UPDATE of a new instance, columns that were not written are unknown."""
    state = values(1, "default", None, explicit=ID)
    write(state, is_insert=False)
    assert state.unknown == ~ID
    # The values that an UPDATE writes are known, except for null collections.
    state.explicit = NAME
    write(state, is_insert=False)
    assert not state.unknown & NAME
    state[2], state.explicit = None, TAGS
    write(state, is_insert=False)
    assert state.unknown & TAGS


def test_a_saved_state_is_restored_and_redone_once() -> None:
    """A failed batch restores the state before a write, and another execution redoes the write.

    A second call of the same method changes nothing.
    """
    state = values(1, "x", None, stored=(1, "x", None), explicit=NAME)
    before_write = (state.stored, state.explicit, state.unknown)
    written = begin_write(state, ROW, is_insert=False)
    saved = SavedState(state, ROW, written)
    end_write(state, ROW, written, has_succeeded=True)
    after_write = (state.stored, state.explicit, state.unknown)
    assert before_write != after_write
    for method, expected in (
        (saved.redo, after_write),
        (saved.restore, before_write),
        (saved.restore, before_write),
        (saved.redo, after_write),
        (saved.redo, after_write),
    ):
        method()
        assert (state.stored, state.explicit, state.unknown) == expected


class Address(UserType):
    street = columns.Text()
    tags = columns.List(columns.Text())
    seal = columns.Blob()


class Json(columns.Text):
    """An application's column class for JSON: text in the database, list or dict on instances."""

    def validate(self, value: Any) -> Any:
        return value

    def to_python(self, value: Any) -> Any:
        return json.loads(value) if isinstance(value, str) else value

    def to_database(self, value: Any) -> Any:
        return None if value is None else json.dumps(value)


class Place(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    home = columns.UserDefinedType(Address)
    homes = columns.List(columns.UserDefinedType(Address))
    by_name = columns.Map(columns.Text, columns.UserDefinedType(Address))
    pair = columns.Tuple(columns.Integer, columns.UserDefinedType(Address))
    numbers = columns.Tuple(columns.Integer, columns.List(columns.Integer))
    data = Json()
    listed = columns.List(Json())
    near = columns.Vector(columns.Float, 2)
    raw = columns.Blob()
    raws = columns.List(columns.Blob())


def place_values() -> dict[str, Any]:
    """Return a value for each column of `Place` except the key."""
    return {
        "home": Address(street="a", tags=["x"], seal=bytearray(b"s")),
        "homes": [Address(street="b")],
        "by_name": {"k": Address(street="c")},
        "pair": (1, Address(street="d")),
        "numbers": (1, [1]),
        "data": {"a": [1]},
        "listed": [{"a": 1}],
        "near": [1.0, 2.0],
        "raw": bytearray(b"a"),
        "raws": [bytearray(b"a")],
    }


# Functions that change a value in place, with the name of the changed column, by a description.
CHANGES_IN_PLACE: dict[str, tuple[str, Callable[[Any], object]]] = {
    "field": ("home", lambda place: setattr(place.home, "street", place.home.street + "!")),
    "list of a field": ("home", lambda place: place.home.tags.append("y")),
    "bytearray of a field": ("home", lambda place: place.home.seal.extend(b"!")),
    "type in a list": ("homes", lambda place: place.homes[0].tags.append("y")),
    "type in a map": ("by_name", lambda place: place.by_name["k"].tags.append("y")),
    "type in a tuple": ("pair", lambda place: place.pair[1].tags.append("y")),
    "list in a tuple": ("numbers", lambda place: place.numbers[1].append(2)),
    "own column": ("data", lambda place: place.data["a"].append(2)),
    "own column in a list": (
        "listed",
        lambda place: place.listed[0].update(a=place.listed[0]["a"] + 1),
    ),
    "vector": ("near", lambda place: place.near.__setitem__(0, place.near[0] + 1)),
    "bytearray": ("raw", lambda place: place.raw.extend(b"!")),
    "bytearray in a list": ("raws", lambda place: place.raws[0].extend(b"!")),
}


def created_place(session: FakeSession) -> Place:
    """Return an instance that was inserted with `create`."""
    return Place.create(id=1, **place_values())


def read_place(session: FakeSession) -> Place:
    """Return an instance that was read from a row."""
    rows = place_values() | {"data": '{"a": [1]}', "listed": ['{"a": 1}'], "near": [1.0, 2.0]}
    session.return_row(id=1, **rows)
    return Place.get(id=1)


@pytest.mark.parametrize("change_name", CHANGES_IN_PLACE)
@pytest.mark.parametrize("make_place", [created_place, read_place])
def test_changes_in_place_are_written(
    session: FakeSession, make_place: Callable[[FakeSession], Place], change_name: str
) -> None:
    """A change of a value in place is written by the next `save`, once."""
    column, change_value = CHANGES_IN_PLACE[change_name]
    if make_place is read_place and column == "raw":
        pytest.skip("rows have bytes, which cannot change")
    place = make_place(session)
    request_count = len(session.executions)
    for _ in range(2):
        change_value(place)
        assert place.get_changed_columns() == [column]
        place.save()
        # The second `save` has nothing to write, so it sends no request.
        place.save()
        request_count += 1
        assert len(session.executions) == request_count
        query, _ = session.last_statement
        assert query is not None
        assert query.startswith(f'UPDATE ks.place SET "{column}"')
    # If a changed value is replaced with an equal copy, it is still written.
    if column in ("home", "data"):
        change_value(place)
        setattr(place, column, copy.deepcopy(getattr(place, column)))
        place.save()
        assert len(session.executions) == request_count + 1


def test_reading_values_changes_nothing(session: FakeSession) -> None:
    """Reading the values of an instance does not count as a change."""
    for place in (created_place(session), read_place(session)):
        request_count = len(session.executions)
        assert place.items()
        assert place.data is place.data
        assert place.numbers is place.numbers
        assert place.get_changed_columns() == []
        place.save()
        assert len(session.executions) == request_count


def test_immutable_values_keep_the_tuple_of_the_row(session: FakeSession) -> None:
    """Reading immutable values does not replace the tuple of the row."""
    session.return_row(id=1, home=None, pair=None, data='"text"', raw=b"a")
    place: Any = Place.get(id=1)
    assert place.id == 1
    assert place.pair is None
    assert place.data == "text"
    assert place.raw == b"a"
    # Reading has not replaced the tuple of the row with a state that notices changes.
    assert type(place._row) is tuple


def test_instances_do_not_share_a_mutable_default(session: FakeSession) -> None:
    """Instances get their own copies of a mutable default."""

    class Note(Model):
        __keyspace__ = "ks"
        id = columns.Integer(primary_key=True)
        data = Json(default={})
        raw = columns.Blob(default=bytearray(b""))

    note: Any = Note.create(id=1)
    note.data["a"] = 1
    note.raw.extend(b"a")
    assert note.get_changed_columns() == ["data", "raw"]
    other_note: Any = Note(id=2)
    assert other_note.data == {}
    assert other_note.raw == b""


def test_has_changed_fields_of_a_user_defined_type(session: FakeSession) -> None:
    """`has_changed_fields` of a user-defined type in an instance notices changes in place."""
    for place in (created_place(session), read_place(session)):
        assert not place.home.has_changed_fields()
        place.home.tags.append("y")
        assert place.home.has_changed_fields()
        place.save()
        assert not place.home.has_changed_fields()
    place = Place.create(id=1, home=Address(street="a"))
    # Reading null as an empty list does not count as a change.
    assert place.home.tags == []
    assert not place.home.has_changed_fields()


def test_values_that_cannot_be_copied_deeply_can_be_saved(session: FakeSession) -> None:
    """Values that cannot be copied, such as memoryviews, can be saved."""
    bytes_view = memoryview(b"a")
    place = Place.create(id=1, raw=bytes_view, raws=[bytes_view], home=Address(seal=bytes_view))
    assert place.get_changed_columns() == []


def test_numpy_arrays_are_compared_by_all_elements(session: FakeSession) -> None:
    """NumPy arrays are compared by all their elements to find changes."""
    numpy = pytest.importorskip("numpy")
    place = Place(id=1).update(near=numpy.array([1.0, 2.0]))
    assert place.get_changed_columns() == []
    place.near[0] = 5.0
    assert place.get_changed_columns() == ["near"]
    place.save()
    # Assigning an equal array does not count as a change.
    place.near = numpy.array([5.0, 2.0])
    assert place.get_changed_columns() == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (columns.Tuple(columns.List(columns.Integer), columns.Integer), (None, 1)),
        (columns.List(columns.Tuple(columns.List(columns.Integer), columns.Integer)), [None]),
        (columns.Map(columns.Integer, columns.List(columns.Integer)), {1: None}),
    ],
    ids=["tuple", "list", "map"],
)
def test_nulls_inside_collections_are_copied(column: Any, value: Any) -> None:
    """Copying a collection keeps the nulls inside it."""
    assert column._copier()(value) == value


def test_writes_of_the_same_values_end_apart() -> None:
    """Two writes of the same values that are in flight end separately.

    Each write in flight is identified by its object. Without writes in flight, `in_flight` is an
    empty tuple.
    """
    state = values(1, 2, None, stored=(1, 2, None))
    first = begin_write(state, ROW, is_insert=False)
    second = begin_write(state, ROW, is_insert=False)
    end_write(state, ROW, second, has_succeeded=True)
    assert state.in_flight[0] is first
    end_write(state, ROW, first, has_succeeded=True)
    assert state.in_flight == ()


def test_a_write_whose_values_cannot_be_copied_has_ended() -> None:
    """If a save fails because a value cannot be copied, the save counts as ended.

    In this test, another thread adds to a set while the save copies the set. Later saves must not
    wait for the failed save.
    """

    class Growing(set[str]):
        def __iter__(self) -> Any:
            raise RuntimeError("Set changed size during iteration")

    state = values(1, "x", Growing("a"), stored=(1, "x", None), explicit=TAGS)
    with pytest.raises(RuntimeError, match="changed size"):
        begin_write(state, ROW, is_insert=False)
    assert state.in_flight == ()
    assert state.explicit == TAGS
