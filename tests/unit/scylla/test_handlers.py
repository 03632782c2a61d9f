"""Test listeners and protocol handlers on connections with ScyllaDB's extensions.

An EXECUTE can be encoded by the compiled path, by the general path, or by an application's protocol
handler. Each must add all fields that the connection has negotiated: a fake node counts an EXECUTE
as malformed if a field is missing. Requests must reach the right shard, and results must be right
even after columns have changed. The tests use both APIs and both implementations.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import _impl, aio
from cassandra.cluster import Cluster
from cassandra.protocol import LazyProtocolHandler, NumpyProtocolHandler, ProtocolHandler
from cassandra.query import tuple_factory
from cassandra.testing.fake import FakeCluster, Scylla, rows
from tests.unit.engine.pools.test_shards_on_nodes import TABLETS, VNODES, all_connected, settings_of
from tests.waiting import until

pytest.importorskip("numpy")

READ = "SELECT v FROM {}.t WHERE k = ?"
KEY_COUNT = 100


class WithFeatures(ProtocolHandler):
    """A handler that overrides `encode_message`, and passes all arguments on."""

    @classmethod
    def encode_message(cls, *args: Any, **kwargs: Any) -> bytes:
        return super().encode_message(*args, **kwargs)


class NamedFeatures(ProtocolHandler):
    """A handler that overrides `encode_message`, with named parameters for the extensions."""

    @classmethod
    def encode_message(  # type: ignore[override]
        cls,
        msg: Any,
        stream_id: int,
        protocol_version: int,
        compressor: Any,
        allow_beta_protocol_version: bool,
        protocol_features: Any,
    ) -> bytes:
        return super().encode_message(
            msg,
            stream_id,
            protocol_version,
            compressor,
            allow_beta_protocol_version,
            protocol_features,
        )


class WithoutFeatures(ProtocolHandler):
    """A handler that was written for a driver without protocol extensions."""

    @classmethod
    def encode_message(  # type: ignore[override]
        cls,
        msg: Any,
        stream_id: int,
        protocol_version: int,
        compressor: Any,
        allow_beta_protocol_version: bool,
    ) -> bytes:
        return super().encode_message(
            msg, stream_id, protocol_version, compressor, allow_beta_protocol_version
        )


# The protocol handlers that the tests pass to the session, by the names that the tests use.
HANDLERS: dict[str, type[Any]] = {
    "listener": ProtocolHandler,
    "args": WithFeatures,
    "features": NamedFeatures,
    "no features": WithoutFeatures,
    "numpy": NumpyProtocolHandler,
    "lazy": LazyProtocolHandler,
}


def values_of(result: Any) -> dict[str, list[Any]]:
    """Return the values of a result by column, for any type of rows."""
    if isinstance(result[0], dict):  # the arrays of a page
        return {name: list(values) for name, values in result[0].items()}
    names = list(result[0]._fields)
    return {name: [row[index] for row in result] for index, name in enumerate(names)}


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three fake nodes with 7 shards each.

    There are two keyspaces with a table t: one with tablets, and one without.
    """
    with FakeCluster(3, scylla=Scylla(7)) as running:
        running.scylla.keyspace(VNODES, replication_factor=2)
        running.scylla.table(VNODES, "t")
        running.scylla.keyspace(TABLETS, replication_factor=2, tablets=True)
        running.scylla.table(TABLETS, "t", tablets=16)
        yield running


# An `Execute` executes a prepared statement with values, with either API. A `Check` is the body of
# a test.
Execute = Callable[[Any, tuple[Any, ...]], Awaitable[Any]]
Check = Callable[[Any, Execute], Awaitable[None]]


def run_check(
    nodes: FakeCluster, api: str, handler_name: str, check: Check, **settings: Any
) -> None:
    """Call `check` with a session and an `Execute` function.

    :param api: "blocking" or "asyncio".
    :param handler_name: a key of `HANDLERS`, which names the session's protocol handler. For
        "listener", the session has a request listener.
    :param settings: further settings of the cluster.
    """
    notified: list[Any] = []

    def set_handler(session: Any) -> None:
        if handler_name == "listener":
            session.add_request_init_listener(notified.append)
        session.client_protocol_handler = HANDLERS[handler_name]
        if handler_name == "numpy":
            session.row_factory = tuple_factory

    # `check` is a coroutine, so it runs on an event loop also for the blocking API.
    if api == "blocking":
        asyncio.run(_run_blocking(nodes, set_handler, check, settings))
    else:
        asyncio.run(_run_in_asyncio(nodes, set_handler, check, settings))
    assert bool(notified) is (handler_name == "listener")
    assert [fault for node in nodes.nodes for fault in node.malformed] == []


async def _run_blocking(
    nodes: FakeCluster, set_handler: Callable[[Any], None], check: Check, settings: dict[str, Any]
) -> None:
    """Call `check` with a session of the blocking API and an `Execute` function."""
    with Cluster(**settings_of(nodes, **settings)) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        await asyncio.to_thread(until, lambda: all_connected(cluster))
        set_handler(session)

        async def execute(prepared: Any, values: tuple[Any, ...]) -> Any:
            return session.execute(prepared, values)

        await check(session, execute)


async def _run_in_asyncio(
    nodes: FakeCluster, set_handler: Callable[[Any], None], check: Check, settings: dict[str, Any]
) -> None:
    """Call `check` with a session of the asyncio API and an `Execute` function."""
    async with aio.Cluster(**settings_of(nodes, **settings)) as cluster:
        session = await cluster.connect(wait_for_all_pools=True)
        await asyncio.to_thread(until, lambda: all_connected(cluster))
        set_handler(session)

        async def execute(prepared: Any, values: tuple[Any, ...]) -> Any:
            return await session.execute(prepared, values)

        await check(session, execute)


async def prepared_by(session: Any, query: str) -> Any:
    """Prepare a statement with a session of either API."""
    statement = session.prepare(query)
    return await statement if asyncio.iscoroutine(statement) else statement


async def rows_of(result: Any) -> list[Any]:
    """Return the rows of a result; with the NumPy handler, its pages."""
    if hasattr(result, "__aiter__"):
        return [row async for row in result]
    return list(result)


EACH_HANDLER = pytest.mark.parametrize("handler_name", list(HANDLERS))
BOTH_APIS = pytest.mark.parametrize("api", ["blocking", "asyncio"])


@EACH_HANDLER
@BOTH_APIS
@pytest.mark.parametrize("version", [1, 2])
def test_requests_have_all_extensions_and_reach_their_shard(
    nodes: FakeCluster, api: str, handler_name: str, version: int
) -> None:
    """Each EXECUTE has the fields of all extensions.

    When the driver knows the tablets, each EXECUTE arrives at the shard that owns its key.
    """
    nodes.scylla.tablets_version = version

    async def check(session: Any, execute: Execute) -> None:
        for keyspace in (VNODES, TABLETS):
            query = READ.format(keyspace)
            prepared = await prepared_by(session, query)
            for key in range(KEY_COUNT):
                await execute(prepared, (key,))
            # By now, the driver knows all tablets.
            nodes.scylla.forget_arrivals()
            for key in range(KEY_COUNT):
                await execute(prepared, (key,))
            arrivals = nodes.scylla.arrivals
            assert arrivals.counted == KEY_COUNT
            assert arrivals.right == KEY_COUNT
            # No response described a tablet, so the driver knew all tablets.
            assert arrivals.payloads == 0
            for request in nodes.queries(query):
                assert request.result_metadata_id == prepared.result_metadata_id
                assert (request.tablet_version_block is not None) is (version == 2)

    run_check(nodes, api, handler_name, check)


@EACH_HANDLER
@BOTH_APIS
@pytest.mark.parametrize("protocol_version", [3, 4])
def test_results_are_right_after_their_columns_have_changed(
    nodes: FakeCluster, api: str, handler_name: str, protocol_version: int
) -> None:
    """After the columns of a table have changed, results have the new columns and their values.

    The response with the new columns also has a new id of the columns, which the next EXECUTE
    sends.
    """
    query = READ.format(TABLETS)
    old_rows = rows([("v", "text")], [["a"], ["b"]])
    new_rows = rows([("v", "int"), ("w", "text")], [[1, "x"], [2, "y"]])

    async def check(session: Any, execute: Execute) -> None:
        prepared = await prepared_by(session, query)
        old_id = prepared.result_metadata_id
        assert old_id
        for answer, expected in (
            (old_rows, {"v": ["a", "b"]}),
            (new_rows, {"v": [1, 2], "w": ["x", "y"]}),
        ):
            nodes.prime(query, answer)
            for key in range(3):
                assert values_of(await rows_of(await execute(prepared, (key,)))) == expected
        assert prepared.result_metadata_id != old_id
        assert nodes.queries(query)[-1].result_metadata_id == prepared.result_metadata_id

    run_check(nodes, api, handler_name, check, protocol_version=protocol_version)


def test_without_the_extension_no_metadata_ids_are_sent() -> None:
    """If a node does not offer ids of result metadata, no EXECUTE sends such an id."""
    with FakeCluster(1, scylla=Scylla(2, metadata_ids=False, tablets_version=2)) as nodes:
        nodes.scylla.keyspace(VNODES)
        nodes.scylla.table(VNODES, "t")
        query = READ.format(VNODES)

        async def check(session: Any, execute: Execute) -> None:
            prepared = await prepared_by(session, query)
            nodes.prime(query, rows([("v", "text")], [["a"]]))
            for key in range(20):
                assert await rows_of(await execute(prepared, (key,))) == [("a",)]
            assert all(request.result_metadata_id is None for request in nodes.queries(query))

        for handler_name in ("listener", "no features", "lazy"):
            run_check(nodes, "blocking", handler_name, check)


@pytest.mark.skipif(_impl.implementation != "c", reason="this is the Python implementation")
@pytest.mark.long
@pytest.mark.slow
def test_all_tests_pass_with_the_python_implementation() -> None:
    """Run this file's tests again, with the Python implementation."""
    folder = Path(__file__).parents[3]
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__],
        env={**os.environ, "CASS_DRIVER_IMPL": "python"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stdout[-3000:]
