"""Use ddtrace: spans of requests and of their pages, with rows, hosts and errors."""

from __future__ import annotations

import os

os.environ.update(DD_TRACE_ENABLED="true", DD_INSTRUMENTATION_TELEMETRY_ENABLED="false")
os.environ["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"

import ddtrace
from ddtrace.trace import TraceFilter, tracer

SPANS: list = []  # the spans since the last call of `print_spans`


class Keep(TraceFilter):
    """Keeps each span in SPANS instead of sending it to an agent."""

    def process_trace(self, trace):
        SPANS.extend(trace)


tracer.configure(trace_processors=[Keep()])
ddtrace.patch(cassandra=True)

from common import KEYSPACE, make_cluster, new_keyspace  # noqa: E402

from cassandra.cluster import Cluster  # noqa: E402
from cassandra.query import BatchStatement, SimpleStatement  # noqa: E402

# Beginnings of the names of tags that are not compared.
LEFT_OUT = ("runtime-id", "_dd.", "process_id", "language", "_sampling", "error.stack")


def print_spans(heading: str) -> None:
    """Print the spans since the last call, and forget them."""
    print("===", heading)
    for span in sorted(SPANS, key=lambda span: span.start_ns):
        tags = {**span.get_tags(), **span.get_metrics()}
        shown_tags = {key: tags[key] for key in sorted(tags) if not key.startswith(LEFT_OUT)}
        # The message of an error differs between drivers.
        shown_tags.pop("error.message", None)
        print(span.name, span.service, span.resource, span.error, shown_tags)
    SPANS.clear()


def make_requests(cluster: Cluster) -> None:
    """Execute each kind of request, and print the spans that ddtrace has recorded for it."""
    session = cluster.connect()
    print_spans("connect")
    new_keyspace(session)
    session = cluster.connect(KEYSPACE)
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    session.execute(insert, (1, "one"))
    print_spans("schema and a write")
    batch = BatchStatement()
    batch.add(insert, (2, "two"))
    batch.add("INSERT INTO t (id, v) VALUES (3, 'three')")
    batch.add(SimpleStatement("INSERT INTO t (id, v) VALUES (%s, %s)"), (4, "four"))
    session.execute(batch)
    print_spans("a batch")
    statement = SimpleStatement("SELECT * FROM t", fetch_size=3)
    print(sorted(row.id for row in session.execute(statement)))
    print_spans("pages")
    for future in [session.execute_async("SELECT * FROM t WHERE id = %s", (i,)) for i in (1, 9)]:
        print([tuple(row) for row in future.result()])
    print_spans("futures")
    try:
        session.execute("SELECT * FROM nowhere")
    except Exception as error:
        print(type(error).__name__)
    print_spans("an error")


def main() -> None:
    with make_cluster() as cluster:
        make_requests(cluster)


main()
