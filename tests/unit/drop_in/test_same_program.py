"""Applications written for cassandra-driver send the same statements and catch the same errors.

Each test also passes with cassandra-driver.
"""

from __future__ import annotations

import copy
import pickle
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import (
    AlreadyExists,
    InvalidRequest,
    OperationTimedOut,
    Unavailable,
    UnsupportedOperation,
    aio,
)
from cassandra.cluster import (
    _NOT_SET,
    Cluster,
    NoHostAvailable,
    ResponseFuture,
    Session,
    UserTypeDoesNotExist,
)
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy
from cassandra.concurrent import execute_concurrent
from cassandra.connection import ConnectionException, ConnectionShutdown
from cassandra.cqltypes import Int32Type
from cassandra.policies import (
    ConstantReconnectionPolicy,
    HostStateListener,
    IdentityTranslator,
    RetryPolicy,
    RoundRobinPolicy,
    SimpleConvictionPolicy,
)
from cassandra.pool import Host
from cassandra.protocol import InvalidPagingState, ProtocolException
from cassandra.protocol.bind import BindPlan
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query import UNSET_VALUE, BatchStatement, BatchType, SimpleStatement
from cassandra.query.settings import NOT_SET
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    error,
    hold,
    rows as answer,
)
from cassandra.util import Date, Time
from tests.waiting import WAIT

INSERT = "INSERT INTO t (k, v) VALUES (?, ?)"
# Arguments that mean "no parameters".
EMPTY: list[Any] = [(), [], {}, None]


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that prepares INSERT."""
    with FakeNode() as node:
        node.prime_prepare(INSERT, [("k", "int"), ("v", "text")], pk_indexes=[0])
        yield node


class TestParameters:
    @pytest.mark.parametrize("parameters", [(2, "b"), [2, "b"], {"k": 2}, (), [], {}, None, 5])
    @pytest.mark.filterwarnings("ignore:the parameters are ignored")
    def test_a_bound_statement_keeps_its_values(
        self, node: FakeNode, session: Session, parameters: Any
    ) -> None:
        """Parameters that are passed together with a bound statement are ignored."""
        bound = session.prepare(INSERT).bind((1, "a"))
        session.execute(bound, parameters)
        execute_concurrent(session, [(bound, parameters)])
        values_sent = [
            list(request.values) for request in node.requests if request.opcode == Opcode.EXECUTE
        ]
        assert values_sent == [[b"\0\0\0\1", b"a"]] * 2

    @pytest.mark.parametrize("parameters", [(5,), {"k": 2}, (), None])
    @pytest.mark.filterwarnings("ignore:the parameters are ignored")
    def test_a_batch_keeps_its_statements(
        self, node: FakeNode, session: Session, parameters: Any
    ) -> None:
        batch = BatchStatement().add(session.prepare(INSERT), (1, "a"))
        session.execute(batch, parameters)
        (request,) = [request for request in node.requests if request.opcode == Opcode.BATCH]
        assert [list(statement.values) for statement in request.statements] == [[b"\0\0\0\1", b"a"]]

    @pytest.mark.parametrize("parameters", EMPTY)
    @pytest.mark.parametrize("query", ["SELECT 'a%%b 100%'", "SELECT '?' + ?"])
    def test_a_query_with_empty_parameters_is_sent_unchanged(
        self, node: FakeNode, session: Session, query: str, parameters: Any
    ) -> None:
        node.prime(query, answer([("k", "int")], [(1,)]))
        for statement in (query, SimpleStatement(query)):
            session.execute(statement, parameters)
            session.execute_async(statement, parameters).result()
        assert [request.query for request in node.queries(query)] == [query] * 4


class TestErrors:
    def test_connecting_to_a_missing_keyspace(self, node: FakeNode) -> None:
        """If the keyspace is missing, `connect` raises NoHostAvailable.

        The error is also an instance of the server's error class.
        """
        node.prime('USE "missing"', error(ErrorCode.INVALID, "no such keyspace"))
        with Cluster([node.address], port=node.port) as cluster:
            with pytest.raises(NoHostAvailable, match=r"missing.*no such keyspace") as caught:
                cluster.connect("missing")
            assert isinstance(caught.value, InvalidRequest)
            (host_error,) = caught.value.errors.values()
            assert isinstance(host_error, InvalidRequest)
            # With an empty keyspace name, the session has no keyspace.
            assert cluster.connect("").keyspace is None

    async def test_a_missing_keyspace_with_asyncio(self, node: FakeNode) -> None:
        """If the keyspace is missing, `connect` raises NoHostAvailable.

        The error is also an instance of the server's error class.
        """
        node.prime('USE "missing"', error(ErrorCode.INVALID, "no such keyspace"))
        async with aio.Cluster([node.address], port=node.port) as cluster:
            with pytest.raises(NoHostAvailable) as caught:
                await cluster.connect("missing")
            assert isinstance(caught.value, InvalidRequest)

    def test_without_another_host_the_error_is_also_the_server_s(
        self, node: FakeNode, session: Session
    ) -> None:
        """If no host is left to try, the error is NoHostAvailable and also the server's error.

        This also holds for a copied or unpickled error.
        """
        refusal = error(ErrorCode.UNAVAILABLE, "too few", consistency=3, required=3, alive=1)
        node.prime("SELECT 1", refusal)
        with pytest.raises(NoHostAvailable, match="against any hosts") as caught:
            session.execute("SELECT 1")
        assert isinstance(caught.value, Unavailable)
        no_host_error: Any = caught.value
        (host_error,) = no_host_error.errors.values()
        assert host_error.required_replicas == 3
        assert no_host_error.required_replicas == 3
        assert no_host_error.alive_replicas == 1
        for copied in (pickle.loads(pickle.dumps(no_host_error)), copy.copy(no_host_error)):
            assert type(copied) is type(no_host_error)
            assert str(copied) == str(no_host_error)
            assert copied.alive_replicas == 1
            (copied_host_error,) = copied.errors.values()
            assert str(copied_host_error) == str(host_error)

    @pytest.mark.parametrize("timeout", [0, -0.1, -5])
    def test_a_timeout_of_zero_or_less_fails_before_sending(
        self, node: FakeNode, session: Session, timeout: float
    ) -> None:
        """With a timeout of 0 seconds or less, each kind of request times out, and nothing is sent.

        This holds for the timeout of a call and for the session's default timeout.
        """
        prepared = session.prepare(INSERT)
        for query, parameters in ((prepared, (1, "a")), ("SELECT 1", None), ("SELECT ?", (1,))):
            errback_errors: list[Any] = []
            future = session.execute_async(query, parameters, timeout=timeout)
            future.add_errback(errback_errors.append)
            with pytest.raises(OperationTimedOut, match="before the request was sent"):
                future.result()
            with pytest.raises(OperationTimedOut):
                session.execute(query, parameters, timeout=timeout)
            assert [type(failure) for failure in errback_errors] == [OperationTimedOut]
        assert node.count(Opcode.EXECUTE) == 0
        assert not node.queries("SELECT 1")
        assert not node.queries("SELECT ?")
        session.default_timeout = timeout
        with pytest.raises(OperationTimedOut):
            session.execute("SELECT 1")

    async def test_a_negative_timeout_fails_before_sending_with_asyncio(
        self, node: FakeNode
    ) -> None:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            with pytest.raises(OperationTimedOut, match="before the request was sent"):
                await session.execute("SELECT 1", timeout=-0.1)
        assert not node.queries("SELECT 1")

    def test_executing_on_a_session_that_was_shut_down(self, node: FakeNode) -> None:
        """Executing on a closed session raises NoHostAvailable that is also ConnectionShutdown."""
        with Cluster([node.address], port=node.port) as cluster:
            session, other_session = cluster.connect(), cluster.connect()
            session.shutdown()
            with pytest.raises(NoHostAvailable, match="session is shut down") as caught:
                session.execute("SELECT 1")
        assert isinstance(caught.value, ConnectionShutdown)
        (reason,) = caught.value.errors.values()
        assert isinstance(reason, ConnectionException)
        # The `with` block has shut down the cluster.
        with pytest.raises(NoHostAvailable, match="its cluster was shut down"):
            other_session.execute("SELECT 1")

    def test_the_server_decides_about_counters_in_the_wrong_batch(self, node: FakeNode) -> None:
        """The driver sends batches of the wrong type for their counters.

        The server refuses such a batch, and the driver raises the server's error.
        """
        counter_update = "UPDATE n SET n = n + ? WHERE k = 1"
        node.prime_prepare(counter_update, [("n", "counter")])
        refusal = error(ErrorCode.INVALID, "a counter statement in a logged batch")
        node.prime(Opcode.BATCH, refusal)
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            counters_in_logged_batch = BatchStatement().add(session.prepare(counter_update), (1,))
            insert_in_counter_batch = BatchStatement(BatchType.COUNTER).add(
                session.prepare(INSERT), (1, "a")
            )
            for batch in (counters_in_logged_batch, insert_in_counter_batch):
                with pytest.raises(InvalidRequest, match="a counter statement"):
                    session.execute(batch)

    def test_a_partition_key_without_a_value(self, session: Session) -> None:
        """Binding without the partition key raises an error that is a ValueError and a KeyError."""
        prepared = session.prepare(INSERT)
        all_arguments: list[Any] = [
            (UNSET_VALUE, "a"),
            [UNSET_VALUE, "a"],
            {"k": UNSET_VALUE},
            {"v": "a"},
        ]
        for arguments in all_arguments:
            for error_class in (ValueError, KeyError):
                with pytest.raises(error_class, match="partition key needs a value for 'k'"):
                    prepared.bind(arguments)
                with pytest.raises(error_class, match="partition key needs a value for 'k'"):
                    BatchStatement().add(prepared, arguments)


class TestSettings:
    def test_empty_settings_mean_the_defaults(self, node: FakeNode) -> None:
        """An empty dict of profiles, an empty keyspace and a paging state of None count as not set.

        Without profiles, old-style settings such as `load_balancing_policy` are allowed.
        """
        policy = RoundRobinPolicy()
        with Cluster(
            [node.address], port=node.port, load_balancing_policy=policy, execution_profiles={}
        ) as cluster:
            session = cluster.connect("")
            session.default_timeout = 5
            session.execute("SELECT 1", paging_state=None)
        (request,) = node.queries("SELECT 1")
        assert request.paging_state is None

    @pytest.mark.parametrize(
        ("name", "value", "error_class"),
        [
            ("default_retry_policy", RetryPolicy, TypeError),
            ("load_balancing_policy", RoundRobinPolicy, TypeError),
            ("reconnection_policy", ConstantReconnectionPolicy, TypeError),
            ("address_translator", IdentityTranslator, TypeError),
            ("timestamp_generator", 5, ValueError),
            ("conviction_policy_factory", 5, ValueError),
            ("executor_threads", 0, ValueError),
        ],
    )
    def test_settings_of_wrong_types_are_refused_by_the_constructor(
        self, name: str, value: Any, error_class: type[Exception]
    ) -> None:
        for cluster_class in (Cluster, aio.Cluster):
            with pytest.raises(error_class, match=name):
                cluster_class(**{name: value})

    def test_connect_fails_if_a_registered_type_does_not_exist(self, node: FakeNode) -> None:
        with Cluster([node.address], port=node.port) as cluster:
            cluster.register_user_type("ks", "missing", dict)
            with pytest.raises(UserTypeDoesNotExist, match=r"ks\.missing"):
                cluster.connect()


class TestListenersAndLogs:
    def test_hosts_that_are_there_at_connect_are_added(self) -> None:
        class Listener(HostStateListener):
            def __init__(self) -> None:
                self.calls: list[tuple[str, str]] = []

            def on_add(self, host: Any) -> None:
                self.calls.append(("add", host.address))

            def on_up(self, host: Any) -> None:
                self.calls.append(("up", host.address))

            def on_down(self, host: Any) -> None:
                self.calls.append(("down", host.address))

            def on_remove(self, host: Any) -> None:
                self.calls.append(("remove", host.address))

        listener = Listener()
        with FakeCluster(2) as nodes, Cluster(nodes.contact_points, port=nodes.port) as cluster:
            cluster.register_listener(listener)
            cluster.connect(wait_for_all_pools=True)
            cluster.connect(wait_for_all_pools=True)
        # There are two sessions, but the listener must be called only once per host.
        assert sorted(listener.calls) == [("add", node.address) for node in nodes.nodes]

    def test_server_warnings_are_logged_once(
        self, node: FakeNode, session: Session, caplog: pytest.LogCaptureFixture
    ) -> None:
        # The driver logs each warning only once, so use a warning that no other test has logged.
        warning = f"a batch of {uuid.uuid4()}"
        node.prime("SELECT 1", answer([("k", "int")], [(1,)]).having(warnings=[warning]))
        for _ in range(3):
            future = session.execute_async("SELECT 1")
            future.result()
            assert future.warnings == [warning]
        (record,) = [record for record in caplog.records if warning in record.getMessage()]
        assert (record.name, record.levelname) == ("cassandra.protocol", "WARNING")
        assert record.getMessage() == f"Server warning: {warning}"


class TestAttributes:
    def test_the_columns_of_a_prepared_statement(self, node: FakeNode, session: Session) -> None:
        """`result_metadata` is a list of tuples (keyspace, table, name, type).

        `result_metadata` is None if the statement returns no rows.
        """
        node.prime_prepare("SELECT k FROM t", [], result=[("k", "int")])
        metadata = session.prepare("SELECT k FROM t").result_metadata
        ((_, _, name, cqltype),) = metadata
        assert name == "k"
        assert cqltype is Int32Type
        assert session.prepare(INSERT).result_metadata is None

    def test_attributes_of_futures(self, node: FakeNode, session: Session) -> None:
        """`prepared_statement` of a future is the prepared statement that it executes, or None."""
        prepared = session.prepare(INSERT)
        future = session.execute_async(prepared, (1, "a"))
        future.result()
        assert future.prepared_statement is prepared
        assert session.execute_async("SELECT 1").prepared_statement is None

    def test_attributes_of_cassandra_driver_exist_and_work(
        self, node: FakeNode, session: Session
    ) -> None:
        """Methods and attributes of cassandra-driver's sessions and pools exist and work."""
        assert session.submit(lambda first, second: first + second, 1, second=2).result(WAIT) == 3
        failed = session.submit(lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            failed.result(WAIT)
        with pytest.raises(UserTypeDoesNotExist):
            session.user_type_registered("ks", "missing", dict)
        session.keyspace = "shop"
        assert session.keyspace == "shop"
        (state,) = session.get_pool_state().values()
        assert state["orphan_requests"] == [set()]
        (host,) = session.cluster.metadata.all_hosts()
        session.cluster.on_up(host)
        session.execute("SELECT 1")
        assert host.is_up

    def test_timed_out_requests_are_counted_as_orphans(
        self, node: FakeNode, session: Session
    ) -> None:
        """Requests that timed out keep their streams: they are orphans of their connection."""
        node.prime("SELECT 1", hold())
        orphans: Any = ()
        for _ in range(100):
            # On a busy machine, the timeout may expire before the request is sent. The request is
            # then no orphan, so try again.
            with pytest.raises(OperationTimedOut):
                session.execute("SELECT 1", timeout=0.05)
            (state,) = session.get_pool_state().values()
            (orphans,) = state["orphan_requests"]
            if len(orphans) == 2:
                break
        assert len(orphans) == 2
        assert sum(state["in_flights"]) == 2

    def test_attributes_of_errors_and_dates(self) -> None:
        """Errors and dates have the attributes that cassandra-driver's classes have."""
        assert AlreadyExists("ks").table == ""
        assert Date.MINUTE == 60
        assert Date.HOUR == 3600
        assert Date.DAY == 86400


class TestRowFactories:
    def test_a_row_factory_that_returns_none_makes_an_empty_result(
        self, node: FakeNode, session: Session
    ) -> None:
        """If the row factory returns None for the rows, the result is empty."""
        node.prime("SELECT k", answer([("k", "int")], [(1,)]))
        session.row_factory = lambda names, rows: None
        result = session.execute("SELECT k")
        assert list(result) == []
        assert result.all() == []
        assert result.one() is None
        assert not result

    def test_a_row_factory_that_returns_a_generator(self, node: FakeNode, session: Session) -> None:
        """If a row factory returns a generator, the rows can be read once.

        `one` of an empty result is None.
        """
        node.prime("SELECT k", answer([("k", "int")], [(1,), (2,)]))
        node.prime("SELECT none", answer([("k", "int")], []))
        session.row_factory = lambda names, rows: (
            dict(zip(names, row, strict=True)) for row in rows
        )
        assert list(session.execute("SELECT k")) == [{"k": 1}, {"k": 2}]
        empty = session.execute("SELECT none")
        assert empty.one() is None
        # Without a row there is no column "[applied]".
        with pytest.raises(RuntimeError, match="lightweight"):
            _ = session.execute("SELECT none").was_applied


class TestNames:
    def test_private_names_of_cassandra_driver_exist(self) -> None:
        assert _NOT_SET is NOT_SET
        assert ResponseFuture._continuous_paging_session is None

    def test_a_host_needs_an_endpoint_and_a_conviction_policy(self) -> None:
        wrong: Any
        for wrong in ((None, SimpleConvictionPolicy), ("10.0.0.1", None)):
            with pytest.raises(ValueError, match="must not be None"):
                Host(*wrong)

    def test_texts_of_dates_and_times(self) -> None:
        """Date strings may begin with a plus sign, and time strings may end with a point."""
        assert Date("+1492-10-12") == Date("1492-10-12")
        assert Time("01:00:00.") == Time("01:00:00")

    def test_a_column_to_encrypt_has_a_name(self) -> None:
        policy: Any = AES256ColumnEncryptionPolicy()
        with pytest.raises(ValueError, match="coldesc must be a ColDesc, not None"):
            policy.add_column(None, b"k" * 32, "int")

    def test_unset_or_missing_values_before_version_4(self) -> None:
        """Before protocol version 4, an unset value raises a KeyError and ValueError in one.

        A missing value raises the same error. For an unset value, the error is also
        UnsupportedOperation.
        """
        columns = [ColumnMetadata("ks", "t", "v", Int32Type)]
        for error_class in (KeyError, ValueError, UnsupportedOperation):
            with pytest.raises(error_class, match="UNSET_VALUE needs protocol version 4"):
                BindPlan(columns).bind((UNSET_VALUE,), 3)
            if error_class is not UnsupportedOperation:
                with pytest.raises(error_class, match="no value for column 'v'"):
                    BindPlan(columns).bind_row({}, 3)


def test_a_forged_paging_state_is_an_error_of_its_own(node: FakeNode, session: Session) -> None:
    """The error for a paging state that the server did not create is also a ValueError.

    Other protocol errors are not ValueErrors.
    """
    node.prime("SELECT k", error(ErrorCode.PROTOCOL_ERROR, "Invalid value for the paging state"))
    for error_class in (ValueError, ProtocolException, InvalidPagingState):
        with pytest.raises(error_class, match="paging state"):
            session.execute("SELECT k", paging_state=b"forged")
    node.prime("SELECT k", error(ErrorCode.PROTOCOL_ERROR, "another breach"))
    with pytest.raises(ProtocolException) as caught:
        session.execute("SELECT k")
    assert not isinstance(caught.value, ValueError)
