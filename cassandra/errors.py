"""All exceptions of the driver.

The class of an error shows its cause:

* A mistake in your call is a ValueError, a TypeError, or a subclass of these.
* An error that the server reports (an ERROR message) is a `RequestExecutionException` or a
  `RequestValidationException`.
* A network failure is a `ConnectionException`, `OperationTimedOut` or `NoHostAvailable`.

The ``__module__`` of each class is the module from which applications import it, for example
``cassandra.cluster``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra.consistency import consistency_value_to_name

if TYPE_CHECKING:
    import uuid

    from cassandra.versions import OperationType

E = TypeVar("E", bound=BaseException)


class PickledWhole:
    """Base of exceptions whose `args` and attributes are pickled as they are.

    Python pickles other exceptions as a call of their class with `args`. This fails if ``__init__``
    has other parameters, and then the parent of a `multiprocessing.Pool` waits for ever.
    """

    args: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, vars(self))


class DriverException(Exception):
    """Base of all exceptions that the driver itself defines.

    If a server has sent the error, these attributes are set, as far as the server has sent their
    values; otherwise they are None:

    * `trace_id`, the id of the trace of a traced request, for `cassandra.query.QueryTrace`;
    * `warnings`, a list of strings;
    * `custom_payload`, a mapping of strings to bytes.
    """

    trace_id: uuid.UUID | None = None
    warnings: list[str] | None = None
    custom_payload: dict[str, Any] | None = None

    # If unpickling called `__init__` again, it would add the fields to the message a second time.
    __reduce__ = PickledWhole.__reduce__


def _restored(error_class: type[E], args: tuple[Any, ...], fields: Mapping[str, Any]) -> E:
    """Return an unpickled error, without calling the ``__init__`` of its class."""
    error = error_class.__new__(error_class, *args)
    error.args = args
    vars(error).update(fields)
    return error


class UnresolvableContactPoints(DriverException):
    """No contact point could be resolved to an address.

    :param contact_points: the host names that could not be resolved.
    :param msg: the message; None for a default message that lists the host names.
    """

    def __init__(self, contact_points: Sequence[str], msg: str | None = None) -> None:
        super().__init__(
            msg or f"no contact point could be resolved: {', '.join(map(str, contact_points))}"
        )
        self.contact_points = list(contact_points)


class DependencyException(DriverException):
    """A feature needs an optional package that cannot be imported.

    :param msg: the message, which says what needs the package.
    :param excs: the errors of the failed imports.
    """

    excs: list[BaseException]

    def __init__(self, msg: str, excs: Sequence[BaseException] = ()) -> None:
        super().__init__(msg)
        self.excs = list(excs)


class UnsupportedOperation(DriverException):
    """The protocol version, the server or the settings in use do not allow the operation."""


class MissingParameter(DriverException, KeyError, ValueError):
    """A value for a placeholder or a key column of the statement is missing.

    cassandra-driver raises KeyError for some missing values and ValueError for others, so this
    class is a subclass of both errors.
    """

    # Use the `__str__` of ValueError: the `__str__` of KeyError puts the message into quotes.
    __str__ = ValueError.__str__


class UnsetUnsupported(MissingParameter, UnsupportedOperation):
    """UNSET_VALUE was used, but the connection's protocol version does not support it."""


class DecodeError(DriverException, ValueError):
    """Bytes from the server are not valid for their type."""


class ProtocolError(DriverException):
    """A message or frame violates the native protocol. The driver closes its connection."""


class UnknownContent(ProtocolError):
    """A response follows the protocol, but has something that this driver does not know.

    Only its request fails, and the connection stays open. A newer server may have, for example, a
    result kind or a column type that this driver does not know.
    """


class CrcException(ProtocolError):
    """A checksum of a v5 segment does not match (native_protocol_v5.spec, section 2.2)."""


# -- errors from the server: ERROR messages --------------------------------------------------------


class RequestExecutionException(DriverException):
    """The server tried to execute the request and failed."""


class RequestValidationException(DriverException):
    """The server rejected the request as invalid."""


class _ConsistencyError(RequestExecutionException):
    """Base of all errors about replicas that are missing, too slow, or fail."""

    consistency: int | None = None

    def __init__(self, summary_message: str, consistency: int | None = None, **info: Any) -> None:
        self.consistency = consistency
        fields = {"consistency": consistency_value_to_name(consistency)}
        # Add the fields to the message, so that logs show them, too.
        fields.update({key: value for key, value in info.items() if value is not None})
        super().__init__(summary_message + " info=" + repr(fields))


class Unavailable(_ConsistencyError):
    """The coordinator knew of too few live replicas to try the request.

    :param summary_message: the message. The values of the fields are added to it.
    :param consistency: the requested `ConsistencyLevel`, as a number.
    :param required_replicas: the number of live replicas that the level needs.
    :param alive_replicas: the number of replicas that the coordinator believed to be alive.
    """

    required_replicas: int | None = None
    alive_replicas: int | None = None

    def __init__(
        self,
        summary_message: str,
        consistency: int | None = None,
        required_replicas: int | None = None,
        alive_replicas: int | None = None,
    ) -> None:
        self.required_replicas = required_replicas
        self.alive_replicas = alive_replicas
        super().__init__(
            summary_message,
            consistency,
            required_replicas=required_replicas,
            alive_replicas=alive_replicas,
        )


class Timeout(_ConsistencyError):
    """Replicas did not respond to the coordinator in time.

    :param summary_message: the message. The values of the fields are added to it.
    :param consistency: the requested `ConsistencyLevel`, as a number.
    :param required_responses: the number of replicas that had to respond.
    :param received_responses: the number of replicas that responded in time.
    :param info: further fields, which are only shown in the message.
    """

    required_responses: int | None = None
    received_responses: int | None = None

    def __init__(
        self,
        summary_message: str,
        consistency: int | None = None,
        required_responses: int | None = None,
        received_responses: int | None = None,
        **info: Any,
    ) -> None:
        self.required_responses = required_responses
        self.received_responses = received_responses
        super().__init__(
            summary_message,
            consistency,
            required_responses=required_responses,
            received_responses=received_responses,
            **info,
        )


class ReadTimeout(Timeout):
    """A read timed out at the coordinator.

    :param summary_message: the message. The values of the fields are added to it.
    :param data_retrieved: True if the replica that was asked for the data had responded.
    :param info: the fields of `Timeout`, by name.
    """

    data_retrieved: bool | None = None

    def __init__(
        self, summary_message: str, data_retrieved: bool | None = None, **info: Any
    ) -> None:
        self.data_retrieved = data_retrieved
        super().__init__(summary_message, data_retrieved=data_retrieved, **info)


class WriteTimeout(Timeout):
    """A write timed out at the coordinator.

    :param summary_message: the message. The values of the fields are added to it.
    :param write_type: the type of the write, a number of `WriteType`.
    :param info: the fields of `Timeout`, by name.
    """

    write_type: int | None = None

    def __init__(self, summary_message: str, write_type: int | None = None, **info: Any) -> None:
        self.write_type = write_type
        # A write type that this driver does not know is shown as a number.
        name = WriteType.value_to_name.get(write_type) if write_type is not None else None
        super().__init__(summary_message, write_type=name or write_type, **info)


class CoordinationFailure(_ConsistencyError):
    """At least one replica failed to execute the request.

    :param summary_message: the message. The values of the fields are added to it.
    :param consistency: the requested `ConsistencyLevel`, as a number.
    :param required_responses: the number of replicas that had to respond.
    :param received_responses: the number of replicas that responded.
    :param failures: the number of replicas that failed.
    :param error_code_map: the failure code of each replica, by its address (protocol version 5);
        None in older versions.
    :param info: further fields, which are only shown in the message.
    """

    required_responses: int | None = None
    received_responses: int | None = None
    failures: int | None = None
    error_code_map: Mapping[str, int] | None = None

    def __init__(
        self,
        summary_message: str,
        consistency: int | None = None,
        required_responses: int | None = None,
        received_responses: int | None = None,
        failures: int | None = None,
        error_code_map: Mapping[str, int] | None = None,
        **info: Any,
    ) -> None:
        self.required_responses = required_responses
        self.received_responses = received_responses
        self.failures = failures
        self.error_code_map = error_code_map
        # Show the codes in hexadecimal, as the protocol's specification does.
        codes = None
        if error_code_map is not None:
            codes = {address: f"0x{code:04x}" for address, code in error_code_map.items()}
        super().__init__(
            summary_message,
            consistency,
            required_responses=required_responses,
            received_responses=received_responses,
            failures=failures,
            error_code_map=codes,
            **info,
        )


class ReadFailure(CoordinationFailure):
    """A read failed on a replica.

    :param summary_message: the message. The values of the fields are added to it.
    :param data_retrieved: True if the replica that was asked for the data had responded.
    :param info: the fields of `CoordinationFailure`, by name.
    """

    data_retrieved: bool | None = None

    def __init__(
        self, summary_message: str, data_retrieved: bool | None = None, **info: Any
    ) -> None:
        self.data_retrieved = data_retrieved
        super().__init__(summary_message, data_retrieved=data_retrieved, **info)


class WriteFailure(CoordinationFailure):
    """A write failed on a replica.

    :param summary_message: the message. The values of the fields are added to it.
    :param write_type: the type of the write, a number of `WriteType`.
    :param info: the fields of `CoordinationFailure`, by name.
    """

    write_type: int | None = None

    def __init__(self, summary_message: str, write_type: int | None = None, **info: Any) -> None:
        self.write_type = write_type
        # A write type that this driver does not know is shown as a number.
        name = WriteType.value_to_name.get(write_type) if write_type is not None else None
        super().__init__(summary_message, write_type=name or write_type, **info)


class FunctionFailure(RequestExecutionException):
    """A user-defined function failed during execution.

    :param summary_message: the message.
    :param keyspace: the function's keyspace.
    :param function: the function's name.
    :param arg_types: the CQL types of its arguments.
    """

    keyspace: str | None = None
    function: str | None = None
    arg_types: Sequence[str] | None = None

    def __init__(
        self, summary_message: str, keyspace: str, function: str, arg_types: Sequence[str]
    ) -> None:
        self.keyspace = keyspace
        self.function = function
        self.arg_types = arg_types
        super().__init__(summary_message)


class CDCWriteFailure(RequestExecutionException):
    """The change-data-capture space is full."""


class ConfigurationException(RequestValidationException):
    """The server's configuration does not allow the request."""


class RateLimitReached(ConfigurationException):
    """ScyllaDB: the partition's rate limit is exhausted.

    :param op_type: the limited operation, an `OperationType`, or a number if it is unknown.
    :param rejected_by_coordinator: True if the coordinator rejected the request, False if replicas
        rejected it.
    """

    op_type: Any = None
    rejected_by_coordinator: bool = False

    def __init__(
        self, op_type: OperationType | int | None = None, rejected_by_coordinator: bool = False
    ) -> None:
        self.op_type = op_type
        self.rejected_by_coordinator = rejected_by_coordinator
        super().__init__(
            f"[request_error_rate_limit_reached OpType={getattr(op_type, 'name', op_type)} "
            f"RejectedByCoordinator={rejected_by_coordinator}]"
        )


class AlreadyExists(ConfigurationException):
    """The keyspace or table already exists.

    :param keyspace: the keyspace, or the keyspace of the table.
    :param table: the table; None or empty if the keyspace exists.
    """

    keyspace: str | None = None
    table: str | None = None

    def __init__(self, keyspace: str | None = None, table: str | None = None) -> None:
        if table:
            message = f"Table '{keyspace}.{table}' already exists"
        else:
            message = f"Keyspace '{keyspace}' already exists"
        super().__init__(message)
        self.keyspace = keyspace
        # If a keyspace exists already, the server sends an empty name for the table. Store None as
        # an empty name, too.
        self.table = table if table is not None else ""


class InvalidRequest(RequestValidationException):
    """The statement is well-formed, but wrong: for example, the table does not exist."""


class BindColumnsChanged(InvalidRequest):
    """The bound values do not fit the current column types of the prepared statement exactly.

    The table, user-defined type or function was dropped and created with other types after you
    prepared the statement. Nothing was written: prepare the statement again. If you executed a
    query string with ``?``, execute it again.
    """


class Unauthorized(RequestValidationException):
    """The current role has no permission for the request."""


class AuthenticationFailed(DriverException):
    """The server refused the credentials, or requires credentials and none are configured."""


class LoginNotChecked(AuthenticationFailed):
    """The server cannot check the credentials at present.

    For example, no replica of its table of passwords is up. After this error the driver tries the
    host again, unlike after a refused login.
    """


# -- the network and limits of the client ----------------------------------------------------------


class OperationTimedOut(DriverException):
    """No response came within the client's time-out.

    :param errors: maps each host that was tried to its last error; or a string, the message.
    :param last_host: the host that did not respond.
    :param timeout: the time-out in seconds.
    :param in_flight: the number of requests in flight on the connection.
    :param statement: the beginning of the statement, without interpolated values.
    """

    errors: Mapping[Any, Any] | None = None
    last_host: Any = None
    timeout: float | None = None
    in_flight: int | None = None
    statement: str | None = None

    def __init__(
        self,
        errors: Mapping[Any, Any] | str | None = None,
        last_host: object = None,
        timeout: float | None = None,
        in_flight: int | None = None,
        statement: str | None = None,
    ) -> None:
        # A string is accepted, because applications may raise this class with a message only.
        self.errors = errors if not isinstance(errors, str) else None
        self.last_host = last_host
        self.timeout = timeout
        self.in_flight = in_flight
        self.statement = statement
        message = errors if isinstance(errors, str) else f"errors={errors}, last_host={last_host}"
        if timeout is not None:
            message += f" (timeout={timeout}s"
            message += f", in_flight={in_flight})" if in_flight is not None else ")"
        if statement is not None:
            message += f", executing {statement}"
        super().__init__(message)


class RequestThrottled(DriverException):
    """The throttler's queue is full, so the request was not sent (see `cassandra.throttling`)."""


class NoHostAvailable(DriverException):
    """No host of the query plan could execute the request.

    :param message: the message.
    :param errors: maps each host or end point that was tried to its error. It is empty if there was
        no host to try.
    """

    errors: Mapping[Any, Any]
    _was_sent = True  # False if the driver knows that it has sent the request to no host

    def __init__(self, message: str, errors: Mapping[Any, Any]) -> None:
        # Pass both arguments to Exception, so that the error can be pickled.
        super().__init__(message, errors)
        self.errors = errors

    def __str__(self) -> str:
        tried = "; ".join(f"{host}: {_shown(error)}" for host, error in self.errors.items())
        return f"{self.args[0]}: {tried}" if tried else str(self.args[0])


class LoginRefused(NoHostAvailable, AuthenticationFailed):
    """A contact point has rejected the login.

    The driver does not try the other contact points: they would reject the login, too, and some
    servers count failed attempts. You can catch this as `NoHostAvailable` or as
    `AuthenticationFailed`.
    """


class _RefusedEverywhere(NoHostAvailable):
    """Base of the classes that combine `NoHostAvailable` with the class of a server's error.

    `_combined_error_class` creates these classes.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _refusal, (type(self).__bases__[1], self.args, vars(self))


# The classes that `_combined_error_class` has created, by the class of the server's error.
_refused_everywhere: dict[type[Exception], type[_RefusedEverywhere]] = {}


def _combined_error_class(error_class: type[Exception]) -> type[_RefusedEverywhere]:
    """Return the subclass of both NoHostAvailable and `error_class`."""
    combined = _refused_everywhere.get(error_class)
    if combined is None:
        # Two threads may each create a class at the same time. That does no harm, because both
        # classes work.
        combined = type(error_class.__name__, (_RefusedEverywhere, error_class), {})
        combined.__module__ = error_class.__module__
        combined.__doc__ = f"No host was left to try after {error_class.__name__}."
        _refused_everywhere[error_class] = combined
    return combined


def _refusal(
    error_class: type[Exception], args: tuple[Any, ...], fields: Mapping[str, Any]
) -> NoHostAvailable:
    """Create an error that is both a `NoHostAvailable` and an `error_class`."""
    error = _restored(_combined_error_class(error_class), args, fields)
    assert isinstance(error, NoHostAvailable)
    return error


def refused_everywhere(
    message: str, errors: Mapping[Any, Any], refusal: Exception
) -> NoHostAvailable:
    """Return an error that is both a `NoHostAvailable` and an instance of the class of `refusal`.

    The error has the fields of `refusal`. Applications written for cassandra-driver catch
    NoHostAvailable in this case; other applications can catch the server's error.

    :param message: the message.
    :param errors: the error of each host that was tried, including the refusal.
    :param refusal: the server's error.
    """
    # Use `_refusal`, which `__reduce__` also names to recreate an unpickled error.
    fields = {**vars(refusal), "errors": errors}
    return _refusal(type(refusal), (message, errors), fields)


def _shown(error: object) -> str:
    if isinstance(error, BaseException):
        return f"{type(error).__name__}: {error}"
    return str(error)


class QueryExhausted(DriverException):
    """The next page was requested, but the result has no further page."""


class MultipleRowsFound(DriverException):
    """``one(strict=True)`` was called on a result with more than one row."""


class UserTypeDoesNotExist(DriverException):
    """The user-defined type to register is not in the schema."""


class ConnectionException(DriverException):
    """A connection could not be opened, or broke.

    :param message: the message.
    :param endpoint: the end point of the connection; None if it is not known.
    """

    def __init__(self, message: str, endpoint: object = None) -> None:
        super().__init__(message)
        # The type is Any, because an application's end point factory may return any object.
        self.endpoint: Any = endpoint

    @property
    def host(self) -> Any:
        """The address part of `endpoint`."""
        return getattr(self.endpoint, "address", self.endpoint)


class ConnectionShutdown(ConnectionException):
    """The connection is closed, or was closed while the request was in flight."""


class SessionShutdown(NoHostAvailable, ConnectionShutdown):
    """The session is shut down. You can catch it as `NoHostAvailable` or `ConnectionShutdown`.

    The message says whether the request was sent before the shutdown: a write may have happened.

    :param message: the message.
    :param errors: an error for each host that the session was connected to.
    """

    def __init__(self, message: str, errors: Mapping[Any, Any] | None = None) -> None:
        ConnectionShutdown.__init__(self, message)
        self.errors = errors if errors is not None else {}

    def __str__(self) -> str:
        return str(self.args[0])


class ConnectionBusy(DriverException):
    """The connection has no free stream."""


class NoConnectionsAvailable(DriverException):
    """The host's pool has no connection that can send the request."""


class ProtocolVersionUnsupported(ConnectionException):
    """The server does not support the requested protocol version.

    :param endpoint: the end point of the server.
    :param startup_version: the requested version.
    """

    def __init__(self, endpoint: object, startup_version: int) -> None:
        super().__init__(
            f"{endpoint} does not support native protocol version {startup_version}", endpoint
        )
        self.startup_version = startup_version


class WriteType:
    """The types of writes that time out or fail (native_protocol_v5.spec, section 8)."""

    SIMPLE = 0
    """A write that is neither a batch nor a counter update."""
    BATCH = 1
    """A logged batch. Its log was written, so the batch will eventually be applied."""
    UNLOGGED_BATCH = 2
    """An unlogged batch. Parts of it may have been applied."""
    COUNTER = 3
    """A counter update. Sending it again may count twice."""
    BATCH_LOG = 4
    """The log of a logged batch. Nothing of the batch has been applied."""
    CAS = 5
    """A lightweight transaction."""
    VIEW = 6
    """A write that timed out while it waited for the lock to update a materialized view."""
    CDC = 7
    """A write to a table with change data capture, whose space is full."""

    name_to_value: dict[str, int]
    value_to_name: dict[int, str]


WriteType.name_to_value = {name: value for name, value in vars(WriteType).items() if name.isupper()}
WriteType.value_to_name = {value: name for name, value in WriteType.name_to_value.items()}


# For each module, the classes of this file that applications import from it. All other classes are
# imported from `cassandra` or from this module.
_PUBLIC_PATHS = {
    "cassandra.cluster": (
        "LoginRefused",
        "NoHostAvailable",
        "QueryExhausted",
        "UserTypeDoesNotExist",
    ),
    "cassandra.connection": (
        "ConnectionException",
        "ConnectionShutdown",
        "ConnectionBusy",
        "ProtocolError",
        "ProtocolVersionUnsupported",
    ),
    "cassandra.pool": ("NoConnectionsAvailable",),
    "cassandra.segment": ("CrcException",),
}


# Tracebacks and pickles contain a class's `__module__`, so set it to the module from which
# applications import the class. `cassandra/__init__.py` does this for the classes of `cassandra`.
def _name_public_paths() -> None:
    for module, names in _PUBLIC_PATHS.items():
        for name in names:
            globals()[name].__module__ = module


_name_public_paths()
