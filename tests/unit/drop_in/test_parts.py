"""Smaller names that programs take from today's drivers, and what they do."""

from __future__ import annotations

import uuid
from concurrent.futures import Future
from typing import Any

import pytest

from cassandra import NullHandler, ProtocolVersion, metrics, policies
from cassandra.application_info import ApplicationInfo, ApplicationInfoBase
from cassandra.cluster import (
    Cluster,
    ControlConnectionQueryFallback,
    ProfileManager,
    Session,
    run_in_executor,
)
from cassandra.cmurmur3 import murmur3
from cassandra.concurrent import (
    ConcurrentExecutorFutureResults,
    ConcurrentExecutorGenResults,
    ConcurrentExecutorListResults,
)
from cassandra.connection import (
    NONBLOCKING,
    ConnectionHeartbeat,
    HeartbeatFuture,
    ResponseWaiter,
    Timer,
    TimerManager,
    decompress,
    defunct_on_error,
    locally_supported_compressions,
    lz4_compress,
    lz4_decompress,
)
from cassandra.errors import WriteType
from cassandra.io.eventletreactor import EventletConnection
from cassandra.io.geventreactor import GeventConnection
from cassandra.io.twistedreactor import TwistedConnection
from cassandra.metadata import (
    RegisteredTableExtension,
    ReplicationStrategy,
    TableMetadata,
    trim_if_startswith,
)
from cassandra.protocol import LazyParser, ListParser, NumpyParser, cython_protocol_handler
from cassandra.query import tuple_factory
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error, rows
from cassandra.util import SortedSet
from tests.unit.metadata.schema.rows import schema

# -- who connects ----------------------------------------------------------------------------------


def startups(**settings: Any) -> list[dict[str, str]]:
    with FakeNode() as node, Cluster([node.address], port=node.port, **settings) as cluster:
        cluster.connect(wait_for_all_pools=True)
        return [
            dict(request.options) for request in node.requests if request.opcode == Opcode.STARTUP
        ]


def test_a_program_names_itself() -> None:
    client = uuid.uuid4()
    names = {"APPLICATION_NAME": "shop", "APPLICATION_VERSION": "1.2", "CLIENT_ID": str(client)}
    for settings in (
        {"application_name": "shop", "application_version": "1.2", "client_id": client},
        {"application_info": ApplicationInfo("shop", "1.2", str(client))},
    ):
        options = startups(**settings)
        assert len(options) == 2
        for sent in options:
            assert names.items() <= sent.items()
    (sent, _) = startups()
    assert not names.keys() & sent.keys()
    with pytest.raises(TypeError, match="application_version must be a str"):
        Cluster(application_version=2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="client_id must be a str"):
        ApplicationInfo(client_id=5)  # type: ignore[arg-type]
    assert issubclass(ApplicationInfo, ApplicationInfoBase)


@pytest.mark.parametrize("reactor", [EventletConnection, GeventConnection, TwistedConnection])
def test_event_loops_are_names_for_ours(reactor: Any) -> None:
    with FakeNode() as node:
        node.prime("SELECT v", rows([("v", "int")], [(5,)]))
        with Cluster([node.address], port=node.port, connection_class=reactor) as cluster:
            assert cluster.connect().execute("SELECT v").one() == (5,)
    EventletConnection.service_timeouts()
    reactor.initialize_reactor()
    reactor.handle_fork()


# -- constants and small functions -----------------------------------------------------------------


def test_what_versions_have() -> None:
    assert [ProtocolVersion.uses_prepare_flags(v) for v in (4, 5, 6, 0x41, 0x42)] == [
        False, True, True, False, True,
    ]  # fmt: skip
    assert [ProtocolVersion.has_checksumming_support(v) for v in (4, 5, 6, 0x41)] == [
        False, True, True, False,
    ]  # fmt: skip
    assert [ProtocolVersion.has_continuous_paging_support(v) for v in (5, 0x41)] == [False, True]
    assert [ProtocolVersion.has_continuous_paging_next_pages(v) for v in (0x41, 0x42)] == [
        False, True,
    ]  # fmt: skip


def test_small_names() -> None:
    assert NullHandler.__module__ == "logging"
    assert policies.WT is WriteType
    assert murmur3(b"123") == -7468325962851647638
    assert [mode.name for mode in ControlConnectionQueryFallback] == [
        "Disabled", "Fallback", "SkipPoolCreation",
    ]  # fmt: skip
    assert ProfileManager(pools_allowed=True).pools_allowed is True
    assert ReplicationStrategy().name == ""
    assert trim_if_startswith("org.x", "org.") == "x"
    assert len(NONBLOCKING) == 2


def test_elements_can_be_deleted_from_sorted_sets() -> None:
    found = SortedSet([5, 1, 4, 2, 3])
    del found[0]
    assert list(found) == [2, 3, 4, 5]
    del found[1:3]
    assert list(found) == [2, 5]
    del found[-1]
    assert list(found) == [2]
    with pytest.raises(IndexError):
        del found[1]


def test_a_method_in_an_executor() -> None:
    class Executor:
        def submit(self, function: Any, *args: Any) -> Any:
            return "submitted", function(*args)

    class Worker:
        executor = Executor()

        @run_in_executor  # type: ignore[untyped-decorator]
        def work(self, number: int) -> int:
            return number + 1

    assert Worker().work(4) == ("submitted", 5)


# -- parts of event loops --------------------------------------------------------------------------


def test_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    called: list[str] = []
    timers = TimerManager()
    assert timers.service_timeouts() is None
    late = Timer(10, lambda: called.append("late"))
    cancelled = Timer(1, lambda: called.append("cancelled"))
    for timer in (late, Timer(2, lambda: called.append("early")), cancelled):
        timers.add_timer(timer)
    cancelled.cancel()
    now[0] = 1005.0
    assert timers.service_timeouts() == timers.next_timeout == 1010.0
    assert called == ["early"]
    now[0] = 1010.0
    assert timers.service_timeouts() is None
    assert called == ["early", "late"]


def test_bodies() -> None:
    body = b"some bytes " * 100
    assert lz4_decompress(lz4_compress(body)) == body
    assert decompress(locally_supported_compressions["snappy"][0](body)) == body


def test_a_failing_method_makes_its_connection_defunct() -> None:
    class Connection:
        failed: BaseException | None = None

        def defunct(self, error: BaseException) -> None:
            self.failed = error

        @defunct_on_error  # type: ignore[untyped-decorator]
        def handle(self, number: int) -> float:
            return 1 / number

    connection = Connection()
    assert connection.handle(2) == 0.5
    assert connection.handle(0) is None
    assert isinstance(connection.failed, ZeroDivisionError)


def test_parts_that_can_only_be_made() -> None:
    heartbeat = ConnectionHeartbeat(30, list, 5)
    heartbeat.stop()
    for use in (
        heartbeat.start,
        lambda: HeartbeatFuture(None, None).wait(1),
        lambda: ResponseWaiter(None, 2, True).deliver(),
    ):
        with pytest.raises(NotImplementedError, match="event loop"):
            use()


# -- statistics ------------------------------------------------------------------------------------


def test_a_collection_of_a_program_s_own() -> None:
    stats = metrics.collection(
        "/web", metrics.IntStat("errors"), metrics.PmfStat("latency"),
        metrics.Stat("double", lambda: 2 * 21),
    )  # fmt: skip
    stats.errors += 1
    stats.latency.addValue(0.5)
    with stats.latency.time():
        pass
    shown = metrics.getStats()["web"]
    assert (shown["errors"], shown["double"], shown["latency"]["count"]) == (1, 42, 2)
    assert shown["latency"]["max"] == 0.5
    with pytest.raises(AttributeError, match="double"):
        stats.double = 3
    assert "errors" in repr(stats)
    del stats
    assert "web" not in metrics.getStats()


def test_stats_that_a_class_declares() -> None:
    class Handler:
        hits = metrics.IntStat("hits")

        def __init__(self, path: str | None = None) -> None:
            metrics.init(self, path)

    one, other = Handler("/one"), Handler()
    one.hits += 2
    assert (one.hits, other.hits) == (2, 0)
    assert metrics.getStats()["one"] == {"hits": 2}
    assert metrics.getStats()["Handler"] == {"hits": 0}
    assert isinstance(Handler.hits, metrics.Stat)


def test_metrics_count_by_hand() -> None:
    counts = Cluster(metrics_enabled=True).metrics
    assert counts is not None
    for name in (
        "write_timeout", "read_timeout", "unavailable", "connection_error", "other_error",
        "ignore", "retry",
    ):  # fmt: skip
        getattr(counts, f"on_{name}")()
    numbers = counts.get_stats()
    assert [value for value in numbers.values() if value == 1] == [1] * 7
    assert (counts.stats.retries, counts.stats.ignores) == (1, 1)


# -- schemas ---------------------------------------------------------------------------------------


def test_registered_extensions_follow_their_table() -> None:
    class Marked(RegisteredTableExtension):  # type: ignore[misc]
        name = "marked"

        @classmethod
        def after_table_cql(cls, table_meta: Any, ext_key: str, ext_blob: bytes) -> str:
            return f"MARK {table_meta.name} {ext_key} {ext_blob.decode()};"

    with FakeNode() as node:
        node.schema = schema("ks", tables=1)
        node.schema["system_schema.tables"][0]["extensions"] = {
            "marked": b"red", "DSE_RLACA": b"id", "other": b"x",
        }  # fmt: skip
        with Cluster([node.address], port=node.port) as cluster:
            cluster.connect()
            text = cluster.metadata.keyspaces["ks"].tables["t0"].export_as_string()
    assert "\n\nMARK t0 marked red;" in text
    assert "\n\nRESTRICT ROWS ON ks.t0 USING id;" in text
    assert RegisteredTableExtension.after_table_cql(None, "x", b"") is None
    assert TableMetadata("ks", "t").export_as_string().endswith(";")


def test_the_replicas_of_a_keyspace_are_there_when_they_are_asked_for() -> None:
    with FakeNode() as node:
        node.schema = schema("ks", tables=1)
        with Cluster([node.address], port=node.port) as cluster:
            cluster.connect()
            token_map: Any = cluster.metadata.token_map
            (host,) = cluster.metadata.all_hosts()
            token_map.rebuild_keyspace("ks")
            assert token_map.tokens_to_hosts_by_ks == {}
            token_map.rebuild_keyspace("ks", build_if_absent=True)
            assert list(token_map.tokens_to_hosts_by_ks) == ["ks"]
            by_token = token_map.tokens_to_hosts_by_ks["ks"]
            assert {token: list(hosts) for token, hosts in by_token.items()} == {
                token: [host] for token in token_map.ring
            }
            token_map.rebuild_keyspace("unknown", build_if_absent=True)
            token_map.remove_keyspace("ks")
            token_map.remove_keyspace("ks")
            assert token_map.tokens_to_hosts_by_ks == {}


# -- executing -------------------------------------------------------------------------------------


@pytest.fixture
def session() -> Any:
    with FakeNode() as node:
        node.prime("SELECT 7", error(ErrorCode.INVALID))
        node.prime("SELECT v", rows([("v", "int")], [(5,), (6,)]))
        with Cluster([node.address], port=node.port) as cluster:
            yield cluster.connect()


PAIRS = [(f"SELECT {number}", None) for number in range(20)]


def test_a_session_executes_many(session: Session) -> None:
    for outcomes in (
        session.execute_concurrent(PAIRS, raise_on_first_error=False),
        list(session.execute_concurrent(PAIRS, 5, False, results_generator=True)),
        session.execute_concurrent_async(PAIRS).result(10),
    ):
        assert [at for at, outcome in enumerate(outcomes) if not outcome.success] == [7]
    outcomes = session.execute_concurrent_with_args("SELECT v", [()] * 3, concurrency=2)
    assert [outcome.result_or_exc.all() for outcome in outcomes] == [[(5,), (6,)]] * 3


def test_the_classes_behind_it(session: Session) -> None:
    future: Future[Any] = Future()
    ConcurrentExecutorFutureResults(session, PAIRS, None, future).execute(5, False)
    for outcomes in (
        ConcurrentExecutorListResults(session, PAIRS, None).execute(5, False),
        list(ConcurrentExecutorGenResults(session, PAIRS, None).execute(5, False)),
        future.result(10),
    ):
        assert [at for at, outcome in enumerate(outcomes) if not outcome.success] == [7]
    failing: Future[Any] = Future()
    ConcurrentExecutorFutureResults(session, PAIRS, None, failing).execute(5, True)
    assert failing.exception(10) is not None


@pytest.mark.parametrize("parser", [ListParser(), LazyParser(), NumpyParser()], ids=repr)
def test_parsers_of_rows(session: Session, parser: Any) -> None:
    session.client_protocol_handler = cython_protocol_handler(parser)
    session.row_factory = tuple_factory
    found = list(session.execute("SELECT v").current_rows)
    if isinstance(parser, NumpyParser):
        assert [list(column) for column in found[0].values()] == [[5, 6]]
    else:
        assert found == [(5,), (6,)]
