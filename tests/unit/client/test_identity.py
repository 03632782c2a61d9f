"""The identity of an application, and the options that only ScyllaDB gets."""

from __future__ import annotations

import json
import uuid

import pytest

from cassandra.client.identity import scylla_options
from cassandra.cluster import Cluster


def test_startup_options_have_the_applications_name_and_client_id() -> None:
    """STARTUP has the application's name and the client's id only if they are set."""
    cluster = Cluster()
    options: dict[str, str] = {}
    cluster._application().add_startup_options(options)
    assert options == {}
    cluster.application_name, cluster.client_id = "shop", uuid.UUID(int=5)
    cluster._application().add_startup_options(options)
    assert options == {"APPLICATION_NAME": "shop", "CLIENT_ID": str(uuid.UUID(int=5))}


def test_invalid_values_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="application_version must be a str or None, but is 5"):
        Cluster(application_version=5)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="Insights"):
        Cluster(monitor_reporting_enabled=True)


def test_scylladb_gets_the_session_id_and_the_configuration() -> None:
    """Each connection sends the session's id to ScyllaDB.

    The control connection also sends the configuration, unless `driver_config_reporting_enabled` is
    False.
    """
    cluster = Cluster(["127.0.0.1"])
    session = {"SESSION_ID": str(cluster.session_id)}
    # Only the control connection sends the driver's configuration.
    assert scylla_options(cluster, is_control=False) == session
    options = scylla_options(cluster, is_control=True)
    assert options.items() >= session.items()
    assert json.loads(options["DRIVER_CONFIG"])
    cluster.driver_config_reporting_enabled = False
    assert scylla_options(cluster, is_control=True) == session
