"""Threads that bind rows and decode pages, for `benchmarks.threads`.

    worker_threads.py THREADS SECONDS {own,shared}

The objects that bind and decode rows for a list of columns are a bind plan and a row plan. With
"own", each thread has its own plans; with "shared", all threads use the same plans. The script
prints how many rows all threads together bind and decode per second.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from cassandra import _impl, cqltypes
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata

TYPE_NAMES = ("Int32Type", "UTF8Type", "LongType", "DoubleType", "BooleanType", "UTF8Type")
ROW = (7, "a text", 1 << 40, 2.5, True, "another text")
ROWS_IN_PAGE = 100
PAGES_BETWEEN_LOOKS = 20  # the number of pages that a thread processes between two clock readings
PROTOCOL_VERSION = 5


def new_plans() -> tuple[Any, Any]:
    """Return a bind plan and a row plan for the columns of `ROW`."""
    columns = [
        ColumnMetadata("ks", "t", f"c{number}", cqltypes.lookup_casstype(name))
        for number, name in enumerate(TYPE_NAMES)
    ]
    return _impl.bind.BindPlan(columns, [0]), ResultMetadata(columns).row_plan


def rows_until(end: float, bind_plan: Any, row_plan: Any) -> int:
    """Bind and decode rows until the monotonic clock reaches `end`; return how many."""
    values = bind_plan.bind(ROW, PROTOCOL_VERSION).data
    page = ROWS_IN_PAGE.to_bytes(4, "big") + values * ROWS_IN_PAGE
    count = 0
    while time.perf_counter() < end:
        for _ in range(PAGES_BETWEEN_LOOKS):
            for _ in range(ROWS_IN_PAGE):
                bind_plan.bind(ROW, PROTOCOL_VERSION)
            row_plan.tuples(page, 4, ROWS_IN_PAGE)
        count += PAGES_BETWEEN_LOOKS * ROWS_IN_PAGE
    return count


def count_in_threads(thread_count: int, work: Callable[[int], int]) -> int:
    """Call `work` once in each thread, with the thread's number; return the sum of the results."""
    counts = [0] * thread_count

    def run(number: int) -> None:
        counts[number] = work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(thread_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


def main(thread_count: int, seconds: float, plans: str) -> None:
    """Run the threads, and print their rows per second.

    :param plans: "own" or "shared".
    """
    shared_plans = new_plans() if plans == "shared" else None
    began = time.perf_counter()
    count = count_in_threads(
        thread_count,
        lambda _: rows_until(began + seconds, *(shared_plans or new_plans())),
    )
    print(json.dumps(count / (time.perf_counter() - began)))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
