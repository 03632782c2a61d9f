"""Versions of servers, and of the protocol."""

from __future__ import annotations

import pytest

from cassandra import ProtocolVersion, util


def test_versions() -> None:
    """Versions are ordered like releases, and texts that are no versions are refused."""
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
    # the names are in ascending order: numbers are compared as numbers, prereleases precede
    # releases
    assert sorted([versions[index] for index in (7, 3, 0, 11, 5, 1, 9, 2, 10, 4, 8, 6)]) == versions
    assert [str(version) for version in versions] == names
    # missing parts are 0
    assert util.Version("4") == util.Version("4.0.0")
    assert hash(util.Version("4")) == hash(util.Version("4.0.0"))
    with_build = util.Version("6.8.1.2-rc3")
    assert (
        with_build.major,
        with_build.minor,
        with_build.patch,
        with_build.build,
        with_build.prerelease,
    ) == (
        6,
        8,
        1,
        2,
        "rc3",
    )
    for text in ("", "x", "4.x", "1.2.3.4.5"):
        with pytest.raises(ValueError, match="is not a version"):
            util.Version(text)


def test_features_of_protocol_versions() -> None:
    """Each version has the features of its specification."""
    # 0x41 and 0x42 are DSE's versions 1 and 2.
    assert [ProtocolVersion.uses_prepare_flags(v) for v in (4, 5, 6, 0x41, 0x42)] == [
        False, True, True, False, True,
    ]  # fmt: skip
    assert [ProtocolVersion.has_checksumming_support(v) for v in (4, 5, 6, 0x41)] == [
        False, True, True, False,
    ]  # fmt: skip
    assert [ProtocolVersion.has_continuous_paging_support(v) for v in (5, 0x41)] == [False, True]
    assert [ProtocolVersion.has_continuous_paging_next_pages(v) for v in (0x41, 0x42)] == [
        False, True,
    ]  # fmt: skip
