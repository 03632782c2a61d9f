"""The command ``python -m cassandra.migrate check PATH...``."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Sequence
from pathlib import Path

from cassandra.migrate.check import Report, check
from cassandra.migrate.entries import plain
from cassandra.migrate.matchers import BREAKS, DIFFERS, NOTE

WIDTH = 76
DESCRIPTION = """\
List what will differ when a program moves from cassandra-driver or scylla-driver to turbocql. The
program's files are read, never run.
"""
EPILOG = """\
exit codes: 0 if nothing breaks, 1 if something does, 2 if the command cannot be understood or there
is nothing to read
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    :param arguments: the arguments, by default those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m cassandra.migrate", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="command", metavar="check")
    command = commands.add_parser(
        "check", help="list what will differ", description=DESCRIPTION, epilog=EPILOG
    )
    command.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="a Python file, notebook or folder"
    )
    command.add_argument(
        "--format", choices=("text", "json"), default="text", help="how findings are printed"
    )
    options = parser.parse_args(arguments)
    if options.command is None or not options.paths:
        parser.error(
            "name the files or folders of your program, for example: "
            "python -m cassandra.migrate check src tests"
        )
    for path in options.paths:
        if not path.exists():
            parser.error(f"there is no file or folder {str(path)!r}")
    report = check(options.paths)
    if not report.count:
        parser.error(f"there are no Python files in {', '.join(map(str, options.paths))}")
    print(as_json(report) if options.format == "json" else as_text(report))
    return int(report.counts()[BREAKS] > 0)


def as_text(report: Report) -> str:
    """Return a report as lines for people. A difference is explained at its first place.

    :param report: the findings.
    """
    lines = []
    told = set()
    for one in report.findings:
        key = one.difference.key
        lines.append(f"{one.place}:{one.line}:{one.column}: {one.severity}: {one.code} [{key}]")
        if key in told:
            continue
        told.add(key)
        lines += _wrapped(plain(one.difference.what))
        if one.difference.do:
            lines += _wrapped(f"To do: {plain(one.difference.do)}")
    for bad in report.unread:
        place = f"{bad.place}:{bad.line}" if bad.line else bad.place
        lines.append(f"{place}: not read: {bad.reason}")
    counts = report.counts()
    unread = f", {len(report.unread)} not read" if report.unread else ""
    files = "1 file" if report.count == 1 else f"{report.count} files"
    lines.append(f"{files}{unread}: {_told(counts)}")
    return "\n".join(lines)


def _told(counts: dict[str, int]) -> str:
    breaks, differs = counts[BREAKS], counts[DIFFERS]
    return (
        f"{breaks} {'breaks' if breaks == 1 else 'break'}, "
        f"{differs} {'differs' if differs == 1 else 'differ'}, {counts[NOTE]} to note"
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def as_json(report: Report) -> str:
    """Return a report as JSON.

    :param report: the findings.
    """
    findings = [
        {
            "path": one.place,
            "line": one.line,
            "column": one.column,
            "severity": one.severity,
            "code": one.code,
            "difference": one.difference.key,
            "what": plain(one.difference.what),
            "why": plain(one.difference.why),
            "do": plain(one.difference.do),
        }
        for one in report.findings
    ]
    unread = [{"path": one.place, "line": one.line, "reason": one.reason} for one in report.unread]
    whole = {
        "files": report.count,
        "counts": report.counts(),
        "findings": findings,
        "not_read": unread,
    }
    return json.dumps(whole, indent=2)
