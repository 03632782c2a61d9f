"""Test the checks of ``python -m cassandra.doctor`` on a connected cluster.

The second argument of a check is its timeout in seconds.
"""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.doctor import checks
from cassandra.doctor.findings import OK, PROBLEM, WARNING, Finding
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.engine.handshake import _describe_timeout
from cassandra.metadata.placement.replication import NetworkTopologyStrategy, SimpleStrategy
from cassandra.policies import RoundRobinPolicy
from cassandra.testing.fake import FakeCluster, FakeNode, Scylla, rows, silence
from tests.waiting import WAIT


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield two fake nodes."""
    with FakeCluster(2) as running:
        yield running


@pytest.fixture
def session(nodes: FakeCluster) -> Iterator[Session]:
    """Yield a session that is connected to both nodes."""
    with connected(nodes) as cluster:
        yield cluster.connect(wait_for_all_pools=True)


def connected(nodes: FakeCluster) -> Cluster:
    """Return an unconnected cluster object whose requests use all nodes in turn."""
    profile = ExecutionProfile(RoundRobinPolicy())
    return Cluster(
        [nodes[0].address], port=nodes.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
    )


def levels(findings: Any) -> list[str]:
    """Return the level of each finding."""
    return [finding.level for finding in findings]


def test_hosts_that_are_up(session: Session) -> None:
    """For each host that is up, there is a finding of level OK."""
    assert levels(checks.hosts(session, WAIT)) == [OK, OK]


def test_an_unreachable_host_is_a_problem_with_advice() -> None:
    """An unreachable host has a finding with advice about its address."""
    with FakeCluster(2) as nodes:
        nodes[1].refuse_connections()
        with connected(nodes) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            findings = {finding.subject: finding for finding in checks.hosts(session, WAIT)}
    finding_of_stopped_node = findings[f"{nodes[1].address}:{nodes.port}"]
    assert finding_of_stopped_node.level == PROBLEM
    assert finding_of_stopped_node.do


def test_a_host_that_hangs_has_its_reason_and_advice() -> None:
    """A host that is reached but sends nothing is a problem, and the advice says that it hangs."""
    # test_handshake_in_silence.py checks in virtual time that a hanging node gives this reason.
    endpoint = DefaultEndPoint("10.0.0.1", 9042)
    connection: Any = SimpleNamespace(
        is_reached=True,
        is_connected=True,
        received_anything=False,
        answered_before=False,
        tls=None,
    )
    host = SimpleNamespace(
        endpoint=endpoint,
        is_up=False,
        datacenter="east",
        rack="r1",
        release_version="5.0",
        last_failure=_describe_timeout(endpoint, connection, 5.0),
    )
    metadata = SimpleNamespace(all_hosts=lambda: [host])
    session: Any = SimpleNamespace(get_pool_state=dict, cluster=SimpleNamespace(metadata=metadata))
    (hung,) = checks.hosts(session, WAIT)
    assert hung.level == PROBLEM
    assert hung.text.startswith("is down (east/r1, 5.0): ")
    assert "said nothing" in hung.text
    assert "hangs" in hung.do


@pytest.mark.parametrize("step", ["handshake", "silence"])
def test_a_host_that_hangs_in_tls_is_not_said_to_need_tls(step: str) -> None:
    """If a host hangs and TLS is in use, the advice does not say to pass `--ssl`."""
    connection: Any = SimpleNamespace(
        is_reached=True,
        is_connected=step == "silence",
        received_anything=False,
        answered_before=False,
        tls=object(),
    )
    problem = _describe_timeout(DefaultEndPoint("10.0.0.1", 9042), connection, 5.0)
    do = checks.advice(problem)
    assert do.startswith("the process hangs")
    assert "give --ssl" not in do


def be_impatient_with(monkeypatch: pytest.MonkeyPatch, silent_node: FakeNode) -> None:
    """Let queries to a silent node time out soon, and wait long for other nodes."""
    first_row = checks._first_row

    def query(session: Any, query: str, host: Any, timeout: float) -> Any:
        is_silent = host.address == silent_node.address
        return first_row(session, query, host, 0.05 if is_silent else timeout)

    monkeypatch.setattr(checks, "_first_row", query)


def test_a_host_that_does_not_tell_its_schema_is_not_counted_as_agreeing(
    nodes: FakeCluster, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that does not report its schema version is not counted among the hosts that agree."""
    (finding,) = checks.schema(session, WAIT)
    assert finding.text.startswith("all hosts agree on version")
    be_impatient_with(monkeypatch, nodes[1])
    nodes[1].prime("SELECT schema_version FROM system.local", silence())
    findings = [finding for finding in checks.schema(session, WAIT) if finding.level == OK]
    (finding,) = findings
    assert finding.text.startswith("1 of 2 hosts agree on v")


def test_mixed_releases_are_a_warning(nodes: FakeCluster, session: Session) -> None:
    """If nodes have different releases, a warning says how many nodes have each release."""
    hosts = session.cluster.metadata.all_hosts()
    assert levels(checks.versions(session, WAIT)) == [OK]
    hosts[0].release_version = "9.9"
    (finding,) = checks.versions(session, WAIT)
    assert finding.level == WARNING
    assert "9.9 on 1" in finding.text


@pytest.mark.parametrize("releases", [("6.0-alpha2", "6.0.0-alpha2"), ("custom", "custom")])
def test_a_release_may_be_written_in_two_ways(session: Session, releases: tuple[str, str]) -> None:
    """Cassandra 6 writes its release otherwise into system.local than into system.peers."""
    for host, release in zip(session.cluster.metadata.all_hosts(), releases, strict=True):
        host.release_version = release
    assert levels(checks.versions(session, WAIT)) == [OK]


def test_schemas_that_differ_are_a_problem(nodes: FakeCluster, session: Session) -> None:
    """If hosts have different schema versions, a problem names the hosts."""
    assert levels(checks.schema(session, WAIT)) == [OK]
    nodes[1].prime(
        "SELECT schema_version FROM system.local",
        rows([("schema_version", "uuid")], [(uuid.uuid4(),)]),
    )
    (finding,) = checks.schema(session, WAIT)
    assert finding.level == PROBLEM
    assert nodes[0].address in finding.text
    assert nodes[1].address in finding.text


def test_a_clock_that_is_wrong_is_a_finding(
    nodes: FakeCluster, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host whose clock is a minute behind this machine's clock is a problem."""
    now = 1_800_000_000  # seconds
    monkeypatch.setattr(checks, "time", SimpleNamespace(time=lambda: now))
    query = "SELECT toTimestamp(now()) AS now FROM system.local"
    for node, seconds in ((nodes[0], now), (nodes[1], now - 60)):
        node.prime(query, rows([("now", "timestamp")], [(seconds * 1000,)]))
    findings = {finding.subject: finding for finding in checks.clocks(session, WAIT)}
    assert findings[f"{nodes[0].address}:{nodes.port}"].level == OK
    behind = findings[f"{nodes[1].address}:{nodes.port}"]
    assert behind.level == PROBLEM
    assert behind.text.startswith("its clock is 60.000 s behind (known to 0.001 s)")


@pytest.mark.parametrize(
    ("seconds", "level", "way"),
    [(1.0, WARNING, "1.000 s behind those of all hosts"), (-60.0, PROBLEM, "60.000 s ahead of")],
)
def test_a_wrong_clock_of_this_machine_is_one_finding(
    session: Session, monkeypatch: pytest.MonkeyPatch, seconds: float, level: str, way: str
) -> None:
    """If all hosts agree on the time, the clock of this machine is wrong, not the hosts' clocks."""
    # Each host's clock differs by `seconds` from this machine's clock, give or take 1 ms.
    skew = checks._Skew(seconds, 0.001)
    monkeypatch.setattr(checks, "_clock_skew", lambda *args: skew)
    (finding,) = checks.clocks(session, WAIT)
    assert (finding.level, finding.subject) == (level, "clock")
    assert way in finding.text


def let_time_pass(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let `seconds` pass between two readings of the doctor's clock."""
    looks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: next(looks) * seconds)
    monkeypatch.setattr(checks, "time", clock)


def test_latency_of_each_host(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The median latency of a host is OK, or a warning if it is high."""
    let_time_pass(monkeypatch, 0.002)
    findings = list(checks.latency(session, WAIT))
    assert levels(findings) == [OK, OK]
    assert findings[0].text == "answers in 2.0 ms (median of 10; 2.0 to 2.0)"
    let_time_pass(monkeypatch, 0.2)
    findings = list(checks.latency(session, WAIT))
    assert levels(findings) == [WARNING, WARNING]
    assert findings[0].do == "is it in another region, or busy?"


def test_a_host_that_stalls_is_a_warning(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with one slow response among ten quick responses is a warning: it stalls."""
    # These are the start and the end of 10 requests to each of two hosts, in seconds. The last
    # request to the first host is slow.
    times = iter([0.0, 0.001] * 9 + [0.0, 0.7] + [0.0, 0.001] * 10)
    monkeypatch.setattr(checks, "time", SimpleNamespace(monotonic=lambda: next(times)))
    stalling, steady = checks.latency(session, WAIT)
    assert (stalling.level, steady.level) == (WARNING, OK)
    assert stalling.text.endswith("(median of 10; 1.0 to 700.0): it stalls")


def test_a_silent_host_is_a_problem(
    nodes: FakeCluster, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that does not respond is a problem."""
    nodes[1].prime("SELECT key FROM system.local", silence())
    let_time_pass(monkeypatch, 0.002)
    be_impatient_with(monkeypatch, nodes[1])
    findings = {finding.subject: finding for finding in checks.latency(session, WAIT)}
    assert findings[f"{nodes[0].address}:{nodes.port}"].level == OK
    silent = findings[f"{nodes[1].address}:{nodes.port}"]
    assert silent.level == PROBLEM
    assert "does not answer: OperationTimedOut" in silent.text
    # The silent host gets a single request; other hosts are measured 10 times.
    assert len(nodes[1].queries("SELECT key FROM system.local")) == 1


# The number of nodes in each data centre.
NODES = Counter({"east": 3, "west": 1})


@pytest.mark.parametrize(
    ("name", "strategy", "expected"),
    [
        ("ks", NetworkTopologyStrategy({"east": 3, "west": 1}), []),
        ("ks", NetworkTopologyStrategy({"East": 3}), [(PROBLEM, "no node is there")]),
        (
            "ks",
            NetworkTopologyStrategy({"west": 3}),
            [(WARNING, "west has 1 node: QUORUM needs 2")],
        ),
        ("ks", NetworkTopologyStrategy({"east": 1}), [(WARNING, "its data is lost with a node")]),
        ("ks", SimpleStrategy({"replication_factor": 2}), [(WARNING, "east, west")]),
        (
            "system_auth",
            SimpleStrategy({"replication_factor": 1}),
            [(WARNING, "east, west"), (WARNING, "nobody can log in")],
        ),
        ("ks", NetworkTopologyStrategy({"east": 3, "gone": 0}), []),
        ("ks", NetworkTopologyStrategy({"east": 0, "west": 0}), [(PROBLEM, "has no replicas")]),
        ("ks", NetworkTopologyStrategy({}), [(PROBLEM, "has no replicas")]),
        (
            "ks",
            SimpleStrategy({"replication_factor": 0}),
            [(PROBLEM, "has no replicas"), (WARNING, "east, west")],
        ),
        (
            "system_auth",
            NetworkTopologyStrategy({"east": 1, "west": 1}),
            [(WARNING, "nobody can log in")],
        ),
        ("system_traces", SimpleStrategy({"replication_factor": 2}), []),
    ],
)
def test_replication(name: str, strategy: Any, expected: list[tuple[str, str]]) -> None:
    """Each keyspace with risky replication in its data centres has a finding."""
    findings: list[Finding] = list(checks._replication_faults(name, strategy, NODES))
    assert levels(findings) == [level for level, _ in expected]
    for finding, (_, text) in zip(findings, expected, strict=True):
        assert text in finding.text
        assert finding.do


def test_replication_and_ring_of_the_cluster(session: Session) -> None:
    """A healthy cluster has no finding of level PROBLEM."""
    assert PROBLEM not in levels(checks.replication(session, WAIT))
    assert list(checks.ring(session, WAIT))


def test_shards_are_a_finding_for_scylladb_only() -> None:
    """For ScyllaDB, there is a finding about shards; for Cassandra, there is none."""
    with FakeCluster(1, scylla=Scylla(2)) as nodes, connected(nodes) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        (finding,) = checks.shards(session, WAIT)
        assert "shards" in finding.text
    with FakeCluster(1) as nodes, connected(nodes) as cluster:
        assert list(checks.shards(cluster.connect(), WAIT)) == []


def test_the_check_of_schemas_ignores_hosts_that_do_not_answer(session: Session) -> None:
    """If no host responds, here because the session is shut down, the check has no finding."""
    session.shutdown()
    assert list(checks.schema(session, WAIT)) == []
