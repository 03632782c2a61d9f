"""The setting `shard_aware_options`, and `Cluster.shard_aware_stats`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.client.settings.shard_options import ShardAwareOptions
from cassandra.client.shard_awareness import ShardAwareness
from cassandra.engine.pools.shards import ShardPool
from tests.unit.engine.partners import new_host


def values_of(options: ShardAwareOptions) -> tuple[Any, ...]:
    """Return the values of the three options."""
    return options.disable, options.disable_shardaware_port, options.local_ports


def test_options_may_be_keywords_a_mapping_or_a_copy() -> None:
    """`ShardAwareOptions` can be made from keyword arguments, a mapping, or other options."""
    assert values_of(ShardAwareOptions()) == (None, False, (49152, 65535))
    options = ShardAwareOptions(
        disable=True, disable_shardaware_port=True, local_ports=(1000, 2000)
    )
    assert values_of(options) == (True, True, (1000, 2000))
    assert values_of(ShardAwareOptions(options)) == values_of(options)
    from_mapping = ShardAwareOptions({"disable": True, "local_ports": [5, 6]})
    assert values_of(from_mapping) == (True, False, (5, 6))
    assert repr(options) == "ShardAwareOptions(disable=True, disable_shardaware_port=True)"


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="no setting ports"):
        ShardAwareOptions({"ports": 5})
    with pytest.raises(ValueError, match="from 1 to 65535 and in order, but are 2000 and 1000"):
        ShardAwareOptions(local_ports=(2000, 1000))


def fake_pool(host: Any, shard_count: int, connected: int) -> Any:
    """Return a pool of a host with shards.

    :param host: the host.
    :param shard_count: the number of shards.
    :param connected: how many of the shards have a connection.
    """

    class Pool(ShardPool):
        connected_shards = connected

    new_pool = Pool.__new__(Pool)
    new_pool.host = host
    new_pool.shards = SimpleNamespace(count=shard_count)  # type: ignore[assignment]
    return new_pool


def fake_session(*pools: Any) -> Any:
    """Return a fake session that has these pools."""
    return SimpleNamespace(all_pools=lambda: pools)


def test_the_stats_show_the_session_with_the_fewest_connections() -> None:
    """`shard_aware_stats` has an entry for each host with shards.

    If several sessions have pools to a host, `connected` is the number of shards with a connection
    in the session that has the fewest.
    """
    cluster = ShardAwareness()
    assert (cluster.is_shard_aware(), cluster.shard_aware_stats()) == (False, {})
    first, second = new_host("10.0.0.1"), new_host("10.0.0.2")
    # The second host has no shards, because its pool is of another class.
    sessions = [
        fake_session(fake_pool(first, 8, 8), SimpleNamespace(host=second)),
        fake_session(fake_pool(first, 8, 5)),
        fake_session(fake_pool(first, 8, 7)),
    ]
    cluster._core = SimpleNamespace(sessions=sessions)  # type: ignore[assignment]
    assert cluster.shard_aware_stats() == {"10.0.0.1:9042": {"shards_count": 8, "connected": 5}}
    assert cluster.is_shard_aware()
