"""Test `Host`: its state as a word, equality, order, and failures."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.metadata.endpoint import DefaultEndPoint
from cassandra.metadata.host import Host


class Counting:
    """A conviction policy that marks a host down at its second failure."""

    def __init__(self, host: Host) -> None:
        self.failures = 0

    def add_failure(self, error: BaseException) -> bool:
        self.failures += 1
        return self.failures > 1

    def reset(self) -> None:
        self.failures = 0


def test_a_forced_down_host_stays_so_until_it_is_up() -> None:
    """After `force_down`, the state of a host is "forced down" until the host is marked up.

    `state` and `is_up` follow each change.
    """
    host = Host("10.0.0.1")
    assert (host.state, host.is_up) == ("unknown", None)
    for change, state, is_up in (
        (host.set_up, "up", True),
        (host.set_down, "down", False),
        (host.force_down, "forced down", False),
        (host.set_down, "forced down", False),
        (host.set_up, "up", True),
        (host.set_down, "down", False),
    ):
        change()
        assert (host.state, host.is_up) == (state, is_up)


def test_failures_are_passed_to_the_conviction_policy_and_set_up_resets_it() -> None:
    """`signal_connection_failure` returns whether the conviction policy marks the host down.

    `set_up` resets the policy.
    """
    host = Host("10.0.0.1", Counting)
    assert not host.signal_connection_failure(OSError())
    assert host.signal_connection_failure(OSError())
    host.set_up()
    assert not host.signal_connection_failure(OSError())
    # The default policy must mark a host as down at its first failure.
    assert Host("10.0.0.1").signal_connection_failure(OSError())


def test_hosts_are_equal_by_end_point_and_to_their_address() -> None:
    """Hosts are equal if their end points are equal, and a host equals its address."""
    host = Host(DefaultEndPoint("10.0.0.1", 9142))
    assert host == Host(DefaultEndPoint("10.0.0.1", 9142), datacenter="dc1")
    assert hash(host) == hash(Host(DefaultEndPoint("10.0.0.1", 9142)))
    assert host != Host("10.0.0.1")
    assert host == "10.0.0.1"
    assert host != "10.0.0.2"
    assert host != 5


def test_hosts_have_an_order() -> None:
    """Hosts can be sorted and compared by their end points."""
    first, second = Host("10.0.0.1"), Host("10.0.0.2")
    equal_to_first: Any = Host("10.0.0.1")
    assert sorted([second, first]) == [first, second]
    assert first < second
    assert first <= second
    assert not first > second
    assert not first >= second
    assert first <= equal_to_first
    assert first >= equal_to_first


def test_str_and_repr_of_hosts() -> None:
    """`str` of a host is its end point, and the repr also has the data centre."""
    host = Host("10.0.0.1", datacenter="dc1", rack="r1")
    assert host.address == "10.0.0.1"
    assert (host.datacenter, host.rack) == ("dc1", "r1")
    assert str(host) == "10.0.0.1:9042"
    assert repr(host) == "<Host: 10.0.0.1:9042 dc1>"
    host.set_location_info(None, None)
    assert host.datacenter is None
    assert repr(host) == "<Host: 10.0.0.1:9042>"


def test_an_end_point_is_needed() -> None:
    """A host without an end point raises ValueError."""
    with pytest.raises(ValueError, match="endpoint must not be None"):
        Host(None)  # type: ignore[arg-type]
