"""What one answer or value may cost; a program may change each of these at any time, for the whole
process.

    from cassandra.limits import limits

    limits.decimal_bytes = 1_000_000

What goes beyond a limit is an error that names it: `cassandra.errors.DecodeError` in an answer,
ValueError in a bound value, `cassandra.errors.ProtocolError` in what a server says of its columns.
"""

from __future__ import annotations

from cassandra.errors import DecodeError

__all__ = ["Limits", "NullCells", "limits"]

_MOST = (1 << 63) - 1


class Limits:
    """The limits of a process; see `limits`.

    decimal_bytes: of the digits of a decimal, and of a varint that becomes text. The time that a
    number takes between its binary and its decimal form grows faster than its size: some 35 ms for
    64 KiB, 0.7 s to read and 2 s to write for 1 MB.

    null_cells: for how many cells nulls may stand in one page. A null vector takes the place of all
    its elements in a column of Arrow, and a tuple or user-defined type that ends early has None for
    each field that it lacks: a page of few bytes may say so of very many. Of the numbers of null
    vectors, which are memory that nobody touches, eight count as one.

    columns: of a result or a statement.
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

        :raises TypeError: `value` is no int.
        :raises ValueError: `value` is negative.
        """
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} is {value!r} ({type(value).__name__}); it has to be an int")
        if value < 0:
            raise ValueError(f"{name} is {value}; a limit is not negative")
        super().__setattr__(name, min(value, _MOST))

    def __repr__(self) -> str:
        return f"<Limits: {', '.join(f'{name}={getattr(self, name)}' for name in self.__slots__)}>"


limits = Limits()


class NullCells:
    """Counts the cells that nulls stand for, page by page. Two threads that count at once both get
    more than their share, never less.
    """

    __slots__ = ("before", "spent")

    def __init__(self) -> None:
        self.spent = self.before = 0

    def begin(self) -> None:
        """Another page."""
        self.before = self.spent

    def charge(self, count: int, name: str) -> None:
        """So many more, of the CQL type `name`.

        :raises DecodeError: they are more than `limits.null_cells` in one page.
        """
        self.spent += count
        if self.spent - self.before > limits.null_cells:
            raise too_many_nulls(name)


def too_many_nulls(name: str) -> DecodeError:
    """The error of a page whose nulls, of the CQL type `name` at last, stand for too many cells."""
    return DecodeError(
        f"{name}: nulls stand for more cells in one page than limits.null_cells ({limits.null_cells}) allows (see cassandra.limits)"
    )
