"""Routers and the plans that they make, on both implementations."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import Twins
from tests.unit.metadata.rings import ring_of


def test_a_router_puts_nearer_tiers_first_and_leaves_hosts_out(twins: Twins) -> None:
    ring = ring_of(twins, [0, 1, 2, 3, 4], 5)
    made = twins.ring.simple_map(ring, "abcde", 5, 5)
    router = twins.plans.Router(made, [2, 1, 255, 0, 1], 7)
    keys = [bytes([number]) for number in range(40)]
    for key in keys:
        assert router.route(key, False)[0][0] == "d"
        assert router.route(key, False)[1] == 1
        hosts, nearest = router.route(key, True)
        assert (hosts[0], set(hosts[1:3]), hosts[3], nearest) == ("d", {"b", "e"}, "a", 1)
    only_far = twins.plans.Router(made, [255, 255, 2, 255, 2], 7)
    assert {only_far.route(key, True) for key in keys} == {(("c", "e"), 2), (("e", "c"), 2)}
    nobody = twins.plans.Router(made, [255] * 5, 7)
    assert nobody.route(b"key", True) == ((), 0)


def test_shuffling_is_fair(twins: Twins) -> None:
    ring = ring_of(twins, [0, 1, 2], 3)
    router = twins.plans.Router(twins.ring.simple_map(ring, "abc", 3, 3), [0, 0, 0], 12345)
    seen = Counter(router.route(b"key", True)[0] for _ in range(6000))
    assert len(seen) == 6
    assert all(850 < count < 1150 for count in seen.values())


def test_large_sets_are_shuffled_whole(twins: Twins) -> None:
    ring = ring_of(twins, list(range(200)), 200)
    router = twins.plans.Router(twins.ring.whole_map(ring, range(200)), [0] * 200, 3)
    hosts, nearest = router.route(b"key", True)
    assert (sorted(hosts), nearest) == (list(range(200)), 200)
    assert hosts != router.route(b"key", True)[0]


def test_a_router_needs_a_tier_for_each_host(twins: Twins) -> None:
    made = twins.ring.simple_map(ring_of(twins, [0, 1], 2), "ab", 1, 1)
    with pytest.raises(ValueError, match="2 hosts have 1 tiers"):
        twins.plans.Router(made, [0], 1)


class Opaque:
    def __init__(self, name: str, is_up: bool | None) -> None:
        self.name = name
        self.is_up = is_up

    def __repr__(self) -> str:
        return self.name


def test_a_plan_is_the_live_replicas_and_then_the_rest(twins: Twins) -> None:
    a, b, c, d = Opaque("a", True), Opaque("b", False), Opaque("c", None), Opaque("d", True)
    asked: list[Any] = []

    def rest(keyspace: Any, query: Any) -> list[Any]:
        asked.append((keyspace, query))
        return [c, d, b, a]

    plan = iter(twins.plans.replica_plan((a, b, c), SimpleNamespace(make_query_plan=rest), "ks", "query"))
    assert [next(plan), next(plan)] == [a, c]
    assert asked == []
    assert list(plan) == [d, b]
    assert asked == [("ks", "query")]
    assert list(plan) == []


def test_a_plan_sees_a_host_go_down_while_it_is_used(twins: Twins) -> None:
    a, b = Opaque("a", True), Opaque("b", True)
    plan = iter(
        twins.plans.replica_plan((a, b), SimpleNamespace(make_query_plan=lambda keyspace, query: ()), None, None)
    )
    assert next(plan) is a
    b.is_up = False
    assert list(plan) == []


def test_errors_of_the_rest_are_raised(twins: Twins) -> None:
    def rest(keyspace: Any, query: Any) -> list[Any]:
        raise RuntimeError("a policy's own")

    with pytest.raises(RuntimeError, match="own"):
        list(twins.plans.replica_plan((), SimpleNamespace(make_query_plan=rest), None, None))


def test_of_the_first_two_the_less_busy_one_is_taken(twins: Twins) -> None:
    a, b, c = (Opaque(name, True) for name in "abc")
    made = twins.ring.simple_map(ring_of(twins, [0, 1, 2], 3), (a, b, c), 3, 3)
    nobody = SimpleNamespace(make_query_plan=lambda keyspace, query: ())
    busy = {a: 9, b: 1, c: 9}

    def firsts(router: Any, shuffle: bool) -> set[str]:
        return {next(router.plan(b"key", shuffle, nobody, None, None, busy.__getitem__)).name for _ in range(60)}

    order = made.of_key(b"key")
    router = twins.plans.Router(made, [0, 0, 0], 5)
    assert firsts(router, False) == {min(order[:2], key=busy.__getitem__).name}
    # The pair of a and c is one of three.
    assert firsts(router, True) == {"a", "b", "c"}
    b.is_up = False
    assert "b" not in firsts(router, True)
    # A busy host that is nearer stays first.
    b.is_up = True
    assert firsts(twins.plans.Router(made, [0, 1, 1], 5), True) == {"a"}
