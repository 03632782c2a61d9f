"""Other libraries' forms of "no value": NumPy's masks, NaT and NA of pandas. All become null.

Neither library is imported here: a program that has such a value has imported it before.
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

__all__ = [
    "USUAL",
    "is_missing",
    "is_missing_type",
    "is_partly_masked",
    "masked_array",
    "masked_away",
    "without_missing",
]

# Where each library keeps its value. A library that is only half imported does not have it yet.
_PLACES = {("numpy.ma.core", "masked"), ("pandas", "NaT"), ("pandas", "NA")}
_kinds: set[type] = set()

# The classes of most values: these are never missing, and nothing further is asked about them.
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
    """Return the types of such values, as far as their libraries are imported."""
    # A copy: two threads may look at once, and each takes out what it has found.
    for location in [*_PLACES]:
        module = sys.modules.get(location[0])
        value = None if module is None else getattr(module, location[1], None)
        if value is not None:
            _kinds.add(type(value))
            # Each library has one such value, so it is not looked for again.
            _PLACES.discard(location)
    return _kinds


def masked_array(value: object) -> Any:
    """Return `value` if it is one of NumPy's masked arrays, else None."""
    module = sys.modules.get("numpy.ma.core")
    kind = None if module is None else getattr(module, "MaskedArray", None)
    return value if kind is not None and isinstance(value, kind) else None


def masked_away(array: MaskedArray[Any, Any]) -> bool:
    """Return True if a masked array has elements, and all of them are masked."""
    mask: Any = array.mask
    # The mask of a record has a byte for each of its fields.
    return bool(array.size and (mask.all() if mask.dtype.names is None else all(mask.tobytes())))


def is_partly_masked(value: object) -> bool:
    """Return True if `value` is a masked array with an element that is masked."""
    array = masked_array(value)
    if array is None:
        return False
    mask = array.mask
    return bool(mask.any() if mask.dtype.names is None else any(mask.tobytes()))


def is_missing(value: object, name: str = "") -> bool:
    """Return True if `value`, bound for the CQL type `name`, stands for null.

    A vector has no nulls inside. If all elements of a masked array are masked, it stands for a null
    vector: ``to_numpy`` of a result returns it for one.
    """
    if type(value) in _missing_types():
        return True
    array = masked_array(value)
    # For a list, a masked array is a collection with nulls inside, not a null itself.
    if array is None or not (array.ndim == 0 or name.startswith("vector<")):
        return False
    return masked_away(array)


def is_missing_type(kind: type) -> bool:
    """Return True if the only value of `kind` stands for null."""
    return kind in _missing_types()


Items = TypeVar("Items", bound=Sequence[Any])


def without_missing(items: Items, name: str = "") -> Items | list[Any]:
    """Return `items` with None for each that `is_missing` for `name`.

    The same object comes back if there is none.
    """
    kinds = _missing_types()
    if not kinds or (kinds.isdisjoint(types := {*map(type, items)}) and not _has_masked(types)):
        return items
    return [None if is_missing(item, name) else item for item in items]


def _has_masked(kinds: set[type]) -> bool:
    module = sys.modules.get("numpy.ma.core")
    kind = None if module is None else getattr(module, "MaskedArray", None)
    return kind is not None and any(issubclass(cls, kind) for cls in kinds)
