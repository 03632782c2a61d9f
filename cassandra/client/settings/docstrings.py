"""Docstrings of the settings and of the `Cluster` classes, made on first access.

They consist of the docstrings in the table, which are read from its source, since few applications
ask for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred

if TYPE_CHECKING:
    from cassandra.client.settings import texts
else:
    texts = Deferred("cassandra.client.settings.texts")

__all__ = ["TextOfSetting", "WithFields"]


# Python reads a class's `__doc__` through a descriptor, so nothing is read when the driver is
# imported.
class WithFields:
    """The docstring of a class whose constructor takes the settings of a cluster.

    :param text: the handwritten part.
    """

    def __init__(self, text: str | None) -> None:
        self._text = text or ""

    def __get__(self, instance: object, owner: type | None = None) -> str:
        return f"{self._text.rstrip()}\n\n{texts.fields()}\n    "


class TextOfSetting:
    """The docstring of the class of settings, and of each setting.

    :param text: the docstring of the class.
    """

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, instance: Any, owner: type | None = None) -> str | None:
        # ``help(Setting)`` asks for the docstring of the class.
        if instance is None:
            return self._text
        return texts.texts().get(instance.name)
