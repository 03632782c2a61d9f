"""Test `plan_steps`: the statement of a scan, and the ranges into which it divides the table."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra._steps import adrive
from cassandra.bulk.ranges import FIRST, LAST, TokenRange
from cassandra.bulk.scan_plan import (
    BYTES_OF_A_RANGE,
    AggregateOfRanges,
    ScanStatement,
    performer,
    plan_steps,
)
from cassandra.bulk.tasks import scan_tasks
from cassandra.cluster import Cluster, Session
from cassandra.errors import DriverException
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing.fake import ErrorCode, FakeCluster, error, rows
from tests.unit.metadata.schema.rows import column, schema
from tests.waiting import until

# The query with which a scan reads the estimated sizes of a table.
ESTIMATES = (
    "SELECT range_start, range_end, mean_partition_size, partitions_count FROM "
    "system.size_estimates WHERE keyspace_name = 'a' AND table_name = 't0'"
)
ESTIMATE_COLUMNS = [
    ("range_start", "text"),
    ("range_end", "text"),
    ("mean_partition_size", "bigint"),
    ("partitions_count", "bigint"),
]
# The condition that limits a scan's query to a token range.
TOKENS = 'token("id") > ? AND token("id") <= ?'
# Without estimates, a plan aims at four ranges for each page in flight. `plan` allows one page in
# flight.
RANGES_WITHOUT_ESTIMATES = 4
# Two nodes with one token each divide the ring into three ranges. A plan cuts each of these into a
# whole number of parts, so it may have a few ranges more than it aims at.
MORE_RANGES = 3


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield two nodes that have the table `a.t0` and no size estimates."""
    with FakeCluster(2) as running_nodes:
        for node in running_nodes.nodes:
            node.schema = schema("a", "b")
            node.prime(ESTIMATES, rows(ESTIMATE_COLUMNS))
        yield running_nodes


@pytest.fixture
def session(nodes: FakeCluster) -> Iterator[Session]:
    with Cluster(
        nodes.contact_points,
        port=nodes.port,
        reconnection_policy=ConstantReconnectionPolicy(delay=0.01, max_attempts=None),
    ) as cluster:
        yield cluster.connect()


def plan(
    session: Session,
    columns: Any = None,
    where: str | None = None,
    *parameters: Any,
    **options: Any,
) -> ScanStatement:
    """Execute the steps of a plan like a blocking scan, and return the statement with its ranges.

    :param columns: the selected columns, as names or in CQL. None selects all columns.
    :param where: a further condition in CQL, whose bind markers get the `parameters`.
    :param options: `splits`, the number of ranges (4 by default; None if the size estimates
        decide), and `concurrency`, the number of pages in flight (1 by default).
    """
    settings = {"splits": 4, "concurrency": 1, **options}
    steps = plan_steps(
        session, "a.t0", columns, where, parameters, settings["splits"], settings["concurrency"]
    )
    # Each step is a function of the session. Send its result, or the error that it raised, to the
    # plan.
    outcome: Any = None
    is_error = False
    while True:
        try:
            step = steps.throw(outcome) if is_error else steps.send(outcome)
        except StopIteration as end:
            statement: ScanStatement = end.value
            return statement
        try:
            outcome, is_error = step(session), False
        except DriverException as error:
            outcome, is_error = error, True


# -- the statement ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "where", "expected"),
    [
        (None, None, f'SELECT "id", "c0" FROM "a"."t0" WHERE {TOKENS}'),
        (["c0"], None, f'SELECT "c0" FROM "a"."t0" WHERE {TOKENS}'),
        ("c0, ttl(c0)", None, f'SELECT c0, ttl(c0) FROM "a"."t0" WHERE {TOKENS}'),
        (
            ["id", 'odd"name'],
            "c0 = ?",
            f'SELECT "id", "odd""name" FROM "a"."t0" WHERE {TOKENS} AND c0 = ? ALLOW FILTERING',
        ),
        (
            "id, count(*)",
            "GROUP BY id",
            f'SELECT id, count(*) FROM "a"."t0" WHERE {TOKENS} GROUP BY id ALLOW FILTERING',
        ),
        (
            ["id"],
            "per partition limit ?",
            f'SELECT "id" FROM "a"."t0" WHERE {TOKENS} per partition limit ? ALLOW FILTERING',
        ),
    ],
)
def test_the_query_selects_a_token_range(
    session: Session, columns: Any, where: str | None, expected: str
) -> None:
    """The statement of a scan selects a token range; the application's condition follows.

    With a condition, the statement ends with ALLOW FILTERING, because the condition may need it.
    """
    assert plan(session, columns, where, 5).prepared.query_string == expected


@pytest.mark.parametrize(
    ("columns", "where"),
    [
        ("count(*)", None),
        ("id, MAX (c0)", None),
        ("avg(c0) AS mean", "c0 > 1"),
        ("system.sum(c0)", None),
        ("a.own_sum(c0)", None),
        ('"Total"(c0)', None),
        ('id, A . "Total" (c0)', None),
        ('b."other"(c0)', None),
        ('"max"(c0)', None),
        ("count/* all */(*)", None),
        ("count -- all\n(*)", None),
        (["count(*)"], None),
        (["id", "max(c0)"], None),
    ],
)
def test_aggregates_of_each_range_are_refused(
    nodes: FakeCluster, session: Session, columns: Any, where: str | None
) -> None:
    """A scan refuses aggregates, because the server would return one result for each token range.

    A count, which adds these results, selects an `AggregateOfRanges` instead.
    """
    metadata = session.cluster.metadata
    metadata.keyspaces["a"].aggregates = {"own_sum(int)": object(), "Total(int)": object()}
    metadata.keyspaces["b"].aggregates = {"other(int)": object()}
    with pytest.raises(ValueError, match="would be computed for each token range"):
        plan(session, columns, where)
    count_plan = plan(session, AggregateOfRanges("count(*)"))
    assert count_plan.prepared.query_string.startswith("SELECT count(*) FROM")


def test_counts_of_groups_are_refused(session: Session) -> None:
    """A count refuses GROUP BY, as it would count only the rows of the first group of each page."""
    for group in ("GROUP BY id", "GROUP/* */BY id"):
        with pytest.raises(ValueError, match=r"a count has no GROUP BY.*'count\(\*\)', where='c0 "):
            plan(session, AggregateOfRanges("count(*)"), f"c0 > 1 {group}")


def test_selectors_in_a_list_of_names_are_refused(session: Session) -> None:
    """A list of columns may only have names, so selectors in a list are refused.

    A scan quotes the names of a list, so servers would look for a column named "writetime(c0)".
    """
    with pytest.raises(ValueError, match=r"write columns='id, writetime\(c0\)' for selectors"):
        plan(session, ["id", "writetime(c0)"])


@pytest.mark.parametrize("where", ["c0 > 1 LIMIT 10", "c0 = ? limit ?", "c0 > 1\nLimit 10"])
def test_a_limit_of_each_range_is_refused(session: Session, where: str) -> None:
    """A LIMIT in the condition is refused, because it would apply to each token range."""
    parameters = [1] * where.count("?")
    with pytest.raises(ValueError, match=r"each token range of the scan: write limit=\.\.\."):
        plan(session, None, where, *parameters)


def test_a_search_by_a_vector_is_refused(session: Session) -> None:
    """A scan refuses ORDER BY ... ANN OF, because servers require a LIMIT for it."""
    for where in ("c0 > 1 ORDER BY v ANN OF ?", "c0 > 1\norder by v ann\nof [1, 2] LIMIT 5"):
        with pytest.raises(ValueError, match=r"a scan cannot do: write session\.execute\('SELECT"):
            plan(session, None, where, *[[1, 2]] * where.count("?"))


def test_what_applies_to_partitions_and_quoted_words_is_accepted(session: Session) -> None:
    """A scan accepts limits and aggregates per partition, and their keywords in quotes or names.

    A partition is in one token range, so its limits and aggregates are correct. The words "limit"
    and "count" in quotes, or as names of columns, are neither limits nor aggregates.
    """
    cases: list[tuple[str | None, str | None]] = [
        (None, "c0 > 1 PER PARTITION LIMIT 1"),
        ("id, count(*)", "c0 > 1 GROUP BY id"),
        (None, "c0 = 'no limit 5'"),
        (None, '"limit" = 5'),
        ('count, max, ttl(c0), to_date("count(")', None),
        ('"count(x)", "max", "Max"(c0), total(c0)', None),
    ]
    for columns, where in cases:
        plan(session, columns, where)


@pytest.mark.parametrize("where", ["WHERE c0 = 5", " where\tc0 = 5"])
def test_a_condition_with_the_keyword_is_refused(session: Session, where: str) -> None:
    """`where=` is refused if it begins with the keyword WHERE."""
    with pytest.raises(ValueError, match="where is the condition alone, without WHERE"):
        plan(session, None, where)


@pytest.mark.parametrize(
    ("where", "without"),
    [
        ("c0 = 5;", "a semicolon"),
        ("c0 = 5 ALLOW FILTERING", "ALLOW FILTERING, which is added to it"),
        ("c0 = 5\nallow  filtering ; ", "ALLOW FILTERING, which is added to it"),
    ],
)
def test_a_condition_with_the_end_of_a_statement_is_refused(
    session: Session, where: str, without: str
) -> None:
    """`where=` is refused if it ends with a semicolon or with ALLOW FILTERING."""
    with pytest.raises(ValueError, match=f"condition alone, without {without}, but is"):
        plan(session, None, where)


@pytest.mark.parametrize(
    ("columns", "advice"),
    [
        (["ID"], "write 'id'$"),
        ([" id"], "write 'id'$"),
        (["*"], "leave columns out for all of them"),
        (["id", "c0 AS c"], "write columns='id, c0 AS c' for selectors of CQL"),
    ],
)
def test_names_that_the_table_lacks_are_refused(
    session: Session, columns: list[str], advice: str
) -> None:
    """Names of columns that the table lacks are refused, and the error suggests what to write."""
    with pytest.raises(ValueError, match=rf"table a\.t0 has no column '.*', but id, .*{advice}"):
        plan(session, columns)


@pytest.mark.parametrize("marker", ["%s", "%(low)s"])
def test_markers_of_other_statements_are_refused(session: Session, marker: str) -> None:
    """A condition must have `?` as bind markers; `%s` and `%(name)s` are refused before a request.

    The server's error for these markers suggested `execute`, which does not fit a scan.
    """
    match = re.escape(f"where has {marker}, but the markers of a condition are written ?, and")
    with pytest.raises(ValueError, match=match):
        plan(session, None, f"c0 > {marker}", 1)
    plan(session, None, "c0 = '%s'")


@pytest.mark.parametrize("columns", ["c0 > 5", "id = 'x'", "c0 >= ?", "c0<1"])
def test_a_condition_in_place_of_columns_is_refused(session: Session, columns: str) -> None:
    """If a condition is passed as `columns`, the error says to pass it as `where`."""
    match = re.escape(f"{columns!r} is a condition: write where={columns!r}")
    with pytest.raises(ValueError, match=match):
        plan(session, columns)


def test_selectors_with_signs_of_comparisons_are_no_conditions(session: Session) -> None:
    """Selectors with comparison characters in quotes or type names are not taken for conditions."""
    for columns in ('"a=b", id', "id, (list<int>)[1] AS numbers", "m['>']"):
        plan(session, columns)


def test_a_range_is_bound_with_the_values_of_the_condition(
    session: Session, nodes: FakeCluster
) -> None:
    """`bind` sets the range, the condition's values, the page size and the consistency level.

    The bound statement is idempotent. Its values are the bounds of the range and the value of the
    condition.
    """
    markers = [("a", "bigint"), ("b", "bigint"), ("c0", "int")]
    query = f'SELECT "c0" FROM "a"."t0" WHERE {TOKENS} AND c0 = ? ALLOW FILTERING'
    nodes.prime_prepare(query, markers, [("c0", "int")])
    statement = plan(session, ["c0"], "c0 = ?", 7)
    token_range = TokenRange(-5, 9)
    bound = statement.bind(token_range, 500, ConsistencyLevel.QUORUM)
    assert bound.values == [
        (-5).to_bytes(8, "big", signed=True),
        (9).to_bytes(8, "big"),
        (7).to_bytes(4, "big"),
    ]
    assert bound.fetch_size == 500
    assert bound.is_idempotent
    assert bound.consistency_level == ConsistencyLevel.QUORUM
    assert bound.routing_key == token_range.routing_key
    # None leaves the consistency level to the session's execution profile.
    without_level = statement.bind(token_range, 500, None)
    assert without_level.consistency_level is None


def test_markers_of_selectors_get_the_first_values(session: Session, nodes: FakeCluster) -> None:
    """The values of markers in selectors come before the bounds of the range.

    Otherwise, the bounds would be bound to these markers, and rows and values would be wrong.
    """
    token_marker = ("partition key token", "bigint")
    nodes.prime_prepare(
        f'SELECT c0 + (bigint) ? FROM "a"."t0" WHERE {TOKENS} AND c0 = ? ALLOW FILTERING',
        [("[selection]", "bigint"), token_marker, token_marker, ("c0", "int")],
        [("c0", "bigint")],
    )
    statement = plan(session, "c0 + (bigint) ?", "c0 = ?", 100, 7)
    bound = statement.bind(TokenRange(-5, 9), 500, None)
    assert bound.values == [
        (100).to_bytes(8, "big"),
        (-5).to_bytes(8, "big", signed=True),
        (9).to_bytes(8, "big"),
        (7).to_bytes(4, "big"),
    ]


def test_a_table_that_is_not_on_the_ring_is_read_at_once(nodes: FakeCluster) -> None:
    """With another partitioner, whose tokens cannot be split, the whole table is one range."""
    for node in nodes.nodes:
        node.partitioner = "org.apache.cassandra.dht.RandomPartitioner"
        node.tokens = ("5",)
    with Cluster(nodes.contact_points, port=nodes.port) as cluster:
        statement = plan(cluster.connect())
    assert statement.prepared.query_string == 'SELECT "id", "c0" FROM "a"."t0"'
    assert statement.ranges == [TokenRange(FIRST, LAST)]
    bound = statement.bind(statement.ranges[0], 500, None)
    assert bound.values == []
    assert bound.routing_key is None
    # No node was asked for size estimates.
    assert not nodes.queries(ESTIMATES)


def test_virtual_tables_are_read_at_once(nodes: FakeCluster) -> None:
    """A virtual table is one range, because it has no tokens: each node has its own rows of it."""
    for node in nodes.nodes:
        node.schema = {
            "system_virtual_schema.keyspaces": [{"keyspace_name": "a"}],
            "system_virtual_schema.tables": [{"keyspace_name": "a", "table_name": "t0"}],
            "system_virtual_schema.columns": schema("a")["system_schema.columns"],
        }
    with Cluster(nodes.contact_points, port=nodes.port) as cluster:
        statement = plan(cluster.connect())
    assert statement.prepared.query_string == 'SELECT "id", "c0" FROM "a"."t0"'
    assert statement.ranges == [TokenRange(FIRST, LAST)]


# -- columns that the metadata lacks --------------------------------------------------------------


def add_column(nodes: FakeCluster, name: str) -> None:
    """Add a column to the table `a.t0`, without an event."""
    for node in nodes.nodes:
        node.schema["system_schema.columns"].append(
            column("a", "t0", name, "regular", -1, type="int")
        )


def test_columns_that_the_metadata_lacks_are_read(session: Session, nodes: FakeCluster) -> None:
    """A scan of all columns also reads a column that the metadata lack.

    The event of a new column may not have arrived yet.
    """
    assert list(session.cluster.metadata.keyspaces["a"].tables["t0"].columns) == ["id", "c0"]
    add_column(nodes, "new")
    query = plan(session).prepared.query_string
    assert query == f'SELECT "id", "c0", "new" FROM "a"."t0" WHERE {TOKENS}'
    # The application has chosen these columns itself.
    assert plan(session, ["c0"]).prepared.query_string.startswith('SELECT "c0" FROM')


def test_the_metadata_is_used_if_it_cannot_be_read_again(
    session: Session, nodes: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the columns differ, and the metadata cannot be read again, a scan does not fail."""

    def refuse(*arguments: Any, **options: Any) -> None:
        raise DriverException("no control connection")

    monkeypatch.setattr(session.cluster, "refresh_table_metadata", refuse)
    add_column(nodes, "new")
    assert plan(session).prepared.query_string == f'SELECT "id", "c0" FROM "a"."t0" WHERE {TOKENS}'


def test_columns_of_compact_tables_are_not_compared(session: Session, nodes: FakeCluster) -> None:
    """If a table has COMPACT STORAGE, its columns are not compared with those of the schema.

    The metadata of such a table leave out columns that the schema has.
    """
    session.cluster.metadata.keyspaces["a"].tables["t0"].is_compact_storage = True
    add_column(nodes, "hidden")
    assert plan(session).prepared.query_string == f'SELECT "id", "c0" FROM "a"."t0" WHERE {TOKENS}'


def test_the_metadata_is_used_if_the_columns_cannot_be_read(
    session: Session, nodes: FakeCluster
) -> None:
    """A scan uses the metadata if no server answers the query of the columns."""
    nodes.prime(
        "SELECT column_name FROM system_schema.columns "
        "WHERE keyspace_name = 'a' AND table_name = 't0'",
        error(ErrorCode.UNAUTHORIZED),
    )
    add_column(nodes, "new")
    assert plan(session).prepared.query_string == f'SELECT "id", "c0" FROM "a"."t0" WHERE {TOKENS}'


# -- tables that the metadata lacks ----------------------------------------------------------------

# The INSERT of a load of the table `a.t0`.
INSERT = "INSERT INTO a.t0 (id, c0) VALUES (?, ?)"


def create_table(nodes: FakeCluster) -> None:
    """Create the table `a.t0`, without an event."""
    for node in nodes.nodes:
        node.schema = schema("a")
        insert = node.prime_prepare(INSERT, [("id", "int"), ("c0", "int")], pk_indexes=[0])
        insert.keyspace, insert.table = "a", "t0"


@pytest.fixture(params=["no table", "no keyspace", "disabled", "only another keyspace"])
def unknown_table(request: pytest.FixtureRequest, nodes: FakeCluster) -> dict[str, Any]:
    """Let the nodes have no table `a.t0`, and return settings of a cluster that does not know it.

    Call `create_table` after the cluster has connected.
    """
    for node in nodes.nodes:
        node.schema = schema("a" if request.param == "no table" else "b")
        for rows_of_table in node.schema.values():
            # This table has another name, so the metadata only have the keyspace.
            for row in rows_of_table:
                if "table_name" in row:
                    row["table_name"] = "other"
    settings: dict[str, Any] = {"contact_points": nodes.contact_points, "port": nodes.port}
    if request.param == "disabled":
        settings["schema_metadata_enabled"] = False
    elif request.param == "only another keyspace":
        settings["schema_metadata_keyspaces"] = ["b"]
    return settings


@pytest.mark.parametrize("call", ["load", "all columns", "some columns", "tasks"])
def test_a_table_that_the_metadata_lacks_is_looked_up(
    nodes: FakeCluster, unknown_table: dict[str, Any], call: str
) -> None:
    """Before a scan or load says that a table does not exist, it asks a server.

    The metadata lack a table for a moment if another client has just created it. Without schema
    events or schema metadata, they lack it for ever.
    """
    with Cluster(**unknown_table) as cluster:
        session = cluster.connect()
        create_table(nodes)

        def use() -> object:
            if call == "load":
                return session.load("a.t0", [(1, 2)], progress=False).written == 1
            if call == "tasks":
                return scan_tasks(session, "a.t0", ["id"], splits=1)
            return plan(session, None if call == "all columns" else ["id"])

        if "schema_metadata_keyspaces" in unknown_table:
            with pytest.raises(ValueError, match=r"'a' is not read, .*keyspaces=\['b'\]: add the"):
                use()
        else:
            assert use()


@pytest.mark.parametrize("call", ["load", "all columns", "some columns"])
async def test_a_table_that_the_metadata_lacks_is_looked_up_on_asyncio(
    nodes: FakeCluster, unknown_table: dict[str, Any], call: str
) -> None:
    """The asyncio API also asks a server before it says that a table does not exist."""
    async with aio.Cluster(**unknown_table) as cluster:
        session = await cluster.connect()
        create_table(nodes)

        async def use() -> object:
            if call == "load":
                return (await session.load("a.t0", [(1, 2)], progress=False)).written == 1
            columns = None if call == "all columns" else ["id"]
            steps = plan_steps(session, "a.t0", columns, None, (), 4, 1)
            return await adrive(steps, performer(session))

        if "schema_metadata_keyspaces" in unknown_table:
            with pytest.raises(ValueError, match=r"'a' is not read, .*keyspaces=\['b'\]: add the"):
                await use()
        else:
            assert await use()


def test_a_table_that_does_not_exist(
    nodes: FakeCluster, unknown_table: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the servers have no such table either, the error names a setting that may be why."""
    advice = next((name for name in unknown_table if name.startswith("schema_")), "")
    with Cluster(**unknown_table) as cluster:
        session = cluster.connect()
        for _ in range(2):
            with pytest.raises(ValueError, match=f"'a'.*{advice}"):
                session.load("a.t0", [(1, 2)], progress=False)

        def refuse(*arguments: Any, **options: Any) -> None:
            raise DriverException("no control connection")

        for name in ("refresh_table_metadata", "refresh_keyspace_metadata"):
            monkeypatch.setattr(session.cluster, name, refuse)
        with pytest.raises(ValueError, match=r"no control connection|schema_metadata_keyspaces"):
            plan(session)


# -- the ranges ------------------------------------------------------------------------------------


def widths(statement: ScanStatement) -> list[float]:
    """Return the width of each range as a share of the ring.

    Fail if the ranges have a gap.
    """
    ranges = statement.ranges
    assert ranges[0].start == FIRST
    assert ranges[-1].end == LAST
    for token_range, next_range in itertools.pairwise(ranges):
        assert token_range.end == next_range.start
    return [(token_range.end - token_range.start) / (LAST - FIRST) for token_range in ranges]


@pytest.mark.parametrize(
    ("splits", "concurrency", "expected"), [(40, 1, 40), (None, 3, 12), (None, 8, 32)]
)
def test_a_table_without_estimates_has_ranges_of_equal_width(
    session: Session, splits: int | None, concurrency: int, expected: int
) -> None:
    """Without size estimates, ranges have equal width.

    If `splits` is None, there are four ranges for each page in flight.
    """
    shares = widths(plan(session, splits=splits, concurrency=concurrency))
    assert expected <= len(shares) <= expected + MORE_RANGES
    assert max(shares) == pytest.approx(1 / expected, rel=0.3)


def estimates(*partition_counts: tuple[int, int, int]) -> Any:
    """Return a node's response with size estimates.

    :param partition_counts: for each estimate, the start token, the end token, and the number of
        partitions of 1 MiB.
    """
    return rows(
        ESTIMATE_COLUMNS,
        [(str(start), str(end), 1 << 20, count) for start, end, count in partition_counts],
    )


def test_a_range_has_about_as_many_bytes_as_any_other(session: Session, nodes: FakeCluster) -> None:
    """Each range has about the same number of bytes: it is narrower where estimates are larger.

    `splits` determines how many ranges there are. If `splits` is None, the sum of the estimates of
    all nodes determines the number.
    """
    # Each partition of the estimates has 1 MiB, so shift the bytes of a range by 20 bits.
    partitions = 90 * (BYTES_OF_A_RANGE >> 20)
    nodes[0].prime(ESTIMATES, estimates((FIRST, 0, partitions)))
    nodes[1].prime(ESTIMATES, estimates((0, LAST, partitions // 9)))
    statement = plan(session, splits=None)
    # Check that the ranges have no gap.
    widths(statement)
    # There is one range for each BYTES_OF_A_RANGE bytes: 90 ranges below the token 0, and 10 above.
    below_zero = [token_range for token_range in statement.ranges if token_range.end <= 0]
    assert 100 <= len(statement.ranges) <= 100 + MORE_RANGES
    assert 88 <= len(below_zero) <= 92
    # `splits` determines the number of ranges, and the estimates determine their borders. Nine
    # tenths of the bytes are below the token 0, and so are 18 of the 20 ranges.
    statement = plan(session, splits=20)
    assert 20 <= len(statement.ranges) <= 20 + MORE_RANGES
    assert 16 <= sum(token_range.end <= 0 for token_range in statement.ranges) <= 20


def test_incomplete_estimates_are_left_out(session: Session, nodes: FakeCluster) -> None:
    """Estimates without a bound, and estimates whose number or size is null or 0, are ignored."""
    huge = 1000 * BYTES_OF_A_RANGE
    incomplete = [
        (None, "0", huge, 1),
        ("0", None, huge, 1),
        ("0", "5", None, 1),
        ("0", "5", huge, None),
        ("0", "5", 0, 1),
        ("0", "5", huge, 0),
    ]
    for node in nodes.nodes:
        node.prime(ESTIMATES, rows(ESTIMATE_COLUMNS, incomplete))
    range_count = len(plan(session, splits=None).ranges)
    assert RANGES_WITHOUT_ESTIMATES <= range_count <= RANGES_WITHOUT_ESTIMATES + MORE_RANGES


def test_a_scan_works_without_the_estimates_of_some_nodes(
    session: Session, nodes: FakeCluster
) -> None:
    """A plan does not ask nodes that are down for estimates, and ignores nodes that fail."""
    # Each partition of the estimates has 1 MiB.
    partitions = 40 * (BYTES_OF_A_RANGE >> 20)
    nodes[0].prime(ESTIMATES, error(ErrorCode.OVERLOADED))
    nodes[1].prime(ESTIMATES, estimates((FIRST, LAST, partitions)))
    # There is one range for each BYTES_OF_A_RANGE bytes.
    assert 40 <= len(plan(session, splits=None).ranges) <= 40 + MORE_RANGES
    requested_addresses = [request.connection.node.address for request in nodes.queries(ESTIMATES)]
    assert sorted(requested_addresses) == nodes.contact_points
    nodes.stop_node(nodes[1])
    until(lambda: any(host.is_up is False for host in session.cluster.metadata.all_hosts()))
    # Now there are no estimates: the first node responds with an error, and the second is down.
    range_count = len(plan(session, splits=None).ranges)
    assert RANGES_WITHOUT_ESTIMATES <= range_count <= RANGES_WITHOUT_ESTIMATES + MORE_RANGES
    # The first plan has asked two nodes, and the second plan only the node that is up.
    assert len(nodes.queries(ESTIMATES)) == 3
