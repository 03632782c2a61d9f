"""What other libraries have for "no value": NumPy's masks, NaT and NA of pandas. Bound anywhere,
they are null.

Neither library is imported here. Who has such a value has imported its library before.
"""

from __future__ import annotations

import datetime
import decimal
import sys
import uuid
from collections.abc import Sequence
from typing import Any, TypeVar

__all__ = [
    "USUAL",
    "is_missing",
    "is_missing_type",
    "is_partly_masked",
    "masked_array",
    "masked_away",
    "without_missing",
]

# Where the one value of each kind stands. A library that is half imported has it not yet.
_PLACES = {("numpy.ma.core", "masked"), ("pandas", "NaT"), ("pandas", "NA")}
_kinds: set[type] = set()

# Of most values; none of them is asked about any further.
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


def _look() -> set[type]:
    """The types of such values, as far as their libraries are there."""
    for place in [*_PLACES]:
        module = sys.modules.get(place[0])
        value = None if module is None else getattr(module, place[1], None)
        if value is not None:
            _kinds.add(type(value))
            _PLACES.discard(place)
    return _kinds


def masked_array(value: object) -> Any:
    """`value` where it is one of NumPy's masked arrays, else None."""
    module = sys.modules.get("numpy.ma.core")
    kind = None if module is None else getattr(module, "MaskedArray", None)
    return value if kind is not None and isinstance(value, kind) else None


def masked_away(array: Any) -> bool:
    """Whether a masked array has elements, and all of them are masked."""
    return bool(array.size and array.mask.all())


def is_partly_masked(value: object) -> bool:
    """Whether `value` is a masked array with an element that is masked."""
    array = masked_array(value)
    return array is not None and bool(array.mask.any())


def is_missing(value: object, name: str = "") -> bool:
    """Whether `value`, bound for the CQL type `name`, stands for null.

    A vector has no nulls inside: a masked array of which nothing is left is what a result's
    ``to_numpy`` has for a null vector.
    """
    if type(value) in _look():
        return True
    array = masked_array(value)
    if array is None or not (array.ndim == 0 or name.startswith("vector<")):
        return False
    return masked_away(array)


def is_missing_type(kind: type) -> bool:
    """Whether all that `kind` has is one value that stands for null."""
    return kind in _look()


Items = TypeVar("Items", bound=Sequence[Any])


def without_missing(items: Items, name: str = "") -> Items | list[Any]:
    """`items` with None for what `is_missing` says of each for `name`; the same object where there
    is nothing of that.
    """
    kinds = _look()
    if not kinds or (kinds.isdisjoint(found := {*map(type, items)}) and not _has_masked(found)):
        return items
    return [None if is_missing(item, name) else item for item in items]


def _has_masked(kinds: set[type]) -> bool:
    module = sys.modules.get("numpy.ma.core")
    kind = None if module is None else getattr(module, "MaskedArray", None)
    return kind is not None and any(issubclass(one, kind) for one in kinds)
