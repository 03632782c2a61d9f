"""Switches of metadata: before connect they are noted, after it the engine has them at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.client.metadata_settings import MetadataSettings
from cassandra.errors import ConnectionException
from cassandra.metadata.cluster_metadata import Metadata


def settings() -> Any:
    made = MetadataSettings()
    made.metadata = Metadata()
    return made


def test_before_connect() -> None:
    made = settings()
    assert (made.schema_metadata_enabled, made.token_metadata_enabled) == (True, True)
    made.schema_metadata_enabled = 0
    made.token_metadata_enabled = 0
    assert (made.schema_metadata_enabled, made.token_metadata_enabled) == (False, False)
    assert made.metadata.token_metadata_enabled is False
    with pytest.raises(ConnectionException, match="not connected"):
        made.set_meta_refresh_enabled(False)


def test_after_connect() -> None:
    made = settings()
    engine = SimpleNamespace(schema_metadata_enabled=True, token_metadata_enabled=True)
    made._core = SimpleNamespace(settings=engine, schema=SimpleNamespace(enabled=True))
    made.schema_metadata_enabled = False
    assert vars(engine) == {"schema_metadata_enabled": False, "token_metadata_enabled": True}
    made.token_metadata_enabled = False
    assert engine.token_metadata_enabled is False
    made.set_meta_refresh_enabled(False)
    assert made._core.schema.enabled is False
