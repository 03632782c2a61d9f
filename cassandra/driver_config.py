"""Reports a cluster's settings to ScyllaDB, which shows them in ``system.clients.client_options``.

The driver sends the report as JSON in the STARTUP option DRIVER_CONFIG. All drivers of ScyllaDB use
the same format: keys in kebab-case, times in milliseconds, and no keys for missing values.
"""

from __future__ import annotations

import datetime
import json
import socket
import ssl
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cassandra._lazy import lazy_names
from cassandra._logs import Log
from cassandra.consistency import consistency_value_to_name
from cassandra.engine.pools.pool import ORPHAN_SHARE
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT
from cassandra.policies.balancing import DCAwareRoundRobinPolicy, RackAwareRoundRobinPolicy
from cassandra.policies.reconnection import (
    ConstantReconnectionPolicy,
    ExponentialReconnectionPolicy,
)
from cassandra.policies.retry import (
    DowngradingConsistencyRetryPolicy,
    ExponentialBackoffRetryPolicy,
    FallthroughRetryPolicy,
    NeverRetryPolicy,
    RetryPolicy,
)
from cassandra.policies.speculation import (
    ConstantSpeculativeExecutionPolicy,
    NoSpeculativeExecutionPolicy,
)
from cassandra.policies.token_aware import TokenAwarePolicy
from cassandra.protocol.streams import MAX_STREAMS
from cassandra.query.settings import DEFAULT_FETCH_SIZE
from cassandra.timestamps import MonotonicTimestampGenerator

__all__ = ["DRIVER_CONFIG_OPTION", "SESSION_ID_OPTION", "DriverConfigReporter"]

log = Log("cassandra.cluster")

# The options of STARTUP that carry the report and the id of the session.
DRIVER_CONFIG_OPTION = "DRIVER_CONFIG"
SESSION_ID_OPTION = "SESSION_ID"

VERSION = 1  # the version of the report's format
# The maximum size of the report (docs/dev/protocol-extensions.md of ScyllaDB, "Client options").
MOST_BYTES = 32 * 1024

# The report's name for each retry policy of the driver.
_RETRY_TYPES: dict[type, str] = {
    RetryPolicy: "standard-error-aware",
    ExponentialBackoffRetryPolicy: "standard-error-aware",
    FallthroughRetryPolicy: "fallthrough",
    NeverRetryPolicy: "never",
    DowngradingConsistencyRetryPolicy: "downgrading-consistency",
}

_Group = dict[str, Any]  # an object in the JSON of the report


class DriverConfigReporter:
    """Creates the JSON report of a cluster's settings.

    :param cluster: a `Cluster`. Each report reads its current settings and its default profile.
    """

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster

    def report(self) -> str:
        """Return the current report."""
        streams = {
            "in-flight": {"max": MAX_STREAMS},
            "orphaned": {"max": int(MAX_STREAMS * ORPHAN_SHARE)},
        }
        groups: _Group = {
            "version": VERSION,
            "connection": {"requests": streams},
            "control-plane": {},
            "query": self._query_group(),
        }
        for name, setting in self.cluster._table.items():
            if setting.reported is not None:
                # Two settings may have the same path in the report. For the second of them, the
                # function in `_FORMS` gets the value that the first setting has reported.
                _report_setting(groups, setting.reported, getattr(self.cluster, name))
        return json.dumps(groups, separators=(",", ":"))

    def options(self) -> dict[str, str]:
        """Return the options for STARTUP: a dict with the report.

        If the report is too long or cannot be created, return an empty dict, because the report
        must never prevent an application from connecting.
        """
        try:
            text = self.report()
        except Exception:  # settings and policies may be user code
            log.warning("the report of the settings could not be made", exc_info=True)
            return {}
        if len(text.encode()) > MOST_BYTES:
            log.warning("the report of the settings is left out: it has over %d bytes", MOST_BYTES)
            return {}
        return {DRIVER_CONFIG_OPTION: text}

    # -- groups ------------------------------------------------------------------------------------

    def _query_group(self) -> _Group:
        """Return the report's group "query", from the settings of the default profile."""
        profile = self.cluster.profile_manager.profiles[EXEC_PROFILE_DEFAULT]
        defaults: _Group = {"consistency": consistency_value_to_name(profile.consistency_level)}
        if profile.serial_consistency_level is not None:
            serial = consistency_value_to_name(profile.serial_consistency_level)
            defaults["serial-consistency"] = serial
        # The default is always False: no profile can change it, because each statement says whether
        # it is idempotent.
        defaults["idempotence"] = False
        if profile.request_timeout is not None:
            defaults["request"] = {"timeout-ms": _ms(profile.request_timeout)}
        defaults["page"] = {"size": DEFAULT_FETCH_SIZE}
        group: _Group = {
            "defaults": defaults,
            "retry": _retry_group(profile.retry_policy),
            "load-balancing": _load_balancing_group(profile.load_balancing_policy),
        }
        speculation = profile.speculative_execution_policy
        if type(speculation) is not NoSpeculativeExecutionPolicy:
            group["speculative-execution"] = {"policy": _speculative_execution_group(speculation)}
        return group


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _custom(policy: object) -> _Group:
    """Return the report's entries for an application's own policy, whose settings are unknown."""
    return {"type": "custom", "name": type(policy).__name__}


def _socket_group(options: Sequence[Any] | None, earlier_report: object) -> _Group:
    """Return the report's entries for socket options. `earlier_report` is not used."""
    values: Mapping[tuple[int, int], Any] = {
        (option[0], option[1]): option[2] for option in options or ()
    }

    def is_on(level: int, name: int, default: bool = False) -> bool:
        return bool(values.get((level, name), default))

    group: _Group = {
        # The driver itself sets this option on every connection, so True is the default.
        "tcp-no-delay": is_on(socket.IPPROTO_TCP, socket.TCP_NODELAY, True),
        "keep-alive": is_on(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
        "reuse-address": is_on(socket.SOL_SOCKET, socket.SO_REUSEADDR),
    }
    linger = values.get((socket.SOL_SOCKET, socket.SO_LINGER))
    if isinstance(linger, bytes):
        # `struct linger` has two shorts on Windows and two integers on other systems.
        lingers, interval = struct.unpack("hh" if sys.platform == "win32" else "ii", linger)
        # The two numbers say whether closing the socket waits, and for how many seconds.
        if lingers:
            group["linger"] = {"interval-s": interval}
    for key, name in (
        ("receive-buffer", socket.SO_RCVBUF),
        ("send-buffer", socket.SO_SNDBUF),
    ):
        size = values.get((socket.SOL_SOCKET, name))
        if isinstance(size, int):
            group[key] = {"size-bytes": size}
    return group


def _reconnection_group(policy: object, earlier_report: object) -> _Group:
    """Return the report's entries for a reconnection policy. `earlier_report` is not used."""
    group: _Group
    if type(policy) is ExponentialReconnectionPolicy:
        group = {
            "type": "exponential",
            "base-ms": _ms(policy.base_delay),
            "max-ms": _ms(policy.max_delay),
        }
    elif type(policy) is ConstantReconnectionPolicy:
        group = {"type": "constant", "delay-ms": _ms(policy.delay)}
    else:
        return _custom(policy)
    if policy.max_attempts is not None:
        group["max-attempts"] = policy.max_attempts
    return group


def _retry_group(policy: object) -> _Group:
    """Return the report's entries for a retry policy: its type and its settings."""
    retry_type = _RETRY_TYPES.get(type(policy))
    group: _Group = {"policy": _custom(policy) if retry_type is None else {"type": retry_type}}
    if type(policy) is ExponentialBackoffRetryPolicy:
        group["policy"]["max-retries"] = policy.max_num_retries
        group["backoff"] = {
            "type": "exponential",
            "base-ms": _ms(policy.min_interval),
            "max-ms": _ms(policy.max_interval),
        }
    return group


def _load_balancing_group(policy: object) -> _Group:
    """Return the report's entries for a load balancing policy: type, settings, preferred nodes."""
    group: _Group = {"policy": _custom(policy)}
    innermost = policy
    # A policy may wrap another policy, and only the innermost policy knows the data centre.
    while hasattr(innermost, "_child_policy"):
        innermost = innermost._child_policy
    # Check the exact type: a user's subclass may order hosts differently.
    if type(policy) is TokenAwarePolicy:
        group["policy"] = {
            "type": "token-aware",
            "load-distribution": "shuffle" if policy.shuffle_replicas else "replica-set",
            "fallback-to-non-preferred-nodes": bool(
                getattr(innermost, "used_hosts_per_remote_dc", 0)
            ),
        }
    preference = _preference(innermost)
    if preference is not None:
        group["node-preference"] = preference
    return group


def _preference(policy: object) -> _Group | None:
    """Return which nodes a policy prefers; None for a policy without a preference."""
    if isinstance(policy, RackAwareRoundRobinPolicy):
        return {"type": "rack", "local-dc": policy.local_dc, "local-rack": policy.local_rack}
    if isinstance(policy, DCAwareRoundRobinPolicy):
        # If the user has not named a data centre, the policy chooses a data centre itself.
        if policy.finds_local_dc:
            return {"type": "dc-auto"}
        return {"type": "dc", "local-dc": policy.local_dc}
    return None


def _speculative_execution_group(policy: object) -> _Group:
    """Return the report's entries for a policy of speculative executions."""
    if type(policy) is not ConstantSpeculativeExecutionPolicy:
        return _custom(policy)
    return {
        "type": "constant",
        "delay-ms": _ms(policy.delay),
        "max-executions": policy.max_attempts,
    }


# -- settings of the cluster: functions for the last part of a path, see `_FORMS` ------------------


def _timeout(seconds: float | None, earlier_report: object) -> int | None:
    return None if seconds is None else _ms(seconds)


def _system_timeout(seconds: float | None, earlier_report: object) -> _Group | None:
    """Return the time limits of the driver's own queries in milliseconds."""
    if seconds is None:
        return None
    group: _Group = {"client-side-ms": _ms(seconds)}
    # The server has the same time-out, unless the setting `metadata_request_timeout` gives it
    # another time-out (see `_server_timeout`).
    if seconds:
        group["server-side-ms"] = _ms(seconds)
    return group


def _server_timeout(timeout: datetime.timedelta | float | None, earlier_report: object) -> object:
    """Return the server-side time limit of schema queries in milliseconds.

    If the setting is None, return `earlier_report`, the client-side limit. 0 means the server's
    default, which is not reported.
    """
    if timeout is None:
        return earlier_report
    seconds = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else timeout
    return _ms(seconds) if seconds else None


def _checks_names(tls: Any, earlier_report: object) -> object:
    """Return True if host names are checked.

    The function is called for the setting `ssl_options`, and then for `ssl_context`, which takes
    precedence.
    """
    if isinstance(tls, ssl.SSLContext):
        return tls.check_hostname
    if isinstance(tls, Mapping):
        return bool(tls.get("check_hostname", False))
    # Any other value than None means that TLS is on, but says nothing about host names. So keep the
    # report of `ssl_options`, or report False if there is no such report.
    return earlier_report if tls is None else bool(earlier_report)


def _uses_shard_ports(options: Any, earlier_report: object) -> bool:
    """Return True if shard-aware ports are used.

    The function is called for the settings `shard_aware_options` and `client_routes_config`: both
    settings must allow the use of these ports.
    """
    if options is None:
        return earlier_report is not False
    if hasattr(options, "disable_shardaware_port"):
        return not (options.disable or options.disable_shardaware_port)
    return earlier_report is not False and bool(options.advanced_shard_awareness)


def _has_timestamps(generator: object, earlier_report: object) -> bool | None:
    # Do not report an application's own generator, because we do not know what it does.
    return True if type(generator) is MonotonicTimestampGenerator else None


# For the last part of a setting's path: the function that converts the setting's value for the
# report. The function is called with the value, and with the value that an earlier setting has
# reported at the same path. It returns the value to report, or None to report nothing.
_FORMS: Mapping[str, Callable[[Any, Any], Any]] = {
    "timeout-ms": _timeout,
    "timeout": _system_timeout,
    "server-side-ms": _server_timeout,
    "socket": _socket_group,
    "policy": _reconnection_group,
    "hostname-verification": _checks_names,
    "enabled": _uses_shard_ports,
    "client-timestamps": _has_timestamps,
}


def _report_setting(groups: _Group, path: str, value: object) -> None:
    """Put a setting at a path such as ``connection.connect.timeout-ms``."""
    *outer, key = path.split(".")
    group = groups
    for name in outer:
        group = group.get(name, {})
    # The second argument is the value that an earlier setting has reported at this path, or None.
    reported = _FORMS[key](value, group.get(key))
    if reported is None:
        # There is nothing to report: also remove the value that an earlier setting has reported.
        group.pop(key, None)
        return
    group = groups
    for name in outer:
        group = group.setdefault(name, {})
    group[key] = reported


__getattr__ = lazy_names(__name__)
