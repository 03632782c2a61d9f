"""Defines how a cluster identifies the application and itself to the servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from cassandra._imports import Deferred, at_first_cluster
from cassandra.application_info import ApplicationInfo
from cassandra.client.settings.table import ClusterSettings

if TYPE_CHECKING:
    import uuid

    from cassandra import driver_config
    from cassandra.engine.environment import new_id
else:
    at_first_cluster(__name__, new_id="cassandra.engine.environment")
    # Imported when first used, because only ScyllaDB servers get a report of the settings.
    driver_config = Deferred("cassandra.driver_config")


class Identity(ClusterSettings):
    """The base class of both `Cluster` classes that identifies the application to the servers.

    `session_id` identifies the cluster object itself.
    """

    _session_id: uuid.UUID | None = None

    @property
    def session_id(self) -> uuid.UUID:
        """A random id of this cluster object, which identifies its connections."""
        if self._session_id is None:
            # Create the id when it is first used: in a simulation, the simulation must generate the
            # id, so that a run of a test can be repeated exactly. `setdefault` is atomic, so two
            # threads get the same id.
            return cast("uuid.UUID", vars(self).setdefault("_session_id", new_id()))
        return self._session_id

    def _check_identity(self) -> None:
        self._application()

    def _application(self) -> ApplicationInfo:
        """Return the name, version and id of the application in an `ApplicationInfo`.

        :raises TypeError: if the name or the version is not a string.
        """
        client_id = None if self.client_id is None else str(self.client_id)
        return ApplicationInfo(self.application_name, self.application_version, client_id)


def scylla_options(cluster: Identity, is_control: bool) -> dict[str, str]:
    """Return the STARTUP options for ScyllaDB servers."""
    options = {"SESSION_ID": str(cluster.session_id)}
    if is_control and cluster.driver_config_reporting_enabled:
        options.update(driver_config.DriverConfigReporter(cluster).options())
    return options
