"""Routers, which find the replicas of a key, and query plans with these replicas.

The tests run with the compiled and with the Python implementation.
"""

from __future__ import annotations

from collections import Counter, namedtuple
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.query import BoundStatement, PreparedStatement, SimpleStatement
from tests.conftest import Implementation
from tests.unit.metadata.placement.rings import ring_of
from tests.unit.metadata.placement.test_tablets import IDS, MAX, MIN, payload


def test_a_router_sorts_hosts_by_tier_and_leaves_out_tier_255(
    implementation: Implementation,
) -> None:
    """`route` returns the replicas of a key by tier, and how many are in the nearest tier.

    Its second argument says whether to shuffle the hosts within a tier.
    """
    ring = ring_of(implementation, [0, 1, 2, 3, 4], 5)
    replica_map = implementation.ring.simple_map(ring, "abcde", full=5, total=5)
    router = implementation.plans.Router(replica_map, [2, 1, 255, 0, 1], seed=7)
    keys = [bytes([number]) for number in range(40)]
    # The numbers are the tiers (distances) of the hosts a to e: d is in tier 0, b and e in tier 1,
    # a in tier 2, and 255 leaves c out. So one host is in the nearest tier.
    for key in keys:
        assert router.route(key, False)[0][0] == "d"
        assert router.route(key, False)[1] == 1
        hosts, nearest = router.route(key, True)
        assert hosts[0] == "d"
        assert set(hosts[1:3]) == {"b", "e"}
        assert hosts[3] == "a"
        assert nearest == 1
    # Without a host in tier 0, the lowest tier that has hosts counts as the nearest.
    only_far = implementation.plans.Router(replica_map, [255, 255, 2, 255, 2], seed=7)
    assert {only_far.route(key, True) for key in keys} == {(("c", "e"), 2), (("e", "c"), 2)}
    nobody = implementation.plans.Router(replica_map, [255] * 5, seed=7)
    assert nobody.route(b"key", True) == ((), 0)


def test_shuffling_returns_all_orders_equally_often(implementation: Implementation) -> None:
    """Shuffling is fair: no order of three hosts is more frequent than another."""
    ring = ring_of(implementation, [0, 1, 2], 3)
    router = implementation.plans.Router(
        implementation.ring.simple_map(ring, "abc", full=3, total=3), [0, 0, 0], seed=12345
    )
    order_counts = Counter(router.route(b"key", True)[0] for _ in range(6000))
    # Three hosts have 6 orders. In 6000 plans, each order must occur about 1000 times.
    assert len(order_counts) == 6
    assert all(850 < count < 1150 for count in order_counts.values())


def test_large_sets_are_shuffled_whole(implementation: Implementation) -> None:
    """All of 200 replicas are shuffled, and none is lost."""
    ring = ring_of(implementation, list(range(200)), 200)
    router = implementation.plans.Router(
        implementation.ring.whole_map(ring, range(200)), [0] * 200, 3
    )
    hosts, nearest = router.route(b"key", True)
    assert (sorted(hosts), nearest) == (list(range(200)), 200)
    assert hosts != router.route(b"key", True)[0]


def test_a_router_needs_a_tier_for_each_host(implementation: Implementation) -> None:
    """If there are more hosts than tiers, creating the router raises ValueError."""
    replica_map = implementation.ring.simple_map(
        ring_of(implementation, [0, 1], 2), "ab", full=1, total=1
    )
    with pytest.raises(ValueError, match="2 hosts have 1 tiers"):
        implementation.plans.Router(replica_map, [0], 1)


class PlainHost:
    """A fake host with the attributes that plans read."""

    host_id: Any

    def __init__(self, name: str, is_up: bool | None) -> None:
        self.name = name
        self.is_up = is_up

    def __repr__(self) -> str:
        return self.name


def test_a_plan_contains_live_replicas_and_then_the_child_s_plan(
    implementation: Implementation,
) -> None:
    """A plan has the replicas that are not down, and then the child's other hosts.

    A host whose `is_up` is None, which means unknown, counts as live.
    """
    a, b, c, d = (
        PlainHost("a", True),
        PlainHost("b", False),
        PlainHost("c", None),
        PlainHost("d", True),
    )
    calls: list[Any] = []

    def make_child_plan(keyspace: Any, query: Any) -> list[Any]:
        calls.append((keyspace, query))
        return [c, d, b, a]

    plan = iter(
        implementation.plans.replica_plan(
            (a, b, c), SimpleNamespace(make_query_plan=make_child_plan), "ks", "query"
        )
    )
    assert [next(plan), next(plan)] == [a, c]
    # The child policy is called only after all replicas were returned.
    assert calls == []
    # The rest is the child's plan, without the hosts that were returned before.
    assert list(plan) == [d, b]
    assert calls == [("ks", "query")]
    assert list(plan) == []


def test_a_plan_sees_a_host_go_down_while_it_is_used(implementation: Implementation) -> None:
    """A plan skips a replica that goes down before the plan has returned it."""
    a, b = PlainHost("a", True), PlainHost("b", True)
    plan = iter(
        implementation.plans.replica_plan(
            (a, b), SimpleNamespace(make_query_plan=lambda keyspace, query: ()), None, None
        )
    )
    assert next(plan) is a
    b.is_up = False
    assert list(plan) == []


def test_errors_of_the_child_policy_are_raised(implementation: Implementation) -> None:
    """If the child policy raises an error, iterating over the plan raises it."""

    def raise_error(keyspace: Any, query: Any) -> list[Any]:
        raise RuntimeError("a policy's own")

    with pytest.raises(RuntimeError, match="own"):
        list(
            implementation.plans.replica_plan(
                (), SimpleNamespace(make_query_plan=raise_error), None, None
            )
        )


def test_the_less_busy_of_the_first_two_hosts_comes_first(implementation: Implementation) -> None:
    """The first host is the one of two replicas that has fewer requests in flight."""
    a, b, c = (PlainHost(name, True) for name in "abc")
    replica_map = implementation.ring.simple_map(
        ring_of(implementation, [0, 1, 2], 3), (a, b, c), full=3, total=3
    )
    empty_child = SimpleNamespace(make_query_plan=lambda keyspace, query: ())
    load_by_host = {a: 9, b: 1, c: 9}

    def first_hosts(router: Any, shuffle: bool) -> set[str]:
        """Return the names of the hosts that come first in 60 plans."""
        return {
            next(
                router.plan(b"key", shuffle, empty_child, None, None, load_by_host.__getitem__)
            ).name
            for _ in range(60)
        }

    order = replica_map.of_key(b"key")
    assert len(order) == 3
    router = implementation.plans.Router(replica_map, [0, 0, 0], seed=5)
    assert first_hosts(router, False) == {min(order[:2], key=load_by_host.__getitem__).name}
    # After the first host, the plan has the other two replicas.
    plan = router.plan(b"key", False, empty_child, None, None, load_by_host.__getitem__)
    assert sorted(host.name for host in plan) == ["a", "b", "c"]
    # With shuffling, the router compares the load of a random pair of hosts. For the pair a and c,
    # one of these comes first.
    assert first_hosts(router, True) == {"a", "b", "c"}
    b.is_up = False
    assert "b" not in first_hosts(router, True)
    # The only host of the nearest tier stays first, although it is busy.
    b.is_up = True
    assert first_hosts(implementation.plans.Router(replica_map, [0, 1, 1], seed=5), True) == {"a"}


# -- planners --------------------------------------------------------------------------------------
# A planner makes the plan of a statement from the router of the statement's keyspace.

Column = namedtuple("Column", "keyspace_name table_name name type")
COLUMNS = [
    Column("ks", "t", name, kind)
    for name, kind in (("a", Int32Type), ("b", UTF8Type), ("c", Int32Type))
]


class Prepared(PreparedStatement):
    """A subclass of PreparedStatement, as an application may define it."""


class Routed(BoundStatement):
    """A subclass of BoundStatement whose routing key is computed by a property."""

    routing_key = property(lambda self: b"elsewhere")


def prepare(
    routing_key_indexes: list[int], statement_class: Any = PreparedStatement, is_lwt: bool = False
) -> Any:
    """Return a prepared INSERT of COLUMNS.

    :param routing_key_indexes: the indexes of the columns of the partition key.
    :param statement_class: the class of the statement.
    :param is_lwt: whether the statement is a lightweight transaction.
    """
    return statement_class(
        COLUMNS, b"id", routing_key_indexes, "INSERT", "ks", 4, None, None, is_lwt
    )


def bind(prepared: Any, values: Any, **settings: Any) -> BoundStatement:
    """Bind values to a statement, and set attributes of the bound statement."""
    statement: BoundStatement = prepared.bind(values)
    for name, value in settings.items():
        setattr(statement, name, value)
    return statement


EMPTY_CHILD = SimpleNamespace(make_query_plan=lambda keyspace, query: ())


class PlacedMetadata:
    """Fake metadata of six hosts, with the attributes that planners read."""

    placement_version = 1
    tablets: Any

    def __init__(self, implementation: Any, replicas: int = 3) -> None:
        # There are 60 tokens, which the six hosts own in turn.
        ring = implementation.ring.TokenRing(
            [[str((number * 6 + owner) << 57) for number in range(10)] for owner in range(6)]
        )
        self.hosts = tuple(PlainHost(name, True) for name in "abcdef")
        self.map = implementation.ring.simple_map(ring, self.hosts, full=replicas, total=replicas)

    def router(self, implementation: Any) -> Any:
        return implementation.plans.Router(self.map, [0] * 6, seed=9)


STATEMENT_MAKERS: dict[str, Any] = {
    "one column": lambda number: bind(prepare([0]), (number, "text", 1)),
    "another column": lambda number: bind(prepare([1]), (1, f"text {number}", 1)),
    "two columns": lambda number: bind(prepare([2, 1]), (number, "text", number)),
    "a key of its own": lambda number: bind(
        prepare([0]), (7, "text", 1), routing_key=b"key %d" % number
    ),
    "a key in parts": lambda number: bind(
        prepare([0]), (7, "text", 1), routing_key=[b"key", b"%d" % number]
    ),
    "a program's class": lambda number: bind(prepare([0], Prepared), (number, "text", 1)),
    "no indexes, a key": lambda number: bind(
        prepare([]), (7, "text", 1), routing_key=b"key %d" % number
    ),
    "a statement": lambda number: SimpleStatement(
        "SELECT", routing_key=b"%d" % number, keyspace="ks"
    ),
}


@pytest.mark.parametrize("kind", list(STATEMENT_MAKERS))
def test_statements_are_sent_to_the_replicas_of_their_key(
    kind: str, implementation: Implementation
) -> None:
    """The plan of each kind of statement has the replicas of the statement's routing key."""
    placed = PlacedMetadata(implementation)
    planner = implementation.plans.Planner(
        placed, {"ks": placed.router(implementation)}, EMPTY_CHILD, False
    )
    first_replicas = set()
    for number in range(40):
        statement = STATEMENT_MAKERS[kind](number)
        expected = placed.map.of_key(statement.routing_key)
        first_replicas.add(expected[0].name)
        assert tuple(planner.plan(None, statement)) == expected
        # For the second plan, the statement's routing key is cached.
        assert tuple(planner.plan("other", statement)) == expected
    # The keys have several different first replicas, so equal plans are not a coincidence.
    assert len(first_replicas) > 3


def test_an_overridden_routing_key_is_used(implementation: Implementation) -> None:
    """If a subclass of BoundStatement overrides `routing_key`, the planner uses its key."""
    placed = PlacedMetadata(implementation)
    planner = implementation.plans.Planner(
        placed, {"ks": placed.router(implementation)}, EMPTY_CHILD, False
    )
    routed = Routed(prepare([0])).bind((5, "text", 1))
    assert tuple(planner.plan(None, routed)) == placed.map.of_key(b"elsewhere")


def test_there_is_no_plan_without_a_key_a_router_or_the_same_cluster(
    implementation: Implementation,
) -> None:
    """If the planner cannot find the replicas of a statement, `plan` returns None."""
    placed = PlacedMetadata(implementation)
    planner = implementation.plans.Planner(
        placed, {"ks": placed.router(implementation)}, EMPTY_CHILD
    )
    usual = bind(prepare([0]), (5, "text", 1))
    # There is no plan if the key contains a null, if the statement has no key columns or no values,
    # or if its keyspace has no router.
    assert planner.plan(None, bind(prepare([1]), (5, None, 1))) is None
    assert planner.plan(None, bind(prepare([]), (5, "text", 1))) is None
    assert planner.plan(None, BoundStatement(prepare([0]))) is None
    assert planner.plan(None, bind(prepare([0]), (5, "text", 1), keyspace="other")) is None
    assert planner.plan(None, bind(prepare([0]), (5, "text", 1), keyspace=None)) is None
    assert planner.plan("ks", bind(prepare([0]), (5, "text", 1), keyspace=None)) is not None
    assert planner.plan("ks", bind(prepare([0]), (5, "text", 1), keyspace="")) is not None
    assert planner.plan(None, usual) is not None
    # The placement has changed, so the planner's routers are outdated, and the planner makes no
    # plan.
    placed.placement_version = 2
    assert planner.plan(None, usual) is None


def test_each_keyspace_has_its_replicas(implementation: Implementation) -> None:
    """A planner uses the router of the statement's keyspace, whose number of replicas differs."""
    first, second = PlacedMetadata(implementation, 1), PlacedMetadata(implementation, 2)
    planner = implementation.plans.Planner(
        first,
        {"ks": first.router(implementation), "two": second.router(implementation)},
        EMPTY_CHILD,
        False,
    )
    for number in range(20):
        keyspace, placed = ("ks", first) if number % 2 else ("two", second)
        statement = bind(prepare([0]), (number, "text", 1), keyspace=keyspace)
        assert tuple(planner.plan(None, statement)) == placed.map.of_key(statement.routing_key)


@pytest.mark.parametrize(
    ("is_lwt", "level"),
    [(True, None), (False, ConsistencyLevel.SERIAL), (False, ConsistencyLevel.LOCAL_SERIAL)],
)
def test_conditional_and_serial_statements_use_the_order_of_the_ring(
    is_lwt: bool, level: int | None, implementation: Implementation
) -> None:
    """Lightweight transactions and serial reads have the replicas in ring order.

    They are neither shuffled nor sorted by load, so that competing clients use the same replica.
    """
    placed = PlacedMetadata(implementation)

    def fail_if_asked(host: Any) -> int:
        raise AssertionError("nobody asks how busy hosts are")

    planner = implementation.plans.Planner(
        placed,
        {"ks": placed.router(implementation)},
        EMPTY_CHILD,
        shuffle=True,
        in_flight=fail_if_asked,
    )
    statement = bind(prepare([0], is_lwt=is_lwt), (5, "text", 1), consistency_level=level)
    simple = SimpleStatement(
        "SELECT", routing_key=b"5", keyspace="ks", consistency_level=ConsistencyLevel.SERIAL
    )
    for _ in range(20):
        assert tuple(planner.plan(None, statement)) == placed.map.of_key(statement.routing_key)
        assert tuple(planner.plan(None, simple)) == placed.map.of_key(b"5")


def test_planners_prefer_the_less_busy_of_two_hosts(implementation: Implementation) -> None:
    """With `in_flight`, a planner compares the load of two random replicas."""
    placed = PlacedMetadata(implementation)
    statement = bind(prepare([0]), (5, "text", 1))
    least_busy = placed.map.of_key(statement.routing_key)[1]
    planner = implementation.plans.Planner(
        placed,
        {"ks": placed.router(implementation)},
        EMPTY_CHILD,
        shuffle=True,
        in_flight=lambda host: 0 if host is least_busy else 1,
    )
    first_counts = Counter(next(iter(planner.plan(None, statement))).name for _ in range(900))
    # The key has three replicas, and each plan compares a random pair of them. The least busy host
    # is in two of the three pairs, and comes first in both. So it should be first in about 600 of
    # 900 plans.
    assert 500 < first_counts[least_busy.name] < 700


def plan_with_tablets(implementation: Implementation, **settings: Any) -> Any:
    """Return a planner of the keyspace ks, which has tablets, and the map of its tablets.

    The cluster has six hosts. All tokens of the table t are on the hosts c, b and a.

    :param settings: further arguments of the planner.
    """
    hosts = [PlainHost(name, True) for name in "abcdef"]
    for host, host_id in zip(hosts, IDS, strict=False):
        host.host_id = host_id
    tablets = implementation.tablets.TabletMap()
    tablets.take_hosts(hosts[: len(IDS)])
    tablets.use_keyspaces(["ks"], [])
    # Each pair is the index of a host and a shard.
    assert tablets.learn("ks", "t", payload(MIN, MAX, (2, 0), (1, 0), (0, 0)))
    placed = PlacedMetadata(implementation)
    placed.tablets = tablets
    routers_made: list[Any] = []

    def router_over(hosts: tuple[Any, ...]) -> Any:
        no_ring = implementation.ring.TokenRing([])
        replica_map = implementation.ring.ReplicaMap(no_ring, hosts, [])
        # The tier 255 excludes a host that is not known.
        tiers = [255 if host is None else 0 for host in hosts]
        routers_made.append(implementation.plans.Router(replica_map, tiers, seed=9))
        return routers_made[-1]

    child = SimpleNamespace(make_query_plan=lambda keyspace, query: hosts[3:])
    defaults = {"shuffle": False, "router_over": router_over, **settings}
    routers = {name: placed.router(implementation) for name in ("ks", "other")}
    planner = implementation.plans.Planner(placed, routers, child, **defaults)
    return planner, tablets, routers_made


def names_of(plan: Any) -> str:
    """Return the names of the hosts of a plan as one string, such as "cba"."""
    return "".join(host.name for host in plan)


def test_the_replicas_of_a_tablet_come_before_those_of_the_ring(
    implementation: Implementation,
) -> None:
    """For a table with tablets, the plan has the tablet's replicas, and then the child's hosts.

    The router for these replicas is created once, and then used again.
    """
    planner, tablets, routers_made = plan_with_tablets(implementation)
    statement = bind(prepare([0]), (5, "text", 1))
    for _ in range(2):
        assert names_of(planner.plan(None, statement)) == "cbadef"
    assert len(routers_made) == 1
    # A statement without a routing key has no plan. If the tablet is unknown, the plan is the child
    # policy's.
    assert planner.plan(None, bind(prepare([1]), (1, None, 1))) is None
    tablets.drop("ks", "t")
    assert names_of(planner.plan(None, statement)) == "def"
    # After a host was removed, the router that contains the host is no longer used.
    assert tablets.learn("ks", "t", payload(MIN, MAX, (1, 0)))
    tablets.take_hosts([host for host in tablets.hosts if host.name != "a"])
    assert names_of(planner.plan(None, statement)) == "bdef"
    assert len(routers_made) == 2


def test_other_keyspaces_than_those_with_tablets_use_the_ring(
    implementation: Implementation,
) -> None:
    """For a keyspace without tablets, or without `router_over`, the plan follows the ring."""
    planner, _, routers_made = plan_with_tablets(implementation)
    statement = bind(prepare([0]), (5, "text", 1), keyspace="other")
    on_the_ring = PlacedMetadata(implementation).map.of_key(statement.routing_key)
    assert names_of(planner.plan(None, statement))[:3] == names_of(on_the_ring)
    assert routers_made == []
    without_tablets, _, _ = plan_with_tablets(implementation, router_over=None)
    usual = bind(prepare([0]), (5, "text", 1))
    assert names_of(without_tablets.plan(None, usual))[:3] == names_of(on_the_ring)


@pytest.mark.parametrize("reason", ["is_lwt", "level", "leaders", None])
def test_the_order_of_a_tablet_is_kept_if_all_clients_need_the_same(
    implementation: Implementation, reason: str | None
) -> None:
    """A tablet's replicas keep their order if all clients need the same order.

    Otherwise replicas are shuffled, and the less busy host of the first two comes first.
    """
    # The hosts b, c and a have 0, 1 and 2 requests in flight.
    planner, tablets, _ = plan_with_tablets(
        implementation, shuffle=True, in_flight=lambda host: "bca".index(host.name)
    )
    level = ConsistencyLevel.SERIAL if reason == "level" else None
    prepared = prepare([0], is_lwt=reason == "is_lwt")
    statement = bind(prepared, (5, "text", 1), consistency_level=level)
    if reason == "leaders":
        tablets.use_keyspaces(["ks"], ["ks"])
    plans = {names_of(planner.plan(None, statement))[:3] for _ in range(100)}
    # For each pair of hosts that is compared, the less busy host comes first. So "a", the busiest
    # host, is never first.
    assert plans == ({"cba"} if reason else {"bca", "bac", "cab"})


class Policy:
    """A fake policy with the attributes that `make_query_plan` reads."""

    def __init__(self, planner: Any) -> None:
        self._planner = planner

    def _plan_slowly(self, keyspace: Any, query: Any) -> Any:
        return iter([(keyspace, query)])


def test_a_policy_without_a_usable_planner_uses_its_slow_path(
    implementation: Implementation,
) -> None:
    """`make_query_plan` calls `_plan_slowly` if the planner is missing or returns None."""
    placed = PlacedMetadata(implementation)
    planner = implementation.plans.Planner(
        placed, {"ks": placed.router(implementation)}, EMPTY_CHILD, False
    )
    make_plan = implementation.plans.make_query_plan
    statement = bind(prepare([0]), (5, "text", 1))
    assert tuple(make_plan(Policy(planner), None, statement)) == placed.map.of_key(
        statement.routing_key
    )
    assert list(make_plan(Policy(None), "ks", statement)) == [("ks", statement)]
    assert list(make_plan(Policy(planner))) == [(None, None)]
    assert list(make_plan(Policy(planner), "ks", "text")) == [("ks", "text")]
    assert list(make_plan(Policy(planner), working_keyspace="ks", query=None)) == [("ks", None)]

    # `make_query_plan` can also be a method of an application's class.
    class OwnPolicy:
        make_query_plan = make_plan

        def __init__(self) -> None:
            self._planner = planner

    assert tuple(OwnPolicy().make_query_plan("ks", statement)) == placed.map.of_key(
        statement.routing_key
    )
    assert tuple(OwnPolicy().make_query_plan(query=statement)) == placed.map.of_key(
        statement.routing_key
    )


# -- rotation --------------------------------------------------------------------------------------
# Each round-robin plan begins at the next host.


@pytest.mark.parametrize(
    "tiers",
    [
        (),
        ((),),
        ("a",),
        ("abc",),
        ("ab", "", "cde"),
        ("", "a"),
        (tuple(range(200)),),
        [["a", "b"], ["c"]],
    ],
)
def test_each_tier_is_rotated_separately(tiers: Any, implementation: Implementation) -> None:
    """`rotated` returns the hosts tier by tier, each tier beginning at its own position."""
    for start in (0, 1, 2, 3, 65, 10**6):
        # Each tier begins at position `start`, modulo the number of its hosts.
        expected = [
            host
            for hosts in tiers
            for host in (*hosts[start % (len(hosts) or 1) :], *hosts[: start % (len(hosts) or 1)])
        ]
        rotation = implementation.plans.rotated(tiers, start)
        assert iter(rotation) is rotation
        assert list(rotation) == expected
        assert next(rotation, "nothing") == "nothing"
