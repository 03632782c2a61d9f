"""Compares the facts that were found in an application's files with the table of differences."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cassandra.migrate import files, reader
from cassandra.migrate.entries import Difference
from cassandra.migrate.facts import Fact, Program
from cassandra.migrate.matchers import NOTE, SEVERITIES
from cassandra.migrate.names import PACKAGE
from cassandra.migrate.table import DIFFERENCES


@dataclass(frozen=True)
class Finding:
    """A difference at one location in the application.

    :param location: the file name. For a notebook, the cell's number follows in brackets.
    :param line: the number of the line, from 1.
    :param column: the number of the column, from 1.
    :param severity: ``breaks``, ``differs`` or ``note``.
    :param code: the application's code that shows the difference, shortened.
    :param difference: the entry of the table of differences.
    """

    location: str
    line: int
    column: int
    severity: str
    code: str
    difference: Difference


@dataclass
class Report:
    """The result of a check.

    :param findings: the differences, in the order of files, lines and columns.
    :param unread: the files that could not be read or parsed.
    :param count: the number of all files, including the files in `unread`.
    """

    findings: list[Finding] = field(default_factory=list)
    unread: list[files.Unread] = field(default_factory=list)
    count: int = 0

    def counts(self) -> dict[str, int]:
        """Return the number of findings by severity."""
        return {
            severity: sum(finding.severity == severity for finding in self.findings)
            for severity in SEVERITIES
        }


def check(paths: Iterable[Path]) -> Report:
    """Read an application's files, and return a report of the differences.

    :param paths: files, and folders whose files are read.
    """
    report = Report()
    program = Program()
    sources = []
    seen_paths: set[str] = set()
    # Read all files first, and then compare their facts with the table: a matcher may need to know
    # what another file defines.
    for requested_path in paths:
        for path in files.walk(requested_path):
            if os.path.realpath(path) in seen_paths:
                continue
            seen_paths.add(os.path.realpath(path))
            report.count += 1
            program.own_modules.update(_own_modules(path))
            for source in files.read(path):
                if isinstance(source, files.Unread):
                    report.unread.append(source)
                    continue
                try:
                    reader.survey(source.tree, program)
                except RecursionError:
                    report.unread.append(_too_deep(source))
                else:
                    sources.append(source)
    for source in sources:
        try:
            report.findings += _findings(source, program)
        except RecursionError:
            report.unread.append(_too_deep(source))
    return report


def _too_deep(source: files.Source) -> files.Unread:
    return files.Unread(source.location, 0, "its expressions are too deep")


def _own_modules(path: Path) -> list[str]:
    """Return the modules that a file defines if it is in a folder ``cassandra``.

    An application may have its own folder with this name: src/cassandra/my/part.py defines the
    modules cassandra.my and cassandra.my.part.
    """
    parts = path.with_suffix("").parts
    # The positions of folders named "cassandra" in the path.
    starts = [start for start, part in enumerate(parts[:-1]) if part == PACKAGE]
    return [
        ".".join(parts[start:end]) for start in starts for end in range(start + 2, len(parts) + 1)
    ]


def _findings(source: files.Source, program: Program) -> list[Finding]:
    """Return the findings in a file, sorted by line."""
    # Several facts may show the same difference in the same code. The key makes sure that it is
    # reported only once.
    findings_by_key = {}
    for fact in reader.read(source.tree):
        for difference in DIFFERENCES:
            finding = _finding(source, program, fact, difference)
            if finding is not None:
                findings_by_key[
                    # These values also give the order in which the findings are sorted.
                    finding.line, finding.column, finding.location, finding.code, difference.key
                ] = finding
    return [findings_by_key[key] for key in sorted(findings_by_key)]


def _finding(
    source: files.Source, program: Program, fact: Fact, difference: Difference
) -> Finding | None:
    """Return the finding if a fact shows a difference; otherwise return None."""
    for matcher in difference.matchers:
        code = matcher.match(fact, program)
        if not code:
            continue
        # In a notebook, each node has the number of its cell; see `files._notebook`.
        cell = getattr(fact.node, "cell", None)
        location = source.location if cell is None else f"{source.location}[{cell}]"
        # If the application itself handles a failure of this code, reduce the severity to a note.
        severity = NOTE if fact.is_guarded else matcher.severity
        return Finding(
            location, fact.node.lineno, fact.node.col_offset + 1, severity, code, difference
        )
    return None
