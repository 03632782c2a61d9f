"""The clusters of real nodes that integration tests share.

Each entry of `KINDS` describes a kind of cluster: its version and settings. A test chooses a kind
by its fixtures. A cluster starts before the first test that requests it, and stops after the last
such test.
So that few nodes run at the same time, tests of the same kind run one after the other in one
process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

from cassandra.testing import LocalCluster

# The version of Cassandra for all kinds that do not name a version. `tox -e cassandra6` sets it.
CURRENT = os.environ.get("TURBOCQL_CASSANDRA", "5.0.9")
# Short timeouts and low limits, to provoke errors. Two seconds are long enough for requests that
# must succeed, even on a busy machine.
_IMPATIENT = {
    "read_request_timeout": "2s",
    "range_request_timeout": "2s",
    "write_request_timeout": "2s",
    "cas_contention_timeout": "2s",
    "truncate_request_timeout": "3s",
    "request_timeout": "2s",
    "tombstone_warn_threshold": 5,
    "tombstone_failure_threshold": 10,
    # Requests over this limit wait, unless the client has asked for errors (THROW_ON_OVERLOAD).
    "native_transport_rate_limiting_enabled": True,
    "native_transport_max_requests_per_second": 200,
}
# Batches of nearly 3 MiB must succeed, to test batches of many rows.
_ROOMY = {
    "batch_size_warn_threshold": "2MiB",
    "batch_size_fail_threshold": "3MiB",
    "write_request_timeout": "20s",
}
# The settings of `LocalCluster` for each kind of cluster. A key is the name of a fixture, followed
# by its parameter if it has any. Tests run in the order of the kinds.
KINDS: dict[str, dict[str, Any]] = {
    "three_nodes": {"nodes": 3, "version": CURRENT, "racks": 2, "config": _ROOMY},
    "dismantled": {"nodes": 3, "version": CURRENT, "racks": 2},
    "spread": {
        "nodes": {"east": 2, "west": 1},
        "version": CURRENT,
        "racks": {"east": 2},
        "config": {"num_tokens": 8, "transient_replication_enabled": True},
        "heap": "384M",
        "authentication": True,
    },
    "impatient": {"nodes": 2, "version": CURRENT, "config": _IMPATIENT},
    "node": {"nodes": 1, "version": CURRENT},
    "transactional_node": {
        "nodes": 1,
        "version": "6.0-alpha2",
        "config": {"accord": {"enabled": True}},
    },
    "guarded": {"nodes": 1, "version": CURRENT, "authentication": True, "tls": "optional"},
    "secured": {"nodes": 1, "version": CURRENT, "authentication": True, "tls": "mutual"},
    "old_node 4.0.19": {"nodes": 1, "version": "4.0.19"},
    "old_node 4.1.10": {"nodes": 1, "version": "4.1.10"},
}
# Tests with the fixture `expendable` may change the cluster permanently, so they run last.
_LAST = "expendable"


def _kinds_of(item: pytest.Item) -> list[str]:
    """Return the kinds of clusters that a test needs, in the order of `KINDS`."""
    names = set(getattr(item, "fixturenames", ()))
    callspec = getattr(item, "callspec", None)
    parameters = callspec.params if callspec is not None else {}
    # A kind whose fixture has a parameter is named "fixture parameter" in `KINDS`.
    requested = {f"{name} {parameters[name]}" if name in parameters else name for name in names}
    return [kind for kind in KINDS if kind in requested]


def _sort_key(item: pytest.Item) -> tuple[int, bool]:
    """Return the key by which tests are sorted.

    The key is the position of the test's kind of cluster in `KINDS`, and True if the test has to
    run after the other tests that use this kind of cluster.
    """
    kinds = _kinds_of(item)
    # Tests that need no cluster come last.
    position = list(KINDS).index(kinds[0]) if kinds else len(KINDS)
    runs_last = _LAST in getattr(item, "fixturenames", ())
    return position, runs_last


def share_of(items: list[pytest.Item], worker: int, of: int) -> list[pytest.Item]:
    """Return the tests that one of several pytest processes runs.

    All tests that use the same kind of cluster go to the same process, so that no two processes
    start the same cluster.

    :param items: all tests.
    :param worker: the number of the process, from 0.
    :param of: the number of processes.
    """
    # Process 0 gets the first kind, and the tests that need no cluster: their position is
    # len(KINDS), which the modulo turns into 0. These tests take about as long as the tests of all
    # other kinds together, which the other processes run.
    kind_positions = [position % len(KINDS) for position, _ in map(_sort_key, items)]
    return [
        item
        for item, kind_position in zip(items, kind_positions, strict=True)
        if min(kind_position, of - 1) == worker
    ]


class Pool:
    """Starts the clusters of real nodes on demand, and stops each cluster after its last test."""

    def __init__(self) -> None:
        self._running: dict[str, LocalCluster] = {}
        self._last_users: dict[str, list[str]] = {}

    def plan(self, items: list[pytest.Item]) -> None:
        """Sort the tests by their kinds of clusters, and record the last test of each kind."""
        items.sort(key=_sort_key)
        # Later items replace earlier items, so the last test of each kind remains.
        last = {kind: item.nodeid for item in items for kind in _kinds_of(item)}
        self._last_users = {}
        for kind, nodeid in last.items():
            self._last_users.setdefault(nodeid, []).append(kind)

    def get(self, kind: str) -> LocalCluster:
        """Return the cluster of the kind `kind`; start it if it is not running."""
        if kind not in self._running:
            self._running[kind] = LocalCluster(**KINDS[kind]).start()
        return self._running[kind]

    def stop_after(self, item: pytest.Item) -> None:
        """Stop the clusters that no test after `item` needs."""
        self._stop(self._last_users.get(item.nodeid, ()))

    def close(self) -> None:
        """Stop all clusters."""
        self._stop(list(self._running))

    def _stop(self, kinds: Iterable[str]) -> None:
        for kind in kinds:
            cluster = self._running.pop(kind, None)
            if cluster is not None:
                cluster.stop()


def restore(cluster: LocalCluster) -> None:
    """Resume paused nodes, and restart nodes that were killed or stopped."""
    for node in cluster.nodes:
        if node.state == "paused":
            cluster.resume(node.number)
            # `restart` waits until the nodes are ready, but `resume` does not.
            cluster.wait_until_ready()
        elif node.state in ("killed", "stopped"):
            cluster.restart(node.number)
