"""Compares the outcomes of a program with different drivers, value by value.

An outcome is the dict that `tests.differential.worker` returns for a program, with all values that
the program recorded. `tests.differential.lane` adds the requests that the node received and the
rows in the tables. Each value in an outcome has a place, such as "show:LABEL" or "table:NAME[KEY]".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cassandra.migrate.table import BY_KEY

NOTHING = "<nothing>"  # stands for a value that only the other driver's outcome has
# An error in the form of `worker.error_text`: the names of its classes, separated by "|".
ERROR = re.compile(r"error\(([^)]*)\)")


@dataclass(frozen=True)
class Difference:
    """One value of a program's outcome in which turbocql differs from another driver.

    :param program: the program, as ``module.function[case]``.
    :param place: where the value is: ``show:LABEL``, ``error``, ``warnings:CLASS``, ``printed``,
        ``broken``, ``statements``, or ``table:NAME[KEY]``.
    :param against: the other driver.
    :param theirs: the other driver's value, as `worker.canonical` writes it.
    :param ours: turbocql's value.
    """

    program: str
    place: str
    against: str
    theirs: str
    ours: str


def places(outcome: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of an outcome by their places.

    If a program has used a label several times, the places end with numbers.
    """
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
    """Return True if an application would notice no difference between the two values.

    Two errors are the same if each ``except`` clause that catches the other driver's error also
    catches ours. Our error may have further base classes.
    """
    if theirs == ours:
        return True
    if "error(" not in theirs:
        return False
    if ERROR.sub("error", theirs) != ERROR.sub("error", ours):
        return False
    # Compare the base classes of each error in the values; their names are separated by "|".
    return all(
        set(their_bases.split("|")) <= set(our_bases.split("|"))
        for their_bases, our_bases in zip(ERROR.findall(theirs), ERROR.findall(ours), strict=True)
    )


def differences(
    program: str, theirs: Mapping[str, Mapping[str, Any]], ours: Mapping[str, Any]
) -> list[Difference]:
    """Return the values of an outcome in which our driver agrees with none of the other drivers.

    If the other drivers differ from each other, our driver may agree with any of them.

    :param program: the program's name.
    :param theirs: the outcomes of the other drivers, by name. Differences are reported against the
        first driver.
    :param ours: our driver's outcome.
    """
    by_driver = {name: places(outcome) for name, outcome in theirs.items()}
    own_texts = places(ours)
    first_driver = next(iter(by_driver))
    reported_differences = []
    for key in _all_places([*by_driver.values(), own_texts]):
        our_text = own_texts.get(key, NOTHING)
        their_texts = {name: texts.get(key, NOTHING) for name, texts in by_driver.items()}
        if not any(is_same(text, our_text) for text in their_texts.values()):
            reported_differences.append(
                Difference(program, key, first_driver, their_texts[first_driver], our_text)
            )
    return reported_differences


def _all_places(outcomes: Iterable[Mapping[str, str]]) -> list[str]:
    """Return all places of the outcomes, each once, in the order of the outcomes."""
    places_in_order: dict[str, None] = {}
    for outcome in outcomes:
        places_in_order |= dict.fromkeys(outcome)
    return list(places_in_order)


@dataclass(frozen=True)
class Seen:
    """Regular expressions that select the differences which a `Defended` entry explains.

    Each expression must match at the start of the string. An empty expression matches everything.

    :param program: matches names of programs.
    :param place: matches places of values.
    :param theirs: matches values of the other driver.
    :param ours: matches values of our driver.
    """

    program: str
    place: str = ""
    theirs: str = ""
    ours: str = ""

    def matches(self, difference: Difference) -> bool:
        """Return True if all expressions match the difference."""
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
    """An intended difference from the other drivers.

    :param what: the difference, in reStructuredText.
    :param why: the reason for the difference.
    :param seen: patterns for the programs and values in which the difference appears.
    :param test: the path of a test of the difference, if no program can show it.
    :param key: the key in `cassandra.migrate.table`. Empty if the difference is not documented
        there.
    """

    what: str
    why: str
    seen: tuple[Seen, ...] = ()
    test: str = ""
    key: str = ""


def documented(key: str, seen: tuple[Seen, ...] = (), test: str = "") -> Defended:
    """Return a `Defended` with the text of an entry in `cassandra.migrate.table`.

    :param key: the key of the entry.
    :param seen: patterns for the programs and values in which the difference appears.
    :param test: the path of a test of the difference, if no program can show it.
    """
    entry = BY_KEY[key]
    return Defended(entry.what, entry.why, seen, test, key)


@dataclass
class Verdict:
    """The result of comparing the differences of a run with the intended differences.

    :param undefended: differences that match no `Defended` entry.
    :param stale: the `Seen` patterns that match no difference.
    :param counts: the number of differences that each entry matches, by the entry's `what`.
    """

    undefended: list[Difference]
    stale: list[Seen]
    counts: dict[str, int]


def judge(
    reported: Iterable[Difference], defended: Iterable[Defended], *, is_whole: bool
) -> Verdict:
    """Compare the differences of a run with the intended differences.

    :param reported: the differences of the run.
    :param defended: the entries for intended differences.
    :param is_whole: True if all programs have run. Otherwise `stale` is empty, because the program
        that shows a difference may not have run.
    """
    entries = list(defended)
    used: set[Seen] = set()
    counts = {entry.what: 0 for entry in entries}
    undefended = []
    for difference in reported:
        is_defended = False
        for entry in entries:
            matching = [seen for seen in entry.seen if seen.matches(difference)]
            used.update(matching)
            if matching:
                counts[entry.what] += 1
                is_defended = True
        if not is_defended:
            undefended.append(difference)
    stale = [seen for entry in entries for seen in entry.seen if seen not in used]
    return Verdict(undefended, stale if is_whole else [], counts)
