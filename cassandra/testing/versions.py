"""Version numbers of Cassandra, and the release lines that `LocalCluster` can run."""

from __future__ import annotations

import re
from typing import NamedTuple

DEFAULT_VERSION = "5.0.9"  # the version of nodes if the user names no version
# The newest release of each release line that this module knows. "5.0" means "5.0.9", for example.
_NEWEST = {(6, 0): "6.0-alpha2", (5, 0): "5.0.9", (4, 1): "4.1.10", (4, 0): "4.0.19"}
# The parts of a version: major, minor, patch and suffix.
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(-(?:alpha|beta|rc)\d+)?")


class CassandraVersion(NamedTuple):
    """A release of Cassandra. ``str()`` returns its version in Maven: "5.0.9" or "6.0-alpha2".

    `patch` is -1 if the version has no third number.
    """

    major: int
    minor: int
    patch: int
    suffix: str = ""

    @property
    def line(self) -> tuple[int, int]:
        """The release line, such as ``(5, 0)``."""
        return (self.major, self.minor)

    def __str__(self) -> str:
        patch = "" if self.suffix and self.patch < 0 else f".{self.patch}"
        return f"{self.major}.{self.minor}{patch}{self.suffix}"


def parse_version(text: str) -> CassandraVersion:
    """Parse a version; ``"5.0"`` means the newest known release of that line.

    :raises ValueError: if `text` is not a version, or if LocalCluster cannot run this version.
    """
    match = _VERSION.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise ValueError(
            f"not a version of Cassandra: {text!r} (expected a string such as '5.0.9' or '4.1')"
        )
    line = (int(match[1]), int(match[2]))
    if line not in _NEWEST:
        supported = ", ".join(f"{major}.{minor}.x" for major, minor in _NEWEST)
        raise ValueError(f"Cassandra {text} cannot be run by LocalCluster; it knows {supported}")
    if match[3] is None and match[4] is None:
        return parse_version(_NEWEST[line])
    return CassandraVersion(*line, int(match[3]) if match[3] is not None else -1, match[4] or "")
