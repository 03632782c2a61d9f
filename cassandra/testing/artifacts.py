"""Downloads Cassandra's jars from Maven Central into the user's cache directory.

Maven writes the jars into a temporary directory, which we rename to ``cassandra/<version>/jars`` at
the end. So a directory with the final name is always complete. If several processes need the same
version at the same time, a lock lets one process download the jars, and the other processes wait.
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

# The goal of Maven that copies the jars of Cassandra and of its dependencies into a directory.
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_TIMEOUT_S = 900.0  # seconds for Maven to download the jars
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
    """Return the directory in the cache for all files of one version of Cassandra."""
    return cache_directory("cassandra", str(version))


def ensure_jars(
    version: CassandraVersion, java: JavaRuntime, progress: Progress, watch: Callable[[], None]
) -> str:
    """Return the directory with the jars of a version; download them first if they are missing.

    :param watch: called repeatedly during the wait. It may raise an error to give up.
    :raises MissingRequirement: if the jars must be downloaded and Maven is not installed.
    :raises CommandFailed: if Maven could not download the jars (some 70 MB).
    """
    base = version_directory(version)
    jars = os.path.join(base, "jars")
    if os.path.isdir(jars):
        return jars
    lock = FileLock(os.path.join(base, "jars.lock"))
    lock.acquire(waiting=watch)
    try:
        # Another process may have downloaded the jars while we waited for the lock.
        if not os.path.isdir(jars):
            _fetch(version, jars, java, progress, watch)
    finally:
        lock.release()
    return jars


def _maven(version: CassandraVersion) -> str:
    """Return the path of Maven; raise MissingRequirement if it is not installed."""
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
    """Return the number of jars that Maven has downloaded so far, according to its log."""
    lines = read_text(log).splitlines()
    return sum("Downloaded from" in line and ".jar (" in line for line in lines)


def _jars_in(folder: str, version: CassandraVersion) -> list[str]:
    """Return the names of the jars that Maven has downloaded into `folder`.

    :raises LocalClusterError: if Cassandra's own jar is missing. Maven may succeed with a mirror
        that lacks this jar, and a node would only fail when it starts.
    """
    names = os.listdir(folder) if os.path.isdir(folder) else []
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
    """Download the jars into a temporary directory, and rename the directory to `jars`."""
    maven = _maven(version)
    with (
        tempfile.TemporaryDirectory(prefix="fetch-", dir=os.path.dirname(jars)) as work_directory,
        Supervisor() as supervisor,
    ):
        # Register the directory with the supervisor, which removes it even if this process is
        # killed.
        supervisor.cleanup(work_directory)
        pom_path = os.path.join(work_directory, "pom.xml")
        log_path = os.path.join(work_directory, "mvn.log")
        with open(pom_path, "w", encoding="utf-8") as stream:
            stream.write(_POM.format(version=version))
        download_directory = os.path.join(work_directory, "jars")
        command = [maven, "-B", "-C", "-f", pom_path, _PLUGIN]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={download_directory}"]
        # Maven itself runs on Java. If there is no Java that Maven would find, give it the runtime
        # that the nodes use.
        has_java = "JAVA_HOME" in os.environ or shutil.which("java")
        environment = {} if has_java else {"JAVA_HOME": java.home}
        progress.begin(f"fetching Cassandra {version} from Maven Central (once)")

        def watch_with_progress() -> None:
            watch()
            progress.update(f"{_downloaded(log_path)} jars")

        try:
            supervisor.run(
                command,
                cwd=work_directory,
                output=log_path,
                timeout=_TIMEOUT_S,
                env=environment,
                watch=watch_with_progress,
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
        jar_names = _jars_in(download_directory, version)
        # Renaming is atomic, so a directory with this name is always complete.
        os.rename(download_directory, jars)
        progress.done(f"{len(jar_names)} jars")
