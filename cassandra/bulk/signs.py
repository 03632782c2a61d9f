"""The sign of an unfinished unload in its folder, which also keeps other unloads out.

The running unload holds a lock on the file. The system releases the lock when the process ends, so
the sign of a killed unload does not block its folder: process ids in the file could not tell this,
because another process may have the same number, for example in a container that was restarted.
"""

from __future__ import annotations

import datetime
import json
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path

from cassandra._clocks import wall_time_ns
from cassandra.bulk.opened import UNFINISHED

if sys.platform == "win32":
    import msvcrt

    # No process can read a locked byte, so lock one beyond the end of the file.
    _LOCKED_BYTE = 1 << 30

    def _is_locked(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return True
        return False

else:
    import fcntl

    def _is_locked(descriptor: int) -> bool:
        """Return False if this call has locked a file, or True if another unload has locked it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            # Some network file systems have no locks. There, an unload only notices another one by
            # the files that it did not write: see `_Writer.end`.
            return False
        return False


# A sign is opened at most this often, until it is the file that has the name. Twice is rare.
_ATTEMPTS = 10


class Sign:
    """The sign of a running unload in its folder.

    The attribute `was_there` is True if an unload that was killed has left the sign.

    :param folder: the folder.
    :param check: called before the sign is made, and again when the folder is locked: another
        unload may have ended in between. It raises an error if the folder cannot be used.
    :raises FileExistsError: if another unload is writing into the folder.
    """

    def __init__(self, folder: Path, check: Callable[[], None]) -> None:
        self._path = folder / UNFINISHED
        self.was_there = False
        check()
        self._file = self._locked()
        try:
            check()
            self._describe()
        except BaseException:
            if self.was_there:
                self.release()
            else:
                self.remove()
            raise

    def _locked(self) -> FileIO:
        """Create the sign, or take over a sign that was left, and return its file, locked."""
        self.was_there = True
        attempts = 0
        while True:
            attempts += 1
            try:
                file = FileIO(self._path, "x+")
                self.was_there = False
            except FileExistsError:
                try:
                    file = FileIO(self._path, "r+")
                except FileNotFoundError:
                    continue  # the other unload has just ended
            try:
                if _is_locked(file.fileno()):
                    raise FileExistsError(
                        f"another unload{self._owner()} is writing into the folder "
                        f"{os.fspath(self._path.parent)!r}: an unload needs a new or empty folder"
                    )
                # The other unload may have deleted the file after we have opened it. Then the lock
                # is on a file without a name, which keeps nobody out. Some file systems of networks
                # number a file anew each time, so that no file is ever the same.
                with suppress(FileNotFoundError):
                    named = os.stat(self._path)
                    if os.path.samestat(os.fstat(file.fileno()), named) or attempts >= _ATTEMPTS:
                        return file
            except BaseException:
                file.close()
                raise
            file.close()

    def _describe(self) -> None:
        """Write into the sign which process unloads, for the error of another unload."""
        begun_at = datetime.datetime.fromtimestamp(wall_time_ns() / 1e9, datetime.timezone.utc)
        description = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "since": begun_at.astimezone().isoformat(" ", "seconds"),
        }
        self._file.seek(0)
        self._file.truncate()
        self._file.write(f"{json.dumps(description)}\n".encode())

    def _owner(self) -> str:
        """Return which process has written the sign, for an error; "" if the sign does not say."""
        try:
            owner = json.loads(self._path.read_text(encoding="utf-8"))
            return f" (process {owner['pid']} on {owner['host']}, since {owner['since']})"
        except (OSError, ValueError, LookupError, TypeError):
            return ""

    def remove(self) -> None:
        """Delete the sign, and let other unloads into the folder."""
        if self._file.closed:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            # Windows cannot delete an open file, nor can some folders that it shares.
            self.release()
            # On Windows, another unload may have opened the file meanwhile: then it is its sign.
            with suppress(*([PermissionError] if sys.platform == "win32" else [])):
                self._path.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Let other unloads into the folder, and leave the sign that files are missing."""
        if self._file.closed:
            return
        if sys.platform != "win32":
            # A forked process may have inherited the file, and the lock would last as long as it.
            with suppress(OSError):
                fcntl.flock(self._file.fileno(), fcntl.LOCK_UN)
        self._file.close()
