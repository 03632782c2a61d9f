"""The client's CPU time per request with different observers, compared with no observer.

    python benchmarks/observers.py [--rounds 15] [--check]

One asyncio session sends the same inserts to `_lib.null_server`. In each round, every kind of
observer is measured with 4,000 requests, 50 in flight. A figure is the least CPU time of the event
loop's thread over all rounds. "OpenTelemetry's SDK alone" is an observer that only calls the SDK's
functions, with constant attributes. Its difference to "OpenTelemetry's observer" is the cost of
this driver's code. ``benchmarks/instructions.py`` counts the instructions of a request without
observers.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks._lib import null_server
from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has

INSERT = "INSERT INTO five (a, b, c, d, e) VALUES (?, ?, ?, ?, ?)"
ROW = (7, "hello world", 7, 1.5, True)
TASKS = 50  # the number of asyncio tasks, each of which has one request in flight
# The most microseconds that an observer of a request's end may add to a request, and the most that
# the code of the driver's OpenTelemetry observer may add to the SDK's own time.
MOST_ADDED_BY_OBSERVER = 1.5
MOST_ADDED_BY_SPANS = 3


def end_observer() -> Any:
    """Return an observer as an application might write it, which counts the requests that end."""
    from cassandra.observers import ObservedRequest, RequestObserver

    class EndCounter(RequestObserver):
        """Counts the requests that end."""

        ended = 0

        def on_end(self, request: ObservedRequest) -> None:
            self.ended += 1

    return EndCounter()


def event_observer() -> Any:
    """Return an observer as an application might write it, which counts three events of requests.

    The events are the start, each attempt and the end.
    """
    from cassandra.observers import ObservedRequest, RequestObserver

    class EventCounter(RequestObserver):
        """Counts starts, attempts and ends of requests."""

        events = 0

        def on_start(self, request: ObservedRequest) -> None:
            self.events += 1

        def on_attempt(self, request: ObservedRequest, attempt: Any) -> None:
            self.events += 1

        def on_end(self, request: ObservedRequest) -> None:
            self.events += 1

    return EventCounter()


def latency_observer() -> Any:
    """Return an observer as an application might write it, which gets only latencies."""
    from cassandra.observers import RequestObserver

    class Latencies(RequestObserver):
        """Adds up the latencies of all requests."""

        def __init__(self) -> None:
            self.seconds = 0.0

        def on_latency(self, host: Any, seconds: float) -> None:
            self.seconds += seconds

    return Latencies()


def counters() -> Any:
    """Return the driver's observer that counts requests for Prometheus and StatsD."""
    from cassandra.observability.counters import RequestCounters

    return RequestCounters()


def logger() -> Any:
    """Return the driver's logger of slow requests, with a limit that no request reaches."""
    from cassandra.observability.logger import RequestLogger

    return RequestLogger(slow=30.0)


def opentelemetry_observer() -> Any:
    """Return the driver's OpenTelemetry observer, with an SDK that exports nothing."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

    from cassandra.observability.opentelemetry import OpenTelemetryObserver

    return OpenTelemetryObserver(TracerProvider(), MeterProvider())


def sdk_observer() -> Any:
    """Return an observer that only calls OpenTelemetry's SDK, with constant attributes."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import SpanKind

    from cassandra.observers import ObservedRequest, RequestObserver

    # These are the attributes that the driver's OpenTelemetry observer sets for an INSERT.
    tracer = TracerProvider().get_tracer("alone")
    durations = MeterProvider().get_meter("alone").create_histogram("duration", unit="s")
    server: dict[str, Any] = {"server.address": "127.0.0.1", "server.port": 9042}
    statement: dict[str, Any] = {
        "db.system.name": "cassandra",
        "db.operation.name": "INSERT",
        "db.namespace": "ks",
        "db.collection.name": "five",
    }
    at_start = {
        **statement,
        "db.query.summary": "INSERT ks.five",
        "cassandra.consistency.level": "local_one",
        "cassandra.query.idempotent": False,
        "db.query.text": INSERT,
        "cassandra.page.size": 5000,
    }
    at_end = {
        **server,
        "cassandra.coordinator.id": "6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47",
        "cassandra.coordinator.dc": "dc1",
        "cassandra.speculative_execution.count": 0,
        "cassandra.consistency.level": "local_one",
    }

    class Alone(RequestObserver):
        """Creates a span and a measurement for each request, as the driver's observer does."""

        def on_start(self, request: ObservedRequest) -> None:
            request.storage[self] = tracer.start_span(
                "INSERT ks.five", kind=SpanKind.CLIENT, attributes=at_start
            )

        def on_attempt(self, request: ObservedRequest, attempt: Any) -> None:
            request.storage[self].add_event("attempt", server)

        def on_end(self, request: ObservedRequest) -> None:
            span = request.storage[self]
            span.set_attributes(at_end)
            span.end()
            durations.record(0.001, {**statement, **server})

    return Alone()


async def measure(
    bench: Benchmark,
    observer_factories: Sequence[tuple[str, Callable[[], Any]]],
    rounds: int,
    requests: int,
) -> dict[str, float]:
    """Return the CPU microseconds of a request, by the name of the observer.

    :param observer_factories: (name, function that creates the observer) for each observer.
    :param requests: the number of requests for each observer in one round.
    """
    from cassandra import aio

    best: dict[str, float] = {}
    observers_by_name = [
        (name, [] if name == "none" else [make()]) for name, make in observer_factories
    ]
    with null_server.running() as (address, port):
        async with aio.Cluster(
            [address],
            port=port,
            protocol_version=4,
            compression=False,
            schema_metadata_enabled=False,
            token_metadata_enabled=False,
        ) as cluster:
            session = await cluster.connect()
            insert = await session.prepare(INSERT)

            async def work(count: int) -> None:
                for _ in range(count):
                    await session.execute(insert, ROW)

            requests_per_task = requests // TASKS
            with bench.progress(rounds) as bar:
                for turn in range(rounds):
                    bar.step(f"round {turn + 1}")
                    # Measure each observer in every round, and keep its best round.
                    for name, observers in observers_by_name:
                        cluster.request_observers = observers
                        began = time.thread_time()
                        await asyncio.gather(*(work(requests_per_task) for _ in range(TASKS)))
                        seconds = time.thread_time() - began
                        microseconds = seconds / (requests_per_task * TASKS) * 1e6
                        best[name] = min(best.get(name, microseconds), microseconds)
    return best


def main(arguments: list[str] | None = None) -> int:
    bench = Benchmark(
        __doc__,
        "CPU time that observers add to a request",
        duration_text="40 seconds",
        quick_duration_text="5 s",
    )
    bench.add_option("--rounds", type=int, default=15, help="how often each is measured")
    options = bench.start(arguments, quick={"rounds": 3})
    bench.need_program("cc")  # to compile the null server
    observer_factories: list[tuple[str, Callable[[], Any]]] = [
        ("none", lambda: None),
        ("latencies alone", latency_observer),
        ("an observer of the end", end_observer),
        ("an observer of beginning, attempt and end", event_observer),
        ("the request logger, nothing to log", logger),
        ("counters for Prometheus", counters),
    ]
    has_otel = has("opentelemetry.sdk")
    if has_otel:
        observer_factories += [
            ("OpenTelemetry's SDK alone", sdk_observer),
            ("OpenTelemetry's observer", opentelemetry_observer),
        ]
    else:
        bench.note("without OpenTelemetry: pip install opentelemetry-sdk")
    best = asyncio.run(
        measure(bench, observer_factories, options.rounds, 400 if options.quick else 4000)
    )
    # Subtract the time of a request without observers, and compare with the targets.
    base = best["none"]
    rows: dict[str, dict[str, float | None]] = {
        name: {"us a request": microseconds, "added": microseconds - base}
        for name, microseconds in best.items()
    }
    added = best["an observer of the end"] - base
    bench.add_target(
        f"an observer of the end adds {added:.2f} us, at most {MOST_ADDED_BY_OBSERVER:g}",
        added <= MOST_ADDED_BY_OBSERVER,
    )
    if has_otel:
        added_by_spans = best["OpenTelemetry's observer"] - best["OpenTelemetry's SDK alone"]
        bench.add_target(
            f"spans add {added_by_spans:.2f} us to the SDK's own time, "
            f"at most {MOST_ADDED_BY_SPANS:g}",
            added_by_spans <= MOST_ADDED_BY_SPANS,
        )
    bench.show_table("CPU time of the client", rows, {})
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
