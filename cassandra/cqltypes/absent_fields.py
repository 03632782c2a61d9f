"""Warns of bound objects that lack an attribute for a field of their user-defined type.

Such a field is written as null, as in cassandra-driver. But the application may have misspelt the
attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cassandra._bounded import Bounded, text_size
from cassandra._later_warnings import warn
from cassandra._logs import Log
from cassandra._misspelt import letters_of

log = Log("cassandra.cqltypes")

# The classes that were already reported, each with its CQL type and the absent attributes. If the
# cache is full, it is emptied, and the classes may be reported again.
_reported: Bounded[tuple[type, str, tuple[str, ...]], bool] = Bounded(1000, 1 << 20)
_MIN_LETTERS = 4  # minimum length of a name that counts as misspelt


def report_absent(
    value: Any, name: str, attributes: Sequence[str], absent: tuple[str, ...]
) -> None:
    """Report the attributes in `absent`, once for each class of `value` and CQL type.

    This is a warning if the object has an attribute with the same letters, such as ``strete`` or
    ``zipCode`` for the fields ``street`` and ``zip_code``. Otherwise it is only logged, because the
    application may leave the field out deliberately.

    :param value: an object that is written as a value of the type.
    :param name: the CQL type.
    :param attributes: the attributes for the fields of the type.
    :param absent: the items of `attributes` that `value` lacks.
    """
    cls = type(value)
    key = (cls, name, absent)
    if _reported.get(key):
        return
    _reported.keep(key, True, text_size(key))
    # The other attributes of the object. The key is the attribute's letters, so that names with the
    # same letters are found.
    others = {
        letters_of(other): other
        for other in dir(value)
        if not other.startswith("_") and other not in attributes
    }
    for attribute in absent:
        similar_name = others.get(letters_of(attribute))
        # Short words, such as "no" and "on", may have the same letters by chance.
        if similar_name is not None and len(attribute) >= _MIN_LETTERS:
            warn(
                f"{cls.__name__} has no attribute {attribute!r}, so this field of {name} is "
                f"written as null; did you mean {attribute!r} by {similar_name!r}?"
            )
        else:
            log.warning(
                "%s has no attribute %r, so this field of %s is written as null",
                cls.__name__,
                attribute,
                name,
            )
