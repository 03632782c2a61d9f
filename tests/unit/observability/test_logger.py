"""Test the log of slow, failed and sampled requests (`RequestLogger`)."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import logging
import pickle
import re
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy
from cassandra.errors import DriverException, InvalidRequest, OperationTimedOut, ReadTimeout
from cassandra.observability import logger as logger_module
from cassandra.observability.logger import RequestLogger
from cassandra.observers import RequestObserver
from cassandra.policies import ColDesc, RetryPolicy, RoundRobinPolicy
from cassandra.protocol import ProtocolHandler
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    error,
    hold,
    paged,
    rows,
)
from tests.unit.engine.faults import AddressOrderPolicy
from tests.unit.observing import RetryOnce, observed_cluster
from tests.waiting import result_of, until

QUERY = "SELECT k FROM t WHERE k = 1"
INSERT = "INSERT INTO t (k, s) VALUES (?, ?)"
COLUMNS = [("k", "int"), ("s", "text")]
ONE_COLUMN = [("k", "int")]


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that responds to QUERY and prepares INSERT."""
    with FakeNode() as running:
        running.prime(QUERY, rows(ONE_COLUMN, [(1,)]))
        running.prime_prepare(INSERT, COLUMNS)
        yield running


def records_of(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return the records in the request logger's own channel."""
    return [record for record in caplog.records if record.name == "cassandra.requests"]


@pytest.fixture(autouse=True)
def _all_levels(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Let the logger's channel pass records of all levels."""
    with caplog.at_level(logging.DEBUG, "cassandra.requests"):
        yield


def test_quick_requests_are_not_logged(node: FakeNode, caplog: pytest.LogCaptureFixture) -> None:
    with observed_cluster(node, RequestLogger(slow=30.0)) as cluster:
        cluster.connect().execute(QUERY)
    assert records_of(caplog) == []


def test_slow_requests_are_logged(node: FakeNode, caplog: pytest.LogCaptureFixture) -> None:
    """With a limit of 0 seconds, each request counts as slow, and is logged as a warning."""
    with observed_cluster(node, RequestLogger(slow=0.0)) as cluster:
        cluster.connect().execute(QUERY)
    (record,) = records_of(caplog)
    assert record.levelname == "WARNING"
    line = record.getMessage()
    assert line.startswith("slow request, 0.")
    assert "SELECT k FROM t WHERE k = ? | LOCAL_ONE | attempts: " in line
    assert f"{node.address}:{node.port} 0." in line
    fields: Any = vars(record)["request"]
    assert fields["reason"] == "slow"
    # A request takes at least as long as its only attempt.
    assert fields["seconds"] >= fields["attempts"][0]["seconds"] > 0
    assert fields["attempts"][0]["host"] == f"{node.address}:{node.port}"
    # Each size is more than the size of a frame header.
    assert fields["request_bytes"] > 9
    assert fields["response_bytes"] > 9


def test_thresholds_can_be_changed_at_run_time(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """New values of `slow` and `sample` apply to the next request."""
    logger = RequestLogger(slow=None)
    with observed_cluster(node, logger) as cluster:
        session = cluster.connect()
        session.execute(QUERY)
        assert records_of(caplog) == []
        logger.slow = 0.0
        session.execute(QUERY)
        assert len(records_of(caplog)) == 1
        logger.slow, logger.sample = None, 1.0
        session.execute(QUERY)
        assert [record.levelname for record in records_of(caplog)] == ["WARNING", "INFO"]
        assert records_of(caplog)[1].getMessage().startswith("sampled request, ")


def test_failed_requests_are_logged_with_their_attempts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A request that fails on both nodes is logged once as an error, with both attempts."""
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.prime(QUERY, error(ErrorCode.READ_TIMEOUT))
        profile = ExecutionProfile(
            load_balancing_policy=AddressOrderPolicy(), retry_policy=RetryOnce()
        )
        profiles = {EXEC_PROFILE_DEFAULT: profile}
        with observed_cluster(nodes, RequestLogger(), execution_profiles=profiles) as cluster:
            session = cluster.connect("ks")
            with pytest.raises(ReadTimeout):
                session.execute(QUERY)
        (record,) = records_of(caplog)
        assert record.levelname == "ERROR"
        line = record.getMessage()
        # The line contains the error, the settings and both attempts.
        assert "ReadTimeout: code=0x1200, consistency=LOCAL_ONE, required_responses=1" in line
        assert "keyspace ks, LOCAL_ONE" in line
        assert f"{nodes[0].address}:{nodes.port} 0." in line
        assert "ReadTimeout (retry next host)" in line
        assert "ReadTimeout (rethrow)" in line
        # The record has the same values in the attribute `request`.
        fields: Any = vars(record)["request"]
        assert fields["retries"] == 1
        assert [attempt["decision"] for attempt in fields["attempts"]] == [
            "retry next host",
            "rethrow",
        ]


@pytest.mark.parametrize(
    ("code", "server_message"),
    [
        (ErrorCode.INVALID, 'Invalid STRING constant (hunter2) for "n" of type int'),
        (
            ErrorCode.SYNTAX_ERROR,
            "line 1:56 mismatched input 'truee' (...= 'hunter2' AND [LOGIN] = truee)",
        ),
        (ErrorCode.SERVER_ERROR, "java.lang.RuntimeException: hunter2"),
    ],
)
@pytest.mark.parametrize("form", ["text", "prepared"])
@pytest.mark.parametrize("structured", [True, False])
def test_errors_are_logged_without_the_server_s_message(
    node: FakeNode,
    caplog: pytest.LogCaptureFixture,
    code: Any,
    server_message: str,
    form: str,
    structured: bool,
) -> None:
    """The log has the error's code, but not the server's message, which may quote values."""
    node.prime(QUERY, error(code, server_message))
    with observed_cluster(node, RequestLogger(structured=structured)) as cluster:
        session = cluster.connect()
        statement: Any = session.prepare(QUERY) if form == "prepared" else QUERY
        with pytest.raises(DriverException, match="hunter2"):
            session.execute(statement)
    (record,) = records_of(caplog)
    assert f"code=0x{int(code):04x}" in record.getMessage()
    assert "hunter2" not in record.getMessage() + repr(vars(record))


def test_a_request_that_was_not_sent_is_logged_with_the_full_hosts(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """A request that finds no free stream is logged with the hosts that were full.

    The only connection has a single stream, which another request holds.
    """
    held_answer = hold(rows(ONE_COLUMN, []))
    node.prime(QUERY, held_answer)
    with observed_cluster(node, RequestLogger(slow=None)) as cluster:
        session = cluster.connect()
        (pool,) = session._engine.pools.values()
        pool.connections[0].set_stream_limit(1)
        first = session.execute_async(QUERY)
        held_answer.wait()
        with pytest.raises(OperationTimedOut):
            session.execute("SELECT other", timeout=0.05)
        held_answer.release()
        first.result()
    (record,) = records_of(caplog)
    line = record.getMessage()
    assert f"{node.address}:{node.port}: no connection had room for the request" in line
    assert "(connections: 1, in flight: 1 of 1, waiting: 1)" in line
    assert "attempts: none, it was not sent" in line


def test_failed_false_disables_the_log_of_failures(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """With `failed=False`, failed requests are not logged."""
    node.prime(QUERY, error(ErrorCode.INVALID))
    with observed_cluster(node, RequestLogger(failed=False)) as cluster:
        session = cluster.connect()
        with pytest.raises(InvalidRequest):
            session.execute(QUERY)
    assert records_of(caplog) == []


async def test_cancelled_requests_are_not_logged_as_failed(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """A request whose asyncio task is cancelled is not logged."""
    held_answer = hold(rows(ONE_COLUMN, []))
    node.prime(QUERY, held_answer)
    async with aio.Cluster(
        [node.address], port=node.port, request_observers=[RequestLogger(slow=None)]
    ) as cluster:
        session = await cluster.connect()
        task = asyncio.ensure_future(session.execute(QUERY))
        await asyncio.to_thread(held_answer.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held_answer.release()
    assert records_of(caplog) == []


def test_values_are_not_logged_by_default(node: FakeNode, caplog: pytest.LogCaptureFixture) -> None:
    """No log record has a value, whether the value is bound or written into the query string."""
    with observed_cluster(node, RequestLogger(slow=0.0)) as cluster:
        session = cluster.connect()
        session.execute("INSERT INTO t (k, s) VALUES (%s, %s)", (987654, "hidden"))
        session.execute("INSERT INTO t (k, s) VALUES (987654, 'hidden')")
        session.execute(session.prepare(INSERT), (987654, "hidden"))
        batch = BatchStatement()
        batch.add(SimpleStatement("INSERT INTO t (k, s) VALUES (987654, 'hidden')"))
        batch.add(SimpleStatement("INSERT INTO t (k, s) VALUES (%s, %s)"), (987654, "hidden"))
        batch.add(session.prepare(INSERT), (987654, "hidden"))
        session.execute(batch)
    log_text = "\n".join(str(vars(record)) for record in records_of(caplog))
    # Three single statements and one batch were logged.
    assert len(records_of(caplog)) == 4
    assert "hidden" not in log_text
    assert "987654" not in log_text
    assert "batch of 3: INSERT INTO t (k, s) VALUES (?, ?); INSERT INTO t" in log_text


def test_values_are_logged_shortened_on_request(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """With `values=True`, values are logged, cut to `longest_value` characters.

    At most `most_values` values of a request are logged.
    """
    logger = RequestLogger(slow=0.0, values=True, longest_value=10)
    with observed_cluster(node, logger) as cluster:
        session = cluster.connect()
        session.execute(session.prepare(INSERT), (5, "x" * 100))
        session.execute("INSERT INTO t (k) VALUES (%s)", (77,))
    first, second = records_of(caplog)
    assert "values: k=5, s='xxxxxx..." in first.getMessage()
    assert "VALUES (77)" in second.getMessage()
    logger.most_values = 1
    assert logger._shown_values(bound_insert(node)) == {"k": "5"}


def bound_insert(node: FakeNode) -> Any:
    """Return INSERT with bound values, prepared with another cluster."""
    with Cluster([node.address], port=node.port) as cluster:
        return cluster.connect().prepare(INSERT).bind((5, "a"))


def test_passwords_of_roles_are_never_shown(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """Even with `values=True`, the password in ALTER ROLE is replaced by a question mark."""
    statement = "ALTER ROLE r WITH PASSWORD = 'hidden'"
    node.prime_prepare(statement, [])
    with observed_cluster(node, RequestLogger(slow=0.0, values=True)) as cluster:
        session = cluster.connect()
        session.execute(statement)
        session.execute(session.prepare(statement))
    messages = [record.getMessage() for record in records_of(caplog)]
    assert len(messages) == 2
    for message in messages:
        assert "ALTER ROLE r WITH PASSWORD = ?" in message
        assert "hidden" not in message


def test_values_of_encrypted_columns_are_never_shown(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """Even with `values=True`, a value of an encrypted column is not logged."""
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(ColDesc("ks", "t", "s"), bytes(32), "text")
    with observed_cluster(
        node, RequestLogger(slow=0.0, values=True), column_encryption_policy=policy
    ) as cluster:
        session = cluster.connect()
        node.prime_prepare(INSERT, [("k", "int"), ("s", "blob")])
        session.execute(session.prepare(INSERT), (5, "hidden"))
    (record,) = records_of(caplog)
    assert "values: k=5, s=<encrypted>" in record.getMessage()
    assert "hidden" not in str(vars(record))


@pytest.mark.parametrize(
    ("longest_text", "statement"), [(20, "SELECT a, a, a, a..."), (3, "..."), (2, ".."), (0, "")]
)
def test_texts_are_shortened(
    node: FakeNode, caplog: pytest.LogCaptureFixture, longest_text: int, statement: str
) -> None:
    """A statement has at most `longest_text` characters in the log, the three dots included."""
    with observed_cluster(node, RequestLogger(slow=0.0, longest_text=longest_text)) as cluster:
        cluster.connect().execute("SELECT " + "a, " * 1000 + "b FROM t")
    fields: Any = vars(records_of(caplog)[0])["request"]
    assert fields["statement"] == statement


def test_messages_may_be_json(node: FakeNode, caplog: pytest.LogCaptureFixture) -> None:
    with observed_cluster(node, RequestLogger(slow=0.0, structured=True)) as cluster:
        cluster.connect().execute(QUERY)
    (record,) = records_of(caplog)
    assert json.loads(record.getMessage()) == vars(record)["request"]


def test_further_pages_are_numbered(node: FakeNode, caplog: pytest.LogCaptureFixture) -> None:
    """The log line of the first page has no page number, and that of the second says 2."""
    node.prime(QUERY, paged(ONE_COLUMN, [(number,) for number in range(3)]))
    with observed_cluster(node, RequestLogger(slow=0.0)) as cluster:
        list(cluster.connect().execute(SimpleStatement(QUERY, fetch_size=2)))
    pages = [vars(record)["request"].get("page") for record in records_of(caplog)]
    assert pages == [None, 2]
    assert "page 2, LOCAL_ONE" in records_of(caplog)[1].getMessage()


@pytest.mark.parametrize("slow", [0.0, 1e-9])
def test_no_line_is_formatted_for_a_disabled_logger(node: FakeNode, slow: float) -> None:
    """If the Python logger passes no warnings, the fields of a line are not even collected."""
    quiet = logging.getLogger("tests.quiet")
    quiet.setLevel(logging.CRITICAL)
    logger = RequestLogger(slow=slow, logger=quiet, repeat_interval=1000)
    logger._collect_fields = None  # type: ignore[assignment,method-assign]  # would raise
    with observed_cluster(node, logger) as cluster:
        session = cluster.connect()
        session.execute(QUERY)
        session.execute(QUERY)
    assert not logger._repeated


@pytest.mark.parametrize(
    ("options", "error_class", "message"),
    [
        ({"slow": -1}, ValueError, "slow must not be negative, but is -1"),
        ({"slow": "1"}, TypeError, "slow must be a number, but is '1'"),
        ({"slow": float("nan")}, ValueError, "slow must not be negative, but is nan"),
        ({"sample": 1.5}, ValueError, "sample must be from 0 to 1, but is 1.5"),
        ({"sample": None}, TypeError, "sample must be a number, but is None"),
        ({"longest_text": -5}, ValueError, "longest_text must not be negative"),
        ({"most_values": True}, TypeError, "most_values must be a number, but is True"),
    ],
)
def test_wrong_limits_are_refused(
    options: dict[str, Any], error_class: type[Exception], message: str
) -> None:
    """A wrong limit is refused by the constructor and when it is assigned."""
    with pytest.raises(error_class, match=message):
        RequestLogger(**options)
    ((name, value),) = options.items()
    logger = RequestLogger()
    with pytest.raises(error_class, match=message):
        setattr(logger, name, value)


# -- invalid requests ------------------------------------------------------------------------------


def test_invalid_requests_are_warnings(node: FakeNode, caplog: pytest.LogCaptureFixture) -> None:
    """A request that the server calls invalid is logged as a warning, other failures as errors."""
    node.prime(QUERY, error(ErrorCode.INVALID))
    node.prime("SELECT broken", error(ErrorCode.READ_FAILURE))
    with observed_cluster(node, RequestLogger()) as cluster:
        session = cluster.connect()
        for query in (QUERY, "SELECT broken"):
            with pytest.raises(DriverException):
                session.execute(query)
    invalid, failed = records_of(caplog)
    assert (invalid.levelname, failed.levelname) == ("WARNING", "ERROR")
    assert invalid.getMessage().startswith("invalid request, ")
    assert [vars(record)["request"]["reason"] for record in (invalid, failed)] == [
        "invalid",
        "failed",
    ]


class _BrokenPlan(RoundRobinPolicy):
    """A policy whose bug appears only after the session is connected."""

    is_broken = False

    def make_query_plan(self, working_keyspace: Any = None, query: Any = None) -> Any:
        if self.is_broken:
            raise TypeError("a bug")
        return super().make_query_plan(working_keyspace, query)


class _BrokenRetries(RetryPolicy):
    """A retry policy that raises an error instead of deciding."""

    def on_request_error(self, *arguments: Any, **details: Any) -> Any:
        raise ValueError("a bug")


class _BrokenHandler(ProtocolHandler):
    """A protocol handler that cannot decode any response."""

    @classmethod
    def decode_message(cls, *arguments: Any) -> Any:
        raise TypeError("a bug")


@pytest.mark.parametrize("place", ["load balancing policy", "retry policy", "protocol handler"])
def test_errors_of_policies_and_handlers_are_failures(
    node: FakeNode, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    """An error in an application's policy or handler is logged as a failure of the request."""
    node.prime(QUERY, error(ErrorCode.OVERLOADED))
    plan = _BrokenPlan()
    profile = ExecutionProfile(
        plan, retry_policy=_BrokenRetries() if place == "retry policy" else RetryPolicy()
    )
    profiles = {EXEC_PROFILE_DEFAULT: profile}
    with observed_cluster(node, RequestLogger(slow=None), execution_profiles=profiles) as cluster:
        session = cluster.connect()
        plan.is_broken = place == "load balancing policy"
        if place == "protocol handler":
            session.client_protocol_handler = _BrokenHandler
        with pytest.raises((TypeError, ValueError), match="a bug"):
            session.execute(QUERY)
    (record,) = records_of(caplog)
    assert (record.levelname, vars(record)["request"]["reason"]) == ("ERROR", "failed")


# -- requests that repeat --------------------------------------------------------------------------


def test_slow_requests_are_counted_like_failures(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """Slow requests that repeat within `repeat_interval` (seconds) are counted and not logged.

    `flush` logs one line for the counted requests.
    """
    # Each request takes longer than this limit.
    logger = RequestLogger(slow=1e-9, repeat_interval=1000)
    with observed_cluster(node, logger) as cluster:
        session = cluster.connect()
        for _ in range(5):
            session.execute(QUERY)
        session.execute("SELECT other")
        # Only the first request of each kind is logged at once.
        assert len(records_of(caplog)) == 2
        logger.flush()
        logger.flush()
    first, other, summary = records_of(caplog)
    assert "repeated" not in vars(first)["request"]
    assert "SELECT other" in other.getMessage()
    fields: Any = vars(summary)["request"]
    assert summary.levelname == "WARNING"
    assert (fields["reason"], fields["repeated"]) == ("slow", 4)
    assert fields["hosts"] == {f"{node.address}:{node.port}": 4}
    line = summary.getMessage()
    assert "| the slowest of 4 that were slow since the previous line |" in line
    assert line.endswith(f"| hosts: {node.address}:{node.port} 4")


def test_a_line_about_a_single_repetition_is_in_the_singular(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = RequestLogger(repeat_interval=1000)
    for latency in (2.0, 3.0):
        logger.on_end(ended_request(latency))
    logger.flush()
    assert "| one more since the previous line |" in records_of(caplog)[-1].getMessage()


@pytest.mark.parametrize(
    ("failure", "shown", "seconds"), [(None, "slowest", 3.0), (ReadTimeout("late"), "first", 1.0)]
)
def test_the_slowest_request_and_the_first_failure_are_shown(
    caplog: pytest.LogCaptureFixture, failure: Exception | None, shown: str, seconds: float
) -> None:
    """The line for counted requests shows the slowest request, or the first failed request.

    The first request (9 seconds) is logged at once, so three requests are counted.
    """
    logger = RequestLogger(repeat_interval=1000)
    for latency in (9.0, 1.0, 3.0, 2.0):
        logger.on_end(ended_request(latency, failure))
    logger.flush()
    first, summary = records_of(caplog)
    assert vars(first)["request"]["seconds"] == 9.0
    assert vars(summary)["request"]["seconds"] == seconds
    assert f"the {shown} of 3 that" in summary.getMessage()


def ended_request(latency: float = 1.0, failure: Exception | None = None) -> Any:
    """Return a request with the attributes that `on_end` reads."""
    return SimpleNamespace(
        latency=latency,
        error=failure,
        texts=[(QUERY, True)],
        keyspace=None,
        consistency_level=1,
        batch_size=None,
        page_number=1,
        retries=0,
        speculations=0,
        attempts=[],
        host=None,
        statement=None,
        request_size=0,
        response_size=0,
    )


@pytest.mark.parametrize("code", [None, ErrorCode.INVALID, ErrorCode.WRITE_TIMEOUT])
@pytest.mark.parametrize("form", ["bound", "batch"])
def test_counted_requests_are_not_kept(node: FakeNode, code: ErrorCode | None, form: str) -> None:
    """The logger does not keep references to the requests that it has only counted."""
    answer = rows(COLUMNS, [(1, "a")]) if code is None else error(code)
    node.prime(INSERT, answer)
    node.prime(Opcode.BATCH, answer)
    logger = RequestLogger(slow=1e-9, values=True, repeat_interval=1000)
    with observed_cluster(node, logger) as cluster:
        session = cluster.connect()
        prepared = session.prepare(INSERT)
        for _ in range(3):
            batch = BatchStatement()
            batch.add(prepared, (1, "a"))
            with nullcontext() if code is None else pytest.raises(DriverException):
                session.execute(batch if form == "batch" else prepared.bind((1, "a")))
        assert sum(group.count for group in logger._repeated.values()) == 2
        # The logger keeps only strings and numbers, but no rows, bound values or session.
        assert classes_of_referents(logger._repeated) <= {
            *(dict, list, tuple, str, int, float, bool, type(None), type),
            *(logger_module._Repeated, logger_module._Reason),
        }


def classes_of_referents(root: object) -> set[type]:
    """Return the classes of all objects that can be reached from `root`.

    References of classes are not followed.
    """
    reached: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        item = waiting.pop()
        if id(item) not in reached:
            reached[id(item)] = item
            waiting += [
                referent for referent in gc.get_referents(item) if not isinstance(referent, type)
            ]
    return {type(item) for item in reached.values()}


class _WatchedLock:
    """A lock that notifies a test when a second thread needs the lock.

    :ivar second: set before the second acquisition.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._count = 0
        self.second = threading.Event()

    def __enter__(self) -> None:
        self._count += 1
        if self._count == 2:
            self.second.set()
        self._lock.acquire()

    def __exit__(self, *details: object) -> None:
        self._lock.release()


def test_a_flush_in_another_thread_loses_no_count(caplog: pytest.LogCaptureFixture) -> None:
    """A `flush` in another thread, while `on_end` counts a request, loses no request."""
    logger = RequestLogger(repeat_interval=1000)
    for _ in range(2):
        logger.on_end(ended_request())
    lock = _WatchedLock()
    threads: list[threading.Thread] = []

    def flush() -> None:
        logger.flush()
        lock.second.set()

    class FlushingDict(dict[Any, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            group = super().get(key, default)
            # Another thread flushes after the group was looked up. The thread either finishes at
            # once, or waits for the lock.
            threads.append(threading.Thread(target=flush))
            threads[-1].start()
            lock.second.wait()
            return group

    logger._repeated = FlushingDict(logger._repeated)
    logger._lock = lock  # type: ignore[assignment]
    logger.on_end(ended_request())
    for thread in threads:
        thread.join()
    logger.flush()
    # The first line reports a single request.
    counts = [vars(record)["request"].get("repeated") for record in records_of(caplog)]
    assert counts == [None, 2]


@pytest.mark.parametrize("copy_of", [copy.copy, lambda logger: pickle.loads(pickle.dumps(logger))])
def test_copies_have_the_parameters_and_count_for_themselves(
    caplog: pytest.LogCaptureFixture, copy_of: Any
) -> None:
    """A copy of a logger has the logger's parameters, but not the requests that it has counted."""
    logger = RequestLogger(slow=0.25, repeat_interval=1000)
    # Both requests are slow. The first is logged at once; the second is only counted, and would be
    # logged at the end of `repeat_interval` (seconds).
    for _ in range(2):
        logger.on_end(ended_request())
    copied = copy_of(logger)
    assert (copied.slow, copied.logger) == (0.25, logger.logger)
    # The copy has counted no request, so `flush` logs nothing more.
    copied.flush()
    assert len(records_of(caplog)) == 1
    # The original still has the second request.
    logger.flush()
    assert len(records_of(caplog)) == 2


def test_a_forked_child_leaves_the_counted_requests_to_its_parent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In a forked child, the parent's counted requests are dropped, and the lock is replaced."""
    logger = RequestLogger(repeat_interval=1000)
    for _ in range(2):
        logger.on_end(ended_request())
    lock = logger._lock
    # `cassandra._forks` calls this method in a forked child.
    logger._renew_locks()
    assert logger._lock is not lock
    logger.flush()
    assert len(records_of(caplog)) == 1


@pytest.mark.parametrize("owner", ["cluster", "session", "profile"])
@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
async def test_shutdown_logs_what_was_counted(
    cluster_class: Any, owner: str, node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """The shutdown of a cluster logs the counted requests, wherever the logger was registered.

    The first of three failures is logged at once, so two are counted.
    """
    node.prime(QUERY, error(ErrorCode.READ_FAILURE))
    logger = RequestLogger(repeat_interval=1000)
    profile = ExecutionProfile(request_observers=[logger] if owner == "profile" else ())
    cluster = cluster_class(
        [node.address],
        port=node.port,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        request_observers=[logger] if owner == "cluster" else (),
    )
    session = await result_of(cluster.connect())
    if owner == "session":
        session.add_request_observer(logger)
    for _ in range(3):
        with pytest.raises(DriverException):
            await result_of(session.execute(QUERY))
    assert len(records_of(caplog)) == 1
    await result_of(cluster.shutdown())
    assert [vars(record)["request"].get("repeated") for record in records_of(caplog)] == [None, 2]


def test_without_an_event_loop_the_next_request_logs_what_is_due(
    node: FakeNode, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `repeat_interval`, the end of any request makes the logger log what it has counted."""
    now = 100.0
    monkeypatch.setattr(logger_module, "monotonic", lambda: now)
    logger = RequestLogger(slow=1e-9, repeat_interval=10)
    requests: list[Any] = []

    class CollectingObserver(RequestObserver):
        def on_end(self, request: Any) -> None:
            requests.append(request)

    with observed_cluster(node, CollectingObserver()) as cluster:
        session = cluster.connect()
        session.execute(QUERY)
        session.execute("SELECT other")
    first, other = requests
    for request in (first, first, other, other):
        logger.on_end(request)
    assert len(records_of(caplog)) == 2
    now = 111.0
    # The logger notices with any request that time has passed.
    logger.on_end(other)
    assert [vars(record)["request"].get("repeated") for record in records_of(caplog)[2:]] == [1, 1]


def test_repeated_failures_are_counted_and_logged_once_per_interval(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """Failures of the same query cause one line per interval, which has the number of failures."""
    node.prime(re.compile("SELECT k FROM|SELECT other"), error(ErrorCode.SERVER_ERROR))
    with observed_cluster(node, RequestLogger(repeat_interval=0.3)) as cluster:
        session = cluster.connect()

        def execute_and_fail(count: int, query: str) -> None:
            """Execute a query `count` times, each time with another number as the key."""
            for number in range(count):
                with pytest.raises(DriverException):
                    session.execute(query.format(number))

        def records_with(query: str) -> list[logging.LogRecord]:
            return [record for record in records_of(caplog) if query in record.getMessage()]

        def failure_count(records: list[logging.LogRecord]) -> int:
            """Return how many failures the log records report in total."""
            return sum(vars(record)["request"].get("repeated", 1) for record in records)

        execute_and_fail(30, "SELECT k FROM t WHERE k = {}")
        execute_and_fail(1, "SELECT other FROM t")
        # On a slow machine, the failures may take several intervals. Each interval ends with a
        # line.
        until(lambda: failure_count(records_with("WHERE k = ?")) == 30)
        first, *summaries = records_with("WHERE k = ?")
        assert "repeated" not in vars(first)["request"]
        # There are fewer lines than failures, so repeated failures were summarised.
        assert len(summaries) < 29
        for record in summaries:
            assert record.levelname == "ERROR"
            assert record.getMessage().startswith("failed request, ")
            count = vars(record)["request"].get("repeated")
            if count is None:  # the first failure after an interval without any
                continue
            summary = f"the first of {count} that failed like this" if count > 1 else "one more"
            assert f"| {summary} since the previous line |" in record.getMessage()
        (other,) = records_with("SELECT other")
        assert "repeated" not in vars(other)["request"]


async def test_a_flush_adds_no_lines_to_later_intervals(caplog: pytest.LogCaptureFixture) -> None:
    """The timer of a group that was flushed must not end the interval of the next group."""
    logger = RequestLogger(repeat_interval=0.3)
    for _ in range(2):
        logger.on_end(ended_request())
    await asyncio.sleep(0.15)
    logger.flush()
    assert len(records_of(caplog)) == 2
    for _ in range(3):
        logger.on_end(ended_request())  # the first is logged, and the others are counted
    assert len(records_of(caplog)) == 3
    await asyncio.sleep(0.2)  # the timer of the flushed group has fired
    assert len(records_of(caplog)) == 3
    await asyncio.sleep(0.2)
    assert [vars(record)["request"].get("repeated") for record in records_of(caplog)] == [
        *(None, 1, None, 2)
    ]


def test_the_logger_may_be_set_by_its_name(caplog: pytest.LogCaptureFixture) -> None:
    logger = RequestLogger(repeat_interval=0)
    logger.logger = "app.requests"  # type: ignore[assignment]  # a name is converted
    assert logger.logger is logging.getLogger("app.requests")
    logger.on_end(ended_request())
    assert [record.name for record in caplog.records] == ["app.requests"]


def test_repeat_interval_0_logs_each_failure(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """With `repeat_interval=0`, each failure is logged."""
    node.prime(QUERY, error(ErrorCode.INVALID))
    with observed_cluster(node, RequestLogger(repeat_interval=0)) as cluster:
        session = cluster.connect()
        for _ in range(3):
            with pytest.raises(DriverException):
                session.execute(QUERY)
    assert len(records_of(caplog)) == 3


def test_the_interval_is_checked() -> None:
    with pytest.raises(ValueError, match="repeat_interval must not be negative, but is -1"):
        RequestLogger(repeat_interval=-1)
