"""The driver's main tasks on a real server: load vectors, search them, read them back.

The program starts a real Apache Cassandra node on this machine (or uses yours: --contact-points).
It creates a table with a ``vector<float, 384>`` column and an index for nearest-neighbour search,
and loads 10,000 rows with many requests in flight. It searches the nearest neighbours of a vector,
pages through the table with asyncio, and prints a summary.

The data is random, from a fixed seed. Each of twenty topics is a direction in 384 dimensions, and
the embedding of a text is the direction of one topic plus a share of the direction of another
topic. Therefore the nearest neighbours of a new text must be texts about its topic; the program
checks this.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

try:
    from cassandra import DriverException, InvalidRequest, ReadFailure, aio
    from cassandra.cluster import Cluster, NoHostAvailable, Session
    from cassandra.concurrent import execute_concurrent_with_args
    from cassandra.protocol import SyntaxException
    from cassandra.testing import LocalCluster, LocalClusterError
except ImportError as missing:
    sys.exit(
        f"the driver cannot be imported ({missing}): install it first, README.rst has the commands"
    )

DIMENSION = 384
INDEX_TIMEOUT = 60.0  # seconds
TOPICS = [
    "astronomy",
    "baking",
    "cycling",
    "diving",
    "economics",
    "fencing",
    "gardening",
    "history",
    "insects",
    "jazz",
    "knitting",
    "law",
    "music",
    "navigation",
    "opera",
    "physics",
    "railways",
    "sailing",
    "tennis",
    "wine",
]
KEYSPACE = "turbocql_quickstart"
# On a cluster of your own with several nodes, set 3 replicas.
REPLICAS = int(os.environ.get("CASSANDRA_REPLICAS", "1"))
# CPU microseconds of one insert while 100 are in flight, from docs/benchmarks.rst: first with
# cassandra-driver, then with this driver.
PEER = (57.8, 2.68)


@dataclass
class Summary:
    """The figures of a run. Times are in seconds; CPU times are of this process only."""

    plain_rows: int
    plain_seconds: float
    plain_cpu: float
    rows: int
    load_seconds: float
    load_cpu: float
    read_rows: int
    read_seconds: float
    topic: str
    neighbours: list[tuple[str, float]]

    def show(self) -> None:
        """Print the summary, the CPU per row first."""
        microseconds = 1e6 * self.plain_cpu / self.plain_rows
        print(
            f"\n{microseconds:.1f} us of this process' CPU for each small row.\nFor an insert, "
            f"docs/benchmarks.rst has {PEER[0]} us for cassandra-driver and {PEER[1]} us for this "
            "one;\nbenchmarks/requests.py compares them on your machine."
        )
        print(
            f"\nloaded   {self.plain_rows:,} small rows in {self.plain_seconds:.2f} s  "
            f"({self.plain_rows / self.plain_seconds:,.0f} rows/s)"
        )
        print(
            f"loaded   {self.rows:,} vectors in {self.load_seconds:.2f} s  "
            f"({self.rows / self.load_seconds:,.0f} rows/s, "
            f"{1e6 * self.load_cpu / self.rows:.0f} us of client CPU a row; the server builds the "
            "index meanwhile)"
        )
        print(
            f"read     {self.read_rows:,} rows in {self.read_seconds:.2f} s  "
            f"({self.read_rows / self.read_seconds:,.0f} rows/s)"
        )
        print(f"nearest  to a new text about {self.topic}:")
        for title, similarity in self.neighbours:
            print(f"           {title:<24} similarity {similarity:.4f}")
        print(
            "\nNext: docs/tutorial.rst builds a small service; docs/guides/loading.rst and"
            "\ndocs/guides/vectors.rst explain what you have just seen."
        )


class Texts:
    """Creates embeddings of invented texts; the same seed gives the same embeddings."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        make = self._rng.uniform
        self._topics = {topic: [make(-1, 1) for _ in range(DIMENSION)] for topic in TOPICS}

    def about(self, topic: str, other: str, share: float) -> array[float]:
        """Return the embedding of a text about `topic`, with a share of the topic `other`.

        The embedding is an array of C floats: the driver can copy its bytes and need not
        convert each number.
        """
        noise = self._rng.random
        pairs = zip(self._topics[topic], self._topics[other], strict=True)
        return array("f", [a + share * b + 0.8 * (noise() - 0.5) for a, b in pairs])

    def rows(self, count: int) -> list[tuple[int, str, str, array[float]]]:
        """Return (id, topic, title, embedding) of each row."""
        rows = []
        for i in range(count):
            topic, other = TOPICS[i % len(TOPICS)], self._rng.choice(TOPICS)
            embedding = self.about(topic, other, self._rng.uniform(0, 0.9))
            rows.append((i, topic, f"{topic}, text {i // len(TOPICS)}", embedding))
        return rows


class ProgressBar:
    """A progress bar on one line, or a line for every 25 % if the output is not a terminal."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._shown = -1
        self._terminal = sys.stdout.isatty()

    def update(self, done: int) -> None:
        """Show that `done` of the total are done, if the percentage has changed enough."""
        percent = 100 * done // max(self._total, 1)
        step = 1 if self._terminal else 25
        if percent < self._shown + step and done < self._total:
            return
        self._shown = percent
        bar = "#" * (percent // 4)
        end = "\n" if done >= self._total or not self._terminal else "\r"
        print(f"{self._label} [{bar:<25}] {done:,}/{self._total:,}", end=end, flush=True)


def create_schema(session: Session) -> None:
    """Create the keyspace, the table and its index."""
    session.execute(
        f"CREATE KEYSPACE IF NOT EXISTS {KEYSPACE} "
        f"WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {REPLICAS}}}"
    )
    session.set_keyspace(KEYSPACE)
    session.execute(
        "CREATE TABLE IF NOT EXISTS texts "
        f"(id int PRIMARY KEY, topic text, title text, embedding vector<float, {DIMENSION}>)"
    )
    session.execute("CREATE TABLE IF NOT EXISTS plain (id int PRIMARY KEY, topic text, title text)")
    session.execute(
        "CREATE INDEX IF NOT EXISTS texts_by_embedding ON texts (embedding) USING 'sai'"
    )


def load(session: Session, text: str, rows: Sequence[tuple[Any, ...]]) -> tuple[float, float]:
    """Insert the rows with many requests in flight.

    :param text: the INSERT statement, with a marker for each column.
    :return: the elapsed seconds, and the CPU seconds of this process.
    """
    insert = session.prepare(text)
    bar = ProgressBar("loading", len(rows))
    started, used = time.perf_counter(), time.process_time()
    # With results_generator=True, results come one by one, so that few are in memory.
    outcomes = execute_concurrent_with_args(
        session, insert, rows, concurrency=128, results_generator=True
    )
    for done, _ in enumerate(outcomes, 1):
        bar.update(done)
    return time.perf_counter() - started, time.process_time() - used


def nearest(session: Session, topic: str, embedding: array[float]) -> list[tuple[str, float]]:
    """Return title and similarity of the three texts nearest to `embedding`.

    :raises RuntimeError: if one of these texts is not about `topic`.
    """
    query = session.prepare(
        "SELECT title, topic, similarity_cosine(embedding, ?) AS similarity "
        "FROM texts ORDER BY embedding ANN OF ? LIMIT 3"
    )
    deadline = time.monotonic() + INDEX_TIMEOUT
    while True:
        try:
            rows = session.execute(query, (embedding, embedding)).all()
            break
        except ReadFailure:
            # A busy server builds the index of a new table for some seconds (INDEX_NOT_AVAILABLE).
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
    strangers = [row.title for row in rows if row.topic != topic]
    if len(rows) != 3 or strangers:
        raise RuntimeError(
            f"the nearest neighbours of a text about {topic} should be three others: {rows}"
        )
    return [(row.title, row.similarity) for row in rows]


async def read_all(contact_points: list[str], port: int) -> int:
    """Page through the table with asyncio, and return the number of rows."""
    async with aio.Cluster(contact_points, port=port) as cluster:
        session = await cluster.connect(KEYSPACE)
        result = await session.execute("SELECT id, topic, title, embedding FROM texts")
        count = 0
        async for row in result:
            count += len(row.embedding) == DIMENSION
        return count


def run(
    contact_points: list[str], port: int, count: int, seed: int, topic: str = "jazz"
) -> Summary:
    """Run all steps against a running cluster, and return the summary."""
    texts = Texts(seed)
    rows = texts.rows(count)
    with Cluster(contact_points, port=port) as cluster, cluster.connect() as session:
        host = cluster.get_control_connection_host()
        print(f"connected to Cassandra {host.release_version} at {host.endpoint}")
        create_schema(session)
        plain = load(
            session,
            "INSERT INTO plain (id, topic, title) VALUES (?, ?, ?)",
            [(i, topic, title) for i, topic, title, _ in rows],
        )
        indexed = load(
            session, "INSERT INTO texts (id, topic, title, embedding) VALUES (?, ?, ?, ?)", rows
        )
        neighbours = nearest(session, topic, texts.about(topic, topic, 0))
    started = time.perf_counter()
    read_rows = asyncio.run(read_all(contact_points, port))
    if read_rows != count:
        raise RuntimeError(f"{count} rows were written, but {read_rows} were read")
    seconds = time.perf_counter() - started
    return Summary(count, *plain, count, *indexed, read_rows, seconds, topic, neighbours)


def drop_schema(contact_points: list[str], port: int) -> None:
    """Drop the example's keyspace. This is for your own cluster, which goes on running."""
    with Cluster(contact_points, port=port) as cluster, cluster.connect() as session:
        session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}", timeout=120)


@contextlib.contextmanager
def nodes(args: argparse.Namespace) -> Iterator[tuple[list[str], int]]:
    """Yield contact points and port: those you passed, or those of a node for this run."""
    if args.contact_points:
        yield args.contact_points, args.port
        if not args.keep:
            drop_schema(args.contact_points, args.port)
        return
    with LocalCluster(nodes=1, version=args.version) as local:
        yield list(local.contact_points), local.port
    print("\nthe node was stopped")


def main(argv: list[str] | None = None) -> int:
    """Parse the command line, run, and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--contact-points",
        nargs="+",
        metavar="ADDRESS",
        help="nodes of a cluster that is there already",
    )
    parser.add_argument("--port", type=int, default=9042, help="their port (default 9042)")
    parser.add_argument(
        "--version", default="5.0.9", help="the Cassandra version to start (default 5.0.9)"
    )
    parser.add_argument(
        "--rows", type=int, default=10_000, help="how many rows to load (default 10,000)"
    )
    parser.add_argument("--seed", type=int, default=7, help="of the data (default 7)")
    parser.add_argument("--keep", action="store_true", help="leave the keyspace there")
    args = parser.parse_args(argv)
    if args.rows < len(TOPICS) * 3:
        parser.error(f"--rows must be at least {len(TOPICS) * 3}: three for each topic")
    try:
        with nodes(args) as (contact_points, port):
            run(contact_points, port, args.rows, args.seed).show()
    except NoHostAvailable as error:
        print(f"no node answers: {error}", file=sys.stderr)
        return 1
    except (InvalidRequest, SyntaxException) as error:
        print(
            f"the server refuses this ({error}); vectors and SAI need Cassandra 5.0 or later",
            file=sys.stderr,
        )
        return 1
    except LocalClusterError as error:
        # Java or Maven is missing, or a node did not start: the message says what to do.
        print(f"no node can be started: {error}", file=sys.stderr)
        return 1
    except (DriverException, RuntimeError, ValueError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
