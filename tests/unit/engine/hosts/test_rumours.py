"""What the cluster says of hosts: the last word counts, and only of hosts that are known."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from cassandra.engine.hosts.rumours import Rumours
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.testing.fake import FakeCluster
from tests.unit.engine.faults import HostEvents, connected, thread
from tests.unit.engine.partners import host, settings, turns
from tests.unit.metadata.placement.test_routing import until


class Heard:
    """What acts on rumours, and is asked about events of strangers."""

    def __init__(self) -> None:
        self.known = True
        self.news: list[str] = []
        self.told: list[tuple[str, str]] = []

    def knows(self, host: Host) -> bool:
        return self.known

    def on_said_up(self, host: Host) -> None:
        self.told.append(("up", host.address))

    def on_said_down(self, host: Host) -> None:
        self.told.append(("down", host.address))

    def on_news(self, event: Mapping[str, Any]) -> None:
        self.news.append(event["address"][0])


def said(change: str, address: str = "10.0.0.1", port: int = 9042) -> dict[str, Any]:
    return {"change_type": change, "address": (address, port)}


@pytest.fixture
def heard() -> Heard:
    return Heard()


def rumours(heard: Heard, window: float = 0.0) -> Rumours:
    metadata = Metadata()
    metadata.replace_hosts([host("10.0.0.1"), host("10.0.0.2")])
    return Rumours(settings(status_event_refresh_window=window), metadata, heard, heard.on_news)


async def wait_for_all(found: Rumours) -> None:
    while found._waiting:
        await turns()


async def test_the_last_word_of_a_burst_counts(heard: Heard) -> None:
    found = rumours(heard)
    for change in ("UP", "DOWN", "UP", "DOWN"):
        found.on_event(said(change))
    found.on_event(said("UP", "10.0.0.2"))
    assert heard.told == []
    await wait_for_all(found)
    assert sorted(heard.told) == [("down", "10.0.0.1"), ("up", "10.0.0.2")]


async def test_a_host_is_known_by_its_address_too(heard: Heard) -> None:
    """Nodes tell of the port that they listen on, which a translator may have changed."""
    found = rumours(heard)
    found.on_event(said("UP", port=19042))
    await wait_for_all(found)
    assert heard.told == [("up", "10.0.0.1")]


async def test_a_stranger_has_the_node_list_read(heard: Heard) -> None:
    rumours(heard).on_event(said("UP", "10.9.9.9"))
    assert (heard.told, heard.news) == ([], ["10.9.9.9"])


async def test_a_host_that_is_up_again_has_the_node_list_read(heard: Heard) -> None:
    found = rumours(heard)
    found.on_event(said("DOWN"))
    assert heard.news == []
    found.on_event(said("UP"))
    assert heard.news == ["10.0.0.1"]
    await wait_for_all(found)


async def test_a_host_that_has_left_meanwhile_is_let_be(heard: Heard) -> None:
    found = rumours(heard)
    found.on_event(said("UP"))
    heard.known = False
    await wait_for_all(found)
    assert heard.told == []


async def test_a_negative_window_switches_rumours_off(heard: Heard) -> None:
    found = rumours(heard, window=-1)
    found.on_event(said("UP"))
    found.on_event(said("UP", "10.9.9.9"))
    assert not found._waiting
    assert heard.told == []
    assert heard.news == []


async def test_nothing_is_passed_on_after_the_end(heard: Heard) -> None:
    found = rumours(heard)
    found.on_event(said("DOWN"))
    found.close()
    await turns()
    assert heard.told == []


async def test_a_node_replaced_at_its_address_is_known_by_down_and_up_alone() -> None:
    """Some servers send no NEW_NODE of it: its new id is in the node list, which UP has read."""
    windows: dict[str, Any] = {
        "status_event_refresh_window": 0.01,
        "topology_event_refresh_window": 0.01,
    }
    with FakeCluster(2) as nodes:
        async with connected(nodes, **windows) as (cluster, session):
            at = cluster.get_control_connection_host().address
            replaced = next(node for node in nodes.nodes if node.address != at)
            before = cluster.metadata.get_host(replaced.address)
            events = HostEvents()
            cluster.register_listener(events)
            await thread(nodes.stop_node, replaced)
            await events.expect("down", replaced.address)
            replaced.host_id = uuid.UUID(int=99)
            await thread(nodes.start_node, replaced)
            await until(lambda: cluster.metadata.get_host(replaced.address) is not before)
            after = cluster.metadata.get_host(replaced.address)
            assert after is not None
            assert after.host_id == replaced.host_id
            await until(lambda: any(host is after for host in session.get_pool_state()))
