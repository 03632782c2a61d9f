"""Status events of known hosts: of several events of a host, only the last one counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cassandra.engine.hosts.status_events import StatusEvents
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from tests.unit.engine.partners import engine_settings, new_host, run_loop_turns


class RecordingWatch:
    """A fake of the host watch. It records the status events, and the unknown addresses that are to
    be read.

    `known` is the result of `knows`.
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
    """Return a STATUS_CHANGE event, with the change "UP" or "DOWN"."""
    return {"change_type": change, "address": (address, port)}


@pytest.fixture
def watch() -> RecordingWatch:
    return RecordingWatch()


def status_events(watch: RecordingWatch, window: float = 0.0) -> StatusEvents:
    """Return the handler of status events of two hosts.

    :param window: the setting `status_event_refresh_window`, in seconds.
    """
    metadata = Metadata()
    metadata._replace_hosts([new_host("10.0.0.1"), new_host("10.0.0.2")])
    return StatusEvents(
        engine_settings(status_event_refresh_window=window), metadata, watch, watch.read_nodes
    )


async def wait_for_all(events: StatusEvents) -> None:
    """Wait until the handler has passed on all events."""
    while events._delayed_calls:
        await run_loop_turns()


async def test_the_last_event_of_a_host_in_one_window_counts(watch: RecordingWatch) -> None:
    """Events are passed on after a delay, and only the last one of each host."""
    events = status_events(watch)
    for change in ("UP", "DOWN", "UP", "DOWN"):
        events.on_event(status_event(change))
    events.on_event(status_event("UP", "10.0.0.2"))
    # A node that comes up may be another one at the same address, so the node list is read, too.
    assert watch.calls == [("read", "10.0.0.1")] * 2 + [("read", "10.0.0.2")]
    watch.calls.clear()
    await wait_for_all(events)
    assert sorted(watch.calls) == [("down", "10.0.0.1"), ("up", "10.0.0.2")]


async def test_an_event_with_another_port_finds_the_host_by_its_address(
    watch: RecordingWatch,
) -> None:
    """Nodes report the port that they listen on, which a translator may have changed."""
    events = status_events(watch)
    events.on_event(status_event("DOWN", port=19042))
    await wait_for_all(events)
    assert watch.calls == [("down", "10.0.0.1")]


async def test_an_event_of_an_unknown_node_reads_the_node_list(watch: RecordingWatch) -> None:
    """A node whose address is unknown may have been added, so the node list is read at once."""
    status_events(watch).on_event(status_event("UP", "10.9.9.9"))
    assert watch.calls == [("read", "10.9.9.9")]


async def test_an_event_of_a_host_that_has_left_is_dropped(watch: RecordingWatch) -> None:
    """Events are passed on with a delay. If the host has left by then, its event is dropped."""
    events = status_events(watch)
    events.on_event(status_event("DOWN"))
    watch.known = False
    await wait_for_all(events)
    assert watch.calls == []


async def test_a_negative_window_switches_status_events_off(watch: RecordingWatch) -> None:
    """With a negative window, neither events of known hosts nor of unknown ones (10.9.9.9) are
    passed on.
    """
    events = status_events(watch, window=-1)
    events.on_event(status_event("UP"))
    events.on_event(status_event("UP", "10.9.9.9"))
    assert not events._delayed_calls
    assert watch.calls == []


async def test_no_event_is_passed_on_after_close(watch: RecordingWatch) -> None:
    """`close` also drops the events whose delay is not over yet."""
    events = status_events(watch)
    events.on_event(status_event("DOWN"))
    events.close()
    await run_loop_turns()
    assert watch.calls == []
