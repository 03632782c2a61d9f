"""Tracers and mocks can wrap or replace methods of futures, sessions and clusters.

Tracers do this with cassandra-driver, so it must also work with turbocql.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from unittest import mock

import pytest

from cassandra import (
    cluster as cluster_module,
    connection as connection_module,
    pool as pool_module,
)
from cassandra.cluster import Cluster, ResponseFuture, ResultSet, Session
from cassandra.concurrent import execute_concurrent
from cassandra.cqltypes import DateType, Int32Type, ListType, TimeUUIDType
from cassandra.errors import InvalidRequest, NoHostAvailable
from cassandra.protocol import ProtocolHandler, ResultMessage
from cassandra.query import BatchStatement, SimpleStatement, dict_factory, named_tuple_factory
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error, paged, rows
from tests.unit.handlers import handler_of
from tests.unit.metadata.schema.rows import schema
from tests.waiting import until

FOUR_ROWS = [(1,), (2,), (3,), (4,)]


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node with a paged result, and with a query that fails."""
    with FakeNode() as node:
        node.prime("SELECT v", paged([("v", "int")], FOUR_ROWS))
        node.prime("SELECT bad", error(ErrorCode.INVALID))
        yield node


# The recorded calls of wrappers: the name of the method, and its argument.
Completions = list[tuple[str, Any]]


def wrap(future: ResponseFuture, completions: Completions) -> None:
    """Replace each completion method of the future with a recording wrapper, as tracers do.

    The wrapper records its argument and calls the original method.
    """

    def wrapper_of(name: str, wrapped: Callable[[Any], None]) -> Callable[[Any], None]:
        def wrapper(outcome: Any) -> None:
            completions.append((name, outcome))
            wrapped(outcome)

        return wrapper

    for name in ("_set_final_result", "_set_final_exception"):
        setattr(future, name, wrapper_of(name, getattr(future, name)))


# -- futures ---------------------------------------------------------------------------------------


def test_a_tracer_s_attributes_stay_on_the_future(session: Session) -> None:
    future: Any = session.execute_async("SELECT v")
    future._span = future.span = span = object()
    future.result()
    assert future._span is span
    assert future.span is span
    assert future._current_host is future.coordinator_host is not None


def test_wrapped_completion_is_called_for_each_page(session: Session) -> None:
    """A wrapped `_set_final_result` is called once for each page, with the rows of the page."""
    completions: Completions = []
    session.add_request_init_listener(wrap, completions)
    future = session.execute_async(SimpleStatement("SELECT v", fetch_size=2))
    assert [tuple(row) for row in future.result()] == FOUR_ROWS
    assert [name for name, _ in completions] == ["_set_final_result"] * 2
    assert [tuple(row) for _, page in completions for row in page] == FOUR_ROWS
    assert future.result().column_names == ["v"]


def test_a_finished_future_may_be_wrapped_for_its_next_page(session: Session) -> None:
    completions: Completions = []
    future = session.execute_async(SimpleStatement("SELECT v", fetch_size=2))
    future.result()
    wrap(future, completions)
    pages: list[Any] = []
    future.add_callback(pages.append)
    assert future.has_more_pages
    future.start_fetching_next_page()
    assert future.result().all() == [(3,), (4,)]
    ((method_name, page),) = completions
    assert method_name == "_set_final_result"
    assert [tuple(row) for row in page] == [(3,), (4,)]
    # The event loop's thread runs the callback, perhaps later, so wait for it.
    until(lambda: len(pages) == 2)
    assert pages == [[(1,), (2,)], [(3,), (4,)]]


def test_a_wrapper_sees_a_complete_result(session: Session) -> None:
    """When a wrapped `_set_final_result` is called, the future already has the page and host."""
    results: list[Any] = []

    def wrap_completion(future: Any) -> None:
        complete = future._set_final_result

        def wrapper(page: Any) -> None:
            result: ResultSet[Any] = ResultSet(future, page)
            results.append((result.current_rows, result.has_more_pages, future.coordinator_host))
            complete(page)

        future._set_final_result = wrapper

    session.add_request_init_listener(wrap_completion)
    result = session.execute(SimpleStatement("SELECT v", fetch_size=2))
    ((page, has_more_pages, host),) = results
    assert page == [(1,), (2,)]
    assert has_more_pages
    assert host is result.response_future.coordinator_host


def test_a_wrapper_may_change_the_rows(session: Session) -> None:
    """If a wrapper passes on other rows, the result has these rows."""

    def wrap_completion(future: Any) -> None:
        complete = future._set_final_result
        future._set_final_result = lambda page: complete([*page, "one more"])

    session.add_request_init_listener(wrap_completion)
    result = session.execute(SimpleStatement("SELECT v", fetch_size=None))
    assert result.all()[-1] == "one more"
    assert result.column_names == ["v"]


def test_wrapped_errors(session: Session) -> None:
    """If a tracer has wrapped a future's `_set_final_exception`, the wrapper gets the error."""
    completions: Completions = []
    session.add_request_init_listener(wrap, completions)
    with pytest.raises(InvalidRequest) as raised:
        session.execute("SELECT bad")
    assert completions == [("_set_final_exception", raised.value)]


def test_a_wrapper_that_fails_or_does_not_call_the_original_blocks_nobody(session: Session) -> None:
    """`result` returns even if a tracer's wrapper raises, or never calls the original method."""

    def fail(page: Any) -> None:
        raise KeyboardInterrupt

    for wrapper in (fail, lambda page: None):
        future: Any = session.execute_async("SELECT v")
        future.result()
        future._set_final_result = wrapper
        if future.has_more_pages:
            future.start_fetching_next_page()
        assert future.result() is not None

    def wrap_completion(future: Any) -> None:
        future._set_final_result = fail

    session.add_request_init_listener(wrap_completion)
    assert session.execute("SELECT v").one() == (1,)


def test_a_wrapper_can_be_removed(session: Session) -> None:
    """After a wrapper was deleted from a future, it is not called any more."""
    completions: Completions = []
    future: Any = session.execute_async(SimpleStatement("SELECT v", fetch_size=2))
    future.result()
    wrap(future, completions)
    del future._set_final_result, future._set_final_exception
    future.start_fetching_next_page()
    assert future.result().all() == [(3,), (4,)]
    assert completions == []


# -- methods of sessions ---------------------------------------------------------------------------


class Proxy:
    """Wraps a method like the proxies of the package wrapt, which tracers use.

    All attributes of the proxy, such as `__func__`, are attributes of the method.
    """

    def __init__(self, wrapped: Any, calls: list[str]) -> None:
        vars(self).update(wrapped=wrapped, calls=calls)

    def __get__(self, instance: object, owner: type) -> Any:
        # A method that is stored in a class may already be bound.
        bind = getattr(type(self.wrapped), "__get__", None)
        if bind is None:
            return self
        return Proxy(bind(self.wrapped, instance, owner), self.calls)

    def __getattribute__(self, name: str) -> Any:
        if name in ("wrapped", "calls", "__dict__"):
            return object.__getattribute__(self, name)
        return getattr(self.wrapped, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls.append(self.wrapped.__name__)
        return self.wrapped(*args, **kwargs)


@pytest.mark.parametrize("target", [Session, None], ids=["class", "session"])
def test_proxies_of_execute_async_are_called_by_all_that_execute(
    session: Session, monkeypatch: pytest.MonkeyPatch, target: Any
) -> None:
    """A proxy around `execute_async` is called by `execute` and `execute_concurrent`, too."""
    target = target or session
    calls: list[str] = []
    monkeypatch.setattr(target, "execute_async", Proxy(target.execute_async, calls))
    assert session.execute("SELECT v").all() == FOUR_ROWS
    session.execute_async("SELECT v").result()
    list(execute_concurrent(session, [("SELECT v", None)]))
    assert calls == ["execute_async"] * 3


def test_a_proxy_of_result_is_called_by_execute(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(ResponseFuture, "result", Proxy(ResponseFuture.result, calls))
    assert session.execute("SELECT v").all() == FOUR_ROWS
    assert calls == ["result"]


def test_a_proxy_of_the_factory_of_connections_is_called(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy around `Connection.factory` is called for the connections that a cluster opens."""
    calls: list[str] = []
    kind = connection_module.Connection
    monkeypatch.setattr(kind, "factory", Proxy(inspect.getattr_static(kind, "factory"), calls))
    with Cluster([node.address], port=node.port) as cluster:
        assert cluster.connect().execute("SELECT v").all() == FOUR_ROWS
    assert set(calls) == {"factory"}


def test_proxies_of_the_methods_of_types_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxies around `serialize` and `deserialize` of a type are called, also inside a list."""
    calls: list[str] = []
    # The first call replaces the methods by faster methods, for which a proxy must also work.
    Int32Type.serialize(7, 4)
    for name in ("serialize", "deserialize"):
        wrapped = inspect.getattr_static(Int32Type, name)
        monkeypatch.setattr(Int32Type, name, Proxy(wrapped, calls))
    numbers = ListType.apply_parameters([Int32Type])
    with FakeNode() as node:
        node.prime_prepare("SELECT v FROM t WHERE k = ?", [("k", "int")], [("v", "int")])
        node.prime("SELECT v FROM t WHERE k = ?", rows([("v", "int")], [(5,)]))
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            prepared = session.prepare("SELECT v FROM t WHERE k = ?")
            calls.clear()
            assert session.execute(prepared, (1,)).all() == [(5,)]
    assert calls == ["serialize", "deserialize"]
    assert numbers.deserialize(numbers.serialize([1], 4), 4) == [1]
    assert calls == ["serialize", "deserialize"] * 2


@pytest.mark.parametrize("kind", [ProtocolHandler, ProtocolHandler.__base__])
@pytest.mark.parametrize("makes_proxies", [True, False], ids=["proxies", "functions"])
def test_replaced_methods_of_the_default_handler_are_called(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, kind: Any, makes_proxies: bool
) -> None:
    """If a tracer replaces methods of the handler, later sessions call the new methods."""
    calls: list[str] = []

    def counting(name: str) -> Any:
        original = getattr(kind, name)

        def count_and_call(*args: Any, **kwargs: Any) -> Any:
            calls.append(name)
            return original(*args, **kwargs)

        return staticmethod(count_and_call)

    for name in ("encode_message", "decode_message"):
        method = inspect.getattr_static(kind, name, None) or getattr(kind, name)
        monkeypatch.setattr(kind, name, Proxy(method, calls) if makes_proxies else counting(name))
    with Cluster([node.address], port=node.port) as cluster:
        assert cluster.connect().execute("SELECT v").all() == FOUR_ROWS
        assert calls == ["encode_message", "decode_message"]
        monkeypatch.undo()
        assert cluster.connect().execute("SELECT v").all() == FOUR_ROWS
    assert calls == ["encode_message", "decode_message"]


def test_proxies_of_the_readers_of_an_own_message_class_are_called(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tracer may wrap methods of a message class after the session has used the class."""

    class Own(ResultMessage):
        pass

    session.client_protocol_handler = handler_of(Own)
    assert session.execute("SELECT v").all() == FOUR_ROWS
    calls: list[str] = []
    for name in ("recv_body", "recv_results_rows", "read_type"):
        monkeypatch.setattr(Own, name, Proxy(inspect.getattr_static(Own, name), calls))
    assert session.execute("SELECT v").all() == FOUR_ROWS
    assert calls == ["recv_body", "recv_results_rows", "read_type"]


def test_readers_of_a_mixin_are_called(session: Session) -> None:
    """If a result class gets `recv_results_rows` from a mixin class, this method reads the rows."""
    calls: list[str] = []

    class Mixin:
        def recv_results_rows(self, *args: Any) -> None:
            calls.append("recv_results_rows")
            super().recv_results_rows(*args)  # type: ignore[misc]

    class Own(Mixin, ResultMessage):
        pass

    session.client_protocol_handler = handler_of(Own)
    assert session.execute("SELECT v").all() == FOUR_ROWS
    assert calls == ["recv_results_rows"]


# -- results that applications create --------------------------------------------------------------


def test_a_result_on_a_mock_has_its_rows() -> None:
    """An application's tests may create a `ResultSet` with a mock instead of a future."""
    future = mock.Mock(has_more_pages=False)
    result: ResultSet[Any] = ResultSet(future, [1, 2, 3])
    assert list(result) == [1, 2, 3]
    assert ResultSet(future, [1, 2]).one() == 1
    assert ResultSet(future, [1, 2])[1] == 2
    assert ResultSet(future, [1, 2]) == [1, 2]
    assert not ResultSet(future, None)
    for row_factory, row in ((dict_factory, {"[applied]": True}), (named_tuple_factory, (True,))):
        future = mock.Mock(has_more_pages=False, row_factory=row_factory)
        assert ResultSet(future, [row]).was_applied


def test_a_result_on_a_mock_fetches_pages_by_its_methods() -> None:
    """A `ResultSet` with a mock gets the next page by calling the mock's methods."""
    future = mock.MagicMock(has_more_pages=True)

    def last_page() -> ResultSet[Any]:
        future.has_more_pages = False
        return ResultSet(future, [3, 4])

    future.result.side_effect = last_page
    assert list(ResultSet(future, [1, 2])) == [1, 2, 3, 4]
    future.start_fetching_next_page.assert_called_once_with()


# -- batches ---------------------------------------------------------------------------------------


def test_a_tracer_can_read_a_batch_s_statements(session: Session) -> None:
    prepared = session.prepare("INSERT INTO ks.t (k) VALUES (?)")
    batch = BatchStatement()
    batch.add("INSERT INTO t (k) VALUES (%s)", (7,))
    batch.add(prepared, (9,))
    batch.add("INSERT INTO t (k) VALUES (?)", (8,))
    # Each entry has: whether it is prepared, its query or id, and its values.
    formatted, bound, with_marker = batch._statements_and_parameters
    assert formatted == (False, "INSERT INTO t (k) VALUES (7)", ())
    assert bound == (True, prepared.query_id, [b"\0\0\0\t"])
    assert with_marker == (False, "INSERT INTO t (k) VALUES (?)", (8,))
    # The batch takes its routing key from its first statement. This is a query string, which has no
    # routing key.
    assert batch.routing_key is None


def test_an_application_can_replace_a_batch_s_statements(node: FakeNode, session: Session) -> None:
    """An application may assign `_statements_and_parameters` of a batch, and execute the batch.

    A batch with the same rows that were added in the usual way sends the same statements.
    """
    prepared = session.prepare("INSERT INTO ks.t (k) VALUES (?)")
    values_of_rows = [prepared.bind((number,)).values for number in range(3)]
    entries: list[Any] = [(True, prepared.query_id, values) for values in values_of_rows]
    entries.append((False, "INSERT INTO ks.t (k) VALUES (9)", ()))
    batch = BatchStatement()
    batch.add("DELETE FROM ks.t WHERE k = 1")
    batch._statements_and_parameters = entries
    assert batch._statements_and_parameters == entries
    assert len(batch) == 4
    assert batch.entries[0] == f"<a row of the prepared statement {prepared.query_id.hex()}>"
    # The batch can be executed again.
    for _ in range(2):
        session.execute(batch)
        request = node.requests[-1]
        assert request.opcode == Opcode.BATCH
    equal_batch = BatchStatement()
    for number in range(3):
        equal_batch.add(prepared, (number,))
    equal_batch.add("INSERT INTO ks.t (k) VALUES (9)")
    session.execute(equal_batch)
    assert node.requests[-1].statements == request.statements
    batch._statements_and_parameters = [(True, b"unknown", [None])]
    with pytest.raises(ValueError, match=b"unknown".hex()):
        session.execute(batch)


# -- connections -----------------------------------------------------------------------------------


def test_connections_are_opened_by_a_patched_factory(node: FakeNode) -> None:
    """If a test patches `Connection.factory` to raise an error, `connect` fails with this error."""
    with (
        mock.patch.object(
            connection_module.Connection, "factory", side_effect=OSError("no way there")
        ) as factory,
        Cluster([node.address], port=node.port) as cluster,
        pytest.raises(NoHostAvailable, match="no way there"),
    ):
        cluster.connect()
    assert factory.call_count == 1


def test_a_patched_factory_that_returns_no_connection_is_an_error(node: FakeNode) -> None:
    with (
        mock.patch("cassandra.connection.Connection.factory"),
        Cluster([node.address], port=node.port) as cluster,
        pytest.raises(NoHostAvailable, match="which is not a connection"),
    ):
        cluster.connect()


def test_an_application_s_connection_class_is_used(node: FakeNode) -> None:
    opened = []

    class ApplicationConnection(cluster_module.DefaultConnection):  # type: ignore[misc]
        @classmethod
        def factory(cls, endpoint: Any, timeout: float, *args: Any, **kwargs: Any) -> Any:
            opened.append((endpoint, timeout))
            return super().factory(endpoint, timeout, *args, **kwargs)

    with Cluster([node.address], port=node.port, connection_class=ApplicationConnection) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        assert [tuple(row) for row in session.execute("SELECT v")] == FOUR_ROWS
        # the control connection, and one pool with one connection
        assert len(opened) == 2
        assert {endpoint.address for endpoint, _ in opened} == {node.address}
    _, timeout = opened[0]
    assert timeout == cluster.connect_timeout


def test_connection_classes_without_a_factory_are_accepted(node: FakeNode) -> None:
    """A `connection_class` that defines no `factory` has no effect, and the cluster connects.

    Such a class cannot be used to open a connection directly.
    """

    class ApplicationConnection(cluster_module.DefaultConnection):  # type: ignore[misc]
        pass

    for connection_class in (ApplicationConnection, object, None):
        with Cluster([node.address], port=node.port, connection_class=connection_class) as cluster:
            assert cluster.connect().execute("SELECT v").one() == (1,)
    with pytest.raises(NotImplementedError, match="ApplicationConnection"):
        ApplicationConnection()
    with pytest.raises(connection_module.ConnectionException, match="outside of a Cluster"):
        connection_module.Connection.factory(None, 5)  # type: ignore[arg-type]


def test_pools_and_connections_have_the_state_that_tools_read(
    node: FakeNode, session: Session
) -> None:
    """Tools can read the state of pools and connections, but cannot send through them.

    Only the event loop may send, so sending raises an error.
    """
    (pool,) = session.get_pools()
    assert isinstance(pool, pool_module.HostConnection)
    assert not pool.is_shutdown
    assert pool.open_count == 1
    assert pool.in_flight == 0
    (pool_state,) = session.get_pool_state().values()
    assert pool.get_state() == pool_state
    (connection,) = pool.get_connections()
    assert isinstance(connection, connection_module.Connection)
    assert (connection.host, connection.port) == (node.address, node.port)
    assert not connection.is_closed
    assert not connection.is_defunct
    assert connection.last_error is None
    assert connection.protocol_version == 5
    for send in (pool.borrow_connection, connection.send_msg, connection.wait_for_response):
        with pytest.raises(NotImplementedError, match="event loop"):
            send()


# -- the control connection ------------------------------------------------------------------------


def test_the_control_connection_has_the_methods_that_tools_call(
    node: FakeNode, session: Session
) -> None:
    """The control connection has the methods that tools call.

    After the shutdown of the cluster, it has no connection.
    """
    cluster = session.cluster
    control = cluster.control_connection
    assert isinstance(control, cluster_module.ControlConnection)
    assert control is cluster.control_connection
    assert control.wait_for_schema_agreement() is True
    assert control.wait_for_schema_agreement(wait_time=1, connection=control.connection) is True
    assert control.refresh_schema() is True
    control.refresh_node_list_and_token_map()
    assert isinstance(control.connection, connection_module.Connection)
    assert control.get_connections() == [control.connection]
    assert cluster.get_connection_holders() == [*session.get_pools(), control]
    cluster.shutdown()
    assert control.is_shutdown
    assert control.get_connections() == []
    assert cluster.get_connection_holders() == []
    with pytest.raises(connection_module.ConnectionShutdown):
        control.wait_for_schema_agreement()


# -- mocks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "cassandra.cluster.Cluster",
        "cassandra.cluster.Session",
        "cassandra.cluster.ResponseFuture",
        "cassandra.cluster.ResultSet",
        "cassandra.cluster.ControlConnection",
        "cassandra.pool.HostConnection",
        "cassandra.pool.HostConnectionPool",
        "cassandra.pool.Host",
        "cassandra.connection.Connection",
    ],
)
def test_classes_can_be_mocked_and_patched(name: str) -> None:
    """Each class can be the `spec` of a mock, and can be replaced by `mock.patch`."""
    module, _, attribute = name.rpartition(".")
    cls = getattr(__import__(module, fromlist=[attribute]), attribute)
    assert isinstance(mock.MagicMock(spec=cls), cls)
    # `create_autospec` reads all attributes of the class, so none may raise.
    mock.create_autospec(cls)
    with mock.patch(name) as patched:
        assert getattr(__import__(module, fromlist=[attribute]), attribute) is patched
    with mock.patch(name, autospec=True):
        pass


def test_a_mocked_session_has_the_session_s_methods_only() -> None:
    session = mock.MagicMock(spec=Session)
    session.execute("SELECT 1")
    session.execute_concurrent_with_args("x", [])
    with pytest.raises(AttributeError):
        session.nothing_of_the_kind  # noqa: B018


# -- requests of the driver itself -----------------------------------------------------------------


def test_setting_a_keyspace_is_not_passed_to_request_listeners(node: FakeNode) -> None:
    """The driver's own USE requests call neither request listeners nor a patched `execute`."""
    futures_of_listener: list[ResponseFuture] = []
    with (
        Cluster([node.address], port=node.port) as cluster,
        mock.patch.object(Session, "execute_async", side_effect=AssertionError),
        mock.patch.object(Session, "execute", side_effect=AssertionError),
    ):
        session = cluster.connect("ks")
        session.add_request_init_listener(futures_of_listener.append)
        session.set_keyspace("other")
        assert session.keyspace == "other"
    assert futures_of_listener == []


def test_a_replaced_deserializer_changes_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """If an application replaces `DateType.deserialize`, other types are not affected.

    The driver can still read the schema.
    """

    def fail(cls: type, byts: bytes, version: int) -> None:
        raise AssertionError("the application's own")

    time_uuid = TimeUUIDType.deserialize(b"\1" * 16, 4)
    monkeypatch.setattr(DateType, "deserialize", classmethod(fail))
    with pytest.raises(AssertionError, match="own"):
        DateType.deserialize(b"\0" * 8, 4)
    assert TimeUUIDType.deserialize(b"\1" * 16, 4) == time_uuid
    with FakeNode() as node:
        node.schema = schema("ks", tables=1)
        node.schema["system_schema.dropped_columns"] = [
            {
                "keyspace_name": "ks",
                "table_name": "t0",
                "column_name": "gone",
                "dropped_time": datetime(2020, 1, 2),
                "kind": "regular",
                "type": "int",
            }
        ]
        with Cluster([node.address], port=node.port) as cluster:
            cluster.connect()
            # The driver reads the schema with its own functions, independent of the application's
            # row factory.
            (table,) = cluster.metadata.keyspaces["ks"].tables.values()
            assert "incomplete" not in table.export_as_string()
            assert table.dropped_columns["gone"].dropped_time == datetime(2020, 1, 2)
