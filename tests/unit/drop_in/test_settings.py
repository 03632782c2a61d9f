"""Settings have the effects that cassandra-driver documents, with both APIs."""

from __future__ import annotations

import inspect
import re
import socket
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

import cassandra
from cassandra import aio
from cassandra.client.settings.table import ClusterSettings
from cassandra.client.settings.texts import texts
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.errors import (
    ConnectionException,
    NoHostAvailable,
    OperationTimedOut,
    UnresolvableContactPoints,
    UserTypeDoesNotExist,
)
from cassandra.metadata.endpoint import DefaultEndPoint
from cassandra.policies import (
    ExponentialReconnectionPolicy,
    HostFilterPolicy,
    RoundRobinPolicy,
    WhiteListRoundRobinPolicy,
)
from cassandra.pool import Host
from cassandra.query import TraceUnavailable
from cassandra.testing.fake import FakeCluster, FakeNode, Opcode, Udt, rows, silence
from cassandra.versions import ProtocolVersion
from tests.waiting import result_of

CLUSTER_CLASSES = [Cluster, aio.Cluster]

Address = namedtuple("Address", ["street", "number"])
ADDRESS = Udt("ks", "address", (("street", "text"), ("number", "int")))


@pytest.fixture(params=CLUSTER_CLASSES, ids=["blocking", "asyncio"])
def cluster_class(request: pytest.FixtureRequest) -> Any:
    return request.param


# -- the protocol's version ------------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_the_negotiated_protocol_version_is_an_attribute(
    cluster_class: Any, version: int
) -> None:
    """After `connect`, `protocol_version` is the highest version that the node supports."""
    with FakeNode(max_version=version) as node:
        cluster = cluster_class([node.address], port=node.port, protocol_version=None)
        assert cluster.protocol_version == ProtocolVersion.MAX_SUPPORTED
        try:
            await result_of(cluster.connect())
            assert cluster.protocol_version == version
        finally:
            await result_of(cluster.shutdown())


async def test_a_protocol_version_argument_is_not_negotiated(cluster_class: Any) -> None:
    with FakeNode(max_version=3) as node:
        cluster = cluster_class([node.address], port=node.port, protocol_version=4)
        try:
            with pytest.raises(NoHostAvailable):
                await result_of(cluster.connect())
        finally:
            await result_of(cluster.shutdown())


async def test_a_protocol_version_can_be_set_before_connect(
    cluster_class: Any, node: FakeNode
) -> None:
    """A `protocol_version` that is assigned before `connect` is used."""
    cluster = cluster_class([node.address], port=node.port)
    cluster.protocol_version = 4
    try:
        await result_of(cluster.connect())
        assert cluster.protocol_version == 4
    finally:
        await result_of(cluster.shutdown())


# -- None ------------------------------------------------------------------------------------------


def test_none_means_the_default_or_off(cluster_class: Any) -> None:
    # All settings except these two may be None.
    setting_names = ClusterSettings._table.keys() - {"contact_points", "request_observers"}
    cluster = cluster_class(**dict.fromkeys(setting_names))
    settings = cluster._settings()
    assert cluster.port == 9042
    assert isinstance(cluster.reconnection_policy, ExponentialReconnectionPolicy)
    assert isinstance(settings.reconnection_policy, ExponentialReconnectionPolicy)
    assert settings.idle_heartbeat_interval is None
    assert settings.idle_heartbeat_timeout == 30
    assert settings.max_schema_agreement_wait == 10
    assert settings.schema_metadata_page_size == 1000
    assert settings.schema_event_refresh_window == 2
    assert callable(settings.conviction_policy_factory)
    assert settings.connect_timeout is None
    assert not settings.compression


async def test_a_session_works_without_heartbeats(cluster_class: Any, node: FakeNode) -> None:
    """With `idle_heartbeat_interval=None`, the session sends no heartbeats, and works."""
    cluster = cluster_class([node.address], port=node.port, idle_heartbeat_interval=None)
    try:
        session = await result_of(cluster.connect())
        await result_of(session.execute("SELECT 1"))
    finally:
        await result_of(cluster.shutdown())


# -- every setting is read -------------------------------------------------------------------------

# These settings are accepted for compatibility, but have no effect. For example, turbocql has no
# executor threads.
WITHOUT_EFFECT = {
    "executor_threads",
    "connection_class",
    "monitor_reporting_interval",
    "allow_control_connection_query_fallback",
}
# With these values, the settings raise NotImplementedError with advice.
REFUSED: dict[str, Any] = {"scylla_cloud": {}, "monitor_reporting_enabled": True}


def test_the_code_reads_every_setting() -> None:
    root = Path(cassandra.__file__).parent
    # Leave out the package `migrate`: its table of differences contains names of settings, but the
    # package does not read them.
    sources = {
        path: path.read_text() for path in root.rglob("*.py") if path.parent.name != "migrate"
    }
    unread = {
        name
        for name in ClusterSettings._table.keys() - {"contact_points", "execution_profiles"}
        if not any(f".{name}" in source or f', "{name}"' in source for source in sources.values())
    }
    # The code may ignore a setting only if its documentation says that it has no effect or is
    # refused.
    assert unread <= WITHOUT_EFFECT | REFUSED.keys()
    for name, argument in REFUSED.items():
        with pytest.raises(NotImplementedError, match=name):
            Cluster(**{name: argument})


async def test_settings_changed_after_connect_take_effect(
    cluster_class: Any, node: FakeNode
) -> None:
    cluster = cluster_class([node.address], port=node.port)
    try:
        await result_of(cluster.connect())
        cluster.max_schema_agreement_wait = 3
        cluster.control_connection_timeout = 0.25
        assert cluster._core.settings.max_schema_agreement_wait == 3
        with pytest.raises(ValueError, match="must not be negative"):
            cluster.schema_read_timeout = -1
        # From now on, the node does not respond to queries of the control connection.
        node.prime(Opcode.QUERY, silence())
        with pytest.raises(OperationTimedOut, match=r"0\.25"):
            await result_of(cluster.refresh_nodes())
    finally:
        await result_of(cluster.shutdown())


async def test_refresh_nodes_rebuilds_the_token_map_only_if_forced(
    cluster_class: Any, node: FakeNode
) -> None:
    """`refresh_nodes` rebuilds the token map of unchanged nodes only with `force_token_rebuild`."""
    cluster = cluster_class([node.address], port=node.port)
    try:
        await result_of(cluster.connect())
        version_before = cluster.metadata.placement_version
        await result_of(cluster.refresh_nodes())
        assert cluster.metadata.placement_version == version_before
        await result_of(cluster.refresh_nodes(force_token_rebuild=True))
        assert cluster.metadata.placement_version == version_before + 1
    finally:
        await result_of(cluster.shutdown())


# -- profiles --------------------------------------------------------------------------------------


async def test_adding_a_profile_waits_for_its_pools(cluster_class: Any) -> None:
    """`add_execution_profile` returns when the pools to all hosts of the new profile are open."""
    with FakeCluster(3) as nodes:
        first_address = nodes.contact_points[:1]
        only_first = WhiteListRoundRobinPolicy(first_address)
        profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(load_balancing_policy=only_first)}
        cluster = cluster_class(first_address, port=nodes.port, execution_profiles=profiles)
        try:
            session = await result_of(cluster.connect())
            assert len(session.get_pools()) == 1
            profile_of_all_hosts = ExecutionProfile(load_balancing_policy=RoundRobinPolicy())
            await result_of(cluster.add_execution_profile("wide", profile_of_all_hosts))
            assert len(session.get_pools()) == 3
        finally:
            await result_of(cluster.shutdown())


async def test_adding_a_profile_fails_if_its_pools_take_too_long(cluster_class: Any) -> None:
    """If the pools of a new profile do not open in time, OperationTimedOut is raised.

    The profile is added nevertheless.
    """
    with FakeCluster(2) as nodes:
        first, second = nodes.nodes
        only_first = HostFilterPolicy(
            RoundRobinPolicy(), lambda host: host.address == first.address
        )
        cluster = cluster_class(
            [first.address],
            port=nodes.port,
            execution_profiles={
                EXEC_PROFILE_DEFAULT: ExecutionProfile(load_balancing_policy=only_first)
            },
        )
        try:
            await result_of(cluster.connect())
            # From now on, the second node does not respond on new connections.
            second.prime(Opcode.OPTIONS, silence())
            second.prime(Opcode.STARTUP, silence())
            profile_of_all_hosts = ExecutionProfile(load_balancing_policy=RoundRobinPolicy())
            with pytest.raises(OperationTimedOut, match=r"'wide' were open within 0\.1 seconds"):
                await result_of(
                    cluster.add_execution_profile(
                        "wide", profile_of_all_hosts, pool_wait_timeout=0.1
                    )
                )
            assert "wide" in cluster.profile_manager.profiles
        finally:
            await result_of(cluster.shutdown())


# -- contact points --------------------------------------------------------------------------------


@pytest.fixture
def addresses_by_name(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Replace name resolution by a dict of names and addresses, which tests fill."""
    addresses: dict[str, list[str]] = {}

    def getaddrinfo(host: str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        """Resolve only the names in `addresses`, like `socket.getaddrinfo`."""
        if host not in addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses[host]
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return addresses


def test_names_are_resolved_at_construction(addresses_by_name: dict[str, list[str]]) -> None:
    """The constructor resolves the names of contact points, and leaves unknown names out.

    `contact_points` still has what was passed.
    """
    addresses_by_name["db"] = ["10.0.0.1", "10.0.0.2"]
    cluster = Cluster(["db", "unknown", "10.0.0.2", ("db", 9043)])
    assert cluster.endpoints_resolved == [
        DefaultEndPoint("10.0.0.1", 9042),
        DefaultEndPoint("10.0.0.2", 9042),
        DefaultEndPoint("10.0.0.1", 9043),
        DefaultEndPoint("10.0.0.2", 9043),
    ]
    assert cluster.contact_points == ["db", "unknown", "10.0.0.2", ("db", 9043)]


def test_if_no_name_can_be_resolved_the_error_lists_them(
    addresses_by_name: dict[str, list[str]],
) -> None:
    with pytest.raises(UnresolvableContactPoints, match="nowhere, elsewhere"):
        Cluster(["nowhere", ("elsewhere", 9042)])


def test_no_contact_points(cluster_class: Any) -> None:
    """Connecting a cluster without contact points raises NoHostAvailable."""
    assert cluster_class([]).endpoints_resolved == []
    with pytest.raises(NoHostAvailable, match="no contact points"):
        Cluster([]).connect()


def test_hosts_have_addresses_and_names_stay_contact_points(
    addresses_by_name: dict[str, list[str]], node: FakeNode
) -> None:
    """A host has the address that its name was resolved to.

    The control connection also keeps the name, because it may be resolved to another address later.
    """
    addresses_by_name["db"] = [node.address]
    with Cluster(["db"], port=node.port) as cluster:
        cluster.connect()
        assert [host.address for host in cluster.metadata.all_hosts()] == [node.address]
        core = cluster._core
        assert core is not None
        assert core.control._contacts.candidates() == [
            DefaultEndPoint(node.address, node.port),
            DefaultEndPoint("db", node.port),
        ]


# -- hosts -----------------------------------------------------------------------------------------


def test_hosts_compare_with_addresses_and_among_themselves() -> None:
    """A host equals its address, and hosts are ordered by their end points."""
    first, second = Host("10.0.0.1"), Host(DefaultEndPoint("10.0.0.2"))
    assert first == "10.0.0.1"
    assert first != "10.0.0.2"
    assert first.endpoint == DefaultEndPoint("10.0.0.1", 9042)
    assert first < second
    assert first <= second
    assert second >= first
    assert second > first
    assert first <= Host("10.0.0.1") >= first


# -- user-defined types ----------------------------------------------------------------------------


def add_address_type(node: FakeNode) -> None:
    """Add a keyspace with the user-defined type `address` to the node's schema."""
    node.schema = {
        "system_schema.keyspaces": [
            {
                "keyspace_name": "ks",
                "durable_writes": True,
                "replication": {"class": "SimpleStrategy", "replication_factor": "1"},
            }
        ],
        "system_schema.types": [
            {
                "keyspace_name": "ks",
                "type_name": "address",
                "field_names": ["street", "number"],
                "field_types": ["text", "int"],
            }
        ],
    }


@pytest.mark.parametrize("reads_schema", [True, False])
async def test_types_can_be_registered_before_connect(
    cluster_class: Any, node: FakeNode, reads_schema: bool
) -> None:
    """A class that is registered before `connect` is used for values that are read and written.

    This holds whether or not the cluster reads the schema.
    """
    add_address_type(node)
    node.prime("SELECT place", rows([("place", ADDRESS)], [(("Mall", 1),)]))
    cluster = cluster_class([node.address], port=node.port, schema_metadata_enabled=reads_schema)
    try:
        await result_of(cluster.register_user_type("ks", "address", Address))
        session = await result_of(cluster.connect())
        (row,) = (await result_of(session.execute("SELECT place"))).all()
        assert row.place == Address("Mall", 1)
        assert type(row.place) is Address
        await result_of(session.execute("INSERT %s", (Address("Mall", 2),)))
        assert node.queries()[-1].query == "INSERT {street : 'Mall' , number : 2}"
    finally:
        await result_of(cluster.shutdown())


async def test_a_type_created_later_can_be_registered(cluster_class: Any, node: FakeNode) -> None:
    """A type that is created after `connect` can be registered once the schema was read again."""
    cluster = cluster_class([node.address], port=node.port)
    try:
        session = await result_of(cluster.connect())
        with pytest.raises(UserTypeDoesNotExist, match=r"ks\.address"):
            await result_of(cluster.register_user_type("ks", "address", Address))
        add_address_type(node)
        await result_of(cluster.refresh_schema_metadata())
        await result_of(cluster.register_user_type("ks", "address", Address))
        await result_of(session.execute("INSERT %s", (Address("Mall", 2),)))
        assert node.queries()[-1].query == "INSERT {street : 'Mall' , number : 2}"
    finally:
        await result_of(cluster.shutdown())


async def test_a_cluster_that_is_shut_down_registers_nothing(cluster_class: Any) -> None:
    cluster = cluster_class(["127.0.0.1"])
    await result_of(cluster.shutdown())
    with pytest.raises(ConnectionException, match="shut down"):
        await result_of(cluster.register_user_type("ks", "address", Address))


# -- traces ----------------------------------------------------------------------------------------


async def test_reading_a_trace_is_limited_by_setting_and_argument(
    cluster_class: Any, node: FakeNode
) -> None:
    """`get_query_trace` gives up after its argument in seconds, or else after `max_trace_wait`."""
    cluster = cluster_class([node.address], port=node.port)
    try:
        session = await result_of(cluster.connect())
        result = await result_of(session.execute("SELECT 1", trace=True))
        session.max_trace_wait = 0.05
        # The tables of the trace stay empty, so the trace is never complete.
        node.prime(re.compile("system_traces"), rows([("duration", "int")], []))
        with pytest.raises(TraceUnavailable, match=r"0\.05 seconds"):
            await result_of(result.get_query_trace())
        with pytest.raises(TraceUnavailable, match=r"0\.01 seconds"):
            await result_of(result.get_query_trace(0.01))
    finally:
        await result_of(cluster.shutdown())


# -- every setting is explained --------------------------------------------------------------------


@pytest.mark.parametrize("cluster_class", CLUSTER_CLASSES)
def test_both_apis_document_every_setting(cluster_class: Any) -> None:
    fields = re.findall(r":param (\w+):", cluster_class.__doc__)
    assert fields == [*ClusterSettings._table, "settings"]
    assert all(texts().get(name) for name in ClusterSettings._table)


def test_the_description_of_a_setting_has_its_default_and_its_unit() -> None:
    docstring = " ".join((inspect.getdoc(Cluster) or "").split())
    assert ":param connect_timeout: seconds for opening a connection" in docstring
    for default in ("Default: 5.", "Default: SimpleConvictionPolicy.", "Default: None."):
        assert default in docstring
    assert "Default: ExponentialReconnectionPolicy(1.0, 600.0)." in docstring
    assert "Default: ProtocolVersion.MAX_SUPPORTED." in docstring
    # NOT_SET is an internal object, so no description of a setting may show it.
    assert "NOT_SET" not in docstring
