"""Times requests to the null server with scylladb-rs-driver, by one of its APIs.

    worker_scylladb_rs.py {scylladb-rs,scylladb-rs-blocking} ADDRESS PORT [CASE ...]

"scylladb-rs" awaits the driver's futures on uvloop, and "scylladb-rs-blocking" calls the futures'
method `result`. The output has the same format as the output of worker_requests.py, whose cases and
passes this script uses. If the driver can do the work of a case in several ways, the cheapest way
is measured: a batch is filled by `add_all`, a page is read by `all`, and rows are the dicts that
the driver creates by default. Vectors are lists, because the driver accepts no NumPy arrays.
"""

from __future__ import annotations

import collections
import json
import os
import sys
from collections.abc import Callable
from typing import Any

# The script's folder is on sys.path, so import `worker_requests` as a top-level module. The package
# `benchmarks` cannot be imported in the environments in which this script runs.
from worker_requests import (  # type: ignore[import-not-found]
    BATCH_SIZE,
    BATCHES,
    COMPRESSION,
    IN_FLIGHT,
    INSERT,
    MANY,
    ONE_AT_A_TIME,
    PAGE,
    PAGE_ROWS,
    PAGES,
    ROW,
    SELECT,
    VECTOR_INSERT,
    VECTOR_PAGE,
    VECTOR_ROWS,
    VECTORS,
    Clock,
    Figures,
    by_workers,
    in_windows,
    vector,
)


def builder(address: str, port: int) -> Any:
    """Return a builder of sessions, with the settings of the other drivers in this benchmark."""
    from scylla.enums import Compression
    from scylla.session_builder import SessionBuilder
    from scylla.tls import TlsContext

    result = SessionBuilder().contact_points([(address, port)]).fetch_schema_metadata(False)
    if COMPRESSION:
        result = result.compression(Compression.Lz4)
    certificate = os.environ.get("TURBOCQL_BENCH_CA")
    if certificate:
        context = TlsContext()
        context.load_verify_locations(cafile=certificate)
        result = result.tls_context(context)
    return result


def filled_batch(insert: Any) -> Any:
    """Return an unlogged batch of `BATCH_SIZE` rows."""
    from scylla.batch import Batch, BatchType

    batch = Batch(BatchType.Unlogged)
    batch.add_all([(insert, ROW)] * BATCH_SIZE)
    return batch


def first_row(result: Any) -> Any:
    """Return the first row of a result's page."""
    return next(result.iter_current_page())


async def awaited(address: str, port: int) -> Figures:
    """Measure all cases with futures that are awaited."""
    clock = Clock()
    session = await builder(address, port).connect()
    insert, select, page, insert_vector, vector_page = [
        await session.prepare(text) for text in (INSERT, SELECT, PAGE, VECTOR_INSERT, VECTOR_PAGE)
    ]
    execute = session.execute
    # `passes` repeats each loop, and stores the best figures of all passes under the case's name.
    for _ in clock.passes("insert, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            await execute(insert, ROW)
    for _ in clock.passes("insert, 100 in flight", MANY):
        await by_workers(lambda: execute(insert, ROW), MANY)
    # `start` sends the request now. Without this call, a future of this driver does nothing until
    # it is awaited.
    for _ in clock.passes("insert, 100 in flight, begun together", MANY):
        await in_windows(lambda: execute(insert, ROW).start(), MANY)
    for _ in clock.passes("select of one row, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            assert first_row(await execute(select, (7,)))["a"] == 7
    for _ in clock.passes("select of one row, 100 in flight", MANY):
        await by_workers(lambda: execute(select, (7,)), MANY, lambda result: first_row(result)["a"])
    for _ in clock.passes("page of 5,000 rows x 5, a row", PAGES, PAGE_ROWS):
        for _ in range(PAGES):
            assert len(await (await execute(page, (7,))).all()) == PAGE_ROWS
    for _ in clock.passes("batch of 50 bound inserts, 100 in flight", BATCHES):
        await by_workers(lambda: session.batch(filled_batch(insert)), BATCHES)
    values = (7, list(map(float, vector())))
    for _ in clock.passes("vector<float,768> insert, 100 in flight", VECTORS):
        await by_workers(lambda: execute(insert_vector, values), VECTORS)
    for _ in clock.passes("page of 1,000 vectors<float,768>, a row", 1, VECTOR_ROWS):
        assert len(await (await execute(vector_page, (7,))).all()) == VECTOR_ROWS
    return clock.figures


def in_flight(
    start: Callable[[], Any], count: int, use_result: Callable[[Any], Any] | None = None
) -> None:
    """Run `count` requests from one thread, with `IN_FLIGHT` of them in flight.

    The driver also has callbacks, which cost five to eight times as much as `result`.

    :param start: returns the future of a request.
    :param use_result: is called with each result, to read its rows.
    """
    started: collections.deque[Any] = collections.deque()
    for number in range(count + IN_FLIGHT):
        # From the request number IN_FLIGHT on, wait for the oldest request before the next one
        # starts. After the last request, only wait.
        if number >= IN_FLIGHT:
            outcome = started.popleft().result()
            if use_result is not None:
                use_result(outcome)
        if number < count:
            started.append(start().start())


def blocking(address: str, port: int) -> Figures:
    """Measure all cases with `result`, which blocks until a future is done."""
    clock = Clock()
    session = builder(address, port).connect().result()
    insert, select, page, insert_vector, vector_page = [
        session.prepare(text).result()
        for text in (INSERT, SELECT, PAGE, VECTOR_INSERT, VECTOR_PAGE)
    ]
    execute = session.execute
    # `passes` repeats each loop, and stores the best figures of all passes under the case's name.
    for _ in clock.passes("insert, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            execute(insert, ROW).result()
    for _ in clock.passes("insert, 100 in flight", MANY):
        in_flight(lambda: execute(insert, ROW), MANY)
    for _ in clock.passes("select of one row, one at a time", ONE_AT_A_TIME):
        for _ in range(ONE_AT_A_TIME):
            assert first_row(execute(select, (7,)).result())["a"] == 7
    for _ in clock.passes("select of one row, 100 in flight", MANY):
        in_flight(lambda: execute(select, (7,)), MANY, lambda result: first_row(result)["a"])
    for _ in clock.passes("page of 5,000 rows x 5, a row", PAGES, PAGE_ROWS):
        for _ in range(PAGES):
            assert len(execute(page, (7,)).result().all().result()) == PAGE_ROWS
    for _ in clock.passes("batch of 50 bound inserts, 100 in flight", BATCHES):
        in_flight(lambda: session.batch(filled_batch(insert)), BATCHES)
    values = (7, list(map(float, vector())))
    for _ in clock.passes("vector<float,768> insert, 100 in flight", VECTORS):
        in_flight(lambda: execute(insert_vector, values), VECTORS)
    for _ in clock.passes("page of 1,000 vectors<float,768>, a row", 1, VECTOR_ROWS):
        assert len(execute(vector_page, (7,)).result().all().result()) == VECTOR_ROWS
    return clock.figures


def main() -> None:
    """Measure one API, and print its figures as JSON."""
    api, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if api == "scylladb-rs-blocking":
        figures = blocking(address, port)
    else:
        import uvloop

        figures = uvloop.run(awaited(address, port))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
