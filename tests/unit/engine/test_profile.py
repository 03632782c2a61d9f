"""Execution profiles, and what a cluster asks all of them together."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, ExecutionProfile, ProfileManager
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    HostDistance,
    NoSpeculativeExecutionPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.query import dict_factory
from tests.unit.engine.partners import host

HOST = host("10.0.0.1")


class Far(RoundRobinPolicy):
    def __init__(self, distance: int) -> None:
        super().__init__()
        self._distance = distance

    def distance(self, host: Any) -> int:
        return self._distance


def test_defaults() -> None:
    profile = ExecutionProfile()
    assert isinstance(profile.load_balancing_policy, TokenAwarePolicy)
    assert type(profile.retry_policy) is RetryPolicy
    assert isinstance(profile.speculative_execution_policy, NoSpeculativeExecutionPolicy)
    assert (profile.consistency_level, profile.serial_consistency_level) == (
        ConsistencyLevel.LOCAL_ONE,
        None,
    )
    assert profile.request_timeout == 10.0


def test_a_clone_has_what_is_not_changed() -> None:
    profile = ExecutionProfile(request_timeout=5.0, row_factory=dict_factory)
    made = profile.clone(request_timeout=None)
    assert (made.request_timeout, profile.request_timeout) == (None, 5.0)
    assert made.row_factory is dict_factory
    assert made.load_balancing_policy is profile.load_balancing_policy
    with pytest.raises(ValueError, match="has no setting 'timeout'; it has load_balancing_policy,"):
        profile.clone(timeout=5)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="must be SERIAL or LOCAL_SERIAL, but is 1"):
        ExecutionProfile(serial_consistency_level=ConsistencyLevel.ONE)
    with pytest.raises(ValueError, match="continuous paging is not supported"):
        ExecutionProfile(continuous_paging_options=object())


def test_the_key_of_the_default_shows_its_name() -> None:
    assert repr(EXEC_PROFILE_DEFAULT) == "EXEC_PROFILE_DEFAULT"


def test_all_profiles_together() -> None:
    shared, speculation = RoundRobinPolicy(), ConstantSpeculativeExecutionPolicy(1.0, 1)
    manager = ProfileManager()
    manager.profiles = {
        EXEC_PROFILE_DEFAULT: ExecutionProfile(shared),
        "same": ExecutionProfile(shared, speculative_execution_policy=speculation),
        "other": ExecutionProfile(RoundRobinPolicy(), speculative_execution_policy=speculation),
    }
    assert manager.default.load_balancing_policy is shared
    assert len(manager.policies()) == 2
    assert len(manager.speculation_policies()) == 2


@pytest.mark.parametrize(
    ("distances", "expected"),
    [
        ([HostDistance.IGNORED], HostDistance.IGNORED),
        ([HostDistance.IGNORED, HostDistance.REMOTE], HostDistance.REMOTE),
        ([HostDistance.REMOTE, HostDistance.LOCAL], HostDistance.LOCAL),
    ],
)
def test_the_shortest_distance_counts(distances: list[int], expected: int) -> None:
    manager = ProfileManager()
    manager.profiles = {at: ExecutionProfile(Far(one)) for at, one in enumerate(distances)}
    assert manager.distance(HOST) == expected
