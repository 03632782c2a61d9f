"""Entries of the table of differences are printed without reStructuredText markup."""

from __future__ import annotations

import pytest

from cassandra.migrate.entries import plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("``execute`` and `sync_table`", "execute and sync_table"),
        ("see :doc:`guides/coming-from`", "see docs/guides/coming-from.rst"),
        ("see :ref:`shims`", "see docs/upgrading.rst"),
        (":class:`Cluster <cassandra.Cluster>`", "Cluster"),
    ],
)
def test_plain_removes_the_marks_of_restructuredtext(text: str, expected: str) -> None:
    assert plain(text) == expected
