"""The guides: each page's Python, run in its order as one program, against a real node.

A page starts from nothing: it makes its keyspace. Code that is not run by this test stands in other
kinds of blocks (text, shell), or in a file of examples/ that has a test of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from cassandra.testing import LocalCluster

pytestmark = pytest.mark.integration

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "tutorial.rst", *sorted((DOCS / "guides").glob("*.rst"))]
PYTHON = ".. code-block:: python"
# Pages that only refer to examples.
WITHOUT = {"web", "coming-from"}


def blocks(page: Path, directive: str = PYTHON) -> Iterator[tuple[int, str]]:
    """The blocks of a page: the line that each begins in, and its text."""
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines):
        if line.strip() != directive:
            continue
        indent = len(line) - len(line.lstrip())
        taken: list[str] = []
        for following in lines[number + 1 :]:
            if following.strip() and len(following) - len(following.lstrip()) <= indent:
                break
            taken.append(following)
        yield number + 2, textwrap.dedent("\n".join(taken)).strip("\n")


def program(page: Path) -> str:
    """The page's blocks, each in its lines, so that tracebacks name the page's."""
    lines: list[str] = []
    for at, text in blocks(page):
        lines += [""] * (at - len(lines))
        lines += text.splitlines()
    return "\n".join(lines) + "\n"


def test_a_program_has_the_lines_of_its_page(tmp_path: Path) -> None:
    page = tmp_path / "page.rst"
    page.write_text("Head\n====\n\n.. code-block:: python\n\n   a = 1\n\n   b = 2\n\nEnd.\n")
    assert program(page).splitlines()[5:8] == ["a = 1", "", "b = 2"]
    assert re.search(r"^a = 1$", page.read_text(), re.M) is None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_its_examples_run(page: Path, node: LocalCluster, tmp_path: Path) -> None:
    text = program(page)
    if page.stem in WITHOUT:
        assert not text.strip()
        return
    (host,) = node.contact_points
    assert text.strip(), "a guide has examples"
    # Not under the page's name alone: that may be a module's of the standard library.
    file = tmp_path / f"guide_{page.stem}.py"
    file.write_text(text.replace("127.0.0.1", host))
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
