"""The class of the entries in the table of differences."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cassandra.migrate.matchers import Matcher


@dataclass(frozen=True)
class Difference:
    """A difference between another Python driver (cassandra-driver, scylla-driver) and this driver.

    :param key: the name of the difference, in findings and in the documentation.
    :param what: what differs, in reStructuredText.
    :param why: why it differs, in reStructuredText.
    :param do: what an application has to do, in reStructuredText; "" if nothing has to be done.
    :param matchers: the matchers that find the difference in source code; () if the source code
        does not show the difference.
    """

    key: str
    what: str
    why: str
    do: str = ""
    matchers: tuple[Matcher, ...] = ()


def plain(text: str) -> str:
    """Convert reStructuredText to plain text for a terminal.

    :param text: the reStructuredText.
    """
    text = re.sub(r":doc:`([^`]+)`", r"docs/\1.rst", text)
    text = re.sub(r":ref:`[^`]+`", "docs/upgrading.rst", text)
    text = re.sub(r":\w+:`([^`<]+?)(?: <[^`]*>)?`", r"\1", text)
    return re.sub(r"``?([^`]+)``?", r"\1", text)
