"""The order in which the control connection tries hosts and contact points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra.engine.control.contacts import Contacts
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.metadata.cluster_metadata import Metadata
from tests.unit.engine.partners import engine_settings, new_host

A, B, C, D = (DefaultEndPoint(f"10.0.0.{last}") for last in range(1, 5))


async def at_once(function: Callable[[], Any]) -> Any:
    """Call the function without a thread; replaces `Connector.in_thread`."""
    return function()


def contacts(metadata: Metadata | None = None, ignored: str = "", **changed: Any) -> Contacts:
    return Contacts(
        engine_settings(**changed),
        metadata or Metadata(),
        at_once,
        lambda host: host.address == ignored,
    )


async def test_the_contact_points_come_in_any_order() -> None:
    contact_points = contacts(endpoints=[A, B, C, D])
    orders = {tuple(await contact_points.first()) for _ in range(200)}
    assert len(orders) > 1
    assert {frozenset(order) for order in orders} == {frozenset((A, B, C, D))}


async def test_without_contact_points_find_endpoints_is_called() -> None:
    assert await contacts(find_endpoints=lambda: [A]).first() == [A]
    assert await contacts(endpoints=[B], find_endpoints=lambda: [A]).first() == [B]


async def test_hosts_that_are_up_come_first_and_contact_points_last() -> None:
    metadata = Metadata()
    metadata._replace_hosts(
        [new_host(str(A.address), is_up=False), new_host(str(B.address)), new_host(str(C.address))]
    )
    contact_points = contacts(metadata, ignored="10.0.0.3", endpoints=[A, D], named_endpoints=[D])
    # The order of the hosts is random: B is always first, since it is the only host that is up.
    assert all(contact_points.candidates() == [B, A, D] for _ in range(50))


async def test_if_find_endpoints_fails_the_contact_points_stay() -> None:
    def broken() -> Any:
        raise OSError("unreachable")

    contact_points = contacts(endpoints=[A], find_endpoints=broken)
    await contact_points.find_again()
    assert contact_points.candidates() == [A]
    contact_points = contacts(endpoints=[A], find_endpoints=lambda: [B])
    await contact_points.find_again()
    assert contact_points.candidates() == [A, B]
