"""Metadata switches are stored before connect; after it the engine applies them at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.client.metadata_switches import MetadataSwitches
from cassandra.cluster import Cluster
from cassandra.errors import ConnectionException


def test_before_connect() -> None:
    cluster: Any = Cluster()
    assert (cluster.schema_metadata_enabled, cluster.token_metadata_enabled) == (True, True)
    cluster.schema_metadata_enabled = 0
    cluster.token_metadata_enabled = 0
    assert (cluster.schema_metadata_enabled, cluster.token_metadata_enabled) == (False, False)
    assert cluster.metadata.token_metadata_enabled is False
    with pytest.raises(ConnectionException, match="not connected"):
        cluster.set_meta_refresh_enabled(False)


def test_a_cluster_that_begins_without_tokens() -> None:
    assert Cluster(token_metadata_enabled=False).metadata.token_metadata_enabled is False


def test_after_connect() -> None:
    cluster = Cluster()
    engine = cluster._settings()
    assert (engine.schema_metadata_enabled, engine.token_metadata_enabled) == (True, True)
    cluster.schema_metadata_enabled = False
    assert (engine.schema_metadata_enabled, engine.token_metadata_enabled) == (False, True)
    cluster.token_metadata_enabled = False
    assert engine.token_metadata_enabled is False


def test_schema_reading_can_be_switched_off() -> None:
    switches: Any = MetadataSwitches.__new__(MetadataSwitches)
    switches._core = SimpleNamespace(schema=SimpleNamespace(enabled=True))
    switches.set_meta_refresh_enabled(False)
    assert switches._core.schema.enabled is False
