"""Spans, metrics and a log of requests (``pip install turbocql[prometheus] opentelemetry-sdk``).

``python examples/observability.py`` executes some statements, one of which fails. It prints their
spans, a log line for each request, and the page that Prometheus would read. It connects to a node
on this machine (``python -m cassandra.testing start``), or to ``--contact-points``.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from prometheus_client import CollectorRegistry, generate_latest

from cassandra import InvalidRequest
from cassandra.cluster import Cluster, Session
from cassandra.observability.logger import RequestLogger
from cassandra.observability.opentelemetry import OpenTelemetryObserver
from cassandra.observability.prometheus import ClusterCollector

# In production, set 3 replicas: with 1, requests fail while the node that has the row is down.
REPLICAS = int(os.environ.get("CASSANDRA_REPLICAS", "1"))
SCHEMA = (
    "CREATE KEYSPACE IF NOT EXISTS observed WITH replication = "
    f"{{'class': 'SimpleStrategy', 'replication_factor': {REPLICAS}}}",
    "CREATE TABLE IF NOT EXISTS observed.orders (customer int, number int, total decimal, "
    "PRIMARY KEY (customer, number))",
)


def line(span: ReadableSpan) -> str:
    """Format a span as one line."""
    attributes = dict(span.attributes or {})
    events = ", ".join(event.name for event in span.events)
    return (
        f"span {span.name}: {attributes.get('db.query.text', '')} "
        f"[{attributes['cassandra.consistency.level']}, {events}] "
        f"{attributes.get('error.type', '')}".rstrip()
        + "\n"
    )


def work(session: Session) -> None:
    """Execute some statements; the server rejects the last one."""
    for statement in SCHEMA:
        session.execute(statement)
    insert = session.prepare(
        "INSERT INTO observed.orders (customer, number, total) VALUES (?, ?, ?)"
    )
    for number in range(3):
        session.execute(insert, (1, number, 9))
    session.execute("SELECT total FROM observed.orders WHERE customer = 1")
    try:
        session.execute("SELECT total FROM observed.orders WHERE total = 9")
    except InvalidRequest as error:
        print("refused:", error)


def main() -> None:
    """Execute the statements, and print what was observed."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--contact-points", default="127.0.0.1")
    arguments = options.parse_args()
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="log %(message)s")
    logging.getLogger("cassandra").setLevel(logging.WARNING)
    logging.getLogger("cassandra.requests").setLevel(logging.INFO)

    # Print each span of OpenTelemetry as one line.
    tracers = TracerProvider()
    exporter = ConsoleSpanExporter(out=sys.stdout, formatter=line)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    registry = CollectorRegistry()
    with Cluster(
        arguments.contact_points.split(","),
        request_observers=[OpenTelemetryObserver(tracers), RequestLogger(sample=1.0)],
    ) as cluster:
        # Register the cluster's metrics for Prometheus, and print them at the end.
        registry.register(ClusterCollector(cluster))
        work(cluster.connect())
        print(generate_latest(registry).decode())


if __name__ == "__main__":
    main()
