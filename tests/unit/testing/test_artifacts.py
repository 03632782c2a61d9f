"""Maven downloads Cassandra's jars once into the cache.

`ensure_jars` calls its last argument while it waits; that function may raise an error to cancel.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cassandra.testing.artifacts import ensure_jars
from cassandra.testing.errors import CommandFailed, LocalClusterError
from cassandra.testing.locks import FileLock
from cassandra.testing.paths import cache_directory
from tests.unit.testing.pretended import PRETENDED_MAVEN, QUIET, RUNTIME, V4, V5

pytestmark = pytest.mark.usefixtures("bare_machine")


def test_jars_are_downloaded_once(maven: Callable[[str], None], tmp_path: Path) -> None:
    """A second call finds the jars in the cache, and does not need Maven."""
    maven(PRETENDED_MAVEN)
    jars = ensure_jars(V5, RUNTIME, QUIET, lambda: None)
    assert sorted(os.listdir(jars)) == ["cassandra-all-5.0.9.jar", "jamm-0.4.0.jar"]
    (tmp_path / "bin" / "mvn").unlink()
    assert ensure_jars(V5, RUNTIME, QUIET, lambda: None) == jars  # Maven is not called again
    # The fake Maven writes one line each time it runs.
    assert (tmp_path / "cache" / "runs").read_text() == "run\n"
    assert sorted(os.listdir(os.path.dirname(jars))) == ["jars", "jars.lock"]


def test_concurrent_processes_download_once(maven: Callable[[str], None], tmp_path: Path) -> None:
    """Of three processes that need the jars, one downloads them, and the others wait for it."""
    maven(PRETENDED_MAVEN)
    code = (
        "from cassandra.testing import artifacts, java, progress, versions\n"
        "runtime = java.JavaRuntime('/j/bin/java', '/j', 17, '17', 't')\n"
        "version = versions.parse_version('5.0.9')\n"
        "print(artifacts.ensure_jars(version, runtime, progress.Progress(False), lambda: None))\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = {child.communicate(timeout=60)[0].strip() for child in children}
    assert outputs == {str(tmp_path / "cache" / "cassandra" / "5.0.9" / "jars")}
    assert (tmp_path / "cache" / "runs").read_text() == "run\n"


def test_the_error_contains_the_output_of_a_failed_maven(
    maven: Callable[[str], None], tmp_path: Path
) -> None:
    """If Maven fails, the error has Maven's output, and no directory of jars is left."""
    maven("#!/bin/sh\necho '[ERROR] Could not find artifact'\nexit 1\n")
    with pytest.raises(
        CommandFailed, match=r"(?s)could not fetch Cassandra 4\.0\.19.*Could not find artifact"
    ):
        ensure_jars(V4, RUNTIME, QUIET, lambda: None)
    assert os.listdir(tmp_path / "cache" / "cassandra" / "4.0.19") == ["jars.lock"]


def test_a_file_whose_checksum_is_wrong_is_refused(maven: Callable[[str], None]) -> None:
    """Maven gets the option -C, with which it fails if a checksum is wrong.

    The fake Maven of the test prints its arguments and fails, so the error has them.
    """
    maven('#!/bin/sh\necho "asked: $*"\nexit 1\n')
    with pytest.raises(CommandFailed, match=r"asked: .*-C "):
        ensure_jars(V4, RUNTIME, QUIET, lambda: None)


def test_a_download_without_the_expected_jar_is_an_error(maven: Callable[[str], None]) -> None:
    """If the download lacks the expected jar, the error names it.

    The fake Maven always downloads Cassandra 5.0.9, but the test needs 4.0.19.
    """
    maven(PRETENDED_MAVEN)
    with pytest.raises(
        LocalClusterError, match=r"brought no cassandra-all-4\.0\.19\.jar \(only 2 files\)"
    ):
        ensure_jars(V4, RUNTIME, QUIET, lambda: None)


def test_waiting_for_another_process_can_be_cancelled(maven: Callable[[str], None]) -> None:
    """While another process downloads the jars, `ensure_jars` calls a function that may cancel."""
    maven(PRETENDED_MAVEN)

    def cancel() -> None:
        raise LocalClusterError("cancelled")

    with (
        FileLock(os.path.join(cache_directory("cassandra", "5.0.9"), "jars.lock")),
        pytest.raises(LocalClusterError, match="cancelled"),
    ):
        ensure_jars(V5, RUNTIME, QUIET, cancel)
