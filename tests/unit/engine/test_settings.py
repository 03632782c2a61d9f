"""Settings of the engine: fixed settings, and settings that follow the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.engine.settings import Settings


def test_fixed_settings_and_live_settings() -> None:
    live: dict[str, Any] = {"sockopts": None}
    settings = Settings({"connect_timeout": 1.5}, live, endpoints=[])
    assert (settings.connect_timeout, settings.sockopts, settings.endpoints) == (1.5, None, [])
    live["sockopts"] = [(1, 2, 3)]
    assert settings.sockopts == [(1, 2, 3)]


@pytest.mark.parametrize("name", ["connect_timeout", "sockopts", "endpoints", "colour"])
def test_settings_cannot_be_changed(name: str) -> None:
    settings = Settings({"connect_timeout": 1.5}, {"sockopts": None}, endpoints=[])
    with pytest.raises(AttributeError, match=f"'{name}' cannot be changed"):
        setattr(settings, name, 2)


@pytest.mark.parametrize("face", [Cluster, aio.Cluster])
def test_all_of_the_engine_s_own_come_from_the_cluster(face: Any) -> None:
    engine_names = set(Settings.__annotations__)
    settings = face()._settings()
    cluster_values = {*vars(settings), *vars(settings)["_live"]}
    # The only setting that no cluster decides.
    assert engine_names - cluster_values == {"max_simultaneous_opens"}
    # This setting has a default here, and no other has.
    assert engine_names & set(vars(Settings)) == {"max_simultaneous_opens"}


def test_a_name_that_is_not_a_setting() -> None:
    with pytest.raises(TypeError, match="the engine has no setting 'colour'"):
        Settings({}, {}, colour="red")
    with pytest.raises(AttributeError, match="the engine has no setting 'colour'"):
        Settings({}, {}).colour  # noqa: B018
