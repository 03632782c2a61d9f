"""Checks of single settings of a cluster."""

from __future__ import annotations

import math
import ssl
import warnings
from collections.abc import Mapping

__all__ = ["TIMES", "check_seconds", "check_ssl_options"]

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


def check_ssl_options(options: object, context: ssl.SSLContext | None) -> None:
    """Refuse options that would connect without TLS; warn if they verify nothing."""
    if not isinstance(options, Mapping):
        raise TypeError(f"ssl_options must be a mapping, but is of type {type(options).__name__}")
    if context is not None:
        return
    if not options:
        raise ValueError(
            "ssl_options is empty, which would connect without TLS: pass None for that, "
            "or ssl_context=ssl.create_default_context() for TLS"
        )
    if not options.get("ca_certs") and "cert_reqs" not in options:
        warnings.warn(
            "ssl_options without ca_certs: the connection is encrypted, but the server's "
            "certificate is not verified. Pass ca_certs, or "
            "ssl_context=ssl.create_default_context(); "
            "cert_reqs=ssl.CERT_NONE says that it is meant",
            UserWarning,
            stacklevel=5,
        )
