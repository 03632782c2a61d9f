"""The fixtures and hooks of all tests.

The fixture `implementation` runs a test with the Python and with the compiled implementation.
"""

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

from cassandra import _build_stamp, _impl
from tests import elsewhere, time_limits

# These are the implementations to test. "c" means both, and the compiled modules must exist.
# "python" means only the Python implementation.
LANE = os.environ.get("TURBOCQL_LANE", "c")


# `tox -e shims` does not install Hypothesis.
if importlib.util.find_spec("hypothesis") is not None:
    from hypothesis import HealthCheck, settings

    # Turn off Hypothesis's time limits (200 ms for an example, a second for generating ten),
    # because they assume that the machine is idle.
    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")


def pytest_configure(config: pytest.Config) -> None:
    if sys.version_info < (3, 11):
        # In these versions, asyncio never closes its transport over TLS if the handshake fails.
        config.addinivalue_line(
            "filterwarnings", "ignore:unclosed transport <asyncio.sslproto:ResourceWarning"
        )


def pytest_report_header() -> list[str]:
    """Print the tested implementation at the start of the run."""
    lines = [f"turbocql: implementation={_impl.implementation}, lane={LANE}"]
    # Print a warning at the start if the compiled modules are older than their sources.
    changed_files = _build_stamp.changed_files(thorough=True) if LANE == "c" else None
    if changed_files:
        lines.append(f"turbocql: {_impl.other_sources(changed_files)}")
    return lines


def pytest_collection_finish() -> None:
    """Exclude objects that live until the end, such as 22,000 tests, from garbage collection.

    Hundreds of tests run the garbage collector. Without these objects, a collection takes about 5
    ms instead of 300 ms.
    """
    gc.collect()
    # PyPy does not have this function.
    if hasattr(gc, "freeze"):
        gc.freeze()


_TESTS_BETWEEN_FREEZES = 200
_tests_run = 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, Any, Any]:
    """From time to time, exclude objects that tests have left from garbage collection.

    Such objects are, for example, caches. `pytest_collection_finish` says why.
    """
    global _tests_run
    result = yield
    _tests_run += 1
    if _tests_run % _TESTS_BETWEEN_FREEZES == 0:
        pytest_collection_finish()
    return result


def _encodable(data: Any) -> Any:
    """Return `data` in which surrogates are escaped in all strings.

    UTF-8 cannot encode surrogates.
    """
    if isinstance(data, str):
        return data if data.isascii() else data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, dict):
        return {key: _encodable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(map(_encodable, data))
    return data


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Make ``-n auto`` start one more process than there are cores.

    Some tests only wait for a server that does not respond, and use no CPU time.
    """
    return 1 + (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool:
    """Measure the time of a test without starting a thread for it."""
    time_limits.begin(item, settings)
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_cancel_timer() -> bool:
    """Stop measuring the time of the test."""
    time_limits.end()
    return True


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Escape surrogates in reports, which pytest-xdist sends as UTF-8."""
    return _encodable((yield))


# On interpreters other than CPython, tests that fail with one of these errors are skipped. A
# package or function is missing there, because the packages have no wheels for such interpreters or
# do not support them. On CPython, `turbocql[test]` installs the packages, so these errors count as
# failures.
LACKING_ELSEWHERE = re.compile(
    r"No module named '(numpy|lz4|snappy|cramjam|pyarrow|pandas|polars|duckdb|msgspec|cryptography)"
    r"|requires? (numpy|lz4|pyarrow|cryptography)|'ctypes' has no attribute 'pythonapi'"
    r"|pip install turbocql\[\w+\]|module '?(sys|gc)'? has no attribute"
)


# The conftest.py of unit/security creates certificates, for which it needs cryptography.
collect_ignore = (
    ["unit/security"]
    if sys.implementation.name != "cpython" and importlib.util.find_spec("cryptography") is None
    else []
)


def _skipped_if_lacking(report: Any) -> Any:
    """Turn the failure in a report into a skip if it is one of LACKING_ELSEWHERE.

    :returns: the report.
    """
    if sys.implementation.name != "cpython" and report.outcome == "failed":
        match = LACKING_ELSEWHERE.search(str(report.longrepr))
        if match is not None:
            report.outcome = "skipped"
            report.longrepr = (str(report.nodeid), 0, f"Skipped: {match[0]}")
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse test names that differ between processes, and skip tests on other interpreters.

    On interpreters other than CPython, the tests that `elsewhere.REASONS` lists are skipped.
    """
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(
                f"the name of a test contains an address of memory: {item.nodeid}. The processes "
                "of pytest-xdist would collect different tests: pass ids= to parametrize"
            )
    if sys.implementation.name != "cpython":
        for item in items:
            why = elsewhere.reason_of(item.nodeid)
            if why is not None:
                item.add_marker(pytest.mark.skip(reason=why))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Skip test modules that cannot be imported because PyPy does not have a package."""
    return _skipped_if_lacking((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Skip tests that fail because PyPy does not have a package."""
    return _skipped_if_lacking((yield))


class Implementation:
    """The modules of one implementation, as attributes.

    The attributes have the names of the modules in `cassandra._impl.TWINS`.

    :param name: "python", or "c" for the compiled modules.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, module: str) -> ModuleType:
        return _impl.twin(module, self.name)

    def __repr__(self) -> str:
        return self.name


@pytest.fixture(scope="session", params=["python", "c"] if LANE == "c" else ["python"])
def implementation(request: pytest.FixtureRequest) -> Implementation:
    """Run the test once with each implementation.

    The fixture has the modules as attributes, such as ``implementation.codecs``.
    """
    return Implementation(request.param)


@pytest.fixture(scope="session")
def compiled() -> Implementation:
    """Return the modules of the compiled implementation; skip the test if they are not built."""
    if LANE != "c":
        pytest.skip("no compiled modules in the pure Python lane")
    importlib.import_module("cassandra._accel.codecs")
    return Implementation("c")
