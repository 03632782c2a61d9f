"""What two drivers did with one program, place by place, and the differences."""

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
    """One place at which this driver does something else.

    :param program: the program, as ``module.function[case]``.
    :param place: what was compared: ``show:LABEL``, ``error``, ``warnings``, ``printed``,
        ``statements``, or ``table:NAME[KEY]``.
    :param against: the driver that was compared with.
    :param theirs: what that driver does, as canonical text.
    :param ours: what this one does.
    """

    program: str
    place: str
    against: str
    theirs: str
    ours: str


def places(outcome: Mapping[str, Any]) -> dict[str, str]:
    """Return what is compared of an outcome, by its place."""
    found: dict[str, str] = {}
    for label, text in outcome.get("shown", ()):
        place, at = f"show:{label}", 1
        while place in found:
            at += 1
            place = f"show:{label}#{at}"
        found[place] = text
    for name in ("error", "printed", "broken"):
        if outcome.get(name):
            found[name] = str(outcome[name])
    for warning in outcome.get("warnings", ()):
        found[f"warnings:{warning}"] = "warned"
    statements = outcome.get("statements")
    if statements is not None:
        ordered = statements if outcome.get("has_order", True) else sorted(statements)
        found["statements"] = "\n".join(ordered)
    for place, text in outcome.get("tables", {}).items():
        found[f"table:{place}"] = text
    return found


def is_same(theirs: str, ours: str) -> bool:
    """Whether ours does for a program what theirs did.

    An error is the same if it can be caught by each class that theirs can be caught by. It may be
    of further ones.
    """
    if theirs == ours:
        return True
    if "error(" not in theirs:
        return False
    if ERROR.sub("error", theirs) != ERROR.sub("error", ours):
        return False
    return all(
        set(one.split("|")) <= set(other.split("|"))
        for one, other in zip(ERROR.findall(theirs), ERROR.findall(ours), strict=True)
    )


def differences(
    program: str, theirs: Mapping[str, Mapping[str, Any]], ours: Mapping[str, Any]
) -> list[Difference]:
    """Return where `ours` does as none of the other drivers.

    Where two of them differ from each other, a program that moves between them sees a difference
    already; ours may do as either.

    :param program: the program's name.
    :param theirs: the outcomes of the other drivers by their names, the first being the one that
        differences are told against.
    :param ours: this driver's outcome.
    """
    by_driver = {name: places(outcome) for name, outcome in theirs.items()}
    own = places(ours)
    first = next(iter(by_driver))
    found = []
    for place in _all_places([*by_driver.values(), own]):
        here = own.get(place, NOTHING)
        there = {name: one.get(place, NOTHING) for name, one in by_driver.items()}
        if not any(is_same(text, here) for text in there.values()):
            found.append(Difference(program, place, first, there[first], here))
    return found


def _all_places(outcomes: Iterable[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(place for outcome in outcomes for place in outcome))


@dataclass(frozen=True)
class Seen:
    """Where programs see a defended difference: regular expressions that match from the start.

    :param program: names of programs.
    :param place: places in them.
    :param theirs: what the other drivers do there.
    :param ours: what this one does.
    """

    program: str
    place: str = ""
    theirs: str = ""
    ours: str = ""

    def matches(self, difference: Difference) -> bool:
        """Whether a difference is one of these."""
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

    :param what: what differs, in reStructuredText.
    :param why: the reason.
    :param seen: where the lane sees it.
    :param test: the test that guards it, for one that this lane cannot see.
    :param key: its entry in the table that users are told. Empty for what no program relies on.
    """

    what: str
    why: str
    seen: tuple[Seen, ...] = ()
    test: str = ""
    key: str = ""


def told(key: str, seen: tuple[Seen, ...] = (), test: str = "") -> Defended:
    """Return an entry of the table that users are told.

    :param key: its key.
    :param seen: where the lane sees it.
    :param test: the test that guards it, for one that this lane cannot see.
    """
    entry = BY_KEY[key]
    return Defended(entry.what, entry.why, seen, test, key)


@dataclass
class Verdict:
    """The judgement over many programs.

    :param undefended: differences that no entry has.
    :param stale: places of the list at which nothing differs any more.
    :param counts: how many differences each entry has.
    """

    undefended: list[Difference]
    stale: list[Seen]
    counts: dict[str, int]


def judge(found: Iterable[Difference], defended: Iterable[Defended], *, is_whole: bool) -> Verdict:
    """Hold differences against the list.

    :param found: the differences.
    :param defended: the list.
    :param is_whole: whether these are all programs that there are. If not, an entry may want one
        that did not run, so that none is called stale.
    """
    entries = list(defended)
    used: set[Seen] = set()
    counts = {entry.what: 0 for entry in entries}
    undefended = []
    for difference in found:
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
