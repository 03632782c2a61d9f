"""If an application reads only the first of several pages, this is logged.

It is not logged if the application has asked for the other pages.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator

import pytest

from cassandra.cluster import Cluster, ResponseFuture, ResultSet, Session, unread_pages
from cassandra.concurrent import execute_concurrent
from cassandra.testing.fake import FakeNode, paged
from tests.waiting import until

SELECT = "SELECT k FROM t WHERE k > 1"
MESSAGE = "callbacks got 2 rows, and nobody has asked for the further pages"


@pytest.fixture
def session() -> Iterator[Session]:
    """Yield a session with pages of two rows, whose statement SELECT has five rows."""
    # Forget earlier lines, so that lines of this test are not suppressed.
    unread_pages._lines.cache_clear()
    with FakeNode() as node:
        node.prime(SELECT, paged([("k", "int")], [(number,) for number in range(5)]))
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            session.default_fetch_size = 2
            yield session


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the log lines about pages that were not read."""
    gc.collect()
    return [line for line in caplog.messages if "nobody has asked for the further pages" in line]


def read_one_page(session: Session) -> None:
    """Execute the statement with a callback that does not request the next page."""
    pages: list[object] = []
    session.execute_async(SELECT).add_callback(pages.append)
    until(lambda: pages)


def test_a_callback_that_reads_one_page_is_logged(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """If a callback reads only one of several pages, a warning has the statement and the advice."""
    read_one_page(session)
    until(lambda: lines_of(caplog))
    [line] = lines_of(caplog)
    assert line.startswith(MESSAGE)
    assert "start_fetching_next_page()" in line
    # The values of the statement may be secrets, and are not logged.
    assert "SELECT k FROM t WHERE k > ?" in line
    [record] = [record for record in caplog.records if record.getMessage() == line]
    assert record.levelno == logging.WARNING
    assert record.name == "cassandra.cluster"


def test_a_statement_is_logged_once_per_interval(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """Unread pages of the same statement cause one warning per interval.

    The next warning has the number of suppressed warnings.
    """
    for _ in range(3):
        read_one_page(session)
    until(lambda: lines_of(caplog))
    (interval,) = unread_pages._lines()._limits.values()
    until(lambda: interval.missed == 2)
    assert len(lines_of(caplog)) == 1
    interval._next = 0.0
    read_one_page(session)
    until(lambda: len(lines_of(caplog)) == 2)
    assert "2 more since" in lines_of(caplog)[1]


def read_all_pages(future: ResponseFuture) -> None:
    """Read all five pages of the future in a callback, and wait for the last row."""
    keys: list[int] = []

    def on_page(page: list[tuple[int]]) -> None:
        keys.extend(key for (key,) in page)
        if future.has_more_pages:
            future.start_fetching_next_page()

    future.add_callback(on_page)
    until(lambda: len(keys) == 5)
    future.clear_callbacks()


def keep_the_paging_state(future: ResponseFuture) -> None:
    pages: list[object] = []
    future.add_callback(pages.append)
    until(lambda: pages)
    assert future.paging_state is not None


def read_the_result_too(future: ResponseFuture) -> None:
    pages: list[object] = []
    future.add_callback(pages.append)
    assert len(future.result().all()) == 5


@pytest.mark.parametrize("use", [read_all_pages, keep_the_paging_state, read_the_result_too])
def test_a_program_that_knows_of_the_pages_logs_nothing(
    session: Session, caplog: pytest.LogCaptureFixture, use: Callable[[ResponseFuture], None]
) -> None:
    """If the application requests further pages or reads the paging state, nothing is logged."""
    use(session.execute_async(SELECT))
    assert lines_of(caplog) == []


def test_a_callback_that_gets_all_rows_logs_nothing(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """If the first page has all rows, nothing is logged."""
    session.default_fetch_size = 5000
    read_one_page(session)
    assert lines_of(caplog) == []


def test_concurrent_executions_log_nothing(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """`execute_concurrent` logs nothing, because its results fetch the pages that are read."""
    execute_concurrent(session, [(SELECT, None)] * 3)
    assert lines_of(caplog) == []


class Frame:
    """A fake data frame that a row factory makes from the rows of a page."""

    def __init__(self, names: list[str], page: list[tuple[int]]) -> None:
        self.keys = [key for (key,) in page]

    def __iter__(self) -> Iterator[int]:
        return iter(self.keys)


def test_the_frame_of_one_page_is_logged(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """If only `_current_rows` of a result with several pages is read, this is logged.

    Applications use `_current_rows` to get the data frame of a row factory.
    """
    session.row_factory = Frame
    assert session.execute(SELECT)._current_rows.keys == [0, 1]
    until(lambda: lines_of(caplog))
    [line] = lines_of(caplog)
    assert "_current_rows of a result has the rows of one page" in line
    assert "session.default_fetch_size = None" in line


def read_frames_page_by_page(result: ResultSet[object]) -> None:
    """Fetch all pages, and check that their frames have five rows in total."""
    frames = [result._current_rows]
    while result.has_more_pages:
        result.fetch_next_page()
        frames.append(result._current_rows)
    assert sum(len(frame.keys) for frame in frames) == 5


def ask_before_reading(result: ResultSet[object]) -> None:
    assert result.has_more_pages
    assert result._current_rows.keys == [0, 1]


def keep_the_state_of_the_result(result: ResultSet[object]) -> None:
    assert result._current_rows.keys == [0, 1]
    assert result.paging_state is not None


def iterate_afterwards(result: ResultSet[object]) -> None:
    assert result._current_rows.keys == [0, 1]
    assert list(result) == [0, 1, 2, 3, 4]


def stop_iterating_afterwards(result: ResultSet[object]) -> None:
    assert result._current_rows
    assert next(iter(result)) == 0


def ask_the_future(result: ResultSet[object]) -> None:
    assert result._current_rows
    assert result.response_future.has_more_pages


def read_columns_afterwards(result: ResultSet[object]) -> None:
    pytest.importorskip("numpy")
    assert result._current_rows
    assert result.to_numpy()["k"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "use",
    [
        read_frames_page_by_page,
        ask_before_reading,
        keep_the_state_of_the_result,
        iterate_afterwards,
        stop_iterating_afterwards,
        ask_the_future,
        read_columns_afterwards,
    ],
)
def test_frames_of_a_program_that_knows_of_the_pages_log_nothing(
    session: Session, caplog: pytest.LogCaptureFixture, use: Callable[[ResultSet[object]], None]
) -> None:
    """If code that reads `_current_rows` also asks for further pages, nothing is logged."""
    session.row_factory = Frame
    use(session.execute(SELECT))
    assert lines_of(caplog) == []


@pytest.mark.parametrize("is_first", [True, False])
def test_two_threads_set_a_single_object(session: Session, is_first: bool) -> None:
    """If one thread asks for all pages while another runs callbacks, no page counts as unread."""
    future = session.execute_async(SELECT)
    until(lambda: future.is_over)
    # Each thread calls `_watch_pages`: the thread that runs the callbacks with `unread`, and the
    # thread that asks for the pages with KNOWN_PAGES. Either may be first.
    unread = unread_pages.unread_by_callbacks(SELECT, [])
    objects = [unread, unread_pages.KNOWN_PAGES]
    for pages in objects if is_first else reversed(objects):
        future._watch_pages(pages)
    assert future.has_more_pages
    assert unread.is_read


def test_the_frame_of_all_rows_logs_nothing(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """If `_current_rows` has all rows of the result, nothing is logged."""
    session.default_fetch_size = 5000
    session.row_factory = Frame
    assert len(session.execute(SELECT)._current_rows.keys) == 5
    assert lines_of(caplog) == []
