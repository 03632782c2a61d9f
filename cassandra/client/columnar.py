"""The methods with which a `ResultSet` returns columns, for Arrow, NumPy, pandas and polars.

The bytes of a page are decoded directly into column buffers, without creating rows. While the
application uses a page, the driver fetches the next page, but no page after that. Reading begins
with the current page. You can read a result that has only one page any number of times. You can
read a result with several pages only once, either by rows or by columns, because each page is
dropped after use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

from cassandra._failed_iterations import LoudIterator
from cassandra._imports import OptionalPackage, at_first_cluster, import_module
from cassandra._misspelt import nearest
from cassandra.protocol.opcodes import RESULT_KIND_ROWS

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from numpy import typing as numpy_typing

    from cassandra.protocol.columnar.layouts import ColumnArray, PagePlan
    from cassandra.protocol.messages.results import ResultMessage
else:
    pandas, polars = OptionalPackage("pandas"), OptionalPackage("polars")
    pyarrow = OptionalPackage("pyarrow")
    numpy_typing = OptionalPackage("numpy.typing")
    at_first_cluster(__name__, ResultMessage="cassandra.protocol.messages.results")

# The error messages for a result of which some rows have already been read in another way, so that
# they would be missing now.
BEGUN = (
    "the rows of this result have been read already, or reading has begun: "
    "its columns can only be had before that: execute the statement again"
)
ROWS_READ = (
    "an earlier iteration has read the first pages of this result, which are gone, so that this "
    "one would miss their rows. To go on after a `break`, write `rows = aiter(result)` and iterate "
    "over `rows`; for two passes, keep the list of `await result.fetch_all()`, or execute the "
    "statement again"
)
READ = (
    "the columns of this result have been read already, and those of a result of several pages "
    "cannot be read again: execute the statement again, or keep the table"
)


# The type of a function that returns the column plan for the metadata of a result. A column plan
# says how to decode the pages of such a result into column buffers.
PlanOf: TypeAlias = "Callable[[Any], PagePlan]"


def columnar_module() -> ModuleType:
    """Import and return `cassandra.protocol.columnar.pages`.

    The import is delayed until first use, because most applications never read columns.
    """
    from cassandra.protocol.columnar import pages as columnar

    return columnar


def rows_message(message: object) -> ResultMessage:
    """Return `message`, after checking that it contains rows as the server sent them.

    :raises RuntimeError: if a user's handler has decoded the rows, or the result has no rows.
    """
    if not isinstance(message, ResultMessage) or message.has_own_rows:
        raise RuntimeError(
            "the rows of this result are no longer in the form that they came in: "
            "no columns can be made of them"
        )
    if message.kind != RESULT_KIND_ROWS:
        raise RuntimeError("the result of this statement has no rows, and so no columns")
    return message


def check_option_names(call: str, options: Iterable[str], further: Iterable[str] = ()) -> None:
    """Raise TypeError if one of `options` is unknown.

    :param call: the name of the called method, for example ``to_arrow``, for the message.
    :param options: the names of the options that were passed.
    :param further: the names of options that the method has in addition to `ColumnOptions`.
    :raises TypeError: if an option is unknown.
    """
    own_names = columnar_module().ColumnOptions._fields
    for name in options:
        if name in own_names or name in further:
            continue
        # If another API has an option with this name, say what to write instead. Otherwise suggest
        # the most similar option, or list all options.
        suggestion = nearest(name, (*own_names, *further))
        if name in _INSTEAD:
            advice = _INSTEAD[name]
        elif suggestion:
            advice = f"; did you mean {suggestion!r}?"
        else:
            advice = f": it has {', '.join(own_names)}"
            if further:
                advice += ", and the options of pyarrow.Table.to_pandas"
        raise TypeError(f"{call}() has no option {name!r}{advice}")


# Maps option names that users know from other APIs to what to write instead.
_INSTEAD = {
    "columns": ": write the columns in the SELECT, or session.scan(table, columns=['id'])",
    "dtype_backend": ": write types_mapper=pandas.ArrowDtype",
    "dtype": ": write frame.astype(...), or types_mapper=",
    "index": ": write frame.set_index(...)",
}


def check_numpy_options(arguments: Iterable[object], options: Iterable[str]) -> None:
    """Raise TypeError if any arguments were passed to `to_numpy`, which has no parameters.

    :param arguments: the positional arguments.
    :param options: the names of the options that were passed.
    :raises TypeError: if there is at least one argument or option.
    """
    for argument in arguments:
        raise TypeError(
            f"to_numpy() takes no arguments, but got {argument!r}: it returns a dict of arrays: "
            "write to_numpy()['column']"
        )
    for name in options:
        replacement = _INSTEAD_FOR_NUMPY.get(name, "to_numpy()")
        raise TypeError(f"to_numpy() has no option {name!r}, nor others: write {replacement}")


_INSTEAD_FOR_NUMPY = {
    "dtype": "arrays['column'].astype(...)",
    **dict.fromkeys(
        ("columns", "column", "names"),
        "the columns in the SELECT, or session.scan(table, columns=['id']); to_numpy()['id'] is "
        "the array of one column",
    ),
}


def check_pandas_options(pyarrow: Any, options: Iterable[str]) -> None:
    """Raise TypeError if one of `options` is known neither to `to_pandas` nor to pyarrow.

    :param pyarrow: the module `pyarrow`.
    :param options: the names of the options that were passed.
    :raises TypeError: if an option is unknown.
    """
    try:
        parameters = tuple(import_module("inspect").signature(pyarrow.Table.to_pandas).parameters)
    except (TypeError, ValueError):
        # This release of pyarrow has no readable signature. Check nothing: pyarrow checks its
        # options itself.
        return
    check_option_names("to_pandas", options, parameters[1:])  # skip `self`


def column_plans(
    message: object, options: dict[str, Any], call: str = "to_arrow"
) -> tuple[PagePlan, PlanOf]:
    """Return the column plan of a page, and the function that returns the plans of further pages.

    A column plan says how to decode a page into column buffers.

    :param message: the response that contains the page.
    :param options: the options of `ColumnOptions`, by name.
    :param call: the name of the called method, for error messages.
    :raises TypeError: if an option is unknown.
    :raises ValueError: if an option has an invalid value.
    """
    # Check the names first: the constructor of `ColumnOptions` would raise an error without advice.
    columnar = columnar_module()
    check_option_names(call, options)
    column_options = (
        columnar.ColumnOptions(**options).checked() if options else columnar.DEFAULT_OPTIONS
    )

    def column_plan_of(metadata: object) -> PagePlan:
        plan: PagePlan = columnar.column_plan(metadata, column_options)
        return plan

    return column_plan_of(rows_message(message).metadata), column_plan_of


class Form(NamedTuple):
    """The functions that build an object such as a data frame from pages, for both APIs.

    The blocking and the asyncio API differ only in how they wait for pages.

    :param column_plan: the column plan of the current page.
    :param column_plan_of: returns the column plan for the metadata of a further page.
    :param each: a function that converts the columns of one page.
    :param joined: a function that builds the object from an iterable of the converted pages.
    """

    column_plan: PagePlan
    column_plan_of: PlanOf
    each: Callable[[ColumnArray], Any]
    joined: Callable[[Iterable[Any]], Any]


class ColumnForms:
    """The base class of the results of both APIs, with one method for each column format.

    Each method returns the `Form` with which that format is built.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def _message(self) -> ResultMessage | None: ...

    def _check_columns(self) -> None:
        """Check that the columns can still be read.

        :raises RuntimeError: if an iteration over rows or columns has begun.
        """
        raise NotImplementedError

    def _column_plans(
        self, options: dict[str, Any], call: str = "to_arrow"
    ) -> tuple[PagePlan, PlanOf]:
        self._check_columns()
        return column_plans(self._message, options, call)

    def _arrow_form(self, options: dict[str, Any]) -> Form:
        """Return the `Form` of a pyarrow Table."""
        columnar = columnar_module()
        pyarrow = columnar.pyarrow_module("to_arrow")
        plan, plan_of = self._column_plans(options)
        return Form(
            column_plan=plan,
            column_plan_of=plan_of,
            each=_unchanged_page,
            joined=partial(columnar.arrow_table, pyarrow, plan.layout),
        )

    def _batches_form(self, options: dict[str, Any]) -> Form:
        """Return the `Form` of an iterator over pyarrow RecordBatches."""
        columnar = columnar_module()
        pyarrow = columnar.pyarrow_module("arrow_batches")
        plan, plan_of = self._column_plans(options, "arrow_batches")
        # All batches have the same schema, so create it only once.
        schema = columnar.arrow_schema(pyarrow, plan.layout)
        return Form(
            column_plan=plan,
            column_plan_of=plan_of,
            each=partial(columnar.arrow_batch, pyarrow, schema),
            joined=iter,
        )

    def _polars_form(self, options: dict[str, Any]) -> Form:
        """Return the `Form` of a polars DataFrame."""
        columnar = columnar_module()
        polars = columnar.polars_module()
        # polars has no type for intervals, so durations become structs.
        plan, plan_of = self._column_plans({"durations": "struct", **options}, "to_polars")

        def make_frame(pages: Iterable[Any]) -> object:
            return columnar.polars_frame(polars, plan.layout, list(pages))

        return Form(
            column_plan=plan, column_plan_of=plan_of, each=_unchanged_page, joined=make_frame
        )

    def _pandas_form(self, options: dict[str, Any]) -> Form:
        """Return the `Form` of a pandas DataFrame.

        The frame is built from Arrow data. Without pyarrow, it is built from NumPy arrays.
        """
        columnar = columnar_module()
        pandas, pyarrow = columnar.pandas_module()
        if pyarrow is None:  # pyarrow is not installed
            columnar.check_no_options(options)
            numpy_form = self._numpy_form()

            def make_frame(pages: Iterable[Any]) -> object:
                return columnar.pandas_of_arrays(pandas, numpy_form.joined(pages))

            return numpy_form._replace(joined=make_frame)
        check_pandas_options(pyarrow, options)
        # These three options belong to the driver. All other options are passed to pyarrow's
        # `Table.to_pandas`.
        column_options: dict[str, Any] = {
            name: options.pop(name)
            for name in ("decimals", "varints", "durations")
            if name in options
        }
        plan, plan_of = self._column_plans(column_options)

        def make_frame_of_arrow(pages: Iterable[Any]) -> object:
            return columnar.pandas_of_arrow(pyarrow, plan.layout, pages, options)

        return Form(
            column_plan=plan,
            column_plan_of=plan_of,
            each=_unchanged_page,
            joined=make_frame_of_arrow,
        )

    def _numpy_form(self) -> Form:
        """Return the `Form` of a dict of NumPy arrays."""
        columnar = columnar_module()
        numpy = columnar.numpy_module("to_numpy")
        message = rows_message(self._message)
        # Raise an error if two columns have the same name, because a dict can contain only one of
        # them.
        columnar.check_names(message.metadata.names)
        plan = columnar.array_plan(message.metadata)

        def join_pages(pages: Iterable[Any]) -> object:
            return columnar.joined_arrays(numpy, plan.layout, list(pages))

        return Form(
            column_plan=plan,
            column_plan_of=columnar.array_plan,
            each=partial(columnar.arrays_of_page, numpy),
            joined=join_pages,
        )

    def __arrow_c_schema__(self) -> object:
        """Return the schema of the columns, for the Arrow PyCapsule interface."""
        columnar = columnar_module()
        column_plan = columnar.column_plan(rows_message(self._message).metadata)
        return columnar.ArrowSchema(column_plan.layout).__arrow_c_schema__()


def _unchanged_page(page: ColumnArray) -> ColumnArray:
    return page


class ColumnarResult(ColumnForms):
    """The base class of `cassandra.cluster.ResultSet`, with the methods that return columns.

    Options, by keyword: ``decimals="text"`` or (precision, scale), ``varints="text"`` or "int64",
    ``durations="interval"`` or "struct" (see the guide on results).

    All methods raise `RuntimeError` once row iteration has begun; `one`, `current_rows` and
    `fetch_next_page` do not count as row iteration. They raise `DecodeError` if the bytes of a
    value are damaged, or if the columns of a later page differ. They raise `DependencyException` if
    the library is not installed.
    """

    _message: ResultMessage | None
    _iterator: Any
    _is_list: bool
    _gathering: Any

    if TYPE_CHECKING:

        def _has_more_pages(self) -> bool: ...

        def _numbered_message(self) -> tuple[int, ResultMessage | None]: ...

        def _request_page_after(self, page: int) -> None: ...

        def _fetch_after(self, page: int) -> bool: ...

    def to_arrow(self, **options: Any) -> pyarrow.Table:
        """Return the remaining rows as a `pyarrow.Table` with one chunk per page.

        :param options: ``decimals="text"`` or (precision, scale), ``varints="text"`` or "int64",
            ``durations="interval"`` or "struct": see the guide on results.
        """
        return self._read(self._arrow_form(options))

    def arrow_batches(self, **options: Any) -> Iterator[Any]:
        """Return an iterator over the remaining rows, with one `pyarrow.RecordBatch` per page.

        The next page is fetched when you need it.

        :param options: ``decimals="text"`` or (precision, scale), ``varints="text"`` or "int64",
            ``durations="interval"`` or "struct": see the guide on results.
        """
        return LoudIterator(self._read(self._batches_form(options)))

    def to_polars(self, **options: Any) -> polars.DataFrame:
        """Return the remaining rows as a `polars.DataFrame`; pyarrow is not needed.

        Durations become structs, because polars has no type for them.

        :param options: ``decimals="text"`` or (precision, scale), ``varints="text"`` or "int64":
            see the guide on results.
        """
        frame: polars.DataFrame = self._read(self._polars_form(options))
        return frame

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """Return the remaining rows as a `pandas.DataFrame`.

        If pyarrow is installed, the frame is built from Arrow data, and `options` may contain
        arguments of its ``Table.to_pandas``, such as ``types_mapper=pandas.ArrowDtype``. Without
        pyarrow, the columns contain the values of `to_numpy`.

        :param options: the options of `to_arrow`, and further keyword arguments of
            ``pyarrow.Table.to_pandas``.
        """
        return self._read(self._pandas_form(options))

    def to_numpy(
        self, *_extra: NoReturn, **_unknown: NoReturn
    ) -> dict[str, numpy_typing.NDArray[Any]]:
        """Return the remaining rows as a dict of column names and NumPy arrays.

        Numbers, booleans, dates and times become arrays of their type. Vectors of these become an
        array with the shape (rows, dimension). Other types become arrays of objects. An array with
        nulls is masked; in an array of objects, nulls are None instead.

        :raises ValueError: if two columns have the same name.
        """
        check_numpy_options(_extra, _unknown)
        arrays: dict[str, numpy_typing.NDArray[Any]] = self._read(self._numpy_form())
        return arrays

    def _read(self, form: Form) -> Any:
        pages = self._pages(form.column_plan, form.column_plan_of)
        return form.joined(form.each(page) for page in pages)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the remaining rows, for the Arrow PyCapsule interface.

        Polars and DuckDB call this, for example. Pages are fetched when they are needed.
        """
        columnar = columnar_module()
        # No page is fetched yet: `_pages` is a generator, which starts when the consumer asks for
        # the first page.
        plan, plan_of = self._column_plans({})
        return columnar.ArrowPages(plan.layout, self._pages(plan, plan_of)).__arrow_c_stream__(
            requested_schema
        )

    def _check_columns(self) -> None:
        if self._iterator is not None or self._is_list or self._gathering is not None:
            raise RuntimeError(READ if isinstance(self._iterator, ReadByColumns) else BEGUN)

    def _pages(self, column_plan: PagePlan, column_plan_of: PlanOf) -> Iterator[ColumnArray]:
        """Yield the columns of each remaining page. `column_plan` is the plan of the first page."""
        columnar = columnar_module()
        self._check_columns()
        page, current = self._numbered_message()
        message = rows_message(current)
        layout = column_plan.layout
        while True:
            has_more_pages = self._has_more_pages()
            if has_more_pages:
                # From here on, each page is dropped after use, so a later iteration over the rows
                # would silently miss rows. `ReadByColumns` raises an error instead.
                self._iterator = ReadByColumns()
                # Request the next page now, so that it arrives while the application uses this
                # page. Request only one page ahead, to limit the memory.
                self._request_page_after(page)
            yield message.columns(column_plan)
            if not has_more_pages:
                return
            # This also replaces the rows of the page, which may have been decoded for
            # `current_rows`.
            self._fetch_after(page)
            page, current = self._numbered_message()
            message = rows_message(current)
            column_plan = column_plan_of(message.metadata)
            # A table or data frame has one schema, so the columns must not change between pages.
            columnar.check_same(layout, column_plan.layout)


class ReadByColumns:
    """Replaces the iterator over rows after pages were read by columns.

    It raises an error, because the rows of these pages were dropped.
    """

    def __iter__(self) -> ReadByColumns:
        return self

    def __next__(self) -> NoReturn:
        raise RuntimeError(READ)
