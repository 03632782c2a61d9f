"""Test `LoadOptions`, the options of a load, and the annotations of its keyword arguments."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.bulk.options import LoadOptions, LoadSettings, load_options


def test_load_settings_have_the_fields_of_load_options() -> None:
    """`LoadSettings`, the annotations of keyword arguments, has the fields of `LoadOptions`."""
    assert list(LoadSettings.__annotations__) == [field.name for field in fields(LoadOptions)]
    types = {field.name: field.type for field in fields(LoadOptions)}
    for name, annotation in LoadSettings.__annotations__.items():
        assert annotation.__forward_arg__ == types[name], name


@pytest.mark.parametrize(
    ("options", "error_type", "message"),
    [
        ({"null": 5}, TypeError, "null is a text or a list of texts, but is 5"),
        ({"null": None}, TypeError, r"but is None: write null=\[\] if no text means null"),
        ({"null": ["a", 5]}, TypeError, "null is a text or a list of texts"),
        ({"ignore": "a"}, TypeError, "ignore is a list of names, not the text 'a'"),
        ({"ignore": 5}, TypeError, "ignore is a list of names, but is 5"),
        ({"quote": None}, ValueError, "quote must be one character, but is None"),
        ({"encoding": "klingon"}, ValueError, "encoding must be one that Python knows"),
        ({"encoding": "hex"}, ValueError, "encoding must be one of texts, but is 'hex'"),
        ({"header": None}, TypeError, "but is None: write header=False"),
        ({"header": 0}, TypeError, "but is 0: write header=True, which is the default"),
        ({"header": "id"}, TypeError, r"write header=\['id'\]"),
        ({"dry_run": "no"}, TypeError, "dry_run is True or False, but is 'no'"),
        ({"progress": 1}, TypeError, "progress is True, False or None, but is 1"),
        ({"timeout": "5"}, TypeError, "timeout is a number of seconds, but is '5'"),
        ({"timeout": 0}, ValueError, "timeout is a number of seconds above 0, but is 0"),
        ({"consistency_level": "many"}, ValueError, "there is no consistency level 'many', but "),
        ({"consistency_level": 99}, ValueError, "there is no consistency level 99"),
        ({"consistency_level": True}, ValueError, "there is no consistency level True"),
        ({"consistency_level": "SERIAL"}, ValueError, "for reads and conditions, and not for wri"),
        ({"sep": ";"}, TypeError, "load has no option 'sep'; write delimiter=';'"),
        ({"mapping": {"a": "b"}}, TypeError, "write columns={'field': 'column'}"),
        ({"batch_size": 5}, TypeError, "requests are sized by themselves: batch= says"),
        ({"on_bad_lines": "skip"}, TypeError, "write max_errors=None and failed_rows="),
        ({"failed_rows": True}, TypeError, "failed_rows is the path of a file, but is True"),
        ({"checkpoint": 1}, TypeError, r"but is 1: write, for example, checkpoint='checkpoint\.j"),
        ({"delimiter": r"\t"}, ValueError, r"but is '\\\\t': write '\\t' for a tab"),
        ({"restart": True}, ValueError, "restart is for loads with a checkpoint"),
        ({"checkpoint_name": "x"}, ValueError, "checkpoint_name is for loads with a checkpoint"),
    ],
)
def test_wrong_values_of_options_are_refused(
    options: dict[str, Any], error_type: type[Exception], message: str
) -> None:
    """A wrong value of an option is refused with an error that names the option."""
    with pytest.raises(error_type, match=message):
        load_options(options)


def test_fields_of_bind_markers_that_are_no_columns() -> None:
    """`marker_fields` returns the fields with TTL and write time, by the bind markers' names."""
    assert LoadOptions().marker_fields() == {}
    options = LoadOptions(ttl=5, timestamp_column="at")
    assert options.marker_fields() == {"[timestamp]": "at"}
    assert LoadOptions(ttl_column="life").marker_fields() == {"[ttl]": "life"}


def test_options_that_change_rows_are_json() -> None:
    """`subject_options` returns the options that change which rows are written, as JSON.

    A checkpoint stores these options in a standard form, to compare them with the next run's.
    """
    options = LoadOptions(columns={"a": "b"}, null=("", "x"), encoding="UTF8").subject_options()
    assert json.loads(json.dumps(options))["columns"] == {"a": "b"}
    assert options["encoding"] == "utf-8"
    assert LoadOptions().subject_options()["encoding"] == "utf-8"
    # The columns may be those of a frame, or keys of a mapping.
    for columns in ({"a": 1, "b": 2}.keys(), ("a", "b"), ["a", "b"]):
        options = LoadOptions(columns=columns).subject_options()  # type: ignore[arg-type]
        assert json.loads(json.dumps(options))["columns"] == ["a", "b"]
    assert not {"concurrency", "max_errors", "checkpoint", "dry_run"} & options.keys()


def test_unknown_options_are_refused_by_name() -> None:
    """An unknown option is refused, and the error names the existing options."""
    assert load_options({"ttl": 5}) == LoadOptions(ttl=5)
    with pytest.raises(TypeError, match="load has no option 'xyz'; there are columns"):
        load_options({"xyz": 5})


@pytest.mark.parametrize("name", [field.name for field in fields(LoadOptions)])
def test_none_is_the_default_of_an_option_or_is_refused_by_name(name: str) -> None:
    """None means the default of an option; options without this meaning refuse None by name.

    An application may pass None for an option that it does not use.
    """
    if name in ("batch", "max_errors"):  # For these two options, None has another meaning.
        return
    refused_names = {"concurrency", "counters", "dry_run", "encoding", "header", "null", "quote"}
    if name in {*refused_names, "restart"}:
        with pytest.raises((TypeError, ValueError), match=name):
            LoadOptions(**{name: None})  # type: ignore[arg-type]
    else:
        options = LoadOptions(**{name: None})  # type: ignore[arg-type]
        assert getattr(options, name) == getattr(LoadOptions(), name)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "8", None])
def test_the_concurrency_is_at_least_1(value: Any) -> None:
    """`concurrency` accepts 1, and any other value than a positive integer raises ValueError."""
    assert LoadOptions(concurrency=1).concurrency == 1
    with pytest.raises(ValueError, match="concurrency must be an integer from 1 on, but is"):
        LoadOptions(concurrency=value)


@pytest.mark.parametrize("value", [-1, False, 2.0])
def test_the_number_of_errors_is_at_least_0(value: Any) -> None:
    """`max_errors` accepts 0 and None (no limit), and refuses invalid numbers."""
    assert LoadOptions(max_errors=0).max_errors == 0
    assert LoadOptions(max_errors=None).max_errors is None
    with pytest.raises(ValueError, match=r"max_errors must be .* from 0 on.*None is for no limit"):
        LoadOptions(max_errors=value)


@pytest.mark.parametrize(
    ("formats", "error"),
    [
        ("dd/mm/yyyy", ValueError),
        (["%d/%m/%Y", "isoformat"], ValueError),
        ("%Q", ValueError),
        ("%", ValueError),
        ([], TypeError),
        (5, TypeError),
        (["%d/%m/%Y", 5], ValueError),
    ],
)
def test_formats_of_dates_are_checked(formats: Any, error: type[Exception]) -> None:
    """A date or timestamp format that `datetime.strptime` does not support is refused."""
    for name in ("date_format", "timestamp_format"):
        options: Any = {name: formats}
        with pytest.raises(error, match=rf"{name}\S* is (not )?a format of datetime.strptime"):
            LoadOptions(**options)


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        # Python 3.15 itself refuses days without a year, with another message.
        ("%d/%m", "has no year, as %Y or %y|without a year"),
        ("%d %b %H:%M", "has no year|without a year"),
        ("%Y-%m-%d %I:%M:%S", "has hours from 1 to 12 without %p"),
        ("%d/%m/%Y %H:%M %p", "has %p, for AM or PM, with %H.*: write %I"),
        ("%d/%M/%Y", "no month that Python reads: %M is for minutes, write %m"),
        ("%Y-%M-%d", "no month that Python reads: %M is for minutes, write %m"),
        ("%Y%M%d", "no month that Python reads: %M is for minutes, write %m"),
        ("%Y-%d", "has a day, and no month that Python reads$"),
        ("%Y-%m %H:%M", "has a minute, and no day that Python reads$"),
        ("%Y-%m-%d %H:%S", "has a second, and no minute that Python reads$"),
        ("%Y-%m-%d %H:%M.%f", "has a microsecond, and no second that Python reads$"),
        ("%Y-%U", "has a part that Python does not use: '2004-47' is read as 2004-01-01"),
        ("%Y-W%W", "has a part that Python does not use"),
        ("%A %Y", "has a part that Python does not use"),
        ("%d/%M/%Y %H:%m", "has months in place of minutes"),
        ("%M/%d/%Y %I:%m %p", "has months in place of minutes"),
        ("%d/%b/%Y %H:%m", "has months in place of minutes"),
    ],
)
def test_formats_that_would_change_values_are_refused(form: str, problem: str) -> None:
    """A format is refused if it lacks a part, or has a part that `strptime` does not use.

    Python would assume the year 1900, the month January or the minute 0, for example, and read
    12:30 as half past midnight.
    """
    for options in ({"date_format": form}, {"timestamp_format": ["iso", form]}):
        with pytest.raises(ValueError, match=problem):
            load_options(options)


@pytest.mark.parametrize(
    "form",
    [
        "%d/%m/%Y",
        "%m/%d/%y",
        "%Y%m%d",
        "%Y-%m",
        "%Y",
        "%d %b %Y",
        "%A, %d %B %Y",
        "%Y %j",
        "%G-W%V-%u",
        "%Y-%U-%w",
        "%Y-%m-%d %H",
        "%H:%M %d/%m/%Y",
        "%H h %M, %m/%d/%Y",
        "%H %m/%d/%Y",
        "%d/%m/%Y %I:%M %p",
        "%Y-%m-%dT%H:%M:%S.%f%z",
        "%Y-%m-%d %H:%M:%S %Z",
        "%Y-%m-%d 100%% %H:%M",
    ],
)
def test_formats_that_read_all_that_they_have_are_accepted(form: str) -> None:
    """A format may lack the smaller parts of a time: its strings do not have these either."""
    options = load_options({"date_format": form, "timestamp_format": form})
    assert options.date_format == options.timestamp_format == form


@pytest.mark.parametrize("columns", [[], ()])
def test_an_empty_list_of_columns_is_refused(columns: Any) -> None:
    """An empty list of columns is refused, because only None means all columns.

    An empty mapping renames no field.
    """
    assert LoadOptions(columns={}).columns == {}
    with pytest.raises(ValueError, match=r"columns is empty .*: leave it out for all columns"):
        LoadOptions(columns=columns)


def test_named_formats() -> None:
    """Formats may be "iso" and, for timestamps, "ms"; other names are refused."""
    options = load_options(
        {"date_format": ["%d/%m/%Y", "iso"], "timestamp_format": ["iso", "ms", "%d/%m/%Y %I:%M %p"]}
    )
    assert options.date_format == ["%d/%m/%Y", "iso"]
    with pytest.raises(ValueError, match=r"'iso' for ISO 8601$"):
        load_options({"date_format": "ms"})
    with pytest.raises(ValueError, match="'iso' for ISO 8601 or 'ms' for milliseconds since 1970"):
        load_options({"timestamp_format": "seconds"})


def test_a_consistency_level_may_be_given_by_its_name() -> None:
    """`consistency_level` accepts the name of a level or its number; the default is None."""
    by_name = LoadOptions(consistency_level="local_quorum")
    assert by_name.consistency_level == ConsistencyLevel.LOCAL_QUORUM
    by_number = LoadOptions(consistency_level=ConsistencyLevel.ANY)
    assert by_number.consistency_level == ConsistencyLevel.ANY
    assert LoadOptions().consistency_level is None
