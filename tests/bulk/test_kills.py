"""Tests of killed bulk operations, which continue without losing or changing rows."""

from __future__ import annotations

import csv
import itertools
import os
import random
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.testing import LocalCluster
from tests.bulk.killed import PAGES
from tests.processes import WITH_TESTS
from tests.waiting import until

pytestmark = [
    pytest.mark.integration,
    # The tables also contain empty strings.
    pytest.mark.filterwarnings("ignore:column .* has empty texts, which CSV:RuntimeWarning"),
]

# The number of rows in the table `source`.
COUNT = 3000
SEEDS = range(int(os.environ.get("TURBOCQL_BULK_SEEDS", "20")))
ROWS = [(number, f"text {number}, 'ß'\n") for number in range(COUNT)]
# The most runs of an operation; the process is killed only in the first half of them.
MAX_RUNS = 60
# A process that is not killed must end within this many seconds.
TIMEOUT = 60.0


class KilledOperation:
    """Runs the program ``tests.bulk.killed`` repeatedly on one folder, and may kill it.

    :param name: the operation: "scan", "copy", "unload" or "load".
    :param folder: contains the checkpoint and the files of the operation.
    """

    def __init__(self, node: LocalCluster, name: str, keyspace: str, folder: Path) -> None:
        host, port = node.contact_points[0], str(node.port)
        self._command = [sys.executable, "-m", "tests.bulk.killed", name, host, port, keyspace, str(folder)]  # fmt: skip  # noqa: E501
        self._folder = folder
        self.kills = 0

    def _state(self) -> object:
        """Return the names and inode numbers of the files, and the size of the checkpoint.

        They change at each step: the process creates or replaces a file, or appends to its
        checkpoint.
        """
        state: list[tuple[str, int, int]] = []
        for path in self._folder.rglob("*"):
            status = path.stat()
            size = status.st_size if path.name == "point" else 0
            state.append((path.name, status.st_ino, size))
        return sorted(state)

    def run(self, changes: int | None) -> bool:
        """Run the process once, and kill it after `changes` changes of its files.

        :param changes: None makes the method wait until the process finishes.
        :returns: True if the process finished, False if it was killed.
        """
        # `python -m` imports from the working directory first. Do not run it in the checkout, whose
        # compiled modules may not be built.
        environment = {**os.environ, **WITH_TESTS}
        process = subprocess.Popen(self._command, cwd=self._folder, env=environment)
        try:
            if changes is None:
                assert process.wait(TIMEOUT) == 0
                return True
            for _ in range(changes):
                before = self._safe_state()
                until(partial(self._has_progressed, process, before), TIMEOUT)
            if process.poll() is not None:
                assert process.returncode == 0
                return True
            process.kill()
            process.wait(TIMEOUT)
            self.kills += 1
            return False
        finally:
            if process.poll() is None:
                process.kill()
                process.wait(TIMEOUT)

    def _has_progressed(self, process: subprocess.Popen[bytes], before: object) -> bool:
        """Return True if the process has ended, or has changed its files since `before`."""
        return process.poll() is not None or self._safe_state() != before

    def _safe_state(self) -> object:
        """Return the state of the files; None if a file vanished while the state was read."""
        try:
            return self._state()
        # In this case, the process has just replaced a file.
        except FileNotFoundError:
            return None

    def run_to_the_end(self, rng: random.Random) -> None:
        """Run the process repeatedly until it finishes."""
        for number in itertools.count():
            assert number < MAX_RUNS
            # In the second half of the runs, the process is not killed, so that the operation
            # finishes even on a slow machine.
            if self.run(rng.randrange(1, 40) if number < MAX_RUNS // 2 else None):
                return


@pytest.fixture
def tables(session: Session) -> Session:
    """Return a session in a keyspace with the tables ``source`` and ``target``.

    ``source`` contains ROWS, and ``target`` is empty.
    """
    for table in ("source", "target"):
        session.execute(f"CREATE TABLE {table} (k int PRIMARY KEY, v text)")
    insert = session.prepare("INSERT INTO source (k, v) VALUES (?, ?)")
    execute_concurrent_with_args(session, insert, ROWS)
    return session


def rows_of(session: Session, table: str) -> list[tuple[int, str]]:
    """Return the rows of a table, sorted by key."""
    return sorted(map(tuple, session.execute(f"SELECT k, v FROM {table}")))


def write_csv_file(folder: Path) -> None:
    """Write ROWS into the file that the operation "load" reads."""
    with open(folder / "in.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("k", "v"), *ROWS])


@pytest.mark.parametrize("seed", SEEDS[:5])
@pytest.mark.parametrize("name", ["copy", "load"])
def test_killed_copies_and_loads_have_written_every_row_in_the_end(
    tables: Session, node: LocalCluster, tmp_path: Path, name: str, seed: int
) -> None:
    """A copy or load that is killed and repeated until it finishes must write each row once."""
    write_csv_file(tmp_path)
    operation = KilledOperation(node, name, tables.keyspace or "", tmp_path)
    operation.run_to_the_end(random.Random(seed))
    assert operation.kills
    assert rows_of(tables, "target") == ROWS


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_a_killed_scan_returns_all_rows_and_repeats_at_most_a_page(
    tables: Session, node: LocalCluster, tmp_path: Path, seed: int
) -> None:
    """A killed scan must continue from its checkpoint.

    After each kill, it may read at most one page again: the page that it was processing.
    """
    operation = KilledOperation(node, "scan", tables.keyspace or "", tmp_path)
    operation.run_to_the_end(random.Random(seed))
    assert operation.kills
    # This counts how often each key was returned.
    counts = Counter(
        int(line.split("\t")[0])
        for line in (tmp_path / "rows").read_text(encoding="utf-8").splitlines()
        # Skip empty lines, which appear because each value ends with a newline. Also skip a line
        # that was incomplete when its process was killed.
        if "\ttext " in line
    )
    assert set(counts) == set(range(COUNT))
    repeated_rows = sum(counts.values()) - COUNT
    assert repeated_rows <= operation.kills * PAGES["page_size"]


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_an_unload_that_was_killed_has_no_manifest_and_whole_files(
    tables: Session, node: LocalCluster, tmp_path: Path, seed: int
) -> None:
    """A killed unload must leave only files with whole rows, and no manifest.

    A manifest marks a complete unload. The folder cannot be used again, but an unload into another
    folder can be loaded.
    """
    operation = KilledOperation(node, "unload", tables.keyspace or "", tmp_path)
    has_finished = operation.run(random.Random(seed).randrange(2, 40))
    # The process may have finished the unload before the test could kill it.
    if has_finished:
        assert (tmp_path / "out" / "_manifest.json").exists()
        return
    assert not (tmp_path / "out" / "_manifest.json").exists()
    rows = []
    for path in (tmp_path / "out").glob("*.csv"):
        with open(path, newline="", encoding="utf-8") as file:
            rows += [(int(row["k"]), row["v"]) for row in csv.DictReader(file)]
    assert len(rows) == len(set(rows))
    assert set(rows) <= set(ROWS)
    with pytest.raises(FileExistsError, match="is not empty"):
        tables.unload("source", tmp_path / "out", format="csv")
    tables.unload("source", tmp_path / "again", format="csv")
    tables.load("target", tmp_path / "again", format="csv", progress=False)
    assert rows_of(tables, "target") == ROWS
