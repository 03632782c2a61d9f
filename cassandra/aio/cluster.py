"""`Cluster` of the asyncio face."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator, Hashable
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._secrets import hidden_settings
from cassandra.aio.session import Session
from cassandra.client.checks import check_keyspace, no_keyspace
from cassandra.client.configuration import ClusterBase, engine_core
from cassandra.client.schema_calls import SchemaCalls
from cassandra.engine.schema.targets import Target
from cassandra.engine.waiting import outcome_of, pools_opened
from cassandra.errors import ConnectionException, ConnectionShutdown, InvalidRequest
from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cassandra.client.cluster_settings import ClusterSettings, ContactPoints
    from cassandra.engine.core import Core
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import LoadBalancingPolicy
    from cassandra.policies.speculation import SpeculativeExecutionPolicy

__all__ = ["Cluster"]

SHUTDOWN_TIMEOUT = 10.0  # seconds


class Cluster(ClusterBase, SchemaCalls[Awaitable[None]]):
    """A cluster to connect to from asyncio code.

    ``async with Cluster(["10.0.0.1"]) as cluster: session = await cluster.connect("ks")``. It
    belongs to the loop that `connect` is first awaited on. The names of contact points are resolved
    by `connect`, which raises NoHostAvailable if none of them can be.

    Each parameter but `execution_profiles` is an attribute, too. A change after `connect` has an
    effect if its text says so.

    :param contact_points: addresses, names, (address, port) pairs or end points of the nodes to
        begin with. The driver learns of the other nodes from them. Default: ('127.0.0.1',).
    :param settings: the following ones, which are keywords only.
    :param port: the port, 1 to 65535, of contact points that name none, and of nodes that advertise
        none. Default: 9042.
    :param compression: True for the best that both sides have, "lz4" or "snappy" for that one.
        False and None are for none. One that is named must be installed. Default: True.
    :param auth_provider: an `AuthProvider`; PlainTextAuthProvider for a user name and a password.
        None if the servers ask for no login. It may be changed after `connect`. Default: None.
    :param load_balancing_policy: the load balancing policy of all requests; None for the default
        one. An older style, which excludes execution profiles. A profile has a policy of its own.
        Default: None.
    :param reconnection_policy: gives the delays between tries to reach a host that is down. It may
        be changed after `connect`. Default: ExponentialReconnectionPolicy(1.0, 600.0).
    :param default_retry_policy: the retry policy of statements that have none; None for
        `RetryPolicy`. An older style, too: it excludes execution profiles. Default: None.
    :param conviction_policy_factory: called with a host; decides after how many failures it counts
        as down. It may be changed after `connect`. Default: SimpleConvictionPolicy.
    :param metrics_enabled: True counts requests and errors in `metrics`; if it is off, requests pay
        nothing for it. Default: False.
    :param connection_class: the kind of connection, of which there is one. If it has a ``factory``
        of its own, that is called for each connection, in a thread. Default: Connection.
    :param ssl_options: beside `ssl_context`: ``server_hostname``, the name that certificates must
        have. Alone, keywords of an older style to make a context of: ca_certs, certfile, keyfile,
        password (of the key), cert_reqs, ssl_version, ciphers, check_hostname, server_hostname. It
        may be changed after `connect`. Default: None.
    :param sockopts: tuples of arguments for ``socket.setsockopt``, for each connection; None for
        none. It may be changed after `connect`. Default: None.
    :param cql_version: the CQL version to ask for; None for the server's. Default: None.
    :param protocol_version: the native protocol's version. After `connect` it is the one agreed on
        with the servers. Given as a keyword, no other is tried; else this is the highest, and goes
        down as needed. Default: ProtocolVersion.MAX_SUPPORTED.
    :param executor_threads: threads of `Cluster.executor`, for calls of `Session.submit`; the
        driver itself uses none. Default: 2.
    :param max_schema_agreement_wait: seconds to wait for nodes to agree on the schema after it was
        changed; 0 for no wait. It may be changed after `connect`. Default: 10.
    :param control_connection_timeout: seconds that a query of the control connection may take; None
        for no limit. It may be changed after `connect`. Default: 2.0.
    :param idle_heartbeat_interval: seconds of silence after which a connection gets a heartbeat; 0
        or None for never. Default: 30.
    :param schema_event_refresh_window: the longest delay in seconds between an event about the
        schema and reading the part that it names. The moment is random, and the events until then
        are one reading. 0 is for at once. If it is negative, events are ignored: only changes by
        this cluster's own sessions are read. It may be changed after `connect`. Default: 2.
    :param topology_event_refresh_window: the longest delay in seconds between an event about nodes
        and reading the node list. If it is negative, such events are ignored. It may be changed
        after `connect`. Default: 10.
    :param connect_timeout: seconds that opening a connection may take, its handshake included; None
        for no limit. Default: 5.
    :param schema_metadata_enabled: True if the schema is read at connect and kept fresh, for
        `Cluster.metadata.keyspaces`. It may be switched at any time. Default: True.
    :param token_metadata_enabled: True if tokens and the replication of keyspaces are read, for
        token awareness. It may be switched at any time. Default: True.
    :param schema_metadata_page_size: rows in a page of the schema tables. It may be changed after
        `connect`. Default: 1000.
    :param address_translator: translates the addresses that nodes advertise to those that this
        client can reach. By default they are the same. Default: IdentityTranslator().
    :param status_event_refresh_window: the longest delay in seconds between an event about a node's
        state and acting on it. If it is negative, such events are ignored. It may be changed after
        `connect`. Default: 2.
    :param prepare_on_all_hosts: True lets `prepare` prepare a statement on all hosts, False on one.
        It may be changed after `connect`. Default: True.
    :param reprepare_on_up: True prepares known statements on a host that comes up, before it gets
        requests. It may be changed after `connect`. Default: True.
    :param execution_profiles: each `ExecutionProfile` by its name, which may be any key of a dict.
        EXEC_PROFILE_DEFAULT names the one for executions that name none; it is made if it is not
        there. Default: None.
    :param allow_beta_protocol_version: True allows a version that is a beta. Default: False.
    :param timestamp_generator: gives the timestamps of requests, in microseconds; None for a
        MonotonicTimestampGenerator. Default: None.
    :param idle_heartbeat_timeout: seconds within which a heartbeat must be answered. Default: 30.
    :param no_compact: True sends NO_COMPACT: tables with compact storage look like others. Default:
        False.
    :param ssl_context: for TLS; None for none. With check_hostname, certificates must name the
        node's address. A function is called for each connection: it may give another context when
        the files of the certificates have changed. `cassandra.tls.ReloadingContext` is one. It may
        be changed after `connect`. Default: None.
    :param endpoint_factory: makes the end points of nodes; None for the address and port that they
        advertise. Default: None.
    :param cloud: Astra: ``{"secure_connect_bundle": path}``, in place of contact points, end points
        and TLS. The bundle may be a binary file, too. ``connect_timeout`` is for the metadata
        service, in seconds. Default: None.
    :param scylla_cloud: must be None: this driver does not read the files of ScyllaDB's older
        cloud. Default: None.
    :param shard_aware_options: how connections to the shards of ScyllaDB nodes are made, a
        `ShardAwareOptions`. It may be given as a mapping of its settings; None for their defaults.
        Default: None.
    :param metadata_request_timeout: the time that ScyllaDB may take for a query of the schema
        tables (``USING TIMEOUT``). In seconds, or as a timedelta; 0 for the server's default, None
        for `control_connection_timeout`, after which nobody waits for the answer. It may be changed
        after `connect`. Default: None.
    :param column_encryption_policy: encrypts and decrypts columns in the program: see
        `cassandra.column_encryption.policies`. None for no encryption. Default: None.
    :param allow_control_connection_query_fallback: the way of requests that no pool can take: a
        `ControlConnectionQueryFallback`.
    :param application_info: an object whose ``add_startup_options(options)`` adds to the options of
        STARTUP. None adds nothing. Default: None.
    :param application_name: the program's name, sent to the server as APPLICATION_NAME; None for
        none. Default: None.
    :param application_version: the program's version, sent as APPLICATION_VERSION; None for none.
        Default: None.
    :param client_id: an id of this client, a UUID say, sent as CLIENT_ID; None for none. Default:
        None.
    :param client_routes_config: A `cassandra.client_routes.ClientRoutesConfig`, for nodes behind a
        private network's proxies. The table ``system.client_routes`` of ScyllaDB says where; `port`
        is that of the contact points, and of nodes that have no route. `endpoint_factory` cannot be
        given beside it, and `address_translator` has no effect. Default: None.
    :param connections_per_host: connections of each session to a host: a number, or a mapping by
        `HostDistance`. `set_core_connections_per_host` changes it later. Pools do not grow with the
        load, since a connection carries up to 32,768 requests at a time. Default: 1.
    :param driver_config_reporting_enabled: True tells ScyllaDB these settings with the control
        connection, as JSON (DRIVER_CONFIG). An operator sees them in ``system.clients``. False
        leaves them out; `session_id`, which says which connections belong together, is sent in any
        case. Cassandra is told neither. Default: True.
    :param max_waiting_requests: how many requests of a session may wait for a host whose
        connections are all full. A request beyond that fails at once, with a
        `NoConnectionsAvailable` in its `NoHostAvailable`. None for no limit, but for memory: each
        takes a kilobyte or more. Default: 262144.
    :param monitor_reporting_enabled: must be False: DataStax Enterprise's Insights are not
        supported. Default: False.
    :param monitor_reporting_interval: seconds between the reports that are not made; accepted for
        programs that set it. Default: 30.
    :param request_observers: observers of all requests, each a
        `cassandra.observers.RequestObserver`. It may be changed after `connect`, also by
        `add_request_observer`. Default: ().
    :param request_throttler: lets requests begin by a rule and keeps the others in a queue; see
        `cassandra.throttling`. None sends them as they come. Default: None.
    :param schema_metadata_keyspaces: the keyspaces whose schema is read; None for all. Replication
        is read for all keyspaces, because token awareness needs it. Default: None.
    :param schema_read_timeout: seconds that reading the whole schema may take, at connect and
        later; None for no limit. It may be changed after `connect`. Default: 300.
    :param ssl_session_cache: TLS sessions that connections resume; None for none, by default a
        cache for this cluster. It may be changed after `connect`.
    :raises TypeError: if a setting is unknown, or is of a wrong type.
    :raises ValueError: if a value is out of range, or two settings exclude each other.
    :raises UnsupportedOperation: if this driver does not speak the protocol version.
    :raises NotImplementedError: if a setting asks for something that this driver does not have.
    :raises OSError: if a file that a setting names cannot be read.
    """

    def __init__(
        self, contact_points: ContactPoints = NOT_SET, **settings: Unpack[ClusterSettings]
    ) -> None:
        hidden = hidden_settings(settings)
        del settings  # an error in what follows shows local variables
        super().__init__(contact_points, **hidden)
        self.is_shutdown = False
        self._core: Core | None = None
        engine_core()  # imported here, in the caller's thread
        self._connecting: asyncio.Task[Core] | None = None
        self._waiting = 0
        self._sessions: list[Session] = []

    async def connect(
        self, keyspace: str | None = None, wait_for_all_pools: bool = False
    ) -> Session:
        """Connect if that has not been done yet, and return a new `Session`.

        :param keyspace: for names without one; None for no keyspace.
        :param wait_for_all_pools: return when all pools are open, not only one.
        :raises NoHostAvailable: with the error of each contact point.
        :raises NoHostAvailable: which is an InvalidRequest too, if the keyspace does not exist.
        """
        keyspace = keyspace or None  # a text from the environment may be empty
        if keyspace is not None:
            check_keyspace(keyspace)
        core = await self._connected()
        # Without the keyspace: if it is missing, the server refuses the USE below.
        engine = await core.open_session(None, self.profile_manager.distance, wait_for_all_pools)
        # During the wait shutdown() could not know of this session.
        if self.is_shutdown:
            engine.close()
            raise ConnectionShutdown("the cluster was shut down while it was connecting")
        session = Session(self, engine)
        self._encode_user_types(session)
        if keyspace is not None and not engine.begins_with(keyspace):
            try:
                await session.set_keyspace(keyspace)
            except BaseException as error:
                await session.shutdown()
                if type(error) is InvalidRequest:
                    raise no_keyspace(keyspace, error) from error
                raise
        self._sessions.append(session)
        return session

    async def _connected(self) -> Core:
        """Return the connected engine. Callers that come together share one attempt."""
        if self.is_shutdown:
            raise ConnectionShutdown("the cluster is shut down: make a new one")
        if self._core is not None:
            if self._core.loop is not asyncio.get_running_loop():
                raise RuntimeError("this Cluster belongs to another event loop: make one in each")
            return self._core
        if self._connecting is None:
            # A task of its own: several callers may wait for it, and any of them may be cancelled.
            self._connecting = asyncio.ensure_future(self._make_core())
            self._connecting.add_done_callback(_take_note)
        connecting = self._connecting
        self._waiting += 1
        try:
            return await outcome_of(connecting)
        finally:
            self._waiting -= 1
            # One caller's cancellation must not fail the others: the attempt is given up when the
            # last one that waits for it is cancelled.
            if self._connecting is connecting and (connecting.done() or not self._waiting):
                self._connecting = None
                connecting.cancel()

    async def _make_core(self) -> Core:
        core = engine_core()(self._settings(), self.metadata, asyncio.get_running_loop())
        await core.connect()
        try:
            self._core = core
            await self._on_connected(core)
        except BaseException:
            # The next connect() must begin anew, not find an engine that is closed.
            self._core = None
            await core.close()
            raise
        return core

    def add_execution_profile(
        self, name: Hashable, profile: ExecutionProfile, pool_wait_timeout: float | None = 5
    ) -> Awaitable[None]:
        """Add an execution profile, which `execution_profile=` may name from now on.

        :param name: any object that can be a key of a dict.
        :param profile: an `ExecutionProfile`.
        :param pool_wait_timeout: seconds that the awaitable waits at most; None for no limit.
        :returns: an awaitable, for those who want to wait until the connections are open that only
            the new profile's policy wants. It raises OperationTimedOut after `pool_wait_timeout`.
        :raises ValueError: if the name is taken, or old-style settings are used.
        """
        policy = self._add_profile(name, profile)
        opening: list[asyncio.Task[bool]] = []
        if policy is not None and self._core is not None:
            opening = self._core.policies.adopt(policy, self)
        return _PoolsOpen(name, opening, pool_wait_timeout)

    def profiles_of_sessions(self) -> list[ExecutionProfile]:
        return [session._default_profile for session in self._sessions]

    def adopt_policy(self, policy: LoadBalancingPolicy) -> None:
        if self._core is not None:
            self._core.policies.adopt(policy, self)

    def _attach_policy(self, policy: SpeculativeExecutionPolicy) -> None:
        if self._core is not None:
            self._core.policies.attach(policy)

    def _resize_pools(self) -> None:
        if self._core is not None:
            self._core.sessions.resize_pools()

    async def register_user_type(self, keyspace: str, user_type: str, klass: type[Any]) -> None:
        """Read values of a user-defined type as instances of a class, and accept such parameters.

        Before `connect` it is remembered; `connect` raises UserTypeDoesNotExist if there is no such
        type.

        :param keyspace: the name of the type's keyspace.
        :param user_type: the name of the type.
        :param klass: takes the fields as keywords and has them as attributes; or dict.
        :raises UserTypeDoesNotExist: if the cluster is connected and does not have the type.
        """
        if self._core is not None or self.is_shutdown:
            fields = await self._connected_core().user_type_fields(keyspace, user_type)
            self._user_types.take_fields(keyspace, user_type, fields)
        self._add_user_type(keyspace, user_type, klass, self._sessions)

    def get_control_connection_host(self) -> Host | Any:
        """Return the host of the control connection; None while there is no such connection."""
        return self._core.control.current_host if self._core is not None else None

    async def refresh_nodes(self, force_token_rebuild: bool = False) -> None:
        """Read the node list again, now.

        :param force_token_rebuild: compute the placement of partitions again, even if no token has
            changed.
        """
        await self._connected_core().control.refresh_nodes(force_token_rebuild)

    async def _refresh_schema(
        self, target: Target, max_schema_agreement_wait: float | None
    ) -> None:
        await self._connected_core().schema.refresh(target, max_schema_agreement_wait)

    def _connected_core(self) -> Core:
        if self.is_shutdown:
            raise ConnectionShutdown("the cluster is shut down")
        if self._core is None:
            raise ConnectionException("the cluster is not connected")
        return self._core

    async def shutdown(self) -> None:
        """Close all sessions and connections.

        Executions in flight fail with an error that says so. A second call does nothing.
        """
        if self.is_shutdown:
            return
        # Before the first wait: a connect() that is under way looks at it afterwards.
        self.is_shutdown = True
        connecting = self._connecting
        if connecting is not None:
            connecting.cancel()
            # Cancelled, it closes what it has opened.
            await asyncio.wait({connecting}, timeout=SHUTDOWN_TIMEOUT)
        for session in self._sessions:
            session.is_shutdown = True
        if self._core is not None:
            await self._core.close()

    if not TYPE_CHECKING:  # type checkers refuse `with` by themselves

        def __enter__(self) -> NoReturn:
            raise TypeError("a cluster of cassandra.aio ends by awaiting: write `async with`")

        def __exit__(self, *args: object) -> None:
            """Never called: `__enter__` raises."""

    async def __aenter__(self) -> Cluster:
        return self

    async def __aexit__(self, *args: object) -> None:
        await self.shutdown()


class _PoolsOpen:
    """Awaited, it waits until tasks that open pools are done."""

    def __init__(
        self, name: Hashable, opening: list[asyncio.Task[bool]], timeout: float | None
    ) -> None:
        self._name = name
        self._opening = opening
        self._timeout = timeout

    def __await__(self) -> Generator[Any, None, None]:
        return pools_opened(self._opening, self._timeout, self._name).__await__()


def _take_note(task: asyncio.Task[Core]) -> None:
    """Read the error of `task`: if all callers are gone, asyncio would log it as never read."""
    if not task.cancelled():
        task.exception()


Cluster.__module__ = "cassandra.aio"
