"""Settings of the engine: frozen ones, and those that follow the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.engine.settings import Settings


def test_some_are_frozen_and_some_are_looked_up_each_time() -> None:
    live: dict[str, Any] = {"sockopts": None}
    settings = Settings({"connect_timeout": 1.5}, live, endpoints=[])
    assert (settings.connect_timeout, settings.sockopts, settings.endpoints) == (1.5, None, [])
    assert settings.connections_to(0) == 1
    live["sockopts"] = [(1, 2, 3)]
    assert settings.sockopts == [(1, 2, 3)]


def test_none_can_be_changed_here() -> None:
    settings = Settings({"connect_timeout": 1.5}, {})
    with pytest.raises(AttributeError, match="'connect_timeout' cannot be changed"):
        settings.connect_timeout = 2


def test_a_name_that_is_not_a_setting() -> None:
    with pytest.raises(TypeError, match="the engine has no setting 'colour'"):
        Settings({}, {}, colour="red")
    with pytest.raises(AttributeError, match="the engine has no setting 'colour'"):
        Settings({}, {}).colour  # noqa: B018
