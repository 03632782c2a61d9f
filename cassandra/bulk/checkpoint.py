"""The progress of work, kept in a file, so that another run goes on from there.

A checkpoint says what it belongs to: its *subject*. That is the kind of work, the full name of the
table, every option by which rows are read or counted, and each file with its size, its time of
change and a digest. A run with another subject is refused, and its error names the difference:
going on by the number of rows of something else would lose rows in silence.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cassandra.bulk.opened import is_pipe

__all__ = ["Checkpoint", "describe_files", "write_json"]

_VERSION = 2
_DIGESTED = 1 << 16  # bytes at the beginning of a file, and at its end


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


def describe_files(paths: Iterable[str]) -> list[dict[str, Any]]:
    """Return what tells files from others, as JSON has it.

    :param paths: the files.
    :raises ValueError: if one is a pipe, which another run could not read again.
    """
    found = []
    for path in paths:
        if is_pipe(path):
            raise ValueError(
                f"{path} is a pipe, which can be read once: a load of it cannot have a checkpoint"
            )
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            digest.update(file.read(_DIGESTED))
            file.seek(max(about.st_size - _DIGESTED, 0))
            digest.update(file.read(_DIGESTED))
        found.append(
            {
                "path": os.path.abspath(path),
                "size": about.st_size,
                "modified": about.st_mtime_ns,
                "digest": digest.hexdigest(),
            }
        )
    return found


class Checkpoint:
    """A small file of JSON that is replaced as a whole: it is never half written.

    :param path: the file; None keeps nothing.
    :param subject: what it belongs to, of values that JSON has.
    :param restart: True begins anew, whatever the file says.
    :param is_read_only: True leaves the file as it is: nothing is done that another run could go on
        from.
    :raises ValueError: if the file is of another subject, or no checkpoint.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        subject: Mapping[str, Any],
        *,
        restart: bool = False,
        is_read_only: bool = False,
    ) -> None:
        self._path = Path(path) if path is not None else None
        # As it will be read again: tuples are lists then.
        self._subject: dict[str, Any] = json.loads(json.dumps(subject))
        self._is_read_only = is_read_only
        self.state: dict[str, Any] = {}
        if self._path is None or restart or not self._path.exists():
            return
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            version, known, state = found["version"], found["subject"], found["state"]
            if not isinstance(known, dict) or not isinstance(state, dict):
                raise TypeError("its parts are no objects")
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self._path} is not a checkpoint: {error!r}") from error
        if version != _VERSION:
            raise ValueError(
                f"{self._path} is a checkpoint of another version, {version}, which does not say "
                f"enough of what it belongs to{self._way_out}"
            )
        if known != self._subject:
            difference = _difference(known, self._subject)
            raise ValueError(
                f"{self._path} is the checkpoint of something else: {difference}{self._way_out}"
            )
        self.state = state

    @property
    def _way_out(self) -> str:
        return "; restart=True begins anew, and another file leaves this one as it is"

    def save(self, **state: Any) -> None:
        """Replace the file; its content is on the disk when this returns.

        :param state: where the next run begins.
        """
        if self._path is None or self._is_read_only:
            return
        write_json(self._path, {"version": _VERSION, "subject": self._subject, "state": state})

    def remove(self) -> None:
        """All is done."""
        if self._path is not None and not self._is_read_only:
            self._path.unlink(missing_ok=True)


def _difference(known: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Return the first thing in which two subjects differ, in words."""
    for name in ("work", "table", "statement"):
        if known.get(name) != ours.get(name):
            return f"its {name} is {known.get(name)!r}, and not {ours.get(name)!r}"
    for name, value in (ours.get("options") or {}).items():
        theirs = (known.get("options") or {}).get(name)
        if theirs != value:
            return f"its option {name} is {theirs!r}, and not {value!r}"
    theirs, files = known.get("files") or [], ours.get("files") or []
    for one, other in zip(theirs, files, strict=False):
        if one["path"] != other["path"]:
            return f"where it has the file {one['path']!r}, there is {other['path']!r}"
        changed = [name for name in ("size", "modified", "digest") if one[name] != other[name]]
        if changed:
            what = {"size": "size", "modified": "time of change", "digest": "content"}
            return f"the file {one['path']!r} has another {what[changed[0]]} since"
    if len(theirs) != len(files):
        longer = theirs if len(theirs) > len(files) else files
        path = longer[min(len(theirs), len(files))]["path"]
        return f"the file {path!r} is {'new' if longer is files else 'gone'}"
    name = next((name for name in {**known, **ours} if known.get(name) != ours.get(name)), "")
    return f"its {name} is {known.get(name)!r}, and not {ours.get(name)!r}"
