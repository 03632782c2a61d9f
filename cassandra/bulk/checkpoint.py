"""The progress of a load or scan in a file, from which a later run can resume.

A checkpoint belongs to a *subject*: the kind of work, the cluster, the full table name and the
table's id, every option that affects which rows are read or how they are counted, and each file
with its size, modification time and a digest. A run with another subject is refused with an error
that names the difference: resuming at the row number of another source would silently lose rows.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cassandra._clocks import monotonic
from cassandra.bulk.opened import is_pipe, naming

if TYPE_CHECKING:
    from cassandra.metadata import Metadata
    from cassandra.metadata.schema.tables import TableMetadata

_VERSION = 2  # the version of the format of checkpoint files
# The keys of a subject whose values describe clusters. Checkpoints of earlier releases may lack
# them.
_CLUSTERS = ("cluster", "source_cluster")
# The keys of a subject whose values are table ids. If a table is dropped and created again, its id
# changes. An id may be missing, or None if the metadata does not have it.
_TABLE_IDS = ("table_id", "target_id")
_DIGESTED = 1 << 16  # the digest covers this many bytes at each end of a file
# Entries are appended to a checkpoint until they have more than this number of bytes, and more
# bytes than the first line. Then the whole file is replaced, so that it does not grow without
# limit.
_MOST_APPENDED = 1 << 16
SYNC_SECONDS = 1.0
"""After a power cut, the entries of this time may be missing in a checkpoint."""


def write_json(path: str | os.PathLike[str], content: object, indent: int | None = None) -> bytes:
    """Replace a file atomically, and return its content, which is then on disk.

    :param path: the file.
    :param content: JSON-serializable values.
    :param indent: the indentation of the lines; None writes a single line.
    """
    data = f"{json.dumps(content, indent=indent)}\n".encode()
    folder, name = os.path.split(os.fspath(path))
    # Two programs may write the same file at the same time, so each needs a temporary name of its
    # own. Readers of folders skip hidden files.
    temporary_path = os.path.join(folder, f".{name}.{uuid4().hex[:12]}.tmp")
    try:
        with open(temporary_path, "wb") as file:
            file.write(data)
            file.flush()
            # Write the content to disk before the rename: otherwise a crash could leave an
            # incomplete file under the final name.
            os.fsync(file.fileno())
        os.replace(temporary_path, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary_path)
        raise
    return data


def describe_cluster(metadata: Metadata) -> dict[str, Any]:
    """Return a description of a cluster, as JSON values, that identifies the cluster.

    The cluster's name does not suffice: many clusters have the servers' default name, "Test
    Cluster".

    :param metadata: the metadata of the cluster.
    """
    host_ids = sorted(str(host.host_id) for host in metadata.all_hosts() if host.host_id)
    return {"name": metadata.cluster_name, "host_ids": host_ids}


def describe_id(table: TableMetadata | None) -> str | None:
    """Return the id of a table as a string; None if the id is unknown.

    :param table: the metadata of the table; None if it is unknown.
    """
    return str(table.id) if table is not None and table.id is not None else None


def describe_files(paths: Iterable[str]) -> list[dict[str, Any]]:
    """Return a description of each file, as JSON values, that changes if its content changes.

    :param paths: the files.
    :raises ValueError: if a file is a pipe, which another run could not read again.
    """
    descriptions = []
    for path in paths:
        if is_pipe(path):
            raise ValueError(
                f"{path} is a pipe, which can be read once: a load of it cannot have a checkpoint"
            )
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            # Hash only the beginning and the end of the file, because reading a large file takes
            # long.
            digest.update(file.read(_DIGESTED))
            file.seek(max(status.st_size - _DIGESTED, 0))
            digest.update(file.read(_DIGESTED))
        descriptions.append(
            {
                "path": os.path.abspath(path),
                "size": status.st_size,
                "modified": status.st_mtime_ns,
                "digest": digest.hexdigest(),
            }
        )
    return descriptions


def check_path(name: str, path: object) -> None:
    """Raise an error unless an option that names a file is a path in an existing folder, or None.

    :param name: the option.
    :param path: its value.
    :raises TypeError: for any other value.
    :raises ValueError: for a URL, or a path that only a shell expands.
    :raises FileNotFoundError: if the folder does not exist. The file is written only when rows were
        read or have failed, which may be after hours.
    """
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"{name} is the path of a file, but is {path!r}: write, for example, "
            f"{name}='{name}.json'"
        )
    text = os.fspath(path) if path is not None else ""
    if text.startswith("~"):
        raise ValueError(f"{name}: write os.path.expanduser({text!r}): only a shell replaces ~")
    if "://" in text:
        raise ValueError(f"{name} is a file of this machine, and not {text!r}")
    folder = os.path.dirname(text)
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(f"{name}={text!r}: there is no folder {folder!r}")


class Checkpoint:
    """The progress of a load or scan, in a small JSON file.

    The file is replaced atomically, so it is never half written. Its first line has all of the
    state. Each further line is an entry with a change of the state, because a scan of thousands of
    ranges would otherwise write all of them after each page.

    The attribute `path` is the file; None if nothing is saved. `state` has the keyword arguments of
    the last `save` of an earlier run. It is {} if no earlier run has saved anything. `entries` has
    what was appended since.

    :param path: the file; None saves nothing.
    :param subject: what the checkpoint belongs to, as JSON values (see the module's docstring).
    :param restart: True ignores the state in the file. A file that is not a checkpoint is still
        refused.
    :param is_read_only: True never writes the file. Dry runs need this, because they do no work
        from which another run could resume.
    :param clock: returns a monotonic time in seconds.
    :raises ValueError: if the file has another subject, or is not a checkpoint.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        subject: Mapping[str, Any],
        *,
        restart: bool = False,
        is_read_only: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        check_path("checkpoint", path)
        self.path = Path(path) if path is not None else None
        if self.path is not None and not self.path.is_dir() and is_pipe(str(self.path)):
            raise ValueError(f"checkpoint={str(path)!r} is a device or a pipe, and no file")
        # Convert the subject to JSON and back, so that it compares equal to a subject from a file:
        # JSON turns tuples into lists.
        self._subject: dict[str, Any] = json.loads(json.dumps(subject))
        self._is_read_only = is_read_only
        self.state: dict[str, Any] = {}
        self.entries: list[Any] = []
        # The content of the file when this run last read or wrote it; None if there was no file.
        self._content: bytes | bytearray | None = self._content_now()
        # The inode of the file, after this run has written the file; otherwise None. `_length` is
        # the length of the file's first line.
        self._inode: int | None = None
        self._length = 0
        # The line that is being appended. If that fails or is interrupted, the file may end with
        # the beginning of this line, or with the whole line.
        self._unfinished = b""
        self._clock = clock
        self._synced_at = 0.0  # when the file was written to disk
        if self.path is None or self._content is None:
            return
        # An empty file is not a valid checkpoint, but `restart` may replace it, because that loses
        # nothing.
        if restart and not self._content:
            return
        try:
            content, entries = _parsed(self._content)
            version, subject_in_file, state = (
                content["version"],
                content["subject"],
                content["state"],
            )
            if not isinstance(subject_in_file, dict) or not isinstance(state, dict):
                raise TypeError("its parts are no objects")
        except (ValueError, KeyError, TypeError) as error:
            # Refuse the file even with `restart`: it may be another file of the application, which
            # a checkpoint must not replace.
            raise ValueError(f"{self.path} is not a checkpoint: {error!r}") from error
        if restart:
            return
        if version != _VERSION:
            raise ValueError(
                f"{self.path} is a checkpoint of another version, {version}, which does not say "
                f"enough of what it belongs to{self._restart_hint}"
            )
        # Compare the subjects. Leave out the clusters and table ids that are not comparable.
        expected = dict(self._subject)
        for name in _CLUSTERS:
            # Do not compare clusters if the file names no cluster, or if both descriptions probably
            # mean the same cluster.
            if name in expected and name not in subject_in_file:
                del expected[name]
            elif name in expected and _is_same_cluster(subject_in_file[name], expected[name]):
                expected[name] = subject_in_file[name]
        recorded = dict(subject_in_file)
        for name in _TABLE_IDS:
            # Do not compare the ids if the file or the metadata lacks one.
            if recorded.get(name) is None or expected.get(name) is None:
                recorded.pop(name, None)
                expected.pop(name, None)
        if recorded != expected:
            difference = _difference(recorded, expected)
            raise ValueError(
                f"{self.path} is the checkpoint of something else: {difference}{self._restart_hint}"
            )
        self.state, self.entries = state, entries

    @property
    def _restart_hint(self) -> str:
        # Only loads have the option `restart`.
        way = "restart=True begins" if self._subject.get("work") == "load" else "delete it to begin"
        return f"; {way} anew, and another file leaves this one as it is"

    def _content_now(self) -> bytes | None:
        """Return the content of the file; None if there is no file."""
        if self.path is None:
            return None
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def save(self, **state: Any) -> None:
        """Replace the file; its content is on disk when this returns.

        :param state: JSON values that say where the next run should begin.
        :raises FileExistsError: if another run has written the file since this run last read or
            wrote it. Runs that share a file would do the same work, or overwrite each other's
            progress.
        """
        if self.path is None or self._is_read_only:
            return
        self._check_no_other_run(self._content_now())
        content = {"version": _VERSION, "subject": self._subject, "state": state}
        with naming(self.path):
            self._content = bytearray(write_json(self.path, content))
        self._unfinished = b""
        self._length = len(self._content)
        self._synced_at = self._clock()
        # If the inode is unknown, `append` returns False, so the whole state is saved again next
        # time.
        self._inode = None
        with suppress(OSError):
            self._inode = os.stat(self.path).st_ino

    @property
    def is_long(self) -> bool:
        """True if the first line of the file is so long that replacing the file is slow."""
        return self._length > _MOST_APPENDED

    def append(self, entry: Any, is_last: bool = False) -> bool:
        """Append a change of the state to the file; return False if `save` must be called instead.

        When this returns, the entry survives the end of the process, but not always a power cut:
        the file is only synchronized to disk every `SYNC_SECONDS`, and if `is_last` is True.

        :param entry: a JSON value.
        :param is_last: True if the state will not change any more.
        :raises FileExistsError: if another run has written the file since this run last read or
            wrote it.
        """
        if self.path is None or self._is_read_only:
            return True
        content = self._content
        if self._inode is None or not isinstance(content, bytearray):
            return False
        if len(content) - self._length > max(self._length, _MOST_APPENDED):
            return False
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        except FileNotFoundError:
            return False
        line = f"{json.dumps(entry)}\n".encode()
        with naming(self.path), os.fdopen(descriptor, "ab") as file:
            status = os.fstat(descriptor)
            # Compare the inode and the size first: reading the file takes longer with each entry.
            if (status.st_ino, status.st_size) != (self._inode, len(content)):
                self._check_no_other_run(self._content_now())
                if status.st_size != len(content):
                    return False
                self._inode = status.st_ino
            self._unfinished = line
            file.write(line)
            file.flush()
            content += line
            self._unfinished = b""
            now = self._clock()
            if is_last or now - self._synced_at >= SYNC_SECONDS:
                os.fsync(descriptor)
                self._synced_at = now
        return True

    def _check_no_other_run(self, content: bytes | None) -> None:
        """Raise FileExistsError if another run has changed the file.

        :param content: the content of the file now; None if there is no file.
        """
        if not (content is None or self._is_own(content)):
            raise FileExistsError(
                f"another run has written the checkpoint {self.path} since this one has read it: "
                "each run needs a checkpoint file of its own"
            )

    def _is_own(self, content: bytes | None) -> bool:
        """Return True if no other run has changed the file, which now has this content."""
        known = self._content
        if content is None or known is None:
            return content is known
        # If an append of this run has failed (the disk was full) or was interrupted, the file may
        # end with a part of the appended line.
        rest = content[len(known) :]
        return content.startswith(known) and self._unfinished.startswith(rest)

    def remove(self) -> None:
        """Delete the file, because all work is done. The file of another run is left as it is."""
        if self.path is None or self._is_read_only:
            return
        if self._is_own(self._content_now()):
            self.path.unlink(missing_ok=True)


def _parsed(content: bytes) -> tuple[Any, list[Any]]:
    """Return the JSON value of a checkpoint file, and the entries that were appended to it.

    :param content: the content of the file.
    :raises ValueError: if the file is not a checkpoint.
    """
    first_line, *lines = content.split(b"\n")
    try:
        value = json.loads(first_line.decode("utf-8"))
    except ValueError:
        return json.loads(content.decode("utf-8")), []  # somebody has formatted the file
    entries: list[Any] = []
    # Skip the part after the last line end: it is empty, or incomplete because the process was
    # killed. After a power cut, a line may be damaged. Then stop: later entries describe changes of
    # a state that we do not know.
    for line in lines[:-1]:
        try:
            entries.append(json.loads(line.decode("utf-8")))
        except ValueError:
            break
    return value, entries


def _is_same_cluster(recorded: Any, ours: Any) -> bool:
    """Return True if two descriptions probably mean the same cluster.

    The names must be equal. If both descriptions list hosts, they must have a host in common: while
    a load is interrupted, some hosts may be replaced, but hardly all of them.
    """
    recorded, ours = _cluster(recorded), _cluster(ours)
    recorded_ids, our_ids = set(recorded.get("host_ids") or ()), set(ours.get("host_ids") or ())
    # A description without hosts matches any hosts.
    is_disjoint = bool(recorded_ids and our_ids) and recorded_ids.isdisjoint(our_ids)
    return recorded.get("name") == ours.get("name") and not is_disjoint


def _cluster(description: Any) -> dict[str, Any]:
    # Checkpoints of earlier releases only have the name of the cluster.
    return description if isinstance(description, dict) else {"name": description}


def _difference(recorded: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Describe the first difference between two subjects, for an error message."""
    # Compare the clusters. Two clusters may have the same name, but different hosts.
    for name in _CLUSTERS:
        if recorded.get(name) != ours.get(name):
            their_cluster, our_cluster = _cluster(recorded.get(name)), _cluster(ours.get(name))
            label = name.replace("_", " ")
            if their_cluster.get("name") == our_cluster.get("name"):
                return f"its {label} is another one with the name {our_cluster.get('name')!r}"
            return (
                f"its {label} is {their_cluster.get('name')!r}, and not {our_cluster.get('name')!r}"
            )
    # Compare what is loaded into which table, and the options.
    for name in ("work", "table", "statement"):
        if recorded.get(name) != ours.get(name):
            return f"its {name} is {recorded.get(name)!r}, and not {ours.get(name)!r}"
    for name in _TABLE_IDS:
        if recorded.get(name) != ours.get(name):
            table = "table" if name == "table_id" else "target table"
            return f"its {table} was dropped since, and another one was created with its name"
    if recorded.get("ranges") != ours.get("ranges"):
        return "it is of other token ranges (ranges=)"
    for name, value in (ours.get("options") or {}).items():
        recorded_value = (recorded.get("options") or {}).get(name)
        if recorded_value != value:
            return f"its option {name} is {recorded_value!r}, and not {value!r}"
    # Compare the files: a file may have been replaced, changed, added or removed.
    recorded_files: list[dict[str, Any]] = recorded.get("files") or []
    our_files: list[dict[str, Any]] = ours.get("files") or []
    for recorded_file, our_file in zip(recorded_files, our_files, strict=False):
        if recorded_file["path"] != our_file["path"]:
            return f"where it has the file {recorded_file['path']!r}, there is {our_file['path']!r}"
        changed = [
            name for name in ("size", "modified", "digest") if recorded_file[name] != our_file[name]
        ]
        if changed:
            traits = {"size": "size", "modified": "time of change", "digest": "content"}
            return f"the file {recorded_file['path']!r} has another {traits[changed[0]]} since"
    if len(recorded_files) != len(our_files):
        longer = recorded_files if len(recorded_files) > len(our_files) else our_files
        # The first file that only the longer list has.
        path = longer[min(len(recorded_files), len(our_files))]["path"]
        return f"the file {path!r} is {'new' if longer is our_files else 'gone'}"
    # Compare everything else.
    name = next((name for name in {**recorded, **ours} if recorded.get(name) != ours.get(name)), "")
    return f"its {name} is {recorded.get(name)!r}, and not {ours.get(name)!r}"
