"""Row factories, which decide the form of a result's rows.

A factory is called as ``factory(column_names, rows)`` with a sequence of tuples, and returns the
rows for the caller. The decoder knows the four factories of this module by their attribute
`row_plan_method`, and builds their rows straight from the bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex, TypeVar

import cassandra._impl as implementations

Rows = Iterable[Sequence[Any]]
_Factory = TypeVar("_Factory", bound=Callable[..., Any])
_Tuples = TypeVar("_Tuples")


def _decoded_by(method: str) -> Callable[[_Factory], _Factory]:
    """Mark a factory, so that the decoder builds its rows with the `RowPlan` method `method`."""

    def mark(factory: _Factory) -> _Factory:
        # functools.wraps copies the attribute to an application's wrapper, but the decoder must
        # call the wrapper. So the attribute also contains the function to which it belongs.
        factory.row_plan_method = (method, factory)  # type: ignore[attr-defined]
        factory.__module__ = "cassandra.query"
        return factory

    return mark


def rows_of_page(page: Any) -> Any:
    """Return the result of a row factory for a page as rows.

    A list is returned unchanged, so callers may skip the call for a list.

    :param page: the result of the factory, usually a list. A mapping, such as rows by key, counts
        as a single row, as in cassandra-driver, because iterating over it would lose its values. A
        factory that returns None has used the rows itself, so no rows are left.
    """
    if page is None:
        return []
    if isinstance(page, Mapping):
        return [page] if page else []
    return page


@_decoded_by("tuples")
def tuple_factory(colnames: Sequence[str], rows: _Tuples) -> _Tuples:
    """Return each row as a tuple.

    :param colnames: the names of the columns, in order.
    :param rows: an iterable of tuples of values.
    """
    return rows


@_decoded_by("named_tuples")
def named_tuple_factory(colnames: Sequence[str], rows: Rows) -> list[Any]:
    """Return each row as a named tuple; this is the default.

    A column name that is not a valid attribute name is cleaned: ``count(*)`` becomes ``count``. If
    the cleaned name is not valid either, the field is named ``field_N_``, where N is its position
    from 0. A repeated name gets an underscore: ``a``, ``a_``. The class is created once for each
    list of column names.

    :param colnames: the names of the columns, in order.
    :param rows: an iterable of tuples of values.
    """
    named_tuples: list[Any] = implementations.rows.named_tuples_of(colnames, rows)
    return named_tuples


@_decoded_by("dicts")
def dict_factory(colnames: Sequence[str], rows: Rows) -> list[dict[str, Any]]:
    """Return each row as a dict by column name.

    :param colnames: the names of the columns, in order.
    :param rows: an iterable of tuples of values.
    """
    dicts: list[dict[str, Any]] = implementations.rows.dicts_of(colnames, rows)
    return dicts


@_decoded_by("ordered_dicts")
def ordered_dict_factory(colnames: Sequence[str], rows: Rows) -> list[OrderedDict[str, Any]]:
    """Return each row as an `OrderedDict` by column name, in column order.

    :param colnames: the names of the columns, in order.
    :param rows: an iterable of tuples of values.
    """
    return [OrderedDict(zip(colnames, row, strict=True)) for row in rows]


class PseudoNamedTupleRow:
    """A row that wraps an `OrderedDict`, with the columns as attributes.

    It is meant for rows with too many columns for a named tuple.

    :param ordered_dict: the values by column name, in order.
    """

    def __init__(self, ordered_dict: OrderedDict[str, Any]) -> None:
        self._dict = ordered_dict
        self._tuple = tuple(ordered_dict.values())

    def __getattr__(self, name: str) -> Any:
        try:
            # Read through __dict__: copy and pickle read attributes before `_dict` exists, and
            # `self._dict` would then call this method again in an endless recursion.
            return self.__dict__["_dict"][name]
        except KeyError:
            raise AttributeError(f"the row has no column {name!r}") from None

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        return self._tuple[index]

    def __iter__(self) -> Iterator[Any]:
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
    """Return each row as a `PseudoNamedTupleRow`.

    :param colnames: the names of the columns, in order.
    :param rows: an iterable of tuples of values.
    """
    return [PseudoNamedTupleRow(row) for row in ordered_dict_factory(colnames, rows)]


pseudo_namedtuple_factory.__module__ = "cassandra.query"
