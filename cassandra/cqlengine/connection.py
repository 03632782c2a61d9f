"""Connections of the mapper: a registry of sessions by name, and the functions to set them up."""

from __future__ import annotations

import copy
import logging
import threading
import weakref
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cassandra._forks import renew_in_child, renewed
from cassandra._secrets import HiddenAttribute, Secret
from cassandra._unknown_options import with_example
from cassandra.aio.cluster import Cluster as AsyncCluster
from cassandra.aio.session import Session as AsyncSession
from cassandra.cluster.cluster import Cluster
from cassandra.cluster.session import Session
from cassandra.consistency import ConsistencyLevel
from cassandra.cqlengine import hooks
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.hooks import forget, format_log_context, set_row_factory, text_of
from cassandra.cqlengine.statements import BaseCQLStatement
from cassandra.errors import NoHostAvailable, UserTypeDoesNotExist
from cassandra.query.prepared import PreparedStatement
from cassandra.query.row_factories import dict_factory, named_tuple_factory
from cassandra.query.settings import NOT_SET
from cassandra.query.statement import SimpleStatement, Statement, shown_argument

if TYPE_CHECKING:
    from cassandra.aio.result import ResultSet as AsyncResultSet
    from cassandra.cluster.result_set import ResultSet

__all__ = [
    "DEFAULT_CONNECTION", "NOT_SET", "BaseCQLStatement", "CQLEngineException", "Cluster",
    "Connection", "ConsistencyLevel", "NoHostAvailable", "SimpleStatement",
    "UndefinedKeyspaceException", "UserTypeDoesNotExist", "aexecute", "aregister_connection",
    "asetup", "aunregister_connection", "cluster", "default", "dict_factory", "execute",
    "format_log_context", "get_cluster", "get_connection", "get_session", "register_connection",
    "register_udt", "session", "set_default_connection", "set_session", "setup", "udt_by_keyspace",
    "unregister_connection",
]  # fmt: skip

log = logging.getLogger("cassandra.cqlengine.connection")

# Maximum number of prepared statements that a connection keeps. Without a limit there could be very
# many: each combination of columns that an application writes has another query string.
MOST_PREPARED = 1000


class _DefaultConnection:
    """The class of `DEFAULT_CONNECTION`, which exists only for its repr."""

    def __repr__(self) -> str:
        return "DEFAULT_CONNECTION"


# The key of the default connection in the registry. It is not a string, because an application may
# use any string as a name.
DEFAULT_CONNECTION: Any = _DefaultConnection()

cluster: Any = None
"""The cluster of the default connection; None before it is connected."""
session: Any = None
"""The session of the default connection; None before it is connected."""

# The classes of user-defined types, by keyspace and type name. An application may declare them
# before it connects, so each new connection registers them.
udt_by_keyspace: dict[str | None, dict[str, Any]] = defaultdict(dict)

# The connections by name. A connection may have several names.
_connections: dict[Any, Connection] = {}
# The lock of `_connections`. It is reentrant, because `_add_to_registry` holds it while it calls
# `set_default_connection`.
_registry_lock = threading.RLock()


@renew_in_child
def _renew_lock() -> None:
    """Replace the lock in a forked child.

    The thread that held the lock in the parent does not exist in the child, and would never
    release it.
    """
    global _registry_lock
    _registry_lock = threading.RLock()


class UndefinedKeyspaceException(CQLEngineException):
    """No default keyspace was set."""


class Connection:
    """A session with the settings to connect it, which models, querysets and batches use by name.

    :param name: the name in the registry.
    :param hosts: contact points.
    :param consistency: the consistency level of statements without a level; None for the level of
        the session.
    :param lazy_connect: True to connect on first use.
    :param retry_connect: True to try again at the next use if connecting fails.
    :param cluster_options: further settings of the `Cluster`.
    """

    cluster_options = HiddenAttribute[dict[str, Any]]()

    def __init__(
        self,
        name: Hashable,
        hosts: Sequence[Any] | None,
        consistency: int | None = None,
        lazy_connect: bool = False,
        retry_connect: bool = False,
        cluster_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.hosts = hosts
        self.consistency = consistency
        self.lazy_connect = lazy_connect
        self.retry_connect = retry_connect
        self.cluster_options = dict(cluster_options or {})
        # The options may contain a password, and error reports may show local variables, so delete
        # this variable.
        del cluster_options
        self.lazy_connect_lock = threading.RLock()
        # A fork may happen while another thread holds the lock, so register this object:
        # `_renew_locks` then replaces the lock in the child process.
        renewed(self)
        # `adopt` sets the next four attributes once a session exists; before, `cluster` and
        # `session` are None.
        self.cluster: Any = None
        self.session: Any = None
        self.is_async = False  # True for a session of `cassandra.aio`
        self.owns_cluster = False  # True if `close` shuts the cluster down
        # The keyspace of user-defined types without a keyspace; None if it was not set.
        self.default_keyspace: str | None = None
        # Prepared statements by query string. Threads read this dict without a lock, because `keep`
        # only adds entries, or drops all of them at once by storing a new dict.
        self.prepared: dict[str, Any] = {}

    def _renew_locks(self) -> None:
        """Replace the lock in a forked child: a thread of the parent may have held it."""
        self.lazy_connect_lock = threading.RLock()

    @classmethod
    def from_session(cls, name: Hashable, session: Session | AsyncSession) -> Connection:
        """Return a connection that uses `session`, which may be blocking or from `cassandra.aio`.

        :param name: the connection's name in the registry.
        :param session: a connected session.
        """
        given: Any = session
        if not hasattr(given, "cluster"):
            advice = "write cluster.connect()" if hasattr(given, "connect") else "connect a cluster"
            raise TypeError(
                f"a session is needed, not an object of type {type(given).__name__}: {advice}"
            )
        connection = cls(name, hosts=None)
        connection.adopt(session, owned=False)
        # As in cassandra-driver, the application's own statements on this session return dicts from
        # now on, unless the application has set a row factory.
        is_default = getattr(given, "row_factory", None) is named_tuple_factory
        if is_default and not connection.is_async:
            connection._set_defaults()
        return connection

    @property
    def label(self) -> str:
        """The connection's name for messages."""
        return "DEFAULT_CONNECTION" if self.name is DEFAULT_CONNECTION else repr(self.name)

    def adopt(self, session: Session | AsyncSession, owned: bool) -> None:
        """Use `session` from now on.

        :param session: a session, blocking or from `cassandra.aio`.
        :param owned: True to shut the session's cluster down when this connection is closed.
        """
        self.session = session
        self.cluster = session.cluster
        self.is_async = isinstance(session, AsyncSession)
        self.owns_cluster = owned
        # Prepared statements are only valid on the cluster that prepared them.
        self.prepared = {}
        # As in cassandra-driver, literals of tuples are for tuple columns from now on, unless the
        # application has set a function.
        encoder: Any = getattr(session, "encoder", None)
        if encoder is None or self.is_async:
            return
        if encoder.mapping.get(tuple) == encoder.cql_encode_list_collection:
            encoder.mapping[tuple] = encoder.cql_encode_tuple

    def keep(self, text: str, prepared: PreparedStatement) -> PreparedStatement:
        """Store the prepared statement of a query string, and return the statement.

        :param text: the query string.
        :param prepared: the `PreparedStatement` of `text`.
        """
        # If there are too many statements, drop all of them: to drop only the least recently used
        # statements, each use would need a lock. Assign a new dict instead of clearing the old
        # dict, because other threads read the old dict without a lock.
        if len(self.prepared) >= MOST_PREPARED:
            self.prepared = {}
        self.prepared[text] = prepared
        # If the table is altered, the driver calls `forget`, which removes the statement from this
        # dict. `forget` gets a weak reference, because the statement may live longer than this
        # connection.
        prepared.when_changed = partial(forget, weakref.ref(self), text)
        return prepared

    def setup(self) -> None:
        """Connect, unless `lazy_connect` is set: the first use then connects."""
        if self.lazy_connect or self.session is not None:
            return
        cluster = Cluster(self.hosts if self.hosts is not None else NOT_SET, **self.cluster_options)
        try:
            session = cluster.connect()
        except BaseException:
            # The cluster may have started threads and opened sockets before it failed: close them.
            cluster.shutdown()
            if self.retry_connect:
                log.warning(
                    format_log_context(
                        "connect failed, it is tried again when it is used next", self.name
                    )
                )
                self.lazy_connect = True
            raise
        self.adopt(session, owned=True)
        self._set_defaults()
        self.setup_session()

    async def asetup(self) -> None:
        """Connect with a cluster of `cassandra.aio`, on the running event loop."""
        cluster = AsyncCluster(
            self.hosts if self.hosts is not None else NOT_SET, **self.cluster_options
        )
        try:
            session = await cluster.connect()
        except BaseException:
            await cluster.shutdown()
            raise
        self.adopt(session, owned=True)
        self._set_defaults()
        # Register the user types here and not in `setup_session`, because on a cluster of
        # `cassandra.aio` registering a type has to be awaited.
        for keyspace, types in list(udt_by_keyspace.items()):
            for type_name, klass in types.items():
                try:
                    await cluster.register_user_type(
                        keyspace or self.default_keyspace or "", type_name, klass
                    )
                # The type does not exist yet. `sync_type` registers the class when it creates the
                # type.
                except UserTypeDoesNotExist:
                    pass

    def _set_defaults(self) -> None:
        """Set the row factory and the consistency level that applications expect of the session."""
        try:
            self.session.row_factory = dict_factory
            if self.consistency is not None:
                self.session.default_consistency_level = self.consistency
        except ValueError:
            # A session with execution profiles does not accept these settings. The mapper's own
            # statements do not need them: each of them has its consistency level and row factory.
            # But the application's statements use the default profile, so set its row factory, as
            # cassandra-driver does.
            log.debug(format_log_context("the session has execution profiles", self.name))
            profiles: Any = getattr(self.cluster, "profile_manager", None)
            profile: Any = getattr(profiles, "default", None)
            if not self.is_async and getattr(profile, "row_factory", None) is named_tuple_factory:
                profile.row_factory = dict_factory

    def setup_session(self) -> None:
        """Register the classes of user-defined types that the application has declared so far."""
        # Copy the items, because other threads may declare types at the same time.
        for keyspace, types in list(udt_by_keyspace.items()):
            for type_name, klass in types.items():
                _register_user_type(self, keyspace, type_name, klass)

    def handle_lazy_connect(self) -> None:
        """Connect now if `lazy_connect` has delayed the connection until its first use.

        :raises CQLEngineException: if there is no session, and an earlier attempt to connect has
            failed.
        """
        if self.session is not None:
            return
        with self.lazy_connect_lock:
            # Check again: another thread may have connected while this thread waited for the lock.
            if self._is_connected():
                return
            if not self.lazy_connect:
                raise CQLEngineException(
                    f"the connection {self.label} is not connected: its last attempt failed, and "
                    "retry_connect is not set"
                )
            log.debug(format_log_context("lazy connecting", self.name))
            # `setup` connects only if this is False. Set it back to True if connecting fails, so
            # that the next use tries again.
            self.lazy_connect = False
            try:
                self.setup()
            except BaseException:
                self.lazy_connect = True
                raise
            # If this is the default connection, set the module's attributes `cluster` and
            # `session`.
            _show_default(self)

    def _is_connected(self) -> bool:
        return self.session is not None

    def close(self) -> None:
        """Shut the cluster down if the connection created it."""
        # A cluster of `cassandra.aio` has to be shut down on its own event loop, which
        # `aunregister_connection` does.
        if self.owns_cluster and not self.is_async and self.cluster is not None:
            self.cluster.shutdown()
        self.session = self.cluster = None

    async def aclose(self) -> None:
        """Shut the cluster down, blocking or of `cassandra.aio`, if the connection created it."""
        cluster = self.cluster
        if self.owns_cluster and self.is_async and cluster is not None:
            # Clear the attributes before waiting, so that no other code gets a session that is
            # being closed.
            self.session = self.cluster = None
            await cluster.shutdown()
        else:
            self.close()


def _show_default(connection: Connection) -> None:
    """Set this module's `cluster` and `session` if `connection` is the default connection."""
    global cluster, session
    if _connections.get(DEFAULT_CONNECTION) is connection:
        cluster, session = connection.cluster, connection.session


def get_connection(name: Hashable = None) -> Connection:
    """Return the connection `name`, after connecting it if necessary.

    :param name: the name in the registry; None for the default connection.
    :raises CQLEngineException: if the name is not registered, or connecting failed before.
    """
    connection = registered(name)
    if connection.session is None:
        connection.handle_lazy_connect()
    return connection


def registered(name: Hashable = None) -> Connection:
    """Return the connection `name`, without connecting it.

    :param name: the name in the registry; None for the default connection.
    :raises CQLEngineException: if the name is not registered.
    """
    connection = _connections.get(DEFAULT_CONNECTION if name is None else name)
    if connection is None:
        if name is None:
            raise CQLEngineException(
                "there is no default connection: call connection.setup(hosts, keyspace) or "
                "connection.set_session(session) first"
            )
        names = ", ".join(repr(key) for key in _connections if key is not DEFAULT_CONNECTION)
        raise CQLEngineException(
            f"Connection name '{name}' doesn't exist in the registry (which has {names or 'none'})."
        )
    return connection


def register_connection(
    name: Hashable,
    hosts: Sequence[Any] | None = None,
    consistency: int | None = None,
    lazy_connect: bool = False,
    retry_connect: bool = False,
    cluster_options: Mapping[str, Any] | None = None,
    default: bool = False,
    session: Session | AsyncSession | None = None,
) -> Connection:
    """Add a connection to the registry.

    :param name: the name to register.
    :param hosts: contact points; a new `Cluster` is connected to them.
    :param consistency: a value of `ConsistencyLevel` for statements without a level; None for the
        session's level.
    :param lazy_connect: True to connect when the connection is first used.
    :param retry_connect: True to connect at the next use if the first attempt fails.
    :param cluster_options: keyword arguments of the `Cluster`; None for none.
    :param default: True to make it the default connection.
    :param session: an existing session of `cassandra.cluster` or `cassandra.aio`; None to connect a
        new session.
    :raises CQLEngineException: if both a session and settings of a new session are passed.
    """
    options = Secret(cluster_options)
    del cluster_options  # error reports may show local variables
    if session is not None:
        if hosts is not None or consistency or lazy_connect or retry_connect or options.reveal():
            raise CQLEngineException(
                "Session configuration arguments and 'session' argument are mutually exclusive"
            )
        connection = Connection.from_session(name, session)
        if not connection.is_async:
            connection.setup_session()
    else:
        connection = Connection(
            name, hosts, consistency, lazy_connect, retry_connect, options.reveal()
        )
        try:
            connection.setup()
        except NoHostAvailable:
            # With `retry_connect`, register the connection although connecting failed: its first
            # use connects again.
            if not retry_connect:
                raise
    return _add_to_registry(name, connection, default)


def _add_to_registry(name: Hashable, connection: Connection, default: bool) -> Connection:
    """Add a connection to the registry and return it."""
    with _registry_lock:
        if name in _connections:
            # The previous connection is not closed: its session may be in use.
            log.warning("Registering connection %r, which is in the registry already", name)
        _connections[name] = connection
        if default:
            set_default_connection(name)
    return connection


async def aregister_connection(
    name: Hashable,
    hosts: Sequence[Any] | None = None,
    consistency: int | None = None,
    cluster_options: Mapping[str, Any] | None = None,
    default: bool = False,
) -> Connection:
    """Register a connection with a new cluster of `cassandra.aio`, on the running event loop.

    :param name: the name to register.
    :param hosts: contact points.
    :param consistency: a value of `ConsistencyLevel` for statements without a level; None for the
        session's level.
    :param cluster_options: keyword arguments of the `Cluster`; None for none.
    :param default: True to make it the default connection.
    """
    connection = Connection(name, hosts, consistency, cluster_options=cluster_options)
    del cluster_options  # error reports may show local variables
    await connection.asetup()
    return _add_to_registry(name, connection, default)


def unregister_connection(name: Hashable) -> None:
    """Remove the connection `name`, and shut its cluster down if the connection has created it.

    This does nothing if the name is not registered.

    :param name: the name in the registry.
    """
    connection = _remove_from_registry(name)
    if connection is not None:
        connection.close()


async def aunregister_connection(name: Hashable = None) -> None:
    """Remove a connection of `cassandra.aio`; shut its cluster down if the connection created it.

    :param name: the name in the registry; None for the default connection.
    """
    connection = _remove_from_registry(DEFAULT_CONNECTION if name is None else name)
    if connection is not None:
        await connection.aclose()


def _remove_from_registry(name: Hashable) -> Connection | None:
    """Remove a connection from the registry, with all its names, and return it."""
    global cluster, session
    with _registry_lock:
        connection = _connections.pop(name, None)
        if connection is None:
            return None
        if _connections.get(DEFAULT_CONNECTION) is connection:
            del _connections[DEFAULT_CONNECTION]
        # Remove the connection's other names too, because the caller will close the connection.
        for other_name in [
            other_name for other_name, other in _connections.items() if other is connection
        ]:
            del _connections[other_name]
        if DEFAULT_CONNECTION not in _connections:
            cluster = session = None
        return connection


def set_default_connection(name: Hashable) -> None:
    """Make the connection `name` the default connection.

    :param name: the name in the registry.
    :raises CQLEngineException: if the name is not registered.
    """
    with _registry_lock:
        connection = _connections.get(name)
        if connection is None:
            raise CQLEngineException(f"Connection '{name}' doesn't exist.")
        _connections[DEFAULT_CONNECTION] = connection
        _show_default(connection)


def default() -> None:
    """Connect the default connection to this machine, with the driver's default settings."""
    _replace_default(Connection(DEFAULT_CONNECTION, hosts=None))


def _replace_default(connection: Connection, connect: bool = True) -> None:
    """Make `connection` the default connection, and close the old one unless it has another name.

    :param connect: True to connect `connection`; False if it is connected already.
    """
    with _registry_lock:
        previous = _remove_default()
        if previous is not None:
            previous.close()
    # Connect without the lock, because connecting waits for the network.
    if connect:
        try:
            connection.setup()
        except NoHostAvailable:
            if not connection.retry_connect:
                raise
    _set_default(connection)


def _remove_default() -> Connection | None:
    """Remove the default connection from the registry.

    :returns: the connection, which the caller must close; None if there is none, or if it is also
        registered under a name, and so still in use.
    """
    with _registry_lock:
        previous = _connections.pop(DEFAULT_CONNECTION, None)
        if previous is None:
            return None
        # The default connection is also registered as "default"; see `_set_default`.
        if _connections.get("default") is previous:
            del _connections["default"]
        log.debug("the default connection is replaced")
        return None if previous in _connections.values() else previous


def _set_default(connection: Connection) -> None:
    """Register `connection` as the default connection."""
    with _registry_lock:
        # Also register it as "default": applications use this name to look it up or unregister it.
        _connections[DEFAULT_CONNECTION] = _connections["default"] = connection
        _show_default(connection)


def set_session(s: Session | AsyncSession) -> None:
    """Use the session `s`, blocking or from `cassandra.aio`, as default connection.

    :param s: a connected session.
    """
    connection = Connection.from_session(DEFAULT_CONNECTION, s)
    _replace_default(connection, connect=False)
    keyspace = getattr(s, "keyspace", None)
    if isinstance(keyspace, str):
        set_default_keyspace(keyspace)
    if not connection.is_async:
        connection.setup_session()


# The default keyspace, as the only element of a list.
_default_keyspace: list[str | None] = [None]


def default_keyspace() -> str | None:
    """Return the keyspace of models without `__keyspace__`."""
    return _default_keyspace[0]


def set_default_keyspace(keyspace: str | None) -> None:
    """Set the keyspace of models without `__keyspace__`."""
    _default_keyspace[0] = keyspace


@with_example("setup(['10.0.0.1'], 'keyspace'), with the default keyspace of the models")
def setup(
    hosts: Sequence[Any] | None,
    default_keyspace: str,
    consistency: int | None = None,
    lazy_connect: bool = False,
    retry_connect: bool = False,
    **kwargs: Any,
) -> None:
    """Set up the default connection.

    :param hosts: contact points.
    :param default_keyspace: the keyspace of models without `__keyspace__`.
    :param consistency: the default consistency level; None for the level of the session.
    :param lazy_connect: True to connect on first use.
    :param retry_connect: True to try again at the next use if connecting fails.
    :param kwargs: further keyword arguments of the `Cluster`.
    :raises NoHostAvailable: if no host can be connected to, unless `lazy_connect` or
        `retry_connect` is set.
    """
    # Set the keyspace before connecting: on connecting, user types without a keyspace are
    # registered in this keyspace.
    set_default_keyspace(default_keyspace)
    connection = Connection(
        DEFAULT_CONNECTION, hosts, consistency, lazy_connect, retry_connect, kwargs
    )
    # Delete the keyword arguments: they may have a password, and error reports may show local
    # variables.
    del kwargs
    connection.default_keyspace = default_keyspace
    _replace_default(connection)


async def asetup(
    hosts: Sequence[Any] | None,
    default_keyspace: str,
    consistency: int | None = None,
    **kwargs: Any,
) -> None:
    """Set up the default connection with a cluster of `cassandra.aio`, on the running event loop.

    :param hosts: contact points.
    :param default_keyspace: the keyspace of models without `__keyspace__`.
    :param consistency: a value of `ConsistencyLevel` for statements without a level; None for the
        session's level.
    :param kwargs: further keyword arguments of `cassandra.aio.Cluster`.
    """
    connection = Connection(DEFAULT_CONNECTION, hosts, consistency, cluster_options=kwargs)
    # Delete the keyword arguments: they may have a password, and error reports may show local
    # variables.
    del kwargs
    connection.default_keyspace = default_keyspace
    await connection.asetup()
    # Until now, and if connecting fails, models are written to the old connection, and must stay in
    # its keyspace.
    with _registry_lock:
        previous = _remove_default()
        _set_default(connection)
    set_default_keyspace(default_keyspace)
    if previous is not None:
        try:
            await previous.aclose()
        except RuntimeError:
            # The previous cluster belongs to another loop, for example of an earlier `asyncio.run`.
            log.debug("the previous default connection is on another loop", exc_info=True)


def get_session(connection: Hashable | None = None) -> Any:
    """Return the session of a connection.

    :param connection: the name of the connection; None for the default connection.
    """
    return get_connection(connection).session


def get_cluster(connection: Hashable | None = None) -> Any:
    """Return the cluster of a connection.

    :param connection: the name of the connection; None for the default connection.
    :raises CQLEngineException: if the name is not registered.
    """
    return get_connection(connection).cluster


def _statement_and_params(
    connection: Connection,
    query: str | Statement | PreparedStatement | BaseCQLStatement,
    params: object,
    consistency_level: int | None,
) -> tuple[Any, Any]:
    """Return the arguments of `Session.execute`: the statement and its parameters.

    The statement has the consistency level of the call, or else its own or the connection's. Also
    log the statement and the parameters at DEBUG level.
    """
    # True if `query` is a statement object of the application.
    is_owned_by_application = False
    if isinstance(query, BaseCQLStatement):
        params = query.get_context()
        query = SimpleStatement(text_of(query, params), fetch_size=query.fetch_size)
    elif isinstance(query, str):
        query = SimpleStatement(query)
    elif isinstance(query, PreparedStatement):
        query, params = query.bind(() if params is None else params), None
    elif not isinstance(query, Statement):
        raise CQLEngineException(f"a query is a str or a statement, not {shown_argument(query)}")
    else:
        is_owned_by_application = True
    level = connection.consistency if consistency_level is None else consistency_level
    # The level of this call has precedence over the statement's level, and the statement's level
    # over the connection's.
    if level is not None and (consistency_level is not None or query.consistency_level is None):
        if is_owned_by_application:
            # Set the level on a copy, because the application may execute its statement elsewhere
            # too.
            query = copy.copy(query)
        query.consistency_level = level
    if log.isEnabledFor(logging.DEBUG):
        hooks.log_statement(log, connection, getattr(query, "query_string", query), params)
    return query, params


def execute(
    query: str | Statement | PreparedStatement | BaseCQLStatement,
    params: object = None,
    consistency_level: int | None = None,
    timeout: float | None = NOT_SET,
    connection: Hashable | None = None,
) -> ResultSet[Any]:
    """Execute a query string or a statement; rows are dicts.

    :param query: a query string with markers, or a statement, which may be prepared.
    :param params: a sequence or a mapping, for ``%s`` and ``%(name)s``, or for ``?``.
    :param consistency_level: a value of `ConsistencyLevel`; None for the level of the statement,
        the connection or the session, whichever is set first in this order.
    :param timeout: seconds; None for no limit; by default the session's timeout.
    :param connection: the name of the connection; None for the default connection.
    :returns: the result of `Session.execute`.
    """
    target = get_connection(connection)
    if target.is_async:
        raise CQLEngineException(
            f"the connection {target.label} has a session of cassandra.aio: await "
            "connection.aexecute(...)"
        )
    statement, params = _statement_and_params(target, query, params, consistency_level)
    result: ResultSet[Any] = target.session.execute(statement, params, timeout=timeout)
    # Set the row factory of this result only: other code may use the session with other row types.
    set_row_factory(result, dict_factory)
    return result


async def aexecute(
    query: str | Statement | PreparedStatement | BaseCQLStatement,
    params: object = None,
    consistency_level: int | None = None,
    timeout: float | None = NOT_SET,
    connection: Hashable | None = None,
) -> AsyncResultSet[Any]:
    """Execute a query string or a statement on a connection of `cassandra.aio`; rows are dicts.

    :param query: a query string with markers, or a statement, which may be prepared.
    :param params: a sequence or a mapping, for ``%s`` and ``%(name)s``, or for ``?``.
    :param consistency_level: a value of `ConsistencyLevel`; None for the level of the statement,
        the connection or the session, whichever is set first in this order.
    :param timeout: seconds; None for no limit; by default the session's timeout.
    :param connection: the name of the connection; None for the default connection.
    :returns: the result of `cassandra.aio`'s `Session.execute`.
    """
    target = get_connection(connection)
    if not target.is_async:
        raise CQLEngineException(
            f"the connection {target.label} has a blocking session: use connection.execute(...)"
        )
    statement, params = _statement_and_params(target, query, params, consistency_level)
    future = target.session.execute(statement, params, timeout=timeout)
    # Set the row factory of this request only: other code may use the session with other row types.
    future.row_factory = dict_factory
    result: AsyncResultSet[Any] = await future
    return result


def register_udt(
    keyspace: str | None, type_name: str, klass: type, connection: Hashable | None = None
) -> None:
    """Return instances of `klass` for a type's values, on this and all later connections.

    :param keyspace: the name of the type's keyspace.
    :param type_name: the name of the type.
    :param klass: a subclass of `UserType`.
    :param connection: the name of the connection; None for the default connection.
    """
    udt_by_keyspace[keyspace][type_name] = klass
    target = _connections.get(DEFAULT_CONNECTION if connection is None else connection)
    # Do nothing on a connection of `cassandra.aio`: its cluster registers types by a coroutine,
    # which this function cannot await.
    if target is not None and target.session is not None and not target.is_async:
        _register_user_type(target, keyspace, type_name, klass)


def _register_user_type(
    connection: Connection, keyspace: str | None, type_name: str, klass: type
) -> None:
    """Register the class of a user-defined type with the cluster.

    Do nothing if the class has no keyspace and no default keyspace is set, or if the type does not
    exist yet.
    """
    # A class without a keyspace belongs to the default keyspace.
    keyspace = keyspace or _default_keyspace[0]
    if keyspace is None:
        return
    try:
        connection.cluster.register_user_type(keyspace, type_name, klass)
    except UserTypeDoesNotExist:
        pass  # the type does not exist yet: `sync_type` registers the class when it creates it


def __getattr__(name: str) -> Any:
    """Return the default connection's cluster or session by its name in cassandra-driver's module.

    These names are ``cql_cluster`` and ``cql_session``.
    """
    # Read the globals at each access: another default connection replaces both objects.
    default_objects = {"cql_cluster": cluster, "cql_session": session}
    if name in default_objects:
        return default_objects[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
