"""Test the options of tables, including the options of ScyllaDB."""

from __future__ import annotations

import pickle

import pytest

from cassandra.metadata.schema.options import read_scylla_map, scylla_options, table_options
from cassandra.metadata.schema.snapshot import RowNames


def test_changing_a_table_s_options_does_not_affect_others() -> None:
    """If an application changes a table's options, the options of other tables stay unchanged."""
    shared_compaction = {"class": "x"}
    names = (
        "table_name",
        "comment",
        "compaction",
        "cdc",
        "read_repair_chance",
        "additional_write_policy",
    )
    row = ("t", "", shared_compaction, None, 0.0, "99p")
    first = table_options(RowNames(names), row)
    second = table_options(RowNames(names), row)
    assert type(first) is dict
    first["compaction"]["class"] = "y"
    first["new"] = 1
    del first["comment"]
    # In the row, `cdc` is None, but applications must still be able to read it.
    assert first.pop("cdc") is None
    # A server that has the column `additional_write_policy` is Cassandra 4.0 or later, where
    # `read_repair_chance` does not exist.
    assert dict(first) == {"compaction": {"class": "y"}, "additional_write_policy": "99p", "new": 1}
    assert dict(second) == {
        "cdc": None,
        "comment": "",
        "compaction": {"class": "x"},
        "additional_write_policy": "99p",
    }
    assert len(first) == 3
    assert "cdc" not in first
    assert first.get("comment", "gone") == "gone"
    with pytest.raises(KeyError):
        del first["comment"]
    assert pickle.loads(pickle.dumps(first)) == dict(first)


def serialized(items: dict[str, str]) -> bytes:
    """Return a map of strings, encoded as ScyllaDB encodes its extensions of tables."""
    encoded = len(items).to_bytes(4, "little")
    for item in items.items():
        for string in item:
            encoded += len(string.encode()).to_bytes(4, "little") + string.encode()
    return encoded


def test_extensions_of_scylladb_are_decoded() -> None:
    """ScyllaDB's extensions of tables are decoded, and damaged extensions are ignored."""
    tombstone_gc = {"mode": "timeout", "propagation_delay_in_seconds": "3600"}
    extensions = {"tombstone_gc": serialized(tombstone_gc), "other": b"\x01"}
    options = scylla_options(extensions, {"cdc": {"enabled": "true"}, "in_memory": None})
    assert options == {"tombstone_gc": tombstone_gc, "cdc": {"enabled": "true"}}
    for damaged in (
        b"",
        b"\x01",
        serialized(tombstone_gc)[:-1],
        serialized(tombstone_gc) + b"x",
        b"\xff\xff\xff\x7f",
        b"\x01\0\0\0\x01\0\0\0\xff\0\0\0\0",
    ):
        assert not read_scylla_map(damaged)
