"""Observers of a cluster or session can be added both before and after the engine exists."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from cassandra.client.observing import ObservedBySession, without
from cassandra.cluster import Cluster
from cassandra.observers import RequestObserver
from tests.waiting import WAIT


class Observer(RequestObserver):
    def on_end(self, request: Any) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return True  # so only identity tells two observers apart

    __hash__ = None  # type: ignore[assignment]


class FakeEngine:
    def __init__(self) -> None:
        self.observers: tuple[Any, ...] = ()

    def observe(self, *observers: Any) -> None:
        self.observers = observers

    def observe_requests(self, observer: Any) -> None:
        self.observers += (observer,)

    def forget_observer(self, observer: Any) -> None:
        self.observers = without(observer, self.observers)


def ids(observers: Any) -> list[int]:
    return [id(observer) for observer in observers]


def test_without_compares_observers_by_identity() -> None:
    first, second = Observer(), Observer()
    assert ids(without(first, (first, second))) == [id(second)]
    with pytest.raises(ValueError, match="is not registered: the observers are"):
        without(Observer(), (first, second))


def test_observers_of_a_cluster_can_be_added_and_removed() -> None:
    first, second = Observer(), Observer()
    cluster: Any = Cluster(request_observers=[first])
    cluster.add_request_observer(second)
    assert ids(cluster.request_observers) == ids([first, second])
    # When the cluster connects, it passes its observers on to the engine.
    engine = cluster._core = FakeEngine()
    cluster._observe(engine)
    assert ids(engine.observers) == ids([first, second])
    cluster.remove_request_observer(first)
    assert ids(engine.observers) == ids(cluster.request_observers) == [id(second)]
    cluster.request_observers = [first]
    assert ids(engine.observers) == [id(first)]
    with pytest.raises(ValueError, match="is not registered"):
        cluster.remove_request_observer(second)
    with pytest.raises(TypeError):
        cluster.add_request_observer(5)
    assert ids(engine.observers) == [id(first)]


def test_observers_of_a_session_can_be_added_and_removed() -> None:
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


@pytest.mark.parametrize("kind", ["cluster", "session"])
def test_two_threads_that_add_observers_lose_none(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Observer(), Observer()
    engine = FakeEngine()
    if kind == "cluster":
        holder: Any = Cluster()
        holder._core = engine
        name = "observe_requests"
    else:
        holder = ObservedBySession()
        holder._engine = engine
        name = "observe"
    register = getattr(engine, name)
    other = threading.Thread(target=holder.add_request_observer, args=(second,))

    def interrupted(*observers: Any) -> None:
        # The first call comes from the first thread, which has read the observers already. The
        # other thread ends here, or waits until the first one is done.
        if other.ident is None:
            other.start()
            other.join(0.1)
        register(*observers)

    monkeypatch.setattr(engine, name, interrupted)
    holder.add_request_observer(first)
    other.join(WAIT)
    assert ids(engine.observers) == ids([first, second])
