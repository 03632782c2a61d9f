"""Observers can be added to a cluster or session before and after the engine exists."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from cassandra.client.observing import ObservedBySession, without
from cassandra.cluster import Cluster
from cassandra.observers import RequestObserver
from tests.waiting import WAIT


class Observer(RequestObserver):
    """An observer that equals any object, so that observers must be compared by identity."""

    def on_end(self, request: Any) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return True  # only the identity of observers differs

    __hash__ = None  # type: ignore[assignment]


class FakeEngine:
    """A fake for the engine of a session and for the engine of a cluster.

    A session's engine has `observe`, and a cluster's engine has the other two methods.
    """

    def __init__(self) -> None:
        self.observers: tuple[Any, ...] = ()

    def observe(self, *observers: Any) -> None:
        """Replace all observers."""
        self.observers = observers

    def observe_requests(self, observer: Any) -> None:
        """Add one observer."""
        self.observers += (observer,)

    def forget_observer(self, observer: Any) -> None:
        self.observers = without(observer, self.observers)


def ids(observers: Any) -> list[int]:
    """Return the identities of the observers, in their order."""
    return [id(observer) for observer in observers]


def test_without_compares_observers_by_identity() -> None:
    first, second = Observer(), Observer()
    assert ids(without(first, (first, second))) == [id(second)]
    with pytest.raises(ValueError, match="is not registered: the observers are"):
        without(Observer(), (first, second))


def test_observers_of_a_cluster_can_be_added_and_removed() -> None:
    """After each change, the cluster and its engine have the same observers.

    A change that is refused has no effect.
    """
    first, second = Observer(), Observer()
    cluster: Any = Cluster(request_observers=[first])
    cluster.add_request_observer(second)
    assert ids(cluster.request_observers) == ids([first, second])
    # When the cluster connects, it passes its observers on to the engine.
    engine = cluster._core = FakeEngine()
    cluster._observe(engine)
    assert ids(engine.observers) == ids([first, second])
    cluster.remove_request_observer(first)
    assert ids(engine.observers) == [id(second)]
    assert ids(cluster.request_observers) == [id(second)]
    cluster.request_observers = [first]
    assert ids(engine.observers) == [id(first)]
    with pytest.raises(ValueError, match="is not registered"):
        cluster.remove_request_observer(second)
    with pytest.raises(TypeError):
        cluster.add_request_observer(5)
    assert ids(engine.observers) == [id(first)]


def test_observers_of_a_session_can_be_added_and_removed() -> None:
    """After each change, the session's engine gets the session's observers.

    A change that is refused has no effect.
    """
    session: Any = ObservedBySession()
    session._engine = FakeEngine()
    first, second = Observer(), Observer()
    session.add_request_observer(first)
    session.add_request_observer(second)
    assert ids(session._engine.observers) == ids([first, second])
    session.remove_request_observer(first)
    assert ids(session._engine.observers) == [id(second)]
    with pytest.raises(ValueError, match="is not registered"):
        session.remove_request_observer(first)
    with pytest.raises(TypeError):
        session.add_request_observer(5)
    assert ids(session._engine.observers) == [id(second)]


@pytest.mark.parametrize("observed", ["cluster", "session"])
def test_two_threads_that_add_observers_lose_none(
    observed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If two threads add an observer at the same time, the engine gets both observers."""
    first, second = Observer(), Observer()
    engine = FakeEngine()
    if observed == "cluster":
        observable: Any = Cluster()
        observable._core = engine
        method_name = "observe_requests"
    else:
        observable = ObservedBySession()
        observable._engine = engine
        method_name = "observe"
    original_method = getattr(engine, method_name)
    other_thread = threading.Thread(target=observable.add_request_observer, args=(second,))

    def start_other_thread_first(*observers: Any) -> None:
        # The first call comes from the main thread, which has already read the observers. The other
        # thread ends during the `join`, or waits until the main thread is done.
        if other_thread.ident is None:
            other_thread.start()
            other_thread.join(0.1)
        original_method(*observers)

    monkeypatch.setattr(engine, method_name, start_other_thread_first)
    observable.add_request_observer(first)
    other_thread.join(WAIT)
    assert ids(engine.observers) == ids([first, second])
