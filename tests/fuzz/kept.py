"""The corpus: every finding, and inputs that reached new code. Each fuzzer has a text file in
``tests/fuzz/corpus``.

The whole corpus is replayed before anything is mutated. A run adds its findings permanently: commit
the file with the fix.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus")
_MOST = 4000  # bytes of an input that is kept: people read the corpus, and each run replays it


def lines(part: str) -> list[list[str]]:
    """Return the fields of each line in the corpus of `part`."""
    path = CORPUS / f"{part}.txt"
    return [line.split() for line in path.read_text().splitlines() if line] if path.exists() else []


def keep(part: str, *fields: object) -> None:
    """Add a line to the corpus of `part`, unless it is there."""
    line = [str(field) for field in fields]
    if line not in lines(part):
        CORPUS.mkdir(exist_ok=True)
        with (CORPUS / f"{part}.txt").open("a") as file:
            file.write(" ".join(line) + "\n")


class Shapes:
    """The outcomes seen so far, as messages without their numbers, names and values."""

    def __init__(self, part: str, grow: bool) -> None:
        self.part = part
        self.grow = grow
        self.seen: set[str] = set()

    def see(self, outcome: str, data: bytes, *fields: object) -> None:
        """Keep `data` if its outcome is the first of its shape and the corpus may grow."""
        if self.grow and 0 < len(data) <= _MOST:
            shape = re.sub(r"\d+|'.*?'|\".*?\"|<.*>", "#", outcome)[:200]
            if shape not in self.seen:
                self.seen.add(shape)
                keep(self.part, *fields, data.hex())


def numbers(count: int, seconds: float | None) -> Iterator[int]:
    """Yield 0, 1, ...: `count` numbers, or, if `seconds` is set, until the time is over."""
    end = None if seconds is None else time.monotonic() + seconds
    number = 0
    while number < count if end is None else time.monotonic() < end:
        yield number
        number += 1
