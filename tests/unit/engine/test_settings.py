"""`Settings` of the engine: some are fixed, and others follow the cluster's settings."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.engine.settings import Settings


def test_live_settings_follow_the_cluster() -> None:
    """Live settings follow the cluster.

    The second argument of `Settings` is the cluster's own dict.
    """
    live: dict[str, Any] = {"sockopts": None}
    settings = Settings({"connect_timeout": 1.5}, live, endpoints=[])
    assert settings.connect_timeout == 1.5
    assert settings.sockopts is None
    assert settings.endpoints == []
    keepalive = (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    live["sockopts"] = [keepalive]
    assert settings.sockopts == [keepalive]


@pytest.mark.parametrize("name", ["connect_timeout", "sockopts", "endpoints", "colour"])
def test_settings_cannot_be_changed(name: str) -> None:
    settings = Settings({"connect_timeout": 1.5}, {"sockopts": None}, endpoints=[])
    with pytest.raises(AttributeError, match=f"'{name}' cannot be changed"):
        setattr(settings, name, 2)


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_all_engine_settings_but_one_come_from_the_cluster(cluster_class: Any) -> None:
    """Every setting that the engine names has a value.

    The value comes from the cluster, or it is a default in the class.
    """
    engine_names = set(Settings.__annotations__)
    settings = cluster_class()._settings()
    cluster_values = {*vars(settings), *vars(settings)["_live"]}
    # No cluster has a setting with this name.
    assert engine_names - cluster_values == {"max_simultaneous_opens"}
    # It is the only setting with a default in the class.
    assert engine_names & set(vars(Settings)) == {"max_simultaneous_opens"}


def test_an_unknown_setting_is_an_error() -> None:
    with pytest.raises(TypeError, match="the engine has no setting 'colour'"):
        Settings(values={}, live={}, colour="red")
    with pytest.raises(AttributeError, match="the engine has no setting 'colour'"):
        getattr(Settings(values={}, live={}), "colour")  # noqa: B009  # mypy knows that there is none
