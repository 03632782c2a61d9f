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
PAGES = [
    DOCS / "tutorial.rst",
    DOCS / "cookbook.rst",
    *sorted((DOCS / "guides").glob("*.rst")),
]
PYTHON = ".. code-block:: python"
# Pages that only refer to examples.
WITHOUT = {"web", "coming-from"}
# A block that shows what the blocks before it print. In it, "..." is for any text.
OUTPUT = re.compile(r"( *)\.\. code-block:: text\n +:caption: Output\n\n((?:\1 +.*\n|\n)+)")


def blocks(page: Path, directive: str = PYTHON) -> Iterator[tuple[int, str]]:
    """The blocks of a page: the line that each begins in, and its text."""
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines):
        if line.strip() != directive:
            continue
        indent = len(line) - len(line.lstrip())
        taken: list[str] = []
        # Options are no part of the text.
        while number + 1 < len(lines) and re.match(r"\s+:\w+:", lines[number + 1]):
            number += 1
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
    check_output(page.read_text(), done.stdout.replace(host, "127.0.0.1"))


def check_output(text: str, printed: str) -> None:
    """Check that a program prints what its page shows, in this order."""
    at = 0
    for _, shown in OUTPUT.findall(text):
        for line in textwrap.dedent(shown).strip("\n").splitlines():
            pattern = re.escape(line).replace(re.escape("..."), ".*")
            found = re.compile(rf"^{pattern}$", re.MULTILINE).search(printed, at)
            assert found, f"{line!r} is shown, but not printed after {printed[:at][-200:]!r}"
            at = found.end()


def test_the_output_of_a_page_is_compared() -> None:
    page = ".. code-block:: text\n   :caption: Output\n\n   one\n   t...o\n\nEnd.\n"
    check_output(page, "zero\none\nhm\ntwo\n")
    with pytest.raises(AssertionError, match=r"'t\.\.\.o' is shown, but not printed"):
        check_output(page, "two\none\n")
