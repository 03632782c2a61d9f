"""`help` explains each option of loads, scans and unloads, and each of a scan has a default."""

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
    explained = re.findall(r":param (\w+):", pydoc.plain(pydoc.render_doc(cls)))
    assert sorted(explained) == sorted(cls.__annotations__)


def test_each_option_of_a_scan_has_a_default() -> None:
    assert scan_options({}).keys() == ScanOptions.__annotations__.keys()
    assert scan_options({"page_size": 5})["page_size"] == 5


@pytest.mark.parametrize("function", [unload, aunload])
def test_unloads_have_the_options_of_their_type(function: Any) -> None:
    signature = inspect.signature(function).parameters
    own = {"file_bytes", "decimals", "varints"}
    assert own <= signature.keys()
    names = {*own, *RangeOptions.__annotations__, *(field.name for field in fields(FileForm))}
    assert UnloadOptions.__annotations__.keys() == names


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("batch_size", "write page_size=n"),
        ("limits", "did you mean 'limit'"),
        ("zzzzz", "there are checkpoint, concurrency"),
    ],
)
def test_unknown_options_are_refused(name: str, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        scan_options({name: 1})
