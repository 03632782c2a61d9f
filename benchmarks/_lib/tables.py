"""Tables of figures. A row is a case, a column is a driver or variant, and the last columns are
ratios.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, float | None]


@dataclass
class Table:
    """One table of a benchmark.

    :param title: the heading of the first column, with the unit of the figures if they share one.
    :param rows: by case, the figure of each column; None if there is no figure.
    :param ratios: further columns: by heading, the ratio of each case that has one.
    """

    title: str
    rows: Mapping[str, Row]
    ratios: Mapping[str, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Drop empty columns of ratios. A column is empty if its other driver was not measured."""
        self.ratios = {name: row for name, row in self.ratios.items() if row}

    @property
    def columns(self) -> list[str]:
        """Names of all columns, in the order in which they first appear."""
        return list(dict.fromkeys(name for row in self.rows.values() for name in row))

    def lines(self) -> list[str]:
        """Return the table as lines of text."""
        columns, ratios = self.columns, list(self.ratios)
        cells = [[self.title, *columns, *ratios]]
        for case, row in self.rows.items():
            figures = [shown(row.get(column)) for column in columns]
            cells.append([case, *figures, *(shown(self.ratios[r].get(case)) for r in ratios)])
        return aligned(cells)

    def as_json(self) -> dict[str, Any]:
        """Return the table as a dict that JSON can encode."""
        return {
            "title": self.title,
            "columns": self.columns,
            "rows": [
                {
                    "case": case,
                    "values": dict(row),
                    "ratios": {name: ratios.get(case) for name, ratios in self.ratios.items()},
                }
                for case, row in self.rows.items()
            ],
        }

    @classmethod
    def from_json(cls, table_json: Mapping[str, Any]) -> Table:
        """Return the table for a result of `as_json`."""
        ratios: dict[str, dict[str, float | None]] = {}
        for row in table_json["rows"]:
            for name, ratio in row["ratios"].items():
                if ratio is not None:
                    ratios.setdefault(name, {})[row["case"]] = ratio
        return cls(
            table_json["title"], {row["case"]: row["values"] for row in table_json["rows"]}, ratios
        )


def shown(value: float | None) -> str:
    """Format a figure with about three significant digits; "-" for None."""
    if value is None:
        return "-"
    size = abs(value)
    if float(value).is_integer() or size >= 100:
        digits = 0
    elif size >= 10:
        digits = 1
    elif size >= 0.1:
        digits = 2
    else:
        digits = 4
    return f"{value:,.{digits}f}"


def aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """Format rows of cells as lines: the first column left-aligned, other columns right-aligned.

    :param cells: the first row has the headings, under which a line is drawn.
    """
    widths = [max(len(row[index]) for row in cells) for index in range(len(cells[0]))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def least_over(
    rows: Mapping[str, Row],
    ours: str,
    others: Collection[str],
    same_work: Mapping[str, str] | None = None,
) -> dict[str, float | None]:
    """For each case, divide the least figure of the other columns by ours.

    :param ours: the heading of our column.
    :param others: the headings of the other columns.
    :param same_work: for cases that only our column has: the name of the case that does the same
        work in the other columns.
    :returns: ratios by case. Cases without a figure in our column, or in all others, are left out.
    """
    ratios: dict[str, float | None] = {}
    for case, row in rows.items():
        their_case = (same_work or {}).get(case, case)
        their_row = rows.get(their_case, {})
        their_figures = [figure for name in others if (figure := their_row.get(name)) is not None]
        our_figure = row.get(ours)
        if their_figures and our_figure:
            ratios[case] = min(their_figures) / our_figure
    return ratios
