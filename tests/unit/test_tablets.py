"""Tests of the public classes for tablets, with which applications read the ranges of a table."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra.metadata import Murmur3Token
from cassandra.tablets import (
    Tablet,
    Tablets,
    choose_tablet_version_block,
    random_tablet_version_block,
)

FIRST, SECOND = uuid.UUID(int=1), uuid.UUID(int=2)


def tablet(first: int, last: int, host: uuid.UUID = FIRST) -> Tablet:
    """Return a tablet for the tokens after `first`, up to `last`.

    :param host: the ID of the host of its first replica.
    """
    return Tablet(first, last, [(host, 0), (SECOND, 1)])


def ranges(tablets: Tablets, table: str = "t") -> list[tuple[int, int]]:
    """Return the ranges of all tablets of a table."""
    return [
        (tablet.first_token, tablet.last_token)
        for tablet in tablets._tablets.get(("ks", table), [])
    ]


def range_of(tablets: Tablets, token: int) -> Any:
    """Return the range of the tablet that has a token, or None if there is none."""
    tablet = tablets.get_tablet_for_key("ks", "t", Murmur3Token(token))
    return None if tablet is None else (tablet.first_token, tablet.last_token)


def test_a_tablet() -> None:
    """A tablet must have its leader and replicas; a row without replicas must be no tablet."""
    tablet_without_version = tablet(0, 10)
    assert tablet_without_version.leader == FIRST
    assert tablet_without_version.replica_contains_host_id(SECOND)
    assert not tablet_without_version.replica_contains_host_id(uuid.UUID(int=3))
    assert Tablet.from_row(0, 10, []) is None
    from_row = Tablet.from_row(0, 10, [(FIRST, 0)], 7)
    assert from_row is not None
    assert from_row.tablet_version == 7
    assert Tablet().leader is None
    assert str(Tablet(0, 1, [])) == "<Tablet: first_token=0 last_token=1 replicas=[]>"


def test_ranges_end_with_their_last_token() -> None:
    tablets = Tablets({("ks", "t"): [tablet(0, 10), tablet(20, 30)]})
    tokens = (0, 1, 10, 11, 20, 21, 30, 31)
    # The first token of the range of a tablet must not belong to it.
    assert [range_of(tablets, token) for token in tokens] == [
        None, (0, 10), (0, 10), None, None, (20, 30), (20, 30), None,
    ]  # fmt: skip
    assert tablets.table_has_tablets("ks", "t")
    assert not tablets.table_has_tablets("ks", "other")


@pytest.mark.parametrize(
    ("new", "left"),
    [
        ((30, 40), [(0, 10), (10, 20), (20, 30), (30, 40)]),
        ((-10, 0), [(-10, 0), (0, 10), (10, 20), (20, 30)]),
        ((10, 20), [(0, 10), (10, 20), (20, 30)]),
        ((5, 15), [(5, 15), (20, 30)]),
        ((-5, 35), [(-5, 35)]),
    ],
)
def test_a_new_tablet_replaces_all_tablets_that_it_overlaps(new: Any, left: Any) -> None:
    tablets = Tablets({("ks", "t"): [tablet(0, 10), tablet(10, 20), tablet(20, 30)]})
    tablets.add_tablet("ks", "t", tablet(*new))
    assert ranges(tablets) == left


def test_tablets_are_dropped_by_host_table_and_keyspace() -> None:
    tablets = Tablets({("ks", "t"): [tablet(0, 10), Tablet(10, 20, [(SECOND, 0)])]})
    tablets.add_tablet("ks", "other", tablet(0, 10))
    # This call must have no effect.
    tablets.drop_tablets_by_host_id(None)
    tablets.drop_tablets_by_host_id(FIRST)
    assert ranges(tablets) == [(10, 20)]
    assert ranges(tablets, "other") == []
    tablets.drop_tablets("ks", "t")
    assert not tablets.table_has_tablets("ks", "t")
    tablets.add_tablet("ks", "t", tablet(0, 10))
    # The tablets of other keyspaces must stay.
    tablets.drop_tablets("elsewhere")
    assert ranges(tablets) == [(0, 10)]
    tablets.drop_tablets("ks")
    assert ranges(tablets) == []


def test_the_tablet_version_block_of_an_execute_request() -> None:
    version = 0x123456789ABCDEF0
    # The block that is sent is chosen at random.
    for _ in range(50):
        assert 0 <= random_tablet_version_block() <= 255
        # The upper four bits of the byte are the index of a block of four bits, and the lower four
        # bits are that block of the version.
        block = choose_tablet_version_block(version)
        assert block & 15 == version >> (block >> 4) * 4 & 15
