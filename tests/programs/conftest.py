"""A real node, and pairs of environments, for programs of others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cassandra.testing import LocalCluster
from tests.programs.environments import ROOT, find_wheel

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the programs out of runs of other lanes: they need the network and minutes."""
    wanted = "programs" in (config.getoption("-m") or "")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.programs)
            if not wanted:
                item.add_marker(pytest.mark.skip(reason="run by: tox -e programs"))


@pytest.fixture(scope="session")
def node() -> Iterator[LocalCluster]:
    """One node of Cassandra 5.0 with what the programs' tables need."""
    settings = {"materialized_views_enabled": True, "user_defined_functions_enabled": True}
    with LocalCluster(1, "5.0.9", heap="1G", config=settings) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def environments() -> Path:
    """The folder that the programs' environments are in, from one run to the next."""
    folder = Path(os.environ.get("TURBOCQL_PROGRAMS") or ROOT / ".tox" / "programs-environments")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def wheel(environments: Path) -> Path:
    """This driver as it is installed."""
    return find_wheel(environments / "wheel")
