"""What all tests share: the fixture that runs one test on both implementations."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import sys
from collections.abc import Generator
from types import ModuleType
from typing import Any

import pytest

from cassandra import _impl
from tests import elsewhere

# The lane under test: "c" (both twins, the compiled ones must be there) or "python" (a tree without
# compiled modules).
LANE = os.environ.get("TURBOCQL_LANE", "c")


if importlib.util.find_spec("hypothesis") is not None:  # the lane of shims has none
    from hypothesis import HealthCheck, settings

    # Its limits of 200 ms for an example, and of a second for making ten, are those of an idle
    # machine.
    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")


def pytest_report_header() -> str:
    return f"turbocql: implementation={_impl.implementation}, lane={LANE}"


def pytest_collection_finish() -> None:
    """Have the collector pass over what lives as long as the run, such as 14,000 tests.

    Hundreds of tests collect, which takes some 20 ms then instead of 300.
    """
    gc.collect()
    if hasattr(gc, "freeze"):  # PyPy has none
        gc.freeze()


def _encodable(data: Any) -> Any:
    """Return `data` with escapes in place of surrogates, which UTF-8 does not have."""
    if isinstance(data, str):
        return data if data.isascii() else data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, dict):
        return {key: _encodable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(map(_encodable, data))
    return data


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Have ``-n auto`` start one process more than there are cores.

    Some tests wait for a server that is silent, which takes no core.
    """
    return 1 + (yield)


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Have pytest-xdist take reports of tests that log strange names."""
    return _encodable((yield))


# What the other interpreters have no wheels of, or not at all. A test that needs one is skipped
# there, and there alone: elsewhere `turbocql[test]` brings them.
LACKING_ELSEWHERE = re.compile(
    r"No module named '(numpy|lz4|snappy|cramjam|pyarrow|pandas|polars|duckdb|msgspec|cryptography)"
    r"|requires? (numpy|lz4|pyarrow|cryptography)|'ctypes' has no attribute 'pythonapi'"
    r"|pip install turbocql\[\w+\]|module '?(sys|gc)'? has no attribute"
)


# Its conftest.py makes certificates.
collect_ignore = (
    ["unit/security"]
    if sys.implementation.name != "cpython" and importlib.util.find_spec("cryptography") is None
    else []
)


def _skipped_if_lacking(report: Any) -> Any:
    if sys.implementation.name != "cpython" and report.outcome == "failed":
        lacking = LACKING_ELSEWHERE.search(str(report.longrepr))
        if lacking is not None:
            report.outcome = "skipped"
            report.longrepr = (str(report.nodeid), 0, f"Skipped: {lacking[0]}")
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of CPython alone elsewhere."""
    if sys.implementation.name != "cpython":
        for item in items:
            why = elsewhere.reason_of(item.nodeid)
            if why is not None:
                item.add_marker(pytest.mark.skip(reason=why))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Skip modules of tests that cannot be imported without packages that PyPy lacks."""
    return _skipped_if_lacking((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Skip tests that need packages that PyPy lacks."""
    return _skipped_if_lacking((yield))


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
