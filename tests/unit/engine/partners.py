"""Fakes of connections and rows, for tests of the engine's parts without any I/O."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from types import SimpleNamespace
from typing import Any, TypeVar

from cassandra.client.settings.table import ClusterSettings
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.engine.output_progress import NO_OUTPUT
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

VERSION = 5  # the protocol version of the fake connections

# Settings of the engine that are not cluster settings, with the values that most tests need.
ENGINE_ONLY_SETTINGS: dict[str, Any] = {
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


def new_host(address: str, is_up: bool | None = True) -> Host:
    """Return a host that is marked as up or down.

    :param is_up: None means that the state is unknown.
    """
    host = Host(DefaultEndPoint(address), SimpleConvictionPolicy)
    if is_up is not None:
        (host.set_up if is_up else host.set_down)()
    return host


def engine_settings(**changed: Any) -> Settings:
    """Return engine settings with their default values.

    :param changed: settings that get other values.
    """
    table = ClusterSettings._table
    # `tls` is computed from several cluster settings, so the table has no default for it.
    defaults = {name: setting.default for name, setting in table.items()} | {"tls": None}
    cluster_values = {name: changed.get(name, default) for name, default in defaults.items()}
    engine_only = {name: value for name, value in changed.items() if name not in defaults}
    return Settings(values={}, live=cluster_values, **ENGINE_ONLY_SETTINGS | engine_only)


def fake_connection(address: str = "10.0.0.1", **attributes: Any) -> Any:
    """Return a fake connection that cannot send requests.

    A test that needs a method for sending passes a function as an attribute.

    :param attributes: attributes to add or to replace.
    """
    stand_in = SimpleNamespace(
        endpoint=DefaultEndPoint(address),
        version=VERSION,
        features=None,
        keyspace=None,
        gate=None,
        ip_address=address,
        prepares={},
        closed=False,
        close_error=None,
        is_draining=False,
        missing_tables=frozenset(),
        on_event=None,
        on_closed=None,
        wire_format=(VERSION, ()),
        output=NO_OUTPUT,
    )

    # The first call marks the connection as closed, and notifies its owner.
    def close(error: Exception | None = None) -> None:
        if not stand_in.closed:
            stand_in.closed, stand_in.close_error = True, error
            if stand_in.on_closed is not None:
                stand_in.on_closed(stand_in, error)

    stand_in.close = close
    vars(stand_in).update(attributes)
    return stand_in


class Tables:
    """Responds to queries of system tables like a fake node that is not started.

    `queries` lists the queries as (connection, query).

    :param node: the node with the rows; None means a new node.
    :param answers: other results of queries. A key is part of a query. A value is an error to
        raise, a list of rows, or a function that returns an error or a list.
    """

    def __init__(self, node: FakeNode | None = None, **answers: Any) -> None:
        self.node = node or FakeNode()
        self.answers = answers
        self.queries: list[tuple[Any, str]] = []

    async def rows(self, connection: Any, query: str) -> list[dict[str, Any]]:
        """Return the rows of the result, like `InternalQueries.rows`."""
        self.queries.append((connection, query))
        # Let other tasks run, as they would during a real query.
        await asyncio.sleep(0)
        for query_part, answer in self.answers.items():
            if query_part in query:
                outcome = answer() if callable(answer) else answer
                if isinstance(outcome, Exception):
                    raise outcome
                return list(outcome)
        rows: list[dict[str, Any]] = self._page(query).decode(dict_factory)
        return rows

    async def pages(self, connection: Any, query: str) -> AsyncIterator[Any]:
        """Yield the result as a single page, like `InternalQueries.pages`."""
        self.queries.append((connection, query))
        # Let other tasks run, as they would during a real query.
        await asyncio.sleep(0)
        yield self._page(query)

    def _page(self, query: str) -> Any:
        """Return the node's decoded response to a query, or raise the node's error."""
        # The node reads only the version and the query, so the request needs no connection.
        request = Request(
            connection=None,  # type: ignore[arg-type]
            version=VERSION,
            flags=0,
            stream=0,
            opcode=QUERY,
            body=b"",
            number=0,
        )
        request.query = query
        answer = answer_to(self.node, request)
        assert answer is not None, query
        opcode, flags, body = answer.envelope(request)
        message = decode_response(opcode, flags, body, VERSION)
        if isinstance(message, ErrorMessage):
            raise message.to_exception()
        return message


def spawn(coroutine: Coroutine[Any, Any, T], /) -> asyncio.Task[T]:
    """Start a task for the coroutine, as `Core.spawn` does."""
    return asyncio.ensure_future(coroutine)


async def run_loop_turns(count: int = 20) -> None:
    """Let the event loop run `count` iterations, in which callbacks and tasks can continue."""
    for _ in range(count):
        await asyncio.sleep(0)
