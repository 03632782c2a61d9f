"""Tests of names and calls of other libraries, whose errors suggest this driver's code."""

from __future__ import annotations

import copy
import datetime
import operator
import pickle
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from cassandra import ConsistencyLevel, _habits, aio
from cassandra._misspelt import class_attribute
from cassandra.auth import PlainTextAuthProvider
from cassandra.bulk.options import load_options
from cassandra.bulk.report import LoadReport
from cassandra.bulk.scan import AsyncScan, Scan
from cassandra.bulk.scan_options import scan_options
from cassandra.bulk.tasks import worker_session
from cassandra.bulk.unload import UnloadReport
from cassandra.client.settings.names import instead_of
from cassandra.cluster import (
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    ResponseFuture,
    ResultSet,
    Session,
)
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.connection import ConnectionShutdown
from cassandra.cqlengine import columns, management
from cassandra.cqlengine.models import ColumnQueryEvaluator, Model, ModelDefinitionException
from cassandra.cqlengine.query import BatchQuery, ModelQuerySet
from cassandra.cqlengine.usertype import UserType
from cassandra.cqltypes import EncodeValueError
from cassandra.diagnostics.report import ClusterReport
from cassandra.encoder import Encoder
from cassandra.metadata import ColumnMetadata, KeyspaceMetadata, Metadata, TableMetadata
from cassandra.metadata.schema.snapshot import LazyMapping
from cassandra.observability.logger import RequestLogger
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    ExponentialBackoffRetryPolicy,
    ExponentialReconnectionPolicy,
    HostFilterPolicy,
    RackAwareRoundRobinPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
)
from cassandra.pool import Host
from cassandra.protocol.rowclass import row_class
from cassandra.query import UNSET_VALUE, BatchStatement, PreparedStatement, SimpleStatement
from cassandra.testing import LocalCluster, LocalClusterError, Recorder
from cassandra.testing.fake import ErrorCode, FakeNode, error, void
from cassandra.util import Date, Time
from tests.processes import run_python

# Each entry has a class, and the names that users of other libraries try, with the advice.
TABLES: list[tuple[type, dict[str, str]]] = [
    (Session, _habits.SESSION),
    (aio.Session, {**_habits.SESSION, **_habits.ASYNC_SESSION}),
    (Cluster, _habits.CLUSTER),
    (aio.Cluster, {**_habits.CLUSTER, **_habits.ASYNC_CLUSTER}),
    (ResultSet, _habits.RESULT),
    (aio.ResultSet, _habits.RESULT),
    (ResponseFuture, _habits.FUTURE),
    (PreparedStatement, _habits.PREPARED),
    (BatchStatement, _habits.BATCH),
    (SimpleStatement, _habits.STATEMENT),
    (Scan, _habits.SCAN),
    (AsyncScan, _habits.SCAN),
    (Metadata, _habits.METADATA),
    (KeyspaceMetadata, _habits.KEYSPACE),
    (TableMetadata, _habits.TABLE),
    (ColumnMetadata, _habits.COLUMN),
    (BatchQuery, _habits.MAPPER_BATCH),
    (LoadReport, _habits.LOAD_REPORT),
    (UnloadReport, _habits.UNLOAD_REPORT),
    (Host, _habits.HOST),
    (Model, _habits.MODEL),
    (ModelQuerySet, _habits.QUERYSET),
    (ColumnQueryEvaluator, _habits.FILTER_COLUMN),
    (UserType, _habits.USER_TYPE),
    (Date, _habits.DATE),
    (Time, _habits.TIME),
    (ClusterReport, _habits.CLUSTER_REPORT),
]


def missing(kind: type, table: dict[str, str]) -> list[str]:
    """Return the names of `table` that the class does not have, so that they raise the advice."""
    return [name for name in table if isinstance(class_attribute(kind, name), _habits.Habit)]


@pytest.mark.parametrize(
    ("kind", "table"), TABLES, ids=[f"{kind.__module__}.{kind.__name__}" for kind, _ in TABLES]
)
def test_names_of_other_libraries(kind: type, table: dict[str, str]) -> None:
    """Reading an attribute that only another library has must raise AttributeError with advice."""
    names = missing(kind, table)
    assert names
    for name in names:
        assert not hasattr(kind, name)
        with pytest.raises(
            AttributeError, match=rf"'{kind.__name__}' object has no attribute '{name}': \S+"
        ):
            # Create the object without a call of `__init__`, which could need a connection.
            getattr(object.__new__(kind), name)


@pytest.mark.parametrize("class_of_asyncio", [aio.Cluster, aio.Session])
@pytest.mark.parametrize("name", ["close", "disconnect", "stop"])
def test_closing_on_asyncio_is_awaited(class_of_asyncio: type, name: str) -> None:
    """On asyncio, the advice must have no plain `with` block, which is not supported there."""
    with pytest.raises(
        AttributeError, match=r"write await \w+\.shutdown\(\), or use .*`async with`"
    ):
        getattr(object.__new__(class_of_asyncio), name)


def test_a_session_for_frames_names_the_methods_for_frames() -> None:
    """`cursor`, as called by pandas, must raise an error that names the methods for frames.

    ``pandas.read_sql(query, session)`` and ``frame.to_sql("t", session)`` call it.
    """
    for session_class, wait in ((Session, ""), (aio.Session, "await ")):
        session: Any = object.__new__(session_class)
        with pytest.raises(AttributeError) as caught:
            session.cursor()
        assert f"{wait}session.load(table, frame)" in str(caught.value)
        assert ".to_pandas()" in str(caught.value)


def test_dir_does_not_list_the_names_of_other_libraries(session: Session) -> None:
    names = dir(session)
    assert {"execute", "shutdown"} <= {*names}
    assert not {"cursor", "close", "commit"} & {*names}


def test_names_of_the_schema_are_not_looked_up_in_their_parents() -> None:
    """Subscripting schema metadata must raise an error that names the right attribute."""
    for kind, advice in (
        (Metadata, r"write metadata\.keyspaces\['name'\]"),
        (KeyspaceMetadata, r"write keyspace\.tables\['name'\]"),
        (TableMetadata, r"write table\.columns\['name'\]"),
    ):
        thing: Any = object.__new__(kind)
        with pytest.raises(TypeError, match=advice):
            thing["name"]


def test_adding_habits_keeps_a_class_s_own_attributes() -> None:
    """Names with advice must be added only if the class does not have them."""

    class ClassWithFirst:
        first = 1

    _habits.add_habits(ClassWithFirst, {"first": "no", "second": "write first"})
    assert ClassWithFirst.first == 1
    with pytest.raises(AttributeError, match="write first"):
        ClassWithFirst().second  # type: ignore[attr-defined]  # noqa: B018


def test_subclasses_and_objects_may_define_the_names() -> None:
    """Names with advice may be defined by a subclass, or be set on an object."""

    class SessionWithClose(Session):
        def close(self) -> str:
            return "closed"

    session: Any = SessionWithClose.__new__(SessionWithClose)
    assert session.close() == "closed"
    session.cursor = 5
    assert session.cursor == 5


def test_a_class_behind_the_driver_s_in_the_bases_may_define_the_names() -> None:
    """A base class listed after the driver's may define names for which the driver has advice."""

    class WithDict:
        json = "text"

        def dict(self) -> int:
            return 5

        @classmethod
        def last(cls) -> type:
            return cls

    class Customer(Model, WithDict):
        id = columns.Integer(primary_key=True)

    class Customers(ModelQuerySet[Any], WithDict):
        pass

    customer: Any = Customer(id=1)
    assert customer.dict() == 5
    assert customer.json == "text"
    assert Customer.json == "text"
    assert Customers(Customer).last() is Customers
    with pytest.raises(AttributeError, match=r"write dict\(instance\)"):
        customer.to_dict()


def test_advice_of_querysets_names_the_right_end() -> None:
    """The advice for `last` must reverse the order, and that for `earliest` must not.

    The advice for `bulk_create` must name `create_many`.
    """

    class Visit(Model):
        page = columns.Integer(partition_key=True)
        number = columns.Integer(primary_key=True)

    querysets: Any = Visit.objects
    with pytest.raises(AttributeError, match=r"order_by\('-column'\)\.first\(\)"):
        querysets.last()
    with pytest.raises(AttributeError, match=r"order_by\('column'\)\.first\(\)"):
        querysets.earliest()
    with pytest.raises(AttributeError, match=r"write create_many\(rows\)"):
        querysets.bulk_create([])
    model: Any = Visit
    with pytest.raises(AttributeError, match=r"write Model\.objects\.create_many\(rows\)"):
        model.bulk_create([])


def test_advice_for_column_types_of_other_libraries() -> None:
    """Column types of other libraries must raise an error that names one of the mapper's types."""
    module: Any = columns
    with pytest.raises(AttributeError, match=r"no attribute 'String': write columns\.Text$"):
        module.String()
    with pytest.raises(AttributeError, match=r"no attribute 'Strung'$"):
        module.Strung()
    assert not hasattr(module, "JSON")
    for name, advice in _habits.COLUMN_TYPES.items():
        assert name not in columns.__all__
        for word in re.findall(r"columns\.(\w+)", advice):
            assert word in columns.__all__


def test_advice_for_functions_of_other_libraries() -> None:
    """Functions of other libraries must raise an error that names functions of `management`."""
    module: Any = management
    with pytest.raises(AttributeError, match=r"no attribute 'create_all': write sync_table\(Model"):
        module.create_all()
    with pytest.raises(AttributeError, match=r"no attribute 'creat_all'$"):
        module.creat_all()
    for name, advice in _habits.MANAGEMENT.items():
        assert not hasattr(module, name)
        for word in re.findall(r"(\w+)\(", advice):
            assert word in management.__all__


def test_advice_for_asyncio_awaits() -> None:
    """For the asyncio API, the advice must have `await` before calls."""
    blocking = {
        "a": "write session.execute(b)",
        "c": "write result.one()",
        "f": "write session.execute(b, (1,)).all()",
        "g": "write session.is_shutdown",
    }
    advice = _habits.awaited(blocking, {"d": "e"})
    assert advice == {
        "a": "write await session.execute(b)",
        "c": "write result.one()",
        "f": "write (await session.execute(b, (1,))).all()",
        "g": "write session.is_shutdown",
        "d": "e",
    }


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """Yield a connected session."""
    with (
        FakeNode() as node,
        Cluster([node.address], port=node.port) as cluster,
        cluster.connect() as session,
    ):
        yield session


def test_a_result_has_no_length(session: Session) -> None:
    result: Any = session.execute("SELECT key FROM system.local")
    with pytest.raises(TypeError, match=r"has no len\(\): write len\(result.all\(\)\)"):
        len(result)
    # `list()` and others first request a length hint, and continue if there is none.
    assert not hasattr(result, "__len__")
    assert operator.length_hint(result, 7) == 7
    assert len(list(result)) == 1


def test_the_first_row_of_an_empty_result_is_an_index_error(session: Session) -> None:
    """An index beyond the rows must raise IndexError, and the error for row 0 name `one`."""
    result = session.execute("SELECT * FROM system.peers WHERE peer = '10.9.9.9'")
    with pytest.raises(IndexError, match=r"no rows; result.one\(\) returns None"):
        result[0]
    with pytest.raises(IndexError, match="there is no row 3: the result has 0 rows"):
        result[3]


STATEMENTS: list[Any] = [SimpleStatement("SELECT 1"), BatchStatement()]


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: type(statement).__name__)
@pytest.mark.parametrize("name", sorted(_habits.STATEMENT_SETTINGS))
def test_a_misspelt_setting_of_a_statement_warns(statement: Any, name: str) -> None:
    with pytest.warns(
        RuntimeWarning, match=rf"{name} has no effect: (did you mean|write)"
    ) as warned:
        setattr(statement, name, 3)
    assert warned[0].filename == __file__
    # Despite the warning, the attribute must be set.
    assert getattr(statement, name) == 3
    delattr(statement, name)
    assert not hasattr(statement, name)
    with pytest.raises(AttributeError):
        delattr(statement, name)


@pytest.fixture
def prepared() -> Any:
    """Return a prepared statement without markers."""
    return PreparedStatement([], b"id", None, "SELECT 1", None, 4, None, None)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("is_idempotnt", "is_idempotent"),
        ("retry_polcy", "retry_policy"),
        ("retry", "retry_policy"),
        ("consistency", "consistency_level"),
        ("serial_consistancy_level", "serial_consistency_level"),
        ("strict_name", "strict_names"),
    ],
)
def test_a_misspelt_setting_of_a_prepared_statement_warns(
    prepared: Any, name: str, setting: str
) -> None:
    """The warning must have the right name and the caller's line, and the attribute be set."""
    with pytest.warns(
        RuntimeWarning, match=rf"PreparedStatement\.{name} has no effect: did you mean {setting}\?"
    ) as warned:
        setattr(prepared, name, 3)
    assert [warning.filename for warning in warned] == [__file__]
    assert getattr(prepared, name) == 3


def test_attributes_of_a_prepared_statement_do_not_warn(prepared: Any) -> None:
    """Settings, names unlike a setting, private names, and names of subclasses must not warn."""

    class PreparedWithAttributes(PreparedStatement):
        pass

    of_subclass: Any = PreparedWithAttributes([], b"id", None, "SELECT 1", None, 4, None, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepared.is_idempotent = prepared.strict_names = True
        prepared.fetch_size = 3
        prepared.application = prepared._is_idempotnt = 3
        of_subclass.is_idempotnt = True
    assert (prepared.application, copy.copy(prepared).application) == (3, 3)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("timeout", "write request_timeout=seconds"),
        ("consistency", "write consistency_level="),
        ("retry", r"write retry_policy=RetryPolicy\(\)"),
        ("load_balancing", "write load_balancing_policy="),
        ("fetch_size", "write fetch_size of a statement"),
    ],
)
def test_an_attribute_of_a_profile_that_has_no_effect_warns(name: str, advice: str) -> None:
    profile = ExecutionProfile()
    with pytest.warns(
        RuntimeWarning, match=rf"ExecutionProfile\.{name} has no effect: {advice}"
    ) as warned:
        setattr(profile, name, 3)
    assert [warning.filename for warning in warned] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The warning must be given once for each profile.
        setattr(profile, name, 4)
        profile.name = profile.application = "reports"
    assert getattr(profile, name) == 4


def test_an_attribute_of_a_subclass_of_a_profile_does_not_warn() -> None:
    """On a subclass of `ExecutionProfile`, a name that has no effect must not warn."""

    class ProfileWithTimeout(ExecutionProfile):
        timeout = 3

    class ProfileWithAttributes(ExecutionProfile):
        pass

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ProfileWithTimeout().timeout = 4
        ProfileWithAttributes().timeout = 4


# A delay of 50 s is longer than the default timeout of requests.
LATE = ConstantSpeculativeExecutionPolicy(50, 2)
NEVER_STARTS = (
    r"never start: their delay=50 is not shorter than request_timeout=10(\.0)?, .* 0\.05 for 50"
)


@pytest.mark.parametrize(
    "make_profile",
    [
        lambda: ExecutionProfile(speculative_execution_policy=LATE),
        lambda: ExecutionProfile().clone(speculative_execution_policy=LATE),
        lambda: ExecutionProfile(
            request_timeout=100, speculative_execution_policy=LATE
        ).clone(request_timeout=10),
        lambda: setattr(ExecutionProfile(), "speculative_execution_policy", LATE),
    ],
)  # fmt: skip
def test_a_speculative_execution_that_never_starts_warns(make_profile: Any) -> None:
    with pytest.warns(RuntimeWarning, match=NEVER_STARTS) as warned:
        make_profile()
    assert [warning.filename for warning in warned] == [__file__]


def test_a_speculative_execution_that_may_start_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profile = ExecutionProfile(request_timeout=51, speculative_execution_policy=LATE)
        ExecutionProfile(request_timeout=None, speculative_execution_policy=LATE)
        ExecutionProfile(speculative_execution_policy=ConstantSpeculativeExecutionPolicy(50, 0))
        short = ConstantSpeculativeExecutionPolicy(0.1, 2)
        # The old policy would be too late for the new timeout, and the new policy for the old one.
        fast = profile.clone(request_timeout=1, speculative_execution_policy=short)
        fast.clone(speculative_execution_policy=LATE, request_timeout=60)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("is_idempotnt", "is_idempotent"),
        ("retry_polciy", "retry_policy"),
        ("consisteny_level", "consistency_level"),
        ("fetch_sze", "fetch_size"),
    ],
)
def test_typing_mistakes_in_settings_of_all_statements_warn(
    session: Session, name: str, setting: str
) -> None:
    """On each kind of statement, the warning for a misspelt setting must have the right name."""
    bound = session.prepare("SELECT 1").bind(())
    for statement in (SimpleStatement("SELECT 1"), BatchStatement(), bound):
        with pytest.warns(
            RuntimeWarning,
            match=rf"{type(statement).__name__}\.{name} has no effect: did you mean {setting}\?",
        ):
            setattr(statement, name, True)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("auth_provider", r"did you mean cluster\.auth_provider\?"),
        ("auth_providr", r"did you mean cluster\.auth_provider\?"),
        ("idle_heartbeat_intervall", r"did you mean cluster\.idle_heartbeat_interval\?"),
        ("load_balancing_polcy", "write load_balancing_policy of a profile"),
        ("keyspce", r"write session\.set_keyspace\(name\)"),
    ],
)
def test_a_setting_of_a_cluster_warns_on_a_session(session: Any, name: str, advice: str) -> None:
    with pytest.warns(RuntimeWarning, match=rf"Session\.{name} has no effect: {advice}") as warned:
        setattr(session, name, "value")
    assert warned[0].filename == __file__
    assert getattr(session, name) == "value"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # This is now an attribute of the application.
        setattr(session, name, "other")
        session.tenant = "a"


def test_a_misspelt_setting_of_a_session_warns_on_a_cluster() -> None:
    cluster: Any = Cluster()
    with pytest.warns(RuntimeWarning, match=r"default_fetchsize has no effect: write session\."):
        cluster.default_fetchsize = 10


def test_a_misspelt_parameter_of_a_request_logger_warns() -> None:
    logger: Any = RequestLogger()
    with pytest.warns(RuntimeWarning, match="did you mean repeat_interval"):
        logger.repeat_intervl = 1.0


def test_a_misspelt_setting_of_a_session_warns(session: Session) -> None:
    with pytest.warns(RuntimeWarning, match=r"write session\.default_fetch_size") as warned:
        session.fetch_size = 3
    assert warned[0].filename == __file__
    del session.fetch_size  # type: ignore[attr-defined]


def test_attributes_of_a_subclass_of_a_statement_do_not_warn() -> None:
    """On a subclass of a statement, a name that has no effect must not warn."""

    class StatementWithAttributes(SimpleStatement):
        pass

    statement: Any = StatementWithAttributes("SELECT 1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        statement.timeout = 3
        statement.consistency_level = ConsistencyLevel.ONE
    assert statement.timeout == 3


def test_settings_after_connect_warn(session: Session) -> None:
    """Changing a setting after `connect` must warn, since it has no effect.

    `connect` reads most settings.
    """
    cluster = session.cluster
    with pytest.warns(RuntimeWarning, match=r"Cluster\.port has no effect after connect") as warned:
        cluster.port = cluster.port
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # This setting may be changed after `connect`, too. Before `connect`, every setting may.
        cluster.control_connection_timeout = 5.0
        Cluster().port = 9043


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster], ids=["blocking", "aio"])
@pytest.mark.parametrize("name", sorted(_habits.CLUSTER_SETTINGS))
def test_a_setting_of_profiles_or_sessions_warns_on_a_cluster(
    cluster_class: Any, name: str
) -> None:
    cluster = cluster_class()
    assert not hasattr(cluster, name)
    with pytest.warns(RuntimeWarning, match=rf"Cluster\.{name} has no effect: write ") as warned:
        setattr(cluster, name, 3)
    assert warned[0].filename == __file__
    # Despite the warning, the attribute must be set.
    assert getattr(cluster, name) == 3


def test_a_cluster_class_of_the_application_may_have_attributes_that_clusters_lack() -> None:
    """A subclass of `Cluster` may use names that clusters do not have, without a warning.

    An object of `Cluster` warns of the attribute `request_timeout`, which has no effect.
    """

    class ClusterWithAttributes(Cluster):
        pass

    cluster: Any = ClusterWithAttributes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cluster.request_timeout = 3


@pytest.mark.parametrize("name", ["is_connected", "is_open"])
def test_the_advice_for_open_does_not_say_the_opposite(name: str) -> None:
    with pytest.raises(AttributeError, match=r"write any\(host.is_up .*`not cluster.is_shutdown`"):
        getattr(Cluster(), name)
    assert _habits.SESSION[name] == "write `not session.is_shutdown`"


def test_the_advice_for_many_rows_is_for_the_blocking_session() -> None:
    assert _habits.many_rows_advice() == "session.execute_concurrent_with_args(prepared, rows)"


async def test_the_advice_for_many_rows_is_for_the_session_of_the_coroutine() -> None:
    """In a coroutine, the advice must be for `aio.Session`.

    It has no `execute_concurrent_with_args`.
    """
    advice = _habits.many_rows_advice("batch.add_many(prepared, rows)")
    assert advice == (
        "`async for success, result in session.execute_concurrent((prepared, row) for row in rows)`"
        " or batch.add_many(prepared, rows)"
    )
    assert hasattr(aio.Session, "execute_concurrent")
    assert not hasattr(aio.Session, "execute_concurrent_with_args")


async def test_the_error_for_a_list_of_rows_in_a_coroutine() -> None:
    """For a list of rows as parameters, the advice must be for `aio.Session`."""
    text = "INSERT INTO t (k, v) VALUES (?, ?)"
    with FakeNode() as node:
        node.prime_prepare(text, [("k", "int"), ("v", "text")])
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            insert = await session.prepare(text)
            with pytest.raises(TypeError, match=r"many rows, write `async for success, result in"):
                await session.execute(insert, [(1, "a"), (2, "b")])


@pytest.mark.parametrize("name", ["scalar", "scalar_one_or_none", "fetchval"])
def test_the_advice_for_a_scalar_holds_without_a_row(session: Session, name: str) -> None:
    with pytest.raises(
        AttributeError, match=r"row = result\.one\(\), then row\[0\] if row else None"
    ):
        getattr(session.execute("SELECT k FROM nothing"), name)


def test_values_for_prepare_are_refused_with_advice(session: Session) -> None:
    with pytest.raises(TypeError, match=r"not tuple; values are of execute: session\.execute\("):
        session.prepare("SELECT 1", (1,))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["execute", "execute_async"])
def test_parameters_beside_a_batch_warn(session: Session, method: str) -> None:
    """Parameters for a batch must warn, since they are ignored.

    The statements in a batch have separate parameters.
    """
    batch = BatchStatement()
    batch.add("INSERT INTO t (k) VALUES (1)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.execute(batch, ())
        session.execute(batch, None)
    with pytest.warns(RuntimeWarning, match=r"ignored: a BatchStatement has.*batch\.add") as warned:
        getattr(session, method)(batch, (1, 2))
    assert warned[0].filename == __file__


class Money:
    """A class that has only the `__str__` of object."""


class Priced(Money):
    """A class that defines `__str__`."""

    def __str__(self) -> str:
        return "12.5"


def test_an_object_with_a_str_method_is_encoded_as_its_string() -> None:
    assert Encoder().cql_encode_all_types(Priced()) == "12.5"


def bad_model(attribute: type) -> type:
    """Create a model whose column k is not a column."""
    return type("Bad", (Model,), {"k": attribute})


def any_settings(settings: Any) -> Any:
    """Return `settings` as Any, so that type checkers accept unknown names."""
    return settings


class Connected:
    """Looks like a session to `execute_concurrent_with_args`."""

    execute_async = None


# Each mistake has the class of the exception, the wrong call, and a pattern of the message.
MISTAKES: dict[str, tuple[type[Exception], Any, str]] = {
    "a policy's name": (
        TypeError,
        lambda: ExecutionProfile("RoundRobin"),  # type: ignore[arg-type]
        r"load_balancing_policy must be a policy, but is 'RoundRobin' of type str: write Token",
    ),
    "a level in the place of a policy": (
        TypeError,
        lambda: ExecutionProfile(ConsistencyLevel.QUORUM),  # type: ignore[arg-type]
        "load_balancing_policy must be a policy, but is 4 of type int",
    ),
    "a policy's name at the cluster": (
        TypeError,
        lambda: Cluster(load_balancing_policy="RoundRobin"),  # type: ignore[arg-type]
        "load_balancing_policy must be a policy, but is 'RoundRobin'",
    ),
    "a retry policy's name": (
        TypeError,
        lambda: ExecutionProfile(retry_policy="fallthrough"),  # type: ignore[arg-type]
        r"retry_policy must be a policy.*write RetryPolicy\(\)",
    ),
    "a number for speculation": (
        TypeError,
        lambda: ExecutionProfile(speculative_execution_policy=3),  # type: ignore[arg-type]
        "write ConstantSpeculativeExecutionPolicy",
    ),
    "a level's name": (
        TypeError,
        lambda: ExecutionProfile(consistency_level="local_qurom"),  # type: ignore[arg-type]
        r"is 'local_qurom': write ConsistencyLevel\.LOCAL_QUORUM",
    ),
    "no level's name": (
        TypeError,
        lambda: ExecutionProfile(consistency_level="x"),  # type: ignore[arg-type]
        "must be a value of ConsistencyLevel, but is 'x': the levels are ConsistencyLevel.ANY, ",
    ),
    "a list of data centres": (
        TypeError,
        lambda: DCAwareRoundRobinPolicy(["dc1"]),  # type: ignore[arg-type]
        r"local_dc must be a str, but is \['dc1'\]",
    ),
    "a list of racks": (
        TypeError,
        lambda: RackAwareRoundRobinPolicy("dc1", ["r1"]),  # type: ignore[arg-type]
        r"local_rack must be a str",
    ),
    "a child policy's class": (
        TypeError,
        lambda: TokenAwarePolicy(RoundRobinPolicy),  # type: ignore[arg-type]
        r"write RoundRobinPolicy\(\.\.\.\)",
    ),
    "one host to allow": (
        TypeError,
        lambda: WhiteListRoundRobinPolicy("127.0.0.1"),
        r"write \['127\.0\.0\.1'\]",
    ),
    "a version as text": (
        TypeError,
        lambda: Cluster(protocol_version="4"),  # type: ignore[arg-type]
        r"protocol_version must be an int, but is '4' of type str: write .*ProtocolVersion\.V5",
    ),
    "the bundle alone": (
        TypeError,
        lambda: Cluster(cloud="bundle.zip"),  # type: ignore[arg-type]
        "write cloud={'secure_connect_bundle': path}",
    ),
    "parameters of a statement": (
        ValueError,
        lambda: SimpleStatement("SELECT", (1,)),  # type: ignore[arg-type]
        r"parameters are of execute, .*execute\(statement, parameters\)",
    ),
    "a page size as text": (
        TypeError,
        lambda: SimpleStatement("SELECT", fetch_size="100"),  # type: ignore[arg-type]
        "fetch_size must be a number of rows or None, but is '100' of type str",
    ),
    "a batch's type as text": (
        TypeError,
        lambda: BatchStatement("unlogged"),  # type: ignore[arg-type]
        r"write BatchType\.UNLOGGED",
    ),
    "a batch of a list": (
        TypeError,
        lambda: BatchStatement(["INSERT"]),  # type: ignore[arg-type]
        r"then batch\.add\(statement, parameters\)",
    ),
    "a batch's type as number": (
        TypeError,
        lambda: BatchStatement(1),  # type: ignore[arg-type]
        r"write BatchType\.LOGGED, BatchType\.UNLOGGED or",
    ),
    "an object without a literal": (
        TypeError,
        lambda: Encoder().cql_encode_all_types(Money()),
        r"has no literal in CQL: pass its fields .* or set session\.encoder\.mapping\[Money\]",
    ),
    "a literal of UNSET_VALUE": (
        TypeError,
        lambda: Encoder().cql_encode_all_types((1, UNSET_VALUE)),
        "UNSET_VALUE has no literal in CQL: prepare the statement",
    ),
    "a timedelta as TTL": (
        TypeError,
        lambda: Encoder().cql_encode_all_types(datetime.timedelta(days=1)),
        r"or int\(value\.total_seconds\(\)\) for a TTL",
    ),
    "classes for columns": (ModelDefinitionException, lambda: bad_model(int), "k is the class int"),
    "a column's class": (
        ModelDefinitionException,
        lambda: bad_model(columns.UUID),
        r"write k = columns\.UUID\(primary_key=True\)",
    ),
    "a policy's class": (
        TypeError,
        lambda: ExecutionProfile(retry_policy=RetryPolicy),  # type: ignore[arg-type]
        r"write RetryPolicy\(\.\.\.\)",
    ),
    "a balancing policy's class": (
        TypeError,
        lambda: ExecutionProfile(RoundRobinPolicy),  # type: ignore[arg-type]
        r"write RoundRobinPolicy\(\.\.\.\)",
    ),
    "a speculation policy's class": (
        TypeError,
        lambda: ExecutionProfile(
            speculative_execution_policy=ConstantSpeculativeExecutionPolicy  # type: ignore[arg-type]
        ),
        r"write ConstantSpeculativeExecutionPolicy\(\.\.\.\)",
    ),
    "a reconnection policy's class": (
        TypeError,
        lambda: Cluster(reconnection_policy=ExponentialReconnectionPolicy),  # type: ignore[arg-type]
        r"write ExponentialReconnectionPolicy\(\.\.\.\)",
    ),
    "a provider's class": (
        TypeError,
        lambda: Cluster(auth_provider=PlainTextAuthProvider),  # type: ignore[arg-type]
        r"write PlainTextAuthProvider\(\.\.\.\)",
    ),
    "rows as dict": (TypeError, lambda: ExecutionProfile(row_factory=dict), "write dict_factory"),
    "rows as tuple": (TypeError, lambda: ExecutionProfile(row_factory=tuple), "tuple_factory"),
    "rows as frames": (
        TypeError,
        lambda: ExecutionProfile(row_factory=type("DataFrame", (), {"__module__": "pandas"})),
        r"which DataFrame takes otherwise: write result\.to_pandas\(\)",
    ),
    "a type of batch by its class's name": (
        TypeError,
        lambda: BatchStatement(**any_settings({"BatchType": 1})),
        "write batch_type=",
    ),
    "rows as list": (TypeError, lambda: ExecutionProfile(row_factory=list), "tuple_factory"),
    "profiles as a list": (
        TypeError,
        lambda: Cluster(execution_profiles=[ExecutionProfile()]),  # type: ignore[arg-type]
        r"write {EXEC_PROFILE_DEFAULT: profile}",
    ),
    "timeout of a profile": (
        TypeError,
        lambda: ExecutionProfile(**any_settings({"timeout": 3})),
        "no setting 'timeout': write request_timeout=seconds",
    ),
    "a misspelt setting of a profile": (
        TypeError,
        lambda: ExecutionProfile(**any_settings({"row_factori": 3})),
        "did you mean 'row_factory'",
    ),
    "an unknown setting of a profile": (
        TypeError,
        lambda: ExecutionProfile(**any_settings({"colour": 3})),
        "no setting 'colour'; it has consistency_level, ",
    ),
    "a URL": (ValueError, lambda: Cluster(["http://10.0.0.1:9042"]), r"write Cluster\(\['10"),
    "a date format of SQL": (
        ValueError,
        lambda: load_options({"date_format": "DD/MM/YYYY"}),
        "write '%d/%m/%Y'",
    ),
    "one parameter in a batch": (
        TypeError,
        lambda: BatchStatement().add("INSERT", 5),
        r"not int: 5; a single one is written \(value,\)",
    ),
    "text as a parameter in a batch": (
        TypeError,
        lambda: BatchStatement().add("INSERT", "abc"),
        r"not str: 'abc'; a single one is written \(value,\)",
    ),
    "a function as a listener": (
        TypeError,
        lambda: Cluster().register_listener(print),  # type: ignore[arg-type]
        "must have the methods on_up, .* but is <.*print>: write a subclass of",
    ),
    "a node of a cluster that is not started": (
        LocalClusterError,
        lambda: LocalCluster(3).kill(1),
        r"not started: write `with LocalCluster\(...\) as cluster:`, or call start\(\)",
    ),
    "a dict as a profile": (
        TypeError,
        lambda: Cluster(execution_profiles={"x": {"request_timeout": 5}}),  # type: ignore[dict-item]
        r"write ExecutionProfile\(\*\*settings\)",
    ),
    "addresses in place of a predicate": (
        TypeError,
        lambda: HostFilterPolicy(RoundRobinPolicy(), ["10.0.0.1"]),  # type: ignore[arg-type]
        "predicate must be a function of a host.*write lambda host: host.address in addresses",
    ),
    "seconds in place of a policy": (
        TypeError,
        lambda: Cluster(reconnection_policy=any_settings(5)),
        r"write ConstantReconnectionPolicy\(delay=5\)",
    ),
    "a number as a listener of requests": (
        TypeError,
        lambda: object.__new__(Session).add_request_init_listener(any_settings(5)),
        "fn must be a function of a future, but is 5 of type int",
    ),
    "a timeout of a clone": (
        ValueError,
        lambda: ExecutionProfile().clone(timeout=3),
        "no setting 'timeout': write request_timeout=seconds",
    ),
    "a dict as a further profile": (
        TypeError,
        lambda: Cluster().add_execution_profile("x", any_settings({"request_timeout": 3})),
        r"write ExecutionProfile\(\*\*settings\)",
    ),
    "a name of a class of a user-defined type": (
        TypeError,
        lambda: Cluster().register_user_type("ks", "address", any_settings("Address")),
        "write the class itself, without quotes",
    ),
    "addresses of a worker's session": (
        TypeError,
        lambda: worker_session(any_settings(["10.0.0.1"])),
        "settings must be a mapping of settings.*write {'contact_points': ",
    ),
    "a text as a field of an error": (
        TypeError,
        lambda: error(ErrorCode.UNAVAILABLE, "x", alive="1"),
        r"error 0x1000 cannot have alive='1' \(str\)",
    ),
    "an error without a message": (
        TypeError,
        lambda: error(ErrorCode.INVALID, any_settings(5)),
        r"the message of an error is a str, not 5 \(int\)",
    ),
    "a key behind the columns": (
        ValueError,
        lambda: FakeNode().prime_prepare("SELECT ?", [("k", "int")], pk_indexes=[1]),
        r"pk_indexes has 1, but the columns of the bind markers have the indexes \[0\]",
    ),
    "an answer for no request": (
        ValueError,
        lambda: FakeNode().prime("SELECT", void(), times=0),
        "a number of requests from 1 on, but is 0",
    ),
    "several nodes to record": (
        TypeError,
        lambda: Recorder("run.jsonl", any_settings(["10.0.0.1"])),
        "contact_point is one address, such as '127.0.0.1'",
    ),
    "a statement as a query": (
        TypeError,
        lambda: SimpleStatement(any_settings(SimpleStatement("SELECT"))),
        r"executed as it is: write session.execute\(statement\)",
    ),
    "a keyspace as a wait": (
        TypeError,
        lambda: Cluster().refresh_schema_metadata(any_settings("shop")),
        r"write refresh_keyspace_metadata\('keyspace'\)",
    ),
    "rows before the statement": (
        TypeError,
        lambda: execute_concurrent_with_args(
            any_settings(Connected()),
            any_settings([(1,)]),
            any_settings(SimpleStatement("INSERT")),
        ),
        "write the statement before the rows",
    ),
    "shuffled rows": (TypeError, lambda: scan_options({"shuffle": True}), "shuffle what scan.to_n"),
    "a fraction of the rows": (TypeError, lambda: scan_options({"frac": 0.1}), "write limit=n"),
    "rows as a frame": (TypeError, lambda: scan_options({"format": "pandas"}), "to_pandas"),
    "an empty table": (TypeError, lambda: load_options({"truncate": True}), "TRUNCATE table"),
    "a compressed file": (TypeError, lambda: load_options({"compression": "gzip"}), "rows.csv.gz"),
    "a key": (TypeError, lambda: load_options({"primary_key": "id"}), "the table has its key"),
    "keepalive": (TypeError, lambda: Cluster(**any_settings({"keepalive": True})), "SO_KEEPALIVE"),
    "max_errors=-1": (ValueError, lambda: load_options({"max_errors": -1}), "None is for no limit"),
}


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_each_mistake_raises_an_error_with_advice(mistake: str) -> None:
    error, call, text = MISTAKES[mistake]
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("username", "auth_provider=PlainTextAuthProvider"),
        ("password", "auth_provider=PlainTextAuthProvider"),
        ("user", "auth_provider=PlainTextAuthProvider"),
        ("keyspace", r"cluster.connect\(keyspace\)"),
        ("database", r"cluster.connect\(keyspace\)"),
        ("ssl", "ssl_context="),
        ("tls", "ssl_context="),
        ("host", "contact_points="),
        ("hosts", "contact_points="),
        ("dsn", "contact_points="),
        ("fetch_size", "session.default_fetch_size"),
        ("local_dc", r"DCAwareRoundRobinPolicy\(local_dc"),
        ("pool_size", "connections_per_host"),
        ("retries", "retry_policy"),
        ("loop", "cassandra.aio"),
        ("timeout", "request_timeout"),
    ],
)
def test_settings_of_other_clients(name: str, message: str) -> None:
    """The error for a setting of another client must name the right one."""
    for kind in (Cluster, aio.Cluster):
        with pytest.raises(TypeError, match=f"no setting '{name}': .*{message}"):
            kind(**any_settings({name: "x"}))
    assert instead_of(name, ())


@pytest.mark.parametrize(
    ("query", "parameters", "message"),
    [
        ("SELECT * FROM t WHERE k = $1", (1,), "no placeholder: write %s or ?"),
        ("SELECT * FROM t WHERE k = {}", (1,), "no placeholder: write %s or ?"),
        ("SELECT * FROM t WHERE k = '?'", (1,), "without quotes"),
        (b"SELECT * FROM t", None, "decode it first"),
        (["SELECT * FROM t"], None, "one statement at a time"),
        (None, None, "a query is a str or a statement"),
        ("SELECT * FROM t WHERE k = %s", 5, r"a single one is written \(value,\)"),
        ("SELECT * FROM t WHERE k = %s", 10.0, r"a time limit is timeout=\.\.\."),
        ("SELECT * FROM t WHERE k = %s", b"token", r"a paging state is paging_state=\.\.\."),
        ("SELECT * FROM t WHERE k = ? AND c = ?", 5, r"several are written \(first, second\)"),
        ("SELECT * FROM t WHERE k = %s AND c = %s", {1, 2}, "the set {1, 2}, which has no order"),
    ],
)
def test_wrong_queries_and_parameters(
    session: Session, query: Any, parameters: Any, message: str
) -> None:
    """The error for a wrong query or parameter must say what to write instead."""
    with pytest.raises(TypeError, match=message):
        session.execute(query, parameters)


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("BAAAAAEGAAQ=", r'base64\.b64decode\(text, b"-_", validate=True\)'),
        ("0a0b", r"bytes\.fromhex\(text\)"),
    ],
)
def test_a_token_as_paging_state(session: Session, token: Any, text: str) -> None:
    """The error for a token as paging state must say how to decode it.

    The token seems to have one of two encodings.
    """
    with pytest.raises(TypeError, match=text):
        session.execute("SELECT * FROM t", paging_state=token)


@pytest.mark.parametrize(
    ("query", "parameters", "text"),
    [
        ("SELECT * FROM t WHERE k = %s AND c = %s", ("é", "tea\ud800"), "parameter 1: 'tea"),
        ("SELECT * FROM t WHERE k = %(k)s", {"k": "tea\ud800"}, "parameter 'k': 'tea"),
    ],
)
def test_half_a_surrogate_pair_in_a_parameter(
    session: Session, query: str, parameters: Any, text: str
) -> None:
    """Half a surrogate pair in a parameter must raise the error of a bound value.

    Web services respond to it with the status 400.
    """
    with pytest.raises(EncodeValueError, match=f"{text}.* cannot be encoded as text: character 3"):
        session.execute(query, parameters)
    with pytest.raises(UnicodeEncodeError):
        session.execute("SELECT '\ud800' FROM t WHERE k = %s", (1,))


def test_half_a_surrogate_pair_without_a_cluster() -> None:
    """The error must have the same class in a program that has not created a cluster."""
    program = (
        "from cassandra.query import bind_params\n"
        "try: bind_params('%s', ('\\ud800',))\n"
        "except ValueError as error: print(type(error).__name__)\n"
    )
    process = run_python(program)
    assert process.stdout == "EncodeValueError\n", process.stderr


def test_a_profile_as_timeout(session: Session) -> None:
    """The error for a profile as timeout must name the keyword for profiles.

    The third argument of `execute` is a timeout.
    """
    profile: Any = ExecutionProfile()
    with pytest.raises(TypeError, match="write execution_profile=profile"):
        session.execute("SELECT * FROM t", None, profile)


def test_the_result_of_a_call_as_callback(session: Session) -> None:
    """If a callback is not callable, the error must say what was passed, and what to pass."""

    def called(rows: object) -> None:
        """Return None, like most callbacks."""

    future = session.execute_async("SELECT * FROM t")
    with pytest.raises(TypeError, match="pass the function itself, not the result of a call"):
        future.add_callback(called(future))  # type: ignore[arg-type,func-returns-value]
    with pytest.raises(TypeError, match="is 5 of type int; its arguments follow it"):
        future.add_callback(5)  # type: ignore[arg-type]


async def test_async_with_an_execution() -> None:
    """`async with` an execution must raise an error that says what to write.

    The request that was sent is not reported as lost.
    """
    async with FakeNode() as node, aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        future: Any = session.execute("SELECT * FROM t")
        with pytest.raises(TypeError, match=r"write `result = await session\.execute"):
            async with future:
                pass
        assert future.cancelled()


async def test_a_statement_that_was_not_awaited() -> None:
    """The error for a statement that was not awaited must say where to write `await`."""
    async with FakeNode() as node, aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        prepared: Any = session.prepare("SELECT * FROM t")
        with pytest.raises(TypeError, match=r"write `await session\.prepare"):
            await session.execute(prepared)
        with pytest.raises(TypeError, match="write `async for row in"):
            iter(session.scan("system.local"))  # type: ignore[call-overload]
        result: Any = await session.execute("SELECT key FROM system.local")
        with pytest.raises(TypeError, match=r"write len\(await result\.fetch_all\(\)\)"):
            len(result)


def test_an_unknown_profile(session: Session) -> None:
    """The error for an unknown profile must say how to add it."""
    with pytest.raises(ValueError, match=r"write cluster\.add_execution_profile\('web', Exec"):
        session.execute("SELECT 1", execution_profile="web")


def test_a_paging_state_as_text(session: Session) -> None:
    """The error for a paging state as text must say how to convert it to bytes."""
    text: Any = "00ff"
    with pytest.raises(TypeError, match=r"is '00ff' \(str\).*bytes\.fromhex\(text\) reverses"):
        session.execute("SELECT 1", paging_state=text)


def test_a_host_of_another_cluster(session: Session) -> None:
    """The error for a host of another cluster must say so."""
    with FakeNode() as node, Cluster([node.address], port=node.port) as other_cluster:
        other_cluster.connect()
        (host,) = other_cluster.metadata.all_hosts()
        with pytest.raises(NoHostAvailable, match="is not in this cluster, or has left it"):
            session.execute("SELECT 1", host=host)


def test_calls_after_shutdown() -> None:
    """The error for a call after the shutdown must say to create another cluster."""
    with FakeNode() as node:
        cluster = Cluster([node.address], port=node.port)
        session = cluster.connect()
        cluster.shutdown()
        for call in (lambda: session.prepare("SELECT"), cluster.refresh_nodes, cluster.connect):
            with pytest.raises(ConnectionShutdown, match="the cluster is shut down: make a new"):
                call()


async def test_async_with_on_blocking_classes(session: Session) -> None:
    """The error for `async with` on blocking classes must name the asyncio API.

    It also says what to write.
    """
    for holder in (session, session.cluster):
        blocking: Any = holder
        with pytest.raises(TypeError, match="write `with`, or in coroutines use"):
            async with blocking:
                pass


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ConstantReconnectionPolicy(2000), "more than 33 min: write delay=2 for 2000 mill"),
        (lambda: ConstantReconnectionPolicy(5000), "write delay=5 for 5000 milliseconds"),
        (lambda: ExponentialReconnectionPolicy(1000, 60_000), "write max_delay=60 for 60000 mill"),
        (
            lambda: ExponentialBackoffRetryPolicy(3, max_interval=10_000),
            "write max_interval=10 for 10000 milliseconds",
        ),
        (lambda: RequestLogger(slow=500), "hardly any request is slow: write slow=0.5 for 500 m"),
    ],
)
def test_times_in_milliseconds_warn(call: Any, message: str) -> None:
    """A time that is unusually long in seconds must warn, since milliseconds were meant."""
    with pytest.warns(RuntimeWarning, match=message) as warned:
        call()
    assert warned[0].filename == __file__


def test_a_heartbeat_without_time_warns() -> None:
    """A timeout of heartbeats of 0 must warn, since each heartbeat would fail.

    Probably no heartbeats were meant.
    """
    with pytest.warns(RuntimeWarning, match="write idle_heartbeat_interval=0 for no"):
        Cluster(idle_heartbeat_timeout=0)


def test_usual_times_do_not_warn() -> None:
    """Times of up to an hour, a heartbeat interval of 0, and an infinite time must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConstantReconnectionPolicy(3600)
        ConstantReconnectionPolicy(1800)
        ConstantReconnectionPolicy(600)
        Cluster(idle_heartbeat_interval=0)
        ExponentialReconnectionPolicy(1, 600)
        RequestLogger(slow=float("inf"))


def test_swapped_session_and_statement(session: Session) -> None:
    """If session and statement are swapped, the error must say that the session comes first."""
    prepared: Any = object.__new__(PreparedStatement)
    second: Any = session
    with pytest.raises(TypeError, match="is the session, but is of type PreparedStatement"):
        execute_concurrent_with_args(prepared, second, [(1,)])


@pytest.mark.parametrize(
    ("timeout", "message"),
    [
        (datetime.timedelta(seconds=3), r"write timeout\.total_seconds\(\)"),
        ("a", r"execute\(query, \(first, second\)\)"),
        ("3", "but is '3' of type str$"),
    ],
)
def test_wrong_timeouts(session: Session, timeout: Any, message: str) -> None:
    """The error for a timeout that is no number must say what to write instead."""
    with pytest.raises(TypeError, match=message):
        session.execute("SELECT key FROM system.local", None, timeout)


@pytest.mark.parametrize(
    "pairs",
    [
        ["SELECT key FROM system.local"],
        [SimpleStatement("SELECT key FROM system.local")],
        [("SELECT key FROM system.local",)],
    ],
)
async def test_statements_without_parameters(session: Session, pairs: Any) -> None:
    """The error must say how to write a statement without parameters."""
    message = r"write \(statement, None\) for a statement without parameters"
    with pytest.raises(TypeError, match=message):
        execute_concurrent(session, pairs)
    async with FakeNode() as node, aio.Cluster([node.address], port=node.port) as cluster:
        aio_session = await cluster.connect()
        with pytest.raises(TypeError, match=message):
            aio_session.execute_concurrent(pairs)


def test_indexing_a_result_by_column_name(session: Session) -> None:
    result: Any = session.execute("SELECT key FROM system.local")
    with pytest.raises(TypeError, match=r"write result\.one\(\)\.key"):
        result["key"]


def test_rows_of_a_future_without_result(session: Session) -> None:
    """The error for rows of a future must say to call `result()`."""
    future: Any = session.execute_async("SELECT key FROM system.local")
    message = r"its rows are those of future\.result\(\)"
    with pytest.raises(TypeError, match=message):
        list(future)
    with pytest.raises(TypeError, match=message):
        future[0]
    # A future must not look like an iterable or a sequence to code that checks for one.
    assert not hasattr(future, "__getitem__")
    assert not isinstance(future, Iterable)
    future.result()


@pytest.mark.parametrize("name", ["add_callback", "add_errback"])
def test_callbacks_must_be_functions(session: Session, name: str) -> None:
    future = session.execute_async("SELECT key FROM system.local")
    with pytest.raises(TypeError, match="must be a function, but is 'print' of type str"):
        getattr(future, name)("print")
    future.result()


def test_a_scan_has_no_items(session: Session) -> None:
    scan: Any = session.scan("system.local")
    with pytest.raises(TypeError, match=r"does not support \[...\]: write session.scan\("):
        scan["key"]


async def test_a_scan_needs_no_closing(session: Session) -> None:
    """The error for `with` on a scan must say that it needs no closing."""
    blocking: Any = session.scan("system.local")
    with pytest.raises(TypeError, match="does not support `with`: it needs no closing"), blocking:
        pass
    async with FakeNode() as node, aio.Cluster([node.address], port=node.port) as cluster:
        scan: Any = (await cluster.connect()).scan("system.local")
        with pytest.raises(TypeError, match="write `async for row in scan`"):
            async with scan:
                pass


@pytest.mark.parametrize("name", sorted(_habits.ASYNC_RESULT))
def test_names_of_a_result_of_asyncio(name: str) -> None:
    """Names that a result of the asyncio API does not have must raise advice.

    It has no callbacks, and iterating over it is asynchronous.
    """
    result: Any = object.__new__(aio.ResultSet)
    with pytest.raises(AttributeError, match=r"this is the result already|`async for row in"):
        getattr(result, name)


@pytest.mark.parametrize("name", sorted(_habits.ROW))
def test_names_of_other_rows(name: str) -> None:
    """The error for a name of other rows must say how to read a column."""
    advice = r"write result\.was_applied" if name == "was_applied" else r"write row\.column"
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': .* {advice}"):
        getattr(row_class(("k", "v"))(1, 2), name)


def test_rows_are_read_only() -> None:
    row = row_class(("k", "get"))(1, 2)
    # If a row has a column of this name, reading it must return the column, not advice about dicts.
    assert row.get == 2
    assert "items" not in dir(row)
    with pytest.raises(AttributeError, match=r"write row = row\._replace\(k=\.\.\.\)"):
        row.k = 5
    with pytest.raises(AttributeError, match="has no attribute 'v', and takes none"):
        row.v = 5
    assert pickle.loads(pickle.dumps(row)) == row
    assert copy.deepcopy(row) == row


def test_columns_of_a_model_may_have_the_names_of_other_libraries() -> None:
    class Log(Model):
        query = columns.Text(primary_key=True)
        find = columns.Integer()

    assert Log(query="SELECT", find=3).query == "SELECT"


def notes_of(error: BaseException) -> list[str]:
    """Return the notes that were added to an error."""
    return list(vars(error)["__notes__"])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes are new in Python 3.11")
def test_missing_names_of_the_schema_suggest_existing_ones() -> None:
    with pytest.raises(KeyError) as caught:
        LazyMapping({"system": 1, "shop": 2}, str)["systen"]
    assert caught.value.args == ("systen",)
    assert notes_of(caught.value) == ["(did you mean 'system'? there are 'system', 'shop')"]
    with pytest.raises(KeyError) as caught:
        LazyMapping({}, str)["a"]
    assert notes_of(caught.value) == ["(there are none)"]
    with pytest.raises(KeyError) as caught:
        Cluster().metadata.keyspaces["shop"]
    assert caught.value.args == ("shop",)
    (note,) = notes_of(caught.value)
    assert note.startswith("(no keyspace is known: cluster.connect() reads them, unless")
    with pytest.raises(KeyError) as caught:
        # The message must show ten of the twelve names.
        LazyMapping(dict.fromkeys(map(str, range(12))), str)["a"]
    assert "'9' and 2 more" in notes_of(caught.value)[0]


@pytest.mark.parametrize("name", ["cassandra_client", "cassandra2.models"])
def test_a_warning_names_the_line_of_a_module_with_a_similar_name(name: str) -> None:
    """A warning must name the line of a module such as `cassandra_client`.

    It may have the code of an application.
    """
    code = "def warn(function):\n    function('timeout', 30000)\n"
    variables: dict[str, Any] = {"__name__": name}
    exec(compile(code, "of_the_application.py", "exec"), variables)
    with pytest.warns(RuntimeWarning, match="for 30000 milliseconds") as warned:
        variables["warn"](_habits.warn_of_milliseconds)
    assert (warned[0].filename, warned[0].lineno) == ("of_the_application.py", 2)


def test_the_frame_of_user_code_is_behind_the_frames_of_the_driver() -> None:
    """`frame_of_user_code` must skip the frames of the driver.

    The caller may be a function of the application, or one of the driver that it has called.
    """
    own_frame = sys._getframe()
    assert _habits.frame_of_user_code() is own_frame
    variables: dict[str, Any] = {"__name__": "cassandra.x", "find": _habits.frame_of_user_code}
    exec("def call():\n    return find()\n", variables)
    assert variables["call"]() is own_frame


@pytest.mark.parametrize("method", ["__reduce__", "__getstate__"])
def test_a_subclass_may_define_how_it_is_pickled(method: str) -> None:
    """`refuse_pickling` must not refuse a class that defines its own pickling methods."""

    class Plain:
        pass

    own = type("Own", (Plain,), {method: lambda self: None})
    with pytest.raises(TypeError, match=r"a Plain cannot be pickled or copied deeply: copy its id"):
        _habits.refuse_pickling(Plain(), "copy its id")
    _habits.refuse_pickling(own(), "copy its id")


def test_code_without_the_name_of_a_module_calls_the_driver() -> None:
    """Code whose globals have no module name must count as user code.

    The stack level of a warning that points to the caller of the function itself is 1.
    """
    variables: dict[str, Any] = {"__name__": None, "stack_level": _habits.stack_level}
    assert eval("stack_level()", variables) == 1
