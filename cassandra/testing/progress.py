"""Prints on stderr which long step is running, such as the start of a cluster's nodes."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_REDRAW_S = 0.1  # on a terminal, redraw the line at most this often
_SILENCE_S = 10.0  # if stderr is not a terminal, print a line when a step takes this long


class Progress:
    """Prints the step that is running, and how long it takes.

    On a terminal, the output is a single line that is redrawn. Otherwise a line is printed at the
    beginning of a step, at its end, and every ten seconds in between.

    :param enabled: False prints nothing.
    :param stream: where to print; None for stderr.
    """

    def __init__(self, enabled: bool = True, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._enabled = enabled and self._stream is not None
        self._live = self._enabled and self._stream.isatty()  # True if one line is redrawn
        self._step = ""  # the step in progress; empty if there is none
        # Monotonic times: when the step began, and when we last printed something about it.
        self._began = 0.0
        self._drawn = 0.0

    def begin(self, step: str) -> None:
        """Begin a step, for example ``starting 3 nodes``."""
        self._step, self._began, self._drawn = step, time.monotonic(), 0.0
        if self._live:
            self.update("")
        else:
            # Treat this line as output, so that `update` prints nothing for the next `_SILENCE_S`
            # seconds.
            self._drawn = self._began
            self._line(f"{step} ...")

    def update(self, detail: str) -> None:
        """Show that the step is still in progress.

        You may call this as often as you like: the output is rate-limited.

        :param detail: the progress of the step, for example "1 of 3 ready".
        """
        now = time.monotonic()
        # Print nothing if no step is in progress, or if the last output is too recent.
        if not self._step or now - self._drawn < (_REDRAW_S if self._live else _SILENCE_S):
            return
        self._drawn = now
        line = f"{self._step} {f'({detail}) ' if detail else ''}{now - self._began:.0f} s"
        if self._live:
            self._write(f"\r\x1b[Kturbocql: {line}")
        else:
            self._line(f"{line} ...")

    def done(self, result: str = "done") -> None:
        """End the step, and print its result and duration."""
        if self._step:
            seconds = time.monotonic() - self._began
            self._line(f"{self._step}: {result} in {seconds:.1f} s", over=True)
        self._step = ""

    def abandon(self) -> None:
        """End a step that failed, without printing anything: an exception reports the failure."""
        if self._live and self._step:
            self._write("\r\x1b[K")
        self._step = ""

    def _line(self, text: str, over: bool = False) -> None:
        self._write(f"{chr(13) + chr(27) + '[K' if self._live and over else ''}turbocql: {text}\n")

    def _write(self, text: str) -> None:
        """Write a string to the stream without adding a line end, if output is enabled."""
        if not self._enabled:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # stderr is closed: print nothing from now on
            self._enabled = self._live = False
