"""Docstrings of the table's settings and of the `Cluster` classes, made when somebody looks.

They have the texts of the table, which are read from its source: few programs ask for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred

if TYPE_CHECKING:
    from cassandra.client.settings import texts
else:
    texts = Deferred("cassandra.client.settings.texts")

__all__ = ["TextOfSetting", "WithFields"]


# Python asks for the `__doc__` of a class through a descriptor that stands there, so that nothing
# is read or made when the driver is imported.
class WithFields:
    """The docstring of a class whose constructor takes the settings of a cluster.

    :param text: the part that is written by hand.
    """

    def __init__(self, text: str | None) -> None:
        self._text = text or ""

    def __get__(self, instance: object, owner: type | None = None) -> str:
        return f"{self._text.rstrip()}\n\n{texts.fields()}\n    "


class TextOfSetting:
    """The docstring of the class of settings, and of each setting.

    :param text: that of the class.
    """

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, instance: Any, owner: type | None = None) -> str | None:
        # ``help(Setting)`` asks for that of the class.
        if instance is None:
            return self._text
        return texts.texts().get(instance.name)
