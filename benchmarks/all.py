"""Runs all benchmarks, and writes their figures for the documentation.

    python benchmarks/all.py [--quick] [--no-peers] [--plots FOLDER] [NAME ...]

The scripts run one after the other as `python benchmarks/NAME.py`, and show their tables. Then this
script writes all figures as reStructuredText to docs/benchmark-figures.inc, which
docs/benchmarks.rst includes. If you give NAMEs, only these scripts run, and the file keeps the
figures of all others. With --quick, the file is benchmarks/results/figures.inc instead.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks._lib import bars, pictures
from benchmarks._lib.page import page_of, page_with
from benchmarks._lib.requirements import need_driver

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmark-figures.inc"
PICTURE = PAGE.with_name("_static") / "requests.svg"
QUICK_PAGE = HERE / "results" / "figures.inc"


def scripts() -> list[Path]:
    """Return the benchmark scripts of this folder, without this script."""
    candidates = sorted(path for path in HERE.glob("[a-z]*.py") if "__main__" in path.read_text())
    return [path for path in candidates if path.name != Path(__file__).name]


def measure(
    chosen_scripts: Sequence[Path], options: argparse.Namespace
) -> tuple[list[Any], list[str]]:
    """Run scripts; return the report (JSON) of each script, and the names of failed scripts."""
    reports: list[Any] = []
    failed = []
    arguments = ["--quick"] if options.quick else []
    with tempfile.TemporaryDirectory() as folder:
        for number, script in enumerate(chosen_scripts, 1):
            print(f"\n== {script.stem} ({number} of {len(chosen_scripts)})", flush=True)
            # The script writes its figures to this file.
            report = Path(folder, f"{script.stem}.json")
            script_arguments = [*arguments, "--json", str(report)]
            if options.no_peers and "with_peers=True" in script.read_text():
                script_arguments.append("--no-peers")
            if options.plots:
                script_arguments += ["--plot", str(options.plots / f"{script.stem}.png")]
            if subprocess.run([sys.executable, str(script), *script_arguments]).returncode:
                failed.append(script.stem)
            # A script may have written its figures even if it has failed.
            if report.exists():
                command = " ".join([f"python benchmarks/{script.name}", *arguments])
                reports.append({**json.loads(report.read_text()), "command": command})
    return reports, failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a rough look: about 2 minutes")
    parser.add_argument("--no-peers", action="store_true", help="leave the other drivers out")
    parser.add_argument("--page", type=Path, metavar="FILE", help="where the figures go")
    parser.add_argument(
        "--plots", type=Path, metavar="FOLDER", help="draw them, too (by matplotlib)"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="these scripts alone")
    options = parser.parse_args()
    by_name = {path.stem: path for path in scripts()}
    if unknown_names := set(options.names) - by_name.keys():
        parser.error(f"no benchmarks: {', '.join(sorted(unknown_names))}")
    if options.plots:
        if not pictures.can_draw():
            parser.error("--plots needs matplotlib: pip install matplotlib")
        options.plots.mkdir(parents=True, exist_ok=True)
    need_driver()
    duration = "2 minutes (--quick)" if options.quick else "40 minutes, more if peers are installed"
    print(f"All benchmarks, one after the other: about {duration}", flush=True)
    chosen_scripts = [by_name[name] for name in options.names or by_name]
    reports, failed = measure(chosen_scripts, options)
    page = options.page or (QUICK_PAGE if options.quick else PAGE)
    page.parent.mkdir(parents=True, exist_ok=True)
    # If only some scripts have run, keep the sections of all other scripts.
    if options.names and page.exists():
        page.write_text(page_with(page.read_text(), reports))
    else:
        page.write_text(page_of(reports))
    # The picture belongs to the page of the documentation.
    picture = bars.of_reports(reports)
    if picture is not None and page == PAGE:
        PICTURE.write_text(picture)
    print(f"\nfigures: {page}")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
