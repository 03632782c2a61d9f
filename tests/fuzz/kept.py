"""The corpus of the fuzzers: a text file in ``tests/fuzz/corpus`` for each of them.

It contains every input for which a check failed, and inputs with different outcomes. A run checks
the whole corpus before it creates new inputs. If a check fails for an input, the run adds a line
with the input to the corpus. Commit this line together with the fix.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus")
# This is a number of bytes. A longer input is not added if only its outcome is new, because people
# read the corpus, and each run checks it.
_MAX_INPUT = 4000


def lines(part: str) -> list[list[str]]:
    """Return the fields of each line in a file of the corpus, which are separated by spaces.

    :param part: the name of the fuzzer, which is also the name of the file.
    """
    path = CORPUS / f"{part}.txt"
    if not path.exists():
        return []
    return [line.split() for line in path.read_text().splitlines() if line]


def keep(part: str, *fields: object) -> None:
    """Add a line with `fields` to the corpus of `part`, unless the corpus already contains it."""
    line = [str(field) for field in fields]
    if line not in lines(part):
        CORPUS.mkdir(exist_ok=True)
        with (CORPUS / f"{part}.txt").open("a") as file:
            file.write(" ".join(line) + "\n")


class Shapes:
    """The kinds of outcomes that a fuzzer has seen in this run.

    Two outcomes are of the same kind if their messages differ only in numbers, names and values.
    """

    def __init__(self, part: str, grow: bool) -> None:
        self.part = part
        self.grow = grow
        self.seen: set[str] = set()

    def see(self, outcome: str, data: bytes, *fields: object) -> None:
        """Add `data` to the corpus if `grow` is set, and no earlier outcome had the same kind.

        :param outcome: a message, in which numbers, names and values are ignored.
        :param fields: fields that precede `data` in the line of the corpus.
        """
        if self.grow and 0 < len(data) <= _MAX_INPUT:
            kind = re.sub(r"\d+|'.*?'|\".*?\"|<.*>", "#", outcome)[:200]
            if kind not in self.seen:
                self.seen.add(kind)
                keep(self.part, *fields, data.hex())


def numbers(count: int, seconds: float | None) -> Iterator[int]:
    """Yield 0, 1, 2 and so on: `count` numbers, or numbers for `seconds`.

    :param count: is ignored if `seconds` is not None.
    """
    if seconds is None:
        yield from range(count)
        return
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        yield number
        number += 1
