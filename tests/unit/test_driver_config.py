"""Tests of the report of a cluster's settings, which a control connection sends to the server.

The tests check its form, the entry of each setting, and its maximum length.
"""

from __future__ import annotations

import datetime
import json
import socket
import ssl
import struct
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.client_routes import ClientRouteProxy, ClientRoutesConfig
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.driver_config import MOST_BYTES, DriverConfigReporter
from cassandra.policies import (
    AdaptivePolicy,
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    DowngradingConsistencyRetryPolicy,
    ExponentialBackoffRetryPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    NeverRetryPolicy,
    RackAwareRoundRobinPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.testing.fake import FakeCluster, Opcode

# The report has the defaults of applications.
pytestmark = pytest.mark.usefixtures("default_patience")


def report_of(**settings: Any) -> dict[str, Any]:
    """Return the report with flat keys: ``connection.connect.timeout-ms``."""
    report: dict[str, Any] = json.loads(DriverConfigReporter(Cluster(**settings)).report())

    def flatten(group: dict[str, Any], prefix: str) -> dict[str, Any]:
        """Return the entries of nested groups in one dictionary, with dots in the keys."""
        flat_keys: dict[str, Any] = {}
        for name, value in group.items():
            if isinstance(value, dict):
                flat_keys.update(flatten(value, f"{prefix}{name}."))
            else:
                flat_keys[f"{prefix}{name}"] = value
        return flat_keys

    return flatten(report, "")


DEFAULTS = {
    "version": 1,
    "connection.connect.timeout-ms": 5000,
    "connection.requests.in-flight.max": 32768,
    "connection.requests.orphaned.max": 24576,
    "connection.pool.shard-aware.enabled": True,
    "connection.socket.tcp-no-delay": True,
    "connection.socket.keep-alive": False,
    "connection.socket.reuse-address": False,
    "connection.reconnection.policy.type": "exponential",
    "connection.reconnection.policy.base-ms": 1000,
    "connection.reconnection.policy.max-ms": 600000,
    "connection.reconnection.policy.max-attempts": 64,
    "control-plane.queries.system.timeout.client-side-ms": 2000,
    "control-plane.queries.system.timeout.server-side-ms": 2000,
    "control-plane.schema.agreement.timeout-ms": 10000,
    "query.defaults.consistency": "LOCAL_ONE",
    "query.defaults.idempotence": False,
    "query.defaults.request.timeout-ms": 10000,
    "query.defaults.page.size": 5000,
    "query.defaults.client-timestamps": True,
    "query.retry.policy.type": "standard-error-aware",
    "query.load-balancing.policy.type": "token-aware",
    "query.load-balancing.policy.load-distribution": "shuffle",
    "query.load-balancing.policy.fallback-to-non-preferred-nodes": False,
    "query.load-balancing.node-preference.type": "dc-auto",
}


def test_the_defaults() -> None:
    """The report of a cluster with default settings must be DEFAULTS."""
    assert report_of() == DEFAULTS


def profile(**settings: Any) -> dict[str, Any]:
    """Return the setting that gives the default profile these options."""
    return {"execution_profiles": {EXEC_PROFILE_DEFAULT: ExecutionProfile(**settings)}}


class OwnRetryPolicy(RetryPolicy):
    pass


class OwnReconnectionPolicy(ConstantReconnectionPolicy):
    pass


def unchecked() -> ssl.SSLContext:
    """Return a context of TLS that does not check host names."""
    context = ssl.create_default_context()
    context.check_hostname = False
    return context


BALANCING, RETRY = "query.load-balancing.", "query.retry."
POLICY = f"{BALANCING}policy."
RECONNECTION = "connection.reconnection.policy."
# These are differences from the defaults, which several cases share. None means that the key is
# missing.
CUSTOM: dict[str, Any] = {
    f"{POLICY}type": "custom",
    f"{POLICY}load-distribution": None,
    f"{POLICY}fallback-to-non-preferred-nodes": None,
}
NO_PREFERENCE = {f"{BALANCING}node-preference.type": None}
DC = {
    f"{BALANCING}node-preference.type": "dc",
    f"{BALANCING}node-preference.local-dc": "dc1",
}
RACK = {
    **DC,
    f"{BALANCING}node-preference.type": "rack",
    f"{BALANCING}node-preference.local-rack": "r1",
}
# This is the socket option for a linger time of 5 s.
LINGER = (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 5))

# Each entry has settings, and the differences from DEFAULTS in their report.
CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (profile(load_balancing_policy=RoundRobinPolicy()),
     {**CUSTOM, **NO_PREFERENCE, f"{POLICY}name": "RoundRobinPolicy"}),
    (profile(load_balancing_policy=DCAwareRoundRobinPolicy("dc1")),
     {**CUSTOM, **DC, f"{POLICY}name": "DCAwareRoundRobinPolicy"}),
    (profile(load_balancing_policy=AdaptivePolicy(DCAwareRoundRobinPolicy("dc1"))),
     {**CUSTOM, **DC, f"{POLICY}name": "AdaptivePolicy"}),
    (profile(load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1"), False)),
     {**DC, f"{POLICY}load-distribution": "replica-set"}),
    (profile(load_balancing_policy=TokenAwarePolicy(RoundRobinPolicy())), NO_PREFERENCE),
    (profile(load_balancing_policy=TokenAwarePolicy(RackAwareRoundRobinPolicy("dc1", "r1", 1))),
     {**RACK, f"{POLICY}fallback-to-non-preferred-nodes": True}),
    (profile(retry_policy=FallthroughRetryPolicy()), {f"{RETRY}policy.type": "fallthrough"}),
    (profile(retry_policy=NeverRetryPolicy()), {f"{RETRY}policy.type": "never"}),
    (profile(retry_policy=DowngradingConsistencyRetryPolicy()),
     {f"{RETRY}policy.type": "downgrading-consistency"}),
    (profile(retry_policy=ExponentialBackoffRetryPolicy(3, 0.1, 10.0)),
     {f"{RETRY}policy.max-retries": 3, f"{RETRY}backoff.type": "exponential",
      f"{RETRY}backoff.base-ms": 100, f"{RETRY}backoff.max-ms": 10000}),
    (profile(retry_policy=OwnRetryPolicy()),
     {f"{RETRY}policy.type": "custom", f"{RETRY}policy.name": "OwnRetryPolicy"}),
    (profile(speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.5, 3)),
     {"query.speculative-execution.policy.type": "constant",
      "query.speculative-execution.policy.delay-ms": 500,
      "query.speculative-execution.policy.max-executions": 3}),
    (profile(consistency_level=ConsistencyLevel.QUORUM, request_timeout=None,
             serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL),
     {"query.defaults.consistency": "QUORUM", "query.defaults.request.timeout-ms": None,
      "query.defaults.serial-consistency": "LOCAL_SERIAL"}),
    ({"reconnection_policy": ConstantReconnectionPolicy(2.0, 5)},
     {f"{RECONNECTION}type": "constant", f"{RECONNECTION}delay-ms": 2000,
      f"{RECONNECTION}max-attempts": 5, f"{RECONNECTION}base-ms": None,
      f"{RECONNECTION}max-ms": None}),
    ({"reconnection_policy": ExponentialReconnectionPolicy(0.5, 60.0, 10)},
     {f"{RECONNECTION}base-ms": 500, f"{RECONNECTION}max-ms": 60000,
      f"{RECONNECTION}max-attempts": 10}),
    ({"reconnection_policy": OwnReconnectionPolicy(1.0)},
     {f"{RECONNECTION}type": "custom", f"{RECONNECTION}name": "OwnReconnectionPolicy",
      f"{RECONNECTION}max-attempts": None,
      f"{RECONNECTION}base-ms": None, f"{RECONNECTION}max-ms": None}),
    ({"connect_timeout": 7.25}, {"connection.connect.timeout-ms": 7250}),
    ({"connect_timeout": None}, {"connection.connect.timeout-ms": None}),
    ({"control_connection_timeout": None},
     {"control-plane.queries.system.timeout.client-side-ms": None,
      "control-plane.queries.system.timeout.server-side-ms": None}),
    ({"metadata_request_timeout": 0},
     {"control-plane.queries.system.timeout.server-side-ms": None}),
    ({"metadata_request_timeout": datetime.timedelta(seconds=1.5)},
     {"control-plane.queries.system.timeout.server-side-ms": 1500}),
    ({"metadata_request_timeout": 1.5},
     {"control-plane.queries.system.timeout.server-side-ms": 1500}),
    ({"max_schema_agreement_wait": 0}, {"control-plane.schema.agreement.timeout-ms": 0}),
    ({"sockopts": [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0),
                   (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
                   (socket.SOL_SOCKET, socket.SO_RCVBUF, 65536),
                   (socket.SOL_SOCKET, socket.SO_SNDBUF, 32768),
                   (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1), LINGER]},
     {"connection.socket.tcp-no-delay": False, "connection.socket.keep-alive": True,
      "connection.socket.reuse-address": True, "connection.socket.linger.interval-s": 5,
      "connection.socket.receive-buffer.size-bytes": 65536,
      "connection.socket.send-buffer.size-bytes": 32768}),
    ({"shard_aware_options": {"disable": True}}, {"connection.pool.shard-aware.enabled": False}),
    ({"shard_aware_options": {"disable_shardaware_port": True}},
     {"connection.pool.shard-aware.enabled": False}),
    ({"client_routes_config": ClientRoutesConfig([ClientRouteProxy("a")])},
     {"connection.pool.shard-aware.enabled": False}),
    ({"ssl_context": ssl.create_default_context()},
     {"connection.tls.hostname-verification": True}),
    ({"ssl_context": unchecked()}, {"connection.tls.hostname-verification": False}),
    ({"timestamp_generator": lambda: 1}, {"query.defaults.client-timestamps": None}),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "changed"), CASES)
def test_settings_in_the_report(settings: dict[str, Any], changed: dict[str, Any]) -> None:
    """Each setting must change its entries in the report, and no others."""
    expected = {**DEFAULTS, **changed}
    assert report_of(**settings) == {
        key: value for key, value in expected.items() if value is not None
    }


def test_a_data_centre_taken_from_the_contact_points_is_reported_as_dc_auto() -> None:
    with (
        FakeCluster(1, scylla=1) as nodes,
        Cluster(nodes.contact_points, port=nodes.port) as cluster,
    ):
        cluster.connect()
        report = json.loads(DriverConfigReporter(cluster).report())
        assert report["query"]["load-balancing"]["node-preference"] == {"type": "dc-auto"}


def configs_sent(nodes: FakeCluster) -> list[str]:
    """Return the reports that the nodes have got."""
    return [
        request.options["DRIVER_CONFIG"]
        for request in nodes.requests
        if request.opcode == Opcode.STARTUP and "DRIVER_CONFIG" in request.options
    ]


def test_each_control_connection_sends_the_current_report() -> None:
    with (
        FakeCluster(1, scylla=1) as nodes,
        Cluster(nodes.contact_points, port=nodes.port) as cluster,
    ):
        cluster.connect()
        assert json.loads(configs_sent(nodes)[0])["connection"]["connect"] == {"timeout-ms": 5000}
        cluster.max_schema_agreement_wait = 3
        # The control connection is the one that is registered for events.
        (control,) = [connection for connection in nodes[0].connections if connection.event_types]
        # The cluster then opens another control connection.
        nodes[0].loop.call_soon_threadsafe(control.end)
        nodes[0].wait_for(lambda node: len(configs_sent(nodes)) == 2)
        agreement = json.loads(configs_sent(nodes)[1])["control-plane"]["schema"]["agreement"]
        assert agreement == {"timeout-ms": 3000}


@pytest.mark.parametrize("size", [10, MOST_BYTES])
def test_a_report_that_is_too_long_is_not_sent(size: int) -> None:
    # The report contains the name of the policy's class.
    policy = type("L" * size, (RoundRobinPolicy,), {})()
    with (
        FakeCluster(1, scylla=1) as nodes,
        Cluster(nodes.contact_points, port=nodes.port, load_balancing_policy=policy) as cluster,
    ):
        cluster.connect()
        assert bool(configs_sent(nodes)) is (size == 10)


class BrokenRoundRobinPolicy(RoundRobinPolicy):
    """A policy that raises an error when the report reads its child policy."""

    @property
    def _child_policy(self) -> object:
        raise RuntimeError("this policy is not to be looked at")


def test_a_cluster_connects_without_a_report_if_building_it_fails() -> None:
    policy = BrokenRoundRobinPolicy()
    with (
        FakeCluster(1, scylla=1) as nodes,
        Cluster(nodes.contact_points, port=nodes.port, load_balancing_policy=policy) as cluster,
    ):
        cluster.connect()
        assert configs_sent(nodes) == []
