"""Frequent mistakes raise errors or cause warnings that say what to write instead."""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import inspect
import pickle
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest

import cassandra
from cassandra import ConsistencyLevel, aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, ExecutionProfile, ResultSet, Session
from cassandra.policies import DCAwareRoundRobinPolicy, RetryPolicy
from cassandra.protocol.rowclass import row_class
from cassandra.query import BatchStatement, BatchType, SimpleStatement
from cassandra.testing.fake import FakeNode, paged, rows

READ = "SELECT k, v FROM t"
CONDITIONAL = "INSERT INTO t (k) VALUES (1) IF NOT EXISTS"
NOT_APPLIED = rows([("[applied]", "boolean"), ("k", "int")], [(False, 1)])


@pytest.fixture(scope="module")
def node() -> Iterator[FakeNode]:
    """Yield a fake node with several results.

    There are a result of two rows, an empty result, a result in pages, and a conditional result.
    """
    with FakeNode() as node:
        node.prime(READ, rows([("k", "int"), ("v", "text")], [(1, "a"), (2, "b")]))
        node.prime("SELECT k FROM empty", rows([("k", "int")], []))
        node.prime("SELECT k FROM pages", paged([("k", "int")], [(1,), (2,), (3,)]))
        node.prime(CONDITIONAL, NOT_APPLIED)
        yield node


@pytest.fixture(scope="module")
def session(node: FakeNode) -> Iterator[Session]:
    with Cluster([node.address], port=node.port) as cluster:
        yield cluster.connect()


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [READ, SimpleStatement("SELECT k FROM pages", fetch_size=2)])
def test_reading_a_result_twice_warns(session: Session, query: str | SimpleStatement) -> None:
    """Reading the rows of a result a second time returns nothing and causes a warning."""
    result = session.execute(query)
    assert list(result)
    with pytest.warns(RuntimeWarning, match=r"write rows = result\.all\(\) once") as record:
        assert list(result) == []
    assert record[0].filename == __file__


def test_threads_that_share_a_result_do_not_warn(session: Session) -> None:
    """If a thread reads a result whose rows another thread has read, there is no warning.

    Several threads may read the rows of one result together.
    """
    result = session.execute(READ)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        assert len(threads.submit(list, result).result()) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(result) == []


def test_a_thread_with_the_identity_of_an_ended_thread_is_another_thread(session: Session) -> None:
    """A thread with the number of an ended thread counts as another thread, so there is no warning.

    Python may give a thread the number of a thread that has ended.
    """
    result = session.execute(READ)
    identities: list[int] = []
    rows_read: list[Any] = []
    caught: list[Any] = []

    def read() -> None:
        identities.append(threading.get_ident())
        with warnings.catch_warnings(record=True) as warnings_of_thread:
            warnings.simplefilter("always")
            rows_read.extend(result)
        caught.extend(warnings_of_thread)

    # Read the result in new threads until two threads have had the same number.
    for _ in range(100):
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
        if len(set(identities)) < len(identities):
            break
    else:
        pytest.skip("no thread got the identity of another one")
    assert len(rows_read) == 2
    assert caught == []


def test_results_that_are_read_once_do_not_warn(session: Session) -> None:
    """Reading the rows of a result once causes no warning.

    Reading an empty result twice, calling `all` after `next`, and reading an indexed result again
    cause no warning either. An indexed result keeps its rows.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = session.execute("SELECT k FROM empty")
        assert list(empty) == []
        assert list(empty) == []
        result = session.execute(READ)
        next(result)
        assert len(result.all()) == 2
        indexed = session.execute(READ)
        assert indexed[0] == indexed[0]
        assert indexed.all() == indexed.all()
        assert result.one() is None


def test_the_truth_of_a_lightweight_transaction_warns(session: Session, node: FakeNode) -> None:
    """Testing the result of a conditional statement for truth causes a warning.

    Such a result always has a row, so it is true even if the statement was not applied.
    """
    result = session.execute(CONDITIONAL)
    with pytest.warns(RuntimeWarning, match=r"write result\.was_applied"):
        assert result
    assert not result.was_applied

    async def check_asyncio() -> None:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            result = await (await cluster.connect()).execute(CONDITIONAL)
            with pytest.warns(RuntimeWarning, match=r"write result\.was_applied"):
                assert result

    asyncio.run(check_asyncio())


def test_cqlsh_may_test_whether_there_are_rows(session: Session) -> None:
    """In code of cqlsh, testing a conditional result for truth causes no warning."""
    module = {"__name__": "cqlshlib.cqlshmain", "result": session.execute(CONDITIONAL)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert eval("bool(result)", module)


def test_other_results_have_a_truth_value(session: Session) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert session.execute(READ)
        assert not session.execute("SELECT k FROM empty")
        assert not session.execute("INSERT INTO t (k) VALUES (1)")


def test_a_misspelt_column_of_a_row(session: Session) -> None:
    """A misspelt column of a row raises an error that names the columns of the row.

    Only the compiled version names them, because in Python, this would slow down each access.
    """
    row = session.execute(READ).one()
    columns = "; its columns are k, v" if cassandra.implementation == "c" else ""
    with pytest.raises(AttributeError, match=f"'Row' object has no attribute 'vv'{columns}$") as vv:
        row.vv  # noqa: B018
    # Python uses these attributes to suggest "v".
    assert (vv.value.name, vv.value.obj) == ("vv", row)
    with pytest.raises(AttributeError, match=r"no attribute '_v'$"):
        row._v  # noqa: B018
    with pytest.raises(AttributeError, match=r"write result\.was_applied"):
        row.was_applied  # noqa: B018
    # CREATE TABLE changes names without quotes to lower case, so the error suggests `k`.
    columns += "; write row.k" if columns else ""
    with pytest.raises(AttributeError, match=f"'Row' object has no attribute 'K'{columns}$"):
        row.K  # noqa: B018
    assert not hasattr(row, "__array__")
    assert pickle.loads(pickle.dumps(row)) == (1, "a")
    assert copy.deepcopy(row) == (1, "a")
    assert row_class(["was_applied"])._make([3]).was_applied == 3


def test_pickling_a_result(session: Session) -> None:
    """Pickling a result raises an error that says to pickle its rows; a shallow copy is allowed."""
    result = session.execute(READ)
    for copy_deeply in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match=r"ResultSet cannot be pickled.*result\.all\(\)"):
            copy_deeply(result)
    assert copy.copy(result).all() == result.all()
    # A result that an application's test has created has no connection, so it can be pickled.
    copied: ResultSet[Any] = pickle.loads(pickle.dumps(ResultSet(None, [(1,)])))
    assert copied.all() == [(1,)]


# -- futures, asyncio and mocks --------------------------------------------------------------------


def test_a_response_future_in_place_of_one_of_the_standard_library(session: Session) -> None:
    """A response future is not a `concurrent.futures.Future`, and cannot be awaited.

    Errors for missing attributes give advice. We do not define an `__await__` that raises, because
    frameworks await every object that has one.
    """
    future: Any = session.execute_async(READ)
    assert not inspect.isawaitable(future)
    with pytest.raises(AttributeError, match=r"write \[future\.result\(\) for future in futures"):
        concurrent.futures.wait([future], 5)
    with pytest.raises(AttributeError, match=r"write future\.result\(\)\.was_applied"):
        future.was_applied  # noqa: B018


@pytest.mark.parametrize(
    "session", [mock.create_autospec(aio.Session, instance=True), mock.MagicMock(spec=aio.Session)]
)
def test_mocks_of_asyncio_sessions_can_be_awaited(session: Any) -> None:
    """A mock of an asyncio session can be awaited.

    `mock` makes an AsyncMock only for methods that are coroutine functions, so `execute` must look
    like one.
    """
    session.execute.return_value = [1]

    async def execute() -> Any:
        return await session.execute(READ)

    assert asyncio.run(execute()) == [1]


def test_a_cluster_of_another_loop_cannot_be_shut_down(node: FakeNode) -> None:
    """`Cluster.shutdown` must be awaited on the loop on which the cluster was connected.

    If this loop is closed, the error says so.
    """

    async def connect() -> aio.Cluster:
        cluster = aio.Cluster([node.address], port=node.port)
        await cluster.connect()
        return cluster

    async def shut_down(cluster: aio.Cluster) -> None:
        await cluster.shutdown()

    loop = asyncio.new_event_loop()
    try:
        cluster = loop.run_until_complete(connect())
        with pytest.raises(RuntimeError, match="this cluster belongs to another event loop"):
            asyncio.run(shut_down(cluster))
        # The right loop can still shut the cluster down.
        loop.run_until_complete(shut_down(cluster))
        cluster = loop.run_until_complete(connect())
        core = cluster._core
        assert core is not None
        loop.run_until_complete(core.close())
    finally:
        loop.close()
    with pytest.raises(RuntimeError, match=r"that this cluster was made on is closed"):
        asyncio.run(shut_down(cluster))


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: PlainTextAuthProvider(user="a", password="b"), "write username="),  # type: ignore[call-arg]
        (lambda: DCAwareRoundRobinPolicy(dc="dc1"), "write local_dc="),  # type: ignore[call-arg]
        (lambda: RetryPolicy(max_retries=3), "ExponentialBackoffRetryPolicy"),  # type: ignore[call-arg]
        (lambda: BatchStatement(logged=False), r"BatchStatement\(BatchType\.UNLOGGED\)"),  # type: ignore[arg-type]
        (lambda: BatchStatement().add(READ, 1, 2), r"batch\.add\(statement, \(first, second\)\)"),  # type: ignore[arg-type]
        (lambda: Cluster(["127.0.0.1"]).connect("ks", timeout=3), "connect_timeout=seconds"),  # type: ignore[arg-type]
        (lambda: Cluster(["127.0.0.1"]).connect(port=1), r"settings of Cluster\(...\)"),  # type: ignore[arg-type]
        (lambda: Cluster.connect("10.0.0.1"), r"Cluster\(\['10\.0\.0\.1'\]\)\.connect"),  # type: ignore[arg-type]
        (lambda: Cluster(sslmode="require"), "ssl_context="),  # type: ignore[call-arg]
        (lambda: Cluster(autocommit=True), "no transactions"),  # type: ignore[call-arg]
        (lambda: ConsistencyLevel("quorum"), r"name_to_value\['QUORUM'\]"),  # type: ignore[call-arg]
        (lambda: ConsistencyLevel["ONE"], r"name_to_value\['ONE'\]"),  # type: ignore[misc]
        (lambda: ConsistencyLevel(4), r"value_to_name\[4\]"),  # type: ignore[call-arg]
    ],
)
def test_options_of_other_libraries_raise_with_advice(call: Any, advice: str) -> None:
    with pytest.raises(TypeError, match=advice):
        call()


def test_asyncio_clusters_check_the_options_of_connect() -> None:
    async def connect(**options: Any) -> None:
        await aio.Cluster(["127.0.0.1"]).connect(**options)

    with pytest.raises(TypeError, match="connect_timeout=seconds"):
        asyncio.run(connect(timeout=3))


def test_a_batch_is_not_a_context_manager() -> None:
    batch: Any = BatchStatement(BatchType.UNLOGGED)
    with pytest.raises(TypeError, match=r"session\.execute\(batch\)"), batch:
        pass


def test_retry_policies_of_applications_may_take_arguments() -> None:
    """`RetryPolicy` refuses arguments with advice, but its subclasses may take arguments.

    A subclass may have its own constructor, another base class or a `__new__` that takes arguments.
    """

    class WithLimit(RetryPolicy):
        def __init__(self, limit: int) -> None:
            super().__init__()
            self.limit = limit

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

    class NamedPolicy(RetryPolicy, Named):
        pass

    class Single:
        def __new__(cls, name: str) -> Any:
            return object.__new__(cls)

    class SinglePolicy(RetryPolicy, Single):
        pass

    # All three subclasses take their arguments, and the base class can be pickled.
    assert WithLimit(3).limit == 3
    assert NamedPolicy("a").name == "a"
    assert isinstance(SinglePolicy("a"), RetryPolicy)
    assert isinstance(pickle.loads(pickle.dumps(RetryPolicy())), RetryPolicy)


def test_row_factories_take_names_and_rows(session: Session) -> None:
    """A row factory that cannot take two arguments raises TypeError with advice."""

    def one_argument(rows: Any) -> Any:
        return rows

    def three_arguments(names: Any, rows: Any, more: Any) -> Any:
        return rows

    factory: Any
    for factory in (one_argument, three_arguments, lambda: 1):
        with pytest.raises(TypeError, match=r"write def factory\(colnames, rows\)"):
            ExecutionProfile(row_factory=factory)
    for factory in (lambda *arguments: 1, lambda names, rows, more=1: 1, lambda names, *rows: 1):
        assert ExecutionProfile(row_factory=factory).row_factory is factory


@dataclass
class Address:
    street: str


@pytest.mark.parametrize("arguments", [(dict, "shop", "address"), ("shop", dict, "address")])
async def test_registering_a_class_in_place_of_a_name_is_an_error(
    node: FakeNode, session: Session, arguments: Any
) -> None:
    """If a class is passed in place of a name, `register_user_type` raises TypeError.

    Otherwise, the class would be written into the query that reads the type.
    """
    message = r"one is <class 'dict'> .*: write cluster\.register_user_type\('keyspace', 'type', S"
    with pytest.raises(TypeError, match=message):
        session.cluster.register_user_type(*arguments)
    async with aio.Cluster([node.address], port=node.port) as cluster:
        with pytest.raises(TypeError, match=message):
            await cluster.register_user_type(*arguments)


def test_registering_an_instance_in_place_of_a_class_is_an_error() -> None:
    cluster = Cluster(["127.0.0.1"])
    instance: Any = Address("a")
    with pytest.raises(TypeError, match=r"must be a class, but is Address\(street='a'\)"):
        cluster.register_user_type("shop", "address", instance)
    cluster.register_user_type("shop", "address", Address)
