"""Recordings of the requests and responses of a run, and the files that recordings are stored in.

A file consists of JSON lines, so that a diff shows what has changed in a recording. The first line
has the version of the format, and properties of the whole run. Each further line is an exchange or
an event. An exchange has the meaning of a request, and the bytes of its response. An event was sent
by the node after the exchanges that precede it in the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cassandra.testing.fake.primitives import Opcode
from cassandra.testing.replay.meaning import Meaning

# The first line of a recording has the name and the version of the format.
FORMAT = "turbocql recording"
VERSION = 1


class RecordingError(ValueError):
    """Raised for a file that is not a recording, or has a later format."""


class Exchange(NamedTuple):
    """A request and its response; or an event, which has no request.

    :param request: the meaning of the request; None for an event.
    :param opcode: the opcode of the response or event.
    :param flags: the header flags of the response or event.
    :param body: the body of the response or event.
    """

    request: Meaning | None
    opcode: int
    flags: int
    body: bytes


class Recording:
    """The requests of one run, and the responses of the node.

    :param protocol_version: the version of the protocol.
    :param supported: the options that the node offered in SUPPORTED.
    :param exchanges: the exchanges, in the order in which the requests were sent.
    :param is_masked: True if bound values are replaced by digests.
    """

    def __init__(
        self,
        protocol_version: int,
        supported: Mapping[str, Sequence[str]],
        exchanges: Sequence[Exchange],
        is_masked: bool = False,
    ) -> None:
        self.protocol_version = protocol_version
        self.supported = {name: list(values) for name, values in supported.items()}
        self.exchanges = tuple(exchanges)
        self.is_masked = is_masked

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording to a file. The directory is created if it is missing.

        :param path: the file. An existing file is replaced.
        :raises OSError: if the file cannot be written.
        """
        head = {
            "format": FORMAT,
            "version": VERSION,
            "protocol_version": self.protocol_version,
            "supported": self.supported,
            "masked": self.is_masked,
        }
        lines = [head, *map(_line_of, self.exchanges)]
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Write a new file, and rename it when it is complete: so an existing file survives if this
        # process is killed.
        draft = target.with_name(f"{target.name}.tmp")
        draft.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        draft.replace(target)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Read a recording from a file.

        :param path: the file.
        :raises RecordingError: if the file is not a recording, or has a later format. The message
            names the line.
        :raises OSError: if the file cannot be read.
        """
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise RecordingError(f"{path} is not a recording: {error}") from error
        number = 1  # the number of the line that is being parsed, for errors
        # The first line describes the recording. Each further line is an exchange or an event.
        try:
            head = json.loads(lines[0]) if lines else {}
            if head.get("format") != FORMAT:
                raise ValueError("its first line does not say that it is one")
            if head["version"] != VERSION:
                raise ValueError(f"it is of version {head['version']}, not {VERSION}")
            exchanges = []
            for line in lines[1:]:
                number += 1
                exchanges.append(_exchange_of(json.loads(line)))
            return cls(
                int(head["protocol_version"]), head["supported"], exchanges, bool(head["masked"])
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RecordingError(
                f"{path}, line {number}, is not of a recording: {error}"
            ) from error


def _line_of(exchange: Exchange) -> dict[str, Any]:
    """Return an exchange or event as the dict for its line of the file."""
    answer = {
        "opcode": Opcode(exchange.opcode).name,
        "flags": exchange.flags,
        "body": exchange.body.hex(),
    }
    return (
        {"event": answer}
        if exchange.request is None
        else {
            "request": exchange.request,
            "answer": answer,
        }
    )


def _exchange_of(line: dict[str, Any]) -> Exchange:
    """Return the exchange or event of a line of the file; the inverse of `_line_of`."""
    answer = line["event"] if "event" in line else line["answer"]
    return Exchange(
        None if "event" in line else dict(line["request"]),
        Opcode[answer["opcode"]],
        int(answer["flags"]),
        bytes.fromhex(answer["body"]),
    )


Recording.__module__ = "cassandra.testing"
RecordingError.__module__ = "cassandra.testing"
