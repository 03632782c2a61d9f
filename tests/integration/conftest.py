"""Real nodes for the integration tests, which share them: see `tests.integration.clusters`."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.testing import LocalCluster
from tests.integration.clusters import Pool, mend, share_of

_names = (f"it_{i}" for i in itertools.count())
_pool = Pool()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have tests that share nodes run one after the other, in one process of ``--dist=each``."""
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        at = int(worker["workerid"].removeprefix("gw"))
        items[:] = share_of(items, at, worker["workercount"])
    _pool.plan(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Stop nodes after the last test that wants them."""
    try:
        yield
    finally:
        _pool.stop_after(item)


@pytest.fixture(scope="module", autouse=True)
def leftovers() -> Iterator[None]:
    """What a module leaves open is an error there, not in whichever test the collector runs."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    yield _pool
    _pool.close()


@pytest.fixture(scope="session")
def node(pool: Pool) -> LocalCluster:
    """One node of Cassandra 5.0."""
    return pool.get("node")


@pytest.fixture(scope="session", params=["4.0.19", "4.1.10"])
def old_node(pool: Pool, request: pytest.FixtureRequest) -> LocalCluster:
    """One node of each older line."""
    return pool.get(f"old_node {request.param}")


@pytest.fixture(scope="session")
def guarded(pool: Pool) -> LocalCluster:
    """A node that wants a password, and takes TLS."""
    return pool.get("guarded")


@pytest.fixture(scope="session")
def secured(pool: Pool) -> LocalCluster:
    """A node that wants a password and a client certificate."""
    return pool.get("secured")


@pytest.fixture(scope="session")
def impatient(pool: Pool) -> LocalCluster:
    """Two nodes that give up soon. Tests may pause them."""
    return pool.get("impatient")


@pytest.fixture(scope="session")
def spread(pool: Pool) -> LocalCluster:
    """Three nodes: two racks in one data centre, one in another. They want a password."""
    return pool.get("spread")


@pytest.fixture(scope="session")
def three_nodes(pool: Pool) -> LocalCluster:
    """Three nodes of Cassandra 5.0, for tests that leave all of them running."""
    return pool.get("three_nodes")


@pytest.fixture
def fragile(three_nodes: LocalCluster) -> Iterator[LocalCluster]:
    """The same nodes for a test that kills them, or has them hang."""
    mend(three_nodes)
    yield three_nodes
    mend(three_nodes)


@pytest.fixture
def expendable(fragile: LocalCluster) -> LocalCluster:
    """The same nodes for a test after which there may have been others."""
    return fragile


@pytest.fixture(scope="session")
def dismantled(pool: Pool) -> LocalCluster:
    """Three nodes for tests that take one away."""
    return pool.get("dismantled")


def connect(local: LocalCluster, **settings: Any) -> Cluster:
    """A `Cluster` for `local`'s nodes."""
    return Cluster(local.contact_points, port=local.port, **settings)


@pytest.fixture
def keyspace(node: LocalCluster) -> Iterator[str]:
    """A fresh keyspace on `node`, dropped afterwards."""
    name = next(_names)
    with connect(node) as cluster, cluster.connect() as session:
        create_keyspace(session, name)
        yield name
        session.execute(f"DROP KEYSPACE {name}")


def create_keyspace(session: Session, name: str, replicas: int = 1) -> None:
    """Create keyspace `name`."""
    session.execute(
        f"CREATE KEYSPACE IF NOT EXISTS {name} "
        f"WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
    )


def new_keyspace_name() -> str:
    """A name that no other test uses."""
    return next(_names)
