"""`Cluster`: the blocking and future faces' way in."""

from __future__ import annotations

import atexit
import logging
import threading
import warnings
import weakref
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._forks import renew_in_child
from cassandra._secrets import hidden_settings
from cassandra.client.checks import check_keyspace, no_keyspace
from cassandra.client.configuration import ClusterBase, engine_core
from cassandra.client.contact_points import resolved
from cassandra.client.schema_calls import SchemaCalls
from cassandra.cluster.known_names import KnownCluster
from cassandra.cluster.session import Session
from cassandra.engine.loop import LoopThread
from cassandra.engine.schema.targets import Target
from cassandra.engine.waiting import pools_opened
from cassandra.errors import ConnectionException, ConnectionShutdown, InvalidRequest
from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    import datetime
    import ssl

    from typing_extensions import Unpack

    from cassandra.auth import AuthProvider
    from cassandra.client.cluster_settings import ContactPoints, LaterSettings, SocketOption
    from cassandra.client.shard_awareness import ShardAwareOptions
    from cassandra.engine.core import Core
    from cassandra.engine.endpoint import EndPoint, EndPointFactory
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import LoadBalancingPolicy
    from cassandra.policies.conviction import ConvictionPolicy
    from cassandra.policies.encryption import ColumnEncryptionPolicy
    from cassandra.policies.reconnection import ReconnectionPolicy
    from cassandra.policies.retry import RetryPolicy
    from cassandra.policies.speculation import SpeculativeExecutionPolicy
    from cassandra.policies.translation import AddressTranslator

__all__ = ["Cluster"]

T = TypeVar("T")

log = logging.getLogger("cassandra.cluster")

SHUTDOWN_TIMEOUT = 10.0  # seconds
LAST_TIMEOUT = 0.5  # seconds
CANCEL_INTERVAL = 0.02  # seconds between looks, while shutdown() ends a connect() of another thread


class Cluster(ClusterBase, SchemaCalls[None], KnownCluster):
    """A cluster to connect to.

    ``with Cluster(["10.0.0.1"]) as cluster, cluster.connect("ks") as session: ...`` or `connect`
    and `shutdown`. The names of contact points are resolved when the object is made, which raises
    UnresolvableContactPoints if none of them can be.

    Each parameter but `execution_profiles` is an attribute, too. A change after `connect` has an
    effect if its text says so.

    :param contact_points: addresses, names, (address, port) pairs or end points of the nodes to
        begin with. The driver learns of the other nodes from them. Default: ('127.0.0.1',).
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
    :param settings: the following ones, which are keywords only.
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
        self,
        contact_points: ContactPoints = NOT_SET,
        port: int | str | None = NOT_SET,
        compression: bool | str | None = NOT_SET,
        auth_provider: AuthProvider | None = NOT_SET,
        load_balancing_policy: LoadBalancingPolicy | None = NOT_SET,
        reconnection_policy: ReconnectionPolicy | None = NOT_SET,
        default_retry_policy: RetryPolicy | None = NOT_SET,
        conviction_policy_factory: Callable[[Host], ConvictionPolicy] | None = NOT_SET,
        metrics_enabled: bool = NOT_SET,
        connection_class: type[object] | None = NOT_SET,
        ssl_options: Mapping[str, Any] | None = NOT_SET,
        sockopts: Sequence[SocketOption] | None = NOT_SET,
        cql_version: str | None = NOT_SET,
        protocol_version: int | None = NOT_SET,
        executor_threads: int | None = NOT_SET,
        max_schema_agreement_wait: float | None = NOT_SET,
        control_connection_timeout: float | None = NOT_SET,
        idle_heartbeat_interval: float | None = NOT_SET,
        schema_event_refresh_window: float | None = NOT_SET,
        topology_event_refresh_window: float | None = NOT_SET,
        connect_timeout: float | None = NOT_SET,
        schema_metadata_enabled: bool = NOT_SET,
        token_metadata_enabled: bool = NOT_SET,
        schema_metadata_page_size: int | None = NOT_SET,
        address_translator: AddressTranslator | None = NOT_SET,
        status_event_refresh_window: float | None = NOT_SET,
        prepare_on_all_hosts: bool = NOT_SET,
        reprepare_on_up: bool = NOT_SET,
        execution_profiles: Mapping[Any, ExecutionProfile] | None = NOT_SET,
        allow_beta_protocol_version: bool = NOT_SET,
        timestamp_generator: Callable[[], int] | None = NOT_SET,
        idle_heartbeat_timeout: float | None = NOT_SET,
        no_compact: bool = NOT_SET,
        ssl_context: ssl.SSLContext | Callable[[], ssl.SSLContext] | None = NOT_SET,
        endpoint_factory: EndPointFactory | None = NOT_SET,
        cloud: Mapping[str, Any] | None = NOT_SET,
        scylla_cloud: None = NOT_SET,
        shard_aware_options: ShardAwareOptions | Mapping[str, Any] | None = NOT_SET,
        metadata_request_timeout: datetime.timedelta | float | None = NOT_SET,
        column_encryption_policy: ColumnEncryptionPolicy | None = NOT_SET,
        **settings: Unpack[LaterSettings],
    ) -> None:
        # Must stay the first line: any other local name would count as a setting.
        given = hidden_settings({**locals(), **settings})
        del given["self"], given["settings"], given["__class__"]
        ssl_options, auth_provider, settings = None, None, {}  # errors show variables
        super().__init__(given.pop("contact_points"), **given)
        self._begin()

    def _begin(self) -> None:
        self.is_shutdown = False
        self._is_over = False  # shut down, and nothing is left
        self.sessions: weakref.WeakSet[Session] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._core: Core | None = None
        engine_core()  # imported here, in the caller's thread
        self._loop_thread: LoopThread | None = None
        self._finalizer: weakref.finalize[..., Cluster] | None = None
        _live_clusters.add(self)

    # -- the engine's thread -----------------------------------------------------------------------

    @property
    def _required_loop_thread(self) -> LoopThread:
        """The thread that the engine runs in.

        :raises ConnectionException: before `connect`.
        :raises ConnectionShutdown: after `shutdown`.
        """
        # Read once: shutdown() in another thread may set it to None.
        thread = self._loop_thread
        if thread is None:
            raise self._not_connected()
        return thread

    def _not_connected(self) -> ConnectionException:
        if self.is_shutdown:
            return ConnectionShutdown("the cluster is shut down")
        return ConnectionException("the cluster is not connected")

    def _resolve(self, endpoints: list[EndPoint]) -> list[EndPoint]:
        return self._cloud.ask() if self._cloud is not None else resolved(endpoints)

    def _run(self, coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run `coroutine` on the engine's loop and wait for its result.

        :param coroutine: a coroutine that has not begun.
        :param timeout: seconds; None for no limit.
        :raises ConnectionShutdown: if the cluster is shut down meanwhile.
        """
        thread = self._loop_thread
        if thread is None:
            # Or Python would warn of a coroutine that was never awaited.
            coroutine.close()
            raise self._not_connected()
        return thread.run(coroutine, timeout)

    # -- connecting --------------------------------------------------------------------------------

    def connect(self, keyspace: str | None = None, wait_for_all_pools: bool = False) -> Session:
        """Connect if that has not been done yet, and return a new `Session`.

        A failed first call leaves no thread and no socket behind.

        :param keyspace: for names without one; None for no keyspace.
        :param wait_for_all_pools: return when all pools are open, not only one.
        :raises NoHostAvailable: with the error of each contact point, AuthenticationFailed say.
        :raises NoHostAvailable: which is an InvalidRequest too, if the keyspace does not exist.
        """
        keyspace = keyspace or None  # a text from the environment may be empty
        if keyspace is not None:
            check_keyspace(keyspace)
        # Two threads that connect at the same time must not start two engines.
        with self._lock:
            if self.is_shutdown:
                raise ConnectionShutdown("the cluster is shut down: make a new one")
            first_time = self._core is None
            if first_time:
                self._start()
            try:
                session = self._new_session(wait_for_all_pools)
                if self.is_shutdown:
                    raise self._not_connected()
            except BaseException:
                if first_time:
                    self._stop()
                raise
        if keyspace is not None and not session._engine.begins_with(keyspace):
            try:
                session.set_keyspace(keyspace)
            except BaseException as error:
                session.shutdown()
                if first_time:
                    with self._lock:
                        self._stop()
                if type(error) is InvalidRequest:
                    raise no_keyspace(keyspace, error) from error
                raise
        return session

    def _start(self) -> None:
        thread = LoopThread(f"cassandra-loop-{id(self):x}")
        thread.start()
        self._loop_thread = thread
        try:
            self._core = thread.run(self._make_core())
        except BaseException:
            self._stop()
            raise
        # The arguments must not hold the cluster, or it would never be collected.
        self._finalizer = weakref.finalize(self, _close_dropped, self._core, thread, str(self))
        self._finalizer.atexit = False  # `_shutdown_all` does that

    async def _make_core(self) -> Core:
        assert self._loop_thread is not None
        core = engine_core()(self._settings(), self.metadata, self._loop_thread.loop)
        core.wake_queue = self._loop_thread.wake_queue
        # Before the wait: a connect() that fails or is cancelled then closes what was opened.
        self._core = core
        await core.connect()
        await self._on_connected(core)
        return core

    def _new_session(self, wait_for_all_pools: bool) -> Session:
        core = self._core
        assert core is not None
        engine = self._run(
            core.open_session(None, self.profile_manager.distance, wait_for_all_pools)
        )
        session = Session(self, self.metadata.all_hosts(), engine=engine)
        self._encode_user_types(session)
        self.sessions.add(session)
        return session

    def _close_session(self, session: Session) -> None:
        """Close `session`'s connections.

        :param session: a session of this cluster.
        """
        self.sessions.discard(session)
        thread = self._loop_thread
        if thread is None:
            return
        # In a callback: to wait for the loop here would be to wait for itself.
        if thread.is_current():
            session._close_engine()
        else:
            self._run(_call(session._close_engine), SHUTDOWN_TIMEOUT)

    def add_execution_profile(
        self, name: Hashable, profile: ExecutionProfile, pool_wait_timeout: float | None = 5
    ) -> None:
        """Add a profile to those that `execution_profile=` may name.

        :param name: any object that can be a key of a dict.
        :param profile: an `ExecutionProfile`.
        :param pool_wait_timeout: seconds to wait until the connections are open that only the new
            profile's policy wants; None for no limit, 0 for no wait.
        :raises ValueError: if the name is taken, or old-style settings are used.
        :raises OperationTimedOut: if the wait is too short. The profile is there nevertheless.
        """
        policy = self._add_profile(name, profile)
        core = self._core
        if policy is None or core is None:
            return
        opening = self._run(_call(core.policies.adopt, policy, self))
        if pool_wait_timeout != 0:
            self._run(pools_opened(opening, pool_wait_timeout, name))

    def profiles_of_sessions(self) -> list[ExecutionProfile]:
        return [session._default_profile for session in list(self.sessions)]

    def adopt_policy(self, policy: LoadBalancingPolicy) -> None:
        if self._core is not None:
            self._run(_call(self._core.policies.adopt, policy, self))

    def _attach_policy(self, policy: SpeculativeExecutionPolicy) -> None:
        if self._core is not None:
            self._run(_call(self._core.policies.attach, policy))

    def _resize_pools(self) -> None:
        if self._core is not None:
            self._run(_call(self._core.sessions.resize_pools))

    def register_user_type(self, keyspace: str, user_type: str, klass: type[Any]) -> None:
        """Read values of a user-defined type as instances of a class, and accept such parameters.

        Before `connect` it is remembered; `connect` raises UserTypeDoesNotExist if there is no such
        type.

        :param keyspace: the name of the type's keyspace.
        :param user_type: the name of the type.
        :param klass: takes the fields as keywords and has them as attributes; or dict.
        :raises UserTypeDoesNotExist: if the cluster is connected and does not have the type.
        """
        core = self._core
        if core is not None:
            fields = self._run(core.user_type_fields(keyspace, user_type))
            self._user_types.take_fields(keyspace, user_type, fields)
        elif self.is_shutdown:
            raise self._not_connected()
        self._add_user_type(keyspace, user_type, klass, self.sessions)

    # -- hosts -------------------------------------------------------------------------------------

    def get_control_connection_host(self) -> Host | Any:
        """Return the host of the control connection; None while there is no such connection."""
        core = self._core
        return core.control.current_host if core is not None else None

    def refresh_nodes(self, force_token_rebuild: bool = False) -> None:
        """Read the node list again, now.

        :param force_token_rebuild: compute the placement of partitions again, even if no token has
            changed.
        """
        core = self._core
        if core is None:
            raise self._not_connected()
        self._run(core.control.refresh_nodes(force_token_rebuild))

    def _refresh_schema(self, target: Target, max_schema_agreement_wait: float | None) -> None:
        core = self._core
        if core is None:
            raise self._not_connected()
        self._run(core.schema.refresh(target, max_schema_agreement_wait))

    # -- life --------------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """Close all sessions and connections and end the engine's thread, within seconds.

        Executions in flight fail with an error that says so. A second call does nothing.

        :raises RuntimeError: if called on the engine's own thread, which it would wait for.
        """
        thread = self._loop_thread
        if thread is not None and thread.is_current():
            raise RuntimeError(
                "Cluster.shutdown() was called in the driver's own event loop thread, "
                "which it would wait for"
            )
        self.is_shutdown = True
        # A thread that connects holds the lock, perhaps for a long time: cancel its calls, also
        # those that it is about to make.
        while not self._lock.acquire(timeout=CANCEL_INTERVAL):
            thread = self._loop_thread
            if thread is not None:
                thread.cancel_calls()
        try:
            if self._is_over:
                return
            for session in list(self.sessions):
                session.is_shutdown = True
            self._stop()
            if self._executor is not None:
                self._executor.shutdown(wait=False)
            self._is_over = True
        finally:
            self._lock.release()

    def _stop(self) -> None:
        core, thread = self._core, self._loop_thread
        if self._finalizer is not None:
            self._finalizer.detach()
        self._core = None
        self._loop_thread = None
        if thread is None:
            return
        # A loop that has not closed within its time is not given that time twice.
        patience = LAST_TIMEOUT
        try:
            if core is not None:
                thread.run(core.close(), SHUTDOWN_TIMEOUT)
            patience = SHUTDOWN_TIMEOUT
        finally:
            thread.stop(patience)

    def _abandon_after_fork(self) -> None:
        """Make this cluster unusable in a forked child: the engine's thread is the parent's."""
        # A thread of the parent may have held the lock at the fork; here nobody would release it.
        self._lock = threading.Lock()
        if self._loop_thread is not None:
            self._loop_thread.abandon(_FORKED)
        if self._finalizer is not None:
            self._finalizer.detach()
        self.is_shutdown = self._is_over = True
        for session in list(self.sessions):
            session.is_shutdown = True

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()


async def _call(function: Callable[..., T], *args: Any) -> T:
    return function(*args)


def _close_dropped(core: Core, thread: LoopThread, name: str) -> None:
    """Close the threads and sockets of a connected Cluster, once it was collected, in its own
    thread.
    """
    warnings.warn(f"{name} was dropped without shutdown()", ResourceWarning, stacklevel=2)
    thread.stop_after(core.close())


_FORKED = (
    "this Cluster was made before the process was forked: its connections and its thread belong "
    "to the parent. Make a Cluster in each child process, after the fork"
)

_live_clusters: weakref.WeakSet[Cluster] = weakref.WeakSet()


def _shutdown_all() -> None:
    for cluster in list(_live_clusters):
        try:
            cluster.shutdown()
        except TimeoutError:
            log.warning(
                "%r did not close within %s s: something blocks its event loop, a callback perhaps",
                cluster,
                SHUTDOWN_TIMEOUT,
            )


@renew_in_child
def _after_fork_in_child() -> None:
    for cluster in list(_live_clusters):
        cluster._abandon_after_fork()


atexit.register(_shutdown_all)

Cluster.__module__ = "cassandra.cluster"
