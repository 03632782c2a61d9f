"""Real nodes for the integration tests: each cluster is started once for the whole run, when a test
first wants it.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.testing import LocalCluster

_names = (f"it_{i}" for i in itertools.count())


@pytest.fixture(scope="module", autouse=True)
def leftovers() -> Iterator[None]:
    """What a module leaves open is an error there, not in whichever test the collector runs."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def node() -> Iterator[LocalCluster]:
    """One node of Cassandra 5.0."""
    with LocalCluster(1, "5.0.9") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def three_nodes() -> Iterator[LocalCluster]:
    """Three nodes of Cassandra 5.0, for tests that leave all of them running."""
    with LocalCluster(3, "5.0.9") as cluster:
        yield cluster


@pytest.fixture(scope="session", params=["4.0.19", "4.1.10"])
def old_node(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """One node of each older line."""
    with LocalCluster(1, request.param) as cluster:
        yield cluster


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
