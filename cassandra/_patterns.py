"""Regular expressions that are compiled when they are first used.

Compiling all patterns of this package takes about 5 ms, which would delay each import of the
driver. Most applications need none of the patterns.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Pattern:
    """Replaces a compiled pattern, and compiles it when one of its methods is first used."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Refuse private names: `copy` and `pickle` look them up before `__init__` has run.
        if name.startswith("_"):
            raise AttributeError(f"a pattern has no attribute {name!r}")
        value = getattr(re.compile(self._text, self._flags), name)
        # Store the method: Python does not call `__getattr__` for attributes that exist, so later
        # calls are as quick as calls of a compiled pattern's method.
        setattr(self, name, value)
        return value


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern of `re` that is compiled when one of its methods is first used."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
