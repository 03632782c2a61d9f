"""Writes the table of docs/works-with.rst: ``python -m tests.programs.page [FOLDER]``.

``tox -e programs`` records in its folder of environments which version of a program gave the same
output with both drivers, and on which day. If you pass that folder, this command first copies the
records into ``tried.json`` next to this file, which is in the repository. The record of a program
that tox did not run stays the same.
"""

from __future__ import annotations

import ast
import datetime
import json
import re
import sys
from pathlib import Path

from tests.programs.environments import ROOT, Program
from tests.programs.programs import PROGRAMS

PAGE = ROOT / "docs" / "works-with.inc"
SCRIPTS = ROOT / "tests" / "programs" / "scripts"
TRIED = "tried.json"  # the file with the records, in a folder of environments
KEPT = ROOT / "tests" / "programs" / TRIED  # the file with the records in the repository
HEAD = """\
.. Written by python -m tests.programs.page: change tests/programs/programs.py instead.

.. list-table::
   :header-rows: 1
   :widths: 30 12 14 44

   * - Package
     - Version
     - Tried on
     - What is compared
"""


def package_of(program: Program) -> tuple[str, str]:
    """Return the name and the version of a program's main package: the first in its list."""
    first = (program.alone or program.requirements)[0]
    name, _, version = re.sub(r"\[.*?\]", "", first).partition("==")
    return name, version


def read_records(path: Path) -> dict[str, dict[str, str]]:
    """Return the records in a file, by the program's name.

    A record has the "version" and the "date" of the program's last success. If the file does not
    exist, the result is empty.
    """
    if not path.exists():
        return {}
    tried: dict[str, dict[str, str]] = json.loads(path.read_text())
    return tried


def write_records(path: Path, tried: dict[str, dict[str, str]]) -> None:
    """Write records, in the form that `read_records` returns, into a file."""
    path.write_text(json.dumps(tried, indent=2, sort_keys=True) + "\n")


def note_success(path: Path, name: str, program: Program) -> None:
    """Record in a file that a program gave the same output with both drivers today."""
    day = datetime.datetime.now(tz=datetime.timezone.utc).date()
    entry = {"date": day.isoformat(), "version": package_of(program)[1]}
    write_records(path, {**read_records(path), name: entry})


def take_notes(folder: Path) -> None:
    """Copy the records of a folder of environments into the file in the repository.

    Records of programs that are no longer in PROGRAMS are deleted.
    """
    tried = {**read_records(KEPT), **read_records(folder / TRIED)}
    write_records(KEPT, {name: entry for name, entry in tried.items() if name in PROGRAMS})


def tested_features(name: str) -> str:
    """Return a description of the program's features that its script uses.

    The description is the part of the script's docstring after "NAME: ".
    """
    text = ast.get_docstring(ast.parse((SCRIPTS / f"run_{name}.py").read_text())) or ""
    what = " ".join(text.split()).partition(": ")[2]
    return what[:1].upper() + what[1:]


def table() -> str:
    """Return the reStructuredText of the table. Its rows are sorted by the packages' names."""
    tried = read_records(KEPT)
    rows = []
    for name, program in PROGRAMS.items():
        if name not in tried:
            raise ValueError(f"the lane has not run {name} yet: tox -e programs -- -k {name}")
        package, version = package_of(program)
        day = tried[name]["date"]
        rows.append(
            f"   * - {package}\n     - {version}\n     - {day}\n     - {tested_features(name)}\n"
        )
    return HEAD + "".join(sorted(rows, key=str.lower))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        take_notes(Path(argument))
    PAGE.write_text(table())
