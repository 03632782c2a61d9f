"""Recognises the missing values of NumPy and pandas, which are bound as null.

These are masked values of NumPy, and NaT and NA of pandas. This module does not import these
libraries: if an application has such a value, it has already imported the library.
"""

from __future__ import annotations

import datetime
import decimal
import sys
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from numpy.ma import MaskedArray

# (module, attribute) of the missing values that we have not found yet.
_locations_to_check = {("numpy.ma.core", "masked"), ("pandas", "NaT"), ("pandas", "NA")}
# The classes of the missing values that we have found.
_found_types: set[type] = set()

# The classes of most values. Their instances are never missing, so callers check this set first.
USUAL = frozenset(
    {
        bool,
        int,
        float,
        str,
        bytes,
        list,
        tuple,
        dict,
        set,
        datetime.datetime,
        datetime.date,
        decimal.Decimal,
        uuid.UUID,
    }
)


def _missing_types() -> set[type]:
    """Return the classes of missing values of the libraries that are already imported."""
    # Iterate over a copy, because this loop removes items, and another thread may remove items,
    # too.
    for location in [*_locations_to_check]:
        module = sys.modules.get(location[0])
        # While the library is still being imported, the module may not have the attribute yet.
        value = None if module is None else getattr(module, location[1], None)
        if value is not None:
            _found_types.add(type(value))
            _locations_to_check.discard(location)
    return _found_types


def masked_array(value: object) -> MaskedArray[Any, Any] | None:
    """Return `value` if it is a NumPy masked array, else None."""
    module = sys.modules.get("numpy.ma.core")
    array_type = None if module is None else getattr(module, "MaskedArray", None)
    return value if array_type is not None and isinstance(value, array_type) else None


def masked_away(array: MaskedArray[Any, Any]) -> bool:
    """Return True if a masked array has elements, and all of them are masked."""
    mask: Any = array.mask
    # The mask of an array of records has fields, too, with one byte for each field.
    return bool(array.size and (mask.all() if mask.dtype.names is None else all(mask.tobytes())))


def is_partly_masked(value: object) -> bool:
    """Return True if `value` is a masked array with at least one masked element."""
    array = masked_array(value)
    if array is None:
        return False
    mask = array.mask
    return bool(mask.any() if mask.dtype.names is None else any(mask.tobytes()))


def is_missing(value: object, name: str = "") -> bool:
    """Return True if `value` is to be bound as null.

    This includes a masked array whose elements are all masked, if `name` is a vector: ``to_numpy``
    of a result returns such an array for a null vector, and a vector cannot contain nulls.

    :param name: the CQL type that the value is bound for.
    """
    if type(value) in _missing_types():
        return True
    array = masked_array(value)
    # For a vector, a masked array may stand for null. For a list, a masked array with dimensions is
    # a list of nulls, which is not the same as null.
    if array is None or not (array.ndim == 0 or name.startswith("vector<")):
        return False
    return masked_away(array)


def is_missing_type(kind: type) -> bool:
    """Return True if `kind` is the class of a missing value, such as the class of NaT."""
    return kind in _missing_types()


Items = TypeVar("Items", bound=Sequence[Any])


def without_missing(items: Items, name: str = "") -> Items | list[Any]:
    """Return `items` with None for each missing value; `items` itself if none is missing.

    :param name: the CQL type of the items.
    """
    missing_types = _missing_types()
    if not missing_types:
        return items
    item_types = {*map(type, items)}
    if missing_types.isdisjoint(item_types) and not _has_masked(item_types):
        return items
    return [None if is_missing(item, name) else item for item in items]


def _has_masked(kinds: set[type]) -> bool:
    module = sys.modules.get("numpy.ma.core")
    kind = None if module is None else getattr(module, "MaskedArray", None)
    return kind is not None and any(issubclass(cls, kind) for cls in kinds)
