"""Use celery's result backend: results, errors and states of tasks, and forgetting."""

from __future__ import annotations

import re

from celery import Celery, states
from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace

app = Celery("tried")
app.conf.update(
    broker_url="memory://",
    result_backend="cassandra",
    cassandra_servers=[HOST],
    cassandra_port=PORT,
    cassandra_keyspace=KEYSPACE,
    cassandra_table="results",
    cassandra_entry_ttl=3600,
    cassandra_read_consistency="ONE",
    cassandra_write_consistency="ONE",
    cassandra_options={"protocol_version": 4, "connect_timeout": 20},
    task_always_eager=True,
    task_store_eager_result=True,
    result_extended=True,
)


@app.task
def add(first: int, second: int) -> int:
    """Return the sum, which Celery stores as the result of the task."""
    return first + second


@app.task
def fail() -> None:
    """Raise an error, which Celery stores as the result of the task."""
    raise ValueError("it fails")


def main() -> None:
    """Store results of tasks with Celery, and print the content of its backend and of the table."""
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        print(add.apply_async((2, 3), task_id="first").get())
        fail.apply_async(task_id="second")
        backend = app.backend
        print(type(backend).__name__, backend.get_state("first"), backend.get_result("first"))
        print(backend.get_state("second"), repr(backend.get_result("second")))
        print(re.sub(r'File ".*?", line \d+', "File", backend.get_traceback("second"))[-200:])
        backend.store_result("third", {"nested": [1, 2, {"text": "ä"}]}, states.SUCCESS)
        backend.mark_as_started("fourth", pid=1)
        for task in ("third", "fourth", "unknown"):
            print(task, backend.get_state(task), backend.get_result(task))
        for row in session.execute(f"SELECT task_id, status, result FROM {KEYSPACE}.results"):
            print(tuple(row) if row.task_id != "second" else row.task_id)


main()
