"""`Target` says which part of the schema to read; `PendingTargets` merges many targets into few.

Servers send an event for each table that is created or dropped, so thousands can come at once. To
limit the number of targets, many targets in one keyspace are replaced by the whole keyspace, and
targets in many keyspaces by the whole schema. This module does no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cassandra.versions import SCHEMA_CHANGES, SCHEMA_TARGETS

MANY = 12  # this number of targets in one keyspace is replaced by the whole keyspace
MANY_KEYSPACES = 64  # targets in this number of keyspaces are replaced by the whole schema


class Target(NamedTuple):
    """A part of the schema that should be read again.

    `kind` is ALL, KEYSPACE, REPLICATION (only a keyspace's replication and durable writes), TABLE
    (or view), TYPE, FUNCTION or AGGREGATE. `forced` is True if the application has requested the
    reading; a forced target is read even if reading the schema is disabled.
    """

    kind: str = "ALL"
    keyspace: str = ""
    name: str = ""
    forced: bool = False

    @classmethod
    def of_event(cls, event: Mapping[str, Any]) -> Target:
        """Return the target of a schema change event."""
        kind, keyspace = event["target_type"], event["keyspace"]
        # In the names of an event, servers garble letters beyond Latin-1, and garbled letters may
        # look like letters of Latin-1. So trust only names in ASCII. For any other name, read the
        # whole keyspace, or the whole schema if it is the keyspace's name.
        if not keyspace.isascii():
            return cls()
        # A newer server may report kinds of objects, or of changes, that this driver does not know.
        # Such a change may concern anything in the keyspace.
        if not is_known(event):
            return cls("KEYSPACE", keyspace) if keyspace else cls()
        if kind == "KEYSPACE":
            # Read the whole keyspace if it was created or dropped. An update can change only the
            # keyspace's replication and durable writes.
            return cls("REPLICATION" if event["change_type"] == "UPDATED" else "KEYSPACE", keyspace)
        changed = event[kind.lower()]
        # A function or aggregate is an object with a name and argument types; other elements are
        # strings.
        name = getattr(changed, "name", changed)
        return cls(kind, keyspace, name) if name.isascii() else cls("KEYSPACE", keyspace)

    def covers(self, other: Target) -> bool:
        """Return True if reading this target also reads `other`."""
        if other.forced and not self.forced:
            return False
        return self.kind == "ALL" or (self.kind == "KEYSPACE" and self.keyspace == other.keyspace)


def is_known(event: Mapping[str, Any]) -> bool:
    """Return True if this driver knows what a schema change event reports."""
    return event["target_type"] in SCHEMA_TARGETS and event["change_type"] in SCHEMA_CHANGES


class PendingTargets:
    """The set of targets that wait to be read. It stays small, even if many targets are added."""

    __slots__ = ("_all", "_by_keyspace")

    def __init__(self) -> None:
        # The target ALL if it was added; else None.
        self._all: Target | None = None
        # The other targets by keyspace. Each dict serves as an ordered set.
        self._by_keyspace: dict[str, dict[Target, None]] = {}

    def add(self, target: Target) -> None:
        """Add `target`, unless a target in the set covers it."""
        if self._all is not None and self._all.covers(target):
            return
        if target.kind == "ALL":
            self._all = target
            self._by_keyspace = {} if target.forced else self._forced_targets()
            return
        targets_of_keyspace = self._by_keyspace.setdefault(target.keyspace, {})
        if any(covering in targets_of_keyspace for covering in _covering_targets(target)):
            return
        targets_of_keyspace[target] = None
        # The whole keyspace replaces many targets in it. A KEYSPACE target replaces all earlier
        # targets in it.
        if len(targets_of_keyspace) >= MANY or target.kind == "KEYSPACE":
            keyspace_target = Target(
                "KEYSPACE",
                target.keyspace,
                forced=any(pending_target.forced for pending_target in targets_of_keyspace),
            )
            self._by_keyspace[target.keyspace] = {keyspace_target: None}
        # Targets in many keyspaces are replaced by the whole schema.
        if len(self._by_keyspace) >= MANY_KEYSPACES:
            forced = any(
                pending_target.forced
                for targets in self._by_keyspace.values()
                for pending_target in targets
            )
            self.add(Target(forced=forced))

    def _forced_targets(self) -> dict[str, dict[Target, None]]:
        """Return the forced targets (which the application has requested) by keyspace.

        They must be kept when an ALL target is added that is not forced, because it does not cover
        them.
        """
        forced = {
            keyspace: dict.fromkeys(
                pending_target for pending_target in targets if pending_target.forced
            )
            for keyspace, targets in self._by_keyspace.items()
        }
        return {keyspace: targets for keyspace, targets in forced.items() if targets}

    def discard(self, target: Target) -> None:
        """Remove `target`. Do nothing if it is not in the set, even if another target covers it."""
        targets_of_keyspace = self._by_keyspace.get(target.keyspace, {})
        if target in targets_of_keyspace:
            del targets_of_keyspace[target]
            if not targets_of_keyspace:
                del self._by_keyspace[target.keyspace]

    def take(self) -> list[Target]:
        """Remove and return all targets."""
        targets = list(self)
        self._all, self._by_keyspace = None, {}
        return targets

    def __len__(self) -> int:
        return (self._all is not None) + sum(map(len, self._by_keyspace.values()))

    def __iter__(self) -> Iterator[Target]:
        if self._all is not None:
            yield self._all
        for targets in self._by_keyspace.values():
            yield from targets


def grouped(targets: Iterable[Target]) -> dict[Target, list[Target]]:
    """Choose as few targets as possible that cover all `targets`, in linear time.

    :returns: the targets to read, each with the elements of `targets` that it covers.
    """
    pending = PendingTargets()
    targets = list(targets)
    for target in targets:
        pending.add(target)
    chosen: dict[Target, list[Target]] = {target: [] for target in pending}
    for target in targets:
        # `chosen` contains either the target itself or a larger target that covers it.
        covering = next(
            candidate for candidate in (target, *_covering_targets(target)) if candidate in chosen
        )
        chosen[covering].append(target)
    return chosen


def _covering_targets(target: Target) -> tuple[Target, ...]:
    """Return the larger targets that may cover `target`, beginning with the smallest."""
    forced = Target("KEYSPACE", target.keyspace, forced=True), Target(forced=True)
    # Only forced targets cover a forced target; see `Target.covers`.
    if target.forced:
        return forced
    return Target("KEYSPACE", target.keyspace), Target(), *forced
