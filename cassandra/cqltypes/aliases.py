"""Aliases of fields in classes of attrs and pydantic, found by looking at the class alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

__all__ = ["attributes_by_alias"]


# Neither library is imported: a class of theirs says by its attributes what it is.
@lru_cache(maxsize=256)
def attributes_by_alias(kind: type) -> dict[str, str]:
    """Return the attribute that each alias stands for, in a class of attrs or pydantic."""
    attributes: dict[str, str] = {}
    for field in getattr(kind, "__attrs_attrs__", ()):
        alias = getattr(field, "alias", None)
        if alias and alias != field.name:
            attributes[alias] = field.name
    models: Any = getattr(kind, "model_fields", None)
    if isinstance(models, Mapping) and hasattr(kind, "model_validate"):
        for name, field in models.items():
            for alias in _aliases_of(field):
                attributes.setdefault(alias, name)
    return attributes


def _aliases_of(field: object) -> list[str]:
    """Return the aliases of a field of pydantic.

    There may be several, any of which may be given (AliasChoices). A path into a value is not an
    alias.
    """
    validation_alias = getattr(field, "validation_alias", None)
    choices = getattr(validation_alias, "choices", (validation_alias,))
    return [alias for alias in (*choices, getattr(field, "alias", None)) if isinstance(alias, str)]
