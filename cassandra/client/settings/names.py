"""Names that programs take for settings, and the settings that they mean."""

from __future__ import annotations

from collections.abc import Iterable

from cassandra._misspelt import nearest

__all__ = ["instead_of"]

# Settings of requests, which programs look for among those of the cluster.
_OF_PROFILES = {
    "request_timeout": "request_timeout",
    "timeout": "request_timeout",
    "default_timeout": "request_timeout",
    "consistency_level": "consistency_level",
    "serial_consistency_level": "serial_consistency_level",
    "row_factory": "row_factory",
    "retry_policy": "retry_policy",
    "speculative_execution_policy": "speculative_execution_policy",
}


def instead_of(name: str, known: Iterable[str]) -> str:
    """Return the end of the message about a setting that does not exist: what may be meant.

    :param name: the one that was given.
    :param known: the names of all settings.
    """
    # Programs of other databases have these at the connection.
    if name in _OF_PROFILES:
        return (
            f": it is one of an execution profile, ExecutionProfile({_OF_PROFILES[name]}=...), "
            "which execution_profiles={EXEC_PROFILE_DEFAULT: profile} makes the default"
        )
    near = nearest(name, known, 0.6)
    return f"; did you mean {near!r}?" if near else ""
