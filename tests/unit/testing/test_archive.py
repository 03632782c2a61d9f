"""A class archive, with which Java starts faster, is created once and used as soon as it exists.

`ensure_archive` returns the Java options that use the archive; an empty list without an archive.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cassandra.testing import archive
from cassandra.testing.errors import CommandFailed, NotReady, StartCancelled
from cassandra.testing.locks import FileLock
from cassandra.testing.paths import cache_directory
from tests.unit.testing.pretended import QUIET, RUNTIME, V4, V5

pytestmark = pytest.mark.usefixtures("bare_machine")


def test_no_archive_is_used_while_another_process_creates_it_or_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A temporary failure is retried at the next start; a permanent failure is recorded."""
    base = os.path.join(cache_directory("cassandra", "5.0.9"), f"classes-{RUNTIME.identity}")
    # Another process that creates the archive holds this lock.
    with FileLock(f"{base}.lock"):
        assert archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None) == []

    class FakeSubnet:
        lock = FileLock(str(tmp_path / "subnet"))

    # `_train` would start a node to create the archive. Here, it fails in three different ways.
    monkeypatch.setattr(archive, "claim_subnet", lambda *arguments: FakeSubnet)
    monkeypatch.setattr(archive, "_dump_base", lambda *arguments: None)
    permanent_failure = CommandFailed("no", code=1, output="")
    errors: list[Exception] = [NotReady("busy"), OSError("full"), permanent_failure]

    def fail(*arguments: object) -> None:
        raise errors.pop(0)

    monkeypatch.setattr(archive, "_train", fail)
    for is_recorded in (False, False, True):
        assert archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None) == []
        assert os.path.exists(f"{base}.failed") is is_recorded
    # The permanent failure was recorded, so the driver does not try to create an archive again: if
    # `fail` was called again, `errors.pop` would raise an IndexError.
    assert archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None) == []
    name = os.path.basename(base)
    assert sorted(os.listdir(os.path.dirname(base))) == [f"{name}.failed", f"{name}.lock"]


def test_cancelling_is_not_recorded_as_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure to create the archive is recorded in a file, but cancelling is not.

    After a recorded failure, no process tries again to create the archive.
    """

    class FakeSubnet:
        lock = FileLock(str(tmp_path / "subnet"))

    def cancel(*arguments: object) -> None:
        raise StartCancelled("cancelled")

    monkeypatch.setattr(archive, "claim_subnet", lambda *arguments: FakeSubnet)
    monkeypatch.setattr(archive, "_dump_base", lambda *arguments: None)
    monkeypatch.setattr(archive, "_train", cancel)
    with pytest.raises(StartCancelled):
        archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None)
    assert not any(
        name.endswith(".failed") for name in os.listdir(cache_directory("cassandra", "5.0.9"))
    )


def test_an_existing_archive_is_used() -> None:
    """`ensure_archive` uses an existing archive, which may be based on a second archive.

    Java 11, for Cassandra 4.0, does not support such archives.
    """
    base = os.path.join(cache_directory("cassandra", "5.0.9"), f"classes-{RUNTIME.identity}")
    Path(f"{base}.jsa").touch()
    expected = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+AllowArchivingWithJavaAgent"]
    expected += [f"-XX:SharedArchiveFile={base}.jsa", "-Xshare:auto"]
    assert archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None) == expected
    Path(f"{base}-base.jsa").touch()
    expected[2] = f"-XX:SharedArchiveFile={base}-base.jsa:{base}.jsa"
    assert archive.ensure_archive(V5, RUNTIME, "/jars", QUIET, lambda: None) == expected
    java_11 = RUNTIME._replace(major=11)
    assert archive.ensure_archive(V4, java_11, "/jars", QUIET, lambda: None) == []
