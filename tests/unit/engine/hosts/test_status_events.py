"""Status events of the cluster: the last report counts, and only for known hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cassandra.engine.hosts.status_events import StatusEvents
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from tests.unit.engine.partners import host, settings, turns


class RecordingWatch:
    """Acts on status events, and receives questions about unknown hosts."""

    def __init__(self) -> None:
        self.known = True
        self.told: list[tuple[str, str]] = []

    def knows(self, host: Host) -> bool:
        return self.known

    def on_reported_up(self, host: Host) -> None:
        self.told.append(("up", host.address))

    def on_reported_down(self, host: Host) -> None:
        self.told.append(("down", host.address))

    def read_nodes(self, event: Mapping[str, Any]) -> None:
        self.told.append(("read", event["address"][0]))


def status_event(change: str, address: str = "10.0.0.1", port: int = 9042) -> dict[str, Any]:
    return {"change_type": change, "address": (address, port)}


@pytest.fixture
def heard() -> RecordingWatch:
    return RecordingWatch()


def status_events(heard: RecordingWatch, window: float = 0.0) -> StatusEvents:
    metadata = Metadata()
    metadata._replace_hosts([host("10.0.0.1"), host("10.0.0.2")])
    return StatusEvents(
        settings(status_event_refresh_window=window), metadata, heard, heard.read_nodes
    )


async def wait_for_all(events: StatusEvents) -> None:
    while events._waiting:
        await turns()


async def test_the_last_word_of_a_burst_counts(heard: RecordingWatch) -> None:
    events = status_events(heard)
    for change in ("UP", "DOWN", "UP", "DOWN"):
        events.on_event(status_event(change))
    events.on_event(status_event("UP", "10.0.0.2"))
    # A node that comes up may have been replaced.
    assert heard.told == [("read", "10.0.0.1")] * 2 + [("read", "10.0.0.2")]
    heard.told.clear()
    await wait_for_all(events)
    assert sorted(heard.told) == [("down", "10.0.0.1"), ("up", "10.0.0.2")]


async def test_a_host_is_known_by_its_address_too(heard: RecordingWatch) -> None:
    """A host is also found by its address alone: nodes report the port that they listen on, which a
    translator may have changed.
    """
    events = status_events(heard)
    events.on_event(status_event("DOWN", port=19042))
    await wait_for_all(events)
    assert heard.told == [("down", "10.0.0.1")]


async def test_a_stranger_has_the_node_list_read(heard: RecordingWatch) -> None:
    status_events(heard).on_event(status_event("UP", "10.9.9.9"))
    assert heard.told == [("read", "10.9.9.9")]


async def test_a_host_that_has_left_meanwhile_is_let_be(heard: RecordingWatch) -> None:
    events = status_events(heard)
    events.on_event(status_event("DOWN"))
    heard.known = False
    await wait_for_all(events)
    assert heard.told == []


async def test_a_negative_window_switches_status_events_off(heard: RecordingWatch) -> None:
    events = status_events(heard, window=-1)
    events.on_event(status_event("UP"))
    events.on_event(status_event("UP", "10.9.9.9"))
    assert not events._waiting
    assert heard.told == []


async def test_no_event_is_passed_on_after_close(heard: RecordingWatch) -> None:
    events = status_events(heard)
    events.on_event(status_event("DOWN"))
    events.close()
    await turns()
    assert heard.told == []
