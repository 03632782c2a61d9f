"""The setting that lets requests use the control connection if no pool can take them."""

from __future__ import annotations

from enum import Enum


class ControlConnectionQueryFallback(Enum):
    """The ways to handle a request if no connection pool can send it.

    * ``Disabled``: the request fails, and `connect` raises `NoHostAvailable` if no pool can be
      opened.
    * ``Fallback``: pools are opened if possible. A request that no pool can send is sent on the
      control connection.
    * ``SkipPoolCreation``: no pools are opened. All requests are sent on the control connection.

    The control connection is in the keyspace of the first session that uses it, until that session
    is shut down. Until then, requests of sessions with another keyspace fail with `InvalidRequest`.
    A ``USE`` statement is never sent on the control connection: it fails. A request for a
    particular host never uses the control connection. If the control connection has no free stream,
    requests wait for one.
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
