"""The results of the checks of ``python -m cassandra.doctor``, and helpers to word them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

# The levels of a finding; see `Finding`.
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
    :param text: the result, as a sentence without a full stop.
    :param do: what to do about the result; "" if there is nothing to do.
    """

    level: str
    subject: str
    text: str
    do: str = ""


def finding(level: str, subject: str, text: str, do: str = "") -> Finding:
    """Make a finding. Line ends and repeated spaces in `text` become single spaces.

    :param level: as in `Finding`.
    :param subject: as in `Finding`.
    :param text: as in `Finding`.
    :param do: as in `Finding`.
    """
    return Finding(level, subject, " ".join(text.split()), do)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, such as "1 node" or "2 nodes".

    :param count: the number.
    :param noun: the singular noun, whose plural ends in s.
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def all_named(noun: str, names: Collection[str], shown: int | None = None) -> str:
    """Return a clause that names all objects of a kind, such as "the keyspaces are 'a', 'b'".

    :param noun: the singular noun, whose plural ends in s.
    :param names: the names of the objects.
    :param shown: the maximum number of names in the clause; None for no limit.
    """
    if not names:
        return f"there are no {noun}s"
    ordered = sorted(names)
    listed = ", ".join(map(repr, ordered[:shown]))
    if len(ordered) == 1:
        return f"the only {noun} is {listed}"
    rest = 0 if shown is None else max(len(ordered) - shown, 0)
    return f"the {noun}s are {listed}" + (f" and {counted(rest, 'other')}" if rest else "")
