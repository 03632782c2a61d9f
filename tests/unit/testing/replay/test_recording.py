"""Recordings are written and read unchanged, and damage is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from cassandra.testing import Recording, RecordingError, ReplayNode
from cassandra.testing.fake.primitives import Opcode
from cassandra.testing.replay import Exchange

HEAD = (
    '{"format": "turbocql recording", "version": 1, "protocol_version": 5, '
    '"supported": {}, "masked": false}\n'
)


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    """A recording is one file, with a line for the header and a line for each exchange."""
    path = tmp_path / "run.jsonl"
    exchanges = [
        Exchange({"kind": "QUERY", "text": "SELECT 'ü'"}, Opcode.RESULT, flags=2, body=b"\0\1"),
        # an event, which is not a response to a request
        Exchange(None, Opcode.EVENT, flags=0, body=b"event"),
    ]
    Recording(4, {"CQL_VERSION": ["3"]}, exchanges, is_masked=True).save(path)
    recording = Recording.load(path)
    assert recording.protocol_version == 4
    assert recording.supported == {"CQL_VERSION": ["3"]}
    assert recording.exchanges == tuple(exchanges)
    assert recording.is_masked
    # `save` has left no temporary file behind.
    assert list(tmp_path.iterdir()) == [path]
    # a header, and a line for each exchange
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("content", "message"),
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
def test_files_that_are_not_recordings_are_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    """The error for a file that is not a recording names the line, and says what is wrong."""
    path = tmp_path / "run.jsonl"
    # The character U+DCFF stands for the byte 0xFF, which is not valid UTF-8.
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(RecordingError, match=message):
        ReplayNode(path)


def test_a_recording_that_is_missing_cannot_be_opened(tmp_path: Path) -> None:
    """A path without a file raises FileNotFoundError."""
    with pytest.raises(FileNotFoundError):
        ReplayNode(tmp_path / "missing.jsonl")
