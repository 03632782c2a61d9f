"""Use these features of Elastic APM: spans of connect and execute inside a transaction."""

from __future__ import annotations

import elasticapm
from elasticapm.base import Client

client = Client(
    service_name="tried", server_url="http://127.0.0.1:1", cloud_provider="none",
    metrics_interval="0s", central_config=False, span_compression_enabled=False,
)  # fmt: skip
events: list = []
# Keep the events here instead of sending them to a server.
client.tracer.queue_func = lambda kind, data, flush=False: events.append((kind, data))
elasticapm.instrument()

from common import KEYSPACE, make_cluster, new_keyspace  # noqa: E402

from cassandra.cluster import Session  # noqa: E402
from cassandra.query import SimpleStatement  # noqa: E402


def make_requests(session: Session) -> None:
    """Execute simple, prepared, bound and failing statements, and read several pages."""
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    session.execute(insert, (1, "one"))
    session.execute(insert.bind((2, "two")))
    session.execute(SimpleStatement("INSERT INTO t (id, v) VALUES (%s, %s)"), (3, "three"))
    statement = SimpleStatement("SELECT * FROM t", fetch_size=2)
    print(sorted(row.id for row in session.execute(statement)))
    try:
        session.execute("SELECT * FROM nowhere")
    except Exception as error:
        print(type(error).__name__)


def main() -> None:
    """Make requests in a transaction of Elastic APM, and print the recorded spans."""
    client.begin_transaction("script")
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        session = cluster.connect(KEYSPACE)
        make_requests(session)
    client.end_transaction("tried", "ok")
    for kind, data in events:
        if kind == "span":
            context = data["context"]
            print(data["name"], data["type"], data["subtype"], data["action"], data["outcome"])
            print(context.get("db"), sorted(context.get("destination", {}).items()))
    print(len(events))


main()
