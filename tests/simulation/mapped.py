"""Steps of applications that use the object mapper.

Each request of a step is an operation with a number. The key ``op`` of a row is the number of the
first operation on this row. Later operations on the row have the next numbers, in the order of
`VERBS`. So the store can compute an operation's number from the row and the verb of the statement.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra.cqlengine import columns
from cassandra.cqlengine.connection import register_connection, unregister_connection
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery
from tests.simulation.mapped_table import VERBS
from tests.simulation.plan import PlannedEvent
from tests.simulation.store import KEYS, KEYSPACES

if TYPE_CHECKING:
    from tests.simulation.clients import Clients, Operation, User


def _model_of(keyspace: str) -> Any:
    """Return the mapper's model for the table ``m`` of a keyspace (see `mapped_table`)."""

    class Row(Model):
        __keyspace__ = keyspace
        __table_name__ = "m"
        k = columns.Integer(partition_key=True)
        op = columns.Integer(primary_key=True)
        v = columns.Integer()

    return Row


_MODELS = {keyspace: _model_of(keyspace) for keyspace in KEYSPACES}


class Mapped:
    """Runs the steps of a simulation that use the object mapper.

    :param clients: the clients of the simulation.
    """

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._simulation = clients.simulation
        self._names: dict[User, str] = {}

    def close(self) -> None:
        """Remove the sessions of the simulation from the mapper's registry."""
        for name in self._names.values():
            unregister_connection(name)
        self._names.clear()

    def _connection(self, user: User) -> str:
        """Return the name of a user's session in the mapper's registry; register it if needed."""
        if user not in self._names:
            # The mapper needs the driver's own session. With the blocking API, `user.session` wraps
            # it.
            session = getattr(user.session, "_session", user.session)
            name = f"user {len(self._names)}"
            profile = session.cluster.profile_manager.default
            row_factory = profile.row_factory
            register_connection(name, session=session)
            # `register_connection` has changed the session's row factory to dicts, as in
            # cassandra-driver. Restore the old row factory, because the simulated clients read
            # columns as attributes.
            profile.row_factory = row_factory
            self._names[user] = name
        return self._names[user]

    def _objects(self, user: User, keyspace: str) -> Any:
        """Return the queryset of a keyspace's table that uses the session of `user`."""
        return _MODELS[keyspace].objects.using(connection=self._connection(user))

    def _begin(
        self, user: User, event: PlannedEvent, keyspace: str, verbs: int = 1
    ) -> list[Operation]:
        """Return new operations, one for each of the first `verbs` items of `VERBS`."""
        operations = [
            self._clients.begin_operation(
                user, event.kind, idempotent=verb == "SELECT", write=verb != "SELECT"
            )
            for verb in VERBS[:verbs]
        ]
        for operation in operations:
            operation.run_only_in({keyspace})
        return operations

    async def _call(self, owner: Any, name: str, *operations: Operation, **values: Any) -> Any:
        """Call a method of the mapper, and mark the `operations` as acknowledged.

        With the asyncio API, the method with the prefix ``a`` is awaited. With the blocking API,
        the blocking method runs in a thread.

        :param owner: a model, a queryset or an instance.
        :param name: the name of the blocking method.
        """
        if self._simulation.threads is None:
            result = await getattr(owner, f"a{name}")(**values)
        else:
            result = await asyncio.to_thread(getattr(owner, name), **values)
        for operation in operations:
            operation.is_acknowledged = True
        return result

    async def do_mapped(self, user: User, event: PlannedEvent) -> None:
        """Create, change, read and delete an instance."""
        keyspace = KEYSPACES[event.parameter % len(KEYSPACES)]
        objects, key = self._objects(user, keyspace), event.parameter % KEYS
        operations = self._begin(user, event, keyspace, len(VERBS))
        create, update, read, delete = operations
        try:
            row = await self._call(objects, "create", create, k=key, op=create.number, v=1)
            row.v = 2
            await self._call(row, "save", update)
            row_read = await self._call(objects.filter(k=key, op=create.number), "get", read)
            if (row_read.k, row_read.op) != (key, create.number):
                self._simulation.report_violation(
                    f"op {read.number} got the answer to another question: {row_read}"
                )
            if row_read.v != 2:
                self._simulation.report_violation(
                    f"op {update.number} was acknowledged, and {row_read.v} was read"
                )
            await self._call(row_read, "delete", delete)
        finally:
            self._clients.end_operations(user, *operations)

    async def do_mapped_lwt(self, user: User, event: PlannedEvent) -> None:
        """Create an instance with IF NOT EXISTS, and update it if it has the created value."""
        keyspace = KEYSPACES[event.parameter % len(KEYSPACES)]
        objects, key = self._objects(user, keyspace), event.parameter % KEYS
        operations = self._begin(user, event, keyspace, 2)
        create, update = operations
        try:
            insert = objects.if_not_exists()
            await self._call(insert, "create", create, k=key, op=create.number, v=1)
            update_query = objects.filter(k=key, op=create.number).iff(v=1)
            await self._call(update_query, "update", update, v=2)
        finally:
            self._clients.end_operations(user, *operations)

    async def do_mapped_batch(self, user: User, event: PlannedEvent) -> None:
        """Create three instances in one batch, with a timestamp if the event's parameter is odd."""
        keyspace = KEYSPACES[event.parameter % len(KEYSPACES)]
        operations = [self._begin(user, event, keyspace)[0] for _ in range(3)]
        delay = datetime.timedelta(milliseconds=event.parameter) if event.parameter % 2 else None
        connection = self._connection(user)

        def build_batch() -> BatchQuery:
            timestamp = self._note_time(operations, delay)
            batch_query = BatchQuery(timestamp=timestamp, connection=connection)
            for operation in operations:
                operation.request = operations[0].number  # all statements arrive in one request
                rows = _MODELS[keyspace].batch(batch_query)
                rows.create(k=event.parameter % KEYS, op=operation.number, v=1)
            return batch_query

        try:
            await self._build_and_call(build_batch, "execute", operations)
        finally:
            self._clients.end_operations(user, *operations)

    async def do_mapped_later(self, user: User, event: PlannedEvent) -> None:
        """Create an instance whose timestamp is some milliseconds before or after now."""
        keyspace = KEYSPACES[event.parameter % len(KEYSPACES)]
        objects = self._objects(user, keyspace)
        operations = self._begin(user, event, keyspace)
        # The parameter of a step is from 1 to 120.
        delay = datetime.timedelta(milliseconds=event.parameter - 60)
        values = {"k": event.parameter % KEYS, "op": operations[0].number, "v": 1}

        def build_query() -> Any:
            return objects.timestamp(self._note_time(operations, delay))

        try:
            await self._build_and_call(build_query, "create", operations, **values)
        finally:
            self._clients.end_operations(user, *operations)

    async def do_mapped_many(self, user: User, event: PlannedEvent) -> None:
        """Create eight instances with `create_many`."""
        keyspace = KEYSPACES[event.parameter % len(KEYSPACES)]
        objects = self._objects(user, keyspace)
        operations = [self._begin(user, event, keyspace)[0] for _ in range(8)]
        instances = [
            {"k": event.parameter % KEYS, "op": operation.number, "v": 1}
            for operation in operations
        ]
        try:
            await self._call(objects, "create_many", *operations, rows=instances, concurrency=3)
        finally:
            self._clients.end_operations(user, *operations)

    def _note_time(
        self, operations: list[Operation], delay: datetime.timedelta | None
    ) -> datetime.timedelta | None:
        """Record in the operations which timestamp the nodes must receive, and return `delay`.

        The mapper adds `delay` to the current time when it builds the request. So the caller must
        build the request before virtual time passes.

        :param delay: None if the request has no timestamp of the application.
        """
        if delay is not None:
            now = self._simulation.loop.wall_time_ns() // 1000
            for operation in operations:
                operation.timestamp = now + delay // datetime.timedelta(microseconds=1)
        return delay

    async def _build_and_call(
        self, build: Callable[[], Any], name: str, operations: list[Operation], **values: Any
    ) -> None:
        """Call a method of the object that `build` returns, and mark `operations` as acknowledged.

        No virtual time passes between `build` and the call, so both use the same time.
        """
        if self._simulation.threads is None:
            await getattr(build(), f"a{name}")(**values)
        else:
            await asyncio.to_thread(lambda: getattr(build(), name)(**values))
        for operation in operations:
            operation.is_acknowledged = True
