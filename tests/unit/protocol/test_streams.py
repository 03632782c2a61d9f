"""Test `StreamIds`, which assigns the lowest free stream id, and no id twice at a time."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cassandra.protocol.streams import MAX_STREAMS, StreamIds


def test_the_lowest_free_id_is_taken_first() -> None:
    """`take` returns the lowest id that is free."""
    ids = StreamIds()
    assert [ids.take() for _ in range(4)] == [0, 1, 2, 3]
    ids.give_back(2)
    ids.give_back(0)
    assert [ids.take() for _ in range(3)] == [0, 2, 4]


def test_all_32768_ids_can_be_taken() -> None:
    """All 32,768 ids can be in use at a time; then `take` returns -1."""
    ids = StreamIds()
    assert {ids.take() for _ in range(MAX_STREAMS)} == set(range(32768))
    assert ids.take() == -1
    ids.give_back(77)
    assert ids.take() == 77


@given(st.lists(st.one_of(st.none(), st.integers(0, 50)), max_size=200))
def test_no_id_is_taken_twice(returned_indexes: list[int | None]) -> None:
    """`take` returns the lowest free id, or a negative number if all ids are in use.

    :param returned_indexes: for each step, None to take an id, or the index of the id to give back,
        among the taken ids.
    """
    ids = StreamIds(16)
    taken_ids: list[int] = []
    for returned_index in returned_indexes:
        if returned_index is None:
            stream = ids.take()
            # All 16 ids must be in use if `take` has returned none.
            if stream < 0:
                assert len(taken_ids) == 16
                continue
            free_ids = set(range(16)) - set(taken_ids)
            assert stream == min(free_ids)
            taken_ids.append(stream)
        elif taken_ids:
            ids.give_back(taken_ids.pop(returned_index % len(taken_ids)))


@pytest.mark.parametrize("limit", [0, -1, 32769])
def test_the_limit_is_checked(limit: int) -> None:
    """`StreamIds` refuses a limit outside of 1 to 32768."""
    with pytest.raises(ValueError, match="1 to 32768"):
        StreamIds(limit)
