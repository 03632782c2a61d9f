"""The mapper's example programs and the code blocks of its guide run unchanged on a real node."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from cassandra.cqlengine import ValidationError, connection
from cassandra.testing import LocalCluster
from tests.integration.test_docs import python_blocks, run_block
from tests.processes import HOME

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[3]


def import_example(name: str) -> Any:
    """Import a file from the folder examples/, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_mapper(node: LocalCluster, tmp_path: Path) -> None:
    """examples/mapper.py ends without an error, and prints what it has read."""
    # Run the example with `runpy`, which does not put examples/ on the path. The driver comes from
    # PYTHONPATH and not from the source checkout, which may have no compiled modules.
    code = "import runpy, sys; sys.argv[0] = 'mapper'; runpy.run_path(sys.argv.pop(1), run_name='__main__')"  # noqa: E501
    command = [sys.executable, "-c", code, str(ROOT / "examples" / "mapper.py")]
    command += ["--port", str(node.port), "--contact-points", *node.contact_points]
    process = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": HOME},
    )
    assert process.returncode == 0, process.stderr
    assert "there is an author ada already" in process.stdout
    assert re.search(
        r"'post \d+' has the tags \['read'\] and the reactions \{'like': 3\}", process.stdout
    )
    assert process.stdout.splitlines()[-2:] == ["20 posts, blocking", "50 posts, awaited"]


def test_the_functions_of_the_example_mapper_flask(node: LocalCluster) -> None:
    """The functions behind the routes of examples/mapper_flask.py return (JSON, HTTP status)."""
    app = import_example("mapper_flask")
    # The example sets up the default connection itself: remove the tests' default connection until
    # the end.
    default_connection = connection._connections.pop(connection.DEFAULT_CONNECTION, None)
    keyspace = connection.default_keyspace()
    app.connect(node.contact_points, "flask_example", port=node.port)
    try:
        app.create_schema("flask_example")
        todo, status = app.add_todo("ada", {"text": "write"})
        assert (status, todo["done"]) == (201, False)
        for request_without_text in ({}, {"text": 5}):
            _, status = app.add_todo("ada", request_without_text)
            assert status == 400
        finished_todo, _ = app.finish_todo("ada", todo["id"])
        assert finished_todo["done"] is True
        unknown_id = uuid.uuid4()
        _, status = app.finish_todo("ada", unknown_id)
        assert status == 404
        todos, *_ = app.list_todos("ada")
        assert todos == [{**todo, "done": True}]
    finally:
        connection.unregister_connection(connection.DEFAULT_CONNECTION)
        connection.set_default_keyspace(keyspace)
        if default_connection is not None:
            connection._connections[connection.DEFAULT_CONNECTION] = default_connection


async def test_the_functions_of_the_example_mapper_fastapi(node: LocalCluster) -> None:
    """The coroutines behind the routes of examples/mapper_fastapi.py return JSON, or raise."""
    app = import_example("mapper_fastapi")
    keyspace = connection.default_keyspace()
    try:
        async with app.connected(node.contact_points, "fastapi_example", port=node.port):
            await app.create_schema("fastapi_example")
            todo = await app.add_todo("ada", {"text": "write"})
            with pytest.raises(ValidationError):
                await app.add_todo("ada", {"text": 5})
            assert (await app.finish_todo("ada", todo["id"]))["done"] is True
            with pytest.raises(app.Todo.DoesNotExist):
                await app.finish_todo("ada", uuid.uuid4())
            assert await app.list_todos("ada") == [{**todo, "done": True}]
    finally:
        connection.set_default_keyspace(keyspace)


def test_the_code_blocks_of_the_mappers_guide(node: LocalCluster) -> None:
    """All code blocks of docs/mapper.rst run in their order without an error."""
    # The guide sets up the default connection itself: remove the tests' default connection until
    # the end.
    default_connection = connection._connections.pop(connection.DEFAULT_CONNECTION, None)
    keyspace = connection.default_keyspace()
    names: dict[str, Any] = {"__name__": "shop"}
    try:
        blocks = python_blocks("docs/mapper.rst")
        # The guide has 14 blocks. If `python_blocks` overlooked a block, it would not be tested.
        assert len(blocks) == 14
        for block in blocks:
            run_block(block.replace("port=9042", f"port={node.port}"), node, names)
    finally:
        connection.unregister_connection(connection.DEFAULT_CONNECTION)
        connection.set_default_keyspace(keyspace)
        if default_connection is not None:
            connection._connections[connection.DEFAULT_CONNECTION] = default_connection
