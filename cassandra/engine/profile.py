"""`ExecutionProfile`, a set of settings for executions, and `ProfileManager`, their container."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from cassandra._habits import class_advice, stack_level, warn_of_milliseconds
from cassandra._imports import at_first_cluster
from cassandra._misspelt import check_spelling, class_attribute, is_of_driver, nearest
from cassandra._mocks import is_mock
from cassandra.consistency import ConsistencyLevel, checked_serial, constant_of
from cassandra.policies.balancing import DCAwareRoundRobinPolicy, LoadBalancingPolicy
from cassandra.policies.retry import RetryPolicy
from cassandra.policies.speculation import (
    LONG_DELAY,
    ConstantSpeculativeExecutionPolicy,
    NoSpeculativeExecutionPolicy,
    SpeculativeExecutionPolicy,
)
from cassandra.policies.token_aware import TokenAwarePolicy
from cassandra.query.row_factories import named_tuple_factory

if TYPE_CHECKING:
    from typing import TypeAlias

    from cassandra import bases
    from cassandra._observer import ObserverBase
    from cassandra.metadata.host import Host
    from cassandra.observers import RequestObserver, checked_observers

    AttachedPolicy: TypeAlias = SpeculativeExecutionPolicy | RetryPolicy
    Policy: TypeAlias = LoadBalancingPolicy | AttachedPolicy
else:
    from cassandra._impl import bases

    at_first_cluster(__name__, checked_observers="cassandra.observers")

_Value = TypeVar("_Value")


class _DefaultProfileKey:
    """The class of the default profile's key, which is not equal to any user-defined name."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "EXEC_PROFILE_DEFAULT"


EXEC_PROFILE_DEFAULT: Any = _DefaultProfileKey()


def default_lbp_factory() -> LoadBalancingPolicy:
    """Create the policy of a profile for which the application passes no load balancing policy."""
    return TokenAwarePolicy(DCAwareRoundRobinPolicy())


class _Attributes(bases.ProfileBase):
    """The base class of `ExecutionProfile`: it has the real ``__dict__`` and defaults of settings.

    A user may add a property to `ExecutionProfile` with the name of such a setting. The compiled
    code detects new properties by the size of the class's dictionary. The size grows only if the
    dictionary does not contain the name yet. So the defaults are in this base class instead.
    """

    consistency_level: int = ConsistencyLevel.LOCAL_ONE
    serial_consistency_level: int | None = None
    request_timeout: float | None = 10.0
    row_factory: Callable[..., Any] = staticmethod(named_tuple_factory)
    request_observers: Sequence[RequestObserver] = ()
    # The constructor sets these. Mocks with ``spec=`` have only attributes of the class.
    load_balancing_policy: LoadBalancingPolicy = None  # type: ignore[assignment]
    retry_policy: RetryPolicy = None  # type: ignore[assignment]
    speculative_execution_policy: SpeculativeExecutionPolicy = None  # type: ignore[assignment]


# These functions read and replace the real ``__dict__`` of a profile. We cannot use the property
# `__dict__` of `ExecutionProfile`, which would record that user code has read the dict.
_attributes: Callable[[object], dict[str, Any]] = vars(_Attributes)["__dict__"].__get__
_set_attributes: Callable[[object, object], None] = vars(_Attributes)["__dict__"].__set__


class ExecutionProfile(_Attributes):
    """A set of settings for executions, such as policies, consistency levels and the timeout.

    :param load_balancing_policy: None for token awareness over the local data center.
    :param retry_policy: None for a `RetryPolicy`.
    :param consistency_level: for statements without a consistency level.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL; None for the server's default.
    :param request_timeout: seconds for all attempts of a request together; None for no limit.
    :param row_factory: called as ``row_factory(column_names, rows)``.
    :param speculative_execution_policy: None for no speculative executions.
    :param continuous_paging_options: must be None.
    :param request_observers: observers of the executions with this profile, in addition to the
        cluster's and the session's (see `cassandra.observers`).
    """

    # `_settings_at_hand` is a cache that only the compiled `engine.happy_path` uses: a tuple of the
    # settings, created for the first request and cleared when a setting changes. Only profiles of
    # exactly this class have the cache, not profiles of subclasses. `_is_shown` is True once user
    # code has read the profile's `__dict__`. The cache is not used after that, because user code
    # can then change the settings in that dict without our notice.
    __slots__ = ()

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
        """Set a setting, or any attribute that the application adds.

        :raises AttributeError: if the name looks like a misspelt setting. For a user's subclass, a
            warning is logged instead.
        :raises TypeError: if a value has a wrong type.
        :raises ValueError: if `serial_consistency_level` is not serial.
        """
        if name not in _SETTINGS:
            check_spelling(self, name, _SETTINGS, _attributes)
            self._warn_of_no_effect(name)
        if name in _CHECKS:
            value = _CHECKS[name](name, value)
        is_policy_replaced = name in _ADOPTED_POLICIES and name in _attributes(self)
        super().__setattr__(name, value)
        # Clear the cached tuple, which has the old value.
        super().__setattr__("_settings_at_hand", None)
        # If a policy was replaced, each cluster that uses this profile must pass its hosts or its
        # engine to the new policy.
        if is_policy_replaced:
            # Copy the references first: another thread may create a cluster during the loop.
            for manager in [reference() for reference in _managers.valuerefs()]:
                if manager is not None and manager.on_policy_change is not None:
                    manager.on_policy_change(self)
        if name in ("speculative_execution_policy", "request_timeout"):
            _warn_of_late_speculation(_attributes(self))

    def _warn_of_no_effect(self, name: str) -> None:
        """Warn if `name`, which is not a setting, probably means one, for example `timeout`."""
        if (
            name in _ADVICE
            and name != "name"  # applications may give names to their profiles
            # The application's subclasses may have attributes of any name.
            and is_of_driver(type(self))
            and class_attribute(type(self), name) is None
            and name not in _attributes(self)
        ):
            warnings.warn(
                f"ExecutionProfile.{name} has no effect: {_ADVICE[name]}",
                RuntimeWarning,
                stacklevel=stack_level(),
            )

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
        :raises ValueError: if a name is not a setting.
        """
        # Do not call __init__, because a subclass may have other parameters.
        copy = object.__new__(type(self))
        settings = _attributes(self)
        _attributes(copy).update(settings)
        if "speculative_execution_policy" in changes:
            # Setting a timeout or this policy checks that the delay of the policy is shorter than
            # the timeout. So remove the old policy now, and set the new policy after the timeout.
            policy = changes.pop("speculative_execution_policy")
            del _attributes(copy)["speculative_execution_policy"]
            changes["speculative_execution_policy"] = policy
        for name, value in changes.items():
            if name not in settings:
                advice = (
                    f": {_ADVICE[name]}" if name in _ADVICE else f"; it has {', '.join(settings)}"
                )
                raise ValueError(f"an execution profile has no setting {name!r}{advice}")
            setattr(copy, name, value)
        return copy


# What to write instead of names that are not settings, for errors and warnings.
_ADVICE = {
    **dict.fromkeys(("timeout", "default_timeout"), "write request_timeout=seconds"),
    **dict.fromkeys(("retry", "retries", "max_retries"), "write retry_policy=RetryPolicy()"),
    **dict.fromkeys(("load_balancing", "load_balancer", "lbp"), "write load_balancing_policy=..."),
    **dict.fromkeys(
        ("speculative_execution", "speculation"),
        "write speculative_execution_policy=ConstantSpeculativeExecutionPolicy(seconds, attempts)",
    ),
    **dict.fromkeys(
        ("fetch_size", "page_size"),
        "write fetch_size of a statement, or session.default_fetch_size",
    ),
    "consistency": "write consistency_level=ConsistencyLevel...",
    "name": "the name is the key in Cluster(execution_profiles={name: profile})",
    "keyspace": "write cluster.connect(keyspace)",
}


def _warn_of_late_speculation(settings: Mapping[str, Any]) -> None:
    """Warn if requests end before their first speculative execution can start.

    :param settings: the settings of a profile.
    """
    policy = settings.get("speculative_execution_policy")
    timeout = settings.get("request_timeout")
    if (
        isinstance(policy, ConstantSpeculativeExecutionPolicy)
        and isinstance(timeout, (int, float))
        # The policy itself warns of longer delays.
        and timeout <= policy.delay <= LONG_DELAY
        and policy.max_attempts > 0
    ):
        warnings.warn(
            f"speculative executions never start: their delay={policy.delay} is not shorter than "
            f"request_timeout={timeout}, both in seconds; write {policy.delay / 1000:g} for "
            f"{policy.delay} milliseconds",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def _with_advice(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap `init`, so that its error for an unknown setting says which setting to use instead."""

    @functools.wraps(init)
    def construct(self: Any, *args: Any, **settings: Any) -> None:
        for name in settings:
            # The constructor of a subclass may have other parameters, but it passes only settings
            # on to this constructor.
            if name not in _SETTINGS:
                raise TypeError(
                    f"ExecutionProfile has no setting {name!r}{_advice_for_unknown(name)}"
                )
        init(self, *args, **settings)

    return construct


def _advice_for_unknown(name: str) -> str:
    """Return the end of an error message, which says what to write instead of `name`."""
    if name in _ADVICE:
        return f": {_ADVICE[name]}"
    similar_name = nearest(name, _SETTINGS)
    return (
        f"; did you mean {similar_name!r}?"
        if similar_name
        else f"; it has {', '.join(sorted(_SETTINGS))}"
    )


# The settings with policies that need the hosts or the engine of a cluster. If such a policy is
# replaced, each cluster that uses the profile must be notified.
_ADOPTED_POLICIES = frozenset(
    {"load_balancing_policy", "retry_policy", "speculative_execution_policy"}
)
_SETTINGS = frozenset(ExecutionProfile.__annotations__) | frozenset(_Attributes.__annotations__)


def _checked_profile_observers(name: str, observers: object) -> tuple[ObserverBase, ...]:
    return checked_observers(observers, "profile")


# Built-in classes that users pass by mistake instead of a row factory, with the row factory that
# the error suggests.
_ROW_CLASSES: dict[Any, str] = {
    dict: "dict_factory",
    tuple: "tuple_factory",
    list: "tuple_factory",
}


def _policy_check(method: str, example: str) -> Callable[[str, object], Any]:
    """Return a function that checks the type of a policy when the setting is set.

    Otherwise an object of a wrong type would cause an error only when a request uses the policy.

    :param method: the name of a method that the policy must have.
    :param example: what to write instead, for the message.
    """

    def check(name: str, policy: _Value) -> _Value:
        if isinstance(policy, type):
            raise TypeError(class_advice(name, policy))
        if not hasattr(policy, method):
            raise TypeError(
                f"{name} must be a policy, but is {policy!r} of type {type(policy).__name__}: "
                f"write {example}"
            )
        return policy

    return check


def _checked_level(name: str, level: _Value) -> _Value:
    """Return `level`, or raise TypeError if it is a string.

    None may be set, but a request that uses the level None raises an error.
    """
    if isinstance(level, str):
        raise TypeError(
            f"{name} must be a value of ConsistencyLevel, but is {level!r}"
            f"{_advice_for_level(level)}"
        )
    return level


def _advice_for_level(name: str) -> str:
    """Return the end of an error message, which says what to write instead of a level's name.

    That is the constant whose name is nearest to `name`; all levels if no name is near.
    """
    return constant_of(nearest(name.upper(), ConsistencyLevel.name_to_value) or name)


def checked_timeout(name: str, timeout: _Value) -> _Value:
    """Return a time in seconds, or None for no limit.

    A time of 0 or less may be set, but requests with such a timeout fail at once.

    :param name: the setting, for the message.
    :param timeout: the value of the application.
    :raises TypeError: if it is not a number.
    :raises ValueError: if it is NaN, because a request with that timeout would never time out.
    """
    if timeout is not None and not hasattr(timeout, "__float__") and not is_mock(timeout):
        raise TypeError(
            f"{name} must be a number of seconds or None, but is {timeout!r} "
            f"of type {type(timeout).__name__}"
        )
    # NaN is the only number that is not equal to itself.
    if timeout != timeout:
        raise ValueError(f"{name} must be a number of seconds, but is {timeout!r}")
    if isinstance(timeout, bool):
        # cassandra-driver accepts bools as numbers, so only warn.
        warnings.warn(
            f"{name}={timeout} is a timeout of {int(timeout)} seconds: write a number of seconds, "
            "or None for no limit",
            RuntimeWarning,
            stacklevel=stack_level(),
        )
    elif isinstance(timeout, (int, float)):
        warn_of_milliseconds(name, timeout)
    return timeout


# Classes of these libraries hold whole tables, and are no row factories.
_TABLE_LIBRARIES = ("pandas", "polars", "pyarrow")


def checked_row_factory(name: str, factory: _Value) -> _Value:
    """Return the row factory.

    :param name: the setting, for the message.
    :param factory: the value of the application.
    :raises TypeError: if it cannot be called, or is a built-in class that is not a row factory.
    """
    # Check for frequent mistakes first, because each of them needs other advice.
    if isinstance(factory, type) and factory in _ROW_CLASSES:
        raise TypeError(
            f"{name} is called with the names of the columns and the rows, which "
            f"{factory.__name__} cannot take: write {_ROW_CLASSES[factory]} of cassandra.query"
        )
    if isinstance(factory, type) and factory.__module__.partition(".")[0] in _TABLE_LIBRARIES:
        raise TypeError(
            f"{name} is called with the names of the columns and the rows, which "
            f"{factory.__name__} takes otherwise: write result.to_pandas(), or "
            "polars.from_arrow(result.to_arrow())"
        )
    if isinstance(factory, FunctionType) and not _takes_two(factory):
        raise TypeError(
            f"{name} is called with two arguments, the names of the columns and the rows, which "
            f"{factory.__qualname__} of {factory.__module__} cannot take: write "
            "def factory(colnames, rows)"
        )
    if not callable(factory):
        raise TypeError(
            f"{name} must be a function of column names and rows, but is {factory!r} "
            f"of type {type(factory).__name__}: write dict_factory, tuple_factory or "
            "named_tuple_factory of cassandra.query"
        )
    return factory


# The value of `inspect.CO_VARARGS`: the function has *args. Importing `inspect` would take time.
_CO_VARARGS = 0x04


def _takes_two(function: FunctionType) -> bool:
    """Return True if a function can be called with two positional arguments."""
    code = function.__code__
    # Look at the function itself, not at its `__wrapped__`: the driver calls the outermost
    # function.
    required = code.co_argcount - len(function.__defaults__ or ())
    accepts_two = code.co_argcount >= 2 or bool(code.co_flags & _CO_VARARGS)
    return required <= 2 and accepts_two


# Replace the constructor by setattr, because type checkers then still see its own parameters.
setattr(ExecutionProfile, "__init__", _with_advice(ExecutionProfile.__init__))  # noqa: B010

# The functions that check a setting's new value. Each is called with the setting's name and the
# value, and returns the value to store.
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "consistency_level": _checked_level,
    "load_balancing_policy": _policy_check(
        "make_query_plan", "TokenAwarePolicy(DCAwareRoundRobinPolicy(local_dc='dc1'))"
    ),
    "request_observers": _checked_profile_observers,
    "request_timeout": checked_timeout,
    "retry_policy": _policy_check("on_read_timeout", "RetryPolicy()"),
    "row_factory": checked_row_factory,
    "serial_consistency_level": checked_serial,
    "speculative_execution_policy": _policy_check(
        "new_plan", "ConstantSpeculativeExecutionPolicy(delay=0.1, max_attempts=2)"
    ),
}


def attached_policies(profile: ExecutionProfile) -> tuple[AttachedPolicy, ...]:
    """Return the policies with a method `attach`, apart from the load balancing policy.

    :param profile: the profile.
    """
    policies = (profile.speculative_execution_policy, profile.retry_policy)
    return tuple(policy for policy in policies if hasattr(policy, "attach"))


# How many of the profiles that were passed to calls most recently are kept alive.
HELD_PROFILES = 16


class _UnnamedProfile:
    """A profile that the application passed to a call and did not add to the cluster.

    :param key: the id of the profile.
    :param reference: a weak reference to the profile. Its callback runs when the profile is freed.
    :param policy: its load balancing policy.
    :param attached: its other policies that have a method `attach`.
    """

    __slots__ = ("attached", "is_ready", "key", "policy", "reference")

    def __init__(
        self,
        key: int,
        reference: weakref.ref[ExecutionProfile],
        policy: LoadBalancingPolicy,
        attached: tuple[AttachedPolicy, ...],
    ) -> None:
        self.key = key
        self.reference = reference
        self.policy = policy
        self.attached = attached
        self.is_ready = False  # True once the cluster has adopted all policies

    def has(self, policy: LoadBalancingPolicy, attached: tuple[AttachedPolicy, ...]) -> bool:
        """Return True if these are the policies that the profile had when it was added."""
        # Compare identities, because user-defined policies may be equal without being the same
        # object.
        return self.policy is policy and [*map(id, self.attached)] == [*map(id, attached)]


class _Profiles(dict[Any, ExecutionProfile]):
    """The profiles of a `ProfileManager` by name. It notifies the manager of new profiles."""

    __slots__ = ("_manager",)

    def __init__(self, manager: ProfileManager, profiles: Mapping[Any, ExecutionProfile]) -> None:
        super().__init__(profiles)
        # A strong reference would make a cycle (manager, profiles, manager), which only the garbage
        # collector could free.
        self._manager = weakref.ref(manager)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        # A copy or pickle is a plain dict: changes of it must not notify the manager.
        return dict, (dict(self),)


def _notifying(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of dict, so that it notifies the manager of new profiles."""

    @functools.wraps(method)
    def change(self: _Profiles, *args: Any, **keywords: Any) -> Any:
        previous = list(self.values())
        result = method(self, *args, **keywords)
        manager = self._manager()
        if manager is not None:
            manager.notify(previous)
        return result

    return change


for _name in ("__ior__", "__setitem__", "setdefault", "update"):
    setattr(_Profiles, _name, _notifying(getattr(dict, _name)))
del _name


class ProfileManager:
    """The profiles of a cluster by name.

    :param pools_allowed: ignored; for compatibility with cassandra-driver.
    """

    def __init__(self, pools_allowed: bool = False) -> None:
        self.pools_allowed = pools_allowed
        # Called with the profiles that the application has put into `profiles` directly.
        self.on_new_profiles: Callable[[list[ExecutionProfile]], None] | None = None
        # Called with a profile after one of its policies was replaced, even if this cluster does
        # not use the profile.
        self.on_policy_change: Callable[[ExecutionProfile], None] | None = None
        self._profiles = _Profiles(self, {})
        _managers[id(self)] = self
        # `_unnamed`: profiles that were passed to calls, by id, until they are freed.
        # `_last_unnamed` keeps the last HELD_PROFILES of these profiles alive, because their
        # requests may still need a retry or another page.
        self._unnamed: dict[int, _UnnamedProfile] = {}
        self._last_unnamed: deque[ExecutionProfile] = deque(maxlen=HELD_PROFILES)

    @property
    def profiles(self) -> dict[Any, ExecutionProfile]:
        """The profiles by name. The application may add and replace profiles."""
        return self._profiles

    @profiles.setter
    def profiles(self, profiles: Mapping[Any, ExecutionProfile]) -> None:
        previous = list(self._profiles.values())
        self._profiles = _Profiles(self, profiles)
        self.notify(previous)

    def add(self, name: Any, profile: ExecutionProfile) -> None:
        """Add or replace a profile without calling `on_new_profiles`.

        :param name: the profile's name.
        :param profile: the profile.
        """
        dict.__setitem__(self._profiles, name, profile)

    def notify(self, previous: Iterable[ExecutionProfile]) -> None:
        """Call `on_new_profiles` with the profiles that were added by a change.

        The list is empty, for example, if the change has only given an existing profile another
        name.

        :param previous: the profiles before the change.
        """
        previous_ids = {id(profile) for profile in previous}
        new_profiles = [
            profile for profile in list(self._profiles.values()) if id(profile) not in previous_ids
        ]
        if self.on_new_profiles is not None:
            self.on_new_profiles(new_profiles)

    @property
    def default(self) -> ExecutionProfile:
        """The profile of executions that do not specify a profile."""
        return self.profiles[EXEC_PROFILE_DEFAULT]

    def policies(self) -> list[LoadBalancingPolicy]:
        """Return the load balancing policies of all profiles, without duplicates."""
        by_id = {
            id(profile.load_balancing_policy): profile.load_balancing_policy
            for profile in self.profiles.values()
        }
        by_id |= {id(unnamed.policy): unnamed.policy for unnamed in list(self._unnamed.values())}
        return list(by_id.values())

    def add_unnamed(
        self, profile: ExecutionProfile, forget: Callable[[Policy], None]
    ) -> _UnnamedProfile | None:
        """Add a profile that was passed to a call.

        :param profile: the profile. Only a weak reference to it is stored.
        :param forget: called in any thread with a policy of the profile, when no profile uses that
            policy any more.
        :returns: an object if a policy of the profile is new. The caller must then adopt all
            policies of the profile, and set `is_ready`. None if all its policies are in use
            already.
        """
        policy = profile.load_balancing_policy
        attached = attached_policies(profile)
        existing = self._unnamed.get(id(profile))
        if existing is not None:
            # The profile was passed before. Do nothing unless its policies were replaced.
            if existing.has(policy, attached):
                return None if existing.is_ready else existing
        elif self._is_named(policy, attached):
            return None

        # The weak reference to the profile calls this function when the profile is freed.
        def on_profile_freed(reference: weakref.ref[ExecutionProfile]) -> None:
            # Delete only our own entry: the id may belong to another profile by now, or the same
            # profile was passed again with other policies.
            if self._unnamed.get(unnamed.key) is unnamed:
                del self._unnamed[unnamed.key]
            self._forget_unused(unnamed, forget)

        unnamed = _UnnamedProfile(
            id(profile), weakref.ref(profile, on_profile_freed), policy, attached
        )
        self._unnamed[id(profile)] = unnamed
        if existing is None:
            self._last_unnamed.append(profile)
        else:
            # The profile was passed before with other policies, which may be unused now.
            self._forget_unused(existing, forget)
        return unnamed

    def _is_named(self, policy: LoadBalancingPolicy, attached: Iterable[AttachedPolicy]) -> bool:
        """Return True if named profiles have these policies, so that the cluster adopted them."""
        profiles = list(self.profiles.values())
        adopted = [other for profile in profiles for other in attached_policies(profile)]
        return any(policy is profile.load_balancing_policy for profile in profiles) and all(
            any(needed is other for other in adopted) for needed in attached
        )

    def _forget_unused(self, unnamed: _UnnamedProfile, forget: Callable[[Policy], None]) -> None:
        """Call `forget` with each policy of the profile that no other profile uses."""
        if not any(unnamed.policy is other for other in self.policies()):
            forget(unnamed.policy)
        for policy in unnamed.attached:
            if not any(policy is other for other in self.attached_policies()):
                forget(policy)

    def attached_policies(self) -> list[AttachedPolicy]:
        """Return all speculative execution and retry policies that have a method `attach`.

        The policies come from all profiles. Each policy is returned only once.
        """
        # One tuple of policies for each profile.
        groups = [attached_policies(profile) for profile in list(self.profiles.values())]
        groups += [unnamed.attached for unnamed in list(self._unnamed.values())]
        return list({id(policy): policy for policies in groups for policy in policies}.values())

    def distance(self, host: Host) -> int:
        """Return the shortest distance of a host according to the policies of all profiles.

        The distance is -1 (IGNORED) if all policies ignore the host.

        :param host: the `Host`.
        """
        distances = {policy.distance(host) for policy in self.policies()}
        # Leave out IGNORED, which is negative and would be the minimum.
        used = [distance for distance in distances if distance >= 0]
        return min(used) if used else -1


# The profile managers of all clusters, by id. A profile does not know which clusters use it, so all
# managers are notified when one of its policies is replaced.
_managers: weakref.WeakValueDictionary[int, ProfileManager] = weakref.WeakValueDictionary()

ExecutionProfile.__module__ = "cassandra.cluster"
ProfileManager.__module__ = "cassandra.cluster"
