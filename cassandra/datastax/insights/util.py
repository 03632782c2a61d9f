"""The questions that programs ask about Insights."""

from __future__ import annotations

__all__ = ["version_supports_insights"]


def version_supports_insights(dse_version: str | None) -> bool:
    """Return False, whatever the server's version: this driver reports nothing.

    :param dse_version: the server's version.
    """
    return False
