"""`FakeNode`: a node in this process that speaks the native protocol on a real socket.

A test sets how the node responds to which request (`FakeNode.prime`). The node runs on its own
thread, so that both blocking tests and asyncio tests can use it. You may call its methods from any
thread. A method that changes how the socket behaves returns when the change is done. The node
shares no protocol code with the driver, so that the tests find errors in the driver's code.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import ssl
import sys
import threading
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra.testing.fake.answers import Answer, Answerable, Prepared
from cassandra.testing.fake.connection import ServerConnection
from cassandra.testing.fake.defaults import OLDEST_VERSION, DefaultAnswers
from cassandra.testing.fake.events import DRAIN_EVENT, event_body
from cassandra.testing.fake.looping import Listening, NodeThread
from cassandra.testing.fake.primitives import Opcode, string
from cassandra.testing.fake.refusals import ErrorCode
from cassandra.testing.fake.requests import Request
from cassandra.testing.fake.script import Match, Prime, Script
from cassandra.testing.fake.segments import HAVE_LZ4
from cassandra.testing.fake.system_tables import names_system_table
from cassandra.testing.fake.values import Columns
from cassandra.testing.wire import WireError

if TYPE_CHECKING:
    from typing_extensions import Self

_Result = TypeVar("_Result")

# The authenticator that a node with a login names in AUTHENTICATE.
_AUTHENTICATOR = "org.apache.cassandra.auth.PasswordAuthenticator"
_RECORDED = 100_000  # how many requests `requests` keeps, to limit the memory of long runs
_VERSIONS = range(OLDEST_VERSION, 7)  # the protocol versions that a node may speak; 6 is a beta
# The requests that a client may send before the handshake is complete. All other requests get a
# protocol error until then.
_BEFORE_READY = frozenset({Opcode.STARTUP, Opcode.OPTIONS, Opcode.AUTH_RESPONSE})


def _check_place(address: object, port: object) -> None:
    """Raise TypeError unless the address of a node is a string and the port is a number."""
    if isinstance(address, int):
        raise TypeError(
            f"the address of a node is a str, but is {address}: for {address} nodes, write "
            f"FakeCluster({address})"
        )
    if not isinstance(port, int):
        raise TypeError(f"the port of a node is a number, but is {port!r}")


class FakeNode(DefaultAnswers):
    """A scriptable node. Use it as a context manager, or call `start` and `stop`.

    Without a script, the node responds as a real node does to the handshake, PREPARE, USE and
    SELECT from system tables. Any other statement gets a Void result. `prime` sets another response
    for matching requests. For PREPARE, the node invents an int column for each ``?``. If your
    statement has other columns, describe them by `prime_prepare`: the driver only binds values of
    the columns' types.

    `requests` has the received requests, `connections` the open connections. Set the attribute
    `schema` to the rows of the schema tables as mappings, by table: ``{"system_schema.keyspaces":
    [{"keyspace_name": "ks", ...}]}``.

    :param address: the address to listen on.
    :param port: the port; 0 chooses a free port.
    :param max_version: the newest protocol version that the node speaks (3, 4 or 5; 6 is a beta).
    :param username: the user name that clients must log in with; None for no login.
    :param password: the user's password.
    :param ssl_context: the TLS context; None for no TLS.
    :param datacenter: the node's data centre, as shown in the system tables.
    :param rack: the node's rack.
    :param tokens: the tokens that the node owns, as strings.
    :param host_id: the node's id; None for a random id.
    :param release_version: the version of the server; None for a version that fits `max_version`.
    :param cluster_name: the name of the cluster.
    :param graceful_disconnect: True offers clients the event GRACEFUL_DISCONNECT, by which `drain`
        announces that connections will be closed, as in Cassandra's CEP-59.
    :param thread: a thread that runs several nodes. None creates a thread for this node.
    :param strict: True answers a statement that no prime matches with an InvalidRequest error,
        which names the nearest primed statement. False answers it with a Void result. Queries of
        system tables and USE are answered in both cases.
    """

    address: str
    _port: int
    max_version: int
    datacenter: str
    rack: str
    tokens: tuple[str, ...]
    host_id: uuid.UUID
    schema_version: uuid.UUID
    release_version: str
    cluster_name: str
    strict: bool
    partitioner: str

    def __init__(
        self,
        address: str = "127.0.0.1",
        port: int = 0,
        *,
        max_version: int = 5,
        username: str | None = None,
        password: str | None = None,
        ssl_context: ssl.SSLContext | None = None,
        datacenter: str = "datacenter1",
        rack: str = "rack1",
        tokens: Sequence[str] = ("0",),
        host_id: uuid.UUID | None = None,
        release_version: str | None = None,
        cluster_name: str = "Fake Cluster",
        graceful_disconnect: bool = False,
        thread: NodeThread | None = None,
        strict: bool = False,
    ) -> None:
        _check_place(address, port)
        if max_version not in _VERSIONS:
            raise ValueError(f"max_version is {_one_of(_VERSIONS)}, not {max_version!r}")
        self.address = address
        self._port = port
        self.max_version = max_version
        self.datacenter = datacenter
        self.rack = rack
        self.tokens = tuple(tokens)
        self.host_id = host_id or uuid.uuid4()
        self.release_version = release_version or ("5.0.9" if max_version >= 5 else "3.11.19")
        # Give all nodes the same schema version: otherwise clients would wait for schema agreement.
        self.schema_version = uuid.UUID("59adb24e-f3cd-3e02-97f0-5b395827453f")
        self.cluster_name = cluster_name
        self.strict = strict
        self.partitioner = "org.apache.cassandra.dht.Murmur3Partitioner"
        # Cassandra 4.0 introduced both the table system.peers_v2 and protocol version 5.
        self.has_peers_v2 = max_version >= 5
        self.has_client_routes = False  # ScyllaDB's table system.client_routes
        self.keyspaces: set[str] | None = None  # the names that USE accepts; None for any name
        self.peers: list[FakeNode] = []
        self.schema: dict[str, list[dict[str, Any]]] = {}
        self.supported: dict[str, list[str]] = {
            "CQL_VERSION": ["3.4.7"],
            "COMPRESSION": ["lz4"] if HAVE_LZ4 else [],
        }
        if graceful_disconnect:
            self.supported[DRAIN_EVENT] = ["true"]
        self.opened = 0  # the number of connections since the node was created
        self.malformed: list[WireError] = []  # protocol violations of clients
        self.failures: list[BaseException] = []
        """The exceptions of the test's own functions for answers and matches, such as a failed
        assertion. `stop`, or the end of the ``with`` block, raises the first one."""
        self._raised: list[BaseException] = []  # those of them that were raised or noted already
        self.authenticator = _AUTHENTICATOR  # the class that AUTHENTICATE names
        self._credentials = (username, password) if username is not None else None
        self._ssl_context = ssl_context
        self._make_state(thread)

    def _make_state(self, thread: NodeThread | None) -> None:
        """Initialize all state that changes while the node runs."""
        self._shared_thread = thread
        self._thread: NodeThread | None = thread
        self._reservation: Listening | None = None  # socket that keeps the port; see `_reserve`
        self._listener: Listening | None = None  # None while connections are refused
        self._connections: list[ServerConnection] = []
        self._script = Script()
        self._statements: dict[str, Prepared] = {}  # statements of `prime_prepare`, by CQL
        # The statements that clients have prepared, by id.
        self._prepared: dict[bytes, Prepared] = {}
        self._requests: deque[Request] = deque(maxlen=_RECORDED)
        self._arrivals = 0  # the number of requests since the node was created
        # Returns the number of the next request. Nodes that share a thread share one sequence of
        # numbers.
        self._number: Callable[[], int] = (
            thread.number if thread is not None else itertools.count().__next__
        )
        self._waiters = 0  # how many threads are waiting in `wait_for`
        self._changed = threading.Condition()  # notified by `_notify`
        self._reading = True  # False after `stop_reading`
        self._hanging = False  # True after `accept_but_hang`
        self._paused = False  # True after `pause`
        self._closed = False  # True after `stop`: new connections are aborted
        # The calls that were passed to `post` while the node was paused. `resume` makes these
        # calls.
        self._parked: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    # -- start and stop ----------------------------------------------------------------------------

    @property
    def port(self) -> int:
        """The port of the node. It keeps this port when it is stopped and started again.

        :raises RuntimeError: if `port` is 0, and the node was not started yet.
        """
        if not self._port:
            name = type(self).__name__
            raise RuntimeError(f"this {name} is not running: write `with {name}(...) as node:`")
        return self._port

    @port.setter
    def port(self, port: int) -> None:
        self._port = port

    @property
    def contact_points(self) -> list[str]:
        """The address of the node in a list, as `FakeCluster` and `LocalCluster` have it.

        :raises RuntimeError: if `port` is 0, and the node was not started yet: with the address
            alone, a client would use the default port, and reach another server.
        """
        self.port  # noqa: B018 - raises the error
        return [self.address]

    @property
    def endpoint(self) -> str:
        """``address:port``, as it appears in messages."""
        return f"{self.address}:{self._port}"

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that runs the node.

        :raises RuntimeError: if the node does not run.
        """
        return self._running().loop

    @property
    def is_running(self) -> bool:
        """True if the node was started, and not stopped."""
        return self._listener is not None or self._reservation is not None

    def _running(self) -> NodeThread:
        if self._thread is None:
            raise RuntimeError(f"the node {self.endpoint} is not running")
        return self._thread

    def start(self) -> Self:
        """Start to accept connections. Does nothing if the node is running."""
        if self.is_running:
            return self
        if self._thread is None:
            self._thread = NodeThread("fake-node")
        self._reserve()
        if self._shared_thread is None:
            self._thread.rename(f"fake-node-{self.endpoint}")
        self._hanging = self._paused = self._closed = False
        self._reading = True
        self._thread.call(self._listen)
        return self

    def stop(self) -> None:
        """Close all connections, stop listening, and forget prepared statements.

        This method returns when all sockets are closed.

        :raises BaseException: if a function for an answer or a match has failed (`failures`), and
            no other exception is being handled.
        """
        self._end(sys.exc_info()[1])

    def _end(self, error: BaseException | None) -> None:
        """Stop, and raise an exception in `failures`.

        :param error: see `_raise_failures`.
        """
        self._stop()
        self._raise_failures(error)

    def _stop(self) -> None:
        """Do what `stop` does, without raising an exception in `failures`."""
        if not self.is_running:
            return
        thread = self._running()
        thread.call(self._close)
        thread.settle()
        if self._reservation is not None:
            self._reservation.close()
            self._reservation = None
        # If several nodes share the thread, its owner stops it, for example a `FakeCluster`.
        if self._shared_thread is None:
            thread.stop()
            self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        # The block may be inside the handler of an exception that has nothing to do with it.
        self._end(error)

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._end(error)

    def _raise_failures(self, error: BaseException | None) -> None:
        """Raise the first exception in `failures` that was not raised before, if there is one.

        :param error: an exception that is being handled. It must not be hidden, so it gets notes
            about the failures instead.
        """
        failures = [
            failure
            for failure in self.failures
            if not any(failure is raised for raised in self._raised)
        ]
        self._raised += failures
        raised = failures.pop(0) if failures and error is None else None
        for failure in failures:
            # Python 3.10 has no notes. The log has all failures in any case.
            if failure is not error and hasattr(failure, "add_note"):
                noted: Any = error or raised
                noted.add_note(f"A function of the test has failed in {self!r}: {failure!r}")
        if raised is not None:
            raise raised

    def _reserve(self) -> None:
        """Bind a socket to the port, without listening on it.

        This socket keeps the port for the node even while the node refuses connections.
        """
        # For port 0, the operating system chooses a port, which the node keeps from now on.
        thread = self._running()
        try:
            self._reservation = thread.bound_socket(self.address, self._port)
        except BaseException as fault:
            if self._shared_thread is None:
                thread.stop()
                self._thread = None
            if isinstance(fault, OSError) and fault.errno == errno.EADDRINUSE:
                text = f"{self.endpoint} is in use; port=0 takes a free one"
                raise OSError(errno.EADDRINUSE, text) from fault
            raise
        self.port = self._reservation.getsockname()[1]

    def _listen(self) -> None:
        """Begin to accept connections. Does nothing if the node already accepts connections."""
        if self._listener is not None:
            return
        # SO_REUSEADDR allows this socket to bind the same port as the reserving socket
        # (`_reserve`). Only the socket bound here listens.
        self._listener = self._accept_on(self.port)

    def _accept_on(self, port: int) -> Listening:
        """Listen on a port of the node's address."""
        thread = self._running()
        listener = thread.bound_socket(self.address, port)
        thread.listen(listener, self.protocol, self._ssl_context)
        return listener

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._running().stop_listening(self._listener)
            self._listener = None

    def protocol(self) -> ServerConnection:
        """Return the node's side of a new connection, for a transport on the node's event loop.

        Pass it to ``loop.create_server`` as protocol factory, for a node that you do not start.
        Create such a node with ``thread=``: a `NodeThread`, or
        `cassandra.testing.simulation.SimulatedThread`.
        """
        return ServerConnection(self)

    def _close(self) -> None:
        """Close the sockets and connections for `stop`. Runs on the node's event loop."""
        self._closed = True
        self._stop_listening()
        for connection in list(self._connections):
            connection.abort()
        self._prepared.clear()
        self._parked.clear()

    # -- requests and connections ------------------------------------------------------------------

    @property
    def requests(self) -> list[Request]:
        """The last 100,000 requests, in the order of their arrival."""
        return list(self._requests)

    def queries(self, text: str | None = None) -> list[Request]:
        """Return the QUERY, EXECUTE and BATCH requests, except requests to system tables.

        :param text: return only requests with this CQL, even to system tables; None for all
            requests.
        """
        kinds = (Opcode.QUERY, Opcode.EXECUTE, Opcode.BATCH)
        matches = [request for request in self.requests if request.opcode in kinds]
        if text is not None:
            return [request for request in matches if text in request.queries]
        return [request for request in matches if not any(map(names_system_table, request.queries))]

    def count(self, opcode: Opcode) -> int:
        """Return the number of recorded requests with an opcode.

        :param opcode: the opcode.
        """
        return sum(request.opcode == opcode for request in self.requests)

    def forget_requests(self) -> None:
        """Clear `requests`."""
        self._requests.clear()

    @property
    def connections(self) -> list[ServerConnection]:
        """The open connections, the oldest first. The attribute `opened` counts all connections."""
        return list(self._connections)

    def wait_for(self, predicate: Callable[[FakeNode], _Result], timeout: float = 30.0) -> _Result:
        """Wait until ``predicate(node)`` is true, and return its result.

        The predicate is evaluated after each request, and whenever a connection opens or closes.

        :param predicate: a function of the node.
        :param timeout: the maximum wait, in seconds.
        :raises AssertionError: if the predicate is still false after `timeout` seconds.
        """
        # Wait in virtual time: an ordinary wait would block the whole simulation.
        if self._thread is not None and self._thread.is_simulated:
            result = self._thread.wait_for(lambda: predicate(self), timeout)
        else:
            with self._changed:
                self._waiters += 1
                try:
                    result = self._changed.wait_for(lambda: predicate(self), timeout)
                finally:
                    self._waiters -= 1
        if not result:
            raise AssertionError(
                f"{self!r} did not come to that within {timeout} s; last: {self.requests[-5:]}"
            )
        return result

    async def wait_until(
        self, predicate: Callable[[FakeNode], _Result], timeout: float = 30.0
    ) -> _Result:
        """Wait like `wait_for`, but without blocking the event loop of the test.

        :param predicate: a function of the node.
        :param timeout: the maximum wait, in seconds.
        """
        if self._thread is not None and self._thread.is_simulated:
            await self._thread.wait_until(lambda: predicate(self), timeout)
            # The predicate is probably true now, so `wait_for` with a timeout of 0 returns its
            # value. Otherwise `wait_for` raises the error about the timeout.
            return self.wait_for(predicate, 0.0)
        return await asyncio.to_thread(self.wait_for, predicate, timeout)

    def _notify(self) -> None:
        """Wake the threads in `wait_for`, so that they evaluate their predicates again."""
        if self._waiters:
            with self._changed:
                self._changed.notify_all()

    # -- the script --------------------------------------------------------------------------------

    def prime(self, match: Match, answer: Answerable, times: int | None = None) -> Prime:
        """Answer matching requests with `answer`.

        If several primes match a request, the latest prime answers.

        :param match: the CQL of a statement, a compiled regular expression to search in the CQL, an
            `Opcode`, or a function of a `Request`. CQL is compared with the CQL of a QUERY, of the
            statement that an EXECUTE refers to, and of each statement in a BATCH.
        :param answer: an answer, or a function of a `Request` that returns an answer.
        :param times: how many requests the prime answers. None answers all matching requests.
        """
        return self._script.prime(match, answer, times)

    def clear_primes(self) -> None:
        """Remove all primes."""
        self._script.clear()

    def prime_prepare(
        self,
        query: str,
        columns: Columns,
        result: Columns = (),
        pk_indexes: Sequence[int] = (),
        query_id: bytes | None = None,
        metadata_id: bytes | None = None,
    ) -> Prepared:
        """Set the answer to a PREPARE of `query`.

        :param query: the CQL of the statement.
        :param columns: the columns of the bind markers, as (name, type) pairs.
        :param result: the result columns.
        :param pk_indexes: indexes of the partition key columns among the bind columns.
        :param query_id: the statement's id; None for a digest of the CQL.
        :param metadata_id: the id of the result columns; None for a digest of these columns.
        """
        prepared = Prepared(query, columns, result, pk_indexes, query_id, metadata_id)
        self._statements[query] = prepared
        return prepared

    def forget_prepared(self) -> None:
        """Forget all prepared statements, as after a restart.

        An EXECUTE then gets an UNPREPARED error.
        """
        self._prepared.clear()

    @property
    def prepared(self) -> list[str]:
        """The CQL of all statements that are prepared on this node."""
        # Copy the values first, because the node's thread may add statements in the meantime.
        return [prepared.query for prepared in list(self._prepared.values())]

    def text_of(self, query_id: bytes) -> str | None:
        """Return the CQL of a prepared statement, or None if the node does not know the id.

        :param query_id: the id of the prepared statement.
        """
        # Look once: the test's thread may call `forget_prepared` in the meantime.
        statement = self._prepared.get(query_id)
        return None if statement is None else statement.query

    # -- faults ------------------------------------------------------------------------------------

    def refuse_connections(self) -> None:
        """Refuse new connections (RST to SYN). Open connections stay open."""
        self._running().call(self._stop_listening)

    def accept_connections(self) -> None:
        """Undo `refuse_connections` and `accept_but_hang`."""
        self._hanging = False
        self._running().call(self._listen)

    def accept_but_hang(self) -> None:
        """Accept new connections, but do not respond to requests on them."""
        self._hanging = True

    def require_password(self, username: str, password: str) -> None:
        """Require credentials on new connections.

        :param username: the only user.
        :param password: the user's password.
        """
        self._credentials = (username, password)

    def require_no_password(self) -> None:
        """Undo `require_password`."""
        self._credentials = None

    def stop_reading(self) -> None:
        """Stop reading from all connections: the clients' bytes stay in the socket buffers."""
        self._reading = False
        self._running().call(self._apply_reading)

    def start_reading(self) -> None:
        """Read from all connections again, after `stop_reading`."""
        self._reading = True
        self._running().call(self._apply_reading)

    def _apply_reading(self) -> None:
        """Start or stop reading on all connections, according to the flag `_reading`."""
        for connection in list(self._connections):
            if self._reading:
                connection.resume_reading()
            else:
                connection.pause_reading()

    def pause(self) -> None:
        """Behave as if the node's process were suspended.

        Connections stay open, and the operating system even accepts new connections, but the node
        does not respond, and sends no events.
        """
        self._paused = True
        self.stop_reading()

    @property
    def is_paused(self) -> bool:
        """True after `pause`, until `resume`."""
        return self._paused

    def resume(self) -> None:
        """Undo `pause`. The node now responds to the requests that have arrived since `pause`."""
        self._paused = False
        # The connections have kept what was sent in the meantime, for example by `delay`.
        for connection in self.connections:
            self._running().post(connection.flush)
        parked, self._parked = self._parked, []
        for function, args in parked:
            self._running().post(function, *args)
        self.start_reading()

    def drop_connections(self, reset: bool = False) -> int:
        """Close all open connections, and return how many there were.

        :param reset: True closes them by RST; False closes them by FIN.
        """
        return self._running().call(self._drop, reset)

    def _drop(self, reset: bool) -> int:
        connections = list(self._connections)
        for connection in connections:
            connection.end(reset)
        return len(connections)

    def post(self, function: Callable[..., Any], *args: Any) -> None:
        """Call a function soon on the node's thread.

        If the node is paused, `resume` makes the call.

        :param function: the function.
        :param args: the arguments of the function.
        """
        if self._paused:
            self._parked.append((function, args))
        else:
            self._running().post(function, *args)

    # -- events ------------------------------------------------------------------------------------

    def send_event(self, event_type: str, change: str = "", *details: Any) -> int:
        """Send an EVENT to all connections that have registered for its type.

        Events are ``("STATUS_CHANGE", "UP", address, port)``, ``("TOPOLOGY_CHANGE", "NEW_NODE",
        address, port)``, ``("SCHEMA_CHANGE", "CREATED", "TABLE", keyspace, name)``,
        ``("CLIENT_ROUTES_CHANGE", "UPDATE_NODES", connection_ids, host_ids)``,
        ``("GRACEFUL_DISCONNECT",)``.

        :param event_type: the type of the event.
        :param change: the kind of change, if the event has one.
        :param details: the remaining fields, as in the specification.
        :returns: the number of connections that the event was sent to.
        """
        body = event_body(event_type, change, details)
        return self._running().call(self._push, event_type, body)

    def drain(self, grace: float | None = None) -> int:
        """Start a graceful shutdown as in Cassandra's CEP-59. Needs ``graceful_disconnect=True``.

        New connections are refused, and registered connections get GRACEFUL_DISCONNECT. The node
        answers requests until the clients close their connections. Call `stop` afterwards.

        .. versionadded:: 4.0

        :param grace: after how many seconds the node closes the connections that are still open;
            None for never.
        :returns: the number of connections that the event was sent to.
        """
        self.refuse_connections()
        if grace is not None:
            loop, open_connections = self.loop, self.connections
            self._running().call(loop.call_later, grace, self._close_all, open_connections)
        return self.send_event(DRAIN_EVENT)

    def _close_all(self, connections: Sequence[ServerConnection]) -> None:
        for connection in connections:
            connection.end()

    def _push(self, event_type: str, body: bytes) -> int:
        """Send an event to all connections that registered for it; return their number."""
        registered = [
            connection for connection in self._connections if event_type in connection.event_types
        ]
        for connection in registered:
            # An event is not the response to a request, so its stream is -1.
            connection.send(-1, Opcode.EVENT, 0, body)
        return len(registered)

    # -- called by connections, on the node's thread -----------------------------------------------

    def connection_opened(self, connection: ServerConnection) -> None:
        """Called by a connection when a client has connected.

        :param connection: the node's side of the connection.
        """
        self.opened += 1
        self._connections.append(connection)
        if self._hanging:
            connection.hang()
        if not self._reading:
            # The node is paused, so this connection must not read. Stop it in the next iteration of
            # the loop: in Python 3.10, the transport starts reading after this method, and would
            # undo a stop in it.
            self.loop.call_soon(self._apply_reading)
        if self._closed:
            connection.abort()
        self._notify()

    def connection_closed(self, connection: ServerConnection) -> None:
        """Called by a connection when it has ended.

        :param connection: the node's side of the connection.
        """
        self._connections.remove(connection)
        self._notify()

    def on_malformed(self, connection: ServerConnection, fault: WireError) -> None:
        """Send a protocol error to a client that violates the protocol, and close the connection.

        :param connection: the node's side of the connection.
        :param fault: the error.
        """
        self.malformed.append(fault)
        # If the client's first bytes are malformed, its version is not known: respond in the node's
        # newest version.
        connection.version = connection.version or self.max_version
        connection.send(0, *self._protocol_error(str(fault)))
        connection.end()
        self._notify()

    def perform(self, answer: Answer, request: Request) -> None:
        """Respond to a request by an answer, and record the exception if a function of it fails.

        :param answer: the answer.
        :param request: the request.
        """
        try:
            answer.perform(request)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as failure:  # pytest.fail raises a BaseException
            self._on_failure(request, failure)

    def _on_failure(self, request: Request, failure: BaseException) -> None:
        """Record the exception of a function of the test, and respond with a server error."""
        self.failures.append(failure)
        connection = request.connection
        text = f"the test's answer has failed: {type(failure).__name__}: {failure}"
        # The handler logs the exception. The loop of a simulation keeps it as a fault.
        connection.loop.call_exception_handler(
            {"message": f"{self!r}: {text} ({request!r})", "exception": failure}
        )
        body = int(ErrorCode.SERVER_ERROR).to_bytes(4, "big") + string(text)
        connection.send(request.stream, Opcode.ERROR, 0, body)
        self._notify()

    def _protocol_error(self, text: str) -> tuple[int, int, bytes]:
        return Opcode.ERROR, 0, int(ErrorCode.PROTOCOL_ERROR).to_bytes(4, "big") + string(text)

    def on_request(
        self,
        connection: ServerConnection,
        version: int,
        flags: int,
        stream: int,
        opcode: int,
        body: bytes,
    ) -> None:
        """Check the version of a complete request, record the request, and respond to it.

        :param connection: the node's side of the connection.
        :param version: the version of the envelope.
        :param flags: the header's flags.
        :param stream: the stream id.
        :param opcode: the message's opcode.
        :param body: the body, decompressed.
        """
        # STARTUP fixes the protocol version of a connection. Before STARTUP, a client may try any
        # version.
        if connection.started:
            if version != connection.version:
                text = (
                    f"Invalid message version. Got {version}/v{version} "
                    "but previous messages were of another version"
                )
                connection.send(stream, *self._protocol_error(text))
                return
        elif not OLDEST_VERSION <= version <= self.max_version:
            self._refuse_version(connection, version, stream)
            return
        else:
            connection.version = version
        request = Request(connection, version, flags, stream, opcode, body, self._number())
        request.parse()
        self._arrivals += 1
        self._requests.append(request)
        try:
            self._answer(request)
        except (WireError, SystemExit, KeyboardInterrupt):
            raise
        except BaseException as failure:
            self._on_failure(request, failure)
        if self._waiters:
            self._notify()

    def _refuse_version(self, connection: ServerConnection, version: int, stream: int) -> None:
        """Send a protocol error in the nearest version that the node speaks."""
        connection.version = min(self.max_version, max(version, OLDEST_VERSION))
        spoken = ", ".join(
            f"{number}/v{number}" for number in range(OLDEST_VERSION, self.max_version + 1)
        )
        text = (
            f"Invalid or unsupported protocol version ({version}); "
            f"supported versions are ({spoken})"
        )
        connection.send(stream, *self._protocol_error(text))

    def _answer(self, request: Request) -> None:
        """Respond to a request by its latest matching prime, or by the node's default answer."""
        prime = self._script.matching(request)
        # A request that the service refuses does not count as answered by the prime.
        if request.connection.ready and not (prime is not None and prime.answer.is_fault):
            refusal = self._refusal(request)
            if refusal is not None:
                refusal.perform(request)
                return
        if prime is not None:
            self._script.use(prime).perform(request)
            return
        if not request.connection.ready and request.opcode not in _BEFORE_READY:
            name = Opcode(request.opcode).name
            text = f"Unexpected message {name}, expecting STARTUP or OPTIONS"
            request.connection.send(request.stream, *self._protocol_error(text))
            return
        # The default answer comes from a method that is named after the opcode, such as
        # `_on_query`. Subclasses override these methods.
        name = Opcode(request.opcode).name
        answer_method = getattr(self, f"_on_{name.lower()}", None)
        if answer_method is None:
            text = f"Unexpected message {name}: prime an answer"
            request.connection.send(request.stream, *self._protocol_error(text))
            return
        answer: Answer = answer_method(request)
        answer.perform(request)
        # Now that the response to STARTUP is queued, use the version and compression that STARTUP
        # chose.
        if request.opcode == Opcode.STARTUP and not request.connection.started:
            request.connection.start(request)

    def _refusal(self, request: Request) -> Answer | None:
        """Return the error for a request that the service does not execute; None if it does.

        Subclasses that imitate a managed service override this method. It also applies to requests
        that a prime matches, unless the prime's answer is an error or another fault.
        """
        return None

    def __repr__(self) -> str:
        state = (
            f"{len(self._connections)} connections, {self._arrivals} requests"
            if self.is_running
            else "stopped"
        )
        return f"<FakeNode {self.endpoint}: {state}>"


def _one_of(values: Sequence[int]) -> str:
    """Return the numbers as a string for an error message, for example "3, 4 or 5"."""
    return f"{', '.join(map(str, values[:-1]))} or {values[-1]}"


FakeNode.__module__ = "cassandra.testing"
