"""Use these features of cqlsh: DESCRIBE, TRACING, PAGING, EXPAND, COPY TO and FROM, errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from common import HOST, KEYSPACE, PORT

CQLSH = [
    str(Path(sys.executable).parent / "cqlsh"), "--no-color", "--request-timeout=30",
    "--connect-timeout=30",
]  # fmt: skip

SCHEMA = f"""
DROP KEYSPACE IF EXISTS {KEYSPACE};
CREATE KEYSPACE {KEYSPACE}
  WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}};
USE {KEYSPACE};
CREATE TYPE address (street text, zip int, phones set<text>);
CREATE TABLE people (id int, day date, name text static, home frozen<address>,
  PRIMARY KEY (id, day))
  WITH CLUSTERING ORDER BY (day DESC) AND comment = 'it''s people';
CREATE TABLE kinds (
  id int PRIMARY KEY, a ascii, b bigint, c blob, d boolean, e decimal, f double, g float, h inet,
  i smallint, j tinyint, k varint, l timestamp, m date, n time, o uuid, p duration,
  q list<int>, r set<text>, s map<text, int>, t tuple<int, text>, u frozen<address>,
  v vector<float, 3>, w frozen<map<int, frozen<list<text>>>>);
CREATE TABLE counts (name text PRIMARY KEY, n counter);
CREATE INDEX by_b ON kinds (b);
CREATE MATERIALIZED VIEW by_name AS SELECT id, b FROM kinds
  WHERE b IS NOT NULL AND id IS NOT NULL PRIMARY KEY (b, id);
CREATE FUNCTION plus (x int, y int) CALLED ON NULL INPUT RETURNS int
  LANGUAGE java AS 'return x + y;';
CREATE AGGREGATE total (int) SFUNC plus STYPE int INITCOND 0;
INSERT INTO people (id, day, name, home) VALUES
  (1, '2024-02-29', 'Zoë', {{street: 'Main', zip: 12, phones: {{'1', '2'}}}});
INSERT INTO people (id, day) VALUES (1, '1969-12-31');
INSERT INTO kinds (id, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w) VALUES (
  1, 'ascii', -9223372036854775808, 0x00ff, true, 1.50, 1e300, 0.1, '::1', -32768, 127,
  123456789012345678901234567890, '2024-02-29 12:34:56.789+0000',
  '2024-02-29', '01:02:03.000000004',
  5b6962dd-3f90-4c93-8f61-eabfa4a803e2, 1y2mo3d4h5m6s7ms8us9ns, [3, 1, 2], {{'b', 'a'}},
  {{'x': 1, 'y': 2}}, (1, 'it''s'), {{street: 'S', zip: 1, phones: null}}, [1.5, 2, -3],
  {{1: ['a', 'b'], 2: []}});
INSERT INTO kinds (id, f, g) VALUES (2, NaN, Infinity);
INSERT INTO kinds (id, a) VALUES (3, '');
UPDATE counts SET n = n + 5 WHERE name = 'five';
"""

# Statements whose output shows how cqlsh formats values, descriptions and errors.
LOOKS = f"""
SHOW HOST
SHOW VERSION
DESCRIBE KEYSPACES
USE {KEYSPACE};
DESCRIBE TABLES
DESCRIBE TYPES
DESCRIBE TYPE address
DESCRIBE FUNCTIONS
DESCRIBE FUNCTION plus
DESCRIBE AGGREGATES
DESCRIBE AGGREGATE total
DESCRIBE TABLE people
DESCRIBE TABLE kinds
DESCRIBE INDEX by_b
DESCRIBE MATERIALIZED VIEW by_name
DESCRIBE KEYSPACE {KEYSPACE}
DESCRIBE CLUSTER
SELECT * FROM people;
SELECT * FROM kinds;
SELECT JSON * FROM kinds WHERE id = 1;
SELECT id, writetime(a) > 0 FROM kinds;
SELECT count(*), min(id), total(id) FROM kinds;
SELECT * FROM counts;
EXPAND ON
SELECT * FROM kinds WHERE id = 1;
EXPAND OFF
CONSISTENCY ONE
CONSISTENCY
SERIAL CONSISTENCY LOCAL_SERIAL
INSERT INTO people (id, day) VALUES (9, '2024-01-01') IF NOT EXISTS;
INSERT INTO people (id, day) VALUES (9, '2024-01-01') IF NOT EXISTS;
BEGIN BATCH UPDATE counts SET n = n + 1 WHERE name = 'five'; APPLY BATCH;
BEGIN UNLOGGED BATCH
  INSERT INTO people (id, day) VALUES (9, '2024-01-02');
  INSERT INTO people (id, day) VALUES (9, '2024-01-03');
APPLY BATCH;
SELECT id, day FROM people WHERE id = 9;
SELECT * FROM nowhere;
SELECT nothing FROM people;
SELEC 1;
INSERT INTO people (id, day) VALUES ('a', '2024-01-01');
DESCRIBE TABLE nowhere
USE nowhere;
"""

# The empty lines press Enter, which shows the next page.
PAGES = "\n".join(
    [f"USE {KEYSPACE};", "PAGING 3", "PAGING", "SELECT * FROM many;", *[""] * 5, "PAGING OFF",
     "SELECT * FROM many LIMIT 4;"]
)  # fmt: skip

TRACES = f"""
USE {KEYSPACE};
TRACING ON
SELECT * FROM people WHERE id = 1;
INSERT INTO people (id, day) VALUES (5, '2024-01-01');
TRACING OFF
SELECT * FROM people WHERE id = 5;
"""


def cqlsh(text: str, *arguments: str) -> str:
    """Run cqlsh with `text` as its input.

    :returns: its output, errors and exit status in one string.
    """
    result = subprocess.run(
        [*CQLSH, *arguments, HOST, str(PORT)],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "TZ": "UTC", "COLUMNS": "120", "LC_ALL": "C.UTF-8"},
    )
    return f"{result.stdout}\n--- stderr\n{result.stderr}\n--- exit {result.returncode}"


def section(name: str, text: str) -> None:
    """Print the output of one part of the script under a heading."""
    print(f"=== {name}\n{text}")


def without_times(text: str) -> str:
    """Return a report of COPY without its variable parts: rates, times, progress and paths."""
    # Progress that cqlsh has overwritten ends with a carriage return.
    text = re.sub(r"[^\r\n]*\r", "", text)
    text = re.sub(r"Processed: [^\n]*?(\d+) rows;[^\n]*", r"Processed: \1 rows", text)
    # If COPY takes long, cqlsh prints several progress lines. Keep only the last line.
    text = re.sub(r"(Processed: \d+ rows\s*)+(?=Processed: )", "", text)
    text = re.sub(r"in [\d.]+ seconds", "in some seconds", text)
    text = re.sub(r"in \d+ (day|minute)[^\n]*? seconds?", "in some seconds", text)
    text = re.sub(r"Using \d+ child processes", "Using some child processes", text)
    return re.sub(r"/tmp/\S*?/(\w+\.csv)", r"\1", text)


def stable_trace(text: str) -> str:
    """Return only the lines and columns of traces in the output that are the same in each run."""
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>", text)
    prefixes = ("Execute CQL3 query", "Parsing ", "Preparing statement", "Request complete")
    lines = []
    for line in text.splitlines():
        # The columns of a row are activity, timestamp, source, source_elapsed and client.
        if line.count(" | ") == 4 and "source_elapsed" not in line:
            activity, _, source, _, client = (part.strip() for part in line.split(" | "))
            if not activity.startswith(prefixes):
                continue
            lines.append(" | ".join((re.sub(r"\[.*\]", "", activity), source, client)))
        # This is the line of the column names, whose widths depend on the rows.
        elif "source_elapsed" in line:
            lines.append(re.sub(" +", " ", line))
        # Leave out lines of dashes, but keep all other lines.
        elif not set(line) <= set("-+"):
            lines.append(line)
    return "\n".join(lines)


def copy_there_and_back(folder: str) -> None:
    """COPY each table to a file, then into the emptied table, and then to a second file.

    Print whether both files have the same rows. At the end, COPY from a file with errors.
    """
    # Leave out the columns with a duration and with a user type, because COPY FROM fails to write
    # these with every driver.
    kinds = "kinds (id, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q, r, s, t, v, w)"
    for table_and_columns in (kinds, "people (id, day, name)", "counts", "many"):
        table = table_and_columns.split()[0]
        first, second = f"{folder}/{table}_1.csv", f"{folder}/{table}_2.csv"
        output = cqlsh(
            f"""USE {KEYSPACE};
            COPY {table_and_columns} TO '{first}' WITH HEADER = true;
            TRUNCATE {table};
            COPY {table_and_columns} FROM '{first}' WITH HEADER = true;
            COPY {table_and_columns} TO '{second}' WITH HEADER = true;"""
        )
        section(f"COPY {table}", without_times(output))
        contents = [sorted(Path(name).read_text().splitlines()) for name in (first, second)]
        print("\n".join(contents[0]))
        print("the same after the way back:", contents[0] == contents[1])
    Path(f"{folder}/wrong.csv").write_text("1,word\n2,x,y\nthree,1\n")
    output = cqlsh(
        f"""USE {KEYSPACE};
        COPY many (id, n) FROM '{folder}/wrong.csv' WITH MAXATTEMPTS = 1
            AND ERRFILE = '{folder}/rejected.csv';"""
    )
    section("COPY FROM a file with errors", without_times(output))
    print(sorted(Path(f"{folder}/rejected.csv").read_text().splitlines()))


def main() -> None:
    """Run sections of statements with cqlsh, and print each section's output under its name."""
    many = "\n".join(f"INSERT INTO many (id, n) VALUES ({i % 7}, {i});" for i in range(120))
    section("schema", cqlsh(SCHEMA))
    table = "CREATE TABLE many (id int, n int, PRIMARY KEY (id, n));"
    section("rows", cqlsh(f"USE {KEYSPACE};\n{table}\n{many}"))
    section("looks", cqlsh(LOOKS))
    section("paging", cqlsh(PAGES, "--tty"))
    section("trace", stable_trace(cqlsh(TRACES)))
    section("one statement", cqlsh("", "-k", KEYSPACE, "-e", "SELECT id, day FROM people"))
    with tempfile.TemporaryDirectory(prefix="copy", dir="/tmp") as folder:
        copy_there_and_back(folder)


main()
