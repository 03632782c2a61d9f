"""The cache directory for files that are downloaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from cassandra.testing.errors import LocalClusterError
from cassandra.testing.paths import cache_directory

pytestmark = pytest.mark.usefixtures("bare_machine")


def test_cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache directory is TURBOCQL_CACHE, XDG_CACHE_HOME, or in the home directory.

    The first of these that is set is used. A relative XDG_CACHE_HOME is ignored.
    """
    assert cache_directory("a") == str(tmp_path / "cache" / "a")
    monkeypatch.delenv("TURBOCQL_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == str(tmp_path / "xdg" / "turbocql")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == str(tmp_path / "home" / ".cache" / "turbocql")


def test_a_cache_directory_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the cache directory cannot be created, the error says to set TURBOCQL_CACHE.

    Here, TURBOCQL_CACHE is the path of a file, so no directory can be created in it.
    """
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TURBOCQL_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        LocalClusterError, match=r"file/a cannot be made \(Not a directory\): set TURBOCQL_CACHE"
    ):
        cache_directory("a")
