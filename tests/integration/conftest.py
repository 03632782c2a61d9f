"""Fixtures of the integration tests: keyspaces, and the real nodes that the tests share."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.testing import LocalCluster
from tests.integration.clusters import Pool, restore, share_of

_names = (f"it_{i}" for i in itertools.count())
_pool = Pool()
_collected = pytest.StashKey[int]()  # the number of tests in all processes


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests so that tests that share nodes run one after the other, in the same process.

    With ``--dist=each``, pytest-xdist gives all tests to each process. Keep only the tests that
    this process is to run.
    """
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        number = int(worker["workerid"].removeprefix("gw"))
        items[:] = share_of(items, number, worker["workercount"])
    _pool.plan(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Add the number of a process's tests to the total, which `pytest_runtestloop` reports."""
    stash = node.config.stash
    stash[_collected] = stash.get(_collected, 0) + len(ids)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Set the number of collected tests to the total of all processes.

    pytest-xdist counts only the tests of the process that finished its collection last. If that
    process had none, pytest would end with "no tests collected" although the tests passed.
    """
    result = yield
    session.testscollected = session.config.stash.get(_collected, session.testscollected)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Stop nodes after the last test that needs them."""
    try:
        yield
    finally:
        _pool.stop_after(item)


@pytest.fixture(scope="module", autouse=True)
def leftovers() -> Iterator[None]:
    """Collect garbage after each test module.

    Otherwise, warnings about objects that a module has not closed could appear in a later module.
    """
    yield
    gc.collect()


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """Yield the pool of clusters, which are stopped at the end of the run."""
    yield _pool
    _pool.close()


@pytest.fixture(scope="session")
def node(pool: Pool) -> LocalCluster:
    """One node of Cassandra 5.0."""
    return pool.get("node")


@pytest.fixture(scope="session")
def transactional_node(pool: Pool) -> LocalCluster:
    """One node of Cassandra 6.0, with transactions."""
    return pool.get("transactional_node")


@pytest.fixture(scope="session", params=["4.0.19", "4.1.10"])
def old_node(pool: Pool, request: pytest.FixtureRequest) -> LocalCluster:
    """One node of each older version."""
    return pool.get(f"old_node {request.param}")


@pytest.fixture(scope="session")
def guarded(pool: Pool) -> LocalCluster:
    """A node that requires a password and accepts TLS."""
    return pool.get("guarded")


@pytest.fixture(scope="session")
def secured(pool: Pool) -> LocalCluster:
    """A node that requires a password and a client certificate."""
    return pool.get("secured")


@pytest.fixture(scope="session")
def impatient(pool: Pool) -> LocalCluster:
    """Two nodes with short timeouts. Tests may pause them."""
    return pool.get("impatient")


@pytest.fixture(scope="session")
def spread(pool: Pool) -> LocalCluster:
    """Three nodes that require a password: two in data centre east (two racks), one in west."""
    return pool.get("spread")


@pytest.fixture(scope="session")
def three_nodes(pool: Pool) -> LocalCluster:
    """Three nodes of Cassandra 5.0, for tests that leave all three nodes running."""
    return pool.get("three_nodes")


@pytest.fixture
def fragile(three_nodes: LocalCluster) -> Iterator[LocalCluster]:
    """The nodes of `three_nodes`, for a test that kills or pauses them.

    All nodes are restored before and after the test.
    """
    restore(three_nodes)
    yield three_nodes
    restore(three_nodes)


@pytest.fixture
def expendable(fragile: LocalCluster) -> LocalCluster:
    """The nodes of `three_nodes`, for tests that may replace them.

    These tests run after all other tests of the same nodes.
    """
    return fragile


@pytest.fixture(scope="session")
def dismantled(pool: Pool) -> LocalCluster:
    """Three nodes for tests that remove a node."""
    return pool.get("dismantled")


def connect(local: LocalCluster, **settings: Any) -> Cluster:
    """Return a `Cluster` for the nodes of `local`."""
    return Cluster(local.contact_points, port=local.port, **settings)


@pytest.fixture
def keyspace(node: LocalCluster) -> Iterator[str]:
    """Yield the name of a new keyspace on `node`, which is dropped afterwards."""
    name = next(_names)
    with connect(node) as cluster, cluster.connect() as session:
        create_keyspace(session, name)
        yield name
        session.execute(f"DROP KEYSPACE {name}")


def create_keyspace(session: Session, name: str, replicas: int = 1) -> None:
    """Create a keyspace with SimpleStrategy, if it does not exist."""
    session.execute(
        f"CREATE KEYSPACE IF NOT EXISTS {name} "
        f"WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
    )


def new_keyspace_name() -> str:
    """Return a name that no other test uses."""
    return next(_names)
