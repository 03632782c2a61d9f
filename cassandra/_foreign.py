"""Finds the files of another driver beside ours.

Other distributions own the import package `cassandra` too. If one is installed over or under this
one, files mix, and foreign compiled modules win over our .py files. Those drivers have plain
modules for some names that are packages here, so one directory listing tells them apart.

A package wins over a module of the same name. So the check runs even if the other driver came last
and replaced ``cassandra/__init__.py``: our ``cluster`` package makes the check again.
"""

from __future__ import annotations

import os

# Packages here, but single modules in every other driver (cluster.py,
# cluster.cpython-311-x86_64-linux-gnu.so).
_OUR_PACKAGES = frozenset(
    {"cluster", "cqltypes", "metadata", "policies", "protocol", "query", "util"}
)
# Modules that exist only elsewhere.
_FOREIGN_MODULES = frozenset(
    {"bytesio", "c_shard_info", "ioutils", "numpy_parser", "obj_parser", "parsing", "row_parser"}
)
_MODULE_SUFFIXES = (".py", ".so", ".pyd", ".pyx", ".pxd")


def foreign_files(directory: str) -> list[str]:
    """Return the names in `directory`, a package directory, that belong to another driver."""
    suspects = _OUR_PACKAGES | _FOREIGN_MODULES
    return sorted(
        name
        for name in os.listdir(directory)
        if name.endswith(_MODULE_SUFFIXES) and name.partition(".")[0] in suspects
    )


def _owners(names: list[str]) -> list[str]:
    """Return the other distributions that installed one of these files, by their own records."""
    from importlib import metadata  # costs some milliseconds: only on the way to an error

    wanted = {f"cassandra/{name}" for name in names}
    owners = set()
    for distribution in metadata.distributions():
        if any(path.as_posix() in wanted for path in distribution.files or ()):
            owners.add(distribution.metadata["Name"])
    # The shims of other drivers' names install no files here; see shims/.
    return sorted(owners - {"turbocql"})


def refuse_foreign_files(directory: str) -> None:
    """Check that no files of another driver lie in `directory`.

    :raises ImportError: if some do. The message names the distribution to uninstall.
    """
    # At every import: one directory listing is all that it may cost.
    names = foreign_files(directory)
    if not names:
        return
    owners = _owners(names)
    who = (
        " and ".join(owners)
        if owners
        else "another distribution that owns the package name 'cassandra'"
    )
    uninstall = " ".join(owners) if owners else "<that distribution>"
    raise ImportError(
        f"{who} is installed in the same place as turbocql, and their files are mixed in "
        f"{directory} ({', '.join(names[:4])}{', ...' if len(names) > 4 else ''}). "
        f"Uninstall both, then install turbocql again: "
        f"pip uninstall -y {uninstall} turbocql && pip install turbocql. "
        "If another package requires that driver, install the shim of its name too: "
        "docs/upgrading.rst has the commands"
    )
