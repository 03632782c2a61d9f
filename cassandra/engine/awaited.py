"""The happy path on asyncio, in one pass, and its awaitable.

A part of the twin module `cassandra.engine.happy_path`, which hands both names on. The compiled
`ResultFuture` is not a subclass of asyncio's: it behaves like one, and its callbacks share one
handle of the loop with those of all that are done in the same turn.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra.engine.mistakes import no_attribute, refuse_loop, running_loop, statement_of
from cassandra.engine.resolving import bound_request
from cassandra.errors import DecodeError
from cassandra.protocol.handler import ProtocolHandler
from cassandra.protocol.messages.results import ResultMessage, rows_result
from cassandra.query.batch import BatchStatement
from cassandra.query.bound import BoundStatement
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.engine.call_options import CallOptions
    from cassandra.engine.happy_path import ExecuteBodyBase, RequestBase
    from cassandra.engine.session import EngineSession
    from cassandra.protocol.column_specs import ResultMetadata

__all__ = ["HappyPath", "ResultFuture", "RowsAnswer"]

_one_int = struct.Struct(">i").unpack_from


class RowsAnswer:
    """The usual answer to a SELECT, of which rows are wanted and little else.

    It is made in place of a `ResultMessage`, which has room for much more, on the happy path.

    :param metadata: of the rows.
    :param body: the answer's.
    :param offset: of the number of rows, which is not negative.
    """

    __slots__ = ("_body", "_metadata", "_offset")

    def __init__(self, metadata: ResultMetadata, body: bytes, offset: int) -> None:
        self._metadata = metadata
        self._body = body
        self._offset = offset

    def rows(self, row_factory: Callable[..., Any]) -> Any:
        """Return the rows; None if the message has to make them."""
        method = getattr(row_factory, "row_plan_method", None)
        # functools.wraps copies attributes to wrappers, which are other functions.
        if method is None or method[1] is not row_factory:
            return None
        row_plan = self._metadata._row_plan or self._metadata.row_plan
        body, offset = self._body, self._offset
        try:
            return getattr(row_plan, method[0])(body, offset + 4, _one_int(body, offset)[0])
        except DecodeError:
            return None  # the message keeps the error

    def message(self) -> ResultMessage:
        """Return the message that has come."""
        return rows_result(self._metadata, self._body, self._offset)


class ResultFuture(asyncio.Future[Any]):
    """The awaitable of one execution's result.

    Cancelling it gives up the request, whose stream is free when the answer has come.

    :param path: that of the session.
    :param row_factory: of the result.
    """

    # Quicker to write than the dict that asyncio's Future has.
    __slots__ = ("_path", "request", "row_factory")

    request: RequestBase

    def __init__(self, path: HappyPath, row_factory: Callable[..., Any]) -> None:
        super().__init__(loop=path.loop)
        self._path = path
        self.row_factory = row_factory

    if not TYPE_CHECKING:  # type checkers know better than to allow every name

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(type(self).__name__, name)

    def __repr__(self) -> str:
        # asyncio shows it if nobody has looked at the error.
        return f"{super().__repr__()[:-1]}{statement_of(self)}>"

    @property
    def session(self) -> Any:
        """The session that executes it."""
        return self._path.session

    @property
    def message(self) -> Any:
        """The message that was, or will be, sent; a request listener may change it."""
        return self._path.session._message_of_request(self.request)

    def cancel(self, msg: object = None) -> bool:
        """Give up the request; its stream is free when the answer has come."""
        # The future first: the end of the request then finds it done.
        cancelled = super().cancel(msg)
        if cancelled:
            self.request.cancel()
        return cancelled

    def complete(self, request: RequestBase) -> None:
        """Called by the engine when `request` is over."""
        if request.error is not None:
            self.refuse(request.error)
        elif not self.done():
            self.set_result(self._path._result_of(request, self.row_factory))

    def refuse(self, error: BaseException) -> None:
        """End with `error`, unless it is over already."""
        if self.done():
            return
        if isinstance(error, asyncio.CancelledError):
            # Not self.cancel(): the request is over already.
            super().cancel()
            return
        if isinstance(error, StopIteration):
            # Raised into a coroutine, it would look like the coroutine's own end.
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
    """The happy path of a prepared statement on one session.

    Its values are in a tuple or list, and there are no options, listeners or handlers.

    :param session: the face's session.
    :param engine: the engine's session.
    :param options: of a call that gives none.
    :param request_class: must not have an ``__init__`` or a ``start`` of its own, as the compiled
        twin calls neither.
    :param body_class: the same.
    :param result_class: is made of the session, the request and the row factory. If it has a true
        `_reads_rows_answers`, the response of a request may be a `RowsAnswer`.
    :param check_vectors: called with a request that wants vectors in another form than lists.
    """

    __slots__ = (
        "_body_class",
        "_check_vectors",
        "_engine",
        "_options",
        "_request_class",
        "_result_class",
        "loop",
        "reads_rows_answers",
        "session",
    )

    def __init__(
        self,
        session: Any,
        engine: EngineSession,
        options: CallOptions,
        request_class: type[RequestBase],
        body_class: type[ExecuteBodyBase],
        result_class: Callable[..., Any],
        check_vectors: Callable[[Any], None],
    ) -> None:
        self.session = session
        self.loop: asyncio.AbstractEventLoop = engine.loop
        self._engine = engine
        self._options = options
        self._request_class = request_class
        self._body_class = body_class
        self._result_class = result_class
        self.reads_rows_answers: bool = getattr(result_class, "_reads_rows_answers", False)
        self._check_vectors = check_vectors

    @property
    def row_factory(self) -> Callable[..., Any]:
        """The row factory of executions that ask for nothing else."""
        return self._options.profile.row_factory

    def request(self, query: Any, parameters: object, on_done: Callable[[Any], None]) -> Any:
        """Make the request for a prepared or bound statement, or for a batch.

        Returns None if something about it leaves the happy path.

        :param on_done: called with the request when it is over.
        """
        kind = type(parameters)
        is_batch = type(query) is BatchStatement
        if type(query) is PreparedStatement:
            if kind is not tuple and kind is not list:
                return None
        elif parameters is not None or (type(query) is not BoundStatement and not is_batch):
            return None
        session = self.session
        if (
            session.client_protocol_handler is not ProtocolHandler
            or session._request_init_listeners
        ):
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
            statement,
            statement,
            self._options,
            on_done,
        )
        if request.vectors != "list":
            self._check_vectors(request)
        return request

    def execute(self, query: object, parameters: object) -> ResultFuture | None:
        """Execute a prepared or bound statement or a batch; None off the happy path.

        Nothing was sent then, and the caller takes the other way.

        :raises RuntimeError: if another loop is running than the session's.
        """
        if running_loop() is not self.loop:
            refuse_loop(self.loop)
        request = self.request(query, parameters, _over)
        if request is None:
            return None
        future = ResultFuture(self, self.row_factory)
        future.request = request
        request.on_done = future.complete
        request._reads_rows = self.reads_rows_answers
        request.start()
        return future

    def _result_of(self, request: RequestBase, row_factory: Callable[..., Any]) -> Any:
        """Make the result of a request that is over."""
        return self._result_class(self.session, request, row_factory)


def _over(request: RequestBase) -> None:
    """Stands in for `on_done` until there is a future."""
