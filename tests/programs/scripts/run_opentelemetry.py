"""Use the OpenTelemetry instrumentor: spans of requests, and none that the program did not make."""

from __future__ import annotations

from common import KEYSPACE, make_cluster, new_keyspace
from opentelemetry.instrumentation.cassandra import CassandraInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import BatchStatement, SimpleStatement

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))


def print_spans(heading: str) -> None:
    """Print the spans since the last call under a heading, and forget them."""
    print("===", heading)
    for span in exporter.get_finished_spans():
        attributes = dict(sorted((span.attributes or {}).items()))
        print(span.name, span.kind, span.status.status_code, attributes)
    exporter.clear()


def make_requests(cluster: Cluster) -> None:
    """Execute each kind of request, and print the spans that the request has caused."""
    session = cluster.connect()
    print_spans("connect")
    new_keyspace(session)
    session = cluster.connect(KEYSPACE)
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    print_spans("a keyspace and a table")
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    print_spans("prepare")
    session.execute(insert, (1, "one"))
    session.execute(insert.bind([2, "two"]))
    session.execute("INSERT INTO t (id, v) VALUES (%s, %s)", (3, "three"))
    batch = BatchStatement()
    batch.add(insert, (4, "four"))
    session.execute(batch)
    execute_concurrent_with_args(session, insert, [(number, "x") for number in range(5, 9)])
    print_spans("writes")
    statement = SimpleStatement("SELECT * FROM t", fetch_size=3)
    print(sorted(row.id for row in session.execute(statement)))
    print(session.execute_async("SELECT count(*) FROM t").result().one()[0])
    print_spans("reads")
    try:
        session.execute("SELECT * FROM nowhere")
    except Exception as error:
        print(type(error).__name__)
    print_spans("an error")


def main() -> None:
    """Make requests with OpenTelemetry's instrumentation, and a request after its removal."""
    instrumentor = CassandraInstrumentor()
    print(instrumentor.instrumentation_dependencies())
    instrumentor.instrument(tracer_provider=provider, include_db_statement=True)
    print("instrumented", instrumentor.is_instrumented_by_opentelemetry)
    with make_cluster() as cluster:
        make_requests(cluster)
        session = cluster.connect()
        instrumentor.uninstrument()
        session.execute("SELECT key FROM system.local")
        print_spans("uninstrumented")


main()
