"""Write the table of docs/works-with.rst: ``python -m tests.programs.page``."""

from __future__ import annotations

import ast
import re

from tests.programs.environments import ROOT, Program
from tests.programs.programs import PROGRAMS

PAGE = ROOT / "docs" / "works-with.inc"
SCRIPTS = ROOT / "tests" / "programs" / "scripts"
HEAD = """\
.. Written by python -m tests.programs.page: change tests/programs/programs.py instead.

.. list-table::
   :header-rows: 1
   :widths: 36 14 50

   * - Package
     - Version
     - What is compared
"""


def package_of(program: Program) -> tuple[str, str]:
    """Return the name and the version of the package that a program is about."""
    first = (program.alone or program.requirements)[0]
    name, _, version = re.sub(r"\[.*?\]", "", first).partition("==")
    return name, version


def tried_by(name: str) -> str:
    """Return what the script of a program tries: its docstring, without the program's name."""
    text = ast.get_docstring(ast.parse((SCRIPTS / f"run_{name}.py").read_text())) or ""
    what = " ".join(text.split()).partition(": ")[2]
    return what[:1].upper() + what[1:]


def table() -> str:
    """Return the table."""
    rows = []
    for name, program in PROGRAMS.items():
        package, version = package_of(program)
        rows.append(f"   * - {package}\n     - {version}\n     - {tried_by(name)}\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(table())
