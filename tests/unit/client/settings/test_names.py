"""Tests of the error for an unknown setting, which suggests the right name."""

from __future__ import annotations

from cassandra.client.settings.names import instead_of

NAMES = ("connect_timeout", "port", "sockopts")


def test_a_similar_name_is_suggested() -> None:
    assert instead_of("conect_timeout", NAMES) == "; did you mean 'connect_timeout'?"
    assert instead_of("colour", NAMES) == ""
    assert "ExecutionProfile(request_timeout=...)" in instead_of("default_timeout", NAMES)


def test_names_of_logging_and_metrics_get_advice() -> None:
    assert "getLogger('cassandra').setLevel" in instead_of("log_level", [])
    assert "metrics_enabled=True" in instead_of("metrics", [])
    assert "request_observers=[...]" in instead_of("observers", [])
