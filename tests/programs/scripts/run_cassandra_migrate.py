"""Use cassandra-migrate: new scripts, migrations up to a version and further, status, reset."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from common import HOST, KEYSPACE, PORT, make_cluster

CONFIG = f"""
keyspace: {KEYSPACE}
profiles:
  dev:
    replication: {{class: SimpleStrategy, replication_factor: 1}}
    durable_writes: true
migrations_path: ./migrations
new_migration_name: "v{{next_version}}_{{desc}}"
"""

MIGRATIONS = {
    "v001_first.cql": "CREATE TABLE first (id int PRIMARY KEY, v text);\n"
    "-- a comment\nINSERT INTO first (id, v) VALUES (1, 'one;two');",
    "v002_second.cql": "ALTER TABLE first ADD more int;\nUPDATE first SET more = 5 WHERE id = 1;",
    "v003_third.py": "def execute(session):\n"
    "    rows = session.execute('SELECT * FROM first')\n"
    "    for row in rows:\n"
    "        session.execute('UPDATE first SET more = %s WHERE id = %s', (row.more + 1, row.id))\n",
}


def migrate(*arguments: str) -> None:
    """Run a command of cassandra-migrate; print its output without times and UUIDs."""
    result = subprocess.run(
        [sys.executable, "-c", "from cassandra_migrate.cli import main; main()",
         "-H", HOST, "-p", str(PORT), "-y", *arguments],
        capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    print("===", *arguments, "exit", result.returncode)
    text = result.stdout + "\n".join(
        line for line in result.stderr.splitlines() if ":Migrator:" in line or "Error" in line
    )
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*", "<time>", text)
    print(re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>", text))


def main() -> None:
    """Run correct migrations and a wrong migration, and print the rows that they have written."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("cassandra-migrate.yml").write_text(CONFIG)
        Path("migrations").mkdir()
        for name, text in MIGRATIONS.items():
            Path("migrations", name).write_text(text)
        migrate("reset", "1")
        migrate("status")
        migrate("migrate")
        migrate("status")
        Path("migrations", "v004_wrong.cql").write_text("CREATE TABLE first (id int PRIMARY KEY);")
        migrate("migrate")
        migrate("generate", "the next")
    with make_cluster() as cluster:
        session = cluster.connect(KEYSPACE)
        print(list(session.execute("SELECT * FROM first")))
        query = "SELECT version, name, state FROM database_migrations"
        print(sorted(tuple(row) for row in session.execute(query)))


main()
