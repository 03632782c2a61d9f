"""A load test with Locust. Each user is a greenlet, so a waiting read blocks only one user.

    pip install turbocql locust
    locust --headless --users 100 --spawn-rate 100 --run-time 10s -f locustfile.py

The environment variable CASSANDRA lists the contact points, separated by commas, and
CASSANDRA_PORT is their port.
"""

from __future__ import annotations

import os
import time
from typing import Any

from locust import User, constant, events, task

from cassandra.cluster import Cluster


@events.test_start.add_listener  # type: ignore[untyped-decorator]
def connect(environment: Any, **_: object) -> None:
    """Connect the session that all users share."""
    points = os.environ.get("CASSANDRA", "127.0.0.1").split(",")
    port = int(os.environ.get("CASSANDRA_PORT", "9042"))
    environment.session = Cluster(points, port=port).connect()


@events.test_stop.add_listener  # type: ignore[untyped-decorator]
def disconnect(environment: Any, **_: object) -> None:
    """Close the shared session."""
    environment.session.cluster.shutdown()


class Reader(User):  # type: ignore[misc]
    """A simulated user that sends one read after the other, without a pause."""

    wait_time = constant(0)

    @task  # type: ignore[untyped-decorator]
    def read(self) -> None:
        """Read one row, and report the time in milliseconds to Locust."""
        began = time.perf_counter()
        error = None
        try:
            self.environment.session.execute("SELECT release_version FROM system.local")
        except Exception as raised:
            error = raised
        self.environment.events.request.fire(
            request_type="CQL",
            name="release_version",
            response_time=(time.perf_counter() - began) * 1000,
            response_length=0,
            exception=error,
        )
