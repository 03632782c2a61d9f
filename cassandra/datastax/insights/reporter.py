"""`MonitorReporter`, which reports nothing."""

from __future__ import annotations

from typing import NoReturn

from cassandra._compat.refusal import INSIGHTS, refuse

__all__ = ["MonitorReporter"]


class MonitorReporter:
    """Would report a session to Insights. It can be made, and not started.

    :param interval_sec: seconds between reports, which are never made.
    :param session: any session.
    """

    def __init__(self, interval_sec: float, session: object) -> None:
        self.interval_sec = interval_sec
        self.session = session

    def start(self) -> NoReturn:
        """Raise NotImplementedError: Insights are not supported."""
        refuse("MonitorReporter.start()", INSIGHTS)

    def stop(self) -> None:
        """Do nothing: it cannot have been started."""
