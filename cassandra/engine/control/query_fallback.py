"""The setting: may requests use the control connection, if no pool can take them?"""

from __future__ import annotations

from enum import Enum

__all__ = ["ControlConnectionQueryFallback", "fallback_of"]


class ControlConnectionQueryFallback(Enum):
    """The ways to deal with requests that no pool can take.

    * ``Disabled``: they fail, and `connect` raises `NoHostAvailable` if no pool can be opened.
    * ``Fallback``: pools are opened if they can be; requests that none of them can take use the
      control connection.
    * ``SkipPoolCreation``: no pools are opened; all requests use the control connection.

    The first session that uses the control connection binds it to its keyspace, until it is shut
    down. Requests of sessions with another keyspace are refused with `InvalidRequest`, and so is
    ``USE``. A request for a named host never uses the control connection.
    """

    Disabled = "Disabled"
    Fallback = "Fallback"
    SkipPoolCreation = "SkipPoolCreation"


def fallback_of(setting: object) -> ControlConnectionQueryFallback:
    """Return the setting, which must be a member.

    :raises TypeError: if it is something else.
    """
    if isinstance(setting, ControlConnectionQueryFallback):
        return setting
    names = ", ".join(map(str, ControlConnectionQueryFallback))
    raise TypeError(
        f"allow_control_connection_query_fallback must be one of {names}, but is {setting!r}"
    )
