"""Checks of single settings of a cluster."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence

from cassandra._imports import import_module
from cassandra._secrets import Secret
from cassandra.protocol.compression import available_compressions

__all__ = [
    "TIMES",
    "as_timedelta",
    "check_auth_provider",
    "check_callable",
    "check_compression",
    "check_encryption",
    "check_instance",
    "check_page_size",
    "check_seconds",
    "check_throttler",
    "checked_keyspaces",
    "checked_port",
    "instead_of",
]

# Settings in seconds, and the least value that each may have.
TIMES = {
    "connect_timeout": 0.0,
    "control_connection_timeout": 0.0,
    "idle_heartbeat_interval": 0.0,
    "idle_heartbeat_timeout": 0.0,
    "max_schema_agreement_wait": -math.inf,
    "schema_read_timeout": 0.0,
    "schema_event_refresh_window": -math.inf,
    "status_event_refresh_window": -math.inf,
    "topology_event_refresh_window": -math.inf,
}


# Settings of requests, which programs look for among those of the cluster.
_OF_PROFILES = {
    "request_timeout": "request_timeout",
    "timeout": "request_timeout",
    "default_timeout": "request_timeout",
    "consistency_level": "consistency_level",
    "serial_consistency_level": "serial_consistency_level",
    "row_factory": "row_factory",
    "retry_policy": "retry_policy",
    "speculative_execution_policy": "speculative_execution_policy",
}


def instead_of(name: str) -> str:
    """Return the end of the message about a setting that does not exist: a name that may be
    meant.
    """
    if name in _OF_PROFILES:
        return (
            f": it is one of an execution profile, ExecutionProfile({_OF_PROFILES[name]}=...), "
            "which execution_profiles={EXEC_PROFILE_DEFAULT: profile} makes the default"
        )
    near = import_module("difflib").get_close_matches(name, _names_of_settings(), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _names_of_settings() -> tuple[str, ...]:
    """Return the names of all settings."""
    settings = import_module("cassandra.client.cluster_settings").ClusterSettings
    return (*settings.__annotations__, "contact_points")


def check_seconds(name: str, value: object, least: float) -> None:
    """Raise TypeError or ValueError unless `value` is a number of seconds or None."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number of seconds or None, but is {value!r}")
    # NaN would pass the comparison below.
    if math.isnan(value) or value == math.inf:
        raise ValueError(
            f"{name} must be a number of seconds, but is {value!r}; None is for no limit"
        )
    if value < least:
        raise ValueError(f"{name} must not be negative, but is {value}")


def as_timedelta(name: str, value: object) -> datetime.timedelta | None:
    """Return a time that may be given in seconds, too.

    :raises TypeError: if it is something else.
    :raises ValueError: if it is negative or no number.
    """
    if value is None or isinstance(value, datetime.timedelta):
        return value
    check_seconds(name, value, 0.0)
    assert isinstance(value, (int, float))
    return datetime.timedelta(seconds=value)


def checked_port(port: object) -> int:
    """Return a port as a number. From an environment variable it is a text.

    :raises ValueError: if it is not a number from 1 to 65535.
    """
    # Looked at before int() does: its own message would not say that it is about a port.
    is_number = isinstance(port, (int, str)) and str(port).strip().isdecimal()
    if isinstance(port, bool) or not is_number or not 1 <= int(str(port)) <= 65535:
        raise ValueError(f"port must be a number from 1 to 65535, but is {port!r}")
    return int(str(port))


def check_auth_provider(provider: object) -> None:
    """Raise TypeError unless `provider` is None, or makes authenticators."""
    if provider is not None and not hasattr(provider, "new_authenticator"):
        kind = provider.kind if isinstance(provider, Secret) else type(provider).__name__
        raise TypeError(
            f"auth_provider must be an AuthProvider, but is of type {kind}; "
            "PlainTextAuthProvider serves for a user name and a password"
        )


def check_instance(name: str, value: object) -> None:
    """Raise TypeError if `value` is a class: one without its brackets, most likely."""
    if isinstance(value, type):
        raise TypeError(
            f"{name} must be an instance, but is the class {value.__name__}: "
            f"write {value.__name__}(...)"
        )


def check_callable(name: str, value: object) -> None:
    """Raise ValueError unless `value` can be called."""
    if not callable(value):
        raise ValueError(f"{name} must be callable, but is {value!r}")


def check_encryption(policy: object) -> None:
    """Raise TypeError unless `policy` is None, or says which columns are encrypted."""
    if policy is not None and not hasattr(policy, "contains_column"):
        raise TypeError(
            "column_encryption_policy must be a ColumnEncryptionPolicy, but is of type "
            f"{type(policy).__name__}"
        )


def check_throttler(throttler: object) -> None:
    """Raise TypeError unless `throttler` is None, or lets requests begin."""
    check_instance("request_throttler", throttler)
    if throttler is not None and not hasattr(throttler, "admit"):
        raise TypeError(
            f"request_throttler must be a cassandra.throttling.RequestThrottler, not {throttler!r}"
        )


def check_waiting(count: object) -> None:
    """Raise ValueError unless `count` is None or a number of requests."""
    if count is None:
        return
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ValueError(
            "max_waiting_requests must be a number of requests, or None for no limit, but is "
            f"{count!r}"
        )


def check_page_size(size: object) -> None:
    """Raise ValueError unless `size` is a number of rows."""
    # To Python, True is the number 1.
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(
            f"schema_metadata_page_size must be a number of rows from 1 on, but is {size!r}"
        )


def checked_keyspaces(keyspaces: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return a copy of the list of keyspaces: the program may change its own later.

    :raises TypeError: if it is not a list of names.
    """
    # A text is a sequence of names too, of one letter each.
    if isinstance(keyspaces, str) or not all(isinstance(name, str) for name in keyspaces or ()):
        raise TypeError(f"schema_metadata_keyspaces must be a list of names, but is {keyspaces!r}")
    return tuple(keyspaces) if keyspaces is not None else None


def check_compression(compression: object) -> None:
    """Raise an error unless `compression` is a choice, and its package is installed.

    :raises TypeError: if it is neither a boolean, None nor a name.
    :raises ValueError: if the name is unknown, or its package is missing.
    """
    if compression in (None, True, False):
        return
    if not isinstance(compression, str):
        raise TypeError(
            f"compression is True, False or an algorithm's name, but is {compression!r}"
        )
    if compression not in ("lz4", "snappy"):
        raise ValueError(f"compression must be 'lz4' or 'snappy', but is {compression!r}")
    # An algorithm that is asked for by name must not be left out in silence.
    if compression not in available_compressions():
        package = {"lz4": "lz4", "snappy": "python-snappy"}[compression]
        raise ValueError(
            f"compression {compression!r} needs the package {package!r}: "
            f"pip install turbocql[{compression}]"
        )
