"""Loads by both faces: what is sent, tried again, refused, kept and resumed."""

from __future__ import annotations

import asyncio
import json
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.bulk import LoadError, LoadReport, chunks, load as load_module, retrying
from cassandra.cluster import Cluster
from cassandra.errors import InvalidRequest, SessionShutdown
from cassandra.policies import RoundRobinPolicy
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, Opcode, error
from tests.unit.engine.faults import WAIT

INSERT = "INSERT INTO t (id, name) VALUES (?, ?)"
COLUMNS = [("id", "int"), ("name", "text")]


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as running:
        running.prime_prepare(INSERT, COLUMNS, pk_indexes=[0])
        yield running


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "LONGEST_DELAY", 0.0)


def blocking(node: FakeNode, source: Any, **options: Any) -> LoadReport:
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        prepared = session.prepare(INSERT)
        prepared.is_idempotent = options.pop("is_idempotent", True)
        return session.load(prepared, source, **options)


def by_asyncio(node: FakeNode, source: Any, **options: Any) -> LoadReport:
    async def main() -> LoadReport:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            prepared = await session.prepare(INSERT)
            prepared.is_idempotent = options.pop("is_idempotent", True)
            return await session.load(prepared, source, **options)

    return asyncio.run(main())


LOADERS = pytest.mark.parametrize("load", [blocking, by_asyncio], ids=["blocking", "asyncio"])
Load = Callable[..., LoadReport]


def executed(node: FakeNode) -> int:
    return node.count(Opcode.EXECUTE)


@LOADERS
def test_rows_are_written_once_each(node: FakeNode, load: Load) -> None:
    rows = [(n, f"name {n}") for n in range(250)]
    report = load(node, iter(rows))
    assert (report.read, report.written, report.failed) == (250, 250, 0)
    assert (executed(node), report.requests, report.retries) == (250, 250, 0)
    assert report.target == INSERT
    assert report.rows_per_second > 0
    assert "250 rows written to INSERT" in str(report)


@LOADERS
def test_rows_may_be_mappings_and_objects(node: FakeNode, load: Load) -> None:
    class Row:
        id, name = 3, "c"

    class Other:
        number, name = 4, "d"

    source = [(1, "a"), {"number": 2, "name": "b"}, Other()]
    assert load(node, source, columns={"number": "id", "name": "name"}).written == 3
    assert load(node, [Row(), {"id": 5, "name": "e", "more": 1}]).written == 2


@LOADERS
def test_a_wrong_row_ends_it_unless_some_may_fail(
    node: FakeNode, load: Load, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,name\n1,a\nmany,b\n3,c\n4\n")
    with pytest.raises(LoadError, match=r"a\.csv, line 3: column 'id': 'many' is not an integer"):
        load(node, path)
    failed = tmp_path / "failed.jsonl"
    report = load(node, path, max_errors=2, failed_rows=failed)
    assert (report.read, report.written, report.failed) == (4, 2, 2)
    assert [str(one).removeprefix(f"{path}, ") for one in report.failures] == [
        "line 3: column 'id': 'many' is not an integer",
        "line 5: 1 fields, but the header has 2",
    ]
    assert "2 rows failed:" in str(report)
    lines = [json.loads(line) for line in failed.read_text().splitlines()]
    assert lines[0]["id"] == "many"
    assert lines[0]["_line"] == 3
    assert lines[1] == {
        "_fields": ["4"],
        "_source": str(path),
        "_row": 4,
        "_line": 5,
        "_error": "1 fields, but the header has 2",
    }
    with pytest.raises(
        LoadError, match="more than max_errors=1 rows failed, the last one"
    ) as caught:
        load(node, path, max_errors=1)
    assert caught.value.report.failed == 2
    # Mended, the file of failed rows is a source like any other; it fails as long as it is not.
    failed.write_text(failed.read_text().replace("many", "2"))
    with pytest.raises(LoadError, match="line 2: it failed in another load, and '_fields' was not"):
        load(node, failed)
    failed.write_text(failed.read_text().replace('"_fields": ["4"]', '"id": 4, "name": "d"'))
    assert load(node, failed).written == 2


@LOADERS
def test_wrong_rows_of_the_program_are_found_among_many(node: FakeNode, load: Load) -> None:
    rows: list[Any] = [(n, "x") for n in range(1000)]
    rows[137], rows[941] = ("x", "x"), (1 << 40, "x")
    report = load(node, rows, max_errors=None)
    assert (report.written, report.failed) == (998, 2)
    assert [one.place for one in report.failures] == ["row 137", "row 941"]
    assert "'x' (str) is not an integer" in str(report.failures[0])


@LOADERS
def test_what_a_server_cannot_do_now_is_tried_again(node: FakeNode, load: Load) -> None:
    node.prime(Opcode.EXECUTE, error(ErrorCode.OVERLOADED), times=3)
    report = load(node, [(n, "x") for n in range(20)])
    assert (report.written, report.failed) == (20, 0)
    assert report.requests == 20 + report.retries
    assert report.retries > 0


@LOADERS
def test_what_may_not_be_repeated_fails(node: FakeNode, load: Load) -> None:
    node.prime(Opcode.EXECUTE, error(ErrorCode.IS_BOOTSTRAPPING), times=1)
    report = load(node, [(1, "x"), (2, "y")], is_idempotent=False, max_errors=None)
    assert (report.written, report.failed, report.retries) == (1, 1, 0)


@LOADERS
def test_a_row_that_is_refused_every_time_fails(node: FakeNode, load: Load) -> None:
    node.prime(Opcode.EXECUTE, error(ErrorCode.OVERLOADED))
    with pytest.raises(LoadError) as caught:
        load(node, [(1, "x")])
    assert caught.value.report.retries == retrying.RETRIES
    node.prime(Opcode.EXECUTE, error(ErrorCode.INVALID, "no such column"))
    with pytest.raises(LoadError, match="no such column") as caught:
        load(node, [(1, "x")])
    assert isinstance(caught.value.__cause__, InvalidRequest)
    assert caught.value.report.retries == 0


@LOADERS
def test_a_dry_run_sends_nothing(node: FakeNode, load: Load) -> None:
    report = load(node, [(1, "x"), ("y", "z")], dry_run=True, max_errors=None)
    assert (report.read, report.failed, report.written, executed(node)) == (2, 1, 0, 0)
    assert "1 row would be written" in str(report)


class Stopped(BaseException):
    """A program that is ended from outside."""


def stop_after(monkeypatch: pytest.MonkeyPatch, chunk_count: int) -> type[Stopped]:
    """End the next load when so many chunks are written, and no load after that one."""
    end_of = load_module.Load._end_of
    left = [chunk_count]

    def ended(self: Any, chunk: Any) -> None:
        end_of(self, chunk)
        left[0] -= 1
        if not left[0]:
            raise Stopped

    monkeypatch.setattr(load_module.Load, "_end_of", ended)
    return Stopped


@LOADERS
def test_it_goes_on_from_its_checkpoint(
    node: FakeNode, load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 10)
    path, checkpoint = tmp_path / "a.csv", tmp_path / "point"
    path.write_text("id,name\n" + "".join(f"{n},x\n" for n in range(35)))
    stopped = stop_after(monkeypatch, 2)
    with pytest.raises(stopped):
        load(node, path, checkpoint=checkpoint)
    state = json.loads(checkpoint.read_text())["state"]
    assert (state["file"], state["row"], state["rows"]) == (0, 20, 20)
    before = executed(node)
    report = load(node, path, checkpoint=checkpoint)
    assert (report.skipped, report.read, report.written) == (20, 15, 15)
    assert executed(node) - before == 15
    assert not checkpoint.exists()
    assert "20 rows were skipped" in str(report)


@LOADERS
def test_the_settings_of_requests(node: FakeNode, load: Load) -> None:
    load(node, [(1, "x")], consistency_level=ConsistencyLevel.ALL, timeout=5.0, concurrency=1)
    (request,) = [one for one in node.requests if one.opcode == Opcode.EXECUTE]
    assert request.consistency == ConsistencyLevel.ALL


@LOADERS
@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"concurrent": 5}, TypeError, "load has no option 'concurrent'; did you mean 'concurrency'"),  # noqa: E501
        ({"concurrency": 0}, ValueError, "concurrency must be an integer from 1 on, but is 0"),
        ({"max_errors": -1}, ValueError, "max_errors must be an integer from 0 on, but is -1"),
        ({"batch": "host"}, ValueError, "batch must be 'replica', 'partition' or None"),
        ({"delimiter": "||"}, ValueError, "delimiter must be one character"),
        ({"columns": "id"}, TypeError, "columns is a list of names"),
    ],
)  # fmt: skip
def test_wrong_options(
    node: FakeNode, load: Load, options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        load(node, [(1, "x")], **options)


@LOADERS
def test_the_file_of_failed_rows_is_not_written_while_it_is_read(
    node: FakeNode, load: Load, tmp_path: Path
) -> None:
    path = tmp_path / "failed.jsonl"
    path.write_text('{"id": "many"}\n')
    with pytest.raises(ValueError, match="is a file of the source: it would be written while"):
        load(node, tmp_path, failed_rows=str(path))
    assert path.read_text() == '{"id": "many"}\n'


@LOADERS
def test_an_error_of_the_source_is_that_of_the_load(node: FakeNode, load: Load) -> None:
    def rows() -> Iterator[Any]:
        yield 1, "x"
        raise RuntimeError("the source is gone")

    with pytest.raises(LoadError, match="RuntimeError: the source is gone") as caught:
        load(node, rows())
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.report.written == 0
    for thread in threading.enumerate():
        if "cassandra-load" in thread.name:
            thread.join(WAIT)
            assert not thread.is_alive()


def test_a_node_that_dies_in_the_middle_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 20)
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.prime_prepare(INSERT, COLUMNS, pk_indexes=[0])

        def rows() -> Iterator[Any]:
            for number in range(400):
                if number == 150:
                    nodes[0].refuse_connections()
                    nodes[0].drop_connections(reset=True)
                yield number, "x"

        settings: dict[str, Any] = {"load_balancing_policy": RoundRobinPolicy()}
        with Cluster([nodes[0].address], port=nodes.port, **settings) as cluster:
            session = cluster.connect()
            prepared = session.prepare(INSERT)
            prepared.is_idempotent = True
            report = session.load(prepared, rows())
        assert (report.read, report.written, report.failed) == (400, 400, 0)
        written = {one.values[0] for node in nodes.nodes for one in node.requests if one.values}
        assert written == {struct.pack(">i", number) for number in range(400)}


def test_a_session_that_is_shut_down_ends_a_load(node: FakeNode, tmp_path: Path) -> None:
    """No row counts as failed: another run goes on from the checkpoint."""
    failed, point = tmp_path / "failed.jsonl", tmp_path / "point"
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        prepared = session.prepare(INSERT)
        prepared.is_idempotent = True

        def rows() -> Iterator[tuple[int, str]]:
            yield from [(number, "a") for number in range(10)]
            session.shutdown()

        with pytest.raises(SessionShutdown) as caught:
            session.load(
                prepared,
                rows(),
                max_errors=None,
                failed_rows=failed,
                checkpoint=point,
                checkpoint_name="ten rows",
            )
        assert caught.value.report.written == 0  # type: ignore[attr-defined]
    assert not failed.exists()
    assert not point.exists()
