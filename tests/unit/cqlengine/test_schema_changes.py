"""Test CREATE and ALTER statements for models, and for what the server's schema already has."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.schema_changes import (
    ServerColumn,
    add_columns,
    add_fields,
    create_table,
    create_type,
    missing_indexes,
    option_changes,
    same_type,
)
from cassandra.cqlengine.usertype import UserType
from cassandra.util.cql_text import maybe_escape_name


# A user-defined type with a field that has another name in the database.
class Place(UserType):
    street = columns.Text()
    number = columns.Integer(db_field="no")


# A model with options, a compound key, an index and a static column.
class Visit(Model):
    __keyspace__ = "ks"
    __options__ = {
        "comment": "10",
        "gc_grace_seconds": 5,
        "compaction": {"class": "X", "on": True},
        "default_time_to_live": 60,
    }
    guest = columns.Integer(partition_key=True)
    town = columns.Text(partition_key=True)
    day = columns.Integer(primary_key=True, clustering_order="DESC")
    hour = columns.Integer(primary_key=True)
    note = columns.Text(index=True)
    shared = columns.Text(static=True)


def server_columns(**changes: Any) -> dict[str, ServerColumn]:
    """Return the columns of `Visit`'s table as a server reports them.

    :param changes: for each column to replace, its name and the new column. None removes the
        column.
    """
    columns_by_name = {
        "guest": ServerColumn("guest", "int", "partition_key", 0, "none"),
        "town": ServerColumn("town", "text", "partition_key", 1, "none"),
        "day": ServerColumn("day", "int", "clustering", 0, "desc"),
        "hour": ServerColumn("hour", "int", "clustering", 1, "asc"),
        "note": ServerColumn("note", "text", "regular", -1, "none"),
        "shared": ServerColumn("shared", "text", "static", -1, "none"),
    }
    columns_by_name.update(changes)
    return {name: column for name, column in columns_by_name.items() if column is not None}


@pytest.mark.parametrize(
    ("model_type", "server_type", "expected"),
    [
        ("text", "varchar", True),
        ("int", "bigint", False),
        ("map<text, int>", "map<varchar,int>", True),
        ("frozen<list<int>>", "list<int>", False),
        ("list<frozen<address>>", "list<address>", True),
        ("frozen<address>", "address", True),
        ("frozen<map<text, frozen<list<int>>>>", "frozen<map<text, list<int>>>", True),
        ('frozen<"Address">', "frozen<address>", True),
    ],
)
def test_types_are_compared_by_meaning(model_type: str, server_type: str, expected: bool) -> None:
    """`same_type` ignores differences in notation between a model and the server.

    Servers write "varchar" for text, and leave out "frozen" where a type is always frozen.
    """
    assert same_type(model_type, server_type) is expected


def test_a_type_is_created_or_gets_its_missing_fields() -> None:
    """`create_type` creates a type; `add_fields` adds missing fields or warns of other types."""
    assert create_type(Place, "ks") == "CREATE TYPE ks.place (street text, no int)"
    # The dict has the fields on the server.
    changes, warnings = add_fields(Place, "Ks", {"no": "text"})
    assert changes == ['ALTER TYPE "Ks".place ADD street text']
    (warning,) = warnings
    assert "field 'no' of type text, but Place says int" in warning
    assert add_fields(Place, "ks", {"no": "int", "street": "varchar"}) == ([], [])


def test_create_table_has_columns_keys_and_options() -> None:
    """CREATE TABLE has the model's columns, key, clustering order and options."""
    assert create_table(Visit, "ks.visit") == (
        'CREATE TABLE IF NOT EXISTS ks.visit ("guest" int, "town" text, "day" int, "hour" int, '
        '"note" text, "shared" text static, PRIMARY KEY (("guest", "town"), "day", "hour")) '
        'WITH CLUSTERING ORDER BY ("day" DESC, "hour" ASC) AND comment = \'10\' '
        "AND gc_grace_seconds = 5 AND compaction = {'class': 'X', 'on': 'true'} "
        "AND default_time_to_live = 60"
    )


def test_a_complete_table_needs_no_changes() -> None:
    """A table with all columns needs no changes."""
    assert add_columns(Visit, "ks.visit", server_columns()) == ([], [])


def test_columns_are_added_and_never_changed() -> None:
    """`add_columns` adds a missing column; a column that differs causes a warning instead."""
    existing = server_columns(
        note=None,
        shared=ServerColumn("shared", "int", "regular", -1, "none"),
        day=ServerColumn("day", "int", "clustering", 0, "asc"),
    )
    changes, warnings = add_columns(Visit, "ks.visit", existing)
    assert changes == ['ALTER TABLE ks.visit ADD "note" text']
    order_warning, type_warning, static_warning = warnings
    assert '"day" in order asc, but Visit says desc' in order_warning
    assert "with a type (int) differing from the model type (text)" in type_warning
    assert "is regular, but in Visit it is static" in static_warning


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"town": None}, r"partition key columns \['guest'\], but Visit has \['guest', 'town'\]"),
        (
            {"hour": ServerColumn("hour", "int", "regular", -1, "none")},
            r"clustering columns \['day'\], but Visit has \['day', 'hour'\]",
        ),
        (
            {
                "guest": ServerColumn("guest", "int", "partition_key", 1, "none"),
                "town": ServerColumn("town", "text", "partition_key", 0, "none"),
            },
            r"\['town', 'guest'\]",
        ),
    ],
)
def test_another_primary_key_is_an_error(changed: dict[str, Any], message: str) -> None:
    """A table with another primary key is an error, because a primary key cannot be changed."""
    with pytest.raises(CQLEngineException, match=message):
        add_columns(Visit, "ks.visit", server_columns(**changed))


def test_only_options_that_differ_are_altered() -> None:
    """`option_changes` alters only options that differ from the server's options."""
    server_options = {
        "comment": "10",
        "gc_grace_seconds": "5.0",
        "default_time_to_live": 60,
        "compaction": {"class": "org.apache.cassandra.db.compaction.X", "on": "true", "more": "1"},
    }
    # The server reports the compaction class with its Java package, and options that the model does
    # not set. These do not count as differences.
    assert option_changes(Visit, "ks.visit", server_options) == []
    assert option_changes(Visit, "ks.visit", {**server_options, "gc_grace_seconds": 6}) == [
        "ALTER TABLE ks.visit WITH gc_grace_seconds = 5"
    ]
    (change,) = option_changes(
        Visit, "ks.visit", {**server_options, "comment": None, "compaction": None}
    )
    assert change == (
        "ALTER TABLE ks.visit WITH comment = '10' AND compaction = {'class': 'X', 'on': 'true'}"
    )


@pytest.mark.parametrize("target", ["note", '"note"', "values(note)", 'keys("note")'])
def test_existing_indexes_are_found_by_their_target_column(target: str) -> None:
    """`missing_indexes` recognizes an index by its target, in any notation of servers."""
    assert missing_indexes(Visit, "ks.visit", "visit", [target]) == []
    assert missing_indexes(Visit, "ks.visit", '"visit"', ["other"]) == [
        'CREATE INDEX IF NOT EXISTS visit_note_idx ON ks.visit ("note")'
    ]


@pytest.mark.parametrize("field", ['"', '"x"', 'a"b', "new\nline", "(paren)", "plain", "A"])
def test_an_index_on_a_column_with_quotes_in_its_name(field: str) -> None:
    """`missing_indexes` recognizes an index on a column with quotes or other unusual characters.

    The server reports the target of the index as quoted CQL.
    """
    column = columns.Text(db_field=field, index=True)
    model: Any = type(
        "Odd",
        (Model,),
        {"__module__": __name__, "id": columns.Integer(primary_key=True), "c": column},
    )
    target = maybe_escape_name(field)
    # A server may report the target of an index in either of these notations.
    for reported in (target, f"values({target})"):
        assert missing_indexes(model, "ks.odd", "odd", [reported]) == []
    assert len(missing_indexes(model, "ks.odd", "odd", ["x"])) == 1


def test_names_of_indexes_contain_only_ascii_letters() -> None:
    """The name of an index leaves out letters of its column's name that are not ASCII."""

    class Odd(Model):
        id = columns.Integer(primary_key=True)
        c = columns.Text(db_field="größe", index=True)

    assert missing_indexes(Odd, "ks.odd", "odd", targets=[]) == [
        'CREATE INDEX IF NOT EXISTS odd_gre_idx ON ks.odd ("größe")'
    ]


def test_indexes_of_vectors() -> None:
    """A vector column gets a storage-attached index with its similarity function.

    An unknown function is refused.
    """

    class Odd(Model):
        id = columns.Integer(primary_key=True)
        a = columns.Vector(columns.Float, 2, index=True)
        b = columns.Vector(columns.Float, 2, index=True, similarity="cosine")

    assert missing_indexes(Odd, "ks.odd", "odd", targets=[]) == [
        "CREATE CUSTOM INDEX IF NOT EXISTS odd_a_idx ON ks.odd (\"a\") USING 'StorageAttachedIndex'",  # noqa: E501
        "CREATE CUSTOM INDEX IF NOT EXISTS odd_b_idx ON ks.odd (\"b\") USING 'StorageAttachedIndex' "  # noqa: E501
        "WITH OPTIONS = {'similarity_function': 'cosine'}",
    ]
    with pytest.raises(ValueError, match="cosine, dot_product, euclidean, not 'near'"):
        columns.Vector(columns.Float, 2, similarity="near")
