"""Test that schema objects which an application keeps show later changes.

Their mappings are live (they show the current schema), but are still dicts.
"""

from __future__ import annotations

import copy
import json
import pickle
import re
import threading
from typing import Any

import pytest

from cassandra.cluster import Cluster
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.schema.snapshot import KeyspaceSource, LazyMapping, NamedColumns, Schema
from cassandra.testing.fake import FakeNode, schema_change
from tests.unit.engine.faults import connected
from tests.unit.metadata.schema.rows import add_table, column, keyspace, remove_table, schema
from tests.waiting import WAIT

VIEW = {
    "keyspace_name": "a", "view_name": "v", "base_table_name": "t0",
    "include_all_columns": True, "where_clause": "id IS NOT NULL", "comment": "a view",
}  # fmt: skip
TYPE = {"keyspace_name": "a", "type_name": "u", "field_names": ["x"], "field_types": ["int"]}
FUNCTION = {
    "keyspace_name": "a", "function_name": "f", "argument_types": ["int"],
    "argument_names": ["x"], "body": "return x;", "called_on_null_input": True,
    "language": "java", "return_type": "int",
}  # fmt: skip
AGGREGATE = {
    "keyspace_name": "a", "aggregate_name": "g", "argument_types": ["int"], "state_func": "f",
    "state_type": "int", "return_type": "int",
}  # fmt: skip


def create(node: FakeNode, kind: str, name: str, arguments: list[str] | None = None) -> None:
    """Let the node respond to the next CREATE that `name` was created."""
    node.prime(re.compile("CREATE"), schema_change("CREATED", kind, "a", name, arguments))


def check_live_mappings(node: FakeNode, metadata: Metadata, execute: Any) -> None:
    """Check that mappings of the keyspace `a` that are kept contain objects that are created later.

    One object of each kind is created on the node.

    :param execute: executes a query on a session of the cluster.
    """
    keyspaces = metadata.keyspaces
    kept_keyspace = keyspaces["a"]
    parts = {
        name: getattr(kept_keyspace, name)
        for name in ("tables", "views", "user_types", "functions", "aggregates", "indexes")
    }
    base_table = kept_keyspace.tables["t0"]
    for part in (
        keyspaces,
        *parts.values(),
        base_table.views,
        base_table.columns,
        base_table.options,
    ):
        assert isinstance(part, dict)
    assert "new" not in parts["tables"]
    # For each kind, add an object to the node's schema, and execute the statement whose response
    # announces the object.
    add_table(node.schema, "a", "new")
    create(node, "TABLE", "new")
    execute("CREATE TABLE")
    node.schema["system_schema.types"] = [TYPE]
    create(node, "TYPE", "u")
    execute("CREATE TYPE")
    node.schema["system_schema.functions"] = [FUNCTION]
    create(node, "FUNCTION", "f", ["int"])
    execute("CREATE FUNCTION")
    node.schema["system_schema.aggregates"] = [AGGREGATE]
    create(node, "AGGREGATE", "g", ["int"])
    execute("CREATE AGGREGATE")
    node.schema["system_schema.views"] = [VIEW]
    node.schema["system_schema.columns"].append(column("a", "v", "id", "partition_key", 0))
    create(node, "TABLE", "v")
    execute("CREATE MATERIALIZED VIEW")
    # The mappings must still be the same objects, and have the new content.
    assert metadata.keyspaces is keyspaces
    assert keyspaces["a"] is kept_keyspace
    assert list(parts["tables"]) == ["new", "t0", "t1"]
    assert list(parts["views"]) == ["v"]
    assert list(base_table.views) == ["v"]
    assert base_table.views["v"] is parts["views"]["v"]
    assert parts["tables"]["t0"] is base_table
    assert list(parts["user_types"]) == ["u"]
    assert list(parts["functions"]) == ["f(int)"]
    assert list(parts["aggregates"]) == ["g(int)"]
    for name, part in parts.items():
        assert getattr(kept_keyspace, name) is part
    assert "CREATE TABLE a.new" in kept_keyspace.export_as_string()


def test_objects_of_the_blocking_api_are_live() -> None:
    """In the blocking API, kept schema objects contain what is created later."""
    with FakeNode() as node:
        node.schema = schema("a")
        with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
            check_live_mappings(node, cluster.metadata, session.execute)


async def test_objects_of_the_asyncio_api_are_live() -> None:
    """In the asyncio API, kept schema objects show later changes and removals."""
    with FakeNode() as node:
        node.schema = schema("a", "b")
        async with connected(node, schema_event_refresh_window=0) as (cluster, _):
            keyspaces = cluster.metadata.keyspaces
            kept_keyspace, removed_keyspace = keyspaces["a"], keyspaces["b"]
            tables = kept_keyspace.tables
            remove_table(node.schema, "a", "t1")
            await cluster.refresh_table_metadata("a", "t1")
            assert list(tables) == ["t0"]
            node.schema["system_schema.keyspaces"] = [keyspace("a", 3), keyspace("c")]
            await cluster.refresh_schema_metadata()
            assert list(keyspaces) == ["a", "c"]
            # An altered keyspace is a new object, so that applications can compare it with the old
            # object.
            assert keyspaces["a"].replication_strategy.replication_factor == 3
            assert kept_keyspace.replication_strategy.replication_factor == 1
            assert keyspaces["a"].tables is tables
            # The keyspace that was removed must keep its last state.
            assert list(removed_keyspace.tables) == ["t0", "t1"]


def source(**row: Any) -> KeyspaceSource:
    """Return the source of the keyspace ks.

    :param row: further cells of the keyspace's row in system_schema.keyspaces, which replace the
        usual cells.
    """
    replication = {"class": "SimpleStrategy", "replication_factor": "1"}
    return KeyspaceSource("ks", {"replication": replication, "durable_writes": True, **row})


def test_an_earlier_source_returns_the_live_object() -> None:
    """The source of an earlier schema returns the live object of the keyspace."""
    metadata, first, second, third = Metadata(), source(), source(durable_writes=False), source()
    metadata._replace_schema(Schema({"ks": first}))
    metadata._replace_schema(Schema({"ks": second}))
    # A thread may have found `first` before the schema was replaced, and may ask for its object
    # only afterwards.
    kept_keyspace = first.object()
    assert kept_keyspace is metadata.keyspaces["ks"]
    assert not kept_keyspace.durable_writes
    metadata._replace_schema(Schema({"ks": third}))
    altered = metadata.keyspaces["ks"]
    assert not kept_keyspace.durable_writes
    assert altered.durable_writes
    assert third.object() is altered
    assert altered.tables is kept_keyspace.tables
    # An attribute that the application has set on the object must be kept.
    vars(altered)["note"] = "a note of the application"
    metadata._replace_schema(Schema({"ks": source()}))
    assert vars(metadata.keyspaces["ks"])["note"] == "a note of the application"


def test_a_failed_renewal_of_a_keyspace_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """If the metadata of a keyspace cannot be built after a change, the error is logged.

    When the next valid schema arrives, the metadata is built again.
    """
    metadata = Metadata()
    metadata._replace_schema(Schema({"ks": source()}))
    kept_keyspace = metadata.keyspaces["ks"]
    broken_source = source()
    broken_source.tables = None  # type: ignore[assignment]
    metadata._replace_schema(Schema({"ks": broken_source}))
    assert "cannot be renewed" in caplog.text
    metadata._replace_schema(Schema({"ks": source()}))
    assert metadata.keyspaces["ks"].name == kept_keyspace.name


def number_mapping(**names: int) -> LazyMapping[int]:
    """Return a live mapping of names to ten times their numbers, computed at the first use."""
    return LazyMapping(names, lambda number: number * 10)


def test_a_live_mapping_reads_like_a_dict() -> None:
    """A live mapping can be read, compared, copied and pickled like a dict."""
    mapping = number_mapping(a=1, b=2)
    plain = {"a": 10, "b": 20}
    assert isinstance(mapping, dict)
    assert mapping == plain
    assert plain == mapping
    assert mapping == number_mapping(a=1, b=2)
    assert (mapping != plain) is False
    assert mapping != {"a": 10}
    assert dict(mapping) == plain
    assert {**mapping} == plain
    assert mapping.copy() == plain
    # The operator `|` combines the mapping with another dict.
    assert mapping | {"c": 1} == {**plain, "c": 1}
    assert {"c": 1} | mapping == {"c": 1, **plain}
    assert list(mapping) == ["a", "b"]
    assert list(reversed(mapping)) == ["b", "a"]
    assert len(mapping) == 2
    assert "a" in mapping
    assert list(mapping.keys()) == ["a", "b"]
    assert list(mapping.values()) == [10, 20]
    assert list(mapping.items()) == [("a", 10), ("b", 20)]
    assert mapping["a"] == 10
    assert mapping.get("b") == 20
    assert mapping.get("c") is None
    assert mapping.get("c", 5) == 5
    assert not number_mapping()
    assert mapping.keys() & {"a", "z"} == {"a"}
    # Copies are plain dicts.
    for copied in (pickle.loads(pickle.dumps(mapping)), copy.copy(mapping), copy.deepcopy(mapping)):
        assert type(copied) is dict
        assert copied == plain
    with pytest.raises(KeyError):
        mapping["c"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(mapping)


def test_code_in_c_reads_a_live_mapping() -> None:
    """Functions in C that ask a dict for its size, and not its methods, find the content."""
    mapping = number_mapping(a=1, b=2)
    assert json.dumps(mapping) == '{"a": 10, "b": 20}'
    assert json.dumps({"in": [mapping]}, sort_keys=True) == '{"in": [{"a": 10, "b": 20}]}'
    assert json.loads(json.dumps(mapping, indent=1)) == {"a": 10, "b": 20}
    assert dict.copy(mapping) == {"a": 10, "b": 20}
    assert "{a} %(b)s".format_map(mapping) % mapping == "10 20"
    match mapping:
        case {"a": value}:
            assert value == 10
        case _:
            pytest.fail("a pattern of a dict does not match")
    # The value of a name that stays may change, and a name may vanish.
    mapping.show({"b": 3, "c": 4})
    assert json.dumps(mapping) == '{"b": 30, "c": 40}'
    assert dict.copy(mapping) == {"b": 30, "c": 40}
    mapping.show({})
    assert json.dumps(mapping) == "{}"
    assert dict.copy(mapping) == {}
    mapping.show({"d": 5})
    assert json.dumps(mapping) == '{"d": 50}'
    with pytest.raises(TypeError, match="not JSON serializable"):
        json.dumps(LazyMapping({"a": 1}, lambda source: object()))


@pytest.mark.parametrize(
    "change",
    [
        lambda mapping: mapping.__setitem__("c", 1),
        lambda mapping: mapping.__delitem__("a"),
        lambda mapping: mapping.update(c=1),
        lambda mapping: mapping.pop("a"),
        lambda mapping: mapping.popitem(),
        lambda mapping: mapping.setdefault("c", 1),
        lambda mapping: mapping.clear(),
        lambda mapping: mapping.__ior__({"c": 1}),
    ],
)
def test_a_live_mapping_cannot_be_changed(change: Any) -> None:
    """Every method that would change a live mapping raises TypeError."""
    mapping = number_mapping(a=1)
    with pytest.raises(TypeError, match="read-only"):
        change(mapping)
    assert mapping == {"a": 10}


def test_iteration_is_over_one_snapshot() -> None:
    """An iteration that began before a change of a live mapping goes on with the old content."""
    mapping = number_mapping(a=1, b=2)
    names, items, values = iter(mapping), iter(mapping.items()), iter(mapping.values())
    assert next(names) == "a"
    assert next(items) == ("a", 10)
    assert next(values) == 10
    # Replace the content of the mapping.
    mapping.show({"c": 3})
    assert list(names) == ["b"]
    assert list(items) == [("b", 20)]
    assert list(values) == [20]
    assert mapping == {"c": 30}


def test_threads_read_one_object_while_the_schema_changes() -> None:
    """While the schema changes, all threads read the same keyspace object."""
    metadata = Metadata()
    metadata._replace_schema(Schema({"ks": source()}))
    seen_ids: set[int] = set()
    failures: list[BaseException] = []
    is_finished = threading.Event()

    def read_until_finished() -> None:
        """Read the keyspace again and again, until the other thread has finished its changes."""
        try:
            while not is_finished.is_set():
                kept_keyspace = metadata.keyspaces["ks"]
                seen_ids.add(id(kept_keyspace))
                assert kept_keyspace.durable_writes in (True, False)
                list(kept_keyspace.tables.items())
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=read_until_finished) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(200):
            metadata._replace_schema(Schema({"ks": source(note=str(turn))}))
    finally:
        is_finished.set()
        for thread in threads:
            thread.join(WAIT)
    assert failures == []
    # Whichever thread created the object, all threads have got the same object.
    assert seen_ids == {id(metadata.keyspaces["ks"])}


def test_an_object_is_created_once_for_several_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If two threads ask a source for its object at once, both get the same object."""
    source = KeyspaceSource("ks", {})
    objects: list[Any] = []
    other_thread = threading.Thread(target=lambda: objects.append(source.object()))

    def build_slowly(built_source: Any) -> Any:
        if not other_thread.ident:
            other_thread.start()
            # The other thread must wait until this thread has created the object.
            other_thread.join(0.05)
        return object()

    monkeypatch.setattr("cassandra.metadata.schema.build.keyspace", build_slowly)
    objects.append(source.object())
    other_thread.join()
    assert objects[0] is source.object()
    assert objects[1] is source.object()


def test_a_missing_column_s_error_suggests_a_name() -> None:
    """The KeyError for a missing column suggests a similar name."""
    columns = NamedColumns(key=1, name=2)
    assert columns["key"] == 1
    assert columns.get("nmae") is None
    with pytest.raises(KeyError) as caught:
        columns["nmae"]
    assert caught.value.args == ("nmae",)
    notes = vars(caught.value)["__notes__"]
    assert notes == ["(did you mean 'name'? there are 'key', 'name')"]
    for copied in (copy.copy(columns), copy.deepcopy(columns), pickle.loads(pickle.dumps(columns))):
        assert type(copied) is dict
        assert copied == columns


def test_names_as_attributes_and_positions() -> None:
    """The errors for ``keyspaces.shop`` and ``columns[0]`` say what to write instead."""
    mappings: list[Any] = [LazyMapping({"shop": 1}, str), NamedColumns({"shop": 1})]
    for mapping in mappings:
        with pytest.raises(AttributeError, match=r"no attribute 'shop': write mapping\['shop'\]$"):
            mapping.shop  # noqa: B018
        with pytest.raises(AttributeError, match=r"no attribute 'other'$"):
            mapping.other  # noqa: B018
        assert not hasattr(mapping, "_names_")
        with pytest.raises(KeyError) as missing:
            mapping[0]
        (note,) = vars(missing.value)["__notes__"]
        assert note.startswith(
            "(the keys are names, not positions: write list(mapping.values())[0]"
        )
