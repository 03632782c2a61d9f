"""Rows of the system tables become end points of nodes."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from cassandra.engine.endpoint import DefaultEndPoint, DefaultEndPointFactory
from cassandra.engine.hosts.endpoint_resolver import EndpointResolver
from tests.unit.engine.partners import host

ID = uuid.UUID(int=1)
ROW = {"host_id": ID, "rpc_address": "10.0.0.1"}


class Threads:
    """Fake of `Connector.in_thread` that records its use."""

    def __init__(self) -> None:
        self.used = 0

    async def in_thread(self, function: Any) -> Any:
        self.used += 1
        return function()


def resolver(known_host: Any = None, factory: Any = None, threads: Any = None) -> EndpointResolver:
    by_id = {ID: known_host}.get
    return EndpointResolver(factory or DefaultEndPointFactory(9042), threads or Threads(), by_id)  # type: ignore[arg-type]


async def test_the_address_that_was_connected_to_counts() -> None:
    through = DefaultEndPoint("192.168.0.9")
    assert await resolver().of_local(through, ROW) is through
    # The host is known under this very address, or under another address than it advertises.
    assert await resolver(host("192.168.0.9")).of_local(through, ROW) is through
    assert await resolver(host("172.16.0.1")).of_local(through, ROW) is through


async def test_a_node_that_is_known_by_its_own_address_keeps_it() -> None:
    through = DefaultEndPoint("192.168.0.9")
    endpoint = await resolver(host("10.0.0.1")).of_local(through, ROW)
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_a_name_of_several_nodes_is_not_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolved(*args: Any, **kwargs: Any) -> Any:
        return [(0, 0, 0, "", (f"10.0.0.{n}", 9042)) for n in (1, 2)]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolved)
    endpoint = await resolver().of_local(DefaultEndPoint("nodes.example"), ROW)
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_a_name_of_one_node_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolved(*args: Any, **kwargs: Any) -> Any:
        return [(0, kind, 0, "", ("192.168.0.9", 9042)) for kind in (1, 2)]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolved)
    through = DefaultEndPoint("node.example")
    assert await resolver().of_local(through, ROW) is through


async def test_a_factory_that_names_each_node_is_always_asked() -> None:
    class Factory(DefaultEndPointFactory):
        names_each_node = True

    endpoint = await resolver(factory=Factory(9042)).of_local(DefaultEndPoint("192.168.0.9"), ROW)
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_only_a_factory_that_may_block_gets_a_thread() -> None:
    class Factory(DefaultEndPointFactory):
        pass

    for factory, used in ((DefaultEndPointFactory(9042), 0), (Factory(9042), 1)):
        threads = Threads()
        assert await resolver(factory=factory, threads=threads).of_rows([ROW]) == [
            DefaultEndPoint("10.0.0.1")
        ]
        assert threads.used == used
