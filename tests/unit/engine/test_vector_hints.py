"""If a server refuses a statement about vectors, a note on the error gives advice.

The messages in these tests are from Cassandra 5.0.9.
"""

from __future__ import annotations

import pytest

from cassandra.engine.server_hints import advice_for

NO_VIABLE = "line 1:26 no viable alternative at input"
FILTERING = "Cannot execute this query as it might involve data filtering ... use ALLOW FILTERING"


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("SELECT k FROM t ORDER BY v ANN OF %s LIMIT 3 OFFSET 3", "larger LIMIT, at most 1000"),
        ("SELECT k FROM t ORDER BY v ANN OF %s OFFSET 3 LIMIT 3", "larger LIMIT, at most 1000"),
        ("CREATE INDEX ON t USING hnsw (v vector_cosine_ops)", "'similarity_function': 'cosine'"),
        ("CREATE INDEX i ON t USING ivfflat (v) WITH (lists = 9)", "(column) USING 'sai' WITH"),
        ("CREATE INDEX ON t (v halfvec_l2_ops)", "(column) USING 'sai' WITH OPTIONS"),
        ("CREATE VECTOR INDEX ON t (v)", "(column) USING 'sai' WITH OPTIONS"),
        ("CREATE INDEX ON t (v) USING sai", "USING 'sai', with quotes"),
        ("CREATE INDEX ON t (v) USING 'sai' WITH similarity_function = 'cosine'", "WITH OPTIONS"),
        ("SELECT k FROM t WHERE similarity_cosine(v, %s) > 0.8", "WHERE takes no functions"),
        ("SELECT k FROM t WHERE v <-> %s < 0.5", "WHERE takes no functions"),
        ("SELECT k FROM t ORDER BY similarity_cosine(v, ?) DESC LIMIT 3", "no functions: write"),
        ("SELECT k FROM t WHERE v ANN OF ? LIMIT 3", "write ORDER BY column ANN OF ? LIMIT n"),
        ("SELECT k FROM t WHERE v NEAR [1, 2]", "write ORDER BY column ANN OF ? LIMIT n"),
        ("SELECT k FROM t ORDER BY v ANN ? LIMIT 3", "write ORDER BY column ANN OF ? LIMIT n"),
        ("SELECT k FROM t ORDER BY v <-> '[1, 2]' LIMIT 3", "no operators for distances"),
        ("SELECT k, 1 - (v <=> ?) AS s FROM t", "similarity_cosine(column, ?)"),
        ("SELECT k FROM t ORDER BY v ANN OF ? LIMIT 3 WITH ann_options = {}", "leave WITH out"),
        ("CREATE TABLE t (k int PRIMARY KEY, v vector(768))", "write vector<float, 768>"),
        ("CREATE TABLE t (k int PRIMARY KEY, v vector<768>)", "write vector<float, 768>"),
        ("CREATE TABLE t (k int PRIMARY KEY, v vector<768, float>)", "write vector<float, 768>"),
        ("CREATE TABLE t (k int PRIMARY KEY, v float[768])", "write vector<float, 768>"),
        ("CREATE TABLE t (k int PRIMARY KEY, v float vector[768])", "write vector<float, 768>"),
        ("CREATE TABLE t (k int PRIMARY KEY, v vector<float>)", "write vector<float, n>, with"),
        ("INSERT INTO t (k, v) VALUES (1, ARRAY[1, 2])", "is [0.1, 0.2]"),
        ("INSERT INTO t (k, v) VALUES (1, '[1, 2]'::vector)", "is [0.1, 0.2]"),
    ],
)
def test_syntax_of_other_vector_stores_gets_advice(statement: str, advice: str) -> None:
    """For the syntax of other vector stores, the advice says what to write in CQL.

    One such store is pgvector.

    :param advice: a part of the advice.
    """
    assert advice in str(advice_for(NO_VIABLE, statement, is_syntax=True))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT k FROM t ORDER BY v ANN OF ? LIMIT 3",
        "SELECT k, similarity_cosine(v, ?) FROM t WHERE k = ? ORDER BY v ANN OF ? LIMIT 3",
        "CREATE INDEX ON t (v) USING 'sai' WITH OPTIONS = {'similarity_function': 'cosine'}",
        "CREATE TABLE t (k int PRIMARY KEY, v vector<float, 3>)",
        "SELECT k FROM t WHERE c < 5 AND c > 1",
    ],
)
def test_correct_statements_get_no_advice(statement: str) -> None:
    assert advice_for(NO_VIABLE, statement, is_syntax=True) is None


@pytest.mark.parametrize(
    ("message", "statement", "advice"),
    [
        (FILTERING, "SELECT k FROM t WHERE v IN %s", "no index serves IN"),
        (FILTERING, "SELECT k FROM t WHERE v IN ('a') ORDER BY e ANN OF ?", "no index serves IN"),
        (FILTERING, "SELECT k FROM t ORDER BY v ANN OF ? LIMIT 3", "create it with USING 'sai'"),
        (FILTERING, "SELECT k FROM t WHERE v = 1", "add an index"),
        ("ANN ordering by vector requires the column to be indexed", "", "(column) USING 'sai'"),
        (
            "ANN ordering by vector requires all restricted column(s) to be indexed",
            "",
            "each column in WHERE needs an index",
        ),
        ("Unable to find custom indexer class 'hnsw'", "", "USING 'sai' WITH OPTIONS"),
        ("Cannot specify options for a non-CUSTOM index", "", "USING 'sai' before WITH OPTIONS"),
        (
            "Similarity function L2 was not recognized for index null. Valid values are: ...",
            "",
            "for 'l2' write 'euclidean'",
        ),
        (
            "Properties specified [m] are not understood by StorageAttachedIndex",
            "CREATE INDEX ON t (v) USING 'sai' WITH OPTIONS = {'m': '16'}",
            "takes the option 'similarity_function'",
        ),
        ("... without enabling SAI_VECTOR_ALLOW_CUSTOM_PARAMETERS", "", "leave the option out"),
        (
            "Cannot create more than one storage-attached index on the same column: v",
            "",
            "DROP INDEX first",
        ),
        (
            "SAI ANN indexes are only allowed on vector columns with float elements",
            "",
            "only vector<float, n> can be searched",
        ),
        (
            "Invalid vector literal for v of type vector<float, 3>; expected 3 elements, but ...",
            "",
            "a column or table of their own",
        ),
        ("CQL type float cannot have vector options", "", "the type vector<float, n>"),
        (
            "storage-attached index cannot be created over multiple columns: a, v",
            "",
            "index for each column",
        ),
        ("Top-K queries must have a limit specified and ...", "", "from 1 to 1000"),
        ("... requires a LIMIT that is not greater than 1000. LIMIT was 2000", "", "at most 1000"),
        ("Top-K queries can not be run with aggregation", "", "in your program"),
        ("Vector indexes only support ANN queries", "", "in place of the condition"),
        ("Descending ANN ordering is not supported", "", "leave DESC out"),
        ("ANN ordering does not support any other ordering", "", "sort the rows"),
        (
            "Select on indexed columns and with IN clause for the PRIMARY KEY are not supported",
            "",
            "one statement for each value",
        ),
        (
            "Unexpected receiver type 'text'; only list and vector are expected",
            "SELECT k FROM t ORDER BY c ANN OF [1, 2] LIMIT 3",
            "searches a column of the type vector<float, n>",
        ),
        ("Unknown function 'cosine_distance'", "", "similarity_cosine, similarity_dot_product"),
        ("Unknown function 'lower'", "", "compute the value in your program"),
        (
            "... requires a float vector argument, but found argument '[1,2]' of type ascii",
            "",
            "NumPy array as a parameter",
        ),
        ("All arguments must have the same vector dimensions", "", "as many numbers"),
        (
            'Invalid STRING constant ([1,2]) for "v" of type vector<float, 2>',
            "",
            "NumPy array as a parameter",
        ),
        ("Unknown type ks.vector", "", "with the number of dimensions"),
    ],
)
def test_refused_searches_and_indexes_get_advice(message: str, statement: str, advice: str) -> None:
    """If the server refuses valid CQL because of its vectors or indexes, there is advice.

    It depends on the message and on the statement.
    """
    assert advice in str(advice_for(message, statement, is_syntax=False))


@pytest.mark.parametrize(
    ("message", "is_syntax"),
    [
        ("line 1:43 mismatched input '<' expecting ')' (...PRIMARY KEY, v VECTOR[<]...)", True),
        ("line 1:27 mismatched input 'ANN' expecting EOF (...FROM t ORDER BY v [ANN]...)", True),
        ("Unknown function 'similarity_cosine'", False),
        ("Unable to find custom indexer class 'sai'", False),
        ("Cannot specify index class for a non-CUSTOM index", False),
    ],
)
def test_servers_without_vectors_are_named_as_the_reason(message: str, is_syntax: bool) -> None:
    """If a server before Cassandra 5.0 refuses vectors, the advice names its version."""
    advice = advice_for(message, "v vector<float, 3>", is_syntax)
    assert "Cassandra has them since 5.0" in str(advice)
