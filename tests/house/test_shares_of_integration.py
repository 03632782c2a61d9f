"""Tests of `share_of`, which divides the integration tests among processes.

Each test runs in one process, and tests that use the same nodes run in the same process.
"""

from __future__ import annotations

from itertools import chain
from types import SimpleNamespace
from typing import Any

from tests.integration.clusters import KINDS, share_of


def item(*names: str, **parameters: str) -> Any:
    """Return a fake test item of pytest.

    :param names: the fixtures that the test uses.
    :param parameters: the values of parametrised fixtures, by the name of the fixture.
    """
    return SimpleNamespace(
        fixturenames=[*names, *parameters], callspec=SimpleNamespace(params=parameters)
    )


def test_each_test_is_in_one_share_and_no_share_is_empty() -> None:
    """Each test must be in exactly one share, and no share may be empty.

    A key of KINDS is the name of a fixture. If the fixture has a parameter, a space and the
    parameter follow.
    """
    cases: list[int] = [1, 2, 3]
    for process_count in cases:
        items = [
            item("tmp_path"),
            item("fragile", "three_nodes", "expendable"),
            item("node", "spread"),
        ]
        for kind in KINDS:
            name, _, parameter = kind.partition(" ")
            test_item = item(**{name: parameter}) if parameter else item(name)
            items += [test_item, item("pool", *test_item.fixturenames, **test_item.callspec.params)]
        shares = [share_of(items, process, process_count) for process in range(process_count)]
        assert all(shares)
        # Compare identities, because fake items cannot be sorted.
        assert sorted(map(id, chain(*shares))) == sorted(map(id, items))


def test_tests_of_one_kind_run_in_one_process() -> None:
    items = [item("three_nodes"), item("three_nodes", "expendable"), item("node"), item("node")]
    first_share, second_share = (share_of(items, process, 2) for process in range(2))
    assert first_share == items[:2]
    assert second_share == items[2:]
