"""Fields of objects that CQL knows by another name: the aliases of attrs and pydantic, found by
looking at the class alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

__all__ = ["attributes_by_alias"]


@lru_cache(maxsize=256)
def attributes_by_alias(kind: Any) -> dict[str, str]:
    """For a class of attrs or pydantic, the attribute that each alias of a field stands for."""
    found: dict[str, str] = {}
    for field in getattr(kind, "__attrs_attrs__", ()):
        alias = getattr(field, "alias", None)
        if alias and alias != field.name:
            found[alias] = field.name
    models: Any = getattr(kind, "model_fields", None)
    if isinstance(models, Mapping) and hasattr(kind, "model_validate"):
        for name, field in models.items():
            for alias in _aliases_of(field):
                found.setdefault(alias, name)
    return found


def _aliases_of(field: Any) -> list[str]:
    """The aliases of a field of pydantic: one, or several of which any may be given (AliasChoices);
    a path into a value is none.
    """
    given = getattr(field, "validation_alias", None)
    choices = getattr(given, "choices", (given,))
    return [alias for alias in (*choices, getattr(field, "alias", None)) if isinstance(alias, str)]
