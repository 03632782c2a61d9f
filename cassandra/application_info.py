"""The name, version and id by which an application identifies itself to the servers.

Operators see these values in the table ``system_views.clients``.
"""

from __future__ import annotations

__all__ = ["ApplicationInfo", "ApplicationInfoBase"]


class ApplicationInfoBase:
    """Adds options to the STARTUP message of each connection."""

    def add_startup_options(self, options: dict[str, str]) -> None:
        """Add options to the dict `options`.

        :param options: the options of STARTUP so far, a dict of strings.
        """
        raise NotImplementedError


class ApplicationInfo(ApplicationInfoBase):
    """The name and version of an application, and an id of this client.

    :param application_name: sent as APPLICATION_NAME; None sends no name.
    :param application_version: sent as APPLICATION_VERSION; None sends no version.
    :param client_id: sent as CLIENT_ID; None sends no id.
    :raises TypeError: if an argument is not a string.
    """

    def __init__(
        self,
        application_name: str | None = None,
        application_version: str | None = None,
        client_id: str | None = None,
    ) -> None:
        for name, value in (
            ("application_name", application_name),
            ("application_version", application_version),
            ("client_id", client_id),
        ):
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{name} must be a str or None, but is {value!r}")
        self.application_name = application_name
        self.application_version = application_version
        self.client_id = client_id

    def add_startup_options(self, options: dict[str, str]) -> None:
        """Add the name, version and id to `options`, without values that are None or empty.

        :param options: the options of STARTUP so far, a dict of strings.
        """
        if self.application_name:
            options["APPLICATION_NAME"] = self.application_name
        if self.application_version:
            options["APPLICATION_VERSION"] = self.application_version
        if self.client_id:
            options["CLIENT_ID"] = self.client_id
