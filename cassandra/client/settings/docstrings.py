"""Creates the docstrings of the `Cluster` classes when they are first read.

These docstrings contain a list of all settings. The list is created on demand, because few
applications read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._imports import Deferred

if TYPE_CHECKING:
    from cassandra.client.settings import texts
else:
    texts = Deferred("cassandra.client.settings.texts")


# This class is a descriptor. Each `Cluster` class has an object of it as `__doc__`, so Python calls
# `__get__` when the `__doc__` of the `Cluster` class is read.
class WithFields:
    """The docstring of a `Cluster` class: a handwritten part, and a field list of the settings.

    :param text: the handwritten part.
    """

    def __init__(self, text: str | None) -> None:
        self._text = text or ""

    def __get__(self, instance: object, owner: type | None = None) -> str:
        return f"{self._text.rstrip()}\n\n{texts.fields()}\n    "
