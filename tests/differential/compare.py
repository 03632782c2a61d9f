"""Compare the outcomes of two drivers for one program, value by value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cassandra.migrate.table import BY_KEY

NOTHING = "<nothing>"
ERROR = re.compile(r"error\(([^)]*)\)")


@dataclass(frozen=True)
class Difference:
    """One value in which this driver differs.

    :param program: the program, as ``module.function[case]``. :param place: the value:
    ``show:LABEL``, ``error``, ``warnings``, ``printed``, ``statements``, or ``table:NAME[KEY]``.
    :param against: the driver that was compared with. :param theirs: that driver's value, as
    canonical text. :param ours: this driver's value.
    """

    program: str
    place: str
    against: str
    theirs: str
    ours: str


def places(outcome: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of an outcome that are compared, by their names."""
    texts: dict[str, str] = {}
    for label, text in outcome.get("shown", ()):
        key, count = f"show:{label}", 1
        while key in texts:
            count += 1
            key = f"show:{label}#{count}"
        texts[key] = text
    for name in ("error", "printed", "broken"):
        if outcome.get(name):
            texts[name] = str(outcome[name])
    for warning in outcome.get("warnings", ()):
        texts[f"warnings:{warning}"] = "warned"
    statements = outcome.get("statements")
    if statements is not None:
        ordered = statements if outcome.get("has_order", True) else sorted(statements)
        texts["statements"] = "\n".join(ordered)
    for key, text in outcome.get("tables", {}).items():
        texts[f"table:{key}"] = text
    return texts


def is_same(theirs: str, ours: str) -> bool:
    """Return True if this driver's value is as good for a program as theirs.

    An error is the same if every class that catches theirs also catches ours. Ours may have further
    classes.
    """
    if theirs == ours:
        return True
    if "error(" not in theirs:
        return False
    if ERROR.sub("error", theirs) != ERROR.sub("error", ours):
        return False
    return all(
        set(name.split("|")) <= set(other.split("|"))
        for name, other in zip(ERROR.findall(theirs), ERROR.findall(ours), strict=True)
    )


def differences(
    program: str, theirs: Mapping[str, Mapping[str, Any]], ours: Mapping[str, Any]
) -> list[Difference]:
    """Return the values in which `ours` agrees with no other driver.

    If two other drivers differ from each other, programs that move between them already see a
    difference; ours may agree with either.

    :param program: the program's name. :param theirs: the outcomes of the other drivers by name;
    differences are reported against the first. :param ours: this driver's outcome.
    """
    by_driver = {name: places(outcome) for name, outcome in theirs.items()}
    own_texts = places(ours)
    first = next(iter(by_driver))
    result = []
    for key in _all_places([*by_driver.values(), own_texts]):
        here = own_texts.get(key, NOTHING)
        there = {name: texts.get(key, NOTHING) for name, texts in by_driver.items()}
        if not any(is_same(text, here) for text in there.values()):
            result.append(Difference(program, key, first, there[first], here))
    return result


def _all_places(outcomes: Iterable[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(key for outcome in outcomes for key in outcome))


@dataclass(frozen=True)
class Seen:
    """Regular expressions for the outcomes of a defended difference; they match from the start.

    :param program: names of programs. :param place: names of values in them. :param theirs: values
    of the other drivers. :param ours: values of this driver.
    """

    program: str
    place: str = ""
    theirs: str = ""
    ours: str = ""

    def matches(self, difference: Difference) -> bool:
        """Return True if the difference matches these expressions."""
        return all(
            re.match(pattern, text, re.S) is not None
            for pattern, text in (
                (self.program, difference.program),
                (self.place, difference.place),
                (self.theirs, difference.theirs),
                (self.ours, difference.ours),
            )
        )


@dataclass(frozen=True)
class Defended:
    """A difference that stays.

    :param what: the difference, in reStructuredText. :param why: the reason. :param seen: where the
    lane sees it. :param test: the test that guards it, if this lane cannot see it. :param key: its
    entry in the table for users. Empty if no program relies on it.
    """

    what: str
    why: str
    seen: tuple[Seen, ...] = ()
    test: str = ""
    key: str = ""


def told(key: str, seen: tuple[Seen, ...] = (), test: str = "") -> Defended:
    """Return an entry of the table for users.

    :param key: its key. :param seen: where the lane sees it. :param test: the test that guards it,
    if this lane cannot see it.
    """
    entry = BY_KEY[key]
    return Defended(entry.what, entry.why, seen, test, key)


@dataclass
class Verdict:
    """The judgement over many programs.

    :param undefended: differences that have no entry. :param stale: entries that no difference
    matches any more. :param counts: the number of differences of each entry.
    """

    undefended: list[Difference]
    stale: list[Seen]
    counts: dict[str, int]


def judge(
    reported: Iterable[Difference], defended: Iterable[Defended], *, is_whole: bool
) -> Verdict:
    """Compare the reported differences with the list.

    :param reported: the differences. :param defended: the list. :param is_whole: whether all
    programs ran. If not, no entry is called stale, because its program may not have run.
    """
    entries = list(defended)
    used: set[Seen] = set()
    counts = {entry.what: 0 for entry in entries}
    undefended = []
    for difference in reported:
        matching = [
            (entry, seen) for entry in entries for seen in entry.seen if seen.matches(difference)
        ]
        used.update(seen for _, seen in matching)
        for entry in {id(entry): entry for entry, _ in matching}.values():
            counts[entry.what] += 1
        if not matching:
            undefended.append(difference)
    stale = [seen for entry in entries for seen in entry.seen if seen not in used]
    return Verdict(undefended, stale if is_whole else [], counts)
