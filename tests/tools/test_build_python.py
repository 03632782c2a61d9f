"""`tools/build_python` keeps builds of releases, and replaces those of candidates by newer ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "build_python"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the script is for Debian")

# Stands for curl. It writes a source that cannot be unpacked, if the mirror has the patch release,
# and fails like curl -f otherwise. Each address goes into the file `requested`.
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


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def build(
    folder: Path, existing: str, available: str = "none", status: int = 22
) -> tuple[str, str, bool]:
    """Run the script where a build exists; return its output, its errors and whether it used curl.

    :param existing: what the existing build's interpreter prints: its release level and version.
    :param available: the patch release that the mirror has.
    :param status: the exit status of curl for other files.
    """
    programs, prefix = folder / "programs", folder / "prefix"
    write_program(prefix / "bin" / "python3.15", f"#!/bin/sh\necho {existing}\n")
    write_program(programs / "curl", CURL.format(available=available, status=status))
    write_program(programs / "awk", "#!/bin/sh\necho http://mirror.invalid/debian\n")
    done = subprocess.run(
        [str(SCRIPT), "3.15", str(prefix)],
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, done.stderr, (programs / "requested").exists()


def path_in(folder: Path) -> str:
    return f"{folder / 'prefix' / 'bin' / 'python3.15'}\n"


def test_a_build_of_a_release_is_kept_without_a_look_at_the_mirror(tmp_path: Path) -> None:
    assert build(tmp_path, "final 3.15.0", "3.15.2") == (path_in(tmp_path), "", False)


def test_a_build_that_cannot_say_its_version_is_kept(tmp_path: Path) -> None:
    assert build(tmp_path, "> /dev/null", "3.15.2") == (path_in(tmp_path), "", False)


@pytest.mark.parametrize("available", ["3.15.0~rc2", "3.15.0~rc1"])
def test_a_candidate_is_kept_and_named_if_there_is_nothing_newer(
    tmp_path: Path, available: str
) -> None:
    output, errors, _ = build(tmp_path, "candidate 3.15.0rc2", available)
    assert output == path_in(tmp_path)
    assert "Python 3.15.0rc2 is a release candidate" in errors
    assert f"to build it again, delete {tmp_path / 'prefix'}" in errors


def test_a_candidate_is_kept_if_the_mirror_cannot_be_reached(tmp_path: Path) -> None:
    output, errors, _ = build(tmp_path, "candidate 3.15.0rc2", status=7)
    assert output == path_in(tmp_path)
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
