"""If a process uses pure Python by accident, it gets one warning."""

from __future__ import annotations

import os
import shutil
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import cassandra
from cassandra import _impl
from cassandra.client import implementation
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode
from tests.processes import run_python

PACKAGE = Path(cassandra.__file__).parent


def test_the_implementation_is_public() -> None:
    assert cassandra.implementation == _impl.implementation
    assert cassandra.fallback_reason is _impl.fallback_reason
    lane = {"c": "compiled", "python": "pure Python"}[cassandra.implementation]
    assert repr(Cluster()).endswith(f"not connected, {lane}>")


def test_a_fallback_to_python_is_logged_at_the_first_connect(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_impl, "fallback_reason", "it lacks any")
    # The message is logged once, and an earlier test may have caused it.
    monkeypatch.setattr(implementation, "_has_warned", False)
    with FakeNode() as node:
        for _ in range(2):
            with Cluster([node.address], port=node.port) as cluster:
                cluster.connect()
    (logged,) = [record for record in caplog.records if "pure Python" in record.getMessage()]
    assert (logged.name, logged.levelname) == ("cassandra.cluster", "WARNING")
    assert "(it lacks any)" in logged.getMessage()


def test_pure_python_by_choice_has_no_fallback_reason() -> None:
    code = """
import cassandra
assert (cassandra.implementation, cassandra.fallback_reason) == ("python", None)
"""
    assert run_python(code, {"CASS_DRIVER_IMPL": "python"}).returncode == 0


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the source tree that has not been built."""
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "*.c", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "tree" / "cassandra", ignore=ignored)
    (tmp_path / "tree" / "setup.py").touch()
    return tmp_path / "tree"


def test_a_tree_in_front_of_a_compiled_installation_warns(tree: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    dist_info = installed / "turbocql-4.0.dist-info"
    dist_info.mkdir(parents=True)
    (dist_info / "METADATA").write_text("Metadata-Version: 2.1\nName: turbocql\nVersion: 4.0\n")
    compiled_module = f"cassandra/_accel/happy_path{EXTENSION_SUFFIXES[0]}"
    (dist_info / "RECORD").write_text(f"{compiled_module},,\n")
    (installed / compiled_module).parent.mkdir(parents=True)
    (installed / compiled_module).touch()
    environment = {
        "CASS_DRIVER_IMPL": "",
        "PYTHONPATH": os.pathsep.join(map(str, (tree, installed))),
    }
    code = "import cassandra; print(cassandra.implementation)"
    process = run_python(code, environment)
    assert process.stdout.strip() == "python", process.stderr
    assert f"the source tree in {tree} is imported, which is not built" in process.stderr
    assert str(installed) in process.stderr
    # Without setup.py, the folder is not a source tree, so there is no warning.
    (tree / "setup.py").unlink()
    assert run_python(code, environment).stderr == ""


def test_a_missing_file_of_the_package_is_named(tree: Path) -> None:
    (tree / "cassandra" / "marshal.py").unlink()
    (tree / "cassandra" / "_accel" / "codecs.py").write_text("import cassandra.marshal")
    # Otherwise the import finder of an editable installation would find another file.
    code = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
from cassandra import _impl
_impl.twin("codecs", "c")
"""
    process = run_python(
        code,
        {"CASS_DRIVER_IMPL": "python", "PYTHONPATH": str(tree)},
    )
    assert "cassandra.marshal is not there" in process.stderr
    assert "pip install --force-reinstall --no-deps dist/turbocql-*.whl" in process.stderr
