"""`HappyPath` executes common statements in one call and returns a `ResultFuture` to await.

`HappyPath` is the shortcut for common statements that are executed without options such as tracing.
Its requests run the code of `cassandra.engine.happy_path` only, as long as they need no retry,
tracing or paging. Use the classes that `cassandra.engine.happy_path` exports:
the compiled Cython versions if they are in use, else the Python versions in this module. The
compiled `ResultFuture` is not a subclass of `asyncio.Future`, but behaves like one. All compiled
futures that are done in the same loop iteration share one loop handle for their callbacks.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Generator
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from cassandra._truth_tests import TruthTest
from cassandra.engine.environment import call_on
from cassandra.engine.mistakes import (
    no_attribute,
    refuse_loop,
    running_loop,
    statement_of,
    truth_test,
)
from cassandra.engine.resolving import bound_request
from cassandra.errors import DecodeError
from cassandra.protocol.handler import ProtocolHandler
from cassandra.protocol.messages.results import ResultMessage, rows_result
from cassandra.query.batch import BatchStatement
from cassandra.query.bound import BoundStatement
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from contextvars import Context

    from cassandra.engine.call_options import CallOptions
    from cassandra.engine.happy_path import ExecuteBodyBase, RequestBase
    from cassandra.engine.interfaces import RequestSession
    from cassandra.protocol.column_specs import ResultMetadata

_one_int = struct.Struct(">i").unpack_from  # reads an [int] of the protocol


def is_changed_by_user_code(session: Any) -> bool:
    """Return True if user code may change the requests of `session`.

    User code may do so if the session has request listeners or a user-defined protocol handler.
    Listeners and handlers need the request as a message object, which `HappyPath` does not create.

    The compiled module has the same function under the name ``_is_changed_by_user_code``.
    """
    return session.client_protocol_handler is not ProtocolHandler or bool(
        session._request_init_listeners
    )


class RowsAnswer:
    """The response to a SELECT that `HappyPath` has executed, for results that need only its rows.

    A `RowsAnswer` is created faster than a `ResultMessage`, which has many more fields.

    :param metadata: the metadata of the rows.
    :param body: the body of the response.
    :param offset: the position of the row count in `body`. The count must not be negative.
    """

    __slots__ = ("_body", "_metadata", "_offset")

    def __init__(self, metadata: ResultMetadata, body: bytes, offset: int) -> None:
        self._metadata = metadata
        self._body = body
        self._offset = offset

    def rows(self, row_factory: Callable[..., Any]) -> list[Any] | None:
        """Return the rows, or None if the caller must decode them with `message()`.

        The result is None if `row_factory` is not one of the driver's own factories, or if decoding
        fails.
        """
        method_and_factory = getattr(row_factory, "row_plan_method", None)
        # Check that the attribute belongs to this function: functools.wraps copies the attribute to
        # a user's wrapper function, and that wrapper must be called.
        if method_and_factory is None or method_and_factory[1] is not row_factory:
            return None
        row_plan = self._metadata._row_plan or self._metadata.row_plan
        body, offset = self._body, self._offset
        try:
            # The rows follow the row count, an [int] of 4 bytes.
            rows: list[Any] | None = getattr(row_plan, method_and_factory[0])(
                body, offset + 4, _one_int(body, offset)[0]
            )
            return rows
        except DecodeError:
            return None  # the caller then calls `message()`, which raises this error with details

    def message(self) -> ResultMessage:
        """Return the `ResultMessage` of this response, with all its fields."""
        return rows_result(self._metadata, self._body, self._offset)


class ResultFuture(asyncio.Future[Any]):
    """A future that the caller awaits to get the result of an execution.

    Cancelling the future ends the request. The stream is free again when the server's response has
    come.

    :param path: the `HappyPath` object of the session.
    :param row_factory: the row factory of the result.
    """

    # Use slots: writing them is faster than writing to the dict of asyncio's Future.
    __slots__ = ("_path", "_truth_test", "request", "row_factory")

    request: RequestBase

    def __init__(self, path: HappyPath, row_factory: Callable[..., Any]) -> None:
        super().__init__(loop=path.loop)
        self._path = path
        self._truth_test: TruthTest | None = None  # set if the future is tested for truth
        self.row_factory = row_factory

    if not TYPE_CHECKING:  # type checkers would otherwise allow every name

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(type(self).__name__, name)

    def __repr__(self) -> str:
        # Add the statement, because asyncio logs the repr if an error was never retrieved.
        return f"{super().__repr__()[:-1]}{statement_of(self)}>"

    def __bool__(self) -> bool:
        # In `if session.execute(...):`, the application has probably forgotten an await. Warn of
        # that, unless the application also awaits the future or reads its result.
        if self._truth_test is None and not self.done():
            self._truth_test = truth_test()
        return True

    def _note_use(self) -> None:
        """Remember that the future was used, so that its truth test does not cause a warning."""
        if self._truth_test is not None:
            self._truth_test.is_used = True

    def __await__(self) -> Generator[Any, None, Any]:
        self._note_use()
        return super().__await__()

    __iter__ = __await__

    def add_done_callback(
        self, fn: Callable[[Any], object], /, *, context: Context | None = None
    ) -> None:
        """Let the loop call ``fn(self)`` when the future is done."""
        self._note_use()
        # asyncio copies the caller's context only if the argument `context` is left out. We pass
        # the argument, so we copy the caller's context ourselves.
        super().add_done_callback(fn, context=copy_context() if context is None else context)

    def result(self) -> Any:
        """Return the result, or raise the error or CancelledError."""
        self._note_use()
        try:
            return super().result()
        finally:
            # The traceback of the error refers to this frame, which must not refer to the error.
            del self

    def exception(self) -> BaseException | None:
        """Return the error, or None if the future has a result.

        :raises CancelledError: if the future was cancelled.
        """
        self._note_use()
        return super().exception()

    @property
    def session(self) -> Any:
        """The session that executes the request."""
        return self._path.session

    @property
    def message(self) -> Any:
        """The protocol message of the request, as an object.

        A request listener may change the message before it is sent.
        """
        return self._path.session._message_of_request(self.request)

    def cancel(self, msg: object = None) -> bool:
        """Cancel the future, and end the request.

        If the loop is not running, the request ends when the loop runs again.
        """
        # Cancel the future first: ending the request calls `complete`, which does nothing once the
        # future is done.
        self._note_use()
        cancelled = super().cancel(msg)
        if cancelled:
            call_on(self._path.loop, self.request.cancel)
        return cancelled

    def complete(self, request: RequestBase) -> None:
        """Called by the engine when `request` is over."""
        if request.error is not None:
            self.refuse(request.error)
        elif not self.done():
            self.set_result(self._path._result_of(request, self.row_factory))

    def refuse(self, error: BaseException) -> None:
        """Set `error` as the future's error, unless the future is done already."""
        if self.done():
            return
        if isinstance(error, asyncio.CancelledError):
            # Do not call self.cancel(): it would also cancel the request, which is over already.
            super().cancel()
            return
        if isinstance(error, StopIteration):
            # A StopIteration that is raised into a coroutine would look as if the coroutine had
            # ended normally, so raise a RuntimeError, as asyncio does.
            cause, error = (
                error,
                RuntimeError(
                    "StopIteration interacts badly with generators and cannot be raised "
                    "into a Future"
                ),
            )
            error.__cause__ = error.__context__ = cause
        self.set_exception(error)


class HappyPath:
    """Executes the most common statements of a session with the least work per request.

    These statements are prepared statements whose values are in a tuple or list, bound statements,
    and batches of rows. `HappyPath` does not handle calls with options, nor sessions with request
    listeners or a user-defined protocol handler. The session executes all other statements itself,
    in a more general way.

    :param session: the public session.
    :param engine: the engine's part of the session, an `EngineSession`.
    :param options: the call options with which all statements are executed: the session's defaults.
    :param request_class: must not define ``__init__`` or ``start``, because the compiled version
        calls neither.
    :param body_class: must not define ``__init__`` or ``start`` either.
    :param result_class: called with the session, the request and the row factory. If its
        `_reads_rows_answers` is true, the response of a request may be a `RowsAnswer`.
    :param check_vectors: called with each request whose profile asks for vectors in another form
        than lists, for example as NumPy arrays.
    """

    __slots__ = (
        "_body_class", "_check_vectors", "_engine", "_options", "_request_class", "_result_class",
        "loop", "reads_rows_answers", "session",
    )  # fmt: skip

    def __init__(
        self,
        session: Any,
        engine: RequestSession,
        options: CallOptions,
        request_class: type[RequestBase],
        body_class: type[ExecuteBodyBase],
        result_class: Callable[..., Any],
        check_vectors: Callable[[Any], None],
    ) -> None:
        self.session = session
        self.loop: asyncio.AbstractEventLoop = engine.loop
        self._engine = engine
        self._options = options  # the same for all calls
        self._request_class = request_class
        self._body_class = body_class
        self._result_class = result_class
        # True if a request of this path may end with a `RowsAnswer` instead of a full message.
        self.reads_rows_answers: bool = getattr(result_class, "_reads_rows_answers", False)
        self._check_vectors = check_vectors

    @property
    def row_factory(self) -> Callable[..., Any]:
        """The row factory for calls that pass no options."""
        return self._options.profile.row_factory

    def request(self, query: Any, parameters: object, on_done: Callable[[Any], None]) -> Any:
        """Create the request for a prepared statement, a bound statement or a batch.

        :param on_done: called with the request when it is over.
        :returns: None if `HappyPath` does not handle this execution; see the docstring of the
            class.
        """
        parameters_type = type(parameters)
        is_batch = type(query) is BatchStatement
        # Accept only the exact types: a subclass may override methods, which only the general path
        # calls.
        if type(query) is PreparedStatement:
            if parameters_type is not tuple and parameters_type is not list:
                return None
        elif parameters is not None or (type(query) is not BoundStatement and not is_batch):
            return None
        session = self.session
        if is_changed_by_user_code(session):
            return None
        if is_batch:
            return session._happy_batch(query, self._options, on_done)
        statement: Any = query if parameters is None else query.bind(parameters)
        if type(statement) is not BoundStatement:
            return None
        request = bound_request(
            self._request_class,
            self._body_class,
            session,
            self._engine,
            statement,  # the statement whose settings apply
            statement,  # the statement that load balancing policies get
            self._options,
            on_done,
        )
        if request.vectors != "list":
            self._check_vectors(request)
        return request

    def execute(self, query: object, parameters: object) -> ResultFuture | None:
        """Execute a prepared statement, a bound statement or a batch.

        :returns: None if `HappyPath` does not handle this execution. In that case, nothing was
            sent.
        :raises RuntimeError: if the running loop is not the session's.
        """
        if running_loop() is not self.loop:
            refuse_loop(self.loop)
        # The future needs the request, and the request needs a callback of the future. So create
        # the request with a placeholder callback, and set its `on_done` below.
        request = self.request(query, parameters, _no_future_yet)
        if request is None:
            return None
        future = ResultFuture(self, self.row_factory)
        future.request = request
        request.on_done = future.complete
        request._reads_rows = self.reads_rows_answers
        request.start()
        return future

    def _result_of(self, request: RequestBase, row_factory: Callable[..., Any]) -> Any:
        """Create the result of a request that is over."""
        return self._result_class(self.session, request, row_factory)


def _no_future_yet(request: RequestBase) -> None:
    """Placeholder for `on_done` until the future exists."""
