"""Test how keyspaces are written as CQL, and pickled."""

from __future__ import annotations

import pickle

from cassandra.metadata import IndexMetadata, KeyspaceMetadata, UserType
from tests.unit.metadata.schema.test_tables import table


def test_types_are_exported_after_the_types_that_they_use() -> None:
    """In a keyspace's export, each type comes after the types that it uses."""
    keyspace = KeyspaceMetadata("ks", False, "SimpleStrategy", {"replication_factor": "1"})
    keyspace.user_types = {
        "a": UserType("ks", "a", ["x"], ['frozen<list<frozen<"B b">>>']),
        "B b": UserType("ks", "B b", ["y"], ["map<int, frozen<c>>"]),
        "c": UserType("ks", "c", ["z"], ["int"]),
    }
    assert keyspace.export_as_string().split("\n\n") == [
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': "
        "'1'} AND durable_writes = false;",
        "CREATE TYPE ks.c (\n    z int\n);",
        'CREATE TYPE ks."B b" (\n    y map<int, frozen<c>>\n);',
        'CREATE TYPE ks.a (\n    x frozen<list<frozen<"B b">>>\n);',
    ]
    keyspace.tablets = {"enabled": True, "initial": 8}
    assert keyspace.as_cql_query().endswith(
        "AND durable_writes = false AND tablets = {'enabled': true, 'initial': 8}"
    )


def test_a_keyspace_can_be_pickled_with_its_parts() -> None:
    """An unpickled keyspace has the same parts and the same export as the original."""
    original = table()
    original.indexes["i"] = IndexMetadata("ks", "t", "i", "COMPOSITES", {"target": "id"})
    keyspace = KeyspaceMetadata("ks", True, "SimpleStrategy", {"replication_factor": "1"})
    keyspace.tables = {"t": original}
    keyspace.user_types = {"u": UserType("ks", "u", ["x"], ["int"])}
    copied = pickle.loads(pickle.dumps(keyspace))
    assert copied.export_as_string() == keyspace.export_as_string()
    # In the copy, the objects refer to each other as the original's objects do.
    assert copied.tables["t"].columns["C"].table is copied.tables["t"]
