"""Test the options of scans, loads and unloads: documentation, defaults and error messages."""

from __future__ import annotations

import inspect
import pydoc
import re
from dataclasses import fields
from typing import Any

import pytest

from cassandra.bulk import LoadOptions, ScanOptions, UnloadOptions
from cassandra.bulk.scan_options import RangeOptions, scan_options
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
