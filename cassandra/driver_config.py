"""The options of STARTUP that describe a driver's configuration, and who would report it."""

from __future__ import annotations

from typing import NoReturn

from cassandra._lazy import lazy_names

__all__ = ["DRIVER_CONFIG_OPTION", "SESSION_ID_OPTION", "DriverConfigReporter"]

DRIVER_CONFIG_OPTION = "DRIVER_CONFIG"
SESSION_ID_OPTION = "SESSION_ID"


class DriverConfigReporter:
    """Would write a cluster's settings as JSON. It can be made, and not used."""

    def __init__(self, cluster: object) -> None:
        self.cluster = cluster

    def report(self) -> NoReturn:
        """Raise NotImplementedError: the settings are not reported, only the session's id."""
        raise NotImplementedError(
            "DriverConfigReporter.report() is not supported: this driver tells servers its "
            "SESSION_ID, and no settings"
        )


__getattr__ = lazy_names(__name__)
