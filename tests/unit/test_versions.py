"""Tests of versions of servers, and of the protocol."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cassandra import (
    ProtocolVersion,
    SignatureDescriptor,
    UserAggregateDescriptor,
    UserFunctionDescriptor,
    util,
)


def test_versions() -> None:
    """Versions must be ordered like releases, and strings that are no versions be refused."""
    names = [
        "2.2.0", "3.11.4", "4.0-alpha1", "4.0-beta2", "4.0-beta10", "4.0-rc1", "4.0",
        "4.0.1-SNAPSHOT", "4.0.1", "4.0.1.5", "4.1", "10",
    ]  # fmt: skip
    versions = [util.Version(name) for name in names]
    # The names are in ascending order: numbers are compared as numbers, and prereleases precede
    # releases. So sorting any other order must restore this one.
    assert sorted([versions[index] for index in (7, 3, 0, 11, 5, 1, 9, 2, 10, 4, 8, 6)]) == versions
    assert [str(version) for version in versions] == names
    # Missing parts are 0.
    assert util.Version("4") == util.Version("4.0.0")
    assert hash(util.Version("4")) == hash(util.Version("4.0.0"))
    with_build = util.Version("6.8.1.2-rc3")
    assert with_build.major == 6
    assert with_build.minor == 8
    assert with_build.patch == 1
    assert with_build.build == 2
    assert with_build.prerelease == "rc3"
    for text in ("", "x", "4.x", "1.2.3.4.5"):
        with pytest.raises(ValueError, match="is not a version"):
            util.Version(text)


def test_features_of_protocol_versions() -> None:
    """Each version must have the features of its specification."""
    dse_v1, dse_v2 = 0x41, 0x42

    def with_feature(has_feature: Callable[[int], bool]) -> list[int]:
        return [version for version in (4, 5, 6, dse_v1, dse_v2) if has_feature(version)]

    assert with_feature(ProtocolVersion.uses_prepare_flags) == [5, 6, dse_v2]
    assert with_feature(ProtocolVersion.has_checksumming_support) == [5, 6]
    assert with_feature(ProtocolVersion.has_continuous_paging_support) == [dse_v1, dse_v2]
    assert with_feature(ProtocolVersion.has_continuous_paging_next_pages) == [dse_v2]


def test_the_repr_of_signatures() -> None:
    """The repr of a signature has its name and types, as in cassandra-driver."""
    for cls in (SignatureDescriptor, UserFunctionDescriptor, UserAggregateDescriptor):
        assert repr(cls("f", ["int", "text"])) == f"{cls.__name__}(f, ['int', 'text'])"
