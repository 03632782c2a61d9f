"""Settings of the engine."""

from __future__ import annotations

import pytest

from cassandra.engine.settings import Settings


def test_what_is_given_counts_and_the_rest_has_defaults() -> None:
    settings = Settings(connect_timeout=1.5)
    assert (settings.connect_timeout, Settings.connect_timeout) == (1.5, 5.0)
    assert settings.connections_per_host(0) == 1


def test_a_name_that_is_no_setting() -> None:
    with pytest.raises(TypeError, match="the engine has no setting 'colour'"):
        Settings(colour="red")
