"""Regular expressions that are compiled at their first use.

Compiling those of this package takes some 5 ms, which each program would wait for at its start.
Most programs need none of them.
"""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ["pattern"]


class _Pattern:
    """Stands for a compiled pattern until one of its methods is asked for."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copy and pickle ask for these before there is a text
            raise AttributeError(f"a pattern has no attribute {name!r}")
        value = getattr(re.compile(self._text, self._flags), name)
        # Python does not ask again for what the object has: a second use costs what it always did.
        setattr(self, name, value)
        return value


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern of `re`, compiled when one of its methods is used first."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
