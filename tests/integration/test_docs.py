"""The code blocks of the README and of the documentation run unchanged with a real node."""

from __future__ import annotations

import ast
import asyncio
import math
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra.cluster import Session
from cassandra.testing import LocalCluster

from .conftest import connect, create_keyspace

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]


def python_blocks(name: str, language: str = "python") -> list[str]:
    """Return the code blocks of a document that are in the given language.

    :param name: the file's path in the source checkout.
    :param language: the argument of the directive ``code-block``.
    """
    blocks = re.findall(
        rf"\.\. code-block:: {language}\n\n((?:(?:   .*)?\n)+)", (ROOT / name).read_text()
    )
    return [textwrap.dedent(block) for block in blocks]


@pytest.fixture(scope="module")
def shop(node: LocalCluster) -> Iterator[Session]:
    """Yield a session in the keyspace that the examples use."""
    with connect(node) as cluster, cluster.connect() as session:
        create_keyspace(session, "shop")
        session.set_keyspace("shop")
        session.execute(
            "CREATE TABLE IF NOT EXISTS orders (id int PRIMARY KEY, customer text, total double)"
        )
        yield session
        session.execute("DROP KEYSPACE shop")


def run_block(block: str, local: LocalCluster, names: dict[str, Any]) -> dict[str, Any]:
    """Run a code block, with the node's address instead of the block's contact points.

    The block may use ``await`` at the top level.

    :param names: the global variables of the block; further blocks can use them.
    :returns: `names`.
    """
    addresses = repr(local.contact_points)
    # The blocks of the guides have contact points such as 127.0.0.1 and 10.0.0.1.
    code = re.sub(r'\["(?:127\.0\.0|10\.0\.0)\.\d"(?:, "10\.0\.0\.\d")*\]', addresses, block)
    compiled = compile(code, "<example>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    coroutine_or_none = eval(compiled, names)
    if asyncio.iscoroutine(coroutine_or_none):
        asyncio.run(_finish(coroutine_or_none))
    return names


async def _finish(coroutine: Any) -> None:
    await coroutine


def test_the_readmes_program_equals_examples_first() -> None:
    """The README's first program is the same code as in examples/first.py."""
    example = ast.parse((ROOT / "examples" / "first.py").read_text())
    readmes_program = ast.parse(python_blocks("README.rst")[0])
    # Leave out the docstring, which the README does not show.
    example_without_docstring = ast.Module(example.body[1:], type_ignores=[])
    # Unparsing the parsed programs gives both the same formatting.
    assert ast.unparse(readmes_program) == ast.unparse(example_without_docstring)


def test_the_readmes_program(node: LocalCluster, tmp_path: Path) -> None:
    """The README's program prints the output that the README shows."""
    (host,) = node.contact_points
    with connect(node) as cluster, cluster.connect() as session:
        session.execute("DROP KEYSPACE IF EXISTS shop")
    (tmp_path / "first.py").write_text(python_blocks("README.rst")[0].replace("127.0.0.1", host))
    process = subprocess.run(
        [sys.executable, "first.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    expected = python_blocks("README.rst", "text")[0]
    timing = r"in [\d.]+ s \([\d,]+ rows/s"
    printed_lines = re.sub(timing, "", process.stdout).splitlines()
    # The block ends with an empty line. Leave it out.
    expected_lines = re.sub(timing, "", expected).split("\n")[:-2]
    # Lines of concurrent requests may come in any order, and the times were removed.
    assert sorted(printed_lines) == sorted(expected_lines)


def test_the_readmes_pytest_example(tmp_path: Path) -> None:
    """The README's second block is a test file that passes."""
    (tmp_path / "test_mine.py").write_text(python_blocks("README.rst")[1])
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert "1 passed" in process.stdout, process.stdout + process.stderr


def test_schema_metadata(
    node: LocalCluster, shop: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first block of docs/metadata.rst prints a table's schema before and after a change."""
    run_block(python_blocks("docs/metadata.rst")[0], node, {})
    # The block has added the column `paid`. Drop it, because other tests expect the table without
    # it.
    shop.execute("ALTER TABLE orders DROP paid")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["id int", "['id', 'customer', 'paid', 'total']"]
    # With Cassandra 6, a comment says first what its system tables lack.
    is_6 = node.version.startswith("6.")
    assert lines[2].startswith("-- CHECK" if is_6 else "CREATE TABLE shop.orders (")


def test_asyncio_guide(
    node: LocalCluster, shop: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first block of docs/asyncio.rst prints 100 lines, and the second writes a row."""
    shop.execute("TRUNCATE orders")
    first_block, second_block = python_blocks("docs/asyncio.rst")
    names = run_block(first_block, node, {})
    assert len(capsys.readouterr().out.splitlines()) == 100
    run_block(second_block, node, names)
    assert capsys.readouterr().out == ""
    (total,) = shop.execute("SELECT total FROM orders WHERE id = 999").one()
    assert total == 2.0


def test_routing(node: LocalCluster, shop: Session, capsys: pytest.CaptureFixture[str]) -> None:
    """The first two blocks of docs/routing.rst print a row, and the replica that has the row."""
    shop.execute("INSERT INTO orders (id, customer, total) VALUES (17, 'ada', 12.5)")
    blocks = python_blocks("docs/routing.rst")
    names: dict[str, Any] = {}
    run_block(blocks[0], node, names)
    try:
        run_block(blocks[1], node, names)
    finally:
        names["cluster"].shutdown()
    total, replica = capsys.readouterr().out.splitlines()
    assert (total, replica) == ("12.5", f"{node.contact_points[0]} dc1 rack1 up")


def test_results_guide(
    node: LocalCluster, shop: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each block of docs/results.rst prints what the guide says."""
    for name in ("pyarrow", "pandas", "polars", "numpy", "duckdb"):
        pytest.importorskip(name)
    names: dict[str, Any] = {"session": shop}
    printed = []
    for block in python_blocks("docs/results.rst"):
        run_block(block, node, names)
        printed.append(capsys.readouterr().out.splitlines())
    # `printed` has one list of output lines for each block.
    assert printed[0] == []
    assert len(printed[1]) == 10
    assert printed[1][1] == "s1 0.5"
    assert printed[2] == [
        "Reading(sensor='s1', value=None, tags=frozenset({'x'}))",
        "Reading(sensor='s1', value=0.5, tags=frozenset({'x'}))",
    ]
    assert printed[3] == [
        "True [Reading(sensor='s1', value=None, tags=frozenset({'x'}))]",
        "True []",
    ]
    assert printed[4] == ["4 4 True"]
    assert printed[5] == ["10 (10, 4) (10, 4) (10, 3)"]
    assert printed[6] == ["13.5"]
    assert printed[7] == ["[(10, 4.0)]", "10"]
    assert printed[8] == ["10", "10"]


def test_batches(node: LocalCluster, shop: Session) -> None:
    """The blocks of docs/batches.rst write the rows 31 to 39."""
    # These examples leave columns unset. Rows that other examples have written would keep their old
    # values in those columns, so empty the table first.
    shop.execute("TRUNCATE orders")
    blocks = python_blocks("docs/batches.rst")
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        run_block(block, node, names)
    names["cluster"].shutdown()
    stored = {
        row.id: (row.customer, row.total)
        for row in shop.execute("SELECT * FROM orders")
        if 31 <= row.id <= 39
    }
    # NaN is not equal to itself, so check this row alone and remove it before the comparison.
    assert math.isnan(stored.pop(39)[1])
    assert stored == {
        31: ("ada", 12.5),
        32: ("bob", None),
        33: ("eve", 3.5),
        34: ("ada", 2.0),
        35: ("bob", 5.5),
        36: ("eve", None),
        37: ("ada", 7.0),
        38: ("ada", 1.5),
    }
