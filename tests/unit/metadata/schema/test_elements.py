"""Schema objects by themselves: names, statements, options, damaged metadata, pickling."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

from cassandra import metadata
from cassandra.metadata import (
    Aggregate,
    ColumnMetadata,
    Function,
    IndexMetadata,
    KeyspaceMetadata,
    MaterializedViewMetadata,
    TableMetadata,
    TriggerMetadata,
    UserType,
    is_valid_name,
    maybe_escape_name,
    protect_name,
    protect_names,
    protect_value,
)
from cassandra.metadata.schema.options import read_scylla_map, scylla_options, table_options
from cassandra.metadata.schema.snapshot import KeyspaceSource, RowNames


def table(**settings: Any) -> TableMetadata:
    made = TableMetadata("ks", "t", options={"comment": "it's"}, **settings)
    for name, kind in (("id", "int"), ("C", "text"), ("select", "frozen<list<int>>")):
        made.columns[name] = ColumnMetadata(made, name, kind)
    made.partition_key = [made.columns["id"]]
    made.clustering_key = [made.columns["C"]]
    made.columns["C"].is_reversed = True
    return made


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("a", "a"), ("a_1", "a_1"), ("A", '"A"'), ("1a", '"1a"'), ("select", '"select"'),
        ("text", "text"), ("", '""'),
        ('a"b', '"a""b"'), ("a b", '"a b"'), ("a\n", '"a\n"'), ("é", '"é"'), ("vector", "vector"),
        ("default", '"default"'),
        ("cast", '"cast"'), ("scylla_clustering_bound", '"scylla_clustering_bound"'),
    ],
)  # fmt: skip
def test_names_are_quoted_where_they_have_to_be(name: str, quoted: str) -> None:
    assert maybe_escape_name(name) == protect_name(name) == quoted
    assert is_valid_name(name) == (quoted == name)
    assert protect_names([name, "x"]) == [quoted, "x"]


def test_the_words_of_the_language() -> None:
    assert (
        metadata.cql_keywords == metadata.cql_keywords_reserved | metadata.cql_keywords_unreserved
    )
    assert not metadata.cql_keywords_reserved & metadata.cql_keywords_unreserved


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (None, "NULL"),
        (True, "true"),
        (1, "1"),
        (0.5, "0.5"),
        ("it's", "'it''s'"),
        (b"\x01", "0x01"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_values_as_literals(value: Any, literal: str) -> None:
    assert protect_value(value) == literal


def test_a_table_as_cql() -> None:
    made = table()
    assert made.as_cql_query() == (
        'CREATE TABLE ks.t (id int, "C" text, "select" frozen<list<int>>, PRIMARY KEY (id, "C")) '
        "WITH CLUSTERING ORDER BY (\"C\" DESC) AND comment = 'it''s'"
    )
    assert made.as_cql_query(formatted=True).replace("\n    ", " ").replace("\n", " ").replace(
        "( ", "("
    ).replace(" )", ")") == (made.as_cql_query())
    assert made.primary_key == [made.columns["id"], made.columns["C"]]
    made.partition_key.append(made.columns["select"])
    assert 'PRIMARY KEY ((id, "select"), "C")' in made.as_cql_query()
    made.clustering_key.clear()
    made.partition_key.pop()
    assert "id int PRIMARY KEY" in made.as_cql_query()


def test_what_belongs_to_a_table_follows_it() -> None:
    made = table()
    made.indexes["i"] = IndexMetadata("ks", "t", "i", "COMPOSITES", {"target": '"C"'})
    made.indexes["J"] = IndexMetadata(
        "ks", "t", "J", "CUSTOM", {"target": "id", "class_name": "sai", "b": "2", "a": "1"}
    )
    made.triggers["tr"] = TriggerMetadata(made, "tr", {"class": "org.T"})
    view = MaterializedViewMetadata(
        "ks", "V", "t", True, "id IS NOT NULL", {"default_time_to_live": 0, "comment": ""}
    )
    view.partition_key = [made.columns["id"]]
    made.views = {"V": view}
    statements = made.export_as_string().split("\n\n")
    assert statements[1:4] == [
        'CREATE INDEX i ON ks.t ("C");',
        "CREATE CUSTOM INDEX \"J\" ON ks.t (id) USING 'sai' WITH OPTIONS = {'a': '1', 'b': '2'};",
        "CREATE TRIGGER tr ON ks.t USING 'org.T';",
    ]
    assert view.as_cql_query() == (
        'CREATE MATERIALIZED VIEW ks."V" AS SELECT * FROM ks.t WHERE id IS NOT NULL PRIMARY KEY '
        "(id) WITH comment = ''"
    )
    assert statements[4] == view.export_as_string()


def test_functions_and_aggregates() -> None:
    function = Function(
        "ks",
        "f",
        ["int", "frozen<tuple<int, frozen<u>>>"],
        ["a", "B"],
        "int",
        "java",
        "return 1;",
        True,
    )
    assert function.signature == "f(int,frozen<tuple<int, frozen<u>>>)"
    assert function.as_cql_query() == (
        'CREATE FUNCTION ks.f(a int, "B" tuple<int, frozen<u>>) CALLED ON NULL INPUT '
        "RETURNS int LANGUAGE java AS $$return 1;$$"
    )
    function.body = "'$$'"
    assert function.as_cql_query().endswith("AS '''$$'''")
    aggregate = Aggregate("ks", "A", ["int"], "f", "int", "G", "0", "int")
    assert (
        aggregate.as_cql_query()
        == 'CREATE AGGREGATE ks."A"(int) SFUNC f STYPE int FINALFUNC "G" INITCOND 0'
    )


def test_types_and_functions_with_the_name_of_a_word() -> None:
    """Words that are names without quotes elsewhere, but not here: real nodes refuse ``CREATE TYPE
    ks.json``.
    """
    function = Function("ks", "key", ["int"], ["key"], "int", "java", "return 1;", True)
    assert function.as_cql_query().startswith('CREATE FUNCTION ks."key"(key int) ')
    aggregate = Aggregate("ks", "ttl", ["int"], "key", "int", "json", None, "int")
    assert (
        aggregate.as_cql_query()
        == 'CREATE AGGREGATE ks."ttl"(int) SFUNC "key" STYPE int FINALFUNC "json"'
    )
    assert (
        UserType("ks", "json", ["json"], ["int"]).as_cql_query()
        == 'CREATE TYPE ks."json" (json int)'
    )


def test_types_come_behind_those_that_they_use() -> None:
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


def test_damaged_metadata_are_exported_as_a_comment() -> None:
    made = table()
    made.fail(ValueError("a column */ is missing"))
    text = made.export_as_string()
    assert text.startswith("/*\nWarning: Table ks.t is incomplete")
    assert text.endswith("\n*/")
    assert text.count("*/") == 1
    assert "ValueError: a column" in text
    assert made._exc_info is not None


def test_everything_can_be_pickled() -> None:
    made = table()
    made.indexes["i"] = IndexMetadata("ks", "t", "i", "COMPOSITES", {"target": "id"})
    keyspace = KeyspaceMetadata("ks", True, "SimpleStrategy", {"replication_factor": "1"})
    keyspace.tables = {"t": made}
    keyspace.user_types = {"u": UserType("ks", "u", ["x"], ["int"])}
    copied = pickle.loads(pickle.dumps(keyspace))
    assert copied.export_as_string() == keyspace.export_as_string()
    assert copied.tables["t"].columns["C"].table is copied.tables["t"]


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
    assert dict(one) == {"compaction": {"class": "y"}, "additional_write_policy": "99p", "new": 1}
    assert dict(other) == {
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


def test_an_object_is_made_once_also_where_threads_ask_for_it_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = KeyspaceSource("ks", {})
    found: list[Any] = []
    other = threading.Thread(target=lambda: found.append(source.object()))

    def build(function: str, of: Any) -> Any:
        if not other.ident:
            other.start()
            other.join(0.05)  # it has to wait for this one
        return object()

    monkeypatch.setattr("cassandra.metadata.schema.snapshot._build", build)
    found.append(source.object())
    other.join()
    assert found[0] is found[1] is source.object()
