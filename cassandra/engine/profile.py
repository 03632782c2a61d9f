"""Execution profiles: named sets of the settings that one execution uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra.consistency import ConsistencyLevel
from cassandra.policies.balancing import DCAwareRoundRobinPolicy
from cassandra.policies.retry import RetryPolicy
from cassandra.policies.speculation import NoSpeculativeExecutionPolicy
from cassandra.policies.token_aware import TokenAwarePolicy
from cassandra.query.row_factories import named_tuple_factory

__all__ = ["EXEC_PROFILE_DEFAULT", "ExecutionProfile", "ProfileManager", "default_lbp_factory"]


class _DefaultProfileKey:
    """The key of the default profile; no program's own name can be equal to it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "EXEC_PROFILE_DEFAULT"


EXEC_PROFILE_DEFAULT: Any = _DefaultProfileKey()


def default_lbp_factory() -> Any:
    """The load balancing policy of a profile that names none."""
    return TokenAwarePolicy(DCAwareRoundRobinPolicy())


class ExecutionProfile:
    """Settings of an execution: policies, consistency levels, `request_timeout` in seconds (None:
    no limit), row factory.
    """

    consistency_level: int = ConsistencyLevel.LOCAL_ONE
    serial_consistency_level: int | None = None
    request_timeout: float | None = 10.0
    load_balancing_policy: Any = None
    retry_policy: Any = None
    speculative_execution_policy: Any = None
    continuous_paging_options: Any = None
    row_factory: Callable[..., Any] = staticmethod(named_tuple_factory)

    def __init__(
        self,
        load_balancing_policy: Any = None,
        retry_policy: Any = None,
        consistency_level: int = ConsistencyLevel.LOCAL_ONE,
        serial_consistency_level: int | None = None,
        request_timeout: float | None = 10.0,
        row_factory: Callable[..., Any] = named_tuple_factory,
        speculative_execution_policy: Any = None,
        continuous_paging_options: Any = None,
    ) -> None:
        if continuous_paging_options is not None:
            raise ValueError(
                "continuous paging is not supported: it is DataStax Enterprise's own; leave it None"
            )
        if serial_consistency_level is not None and not ConsistencyLevel.is_serial(
            serial_consistency_level
        ):
            raise ValueError(
                f"serial_consistency_level must be SERIAL or LOCAL_SERIAL, but is {serial_consistency_level!r}"
            )
        self.load_balancing_policy = load_balancing_policy or default_lbp_factory()
        self.retry_policy = retry_policy or RetryPolicy()
        self.consistency_level = consistency_level
        self.serial_consistency_level = serial_consistency_level
        self.request_timeout = request_timeout
        self.row_factory = row_factory
        self.speculative_execution_policy = (
            speculative_execution_policy or NoSpeculativeExecutionPolicy()
        )

    def clone(self, **changes: Any) -> ExecutionProfile:
        """A copy with some settings changed; ValueError for what is no setting."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        for name, value in changes.items():
            if name not in self.__dict__:
                raise ValueError(
                    f"an execution profile has no setting {name!r}; it has {', '.join(self.__dict__)}"
                )
            setattr(copy, name, value)
        return copy


class ProfileManager:
    """The profiles of a cluster by name."""

    def __init__(self) -> None:
        self.profiles: dict[Any, ExecutionProfile] = {}

    @property
    def default(self) -> ExecutionProfile:
        """The profile for executions that name none."""
        return self.profiles[EXEC_PROFILE_DEFAULT]

    def policies(self) -> list[Any]:
        """The distinct load balancing policies."""
        found = {
            id(profile.load_balancing_policy): profile.load_balancing_policy
            for profile in self.profiles.values()
        }
        return list(found.values())

    def speculation_policies(self) -> list[Any]:
        """The distinct policies of speculative executions."""
        found = {
            id(one.speculative_execution_policy): one.speculative_execution_policy
            for one in self.profiles.values()
        }
        return list(found.values())

    def distance(self, host: Any) -> int:
        """The shortest distance that a profile's policy sees; ignored (-1) only where all ignore
        it.
        """
        distances = {policy.distance(host) for policy in self.policies()}
        wanted = [distance for distance in distances if distance >= 0]
        return min(wanted) if wanted else -1


ExecutionProfile.__module__ = "cassandra.cluster"
ProfileManager.__module__ = "cassandra.cluster"
