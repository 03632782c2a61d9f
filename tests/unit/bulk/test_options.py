"""The options of a load: one list, and its types."""

from __future__ import annotations

from dataclasses import fields

import pytest

from cassandra.bulk.options import LoadOptions, LoadSettings, load_options


def test_the_keywords_are_the_options() -> None:
    assert list(LoadSettings.__annotations__) == [field.name for field in fields(LoadOptions)]
    types = {field.name: field.type for field in fields(LoadOptions)}
    for name, annotation in LoadSettings.__annotations__.items():
        assert annotation.__forward_arg__ == types[name], name


def test_unknown_ones_are_refused_by_name() -> None:
    assert load_options({"ttl": 5}) == LoadOptions(ttl=5)
    with pytest.raises(TypeError, match="load has no option 'xyz'; there are columns"):
        load_options({"xyz": 5})
