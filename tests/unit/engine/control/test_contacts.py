"""Tests of the order in which the control connection tries hosts and contact points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra.engine.control.contacts import Contacts
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.metadata.cluster_metadata import Metadata
from tests.unit.engine.partners import engine_settings, new_host

ENDPOINT_A, ENDPOINT_B, ENDPOINT_C, ENDPOINT_D = (
    DefaultEndPoint(f"10.0.0.{last}") for last in range(1, 5)
)


async def call_at_once(function: Callable[[], Any]) -> Any:
    """Call the function in the current thread; replaces `Connector.in_thread`."""
    return function()


def contacts(metadata: Metadata | None = None, ignored: str = "", **changed: Any) -> Contacts:
    """Return contacts whose policies ignore the host with the address `ignored`.

    :param metadata: the known hosts. None means no hosts.
    :param ignored: an address; the empty string ignores no host.
    :param changed: settings of the engine that differ from the defaults.
    """
    return Contacts(
        engine_settings(**changed),
        metadata or Metadata(),
        call_at_once,
        lambda host: host.address == ignored,
    )


async def test_the_contact_points_come_in_any_order() -> None:
    """The contact points are tried in random order, which spreads the load of many clients."""
    contact_points = contacts(endpoints=[ENDPOINT_A, ENDPOINT_B, ENDPOINT_C, ENDPOINT_D])
    orders = {tuple(await contact_points.first()) for _ in range(200)}
    assert len(orders) > 1
    for order in orders:
        assert set(order) == {ENDPOINT_A, ENDPOINT_B, ENDPOINT_C, ENDPOINT_D}


async def test_without_contact_points_find_endpoints_is_called() -> None:
    """Without contact points, the driver calls the setting `find_endpoints` to look them up.

    If there are contact points, the driver does not call it.
    """
    assert await contacts(find_endpoints=lambda: [ENDPOINT_A]).first() == [ENDPOINT_A]
    assert await contacts(endpoints=[ENDPOINT_B], find_endpoints=lambda: [ENDPOINT_A]).first() == [
        ENDPOINT_B
    ]


async def test_names_and_discovered_addresses_lead_to_current_nodes() -> None:
    """An IP address that the application has given may belong to a node that was removed."""
    name = DefaultEndPoint("db.example")
    given = contacts(endpoints=[ENDPOINT_A, ENDPOINT_B], named_endpoints=[ENDPOINT_A, name])
    assert given.leads_to_current_nodes(name)
    assert not given.leads_to_current_nodes(ENDPOINT_A)
    assert not given.leads_to_current_nodes(ENDPOINT_B)
    discovered = contacts(find_endpoints=lambda: [ENDPOINT_A])
    await discovered.find_again()
    assert discovered.leads_to_current_nodes(ENDPOINT_A)


async def test_hosts_that_are_up_come_first_and_contact_points_last() -> None:
    """The control connection tries hosts that are up first, and contact points last.

    Hosts that are down come in between. Hosts that the policies ignore are left out.
    """
    metadata = Metadata()
    metadata._replace_hosts(
        [
            new_host(str(ENDPOINT_A.address), is_up=False),
            new_host(str(ENDPOINT_B.address)),
            new_host(str(ENDPOINT_C.address)),
        ]
    )
    # `endpoints` has the addresses of the contact points, `named_endpoints` their unresolved names.
    # The address of A is also the address of a host that is down.
    contact_points = contacts(
        metadata,
        ignored="10.0.0.3",
        endpoints=[ENDPOINT_A, ENDPOINT_D],
        named_endpoints=[ENDPOINT_D],
    )
    # Hosts of the same state are shuffled, but here only B is up, and C is ignored.
    for _ in range(50):
        assert contact_points.candidates() == [ENDPOINT_B, ENDPOINT_A, ENDPOINT_D]


async def test_if_find_endpoints_fails_the_contact_points_stay() -> None:
    """`find_again` adds the end points that `find_endpoints` returns to the contact points.

    If `find_endpoints` fails, the contact points stay as they are.
    """

    def failing_lookup() -> Any:
        raise OSError("unreachable")

    contact_points = contacts(endpoints=[ENDPOINT_A], find_endpoints=failing_lookup)
    await contact_points.find_again()
    assert contact_points.candidates() == [ENDPOINT_A]
    contact_points = contacts(endpoints=[ENDPOINT_A], find_endpoints=lambda: [ENDPOINT_B])
    await contact_points.find_again()
    assert contact_points.candidates() == [ENDPOINT_A, ENDPOINT_B]
