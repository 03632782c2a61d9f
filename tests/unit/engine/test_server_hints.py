"""If a server refuses a statement, a note on the error gives advice."""

from __future__ import annotations

import pytest

from cassandra.cluster import Cluster
from cassandra.engine.server_hints import advice_for
from cassandra.errors import OperationTimedOut, ReadTimeout
from cassandra.protocol import SyntaxException
from cassandra.query import BatchStatement
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error

NO_VIABLE = "line 1:26 no viable alternative at input"


def advice_for_syntax_error(message: str, statement: str) -> str | None:
    """Return the advice for a statement that the server could not parse."""
    return advice_for(message, statement, is_syntax=True)


def advice_for_refusal(message: str, statement: str) -> str | None:
    """Return the advice for a statement that the server has parsed, but refused."""
    return advice_for(message, statement, is_syntax=False)


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("", "empty"),
        ("SELECT * FROM t; SELECT * FROM w", "one statement at a time"),
        ("SELECT * FROM t WHERE v = '%s'", "without quotes"),
        ("SELECT * FROM t WHERE k = @k", "markers are %s"),
        ("SELECT * FROM t WHERE k = $1", "markers are %s"),
        ("SELECT * FROM t JOIN w ON t.k = w.k", "no joins"),
        ("SELECT * FROM t OFFSET 3", "paging_state"),
        ("SELECT * FROM t LIMIT 3, 5", "LIMIT n only"),
        ("SELECT * FROM t WHERE k = 1 OR k = 2", "use IN"),
        ("SELECT * FROM t WHERE v IS NULL", "None"),
        ("SELECT * FROM t WHERE v = x ALLOW FILTERING", "single quotes"),
        ("INSERT INTO t (k, v) VALUES (1, hello)", "single quotes"),
        ("INSERT INTO t (k, v, w) VALUES ('a', hello, 3)", "single quotes"),
        ("SELECT * FROM t WHERE k BETWEEN 1 AND 2", ">= ?"),
        ("SELECT k FROM t GROUP BY k HAVING count(*) > 1", "in your program"),
        ("CREATE TABLE t (k int AUTO_INCREMENT PRIMARY KEY)", "uuid"),
        ("CREATE TABLE t (k varchar(20) PRIMARY KEY)", "write text"),
        ("CREATE TABLE t (k int PRIMARY KEY, v varchar(20) NOT NULL)", "write text"),
        ("CREATE TABLE t (k int PRIMARY KEY, v int UNIQUE)", "IF NOT EXISTS"),
        ("INSERT INTO t (k) VALUES (1) RETURNING k", "no rows from writes"),
        ("INSERT INTO t (k) VALUES (1) ON CONFLICT DO NOTHING", "replaces the row"),
        ("SHOW TABLES", "DESCRIBE"),
        ("COMMIT", "BatchStatement"),
        ("BEGIN", "BatchStatement"),
        ("INSERT INTO t VALUES (1, 'a')", "name the columns"),
        ("UPDATE t SET v = 'a'", "add WHERE"),
        ("DELETE FROM t", "TRUNCATE"),
        ("DELETE * FROM t WHERE k = 1", "without the asterisk"),
        ('SELECT * FROM t WHERE v = "a"', "single quotes"),
        ("SELECT COUNT(DISTINCT v) FROM t", "count in your program"),
        ("SELECT * FROM %s", "names of tables"),
        ("DROP TABLE ?", "names of tables"),
        ("CREATE ROLE r WITH PASSWORD = ? AND LOGIN = true", "roles take no bind markers"),
        ("ALTER ROLE r SET PASSWORD 'x'", "write ALTER ROLE name WITH PASSWORD"),
        ("GRANT ALL PRIVILEGES ON ALL KEYSPACES TO r", "write GRANT ALL PERMISSIONS ON"),
        ("REVOKE INSERT, UPDATE ON ks.t FROM r", "MODIFY (for INSERT"),
        ("GRANT READ ON KEYSPACE ks TO r", "the permissions are SELECT, MODIFY"),
        ("SHOW GRANTS", "LIST ALL PERMISSIONS OF role"),
        ("SELECT * FROM t WHERE k IN %s", "pass ((1, 2),)"),
        ("SELECT * FROM t LIMIT %s", "take an int"),
        ("INSERT INTO t (k) VALUES (1) USING TTL %(ttl)s", "take an int"),
        ("INSERT INTO t JSON %s", "json.dumps"),
        ("CONSISTENCY QUORUM", "command of cqlsh"),
        ("SOURCE 'schema.cql'", "command of cqlsh"),
        ("COPY t TO 't.csv'", "session.unload"),
        ("SELECT * FROM t WHERE k IN (SELECT k FROM w)", "no subqueries"),
        ("INSERT INTO t SELECT * FROM w", "no INSERT ... SELECT"),
        ("SELECT * FROM t WHERE k NOT IN (1, 2)", "no NOT IN"),
        ("CREATE TABLE t (k int PRIMARY KEY, v int NOT NULL)", "leave them out"),
        ("CREATE TABLE t (k int PRIMARY KEY, v int DEFAULT 5)", "leave them out"),
        ("INSERT INTO t (k) VALUES (1) IF NOT EXIST", "write EXISTS"),
        ("UPDATE t SET v = 'a' WHERE k = 1 USING TTL 5", "USING is before SET"),
        ("SELECT * FROM `t`", "not backticks"),
        ("SELECT * FROM t WHERE k == 1", "write = and AND"),
        ("UPDATE t SET v = 'a', WHERE k = 1", "comma too many"),
        ("INSERT INTO t (k, v) VALUES (1, 'it's')", "is doubled"),
        ("SELECT 1", "FROM system.local"),
        ("SELECT TOP 5 * FROM t", "LIMIT n"),
        ("UPSERT INTO t (k) VALUES (1)", "INSERT replaces"),
        ("SELECT * FROM t WHERE t.k = 1", "leave t. out"),
        ("SELECT * FROM t WHERE k = 1 ORDER BY t.c", "leave t. out"),
        ("SELECT t.* FROM t", "leave t. out"),
        ("ALTER TABLE t MODIFY v bigint", "cannot change"),
        ("ALTER TABLE t ALTER COLUMN v bigint", "cannot change"),
        ("CREATE INDEX i ON ks.t v", "ON table (column)"),
        ("UPDATE t SET n++ WHERE k = 1", "SET n = n + 1"),
        ("SELECT * FROM t WHERE lower(v) = 'a'", "no lower()"),
        ("SELECT k v FROM t", "a comma is missing"),
        ("CREATE KEYSPACE k WITH replication_factor = 1", "WITH replication = {"),
        ("CREATE KEYSPACE shop", "WITH replication"),
        ("SELECT o.k FROM orders o", "leave the alias out"),
        ("INSERT INTO t (k, v) VALUES (1, 'a'), (2, 'b')", "writes one row"),
        ("INSERT INTO t (k, v) VALUES (now(), (1, 2)),(now(), (3, 4))", "writes one row"),
        ("SELECT * FROM t WHERE k <> 1", "write != in place of <>"),
        ("UPDATE t SET v = ? WHERE k = ? IF v<>?", "write != in place of <>"),
        ("ALTER TABLE t ADD COLUMN z int", "leave COLUMN out"),
        ("ALTER TABLE t DROP COLUMN z", "leave COLUMN out"),
        ("SELECT * FROM t WHERE at > now() - interval '1 day'", "toTimestamp(now()) - 1d"),
        ("SELECT o.k FROM orders AS o WHERE o.k = 1", "leave the alias out"),
        ("UPDATE t SET v = 1 WHERE k = 1 IF NOT EXISTS", "INSERT takes IF NOT EXISTS"),
        ("DELETE FROM t WHERE k = 1 IF NOT EXISTS", "INSERT takes IF NOT EXISTS"),
        ("DROP TABLE IF NOT EXISTS t", "DROP takes IF EXISTS"),
        ("CREATE TABLE IF EXISTS t (k int PRIMARY KEY)", "CREATE takes IF NOT EXISTS"),
        ("INSERT INTO t (k) VALUES (1) IF EXISTS", "INSERT takes IF NOT EXISTS"),
        ("-- the tables\n/* none\nyet */\n", "empty"),
        ("SELECT * FROM t WHERE k IN %(keys)s", "pass {'keys': (1, 2)}"),
        ("INSERT INTO t JSON {'k': 1}", "json.dumps"),
        (r"\dt", "psql"),
        ("EXPLAIN SELECT * FROM t", "no EXPLAIN: execute(statement, trace=True)"),
        ("SET search_path = shop", "no SET of variables"),
        ("SELECT * FROM 't'", "text has single quotes"),
        ("SELECT k AS 'key' FROM t", "text has single quotes"),
        ("SELECT * FROM t WHERE 1=1 AND k = 1", "leave 1=1 out"),
        ("SELECT * FROM t WHERE ORDER BY c", "no condition after WHERE"),
        ("SELECT v || 'x' FROM t", "join texts in your program"),
        ("SELECT * FROM t WHERE k = 1 AND ", "nothing follows AND"),
        ("INSERT INTO t (k, at) VALUES (1, CURRENT_TIMESTAMP)", "toTimestamp(now())"),
        ("SELECT * FROM t WHERE v ILIKE 'a'", "no ILIKE"),
        ("SELECT * FROM t WHERE v ~* 'a'", "no ILIKE"),
        ("CREATE TABLE t (k int PRIMARY KEY, v jsonb)", "json.dumps"),
        ("INSERT INTO t SET k = 1", "INSERT INTO t (k, v) VALUES"),
        ("db/schema.cql", "the name of a file: read it"),
    ],
)
def test_sql_that_is_not_cql_gets_advice(statement: str, advice: str) -> None:
    """If a statement is SQL or a cqlsh command, the advice says what to write in CQL.

    :param advice: a part of the advice.
    """
    assert advice in str(advice_for_syntax_error(NO_VIABLE, statement))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM t WHERE k = 1",
        "SELECT * FROM t ORDER BY c LIMIT 3",
        "SELECT * FROM t ALLOW FILTERING",
        "UPDATE t USING TTL 5 SET v = 'a' WHERE k = 1",
        "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy'}",
        "INSERT INTO t (k, v) VALUES (1, 'a') IF NOT EXISTS",
        "INSERT INTO t (k, v) VALUES (1, 'it''s')",
        "INSERT INTO t (k, v) VALUES (uuid(), 'a, b)')",
        "INSERT INTO t (k, v) VALUES (true, null)",
        "INSERT INTO t (k, v) VALUES (1, (1, 2))",
        "ALTER TABLE t ADD column int",
        "ALTER TABLE t ADD v map<text, list<int>>",
    ],
)
def test_correct_statements_get_no_advice(statement: str) -> None:
    assert advice_for_syntax_error(NO_VIABLE, statement) is None


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part", ["-", "/**/", "/*", "*", " ", "WHERE ", "JSON ", "{", "'", "a.", "//"]
)
@pytest.mark.parametrize("is_syntax", [True, False])
def test_the_search_for_advice_ends_soon(part: str, is_syntax: bool) -> None:
    """The search for advice is quick, even for a statement of several megabytes.

    It runs on the event loop. The statements repeat parts that could make a search slow, for
    example hyphens, which start comments.
    """
    for statement in (part * 90 + "\nSELECT x", part * 3_000_000 + "\nSELECT x"):
        advice_for("ALLOW FILTERING: no viable alternative at input", statement, is_syntax)


def test_a_comparison_with_null_gets_advice() -> None:
    """If a statement compares a column with NULL, the advice says that CQL cannot search for nulls.

    The server asks for ALLOW FILTERING, which would not find nulls either.
    """
    message = "Cannot execute this query as it might involve data filtering: use ALLOW FILTERING"
    query = "SELECT * FROM t WHERE v = NULL"
    assert "CQL cannot look for nulls" in str(advice_for_refusal(message, query))


def test_markers_of_str_format_get_advice() -> None:
    for statement in ("SELECT * FROM t WHERE k = {}", "SELECT * FROM t WHERE k = {key}"):
        advice = advice_for_refusal("Invalid set literal for k of type int", statement)
        assert "? and :name when prepared, and not {}" in str(advice)


def test_a_misspelt_first_word_gets_a_suggestion() -> None:
    """For a misspelt first word, the advice suggests a similar word if there is one."""
    message = "line 1:0 no viable alternative at input 'SELCT' ([SELCT]...)"
    assert advice_for_syntax_error(message, "SELCT * FROM t") == (
        "no statement begins with SELCT; did you mean SELECT?"
    )
    message = "line 1:0 no viable alternative at input 'xyz' ([xyz]...)"
    assert advice_for_syntax_error(message, "xyz") == "no statement begins with xyz"


def test_a_parameter_whose_str_is_no_literal_gets_advice() -> None:
    """If the server's message has a "<" that is not in the query, the advice is about parameters.

    The "<" comes from the `str` of a parameter.
    """
    message = "line 1:32 no viable alternative at input '<' (... v) VALUES (1, [<]...)"
    advice = advice_for_syntax_error(message, "INSERT INTO t (k, v) VALUES (1, %s)")
    assert "str() is not a literal" in str(advice)


def test_a_dataclass_as_a_parameter_gets_advice() -> None:
    """If the server's message shows the `repr` of a dataclass, the advice is to register the class.

    An example is "Address(street=...)". If the query itself contains this string, there is no such
    advice.
    """
    message = "line 1:89 no viable alternative at input '=' (...(1, Address([street]=...)"
    advice = advice_for_syntax_error(message, "INSERT INTO t (k, v) VALUES (%s, %s)")
    assert "class Address" in str(advice)
    assert "register_user_type" in str(advice)
    query_with_call = "INSERT INTO t (k, v) VALUES (1, Address(street='a'))"
    assert advice_for_syntax_error(message, query_with_call) is None


def test_a_reserved_word_as_a_name_gets_advice() -> None:
    """For a syntax error at a reserved word, the advice is to write the word in double quotes."""
    statement = "CREATE TABLE t (k int PRIMARY KEY, order int)"
    advice = advice_for_syntax_error("line 1:49 mismatched input 'order' expecting ')'", statement)
    assert advice == 'order is a reserved word: as a name, write "order" in double quotes'
    # "ordre" is not a reserved word, so there is no advice.
    advice = advice_for_syntax_error("line 1:49 mismatched input 'ordre' expecting ')'", statement)
    assert advice is None


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("... use ALLOW FILTERING", "add an index"),
        ("ORDER BY is only supported when the partition key is restricted", "WHERE partition_key"),
        ('Unsupported "!=" relation: v != 1', "no != in WHERE"),
        ("table t2 does not exist", "lower case"),
        ("unconfigured table t2", "lower case"),
        ("No keyspace has been specified.", "keyspace.table"),
        ("Keyspace 'shop' does not exist", "CREATE KEYSPACE"),
        ("Keyspace 'shop' doesn't exist", "CREATE KEYSPACE"),
        ("Keyspace 'shop.t' does not exist", "without the table"),
        ("Keyspace '\"shop\"' does not exist", "pass the keyspace's name without quotes"),
        ("Invalid unset value for column c", "one value for each marker"),
        ("Undefined column name vv in table ks.t", "single quotes"),
        ("Some partition key parts are missing: k", "all columns of the key"),
        ("PRIMARY KEY part k found in SET part", "insert a new row"),
        ("Invalid null value in condition for column k", "a text that null= names"),
        ("Key length of 70000 is longer than maximum of 65535", "at most 65,535 bytes"),
        ("CQL Message of size 5242945 bytes exceeds allowed maximum of 4194304 bytes", "in parts"),
        ("Key may not be empty", "not as the whole partition key"),
        ("Invalid null value of timestamp", "the marker of TIMESTAMP or LIMIT got None"),
        ("Invalid null value of limit", "the marker of TIMESTAMP or LIMIT got None"),
        ("Unsupported null value for column embedding", "CQL cannot search for nulls"),
        ("Invalid null value for counter increment", "UNSET_VALUE to leave the counter"),
        ("Batch too large", "session.load"),
        ('Invalid STRING constant (1) for "k" of type int', "pass an int instead of a str"),
        ('Invalid STRING constant (1) for "k" of type bigint', "pass an int instead of a str"),
        ('Invalid STRING constant (0-0) for "k" of type uuid', "pass a uuid.UUID"),
        ('Invalid STRING constant (x) for "k" of type double', "pass a float or a Decimal"),
        ('Invalid STRING constant (true) for "k" of type boolean', "pass True or False"),
        ('Invalid INTEGER constant (5) for "k" of type list<int>', "pass a list"),
        ('Invalid STRING constant (5) for "k" of type frozen<set<int>>', "pass a set"),
        ('Invalid INTEGER constant (5) for "k" of type map<int, int>', "pass a dict"),
        ('Invalid INTEGER constant (1) for "k" of type text', "text has single quotes; as"),
        ('Invalid INTEGER constant (1) for "k" of type inet', "as a parameter, pass a str"),
        ('Invalid INTEGER constant (1) for "k" of type time', "pass a datetime.time"),
        ('Invalid FLOAT constant (1.7e9) for "k" of type timestamp', "int(seconds * 1000)"),
        ('Invalid FLOAT constant (1.7e9) for "k" of type date', "pass a datetime.date"),
        ('Invalid INTEGER constant (5) for "k" of type duration', "cassandra.util.Duration"),
        ("Invalid map literal for name of type text", "json.dumps(value)"),
        ("Invalid map literal for items of type list<int>", "as a parameter, pass a list"),
        ("Invalid set literal for m of type map<text, text>", "as a parameter, pass a dict"),
        ("Unexpected receiver type 'set<text>'; only list", "as a parameter, pass a set"),
        ("Unexpected receiver type 'map<int, int>'; only list", "as a parameter, pass a dict"),
        ("Unexpected receiver type 'text'; only list and vector", "json.dumps(value)"),
        ("cannot assign result of function system.now (type timeuuid)", "toTimestamp(now())"),
        ("Invalid map literal for a of type frozen<address>", "register_user_type"),
        ("Cannot infer type for term 'k' in selection clause", "names of columns"),
        ("Group by is currently only supported on the columns", "to_pandas()"),
        ("Altering column types is no longer supported", "add a column"),
        ("Unknown type ks.datetime", "timestamp (a datetime)"),
        ("No PRIMARY KEY specifed for table 'x'", "PRIMARY KEY ((partition)"),
        ("Non-frozen collections are not allowed inside collections", "frozen<...>"),
        ("Cannot provide custom timestamp for conditional updates", "USING TIMESTAMP"),
        ("Invalid statement in batch: only UPDATE, INSERT", "execute_concurrent"),
        ("Cannot include a counter statement in a logged batch", "BatchType.COUNTER"),
        ("Cannot include non-counter statement in a counter batch", "updates of counters alone"),
        ("Invalid operation (v = v + 1) for non counter column v", "IF v = ?"),
        ("Invalid version for TimeUUID type: 0xc", "uuid.uuid1()"),
        ("A TTL must be greater or equal to 0, but was -1", "630,720,000"),
        ("Invalid identifier k for deletion", "DELETE FROM t"),
        ("Unmatched column names/values", "as many values"),
        ("Table 'ks.t' already exists", "CREATE ... IF NOT EXISTS"),
        ("Column with name 'v' already exists", "ADD IF NOT EXISTS"),
        ("Cannot use selection function ttl on PRIMARY KEY part k", "of another column"),
        ("Unable to parse a date/time from '01/02/2026'", "ISO 8601"),
        ("Order by is currently only supported on the clustered columns", "clustering columns"),
        ("LIKE restriction is only supported on properly indexed columns", "SASI"),
        ("Invalid map literal for m: value 'b' is not of type int", "None"),
        ("Table 'ks.t' doesn't exist", "lower case"),
        ("Unrecognized strategy option {dcX}", "data centers"),
        ("ConsistencyLevel LOCAL_ONE is unsupported with Accord for read", "QUORUM"),
        ("Accord transactions are disabled on table (See", "transactional_mode = 'full'"),
        ("Unexpected receiver type 'frozen<address>'; only list", "register_user_type"),
        ("Invalid amount of bind variables", "second argument of execute"),
        ("SERIAL is not supported as conditional update commit", "serial_consistency_level"),
        ("You must use conditional updates for serializable writes", "serial_consistency_level"),
        ("SELECT DISTINCT queries must only request partition key columns", "make a set"),
        ("LIMIT must be strictly positive", "1 or more"),
        ("Unknown function 'lower'", "in your program"),
        ("Undefined column name current_timestamp in table ks.t", "toTimestamp(now())"),
        ("Cannot provide custom TTL for counter updates", "neither a TTL nor a timestamp"),
        ("Cannot provide custom timestamp for counter updates", "neither a TTL nor a timestamp"),
        ("table schema_columns does not exist", "system_schema.keyspaces"),
        ("unconfigured table schema_keyspaces", "system_schema.keyspaces"),
        ("keyspace information_schema does not exist", "system_schema.keyspaces"),
        ("You have to be logged in and not anonymous to perform this request", "auth_provider="),
        ("o.a.c.auth.CassandraRoleManager doesn't support PASSWORD", "Authenticator"),
        ("User ada has no SELECT permission on <table shop.t> or any of its parents", "SELECT ON"),
        ('Invalid STRING constant (89ab) for "b" of type blob', "bytes.fromhex"),
        ('Invalid FLOAT constant (NaN) for "k" of type int', "pass None"),
        ('Invalid FLOAT constant (1.5) for "k" of type bigint', "int(value)"),
        ("Unable to make int from '99999999999'", "bigint has 64 bits"),
        (
            "Unable to make unsigned int (for date) from: '1767270600000'",
            "pass value.date()",
        ),
        ("Invalid user type literal for m of type map<text, text>", "single quotes"),
        ("Invalid tuple type literal for m of type map<text, text>", "pass a dict"),
        ("Collection column 's' (set<text>) cannot be restricted by a 'IN' relation", "CONTAINS ?"),
        ("Column nothing was not found in table 'ks.t'", "cluster.metadata"),
        ("Cannot rename non PRIMARY KEY column v", "add a column"),
        ("Unknown type ks.bigserial", "uuid.uuid4()"),
        ("Batch with conditions cannot span multiple partitions", "execute the others"),
    ],
)
def test_errors_for_statements_that_could_be_parsed_get_advice(message: str, advice: str) -> None:
    """Messages of Cassandra and ScyllaDB about valid CQL lead to advice for any statement."""
    assert advice in str(advice_for_refusal(message, "SELECT"))


def test_an_unknown_property_of_a_table_gets_advice() -> None:
    advice = advice_for_syntax_error("Unknown property 'ttl'", "ALTER TABLE t WITH ttl = 5")
    assert "default_time_to_live (seconds)" in str(advice)


def test_a_grant_without_the_word_keyspace_gets_advice() -> None:
    message = "No keyspace has been specified. USE a keyspace, or explicitly specify ..."
    assert "ON KEYSPACE name" in str(advice_for_refusal(message, "GRANT SELECT ON shop TO r"))
    assert "ON KEYSPACE" not in str(advice_for_refusal(message, "SELECT * FROM t"))


def test_a_list_in_the_parentheses_of_in_gets_advice() -> None:
    """The advice for a list in the parentheses of IN does not mention quotes of a single value."""
    message = "Unexpected receiver type 'int'; only list and vector are expected"
    advice = advice_for_refusal(message, "SELECT * FROM t WHERE k IN (%s)")
    assert advice == "for several values, write IN %s and pass ((1, 2),)"
    assert "((1, 2),)" in str(advice_for_refusal(message, "SELECT * FROM t WHERE k IN (%s)"))
    assert "((1, 2),)" not in str(advice_for_refusal(message, "SELECT * FROM t WHERE k = %s"))


def test_only_the_column_of_in_gets_advice_about_several_values() -> None:
    message = 'Invalid STRING constant (1,2) for "k" of type int'
    statement = "UPDATE t SET {} = '1,2' WHERE {} IN ('1,2')"
    assert "((1, 2),)" in str(advice_for_refusal(message, statement.format("v", "k")))
    advice = str(advice_for_refusal(message, statement.format("k", "v")))
    assert "pass an int" in advice
    assert "((1, 2),)" not in advice


def test_names_with_a_table_in_front_get_advice() -> None:
    """If a column has its table's name in front, the advice is to leave the table out.

    Servers take the table for a column with a user-defined type.
    """
    message = "Undefined column name t in table ks.t"
    assert "leave t. out" in str(advice_for_refusal(message, "SELECT t.k FROM t"))
    assert "leave t. out" not in str(advice_for_refusal(message, "SELECT t FROM t"))


def test_names_with_a_hyphen_get_advice() -> None:
    """If a name contains a hyphen, the advice says so, because servers read it as a minus sign."""
    message = "line 1:18 mismatched input '-' expecting K_WITH (CREATE KEYSPACE my[-]...)"
    statement = "CREATE KEYSPACE my-ks WITH replication = {'class': 'SimpleStrategy'}"
    assert "a name with a hyphen" in str(advice_for_syntax_error(message, statement))


def test_markers_without_values_get_advice() -> None:
    """If a marker %s reaches the server, the advice is about missing values.

    The driver would have replaced the marker if the application had passed a value.
    """
    statement = "SELECT * FROM t WHERE k = %s"
    message = "line 1:26 no viable alternative at input '%' (... WHERE k = [%]...)"
    assert "? or :name" in str(advice_for_syntax_error(message, statement))
    # The driver has replaced the marker in this message by a value, so the marker is not the
    # reason.
    message = "line 1:28 mismatched input 'SORT' expecting EOF (... WHERE k = 1 [SORT]...)"
    assert advice_for_syntax_error(message, f"{statement} SORT k") is None


def test_words_that_are_no_names_get_no_advice_on_names() -> None:
    """There is no advice on names for a reserved word that cannot be a name.

    Here, the syntax error is at such a word.
    """
    message = "line 1:18 mismatched input 'USING' expecting '(' (CREATE INDEX ON t [USING]...)"
    assert advice_for_syntax_error(message, "CREATE INDEX ON t USING") is None


def test_names_given_by_as_get_advice() -> None:
    """If WHERE uses a name that AS gives, the advice says that it cannot.

    Without such a name, the unknown name may be a string without quotes.
    """
    message = "Undefined column name total in table ks.t"
    statement = "SELECT sum(v) AS total FROM t WHERE total > 5"
    assert "the name that AS gives" in str(advice_for_refusal(message, statement))
    assert "single quotes" in str(advice_for_refusal(message, "SELECT k FROM t WHERE total > 5"))


def test_unknown_errors_get_no_advice() -> None:
    assert advice_for_refusal("something else", "SELECT * FROM t") is None
    assert advice_for_syntax_error("something else", "SELECT * FROM t") is None


def test_the_advice_is_a_note_and_the_message_is_the_servers() -> None:
    """The advice is in the exception's `__notes__`, and its `str` is unchanged.

    Tracebacks show the notes.
    """
    with FakeNode() as node:
        node.prime("SELECT * FROM t JOIN w", error(ErrorCode.SYNTAX_ERROR, f"{NO_VIABLE} 'JOIN'"))
        with (
            Cluster([node.address], port=node.port) as cluster,
            pytest.raises(SyntaxException) as raised,
        ):
            cluster.connect().execute("SELECT * FROM t JOIN w")
    notes = "\n".join(vars(raised.value)["__notes__"])
    assert "CQL has no joins" in notes
    assert "no joins" not in str(raised.value)


def test_advice_ignores_the_values_of_parameters() -> None:
    """SQL words in the values of parameters cause no advice."""
    with FakeNode() as node:
        node.prime(
            "INSERT INTO t (k) VALUES ('a OR b JOIN c')", error(ErrorCode.SYNTAX_ERROR, NO_VIABLE)
        )
        with (
            Cluster([node.address], port=node.port) as cluster,
            pytest.raises(SyntaxException) as raised,
        ):
            cluster.connect().execute("INSERT INTO t (k) VALUES (%s)", ("a OR b JOIN c",))
    notes = "\n".join(vars(raised.value)["__notes__"])
    assert "JOIN" not in notes
    assert "no OR" not in notes


def notes_of_refused_batch(message: str, *statements: str) -> str:
    """Return the notes on the error of a batch that a node refuses with this syntax error."""
    with FakeNode() as node:
        node.prime(Opcode.BATCH, error(ErrorCode.SYNTAX_ERROR, message))
        with Cluster([node.address], port=node.port) as cluster:
            batch = BatchStatement()
            for statement in statements:
                batch.add(statement)
            with pytest.raises(SyntaxException) as raised:
                cluster.connect().execute(batch)
    return "\n".join(vars(raised.value)["__notes__"])


def test_batches_get_the_advice_of_their_strings() -> None:
    """For a batch, all its query strings are searched for advice.

    The driver cannot know which statement the server means.
    """
    message = "line 1:29 no viable alternative at input '%' (...VALUES ([%]...)"
    correct = "INSERT INTO t (k) VALUES (1)"
    notes = notes_of_refused_batch(message, correct, "INSERT INTO t (k) VALUES (%s)")
    assert "second argument of execute" in notes
    assert "empty" not in notes
    assert "empty" in notes_of_refused_batch("line 0:-1 no viable alternative", correct, "")


def test_a_column_with_the_name_of_the_keyspace_gets_no_advice_for_tables() -> None:
    message = "Undefined column name shop in table shop.orders"
    wrong_column = "SELECT id, shop FROM shop.orders WHERE id = 1"
    assert "in front" not in str(advice_for_refusal(message, wrong_column))
    for statement in ("SELECT id, shop.name FROM s", "SELECT id FROM s WHERE shop.id = 1"):
        assert "in front" in str(advice_for_refusal(message, statement))


@pytest.mark.parametrize("code", [ErrorCode.READ_FAILURE, ErrorCode.SERVER_ERROR])
def test_a_paging_state_of_another_statement_gets_advice(code: ErrorCode) -> None:
    """If a request with a `paging_state` fails, the advice explains the usual reason.

    The state must come from the same statement. Otherwise, servers fail with an error that does not
    say why.
    """
    with FakeNode() as node:
        node.prime("SELECT k FROM t", error(code, "failed"))
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            for paging_state, is_advised in ((b"state", True), (None, False)):
                with pytest.raises(Exception, match="failed") as raised:
                    session.execute("SELECT k FROM t", paging_state=paging_state)
                notes = "\n".join(vars(raised.value)["__notes__"])
                assert ("the same statement" in notes) is is_advised


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("SELECT COUNT(*) FROM t", "session.count(table)"),
        ("SELECT * FROM t WHERE v = 1 ALLOW FILTERING", "session.scan(table, where)"),
        ("SELECT count(*) FROM t WHERE k = 1", None),
        ("SELECT * FROM t WHERE v = 'count(*) ALLOW FILTERING'", None),
    ],
)
def test_reads_that_are_too_large_for_their_time_get_advice(
    statement: str, advice: str | None
) -> None:
    """If a count or a filtering read times out, the advice is to use `Session.count` or `scan`.

    The timeout may be the server's or the client's.
    """
    with FakeNode() as node:
        node.prime(statement, error(ErrorCode.READ_TIMEOUT))
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            failures: list[Exception] = []
            for timeout in (None, 0):
                with pytest.raises((ReadTimeout, OperationTimedOut)) as raised:
                    session.execute(statement, timeout=timeout)
                failures.append(raised.value)
    assert [type(failure) for failure in failures] == [ReadTimeout, OperationTimedOut]
    for failure in failures:
        notes = "\n".join(vars(failure).get("__notes__", []))
        assert advice in notes if advice else "session." not in notes
