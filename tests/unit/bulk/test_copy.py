"""Copies between tables: what is refused before anything is read."""

from __future__ import annotations

import pytest

from cassandra.bulk.copy import _check_fields, copy
from cassandra.cluster import Cluster
from cassandra.metadata.schema.elements import UserType
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


def test_fields_that_the_other_type_lacks_are_refused() -> None:
    mine = {
        "A b": UserType("a", "A b", ["x", "y"], ["int", "frozen<inner>"]),
        "inner": UserType("a", "inner", ["z"], ["text"]),
    }
    types = ["int", 'list<frozen<"A b">>']
    turned = UserType("b", "A b", ["y", "more", "x"], ["frozen<inner>", "int", "int"])
    _check_fields(mine, {**mine, "A b": turned}, types)
    for theirs, message in (
        ({}, "field 'x' of the type 'A b' is int here and missing there"),
        ({**mine, "inner": UserType("b", "inner", ["z"], ["int"])}, "'z' .* is text here and int"),
        ({"A b": turned}, "field 'z' of the type 'inner' is text here and missing there"),
    ):
        with pytest.raises(ValueError, match=message):
            _check_fields(mine, theirs, types)
