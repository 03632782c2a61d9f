"""Fixtures of all unit tests: a check for resources left open, event loops, and virtual time."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.client import implementation
from cassandra.client.settings.table import ClusterSettings
from cassandra.cluster import Cluster, Session
from cassandra.engine import mistakes
from cassandra.testing.fake import FakeNode
from tests.leftovers import nothing_is_left_open, watch
from tests.unit.loops import LOOPS, Loops
from tests.unit.simulated import Simulated, current_loop
from tests.waiting import WAIT

__all__ = ["loops", "nothing_is_left_open", "pytest_asyncio_loop_factories", "simulated"]

watch()

# Let clusters of tests in real time wait long for responses to the driver's queries: a busy machine
# may take more than the default of 2 s to connect. Tests in virtual time keep the default.
_CONNECTING = vars(ClusterSettings)["control_connection_timeout"]
_DEFAULT_WAIT = _CONNECTING._default
_CONNECTING._default = WAIT

# The driver warns once in a process if it has no compiled modules. Prevent this in all tests:
# otherwise the first one that connects would find one more record in the log.
implementation._has_warned = True
# The 100th blocking call on a running loop warns, and could be in any test that makes such calls.
mistakes.MANY_BLOCKING_CALLS = 1_000_000


@pytest.fixture(params=LOOPS)
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Loops:
    """Run the test with each kind of event loop. Threads of the driver use the same kind."""
    if request.param == "asyncio":
        # This makes importing uvloop fail.
        monkeypatch.setitem(sys.modules, "uvloop", None)
    return Loops(request.param)


@pytest.fixture
def default_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clusters wait for responses to their queries as long as in applications."""
    monkeypatch.setattr(_CONNECTING, "_default", _DEFAULT_WAIT)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch, default_patience: None) -> Iterator[Simulated]:
    """Provide a loop in virtual time, for tests that wait for timeouts or late responses.

    All fake nodes of the test run on it. If a coroutine or its module is marked ``simulated``, it
    runs on this loop, too. ``simulated(False)`` excludes a coroutine, for example if it waits in
    threads.
    """
    simulation = Simulated()
    # By default, fake nodes start a thread with a loop. Run them on the simulated loop instead.
    for module in ("node", "cluster"):
        monkeypatch.setattr(
            f"cassandra.testing.fake.{module}.NodeThread", lambda _: simulation.thread
        )
    monkeypatch.setattr("tests.unit.simulated.current", simulation)
    yield simulation
    simulation.check()


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a node that responds to queries of the driver only. Many modules replace it."""
    with FakeNode() as fake_node:
        yield fake_node


@pytest.fixture
def session(node: FakeNode) -> Iterator[Session]:
    """Yield a blocking session that is connected to `node`."""
    with Cluster([node.address], port=node.port) as cluster:
        yield cluster.connect()


def _is_simulated(item: Any) -> bool:
    """Return True if the test is a coroutine that is marked to run in virtual time."""
    mark = item.get_closest_marker("simulated")
    is_wanted = mark is not None and mark.args != (False,)
    return is_wanted and inspect.iscoroutinefunction(item.function)


@pytest.fixture(autouse=True)
def _virtual_time(request: pytest.FixtureRequest) -> None:
    # Put this fixture before all others of the test, because they may start nodes.
    if _is_simulated(request.node):
        request.getfixturevalue("simulated")


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Any]:
    """Run coroutines in virtual time if their test is marked ``simulated``."""
    if _is_simulated(item):
        return {"simulated": current_loop}
    return {"asyncio": asyncio.new_event_loop}
