"""The cache directory, whose files are kept between runs."""

from __future__ import annotations

import os

from cassandra.testing.errors import LocalClusterError


def cache_directory(*parts: str) -> str:
    """Create and return a directory below the user's cache.

    The cache is ``TURBOCQL_CACHE``, or ``$XDG_CACHE_HOME/turbocql``, or ``~/.cache/turbocql``.

    :raises LocalClusterError: if the directory cannot be created.
    """
    base = os.environ.get("TURBOCQL_CACHE")
    if not base:
        xdg_cache = os.environ.get("XDG_CACHE_HOME", "")
        # The XDG specification says that a relative path must be ignored.
        base = os.path.join(
            xdg_cache if os.path.isabs(xdg_cache) else os.path.expanduser("~/.cache"), "turbocql"
        )
    path = os.path.join(os.path.abspath(base), *parts)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise LocalClusterError(
            f"the cache directory {path} cannot be made ({error.strerror}): "
            "set TURBOCQL_CACHE to one that you may write to"
        ) from error
    return path
