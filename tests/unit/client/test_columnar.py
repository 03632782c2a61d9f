"""Results as columns (Arrow, pandas, polars, NumPy), in the blocking and asyncio APIs."""

from __future__ import annotations

import inspect
import sys
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest

from cassandra import aio, cqltypes as t
from cassandra.aio.result import ResultSet as AioResultSet
from cassandra.client.columnar import check_numpy_options
from cassandra.client.paging import NextPage
from cassandra.cluster import Cluster, ResultSet
from cassandra.errors import DecodeError, DependencyException
from cassandra.protocol.messages.results import ResultMessage
from cassandra.query.row_factories import named_tuple_factory, tuple_factory
from cassandra.testing.fake import FakeNode, paged, rows
from tests.processes import WITH_TESTS, run_python
from tests.unit.cqltypes.samples import list_of, map_of, vector_of
from tests.unit.protocol.pages import message_of
from tests.unit.protocol.wire import int32, value

COLUMNS = {"id": t.Int32Type, "name": t.UTF8Type}
# The methods that convert a result to columns.
FORMS = ["to_arrow", "to_pandas", "to_polars", "to_numpy", "arrow_batches"]


class FakeFuture:
    """A fake response future that has all its pages; `page_requests` counts later pages."""

    row_factory = staticmethod(named_tuple_factory)
    _col_names = None
    _col_types = None

    def __init__(self, pages: Sequence[Any]) -> None:
        self.pages = list(pages)
        self.page_index = 0
        self.page_requests = 0

    @property
    def has_more_pages(self) -> bool:
        return self.page_index + 1 < len(self.pages)

    @property
    def paging_state(self) -> bytes | None:
        return b"more" if self.has_more_pages else None

    def start_fetching_next_page(self) -> None:
        self.page_requests += 1

    def result(self) -> ResultSet[Any]:
        self.page_index += 1
        return ResultSet(self, self.pages[self.page_index])


class FakeRequest:
    """A fake request of the asyncio API. The requests for later pages complete at once."""

    attempts: Sequence[Any] = ()
    error = None

    def __init__(self, response: Any, later_pages: Sequence[Any] = ()) -> None:
        self.response = response
        self.later_pages = later_pages

    def for_page(self, state: bytes, on_done: Callable[[FakeRequest], None]) -> FakeRequest:
        request = FakeRequest(self.later_pages[0], self.later_pages[1:])
        request.on_done = on_done  # type: ignore[attr-defined]
        return request

    def start(self) -> None:
        self.on_done(self)  # type: ignore[attr-defined]


class FakeSession:
    """A fake asyncio session that counts in `page_requests` the pages after the first page."""

    page_requests = 0

    def _check_loop(self) -> None:
        """Accept any loop."""

    def _next_page(self, request: Any, state: bytes) -> Any:
        self.page_requests += 1
        next_page = NextPage(request, state, FakeRequest.start)  # type: ignore[arg-type]
        next_page.start()
        return next_page


class Api:
    """Makes results of the blocking or the asyncio API.

    :param name: "blocking" or "aio".
    """

    def __init__(self, name: str) -> None:
        self.is_aio = name == "aio"

    def result(self, *pages: Any) -> Any:
        """Return a result with these pages."""
        for page in pages[:-1]:
            page.paging_state = b"more"
        if self.is_aio:
            request: Any = FakeRequest(pages[0], pages[1:])
            return AioResultSet(FakeSession(), request, named_tuple_factory)  # type: ignore[arg-type]
        return ResultSet(FakeFuture(pages), pages[0])

    async def convert(self, result: Any, form: str, **options: Any) -> Any:
        """Call the method `form` of the result, for example "to_arrow".

        Return what the method returns. If it returns an iterator of batches, return a list of them.
        """
        converted = getattr(result, form)(**options)
        if form == "arrow_batches":
            return [batch async for batch in converted] if self.is_aio else list(converted)
        return await converted if inspect.isawaitable(converted) else converted

    async def rows(self, result: Any) -> list[Any]:
        return [row async for row in result] if self.is_aio else list(result)

    def page_requests_of(self, result: Any) -> int:
        """Return how many pages were requested after the first page."""
        count: int = (
            result._session.page_requests if self.is_aio else result.response_future.page_requests
        )
        return count


@pytest.fixture(params=["blocking", "aio"])
def api(request: pytest.FixtureRequest) -> Api:
    """Return the blocking or the asyncio API."""
    return Api(request.param)


@pytest.fixture(autouse=True)
def _libraries() -> None:
    """Skip the test unless pyarrow, pandas, polars and NumPy are installed."""
    for name in ("pyarrow", "pandas", "polars", "numpy"):
        pytest.importorskip(name)


def page(*rows: tuple[int | None, str | None]) -> ResultMessage:
    """Return a page with rows of an int column `id` and a text column `name`."""
    return message_of(
        COLUMNS,
        [[None if n is None else int32(n), None if s is None else s.encode()] for n, s in rows],
    )


def as_lists(table: Any, form: str) -> list[list[Any]]:
    """Return the columns `id` and `name` as lists.

    :param table: what the method `form` has returned, a table of any library.
    :param form: the name of the method.
    """
    import pandas
    import pyarrow

    if form == "arrow_batches":
        table = pyarrow.Table.from_batches(table)
    if form in ("to_arrow", "arrow_batches"):
        return [table.column(name).to_pylist() for name in COLUMNS]
    if form == "to_polars":
        return [table[name].to_list() for name in COLUMNS]
    if form == "to_numpy":
        return [table[name].tolist() for name in COLUMNS]
    return [[None if pandas.isna(item) else item for item in table[name]] for name in COLUMNS]


@pytest.mark.parametrize("form", FORMS)
async def test_all_remaining_pages_are_read(api: Api, form: str) -> None:
    """Each method that converts a result fetches all its pages, among them an empty page."""
    result = api.result(page((1, "a"), (2, None)), page(), page((None, "é")))
    table = await api.convert(result, form)
    assert as_lists(table, form) == [[1, 2, None], ["a", None, "é"]]
    # The first of the three pages came with the result, so two pages were requested.
    assert api.page_requests_of(result) == 2


@pytest.mark.parametrize("form", FORMS)
async def test_a_result_with_no_rows_has_its_columns(api: Api, form: str) -> None:
    table = await api.convert(api.result(page()), form)
    assert as_lists(table, form) == [[], []]
    if form == "to_arrow":
        assert [str(field.type) for field in table.schema] == ["int32", "string"]


@pytest.mark.parametrize("form", FORMS)
async def test_reading_begins_at_the_current_page(api: Api, form: str) -> None:
    """After `fetch_next_page`, a conversion has the rows from the current page on."""
    result = api.result(page((1, "a")), page((2, "b")), page((3, "c")))
    fetched = result.fetch_next_page()
    if api.is_aio:
        await fetched
    assert result.one() == (2, "b")
    assert result.current_rows == [(2, "b")]
    assert as_lists(await api.convert(result, form), form) == [[2, 3], ["b", "c"]]


class InterruptedFuture(FakeFuture):
    """A fake future whose first wait for a page is interrupted, and which has the page then."""

    error = None
    is_interrupted = False

    def start_fetching_next_page(self) -> None:
        super().start_fetching_next_page()
        self.page_index += 1

    def result(self) -> ResultSet[Any]:
        if not self.is_interrupted:
            self.is_interrupted = True
            raise KeyboardInterrupt
        return ResultSet(self, self.pages[self.page_index])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("page_count", [2, 3])
async def test_columns_after_an_interrupted_wait_have_all_pages(form: str, page_count: int) -> None:
    """A page for which the wait was interrupted is not missing in the columns."""
    pages = [page((number, "a")) for number in range(page_count)]
    for each in pages[:-1]:
        each.paging_state = b"more"
    result: Any = ResultSet(InterruptedFuture(pages), pages[0])
    with pytest.raises(KeyboardInterrupt):
        result.fetch_next_page()
    table = await Api("blocking").convert(result, form)
    assert as_lists(table, form) == [list(range(page_count)), ["a"] * page_count]
    assert result.response_future.page_requests == page_count - 1


def test_columns_after_an_interrupted_search_for_the_first_row() -> None:
    """If `one` was interrupted while it skipped an empty page, the columns have all rows."""
    pages = [page(), page((1, "a"), (2, "b")), page((3, "c"))]
    result: Any = ResultSet(InterruptedFuture(pages), pages[0])
    with pytest.raises(KeyboardInterrupt):
        result.one()
    assert result.to_numpy()["id"].tolist() == [1, 2, 3]


def test_columns_after_failed_indexing_are_refused() -> None:
    """If indexing has read only some of the pages, their rows would be missing in the columns."""
    pages = [page((1, "a")), page((2, "b"))]
    result: Any = ResultSet(InterruptedFuture(pages), pages[0])
    with pytest.raises(KeyboardInterrupt):
        result[1]
    with pytest.raises(RuntimeError, match="reading has begun"):
        result.to_arrow()
    assert result[1] == (2, "b")


@pytest.mark.parametrize("form", FORMS)
async def test_after_iteration_columns_cannot_be_read(api: Api, form: str) -> None:
    """If an iteration has already read rows of a result, the result cannot become columns."""
    result = api.result(page((1, "a")), page((2, "b")))
    await api.rows(result)
    with pytest.raises(RuntimeError, match="reading has begun"):
        await api.convert(result, form)


def test_after_indexing_columns_cannot_be_read() -> None:
    """If a row was read by index, the result cannot become columns."""
    result = Api("blocking").result(page((1, "a"), (2, "b")))
    assert result[1] == (2, "b")
    with pytest.raises(RuntimeError, match="reading has begun"):
        result.to_arrow()


@pytest.mark.parametrize("form", FORMS)
async def test_one_page_can_be_read_again_but_several_pages_only_once(api: Api, form: str) -> None:
    """A result of a single page can be converted several times, in any form.

    After a result of several pages was converted, reading it again raises RuntimeError.
    """
    single = api.result(page((1, "a")))
    for another_form in FORMS:
        assert as_lists(await api.convert(single, another_form), another_form) == [[1], ["a"]]
    assert await api.rows(single) == [(1, "a")]
    several = api.result(page((1, "a")), page((2, "b")))
    await api.convert(several, form)
    for another_form in FORMS:
        with pytest.raises(RuntimeError, match="have been read already"):
            await api.convert(several, another_form)
    with pytest.raises(RuntimeError, match="have been read already"):
        await api.rows(several)


@pytest.mark.parametrize("form", FORMS)
async def test_a_result_without_rows_has_no_columns(api: Api, form: str) -> None:
    void_result = ResultMessage(1)
    with pytest.raises(RuntimeError, match="has no rows, and so no columns"):
        await api.convert(api.result(void_result), form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "changed_columns",
    [
        {"id": t.LongType, "name": t.UTF8Type},
        {"id": t.Int32Type},
        {"id": t.Int32Type, "title": t.UTF8Type},
    ],
)
async def test_columns_that_change_between_pages_are_an_error(
    api: Api, form: str, changed_columns: dict[str, Any]
) -> None:
    """If a later page has other columns, the conversion raises DecodeError."""
    result = api.result(page((1, "a")), message_of(changed_columns, []))
    with pytest.raises(
        DecodeError, match=r"columns changed between pages, from \(id int, name text\) to"
    ):
        await api.convert(result, form)


@pytest.mark.parametrize("form", FORMS)
async def test_a_damaged_value_is_an_error_with_row_and_column(api: Api, form: str) -> None:
    """A value that cannot be decoded raises DecodeError, which names the row and the column."""

    def broken() -> ResultMessage:
        """Return a page whose second row has an int of three bytes."""
        return message_of(COLUMNS, [[int32(1), b"ok"], [b"123", b"bad"]])

    with pytest.raises(DecodeError, match=r'row 1, column "id" \(int\): int: takes 4 bytes, got 3'):
        await api.convert(api.result(broken()), form)
    with pytest.raises(DecodeError, match='row 1, column "id"'):
        await api.convert(api.result(page((1, "a")), broken()), form)
    # Reading the rows or the columns raises the same error again.
    result = api.result(broken())
    for _ in range(2):
        with pytest.raises(DecodeError, match='row 1, column "id"'):
            _ = result.current_rows
        with pytest.raises(DecodeError, match='row 1, column "id"'):
            await api.convert(result, form)


async def test_arrow_batches_request_one_page_ahead(api: Api) -> None:
    """When `arrow_batches` returns a page, the driver has requested only the next page."""
    result = api.result(*[page((n, "x")) for n in range(5)])
    batches = result.arrow_batches()
    for number in range(5):
        batch = await batches.__anext__() if api.is_aio else next(batches)
        assert batch.column(0).to_pylist() == [number]
        # The result has four more pages, so at most four are requested.
        assert api.page_requests_of(result) == min(number + 1, 4)


async def test_after_closed_batches_nothing_can_be_read(api: Api) -> None:
    """If the iterator of batches is closed early, the result cannot be converted any more.

    `close` gives up the pages that were not read yet.
    """
    result = api.result(*[page((n, "x")) for n in range(5)])
    batches = result.arrow_batches()
    if api.is_aio:
        await batches.__anext__()
        await batches.aclose()
    else:
        next(batches)
        batches.close()
    with pytest.raises(RuntimeError, match="have been read already"):
        await api.convert(result, "to_arrow")


@pytest.mark.slow
async def test_to_numpy_is_quick_with_many_columns(api: Api) -> None:
    """`to_numpy` is quick for a result with 50,000 columns.

    If it searched each column by its name, it would take about a minute.
    """
    names = [f"column_{number}" for number in range(50_000)]
    message = message_of(dict.fromkeys(names, t.ByteType), [[b"\x07"] * len(names)])
    assert len(await api.convert(api.result(message), "to_numpy")) == len(names)


async def test_to_numpy_refuses_repeated_column_names(api: Api) -> None:
    """`to_numpy` returns a dict, so it refuses equal names. An Arrow table may have them."""
    message = message_of({"a": t.Int32Type, "b": t.Int32Type}, [[int32(1), int32(2)]])
    message.metadata.names = ("a", "a")
    with pytest.raises(ValueError, match="more than one column has the name a"):
        await api.convert(api.result(message), "to_numpy")
    assert (await api.convert(api.result(message), "to_arrow")).column_names == ["a", "a"]


def test_decoded_rows_cannot_become_columns() -> None:
    """A result whose rows are already decoded cannot become columns.

    Columns are made from the encoded rows of a page.
    """
    with pytest.raises(RuntimeError, match="no longer in the form that they came in"):
        ResultSet(FakeFuture([]), [(1, "a")]).to_arrow()


@pytest.mark.parametrize(("form", "module"), [("to_arrow", "pyarrow"), ("arrow_batches", "pyarrow"), ("to_polars", "polars"), ("to_pandas", "pandas"), ("to_numpy", "numpy")])  # fmt: skip  # noqa: E501
async def test_missing_libraries_are_named(
    api: Api, form: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a method's library is not installed, the error names the package to install."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DependencyException, match=rf"{form} needs .*pip install turbocql\["):
        await api.convert(api.result(page()), form)


async def test_options_for_types_are_passed_on(api: Api) -> None:
    """The options `decimals`, `varints` and `durations` choose the types of columns.

    Each method that converts a result accepts these options.
    """
    columns = {"d": t.DecimalType, "v": t.IntegerType, "u": t.DurationType}
    # The encoded decimal 1.25, varint 5, and duration of 1 month, 2 days and 3 nanoseconds.
    rows: list[list[bytes | None]] = [[int32(2) + b"\x7d", b"\x05", b"\x02\x04\x06"]]
    table = await api.convert(
        api.result(message_of(columns, rows)),
        "to_arrow",
        decimals=(20, 4),
        varints="int64",
        durations="struct",
    )
    assert table.to_pylist() == [
        {"d": Decimal("1.2500"), "v": 5, "u": {"months": 1, "days": 2, "nanoseconds": 3}}
    ]
    assert [str(field.type) for field in table.schema][:2] == ["decimal128(20, 4)", "int64"]
    plain = await api.convert(api.result(message_of(columns, rows)), "to_arrow")
    assert plain.to_pylist()[0]["d"] == "1.25"
    frame = await api.convert(api.result(message_of(columns, rows)), "to_polars", decimals=(20, 4))
    assert frame["d"].to_list() == [Decimal("1.2500")]
    assert frame["u"].to_list() == [{"months": 1, "days": 2, "nanoseconds": 3}]
    frame = await api.convert(
        api.result(message_of(columns, rows)), "to_pandas", decimals=(20, 4), varints="int64"
    )
    assert frame["d"].tolist() == [Decimal("1.2500")]
    frame = await api.convert(api.result(message_of(columns, rows)), "to_pandas")
    assert (frame["d"].tolist(), frame["v"].tolist()) == ([Decimal("1.25")], [5])
    with pytest.raises(TypeError):
        await api.convert(api.result(message_of(columns, rows)), "to_arrow", decimal="text")
    with pytest.raises(ValueError, match="varints"):
        await api.convert(api.result(message_of(columns, rows)), "to_arrow", varints="float")


TIMES = {
    "at": t.TimestampType, "day": t.SimpleDateType, "clock": t.TimeType, "flag": t.BooleanType, "real": t.FloatType, "uid": t.UUIDType,  # noqa: E501
    "vec": vector_of(t.FloatType, 2), "many": list_of(t.Int32Type), "map": map_of(t.UTF8Type, t.Int32Type), "wide": t.LongType,  # noqa: E501
}  # fmt: skip
# A row of encoded values for the columns in TIMES, and a row of nulls. The timestamp is in
# milliseconds, the date in days (2**31 is 1970-01-01), and the time in nanoseconds.
TIMED: list[list[bytes | None]] = [
    [
        (1_700_000_000_123).to_bytes(8, "big"), (2**31 + 19_000).to_bytes(4, "big"), (3_600_000_000_001).to_bytes(8, "big"), b"\x01",  # noqa: E501
        bytes.fromhex("3fc00000"), bytes(16), bytes.fromhex("3f80000040000000"), int32(1) + value(int32(4)),  # noqa: E501
        int32(1) + value(b"k") + value(int32(5)), (2**60 + 1).to_bytes(8, "big"),
    ],
    [None] * 10,
]  # fmt: skip


async def test_numpy_arrays_have_types_and_masks(api: Api) -> None:
    """Each column of a CQL type becomes a NumPy array with the dtype that fits.

    If a column has nulls, it is a masked array, or an array of objects with None.
    """
    import numpy

    # The first row has no nulls, so the arrays are not masked.
    arrays = await api.convert(api.result(message_of(TIMES, TIMED[:1])), "to_numpy")
    assert {name: array.dtype.str for name, array in arrays.items()} == {
        "at": "<M8[ms]", "day": "<M8[D]", "clock": "<m8[ns]", "flag": "|b1", "real": "<f4", "uid": "|O", "vec": "<f4", "many": "|O",  # noqa: E501
        "map": "|O", "wide": "<i8",
    }  # fmt: skip
    assert arrays["vec"].shape == (1, 2)
    assert all(array.flags.writeable for array in arrays.values())
    assert arrays["wide"][0] == 2**60 + 1
    assert arrays["at"][0] == numpy.datetime64("2023-11-14T22:13:20.123")
    assert arrays["day"][0] == numpy.datetime64("2022-01-08")
    assert arrays["uid"][0] == uuid.UUID(int=0)
    assert arrays["many"][0] == [4]
    # This result has three rows on two pages. The second row has only nulls.
    arrays_of_two_pages = await api.convert(
        api.result(message_of(TIMES, TIMED), message_of(TIMES, TIMED[:1])), "to_numpy"
    )
    assert arrays_of_two_pages["vec"].shape == (3, 2)
    for name, array in arrays_of_two_pages.items():
        if array.dtype == object:
            assert [item is None for item in array] == [False, True, False]
        else:
            mask = array.mask if array.ndim == 1 else array.mask.all(axis=1)
            assert mask.tolist() == [False, True, False], name


async def test_pandas_with_and_without_pyarrow(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """`to_pandas` also works without pyarrow, except for the option `decimals`.

    The values are equal, but some dtypes differ.
    """
    import pandas

    # With pyarrow, the data frame is made from an Arrow table.
    through_arrow = await api.convert(api.result(message_of(TIMES, TIMED)), "to_pandas")
    assert str(through_arrow["at"].dtype) == "datetime64[ms, UTC]"
    assert through_arrow["clock"][0] == pandas.Timedelta(3_600_000_000_001, "ns")
    assert through_arrow["day"][0] == pandas.Timestamp("2022-01-08")
    assert through_arrow["uid"][0] == uuid.UUID(int=0)
    assert through_arrow.iloc[1].isna().all()

    # pandas 2.0 cannot hold vectors as Arrow data.
    def types_mapper(arrow_type: Any) -> Any:
        is_vector = str(arrow_type).startswith("fixed_size_list")
        return None if is_vector else pandas.ArrowDtype(arrow_type)

    arrow_types = await api.convert(
        api.result(message_of(TIMES, TIMED)), "to_pandas", types_mapper=types_mapper
    )
    assert arrow_types["wide"].tolist() == [2**60 + 1, pandas.NA]
    # Without pyarrow, the import fails.
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    plain = await api.convert(api.result(message_of(TIMES, TIMED)), "to_pandas")
    assert plain["wide"].tolist() == [2**60 + 1, pandas.NA]
    assert plain["flag"].tolist() == [True, pandas.NA]
    assert plain["vec"][0].tolist() == [1.0, 2.0]
    assert plain.iloc[1].isna().all()
    assert plain["day"][0] == pandas.Timestamp("2022-01-08")
    with pytest.raises(DependencyException, match="needs pyarrow for decimals"):
        await api.convert(api.result(message_of(TIMES, TIMED)), "to_pandas", decimals=(10, 2))


def test_other_libraries_read_a_result_through_arrow_capsules() -> None:
    """polars, DuckDB and pyarrow accept a blocking result directly and read all its pages.

    They use the Arrow PyCapsule interface.
    """
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    pyarrow = pytest.importorskip("pyarrow")
    blocking = Api("blocking")
    result = blocking.result(page((1, "a"), (2, None)), page((3, "c")))
    assert polars.DataFrame(result).rows() == [(1, "a"), (2, None), (3, "c")]
    result = blocking.result(page((1, "a"), (2, None)), page((3, "c")))
    assert duckdb.sql("SELECT sum(id), count(name) FROM result").fetchall() == [(6, 2)]
    result = blocking.result(page((1, "a")), page((3, "c")))
    assert pyarrow.table(result).column("id").to_pylist() == [1, 3]
    assert pyarrow.schema(result).names == ["id", "name"]
    result = blocking.result(page((1, "a")), message_of(COLUMNS, [[b"123", None]]))
    reader = pyarrow.RecordBatchReader.from_stream(result)
    with pytest.raises(Exception, match='row 0, column "id"'):
        reader.read_all()


async def test_an_asyncio_result_of_one_page_has_arrow_capsules() -> None:
    """An asyncio result has the Arrow PyCapsule interface only if it has a single page.

    The interface cannot await further pages.
    """
    pyarrow = pytest.importorskip("pyarrow")
    api = Api("aio")
    assert pyarrow.table(api.result(page((1, "a")))).to_pylist() == [{"id": 1, "name": "a"}]
    assert pyarrow.schema(api.result(page())).names == ["id", "name"]
    with pytest.raises(RuntimeError, match=r"await result\.to_arrow"):
        pyarrow.table(api.result(page((1, "a")), page((2, "b"))))


def test_columns_outlive_their_result() -> None:
    """Columns can be used after their result was freed, because they keep the pages' memory."""
    result = Api("blocking").result(page(*[(n, str(n)) for n in range(1000)]))
    arrays, table = result.to_numpy(), result.to_arrow()
    del result
    # The sum of the numbers from 0 to 999 is 499,500.
    assert arrays["id"].sum() == 499_500
    assert table.column("name").to_pylist()[-1] == "999"


# The string of every seventh row is null.
ROWS = [(n, f"text {n}" if n % 7 else None, n / 3) for n in range(100_000)]
PAGE_SIZE = 3_333  # no divisor of the number of rows, so the last page is shorter


@pytest.fixture(scope="module")
def node() -> Any:
    """Yield a node that responds to `SELECT * FROM t` with `ROWS`.

    The rows come in pages of the requested size.
    """
    with FakeNode() as running:
        running.prime(
            "SELECT * FROM t", paged([("n", "int"), ("s", "text"), ("d", "double")], ROWS)
        )
        yield running


def test_a_hundred_thousand_rows_over_many_pages(node: FakeNode) -> None:
    """Each conversion of a result returns all 100,000 rows, which arrive in many pages."""
    with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
        session.default_fetch_size = PAGE_SIZE
        expected = {
            name: [row[index] for row in ROWS] for index, name in enumerate(("n", "s", "d"))
        }
        assert session.execute("SELECT * FROM t").to_arrow().to_pydict() == expected
        assert session.execute("SELECT * FROM t").to_polars().to_dict(as_series=False) == expected
        arrays = session.execute("SELECT * FROM t").to_numpy()
        assert {name: array.tolist() for name, array in arrays.items()} == expected
        assert (
            sum(batch.num_rows for batch in session.execute("SELECT * FROM t").arrow_batches())
            == 100_000
        )
        assert session.execute("SELECT * FROM t").to_pandas()["n"].sum() == sum(range(100_000))
        session.row_factory = tuple_factory
        assert list(session.execute("SELECT * FROM t")) == ROWS


async def test_a_hundred_thousand_rows_with_asyncio(node: FakeNode) -> None:
    """In asyncio, too, `to_arrow` and `arrow_batches` have all 100,000 rows of many pages."""
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        session.default_fetch_size = PAGE_SIZE
        table = await (await session.execute("SELECT * FROM t")).to_arrow()
        assert table.column("n").to_pylist() == [row[0] for row in ROWS]
        row_count = 0
        async for batch in (await session.execute("SELECT * FROM t")).arrow_batches():
            row_count += batch.num_rows
        assert row_count == 100_000


STREAM = """
import re
from cassandra.cluster import ResultSet
from tests.unit.client.test_columnar import FakeFuture
from tests.unit.protocol.pages import message_with
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra import cqltypes as t

metadata = ResultMetadata([ColumnMetadata("k", "t", n, c) for n, c in
    [("id", t.UUIDType), ("name", t.UTF8Type), ("n", t.Int32Type), ("d", t.DoubleType), ("at", t.TimestampType)]])
body = b"".join(
    bytes.fromhex("00000010") + bytes(16) + bytes.fromhex("0000000a") + b"ten bytes!" + bytes.fromhex("00000004") + bytes(4)
    + (bytes.fromhex("00000008") + bytes(8)) * 2 for _ in range(5000))

class Pages:
    def __len__(self): return 200
    def __getitem__(self, at): return message_with(metadata, bytes(bytearray(body)), 5000, b"more" if at < 199 else None)

future = FakeFuture([])
future.pages = Pages()
rows = 0
for batch in ResultSet(future, future.pages[0]).arrow_batches():
    rows += batch.num_rows
# We do not use getrusage, because its peak includes the memory of the parent process.
print(rows, int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""  # noqa: E501


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.slow
def test_a_million_rows_in_little_memory() -> None:
    """A process that reads 1,000,000 rows with `arrow_batches` needs less than 200 MB at its peak.

    `arrow_batches` keeps only a few pages in memory.
    """
    process = run_python(STREAM, WITH_TESTS)
    assert process.returncode == 0, process.stderr
    rows, megabytes = map(int, process.stdout.split())
    assert rows == 1_000_000
    # Python, pyarrow and the imports of the tests need most of this memory.
    assert megabytes < 200


def test_the_earliest_and_latest_dates_are_exact() -> None:
    """The first and the last date of CQL's range are converted without a change."""
    result = Api("blocking").result(
        message_of({"d": t.SimpleDateType}, [[b"\xff" * 4], [bytes(4)]])
    )
    assert result.to_arrow().column("d").cast("int32").to_pylist() == [2**31 - 1, -(2**31)]
    assert result.to_numpy()["d"].astype("i8").tolist() == [2**31 - 1, -(2**31)]


def test_integers_with_nulls_are_not_rounded() -> None:
    """In `to_pandas`, a bigint column with nulls keeps large values exactly, in the dtype Int64."""
    large = 2**60 + 1
    result = Api("blocking").result(
        message_of({"n": t.LongType, "m": t.LongType}, [[int64(large), int64(1)], [None, int64(2)]])
    )
    frame = result.to_pandas()
    assert frame["n"][0] == large
    assert frame["n"].isna().tolist() == [False, True]
    assert (str(frame["n"].dtype), str(frame["m"].dtype)) == ("Int64", "int64")


def int64(number: int) -> bytes:
    """Return an encoded bigint."""
    return number.to_bytes(8, "big", signed=True)


async def test_to_pandas_returns_large_varints_and_decimals_as_numbers(api: Api) -> None:
    """In `to_pandas`, decimals and varints of any size become numbers, even inside collections.

    They must not be made from strings, because Python limits the number of digits in a string that
    `int` accepts.
    """
    # This number has more digits than `int` accepts in a string (by default 4300).
    large = 10**6000 + 7
    body = large.to_bytes(large.bit_length() // 8 + 1, "big")
    negative_body = (-large).to_bytes(large.bit_length() // 8 + 1, "big", signed=True)
    columns = {
        "v": t.IntegerType,
        "l": list_of(t.IntegerType),
        "m": map_of(t.UTF8Type, t.DecimalType),
    }
    list_value = int32(3) + value(body) + value(negative_body) + int32(-1)
    map_value = int32(1) + value(b"k") + value(int32(2) + b"\x7d")
    rows: list[list[bytes | None]] = [[negative_body, list_value, map_value], [None, None, None]]
    frame = await api.convert(api.result(message_of(columns, rows)), "to_pandas")
    assert frame["v"].tolist() == [-large, None]
    assert [None if cell is None else list(cell) for cell in frame["l"]] == [
        [large, -large, None],
        None,
    ]
    assert frame["m"].tolist() == [[("k", Decimal("1.25"))], None]


FORMS_WITH_OPTIONS = ["to_arrow", "to_pandas", "to_polars", "arrow_batches"]


@pytest.mark.parametrize("form", FORMS_WITH_OPTIONS)
def test_an_unknown_option_is_named_before_anything_is_read(node: FakeNode, form: str) -> None:
    """A call with an unknown option raises TypeError before it reads anything.

    The result can still be read afterwards.
    """
    node.prime("SELECT k", rows([("k", "int")], [(1,)]))
    with Cluster([node.address], port=node.port) as cluster:
        result = cluster.connect().execute("SELECT k")
        with pytest.raises(TypeError) as caught:
            getattr(result, form)(desimals="text")
        assert str(caught.value) == f"{form}() has no option 'desimals'; did you mean 'decimals'?"
        with pytest.raises(TypeError, match=rf"^{form}\(\) has no option 'q': it has decimals"):
            getattr(result, form)(q=1)
        assert result.to_arrow().num_rows == 1


def test_to_pandas_accepts_options_of_pyarrow(node: FakeNode) -> None:
    """`to_pandas` takes some options of pyarrow.

    For other options, the error says what to write.
    """
    node.prime("SELECT k", rows([("k", "int")], [(1,)]))
    with Cluster([node.address], port=node.port) as cluster:
        result = cluster.connect().execute("SELECT k")
        with pytest.raises(TypeError, match="'type_mapper'; did you mean 'types_mapper'"):
            result.to_pandas(type_mapper=None)
        with pytest.raises(TypeError, match="'dtype_backend': write types_mapper="):
            result.to_pandas(dtype_backend="pyarrow")
        with pytest.raises(TypeError, match="'columns': write the columns in the SELECT, or sessi"):
            result.to_pandas(columns=["k"])
        assert result.to_pandas(types_mapper=None, use_threads=False, decimals="text").shape == (
            1,
            1,
        )


def test_to_pandas_may_free_the_table_of_arrow(node: FakeNode) -> None:
    """With `self_destruct`, pyarrow frees the table while it converts its columns.

    `to_pandas` must not look for nulls in the table afterwards: reading freed memory has crashed
    the process.
    """
    pytest.importorskip("pyarrow")
    columns = [("k", "int"), ("v", "text"), ("n", "bigint")]
    node.prime("SELECT k, v, n", rows(columns, [(1, "x", None), (None, "y", 1 << 60)]))
    with Cluster([node.address], port=node.port) as cluster:
        result = cluster.connect().execute("SELECT k, v, n")
        frame = result.to_pandas(self_destruct=True)
    assert [str(frame[name].dtype) for name in "kn"] == ["Int32", "Int64"]
    assert frame["n"][1] == 1 << 60


def test_numpy_takes_no_options() -> None:
    check_numpy_options((), ())
    with pytest.raises(TypeError, match=r"no option 'dtype'.*write arrays\['column'\]\.astype"):
        check_numpy_options((), ["dtype"])
    with pytest.raises(TypeError, match=r"write the columns in the SELECT, or session\.scan"):
        check_numpy_options((), ["columns"])
    with pytest.raises(TypeError, match=r"got 'v': .* write to_numpy\(\)\['column'\]$"):
        check_numpy_options(["v"], ())
