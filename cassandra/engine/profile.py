"""Execution profiles: named sets of the settings that one execution uses."""

from __future__ import annotations

import functools
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._imports import at_first_cluster
from cassandra._misspelt import check_spelling, nearest
from cassandra.consistency import ConsistencyLevel, checked_serial
from cassandra.policies.balancing import DCAwareRoundRobinPolicy, LoadBalancingPolicy
from cassandra.policies.retry import RetryPolicy
from cassandra.policies.speculation import (
    NoSpeculativeExecutionPolicy,
    SpeculativeExecutionPolicy,
)
from cassandra.policies.token_aware import TokenAwarePolicy
from cassandra.query.row_factories import named_tuple_factory

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.metadata.host import Host
    from cassandra.observers import RequestObserver, checked_observers
else:
    from cassandra._impl import bases

    at_first_cluster(__name__, checked_observers="cassandra.observers")

__all__ = ["EXEC_PROFILE_DEFAULT", "ExecutionProfile", "ProfileManager", "default_lbp_factory"]


class _DefaultProfileKey:
    """The key of the default profile; no program's own name can be equal to it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "EXEC_PROFILE_DEFAULT"


EXEC_PROFILE_DEFAULT: Any = _DefaultProfileKey()


def default_lbp_factory() -> LoadBalancingPolicy:
    """Make the load balancing policy of a profile that names none."""
    return TokenAwarePolicy(DCAwareRoundRobinPolicy())


class _Attributes(bases.ProfileBase):
    """Has the dictionary of an `ExecutionProfile`, and the settings that it may leave out.

    They are not the profile's own, so that C sees at the size of the profile's class if somebody
    has put a property in the place of one.
    """

    consistency_level: int = ConsistencyLevel.LOCAL_ONE
    serial_consistency_level: int | None = None
    request_timeout: float | None = 10.0
    row_factory: Callable[..., Any] = staticmethod(named_tuple_factory)
    request_observers: Sequence[RequestObserver] = ()


_attributes: Callable[[object], dict[str, Any]] = vars(_Attributes)["__dict__"].__get__
_set_attributes: Callable[[object, object], None] = vars(_Attributes)["__dict__"].__set__


class ExecutionProfile(_Attributes):
    """Settings of an execution.

    :param load_balancing_policy: token awareness over the local data center if None.
    :param retry_policy: a `RetryPolicy` if None.
    :param consistency_level: of statements that have none of their own.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL; None for the server's default.
    :param request_timeout: seconds for all attempts of a request together; None for no limit.
    :param row_factory: called as ``row_factory(column_names, rows)``.
    :param speculative_execution_policy: no speculative executions if None.
    :param continuous_paging_options: must be None.
    :param request_observers: observers of the executions with this profile, beside those of the
        cluster and the session (see `cassandra.observers`).
    """

    # In `_settings_at_hand` the compiled `engine.happy_path` keeps the settings of a profile of
    # this very class: a tuple of them, made for the first request and forgotten if a setting is
    # changed. None are kept of a profile whose dictionary somebody was shown, who may change it at
    # any time (`_is_shown`).
    __slots__ = ()

    load_balancing_policy: LoadBalancingPolicy
    retry_policy: RetryPolicy
    speculative_execution_policy: SpeculativeExecutionPolicy
    continuous_paging_options: None = None

    def __init__(
        self,
        load_balancing_policy: LoadBalancingPolicy | None = None,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int = _Attributes.consistency_level,
        serial_consistency_level: int | None = _Attributes.serial_consistency_level,
        request_timeout: float | None = _Attributes.request_timeout,
        row_factory: Callable[..., Any] = _Attributes.row_factory,
        speculative_execution_policy: SpeculativeExecutionPolicy | None = None,
        continuous_paging_options: object = None,
        request_observers: Sequence[RequestObserver] = _Attributes.request_observers,
    ) -> None:
        if continuous_paging_options is not None:
            raise ValueError(
                "continuous paging is not supported: it is DataStax Enterprise's own; leave it None"
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
        self.request_observers = request_observers

    def __setattr__(self, name: str, value: object) -> None:
        """Set a setting, or whatever attribute a program keeps here.

        :raises AttributeError: if the name is a misspelt setting, most likely. A program's own
            subclass gets a warning in the log instead.
        :raises TypeError: if a value is of a wrong type.
        :raises ValueError: if `serial_consistency_level` is not serial.
        """
        if name not in _SETTINGS:
            check_spelling(self, name, _SETTINGS, _attributes)
        if name in _CHECKS:
            value = _CHECKS[name](name, value)
        super().__setattr__(name, value)
        super().__setattr__("_settings_at_hand", None)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        super().__setattr__("_settings_at_hand", None)

    @property
    def __dict__(self) -> dict[str, Any]:
        super().__setattr__("_is_shown", True)
        super().__setattr__("_settings_at_hand", None)
        return _attributes(self)

    @__dict__.setter
    def __dict__(self, attributes: dict[str, Any]) -> None:
        super().__setattr__("_is_shown", True)
        _set_attributes(self, attributes)

    def clone(self, **changes: Any) -> ExecutionProfile:
        """Return a copy with some settings changed.

        :param changes: the settings that differ, by name.
        :raises ValueError: if one of the names is not a setting.
        """
        # Without __init__: that of a subclass may take other parameters.
        copy = object.__new__(type(self))
        settings = _attributes(self)
        _attributes(copy).update(settings)
        for name, value in changes.items():
            if name not in settings:
                raise ValueError(
                    f"an execution profile has no setting {name!r}; it has {', '.join(settings)}"
                )
            setattr(copy, name, value)
        return copy


_INSTEAD = {
    **dict.fromkeys(("timeout", "default_timeout"), "write request_timeout=seconds"),
    **dict.fromkeys(("retry", "retries", "max_retries"), "write retry_policy=RetryPolicy()"),
    **dict.fromkeys(
        ("fetch_size", "page_size"),
        "write fetch_size of a statement, or session.default_fetch_size",
    ),
    "consistency": "write consistency_level=ConsistencyLevel...",
    "name": "the name is the key in Cluster(execution_profiles={name: profile})",
    "keyspace": "write cluster.connect(keyspace)",
}


def _advising(init: Any) -> Any:
    """Return the constructor, whose error for an unknown setting says what to write."""

    @functools.wraps(init)
    def construct(self: Any, *args: Any, **settings: Any) -> None:
        for name in settings:
            # A subclass has attributes and settings of its own, and hands on what is the profile's.
            if name not in _SETTINGS:
                raise TypeError(f"ExecutionProfile has no setting {name!r}{_instead_of(name)}")
        init(self, *args, **settings)

    return construct


def _instead_of(name: str) -> str:
    if name in _INSTEAD:
        return f": {_INSTEAD[name]}"
    near = nearest(name, _SETTINGS, 0.6)
    return f"; did you mean {near!r}?" if near else f"; it has {', '.join(sorted(_SETTINGS))}"


_SETTINGS = frozenset(ExecutionProfile.__annotations__) | frozenset(_Attributes.__annotations__)


def _observers(name: str, observers: object) -> Any:
    return checked_observers(observers, "profile")


# What users write for the kind of the rows.
_ROW_CLASSES: dict[Any, str] = {
    dict: "dict_factory",
    tuple: "tuple_factory",
    list: "tuple_factory",
}


def _policy(name: str, policy: object) -> Any:
    """Return a policy; a class without its brackets fails only when the policy is needed."""
    if isinstance(policy, type):
        raise TypeError(
            f"{name} must be an instance, but is the class {policy.__name__}: "
            f"write {policy.__name__}(...)"
        )
    return policy


def checked_timeout(name: str, timeout: object) -> Any:
    """Return a time in seconds, or None. One that is over already is for requests to tell.

    :param name: the setting, for the message.
    :param timeout: what a program gives.
    :raises TypeError: if it is not a number.
    """
    if timeout is not None and not hasattr(timeout, "__float__"):
        raise TypeError(
            f"{name} must be a number of seconds or None, but is {timeout!r} "
            f"of type {type(timeout).__name__}"
        )
    return timeout


def checked_row_factory(name: str, factory: object) -> Any:
    """Return what makes the rows of results.

    :param name: the setting, for the message.
    :param factory: what a program gives.
    :raises TypeError: if it cannot be called, or is a built-in class of another kind of rows.
    """
    if isinstance(factory, type) and factory in _ROW_CLASSES:
        raise TypeError(
            f"{name} is called with the names of the columns and the rows, so that "
            f"{factory.__name__} does not serve: write {_ROW_CLASSES[factory]} of cassandra.query"
        )
    if not callable(factory):
        raise TypeError(
            f"{name} must be a function of column names and rows, but is {factory!r} "
            f"of type {type(factory).__name__}"
        )
    return factory


# By name: type checkers know the parameters.
setattr(ExecutionProfile, "__init__", _advising(ExecutionProfile.__init__))  # noqa: B010

_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "load_balancing_policy": _policy,
    "request_observers": _observers,
    "request_timeout": checked_timeout,
    "retry_policy": _policy,
    "row_factory": checked_row_factory,
    "serial_consistency_level": checked_serial,
    "speculative_execution_policy": _policy,
}


HELD_PROFILES = 16


class _UnnamedProfile:
    """A profile that calls have named by itself.

    :param key: the id of the profile.
    :param reference: to the profile; it is held so that the end of the profile is heard of.
    :param policy: its load balancing policy.
    """

    __slots__ = ("is_ready", "key", "policy", "reference")

    def __init__(
        self, key: int, reference: weakref.ref[ExecutionProfile], policy: LoadBalancingPolicy
    ) -> None:
        self.key = key
        self.reference = reference
        self.policy = policy
        self.is_ready = False  # the policy knows the hosts


class ProfileManager:
    """The profiles of a cluster by name.

    :param pools_allowed: kept for programs that pass it.
    """

    def __init__(self, pools_allowed: bool = False) -> None:
        self.pools_allowed = pools_allowed
        self.profiles: dict[Any, ExecutionProfile] = {}
        # Profiles that calls have named by themselves, by their ids, for as long as they live. The
        # last ones are held: their requests may want another try, or another page.
        self._unnamed: dict[int, _UnnamedProfile] = {}
        self._last_unnamed: deque[ExecutionProfile] = deque(maxlen=HELD_PROFILES)

    @property
    def default(self) -> ExecutionProfile:
        """The profile for executions that name none."""
        return self.profiles[EXEC_PROFILE_DEFAULT]

    def policies(self) -> list[LoadBalancingPolicy]:
        """Return the distinct load balancing policies."""
        found = {
            id(profile.load_balancing_policy): profile.load_balancing_policy
            for profile in self.profiles.values()
        }
        found |= {id(each.policy): each.policy for each in list(self._unnamed.values())}
        return list(found.values())

    def add_unnamed(
        self, profile: ExecutionProfile, forget: Callable[[LoadBalancingPolicy], None]
    ) -> _UnnamedProfile | None:
        """Add a profile that has no name; return None if its policies are in use already.

        The caller has them populated, and sets `is_ready` afterwards.

        :param profile: is held weakly.
        :param forget: called with the load balancing policy when nothing uses it any more, in any
            thread.
        """
        policy = profile.load_balancing_policy
        known = self._unnamed.get(id(profile))
        if known is not None and known.policy is policy:
            return None if known.is_ready else known
        if known is None and any(policy is other for other in self._named_policies()):
            return None

        def leave(reference: weakref.ref[ExecutionProfile]) -> None:
            if self._unnamed.get(unnamed.key) is unnamed:
                del self._unnamed[unnamed.key]
            if not any(unnamed.policy is other for other in self.policies()):
                forget(unnamed.policy)

        unnamed = _UnnamedProfile(id(profile), weakref.ref(profile, leave), policy)
        self._unnamed[id(profile)] = unnamed
        if known is None:
            self._last_unnamed.append(profile)
        elif not any(known.policy is other for other in self.policies()):
            forget(known.policy)
        return unnamed

    def _named_policies(self) -> list[LoadBalancingPolicy]:
        return [profile.load_balancing_policy for profile in self.profiles.values()]

    def speculation_policies(self) -> list[SpeculativeExecutionPolicy]:
        """Return the distinct policies of speculative executions."""
        found = {
            id(one.speculative_execution_policy): one.speculative_execution_policy
            for one in self.profiles.values()
        }
        return list(found.values())

    def retry_policies(self) -> list[RetryPolicy]:
        """Return the distinct retry policies."""
        found = {id(one.retry_policy): one.retry_policy for one in self.profiles.values()}
        return list(found.values())

    def distance(self, host: Host) -> int:
        """Return the shortest distance that a profile's policy sees; -1 if all ignore the host.

        :param host: the `Host`.
        """
        distances = {policy.distance(host) for policy in self.policies()}
        # IGNORED is below 0, and would count as the nearest.
        wanted = [distance for distance in distances if distance >= 0]
        return min(wanted) if wanted else -1


ExecutionProfile.__module__ = "cassandra.cluster"
ProfileManager.__module__ = "cassandra.cluster"
