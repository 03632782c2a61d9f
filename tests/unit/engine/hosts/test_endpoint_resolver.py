"""`EndpointResolver`, which makes the end points of nodes from rows of the system tables."""

from __future__ import annotations

import asyncio
import socket
import uuid
from typing import Any

import pytest

from cassandra.engine.endpoint import DefaultEndPoint, DefaultEndPointFactory
from cassandra.engine.hosts.endpoint_resolver import EndpointResolver
from tests.unit.engine.partners import new_host

HOST_ID = uuid.UUID(int=1)
ROW = {"host_id": HOST_ID, "rpc_address": "10.0.0.1"}


class ThreadCounter:
    """A fake of `Connector.in_thread`, which counts its calls."""

    def __init__(self) -> None:
        self.call_count = 0

    async def in_thread(self, function: Any) -> Any:
        self.call_count += 1
        return function()


def new_resolver(
    known_host: Any = None, factory: Any = None, threads: Any = None
) -> EndpointResolver:
    """Return a resolver of a cluster with at most one known host, whose id is HOST_ID."""
    find_host = {HOST_ID: known_host}.get
    any_threads: Any = threads or ThreadCounter()
    return EndpointResolver(factory or DefaultEndPointFactory(9042), any_threads, find_host)


async def test_the_local_node_has_the_address_that_was_connected_to() -> None:
    """The address in the row may be reachable for other nodes only, so the driver keeps the one
    that works.
    """
    contact = DefaultEndPoint("192.168.0.9")
    assert await new_resolver().of_local(contact, ROW) is contact
    # The same holds if the host is already known under this address, or under yet another one.
    assert await new_resolver(new_host("192.168.0.9")).of_local(contact, ROW) is contact
    assert await new_resolver(new_host("172.16.0.1")).of_local(contact, ROW) is contact


async def test_a_host_known_by_its_advertised_address_keeps_it() -> None:
    contact = DefaultEndPoint("192.168.0.9")
    endpoint = await new_resolver(new_host("10.0.0.1")).of_local(contact, ROW)
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_a_name_with_several_addresses_is_not_a_nodes_end_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The name may lead to any of several nodes, so the address in the node's row is used."""

    async def two_addresses(*args: Any, **kwargs: Any) -> Any:
        return [(0, 0, 0, "", (address, 9042)) for address in ("10.0.0.1", "10.0.0.2")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", two_addresses)
    endpoint = await new_resolver().of_local(DefaultEndPoint("nodes.example"), ROW)
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_a_name_with_one_address_is_a_nodes_end_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that leads to one node only is kept, for example because it is in the node's
    certificate.
    """

    async def one_address(*args: Any, **kwargs: Any) -> Any:
        # The name has one address, listed for two types of socket, which counts only once.
        socket_types = (socket.SOCK_STREAM, socket.SOCK_DGRAM)
        return [(0, socket_type, 0, "", ("192.168.0.9", 9042)) for socket_type in socket_types]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", one_address)
    contact = DefaultEndPoint("node.example")
    assert await new_resolver().of_local(contact, ROW) is contact


async def test_a_factory_that_names_each_node_makes_the_local_end_point() -> None:
    """If the factory knows a reachable address of each node (`names_each_node`), the local node
    gets that, too.
    """

    class NamingFactory(DefaultEndPointFactory):
        names_each_node = True

    endpoint = await new_resolver(factory=NamingFactory(9042)).of_local(
        DefaultEndPoint("192.168.0.9"), ROW
    )
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_only_a_factory_that_may_block_gets_a_thread() -> None:
    """A factory of the application may block, so it is called in a thread; the driver's own is
    not.
    """

    class CustomFactory(DefaultEndPointFactory):
        pass

    for factory, call_count in ((DefaultEndPointFactory(9042), 0), (CustomFactory(9042), 1)):
        threads = ThreadCounter()
        endpoints = await new_resolver(factory=factory, threads=threads).of_rows([ROW])
        assert endpoints == [DefaultEndPoint("10.0.0.1")]
        assert threads.call_count == call_count
