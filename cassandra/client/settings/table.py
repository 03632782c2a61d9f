"""The settings of a cluster, with their defaults and meanings."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.engine.connection import Connection
from cassandra.engine.control.query_fallback import ControlConnectionQueryFallback
from cassandra.policies.conviction import SimpleConvictionPolicy
from cassandra.policies.reconnection import ExponentialReconnectionPolicy
from cassandra.policies.translation import IdentityTranslator
from cassandra.query.settings import NOT_SET
from cassandra.ssl_session_cache import SSLSessionCache
from cassandra.versions import ProtocolVersion

if TYPE_CHECKING:
    from cassandra.auth import AuthProvider
    from cassandra.client.cluster_settings import ApplicationInfo, ContactPoint, SocketOption
    from cassandra.client.shard_awareness import ShardAwareOptions
    from cassandra.client_routes import ClientRoutesConfig
    from cassandra.engine.endpoint import EndPointFactory
    from cassandra.metadata.host import Host
    from cassandra.metrics import Metrics
    from cassandra.policies.balancing import LoadBalancingPolicy
    from cassandra.policies.conviction import ConvictionPolicy
    from cassandra.policies.encryption import ColumnEncryptionPolicy
    from cassandra.policies.reconnection import ReconnectionPolicy
    from cassandra.policies.retry import RetryPolicy
    from cassandra.policies.translation import AddressTranslator
    from cassandra.throttling import RequestThrottler

__all__ = ["Defaults"]


class Defaults:
    """The settings of a cluster.

    Each is a class attribute, which is its default, and a keyword of the same name. The sizes of
    pools and the application's identity have classes of their own, and so have the settings that
    may be switched at any time.
    """

    # The texts are also the fields of both `Cluster` classes: after a change,
    # ``python -m tests.setting_fields`` writes them there.

    contact_points: Sequence[ContactPoint] = ("127.0.0.1",)
    """Addresses, names, (address, port) pairs or end points of the nodes to begin with.

    The driver learns of the other nodes from them.
    """

    port: int = 9042
    """The port, 1 to 65535, of contact points that name none, and of nodes that advertise none."""

    compression: bool | str | None = True
    """True for the best that both sides have, "lz4" or "snappy" for that one.

    False and None are for none. One that is named must be installed.
    """

    auth_provider: AuthProvider | None = None
    """An `AuthProvider`; PlainTextAuthProvider for a user name and a password.

    None if the servers ask for no login.
    """

    cql_version: str | None = None
    """The CQL version to ask for; None for the server's."""

    protocol_version: int = ProtocolVersion.MAX_SUPPORTED
    """The native protocol's version. After `connect` it is the one agreed on with the servers.

    Given as a keyword, no other is tried; else this is the highest, and goes down as needed.
    """

    allow_beta_protocol_version: bool = False
    """True allows a version that is a beta."""

    no_compact: bool = False
    """True sends NO_COMPACT: tables with compact storage look like others."""

    ssl_context: ssl.SSLContext | Callable[[], ssl.SSLContext] | None = None
    """For TLS; None for none. With check_hostname, certificates must name the node's address.

    A function is called for each connection: it may give another context when the files of the
    certificates have changed. `cassandra.tls.ReloadingContext` is one.
    """

    ssl_options: Mapping[str, Any] | None = None
    """Beside `ssl_context`: ``server_hostname``, the name that certificates must have.

    Alone, keywords of an older style to make a context of: ca_certs, certfile, keyfile, password
    (of the key), cert_reqs, ssl_version, ciphers, check_hostname, server_hostname.
    """

    ssl_session_cache: SSLSessionCache | None = NOT_SET
    """TLS sessions that connections resume; None for none, by default a cache for this cluster."""

    sockopts: Sequence[SocketOption] | None = None
    """Tuples of arguments for ``socket.setsockopt``, for each connection; None for none."""

    connect_timeout: float | None = 5
    """Seconds that opening a connection may take, its handshake included; None for no limit."""

    control_connection_timeout: float | None = 2.0
    """Seconds that a query of the control connection may take; None for no limit."""

    max_schema_agreement_wait: float = 10
    """Seconds to wait for nodes to agree on the schema after it was changed; 0 for no wait."""

    idle_heartbeat_interval: float | None = 30
    """Seconds of silence after which a connection gets a heartbeat; 0 or None for never."""

    idle_heartbeat_timeout: float = 30
    """Seconds within which a heartbeat must be answered."""

    topology_event_refresh_window: float = 10
    """The longest delay in seconds between an event about nodes and reading the node list.

    If it is negative, such events are ignored.
    """

    status_event_refresh_window: float = 2
    """The longest delay in seconds between an event about a node's state and acting on it.

    If it is negative, such events are ignored.
    """

    schema_event_refresh_window: float = 2
    """The longest delay in seconds between an event about the schema and reading the part that it
    names.

    The moment is random, and the events until then are one reading. 0 is for at once. If it is
    negative, events are ignored: only changes by this cluster's own sessions are read.
    """

    schema_metadata_page_size: int = 1000
    """Rows in a page of the schema tables."""

    schema_read_timeout: float | None = 300
    """Seconds that reading the whole schema may take, at connect and later; None for no limit."""

    schema_metadata_keyspaces: Sequence[str] | None = None
    """The keyspaces whose schema is read; None for all.

    Replication is read for all keyspaces, because token awareness needs it.
    """

    metadata_request_timeout: datetime.timedelta | float | None = None
    """The time that ScyllaDB may take for a query of the schema tables (``USING TIMEOUT``).

    In seconds, or as a timedelta; 0 for the server's default, None for
    `control_connection_timeout`, after which nobody waits for the answer.
    """

    prepare_on_all_hosts: bool = True
    """True lets `prepare` prepare a statement on all hosts, False on one."""

    reprepare_on_up: bool = True
    """True prepares known statements on a host that comes up, before it gets requests."""

    reconnection_policy: ReconnectionPolicy = ExponentialReconnectionPolicy(1.0, 600.0)
    """Gives the delays between tries to reach a host that is down."""

    conviction_policy_factory: Callable[[Host], ConvictionPolicy] = SimpleConvictionPolicy
    """Called with a host; decides after how many failures it counts as down."""

    address_translator: AddressTranslator | None = IdentityTranslator()
    """Translates the addresses that nodes advertise to those that this client can reach.

    By default they are the same.
    """

    endpoint_factory: EndPointFactory | None = None
    """Makes the end points of nodes; None for the address and port that they advertise."""

    timestamp_generator: Callable[[], int] | None = None
    """Gives the timestamps of requests, in microseconds; None for a MonotonicTimestampGenerator."""

    application_info: ApplicationInfo | None = None
    """An object whose ``add_startup_options(options)`` adds to the options of STARTUP.

    None adds nothing.
    """

    load_balancing_policy: LoadBalancingPolicy | None = None
    """The load balancing policy of all requests; None for the default one.

    An older style, which excludes execution profiles. A profile has a policy of its own.
    """

    default_retry_policy: RetryPolicy | None = None
    """The retry policy of statements that have none; None for `RetryPolicy`.

    An older style, too: it excludes execution profiles.
    """

    metrics_enabled: bool = False
    """True counts requests and errors in `metrics`; if it is off, requests pay nothing for it."""

    metrics: Metrics | None = None
    """The cluster's `cassandra.metrics.Metrics`; None if they are not enabled."""

    request_throttler: RequestThrottler | None = None
    """Lets requests begin by a rule and keeps the others in a queue; see `cassandra.throttling`.

    None sends them as they come.
    """

    max_waiting_requests: int | None = 262_144
    """How many requests of a session may wait for a host whose connections are all full.

    A request beyond that fails at once, with a `NoConnectionsAvailable` in its `NoHostAvailable`.
    None for no limit, but for memory: each takes a kilobyte or more.
    """

    column_encryption_policy: ColumnEncryptionPolicy | None = None
    """Encrypts and decrypts columns in the program: see `cassandra.column_encryption.policies`.

    None for no encryption.
    """

    allow_control_connection_query_fallback: ControlConnectionQueryFallback = (
        ControlConnectionQueryFallback.Disabled
    )
    """The way of requests that no pool can take: a `ControlConnectionQueryFallback`."""

    shard_aware_options: ShardAwareOptions | None = None
    """How connections to the shards of ScyllaDB nodes are made, a `ShardAwareOptions`.

    It may be given as a mapping of its settings; None for their defaults.
    """

    cloud: Mapping[str, Any] | None = None
    """Astra: ``{"secure_connect_bundle": path}``, in place of contact points, end points and TLS.

    The bundle may be a binary file, too. ``connect_timeout`` is for the metadata service, in
    seconds.
    """

    scylla_cloud: None = None
    """Must be None: this driver does not read the files of ScyllaDB's older cloud."""

    client_routes_config: ClientRoutesConfig | None = None
    """A `cassandra.client_routes.ClientRoutesConfig`, for nodes behind a private network's proxies.

    The table ``system.client_routes`` of ScyllaDB says where; `port` is that of the contact points,
    and of nodes that have no route. `endpoint_factory` cannot be given beside it, and
    `address_translator` has no effect.
    """

    executor_threads: int = 2
    """Threads of `Cluster.executor`, for calls of `Session.submit`; the driver itself uses none."""

    connection_class: type[object] | None = Connection
    """The kind of connection, of which there is one.

    If it has a ``factory`` of its own, that is called for each connection, in a thread.
    """
