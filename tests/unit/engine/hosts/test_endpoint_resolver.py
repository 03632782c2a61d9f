"""Tests of `EndpointResolver`, which makes end points of nodes from rows of system tables."""

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

    def __init__(self, may_check_names: bool = False) -> None:
        self.call_count = 0
        self.may_check_names = may_check_names

    async def in_thread(self, function: Any) -> Any:
        self.call_count += 1
        return function()


def new_resolver(
    known_host: Any = None, factory: Any = None, threads: Any = None
) -> EndpointResolver:
    """Return a resolver of a cluster with at most one known host, whose id is HOST_ID.

    :param known_host: None means that no host is known.
    :param factory: makes the end points; None means a DefaultEndPointFactory.
    :param threads: a ThreadCounter; None means a new one.
    """
    find_host = {HOST_ID: known_host}.get
    any_threads: Any = threads or ThreadCounter()
    return EndpointResolver(factory or DefaultEndPointFactory(9042), any_threads, find_host)


async def test_the_local_node_has_the_address_that_was_connected_to() -> None:
    """The node that the driver is connected to keeps the address that was used for the connection.

    The address in the node's row may be reachable for other nodes only.
    """
    contact = DefaultEndPoint("192.168.0.9")
    assert await new_resolver().of_local(contact, ROW) is contact
    # The address is also kept if the host is already known: by the same address, or by an address
    # that is neither the contact point's nor the row's.
    assert await new_resolver(new_host("192.168.0.9")).of_local(contact, ROW) is contact
    assert await new_resolver(new_host("172.16.0.1")).of_local(contact, ROW) is contact


async def test_a_host_known_by_its_advertised_address_keeps_it() -> None:
    """If the driver knows a host by the address in the host's row, the host keeps this address.

    Here, the control connection was opened to another address of the host.
    """
    contact = DefaultEndPoint("192.168.0.9")
    endpoint = await new_resolver(new_host("10.0.0.1")).of_local(contact, ROW)
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_a_name_with_several_addresses_is_not_a_nodes_end_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a contact point's name has several addresses, the address in the node's row is used.

    Such a name may lead to any of several nodes.
    """

    async def two_addresses(*args: Any, **kwargs: Any) -> Any:
        return [(0, 0, 0, "", (address, 9042)) for address in ("10.0.0.1", "10.0.0.2")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", two_addresses)
    endpoint = await new_resolver().of_local(DefaultEndPoint("nodes.example"), ROW)
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_a_known_node_keeps_its_end_point_if_its_name_cannot_be_resolved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A failure of the name server does not make reading the node list fail."""

    async def fail(*args: Any, **kwargs: Any) -> Any:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", fail)
    contact = DefaultEndPoint("nodes.example")
    for address in ("nodes.example", "10.0.0.1"):
        host = new_host(address)
        assert await new_resolver(host).of_local(contact, ROW) is host.endpoint
    with pytest.raises(socket.gaierror):
        await new_resolver().of_local(contact, ROW)


async def test_a_name_with_one_address_is_a_nodes_end_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a contact point's name has a single address, the name stays the node's end point.

    The name may be needed: for example, it may be the name in the node's certificate.
    """

    async def one_address(*args: Any, **kwargs: Any) -> Any:
        # `getaddrinfo` lists the address twice, for two socket types. It must count as one address.
        socket_types = (socket.SOCK_STREAM, socket.SOCK_DGRAM)
        return [(0, socket_type, 0, "", ("192.168.0.9", 9042)) for socket_type in socket_types]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", one_address)
    contact = DefaultEndPoint("node.example")
    assert await new_resolver().of_local(contact, ROW) is contact


async def test_a_name_that_leads_to_the_advertised_address_is_not_a_nodes_end_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A node that was reached at its advertised address gets this address, and not the name.

    The name of a service has one address while a single node is ready, and leads to other nodes
    later. The name is kept if certificates may have to be for the name, or if the node was reached
    at another address, for example through a proxy.
    """
    resolved_address = "10.0.0.1"

    async def one_address(*args: Any, **kwargs: Any) -> Any:
        return [(0, 0, 0, "", (resolved_address, 9042))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", one_address)
    contact = DefaultEndPoint("nodes.example")
    endpoint = await new_resolver().of_local(contact, ROW, resolved_address)
    assert endpoint == DefaultEndPoint("10.0.0.1")
    with_names = new_resolver(threads=ThreadCounter(may_check_names=True))
    assert await with_names.of_local(contact, ROW, resolved_address) is contact
    resolved_address = "192.168.0.9"
    assert await new_resolver().of_local(contact, ROW, resolved_address) is contact


async def test_a_name_that_leads_to_one_node_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application's end point may say that all addresses of its name lead to one node.

    The node then keeps this end point. An end point that does not say so is replaced.
    """

    class ProxyEndPoint(DefaultEndPoint):
        leads_to_one_node = True

    async def two_addresses(*args: Any, **kwargs: Any) -> Any:
        return [(0, 0, 0, "", (address, 9042)) for address in ("192.168.0.8", "192.168.0.9")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", two_addresses)
    contact = ProxyEndPoint("proxy.example")
    assert await new_resolver().of_local(contact, ROW, "192.168.0.9") is contact
    endpoint = await new_resolver().of_local(DefaultEndPoint("proxy.example"), ROW, "192.168.0.9")
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_a_factory_that_names_each_node_makes_the_local_end_point() -> None:
    """If `names_each_node` is True, the factory also makes the end point of the connected node.

    Other factories do not: the node keeps the address that was connected to. `names_each_node` says
    that the factory knows a reachable address of each node.
    """

    class NamingFactory(DefaultEndPointFactory):
        names_each_node = True

    endpoint = await new_resolver(factory=NamingFactory(9042)).of_local(
        DefaultEndPoint("192.168.0.9"), ROW
    )
    assert endpoint == DefaultEndPoint("10.0.0.1")


async def test_only_a_factory_that_may_block_gets_a_thread() -> None:
    """An application's factory is called in a thread because it may block.

    The driver's own factory is called on the event loop.
    """

    class CustomFactory(DefaultEndPointFactory):
        pass

    for factory, call_count in ((DefaultEndPointFactory(9042), 0), (CustomFactory(9042), 1)):
        threads = ThreadCounter()
        endpoints = await new_resolver(factory=factory, threads=threads).of_rows([ROW])
        assert endpoints == [DefaultEndPoint("10.0.0.1")]
        assert threads.call_count == call_count


async def test_only_an_end_point_that_leads_to_several_nodes_is_misleading() -> None:
    """A contact point is replaced only if it has led to a node that is known by another address.

    If the node is not known, or is known by the address of the contact point itself, the contact
    point is kept: a new node has replaced the host there.
    """
    contact = DefaultEndPoint("192.168.0.9")
    for known_host in (None, new_host("192.168.0.9")):
        resolver = new_resolver(known_host)
        assert not resolver.may_mislead(contact, HOST_ID)
        assert await resolver.of_local(contact, ROW) is contact
    resolver = new_resolver(new_host("10.0.0.2"))
    assert not resolver.may_mislead(contact, HOST_ID)
    assert await resolver.of_local(contact, ROW) == DefaultEndPoint("10.0.0.1")
