"""Settings of a cluster by which a program names itself."""

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
    # Cassandra is told nothing of the kind.
    driver_config = Deferred("cassandra.driver_config")

__all__ = ["Identity", "scylla_options"]


class Identity(ClusterSettings):
    """The part of a cluster that says who connects: the application, and this cluster object."""

    _session_id: uuid.UUID | None = None

    @property
    def session_id(self) -> uuid.UUID:
        """A random id of this cluster object, for telling its connections from others."""
        if self._session_id is None:
            # Drawn late, so that a simulation which runs the cluster decides it. One step: two
            # threads that ask at the same time get the same id.
            return cast("uuid.UUID", vars(self).setdefault("_session_id", new_id()))
        return self._session_id

    def _check_identity(self) -> None:
        self._application()

    def _application(self) -> ApplicationInfo:
        """Return the settings of the application.

        :raises TypeError: if one of them is not a text.
        """
        client_id = None if self.client_id is None else str(self.client_id)
        return ApplicationInfo(self.application_name, self.application_version, client_id)


def scylla_options(cluster: Identity, is_control: bool) -> dict[str, str]:
    """Return the options of STARTUP for servers of ScyllaDB."""
    options = {"SESSION_ID": str(cluster.session_id)}
    if is_control and cluster.driver_config_reporting_enabled:
        options.update(driver_config.DriverConfigReporter(cluster).options())
    return options
