"""Misspelt settings of clusters, sessions and profiles: an error names the nearest one."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import aio
from cassandra._misspelt import class_attribute, nearest
from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.query import dict_factory
from cassandra.testing.fake import FakeNode
from tests.processes import run_python


@pytest.mark.parametrize("face", [Cluster, aio.Cluster])
def test_a_misspelt_attribute_is_an_error(face: Any) -> None:
    cluster = face()
    for wrong, right in (
        ("conect_timeout", "connect_timeout"),
        ("reprepare_on_ups", "reprepare_on_up"),
        ("compression_", "compression"),
    ):
        with pytest.raises(AttributeError, match=f"no setting '{wrong}'; did you mean '{right}'"):
            setattr(cluster, wrong, 3)
        assert not hasattr(cluster, wrong)


def test_a_program_may_keep_attributes_of_its_own() -> None:
    class Ours(Cluster):
        conect_timeout = 3

    cluster: Any = Ours()
    cluster.tenant = "shop"
    cluster._conect_timeout = 1
    cluster.conect_timeout = 4
    assert (cluster.tenant, cluster._conect_timeout, cluster.conect_timeout) == ("shop", 1, 4)


def test_the_attribute_of_a_class_as_it_is() -> None:
    assert class_attribute(Cluster, "port") is Cluster._table["port"]
    assert class_attribute(Cluster, "colour") is None


def test_the_nearest_name() -> None:
    assert nearest("conect_timeout", ["connect_timeout", "port"], 0.85) == "connect_timeout"
    assert nearest("colour", ["connect", "port"], 0.85) is None


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("row_factroy", "row_factory"),
        ("default_timout", "default_timeout"),
        ("default_consistency_levl", "default_consistency_level"),
        ("default_fetchsize", "default_fetch_size"),
    ],
)
async def test_of_a_session(wrong: str, right: str) -> None:
    with FakeNode() as node:
        with Cluster([node.address], port=node.port) as cluster:
            check(cluster.connect(), wrong, right)
        async with aio.Cluster([node.address], port=node.port) as other:
            check(await other.connect(), wrong, right)


def check(session: Any, wrong: str, right: str) -> None:
    with pytest.raises(AttributeError, match=f"no setting '{wrong}'; did you mean '{right}'"):
        setattr(session, wrong, dict_factory)
    session.tenant = "shop"
    session.execute = None
    assert (session.tenant, session.execute) == ("shop", None)


@pytest.mark.parametrize(
    ("wrong", "right"), [("request_timout", "request_timeout"), ("retry_polcy", "retry_policy")]
)
def test_of_a_profile(wrong: str, right: str) -> None:
    profile: Any = ExecutionProfile()
    with pytest.raises(AttributeError, match=f"no setting '{wrong}'; did you mean '{right}'"):
        setattr(profile, wrong, 3)
    profile.tenant = "shop"
    profile.request_timeout = 3
    assert (profile.tenant, profile.request_timeout) == ("shop", 3)


def test_what_is_not_misspelt_costs_no_import() -> None:
    done = run_python(
        "import sys; from cassandra.cluster import Cluster, ExecutionProfile; "
        "Cluster(['127.0.0.1']).tenant = ExecutionProfile(); print('difflib' in sys.modules)"
    )
    assert done.stdout.strip() == "False", done.stderr
