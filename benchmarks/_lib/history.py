"""Reads and writes the record of instruction counts, ``benchmarks/history/instructions.csv``.

A commit that changes counts appends lines to the file, with the reason. Counts depend on the
environment: the version of Python, the event loop, the processor. A count is compared with the last
count that was recorded in the same environment.
"""

from __future__ import annotations

import csv
import datetime
import importlib.metadata
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parents[1] / "history" / "instructions.csv"
TOLERANCE = 0.02  # a count may grow by 2 %: even two runs of one build differ by up to 0.4 %


class Record(NamedTuple):
    """One line of the file: the instruction count of a case, and the reason why it has changed."""

    date: str
    environment: str
    case: str
    instructions: int
    why: str


def environment() -> str:
    """Describe this process's environment: the Python version, the event loop, the processor."""
    try:
        loop = f"uvloop {importlib.metadata.version('uvloop')}"
    except importlib.metadata.PackageNotFoundError:
        loop = "asyncio"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {loop}, {platform.machine()}"


def read(file: Path = FILE) -> list[Record]:
    """Return all records, the oldest first.

    :raises ValueError: if a line is not a record; the message names the line.
    """
    records = []
    with file.open(newline="") as lines:
        for number, line in enumerate(csv.reader(lines), 1):
            if number == 1:
                continue  # skip the heading
            try:
                date, environment_name, case, instructions, why = line
                records.append(Record(date, environment_name, case, int(instructions), why))
            except ValueError as error:
                raise ValueError(f"{file.name}, line {number}: {line} ({error})") from None
    return records


def last(environment_name: str, file: Path = FILE) -> dict[str, int]:
    """Return the last recorded instructions of each case.

    :param environment_name: the environment of the counts, as `environment` returns it.
    """
    return {
        record.case: record.instructions
        for record in read(file)
        if record.environment == environment_name
    }


def grown(instructions: float, recorded: int) -> bool:
    """Return True if a count exceeds the recorded count by more than `TOLERANCE`."""
    return instructions > recorded * (1 + TOLERANCE)


def add(environment_name: str, counts: Mapping[str, float], why: str, file: Path = FILE) -> None:
    """Append the counts of cases to the file.

    :param environment_name: the environment of the counts, as `environment` returns it.
    :param counts: instructions by case.
    :param why: the reason why the counts changed.
    :raises ValueError: if the reason is empty.
    """
    if not why.strip():
        raise ValueError("a record needs its reason: --record 'requests carry a deadline'")
    today = datetime.date.today().isoformat()
    with file.open("a", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        for case, instructions in counts.items():
            writer.writerow(Record(today, environment_name, case, round(instructions), why.strip()))
