"""Tests of querysets on a fake session: their CQL, indexing, and errors for mistakes."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqlengine import CQLEngineException, ValidationError, columns, functions, statements
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedTable
from cassandra.cqlengine.query import BatchQuery, QueryException, queryset as queryset_module
from tests.unit.cqlengine.conftest import FakeResult, FakeSession

pytestmark = pytest.mark.usefixtures("session")


# A model with a compound partition key, a clustering key and indexes.
class Car(Model):
    maker = columns.Text(partition_key=True)
    line = columns.Integer(partition_key=True)
    year = columns.Integer(primary_key=True)
    model = columns.Text(db_field="mdl")
    price = columns.Integer(index=True)
    doors = columns.Integer(custom_index=True)
    options = columns.Set(columns.Text)


# Each tuple has a function that builds a queryset, and the CQL that `str` returns for it.
TEXTS = [
    (lambda: Car.objects, "SELECT * FROM ks.car LIMIT 10000"),
    (
        lambda: Car.objects(maker="a", line=1),
        'SELECT "year", "mdl", "price", "doors", "options" FROM ks.car WHERE "maker" = %(0)s AND '
        '"line" = %(1)s LIMIT 10000',
    ),
    (lambda: Car.objects(Car.maker == "a").only(["model"]), 'SELECT "mdl" FROM ks.car WHERE "maker" = %(0)s LIMIT 10000'),  # noqa: E501
    (lambda: Car.objects(maker__in=["a", "b"]), 'SELECT * FROM ks.car WHERE "maker" IN %(0)s LIMIT 10000'),  # noqa: E501
    (lambda: Car.objects(year__gt=1, year__lte=3), 'SELECT * FROM ks.car WHERE "year" > %(0)s AND "year" <= %(1)s LIMIT 10000'),  # noqa: E501
    (lambda: Car.objects(Car.year >= 1, Car.year < 3), 'SELECT * FROM ks.car WHERE "year" >= %(0)s AND "year" < %(1)s LIMIT 10000'),  # noqa: E501
    (lambda: Car.objects(options__contains="x"), 'SELECT * FROM ks.car WHERE "options" CONTAINS %(0)s LIMIT 10000'),  # noqa: E501
    (lambda: Car.objects(model__like="%x%"), 'SELECT * FROM ks.car WHERE "mdl" LIKE %(0)s LIMIT 10000'),  # noqa: E501
    (lambda: Car.objects(statements.IsNotNull("model")), 'SELECT * FROM ks.car WHERE "mdl" IS NOT NULL LIMIT 10000'),  # noqa: E501
    (
        lambda: Car.objects(pk__token__gt=functions.Token("a", 1)),
        'SELECT * FROM ks.car WHERE token("maker", "line") > token(%(0)s, %(1)s) LIMIT 10000',
    ),
    (lambda: Car.objects.order_by("-year").limit(5), 'SELECT * FROM ks.car ORDER BY "year" DESC LIMIT 5'),  # noqa: E501
    (lambda: Car.objects.order_by("year").order_by().limit(None), "SELECT * FROM ks.car"),
    (lambda: Car.objects.limit(0).allow_filtering(), "SELECT * FROM ks.car ALLOW FILTERING"),
    (lambda: Car.objects.distinct(), 'SELECT DISTINCT "maker", "line" FROM ks.car LIMIT 10000'),
    (lambda: Car.objects.defer(["options", "price"]), 'SELECT "maker", "line", "year", "mdl", "doors" FROM ks.car LIMIT 10000'),  # noqa: E501
    (lambda: Car.objects.defer(list(Car.__mapping__.names)), 'SELECT "maker", "line" FROM ks.car LIMIT 10000'),  # noqa: E501
    (lambda: Car.objects.only(["year"]).defer(["year"]).distinct(), 'SELECT DISTINCT "maker", "line" FROM ks.car LIMIT 10000'),  # noqa: E501
    (lambda: Car.objects.values_list("model"), 'SELECT "mdl" FROM ks.car LIMIT 10000'),
    (lambda: Car.objects.using(keyspace="x"), "SELECT * FROM x.car LIMIT 10000"),
    (lambda: NamedTable("a", "b").objects(c=1), 'SELECT * FROM a.b WHERE "c" = %(0)s LIMIT 10000'),
    (lambda: NamedTable("a", "b").filter(NamedTable("a", "b").column("c") >= 4), 'SELECT * FROM a.b WHERE "c" >= %(0)s LIMIT 10000'),  # noqa: E501
]  # fmt: skip


@pytest.mark.parametrize(("build", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_the_cql_of_querysets(build: Any, text: str) -> None:
    """`str` of a queryset is its CQL with numbered placeholders."""
    assert str(build()) == text


# Each tuple has a call, the class of its error, and a pattern of the error's message.
MISTAKES: list[tuple[Any, type[Exception], str]] = [
    (lambda: Car.objects.filter(4), QueryException, r"valid query operator: .* as in Car\.get\("),
    (lambda: Car.objects.only(["year"]).only(["line"]), QueryException, "already has 'only'"),
    (lambda: str(Car.objects.only(["year"]).defer(["line", "year"])), QueryException, 'No fields in select query. Only fields: "year", defer fields: "line,year"'),  # noqa: E501
    (lambda: str(NamedTable("a", "b").objects.only(["c"]).defer(["c"])), QueryException, "No fields in select query"),  # noqa: E501
    (lambda: Car.objects.limit(-1), QueryException, "Negative limit"),
    (lambda: Car.objects.limit("x"), TypeError, "'x'"),  # type: ignore[arg-type]
    (lambda: Car.objects.fetch_size(0), QueryException, "less than 1"),
    (lambda: Car.objects.fetch_size(True), TypeError, "a fetch size is a number, not True"),
    (lambda: Car.objects.limit(True), TypeError, "a limit is a number or None, not True"),
    (lambda: Car.objects.only("yr"), QueryException, r"fields 'yr' in Car: pass a list, \['yr'\]$"),
    (lambda: NamedTable("a", "b").objects.only("c"), QueryException, "a list of names, not 'c'"),
    (lambda: Car.objects.batch(4), CQLEngineException, "BatchQuery"),  # type: ignore[arg-type]
    (lambda: list(Car.objects.batch(BatchQuery())), CQLEngineException, "Only inserts"),
    (lambda: Car.objects(maker="a").delete(), QueryException, "no filter for line"),
    (lambda: Car.create(zip=1), ValidationError, "Incorrect columns passed: zip"),
    (lambda: Car.create(maker="a", line=1), ValidationError, r"Car\.year - None"),
    (lambda: functions.MinTimeUUID(5), ValidationError, "datetime"),  # type: ignore[arg-type]
    (lambda: BatchQuery().add_callback(4), ValueError, "not a callable"),  # type: ignore[arg-type]
    (lambda: BatchQuery().add_query("x"), CQLEngineException, "BaseCQLStatements"),  # type: ignore[arg-type]
    (lambda: BatchQuery(timestamp="x"), ValueError, "timestamp"),  # type: ignore[arg-type]
    (lambda: BatchQuery(batch_type="x"), ValueError, "batch_type"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "message"), MISTAKES, ids=[f"{m}-{n}" for n, (_, _, m) in enumerate(MISTAKES)]
)
def test_wrong_calls_are_refused(call: Any, error: type[Exception], message: str) -> None:
    """A wrong call of a queryset, a batch or a function is refused with the expected error."""
    with pytest.raises(error, match=message):
        call()


def test_a_queryset_is_executed_once(session: FakeSession) -> None:
    """Iteration, indexing, `len` and `first` of a queryset share the rows of one execution."""
    session.names, session.rows = ["year"], [[year] for year in range(5)]
    queryset = Car.objects(maker="a", line=1)
    assert [car.year for car in queryset] == [0, 1, 2, 3, 4]
    assert queryset[1].year == 1
    assert [car.year for car in queryset[1:3]] == [1, 2]
    assert queryset[-1].year == 4
    assert len(queryset) == 5
    assert queryset
    first_car = queryset.first()
    assert first_car is not None
    assert first_car.values()[:4] == ["a", 1, 0, None]
    assert len(session.executions) == 1
    with pytest.raises(IndexError, match="5 rows"):
        queryset[9]
    # `all` returns an equal queryset, which is executed again.
    assert queryset.all() == queryset
    assert len(list(queryset.all())) == 5
    assert len(session.executions) == 2


def test_two_iterators_share_one_execution(session: FakeSession) -> None:
    """Two iterators of a queryset share one execution."""
    session.names, session.rows = ["year"], [[year] for year in range(3)]
    cars = Car.objects(maker="a", line=1)
    year_pairs = [(car.year, same_car.year) for car, same_car in zip(cars, cars, strict=True)]
    assert year_pairs == [(0, 0), (1, 1), (2, 2)]
    assert len(session.executions) == 1


def test_threads_that_iterate_over_a_queryset_each_get_all_rows(
    session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs keep querysets in modules, where several threads use them."""

    def read_row_by_row(result: FakeResult) -> Iterator[Any]:
        for row in result.all():
            # Let the other threads run while this generator is executed.
            time.sleep(0)
            yield row

    monkeypatch.setattr(FakeResult, "__iter__", read_row_by_row)
    session.names, session.rows = ["year"], [[year] for year in range(50)]
    readings: list[Callable[[Any], list[int]]] = [
        lambda cars: [car.year for car in cars],
        lambda cars: [cars[index].year for index in range(len(cars))],
    ]
    for _ in range(10):
        cars = Car.objects(maker="a", line=1)
        executions = len(session.executions)
        with ThreadPoolExecutor(4) as executor:
            results = [executor.submit(readings[number % 2], cars) for number in range(4)]
        assert [result.result() for result in results] == [list(range(50))] * 4
        assert len(session.executions) == executions + 1
    assert pickle.loads(pickle.dumps(vars(cars)["_lock"])) is not None
    assert "_lock" not in vars(cars.all())


def test_a_queryset_reads_no_more_rows_than_needed(
    session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bool`, an index and a slice read only as many rows as they need."""
    years_read: list[int] = []

    def read_row_by_row(result: FakeResult) -> Iterator[Any]:
        for row in result.all():
            years_read.append(row.year)
            yield row

    monkeypatch.setattr(FakeResult, "__iter__", read_row_by_row)
    session.names, session.rows = ["year"], [[year] for year in range(6)]
    cars = Car.objects(maker="a", line=1)
    assert bool(cars)
    assert years_read == [0]
    assert cars[1].year == 1
    assert years_read == [0, 1]
    assert [car.year for car in cars[0:4:2]] == [0, 2]
    assert years_read == [0, 1, 2, 3]
    # A negative index needs all rows.
    assert [car.year for car in cars[-2:]] == [4, 5]
    assert len(session.executions) == 1


@pytest.mark.parametrize(
    ("years", "error"), [([], Car.DoesNotExist), ([1, 2], Car.MultipleObjectsReturned)]
)
def test_get_returns_the_only_row(
    session: FakeSession, years: list[int], error: type[Exception]
) -> None:
    """`get` returns the only row, and raises an error if there is no row, or more than one."""
    session.names, session.rows = ["year"], [[year] for year in years]
    cars = Car.objects(maker="a", line=1)
    message = r"Car with maker = 'a', line = 1"
    with pytest.raises(error, match=message):
        cars.get()
    # A limit of two rows is enough to know that there are several rows.
    limit = 2
    assert session.last_statement[1] == ["a", 1, limit]
    # The queryset uses the rows that it has already read.
    assert len(cars) == len(years)
    execution_count = len(session.executions)
    with pytest.raises(error, match=message):
        cars.get()
    assert len(session.executions) == execution_count
    session.rows = [[7]]
    assert Car.objects(maker="a").get(line=1).year == 7


def test_a_request_has_the_options_of_its_queryset(session: FakeSession) -> None:
    """A request has the consistency level, timeout and other options of its queryset."""
    session.names, session.rows = ["year"], [[1]]
    cars = Car.objects(maker="a", line=1)
    list(cars.consistency(ConsistencyLevel.QUORUM).timeout(3).fetch_size(5).idempotent())
    request = session.executions[-1]
    assert request.consistency == ConsistencyLevel.QUORUM
    assert (request.timeout, request.fetch_size) == (3, 5)
    assert request.idempotent
    # The options belong to the queryset that the methods returned, and not to `cars`.
    list(cars)
    request = session.executions[-1]
    assert (request.consistency, request.fetch_size) == (None, None)
    assert not request.idempotent


def test_a_request_uses_the_connection_of_its_queryset_or_model() -> None:
    """A request uses the connection of its queryset, or else of its model."""

    class Elsewhere(Car):
        __connection__ = "of the model"

    assert Car.objects._request().connection is None
    assert Elsewhere.objects._request().connection == "of the model"
    for model in (Car, Elsewhere):
        assert model.objects.using(connection="named")._request().connection == "named"
    with pytest.raises(CQLEngineException, match="Cannot specify a connection"):
        Car.objects.batch(BatchQuery()).using(connection="named")
    with pytest.raises(CQLEngineException, match="Cannot specify the connection"):
        Car.objects.using(connection="named").batch(BatchQuery())


def test_conditions_are_collected(session: FakeSession) -> None:
    """`iff` adds conditions; the write has all of them."""
    conditional = Car.objects(maker="a", line=1).iff(price=5).iff(Car.doors > 2)
    session.return_row(**{"[applied]": True})
    conditional.delete()
    query, values = session.last_statement
    assert query is not None
    assert query.endswith('WHERE "maker" = ? AND "line" = ? IF "price" = ? AND "doors" > ?')
    assert values == ["a", 1, 5, 2]
    with pytest.raises(QueryException, match="4 is not a valid query operator"):
        Car.objects.iff(4)


def test_create_inserts_a_row_and_returns_it(session: FakeSession) -> None:
    """`create` of a queryset inserts a row and returns its instance."""
    car = Car.objects.create(maker="a", line=1, year=2)
    assert car.maker == "a"
    assert car.line == 1
    assert car.year == 2
    query, values = session.last_statement
    assert query is not None
    assert query.startswith("INSERT INTO ks.car")
    assert values[:3] == ["a", 1, 2]


def test_rows_are_counted_by_the_server(session: FakeSession) -> None:
    """`count` is executed by the server."""
    session.names, session.rows = ["count"], [[12]]
    assert Car.objects(maker="a", line=1).count() == 12
    assert str(session.last_statement[0]).startswith("SELECT COUNT(*) FROM ks.car")
    # Servers cannot count distinct partitions, so the driver reads the rows and counts them.
    session.names, session.rows = ["maker", "line"], [["a", 1], ["a", 2]]
    assert Car.objects.distinct().count() == 2
    assert str(session.last_statement[0]).startswith('SELECT DISTINCT "maker", "line" FROM ks.car')


def test_counts_of_distinct_partitions_have_no_limit_by_default(session: FakeSession) -> None:
    """`count` after `distinct` counts all partitions; a limit of the application applies."""
    session.names, session.rows = ["maker", "line"], [["a", 1]]
    partitions = Car.objects.distinct()
    for unlimited in (partitions, partitions.limit(None), partitions.limit(0)):
        assert unlimited.count() == 1
        assert session.last_statement == ('SELECT DISTINCT "maker", "line" FROM ks.car', [])
    assert NamedTable("ks", "car").objects.distinct(["maker"]).count() == 1
    assert session.last_statement == ('SELECT DISTINCT "maker" FROM ks.car', [])
    for limit in (5, 10_000):
        partitions.limit(limit).count()
        assert str(session.last_statement[0]).endswith(" LIMIT ?")
        assert session.last_statement[1] == [limit]
    # Reading the partitions still has the default limit.
    list(partitions)
    assert session.last_statement[1] == [10_000]


# Each of these querysets asks for something else, so no two of them are equal.
DIFFERENT = [
    Car.objects(maker="a"),
    Car.objects(maker="b"),
    Car.objects(maker__in=["a"]),
    Car.objects.order_by("year"),
    Car.objects.limit(3),
    Car.objects.only(["year"]),
    Car.objects.defer(["year"]),
    Car.objects.distinct(),
    Car.objects.allow_filtering(),
]


@pytest.mark.parametrize("index", range(len(DIFFERENT)))
def test_querysets_are_equal_if_they_ask_for_the_same(index: int) -> None:
    """Querysets are equal if their queries are the same."""
    queryset = DIFFERENT[index]
    assert queryset == queryset.all()
    assert [other for other in DIFFERENT if other == queryset] == [queryset]
    assert queryset != Car.objects
    assert queryset != NamedTable("ks", "car").objects


@pytest.mark.parametrize(
    ("filters", "is_lookup", "is_fixed"),
    [
        ({"maker": "a"}, True, True),
        ({"maker__in": ["a"]}, True, False),
        ({"options__contains": "a"}, True, False),
        ({"year__gt": 1}, False, False),
        ({"model__like": "a"}, False, False),
    ],
)
def test_filters_say_if_they_choose_rows_by_a_key_and_by_one_value(
    filters: dict[str, Any], is_lookup: bool, is_fixed: bool
) -> None:
    """`is_lookup` is True if a key or index can find the rows of a filter.

    `is_fixed` is True if the filter allows only one value of its column.
    """
    (clause,) = Car.objects.filter(**filters)._where
    assert queryset_module.is_lookup(clause) is is_lookup
    assert queryset_module.is_fixed(clause) is is_fixed


class Document(Model):
    id = columns.Integer(primary_key=True)
    kind = columns.Text(index=True)
    near = columns.Vector(columns.Float, 2, db_field="v")


def test_queries_are_ordered_by_distance_to_a_vector(session: FakeSession) -> None:
    """`order_by(column.ann_of(vector))` binds the vector and the limit as values."""
    nearest = Document.objects.filter(kind="a").order_by(Document.near.ann_of([1, 2]))
    assert str(nearest.limit(3)) == (
        'SELECT "id", "v" FROM ks.document WHERE "kind" = %(0)s ORDER BY "v" ANN OF %(1)s LIMIT 3'
    )
    for limited, limit in ((nearest.limit(3), 3), (nearest.limit(5), 5)):
        list(limited)
        query, values = session.last_statement
        assert query is not None
        assert query.endswith('WHERE "kind" = ? ORDER BY "v" ANN OF ? LIMIT ?')
        assert values == ["a", [1.0, 2.0], limit]
    nearest.first()
    assert session.last_statement[1] == ["a", [1.0, 2.0], 1]
    # A limit that equals the default is a limit, too.
    list(nearest.limit(10_000))
    assert session.last_statement[1] == ["a", [1.0, 2.0], 10_000]
    # `order_by` without arguments removes the order.
    assert str(nearest.order_by().limit(2)).endswith('"kind" = %(0)s LIMIT 2')
    assert nearest.limit(3) == nearest.limit(3)
    assert nearest.limit(3) != Document.objects.filter(kind="a").limit(3)


def test_order_by_distance_needs_a_limit_and_a_vector() -> None:
    """An order by distance needs a limit, a vector column, and no other order."""
    nearest = Document.objects.order_by(Document.near.ann_of([1, 2]))
    for queryset in (nearest, nearest.limit(None)):
        with pytest.raises(QueryException, match=r"needs limit\(n\)"):
            list(queryset)
    with pytest.raises(QueryException, match="cannot be counted"):
        nearest.limit(3).count()
    with pytest.raises(QueryException, match="cannot be combined"):
        nearest.order_by("id")
    with pytest.raises(QueryException, match="cannot be combined"):
        Document.objects.order_by(Document.near.ann_of([1, 2]), "id")
    with pytest.raises(CQLEngineException, match=r"Document\.kind is not a vector"):
        Document.kind.ann_of([1, 2])
    with pytest.raises(ValidationError, match="dimension is 2"):
        Document.near.ann_of([1, 2, 3])


class PagedResult:
    """A fake result with several pages."""

    def __init__(self, *pages: list[Any]) -> None:
        self.pages = list(pages)

    @property
    def current_rows(self) -> list[Any]:
        return self.pages[0]

    @property
    def has_more_pages(self) -> bool:
        return len(self.pages) > 1

    def one(self) -> Any:
        return self.pages[0][0] if self.pages[0] else None

    def fetch_next_page(self) -> None:
        del self.pages[0]


def outcome_of(operation: Any, result: PagedResult) -> Any:
    """Run a read operation (a generator of requests), and return its outcome.

    The result of the first request is `result`. Further requests are function calls that fetch the
    next pages.
    """
    try:
        next(operation)
        pages_request = operation.send(result)
        while True:
            pages_request = operation.send(pages_request.function(None))
    except StopIteration as stop:
        return stop.value


@pytest.mark.parametrize("queryset", [Car.objects, NamedTable("ks", "t").objects])
def test_get_and_first_follow_the_pages(queryset: Any) -> None:
    """`get` and `first` read further pages until they have found their rows."""
    # There may be empty pages before or after the only row.
    for pages in ([[], [], [1]], [[1], []], [[], [1], []]):
        assert outcome_of(queryset._get(), PagedResult(*pages)) == 1
        assert outcome_of(queryset._first(), PagedResult(*pages)) == 1
    assert outcome_of(queryset._first(), PagedResult([], [])) is None
    with pytest.raises(queryset.model.DoesNotExist):
        outcome_of(queryset._get(), PagedResult([], []))
    # If there are two rows, `get` fails, even if the second row is on a later page.
    for pages in ([[1], [2]], [[1], [], [2]]):
        assert outcome_of(queryset._first(), PagedResult(*pages)) == 1
        with pytest.raises(queryset.model.MultipleObjectsReturned):
            outcome_of(queryset._get(), PagedResult(*pages))


def test_no_signal_handler_runs_between_the_lock_of_the_rows_and_its_block() -> None:
    """``with`` uses Python's own lock: a handler may interrupt a method written in Python."""
    assert type(Car.objects._rows_lock()) is type(threading.RLock())
