"""`tools/build_wheels` makes reproducible archives, and refuses archives that must not be uploaded.

These tests pack small invented files. The lane ``wheels`` of tools/test builds the real wheels.
"""

from __future__ import annotations

import fnmatch
import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).parents[2]
TOOLS = HOME / "tools"
RELEASE = HOME / ".github" / "workflows" / "release.yml"
# cibuildwheel, which builds the wheels of macOS and Windows, no longer supports these versions.
NOT_OF_CIBUILDWHEEL = {"3.13t"}
# The files of an invented wheel, with their contents.
FILES = {
    "cassandra/__init__.py": b"",
    "turbocql_pytest.py": b"",
    "turbocql-1.0.dist-info/METADATA": b"Name: turbocql\nVersion: 1.0\n"
    b"License-Expression: Apache-2.0\nRequires-Dist: geomet>=1.1\n"
    b'Requires-Dist: lz4>=4.0; extra == "lz4"\n',
    "turbocql-1.0.dist-info/WHEEL": b"",
}
# The source distribution must contain all files of these folders that Git knows.
SDIST_FOLDERS = ("benchmarks", "docs", "examples", "shims", "tests", "tools")
MODULE = "cassandra/_accel/rows.cpython-313-x86_64-linux-gnu.so"
# This is the time of all files in an archive, in seconds.
EPOCH = 1_700_000_000


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the package tools/wheels, which implements tools/build_wheels, with its modules."""
    monkeypatch.syspath_prepend(str(TOOLS))
    import wheels as package
    from wheels import archives, checks, compiling, sbom, targets  # noqa: F401

    return package


def write_wheel_into(wheels: Any, folder: Path, **more_files: bytes) -> Path:
    """Write a wheel for CPython 3.13 on Linux with FILES and further files, and return its path.

    :param more_files: the contents of the further files, by name.
    """
    folder.mkdir(exist_ok=True)
    wheel: Path = wheels.archives.write_wheel(
        {**FILES, **more_files}, "cp313", "cp313", ("manylinux_2_17_x86_64",), EPOCH, folder
    )
    return wheel


def test_the_same_files_make_the_same_wheel(wheels: Any, tmp_path: Path) -> None:
    first = write_wheel_into(wheels, tmp_path / "one", **{MODULE: b"x"})
    files = wheels.archives.read_wheel(first)
    second = wheels.archives.write_wheel(
        # These files and attributes are the same as above, but the files are in another order.
        dict(reversed(files.items())), "cp313", "cp313", ("manylinux_2_17_x86_64",), EPOCH,
        tmp_path,
    )  # fmt: skip
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.slow
def test_pip_installs_the_wheel(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.archives.write_wheel(FILES, "py3", "none", ("any",), EPOCH, tmp_path)
    assert wheel.name == "turbocql-1.0-py3-none-any.whl"
    target = tmp_path / "installed"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index",
         "--target", str(target), str(wheel)], check=True,
    )  # fmt: skip
    assert (target / "cassandra" / "__init__.py").exists()
    metadata = (target / "turbocql-1.0.dist-info" / "WHEEL").read_text()
    assert "Root-Is-Purelib: true\nTag: py3-none-any\n" in metadata


def test_the_same_files_make_the_same_sdist(wheels: Any, tmp_path: Path) -> None:
    """`repack_sdist` must remove what differs between machines: order, times, users and modes."""
    contents = []
    names = ["turbocql/a.py", "turbocql/run"]
    for user, modified, members in (("one", 6, names), ("two", 4, names[::-1])):
        path = tmp_path / f"{user}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for member in members:
                info = tarfile.TarInfo(member)
                info.size, info.mtime, info.uname = 2, modified, user
                info.mode = 0o775 if member.endswith("run") else 0o640
                archive.addfile(info, io.BytesIO(b"x\n"))
        wheels.archives.repack_sdist(path, EPOCH)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    with tarfile.open(fileobj=io.BytesIO(contents[0])) as archive:
        modes = {member.name: member.mode for member in archive.getmembers()}
    assert modes == {"turbocql/a.py": 0o644, "turbocql/run": 0o755}


def test_wrong_extra_and_large_contents_are_refused(
    wheels: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel must have exactly the expected modules, no sources or tests, and a limited size."""
    # `check` takes the wheel and the names of the compiled modules that the wheel must have.
    check = wheels.checks.check_contents
    name = MODULE.rpartition("/")[2]
    good = write_wheel_into(wheels, tmp_path, **{MODULE: b"x"})
    check(good, {name})
    with pytest.raises(ValueError, match="lacks or adds modules"):
        check(good, set())
    with pytest.raises(ValueError, match="lacks or adds modules"):
        check(good, {name, "frame.so"})
    for extra in ("cassandra/_accel/rows.pyx", "tests/test_x.py", "cassandra/a.pyc"):
        bad = write_wheel_into(wheels, tmp_path, **{extra: b"x"})
        with pytest.raises(ValueError, match="no part of a wheel"):
            check(bad, set())
    # This limit is in bytes.
    monkeypatch.setattr(wheels.checks, "LARGEST", 100)
    with pytest.raises(ValueError, match="at most 100"):
        check(good, {name})


def test_a_module_for_another_processor_is_refused(wheels: Any, tmp_path: Path) -> None:
    x86_64, aarch64, *_ = wheels.targets.TARGETS
    module = tmp_path / "rows.so"
    # An ELF header has the number of the processor, here 0xb7 for AArch64, in bytes 18 and 19.
    module.write_bytes(b"\x7fELF" + bytes(14) + b"\xb7\x00")
    wheels.checks.check_machine(module, aarch64)
    with pytest.raises(ValueError, match="0xb7, not 0x3e"):
        wheels.checks.check_machine(module, x86_64)


def test_a_wheel_that_cannot_be_imported_is_refused(wheels: Any, tmp_path: Path) -> None:
    # This interpreter runs without its site-packages (-S), so packages that the wheel requires
    # cannot be imported.
    runner = tmp_path / "python"
    runner.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    runner.chmod(0o755)
    with pytest.raises(ValueError, match=r"cannot import name|No module named|ImportError"):
        wheels.checks.check_elsewhere(write_wheel_into(wheels, tmp_path), runner)


def test_the_bill_of_materials_lists_required_packages_and_is_reproducible(wheels: Any) -> None:
    def make_document(tag: str) -> Any:
        """Return the parsed bill of materials of a wheel with a compatibility tag."""
        metadata = FILES["turbocql-1.0.dist-info/METADATA"]
        tools = {"gcc": "12.2"}
        return json.loads(wheels.sbom.document(metadata, EPOCH, tools, tag))

    document = make_document("cp313-cp313-x86_64")
    assert document == make_document("cp313-cp313-x86_64")
    assert document["serialNumber"] != make_document("py3-none-any")["serialNumber"]
    assert [component["name"] for component in document["components"]] == ["geomet"]
    assert document["metadata"]["component"]["purl"] == "pkg:pypi/turbocql@1.0"


def test_the_running_interpreter_is_found_by_its_version(wheels: Any) -> None:
    """`find` must return the interpreter with the requested version.

    It must return None if there is no such interpreter, or if the interpreter has no C headers.
    """
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    version = f"{sys.version_info[0]}.{sys.version_info[1]}{'' if has_gil else 't'}"
    interpreter = wheels.targets.find(version, [])
    assert interpreter is None or interpreter.abi == f"cp{version.replace('.', '')}"
    assert wheels.targets.find("2.99", []) is None


def test_an_interpreter_known_by_its_headers_compiles_without_the_gil(wheels: Any) -> None:
    """For a free-threaded version such as "3.14t", the ABI tag must end with "t".

    Extensions must then be compiled with CPython's macro `Py_GIL_DISABLED`.
    """
    python = wheels.targets.Interpreter("3.14t", Path("include"), None)
    assert (python.digits, python.abi) == ("314", "cp314t")
    assert python.defines == ["-DPy_GIL_DISABLED=1"]


def test_missing_interpreters_and_targets_are_reported() -> None:
    for arguments, message in (
        (["--only", "2.99"], "there is no CPython 2.99 here: tools/build_python 2.99"),
        (["--targets", "sparc"], "no target is called 'sparc'; there are x86_64, aarch64"),
    ):
        result = subprocess.run(
            [sys.executable, str(TOOLS / "build_wheels"), *arguments],
            capture_output=True,
            text=True,
        )
        assert result.returncode == 1
        assert message in result.stderr


def test_a_wheel_of_1970_is_dated_1980_the_first_year_of_zip(wheels: Any, tmp_path: Path) -> None:
    start_of_1970 = 0
    wheel = wheels.archives.write_wheel(FILES, "py3", "none", ("any",), start_of_1970, tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}


def test_manifest_in_includes_every_file_that_git_knows() -> None:
    """MANIFEST.in must have a pattern for each file of SDIST_FOLDERS, so that the sdist has it."""
    listed = subprocess.run(
        ["git", "ls-files", *SDIST_FOLDERS],
        cwd=TOOLS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("no clone, which the sdist is compared with")
    # A line of MANIFEST.in is "recursive-include FOLDER PATTERN...".
    patterns: dict[str, list[str]] = {}
    for line in (TOOLS.parent / "MANIFEST.in").read_text().splitlines():
        if line.startswith("recursive-include "):
            _, folder, *folder_patterns = line.split()
            patterns.setdefault(folder, []).extend(folder_patterns)

    def is_included(path: str) -> bool:
        return any(
            path.startswith(f"{folder}/") and fnmatch.fnmatch(Path(path).name, pattern)
            for folder, folder_patterns in patterns.items()
            for pattern in folder_patterns
        )

    paths = listed.stdout.splitlines()
    # If there are fewer paths, someone has renamed the folders, and this test would check nothing.
    assert len(paths) > 500
    assert [path for path in paths if not is_included(path)] == []


@pytest.fixture
def release_workflow() -> str:
    """Return the text of the workflow that uploads a release; skip the test if there is none.

    A source distribution has no workflows.
    """
    if not RELEASE.exists():
        pytest.skip("no clone, which has the workflows")
    return RELEASE.read_text()


def test_the_release_workflow_makes_wheels_for_every_version(
    wheels: Any, release_workflow: str
) -> None:
    (patterns,) = re.findall(r'CIBW_BUILD: "(.*)"', release_workflow)
    versions = set(wheels.targets.VERSIONS) - NOT_OF_CIBUILDWHEEL
    assert set(patterns.split()) == {f"cp{version.replace('.', '')}-*" for version in versions}


def test_the_release_workflow_installs_the_interpreters_of_the_linux_wheels(
    wheels: Any, release_workflow: str
) -> None:
    (versions,) = re.findall(r"python-version: \|\n((?: +3\.\d+t?\n)+)", release_workflow)
    assert set(versions.split()) == set(wheels.targets.VERSIONS)


def test_the_classifiers_name_every_version(wheels: Any) -> None:
    classifiers = re.findall(
        r'"Programming Language :: Python :: (3\.\d+)"', (HOME / "pyproject.toml").read_text()
    )
    assert set(classifiers) == {version.rstrip("t") for version in wheels.targets.VERSIONS}
