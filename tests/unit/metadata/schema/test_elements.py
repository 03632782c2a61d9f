"""Test how functions, aggregates, columns, indexes, triggers and types are written as CQL."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.metadata import (
    Aggregate,
    ColumnMetadata,
    Function,
    IndexMetadata,
    TableMetadata,
    TriggerMetadata,
    UserType,
)
from cassandra.metadata.schema.elements import ColumnMask


def test_functions_and_aggregates_are_written_as_cql() -> None:
    """The CQL of a function or aggregate quotes names and bodies where needed."""
    function = Function(
        "ks",
        "f",
        ["int", "frozen<tuple<int, frozen<u>>>"],
        ["a", "B"],
        "int",
        "java",
        "return 1;",
        called_on_null_input=True,
    )
    assert function.signature == "f(int,frozen<tuple<int, frozen<u>>>)"
    assert function.as_cql_query() == (
        'CREATE FUNCTION ks.f(a int, "B" tuple<int, frozen<u>>) CALLED ON NULL INPUT '
        "RETURNS int LANGUAGE java AS $$return 1;$$"
    )
    # A body that contains "$$" cannot be quoted with "$$".
    function.body = "'$$'"
    assert function.as_cql_query().endswith("AS '''$$'''")
    aggregate = Aggregate(
        "ks",
        "A",
        ["int"],
        state_func="f",
        state_type="int",
        final_func="G",
        initial_condition="0",
        return_type="int",
    )
    assert (
        aggregate.as_cql_query()
        == 'CREATE AGGREGATE ks."A"(int) SFUNC f STYPE int FINALFUNC "G" INITCOND 0'
    )


def test_types_and_functions_named_like_keywords_are_quoted() -> None:
    """A keyword that needs no quotes as a column's name is quoted as a type's or function's name.

    Some keywords may be names of columns without quotes, but not names of types and functions. For
    example, servers refuse ``CREATE TYPE ks.json``.
    """
    # In each statement, the name of the type or function is quoted, but not the name of the field
    # or argument.
    function = Function(
        "ks", "key", ["int"], ["key"], "int", "java", "return 1;", called_on_null_input=True
    )
    assert function.as_cql_query().startswith('CREATE FUNCTION ks."key"(key int) ')
    aggregate = Aggregate(
        "ks",
        "ttl",
        ["int"],
        state_func="key",
        state_type="int",
        final_func="json",
        initial_condition=None,
        return_type="int",
    )
    assert (
        aggregate.as_cql_query()
        == 'CREATE AGGREGATE ks."ttl"(int) SFUNC "key" STYPE int FINALFUNC "json"'
    )
    assert (
        UserType("ks", "json", ["json"], ["int"]).as_cql_query()
        == 'CREATE TYPE ks."json" (json int)'
    )


TABLE = TableMetadata("ks", "Orders")


@pytest.mark.parametrize(
    ("stored", "cql"),
    [
        ("frozen<json>", 'frozen<"json">'),
        ("json", '"json"'),
        ("map<text, frozen<list<frozen<key>>>>", 'map<text, frozen<list<frozen<"key">>>>'),
        ("tuple<ttl, int, vector<type, 3>>", 'tuple<"ttl", int, vector<"type", 3>>'),
        # These names are those of types, too.
        ("frozen<list>", 'frozen<"list">'),
        ("set<frozen<frozen>>", 'set<frozen<"frozen">>'),
        # These types need no quotes, or have them already.
        *(
            (name, name)
            for name in (
                "int",
                "text",
                "varchar",
                "timestamp",
                "counter",
                "frozen<address>",
                'frozen<"Address">',
                'map<text, frozen<"a<b, 1>">>',
                "frozen<map<date, frozen<tuple<time, inet>>>>",
                "vector<float, 1536>",
                "'org.apache.cassandra.db.marshal.CompositeType(Int32Type, json)'",
            )
        ),
    ],
)  # fmt: skip
def test_user_defined_types_named_like_keywords_are_quoted(stored: str, cql: str) -> None:
    """Servers store a type's name without quotes if it is a keyword that is not reserved."""
    column = ColumnMetadata(TABLE, "c", stored)
    assert (column.as_cql(), column.cql_type) == (f"c {cql}", stored)
    assert UserType("ks", "t", ["f"], [stored]).as_cql_query() == f"CREATE TYPE ks.t (f {cql})"
    thawed = cql[len("frozen<") : -1] if cql.startswith("frozen<") else cql
    function = Function(
        "ks", "f", [stored], ["a"], stored, "java", "return a;", called_on_null_input=True
    )
    assert function.as_cql_query().startswith(f"CREATE FUNCTION ks.f(a {thawed}) CALLED ")
    assert f" RETURNS {thawed} LANGUAGE " in function.as_cql_query()
    aggregate = Aggregate("ks", "a", [stored], "f", stored, None, None, stored)
    assert aggregate.as_cql_query() == f"CREATE AGGREGATE ks.a({thawed}) SFUNC f STYPE {thawed}"


def test_columns_are_written_as_in_create_table() -> None:
    """A column is written as in CREATE TABLE, with its mask."""
    mask = ColumnMask("system", "mask_inner", ("1", "null"))
    assert mask.as_cql() == "MASKED WITH system.mask_inner(1, null)"
    column = ColumnMetadata(TABLE, "Name", "text", is_static=True, mask=mask)
    assert column.as_cql() == '"Name" text static MASKED WITH system.mask_inner(1, null)'
    assert str(column) == "Name text"
    assert repr(column) == "<ColumnMetadata: Name text>"
    assert column.table is TABLE
    assert column.is_static
    assert not column.is_reversed
    plain = ColumnMetadata(TABLE, "id", "int", is_reversed=True)
    assert plain.as_cql() == "id int"
    assert plain.typestring == "int"
    assert not plain.is_static
    assert plain.is_reversed
    assert plain.mask is None


@pytest.mark.parametrize(
    ("kind", "options", "cql"),
    [
        ("COMPOSITES", {"target": "v"}, 'CREATE INDEX i ON ks."Orders" (v)'),
        ("KEYS", {"target": "keys(m)", "x": "y"}, 'CREATE INDEX i ON ks."Orders" (keys(m))'),
        (
            "COMPOSITES",
            {"target": '{"pk":["a","B"],"ck":["c"]}'},
            'CREATE INDEX i ON ks."Orders" ((a, "B"), c)',
        ),
        (
            "CUSTOM",
            {"target": "v", "class_name": "It's"},
            "CREATE CUSTOM INDEX i ON ks.\"Orders\" (v) USING 'It''s'",
        ),
        (
            "CUSTOM",
            {"target": "v", "class_name": "sai", "mode": "CONTAINS"},
            "CREATE CUSTOM INDEX i ON ks.\"Orders\" (v) USING 'sai' "
            "WITH OPTIONS = {'mode': 'CONTAINS'}",
        ),
    ],
)
def test_indexes_are_written_as_cql(kind: str, options: dict[str, str], cql: str) -> None:
    """An index is written as CREATE INDEX or CREATE CUSTOM INDEX; its options stay unchanged."""
    index = IndexMetadata("ks", "Orders", "i", kind, options)
    options_before = dict(options)
    assert index.as_cql_query() == cql
    assert index.export_as_string() == f"{cql};"
    assert index.index_options == options_before
    assert repr(index) == "<IndexMetadata: ks.i>"


def test_triggers_are_written_as_cql() -> None:
    """A trigger is written as CREATE TRIGGER."""
    trigger = TriggerMetadata(TABLE, "Audit", {"class": "org.Audit"})
    cql = 'CREATE TRIGGER "Audit" ON ks."Orders" USING \'org.Audit\''
    assert trigger.as_cql_query() == cql
    assert trigger.export_as_string() == f"{cql};"
    assert trigger.table is TABLE
    assert trigger.options == {"class": "org.Audit"}
    assert repr(trigger) == "<TriggerMetadata: Audit>"
    assert TriggerMetadata(TABLE, "t").as_cql_query().endswith("USING NULL")


def test_types_are_written_as_cql() -> None:
    """A user-defined type is written as CREATE TYPE, and needs a type for each field name."""
    user_type = UserType("ks", "Address", ["street", "Zip"], ["text", "int"])
    assert user_type.as_cql_query() == 'CREATE TYPE ks."Address" (street text, "Zip" int)'
    assert user_type.export_as_string() == (
        'CREATE TYPE ks."Address" (\n    street text,\n    "Zip" int\n);'
    )
    assert repr(user_type) == "<UserType: ks.Address>"
    with pytest.raises(ValueError, match=r"type ks\.t has 1 field names and 2 types"):
        UserType("ks", "t", ["a"], ["int", "int"])


@pytest.mark.parametrize(
    ("settings", "clauses"),
    [
        ({}, "RETURNS NULL ON NULL INPUT RETURNS int"),
        ({"deterministic": True}, "RETURNS NULL ON NULL INPUT RETURNS int DETERMINISTIC"),
        ({"monotonic": True}, "RETURNS NULL ON NULL INPUT RETURNS int MONOTONIC"),
        (
            {"monotonic": True, "monotonic_on": ["A"]},
            'RETURNS NULL ON NULL INPUT RETURNS int MONOTONIC ON "A"',
        ),
        ({"called_on_null_input": True}, "CALLED ON NULL INPUT RETURNS int"),
    ],
)
def test_clauses_of_functions(settings: dict[str, Any], clauses: str) -> None:
    """The CQL of a function has a clause for each of the function's properties."""
    options = {"called_on_null_input": False, **settings}
    function = Function("ks", "f", ["int"], ["A"], "frozen<int>", "lua", "a$", **options)
    cql = f"CREATE FUNCTION ks.f(\"A\" int) {clauses} LANGUAGE lua AS 'a$'"
    assert function.as_cql_query() == cql
    assert function.export_as_string().split() == f"{cql};".split()
    assert function.export_as_string().splitlines()[-1] == "    AS 'a$';"
    assert repr(function) == "<Function: ks.f(int)>"


def test_a_function_has_as_many_names_as_types() -> None:
    """A function with different numbers of argument names and types raises ValueError."""
    with pytest.raises(ValueError, match=r"function ks\.f has 1 argument names and 2 types"):
        Function("ks", "f", ["int", "int"], ["a"], "int", "lua", "", called_on_null_input=True)


def test_clauses_of_aggregates() -> None:
    """The CQL of an aggregate has a clause for each of the aggregate's properties."""
    settings: dict[str, Any] = {"state_func": "s", "state_type": "frozen<int>", "final_func": None}
    aggregate = Aggregate(
        "ks", "a", ["int"], **settings, initial_condition=None, return_type="int",
        deterministic=True, reduce_func="R",
    )  # fmt: skip
    cql = 'CREATE AGGREGATE ks.a(int) SFUNC s STYPE int REDUCEFUNC "R" DETERMINISTIC'
    assert aggregate.as_cql_query() == cql
    assert aggregate.export_as_string() == (
        'CREATE AGGREGATE ks.a(int)\n    SFUNC s\n    STYPE int\n    REDUCEFUNC "R"\n'
        "    DETERMINISTIC;"
    )
    assert aggregate.signature == "a(int)"
    assert repr(aggregate) == "<Aggregate: ks.a(int)>"
    assert aggregate.return_type == "int"
