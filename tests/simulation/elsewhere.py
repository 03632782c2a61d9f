"""A second cluster, in which clients execute the prepared statements of their own cluster.

Its table has the name of `TypedTable`'s, and another type, which never changes. Another client has
prepared the statement there. So the node knows the id, and reads the bytes of a value by its own
type.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from typing import TYPE_CHECKING, Any

from cassandra.errors import DriverException
from cassandra.testing.simulation import SimulatedThread
from tests.simulation.store import Store, StoreNode
from tests.simulation.typed_table import INSERT, TypedTable

if TYPE_CHECKING:
    from tests.simulation.life import Simulation

_ADDRESS = "10.0.0.250"  # the certificates of `certificates.contexts` have it
_CONNECT_TRIES = 20


class Elsewhere:
    """The second cluster, which has one node, and the session that clients use there.

    :param simulation: the simulation, whose nodes have been started.
    :param markers: the names of the bind markers; see `TypedTable`.
    :param settings: further keyword arguments of the node.
    """

    def __init__(self, simulation: Simulation, markers: tuple[str, str], **settings: Any) -> None:
        self._simulation = simulation
        self._typed = TypedTable(markers, changes=1)
        store = Store(simulation.loop.time, simulation.log)
        store.typed = self._typed
        self.node = StoreNode(
            _ADDRESS,
            simulation.fake.port,
            host_id=uuid.UUID(int=999),
            thread=SimulatedThread(simulation.loop),
            store=store,
            **settings,
        )
        self.node.start()
        query_id = hashlib.md5(INSERT.encode()).digest()
        self.node._prepared[query_id] = self._typed.prepared(query_id)
        self._cluster = simulation.make_cluster(contact_points=[_ADDRESS])
        self._session: Any = None

    async def connect(self) -> None:
        """Open the session."""
        for tries_left in range(_CONNECT_TRIES, 0, -1):
            try:
                self._session = await self._cluster.connect()
                return
            except (DriverException, asyncio.TimeoutError):
                if tries_left == 1:
                    raise

    async def write(self, statement: Any, key: int, **options: Any) -> None:
        """Execute the statement of a client's own cluster, and check what the node stores.

        :param options: further keyword arguments of `Session.execute`.
        """
        await self._session.execute(statement, (key, key), **options)
        stored = self._typed.rows.get(key)
        if stored != key:
            self._simulation.report_violation(f"elsewhere, {key} was written, {stored} is stored")

    async def shutdown(self) -> None:
        """Close the driver's cluster."""
        await self._cluster.shutdown()
