"""Parsers for `cython_protocol_handler`: callables that take a `ResultMessage` with rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra.protocol.handler import arrays_of
from cassandra.protocol.messages.results import ResultMessage

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ColumnParser:
    """Base class of the parsers: a callable that takes a result message."""

    def __call__(self, message: ResultMessage) -> object:
        raise NotImplementedError


class LazyParser(ColumnParser):
    """Returns an iterator of rows (tuples) that decodes each row when it reaches the row."""

    def __call__(self, message: ResultMessage) -> Iterator[tuple[Any, ...]]:
        return message.metadata.row_plan.iterate(*message.rows_body)


class ListParser(LazyParser):
    """Returns the rows as a list of tuples."""

    def __call__(self, message: ResultMessage) -> list[tuple[Any, ...]]:  # type: ignore[override]
        return list(super().__call__(message))


class NumpyParser(ColumnParser):
    """Returns the page as a dict with the NumPy array of each column, by column name."""

    def __call__(self, message: ResultMessage) -> dict[str, NDArray[Any]] | None:
        return arrays_of(message)


def make_recv_results_rows(colparser: ColumnParser) -> Callable[..., Any]:
    """Return a method that only raises NotImplementedError.

    The function exists so that imports of it do not fail. Pass the parser to
    `cython_protocol_handler` instead.
    """

    def recv_results_rows(*args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            "recv_results_rows() of make_recv_results_rows is not supported: "
            "cython_protocol_handler(parser) makes a handler that reads rows with the parser"
        )

    return recv_results_rows
