"""Write the table of differences of docs/upgrading.rst: ``python -m tests.differential.page``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from tests.differential.compare import Defended
from tests.differential.defended import DEFENDED
from tests.programs.environments import ROOT

PAGE = ROOT / "docs" / "differences.inc"
WIDTH = 100
HEAD = """\
.. Written by python -m tests.differential.page: change tests/differential/defended.py instead.

.. list-table::
   :header-rows: 1
   :widths: 50 50

   * - What
     - Why
"""


def cell(text: str, mark: str) -> str:
    """Return one cell of a row."""
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=f"   {mark} - ",
        subsequent_indent=" " * 7,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(entries: Iterable[Defended]) -> str:
    """Return the table of those differences that users are told."""
    rows = [f"{cell(one.what, '*')}\n{cell(one.why, ' ')}\n" for one in entries if one.is_told]
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(table(DEFENDED))
