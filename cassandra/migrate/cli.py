"""The command ``python -m cassandra.migrate check PATH...``, which prints the findings."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from cassandra._command_words import CommandParser
from cassandra.migrate.check import Report, check
from cassandra.migrate.entries import plain
from cassandra.migrate.files import ENDINGS
from cassandra.migrate.matchers import BREAKS, DIFFERS, NOTE

WIDTH = 76  # the maximum length of the lines that explain a difference
DESCRIPTION = """\
List what will differ when a program moves from cassandra-driver or scylla-driver to turbocql. The
program's files are read, never run.
"""
EXAMPLE = "example: python -m cassandra.migrate check src tests"
EPILOG = """\
exit codes: 0 if nothing breaks, 1 if something does, 2 if the command cannot be understood, there
is nothing to read, or a file could not be read
"""


# Options and words that users may type because other tools have them. The value is the advice in
# the error.
_COUNTERPARTS = {
    **dict.fromkeys(("--json", "-json"), "write --format json"),
    **dict.fromkeys(
        ("--fix", "--write", "--apply", "-w", "-i", "--in-place", "fix", "apply", "run"),
        "the command changes no files: most programs need no change, and each finding says what "
        "to do",
    ),
    **dict.fromkeys(("--output", "-o", "--out"), "write --format json > FILE"),
    **dict.fromkeys(("-r", "--recursive"), "folders are read with all that is in them"),
}


class _Parser(CommandParser):
    """A parser whose error for an unknown option says what to write instead."""

    def error(self, message: str) -> NoReturn:
        """Print the error, and exit.

        :param message: the error as argparse words it.
        """
        words = message.replace("'", " ").split()
        advice = [_COUNTERPARTS[word] for word in words if word in _COUNTERPARTS]
        super().error("; ".join([message, *dict.fromkeys(advice)]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    :param arguments: the arguments of the command; None for ``sys.argv[1:]``.
    """
    parser = _Parser(prog="python -m cassandra.migrate", description=DESCRIPTION, epilog=EXAMPLE)
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
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # If the user has left out `check`, argparse would say that the path is an invalid choice. Say
    # instead what is missing.
    if arguments and arguments[0] != "check" and _is_path(arguments[0]):
        command_line = ["python", "-m", "cassandra.migrate", "check", *arguments]
        parser.error(f"write {shlex.join(command_line)}")
    options = parser.parse_args(arguments)
    if options.command is None or not options.paths:
        parser.error(
            "name the files or folders of your program, for example: "
            "python -m cassandra.migrate check src tests"
        )
    for path in options.paths:
        if not path.exists():
            parser.error(f"there is no file or folder {str(path)!r}")
        if not path.is_dir() and path.suffix and path.suffix not in ENDINGS:
            parser.error(
                f"{path} is not a Python file: name the files or folders of your program "
                f"({', '.join(ENDINGS)})"
            )
    report = check(options.paths)
    if not report.count:
        parser.error(f"there are no Python files in {', '.join(map(str, options.paths))}")
    print(as_json(report) if options.format == "json" else as_text(report))
    if report.unread:
        # If files could not be read, the check is incomplete, because they may show further
        # differences.
        unread_count = len(report.unread)
        files = "1 file was" if unread_count == 1 else f"{unread_count} files were"
        print(f"{parser.prog}: {files} not read, so the exit code is 2", file=sys.stderr)
        return 2
    # The exit code is 1 if something breaks, otherwise 0.
    return int(report.counts()[BREAKS] > 0)


def _is_path(argument: str) -> bool:
    return not argument.startswith("-") and (
        Path(argument).suffix in (".py", ".ipynb") or Path(argument).exists()
    )


def as_text(report: Report) -> str:
    """Return a report as plain text. Each difference is explained once, after its first finding.

    :param report: the report of a check.
    """
    lines = []
    explained = set()
    for finding in report.findings:
        key = finding.difference.key
        lines.append(
            f"{finding.location}:{finding.line}:{finding.column}: "
            f"{finding.severity}: {finding.code} [{key}]"
        )
        # Explain a difference only after its first finding.
        if key in explained:
            continue
        explained.add(key)
        lines += _wrapped(plain(finding.difference.what))
        if finding.difference.do:
            lines += _wrapped(f"To do: {plain(finding.difference.do)}")
    for unread_file in report.unread:
        location = unread_file.location
        if unread_file.line:  # 0 if the fault is not in a certain line
            location += f":{unread_file.line}"
        lines.append(f"{location}: not read: {unread_file.reason}")
    counts = report.counts()
    unread = f", {len(report.unread)} not read" if report.unread else ""
    files = "1 file" if report.count == 1 else f"{report.count} files"
    lines.append(f"{files}{unread}: {_count_summary(counts)}")
    return "\n".join(lines)


def _count_summary(counts: dict[str, int]) -> str:
    """Return a phrase with the number of findings of each severity."""
    breaks, differs = counts[BREAKS], counts[DIFFERS]
    return (
        f"{breaks} {'breaks' if breaks == 1 else 'break'}, "
        f"{differs} {'differs' if differs == 1 else 'differ'}, {counts[NOTE]} to note"
    )


def _wrapped(text: str) -> list[str]:
    """Wrap a paragraph into indented lines."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def as_json(report: Report) -> str:
    """Return a report as a JSON document.

    :param report: the report of a check.
    """
    # The differences that the check found.
    findings = [
        {
            "path": finding.location,
            "line": finding.line,
            "column": finding.column,
            "severity": finding.severity,
            "code": finding.code,
            "difference": finding.difference.key,
            "what": plain(finding.difference.what),
            "why": plain(finding.difference.why),
            "do": plain(finding.difference.do),
        }
        for finding in report.findings
    ]
    # The files, or cells of notebooks, that the check could not read.
    unread = [
        {"path": source.location, "line": source.line, "reason": source.reason}
        for source in report.unread
    ]
    document = {
        "files": report.count,
        "counts": report.counts(),
        "findings": findings,
        "not_read": unread,
    }
    return json.dumps(document, indent=2)
