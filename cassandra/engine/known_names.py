"""Bases of connections and pools, with the attributes that programs know them by.

They are defined in `cassandra._compat.engine`, which is imported when one of them is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred
from cassandra._lazy import lazy_base

if TYPE_CHECKING:
    from cassandra._compat import engine as compat_engine
    from cassandra._compat.engine import KnownConnection, KnownPool
    from cassandra.engine.connection import Connection
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.settings import Settings
else:
    compat_engine = Deferred("cassandra._compat.engine")
    KnownConnection = lazy_base(
        "KnownConnection",
        "cassandra._compat.engine",
        "factory initialize_reactor handle_fork host port protocol_version is_closed is_defunct "
        "last_error send_msg wait_for_response wait_for_responses is_unsupported_proto_version",
    )
    KnownPool = lazy_base(
        "KnownPool",
        "cassandra._compat.engine",
        "is_shutdown host_distance open_count get_connections get_state borrow_connection "
        "return_connection",
    )

__all__ = ["KnownConnection", "KnownPool", "open_by_factory"]


async def open_by_factory(
    open_one: Callable[..., Coroutine[Any, Any, Connection]],
    settings: Settings,
    endpoint: EndPoint,
    *details: Any,
) -> Connection:
    """Open a connection, by a program's own `factory` if the connection class has one.

    :param open_one: opens a connection to an end point; it also gets the `details`.
    :raises ConnectionException: if it gives something else than a connection, or raises OSError.
    """
    if _has_no_factory_of_its_own(settings.connection_class):
        return await open_one(endpoint, *details)
    return await compat_engine.open_by_factory(open_one, settings, endpoint, *details)


def _has_no_factory_of_its_own(connection_class: Any) -> bool:
    # Not by `getattr`, which would load the stock one.
    classes = getattr(connection_class, "__mro__", ())
    return next((one for one in classes if "factory" in vars(one)), None) is KnownConnection
