"""Test the registry of the object mapper's connections (`cassandra.cqlengine.connection`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import ExecutionProfile
from cassandra.cqlengine import CQLEngineException, columns, connection
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, ContextQuery
from cassandra.encoder import Encoder
from cassandra.errors import NoHostAvailable, UserTypeDoesNotExist
from cassandra.query import BatchStatement, PreparedStatement, SimpleStatement
from cassandra.query.row_factories import dict_factory, named_tuple_factory, tuple_factory
from cassandra.testing.fake import FakeNode

from .conftest import FakeSession


class Registered(Model):
    __keyspace__ = "ks"
    p = columns.Integer(primary_key=True)
    a = columns.Integer()


def test_the_default_connection_has_a_name(session: FakeSession) -> None:
    """The name "default" also returns the default connection."""
    assert connection.get_connection("default") is connection.get_connection()
    connection.unregister_connection("default")
    with pytest.raises(CQLEngineException):
        connection.get_connection()


def test_registering_a_name_again_replaces_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    """Registering a name again replaces the connection, and logs a warning."""
    caplog.set_level(logging.WARNING)
    sessions: list[Any] = [FakeSession(), FakeSession()]
    for session in sessions:
        connection.register_connection("again", session=session)
    assert connection.get_session("again") is sessions[1]
    assert "in the registry already" in caplog.text
    connection.unregister_connection("again")


def test_an_instance_is_written_on_its_own_connection(session: FakeSession) -> None:
    """An instance with its own connection is written and deleted on this connection."""
    other_session: Any = FakeSession()
    connection.register_connection("other", session=other_session)
    row: Any = Registered(p=1, a=2)
    row.__connection__ = "other"
    row.save()
    row.delete()
    assert len(other_session.executions) == 2
    assert session.executions == []
    connection.unregister_connection("other")


def test_a_queryset_in_a_batch_cannot_change_its_connection() -> None:
    """A queryset in a batch refuses another connection."""
    with pytest.raises(CQLEngineException, match="batch mode"):
        Registered.objects.batch(BatchQuery()).using(connection="other")


def test_a_context_does_not_connect_before_its_first_statement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ContextQuery with a lazy connection does not connect."""
    lazy_connection = connection.register_connection("later", ["192.0.2.1"], lazy_connect=True)
    setup_calls: list[str] = []
    monkeypatch.setattr(lazy_connection, "setup", lambda: setup_calls.append("connect"))
    with ContextQuery(Registered, connection="later") as _:
        assert setup_calls == []
    connection.unregister_connection("later")
    # `ContextQuery` checks the connection's name when it is created.
    with pytest.raises(CQLEngineException):
        ContextQuery(Registered, connection="later")


@pytest.mark.parametrize(
    "statement",
    [
        SimpleStatement("INSERT INTO t (k) VALUES (1)"),
        BatchStatement(),
        PreparedStatement(
            column_metadata=[],
            query_id=b"id",
            routing_key_indexes=[],
            query="INSERT INTO t (k) VALUES (1)",
            keyspace="ks",
            protocol_version=4,
            result_metadata=None,
            result_metadata_id=None,
        ).bind(()),
    ],
)
def test_the_connection_s_consistency_level_is_not_set_on_the_statement(
    session: FakeSession, statement: Any
) -> None:
    """The connection's consistency level is set on a copy of the statement.

    The application may use the statement elsewhere, so `connection.execute` must not change it.
    """
    connection.get_connection().consistency = ConsistencyLevel.QUORUM
    connection.execute(statement)
    connection.execute(statement, consistency_level=ConsistencyLevel.ALL)
    assert [request.consistency for request in session.executions] == [
        ConsistencyLevel.QUORUM,
        ConsistencyLevel.ALL,
    ]
    assert statement.consistency_level is None
    assert type(session.executions[0].statement) is type(statement)


# -- connecting ------------------------------------------------------------------------------------


class FakeCluster:
    """A fake `Cluster` that records how the mapper uses it.

    :param error: the exception that `connect` raises; None to connect.
    """

    created: list[FakeCluster] = []
    error: BaseException | None = None

    def __init__(self, hosts: Any, **options: Any) -> None:
        self.hosts, self.options = hosts, options
        self.session = FakeSession()
        self.session.cluster = self  # type: ignore[assignment]
        self.shutdowns = 0
        self.types: list[tuple[str, str, type]] = []
        self.column_encryption_policy = None
        self.created.append(self)

    def connect(self) -> FakeSession:
        if self.error is not None:
            raise self.error
        return self.session

    def register_user_type(self, keyspace: str, name: str, cls: type) -> None:
        if name == "missing":
            raise UserTypeDoesNotExist("there is no such type")
        self.types.append((keyspace, name, cls))

    def shutdown(self) -> None:
        self.shutdowns += 1


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FakeCluster]]:
    """Yield the list of clusters that the mapper creates during the test.

    The registry of connections is empty before and after the test.
    """
    monkeypatch.setattr(FakeCluster, "created", [])
    monkeypatch.setattr(FakeCluster, "error", None)
    monkeypatch.setattr(connection, "Cluster", FakeCluster)
    monkeypatch.setattr(connection, "udt_by_keyspace", {})
    yield FakeCluster.created
    for name in list(connection._connections):
        connection.unregister_connection(name)
    connection.set_default_keyspace(None)


def module_attributes() -> tuple[Any, Any]:
    """Return the module's attributes `cluster` and `session`, for the default connection."""
    return connection.cluster, connection.session


def unreachable() -> NoHostAvailable:
    """Return the error of a connection attempt that reaches no host."""
    return NoHostAvailable("no host", errors={})


def test_setup_connects_the_default_connection(clusters: list[FakeCluster]) -> None:
    """`setup` connects, and sets the default connection, keyspace and consistency level."""
    connection.setup(["10.0.0.1"], "ks", consistency=ConsistencyLevel.ONE, port=9999)
    (cluster,) = clusters
    assert cluster.hosts == ["10.0.0.1"]
    assert cluster.options == {"port": 9999}
    assert connection.get_session() is connection.session
    assert cluster.session is connection.session
    assert connection.get_cluster() is connection.cluster
    assert cluster is connection.cluster
    assert connection.default_keyspace() == "ks"
    session: Any = cluster.session
    assert session.row_factory is dict_factory
    assert session.default_consistency_level == ConsistencyLevel.ONE


@pytest.mark.usefixtures("clusters")
def test_literals_of_tuples_are_for_tuple_columns() -> None:
    """With the mapper, ``%s`` writes a tuple in parentheses, unless the application has changed it.

    Applications written for cassandra-driver rely on this.
    """
    session: Any = FakeSession()
    session.encoder = Encoder()
    connection.set_session(session)
    assert session.encoder.cql_encode_all_types((1, "a")) == "(1, 'a')"
    other_session: Any = FakeSession()
    other_session.encoder = Encoder()
    other_session.encoder.mapping[tuple] = str
    connection.register_connection("own", session=other_session)
    assert other_session.encoder.mapping[tuple] is str


def test_without_hosts_the_cluster_has_its_default(clusters: list[FakeCluster]) -> None:
    """Without hosts, the cluster uses its default contact points, for which NOT_SET is passed."""
    connection.default()
    connection.setup(hosts=None, default_keyspace="ks")
    assert [cluster.hosts for cluster in clusters] == [connection.NOT_SET] * 2


def test_without_a_level_the_sessions_level_is_not_changed(clusters: list[FakeCluster]) -> None:
    """Without a consistency level, `setup` does not change the session's level."""
    connection.setup(["10.0.0.1"], "ks")
    assert not hasattr(clusters[0].session, "default_consistency_level")


def test_a_session_with_profiles_keeps_its_settings(
    clusters: list[FakeCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`setup` works with a session that has execution profiles and so refuses a row factory.

    The mapper ignores the session's error, because the mapper sets the row factory of each result.
    """

    def refuse(session: Any, value: Any) -> None:
        raise ValueError("the session has execution profiles")

    monkeypatch.setattr(FakeSession, "row_factory", property(None, refuse), raising=False)
    connection.setup(["10.0.0.1"], "ks")
    assert connection.get_session() is clusters[0].session


@pytest.mark.usefixtures("clusters")
@pytest.mark.parametrize(
    ("row_factory", "expected"),
    [(named_tuple_factory, dict_factory), (tuple_factory, tuple_factory)],
)
def test_statements_of_an_adopted_session_return_dicts(row_factory: Any, expected: Any) -> None:
    """A session passed to the mapper returns rows as dicts, unless it has its own row factory.

    Applications written for cassandra-driver rely on dicts.
    """
    for register in (
        connection.set_session,
        lambda session: connection.register_connection("own", session=session),
    ):
        session: Any = FakeSession()
        session.row_factory = row_factory
        register(session)
        assert session.row_factory is expected


@pytest.mark.usefixtures("clusters")
@pytest.mark.parametrize(
    ("row_factory", "expected"),
    [(named_tuple_factory, dict_factory), (tuple_factory, tuple_factory)],
)
def test_statements_of_an_adopted_session_with_profiles(
    row_factory: Any, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A passed session with execution profiles gets the dict factory in its default profile.

    cassandra-driver does the same. A row factory that the application has set is kept.
    """

    def refuse(session: Any, value: Any) -> None:
        raise ValueError("the session has execution profiles")

    profile = ExecutionProfile(row_factory=row_factory)
    own_row_factory = property(lambda session: profile.row_factory, refuse)
    monkeypatch.setattr(FakeSession, "row_factory", own_row_factory, raising=False)
    session: Any = FakeSession()
    session.cluster = SimpleNamespace(profile_manager=SimpleNamespace(default=profile))
    connection.set_session(session)
    assert profile.row_factory is expected


def test_setting_up_again_shuts_the_old_cluster_down(clusters: list[FakeCluster]) -> None:
    """A second `setup` shuts the first cluster down."""
    for _ in range(2):
        connection.setup(["10.0.0.1"], "ks")
    assert [cluster.shutdowns for cluster in clusters] == [1, 0]
    assert connection.get_cluster("default") is clusters[1]
    connection.unregister_connection("default")
    assert [cluster.shutdowns for cluster in clusters] == [1, 1]
    assert module_attributes() == (None, None)


def test_setup_keeps_a_named_connection_that_was_the_default(
    clusters: list[FakeCluster],
) -> None:
    """`setup` does not shut down a named connection that was the default connection."""
    connection.register_connection("named", ["10.0.0.1"], default=True)
    connection.setup(["10.0.0.2"], "ks")
    assert clusters[0].shutdowns == 0
    assert connection.get_cluster("named") is clusters[0]
    assert connection.get_cluster() is clusters[1]


@pytest.mark.parametrize("is_default", [True, False])
def test_the_module_has_only_the_default_connection(
    clusters: list[FakeCluster], is_default: bool
) -> None:
    """The module's attributes have the cluster and session of the default connection only."""
    connection.register_connection("named", ["10.0.0.1"], default=is_default)
    assert connection.cluster is (clusters[0] if is_default else None)
    assert connection.session is (clusters[0].session if is_default else None)


def test_a_failed_connect_shuts_the_cluster_down_and_registers_nothing(
    clusters: list[FakeCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed connect shuts the cluster down, and registers no connection."""
    monkeypatch.setattr(FakeCluster, "error", unreachable())
    with pytest.raises(NoHostAvailable):
        connection.register_connection("named", ["10.0.0.1"])
    with pytest.raises(CQLEngineException, match="'named' doesn't exist in the registry"):
        connection.get_connection("named")
    with pytest.raises(NoHostAvailable):
        connection.setup(["10.0.0.1"], "ks")
    with pytest.raises(CQLEngineException, match="there is no default connection"):
        connection.get_connection()
    assert [cluster.shutdowns for cluster in clusters] == [1, 1]


@pytest.mark.parametrize("name", [None, "named"])
def test_with_retry_the_first_use_connects_after_a_failure(
    clusters: list[FakeCluster],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str | None,
) -> None:
    """With `retry_connect`, a failed connection attempt is logged.

    Each use of the connection tries again.

    :param name: the name of the connection, or None for the default connection.
    """
    monkeypatch.setattr(FakeCluster, "error", unreachable())
    if name is None:
        connection.setup(["10.0.0.1"], "ks", retry_connect=True)
    else:
        connection.register_connection(name, ["10.0.0.1"], retry_connect=True)
    assert "it is tried again when it is used next" in caplog.text
    with pytest.raises(NoHostAvailable):
        connection.get_session(name)
    monkeypatch.setattr(FakeCluster, "error", None)
    assert connection.get_session(name) is clusters[-1].session
    # There was one cluster for each attempt: in `setup` (or `register_connection`), at the first
    # use, which also failed, and at the second use.
    assert len(clusters) == 3
    assert connection.session is (clusters[-1].session if name is None else None)


def test_a_lazy_connection_connects_once_when_it_is_used(clusters: list[FakeCluster]) -> None:
    """A lazy connection connects at its first use, and only once."""
    connection.setup(["10.0.0.1"], "ks", lazy_connect=True)
    assert clusters == []
    assert module_attributes()[1] is None
    for _ in range(2):
        assert connection.get_session() is clusters[0].session
    assert module_attributes()[1] is clusters[0].session
    assert len(clusters) == 1


def test_a_closed_connection_is_not_connected_again(clusters: list[FakeCluster]) -> None:
    """A connection that was closed raises an error instead of connecting again."""
    connection.register_connection("named", ["10.0.0.1"])
    named_connection = connection.get_connection("named")
    named_connection.close()
    with pytest.raises(CQLEngineException, match="the connection 'named' is not connected"):
        named_connection.handle_lazy_connect()


def test_a_session_of_the_application_is_not_shut_down(clusters: list[FakeCluster]) -> None:
    """The mapper does not shut down a session that the application has passed."""
    cluster = FakeCluster([])
    session: Any = cluster.session
    connection.register_connection("named", session=session)
    connection.unregister_connection("named")
    assert cluster.shutdowns == 0
    connection.set_session(session)
    assert connection.default_keyspace() == "ks"  # This is the session's own keyspace.
    connection.unregister_connection("default")
    assert cluster.shutdowns == 0


@pytest.mark.parametrize(
    "setting",
    [
        {"hosts": []},
        {"consistency": ConsistencyLevel.ONE},
        {"lazy_connect": True},
        {"retry_connect": True},
        {"cluster_options": {"port": 1}},
    ],
    ids=str,
)
def test_a_session_and_settings_of_a_new_one_exclude_each_other(setting: dict[str, Any]) -> None:
    """`register_connection` refuses a session together with settings for a new session."""
    session: Any = FakeSession()
    with pytest.raises(CQLEngineException, match="mutually exclusive"):
        connection.register_connection("named", session=session, **setting)


# -- names -----------------------------------------------------------------------------------------


def test_a_missing_connection_is_named_with_those_that_there_are(
    clusters: list[FakeCluster],
) -> None:
    """The error for an unknown connection names the registered connections."""
    with pytest.raises(CQLEngineException, match=r"'gone' doesn't .* \(which has none\)"):
        connection.get_connection("gone")
    connection.register_connection("here", ["10.0.0.1"], default=True)
    with pytest.raises(CQLEngineException, match=r"'gone' doesn't .* \(which has 'here'\)"):
        connection.get_connection("gone")
    with pytest.raises(CQLEngineException, match="Connection 'gone' doesn't exist"):
        connection.set_default_connection("gone")
    connection.unregister_connection("gone")
    assert connection.get_cluster() is clusters[0]


def test_another_connection_can_become_the_default(clusters: list[FakeCluster]) -> None:
    """`set_default_connection` chooses the default connection.

    If the default connection is removed, the other connections are kept.
    """
    for host in ("10.0.0.1", "10.0.0.2"):
        connection.register_connection(host, [host])
    connection.set_default_connection("10.0.0.2")
    assert connection.get_cluster() is clusters[1]
    assert module_attributes()[0] is clusters[1]
    # After the default connection was removed, there is no default connection. The other connection
    # is kept.
    connection.unregister_connection("10.0.0.2")
    assert module_attributes()[0] is None
    with pytest.raises(CQLEngineException, match="there is no default connection"):
        connection.get_connection()
    assert connection.get_cluster("10.0.0.1") is clusters[0]


def test_labels_of_connections() -> None:
    """In messages, a connection has its name in quotes; the default connection is the exception.

    It is called DEFAULT_CONNECTION, like the constant for its name.
    """
    assert connection.Connection("here", hosts=None).label == "'here'"
    default = connection.Connection(connection.DEFAULT_CONNECTION, hosts=None)
    assert default.label == "DEFAULT_CONNECTION"
    assert repr(default.name) == "DEFAULT_CONNECTION"


def test_names_of_cassandra_drivers_module(clusters: list[FakeCluster]) -> None:
    """`cql_cluster` and `cql_session` are also names of the attributes `cluster` and `session`.

    cassandra-driver has these names.
    """
    module: Any = connection
    assert (module.cql_cluster, module.cql_session) == (None, None)
    connection.setup(["10.0.0.1"], "ks")
    assert module.cql_cluster is clusters[0]
    assert module.cql_session is clusters[0].session
    with pytest.raises(AttributeError, match="has no attribute 'cql_other'"):
        _ = module.cql_other


# -- prepared statements ---------------------------------------------------------------------------


def test_prepared_statements_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepared statements are cached up to a limit, after which the cache is cleared.

    In this test, the limit is 2.
    """
    monkeypatch.setattr(connection, "MOST_PREPARED", 2)
    mapper_connection = connection.Connection("here", hosts=None)
    statements: dict[str, Any] = {query: SimpleNamespace() for query in "abc"}
    for query in "ab":
        assert mapper_connection.keep(query, statements[query]) is statements[query]
    assert mapper_connection.prepared == {"a": statements["a"], "b": statements["b"]}
    mapper_connection.keep("c", statements["c"])
    assert mapper_connection.prepared == {"c": statements["c"]}
    # When the columns of a statement have changed, the statement is removed, so that it will be
    # prepared again.
    statements["c"].when_changed()
    assert mapper_connection.prepared == {}


def test_another_session_has_no_prepared_statements() -> None:
    """If a connection gets another session, its prepared statements are removed."""
    sessions: list[Any] = [FakeSession(), FakeSession()]
    mapper_connection = connection.Connection.from_session("here", sessions[0])
    statement: Any = SimpleNamespace()
    mapper_connection.keep("a", statement)
    mapper_connection.adopt(sessions[1], owned=False)
    assert mapper_connection.prepared == {}
    assert mapper_connection.session is sessions[1]


# -- user-defined types ----------------------------------------------------------------------------


class Address:
    """A class of an application for the values of a user-defined type."""


def test_declared_types_are_registered_on_each_new_connection(clusters: list[FakeCluster]) -> None:
    """Declared user-defined types are registered on each new connection.

    Types of the keyspace None belong to the default keyspace, which is known only after `setup`. A
    type that the server does not have is left out.
    """
    connection.udt_by_keyspace.update(
        {"other": {"address": Address, "missing": Address}, None: {"place": Address}}
    )
    connection.register_connection("early", ["10.0.0.1"])
    assert clusters[0].types == [("other", "address", Address)]
    connection.setup(["10.0.0.1"], "ks")
    assert clusters[1].types == [("other", "address", Address), ("ks", "place", Address)]
    session: Any = FakeCluster([]).session
    connection.set_session(session)
    assert clusters[2].types == clusters[1].types


@pytest.mark.parametrize("name", [None, "named"])
def test_a_type_that_is_declared_later_is_registered_at_once(
    clusters: list[FakeCluster], monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    """A type that is declared after connecting is registered on its connection at once."""
    monkeypatch.setattr(connection, "udt_by_keyspace", {"other": {}})
    # There is no connection yet, so the type is only stored, and will be registered when
    # connecting.
    connection.register_udt("other", "address", Address, connection=name)
    assert connection.udt_by_keyspace == {"other": {"address": Address}}
    connection.setup(["10.0.0.1"], "ks")
    connection.register_connection("named", ["10.0.0.2"])
    for cluster in clusters:
        cluster.types.clear()
    connection.register_udt("other", "place", Address, connection=name)
    default_cluster, named_cluster = clusters
    registered, other = default_cluster, named_cluster
    if name == "named":
        registered, other = other, registered
    assert registered.types == [("other", "place", Address)]
    assert other.types == []


# -- executing -------------------------------------------------------------------------------------


def test_execute_sends_the_query_with_its_values_and_timeout(session: FakeSession) -> None:
    """`connection.execute` sends the query with its values and timeout, and returns dicts."""
    session.return_row(k=1)
    result = connection.execute("SELECT k FROM t WHERE k = %s", (1,), timeout=7)
    assert result.one() == {"k": 1}
    assert session.last_statement == ("SELECT k FROM t WHERE k = %s", [1])
    assert session.executions[-1].timeout == 7
    assert session.executions[-1].consistency is None


def test_the_level_of_the_call_comes_before_the_statements_and_the_connections(
    session: FakeSession,
) -> None:
    """The consistency level of a call precedes the statement's, then comes the connection's."""
    statement_at_two = SimpleStatement("SELECT 1", consistency_level=ConsistencyLevel.TWO)
    connection.execute(statement_at_two)
    connection.get_connection().consistency = ConsistencyLevel.QUORUM
    connection.execute("SELECT 1")
    connection.execute(statement_at_two)
    connection.execute(statement_at_two, consistency_level=ConsistencyLevel.ALL)
    assert [request.consistency for request in session.executions] == [
        ConsistencyLevel.TWO,
        ConsistencyLevel.QUORUM,
        ConsistencyLevel.TWO,
        ConsistencyLevel.ALL,
    ]
    # The call with ALL has not changed the statement's level.
    assert statement_at_two.consistency_level == ConsistencyLevel.TWO


def test_a_prepared_statement_is_bound(session: FakeSession) -> None:
    """`connection.execute` binds a prepared statement, with or without values."""
    prepared = PreparedStatement(
        column_metadata=[],
        query_id=b"id",
        routing_key_indexes=[],
        query="SELECT 1",
        keyspace="ks",
        protocol_version=4,
        result_metadata=None,
        result_metadata_id=None,
    )
    connection.execute(prepared)
    connection.execute(prepared, params=())
    for request in session.executions:
        assert request.statement.prepared_statement is prepared


def test_other_queries_are_refused(session: FakeSession) -> None:
    """`connection.execute` refuses a query that is neither a string nor a statement."""
    query: Any = 5
    with pytest.raises(CQLEngineException, match="a query is a str or a statement, not 5"):
        connection.execute(query)
    assert session.executions == []


def test_a_connection_of_asyncio_cannot_be_used_by_a_blocking_call(session: FakeSession) -> None:
    """A blocking call on an asyncio connection is refused, and the error names `aexecute`."""
    connection.get_connection().is_async = True
    with pytest.raises(CQLEngineException, match=r"await connection\.aexecute"):
        connection.execute("SELECT 1")


async def test_a_blocking_connection_cannot_be_awaited(session: FakeSession) -> None:
    """Awaiting `aexecute` on a blocking connection is refused, and the error names `execute`."""
    with pytest.raises(CQLEngineException, match=r"use connection\.execute"):
        await connection.aexecute("SELECT 1")


def test_what_is_no_session_is_refused() -> None:
    """`set_session` refuses an object that is not a session, and says what to write."""
    set_session: Any = connection.set_session
    with pytest.raises(TypeError, match=r"not an object of type str: connect a cluster"):
        set_session("ks")
    with pytest.raises(TypeError, match=r"write cluster\.connect\(\)"):
        set_session(SimpleNamespace(connect=None))


def test_a_missing_keyspace_gets_an_example() -> None:
    """The error for a `setup` without a keyspace shows a correct call."""
    setup: Any = connection.setup
    with pytest.raises(TypeError, match=r"setup\(\) needs default_keyspace: write setup\(\['10\."):
        setup(["10.0.0.1"], keyspace="ks")


async def test_models_stay_in_the_keyspace_of_the_connection_until_another_one_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While `asetup` connects, and if that fails, models are written to the old connection."""
    monkeypatch.setattr(connection, "_default_keyspace", ["staging"])
    keyspaces: list[str | None] = []

    async def fail(self: Any) -> None:
        keyspaces.append(connection.default_keyspace())
        raise NoHostAvailable("nobody is there", {})

    monkeypatch.setattr(connection.Connection, "asetup", fail)
    with pytest.raises(NoHostAvailable):
        await connection.asetup(["10.0.0.1"], "production")
    assert [*keyspaces, connection.default_keyspace()] == ["staging", "staging"]


async def test_a_second_asetup_on_another_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster of a loop that has ended cannot be shut down; `asetup` connects all the same."""

    async def refuse(self: Any) -> None:
        raise RuntimeError("the cluster belongs to another event loop")

    with FakeNode() as node:
        clusters = []
        for _ in range(2):
            await connection.asetup([node.address], "ks", port=node.port)
            clusters.append(connection.get_cluster())
            monkeypatch.setattr(connection.Connection, "aclose", refuse)
        assert clusters[0] is not clusters[1]
        monkeypatch.undo()
        await connection.aunregister_connection()
        await clusters[0].shutdown()


async def test_a_second_asetup_shuts_down_the_cluster_of_the_first_one() -> None:
    """`asetup` shuts the previous cluster down, unless its connection has another name."""
    with FakeNode() as node:
        clusters = []
        for name in (None, "reports", None):
            await connection.asetup([node.address], "ks", port=node.port)
            clusters.append(connection.get_cluster())
            if name:
                connection._connections[name] = connection.get_connection()
        assert [cluster.is_shutdown for cluster in clusters] == [True, False, False]
        await connection.aunregister_connection()
        await connection.aunregister_connection("reports")
        assert all(cluster.is_shutdown for cluster in clusters)
