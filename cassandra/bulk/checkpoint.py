"""How far a load is, in a file, so that another run goes on from there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["Checkpoint"]

_VERSION = 1


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
            raise ValueError(f"{self._path} is no checkpoint: {error!r}") from error
        if version != _VERSION:
            raise ValueError(f"{self._path} is a checkpoint of another version: {version}")
        if known != subject:
            raise ValueError(
                f"{self._path} is the checkpoint of {known}, not of {subject}: remove it to begin "
                "anew"
            )
        self.state = found["state"]

    def save(self, **state: Any) -> None:
        """Replace the file; what it says is on the disk when this returns.

        :param state: what the next run needs to know.
        """
        if self._path is None:
            return
        made = {"version": _VERSION, "subject": self._subject, "state": state}
        beside = self._path.with_name(f"{self._path.name}.new")
        with beside.open("w", encoding="utf-8") as file:
            json.dump(made, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self._path)

    def remove(self) -> None:
        """All is done."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
