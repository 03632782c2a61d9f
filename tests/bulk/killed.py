"""Runs a bulk operation in a separate process, which the tests in test_kills.py kill.

python -m tests.bulk.killed OPERATION HOST PORT KEYSPACE FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from cassandra.bulk import chunks
from cassandra.bulk.copy import copy
from cassandra.cluster import Cluster, Session

# Because of small pages and chunks, the test can kill the process at many points.
PAGES: dict[str, Any] = {"page_size": 25, "splits": 8, "concurrency": 2}
chunks.CHUNK_ROWS = chunks.TEXT_ROWS = chunks.OBJECT_ROWS = 50


def run_operation(session: Session, operation: str, keyspace: str, folder: Path) -> None:
    """Run one bulk operation, from its checkpoint if there is one.

    :param operation: "scan", "copy", "unload" or "load". "unload" uses no checkpoint.
    :param keyspace: contains the tables ``source`` and ``target``.
    :param folder: contains the checkpoint, and the files that the operation reads or writes.
    """
    source, target = f"{keyspace}.source", f"{keyspace}.target"
    checkpoint = folder / "point"
    if operation == "scan":
        with open(folder / "rows", "a", encoding="utf-8") as file:
            # An earlier process may have been killed while it wrote a line. End that line, so that
            # the next row begins on a new line.
            file.write("\n")
            for page in session.scan(source, checkpoint=checkpoint, **PAGES).pages():
                file.write("".join(f"{k}\t{v}\n" for k, v in page.current_rows))
                file.flush()
    elif operation == "copy":
        copy(session, source, session, target, checkpoint=checkpoint, **PAGES)
    elif operation == "unload":
        session.unload(source, folder / "out", format="csv", file_bytes=2000, **PAGES)
    else:
        session.load(
            target, folder / "in.csv", checkpoint=checkpoint, concurrency=2, progress=False
        )


def main() -> None:
    """Run the operation that the command line names."""
    operation, host, port, keyspace, folder = sys.argv[1:]
    with Cluster([host], port=int(port)) as cluster, cluster.connect() as session:
        run_operation(session, operation, keyspace, Path(folder))


if __name__ == "__main__":
    main()
