"""Plots a day of a sensor's readings (``pip install turbocql[pandas] matplotlib``).

``python examples/time_series.py --picture day.png`` writes a reading for each minute of a day; the
readings expire after a month. It reads the day back as a data frame and plots the hourly mean. It
connects to a node on this machine (``python -m cassandra.testing start``), or to
``--contact-points``.
"""

from __future__ import annotations

import argparse
import math
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from cassandra.cluster import Cluster, Session

# In production, set 3 replicas: with 1, requests fail while the node that has the row is down.
REPLICAS = int(os.environ.get("CASSANDRA_REPLICAS", "1"))
SCHEMA = (
    "CREATE KEYSPACE IF NOT EXISTS series WITH replication = "
    f"{{'class': 'SimpleStrategy', 'replication_factor': {REPLICAS}}}",
    "CREATE TABLE IF NOT EXISTS series.readings "
    "(sensor text, day date, at timestamp, value double, PRIMARY KEY ((sensor, day), at))",
)
MONTH = 30 * 24 * 3600  # seconds


def write(session: Session, sensor: str, day: datetime) -> int:
    """Write a reading for each minute of a day, and return the number of readings."""
    insert = session.prepare(
        "INSERT INTO series.readings (sensor, day, at, value) VALUES (?, ?, ?, ?) USING TTL ?"
    )
    insert.is_idempotent = True
    rows = [
        (sensor, day.date(), at, 18 + 4 * math.sin((minute - 480) / 1440 * 2 * math.pi), MONTH)
        for minute in range(1440)
        for at in [day + timedelta(minutes=minute)]
    ]
    session.execute_concurrent_with_args(insert, rows)
    return len(rows)


def read(session: Session, sensor: str, day: datetime) -> Any:
    """Return a day's readings as a pandas data frame, indexed by time."""
    select = session.prepare("SELECT at, value FROM series.readings WHERE sensor = ? AND day = ?")
    frame: Any = session.execute(select, (sensor, day.date())).to_pandas()
    return frame.set_index("at")


def plot(frame: Any, path: Path) -> None:
    """Draw the hourly mean into a file."""
    import matplotlib

    matplotlib.use("Agg")
    axes = frame["value"].resample("1h").mean().plot(figsize=(9, 4), drawstyle="steps-post")
    axes.set_ylabel("degrees")
    axes.figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--contact-points", nargs="+", default=["127.0.0.1"])
    parser.add_argument("--picture", type=Path, help="where to draw")
    options = parser.parse_args()
    day = datetime(2026, 3, 1, tzinfo=timezone.utc)
    with Cluster(options.contact_points) as cluster, cluster.connect() as session:
        for statement in SCHEMA:
            session.execute(statement)
        print(f"{write(session, 'roof', day):,} readings written")
        # Read the day into a DataFrame, and find the warmest hour.
        frame = read(session, "roof", day)
        hours = frame["value"].resample("1h").mean()
        print(f"{len(frame):,} read; warmest at {hours.idxmax():%H:%M}, {hours.max():.1f} degrees")
        if options.picture:
            plot(frame, options.picture)
            print(f"picture: {options.picture}")


if __name__ == "__main__":
    main()
