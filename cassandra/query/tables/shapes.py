"""Protocols of the attributes that the driver reads from NumPy and pandas objects.

The driver accepts any object with these attributes, so it need not import NumPy or pandas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import Self

    from cassandra.query.tables.types import CqlType


class Column(Protocol):
    """A bind marker: its name and the CQL type of its values."""

    @property
    def name(self) -> str:
        """The column's name."""

    @property
    def type(self) -> CqlType:
        """The CQL type of the values, a class of `cassandra.cqltypes`."""


# We use protocols because mypy would need NumPy and pandas for annotations with their classes.
class Array(Protocol):
    """A NumPy array, which may be structured or masked."""

    @property
    def dtype(self) -> Any:
        """The type of its elements."""

    @property
    def ndim(self) -> int:
        """The number of dimensions."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements in each dimension."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __getitem__(self, key: Any, /) -> Any: ...

    def astype(self, dtype: Any, /) -> Any:
        """Return the values converted to another NumPy type."""

    def copy(self) -> Self:
        """Return a copy that the application has no reference to."""

    def tolist(self) -> list[Any]:
        """Return the elements as Python objects."""


class Series(Protocol):
    """A pandas Series."""

    @property
    def array(self) -> Any:
        """The values as an array of pandas, such as `ArrowExtensionArray`."""

    @property
    def dt(self) -> Any:
        """The pandas operations for dates and times."""

    @property
    def dtype(self) -> Any:
        """The type of its values."""

    def isna(self) -> Any:
        """Return a mask that is True for each missing value."""

    def to_numpy(self) -> Array:
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

    def copy(self) -> Self:
        """Return a copy that the application has no reference to."""
