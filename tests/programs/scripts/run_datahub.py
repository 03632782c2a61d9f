"""Use datahub's Cassandra source: keyspaces, tables, columns, views and profiles as work units."""

from __future__ import annotations

import json
import os
import re

os.environ["DATAHUB_TELEMETRY_ENABLED"] = "false"

from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace
from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.source.cassandra.cassandra import CassandraSource

from cassandra.cluster import Session

# Fields whose values differ in each run.
TIMES = re.compile(r'\\*"(lastObserved|timestampMillis|time|runId|lastRunId)\\*": ("[^"]*"|\d+)')


def fill(session: Session) -> None:
    """Create a table with many types and a materialized view, and insert five rows."""
    session.execute(
        "CREATE TABLE people (id int, day date, name text static, tags set<text>, "
        "numbers map<text, int>, scores list<double>, at timestamp, key uuid, "
        "PRIMARY KEY (id, day)) WITH CLUSTERING ORDER BY (day DESC) AND comment = 'people'"
    )
    session.execute(
        "CREATE MATERIALIZED VIEW by_day AS SELECT day, id FROM people "
        "WHERE day IS NOT NULL AND id IS NOT NULL PRIMARY KEY (day, id)"
    )
    insert = session.prepare(
        "INSERT INTO people (id, day, name, tags, numbers, scores) VALUES (?, ?, ?, ?, ?, ?)"
    )
    for number in range(5):
        tags = {f"t{number}", "all"}
        session.execute(
            insert, (number, f"2024-01-0{number + 1}", f"n{number}", tags, {"x": number}, [0.5])
        )


def main() -> None:
    """Let DataHub read the keyspace's metadata and profile, and print them without times."""
    with make_cluster() as cluster:
        new_keyspace(cluster.connect())
        fill(cluster.connect(KEYSPACE))
        source = CassandraSource.create(
            {
                "contact_point": HOST,
                "port": PORT,
                "keyspace_pattern": {"allow": [f"{KEYSPACE}$"]},
                "profiling": {"enabled": True, "max_workers": 1},
                "profile_pattern": {"allow": [".*"]},
            },
            PipelineContext(run_id="tried"),
        )
        units = [json.dumps(unit.metadata.to_obj(), sort_keys=True)
                 for unit in source.get_workunits()]  # fmt: skip
        for unit in sorted(TIMES.sub(r"\1: 0", unit) for unit in units):
            print(unit)
        report = source.get_report()
        print(len(units), report.num_tables_failed, report.num_views_failed)
        print(list(report.failures), list(report.warnings))
        source.close()


main()
