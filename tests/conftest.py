"""What all tests share: the fixture that runs one test on both implementations."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest

from cassandra import _impl

# The lane under test: "c" (both twins, the compiled ones must be there) or "python" (a tree without
# compiled modules).
LANE = os.environ.get("TURBOCQL_LANE", "c")


def pytest_report_header() -> str:
    return f"turbocql: implementation={_impl.implementation}, lane={LANE}"


class Twins:
    """Hands out the modules of one implementation, by the names in `cassandra._impl.TWINS`."""

    def __init__(self, impl: str) -> None:
        self.impl = impl

    def __getattr__(self, name: str) -> ModuleType:
        return _impl.twin(name, self.impl)

    def __repr__(self) -> str:
        return self.impl


@pytest.fixture(scope="session", params=["python", "c"] if LANE == "c" else ["python"])
def twins(request: pytest.FixtureRequest) -> Twins:
    """Both implementations, one after the other: ``twins.codecs``, ``twins.rows``, ..."""
    return Twins(request.param)


@pytest.fixture(scope="session")
def compiled() -> Twins:
    """The compiled implementation beside the Python one, for tests that compare the two."""
    if LANE != "c":
        pytest.skip("no compiled modules in the pure Python lane")
    importlib.import_module("cassandra._accel.codecs")
    return Twins("c")
