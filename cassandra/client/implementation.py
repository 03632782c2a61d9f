"""Logs a warning if the pure Python modules are used because the compiled modules are missing."""

from __future__ import annotations

from cassandra import _impl
from cassandra._logs import Log

log = Log("cassandra.cluster")

_has_warned = False  # True after the warning, which is issued once per process


def warn_of_fallback() -> None:
    """Log a warning, once per process, if the compiled modules are missing.

    There is no warning if ``CASS_DRIVER_IMPL=python`` is set, which is a deliberate choice.
    """
    global _has_warned
    # `fallback_reason` is None if the compiled modules are in use, or if
    # ``CASS_DRIVER_IMPL=python`` is set.
    if _impl.fallback_reason is None or _has_warned:
        return
    _has_warned = True
    log.warning(
        "turbocql runs in pure Python, at about a quarter of its speed (%s): install a wheel for "
        "this platform; if there is none, %s. CASS_DRIVER_IMPL=python silences this",
        _impl.fallback_reason,
        _impl.HOW_TO_COMPILE,
    )
