"""The parts that all benchmarks share: options, output, progress bar, tables, JSON and picture."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from benchmarks._lib import pictures
from benchmarks._lib.requirements import lacking, need_driver
from benchmarks._lib.tables import Table

BAR = 30  # the width of the progress bar in characters


class Progress:
    """A progress bar on standard error, which is only shown on a terminal.

    :param total: the number of steps.
    """

    def __init__(self, total: int, out: TextIO = sys.stderr) -> None:
        self._total = total
        self._out = out
        self._shows = out.isatty()
        self._began = time.monotonic()
        self._done = 0

    def step(self, label: str) -> None:
        """Show that a step begins, and that the previous step is done.

        :param label: the name of the step.
        """
        if self._shows:
            filled = BAR * self._done // max(self._total, 1)
            bar = "#" * filled + "." * (BAR - filled)
            seconds = time.monotonic() - self._began
            self._out.write(
                f"\r\033[K[{bar}] {self._done}/{self._total}  {seconds:.0f} s  {label[:50]}"
            )
            self._out.flush()
        self._done += 1

    def clear(self) -> None:
        """Remove the bar."""
        if self._shows:
            self._out.write("\r\033[K")
            self._out.flush()


class Benchmark:
    """One benchmark, from its options to its report.

    :param description: the script's docstring, which ``--help`` prints.
    :param subject: what is measured, in a few words, for the first line of output.
    :param duration_text: about how long the benchmark takes, such as "2 minutes".
    :param quick_duration_text: about how long it takes with ``--quick``.
    :param with_peers: True if the benchmark can also measure other drivers.
    """

    def __init__(
        self,
        description: str | None,
        subject: str,
        *,
        duration_text: str,
        quick_duration_text: str,
        with_peers: bool = False,
    ) -> None:
        self.subject = subject
        self.tables: list[Table] = []
        self.notes: list[str] = []
        self.targets: list[tuple[str, bool]] = []  # (the target in words, True if it is met)
        self.versions: dict[str, str] = {}  # the versions of the other drivers that are measured
        self._began = time.monotonic()
        self.options = argparse.Namespace()
        self._duration_text = duration_text
        self._quick_duration_text = quick_duration_text
        self._with_peers = with_peers
        self.parser = argparse.ArgumentParser(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        self.add_option = self.parser.add_argument

    def start(
        self, arguments: list[str] | None = None, *, quick: Mapping[str, Any] | None = None
    ) -> argparse.Namespace:
        """Read the options, check that the driver can be imported, and print the first line.

        :param arguments: the command line's arguments; None for the arguments of this process.
        :param quick: the values that options have with ``--quick``, unless they are given
            explicitly.
        :returns: the options.
        """
        self._add_common()
        options = self.parser.parse_args(arguments)
        if options.quick:
            os.environ["TURBOCQL_BENCH_QUICK"] = "1"  # for child processes
            for name, value in (quick or {}).items():
                if getattr(options, name) == self.parser.get_default(name):
                    setattr(options, name, value)
        self.options = options
        if options.plot and not pictures.can_draw():
            self.parser.error("--plot needs matplotlib: pip install matplotlib")
        need_driver()
        duration = (
            f"about {self._quick_duration_text} (--quick)"
            if options.quick
            else f"about {self._duration_text}"
        )
        self.say(f"{self.subject}: {duration}")
        return options

    def _add_common(self) -> None:
        """Add the options that all benchmarks have."""
        if self._with_peers:
            self.add_option("--no-peers", action="store_true", help="leave the other drivers out")
        self.add_option(
            "--quick", action="store_true", help=f"a rough look: about {self._quick_duration_text}"
        )
        self.add_option(
            "--check",
            action="store_true",
            help="compare with the project's targets, end with 1 if one is missed",
        )
        self.add_option(
            "--json",
            nargs="?",
            const="-",
            metavar="FILE",
            help="write the figures as JSON: to FILE, beside the tables, or else to standard "
            "output, in place of them",
        )
        self.add_option(
            "--plot", type=Path, metavar="FILE.png", help="draw the figures (by matplotlib)"
        )

    def say(self, text: str) -> None:
        """Print a line for the user, on standard error if JSON is written to standard output."""
        print(text, file=sys.stderr if self.options.json == "-" else sys.stdout, flush=True)

    def note(self, text: str) -> None:
        """Print a line, and put it into the JSON as a note about the figures."""
        self.notes.append(text)
        self.say(text)

    def add_target(self, text: str, is_met: bool) -> None:
        """Record whether a figure meets a target of the project.

        With ``--check``, `end` prints all targets, and returns 1 if one is missed.

        :param text: the figure and the target in words.
        :param is_met: True if the figure meets the target.
        """
        self.targets.append((text, is_met))

    @contextmanager
    def progress(self, total: int) -> Iterator[Progress]:
        """Show a progress bar of `total` steps during the ``with`` block."""
        bar = Progress(total)
        try:
            yield bar
        finally:
            bar.clear()

    def show_table(
        self, title: str, rows: dict[str, Any], ratios: dict[str, dict[str, Any]] | None = None
    ) -> None:
        """Add a table to the report, and print it.

        :param title: the heading of the first column (the cases), which also names the unit.
        :param rows: for each case, the figures by column.
        :param ratios: further columns: for each heading, the ratios by case.
        """
        if not rows:
            return
        table = Table(title, rows, ratios or {})
        self.tables.append(table)
        if self.options.json != "-":
            print("", *table.lines(), sep="\n", flush=True)

    def need_program(self, name: str) -> None:
        """If the program `name` is not installed, exit with a message (see `stop`)."""
        missing = lacking(name)
        if missing is not None:
            self.stop(f"this benchmark needs {missing}")

    def stop(self, reason: str) -> None:
        """Exit because something that the benchmark needs is missing.

        The exit status is 1. With ``--quick`` it is 0, and the reason is a note in the report.
        """
        if not self.options.quick:
            sys.exit(reason)
        self.note(reason)
        sys.exit(self.end())

    def end(self) -> int:
        """Write the JSON and the picture, and print the targets, as the options say.

        :returns: the exit status: 1 if ``--check`` was given and a target is missed.
        """
        missed = [text for text, is_met in self.targets if not is_met]
        if self.options.check:
            self.say("")
            for text, is_met in self.targets:
                self.say(f"{text}: {'met' if is_met else 'MISSED'}")
        if self.options.json:
            report = json.dumps(self.as_json(), indent=1)
            if self.options.json == "-":
                print(report)
            else:
                Path(self.options.json).write_text(report + "\n")
        if self.options.plot and self.tables:
            pictures.draw(self.tables, self.subject, self.options.plot)
            self.say(f"drawn: {self.options.plot}")
        return 1 if self.options.check and missed else 0

    def as_json(self) -> dict[str, Any]:
        """Return the whole report as a dict that JSON can encode."""
        import cassandra

        return {
            "benchmark": Path(sys.argv[0]).stem,
            "subject": self.subject,
            "quick": self.options.quick,
            "date": datetime.date.today().isoformat(),
            "seconds": round(time.monotonic() - self._began, 1),
            "machine": machine(),
            "driver": {
                "version": cassandra.__version__,
                "implementation": cassandra.implementation,
            },
            "peers": self.versions,
            "notes": self.notes,
            "tables": [table.as_json() for table in self.tables],
            "targets": [{"what": text, "met": is_met} for text, is_met in self.targets],
        }


def machine() -> dict[str, Any]:
    """Return a description of this machine and its load."""
    # On Linux, `platform.processor` does not return the model of the processor, so read it from
    # /proc/cpuinfo.
    model = platform.processor()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return {
        "processor": model or platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }
