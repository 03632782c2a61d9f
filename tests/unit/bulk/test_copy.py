"""Copies between tables: what is refused before anything is read."""

from __future__ import annotations

import pytest

from cassandra.bulk.copy import copy
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeCluster
from tests.unit.bulk.test_scan import nodes, settings

__all__ = ["nodes"]


def test_tables_that_do_not_fit_are_refused_before_anything_is_sent(nodes: FakeCluster) -> None:
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        with pytest.raises(ValueError, match=r"keyspace 'a' has no table 'no'"):
            copy(session, "a.t0", session, "a.no")
        with pytest.raises(ValueError, match=r"a\.t0 has no column 'x'"):
            copy(session, "a.t0", session, "a.t1", columns=["x"])
        with pytest.raises(ValueError, match="key column 'id' is not among"):
            copy(session, "a.t0", session, "a.t1", columns=["c0"])
