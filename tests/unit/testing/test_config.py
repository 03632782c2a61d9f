"""The configuration files of local nodes, for each version of Cassandra."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.testing import config
from cassandra.testing.topology import NodeLocation
from cassandra.testing.versions import parse_version


def node_settings(version: str, **changed: Any) -> dict[str, Any]:
    """Return the settings that the node's cassandra.yaml contains.

    :param changed: arguments of `config.node_settings` that differ from the tests' usual arguments.
    """
    arguments: dict[str, Any] = {
        "network": config.Network("127.0.3.2", 9043, ["127.0.3.1", "127.0.3.2"]),
        "directory": "/d/node2",
        "tokens": [-5, 7],
        "authentication": False,
        "encryption": None,
        "overrides": {},
    }
    return config.node_settings(parse_version(version), **{**arguments, **changed})


def test_addresses_seeds_tokens_and_directories() -> None:
    """cassandra.yaml has the node's addresses, seeds, tokens and directories."""
    lines = config.render_yaml(node_settings("5.0.9")).splitlines()
    assert 'listen_address: "127.0.3.2"' in lines
    assert 'rpc_address: "127.0.3.2"' in lines
    assert "native_transport_port: 9043" in lines
    assert 'initial_token: "-5,7"' in lines
    assert "auto_bootstrap: false" in lines
    assert 'commitlog_directory: "/d/node2/data/commitlog"' in lines
    assert (
        'seed_provider: [{"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", '
        '"parameters": [{"seeds": "127.0.3.1,127.0.3.2"}]}]'
    ) in lines


def test_bootstrapping_node_takes_its_tokens_from_the_ring() -> None:
    """Without tokens, a node bootstraps: it joins a running cluster and chooses its own tokens."""
    options = node_settings("5.0.9", tokens=None)
    assert options["auto_bootstrap"] is True
    assert "initial_token" not in options


@pytest.mark.parametrize(
    ("version", "expected", "absent"),
    [
        (
            "6.0",
            {"discovery_timeout": "2s", "storage_compatibility_mode": "NONE"},
            {"enable_sasi_indexes"},
        ),
        (
            "5.0",
            {"commitlog_sync_period": "10000ms", "storage_compatibility_mode": "NONE"},
            {"enable_sasi_indexes", "discovery_timeout"},
        ),
        (
            "4.1",
            {"commitlog_sync_period": "10000ms", "sasi_indexes_enabled": True},
            {"storage_compatibility_mode"},
        ),
        (
            "4.0",
            {
                "commitlog_sync_period_in_ms": 10000,
                "enable_sasi_indexes": True,
                "memtable_heap_space_in_mb": 64,
            },
            {
                "commitlog_sync_period",
                "sasi_indexes_enabled",
                "dynamic_data_masking_enabled",
                "file_cache_size",
            },
        ),
    ],
)
def test_each_version_gets_its_own_option_names(
    version: str, expected: dict[str, Any], absent: set[str]
) -> None:
    """Cassandra refuses to start with an option that its version does not have."""
    options = node_settings(version)
    assert {name: options.get(name) for name in expected} == expected
    assert absent.isdisjoint(options)


def test_no_unit_is_left_in_a_4_0_file() -> None:
    """In Cassandra 4.0, the unit of an option is in its name, and the value is a plain number."""
    for name, value in node_settings("4.0").items():
        assert not str(value).endswith(("MiB", "ms")), name


def test_authentication_and_encryption() -> None:
    """Authentication and encryption are configured only if the caller has chosen them."""
    options = node_settings("5.0", authentication=True, encryption={"enabled": True})
    assert options["authenticator"] == "PasswordAuthenticator"
    assert options["client_encryption_options"] == {"enabled": True}
    assert "authenticator" not in node_settings("5.0")


def test_overrides_replace_settings_and_none_removes_them() -> None:
    """An override whose value is None removes the setting; nested values are written as JSON."""
    overrides = {
        "num_tokens": 16,
        "auto_snapshot": None,
        "audit_logging_options": {"enabled": True, "logger": [{"class_name": "X"}]},
    }
    yaml = config.render_yaml(node_settings("5.0", overrides=overrides))
    assert "num_tokens: 16\n" in yaml
    assert "auto_snapshot" not in yaml
    assert 'audit_logging_options: {"enabled": true, "logger": [{"class_name": "X"}]}\n' in yaml


def test_a_value_that_yaml_cannot_represent_is_named() -> None:
    """If a value of `config` cannot be written as YAML, the error names its key and its type."""
    with pytest.raises(TypeError, match=r"config\['read_request_timeout'\].*object"):
        config.render_yaml({"read_request_timeout": object()})


def test_rackdc_and_logback() -> None:
    """cassandra-rackdc.properties has the node's location, and logback.xml its log file."""
    location = NodeLocation(datacenter="east", rack="r2")
    assert config.rackdc_properties(location) == "dc=east\nrack=r2\n"
    assert "<file>/d/logs/system.log</file>" in config.logback_xml("/d/logs/system.log")
    assert "<file>/a&amp;b/system.log</file>" in config.logback_xml("/a&b/system.log")
