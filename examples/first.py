"""The README's program: write, read, load a file and use asyncio, on a node at 127.0.0.1."""

import asyncio
from pathlib import Path

from cassandra import aio
from cassandra.cluster import Cluster

with Cluster(["127.0.0.1"]) as cluster, cluster.connect() as session:
    session.execute("""
        CREATE KEYSPACE IF NOT EXISTS shop WITH replication =
        {'class': 'SimpleStrategy', 'replication_factor': 1}
    """)
    session.set_keyspace("shop")
    session.execute("""
        CREATE TABLE IF NOT EXISTS orders (
            id int PRIMARY KEY, customer text, total double
        )
    """)
    insert = session.prepare("INSERT INTO orders (id, customer, total) VALUES (?, ?, ?)")
    session.execute(insert, (1, "ada", 12.5))
    for row in session.execute("SELECT * FROM orders WHERE id = %s", (1,)):
        print(row.id, row.customer, row.total)

    # Files and data frames of any size load with one call.
    rows = "id,customer,total\n2,bob,3.0\n3,eve,8.25\n"
    Path("first_orders.csv").write_text(rows)
    print(session.load("orders", "first_orders.csv"))


# asyncio has the same names and runs on your own event loop.
async def main() -> None:
    async with aio.Cluster(["127.0.0.1"]) as cluster:
        session = await cluster.connect("shop")
        result = await session.execute("SELECT * FROM orders")
        async for row in result:
            print(row.id, row.customer, row.total)


asyncio.run(main())
