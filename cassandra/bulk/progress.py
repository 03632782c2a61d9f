"""Shows the progress of a load or scan on a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, TextIO

from cassandra._clocks import monotonic

_INTERVAL = 0.5  # seconds between two updates of the line


class Progress:
    """Shows on standard error how many rows are done.

    tqdm shows the number if it is installed; otherwise we write a plain line.

    :param is_shown: False shows nothing; None shows it only if standard error is a terminal.
    :param title: the text before the numbers.
    :param total: the total number of rows, if known.
    :param unit: the unit of the count.
    """

    def __init__(
        self,
        is_shown: bool | None = None,
        title: str = "",
        total: int | None = None,
        unit: str = "rows",
    ) -> None:
        # None if the process has no standard error stream, for example under pythonw.
        self._stream: TextIO | None = sys.stderr
        self._shown = self._stream is not None and (
            self._stream.isatty() if is_shown is None else is_shown
        )
        self._title = title
        self._unit = unit
        self._count = 0
        self._start = monotonic()
        self._next_write = self._start + _INTERVAL  # when the line is written next
        self._bar: Any = None  # the bar of the package tqdm; None without the package
        if self._shown:
            try:
                from tqdm import tqdm
            # Without tqdm, `add` writes a plain line.
            except ImportError:
                return
            self._bar = tqdm(desc=title or None, total=total, unit=f" {unit}", unit_scale=True)

    def add(self, count: int) -> None:
        """Add to the number of rows that are done.

        :param count: the number of further rows.
        """
        self._count += count
        if self._bar is not None:
            self._bar.update(count)
        elif self._shown and monotonic() >= self._next_write:
            self._next_write = monotonic() + _INTERVAL
            self._write("\r")

    def _write(self, begin: str, end: str = "") -> None:
        """Write the line of progress between `begin` and `end`, such as a carriage return."""
        seconds = max(monotonic() - self._start, 1e-9)
        title = f"{self._title}: " if self._title else ""
        rate = self._count / seconds
        line = f"{begin}{title}{self._count:,} {self._unit}, {rate:,.0f} a second{end}"
        assert self._stream is not None
        # Ignore errors: the load or scan must not fail because its terminal was closed.
        try:
            self._stream.write(line)
            self._stream.flush()
        except (OSError, ValueError):
            self._shown = False

    def close(self) -> None:
        """Show the final count, and end the display."""
        if self._bar is not None:
            self._bar.close()
        elif self._shown:
            self._write("\r", "\n")
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
