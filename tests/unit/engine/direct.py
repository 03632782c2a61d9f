"""A session for tests of requests that are sent in the calling thread, without the event loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import FallthroughRetryPolicy, RoundRobinPolicy
from cassandra.testing.fake import FakeNode


@contextmanager
def connected(node: FakeNode, **settings: Any) -> Iterator[Session]:
    """Yield a session that is connected to the node and does not retry.

    :param settings: settings of the cluster. Two further settings are for its execution profile:
        "policy" is the load-balancing policy, and "observers" are the request observers.
    """
    profile = ExecutionProfile(
        settings.pop("policy", RoundRobinPolicy()),
        retry_policy=FallthroughRetryPolicy(),
        request_observers=settings.pop("observers", []),
    )
    profiles = {EXEC_PROFILE_DEFAULT: profile}
    with Cluster(
        [node.address], port=node.port, execution_profiles=profiles, **settings
    ) as cluster:
        yield cluster.connect()
