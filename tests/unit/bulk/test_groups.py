"""Test `Keys`, the positions of a row's primary key values, and the limits of batches."""

from __future__ import annotations

from cassandra.bulk.groups import MOST_BYTES, MOST_PARTITIONS, Keys


def test_positions_are_those_of_the_partition_key_and_then_of_the_clustering_columns() -> None:
    """`Keys.positions` has the positions of the partition key, then of the clustering columns."""
    assert Keys(partition=[2, 0], clustering=[1]).positions == (2, 0, 1)
    assert Keys(partition=[], clustering=[]).positions == ()


def test_batches_stay_below_the_servers_warning_thresholds() -> None:
    """The limits for batches are below the thresholds at which servers log a warning."""
    # In cassandra.yaml, the thresholds are batch_size_warn_threshold (5 KiB) and
    # unlogged_batch_across_partitions_warn_threshold (10).
    assert MOST_BYTES < 5 << 10
    assert MOST_PARTITIONS <= 10
