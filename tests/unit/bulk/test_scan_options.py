"""Test the options of scans, loads and unloads: documentation, defaults and error messages."""

from __future__ import annotations

import inspect
import pydoc
import re
from dataclasses import fields
from typing import Any, cast

import pytest

from cassandra.bulk import LoadOptions, ScanOptions, UnloadOptions
from cassandra.bulk.ranges import TokenRange
from cassandra.bulk.scan import Scan
from cassandra.bulk.scan_options import (
    RangeOptions,
    ranges_of,
    scan_options,
    selected_columns,
    switch,
)
from cassandra.bulk.unload import aunload, unload
from cassandra.bulk.unload_form import FileForm


@pytest.mark.parametrize("cls", [LoadOptions, ScanOptions, UnloadOptions])
def test_help_explains_each_option(cls: type[Any]) -> None:
    """`help` of each options class explains each option."""
    help_text = pydoc.plain(pydoc.render_doc(cls))
    explained_options = re.findall(r":param (\w+):", help_text)
    assert sorted(explained_options) == sorted(cls.__annotations__)


def test_each_option_of_a_scan_has_a_default() -> None:
    """Each option of a scan has a default."""
    assert scan_options({}).keys() == ScanOptions.__annotations__.keys()
    assert scan_options({"page_size": 5})["page_size"] == 5


@pytest.mark.parametrize("function", [unload, aunload])
def test_unloads_have_the_options_of_their_type(function: Any) -> None:
    """`UnloadOptions` has the options of token ranges and file formats, and three more."""
    parameters = inspect.signature(function).parameters
    own_options = {"file_bytes", "decimals", "varints"}
    assert own_options <= parameters.keys()
    form_options = {field.name for field in fields(FileForm)}
    range_options = set(RangeOptions.__annotations__)
    assert UnloadOptions.__annotations__.keys() == own_options | form_options | range_options


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("batch_size", "write page_size=n"),
        ("limits", "did you mean 'limit'"),
        ("order_by", r"sort what scan\.to_pandas\(\) returns"),
        ("sort", r"sort what scan\.to_pandas\(\) returns"),
        ("orderby", r"sort what scan\.to_pandas\(\) returns"),
        ("id", r"A condition is written where='id = \?', parameters=\[value\]"),
        ("keyspace", r"write the table as 'keyspace\.table'"),
        ("allow_filtering", "where= allows it"),
        ("usecols", r"write columns=\['id', 'name'\]"),
        ("writetime", r"write columns='id, ttl\(name\), writetime\(name\)'"),
        ("zzzzz", "there are checkpoint, concurrency"),
    ],
)
def test_unknown_options_are_refused(name: str, advice: str) -> None:
    """The error for an unknown option of a scan has advice."""
    with pytest.raises(TypeError, match=advice):
        scan_options({name: 1})


def test_columns_and_ranges_are_copied() -> None:
    """Iterators of columns and ranges are read once, and lists are copied.

    So a list that the application changes later has no effect.
    """
    names = ["a", "b"]
    columns = selected_columns(names)
    names.clear()
    assert columns == ["a", "b"]
    assert selected_columns(name for name in "ab") == ["a", "b"]
    assert selected_columns("a, b") == "a, b"
    ranges = [TokenRange(1, 5), TokenRange(5, 9)]
    assert ranges_of(iter(ranges)) == ranges_of(dict.fromkeys(ranges).keys()) == ranges
    assert ranges_of(None) is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (5, r"selectors, but is 5 \(int\)"),
        ({"a": 1}, r"selectors, but is \{'a': 1\} \(dict\)"),
        (["a", 2], r"has 2 \(int\)"),
        ([], "leave it out for all columns"),
    ],
)
def test_columns_that_are_no_names_are_refused(columns: Any, message: str) -> None:
    """The error for another value of `columns` names the value and its class."""
    with pytest.raises((TypeError, ValueError), match=message):
        selected_columns(columns)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        (4, r"not 4: write splits=n"),
        ({TokenRange(1, 5): "a"}, r"write splits=n"),
        ("1..5", r"not '1\.\.5': write splits=n"),
        (TokenRange(1, 5), r"write ranges=\[token_range\]"),
        ([(1, 5)], r"not \(1, 5\) \(tuple\)"),
        ([TokenRange(5, 1)], r"write a range that wraps around the ring as two"),
        ([TokenRange(5, 5)], r"such a range has no rows"),
    ],
)
def test_ranges_that_cannot_be_read_are_refused(ranges: Any, message: str) -> None:
    """The error for another value of `ranges=` says what to write instead."""
    with pytest.raises((TypeError, ValueError), match=message):
        ranges_of(ranges)


@pytest.mark.parametrize("value", ["false", "", 2, None, [True]])
def test_switches_are_true_or_false(value: object) -> None:
    """If a switch is neither True nor False, it is refused: the string "false" would be true."""
    numpy = pytest.importorskip("numpy")
    for true_value in (True, 1, numpy.True_):
        assert switch("in_order", true_value) is True
    for false_value in (False, 0, numpy.False_):
        assert switch("in_order", false_value) is False
    with pytest.raises(TypeError, match="in_order is True or False, but is"):
        switch("in_order", value)


@pytest.mark.parametrize("name", ["in_order", "progress"])
def test_a_scan_checks_its_switches(name: str) -> None:
    """A scan refuses a string for its switches."""
    options: Any = {name: "false"}
    with pytest.raises(TypeError, match=f"{name} is True or False, but is 'false'"):
        Scan(cast("Any", None), "ks.t", options=options)
