"""Integration tests are divided among processes: each runs once, beside those of the same nodes."""

from __future__ import annotations

from itertools import chain
from types import SimpleNamespace
from typing import Any

from tests.integration.clusters import KINDS, share_of


def item(*names: str, **parameters: str) -> Any:
    """Return a test with these fixtures."""
    return SimpleNamespace(
        fixturenames=[*names, *parameters], callspec=SimpleNamespace(params=parameters)
    )


def test_each_runs_once() -> None:
    cases: list[int] = [1, 2, 3]
    for processes in cases:
        items = [
            item("tmp_path"),
            item("fragile", "three_nodes", "expendable"),
            item("node", "spread"),
        ]
        for kind in KINDS:
            name, _, parameter = kind.partition(" ")
            test_item = item(**{name: parameter}) if parameter else item(name)
            items += [test_item, item("pool", *test_item.fixturenames, **test_item.callspec.params)]
        shares = [share_of(items, number, processes) for number in range(processes)]
        assert all(shares)
        assert sorted(map(id, chain(*shares))) == sorted(map(id, items))


def test_tests_of_one_kind_run_in_one_process() -> None:
    items = [item("three_nodes"), item("three_nodes", "expendable"), item("node"), item("node")]
    assert share_of(items, 0, 2) == items[:2]
    assert share_of(items, 1, 2) == items[2:]
