"""Dask's workers: one session a process and cluster, and a clear error without Dask."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import dask
from cassandra.errors import DependencyException
from cassandra.testing.fake import FakeNode


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as running:
        yield running
        for session in dask._sessions.values():
            session.cluster.shutdown()
        dask._sessions.clear()


def test_a_process_connects_once_for_the_same_settings(node: FakeNode) -> None:
    settings = {"contact_points": [node.address], "port": node.port}
    session = dask._session(settings)
    assert dask._session(dict(reversed(settings.items()))) is session
    assert dask._session({**settings, "connect_timeout": 3.0}) is not session


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(DependencyException, match=r"pip install turbocql\[dask\]"):
        dask.read_table("ks.t", {})


@pytest.mark.parametrize("name", ["counters", "checkpoint", "failed_rows"])
def test_options_that_make_no_sense_for_many_processes(name: str) -> None:
    options: dict[str, Any] = {name: True}
    with pytest.raises(ValueError, match=f"does not have the option '{name}'"):
        dask.to_table(None, "ks.t", {}, **options)
