"""Tests of `Cluster.report()`, which describes the cluster, in both APIs."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from html.parser import HTMLParser
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.diagnostics.report import ClusterReport
from cassandra.policies import RoundRobinPolicy
from cassandra.testing.fake import FakeCluster, FakeNode, Scylla, hold, rows
from tests.waiting import result_of, until

# The cluster classes of both APIs.
FACES = [Cluster, aio.Cluster]


@pytest.mark.parametrize("face", FACES)
async def test_reports_before_connect_while_connected_and_after_shutdown(face: Any) -> None:
    """`report` works in each state, and says "not connected", "connected" or "shut down"."""
    with FakeNode() as node:
        cluster = face([node.address], port=node.port)
        report_before: ClusterReport = cluster.report()
        assert (report_before.state, report_before.hosts, report_before.sessions) == (
            "not connected",
            (),
            (),
        )
        assert "not connected" in str(report_before)
        session = await result_of(cluster.connect("ks"))
        report_while_connected: ClusterReport = cluster.report()
        assert (report_while_connected.state, report_while_connected.sessions) == (
            "connected",
            ("ks",),
        )
        # The node is the only host, so the control connection is a connection to it.
        (host,) = report_while_connected.hosts
        assert host.address == f"{node.address}:{node.port}"
        assert (host.state, host.connections, host.is_control) == ("up", 1, True)
        assert (host.in_flight, host.waiting, host.orphans) == (0, 0, 0)
        assert (host.shards, host.error) == (None, None)
        # In the text, an asterisk marks the host of the control connection.
        text = str(report_while_connected)
        assert f"{node.address}:{node.port} *" in text
        assert re.search(r"^sessions: +1: ks$", text, re.M)
        assert session is not None
        await result_of(cluster.shutdown())
        report_after: ClusterReport = cluster.report()
        assert report_after.state == "shut down"
        assert all(host.connections == 0 for host in report_after.hosts)


def test_requests_in_flight_are_seen() -> None:
    held_answer = hold(rows([("k", "int")], []))
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.prime("SELECT slow", held_answer)
        future = cluster.connect().execute_async("SELECT slow")
        held_answer.wait()
        assert cluster.report().hosts[0].in_flight == 1
        held_answer.release()
        future.result()
        assert cluster.report().hosts[0].in_flight == 0


@pytest.mark.parametrize(
    ("node_count", "phrase"), [(1, "its only host is"), (2, "all 2 hosts are")]
)
def test_the_report_of_a_connected_cluster_mentions_an_outage(node_count: int, phrase: str) -> None:
    """If all nodes go down, the report of a connected cluster says since when they are down."""
    profile = ExecutionProfile(RoundRobinPolicy())
    with (
        FakeCluster(node_count) as nodes,
        Cluster(
            [nodes[0].address],
            port=nodes.port,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        ) as cluster,
    ):
        cluster.connect(wait_for_all_pools=True)
        assert "connected\n" in str(cluster.report())
        for node in nodes.nodes:
            node.stop()
        until(lambda: all(host.is_up is False for host in cluster.metadata.all_hosts()))
        report = cluster.report()
        assert report.state == "connected"
        times = [host.down_since for host in report.hosts]
        assert all(time is not None and time.endswith("+00:00") for time in times)
        sentence = f"connected, but {phrase} down since {max(map(str, times))}"
        assert sentence in str(report)
        assert sentence in report._repr_html_()
        assert json.loads(json.dumps(report.as_dict()))["hosts"][0]["down_since"] in times


def test_hosts_that_are_down_have_their_error() -> None:
    """The report has the error of a host to which no connection can be opened."""
    profile = ExecutionProfile(RoundRobinPolicy())
    with FakeCluster(2) as nodes:
        nodes[1].refuse_connections()
        with Cluster(
            [nodes[0].address],
            port=nodes.port,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        ) as cluster:
            cluster.connect(wait_for_all_pools=True)
            report = cluster.report()
            host_report = next(host for host in report.hosts if nodes[1].address in host.address)
            assert host_report.connections == 0
            assert host_report.error is not None
            assert "refused" in host_report.error
            assert f"{host_report.address}: {host_report.error}" in str(report)
            assert "Connection refused" in report._repr_html_()


def test_shards_are_counted() -> None:
    with (
        FakeCluster(1, scylla=Scylla(4)) as nodes,
        Cluster([nodes[0].address], port=nodes.port) as cluster,
    ):
        cluster.connect()
        assert cluster.report().hosts[0].shards == 4


def test_secrets_are_never_shown() -> None:
    """The report names the classes of settings such as `auth_provider`, but shows no secret."""
    cluster = Cluster(
        ["127.0.0.1"],
        auth_provider=PlainTextAuthProvider("user", "hidden"),
        ssl_context=ssl.create_default_context(),
        connect_timeout=7.5,
        compression="lz4",
    )
    report = cluster.report()
    assert report.settings["connect_timeout"] == 7.5
    assert report.settings["auth_provider"] == "<PlainTextAuthProvider>"
    assert report.settings["ssl_context"] == "<SSLContext>"
    for text in (str(report), repr(report), report._repr_html_(), json.dumps(report.as_dict())):
        assert "hidden" not in text


def test_a_report_never_has_two_blank_lines_in_a_row() -> None:
    """Before `connect`, the part of a report about hosts is empty."""
    report = str(Cluster(["127.0.0.1"], port=9999).report())
    assert "port = 9999" in report
    assert "\n\n\n" not in report


def test_settings_with_their_defaults_are_not_shown() -> None:
    assert Cluster().report().settings == {}
    assert Cluster(port=9043).report().settings == {"port": 9043}


def test_a_report_can_be_converted_to_json() -> None:
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        cluster.connect()
        document = json.loads(json.dumps(cluster.report().as_dict()))
        assert document["hosts"][0]["state"] == "up"
        assert document["implementation"] in ("c", "python")
        assert set(document) == set(ClusterReport.__dataclass_fields__)


class Tags(HTMLParser):
    """An HTML parser that checks that tags are closed in the right order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_report_is_a_table_in_a_notebook() -> None:
    with FakeNode(datacenter="<b>dc") as node, Cluster([node.address], port=node.port) as cluster:
        cluster.connect()
        page = cluster.report()._repr_html_()
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "&lt;b&gt;dc" in page
    assert "<td>up</td>" in page


async def test_any_thread_may_request_a_report() -> None:
    with FakeNode() as node:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            await cluster.connect()
            report = await asyncio.to_thread(cluster.report)
            assert report.state == "connected"
