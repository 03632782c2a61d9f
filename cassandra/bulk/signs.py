"""The sign: a file in the folder of an unfinished unload, which also keeps other unloads out.

The running unload holds a lock on this file. The system releases the lock when the process ends, so
the sign of an unload that was killed does not block its folder. The process id in the file could
not show this, because another process may have the same id, for example in a container that was
restarted.
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

    # On Windows, no other process can read a locked byte. So lock a byte beyond the end of the
    # file.
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
            # Some network file systems have no locks. There, an unload only notices another unload
            # by files in the folder that it has not written itself: see `_Writer.end`.
            return False
        return False


# How often to open the sign until the open file is the file with the sign's name. More than two
# attempts are rare.
_ATTEMPTS = 10


class Sign:
    """The sign of a running unload in its folder.

    The attribute `was_there` is True if an unload that was killed has left the sign.

    :param folder: the folder.
    :param check: raises an error if the folder cannot be used. It is called before the sign is
        created, and again when the sign is locked, because another unload may have ended in
        between.
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
        """Create the sign, or take over the sign of a killed unload; return the locked file."""
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
                # After we have opened the file, the other unload may have deleted it. Then our lock
                # is on a file without a name, and keeps no other unload out: try again. On some
                # network file systems a file gets a new number each time, so this check would
                # always fail: after several attempts, use the file.
                with suppress(FileNotFoundError):
                    named = os.stat(self._path)
                    if os.path.samestat(os.fstat(file.fileno()), named) or attempts >= _ATTEMPTS:
                        return file
            except BaseException:
                file.close()
                raise
            file.close()

    def _describe(self) -> None:
        """Write into the sign which process runs the unload, for the errors of other unloads."""
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
        """Return which process has written the sign, for an error; "" if it cannot be read."""
        try:
            owner = json.loads(self._path.read_text(encoding="utf-8"))
            return f" (process {owner['pid']} on {owner['host']}, since {owner['since']})"
        except (OSError, ValueError, LookupError, TypeError):
            return ""

    def remove(self) -> None:
        """Delete the sign, and let other unloads use the folder."""
        if self._file.closed:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            # Windows cannot delete an open file, and neither can some network file systems. So
            # close the file first.
            self.release()
            # On Windows, another unload may have opened the file in the meantime. Then the file is
            # the sign of that unload, and stays.
            with suppress(*([PermissionError] if sys.platform == "win32" else [])):
                self._path.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Let other unloads use the folder, but keep the sign, because files are missing."""
        if self._file.closed:
            return
        if sys.platform != "win32":
            # Unlock the file, and do not only close it: a forked process may have inherited the
            # open file, and the lock would last as long as that process.
            with suppress(OSError):
                fcntl.flock(self._file.fileno(), fcntl.LOCK_UN)
        self._file.close()
