"""Settings of a cluster by which a program names itself, and some that only have to be refused."""

from __future__ import annotations

from cassandra.application_info import ApplicationInfo

__all__ = ["Identity"]


class Identity:
    """A base of `ClusterBase`."""

    application_name: str | None = None
    """The program's name, sent to the server as APPLICATION_NAME; None for none."""

    application_version: str | None = None
    """The program's version, sent as APPLICATION_VERSION; None for none."""

    client_id: object = None
    """An id of this client, a UUID say, sent as CLIENT_ID; None for none."""

    monitor_reporting_enabled: bool = False
    """Must be False: DataStax Enterprise's Insights are not spoken."""

    monitor_reporting_interval: float = 30
    """Seconds between the reports that are not made; accepted for programs that set it."""

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
