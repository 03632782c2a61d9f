"""Options of tables, ScyllaDB's included."""

from __future__ import annotations

import pickle

import pytest

from cassandra.metadata.schema.options import read_scylla_map, scylla_options, table_options
from cassandra.metadata.schema.snapshot import RowNames


def test_options_are_the_tables_own() -> None:
    shared = {"class": "x"}
    names = (
        "table_name",
        "comment",
        "compaction",
        "cdc",
        "read_repair_chance",
        "additional_write_policy",
    )
    row = ("t", "", shared, None, 0.0, "99p")
    one, other = table_options(RowNames(names), row), table_options(RowNames(names), row)
    assert type(one) is dict
    one["compaction"]["class"] = "y"
    one["new"] = 1
    del one["comment"]
    assert one.pop("cdc") is None  # programs look it up
    assert dict(one) == {"compaction": {"class": "y"}, "additional_write_policy": "99p", "new": 1}
    assert dict(other) == {
        "cdc": None,
        "comment": "",
        "compaction": {"class": "x"},
        "additional_write_policy": "99p",
    }
    assert (len(one), "cdc" in one, one.get("comment", "gone")) == (3, False, "gone")
    with pytest.raises(KeyError):
        del one["comment"]
    assert pickle.loads(pickle.dumps(one)) == dict(one)


def serialized(items: dict[str, str]) -> bytes:
    """A map of texts as ScyllaDB keeps it in an extension."""
    parts = [len(items).to_bytes(4, "little")]
    texts = (part.encode() for item in items.items() for part in item)
    parts.extend(len(text).to_bytes(4, "little") + text for text in texts)
    return b"".join(parts)


def test_options_of_scylladb() -> None:
    gc = {"mode": "timeout", "propagation_delay_in_seconds": "3600"}
    extensions = {"tombstone_gc": serialized(gc), "other": b"\x01"}
    found = scylla_options(extensions, {"cdc": {"enabled": "true"}, "in_memory": None})
    assert found == {"tombstone_gc": gc, "cdc": {"enabled": "true"}}
    for broken in (
        b"",
        b"\x01",
        serialized(gc)[:-1],
        serialized(gc) + b"x",
        b"\xff\xff\xff\x7f",
        b"\x01\0\0\0\x01\0\0\0\xff\0\0\0\0",
    ):
        assert not read_scylla_map(broken)
