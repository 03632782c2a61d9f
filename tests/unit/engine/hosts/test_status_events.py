"""What the cluster says of hosts: the last word counts, and only of hosts that are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cassandra.engine.hosts.status_events import StatusEvents
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from tests.unit.engine.partners import host, settings, turns


class Heard:
    """Acts on status events, and is asked about events of strangers."""

    def __init__(self) -> None:
        self.known = True
        self.told: list[tuple[str, str]] = []

    def knows(self, host: Host) -> bool:
        return self.known

    def on_said_up(self, host: Host) -> None:
        self.told.append(("up", host.address))

    def on_said_down(self, host: Host) -> None:
        self.told.append(("down", host.address))

    def read_nodes(self, event: Mapping[str, Any]) -> None:
        self.told.append(("read", event["address"][0]))


def said(change: str, address: str = "10.0.0.1", port: int = 9042) -> dict[str, Any]:
    return {"change_type": change, "address": (address, port)}


@pytest.fixture
def heard() -> Heard:
    return Heard()


def status_events(heard: Heard, window: float = 0.0) -> StatusEvents:
    metadata = Metadata()
    metadata._replace_hosts([host("10.0.0.1"), host("10.0.0.2")])
    return StatusEvents(
        settings(status_event_refresh_window=window), metadata, heard, heard.read_nodes
    )


async def wait_for_all(found: StatusEvents) -> None:
    while found._waiting:
        await turns()


async def test_the_last_word_of_a_burst_counts(heard: Heard) -> None:
    found = status_events(heard)
    for change in ("UP", "DOWN", "UP", "DOWN"):
        found.on_event(said(change))
    found.on_event(said("UP", "10.0.0.2"))
    # A node that is up may be another one than before.
    assert heard.told == [("read", "10.0.0.1")] * 2 + [("read", "10.0.0.2")]
    heard.told.clear()
    await wait_for_all(found)
    assert sorted(heard.told) == [("down", "10.0.0.1"), ("up", "10.0.0.2")]


async def test_a_host_is_known_by_its_address_too(heard: Heard) -> None:
    """Nodes tell of the port that they listen on, which a translator may have changed."""
    found = status_events(heard)
    found.on_event(said("DOWN", port=19042))
    await wait_for_all(found)
    assert heard.told == [("down", "10.0.0.1")]


async def test_a_stranger_has_the_node_list_read(heard: Heard) -> None:
    status_events(heard).on_event(said("UP", "10.9.9.9"))
    assert heard.told == [("read", "10.9.9.9")]


async def test_a_host_that_has_left_meanwhile_is_let_be(heard: Heard) -> None:
    found = status_events(heard)
    found.on_event(said("DOWN"))
    heard.known = False
    await wait_for_all(found)
    assert heard.told == []


async def test_a_negative_window_switches_status_events_off(heard: Heard) -> None:
    found = status_events(heard, window=-1)
    found.on_event(said("UP"))
    found.on_event(said("UP", "10.9.9.9"))
    assert not found._waiting
    assert heard.told == []


async def test_nothing_is_passed_on_after_the_end(heard: Heard) -> None:
    found = status_events(heard)
    found.on_event(said("DOWN"))
    found.close()
    await turns()
    assert heard.told == []
