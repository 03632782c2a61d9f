"""Tests of the fragments in changes/: towncrier must accept their names, and they must be prose."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGES = ROOT / "changes"
# Search the text of pyproject.toml, because Python 3.10 has no module `tomllib`.
PROJECT = (ROOT / "pyproject.toml").read_text()
TYPES = re.findall(r'\[\[tool\.towncrier\.type\]\]\ndirectory = "(\w+)"', PROJECT)

pytestmark = pytest.mark.skipif(
    not CHANGES.is_dir(), reason="a source distribution has no fragments"
)


def mistakes_in(name: str, text: str) -> list[str]:
    """Return what is wrong with a fragment of the change log.

    :param name: the name of its file.
    :param text: the content of its file.
    """
    mistakes = []
    match = re.fullmatch(r"\+[a-z0-9]+(?:-[a-z0-9]+)*\.(\w+)\.rst", name)
    if match is None:
        mistakes.append("is not named +WHAT.TYPE.rst")
    elif match[1] not in TYPES:
        mistakes.append(f"is of the type {match[1]}, which is not one of {', '.join(TYPES)}")
    if not text.endswith(".\n"):
        mistakes.append("does not end with a full stop and a new line")
    if text != text.lstrip() or "\n\n" in text:
        mistakes.append("is not one paragraph")
    # towncrier indents the lines by two spaces. In the change log, they must still have at most 100
    # characters.
    if any(len(line) > 98 for line in text.splitlines()):
        mistakes.append("has a line of more than 98 characters")
    return mistakes


def test_no_fragment_has_a_mistake() -> None:
    files = [path for path in CHANGES.iterdir() if path.name != "README.rst"]
    mistakes = {path.name: mistakes_in(path.name, path.read_text()) for path in files}
    assert {name: wrong for name, wrong in mistakes.items() if wrong} == {}


def test_mistakes_in_reports_wrong_names_and_texts() -> None:
    assert mistakes_in("+rows.feature.rst", "A result has rows.\n") == []
    assert mistakes_in("+rows-2.fix.rst", "A result has rows,\nand they are\nsound.\n") == []
    cases: list[tuple[str, str, str]] = [
        ("+rows.improvement.rst", "A result has rows.\n", "type improvement"),
        ("rows.feature.rst", "A result has rows.\n", r"\+WHAT"),
        ("+rows.rst", "A result has rows.\n", r"\+WHAT"),
        ("+rows.feature.md", "A result has rows.\n", r"\+WHAT"),
        ("+rows.feature.rst", "A result has rows\n", "full stop"),
        ("+rows.feature.rst", "", "full stop"),
        ("+rows.feature.rst", "A result.\n\nIt has rows.\n", "paragraph"),
        ("+rows.feature.rst", "A " + 50 * "re" + "sult.\n", "98"),
    ]
    for name, text, pattern in cases:
        (message,) = mistakes_in(name, text)
        assert re.search(pattern, message)


def test_the_readme_explains_each_type() -> None:
    explained = re.findall(r"\* - ``(\w+)``", (CHANGES / "README.rst").read_text())
    assert explained == TYPES


def test_the_change_log_has_the_marker_for_new_releases_once() -> None:
    text = (ROOT / "CHANGELOG.rst").read_text()
    marker = re.search(r'^start_string = "(.+)\\n"$', PROJECT, re.MULTILINE)
    assert marker is not None
    assert text.count(marker[1] + "\n") == 1
