"""Regular expressions that are compiled on first use.

Compiling all patterns of this package takes some 5 ms, which would delay each start. Most
applications need none of them.
"""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ["pattern"]


class _Pattern:
    """Replaces a compiled pattern until one of its methods is used."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copy and pickle ask for these before there is an object
            raise AttributeError(f"a pattern has no attribute {name!r}")
        value = getattr(re.compile(self._text, self._flags), name)
        # Python does not call this again for an existing attribute, so further uses cost nothing
        # extra.
        setattr(self, name, value)
        return value


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern of `re` that is compiled when one of its methods is first used."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
