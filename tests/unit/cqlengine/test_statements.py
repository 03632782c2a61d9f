"""Test statements of the mapper: their CQL with named placeholders, and their CQL to prepare.

cassandra-driver documents the CQL with placeholders.
"""

from __future__ import annotations

import datetime
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cqlengine import columns, operators, statements as s
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery

WHERE = s.WhereClause("a", operators.EqualsOperator(), 5)


IF = s.ConditionalClause("z", 1)
MOMENT = datetime.datetime(2020, 1, 1)
# The write time of MOMENT, a local time, in microseconds since 1970.
MICROSECONDS = int(MOMENT.timestamp()) * 1_000_000


def where() -> s.WhereClause:
    """Return a new clause each time, because a statement numbers its clauses' placeholders."""
    return s.WhereClause("a", operators.EqualsOperator(), 5)


# a statement, its CQL with placeholders, its CQL with bind markers, and the values that it binds
TEXTS: list[tuple[s.BaseCQLStatement, str, str, list[Any]]] = [
    (
        s.SelectStatement("t", ["f", "g"], where=[where()], order_by=['"x" ASC'], limit=5, allow_filtering=True),  # noqa: E501
        'SELECT "f", "g" FROM t WHERE "a" = %(0)s ORDER BY "x" ASC LIMIT 5 ALLOW FILTERING',
        'SELECT "f", "g" FROM t WHERE "a" = ? ORDER BY "x" ASC LIMIT ? ALLOW FILTERING',
        [5, 5],
    ),
    (s.SelectStatement("t", count=True), "SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM t", []),
    (s.SelectStatement("t", distinct_fields=["a"]), 'SELECT DISTINCT "a" FROM t', 'SELECT DISTINCT "a" FROM t', []),  # noqa: E501
    (
        s.UpdateStatement("t", [s.AssignmentClause("a", "b")], where=[where()], ttl=5, timestamp=7, conditionals=[IF]),  # noqa: E501
        'UPDATE t USING TTL 5 AND TIMESTAMP 7 SET "a" = %(2)s WHERE "a" = %(0)s IF "z" = %(1)s',
        'UPDATE t USING TTL ? AND TIMESTAMP ? SET "a" = ? WHERE "a" = ? IF "z" = ?',
        [5, 7, "b", 5, 1],
    ),
    (
        s.UpdateStatement("t", [s.AssignmentClause("a", "b")], where=[where()], if_exists=True),
        'UPDATE t SET "a" = %(1)s WHERE "a" = %(0)s IF EXISTS',
        'UPDATE t SET "a" = ? WHERE "a" = ? IF EXISTS',
        ["b", 5],
    ),
    (  # Servers refuse this statement. The mapper drops neither of the two conditions silently.
        s.DeleteStatement("t", where=[where()], conditionals=[IF], if_exists=True),
        'DELETE FROM t WHERE "a" = %(0)s IF "z" = %(1)s IF EXISTS',
        'DELETE FROM t WHERE "a" = ? IF "z" = ? IF EXISTS',
        [5, 1],
    ),
    (
        s.InsertStatement(
            "t", [s.AssignmentClause("a", "b"), s.AssignmentClause("c", 1)], ttl=4,
            timestamp=MOMENT, if_not_exists=True,
        ),
        'INSERT INTO t ("a", "c") VALUES (%(0)s, %(1)s) IF NOT EXISTS USING TTL 4 AND TIMESTAMP '
        f'{MICROSECONDS}',
        'INSERT INTO t ("a", "c") VALUES (?, ?) IF NOT EXISTS USING TTL ? AND TIMESTAMP ?',
        ["b", 1, 4, MICROSECONDS],
    ),
    (
        s.DeleteStatement("t", ["a", s.FieldDeleteClause("b")], where=[where()], timestamp=3, if_exists=True),  # noqa: E501
        'DELETE "a", "b" FROM t  USING TIMESTAMP 3  WHERE "a" = %(0)s IF EXISTS',
        'DELETE "a", "b" FROM t  USING TIMESTAMP ?  WHERE "a" = ? IF EXISTS',
        [3, 5],
    ),
    (
        s.DeleteStatement("t", [s.MapDeleteClause("m", {"a": 1}, {"a": 1, "b": 2})], where=[where()], conditionals=[IF]),  # noqa: E501
        'DELETE "m"[%(2)s] FROM t WHERE "a" = %(0)s IF "z" = %(1)s',
        'DELETE "m"[?] FROM t WHERE "a" = ? IF "z" = ?',
        ["b", 5, 1],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "text", "prepared", "bound"), TEXTS, ids=lambda value: str(value)[:40]
)
def test_texts_and_values_of_statements(
    statement: s.BaseCQLStatement, text: str, prepared: str, bound: list[Any]
) -> None:
    """Each statement has the expected CQL with placeholders and with bind markers, and values."""
    assert str(statement) == text
    assert statement.prepared() == prepared
    assert statement.bound() == bound
    assert len(statement.get_context()) == text.count("%(")
    assert statement.get_context_size() == text.count("%(")


def test_placeholders_can_be_renumbered() -> None:
    """The placeholders of a statement can be numbered from another number on."""
    statement = s.UpdateStatement("t", [s.AssignmentClause("a", "b")], where=[where()])
    statement.update_context_id(7)
    assert str(statement) == 'UPDATE t SET "a" = %(8)s WHERE "a" = %(7)s'
    assert statement.get_context() == {"7": 5, "8": "b"}


def test_statements_refuse_clauses_of_the_wrong_kind() -> None:
    """A statement refuses clauses and operators of the wrong class."""
    with pytest.raises(s.StatementException, match="operator must be of type"):
        s.WhereClause("a", "=", 1)  # type: ignore[arg-type]
    with pytest.raises(s.StatementException, match="WhereClause"):
        s.SelectStatement("t").add_where(IF)  # type: ignore[arg-type]
    with pytest.raises(s.StatementException, match="AssignmentClause"):
        s.InsertStatement("t").add_assignment(WHERE)  # type: ignore[arg-type]
    with pytest.raises(s.StatementException, match="insert"):
        s.InsertStatement("t").add_where(WHERE)
    with pytest.raises(operators.QueryOperatorException, match="foo doesn't map"):
        operators.BaseWhereOperator.get_operator("foo")


class Person(Model):
    id = columns.Integer(primary_key=True)


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make New York the local time zone."""
    if not hasattr(time, "tzset"):
        pytest.skip("this platform has no tzset")
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("new_york")
@pytest.mark.parametrize(
    ("local", "expected"),
    [
        # Summer time ends: the hour from 1 to 2 is repeated.
        (datetime.datetime(2025, 11, 2, 1, 30, 0, 123457), "2025-11-02T05:30:00.123457"),
        (datetime.datetime(2025, 11, 2, 1, 30, 0, 123457, fold=1), "2025-11-02T06:30:00.123457"),
        # Summer time begins: this time does not exist.
        (datetime.datetime(2025, 3, 9, 2, 30), "2025-03-09T07:30:00"),
        (datetime.datetime(2025, 3, 9, 2, 30, fold=1), "2025-03-09T06:30:00"),
        (datetime.datetime(1969, 12, 31, 18, 59, 59, 999999), "1969-12-31T23:59:59.999999"),
        (datetime.datetime(1950, 1, 1, 0, 0, 0, 1), "1950-01-01T05:00:00.000001"),
        (datetime.datetime(2025, 7, 1, 12, 0, 0, 999999), "2025-07-01T16:00:00.999999"),
        (datetime.datetime(9000, 7, 1, 0, 0, 0, 7), "9000-07-01T04:00:00.000007"),
    ],
)
def test_naive_timestamps_are_local_time(local: datetime.datetime, expected: str) -> None:
    """A naive datetime is local time, to the microsecond; `fold` chooses one of two equal times."""
    moment = datetime.datetime.fromisoformat(expected)
    microseconds = (moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    assert s.microseconds_of(local) == microseconds
    # A time zone that does not know its offset leaves the datetime naive.
    assert s.microseconds_of(local.replace(tzinfo=Unknown())) == microseconds


class Unknown(datetime.tzinfo):
    """A time zone that does not know its offset."""

    def utcoffset(self, moment: datetime.datetime | None) -> None:
        return None

    dst = tzname = utcoffset


@pytest.mark.usefixtures("new_york")
def test_naive_timestamps_may_be_the_first_and_last_datetime(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`datetime.min` and `datetime.max` are timestamps in every local time zone."""
    hour = 3600 * 10**6
    first = -62_135_596_800 * 10**6
    last = 253_402_300_800 * 10**6 - 1
    for zone, offset in (("UTC", 0), ("<+09>-9", 9), ("<-11>11", -11)):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert s.microseconds_of(datetime.datetime.min) == first - offset * hour
        assert s.microseconds_of(datetime.datetime.max) == last - offset * hour


@pytest.mark.usefixtures("new_york")
def test_naive_timestamps_of_pandas_are_local_time() -> None:
    """A naive `pandas.Timestamp` is local time too, like other naive datetimes; NaT is refused."""
    pandas = pytest.importorskip("pandas")
    for fold, hour in ((0, 5), (1, 6)):
        moment = datetime.datetime(2025, 11, 2, hour, 30, 0, 7, tzinfo=datetime.timezone.utc)
        timestamp = pandas.Timestamp(
            year=2025, month=11, day=2, hour=1, minute=30, microsecond=7, fold=fold
        )
        assert s.microseconds_of(timestamp) == s.microseconds_of(moment)
    for function in (s.microseconds_of, Person.timestamp):
        with pytest.raises(TypeError, match="not NaT"):
            function(pandas.NaT)


@pytest.mark.parametrize("timestamp", [1795684460.25, "now"])
def test_timestamps_of_another_type_are_refused(timestamp: Any) -> None:
    """A timestamp that is not a datetime, a timedelta or an int is refused."""
    message = (
        "a timestamp is a datetime, a timedelta or microseconds (int), "
        f"not {timestamp!r} ({type(timestamp).__name__})"
    )
    for function in (
        s.microseconds_of,
        Person.timestamp,
        Person.objects.timestamp,
        Person(id=1).timestamp,
    ):
        with pytest.raises(TypeError) as refused:
            function(timestamp)
        assert str(refused.value) == message


@pytest.mark.parametrize(
    ("timestamp", "moment", "advice"),
    [
        (1795684460, "1970, and older", "seconds, multiply by 1_000_000"),
        (1795684460123, "1970, and older", "milliseconds, multiply by 1_000"),
        # The largest number that counts as milliseconds.
        (99_999_999_999_999, "1973, and older", "milliseconds, multiply by 1_000"),
        (1795684460123456789, "the year 58872, and", "nanoseconds, divide by 1_000 (//)"),
    ],
)
def test_timestamps_in_other_units_warn(timestamp: int, moment: str, advice: str) -> None:
    """A timestamp that seems to be in another unit than microseconds causes a warning."""
    beginning = f"the timestamp {timestamp} is in microseconds, so it is of {moment}"
    # Each of these functions takes a timestamp.
    functions: list[Any] = [
        Person.timestamp,
        Person.objects.timestamp,
        Person(id=1).timestamp,
        lambda value: BatchQuery(timestamp=value),
    ]
    for function in functions:
        with pytest.warns(RuntimeWarning) as warned:
            function(timestamp)
        (message,) = [str(warning.message) for warning in warned]
        assert message.startswith(beginning)
        assert message.endswith(f": if these are {advice}")
        assert warned[0].filename == __file__


@pytest.mark.parametrize("timestamp", [None, 0, 7, 10**11, 1795684460_000000])
def test_timestamps_without_a_warning(timestamp: int | None) -> None:
    """Timestamps in microseconds, small numbers and None cause no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Person.timestamp(timestamp)
