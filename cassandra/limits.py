"""Limits on the cost of a response or value. You may change them at any time.

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

_MOST = (1 << 63) - 1


class Limits:
    """The limits of a process; see `limits`.

    `decimal_bytes` limits the digits of a decimal, and of a varint that is converted to a string.
    The time to convert a number between binary and decimal grows faster than its size: 64 KiB take
    some 35 ms, but 1 MB takes 0.7 s to read and 2 s to write.

    `null_cells` limits the cells that nulls represent in one page. In an Arrow column, a null
    vector occupies space for all its elements. A tuple or user-defined type that ends early has
    None for each missing field. A page of few bytes may therefore expand to very many cells. The
    elements of null vectors of numbers are memory that is never touched, so eight of them count as
    one.

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
        # Compiled code reads the limits as signed 64-bit numbers.
        super().__setattr__(name, min(value, _MOST))

    def __repr__(self) -> str:
        return f"<Limits: {', '.join(f'{name}={getattr(self, name)}' for name in self.__slots__)}>"


limits = Limits()


class TooManyNulls(DecodeError):
    """The nulls of a page represent too many cells."""


class NullCells(local):
    """Counts the cells that nulls represent, per page and per thread.

    If code that runs while a page is read may read other pages, call `resume` after it.
    """

    def __init__(self) -> None:
        self.spent = 0

    def begin(self) -> int:
        """Start another page. Return the count of the previous page, for `resume`."""
        before = self.spent
        self.spent = 0
        return before

    def resume(self, spent: int) -> None:
        """Continue with a page.

        :param spent: the count that `begin` returned.
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
    """Return the error for a page whose nulls represent too many cells, the last of type `name`."""
    return TooManyNulls(
        f"{name}: nulls stand for more cells in one page than limits.null_cells "
        f"({limits.null_cells}) allows (see cassandra.limits)"
    )
