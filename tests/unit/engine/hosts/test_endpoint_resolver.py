"""From rows of the system tables, the end points of nodes are made."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from cassandra.engine.endpoint import DefaultEndPoint, DefaultEndPointFactory
from cassandra.engine.hosts.endpoint_resolver import EndpointResolver
from tests.unit.engine.partners import new_host

ID = uuid.UUID(int=1)
ROW = {"host_id": ID, "rpc_address": "10.0.0.1"}


class Threads:
    """A fake of `Connector.in_thread`, which counts its calls."""

    def __init__(self) -> None:
        self.used = 0

    async def in_thread(self, function: Any) -> Any:
        self.used += 1
        return function()


def resolver(known_host: Any = None, factory: Any = None, threads: Any = None) -> EndpointResolver:
    find_host = {ID: known_host}.get
    any_threads: Any = threads or Threads()
    return EndpointResolver(factory or DefaultEndPointFactory(9042), any_threads, find_host)


async def test_the_local_node_has_the_address_that_was_connected_to() -> None:
    contact = DefaultEndPoint("192.168.0.9")
    assert await resolver().of_local(contact, ROW) is contact
    # The same holds if the host is already known under this address, or under yet another one.
    assert await resolver(new_host("192.168.0.9")).of_local(contact, ROW) is contact
    assert await resolver(new_host("172.16.0.1")).of_local(contact, ROW) is contact


async def test_a_host_known_by_its_advertised_address_keeps_it() -> None:
    contact = DefaultEndPoint("192.168.0.9")
    endpoint = await resolver(new_host("10.0.0.1")).of_local(contact, ROW)
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_a_name_with_several_addresses_is_not_a_nodes_end_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def resolved(*args: Any, **kwargs: Any) -> Any:
        return [(0, 0, 0, "", (f"10.0.0.{n}", 9042)) for n in (1, 2)]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolved)
    endpoint = await resolver().of_local(DefaultEndPoint("nodes.example"), ROW)
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_a_name_with_one_address_is_a_nodes_end_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def resolved(*args: Any, **kwargs: Any) -> Any:
        # The name has one address, listed for two types of socket, which counts only once.
        return [(0, socket_type, 0, "", ("192.168.0.9", 9042)) for socket_type in (1, 2)]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolved)
    contact = DefaultEndPoint("node.example")
    assert await resolver().of_local(contact, ROW) is contact


async def test_a_factory_that_names_each_node_makes_the_local_end_point() -> None:
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
