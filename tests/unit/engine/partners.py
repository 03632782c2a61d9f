"""What stands in for connections and rows if a part of the engine is tested alone, without I/O."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from types import SimpleNamespace
from typing import Any, TypeVar

from cassandra.client.settings.table import ClusterSettings
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.engine.settings import Settings
from cassandra.metadata.host import Host
from cassandra.policies.conviction import SimpleConvictionPolicy
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.protocol.opcodes import QUERY
from cassandra.query.row_factories import dict_factory
from cassandra.testing.fake import FakeNode
from cassandra.testing.fake.requests import Request
from cassandra.testing.fake.system_tables import answer_to

T = TypeVar("T")

VERSION = 5

# What the engine is told if a program says nothing, without contact points.
OWN: dict[str, Any] = {
    "endpoints": [],
    "named_endpoints": [],
    "find_endpoints": None,
    "only_version": None,
    "startup_options": {},
    "scylla_options": None,
    "connections_to": lambda distance: 1,
    "client_routes": None,
    "shard_aware": True,
    "shard_aware_port": True,
    "local_ports": (49152, 65535),
}


def host(address: str, is_up: bool | None = True) -> Host:
    """A host whose state is known."""
    made = Host(DefaultEndPoint(address), SimpleConvictionPolicy)
    if is_up is not None:
        (made.set_up if is_up else made.set_down)()
    return made


def settings(**changed: Any) -> Settings:
    """Settings of the engine: those of the table with their defaults, and its own."""
    table = ClusterSettings._table
    values = {name: setting.default for name, setting in table.items()} | {"tls": None}
    own = {name: value for name, value in changed.items() if name not in values}
    live = {name: changed.get(name, value) for name, value in values.items()}
    return Settings({}, live, **OWN | own)


def connection(address: str = "10.0.0.1", **attributes: Any) -> Any:
    """A connection that nothing can be sent on: whoever asks on it has a stand-in, too."""
    made = SimpleNamespace(
        endpoint=DefaultEndPoint(address),
        version=VERSION,
        features=None,
        keyspace=None,
        gate=None,
        closed=False,
        close_error=None,
        on_event=None,
        on_closed=None,
        wire_format=(VERSION, ()),
    )

    def close(error: Exception | None = None) -> None:
        if not made.closed:
            made.closed, made.close_error = True, error
            if made.on_closed is not None:
                made.on_closed(made, error)

    made.close = close
    vars(made).update(attributes)
    return made


class Tables:
    """Answers queries from the tables of a node that is not started.

    :param answers: what comes instead for a query that contains the text: an error is raised, rows
        are given, and a function is called for either.
    """

    def __init__(self, node: FakeNode | None = None, **answers: Any) -> None:
        self.node = node or FakeNode()
        self.answers = answers
        self.asked: list[tuple[Any, str]] = []

    async def rows(self, connection: Any, query: str) -> list[dict[str, Any]]:
        """As `InternalQueries.rows`."""
        self.asked.append((connection, query))
        await asyncio.sleep(0)
        for text, answer in self.answers.items():
            if text in query:
                found = answer() if callable(answer) else answer
                if isinstance(found, Exception):
                    raise found
                return list(found)
        rows: list[dict[str, Any]] = self._page(query).decode(dict_factory)
        return rows

    async def pages(self, connection: Any, query: str) -> AsyncIterator[Any]:
        """As `InternalQueries.pages`."""
        self.asked.append((connection, query))
        await asyncio.sleep(0)
        yield self._page(query)

    def _page(self, query: str) -> Any:
        request = Request(None, VERSION, 0, 0, QUERY, b"", 0)  # type: ignore[arg-type]
        request.query = query
        answer = answer_to(self.node, request)
        assert answer is not None, query
        opcode, flags, found = answer.envelope(request)
        message = decode_response(opcode, flags, found, VERSION)
        if isinstance(message, ErrorMessage):
            raise message.to_exception()
        return message


def spawn(coroutine: Coroutine[Any, Any, T], /) -> asyncio.Task[T]:
    """As `Core.spawn`."""
    return asyncio.ensure_future(coroutine)


async def turns(count: int = 20) -> None:
    """Let what is ready run."""
    for _ in range(count):
        await asyncio.sleep(0)
