"""`ResultSet`, on fake futures and on result messages that the tests build."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from cassandra.cluster import Cluster, ResultSet
from cassandra.cqltypes import BooleanType, Int32Type
from cassandra.errors import DecodeError, MultipleRowsFound
from cassandra.protocol import ResultMessage
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.opcodes import RESULT_KIND_ROWS, RESULT_KIND_VOID
from cassandra.query import dict_factory, named_tuple_factory, tuple_factory
from cassandra.testing.fake import Encoded, FakeNode, paged, rows
from tests.unit.protocol.wire import int32
from tests.waiting import WAIT


class FakeFuture:
    """A fake future: each call of `result` returns the next of the further pages."""

    row_factory = staticmethod(named_tuple_factory)
    _col_names = None
    _col_types = None

    def __init__(self, *further_pages: list[Any]) -> None:
        self.pages = list(further_pages)
        self.paging_state: bytes | None = b"state"

    @property
    def has_more_pages(self) -> bool:
        return bool(self.pages)

    def start_fetching_next_page(self) -> None:
        self.page = self.pages.pop(0)

    def result(self) -> ResultSet[Any]:
        return ResultSet(self, self.page)


def test_iteration_crosses_pages_once() -> None:
    """An iteration returns the rows of all pages, even if a page is empty.

    A second iteration returns nothing and warns. Here and below, the rows of the first page are 1
    and 2, and the arguments of `FakeFuture` are the further pages.
    """
    rows: ResultSet[Any] = ResultSet(FakeFuture([3, 4], [], [5]), [1, 2])
    assert list(rows) == [1, 2, 3, 4, 5]
    with pytest.warns(RuntimeWarning, match="have been read"):
        assert list(rows) == []


def test_next_and_all() -> None:
    """`next` and `all` return the rows of all pages."""
    rows: ResultSet[Any] = ResultSet(FakeFuture([3]), [1, 2])
    assert [next(rows), next(rows), next(rows)] == [1, 2, 3]
    with pytest.raises(StopIteration):
        next(rows)
    assert ResultSet(FakeFuture([3]), [1, 2]).all() == [1, 2, 3]


def leave_loop_early(rows: ResultSet[Any]) -> None:
    """Start an iteration and leave it at the first row."""
    for _ in rows:
        break


@pytest.mark.parametrize(
    "begin",
    [
        leave_loop_early,
        lambda rows: next(iter(rows)),
        lambda rows: any(row == 1 for row in rows),
        lambda rows: 2 in rows,
        lambda rows: next(rows),
        lambda rows: rows.one(),
    ],
)
def test_iteration_begins_at_the_first_row_of_the_current_page(begin: Any) -> None:
    """If an iteration stops on the first page, the next iteration starts with this page again.

    So it returns all rows.
    """
    rows: ResultSet[Any] = ResultSet(FakeFuture([3, 4], [5]), [1, 2])
    begin(rows)
    assert list(rows) == [1, 2, 3, 4, 5]
    with pytest.warns(RuntimeWarning, match="have been read"):
        assert list(rows) == []


def test_iteration_begins_at_the_first_row_of_a_later_page() -> None:
    """If an iteration stops on a later page, the next iteration starts with this page.

    The rows of earlier pages are not returned again.
    """
    rows: ResultSet[Any] = ResultSet(FakeFuture([3, 4], [5]), [1, 2])
    for row in rows:
        if row == 4:
            break
    assert list(rows) == [3, 4, 5]


def test_no_row_is_left_after_a_full_iteration() -> None:
    """After all rows were read, the result is empty, and reading it again causes a warning."""
    rows: ResultSet[Any] = ResultSet(FakeFuture([3]), [1, 2])
    assert len(rows.all()) == 3
    assert rows.one() is None
    assert not rows
    assert rows.current_rows == []
    with pytest.warns(RuntimeWarning, match="have been read"):
        assert rows.all() == []
    with pytest.raises(RuntimeError, match="iteration has begun"):
        rows[0]


def test_unpacking_sees_each_row_once() -> None:
    """Unpacking, as in ``first, *rest = result``, reads the rows of all pages once."""
    rows: ResultSet[Any] = ResultSet(FakeFuture([3]), [1, 2])
    first, *rest = rows
    assert (first, rest) == (1, [2, 3])


def test_two_iterators_of_one_result_are_independent() -> None:
    """Two iterators of one result return the same rows, each at its own pace."""
    rows: ResultSet[Any] = ResultSet(FakeFuture([3, 4]), [1, 2])
    first, second = iter(rows), iter(rows)
    assert [next(first), next(second), next(first)] == [1, 1, 2]
    # Here, `first` fetches the second page. `second` still returns the rest of the first page, and
    # then the rows of the second page.
    assert next(first) == 3
    assert list(second) == [2, 3, 4]


def test_pages_fetched_by_hand_within_a_loop_are_not_skipped() -> None:
    """If the application fetches the next page inside a loop, the loop continues with this page."""
    rows: ResultSet[Any] = ResultSet(FakeFuture([3, 4]), [1, 2])
    rows_read = []
    for row in rows:
        if row == 2:
            rows.fetch_next_page()
        rows_read.append(row)
    assert rows_read == [1, 2, 3, 4]


def test_the_first_row_by_index_then_all() -> None:
    """Reading index 0 fetches no further page, and `all` still returns all rows."""
    rows: ResultSet[Any] = ResultSet(FakeFuture([3]), [1, 2])
    assert rows[0] == 1
    assert rows.has_more_pages  # reading the first row has fetched no further page
    assert list(rows) == [1, 2, 3]
    # A result that was indexed keeps its rows.
    assert list(rows) == [1, 2, 3]
    assert rows[2] == 3


def test_rows_of_a_generator_are_found_by_index() -> None:
    """If a row factory returns an iterator, indexing reads all pages, as for cassandra-driver."""
    future = FakeFuture([3])
    rows: ResultSet[Any] = ResultSet(future, iter([1, 2]))
    assert rows[0] == 1
    assert [rows[2], *rows] == [3, 1, 2, 3]


def test_rows_of_a_set_are_found_by_index() -> None:
    """If a row factory returns a set or a view of a dict, indexing reads all pages into a list."""
    rows: ResultSet[Any] = ResultSet(FakeFuture([3]), {1: None, 2: None}.keys())
    assert rows[0] == 1
    assert rows[2] == 3


def test_was_applied_after_all_rows_were_read() -> None:
    """`was_applied` and `column_names` still work after all rows were read."""
    future = FakeFuture()
    future.row_factory = named_tuple_factory
    message = rows_message(["[applied]", "v"], [BooleanType, Int32Type], APPLIED, count=1)
    rows: ResultSet[Any] = ResultSet(future, message)
    assert len(list(rows)) == 1
    # No rows are left, but the result still knows its columns and whether the statement was
    # applied.
    assert rows.was_applied
    assert rows.all_tuples() == []
    assert rows.one() is None
    assert rows.column_names == ["[applied]", "v"]


def test_fetch_next_page_replaces_the_current_rows() -> None:
    """`fetch_next_page` replaces the current rows, with an empty list after the last page."""
    rows: ResultSet[Any] = ResultSet(FakeFuture([3, 4]), [1, 2])
    assert rows.current_rows == [1, 2]
    assert rows.has_more_pages
    rows.fetch_next_page()
    assert rows.current_rows == [3, 4]
    assert rows.response_future.has_more_pages is False
    rows.fetch_next_page()
    assert rows.current_rows == []


def test_indexing_reads_all_pages_and_is_refused_once_iteration_has_begun() -> None:
    """An index reads all pages first, and raises RuntimeError if an iteration has begun."""
    rows: ResultSet[Any] = ResultSet(FakeFuture([3]), [1, 2])
    assert rows[2] == 3
    assert rows[:2] == [1, 2]
    assert list(rows) == [1, 2, 3]
    begun: ResultSet[Any] = ResultSet(FakeFuture([3]), [1, 2])
    next(begun)
    with pytest.raises(RuntimeError, match="once iteration has begun"):
        begun[1]


def test_equality_and_truth() -> None:
    """A result is equal to the list of its rows, and is true if any page still has a row."""
    assert ResultSet(FakeFuture([2]), [1]) == [1, 2]
    assert ResultSet(FakeFuture(), [1])
    assert not ResultSet(FakeFuture([]), [])
    assert not ResultSet(FakeFuture(), None)
    rows: ResultSet[Any] = ResultSet(FakeFuture([], [2], [3]), [])
    assert rows
    assert list(rows) == [2, 3]


def test_one() -> None:
    """`one()` returns the first row, or None if the result has no rows."""
    assert ResultSet(FakeFuture(), [7, 8]).one() == 7
    assert ResultSet(FakeFuture(), []).one() is None


def test_the_first_row_is_found_behind_empty_pages() -> None:
    """If the first pages are empty, `one` and `[0]` return the first row of a later page.

    An iteration afterwards starts with this row.
    """
    first_row_of: list[Callable[[ResultSet[Any]], Any]] = [ResultSet.one, lambda rows: rows[0]]
    for first_row in first_row_of:
        future = FakeFuture([], [7, 8], [9])
        rows: ResultSet[Any] = ResultSet(future, [])
        assert first_row(rows) == 7
        assert future.pages == [[9]]  # no page was fetched unnecessarily
        assert first_row(rows) == 7
        assert list(rows) == [7, 8, 9]


def test_the_first_row_of_empty_pages_alone() -> None:
    """If all pages are empty, `one` returns None and `[0]` raises an IndexError."""
    rows: ResultSet[Any] = ResultSet(FakeFuture([], []), [])
    assert rows.one() is None
    with pytest.raises(IndexError, match="the result has no rows"):
        ResultSet(FakeFuture([], []), [])[0]


def rows_message(names: list[str], types: list[Any], body: bytes, count: int) -> ResultMessage:
    """Return a result message with rows that are not decoded yet.

    :param names: the names of the columns.
    :param types: the types of the columns.
    :param body: the encoded rows.
    :param count: the number of rows.
    """
    message = ResultMessage(RESULT_KIND_ROWS)
    message.metadata = ResultMetadata(
        [
            ColumnMetadata("ks", "t", name, cql_type)
            for name, cql_type in zip(names, types, strict=True)
        ]
    )
    message.take_rows(body, count)
    return message


# Encoded rows with a boolean and the int 7, each after its length.
APPLIED = bytes.fromhex("00000001 01 00000004 00000007")
NOT_APPLIED = bytes.fromhex("00000001 00 00000004 00000007")


@pytest.mark.parametrize(
    "factory", [tuple_factory, named_tuple_factory, dict_factory, lambda names, rows: [object()]]
)
@pytest.mark.parametrize(("body", "expected"), [(APPLIED, True), (NOT_APPLIED, False)])
def test_was_applied_with_every_row_factory(factory: Any, body: bytes, expected: bool) -> None:
    """`was_applied` does not depend on the row factory, even if its rows have no columns."""
    future = FakeFuture()
    future.row_factory = factory
    message = rows_message(["[applied]", "v"], [BooleanType, Int32Type], body, count=1)
    assert ResultSet(future, message).was_applied is expected


class Row:
    """A row of an application's class, whose iterator returns something else than the values."""

    def __init__(self, k: int) -> None:
        self.k = k

    def __iter__(self) -> Any:
        return iter(["k"])


@pytest.mark.parametrize(
    "row_factory",
    [
        tuple_factory,
        named_tuple_factory,
        dict_factory,
        lambda names, rows: [Row(*row) for row in rows],
        lambda names, rows: [list(row) for row in rows],
    ],
)
@pytest.mark.parametrize("page_count", [1, 2])
def test_all_tuples_after_indexing(row_factory: Any, page_count: int) -> None:
    """`all_tuples` returns plain tuples of every row factory, also after all pages were read."""
    pages: list[Any] = [
        rows_message(["k"], [Int32Type], int32(4) + int32(number), 1) for number in range(2)
    ]
    future: Any = FakeFuture(*pages[1:page_count])
    future.row_factory = row_factory
    rows: ResultSet[Any] = ResultSet(future, pages[0])
    assert rows.all_tuples() == [(0,)]
    assert rows != []
    assert rows.all_tuples() == [(number,) for number in range(page_count)]
    assert {type(row) for row in rows.all_tuples()} == {tuple}


def test_was_applied_of_another_statement_raises() -> None:
    one_int = bytes.fromhex("00000004 00000007")
    message = rows_message(["v"], [Int32Type], one_int, count=1)
    with pytest.raises(RuntimeError, match="lightweight transactions"):
        ResultSet(FakeFuture(), message).was_applied  # noqa: B018


def test_was_applied_of_plain_rows() -> None:
    """If the rows are already decoded, `was_applied` is the value in the first row.

    An application's mock may return such a result.
    """
    assert ResultSet(FakeFuture(), [{"[applied]": True}]).was_applied
    assert not ResultSet(FakeFuture(), [(False, 1)]).was_applied


def test_names_types_and_rows_of_a_message() -> None:
    """A result with a message takes its column names, types and rows from the message."""
    seven_and_null = bytes.fromhex("00000004 00000007 ffffffff")
    message = rows_message(["v"], [Int32Type], seven_and_null, count=2)
    rows: ResultSet[Any] = ResultSet(FakeFuture(), message)
    assert rows.column_names == ["v"]
    assert rows.column_types == [Int32Type]
    assert [row.v for row in rows.current_rows] == [7, None]
    assert repr(rows) == "<ResultSet: 2 rows of v>"


def test_a_result_without_rows() -> None:
    """A result of kind Void has no column names and no rows."""
    rows: ResultSet[Any] = ResultSet(FakeFuture(), ResultMessage(RESULT_KIND_VOID))
    assert rows.column_names is None
    assert rows.all() == []
    assert repr(rows) == "<ResultSet: no rows>"


class InterruptedFuture(FakeFuture):
    """A fake future whose first call of `result` raises KeyboardInterrupt."""

    error = None
    is_interrupted = False

    def result(self) -> ResultSet[Any]:
        if not self.is_interrupted:
            self.is_interrupted = True
            raise KeyboardInterrupt
        return super().result()


@pytest.mark.parametrize("further_pages", [([3],), ([3], [4])])
def test_an_interrupted_wait_loses_no_page(further_pages: Any) -> None:
    """After a KeyboardInterrupt during the wait for a page, no page is lost.

    The iteration continues with this page.
    """
    rows: ResultSet[Any] = ResultSet(InterruptedFuture(*further_pages), [1, 2])
    assert [next(rows), next(rows)] == [1, 2]
    with pytest.raises(KeyboardInterrupt):
        next(rows)
    assert rows.has_more_pages
    # The second page has the row 3, and the third page, if any, has the row 4.
    assert list(rows) == list(range(3, 3 + len(further_pages)))


def test_the_paging_state_is_the_current_pages() -> None:
    """The paging state is that of the current page, even if the next page has already come."""
    page = rows_message(["k"], [Int32Type], b"", 0)
    page.paging_state = b"state of the first page"
    rows: ResultSet[Any] = ResultSet(InterruptedFuture([1]), page)
    rows.response_future.paging_state = page.paging_state
    with pytest.raises(KeyboardInterrupt):
        rows.fetch_next_page()
    rows.response_future.paging_state = b"state of the second page"
    assert rows.paging_state == b"state of the first page"
    rows.fetch_next_page()
    assert rows.paging_state == b"state of the second page"


def compare(rows: ResultSet[Any]) -> None:
    """Compare a result with a list, which reads all of its rows."""
    assert rows != []


READ_ALL = [lambda rows: rows[0], lambda rows: rows[1], lambda rows: rows[:1], compare]


@pytest.mark.parametrize("read", READ_ALL)
@pytest.mark.parametrize("further_pages", [[], [[3], [], [4]]])
def test_next_returns_all_rows_after_indexing(read: Any, further_pages: Any) -> None:
    """`next` begins at the first row after an operation that may have read all rows."""
    rows: ResultSet[Any] = ResultSet(FakeFuture(*further_pages), [1, 2])
    read(rows)
    expected = [1, 2, *[row for page in further_pages for row in page]]
    assert [next(rows) for _ in expected] == expected
    assert next(rows, None) is None
    # As with other results, `next` continues the latest iteration.
    for row in rows:
        assert row == 1
        break
    assert next(rows) == 2
    assert list(rows) == expected
    assert rows[1] == 2


@pytest.mark.parametrize("read_again", [list, lambda rows: rows[:], lambda rows: [*rows[0:]]])
def test_no_row_is_lost_if_indexing_is_interrupted(read_again: Any) -> None:
    """If a page cannot be fetched for an index, the rows of the pages before it are not lost."""
    rows: ResultSet[Any] = ResultSet(InterruptedFuture([3], [4]), [1, 2])
    with pytest.raises(KeyboardInterrupt):
        rows[3]
    assert read_again(rows) == [1, 2, 3, 4]
    assert rows[0] == 1


def test_a_row_that_cannot_be_read_is_an_error_each_time() -> None:
    """If the rows of a single page cannot be decoded, indexing raises the error each time."""

    class Rows(list[int]):
        def __iter__(self) -> Any:
            raise LookupError("no such row")

    rows: ResultSet[Any] = ResultSet(FakeFuture(), None)
    rows._page = Rows([1])
    for _ in range(2):
        with pytest.raises(LookupError):
            rows[1]


class BlockingFuture(FakeFuture):
    """A fake future whose `result` waits for the event `may_go_on`."""

    def __init__(self, *further_pages: list[Any]) -> None:
        super().__init__(*further_pages)
        self.is_awaited, self.may_go_on = threading.Event(), threading.Event()

    def result(self) -> ResultSet[Any]:
        self.is_awaited.set()
        assert self.may_go_on.wait(WAIT)
        return super().result()


@pytest.mark.parametrize("way", ["iteration", "fetch_next_page"])
def test_two_threads_share_the_fetch_of_a_page(way: str) -> None:
    """If two threads need the same page, the page is fetched once, and no page is skipped."""
    future = BlockingFuture([3], [4])
    rows: ResultSet[Any] = ResultSet(future, [1, 2])
    values_read: list[Any] = []

    def read_rows() -> None:
        """Read the further rows in one of two ways: a page at a time, or by iterating."""
        if way == "fetch_next_page":
            rows.fetch_next_page()
            values_read.append(rows.one())
            return
        values_read.extend(rows)

    first = threading.Thread(target=read_rows, daemon=True)
    first.start()
    assert future.is_awaited.wait(WAIT)
    page_number = rows._pages_before
    # The second thread needs the page for which the first thread waits.
    second = threading.Thread(target=rows._fetch_after, args=(page_number,), daemon=True)
    second.start()
    future.may_go_on.set()
    first.join(WAIT)
    second.join(WAIT)
    assert not first.is_alive()
    assert not second.is_alive()
    assert values_read == ([3] if way == "fetch_next_page" else [1, 2, 3, 4])


def values_read_by_threads(rows: Iterable[Any], thread_count: int) -> list[list[int]]:
    """Let several threads iterate over `rows` concurrently, and return the values that each got."""
    values_of_threads: list[list[int]] = [[] for _ in range(thread_count)]

    def read_into(values: list[int]) -> None:
        values.extend(row.k for row in rows)

    threads = [
        threading.Thread(target=read_into, args=(values,), daemon=True)
        for values in values_of_threads
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert not any(thread.is_alive() for thread in threads)
    return values_of_threads


@pytest.mark.parametrize("thread_count", [2, 4])
def test_threads_that_iterate_over_one_result_end_and_miss_no_row(thread_count: int) -> None:
    """If several threads iterate over one result, together they get all rows."""
    query = "SELECT k FROM t"
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.prime(query, paged([("k", "int")], [(k,) for k in range(200)]))
        session = cluster.connect()
        session.default_fetch_size = 5
        for _ in range(10):
            rows = session.execute(query)
            values_of_threads = values_read_by_threads(rows, thread_count)
            assert set().union(*values_of_threads) == set(range(200))
            # Each thread must get its rows in order and without duplicates.
            for values in values_of_threads:
                assert values == sorted(set(values))
        # There were 10 results of 200 rows, in pages of 5 rows. Each page must be fetched once.
        assert len(node.queries(query)) == 10 * 40


def test_threads_that_share_an_iterator_get_each_row_once() -> None:
    """If several threads share one iterator, each row is returned to exactly one thread."""
    query = "SELECT k FROM t"
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.prime(query, paged([("k", "int")], [(k,) for k in range(200)]))
        session = cluster.connect()
        session.default_fetch_size = 5
        rows = iter(session.execute(query))
        values_of_threads = values_read_by_threads(rows, 4)
        assert sorted(itertools.chain(*values_of_threads)) == list(range(200))


@pytest.mark.parametrize("pages", [[[], [1]], [[1], []], [[], [], [1], []], [[1]]])
def test_a_strict_one_looks_for_a_second_row_on_all_pages(pages: list[list[int]]) -> None:
    """`one(strict=True)` searches all pages for a second row, because pages may be empty."""
    first_page, *further_pages = pages
    assert ResultSet(FakeFuture(*further_pages), first_page).one(strict=True) == 1
    for extra_page in ([2], [2, 3]):
        with pytest.raises(MultipleRowsFound, match="one row was expected"):
            ResultSet(FakeFuture(*further_pages, extra_page), first_page).one(strict=True)


def test_a_strict_one_of_no_rows_is_none() -> None:
    assert ResultSet(FakeFuture([], []), []).one(strict=True) is None


def test_a_result_has_no_hash() -> None:
    """A result has no hash, and the error advises to use `cassandra.aio`.

    `asyncio.gather` asks for the hashes of its arguments, so this error shows up if blocking
    results are passed to it.
    """
    result: ResultSet[Any] = ResultSet(FakeFuture(), [1, 2])
    with pytest.raises(TypeError, match=r"unhashable type: 'ResultSet'.*of cassandra\.aio"):
        hash(result)
    # Code that tries to hash its arguments, such as `functools.lru_cache`, expects a TypeError.
    with pytest.raises(TypeError):
        {result}  # noqa: B018


class Summand:
    """An object that defines addition to a left operand, as arrays do."""

    def __radd__(self, other: object) -> str:
        return "sum"


def test_objects_may_add_themselves_to_a_result() -> None:
    """``result + x`` calls the `__radd__` of x, if x defines it."""
    result: Any = ResultSet(FakeFuture(), [1, 2])
    assert result + Summand() == "sum"


def test_results_are_not_added() -> None:
    """Adding results to each other or to lists raises TypeError, which says what to write."""
    result: Any = ResultSet(FakeFuture(), [1, 2])
    rows: Any = [3]
    for first, second in ((result, rows), (result, result)):
        with pytest.raises(TypeError, match=r"results are not added: write \[\*first, \*second\]"):
            first + second
    with pytest.raises(TypeError):
        rows + result


def test_a_list_can_be_extended_by_a_result() -> None:
    """A list can be extended by a result, because the result has no `__radd__`.

    Python would call `__radd__` before it extends the list.
    """
    rows: Any = [0]
    rows += ResultSet(FakeFuture([3]), [1, 2])
    assert rows == [0, 1, 2, 3]


def test_damage_in_the_only_page_is_an_error_at_each_access() -> None:
    """An iterator of a damaged page must not say that there are no more rows."""
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.prime("damaged", rows([("k", "int")], [(1,), (Encoded(b"\1\2"),)]))
        result = cluster.connect().execute("damaged")
        iterator = iter(result)
        for read in (iterator.__next__, result.next, iterator.__next__, lambda: list(result)):
            with pytest.raises(DecodeError, match='row 1, column "k"'):
                read()
