"""Test the pages of the documentation: menus, links, file names, and the width of code blocks."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from cassandra.client.settings.table import TASKS, ClusterSettings
from tests.dead_links import dead_links
from tests.programs import page as programs_page
from tests.programs.programs import PROGRAMS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.rst", *sorted((ROOT / "docs").rglob("*.rst"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# A page shows this number of characters of code without scrolling.
WIDEST = 76


def code_lines(page: Path) -> list[tuple[int, str]]:
    """Return (line number, text) of each line in the code blocks of a page.

    A block begins with a directive for code, or after a line that ends with two colons. It has the
    following lines that are indented more than that line. The common indentation is removed.
    """
    lines = page.read_text().splitlines()
    numbered_lines: list[tuple[int, str]] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        starts_block = re.match(r"\s*\.\. (code-block|sourcecode|parsed-literal)::", line) or (
            line.rstrip().endswith("::") and not line.lstrip().startswith("..")
        )
        if not starts_block:
            continue
        # Collect the lines of the block, with their numbers.
        indent = len(line) - len(line.lstrip())
        block: list[tuple[int, str]] = []
        while index < len(lines) and (
            not lines[index].strip() or len(lines[index]) - len(lines[index].lstrip()) > indent
        ):
            block.append((index + 1, lines[index]))
            index += 1
        # Remove the indentation that all lines of the block have.
        margin = min(
            (len(text) - len(text.lstrip()) for _, text in block if text.strip()), default=0
        )
        numbered_lines += [(number, text[margin:]) for number, text in block]
    return numbered_lines


def test_code_lines_come_from_every_kind_of_code_block(tmp_path: Path) -> None:
    page = tmp_path / "page.rst"
    page.write_text(
        "Text::\n\n   a\n\n* item\n\n  .. code-block:: python\n\n     b\n       c\n\nEnd\n"
    )
    assert [line for _, line in code_lines(page) if line] == ["a", "b", "  c"]


def test_no_line_of_code_needs_scrolling() -> None:
    too_wide = [
        f"{page.name}:{number}: {line}"
        for page in PAGES
        for number, line in code_lines(page)
        if len(line) > WIDEST
    ]
    assert not too_wide, "\n".join(too_wide)


def test_each_page_is_in_a_menu() -> None:
    """Each page except the start page must be an entry of a table of contents (``toctree``)."""
    docs = ROOT / "docs"
    listed: set[str] = set()
    for index in (docs / "index.rst", docs / "api" / "index.rst", docs / "api" / "cluster.rst"):
        # The entries are the names of pages, relative to the folder of the index.
        for name in re.findall(r"^   ([\w/-]+)$", index.read_text(), re.M):
            listed.add(str((index.parent / name).relative_to(docs)))
    pages = {str(page.relative_to(docs).with_suffix("")) for page in docs.rglob("*.rst")}
    assert pages - listed == {"index"}


def test_each_example_is_named_by_a_page() -> None:
    documentation = "\n".join(page.read_text() for page in PAGES)
    assert [example.name for example in EXAMPLES if example.stem not in documentation] == []


def test_each_file_that_a_page_names_exists() -> None:
    named = re.compile(r"``((?:examples|benchmarks|docs|tests|tools|shims)/[\w./-]+)``")
    missing = [
        f"{page.name}: {name}"
        for page in PAGES
        for name in named.findall(page.read_text())
        if not (ROOT / name).exists()
    ]
    assert not missing, "\n".join(missing)


def test_the_page_of_programs_lists_the_versions_that_the_lane_runs() -> None:
    """The page of programs must list the versions that the lane ``programs`` runs.

    It is created from the records of the last run of the lane.
    """
    records = programs_page.read_records(programs_page.KEPT)
    recorded_versions = {name: record["version"] for name, record in records.items()}
    versions = {name: programs_page.package_of(program)[1] for name, program in PROGRAMS.items()}
    assert recorded_versions == versions, (
        "run the lane, and then python -m tests.programs.page FOLDER"
    )
    assert (ROOT / "docs" / "works-with.inc").read_text() == programs_page.table()


def test_each_setting_of_a_cluster_is_in_the_table_of_tasks() -> None:
    """Each setting must be in one group of TASKS.

    TASKS groups the settings by what a user wants to do.
    """
    listed = " ".join(TASKS.values()).split()
    assert sorted(listed) == sorted(ClusterSettings._table)
    assert ".. settings-by-task::" in (ROOT / "docs/api/cluster-cluster.rst").read_text()


def test_dead_links_returns_broken_and_unknown_links(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#here">right</a><a href="#top">right</a>'
        '<a href="b.html#nowhere">wrong</a><a href="c.html">wrong</a><img src="no.png">'
        '<a href="https://docs.python.org/3/">right</a><a href="http://docs.python.org/3/">wrong</a>'
        '<a href="https://nowhere.invalid/">wrong</a><a href="mailto:a@b.c">right</a>'
    )
    (tmp_path / "b.html").write_text('<p id="here">B</p>')
    assert [line.removeprefix("a.html: ") for line in dead_links(tmp_path)] == [
        "b.html#nowhere: no such place in the page",
        "c.html: no such file",
        "no.png: no such file",
        "http://docs.python.org/3/: http",
        "https://nowhere.invalid/: a site that is not in ELSEWHERE",
    ]


def test_the_contributing_guide_names_each_tox_environment() -> None:
    names = re.findall(r"^\[testenv:([a-z][\w-]*)\]", (ROOT / "tox.ini").read_text(), re.MULTILINE)
    guide = (ROOT / "CONTRIBUTING.rst").read_text()
    assert names
    missing = [name for name in names if f"``{name}``" not in guide and f"-e {name}" not in guide]
    assert missing == []


def test_each_test_module_says_what_it_tests() -> None:
    """Each test module must have a docstring, and no two docstrings may be equal.

    Of two equal docstrings, one was copied and does not describe its module.
    """
    names_by_docstring: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if path.name != "__init__.py" and not {"programs", "scripts", "typing"} & set(path.parts):
            docstring = ast.get_docstring(ast.parse(path.read_text()), clean=True) or ""
            names_by_docstring.setdefault(docstring.strip(), []).append(name)
    assert "" not in names_by_docstring, names_by_docstring[""]
    assert [names for names in names_by_docstring.values() if len(names) > 1] == []
