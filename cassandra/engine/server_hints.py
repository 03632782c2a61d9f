"""Advice for statements that a server rejects because they contain SQL that CQL does not have.

The server's message usually names only a position in the statement. The advice says what to write
instead. The driver looks for advice only after a server has rejected a statement, and adds the
advice to the error as a note. The error's message is not changed.
"""

from __future__ import annotations

import re

from cassandra._misspelt import nearest
from cassandra.engine.literal_hints import (
    PYTHON_VALUE_ADVICE,
    QUOTE_ADVICE,
    advice_for_type,
    without_strings,
)
from cassandra.engine.vector_hints import (
    OLD_SERVER_ADVICE,
    VECTOR_REJECTION_ADVICE,
    VECTOR_SYNTAX_ADVICE,
)

# Longer statements get no advice: programs write them, not people. The time of some patterns grows
# with the square of the length, and the event loop waits for the search.
_MOST_SEARCHED = 4_000  # characters

_NO_GENERATED_KEYS = "CQL has no generated keys: use uuid, made by uuid.uuid4()"

# For syntax errors: pairs (pattern to search in the statement, advice). The first pattern that
# matches decides. These patterns also look inside strings.
_STRING_ADVICE: tuple[tuple[str, str], ...] = (
    (r"'(%s|%\(\w+\)s|\?)'", "write markers without quotes: %s instead of '%s'"),
    (r"(?<=\w)(?<!\bb)'\w",
     "a quote inside a string is doubled ('it''s'); better, pass the value as a parameter"),
)  # fmt: skip
# Pairs (pattern, advice) for syntax errors, too. These patterns are searched in the statement after
# `without_strings` has emptied its strings.
# The patterns are strings, and are compiled when a statement is first rejected. Compiling them at
# import would take time.
_SYNTAX_ADVICE: tuple[tuple[str, str], ...] = (
    # Each comment can be matched in only one way. Otherwise the time of the search would be
    # exponential in the length of a line of hyphens.
    (r"^(?:\s|(?:--|//)[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)*$", "the statement is empty"),
    (r"^\s*[\w./\\~-]+\.(?:cql|sql|ddl)\s*$",
     "this is the name of a file: read it, and execute its statements one at a time"),
    (r";\s*\S", "execute one statement at a time; a BatchStatement takes several writes"),
    (r"=\s*@\w+|[=(,]\s*\$\d+", "markers are %s and %(name)s in a text, ? and :name when prepared"),
    (r"\b(FROM|INTO|UPDATE|TABLE|BY)\s+(%s|\?)", "markers are in place of values: write the names "
                                            "of tables and columns into the text"),
    (r"\bIN\s+%s", "a tuple is written for IN %s: pass ((1, 2),) for one list of values"),
    (r"\bIN\s+%\((\w+)\)s", "a tuple is written for IN: pass {'\\1': (1, 2)}, not a list"),
    (r"\b(LIMIT|TTL|TIMESTAMP)\s+(%s|%\(\w+\)s)", "LIMIT, TTL and TIMESTAMP take an int, not a "
                                                 "str, a float or a timedelta"),
    (r"\bJSON\s+(%s|%\(\w+\)s)", "INSERT ... JSON takes a string: pass json.dumps(value)"),
    (r"\bJSON\s*\{", "INSERT ... JSON takes a string: write JSON %s, and pass json.dumps(value)"),
    (r"^\s*(SOURCE|COPY|CONSISTENCY|SERIAL|LOGIN|EXPAND|TRACING|PAGING|CAPTURE|HELP|EXIT|QUIT)\b",
     "this is a command of cqlsh, not CQL: session.load and session.unload replace COPY, "
     "consistency_level of a statement or profile replaces CONSISTENCY, execute(trace=True) "
     "replaces TRACING"),
    (r"^\s*\\", "this is a command of psql, not CQL: write DESCRIBE TABLES (Cassandra 4.0 on), or "
               "read cluster.metadata"),
    (r"^\s*(EXPLAIN|ANALYZE|ANALYSE)\b",
     "CQL has no \\1: execute(statement, trace=True), then result.get_query_trace() shows what the "
     "servers do"),
    (r"^\s*(?:CREATE|ALTER)\s+(?:ROLE|USER)\b.*[=\s](?:\?|:\w)",
     "statements about roles take no bind markers: execute a text with %s, into which the driver "
     "writes the value"),
    (r"^\s*ALTER\s+(?:ROLE|USER)\b(?!.*\bWITH\b)",
     "write ALTER ROLE name WITH PASSWORD = '...' AND LOGIN = true"),
    (r"^\s*(GRANT|REVOKE)\s+ALL\s+PRIVILEGES\b", "write \\1 ALL PERMISSIONS ON ..."),
    (r"^\s*(?:GRANT|REVOKE)\s+(?!(?:ALL|CREATE|ALTER|DROP|SELECT|MODIFY|AUTHORIZE|DESCRIBE|EXECUTE|"
     r"UNMASK|SELECT_MASKED)\b)\w+(?:\s*,|\s+ON\b)",
     "the permissions are SELECT, MODIFY (for INSERT, UPDATE, DELETE and TRUNCATE), CREATE, ALTER, "
     "DROP, AUTHORIZE, DESCRIBE and EXECUTE, or ALL PERMISSIONS"),
    (r"^\s*SHOW\s+(?:GRANTS|ROLES|USERS|PRIVILEGES)\b",
     "write LIST ROLES, or LIST ALL PERMISSIONS OF role"),
    (r"^\s*SET\b", "CQL has no SET of variables: settings are those of the session, of a profile "
                   "or of a statement"),
    (r"\b(?:FROM|INTO|UPDATE|TABLE|EXISTS|AS)\s+'", "names have double quotes in CQL, or none; "
                                                    "text has single quotes"),
    (r"\bWHERE\s+1\s*=\s*1\b", "leave 1=1 out: a condition begins with a column"),
    (r"\bWHERE\s+(?:AND|OR|ORDER|LIMIT|ALLOW|GROUP)\b", "there is no condition after WHERE"),
    (r"\(\s*SELECT\b", "CQL has no subqueries: read the keys first, then pass them to IN ?"),
    (r"^\s*INSERT\b.*\bSELECT\b", "CQL has no INSERT ... SELECT: write session.load(table, "
                                   "session.scan(other).to_arrow()), or use `python -m "
                                   "cassandra.bulk copy`"),
    (r"\bNOT\s+(IN|LIKE)\b", "leave such rows out in your program: servers before Cassandra 6 have "
                            "no NOT IN"),
    (r"\bVARCHAR\s*\(|\bTEXT\s*\(", "text types have no length in CQL: write text"),
    (r"\bNOT\s+NULL\b|\bDEFAULT\b", "columns have neither NOT NULL nor DEFAULT in CQL; leave them "
                                    "out"),
    (r"\bIF\s+(NOT\s+)?EXIST\b", "write EXISTS: IF NOT EXISTS, IF EXISTS"),
    (r"^\s*(?:UPDATE|DELETE)\b.*\bIF\s+NOT\s+EXISTS\b",
     "UPDATE and DELETE take IF EXISTS, or IF column = ?; INSERT takes IF NOT EXISTS"),
    (r"^\s*DROP\b.*\bIF\s+NOT\s+EXISTS\b", "DROP takes IF EXISTS"),
    (r"^\s*(CREATE|INSERT)\b.*\bIF\s+EXISTS\b", "\\1 takes IF NOT EXISTS"),
    (r"^\s*UPDATE\b.*\bWHERE\b.*\bUSING\b", "USING is before SET: UPDATE t USING TTL 60 SET ..."),
    (r"`", "names have double quotes in CQL, not backticks"),
    (r"==|&&", "write = and AND"),
    (r"\|\|", "CQL has no ||: join texts in your program; in place of OR, use IN, or several "
              "statements"),
    (r",\s*(WHERE|FROM)\b", "there is a comma too many before WHERE or FROM"),
    (r"\b(WHERE|AND|SET|VALUES|BY|FROM|INTO|UPDATE|LIMIT)\s*;?\s*$",
     "nothing follows \\1: the statement is not complete"),
    (r"\bCURRENT_(?:TIMESTAMP|DATE)\b(?!\s*\()|\bGETDATE\b|\bSYSDATE\b",
     "write toTimestamp(now()), or pass a datetime as a parameter"),
    (r"^\s*SELECT\b(?!.*\bFROM\b)", "SELECT needs FROM; SELECT key FROM system.local is the "
                                     "shortest statement that tests a connection"),
    (r"\bSELECT\s+TOP\b", "write LIMIT n at the end"),
    (r"^\s*(UPSERT|REPLACE|MERGE)\b", "INSERT replaces the row if it exists: write INSERT INTO"),
    (r"^\s*CREATE\s+(?:KEYSPACE|DATABASE|SCHEMA)\b(?!.*\breplication\s*=)",
     "write CREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', "
     "'replication_factor': 3}"),
    (r"\bJOIN\b", "CQL has no joins: read both tables, or keep a table for this query"),
    (r"\bOFFSET\b", "CQL has no OFFSET: pass result.paging_state of the page before"),
    (r"\bOR\b", "CQL has no OR: use IN, or several statements (execute_concurrent)"),
    (r"\bIS\s+NULL\b", "CQL cannot look for nulls: read the rows and test for None"),
    (r"\bILIKE\b|\s~\*?\s", "CQL has no ILIKE and no patterns: an SAI index WITH OPTIONS = "
                           "{'case_sensitive': false} finds texts by = in any case"),
    (r"^\s*(?:CREATE|ALTER)\b.*\w\s+JSONB?\s*[,);]",
     "CQL has no type for JSON: write text, and pass json.dumps(value)"),
    (r"\bBETWEEN\b", "write column >= ? AND column <= ?"),
    (r"\bHAVING\b|\bUNION\b|\bEXISTS\s*\(", "CQL has no such clause: compute it in your program"),
    (r"\bAUTO_INCREMENT\b|\bSERIAL\b", _NO_GENERATED_KEYS),
    (r"\bFOREIGN\s+KEY\b|\bREFERENCES\b|\bUNIQUE\b|\bCHECK\s*\(",
     "CQL has no such constraints; INSERT ... IF NOT EXISTS keeps rows unique, and columns of "
     "Cassandra 6 take CHECK column > 0"),
    (r"\bRETURNING\b", "CQL returns no rows from writes; the values are those you passed"),
    (r"\bON\s+(CONFLICT|DUPLICATE)\b", "INSERT replaces the row already; leave the clause out"),
    (r"^\s*(SHOW|DESC)\b", "write DESCRIBE (Cassandra 4.0 on), or read cluster.metadata"),
    (r"^\s*BEGIN\s*;?\s*$|^\s*(COMMIT|ROLLBACK|START)\b",
     "CQL has no transactions of this kind; a BatchStatement applies writes together, and "
     "Cassandra 6 takes BEGIN TRANSACTION ...; COMMIT TRANSACTION as one statement"),
    (r"\bVALUES\s*\((?:[^()]|\([^()]*\))*\)\s*,\s*\(",
     "an INSERT writes one row: prepare it, and execute it for each row (execute_concurrent); "
     "rows of one partition may go together in a BatchStatement"),
    (r"[\w\"]\s*<>\s*[-'\w?:%]",
     "write != in place of <>, in conditions after IF; servers find no rows by it: leave such "
     "rows out in your program"),
    (r"\bADD\s+COLUMN\s+[\w\"]+\s+\w|\bDROP\s+COLUMN\s+[\w\"]",
     "leave COLUMN out: ALTER TABLE t ADD name type, ALTER TABLE t DROP name"),
    (r"\bINTERVAL\s*'",
     "CQL has no INTERVAL: pass a datetime that your program computes; servers of Cassandra also "
     "take toTimestamp(now()) - 1d"),
    (r"^\s*INSERT\s+INTO\s+[\w.\"]+\s+SET\b", "write INSERT INTO t (k, v) VALUES (?, ?)"),
    (r"^\s*INSERT\s+INTO\s+[\w.\"]+\s+VALUES\b", "name the columns: INSERT INTO t (k, v) VALUES"),
    (r"^\s*UPDATE\b(?!.*\bWHERE\b)",
     "add WHERE with the whole primary key; with the mapper: objects(key=...).update(...)"),
    (r"^\s*DELETE\b(?!.*\bWHERE\b)",
     "add WHERE with the whole partition key; TRUNCATE empties a table"),
    (r"^\s*DELETE\s+\*", "write DELETE FROM, without the asterisk"),
    (r"\b(LIMIT)\s+\d+\s*,", "CQL has LIMIT n only; pages follow by result.paging_state"),
    (r"\bLIKE\b", "LIKE needs a SASI index, which servers do not allow by default; SAI serves = "
                  "and ranges"),
    (r"\bCOUNT\s*\(\s*DISTINCT\b", "CQL has no COUNT(DISTINCT ...): count in your program"),
    (r"\bFROM\s+[\w.\"]+\s+(AS\s+\w+|(?!WHERE|ORDER|GROUP|LIMIT|ALLOW|PER|USING)\w+)",
     "CQL has no names for tables within a statement: leave the alias out"),
    (r"\b(?:WHERE|AND|BY)\s+(\w+)\.\w|^\s*SELECT\s+(\w+)\.\*",
     "columns have no table in front of them: leave \\1. out"),
    (r"^\s*ALTER\s+TABLE\s+\S+\s+(?:MODIFY|CHANGE|ALTER\s+COLUMN)\b",
     "the type of a column cannot change: add a column of the new type, and copy the values"),
    (r"^\s*CREATE\b.*\bINDEX\b.*\bON\s+[\w.\"]+\s+(?!USING\b)\w",
     "write CREATE INDEX ON table (column)"),
    (r"\bSET\s+(\w+)\s*\+\+", "write SET \\1 = \\1 + 1"),
    (r"\b(?:WHERE|AND)\s+(?!TOKEN\b|(?:WHERE|AND)\b)(\w+)\s*\(",
     "conditions take columns, and token() of the partition key, but no \\1(): leave out such rows "
     "in your program; an SAI index WITH OPTIONS = {'case_sensitive': false} finds text in any "
     "case"),
    (r"^\s*SELECT\s+(?!DISTINCT\b|JSON\b)[\w\"]+(?:\s*,\s*[\w\"]+)*\s+(?!FROM\b|AS\b)[\w\"]+\s*"
     r"(?:,|FROM\b)",
     "a comma is missing between two columns"),
)  # fmt: skip
_TABLE_PROPERTIES_ADVICE = (
    "the properties of a table are default_time_to_live (seconds), gc_grace_seconds, compaction, "
    "compression, caching, comment and the like, and CLUSTERING ORDER BY"
)
# These reserved words may be meant as column names. The other reserved words (AND, USING, WHERE,
# WITH) are left out: nobody names a column like that, so they are probably in the wrong position.
_RESERVED = (
    r"add|allow|alter|apply|asc|authorize|batch|begin|by|columnfamily|create|delete|"
    r"desc|describe|drop|entries|execute|from|full|grant|if|in|index|infinity|insert|into|"
    r"is|keyspace|limit|materialized|mbean|mbeans|modify|nan|norecursive|not|null|of|on|or|"
    r"order|password|primary|rename|replace|revoke|schema|select|set|table|to|token|"
    r"truncate|unlogged|update|use|view"
)
# The first words of statements, for "did you mean".
_VERBS = (
    "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "TRUNCATE", "BEGIN", "USE",
    "GRANT", "REVOKE", "LIST", "DESCRIBE",
)  # fmt: skip
# The parts of the server's messages that name the word at which its parser has stopped.
_AT_WORD = r"(?:mismatched|extraneous) input '(\w+)'|at input '(\w+)'"

# For other errors: pairs (pattern to search in the server's message, advice).
_REJECTION_ADVICE: tuple[tuple[str, str], ...] = (
    (r"Invalid FLOAT constant \(NaN\) .* of type",
     "only float and double have NaN: for a missing value, pass None as a parameter"),
    (r"Invalid FLOAT constant .* of type (tiny|small|big|var)?int\b",
     "write a number without a fraction; as a parameter, pass int(value)"),
    (r"Invalid user type literal for \S+ of type (?:frozen<)?map<",
     "the text in a map has single quotes: {'key': 'value'}; better, pass a dict as a parameter"),
    (r"function system\.now|function now", "now() is a timeuuid: write toTimestamp(now()) for a "
                                           "timestamp, toDate(now()) for a date"),
    (r"Unable to make unsigned int \(for date\) from: '-?\d+'",
     "a date is no number: as a parameter, pass value.date()"),
    (r"Unable to make \w+ from '-?\d+'",
     "the number is too large for the type of the column: bigint has 64 bits, and varint any "
     "number"),
    (r"Collection column .* cannot be restricted by a '(?:=|IN)' relation",
     "CONTAINS finds one value: write column CONTAINS ? ALLOW FILTERING, or add an index of the "
     "column; execute one statement for each value"),
    (r"Invalid amount of bind variables",
     "the markers ? and :name need the values as the second argument of execute"),
    (r"SERIAL is not supported as conditional update commit|You must use conditional updates for "
     r"serializable writes",
     "set serial_consistency_level to SERIAL or LOCAL_SERIAL, and consistency_level to QUORUM, "
     "LOCAL_QUORUM or another level"),
    (r"Cannot infer type for term", "markers are in place of values: write the names of columns "
                                    "into the text"),
    (r"Group by is currently only supported|GROUP BY", "rows are grouped by the columns of the "
                                                       "key, in their order; for others, use "
                                                       "session.scan(table).to_pandas()"),
    (r"Altering column types|Cannot (?:alter|change) .*type", "add a column of the new type, and "
                                                              "copy the values"),
    (r"Unknown type (?:\w+\.)?(?:small|big)?serial\b", _NO_GENERATED_KEYS),
    (r"Unknown type ", "the types are text, int, bigint, float, double, decimal, boolean, "
                       "timestamp (a datetime), date, time, uuid, timeuuid, blob, inet, duration, "
                       "list<>, set<>, map<>, tuple<> and vector<float, n>"),
    (r"No PRIMARY KEY specif", "write PRIMARY KEY after a column, or PRIMARY KEY ((partition), "
                               "clustering) at the end"),
    (r"Non-frozen .* are not allowed|Non-frozen .* not supported", "write frozen<...> around the "
                                                                   "inner type"),
    (r"custom timestamp for conditional", "leave USING TIMESTAMP out: the servers order "
                                          "conditional writes"),
    (r"Invalid statement in batch", "batches take writes: execute the reads by execute_concurrent"),
    (r"counter statement in a (?:un)?logged batch|counter and non-counter|"
     r"non-counter statement in a counter batch",
     "write BatchStatement(BatchType.COUNTER), with updates of counters alone"),
    (r"for non.counter column", "the servers add to counters only: read the value, and write "
                                "UPDATE ... SET v = ? ... IF v = ?"),
    (r"Invalid version for TimeUUID", "a timeuuid holds a time: make it by uuid.uuid1(), or "
                                      "cassandra.util.uuid_from_time(datetime)"),
    (r"Cannot use selection function", "columns of the key have no TTL and no write time: select "
                                       "those of another column"),
    (r"Unable to parse a date/time",
     "write ISO 8601, as '2026-11-23 12:30:00+0000'; better, pass a datetime as a parameter"),
    (r"Cannot provide custom (?:TTL|timestamp) for counter",
     "counters have neither a TTL nor a timestamp: leave USING out"),
    (r"\bTTL\b", "a TTL is a number of seconds from 1 to 630,720,000 (20 years); 0 is for none"),
    (r"Cannot rename non PRIMARY KEY", "only columns of the key can be renamed: add a column, and "
                                      "copy the values"),
    (r"for deletion", "columns of the key go with the row: write DELETE FROM t WHERE ..."),
    (r"Unmatched column names/values", "write as many values as there are columns"),
    (r"Column with name .* already exists", "write ALTER TABLE t ADD IF NOT EXISTS name type"),
    (r"already exists", "write CREATE ... IF NOT EXISTS"),
    (r"unsupported with Accord", "tables with a transactional_mode take ONE, QUORUM and ALL, and "
                                 "SERIAL for reads: set consistency_level of the profile or the "
                                 "statement"),
    (r"Accord transactions are disabled on table",
     "ALTER TABLE ... WITH transactional_mode = 'full' allows them"),
    (r"SELECT DISTINCT queries must only request",
     "DISTINCT lists partition keys: of other columns, make a set in your program"),
    (r"LIMIT must be strictly positive", "a LIMIT is 1 or more; leave it out to read all rows"),
    (r"Unknown function ", "the servers have few functions: compute the value in your program"),
    (r"ALLOW FILTERING", "WHERE does not give the whole partition key by = or IN, or has other "
                         "columns: add an index, or keep a second table for this query"),
    (r"ORDER BY is only supported", "rows are ordered within a partition only: add "
                                    "WHERE partition_key = ?, or sort in your program"),
    (r"Order by.*cluster|ORDER BY.*cluster",
     "ORDER BY takes clustering columns, in the order of CLUSTERING ORDER BY or its reverse"),
    (r"Unsupported \"?!=", "CQL has no != in WHERE: leave such rows out in your program"),
    (r"LIKE restriction", "LIKE needs a SASI index, which servers do not allow by default; SAI "
                          "serves = and ranges"),
    (r"(?:unconfigured table|table) (?:schema_\w+|columnfamilies|schemas)\b|"
     r"keyspace information_schema",
     "the schema is in system_schema.keyspaces, .tables, .columns and .types (since Cassandra "
     "3.0), and in cluster.metadata"),
    (r"table \S+ (?:does not|doesn't) exist|unconfigured table",
     "names are lower case unless they have double quotes; is the keyspace the right one "
     "(session.keyspace)?"),
    (r"have to be logged in and not anonymous",
     "the session has not logged in: pass auth_provider=PlainTextAuthProvider(name, password); if "
     "the servers have never asked for a login, set authenticator in cassandra.yaml"),
    (r"doesn't support PASSWORD", "the servers ask for no login: set authenticator to "
                                  "PasswordAuthenticator in cassandra.yaml"),
    (r"has no (\w+) permission on", "a superuser may permit it: GRANT \\1 ON ... TO ..."),
    (r"No keyspace has been specified", "write keyspace.table, or cluster.connect('keyspace')"),
    (r"Keyspace '\w+\.\w+' (?:does not|doesn't) exist",
     "a keyspace's name has no dot: connect to the keyspace alone, without the table"),
    (r"Invalid unset value for column",
     "a column of the key got no value: bind one value for each marker"),
    (r"Keyspace '?\"\w+\"'? does not exist",
     "pass the keyspace's name without quotes: the driver writes them where CQL needs them"),
    (r"Keyspace '?\S+'? (?:does not|doesn't) exist",
     "CREATE KEYSPACE makes one; names are lower case unless they have double quotes"),
    (r"Undefined (?:column )?name \"?(?:current_timestamp|current_date|sysdate|getdate)\b",
     "write toTimestamp(now()), or pass a datetime as a parameter"),
    (r"Undefined (?:column )?name|Column \S+ was not found in table",
     "cluster.metadata.keyspaces[...].tables[...].columns has the names; string literals have "
     "single quotes"),
    (r"Some partition key parts are missing|Missing mandatory PRIMARY KEY part|"
     r"Some clustering keys are missing", "WHERE and INSERT need all columns of the key"),
    (r"PRIMARY KEY part \S+ found in SET part",
     "columns of the key cannot change: insert a new row and delete the old one"),
    (r"Cannot (?:set|increment) .*counter|counter (?:column|table|update|mutation)s?",
     "counters change by UPDATE ... SET n = n + ? only, in tables that have no other columns"),
    (r"Invalid null value for counter",
     "a counter got None (or NaN, from pandas), which cannot be added: bind 0, or UNSET_VALUE to "
     "leave the counter as it is"),
    (r"Invalid null value of (?:timestamp|(?:per partition )?limit)",
     "the marker of TIMESTAMP or LIMIT got None (or NaN, from pandas): bind a number"),
    (r"Unsupported null value for column",
     "a value to compare with is None (or NaN, from pandas), and CQL cannot search for nulls"),
    (r"Invalid null value|null value in condition|Invalid null value for",
     "a column of the key got None, NaN from pandas, or in a file a text that null= names"),
    (r"Key length of \d+ is longer than",
     "each value of the key has at most 65,535 bytes: check it first, or take its digest as the "
     "key"),
    (r"CQL Message of size \d+ bytes exceeds",
     "the limit is native_transport_max_message_size of the server: write large values in parts, "
     "and check the size of what clients send"),
    (r"Key may not be empty",
     "servers take an empty text or blob in a clustering column, but not as the whole partition "
     "key"),
    (r"Batch with conditions cannot span",
     "the statements of a batch with IF write one table and one partition: execute the others by "
     "themselves"),
    (r"Batch too large", "use execute_concurrent_with_args or session.load in place of a batch "
                         "over many partitions"),
    (r"keyspace.*replication|replication_factor|Unrecognized strategy option",
     "the data centers are those of SELECT data_center FROM system.local"),
)  # fmt: skip


def advice_for(message: str, statement: str, is_syntax: bool) -> str | None:
    """Return advice on what to write instead of a statement that a server has rejected, or None.

    :param message: the server's message.
    :param statement: the CQL of the statement, without values.
    :param is_syntax: True for a syntax error.
    """
    if not is_syntax:
        return _advice_for_rejection(message, statement)
    if "Unknown property" in message:
        return _TABLE_PROPERTIES_ADVICE
    # The server's parser has stopped at a `<` that the application's CQL does not contain. So the
    # `<` comes from the str() of a parameter, such as "<Foo object at 0x...>", which the driver has
    # inserted into the CQL.
    if re.search(r"input '<'.*\[<\]", message) and "<" not in statement:
        return "a parameter's str() is not a literal: pass int, str, UUID, datetime and the like"
    # Dataclasses, attrs classes and the like have a str() such as Address(street='a').
    parameter = re.search(r"\b(\w+)\(\[\w+\]=", message)
    if parameter is not None and f"{parameter[1]}(" not in statement:
        return (
            f"a parameter of the class {parameter[1]} has no literal: register the class by "
            f"cluster.register_user_type, or pass its fields"
        )
    if re.search(r"\bvector\[<\]|input 'ANN' expecting EOF", message, re.IGNORECASE):
        return OLD_SERVER_ADVICE
    bare_statement = _searched(statement)
    for table, text in (
        (VECTOR_SYNTAX_ADVICE, statement),
        (_STRING_ADVICE, statement),
        (PYTHON_VALUE_ADVICE, bare_statement),
        (_SYNTAX_ADVICE, bare_statement),
        (QUOTE_ADVICE, bare_statement),
    ):
        advice = _first_match(table, text)
        if advice is not None:
            return advice
    # The statement still has the markers that the server complains of, so it was executed without
    # parameters: otherwise the driver would have replaced the markers.
    if "'%'" in message and re.search(r"%s|%\(\w+\)s", statement):
        return (
            "the markers %s and %(name)s need the values as the second argument of execute; "
            "prepared statements have ? or :name in place of %s"
        )
    return _advice_for_word(message)


def advice_for_timeout(statement: str) -> str | None:
    """Return advice for a statement that timed out because it reads too much, or None.

    :param statement: the CQL of the statement, without values.
    """
    # Both patterns find statements that read a whole table or many rows that they do not return.
    bare_statement = _searched(statement)
    if _is_in(r"^\s*SELECT\s+COUNT\s*\((?!.*\bWHERE\b)", bare_statement):
        return (
            "count(*) reads the whole table in one request: session.count(table) reads it in parts"
        )
    if _is_in(r"^\s*SELECT\b.*\bALLOW\s+FILTERING\b", bare_statement):
        return (
            "ALLOW FILTERING reads rows to throw them away: add an index or a table for this "
            "query, or read the whole table in parts by session.scan(table, where)"
        )
    return None


def _advice_for_rejection(message: str, statement: str) -> str | None:
    """Return advice for a statement that the server has parsed but rejected, or None."""
    # Try the most specific advice first: vectors, nulls, placeholders of Python, Python values.
    for message_pattern, statement_pattern, advice in VECTOR_REJECTION_ADVICE:
        if _is_in(message_pattern, message) and _is_in(statement_pattern, statement):
            return advice
    if "ALLOW FILTERING" in message and _is_in(r"\bWHERE\b.*[=<>]\s*NULL\b", statement):
        return "CQL cannot look for nulls: read the rows and test for None"
    if re.search(r"Invalid (?:set|map) literal", message) and _is_in(r"\{\w*\}", statement):
        return "markers are %s and %(name)s in a text, ? and :name when prepared, and not {}"
    value_advice = _first_match(PYTHON_VALUE_ADVICE[:1], _searched(statement))
    if value_advice is not None:
        return value_advice
    if "No keyspace has been specified" in message and _is_in(r"^\s*(?:GRANT|REVOKE)\b", statement):
        return "for a keyspace, write ON KEYSPACE name; for a table, ON TABLE keyspace.table"
    # The message names an unknown column: it may be an alias of the SELECT.
    column = re.search(r"Undefined (?:column )?name \"?(\w+)", message)
    if column is not None and _is_in(rf"\bAS\s+\"?{column[1]}\b", statement):
        return (
            f"WHERE and ORDER BY take the columns of the table, and not {column[1]}, the name that "
            "AS gives: leave out or sort the rows in your program; the nearest vectors come by "
            "ORDER BY column ANN OF ? LIMIT n"
        )
    # The undefined name may also be a keyspace, before the table's name.
    if column is not None and _is_in(
        rf"(?:\b(?:SELECT|WHERE|AND|BY|SET)\s+|[,(]\s*){column[1]}\.[\w\"]", _searched(statement)
    ):
        return f"columns have no table in front of them: leave {column[1]}. out"
    return _first_match(_REJECTION_ADVICE, message) or advice_for_type(message, statement)


def _advice_for_word(message: str) -> str | None:
    """Return advice about the word at which the server's parser has stopped, or None."""
    match = re.search(r"[a-z_]\w*\[-\]", message, re.IGNORECASE)
    if match is not None:
        return "a name with a hyphen has double quotes; better, write it with an underscore"
    match = re.search(_AT_WORD, message)
    if match is None:
        return None
    name: str = match[1] or match[2]
    if re.fullmatch(_RESERVED, name.lower()):
        return f'{name} is a reserved word: as a name, write "{name.lower()}" in double quotes'
    # Position 0 of line 1: the parser stopped at the first word of the statement.
    if re.search(r"line 1:0\b", message):
        similar_verb = nearest(name.upper(), _VERBS)
        return f"no statement begins with {name}" + (
            f"; did you mean {similar_verb}?" if similar_verb else ""
        )
    return None


def _searched(statement: str) -> str:
    """Return a statement without the content of its strings, to be searched for mistakes.

    A very long statement is returned unchanged, because it is not searched anyway: the event loop
    would wait too long for the search.
    """
    return statement if len(statement) > _MOST_SEARCHED else without_strings(statement)


def _first_match(table: tuple[tuple[str, str], ...], text: str) -> str | None:
    r"""Return the advice of the first pattern in `table` that occurs in `text`, or None.

    If the advice contains ``\1``, the first group that takes part in the match replaces it.
    """
    if len(text) > _MOST_SEARCHED:
        return None
    for pattern, advice in table:
        match = re.search(pattern, text, re.IGNORECASE | re.DOTALL)
        if match is not None:
            group = next((group for group in match.groups() if group is not None), "")
            return advice.replace(r"\1", group)
    return None


def _is_in(pattern: str, text: str) -> bool:
    return (
        len(text) <= _MOST_SEARCHED
        and re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None
    )
