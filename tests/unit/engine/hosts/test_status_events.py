"""`StatusEvents`, which handles the STATUS_CHANGE events of known hosts.

Of several events of a host in quick succession, only the last event counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cassandra.engine.hosts.status_events import StatusEvents
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from tests.unit.engine.partners import engine_settings, new_host, run_loop_turns


class RecordingWatch:
    """A fake of the host watch that records status events and requests to read the node list.

    `known` is the result of `knows`. `calls` has ("up", address), ("down", address) and ("read",
    address).
    """

    def __init__(self) -> None:
        self.known = True
        self.calls: list[tuple[str, str]] = []

    def knows(self, host: Host) -> bool:
        return self.known

    def on_reported_up(self, host: Host) -> None:
        self.calls.append(("up", host.address))

    def on_reported_down(self, host: Host) -> None:
        self.calls.append(("down", host.address))

    def read_nodes(self, event: Mapping[str, Any]) -> None:
        self.calls.append(("read", event["address"][0]))


def status_event(change: str, address: str = "10.0.0.1", port: int = 9042) -> dict[str, Any]:
    """Return a STATUS_CHANGE event.

    :param change: "UP" or "DOWN".
    """
    return {"change_type": change, "address": (address, port)}


@pytest.fixture
def watch() -> RecordingWatch:
    return RecordingWatch()


def status_events(watch: RecordingWatch, window: float = 0.0) -> StatusEvents:
    """Return a `StatusEvents` that knows the hosts 10.0.0.1 and 10.0.0.2.

    :param window: the setting `status_event_refresh_window`, in seconds.
    """
    metadata = Metadata()
    metadata._replace_hosts([new_host("10.0.0.1"), new_host("10.0.0.2")])
    return StatusEvents(
        engine_settings(status_event_refresh_window=window), metadata, watch, watch.read_nodes
    )


async def wait_for_all(events: StatusEvents) -> None:
    """Wait until the delayed events have been passed on."""
    while events._delayed_calls:
        await run_loop_turns()


async def test_the_last_event_of_a_host_in_one_window_counts(watch: RecordingWatch) -> None:
    """Of several events of a host, only the last is passed on, after a delay."""
    events = status_events(watch)
    for change in ("UP", "DOWN", "UP", "DOWN"):
        events.on_event(status_event(change))
    events.on_event(status_event("UP", "10.0.0.2"))
    # After each UP event, the node list is read, because another node may have come up at the same
    # address.
    assert watch.calls == [("read", "10.0.0.1")] * 2 + [("read", "10.0.0.2")]
    watch.calls.clear()
    await wait_for_all(events)
    assert sorted(watch.calls) == [("down", "10.0.0.1"), ("up", "10.0.0.2")]


async def test_an_event_with_another_port_finds_the_host_by_its_address(
    watch: RecordingWatch,
) -> None:
    """A DOWN event finds its host by the address alone, even if the port is another.

    Nodes report the port that they listen on. A translator may have changed the port that the
    driver uses.
    """
    events = status_events(watch)
    events.on_event(status_event("DOWN", port=19042))
    await wait_for_all(events)
    assert watch.calls == [("down", "10.0.0.1")]


async def test_an_event_of_an_unknown_node_reads_the_node_list(watch: RecordingWatch) -> None:
    """An UP event of an unknown address makes the driver read the node list at once.

    The node may have been added to the cluster.
    """
    status_events(watch).on_event(status_event("UP", "10.9.9.9"))
    assert watch.calls == [("read", "10.9.9.9")]


async def test_an_event_with_an_unknown_status_only_reads_the_node_list(
    watch: RecordingWatch,
) -> None:
    """A status that only newer servers know reports the host neither up nor down."""
    events = status_events(watch)
    events.on_event(status_event("SLEEPY"))
    await wait_for_all(events)
    assert watch.calls == [("read", "10.0.0.1")]


async def test_an_event_of_a_host_that_has_left_is_dropped(watch: RecordingWatch) -> None:
    """An event of a host that leaves the cluster before the event's delay ends is dropped."""
    events = status_events(watch)
    events.on_event(status_event("DOWN"))
    watch.known = False
    await wait_for_all(events)
    assert watch.calls == []


async def test_a_negative_window_switches_status_events_off(watch: RecordingWatch) -> None:
    """With a negative window, status events are ignored, and the node list is not read.

    This holds for the known host 10.0.0.1 and for the unknown address 10.9.9.9.
    """
    events = status_events(watch, window=-1)
    events.on_event(status_event("UP"))
    events.on_event(status_event("UP", "10.9.9.9"))
    assert not events._delayed_calls
    assert watch.calls == []


async def test_no_event_is_passed_on_after_close(watch: RecordingWatch) -> None:
    """`close` drops the events whose delay has not ended."""
    events = status_events(watch)
    events.on_event(status_event("DOWN"))
    events.close()
    await run_loop_turns()
    assert watch.calls == []
