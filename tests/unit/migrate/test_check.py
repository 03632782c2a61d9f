"""`check` reads an application's files, and reports its findings in order.

`check` also reports files that it cannot read.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cassandra.migrate.check import check


def findings_in(*paths: Path) -> list[tuple[str, int, int, str]]:
    """Return the location, line, column and code of each finding in these files."""
    return [
        (finding.location, finding.line, finding.column, finding.code)
        for finding in check(paths).findings
    ]


def test_findings_have_positions_and_are_sorted(tmp_path: Path) -> None:
    """Findings have the line and column of the missing name, and are sorted by file and line."""
    (tmp_path / "b.py").write_text("import cassandra.nothing")
    (tmp_path / "a.py").write_text("x = 1\nif x:\n    from cassandra import (\n        Other,\n"
                                   "        More,\n    )\n")  # fmt: skip
    path_of_a, path_of_b = str(tmp_path / "a.py"), str(tmp_path / "b.py")
    assert findings_in(tmp_path) == [
        (path_of_a, 4, 9, "cassandra.Other"),
        (path_of_a, 5, 9, "cassandra.More"),
        (path_of_b, 1, 8, "cassandra.nothing"),
    ]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("import cassandra.nothing")
    report = check([tmp_path, path])
    assert (report.count, len(report.findings)) == (1, 1)


def test_a_broken_file_does_not_stop_the_rest(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import cassandra (")
    (tmp_path / "b.py").write_text("import cassandra.nothing")
    report = check([tmp_path])
    assert report.count == 2
    assert len(report.unread) == 1
    assert len(report.findings) == 1


@pytest.mark.parametrize("module", ["cassandra", "cassandra.cqlengine"])
def test_an_expression_that_is_too_deep_does_not_stop_the_rest(tmp_path: Path, module: str) -> None:
    (tmp_path / "a.py").write_text(f"import {module}\nx = a" + ".b()" * 400)
    (tmp_path / "b.py").write_text("import cassandra.nothing")
    report = check([tmp_path])
    assert [finding.code for finding in report.findings] == ["cassandra.nothing"]
    # Some versions of Python can parse this deep expression.
    assert [file.reason for file in report.unread] in ([], ["its expressions are too deep"])


def test_an_application_s_own_package_named_cassandra_is_not_reported(tmp_path: Path) -> None:
    for name in ("src/cassandra/mine/own.py", "src/cassandra/other.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("from cassandra.mine import own")
    (tmp_path / "a.py").write_text(
        "import cassandra.mine.own\nfrom cassandra import mine, nothing\nimport cassandra.other"
    )
    # The application itself defines all these names except `nothing`.
    assert [code for *_, code in findings_in(tmp_path)] == ["cassandra.nothing"]


def test_attributes_set_in_one_file_may_be_read_in_another(tmp_path: Path) -> None:
    use = "from cassandra.cluster import Session\ndef f(s: Session):\n    "
    (tmp_path / "a.py").write_text(use + "print(s._mine)")
    assert findings_in(tmp_path)
    (tmp_path / "b.py").write_text(use + "s._mine = 1")
    assert not findings_in(tmp_path)


def test_notebook_cells_share_names_and_have_their_own_line_numbers(tmp_path: Path) -> None:
    sources = ["from cassandra.cluster import Cluster\nsession = Cluster().connect()", "# text",
               "\nsession._pools"]  # fmt: skip
    cells = [{"cell_type": "code", "source": source} for source in sources]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    assert findings_in(path) == [(f"{path}[3]", 2, 1, "Session._pools")]


def test_counts(tmp_path: Path) -> None:
    """`counts` returns the number of findings by severity."""
    (tmp_path / "a.py").write_text("import cassandra.nothing\nimport acsylla\nimport aiocassandra")
    assert check([tmp_path]).counts() == {"breaks": 1, "differs": 0, "note": 2}
