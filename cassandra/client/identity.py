"""Settings of a cluster by which a program names itself, and some that only have to be refused."""

from __future__ import annotations

import uuid

from cassandra._imports import import_module
from cassandra.application_info import ApplicationInfo

__all__ = ["Identity", "scylla_options"]


class Identity:
    """A base of `ClusterBase`."""

    application_name: str | None = None
    """The program's name, sent to the server as APPLICATION_NAME; None for none."""

    application_version: str | None = None
    """The program's version, sent as APPLICATION_VERSION; None for none."""

    client_id: object = None
    """An id of this client, a UUID say, sent as CLIENT_ID; None for none."""

    monitor_reporting_enabled: bool = False
    """Must be False: DataStax Enterprise's Insights are not supported."""

    monitor_reporting_interval: float = 30
    """Seconds between the reports that are not made; accepted for programs that set it."""

    driver_config_reporting_enabled: bool = True
    """True tells ScyllaDB these settings with the control connection, as JSON (DRIVER_CONFIG).

    An operator sees them in ``system.clients``. False leaves them out; `session_id`, which says
    which connections belong together, is sent in any case. Cassandra is told neither.
    """

    _session_id: uuid.UUID

    @property
    def session_id(self) -> uuid.UUID:
        """A random id of this cluster object, for telling its connections from others."""
        return self._session_id

    def _check_identity(self) -> None:
        if self.monitor_reporting_enabled:
            raise NotImplementedError(
                "monitor_reporting_enabled=True is not supported: Insights are DataStax "
                "Enterprise's own, and this driver does not report to them"
            )
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
        # Imported when it is first needed: Cassandra is told nothing of the kind.
        reporter = import_module("cassandra.driver_config").DriverConfigReporter(cluster)
        options.update(reporter.options())
    return options
