"""Sessions check their settings, and follow the default profile of their cluster.

The tests cover the blocking and the asyncio API.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import FallthroughRetryPolicy
from cassandra.protocol.opcodes import EXECUTE, QUERY
from cassandra.query import dict_factory
from cassandra.testing.fake import FakeNode, rows
from tests.waiting import result_of

WRONG_VALUES = [
    ("default_fetch_size", "x", TypeError, "must be a number of rows or None, but is 'x'"),
    ("default_fetch_size", 2.5, TypeError, "must be a number of rows or None, but is 2.5"),
    ("default_timeout", "abc", TypeError, "must be a number of seconds or None, but is 'abc'"),
    ("row_factory", 5, TypeError, "must be a function of column names and rows, but is 5"),
    ("timestamp_generator", 5, ValueError, "must be callable, but is 5"),
    (
        "default_serial_consistency_level",
        ConsistencyLevel.ONE,
        ValueError,
        "must be SERIAL or LOCAL_SERIAL, but is ONE",
    ),
]


@pytest.mark.parametrize(("name", "value", "error", "message"), WRONG_VALUES)
@pytest.mark.parametrize("session_class", [Session, aio.Session])
def test_impossible_values_are_refused_by_name(
    session_class: Any, name: str, value: Any, error: type[Exception], message: str
) -> None:
    # Settings are checked without a connection, so the test does not call the constructor.
    session = session_class.__new__(session_class)
    with pytest.raises(error, match=f"^{name} {message}"):
        setattr(session, name, value)


@pytest.mark.filterwarnings("ignore:default_fetch_size=-1 means one page:RuntimeWarning")
async def test_values_that_cassandra_driver_accepts_are_accepted() -> None:
    """A session's settings take the unusual values that cassandra-driver accepts."""

    def set_each_value(session: Any) -> None:
        # Each of these values can be assigned, and is stored unchanged.
        for name, values in (
            ("default_fetch_size", (0, -1, None, True, 7)),
            ("default_timeout", (0, -1, None, 0.5)),
            ("row_factory", (dict_factory,)),
            ("timestamp_generator", (None, lambda: 7)),
            ("default_serial_consistency_level", (None, ConsistencyLevel.SERIAL)),
        ):
            for value in values:
                setattr(session, name, value)
                assert getattr(session, name) is value

    with FakeNode() as node:
        with Cluster([node.address], port=node.port) as cluster:
            set_each_value(cluster.connect())
        async with aio.Cluster([node.address], port=node.port) as other:
            set_each_value(await other.connect())


def test_literals_of_user_types_quote_the_field_names_that_need_it() -> None:
    """In literals of user-defined types, names of fields are quoted if they need it.

    Names need quotes if they have capitals or special characters, or are reserved words of CQL
    (`order`, but not `key`).
    """

    class Address:
        def __init__(self, **fields: Any) -> None:
            vars(self).update(fields)

    # Three of the five names need quotes.
    names = ["street", "Zip Code", "order", 'a"b', "key"]
    fields = {"keyspace_name": "ks", "type_name": "address", "field_names": names}
    with FakeNode() as node:
        node.schema = {
            "system_schema.keyspaces": [{"keyspace_name": "ks", "replication": {}}],
            "system_schema.types": [{**fields, "field_types": ["text"] + ["int"] * 4}],
        }
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            cluster.register_user_type("ks", "address", Address)
            values = dict(zip(names, ("x", 5, 1, 2, 3), strict=True))
            session.execute("INSERT %s", (Address(**values),))
            literal = """{street : 'x' , "Zip Code" : 5 , "order" : 1 , "a""b" : 2 , key : 3}"""
            assert node.queries()[-1].query == f"INSERT {literal}"
            # A session whose creation has not ended, in another thread, is not among `sessions`
            # yet. It gets the classes that are registered meanwhile.
            del session.encoder.mapping[Address]
            cluster.sessions.discard(session)
            cluster.register_user_type("ks", "address", Address)
            cluster.sessions.add(session)
            session.execute("INSERT %s", (Address(**values),))
            assert node.queries()[-1].query == f"INSERT {literal}"


# -- the default profile ---------------------------------------------------------------------------

READ = "SELECT k FROM ks.t WHERE k = ?"
both_apis = pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])


class Requests:
    """Executes a query string and a prepared statement, to show a session's settings.

    The methods return the requests that the node has received, or the rows.

    :param node: a fake node that answers the query string and the query `READ`.
    :param prepared: the prepared statement of the query `READ`.
    """

    def __init__(self, node: FakeNode, prepared: Any) -> None:
        self._node = node
        self._prepared = prepared

    async def both(self, session: Any) -> tuple[Any, Any]:
        """Execute the query string and the prepared statement, and return both requests."""
        count = len(self._node.requests)
        await result_of(session.execute("SELECT k FROM ks.t"))
        await result_of(session.execute(self._prepared, (1,)))
        # Leave out other requests: during the execution, the driver may open pools and prepare the
        # statement there.
        text, prepared = (
            request
            for request in self._node.requests[count:]
            if request.opcode in {QUERY, EXECUTE} and "ks.t" in (request.query or "")
        )
        return text, prepared

    async def levels(self, session: Any) -> set[int]:
        """Execute both statements, and return the consistency levels of their requests."""
        return {request.consistency for request in await self.both(session)}

    async def row_types(self, session: Any) -> list[Any]:
        """Execute both statements, and return the class of the first row of each result."""
        results = [
            await result_of(session.execute("SELECT k FROM ks.t")),
            await result_of(session.execute(self._prepared, (1,))),
        ]
        return [type(result.one()) for result in results]


@asynccontextmanager
async def connected(cluster_class: Any, **settings: Any) -> AsyncIterator[tuple[Any, Any, Any]]:
    """Yield a connected cluster, a session, and its `Requests`."""
    with FakeNode() as node:
        columns = [("k", "int")]
        node.prime_prepare(READ, columns, columns)
        for query in (READ, "SELECT k FROM ks.t"):
            node.prime(query, rows(columns, [(1,)]))
        cluster = cluster_class([node.address], port=node.port, **settings)
        try:
            session = await result_of(cluster.connect())
            prepared = await result_of(session.prepare(READ))
            yield cluster, session, Requests(node, prepared)
        finally:
            await result_of(cluster.shutdown())


@both_apis
async def test_changes_of_the_default_profile_are_used_without_profiles(cluster_class: Any) -> None:
    """Without execution profiles, all sessions of a cluster use its default profile.

    If an old-style setting of a session, such as `default_consistency_level`, was set, later
    changes of the profile do not change this value for this session.
    """
    async with connected(cluster_class) as (cluster, session, requests):
        other = await result_of(cluster.connect())
        cluster.profile_manager.default.consistency_level = ConsistencyLevel.ALL
        assert await requests.levels(session) == {ConsistencyLevel.ALL}
        assert session.default_consistency_level == ConsistencyLevel.ALL
        # An old-style setting changes only its own session.
        session.default_consistency_level = ConsistencyLevel.TWO
        session.row_factory = dict_factory
        assert await requests.levels(session) == {ConsistencyLevel.TWO}
        assert await requests.levels(other) == {ConsistencyLevel.ALL}
        assert await requests.row_types(session) == [dict, dict]
        assert dict not in await requests.row_types(other)


@both_apis
@pytest.mark.parametrize("settings", [{}, {"execution_profiles": {"web": ExecutionProfile()}}])
async def test_a_replaced_default_profile_is_used(
    cluster_class: Any, settings: dict[str, Any]
) -> None:
    """If the default profile is replaced, alone or with all profiles, the new profile is used."""
    async with connected(cluster_class, **settings) as (cluster, session, requests):
        manager = cluster.profile_manager
        # The new profile has its own load-balancing policy, which must be notified of the hosts.
        manager.profiles[EXEC_PROFILE_DEFAULT] = ExecutionProfile(
            consistency_level=ConsistencyLevel.ALL
        )
        assert await requests.levels(session) == {ConsistencyLevel.ALL}
        manager.profiles = {
            EXEC_PROFILE_DEFAULT: ExecutionProfile(consistency_level=ConsistencyLevel.TWO)
        }
        assert await requests.levels(session) == {ConsistencyLevel.TWO}
        assert session.get_execution_profile(EXEC_PROFILE_DEFAULT) is manager.default


@both_apis
async def test_old_style_settings_are_kept_if_the_default_profile_is_replaced(
    cluster_class: Any,
) -> None:
    """After the default profile was replaced, old-style settings of a session still apply.

    An example is `default_consistency_level`, which is set on the session itself.
    """
    async with connected(cluster_class) as (cluster, session, requests):
        session.default_consistency_level = ConsistencyLevel.TWO
        cluster.profile_manager.profiles[EXEC_PROFILE_DEFAULT] = ExecutionProfile()
        assert await requests.levels(session) == {ConsistencyLevel.TWO}


@both_apis
async def test_a_wrong_old_style_setting_changes_nothing(cluster_class: Any) -> None:
    """If an old-style setting is refused, the session still follows the default profile."""
    async with connected(cluster_class) as (cluster, session, requests):
        with pytest.raises(TypeError, match=r"write ConsistencyLevel\.TWO"):
            session.default_consistency_level = "TWO"
        cluster.profile_manager.default.consistency_level = ConsistencyLevel.ALL
        assert await requests.levels(session) == {ConsistencyLevel.ALL}


# -- copies ----------------------------------------------------------------------------------------


@both_apis
async def test_settings_of_a_copy_hold_for_all_its_statements_and_only_for_them(
    cluster_class: Any,
) -> None:
    """Settings of a copied session apply to its own requests only.

    The original session keeps its settings.
    """
    async with connected(cluster_class) as (_cluster, session, requests):
        view = copy.copy(session)
        view.default_fetch_size = 7
        view.use_client_timestamp = False
        view.default_consistency_level = ConsistencyLevel.TWO
        view.row_factory = dict_factory
        # All requests of the copy have the copy's settings.
        for request in await requests.both(view):
            assert (request.page_size, request.timestamp) == (7, None)
        assert await requests.levels(view) == {ConsistencyLevel.TWO}
        assert await requests.row_types(view) == [dict, dict]
        # The requests of the original session still have its own settings.
        for request in await requests.both(session):
            assert request.page_size == 5000
            assert session.default_fetch_size == 5000
            assert request.timestamp is not None
        assert await requests.levels(session) == {ConsistencyLevel.LOCAL_ONE}
        assert dict not in await requests.row_types(session)


@both_apis
async def test_a_copy_begins_with_the_settings_of_its_original(cluster_class: Any) -> None:
    """Changes of a session after it was copied do not change the copy."""
    async with connected(cluster_class) as (_cluster, session, requests):
        session.default_consistency_level = ConsistencyLevel.TWO
        view = copy.copy(session)
        session.default_consistency_level = ConsistencyLevel.ALL
        assert await requests.levels(view) == {ConsistencyLevel.TWO}
        assert await requests.levels(session) == {ConsistencyLevel.ALL}


@both_apis
async def test_a_copy_follows_the_settings_of_the_cluster(cluster_class: Any) -> None:
    """A copy of a session uses the cluster's current default profile and policies.

    This holds even if the copy has its own setting.
    """
    async with connected(cluster_class) as (cluster, session, requests):
        view = copy.copy(session)
        cluster.profile_manager.profiles[EXEC_PROFILE_DEFAULT] = ExecutionProfile(
            consistency_level=ConsistencyLevel.ALL
        )
        assert await requests.levels(view) == {ConsistencyLevel.ALL}
        view.row_factory = dict_factory
        cluster.default_retry_policy = policy = FallthroughRetryPolicy()
        assert view._default_profile.retry_policy is policy


@both_apis
async def test_profiles_are_found_by_name_and_copied_with_changes(cluster_class: Any) -> None:
    """`get_execution_profile` accepts the name of a profile, or a profile, which it returns.

    Unknown names are refused. A clone does not change the original profile.
    """
    profile = ExecutionProfile(request_timeout=3.0)
    async with connected(cluster_class, execution_profiles={"own": profile}) as (_, session, _):
        assert session.get_execution_profile("own") is profile
        assert session.get_execution_profile(profile) is profile
        clone = session.execution_profile_clone_update("own", request_timeout=5.0)
        assert (clone.request_timeout, profile.request_timeout) == (5.0, 3.0)
        with pytest.raises(ValueError, match=r"no execution profile 'x'; there are .*'own'"):
            session.get_execution_profile("x")
        with pytest.raises(TypeError, match=r"is the class ExecutionProfile: write Execution.*\("):
            session.get_execution_profile(ExecutionProfile)


@both_apis
async def test_the_capacity_is_the_number_of_streams_of_all_connections(
    cluster_class: Any,
) -> None:
    async with connected(cluster_class) as (_cluster, session, _requests):
        (pool,) = session.get_pools()
        capacity = sum(connection.stream_limit for connection in pool.connections)
        assert session.request_capacity == capacity > 0
