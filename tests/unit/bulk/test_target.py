"""Test the plan of a load's target: the table, and the statement that writes a row of the table."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.bulk.target import (
    Traits,
    check_statement_using,
    check_static_counters,
    columns_of,
    full_name,
    names_of_columns,
    names_of_markers,
    order_of_statement,
    owners_in,
    plan_of,
    positions_in,
    short_key_plans,
    short_key_widths,
    static_plan,
    table_of,
    traits_of,
    written_table,
)
from cassandra.metadata import ColumnMetadata, KeyspaceMetadata, TableMetadata

# The arguments of `plan_of` for a load without options.
NO_OPTIONS: dict[str, Any] = {
    "ttl": None, "ttl_column": None, "timestamp": None, "timestamp_column": None, "counters": False,
}  # fmt: skip


def table_metadata(**types: str) -> TableMetadata:
    """Return a table with the partition key `customer` and the clustering column `placed`.

    :param types: the CQL types of the columns. Columns whose names begin with "all_" are static.
    """
    metadata = TableMetadata("ks", "Orders")
    for name, type_name in types.items():
        metadata.columns[name] = ColumnMetadata(
            metadata, name, type_name, is_static=name.startswith("all_")
        )
    metadata.partition_key = [metadata.columns["customer"]]
    metadata.clustering_key = [metadata.columns["placed"]]
    return metadata


# A table whose primary key is (customer, placed).
ORDERS = table_metadata(customer="uuid", placed="timestamp", total="decimal", all_names="text")


def test_columns_have_the_order_of_select_all() -> None:
    """The columns of the key come first, then static columns, then regular columns.

    This is the order of ``SELECT *``, in which a load of tuples takes the values. The metadata have
    the columns outside the key by name, so their order would swap columns.
    """
    mixed = table_metadata(
        customer="uuid", placed="timestamp", a="text", all_names="text", all_notes="text", z="text"
    )
    order = ["customer", "placed", "all_names", "all_notes", "a", "z"]
    assert names_of_columns(mixed) == order
    assert query_of(mixed).startswith(
        'INSERT INTO ks."Orders" (customer, placed, all_names, all_notes, a, z) VALUES'
    )
    assert names_of_columns(ORDERS) == ["customer", "placed", "all_names", "total"]


def query_of(metadata: TableMetadata, *columns: str, **options: Any) -> str:
    """Return the CQL that writes a row of these columns; without names, of all columns."""
    return plan_of(metadata, columns, **{**NO_OPTIONS, **options}).text


def test_the_map_of_super_columns_is_left_out() -> None:
    """Servers fail if a statement names the map without a name of a table of super columns.

    Static super columns have one clustering column, and their map can be read.
    """
    table = table_metadata(customer="text", placed="text", line="text", total="text")
    table.columns[""] = ColumnMetadata(table, "", "map<text, text>")
    table.is_compact_storage, table.is_cql_compatible = True, False
    assert names_of_columns(table) == ["customer", "placed", "line", "total", ""]
    assert not short_key_widths(table)
    table.clustering_key.append(table.columns["line"])
    assert names_of_columns(table) == ["customer", "placed", "line", "total"]
    assert not short_key_widths(table)
    assert query_of(table) == (
        'INSERT INTO ks."Orders" (customer, placed, line, total) VALUES (?, ?, ?, ?)'
    )


def test_rows_with_only_static_columns_have_a_statement_of_their_own() -> None:
    """`static_plan` returns a second INSERT for rows that set only static columns.

    If the clustering columns of a row are null, the load writes only its partition key and static
    columns.
    """

    def statement_for(*columns: str, **using: Any) -> str | None:
        """Return the CQL for rows with only static columns; None if the load needs no such CQL.

        :param columns: the columns of the load; by default all.
        :param using: for TTL and TIMESTAMP, a pair: the fixed value, and the name of the field that
            has the value of each row.
        """
        plan = plan_of(ORDERS, columns, **NO_OPTIONS)
        using_clauses = {"TTL": (None, None), "TIMESTAMP": (None, None), **using}
        return static_plan(ORDERS, plan, using_clauses)

    insert = 'INSERT INTO ks."Orders" (customer, all_names) VALUES (?, ?)'
    assert statement_for() == insert
    insert_with_times = statement_for(TTL=(5, None), TIMESTAMP=(None, "at"))
    assert insert_with_times == f"{insert} USING TTL 5 AND TIMESTAMP ?"
    # A load without static columns needs no second statement.
    assert statement_for("customer", "placed", "total") is None
    # Without the clustering column `placed`, the main INSERT writes only static columns anyway, so
    # no second statement is needed.
    assert statement_for("customer", "all_names") is None


def test_tables_are_found_by_their_names() -> None:
    """`table_of` finds a table by its name, with or without a keyspace.

    As in CQL, an unquoted name is converted to lower case.
    """
    keyspace = KeyspaceMetadata(
        "ks",
        durable_writes=True,
        strategy_class="SimpleStrategy",
        strategy_options={"replication_factor": "1"},
    )
    keyspace.tables = {"orders": ORDERS, "Or.d\"ers": ORDERS}  # fmt: skip
    metadata: Any = SimpleNamespace(keyspaces={"ks": keyspace})
    # These names are all of tables in the keyspace ks, which is also the current keyspace.
    for name in ("ks.orders", "KS.Orders", "orders", '"ks"."orders"', 'ks."Or.d""ers"'):
        assert table_of(metadata, name, "ks") is ORDERS, name
    for name, message in (
        ("ks.nothing", "keyspace 'ks' has no table 'nothing'"),
        ("other.orders", "there is no keyspace 'other'"),
        ("other.csv", "the table is the first argument, and the file the second"),
        ("a.b.c", "a table is named as table or keyspace.table"),
        ('"orders', "has no end"),
        ('"a"b', "is not the name of a table"),
        ("", "is not the name of a table"),
        ("ks.", "is not the name of a table"),
        (".orders", "is not the name of a table"),
    ):
        with pytest.raises(ValueError, match=message):
            table_of(metadata, name, "ks")
    with pytest.raises(ValueError, match="has no keyspace"):
        table_of(metadata, "orders", keyspace=None)


def test_the_statement_has_all_columns_or_the_selected_ones() -> None:
    """The INSERT has all columns of the table, or the selected columns in their order.

    The selection must have the primary key, or the partition key and only static columns.
    """
    assert query_of(ORDERS) == (
        'INSERT INTO ks."Orders" (customer, placed, all_names, total) VALUES (?, ?, ?, ?)'
    )
    assert query_of(ORDERS, "total", "customer", "placed") == (
        'INSERT INTO ks."Orders" (total, customer, placed) VALUES (?, ?, ?)'
    )
    assert query_of(ORDERS, "customer", "all_names").endswith("(customer, all_names) VALUES (?, ?)")
    for columns, message in (
        (("customer", "totall"), "has no column 'totall', but customer, placed, total"),
        (("customer", "total"), "column 'placed' of the primary key of ks.Orders is not among"),
        (("placed", "total"), "column 'customer' of the primary key"),
        (("customer",), "column 'placed' of the primary key"),
    ):
        with pytest.raises(ValueError, match=message):
            query_of(ORDERS, *columns)


def test_options_for_time_to_live_and_write_time() -> None:
    """The options for TTL and write time become the USING clause of the INSERT.

    Each is a fixed number, or the name of the field with the value for each row.
    """
    assert query_of(ORDERS, ttl=60, timestamp_column="at").endswith(" USING TTL 60 AND TIMESTAMP ?")
    assert query_of(ORDERS, ttl_column="life").endswith(" USING TTL ?")
    with pytest.raises(ValueError, match="ttl and ttl_column exclude each other"):
        query_of(ORDERS, ttl=60, ttl_column="life")
    with pytest.raises(TypeError, match=r"ttl must be .* the number of seconds, but is '60'"):
        query_of(ORDERS, ttl="60")


def test_counters_are_added_with_the_option_counters() -> None:
    """Counters are refused unless `counters=True`, because a repeated load counts twice.

    A counter can only be added to, not set.
    """
    counter_table = table_metadata(customer="uuid", placed="timestamp", hits="counter")
    with pytest.raises(ValueError, match=r"counts twice\. counters=True"):
        query_of(counter_table)
    plan = plan_of(counter_table, columns=(), **{**NO_OPTIONS, "counters": True})
    assert plan.text == ('UPDATE ks."Orders" SET hits = hits + ? WHERE customer = ? AND placed = ?')
    assert plan.is_idempotent is False
    assert plan.is_counter is True
    with pytest.raises(ValueError, match="counters have no time to live"):
        query_of(counter_table, counters=True, ttl=5)
    for write_time in ({"timestamp": 0}, {"timestamp_column": "at"}):
        with pytest.raises(ValueError, match="the server sets the write time of a counter"):
            query_of(counter_table, counters=True, **write_time)


def test_counters_of_a_table_without_counters() -> None:
    """`counters=True` causes a warning if the table has no counters."""
    with pytest.warns(RuntimeWarning, match=r"counters=True has no effect: .* ks\.Orders"):
        assert query_of(ORDERS, "customer", "placed", "total", counters=True).startswith("INSERT")


def test_traits_of_a_statement_that_the_application_has_prepared() -> None:
    """The traits of an application's statement come from its CQL, its markers and `counters=`."""

    def traits(query: str, type_name: str = "int", counters: bool = False) -> tuple[bool, ...]:
        """Return (is_idempotent, is_counter, is_conditional, may_be_batched) of a statement.

        :param type_name: the type of the statement's bind marker.
        """
        column = SimpleNamespace(name="k", type=SimpleNamespace(typename=type_name))
        prepared: Any = SimpleNamespace(
            query_string=query, is_idempotent=True, column_metadata=[column]
        )
        statement_traits = traits_of(prepared, plan=None, counters=counters)
        return *statement_traits[:3], statement_traits.may_be_batched

    assert traits("INSERT INTO t (k) VALUES (?)") == (True, False, False, True)
    assert traits("INSERT INTO t (k) VALUES (?) IF NOT EXISTS") == (True, False, True, False)
    update = "UPDATE t SET n = n + ?"
    assert traits(update, "counter") == (True, True, False, False)
    # This statement adds a constant, so no bind marker shows that it changes a counter.
    update = "UPDATE t SET n = n + 1 WHERE k = ?"
    assert traits(update, counters=True) == (False, True, False, False)


def test_a_statement_that_reads_is_refused() -> None:
    """A SELECT is refused as the statement of a load.

    A SELECT writes nothing, so the load must not report its rows as written.
    """
    prepared: Any = SimpleNamespace(query_string=" select * FROM t WHERE k = ?")
    with pytest.raises(
        ValueError, match=r"writes rows, and ' select .*' reads: write session\.exe"
    ):
        traits_of(prepared, plan=None, counters=False)


def test_each_row_of_a_partition_adds_to_its_static_counters() -> None:
    """A load refuses or warns if each row of a partition would add to its static counter.

    All rows that an unload writes for a partition contain the same value of the counter. A load of
    these rows would add this value once for each row, so it is refused for files of an unload.
    """
    table = table_metadata(customer="uuid", placed="int", hits="counter", all_hits="counter")
    options = {**NO_OPTIONS, "counters": True}
    plan = plan_of(table, (), **options)
    message = (
        "column 'all_hits' is a static counter, .* columns=\\['customer', 'all_hits'\\], with one"
    )
    with pytest.raises(ValueError, match=message):
        check_static_counters(table, plan, is_unloaded=True)
    with pytest.warns(RuntimeWarning, match=message):
        check_static_counters(table, plan, is_unloaded=False)
    check_static_counters(table, plan_of(table, ("customer", "placed", "hits"), **options), True)
    # An UPDATE of only the static counter has no clustering column: servers refuse it there.
    plan = plan_of(table, ("customer", "all_hits"), **options)
    assert plan.text == ('UPDATE ks."Orders" SET all_hits = all_hits + ? WHERE customer = ?')
    check_static_counters(table, plan, is_unloaded=True)
    check_static_counters(table, plan, True, [("a.csv", ["customer", "all_hits"])])
    # The load leaves out the clustering column `placed`, but the file "b" has this column, so "b"
    # has several rows for a partition. Or the fields of "b" are unknown (None), as in JSON lines.
    for names in (["customer", "placed", "all_hits"], None):
        fields = [("a", ["customer", "all_hits"]), ("b", names)]
        with pytest.raises(ValueError, match=r"in b, .* must be reduced to one for each partition"):
            check_static_counters(table, plan, True, fields)
        check_static_counters(table, plan, False, fields)


ABC = ("a", "b", "c")
KEY_AND_TOTAL = ["customer", "placed", "total"]


@pytest.mark.parametrize(
    ("query", "markers", "names"),
    [
        ("INSERT", ("customer", "total", "[ttl]"), ["customer", "total", "[ttl]"]),
        ("SET m[?] = ?, u.f = ?", ("key(m)", "value(m)", "u.f"), ["m", "m", "u"]),
        ("WHERE a IN ?", ("in(customer)", "(placed)"), ["in(customer)", "(placed)"]),
        ("VALUES (f(?), ?)", ("arg0(f)", "x.y", "x"), [None, None, None]),
        ("INSERT INTO t (m, u) VALUES (:u, :x)", ("u", "x"), ["m", "u"]),
        ('INSERT INTO t ("a:u", "TTL:m") VALUES (?, ?)', ("u", "m"), ["u", "m"]),
        ("UPDATE t USING ttl :m AND TIMESTAMP :At", ("m", "at"), ["[ttl]", "[timestamp]"]),
        # The second marker is an element of `m`, and the third one stands for two columns.
        ("SET total = :u, m[1] = :m, a = :b, m = :b", ("u", "m", "b"), ["total", None, None]),
        ("WHERE customer = :a AND placed = :b IF total = :c", ABC, KEY_AND_TOTAL),
        ("UPDATE t SET total = :c WHERE customer=:a AND placed=:b;", ABC, KEY_AND_TOTAL),
        ("INSERT INTO t (customer, placed, total) VALUES (:a, :b, :c)", ABC, KEY_AND_TOTAL),
        # The following markers are only a part of the value of a key column.
        ("WHERE placed IN (:x, 5)", ("x",), [None]),
        ("WHERE placed IN (5, :placed)", ("placed",), [None]),
        ("WHERE customer = :a AND placed = :x % 10", ("a", "x"), ["customer", None]),
        ("WHERE placed = :placed-1", ("placed",), [None]),
        ("WHERE placed >= :x AND customer = :a", ("x", "a"), [None, "customer"]),
        ("INSERT INTO t (customer, placed) VALUES (:a, :b * 2)", ("a", "b"), ["customer", None]),
        ("WHERE placed = :x AND placed IN (:x, 5)", ("x",), [None]),
        ("WHERE (customer, placed) > (:a, :b)", ("a", "b"), [None, None]),
        ('WHERE placed = :"A b" + 1', ("A b",), [None]),
        # A `?` has the name of the column also if it is only a part of the value.
        ("WHERE customer = ? AND placed IN (?, 5)", KEY_AND_TOTAL[:2], ["customer", None]),
        ("WHERE placed IN (5, ?) AND customer = ?", ["placed", "customer"], [None, "customer"]),
        (
            "INSERT INTO t (customer, placed) VALUES (?, ? * 2)",
            KEY_AND_TOTAL[:2],
            ["customer", None],
        ),
        ("INSERT INTO t (customer, placed) VALUES ('?', ?)", ["placed"], ["placed"]),
        # Other columns may have such markers: their values do not identify a row.
        ("SET total = :x + 1", ("x",), ["total"]),
    ],
)
def test_markers_belong_to_columns(
    query: str, markers: tuple[str, ...], names: list[str | None]
) -> None:
    """`names_of_markers` returns the column of each bind marker; None if the column is unknown.

    The query may be only a part of a statement.
    """
    table = table_metadata(
        customer="uuid", placed="timestamp", total="int", m="map<int, int>", u="type"
    )
    prepared: Any = SimpleNamespace(
        query_string=query, column_metadata=[SimpleNamespace(name=name) for name in markers]
    )
    assert names_of_markers(prepared, table) == names


def test_rows_without_their_last_clustering_columns_have_statements_of_their_own() -> None:
    """`short_key_plans` returns INSERTs without the last clustering columns for compact storage."""
    table = table_metadata(customer="uuid", placed="int", line="int", part="int", total="int")
    table.clustering_key += [table.columns["line"], table.columns["part"]]
    using = {"TTL": (None, "ttl"), "TIMESTAMP": (5, None)}
    plan = plan_of(table, (), **NO_OPTIONS)
    assert not short_key_widths(table)
    assert not short_key_plans(table, plan, using)
    table.is_compact_storage = True
    assert list(short_key_widths(table)) == [1, 2]
    assert short_key_plans(table, plan, using) == [
        f'INSERT INTO ks."Orders" ({names}) VALUES ({markers}) USING TTL ? AND TIMESTAMP 5'
        for names, markers in (
            ("customer, placed, total", "?, ?, ?"),
            ("customer, placed, line, total", "?, ?, ?, ?"),
        )
    ]
    assert short_key_plans(table, plan._replace(is_counter=True), using) == []
    # A static table with compact storage has no clustering columns that CQL shows.
    table.clustering_key = []
    assert short_key_plans(table, plan, using) == []
    view: Any = SimpleNamespace(clustering_key=[1, 2])
    assert not short_key_widths(view)


@pytest.mark.parametrize(
    ("marker", "name"),
    [
        ("in(placed,A b)", "in(placed,A b)"),
        ("(placed,A b,c.d)", "(placed,A b,c.d)"),
        ("(A b, c.d)", "(A b, c.d)"),
        ('in((placed, "A b"))', "in(placed,A b)"),
        ('(placed, "c.d")[1]', "c.d"),
        ("in(c.d)", "in(c.d)"),
        ("(placed,c.d)", None),
        ("in(placed,m)", None),
        ("key(M x)", "M x"),
        ('key("M x")', "M x"),
        ("value(Placed)", "value(Placed)"),
        ("key(other one)", None),
    ],
)
def test_markers_of_several_columns(marker: str, name: str | None) -> None:
    """A marker that is compared with several clustering columns keeps the server's name.

    Cassandra does not quote the names in the brackets.
    """
    table = table_metadata(
        customer="uuid", placed="int", m="int", **{"A b": "int", "c.d": "int", "M x": "set<int>"}
    )
    table.clustering_key += [table.columns["A b"], table.columns["c.d"]]
    prepared: Any = SimpleNamespace(
        query_string="WHERE", column_metadata=[SimpleNamespace(name=marker)]
    )
    assert names_of_markers(prepared, table) == [name]


def test_traits_of_a_plan() -> None:
    """The INSERT of a plan is idempotent, even if the prepared statement is not marked so."""
    prepared: Any = SimpleNamespace(query_string="INSERT", is_idempotent=False, column_metadata=[])
    plan = plan_of(ORDERS, columns=(), **NO_OPTIONS)
    expected = Traits(is_idempotent=True, is_counter=False, is_conditional=False)
    assert traits_of(prepared, plan, counters=False) == expected


LISTS = table_metadata(
    customer="uuid", placed="timestamp", items="list<text>", all_names="list<text>"
)


@pytest.mark.parametrize(
    ("columns", "has_lists", "has_static_lists"),
    [
        (("customer", "placed", "items"), True, False),
        (("customer", "placed", "all_names"), True, True),
        (("customer", "placed"), False, False),
    ],
)
def test_rows_with_a_static_list_are_not_batched(
    columns: tuple[str, ...], has_lists: bool, has_static_lists: bool
) -> None:
    """Rows with a static list are not batched.

    The rows of a batch have the same write time, so each row would add the elements to the
    partition's list.
    """
    markers = [
        SimpleNamespace(name=name, type=SimpleNamespace(typename="int"))
        for name in (*columns, "[ttl]")
    ]
    prepared: Any = SimpleNamespace(
        query_string="INSERT", is_idempotent=True, column_metadata=markers
    )
    for plan in (plan_of(LISTS, columns, **NO_OPTIONS), None):
        traits = traits_of(prepared, plan, False, LISTS)
        assert traits == Traits(True, False, False, has_lists, has_static_lists)
        assert traits.may_be_batched is not has_static_lists
    # A frozen list is one value, which a repeated write replaces, so the traits do not count it as
    # a list.
    frozen = table_metadata(customer="uuid", placed="timestamp", items="frozen<list<text>>")
    assert not traits_of(prepared, None, False, frozen).has_lists


@pytest.mark.parametrize("option", ["timestamp", "timestamp_column"])
def test_lists_with_a_write_time_are_written_once(option: str) -> None:
    """A write of a list with a fixed write time is not repeated, because elements would be added.

    A list keeps the elements of all writes with the same write time. For this reason, a static list
    is refused if each row of a partition would write it.
    """
    options = {**NO_OPTIONS, option: 5 if option == "timestamp" else "at"}
    assert not plan_of(LISTS, ("customer", "placed", "items"), **options).is_idempotent
    assert not plan_of(LISTS, ("customer", "all_names"), **options).is_idempotent
    assert plan_of(LISTS, ("customer", "placed"), **options).is_idempotent
    with pytest.raises(
        ValueError, match=r"column 'all_names' is a static list: .* leave timestamp"
    ):
        plan_of(LISTS, (), **options)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("INSERT INTO t (items) VALUES (?) USING TIMESTAMP ?", ("items", "[timestamp]")),
        ("INSERT INTO t (items) VALUES (?) USING TTL ? AND TIMESTAMP 5", ("items", "[ttl]")),
        ("INSERT INTO t (items) VALUES (:i) using timestamp :at", ("i", "at")),
        ("UPDATE t USING TIMESTAMP 5 SET items = ?", ("items",)),
    ],
)
def test_statements_with_lists_and_a_write_time_are_written_once(
    query: str, names: tuple[str, ...]
) -> None:
    """A statement of the application that writes a list with a write time is not repeated.

    The write time may be a constant, or a bind marker with any name.
    """
    markers = [SimpleNamespace(name=name, type=SimpleNamespace(typename="int")) for name in names]
    prepared: Any = SimpleNamespace(query_string=query, is_idempotent=True, column_metadata=markers)
    assert not traits_of(prepared, None, False, LISTS).is_idempotent
    assert traits_of(prepared, None, False, ORDERS).is_idempotent


def test_the_table_and_the_replicas_of_a_statement_may_be_unknown() -> None:
    """`written_table` and `owners_in` return None if the metadata lacks the table or the ring."""
    keyspace = SimpleNamespace(tables={"Orders": ORDERS})
    owners_of_ks: Any = object()
    routing = SimpleNamespace(map_of={"ks": owners_of_ks}.get)
    metadata: Any = SimpleNamespace(keyspaces={"ks": keyspace}, routing=lambda: routing)
    for keyspace_name, table_name, table, owners in (
        ("ks", "Orders", ORDERS, owners_of_ks),
        ("ks", "other", None, owners_of_ks),
        ("other", "Orders", None, None),
        (None, None, None, None),
    ):
        prepared: Any = SimpleNamespace(table_keyspace=keyspace_name, table=table_name)
        assert written_table(metadata, prepared) is table
        assert owners_in(metadata, keyspace_name) is owners
    metadata.routing = lambda: None
    assert owners_in(metadata, "ks") is None


def test_positions_of_bind_markers_in_rows_without_names() -> None:
    """`positions_in` returns, for each bind marker, the position of its value in the row.

    Its arguments are the names in the order of the row, and the names of the bind markers.
    """
    assert positions_in(["b", "a"], ["a", "b"]) == [1, 0]
    # If the statement binds a column twice, a row has either two values for the column, or one
    # value that is used twice.
    assert positions_in(["a", "id", "a"], ["a", "id", "a"]) == [0, 1, 2]
    assert positions_in(["id", "a"], ["a", "id", "a"]) == [1, 0, 1]


def test_a_time_to_live_is_seconds() -> None:
    """A TTL is at most 20 years in seconds, and a write time has 64 bits, in microseconds.

    The errors show how to convert Python's times.
    """
    for wrong_ttl in (-5, 630_720_001):
        with pytest.raises(ValueError, match="ttl is a number of seconds, from 0 to 630720000"):
            query_of(ORDERS, ttl=wrong_ttl)
    with pytest.raises(ValueError, match="timestamp is a number of 64 bits, but is"):
        query_of(ORDERS, timestamp=-(1 << 63))
    with pytest.raises(TypeError, match=r"write int\(timestamp\.timestamp\(\) \* 1_000_000\)"):
        query_of(ORDERS, timestamp=datetime.datetime(2026, 11, 23))
    with pytest.raises(TypeError, match=r"write int\(ttl\.total_seconds\(\)\)"):
        query_of(ORDERS, ttl=datetime.timedelta(days=1))
    with pytest.raises(ValueError, match=r"from 0 to 630720000 \(20 years\), but is 86400000000"):
        query_of(ORDERS, ttl=86_400_000_000)
    assert query_of(ORDERS, ttl=630_720_000).endswith("USING TTL 630720000")


def test_a_table_is_named_by_a_string_that_is_no_statement() -> None:
    """A table is named by a string; a statement or a TableMetadata is refused with advice.

    A view is found only with `with_views=True`.
    """
    view: Any = SimpleNamespace(base_table_name="orders")
    keyspace: Any = SimpleNamespace(tables={"orders": ORDERS}, views={"by_day": view})
    metadata: Any = SimpleNamespace(keyspaces={"ks": keyspace})
    with pytest.raises(TypeError, match=r"a str, not TableMetadata: write 'ks\..Orders.'$"):
        table_of(metadata, ORDERS, "ks")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"named by a str, not NoneType: write load\('table',"):
        table_of(metadata, None, "ks")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"not by a statement, '.*session\.execute runs"):
        table_of(metadata, "SELECT * FROM t", "ks")
    with pytest.raises(ValueError, match=r"write session\.load\(session\.prepare\(text\), rows\)"):
        table_of(metadata, " insert into t (k) values (1)", "ks")
    with pytest.raises(ValueError, match=r"has no table 'ordrs'; did you mean 'orders'\?"):
        table_of(metadata, "ordrs", "ks")
    # Without quotes, CQL converts the name to lower case, so the table "Paid" is not found.
    keyspace.tables["Paid"] = ORDERS
    for name in ("Paid", "ks.Paid"):
        with pytest.raises(ValueError, match=r"no table 'paid' .* in double quotes, '\"Paid\"'"):
            table_of(metadata, name, "ks")
    with pytest.raises(ValueError, match=r"has no table 'by_day': .* write its table 'orders'"):
        table_of(metadata, "by_day", "ks")
    assert table_of(metadata, "by_day", "ks", with_views=True) is view
    assert full_name(ORDERS) == 'ks."Orders"'


def statement(*names: str, **types: str) -> Any:
    """Return a prepared statement whose bind markers have these names.

    :param types: the types of the bind markers that are not "int".
    """
    columns = [
        SimpleNamespace(name=name, type=SimpleNamespace(typename=types.get(name, "int")))
        for name in names
    ]
    return SimpleNamespace(
        column_metadata=columns,
        plain_plan=SimpleNamespace(columns=columns),
        query_string="UPDATE t SET a = ? WHERE b = ?",
        is_idempotent=True,
    )


def test_the_columns_of_a_statement_have_the_types_of_its_values() -> None:
    """The columns of a load with a prepared statement are its bind markers, with their types."""
    prepared = statement("a", "b")
    columns = columns_of(prepared)
    assert [column.name for column in columns] == ["a", "b"]
    # Cassandra 6 calls the markers of ``(c, d) = (?, ?)`` otherwise.
    assert [column.name for column in columns_of(statement("(c, d)[0]", "a"))] == ["c", "a"]
    # But the table may have a column with such a name.
    odd_table = table_metadata(customer="uuid", placed="timestamp", **{"x[1]": "int"})
    odd_columns = columns_of(statement("x[1]", "y[1]"), odd_table)
    assert [column.name for column in odd_columns] == ["x[1]", "value(y)"]
    assert [column.type for column in columns] == [
        column.type for column in prepared.column_metadata
    ]
    assert not any(column.is_hidden for column in columns)


@pytest.mark.parametrize(
    ("markers", "mapping", "selected", "expected"),
    [
        (("a", "b"), {}, (), ["a", "b"]),
        (("a", "b"), {}, ("b", "a"), ["b", "a"]),
        (("a", "b", "a"), {}, ("a", "a", "b"), ["a", "a", "b"]),
        (("a", "[ttl]"), {}, ("a",), ["a"]),
        (("a", "b"), {"b": "x"}, ("b",), ["a", "b"]),  # The mapping renames a field.
    ],
)
def test_the_order_of_the_values_of_a_statement(
    markers: tuple[str, ...],
    mapping: dict[str, str],
    selected: tuple[str, ...],
    expected: list[str],
) -> None:
    """The values of a row without names are in the order of `columns=`, or of the bind markers.

    The marker "[ttl]" is not a column, so its value is not in such a row.
    """
    assert order_of_statement(statement(*markers), mapping, selected, ignored=()) == expected


@pytest.mark.parametrize(
    ("mapping", "selected", "ignored", "message"),
    [
        ({}, ("c",), (), "columns= has 'c', and the bind markers of the statement are a, b"),
        ({}, ("a", "a", "b"), (), "columns= has 'a' twice"),
        ({}, ("a",), (), "columns= does not have 'b', which the statement binds"),
        ({}, (), ("b",), "ignore= has the field 'b', which the statement binds"),
        ({"b": "x"}, (), ("x",), "ignore= has the field 'x', which the statement binds"),
    ],
)
def test_columns_that_do_not_fit_a_statement_are_refused(
    mapping: dict[str, str], selected: tuple[str, ...], ignored: tuple[str, ...], message: str
) -> None:
    """`columns=` and `ignore=` must fit the columns that a prepared statement binds."""
    with pytest.raises(ValueError, match=message):
        order_of_statement(statement("a", "b"), mapping, selected, ignored)


def test_a_statement_has_its_own_time_to_live_and_write_time() -> None:
    """`ttl_column=` needs a bind marker in a prepared statement, and `ttl=` is refused for it.

    For TTL and TIMESTAMP, the argument has the fixed value and the name of the field with the
    value.
    """
    prepared = statement("a", "[ttl]")
    check_statement_using(prepared, {"TTL": (None, "life"), "TIMESTAMP": (None, None)})
    with pytest.raises(ValueError, match=r"ttl= has no effect on a prepared .*TTL 5 in"):
        check_statement_using(prepared, {"TTL": (5, None)})
    with pytest.raises(ValueError, match=r"timestamp_column= has no effect .* TIMESTAMP \?:"):
        check_statement_using(prepared, {"TIMESTAMP": (None, "at")})
    # A named marker takes the field with its own name, so the message says how to rename a field.
    prepared = statement("a", "lifetime")
    prepared.query_string = "INSERT INTO t (a) VALUES (:a) USING TTL :Lifetime"
    with pytest.raises(ValueError, match=r"'lifetime'; .* columns=\{'life': 'lifetime'\}"):
        check_statement_using(prepared, {"TTL": (None, "life")})


def test_a_write_time_has_64_bits() -> None:
    """A fixed write time has 64 bits, without the lowest number; other values are refused."""
    for timestamp in (0, -(2**63) + 1, 2**63 - 1):
        assert query_of(ORDERS, timestamp=timestamp).endswith(f"USING TIMESTAMP {timestamp}")
    # Servers use the lowest 64-bit number as "no write time".
    for refused in (-(2**63), 2**63):
        with pytest.raises(ValueError, match="timestamp is a number of 64 bits"):
            query_of(ORDERS, timestamp=refused)
    with pytest.raises(TypeError, match="the number of microseconds, but is True"):
        query_of(ORDERS, timestamp=True)
