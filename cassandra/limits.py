"""Limits on the time and memory that a response or a value may need.

You may change the limits at any time:

    from cassandra.limits import limits

    limits.decimal_bytes = 1_000_000

The limits apply to the whole process. A value beyond a limit raises an error that names the limit:
a `cassandra.errors.DecodeError` in a response, a ValueError for a bound value, and a
`cassandra.errors.ProtocolError` in a server's column metadata.
"""

from __future__ import annotations

from threading import local

from cassandra.errors import DecodeError

__all__ = ["Limits", "NullCells", "limits"]

# The greatest value that a limit can have, because compiled code stores limits in signed 64 bits.
_MOST = (1 << 63) - 1


class Limits:
    """The limits of a process; see `limits`.

    `decimal_bytes` limits the size in bytes of a decimal, and of a varint that is converted to a
    string. The time to convert a number between binary and decimal grows faster than its size. A
    number of 64 KiB takes about 35 ms, but a number of 1 MB takes 0.7 s to read and 2 s to write.

    `null_cells` limits how many cells may be created for nulls in one page. In an Arrow column, a
    null vector needs space for all its elements. A tuple or user-defined type whose bytes end early
    gets None for each missing field. A page with few bytes may therefore need very many cells. For
    null vectors of numbers, eight elements count as one cell, because their memory is never
    written.

    `columns` limits the number of columns of a result or a statement.
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
        # Use at most `_MOST`, because compiled code reads the limits as signed 64-bit numbers.
        super().__setattr__(name, min(value, _MOST))

    def __repr__(self) -> str:
        return f"<Limits: {', '.join(f'{name}={getattr(self, name)}' for name in self.__slots__)}>"


limits = Limits()  # the only object of the class, which all modules read


class TooManyNulls(DecodeError):
    """A page needs more cells for nulls than `limits.null_cells` allows."""


class NullCells(local):
    """Counts, for each thread, the cells that are created for nulls while it reads a page.

    While a page is read, user code may run that reads another page. Call `resume` after such code.
    """

    def __init__(self) -> None:
        self.spent = 0

    def begin(self) -> int:
        """Start to count for a page. Return the count of the previous page, for `resume`."""
        before = self.spent
        self.spent = 0
        return before

    def resume(self, spent: int) -> None:
        """Continue the count of a page, after another page was read in the meantime.

        :param spent: the number of cells that were counted for this page so far. `begin` returned
            this number when it was called for the other page.
        """
        self.spent = spent

    def charge(self, count: int, name: str) -> None:
        """Add cells of the CQL type `name` to the count.

        :param count: the number of cells.
        :param name: the name of the type, for the error.
        :raises DecodeError: if the page has more than `limits.null_cells`.
        """
        self.spent += count
        if self.spent > limits.null_cells:
            raise too_many_nulls(name)


def too_many_nulls(name: str) -> TooManyNulls:
    """Return the error for a page that needs too many cells for nulls.

    :param name: the type of the null at which the limit was exceeded.
    """
    return TooManyNulls(
        f"{name}: nulls stand for more cells in one page than limits.null_cells "
        f"({limits.null_cells}) allows (see cassandra.limits)"
    )
