"""Test the statements that save, update and delete instances, and instances after a failure."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import ipaddress
import pickle
import re
import uuid
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqlengine import CQLEngineException, ValidationError, columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import (
    BatchQuery,
    DMLQuery,
    IfExistsWithCounterColumn,
    IfNotExistsWithCounterColumn,
    LWTException,
    dml,
)
from cassandra.cqlengine.values import MOST_FAILED, values_of
from cassandra.errors import InvalidRequest, RateLimitReached, RequestThrottled
from tests.unit.cqlengine.conftest import FakeSession
from tests.unit.cqlengine.test_models import Hits, Person


def person_read(session: FakeSession) -> Person:
    """Return a person instance that was read from the (fake) database."""
    session.return_row(nm="x", age=4, tags={"a"}, scores={"a": 1, "b": 2})
    person: Person = Person.get(id=1)
    return person


def test_create_inserts_all_values_and_defaults(session: FakeSession) -> None:
    """`create` inserts all passed values, None included, and the defaults of other columns."""
    Person.create(id=1, name=None, tags={"a"})
    assert session.last_statement == (
        'INSERT INTO ks.person ("id", "nm", "age", "tags") VALUES (?, ?, ?, ?)',
        [1, None, 3, {"a"}],
    )


def test_get_reads_the_columns_that_are_not_in_the_condition(session: FakeSession) -> None:
    """`get` selects only columns that the condition does not define, with a limit of 2 rows.

    The limit lets `get` notice that more than one row matches.
    """
    person = person_read(session)
    assert session.last_statement == (
        'SELECT "nm", "age", "tags", "scores" FROM ks.person WHERE "id" = ? LIMIT ?',
        [1, 2],
    )
    assert person._row == (1, "x", 4, {"a"}, {"a": 1, "b": 2})


def test_save_sends_only_what_has_changed(session: FakeSession) -> None:
    """`save` sends only columns that have changed, and nothing if there is no change."""
    person = person_read(session)
    statement_count = len(session.executions)
    # Nothing has changed, so nothing is sent.
    assert person.save() is person
    assert len(session.executions) == statement_count
    person.age = None
    person.scores["c"] = 3
    del person.scores["a"]
    person.save()
    assert session.last_statement == (
        'UPDATE ks.person SET "age" = ?, "scores"[?] = ?, "scores"[?] = ? WHERE "id" = ?', [None, "c", 3, "a", None, 1]  # noqa: E501
    )  # fmt: skip


def test_none_in_a_map_deletes_the_key(session: FakeSession) -> None:
    """None as the value of a key in a map deletes the key.

    `save`, `update` of an instance and `update` of a queryset assign null to the key.
    """
    person = person_read(session)
    person.scores["a"] = None  # type: ignore[assignment]
    person.save()
    update = 'UPDATE ks.person SET "scores"[?] = ? WHERE "id" = ?'
    assert session.last_statement == (update, ["a", None, 1])
    person.update(scores={"a": None, "b": None})
    assert session.last_statement == (update, ["b", None, 1])
    Person.objects(id=1).update(scores={"c": None})
    assert session.last_statement == (update, ["c", None, 1])


@pytest.mark.parametrize(
    ("write", "dropped", "verb"),
    [
        (lambda: Person.if_exists().create(id=1), "if_exists()", "INSERT"),
        (lambda: Person(id=1).if_exists().save(), "if_exists()", "INSERT"),
        (lambda: Person(id=1).iff(age=3).save(), "iff()", "INSERT"),
        (lambda: Person.objects.iff(age=3).if_exists().create(id=1), "if_exists() and iff()", "INSERT"),  # noqa: E501
        (lambda: Person.if_not_exists().filter(id=1).update(age=3), "if_not_exists()", "UPDATE"),
        (lambda: Person(id=1).if_not_exists().update(age=4), "if_not_exists()", "UPDATE"),
        (lambda: Person.if_not_exists().filter(id=1).delete(), "if_not_exists()", "DELETE"),
        (lambda: Person(id=1).if_not_exists().delete(), "if_not_exists()", "DELETE"),
    ],
)  # fmt: skip
def test_a_condition_that_the_statement_cannot_have_warns(
    write: Callable[[], object], dropped: str, verb: str, session: FakeSession
) -> None:
    """A condition that the statement cannot have causes a warning, and is left out.

    CQL has no INSERT IF EXISTS and no UPDATE IF NOT EXISTS.
    """
    message = f"{re.escape(dropped)} has no effect on {verb}, which is executed in any case"
    with pytest.warns(RuntimeWarning, match=message) as caught:
        write()
    assert [warning.filename for warning in caught] == [__file__]
    text, _ = session.last_statement
    assert text is not None
    assert text.startswith(verb)
    assert " IF " not in text


class _OwnQuery(DMLQuery):
    """An application's subclass of DMLQuery."""


# A model whose rows are written by the application's own subclass of DMLQuery.
class _OwnWrites(Model):
    __keyspace__ = "ks"
    __dmlquery__ = _OwnQuery
    id = columns.Integer(primary_key=True)
    age = columns.Integer()


@pytest.mark.parametrize("model", [Person, _OwnWrites])
def test_a_condition_that_an_earlier_write_has_used_does_not_warn(
    model: Any, session: FakeSession
) -> None:
    """After `if_not_exists` was used by an INSERT, later updates do not warn about it.

    The condition stays on the instance, but updates do not use it.
    """
    session.return_row(**{"[applied]": True})
    person = model.if_not_exists().create(id=1)
    assert " IF NOT EXISTS" in str(session.last_statement[0])
    person.update(age=4)
    person.age = 5
    person.save()
    person.iff(age=5).update(age=6)
    assert session.last_statement[1] == [6, 1, 5]
    person.delete()


def test_conditions_of_a_created_row_do_not_stay(session: FakeSession) -> None:
    """`iff` before `create` has no effect, on later writes of the new instance, either."""
    with pytest.warns(RuntimeWarning, match="no effect on INSERT"):
        person = Person.iff(age=3).create(id=1)
    person.update(age=4)
    assert " IF " not in str(session.last_statement[0])


class Visit(Model):
    """A model with IP addresses in its key and in another column."""

    __keyspace__ = "ks"
    host = columns.Inet(primary_key=True)
    proxy = columns.Inet()
    count = columns.Integer()


def test_a_value_that_was_read_is_not_converted_by_a_later_save(session: FakeSession) -> None:
    """A key that was read is sent unchanged by later writes.

    If the application sets the string of an IPv4-mapped address ("::ffff:1.2.3.4"), the mapper
    converts the string to the IPv4 address, which is stored in four bytes. But the key of a row may
    be the same address in sixteen bytes. When `save` converted a key that was read, it wrote to
    another row.
    """
    mapped = "::ffff:1.2.3.4"
    session.return_row(host=mapped, proxy=mapped, count=1)
    visit = Visit.objects.first()
    assert visit is not None
    visit.count = 2
    visit.save()
    update = 'UPDATE ks.visit SET "count" = ? WHERE "host" = ?'
    assert session.last_statement == (update, [2, mapped])
    # A value that the application sets is converted, even if it equals the current value.
    visit.update(proxy="::ffff:1.2.3.4", count=3)
    update = 'UPDATE ks.visit SET "proxy" = ?, "count" = ? WHERE "host" = ?'
    assert session.last_statement == (update, ["1.2.3.4", 3, mapped])
    visit.delete()
    assert session.last_statement == ('DELETE FROM ks.visit WHERE "host" = ?', [mapped])
    # An address object is sent with its sixteen bytes, also by writes after the first write.
    address = ipaddress.ip_address(mapped)
    visit = Visit.create(host=address, count=1)
    visit.update(count=2)
    # The string depends on the Python version.
    assert session.last_statement[1] == [2, str(address)]


def test_values_that_were_read_are_not_converted_by_an_application_s_column(
    session: FakeSession,
) -> None:
    """Values that were read are not passed to an application's `validate` again.

    For example, a hash must not be replaced by the hash of the hash.
    """

    # This application's column converts each value, here to upper case.
    class Upper(columns.Text):
        def validate(self, value: object) -> Any:
            return None if value is None else str(value).upper()

    class Tag(Model):
        __keyspace__ = "ks"
        name = Upper(primary_key=True)
        note = Upper()
        count = columns.Integer()

    session.return_row(name="a", note="n", count=1)
    tag = Tag.objects.first()
    assert tag is not None
    tag.update(count=2)
    assert session.last_statement == ('UPDATE ks.tag SET "count" = ? WHERE "name" = ?', [2, "a"])
    # A value that the application assigns is converted.
    tag.note = "m"
    tag.save()
    assert session.last_statement == ('UPDATE ks.tag SET "note" = ? WHERE "name" = ?', ["M", "a"])


@pytest.mark.parametrize("verb", ["UPDATE", "DELETE"])
def test_a_limit_of_a_write_warns(verb: str, session: FakeSession) -> None:
    """A limit on an update or delete causes a warning, because CQL has no LIMIT for writes.

    All rows that match are changed.
    """
    message = rf"limit\(5\) has no effect on {verb}, which changes all rows"
    write: Callable[[Any], None]
    if verb == "UPDATE":
        write = lambda queryset: queryset.update(age=3)  # noqa: E731
    else:
        write = lambda queryset: queryset.delete()  # noqa: E731
    with pytest.warns(RuntimeWarning, match=message) as caught:
        write(Person.objects(id=1).limit(5))
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(Person.objects(id=1).limit(None))
        write(Person.objects(id=1))


def test_the_ttl_of_an_instance_stays_and_the_timestamp_is_for_one_statement(
    session: FakeSession,
) -> None:
    """The TTL of an instance stays for later writes; the timestamp is used for one write only."""
    person = person_read(session)
    person.ttl(5).timestamp(7).update(name="z")
    assert session.last_statement == (
        'UPDATE ks.person USING TTL ? AND TIMESTAMP ? SET "nm" = ? WHERE "id" = ?',
        [5, 7, "z", 1],
    )
    person.update(name="y")
    assert session.last_statement == (
        'UPDATE ks.person USING TTL ? SET "nm" = ? WHERE "id" = ?',
        [5, "y", 1],
    )


def test_delete_deletes_the_row_with_the_settings_of_the_call(session: FakeSession) -> None:
    """`delete` uses the timeout and consistency level that were set on the instance."""
    person = person_read(session)
    person.timeout(3).consistency(ConsistencyLevel.QUORUM).delete()
    assert session.last_statement == ('DELETE FROM ks.person WHERE "id" = ?', [1])
    assert session.executions[-1].timeout == 3
    assert session.executions[-1].consistency == ConsistencyLevel.QUORUM


def test_statements_with_different_values_are_prepared_once(session: FakeSession) -> None:
    """Statements that differ only in their values are prepared once."""
    session.return_row(nm="x", age=4, tags=None, scores=None)
    for number in range(5):
        Person.create(id=number, name="x")
        Person.get(id=number)
        list(Person.objects(id__in=range(number)).limit(number + 1))
        Person.objects(id=number).update(name=str(number))
    # The loop executes four different statements.
    assert len(session.prepared) == 4
    assert len(set(session.prepared)) == 4


class Views(Model):
    __keyspace__ = "ks"
    page = columns.Text(primary_key=True)
    day = columns.Integer(primary_key=True)
    count = columns.Counter()
    of_page = columns.Counter()
    of_page.static = True


def test_counters_with_another_key_are_another_row(session: FakeSession) -> None:
    """Saving counters whose key has changed writes all counters, as saving a new row does.

    The counters of the new row change by the difference, which may be 0.
    """
    session.return_row(page="a", day=1, count=5, of_page=None)
    views = Views.get(page="a")
    views.day = 2
    views.save()
    update = 'UPDATE ks.views SET "count" = "count" + ?, "of_page" = "of_page" + ? WHERE "page" = ?'
    assert session.last_statement == (f'{update} AND "day" = ?', [0, 0, "a", 2])
    assert views.get_changed_columns() == []
    views.day, views.count = 3, 6
    views.save()
    assert session.last_statement == (f'{update} AND "day" = ?', [1, 0, "a", 3])
    # Nothing has changed since.
    executions = len(session.executions)
    views.save()
    assert len(session.executions) == executions


def test_static_counters_need_no_clustering_key(session: FakeSession) -> None:
    """Without a clustering key, only static counters are written."""
    update = 'UPDATE ks.views SET "of_page" = "of_page" + ? WHERE "page" = ?'
    views = Views(page="a", of_page=3)
    views.save()
    assert session.last_statement == (update, [3, "a"])
    views.page = "b"
    views.save()
    assert session.last_statement == (update, [0, "b"])
    views.count = 1
    with pytest.raises(ValidationError, match=r"Views\.day - None values are not allowed"):
        views.save()


# The statements for the counters of one row of `Views`.
UPDATE_COUNT = 'UPDATE ks.views SET "count" = "count" + ? WHERE "page" = ? AND "day" = ?'
UPDATE_OF_PAGE = 'UPDATE ks.views SET "of_page" = "of_page" + ? WHERE "page" = ?'
DELETE_COUNT = 'DELETE "count" FROM ks.views WHERE "page" = ? AND "day" = ?'
DELETE_OF_PAGE = 'DELETE "of_page" FROM ks.views WHERE "page" = ?'
DELETE_BOTH = 'DELETE "count", "of_page" FROM ks.views WHERE "page" = ? AND "day" = ?'
ROW_KEY = ["a", 1]


def views_read(session: FakeSession) -> Views:
    """Return an instance that was read."""
    session.return_row(page="a", day=1, count=5, of_page=2)
    return Views.get(page="a")


def writes_of(session: FakeSession) -> list[tuple[str | None, Any]]:
    """Return the statements and values of all executions, without queries."""
    return [
        (execution.text, execution.values)
        for execution in session.executions
        if not str(execution.text).startswith("SELECT")
    ]


@pytest.mark.parametrize("method", ["save", "update"])
@pytest.mark.parametrize(
    ("changes", "statements"),
    [
        ({"count": None}, [(DELETE_COUNT, ROW_KEY)]),
        ({"of_page": None}, [(DELETE_OF_PAGE, ["a"])]),
        ({"count": None, "of_page": None}, [(DELETE_BOTH, ROW_KEY)]),
        ({"count": None, "of_page": 9}, [(UPDATE_OF_PAGE, [7, "a"]), (DELETE_COUNT, ROW_KEY)]),
        ({"count": 9, "of_page": None}, [(UPDATE_COUNT, [4, "a", 1]), (DELETE_OF_PAGE, ["a"])]),
    ],
)
def test_null_deletes_a_counter(
    session: FakeSession,
    method: str,
    changes: dict[str, Any],
    statements: list[tuple[str, list[Any]]],
) -> None:
    """If the application sets a counter to None, it is deleted once, and counts from 0 again."""
    views = views_read(session)
    if method == "update":
        views.update(**changes)
    else:
        for name, value in changes.items():
            setattr(views, name, value)
        assert sorted(views.get_changed_columns()) == sorted(changes)
        views.save()
    assert writes_of(session) == statements
    assert views.get_changed_columns() == []
    views.save()
    assert writes_of(session) == statements
    views.count = (views.count or 0) + 3
    views.save()
    assert session.last_statement == (UPDATE_COUNT, [3, "a", 1])


def test_null_deletes_a_counter_of_a_row_that_was_not_read(session: FakeSession) -> None:
    """None deletes a counter of a new instance, but not if its constructor gets the None."""
    Views(page="a", day=1).update(count=None)
    assert writes_of(session) == [(UPDATE_OF_PAGE, [0, "a"]), (DELETE_COUNT, ROW_KEY)]
    # Without a clustering key, only static counters can be deleted.
    Views(page="a").update(of_page=None)
    assert writes_of(session)[2:] == [(DELETE_OF_PAGE, ["a"])]
    views = Views(page="a")
    with pytest.raises(ValidationError, match=r"Views\.day - None values are not allowed"):
        views.update(count=None)
    assert "count" not in views.get_changed_columns()
    Views.create(page="a", day=1, count=None)
    both = 'UPDATE ks.views SET "count" = "count" + ?, "of_page" = "of_page" + ? WHERE "page" = ?'
    assert writes_of(session)[3:] == [(f'{both} AND "day" = ?', [0, 0, "a", 1])]


def test_a_null_counter_that_was_set_to_null_is_deleted(session: FakeSession) -> None:
    """None deletes a counter even if it was null when it was read."""
    session.return_row(page="a", day=1, count=None, of_page=2)
    views = Views.get(page="a")
    views.save()
    assert writes_of(session) == []
    views.update(count=None)
    assert writes_of(session) == [(DELETE_COUNT, ROW_KEY)]


def test_del_makes_a_counter_0(session: FakeSession) -> None:
    """`del` of a counter subtracts its value; `del` after None leaves the None."""
    views = views_read(session)
    del views.count
    views.save()
    assert session.last_statement == (UPDATE_COUNT.replace("+", "-"), [5, "a", 1])
    views = views_read(session)
    views.count = None
    del views.count
    views.save()
    assert session.last_statement == (DELETE_COUNT, ROW_KEY)


def test_a_counter_whose_deletion_has_failed_is_deleted_again(session: FakeSession) -> None:
    """If only the DELETE has failed, the next `save` repeats it, and adds nothing again.

    A number that is set instead is added to the number that the row still has.
    """
    for value, statement in (
        (None, (DELETE_COUNT, ROW_KEY)),
        (6, (UPDATE_COUNT, [1, "a", 1])),
    ):
        views = views_read(session)
        session.executions.clear()
        views.count, views.of_page = None, 3
        operation = dml.save(views)
        next(operation)  # the UPDATE of the other counter
        operation.send(None)
        with pytest.raises(TimeoutError):
            operation.throw(TimeoutError("gone"))
        assert views.get_changed_columns() == ["count"]
        views.count = value
        views.save()
        assert writes_of(session) == [statement]


def test_a_counter_s_change_is_saved(session: FakeSession) -> None:
    """Saving a counter sends the change since it was read; conditions on counters are refused."""
    hits = Hits.create(page=uuid.UUID(int=1), views=4)
    assert session.last_statement == (
        'UPDATE other."AllHits" SET "views" = "views" + ? WHERE "page" = ?',
        [4, uuid.UUID(int=1)],
    )
    hits.views -= 3
    hits.save()
    # The UPDATE subtracts 3 from the counter.
    assert session.last_statement[1] == [3, uuid.UUID(int=1)]
    with pytest.raises(IfNotExistsWithCounterColumn):
        Hits.if_not_exists()
    with pytest.raises(IfExistsWithCounterColumn):
        hits.if_exists()


@pytest.mark.parametrize("method", ["save", "update"])
def test_changes_stay_after_a_failed_write(session: FakeSession, method: str) -> None:
    """After a failed `save` or `update`, values count as changed; the next `save` sends them."""
    person = person_read(session)
    session.error = TimeoutError("gone")
    values = {"name": "y", "age": 5}
    if method == "save":
        person.name, person.age = "y", 5
        values = {}
    with pytest.raises(TimeoutError):
        getattr(person, method)(**values)
    assert person.get_changed_columns() == ["name", "age"]
    session.error = None
    person.save()
    assert session.last_statement[1] == ["y", 5, 1]


# A model whose values may change in place.
class Shelf(Model):
    __keyspace__ = "ks"
    __idempotent__ = True
    id = columns.Integer(primary_key=True)
    tags = columns.Set(columns.Text)
    steps = columns.List(columns.Integer)
    counts = columns.Map(columns.Text, columns.Integer)
    sizes = columns.Tuple(columns.Integer, columns.List(columns.Integer))
    fixed = columns.Set(columns.Text, frozen=True)


def shelf_read(session: FakeSession) -> Shelf:
    """Return a shelf that was read from the (fake) database."""
    session.return_row(tags={"a"}, steps=[1], counts={"a": 1}, sizes=(1, [1]), fixed={"a"})
    shelf: Shelf = Shelf.get(id=1)
    return shelf


def fail(session: FakeSession, method: Callable[[], object]) -> None:
    """Call a method whose request fails."""
    session.error = TimeoutError("gone")
    with pytest.raises(TimeoutError):
        method()
    session.error = None


@pytest.mark.parametrize(
    ("change", "change_again", "assignments", "bound"),
    [
        (lambda o: o.tags.add("b"), lambda o: o.tags.remove("b"), '"tags" = "tags" - ?', [{"b"}]),
        (lambda o: o.tags.remove("a"), lambda o: o.tags.add("a"), '"tags" = "tags" + ?', [{"a"}]),
        (
            lambda o: setattr(o, "tags", {"b"}),
            lambda o: setattr(o, "tags", {"a", "c"}),
            '"tags" = "tags" + ?, "tags" = "tags" - ?',
            [{"a", "c"}, {"b"}],
        ),
        (lambda o: o.steps.append(2), lambda o: o.steps.remove(2), '"steps" = ?', [[1]]),
        (lambda o: o.steps.clear(), lambda o: o.steps.extend([1, 2]), '"steps" = ?', [[1, 2]]),
        (lambda o: o.steps.append(2), lambda o: o.steps.append(3), '"steps" = ?', [[1, 2, 3]]),
        (
            lambda o: o.counts.update(b=2),
            lambda o: o.counts.pop("b"),
            '"counts"[?] = ?',
            ["b", None],
        ),
        (lambda o: o.counts.clear(), lambda o: o.counts.update(a=1), '"counts"[?] = ?', ["a", 1]),
        (lambda o: o.counts.update(a=2), lambda o: o.counts.update(a=1), '"counts"[?] = ?', ["a", 1]),  # noqa: E501
        (lambda o: o.sizes[1].append(2), lambda o: o.sizes[1].pop(), '"sizes" = ?', [(1, [1])]),
        (lambda o: o.fixed.add("b"), lambda o: o.fixed.remove("b"), '"fixed" = ?', [{"a"}]),
    ],
)  # fmt: skip
def test_a_change_in_place_that_is_undone_after_a_failed_write_is_written(
    change: Callable[[Shelf], object],
    change_again: Callable[[Shelf], object],
    assignments: str,
    bound: list[Any],
    session: FakeSession,
) -> None:
    """After a failed write, `save` writes the differences to both values that the row may have.

    Servers may have executed the write. If the instance has the values that were read again, the
    row may still have those of the failed write.
    """
    shelf = shelf_read(session)
    change(shelf)
    fail(session, shelf.save)
    change_again(shelf)
    statement_count = len(session.executions)
    for copied in (pickle.loads(pickle.dumps(shelf)), shelf):
        assert copied.get_changed_columns() == [assignments.split('"')[1]]
        copied.save()
    assert len(session.executions) == statement_count + 2
    assert session.last_statement == (
        f'UPDATE ks.shelf SET {assignments} WHERE "id" = ?',
        [*bound, 1],
    )
    # After a success, the values of the failed write do not matter any more.
    shelf.save()
    assert len(session.executions) == statement_count + 2


@pytest.mark.parametrize("method", ["save", "update"])
@pytest.mark.parametrize("steps", [[1, 2], [0, 1], [0, 1, 2]], ids=["append", "prepend", "both"])
@pytest.mark.parametrize(
    "error", [TimeoutError("gone"), asyncio.CancelledError(), RateLimitReached()]
)
def test_a_list_is_assigned_while_a_write_is_in_doubt(
    error: BaseException, steps: list[int], method: str, session: FakeSession
) -> None:
    """If servers may have executed a write that adds to a list, the next write assigns the list.

    Otherwise the row would have the elements twice. After a success, the next write adds to the
    list again.
    """
    shelf = shelf_read(session)
    session.error = error
    with pytest.raises(type(error)):
        shelf.update(steps=steps)
    session.error = None
    getattr(shelf, method)()
    assert session.last_statement == ('UPDATE ks.shelf SET "steps" = ? WHERE "id" = ?', [steps, 1])
    # A second attempt of the driver would add the elements of the assigned list twice.
    assert not session.executions[-1].idempotent
    shelf.steps.append(9)
    shelf.save()
    assert session.last_statement == (
        'UPDATE ks.shelf SET "steps" = "steps" + ? WHERE "id" = ?',
        [[9], 1],
    )


def test_values_of_a_failed_insert_are_deleted_by_the_next(session: FakeSession) -> None:
    """An INSERT after a failed one deletes a collection that was emptied in place since then."""
    shelf = Shelf(id=1, steps=[1])
    shelf.tags.add("a")
    fail(session, shelf.save)
    shelf.tags.clear()
    shelf.save()
    assert session.last_statement == (
        'INSERT INTO ks.shelf ("id", "tags", "steps") VALUES (?, ?, ?)',
        [1, None, [1]],
    )


def test_an_update_of_a_new_instance_removes_what_a_failed_one_may_have_written(
    session: FakeSession,
) -> None:
    """An UPDATE of an instance that was not read deletes keys that a failed UPDATE has sent."""
    shelf = Shelf(id=1)
    fail(session, lambda: shelf.update(counts={"a": 1, "b": 2}))
    shelf.tags.add("a")
    fail(session, shelf.update)
    shelf.tags.clear()
    shelf.update(counts={"a": 1})
    assert session.last_statement == (
        'UPDATE ks.shelf SET "tags" = ?, "counts"[?] = ?, "counts"[?] = ? WHERE "id" = ?',
        [None, "a", 1, "b", None, 1],
    )


def test_a_condition_that_does_not_hold_leaves_no_doubt(session: FakeSession) -> None:
    """After a conditional write that was not applied, the row has the values that were read."""
    shelf = shelf_read(session)
    session.names, session.rows = ["[applied]"], [[False]]
    shelf.steps.append(2)
    with pytest.raises(LWTException):
        shelf.iff(fixed={"b"}).save()
    shelf.steps.remove(2)
    assert shelf.get_changed_columns() == []


@pytest.mark.parametrize("error", [InvalidRequest("a step is positive"), RequestThrottled("full")])
def test_a_refused_write_leaves_no_doubt(error: Exception, session: FakeSession) -> None:
    """Servers check a statement before they execute it, so a refused write has changed nothing.

    The next save adds the other element, and does not assign the list, in which other clients may
    have added elements.
    """
    shelf = shelf_read(session)
    shelf.steps.append(-1)
    session.error = error
    with pytest.raises(type(error)):
        shelf.save()
    session.error = None
    shelf.steps[1] = 2
    shelf.save()
    assert session.last_statement == (
        'UPDATE ks.shelf SET "steps" = "steps" + ? WHERE "id" = ?',
        [[2], 1],
    )


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))]
)
def test_a_copy_after_a_failed_write_assigns_whole_collections(
    session: FakeSession, duplicate: Callable[[Shelf], Shelf]
) -> None:
    """A copy does not have the values of failed writes, so it cannot write the differences.

    It lost the removal of a key: the row kept "b".
    """
    session.return_row(tags={"a"}, steps=[1], counts={"a": 1, "b": 2}, sizes=(1, [1]), fixed={"a"})
    shelf: Shelf = Shelf.get(id=1)
    del shelf.counts["b"]
    fail(session, shelf.save)
    duplicate(shelf).save()
    assert session.last_statement == (
        'UPDATE ks.shelf SET "counts" = ? WHERE "id" = ?',
        [{"a": 1}, 1],
    )


def test_after_many_failures_whole_values_are_written(session: FakeSession) -> None:
    """An instance keeps the values of a few failed writes; after more, it writes whole values."""
    shelf = shelf_read(session)
    for number in range(MOST_FAILED + 1):
        shelf.steps.append(number)
        for _ in range(2):  # the same values are kept only once
            fail(session, shelf.save)
        assert len(values_of(shelf).failed) in (number + 1, 1)
    shelf.save()
    steps = [1, *range(MOST_FAILED + 1)]
    assert session.last_statement == ('UPDATE ks.shelf SET "steps" = ? WHERE "id" = ?', [steps, 1])
    # If servers execute the statement twice, they add the elements twice.
    assert not session.executions[-1].idempotent


@pytest.mark.parametrize("is_new", [True, False])
def test_changes_during_a_write_remain_changes(session: FakeSession, is_new: bool) -> None:
    """Changes that are made before the response of a write arrives remain unsaved changes.

    Other tasks and threads may change the instance in the meantime.
    """
    person = Person(id=1, name="x", tags={"a"}) if is_new else person_read(session)
    person.tags.add("b")
    person.name = "y"
    operation = dml.save(person)
    request = next(operation)
    person.tags.add("c")
    person.name = "z"
    person.age = None
    with pytest.raises(StopIteration):
        operation.send(None)
    # An INSERT has the id before the name; an UPDATE has the name first.
    assert request.values[0 if not is_new else 1] == "y"
    assert person.get_changed_columns() == ["name", "age", "tags"]
    person.save()
    assert session.last_statement[1] == ["z", None, {"c"}, 1]
    assert person.get_changed_columns() == []


@pytest.mark.parametrize("has_failed", [True, False])
def test_the_old_value_is_written_after_a_write_without_a_response(
    session: FakeSession, has_failed: bool
) -> None:
    """After a write without a successful response, assigning the old value is a change.

    The server may have executed a write that has failed, or that is not finished yet.
    """
    person = person_read(session)
    person.name = "y"
    first_save = dml.save(person)
    next(first_save)
    if has_failed:
        with pytest.raises(OSError, match="lost"):
            first_save.throw(OSError("lost"))
    person.name = "x"
    assert person.get_changed_columns() == ["name"]
    person.save()
    assert session.last_statement[1] == ["x", 1]
    assert person.get_changed_columns() == []


def test_a_value_that_is_set_again_during_two_writes(session: FakeSession) -> None:
    """A value that is set back while two writes are in flight still counts as changed."""
    person = person_read(session)
    person.name = "y"
    first_save = dml.save(person)
    next(first_save)
    person.name = "z"
    second_save = dml.save(person)
    next(second_save)
    person.name = "y"
    for operation in (first_save, second_save):
        with pytest.raises(StopIteration):
            operation.send(None)
    assert person.get_changed_columns() == ["name"]


def test_responses_of_two_writes_in_reverse_order(session: FakeSession) -> None:
    """If responses of two writes arrive in reverse order, the column counts as changed.

    The servers may have executed the writes in this order, too, so the next `save` writes the value
    again.
    """
    person = person_read(session)
    person.name = "y"
    first_save = dml.save(person)
    next(first_save)
    person.name = "z"
    second_save = dml.save(person)
    next(second_save)
    # The response of the second save arrives first.
    for operation in (second_save, first_save):
        with pytest.raises(StopIteration):
            operation.send(None)
    assert person.get_changed_columns() == ["name"]
    person.save()
    assert session.last_statement[1] == ["z", 1]
    assert person.get_changed_columns() == []


def test_two_writes_of_different_columns_leave_nothing_to_write(session: FakeSession) -> None:
    """Two concurrent writes of different columns leave no unsaved changes."""
    person = person_read(session)
    person.name = "y"
    first_save = dml.save(person)
    next(first_save)
    person.age = 5
    second_save = dml.save(person)
    assert next(second_save).values == ["y", 5, 1]
    for operation in (first_save, second_save):
        with pytest.raises(StopIteration):
            operation.send(None)
    assert person.get_changed_columns() == []


def test_a_timestamp_that_is_set_during_a_write_is_for_the_next_one(session: FakeSession) -> None:
    """A timestamp that is set during a write is used for the next write."""
    person = person_read(session)
    person.name = "y"
    operation = person.timestamp(5)._write(dml.save(person))
    assert next(operation).values == [5, "y", 1]
    person.timestamp(6)
    with pytest.raises(StopIteration):
        operation.send(None)
    person.update(name="z")
    assert session.last_statement[1] == [6, "z", 1]
    person.update(name="x")
    assert session.last_statement[1] == ["x", 1]
    # The last write was "x", so "y", which was written before it, is a change.
    person.name = "y"
    assert person.get_changed_columns() == ["name"]


def test_an_update_that_is_not_valid_leaves_the_instance_unchanged(session: FakeSession) -> None:
    """An `update` with an invalid value leaves the instance unchanged."""
    person = person_read(session)
    with pytest.raises(ValidationError):
        person.update(name="y", age="many")
    assert (person.name, person.age, person.get_changed_columns()) == ("x", 4, [])


@pytest.mark.parametrize("is_first_write_failing", [False, True])
@pytest.mark.parametrize(
    ("set_condition", "text"),
    [
        (lambda person: person.iff(age=4), 'IF "age" = ?'),
        (lambda person: person.if_exists(), "IF EXISTS"),
    ],
)
def test_conditions_stay_on_an_instance(
    session: FakeSession,
    set_condition: Callable[[Person], object],
    text: str,
    is_first_write_failing: bool,
) -> None:
    """`iff` and `if_exists` stay on an instance, also after a failed write.

    A write that the application has made conditional must not be repeated without its condition.
    """
    person = person_read(session)
    set_condition(person)
    session.error = TimeoutError("gone") if is_first_write_failing else None
    with pytest.raises(TimeoutError) if is_first_write_failing else contextlib.nullcontext():
        person.update(name="y")
    session.error = None
    for write in (lambda: person.update(name="z"), person.delete, person.delete):
        write()
        assert str(session.last_statement[0]).endswith(text)
    # `iff` without arguments removes the conditions.
    person.iff().if_exists(False).update(name="a")
    assert "IF" not in str(session.last_statement[0])


def test_if_not_exists_stays_on_an_instance(session: FakeSession) -> None:
    """`if_not_exists` stays on an instance: a new key is inserted with IF NOT EXISTS again.

    Updates in the meantime do not warn about the condition.
    """
    person = Person.if_not_exists().create(id=1, name="x")
    person.update(name="y")
    person.id = 2
    person.save()
    assert str(session.last_statement[0]).endswith("IF NOT EXISTS")


def test_a_timestamp_stays_until_a_write_succeeds(session: FakeSession) -> None:
    """A timestamp stays on an instance until a write succeeds."""
    person = person_read(session).timestamp(5)
    session.error = TimeoutError("gone")
    with pytest.raises(TimeoutError):
        person.update(name="y")
    session.error = None
    person.update(name="z")
    assert session.last_statement[1] == [5, "z", 1]
    person.update(name="a")
    assert session.last_statement[1] == ["a", 1]


def test_a_timestamp_is_dropped_by_a_delete(session: FakeSession) -> None:
    """A write after `delete` does not have its timestamp, with which the delete would win."""
    person = person_read(session).timestamp(5)
    session.error = TimeoutError("gone")
    with pytest.raises(TimeoutError):
        person.delete()
    session.error = None
    person.delete()
    assert session.last_statement[1] == [5, 1]
    person.update(name="z")
    assert session.last_statement[1] == ["z", 1]


def test_a_condition_that_a_write_does_not_have_leaves_it_idempotent(session: FakeSession) -> None:
    """An UPDATE after a conditional INSERT is idempotent, because it has no condition.

    So the driver may send it again.
    """
    thing = Repeatable.if_not_exists().create(id=1, name="x")
    assert not session.executions[-1].idempotent
    thing.update(name="y")
    assert session.executions[-1].idempotent


# A model whose statements may be sent again after a timeout.
class Repeatable(Model):
    __keyspace__ = "ks"
    __idempotent__ = True
    id = columns.Integer(primary_key=True)
    name = columns.Text()


# A model with a static column, which all rows of a partition share.
class Room(Model):
    __keyspace__ = "ks"
    id = columns.Integer(partition_key=True)
    seat = columns.Integer(primary_key=True)
    name = columns.Text(static=True)
    guest = columns.Text()


# A model with a default.
class Rated(Model):
    id = columns.Integer(primary_key=True)
    stars = columns.Integer(default=3)
    note = columns.Text()


def test_a_default_that_was_never_written_is_written_when_it_is_assigned(
    session: FakeSession,
) -> None:
    """After `update` of a new instance, assigning the default value to a column is a change.

    The mapper does not know the other columns' values in the database. So assigning the default
    counts as a change until it was written.
    """
    updated = Rated(id=1).update(note="x")
    assert session.last_statement == ('UPDATE ks.rated SET "note" = ? WHERE "id" = ?', ["x", 1])
    for rating in (updated, pickle.loads(pickle.dumps(updated))):
        rating.note = "y"
        assert rating.get_changed_columns() == ["note"]
        # This value equals the default, but another client may have written the column.
        rating.stars = 3
        rating.save()
        assert session.last_statement[1] == [3, "y", 1]
        rating.stars = 3
        assert rating.get_changed_columns() == []
    created = Rated.create(id=2)
    created.stars = 3
    assert created.get_changed_columns() == []


def test_assigning_to_an_empty_set_adds_the_new_items(session: FakeSession) -> None:
    """Assigning to an empty set sends only the added items, if the previous value is known."""
    session.return_row(nm="x", age=4, tags=None, scores=None)
    for person in (Person.get(id=1), Person.create(id=1, tags=set())):
        person.tags = {"a"}
        person.save()
        assert session.last_statement == (
            'UPDATE ks.person SET "tags" = "tags" + ? WHERE "id" = ?',
            [{"a"}, 1],
        )
    # A set that is null after a write counts as unknown, so the next value is written as a whole.
    created = Person.create(id=1)
    for _ in range(2):
        created.tags = {"b"}
        created.save()
        assert session.last_statement == (
            'UPDATE ks.person SET "tags" = ? WHERE "id" = ?',
            [{"b"}, 1],
        )
        created.tags = None
        created.save()


def test_null_columns_are_not_deleted_again(session: FakeSession) -> None:
    """Deleting a column that is null is no change, but assigning None is a change."""
    session.return_row(id=1, stars=4, note=None)
    for rating in (Rated.get(id=1), Rated(id=1)):
        del rating.note
        assert "note" not in rating.get_changed_columns()
        rating.note = None
        # Unlike deleting, assigning None is a change.
        assert "note" in rating.get_changed_columns()
    # `stars` has a value, so deleting it writes null.
    rating = Rated.get(id=1)
    del rating.stars
    rating.save()
    assert session.last_statement == ('UPDATE ks.rated SET "stars" = ? WHERE "id" = ?', [None, 1])


def test_conflicting_options_are_refused() -> None:
    """For an instance with a batch, setting a timeout or connection raises an error.

    An instance in a batch has the timeout and the connection of the batch.
    """
    batch = BatchQuery()
    with pytest.raises(AssertionError, match="timeout and batch"):
        Person(id=1).timeout(3).batch(batch)
    with pytest.raises(AssertionError, match="timeout and batch"):
        Person(id=1).batch(batch).timeout(3)
    with pytest.raises(CQLEngineException, match="connection"):
        Person(id=1).using(connection="a").batch(batch)
    with pytest.raises(CQLEngineException, match="BatchQuery"):
        Person(id=1).batch(4)


def test_columns_without_a_value_are_not_inserted(session: FakeSession) -> None:
    """INSERT leaves out columns that have no default and were not passed.

    None counts as passed.
    """
    Rated.create(id=5)
    assert session.last_statement == ('INSERT INTO ks.rated ("id", "stars") VALUES (?, ?)', [5, 3])
    Rated.create(id=5, stars=None)
    assert session.last_statement == (
        'INSERT INTO ks.rated ("id", "stars") VALUES (?, ?)',
        [5, None],
    )


def test_a_batch_s_timestamp_is_for_all_writes_but_counters(session: FakeSession) -> None:
    """A batch's timestamp applies to all its writes, except for counters.

    Servers refuse a timestamp for counters.
    """
    batch = BatchQuery(timestamp=7)
    rated = Rated(id=1)
    values_of(rated).options = values_of(rated).options.with_changes(batch=batch)
    options = values_of(rated).options
    assert dml.timestamp_of(options) == 7
    assert dml.timestamp_of(options, counters=True) is None
    # A statement's own timestamp is kept for a counter, and the server will refuse it.
    assert dml.timestamp_of(options.with_changes(timestamp=8), counters=True) == 8
    assert dml.timestamp_of(values_of(Rated(id=2)).options) is None


def test_a_dml_query_writes_its_instance_with_its_own_options(session: FakeSession) -> None:
    """A DMLQuery writes its instance with its own options, or adds the write to its batch."""
    rated = Rated(id=1, note="x")
    query = DMLQuery(Rated, rated, ttl=5)
    query.save()
    assert session.last_statement == (
        'INSERT INTO ks.rated ("id", "stars", "note") VALUES (?, ?, ?) USING TTL ?',
        [1, 3, "x", 5],
    )
    rated.note = "y"
    query.update()
    assert session.last_statement == (
        'UPDATE ks.rated USING TTL ? SET "note" = ? WHERE "id" = ?',
        [5, "y", 1],
    )
    query.delete()
    assert session.last_statement == ('DELETE FROM ks.rated WHERE "id" = ?', [1])
    batch = BatchQuery()
    statement_count = len(session.executions)
    rated.note = "z"
    assert query.batch(batch) is query
    query.save()
    # The statement was added to the batch, and not sent.
    assert len(session.executions) == statement_count
    assert len(batch.queries) == 1
    with pytest.raises(ValidationError, match="no instance of Rated to write"):
        DMLQuery(Rated).save()


class Hall(Model):
    __keyspace__ = "ks"
    id = columns.Integer(partition_key=True)
    seat = columns.Integer(primary_key=True)
    name = columns.Text(static=True)
    free = columns.Boolean(default=True)


def test_static_columns_are_inserted_without_the_defaults_of_others(session: FakeSession) -> None:
    """An INSERT of static columns without a clustering key leaves out defaults of other columns.

    Without a clustering key, there is no row that could have these defaults. Values that the
    application has set are not dropped.
    """
    hall = Hall.create(id=1, name="a")
    assert session.last_statement == (
        'INSERT INTO ks.hall ("id", "name") VALUES (?, ?)',
        [1, "a"],
    )
    hall.name = "b"
    hall.save()
    assert session.last_statement == ('UPDATE ks.hall SET "name" = ? WHERE "id" = ?', ["b", 1])
    with pytest.raises(ValidationError, match=r"Hall\.seat"):
        Hall.create(id=1, name="a", free=True)
    Hall.create(id=1, seat=2, name="a")
    assert session.last_statement[1] == [1, 2, "a", True]


def test_a_static_column_is_updated_without_the_clustering_key(session: FakeSession) -> None:
    """An update of static columns needs only the partition key."""
    room = Room.create(id=1, seat=2, name="blue")
    room.name = "green"
    room.save()
    assert session.last_statement == ('UPDATE ks.room SET "name" = ? WHERE "id" = ?', ["green", 1])
    # `guest` is not static, so the statement needs the complete primary key.
    room.guest = "ada"
    room.name = "red"
    room.save()
    assert session.last_statement == (
        'UPDATE ks.room SET "name" = ?, "guest" = ? WHERE "id" = ? AND "seat" = ?',
        ["red", "ada", 1, 2],
    )


def test_a_changed_key_inserts_another_row(session: FakeSession) -> None:
    """After the key of an instance was changed, `save` inserts a new row."""
    room = Room.create(id=1, seat=2, name="blue")
    room.seat = 3
    room.save()
    assert session.last_statement == (
        'INSERT INTO ks.room ("id", "seat", "name") VALUES (?, ?, ?)',
        [1, 3, "blue"],
    )


def test_a_changed_key_inserts_the_nulls_that_were_set(session: FakeSession) -> None:
    """After the key was changed, `save` also writes nulls: a row with the new key may exist.

    It writes nulls that the application has set, and collections that it has emptied in place, but
    no other nulls.
    """
    person = Person.create(id=1, name="x", age=4, tags={"a"}, scores={"a": 1})
    person.id = 2
    person.age = None
    person.tags.clear()
    person.save()
    assert session.last_statement == (
        'INSERT INTO ks.person ("id", "nm", "age", "tags", "scores") VALUES (?, ?, ?, ?, ?)',
        [2, "x", None, None, {"a": 1}],
    )


def test_a_write_without_its_key_is_refused(session: FakeSession) -> None:
    """A write of an instance without its key is refused."""
    with pytest.raises(ValidationError, match="id"):
        Rated(note="x").save()
    assert session.executions == []
