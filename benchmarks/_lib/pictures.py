"""Draws tables of figures with matplotlib."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from benchmarks._lib.tables import Table

# The scale is logarithmic if the largest value is more than SPREAD times the smallest value.
SPREAD = 20.0


def can_draw() -> bool:
    """Return True if matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(tables: Sequence[Table], title: str, path: Path) -> None:
    """Write a picture of horizontal bars, with a panel for each table.

    :param path: the file; its suffix chooses the format.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    heights = [1 + 0.18 * len(table.rows) * (len(table.columns) + 1) for table in tables]
    figure, grid = pyplot.subplots(
        len(tables), 1, figsize=(12, 1 + sum(heights)), squeeze=False,
        gridspec_kw={"height_ratios": heights}, layout="constrained",
    )  # fmt: skip
    figure.suptitle(title)
    for axes, table in zip(grid[:, 0], tables, strict=True):
        bars(axes, table)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def bars(axes: object, table: Table) -> None:
    """Draw one table into matplotlib's `axes`: a group of bars for each case."""
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    columns, cases = table.columns, list(table.rows)
    # On the vertical axis, each case has one unit. Its bars take 0.8 of this unit; the rest is a
    # gap.
    thickness = 0.8 / len(columns)
    for index, column in enumerate(columns):
        positions = [row + index * thickness for row in range(len(cases))]
        lengths = [table.rows[case].get(column) or 0.0 for case in cases]
        axes.barh(positions, lengths, thickness, label=column)
    values = [value for row in table.rows.values() for value in row.values() if value and value > 0]
    if values and max(values) > SPREAD * min(values):
        axes.set_xscale("log")
    # Put the label of a case at the middle of its bars.
    axes.set_yticks([row + 0.4 - thickness / 2 for row in range(len(cases))], cases)
    axes.invert_yaxis()
    axes.set_title(table.title, loc="left", fontsize="medium")
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1.0))
