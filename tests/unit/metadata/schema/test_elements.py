"""Functions, aggregates and types as CQL."""

from __future__ import annotations

from cassandra.metadata import (
    Aggregate,
    Function,
    UserType,
)


def test_functions_and_aggregates_are_written_as_cql() -> None:
    """Functions and aggregates are written as CQL."""
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
    # A body with "$$" cannot be quoted by it.
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
    """Elsewhere, some keywords may be names without quotes, but not here: servers refuse ``CREATE
    TYPE ks.json``.
    """
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
