"""Servers that send more about the schema than anybody can read: floods of events, pages without an
end.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.engine.schema.targets import MANY_KEYSPACES
from cassandra.errors import NoHostAvailable
from cassandra.testing.fake import FakeNode, Request, rows
from tests.unit.engine.faults import WAIT, connected
from tests.unit.engine.schema.test_reading_on_nodes import reads
from tests.unit.metadata.schema.rows import schema
from tests.waiting import until_on_loop

ENDLESS = "SELECT * FROM system_schema.tables"


def same_page(request: Request) -> Any:
    return rows(
        [("keyspace_name", "text"), ("table_name", "text")], [("a", "t")], paging_state=b"again"
    )


def in_turns(request: Request) -> Any:
    state = b"two" if request.paging_state == b"one" else b"one"
    return rows(
        [("keyspace_name", "text"), ("table_name", "text")], [("a", "t")], paging_state=state
    )


@pytest.mark.parametrize("answer", [same_page, in_turns])
async def test_pages_that_come_again_end_connect(answer: Any) -> None:
    with FakeNode() as node:
        node.schema = schema("a")
        node.prime(ENDLESS, answer)
        async with aio.Cluster([node.address], port=node.port) as cluster:
            with pytest.raises(NoHostAvailable, match="the same page again and again"):
                await asyncio.wait_for(cluster.connect(), WAIT)
        with (
            Cluster([node.address], port=node.port) as blocking,
            pytest.raises(NoHostAvailable, match="the same page"),
        ):
            blocking.connect()


def always_another_page() -> Any:
    """Pages that all differ, without an end."""
    states = itertools.count()

    def answer(request: Request) -> Any:
        columns = [("keyspace_name", "text"), ("table_name", "text")]
        return rows(columns, [("a", "t")], paging_state=b"%d" % next(states))

    return answer


async def test_pages_without_an_end_are_read_for_a_limited_time() -> None:
    with FakeNode() as node:
        node.schema = schema("a")
        node.prime(ENDLESS, always_another_page())
        async with aio.Cluster([node.address], port=node.port, schema_read_timeout=0.05) as cluster:
            with pytest.raises(
                NoHostAvailable, match=r"could not be read from .* within 0.05 seconds"
            ):
                await asyncio.wait_for(cluster.connect(), WAIT)
        with (
            Cluster([node.address], port=node.port, schema_read_timeout=0.05) as blocking,
            pytest.raises(NoHostAvailable, match=r"Cluster\.schema_read_timeout"),
        ):
            blocking.connect()


@pytest.mark.slow
async def test_a_flood_of_events_is_a_few_readings() -> None:
    with FakeNode() as node:
        node.schema = schema("a", tables=1)
        async with connected(node, schema_event_refresh_window=0.3) as (cluster, _):
            before = len(reads(node, "tables"))
            node.schema = schema("a", tables=4000)
            for at in range(4000):
                node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "a", f"t{at}")
            await until_on_loop(lambda: len(cluster.metadata.keyspaces["a"].tables) == 4000)
            assert len(reads(node, "tables")) - before < 40


async def test_a_flood_of_keyspaces_reads_everything_once() -> None:
    names = [f"k{at}" for at in range(MANY_KEYSPACES * 2)]
    with FakeNode() as node:
        node.schema = schema()
        async with connected(node, schema_event_refresh_window=0.1) as (cluster, _):
            before = len(reads(node, "tables"))
            node.schema = schema(*names, tables=1)
            for name in names:
                node.send_event("SCHEMA_CHANGE", "CREATED", "KEYSPACE", name)
            await until_on_loop(lambda: len(cluster.metadata.keyspaces) == len(names))
            assert len(reads(node, "tables")) - before < MANY_KEYSPACES
