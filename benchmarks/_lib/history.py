"""The record of instructions, ``benchmarks/history/instructions.csv``.

A commit that changes figures adds lines to it, with the reason. Counts of one environment (version
of Python, event loop, processor) are compared with the last counts of the same environment alone.
"""

from __future__ import annotations

import csv
import datetime
import importlib.metadata
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

__all__ = ["FILE", "TOLERANCE", "Record", "add", "environment", "grown", "last", "read"]

FILE = Path(__file__).parents[1] / "history" / "instructions.csv"
TOLERANCE = 0.02  # two runs of one build differ by up to 0.4 %


class Record(NamedTuple):
    """One line of the file: the instructions of a case, and why they were written down."""

    date: str
    environment: str
    case: str
    instructions: int
    why: str


def environment() -> str:
    """Return the parts of the environment that counts depend on, as one string."""
    try:
        loop = f"uvloop {importlib.metadata.version('uvloop')}"
    except importlib.metadata.PackageNotFoundError:
        loop = "asyncio"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {loop}, {platform.machine()}"


def read(file: Path = FILE) -> list[Record]:
    """Return all records, the oldest first.

    :raises ValueError: if a line is not a record; the text names it.
    """
    records = []
    with file.open(newline="") as lines:
        for number, line in enumerate(csv.reader(lines), 1):
            if number == 1:
                continue  # the heading
            try:
                date, place, case, instructions, why = line
                records.append(Record(date, place, case, int(instructions), why))
            except ValueError as error:
                raise ValueError(f"{file.name}, line {number}: {line} ({error})") from None
    return records


def last(place: str, file: Path = FILE) -> dict[str, int]:
    """Return the last instructions of each case in the environment `place`."""
    return {
        record.case: record.instructions for record in read(file) if record.environment == place
    }


def grown(instructions: float, recorded: int) -> bool:
    """Return whether a count is larger than the recorded one by more than noise explains."""
    return instructions > recorded * (1 + TOLERANCE)


def add(place: str, counts: Mapping[str, float], why: str, file: Path = FILE) -> None:
    """Append the counts of cases.

    :param why: the reason, for the reader of the next comparison.
    :raises ValueError: if the reason is empty.
    """
    if not why.strip():
        raise ValueError("a record needs its reason: --record 'requests carry a deadline'")
    today = datetime.date.today().isoformat()
    with file.open("a", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        for case, instructions in counts.items():
            writer.writerow(Record(today, place, case, round(instructions), why.strip()))
