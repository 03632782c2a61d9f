"""`NodeList`, which compares the rows of system tables with the hosts that the driver knows."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.engine.hosts.topology import NodeList, is_complete, update_host
from tests.unit.engine.partners import new_host

ID_1, ID_2, ID_3 = (uuid.UUID(int=number) for number in (1, 2, 3))


def endpoint_and_row(host_id: uuid.UUID | None, address: str, **columns: Any) -> Any:
    """Return the end point and the row of a node.

    :param host_id: None makes an incomplete row.
    :param columns: columns that are added to the row or replace its defaults.
    """
    defaults = {"host_id": host_id, "rpc_address": address, "data_center": "dc1", "rack": "r1"}
    return DefaultEndPoint(address), {**defaults, "tokens": ["1"], **columns}


def new_node_list(rows: list[Any], hosts: Any = (), has_local: bool = True) -> NodeList:
    """Return the node list with these rows.

    :param hosts: the hosts that the driver knows.
    :param has_local: False if the queried node, which has the first row, has no data.
    """
    return NodeList(
        rows, hosts, lambda endpoint: new_host(str(endpoint.address), is_up=None), has_local
    )


def hosts_from(*rows: Any) -> list[Any]:
    """Return the hosts that a driver without any host creates from these rows."""
    return new_node_list(list(rows)).hosts


@pytest.mark.parametrize("missing", ["host_id", "data_center", "rack", "tokens", "rpc_address"])
def test_a_row_with_a_missing_column_is_incomplete(missing: str) -> None:
    _, complete_row = endpoint_and_row(ID_1, "10.0.0.1")
    assert is_complete(complete_row)
    for other_address in ("native_address", "peer"):
        assert is_complete({**complete_row, "rpc_address": None, other_address: "10.0.0.1"})
    assert not is_complete({**complete_row, missing: None})


def test_update_host_copies_the_row_and_reports_changes() -> None:
    """`update_host` copies the columns of a row to the host.

    It returns True if the data centre or the rack has changed.
    """
    updated = new_host("10.0.0.1")
    _, row = endpoint_and_row(ID_1, "10.0.0.1", peer="10.9.9.9", release_version="4.1.0")
    assert update_host(updated, row)
    assert updated.host_id == ID_1
    assert updated.datacenter == "dc1"
    assert updated.rack == "r1"
    assert updated.tokens == ("1",)
    assert updated.broadcast_address == "10.9.9.9"
    assert updated.release_version == "4.1.0"
    assert updated.broadcast_rpc_address == "10.0.0.1"
    tokens = updated.tokens
    _, shorter_row = endpoint_and_row(ID_1, "10.0.0.1")
    assert not update_host(updated, shorter_row)
    # If the tokens are equal, the host keeps its tuple of tokens.
    assert updated.tokens is tokens
    # The second row has no `release_version`, so the attribute keeps its value.
    assert updated.release_version == "4.1.0"
    _, row_with_other_rack = endpoint_and_row(ID_1, "10.0.0.1", rack="r2")
    assert update_host(updated, row_with_other_rack)


def test_the_first_row_is_the_local_node() -> None:
    """The first row becomes the local node, because it comes from the queried node.

    All hosts are added, because no host was known before.
    """
    node_list = new_node_list(
        [endpoint_and_row(ID_1, "10.0.0.1"), endpoint_and_row(ID_2, "10.0.0.2")]
    )
    assert node_list.local is node_list.hosts[0]
    assert node_list.added == node_list.hosts
    assert node_list.removed == []
    assert node_list.relocated == []


def test_a_node_with_the_same_id_and_address_keeps_its_host() -> None:
    """A node with the same host id and the same address keeps its host object.

    Applications may hold host objects.
    """
    hosts_before = hosts_from(
        endpoint_and_row(ID_1, "10.0.0.1"), endpoint_and_row(ID_2, "10.0.0.2")
    )
    node_list = new_node_list(
        [endpoint_and_row(ID_1, "10.0.0.1"), endpoint_and_row(ID_3, "10.0.0.3")], hosts_before
    )
    assert node_list.hosts[0] is hosts_before[0]
    assert [added.host_id for added in node_list.added] == [ID_3]
    assert node_list.removed == [hosts_before[1]]


def test_the_list_of_an_unknown_node_is_strange() -> None:
    """A node that was removed from the cluster, for example, may name the members nevertheless."""
    known = hosts_from(endpoint_and_row(ID_1, "10.0.0.1"), endpoint_and_row(ID_2, "10.0.0.2"))
    strange = endpoint_and_row(ID_3, "10.0.0.3")
    assert new_node_list([strange], known).is_strange
    assert not new_node_list([strange]).is_strange  # no node is known yet
    assert new_node_list([strange, endpoint_and_row(ID_2, "10.0.0.2")], known).is_strange
    for rows in (
        [endpoint_and_row(ID_2, "10.0.0.2"), strange],
        [endpoint_and_row(ID_1, "10.0.0.9")],  # with a new address
        [endpoint_and_row(ID_3, "10.0.0.1")],  # the known address is another node's now
    ):
        assert not new_node_list(rows, known).is_strange
    without_tokens = [strange, endpoint_and_row(ID_2, "10.0.0.2")]
    assert not new_node_list(without_tokens, known, has_local=False).is_strange


def test_another_address_or_another_id_is_another_host() -> None:
    """A node with another address or another host id gets a new host object.

    Here, one node has moved to another address, and one node was replaced at its address.
    """
    hosts_before = hosts_from(
        endpoint_and_row(ID_1, "10.0.0.1"), endpoint_and_row(ID_2, "10.0.0.2")
    )
    node_list = new_node_list(
        [endpoint_and_row(ID_1, "10.0.0.9"), endpoint_and_row(ID_3, "10.0.0.2")], hosts_before
    )
    assert node_list.added == node_list.hosts
    assert node_list.removed == hosts_before


def test_a_node_in_another_rack_is_relocated() -> None:
    hosts_before = hosts_from(endpoint_and_row(ID_1, "10.0.0.1"))
    node_list = new_node_list([endpoint_and_row(ID_1, "10.0.0.1", rack="r2")], hosts_before)
    assert node_list.relocated == hosts_before
    assert node_list.added == []


def test_the_first_of_two_rows_for_a_node_counts(caplog: pytest.LogCaptureFixture) -> None:
    """Of two rows with the same host id or address, the later row is ignored with a warning.

    Such rows may exist while a node is replaced.
    """
    node_list = new_node_list(
        [
            endpoint_and_row(ID_1, "10.0.0.1"),
            endpoint_and_row(ID_1, "10.0.0.2"),
            endpoint_and_row(ID_2, "10.0.0.1"),
        ]
    )
    # The second row repeats the host id of the first row, and the third row repeats its address.
    assert [str(listed.address) for listed in node_list.hosts] == ["10.0.0.1"]
    assert caplog.text.count("one is ignored") == 2


@pytest.mark.parametrize(
    ("known", "is_up", "expected"),
    [
        ("10.0.0.2", True, "10.0.0.2"),
        ("10.0.0.2", None, "10.0.0.2"),
        ("10.0.0.2", False, "10.0.0.3"),
        ("10.0.0.3", True, "10.0.0.3"),
        ("10.0.0.3", False, "10.0.0.2"),
    ],
)
def test_a_stale_row_does_not_hide_the_address_that_answers(
    known: str, is_up: bool | None, expected: str
) -> None:
    """If a node has rows with two addresses, one that is down is replaced by the other.

    A node may have rows with its old address and with its new one. If its known address is up, or
    it is not known whether it is, the node keeps that address. The queried node keeps its address
    in any case.
    """
    rows = [
        endpoint_and_row(ID_1, "10.0.0.1"),
        endpoint_and_row(ID_2, "10.0.0.2"),
        endpoint_and_row(ID_2, "10.0.0.3"),
        endpoint_and_row(ID_1, "10.0.0.4"),
    ]
    known_host = new_host(known, is_up=is_up)
    known_host.host_id = ID_2
    queried_host = new_host("10.0.0.1", is_up=False)
    queried_host.host_id = ID_1
    node_list = new_node_list(rows, [queried_host, known_host])
    assert [str(listed.address) for listed in node_list.hosts] == ["10.0.0.1", expected]
    assert node_list.removed == ([] if known == expected else [known_host])
    assert [str(listed.address) for listed in node_list.several_addresses] == [expected]
