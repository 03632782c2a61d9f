"""Errors and warnings for frequent mistakes with results, which both `ResultSet` classes use."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NoReturn, SupportsIndex

from cassandra._habits import frame_of_user_code, stack_level
from cassandra.client.lwt import APPLIED


def warn_of_truth(columns: Sequence[str] | None) -> None:
    """Warn if the result of a lightweight transaction is tested for truth.

    Such a result always has a row, so it is true whether the transaction was applied or not.

    :param columns: the names of the result's columns; None if it has no columns.
    """
    # In tests of applications, `columns` may be a mock object.
    if isinstance(columns, (list, tuple)) and columns and columns[0] == APPLIED:
        # Do not warn cqlsh, which tests a result for truth to see whether there are rows to print.
        if str(frame_of_user_code().f_globals.get("__name__")).startswith("cqlshlib."):
            return
        warnings.warn(
            "the result of a lightweight transaction is true whether it was applied or not: write "
            "result.was_applied",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def warn_of_empty_iteration() -> None:
    """Warn of an iteration that has no rows, because an earlier iteration has read them all."""
    warnings.warn(
        "all rows of this result have been read, so this iteration has none: write "
        "rows = result.all() once, and use the list",
        RuntimeWarning,
        stacklevel=stack_level(),
    )


def warn_of_missing_pages() -> None:
    """Warn that a result lacks pages that another result of the same future has fetched."""
    warnings.warn(
        "another result of this execution has fetched further pages, whose rows are missing here: "
        "call future.result() once, and read its rows once, for example into a list",
        RuntimeWarning,
        stacklevel=stack_level(),
    )


class _Unpicklable:
    """Raises an error with advice when a result is pickled or deeply copied; see `UNPICKLABLE`."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            "a ResultSet cannot be pickled or copied deeply: further pages come over the "
            "connections of this process. Write result.all(), a list of rows, which can be pickled"
        )


# The `__reduce_ex__` of a result puts this object into the state that is pickled. Pickling the
# object then raises its error.
UNPICKLABLE = _Unpicklable()
