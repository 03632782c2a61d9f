"""The results of the checks of ``python -m cassandra.doctor``."""

from __future__ import annotations

from dataclasses import dataclass

OK = "ok"
NOTE = "note"
WARNING = "warning"
PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One result of a check.

    :param level: `OK`, `NOTE` (information), `WARNING` (the cluster can be used, but somebody
        should look at it) or `PROBLEM`.
    :param subject: what was checked: the address of a host, or a word such as "schema".
    :param text: the result.
    :param do: what to do about it; "" if there is nothing to do.
    """

    level: str
    subject: str
    text: str
    do: str = ""


def finding(level: str, subject: str, text: str, do: str = "") -> Finding:
    """Make a finding. Line ends and repeated blanks in its text become single blanks.

    :param level: as in `Finding`.
    :param subject: as in `Finding`.
    :param text: as in `Finding`.
    :param do: as in `Finding`.
    """
    return Finding(level, subject, " ".join(text.split()), do)
