"""Switches for metadata. Before connect they are only stored; after connect they apply at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.client.metadata_switches import MetadataSwitches
from cassandra.cluster import Cluster
from cassandra.errors import ConnectionException


def test_before_connect_the_switches_are_stored() -> None:
    cluster: Any = Cluster()
    assert (cluster.schema_metadata_enabled, cluster.token_metadata_enabled) == (True, True)
    cluster.schema_metadata_enabled = 0
    cluster.token_metadata_enabled = 0
    assert (cluster.schema_metadata_enabled, cluster.token_metadata_enabled) == (False, False)
    assert cluster.metadata.token_metadata_enabled is False
    with pytest.raises(ConnectionException, match="not connected"):
        cluster.set_meta_refresh_enabled(False)


def test_token_metadata_can_be_disabled_in_the_constructor() -> None:
    assert Cluster(token_metadata_enabled=False).metadata.token_metadata_enabled is False


def test_the_settings_of_the_engine_follow_the_switches() -> None:
    cluster = Cluster()
    engine = cluster._settings()
    assert (engine.schema_metadata_enabled, engine.token_metadata_enabled) == (True, True)
    cluster.schema_metadata_enabled = False
    assert (engine.schema_metadata_enabled, engine.token_metadata_enabled) == (False, True)
    cluster.token_metadata_enabled = False
    assert engine.token_metadata_enabled is False


def test_schema_reading_can_be_switched_off() -> None:
    # Leave out the constructor, which would make a whole cluster.
    switches: Any = MetadataSwitches.__new__(MetadataSwitches)
    switches._core = SimpleNamespace(schema=SimpleNamespace(enabled=True))
    switches.set_meta_refresh_enabled(False)
    assert switches._core.schema.enabled is False
