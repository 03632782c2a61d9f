"""The Python code blocks of each guide run in order, as one program, with a real node.

The code of a page creates its own keyspace. Code that this test must not run is in blocks of other
languages (text, shell), or in a file in examples/, which has its own test.
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
# The pages that run on a node of the current version. The page on transactions needs Cassandra 6.
PAGES = [
    DOCS / "tutorial.rst",
    DOCS / "cookbook.rst",
    *sorted(set((DOCS / "guides").glob("*.rst")) - {TRANSACTIONS}),
]
PYTHON = ".. code-block:: python"
# Names of pages without Python blocks. These pages refer to files in examples/.
PAGES_WITHOUT_CODE = {"coming-from"}
# A block that shows the output of the blocks before it. In this block, "..." stands for any string.
OUTPUT = re.compile(r"( *)\.\. code-block:: text\n +:caption: Output\n\n((?:\1 +.*\n|\n)+)")


def blocks(page: Path, directive: str = PYTHON) -> Iterator[tuple[int, str]]:
    """Yield the code blocks of a page.

    :param directive: the line that begins each block.
    :returns: for each block, the number of its first line (from 0), and its code.
    """
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines):
        if line.strip() != directive:
            continue
        indent = len(line) - len(line.lstrip())
        content: list[str] = []
        # Skip the options of the directive, which are not part of the block.
        while number + 1 < len(lines) and re.match(r"\s+:\w+:", lines[number + 1]):
            number += 1
        for content_line in lines[number + 1 :]:
            if content_line.strip() and len(content_line) - len(content_line.lstrip()) <= indent:
                break
            content.append(content_line)
        yield number + 2, textwrap.dedent("\n".join(content)).strip("\n")


def program_of(page: Path) -> str:
    """Return the Python blocks of a page as one program.

    Each line has the same number as in the page, so that tracebacks show the page's line numbers.
    """
    lines: list[str] = []
    for line_number, text in blocks(page):
        lines += [""] * (line_number - len(lines))
        lines += text.splitlines()
    return "\n".join(lines) + "\n"


def test_lines_of_a_program_have_the_same_numbers_as_in_the_page(tmp_path: Path) -> None:
    """`program_of` puts empty lines in place of the page's text."""
    page = tmp_path / "page.rst"
    page.write_text("Head\n====\n\n.. code-block:: python\n\n   a = 1\n\n   b = 2\n\nEnd.\n")
    # The first line of code is line 6 of the page, so it has the index 5.
    assert program_of(page).splitlines()[5:8] == ["a = 1", "", "b = 2"]
    assert re.search(r"^a = 1$", page.read_text(), re.M) is None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page: Path, node: LocalCluster, tmp_path: Path) -> None:
    run_guide(page, node, tmp_path)


def test_examples_of_transactions_run(transactional_node: LocalCluster, tmp_path: Path) -> None:
    run_guide(TRANSACTIONS, transactional_node, tmp_path)


def run_guide(page: Path, node: LocalCluster, tmp_path: Path) -> None:
    """Run the program of a page on a node, and compare its output with the page."""
    program = program_of(page)
    if page.stem in PAGES_WITHOUT_CODE:
        assert not program.strip()
        return
    (host,) = node.contact_points
    assert program.strip(), "a guide has examples"
    # The file's name has a prefix, because a file with only the page's name could hide a module of
    # the standard library.
    file = tmp_path / f"guide_{page.stem}.py"
    file.write_text(program.replace("127.0.0.1", host))
    process = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    # Some errors do not end the program, but print a traceback, for example errors in threads.
    assert "Traceback" not in process.stderr, process.stderr
    # The pages show what Cassandra 5 prints. Cassandra 6 has other versions and keyspaces.
    if node.version.startswith("5."):
        check_output(page.read_text(), process.stdout.replace(host, "127.0.0.1"))


def check_output(page_text: str, printed: str) -> None:
    """Check that a program prints the outputs that its page shows, in this order.

    :param page_text: the content of the page.
    :param printed: the output of the program.
    """
    position = 0
    for _, excerpt in OUTPUT.findall(page_text):
        for line in textwrap.dedent(excerpt).strip("\n").splitlines():
            pattern = re.escape(line).replace(re.escape("..."), ".*")
            match = re.compile(rf"^{pattern}$", re.MULTILINE).search(printed, position)
            assert match, f"{line!r} is shown, but not printed after {printed[:position][-200:]!r}"
            position = match.end()


def test_check_output_fails_if_a_line_is_missing_or_out_of_order() -> None:
    page = ".. code-block:: text\n   :caption: Output\n\n   one\n   t...o\n\nEnd.\n"
    check_output(page, "zero\none\nhm\ntwo\n")
    with pytest.raises(AssertionError, match=r"'t\.\.\.o' is shown, but not printed"):
        check_output(page, "two\none\n")
