"""Fixtures for the tests with third-party programs: a node, wheels, and a folder for environments.

These tests run only with ``-m programs``, which ``tox -e programs`` passes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cassandra.testing import LocalCluster
from tests.programs.environments import ROOT, find_wheel, make_pure_wheel

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip these tests without ``-m programs``, because they need the network and take minutes."""
    requested = "programs" in (config.getoption("-m") or "")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.programs)
            if not requested:
                item.add_marker(pytest.mark.skip(reason="run by: tox -e programs"))


@pytest.fixture(scope="session")
def node() -> Iterator[LocalCluster]:
    """One node of Cassandra 5.0 that allows materialized views and user-defined functions."""
    settings = {"materialized_views_enabled": True, "user_defined_functions_enabled": True}
    with LocalCluster(1, "5.0.9", heap="1G", config=settings) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def environments() -> Path:
    """Return the folder of the programs' environments, which are kept for later runs."""
    folder = Path(os.environ.get("TURBOCQL_PROGRAMS") or ROOT / ".tox" / "programs-environments")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def wheel(environments: Path) -> Path:
    """Return the wheel of turbocql for the interpreter that runs these tests."""
    return find_wheel(environments / "wheel")


@pytest.fixture(scope="session")
def pure_wheel(environments: Path) -> Path:
    """Return a wheel of turbocql without compiled modules, for programs with their own Python."""
    return make_pure_wheel(environments / "pure-wheel")
