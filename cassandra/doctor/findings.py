"""The findings of the doctor."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NOTE", "OK", "PROBLEM", "WARNING", "Finding", "found"]

OK = "ok"
NOTE = "note"
WARNING = "warning"
PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    :param level: `OK`, `NOTE` (good to know), `WARNING` (works, but look at it) or `PROBLEM`.
    :param subject: what was looked at, in a word or two.
    :param text: what was found.
    :param do: what to do about it; empty if nothing.
    """

    level: str
    subject: str
    text: str
    do: str = ""


def found(level: str, subject: str, text: str, do: str = "") -> Finding:
    """Return a finding with its text in one line.

    :param level: as in `Finding`.
    :param subject: as in `Finding`.
    :param text: as in `Finding`.
    :param do: as in `Finding`.
    """
    return Finding(level, subject, " ".join(text.split()), do)
