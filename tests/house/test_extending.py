"""Test the recipes of ``docs/extending.rst``: their diffs apply, and what they add works."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import run_python

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extending.rst"

# This is the maximum number of files that a recipe may change. If the last step of a recipe is to
# write a page of the documentation, that file is counted, too, although the diff does not have it.
MOST_FILES = {
    "Add a setting": 2,
    "Add a policy": 3,
    "Add a message": 4,
    "Add a CQL type": 6,
}

# These programs use what a recipe has added.
USES = {
    "Add a setting": """
import asyncio
from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode, Opcode

async def connect(**settings):
    async with aio.Cluster(**settings) as cluster:
        await cluster.connect()

for use in ("cluster", "aio"):
    with FakeNode() as node:
        to_node = {"contact_points": [node.address], "port": node.port}
        settings = {**to_node, "request_origin": "hello"}
        if use == "cluster":
            with Cluster(**settings) as cluster:
                cluster.connect()
        else:
            asyncio.run(connect(**settings))
        startups = [request for request in node.requests if request.opcode == Opcode.STARTUP]
        assert {request.options.get("REQUEST_ORIGIN") for request in startups} == {"hello"}
assert Cluster().request_origin is None
assert ":param request_origin: the origin of requests" in Cluster.__doc__
assert ":param request_origin: the origin of requests" in aio.Cluster.__doc__
try:
    Cluster(request_origin=5)
except TypeError as error:
    assert "request_origin" in str(error)
else:
    raise AssertionError("the check was not called")
try:
    Cluster(requests_origin="x")
except TypeError as error:
    assert "did you mean 'request_origin'" in str(error), error
""",
    "Add a policy": """
import json, pickle
from cassandra import policies
from cassandra.cluster import Cluster
from cassandra.driver_config import DriverConfigReporter

policy = policies.StrictRetryPolicy()
assert "StrictRetryPolicy" in policies.__all__
assert repr(type(policy)) == "<class 'cassandra.policies.StrictRetryPolicy'>"
assert type(pickle.loads(pickle.dumps(policy))) is type(policy)
assert policy.on_unavailable(None, 1, 2, 1, 0) == (policy.RETHROW, None)
report = json.loads(DriverConfigReporter(Cluster(default_retry_policy=policy)).report())
assert report["query"]["retry"]["policy"] == {"type": "custom", "name": "StrictRetryPolicy"}
""",
    "Add a message": """
import asyncio, pickle
from cassandra import aio
from cassandra.engine.connection import read_answer
from cassandra.errors import ProtocolError
from cassandra.protocol import PingMessage, PongMessage, ProtocolHandler
from cassandra.protocol.opcodes import OPCODE_NAMES, PING
from cassandra.testing.fake import FakeNode, Opcode, message

async def ping(node, answer=None):
    if answer is not None:
        node.prime(Opcode.PING, answer)
    async with aio.Cluster([node.address], port=node.port) as cluster:
        await cluster.connect()
        connection = cluster._core.control.connection
        body = PingMessage().body(connection.version)
        return read_answer(connection, PING, None, *await connection.request(PING, body, 5.0))

with FakeNode() as node:
    assert "Unexpected message PING" in str(asyncio.run(ping(node)))
    answer = asyncio.run(ping(node, message(Opcode.PONG, b"")))
    assert type(answer) is PongMessage, answer
    try:
        asyncio.run(ping(node, message(Opcode.READY, b"")))
    except ProtocolError as error:
        assert "answered PING with READY" in str(error), error
    else:
        raise AssertionError("READY must not answer PING")
assert OPCODE_NAMES[0x7E] == "PONG"
assert ProtocolHandler.encode_message(PingMessage(), 1, 4) == bytes.fromhex("040000017f00000000")
assert type(pickle.loads(pickle.dumps(answer))) is PongMessage
""",
    "Add a CQL type": """
import io, json, pickle
from dataclasses import dataclass
from cassandra import cqltypes, type_codes
from cassandra.bulk.texts import Formats, json_of, json_reader, text_of, text_reader, usual_kind
from cassandra.cluster import Cluster
from cassandra.codecs.type_patterns import pattern_of
from cassandra.cqlengine import columns
from cassandra.query import typed_rows
from cassandra.protocol import ProtocolHandler
from cassandra.testing.fake import FakeNode, rows

kind = cqltypes.Varchar16Type
assert type_codes.Varchar16Type == 0x16
assert cqltypes.lookup_casstype("org.apache.cassandra.db.marshal.Varchar16Type") is kind
assert pickle.loads(pickle.dumps(kind)) is kind
assert pattern_of("varchar16").name == "varchar16"
assert kind.to_binary("", 5) == b"" and kind.from_binary(b"", 5) == ""
assert kind.codec()._encode_many(["a", "b" * 17]) is None
nested = cqltypes.lookup_casstype("ListType(Varchar16Type)")
assert list(nested.from_binary(nested.to_binary(["a"], 5), 5)) == ["a"]

@dataclass
class Row:
    v: str

@dataclass
class Wrong:
    v: int

for version in (4, 5):
    with FakeNode(max_version=version) as node:
        node.prime_prepare("INSERT", [("v", "varchar16")])
        node.prime("SELECT", rows([("v", "varchar16")], [("hello",), (None,)]))
        with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
            insert = session.prepare("INSERT")
            session.execute(insert, ("hello",))
            assert [r.values for r in node.requests if r.values][-1] == [b"hello"]
            try:
                session.execute(insert, ("x" * 17,))
            except ValueError as error:
                assert "more than 16 characters" in str(error), error
            else:
                raise AssertionError("a long text was bound")
            result = session.execute("SELECT")
            assert [row.v for row in result] == ["hello", None]
            assert session.execute("SELECT", row_type=Row).one() == Row("hello")
            try:
                session.execute("SELECT", row_type=Wrong).one()
            except TypeError as error:
                assert "varchar16" in str(error), error
            else:
                raise AssertionError("an int does not fit")
            try:
                import pyarrow
            except ImportError:
                pass
            else:
                table = session.execute("SELECT").to_arrow()
                assert table.schema.field("v").type == pyarrow.string()
                assert table.column("v").to_pylist() == ["hello", None]

formats = Formats()
assert text_reader(kind, formats)("a") == "a" == json_reader(kind, formats)("a")
assert usual_kind(kind, formats) == "text"
try:
    json_reader(kind, formats)(5)
except TypeError as error:
    assert "not a text" in str(error), error
else:
    raise AssertionError("a number was read as text")
assert text_of("a") == json_of("a") == "a"
assert columns.Varchar16.db_type == "varchar16"
assert columns.Varchar16.__module__ == "cassandra.cqlengine.columns"
""",
}


def recipes() -> dict[str, str]:
    """Return the text of each section of the page `extending`, by the title of the section."""
    # re.split returns what is before the first title, and then title, text, title, text.
    _, *parts = re.split(r"^(.+)\n-{3,}\n", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def diffs(recipe: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield (file, hunks) of the diffs in a recipe; a hunk is a list of lines with their marks."""
    for block in re.findall(r"^\.\. code-block:: diff\n\n((?:   .*\n|\n)+)", recipe, re.MULTILINE):
        lines = [line.removeprefix("   ") for line in block.rstrip().split("\n")]
        starts = [index for index, line in enumerate(lines) if line.startswith("+++ ")]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            hunks: list[list[str]] = [[]]
            for line in lines[start + 1 : end]:
                if line == "@@":
                    hunks.append([])
                else:
                    hunks[-1].append(line)
            yield lines[start].removeprefix("+++ "), hunks


def apply(hunk: list[str], text: str) -> str:
    """Return `text`, the content of a file, with the lines that a hunk of a diff adds.

    The unchanged lines of the hunk must be in `text` exactly once. If the new lines are in `text`
    already, because the tree has the change, return `text` unchanged.
    """
    # The first character of each line is its mark: "+", or a space for an unchanged line.
    old_text = "\n".join(line[1:] for line in hunk if not line.startswith("+"))
    new_text = "\n".join(line[1:] for line in hunk)
    # The line ends on both sides make sure that only whole lines match. There is no line end before
    # the first line of `text`, so add a line end there.
    if f"\n{new_text}\n" in f"\n{text}":
        return text
    assert f"\n{text}".count(f"\n{old_text}\n") == 1, f"{old_text!r} must be in the file once"
    return f"\n{text}".replace(f"\n{old_text}\n", f"\n{new_text}\n")[1:]


def test_each_recipe_has_a_limit_of_files_and_a_program() -> None:
    assert list(recipes()) == list(MOST_FILES) == list(USES)


@pytest.mark.parametrize("title", MOST_FILES)
def test_a_recipe_changes_few_files(title: str) -> None:
    recipe = recipes()[title]
    changed_files = [file for file, _ in diffs(recipe)]
    # A step that says "Describe it in ``docs/PAGE.rst``" has no diff.
    pages = [line for line in recipe.splitlines() if line.startswith("#. ") and "``docs/" in line]
    assert len(changed_files) + len(pages) <= MOST_FILES[title]


@pytest.mark.parametrize("title", USES)
def test_the_result_of_a_recipe_works(title: str, tmp_path: Path) -> None:
    """The result of a recipe must work.

    The diffs are applied to a copy of the package, and a program uses what they add.
    """
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.c")
    shutil.copytree(ROOT / "cassandra", tmp_path / "cassandra", ignore=ignored)
    for file, hunks in diffs(recipes()[title]):
        path = tmp_path / file
        for hunk in hunks:
            path.write_text(apply(hunk, path.read_text()))
    imports_copy = f"import cassandra\nassert cassandra.__file__.startswith({str(tmp_path)!r})\n"
    environment = {"CASS_DRIVER_IMPL": "python", "PYTHONPATH": str(tmp_path)}
    result = run_python(imports_copy + USES[title], environment)
    assert result.returncode == 0, result.stderr


def files(folder: str, *endings: str) -> list[Path]:
    """Return the files of a folder of the tree, and of its subfolders, with one of the endings."""
    return [path for ending in endings for path in (ROOT / folder).rglob(f"*.{ending}")]


def test_each_file_that_the_page_names_exists() -> None:
    """Each file that the page names must exist.

    The page may name a file by the last parts of its path, such as ``settings/table.py``.
    """
    sources = files("cassandra", "py", "pyx", "pxi", "pxd")
    paths = [path.as_posix() for path in (*sources, *files("docs", "rst"), *files("tests", "py"))]
    names = re.findall(r"``([\w/]+\.(?:py|pxi|pyx|rst))``", PAGE.read_text())
    assert names
    assert [name for name in names if not any(path.endswith(f"/{name}") for path in paths)] == []


def test_each_constant_and_private_name_of_the_page_exists() -> None:
    paths = [*files("cassandra", "py", "pyx", "pxi", "pxd"), *files("tests/unit", "py")]
    sources = "\n".join(path.read_text() for path in paths)
    names = re.findall(r"``(_?[A-Z]+(?:_[A-Z0-9]+)*|_[a-z_]+)``", PAGE.read_text())
    assert [name for name in names if not re.search(rf"\b{name}\b", sources)] == []
