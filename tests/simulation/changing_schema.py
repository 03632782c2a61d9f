"""A schema that other clients change, and that nodes learn of late.

Each change is a new version of the schema. The node that executes a DDL statement knows the version
at once; the other nodes learn of it up to some seconds later, in order, as by gossip. When a node
learns of a change, it sends its event, which may reach the clients late or twice. While the schema
is in trouble, the answers to queries of the schema tables are slow, are errors, or never come.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.testing.fake import ErrorCode, Message, error
from tests.simulation.gossip import DOUBLED_SHARE, LATE_SHARE, LONGEST, lateness
from tests.unit.metadata.schema.rows import Tables, add_table, keyspace, schema

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.testing.fake.node import FakeNode

_KEYSPACES = ("kd", "ke", "kf")
_NAMES = ("d0", "d1", "d2")  # of tables and of types
_ERRORS = (ErrorCode.OVERLOADED, ErrorCode.SERVER_ERROR, None)  # None for no answer


@dataclass(frozen=True)
class _Keyspace:
    """What a version of the schema says of a keyspace.

    :param replicas: the replication factor.
    :param tables: for each table, the number of its id, and the number of its columns besides the
        key.
    :param types: for each user-defined type, the number of its fields.
    """

    replicas: int = 1
    tables: dict[str, tuple[int, int]] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)


class _Version(NamedTuple):
    """A version of the schema.

    :param keyspaces: its keyspaces, by name.
    :param event: the change from the version before, as the arguments of ``send_event``.
    """

    keyspaces: dict[str, _Keyspace]
    event: tuple[str, ...] = ()


class ChangingSchema:
    """The schema of all nodes of a simulation.

    :param loop: the loop of the simulation.
    :param seed: the seed of the simulation.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seed: int) -> None:
        self._loop = loop
        self._random = random.Random(f"{seed}/changes of the schema")
        self._versions = [_Version({"kd": _Keyspace(tables={"d0": (0, 1)}, types={"d0": 1})})]
        # For each node, the index of the version that it knows.
        self._known: dict[FakeNode, int] = {}
        self.trouble = 0.0
        """The share of queries of schema tables whose answer is an error, or never comes."""
        self.lag = 0.0
        """The most seconds by which the answer to a query of a schema table is late."""

    def add_to(self, node: FakeNode) -> None:
        """Let `node` know the current version."""
        self._learn(node, len(self._versions) - 1)

    def begin(self) -> None:
        """Let the schema change while the first cluster connects, and perhaps answer slowly."""
        nodes = list(self._known)
        for _ in range(self._random.choice((0, 1, 4))):
            self._loop.call_later(lateness(self._random), self.change, self._random.choice(nodes))
        if self._random.random() < 0.5:
            self.lag = lateness(self._random)
            self._loop.call_later(LONGEST, self._end_lag)

    def _end_lag(self) -> None:
        self.lag = 0.0

    # -- changes -----------------------------------------------------------------------------------

    def change(self, node: FakeNode) -> tuple[str, ...]:
        """Let `node` change the schema at random, and the other nodes learn of it later.

        :returns: the change, as in an event: "CREATED", "TABLE", keyspace, name.
        """
        version = self._next_version(self._versions[-1].keyspaces)
        self._versions.append(version)
        index = len(self._versions) - 1
        # A node that executes DDL knows all changes before it.
        self._learn(node, index)
        for other in self._known:
            if other is not node:
                self._loop.call_later(self._delay(), self._learn, other, index)
        return version.event

    def end(self) -> None:
        """End all trouble, and let all nodes know the current version."""
        self.trouble = self.lag = 0.0
        for node in self._known:
            self._learn(node, len(self._versions) - 1)

    def _next_version(self, keyspaces: dict[str, _Keyspace]) -> _Version:
        """Change the schema at random.

        :param keyspaces: the keyspaces before the change.
        """
        name = self._random.choice(_KEYSPACES)
        before = keyspaces.get(name)
        if before is None:
            return _Version({**keyspaces, name: _Keyspace()}, ("CREATED", "KEYSPACE", name))
        kind = self._random.choices(("KEYSPACE", "TABLE", "TYPE"), (2, 6, 3))[0]
        if kind == "KEYSPACE":
            if self._random.random() < 0.5:
                others = {other: value for other, value in keyspaces.items() if other != name}
                return _Version(others, ("DROPPED", "KEYSPACE", name))
            after = replace(before, replicas=before.replicas % 3 + 1)
            return _Version({**keyspaces, name: after}, ("UPDATED", "KEYSPACE", name))
        element = self._random.choice(_NAMES)
        elements: dict[str, Any] = before.tables if kind == "TABLE" else before.types
        new: Any
        if element not in elements:
            change, new = "CREATED", (len(self._versions), 1) if kind == "TABLE" else 1
        elif self._random.random() < 0.4:
            change, new = "DROPPED", None
        elif kind == "TABLE":
            number, columns = elements[element]
            change, new = "UPDATED", (number, columns % 3 + 1)
        else:
            change, new = "UPDATED", elements[element] + 1
        changed = {other: value for other, value in elements.items() if other != element}
        if new is not None:
            changed[element] = new
        if kind == "TABLE":
            after = replace(before, tables=changed)
        else:
            after = replace(before, types=changed)
        return _Version({**keyspaces, name: after}, (change, kind, name, element))

    def _learn(self, node: FakeNode, index: int) -> None:
        """Let `node` know a version, and send the events of the changes up to it."""
        first = self._known.get(node, index) + 1
        if node in self._known and first > index:  # it knows the version already
            return
        self._known[node] = index
        node.schema = _rows_of(self._versions[index].keyspaces)
        node.schema_version = uuid.UUID(int=1000 + index)
        for version in self._versions[first : index + 1]:
            count = 2 if self._random.random() < DOUBLED_SHARE else 1
            for _ in range(count):
                self._loop.call_later(self._delay(), self._send, node, version.event)

    @staticmethod
    def _send(node: FakeNode, event: Sequence[str]) -> None:
        if node.is_running:
            node.send_event("SCHEMA_CHANGE", *event)

    def _delay(self) -> float:
        """Draw the seconds until a node learns of a change, or an event is sent."""
        return lateness(self._random) if self._random.random() < LATE_SHARE else 0.0

    # -- readings ----------------------------------------------------------------------------------

    def answer_delay(self) -> float:
        """Draw the seconds by which the answer to a query of a schema table is late."""
        return self._random.random() ** 3 * self.lag if self.lag else 0.0

    def is_failing(self) -> bool:
        """Draw whether a query of a schema table fails."""
        return self.trouble > 0 and self._random.random() < self.trouble

    def failure(self) -> Message | None:
        """Draw the answer to a query of a schema table that fails; None for no answer."""
        code = self._random.choice(_ERRORS)
        return error(code) if code is not None else None

    def differences(self, metadata: Metadata) -> list[str]:
        """Compare what the driver knows with the current version."""
        known_keyspaces = {
            name: (
                getattr(source.replication_strategy, "replication_factor", None),
                {table: len(source.tables[table].columns) - 1 for table in source.tables},
                {name: len(source.user_types[name].field_names) for name in source.user_types},
            )
            for name, source in metadata.keyspaces.items()
            if name in _KEYSPACES
        }
        keyspaces = {
            name: (
                source.replicas,
                {table: columns for table, (_, columns) in source.tables.items()},
                dict(source.types),
            )
            for name, source in self._versions[-1].keyspaces.items()
        }
        return [
            f"the keyspace {name} is {keyspaces.get(name)}, the driver knows "
            f"{known_keyspaces.get(name)}"
            for name in _KEYSPACES
            if keyspaces.get(name) != known_keyspaces.get(name)
        ]


def _rows_of(keyspaces: dict[str, _Keyspace]) -> Tables:
    """Return the rows of a node's schema tables."""
    tables = schema("big", tables=1)
    tables["system_schema.types"] = []
    for name, source in keyspaces.items():
        tables["system_schema.keyspaces"].append(keyspace(name, source.replicas))
        for table, (number, columns) in source.tables.items():
            add_table(tables, name, table, column_count=columns, id=uuid.UUID(int=number))
        for type_name, field_count in source.types.items():
            tables["system_schema.types"].append(
                {
                    "keyspace_name": name,
                    "type_name": type_name,
                    "field_names": [f"f{number}" for number in range(field_count)],
                    "field_types": ["int"] * field_count,
                }
            )
    return tables
