"""A Flask service (``pip install flask gunicorn``).

``gunicorn --chdir examples --preload --workers 4 "service_flask:create_app()"``. Each worker
process connects once, at its first request, which comes after the fork. Its threads share the
session.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from cassandra.cluster import Cluster, Session

HOSTS = os.environ.get("CASSANDRA_HOSTS", "127.0.0.1").split(",")
# In production, set 3 replicas: with 1, requests fail while the node that has the row is down.
REPLICAS = int(os.environ.get("CASSANDRA_REPLICAS", "1"))
SCHEMA = (
    "CREATE KEYSPACE IF NOT EXISTS service WITH replication = "
    f"{{'class': 'SimpleStrategy', 'replication_factor': {REPLICAS}}}",
    "CREATE TABLE IF NOT EXISTS service.visits (page text PRIMARY KEY, count counter)",
)


class Database:
    """Holds one session for each process.

    A session does not work in a process that was forked after it had connected. Each forked
    process that has inherited this object connects a new session at its first request.
    """

    def __init__(self, hosts: list[str], **settings: Any) -> None:
        self._hosts, self._settings = hosts, settings
        self._lock = threading.Lock()
        self._process = 0
        self._session: Session | None = None

    def session(self) -> Session:
        with self._lock:
            if self._session is None or self._process != os.getpid():
                self._process = os.getpid()
                self._session = Cluster(self._hosts, **self._settings).connect()
                for statement in SCHEMA:
                    self._session.execute(statement)
            return self._session

    def close(self) -> None:
        with self._lock:
            if self._session is not None and self._process == os.getpid():
                self._session.cluster.shutdown()
            self._session = None


def create_app(hosts: list[str] = HOSTS, **settings: Any) -> Any:
    from flask import Flask

    app = Flask(__name__)
    app.extensions["cassandra"] = database = Database(hosts, **settings)

    @app.post("/visits/<page>")
    def visit(page: str) -> dict[str, Any]:
        session = database.session()
        session.execute("UPDATE service.visits SET count = count + 1 WHERE page = ?", (page,))
        row = session.execute("SELECT count FROM service.visits WHERE page = ?", (page,)).one()
        return {"page": page, "count": row.count, "process": os.getpid()}

    return app
