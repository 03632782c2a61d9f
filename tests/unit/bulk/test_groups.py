"""The positions of the primary key among the values of a row."""

from __future__ import annotations

from cassandra.bulk.groups import MOST_BYTES, MOST_PARTITIONS, Keys


def test_keys_are_known_if_all_their_positions_are() -> None:
    """A table may lack clustering columns (an empty list), but has a partition key.

    None means that the positions of the clustering columns are unknown.
    """
    assert Keys(partition=[0], clustering=[1]).are_known
    assert Keys(partition=[0], clustering=[]).are_known
    assert not Keys(partition=[0], clustering=None).are_known
    assert not Keys(partition=[], clustering=[1]).are_known


def test_batches_stay_below_the_servers_warning_thresholds() -> None:
    # In cassandra.yaml, these are batch_size_warn_threshold (5 KiB) and
    # unlogged_batch_across_partitions_warn_threshold (10).
    assert MOST_BYTES < 5 << 10
    assert MOST_PARTITIONS <= 10
