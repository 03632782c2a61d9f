"""Tests of options of tables of Dask, and of the error if Dask is not installed."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from cassandra import dask
from cassandra.errors import DependencyException


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    """If Dask is not installed, the error must say what to install."""
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(DependencyException, match=r"pip install turbocql\[dask\]"):
        dask.read_table("ks.t", {})


@pytest.mark.parametrize("name", ["counters", "checkpoint", "failed_rows"])
def test_options_that_make_no_sense_for_many_processes(name: str) -> None:
    """Options that make sense only for a single process must be refused."""
    options: dict[str, Any] = {name: True}
    with pytest.raises(ValueError, match=f"does not have the option '{name}'"):
        dask.to_table(None, "ks.t", {}, **options)


def test_a_frame_of_pandas_is_not_written_by_many_processes() -> None:
    pytest.importorskip("dask")
    with pytest.raises(TypeError, match=r"Dask DataFrame, and not a dict: write session\.load"):
        dask.to_table({"k": [1]}, "ks.t", {})


def test_a_list_of_addresses_is_not_the_settings_of_a_cluster() -> None:
    with pytest.raises(TypeError, match=r"write {'contact_points': \['10\.0\.0\.1'\]}"):
        dask.read_table("ks.t", ["127.0.0.1"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mapping of settings"):
        dask.to_table(None, "ks.t", "127.0.0.1")  # type: ignore[arg-type]


def test_selectors_are_refused() -> None:
    """A string of selectors is refused: Dask reads columns by name.

    With "a AS b", a computation of `b` read the column b of the table.
    """
    for selectors in ("id, a AS b", "id"):
        with pytest.raises(
            TypeError, match=r"list of names, not the text 'id.*write columns=\['id'"
        ):
            dask.read_table("ks.t", {}, columns=selectors)
