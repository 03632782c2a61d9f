"""The options of `Session.load`, and their checks."""

from __future__ import annotations

import datetime
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import NoneType
from typing import TYPE_CHECKING, Any, TypedDict

from cassandra._write_times import warn_of_write_time
from cassandra.bulk.checkpoint import check_path
from cassandra.bulk.opened import check_encoding
from cassandra.bulk.unknown_options import FOR_TEXT_FILES, IN_ALL_CALLS, unknown_option
from cassandra.consistency import ConsistencyLevel, level_of

if TYPE_CHECKING:
    from cassandra.engine.profile import ExecutionProfile


@dataclass(frozen=True)
class LoadOptions:
    """The options of `Session.load`.

    :param columns: the columns to write, as a list of names, or a dict of column names by field
        name. None writes all columns that the source and the table have in common. Fields that a
        dict does not name are not written; if such a field has the name of a column, there is a
        warning.
    :param format: "csv", "jsonl" or "parquet"; None derives it from the file's name.
    :param header: True if the first line of CSV has the field names. False if the file has no
        names: then its fields are in the order of `columns`, or else of the table's columns, and
        include the fields of `ignore`. Or a list of the field names.
    :param delimiter: the delimiter of CSV fields; None for a comma, or a tab in .tsv.
    :param quote: the quote character of CSV fields.
    :param null: the string that means null in CSV, or a list of such strings. Blanks around a field
        belong to the value in text columns, and are ignored in other columns: with ``null="NULL"``,
        the field " NULL " is a string in a text column, and null in an int column. In text and blob
        columns of the primary key, which cannot be null, an empty field is an empty value.
    :param encoding: the encoding of CSV and JSON lines.
    :param ignore: names of fields to ignore, even if `columns` has them; None for none. Any other
        field without a column is an error, unless `columns` selects what is written.
    :param date_format: the format of dates, for `datetime.datetime.strptime`, or a list of formats:
        for each string, the first format that fits is used. "iso" in a list means ISO 8601. None
        reads ISO 8601. A format is refused if a date would be changed, such as ``%d/%M/%Y``, which
        has minutes in place of months.
    :param timestamp_format: the format of timestamps, or a list of formats, in which "iso" means
        ISO 8601 and "ms" means milliseconds since 1970. None reads these two formats.
    :param concurrency: the maximum number of requests in flight. The load begins with fewer, sends
        more at a time while servers respond quickly, and fewer if they cannot keep up.
    :param batch: "replica" groups rows with the same replicas into small unlogged batches,
        "partition" only rows of the same partition; None sends each row alone.
    :param ttl: the time to live of all values, in seconds.
    :param ttl_column: the field with the time to live of each row.
    :param timestamp: the write time of all rows, in microseconds since 1970.
    :param timestamp_column: the field with the write time of each row.
    :param counters: True adds the values to counters, and does not repeat failed requests.
    :param max_errors: the maximum number of rows that may fail. If more rows fail, the load ends
        with `LoadError`. None means no limit.
    :param failed_rows: a file to which rows that failed are written as JSON lines, with their
        errors. You can correct it and load it again. If the file exists, rows are appended; if it
        is not a file of failed rows, it is refused. Rows that failed after the last checkpoint are
        tried again when the load resumes, but are not written to this file twice. But if a load is
        killed before its first checkpoint, the next run begins again, and its failed rows are in
        the file twice.
    :param checkpoint: a file that stores the progress. If a load is interrupted, another run with
        the same files, table and options resumes at the stored position. The load removes the file
        when all rows are done. Loads that must not write rows twice, such as counters, cannot have
        a checkpoint.
    :param checkpoint_name: a name for the rows. A checkpoint of a source without files needs it, to
        recognize the same rows in the next run.
    :param restart: True ignores the progress in the checkpoint, and starts from the beginning.
    :param dry_run: True reads and checks all rows, but sends none.
    :param progress: True shows the progress on standard error; None shows it only if standard error
        is a terminal.
    :param consistency_level: the consistency level of writes, or its name; None uses the profile's
        level.
    :param timeout: the request timeout in seconds; None uses the profile's timeout.
    :param execution_profile: the profile, or its name; None for the default profile.
    :raises ValueError: if an option has an invalid value.
    """

    columns: Mapping[str, str] | Sequence[str] | None = None
    format: str | None = None
    header: bool | Sequence[str] = True
    delimiter: str | None = None
    quote: str = '"'
    null: str | Sequence[str] = ""
    encoding: str = "utf-8"
    ignore: Sequence[str] = ()
    date_format: str | Sequence[str] | None = None
    timestamp_format: str | Sequence[str] | None = None
    concurrency: int = 1024
    batch: str | None = "replica"
    ttl: int | None = None
    ttl_column: str | None = None
    timestamp: int | None = None
    timestamp_column: str | None = None
    counters: bool = False
    max_errors: int | None = 0
    failed_rows: str | os.PathLike[str] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_name: str | None = None
    restart: bool = False
    dry_run: bool = False
    progress: bool | None = None
    consistency_level: int | str | None = None
    timeout: float | None = None
    execution_profile: ExecutionProfile | str | None = None

    def __post_init__(self) -> None:
        if self.batch not in (None, "partition", "replica"):
            raise ValueError(f"batch must be 'replica', 'partition' or None, but is {self.batch!r}")
        if self.max_errors is not None:
            check_count("max_errors", self.max_errors, 0)
        check_count("concurrency", self.concurrency, 1)
        for name in ("delimiter", "quote"):
            value = getattr(self, name)
            is_default = value is None and name == "delimiter"
            if not is_default and (not isinstance(value, str) or len(value) != 1):
                instead = ": write '\\t' for a tab" if value in ("\\t", "tab") else ""
                raise ValueError(f"{name} must be one character, but is {value!r}{instead}")
            # Python's csv module accepts line ends as delimiter or quote, but splits rows
            # differently.
            if value in ("\n", "\r"):
                raise ValueError(f"{name} must not end a line, but is {value!r}")
        if self.quote == self.delimiter:
            raise ValueError(f"delimiter and quote are both {self.quote!r}")
        for name in ("date_format", "timestamp_format"):
            _check_formats(name, getattr(self, name))
        warn_of_write_time(self.timestamp)
        _check_header(self.header)
        for name, values in _SWITCHES.items():
            if not any(getattr(self, name) is value for value in values):
                listed = ", ".join(map(str, values[:-1])) + f" or {values[-1]}"
                raise TypeError(f"{name} is {listed}, but is {getattr(self, name)!r}")
        if self.timeout is not None:
            _check_timeout(self.timeout)
        # Check the level here: otherwise a wrong level would make every row fail.
        level = level_of(self.consistency_level)
        if ConsistencyLevel.is_serial(level):
            raise ValueError(
                f"consistency_level={self.consistency_level!r} is for reads and conditions, and "
                "not for writes: write QUORUM or LOCAL_QUORUM"
            )
        object.__setattr__(self, "consistency_level", level)
        if isinstance(self.columns, str):
            raise TypeError(
                "columns is a list of names, or a dict of fields and columns, not the text "
                f"{self.columns!r}"
            )
        if isinstance(self.columns, (set, frozenset)):
            # Rows without names have their values in the order of `columns`.
            raise TypeError(
                f"columns is a list of names, and a set has no order: write {sorted(self.columns)}"
            )
        # Do not check for `list`: any other sequence of names is fine, for example the columns of a
        # frame.
        if (
            self.columns is not None
            and not isinstance(self.columns, Mapping)  # {} renames no field
            and hasattr(self.columns, "__len__")
            and not len(self.columns)
        ):
            raise ValueError(f"columns is empty ({self.columns!r}): leave it out for all columns")
        # A single string means the same as a list with this string.
        nulls = (self.null,) if isinstance(self.null, str) else self.null
        if not isinstance(nulls, (list, tuple)) or not all(isinstance(null, str) for null in nulls):
            advice = ": write null=[] if no text means null" if self.null is None else ""
            raise TypeError(f"null is a text or a list of texts, but is {self.null!r}{advice}")
        if isinstance(self.ignore, str):
            raise TypeError(f"ignore is a list of names, not the text {self.ignore!r}")
        if not isinstance(self.ignore, (Iterable, NoneType)):
            raise TypeError(f"ignore is a list of names, but is {self.ignore!r}")
        # Sort a set: a checkpoint compares the names, and the order of a set differs between
        # processes.
        ignored = self.ignore or ()
        is_set = isinstance(ignored, (set, frozenset))
        object.__setattr__(self, "ignore", tuple(sorted(ignored) if is_set else ignored))
        # Replace the encoding by Python's name for it. The class is frozen, so `self.encoding =
        # ...` would raise an error.
        object.__setattr__(self, "encoding", check_encoding(self.encoding))
        for name in ("failed_rows", "checkpoint"):
            check_path(name, getattr(self, name))
        for name in ("checkpoint_name", "restart"):
            if getattr(self, name) and self.checkpoint is None:
                raise ValueError(f"{name} is for loads with a checkpoint")

    def using(self) -> dict[str, tuple[int | None, str | None]]:
        """Return the values of the clauses after USING.

        :returns: {clause: (value for all rows, name of the field with each row's value)}. Each of
            the two is None if its option is not set.
        """
        return {
            "TTL": (self.ttl, self.ttl_column),
            "TIMESTAMP": (self.timestamp, self.timestamp_column),
        }

    def marker_fields(self) -> dict[str, str]:
        """Return the fields with the TTL and the write time of each row, by bind marker name.

        Servers name these bind markers ``[ttl]`` and ``[timestamp]``. A field whose option is not
        set is left out.
        """
        return {
            f"[{clause.lower()}]": field
            for clause, (_, field) in self.using().items()
            if field is not None
        }

    def subject_options(self) -> dict[str, Any]:
        """Return the options that belong to the subject of a checkpoint, as JSON values.

        These options affect which rows are read and what is written. A run with different values
        must not resume from the checkpoint.
        """
        row_options: dict[str, Any] = {name: getattr(self, name) for name in _SUBJECT_OPTIONS}
        if isinstance(self.columns, Mapping):
            row_options["columns"] = dict(self.columns)
        elif self.columns is not None:
            # It may be the columns of a frame, or an array of names.
            row_options["columns"] = list(map(str, self.columns))
        return row_options


# The allowed values of the options that are switches.
_SWITCHES: dict[str, tuple[bool | None, ...]] = {
    "counters": (True, False),
    "restart": (True, False),
    "dry_run": (True, False),
    "progress": (True, False, None),
}

# The names of the options that `subject_options` returns.
_SUBJECT_OPTIONS = (
    "columns", "date_format", "delimiter", "encoding", "format", "header", "ignore", "null",
    "quote", "timestamp", "timestamp_column", "timestamp_format", "ttl", "ttl_column",
)  # fmt: skip


class LoadSettings(TypedDict, total=False):
    """The keyword arguments of `Session.load`; see `LoadOptions`."""

    columns: Mapping[str, str] | Sequence[str] | None
    format: str | None
    header: bool | Sequence[str]
    delimiter: str | None
    quote: str
    null: str | Sequence[str]
    encoding: str
    ignore: Sequence[str]
    date_format: str | Sequence[str] | None
    timestamp_format: str | Sequence[str] | None
    concurrency: int
    batch: str | None
    ttl: int | None
    ttl_column: str | None
    timestamp: int | None
    timestamp_column: str | None
    counters: bool
    max_errors: int | None
    failed_rows: str | os.PathLike[str] | None
    checkpoint: str | os.PathLike[str] | None
    checkpoint_name: str | None
    restart: bool
    dry_run: bool
    progress: bool | None
    consistency_level: int | str | None
    timeout: float | None
    execution_profile: ExecutionProfile | str | None


def load_options(keywords: Mapping[str, Any]) -> LoadOptions:
    """Make options from the keyword arguments of `Session.load`.

    :param keywords: the keyword arguments.
    :raises TypeError: if a keyword is not an option.
    :raises ValueError: if an option has an invalid value.
    """
    names = [field.name for field in fields(LoadOptions)]
    for name in keywords:
        if name not in names:
            raise unknown_option("load has no option", name, names, _INSTEAD)
    return LoadOptions(**keywords)


# Advice that the error for an unknown option shows: for the names of options in other APIs (mostly
# pandas), what to write instead.
_INSTEAD = {
    **IN_ALL_CALLS,
    **FOR_TEXT_FILES,
    **dict.fromkeys(("na_values", "null_values", "na_rep"), "write null=['NULL', '']"),
    **dict.fromkeys(
        ("usecols", "include_columns", "fields"),
        "write columns=['id', 'name'], or columns={'field': 'column'}",
    ),
    **dict.fromkeys(("mapping", "rename", "column_mapping"), "write columns={'field': 'column'}"),
    **dict.fromkeys(("names", "column_names"), "write header=['id', 'name']"),
    **dict.fromkeys(
        ("chunksize", "chunk_size", "low_memory"),
        "files are read in pieces, so memory does not depend on their size",
    ),
    **dict.fromkeys(
        ("decimal", "thousands", "converters", "decimal_comma"),
        "convert the values first: pass a generator of rows, or the frame that pandas or polars "
        "reads",
    ),
    **dict.fromkeys(("parse_dates", "dayfirst"), "write date_format or timestamp_format"),
    **dict.fromkeys(("dtype", "dtypes", "schema"), "the columns of the table have the types"),
    **dict.fromkeys(
        ("skiprows", "skip_rows", "skip", "skipfooter", "nrows", "limit"),
        "all rows of a file are read: cut the file first, or pass a generator of rows",
    ),
    **dict.fromkeys(
        ("on_bad_lines", "error_bad_lines", "ignore_errors"),
        "write max_errors=None and failed_rows='failed.jsonl'",
    ),
    **dict.fromkeys(
        ("if_exists", "mode", "overwrite", "append", "upsert", "replace"),
        "rows are added to the table, and replace those with the same key",
    ),
    **dict.fromkeys(
        ("batch_size", "batchsize"),
        "requests are sized by themselves: batch= says which rows may share one, and "
        "concurrency= how many are in flight",
    ),
    "index": "write frame.reset_index() to load the index of a frame as columns",
    "truncate": "write session.execute('TRUNCATE table') first",
    "compression": "the name of a file says it: rows.csv.gz, .bz2, .xz, .zst or .lz4; "
    "Cluster(compression=...) compresses requests",
    **dict.fromkeys(
        ("primary_key", "key", "keys", "pk", "partition_key"),
        "the table has its key: the fields of its columns are found by their names, or by "
        "columns={'field': 'column'}",
    ),
    **dict.fromkeys(
        ("retries", "max_retries", "retry"), "requests that may be repeated are retried by itself"
    ),
}


def _check_header(header: object) -> None:
    """Raise TypeError unless the option ``header`` is True, False or a list of names."""
    if isinstance(header, bool) or (
        isinstance(header, (list, tuple)) and all(isinstance(name, str) for name in header)
    ):
        return
    # Advise users of pandas, where None means that there is no header, and 0 that the first line is
    # the header.
    instead = ""
    if header is None:
        instead = ": write header=False"
    elif header == 0 and isinstance(header, int):
        instead = ": write header=True, which is the default"
    elif isinstance(header, str):
        instead = f": write header=[{header!r}]"
    raise TypeError(
        "header is True if the first line has the names, False if there are none, or a list of "
        f"names, but is {header!r}{instead}"
    )


def _check_timeout(timeout: object) -> None:
    """Raise an error unless a timeout is a positive number."""
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is a number of seconds, but is {timeout!r}")
    if not timeout > 0:
        raise ValueError(f"timeout is a number of seconds above 0, but is {timeout!r}")


def _check_formats(name: str, value: object) -> None:
    """Raise an error unless an option is a format of dates, a list of formats, or None.

    :param name: the option, for the message.
    """
    if value is None:
        return
    formats = [value] if isinstance(value, str) else value
    if not isinstance(formats, (list, tuple)) or not formats:
        raise TypeError(f"{name} is a format of datetime.strptime or a list, but is {value!r}")
    named_formats = _NAMED_FORMATS[name]
    for format in formats:
        if format in named_formats:
            continue
        # A string without "%" is not a format. List the formats that have a name.
        if not isinstance(format, str) or "%" not in format:
            listed = " or ".join(
                f"{name_of_format!r} for {meaning}"
                for name_of_format, meaning in named_formats.items()
            )
            raise ValueError(
                f"{name} is a format of datetime.strptime, but is {format!r}: write '%d/%m/%Y' "
                f"for 31/12/2026, '%m/%d/%y' for 12/31/26, {listed}"
            )
        _check_format(name, format)


def _check_format(name: str, format: str) -> None:
    """Raise ValueError for a format with which Python would read wrong times, or no times."""
    try:
        with warnings.catch_warnings():
            # Python 3.13 warns of a format without a year, which is refused below.
            warnings.simplefilter("ignore", DeprecationWarning)
            text = _MOMENT.strftime(format)
            parsed = datetime.datetime.strptime(text, format)
    except (ValueError, re.error) as error:
        raise ValueError(
            f"{name}={format!r} is not a format of datetime.strptime: {error}"
        ) from None
    if parsed.year != _MOMENT.year:
        # Without a year in the format, Python would take the year 1900.
        raise ValueError(f"{name}={format!r} has no year, as %Y or %y")
    directives = re.findall("%(.)", format.replace("%%", ""))
    has_hours_to_12 = "I" in directives
    if parsed.hour == _MOMENT.hour - 12:
        # With hours from 1 to 12 and no %p, Python would read 12:30 as half past midnight.
        raise ValueError(
            f"{name}={format!r} has hours from 1 to 12 without %p, for AM or PM: write %H for hours"
            " from 0 to 23"
        )
    if "p" in directives and "H" in directives and not has_hours_to_12:
        # Python ignores %p here, and would read 01:30 PM as half past one in the night.
        raise ValueError(
            f"{name}={format!r} has %p, for AM or PM, with %H, for hours from 0 to 23: write %I for"
            " hours from 1 to 12"
        )
    if _has_months_for_minutes(directives):
        raise ValueError(
            f"{name}={format!r} has months in place of minutes: %m is for months, and %M is for "
            "minutes"
        )
    is_kept = {part: getattr(parsed, part) == getattr(_MOMENT, part) for part in _PARTS}
    last_kept = max(index for index, part in enumerate(_PARTS) if is_kept[part])
    # Refuse a format that lacks a part before its last part, for example the month before the day.
    # Python would use 1 for a month or day, and 0 for a part of the time of day, so values would
    # silently be changed. Parts may be missing at the end: a format may have days without times.
    lost_part = next((part for part in _PARTS[:last_kept] if not is_kept[part]), None)
    if lost_part is not None:
        advice = ""
        if lost_part == "month" and "M" in directives:
            advice = ": %M is for minutes, write %m for months"
        raise ValueError(
            f"{name}={format!r} has a {_PARTS[last_kept]}, and no {lost_part} that Python reads"
            f"{advice}"
        )
    # Also refuse parts of the format that Python ignores, such as the number of a week without a
    # day of the week.
    if parsed.replace(tzinfo=parsed.tzinfo or _MOMENT.tzinfo).strftime(format) != text:
        raise ValueError(
            f"{name}={format!r} has a part that Python does not use: {text!r} is read as {parsed}"
        )


def _has_months_for_minutes(directives: Sequence[str]) -> bool:
    """Return True if a format has %m after its hours, where %M (minutes) was probably meant.

    For example ``%d/%M/%Y %H:%m`` and ``%d/%b/%Y %H:%m``, which have the month elsewhere.

    :param directives: the directives of a format, without their "%".
    """
    after_hours = {
        directive
        for directive, before in zip(directives[1:], directives, strict=False)
        if before in ("H", "I")
    }
    # The format must have months or minutes elsewhere: in "%H h, %m/%d/%Y", %m really means months.
    is_mistaken = "M" in directives or not {"b", "B", "j"}.isdisjoint(directives)
    return "m" in after_hours and "M" not in after_hours and is_mistaken


# The parts of a time that a format may have, from the largest on.
_PARTS = ("year", "month", "day", "hour", "minute", "second", "microsecond")
# The time with which formats are tested. Its hour is in the afternoon, to detect 12-hour formats.
# None of its parts has the value that Python uses if a format lacks the part.
_MOMENT = datetime.datetime(2004, 11, 23, 13, 45, 59, 123456, datetime.timezone.utc)
# For each option, the formats that have a name instead of a pattern of strptime, and their meaning.
_NAMED_FORMATS = {
    "date_format": {"iso": "ISO 8601"},
    "timestamp_format": {"iso": "ISO 8601", "ms": "milliseconds since 1970"},
}


def check_count(name: str, value: object, minimum: int) -> None:
    """Raise ValueError if the value of an option is not an integer of at least `minimum`.

    :param name: the option.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        hint = "; None is for no limit" if name == "max_errors" else ""
        raise ValueError(f"{name} must be an integer from {minimum} on, but is {value!r}{hint}")
