"""Racks and tokens of local nodes."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.testing.topology import NodeLocation, lay_out, tokens_of


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"nodes": 1}, ["dc1/rack1"]),
        ({"nodes": 3, "racks": 2}, ["dc1/rack1", "dc1/rack2", "dc1/rack1"]),
        ({"nodes": 2, "racks": ["a", "b"]}, ["dc1/a", "dc1/b"]),
        ({"nodes": [2, 1]}, ["dc1/rack1", "dc1/rack1", "dc2/rack1"]),
        ({"nodes": [1, 1], "datacenters": ["x", "y"]}, ["x/rack1", "y/rack1"]),
        ({"nodes": 3, "datacenters": ["x", "y"]}, ["x/rack1", "x/rack1", "y/rack1"]),
        ({"nodes": {"e": 2, "w": 1}, "racks": {"e": ["a", "b"]}}, ["e/a", "e/b", "w/rack1"]),
    ],
)
def test_layout(arguments: dict[str, Any], expected: list[str]) -> None:
    """`lay_out` distributes nodes over data centres and racks as the arguments say."""
    assert [f"{node.datacenter}/{node.rack}" for node in lay_out(**arguments)] == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nodes": 0}, "'dc1' has 0 nodes"),
        ({"nodes": {"e": True}}, "'e' has True nodes"),
        ({"nodes": []}, "one node at least"),
        ({"nodes": {"e": 1}, "datacenters": ["e"]}, "leave datacenters= out"),
        ({"nodes": [1, 2], "datacenters": ["e"]}, "2 counts of nodes, but 1 names"),
        ({"nodes": 1, "racks": "abc"}, "expected a number or a list"),
        ({"nodes": 1, "racks": 0}, "no rack"),
        ({"nodes": {"e": 1}, "racks": {"w": 2}}, "no nodes: w"),
    ],
)
def test_wrong_layouts_are_refused(arguments: dict[str, Any], message: str) -> None:
    """Arguments that contradict each other, or that lay out no node, raise ValueError."""
    with pytest.raises(ValueError, match=message):
        lay_out(**arguments)


def test_tokens_are_evenly_spread_interleaved_and_unique() -> None:
    """Each data centre's tokens are spread over the whole ring, and assigned to its nodes in turn.

    The tokens of the second data centre are moved by 1000, so that no token occurs twice.
    """
    locations = [NodeLocation("e", "a"), NodeLocation("e", "b"), NodeLocation("w", "a")]
    tokens_per_node = 2
    east_a, east_b, west_a = tokens_of(locations, tokens_per_node)
    quarter = 2**62
    lowest = -(2**63) + 1
    assert east_a == [lowest, lowest + 2 * quarter]
    assert east_b == [lowest + quarter, lowest + 3 * quarter]
    assert west_a == [lowest + 1000, lowest + 1000 + 2 * quarter]
