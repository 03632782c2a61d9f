"""Makes copies of rows whose values are only serialized later, when their statement is prepared.

The application may change a row as soon as its call returns. Many applications reuse the same list
or dict for the next call.

A row is copied with everything in it that a bind marker accepts and that the application can
change: collections, buffers, and objects whose classes declare their fields. Other objects
(sessions, files, the rest of the application's object graph) are neither copied nor searched.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import enum
import struct
import sys
import uuid
from array import array
from collections import deque
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

from cassandra.cqltypes.failures import fails_again
from cassandra.cqltypes.udt import mapped_classes
from cassandra.util.sortedset import SortedSet

_Copy = TypeVar("_Copy")

CONSTANTS = frozenset(
    {
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        decimal.Decimal,
        uuid.UUID,
        datetime.datetime,
        datetime.date,
        datetime.time,
        datetime.timedelta,
    }
)
"""Classes whose instances never change."""


# Values are copied down to this depth, and are used uncopied below it. CQL types are not nested
# deeper.
_MAX_DEPTH = 50

# Instances of these classes and of their subclasses are used uncopied.
_NEVER_CHANGE = (str, bytes, int, float, range, type, enum.Enum)

# Iterators of classes from these modules (generators, `map`, `islice`) compute their items when
# they are read. Other iterators may be files, for example.
_MODULES_OF_ITERATORS = ("builtins", "itertools")

# A class that has an attribute with one of these names declares its fields. The names belong to
# dataclasses, attrs, msgspec, pydantic 2.10 and later, older versions of pydantic, and the
# user-defined types of cqlengine (in this order).
_DECLARATIONS = (
    "__dataclass_fields__",
    "__attrs_attrs__",
    "__struct_fields__",
    "__pydantic_fields__",
    "model_fields",
    "__fields__",
)

_MISSING = object()  # the result of a look-up in a dict without the key


def snapshot(row: Any) -> Any:
    """Return a copy of `row`, so that the application may change its row afterwards.

    The values in the row are also copied if they are collections, buffers or objects that declare
    their fields. Constants, other objects, and objects that cannot be copied are used uncopied.

    :param row: a sequence, a mapping or an object with attributes.
    """
    cls = type(row)
    # Most rows are tuples, lists or dicts of constants, and need no recursive copy.
    if isinstance(row, tuple) and _are_constants(row):
        return row
    if cls is list and _are_constants(row):
        return row.copy()
    if cls is dict and _are_constants(row.values()):
        return row.copy()
    copier = _Copier()
    if isinstance(row, Mapping) and not isinstance(row, dict):
        # A plain dict is enough, because binding only looks up names in a mapping.
        return {name: copier.copy(value) for name, value in row.items()}
    return copier.copy(row, is_row=True)


def _are_constants(values: Iterable[Any]) -> bool:
    return CONSTANTS.issuperset(map(type, values))


class _Copier:
    """Copies one row and the values in it.

    An object that contains other objects is copied only once, because a row may contain cycles.
    """

    __slots__ = ("_copies", "_depth", "_originals")

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}  # the copies by the `id` of the original
        self._originals: list[Any] = []  # kept alive, so that no other object can get their ids
        self._depth = 0

    def copy(self, value: Any, is_row: bool = False) -> Any:
        """Return a copy of a value or of a row, or the object itself if it needs no copy."""
        cls = type(value)
        if cls in CONSTANTS:
            return value
        if cls is list or cls is tuple:
            if _are_constants(value):
                return value.copy() if cls is list else value
        elif cls is dict:
            if _are_constants(value) and _are_constants(value.values()):
                return value.copy()
        elif cls is set:
            if _are_constants(value):
                return value.copy()
        elif isinstance(value, _NEVER_CHANGE):
            return value
        # If the object occurs twice in the row, or contains itself, use the copy that was already
        # made.
        copied = self._copies.get(id(value), _MISSING)
        if copied is not _MISSING:
            return copied
        if self._depth == _MAX_DEPTH:
            return value
        self._depth += 1
        try:
            copied = self._make_copy(value, is_row)
        except RecursionError:  # the call stack is full, so every further copy would fail, too
            raise
        except Exception as error:
            # `fails_again` repeats the copy. If it fails again, the application's class raises the
            # error: use the object uncopied. Otherwise a signal handler may have raised the error,
            # so raise it.
            if not fails_again(error, lambda: self._make_copy(value, is_row)):
                raise
            copied = value
        finally:
            self._depth -= 1
        return self._remember_copy(value, copied)

    def _remember_copy(self, value: object, copied: _Copy) -> _Copy:
        """Record that `copied` is the copy of `value`, and return `copied`."""
        self._copies[id(value)] = copied
        self._originals.append(value)
        return copied

    def _make_copy(self, value: Any, is_row: bool) -> object:
        """Copy a value that is not a constant and was not copied yet."""
        if isinstance(value, tuple):
            return self._copy_tuple(value)
        if isinstance(value, list):
            return self._copy_list(value)
        if isinstance(value, dict):
            return self._copy_dict(value)
        if isinstance(value, (set, frozenset)):
            return self._copy_set(value)
        if isinstance(value, SortedSet):
            # The elements keep their order, so that they are not sorted again.
            return self._copy_object(value, ["_items"])
        if isinstance(value, (bytearray, array)):
            return copy.copy(value)
        if type(value).__module__ == "mmap":  # a file in memory, which `copy` refuses
            return value[:]
        if isinstance(value, memoryview):
            return _copy_view(value)
        if isinstance(value, deque):
            duplicate = copy.copy(value)
            self._remember_copy(value, duplicate)
            for index, item in enumerate(value):
                duplicate[index] = self.copy(item)
            return duplicate
        if isinstance(value, MappingProxyType):
            return MappingProxyType(
                {self.copy(key): self.copy(item) for key, item in value.items()}
            )
        cls: Any = type(value)
        # A view of a mapping, such as its `keys()`, shows later changes of the mapping. A generator
        # reads its source only when it is bound.
        if isinstance(value, (KeysView, ValuesView, ItemsView)) or (
            isinstance(value, Iterator) and cls.__module__ in _MODULES_OF_ITERATORS and not is_row
        ):
            return [self.copy(item) for item in value]
        if hasattr(value, "dtype"):
            if hasattr(value, "tolist"):  # an array of NumPy or pandas, or a tensor
                return self._copy_array(value)
            if hasattr(value, "to_list"):  # a Series of polars, whose copies share its memory
                return [self.copy(item) for item in value]
        if cls.__module__ == "pyarrow.lib":
            return copy_arrow(value)
        is_container = _is_container(cls)
        if is_container or is_row or _declares_fields(cls):
            names = _attributes_of(value)
            if names:
                return self._copy_object(value, names)
        if is_container:
            # The container has no attributes to copy, so let its own `__deepcopy__` or `__reduce__`
            # copy it. The second argument makes `deepcopy` use our copies of the items.
            items = [*value, *value.values()] if isinstance(value, Mapping) else list(value)
            return copy.deepcopy(value, {id(item): self.copy(item) for item in items})
        # An object without attributes may be a constant that a codec compares by identity, so do
        # not copy it.
        return value

    def _copy_tuple(self, value: Any) -> object:
        """Copy the items of a tuple; return the tuple itself if no item needed a copy."""
        items = [self.copy(item) for item in value]
        # An item may contain the tuple itself. In that case, copying the item has already copied
        # the tuple.
        copied = self._copies.get(id(value), _MISSING)
        if copied is not _MISSING:
            return copied
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        if type(value) is tuple:
            return tuple(items)
        if hasattr(value, "_make"):  # a named tuple
            return value._make(items)
        # The class is another subclass of tuple. Do not call its constructor, because its
        # parameters are unknown.
        duplicate = tuple.__new__(type(value), items)
        if hasattr(value, "__dict__"):
            duplicate.__dict__.update(value.__dict__)
        return duplicate

    def _copy_set(self, value: Any) -> Any:
        """Copy a set or frozenset and its elements, which may be objects with fields."""
        if not _are_constants(value):
            items = [self.copy(item) for item in value]
            if any(new is not old for new, old in zip(items, value, strict=True)):
                return frozenset(items) if isinstance(value, frozenset) else set(items)
        return value if isinstance(value, frozenset) else copy.copy(value)

    # The next two methods read and write items by the methods of `list` and `dict` themselves,
    # because a subclass may override these methods.
    def _copy_list(self, value: Any) -> list[Any]:
        """Copy a list (or an instance of a subclass) and its items."""
        duplicate = value.copy() if type(value) is list else copy.copy(value)
        if duplicate is value:  # the __copy__ of the class made no copy
            return value
        # Record the copy before the items are copied, because an item may contain the list.
        self._remember_copy(value, duplicate)
        # Call the methods of `list`, because a subclass may override them.
        for index, item in enumerate(list.__iter__(value)):
            copied = self.copy(item)
            if copied is not item:
                list.__setitem__(duplicate, index, copied)
        return duplicate

    def _copy_dict(self, value: Any) -> dict[Any, Any]:
        """Copy a dict (or an instance of a subclass) and its values."""
        duplicate = value.copy() if type(value) is dict else copy.copy(value)
        if duplicate is value:  # the __copy__ of the class made no copy
            return value
        # Record the copy before the values are copied, because a value may contain the dict.
        self._remember_copy(value, duplicate)
        has_new_keys = False
        # Call the methods of `dict`, because a subclass may override them.
        for key, item in dict.items(value):
            copied = self.copy(item)
            if copied is not item:
                dict.__setitem__(duplicate, key, copied)
            has_new_keys = has_new_keys or self.copy(key) is not key
        if has_new_keys:
            # The keys are objects with fields. A plain dict is enough, because binding only reads
            # the items. `self.copy` returns the copies that were made above.
            return {self.copy(key): item for key, item in dict.items(duplicate)}
        return duplicate

    def _copy_object(self, value: Any, names: Iterable[str]) -> object:
        """Copy an object, and the values of its attributes in `names`."""
        duplicate = copy.copy(value)
        if duplicate is value:  # the __copy__ of the class made no copy
            return value
        self._remember_copy(value, duplicate)
        for name in names:
            attribute = getattr(value, name)
            copied = self.copy(attribute)
            if copied is not attribute:
                _set_attribute(duplicate, name, copied)
        return duplicate

    def _copy_array(self, value: Any) -> object:
        """Copy an array of NumPy or pandas, or a tensor, and the Python objects in it."""
        if not hasattr(value, "copy") and hasattr(value, "clone"):  # a tensor of PyTorch
            return value.clone()
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(value, pandas.Index):
            # An index may be a view of an array. By default, its `copy` would be such a view, too.
            return value.copy(deep=True)
        if hasattr(value.dtype, "pyarrow_dtype"):  # `copy` would not copy the Arrow data
            elements = getattr(value, "array", value)
            elements = type(elements)(copy_arrow(elements.__arrow_array__()))
            if hasattr(value, "index"):  # a Series
                return type(value)(elements, index=value.index, name=value.name)
            return elements
        duplicate = value.copy()
        # Only NumPy's types have `hasobject`. Arrays of pandas' types contain no objects that can
        # change.
        if not getattr(value.dtype, "hasobject", False):
            return duplicate
        self._remember_copy(value, duplicate)
        numpy = sys.modules["numpy"]
        if isinstance(duplicate, numpy.ndarray):
            # Assign to the elements through a plain array, because assigning to an element of a
            # masked array would reset its mask.
            self._copy_elements(numpy.asarray(duplicate))
        elif isinstance(duplicate, numpy.void):  # a row of a structured array
            self._copy_elements(duplicate)
        elif hasattr(value, "index"):  # a Series of pandas
            items = value.tolist()
            if _are_constants(items):
                return duplicate
            elements = numpy.empty(len(items), object)
            for index, item in enumerate(items):
                elements[index] = self.copy(item)
            # The array in a Series is read-only, so make a new Series from the copied items.
            duplicate = type(value)(elements, index=value.index, dtype=object, name=value.name)
        return duplicate

    def _copy_elements(self, elements: Any) -> None:
        """Replace the objects in a NumPy array, or in a row of a structured array, by copies."""
        dtype = elements.dtype
        if not dtype.hasobject:
            return
        if dtype.names is not None and elements.ndim == 0:  # a row of a structured array
            for name in dtype.names:
                field = elements[name]
                if hasattr(field, "dtype") and field.dtype.hasobject and field.ndim:
                    self._copy_elements(field)
                elif dtype[name].hasobject:
                    elements[name] = self.copy(field)
        elif dtype.names is not None:  # a structured array
            for name in dtype.names:
                self._copy_elements(elements[name])
        elif elements.ndim > 1:
            for part in elements:
                self._copy_elements(part)
        else:
            # An array without dimensions has one element.
            flat = elements if elements.ndim else elements.reshape(1)
            items = flat.tolist()
            for index, item in enumerate(() if _are_constants(items) else items):
                copied = self.copy(item)
                if copied is not item:
                    flat[index] = copied


def _copy_view(view: memoryview) -> memoryview:
    """Return a view of a copy of the elements of `view`, with the same format and shape."""
    data: Any = memoryview(view.tobytes())
    item_format = view.format
    item_code = item_format.lstrip("@=<>!")
    native_order = "<" if sys.byteorder == "little" else ">"
    # `cast` only accepts formats with the machine's byte order and sizes, which have one letter.
    has_native_order = item_format[:1] in ("=", native_order)
    if has_native_order and struct.calcsize(item_format) == struct.calcsize(item_code):
        item_format = item_code
    try:
        if view.ndim == 1:
            return data.cast(item_format)  # type: ignore[no-any-return]
        return data.cast(item_format, view.shape)  # type: ignore[no-any-return]
    except (TypeError, ValueError):  # `cast` does not know the format, but NumPy may
        numpy = sys.modules.get("numpy")
        return memoryview(numpy.array(view)) if numpy is not None else view


def copy_arrow(value: Any) -> Any:
    """Return a copy of a table, record batch, array, scalar or buffer of pyarrow.

    Arrow data is constant, but it may be a view of memory that the application can change: pyarrow
    and polars take arrays of NumPy without a copy. Nothing tells whether memory belongs to Arrow,
    so all of it is copied, which takes much less time than binding it.

    Objects of other classes of pyarrow, and data that Arrow cannot copy, are returned unchanged.

    :param value: an object of pyarrow. The copy of a record batch is a table.
    """
    import pyarrow

    if isinstance(value, pyarrow.Buffer):
        return pyarrow.py_buffer(value.to_pybytes())
    if isinstance(value, pyarrow.Scalar):
        # A number has its own memory. Other scalars refer to the memory of their array.
        refers = value.is_valid and (hasattr(value, "values") or hasattr(value, "as_buffer"))
        return pyarrow.array([value], value.type)[0] if refers else value
    if isinstance(value, (pyarrow.Table, pyarrow.RecordBatch)):
        table = value
    elif isinstance(value, (pyarrow.Array, pyarrow.ChunkedArray)):
        table = pyarrow.table([value], ["values"])
    else:
        return value
    stream = pyarrow.BufferOutputStream()
    try:
        with pyarrow.ipc.new_stream(stream, table.schema) as writer:
            writer.write(table)
        copied = pyarrow.ipc.open_stream(stream.getvalue()).read_all()
    except (pyarrow.ArrowNotImplementedError, pyarrow.ArrowInvalid):
        return value
    if table is value:
        return copied
    column = copied.column(0)
    return column.combine_chunks() if isinstance(value, pyarrow.Array) else column


def _set_attribute(target: Any, name: str, value: Any) -> None:
    """Set an attribute, even if the class of the object refuses assignments (frozen classes)."""
    try:
        object.__setattr__(target, name, value)
    except TypeError:  # msgspec's structs need the descriptor of their slot
        getattr(type(target), name).__set__(target, value)


@lru_cache(maxsize=256)
def _has_declaration(cls: type) -> bool:
    # Look into the dicts of the classes, because metaclasses may have properties with these names.
    return any(name in vars(parent) for parent in cls.__mro__ for name in _DECLARATIONS)


@lru_cache(maxsize=256)
def _is_container(cls: type) -> bool:
    """Return True for classes of mappings, sets, sequences, and others that binding iterates over.

    Not every such class is registered as one of `collections.abc`, so look for the methods.
    """
    return hasattr(cls, "__len__") and (hasattr(cls, "__iter__") or hasattr(cls, "__getitem__"))


def _declares_fields(cls: type) -> bool:
    """Return True if a class declares its fields, or is registered for a user-defined type."""
    return _has_declaration(cls) or not mapped_classes.isdisjoint(cls.__mro__)


def _attributes_of(value: Any) -> list[str]:
    """Return the names of the attributes in an object's dictionary and slots."""
    names = list(getattr(value, "__dict__", ()))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return [name for name in names if not name.startswith("__") and hasattr(value, name)]
