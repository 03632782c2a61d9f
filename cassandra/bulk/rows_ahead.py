"""The rows after the position of a load's checkpoint that are already done.

A checkpoint has a position in the source, and all rows before it are done. But rows are not done in
the order of the source: if a key occurs twice in a chunk, its second row waits until the first rows
of all keys are written, and a request may have rows from anywhere in the chunk. So the checkpoint
also says which rows after its position are done.
"""

from __future__ import annotations

import base64
import zlib

from cassandra.bulk.chunks import Chunk, Position


class RowsAhead:
    """The rows after a position in the source that are done. The object never changes.

    `bool()` of the object is False if there are no such rows.

    :param position: the position.
    :param flags: a byte for each row from the position on: 1 if the row is done, else 0. The rows
        after the last byte are not done.
    """

    def __init__(self, position: Position, flags: bytes | bytearray = b"") -> None:
        self._position = position
        self._flags = bytes(flags).rstrip(b"\0")

    @classmethod
    def from_text(cls, position: Position, text: str) -> RowsAhead:
        """Make an object from the string that `as_text` has returned; "" means no rows.

        :param position: the position of the checkpoint.
        :param text: the string.
        """
        return cls(position, zlib.decompress(base64.b64decode(text)) if text else b"")

    def as_text(self) -> str:
        """Return the rows as a string, for a checkpoint."""
        if not self._flags:
            return ""
        return base64.b64encode(zlib.compress(self._flags, 1)).decode()

    def __bool__(self) -> bool:
        return bool(self._flags)

    def after(self, position: Position) -> bytes:
        """Return a byte for each row from another position on: see `flags` of the constructor.

        :param position: a position that is not before the position of this object.
        """
        if position.file != self._position.file:
            return b""
        return self._flags[position.row - self._position.row :]

    def in_chunk(self, chunk: Chunk) -> list[int]:
        """Return the indexes of a chunk's rows that are done.

        :param chunk: a chunk after the position.
        """
        begin = Position(chunk.position.file, chunk.position.row - chunk.size)
        return [index for index, flag in enumerate(self.after(begin)[: chunk.size]) if flag]
