"""Targets, the parts of the schema that are to be read again, and how many become few.

No I/O here. Servers send an event for each table that is created or dropped, so thousands can come
at once. Their number is bounded: many targets of one keyspace become the whole keyspace,
and many keyspaces become the whole schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

MANY = 12  # that many targets in one keyspace are read as the whole keyspace
MANY_KEYSPACES = 64  # targets in that many keyspaces are read as the whole schema


class Target(NamedTuple):
    """A part of the schema that is to be read again.

    `kind` is ALL, KEYSPACE, REPLICATION (a keyspace's replication and durable writes alone), TABLE
    (or view), TYPE, FUNCTION or AGGREGATE. `forced` targets are asked for by the program, and read
    even if reading is switched off.
    """

    kind: str = "ALL"
    keyspace: str = ""
    name: str = ""
    forced: bool = False

    @classmethod
    def of_event(cls, event: Mapping[str, Any]) -> Target:
        """Return the target that a schema change names."""
        kind, keyspace = event["target_type"], event["keyspace"]
        # Servers lose letters beyond Latin-1 in these names: what they are a part of is read again.
        if not keyspace.isascii():
            return cls()
        if kind == "KEYSPACE":
            # One that was dropped, and perhaps made again since, is read as a whole.
            return cls("REPLICATION" if event["change_type"] == "UPDATED" else "KEYSPACE", keyspace)
        changed = event[kind.lower()]
        name = getattr(changed, "name", changed)
        return cls(kind, keyspace, name) if name.isascii() else cls("KEYSPACE", keyspace)

    def covers(self, other: Target) -> bool:
        """Return True if reading this one reads `other` too."""
        if other.forced and not self.forced:
            return False
        return self.kind == "ALL" or (self.kind == "KEYSPACE" and self.keyspace == other.keyspace)


class PendingTargets:
    """Targets that wait to be read: a set whose size is bounded, however many are added."""

    __slots__ = ("_all", "_by_keyspace")

    def __init__(self) -> None:
        self._all: Target | None = None
        self._by_keyspace: dict[str, dict[Target, None]] = {}

    def add(self, target: Target) -> None:
        """Add a target, unless one that covers it is there."""
        if self._all is not None and self._all.covers(target):
            return
        if target.kind == "ALL":
            self._all = target
            self._by_keyspace = {} if target.forced else self._forced_alone()
            return
        known = self._by_keyspace.setdefault(target.keyspace, {})
        if any(whole in known for whole in _wholes(target)):
            return
        known[target] = None
        if len(known) >= MANY or target.kind == "KEYSPACE":
            whole = Target("KEYSPACE", target.keyspace, forced=any(one.forced for one in known))
            self._by_keyspace[target.keyspace] = {whole: None}
        if len(self._by_keyspace) >= MANY_KEYSPACES:
            forced = any(one.forced for targets in self._by_keyspace.values() for one in targets)
            self.add(Target(forced=forced))

    def _forced_alone(self) -> dict[str, dict[Target, None]]:
        """Return the targets that an ALL that is not forced leaves."""
        forced = {
            keyspace: dict.fromkeys(one for one in targets if one.forced)
            for keyspace, targets in self._by_keyspace.items()
        }
        return {keyspace: targets for keyspace, targets in forced.items() if targets}

    def discard(self, target: Target) -> None:
        """Remove a target; does nothing if it is not there by itself."""
        known = self._by_keyspace.get(target.keyspace, {})
        if target in known:
            del known[target]
            if not known:
                del self._by_keyspace[target.keyspace]

    def take(self) -> list[Target]:
        """Remove and return all of them."""
        taken = list(self)
        self._all, self._by_keyspace = None, {}
        return taken

    def __len__(self) -> int:
        return (self._all is not None) + sum(map(len, self._by_keyspace.values()))

    def __iter__(self) -> Iterator[Target]:
        if self._all is not None:
            yield self._all
        for targets in self._by_keyspace.values():
            yield from targets


def grouped(wanted: Iterable[Target]) -> dict[Target, list[Target]]:
    """Choose the least that covers all of `wanted`, in time linear in their number.

    :returns: the targets to read, each with those of `wanted` that it covers.
    """
    pending = PendingTargets()
    wanted = list(wanted)
    for target in wanted:
        pending.add(target)
    chosen: dict[Target, list[Target]] = {target: [] for target in pending}
    for target in wanted:
        chosen[next(whole for whole in (target, *_wholes(target)) if whole in chosen)].append(
            target
        )
    return chosen


def _wholes(target: Target) -> tuple[Target, ...]:
    """Return the targets that may cover `target`, the narrowest first."""
    forced = Target("KEYSPACE", target.keyspace, forced=True), Target(forced=True)
    if target.forced:
        return forced
    return Target("KEYSPACE", target.keyspace), Target(), *forced
