"""Versions of servers."""

from __future__ import annotations

import pytest

from cassandra import util


def test_versions() -> None:
    names = [
        "2.2.0",
        "3.11.4",
        "4.0-alpha1",
        "4.0-beta2",
        "4.0-beta10",
        "4.0-rc1",
        "4.0",
        "4.0.1-SNAPSHOT",
        "4.0.1",
        "4.0.1.5",
        "4.1",
        "10",
    ]
    versions = [util.Version(name) for name in names]
    assert sorted([versions[at] for at in (7, 3, 0, 11, 5, 1, 9, 2, 10, 4, 8, 6)]) == versions
    assert [str(version) for version in versions] == names
    assert util.Version("4") == util.Version("4.0.0")
    assert hash(util.Version("4")) == hash(util.Version("4.0.0"))
    found = util.Version("6.8.1.2-rc3")
    assert (found.major, found.minor, found.patch, found.build, found.prerelease) == (
        6,
        8,
        1,
        2,
        "rc3",
    )
    for wrong in ("", "x", "4.x", "1.2.3.4.5"):
        with pytest.raises(ValueError, match="is not a version"):
            util.Version(wrong)
