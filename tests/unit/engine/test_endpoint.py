"""`DefaultEndPointFactory`, which creates end points from the addresses that nodes advertise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.endpoint import (
    DefaultEndPoint,
    DefaultEndPointFactory,
    EndPoint,
    SniEndPointFactory,
)
from cassandra.policies.translation import (
    AddressTranslator,
    EC2MultiRegionTranslator,
    IdentityTranslator,
)


class NatTranslator(AddressTranslator):
    """A translator that changes addresses 10.0.x.x to 192.168.x.x."""

    def translate(self, addr: str) -> str:
        return addr.replace("10.0.", "192.168.")


def endpoint_of(row: dict[str, Any], translator: Any = None, port: int = 9042) -> EndPoint:
    """Return the end point that the default factory creates from a row of a system table.

    :param translator: the address translator; None means no translation.
    :param port: the port of the cluster.
    """
    factory = DefaultEndPointFactory().configure(
        SimpleNamespace(address_translator=translator, port=port)
    )
    return factory.create(row)


@pytest.mark.parametrize(
    ("row", "address", "port"),
    [
        (
            {"native_address": "10.0.0.1", "native_port": 9043, "peer": "10.9.9.9"},
            "192.168.0.1",
            9043,
        ),
        ({"rpc_address": "10.0.0.1", "peer": "10.9.9.9"}, "192.168.0.1", 19042),
        ({"rpc_address": "10.0.0.1", "rpc_port": 9044, "key": "local"}, "192.168.0.1", 9044),
        ({"rpc_address": "0.0.0.0", "peer": "10.0.0.2"}, "192.168.0.2", 19042),
        ({"native_address": "::", "peer": "10.0.0.2"}, "192.168.0.2", 19042),
        (
            {
                "rpc_address": "0.0.0.0",
                "broadcast_address": "10.0.0.3",
                "listen_address": "10.9.9.9",
            },
            "192.168.0.3",
            19042,
        ),
    ],
)
def test_the_advertised_address_is_translated(row: dict[str, Any], address: str, port: int) -> None:
    """The end point has the node's address for clients, after translation.

    If this address is unspecified (0.0.0.0 or ::), the address for other nodes is used. A port in
    the row takes precedence over the port of the cluster.
    """
    assert endpoint_of(row, NatTranslator(), port=19042) == DefaultEndPoint(address, port)


def test_a_row_without_an_address_is_shown() -> None:
    """If a row has no address, the error shows the row."""
    with pytest.raises(ValueError, match="rack7"):
        endpoint_of({"rack": "rack7"})


def test_only_factories_and_translators_of_users_may_block() -> None:
    """Only factories of applications and translators that query a name server may block.

    The driver calls such code in a thread.
    """

    class CustomFactory(DefaultEndPointFactory):
        pass

    def factory_may_block(factory: Any, translator: Any) -> bool:
        cluster = SimpleNamespace(address_translator=translator, port=9042)
        return bool(factory.configure(cluster).may_block)

    assert not factory_may_block(DefaultEndPointFactory(), IdentityTranslator())
    assert not factory_may_block(DefaultEndPointFactory(), translator=None)
    assert factory_may_block(DefaultEndPointFactory(), EC2MultiRegionTranslator())
    assert factory_may_block(CustomFactory(), IdentityTranslator())
    assert not factory_may_block(SniEndPointFactory("proxy", port=29042), translator=None)
