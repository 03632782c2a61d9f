"""Advice for refusals of a server that SQL habits lead to.

A server's message names a place in its grammar. The advice says what CQL has instead. It is looked
for when a server has refused a statement, and goes into a note of the error; the error's own text
stays the server's.
"""

from __future__ import annotations

import re

__all__ = ["advice_for"]

# By what the statement has, if the server refused its syntax. The first one that fits counts.
_SYNTAX: tuple[tuple[str, str], ...] = (
    (r"^\s*$", "the statement is empty"),
    (r";\s*\S", "execute one statement at a time; a BatchStatement takes several writes"),
    (r"'(%s|%\(\w+\)s|\?)'", "write markers without quotes: %s instead of '%s'"),
    (r"=\s*@\w+|[=(,]\s*\$\d+", "markers are %s and %(name)s in a text, ? and :name when prepared"),
    (r"%s|%\(\w+\)s", "prepared statements have ? or :name in place of %s; "
                      "a list after IN %s is passed as a tuple"),
    (r"\bJOIN\b", "CQL has no joins: read both tables, or keep a table for this query"),
    (r"\bOFFSET\b", "CQL has no OFFSET: pass result.paging_state of the page before"),
    (r"\bOR\b", "CQL has no OR: use IN, or several statements (execute_concurrent)"),
    (r"\bIS\s+NULL\b", "CQL cannot look for nulls: read the rows and test for None"),
    (r"\bBETWEEN\b", "write column >= ? AND column <= ?"),
    (r"\bHAVING\b|\bUNION\b|\bEXISTS\s*\(", "CQL has no such clause: compute it in your program"),
    (r"\bAUTO_INCREMENT\b|\bSERIAL\b", "CQL has no generated keys: use uuid, made by uuid.uuid4()"),
    (r"\bVARCHAR\s*\(|\bTEXT\s*\(", "text types have no length in CQL: write text"),
    (r"\bFOREIGN\s+KEY\b|\bREFERENCES\b|\bUNIQUE\b|\bCHECK\s*\(",
     "CQL has no constraints but the primary key; INSERT ... IF NOT EXISTS keeps rows unique"),
    (r"\bRETURNING\b", "CQL returns no rows from writes; the values are those you passed"),
    (r"\bON\s+(CONFLICT|DUPLICATE)\b", "INSERT replaces the row already; leave the clause out"),
    (r"^\s*(SHOW|DESC)\b", "write DESCRIBE (Cassandra 4.0 on), or read cluster.metadata"),
    (r"^\s*BEGIN\s*;?\s*$|^\s*(COMMIT|ROLLBACK|START)\b",
     "CQL has no transactions of this kind; a BatchStatement applies writes together"),
    (r"^\s*INSERT\s+INTO\s+[\w.\"]+\s+VALUES\b", "name the columns: INSERT INTO t (k, v) VALUES"),
    (r"^\s*(UPDATE|DELETE)\b(?!.*\bWHERE\b)", "add WHERE with the whole partition key; TRUNCATE "
                                             "empties a table"),
    (r"^\s*DELETE\s+\*", "write DELETE FROM, without the asterisk"),
    (r"\"[^\"]*\"\s*$|=\s*\"", "text has single quotes in CQL; double quotes are for names"),
    (r"\b(LIMIT)\s+\d+\s*,", "CQL has LIMIT n only; pages follow by result.paging_state"),
    (r"\bLIKE\b", "LIKE needs an index that supports it (SASI, or an analyzed SAI index)"),
    (r"\bCOUNT\s*\(\s*DISTINCT\b", "CQL has no COUNT(DISTINCT ...): count in your program"),
)  # fmt: skip
# Texts: they are compiled when a server refuses something, not at every start.
_RESERVED = (
    r"add|allow|alter|and|apply|asc|authorize|batch|begin|by|columnfamily|create|delete|"
    r"desc|describe|drop|entries|execute|from|full|grant|if|in|index|infinity|insert|into|"
    r"is|keyspace|limit|materialized|mbean|mbeans|modify|nan|norecursive|not|null|of|on|or|"
    r"order|password|primary|rename|replace|revoke|schema|select|set|table|to|token|"
    r"truncate|unlogged|update|use|using|view|where|with"
)
_AT_WORD = r"(?:mismatched|extraneous) input '(\w+)'|at input '(\w+)'"

# By what the server says, if it understood the statement.
_REFUSED: tuple[tuple[str, str], ...] = (
    (r"ALLOW FILTERING", "the condition is not on the primary key: read by the key, add an index, "
                         "or keep a second table for this query"),
    (r"ORDER BY is only supported", "rows are ordered within a partition only: add "
                                    "WHERE partition_key = ?, or sort in your program"),
    (r"Order by.*clustering|ORDER BY.*clustering",
     "ORDER BY takes clustering columns, in the order of CLUSTERING ORDER BY or its reverse"),
    (r"Unsupported \"?!=", "CQL has no != in WHERE: leave such rows out in your program"),
    (r"LIKE restriction", "LIKE needs an index that supports it (SASI, or an analyzed SAI index)"),
    (r"(?:table|unconfigured table) \S+ does not exist|unconfigured table",
     "names are lower case unless they have double quotes; is the keyspace the right one "
     "(session.keyspace)?"),
    (r"No keyspace has been specified", "write keyspace.table, or cluster.connect('keyspace')"),
    (r"Keyspace '?\S+'? does not exist",
     "CREATE KEYSPACE makes one; names are lower case unless they have double quotes"),
    (r"Undefined (?:column )?name", "cluster.metadata.keyspaces[...].tables[...].columns has the "
                                    "names; string literals have single quotes"),
    (r"Some partition key parts are missing|Missing mandatory PRIMARY KEY part|"
     r"Some clustering keys are missing", "WHERE and INSERT need all columns of the key"),
    (r"PRIMARY KEY part \S+ found in SET part",
     "columns of the key cannot change: insert a new row and delete the old one"),
    (r"Cannot (?:set|increment) .*counter|counter (?:column|table|update|mutation)s?",
     "counters change by UPDATE ... SET n = n + ? only, in tables that have no other columns"),
    (r"Invalid null value|null value in condition|Invalid null value for",
     "a column of the key got None (or NaN, from pandas)"),
    (r"Batch too large", "use execute_concurrent_with_args or session.load in place of a batch "
                         "over many partitions"),
    (r"keyspace.*replication|replication_factor", "the data centers are those of "
                                                  "SELECT data_center FROM system.local"),
)  # fmt: skip


def advice_for(message: str, statement: str, is_syntax: bool) -> str | None:
    """Return what to write instead of a statement that a server refuses; None if unknown.

    :param message: the server's.
    :param statement: its text, without values.
    :param is_syntax: True if the server did not understand it.
    """
    if not is_syntax:
        return _first(_REFUSED, message)
    word = re.search(_AT_WORD, message)
    advice = _first(_SYNTAX, statement)
    if word is not None and advice is None:
        name = word[1] or word[2]
        if re.fullmatch(_RESERVED, name.lower()):
            return f'{name} is a reserved word: as a name, write "{name.lower()}" in double quotes'
    return advice


def _first(table: tuple[tuple[str, str], ...], text: str) -> str | None:
    for pattern, advice in table:
        if re.search(pattern, text, re.IGNORECASE | re.DOTALL):
            return advice
    return None
