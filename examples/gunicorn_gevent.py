"""A web application for gunicorn's gevent worker.

While a blocking call waits, only its greenlet waits; the worker serves other requests then.

    pip install turbocql gunicorn gevent
    gunicorn --worker-class gevent gunicorn_gevent:app

The environment variable CASSANDRA lists the contact points, separated by commas, and
CASSANDRA_PORT is their port.
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
    """Return the session of this worker process.

    It connects at the first request, because a forked process cannot use the session of its parent.
    """
    points = os.environ.get("CASSANDRA", "127.0.0.1").split(",")
    port = int(os.environ.get("CASSANDRA_PORT", "9042"))
    return Cluster(points, port=port).connect()


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request with the Cassandra node's version."""
    version = session().execute("SELECT release_version FROM system.local").one().release_version
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"version": version}).encode()]
