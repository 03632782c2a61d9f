"""A process that uses the pure Python version by accident logs a warning at its first connect."""

from __future__ import annotations

import pytest

import cassandra
from cassandra import _impl
from cassandra.client import implementation
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode


def test_the_implementation_is_shown_by_a_cluster() -> None:
    modules = {"c": "compiled", "python": "pure Python"}[cassandra.implementation]
    assert repr(Cluster()).endswith(f"not connected, {modules}>")


def test_a_fallback_to_python_is_logged_at_the_first_connect(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If the compiled modules cannot be used, the first `connect` logs one warning.

    The warning has the reason, and says what to install.
    """
    monkeypatch.setattr(_impl, "fallback_reason", "it lacks any")
    # The message is logged once in a process, and an earlier test may have caused it.
    monkeypatch.setattr(implementation, "_has_warned", False)
    with FakeNode() as node:
        for _ in range(2):
            with Cluster([node.address], port=node.port) as cluster:
                cluster.connect()
    (logged,) = [record for record in caplog.records if "pure Python" in record.getMessage()]
    assert (logged.name, logged.levelname) == ("cassandra.cluster", "WARNING")
    assert "(it lacks any)" in logged.getMessage()
    assert " pip install " in logged.getMessage()
    assert " --no-binary turbocql turbocql." in logged.getMessage()
    assert "\n" not in logged.getMessage()
