"""Uses one session in many threads and in every way at the same time.

The threads make blocking calls, use futures, send further requests in callbacks, set short
timeouts, and break connections. Each call must end, with the response to its own request. There are
two runs. In the first run, the event loop sends the requests of 32 threads, several at a time. In
the second run, each of 3 threads sends its requests itself.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent
from cassandra.engine import loop as engine_loop
from cassandra.errors import ConnectionException, OperationTimedOut
from tests.stress.serving import KEYSPACES, PATIENCE, main, node

THREADS = 32  # threads in the first run
FEW_THREADS = 3  # threads in the second run
PER_COUNT = 50  # calls of each of `THREADS` threads for each unit of ``--count``
RARELY = 0.002  # probability that a call breaks the connections
LONG = 20.0  # seconds; a timeout that no call should reach
# Outcomes that are not faults of the driver.
FAIR = {"done", "ConnectionException", "ConnectionShutdown", "OperationTimedOut"}

# The only query whose answer has rows: a row for each keyspace.
_NAMES = "SELECT keyspace_name FROM system_schema.keyspaces"


class WrongAnswer(Exception):
    """Raised if a response belongs to another request."""


class Mix:
    """The calls of the threads, and the counts of their outcomes."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.select = session.prepare(_NAMES)
        self.outcomes: Counter[str] = Counter()
        self._lock = threading.Lock()

    def check(self, rows: Any, expects_names: bool) -> None:
        """Check that a response belongs to its request.

        The response to a query of the keyspaces has a row for each keyspace; other responses have
        no rows.

        :param expects_names: True if the request was a query of the keyspaces.
        """
        row_count = len(list(rows or ()))
        has_names = row_count == KEYSPACES
        if has_names != expects_names:
            raise WrongAnswer(f"{row_count} rows")

    def blocking(self, rng: random.Random) -> None:
        """Make a blocking call."""
        wants_rows = rng.random() < 0.5
        statement: Any = self.select if wants_rows else "INSERT INTO t (k) VALUES (1)"
        self.check(self.session.execute(statement, timeout=LONG), wants_rows)

    def future(self, rng: random.Random) -> None:
        """Send up to seven requests at once, and wait for their futures."""
        wants_rows_each = [rng.random() < 0.5 for _ in range(rng.randrange(1, 8))]
        futures = [
            self.session.execute_async(self.select if wants_rows else "SELECT 1", timeout=LONG)
            for wants_rows in wants_rows_each
        ]
        for wants_rows, future in zip(wants_rows_each, futures, strict=True):
            self.check(future.result(), wants_rows)

    def callback(self, rng: random.Random) -> None:
        """Send a chain of requests: each callback in the loop's thread sends the next request."""
        is_over = threading.Event()
        outcomes: list[Any] = []
        requests_left = rng.randrange(1, 5)

        def send_next() -> None:
            self.session.execute_async(self.select, timeout=LONG).add_callbacks(on_rows, on_error)

        def on_rows(rows: Any) -> None:
            nonlocal requests_left
            # This callback runs in the loop's thread, which sends the next request of the chain.
            requests_left -= 1
            if requests_left:
                send_next()
            else:
                outcomes.append(rows)
                is_over.set()

        def on_error(error: Any) -> None:
            outcomes.append(error)
            is_over.set()

        send_next()
        if not is_over.wait(PATIENCE):
            raise TimeoutError("no callback was called")
        if isinstance(outcomes[0], BaseException):
            raise outcomes[0]
        self.check(outcomes[0], expects_names=True)

    def many(self, rng: random.Random) -> None:
        """Execute many statements concurrently, and read all or some of their outcomes."""
        wants_rows_each = [rng.random() < 0.7 for _ in range(20)]
        outcomes = execute_concurrent(
            self.session,
            [
                (self.select, ()) if wants_rows else ("SELECT 1", None)
                for wants_rows in wants_rows_each
            ],
            concurrency=rng.randrange(1, 25),
            raise_on_first_error=False,
            results_generator=rng.random() < 0.5,
        )
        read_count = 20 if rng.random() < 0.9 else rng.randrange(20)
        for (success, outcome), wants_rows in zip(
            outcomes, wants_rows_each[:read_count], strict=False
        ):
            if not success:
                raise outcome
            self.check(outcome, wants_rows)

    def hurried(self, rng: random.Random) -> None:
        """Execute a statement with a timeout that is often too short."""
        timeout = rng.uniform(0, 0.02)  # seconds
        self.check(self.session.execute(self.select, timeout=timeout), expects_names=True)

    def breaking(self, rng: random.Random) -> None:
        """In a few of the calls, abort all connections of the session."""
        if rng.random() > RARELY:
            return
        loop = self.session._loop_thread.loop

        def abort_connections() -> None:
            for pool in list(self.session._engine.pools.values()):
                for connection in list(pool.connections):
                    connection.abort()

        loop.call_soon_threadsafe(abort_connections)

    def work(self, seed: int, calls: int) -> None:
        """Make `calls` random calls, and count their outcomes."""
        rng = random.Random(seed)
        actions: list[Callable[[random.Random], None]] = [
            *[self.blocking] * 10, *[self.future] * 5, *[self.callback] * 3, self.many,
            self.hurried, self.breaking,
        ]  # fmt: skip
        for _ in range(calls):
            action = rng.choice(actions)
            try:
                action(rng)
                outcome = "done"
            except (ConnectionException, OperationTimedOut) as error:
                outcome = type(error).__name__
                # Only `hurried` may time out; all other calls have the timeout LONG.
                if isinstance(error, OperationTimedOut) and action != self.hurried:
                    outcome = f"late {action.__name__}"
            except BaseException as error:
                outcome = f"{action.__name__}: {error!r}"
            with self._lock:
                self.outcomes[outcome] += 1


def wait_while_calls_end(threads: list[threading.Thread], mix: Mix) -> int:
    """Wait until all threads have ended, or until no call has ended for `PATIENCE` seconds.

    The whole run has no time limit, because a busy machine would exceed it although no call hangs.

    :returns: the number of threads that hang.
    """
    ended_before, deadline = -1, 0.0
    while any(thread.is_alive() for thread in threads):
        ended_now = mix.outcomes.total()
        if ended_now != ended_before:
            ended_before, deadline = ended_now, time.monotonic() + PATIENCE
        elif time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return sum(thread.is_alive() for thread in threads)


def use_session(server: tuple[str, int], thread_count: int, calls: int) -> int:
    """Use a new session in `thread_count` threads.

    :param server: the address and the port of the node.
    :param calls: the number of calls of each thread.
    :returns: the number of hanging threads, wrong or late calls, and deadlines that were not
        removed.
    """
    address, port = server
    with Cluster([address], port=port) as cluster:
        mix = Mix(cluster.connect())
        threads = [
            threading.Thread(target=mix.work, args=(seed, calls), daemon=True)
            for seed in range(thread_count)
        ]
        for thread in threads:
            thread.start()
        hung_count = wait_while_calls_end(threads, mix)
        # The driver raises NoHostAvailable, as expected, while it reconnects to the only host.
        wrong_outcomes = {
            outcome: count
            for outcome, count in mix.outcomes.items()
            if outcome not in FAIR and "NoHostAvailable" not in outcome
        }
        if wrong_outcomes or hung_count:
            print(wrong_outcomes, mix.outcomes, flush=True)
        # The session must remove each call's deadline when the call ends.
        timers = mix.session._engine.timers
        end = time.monotonic() + PATIENCE
        while len(timers) and time.monotonic() < end:
            time.sleep(0.01)
        return hung_count + sum(wrong_outcomes.values()) + len(timers)


def run(count: int) -> int:
    """Use a session in many threads, then in few threads, and return the number of faults.

    The second run sets IDLE_AFTER to -1. A thread then always sends its requests itself, instead of
    leaving them to the event loop.
    """
    fault_count = 0
    with node() as server:
        for thread_count, idle_after in ((THREADS, engine_loop.IDLE_AFTER), (FEW_THREADS, -1.0)):
            engine_loop.IDLE_AFTER = idle_after
            calls = count * PER_COUNT * THREADS // thread_count
            fault_count += use_session(server, thread_count, calls)
    return fault_count


if __name__ == "__main__":
    main("rounds of threads that mix their calls", run)
