"""Finds the aliases of fields in attrs and pydantic classes, without importing these libraries."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any


# We recognise attrs and pydantic classes by their attributes, so we need not import the libraries.
@lru_cache(maxsize=256)
def attributes_by_alias(cls: type) -> dict[str, str]:
    """Return a dict from each alias to its attribute, for an attrs or pydantic class.

    The dict is empty for all other classes.
    """
    attributes: dict[str, str] = {}
    # `__attrs_attrs__` only exists in attrs classes, and `model_fields` only in pydantic classes.
    for field in getattr(cls, "__attrs_attrs__", ()):
        alias = getattr(field, "alias", None)
        if alias and alias != field.name:
            attributes[alias] = field.name
    pydantic_fields: Any = getattr(cls, "model_fields", None)
    if isinstance(pydantic_fields, Mapping) and hasattr(cls, "model_validate"):
        for name, field in pydantic_fields.items():
            for alias in _aliases_of(field):
                attributes.setdefault(alias, name)
    return attributes


def _aliases_of(field: object) -> list[str]:
    """Return the aliases of a pydantic field.

    A field may have several alternative aliases (AliasChoices). A path into a nested value
    (AliasPath) does not count as an alias.
    """
    validation_alias = getattr(field, "validation_alias", None)
    choices = getattr(validation_alias, "choices", (validation_alias,))
    return [alias for alias in (*choices, getattr(field, "alias", None)) if isinstance(alias, str)]
