"""Tests of the warning at import if compiled modules do not match the sources next to them."""

from __future__ import annotations

import os
import shutil
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import cassandra
from cassandra import _build_stamp, _impl
from tests.conftest import LANE
from tests.processes import run_python

PACKAGE = Path(cassandra.__file__).parent
REBUILD = "python setup.py build_ext --inplace"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a directory with sources and a compiled module."""
    (tmp_path / "codecs.pyx").write_text("cdef int a = 1\n")
    (tmp_path / "codecs_arrays.pxi").write_text("# nothing\n")
    (tmp_path / f"codecs{EXTENSION_SUFFIXES[0]}").write_bytes(b"ELF")
    (tmp_path / "codecs.c").write_text("int a;\n")
    return tmp_path


def stamped(directory: Path) -> str:
    """Write the stamp of a build in the directory, and return the name of the directory."""
    name = os.fspath(directory)
    _build_stamp.write_stamp(_build_stamp.source_lines(name), name)
    return name


def test_changed_files_is_none_without_a_stamp(directory: Path) -> None:
    assert _build_stamp.changed_files(os.fspath(directory)) is None


def test_nothing_has_changed_right_after_a_build(directory: Path) -> None:
    name = stamped(directory)
    assert _build_stamp.has_sources(name)
    assert _build_stamp.changed_files(name) == []
    assert _build_stamp.changed_files(name, thorough=True) == []


def test_files_that_changed_are_named(directory: Path) -> None:
    name = stamped(directory)
    (directory / "codecs.pyx").write_text("cdef int b = 10\n")
    (directory / "codecs_arrays.pxi").unlink()
    assert _build_stamp.changed_files(name) == ["codecs.pyx", "codecs_arrays.pxi"]


def test_a_file_of_the_same_size_is_found_by_its_digest(directory: Path) -> None:
    name = stamped(directory)
    (directory / "codecs.pyx").write_text("cdef int b = 1\n")
    assert _build_stamp.changed_files(name) == []
    assert _build_stamp.changed_files(name, thorough=True) == ["codecs.pyx"]


def test_a_new_source_file_is_a_changed_file(directory: Path) -> None:
    name = stamped(directory)
    (directory / "rows.pyx").write_text("")
    assert _build_stamp.changed_files(name, thorough=True) == ["rows.pyx"]


def test_a_replaced_compiled_module_is_a_changed_file(directory: Path) -> None:
    name = stamped(directory)
    module = f"codecs{EXTENSION_SUFFIXES[0]}"
    (directory / module).write_bytes(b"ELF2")
    assert _build_stamp.changed_files(name) == [module]


def test_a_source_changed_during_the_build_is_a_changed_file(directory: Path) -> None:
    sources = _build_stamp.source_lines(os.fspath(directory))
    (directory / "codecs.pyx").write_text("cdef int b = 10\n")
    _build_stamp.write_stamp(sources, os.fspath(directory))
    assert _build_stamp.changed_files(os.fspath(directory)) == ["codecs.pyx"]


@pytest.mark.skipif(LANE != "c", reason="needs compiled modules")
def test_an_import_warns_of_changed_sources_and_names_the_build_command(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("*.c", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "cassandra", ignore=ignored)
    directory = tmp_path / "cassandra" / "_accel"
    # An installed wheel has no sources, so create one.
    (directory / "codecs.pyx").touch()
    # Write the stamp like a build.
    stamped(directory)
    environment = {"CASS_DRIVER_IMPL": "", "PYTHONPATH": os.fspath(tmp_path)}
    code = "import cassandra; print(cassandra.implementation, cassandra.__file__)"
    process = run_python(code, environment)
    assert (process.stdout.split()[0], process.stderr) == ("c", "")
    assert str(tmp_path) in process.stdout
    with (directory / "codecs.pyx").open("a") as source:
        source.write("# another commit\n")
    process = run_python(code, environment)
    assert process.stdout.split()[0] == "c"
    assert "cassandra._accel was built from other sources (codecs.pyx" in process.stderr
    assert REBUILD in process.stderr
    # The Python implementation loads no compiled modules, so it must not warn.
    assert run_python(code, {**environment, "CASS_DRIVER_IMPL": "python"}).stderr == ""


@pytest.mark.skipif(LANE != "c", reason="needs compiled modules")
def test_the_compiled_modules_under_test_were_built_from_these_sources() -> None:
    changed = _build_stamp.changed_files(thorough=True)
    assert not changed, _impl.other_sources(changed)
