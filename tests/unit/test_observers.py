"""Tests of observers of requests, which can be added, removed and replaced.

They do not disturb requests.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
import re
import threading
import time
import weakref
from typing import Any

import pytest

import cassandra.engine.observers as observers_module
from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.engine.profile import HELD_PROFILES
from cassandra.observers import ObservedRequest, RequestObserver, checked_observers
from cassandra.policies.speculation import ConstantSpeculativeExecutionPolicy
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import FakeCluster, FakeNode, delay, hold
from tests.unit.engine.faults import WAIT, AddressOrderPolicy
from tests.unit.observing import (
    INSERT,
    ONE_ROW,
    QUERY,
    Blocking,
    Connect,
    Recorder,
    caller,
    connect as connect,
    node as node,
    recorder as recorder,
)

# -- registration ----------------------------------------------------------------------------------


class NamedObserver(RequestObserver):
    """Adds its name to `ended` at the end of each request, and to `shut_down` at the shutdown."""

    ended: list[str]
    shut_down: list[str]

    def __init__(self, name: str) -> None:
        self.name = name

    def on_end(self, request: ObservedRequest) -> None:
        self.ended.append(self.name)

    def on_shutdown(self) -> None:
        self.shut_down.append(self.name)


@pytest.fixture(autouse=True)
def _no_names() -> None:
    """Let each test begin without the names of other tests."""
    NamedObserver.ended = []
    NamedObserver.shut_down = []


def observers_of_request(session: Any, **options: Any) -> list[str]:
    """Execute a request, and return the names of the observers that got it."""
    NamedObserver.ended.clear()
    session.execute(QUERY, **options)
    return list(NamedObserver.ended)


def test_observers_of_cluster_session_and_profile_see_a_request(
    connect: Connect, node: FakeNode
) -> None:
    """The observers of the cluster, session and profile must see a request, in this order."""
    profile = ExecutionProfile(request_observers=[NamedObserver("profile")])
    session = connect(node, NamedObserver("cluster"), execution_profiles={"own": profile})
    session.session.add_request_observer(NamedObserver("session"))
    assert observers_of_request(session) == ["cluster", "session"]
    assert observers_of_request(session, execution_profile="own") == [
        "cluster",
        "session",
        "profile",
    ]


def test_removed_observers_see_no_further_requests(connect: Connect, node: FakeNode) -> None:
    profile = ExecutionProfile(request_observers=[NamedObserver("profile")])
    session = connect(node, NamedObserver("cluster"), execution_profiles={"own": profile})
    session_observer = NamedObserver("session")
    session.session.add_request_observer(session_observer)
    # The first request lets the engine prepare the calls of these observers.
    assert len(observers_of_request(session, execution_profile="own")) == 3
    session.session.remove_request_observer(session_observer)
    profile.request_observers = ()
    assert observers_of_request(session, execution_profile="own") == ["cluster"]
    with pytest.raises(ValueError, match="is not registered"):
        session.session.remove_request_observer(session_observer)


def test_observers_of_a_connected_cluster_can_be_added_and_replaced(
    connect: Connect, node: FakeNode
) -> None:
    """After `connect`, added observers must see requests, and replaced observers must not."""
    session = connect(node, NamedObserver("cluster"))
    late_observer = NamedObserver("late")
    session.cluster.add_request_observer(late_observer)
    assert observers_of_request(session) == ["cluster", "late"]
    session.cluster.request_observers = [NamedObserver("other")]
    assert observers_of_request(session) == ["other"]
    with pytest.raises(ValueError, match="is not registered"):
        session.cluster.remove_request_observer(late_observer)


def test_all_observers_are_told_of_the_shutdown(connect: Connect, node: FakeNode) -> None:
    shared = NamedObserver("cluster and session")
    profile = ExecutionProfile(request_observers=[NamedObserver("profile")])
    session = connect(node, shared, execution_profiles={"own": profile})
    session.session.add_request_observer(shared)
    session.session.add_request_observer(NamedObserver("session"))
    session.execute(QUERY, execution_profile="own")
    ending = session.cluster.shutdown()
    # This is the asyncio API.
    if ending is not None:
        session.run(ending)
    assert sorted(NamedObserver.shut_down) == ["cluster and session", "profile", "session"]


@pytest.mark.parametrize("owner_name", ["cluster", "session", "profile"])
def test_removed_observers_are_freed(connect: Connect, node: FakeNode, owner_name: str) -> None:
    class EndRecorder(RequestObserver):
        def on_end(self, request: ObservedRequest) -> None:
            ended_queries.append(request.query_string)

    ended_queries: list[Any] = []
    session = connect(node)
    observer_references = []
    for _ in range(30):
        observer = EndRecorder()
        observer_references.append(weakref.ref(observer))
        if owner_name == "profile":
            profile = ExecutionProfile(request_observers=[observer])
            for _ in range(2):
                session.execute(QUERY, execution_profile=profile)
            del profile
        else:
            owner = session.cluster if owner_name == "cluster" else session.session
            owner.add_request_observer(observer)
            session.execute(QUERY)
            owner.remove_request_observer(observer)
        del observer
    assert len(ended_queries) == (60 if owner_name == "profile" else 30)
    # The engine keeps the last HELD_PROFILES profiles, so use as many new profiles to make the
    # engine drop the profile of this test.
    for _ in range(HELD_PROFILES):
        session.execute(QUERY, execution_profile=ExecutionProfile())
    # The latest request may still refer to the last profile, so send one more.
    session.execute(QUERY)
    gc.collect()
    assert [reference() for reference in observer_references] == [None] * 30
    # Nor may the engine have a wrapper of an observer left.
    assert not session.session._engine.core._by_id


def test_a_profile_s_observers_are_resolved_once_for_each_session(
    connect: Connect, node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    observer_tuples = []
    original_hooks_of = observers_module.Observers.hooks_of

    def recording_hooks_of(self: Any, observers: Any) -> Any:
        observer_tuples.append(tuple(observers))
        return original_hooks_of(self, observer_tuples[-1])

    profile = ExecutionProfile(request_observers=[Recorder()])
    session = connect(node, execution_profiles={"own": profile})
    monkeypatch.setattr(observers_module.Observers, "hooks_of", recording_hooks_of)
    for _ in range(3):
        session.execute(QUERY, execution_profile="own")
    assert observer_tuples == [profile.request_observers]
    # The engine caches data in the list of observers. A copy must have the same observers without
    # this data.
    assert copy.copy(profile.request_observers) == profile.request_observers


def test_unobserved_requests_have_no_hooks(connect: Connect, node: FakeNode) -> None:
    """A session must have hooks only as long as it has an observer."""
    session: Any = connect(node)
    hooks = [session.session._engine.hooks]
    observer = Recorder()
    session.cluster.add_request_observer(observer)
    hooks.append(session.session._engine.hooks)
    session.cluster.remove_request_observer(observer)
    hooks.append(session.session._engine.hooks)
    assert [hook is None for hook in hooks] == [True, False, True]
    session.execute(QUERY)
    assert observer.events == []


def test_an_observer_of_latencies_only_creates_no_observed_request(node: FakeNode) -> None:
    seconds: list[float] = []

    class LatencyRecorder(RequestObserver):
        def on_latency(self, host: Any, latency: float) -> None:
            seconds.append(latency)

    session = Blocking(node, LatencyRecorder())
    try:
        session.execute(QUERY)
        # Hooks (the engine's object for observers) would create one more object for each request,
        # which a latency recorder does not need.
        assert session.session._engine.hooks is None
        assert len(seconds) == 1
    finally:
        session.close()


def test_a_host_that_is_overtaken_has_a_latency(connect: Connect) -> None:
    """A host that loses against speculative executions must seem as slow as it is known to be.

    An abandoned speculative execution has no latency: it would make its host seem fast.
    """
    latencies: list[tuple[str, float]] = []

    class LatencyRecorder(RequestObserver):
        def on_latency(self, host: Any, seconds: float) -> None:
            latencies.append((host.address, seconds))

    with FakeCluster(3) as nodes:
        never = hold(ONE_ROW)
        nodes[0].prime(QUERY, never)
        nodes[1].prime(QUERY, delay(0.2, ONE_ROW))
        nodes[2].prime(QUERY, never)
        profile = ExecutionProfile(
            load_balancing_policy=AddressOrderPolicy(),
            speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.05, 2),
        )
        session = connect(
            nodes, LatencyRecorder(), execution_profiles={EXEC_PROFILE_DEFAULT: profile}
        )
        latencies.clear()
        session.execute(SimpleStatement(QUERY, is_idempotent=True))
        never.release()
        (second, seconds_of_second), (first, seconds_of_first) = latencies
        assert (first, second) == (nodes[0].address, nodes[1].address)
        assert seconds_of_first > seconds_of_second + 0.04


@pytest.mark.parametrize(
    ("observers", "message"),
    [
        (RequestObserver(), r"write \[observer\]"),
        (3, "iterable of RequestObserver, not 3"),
        ([print], "must be a cassandra.observers.RequestObserver"),
        ([RequestObserver], "write an instance of it"),
        (None, "iterable of RequestObserver, not None"),
    ],
)
def test_objects_that_are_not_observers_are_refused(observers: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Cluster(request_observers=observers)
    with pytest.raises(TypeError, match=message):
        ExecutionProfile(request_observers=observers)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("on_finish", "did you mean 'on_end'?"),
        ("on_ended", "did you mean 'on_end'?"),
        ("on_atempt", "did you mean 'on_attempt'?"),
        ("on_request", "did you mean 'on_start'?"),
    ],
)
@pytest.mark.parametrize("owner", ["cluster", "session", "profile"])
def test_methods_without_an_event_are_refused(owner: str, name: str, advice: str) -> None:
    observer = type("Timer", (RequestObserver,), {name: lambda self, request: None})()
    with pytest.raises(TypeError, match=re.escape(f"Timer.{name} is never called: {advice}")):
        checked_observers([observer], owner)


def test_observers_may_have_methods_of_their_own() -> None:
    observer = type("Timer", (RequestObserver,), {"on_quux_zork_q": lambda self: None})()
    assert checked_observers([observer], "cluster") == (observer,)


def test_coroutine_functions_are_refused() -> None:
    class Timer(RequestObserver):
        async def on_end(self, request: ObservedRequest) -> None:  # type: ignore[override]
            pass

    with pytest.raises(TypeError, match=r"Timer\.on_end is `async def`.*: write `def on_end`"):
        checked_observers([Timer()], "cluster")


def test_an_asynchronous_generator_is_refused() -> None:
    class Timer(RequestObserver):
        async def on_start(self, request: ObservedRequest) -> Any:
            yield request

    with pytest.raises(TypeError, match=r"Timer\.on_start is `async def`"):
        checked_observers([Timer()], "cluster")


def test_methods_of_other_bases_are_no_events() -> None:
    """Methods of other bases must not count as events.

    An observer may also be a listener or a policy, and may have values named ``on_...``.
    """

    class HostListener:
        def on_anything(self) -> None:
            pass

    class ObserverAndListener(RequestObserver, HostListener):
        on_purpose = True

        def on_anything(self) -> None:
            pass

        def on_up(self, host: Any) -> None:
            pass

    class Derived(ObserverAndListener):
        def on_anything(self) -> None:
            pass

    observer = Derived()
    assert checked_observers([observer], "cluster") == (observer,)


def test_on_latency_is_refused_for_observers_of_a_profile() -> None:
    """An observer with `on_latency` must be accepted for a cluster, but not for a profile."""

    class LatencyObserver(RequestObserver):
        def on_latency(self, host: Any, seconds: float) -> None:
            raise NotImplementedError

    assert len(checked_observers([LatencyObserver()], "cluster")) == 1
    with pytest.raises(
        ValueError, match=r"LatencyObserver\.on_latency is called for observers of a clust"
    ):
        ExecutionProfile(request_observers=[LatencyObserver()])


# -- what observers see ---------------------------------------------------------------------------


def test_observers_see_the_request_s_settings(connect: Connect, node: FakeNode) -> None:
    settings: list[Any] = []

    class SettingsRecorder(RequestObserver):
        def on_start(self, request: ObservedRequest) -> None:
            settings.append(
                (
                    request.keyspace,
                    request.consistency_level,
                    request.serial_consistency_level,
                    request.is_idempotent,
                    request.page_size,
                    request.timeout,
                    request.batch_size,
                    request.host,
                    request.latency,
                )
            )

    session = connect(node, SettingsRecorder())
    statement = SimpleStatement(
        QUERY,
        consistency_level=ConsistencyLevel.QUORUM,
        serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL,
        is_idempotent=True,
        fetch_size=7,
        keyspace="other",
    )
    session.execute(statement, timeout=3.5)
    batch = BatchStatement()
    batch.add(SimpleStatement("INSERT INTO t (k) VALUES (1)"))
    batch.add(session.prepare(INSERT), (2,))
    session.execute(batch)
    # The PREPARE that the driver sends between the two requests must not be observed.
    quorum, local_serial = ConsistencyLevel.QUORUM, ConsistencyLevel.LOCAL_SERIAL
    assert settings == [
        ("other", quorum, local_serial, True, 7, 3.5, None, None, None),
        (None, ConsistencyLevel.LOCAL_ONE, None, False, None, 10.0, 2, None, None),
    ]


# -- faults of observers ---------------------------------------------------------------------------


def test_an_observer_that_raises_does_not_fail_the_request(
    connect: Connect, node: FakeNode, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    class FailingObserver(RequestObserver):
        def on_start(self, request: ObservedRequest) -> None:
            raise ValueError("start")

        def on_attempt(self, request: ObservedRequest, attempt: Any) -> None:
            raise StopIteration

        def on_end(self, request: ObservedRequest) -> None:
            raise asyncio.CancelledError

    session = connect(node, FailingObserver(), recorder)
    for _ in range(3):
        assert session.rows(session.execute(QUERY))[0].k == 1
    assert recorder.names == ["start", "attempt", "end"] * 3
    records = [record for record in caplog.records if record.name == "cassandra.observers"]
    # At most one line must be logged in ten seconds.
    assert len(records) == 1
    assert "on_start of the request observer" in records[0].getMessage()


def test_an_observer_that_blocks_gets_later_events_from_another_thread(
    connect: Connect,
    node: FakeNode,
    recorder: Recorder,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cassandra.engine.observers.MOST_SLOW_CALLS", 1)
    # The thread of an observer ends after this number of seconds without events.
    monkeypatch.setattr("cassandra.engine.observers._IDLE", 0.05)
    may_continue = threading.Event()
    has_all_events = threading.Event()
    callers_and_sizes: list[tuple[str, int | None]] = []

    class SlowObserver(RequestObserver):
        def on_end(self, request: ObservedRequest) -> None:
            if not callers_and_sizes:
                # This is longer than an observer may take before it is moved from the thread of the
                # engine to a separate one.
                time.sleep(0.11)
            elif len(callers_and_sizes) == 1:
                may_continue.wait(WAIT)
            callers_and_sizes.append((caller.get(), request.response_size))
            if len(callers_and_sizes) == 4:
                has_all_events.set()

    session = connect(node, SlowObserver(), recorder)
    token = caller.set("me")
    try:
        for _ in range(4):
            session.execute(QUERY)
    finally:
        caller.reset(token)
    # The observer still handles the first event. The second one waits in the thread of the
    # observer, but the requests were not delayed.
    assert len(callers_and_sizes) == 1
    assert recorder.names == ["start", "attempt", "end"] * 4
    may_continue.set()
    assert has_all_events.wait(WAIT)
    assert [caller_name for caller_name, _ in callers_and_sizes] == ["me"] * 4
    assert all(size for _, size in callers_and_sizes)
    with caplog.at_level(logging.WARNING):
        assert "in a thread of its own" in caplog.text


def test_storage_is_shared_by_the_events_of_a_request(connect: Connect, node: FakeNode) -> None:
    """What an observer stores in `request.storage` at the start, it must find at the end."""
    stored_values: list[Any] = []

    class StoringObserver(RequestObserver):
        def on_start(self, request: ObservedRequest) -> None:
            request.storage[self] = "kept"

        def on_end(self, request: ObservedRequest) -> None:
            stored_values.append(request.storage[self])

    connect(node, StoringObserver()).execute(QUERY)
    assert stored_values == ["kept"]
