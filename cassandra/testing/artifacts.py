"""Fetches Cassandra's jars from Maven Central into the user's cache directory.

The directory ``cassandra/<version>/jars`` exists only when it is complete: it is filled under
another name, and then renamed. A lock makes processes that want it at the same time take turns. All
but the first then find it complete.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable

from cassandra.testing.errors import CommandFailed, LocalClusterError, MissingRequirement
from cassandra.testing.java import JavaRuntime
from cassandra.testing.locks import FileLock
from cassandra.testing.paths import cache_directory
from cassandra.testing.processes import Supervisor, read_text, tail
from cassandra.testing.progress import Progress
from cassandra.testing.versions import CassandraVersion

__all__ = ["ensure_jars", "version_directory"]

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_TIMEOUT_S = 900.0
_POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>cassandra-jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId>
      <artifactId>cassandra-all</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


def version_directory(version: CassandraVersion) -> str:
    """Return the directory for all files of one version."""
    return cache_directory("cassandra", str(version))


def ensure_jars(
    version: CassandraVersion, java: JavaRuntime, progress: Progress, watch: Callable[[], None]
) -> str:
    """Return the directory with the version's jars. If necessary, fetch them first (some 70 MB).

    :param watch: called repeatedly. It may raise an error to give up.
    :raises MissingRequirement: if Maven is needed but missing.
    :raises CommandFailed: if Maven could not fetch them.
    """
    base = version_directory(version)
    jars = os.path.join(base, "jars")
    if os.path.isdir(jars):
        return jars
    lock = FileLock(os.path.join(base, "jars.lock"))
    lock.acquire(waiting=watch)
    try:
        # Another process may have fetched them while we waited for the lock.
        if not os.path.isdir(jars):
            _fetch(version, jars, java, progress, watch)
    finally:
        lock.release()
    return jars


def _maven(version: CassandraVersion) -> str:
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingRequirement(
            f"the jars of Cassandra {version} are not on this machine yet, and fetching them needs "
            "Apache Maven: there is no 'mvn' on the PATH. Install it (Debian and Ubuntu: "
            "apt-get install maven; Fedora: dnf install maven; macOS: brew install maven; or "
            "https://maven.apache.org/install.html). It is needed once for each version; "
            f"the jars are kept in {cache_directory()}."
        )
    return maven


def _downloaded(log: str) -> int:
    """Return how many jars Maven has fetched so far, according to its log."""
    lines = read_text(log).splitlines()
    return sum("Downloaded from" in line and ".jar (" in line for line in lines)


def _jars_in(filled: str, version: CassandraVersion) -> list[str]:
    """Return the names of the fetched files. Raise LocalClusterError if Cassandra is not among
    them.
    """
    names = os.listdir(filled) if os.path.isdir(filled) else []
    # A mirror may report success but leave out a jar. Without this check, a node would fail much
    # later.
    if f"cassandra-all-{version}.jar" not in names:
        raise LocalClusterError(
            f"Maven ended well, but brought no cassandra-all-{version}.jar "
            f"(only {len(names)} files)"
        )
    return names


def _fetch(
    version: CassandraVersion,
    jars: str,
    java: JavaRuntime,
    progress: Progress,
    watch: Callable[[], None],
) -> None:
    maven = _maven(version)
    with (
        tempfile.TemporaryDirectory(prefix="fetch-", dir=os.path.dirname(jars)) as work,
        Supervisor() as supervisor,
    ):
        # Clean up even if this process is killed.
        supervisor.cleanup(work)
        pom, log = os.path.join(work, "pom.xml"), os.path.join(work, "mvn.log")
        with open(pom, "w", encoding="utf-8") as stream:
            stream.write(_POM.format(version=version))
        filled = os.path.join(work, "jars")
        command = [maven, "-B", "-C", "-f", pom, _PLUGIN]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={filled}"]
        # Maven runs on Java, too. If the user has no Java for it, Maven gets ours.
        own_java = "JAVA_HOME" in os.environ or shutil.which("java")
        environment = {} if own_java else {"JAVA_HOME": java.home}
        progress.begin(f"fetching Cassandra {version} from Maven Central (once)")

        def follow() -> None:
            watch()
            progress.update(f"{_downloaded(log)} jars")

        try:
            supervisor.run(
                command, cwd=work, output=log, timeout=_TIMEOUT_S, env=environment, watch=follow
            )
        except CommandFailed as error:
            progress.abandon()
            raise CommandFailed(
                f"Maven could not fetch Cassandra {version}. "
                "Is there such a version, and is the network up? "
                f"What Maven said:\n{tail(error.output, 25)}",
                code=error.code,
                output=error.output,
            ) from error
        names = _jars_in(filled, version)
        # Rename last and in one step, so that the directory only exists when it is complete.
        os.rename(filled, jars)
        progress.done(f"{len(names)} jars")
