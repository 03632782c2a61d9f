"""Fake Java and Maven programs, and constants, for tests that must run without Java and Maven."""

from __future__ import annotations

from pathlib import Path

from cassandra.testing.java import JavaRuntime
from cassandra.testing.progress import Progress
from cassandra.testing.versions import parse_version

# the newest known releases of these series
V6, V5, V4 = (parse_version(series) for series in ("6.0", "5.0", "4.0"))
# a progress display that prints nothing
QUIET = Progress(enabled=False)
# a Java runtime that does not exist
RUNTIME = JavaRuntime(
    executable="/java/bin/java", home="/java", major=17, version="17.0.9", source="a test"
)
# an excerpt of the output of `java -XshowSettings:properties -version`
JAVA_PROPERTIES = """\
Property settings:
    java.home = {home}
    java.specification.version = 17
    java.vendor = Somebody
    java.version = {version}
"""
# A script that adds a line to the file `runs`, and "downloads" two empty jars. Tests count its runs
# by the lines.
PRETENDED_MAVEN = """#!/bin/sh
echo run >> "$TURBOCQL_CACHE/runs"
for argument; do case "$argument" in -DoutputDirectory=*) out="${argument#*=}";; esac; done
mkdir -p "$out"
echo "Downloaded from central: https://there/cassandra-all-5.0.9.jar (9 MB at 9 MB/s)"
: > "$out/cassandra-all-5.0.9.jar"
: > "$out/jamm-0.4.0.jar"
"""


def program(path: Path, script: str) -> Path:
    """Write a shell script that can be executed, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    return path


def pretended_java(home: Path, version: str) -> Path:
    """Install a fake `java` that reports the given version, and return its path."""
    properties = JAVA_PROPERTIES.format(home=home, version=version)
    return program(home / "bin" / "java", f"#!/bin/sh\ncat >&2 <<'END'\n{properties}END\n")
