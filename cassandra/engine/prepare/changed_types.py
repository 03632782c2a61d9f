"""Prepares statements again after their types have changed on the server.

A prepared statement knows the types of its bind markers, and the fields of user-defined types, as
they were when it was prepared.

After ALTER TYPE, servers accept values without new fields, and do not report new fields when the
statement is executed. Without this module, a value with a new field would be rejected until the
application prepares the statement again. (cassandra-driver writes such a value without the new
field.) The statements that use a changed type are prepared again

* after a DDL statement of one of our sessions, before its request completes (`after_ddl`);
* after the server's event about a change that another client has made (`on_event`): those that are
  not executed before that, after a random time, because all clients get the event at the same
  moment, and after schema agreement;
* when the control connection has moved, and may have missed events (`catch_up`).

Values that were bound before remain valid: see `rebind.adopt_columns`.

If a table is dropped, it may be created again with other types, and ALTER TYPE may give a field the
name of another field. A server gives the same CQL the same id as before. So if another client
prepares the statement first, the server knows our id, would accept values of the old types, and
would misread them. Therefore, after DROP of a table, a type or a keyspace, and after an event about
a changed type, the affected statements at once get an id that no server has. When such a statement
is next executed, the server responds with Unprepared, and the driver prepares it again and compares
the types (see `reprepare.take_over`). An event does not tell who has made the change, so this also
happens after a DDL statement of our own sessions.

A little later, the types are also compared with the schema, because the server may have sent the
event before it has dropped the statement from its cache. They are compared after ALTER TABLE, too,
which can give a column the name of another column. If a statement cannot be compared, because the
schema is not read or a marker is not the value of a column, it gets another id after ALTER TABLE
and missed events, too. So do the statements that pass a marker to a function if any function has
changed, or a keyspace was dropped.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._logs import Log
from cassandra.engine.prepare.rebind import user_types_of
from cassandra.engine.prepare.schema_types import (
    column_of,
    has_fields_of_schema,
    is_of_clause,
    is_of_function,
    is_same_type,
)
from cassandra.engine.randomness import generator_or_default
from cassandra.errors import DriverException

if TYPE_CHECKING:
    from cassandra.engine.background import Spawn
    from cassandra.engine.connection import Connection
    from cassandra.engine.prepare.statements import Preparer
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.protocol.column_specs import ColumnMetadata
    from cassandra.query.prepared import PreparedStatement

log = Log("cassandra.cluster")

# Statements are prepared again within this time after an event, if the application has disabled
# reading the schema after events.
DEFAULT_WINDOW = 2.0  # seconds

# A server may report a change before it drops the affected statements from its cache. If a
# statement is prepared in this moment, the server still describes the old types. So compare the
# statement's types with the schema again after these times.
LATER_CHECKS = (0.5, 5.0)  # seconds


class Changed(NamedTuple):
    """What a schema change has changed.

    :param target: "TYPE", "TABLE" or "FUNCTION". Views are tables, aggregates are functions.
    :param keyspace: the keyspace; "" for any keyspace, and for a function.
    :param name: the name of the type or the table; "" for any in the keyspace, and for a function.
    """

    target: str
    keyspace: str
    name: str


class ChangedTypes:
    """Renews the statements that use changed types. To renew a statement means to prepare it again.

    :param preparer: knows the statements in use, and prepares them again.
    :param agree: waits until the nodes agree on the schema.
    :param control: returns the control connection, or raises an error if there is none.
    :param spawn: runs a coroutine in the background.
    :param random: chooses the delays after events; None uses the process-wide generator.
    """

    __slots__ = (
        "_agree", "_altered", "_checks", "_comparison", "_get_connection", "_metadata",
        "_outdating", "_pending", "_preparer", "_random", "_settings", "_spawn", "_task",
        "_unchecked",
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
        # What recent events have changed: types with other fields; all that outdates ids, such as
        # dropped tables and functions, and the same types; tables with other columns.
        self._pending: set[Changed] = set()
        self._outdating: set[Changed] = set()
        self._altered: set[Changed] = set()
        # For each of LATER_CHECKS: the changes to check, and the task that checks them, which may
        # have ended. A migration may send hundreds of events, so one task checks many changes.
        self._unchecked: list[set[Changed]] = [set() for _ in LATER_CHECKS]
        self._checks: list[asyncio.Task[None] | None] = [None for _ in LATER_CHECKS]
        # The tasks of `_renew_pending` and `_compare_tables`. They may have ended.
        self._task: asyncio.Task[None] | None = None
        self._comparison: asyncio.Task[None] | None = None

    def on_event(self, event: Mapping[str, Any]) -> None:
        """Handle the affected statements soon, because the server has reported a schema change."""
        changed = _changed_by(event)
        if changed is None:
            return
        self._preparer.note_change(_uses({changed}))
        if changed.target == "TABLE" and not _outdates_ids(event, changed):
            self._altered.add(changed)
        else:
            self._outdating.add(changed)
        if changed.target == "TYPE" and event["change_type"] != "DROPPED":
            self._pending.add(changed)
            if self._task is None or self._task.done():
                self._task = self._spawn(self._renew_pending())
        if self._comparison is None or self._comparison.done():
            self._comparison = self._spawn(self._compare_tables())

    async def after_ddl(self, event: Mapping[str, Any]) -> None:
        """Handle the affected statements now, because a session has executed a DDL statement."""
        changed = _changed_by(event)
        if changed is None:
            return
        self._preparer.note_change(_uses({changed}))
        if _outdates_ids(event, changed):
            await self._preparer.revoke_ids(_uses({changed}))
        elif changed.target == "TYPE":
            # If the server's event about this change has come already, do not handle it again
            # later.
            self._pending.discard(changed)
            await self._preparer.renew(await self._statements_using({changed}))

    async def catch_up(self) -> None:
        """Renew the statements whose types differ from the schema.

        Called when events may have been missed, and the whole schema was read. The statements that
        cannot be compared with the schema are prepared again before they are executed; so are those
        that are being prepared at the moment.
        """
        self._preparer.note_change(_is_any)
        await self._preparer.renew(await self._preparer.statements_where(self._is_outdated))
        await self._preparer.revoke_ids(self._is_unknown)

    async def _renew_pending(self) -> None:
        """Renew the statements that use the types of recent events, until no events are left."""
        while self._pending:
            window = self._settings.schema_event_refresh_window
            await asyncio.sleep(
                self._random.uniform(0.0, window if window >= 0 else DEFAULT_WINDOW)
            )
            changes, self._pending = self._pending, set()
            statements = await self._statements_using(changes)
            if statements:
                # Wait until all nodes know the change: a node that does not know it would describe
                # the old types.
                try:
                    await self._agree(self._get_connection())
                except (DriverException, OSError) as error:
                    log.debug("the wait for schema agreement failed: %s", error)
                await self._preparer.renew(statements)
            self._check_later(changes)

    async def _compare_tables(self) -> None:
        """Handle the statements whose table, types or functions recent events have changed."""
        while self._outdating or self._altered:
            outdating, self._outdating = self._outdating, set()
            altered, self._altered = self._altered, set()
            if outdating:
                await self._preparer.revoke_ids(_uses(outdating))
            if altered:
                await self._preparer.revoke_ids(_uses_and(altered, self._is_unknown))
            self._check_later(outdating | altered)

    def _check_later(self, changes: set[Changed], number: int = 0) -> None:
        """Compare the statements that use `changes` with the schema, some time later.

        :param number: the number of the check: an index of LATER_CHECKS.
        """
        self._unchecked[number] |= changes
        task = self._checks[number]
        if task is None or task.done():
            self._checks[number] = self._spawn(self._check(number))

    async def _check(self, number: int) -> None:
        """Renew the outdated statements that use changes, until no change is left to check."""
        delay = LATER_CHECKS[number]
        if number == 0:
            # Let the schema be read after the event.
            delay += max(self._settings.schema_event_refresh_window, 0.0)
        while self._unchecked[number]:
            changes, self._unchecked[number] = self._unchecked[number], set()
            await asyncio.sleep(delay)
            # Statements may have been prepared since the event.
            outdated = await self._preparer.statements_where(_uses_and(changes, self._is_outdated))
            if outdated:
                await self._preparer.renew(outdated)
            if number + 1 < len(LATER_CHECKS):
                self._check_later(changes, number + 1)

    async def _statements_using(self, changes: set[Changed]) -> list[PreparedStatement]:
        """Return the statements that bind values for one of `changes`, only one for each id."""
        return await self._preparer.statements_where(_uses(changes)) if changes else []

    def _is_outdated(self, prepared: PreparedStatement) -> bool:
        """Return True if a bind marker has another type than its column in the schema.

        A user-defined type with other fields is another type.
        """
        if any(self._has_other_type(marker) for marker in prepared.column_metadata):
            return True
        return any(
            has_fields_of_schema(self._metadata, udt) is False
            for udt in user_types_of(prepared.column_metadata)
        )

    def _is_unknown(self, prepared: PreparedStatement) -> bool:
        """Return True if the schema does not tell the type of a bind marker.

        The schema of the table may not be read, or a marker is not the value of a column, for
        example in ``VALUES (:key)`` or ``k IN ?``.
        """
        return any(
            not is_of_clause(marker) and column_of(self._metadata, marker) is None
            for marker in prepared.column_metadata
        )

    def _has_other_type(self, marker: ColumnMetadata) -> bool:
        """Return True if the column that `marker` is named after has another type in the schema."""
        column = column_of(self._metadata, marker)
        # The name of a custom type, which is the name of a Java class, has several forms.
        if column is None or "." in column.cql_type:
            return False
        return not is_same_type(column.cql_type, marker.type)


def _is_any(prepared: PreparedStatement) -> bool:
    return True


def _uses(changes: set[Changed]) -> Callable[[PreparedStatement], bool]:
    """Return a function that tells if a statement binds values for one of `changes`."""

    def is_among(target: str, keyspace: str, name: str) -> bool:
        # An empty name in `changes` stands for any name; see `Changed`.
        names = ((keyspace, name), (keyspace, ""), ("", ""))
        return any((target, *pair) in changes for pair in names)

    # To find the user-defined types of a statement takes time, and there may be many statements.
    has_types = any(changed.target == "TYPE" for changed in changes)
    # A keyspace that is dropped, a `Changed` without a name, may have functions, too.
    has_functions = any(not changed.name and changed.target != "TYPE" for changed in changes)

    def uses_change(prepared: PreparedStatement) -> bool:
        tables = {(column.keyspace_name, column.table_name) for column in prepared.column_metadata}
        if any(is_among("TABLE", *table) for table in tables):
            return True
        if has_functions and any(map(is_of_function, prepared.column_metadata)):
            return True
        return has_types and any(
            is_among("TYPE", udt.keyspace, udt.typename)
            for udt in user_types_of(prepared.column_metadata)
        )

    return uses_change


def _uses_and(
    changes: set[Changed], condition: Callable[[PreparedStatement], bool]
) -> Callable[[PreparedStatement], bool]:
    """Return a function that tells if a statement uses `changes` and `condition` is True for it."""
    uses_change = _uses(changes)
    return lambda prepared: uses_change(prepared) and condition(prepared)


def _outdates_ids(event: Mapping[str, Any], changed: Changed) -> bool:
    """Return True if a server may know the ids of affected statements by other types from now on.

    :param event: the schema change.
    :param changed: what it has changed.
    """
    return event["change_type"] == "DROPPED" or changed.target == "FUNCTION"


def _changed_by(event: Mapping[str, Any]) -> Changed | None:
    """Return what a schema change has changed; None if it cannot affect prepared statements."""
    target, keyspace, change = event["target_type"], event["keyspace"], event["change_type"]
    if target in ("FUNCTION", "AGGREGATE"):
        # A new function may also change which function a call means.
        return Changed("FUNCTION", "", "")
    # A new table, type or keyspace only affects statements of one that was dropped before.
    if change == "CREATED" or (target == "KEYSPACE" and change != "DROPPED"):
        return None
    # Servers send letters beyond Latin-1 in these names wrongly, so such a name cannot be trusted.
    if not keyspace.isascii():
        keyspace = ""
    if target == "KEYSPACE":
        return Changed("TABLE", keyspace, "")
    if target not in ("TABLE", "TYPE"):
        return None
    name = event[target.lower()]
    return Changed(target, keyspace, name if keyspace and name.isascii() else "")
