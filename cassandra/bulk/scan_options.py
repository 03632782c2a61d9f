"""The options of scans and unloads: their types, meanings, defaults and checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from cassandra.bulk.ranges import FIRST, LAST, TokenRange
from cassandra.bulk.unknown_options import FOR_READING, IN_ALL_CALLS, unknown_option
from cassandra.bulk.unload_form import FileForm
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT
from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    from cassandra.engine.profile import ExecutionProfile


class RangeOptions(TypedDict, total=False):
    """The options of all calls that read a table by token ranges.

    :param parameters: the values for the ``?`` markers of the selectors and of `where`.
    :param splits: the approximate number of token ranges into which the table is cut; None for
        ranges of about 32 MiB.
    :param concurrency: the maximum number of pages in flight; 16 by default.
    :param page_size: the number of rows per page; 5000 by default.
    :param max_buffered_bytes: the maximum number of bytes in pages that are requested but not used
        yet; 64 MiB by default.
    :param limit: the maximum number of rows to read; None for all. Without `in_order`, these may be
        any rows of the table. It cannot be combined with a checkpoint.
    :param progress: True shows on standard error how many rows were read; None shows it only if
        standard error is a terminal. False by default.
    :param in_order: True reads the ranges in token order; False mixes pages of several ranges.
    :param consistency_level: the consistency level, or its name; None uses the level of the
        execution profile.
    :param execution_profile: the execution profile or its name.
    :param timeout: the request timeout of each page in seconds.
    :param ranges: read exactly these ranges, from `Scan.token_ranges`; None reads all ranges.
    """

    parameters: Sequence[Any]
    splits: int | None
    concurrency: int
    page_size: int
    max_buffered_bytes: int
    limit: int | None
    progress: bool | None
    in_order: bool
    consistency_level: int | str | None
    execution_profile: ExecutionProfile | str
    timeout: float | None
    ranges: Sequence[TokenRange] | None


class ScanOptions(RangeOptions, total=False):
    """The options of `Session.scan`.

    :param row_type: the class of the rows, as for `Session.execute`.
    :param checkpoint: a file that stores the progress. If the file exists, the scan resumes where
        the last scan ended. It cannot be combined with methods that collect all rows, such as
        `to_arrow`.
    """

    row_type: type[Any] | None
    checkpoint: str | Path | None


class UnloadOptions(RangeOptions, total=False):
    """The options of `Session.unload` that are not parameters in its signature.

    :param file_bytes: begin a new file after the servers have sent this number of bytes for the
        current file; 256 MiB by default. The size of the file on disk differs from this number.
    :param decimals: for Parquet, "text" or (precision, scale). A value that does not fit exactly
        raises `DecodeError`.
    :param varints: for Parquet, "text" or "int64".
    """

    file_bytes: int
    decimals: Literal["text"] | tuple[int, int]
    varints: Literal["text", "int64"]
    delimiter: str | None
    quote: str
    null: str
    header: bool
    encoding: str
    date_format: str | None
    timestamp_format: str | None


def _add_parameters(cls: type[Any], *others: type[Any]) -> None:
    """Append the parameters from the docstrings of other classes to the docstring of `cls`.

    So ``help(cls)`` shows them.
    """
    for other in others:
        parameters = (other.__doc__ or "").partition(":param")[2].partition(":raises")[0]
        cls.__doc__ = f"{(cls.__doc__ or '').rstrip()}\n    :param{parameters.rstrip()}\n    "


# `help` shows the docstring of a TypedDict, but not the docstrings of its base classes.
_add_parameters(ScanOptions, RangeOptions)
_add_parameters(UnloadOptions, FileForm, RangeOptions)

# The defaults of all options of a scan.
_DEFAULTS: ScanOptions = {
    "parameters": (),
    "splits": None,
    "concurrency": 16,
    "page_size": 5000,
    "max_buffered_bytes": 64 << 20,
    "limit": None,
    "progress": False,
    "in_order": False,
    "consistency_level": None,
    "execution_profile": EXEC_PROFILE_DEFAULT,
    "timeout": NOT_SET,
    "ranges": None,
    "row_type": None,
    "checkpoint": None,
}

# Advice that the error for an unknown option shows: for the names of options in other APIs, what to
# write instead.
_INSTEAD = {
    **IN_ALL_CALLS,
    **FOR_READING,
    **dict.fromkeys(("fetch_size", "batch_size", "chunksize"), "write page_size=n"),
    **dict.fromkeys(
        ("filter", "condition", "filters"), "write where='column > ?', parameters=[...]"
    ),
    **dict.fromkeys(
        ("order_by", "orderby", "order", "sort", "sort_by", "sorted"),
        "a scan has no order of values: sort what scan.to_pandas() returns; in_order=True returns "
        "rows in the order of their tokens",
    ),
    **dict.fromkeys(
        ("select", "fields", "cols", "column", "usecols", "include_columns", "projection"),
        "write columns=['id', 'name']",
    ),
    **dict.fromkeys(
        ("row_factory", "row_class", "model", "as_dict"),
        "write row_type=SomeClass, or session.row_factory = dict_factory",
    ),
    **dict.fromkeys(
        ("token_range", "token_ranges", "partitions", "num_partitions", "parallel"),
        "write concurrency=n, or cassandra.bulk.scan_tasks for several processes",
    ),
    **dict.fromkeys(
        ("ttl", "writetime", "timestamp"), "write columns='id, ttl(name), writetime(name)'"
    ),
    "npartitions": "write splits=n for about n partitions",
    **dict.fromkeys(("index", "index_col"), "write scan.to_pandas().set_index('id')"),
    **dict.fromkeys(("schema", "dtype", "dtypes"), "the columns of the table have the types"),
    "allow_filtering": "where= allows it",
    **dict.fromkeys(
        ("shuffle", "seed", "random"),
        "a scan has no random order: shuffle what scan.to_numpy() or scan.to_pandas() returns, or "
        "the tasks of cassandra.bulk.tasks.scan_tasks",
    ),
    **dict.fromkeys(
        ("sample", "frac", "fraction"),
        "write limit=n for any n rows, or ranges= for some of scan.token_ranges()",
    ),
    **dict.fromkeys(
        ("format", "as_pandas", "output", "return_type"),
        "write scan.to_pandas(), to_polars(), to_arrow() or to_numpy()",
    ),
    **dict.fromkeys(("offset", "skip", "start"), "CQL has no OFFSET: write where= or checkpoint="),
    **dict.fromkeys(
        ("sep", "separator"),
        "session.unload and session.load have delimiter=, for files",
    ),
    **dict.fromkeys(
        ("delimiter", "null", "quote", "encoding", "header", "date_format"),
        "it is an option of session.unload and session.load, for files",
    ),
    **dict.fromkeys(
        ("vector_type", "vectors", "default_vector_type"),
        "write session.default_vector_type = 'numpy', or scan.to_numpy()",
    ),
}


def scan_options(options: Mapping[str, Any]) -> ScanOptions:
    """Return the options of a scan; options that are not passed get their defaults.

    :param options: the keyword arguments of `Session.scan`.
    :raises TypeError: if a keyword is not an option.
    """
    for name in options:
        if name not in _DEFAULTS:
            error = unknown_option(
                "a scan does not have the option", name, sorted(_DEFAULTS), _INSTEAD
            )
            if "; there are " in error.args[0]:
                # Add advice: the user may have meant a condition on a column.
                error.args = (
                    f"{error.args[0]}. A condition is written where='{name} = ?', "
                    "parameters=[value]",
                )
            raise error
    return {**_DEFAULTS, **options}  # type: ignore[typeddict-item]


def parameters_of(parameters: object) -> tuple[Any, ...]:
    """Return the values of the option ``parameters`` as a tuple.

    :param parameters: the value of the option.
    :raises TypeError: if the value is not a list of values, for example a single value or a dict.
    """
    if parameters is None:
        return ()
    # A string or a mapping is iterable, but users never mean its characters or keys.
    if isinstance(parameters, (str, bytes, Mapping)) or not isinstance(parameters, Iterable):
        instead = "" if isinstance(parameters, Mapping) else f": write parameters=[{parameters!r}]"
        raise TypeError(
            "parameters is a list of values, one for each ? of where=, but is "
            f"{parameters!r}{instead}"
        )
    return tuple(parameters)


def selected_columns(columns: Iterable[str]) -> list[str] | str:
    """Return the columns that a scan selects: a list of names, or a string of CQL selectors.

    :param columns: the argument of the application.
    :raises TypeError: if the argument is neither a string nor a list of strings.
    """
    if isinstance(columns, str):
        return columns
    if isinstance(columns, (bytes, Mapping)) or not isinstance(columns, Iterable):
        raise TypeError(
            "columns is a list of column names, or a string of CQL selectors, but is "
            f"{columns!r} ({type(columns).__name__})"
        )
    # Sort the names of a set: a checkpoint records the columns, and the order of a set differs
    # between processes.
    names = sorted(columns, key=str) if isinstance(columns, Set) else list(columns)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"columns is a list of column names, but has {name!r} ({type(name).__name__})"
            )
    if not names:
        raise ValueError("columns is an empty list: leave it out for all columns")
    return names


def ranges_of(ranges: Iterable[TokenRange] | None) -> list[TokenRange] | None:
    """Return the option ``ranges`` as a list; None if it is None.

    :param ranges: the value of the option.
    :raises TypeError: if the value is not a list of token ranges.
    :raises ValueError: if the end of a range is not above its start.
    """
    if ranges is None:
        return None
    # Refuse a single token range: it is a tuple, and so an iterable, too.
    if isinstance(ranges, (TokenRange, str, bytes, Mapping)) or not isinstance(ranges, Iterable):
        instead = (
            "write ranges=[token_range]"
            if isinstance(ranges, TokenRange)
            else "write splits=n for about n ranges"
        )
        raise TypeError(
            f"ranges= is a list of ranges from scan.token_ranges(), and not {ranges!r}: {instead}"
        )
    token_ranges = list(ranges)
    for token_range in token_ranges:
        if not isinstance(token_range, TokenRange):
            raise TypeError(
                "ranges= has TokenRange of cassandra.bulk.ranges, as scan.token_ranges() "
                f"returns them, and not {token_range!r} ({type(token_range).__name__})"
            )
        start, end = token_range[:2]
        # Allow FIRST as the end of a range: for servers, too, it then means the end of the ring.
        if start >= end != FIRST:
            # Servers would return no rows for such a range.
            advice = (
                f"write a range that wraps around the ring as two, TokenRange({start}, {LAST}) "
                f"and TokenRange({FIRST}, {end})"
                if start > end
                else "such a range has no rows"
            )
            raise ValueError(
                f"the start of a range is below its end, but ranges= has {token_range!r}: {advice}"
            )
    return token_ranges


def positive(name: str, value: object) -> int:
    """Return the value of an option if it is an integer from 1 on; otherwise raise ValueError.

    :param name: the name of the option.
    :param value: the value of the option.
    :raises ValueError: if the value is not an integer from 1 on.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is a number from 1 on, not {value!r} ({type(value).__name__})")
    return value


def switch(name: str, value: object) -> bool:
    """Return the value of an option if it is True or False; otherwise raise TypeError.

    :param name: the name of the option.
    :param value: the value of the option.
    :raises TypeError: for any other value. A string would be true, also "false".
    """
    # Also accept the booleans of NumPy, and 0 and 1, which are equal to False and True.
    is_number = isinstance(value, int) and value in (0, 1)
    if not is_number and type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{name} is True or False, but is {value!r}")
    return bool(value)
