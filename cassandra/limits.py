"""Limits on the cost of one answer or value. A program may change them at any time.

    from cassandra.limits import limits

    limits.decimal_bytes = 1_000_000

They hold for the whole process. Anything beyond a limit is an error that names the limit: a
`cassandra.errors.DecodeError` in an answer, a ValueError in a bound value, a
`cassandra.errors.ProtocolError` in a server's description of its columns.
"""

from __future__ import annotations

from threading import local

from cassandra.errors import DecodeError

__all__ = ["Limits", "NullCells", "limits"]

_MOST = (1 << 63) - 1


class Limits:
    """The limits of a process; see `limits`.

    `decimal_bytes` limits the digits of a decimal, and of a varint that becomes text. Converting a
    number between its binary and its decimal form takes time that grows faster than its size: some
    35 ms for 64 KiB, but for 1 MB 0.7 s to read and 2 s to write.

    `null_cells` limits the cells that nulls stand for in one page. A null vector takes the place of
    all its elements in a column of Arrow. A tuple or user-defined type that ends early has None for
    each field that it lacks. So a page of few bytes may have very many. Numbers of null vectors are
    memory that nobody touches: eight of them count as one.

    `columns` limits the columns of a result or a statement.
    """

    __slots__ = ("columns", "decimal_bytes", "null_cells")

    decimal_bytes: int
    null_cells: int
    columns: int

    def __init__(self) -> None:
        self.decimal_bytes = 1 << 16
        self.null_cells = 1 << 24
        self.columns = 1 << 16

    def __setattr__(self, name: str, value: object) -> None:
        """Set a limit.

        :raises TypeError: if `value` is not an int.
        :raises ValueError: if `value` is negative.
        """
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} is {value!r} ({type(value).__name__}); it has to be an int")
        if value < 0:
            raise ValueError(f"{name} is {value}; a limit is not negative")
        # Compiled code reads the limits as 64 bits with a sign.
        super().__setattr__(name, min(value, _MOST))

    def __repr__(self) -> str:
        return f"<Limits: {', '.join(f'{name}={getattr(self, name)}' for name in self.__slots__)}>"


limits = Limits()


class TooManyNulls(DecodeError):
    """The nulls of a page stand for too many cells."""


class NullCells(local):
    """Counts the cells that nulls stand for, page by page, for each thread by itself.

    Code that runs while a page is read, and may read others, is followed by `resume`.
    """

    def __init__(self) -> None:
        self.spent = 0

    def begin(self) -> int:
        """Begin another page. Returns the count of the page before, for `resume`."""
        before = self.spent
        self.spent = 0
        return before

    def resume(self, spent: int) -> None:
        """Go on with a page.

        :param spent: the count.
        """
        self.spent = spent

    def charge(self, count: int, name: str) -> None:
        """Count so many more cells, of the CQL type `name`.

        :param count: how many cells.
        :param name: the name of the type, for the error.
        :raises DecodeError: if one page has more than `limits.null_cells`.
        """
        self.spent += count
        if self.spent > limits.null_cells:
            raise too_many_nulls(name)


def too_many_nulls(name: str) -> TooManyNulls:
    """Return the error for a page whose nulls stand for too many cells, the last of type `name`."""
    return TooManyNulls(
        f"{name}: nulls stand for more cells in one page than limits.null_cells "
        f"({limits.null_cells}) allows (see cassandra.limits)"
    )
