"""Marks values of tables that binding must refuse, although their Python objects could be bound.

Rows of the application are bound as in cassandra-driver: a dict becomes a list of its keys, and
True becomes a time of one nanosecond. In a table, such values come from a column of the wrong type:
a struct for a list would lose its values, and a boolean is not a time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, ItemsView, Iterable, Mapping
from functools import cache
from itertools import chain
from types import NoneType
from typing import Any

from cassandra.cqltypes.containers import ListType, MapType, SetType, TupleType, VectorType
from cassandra.cqltypes.udt import UserType
from cassandra.query.tables.types import (
    Convert,
    CqlType,
    bare,
    container_of,
    dtype_kind,
    element_of,
    kind_of,
    map_maker,
    positions_in_tuple,
)


class Unfit:
    """A value that every codec refuses.

    :param value: the value, which error messages show.
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        return repr(self._value)


class _UnfitMapping(Unfit):
    """A mapping that codecs refuse; a file of failed rows gets its items."""

    __slots__ = ()

    def items(self) -> ItemsView[Any, Any]:
        """Return the items of the mapping."""
        items: ItemsView[Any, Any] = self._value.items()
        return items


def unfit(value: Any) -> Unfit:
    """Return an object that codecs refuse in place of a value.

    Error messages show the value and the name of its class.
    """
    base = _UnfitMapping if isinstance(value, Mapping) else Unfit
    return _class_of(type(value).__name__, base)(value)


@cache
def _class_of(name: str, base: type[Unfit]) -> type[Unfit]:
    """Return a subclass of `base` with this name, because error messages show a value's class."""
    return type(name, (base,), {"__slots__": ()})


def marker_of_unfit(cqltype: CqlType) -> Convert | None:
    """Return a function that replaces the unfit parts of a table's value by `Unfit` objects.

    These are mappings in place of lists and sets, and booleans in place of times. The function
    takes a value in the form in which it is bound, and returns it unchanged if all parts fit.

    :param cqltype: the CQL type of the value.
    :returns: None if no value of the type can have such a part.
    """
    cqltype = bare(cqltype)
    base = container_of(cqltype)
    if base is not None:
        return _MARKERS[base](cqltype)
    return _without_booleans if kind_of(cqltype) == "time" else None


def may_be_unfit(values: Iterable[Any], cqltype: CqlType) -> bool:
    """Return False if no value has an unfit part, which is quick to find out for most columns.

    :param values: the values of a column, in the form in which they are bound.
    :param cqltype: the CQL type of the column, which `marker_of_unfit` has a function for.
    """
    cqltype = bare(cqltype)
    base = container_of(cqltype)
    classes = {*map(type, values)}
    if base is None:
        return any(issubclass(cls, bool) or cls.__name__ in _NUMPY_BOOLEANS for cls in classes)
    parts = _parts_of(values, classes - {NoneType}, cqltype)
    if parts is None:
        return True
    return any(
        marker_of_unfit(subtype) is not None and may_be_unfit([*part], subtype)
        for part, subtype in parts
    )


def _parts_of(
    values: Iterable[Any], classes: set[type], cqltype: CqlType
) -> list[tuple[Iterable[Any], CqlType]] | None:
    """Return all elements, keys or fields of the values of a column, by their CQL type.

    :param values: the values of a list, set, vector, map, tuple or user-defined type.
    :param classes: the classes of the values that are not None.
    :param cqltype: the CQL type of the values.
    :returns: None if the values are of classes, or of lengths, whose parts are not known.
    """
    base = container_of(cqltype)
    present = [value for value in values if value is not None]
    if base in (ListType, SetType, VectorType):
        if not classes <= _LIST_CLASSES:
            return None
        return [(chain.from_iterable(present), element_of(cqltype))]
    subtypes = cqltype.subtypes
    if classes == {dict} and base is MapType:
        items = chain.from_iterable(map(dict.values, present))
        return [(chain.from_iterable(present), subtypes[0]), (items, subtypes[1])]
    if classes == {dict} and base is UserType:
        names = cqltype.fieldnames
        return [
            (map(operator.methodcaller("get", name), present), subtype)
            for name, subtype in zip(names, subtypes, strict=True)
        ]
    if base is MapType or not classes <= _LIST_CLASSES or {*map(len, present)} != {len(subtypes)}:
        return None
    return [
        (map(operator.itemgetter(index), present), subtype)
        for index, subtype in enumerate(subtypes)
    ]


def type_may_be_unfit(arrow_type: Any, cqltype: CqlType) -> bool:
    """Return False if no value of an Arrow type has an unfit part for a CQL type.

    :param arrow_type: the type of an array of pyarrow.
    :param cqltype: the CQL type of the column.
    """
    cqltype = bare(cqltype)
    if marker_of_unfit(cqltype) is None:
        return False
    # The kind of an Arrow type is the beginning of its name: "list<item: int32>" is a list.
    kind = str(arrow_type).partition("<")[0].partition("[")[0]
    if kind in ("dictionary", "run_end_encoded"):
        return type_may_be_unfit(arrow_type.value_type, cqltype)
    base = container_of(cqltype)
    if base is None:
        return kind not in _ARROW_TIMES
    if base in (ListType, SetType, VectorType):
        return kind not in _ARROW_LISTS or type_may_be_unfit(
            arrow_type.value_type, element_of(cqltype)
        )
    if base is MapType:
        inner = [arrow_type.key_type, arrow_type.item_type] if kind == "map" else None
    elif kind == "struct" and arrow_type.num_fields == len(cqltype.subtypes):
        fields = [arrow_type.field(index) for index in range(arrow_type.num_fields)]
        names = tuple(field.name for field in fields)
        if base is UserType:
            is_in_order = names == tuple(cqltype.fieldnames)
        else:
            is_in_order = positions_in_tuple(names, len(names)) in (None, tuple(range(len(names))))
        inner = [field.type for field in fields] if is_in_order else None
    else:
        inner = None
    return inner is None or any(map(type_may_be_unfit, inner, cqltype.subtypes))


_ARROW_TIMES = frozenset(
    {"time32", "time64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "null"}
)
_ARROW_LISTS = frozenset({"list", "large_list", "fixed_size_list", "list_view", "large_list_view"})

# The classes of values whose elements `may_be_unfit` checks.
_LIST_CLASSES = frozenset({list, tuple})
_NUMPY_BOOLEANS = ("bool", "bool_")  # NumPy 2 and NumPy 1


def _without_booleans(value: Any) -> Any:
    """Mark a boolean of Python or NumPy."""
    return unfit(value) if isinstance(value, bool) or dtype_kind(value) == "b" else value


def _marker_of_lists(cqltype: CqlType) -> Convert:
    """Return the function for a list or a set."""
    mark_elements = _marker_of_vectors(cqltype)

    def mark(value: Any) -> Any:
        # Most values are lists, for which the second check would be slow.
        if type(value) is not list and isinstance(value, Mapping):
            return unfit(value)
        return value if mark_elements is None else mark_elements(value)

    return mark


def _marker_of_vectors(cqltype: CqlType) -> Convert | None:
    """Return the function for the elements of a list, a set or a vector."""
    mark_element = marker_of_unfit(element_of(cqltype))
    if mark_element is None:
        return None

    def mark(value: Any) -> Any:
        items = value
        if type(value) is not list:
            # Binding refuses strings and mappings, which are iterable, too. A generator is not
            # read, because the column may be read again.
            if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Collection):
                return value
            try:
                items = list(value)
            except TypeError:  # an array without dimensions
                return value
        marked = list(map(mark_element, items))
        return value if _is_same(items, marked) else marked

    return mark


def _marker_of_maps(cqltype: CqlType) -> Convert | None:
    """Return the function for a map."""
    mark_key, mark_item = map(marker_of_unfit, cqltype.subtypes)
    if mark_key is None and mark_item is None:
        return None
    make_map = map_maker(cqltype.subtypes[0])

    def mark(value: Any) -> Any:
        if not hasattr(value, "items"):
            return value
        pairs = [(key, item) for key, item in value.items()]
        marked = [(_marked(mark_key, key), _marked(mark_item, item)) for key, item in pairs]
        is_same = all(map(_is_same, pairs, marked))
        return value if is_same else make_map(marked)

    return mark


def _marker_of_fields(cqltype: CqlType) -> Convert | None:
    """Return the function for a tuple or a user-defined type."""
    markers = list(map(marker_of_unfit, cqltype.subtypes))
    if not any(markers):
        return None
    markers_by_name = dict(zip(getattr(cqltype, "fieldnames", None) or (), markers, strict=False))

    def mark(value: Any) -> Any:
        if isinstance(value, Mapping):
            fields = {
                name: _marked(markers_by_name.get(name), item) for name, item in value.items()
            }
            return value if _is_same(value.values(), fields.values()) else fields
        if type(value) not in (tuple, list) or len(value) > len(markers):
            return value
        items = list(map(_marked, markers, value))
        return value if _is_same(value, items) else tuple(items)

    return mark


def _marked(mark: Convert | None, value: Any) -> Any:
    """Return a value without its unfit parts; `mark` is None if it cannot have any."""
    return value if mark is None else mark(value)


def _is_same(values: Iterable[Any], others: Iterable[Any]) -> bool:
    """Return True if two iterables of the same length have the same objects."""
    return all(map(operator.is_, values, others))


# The function that makes the marker of a value, by the base class of the CQL type.
_MARKERS: dict[CqlType, Callable[[CqlType], Convert | None]] = {
    ListType: _marker_of_lists,
    SetType: _marker_of_lists,
    VectorType: _marker_of_vectors,
    MapType: _marker_of_maps,
    UserType: _marker_of_fields,
    TupleType: _marker_of_fields,
}
