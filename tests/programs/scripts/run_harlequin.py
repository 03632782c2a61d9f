"""Use Harlequin's adapter: results with labels by the names of type classes, the catalogue."""

from __future__ import annotations

from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace
from harlequin_cassandra.adapter import HarlequinCassandraAdapter

TYPES = (
    "ascii", "bigint", "blob", "boolean", "date", "decimal", "double", "duration", "float", "inet",
    "int", "smallint", "text", "time", "timestamp", "timeuuid", "tinyint", "uuid", "varchar",
    "varint", "list<int>", "set<text>", "map<text, frozen<list<int>>>", "tuple<int, text>",
    "frozen<pair>", "frozen<set<uuid>>",
)  # fmt: skip


def main() -> None:
    """Create columns of many types, and print how Harlequin shows their values, types and names."""
    with make_cluster() as cluster:
        new_keyspace(cluster.connect())
        session = cluster.connect(KEYSPACE)
        session.execute("CREATE TYPE pair (one int, other text)")
        columns = ", ".join(f"c{index} {kind}" for index, kind in enumerate(TYPES))
        session.execute(f"CREATE TABLE kinds (id int PRIMARY KEY, {columns})")
        session.execute("CREATE TABLE counts (id int PRIMARY KEY, n counter)")
        session.execute(
            "INSERT INTO kinds (id, c0, c20, c21, c22, c23, c24) VALUES "
            "(1, 'a', [1, 2], {'x', 'b'}, {'k': [1]}, (1, 't'), {one: 1, other: 'o'})"
        )
        session.execute("UPDATE counts SET n = n + 1 WHERE id = 1")
        for row in session.execute("SELECT * FROM kinds"):
            print(row)
        for kind in session.execute("SELECT * FROM kinds").column_types:
            print(kind.__name__, kind.typename, kind.cql_parameterized_type(), kind.num_subtypes)
    adapter = HarlequinCassandraAdapter(host=HOST, port=str(PORT), keyspace=KEYSPACE)
    connection = adapter.connect()
    for query in ("SELECT * FROM kinds", "SELECT * FROM counts", "SELECT id, count(*) FROM kinds"):
        cursor = connection.execute(query).set_limit(1)
        print(cursor.fetchall(), cursor.columns())
    print(repr(connection.validate_sql("SELEC")), connection.validate_sql("SELECT * FROM counts"))
    catalogue = connection.get_catalog()
    for item in catalogue.items:
        if item.label == KEYSPACE:
            for table in item.children:
                for column in table.children:
                    print(table.label, column.label, column.type_label)


main()
