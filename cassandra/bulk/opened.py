"""Files as bytes and texts, which may be compressed, in which no line fills the memory.

Each stream is read to its real end: one that was cut off is an error, never a short file. What can
be read only once (a pipe, standard input) is opened once, and kept for whoever reads it next.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from cassandra.bulk import chunks
from cassandra.errors import DependencyException

__all__ = [
    "Limited",
    "Pipes",
    "bad_byte",
    "bare_name",
    "check_encoding",
    "is_pipe",
    "no_column",
    "opened",
    "opened_bytes",
    "text_of",
]

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zstd", ".lz4")
STANDARD_INPUT = "-"
# Bytes that are no UTF-8, as `surrogateescape` shows them.
_BAD_BYTE = re.compile("[\udc80-\udcff]")


def bare_name(path: str) -> str:
    """Return a file's name in small letters, without what says how it is compressed.

    :param path: the file.
    """
    name = os.path.basename(path).lower()
    for ending in COMPRESSED:
        if name.endswith(ending):
            return name[: -len(ending)]
    return name


def is_pipe(path: str) -> bool:
    """Return True if a file can be read once only.

    :param path: the file; ``-`` is standard input.
    """
    if path == STANDARD_INPUT:
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False  # opening it says what is wrong


def check_encoding(name: str) -> str:
    """Return Python's own name of an encoding of texts.

    :param name: the encoding.
    :raises ValueError: if there is no such encoding.
    """
    try:
        found = codecs.lookup(name)
    except (LookupError, TypeError):
        raise ValueError(f"encoding must be one that Python knows, but is {name!r}") from None
    if not found._is_text_encoding:
        raise ValueError(f"encoding must be one of texts, but is {name!r}")
    return "utf-8" if found.name in ("utf-8", "utf-8-sig", "ascii") else found.name


def bad_byte(text: str) -> str | None:
    """Return the first byte of a line that is no UTF-8, for an error; None if all are.

    :param text: the line, decoded with ``surrogateescape``.
    """
    found = None if text.isascii() else _BAD_BYTE.search(text)
    if found is None:
        return None
    return (
        f"byte 0x{ord(found[0]) - 0xDC00:02x} is not UTF-8: write encoding='latin-1', 'cp1252' or "
        "whatever the file is in"
    )


class Pipes:
    """Files that can be read once: each is opened by whoever asks first, and stays open."""

    def __init__(self) -> None:
        self._open: dict[str, Limited] = {}

    def opened(self, path: str, encoding: str) -> Limited:
        """Return a file, of which nothing is lost that was given back.

        :param path: the file.
        :param encoding: of its text.
        """
        if path not in self._open:
            self._open[path] = Limited(_opened_bytes(path), path, encoding)
        return self._open[path]

    def close(self) -> None:
        """Close all of them."""
        while self._open:
            self._open.popitem()[1].close_file()


@contextmanager
def opened(path: str, pipes: Pipes | None = None, encoding: str = "utf-8") -> Iterator[Any]:
    """Open a file of text, which may be compressed.

    :param path: the file.
    :param pipes: the pipes that are open.
    :param encoding: of the file.
    """
    with opened_bytes(path, pipes, encoding) as file, text_of(file) as text:
        yield text


@contextmanager
def opened_bytes(
    path: str, pipes: Pipes | None = None, encoding: str = "utf-8"
) -> Iterator[Limited]:
    """Open a file, which may be compressed, as UTF-8.

    :param path: the file.
    :param pipes: the pipes that are open.
    :param encoding: of the file.
    """
    if pipes is not None and is_pipe(path):
        yield pipes.opened(path, encoding)
        return
    file = Limited(_opened_bytes(path), path, encoding)
    try:
        yield file
    finally:
        file.close_file()


def _opened_bytes(path: str) -> Any:
    if path == STANDARD_INPUT:
        return open(os.dup(sys.stdin.fileno()), "rb")
    name = path.lower()
    if not name.endswith(COMPRESSED):
        return open(path, "rb")
    if not is_pipe(path) and not os.path.getsize(path):
        # gzip takes it for a whole file. It is one that was cut off at its beginning.
        raise ValueError(f"{path} has no bytes, and so is not a compressed file")
    if name.endswith(".gz"):
        return gzip.open(path, "rb")
    if name.endswith(".bz2"):
        return bz2.open(path, "rb")
    if name.endswith(".xz"):
        return lzma.open(path, "rb")
    if name.endswith(".lz4"):
        return _opened_lz4(path)
    return _opened_zstd(path)


@contextmanager
def text_of(file: Limited) -> Iterator[io.TextIOBase]:
    """Read bytes as text from here on; lines end as they do in the file.

    A byte that is no UTF-8 concerns its own line: it becomes a lone surrogate, which `bad_byte`
    finds.

    :param file: the bytes.
    """
    binary: Any = file
    text = io.TextIOWrapper(binary, encoding="utf-8", errors="surrogateescape", newline="")
    try:
        yield text
    finally:
        text.detach()


def _opened_lz4(path: str) -> Any:
    try:
        from lz4 import frame
    except ImportError as error:
        raise DependencyException(f"{path!r} needs lz4: pip install lz4") from error
    return frame.open(path, "rb")


def _opened_zstd(path: str) -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.open(path, "rb")
    try:
        import zstandard
    except ImportError as error:
        raise DependencyException(f"{path!r} needs zstandard: pip install zstandard") from error
    return _Zstd(open(path, "rb"), zstandard.ZstdDecompressor())


class _Zstd:
    """The frames of a .zst file, each of which must have its end.

    zstandard's own files end where the first frame does, or where the file was cut off.

    :param file: the file, open.
    :param frames: makes a decompressor for each frame.
    """

    def __init__(self, file: Any, frames: Any) -> None:
        self._file = file
        self._frames = frames
        self._frame: Any = None
        self._left = b""
        self._step = 4096  # bytes that are unpacked at a time: they may become many

    def read(self, size: int) -> bytes:
        """Return some bytes, b"" at the end.

        :param size: about how many.
        :raises EOFError: if the file ends within a frame.
        """
        while True:
            data = self._left or self._file.read(self._step)
            self._left = b""
            if not data:
                if self._frame is not None:
                    raise EOFError(
                        "Compressed file ended before the end-of-stream marker was reached"
                    )
                return b""
            if self._frame is None:
                self._frame = self._frames.decompressobj()
            found: bytes = self._frame.decompress(data)
            if self._frame.eof:
                self._left = self._frame.unused_data
                self._frame = None
            self._step = min(max(self._step * (4 if len(found) < size else 1), 512), 1 << 16)
            if len(found) > 4 << 20:
                self._step = 512
            if found:
                return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Limited(io.BufferedIOBase):
    """Bytes of a file in UTF-8, in which no line is so long that it would fill the memory.

    :param file: the file, open.
    :param path: its name.
    :param encoding: of the file, which is made UTF-8 of.
    """

    def __init__(self, file: Any, path: str, encoding: str = "utf-8") -> None:
        self._file = file
        self._path = path
        self._since = 0  # bytes since the last end of a line
        self._given_back = b""
        self._is_begun = False
        self._decoder: Any = None
        if encoding != "utf-8":
            self._decoder = codecs.getincrementaldecoder(encoding)()

    def readable(self) -> bool:
        return True

    def close_file(self) -> None:
        """Close the file itself."""
        self._file.close()

    def give_back(self, data: bytes) -> None:
        """Have bytes read again, before all others.

        :param data: the bytes.
        """
        self._given_back = data + self._given_back

    def read1(self, size: int = -1) -> bytes:
        if self._given_back:
            size = size if size > 0 else len(self._given_back)
            given, self._given_back = self._given_back[:size], self._given_back[size:]
            return given
        found = self._unpacked(size if size > 0 else 1 << 16)
        if not self._is_begun and found:
            self._is_begun = True
            while len(found) < 3 and codecs.BOM_UTF8.startswith(found):
                more = self._unpacked(1 << 16)
                found += more
                if not more:
                    break
            # Programs of Windows begin text files with a mark, which is no part of the first name.
            if found.startswith(codecs.BOM_UTF8):
                found = found[len(codecs.BOM_UTF8) :] or self._unpacked(1 << 16)
        at = found.rfind(b"\n")
        if at < 0:
            at = found.rfind(b"\r")  # which ends lines, too
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

    def _unpacked(self, size: int) -> bytes:
        while True:
            try:
                found: bytes = self._file.read(size)
            except (EOFError, OSError, MemoryError):
                raise
            except Exception as error:  # each library has errors of its own for damage
                raise OSError(f"it is damaged: {error}") from error
            if self._decoder is None:
                return found
            try:
                made: bytes = self._decoder.decode(found, not found).encode()
            except UnicodeError as error:
                raise OSError(f"it is not in the encoding that was said: {error}") from error
            if made or not found:
                return made

    def read(self, size: int | None = -1) -> bytes:
        return self.read1(-1 if size is None else size)


def no_column(path: str, name: str, names: Iterable[str]) -> str:
    """Return the message for a column that a file lacks."""
    return (
        f"{path} has no column {name!r}, but {', '.join(names)}; columns= maps columns of the "
        "table to those of the file"
    )
