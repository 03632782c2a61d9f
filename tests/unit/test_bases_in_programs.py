"""Tests of applications that subclass, copy, pickle and patch classes of the driver.

Compiled code reads the attributes of these classes.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import ExecutionProfile
from cassandra.cqltypes import Int32Type
from cassandra.engine.call_options import CallOptions
from cassandra.engine.session import EngineSession
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.policies import DCAwareRoundRobinPolicy, RoundRobinPolicy, TokenAwarePolicy
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query import (
    BatchStatement,
    BoundStatement,
    PreparedStatement,
    SimpleStatement,
    Statement,
)
from cassandra.query.settings import NOT_SET, SETTINGS
from tests.conftest import Implementation


def prepared(statement_class: type[PreparedStatement] = PreparedStatement) -> PreparedStatement:
    """Return a prepared statement of the class that the test gives."""
    columns = [ColumnMetadata("ks", "t", "k", Int32Type)]
    return statement_class(columns, b"id", [0], "SELECT v FROM t WHERE k = ?", "ks", 5, None, None)


def statements() -> list[Any]:
    """Return a statement of each class."""
    batch = BatchStatement()
    batch.add(SimpleStatement("INSERT"))
    return [
        SimpleStatement(
            "SELECT", consistency_level=ConsistencyLevel.QUORUM, custom_payload={"a": b"b"}
        ),
        prepared(),
        prepared().bind([5]),
        batch,
    ]


def attributes(thing: Any) -> set[str]:
    """Return the names of the slots of `thing` that have a value."""
    slots = {name for base in type(thing).__mro__ for name in base.__dict__.get("__slots__", ())}
    return {name for name in slots if hasattr(thing, name)}


DUPLICATES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    lambda thing: pickle.loads(pickle.dumps(thing)),
]


@pytest.mark.parametrize("duplicate", DUPLICATES)
@pytest.mark.parametrize("index", range(4))
def test_statements_are_copied(index: int, duplicate: Callable[[Any], Any]) -> None:
    statement = statements()[index]
    if duplicate is not copy.copy and isinstance(statement, (PreparedStatement, BoundStatement)):
        pytest.skip("their bind plans are not pickled")
    # This is an attribute of the application.
    statement.note = [1]
    duplicated = duplicate(statement)
    assert type(duplicated) is type(statement)
    assert attributes(duplicated) == attributes(statement)
    for name in (*SETTINGS, "serial_consistency_level", "keyspace", "table", "note"):
        assert getattr(duplicated, name, None) == getattr(statement, name, None), name
    if isinstance(statement, BoundStatement):
        assert duplicated.values == statement.values


@pytest.mark.parametrize("index", range(4))
def test_mock_patches_of_settings_are_undone(index: int) -> None:
    statement = statements()[index]
    for name in SETTINGS:
        value = getattr(statement, name)
        with mock.patch.object(statement, name, "patched"):
            assert getattr(statement, name) == "patched"
        assert getattr(statement, name) is value


class WithOwner:
    """A mixin whose `__init__` sets another attribute."""

    owner = "nobody"

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.owner = "somebody"


class OwnedStatement(WithOwner, SimpleStatement):
    pass


class TaggedStatement(SimpleStatement):
    __slots__ = ("tag",)

    tag: int


def test_statements_with_two_bases_and_with_slots() -> None:
    """Copies and pickles of statements must keep the attributes of two bases or slots."""
    statement = OwnedStatement("SELECT", fetch_size=7)
    assert statement.owner == "somebody"
    assert statement.fetch_size == 7
    assert statement.query_string == "SELECT"
    tagged = TaggedStatement("SELECT", keyspace="ks")
    tagged.tag = 5
    for duplicate in DUPLICATES:
        assert duplicate(statement).owner == "somebody"
        assert (duplicate(tagged).tag, duplicate(tagged).keyspace) == (5, "ks")


def test_bound_statements_are_statements() -> None:
    # `BoundStatement` has a second base class, whose attributes compiled code reads.
    assert issubclass(BoundStatement, Statement)


class OverridingStatement(PreparedStatement):
    """A prepared statement that overrides the settings of its base class.

    It overrides one with a property, and the default of another with a class attribute.
    """

    fetch_size = 77

    @property
    def consistency_level(self) -> Any:
        return 6

    @consistency_level.setter
    def consistency_level(self, level: Any) -> None:
        pass


def test_settings_that_a_subclass_overrides_are_bound(implementation: Implementation) -> None:
    bound_by_default = implementation.binding.bind(prepared(), [5])
    assert bound_by_default.consistency_level is None
    assert bound_by_default.keyspace == "ks"
    assert bound_by_default.table == "t"
    assert bound_by_default.fetch_size is not None
    # The second time, the binding code has cached that the class overrides settings.
    for _ in range(2):
        statement = prepared(OverridingStatement)
        del statement.fetch_size
        bound = implementation.binding.bind(statement, [5])
        assert (bound.consistency_level, bound.fetch_size) == (6, 77)
        assert bound.values == [b"\0\0\0\x05"]
        # The cache must not affect statements of the base class.
        assert implementation.binding.bind(prepared(), [5]).consistency_level is None


def test_binding_raises_attribute_error_for_a_deleted_setting(
    implementation: Implementation,
) -> None:
    statement = prepared()
    del statement.retry_policy
    with pytest.raises(AttributeError, match="retry_policy"):
        implementation.binding.bind(statement, [5])


class FixedFetchSize(BoundStatement):
    """A statement that overrides a setting with a property."""

    @property
    def fetch_size(self) -> Any:
        return 3

    @fetch_size.setter
    def fetch_size(self, size: Any) -> None:
        pass


class FixedTimeout(CallOptions):
    """Options of a call that override one of them with a property."""

    @property
    def timeout(self) -> Any:
        return 0.5

    @timeout.setter
    def timeout(self, seconds: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("statement_class", "page_size"), [(BoundStatement, 5), (FixedFetchSize, 3)]
)
def test_bound_statements_may_have_properties(
    implementation: Implementation, statement_class: Any, page_size: int
) -> None:
    session = SimpleNamespace(
        timestamp_generator=None,
        use_client_timestamp=True,
        default_fetch_size=5,
        _default_vector_type="list",
    )
    statement = statement_class(prepared())
    body = SimpleNamespace()
    implementation.happy_path.resolve(
        body, session, statement, FixedTimeout(ExecutionProfile(), timeout=NOT_SET)
    )
    # LOCAL_ONE is the default of profiles.
    assert (body.page_size, body.consistency) == (page_size, ConsistencyLevel.LOCAL_ONE)


# -- hosts, metadata, policies, profiles, and classes of the engine -------------------------------


class FlappingHost(Host):
    """A host whose `is_up` is a property."""

    answers = True

    @property
    def is_up(self) -> Any:
        return self.answers

    @is_up.setter
    def is_up(self, value: Any) -> None:
        pass


def test_plans_use_an_overridden_is_up(implementation: Implementation) -> None:
    hosts = [FlappingHost("10.0.0.1"), Host("10.0.0.2"), Host("10.0.0.3")]
    hosts[2].set_down()
    child = RoundRobinPolicy()
    assert list(implementation.plans.replica_plan(hosts, child, None, None))[:2] == hosts[:2]
    hosts[0].answers = False  # type: ignore[attr-defined]
    assert next(implementation.plans.replica_plan(hosts, child, None, None)) is hosts[1]
    with mock.patch.object(hosts[2], "is_up", True):
        assert list(implementation.plans.replica_plan(hosts, child, None, None))[:2] == hosts[1:]
    # When the patch has ended, the original value must be back.
    assert hosts[2].is_up is False


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_hosts_and_policies_are_copied(duplicate: Callable[[Any], Any]) -> None:
    """A copied or pickled host must have the same state, and a policy the same settings."""
    host = Host("10.0.0.1", datacenter="dc1")
    host.set_up()
    other = duplicate(host)
    assert other == host
    assert other.is_up is True
    assert other.datacenter == "dc1"
    policy = duplicate(TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False))
    assert (policy.shuffle_replicas, policy._planner) == (False, None)


class TwoPolicies(TokenAwarePolicy, DCAwareRoundRobinPolicy):
    """A policy with two built-in policies as bases, as some applications have."""


class WithoutPlanner(TokenAwarePolicy):
    """A policy whose `_planner` (the object that makes its plans in compiled code) is None."""

    @property
    def _planner(self) -> Any:
        return None

    @_planner.setter
    def _planner(self, planner: Any) -> None:
        pass


@pytest.mark.parametrize("policy_class", [TokenAwarePolicy, TwoPolicies, WithoutPlanner])
def test_subclasses_of_the_token_aware_policy_make_plans(
    implementation: Implementation, policy_class: Any
) -> None:
    policy = policy_class(RoundRobinPolicy())
    hosts = [Host("10.0.0.1"), Host("10.0.0.2")]
    for host in hosts:
        host.set_up()
    policy.populate(SimpleNamespace(metadata=Metadata()), hosts)
    # The second time, the class of the policy is cached.
    for _ in range(2):
        assert set(implementation.plans.make_query_plan(policy, "ks", None)) == set(hosts)


class CountingSession(EngineSession):
    """A session that counts how often its keyspace is read."""

    lookups = 0

    @property
    def keyspace(self) -> Any:
        type(self).lookups += 1
        return "ks"

    @keyspace.setter
    def keyspace(self, keyspace: Any) -> None:
        pass


def test_the_engine_s_sessions_may_have_properties(implementation: Implementation) -> None:
    core: Any = SimpleNamespace(
        loop=None,
        timers=None,
        hooks_of=lambda observers: None,
        throttler=None,
    )
    session = CountingSession(core, "other", lambda host: 0)
    assert (session.closed, session.core) == (False, core)
    calls: list[str] = []

    def make_plan(keyspace: str, query: object) -> list[Host]:
        calls.append(keyspace)
        return []

    class Request(implementation.happy_path.RequestBase):  # type: ignore[misc,name-defined]
        def on_plan_exhausted(self) -> None:
            calls.append("exhausted")

    count_before = CountingSession.lookups
    request = Request(session, SimpleNamespace(), SimpleNamespace(consistency=1), None)
    request.policy = SimpleNamespace(make_query_plan=make_plan)
    request.start()
    assert calls == ["ks", "exhausted"]
    # Starting the request must have read the property only once.
    assert CountingSession.lookups == count_before + 1


class OverridingProfile(ExecutionProfile):
    """A profile class that overrides a default. Its instances have a slot and a dictionary."""

    __slots__ = ("own",)

    own: int
    consistency_level = 6


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_copied_profiles_of_a_subclass_keep_slots_and_class_defaults(
    duplicate: Callable[[Any], Any],
) -> None:
    profile = OverridingProfile(request_timeout=3.0)
    profile.own = 5
    # If the instance has no value, the class default (6) must apply.
    del profile.consistency_level
    duplicated = duplicate(profile)
    assert duplicated.consistency_level == 6
    assert duplicated.request_timeout == 3.0
    assert duplicated.own == 5
    with mock.patch.object(profile, "request_timeout", 7.0):
        assert profile.request_timeout == 7.0
    assert (profile.request_timeout, ExecutionProfile.request_timeout) == (3.0, 10.0)
