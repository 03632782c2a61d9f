"""The names by which a program shows itself to the server, in ``system_views.clients``."""

from __future__ import annotations

__all__ = ["ApplicationInfo", "ApplicationInfoBase"]


class ApplicationInfoBase:
    """Adds options to those that each connection sends in STARTUP."""

    def add_startup_options(self, options: dict[str, str]) -> None:
        """Add to `options`, which maps texts to texts.

        :param options: those of STARTUP so far; a dict of texts by their names.
        """
        raise NotImplementedError


class ApplicationInfo(ApplicationInfoBase):
    """The name and the version of a program, and an id of this client.

    :param application_name: sent as APPLICATION_NAME; None sends no name.
    :param application_version: sent as APPLICATION_VERSION; None sends no version.
    :param client_id: sent as CLIENT_ID; None sends no id.
    :raises TypeError: if one of them is not a text.
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
        """Add the parts that are set.

        :param options: those of STARTUP so far; a dict of texts by their names.
        """
        if self.application_name:
            options["APPLICATION_NAME"] = self.application_name
        if self.application_version:
            options["APPLICATION_VERSION"] = self.application_version
        if self.client_id:
            options["CLIENT_ID"] = self.client_id
