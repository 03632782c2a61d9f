"""Writes the reports of benchmarks as a page of reStructuredText."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks._lib.tables import Table, shown


def page_of(reports: Sequence[Mapping[str, Any]]) -> str:
    """Return the page as reStructuredText.

    :param reports: the JSON reports of the scripts. Each report also has its "command".
    """
    lines = [".. Written by benchmarks/all.py: run it again rather than edit this.", ""]
    if reports:
        lines += [*textwrap.wrap(conditions(reports), 98), ""]
    for report in reports:
        lines += section(report)
    return "\n".join(lines).rstrip() + "\n"


def page_with(page: str, reports: Sequence[Mapping[str, Any]]) -> str:
    """Return `page` with new sections for `reports` in place of their earlier sections.

    Each new section says when and where its figures were taken.

    :param page: a page that `page_of` or this function has returned.
    """
    # A section begins with its title, followed by a line of hyphens and a command in ``...``.
    head, *parts = re.split(r"^(?=.+\n-+\n\n``)", page, flags=re.MULTILINE)
    by_command = {_command_of(part): part for part in parts}
    for report in reports:
        title, rule, empty, command, *rest = section(report)
        taken = textwrap.wrap(conditions([report]), 98)
        lines = [title, rule, empty, command, "", *taken, *rest]
        by_command[_command_of("\n".join(lines))] = "\n".join(lines).rstrip() + "\n\n"
    in_order = [by_command[command] for command in sorted(by_command)]
    return (head + "".join(part.rstrip() + "\n\n" for part in in_order)).rstrip() + "\n"


def _command_of(section_text: str) -> str:
    return section_text.splitlines()[3]


def conditions(reports: Sequence[Mapping[str, Any]]) -> str:
    """Describe when, where and with which drivers the figures were taken."""
    first_report = reports[0]
    machine = first_report["machine"]
    versions = {"turbocql": first_report["driver"]["version"]}
    for report in reports:
        versions.update(report["peers"])
    drivers = ", ".join(f"{name} {version}" for name, version in versions.items())
    loads = [report["machine"]["load"] or 0.0 for report in reports]
    opening = "Quick runs, rough figures" if first_report["quick"] else "Measured"
    return escaped(
        f"{opening}, on {first_report['date']}: "
        f"{machine['cores']} cores of {machine['processor']}, "
        f"{machine['system']}, Python {machine['python']}; {drivers}. The machine's load average "
        f"was {min(loads)} to {max(loads)}, the benchmarks themselves included."
    )


def section(report: Mapping[str, Any]) -> list[str]:
    """Return the lines of one benchmark's section: title, command, notes and tables."""
    title = report["subject"]
    lines = [title, "-" * len(title), "", f"``{report['command']}``", ""]
    for note in report["notes"]:
        lines += [f"* {escaped(note)}"]
    if report["notes"]:
        lines.append("")
    for table_json in report["tables"]:
        lines += as_rst(Table.from_json(table_json))
    return lines


def as_rst(table: Table) -> list[str]:
    """Return a table as the lines of a ``csv-table``."""
    ratios = list(table.ratios)
    rows = [["", *table.columns, *ratios]]
    rows += [
        [
            case.strip(),
            *(shown(row.get(column)) for column in table.columns),
            *(shown(table.ratios[name].get(case)) for name in ratios),
        ]
        for case, row in table.rows.items()
    ]
    # Let the csv module quote the cells. Then indent its lines, so that they belong to the
    # directive.
    csv_file = io.StringIO()
    csv.writer(csv_file, lineterminator="\n").writerows(
        [[escaped(cell) for cell in row] for row in rows]
    )
    lines = [f".. csv-table:: {escaped(table.title)}", "   :header-rows: 1", ""]
    return [*lines, *(f"   {line}" for line in csv_file.getvalue().splitlines()), ""]


def escaped(text: str) -> str:
    """Return text with all markup escaped."""
    if text == "-":
        return "\\-"  # a hyphen alone would be a list with an empty item
    for sign in "\\*`|_":
        text = text.replace(sign, f"\\{sign}")
    return text
