"""Advice for names that users pass to `Cluster` although they are not settings of a cluster."""

from __future__ import annotations

from collections.abc import Iterable

from cassandra._misspelt import nearest

# Names that users pass to a cluster although they mean a setting of an execution profile. The
# values are the names of these profile settings.
_PROFILE_SETTINGS = {
    "request_timeout": "request_timeout",
    "timeout": "request_timeout",
    "default_timeout": "request_timeout",
    "consistency_level": "consistency_level",
    "serial_consistency_level": "serial_consistency_level",
    "row_factory": "row_factory",
    "retry_policy": "retry_policy",
    "speculative_execution_policy": "speculative_execution_policy",
}

_LOGIN = "write auth_provider=PlainTextAuthProvider(username, password), from cassandra.auth"
_KEYSPACE = "write cluster.connect(keyspace)"
_TLS = "write ssl_context=ssl.create_default_context(cafile=...)"
_HOSTS = "write contact_points=[...], a list of addresses"
# For names that users of other libraries pass to `Cluster`: what to write instead.
_ADVICE = {
    **dict.fromkeys(("username", "user", "password", "credentials", "auth", "passwd"), _LOGIN),
    **dict.fromkeys(("keyspace", "database", "db", "dbname", "schema"), _KEYSPACE),
    **dict.fromkeys(("ssl", "tls", "use_ssl", "ssl_enabled", "secure", "ca_certs", "cafile"), _TLS),
    **dict.fromkeys(("sslmode", "sslrootcert", "sslcert", "sslkey", "verify", "ssl_ca"), _TLS),
    **dict.fromkeys(
        ("autocommit", "isolation_level"),
        "leave it out: there are no transactions, each statement is applied when it is executed",
    ),
    **dict.fromkeys(("host", "hosts", "nodes", "seeds", "url", "uri", "dsn", "addresses"), _HOSTS),
    **dict.fromkeys(
        ("fetch_size", "page_size", "default_fetch_size"),
        "write session.default_fetch_size = n after connect, or fetch_size of a statement",
    ),
    **dict.fromkeys(
        ("local_dc", "datacenter", "data_center", "local_datacenter"),
        "write ExecutionProfile(load_balancing_policy=TokenAwarePolicy("
        "DCAwareRoundRobinPolicy(local_dc=...))) in execution_profiles",
    ),
    **dict.fromkeys(
        ("max_connections", "pool_size", "min_size", "max_size", "minsize", "maxsize"),
        "write connections_per_host=n; a connection has thousands of requests in flight",
    ),
    **dict.fromkeys(
        ("retries", "max_retries"),
        "a retry policy decides; write ExecutionProfile(retry_policy=...)",
    ),
    **dict.fromkeys(
        ("max_requests_per_connection", "max_in_flight", "max_concurrent_requests"),
        "a connection takes thousands of requests; to limit them, write "
        "request_throttler=ConcurrencyLimitingThrottler(n), from cassandra.throttling",
    ),
    **dict.fromkeys(
        ("log_level", "loglevel", "debug", "verbose", "logger", "echo"),
        "write logging.getLogger('cassandra').setLevel(logging.DEBUG), and RequestLogger for a log "
        "of requests",
    ),
    **dict.fromkeys(
        ("metrics", "enable_metrics"),
        "write metrics_enabled=True, or register a ClusterCollector for Prometheus",
    ),
    **dict.fromkeys(
        ("observers", "listeners"), "write request_observers=[...], of cassandra.observers"
    ),
    **dict.fromkeys(
        ("keepalive", "keep_alive", "tcp_keepalive"),
        "the driver's heartbeats keep connections open, each idle_heartbeat_interval; for TCP, "
        "write sockopts=[(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]",
    ),
    "loop": "cassandra.aio.Cluster uses the loop that runs; the blocking Cluster has its own",
}


def instead_of(name: str, names: Iterable[str]) -> str:
    """Return the end of the error message about an unknown setting: advice, or a similar name.

    :param name: the unknown name.
    :param names: the names of all settings.
    """
    if name in _ADVICE:
        return f": {_ADVICE[name]}"
    # Advise the user to use a profile. Users expect these settings here, because the drivers of
    # other databases have such settings on the connection.
    if name in _PROFILE_SETTINGS:
        setting = _PROFILE_SETTINGS[name]
        return (
            f": it is one of an execution profile, ExecutionProfile({setting}=...), "
            "which execution_profiles={EXEC_PROFILE_DEFAULT: profile} makes the default"
        )
    suggestion = nearest(name, names)
    return f"; did you mean {suggestion!r}?" if suggestion else ""
