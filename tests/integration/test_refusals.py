"""If a real server refuses a login or a request, a specific exception names the cause.

After a refused request, the session stays usable.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from cassandra import (
    AlreadyExists,
    AuthenticationFailed,
    ConsistencyLevel,
    InvalidRequest,
    Unauthorized,
    Unavailable,
    aio,
)
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.protocol import SyntaxException
from cassandra.testing import LocalCluster

from .conftest import connect, create_keyspace

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Fail the test if a thread of the driver is still running after the test."""
    threads_before = set(threading.enumerate())
    yield
    remaining_threads = [
        thread.name
        for thread in threading.enumerate()
        if thread not in threads_before and "cassandra" in thread.name
    ]
    assert remaining_threads == []


def login(local: LocalCluster, password: str) -> Cluster:
    """Return a cluster that logs in as the superuser with this password."""
    return connect(local, auth_provider=PlainTextAuthProvider("cassandra", password))


def test_the_right_password(guarded: LocalCluster) -> None:
    with login(guarded, "cassandra") as cluster, cluster.connect() as session:
        assert session.execute("SELECT key FROM system.local").one().key == "local"


def test_a_wrong_password_names_the_host_and_the_reason(guarded: LocalCluster) -> None:
    """The error has the address of the host, and says that the password is incorrect."""
    with login(guarded, "wrong") as cluster, pytest.raises(NoHostAvailable) as caught:
        cluster.connect()
    (error,) = caught.value.errors.values()
    assert isinstance(error, AuthenticationFailed)
    assert guarded.contact_points[0] in str(caught.value)
    assert "incorrect" in str(error)


def test_a_missing_auth_provider_is_named_in_the_error(guarded: LocalCluster) -> None:
    """The error names the missing setting and the server's authenticator."""
    with connect(guarded) as cluster, pytest.raises(NoHostAvailable) as caught:
        cluster.connect()
    (error,) = caught.value.errors.values()
    assert isinstance(error, AuthenticationFailed)
    assert "no auth_provider is configured" in str(error)
    assert "PasswordAuthenticator" in str(error)


def test_wrong_password_on_asyncio(guarded: LocalCluster) -> None:
    """The error of the asyncio API has the reason, too."""

    async def connect_with_wrong_password() -> None:
        """Connect with a wrong password, and check the error of the asyncio API."""
        provider = PlainTextAuthProvider("cassandra", "wrong")
        async with aio.Cluster(
            guarded.contact_points, port=guarded.port, auth_provider=provider
        ) as cluster:
            with pytest.raises(NoHostAvailable, match="AuthenticationFailed"):
                await cluster.connect()

    asyncio.run(connect_with_wrong_password())


def test_statements_without_permission(guarded: LocalCluster) -> None:
    """A role without the permission to create roles gets Unauthorized, which names the role."""
    with login(guarded, "cassandra") as cluster, cluster.connect() as session:
        session.execute("CREATE ROLE IF NOT EXISTS guest WITH PASSWORD = 'guest' AND LOGIN = true")
    provider = PlainTextAuthProvider("guest", "guest")
    with (
        connect(guarded, auth_provider=provider) as cluster,
        cluster.connect() as session,
        pytest.raises(Unauthorized, match="guest"),
    ):
        session.execute("CREATE ROLE other")


def test_a_keyspace_that_does_not_exist(node: LocalCluster) -> None:
    """`connect` with an unknown keyspace raises an error that names the keyspace, in both APIs."""
    with connect(node) as cluster, pytest.raises(InvalidRequest, match="nowhere"):
        cluster.connect("nowhere")

    async def connect_with_asyncio() -> None:
        async with aio.Cluster(node.contact_points, port=node.port) as aio_cluster:
            with pytest.raises(InvalidRequest, match="nowhere"):
                await aio_cluster.connect("nowhere")

    asyncio.run(connect_with_asyncio())


def test_syntax_errors_unknown_tables_and_existing_tables(
    node: LocalCluster, keyspace: str
) -> None:
    """Each refused statement raises its specific exception, and the session stays usable."""
    with connect(node) as cluster, cluster.connect(keyspace) as session:
        with pytest.raises(SyntaxException, match="SELEC"):
            session.execute("SELEC 1")
        with pytest.raises(InvalidRequest, match="nothing"):
            session.execute("SELECT * FROM nothing")
        with pytest.raises(SyntaxException):
            session.prepare("SELECT FROM WHERE ?")
        session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
        with pytest.raises(AlreadyExists) as caught:
            session.execute("CREATE TABLE t (k int PRIMARY KEY)")
        assert (caught.value.keyspace, caught.value.table) == (keyspace, "t")
        # The session still works.
        assert session.execute("SELECT * FROM t").all() == []


def test_errors_for_wrong_parameters_name_the_column_and_the_statement(
    node: LocalCluster, keyspace: str
) -> None:
    """The driver refuses parameters of a wrong number, type or name before it sends anything."""
    with connect(node) as cluster, cluster.connect(keyspace) as session:
        session.execute("CREATE TABLE t (k int PRIMARY KEY, v list<int>)")
        insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        with pytest.raises(ValueError, match=r"(?s)3.*2.*INSERT INTO t"):
            session.execute(insert, (1, [2], 3))
        with pytest.raises(TypeError, match=r"(?s)\"k\" \(int, Int32Type\).*'one'.*INSERT INTO t"):
            session.execute(insert, ("one", []))
        with pytest.raises(TypeError, match=r"(?s)\"v\" \(list<int>, .*element 1.*'x'"):
            session.execute(insert, (1, [1, "x"]))
        insert.strict_names = True
        with pytest.raises(ValueError, match="nobody"):
            session.execute(insert, {"k": 1, "v": [], "nobody": 2})
        with pytest.raises(TypeError, match="INSERT INTO t"):
            session.execute("INSERT INTO t (k, v) VALUES (%s, %s)", (1,))
        with pytest.raises(ValueError, match="INSERT INTO t"):
            session.execute("INSERT INTO t (k) VALUES (%(k)s)", {"q": 1})
        assert session.execute("SELECT * FROM t").all() == []


def test_a_quorum_of_all_data_centres_is_unavailable_on_one_node(node: LocalCluster) -> None:
    """A write at ALL to a keyspace with three replicas raises Unavailable on a single node."""
    with connect(node) as cluster, cluster.connect() as session:
        create_keyspace(session, "lonely", replicas=3)
        session.execute("CREATE TABLE IF NOT EXISTS lonely.t (k int PRIMARY KEY)")
        session.default_consistency_level = ConsistencyLevel.ALL
        with pytest.raises(Unavailable) as caught:
            session.execute("INSERT INTO lonely.t (k) VALUES (1)")
        assert (caught.value.required_replicas, caught.value.alive_replicas) == (3, 1)
        session.execute("DROP KEYSPACE lonely")
