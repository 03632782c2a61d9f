"""The options of loads, beside their target and their source."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypedDict

from cassandra.bulk.opened import check_encoding

if TYPE_CHECKING:
    from cassandra.engine.profile import ExecutionProfile

__all__ = ["LoadOptions", "LoadSettings", "load_options"]


@dataclass(frozen=True)
class LoadOptions:
    """The options of `Session.load`.

    :param columns: the columns to write, as a list of names, or a dict of names of fields and of
        their columns. None for all that the source and the table have in common.
    :param format: "csv", "jsonl" or "parquet"; None goes by the file's name.
    :param header: True if the first line of CSV has the names; False for the order of the table,
        or a list of names.
    :param delimiter: between fields of CSV; None for a comma, or a tabulator in .tsv.
    :param quote: around fields of CSV.
    :param null: the text that stands for null in CSV, or a list of several. The empty text stands
        for an empty value in texts and blobs of the primary key, of which nothing is null.
    :param encoding: of files of CSV and JSON lines.
    :param ignore: names of fields that are left out. Others that the table does not have are
        refused, unless `columns` says which are written.
    :param date_format: of dates, as `datetime.datetime.strptime` takes it; None for ISO 8601.
    :param timestamp_format: of timestamps; None for ISO 8601 or milliseconds since 1970.
    :param concurrency: how many requests are in flight at most. The number begins lower, rises
        while answers are quick, and falls if servers cannot keep up.
    :param batch: "replica" joins rows with the same replicas into small unlogged batches,
        "partition" only rows of one partition; None sends each row alone.
    :param ttl: seconds that all values live.
    :param ttl_column: the field that has these seconds for each row.
    :param timestamp: the write time of all rows, in microseconds since 1970.
    :param timestamp_column: the field that has it for each row.
    :param counters: True adds values to counters, and tries no request again.
    :param max_errors: how many rows may fail before the load ends; None for any number.
    :param failed_rows: a file of JSON lines for rows that failed, with their errors; it can be
        loaded again.
    :param checkpoint: a file that says how far the load is. Another run with the same files,
        table and options goes on from there; the file is removed at the end. What must not be
        written twice, as counters, is refused.
    :param checkpoint_name: says what the rows are, for a checkpoint of rows that are no files.
    :param restart: True begins anew, whatever the checkpoint says.
    :param dry_run: True reads and checks all rows, and sends none.
    :param progress: True shows how far it is; None does so at a terminal.
    :param consistency_level: of the writes; None for the profile's.
    :param timeout: seconds for each request; None for the profile's.
    :param execution_profile: the profile, or its name; None for the default one.
    :raises ValueError: if an option has a value that it cannot have.
    """

    columns: Mapping[str, str] | Sequence[str] | None = None
    format: str | None = None
    header: bool | Sequence[str] = True
    delimiter: str | None = None
    quote: str = '"'
    null: str | Sequence[str] = ""
    encoding: str = "utf-8"
    ignore: Sequence[str] = ()
    date_format: str | None = None
    timestamp_format: str | None = None
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
    consistency_level: int | None = None
    timeout: float | None = None
    execution_profile: ExecutionProfile | str | None = None

    def __post_init__(self) -> None:
        if self.batch not in (None, "partition", "replica"):
            raise ValueError(f"batch must be 'replica', 'partition' or None, but is {self.batch!r}")
        if self.max_errors is not None:
            _check_count("max_errors", self.max_errors, 0)
        _check_count("concurrency", self.concurrency, 1)
        for name in ("delimiter", "quote"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or len(value) != 1):
                raise ValueError(f"{name} must be one character, but is {value!r}")
        for name in ("date_format", "timestamp_format"):
            form = getattr(self, name, None)
            if isinstance(form, str) and "%" not in form:
                raise ValueError(
                    f"{name} is a format of datetime.strptime, but is {form!r}: write '%d/%m/%Y' "
                    "for 31/12/2026, '%m/%d/%y' for 12/31/26"
                )
        if isinstance(self.columns, str):
            raise TypeError(
                "columns is a list of names, or a dict of fields and columns, not the text "
                f"{self.columns!r}"
            )
        nulls = (self.null,) if isinstance(self.null, str) else self.null
        if not isinstance(nulls, (list, tuple)) or not all(isinstance(one, str) for one in nulls):
            raise TypeError(f"null is a text or a list of texts, but is {self.null!r}")
        if isinstance(self.ignore, str):
            raise TypeError(f"ignore is a list of names, not the text {self.ignore!r}")
        # Frozen: by Python's own name, which is the same for all that it is called.
        object.__setattr__(self, "encoding", check_encoding(self.encoding))
        for name in ("checkpoint_name", "restart"):
            if getattr(self, name) and self.checkpoint is None:
                raise ValueError(f"{name} is for loads with a checkpoint")

    def using(self) -> dict[str, tuple[int | None, str | None]]:
        """Return for TTL and TIMESTAMP the value of all rows, and the field of each row."""
        return {
            "TTL": (self.ttl, self.ttl_column),
            "TIMESTAMP": (self.timestamp, self.timestamp_column),
        }

    def that_change_rows(self) -> dict[str, Any]:
        """Return the options by which rows are read, counted and written, as JSON has them."""
        found: dict[str, Any] = {name: getattr(self, name) for name in _CHANGE_ROWS}
        if isinstance(self.columns, Mapping):
            found["columns"] = dict(self.columns)
        return found


_CHANGE_ROWS = (
    "columns",
    "date_format",
    "delimiter",
    "encoding",
    "format",
    "header",
    "ignore",
    "null",
    "quote",
    "timestamp",
    "timestamp_column",
    "timestamp_format",
    "ttl",
    "ttl_column",
)


class LoadSettings(TypedDict, total=False):
    """The keywords of `Session.load`: those of `LoadOptions`."""

    columns: Mapping[str, str] | Sequence[str] | None
    format: str | None
    header: bool | Sequence[str]
    delimiter: str | None
    quote: str
    null: str | Sequence[str]
    encoding: str
    ignore: Sequence[str]
    date_format: str | None
    timestamp_format: str | None
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
    consistency_level: int | None
    timeout: float | None
    execution_profile: ExecutionProfile | str | None


def load_options(given: Mapping[str, Any]) -> LoadOptions:
    """Return the options that a program gives by keyword.

    :param given: the keywords.
    :raises TypeError: if there is no such option.
    :raises ValueError: if one has a value that it cannot have.
    """
    known = [field.name for field in fields(LoadOptions)]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
            raise TypeError(f"load has no option {name!r}{hint}")
    return LoadOptions(**given)


def _check_count(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        hint = "; None is for no limit" if name == "max_errors" else ""
        raise ValueError(f"{name} must be an integer from {least} on, but is {value!r}{hint}")
