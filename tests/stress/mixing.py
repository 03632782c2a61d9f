"""Thirty-two threads that use one session in every way at a time: blocking calls, futures,
callbacks that ask again, short time limits, connections that break. Each call has to end, with the
answer to its own question. Then three threads do the same, whose requests are not joined.
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
from tests.stress.serving import PATIENCE, main, node

THREADS = 32
FEW_THREADS = 3
PER_COUNT = 50  # calls of each thread
RARELY = 0.002
LONG = 20.0  # seconds
FAIR = {"done", "ConnectionException", "ConnectionShutdown", "OperationTimedOut"}

_NAMES = "SELECT keyspace_name FROM system_schema.keyspaces"


class Wrong(Exception):
    """An answer to another question."""


class Mix:
    """What each thread does, and what became of it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.select = session.prepare(_NAMES)
        self.outcomes: Counter[str] = Counter()
        self.unended = 0
        self._lock = threading.Lock()

    def check(self, rows: Any, wants_names: bool) -> None:
        """`system_schema` answers have rows, the others none."""
        count = len(list(rows or ()))
        if (count == 20) != wants_names:
            raise Wrong(f"{count} rows")

    def blocking(self, chance: random.Random) -> None:
        wants = chance.random() < 0.5
        statement: Any = self.select if wants else "INSERT INTO t (k) VALUES (1)"
        self.check(self.session.execute(statement, timeout=LONG), wants)

    def future(self, chance: random.Random) -> None:
        wants = [chance.random() < 0.5 for _ in range(chance.randrange(1, 8))]
        futures = [
            self.session.execute_async(self.select if one else "SELECT 1", timeout=LONG)
            for one in wants
        ]
        for one, future in zip(wants, futures, strict=True):
            self.check(future.result(), one)

    def callback(self, chance: random.Random) -> None:
        """A chain: each callback asks again, in the loop's thread."""
        over = threading.Event()
        found: list[Any] = []
        left = chance.randrange(1, 5)

        def ask() -> None:
            self.session.execute_async(self.select, timeout=LONG).add_callbacks(take, fail)

        def take(rows: Any) -> None:
            nonlocal left
            left -= 1
            if left:
                ask()
            else:
                found.append(rows)
                over.set()

        def fail(error: Any) -> None:
            found.append(error)
            over.set()

        ask()
        if not over.wait(PATIENCE):
            raise TimeoutError("no callback was called")
        if isinstance(found[0], BaseException):
            raise found[0]
        self.check(found[0], True)

    def many(self, chance: random.Random) -> None:
        """Usual statements and others in turn, all of them or some of the outcomes read."""
        wants = [chance.random() < 0.7 for _ in range(20)]
        outcomes = execute_concurrent(
            self.session,
            [(self.select, ()) if one else ("SELECT 1", None) for one in wants],
            concurrency=chance.randrange(1, 25),
            raise_on_first_error=False,
            results_generator=chance.random() < 0.5,
        )
        read = 20 if chance.random() < 0.9 else chance.randrange(20)
        for (success, outcome), one in zip(outcomes, wants[:read], strict=False):
            if not success:
                raise outcome
            self.check(outcome, one)

    def hurried(self, chance: random.Random) -> None:
        """With a time limit that is often too short."""
        self.check(self.session.execute(self.select, timeout=chance.uniform(0, 0.02)), True)

    def breaking(self, chance: random.Random) -> None:
        """A connection breaks under all the others."""
        if chance.random() > RARELY:
            return
        loop = self.session._loop_thread.loop

        def abort() -> None:
            for pool in list(self.session._engine.pools.values()):
                for connection in list(pool.connections):
                    connection.abort()

        loop.call_soon_threadsafe(abort)

    def work(self, seed: int, calls: int) -> None:
        chance = random.Random(seed)
        ways: list[Callable[[random.Random], None]] = [
            *[self.blocking] * 10, *[self.future] * 5, *[self.callback] * 3, self.many,
            self.hurried, self.breaking,
        ]  # fmt: skip
        for _ in range(calls):
            way = chance.choice(ways)
            try:
                way(chance)
                outcome = "done"
            except (ConnectionException, OperationTimedOut) as error:
                outcome = type(error).__name__
                if isinstance(error, OperationTimedOut) and way != self.hurried:
                    outcome = f"late {way.__name__}"
            except BaseException as error:
                outcome = f"{way.__name__}: {error!r}"
            with self._lock:
                self.outcomes[outcome] += 1


def use(place: tuple[str, int], thread_count: int, calls: int, patience: float) -> int:
    """One session; how many threads hung, calls were late, or answers were not those asked for."""
    with Cluster([place[0]], port=place[1]) as cluster:
        mix = Mix(cluster.connect())
        threads = [
            threading.Thread(target=mix.work, args=(seed, calls), daemon=True)
            for seed in range(thread_count)
        ]
        end = time.monotonic() + patience
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        hung = sum(thread.is_alive() for thread in threads)
        # NoHostAvailable, while the only host is being connected to again.
        wrong = {
            what: times
            for what, times in mix.outcomes.items()
            if what not in FAIR and "NoHostAvailable" not in what
        }
        if wrong or hung:
            print(wrong, mix.outcomes, flush=True)
        # What has ended has no deadline any more.
        timers = mix.session._engine.timers
        end = time.monotonic() + PATIENCE
        while len(timers) and time.monotonic() < end:
            time.sleep(0.01)
        return hung + sum(wrong.values()) + len(timers)


def run(count: int) -> int:
    """What went wrong in all sessions: of many threads, and of a few that write by themselves."""
    wrong = 0
    with node() as place:
        for thread_count, idle_after in ((THREADS, engine_loop.IDLE_AFTER), (FEW_THREADS, -1.0)):
            engine_loop.IDLE_AFTER = idle_after
            calls = count * PER_COUNT * THREADS // thread_count
            wrong += use(place, thread_count, calls, PATIENCE + 2 * count)
    return wrong


if __name__ == "__main__":
    main("rounds of threads that mix their calls", run)
