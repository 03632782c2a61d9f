"""Tests of wrong and misspelt imports, whose errors say what to import."""

from __future__ import annotations

import importlib

import pytest

import cassandra
from cassandra import _wrong_imports, aio


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from cassandra import Cluster", "write from cassandra.cluster import Cluster"),
        ("from cassandra import SimpleStatement", "write from cassandra.query import Simple"),
        ("from cassandra.aio import AsyncCluster", "write from cassandra.aio import Cluster"),
        ("from cassandra.cqlengine import Model", "write from cassandra.cqlengine.models import"),
        ("from cassandra.policies import Session", "write from cassandra.cluster import Session"),
        ("from cassandra.cluster import AsyncSession", "write from cassandra.aio import Session"),
        ("from cassandra.cluster import UNSET_VALUE", "write from cassandra.query import UNSET_"),
        ("from cassandra.query import InvalidRequest", "write from cassandra import InvalidReq"),
        ("from cassandra.testing import MockCluster", "write from cassandra.testing import Fake"),
        ("from cassandra.cluster import Error", "write from cassandra import DriverException"),
        ("from cassandra import InvalidQueryException", "write from cassandra import InvalidReq"),
        ("from cassandra.query import SyntaxError", "write from cassandra.protocol import Syntax"),
        ("from cassandra import NoHostAvailableException", "cassandra.cluster import NoHostAvail"),
        ("from cassandra.testing import LocalClustr", "did you mean 'LocalCluster'?"),
        ("from cassandra.bulk import copy_table", "write from cassandra.bulk.copy import copy"),
        (
            "from cassandra.observability import RequestLogger",
            "write from cassandra.observability.logger import RequestLogger",
        ),
        ("from cassandra.query import SimpleStatment", "did you mean 'SimpleStatement'?"),
        ("from cassandra.policies import RoundRobinPolcy", "did you mean 'RoundRobinPolicy'?"),
        ("from cassandra.cqlengine.columns import ForeignKey", "CQL has no relations"),
        ("from cassandra.auth import Cluster", "write from cassandra.cluster import Cluster"),
        ("from cassandra.cqlengine.models import sync_table", "cqlengine.management import sync_t"),
        ("from cassandra.cqlengine.query import Modl", "cannot import name 'Modl'"),
        ("from cassandra.cqlengine.query import BatchQury", "did you mean 'BatchQuery'?"),
        ("from cassandra.cqlengine.usertype import Model", "cassandra.cqlengine.models import Mod"),
        ("from cassandra.cqlengine.columns import Integr", "did you mean 'Integer'?"),
        ("from cassandra.cqlengine.management import create_all", "write sync_table(Model)"),
        ("from cassandra.cqlengine.management import sync_tabel", "did you mean 'sync_table'?"),
    ],
)
def test_the_error_names_the_module_or_the_name(statement: str, message: str) -> None:
    with pytest.raises(ImportError) as refused:
        exec(statement)
    assert str(refused.value).startswith("cannot import name ")
    assert message in str(refused.value)


def test_other_names() -> None:
    """Attributes with other names must be missing as usual.

    `hasattr` then works, and modules can be imported.
    """
    with pytest.raises(AttributeError, match=r"write from cassandra\.cluster import Cluster$"):
        cassandra.Cluster  # noqa: B018
    assert not hasattr(cassandra, "Cluster")
    assert not hasattr(aio, "AsyncCluster")
    with pytest.raises(ImportError, match=r"cannot import name 'Nothing' from 'cassandra\.query'"):
        exec("from cassandra.query import Nothing")
    exec("from cassandra.query import binding")
    exec("from cassandra.aio import concurrent")
    exec("from cassandra.cqlengine import named")
    exec("from cassandra.bulk import copy")
    exec("from cassandra.testing import fake")


def test_the_names_that_are_meant_exist() -> None:
    """Each name that an error suggests must exist in the suggested module."""
    pytest.importorskip("prometheus_client")
    for home, names in _wrong_imports._HOMES.items():
        for name in names.split():
            meant = _wrong_imports._MEANT.get(name, name)
            assert hasattr(importlib.import_module(home), meant), f"{home} has no {meant}"
