"""A web application for gunicorn's gevent worker.

A blocking call of one request parks its greenlet, and the worker serves the others.

    pip install turbocql gunicorn gevent
    gunicorn --worker-class gevent gunicorn_gevent:app

CASSANDRA names the contact points, with a comma between them, and CASSANDRA_PORT their port.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from cassandra.cluster import Cluster, Session


@cache
def session() -> Session:
    """The session of this worker, made after the fork at its first request."""
    points = os.environ.get("CASSANDRA", "127.0.0.1").split(",")
    port = int(os.environ.get("CASSANDRA_PORT", "9042"))
    return Cluster(points, port=port).connect()


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer each request with the server's version."""
    version = session().execute("SELECT release_version FROM system.local").one().release_version
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"version": version}).encode()]
