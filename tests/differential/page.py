"""Writes the table of differences in docs/upgrading.rst: ``python -m tests.differential.page``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from cassandra.migrate.entries import Difference
from cassandra.migrate.table import DIFFERENCES
from tests.programs.environments import ROOT

PAGE = ROOT / "docs" / "differences.inc"
WIDTH = 100  # the longest line
HEAD = """\
.. Written by python -m tests.differential.page: change cassandra/migrate/table_*.py instead.

.. list-table::
   :header-rows: 1
   :widths: 50 50

   * - What
     - Why
"""


def cell(text: str, list_marker: str) -> str:
    """Return one cell of a row as lines of reStructuredText.

    :param text: the content of the cell.
    :param list_marker: "*" for the first cell of a row, " " for other cells.
    """
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=f"   {list_marker} - ",
        subsequent_indent=" " * 7,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(entries: Iterable[Difference]) -> str:
    """Return the table of differences in reStructuredText.

    If `cassandra.migrate` can find the code that a difference affects, the table shows the
    difference's key.
    """
    rows = []
    for entry in entries:
        key = f" [``{entry.key}``]" if entry.matchers else ""
        rows.append(f"{cell(entry.what + key, '*')}\n{cell(entry.why, ' ')}\n")
        if entry.do:
            # This paragraph continues the second cell, so replace the marker of a new cell.
            paragraph = cell(f"To do: {entry.do}", " ").replace(" - ", "   ", 1)
            rows.append(f"\n{paragraph}\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(table(DIFFERENCES))
