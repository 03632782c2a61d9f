"""A line or two on stderr about long steps."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["Progress"]

_REDRAW_S = 0.1


class Progress:
    """Names the present step.

    On a terminal it is one line that is drawn again and again. Elsewhere it is one line at the
    start of a step and one at its end.
    """

    def __init__(self, enabled: bool = True, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._enabled = enabled and self._stream is not None
        self._live = self._enabled and self._stream.isatty()
        self._step = ""
        self._began = 0.0
        self._drawn = 0.0

    def begin(self, step: str) -> None:
        """Begin a step: ``starting 3 nodes``."""
        self._step, self._began, self._drawn = step, time.monotonic(), 0.0
        if self._live:
            self.update("")
        else:
            self._line(f"{step} ...")

    def update(self, detail: str) -> None:
        """Show that something has moved within the step, on a terminal only."""
        now = time.monotonic()
        # A terminal is not drawn more often than anybody can read.
        if not self._live or not self._step or now - self._drawn < _REDRAW_S:
            return
        self._drawn = now
        self._write(
            f"\r\x1b[Kturbocql: {self._step} {f'({detail}) ' if detail else ''}"
            f"{now - self._began:.0f} s"
        )

    def done(self, result: str = "done") -> None:
        """End the step."""
        if self._step:
            seconds = time.monotonic() - self._began
            self._line(f"{self._step}: {result} in {seconds:.1f} s", over=True)
        self._step = ""

    def abandon(self) -> None:
        """End a step that failed. The error says why."""
        if self._live and self._step:
            self._write("\r\x1b[K")
        self._step = ""

    def _line(self, text: str, over: bool = False) -> None:
        self._write(f"{chr(13) + chr(27) + '[K' if self._live and over else ''}turbocql: {text}\n")

    def _write(self, text: str) -> None:
        if not self._enabled:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # closed: nobody reads along any more
            self._enabled = self._live = False
