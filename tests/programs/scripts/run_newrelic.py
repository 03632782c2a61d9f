"""Use these features of New Relic's agent: traces of execute and connect inside a transaction."""

from __future__ import annotations

import os

os.environ.update(NEW_RELIC_LICENSE_KEY="0" * 40, NEW_RELIC_DEVELOPER_MODE="true",
                  NEW_RELIC_APP_NAME="tried", NEW_RELIC_LOG="/dev/null")  # fmt: skip

import newrelic.agent

newrelic.agent.initialize()

from common import KEYSPACE, PORT, make_cluster, new_keyspace  # noqa: E402
from newrelic.api.background_task import BackgroundTask  # noqa: E402

from cassandra.cluster import Cluster, Session  # noqa: E402
from cassandra.concurrent import execute_concurrent_with_args  # noqa: E402
from cassandra.query import SimpleStatement  # noqa: E402


def make_requests() -> None:
    """Execute simple, prepared, bound and concurrent statements."""
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        session = cluster.connect(KEYSPACE)
        session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
        session.execute(insert, (1, "one"))
        session.execute(insert.bind((2, "two")))
        session.execute(SimpleStatement("INSERT INTO t (id, v) VALUES (%s, %s)"), (3, "three"))
        session.execute_async("SELECT * FROM t WHERE id = %s", (1,)).result()
        execute_concurrent_with_args(session, insert, [(number, "x") for number in range(4, 7)])
        print(sorted(row.id for row in session.execute("SELECT * FROM t")))


def print_node(node, depth: int = 0) -> None:
    """Print a node of a recorded trace, and its children with more indentation."""
    fields = {
        name: getattr(node, name)
        for name in ("sql", "host", "database_name", "sql_parameters")
        if getattr(node, name, None) is not None
    }
    port = getattr(node, "port_path_or_id", None)
    if port is not None:
        fields["port"] = int(port) == PORT
    print(" " * depth, type(node).__name__, getattr(node, "name", ""), fields)
    for child in node.children:
        print_node(child, depth + 1)


def main() -> None:
    """Make requests in a transaction of New Relic, and print the recorded trace."""
    # The names of the types show whether New Relic has wrapped the methods.
    print(type(Session.execute).__name__, type(Cluster.connect).__name__)
    application = newrelic.agent.register_application(timeout=10)
    # Keep the traces here instead of sending them to a server.
    nodes: list = []
    application.record_transaction = lambda node: nodes.append(node)
    with BackgroundTask(application, name="tried"):
        make_requests()
    for node in nodes:
        print_node(node.root)


main()
