"""Makes the docstrings of the settings and of the `Cluster` classes when they are first read.

They consist of the docstrings in the table of settings. These are read from the table's source only
when somebody asks for them, because few applications do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred

if TYPE_CHECKING:
    from cassandra.client.settings import texts
else:
    texts = Deferred("cassandra.client.settings.texts")

__all__ = ["TextOfSetting", "WithFields"]


# This class is a descriptor: Python calls `__get__` when the `__doc__` of the class is read.
class WithFields:
    """The docstring of a `Cluster` class: a handwritten text, and a field list of the settings.

    :param text: the handwritten text.
    """

    def __init__(self, text: str | None) -> None:
        self._text = text or ""

    def __get__(self, instance: object, owner: type | None = None) -> str:
        return f"{self._text.rstrip()}\n\n{texts.fields()}\n    "


class TextOfSetting:
    """The docstring of the class `Setting` itself, and of each setting.

    :param text: the docstring of the class `Setting`.
    """

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, instance: Any, owner: type | None = None) -> str | None:
        # Return the class's own docstring, which ``help(Setting)`` reads.
        if instance is None:
            return self._text
        return texts.texts().get(instance.name)
