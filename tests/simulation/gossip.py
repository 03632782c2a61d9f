"""Late gossip: nodes that read of changes seconds later, and events that come late or never.

Without it, each node's ``system.peers`` follows a change at once, and each event comes once and
immediately. On real nodes both depend on gossip: a row may follow its event by seconds, a node that
has just started may have no rows yet, and events may come in another order.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.testing.fake.node import FakeNode

# The attributes of a node that other nodes learn by gossip.
_GOSSIPED = ("address", "host_id", "tokens")
_LOST_SHARE = 0.15  # of the events about nodes; schema changes are never lost
DOUBLED_SHARE = 0.15
LATE_SHARE = 0.5  # of events, and of changes in the rows of a node
LONGEST = 3.0  # the most seconds by which an event or a row is late


def lateness(generator: random.Random) -> float:
    """Draw the seconds by which something is late. Short delays are more frequent."""
    return generator.random() ** 2 * LONGEST


class _Row:
    """The row of a peer as a node knows it: some values may be older than the peer's own.

    :param peer: the node that the row describes.
    """

    def __init__(self, peer: FakeNode) -> None:
        self._peer = peer
        self.gossiped = [getattr(peer, name) for name in _GOSSIPED]
        vars(self).update(zip(_GOSSIPED, self.gossiped, strict=True))

    def __getattr__(self, name: str) -> Any:
        """Return the current value of an attribute that is not gossiped."""
        return getattr(self._peer, name)


class _Knowledge:
    """What a node knows of one peer: its row, and when the node will learn of a change.

    :param row: the row; None if the node has no row of the peer.
    """

    def __init__(self, row: _Row | None) -> None:
        self.row = row
        self.due: float | None = None


class Gossip:
    """Decides when nodes learn of changes, and when their events reach clients.

    :param loop: the loop of the simulation.
    :param seed: the seed of the simulation.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seed: int) -> None:
        self.loop = loop
        self._random = random.Random(f"{seed}/gossip delays")
        self._knowledge: dict[FakeNode, dict[Any, _Knowledge]] = {}
        self._is_calm = True

    def begin(self) -> None:
        """From now on, changes are late. The nodes know each other so far."""
        self._is_calm = False

    def end(self) -> None:
        """From now on, changes are not late, and all former changes come within `LONGEST`."""
        if self._is_calm:
            return
        self._is_calm = True
        for peers in self._knowledge.values():
            for knowledge in peers.values():
                knowledge.due = self.loop.time() + self._random.random() * LONGEST

    def forget(self, node: FakeNode) -> None:
        """Let a node that starts know its peers later."""
        for knowledge in self._knowledge.get(node, {}).values():
            if self._is_late():
                knowledge.row = knowledge.due = None

    def rows_of(self, node: FakeNode, peers: Sequence[Any]) -> list[Any]:
        """Return the current rows of a node's ``system.peers``.

        :param peers: the peers that the node will have in the end; one may be listed twice.
        """
        known_peers = self._knowledge.setdefault(node, {})
        for peer in peers:
            if peer not in known_peers:
                known_peers[peer] = _Knowledge(_Row(peer) if self._is_calm else None)
        for peer, knowledge in known_peers.items():
            self._update(knowledge, _Row(peer) if peer in peers else None)
        listed = [*peers, *(peer for peer in known_peers if peer not in peers)]
        rows = [known_peers[peer].row for peer in listed]
        return [row for row in rows if row is not None]

    def _update(self, knowledge: _Knowledge, current: _Row | None) -> None:
        """Replace a row by the current one, if it differs and is due."""
        before = knowledge.row
        if before is not None and current is not None and before.gossiped == current.gossiped:
            return
        if before is current:  # both are None
            return
        now = self.loop.time()
        if knowledge.due is None:
            knowledge.due = now + (lateness(self._random) if self._is_late() else 0.0)
        if now >= knowledge.due:
            knowledge.row, knowledge.due = current, None

    def delays(self, event_type: str) -> list[float]:
        """Return the seconds by which an event is late, for each time that it is sent.

        :param event_type: the type of the event, such as "STATUS_CHANGE".
        """
        if self._is_calm:
            return [0.0]
        share = self._random.random()
        if share < _LOST_SHARE and event_type != "SCHEMA_CHANGE":
            return []
        count = 2 if share > 1 - DOUBLED_SHARE else 1
        return [lateness(self._random) if self._is_late() else 0.0 for _ in range(count)]

    def _is_late(self) -> bool:
        return not self._is_calm and self._random.random() < LATE_SHARE
