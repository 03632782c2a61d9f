"""Reads with scyllapy, which is based on ScyllaDB's Rust driver, in the way of scylla_driver.py."""

import asyncio
import sys

# Remove this folder from the path, or else `import scyllapy` would import this file.
sys.path.pop(0)
import scyllapy

hosts, port, count = sys.argv[1].split(","), int(sys.argv[2]), int(sys.argv[3])


async def main() -> None:
    """Read all rows of each keyspace twice, and wait for a line of standard input after each."""
    scylla = scyllapy.Scylla([f"{host}:{port}" for host in hosts])
    await scylla.startup()
    # scyllapy does not report when all shards are connected.
    await asyncio.sleep(1)
    for keyspace in ("vn", "tb"):
        prepared = await scylla.prepare(f"SELECT v FROM {keyspace}.t WHERE k = ?")
        for step in ("go", "done"):
            for key in range(count):
                await scylla.execute(prepared, [key])
            print(step, keyspace, flush=True)
            sys.stdin.readline()
    await scylla.shutdown()


asyncio.run(main())
