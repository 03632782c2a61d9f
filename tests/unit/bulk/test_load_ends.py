"""A load that ends early, for whatever reason, loses no row without an error or a checkpoint.

The tests cover checkpoints, damaged files, conditional writes and full queues.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk import LoadError, LoadReport, chunks, retrying, sender
from cassandra.bulk.load_checkpoint import LoadCheckpoint
from cassandra.cluster import Cluster
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, Request, error, rows, void
from cassandra.throttling import ConcurrencyLimitingThrottler, RequestThrottler
from tests.unit.engine.faults import WAIT
from tests.unit.job_limits import JobTimeout, LateRow, job_limit

INSERT = "INSERT INTO t (id, name) VALUES (?, ?)"
COLUMNS = [("id", "int"), ("name", "text")]


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a running node that can prepare an INSERT, with and without IF, and an UPDATE."""
    with FakeNode() as running_node:
        running_node.prime_prepare(INSERT, COLUMNS, pk_indexes=[0])
        running_node.prime_prepare(f"{INSERT} IF NOT EXISTS", COLUMNS, pk_indexes=[0])
        running_node.prime_prepare("UPDATE t SET n = n + ?", [("n", "counter")])
        yield running_node


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit chunks to ten rows, and let retries and waits happen without a delay."""
    monkeypatch.setattr(retrying, "LONGEST_DELAY", 0.0)
    monkeypatch.setattr(sender, "LONGEST_WAIT", 0.0)
    for name in ("CHUNK_ROWS", "TEXT_ROWS", "OBJECT_ROWS"):
        monkeypatch.setattr(chunks, name, 10)


def load(
    node: FakeNode, source: Any, query: str = INSERT, is_idempotent: bool = True, **options: Any
) -> LoadReport:
    """Load `source` through the blocking API, with `query` as the prepared statement.

    :param is_idempotent: whether the statement may be repeated.
    :param options: the options of the load, and `throttler`, the throttler of the cluster.
    """
    throttler: RequestThrottler | None = options.pop("throttler", None)
    with Cluster([node.address], port=node.port, request_throttler=throttler) as cluster:
        session = cluster.connect()
        prepared = session.prepare(query)
        prepared.is_idempotent = is_idempotent
        return session.load(prepared, source, **options)


def ids_sent(node: FakeNode, begin: int = 0) -> set[int]:
    """Return the ids of all rows that the node received in its requests, from index `begin` on."""
    return {
        struct.unpack(">i", request.values[0])[0]
        for request in node.requests[begin:]
        if request.opcode == Opcode.EXECUTE
        and request.values
        and isinstance(request.values[0], bytes)
    }


def csv_file(path: Path, *ids: int) -> Path:
    """Write a CSV file with a row for each id, and return its path."""
    path.write_text("id,name\n" + "".join(f"{id},x\n" for id in ids))
    return path


class Interrupted(BaseException):
    """Raised in a load to interrupt the load, as a signal would."""


def interrupt_load(
    node: FakeNode, source: Any, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> None:
    """Run a load, and interrupt it when two chunks are complete."""
    end_chunk = LoadCheckpoint.end_chunk
    finished_chunks: list[Any] = []

    def end_chunk_and_interrupt(self: Any, chunk: Any) -> None:
        end_chunk(self, chunk)
        finished_chunks.append(chunk)
        if len(finished_chunks) == 2:
            raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(LoadCheckpoint, "end_chunk", end_chunk_and_interrupt)
        with pytest.raises(Interrupted):
            load(node, source, **options)


# -- checkpoints -----------------------------------------------------------------------------------


def test_a_checkpoint_of_another_cluster_is_refused(
    node: FakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint of a load is refused in a cluster with another name."""
    checkpoint_path = tmp_path / "point"
    source = csv_file(tmp_path / "a.csv", *range(30))
    interrupt_load(node, source, monkeypatch, checkpoint=checkpoint_path)
    node.cluster_name = "production"
    with pytest.raises(ValueError, match="its cluster is 'Fake Cluster', and not 'production'"):
        load(node, source, checkpoint=checkpoint_path)


def test_a_checkpoint_of_other_files_or_options_is_refused(
    node: FakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint is refused for other files or options, before anything is written or changed."""
    checkpoint_path = tmp_path / "point"
    first_file = csv_file(tmp_path / "a.csv", *range(25))
    other_file = csv_file(tmp_path / "b.csv", 1, 2)
    interrupt_load(node, [first_file], monkeypatch, checkpoint=checkpoint_path)
    content_before = checkpoint_path.read_bytes()
    for source, options, message in (
        ([other_file], {}, r"where it has the file '.*a\.csv', there is '.*b\.csv'"),
        ([first_file, other_file], {}, r"the file '.*b\.csv' is new"),
        ([first_file], {"header": ["id", "name"]}, "its option header is True"),
        ([first_file], {"null": "NULL"}, "its option null is '', and not 'NULL'"),
        ([first_file], {"columns": ["id", "name"]}, "its option columns is None"),
        ([(1, "a")], {"checkpoint_name": "rows"}, r"the file '.*a\.csv' is gone"),
    ):
        with pytest.raises(ValueError, match=message):
            load(node, source, checkpoint=checkpoint_path, **options)
        assert checkpoint_path.read_bytes() == content_before
    # A dry run reads only the rows that the interrupted load has left, and does not change the
    # checkpoint.
    assert load(node, [first_file], checkpoint=checkpoint_path, dry_run=True).read == 5
    assert checkpoint_path.read_bytes() == content_before
    # For the checkpoint, a file name and a list with only this name are the same source.
    report = load(node, str(first_file), checkpoint=checkpoint_path)
    assert report.skipped == 20
    assert report.written == 5
    assert not checkpoint_path.exists()
    assert ids_sent(node) == set(range(25))


def test_a_replaced_or_inserted_file_is_refused(
    node: FakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load of a folder cannot resume if the folder's files have changed, unless restart=True."""
    checkpoint_path, folder = tmp_path / "point", tmp_path / "folder"
    folder.mkdir()
    csv_file(folder / "1.csv", *range(25))
    csv_file(folder / "2.csv", *range(25, 30))
    interrupt_load(node, folder, monkeypatch, checkpoint=checkpoint_path)
    # Before the second run, a file is inserted before the first file.
    csv_file(folder / "0.csv", 100)
    with pytest.raises(ValueError, match=r"it has .*1\.csv', there is .*0\.csv'.*restart=True"):
        load(node, folder, checkpoint=checkpoint_path)
    # Remove the inserted file, and replace the first file by one with 24 instead of 25 rows.
    (folder / "0.csv").unlink()
    csv_file(folder / "1.csv", *range(24))
    with pytest.raises(ValueError, match=r"1\.csv' has another size since"):
        load(node, folder, checkpoint=checkpoint_path)
    report = load(node, folder, checkpoint=checkpoint_path, restart=True)
    # All rows are loaded again: 24 of the first file, and 5 of the second file.
    assert report.skipped == 0
    assert report.written == 29
    assert not checkpoint_path.exists()


def test_a_load_resumes_in_the_interrupted_file(
    node: FakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load resumes at the file and row of its checkpoint, and skips the rows before this row."""
    folder = tmp_path / "folder"
    folder.mkdir()
    # The checkpoint is in the source folder and has the ending .csv, but the load must not read the
    # checkpoint as a source.
    checkpoint_path = folder / "point.csv"
    for number in range(3):
        csv_file(folder / f"{number}.csv", *range(number * 10, number * 10 + 7))
    interrupt_load(node, folder, monkeypatch, checkpoint=checkpoint_path)
    state = json.loads(checkpoint_path.read_text())["state"]
    # The first two files of 7 rows each are complete.
    assert state["file"] == 1
    assert state["row"] == 7
    assert state["rows"] == 14
    count_before = len(node.requests)
    report = load(node, str(folder / "*.csv"), checkpoint=checkpoint_path)
    assert report.skipped == 14
    assert report.written == 7
    # Only the rows of the third file were sent.
    assert ids_sent(node, count_before) == set(range(20, 27))
    assert not checkpoint_path.exists()


def test_a_checkpoint_for_rows_of_the_application_needs_a_name(
    node: FakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of the application need `checkpoint_name=`, and their number must not change.

    The name says in the next run that the rows are the same.
    """
    checkpoint_path, source_rows = tmp_path / "point", [(n, "x") for n in range(25)]
    with pytest.raises(ValueError, match="a checkpoint= for list needs checkpoint_name="):
        load(node, source_rows, checkpoint=checkpoint_path)
    interrupt_load(
        node, source_rows, monkeypatch, checkpoint=checkpoint_path, checkpoint_name="mine"
    )
    # Another name, or another number of rows, means that the rows are not the same.
    for source, name in ((source_rows, "other"), (source_rows[1:], "mine")):
        with pytest.raises(ValueError, match="the checkpoint of something else: its rows"):
            load(node, source, checkpoint=checkpoint_path, checkpoint_name=name)
    assert load(node, source_rows, checkpoint=checkpoint_path, checkpoint_name="mine").skipped == 20
    for option in ({"checkpoint_name": "mine"}, {"restart": True}):
        with pytest.raises(ValueError, match="is for loads with a checkpoint"):
            load(node, source_rows, **option)


def test_writes_that_must_not_be_repeated_refuse_a_checkpoint(
    node: FakeNode, tmp_path: Path
) -> None:
    """A checkpoint is refused for counters and for statements that are not idempotent.

    A resumed load may write rows again, which would change counters, for example.
    """
    options: dict[str, Any] = {"checkpoint": tmp_path / "point", "checkpoint_name": "mine"}
    with pytest.raises(ValueError, match="needs a statement that may be executed twice"):
        load(node, [(1, "a")], is_idempotent=False, **options)
    with pytest.raises(ValueError, match="counters and checkpoint exclude each other"):
        load(node, [(1,)], "UPDATE t SET n = n + ?", **options)
    with pytest.raises(ValueError, match="counters and checkpoint exclude each other"):
        load(node, [(1,)], counters=True, **options)
    # Both options name the same file, through different paths.
    (tmp_path / "x").mkdir()
    with pytest.raises(ValueError, match="checkpoint and failed_rows are one file"):
        load(node, [(1, "a")], failed_rows=tmp_path / "x" / ".." / "point", **options)
    assert node.count(Opcode.EXECUTE) == 0


# -- damaged rows and files ------------------------------------------------------------------------


def test_a_damaged_row_fails_without_its_neighbours(node: FakeNode, tmp_path: Path) -> None:
    """Each damaged row fails with its own error message, and the other rows are written."""
    path, failed_path = tmp_path / "a.csv", tmp_path / "failed.jsonl"
    damaged = b'1,a\n2,\xe9\n3,c,\n4,"d"x\n5,"e\ne"\nsix,f\n7,g'
    path.write_bytes(b"id,name\n" + damaged + b"\n9,i\n")
    report = load(node, path, max_errors=None, failed_rows=failed_path)
    assert ids_sent(node) == {1, 5, 7, 9}
    assert report.read == 8
    assert report.written == 4
    assert report.failed == 4
    assert [str(failure).removeprefix(f"{path}, ") for failure in report.failures] == [
        "line 3: byte 0xe9 is not UTF-8: write encoding='latin-1', 'cp1252' or whatever the file "
        "is in",
        "line 4: 3 fields, but the header has 2",
        "line 5: ',' expected after '\"'",
        "line 8: column 'id': 'six' is not an integer",
    ]
    # Rows from a file of failed rows fail again if nobody has corrected them.
    report_of_failed = load(node, failed_path, max_errors=None)
    assert report_of_failed.written == 0
    assert report_of_failed.failed == 4


def test_a_quote_that_is_never_closed_ends_the_load(node: FakeNode, tmp_path: Path) -> None:
    """A quote that is never closed ends the load, whatever `max_errors` allows.

    The rest of the file cannot be read.
    """
    path = tmp_path / "a.csv"
    path.write_text("id,name\n" + "".join(f"{n},x\n" for n in range(12)) + '12,"y\n13,z\n')
    message = r"a\.csv, line 14: the quote that opens here is never closed: the rest of the file"
    for options in ({"max_errors": None}, {"max_errors": 100}, {"max_errors": 5, "dry_run": True}):
        with pytest.raises(LoadError, match=message) as caught:
            load(node, path, failed_rows=tmp_path / "failed", **options)
        assert caught.value.report.read == 12
        assert caught.value.report.failed == 0
    assert ids_sent(node) == set(range(12))


def test_deeply_nested_values_and_lone_surrogates_fail(node: FakeNode, tmp_path: Path) -> None:
    """Lines of JSON that cannot be parsed or encoded fail, and the other lines are written."""
    path = tmp_path / "a.jsonl"
    lines = ["[" * 100_000, '{"id": 1, "name": "\\ud800"}', '{"id": 2, "name": "b"}', '{"id": tru']
    path.write_text("\n".join(lines))
    report = load(node, path, max_errors=None, failed_rows=tmp_path / "failed")
    assert report.written == 1
    assert report.failed == 3
    assert ids_sent(node) == {2}


# The function that compresses bytes, for each ending of a file's name.
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def compressor_for(ending: str) -> Callable[[bytes], bytes]:
    """Return a function that compresses bytes to the content of a file with this ending."""
    if ending in COMPRESSORS:
        return COMPRESSORS[ending]
    if ending == ".lz4":
        compress: Callable[[bytes], bytes] = pytest.importorskip("lz4.frame").compress
        return compress
    compress = pytest.importorskip("zstandard").ZstdCompressor().compress
    return lambda data: bytes(compress(data))


@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst", ".lz4"])
def test_a_truncated_compressed_file_ends_the_load(
    node: FakeNode, tmp_path: Path, file_format: str, ending: str
) -> None:
    """A compressed file without its end makes the load fail, whatever `max_errors` is.

    The missing rows are not failed rows, which `max_errors` could allow.
    """
    if file_format == "csv":
        # The second numbers look random, so the compressed file stays long.
        lines = ["id,name", *(f"{n},{n * 7919 % 9973}" for n in range(200))]
    else:
        lines = [json.dumps({"id": n}) for n in range(200)]
    data = compressor_for(ending)("\n".join([*lines, ""]).encode())
    path = tmp_path / f"a.{file_format}{ending}"
    path.write_bytes(data)
    assert load(node, path, dry_run=True).read == 200
    for truncated in (data[:-1], data[: len(data) * 2 // 3], b""):
        path.write_bytes(truncated)
        with pytest.raises((LoadError, ValueError), match=r"ended before|has no bytes") as caught:
            load(node, path, max_errors=None)
        # A file without any bytes is refused with a ValueError before the load starts, so this
        # error has no report.
        if isinstance(caught.value, LoadError):
            assert caught.value.report.failed == 0


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst", ".lz4"])
def test_all_streams_of_a_compressed_file_are_read(
    node: FakeNode, tmp_path: Path, ending: str
) -> None:
    """A file may consist of several compressed streams, and a load reads all of them."""
    compress = compressor_for(ending)
    path = tmp_path / f"a.csv{ending}"
    path.write_bytes(compress(b"id,name\n1,a\n") + compress(b"2,b\n") + compress(b"3,c\n"))
    assert load(node, path).written == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes with names")
# 40,000 rows are more than the buffer of a pipe (64 KiB) holds.
@pytest.mark.parametrize("row_count", [1, 40_000])
def test_a_pipe_is_opened_once(node: FakeNode, tmp_path: Path, row_count: int) -> None:
    """A pipe can be read only once, so a load reads header and rows without reopening it."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = "id,name\n" + "".join(f"{n},x\n" for n in range(row_count))
    writer = threading.Thread(target=path.write_text, args=(content,))
    writer.start()
    report = load(node, path, format="csv", dry_run=True)
    writer.join(WAIT)
    assert report.read == row_count
    assert report.failed == 0
    with pytest.raises(ValueError, match="stands twice among the files"):
        load(node, [path, path], format="csv")
    with pytest.raises(ValueError, match="is a pipe, and Parquet is read from"):
        load(node, path, format="parquet")


def test_files_that_cannot_be_written_are_errors_with_a_report(
    node: FakeNode, tmp_path: Path
) -> None:
    """If the checkpoint or the file of failed rows cannot be written, the load fails with a report.

    The report says how many rows were written.
    """
    path = csv_file(tmp_path / "a.csv", *range(25))
    folder = tmp_path / "nowhere"
    folder.mkdir()

    def remove_folder(request: Request) -> Any:
        if folder.exists():
            folder.rmdir()
        return void()

    prime = node.prime(Opcode.EXECUTE, remove_folder)
    with pytest.raises(LoadError) as caught:
        load(node, path, checkpoint=folder / "point")
    prime.remove()
    # The checkpoint is saved for the first time after the first chunk, which has ten rows.
    assert caught.value.report.written == 10
    # Each write to /dev/full fails as on a full disk.
    if os.path.exists("/dev/full"):
        path.write_text("id,name\n1\n")
        with pytest.raises(LoadError, match="No space left on device: '/dev/full'") as caught:
            load(node, path, max_errors=None, failed_rows="/dev/full")
        assert caught.value.report.failed == 1


# -- servers, and the cluster's own throttler ------------------------------------------------------


@pytest.mark.parametrize("where", ["generator", "row", "checkpoint"])
def test_the_end_of_a_job_ends_the_load(
    node: FakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The exception of a signal handler is raised unchanged, with the report of the load.

    It is neither the cause of a `LoadError` nor the failure of a row, although `max_errors` allows
    any number of failed rows. The next run continues from the checkpoint.
    """
    with job_limit() as expire:

        def rows() -> Iterator[Any]:
            for number in range(40):
                if number == 25 and where == "generator":
                    expire()
                if number == 25 and where == "row":
                    yield LateRow((number, 0), expire)
                yield (number, "x")

        end_chunk = LoadCheckpoint.end_chunk

        def end_chunk_and_job(self: Any, chunk: Any) -> None:
            end_chunk(self, chunk)
            if where == "checkpoint":
                expire()

        monkeypatch.setattr(LoadCheckpoint, "end_chunk", end_chunk_and_job)
        options: dict[str, Any] = {"max_errors": None}
        if where == "checkpoint":
            options.update(checkpoint=tmp_path / "checkpoint", checkpoint_name="rows")
        with pytest.raises(JobTimeout) as caught:
            load(node, rows(), **options)
        report = caught.value.report  # type: ignore[attr-defined]
        assert report.failed == 0
        assert report.written < 40


def test_rows_whose_condition_is_false_are_counted_as_not_applied(node: FakeNode) -> None:
    """A row whose conditional INSERT is not applied counts as neither written nor failed."""

    def apply_even_ids(request: Request) -> Any:
        assert request.values is not None
        assert isinstance(request.values[0], bytes)
        (number,) = struct.unpack(">i", request.values[0])
        return rows([("[applied]", "boolean")], [(number % 2 == 0,)])

    node.prime(Opcode.EXECUTE, apply_even_ids)
    report = load(node, [(n, "x") for n in range(25)], f"{INSERT} IF NOT EXISTS")
    assert report.written == 13
    assert report.not_applied == 12
    assert report.failed == 0
    assert report.requests == 25  # Each row is sent in its own request.
    assert "12 rows were not applied" in str(report)
    assert report.as_dict()["not_applied"] == 12
    report = load(node, [(1, "x")], f"{INSERT} IF NOT EXISTS")
    assert "1 row was not applied: its condition was not met" in str(report)


def test_write_failures_of_overloaded_servers_are_retried(node: FakeNode) -> None:
    """A write failure without details is retried: an overloaded server may have caused it."""
    node.prime(Opcode.EXECUTE, error(ErrorCode.WRITE_FAILURE, failures={"127.0.0.1": 0}), times=5)
    report = load(node, [(n, "x") for n in range(25)])
    assert report.written == 25
    assert report.failed == 0
    # Each of the five failures was followed by a retry.
    assert report.retries >= 5


@pytest.mark.parametrize("queue_size", [0, 3])
def test_a_load_waits_for_its_clusters_throttler(node: FakeNode, queue_size: int) -> None:
    """A load waits while the throttler refuses requests because its queue is full: no row fails.

    The throttler allows two requests at a time.
    """
    throttler = ConcurrencyLimitingThrottler(2, queue_size)
    report = load(node, [(n, "x") for n in range(300)], throttler=throttler)
    assert report.written == 300
    assert report.failed == 0
    assert report.retries == 0
    assert report.requests == 300
    assert throttler.under_way == 0
    assert throttler.waiting == 0


def test_a_throttler_that_never_has_room_is_an_error(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load fails after the throttler has refused a request MOST_WAITS times."""

    class FullThrottler(ConcurrencyLimitingThrottler):
        """A throttler that refuses all requests of the application."""

        def may_begin(self) -> bool:
            return False

    monkeypatch.setattr(sender, "MOST_WAITS", 3)
    with pytest.raises(LoadError) as caught:
        load(node, [(1, "x")], throttler=FullThrottler(1, 0))
    assert caught.value.report.written == 0


def test_a_generator_that_has_ended_is_refused(node: FakeNode) -> None:
    """A generator that was exhausted before the load is refused.

    The generator has no rows left, so the load would silently write nothing.
    """
    rows = ((number, "x") for number in range(3))
    assert load(node, rows).written == 3
    with pytest.raises(ValueError, match=r"generator <genexpr> has ended: .* call its function"):
        load(node, rows)
