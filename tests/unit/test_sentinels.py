"""Tests of sentinels, which stay single objects when they are copied or pickled."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from cassandra.sentinels import EMPTY, UNSET_VALUE


@pytest.mark.parametrize("sentinel", [UNSET_VALUE, EMPTY])
def test_copies_of_sentinels_are_the_same_object(sentinel: Any) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(sentinel, protocol)) is sentinel
    assert repr(sentinel) in ("UNSET_VALUE", "EMPTY")
