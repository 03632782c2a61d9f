"""The base of the asyncio API's `ResultSet`, with the methods that return columns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._failed_iterations import Failure, LoudGenerator
from cassandra._imports import OptionalPackage
from cassandra.aio.calls import returns_call
from cassandra.client.columnar import (
    BEGUN,
    READ,
    ROWS_READ,
    ColumnForms,
    check_numpy_options,
    columnar_module,
    rows_message,
)

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from numpy import typing as numpy_typing

    from cassandra import bases
    from cassandra.client.columnar import Form, PlanOf
    from cassandra.client.paging import NextPage
    from cassandra.protocol.columnar.layouts import ColumnArray, PagePlan
    from cassandra.protocol.messages.results import ResultMessage
else:
    from cassandra._impl import bases

    pandas, polars = OptionalPackage("pandas"), OptionalPackage("polars")
    pyarrow = OptionalPackage("pyarrow")
    numpy_typing = OptionalPackage("numpy.typing")

# How a result has been read so far: the values of `ColumnarResult._begun`. The compiled happy path
# (the fast code for common requests) sets NOT_READ for a new result.
NOT_READ = ""
BY_ROWS = "row"  # by rows, and no page has been dropped yet
ROWS_DROPPED = "rows"  # by rows, and earlier pages have been dropped
PAGE_READ = "page"  # all rows of the page were returned, but the next page has not come
PAGES_READ = "pages"  # the same as PAGE_READ, and earlier pages have been dropped
BY_COLUMNS = "column"


class ColumnarResult(ColumnForms, bases.ResultBase):
    """The base of `cassandra.aio.ResultSet`, with the methods that return columns.

    The options and errors are the same as for `cassandra.cluster.ResultSet`.
    """

    __slots__ = ()

    # How the result has been read so far: one of the constants above.
    _begun: str
    _next: NextPage | None

    if TYPE_CHECKING:

        @property
        def _message(self) -> ResultMessage | None: ...

        def _ask_for_next_page(self) -> NextPage: ...

        async def fetch_next_page(self) -> None: ...

    @returns_call
    async def to_arrow(self, **options: Any) -> pyarrow.Table:
        """Return the remaining rows as a `pyarrow.Table`, with one chunk for each page.

        :param options: ``decimals="text"`` or (precision, scale), ``varints="text"`` or "int64",
            ``durations="interval"`` or "struct": see the guide on results.
        """
        return await self._read(self._arrow_form(options))

    def arrow_batches(self, **options: Any) -> AsyncIterator[Any]:
        """Return an iterator over the remaining rows, with one `pyarrow.RecordBatch` for each page.

        Write ``async for batch in result.arrow_batches()``.

        :param options: ``decimals="text"`` or (precision, scale), ``varints="text"`` or "int64",
            ``durations="interval"`` or "struct": see the guide on results.
        """
        # If a package is missing, this call itself must raise the error. So this is not a generator
        # function, which would raise the error only in the first iteration.
        form = self._batches_form(options)
        pages = self._pages(form.column_plan, form.column_plan_of)
        failure = Failure()
        return LoudGenerator(_each(form, pages, failure), failure)

    @returns_call
    async def to_polars(self, **options: Any) -> polars.DataFrame:
        """Return the remaining rows as a `polars.DataFrame`. This does not need pyarrow.

        Durations become structs, because polars has no type for them.

        :param options: ``decimals="text"`` or (precision, scale), ``varints="text"`` or "int64":
            see the guide on results.
        """
        frame: polars.DataFrame = await self._read(self._polars_form(options))
        return frame

    @returns_call
    async def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """Return the remaining rows as a `pandas.DataFrame`.

        See `cassandra.cluster.ResultSet.to_pandas`.

        :param options: the options of `to_arrow`, and further keyword arguments of
            ``pyarrow.Table.to_pandas``.
        """
        return await self._read(self._pandas_form(options))

    @returns_call
    async def to_numpy(
        self, *_extra: NoReturn, **_unknown: NoReturn
    ) -> dict[str, numpy_typing.NDArray[Any]]:
        """Return the remaining rows as NumPy arrays by column name.

        See `cassandra.cluster.ResultSet.to_numpy`.
        """
        check_numpy_options(_extra, _unknown)
        arrays: dict[str, numpy_typing.NDArray[Any]] = await self._read(self._numpy_form())
        return arrays

    async def _read(self, form: Form) -> Any:
        """Read the remaining pages in the given form.

        Each page is converted by ``form.each``, and the results are combined by ``form.joined``.
        """
        pages = self._pages(form.column_plan, form.column_plan_of)
        return form.joined([form.each(page) async for page in pages])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the current page, for the Arrow PyCapsule interface.

        :raises RuntimeError: if there are more pages.
        """
        columnar = columnar_module()
        message = rows_message(self._message)
        # Reject a result with more pages: the consumers of this interface are not asynchronous, so
        # they cannot wait for a page.
        if message.paging_state is not None:
            raise RuntimeError(
                "the result has more pages, which this interface cannot fetch: "
                "use `await result.to_arrow()`, or `arrow_batches()`"
            )
        self._check_columns()
        column_plan = columnar.column_plan(message.metadata)
        return columnar.ArrowPages(
            column_plan.layout, [message.columns(column_plan)]
        ).__arrow_c_stream__(requested_schema)

    def _check_columns(self) -> None:
        """Raise RuntimeError if some rows were already read, which the columns would lack."""
        if self._begun != NOT_READ:
            raise RuntimeError(READ if self._begun == BY_COLUMNS else BEGUN)

    def _begin(self, mode: str) -> None:
        """Record in `_begun` how the result is being read from now on.

        :raises RuntimeError: if earlier pages were read and dropped, because their rows would be
            missing.
        """
        if self._begun == BY_COLUMNS:
            raise RuntimeError(READ)
        if self._begun == ROWS_DROPPED:
            raise RuntimeError(ROWS_READ)
        self._begun = mode

    async def _pages(
        self, column_plan: PagePlan, column_plan_of: PlanOf
    ) -> AsyncIterator[ColumnArray]:
        """Yield the columns of the current page and of all later pages.

        :param column_plan: how the columns of the current page are decoded.
        :param column_plan_of: returns the column plan for the metadata of a later page, whose
            column types may differ if the table was altered.
        """
        columnar = columnar_module()
        self._check_columns()
        message = rows_message(self._message)
        layout = column_plan.layout
        while True:
            has_more_pages = message.paging_state is not None
            if has_more_pages:
                # From now on, each page is dropped after use, so a later iteration over the rows
                # would silently miss rows. With BY_COLUMNS, it raises an error instead.
                self._begun = BY_COLUMNS
                # Request the next page now, so that it comes while this page is used. Request only
                # one page ahead, to limit the memory.
                self._ask_for_next_page()
            yield message.columns(column_plan)
            if not has_more_pages:
                return
            await self.fetch_next_page()
            message = rows_message(self._message)
            column_plan = column_plan_of(message.metadata)
            # All pages become parts of one table, so raise an error if this page has other columns.
            columnar.check_same(layout, column_plan.layout)


async def _each(
    form: Form, pages: AsyncIterator[ColumnArray], failure: Failure
) -> AsyncGenerator[Any, None]:
    """Yield each page, converted by ``form.each``.

    :param failure: records an error of the generator. Later use of the iterator then raises an
        error, too.
    """
    with failure:
        async for page in pages:
            yield form.each(page)
