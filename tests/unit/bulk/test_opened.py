"""Test `opened_bytes` and `opened`, which open the files that a load reads.

The tests cover compressed files, pipes, encodings, and lines without an end.
"""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import io
import lzma
import os
import random
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk import chunks, opened as opened_module
from cassandra.bulk.opened import (
    Limited,
    Pipes,
    bad_byte,
    bare_name,
    check_encoding,
    is_pipe,
    naming,
    no_column,
    opened,
    opened_bytes,
    text_of,
)
from cassandra.errors import DependencyException

# The content of the tests' file. Its lines have three different endings.
TEXT = "id,name\n1,é\r\n2,b\r3,c"
# the function that compresses bytes for each ending of a file's name
COMPRESSORS: dict[str, Any] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def whole(file: Any) -> bytes:
    """Read the file to its end with `read1`, and return all its bytes."""
    parts = []
    while part := file.read1():
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("ending", COMPRESSORS)
def test_compressed_files(tmp_path: Path, ending: str) -> None:
    """The ending of a file's name selects the decompression, in upper or lower case."""
    path = tmp_path / f"a.csv{ending}"
    path.write_bytes(COMPRESSORS[ending](TEXT.encode()))
    with opened(str(path)) as text:
        assert text.read() == TEXT  # Line endings are not translated.
    upper_case_path = tmp_path / f"B.CSV{ending.upper()}"
    upper_case_path.write_bytes(path.read_bytes())
    with opened_bytes(str(upper_case_path)) as file:
        assert whole(file) == TEXT.encode()
    # Closing the decompressor must also close the file that the decompressor reads from.
    assert getattr(file._file, "_file", file._file).closed
    if ending:
        path.write_bytes(path.read_bytes()[:-3])
        with opened_bytes(str(path)) as file, pytest.raises((EOFError, OSError)):
            whole(file)
        path.write_bytes(b"")
        with pytest.raises(ValueError, match="has no bytes, and so is not a compressed file"):
            opened_bytes(str(path)).__enter__()


def flipped(data: bytes, offset: int) -> bytes:
    """Return `data` with the bits of one byte inverted."""
    return data[:offset] + bytes([data[offset] ^ 0xFF]) + data[offset + 1 :]


# The formats of which one file may have several compressed streams, one after the other.
STREAMS = pytest.mark.parametrize("ending", [".bz2", ".xz"])


@STREAMS
def test_each_stream_is_read(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of several compressed streams is read to its end, for any read size in bytes."""
    path = tmp_path / f"a.csv{ending}"
    # Random bytes cannot be compressed, so their compressed stream is longer than the read sizes 1
    # and 1000.
    parts = [b"x" * 300_000, random.Random(1).randbytes(5000), b"", b"end"]
    path.write_bytes(b"".join(map(COMPRESSORS[ending], parts)))
    for read_size in (opened_module._STEP, 1, 1000):
        monkeypatch.setattr(opened_module, "_STEP", read_size)
        with opened_bytes(str(path)) as file:
            assert whole(file) == b"".join(parts)
    with opened_bytes(str(path)) as file:
        # `read1` returns at most the requested number of bytes, because a small compressed file may
        # expand to a huge file.
        assert max(len(file.read1(1000)) for _ in range(50)) <= 1000


@STREAMS
def test_a_damaged_stream_is_an_error_wherever_it_is(tmp_path: Path, ending: str) -> None:
    """Damage in any stream is an error that names the byte where this stream begins.

    The rows before the damage are read.
    """
    path = tmp_path / f"a.csv{ending}"
    first_stream, second_stream = map(COMPRESSORS[ending], (b"id\n1\n", b"2\n" * 500))
    second_begin = len(first_stream)
    for damaged, message in (
        (flipped(second_stream, 0), f"the stream at byte {second_begin} is not valid"),
        (
            flipped(second_stream, len(second_stream) // 2),
            f"the stream at byte {second_begin} is not valid",
        ),
        (b"garbage behind", f"the stream at byte {second_begin} is not valid"),
        (
            second_stream + b"garbage",
            f"the stream at byte {second_begin + len(second_stream)} is not valid",
        ),
        (second_stream[:-3], "ended before the end"),
        (second_stream[:3], "ended before the end"),
        # In an xz file, zero bytes may follow a stream, but only in multiples of four.
        (bytes(3), "3 zero bytes" if ending == ".xz" else "ended before|is not valid"),
        (bytes(6) + second_stream, "6 zero bytes" if ending == ".xz" else "is not valid"),
    ):
        path.write_bytes(first_stream + damaged)
        with opened_bytes(str(path)) as file:
            assert file.read1() == b"id\n1\n"
            with pytest.raises((EOFError, OSError), match=message):
                whole(file)
    path.write_bytes(flipped(first_stream, second_begin // 2))
    with opened_bytes(str(path)) as file, pytest.raises(OSError, match="at byte 0 is not valid"):
        whole(file)


def test_padding_between_streams_of_xz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero bytes between and after the streams of an xz file are skipped."""
    path = tmp_path / "a.csv.xz"
    path.write_bytes(lzma.compress(b"a") + bytes(8) + lzma.compress(b"b") + bytes(64))
    for read_size in (opened_module._STEP, 3):
        monkeypatch.setattr(opened_module, "_STEP", read_size)
        with opened_bytes(str(path)) as file:
            assert whole(file) == b"ab"


def test_frames_of_zstd(tmp_path: Path) -> None:
    """All frames of a zstd file are read; a truncated file is refused."""
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.csv.zst"
    frames = [zstandard.ZstdCompressor().compress(part) for part in (b"x" * 100_000, b"end")]
    path.write_bytes(b"".join(frames))
    with opened_bytes(str(path)) as file:
        assert whole(file) == b"x" * 100_000 + b"end"
    path.write_bytes(b"".join(frames)[:-2])
    with opened_bytes(str(path)) as file, pytest.raises(EOFError, match="ended before the end"):
        whole(file)


def test_frames_of_lz4(tmp_path: Path) -> None:
    """A file with the ending .lz4 is decompressed."""
    frame = pytest.importorskip("lz4.frame")
    path = tmp_path / "a.csv.lz4"
    path.write_bytes(frame.compress(TEXT.encode()))
    with opened_bytes(str(path)) as file:
        assert whole(file) == TEXT.encode()


@pytest.mark.parametrize(("ending", "package"), [(".lz4", "lz4"), (".zst", "zstandard")])
def test_errors_name_a_missing_decompression_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, package: str
) -> None:
    """If the package for a compression is missing, the error says which package to install."""
    if package == "zstandard" and sys.version_info >= (3, 14):
        pytest.skip("the standard library decompresses Zstandard")
    monkeypatch.setitem(sys.modules, package, None)
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"x")
    with pytest.raises(DependencyException, match=f"needs {package}: pip install {package}"):
        opened_bytes(str(path)).__enter__()


def test_bare_names_have_no_compression_suffix() -> None:
    """`bare_name` returns a file's name in lower case, without folder and compression ending."""
    assert bare_name("/x.gz/A.CSV.GZ") == "a.csv"
    assert bare_name("b.tsv.zstd") == "b.tsv"
    assert bare_name("c.csv") == "c.csv"


def test_encodings() -> None:
    """`check_encoding` returns the standard name of an encoding, and refuses unknown names."""
    for name in ("utf8", "UTF-8", "utf-8-sig", "ascii"):
        assert check_encoding(name) == "utf-8"
    assert check_encoding("latin1") == "iso8859-1"
    with pytest.raises(ValueError, match="must be one that Python knows, but is 'none'"):
        check_encoding("none")
    with pytest.raises(ValueError, match="must be one that Python knows, but is 5"):
        check_encoding(5)  # type: ignore[arg-type]
    # Python's base64 codec converts bytes to bytes, not to text.
    with pytest.raises(ValueError, match="must be one of texts, but is 'base64'"):
        check_encoding("base64")


def test_files_of_another_encoding(tmp_path: Path) -> None:
    """A file in another encoding is read as text, or converted to UTF-8.

    Bytes that are not valid in the encoding are refused.
    """
    path = tmp_path / "a.csv"
    path.write_bytes("é\n".encode("utf-16"))
    with opened(str(path), encoding="utf-16") as text:
        assert text.read() == "é\n"
    path.write_bytes(b"\xff")
    with opened_bytes(str(path), encoding="cp1252") as file:
        assert whole(file) == "ÿ".encode()
    # This byte represents no character in cp1252.
    path.write_bytes(b"\x81")
    with (
        opened_bytes(str(path), encoding="cp1252") as file,
        pytest.raises(OSError, match="not in the encoding that was said"),
    ):
        whole(file)


def test_bytes_that_are_not_utf_8_become_surrogates() -> None:
    """Bytes that are not UTF-8 are decoded as surrogates, of which `bad_byte` names the first."""
    assert bad_byte("plain") is None
    assert bad_byte("é") is None
    message = bad_byte(b"a\xffb\xfe".decode("utf-8", "surrogateescape"))
    assert message is not None
    assert message.startswith("byte 0xff is not UTF-8: write encoding=")
    with text_of(Limited(io.BytesIO(b"a\xff\n"), "a")) as text:
        assert text.read() == "a\udcff\n"


# -- limits ----------------------------------------------------------------------------------------


class Pieces:
    """A fake file whose `read` returns the next piece, whatever size is requested."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = [*pieces]

    def read(self, size: int) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


def test_a_byte_order_mark_at_the_beginning_is_skipped() -> None:
    """A byte order mark at the beginning is skipped, even if it arrives in several pieces.

    Elsewhere in the file, or if it is incomplete, the mark is content.
    """
    mark = codecs.BOM_UTF8
    for pieces in ([mark + b"a"], [mark[:1], mark[1:2], mark[2:] + b"a"], [mark, b"a"]):
        assert whole(Limited(Pieces(*pieces), "a")) == b"a"
    assert whole(Limited(Pieces(b"a" + mark), "a")) == b"a" + mark
    assert whole(Limited(Pieces(mark[:2]), "a")) == mark[:2]
    assert whole(Limited(Pieces(mark), "a")) == b""


def test_bytes_that_are_given_back_are_read_first() -> None:
    """Bytes passed to `give_back` are read before further bytes of the file.

    If `give_back` is called twice, the bytes of the second call are read first.
    """
    file = Limited(Pieces(b"later"), "a")
    file.give_back(b"bc")
    file.give_back(b"a")
    assert file.read1(2) == b"ab"
    assert file.read(None) == b"c"
    assert file.read1() == b"later"
    assert file.readable()


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of more than LONGEST_LINE bytes is refused; a file may be longer."""
    monkeypatch.setattr(chunks, "LONGEST_LINE", 100)
    for line_end in (b"\n", b"\r"):
        line = b"x" * 60 + line_end
        # Only the length of each line is limited, not the length of the file.
        assert whole(Limited(Pieces(*[line] * 5), "a")) == line * 5
    file = Limited(Pieces(b"\n" + b"x" * 60, b"x" * 60), "a.csv")
    file.read1()
    with pytest.raises(ValueError, match=r"a\.csv has a line of more than 100 bytes"):
        file.read1()


def test_errors_of_decompressors_are_reported_as_damage() -> None:
    """An error of a decompressor is raised as an OSError that calls the file damaged."""

    class BrokenDecompressor:
        def read(self, size: int) -> bytes:
            raise RuntimeError("bad block")

    with pytest.raises(OSError, match="it is damaged: bad block"):
        Limited(BrokenDecompressor(), "a").read1()


# -- pipes -----------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_is_opened_once(tmp_path: Path) -> None:
    """`Pipes` keeps an opened pipe, so a second reader continues where the first reader stopped."""
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    assert is_pipe(path)

    def write_pipe() -> None:
        Path(path).write_bytes(b"a\nb\n")

    writer = threading.Thread(target=write_pipe)
    writer.start()
    pipes = Pipes()
    with opened_bytes(path, pipes) as file:
        data = file.read1()
        # Give back the bytes that were only inspected, so that the next reader gets them again.
        file.give_back(data)
    with opened_bytes(path, pipes) as same_file:
        assert same_file is file
        assert whole(same_file) == b"a\nb\n"
    writer.join()
    pipes.close()
    assert file._file.closed
    assert pipes._open == {}


def test_files_are_not_pipes(tmp_path: Path) -> None:
    """Ordinary files are closed after reading; pipes and "-" (standard input) stay open."""
    path = tmp_path / "a.csv"
    path.touch()
    assert not is_pipe(str(path))
    assert not is_pipe(str(tmp_path / "none"))
    assert is_pipe("-")
    with opened_bytes(str(path), Pipes()) as file:
        pass
    assert file._file.closed


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path "-" means the standard input, which is not closed after reading."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"a\n")
    with open(path, "rb") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with opened_bytes("-") as file:
            assert whole(file) == b"a\n"
        assert not stdin.closed


def test_the_message_for_a_missing_column() -> None:
    """The message names the file, the missing column, and the columns that the file has."""
    assert no_column("a.csv", "id", []) == "a.csv has no column 'id', and no other columns"
    assert no_column("a.csv", "id", ["x", "y"]) == (
        "a.csv has no column 'id', but x, y: if one of them has its values, name both, the one of "
        "the source first, for example columns={'x': 'id', ...}"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(b"id"), "it is compressed: decompress it, or .* ends with .gz"),
        (b"\x28\xb5\x2f\xfd", "ends with .zst"),
        (lzma.compress(b"id"), "ends with .xz"),
        (bz2.compress(b"id"), "ends with .bz2"),
        (bz2.compress(b""), "ends with .bz2"),
        (b"\x04\x22\x4d\x18", "ends with .lz4"),
        (b"PK\3\4", "it is a ZIP archive, or of a spreadsheet program"),
        ("id".encode("utf-16"), "write encoding='utf-16'"),
        ("id".encode("utf-32"), "write encoding='utf-32'"),
        (b"\0\0\xfe\xff" + "id".encode("utf-32-be"), "write encoding='utf-32'"),
    ],
    ids=["gzip", "zstd", "xz", "bz2", "empty-bz2", "lz4", "zip", "utf-16", "utf-32", "utf-32-be"],
)
def test_files_of_another_format_are_named(data: bytes, message: str) -> None:
    """The error for a file in another format names the format and says what to do."""
    with pytest.raises(OSError, match=message):
        Limited(Pieces(data), "a").read1()
    # Only the first bytes of a file are compared with the signatures of the formats.
    assert whole(Limited(Pieces(b"PK", data), "a")) == b"PK" + data


def test_a_text_may_begin_like_the_name_of_a_compression() -> None:
    """A CSV header that begins like a bzip2 file ("BZh9") is read as CSV."""
    assert whole(Limited(Pieces(b"BZh9,id\n"), "a")) == b"BZh9,id\n"


def test_errors_of_the_system_name_a_file() -> None:
    """`naming` adds the file to an error of the system, unless the error names a file already."""
    for error, text in (
        (OSError(errno.ENOSPC, "full"), r"full: 'a'$"),
        (OSError(errno.ENOENT, "missing", "b"), r"missing: 'b'$"),
        (OSError("unknown"), r"^unknown$"),
        (ValueError("wrong"), r"^wrong$"),
    ):
        with pytest.raises(type(error), match=text), naming(Path("a")):
            raise error
