"""`ExecutionProfile`: its checks, and its cache, which must never hide a changed setting.

Other tests cover settings that are combined from all profiles.
"""

from __future__ import annotations

import copy
import gc
import inspect
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.engine.call_options import CallOptions
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, ExecutionProfile, ProfileManager
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    ExponentialBackoffRetryPolicy,
    FallthroughRetryPolicy,
    HostDistance,
    NoSpeculativeExecutionPolicy,
    PercentileSpeculativeExecutionPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.query import dict_factory
from cassandra.query.settings import NOT_SET
from tests.conftest import Implementation
from tests.processes import WITH_TESTS, run_python
from tests.unit.engine.partners import new_host
from tests.unit.engine.test_happy_path import FakeSession, FakeStatement

HOST = new_host("10.0.0.1")


class PolicyWithDistance(RoundRobinPolicy):
    """A policy for which every host has the same given distance."""

    def __init__(self, distance: int) -> None:
        super().__init__()
        self._distance = distance

    def distance(self, host: Any) -> int:
        return self._distance


def test_a_timeout_in_milliseconds_is_warned_of() -> None:
    """A timeout of hours causes a warning, because it was probably meant in milliseconds."""
    with pytest.warns(RuntimeWarning, match="request_timeout=10000 is in seconds, more than 2 h"):
        assert ExecutionProfile(request_timeout=10_000).request_timeout == 10_000


def test_a_profile_has_defaults() -> None:
    """Settings that a profile does not set have the same defaults as in cassandra-driver."""
    profile = ExecutionProfile()
    assert isinstance(profile.load_balancing_policy, TokenAwarePolicy)
    assert type(profile.retry_policy) is RetryPolicy
    assert isinstance(profile.speculative_execution_policy, NoSpeculativeExecutionPolicy)
    assert profile.consistency_level == ConsistencyLevel.LOCAL_ONE
    assert profile.serial_consistency_level is None
    assert profile.request_timeout == 10.0


def test_a_clone_keeps_the_other_settings() -> None:
    """`ExecutionProfile.clone` returns a copy with some settings changed.

    The original does not change. An unknown setting is refused, and the error lists the known
    settings.
    """
    profile = ExecutionProfile(request_timeout=5.0, row_factory=dict_factory)
    clone = profile.clone(request_timeout=None)
    assert clone.request_timeout is None
    assert profile.request_timeout == 5.0
    assert clone.row_factory is dict_factory
    assert clone.load_balancing_policy is profile.load_balancing_policy
    with pytest.raises(ValueError, match="has no setting 'speed'; it has load_balancing_policy,"):
        profile.clone(speed=5)
    with pytest.raises(ValueError, match="has no setting 'timeout': write request_timeout="):
        profile.clone(timeout=5)


def test_invalid_settings_are_refused() -> None:
    """Invalid settings raise ValueError in the constructor, in an assignment, and in `clone`."""
    with pytest.raises(ValueError, match="must be SERIAL or LOCAL_SERIAL, but is ONE"):
        ExecutionProfile(serial_consistency_level=ConsistencyLevel.ONE)
    profile = ExecutionProfile(serial_consistency_level=ConsistencyLevel.SERIAL)
    for wrong_level, level_name in (
        (ConsistencyLevel.QUORUM, "QUORUM"),
        ("SERIAL", "'SERIAL': write ConsistencyLevel.SERIAL"),
        ([], r"\[\]"),
    ):
        message = f"must be SERIAL or LOCAL_SERIAL, but is {level_name}"
        with pytest.raises(ValueError, match=message):
            profile.serial_consistency_level = wrong_level  # type: ignore[assignment]
        with pytest.raises(ValueError, match=message):
            profile.clone(serial_consistency_level=wrong_level)
    assert profile.serial_consistency_level == ConsistencyLevel.SERIAL
    # None is also allowed.
    profile.serial_consistency_level = None
    with pytest.raises(ValueError, match="continuous paging is not supported"):
        ExecutionProfile(continuous_paging_options=object())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("request_timeout", "abc", "must be a number of seconds or None, but is 'abc' of type str"),
        ("row_factory", 5, "must be a function of column names and rows, but is 5 of type int"),
        ("row_factory", None, "must be a function of .*, but is None of type NoneType"),
    ],
)
def test_values_of_wrong_types_are_refused_by_name(name: str, value: Any, message: str) -> None:
    """Settings of wrong types raise TypeError in the constructor, in an assignment, and in `clone`.

    The error names the setting and the value.
    """
    with pytest.raises(TypeError, match=f"^{name} {message}"):
        ExecutionProfile(**{name: value})
    profile = ExecutionProfile()
    with pytest.raises(TypeError, match=f"^{name} {message}"):
        setattr(profile, name, value)
    with pytest.raises(TypeError, match=f"^{name} {message}"):
        profile.clone(**{name: value})


@pytest.mark.parametrize("timeout", [None, 0, -1, 0.5, Fraction(1, 2)])
def test_request_timeout_accepts_numbers_and_none(timeout: Any) -> None:
    assert ExecutionProfile(request_timeout=timeout).request_timeout == timeout


def test_request_timeout_is_a_number() -> None:
    """A `request_timeout` of NaN raises ValueError, because a request would wait for ever."""
    not_numbers: list[Any] = [math.nan, Decimal("nan")]
    for timeout in not_numbers:
        with pytest.raises(ValueError, match="request_timeout must be a number"):
            ExecutionProfile(request_timeout=timeout)


def test_class_attributes_and_parameters_have_the_same_defaults() -> None:
    """The class attributes have the same values as the defaults of the constructor's parameters.

    An application may read a default from either of them.
    """
    parameters = inspect.signature(ExecutionProfile).parameters
    for name in ("consistency_level", "request_timeout", "row_factory", "request_observers"):
        assert getattr(ExecutionProfile, name) is parameters[name].default


def test_exec_profile_default_has_a_readable_repr() -> None:
    assert repr(EXEC_PROFILE_DEFAULT) == "EXEC_PROFILE_DEFAULT"


def test_the_policies_of_all_profiles_are_listed_once() -> None:
    """`policies` and `attached_policies` list each policy once, even if several profiles share it.

    `policies` has the load-balancing policies. `attached_policies` has the retry and speculative
    execution policies that have a method `attach`.
    """
    shared, other = RoundRobinPolicy(), RoundRobinPolicy()
    speculation = ConstantSpeculativeExecutionPolicy(delay=1.0, max_attempts=1)
    manager = ProfileManager()
    manager.profiles = {
        EXEC_PROFILE_DEFAULT: ExecutionProfile(shared),
        "same": ExecutionProfile(shared, speculative_execution_policy=speculation),
        "other": ExecutionProfile(other, speculative_execution_policy=speculation),
    }
    assert manager.default.load_balancing_policy is shared
    assert manager.policies() == [shared, other]
    # ConstantSpeculativeExecutionPolicy has no `attach`.
    assert manager.attached_policies() == []
    retry = ExponentialBackoffRetryPolicy(max_num_retries=1)
    percentile = PercentileSpeculativeExecutionPolicy()
    for name in ("first", "second"):
        manager.profiles[name] = ExecutionProfile(
            shared, retry_policy=retry, speculative_execution_policy=percentile
        )
    assert manager.attached_policies() == [percentile, retry]


@pytest.mark.parametrize(
    "change",
    [
        lambda manager, profile: manager.profiles.__setitem__("b", profile),
        lambda manager, profile: manager.profiles.update({"b": profile}),
        lambda manager, profile: manager.profiles.setdefault("b", profile),
        lambda manager, profile: manager.profiles.__ior__({"b": profile}),
        lambda manager, profile: setattr(manager, "profiles", {**manager.profiles, "b": profile}),
    ],
)
def test_a_manager_notifies_of_profiles_that_are_put_into_it(change: Any) -> None:
    """`ProfileManager.profiles` is a dict that reports new profiles, however they are added.

    A copy of it is an ordinary dict.
    """
    manager = ProfileManager()
    manager.profiles["a"] = ExecutionProfile()
    notified: list[ExecutionProfile] = []
    manager.on_new_profiles = notified.extend
    profile = ExecutionProfile()
    change(manager, profile)
    assert notified == [profile]
    assert manager.profiles["b"] is profile
    assert type(copy.copy(manager.profiles)) is dict


@pytest.mark.parametrize(
    ("distances", "expected"),
    [
        ([HostDistance.IGNORED], HostDistance.IGNORED),
        ([HostDistance.IGNORED, HostDistance.REMOTE], HostDistance.REMOTE),
        ([HostDistance.REMOTE, HostDistance.LOCAL], HostDistance.LOCAL),
    ],
)
def test_the_shortest_distance_of_all_profiles_is_used(distances: list[int], expected: int) -> None:
    """Of all profiles, the shortest distance of a host is used.

    The host thus gets the connections that this profile needs.
    """
    manager = ProfileManager()
    manager.profiles = {
        name: ExecutionProfile(PolicyWithDistance(distance))
        for name, distance in enumerate(distances)
    }
    assert manager.distance(HOST) == expected


# -- cached settings -------------------------------------------------------------------------------

# For each setting, a value that is not the default.
CHANGES = {
    "consistency_level": ConsistencyLevel.QUORUM,
    "serial_consistency_level": ConsistencyLevel.LOCAL_SERIAL,
    "load_balancing_policy": RoundRobinPolicy(),
    "retry_policy": FallthroughRetryPolicy(),
    "speculative_execution_policy": ConstantSpeculativeExecutionPolicy(delay=0.1, max_attempts=2),
    "request_timeout": 77.0,
}


def request_settings(implementation: Implementation, profile: Any) -> dict[str, Any]:
    """Return the settings of a new request with this profile."""
    session = SimpleNamespace(
        timestamp_generator=None,
        use_client_timestamp=True,
        default_fetch_size=5,
        _default_vector_type="list",
    )
    body_class: Any = type(
        "RequestBody", (implementation.happy_path.ExecuteBodyBase,), {"decodes": False}
    )
    statement: Any = FakeStatement()
    statement.consistency_level = statement.retry_policy = None
    statement.serial_consistency_level = None
    request = implementation.happy_path.bound_request(
        implementation.happy_path.RequestBase,
        body_class,
        session,
        FakeSession(implementation),
        statement,
        statement,
        CallOptions(profile, timeout=NOT_SET),
        print,  # replaces `on_done`
    )
    return {
        "consistency_level": request.request_body.consistency,
        "serial_consistency_level": request.request_body.serial_consistency,
        "load_balancing_policy": request.policy,
        "retry_policy": request.retry_policy,
        "speculative_execution_policy": request.speculative_policy,
        "request_timeout": request.timeout,
    }


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_setting_applies_to_the_next_request(
    implementation: Implementation, name: str
) -> None:
    """If a setting of a profile changes, the next request has the new value.

    Requests read the settings from a cache, which each change must invalidate.
    """
    profile = ExecutionProfile()
    settings_before = request_settings(implementation, profile)
    assert request_settings(implementation, profile) == settings_before
    setattr(profile, name, CHANGES[name])
    assert request_settings(implementation, profile) == {**settings_before, name: CHANGES[name]}


def test_after_deletion_the_setting_of_the_class_applies(implementation: Implementation) -> None:
    """If a setting is deleted from a profile, requests have the class's default."""
    profile = ExecutionProfile(consistency_level=ConsistencyLevel.QUORUM)
    assert request_settings(implementation, profile)["consistency_level"] == ConsistencyLevel.QUORUM
    del profile.consistency_level
    default = ExecutionProfile.consistency_level
    assert request_settings(implementation, profile)["consistency_level"] == default


def test_settings_of_a_subclass_may_be_properties(implementation: Implementation) -> None:
    """If a subclass defines a setting as a property, each request reads it.

    The value is never cached.
    """

    class ProfileWithProperty(ExecutionProfile):
        current_timeout = 1.0

        @property
        def request_timeout(self) -> float:
            return self.current_timeout

        @request_timeout.setter
        def request_timeout(self, timeout: float | None) -> None:
            pass

    # First, let the settings of a profile of the base class be cached.
    request_settings(implementation, ExecutionProfile())
    profile = ProfileWithProperty()
    assert request_settings(implementation, profile)["request_timeout"] == 1.0
    ProfileWithProperty.current_timeout = 2.0
    assert request_settings(implementation, profile)["request_timeout"] == 2.0


def test_changes_of_the_instance_dictionary_apply(implementation: Implementation) -> None:
    """If code writes to `vars(profile)`, the next request has the new value.

    Such code bypasses the setters of the profile.
    """
    profile = ExecutionProfile()
    request_settings(implementation, profile)
    attributes = vars(profile)
    for timeout in (3.0, 4.0):
        attributes["request_timeout"] = timeout
        # The first request reads the settings from the profile, and the second reads them from the
        # cache.
        for _ in range(2):
            assert request_settings(implementation, profile)["request_timeout"] == timeout
    profile.consistency_level = ConsistencyLevel.QUORUM
    request_settings(implementation, profile)
    attributes["consistency_level"] = ConsistencyLevel.ALL
    assert request_settings(implementation, profile)["consistency_level"] == ConsistencyLevel.ALL
    # An application may also replace the profile's whole dictionary.
    level = ConsistencyLevel.LOCAL_QUORUM
    profile.__dict__ = {**attributes, "consistency_level": level}
    assert request_settings(implementation, profile)["consistency_level"] == level


@pytest.mark.slow
@pytest.mark.parametrize("is_cached_before", [True, False])
def test_changes_of_the_class_apply(is_cached_before: bool) -> None:
    """If an attribute of the class `ExecutionProfile` changes, requests have the new value.

    From then on, settings are not cached. The test runs in a new process, because it changes the
    class.
    """
    # The program prints the timeout after each of four changes: the class attribute becomes a
    # property, the property returns another value, the class attribute becomes 5.0 (and the profile
    # loses its own value), and the class attribute becomes 6.0.
    process = run_python(
        f"""
from cassandra import _impl
from cassandra.cluster import ExecutionProfile
from tests.conftest import Implementation
from tests.unit.engine.test_profile import request_settings

implementation = Implementation(_impl.implementation)
profile = ExecutionProfile()
if {is_cached_before}:
    request_settings(implementation, profile)
timeouts = [1.0, 2.0]
ExecutionProfile.request_timeout = property(lambda self: timeouts[-1], lambda self, value: None)
print(request_settings(implementation, profile)["request_timeout"], end=" ")
timeouts.pop()
print(request_settings(implementation, profile)["request_timeout"], end=" ")
ExecutionProfile.request_timeout = 5.0
del profile.request_timeout
print(request_settings(implementation, profile)["request_timeout"], end=" ")
ExecutionProfile.request_timeout = 6.0
print(request_settings(implementation, profile)["request_timeout"])
""",
        WITH_TESTS,
    )
    assert process.stdout == "2.0 1.0 5.0 6.0\n", process.stderr


def test_a_change_by_a_finalizer_applies(implementation: Implementation) -> None:
    """If a finalizer changes a profile while it is being cached, the change must not be lost.

    Up to Python 3.11, the garbage collector may run finalizers at each allocation.
    """

    class ProfileChanger:
        def __init__(self, profile: ExecutionProfile) -> None:
            self.profile = profile
            # This reference cycle makes sure that only the garbage collector frees the object.
            self.cycle = self

        def __del__(self) -> None:
            self.profile.request_timeout = 2.0

    thresholds = gc.get_threshold()
    # Without `freeze`, each collection would visit the objects of all other tests. We do not
    # unfreeze them, because tests/conftest.py freezes them anyway.
    gc.collect()
    gc.freeze()
    try:
        for allocations in range(1, 100):
            profile = ExecutionProfile(request_timeout=1.0)
            gc.collect()
            gc.disable()
            ProfileChanger(profile)
            # The garbage collector runs after this number of allocations.
            gc.set_threshold(gc.get_count()[0] + allocations)
            gc.enable()
            request_settings(implementation, profile)
            gc.set_threshold(*thresholds)
            gc.collect()
            assert request_settings(implementation, profile)["request_timeout"] == 2.0
    finally:
        gc.set_threshold(*thresholds)
        gc.enable()


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        lambda profile: pickle.loads(pickle.dumps(profile)),
        ExecutionProfile.clone,
    ],
    ids=["copy", "deepcopy", "pickle", "clone"],
)
def test_copies_are_independent(implementation: Implementation, duplicate: Any) -> None:
    """A copy of a profile whose settings are cached has its own cache."""
    profile = ExecutionProfile(request_timeout=3.0)
    request_settings(implementation, profile)
    copied = duplicate(profile)
    copied.request_timeout = 4.0
    assert request_settings(implementation, profile)["request_timeout"] == 3.0
    assert request_settings(implementation, copied)["request_timeout"] == 4.0
    assert vars(copied).keys() == vars(profile).keys()


@pytest.mark.parametrize(("timeout", "seconds"), [(True, 1), (False, 0)])
def test_a_timeout_that_is_a_bool_is_warned_of(timeout: bool, seconds: int) -> None:
    with pytest.warns(RuntimeWarning, match=f"={timeout} is a timeout of {seconds} seconds: write"):
        profile = ExecutionProfile(request_timeout=timeout)
    assert profile.request_timeout == timeout
