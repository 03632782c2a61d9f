"""A subclass of a cluster may set settings before it calls the base class's constructor.

The constructor replaces some of them by its defaults and keeps others, as in cassandra-driver.
"""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.client.settings.setting import ConstructorOnly
from cassandra.client.settings.table import ClusterSettings
from cassandra.client_routes import ClientRouteProxy, ClientRoutesConfig
from cassandra.cluster import Cluster, ControlConnectionQueryFallback
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy
from cassandra.connection import Connection, DefaultEndPointFactory
from cassandra.observers import RequestObserver
from cassandra.policies import (
    ConstantReconnectionPolicy,
    FallthroughRetryPolicy,
    IdentityTranslator,
    RoundRobinPolicy,
    SimpleConvictionPolicy,
)
from cassandra.ssl_session_cache import SSLSessionCache
from cassandra.throttling import ConcurrencyLimitingThrottler

CLUSTER_CLASSES = [Cluster, aio.Cluster]
TABLE = ClusterSettings._table

# For each setting, a value that is not its default, if possible.
VALUES: dict[str, Any] = {
    "address_translator": IdentityTranslator(),
    "allow_beta_protocol_version": True,
    "allow_control_connection_query_fallback": ControlConnectionQueryFallback.SkipPoolCreation,
    "application_info": type("Info", (), {"add_startup_options": lambda self, options: None})(),
    "application_name": "shop",
    "application_version": "1",
    "auth_provider": PlainTextAuthProvider("name", "hush"),
    "client_id": "one",
    "client_routes_config": ClientRoutesConfig([ClientRouteProxy("id", "10.0.0.1")]),
    "cloud": {"secure_connect_bundle": "nowhere.zip"},
    "column_encryption_policy": AES256ColumnEncryptionPolicy(),
    "compression": False,
    "connect_timeout": 7,
    "connection_class": type("Connection", (Connection,), {}),
    "connections_per_host": 2,
    "contact_points": ("127.0.0.9",),
    "control_connection_timeout": 7,
    "conviction_policy_factory": type("Conviction", (SimpleConvictionPolicy,), {}),
    "cql_version": "3.4.5",
    "default_retry_policy": FallthroughRetryPolicy(),
    "driver_config_reporting_enabled": False,
    "graceful_disconnect_enabled": False,
    "endpoint_factory": DefaultEndPointFactory(),
    "executor_threads": 7,
    "idle_heartbeat_interval": 7,
    "idle_heartbeat_timeout": 7,
    "load_balancing_policy": RoundRobinPolicy(),
    "loops": 7,
    "max_schema_agreement_wait": 7,
    "max_waiting_requests": 7,
    "metadata_request_timeout": 7,
    "metrics_enabled": True,
    "monitor_reporting_enabled": False,
    "monitor_reporting_interval": 7,
    "no_compact": True,
    "port": 9999,
    "prepare_on_all_hosts": False,
    "protocol_version": 4,
    "reconnection_policy": ConstantReconnectionPolicy(7),
    "reprepare_on_up": False,
    "prepare_scope": "all",
    "request_observers": (RequestObserver(),),
    "request_throttler": ConcurrencyLimitingThrottler(7, 7),
    "schema_event_refresh_window": 7,
    "schema_metadata_enabled": False,
    "schema_metadata_keyspaces": ("shop",),
    "schema_metadata_page_size": 7,
    "schema_read_timeout": 7,
    "scylla_cloud": None,
    "shard_aware_options": {"disable": True},
    "sockopts": [(6, 1, 1)],
    "ssl_context": ssl.create_default_context(),
    "ssl_options": {"server_hostname": "shop"},
    "ssl_session_cache": SSLSessionCache(),
    "status_event_refresh_window": 7,
    "timestamp_generator": lambda: 7,
    "token_metadata_enabled": False,
    "topology_event_refresh_window": 7,
}

# The constructors of cassandra-driver and scylla-driver keep the early values of these settings,
# unless the settings are passed as arguments.
KEPT_BY_THE_CONSTRUCTOR = {
    "address_translator", "application_info", "application_name", "application_version",
    "column_encryption_policy", "connection_class", "conviction_policy_factory",
    "default_retry_policy", "executor_threads", "protocol_version", "reconnection_policy",
    "schema_metadata_page_size",
}  # fmt: skip


def test_values_has_all_settings() -> None:
    """`VALUES` has all settings.

    Whoever adds a setting must also add it to `VALUES`, or these tests would leave it out.
    """
    assert set(VALUES) == {
        name for name, setting in TABLE.items() if not isinstance(setting, ConstructorOnly)
    }


def subclass_with_early_setting(cluster_class: Any, name: str) -> Any:
    """Return a subclass whose constructor sets a setting before it calls the base constructor.

    The value comes from `VALUES`. The attribute `early_value` is the setting's value that is read
    back before the base constructor is called.
    """

    class Early(cluster_class):  # type: ignore[misc]
        def __init__(self, **settings: Any) -> None:
            setattr(self, name, VALUES[name])
            self.early_value = getattr(self, name)
            super().__init__(**settings)

    return Early


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("cluster_class", CLUSTER_CLASSES)
def test_the_constructor_overrides_or_keeps_early_settings(cluster_class: Any, name: str) -> None:
    """After the constructor, a setting in `KEPT_BY_THE_CONSTRUCTOR` still has its early value.

    All other settings have their defaults again.
    """
    cluster = subclass_with_early_setting(cluster_class, name)()
    if name in KEPT_BY_THE_CONSTRUCTOR:
        assert getattr(cluster, name) is cluster.early_value
    elif TABLE[name].shown_default is None:
        assert getattr(cluster, name) == getattr(cluster_class(), name)
    else:
        # The default may be a new object for each cluster, so we cannot compare it. Check only that
        # the early value is gone.
        assert getattr(cluster, name) is not VALUES[name]
    if TABLE[name].is_live:
        assert cluster._live[name] is getattr(cluster, name)


@pytest.mark.parametrize(
    "name", [name for name in sorted(KEPT_BY_THE_CONSTRUCTOR) if TABLE[name].default is not None]
)
@pytest.mark.parametrize("cluster_class", CLUSTER_CLASSES)
def test_arguments_of_the_constructor_override_early_settings(
    cluster_class: Any, name: str
) -> None:
    """An argument of the constructor replaces the value that the subclass has set before."""
    cluster = subclass_with_early_setting(cluster_class, name)(**{name: TABLE[name].default})
    assert getattr(cluster, name) is TABLE[name].default


def test_token_metadata_has_the_setting_of_the_constructor() -> None:
    """`metadata.token_metadata_enabled` has the value that was passed to the constructor.

    A value that a subclass has set before it called the constructor is lost.
    """
    early_class = subclass_with_early_setting(Cluster, "token_metadata_enabled")
    assert early_class().metadata.token_metadata_enabled is True
    assert early_class(token_metadata_enabled=False).metadata.token_metadata_enabled is False
