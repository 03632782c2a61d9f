"""Settings of the engine: frozen ones, and those that follow the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.engine.settings import Settings


def test_some_are_frozen_and_some_are_looked_up_each_time() -> None:
    live: dict[str, Any] = {"sockopts": None}
    settings = Settings({"connect_timeout": 1.5}, live, endpoints=[])
    assert (settings.connect_timeout, settings.sockopts, settings.endpoints) == (1.5, None, [])
    live["sockopts"] = [(1, 2, 3)]
    assert settings.sockopts == [(1, 2, 3)]


@pytest.mark.parametrize("name", ["connect_timeout", "sockopts", "endpoints", "colour"])
def test_none_can_be_changed_here(name: str) -> None:
    settings = Settings({"connect_timeout": 1.5}, {"sockopts": None}, endpoints=[])
    with pytest.raises(AttributeError, match=f"'{name}' cannot be changed"):
        setattr(settings, name, 2)


@pytest.mark.parametrize("face", [Cluster, aio.Cluster])
def test_all_of_the_engine_s_own_come_from_the_cluster(face: Any) -> None:
    own = set(Settings.__annotations__)
    settings = face()._settings()
    given = {*vars(settings), *vars(settings)["_live"]}
    # The one that no cluster decides.
    assert own - given == {"max_simultaneous_opens"}
    # It has a default here, and no other has one.
    assert own & set(vars(Settings)) == {"max_simultaneous_opens"}


def test_a_name_that_is_not_a_setting() -> None:
    with pytest.raises(TypeError, match="the engine has no setting 'colour'"):
        Settings({}, {}, colour="red")
    with pytest.raises(AttributeError, match="the engine has no setting 'colour'"):
        Settings({}, {}).colour  # noqa: B018
