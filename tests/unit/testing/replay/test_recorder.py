"""A program's run is recorded with a node, and replayed without the node, with both APIs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster
from cassandra.errors import InvalidRequest, NoHostAvailable
from cassandra.query import BatchStatement, SimpleStatement, tuple_factory
from cassandra.testing import Recorder, Recording, ReplayNode
from cassandra.testing.fake import ErrorCode, FakeNode, Request, error, paged, rows, sequence, void
from cassandra.testing.fake.answers import Answer
from cassandra.testing.fake.looping import NodeThread

COLUMNS = [("k", "int"), ("v", "text")]
READ = "SELECT k, v FROM ks.t"
BY_KEY = "SELECT k, v FROM ks.t WHERE k = ?"
PAGES = "SELECT k FROM ks.p"
INSERT = "INSERT INTO ks.t (k, v) VALUES (?, ?)"
COUNT = "SELECT k FROM ks.counted"
WRONG = "SELECT nothing FROM ks.t"


def row_of_key(request: Request) -> Answer:
    """Answer the statement BY_KEY with a row that has the requested key."""
    (key,) = request.values
    assert isinstance(key, bytes)
    return rows(COLUMNS, [(int.from_bytes(key, "big"), "by key")])


@pytest.fixture(params=[3, 4, 5])
def node(request: pytest.FixtureRequest) -> Iterator[FakeNode]:
    """Yield a node for each protocol version, primed with responses of each kind."""
    with FakeNode(max_version=request.param) as node:
        node.prime_prepare(BY_KEY, COLUMNS[:1], COLUMNS, [0])
        node.prime_prepare(INSERT, COLUMNS, pk_indexes=[0])
        node.prime(READ, rows(COLUMNS, [(1, "a"), (2, None)]))
        node.prime(BY_KEY, row_of_key)
        node.prime(PAGES, paged(COLUMNS[:1], [(number,) for number in range(5)]))
        node.prime(INSERT, void())
        node.prime(COUNT, sequence(*(rows(COLUMNS[:1], [(number,)]) for number in range(3))))
        node.prime(WRONG, error(ErrorCode.INVALID, "Undefined column name nothing"))
        yield node


def settings(server: Any) -> dict[str, Any]:
    """Return the arguments of `Cluster` that connect to a node, a recorder or a replay node."""
    return {"contact_points": server.contact_points, "port": server.port}


def run_program(server: Any) -> list[Any]:
    """Run a sample application against the server, and return everything that it reads."""
    results: list[Any] = []
    with Cluster(**settings(server)) as cluster:
        session = cluster.connect()
        session.row_factory = tuple_factory
        results.append(session.execute(READ).all())
        prepared = session.prepare(BY_KEY)
        results += [session.execute(prepared, (key,)).all() for key in (1, 2, 1)]
        results.append(session.execute(SimpleStatement(PAGES, fetch_size=2)).all())
        batch = BatchStatement(consistency_level=ConsistencyLevel.QUORUM)
        batch.add(session.prepare(INSERT), (1, "x"))
        batch.add("INSERT INTO ks.t (k) VALUES (%s)", (5,))
        session.execute(batch)
        # This is one call more than the node's sequence has answers, so the node sends the last
        # answer twice.
        results += [session.execute(COUNT).one() for _ in range(4)]
        with pytest.raises(InvalidRequest, match="Undefined column name"):
            session.execute(WRONG)
        session.set_keyspace("ks")
        results.append(session.keyspace)
    return results


async def run_program_with_asyncio(server: Any) -> list[Any]:
    """Run a sample application against the server with asyncio, and return all rows."""
    async with aio.Cluster(**settings(server)) as cluster:
        session = await cluster.connect()
        session.row_factory = tuple_factory
        prepared = await session.prepare(BY_KEY)
        rows_by_key = [(await session.execute(prepared, (key,))).all() for key in (1, 2)]
        pages = await session.execute(SimpleStatement(PAGES, fetch_size=2))
        return [*rows_by_key, [row async for row in pages]]


def test_a_recorded_run_is_replayed_without_the_node(node: FakeNode, tmp_path: Path) -> None:
    """A replay gives the same responses in each run of the program, without the recorded node."""
    path = tmp_path / "new" / "run.jsonl"
    with Recorder(path, node.address, node.port) as recorder:
        assert not recorder.is_replay
        results = run_program(recorder)
    node.stop()
    for _ in range(2):
        with ReplayNode(path) as replayed:
            assert replayed.is_replay
            assert run_program(replayed) == results
            # When all recorded responses of a query are used up, the last response is repeated. The
            # first five results stay the same, because only the responses to COUNT differ.
            assert run_program(replayed)[:5] == results[:5]
            # `check` raises if the program made a request that is not in the recording.
            replayed.check()


async def test_a_recorded_run_of_asyncio_is_replayed(node: FakeNode, tmp_path: Path) -> None:
    """With asyncio, too, the replay gives the recorded responses, without the recorded node."""
    path = tmp_path / "run.jsonl"
    with Recorder(path, node.address, node.port) as recorder:
        results = await run_program_with_asyncio(recorder)
    node.stop()
    with ReplayNode(path) as replayed:
        assert await run_program_with_asyncio(replayed) == results
        replayed.check()


def test_requests_that_were_not_recorded_are_refused(node: FakeNode, tmp_path: Path) -> None:
    """A request that is not in the recording fails, and `check` fails later.

    Both errors show the request, and whether the recording has the same statement with other
    values.
    """
    path = tmp_path / "run.jsonl"
    with Recorder(path, node.address, node.port) as recorder:
        run_program(recorder)
    with ReplayNode(path) as replayed, Cluster(**settings(replayed)) as cluster:
        session = cluster.connect()
        with pytest.raises(InvalidRequest) as refused_statement:
            session.execute("SELECT x FROM ks.other")
        prepared = session.prepare(BY_KEY)
        with pytest.raises(InvalidRequest) as refused_value:
            # 99 is 0x63, which the error must show.
            session.execute(prepared, (99,))
        with pytest.raises(AssertionError, match="0x00000063"):
            replayed.check()
    assert f"not in {path}: QUERY 'SELECT x FROM ks.other' with" in str(refused_statement.value)
    assert f"not in {path}: EXECUTE '{BY_KEY}' with" in str(refused_value.value)
    assert "0x00000063" in str(refused_value.value)
    assert "recorded with this text: EXECUTE" in str(refused_value.value)
    assert len(replayed.refused) == 2


def test_values_can_be_masked(node: FakeNode, tmp_path: Path) -> None:
    """With masked values, the recording has hashes, by which a replay recognizes the values."""
    path = tmp_path / "run.jsonl"
    with Recorder(path, node.address, node.port, mask_values=True) as recorder:
        results = run_program(recorder)
    recorded = path.read_text()
    assert "0x00000001" not in recorded
    assert "sha256:" in recorded
    with ReplayNode(path) as replayed:
        assert run_program(replayed) == results
        replayed.check()


def test_passwords_are_not_written_down(node: FakeNode, tmp_path: Path) -> None:
    """A recording contains neither the password of the login nor a password in a statement.

    The recording can still be replayed with the login and the statement.
    """
    node.require_password("ada", "lovelace")
    statement = "CREATE ROLE r WITH PASSWORD = 'secret ''x'''"
    node.prime(statement, void())
    path = tmp_path / "run.jsonl"
    login: Any = {"auth_provider": PlainTextAuthProvider("ada", "lovelace")}
    with (
        Recorder(path, node.address, node.port) as recorder,
        Cluster(**settings(recorder), **login) as cluster,
    ):
        cluster.connect().execute(statement)
    recorded = path.read_text()
    assert "lovelace" not in recorded
    assert b"lovelace".hex() not in recorded
    assert "secret" not in recorded
    with ReplayNode(path) as replayed, Cluster(**settings(replayed), **login) as cluster:
        cluster.connect().execute(statement)
        replayed.check()


def test_events_are_replayed_after_the_same_response(node: FakeNode, tmp_path: Path) -> None:
    """A replay sends a recorded event between the same two responses as in the recorded run."""
    path = tmp_path / "run.jsonl"
    with (
        Recorder(path, node.address, node.port) as recorder,
        Cluster(**settings(recorder)) as cluster,
    ):
        session = cluster.connect()
        session.execute(READ)
        assert node.send_event("STATUS_CHANGE", "UP", "10.9.9.9", 9042) == 1
        # The event was sent before the response to this request, so the recording has it before the
        # response.
        cluster.refresh_nodes()
    events = [exchange for exchange in Recording.load(path).exchanges if exchange.request is None]
    assert len(events) == 1
    with ReplayNode(path) as replayed, Cluster(**settings(replayed)) as cluster:
        cluster.connect().execute(READ)
        cluster.refresh_nodes()
        # All recorded events have been sent.
        replayed.wait_for(lambda _: not replayed._events)


def test_a_run_that_fails_leaves_the_old_recording(node: FakeNode, tmp_path: Path) -> None:
    """If the recorded block raises an error, an older recording at the same path is kept."""
    path = tmp_path / "run.jsonl"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), Recorder(path, node.address, node.port):
        raise ZeroDivisionError
    assert path.read_text() == "old"


def test_a_recorder_is_started_and_stopped_once(node: FakeNode, tmp_path: Path) -> None:
    """`start` raises if the recorder is running, and `stop` raises if it is not."""
    path = tmp_path / "run.jsonl"
    recorder = Recorder(path, node.address, node.port)
    with pytest.raises(RuntimeError, match="is not running"):
        recorder.stop()
    with recorder, pytest.raises(RuntimeError, match="running already"):
        recorder.start()
    assert json.loads(path.read_text())["format"] == "turbocql recording"


def test_a_recorder_without_an_address_can_be_started_again(
    node: FakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the socket cannot be bound, no thread stays, and `start` may be called again."""
    recorder = Recorder(tmp_path / "run.jsonl", node.address, node.port)
    threads_before = threading.active_count()
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(NodeThread, "bound_socket", Mock(side_effect=OSError("in use")))
            with pytest.raises(OSError, match="in use"):
                recorder.start()
    assert threading.active_count() == threads_before
    with recorder:
        assert recorder.port


def test_a_recorder_has_no_port_before_it_runs(tmp_path: Path) -> None:
    """Reading the port of a recorder that is not running raises RuntimeError."""
    recorder = Recorder(tmp_path / "run.jsonl")
    with pytest.raises(RuntimeError, match="this Recorder is not running"):
        recorder.port  # noqa: B018


def test_the_error_names_a_node_to_record_that_refuses_connections(tmp_path: Path) -> None:
    """If the recorded node refuses connections, the application's error names the node."""
    # The port of a stopped node refuses connections.
    with FakeNode() as stopped_node:
        port = stopped_node.port
    recorder = Recorder(tmp_path / "run.jsonl", "127.0.0.1", port)
    recorder.start()
    try:
        with Cluster(**settings(recorder)) as cluster, pytest.raises(NoHostAvailable) as raised:
            cluster.connect()
    finally:
        recorder.discard()
    assert f"the node to record, 127.0.0.1:{port}, cannot be reached: " in str(raised.value)
    assert "TLS" not in str(raised.value)
