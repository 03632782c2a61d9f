"""The setting that lets requests use the control connection if no pool can take them."""

from __future__ import annotations

from enum import Enum

__all__ = ["ControlConnectionQueryFallback", "fallback_of"]


class ControlConnectionQueryFallback(Enum):
    """How to handle requests that no pool can take.

    * ``Disabled``: they fail, and `connect` raises `NoHostAvailable` if no pool can be opened.
    * ``Fallback``: pools are opened if possible; requests that no pool can take use the
      control connection.
    * ``SkipPoolCreation``: no pools are opened; all requests use the control connection.

    The first session that uses the control connection binds it to its keyspace until the session is
    shut down. Requests of sessions with another keyspace fail with `InvalidRequest`, and so does
    ``USE``. A request for a particular host never uses the control connection.
    """

    Disabled = "Disabled"
    Fallback = "Fallback"
    SkipPoolCreation = "SkipPoolCreation"


def fallback_of(setting: object) -> ControlConnectionQueryFallback:
    """Return `setting`, which must be a member of the enumeration.

    :raises TypeError: if `setting` is something else.
    """
    if isinstance(setting, ControlConnectionQueryFallback):
        return setting
    names = ", ".join(map(str, ControlConnectionQueryFallback))
    raise TypeError(
        f"allow_control_connection_query_fallback must be one of {names}, but is {setting!r}"
    )
