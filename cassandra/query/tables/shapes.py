"""The parts of other libraries' arrays and tables that rows are read from.

None of these libraries is imported for it: an object that has the attributes will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

__all__ = ["Array", "ArrowArray", "Column", "Frame", "Series"]


class Column(Protocol):
    """A bind marker: its name, and the CQL type that values are made for."""

    @property
    def name(self) -> str:
        """The column's name."""

    @property
    def type(self) -> Any:
        """A class of `cassandra.cqltypes`."""


class Array(Protocol):
    """A NumPy array, also a structured or masked one."""

    @property
    def dtype(self) -> Any:
        """The type of its elements."""

    @property
    def ndim(self) -> int:
        """Number of dimensions."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length in each dimension."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __getitem__(self, key: Any, /) -> Any: ...

    def astype(self, dtype: Any, /) -> Any:
        """Return the same values as another type."""

    def copy(self) -> Any:
        """Return a copy that the program does not hold."""

    def tolist(self) -> Any:
        """Return the elements as Python objects."""


class Series(Protocol):
    """A column of pandas."""

    @property
    def array(self) -> Any:
        """The values in pandas' own array class."""

    @property
    def dt(self) -> Any:
        """The operations that pandas has for moments."""

    @property
    def dtype(self) -> Any:
        """The type of its values."""

    def isna(self) -> Any:
        """Return a mask of the missing values."""

    def to_numpy(self) -> Any:
        """Return the values as a NumPy array."""

    def tolist(self) -> list[Any]:
        """Return the values as Python objects."""


class Frame(Protocol):
    """A pandas DataFrame."""

    @property
    def columns(self) -> Iterable[Any]:
        """The names of the columns."""

    def __len__(self) -> int: ...

    def __getitem__(self, name: Any, /) -> Any: ...

    def copy(self) -> Any:
        """Return a copy that the program does not hold."""


class ArrowArray(Protocol):
    """An array of pyarrow, of any class; each class has only some of these attributes."""

    @property
    def type(self) -> Any:
        """The Arrow type."""

    @property
    def null_count(self) -> int:
        """Number of nulls."""

    @property
    def offset(self) -> int:
        """Elements of the buffers before the first one of this array."""

    @property
    def keys(self) -> ArrowArray:
        """Keys of an array of maps, for all of them."""

    @property
    def items(self) -> ArrowArray:
        """Values of an array of maps, for all of them."""

    @property
    def values(self) -> ArrowArray:
        """Elements of an array of lists, for all of them."""

    @property
    def offsets(self) -> ArrowArray:
        """The first element of each list or map."""

    @property
    def storage(self) -> ArrowArray:
        """The array under an extension type."""

    def __len__(self) -> int: ...

    def buffers(self) -> Sequence[Any]:
        """Return the memory of the array."""

    def cast(self, kind: str, /) -> ArrowArray:
        """Return the same values as another Arrow type."""

    def dictionary_decode(self) -> ArrowArray:
        """Return the values that a dictionary array refers to."""

    def field(self, key: int | str, /) -> ArrowArray:
        """Return one field of an array of structs."""

    def is_valid(self) -> ArrowArray:
        """Return a mask of the values that are not null."""

    def slice(self, start: int, size: int, /) -> ArrowArray:
        """Return a part that shares the memory."""

    def to_pandas(self, **options: Any) -> Any:
        """Return a column of pandas."""

    def to_pylist(self) -> list[Any]:
        """Return the values as Python objects."""
