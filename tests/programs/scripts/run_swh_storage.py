"""swh-storage: its own tests of its store for Cassandra: a line of each test's name and outcome."""

from __future__ import annotations

import sys

import pytest
from common import HOST, PORT
from swh.storage import pytest_plugin

# These tests need a node that requires passwords, so leave them out.
LEFT_OUT = ("test_no_authentication", "test_no_authenticator_class")


@pytest.fixture(scope="session")
def swh_storage_cassandra_cluster() -> tuple[list[str], int]:
    """Return the address of the test's node.

    The fixture of this name in swh-storage would start another node.
    """
    return [HOST], PORT


# When pytest starts, it takes the fixtures from the plugin's module. So replace the fixture there.
pytest_plugin.swh_storage_cassandra_cluster = swh_storage_cassandra_cluster


class Outcomes:
    """A pytest plugin that prints the name and the outcome of each test."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print the outcome of each test, and of each failed set-up or teardown."""
        name = report.nodeid.partition("::")[2]
        if report.when == "call":
            print(name, report.outcome, file=sys.__stdout__)
        elif not report.passed:
            print(name, report.when, report.outcome, file=sys.__stdout__)


def main() -> None:
    selection = " and ".join(f"not {name}" for name in LEFT_OUT)
    options = ["-p", "no:cacheprovider", "-p", "no:terminal", "-p", "swh.storage.pytest_plugin"]
    tests = ["--pyargs", "swh.storage.tests.test_cassandra", "-k", selection]
    print(pytest.main([*options, *tests], plugins=[Outcomes()]))


main()
