"""Prepares statements again after ALTER TYPE, so that values of the new fields can be bound.

A prepared statement knows the fields that its user-defined types had when it was prepared. Servers
accept values without new fields, and do not report new fields when the statement is executed.
Without this module, a value with a new field would be rejected until the application prepares the
statement again. (cassandra-driver writes such a value without the new field.)

The statements that use a changed type are prepared again

* after a DDL statement of one of our sessions, before its request completes (`after_ddl`);
* after the server's event about a change that another client has made (`on_event`): after a random
  time, because all clients get the event at the same moment, and after schema agreement;
* when the control connection has moved, and may have missed events (`catch_up`).

Values that were bound before remain valid: see `rebind.adopt_columns`.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra.engine.prepare.rebind import user_types_of
from cassandra.engine.randomness import generator_or_default
from cassandra.errors import DriverException

if TYPE_CHECKING:
    from cassandra.engine.background import Spawn
    from cassandra.engine.connection import Connection
    from cassandra.engine.prepare.statements import Preparer
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.query.prepared import PreparedStatement

# A changed type: (keyspace, name). The name is "" for any type of the keyspace, and the keyspace is
# "" for any type of the cluster.
ChangedType = tuple[str, str]

log = logging.getLogger("cassandra.cluster")

# Statements are prepared again within this time after an event, if the application has disabled
# reading the schema after events.
DEFAULT_WINDOW = 2.0  # seconds

# A server may report a change before it drops the affected statements from its cache. If a
# statement is prepared in this moment, the server still describes the old types. So compare the
# statement's types with the schema again after these times.
LATER_CHECKS = (0.5, 5.0)  # seconds


class ChangedTypes:
    """Renews the statements that use changed types. To renew a statement means to prepare it again.

    :param preparer: knows the statements in use, and prepares them again.
    :param agree: waits until the nodes agree on the schema.
    :param control: returns the control connection, or raises an error if there is none.
    :param spawn: runs a coroutine in the background.
    :param random: chooses the delays after events; None uses the process-wide generator.
    """

    __slots__ = (
        "_agree", "_get_connection", "_metadata", "_pending", "_preparer", "_random", "_settings",
        "_spawn", "_task",
    )  # fmt: skip

    def __init__(
        self,
        settings: Settings,
        metadata: Metadata,
        preparer: Preparer,
        agree: Callable[[Connection], Awaitable[bool]],
        control: Callable[[], Connection],
        spawn: Spawn,
        random: random.Random | None = None,
    ) -> None:
        self._settings = settings
        self._metadata = metadata
        self._preparer = preparer
        self._agree = agree
        self._get_connection = control
        self._spawn = spawn
        self._random = generator_or_default(random)
        self._pending: set[ChangedType] = set()  # the changed types of recent events
        self._task: asyncio.Task[None] | None = None  # of `_renew_pending`; may have ended

    def on_event(self, event: Mapping[str, Any]) -> None:
        """Renew the affected statements later, because the server has reported a schema change."""
        changed_type = _changed_type(event)
        if changed_type is None or not self._preparer.prepared_count:
            return
        self._pending.add(changed_type)
        if self._task is None or self._task.done():
            self._task = self._spawn(self._renew_pending())

    async def after_ddl(self, event: Mapping[str, Any]) -> None:
        """Renew the affected statements now, because a session has executed a DDL statement."""
        changed_type = _changed_type(event)
        if changed_type is not None:
            # If the server's event about this change has come already, do not handle it again
            # later.
            self._pending.discard(changed_type)
            await self._preparer.renew(await self._statements_using({changed_type}))

    async def catch_up(self) -> None:
        """Renew the statements whose types differ from the schema.

        Called when events may have been missed, and the whole schema was read.
        """
        await self._preparer.renew(await self._preparer.statements_where(self._is_outdated))

    async def _renew_pending(self) -> None:
        """Renew the statements that use the types of recent events, until no events are left."""
        while self._pending:
            window = self._settings.schema_event_refresh_window
            await asyncio.sleep(
                self._random.uniform(0.0, window if window >= 0 else DEFAULT_WINDOW)
            )
            changed_types, self._pending = self._pending, set()
            statements = await self._statements_using(changed_types)
            if not statements:
                continue
            # Wait until all nodes know the change: a node that does not know it would describe the
            # old types.
            try:
                await self._agree(self._get_connection())
            except (DriverException, OSError) as error:
                log.debug("the wait for schema agreement failed: %s", error)
            await self._preparer.renew(statements)
            self._spawn(self._renew_outdated(statements))

    async def _renew_outdated(self, statements: list[PreparedStatement]) -> None:
        """Renew each of `statements` again if its types still differ from those in the schema."""
        for delay in LATER_CHECKS:
            await asyncio.sleep(delay)
            outdated = [prepared for prepared in statements if self._is_outdated(prepared)]
            if outdated:
                await self._preparer.renew(outdated)

    async def _statements_using(self, changed_types: set[ChangedType]) -> list[PreparedStatement]:
        """Return the statements that bind values of one of the types, only one for each id."""
        if not changed_types:
            return []

        def uses_changed_type(prepared: PreparedStatement) -> bool:
            # An empty name in `changed_types` stands for any type or keyspace; see `ChangedType`.
            return any(
                not changed_types.isdisjoint(
                    ((udt.keyspace, udt.typename), (udt.keyspace, ""), ("", ""))
                )
                for udt in user_types_of(prepared.column_metadata)
            )

        return await self._preparer.statements_where(uses_changed_type)

    def _is_outdated(self, prepared: PreparedStatement) -> bool:
        """Return True if a type of the statement has other fields than in the schema."""
        for udt in user_types_of(prepared.column_metadata):
            keyspace = self._metadata.keyspaces.get(udt.keyspace)
            current = keyspace.user_types.get(udt.typename) if keyspace is not None else None
            if current is not None and tuple(current.field_names) != tuple(udt.fieldnames or ()):
                return True
        return False


def _changed_type(event: Mapping[str, Any]) -> ChangedType | None:
    """Return the type that an ALTER TYPE has changed; None for other schema changes."""
    if event["target_type"] != "TYPE" or event["change_type"] != "UPDATED":
        return None
    keyspace, name = event["keyspace"], event["type"]
    # Servers send letters beyond Latin-1 in these names wrongly, so such a name cannot be trusted.
    if not keyspace.isascii():
        return "", ""
    return keyspace, name if name.isascii() else ""
