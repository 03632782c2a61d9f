"""How far a load is, on the disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cassandra.bulk.checkpoint import Checkpoint

SUBJECT = {"source": "a.csv", "target": "ks.t"}


def test_it_is_read_again_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "point"
    first = Checkpoint(path, SUBJECT)
    assert first.state == {}
    first.save(position=10)
    first.save(position=20, failed=1)
    assert Checkpoint(path, SUBJECT).state == {"position": 20, "failed": 1}
    assert [one.name for one in tmp_path.iterdir()] == ["point"]
    first.remove()
    first.remove()
    assert not path.exists()


def test_without_a_file_nothing_is_kept() -> None:
    nowhere = Checkpoint(None, SUBJECT)
    nowhere.save(position=10)
    nowhere.remove()
    assert nowhere.state == {}


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "point"
    Checkpoint(path, SUBJECT).save(position=10)
    with pytest.raises(ValueError, match=r"is the checkpoint of .*a\.csv.*remove it to begin anew"):
        Checkpoint(path, {**SUBJECT, "source": "b.csv"})
    path.write_text(json.dumps({"version": 99, "subject": SUBJECT, "state": {}}))
    with pytest.raises(ValueError, match="of another version: 99"):
        Checkpoint(path, SUBJECT)
    for text in ("", "[]", "{}", "id,name"):
        path.write_text(text)
        with pytest.raises(ValueError, match="is not a checkpoint"):
            Checkpoint(path, SUBJECT)
