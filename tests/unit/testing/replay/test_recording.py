"""Recordings are written and read unchanged, and damage is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from cassandra.testing import Recording, RecordingError, ReplayNode
from cassandra.testing.replay import Exchange

HEAD = (
    '{"format": "turbocql recording", "version": 1, "protocol_version": 5, '
    '"supported": {}, "masked": false}\n'
)


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    exchanges = [
        Exchange({"kind": "QUERY", "text": "SELECT 'ü'"}, 8, 2, b"\0\x01"),
        # an event, which is no response to a request
        Exchange(None, 12, 0, b"event"),
    ]
    Recording(4, {"CQL_VERSION": ["3"]}, exchanges, is_masked=True).save(path)
    recording = Recording.load(path)
    assert recording.protocol_version == 4
    assert recording.supported == {"CQL_VERSION": ["3"]}
    assert recording.exchanges == tuple(exchanges)
    assert recording.is_masked
    assert [path_in_folder.name for path_in_folder in tmp_path.iterdir()] == ["run.jsonl"]
    # a header, and a line for each exchange
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1, is not of a recording: its first line"),
        ("{}\n", "line 1, .* its first line does not say"),
        ("[]\n", "line 1"),
        ("no JSON\n", "line 1"),
        (HEAD.replace('"version": 1', '"version": 9'), "it is of version 9, not 1"),
        (HEAD + "{}\n", "line 2"),
        (HEAD + '{"event": {"opcode": "WHAT", "flags": 0, "body": ""}}\n', "line 2"),
        (HEAD + '{"event": {"opcode": "EVENT", "flags": 0, "body": "x"}}\n', "line 2"),
        ("\udcff", "is not a recording"),
    ],
)
def test_files_that_are_not_recordings(tmp_path: Path, text: str, words: str) -> None:
    """The error names the line and says what is wrong."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RecordingError, match=words):
        ReplayNode(path)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    """Opening a recording that does not exist raises FileNotFoundError."""
    with pytest.raises(FileNotFoundError):
        ReplayNode(tmp_path / "missing.jsonl")
