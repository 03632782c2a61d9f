"""Test metrics for Prometheus, written and parsed with Prometheus's own client library.

The tests also check the Grafana dashboard in the documentation.
"""

from __future__ import annotations

import gc
import json
import re
import weakref
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from cassandra import errors
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.connection import DefaultEndPoint
from cassandra.cqltypes import EncodeTypeError, EncodeValueError
from cassandra.errors import InvalidRequest
from cassandra.observability.prometheus import ClusterCollector
from cassandra.observability.texts import is_invalid
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    RoundRobinPolicy,
)
from cassandra.protocol.messages import errors as error_messages
from cassandra.protocol.messages.errors import InvalidRequestException, UnauthorizedErrorMessage
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, error, hold, rows
from tests.waiting import until

DOCS = Path(__file__).parents[3] / "docs"
DASHBOARD = DOCS / "_static" / "grafana.json"
# The name of a metric, and the labels in braces that may follow it.
NAME = re.compile(r"\b(cassandra_driver_\w+)(?:\{([^}]*)\})?")


def metrics_text(registry: CollectorRegistry) -> str:
    """Return the metrics page that Prometheus would read."""
    return generate_latest(registry).decode()


def parse_samples(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Parse a metrics page.

    :returns: for each metric name, the list of its samples as (labels, value).
    """
    samples_by_name: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            samples_by_name.setdefault(sample.name, []).append((sample.labels, sample.value))
    return samples_by_name


@pytest.fixture(scope="module")
def metrics_page() -> str:
    """Return the metrics page of a cluster that has had requests and a failed connection.

    One request succeeded and one failed; one connection could not be opened.
    """
    registry = CollectorRegistry()
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        collector = ClusterCollector(cluster, name="test")
        registry.register(collector)
        endpoint = DefaultEndPoint(node.address, node.port)
        collector.counters.on_connection_failure(endpoint, "network", OSError())
        session = cluster.connect()
        node.prime("SELECT wrong", error(ErrorCode.INVALID))
        session.execute("SELECT 1")
        with pytest.raises(InvalidRequest):
            session.execute("SELECT wrong")
        return metrics_text(registry)


def test_requests_are_on_the_page(metrics_page: str) -> None:
    """The page counts one successful and one failed request, and has their durations."""
    samples_by_name = parse_samples(metrics_page)
    requests = {
        labels["outcome"]: value
        for labels, value in samples_by_name["cassandra_driver_requests_total"]
    }
    assert requests == {"success": 1.0, "InvalidRequest": 1.0}
    ((labels, value),) = samples_by_name["cassandra_driver_errors_total"]
    assert labels["error"] == "InvalidRequest"
    assert labels["cluster"] == "test"
    assert value == 1.0
    ((labels, value),) = samples_by_name["cassandra_driver_attempt_duration_seconds_count"]
    assert value == 2.0
    assert set(labels) == {"cluster", "host", "datacenter", "rack"}
    buckets = samples_by_name["cassandra_driver_request_duration_seconds_bucket"]
    assert buckets[-1][0]["le"] == "+Inf"
    # Each bucket includes the smaller buckets, so the last bucket counts all requests.
    assert buckets[-1][1] == 2.0
    assert samples_by_name["cassandra_driver_connections"][0][1] == 1.0
    assert samples_by_name["cassandra_driver_host_up"][0][1] == 1.0
    assert samples_by_name["cassandra_driver_control_connection_up"][0][1] == 1.0
    assert samples_by_name["cassandra_driver_sent_bytes_total"][0][1] > 0


def counters_on(registry: CollectorRegistry) -> dict[tuple[str, str], float]:
    """Return the values of all counters on the page, by name and labels."""
    return {
        (name, str(labels)): value
        for name, samples in parse_samples(metrics_text(registry)).items()
        for labels, value in samples
        if name.endswith("_total")
    }


def test_before_connect_and_after_shutdown_there_is_a_page() -> None:
    """The metrics page can be read before `connect` and after `shutdown`."""
    registry = CollectorRegistry()
    with FakeNode() as node:
        cluster = Cluster([node.address], port=node.port)
        registry.register(ClusterCollector(cluster))
        assert "cassandra_driver_sessions" in metrics_text(registry)
        cluster.connect()
        assert 'cassandra_driver_sessions{cluster="' in metrics_text(registry)
        cluster.connect().execute("SELECT 1")
        cluster.refresh_schema_metadata()
        counters = counters_on(registry)
        cluster.shutdown()
        text_after_shutdown = metrics_text(registry)
        assert counters_on(registry) == counters
    # Counters stay on the page. State metrics, such as the state of the control connection,
    # disappear, because they would raise alarms.
    assert 'cassandra_driver_requests_total{cluster="' in text_after_shutdown
    assert 'cassandra_driver_attempts_total{cluster="' in text_after_shutdown
    assert 'cassandra_driver_schema_reads_total{cluster="' in text_after_shutdown
    assert "cassandra_driver_control_connection_up{" not in text_after_shutdown
    assert "cassandra_driver_host_up{" not in text_after_shutdown


def test_a_page_of_some_metrics() -> None:
    """``?name[]=`` selects metrics of all clusters of the registry."""
    registry = CollectorRegistry(auto_describe=True)
    names = ["cassandra_driver_requests_total", "cassandra_driver_attempt_duration_seconds_count"]
    with (
        FakeNode() as node,
        Cluster([node.address], port=node.port) as first,
        Cluster([node.address], port=node.port) as second,
    ):
        collectors = [ClusterCollector(first, name="one"), ClusterCollector(second, name="other")]
        for collector in collectors:
            registry.register(collector)
        for cluster in (first, second):
            cluster.connect().execute("SELECT 1")
        page: Any = registry.restricted_registry(names)
        samples = parse_samples(generate_latest(page).decode())
        assert sorted(samples) == sorted(names)
        for name in names:
            assert {labels["cluster"] for labels, _ in samples[name]} == {"one", "other"}
        # Registering a collector again is an error, as with other collectors.
        with pytest.raises(ValueError, match="Duplicated timeseries"):
            registry.register(collectors[0])
        for collector in collectors:
            registry.unregister(collector)
        registry.register(collectors[1])
        samples = parse_samples(generate_latest(page).decode())
        assert [labels["cluster"] for labels, _ in samples[names[0]]] == ["other"]


def test_two_clusters_have_different_labels() -> None:
    """Two clusters that share a registry differ in the label `cluster`."""
    registry = CollectorRegistry()
    with (
        FakeNode() as node,
        Cluster([node.address], port=node.port) as first,
        Cluster([node.address], port=node.port) as second,
    ):
        registry.register(ClusterCollector(first, name="one"))
        registry.register(ClusterCollector(second, name="other"))
        first.connect()
        second.connect()
        sessions = parse_samples(metrics_text(registry))["cassandra_driver_sessions"]
        assert [labels["cluster"] for labels, _ in sessions] == ["one", "other"]


def test_a_collector_does_not_keep_its_cluster_alive() -> None:
    """A cluster can be freed although its collector is registered; its metrics are then gone."""
    registry = CollectorRegistry()
    cluster = Cluster()
    registry.register(ClusterCollector(cluster))
    reference = weakref.ref(cluster)
    del cluster
    gc.collect()
    assert reference() is None
    assert metrics_text(registry) == ""


def test_each_query_of_the_dashboard_names_metrics_of_the_page(metrics_page: str) -> None:
    """Each query of the Grafana dashboard uses only metrics and labels that the page has."""
    samples_by_name = parse_samples(metrics_page)
    dashboard: Any = json.loads(DASHBOARD.read_text())
    queries = [
        target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())
    ]
    # With fewer queries, the test would have overlooked queries of the dashboard.
    assert len(queries) > 10
    for query in queries:
        names = NAME.findall(query)
        assert names, query
        for name, labels in names:
            assert name in samples_by_name, f"{name} is not on the page: {query}"
            for label in re.findall(r"(\w+)\s*=~?", labels):
                assert label in samples_by_name[name][0][0], f"{name} has no label {label}: {query}"
        for group_labels in re.findall(r"by \(([^)]*)\)", query):
            for label in re.split(r",\s*", group_labels):
                assert any(label in samples_by_name[name][0][0] for name, _ in names), query


def test_each_metric_of_the_page_is_on_the_dashboard(metrics_page: str) -> None:
    text = DASHBOARD.read_text()
    for family in text_string_to_metric_families(metrics_page):
        assert family.name in text, f"{family.name} is on no panel"


def families_on(registry: CollectorRegistry) -> dict[str, Any]:
    """Return the metric families on the registry's page in the OpenMetrics format.

    The parser of this format is strict.
    """
    text = openmetrics.generate_latest(registry).decode()  # type: ignore[no-untyped-call]
    declared = re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)
    # In both formats, each metric may be declared only once.
    assert sorted(declared) == sorted(set(declared))
    declared_in_text = re.findall(r"^# TYPE (\S+)", metrics_text(registry), re.MULTILINE)
    assert sorted(declared_in_text) == sorted(set(declared_in_text))
    families = parse_openmetrics(text)  # type: ignore[no-untyped-call]
    return {family.name: family for family in families}


def clusters_on(families: dict[str, Any], name: str = "cassandra_driver_requests") -> set[str]:
    """Return the cluster names in the samples of one metric."""
    return {sample.labels["cluster"] for sample in families[name].samples}


def test_clusters_of_one_registry_share_their_metrics() -> None:
    """Collectors of one registry put their samples into shared metrics, told apart by a label."""

    class WrappedCollector(ClusterCollector):
        def collect(self) -> Any:
            yield from super().collect()

    registry, other_registry = CollectorRegistry(), CollectorRegistry(auto_describe=True)
    with FakeNode() as node:
        with (
            Cluster([node.address], port=node.port) as first,
            Cluster([node.address], port=node.port) as second,
            Cluster([node.address], port=node.port) as third,
        ):
            collectors = [
                ClusterCollector(first),
                ClusterCollector(second),
                WrappedCollector(third, name="third"),
            ]
            for collector in collectors:
                registry.register(collector)
            other_registry.register(collectors[1])
            for index, cluster in enumerate((first, second, third)):
                session = cluster.connect()
                for _ in range(index + 1):
                    session.execute("SELECT 1")
            # Two of the clusters have the same name, so one of them gets a label with a number.
            name = first.metadata.cluster_name
            families = families_on(registry)
            for family in ("requests", "host_up", "sessions", "attempt_duration_seconds"):
                assert clusters_on(families, f"cassandra_driver_{family}") == {
                    name,
                    f"{name}-2",
                    "third",
                }
            counts = {
                sample.labels["cluster"]: sample.value
                for sample in families["cassandra_driver_requests"].samples
                if sample.name.endswith("_total")
            }
            # The three clusters have executed 1, 2 and 3 requests.
            assert counts == {name: 1.0, f"{name}-2": 2.0, "third": 3.0}
            # Each registry shows only the clusters whose collectors are registered with it.
            assert clusters_on(families_on(other_registry)) == {name}
            registry.unregister(collectors[0])
            assert clusters_on(families_on(registry)) == {name, "third"}
            # A collector that is read directly, without a registry, shows only its own cluster.
            families_by_name = {family.name: family for family in collectors[1].collect()}
            assert clusters_on(families_by_name) == {name}
        assert clusters_on(families_on(registry)) == {name, "third"}


def test_the_series_of_a_cluster_keep_their_label() -> None:
    """If a cluster was freed, another one of the same name must not continue its series."""
    registry = CollectorRegistry()
    with FakeNode() as node, Cluster([node.address], port=node.port) as second:
        first = Cluster([node.address], port=node.port)
        first_collector = ClusterCollector(first)
        registry.register(first_collector)
        registry.register(ClusterCollector(second))
        first.connect().execute("SELECT 1")
        second.connect().execute("SELECT 1")
        name = second.metadata.cluster_name
        assert clusters_on(families_on(registry)) == {name, f"{name}-2"}
        first.shutdown()
        del first
        until(lambda: gc.collect() >= 0 and first_collector._cluster() is None)
        assert clusters_on(families_on(registry)) == {f"{name}-2"}


def test_a_second_collector_of_a_cluster_is_warned_of() -> None:
    """A second collector must cause a warning, and count with separate counters."""
    cluster = Cluster()
    first = ClusterCollector(cluster)
    with pytest.warns(RuntimeWarning, match="has a ClusterCollector already") as caught:
        second = ClusterCollector(cluster)
    assert caught[0].filename == __file__
    assert first.counters is not second.counters


# -- hosts that policies ignore --------------------------------------------------------------------


def test_ignored_hosts_have_no_host_up() -> None:
    """Hosts that policies ignore have no metric ``host_up``.

    So an alarm for ``host_up == 0`` does not fire for other data centres.
    """
    registry = CollectorRegistry()
    policy = DCAwareRoundRobinPolicy("east")
    with (
        FakeCluster({"east": 2, "west": 2}) as nodes,
        Cluster(
            nodes.contact_points[:2],
            port=nodes.port,
            execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)},
        ) as cluster,
    ):
        registry.register(ClusterCollector(cluster))
        cluster.connect(wait_for_all_pools=True)
        stopped = cluster.metadata.get_host(nodes[1].address)
        assert stopped is not None
        nodes.stop_node(nodes[1])
        until(lambda: stopped.is_up is False)
        samples_by_name = parse_samples(metrics_text(registry))
        up = {
            labels["host"]: value for labels, value in samples_by_name["cassandra_driver_host_up"]
        }
        # The hosts in the data centre "west" are ignored. They only have other metrics.
        assert up == {nodes[0].endpoint: 1.0, nodes[1].endpoint: 0.0}
        assert len(samples_by_name["cassandra_driver_connections"]) == 4


def test_refused_logins_are_on_the_page() -> None:
    """A dashboard can distinguish a refused login from a node that is down."""
    registry = CollectorRegistry()
    with (
        FakeCluster(2) as nodes,
        Cluster(
            [nodes[0].address],
            port=nodes.port,
            execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(RoundRobinPolicy())},
        ) as cluster,
    ):
        collector = ClusterCollector(cluster, name="shop")
        registry.register(collector)
        nodes[1].require_password("ada", "right")
        cluster.connect(wait_for_all_pools=True)
        host = cluster.metadata.get_host(nodes[1].address)
        assert host is not None
        until(lambda: host.state == "forced down")
        samples = parse_samples(metrics_text(registry))
        given_up = {
            labels["host"]: value for labels, value in samples["cassandra_driver_host_given_up"]
        }
        assert given_up == {nodes[0].endpoint: 0.0, nodes[1].endpoint: 1.0}
        ((labels, count),) = samples["cassandra_driver_connection_failures_total"]
        assert labels == {"cluster": "shop", "host": nodes[1].endpoint, "kind": "authentication"}
        assert count >= 1
        # A node that has left the cluster is no longer on the page.
        collector.counters.on_connection_failure(
            DefaultEndPoint("10.9.9.9", 9042), "network", OSError()
        )
        samples = parse_samples(metrics_text(registry))
        assert len(samples["cassandra_driver_connection_failures_total"]) == 1


# -- the documentation -----------------------------------------------------------------------------


def all_families() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the type and the labels of each metric, by the name that Prometheus uses."""
    # The collector has only a weak reference to the cluster, so keep the cluster alive.
    cluster = Cluster(["127.0.0.1"])
    collector = ClusterCollector(cluster, name="test")
    families = {}
    for family in collector.collect():
        name = family.name + ("_total" if family.type == "counter" else "")
        families[name] = (family.type, tuple(family._labelnames))  # type: ignore[attr-defined]
    return families


def test_the_guide_lists_all_metrics() -> None:
    """The table in the guide has each metric with its type and labels."""
    text = (DOCS / "guides" / "observing.rst").read_text()
    table = text[text.index("All metrics") :]
    listed = {}
    row = re.compile(r"   \* - ``(\w+)``\n     - (\w+)\n     - ([^\n]+)\n")
    for name, kind, labels in row.findall(table):
        names = tuple(re.findall(r"\w+", labels.replace("``", "")))
        listed["cassandra_driver_" + name] = (kind, names)
    assert listed == all_families()


def test_the_rules_for_alarms_use_metrics_and_labels_that_exist() -> None:
    """Each alarm rule uses only metrics and labels that a collector exports."""
    text = (DOCS / "_static" / "prometheus-rules.yml").read_text()
    expressions = re.findall(r"expr: (?:>-\n)?(.*?)\n        (?:for|annotations):", text, re.S)
    assert len(expressions) == text.count("- alert:")
    assert len(expressions) >= 10
    families = all_families()
    for expression in expressions:
        names = re.findall(r"cassandra_driver_\w+", expression)
        assert names
        # Prometheus adds the labels `job` and `instance`; `le` belongs to histograms.
        existing_labels = {"job", "instance", "le"}
        for name in names:
            kind, labels = families[name.removesuffix("_bucket")]
            assert (kind == "histogram") == name.endswith("_bucket"), name
            existing_labels |= set(labels)
        used_labels = re.findall(r'(\w+)!?[=~]"', expression)
        for group in re.findall(r"by \(([^)]*)\)", expression):
            used_labels += re.findall(r"\w+", group)
        assert set(used_labels) <= existing_labels, expression
        assert expression.count("(") == expression.count(")")


def rule_of(alert: str) -> str:
    """Return the definition of one alarm in the rules."""
    text = (DOCS / "_static" / "prometheus-rules.yml").read_text()
    return text.split(f"- alert: {alert}\n")[1].split("- alert:")[0]


def test_the_alarm_for_silent_hosts_does_not_count_lost_races() -> None:
    """The loser of a speculative execution is an orphaned request, but no error of its host."""
    expression = rule_of("CassandraHostDoesNotAnswer").partition("expr:")[2]
    assert 'cassandra_driver_errors_total{error="OperationTimedOut"}' in expression
    assert "orphaned_streams" not in expression
    policy = ConstantSpeculativeExecutionPolicy(0.01, 1)
    profile = ExecutionProfile(speculative_execution_policy=policy)
    statement = SimpleStatement("SELECT 1", is_idempotent=True)
    with FakeCluster(2) as nodes:
        nodes[0].prime("SELECT 1", hold())
        nodes[1].prime("SELECT 1", rows([("k", "int")], [(1,)]))
        with Cluster(
            nodes.contact_points,
            port=nodes.port,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        ) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            registry = CollectorRegistry()
            registry.register(ClusterCollector(cluster))
            for _ in range(4):
                session.execute(statement)
            samples = [sample for family in registry.collect() for sample in family.samples]
    # The losers were requests to the first node, which never responded. They are orphans, but no
    # errors.
    orphans = [
        sample.value for sample in samples if sample.name == "cassandra_driver_orphaned_streams"
    ]
    assert any(orphans)
    assert "cassandra_driver_errors_total" not in {sample.name for sample in samples}


def test_the_run_book_has_the_times_of_the_rules() -> None:
    """The run book says after how many minutes each alarm is raised, as in the alarm rules."""
    table = (DOCS / "guides" / "runbook.rst").read_text()
    for metric, alert in [
        ("``control_connection_up``", "CassandraNoControlConnection"),
        ("``host_up``", "CassandraHostDown"),
        ("``connections``, summed over the hosts", "CassandraNoConnections"),
        ("``waiting_requests``", "CassandraRequestsWait"),
    ]:
        (minutes,) = re.findall(rf"\* - {metric}\n     - .* for (\d+) min\n", table)
        assert f"for: {minutes}m\n" in rule_of(alert)
    assert "* - ``orphaned_streams``" not in table


def test_the_alarm_for_failures_leaves_out_invalid_requests() -> None:
    """The alarm rules leave out exactly the error classes that `is_invalid` calls invalid."""
    rules = (DOCS / "_static" / "prometheus-rules.yml").read_text()
    ((left_out, invalid),) = re.findall(
        r'outcome!~"success\|CancelledError\|([\w|]+)".*outcome=~"([\w|]+)"', rules, re.S
    )
    assert left_out == invalid
    # The label `outcome` is the name of the error's class.
    classes = [*vars(errors).values(), *vars(error_messages).values(), ValueError, TypeError]
    classes += [EncodeTypeError, EncodeValueError]
    names = {
        error_class.__name__
        for error_class in classes
        if isinstance(error_class, type)
        and issubclass(error_class, Exception)
        # These classes are never raised: their errors are converted to other classes first, or the
        # class is only a base class.
        and not issubclass(error_class, (InvalidRequestException, UnauthorizedErrorMessage))
        and error_class.__name__ not in ("AlreadyExistsException", "RequestValidationException")
        and is_invalid(error_class.__new__(error_class))
    }
    assert set(invalid.split("|")) == names
    # Errors of policies and handlers are plain TypeErrors and ValueErrors, so these classes count
    # as failures.
    assert not names & {"TypeError", "ValueError"}
