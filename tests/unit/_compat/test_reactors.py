"""`Cluster(connection_class=...)` accepts cassandra-driver's classes for different event loops.

In turbocql, these classes are aliases of its own connection class.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cluster import Cluster
from cassandra.io.eventletreactor import EventletConnection
from cassandra.io.geventreactor import GeventConnection
from cassandra.io.twistedreactor import TwistedConnection
from cassandra.testing.fake import FakeNode, rows


@pytest.mark.parametrize("reactor", [EventletConnection, GeventConnection, TwistedConnection])
def test_connection_classes_of_event_loops_are_accepted(reactor: Any) -> None:
    with FakeNode() as node:
        node.prime("SELECT v", rows([("v", "int")], [(5,)]))
        with Cluster([node.address], port=node.port, connection_class=reactor) as cluster:
            assert cluster.connect().execute("SELECT v").one() == (5,)
    # Applications call these methods, which do nothing in turbocql.
    EventletConnection.service_timeouts()
    reactor.initialize_reactor()
    reactor.handle_fork()
