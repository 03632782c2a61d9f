"""Base classes that give connections and pools the attributes that they have in cassandra-driver.

The attributes are defined in `cassandra._compat.engine`, which is imported when one of them is
first used.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred
from cassandra._lazy import lazy_base

if TYPE_CHECKING:
    from cassandra._compat import engine as compat_engine
    from cassandra._compat.engine import CompatConnection, CompatPool
    from cassandra.engine.connection import Connection
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.settings import Settings
else:
    compat_engine = Deferred("cassandra._compat.engine")
    CompatConnection = lazy_base(
        "CompatConnection",
        "cassandra._compat.engine",
        "factory initialize_reactor handle_fork host port protocol_version is_closed is_defunct "
        "last_error send_msg wait_for_response wait_for_responses is_unsupported_proto_version",
    )
    CompatPool = lazy_base(
        "CompatPool",
        "cassandra._compat.engine",
        "is_shutdown host_distance open_count get_connections get_state borrow_connection "
        "return_connection",
    )

__all__ = ["CompatConnection", "CompatPool", "open_by_factory"]


async def open_by_factory(
    open_connection: Callable[..., Coroutine[Any, Any, Connection]],
    settings: Settings,
    endpoint: EndPoint,
    *details: Any,
) -> Connection:
    """Open a connection.

    If the setting `connection_class` is a user's class with a `factory` method, call that method.

    :param open_connection: called with the end point and `details`; opens a connection.
    :param details: further arguments for `open_connection`.
    :raises ConnectionException: if the factory returns something else, or raises OSError.
    """
    if _inherits_factory(settings.connection_class):
        return await open_connection(endpoint, *details)
    return await compat_engine.open_by_factory(open_connection, settings, endpoint, *details)


def _inherits_factory(connection_class: Any) -> bool:
    """Return True if the class has the `factory` of `CompatConnection`, not a user's."""
    # Look into the dicts of the classes: `getattr` would import the compatibility module.
    classes = getattr(connection_class, "__mro__", ())
    return next((cls for cls in classes if "factory" in vars(cls)), None) is CompatConnection
