"""The table of a cluster's settings, which is the only place that lists them."""

from __future__ import annotations

import enum
import inspect
from typing import Any

import pytest

from cassandra import aio
from cassandra.client.configuration import ClusterBase
from cassandra.client.settings.setting import ConstructorOnly
from cassandra.client.settings.table import ClusterSettings
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode
from tests.waiting import WAIT, result_of

CLUSTER_CLASSES = [Cluster, aio.Cluster]
TABLE = ClusterSettings._table


@pytest.mark.parametrize("cluster_class", CLUSTER_CLASSES)
def test_the_constructor_has_all_settings_in_their_order(cluster_class: Any) -> None:
    """The constructor's parameters are the settings of the table, in the order of the table.

    Settings that may be positional come first. Keyword-only settings follow, sorted by name.
    """
    parameters = inspect.signature(cluster_class).parameters
    assert list(parameters) == [*TABLE, "settings"]
    assert list(inspect.signature(cluster_class.__init__).parameters) == [
        "self",
        *TABLE,
        "settings",
    ]
    positional_names = [name for name, setting in TABLE.items() if not setting.kw_only]
    assert positional_names[:3] == ["contact_points", "port", "compression"]
    keyword_names = [name for name, setting in TABLE.items() if setting.kw_only]
    assert [*TABLE] == positional_names + keyword_names
    assert keyword_names == sorted(keyword_names)


@pytest.mark.parametrize("cluster_class", CLUSTER_CLASSES)
def test_the_signature_shows_the_defaults(cluster_class: Any) -> None:
    """The signature of a cluster class shows the defaults of its settings.

    A subclass has the same signature, unless it defines its own constructor.
    """
    parameters = inspect.signature(cluster_class).parameters
    for name, setting in TABLE.items():
        assert parameters[name].default is setting.default, name
    assert "port: 'int | str | None' = 9042" in str(inspect.signature(cluster_class))
    assert inspect.signature(type("Ours", (cluster_class,), {})) == inspect.signature(cluster_class)

    class Own(cluster_class):  # type: ignore[misc]
        def __init__(self, tenant: str) -> None:
            """Do nothing, like the constructor of an application's subclass might."""

    assert list(inspect.signature(Own).parameters) == ["tenant"]


@pytest.mark.parametrize("cluster_class", CLUSTER_CLASSES)
def test_none_selects_the_default_or_is_a_valid_value(cluster_class: Any) -> None:
    """Each setting accepts None. If None selects the default, the attribute returns the default."""
    attribute_names = {
        name for name, setting in TABLE.items() if not isinstance(setting, ConstructorOnly)
    }
    cluster = cluster_class(**dict.fromkeys(attribute_names - {"request_observers"}, None))
    for name in attribute_names:
        if TABLE[name].none_is_default:
            assert getattr(cluster, name) is not None, name


@pytest.mark.parametrize("cluster_class", CLUSTER_CLASSES)
async def test_only_live_settings_reach_the_engine_after_connect(cluster_class: Any) -> None:
    """After `connect`, a changed setting reaches the engine only if it is live.

    For all other settings, the change causes a warning and has no effect.
    """
    with FakeNode() as node:
        cluster = cluster_class([node.address], port=node.port)
        try:
            await result_of(cluster.connect())
            engine = cluster._core.settings
            for name, setting in TABLE.items():
                if not isinstance(setting, ConstructorOnly) and name != "ssl_options":
                    assert getattr(engine, name) is getattr(cluster, name), name
            cluster.reprepare_on_up = False
            with pytest.warns(RuntimeWarning, match="idle_heartbeat_timeout has no effect"):
                cluster.idle_heartbeat_timeout = 77
            # Of these two settings, only `reprepare_on_up` is live.
            assert engine.reprepare_on_up is False
            assert engine.idle_heartbeat_timeout == 30
        finally:
            await result_of(cluster.shutdown())


@pytest.mark.parametrize("cluster_class", CLUSTER_CLASSES)
async def test_a_subclass_with_its_own_defaults_follows_changes(cluster_class: Any) -> None:
    """Class attributes of a subclass are its defaults.

    If an attribute is set on an instance, this value replaces the default of the subclass.
    """
    cluster_subclass = type(
        "Ours", (cluster_class,), {"max_schema_agreement_wait": 3, "connect_timeout": 2}
    )
    with FakeNode() as node:
        cluster = cluster_subclass([node.address], port=node.port)
        try:
            await result_of(cluster.connect())
            engine = cluster._core.settings
            assert (engine.max_schema_agreement_wait, engine.connect_timeout) == (3, 2)
            cluster.max_schema_agreement_wait = 4
            assert engine.max_schema_agreement_wait == 4
            assert cluster.max_schema_agreement_wait == 4
        finally:
            await result_of(cluster.shutdown())


def test_a_subclass_may_have_a_property_in_the_place_of_a_setting() -> None:
    """If a subclass replaces a setting by a property, the engine uses the property's value."""

    class Ours(Cluster):
        @property
        def connect_timeout(self) -> float:  # type: ignore[override]
            return 1.25

    assert Ours()._settings().connect_timeout == 1.25


def test_an_instance_may_be_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    """`monkeypatch` may set an attribute of a cluster, and later restores the setting."""
    cluster = Cluster(max_schema_agreement_wait=5)
    monkeypatch.setattr(cluster, "max_schema_agreement_wait", 1)
    monkeypatch.setattr(cluster, "port", 1)
    assert cluster._settings().max_schema_agreement_wait == 1
    monkeypatch.undo()
    assert cluster._settings().max_schema_agreement_wait == 5
    assert cluster.port == 9042


def test_each_setting_has_a_docstring() -> None:
    """Each setting has its own docstring, not the docstring of the class `Setting`."""
    for name, setting in TABLE.items():
        assert setting.__doc__, name
    assert "One setting" not in str(TABLE["port"].__doc__)
    assert (type(TABLE["port"]).__doc__ or "").startswith("A setting")


@pytest.mark.parametrize("cluster_class", CLUSTER_CLASSES)
def test_an_unknown_setting_is_an_error(cluster_class: Any) -> None:
    with pytest.raises(TypeError, match="Cluster has no setting 'contact_pionts'"):
        cluster_class(contact_pionts=["10.0.0.1"])


@pytest.mark.parametrize("cluster_class", CLUSTER_CLASSES)
def test_settings_that_are_not_given_keep_their_defaults(cluster_class: Any) -> None:
    """Settings that are not passed to the constructor have the defaults of `ClusterBase`."""
    cluster = cluster_class()
    for name in TABLE.keys() - {"execution_profiles"}:
        if name not in ("timestamp_generator", "endpoint_factory", "ssl_session_cache"):
            value, default = getattr(cluster, name), getattr(ClusterBase(), name)
            # Policies are equal only to themselves, so compare their types.
            assert value == default or type(value) is type(default), name
    assert cluster_class(compression=False).compression is False


# Applications rely on these defaults. If cassandra-driver has the same setting, it has the same
# default.
DEFAULTS: dict[str, Any] = {
    "contact_points": ("127.0.0.1",),
    "port": 9042,
    "compression": True,
    "metrics_enabled": False,
    "protocol_version": 5,
    "executor_threads": 2,
    "max_schema_agreement_wait": 10,
    # seconds; normally 2, but tests/unit/conftest.py makes it longer
    "control_connection_timeout": WAIT,
    "idle_heartbeat_interval": 30,
    "schema_event_refresh_window": 2,
    "topology_event_refresh_window": 10,
    "connect_timeout": 5,
    "schema_metadata_enabled": True,
    "token_metadata_enabled": True,
    "schema_metadata_page_size": 1000,
    "status_event_refresh_window": 2,
    "prepare_on_all_hosts": True,
    "reprepare_on_up": True,
    "allow_beta_protocol_version": False,
    "idle_heartbeat_timeout": 30,
    "no_compact": False,
    "connections_per_host": 1,
    "driver_config_reporting_enabled": True,
    "graceful_disconnect_enabled": True,
    "loops": 1,
    "max_waiting_requests": 262144,
    "monitor_reporting_enabled": False,
    "monitor_reporting_interval": 30,
    "prepare_scope": "local_dc",
    "request_observers": (),
    "schema_read_timeout": 300,
}
# The default of these settings is None.
NONE = """
    auth_provider load_balancing_policy default_retry_policy ssl_options sockopts
    cql_version execution_profiles timestamp_generator ssl_context endpoint_factory cloud
    scylla_cloud shard_aware_options metadata_request_timeout column_encryption_policy
    application_info application_name application_version client_id client_routes_config
    request_throttler schema_metadata_keyspaces
"""
# If one of these settings is None, its default is used.
NONE_IS_DEFAULT = """
    address_translator allow_control_connection_query_fallback connections_per_host
    contact_points conviction_policy_factory executor_threads idle_heartbeat_timeout loops
    max_schema_agreement_wait port prepare_scope protocol_version reconnection_policy
    schema_event_refresh_window schema_metadata_page_size status_event_refresh_window
    topology_event_refresh_window
"""
# The engine reads these settings whenever it needs them.
LIVE = """
    auth_provider control_connection_timeout conviction_policy_factory
    max_schema_agreement_wait metadata_request_timeout prepare_on_all_hosts prepare_scope
    reconnection_policy reprepare_on_up schema_event_refresh_window schema_metadata_enabled
    schema_metadata_page_size schema_read_timeout sockopts status_event_refresh_window
    token_metadata_enabled topology_event_refresh_window
"""
# A subclass may set these settings before it calls the constructor.
MAY_PRECEDE = """
    address_translator application_info application_name application_version
    column_encryption_policy connection_class conviction_policy_factory default_retry_policy
    executor_threads protocol_version reconnection_policy schema_metadata_page_size
"""


def test_settings_have_their_defaults() -> None:
    """Each setting in `DEFAULTS` has this default; the default of settings in `NONE` is None."""
    simple = {
        name: setting.default
        for name, setting in TABLE.items()
        if isinstance(setting.default, (int, float, str, tuple))
        and not isinstance(setting.default, enum.Enum)
    }
    assert simple == DEFAULTS
    assert [name for name, setting in TABLE.items() if setting.default is None] == NONE.split()


@pytest.mark.parametrize(
    ("attribute", "names"),
    [
        ("none_is_default", NONE_IS_DEFAULT),
        ("is_live", LIVE),
        ("_may_precede", MAY_PRECEDE),
        ("is_secret", "auth_provider ssl_options"),
    ],
)
def test_settings_differ_in_when_they_apply(attribute: str, names: str) -> None:
    """Exactly the settings in the lists above have the attribute, for example `is_live`."""
    assert sorted(name for name, setting in TABLE.items() if getattr(setting, attribute)) == (
        names.split()
    )
