"""Test querysets of models and of named tables, on a fake session.

The tests cover filters, selected columns and writes.
"""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, ValidationError, columns, functions, statements
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedTable
from cassandra.cqlengine.operators import EqualsOperator, QueryOperatorException
from cassandra.cqlengine.query import BatchQuery, LWTException, QueryException
from cassandra.cqlengine.query.errors import IfExistsWithCounterColumn, IfNotExistsWithCounterColumn
from cassandra.cqlengine.query.model_queryset import ModelQuerySet
from tests.unit.cqlengine.conftest import FakeSession

pytestmark = pytest.mark.usefixtures("session")


# A model with a compound partition key, a clustering key, indexes and collections.
class Car(Model):
    maker = columns.Text(partition_key=True)
    line = columns.Integer(partition_key=True)
    year = columns.Integer(primary_key=True)
    model = columns.Text(db_field="mdl")
    price = columns.Integer(index=True)
    doors = columns.Integer(custom_index=True)
    options = columns.Set(columns.Text)
    owners = columns.List(columns.Text)
    parts = columns.Map(columns.Text, columns.Integer)
    name__first = columns.Text()
    must = columns.Text(required=True)


# A model with a least length.
class Short(Model):
    id = columns.Integer(primary_key=True)
    text = columns.Text(min_length=2)


# A model with a counter.
class Visits(Model):
    page = columns.Integer(primary_key=True)
    count = columns.Counter()


# Two models that share a table. The column `kind` says to which of them a row belongs.
class Pet(Model):
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True)


class Cat(Pet):
    __discriminator_value__ = "cat"
    cute = columns.Float()


filtered = Car.objects.filter
# A queryset for one row, by the complete primary key.
ONE_ROW = Car.objects(maker="a", line=1, year=2)
TABLE = NamedTable("a", "b")


# Each tuple has a call, the class of its error, and a pattern of the error's message.
MISTAKES: list[tuple[Any, type[Exception], str]] = [
    (lambda: filtered(zip=1), QueryException, "Can't resolve column name: 'zip'"),
    (lambda: filtered(year__foo=1), QueryOperatorException, "foo doesn't map"),
    (lambda: filtered(year="x"), ValidationError, r"Car\.year 'x'"),
    (lambda: filtered(year=None), CQLEngineException, "None values on filter"),
    (lambda: filtered(year__in=5), CQLEngineException, "list of values"),
    (lambda: filtered(year__gt=functions.Token(1)), QueryException, "pk__token"),
    (lambda: filtered(pk__token__gt=1), QueryException, "Token"),
    (lambda: filtered(pk__token__gt=functions.Token(1)), QueryException, "received 1 arguments but model has 2"),  # noqa: E501
    (lambda: Car.objects.order_by("model"), QueryException, "Can't order on 'model'"),
    (lambda: Car.objects.order_by("zip"), QueryException, "Can't resolve the column name: 'zip'"),
    (lambda: Car.objects.order_by("line"), QueryException, "partition key"),
    (lambda: Car.objects.only(["zip"]), QueryException, "Can't resolve fields zip"),
    (lambda: Car.objects.only("zip"), QueryException, "Can't resolve fields"),
    (lambda: Car.objects.values_list("year", "line", flat=True), TypeError, "flat"),
    (lambda: Car.objects.values_list(foo=1), TypeError, "foo"),
    (lambda: list(Car.objects(model="x")), QueryException, "allow_filtering"),
    (lambda: list(Car.objects(year__ne=1)), QueryException, r"year != 1: .* in iff\(\) only"),
    (lambda: Car.objects.update(zip=1), ValidationError, "no column named: zip"),
    (lambda: Car.objects.update(year=1), ValidationError, "primary key 'year'"),
    (lambda: Car.objects.update(price__add=1), ValidationError, "takes no operation"),
    (lambda: Visits.objects.update(count__remove=1), ValidationError, "takes add, not 'remove'"),
    (lambda: Visits.objects.update(count__update=1), ValidationError, "takes add, not 'update'"),
    (lambda: Visits.objects.update(count__add=None), ValidationError, "None cannot be added: .* write count=None"),  # noqa: E501
    (lambda: Visits.objects.update(count__add="x"), ValidationError, "count 'x'"),
    (lambda: Car.objects.update(options__append=["x"]), ValidationError, "takes add, remove"),
    (lambda: NamedTable("a", "b").objects.create(c=1), CQLEngineException, "no model"),
    (lambda: filtered(maker__token=1), QueryException, "by maker__token"),
    (lambda: TABLE.objects(c=None), CQLEngineException, r"None values on filter are not .*\(c\)"),
    (lambda: TABLE.objects(c__gt=functions.Token(1)), QueryException, "'pk__token', not by c__gt"),
    (lambda: Car.objects(statements.WhereClause("zip", EqualsOperator(), 2)), QueryException, "zip"),  # noqa: E501
    (lambda: Car.objects.ttl(-1), ValueError, "a number of seconds, not -1"),
    (lambda: Car.objects.ttl(True), ValueError, "a number of seconds, not True"),
    (lambda: Car.objects.ttl("5"), ValueError, "a number of seconds, not '5'"),  # type: ignore[arg-type]
    (lambda: Car.objects.distinct(["zip"]), QueryException, "Can't resolve fields zip"),
    (lambda: Visits.objects.if_not_exists(), IfNotExistsWithCounterColumn, "counter columns"),
    (lambda: Visits.objects.if_exists(), IfExistsWithCounterColumn, "counter columns"),
    (lambda: ONE_ROW.update(parts__update=5), ValidationError, "5 is not a dict object"),
    (lambda: ONE_ROW.update(must=None), ValidationError, r"Car\.must - None"),
    (lambda: ONE_ROW.update(zip__add=1), ValidationError, "no column named: zip__add"),
    (lambda: ONE_ROW.update(price="x"), ValidationError, "price 'x'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "message"), MISTAKES, ids=[f"{m}-{n}" for n, (_, _, m) in enumerate(MISTAKES)]
)
def test_wrong_calls_are_refused(call: Any, error: type[Exception], message: str) -> None:
    """A wrong call of a queryset's method is refused with the expected error."""
    with pytest.raises(error, match=message):
        call()


# -- filters ---------------------------------------------------------------------------------------

# Each tuple has a function that builds a queryset, its WHERE clause, and the clause's bound values.
FILTERS: list[tuple[Any, str, list[Any]]] = [
    (lambda: filtered(maker="a", line="1", year__lt=3), '"maker" = ? AND "line" = ? AND "year" < ?', ["a", 1, 3]),  # noqa: E501
    (lambda: filtered(line__in=["1", 2]), '"line" IN ?', [[1, 2]]),
    (lambda: filtered(price=5, model__like="x%").allow_filtering(), '"price" = ? AND "mdl" LIKE ?', [5, "x%"]),  # noqa: E501
    (lambda: filtered(name__first="x").allow_filtering(), '"name__first" = ?', ["x"]),
    (lambda: filtered(name__first__gt="x").allow_filtering(), '"name__first" > ?', ["x"]),
    (lambda: filtered(pk__token__gt=functions.Token("a", "1")), 'token("maker", "line") > token(?, ?)', ["a", 1]),  # noqa: E501
    (lambda: filtered(pk__token=functions.Token("a", 1)), 'token("maker", "line") = token(?, ?)', ["a", 1]),  # noqa: E501
    (lambda: filtered(options__contains="x").allow_filtering(), '"options" CONTAINS ?', ["x"]),
    (lambda: filtered(maker="a", line=1).iff(model=None), '"maker" = ? AND "line" = ?', ["a", 1]),
]  # fmt: skip


@pytest.mark.parametrize(("build", "where", "values"), FILTERS, ids=[case[1] for case in FILTERS])
def test_filters(build: Any, where: str, values: list[Any], session: FakeSession) -> None:
    """Each filter becomes the expected WHERE clause with its bound values."""
    list(build().limit(None))
    query, bound = session.last_statement
    assert query is not None
    assert query.split(" WHERE ")[1].removesuffix(" ALLOW FILTERING") == where
    assert bound == values


def test_a_token_may_be_used_for_other_models(session: FakeSession) -> None:
    """A filter does not convert the values inside its token, which may be used for other models.

    In this test, "1" stays a str.
    """
    token = functions.Token("a", "1")
    list(filtered(pk__token__gt=token))
    assert token.value == ("a", "1")


@pytest.mark.parametrize(
    "filters",
    [{"doors": 1}, {"price": 1}, {"maker": "a"}, {"price__in": [1]}, {"maker": "a", "model": "x"}],
)
def test_filters_on_keys_and_indexes_need_no_allow_filtering(
    filters: Any, session: FakeSession
) -> None:
    """A filter on a key or an indexed column needs no ALLOW FILTERING."""
    list(filtered(**filters))
    assert "ALLOW FILTERING" not in str(session.last_statement[0])


@pytest.mark.parametrize(
    "filters", [{"model": "x"}, {"price__gt": 1}, {"model__like": "x"}, {"maker__like": "x"}]
)
def test_other_filters_need_allow_filtering(filters: Any, session: FakeSession) -> None:
    """Other filters are refused unless the queryset allows filtering."""
    with pytest.raises(QueryException, match="a filter needs one column of the primary key"):
        list(filtered(**filters))
    list(filtered(**filters).allow_filtering())
    assert str(session.last_statement[0]).endswith("ALLOW FILTERING")


def test_like_is_allowed_on_an_indexed_column(session: FakeSession) -> None:
    """LIKE is allowed on an indexed column."""

    class Found(Model):
        id = columns.Integer(primary_key=True)
        word = columns.Text(index=True)

    list(Found.objects(word__like="x%"))
    assert 'WHERE "word" LIKE ?' in str(session.last_statement[0])


# -- selected columns ------------------------------------------------------------------------------

ALL = ["maker", "line", "year", "mdl", "price", "doors", "options", "owners", "parts"]
ALL += ["name__first", "must"]

# Each tuple has a function that builds a query, and the names of the columns that it selects.
SELECTED: list[tuple[Any, list[str]]] = [
    (lambda: ONE_ROW, ALL[3:]),
    (lambda: filtered(maker__in=["a"]), []),
    (lambda: ONE_ROW.only(["model", "maker"]), ["mdl"]),
    (lambda: ONE_ROW.only(["maker"]), ["maker"]),
    (lambda: ONE_ROW.defer(["model", "price"]), ALL[5:]),
    (lambda: filtered(options={"x"}).allow_filtering(), []),
    (lambda: ONE_ROW.values_list("year", "model"), ["year", "mdl"]),
    (lambda: Car.objects.values_list(), []),
    (lambda: Pet.objects(id=1), []),
    (lambda: Cat.objects(id=1), ["kind", "cute"]),
    (lambda: Car.objects.distinct(["maker"]), ["maker"]),
    (lambda: TABLE.objects.only(["c", "d"]).defer(["d"]), ["c"]),
]  # fmt: skip


@pytest.mark.parametrize(("build", "names"), SELECTED, ids=[str(names) for _, names in SELECTED])
def test_columns_that_are_selected(build: Any, names: list[str]) -> None:
    """Each query selects the expected columns, or "*" if the expected list is empty.

    Columns with an equality filter are left out, because their values are known.
    """
    selection, _, _ = str(build()).removeprefix("SELECT ").partition(" FROM ")
    expected = ", ".join(f'"{name}"' for name in names) or "*"
    assert selection.removeprefix("DISTINCT ") == expected


def test_a_short_tuple_of_a_filter_stays_short(session: FakeSession) -> None:
    """A key tuple in a filter keeps its length in the instance, and so in later writes.

    A result would have nulls at the end of the tuple. As a key, that would be another row.
    """

    class Cell(Model):
        place = columns.Tuple(columns.Integer, columns.Integer, primary_key=True)
        groups = columns.Tuple(columns.Set(columns.Integer), primary_key=True)
        name = columns.Text()

    session.return_row(groups=({1},), name="x")
    cell = Cell.get(place=[1], groups=({1},))
    assert str(session.last_statement[0]).startswith('SELECT "groups", "name" FROM')
    assert cell.place == (1,)
    cell.name = "y"
    cell.save()
    assert session.last_statement[1] == ["y", (1,), ({1},)]


def test_columns_with_an_equality_filter_get_its_value(session: FakeSession) -> None:
    """Columns with an equality filter get the filter's value, because they are not selected."""
    session.return_row(mdl="x", price=5)
    car = ONE_ROW.get()
    # The first three columns are not in the response. Their values come from the filter.
    assert car.maker == "a"
    assert car.line == 1
    assert car.year == 2
    assert (car.model, car.price) == ("x", 5)
    assert ONE_ROW.using(keyspace="other").get().__keyspace__ == "other"


def test_values_list_returns_values_of_columns(session: FakeSession) -> None:
    """`values_list` returns the values of the named columns, or of all columns.

    With `flat`, it returns the values of one column.
    """
    session.names, session.rows = ["year", "mdl", "options"], [[1, "x", None], [2, "y", {"o"}]]
    queryset = Car.objects(maker="a", line=1)
    assert list(queryset.values_list("model", flat=True)) == ["x", "y"]
    assert list(queryset.values_list("options", "maker", "year")) == [
        [None, "a", 1],
        [{"o"}, "a", 2],
    ]
    # The values of maker and line come from the filter, and the values of year and model ("mdl" in
    # the database) from the first row. The other seven columns are None: options is null in this
    # row, and the response has none of the other six columns.
    assert next(iter(queryset.values_list())) == ["a", 1, 1, "x", *[None] * 7]


def test_rows_of_named_tables_are_read_by_attribute_or_name(session: FakeSession) -> None:
    """Rows of a named table can be read by attribute, by column name, and as a mapping."""
    session.return_row(c=1, d="x")
    (row,) = list(TABLE.objects(c=1).allow_filtering())
    assert row.c == 1
    assert row["d"] == "x"
    assert dict(row) == {"c": 1, "d": "x"}
    with pytest.raises(AttributeError, match="the row has no column 'e'"):
        _ = row.e
    # The keyspace of `using` replaces the keyspace of the table.
    assert str(TABLE.objects.using(keyspace="k")) == "SELECT * FROM k.b LIMIT 10000"


class Document(Model):
    id = columns.Integer(primary_key=True)
    kind = columns.Text(index=True)


def test_selects_with_different_values_are_prepared_once(session: FakeSession) -> None:
    """SELECTs that differ only in their values are prepared once.

    The CQL of a SELECT depends only on the columns and conditions, not on the values.
    """
    for number in range(3):
        list(Document.objects(kind=str(number)))
        list(Document.objects(kind=str(number)).only(["id"]))
        list(Document.objects(kind=str(number)).values_list("id"))
        list(Document.objects(kind=str(number)).using(keyspace="k"))
    session.return_row(count=5)
    assert Document.objects(kind="a").count() == 5
    assert Document.objects(kind="b").count() == 5
    assert len(session.prepared) == len(set(session.prepared))
    assert any("COUNT(*)" in text for text in session.prepared)


# -- writes ----------------------------------------------------------------------------------------

# Each tuple has the arguments of `update`, the SET clause, and the clause's bound values.
UPDATES: list[tuple[dict[str, Any], str, list[Any]]] = [
    ({"model": "x", "price": "5"}, '"mdl" = ?, "price" = ?', ["x", 5]),
    ({"model": None}, '"mdl" = ?', [None]),
    ({"options": {"a"}}, '"options" = ?', [{"a"}]),
    ({"options": set()}, '"options" = ?', [None]),
    ({"options__add": {"a"}}, '"options" = "options" + ?', [{"a"}]),
    ({"options__remove": {"a"}}, '"options" = "options" - ?', [{"a"}]),
    ({"owners__append": ["a"]}, '"owners" = "owners" + ?', [["a"]]),
    ({"owners__prepend": ["a"]}, '"owners" = ? + "owners"', [["a"]]),
    ({"owners__remove": ["a"]}, '"owners" = "owners" - ?', [["a"]]),
    ({"parts": {"a": "1"}}, '"parts"[?] = ?', ["a", 1]),
    ({"parts__update": {"a": "1", "b": None}}, '"parts"[?] = ?, "parts"[?] = ?', ["a", 1, "b", None]),  # noqa: E501
    ({"parts__remove": ["a"]}, '"parts" = "parts" - ?', [{"a"}]),
    ({"name__first": "x"}, '"name__first" = ?', ["x"]),
    ({"must": "x"}, '"must" = ?', ["x"]),
]  # fmt: skip


@pytest.mark.parametrize(("values", "text", "bound"), UPDATES, ids=[case[1] for case in UPDATES])
def test_updates(values: dict[str, Any], text: str, bound: list[Any], session: FakeSession) -> None:
    """Each change becomes the expected SET clause with its bound values."""
    ONE_ROW.update(**values)
    assert session.last_statement == (
        f'UPDATE ks.car SET {text} WHERE "maker" = ? AND "line" = ? AND "year" = ?',
        [*bound, "a", 1, 2],
    )


@pytest.mark.parametrize(
    "values",
    [{}, {"options__add": set()}, {"parts__update": {}}, {"owners__append": None}],
)
def test_empty_updates_send_nothing(values: dict[str, Any], session: FakeSession) -> None:
    """An update without any value to set sends nothing."""
    ONE_ROW.update(**values)
    assert session.executions == []


@pytest.mark.parametrize("keys", ["ab", b"ab", 5])
def test_a_text_is_not_a_set_of_keys(keys: Any, session: FakeSession) -> None:
    """`remove` of a map does not remove the characters of a text."""
    with pytest.raises(ValidationError, match=r"parts.* is a \w+, not a set of keys: write \{"):
        ONE_ROW.update(parts__remove=keys)
    assert session.executions == []


def test_none_is_too_short_for_a_least_length(session: FakeSession) -> None:
    with pytest.raises(ValidationError, match="None is shorter than 2 characters"):
        Short.objects(id=1).update(text=None)
    assert session.executions == []


# Each tuple has the arguments of `update`, and the statements without their WHERE, with the values.
COUNTER_UPDATES: list[tuple[dict[str, Any], list[tuple[str, list[Any]]]]] = [
    ({"count": 2}, [('UPDATE {} SET "count" = "count" + ?', [2, 1])]),
    ({"count__add": 2}, [('UPDATE {} SET "count" = "count" + ?', [2, 1])]),
    ({"count__add": "2"}, [('UPDATE {} SET "count" = "count" + ?', [2, 1])]),
    ({"count__add": -2}, [('UPDATE {} SET "count" = "count" - ?', [2, 1])]),
    # Adding 0 creates the row.
    ({"count__add": 0}, [('UPDATE {} SET "count" = "count" + ?', [0, 1])]),
    ({"count": None}, [('DELETE "count" FROM {}', [1])]),
    ({"count": None, "other__add": 3}, [('UPDATE {} SET "other" = "other" + ?', [3, 1]), ('DELETE "count" FROM {}', [1])]),  # noqa: E501
    ({"other": None, "count": None}, [('DELETE "other", "count" FROM {}', [1])]),
]  # fmt: skip


@pytest.mark.parametrize(("values", "statements"), COUNTER_UPDATES)
def test_updates_of_counters(
    values: dict[str, Any], statements: list[tuple[str, list[Any]]], session: FakeSession
) -> None:
    """`update` adds numbers to counters, and deletes counters set to None."""

    class Tally(Model):
        __keyspace__ = "ks"
        id = columns.Integer(primary_key=True)
        count = columns.Counter()
        other = columns.Counter()

    Tally.objects(id=1).update(**values)
    assert [(execution.text, execution.values) for execution in session.executions] == [
        (query.format("ks.tally") + ' WHERE "id" = ?', bound) for query, bound in statements
    ]


def test_the_delete_of_a_counter_has_no_timestamp(session: FakeSession) -> None:
    """`update` deletes a counter without a timestamp or TTL, which servers refuse."""
    Visits.objects(page=1).timestamp(5).ttl(9).update(count=None)
    assert session.last_statement[1] == [1]


def test_updates_without_reading_the_row(session: FakeSession) -> None:
    """`update` of a queryset sends one statement with its options and conditions.

    `update` sends no statement if there are no values.
    """
    queryset = Car.objects(maker="a", line=1, year=2)
    queryset.ttl(5).timestamp(datetime.timedelta(0)).update(
        model="x", price=None, options__add={"o"}
    )
    query, values = session.last_statement
    assert query == (
        'UPDATE ks.car USING TTL ? AND TIMESTAMP ? SET "mdl" = ?, "price" = ?, "options" = '
        '"options" + ? '
        'WHERE "maker" = ? AND "line" = ? AND "year" = ?'
    )
    # Leave out values[1], which is the timestamp, because it depends on the clock.
    assert [values[0], *values[2:]] == [5, "x", None, {"o"}, "a", 1, 2]
    queryset.delete()
    assert session.last_statement == (
        'DELETE FROM ks.car WHERE "maker" = ? AND "line" = ? AND "year" = ?',
        ["a", 1, 2],
    )
    session.return_row(**{"[applied]": False, "price": 9})
    with pytest.raises(LWTException) as refused:
        queryset.iff(price=5, model=None).update(price=6)
    assert refused.value.existing == {"[applied]": False, "price": 9}
    assert session.last_statement[0] is not None
    assert session.last_statement[0].endswith('IF "price" = ? AND "mdl" = ?')
    statement_count = len(session.executions)
    queryset.update()
    assert len(session.executions) == statement_count


def test_options_of_the_queryset_are_those_of_its_writes(session: FakeSession) -> None:
    """The options of a queryset, such as TTL and conditions, apply to its writes."""
    Document.objects.ttl(5).timestamp(datetime.timedelta(0)).create(id=1, kind="x")
    query, values = session.last_statement
    assert str(query).endswith("USING TTL ? AND TIMESTAMP ?")
    assert values[:3] == [1, "x", 5]
    # Both 0 and None mean "no TTL".
    Document.objects.ttl(0).ttl(None).create(id=1)
    assert "TTL" not in str(session.last_statement[0])
    session.return_row(**{"[applied]": True})
    document = Document.objects.if_not_exists().create(id=1, kind="x")
    assert str(session.last_statement[0]).endswith("IF NOT EXISTS")
    document.kind = "y"
    # The second write is an UPDATE, which does not use the condition `if_not_exists`.
    document.save()
    assert " IF " not in str(session.last_statement[0])
    Document.objects(id=1).if_exists().delete()
    assert str(session.last_statement[0]).endswith("IF EXISTS")
    Document.objects(id=1).if_exists().update(kind="z")
    assert str(session.last_statement[0]).endswith("IF EXISTS")
    Document.objects(id=1).timestamp(datetime.timedelta(0)).delete()
    assert "USING TIMESTAMP ?" in str(session.last_statement[0])


def test_a_time_to_live_stays_with_the_instance(session: FakeSession) -> None:
    """A TTL that was set with `create` also applies to later writes of the instance."""
    document = Document.objects.ttl(5).create(id=1, kind="x")
    document.kind = "y"
    document.save()
    query, values = session.last_statement
    assert query is not None
    assert "USING TTL ?" in query
    assert values[0] == 5


def test_unknown_names_are_ignored_by_create(session: FakeSession) -> None:
    """`create` ignores names that are not columns."""
    document = Document.objects.using(keyspace="k").create(id=1, zip=5)
    assert type(document).__keyspace__ == "k"
    assert document.id == 1
    assert str(session.last_statement[0]).startswith("INSERT INTO k.document")


def test_create_calls_the_model_s_own_constructor(session: FakeSession) -> None:
    """`create` calls the constructor that the model defines."""

    class ModelWithConstructor(Model):
        id = columns.Integer(primary_key=True)
        word = columns.Text()

        def __init__(self, **values: Any) -> None:
            super().__init__(**{"word": "own", **values})

    ModelWithConstructor.objects.create(id=1)
    assert session.last_statement[1] == [1, "own"]


class Counted(Model):
    """An abstract model whose `save` and `__init__` are defined by the application."""

    __abstract__ = True
    id = columns.Integer(primary_key=True)
    saves = columns.Integer()

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.arguments = values

    def save(self) -> Any:
        self.saves = (self.saves or 0) + 1
        return super().save()


class Item(Counted):
    tags = columns.Set(columns.Text, default=lambda: {"default"})
    word = columns.Text(db_field="w", default="default")


class Shape(Counted):
    kind = columns.Text(discriminator_column=True)


class Circle(Shape):
    __discriminator_value__ = "circle"
    radius = columns.Integer()


@pytest.mark.parametrize(
    "create",
    [
        lambda: Item.create(id=1),
        lambda: Item.objects.create(id=1),
        lambda: Item.objects.using(keyspace="k").create(id=1),
        lambda: Item.if_not_exists().create(id=1),
    ],
)
def test_create_calls_the_model_s_own_save(session: FakeSession, create: Any) -> None:
    """`create` calls the `save` that the model defines, as in cassandra-driver.

    Otherwise the application's code in `save` would not be executed.
    """
    session.return_row(**{"[applied]": True})
    item = create()
    assert item.saves == 1
    assert len(session.executions) == 1
    assert session.last_statement[1][:2] == [1, 1]
    item.save()
    assert item.saves == 2
    # The second write is an UPDATE, which does not use the condition `if_not_exists`.
    assert "IF NOT EXISTS" not in str(session.last_statement[0])


def test_create_in_a_batch_calls_the_model_s_own_save(session: FakeSession) -> None:
    """`create` in a batch calls the `save` that the model defines."""
    batch = BatchQuery()
    assert Item.batch(batch).create(id=1).saves == 1
    assert session.executions == []
    assert len(batch.queries) == 1


def test_rows_that_are_read_call_the_model_s_own_constructor(session: FakeSession) -> None:
    """Reading a row calls the model's constructor with the values that were read.

    cassandra-driver does the same. Nulls, and columns that were not read, do not get defaults.
    """
    session.return_row(id=1, saves=None, tags={"a"}, w=None)
    item: Any = Item.objects(saves=7).allow_filtering().first()
    assert item.arguments == {"id": 1, "saves": 7, "tags": {"a"}, "word": None}
    assert (item.tags, item.word) == ({"a"}, None)
    assert item.get_changed_columns() == []
    item.tags.add("b")
    assert item.get_changed_columns() == ["tags"]
    session.return_row(id=2, w="x")
    (only,) = Item.objects.only(["id", "word"])
    assert only.arguments == {"id": 2, "word": "x"}
    assert only.tags == set()


class Tokened(Model):
    """A model whose `__init__` sets a missing token."""

    id = columns.Integer(primary_key=True)
    value = columns.Integer()
    token: Any = columns.Text()

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if self.token is None:
            self.token = "made"


def test_what_the_constructor_sets_in_a_row_that_was_read_is_not_written(
    session: FakeSession,
) -> None:
    """A value that the constructor sets in an instance that was read does not count as changed.

    Otherwise an update would overwrite a column that was not even read.
    """
    session.return_row(id=1, value=2)
    (row,) = Tokened.objects.only(["id", "value"])
    assert row.token == "made"
    assert row.get_changed_columns() == []
    row.update(value=3)
    assert session.last_statement[1] == [3, 1]


def test_create_many_warns_that_it_does_not_call_save(session: FakeSession) -> None:
    """`create_many` warns that it does not call the model's `save`.

    It writes the values of the instances, and applies their options.
    """
    item, batch = Item(id=1), BatchQuery()
    with pytest.warns(RuntimeWarning, match=r"does not call Item\.save\(\)") as caught:
        (created,) = Item.objects.batch(batch).create_many([item])
    assert len(batch.queries) == 1
    assert caught[0].filename == __file__
    assert created is item
    assert item.saves is None


def test_a_queryset_finds_attributes_by_its_other_base(session: FakeSession) -> None:
    """A queryset class finds attributes through `__getattr__` of its other base class."""

    class Finding:
        def __getattr__(self, name: str) -> str:
            return f"found {name}"

    class FindingQuerySet(ModelQuerySet[Any], Finding):
        pass

    assert FindingQuerySet(Car).by_maker == "found by_maker"


def test_rows_of_a_subclass_call_its_constructor(session: FakeSession) -> None:
    """A row of a subclass calls the subclass's constructor."""
    session.return_row(id=1, saves=3, kind="circle", radius=5)
    (shape,) = Shape.objects.all()
    assert type(shape) is Circle
    assert shape.arguments == {"id": 1, "saves": 3, "kind": "circle", "radius": 5}
    assert shape.radius == 5


def test_a_queryset_taken_for_an_instance(session: FakeSession) -> None:
    """If a column is assigned to a queryset, its writes warn that they ignore the column.

    The errors for other uses of a queryset as an instance say what to write.
    """
    cars: Any = Car.objects(maker="a", line=1, year=2)
    cars.must, cars.note = "x", "the application's own"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cars.update()
        cars.delete()
    assert [str(warning.message) for warning in caught] == [
        f"a queryset is not an instance, so {call}() ignores must: write instance = Car.get(...) "
        f"first, or {advice}"
        for call, advice in (
            ("update", "queryset.update(must=...)"),
            ("delete", "Car.get(...).delete()"),
        )
    ]
    assert {warning.filename for warning in caught} == {__file__}
    with pytest.raises(AttributeError, match=r"write instance = Model\.get\(key=value\), then "):
        cars.save()
    with pytest.raises(AttributeError, match=r"write Car\.get\(\.\.\.\)\.parts, or"):
        Car.objects(maker="a").parts  # type: ignore[attr-defined] # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'wheels'$"):
        Car.objects(maker="a").wheels  # type: ignore[attr-defined] # noqa: B018
    with pytest.raises(ValueError, match=r"by 'must': write queryset\.first\(\)\['must'\]"):
        Car.objects(maker="a")["must"]


def test_filters_and_orders_of_other_libraries() -> None:
    """The errors for filters as in Django, and for orders as in SQL, say what to write instead."""
    with pytest.raises(QueryException, match=r"write order_by\('-year'\)"):
        Car.objects.order_by("year desc")
    filters: Any = {"maker": "a"}
    with pytest.raises(QueryException, match=r"filter\(\*\*values\)"):
        Car.objects.filter(filters)
    with pytest.raises(QueryOperatorException, match="write column__like='text%'"):
        Car.objects.filter(maker__startswith="a")
    with pytest.raises(QueryOperatorException, match="there are contains, eq"):
        Car.objects.filter(maker__zzz="a")


def test_values_without_their_columns() -> None:
    """The error for values by position in a model's constructor names the columns."""
    with pytest.raises(TypeError, match=r"write Car\(maker=\.\.\., line=\.\.\.\)"):
        Car("a", 1)  # type: ignore[arg-type]


def test_arguments_that_are_no_filters_or_seconds() -> None:
    """The errors for wrong arguments of filters and TTLs say what to write."""
    cars: Any = Car.objects
    with pytest.raises(QueryException, match=r"write a comparison, Model\.column == value"):
        cars.filter(Car.maker, "a")
    with pytest.raises(QueryException, match="Python has compared the values itself"):
        cars.filter(True)
    with pytest.raises(QueryException, match=r"no text: write filter\(column=value\)"):
        cars.filter("year = 1")
    with pytest.raises(ValueError, match=r"not '60': write 60$"):
        cars.ttl("60")
    with pytest.raises(ValueError, match=r"write int\(value\.total_seconds\(\)\)$"):
        cars.ttl(datetime.timedelta(hours=1))


class _Bare(columns.Text):
    """A text column that stores names without a hash sign at the beginning."""

    def validate(self, value: Any) -> Any:
        return str(value).lstrip("#")


class _Topic(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    name = _Bare()
    names = columns.Map(_Bare, _Bare)


def test_an_application_s_column_class_validates_values_to_store_only(
    session: FakeSession,
) -> None:
    """An application's `validate` is called for values to store, but not for filters.

    As in cassandra-driver, filters and conditions bind the application's values.
    """
    topic = _Topic.objects(id=1)
    topic.update(name="#a", names__update={"#b": "#c"})
    assert session.last_statement[1] == ["a", "b", "c", 1]
    topic.iff(name="#a").update(names={"#d": "#e"})
    assert session.last_statement[1] == ["d", "e", 1, "#a"]
    topic.filter(_Topic.name > "#a").delete()
    assert session.last_statement[1] == [1, "#a"]
    list(_Topic.objects(name__in=["#a"]).allow_filtering())
    assert session.last_statement[1][0] == ["#a"]
    topic.iff(names={"#a": "#b"}).delete()
    assert session.last_statement[1] == [1, {"#a": "#b"}]
