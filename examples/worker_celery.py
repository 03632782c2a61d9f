"""A Celery worker (``pip install celery``): ``celery --workdir examples -A worker_celery worker``.

The prefork pool forks its worker processes. Each process connects when it has started, and closes
its connections before it ends.
"""

from __future__ import annotations

import os
import uuid
from typing import Any

from celery import Celery
from celery.signals import worker_process_init, worker_process_shutdown

from cassandra.cluster import Cluster, Session

HOSTS = os.environ.get("CASSANDRA_HOSTS", "127.0.0.1").split(",")
# In production, set 3 replicas: with 1, requests fail while the node that has the row is down.
REPLICAS = int(os.environ.get("CASSANDRA_REPLICAS", "1"))
SCHEMA = (
    "CREATE KEYSPACE IF NOT EXISTS service WITH replication = "
    f"{{'class': 'SimpleStrategy', 'replication_factor': {REPLICAS}}}",
    "CREATE TABLE IF NOT EXISTS service.mails (id uuid PRIMARY KEY, address text, body text)",
)

app = Celery("worker_celery", broker=os.environ.get("CELERY_BROKER", "memory://"))
_session: Session | None = None


@worker_process_init.connect
def connect(**_: Any) -> None:
    """Connect. Celery calls this function in each worker process, after the fork."""
    global _session
    _session = Cluster(HOSTS).connect()
    for statement in SCHEMA:
        _session.execute(statement)


@worker_process_shutdown.connect
def shut_down(**_: Any) -> None:
    """Close this worker process's connections."""
    if _session is not None:
        _session.cluster.shutdown()


@app.task
def send_mail(address: str, body: str) -> str:
    """Store a mail, and return its id."""
    if _session is None:
        raise RuntimeError("this process has not connected: is it a worker of Celery's?")
    number = uuid.uuid4()
    _session.execute(
        "INSERT INTO service.mails (id, address, body) VALUES (?, ?, ?)", (number, address, body)
    )
    return str(number)
