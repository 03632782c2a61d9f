"""Advice for statements about vectors that a server rejects.

Such statements often use the syntax of another database.

`cassandra.engine.server_hints` searches these tables before its own.
"""

from __future__ import annotations

# Parts of the advice below.
_WRITE_SEARCH = "write ORDER BY column ANN OF ? LIMIT n"
_WRITE_INDEX = (
    "write CREATE INDEX ON table (column) USING 'sai' WITH OPTIONS = {'similarity_function': "
    "'cosine'}; there are also 'dot_product' and 'euclidean'"
)
# For servers that do not know vectors at all.
OLD_SERVER_ADVICE = (
    "this server has no vectors: Cassandra has them since 5.0, and ScyllaDB in newer versions"
)
_ONE_EACH = "execute one statement for each value (execute_concurrent_with_args)"

# For syntax errors: pairs (pattern to search in the statement, advice). In the advice, \1 is the
# first group of the pattern. The first pattern that matches decides.
VECTOR_SYNTAX_ADVICE: tuple[tuple[str, str], ...] = (
    (r"^\s*CREATE\b.*\bINDEX\b.*\b(?:vector|halfvec)_\w+_ops\b|^\s*CREATE\s+VECTOR\s+INDEX\b|"
     r"^\s*CREATE\b.*\bINDEX\b.*\bUSING\s+(?:hnsw|ivf\w*|diskann)\b", _WRITE_INDEX),
    (r"^\s*CREATE\b.*\bINDEX\b.*\bUSING\s+\w",
     "write CREATE INDEX ON table (column) USING 'sai', with quotes"),
    (r"^\s*CREATE\b.*\bINDEX\b.*\bWITH\s+\(?\s*(?!OPTIONS\b)\w+\s*=", _WRITE_INDEX),
    (r"\bANN\s+OF\b.*\bOFFSET\b|\bOFFSET\b.*\bANN\s+OF\b",
     "a search for vectors has no OFFSET and no pages: write a larger LIMIT, at most 1000, and "
     "leave the first rows out in your program"),
    (r"\bANN\s+OF\b.*\bWITH\s+ann_options\b",
     "this server has no ann_options: leave WITH out"),
    (r"\bWHERE\b.*(?:<->|<=>|<#>|<\+>)(?!.*\bANN\s+OF\b).*[<>]|"
     r"\bWHERE\b(?:(?!\bORDER\s+BY\b).)*\bsimilarity_\w+\s*\(",
     "WHERE takes no functions and no distances: SELECT similarity_cosine(column, ?) AS "
     "similarity ... ORDER BY column ANN OF ? LIMIT n, and leave out the rows that are not "
     "similar enough in your program"),
    (r"<->|<=>|<#>|<\+>",
     f"CQL has no operators for distances: {_WRITE_SEARCH}; in SELECT, similarity_cosine(column, "
     "?) says how near a row is"),
    (r"\bORDER\s+BY\s+[\w\"]+\s*\(",
     f"ORDER BY takes no functions: {_WRITE_SEARCH}, which returns the nearest rows first"),
    (r"\bWHERE\b(?:(?!\bORDER\s+BY\b).)*\b(?:ANN\b|NEAR\s*[\[%?:])|\bANN\s+(?!OF\b)|"
     r"\bNEAREST\s+TO\b", _WRITE_SEARCH),
    (r"\bVECTOR\s*\(\s*(\d+)\s*\)|\bVECTOR\s*<\s*(\d+)|"
     r"\b(?:float|double|int|real)\s*(?:vector\s*)?\[\s*(\d+)\s*\]", r"write vector<float, \1>"),
    (r"\bVECTOR\s*(?:<\s*\w+\s*>|\()",
     "write vector<float, n>, with the number of dimensions"),
    (r"\bARRAY\s*\[|'\s*::\s*vector\b",
     "a literal of a vector is [0.1, 0.2]; better, pass a list or a NumPy array as a parameter"),
)  # fmt: skip

# For other errors: tuples (pattern for the server's message, pattern for the statement, advice).
# The first tuple whose patterns both match decides.
VECTOR_REJECTION_ADVICE: tuple[tuple[str, str, str], ...] = (
    (r"ALLOW FILTERING", r"\bIN\s*(?:\(|%|\?|:)",
     f"outside of the primary key, no index serves IN, and = needs one: {_ONE_EACH}; ALLOW "
     "FILTERING would read the whole table"),
    (r"ALLOW FILTERING", r"\bANN\s+OF\b",
     "the column's index cannot search for vectors: drop it, and create it with USING 'sai'"),
    (r"ANN ordering .* requires the column to be indexed", "",
     "write CREATE INDEX ON table (column) USING 'sai' first"),
    (r"ANN ordering .* requires all restricted", "",
     "each column in WHERE needs an index of its own, CREATE INDEX ON table (column) USING 'sai'; "
     "or leave out such rows in your program"),
    (r"Unable to find custom indexer class '(?:sai|[\w.]*StorageAttachedIndex)'|"
     r"Cannot specify index class for a non-CUSTOM index", "",
     "this server has no SAI indexes: Cassandra has them since 5.0"),
    (r"Unknown function '?(?:\w+\.)?similarity_(?:cosine|dot_product|euclidean)\b", "",
     OLD_SERVER_ADVICE),
    (r"Unable to find custom indexer class", "", _WRITE_INDEX),
    (r"Cannot specify options for a non-CUSTOM index", "", "write USING 'sai' before WITH OPTIONS"),
    (r"imilarity function .* was not recognized", "",
     "'cosine' is the default; for 'l2' write 'euclidean', for the inner product 'dot_product'"),
    (r"Properties specified .* not understood by StorageAttachedIndex", r"\bINDEX\b",
     "leave them out: an index of vectors takes the option 'similarity_function', with 'cosine', "
     "'dot_product' or 'euclidean'"),
    (r"SAI_VECTOR_ALLOW_CUSTOM_PARAMETERS", "",
     "leave the option out: servers refuse it unless their administrator has allowed it"),
    (r"more than one storage-attached index on the same column", "",
     "DROP INDEX first, to create it with other options"),
    (r"only allowed on vector columns with float elements", "",
     "only vector<float, n> can be searched: add a column of this type, and copy the values"),
    (r"cannot have vector options", "",
     "only a column of the type vector<float, n> has a similarity function"),
    (r"cannot be created over multiple columns", "", "create an index for each column"),
    (r"Top-K queries must have a limit", "", "write LIMIT n at the end, from 1 to 1000"),
    (r"requires a LIMIT that is not greater than", "",
     "a search finds at most 1000 rows; session.scan(table) reads them all"),
    (r"Top-K queries can not be run with aggregation", "",
     "search with a LIMIT, and count or group the rows in your program"),
    (r"Vector indexes only support ANN queries", "",
     f"{_WRITE_SEARCH}, in place of the condition in WHERE"),
    (r"Descending ANN ordering", "",
     "leave DESC out: the nearest rows come first, and the farthest cannot be searched for"),
    (r"ANN ordering does not support any other ordering", "",
     "leave the other columns out of ORDER BY, and sort the rows in your program"),
    (r"indexed columns and with IN clause for the PRIMARY KEY", "", _ONE_EACH),
    (r"only list and vector are expected", r"\bANN\s+OF\b",
     "ANN OF searches a column of the type vector<float, n>"),
    (r"Unknown function '\w*(?:similarity|distance|cosine|euclid|l2|dot|product)", "",
     "the functions are similarity_cosine, similarity_dot_product and similarity_euclidean, of a "
     "column and a vector"),
    (r"requires a float vector argument", "",
     "its arguments are a column of the type vector<float, n>, and a list or a NumPy array as a "
     "parameter; a literal is [0.1, 0.2], without quotes"),
    (r"Invalid vector literal .*expected \d+ elements", "",
     "the type of the column has the number of dimensions: vectors of another model need a column "
     "or table of their own"),
    (r"All arguments must have the same vector dimensions", "",
     "the vectors must have as many numbers as the type of the column says"),
    (r"Invalid STRING constant .* of type vector|Invalid tuple type literal .* of type vector", "",
     "pass a list or a NumPy array as a parameter; a literal is [0.1, 0.2], without quotes"),
    (r"Unknown type \S*vector\b", "",
     "write vector<float, n>, with the number of dimensions"),
)  # fmt: skip
