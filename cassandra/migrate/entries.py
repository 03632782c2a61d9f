"""An entry of the table of differences."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cassandra.migrate.matchers import Matcher


@dataclass(frozen=True)
class Difference:
    """A difference between today's drivers and this one.

    :param key: its name, by which findings and the documentation's table refer to it.
    :param what: the difference, in reStructuredText.
    :param why: the reason, in reStructuredText.
    :param do: the cure, in reStructuredText. Empty if there is nothing to do.
    :param matchers: how a program's source shows it. None for differences that only a run shows.
    """

    key: str
    what: str
    why: str
    do: str = ""
    matchers: tuple[Matcher, ...] = ()


def plain(text: str) -> str:
    """Return reStructuredText as a terminal shows it.

    :param text: the text.
    """
    text = re.sub(r":doc:`([^`]+)`", r"docs/\1.rst", text)
    text = re.sub(r":ref:`[^`]+`", "docs/upgrading.rst", text)
    text = re.sub(r":\w+:`([^`<]+?)(?: <[^`]*>)?`", r"\1", text)
    return re.sub(r"``?([^`]+)``?", r"\1", text)
