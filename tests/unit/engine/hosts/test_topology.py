"""The node list of one reading, beside the hosts known before."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.engine.hosts.topology import NodeList, is_complete, update_host
from tests.unit.engine.partners import host

FIRST, SECOND, THIRD = (uuid.UUID(int=number) for number in (1, 2, 3))


def row(host_id: uuid.UUID | None, address: str, **more: Any) -> Any:
    usual = {"host_id": host_id, "rpc_address": address, "data_center": "dc1", "rack": "r1"}
    return DefaultEndPoint(address), {**usual, "tokens": ["1"], **more}


def read(rows: list[Any], known: Any = ()) -> NodeList:
    return NodeList(rows, known, lambda endpoint: host(str(endpoint.address), None))


def known(*rows: Any) -> list[Any]:
    return read(list(rows)).hosts


@pytest.mark.parametrize("lacking", ["host_id", "data_center", "rack", "tokens", "rpc_address"])
def test_half_a_row_is_ignored(lacking: str) -> None:
    _, whole = row(FIRST, "10.0.0.1")
    assert is_complete(whole)
    assert is_complete({**whole, "rpc_address": None, "native_address": "10.0.0.1"})
    assert not is_complete({**whole, lacking: None})


def test_a_host_takes_what_its_row_says() -> None:
    made = host("10.0.0.1")
    assert update_host(made, row(FIRST, "10.0.0.1", peer="10.9.9.9", release_version="4.1.0")[1])
    assert (made.host_id, made.datacenter, made.rack) == (FIRST, "dc1", "r1")
    assert (made.tokens, made.broadcast_address) == (("1",), "10.9.9.9")
    assert (made.release_version, made.broadcast_rpc_address) == ("4.1.0", "10.0.0.1")
    tokens = made.tokens
    assert not update_host(made, row(FIRST, "10.0.0.1")[1])
    assert made.tokens is tokens
    assert made.release_version == "4.1.0"  # a column that is missing changes nothing
    assert update_host(made, row(FIRST, "10.0.0.1", rack="r2")[1])


def test_the_first_row_is_the_node_that_was_asked() -> None:
    found = read([row(FIRST, "10.0.0.1"), row(SECOND, "10.0.0.2")])
    assert found.local is found.hosts[0]
    assert found.added == found.hosts
    assert (found.removed, found.relocated) == ([], [])


def test_a_node_keeps_its_host() -> None:
    before = known(row(FIRST, "10.0.0.1"), row(SECOND, "10.0.0.2"))
    found = read([row(FIRST, "10.0.0.1"), row(THIRD, "10.0.0.3")], before)
    assert found.hosts[0] is before[0]
    assert [one.host_id for one in found.added] == [THIRD]
    assert found.removed == [before[1]]


def test_another_address_or_another_id_is_another_host() -> None:
    before = known(row(FIRST, "10.0.0.1"), row(SECOND, "10.0.0.2"))
    found = read([row(FIRST, "10.0.0.9"), row(THIRD, "10.0.0.2")], before)
    assert found.added == found.hosts
    assert found.removed == before


def test_a_node_in_another_rack_is_told_of() -> None:
    before = known(row(FIRST, "10.0.0.1"))
    found = read([row(FIRST, "10.0.0.1", rack="r2")], before)
    assert found.relocated == before
    assert found.added == []


def test_of_two_rows_for_one_node_the_first_counts(caplog: pytest.LogCaptureFixture) -> None:
    found = read([row(FIRST, "10.0.0.1"), row(FIRST, "10.0.0.2"), row(SECOND, "10.0.0.1")])
    assert [str(one.address) for one in found.hosts] == ["10.0.0.1"]
    assert caplog.text.count("one is ignored") == 2
