"""Tests of pickling objects that applications send to other processes.

These are errors, rows, values and statements.
"""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import pkgutil
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import cassandra
from cassandra import _impl, aio
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import LWTException
from cassandra.cqltypes import Int32Type, UserType, lookup_casstype
from cassandra.cqltypes.custom import UnrecognizedType
from cassandra.errors import (
    DecodeError,
    DriverException,
    InvalidRequest,
    SessionShutdown,
    _RefusedEverywhere,
)
from cassandra.protocol.rowclass import row_class
from cassandra.query import BatchStatement, SimpleStatement, TraceEvent
from cassandra.testing.fake import FakeNode, Request, rows
from cassandra.testing.fake.refusals import Refusal
from cassandra.util import (
    Date,
    DateRange,
    DateRangeBound,
    Distance,
    Duration,
    LineString,
    OrderedMap,
    Point,
    Polygon,
    SortedSet,
    Time,
    uuid_from_time,
)
from tests.conftest import Implementation

# Protocols 0 and 1 do not support slots.
PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def modules() -> Iterator[Any]:
    """Yield all modules of the package that can be imported here."""
    for module in pkgutil.walk_packages(cassandra.__path__, "cassandra."):
        # Skip modules whose names raise an error when they are used, and modules that need a
        # package which is not installed.
        if not module.name.startswith(("cassandra._accel", "cassandra._compat", "cassandra.io.")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    yield importlib.import_module(module.name)
                except ImportError:
                    continue


def errors() -> list[type[BaseException]]:
    """Return all exception classes of the package."""
    error_classes = {
        value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, BaseException)
        and value.__module__.startswith("cassandra")
    }
    return sorted(error_classes, key=lambda cls: (cls.__module__, cls.__qualname__))


def test_each_error_class_can_be_imported_by_its_qualified_name() -> None:
    """The module and qualified name of each error class must lead to this class."""
    error_classes = errors()
    assert DecodeError in error_classes
    not_importable = []
    for error_class in error_classes:
        target: Any = importlib.import_module(error_class.__module__)
        for part in error_class.__qualname__.split("."):
            target = getattr(target, part, None)
        if target is not error_class:
            not_importable.append(error_class)
    assert not_importable == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_errors_can_be_pickled(protocol: int) -> None:
    """Each error can be pickled, whatever arguments its constructor takes.

    The parent of a `multiprocessing.Pool` waits for ever for an error that it cannot unpickle.
    """
    # The first two classes pickle further arguments, see `test_errors_of_the_mapper` and
    # `test_errors.py`. The third one never leaves the fake node.
    for error_class in set(errors()) - {LWTException, _RefusedEverywhere, Refusal}:
        error = error_class.__new__(error_class, "what went wrong")
        error.args = ("what went wrong",)
        vars(error)["note"] = 5
        unpickled: Any = pickle.loads(pickle.dumps(error, protocol))
        assert type(unpickled) is error_class
        assert (unpickled.args, vars(unpickled)["note"]) == (error.args, 5)


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
async def test_errors_of_a_session(cluster_class: Any) -> None:
    """An unpickled error must have the same message, and the same errors by host."""

    async def connect() -> None:
        # `connect` of the blocking API raises at the call, and that of the asyncio API when it is
        # awaited.
        session_or_awaitable = cluster_class(["127.0.0.1"], port=1).connect()
        if cluster_class is aio.Cluster:
            await session_or_awaitable

    with pytest.raises(NoHostAvailable) as caught:
        await connect()
    unpickled = pickle.loads(pickle.dumps(caught.value))
    assert str(unpickled) == str(caught.value)
    errors = {host: (type(error), str(error)) for host, error in caught.value.errors.items()}
    assert errors
    assert {host: (type(error), str(error)) for host, error in unpickled.errors.items()} == errors
    for error in (SessionShutdown("it is shut down", {}), InvalidRequest("no such table")):
        copied = pickle.loads(pickle.dumps(error))
        assert (type(copied), str(copied)) == (type(error), str(error))
        assert isinstance(copied, DriverException)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_rows(protocol: int) -> None:
    """Unpickled and copied rows must be equal to the original, and of the same class."""
    row = row_class(("k", "a b", "class", "_x", "k"))._make([1, "x", None, 2.5, 3])
    unpickled = pickle.loads(pickle.dumps([row, row], protocol))
    assert unpickled == [row, row]
    assert [type(unpickled_row) for unpickled_row in unpickled] == [type(row)] * 2
    assert (unpickled[0]._fields, unpickled[0].a_b) == (row._fields, "x")
    assert copy.deepcopy(row) == row
    assert copy.copy(row) == row
    assert type(copy.deepcopy(row)) is type(row)


def test_rows_of_a_session() -> None:
    """Unpickled rows of a session must be equal and have the same attributes."""
    with FakeNode() as node:
        node.prime("Q", rows([("k", "int"), ("v", "text")], [(1, "x"), (2, None)]))
        with Cluster([node.address], port=node.port) as cluster:
            read_rows = cluster.connect().execute("Q").all()
    assert pickle.loads(pickle.dumps(read_rows)) == read_rows
    assert pickle.loads(pickle.dumps(read_rows))[0].v == "x"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_values_of_user_types(protocol: int) -> None:
    """Unpickled values of user types must be equal and of the same class."""
    user_type = UserType.make_udt_class("ks", "ad dress", ("zip", "class", "a b"), (Int32Type,) * 3)
    value = user_type.tuple_type(1, 2, None)
    unpickled = pickle.loads(pickle.dumps(value, protocol))
    assert unpickled == value
    assert type(unpickled) is type(value)
    assert unpickled.zip == 1


VALUES = [
    Date(5), Time(5), Duration(1, 2, 3), SortedSet([3, 1]), SortedSet([None, 1]),
    OrderedMap([({"a": 1}, 2)]), Point(1, 2), LineString([(1, 2), (3, 4)]),
    Polygon([(0, 0), (1, 0), (1, 1)]), Distance(0, 0, 1), DateRange(value=DateRangeBound(5, "DAY")),
]  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values(value: Any, protocol: int) -> None:
    """An unpickled value must be equal and of the same class."""
    unpickled = pickle.loads(pickle.dumps(value, protocol))
    assert (type(unpickled), unpickled) == (type(value), value)


def test_statements_and_events() -> None:
    """Unpickled statements, batches and trace events must have the same content."""
    statement = SimpleStatement("SELECT 1", keyspace="ks", fetch_size=7)
    unpickled = pickle.loads(pickle.dumps(statement))
    assert unpickled.query_string == "SELECT 1"
    assert unpickled.keyspace == "ks"
    assert unpickled.fetch_size == 7
    batch = BatchStatement()
    batch.add("INSERT INTO t (k) VALUES (%s)", (1,))
    assert len(pickle.loads(pickle.dumps(batch))) == 1
    event = TraceEvent("Parsing", uuid_from_time(5), "10.0.0.1", 1, "thread-1")
    assert vars(pickle.loads(pickle.dumps(event))) == vars(event)


TYPES = [
    "int", "list<text>", "map<text, frozen<list<int>>>", "tuple<int, text>", "vector<float, 3>",
    "frozen<set<uuid>>",
]  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_types(name: str) -> None:
    """The metadata of a column of each type must be picklable and copyable."""
    with FakeNode() as node:
        node.prime_prepare("Q", [("k", name)])
        with Cluster([node.address], port=node.port) as cluster:
            (column,) = cluster.connect().prepare("Q").column_metadata
    assert pickle.loads(pickle.dumps(column)) == column
    assert copy.deepcopy(column) == column


class ZipCode:
    """A class for the values of a user type."""


@pytest.mark.parametrize("mapped", [None, ZipCode])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_user_types(mapped: Any, protocol: int) -> None:
    """An unpickled user-defined type must be the same class."""
    inner = UserType.make_udt_class("ks", "i n", ("a b",), (Int32Type,))
    outer = UserType.make_udt_class("ks", "out", ("x", "y"), (inner, Int32Type), mapped)
    assert pickle.loads(pickle.dumps(outer, protocol)) is outer


class ApplicationType(Int32Type):
    """A subclass of a type, like an application may define it."""


def test_type_classes_are_pickled_by_name() -> None:
    """An unpickled type must be the same class, even for unknown types and subclasses."""
    for type_class in (
        ApplicationType,
        Int32Type,
        UnrecognizedType,
        lookup_casstype("org.acme.Odd"),
    ):
        assert pickle.loads(pickle.dumps(type_class)) is type_class


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_prepared_and_bound(protocol: int) -> None:
    """An unpickled prepared statement must be prepared again if the server does not know it."""
    columns = [("k", "int"), ("v", "list<text>")]
    received_values: list[Any] = []

    def record_and_answer(request: Request) -> Any:
        received_values.append(request.values)
        return rows(columns, [(1, ["a"])])

    with FakeNode() as node:
        node.prime_prepare("Q", columns, columns, pk_indexes=[0])
        node.prime("Q", record_and_answer)
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            prepared = session.prepare("Q")
            prepared.fetch_size, prepared.is_idempotent = 7, True
            prepared.strict_names = True
            vars(prepared)["note"] = "of the program"
            bound = prepared.bind((1, ["a"]))
            pickled = pickle.dumps([prepared, bound, bound], protocol)
        # Load them with another cluster object, once while the server knows the statement, and once
        # when it has forgotten it.
        for is_known in (True, False):
            if not is_known:
                node.forget_prepared()
            with Cluster([node.address], port=node.port) as cluster:
                session = cluster.connect()
                unpickled, bound_again, bound_once_more = pickle.loads(pickled)
                assert bound_again is bound_once_more
                assert bound_again.prepared_statement is unpickled
                assert list(bound_again.values) == list(bound.values)
                assert bound_again.routing_key == b"\0\0\0\1"
                assert bound.routing_key == b"\0\0\0\1"
                assert session.execute(bound_again).one() == (1, ["a"])
                assert session.execute(unpickled, {"k": 1, "v": ["a"]}).one().v == ["a"]
                assert (unpickled.fetch_size, unpickled.is_idempotent) == (7, True)
                assert vars(unpickled)["note"] == "of the program"
                with pytest.raises(ValueError, match="'x'"):
                    unpickled.bind({"k": 1, "x": 2})
                # A batch with the statement must be picklable, too.
                batch = BatchStatement()
                batch.add(bound)
                assert len(pickle.loads(pickle.dumps(batch, protocol))) == 1
    # Each of two clusters has executed it twice.
    assert len(received_values) == 4
    assert len({tuple(values) for values in received_values}) == 1


class ModelOfErrors(Model):
    k = columns.Integer(primary_key=True)


class ByValue(pickle.Pickler):
    """Refuses classes that no module has. cloudpickle pickles them with all their attributes."""

    def reducer_override(self, value: Any) -> Any:
        """Raise an error for a class that cannot be imported."""
        if isinstance(value, type):
            module = importlib.import_module(value.__module__)
            assert getattr(module, value.__qualname__, None) is value, value
        return NotImplemented


@pytest.mark.parametrize(
    "cql_type",
    ["int", "list<int>", "map<text, frozen<set<int>>>", "tuple<int, text>", "vector<float, 3>"],
)
def test_statements_do_not_pickle_classes_of_types(cql_type: str) -> None:
    """A prepared statement can be pickled by cloudpickle, whatever the types of its columns."""
    with FakeNode() as node:
        columns = [("v", cql_type)]
        node.prime_prepare("Q", columns, columns)
        node.prime("Q", rows(columns, []))
        with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
            prepared = session.prepare("Q")
            file = io.BytesIO()
            ByValue(file).dump([prepared, prepared.bind([None]), prepared.column_metadata])
            unpickled, bound, columns = pickle.loads(file.getvalue())
            assert columns == prepared.column_metadata
            expected_type = prepared.column_metadata[0].type
            assert (
                columns[0].type.cass_parameterized_type() == expected_type.cass_parameterized_type()
            )
            assert list(session.execute(unpickled, [None])) == []
            assert list(session.execute(bound)) == []


def test_errors_of_the_mapper() -> None:
    """Unpickled errors of a model must be of the same class."""
    for error_class in (ModelOfErrors.DoesNotExist, ModelOfErrors.MultipleObjectsReturned):
        unpickled = pickle.loads(pickle.dumps(error_class("of this model")))
        assert type(unpickled) is error_class


@pytest.mark.parametrize("copy_deeply", [pickle.dumps, copy.deepcopy])
def test_clusters_and_sessions_refuse_pickling_with_a_reason(copy_deeply: Any) -> None:
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        with pytest.raises(TypeError, match="a Session cannot be pickled or copied deeply: its"):
            copy_deeply(session)
        with pytest.raises(TypeError, match="a Cluster cannot be pickled or copied deeply: its"):
            copy_deeply(cluster)
        # Shallow copies of sessions and clusters must be allowed.
        assert copy.copy(session).cluster is cluster
        assert copy.copy(cluster).port == node.port


class Recipe(Cluster):
    """A cluster class of an application that supports pickling.

    Its state has the arguments of the constructor.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {"port": self.port}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def test_a_cluster_class_with_getstate_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Recipe(port=5))).port == 5


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pickles_do_not_depend_on_the_implementation(
    implementation: Implementation, protocol: int
) -> None:
    """No pickle contains the name of a module that only one implementation uses.

    Objects that were pickled with one implementation are unpickled as objects of the other.
    """
    values = implementation.bind.ValuesBlock(1, b"\0\0\0\1x", True)
    block = implementation.bind.RowsBlock(1, [values.data], has_unset=True)
    encoded_rows = implementation.rows.EncodedRows(b"ab", 1, 2)
    clock = implementation.clock.MicrosecondClock(7, print)
    data = pickle.dumps((values, block, encoded_rows, clock), protocol)
    for module in ("cassandra._accel", *_impl.TWINS.values()):
        assert f"{module}\n".encode() not in data
        assert f"{module}.".encode() not in data
    new_values, new_block, new_rows, new_clock = pickle.loads(data)
    assert new_values == _impl.bind.ValuesBlock(1, values.data)
    assert new_values.has_unset
    assert type(new_block) is _impl.bind.RowsBlock
    assert (new_block.width, new_block.has_unset) == (1, True)
    assert [row.data for row in new_block.rows()] == [values.data]
    assert type(new_rows) is _impl.rows.EncodedRows
    assert (new_rows.body, new_rows.offset, new_rows.count) == (b"ab", 1, 2)
    assert type(new_clock) is _impl.clock.MicrosecondClock
    assert (new_clock.tolerance, new_clock.on_drift) == (7, print)
