"""Version numbers of servers, and small helper functions."""

from __future__ import annotations

import datetime
import functools
import re
import sys
from collections.abc import Iterable
from typing import Any
from weakref import WeakSet

from cassandra._patterns import pattern

# A name of cassandra-driver that some applications still import.
is_little_endian = sys.byteorder == "little"

_VERSION = pattern(
    r"([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:\.([0-9]+))?(?:[-~+]([0-9A-Za-z.\-+~_]+))?"
)


@functools.total_ordering
class Version:
    """A server's version: ``major[.minor[.patch[.build]]][-prerelease]``.

    A version with a prerelease (``4.0.0-beta1``) is less than the version without it. The sign
    before the prerelease may also be ``~`` or ``+``.

    :param version: a string such as "4.0.0-beta1".
    :raises ValueError: if the string has another form.
    """

    __slots__ = ("_key", "_version", "build", "major", "minor", "patch", "prerelease")

    major: int
    minor: int
    patch: int
    build: int
    prerelease: str

    def __init__(self, version: str) -> None:
        match = _VERSION.fullmatch(version.strip())
        if match is None:
            raise ValueError(
                f"{version!r} is not a version (major[.minor[.patch[.build]]][-prerelease])"
            )
        self._version = version
        self.major, self.minor, self.patch, self.build = (
            int(match[part] or 0) for part in (1, 2, 3, 4)
        )
        self.prerelease = match[5] or ""
        # Compare numbers in a prerelease as numbers, so that beta2 is less than beta10.
        parts = tuple(
            # Both kinds of tuples have the same form, so they can be compared. Numbers sort before
            # strings.
            (0, int(part), "") if part.isdigit() else (1, 0, part)
            for part in re.findall(r"[0-9]+|[^0-9]+", self.prerelease)
        )
        # A prerelease must sort before its release: `not self.prerelease` is False for a
        # prerelease, and False sorts before True.
        self._key = (self.major, self.minor, self.patch, self.build, not self.prerelease, parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._version,)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Restore a pickle of cassandra-driver, which has a state. Our own pickles use `__reduce__`,
        # and have none.
        self.__init__(state["_version"])  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Version):
            return NotImplemented
        return self._key == other._key

    def __lt__(self, other: Version) -> bool:
        if not isinstance(other, Version):
            return NotImplemented
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return self._version

    def __repr__(self) -> str:
        parts = f"{self.major}, {self.minor}, {self.patch}, {self.build}, {self.prerelease!r}"
        return f"Version({parts})"


def list_contents_to_tuple(to_convert: Iterable[object]) -> tuple[object, ...]:
    """Convert `to_convert` to a tuple, and the lists in it to tuples, too.

    :param to_convert: a list or tuple.
    """
    return tuple(tuple(item) if isinstance(item, list) else item for item in to_convert)


def maybe_add_timeout_to_query(
    stmt: str, metadata_request_timeout: datetime.timedelta | None
) -> str:
    """Append ScyllaDB's ``USING TIMEOUT`` to a statement if there is a timeout.

    :param stmt: the CQL of the statement.
    :param metadata_request_timeout: the timeout; None adds nothing.
    """
    if metadata_request_timeout is None:
        return stmt
    millis = int(metadata_request_timeout / datetime.timedelta(milliseconds=1))
    # ScyllaDB rejects a timeout of zero, so a timeout below a millisecond is omitted.
    return f"{stmt} USING TIMEOUT {millis}ms" if millis else stmt


Version.__module__ = "cassandra.util"
list_contents_to_tuple.__module__ = "cassandra.util"
maybe_add_timeout_to_query.__module__ = "cassandra.util"

__all__ = [
    "Version",
    "WeakSet",
    "is_little_endian",
    "list_contents_to_tuple",
    "maybe_add_timeout_to_query",
]
