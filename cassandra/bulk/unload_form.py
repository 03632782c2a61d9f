"""Writes the text files (CSV, JSON lines) of an unload, so that a load can read them again.

The load needs the same options as the unload.
"""

from __future__ import annotations

import codecs
import datetime
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from types import NoneType
from typing import Any

from cassandra.bulk.options import LoadOptions
from cassandra.bulk.texts import json_of, refuse_other
from cassandra.util.temporal import Date, MillisTimestamp

# A file is encoded line by line. In these encodings, joining the encoded lines does not give the
# encoded file, so an unload refuses these encodings.
_JOINING = frozenset({"idna", "punycode", "undefined"})


@dataclass(frozen=True)
class FileForm:
    """The options of an unload for text files, with the same meanings as in `Session.load`.

    :param delimiter: the delimiter of CSV fields; None for a comma.
    :param quote: the quote character of CSV fields that need quotes.
    :param null: the string for null in CSV. If it is not empty, a value that is written as the same
        string is an error.
    :param header: False omits the header line of CSV.
    :param encoding: the encoding of CSV and JSON lines.
    :param date_format: the format of dates in CSV, for `datetime.datetime.strftime`; None for ISO
        8601.
    :param timestamp_format: the format of timestamps in CSV, in UTC; None for ISO 8601.
    :raises ValueError: if an option has an invalid value.
    :raises TypeError: if an option has a wrong type.
    """

    delimiter: str | None = None
    quote: str = '"'
    null: str = ""
    header: bool = True
    encoding: str = "utf-8"
    date_format: str | None = None
    timestamp_format: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.null, str):
            raise TypeError(f"null is one text in an unload, but is {self.null!r}")
        for name in ("date_format", "timestamp_format"):
            form = getattr(self, name)
            if not isinstance(form, (str, NoneType)):
                raise TypeError(f"{name} is one format in an unload, not {form!r}")
            if form == "ms":
                raise ValueError(f"{name} is a format of strftime in an unload, not {form!r}")
            if form == "iso":
                # "iso" means the same as no format.
                object.__setattr__(self, name, None)
        if not isinstance(self.header, bool):
            raise TypeError(f"header is True or False in an unload, but is {self.header!r}")
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        LoadOptions(**values)  # raises the same errors as for a load
        for name in ("delimiter", "quote"):
            if values[name] is not None and values[name] in "\r\n\0":
                raise ValueError(f"{name} must not end a line, but is {values[name]!r}")
        if self.quote == (self.delimiter or ","):
            raise ValueError(f"delimiter and quote are both {self.quote!r}")
        # Replace the encoding by its name in Python. `self.encoding = ...` would raise an error,
        # because the class is frozen.
        object.__setattr__(self, "encoding", codecs.lookup(self.encoding).name)
        if self.encoding in _JOINING:
            raise ValueError(f"files cannot be written in the encoding {self.encoding!r}")

    def check(self, format: str) -> None:
        """Raise ValueError for an option that the format does not have.

        :param format: "csv", "jsonl" or "parquet".
        :raises ValueError: for the first such option.
        """
        if format == "csv":
            return
        for field in fields(self):
            if format == "jsonl" and field.name == "encoding":
                continue  # JSON lines are text, too
            if getattr(self, field.name) != field.default:
                raise ValueError(f"{field.name} is not an option of the format {format!r}")

    @property
    def has_usual_texts(self) -> bool:
        """True if `csv_texts` can write the lines.

        `csv_texts` only writes commas, double quotes, empty nulls and the default formats. So only
        the header and the encoding may differ from the defaults.
        """
        default_form = FileForm(
            header=self.header, encoding=self.encoding, delimiter=self.delimiter
        )
        return self == default_form and self.delimiter in (None, ",")


class FileText:
    """Converts the rows of one file to bytes.

    :param form: the options.
    :param names: the names of the columns.
    """

    def __init__(self, form: FileForm, names: Sequence[str]) -> None:
        self._form = form
        self._names = names
        self._encode = codecs.getincrementalencoder(form.encoding)().encode
        self._decode = codecs.getincrementaldecoder(form.encoding)().decode
        self._delimiter = form.delimiter or ","
        # Fields with these characters need quotes. U+FEFF is included: at the beginning of a file,
        # readers would take it for a byte order mark, and remove it.
        self._special = re.compile(f"[{re.escape(self._delimiter + form.quote)}\r\n\ufeff]")
        # Maps a class to the function that formats its values with `date_format` or
        # `timestamp_format`.
        self._formatters: dict[type[Any], Callable[[Any], str]] = {}
        if form.date_format is not None:
            self._formatters[Date] = self._date
        if form.timestamp_format is not None:
            self._formatters[datetime.datetime] = self._formatters[MillisTimestamp] = (
                self._timestamp
            )

    def line(self, texts: Sequence[str]) -> bytes:
        """Return a line of CSV in the encoding of the file.

        :param texts: the fields.
        :raises ValueError: if the encoding lacks a character. The message names the column.
        """
        # A single empty field needs quotes, because readers skip an empty line.
        if len(texts) == 1 and not texts[0]:
            return self.encoded(self._form.quote * 2 + "\n", texts)
        line = self._delimiter.join([self._quoted(text) for text in texts]) + "\n"
        return self.encoded(line, texts)

    def _quoted(self, text: str) -> str:
        quote = self._form.quote
        if self._special.search(text) is None:
            return text
        return quote + text.replace(quote, quote * 2) + quote

    def row(self, values: Sequence[object]) -> bytes:
        """Return a row as a line of CSV.

        :param values: the values of the columns.
        :raises ValueError: if a load could not read the value again. The message names the column.
        :raises TypeError: if a value cannot be written. The message names the column.
        """
        texts: list[str] = []
        try:
            # If _text fails, the length of the list is the index of the column that failed.
            texts.extend(map(self._text, values))
        except (TypeError, ValueError) as error:
            raise type(error)(f'column "{self._names[len(texts)]}": {error}') from error
        return self.line(texts)

    def _text(self, value: object) -> str:
        """Return a value as the string of a CSV field."""
        null = self._form.null
        if value is None:
            return null
        json_value = json_of(value, refuse_other, self._formatters)
        text = (
            json_value
            if isinstance(json_value, str)
            else json.dumps(json_value, ensure_ascii=False)
        )
        if null and text == null:
            # A load would read this string as null, so the value would be lost.
            raise ValueError("a value has the text that stands for null")
        return text

    def _date(self, value: Date) -> str:
        """Format by ``date_format``; raise ValueError if a part of the value would be lost."""
        form = self._form.date_format or ""
        day = value.date()
        text = day.strftime(form)
        if _strptime(text, form).date() != day:
            raise ValueError(f"the format {form!r} does not hold all of a date")
        return text

    def _timestamp(self, value: Any) -> str:
        """Format by ``timestamp_format``; raise ValueError if a part of the value would be lost."""
        form = self._form.timestamp_format or ""
        if isinstance(value, MillisTimestamp):
            raise ValueError(f"a timestamp outside the years 1 to 9999 has no text by {form!r}")
        utc = datetime.timezone.utc
        # A datetime without a time zone is in UTC.
        moment = value if value.tzinfo is not None else value.replace(tzinfo=utc)
        text: str = moment.strftime(form)
        # Parse the string and compare: the format may lack the day or the fraction, for example.
        parsed = _strptime(text, form)
        if (parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=utc)) != moment:
            raise ValueError(f"the format {form!r} does not hold all of a timestamp")
        return text

    def encoded(self, line: str, texts: Iterable[str]) -> bytes:
        """Return a line in the encoding of the file.

        :param line: a line of the file, as a string.
        :param texts: the fields of the line, to name the column in an error message.
        :raises ValueError: if a character would be lost or changed. The message names the column.
        """
        try:
            # Some encodings replace characters without an error, so decode the line and compare.
            data = self._encode(line)
            if self._decode(data) == line:
                return data
        except UnicodeError:
            pass
        encoding = self._form.encoding
        for name, text in zip(self._names, texts, strict=True):
            if text.encode(encoding, "replace").decode(encoding, "replace") != text:
                raise ValueError(
                    f'column "{name}": a value has a character that the encoding {encoding!r} '
                    "does not have"
                )
        raise ValueError(f"a line cannot be written in the encoding {encoding!r}")


def _strptime(text: str, form: str) -> datetime.datetime:
    try:
        return datetime.datetime.strptime(text, form)
    except ValueError:
        raise ValueError(f"a value cannot be read again by the format {form!r}") from None
