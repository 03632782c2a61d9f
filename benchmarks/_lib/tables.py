"""Tables as plain text."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["show_table"]


def show_table(rows: Sequence[Sequence[str]], names: int) -> None:
    """Print `rows`; the first `names` columns begin at the left, the others end at the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.ljust(width) if at < names else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
