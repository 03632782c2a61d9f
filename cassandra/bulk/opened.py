"""Files as bytes and texts, which may be compressed, in which no line fills the memory."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from cassandra.bulk import chunks
from cassandra.errors import DependencyException

__all__ = ["Limited", "no_column", "opened", "opened_bytes", "text_of"]


@contextmanager
def opened(path: str) -> Iterator[io.TextIOBase]:
    """Open a file of text, which may be compressed."""
    with opened_bytes(path) as file, text_of(file) as text:
        yield text


@contextmanager
def opened_bytes(path: str) -> Iterator[Limited]:
    """Open a file, which may be compressed."""
    with _opened_bytes(path) as file:
        yield Limited(file, path)


def _opened_bytes(path: str) -> AbstractContextManager[Any]:
    name = path.lower()
    if name.endswith(".gz"):
        return gzip.open(path, "rb")
    if name.endswith((".zst", ".zstd")):
        return _opened_zstd(path)
    return open(path, "rb")


@contextmanager
def text_of(file: Limited) -> Iterator[io.TextIOBase]:
    """Read bytes as text from here on; lines end as they do in the file."""
    binary: Any = file
    text = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
    try:
        yield text
    finally:
        text.detach()


def _opened_zstd(path: str) -> AbstractContextManager[Any]:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.open(path, "rb")
    try:
        import zstandard
    except ImportError as error:
        raise DependencyException(f"{path!r} needs zstandard: pip install zstandard") from error
    opened: AbstractContextManager[Any] = zstandard.open(path, "rb")
    return opened


class Limited(io.BufferedIOBase):
    """Bytes of a file, in which no line is so long that it would fill the memory.

    The attribute `has_given_all` is False as long as some are left that were given back.

    :param file: the file, open.
    :param path: its name.
    """

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self._path = path
        self._since = 0  # bytes since the last end of a line
        self._first = b""
        self.has_given_all = True

    def readable(self) -> bool:
        return True

    def give_back(self, data: bytes) -> None:
        """Have bytes read again, before all others.

        :param data: the bytes.
        """
        self._first = data
        self.has_given_all = False

    def read1(self, size: int = -1) -> bytes:
        if self._first:
            size = size if size > 0 else len(self._first)
            given, self._first = self._first[:size], self._first[size:]
            return given
        self.has_given_all = True
        found: bytes = self._file.read(size if size > 0 else 1 << 16)
        at = found.rfind(b"\n")
        if at >= 0:
            self._since = len(found) - at
        else:
            self._since += len(found)
        if self._since > chunks.LONGEST_LINE:
            raise ValueError(
                f"{self._path} has a line of more than {chunks.LONGEST_LINE:,} bytes: is it "
                "damaged, or of another format?"
            )
        return found

    def read(self, size: int | None = -1) -> bytes:
        return self.read1(-1 if size is None else size)


def no_column(path: str, name: str, names: Iterable[str]) -> str:
    return (
        f"{path} has no column {name!r}, but {', '.join(names)}; columns= maps columns of the "
        "table to those of the file"
    )
