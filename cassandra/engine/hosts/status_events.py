"""Handles the server's STATUS_CHANGE events, which report that a host is up or down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.engine.hosts.debouncing import spread

if TYPE_CHECKING:
    from random import Random

    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host


class Hosts(Protocol):
    """The object that reacts to status events; see `cassandra.engine.hosts.watch.HostWatch`."""

    def knows(self, host: Host) -> bool:
        """Return False if `host` has left the cluster, or another `Host` object has replaced it."""

    def on_reported_up(self, host: Host) -> None:
        """Called when the cluster reports `host` up."""

    def on_reported_down(self, host: Host) -> None:
        """Called when the cluster reports `host` down."""


class StatusEvents:
    """Passes STATUS_CHANGE events to `hosts` after a delay.

    If several events about the same host come during the delay, only the last event is passed.

    :param hosts: reacts to the events.
    :param read_nodes: called with an event if the node list must be read again, because the event
        names an unknown host or reports a known host up.
    :param random: chooses the delays; None uses the process-wide generator.
    """

    __slots__ = (
        "_closed", "_delayed_calls", "_hosts", "_metadata", "_random", "_read_nodes", "_settings",
    )  # fmt: skip

    def __init__(
        self,
        settings: Settings,
        metadata: Metadata,
        hosts: Hosts,
        read_nodes: Callable[[Mapping[str, Any]], None],
        random: Random | None = None,
    ) -> None:
        self._random = random
        self._settings = settings
        self._metadata = metadata
        self._hosts = hosts
        self._read_nodes = read_nodes
        # The timers of events that are not passed on yet, by host.
        self._delayed_calls: dict[Host, asyncio.TimerHandle] = {}
        self._closed = False

    def on_event(self, event: Mapping[str, Any]) -> None:
        """Handle a STATUS_CHANGE event: after a short delay, report its host up or down.

        If the event reports the host up, the node list is also read again. If the node is not in
        the node list, or if the status is neither UP nor DOWN, the node list is read again and
        nothing is reported. Events are ignored if the setting `status_event_refresh_window` is
        negative.
        """
        window = self._settings.status_event_refresh_window
        if window < 0:  # the application wants such events to be ignored
            return
        address, port = event["address"]
        # Several nodes may share an address, so look for address and port first. The port in the
        # event may differ from the port that we know, so look for the address alone next.
        host = self._metadata.get_host(str(address), port) or self._metadata.get_host(str(address))
        if host is None or event["change_type"] not in ("UP", "DOWN"):
            # The node is not in the node list yet, or a newer server reports a status that this
            # driver does not know: read the list again.
            self._read_nodes(event)
            return
        # A node that restarts causes several events: drop an earlier event, so that only the last
        # event counts.
        earlier_call = self._delayed_calls.pop(host, None)
        if earlier_call is not None:
            earlier_call.cancel()
        is_up = event["change_type"] == "UP"
        if is_up:
            # Also read the node list: another node may have got this address, and not every server
            # sends a separate event for that.
            self._read_nodes(event)
        report = self._hosts.on_reported_up if is_up else self._hosts.on_reported_down
        self._delayed_calls[host] = asyncio.get_running_loop().call_later(
            spread(window, self._random), self._pass_on, host, report
        )

    def _pass_on(self, host: Host, report: Callable[[Host], None]) -> None:
        """Call `report` with `host` at the end of the delay.

        Do nothing if `host` has left the cluster, or another `Host` object has replaced it.
        """
        self._delayed_calls.pop(host, None)
        # The host may have left the cluster during the delay.
        if not self._closed and self._hosts.knows(host):
            report(host)

    def close(self) -> None:
        """Drop the events that are still delayed; `hosts` gets no more events."""
        self._closed = True
        for handle in self._delayed_calls.values():
            handle.cancel()
        self._delayed_calls.clear()
