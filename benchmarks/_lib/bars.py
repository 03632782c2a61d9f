"""Draws the README's picture: a few figures of benchmarks/requests.py as bars, in SVG."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from benchmarks._lib.tables import Table

# The cases and drivers that are drawn, each with the title that it has in the picture.
CASES = {
    "insert, 100 in flight": "Insert of a prepared statement",
    "select of one row, 100 in flight": "Select of one row",
    "vector<float,768> insert, 100 in flight": "Insert of a vector of 768 floats",
}
DRIVERS = {
    "aio": "turbocql, asyncio",
    "blocking": "turbocql, blocking",
    "acsylla": "acsylla",
    "scylladb-rs-driver": "scylladb-rs-driver",
    "scylladb-rs-driver, blocking": "scylladb-rs-driver, blocking",
    "scyllapy": "scyllapy",
    "cassandra-driver": "cassandra-driver",
    "scylla-driver": "scylla-driver",
}
# In pixels: the width of the picture, the width of the drivers' names, the height of a bar with the
# space below it, the space between two cases, and the space for the figure at the end of a bar. The
# picture is narrow, because a phone shrinks it to the width of its screen, and the text must remain
# readable.
WIDTH, LABEL, BAR, GAP, FIGURE = 520, 204, 19, 32, 56
OURS, OTHERS = "#e0832b", "#3d7fb8"  # colours of the bars of this driver and of other drivers
TEXT = "#7a7a7a"  # this grey has the same contrast on a white and on a dark background


def svg(table: Table) -> str:
    """Return the picture: a group of bars for each case of `CASES` that was measured.

    :param table: microseconds of client CPU, by case and driver.
    """
    # `parts` are the SVG elements. `top` is the y coordinate of the next element, below the
    # heading.
    parts: list[str] = []
    top = 46.0
    for case, title in CASES.items():
        row = table.rows.get(case)
        if row is None:
            continue
        parts.append(_text(12, top, title, TEXT, 600))
        top += 10
        figures = [(name, figure) for name in DRIVERS if (figure := row.get(name))]
        top = _append_bars(parts, top, figures)
        top += GAP
    head = _text(12, 22, "Client CPU for one request, microseconds: less is better", TEXT, 700)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:.0f}" '
        'font-family="Inter, Segoe UI, Helvetica, Arial, sans-serif" font-size="14">\n'
        + "\n".join([head, *parts])
        + "\n</svg>\n"
    )


def _append_bars(parts: list[str], top: float, figures: Sequence[tuple[str, float]]) -> float:
    """Append the bars of one case to `parts`, the SVG elements of the picture.

    :param top: the y coordinate of the first bar; the other bars follow below it.
    :returns: the y coordinate at which the bars end.
    """
    highest = max(figure for _, figure in figures)
    for name, figure in figures:
        length = (WIDTH - LABEL - FIGURE) * figure / highest
        color, weight = (OURS, 600) if name in ("aio", "blocking") else (OTHERS, 400)
        parts.append(_text(LABEL - 8, top + 14, DRIVERS[name], TEXT, weight, "end"))
        parts.append(
            f'<rect x="{LABEL}" y="{top:.0f}" width="{max(length, 1):.1f}" height="{BAR - 4}" '
            f'rx="2" fill="{color}"/>'
        )
        parts.append(_text(LABEL + length + 6, top + 12, f"{figure:.3g}", TEXT, 600))
        top += BAR
    return top


def _text(x: float, y: float, text: str, color: str, weight: int, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" fill="{color}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{html.escape(text)}</text>'
    )


def of_reports(reports: Sequence[Mapping[str, object]]) -> str | None:
    """Return the picture for the report of benchmarks/requests.py.

    :returns: None if `reports` has no such report.
    """
    for report in reports:
        tables = report.get("tables")
        if isinstance(tables, list) and "benchmarks/requests.py" in str(report.get("command")):
            return svg(Table.from_json(tables[0]))
    return None
