"""The progress of a load, kept in a file, so that another run goes on from there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["Checkpoint", "write_json"]

_VERSION = 1


def write_json(path: str | os.PathLike[str], content: object, indent: int | None = None) -> None:
    """Replace a file as a whole: its content is on the disk when this returns.

    :param path: the file.
    :param content: values that JSON has.
    :param indent: of its lines; None for one line.
    """
    beside = f"{os.fspath(path)}.tmp"
    with open(beside, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=indent)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


class Checkpoint:
    """A small file of JSON that is replaced as a whole: it is never half written.

    :param path: the file; None keeps nothing.
    :param subject: the names of the source and the target, which must be those of the file.
    :raises ValueError: if the file is another's, or no checkpoint.
    """

    def __init__(self, path: str | os.PathLike[str] | None, subject: dict[str, str]) -> None:
        self._path = Path(path) if path is not None else None
        self._subject = subject
        self.state: dict[str, Any] = {}
        if self._path is None or not self._path.exists():
            return
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            version, known = found["version"], found["subject"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self._path} is not a checkpoint: {error!r}") from error
        if version != _VERSION:
            raise ValueError(f"{self._path} is a checkpoint of another version: {version}")
        if known != subject:
            raise ValueError(
                f"{self._path} is the checkpoint of {known}, not of {subject}: remove it to begin "
                "anew"
            )
        self.state = found["state"]

    def save(self, **state: Any) -> None:
        """Replace the file; its content is on the disk when this returns.

        :param state: where the next run begins.
        """
        if self._path is None:
            return
        write_json(self._path, {"version": _VERSION, "subject": self._subject, "state": state})

    def remove(self) -> None:
        """All is done."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
