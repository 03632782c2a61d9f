"""Row factories: how the rows of a result look.

A factory is called as ``factory(column_names, rows)`` with a sequence of tuples and gives the rows
that the caller sees. The four of this module are known to the decoder (`row_plan_method`), which
then makes their rows straight from the bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from cassandra.protocol.rowclass import row_class

Rows = Iterable[Sequence[Any]]
_Factory = TypeVar("_Factory", bound=Callable[..., Any])


def _decoded_by(method: str) -> Callable[[_Factory], _Factory]:
    """Mark a factory as one whose rows the named method of `RowPlan` makes."""

    def mark(factory: _Factory) -> _Factory:
        # The function itself is part of the mark: functools.wraps copies attributes on to wrappers.
        factory.row_plan_method = (method, factory)  # type: ignore[attr-defined]
        factory.__module__ = "cassandra.query"
        return factory

    return mark


@_decoded_by("tuples")
def tuple_factory(colnames: Sequence[str], rows: Any) -> Any:
    """Each row as a tuple."""
    return rows


@_decoded_by("named_tuples")
def named_tuple_factory(colnames: Sequence[str], rows: Rows) -> list[Any]:
    """Each row as a named tuple, the default.

    Names that are no attribute names are cleaned (``count(*)`` is ``count``); one that cannot be,
    and one that comes twice, is ``_N`` by its position. The class is made once for each list of
    column names.
    """
    make = row_class(tuple(colnames))._make
    return [make(row) for row in rows]


@_decoded_by("dicts")
def dict_factory(colnames: Sequence[str], rows: Rows) -> list[dict[str, Any]]:
    """Each row as a dict by column name."""
    return [dict(zip(colnames, row, strict=True)) for row in rows]


@_decoded_by("ordered_dicts")
def ordered_dict_factory(colnames: Sequence[str], rows: Rows) -> list[OrderedDict[str, Any]]:
    """Each row as an `OrderedDict` by column name, in column order."""
    return [OrderedDict(zip(colnames, row, strict=True)) for row in rows]


class PseudoNamedTupleRow:
    """A row over an `OrderedDict` with the fields as attributes; for rows of more columns than suit
    a named tuple.
    """

    def __init__(self, ordered_dict: OrderedDict[str, Any]) -> None:
        self._dict = ordered_dict
        self._tuple = tuple(ordered_dict.values())

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_dict"][name]
        except KeyError:
            raise AttributeError(f"the row has no column {name!r}") from None

    def __getitem__(self, index: Any) -> Any:
        return self._tuple[index]

    def __iter__(self) -> Any:
        return iter(self._tuple)

    def __len__(self) -> int:
        return len(self._tuple)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PseudoNamedTupleRow):
            return self._dict == other._dict
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._tuple)

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{key}={value!r}' for key, value in self._dict.items())})"


PseudoNamedTupleRow.__module__ = "cassandra.query"


def pseudo_namedtuple_factory(colnames: Sequence[str], rows: Rows) -> list[PseudoNamedTupleRow]:
    """Each row as a `PseudoNamedTupleRow`."""
    return [PseudoNamedTupleRow(row) for row in ordered_dict_factory(colnames, rows)]


pseudo_namedtuple_factory.__module__ = "cassandra.query"
