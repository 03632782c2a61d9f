"""Keeps errors in schema rows, so that one bad row does not hide the rest of the schema.

The object that is built from the row keeps the error, and its export is a comment with the error.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra import bases
else:
    from cassandra._impl import bases


class Faulty(bases.FaultyBase):
    """Base class of keyspaces, tables and views, which may be incomplete because of an error."""

    __slots__ = ()

    _error: BaseException | None  # the error raised while the metadata was built

    @property
    def _exc_info(self) -> tuple[Any, Any, Any] | None:
        """The error raised while the metadata was built, as from ``sys.exc_info()``, or None."""
        error = self._error
        return (type(error), error, error.__traceback__) if error is not None else None

    def fail(self, error: BaseException) -> None:
        """Keep the first error. From now on, the export of this object is a comment.

        :param error: the exception that was raised while this object was built.
        """
        # The first error is the cause; later errors may only be its consequences.
        if self._error is None:
            self._error = error


def incomplete(description: str, error: BaseException, structure: str) -> str:
    """Return a CQL comment that replaces a statement which cannot be built.

    The comment shows the error and the known part of the structure.
    """
    trace = "".join(traceback.format_exception_only(type(error), error)).strip()
    lines = [
        f"Warning: {description} is incomplete because of an error processing metadata.",
        trace,
        "Approximate structure, for reference:",
        "(this should not be used to reproduce this schema)",
        "",
        structure,
    ]
    # A `*/` in the comment would end it early.
    return "/*\n" + "\n".join(lines).replace("*/", "* /") + "\n*/"
