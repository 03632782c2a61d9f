"""Opens the files of a load, which may be compressed, as bytes or text.

A line that is too long is an error, because it would fill the memory. A truncated compressed file
is an error too, because each compressed stream is read to its end mark. A source that can be read
only once (a pipe, standard input) is opened once, and stays open for the next reader.
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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from cassandra._signals import is_from_signal_handler
from cassandra.bulk import chunks
from cassandra.errors import DependencyException

# The endings of the names of compressed files.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zstd", ".lz4")
STANDARD_INPUT = "-"  # the name that stands for standard input in place of a file
MANIFEST = "_manifest.json"  # lists the files of an unload, in their folder
# The name of a file that an unload creates in its folder at the beginning, and deletes when the
# manifest is written. It is hidden, so that loads of the folder skip it.
UNFINISHED = ".unfinished-unload"
_STEP = 1 << 16  # the number of bytes to read at a time
_LEAST_STEP = 512  # the minimum number of compressed bytes, for files that expand a lot
# The characters to which the error handler `surrogateescape` decodes bytes that are not UTF-8.
_BAD_BYTE = re.compile("[\udc80-\udcff]")


def bare_name(path: str) -> str:
    """Return a file's name in lower case, without the suffix of its compression.

    :param path: the file.
    """
    name = os.path.basename(path).lower()
    for ending in COMPRESSED:
        if name.endswith(ending):
            return name[: -len(ending)]
    return name


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the file's name to system errors that lack a name, for example if the disk is full.

    :param path: the file that the body of the ``with`` statement writes.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


def is_pipe(path: str) -> bool:
    """Return True if a file can be read only once.

    :param path: the file; ``-`` is standard input.
    """
    if path == STANDARD_INPUT:
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False  # opening it will raise a better error


def check_encoding(name: str) -> str:
    """Return Python's name for a text encoding; "utf-8" for its variants and for ASCII.

    :param name: the encoding.
    :raises ValueError: if there is no such encoding.
    """
    try:
        codec = codecs.lookup(name)
    except (LookupError, TypeError):
        raise ValueError(f"encoding must be one that Python knows, but is {name!r}") from None
    # Codecs such as "base64" and "zip" convert bytes to bytes, so they are no encodings.
    if not codec._is_text_encoding:
        raise ValueError(f"encoding must be one of texts, but is {name!r}")
    return "utf-8" if codec.name in ("utf-8", "utf-8-sig", "ascii") else codec.name


def bad_byte(text: str) -> str | None:
    """Return an error message for the first invalid byte of a line; None if it is valid UTF-8.

    :param text: the line, decoded with ``surrogateescape``.
    """
    match = None if text.isascii() else _BAD_BYTE.search(text)
    if match is None:
        return None
    # `surrogateescape` decodes an invalid byte to the character U+DC00 plus the byte.
    return (
        f"byte 0x{ord(match[0]) - 0xDC00:02x} is not UTF-8: write encoding='latin-1', 'cp1252' or "
        "whatever the file is in"
    )


def _not_text(data: bytes) -> str | None:
    """Return an error message if the file is not UTF-8 text; None if it may be.

    The first bytes show whether the file is compressed or has another encoding.

    :param data: the first bytes of the file.
    """
    for signature, ending in _COMPRESSED_SIGNATURES.items():
        if re.match(signature, data) is not None:
            return f"it is compressed: decompress it, or give it a name that ends with {ending}"
    if data.startswith(b"PK\3\4"):
        return "it is a ZIP archive, or of a spreadsheet program: unpack it, or save it as CSV"
    # The mark of UTF-32 begins with the mark of UTF-16, so look for UTF-32 first.
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "it begins with the byte order mark of UTF-32: write encoding='utf-32'"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "it begins with the byte order mark of UTF-16: write encoding='utf-16'"
    return None


# Patterns of the first bytes of compressed files. No text file begins like this. A .bz2 file begins
# with ASCII letters, so its pattern also includes the mark of its first block (or the end mark, if
# the file is empty).
_COMPRESSED_SIGNATURES = {
    rb"\x1f\x8b": ".gz",
    rb"\x28\xb5\x2f\xfd": ".zst",
    rb"\xfd7zXZ\x00": ".xz",
    rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)": ".bz2",
    rb"\x04\x22\x4d\x18": ".lz4",
}


class Pipes:
    """The pipes of a load. Each pipe is opened at its first use, and stays open until `close`."""

    def __init__(self) -> None:
        self._open: dict[str, Limited] = {}  # the open pipes by path

    def opened(self, path: str, encoding: str) -> Limited:
        """Return the file of a pipe, and open it if this is the first call for the pipe.

        Reading continues where the previous reader has stopped. Bytes that the previous reader has
        put back by `Limited.give_back` are read first.

        :param path: the file.
        :param encoding: the encoding of its text.
        """
        if path not in self._open:
            self._open[path] = Limited(_opened_bytes(path), path, encoding)
        return self._open[path]

    def close(self) -> None:
        """Close all files."""
        while self._open:
            self._open.popitem()[1].close_file()


@contextmanager
def opened(path: str, pipes: Pipes | None = None, encoding: str = "utf-8") -> Iterator[Any]:
    """Open a text file, which may be compressed.

    :param path: the file.
    :param pipes: the open pipes of the load: a pipe is opened there and left open. None opens and
        closes a pipe like any other file.
    :param encoding: the encoding of the file.
    """
    with opened_bytes(path, pipes, encoding) as file, text_of(file) as text:
        yield text


@contextmanager
def opened_bytes(
    path: str, pipes: Pipes | None = None, encoding: str = "utf-8"
) -> Iterator[Limited]:
    """Open a file, which may be compressed, as UTF-8 bytes.

    :param path: the file.
    :param pipes: the open pipes of the load: a pipe is opened there and left open. None opens and
        closes a pipe like any other file.
    :param encoding: the encoding of the file.
    """
    if pipes is not None and is_pipe(path):
        yield pipes.opened(path, encoding)
        return
    file = Limited(_opened_bytes(path), path, encoding)
    try:
        yield file
    finally:
        file.close_file()


class _ByteFile(Protocol):
    """An open file whose bytes are read."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; b"" at the end of the file."""

    def close(self) -> object:
        """Close the file."""


def _opened_bytes(path: str) -> _ByteFile:
    """Open a file for reading its decompressed bytes."""
    if path == STANDARD_INPUT:
        # Open a copy of the descriptor, so that closing this file does not close standard input.
        return open(os.dup(sys.stdin.fileno()), "rb")
    name = path.lower()
    if not name.endswith(COMPRESSED):
        return open(path, "rb")
    if not is_pipe(path) and not os.path.getsize(path):
        # Compressed data has some bytes even if it is empty, so this file was truncated. gzip would
        # not raise an error for such a file.
        raise ValueError(f"{path} has no bytes, and so is not a compressed file")
    if name.endswith(".gz"):
        return gzip.open(path, "rb")
    if name.endswith(".bz2"):
        return _Streams(open(path, "rb"), bz2.BZ2Decompressor)
    if name.endswith(".xz"):
        return _Streams(open(path, "rb"), lzma.LZMADecompressor, padding=4)
    if name.endswith(".lz4"):
        return _opened_lz4(path)
    return _opened_zstd(path)


@contextmanager
def text_of(file: Limited) -> Iterator[io.TextIOBase]:
    """Yield the rest of a file as text. Line ends are not translated.

    A byte that is not valid UTF-8 becomes a surrogate character, which `bad_byte` finds. So such a
    byte makes only its own line invalid, not the whole file.

    :param file: the open file.
    """
    binary: Any = file
    text = io.TextIOWrapper(binary, encoding="utf-8", errors="surrogateescape", newline="")
    try:
        yield text
    finally:
        # The wrapper closes its file when it is garbage-collected. Detach the file, because a pipe
        # must stay open for the next reader.
        text.detach()


def _opened_lz4(path: str) -> _ByteFile:
    """Open a file that is compressed by LZ4."""
    try:
        from lz4 import frame
    except ImportError as error:
        raise DependencyException(f"{path!r} needs lz4: pip install lz4") from error
    file: _ByteFile = frame.open(path, "rb")
    return file


def _opened_zstd(path: str) -> _ByteFile:
    """Open a file that is compressed by Zstandard."""
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.open(path, "rb")
    try:
        import zstandard
    except ImportError as error:
        raise DependencyException(f"{path!r} needs zstandard: pip install zstandard") from error
    return _Zstd(open(path, "rb"), zstandard.ZstdDecompressor())


class _Streams:
    """Decompresses a .bz2 or .xz file. The file may have several streams, which must all be valid.

    We do not use the file objects of `bz2` and `lzma`: if a stream after the first is damaged,
    they stop before that stream without an error.

    :param file: the open file.
    :param new_stream: creates the decompressor of a stream.
    :param padding: zero bytes may follow a stream, if their number is a multiple of this number; 0
        if the format allows no such padding.
    """

    def __init__(self, file: Any, new_stream: Callable[[], Any], padding: int = 0) -> None:
        self._file = file
        self._new_stream = new_stream
        self._padding = padding
        self._stream: Any = new_stream()  # None after the end of a stream
        self._offset = 0  # bytes of the file that were passed to decompressors, or were padding
        self._begin = 0  # the offset of the current stream
        self._unread = b""  # bytes of the file that were read, but not decompressed yet

    def read(self, size: int) -> bytes:
        """Return some decompressed bytes; b"" at the end of the file.

        :param size: the maximum number of bytes.
        :raises EOFError: if the file ends within a stream.
        :raises OSError: if a stream is damaged. The message has the offset of the stream's
            beginning.
        """
        while True:
            if self._stream is None and not self._begin_stream():
                return b""
            data = b""
            if self._stream.needs_input:
                data, self._unread = self._unread or self._file.read(_STEP), b""
                if not data:
                    raise EOFError(
                        "Compressed file ended before the end-of-stream marker was reached"
                    )
                self._offset += len(data)
            try:
                unpacked: bytes = self._stream.decompress(data, size)
            except (OSError, lzma.LZMAError) as error:
                raise OSError(
                    f"it is damaged: the stream at byte {self._begin} is not valid: {error}"
                ) from error
            if self._stream.eof:
                # The bytes after the end of the stream are padding, or belong to the next stream.
                self._unread = self._stream.unused_data
                self._offset -= len(self._unread)
                self._stream = None
            # The decompressor may return no bytes, because it needs more input or the stream has
            # ended. That is not the end of the file, so go on.
            if unpacked:
                return unpacked

    def _begin_stream(self) -> bool:
        """Skip padding and begin the next stream. Return False if the file ends instead."""
        padding_start = self._offset
        # Read until there is a byte that is not padding, or the file ends.
        while True:
            data = self._unread or self._file.read(_STEP)
            self._unread = data.lstrip(b"\0") if self._padding else data
            self._offset += len(data) - len(self._unread)
            if self._unread or not data:
                break
        if self._padding and (self._offset - padding_start) % self._padding:
            raise OSError(
                f"it is damaged: {self._offset - padding_start} zero bytes at byte "
                f"{padding_start} are no padding, which comes in multiples of {self._padding}"
            )
        if not self._unread:
            return False
        self._begin = self._offset
        self._stream = self._new_stream()
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Zstd:
    """Decompresses a .zst file. The file may have several frames, which must all be complete.

    We do not use the file objects of `zstandard`: they stop without an error after the first frame,
    or where the file was truncated.

    :param file: the open file.
    :param frames: creates the decompressor of a frame.
    """

    def __init__(self, file: Any, frames: Any) -> None:
        self._file = file
        self._frames = frames
        self._frame: Any = None  # None between frames
        self._unread = b""  # bytes of the file that were read, but not decompressed yet
        # How many compressed bytes to decompress at a time. `read` adapts the number, because
        # compressed bytes may expand a lot.
        self._step = 4096

    def read(self, size: int) -> bytes:
        """Return some decompressed bytes; b"" at the end of the file.

        :param size: the approximate number of bytes; there may be more.
        :raises EOFError: if the file ends within a frame.
        """
        while True:
            data = self._unread or self._file.read(self._step)
            self._unread = b""
            if not data:
                if self._frame is not None:
                    raise EOFError(
                        "Compressed file ended before the end-of-stream marker was reached"
                    )
                return b""
            if self._frame is None:
                # Each frame needs a new decompressor.
                self._frame = self._frames.decompressobj()
            unpacked: bytes = self._frame.decompress(data)
            if self._frame.eof:
                self._unread = self._frame.unused_data
                self._frame = None
            # If the result was smaller than `size`, decompress four times as many bytes next time.
            # After a result of more than 4 MiB, go back to the smallest step.
            growth = 4 if len(unpacked) < size else 1
            self._step = min(max(self._step * growth, _LEAST_STEP), _STEP)
            if len(unpacked) > 4 << 20:
                self._step = _LEAST_STEP
            if unpacked:
                return unpacked

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Limited(io.BufferedIOBase):
    """Reads a file of any encoding as UTF-8 bytes; refuses lines that are too long.

    :param file: the open file.
    :param path: the name of the file, for errors.
    :param encoding: the encoding of the file's content.
    """

    def __init__(self, file: Any, path: str, encoding: str = "utf-8") -> None:
        self._file = file
        self._path = path
        self._line_bytes = 0  # the number of bytes since the last line end
        self._given_back = b""  # bytes that the next `read1` returns
        self._is_begun = False  # False until the first bytes, which may be a byte order mark
        # Decodes the bytes of the file; None for UTF-8, which needs no conversion.
        self._decoder: Any = None
        if encoding != "utf-8":
            self._decoder = codecs.getincrementaldecoder(encoding)()

    def readable(self) -> bool:
        return True

    def close_file(self) -> None:
        """Close the underlying file. Note that `close` only closes this object."""
        self._file.close()

    def give_back(self, data: bytes) -> None:
        """Put bytes back, so that the next `read1` returns them.

        :param data: the bytes.
        """
        self._given_back = data + self._given_back

    def read1(self, size: int = -1) -> bytes:
        """Return the next bytes in UTF-8; b"" at the end of the file."""
        if self._given_back:
            # Bytes that a reader has given back come first. Do not count them for the line limit:
            # they were counted when they were read first.
            size = size if size > 0 else len(self._given_back)
            data, self._given_back = self._given_back[:size], self._given_back[size:]
            return data
        data = self._unpacked(size if size > 0 else _STEP)
        if not self._is_begun and data:
            self._is_begun = True
            if self._decoder is None and (problem := _not_text(data)) is not None:
                raise OSError(problem)
            # Read on if the data so far may be an incomplete byte order mark (three bytes).
            while len(data) < 3 and codecs.BOM_UTF8.startswith(data):
                piece = self._unpacked(_STEP)
                data += piece
                if not piece:
                    break
            # Windows programs begin text files with a byte order mark. Remove the mark: otherwise
            # it would become a part of the first field name.
            if data.startswith(codecs.BOM_UTF8):
                data = data[len(codecs.BOM_UTF8) :] or self._unpacked(_STEP)
        # Count the bytes of the current line, to refuse a file that has no line ends.
        line_end = data.rfind(b"\n")
        if line_end < 0:
            line_end = data.rfind(b"\r")  # also a line end
        if line_end >= 0:
            self._line_bytes = len(data) - line_end
        else:
            self._line_bytes += len(data)
        if self._line_bytes > chunks.LONGEST_LINE:
            raise ValueError(
                f"{self._path} has a line of more than {chunks.LONGEST_LINE:,} bytes: is it "
                "damaged, or of another format?"
            )
        return data

    def _unpacked(self, size: int) -> bytes:
        """Read and decompress some bytes, and convert them to UTF-8; b"" at the end of the file."""
        # Use `read1` for compressed files: if such a file is truncated, `read` would discard what
        # it has decompressed before the error. Use `read` for other files: `read1` of a pipe may
        # return a single byte, which is not enough to recognize the encoding.
        is_compressed = type(self._file).__module__ in ("gzip", "bz2", "lzma")
        read = self._file.read1 if is_compressed else self._file.read
        while True:
            try:
                data: bytes = read(size)
            except (EOFError, OSError, MemoryError):
                raise
            except Exception as error:  # each library has its own errors for damaged files
                if is_from_signal_handler(error):
                    raise
                raise OSError(f"it is damaged: {error}") from error
            if self._decoder is None:
                return data
            try:
                # Empty data means the end of the file, which is the argument `final` of the
                # decoder: at the end, the decoder raises an error if a character is incomplete.
                converted: bytes = self._decoder.decode(data, not data).encode()
            except UnicodeError as error:
                raise OSError(f"it is not in the encoding that was said: {error}") from error
            # The data may be only a part of a character. Then the decoder returns no text yet, so
            # read on.
            if converted or not data:
                return converted

    def read(self, size: int | None = -1) -> bytes:
        return self.read1(-1 if size is None else size)


def no_column(path: str, name: str, names: Iterable[str]) -> str:
    """Return the message for a column that a file lacks."""
    fields = list(names)
    if not fields:
        return f"{path} has no column {name!r}, and no other columns"
    example = f"columns={{{fields[0]!r}: {name!r}, ...}}"
    return (
        f"{path} has no column {name!r}, but {', '.join(fields)}: if one of them has its values, "
        f"name both, the one of the source first, for example {example}"
    )
