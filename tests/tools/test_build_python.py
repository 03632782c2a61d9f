"""Tests of `tools/build_python`: it keeps builds of releases, and replaces builds of candidates.

A release candidate, such as 3.15.0rc2, is built again as soon as the mirror has a newer version.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "build_python"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the script is for Debian")

# This shell script replaces curl. If the URL is the source archive of the version {available}, it
# writes a file that cannot be unpacked. For any other URL, it exits with {status}. It appends each
# URL to the file `requested`.
CURL = """#!/bin/sh
folder=$(dirname "$0")
while [ $# -gt 1 ]; do
    [ "$1" = -o ] && output=$2
    shift
done
echo "$1" >> "$folder/requested"
case $1 in
    *_{available}.orig.tar.xz) echo broken > "$output" ;;
    *) exit {status} ;;
esac
"""


def write_program(path: Path, source: str) -> None:
    """Write an executable file, and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    path.chmod(0o755)


def build(
    folder: Path, existing: str, available: str = "none", status: int = 22
) -> tuple[str, str, bool]:
    """Run tools/build_python with a prefix that already has a build of Python 3.15.

    :param existing: what the interpreter of the existing build prints: its release level and
        version.
    :param available: the version whose source archive the mirror has.
    :param status: the exit status of curl for any other URL; 22 means that the file was not found.
    :returns: the output, the errors, and True if the script called curl.
    """
    programs, prefix = folder / "programs", folder / "prefix"
    write_program(prefix / "bin" / "python3.15", f"#!/bin/sh\necho {existing}\n")
    write_program(programs / "curl", CURL.format(available=available, status=status))
    # The script finds the address of the mirror with awk.
    write_program(programs / "awk", "#!/bin/sh\necho http://mirror.invalid/debian\n")
    result = subprocess.run(
        [str(SCRIPT), "3.15", str(prefix)],
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stdout, result.stderr, (programs / "requested").exists()


def interpreter_line(folder: Path) -> str:
    """Return what the script prints if it keeps the build: the path of the interpreter."""
    return f"{folder / 'prefix' / 'bin' / 'python3.15'}\n"


def test_a_build_of_a_release_is_kept_without_a_look_at_the_mirror(tmp_path: Path) -> None:
    output, errors, used_curl = build(tmp_path, existing="final 3.15.0", available="3.15.2")
    assert output == interpreter_line(tmp_path)
    assert errors == ""
    assert not used_curl


def test_a_build_that_cannot_say_its_version_is_kept(tmp_path: Path) -> None:
    """A build whose interpreter prints nothing must be kept without a request to the mirror."""
    output, errors, used_curl = build(tmp_path, existing="> /dev/null", available="3.15.2")
    assert output == interpreter_line(tmp_path)
    assert errors == ""
    assert not used_curl


@pytest.mark.parametrize("available", ["3.15.0~rc2", "3.15.0~rc1"])
def test_a_candidate_is_kept_and_named_if_there_is_nothing_newer(
    tmp_path: Path, available: str
) -> None:
    output, errors, _ = build(tmp_path, "candidate 3.15.0rc2", available)
    assert output == interpreter_line(tmp_path)
    assert "Python 3.15.0rc2 is a release candidate" in errors
    assert f"to build it again, delete {tmp_path / 'prefix'}" in errors


def test_a_candidate_is_kept_if_the_mirror_cannot_be_reached(tmp_path: Path) -> None:
    # With this exit status, curl reports that it could not connect.
    cannot_connect = 7
    output, errors, _ = build(tmp_path, "candidate 3.15.0rc2", status=cannot_connect)
    assert output == interpreter_line(tmp_path)
    assert "is a release candidate" in errors


@pytest.mark.parametrize(
    ("available", "version"),
    [("3.15.2", "3.15.2"), ("3.15.0", "3.15.0"), ("3.15.0~rc3", "3.15.0~rc3")],
)
def test_a_candidate_is_replaced_by_a_newer_version(
    tmp_path: Path, available: str, version: str
) -> None:
    output, errors, _ = build(tmp_path, "candidate 3.15.0rc2", available)
    # The fake source cannot be unpacked, so the build ends after its first line.
    assert output == ""
    assert errors.startswith(f"Python {version}, sha256 ")
