"""What an instance knows of its values: which were written, and which the database has."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.values import Kept, Values, changed_positions, commit, own, values_read


class Row(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text()
    tags = columns.Set(columns.Text)


class Visits(Model):
    page = columns.Integer(primary_key=True)
    count = columns.Counter()


ROW, VISITS = Row.__mapping__, Visits.__mapping__
ID, NAME, TAGS = (1 << at for at in range(3))


def values(*now: Any, was: Any = None, explicit: int = 0, exposed: int = 0) -> Values:
    made = Values(now, was)
    made.explicit, made.exposed = explicit, exposed
    return made


def test_an_instance_that_was_read_holds_its_row_until_it_is_changed() -> None:
    instance = Row.__new__(Row)
    row = (1, "x", None)
    instance._row = row
    made = own(instance)
    assert (made, made.was) == ([1, "x", None], row)
    assert own(instance) is made is instance._row


def test_a_collection_is_handed_out_once() -> None:
    made = values(1, "x", None, was=(1, "x", None))
    tags = values_read(made, 2, ROW.order[2])
    assert tags == set()
    tags.add("a")
    assert values_read(made, 2, ROW.order[2]) is tags
    assert made.exposed == TAGS
    assert made.was == (1, "x", None)


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
    made = values(*now, explicit=explicit, exposed=exposed)
    assert changed_positions(made, ROW) == changed


@pytest.mark.parametrize(
    ("now", "explicit", "changed"),
    [
        ((1, "x", {"a"}), 0, []),
        ((1, "y", {"a"}), NAME, [1]),
        ((1, "x", {"a"}), NAME, []),
        ((1, None, {"a"}), NAME, [1]),
        ((1, "x", {"a", "b"}), 0, [2]),
        ((1, "x", set()), 0, [2]),
        ((1, "x", set()), TAGS, [2]),
    ],
)
def test_changes_of_a_row_that_was_read(now: Any, explicit: int, changed: list[int]) -> None:
    made = values(*now, was=(1, "x", {"a"}), explicit=explicit)
    assert changed_positions(made, ROW) == changed


def test_null_and_an_empty_collection_are_the_same() -> None:
    assert changed_positions(values(1, "x", set(), was=(1, "x", None)), ROW) == []


def test_counters_are_0_where_there_is_none() -> None:
    assert changed_positions(values(1, 0, explicit=2), VISITS) == []
    assert changed_positions(values(1, 5, explicit=2), VISITS) == [1]
    assert changed_positions(values(1, 0, was=(1, None), explicit=2), VISITS) == []
    assert changed_positions(values(1, 5, was=(1, 5), explicit=2), VISITS) == []
    assert changed_positions(values(1, 6, was=(1, 5), explicit=2), VISITS) == [1]


def test_what_equals_an_unwritten_default_is_written() -> None:
    made = values(1, "x", None, was=(1, "x", None), explicit=NAME)
    made.unknown = NAME
    assert changed_positions(made, ROW) == [1]
    made.explicit = 0
    assert changed_positions(made, ROW) == []


def test_after_an_insert_the_database_has_all_values() -> None:
    tags = {"a"}
    made = values(1, None, tags, explicit=ID | TAGS, exposed=TAGS)
    commit(made, ROW, is_insert=True)
    assert (made.was, made.explicit, made.unknown) == ([1, None, {"a"}], 0, 0)
    tags.add("b")
    assert made.was is not None
    assert made.was[2] == {"a"}
    assert changed_positions(made, ROW) == [2]
    empty = values(1, None, None, explicit=ID)
    commit(empty, ROW, is_insert=True)
    assert empty.unknown == TAGS


def test_after_an_update_of_a_new_instance_the_rest_is_unknown() -> None:
    made = values(1, "default", None, explicit=ID)
    commit(made, ROW, is_insert=False)
    assert made.unknown == ~ID
    made.explicit = NAME
    commit(made, ROW, is_insert=False)
    assert not made.unknown & NAME
    made[2], made.explicit = None, TAGS
    commit(made, ROW, is_insert=False)
    assert made.unknown & TAGS


def test_a_batch_that_failed_takes_its_writes_back() -> None:
    made = values(1, "x", None, was=(1, "x", None), explicit=NAME)
    kept = Kept(made)
    before = (made.was, made.explicit, made.unknown)
    commit(made, ROW, is_insert=False)
    after = (made.was, made.explicit, made.unknown)
    assert before != after
    kept.swap()
    assert (made.was, made.explicit, made.unknown) == before
    kept.swap()
    assert (made.was, made.explicit, made.unknown) == after
