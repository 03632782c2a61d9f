"""The clusters that tests share, by version and settings: one starts when a test first wants it, and
stops after the last test that does.

A test says by its fixtures which of `KINDS` it wants. Tests of one kind run one after the other, in
one process, so that few nodes are alive at a time.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from cassandra.testing import LocalCluster

__all__ = ["KINDS", "Pool", "mend", "share_of"]

# Servers that soon give up, soon refuse, and tell of few tombstones.
_IMPATIENT = {
    "read_request_timeout": "500ms",
    "range_request_timeout": "500ms",
    "write_request_timeout": "500ms",
    "cas_contention_timeout": "500ms",
    "truncate_request_timeout": "1000ms",
    "request_timeout": "500ms",
    "tombstone_warn_threshold": 5,
    "tombstone_failure_threshold": 10,
    # Only clients that ask for it are refused; the others wait.
    "native_transport_rate_limiting_enabled": True,
    "native_transport_max_requests_per_second": 200,
}
# Room for large batches.
_ROOMY = {
    "batch_size_warn_threshold": "2MiB",
    "batch_size_fail_threshold": "3MiB",
    "write_request_timeout": "20s",
}
# By the name of the fixture, and its parameter if it has one, in the order in which they run.
KINDS: dict[str, dict[str, Any]] = {
    "three_nodes": {"nodes": 3, "version": "5.0.9", "racks": 2, "config": _ROOMY},
    "dismantled": {"nodes": 3, "version": "5.0.9", "racks": 2},
    "spread": {
        "nodes": {"east": 2, "west": 1},
        "version": "5.0.9",
        "racks": {"east": 2},
        "config": {"num_tokens": 8, "transient_replication_enabled": True},
        "heap": "384M",
        "authentication": True,
    },
    "impatient": {"nodes": 2, "version": "5.0.9", "config": _IMPATIENT},
    "node": {"nodes": 1, "version": "5.0.9"},
    "guarded": {"nodes": 1, "version": "5.0.9", "authentication": True, "tls": "optional"},
    "secured": {"nodes": 1, "version": "5.0.9", "authentication": True, "tls": "mutual"},
    "old_node 4.0.19": {"nodes": 1, "version": "4.0.19"},
    "old_node 4.1.10": {"nodes": 1, "version": "4.1.10"},
}
# Tests with this fixture may change the cluster for good: they run after all others of its kind.
_LAST = "expendable"


def _kinds_of(item: pytest.Item) -> list[str]:
    """Return the kinds that a test wants, in the order of `KINDS`."""
    names = set(getattr(item, "fixturenames", ()))
    callspec = getattr(item, "callspec", None)
    parameters = callspec.params if callspec is not None else {}
    wanted = {f"{name} {parameters[name]}" if name in parameters else name for name in names}
    return [kind for kind in KINDS if kind in wanted]


def _place(item: pytest.Item) -> tuple[int, bool]:
    """Return the place of a test in the order."""
    kinds = _kinds_of(item)
    # Those that want none fill up the end.
    return (
        list(KINDS).index(kinds[0]) if kinds else len(KINDS),
        _LAST in getattr(item, "fixturenames", ()),
    )


def share_of(items: list[pytest.Item], at: int, of: int) -> list[pytest.Item]:
    """Return the tests that one of several processes runs, so that no two start the same nodes.

    :param items: all tests.
    :param at: the number of the process, from 0.
    :param of: the number of processes.
    """
    # Tests of the first kind, with those of no kind, take as long as all others together.
    shares = [place % len(KINDS) for place, _ in map(_place, items)]
    return [item for item, share in zip(items, shares, strict=True) if min(share, of - 1) == at]


class Pool:
    """The clusters that run now."""

    def __init__(self) -> None:
        self._running: dict[str, LocalCluster] = {}
        self._last_users: dict[str, list[str]] = {}

    def plan(self, items: list[pytest.Item]) -> None:
        """Put the tests in their order, and note the last one of each kind."""
        items.sort(key=_place)
        last = {kind: item.nodeid for item in items for kind in _kinds_of(item)}
        self._last_users = {}
        for kind, nodeid in last.items():
            self._last_users.setdefault(nodeid, []).append(kind)

    def get(self, kind: str) -> LocalCluster:
        """Return the cluster of this kind, started if need be."""
        if kind not in self._running:
            self._running[kind] = LocalCluster(**KINDS[kind]).start()
        return self._running[kind]

    def stop_after(self, item: pytest.Item) -> None:
        """Stop what no test after this one wants."""
        self._stop(self._last_users.get(item.nodeid, ()))

    def close(self) -> None:
        """Stop all of them."""
        self._stop(list(self._running))

    def _stop(self, kinds: Iterable[str]) -> None:
        for kind in kinds:
            cluster = self._running.pop(kind, None)
            if cluster is not None:
                cluster.stop()


def mend(cluster: LocalCluster) -> None:
    """Have all nodes run that belong to the cluster."""
    for node in cluster.nodes:
        if node.state == "paused":
            cluster.resume(node.number)
            cluster.wait_until_ready()
        elif node.state in ("killed", "stopped"):
            cluster.restart(node.number)
