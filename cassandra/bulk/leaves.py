"""Finds the values of one CQL type in columns and rows, whatever they are wrapped in.

The values of a date column may be inside Arrow's dictionaries and runs, among Python objects, or in
the elements and fields of a collection, a tuple or a user-defined type. The checks of a load for
dates and numbers look at these values, which are the leaves of the column's value.

A column is an Arrow array, a pandas Series, a NumPy array, or any other sequence of objects. Its
leaves are arrays and Series of a single type, which are checked at once, and lists of objects.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from types import NoneType
from typing import Any

from cassandra.cqltypes.containers import ListType, MapType, SetType, TupleType, VectorType
from cassandra.cqltypes.udt import UserType
from cassandra.protocol.columnar.arrow_cells import bounds
from cassandra.query.tables.arrow_values import plain_array, values_of_runs
from cassandra.query.tables.rows import is_array
from cassandra.query.tables.types import (
    bare,
    container_of,
    dtype_kind,
    element_of,
    positions_in_tuple,
)

Leaves = Callable[[Any], Iterable[Any]]

_LISTS = (ListType, SetType, VectorType)
_DATES = {datetime.date, NoneType}


def has_leaf(cql_type: Any, type_name: str) -> bool:
    """Return True if a CQL type is the type of this name, or contains it.

    :param type_name: the name of a type without parameters, such as "date".
    """
    cql_type = bare(cql_type)
    base = container_of(cql_type)
    if base is None:
        return bool(cql_type.typename == type_name)
    inner_types = [element_of(cql_type)] if base in _LISTS else cql_type.subtypes
    return any(has_leaf(inner_type, type_name) for inner_type in inner_types)


def are_dates(values: Collection[Any]) -> bool:
    """Return True if all objects are a `datetime.date` or None; False for a datetime."""
    return {*map(type, values)} <= _DATES


def described(cql_type: Any, type_name: str) -> str:
    """Return how messages describe a column by the type of its leaves, such as "is a date".

    :param cql_type: the CQL type of the column.
    :param type_name: the name of the CQL type of the leaves.
    """
    is_leaf = container_of(bare(cql_type)) is None
    return f"is a {type_name}" if is_leaf else f"has values of type {type_name}"


def leaves_of(cql_type: Any, type_name: str) -> Leaves | None:
    """Return a function that yields the leaves of a Python value.

    The function ignores parts that do not fit the CQL type, and objects that raise an error:
    binding refuses them.

    :param cql_type: the CQL type of the value.
    :param type_name: the name of the CQL type of the leaves.
    :returns: None if the type does not contain this type.
    """
    leaves = _leaves_of(cql_type, type_name)
    if leaves is None or container_of(bare(cql_type)) is None:
        return leaves

    def find(value: Any) -> Iterable[Any]:
        found: list[Any] = []
        # We use ``try`` and not ``contextlib.suppress``, because this runs for each row of a load.
        try:
            found.extend(leaves(value))
        except Exception:  # objects of the application may raise anything
            return found  # the leaves before the error
        return found

    return find


def _leaves_of(cql_type: Any, type_name: str) -> Leaves | None:
    """Return the function of `leaves_of`, which raises the errors of objects."""
    cql_type = bare(cql_type)
    if not has_leaf(cql_type, type_name):
        return None
    base = container_of(cql_type)
    if base is None:
        return lambda value: (value,)
    if base in _LISTS:
        return _leaves_of_lists(element_of(cql_type), type_name)
    inner = [_leaves_of(subtype, type_name) for subtype in cql_type.subtypes]
    if base is MapType:
        return _leaves_of_maps(*inner)
    return _leaves_of_fields(getattr(cql_type, "fieldnames", None), inner)


def _leaves_of_lists(element: Any, type_name: str) -> Leaves:
    """Return the function of `_leaves_of` for lists, sets and vectors."""
    is_leaf = container_of(bare(element)) is None
    leaves = _leaves_of(element, type_name)
    assert leaves is not None

    def find(value: Any) -> Iterable[Any]:
        if is_array(value):
            return chain.from_iterable(map(_items, leaf_columns(element, value, type_name)))
        # Do not read other iterables, because some can be read only once.
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Collection):
            return ()
        return value if is_leaf else chain.from_iterable(map(leaves, value))

    return find


def _leaves_of_maps(key_leaves: Leaves | None, item_leaves: Leaves | None) -> Leaves:
    """Return the function of `_leaves_of` for maps."""

    def find(value: Any) -> Iterable[Any]:
        # A map may be a list of pairs.
        pairs = value.items() if hasattr(value, "items") else value
        if not isinstance(pairs, Collection) or isinstance(pairs, (str, bytes)):
            return
        for pair in pairs:
            if isinstance(pair, tuple) and len(pair) == 2:
                if key_leaves is not None:
                    yield from key_leaves(pair[0])
                if item_leaves is not None:
                    yield from item_leaves(pair[1])

    return find


def _leaves_of_fields(field_names: Any, inner: list[Leaves | None]) -> Leaves:
    """Return the function of `_leaves_of` for tuples and user-defined types.

    :param field_names: the names of the fields of a user-defined type; None for a tuple.
    :param inner: for each field, the function that yields its leaves.
    """
    names = [""] * len(inner) if field_names is None else field_names
    fields = [
        (name, index, leaves)
        for index, (name, leaves) in enumerate(zip(names, inner, strict=True))
        if leaves is not None
    ]

    def find(value: Any) -> Iterable[Any]:
        if value is None or isinstance(value, (str, bytes)):
            return
        if field_names is None and isinstance(value, Mapping):
            positions = positions_in_tuple(tuple(value), len(inner))
            items = list(value.values())
            value = items if positions is None else _at(items, positions)
        for name, index, leaves in fields:
            yield from leaves(value_in_row(value, name, index))

    return find


def _at(items: list[Any], positions: Iterable[int | None]) -> list[Any]:
    """Return the items at some positions; None for the position None."""
    return [None if position is None else items[position] for position in positions]


def _items(leaves: Any) -> Iterable[Any]:
    """Return the values of leaves, which may be an array, as Python objects."""
    # NumPy would convert dates to ints, which would look like numbers.
    if hasattr(leaves, "tolist") and dtype_kind(leaves) not in ("m", "M"):
        leaves = leaves.tolist()
    values: Iterable[Any] = leaves
    return values


def value_in_row(row: Any, name: str, index: int) -> object:
    """Return the value that a row of the application has for a column; None if the row lacks it.

    :param row: a tuple, list, mapping by column name, or object with attributes.
    :param name: the name of the column.
    :param index: the position of the column's value in a tuple or list.
    """
    # We use ``try`` and not ``contextlib.suppress``, because this runs for each row of a load.
    try:
        if isinstance(row, (tuple, list)):
            return row[index]
        if isinstance(row, Mapping):
            return row.get(name)
        return getattr(row, name, None)
    except Exception:
        # User code may raise anything, and a row may lack the value. Ignore the error here:
        # binding the row reports it.
        return None


# -- columns ---------------------------------------------------------------------------------------


def leaf_columns(cql_type: Any, column: Any, type_name: str) -> Iterator[Any]:
    """Yield the leaves of a column.

    :param cql_type: the CQL type of the column's values.
    :param column: an array or a chunked array of pyarrow, a pandas Series, an array of NumPy, or
        any other sequence of objects.
    :param type_name: the name of the CQL type of the leaves.
    :returns: arrays of pyarrow without dictionaries and runs, Series and arrays of NumPy that do
        not have objects, and iterators of objects.
    """
    if not has_leaf(cql_type, type_name):
        return
    dtype = getattr(column, "dtype", None)
    if hasattr(column, "to_pylist"):
        # An empty table may have no chunks, but its type counts. For some types, pyarrow's
        # `combine_chunks` cannot make an empty array.
        chunks = getattr(column, "chunks", [column])
        for chunk in chunks or [sys.modules["pyarrow"].nulls(0, column.type)]:
            yield from _arrow_leaves(cql_type, chunk, type_name)
    elif hasattr(dtype, "pyarrow_dtype"):
        values = getattr(column, "array", column).__arrow_array__()
        yield from leaf_columns(cql_type, values, type_name)
    elif hasattr(dtype, "fill_value"):
        dense_column = getattr(column, "sparse", column).to_dense()
        yield from leaf_columns(cql_type, dense_column, type_name)
    elif is_array(column) and dtype_kind(column) not in ("", "O"):
        yield from _array_leaves(cql_type, column, type_name)
    else:
        leaves = leaves_of(cql_type, type_name)
        assert leaves is not None
        if hasattr(column, "compressed"):  # a masked array, whose masked items are arbitrary
            column = column.compressed()
        elif getattr(column, "ndim", 1) > 1:
            column = list(column)
        yield chain.from_iterable(map(leaves, column))


def _array_leaves(cql_type: Any, array: Any, type_name: str) -> Iterator[Any]:
    """Yield the leaves of a typed array of NumPy, or of a Series or array of pandas."""
    cql_type = bare(cql_type)
    base = container_of(cql_type)
    names = getattr(array.dtype, "names", None)
    if array.ndim > 1:
        # Each row of the array is a list.
        if base in _LISTS:
            rows = array.reshape((-1, *array.shape[2:]))
            yield from _array_leaves(element_of(cql_type), rows, type_name)
    elif base is None:
        if cql_type.typename == type_name:
            yield array
    elif names is not None and base in (TupleType, UserType):
        for name, subtype in _types_of_fields(cql_type, names):
            yield from leaf_columns(subtype, array[name], type_name)


def _types_of_fields(cql_type: Any, names: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (name, CQL type) for each field of a struct or record that has a CQL field.

    :param cql_type: a tuple or a user-defined type.
    :param names: the names of the fields in the table.
    """
    field_names = getattr(cql_type, "fieldnames", None)
    if field_names is not None:
        for name, subtype in zip(field_names, cql_type.subtypes, strict=True):
            if name in names:
                yield name, subtype
        return
    positions = positions_in_tuple(tuple(names), len(cql_type.subtypes)) or range(len(names))
    for position, subtype in zip(positions, cql_type.subtypes, strict=False):
        if position is not None:
            yield names[position], subtype


def _without_runs(array: Any) -> Any:
    """Return an array of pyarrow as `plain_array` does, with the value of each run once."""
    array = plain_array(array)
    while hasattr(array, "run_ends"):
        array = plain_array(values_of_runs(array))
    return array


def _arrow_leaves(cql_type: Any, array: Any, type_name: str) -> Iterator[Any]:
    """Yield the leaves of an array of pyarrow."""
    if not has_leaf(cql_type, type_name):
        return
    cql_type = bare(cql_type)
    base = container_of(cql_type)
    array = _without_runs(array)
    name = type(array).__name__
    if base is None:
        yield array
        return
    if base is MapType and name == "MapArray":
        first, ends = bounds(array)
        for subtype, child in zip(cql_type.subtypes, (array.keys, array.items), strict=True):
            yield from _arrow_leaves(subtype, child.slice(first, ends[-1]), type_name)
    elif base is MapType and "List" in name:
        structs = _without_runs(array.flatten())
        if type(structs).__name__ == "StructArray" and structs.type.num_fields == 2:
            for subtype, child in zip(cql_type.subtypes, structs.flatten(), strict=True):
                yield from _arrow_leaves(subtype, child, type_name)
    elif base in _LISTS and "List" in name:
        yield from _arrow_leaves(element_of(cql_type), array.flatten(), type_name)
    elif base in (TupleType, UserType) and name == "StructArray":
        names = [field.name for field in array.type]
        children = dict(zip(names, array.flatten(), strict=True))
        for field_name, subtype in _types_of_fields(cql_type, names):
            yield from _arrow_leaves(subtype, children[field_name], type_name)
