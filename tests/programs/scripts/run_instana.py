"""Use Instana's tracer: spans that a listener of requests begins and callbacks end."""

from __future__ import annotations

import os

os.environ.update(INSTANA_TEST="true", INSTANA_ENDPOINT_URL="http://127.0.0.1:1")
os.environ["INSTANA_LOG_LEVEL"] = "critical"

import instana
import instana.instrumentation.cassandra  # noqa: F401
from common import KEYSPACE, make_cluster, new_keyspace
from instana.recorder import StanRecorder
from instana.singletons import agent, get_tracer

from cassandra.cluster import Session
from cassandra.query import BatchStatement, SimpleStatement


def make_requests(session: Session) -> None:
    """Execute simple, prepared and batch statements, and read several pages."""
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    session.execute(insert, (1, "one"))
    session.execute(SimpleStatement("INSERT INTO t (id, v) VALUES (%s, %s)"), (3, "three"))
    batch = BatchStatement()
    batch.add(insert, (4, "four"))
    session.execute(batch)
    statement = SimpleStatement("SELECT * FROM t", fetch_size=2)
    print(sorted(row.id for row in session.execute(statement)))


def main() -> None:
    """Make requests and a mistake while Instana traces them; print the spans, sorted."""
    tracer = get_tracer()
    recorder = tracer.span_processor
    # Without an agent on this machine, Instana would record no spans. So pretend that the agent is
    # ready. `get_from_structure` returns data of the agent for each span; here it has none.
    type(agent).can_send = lambda self: True
    type(agent).get_from_structure = lambda self: {}
    recorder.clear_spans()
    # The name of the type shows whether Instana has wrapped `Session.__init__`.
    print(type(Session.__init__).__name__, type(agent).__name__, StanRecorder.__name__)
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        session = cluster.connect(KEYSPACE)
        with tracer.start_as_current_span("root"):
            make_requests(session)
        try:
            session.execute("SELECT * FROM nowhere")
        except Exception as error:
            print(type(error).__name__)
    spans = recorder.queued_spans()
    # The span of a further page may end before or after the root span, so sort the lines.
    for line in sorted(
        describe(span.data["cassandra"]) for span in spans if "cassandra" in span.data
    ):
        print(line)


def describe(data) -> str:
    """Return the fields of a span that have a value, sorted by their names."""
    return str({name: data[name] for name in sorted(data) if data[name] is not None})


main()
