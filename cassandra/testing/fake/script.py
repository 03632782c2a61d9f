"""Priming: decides which requests get which answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from cassandra.testing.fake.answers import Answer, Answerable, as_answer
from cassandra.testing.fake.primitives import Opcode

if TYPE_CHECKING:
    from cassandra.testing.fake.requests import Request

__all__ = ["Match", "Prime", "Script"]

Match = str | re.Pattern[str] | Opcode | Callable[["Request"], bool]

_WITH_TEXT = frozenset({Opcode.QUERY, Opcode.EXECUTE, Opcode.BATCH})


def _by_text(text: str) -> Callable[[Request], bool]:
    return lambda request: (
        # PREPARE has a text too, but a prime for a statement means its execution.
        request.opcode in _WITH_TEXT
        and (request.query == text or (bool(request.statements) and text in request.queries))
    )


def _by_pattern(pattern: re.Pattern[str]) -> Callable[[Request], bool]:
    return lambda request: (
        request.opcode in _WITH_TEXT and any(map(pattern.search, request.queries))
    )


def _by_opcode(opcode: int) -> Callable[[Request], bool]:
    return lambda request: request.opcode == opcode


def matcher(match: Match) -> Callable[[Request], bool]:
    """Return a predicate over requests."""
    if isinstance(match, str):
        return _by_text(match)
    if isinstance(match, re.Pattern):
        return _by_pattern(match)
    if isinstance(match, Opcode):
        return _by_opcode(match)
    if callable(match):
        return match
    raise TypeError(f"{match!r} is not a text, pattern, Opcode or function of a request")


class Prime:
    """One line of the script. `used` counts the requests that it has answered."""

    __slots__ = ("_script", "answer", "matches", "times", "used")

    def __init__(
        self, script: Script, matches: Callable[[Request], bool], answer: Answer, times: int | None
    ) -> None:
        self._script = script
        self.matches = matches
        self.answer = answer
        self.times = times
        self.used = 0

    def remove(self) -> None:
        """Take it out: it answers no further requests."""
        self._script.remove(self)


class Script:
    """The lines, the latest first: a later prime goes before an earlier one."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        # Replaced as a whole: the node's thread may read it at any time.
        self._lines: tuple[Prime, ...] = ()

    def prime(self, match: Match, answer: Answerable, times: int | None) -> Prime:
        """Add a line that holds for the next `times` matching requests, or for all."""
        line = Prime(self, matcher(match), as_answer(answer), times)
        self._lines = (line, *self._lines)
        return line

    def remove(self, line: Prime) -> None:
        """Take a line out."""
        self._lines = tuple(other for other in self._lines if other is not line)

    def clear(self) -> None:
        """Take all lines out."""
        self._lines = ()

    def answer_to(self, request: Request) -> Answer | None:
        """Return the answer of the first line that matches, or None if none does."""
        for line in self._lines:
            if line.matches(request):
                line.used += 1
                # Removed as it is used up, so that an older prime of the same text counts again.
                if line.times is not None and line.used >= line.times:
                    self.remove(line)
                return line.answer
        return None
