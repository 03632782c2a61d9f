"""The findings of the doctor."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NOTE", "OK", "PROBLEM", "WARNING", "Finding", "finding"]

OK = "ok"
NOTE = "note"
WARNING = "warning"
PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """The result of a check.

    :param level: `OK`, `NOTE` (information), `WARNING` (it works, but should be checked) or
        `PROBLEM`.
    :param subject: the checked item, in a word or two.
    :param text: the result.
    :param do: the recommended action, or an empty string.
    """

    level: str
    subject: str
    text: str
    do: str = ""


def finding(level: str, subject: str, text: str, do: str = "") -> Finding:
    """Return a finding, with its text joined to a single line.

    :param level: as in `Finding`.
    :param subject: as in `Finding`.
    :param text: as in `Finding`.
    :param do: as in `Finding`.
    """
    return Finding(level, subject, " ".join(text.split()), do)
