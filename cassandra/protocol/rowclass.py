"""The class of a row that is a named tuple, made once for each list of column names."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from cassandra._bounded import Bounded, text_size

# Making a class costs some 40 us, so they are kept; a program whose statements name ever new
# columns starts afresh at the bound.
_CLASS_BYTES = 4000
_FIELD_BYTES = 400
_classes: Bounded[tuple[str, ...], type[Any]] = Bounded(1024, 1 << 25)

_LEADING = re.compile(r"^[^a-zA-Z0-9]+")
_TRAILING = re.compile(r"[^a-zA-Z0-9_]+$")
_INNER = re.compile(r"[^a-zA-Z0-9_]")


def clean_column_name(name: str) -> str:
    """`name` as an attribute: ``count(*)`` becomes ``count``, ``system.ttl(a)`` ``system_ttl_a``."""
    return _INNER.sub("_", _TRAILING.sub("", _LEADING.sub("", name))) or name


def row_class(names: Sequence[str]) -> type[Any]:
    """The named tuple class `Row` for columns of these names.

    A name that is no identifier even when cleaned, is a keyword or comes twice becomes ``_N`` with
    the column's position from 0.
    """
    key = tuple(names)
    found = _classes.get(key)
    if found is not None:
        return found
    made = namedtuple("Row", [clean_column_name(name) for name in key], rename=True)  # type: ignore[misc]
    made.__module__ = "cassandra.query"
    # Two threads may both make one; the first stays, so that all see the same class.
    return _classes.keep(key, made, _CLASS_BYTES + _FIELD_BYTES * len(key) + 3 * text_size(key))
