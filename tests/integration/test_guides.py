"""Each guide's Python runs in its order as one program, against a real node.

A page creates its own keyspace. Code that this test does not run is in other kinds of blocks (text,
shell), or in a file of examples/ that has its own test.
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
TRANSACTIONS = DOCS / "guides" / "transactions.rst"
PAGES = [
    DOCS / "tutorial.rst",
    DOCS / "cookbook.rst",
    *sorted(set((DOCS / "guides").glob("*.rst")) - {TRANSACTIONS}),
]
PYTHON = ".. code-block:: python"
# Pages that only refer to examples.
WITHOUT = {"web", "coming-from"}
# A block with the output of the blocks before it. In it, "..." matches any text.
OUTPUT = re.compile(r"( *)\.\. code-block:: text\n +:caption: Output\n\n((?:\1 +.*\n|\n)+)")


def blocks(page: Path, directive: str = PYTHON) -> Iterator[tuple[int, str]]:
    """Yield the blocks of a page: the line on which each begins, and its text."""
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines):
        if line.strip() != directive:
            continue
        indent = len(line) - len(line.lstrip())
        taken: list[str] = []
        # Directive options are not part of the text.
        while number + 1 < len(lines) and re.match(r"\s+:\w+:", lines[number + 1]):
            number += 1
        for following in lines[number + 1 :]:
            if following.strip() and len(following) - len(following.lstrip()) <= indent:
                break
            taken.append(following)
        yield number + 2, textwrap.dedent("\n".join(taken)).strip("\n")


def program(page: Path) -> str:
    """Return the page's blocks at their own line numbers, so that tracebacks show the
    page's lines.
    """
    lines: list[str] = []
    for line_number, text in blocks(page):
        lines += [""] * (line_number - len(lines))
        lines += text.splitlines()
    return "\n".join(lines) + "\n"


def test_a_program_has_the_lines_of_its_page(tmp_path: Path) -> None:
    page = tmp_path / "page.rst"
    page.write_text("Head\n====\n\n.. code-block:: python\n\n   a = 1\n\n   b = 2\n\nEnd.\n")
    assert program(page).splitlines()[5:8] == ["a = 1", "", "b = 2"]
    assert re.search(r"^a = 1$", page.read_text(), re.M) is None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page: Path, node: LocalCluster, tmp_path: Path) -> None:
    run(page, node, tmp_path)


def test_examples_of_transactions_run(transactional_node: LocalCluster, tmp_path: Path) -> None:
    run(TRANSACTIONS, transactional_node, tmp_path)


def run(page: Path, node: LocalCluster, tmp_path: Path) -> None:
    """Run the program of a page on a node, and compare its output with the page."""
    text = program(page)
    if page.stem in WITHOUT:
        assert not text.strip()
        return
    (host,) = node.contact_points
    assert text.strip(), "a guide has examples"
    # The page's name alone may be that of a standard module, so it gets a prefix.
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
    """Check that a program prints the outputs that its page shows, in this order."""
    position = 0
    for _, excerpt in OUTPUT.findall(text):
        for line in textwrap.dedent(excerpt).strip("\n").splitlines():
            pattern = re.escape(line).replace(re.escape("..."), ".*")
            match = re.compile(rf"^{pattern}$", re.MULTILINE).search(printed, position)
            assert match, f"{line!r} is shown, but not printed after {printed[:position][-200:]!r}"
            position = match.end()


def test_the_output_of_a_page_is_compared() -> None:
    page = ".. code-block:: text\n   :caption: Output\n\n   one\n   t...o\n\nEnd.\n"
    check_output(page, "zero\none\nhm\ntwo\n")
    with pytest.raises(AssertionError, match=r"'t\.\.\.o' is shown, but not printed"):
        check_output(page, "two\none\n")
