"""Results by columns: the methods of a `ResultSet` for Arrow, NumPy, pandas and polars.

Nothing here is decoded to rows: each page goes from its bytes to column buffers. While one page is
used the next one is on its way, one ahead and never more. Reading begins with the page at hand. A
result of one page can be read as often as one likes; one of several only once, by rows or by
columns, since the pages that were read are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._imports import at_first_cluster
from cassandra.protocol.opcodes import RESULT_KIND_ROWS

if TYPE_CHECKING:
    from cassandra.protocol.columnar.column_buffers import ColumnPlan
    from cassandra.protocol.columnar.layouts import ColumnArray
    from cassandra.protocol.messages.results import ResultMessage
else:
    at_first_cluster(__name__, ResultMessage="cassandra.protocol.messages.results")

BEGUN = (
    "the rows of this result have been read already, or reading has begun: "
    "its columns can only be had before that"
)
ROWS_READ = "rows of further pages of this result have been read already: that is possible once"
READ = (
    "the columns of this result have been read already: "
    "of a result of several pages that is possible once"
)


PlanOf = Callable[[Any], Any]  # a result's metadata to its column plan


def columnar_module() -> ModuleType:
    """Import `cassandra.protocol.columnar.pages` when the first result is read by columns.

    Most programs never do that.
    """
    from cassandra.protocol.columnar import pages as columnar

    return columnar


def rows_message(message: object) -> ResultMessage:
    """Return `message` if it has rows in their wire form.

    :raises RuntimeError: if it does not.
    """
    if not isinstance(message, ResultMessage) or message.has_own_rows:
        raise RuntimeError(
            "the rows of this result are no longer in the form that they came in: "
            "no columns can be made of them"
        )
    if message.kind != RESULT_KIND_ROWS:
        raise RuntimeError("the result of this statement has no rows, and so no columns")
    return message


def column_plans(message: object, options: dict[str, Any]) -> tuple[Any, PlanOf]:
    """Return the column plan of a page, and the maker of those of further pages.

    :param options: of `ColumnOptions`.
    :raises ValueError: if an option has a value that it cannot have.
    """
    columnar = columnar_module()
    chosen = columnar.ColumnOptions(**options).checked() if options else columnar.DEFAULT_OPTIONS

    def column_plan_of(metadata: object) -> Any:
        return columnar.column_plan(metadata, chosen)

    return column_plan_of(rows_message(message).metadata), column_plan_of


class Form(NamedTuple):
    """Makes a result by columns of pages. The faces differ only in how they wait for pages.

    :param column_plan: of the page at hand.
    :param column_plan_of: makes those of further pages.
    :param each: is made of a page.
    :param joined: is made of what `each` has made.
    """

    column_plan: ColumnPlan
    column_plan_of: PlanOf
    each: Callable[[ColumnArray], Any]
    joined: Callable[[Iterable[Any]], Any]


class ColumnForms:
    """A base of the results of both faces: the forms that their rows can be read in."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def _message(self) -> ResultMessage | None: ...

    def _check_columns(self) -> None:
        """Look if the columns can be read.

        :raises RuntimeError: if rows have been read before.
        """
        raise NotImplementedError

    def _column_plans(self, options: dict[str, Any]) -> tuple[Any, PlanOf]:
        self._check_columns()
        return column_plans(self._message, options)

    def _arrow_form(self, options: dict[str, Any]) -> Form:
        columnar = columnar_module()
        pyarrow = columnar.pyarrow_module("to_arrow")
        plan, plan_of = self._column_plans(options)
        return Form(plan, plan_of, _as_is, partial(columnar.arrow_table, pyarrow, plan.layout))

    def _batches_form(self, options: dict[str, Any]) -> Form:
        columnar = columnar_module()
        pyarrow = columnar.pyarrow_module("arrow_batches")
        plan, plan_of = self._column_plans(options)
        schema = columnar.arrow_schema(pyarrow, plan.layout)
        return Form(plan, plan_of, partial(columnar.arrow_batch, pyarrow, schema), iter)

    def _polars_form(self, options: dict[str, Any]) -> Form:
        columnar = columnar_module()
        polars = columnar.polars_module()
        plan, plan_of = self._column_plans({"durations": "struct", **options})

        def frame(pages: Iterable[Any]) -> Any:
            return columnar.polars_frame(polars, plan.layout, list(pages))

        return Form(plan, plan_of, _as_is, frame)

    def _pandas_form(self, options: dict[str, Any]) -> Form:
        columnar = columnar_module()
        pandas, pyarrow = columnar.pandas_module()
        if pyarrow is None:
            columnar.check_no_options(options)
            form = self._numpy_form()

            def frame(pages: Iterable[Any]) -> Any:
                return columnar.pandas_of_arrays(pandas, form.joined(pages))

            return form._replace(joined=frame)
        chosen: dict[str, Any] = {
            name: options.pop(name)
            for name in ("decimals", "varints", "durations")
            if name in options
        }
        plan, plan_of = self._column_plans(chosen)

        def frame_of_arrow(pages: Iterable[Any]) -> Any:
            return columnar.pandas_of_arrow(pyarrow, plan.layout, pages, options)

        return Form(plan, plan_of, _as_is, frame_of_arrow)

    def _numpy_form(self) -> Form:
        columnar = columnar_module()
        numpy = columnar.numpy_module("to_numpy")
        message = rows_message(self._message)
        # A dict has one place for a name: the other column would be lost.
        columnar.check_names(message.metadata.names)
        plan = columnar.array_plan(message.metadata)

        def joined(pages: Iterable[Any]) -> Any:
            return columnar.joined_arrays(numpy, plan.layout, list(pages))

        return Form(plan, columnar.array_plan, partial(columnar.arrays_of_page, numpy), joined)

    def __arrow_c_schema__(self) -> object:
        """Return the schema of the columns, for readers of the Arrow PyCapsule interface."""
        columnar = columnar_module()
        column_plan = columnar.column_plan(rows_message(self._message).metadata)
        return columnar.ArrowSchema(column_plan.layout).__arrow_c_schema__()


def _as_is(page: ColumnArray) -> ColumnArray:
    return page


class ColumnarResult(ColumnForms):
    """The methods of `cassandra.cluster.ResultSet` for columns.

    Options, by keyword: ``decimals="text"`` or (precision, scale), ``varints="text"`` or "int64",
    ``durations="interval"`` or "struct" (see the guide on results). All raise RuntimeError once row
    iteration has begun (`one`, `current_rows` and `fetch_next_page` do not count), `DecodeError`
    for damaged bytes and if columns change between pages, `DependencyException` if the library is
    absent.
    """

    _message: ResultMessage | None
    _iterator: Any
    _is_list: bool
    response_future: Any

    def to_arrow(self, **options: Any) -> Any:
        """Return the rows that are left as a `pyarrow.Table` with a chunk for each page.

        :param options: ``decimals="text"`` or (precision, scale), ``varints="text"`` or "int64",
            ``durations="interval"`` or "struct": see the guide on results.
        """
        return self._read(self._arrow_form(options))

    def arrow_batches(self, **options: Any) -> Iterator[Any]:
        """Return an iterator over the rows that are left, a `pyarrow.RecordBatch` per page.

        Each is made when it is asked for.

        :param options: ``decimals="text"`` or (precision, scale), ``varints="text"`` or "int64",
            ``durations="interval"`` or "struct": see the guide on results.
        """
        batches: Iterator[Any] = self._read(self._batches_form(options))
        return batches

    def to_polars(self, **options: Any) -> Any:
        """Return the rows that are left as a `polars.DataFrame`; pyarrow is not needed.

        Durations are structs: polars does not have a type for them.

        :param options: ``decimals="text"`` or (precision, scale), ``varints="text"`` or "int64":
            see the guide on results.
        """
        return self._read(self._polars_form(options))

    def to_pandas(self, **options: Any) -> Any:
        """Return the rows that are left as a `pandas.DataFrame`.

        Through pyarrow if it is installed, with `options` for its ``Table.to_pandas``
        (``types_mapper=pandas.ArrowDtype``, ...); else through NumPy, as `to_numpy` has the values.

        :param options: those of `to_arrow`, and further keywords of ``pyarrow.Table.to_pandas``.
        """
        return self._read(self._pandas_form(options))

    def to_numpy(self) -> dict[str, Any]:
        """Return the rows that are left as a dict of column name to NumPy array.

        Numbers, booleans and times have arrays of their type, vectors of numbers one of rows x
        dimension, others arrays of the objects that rows have. An array with nulls is masked (None
        in arrays of objects).

        :raises ValueError: if two columns have the same name.
        """
        arrays: dict[str, Any] = self._read(self._numpy_form())
        return arrays

    def _read(self, form: Form) -> Any:
        pages = self._pages(form.column_plan, form.column_plan_of)
        return form.joined(form.each(page) for page in pages)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows that are left, for readers of the Arrow PyCapsule interface.

        Polars and DuckDB are such readers. Pages come as they are asked for.
        """
        columnar = columnar_module()
        # Nothing is fetched before the first page is asked for.
        plan, plan_of = self._column_plans({})
        return columnar.ArrowPages(plan.layout, self._pages(plan, plan_of)).__arrow_c_stream__(
            requested_schema
        )

    def _check_columns(self) -> None:
        if self._iterator is not None or self._is_list:
            raise RuntimeError(READ if isinstance(self._iterator, ReadByColumns) else BEGUN)

    def _pages(self, column_plan: ColumnPlan, column_plan_of: PlanOf) -> Iterator[ColumnArray]:
        columnar = columnar_module()
        self._check_columns()
        message = rows_message(self._message)
        layout = column_plan.layout
        future = self.response_future
        while True:
            more = bool(future.has_more_pages)
            if more:
                # From here on pages are gone: an iteration over rows would miss them in silence.
                self._iterator = ReadByColumns()
                # In flight while this page is used; one page ahead, never more, to bound memory.
                future.start_fetching_next_page()
            yield message.columns(column_plan)
            if not more:
                return
            message = rows_message(future.result()._message)
            self._message = message
            # The rows of the page before must not be taken for those of this one.
            self._page: Any = None
            column_plan = column_plan_of(message.metadata)
            # A table has one schema: a column that was altered between pages does not fit into it.
            columnar.check_same(layout, column_plan.layout)


class ReadByColumns:
    """Stands in for the iterator over rows that are gone."""

    def __iter__(self) -> ReadByColumns:
        return self

    def __next__(self) -> Any:
        raise RuntimeError(READ)
